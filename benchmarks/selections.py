"""Suite of selections and joins beside SciPy: a part of a matrix, several as one, another order of entries.

Every call gives a fresh csr matrix with rows in order. SciPy's have int32 indices, as Scorch's; it uses one
thread. Kinds marked "other" were not looked at while this was written.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch

import scorch
from benchmarks.data import Case
from benchmarks.peers import scipy_sparse, torch_csr
from benchmarks.squares import matrix

TUNED = (
    "uniform 20k, 8",
    "grid 400 x 400, held",
    "mesh 14^3, held",
    "R-MAT 16, 4, held",
    "power law 10k, 10",
    "peers 60k, held",
)
OTHERS = (
    "uniform 300k, 3, held",
    "grid 45^3, held",
    "band 16, held",
    "road 360k, held",
    "power law 60k, 6, held",
    "batch of 3000, held",
)
Pair = tuple[Callable[[], object], Callable[[], object]]  # of SciPy, of Scorch


def _kept(found: "scipy_sparse.spmatrix", wanted: int) -> "scipy_sparse.csr_matrix":
    """As csr with sorted rows."""
    csr = found.tocsr()
    csr.sort_indices()
    assert csr.shape[0] == wanted
    return csr


def _of(m: "scipy_sparse.csr_matrix", A: scorch.SparseTensor) -> Iterator[tuple[str, Pair]]:
    """What is done, by both."""
    n = m.shape[0]
    rng = np.random.default_rng(1)
    half, few = np.sort(rng.permutation(n)[: n // 2]), rng.permutation(n)[: n // 100 + 1]
    mask = rng.random(n) < 0.5
    some, parts, picked = torch.from_numpy(half), torch.from_numpy(few), torch.from_numpy(mask)
    at = rng.integers(0, n, 1000)
    where = torch.from_numpy(at)
    yield "A[rows], half", (lambda: m[half], lambda: A[some])
    yield "A[rows], 1 %", (lambda: m[few], lambda: A[parts])
    yield "A[mask]", (lambda: m[mask], lambda: A[picked])
    yield "A[a:b]", (lambda: m[n // 4 : n // 2], lambda: A[n // 4 : n // 2])
    yield "A[::3]", (lambda: m[::3], lambda: A[::3])
    yield "A[:, a:b]", (lambda: m[:, n // 4 : n // 2], lambda: A[:, n // 4 : n // 2])
    yield "A[:, columns], half", (lambda: _kept(m[:, half], n), lambda: A[:, some])
    yield "A[:, columns], 1 %", (lambda: _kept(m[:, few], n), lambda: A[:, parts])
    yield (
        "A[rows][:, columns], half",
        (lambda: _kept(m[half][:, half], len(half)), lambda: A[some][:, some]),
    )
    yield "A[i, j], 1000", (lambda: np.asarray(m[at, at[::-1]])[0], lambda: A[where, where.flip(0)])
    yield "cat of rows", (lambda: scipy_sparse.vstack([m, m]), lambda: torch.cat([A, A]))
    yield "cat of columns", (lambda: scipy_sparse.hstack([m, m], "csr"), lambda: torch.cat([A, A], 1))
    yield "tril", (lambda: _kept(scipy_sparse.tril(m), n), lambda: A.tril())
    yield "flip of rows", (lambda: m[::-1], lambda: A.flip(0))
    yield "flip of columns", (lambda: _kept(m[:, ::-1], n), lambda: A.flip(1))
    yield "transpose", (lambda: m.T.tocsr(), lambda: A.T.convert("csr"))
    wide = (n // 2, n * 2)
    yield (
        "reshape",
        (lambda: _kept(m[: n // 2 * 2].reshape(wide), wide[0]), lambda: A[: n // 2 * 2].reshape(wide)),
    )
    yield "A + A.T", (lambda: m + m.T.tocsr(), lambda: A + A.T)


def selections(root: str | None) -> Iterator[Case]:
    """A part of a matrix, matrices joined, entries in another order."""
    for name in (*TUNED, *OTHERS):
        m = matrix(name)
        A = scorch.sparse(torch_csr(m))
        for what, (theirs, ours) in _of(m, A):
            kind = name.removesuffix(", held") + (", other" if name in OTHERS else "")
            yield Case(f"{what}: {kind}", {"SciPy": theirs, "Scorch": ours}, {"Scorch": ("SciPy",)})


SUITES = {"selections": selections} if scipy_sparse else {}

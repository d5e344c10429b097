"""Suite of matrices in csr with full blocks: weights pruned in blocks, systems with several unknowns a node.

Nobody says so: "Scorch" is csr that is known to be multiplied often, where the blocks are found. Blocks that
a user converts to by hand are a column of their own. Every call gives a fresh result. SciPy has the blocks,
MKL keeps its handle, hinted. Kinds marked "held" were not looked at while rules were written.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch

import scorch
from benchmarks.bound import onednn
from benchmarks.data import Case
from benchmarks.peers import MklMatrix, mkl, scipy_sparse, torch_csr

COLUMNS, ROWS = (0, 4, 16, 64, 256), (1, 16, 64, 256)  # 0: a vector


def _random(rows: int, columns: int, share: float) -> "scipy_sparse.csr_matrix":
    return scipy_sparse.random(rows, columns, share, "csr", random_state=np.random.default_rng(rows))


def _grid(*extents: int) -> "scipy_sparse.csr_matrix":
    """Each node and all nodes around it."""
    made = scipy_sparse.eye(1)
    for n in extents:
        made = scipy_sparse.kron(made, scipy_sparse.diags([1.0, 1.0, 1.0], [-1, 0, 1], (n, n)))
    return made


def _cliques(graphs: int, nodes: int) -> "scipy_sparse.csr_matrix":
    return scipy_sparse.kron(scipy_sparse.eye(graphs), np.ones((nodes, nodes)))


WEIGHTS = {  # side, pruned in blocks of rows x columns
    "4096, 90%, 8 x 8": (4096, 0.1, 8, 8),
    "4096, 90%, 32 x 32": (4096, 0.1, 32, 32),
    "4096, 90%, 4 x 4": (4096, 0.1, 4, 4),
    "1024, 80%, 16 x 16, held": (1024, 0.2, 16, 16),
    "2048, 95%, 4 x 1, held": (2048, 0.05, 4, 1),
    "3072, 90%, 2 x 16, held": (3072, 0.1, 2, 16),
}
SYSTEMS: dict[str, tuple[Callable, int]] = {  # and the side of their blocks
    "14^3 nodes of 3": (lambda: _grid(14, 14, 14), 3),
    "60^2 nodes of 2": (lambda: _grid(60, 60), 2),
    "30^3 nodes of 4, held": (lambda: _grid(30, 30, 30), 4),
    "100^2 nodes of 6, held": (lambda: _grid(100, 100), 6),
    "20k nodes of 5, anywhere, held": (lambda: _random(20_000, 20_000, 3e-4), 5),
    "500 cliques of 24": (lambda: _cliques(500, 24), 1),
    "2000 cliques of 9, held": (lambda: _cliques(2000, 9), 1),
}


def _filled(kept: "scipy_sparse.csr_matrix", high: int, wide: int) -> "scipy_sparse.csr_matrix":
    m = scipy_sparse.kron(kept != 0, np.ones((high, wide), np.float32)).tocsr().astype(np.float32)
    m.sort_indices()
    m.data = np.random.default_rng(0).standard_normal(m.nnz).astype(np.float32)
    return m


def systems(root: str | None) -> Iterator[Case]:
    """A @ x"""
    for name, (make, unknowns) in SYSTEMS.items():
        m = _filled(make(), unknowns, unknowns)
        side = unknowns if unknowns > 1 else next(s for s in (8, 3) if m.shape[0] % s == 0)
        csr, blocks, A = torch_csr(m), m.tobsr((side, side)), scorch.sparse(m)
        B, often = A.convert(f"bsr({side},{side})"), A.clone().optimize(calls=100_000)
        for n in COLUMNS:
            x = torch.rand(m.shape[1], n) if n else torch.rand(m.shape[1])
            calls = {"SciPy": partial(blocks.__matmul__, x.numpy()), "torch": partial(csr.__matmul__, x)}
            if mkl():
                handle = MklMatrix(csr, n)
                calls["MKL"] = partial(handle.mm if n else handle.mv, x)
            peers = tuple(calls)
            calls |= {"bsr": lambda B=B, x=x: B @ x, "Scorch": lambda A=often, x=x: A @ x}
            yield Case(f"{name}, {n or 'v'}", calls, {"bsr": peers, "Scorch": (*peers, "bsr")})


def _columns(handle: MklMatrix, x: torch.Tensor) -> torch.Tensor:
    return handle.mm(x).T


def weights(root: str | None) -> Iterator[Case]:
    """F.linear(x, W)"""
    linear = torch.nn.functional.linear
    for name, (side, share, high, wide) in WEIGHTS.items():
        m = _filled(_random(side // high, side // wide, share), high, wide)
        csr, dense = torch_csr(m), torch.from_numpy(m.toarray())
        W = scorch.sparse(m).optimize(calls=100_000)
        B = scorch.sparse(m, format=f"bsr({min(high, 8)},{min(wide, 8)})")
        for n in ROWS:
            x = torch.rand(n, side)
            calls = {"torch": partial(linear, x, dense), "oneDNN": partial(onednn, x, dense.T)}
            if mkl():  # with x in columns, without the time to lay it so
                calls["MKL"] = partial(_columns, MklMatrix(csr, n), x.T.contiguous())
            peers = tuple(calls)
            calls |= {"bsr": partial(linear, x, B), "Scorch": partial(linear, x, W)}
            yield Case(f"{name}, {n} rows", calls, {"bsr": peers, "Scorch": (*peers, "bsr")})


def blocks(root: str | None) -> Iterator[Case]:
    yield from systems(root)
    yield from weights(root)


SUITES = {"blocks": blocks} if scipy_sparse else {}

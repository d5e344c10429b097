"""Suite of A @ v over kinds of matrices, those of A @ A and two with uneven rows.

Matrices are csr, csr that is known to be multiplied often, and in slices of diagonals where rows share them.
Every call gives a fresh vector. MKL keeps its handle, hinted for many products with vectors. Kinds marked
"held" were not looked at while kernels were written.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

import scorch
from benchmarks.data import Case
from benchmarks.peers import MklMatrix, mkl, scipy_sparse, torch_csr
from benchmarks.squares import KINDS, Pairs, filled, matrix

SHARED = 4  # entries on a diagonal of a slice, at least, for slices to be tried


def _dense_row(n: int) -> Pairs:
    """A band of three, and one row that is full."""
    row = np.repeat(np.arange(n), 3)
    column = (row + np.tile((-1, 0, 1), n)) % n
    return np.concatenate([row, np.full(n, n // 3)]), np.concatenate([column, np.arange(n)]), n


def _empty_rows(n: int) -> Pairs:
    """A band of seven in one row of eight."""
    row = np.repeat(np.arange(0, n, 8), 7)
    return row, (row + np.tile(np.arange(-3, 4), len(row) // 7)) % n, n


UNEVEN = {"one dense row": lambda: _dense_row(100_000), "empty rows, held": lambda: _empty_rows(400_000)}


def _matrix(name: str) -> "scipy_sparse.csr_matrix":
    if name in KINDS:
        return matrix(name)
    return filled(UNEVEN[name](), np.random.default_rng(0))


def slices(root: str | None) -> Iterator[Case]:
    """A @ v, matrices kept; those whose entries follow diagonals also in slices of them."""
    for name in (*KINDS, *UNEVEN):
        m = _matrix(name)
        csr = torch_csr(m)
        A, v = scorch.sparse(csr), torch.rand(m.shape[1])
        calls = {"SciPy": partial(m.__matmul__, v.numpy()), "torch int32": partial(csr.__matmul__, v)}
        if mkl():
            calls["MKL"] = partial(MklMatrix(csr, 0).mv, v)
        peers = tuple(calls)
        often = A.clone().optimize(calls=1000)
        calls["Scorch"] = lambda A=A, v=v: A @ v
        calls["Scorch often"] = lambda A=often, v=v: A @ v
        against = {"Scorch": peers, "Scorch often": (*peers, "Scorch")}
        D = A.convert("dia(16)")
        if SHARED * D.values().numel() <= 16 * A.nnz:
            calls["Scorch dia(16)"] = lambda D=D, v=v: D @ v
            against["Scorch dia(16)"] = (*peers, "Scorch")
        yield Case(name, calls, against)


SUITES = {"slices": slices} if scipy_sparse else {}

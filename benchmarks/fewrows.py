"""Linear layers of pruned weights on few rows, as generation calls them, against dense weights and MKL.

"dense" is torch's own product and that of oneDNN inside torch; MKL keeps its handle, and x transposed.
"Scorch often" is a weight after ``W.optimize(calls=...)``, as it is after many products: with few zeros
it gets words of bits.
"""

from collections.abc import Iterator
from functools import partial

import torch
import torch.nn.functional as F

import scorch
from benchmarks.bound import products
from benchmarks.compiled import random_csr
from benchmarks.data import Case, int32
from benchmarks.peers import MklMatrix, mkl

ROWS, ZEROS = (1, 4, 8, 16), (0.5, 0.7, 0.8, 0.9, 0.95)


def fewrows(root: str | None) -> Iterator[Case]:
    for side in (1024, 2048, 4096):
        for zeros in ZEROS:
            csr = random_csr(side, side, 1 - zeros)
            for rows in ROWS:
                yield _layer(f"{rows} x {side} -> {side}, {zeros:.0%}", csr, rows)
    csr = random_csr(2048, 2048, 0.1)
    for dtype in (torch.float64, torch.bfloat16):
        for rows in ROWS:
            yield _layer(f"{rows} x 2048 -> 2048, 90%, {str(dtype)[6:]}", csr.to(dtype), rows)


def _layer(name: str, csr: torch.Tensor, rows: int) -> Case:
    x, dense, W = torch.randn(rows, csr.shape[1]).to(csr.dtype), csr.to_dense(), scorch.sparse(int32(csr))
    calls = products(x, dense.T)
    if mkl() and csr.dtype == torch.float32:
        handle, xt = MklMatrix(csr, rows), x.T.contiguous()
        calls["MKL"] = (lambda: handle.mv(x[0])[None]) if rows == 1 else (lambda: handle.mm(xt).T)
    work = {"flops": 2 * csr._nnz() * rows, "traffic": (4 + csr.dtype.itemsize) * csr._nnz()}
    often = scorch.sparse(int32(csr))
    often.optimize(calls=1_000_000)
    ours = {"Scorch": partial(F.linear, x, W), "Scorch often": partial(F.linear, x, often)}
    return Case(name, {**calls, **ours}, dict.fromkeys(ours, tuple(calls)), same=False, **work)


SUITES = {"fewrows": fewrows}

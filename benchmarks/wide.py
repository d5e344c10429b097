"""Suite of A @ x with many columns, where x is larger than the caches: layers of graph networks.

"Scorch" is csr that is known to be multiplied often, where the entries have been looked at; "first" is what
the first products do. MKL keeps its handle, hinted. Kinds marked "held" were not looked at while rules were
written.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch

import scorch
from benchmarks.data import Case
from benchmarks.peers import MklMatrix, mkl, scipy_sparse, torch_csr
from benchmarks.squares import _batch, _mesh, _power_law, _rmat, _uniform, filled

COLUMNS = (64, 128, 256, 512)
KINDS: dict[str, Callable] = {  # nodes, edges of a node
    "uniform 100k, 15": partial(_uniform, n=100_000, each=15),
    "uniform 30k, 40": partial(_uniform, n=30_000, each=40),
    "uniform 60k, 8, held": partial(_uniform, n=60_000, each=8),
    "uniform 120k, 30, held": partial(_uniform, n=120_000, each=30),
    "power law 100k, 20": partial(_power_law, n=100_000, each=20),
    "power law 50k, 60, held": partial(_power_law, n=50_000, each=60),
    "R-MAT 16, 16": partial(_rmat, scale=16, each=16),
    "R-MAT 17, 12, held": partial(_rmat, scale=17, each=12),
    "batch of 3000": partial(_batch, graphs=3000, nodes=40, each=6),
    "mesh 30^3, held": partial(lambda rng: _mesh(rng, 30, 30, 30)),
}


def wide(root: str | None) -> Iterator[Case]:
    """A @ x"""
    for name, make in KINDS.items():
        rng = np.random.default_rng(len(name))
        csr = torch_csr(filled(make(rng), rng))
        A = scorch.sparse(csr)
        often = A.clone().optimize(calls=100_000)
        for k in COLUMNS:
            x = torch.rand(csr.shape[1], k)
            calls = {"torch": partial(csr.__matmul__, x)}
            if mkl():
                calls["MKL"] = partial(MklMatrix(csr, k).mm, x)
            peers = tuple(calls)
            calls |= {"first": lambda A=A, x=x: A @ x, "Scorch": lambda A=often, x=x: A @ x}
            yield Case(f"{name}, {k}", calls, {"first": peers, "Scorch": (*peers, "first")})
            A.release()


SUITES = {"wide": wide} if scipy_sparse else {}

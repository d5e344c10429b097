"""Suite of A @ A over kinds of matrices: what fills rows, how long they are, how much of it falls together.

Each kind comes in two sizes with other parameters. Those marked "held" were not looked at while kernels were
written: how they do says what other matrices will.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch

import scorch
from benchmarks.data import Case
from benchmarks.peers import MklProduct, graphblas, graphblas_matrix, mkl, scipy_sparse, torch_csr

Pairs = tuple[np.ndarray, np.ndarray, int]  # rows, columns, side


def _uniform(rng: np.random.Generator, n: int, each: int) -> Pairs:
    return rng.integers(n, size=n * each), rng.integers(n, size=n * each), n


def _stencil(rng: np.random.Generator, *sides: int) -> Pairs:
    """A grid of any dimension: every point, its neighbours along the axes, and itself."""
    n = int(np.prod(sides))
    node = np.arange(n).reshape(sides)
    pairs = [(node, node)]
    for axis in range(len(sides)):
        low, high = (np.take(node, range(k, sides[axis] - 1 + k), axis) for k in (0, 1))
        pairs += [(low, high), (high, low)]
    return *(np.concatenate([p[k].ravel() for p in pairs]) for k in (0, 1)), n


def _band(rng: np.random.Generator, n: int, width: int) -> Pairs:
    row = np.repeat(np.arange(n), 2 * width + 1)
    column = row + np.tile(np.arange(-width, width + 1), n)
    inside = (column >= 0) & (column < n)
    return row[inside], column[inside], n


def _mesh(rng: np.random.Generator, *sides: int) -> Pairs:
    """Three unknowns at every point of a grid, each tied to those of all points around, diagonals too.

    Points are numbered along the first axis, but for a few that were moved, as mesh generators leave them.
    """
    n = int(np.prod(sides))
    at = np.stack(np.unravel_index(np.arange(n), sides), 1)
    label = np.arange(n)
    moved = rng.choice(n, n // 20, replace=False)
    label[moved] = label[rng.permutation(moved)]
    near = [
        (at + step, np.all((at + step >= 0) & (at + step < sides), 1))
        for step in np.stack(np.meshgrid(*[(-1, 0, 1)] * len(sides)), -1).reshape(-1, len(sides))
    ]
    rows = np.concatenate([label[there] for _, there in near])
    columns = np.concatenate([label[np.ravel_multi_index(to[there].T, sides)] for to, there in near])
    block = np.arange(3)
    rows = (3 * rows[:, None, None] + block[:, None]).repeat(3, 2)
    columns = (3 * columns[:, None, None] + block).repeat(3, 1)
    return rows.ravel(), columns.ravel(), 3 * n


def _road(rng: np.random.Generator, side: int, kept: float) -> Pairs:
    """Streets of a grid without some, numbered as one drives along: no self loops."""
    rows, columns, n = _stencil(rng, side, side)
    street = rows < columns
    rows, columns = rows[street], columns[street]
    stay = rng.random(len(rows)) < kept
    rows, columns = rows[stay], columns[stay]
    label = np.arange(n).reshape(side // 20, 20, side // 20, 20).transpose(0, 2, 1, 3).ravel().argsort()
    rows, columns = label[rows], label[columns]
    return np.concatenate([rows, columns]), np.concatenate([columns, rows]), n


def _rmat(rng: np.random.Generator, scale: int, each: int) -> Pairs:
    rows = columns = np.zeros(each << scale, dtype=np.int64)
    for _ in range(scale):
        quarter = rng.random(len(rows))
        rows = 2 * rows + (quarter > 0.57 + 0.19)
        columns = 2 * columns + (((quarter > 0.57) & (quarter <= 0.76)) | (quarter > 0.95))
    return rows, columns, 1 << scale


def _power_law(rng: np.random.Generator, n: int, each: int) -> Pairs:
    """Both ends drawn with odds that fall with their rank, ranks in random order: undirected."""
    odds = 1 / np.arange(1, n + 1) ** 0.6
    ends = rng.choice(n, (2, n * each // 2), p=odds / odds.sum())
    rows, columns = rng.permutation(n)[ends]
    return np.concatenate([rows, columns]), np.concatenate([columns, rows]), n


def _peers(rng: np.random.Generator, n: int, each: float) -> Pairs:
    """Directed: two nodes of three only answer, the others ask some of all, and new ones."""
    ask = rng.permutation(n)[: n // 3]
    asked = rng.geometric(1 / (3 * each), len(ask))
    rows = np.repeat(ask, asked)
    return rows, (n * rng.random(len(rows)) ** 1.5).astype(np.int64), n


def _batch(rng: np.random.Generator, graphs: int, nodes: int, each: int) -> Pairs:
    """Small graphs beside each other, as a batch of molecules."""
    size = rng.integers(nodes // 2, 3 * nodes // 2, graphs)
    first = np.repeat(np.cumsum(size) - size, size * each)
    inner = np.repeat(size, size * each)
    n = int(size.sum())
    ends = (first + (inner * rng.random((2, n * each))).astype(np.int64)).astype(np.int64)
    return ends[0], ends[1], n


KINDS: dict[str, Callable[[np.random.Generator], Pairs]] = {
    "uniform 20k, 8": partial(_uniform, n=20_000, each=8),
    "uniform 300k, 3, held": partial(_uniform, n=300_000, each=3),
    "grid 150 x 150": partial(lambda rng: _stencil(rng, 150, 150)),
    "grid 400 x 400, held": partial(lambda rng: _stencil(rng, 400, 400)),
    "grid 20^3": partial(lambda rng: _stencil(rng, 20, 20, 20)),
    "grid 45^3, held": partial(lambda rng: _stencil(rng, 45, 45, 45)),
    "band 3": partial(_band, n=40_000, width=3),
    "band 16, held": partial(_band, n=20_000, width=16),
    "mesh 24 x 24": partial(lambda rng: _mesh(rng, 24, 24)),
    "mesh 14^3, held": partial(lambda rng: _mesh(rng, 14, 14, 14)),
    "road 100k": partial(_road, side=320, kept=0.6),
    "road 360k, held": partial(_road, side=600, kept=0.7),
    "R-MAT 13, 8": partial(_rmat, scale=13, each=8),
    "R-MAT 16, 4, held": partial(_rmat, scale=16, each=4),
    "power law 10k, 10": partial(_power_law, n=10_000, each=10),
    "power law 60k, 6, held": partial(_power_law, n=60_000, each=6),
    "peers 10k": partial(_peers, n=10_000, each=3),
    "peers 60k, held": partial(_peers, n=60_000, each=2.4),
    "batch of 200": partial(_batch, graphs=200, nodes=24, each=2),
    "batch of 3000, held": partial(_batch, graphs=3000, nodes=40, each=4),
}


def filled(pairs: Pairs, rng: np.random.Generator) -> "scipy_sparse.csr_matrix":
    """A matrix with int32 indices, float32 values and sorted rows."""
    rows, columns, n = pairs
    m = scipy_sparse.coo_matrix((np.ones(len(rows), np.float32), (rows, columns)), (n, n)).tocsr()
    m.data = rng.standard_normal(m.nnz).astype(np.float32)
    return m


def matrix(name: str) -> "scipy_sparse.csr_matrix":
    """A matrix of the kind."""
    rng = np.random.default_rng(len(name))
    return filled(KINDS[name](rng), rng)


def squares(root: str | None) -> Iterator[Case]:
    """A @ A with a fresh result; rows of all but MKL's first are in order.

    Then the same where such products are many: their structure is kept, so values alone are computed.
    """
    for name in KINDS:
        m = matrix(name)
        csr = torch_csr(m)
        A, often = scorch.sparse(csr), scorch.sparse(csr.clone())
        often.optimize([lambda A: A @ A])
        calls = {"SciPy sorted": lambda m=m: _sorted(m @ m)}
        if graphblas:
            g = graphblas_matrix(csr)
            calls["GraphBLAS"] = lambda g=g: g.mxm(g).new()
        if mkl():
            handle = MklProduct(csr)
            calls["MKL"] = lambda h=handle: h.square(False)
            calls["MKL sorted"] = lambda h=handle: h.square(True)
        against = {"Scorch": tuple(calls), "Scorch often": tuple(calls)}
        if mkl():
            calls["MKL kept"] = handle.again
            against["Scorch often"] = ("MKL", "MKL kept")
        yield Case(
            name,
            {**calls, "Scorch": lambda A=A: _first(A), "Scorch often": lambda A=often: A @ A},
            against,
            each=True,
        )


def _first(A: scorch.SparseTensor) -> scorch.SparseTensor:
    """The product as if there had been none before."""
    C = A @ A
    A.release()
    return C


def _sorted(m: object) -> object:
    m.has_sorted_indices = False
    m.sort_indices()
    return m


_SMALLER = [name for name in KINDS if "held" not in name]


def triangles(root: str | None) -> Iterator[Case]:
    """The products of A @ A that meet entries of A, added up: the triangles of a graph, weighted."""
    for name in _SMALLER:
        m = matrix(name)
        csr = torch_csr(m)
        A = scorch.sparse(csr)
        calls = {"SciPy": lambda m=m: (m @ m).multiply(m).sum()}
        if graphblas:
            g = graphblas_matrix(csr)
            calls["GraphBLAS"] = lambda g=g: _masked(g)
        ours = {"Scorch": lambda A=A: scorch.einsum("ij,jk,ik->", A, A, A).item()}
        yield Case(name, calls | ours, {"Scorch": tuple(calls)})


def _masked(g: object) -> float:
    made = graphblas.Matrix(g.dtype, g.nrows, g.ncols)
    made(g.S) << g.mxm(g)
    return made.ewise_mult(g).reduce_scalar().value


def gradients(root: str | None) -> Iterator[Case]:
    """Forward and backward of the sum of squares of A @ B, both sparse and both with gradients."""
    for name in _SMALLER:
        csr = torch_csr(matrix(name))
        ours = [scorch.sparse(csr).requires_grad_() for _ in range(2)]
        theirs = [csr.to_sparse_coo().coalesce().requires_grad_() for _ in range(2)]
        yield Case(
            name,
            {
                "torch COO": lambda x=theirs: _backward(torch.sparse.mm(*x), x),
                "forward": lambda x=ours: (x[0].detach() @ x[1].detach()).values(),
                "Scorch": lambda x=ours: _backward(x[0] @ x[1], x),
            },
            {"Scorch": ("torch COO", "forward")},
            each=True,
            same=False,
        )


def _backward(made: torch.Tensor, x: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    values = made.values() if scorch.is_sparse(made) else made.coalesce().values()
    return torch.autograd.grad(values.square().sum(), x)


SUITES = {"squares": squares, "triangles": triangles, "product gradients": gradients} if scipy_sparse else {}

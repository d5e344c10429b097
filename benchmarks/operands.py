"""What the programs of programs.py compute with: graphs, pruned weights, tensors, each set in two sizes.

A set maps names to operands, dense tensors and SparseTensors. `plain` gives the same as torch has it, and
`scientific` as SciPy does, so that nobody is timed while converting.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import torch

import scorch
from benchmarks.data import citation
from benchmarks.peers import scipy_sparse
from benchmarks.shards import rmat
from examples import planetoid

Operands = dict[str, object]
EXPERTS, TOP, RELATIONS, BASES, HEADS = 8, 2, 12, 4, 4


def _coo(index: torch.Tensor, shape: tuple[int, ...], format: str = "csr") -> scorch.SparseTensor:
    """Distinct coordinates [ndim, n] with values around 1 over the square root of how many a row has."""
    index = torch.unique(index, dim=1)
    share = torch.bincount(index[0], minlength=shape[0]).clamp(min=1)[index[0]].float().rsqrt()
    values = (0.5 + torch.rand(index.shape[1])) * share
    coo = torch.sparse_coo_tensor(index, values, shape).coalesce()
    return scorch.sparse(coo, format, index_dtype=torch.int32)


def _random(shape: tuple[int, ...], count: int, format: str = "csr") -> scorch.SparseTensor:
    return _coo(torch.stack([torch.randint(n, (count,)) for n in shape]), shape, format)


# ---- graphs ----
def _grid(side: int) -> torch.Tensor:
    node = torch.arange(side * side).view(side, side)
    right = torch.stack([node[:, :-1].flatten(), node[:, 1:].flatten()])
    down = torch.stack([node[:-1].flatten(), node[1:].flatten()])
    pairs = torch.cat([right, down], 1)
    return torch.cat([pairs, pairs.flip(0)], 1)


def _power_law(nodes: int) -> torch.Tensor:
    labels = np.random.RandomState(0).randint(10, size=nodes)
    pairs = torch.from_numpy(planetoid.edges_power_law(nodes, 7 * nodes, labels)).T
    return torch.cat([pairs, pairs.flip(0)], 1)


def _edges(kind: str, side: int, root: str | None) -> tuple[torch.Tensor, int]:
    nodes = side * side
    if kind == "uniform":
        return torch.randint(nodes, (2, 14 * nodes)), nodes
    if kind == "grid":
        return _grid(side), nodes
    if kind == "power law":
        return _power_law(nodes), nodes
    if kind == "R-MAT":  # hubs: entries lie in rows that are ten times as long as most
        scale = int(math.log2(nodes))
        return rmat(scale, 7).indices().long(), 2**scale
    graph = citation("cora", root)
    return graph.edge_index, len(graph.x)


@cache
def graph(kind: str, side: int, root: str | None) -> Operands:
    """A, B, C [n, n]: a graph, the same with columns moved, and ones where there are edges."""
    torch.manual_seed(0)
    edges, n = _edges(kind, side, root)
    A = _coo(edges, (n, n))
    B = _coo(torch.stack([A.indices()[0], (A.indices()[1] + 1) % n]).long(), (n, n))
    heads = {name: torch.randn(n, HEADS) for name in ("s", "t")}
    relation = torch.stack([torch.randint(RELATIONS, (A.nnz,)), *A.indices().long()])
    R = _coo(relation, (RELATIONS, n, n), "csf")
    return heads | {
        "A": A, "B": B, "M": A._with_values(torch.ones(A.nnz)), "S": _random((n, 500), 10 * n),
        "T": A.T.convert("csr"), "degree": A._with_values(torch.ones(A.nnz)).sum(1).clamp(min=1),
        "X": torch.randn(n, 32), "Y": torch.randn(n, 32), "Z": torch.randn(n, 8),
        "H": torch.randn(n, HEADS, 8), "x": torch.rand(n), "y": torch.rand(n),
        "W": torch.randn(32, 16), "V": torch.randn(16, 8), "F": torch.randn(500, 16),
        "wide": torch.randn(32, 128), "U": torch.randn(32, 32), "u": torch.randn(16),
        "R": R, "basis": torch.randn(BASES, 32, 16), "c": torch.randn(RELATIONS, BASES),
        "beside": _beside(R),
    }  # fmt: skip


def _beside(R: scorch.SparseTensor) -> scorch.SparseTensor:
    """The matrices of the relations side by side, [n, relations * n]."""
    r, i, j = R.indices().long()
    index, shape = torch.stack([i, r * R.shape[1] + j]), (R.shape[1], R.shape[0] * R.shape[2])
    coo = torch.sparse_coo_tensor(index, R.values(), shape).coalesce()
    return scorch.sparse(coo, "csr", index_dtype=torch.int32)


# ---- layers, rows of features, tensors ----
@cache
def weights(side: int) -> Operands:
    """W1, W2, W3 [side, side] with 90 % zeros, a batch x, and factors of low rank."""
    torch.manual_seed(0)
    pruned = {f"W{k}": _random((side, side), side * side // 10) for k in (1, 2, 3)}
    return pruned | {
        "x": torch.randn(64, side),
        "U": torch.randn(side, 16) / 4,
        "V": torch.randn(16, side) / side**0.5,
    }


@cache
def factorisation(rows: int) -> Operands:
    """Rows of 20 features each, some of 2000, and factors."""
    torch.manual_seed(0)
    X = _random((rows, 2000), 20 * rows)
    return {
        "X": X,
        "V": torch.randn(2000, 16),
        "w": torch.randn(2000),
        "squared": X._with_values(X.values() ** 2),
    }


@cache
def tensor(scale: int) -> Operands:
    """T [i, j, k] in csf with factors of 16 columns."""
    torch.manual_seed(0)
    shape = (4 * scale, 3 * scale, 2 * scale)
    T = _random(shape, 500 * scale, "csf")
    factors = {name: torch.randn(n, 16) for name, n in zip("ABC", shape, strict=True)}
    return factors | {"T": T, "b": torch.randn(shape[1]), "c": torch.randn(shape[2])}


@cache
def experts(tokens: int) -> Operands:
    """G [tokens, experts], two experts a token, and two layers of weights for each expert."""
    torch.manual_seed(0)
    weight, chosen = torch.randn(tokens, EXPERTS).softmax(1).topk(TOP, 1)
    gate = torch.zeros(tokens, EXPERTS).scatter_(1, chosen, weight)
    G = scorch.sparse(gate, "csr")
    layers = {"W": torch.randn(EXPERTS, 256, 512) / 16, "V": torch.randn(EXPERTS, 512, 256) / 16}
    return layers | {"G": G, "x": torch.randn(tokens, 256)}


@cache
def band(tokens: int) -> Operands:
    """M [tokens, tokens]: each sees 64 neighbours; queries, keys and values."""
    torch.manual_seed(0)
    place = torch.arange(tokens)
    M = scorch.sparse(((place[:, None] - place).abs() <= 32).float(), "csr")
    return {"M": M} | {name: torch.randn(tokens, 32) / 4 for name in ("Q", "K", "V")}


def sets(kind: str, quick: bool, root: str | None) -> Iterator[tuple[str, Callable[[], Operands]]]:
    """The operands of a kind, by name; they are made when they are asked for."""
    side = 30 if quick else 80
    if kind in ("graphs", "small graphs"):
        side = side if kind == "graphs" else side // 2
        for name in ["power law"] if quick else ["Cora", "uniform", "grid", "power law", "R-MAT"]:
            if kind == "graphs" or name != "Cora":
                yield name, lambda name=name: graph(name, side, root)
        return
    small, large, make = {
        "weights": (256, 1024, weights), "features": (500, 8000, factorisation), "tensor": (20, 200, tensor),
        "experts": (64, 1024, experts), "tokens": (256, 1024, band),
    }[kind]  # fmt: skip
    yield kind, lambda: make(small if quick else large)


# ---- the same for others ----
def plain(value: object) -> object:
    """torch's own tensor: CSR for matrices, COO for what has more dimensions."""
    if not scorch.is_sparse(value):
        return value
    return (
        value.to_torch(torch.sparse_csr) if value.ndim == 2 else value.to_torch(torch.sparse_coo).coalesce()
    )


def scientific(value: object) -> object:
    """A SciPy matrix, or an array of NumPy."""
    if scorch.is_sparse(value) and value.ndim == 2 and scipy_sparse is not None:
        return scipy_sparse.csr_matrix(value.to_scipy())
    return value.numpy() if type(value) is torch.Tensor else value

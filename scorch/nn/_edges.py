"""What layers read of the edges of a SparseTensor [T, S]: zeros that fill blocks up are none."""

from __future__ import annotations

import torch

from .._torch import admit_nodes, constant, node, unknown_size
from ..tensor.entries import build, canonical, coordinates, counts, distinct, places, unfilled
from ..tensor.format import fills, layout
from ..tensor.sparsetensor import SparseTensor


def edges_and_weights(matrix: SparseTensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Sources and targets [2, E], and weights [E]."""
    matrix = unfilled(matrix)
    return matrix.indices().flip(0), matrix.values()


@constant
def has_filling(format: str) -> bool:
    """Whether a matrix of this format stores zeros that are no edges."""
    return fills(layout(format, 2))


def ones_of(graph: SparseTensor, dtype: torch.dtype) -> torch.Tensor:
    """[nnz]: one for each edge, and zero for what fills blocks up."""
    values = graph.values()
    return (values != 0).to(dtype) if has_filling(graph._fmt) else torch.ones_like(values, dtype=dtype)


def shares(row: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """[E]: of each edge, one over the number of edges in its row."""
    place = distinct(row)[1]
    return counts(place, place.shape[0]).to(dtype).reciprocal()[place]


# ---- matrices of edges: one node of a graph of torch.compile each ----
def mean_of(graph: SparseTensor, dtype: torch.dtype) -> SparseTensor:
    """[T, S]: the edges of each target, all alike, with sum 1."""
    if torch.compiler.is_dynamo_compiling():
        admit_nodes()
        return _mean_in_graph(graph, dtype)
    return _mean(graph, dtype)


def unknown_csr(
    like: torch.Tensor, nodes: int, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """In a fake kernel: pos, crd and values of csr whose entries nobody counts before the call."""
    edges = unknown_size()
    pos, crd = (like.new_empty(n, dtype=torch.int64) for n in (nodes + 1, edges))
    return pos, crd, like.new_empty(edges, dtype=dtype)


def _mean(graph: SparseTensor, dtype: torch.dtype) -> SparseTensor:
    graph = unfilled(graph)
    row = coordinates(graph)[0][0]
    return graph._with_values(counts(row, graph.shape[0]).to(dtype).reciprocal()[row])


def counted(graph: SparseTensor, loops: bool, dtype: torch.dtype) -> SparseTensor:
    """[T, S]: how often each edge is there; with loops, one at each node in place of those that are there."""
    if torch.compiler.is_dynamo_compiling():
        admit_nodes()
        return _counted_in_graph(graph, loops, dtype)
    return _counted(graph, loops, dtype)


def _counted(graph: SparseTensor, loops: bool, dtype: torch.dtype) -> SparseTensor:
    index = coordinates(unfilled(graph))[0]
    if loops:
        both = torch.arange(min(graph.shape), device="cpu").expand(2, -1)
        index = torch.cat([index[:, places(index[0] != index[1])], both], 1)
    ones = torch.ones(index.shape[1], dtype=dtype, device="cpu")
    return build(canonical(tuple(graph.shape), index, ones), "csr", graph.index_dtype)


_mean_in_graph, _counted_in_graph = node(_mean), node(_counted)

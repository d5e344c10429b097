"""What functions and layers of torch_geometric mean for a SparseTensor.

What is derived from a graph, such as the matrix of a GCN, is kept with its SparseTensor until that is written
to or released. A function that returns NotImplemented leaves the call to torch_geometric.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import torch
from torch_geometric import EdgeIndex
from torch_geometric.nn import DirGNNConv, GATConv, GINConv, Linear, MessagePassing
from torch_geometric.utils import loop

from .._torch import is_compiling
from ..functions.products import sparse_mm
from ..nn._gat import Edges, attend, edges_in_graph, edges_of_graph
from ..nn._graph import edges_and_weights, normalized_of
from ..nn._propagate import mapped_sums
from ..tensor.coordinates import coo, from_edge_index
from ..tensor.entries import unfilled
from ..tensor.format import layout
from ..tensor.join import block_diag
from ..tensor.join import cat as joined
from ..tensor.sparsetensor import SparseTensor
from ..tensor.values import assemble, kept


# ---- functions of a SparseTensor ----
def matrix_of(edges: EdgeIndex) -> SparseTensor:
    """The matrix that an EdgeIndex stands for beside a SparseTensor, as beside a dense one."""
    return coo(edges.as_tensor(), None, edges.get_sparse_size())


def spmm(src: SparseTensor, other: torch.Tensor, reduce: str = "sum") -> torch.Tensor:
    if reduce in ("sum", "add"):
        return src @ other
    return sparse_mm(src, other, reduce)


def set_sparse_value(adj: SparseTensor, value: torch.Tensor) -> SparseTensor:
    """The structure with other values [nnz], or rows of values [nnz, D] below a dense level."""
    if value.dim() == 1:
        return adj._with_values(value)
    form = layout(", ".join([*adj.format.levels, "dense(2)"]), 3)
    return assemble(form, (*adj.shape, value.shape[1]), (*adj._arrays()[:-1], value.flatten()))


def separate(
    key: str,
    values: SparseTensor,
    idx: int,
    slices: torch.Tensor,
    incs: torch.Tensor | None,
    batch: object,
    store: object,
    decrement: bool,
) -> SparseTensor:
    """One graph of a batch: the block of the matrix that it went into; what has one dimension is left."""
    dims = batch.__cat_dim__(str(key), values, store)
    if not isinstance(dims, tuple):
        return NotImplemented
    spans = list(map(slice, slices[idx].tolist(), slices[idx + 1].tolist()))
    if dims == (0, 1):  # in one pass
        return values.submatrix(*spans)
    for dim, span in zip(dims, spans, strict=True):
        values = values.narrow(dim, span.start, span.stop - span.start)
    return values


def gcn_norm(
    edge_index: SparseTensor,
    edge_weight: torch.Tensor | None = None,
    num_nodes: int | None = None,
    improved: bool = False,
    add_self_loops: bool = True,
    flow: str = "source_to_target",
    dtype: torch.dtype | None = None,
) -> tuple[SparseTensor, None]:
    """D^-1/2 (A + I) D^-1/2, with D the sums of rows, and no weights beside it."""
    if is_compiling() and not improved:
        return normalized_of(edge_index, None, len(edge_index), add_self_loops, edge_index.dtype), None
    loops = (2.0 if improved else 1.0) if add_self_loops else False

    def normalized() -> SparseTensor:
        edges, weights = edges_and_weights(edge_index)
        nodes = len(edge_index)
        return from_edge_index(edges, weights, num_nodes=nodes, add_self_loops=loops, normalize="sym")

    return kept(edge_index, f"gcn_norm, loops of {loops}", normalized), None


def remove_self_loops(edge_index: SparseTensor, edge_attr: None = None) -> tuple[SparseTensor, None]:
    if edge_attr is not None:
        return NotImplemented

    def without() -> SparseTensor:
        graph = unfilled(edge_index)
        edges = graph.indices()
        left = edges[0] != edges[1]
        values = graph.values()[left]
        return coo(edges[:, left], values, edge_index.shape, index_dtype=edge_index.index_dtype)

    return kept(edge_index, "without loops", without), None


def add_self_loops(
    edge_index: SparseTensor,
    edge_attr: None = None,
    fill_value: float | torch.Tensor | str | None = None,
    num_nodes: int | tuple[int, int] | None = None,
) -> tuple[SparseTensor, None]:
    """With a loop more at each node: its weight is one, that given, or reduced from its row."""
    if edge_attr is not None:
        return NotImplemented
    nodes = min(edge_index.shape)

    def added() -> SparseTensor:
        graph = unfilled(edge_index)
        edges, weights = graph.indices().long(), graph.values()
        new = loop.compute_loop_attr(edges, weights, nodes, True, fill_value)
        edges = torch.cat([edges, torch.arange(nodes, device="cpu").expand(2, -1)], 1)
        return coo(edges, torch.cat([weights, new]), edge_index.shape, index_dtype=edge_index.index_dtype)

    if isinstance(fill_value, torch.Tensor):
        return added(), None
    return kept(edge_index, f"with loops of {fill_value}", added), None


def cat(tensors: list[SparseTensor], dim: int | tuple[int, int]) -> SparseTensor:
    """One after the other along a dimension, or along the diagonal; in the format of the first."""
    if dim not in (0, 1):
        return block_diag(*tensors)
    extent = max(x.shape[1 - dim] for x in tensors)
    pads = [extent - x.shape[1 - dim] for x in tensors]
    wide = [
        torch.nn.functional.pad(x, (0, n) if dim == 0 else (0, 0, 0, n))
        for x, n in zip(tensors, pads, strict=True)
    ]
    return joined(wide, dim).convert(tensors[0].format)


def is_torch_sparse_tensor(src: SparseTensor) -> bool:
    return True


# ---- what wants a list of edges ----
_WEIGHTS = ("edge_weight", "edge_attr")  # what torch_geometric calls them


def edges_of(graph: SparseTensor) -> torch.Tensor:
    """The edges [2, entries] of a matrix [targets, sources]: sources, then targets; int64."""
    return kept(graph, "list of edges", lambda: graph.indices().long().flip(0), structural=True)


def over_edges(original: Callable) -> Callable:
    """original of the edges of the SparseTensor that is its ``edge_index``, and of its values for their
    weights, unless others are given; what is returned is what original returns for such a list."""
    given = inspect.signature(original)
    weights = next((w for w in _WEIGHTS if w in given.parameters), None)

    def call(*args: object, **kwargs: object) -> object:
        named = given.bind(*args, **kwargs)
        graph = named.arguments["edge_index"]
        named.arguments["edge_index"] = edges_of(graph)
        if weights is not None and named.arguments.get(weights) is None:
            named.arguments[weights] = graph.values()
        for count in ("num_nodes", "max_num_nodes"):  # which a list does not tell
            if count in given.parameters and named.arguments.get(count) is None:
                named.arguments[count] = max(graph.shape)
        return original(*named.args, **named.kwargs)

    return call


# ---- layers ----
_STEPS = ("propagate", "message", "aggregate", "message_and_aggregate", "edge_update")
_HOOKS = [f"_{step}_forward_{kind}hooks" for step in _STEPS for kind in ("pre_", "")]


def _is_plain(layer: MessagePassing, kind: type) -> bool:
    """Whether nobody sees how a layer sums up: no subclass, hook or explanation."""
    hooked = any(getattr(layer, name) for name in _HOOKS)
    plain = type(layer) is kind and layer.aggr == "add" and layer.decomposed_layers == 1
    return plain and not hooked and not layer.explain


def gat(
    layer: GATConv,
    x: torch.Tensor | tuple,
    edge_index: SparseTensor,
    edge_attr: torch.Tensor | None = None,
    size: tuple[int, int] | None = None,
    return_attention_weights: bool | None = None,
) -> torch.Tensor:
    """Attention without a row an edge, unless its weights are asked for."""
    if return_attention_weights or not _is_plain(layer, GATConv):
        return NotImplemented

    def edges_of(
        graph: SparseTensor, sources: int, targets: int, features: bool, dtype: torch.dtype
    ) -> Edges:
        loops = layer.add_self_loops
        if is_compiling():
            return edges_in_graph(graph, sources, targets, loops, features, dtype)
        make = lambda: edges_of_graph(graph, sources, targets, loops, dtype)  # noqa: E731
        return kept(graph, f"edges of attention, {dtype}{', loops' * loops}", make, structural=True)

    return attend(layer, edges_of, x, edge_index, edge_attr, size, linear=Linear)


def gin(
    layer: GINConv,
    x: torch.Tensor | tuple,
    edge_index: SparseTensor,
    size: tuple[int, int] | None = None,
) -> torch.Tensor:
    """The sum over neighbours and the node itself in one kernel, with what can join it."""
    if not isinstance(x, torch.Tensor) or x.dim() != 2 or not _is_plain(layer, GINConv):
        return NotImplemented
    return mapped_sums(layer.nn, edge_index, x, layer.eps)


def directed(layer: DirGNNConv, x: torch.Tensor, edge_index: SparseTensor) -> torch.Tensor:
    """Along the edges and against them."""
    back = kept(edge_index, "transpose", lambda: edge_index.T.convert("csr"))
    y = layer.alpha * layer.conv_out(x, back) + (1 - layer.alpha) * layer.conv_in(x, edge_index)
    return y + layer.lin(x) if layer.root_weight else y

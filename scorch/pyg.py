"""SparseTensors in torch_geometric: what its functions mean for them, and a transform that makes them.

Its layers ask a tensor for its layout and arrays, and take a SparseTensor in csr, csc or coo as one of torch.
Here are the functions that would then make tensors of torch, or compute anew what a graph has for good: each
has another meaning for a SparseTensor, and for all else its own. What is derived from a graph, such as the
matrix of a GCN, is kept with its SparseTensor until that is written to or released.

Importing this module puts them in place, in all modules of torch_geometric that have bound the old ones. It
is imported behind torch_geometric (``scorch/_after.py``), unless ``SCORCH_PYG=off``.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType

import torch
import torch_geometric
from torch_geometric import index
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import DirGNNConv, GATConv
from torch_geometric.nn.conv import gcn_conv
from torch_geometric.utils import sparse

from .functions.products import sparse_mm
from .nn._gat import Edges, attend, edges_of_graph
from .tensor.coordinates import coo, from_edge_index
from .tensor.format import Format
from .tensor.join import block_diag, cat
from .tensor.making import from_components
from .tensor.sparsetensor import SparseTensor
from .tensor.values import kept

__all__ = ["ToSparseTensor"]


# ---- functions of a SparseTensor ----
def _spmm(src: SparseTensor, other: torch.Tensor, reduce: str = "sum") -> torch.Tensor:
    if reduce in ("sum", "add"):
        return src @ other
    return sparse_mm(src, other, reduce)


def _set_sparse_value(adj: SparseTensor, value: torch.Tensor) -> SparseTensor:
    """The structure with other values [nnz], or rows of values [nnz, D] below a dense level."""
    if value.dim() == 1:
        return adj._with_values(value)
    rows, columns = adj.convert("csr").pos(1), adj.convert("csr").crd(1)
    format = Format("dense(0), compressed(1), dense(2)")
    shape = (*adj.shape, value.shape[1])
    made = from_components(format, shape, [None, rows, None], [None, columns, None], value.detach().flatten())
    return made._with_values(value.flatten())


def _gcn_norm(
    edge_index: SparseTensor,
    edge_weight: torch.Tensor | None = None,
    num_nodes: int | None = None,
    improved: bool = False,
    add_self_loops: bool = True,
    flow: str = "source_to_target",
    dtype: torch.dtype | None = None,
) -> tuple[SparseTensor, None]:
    """D^-1/2 (A + I) D^-1/2, with D the sums of rows, and no weights beside it."""
    loops = (2.0 if improved else 1.0) if add_self_loops else False

    def normalized() -> SparseTensor:
        edges = edge_index.indices().flip(0)
        return from_edge_index(
            edges, edge_index.values(), num_nodes=len(edge_index), add_self_loops=loops, normalize="sym"
        )

    return kept(edge_index, f"gcn_norm, loops of {loops}", normalized), None


def _remove_self_loops(edge_index: SparseTensor, edge_attr: None = None) -> tuple[SparseTensor, None]:
    if edge_attr is not None:
        return NotImplemented

    def without() -> SparseTensor:
        edges = edge_index.indices()
        left = edges[0] != edges[1]
        return coo(edges[:, left], edge_index.values()[left], edge_index.shape)

    return kept(edge_index, "without loops", without), None


def _add_self_loops(
    edge_index: SparseTensor,
    edge_attr: None = None,
    fill_value: float | None = None,
    num_nodes: int | tuple[int, int] | None = None,
) -> tuple[SparseTensor, None]:
    if edge_attr is not None or isinstance(fill_value, str | torch.Tensor):
        return NotImplemented
    fill = 1.0 if fill_value is None else float(fill_value)

    def added() -> SparseTensor:
        edges, loops = edge_index.indices(), torch.arange(min(edge_index.shape)).expand(2, -1)
        weights = edge_index.values()
        weights = torch.cat([weights, weights.new_full((loops.shape[1],), fill)])
        return coo(torch.cat([edges, loops], 1), weights, edge_index.shape)

    return kept(edge_index, f"with loops of {fill}", added), None


def _cat(tensors: list[SparseTensor], dim: int | tuple[int, int]) -> SparseTensor:
    """One after the other along a dimension, or along the diagonal; in the format of the first."""
    if dim not in (0, 1):
        return block_diag(*tensors).convert(tensors[0].format)
    extent = max(x.shape[1 - dim] for x in tensors)
    pads = [extent - x.shape[1 - dim] for x in tensors]
    wide = [
        torch.nn.functional.pad(x, (0, n) if dim == 0 else (0, 0, 0, n))
        for x, n in zip(tensors, pads, strict=True)
    ]
    return cat(wide, dim).convert(tensors[0].format)


def _is_sparse(src: SparseTensor) -> bool:
    return True


# ---- layers ----
def _gat(
    layer: GATConv,
    x: torch.Tensor | tuple,
    edge_index: SparseTensor,
    edge_attr: torch.Tensor | None = None,
    size: tuple[int, int] | None = None,
    return_attention_weights: bool | None = None,
) -> torch.Tensor:
    """Attention in one pass, unless somebody looks inside: by a hook, in a subclass, or for weights."""
    inside = ("_propagate", "_message", "_aggregate", "_edge_update")
    hooked = any(hooks for name, hooks in vars(layer).items() if name.startswith(inside))
    plain = type(layer) is GATConv and layer.aggr == "add" and layer.decomposed_layers == 1
    if return_attention_weights or hooked or layer.explain or not plain:
        return NotImplemented

    def edges_of(graph: SparseTensor, sources: int, targets: int, _: bool, dtype: torch.dtype) -> Edges:
        loops = layer.add_self_loops
        make = lambda: edges_of_graph(graph, sources, targets, loops, dtype)  # noqa: E731
        return kept(graph, f"edges of attention, {dtype}{', loops' * loops}", make)

    return attend(layer, edges_of, x, edge_index, edge_attr, size)


def _directed(layer: DirGNNConv, x: torch.Tensor, edge_index: SparseTensor) -> torch.Tensor:
    """Along the edges and against them."""
    back = kept(edge_index, "transpose", lambda: edge_index.T.convert("csr"))
    y = layer.alpha * layer.conv_out(x, back) + (1 - layer.alpha) * layer.conv_in(x, edge_index)
    return y + layer.lin(x) if layer.root_weight else y


# ---- in their places ----
def _is_ours(graph: object) -> bool:
    return isinstance(graph[0] if isinstance(graph, list) and graph else graph, SparseTensor)


def _is_short(ptr: torch.Tensor) -> bool:
    return ptr.dtype is torch.int32


def _meaning(original: Callable, ours: Callable, at: int = 0, applies: Callable = _is_ours) -> Callable:
    """original, and ours where its argument number ``at`` is a SparseTensor or a list of them, unless ours
    returns NotImplemented."""
    name, absent = list(inspect.signature(original).parameters)[at], NotImplemented

    def call(*args: object, **kwargs: object) -> object:
        given = args[at] if len(args) > at else kwargs.get(name)
        found = ours(*args, **kwargs) if applies(given) else absent
        return original(*args, **kwargs) if found is absent else found

    # TorchScript reads the text of the original, and looks up its names where the function that it got does
    there = FunctionType(call.__code__, original.__globals__, original.__name__, None, call.__closure__)
    return update_wrapper(there, original)


def _connect() -> None:
    """Puts them where the old ones are bound.

    Indices of int32 go to int64 in ``ptr2index``: gradients of torch's scatter_add read them as if they were.
    """
    utils = torch_geometric.utils
    functions = {
        utils.is_torch_sparse_tensor: _is_sparse,
        utils.spmm: _spmm,
        utils.remove_self_loops: _remove_self_loops,
        utils.add_self_loops: _add_self_loops,
        gcn_conv.gcn_norm: _gcn_norm,
        sparse.set_sparse_value: _set_sparse_value,
        sparse.cat: _cat,
    }
    meanings = {original: _meaning(original, ours) for original, ours in functions.items()}
    long = lambda ptr, output_size=None: index.ptr2index(ptr.long(), output_size)  # noqa: E731
    meanings[index.ptr2index] = _meaning(index.ptr2index, long, applies=_is_short)
    for module in [m for name, m in sys.modules.items() if name.partition(".")[0] == "torch_geometric"]:
        for name, bound in list(vars(module).items()):
            if isinstance(bound, FunctionType) and bound in meanings:
                setattr(module, name, meanings[bound])
    GATConv.forward = _meaning(GATConv.forward, _gat, at=2)
    DirGNNConv.forward = _meaning(DirGNNConv.forward, _directed, at=2)


if os.environ.get("SCORCH_PYG") != "off":
    _connect()


# ---- data ----
class ToSparseTensor(torch_geometric.transforms.ToSparseTensor):
    """Gives data a SparseTensor ``adj_t`` [targets, sources] in place of its ``edge_index``.

    Args:
        attr: the attribute with the weights of edges, ones where there is none. Those of parallel edges are
            summed; other attributes of edges stay, sorted by targets and sources as the entries are.
        remove_edge_index: whether ``edge_index``, and the weights, go.
        format: of ``adj_t``; layers take csr, csc and coo.

    >>> data = scorch.pyg.ToSparseTensor()(data)
    >>> y = GCNConv(16, 7)(data.x, data.adj_t)
    """

    def __init__(
        self,
        attr: str | None = "edge_weight",
        remove_edge_index: bool = True,
        format: str | Format = "csr",
    ) -> None:
        super().__init__(attr, remove_edge_index, layout=torch.sparse_csr)
        self.format = format

    def forward(self, data: Data | HeteroData) -> Data | HeteroData:
        removes, self.remove_edge_index = self.remove_edge_index, False
        try:
            data = super().forward(data)  # which sorts edges and what belongs to them
        finally:
            self.remove_edge_index = removes
        for store in data.edge_stores:
            if "edge_index" not in store:
                continue
            edges = store.edge_index.flip(0)
            weights = store.get(self.attr)
            weights = torch.ones(edges.shape[1]) if weights is None else weights
            store.adj_t = coo(edges, weights, store.size()[::-1], self.format)
            for name in ("edge_index", self.attr):
                if removes and name in store:
                    del store[name]
        return data

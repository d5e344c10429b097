"""Rows an edge: gathered from nodes and summed up at nodes, the edges being the entries of a SparseTensor.

Layers that write their messages themselves gather the features of sources and targets by an index array, and
scatter what they made of them by another. Whose arrays these are is known (``owner_of``), so that sums are
products here, with a matrix of ones [nodes, entries] whose rows list the entries of a node. It is kept with
the SparseTensor. Gathering and summing up are each the gradient of the other.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary
from torch_geometric import utils

from .. import _C, _torch
from ..functions.products import sparse_mm
from ..tensor.coordinates import coo
from ..tensor.entries import fibres
from ..tensor.layouts import owner_of
from ..tensor.making import from_components
from ..tensor.sparsetensor import SparseTensor, sound
from ..tensor.values import kept

_TYPES = (torch.float32, torch.float64)
_ends: WeakIdKeyDictionary = WeakIdKeyDictionary()  # of index arrays that were made here


class Ends:
    """The nodes at one end of the entries of a matrix: an index [entries], and its matrices of ones."""

    def __init__(self, index: torch.Tensor, nodes: int, pos: torch.Tensor | None) -> None:
        self.index, self.nodes, self._pos, self._made = index, nodes, pos, {}

    def matrix(self, dtype: torch.dtype) -> SparseTensor:
        """[nodes, entries]: the entries of each node."""
        if dtype not in self._made:
            self._made[dtype] = _torch.lasting(lambda: self._ones(dtype))
        return self._made[dtype]

    def _ones(self, dtype: torch.dtype) -> SparseTensor:
        n = len(self.index)
        places, ones = torch.arange(n, device="cpu"), torch.ones(n, dtype=dtype, device="cpu")
        if self._pos is None:
            return coo(torch.stack([self.index, places]), ones, (self.nodes, n))
        places = places.to(self._pos.dtype)
        return from_components(
            "csr", (self.nodes, n), [None, self._pos], [None, places], ones, validate=False
        )

    @property
    def nbytes(self) -> int:
        return self.index.nbytes + sum(matrix.nbytes for matrix in self._made.values())


def _targets(a: SparseTensor) -> Ends:
    made = lambda: Ends(fibres(a), a.shape[0], a.pos(1))  # noqa: E731
    return kept(a, "targets of entries", made, structural=True)


def _sources(a: SparseTensor) -> Ends:
    made = lambda: Ends(sound(a).crd(1).long(), a.shape[1], None)  # noqa: E731
    return kept(a, "sources of entries", made, structural=True)


def ptr2index(ptr: torch.Tensor, output_size: int | None = None) -> torch.Tensor:
    """The row of each entry, int64: gradients of torch's scatter_add read int32 as if it were."""
    graph = owner_of(ptr)
    if graph is None or not _C.plain():
        return NotImplemented if ptr.dtype is torch.int64 else _counted(ptr, output_size)
    ends = _targets(graph)
    index = ends.index.detach()
    _ends[index] = ends
    return index


def _counted(ptr: torch.Tensor, output_size: int | None) -> torch.Tensor:
    return torch.arange(len(ptr) - 1, device="cpu").repeat_interleave(ptr.diff(), output_size=output_size)


def ends_of(index: object) -> Ends | None:
    """What is known of an index array."""
    if not isinstance(index, torch.Tensor) or not _C.plain():
        return None
    graph = owner_of(index)
    return _ends.get(index) if graph is None else _sources(graph)


# ---- between nodes and entries ----
class _Gather(torch.autograd.Function):
    """Rows of nodes [nodes, ...] -> [entries, ...]"""

    @staticmethod
    def forward(ctx, x, ends):
        ctx.ends = ends
        return x.index_select(0, ends.index)

    @staticmethod
    def backward(ctx, grad):
        return _Sum.apply(grad, ctx.ends), None


class _Sum(torch.autograd.Function):
    """[entries, ...] -> [nodes, ...], the sums over the entries of each node."""

    @staticmethod
    def forward(ctx, messages, ends):
        ctx.ends = ends
        return (ends.matrix(messages.dtype) @ messages.flatten(1)).view(-1, *messages.shape[1:])

    @staticmethod
    def backward(ctx, grad):
        return _Gather.apply(grad, ctx.ends), None


def index_select(layer: Any, src: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """``MessagePassing._index_select``, where a gradient is asked for."""
    dim = layer.node_dim + src.dim() * (layer.node_dim < 0)
    if (
        dim != 0
        or src.dim() < 2
        or src.dtype not in _TYPES
        or not (src.requires_grad and torch.is_grad_enabled())
    ):
        return NotImplemented
    ends = ends_of(index)
    return _Gather.apply(src, ends) if len(src) == ends.nodes else NotImplemented


def scatter(
    src: torch.Tensor, index: torch.Tensor, dim: int = 0, dim_size: int | None = None, reduce: str = "sum"
) -> torch.Tensor:
    """``torch_geometric.utils.scatter``: the rows of entries, reduced at each node.

    Layers read int32 coordinates of coo, of which gradients of torch's scatter_add make other numbers.
    """
    if index.dtype is torch.int32:
        return utils.scatter(src, index.long(), dim, dim_size, reduce)
    ends, reduce = ends_of(index), "sum" if reduce == "add" else reduce
    known = reduce in ("sum", "mean", "max", "min") and dim in (0, -src.dim()) and src.dtype in _TYPES
    if not known or src.dim() < 2 or dim_size != ends.nodes or len(src) != len(index):
        return NotImplemented
    if reduce == "sum":
        return _Sum.apply(src, ends)
    if reduce == "mean":
        return _Sum.apply(src, ends) / _count(ends, src)
    return sparse_mm(ends.matrix(src.dtype), src.flatten(1), reduce).view(-1, *src.shape[1:])


def _count(ends: Ends, src: torch.Tensor) -> torch.Tensor:
    """How many entries a node has, at least 1, as a factor of rows like those of src."""
    matrix = ends.matrix(src.dtype)
    count = kept(matrix, "counts", lambda: (matrix @ matrix.new_ones(matrix.shape[1])).clamp(min=1))
    return count.view(-1, *[1] * (src.dim() - 1))


class _Softmax(torch.autograd.Function):
    """Of rows of entries [entries, ...] over those of each node."""

    @staticmethod
    def forward(ctx, src, ends):
        flat, matrix = src.flatten(1), ends.matrix(src.dtype)
        powers = (flat - sparse_mm(matrix, flat, "max").index_select(0, ends.index)).exp_()
        weights = powers.div_((matrix @ powers).index_select(0, ends.index)).view(src.shape)
        ctx.ends = ends
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, grad):
        (weights,) = ctx.saved_tensors
        given = weights * grad
        return given - weights * _Gather.apply(_Sum.apply(given, ctx.ends), ctx.ends), None


def softmax(
    src: torch.Tensor,
    index: torch.Tensor | None = None,
    ptr: torch.Tensor | None = None,
    num_nodes: int | None = None,
    dim: int = 0,
) -> torch.Tensor:
    """``torch_geometric.utils.softmax``"""
    if dim not in (0, -src.dim()) or src.dtype not in _TYPES or len(src) != len(index):
        return NotImplemented
    flat = src.view(-1, 1) if src.dim() == 1 else src
    return _Softmax.apply(flat, ends_of(index)).view(src.shape)

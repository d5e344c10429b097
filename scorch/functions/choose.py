"""Choosing entries: those that are not zero, by a mask, and at the places of another tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import torch

from .. import _torch
from ..tensor.entries import (
    Entries,
    broadcast,
    build,
    distinct,
    entries,
    places,
    ravel,
    same_structure,
    unravel,
)
from ..tensor.making import of_torch, sparse
from ..tensor.sparsetensor import SparseTensor
from . import kernels
from .pointwise import UNION, format_of, gather, is_known, is_scalar, merged
from .running import dense_result
from .writing import looked_up


def nonzero(input: SparseTensor, *, as_tuple: bool = False) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """``torch.nonzero``: stored zeros do not count; from the coordinates, in row-major order."""
    if not input._ndim:
        return torch.nonzero(input.to_dense(), as_tuple=as_tuple)
    e = entries(input)
    mask, where = e.values != 0, e.indices
    if _torch.in_graph() or not mask.all():
        where = where[:, places(mask)]
    return where.unbind() if as_tuple else where.T  # by columns, as torch lays them


# ---- by a mask ----
def _is_zero(x: object) -> bool:
    """Whether x is known to be zero where no SparseTensor stores anything."""
    return isinstance(x, SparseTensor) or (is_known(x) and bool(x == 0))


def where(condition: torch.Tensor, input: object = None, other: object = None) -> torch.Tensor | tuple:
    """``torch.where``: sparse where what is chosen at places that nobody stores is zero."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    condition, input, other = operands = [*map(of_torch, (condition, input, other))]
    if isinstance(condition, SparseTensor) and condition.dtype != torch.bool:
        raise TypeError(f"where: expected a condition of bool, got {condition.dtype}")
    if _is_zero(other) and (_is_zero(input) or isinstance(condition, SparseTensor)):
        return joined(torch.where, operands)
    return dense_result(torch.where)(*operands)


def joined(f: Callable, operands: Sequence[object]) -> torch.Tensor:
    """f of operands at all places where one of the SparseTensors among them stores a value."""
    owners = [x for x in operands if isinstance(x, SparseTensor)]
    plain = all(isinstance(x, SparseTensor) or is_scalar(x) for x in operands)
    if len(owners) == 2 and plain:
        return merged(_between(f, operands), "", *owners, UNION)
    shape = reduce(_torch.broadcast, [tuple(x.shape) for x in operands if isinstance(x, torch.Tensor)])
    first = owners[0]._unique()
    if all(same_structure(first, x) for x in owners[1:]) and shape == tuple(first.shape):
        return first._with_values(f(*(_at(first, x) for x in operands)))
    whole = next((x for x in owners if x._ndim == len(shape)), first)
    format = format_of(whole, len(shape))
    if plain:
        each = [x._whole()._unique() for x in owners]
        made = kernels.meeting(_between(f, operands), "add", each, format)
        if made is not None:
            return made
    spread = [broadcast(x, shape) if isinstance(x, SparseTensor) else x for x in operands]
    keys = [ravel(x.indices, shape) for x in spread if isinstance(x, Entries)]
    union, slots = distinct(torch.cat(keys))
    slots = iter(slots.split([key.numel() for key in keys]))
    indices = unravel(union, shape)
    values = f(*(_placed(x, shape, indices, slots) for x in spread))
    index = torch.int64 if any(x.index_dtype == torch.int64 for x in owners) else torch.int32
    return build(Entries(shape, indices, values), format, index)


def _between(f: Callable, operands: Sequence[object]) -> Callable:
    """f of numbers and of the values of the two SparseTensors among operands."""

    def of(*pair: torch.Tensor) -> torch.Tensor:
        values = iter(pair)
        return f(*(next(values) if isinstance(x, SparseTensor) else x for x in operands))

    return of


def _at(a: SparseTensor, x: object) -> object:
    """The values of x at A's stored places."""
    if isinstance(x, SparseTensor):
        return x._unique().values()
    return gather(a, x) if isinstance(x, torch.Tensor) and x.dim() else x


def _placed(x: object, shape: Sequence[int], indices: torch.Tensor, slots) -> object:
    """The values of an operand at coordinates; ``slots`` say where those of each SparseTensor go."""
    if isinstance(x, tuple):
        return x.values.new_zeros(indices.shape[1]).index_copy(0, next(slots), x.values)
    return x.expand(shape)[tuple(indices)] if isinstance(x, torch.Tensor) and x.dim() else x


# ---- at the places of another ----
def sparse_mask(input: torch.Tensor, mask: torch.Tensor) -> SparseTensor:
    """``Tensor.sparse_mask``: the values of a tensor, dense or sparse, where the mask stores something."""
    mask = mask if isinstance(mask, SparseTensor) else sparse(mask)
    if tuple(input.shape) != tuple(mask.shape):
        raise ValueError(
            f"sparse_mask: expected a mask of shape {tuple(input.shape)}, got {tuple(mask.shape)}"
        )
    mask = mask._unique()
    return mask._with_values((looked_up if isinstance(input, SparseTensor) else gather)(mask, input))

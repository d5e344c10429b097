"""The commonest indices of csr matrices, in few operations."""

from __future__ import annotations

import torch

from .. import _C
from .cutting import cut
from .format import layout
from .sparsetensor import SparseTensor, core_of
from .values import plain_values
from .wrapping import fresh, wrap

COMMONEST = (slice, int, tuple, torch.Tensor)
COMPUTED = {  # types of values that kernels have
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64,
}  # fmt: skip
MOVED = {  # types of values that the extension knows
    torch.float16, torch.bfloat16, torch.float32, torch.float64,
    torch.bool, torch.int16, torch.int32, torch.int64,
}  # fmt: skip
_WHOLE = slice(None)


def common(a: SparseTensor, index: slice | int | tuple | torch.Tensor) -> torch.Tensor | None:
    """``A[index]`` where that is an entry, a row, some in order, or what a list, a mask or a slice of one
    dimension takes, of plain values; else None."""
    if index.__class__ is torch.Tensor:
        return _taken(a, index, _WHOLE)
    if index.__class__ is tuple:
        return _of_pair(a, *index) if len(index) == 2 else None
    n, columns = a._shape
    values = plain_values(a)
    if values is None:
        return None
    row = index.__class__ is int
    start, stop, step = (index, index + 1, 1) if row else index.indices(n)
    if step > 1 and start < stop:
        return _selected(a, values, ((stop - start + step - 1) // step, start, step), None)
    if step != 1 or start < 0 or stop > n or not (row or 0 < stop - start < n):
        return None
    core_of(a).refresh()  # as sound does, of what is known to be plain
    arrays = cut((*a._arrays()[:2], values), start, stop)
    if row:  # a vector by the same arrays
        return wrap(layout("coo", 1), (columns,), arrays)
    return wrap(layout("csr", 2), (stop - start, columns), arrays)


def _of_pair(a: SparseTensor, row: object, column: object) -> torch.Tensor | None:
    kinds = (row.__class__, column.__class__)
    if kinds == (int, int):
        return _entry(a, row, column)
    if kinds == (torch.Tensor, torch.Tensor):
        return _entries(a, row, column)
    return _taken(a, row, column)


def _named(item: object, extent: int) -> torch.Tensor | tuple[int, int, int] | bool | None:
    """The coordinates that an item names, as the extension takes them, None: all; False: it is not common."""
    if item.__class__ is slice:
        start, stop, step = item.indices(extent)
        if step < 1 or start >= stop:
            return False
        return (
            None
            if (start, stop, step) == (0, extent, 1)
            else ((stop - start + step - 1) // step, start, step)
        )
    if item.__class__ is not torch.Tensor or item.dim() != 1 or not item.is_contiguous():
        return False
    if item.dtype != torch.int64 and (item.dtype != torch.bool or item.shape[0] != extent):
        return False
    return _C.inside(item, extent)


def _taken(a: SparseTensor, row: object, column: object) -> SparseTensor | None:
    """The rows of a list or mask, or all, and of them the columns of a list, mask or slice."""
    values = plain_values(a)
    if values is None or (row.__class__ is slice and row != _WHOLE):
        return None
    along, across = _named(row, a._shape[0]), _named(column, a._shape[1])
    return (
        None if along is False or across is False or along is across else _selected(a, values, along, across)
    )


def _selected(a: SparseTensor, values: torch.Tensor, along: object, across: object) -> SparseTensor | None:
    if values.dtype not in MOVED:
        return None
    core_of(a).refresh()
    columns = a._shape[1]
    arrays = _C.select(*a._arrays()[:2], values, along, across, columns)
    if across is not None:
        columns = across[0] if across.__class__ is tuple else across.shape[0]
    return fresh(layout("csr", 2), (arrays[0].shape[0] - 1, columns), arrays)


def _entry(a: SparseTensor, row: int, column: int) -> torch.Tensor | None:
    """The value at a place: a view where it is stored, as of a dense tensor, else zero."""
    rows, columns = a._shape
    row, column = row + rows * (row < 0), column + columns * (column < 0)
    values = plain_values(a) if 0 <= row < rows and 0 <= column < columns else None
    if values is None:
        return None
    core_of(a).refresh()
    at = _C.place(*a._arrays()[:2], row, column)
    return values[at] if at >= 0 else values.new_zeros(())


def _entries(a: SparseTensor, row: torch.Tensor, column: torch.Tensor) -> torch.Tensor | None:
    """The values at places, zero where nothing is stored."""
    values = plain_values(a)
    if values is None or values.dtype not in MOVED or row.shape != column.shape:
        return None
    if row.dtype != torch.int64 or column.dtype != torch.int64:
        return None
    at = [_named(item, n) for item, n in zip((row, column), a._shape, strict=True)]
    if at[0] is False or at[1] is False:
        return None
    core_of(a).refresh()
    return _C.sought(*a._arrays()[:2], *at, values)

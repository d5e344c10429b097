"""The commonest indices of csr matrices, in few operations."""

from __future__ import annotations

import torch

from .. import _C
from .cutting import cut
from .format import layout
from .sparsetensor import SparseTensor, core_of
from .values import plain_values
from .wrapping import wrap

COMMONEST = (slice, int, tuple)


def common(a: SparseTensor, index: slice | int | tuple) -> torch.Tensor | None:
    """``A[index]`` where that is an entry, a row, or some in order, of plain values; else None."""
    if index.__class__ is tuple:
        return _entry(a, *index) if [i.__class__ for i in index] == [int, int] else None
    n, columns = a._shape
    values = plain_values(a)
    if values is None:
        return None
    row = index.__class__ is int
    start, stop, step = (index, index + 1, 1) if row else index.indices(n)
    if step != 1 or start < 0 or stop > n or not (row or 0 < stop - start < n):
        return None
    core_of(a).refresh()  # as sound does, of what is known to be plain
    arrays = cut((*a._arrays()[:2], values), start, stop)
    if row:  # a vector by the same arrays
        return wrap(layout("coo", 1), (columns,), arrays)
    return wrap(layout("csr", 2), (stop - start, columns), arrays)


def _entry(a: SparseTensor, row: int, column: int) -> torch.Tensor | None:
    """The value at a place: a view where it is stored, as of a dense tensor, else zero."""
    rows, columns = a._shape
    row, column = row + rows * (row < 0), column + columns * (column < 0)
    values = plain_values(a) if 0 <= row < rows and 0 <= column < columns else None
    if values is None:
        return None
    core_of(a).refresh()
    pos, crd = a._arrays()[:2]
    _, low, high = _C.rows(pos, row, row + 1)
    at = int(torch.searchsorted(crd[low:high], column)) + low
    return values[at] if at < high and int(crd[at]) == column else values.new_zeros(())

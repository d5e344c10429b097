"""Matrices of csr and csc by the extension: rows, columns, triangles, diagonals, several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch

from .. import _C, _torch
from .common import MOVED
from .cutting import Place, Selection, cut, is_whole, length
from .entries import fitting_index, is_listed, is_longer, kept_format, padded_at
from .format import layout
from .sparsetensor import SparseTensor, core_of, sound
from .values import assemble, in_a_row, needs_grad, plain_values
from .wrapping import fresh

Arrays = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # pos, crd and values


def selects(a: SparseTensor) -> bool:
    """Whether rows and columns of a are selected in one pass."""
    if a._ndim != 2 or _torch.in_graph() or _torch.is_tracing(a._val):
        return False
    return a._fmt in ("csr", "csc") or is_listed(a)


def reorders(a: SparseTensor, dims: Sequence[int]) -> bool:
    """Whether such selections of all of these dimensions take less time than renumbering entries."""
    if not selects(a):
        return False
    own = {"csr": 0, "csc": 1}.get(a._fmt)  # along which a has a position for each
    tables = [a._shape[d] for d in {*dims} - {own}]
    return not any(is_longer(4 * n, a._val.shape[0]) for n in tables)  # they are filled and inverted


def _arrays(a: SparseTensor) -> Arrays:
    return *sound(a)._arrays()[:2], a.values() if needs_grad(a) else a._val


def _matrix(format: str, shape: Sequence[int], arrays: Arrays) -> SparseTensor:
    """Of pos and crd that the extension made; values may be torch's."""
    make = assemble if arrays[-1].requires_grad else fresh
    return make(layout(format, len(shape)), tuple(shape), arrays)


def select_matrix(a: SparseTensor, chosen: Sequence[Selection]) -> torch.Tensor:
    """Rows and columns of csr or csc, in one pass over what is read."""
    turned = a._fmt == "csc"
    along, across = reversed(chosen) if turned else chosen
    rows, columns = reversed(a._shape) if turned else a._shape
    arrays = _arrays(a)
    span = slice(along, along + 1, 1) if isinstance(along, Place) else along
    if isinstance(span, slice) and span.step == 1:
        along, arrays = None, arrays if is_whole(span, rows) else cut(arrays, span.start, span.stop)
    along, across = _as_range(along), None if is_whole(across, columns) else _as_range(across)
    if along is not None or across is not None:
        arrays = _selected(*arrays, along, across, columns)
    shape = tuple([1 if isinstance(c, Place) else length(c) for c in chosen])
    kept = [n for n, c in zip(shape, chosen, strict=True) if not isinstance(c, Place)]
    if len(kept) == 1:
        if not isinstance(chosen[turned], Place):  # one column: the rows that have it
            pos, _, values = arrays
            arrays = (torch.stack((pos[0], pos[-1])), torch.repeat_interleave(pos.diff()), values)
        return assemble(layout("coo", 1), kept, arrays)
    if along is None and across is None:  # parts of arrays of another tensor
        made = assemble(layout(a._fmt, 2), shape, arrays)
    else:
        made = _matrix(a._fmt, shape, arrays)
    return made if len(kept) == 2 else made.reshape(kept)


def _as_range(c: Selection | None) -> tuple[int, int, int] | torch.Tensor | None:
    if isinstance(c, Place):
        return 1, c, 1
    return (length(c), c.start, c.step) if isinstance(c, slice) else c


def _selected(pos, crd, values, along, across, columns: int) -> tuple[torch.Tensor, ...]:
    """What the extension's `select` makes; values that take a gradient are moved by torch."""
    if values.dtype in MOVED and not (values.requires_grad and torch.is_grad_enabled()):
        return _C.select(pos, crd, values.detach(), along, across, columns)
    pos, crd, source = _C.select(pos, crd, torch.arange(len(values), device="cpu"), along, across, columns)
    return pos, crd, values[source]


def triangle(a: SparseTensor, side: int, offset: int) -> SparseTensor:
    """The entries of a matrix up to a diagonal, -1, or from it on, 1."""
    if a._fmt not in ("csr", "csc"):
        return triangle(a.convert("csr"), side, offset).convert(kept_format(a, range(2)))
    turned = a._fmt == "csc"
    across = (-side, -offset) if turned else (side, offset)
    return _matrix(a._fmt, a._shape, _selected(*_arrays(a), None, across, a._shape[not turned]))


def diagonal_from(a: SparseTensor, row: int, column: int, n: int) -> torch.Tensor:
    """The n entries of csr or csc from one on along its diagonal, zeros where nothing is stored."""
    values = plain_values(a)
    if values is None or values.dtype not in MOVED:
        return padded_at(a.values(), places_of_diagonal(a, row, column, n), 0)
    return _C.diagonal(*sound(a)._arrays()[:2], *_along(a, row, column), n, values)


def places_of_diagonal(a: SparseTensor, row: int, column: int, n: int) -> torch.Tensor:
    """Where their values are; where there is none, -1 less the place that it would come before."""
    return _C.diagonal(*sound(a)._arrays()[:2], *_along(a, row, column), n)


def with_diagonal(a: SparseTensor, row: int, column: int, values: torch.Tensor) -> SparseTensor:
    """csr or csc with these values from an entry on along its diagonal; what is not there is put in."""
    at, old, values = places_of_diagonal(a, row, column, values.shape[0]), a.values(), values.to(a.dtype)
    new = at < 0
    come = int(new.sum())
    if not come:
        return a._with_values(old.index_copy(0, at, values))
    (pos, crd), (along, across) = sound(a)._arrays()[:2], _along(a, row, column)
    index = fitting_index(pos.dtype, a._shape, crd.shape[0] + come)
    passed = new.cumsum(0)  # how many came up to each
    at = torch.where(new, -2 - at, at).add_(passed)
    kept = torch.ones(crd.shape[0] + come, dtype=torch.bool, device="cpu").index_fill_(0, at[new], False)
    made = kept.new_empty(kept.shape, dtype=index).masked_scatter_(kept, crd.to(index))
    made[at] = torch.arange(across, across + at.shape[0], dtype=index, device="cpu")
    pos = pos.to(index, copy=True)
    behind = along + at.shape[0] + 1
    pos[along + 1 : behind] += passed
    pos[behind:] += come
    values = old.new_zeros(kept.shape).masked_scatter(kept, old).index_copy(0, at, values)
    return _matrix(a._fmt, a._shape, (pos, made, values))


def _along(a: SparseTensor, row: int, column: int) -> tuple[int, int]:
    return (column, row) if a._fmt == "csc" else (row, column)


def widened(a: SparseTensor, before: Sequence[int], shape: Sequence[int]) -> SparseTensor:
    """csr or csc among empty rows and columns, so many of them before its own."""
    along, across = before[::-1] if a._fmt == "csc" else before
    pos, crd, values = _arrays(a)
    index, rows = fitting_index(pos.dtype, shape, values.shape[0]), shape[a._fmt == "csc"] + 1
    _torch.find_room(rows, pos.element_size(), "positions")
    pos, crd = pos.to(index), crd.to(index)
    behind = pos[-1:].expand(rows - along - pos.shape[0])
    pos = torch.cat((pos.new_zeros(along), pos, behind))
    return _matrix(a._fmt, shape, (pos, crd + across, values.clone()))


def reshapes(a: SparseTensor, shape: Sequence[int]) -> bool:
    """Whether a matrix gets another shape, as a matrix of rows, in one pass."""
    if len(shape) != 2 or a._fmt != "csr" or not selects(a) or not a.numel():
        return False
    return not is_longer(shape[0], a._val.shape[0])


def reshaped(a: SparseTensor, shape: Sequence[int]) -> SparseTensor:
    """Such a matrix, its values in as many places of another shape."""
    pos, crd, values = _arrays(a)
    index = fitting_index(pos.dtype, shape, crd.shape[0])
    structure = _C.reshaped(pos.to(index), crd.to(index), a._shape[1], *shape)
    return _matrix("csr", shape, (*structure, values))


def joins(tensors: Sequence[SparseTensor]) -> bool:
    """Whether csr tensors are joined in one pass."""
    return not _torch.in_graph() and not _torch.is_tracing(*[t._val for t in tensors])


def joined(
    tensors: Sequence[SparseTensor],
    starts: Sequence[int],
    shape: Sequence[int],
    types: tuple[torch.dtype, torch.dtype],
    below: bool,
) -> SparseTensor:
    """csr tensors one below the other, or side by side, in one of this shape; the columns of each begin at
    its start. types: of values and of indices. Where they are not joined in one pass, one below the other."""
    dtype, index = types[0], fitting_index(types[1], shape, sum(t._val.shape[0] for t in tensors))
    if not joins(tensors):
        return _followed(tensors, starts, shape, dtype, index)
    found, values, recorded = [], [], needs_grad(*tensors)
    for t, start in zip(tensors, starts, strict=True):
        core_of(t).refresh()  # as sound does, of what is known to be plain
        pos, crd, own = t._arrays()
        if pos.dtype != index:
            pos, crd = pos.to(index), crd.to(index)
        own = t.values() if recorded else own
        found.append((pos, crd, start))
        values.append(own if own.dtype == dtype else own.to(dtype))
    if dtype in MOVED and not recorded:
        sides = [(pos, crd, own, at) for (pos, crd, at), own in zip(found, values, strict=True)]
        return _matrix("csr", shape, _C.joined(sides, below))
    values, sizes = in_a_row(values), [len(own) for own in values]
    if below:
        pos, crd, _ = _C.joined([(pos, crd, None, at) for pos, crd, at in found], True)
        return _matrix("csr", shape, (pos, crd, values))
    places = torch.arange(len(values), device="cpu").split(sizes)
    sides = [(pos, crd, own, at) for (pos, crd, at), own in zip(found, places, strict=True)]
    pos, crd, source = _C.joined(sides, False)
    return _matrix("csr", shape, (pos, crd, values[source]))


def lists_in_a_row(
    tensors: Sequence[SparseTensor], shape: Sequence[int], types: tuple[torch.dtype, torch.dtype], new: bool
) -> SparseTensor:
    """coo tensors one after the other along the first dimension, or along a new one."""
    _torch.count_elements(shape)
    lists, sizes = [sound(t)._arrays()[1:-1] for t in tensors], [t._val.shape[0] for t in tensors]
    n, recorded = sum(sizes), needs_grad(*tensors)
    index = fitting_index(types[1], shape, n)
    crd = [torch.cat([one.to(index) for one in row]) for row in zip(*lists, strict=True)]
    starts = range(len(tensors)) if new else [0, *accumulate(t._shape[0] for t in tensors)][:-1]
    starts = torch.tensor(starts, dtype=index, device="cpu")
    start = torch.repeat_interleave(starts, torch.tensor(sizes, device="cpu"), output_size=n)
    crd = [start, *crd] if new else [crd[0] + start, *crd[1:]]
    values = in_a_row([(t.values() if recorded else t._val).to(types[0]) for t in tensors])
    pos = torch.tensor([0, n], dtype=index, device="cpu")
    return assemble(layout("coo", len(shape)), shape, (pos, *crd, values))


def _followed(tensors, starts, shape, dtype: torch.dtype, index: torch.dtype) -> SparseTensor:
    """One below the other, in graphs."""
    values = torch.cat([t.values() for t in tensors]).to(dtype)
    pos, crd, at = [torch.zeros(1, dtype=index, device="cpu")], [], 0
    for t, first in zip(tensors, starts, strict=True):
        rows, columns = sound(t)._arrays()[:2]
        pos.append(rows[1:].to(index) + at)
        crd.append(columns.to(index) + first if first else columns.to(index))
        at += t._val.shape[0]
    return assemble(layout("csr", len(shape)), shape, (torch.cat(pos), torch.cat(crd), values))

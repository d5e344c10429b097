"""Indexing: rows, slices, integer and boolean tensors, None and Ellipsis, along any dimension.

A dimension is selected by keeping the entries whose coordinate is wanted and renumbering them. Rows of csr,
with any number of leading batch dimensions, are cut out of pos directly, so that they cost what they contain;
csc answers the same for columns.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral

import torch

from .. import _C, _torch
from .common import COMMONEST, common
from .cutting import Place, Selection, cut, cut_first, is_shared_outside, is_whole
from .entries import (
    build,
    coordinates,
    entries,
    fitting,
    is_longer,
    kept_format,
    located,
    marked,
    padded_at,
    places,
    runs,
    same_structure,
    unravel,
)
from .format import layout
from .matrices import select_matrix, selects
from .picking import picked
from .sparsetensor import SINGLE, SparseTensor, partwise, sound
from .values import apart, assemble, needs_grad, refuse_unwritable, unmarked

# ---- what an index says ----
_MASKS = (torch.bool, torch.uint8)  # uint8 as torch has it, of old


def positions(name: str, index: torch.Tensor, extent: int, wraps: bool = False) -> torch.Tensor:
    """An index of a function of torch as int64, in range; wraps: numbers below zero count from the end."""
    if index.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name}: expected an index of int32 or int64, got {index.dtype}: call .long() first")
    index = index.long()
    if index.dim() == 1 and not _torch.is_tracing(index):
        return _C.inside(index.contiguous(), extent, wraps)
    return torch.ops.scorch.inside(index, extent, wraps)


def as_selection(item: object, extent: int, dim: int) -> Selection:
    """An int in range, a slice with a positive step, or int64 coordinates in range."""
    if isinstance(item, torch.Tensor) and item.dim() == 0 and item.dtype not in _MASKS:
        item = item.item()
    if isinstance(item, Integral) and not isinstance(item, bool):
        at = item if isinstance(item, torch.SymInt) else int(item)
        at = at + extent if at < 0 else at
        if not 0 <= at < extent:
            raise IndexError(f"index {item} is out of range for dimension {dim} of extent {extent}")
        return at
    if isinstance(item, slice):
        start, stop, step = _torch.bounds(item, extent)
        if step < 0:
            raise ValueError(f"slices of dimension {dim}: expected a positive step, got {step}: torch.flip")
        return slice(start, stop if start < stop else start, step)
    return _as_coordinates(item, extent, dim)


def _as_coordinates(item: object, extent: int, dim: int) -> torch.Tensor:
    if isinstance(item, SparseTensor):
        item = item.to_dense()
    item = _torch.as_tensor(item)
    if item.numel() == 0 and item.dtype.is_floating_point:
        item = item.long()
    if item.dtype in _MASKS and item.dim() == 1:
        if item.numel() != extent:
            raise IndexError(f"mask of {item.numel()} for dimension {dim} of extent {extent}")
        return places(item != 0)
    if item.dtype in _MASKS and not item.dim():
        number = "; for a number of uint8 call int(i)" * (item.dtype == torch.uint8)
        raise IndexError(
            f"True and False would make a new dimension, of 1 or 0: use A[None] or A[None][:0]{number}"
        )
    if item.dtype.is_floating_point or item.dtype in _MASKS:
        raise IndexError(f"expected integers or a mask as index of dimension {dim}, got {item.dtype}")
    item = item.long()
    if _torch.is_compiling():
        return torch.ops.scorch.inside(item, extent)
    if item.dim() == 1 and not _torch.is_tracing(item):
        return _C.inside(item.contiguous(), extent)
    if item.numel() and not (-extent <= int(item.min()) and int(item.max()) < extent):
        raise IndexError(f"an index is out of range for dimension {dim} of extent {extent}")
    return torch.where(item < 0, item + extent, item)


_ITEMS = {int, slice, type(None), type(Ellipsis), torch.Tensor}  # the commonest


def _as_item(item: object) -> object:
    """What NumPy has as a tensor, and what is an integer by its ``__index__`` as one."""
    if item.__class__ in _ITEMS or isinstance(item, Integral | torch.Tensor | torch.SymInt):
        return item
    if hasattr(item, "__array__"):
        return _torch.as_tensor(item)
    return operator.index(item) if hasattr(item, "__index__") else item


def _mask_rank(item: object) -> int:
    """Dimensions that an item of an index consumes."""
    if item is None or item is Ellipsis:
        return item is Ellipsis and 0
    return item.dim() if isinstance(item, torch.Tensor) and item.dtype == torch.bool and item.dim() else 1


def _spread(index: object, ndim: int) -> list:
    """The index as a list with an item for every dimension, and None for every new one."""
    items = [_as_item(item) for item in (index if isinstance(index, tuple) else [index])]
    used = sum(_mask_rank(item) for item in items)
    if used > ndim:
        raise IndexError(f"{used} indices for a tensor of {ndim} dimensions")
    at = next((k for k, item in enumerate(items) if item is Ellipsis), len(items))
    rest = items[at + 1 :]
    if any(item is Ellipsis for item in rest):
        raise IndexError("an index has at most one Ellipsis")
    return items[:at] + [slice(None)] * (ndim - used) + rest


@partwise
def getitem(a: torch.Tensor, index: object) -> torch.Tensor:
    """``A[index]``: a SparseTensor, or a dense tensor where entries are named one by one.

    Integers, slices, one integer or boolean tensor, None and Ellipsis give a SparseTensor, which may share
    memory with ``A``. Integers or integer tensors for every dimension, and a mask of A's shape, give the
    values there, zeros where nothing is stored, as a dense tensor. A dense tensor takes a sparse mask.
    """
    if not isinstance(a, SparseTensor):
        if not isinstance(index, SparseTensor) or index.dtype != torch.bool:
            raise NotImplementedError("a SparseTensor as an index: use its to_dense(), or indices()")
        return a[tuple(torch.nonzero(index).unbind(1))]
    if index.__class__ in COMMONEST and (a._fmt, a._ndim) == ("csr", 2):
        made = common(a, index)
        if made is not None:
            return made
    if index.__class__ is SparseTensor and index.dtype == torch.bool and index.shape == a.shape:
        return masked_select(a, index)
    items = _spread(index, a._ndim)
    if any(_mask_rank(item) > 1 for item in items):
        return lookup(a, _named(a, index))
    given = [item for item in items if item is not None]
    chosen = [as_selection(item, n, d) for d, (item, n) in enumerate(zip(given, a.shape, strict=True))]
    tensors = [c for c in chosen if isinstance(c, torch.Tensor)]
    named = given and not any(isinstance(c, slice) for c in chosen)
    if named and (len(given) == len(items) or not tensors):
        found = lookup(a, tuple(_torch.as_tensor(c) for c in chosen))
        return _insert(found, [item if item is None else 0 for item in items])
    if len(tensors) > 1:
        raise NotImplementedError(
            "indexing with several tensors: index one dimension at a time, or give an index tensor for every "
            "dimension"
        )
    flat, left = [c.reshape(-1) if isinstance(c, torch.Tensor) else c for c in chosen], iter(chosen)
    items = [item if item is None else next(left) for item in items]
    made = _insert(select_all(a._whole(), flat), items)
    return made if not tensors or tensors[0].dim() == 1 else _unflattened(made, items)


def _unflattened(made: torch.Tensor, items: list[Selection | None]) -> torch.Tensor:
    """What an index tensor of several dimensions selected, in its shape; made is in the flat one."""
    at = next(k for k, c in enumerate(items) if isinstance(c, torch.Tensor))
    before = sum(not isinstance(c, Place) for c in items[:at])
    return made.unflatten(before, tuple(items[at].shape))


def submatrix(a: SparseTensor, rows: object, columns: object) -> SparseTensor:
    """``A.submatrix(rows, cols)``"""
    if a._ndim != 2:
        raise ValueError(f"submatrix: expected a matrix, got {a._ndim} dimensions")
    a, chosen = a._whole(), []
    for dim, item in enumerate((rows, columns)):
        item = slice(None) if item is None else item
        c = as_selection(item, a.shape[dim], dim)
        if isinstance(c, Place) or (isinstance(c, torch.Tensor) and c.dim() != 1):
            raise IndexError(f"submatrix: expected a vector, a mask, a slice or None, got {item!r}")
        chosen.append(c)
    return select_all(a, chosen)


def _insert(a: torch.Tensor, items: list[Selection | None]) -> torch.Tensor:
    """What was selected, with the new dimensions; integers have none."""
    kept = [item for item in items if not isinstance(item, Place)]
    for at, item in enumerate(kept):
        a = a.unsqueeze(at) if item is None else a
    return a


# ---- selecting ----
def select_all(a: SparseTensor, chosen: Sequence[Selection]) -> torch.Tensor:
    """One selection a dimension; integers drop theirs."""
    chosen = list(chosen)
    if selects(a):
        if a._fmt in ("csr", "csc"):
            return select_matrix(a, chosen)
        if not all(map(is_whole, chosen, a.shape)):
            part, left = cut_first(a, chosen)
            if part is not a:  # a range of coordinates that ascend: what it contains is less
                return select_all(part, left)
            format = kept_format(a, [d for d, c in enumerate(chosen) if not isinstance(c, Place)])
            made = select_matrix(a.convert("csr"), chosen)
            return made.convert(fitting(format, made.shape)) if format != "dense" else made
    for dim in (0, a._ndim - 1):
        rows_first = a._fmt == "csr" and dim == 0 and a._ndim > 1
        if (rows_first or (a._fmt == "csc" and dim == 1)) and not is_whole(chosen[dim], a.shape[dim]):
            cut = _rows(a if rows_first else a.T, chosen[dim])
            a = cut if rows_first or cut._ndim == 1 else cut.T
            if isinstance(chosen[dim], Place):
                del chosen[dim]
            else:
                chosen[dim] = slice(0, a.shape[dim], 1)
            break
    a, chosen = cut_first(a, chosen)
    if all(is_whole(c, n) for c, n in zip(chosen, a.shape, strict=True)):
        return a
    format = kept_format(a, [d for d, c in enumerate(chosen) if not isinstance(c, Place)])
    made = build(picked(a, chosen), format, a.index_dtype)
    return apart(made) if is_shared_outside(a, chosen) else made


def _rows(a: SparseTensor, c: Selection) -> SparseTensor:
    """Selection along dimension 0 of csr: what is selected is read, nothing else."""
    pos, crd, _ = sound(a)._arrays()
    shape, block = tuple(a.shape), math.prod(a.shape[1:-1])
    values = a.values()
    span = slice(c, c + 1, 1) if isinstance(c, Place) else c
    if isinstance(span, slice) and span.step == 1 and not _torch.is_compiling():
        pos, crd, values = cut((pos, crd, values), span.start * block, span.stop * block)
        shape = (span.stop - span.start, *shape[1:])
    else:
        rows = (
            torch.arange(span.start, span.stop, span.step, device="cpu") if isinstance(span, slice) else span
        )
        fibres = (rows[:, None] * block + torch.arange(block, device="cpu")).view(-1)
        lengths = pos[fibres + 1].long() - pos[fibres].long()
        run, offset = runs(lengths)
        source = pos[fibres].long()[run] + offset
        pos = torch.cat([pos.new_zeros(1), lengths.cumsum(0).to(pos.dtype)])
        crd, held, shape = crd[source], values, (rows.numel(), *shape[1:])
        values = held[source]
    if isinstance(c, Place):
        shape = shape[1:]
    made = assemble(layout("csr" if len(shape) > 1 else "coo", len(shape)), shape, [pos, crd, values])
    shared = isinstance(span, slice) and span.step == 1  # outside of graphs
    return apart(made, held, source) if shared and _torch.is_compiling() else made


def lookup(a: SparseTensor, where: Sequence[torch.Tensor]) -> torch.Tensor:
    """The values at these coordinates, one tensor a dimension, broadcast together; dense."""
    where = torch.broadcast_tensors(*where)
    a = a._unique()
    place = located(a, [w.reshape(-1) for w in where])
    if not where[0].dim() and not _torch.in_graph() and place >= 0:
        return a.values()[int(place)]  # a view: changing it changes a, as in torch
    return padded_at(a.values(), place, 0).view(where[0].shape)


@partwise
def setitem(a: torch.Tensor, index: object, value: object) -> None:
    """``A[index] = value`` where no entry that is missing would be other than zero.

    The index is what ``A[index]`` takes. A number but zero is for entries that are all stored; a tensor
    may be anything where A stores an entry, and is zero elsewhere; it is broadcast.

    Raises: NotImplementedError: A or the value requires a gradient. ValueError: an entry is not stored, or
    stored several times.
    """
    if not isinstance(a, SparseTensor):
        dense = [x.to_dense() if isinstance(x, SparseTensor) else x for x in (index, value)]
        return a.__setitem__(*dense)
    assign(a, index, value, "A[...] = value")


def assign(a: SparseTensor, index: object, value: object, name: str, adds: bool = False) -> None:
    """The same by the function of a name; adds: to what is there, as often as an entry is named."""
    if needs_grad(a) or (isinstance(value, torch.Tensor) and needs_grad(value)):
        raise NotImplementedError(f"{name} is not recorded: use torch.no_grad(), or torch.where")
    refuse_unwritable(name, a)
    if not a._is_unique():
        raise ValueError(f"{name}: entries are stored several times: call A.coalesce() first")
    if value.__class__ in (int, float) and not adds and (entry := _entry_alone(a, index)) is not None:
        entry.fill_(value)
        return
    a, index = _rows_alone(a, index)
    where = _named(a, index)
    shape, there, at = _stored_of(a, where) if where is not None else _stored_in(a, index)
    given, held = _assigned(value, shape, there, a.dtype)
    if _torch.is_compiling():
        given = torch.ops.scorch.held(given, held, f"{name}: an entry that is named is not stored; {_FIXED}")
    elif not held:
        which = f"an entry of the part {list(shape)}" if where is None else _first_missing(a, where)
        raise ValueError(f"{name}: {which} is not stored; {_FIXED}")
    if adds:
        a._val.index_add_(0, at, given)
    else:
        a._val[at] = given
    _torch.write_back(a._val)


def _entry_alone(a: SparseTensor, index: object) -> torch.Tensor | None:
    """What two integers name, a view, where csr stores it."""
    named = index.__class__ is tuple and [x.__class__ for x in index] == [int, int]
    entry = common(a, index) if named and (a._fmt, a._ndim) == ("csr", 2) else None
    return entry if entry is not None and entry._is_view() else None


def _rows_alone(a: SparseTensor, index: object) -> tuple[SparseTensor, object]:
    """Rows of csr that an index begins with, on the values of a, and the index in them; or both as given."""
    first, *rest = index if index.__class__ is tuple and index else (index,)
    if first.__class__ not in (int, slice) or (a._fmt, a._ndim) != ("csr", 2) or not _C.plain():
        return a, index
    rows = as_selection(first, a._shape[0], 0)
    if rows.__class__ is int:
        return a[rows : rows + 1], (0, *rest)
    if rows.step != 1 or not 0 < rows.stop - rows.start < a._shape[0]:
        return a, index
    return a[rows], (slice(None), *rest)


def _stored_of(a: SparseTensor, where: Sequence[torch.Tensor]) -> tuple:
    """Of an index that names entries: its shape, where in it what is stored is named, and where in A."""
    shape, place = where[0].shape or (1,), located(a, [w.reshape(-1) for w in where])
    flat = places(place >= 0)
    return shape, unravel(flat, shape), place[flat]


def _stored_in(a: SparseTensor, index: object) -> tuple:
    """The same for a part of A, which is taken of the numbers of its values."""
    numbers = torch.arange(1, a._val.shape[0] + 1, device="cpu")
    stored = None if SINGLE[a._fmt] else coordinates(a)[1]
    part = a._with_values(numbers if stored is None else numbers * stored)[index]
    e = entries(part)
    there = places(e.values)  # the rest fills blocks up
    return tuple(part.shape), e.indices[:, there], e.values[there] - 1


def _first_missing(a: SparseTensor, where: Sequence[torch.Tensor]) -> str:
    missing = located(a, [w.reshape(-1) for w in where]) < 0
    first = int(missing.int().argmax())
    return f"the entry {[int(w.reshape(-1)[first]) for w in where]}"


def _assigned(
    value: object, shape: Sequence[int], there: torch.Tensor, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """What is written to the places [ndim, n] of a part, and whether all others would stay zero."""
    if isinstance(value, SparseTensor) and tuple(value.shape) == tuple(shape) != ():
        given, nonzero = lookup(value, tuple(there)), entries(value).values.count_nonzero()
    else:
        whole = _torch.as_tensor(value.to_dense() if isinstance(value, SparseTensor) else value, dtype=dtype)
        whole = whole.view(whole.shape[max(whole.dim() - len(shape), 0) :])
        given = whole.expand(shape)[tuple(there)]
        nonzero = whole.count_nonzero() * (math.prod(shape) // torch.sym_max(whole.numel(), 1))
    return given.to(dtype), given.count_nonzero() == nonzero


_FIXED = (
    "what a SparseTensor stores is fixed: change A.values() in place, build it again with scorch.coo, or, "
    "for torch.autograd.gradcheck, check a function of the values, lambda v: f(scorch.map(A, lambda _: v))"
)


def _named(a: SparseTensor, index: object) -> tuple[torch.Tensor, ...] | None:
    """The coordinates of the entries that an index names one by one, one tensor a dimension; else None."""
    items = _spread(index, a._ndim)
    masks = [item for item in items if _mask_rank(item) > 1]
    if masks:
        if len(items) > 1 or masks[0].shape != a.shape:
            raise IndexError(f"a mask must have one dimension or the shape {tuple(a.shape)}")
        if isinstance(masks[0], SparseTensor):
            e = entries(masks[0])
            return tuple(e.indices[:, places(e.values)])
        return tuple(unravel(places(masks[0].reshape(-1)), a.shape))
    given = [item for item in items if item is not None]
    if not given or any(isinstance(item, slice) for item in given):
        return None
    chosen = [as_selection(item, n, d) for d, (item, n) in enumerate(zip(given, a.shape, strict=True))]
    new = len(items) - len(given)
    if new and any(isinstance(c, torch.Tensor) for c in chosen):
        return None
    return torch.broadcast_tensors(*(_torch.as_tensor(c)[(None,) * new] for c in chosen))


# ---- functions of torch ----
def axis(dim: int, ndim: int) -> int:
    """A dimension counted from 0 on, a plain integer; a number counts as having one.

    torch.compile makes a symbol of one that is another in a later call. A graph is for one all the same.
    """
    try:
        dim, n = operator.index(dim), max(ndim, 1)
    except TypeError:
        raise TypeError(f"expected a dimension, which is an integer, got {dim!r}") from None
    if not -n <= dim < n:
        raise IndexError(f"dimension {dim} is out of range for {ndim} dimensions")
    return dim % n


def axes(dim: int | Sequence[int], ndim: int) -> list[int]:
    """The same of one dimension, or of several."""
    return [axis(d, ndim) for d in (dim if isinstance(dim, Sequence) else [dim])]


def along(input: SparseTensor, dim: int, index: object) -> torch.Tensor:
    """``A[..., index, ...]`` with the index at a dimension."""
    dim = axis(dim, input._ndim)
    return getitem(input, (slice(None),) * dim + (index,) if dim else index)


def narrow(input: SparseTensor, dim: int, start: int | torch.Tensor, length: int) -> torch.Tensor:
    """``torch.narrow``."""
    dim, start = axis(dim, input._ndim), int(start)
    extent = input.shape[dim]
    start += extent if start < 0 else 0
    if length < 0 or not 0 <= start <= extent - length:
        raise ValueError(f"narrow: {start}..{start + length} is out of range for an extent of {extent}")
    return along(input, dim, slice(start, start + length))


def index_select(input: SparseTensor, dim: int, index: torch.Tensor) -> torch.Tensor:
    """``torch.index_select``."""
    if index.dim() > 1 or index.dtype not in (torch.int32, torch.int64):
        raise IndexError(
            f"index_select: expected a vector of int32 or int64, got {list(index.shape)} of {index.dtype}"
        )
    if not input._ndim:
        return index_select(input.reshape(1), dim, index).reshape(())
    dim = axis(dim, input._ndim)
    return along(input, dim, positions("index_select", index.reshape(-1), input.shape[dim]))


def embedding(
    input: torch.Tensor,
    weight: torch.Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> torch.Tensor:
    """``F.embedding``: rows of a sparse table, sparse, as ``weight[input]`` of one index are."""
    if isinstance(input, SparseTensor) or max_norm is not None:
        raise NotImplementedError(
            "embedding: expected dense indices, and no max_norm, which changes the table: call torch.renorm "
            "on the table first"
        )
    if (padding_idx is not None or scale_grad_by_freq) and needs_grad(weight):
        raise NotImplementedError(
            "embedding: expected no padding_idx and no scale_grad_by_freq for a table that requires a "
            "gradient: leave them out, and change the rows of its grad after backward"
        )
    return unmarked(index_select(weight, 0, input.reshape(-1)).reshape((*input.shape, weight.shape[1])))


def _is_of(input: SparseTensor, mask: torch.Tensor) -> bool:
    """Whether a mask has the entries of a tensor, in row-major order, as ``A > 0`` has."""
    return isinstance(mask, SparseTensor) and input.is_coalesced() and same_structure(input, mask)


def masked_select(input: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """``torch.masked_select``: the values under a mask, which broadcasts with the tensor; a dense vector."""
    if mask.dtype != torch.bool:
        raise TypeError(f"masked_select: expected a mask of bool, got {mask.dtype}")
    shape = _torch.broadcast(input.shape, mask.shape)
    if not shape:
        return torch.masked_select(input.to_dense(), mask.to_dense())
    if isinstance(input, SparseTensor) and _is_of(input, mask):
        return input.values()[places(mask.values())]
    where = unravel(marked(mask, shape), shape)
    if not isinstance(input, SparseTensor) or not input._ndim:
        return input.to_dense().expand(shape)[tuple(where)]
    where = where[len(shape) - input._ndim :]
    return lookup(input, [w if n != 1 else 0 * w for w, n in zip(where, input.shape, strict=True)])


def unbind(input: SparseTensor, dim: int = 0) -> tuple[torch.Tensor, ...]:
    """``torch.unbind``; rows and columns of a matrix are read in csr, where each costs what it contains."""
    a, dim = input, axis(dim, input._ndim)
    extent = a.shape[dim]
    if a._ndim == 2 and not _torch.in_graph() and not is_longer(extent, a._val.shape[0]):
        a, dim = (a.T if dim else a).convert("csr"), 0
    return tuple(along(a, dim, k) for k in range(extent))


def split(tensor: SparseTensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[torch.Tensor, ...]:
    """``torch.split``."""
    extent = tensor.shape[axis(dim, tensor._ndim)]
    if isinstance(split_size, int | torch.SymInt):
        if split_size < 0 or (split_size == 0 and extent):
            raise ValueError(f"split: expected a positive size, got {split_size}")
        pieces = range(int(max(-(-extent // max(split_size, 1)), 1)))  # traced, a graph has so many
        sizes = [min(split_size, extent - k * split_size) for k in pieces]
    else:
        sizes = list(split_size)
        if sum(sizes) != extent:
            raise ValueError(f"split: expected sizes that sum to {extent}, got {sizes}")
    return _pieces(tensor, sizes, dim)


def _pieces(a: SparseTensor, sizes: Sequence[int], dim: int) -> tuple[torch.Tensor, ...]:
    at, parts = 0, []
    for size in sizes:
        parts.append(narrow(a, dim, at, size))
        at += size
    return tuple(parts)


def chunk(input: SparseTensor, chunks: int, dim: int = 0) -> tuple[torch.Tensor, ...]:
    """``torch.chunk``."""
    if chunks <= 0:
        raise ValueError(f"chunk: expected a positive number of chunks, got {chunks}")
    extent = input.shape[axis(dim, input._ndim)]
    return split(input, -(-extent // chunks) if extent else [0] * chunks, dim)


def tensor_split(
    input: SparseTensor,
    indices_or_sections: int | Sequence[int] | torch.Tensor | None = None,
    dim: int = 0,
    **named: int | Sequence[int] | torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    """``torch.tensor_split``; ``named`` are the three names that torch has for what it may be."""
    (how,) = (*named.values(),) if indices_or_sections is None else (indices_or_sections,)
    extent = input.shape[axis(dim, input._ndim)]
    if isinstance(how, torch.Tensor):
        how = how.tolist()
    if isinstance(how, int | torch.SymInt):
        if how <= 0:
            raise ValueError(f"tensor_split: expected a positive number, got {how}")
        _torch.find_room(how, 1 << 10, "pieces")
        each, more = extent // how, extent % how
        return _pieces(input, [each + (k < more) for k in range(how)], dim)
    cuts = [0, *how, extent]
    return tuple(along(input, dim, slice(lo, hi)) for lo, hi in pairwise(cuts))

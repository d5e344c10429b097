"""Entries: the stored values of a sparse tensor by coordinates, sorted and unique.

What has no kernel is done here in a few vectorised passes over the entries, never over the dense shape:
coordinates become one int64 key in row-major order, so that slicing, joining, reshaping and matching the
entries of two tensors are arithmetic, sorting and searching on keys. A tensor is built from entries in the
format that the operation wants to keep.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from .. import _C, _torch
from .format import fills, has_slots, layout, pads, repeats, spelled
from .sparsetensor import SparseTensor, core_of, sound
from .values import assemble, carries, kept, same_arrays, tracked
from .wrapping import fresh


class Entries(NamedTuple):
    """Coordinates [ndim, n] (int64, in row-major order, each once) and values [n] of a tensor of a shape."""

    shape: tuple[int, ...]
    indices: torch.Tensor
    values: torch.Tensor


# ---- keys ----
def ravel(indices: Sequence[torch.Tensor] | torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Row-major keys [n] of coordinates [ndim, n]; zeros where there are no dimensions."""
    if not len(shape):
        return indices.new_zeros(indices.shape[1])
    key = indices[0]
    for d, extent in enumerate(shape[1:], 1):  # by number: rows[1:] of one row is an operator without results
        key = key * extent + indices[d]
    return key


def unravel(key: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Coordinates [ndim, n] of row-major keys."""
    if not len(shape):
        return key.new_empty((0, key.numel()))
    rows = []
    for extent in reversed(shape[1:]):
        above = key.div(torch.sym_max(extent, 1), rounding_mode="floor")
        rows.append(key - above * extent)
        key = above
    return torch.stack([key, *rows[::-1]])


def _ascending(key: torch.Tensor) -> bool:
    return key.numel() < 2 or bool((key[1:] > key[:-1]).all())


def canonical(shape: Sequence[int], indices: torch.Tensor, values: torch.Tensor) -> Entries:
    """Entries of coordinates in any order; the values of one coordinate are summed in the order given."""
    if not _torch.in_graph():
        _torch.count_elements(shape)
    key = ravel(indices, shape)
    if _torch.in_graph():
        key, slot = distinct(key)
        return Entries(tuple(shape), unravel(key, shape), add_up(values, slot, key.numel()))
    if _ascending(key):
        return Entries(tuple(shape), indices, values)
    order = torch.argsort(key, stable=True)
    key, indices, values = key[order], indices[:, order], values[order]
    if not _ascending(key):
        first = torch.ones_like(key, dtype=torch.bool)
        first[1:] = key[1:] != key[:-1]
        slot = first.cumsum(0) - 1
        indices, values = indices[:, first], add_up(values, slot, int(slot[-1]) + 1)
    return Entries(tuple(shape), indices, values)


HALVES = torch.float16, torch.bfloat16
_FLOAT8 = (torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz)
CARRIER = {
    **dict.fromkeys((*HALVES, *_FLOAT8), torch.float32),
    **dict.fromkeys((torch.int8, torch.uint8, torch.uint16), torch.int32),
    **dict.fromkeys((torch.uint32, torch.uint64), torch.int64),
}  # types whose duplicates are summed in a wider one, or that can only be moved
_FOREIGN = CARRIER.keys() - HALVES  # that the extension does not have


def summed_type(dtype: torch.dtype) -> torch.dtype:
    """The type that numbers of this one are added up in: half types in float32."""
    return torch.float32 if dtype in HALVES else dtype


def add_up(values: torch.Tensor, slot: torch.Tensor, n: int) -> torch.Tensor:
    """Sums [n] of the values of each slot; narrow types add in a wider one, bool is "any"."""
    if values.dtype == torch.bool:
        return values.new_zeros(n, dtype=torch.int64).index_add(0, slot, values.long()) > 0
    dtype = CARRIER.get(values.dtype, values.dtype)
    _torch.find_room(n, dtype.itemsize, "sums")
    return values.new_zeros(n, dtype=dtype).index_add(0, slot, values.to(dtype)).to(values.dtype)


# ---- steps that decide how long arrays are; traced, they are operators (boundary/sizes.py) ----
def distinct(key: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The different keys in ascending order, and the place of each key [n] among them."""
    if _torch.in_graph():
        return torch.ops.scorch.distinct(key)
    if not _torch.is_tracing(key) and bool((key[1:] >= key[:-1]).all()):
        return torch.unique_consecutive(key, return_inverse=True)
    return torch.unique(key, return_inverse=True)


def places(mask: torch.Tensor) -> torch.Tensor:
    """Where a mask [n] is true."""
    if mask.dtype == torch.bool and not _torch.is_tracing(mask):
        return _C.inside(mask.contiguous(), mask.shape[0])
    return torch.ops.scorch.places(mask) if _torch.in_graph() else mask.nonzero().view(-1)


def counts(slot: torch.Tensor, n: int) -> torch.Tensor:
    """How often each of 0..n-1 is in a list."""
    if _torch.in_graph():
        return slot.new_zeros(n).index_add(0, slot, torch.ones_like(slot))
    _torch.find_room(n, 8, "counts")
    return torch.bincount(slot, minlength=n)


def with_row(indices: torch.Tensor, dim: int, row: torch.Tensor) -> torch.Tensor:
    """Coordinates that are the caller's own, of which those of one dimension are others.

    In a graph the array is a new one: torch.func.linearize computes ahead what does not depend on its
    argument, and of what is written to a part of an array it loses sight.
    """
    if _torch.in_graph():
        return torch.select_scatter(indices, row, 0, dim)
    indices[dim] = row
    return indices


def fitting_index(index: torch.dtype, shape: Sequence[int], n: int) -> torch.dtype:
    """The index type, or int64 where extents or the number of entries do not fit into it.

    Traced, nobody knows the number; int32 is then tried, and refused by the call if it does not hold it.
    """
    known = [m for m in shape if isinstance(m, int)] if _torch.is_compiling() else (*shape, n)
    return torch.int64 if max(known, default=0) >= 2**31 else index


# ---- reading ----
def coordinates(a: SparseTensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Coordinates [ndim, nnz] in storage order, and which are stored (None: all); padding is at 0."""
    if a._fmt == "csr":
        return csr_indices(a), None
    indices = sound(a).indices().long()
    if not pads(a._fmt) or indices.numel() == 0:
        return indices, None
    return indices.clamp(min=0), indices[0] >= 0


def unpadded(a: SparseTensor) -> SparseTensor:
    """As csr, where a stores padding, which has no coordinates; else as it is."""
    return a.convert("csr") if pads(a._fmt) else a


def unfilled(a: SparseTensor) -> SparseTensor:
    """As csr without padding and without zeros, where zeros fill something up; else as it is."""
    a = unpadded(a)
    if not fills(layout(a._fmt, a._ndim)):
        return a
    e = entries(a)
    at = places(e.values != 0)
    return build(Entries(e.shape, e.indices[:, at], e.values[at]), "csr", a.index_dtype)


def fibres(a: SparseTensor) -> torch.Tensor:
    """The row [nnz] of each value of csr, batches of rows counted on."""
    pos = sound(a)._arrays()[0]
    return torch.repeat_interleave(
        torch.arange(pos.numel() - 1, device="cpu"), pos.diff(), output_size=a._val.shape[0]
    )


def csr_indices(a: SparseTensor) -> torch.Tensor:
    """The coordinates [ndim, nnz] of csr, of int64."""
    if not _torch.in_graph() and not _torch.is_tracing(a._val):
        return torch.stack(_C.convert(core_of(a), flat_format(a._ndim), True)[2][1:-1])
    rows = fibres(a)
    lead = [rows] if a._ndim == 2 else unravel(rows, a.shape[:-1])
    return torch.stack([*lead, a._arrays()[1].long()])


def entries(a: SparseTensor) -> Entries:
    """The stored entries; duplicates are summed, padding is left out, stored zeros stay."""
    a = a._whole()
    form, shape = layout(a._fmt, a._ndim), tuple(a.shape)
    if form.is_dense:
        levels = [level[2] for level in form.levels]
        grid = a.values().view([shape[d] for d in levels])
        values = grid.permute([levels.index(d) for d in range(a._ndim)]).reshape(-1)
        return Entries(shape, unravel(torch.arange(values.numel(), device="cpu"), shape), values)
    if a._fmt == "csr":
        return Entries(shape, csr_indices(a), a.values())
    values, perm = a.values(), None
    if _torch.in_graph():
        _, *crd, perm = rearranged(a, flat_format(a._ndim), True)
    elif tracked(a) or a.dtype in _FOREIGN:
        (_, _, (_, *crd, _)), perm = _C.convert(core_of(a), flat_format(a._ndim), True, True)
    else:
        _, *crd, values = _C.convert(core_of(a), flat_format(a._ndim), True)[2]
    indices = torch.stack(crd)
    if perm is not None:
        values = values[perm]
    elif values.numel() != indices.shape[1]:
        values = values[:0]
    if not repeats(form.text):  # the conversion has sorted them
        return Entries(shape, indices, values)
    return canonical(shape, indices, values)


def flat_format(ndim: int) -> str:
    """Coordinates in any order, duplicates allowed."""
    kinds = ["compressed(0, nonunique)", *(f"singleton({d}, nonunique)" for d in range(1, ndim))]
    return layout(", ".join(kinds), ndim).text


_EMPTY = 64  # extents are so many times the entries, and more, where a vector of all of them is avoided


def is_longer(extent: int, n: int) -> bool:
    """Whether a table of an extent is far longer than lists of n in all."""
    return extent > _EMPTY * (n + 1024)


def is_listed(a: SparseTensor) -> bool:
    """Whether a is a matrix, not csr, of which csr is the same entries, with not far more positions."""
    if a._ndim != 2 or a._fmt == "csr":
        return False
    form = layout(a._fmt, 2)
    listed = not (form.parts or form.is_dense or repeats(form.text))
    return listed and not is_longer(a._shape[0], a._val.shape[0])


def in_rows(a: SparseTensor) -> SparseTensor:
    """Such a matrix as csr, which is joined by its positions; what is traced, and others, as they are."""
    traced = _torch.in_graph() or _torch.is_tracing(a._val)
    return a.convert("csr") if not traced and is_listed(a) else a


def renumbered(a: SparseTensor, dims: Sequence[int]) -> SparseTensor:
    """a with the coordinates of these dimensions counted on, where nearly all are empty, else a itself.

    Its values are those of a, at the same positions.
    """
    n = a._val.shape[0]
    long = [] if _torch.is_compiling() else [d for d in dims if is_longer(a._shape[d], n)]
    if not long:
        return a
    form = layout(a._fmt, a._ndim)
    if any(kind not in ("compressed", "singleton") or part for kind, _, _, part, *_ in form.levels):
        return a
    shape, arrays = list(a.shape), list(a._arrays()[:-1])
    for k, name in enumerate(form.names[:-1]):
        d = form.levels[int(name[4:])][2]
        if name.startswith("_crd") and d in long:
            found, place = distinct(arrays[k])
            shape[d], arrays[k] = found.numel(), place.to(arrays[k].dtype)
    return assemble(form, shape, [*arrays, a.values()])


def share_arrays(a: SparseTensor, b: SparseTensor) -> bool:
    """Whether two tensors were made with the same structure."""
    return same_arrays(a.__dict__, b.__dict__)


def same_structure(a: SparseTensor, b: SparseTensor) -> bool:
    """Whether two tensors store values at the same coordinates in the same order, in the same format.

    Traced, only tensors that share their arrays are known to.
    """
    if a is b or (not _torch.is_compiling() and share_arrays(a, b)):
        return True
    if a._fmt != b._fmt or a.index_dtype != b.index_dtype or a.shape != b.shape:
        return False
    unread = _torch.is_compiling()  # no decision may depend on what the arrays hold
    if not unread and a._val.shape[0] != b._val.shape[0]:
        return False
    pairs = zip(a._arrays()[:-1], b._arrays()[:-1], strict=True)
    return all(x is y or (not unread and torch.equal(x, y)) for x, y in pairs)


def rearranged(a: SparseTensor, format: str, wide: bool) -> list[torch.Tensor]:
    """Traced: pos and crd in another format, and the place in A's values of each entry, -1 for padding."""
    form, structure = layout(format, a._ndim), list(a._arrays()[:-1])
    return torch.ops.scorch.structure(a._fmt, form.text, structure, list(a.shape), a._val.shape[0], wide)


# ---- building ----
_LISTED = (
    "; dcsr, csf and coo have none for what is empty: format= asks for one, of scorch.einsum too, "
    "layout=torch.sparse_coo of to_torch"
)


def kept_format(a: SparseTensor, dims: Sequence[int | None]) -> str:
    """The nearest format for a tensor whose dimension k was ``dims[k]`` of ``a``, or is new (None).

    Levels stay with their dimensions and new dimensions are dense; padded formats become csr, or csc where
    the columns come first. What is not a list of dense and compressed levels is coo.
    """
    form, n = layout(a._fmt, a._ndim), len(dims)
    if n == 0:
        return "dense"
    if form.parts:
        return "csr" if n > 1 else "coo"
    levels, same = form.levels, list(dims) == list(range(a._ndim))
    if has_slots(form) or any(part and not same for _, _, _, part, _, _ in levels):
        if n < 2 or n <= a._ndim or dims[-1] is not None:
            return ("csc" if levels[0][2] == 1 and n == 2 else "csr") if n > 1 else "coo"
        levels = layout("csr", a._ndim).levels  # csr of n dimensions has a position for each of a's places
    if same:
        return a._fmt
    if any(kind == "singleton" or not unique for kind, unique, *_ in levels):
        return "coo"
    kept = [spelled("dense", 1, k, 0, 0, 0) for k, old in enumerate(dims) if old is None]
    kept += [spelled(kind, 1, dims.index(d), 0, 0, 0) for kind, _, d, *_ in levels if d in dims]
    if kept[0].startswith("bitmask"):  # nothing is left above
        return "coo"
    if all(level.startswith("dense") for level in kept):
        return "coo" if n == 1 else "csr" if n == 2 else "csf"
    return layout(", ".join(kept), n).text


def general_format(a: SparseTensor, ndim: int) -> str:
    """The format for a number of dimensions: coo where a is that."""
    if ndim == 0:
        return "dense"
    return "coo" if ndim == 1 or a._fmt == "coo" else "csr" if ndim == 2 else "csf"


def reshaped_format(a: SparseTensor, shape: Sequence[int]) -> str:
    """The format of a matrix where its levels hold another shape too, without a table of empty columns."""
    if not a._ndim == len(shape) == 2 or a._fmt not in ("dcsr", "dcsc", "csc"):
        return general_format(a, len(shape))
    sparse_columns = a._fmt == "csc" and not _torch.in_graph() and is_longer(shape[1], a._val.shape[0])
    return "csr" if sparse_columns else a._fmt


def fitting(format: str, shape: Sequence[int]) -> str:
    """The format, or csr, csc or coo where its blocks are not known to divide the shape."""
    for _, _, dim, part, block, _ in layout(format, len(shape)).levels:
        if part and not _torch.divides(block, shape[dim]):
            return "coo" if len(shape) == 1 else "csc" if format.startswith("bsc") else "csr"
    return format


def build(e: Entries, format: str, index_dtype: torch.dtype) -> torch.Tensor:
    """The tensor of these entries: a SparseTensor; a number, without dimensions, is dense.

    int32 indices become int64 where they would not fit.
    """
    shape, indices, values = e
    if format == "dense":
        dense = scatter(e)
        return assemble(layout(format, len(shape)), shape, [dense.view(-1)]) if shape else dense
    format, n = fitting(format, shape), values.shape[0]
    index_dtype = fitting_index(index_dtype, shape, n)
    if format == "csr" and len(shape) > 1:
        rows = math.prod(shape[:-1])
        _torch.find_room(rows + 1, 24, "positions", _LISTED)
        ends = counts(ravel(indices[:-1], shape[:-1]), rows).cumsum(0)
        pos = _behind_zero(ends, index_dtype)
        return assemble(layout("csr", len(shape)), shape, [pos, indices[-1].to(index_dtype), values])
    if _torch.in_graph():
        return _built(Entries(shape, indices, values), format, index_dtype)
    if not _torch.is_tracing(indices, values):
        return _packed(Entries(shape, indices, values), format, index_dtype)
    crd = [row.to(index_dtype).contiguous() for row in indices]
    pos = torch.tensor([0, n], dtype=index_dtype, device="cpu")
    return assemble(layout("coo", len(shape)), shape, [pos, *crd, values]).convert(format)


def _behind_zero(ends: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Positions [n + 1], which begin with zero, by where each of n runs ends; in a graph as with_row."""
    if _torch.in_graph():
        return torch.constant_pad_nd(ends.to(dtype), (1, 0))
    pos = torch.zeros(ends.shape[0] + 1, dtype=dtype, device="cpu")
    pos[1:] = ends
    return pos


def placed(e: Entries, format: str, index_dtype: torch.dtype) -> torch.Tensor:
    """build, of entries in any order, each coordinate once; the values are the tensor's own."""
    if format == "dense" or not len(e.shape) or _torch.is_tracing(e.indices, e.values):
        return build(canonical(*e), format, index_dtype)
    _torch.count_elements(e.shape)
    made = _packed(e, fitting(format, e.shape), fitting_index(index_dtype, e.shape, e.values.shape[0]))
    shared = e.values.shape[0] and _torch.address(made._val) == _torch.address(e.values)  # nothing has none
    return made._with_values(made._val.clone()) if shared else made


def _packed(e: Entries, format: str, index_dtype: torch.dtype) -> SparseTensor:
    """Of plain entries in any order the levels of a format."""
    shape, indices, values = e
    form, wide, n = layout(format, len(shape)), index_dtype == torch.int64, values.shape[0]
    moves = values.dtype in _FOREIGN or carries(values)  # behind the rest
    lists = torch.tensor([0, n], device="cpu"), *indices.contiguous()
    moved = torch.empty(n, dtype=torch.float32, device="cpu") if moves else values.contiguous()
    core = _C.Core(flat_format(len(shape)), shape, (*lists, moved), False)
    if not moves:
        return fresh(form, shape, _C.convert(core, form.text, wide)[2])
    (_, _, arrays), perm = _C.convert(core, form.text, wide, True)
    return assemble(form, shape, (*arrays[:-1], padded_at(values, perm, 0)))


def _built(e: Entries, format: str, index_dtype: torch.dtype) -> SparseTensor:
    """build, traced."""
    form, coo, n = layout(format, len(e.shape)), layout("coo", len(e.shape)), e.values.shape[0]
    crd = [row.to(index_dtype).contiguous() for row in e.indices]
    arrays, values = [torch.arange(2, dtype=crd[0].dtype, device="cpu") * n, *crd], e.values
    if form != coo:
        wide = crd[0].dtype == torch.int64
        *arrays, place = torch.ops.scorch.structure(coo.text, form.text, arrays, list(e.shape), n, wide)
        values = torch.cat([values, values.new_zeros(1)])[place]  # -1, the last: nothing is stored
    return assemble(form, e.shape, [*arrays, values])


def scatter(e: Entries, missing: torch.Tensor | None = None) -> torch.Tensor:
    """The dense tensor of entries; missing: [1], what all others are, else zero."""
    n = math.prod(e.shape)
    dense = e.values.new_zeros(n) if missing is None else missing.repeat(n)
    return dense.index_put_((ravel(e.indices, e.shape),), e.values).view(e.shape)


def runs(lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """For runs of these lengths laid end to end: the run of each element, and its place in the run."""
    if _torch.in_graph():
        return torch.ops.scorch.runs(lengths)
    n = int(lengths.sum())
    _torch.find_room(n, 32, "entries")
    run = torch.repeat_interleave(torch.arange(lengths.numel(), device="cpu"), lengths, output_size=n)
    start = lengths.cumsum(0) - lengths
    return run, torch.arange(n, device="cpu") - start[run]


def broadcast(a: SparseTensor, shape: Sequence[int]) -> Entries:
    """The entries of ``a`` repeated to a larger shape."""
    e = entries(a)
    if e.shape == tuple(shape):
        return e
    indices = torch.cat([e.indices.new_zeros(len(shape) - a._ndim, e.values.numel()), e.indices])
    own, values = (1,) * (len(shape) - a._ndim) + e.shape, e.values
    for d, (n, m) in enumerate(zip(own, shape, strict=True)):
        if n != m:
            source, at = runs(torch.full((values.numel(),), m, device="cpu"))
            indices, values = with_row(indices[:, source], d, at), values[source]
    return canonical(tuple(shape), indices, values)


def marked(mask: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """The keys of a shape, ascending, at which a mask that broadcasts to it is true."""
    if not isinstance(mask, SparseTensor):
        return places(mask.expand(shape).reshape(-1))
    e = broadcast(mask, shape)
    return ravel(e.indices[:, places(e.values)], shape)


def merge(key: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Where the keys of two ascending lists are in their union, and its size."""
    if _torch.in_graph() or _torch.is_tracing(key, other):
        left, right, both = torch.ops.scorch.merge(key, other)
        return left, right, both.numel()
    return _C.merged(key.contiguous(), other.contiguous())


def united(
    one: torch.Tensor, key: torch.Tensor, other: torch.Tensor, other_key: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The coordinates of two lists in row-major order, of these keys, and where those of each are."""
    left, right, n = merge(key, other_key)
    found = one.new_empty(one.shape[0], n)
    return found.index_copy_(1, left, one).index_copy_(1, right, other), left, right


def find(key: torch.Tensor, wanted: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Where wanted keys are among ascending keys: (found [n] bool, position [n], 0 where not found)."""
    at = torch.searchsorted(key, wanted)
    found = torch.cat([key, key.new_full((1,), -1)])[at] == wanted  # -1: behind the last
    return found, at * found


# ---- entries that are named one by one ----
def located(a: SparseTensor, where: Sequence[torch.Tensor]) -> torch.Tensor:
    """The place among a's values of the entry at these coordinates, one vector [n] a dimension; -1 where none
    is stored, and the first of several.

    Rows of csr, and columns of csc, are searched, so that it costs what is asked for; the keys of another
    format are sorted once and kept with it.
    """
    if a._fmt == "csc":
        a, where = a.T, where[::-1]
    if a._fmt == "csr":
        pos, crd = sound(a)._arrays()[:2]
        return _sought(pos, crd, ravel(where[:-1], a.shape[:-1]), where[-1])
    key, order = kept(a, "keys", lambda: _keys(a), structural=True)
    wanted = ravel(where, a.shape)
    row = torch.zeros_like(wanted)
    return padded_at(order, _sought(torch.arange(2, device="cpu") * key.shape[0], key, row, wanted), -1)


def _keys(a: SparseTensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The row-major keys of a's values, ascending, and their places; padding is at -1."""
    indices, stored = coordinates(a)
    key = ravel(indices, a.shape)
    return tuple((key if stored is None else key.masked_fill(~stored, -1)).sort(stable=True))


def _sought(pos: torch.Tensor, crd: torch.Tensor, row: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
    """The place of each entry in a matrix whose coordinates ascend in each row; -1: there is none."""
    if _torch.is_tracing(pos, column):
        return torch.ops.scorch.sought(pos, crd, row, column)
    return _C.sought(pos, crd, row.contiguous(), column.contiguous())


def padded_at(x: torch.Tensor, at: torch.Tensor, missing: float) -> torch.Tensor:
    """``x[at]``, and a number where at is below zero."""
    if not _torch.surely(x.shape[0] > 0):
        x = torch.constant_pad_nd(x, (0, 1))
    return torch.where(at < 0, x.new_full((), missing), x[at.clamp(min=0)])

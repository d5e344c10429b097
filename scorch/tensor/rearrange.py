"""The same entries under other coordinates: reshape, flip, roll, repeat, pad, triangles, diagonals.

All of it renumbers coordinates; values move along.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from .. import _C, _torch
from . import rooms
from .common import COMPUTED
from .entries import (
    Entries,
    build,
    entries,
    fitting,
    fitting_index,
    general_format,
    is_longer,
    kept_format,
    placed,
    places,
    ravel,
    reshaped_format,
    runs,
    scatter,
    unravel,
    with_row,
)
from .format import fills, is_row_major, layout
from .index import axes, axis, index_select, narrow, select_all
from .join import as_sparse, cat, common_types
from .matrices import diagonal_from, reorders, reshaped, reshapes, selects, triangle, widened
from .sparsetensor import SparseTensor, partwise, rank
from .values import apart, assemble, plain_values, unmarked
from .wrapping import fresh


# ---- the same entries under other coordinates ----
def _reshaped(a: SparseTensor, shape: Sequence[int], format: str) -> torch.Tensor:
    a = a._whole()
    if format == "csr" and reshapes(a, shape):
        return reshaped(a, shape)
    e = entries(a)
    e = Entries(tuple(shape), unravel(ravel(e.indices, e.shape), shape), e.values)
    made = build(e, format, a.index_dtype)
    stays = a._fmt == "csr" and format in ("csr", "coo")  # in a graph too
    return apart(made) if is_row_major(a._fmt, a._ndim) and not stays and _torch.in_graph() else made


@partwise
def reshape(
    input: SparseTensor, *extents: int | Sequence[int], shape: Sequence[int] | None = None
) -> torch.Tensor:
    """``torch.reshape``: in coo, csr (two dimensions) or csf (more), perhaps with the values of the input.

    A matrix that stays one is dcsr or dcsc where it was that, and csc unless its columns are far too many.
    """
    shape = list(_torch.one_by_one(extents, shape))
    if shape.count(-1) > 1 or any(n < -1 for n in shape):
        raise ValueError(f"reshape: expected extents, one of them perhaps -1, got {shape}")
    if -1 in shape:
        known = math.prod(n for n in shape if n != -1)
        shape[shape.index(-1)] = input.numel() // known if known else 0
    if math.prod(shape) != input.numel():
        raise ValueError(f"reshape: {tuple(input.shape)} has {input.numel()} entries, {tuple(shape)} has not")
    if tuple(shape) == tuple(input.shape):
        return input
    return _reshaped(input, shape, reshaped_format(input, shape))


def reshape_as(input: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """``Tensor.reshape_as``, of which either is sparse."""
    return input.reshape(tuple(other.shape))


@partwise
def flatten(input: SparseTensor, start_dim: int = 0, end_dim: int = -1) -> torch.Tensor:
    """``torch.flatten``."""
    lo, hi = axis(start_dim, input._ndim), axis(end_dim, input._ndim)
    merged = math.prod(input.shape[lo : hi + 1])
    return reshape(input, (*input.shape[:lo], merged, *input.shape[hi + 1 :]))


@partwise
def unflatten(input: SparseTensor, dim: int, sizes: Sequence[int]) -> torch.Tensor:
    """``torch.unflatten``."""
    dim, sizes = axis(dim, input._ndim), list(sizes)
    if -1 in sizes:
        known = math.prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = input.shape[dim] // max(known, 1)
    return reshape(input, (*input.shape[:dim], *sizes, *input.shape[dim + 1 :]))


@partwise
def squeeze(input: SparseTensor, *dims: int, dim: int | Sequence[int] | None = None) -> torch.Tensor:
    """``torch.squeeze``."""
    n = input._ndim
    asked = range(n) if dim is None and dims in ((), (None,)) else _torch.one_by_one(dims, dim)
    gone = {d for d in (axis(d, n) for d in asked) if n and input.shape[d] == 1}
    if not gone:
        return input
    kept = [d for d in range(n) if d not in gone]
    return _under(input._whole(), [input.shape[d] for d in kept], kept)


def _under(a: SparseTensor, shape: Sequence[int], dims: Sequence[int | None]) -> torch.Tensor:
    """a under more or fewer dimensions of extent 1; dims: which of its own each is, None a new one.

    The arrays stay where dense levels come and go, and of lists but for coordinates of what comes and goes.
    """
    format = kept_format(a, dims)
    if format == a._fmt == "coo" and a._ndim > 1:
        pos, *crd = a._arrays()[:-1]
        rows = [torch.zeros_like(crd[0]) if d is None else crd[d] for d in dims]
        return assemble(layout(format, len(shape)), shape, (pos, *rows, a.values()))
    form, own = layout(format, len(shape)), layout(a._fmt, a._ndim)
    levels = [(kind, unique, dims[d], *how) for kind, unique, d, *how in form.levels]
    stay = [level for level in levels if level[:3] != ("dense", 1, None)]
    if own.levels and stay == [level for level in own.levels if level[2] in dims or level[0] != "dense"]:
        return assemble(form, shape, (*a._arrays()[:-1], a.values()))
    return _reshaped(a, shape, format)


def unsqueeze(input: SparseTensor, dim: int) -> SparseTensor:
    """``torch.unsqueeze``: the new dimension is stored densely."""
    dim = axis(dim, input._ndim + 1)
    dims = [*range(dim), None, *range(dim, input._ndim)]
    return _under(input, [1 if d is None else input.shape[d] for d in dims], dims)


def movedim(
    input: SparseTensor, source: int | Sequence[int], destination: int | Sequence[int]
) -> SparseTensor:
    """``torch.movedim``; zero copy."""
    n = input._ndim
    source, target = axes(source, n), axes(destination, n)
    order = [d for d in range(n) if d not in source]
    for to, d in sorted(zip(target, source, strict=True)):
        order.insert(to, d)
    return input.permute(*order)


def _reordered(a: SparseTensor, places: dict[int, torch.Tensor]) -> SparseTensor:
    """A matrix of which rows or columns lie elsewhere: from where, by dimension."""
    return select_all(a, [places.get(d, slice(0, n, 1)) for d, n in enumerate(a.shape)])


def _backwards(a: SparseTensor, dim: int) -> slice | torch.Tensor:
    """All of a dimension of a matrix from its end on: rows of csr and columns of csc are counted down."""
    n = a.shape[dim]
    if n and (dim == 1) == (a._fmt == "csc"):
        return slice(n - 1, -1, -1)
    return torch.arange(n - 1, -1, -1, device="cpu")


def flip(input: SparseTensor, *axes: int | Sequence[int], dims: Sequence[int] | None = None) -> torch.Tensor:
    """``torch.flip``."""
    rows = {axis(d, input._ndim) for d in _torch.one_by_one(axes, dims)}
    if not input._ndim:
        return input
    if rows and reorders(input, rows):
        return _reordered(input, {d: _backwards(input, d) for d in rows})
    e = entries(input)
    indices = torch.stack([e.shape[d] - 1 - row if d in rows else row for d, row in enumerate(e.indices)])
    return _renumbered(input, e.shape, indices, e.values)


def _renumbered(
    a: SparseTensor, shape: Sequence[int], indices: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    return placed(Entries(tuple(shape), indices, values), kept_format(a, range(a._ndim)), a.index_dtype)


def roll(
    input: SparseTensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None
) -> torch.Tensor:
    """``torch.roll``; without dimensions, of all entries in row-major order."""
    shifts, dims = ([x] if isinstance(x, int | torch.SymInt) else list(x or ()) for x in (shifts, dims))
    if len(shifts) != max(len(dims), 1):
        raise ValueError(f"roll: expected a shift for each dimension, got {shifts} for {dims}")
    if dims and reorders(input, [axis(d, input._ndim) for d in dims]):
        places = {axis(d, 2): torch.arange(input.shape[d], device="cpu") for d in dims}
        for shift, d in zip(shifts, dims, strict=True):
            places[axis(d, 2)] = (places[axis(d, 2)] - shift) % max(input.shape[d], 1)
        return _reordered(input, places)
    e = entries(input)
    if not dims:
        key = (ravel(e.indices, e.shape) + shifts[0]) % max(math.prod(e.shape), 1)
        return _renumbered(input, e.shape, unravel(key, e.shape), e.values)
    indices = e.indices.clone()
    for shift, d in zip(shifts, dims, strict=True):
        indices = with_row(indices, d, (indices[d] + shift) % max(e.shape[d], 1))
    return _renumbered(input, e.shape, indices, e.values)


def repeat(
    input: SparseTensor, *times: int | Sequence[int], repeats: Sequence[int] | None = None
) -> torch.Tensor:
    """``Tensor.repeat`` and ``torch.tile``: copies side by side."""
    repeats = _torch.one_by_one(times, repeats)
    if len(repeats) < input._ndim or any(n < 0 for n in repeats):
        raise ValueError(
            f"repeat: expected a number from 0 on for each of {input._ndim} dimensions, got {repeats}"
        )
    while input._ndim < len(repeats):
        input = unsqueeze(input, 0)
    each = 16 * input._ndim + 2 * input._val.element_size()
    _torch.find_room(input._val.shape[0] * math.prod(repeats), each, "entries")
    for dim, times in enumerate(repeats):
        if times != 1:
            input = _copies(input, times, dim) if times else input.narrow(dim, 0, 0)
    return input.clone() if all(n == 1 for n in repeats) else input


def _copies(a: SparseTensor, times: int, dim: int) -> torch.Tensor:
    """So many beside each other; as few calls as doubling takes."""
    if times == 1:
        return a
    half = _copies(a, times // 2, dim)
    return cat([half, half, a][: 2 + times % 2], dim)


def tile(input: SparseTensor, *times: int | Sequence[int], dims: Sequence[int] | None = None) -> torch.Tensor:
    """``torch.tile``."""
    times = _torch.one_by_one(times, dims)
    return repeat(input, [1] * (input._ndim - len(times)) + [*times])


def _kron_rows(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Of csr: row (i, k) has a[i, j] * b[k, l] at column (j, l), and kernels make them in this order."""
    shape = tuple(n * m for n, m in zip(a._shape, b._shape, strict=True))
    if plain_values(a) is not None and plain_values(b) is not None:
        return _kron_plainly(a, b, shape)
    made = rooms.expressions.evaluate(
        "C[i,k,j,l] = A[i,j] * B[k,l]",
        A=a,
        B=b,
        format="dense(0), dense(1), compressed(2), compressed(3)",
    )
    rows, j, blocks, l, values = (*made._arrays()[:4], made.values())
    index = fitting_index(common_types([a, b])[1], shape, len(values))
    first = (j.to(index) * b._shape[1]).repeat_interleave(blocks.diff(), output_size=len(values))
    return assemble(layout("csr", 2), shape, (blocks[rows.long()].to(index), first + l, values))


def _kron_plainly(a: SparseTensor, b: SparseTensor, shape: tuple[int, ...]) -> SparseTensor:
    """Such a product where nothing is recorded: the result is all that is made."""
    dtype = torch.promote_types(a._val.dtype, b._val.dtype)
    n = a._val.shape[0] * b._val.shape[0]
    index = fitting_index(common_types([a, b])[1], shape, n)
    _torch.find_room(n, index.itemsize + dtype.itemsize, "entries")
    pos, crd, values = _C.kron(*[
        (*(x.to(index) for x in t._arrays()[:2]), plain_values(t).to(dtype), t._shape[1]) for t in (a, b)
    ])  # fmt: skip
    return fresh(layout("csr", 2), shape, (pos, crd, values))


def kron(input: torch.Tensor, other: torch.Tensor) -> SparseTensor:
    """``torch.kron``; where one has fewer dimensions, extents of 1 go in front."""
    n = max(rank(input), rank(other))
    input, other = (x if rank(x) == n else x.reshape(*[1] * (n - rank(x)), *x.shape) for x in (input, other))
    pair = as_sparse(input), as_sparse(other)
    like = input if isinstance(input, SparseTensor) else other
    if all(selects(x) and x.dtype in COMPUTED for x in pair) and not _torch.in_transform():
        if like._fmt == "csc":
            return unmarked(kron(*[x.convert("csc").T for x in pair]).T)
        made, format = _kron_rows(*[x.convert("csr") for x in pair]), kept_format(like, range(2))
        return made.convert(fitting(format, made.shape))
    a, b = map(entries, pair)
    left, right = runs(torch.full((a.values.numel(),), b.values.numel(), device="cpu"))
    extents = torch.tensor(b.shape, device="cpu")[:, None]
    indices = a.indices[:, left] * extents + b.indices[:, right]
    shape = [n * m for n, m in zip(a.shape, b.shape, strict=True)]
    return _renumbered(like, shape, indices, a.values[left] * b.values[right])


# ---- parts of matrices ----
def _triangle(a: SparseTensor, side: int, offset: int) -> torch.Tensor:
    """The entries up to a diagonal, -1, or from it on, 1."""
    if a._ndim < 2:
        raise ValueError(f"expected at least 2 dimensions, got {a._ndim}")
    if selects(a):
        return triangle(a, side, offset)
    e = entries(a)
    beyond = e.indices[-1] - e.indices[-2]
    at = places(beyond <= offset if side < 0 else beyond >= offset)
    kept = Entries(e.shape, e.indices[:, at], e.values[at])
    return build(kept, kept_format(a, range(a._ndim)), a.index_dtype)


def tril(input: SparseTensor, diagonal: int = 0) -> torch.Tensor:
    """``torch.tril``: the entries above the diagonal are dropped."""
    return _triangle(input, -1, diagonal)


def triu(input: SparseTensor, diagonal: int = 0) -> torch.Tensor:
    """``torch.triu``: the entries below the diagonal are dropped."""
    return _triangle(input, 1, diagonal)


def diagonal_length(shape: Sequence[int], offset: int) -> int:
    """Of a diagonal of a matrix."""
    rows, columns = shape
    return max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)


def diagonal(input: SparseTensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> torch.Tensor:
    """``torch.diagonal``: of a matrix a dense vector, of more dimensions a SparseTensor."""
    n = input._ndim
    dim1, dim2 = axis(dim1, n), axis(dim2, n)
    if dim1 == dim2:
        raise ValueError("diagonal: expected two dimensions, got one twice")
    rows, columns = input.shape[dim1], input.shape[dim2]
    length = diagonal_length((rows, columns), offset)
    square = offset == 0 and rows == columns
    row, column = max(-offset, 0), max(offset, 0)
    if input._fmt in ("csr", "csc") and selects(input):
        return diagonal_from(input if dim1 < dim2 else input.t(), row, column, length)
    if n == 2 and input.dtype in COMPUTED and (square or not _torch.in_graph()):
        if not square:
            input = (input if dim1 < dim2 else input.t())[row : row + length, column : column + length]
        return rooms.expressions.einsum("ii->i", input, format="dense")
    e, rest = entries(input), [d for d in range(n) if d not in (dim1, dim2)]
    at = places(e.indices[dim2] - e.indices[dim1] == offset)
    place = e.indices[dim1 if offset >= 0 else dim2][at]
    shape = [*(e.shape[d] for d in rest), length]
    indices = torch.cat([e.indices[rest][:, at], place[None]]) if rest else place[None]
    made = Entries(tuple(shape), indices, e.values[at])
    return placed(made, general_format(input, n - 1), input.index_dtype) if rest else scatter(made)


def diag(input: SparseTensor, diagonal: int = 0) -> torch.Tensor:
    """``torch.diag``: of a matrix its diagonal, dense; of a vector the matrix that has it, sparse."""
    if input._ndim not in (1, 2):
        raise ValueError(f"diag: expected a matrix or a vector, got {input._ndim} dimensions")
    return _diagonal(input, diagonal) if input._ndim == 2 else diag_embed(input, diagonal)


def diag_embed(input: SparseTensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> SparseTensor:
    """``torch.diag_embed``: matrices that have the last dimension as a diagonal."""
    e = entries(input)
    *rest, n = e.shape
    side, place = n + abs(offset), e.indices[-1:]
    indices = torch.cat([e.indices[:-1], place + max(-offset, 0), place + max(offset, 0)])
    made = build(Entries((*rest, side, side), indices, e.values.clone()), "csr", input.index_dtype)
    return movedim(made, (-2, -1), (dim1, dim2))


def pad(
    input: SparseTensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> SparseTensor:
    """``F.pad``; negative numbers cut off."""
    if mode != "constant":
        return _pad_from_inside(input, list(pad), mode)
    if pad and (value or (input._ndim > 2 and _torch.in_attention())):  # which sees zeros
        return _pad_with(input, list(pad), value or 0)
    if len(pad) % 2 or len(pad) > 2 * input._ndim:
        raise ValueError(f"pad: expected pairs for at most {input._ndim} dimensions, got {tuple(pad)}")
    lead = [0] * (input._ndim - len(pad) // 2)
    before, after = ([*lead, *list(pad[k::2])[::-1]] for k in (0, 1))
    shape = [m + lo + hi for m, lo, hi in zip(input.shape, before, after, strict=True)]
    if any(m < 0 for m in shape):
        raise ValueError(f"pad: {tuple(pad)} cuts more off than {tuple(input.shape)} has")
    if input._fmt in ("csr", "csc") and selects(input):
        inner, lead = _without(input, before, after), zip(before, shape, strict=True)
        return widened(inner, [min(max(n, 0), m) for n, m in lead], shape)
    e = entries(input)
    indices = e.indices + torch.tensor(before, device="cpu")[:, None]
    if any(m < 0 for m in pad):
        inside = (indices >= 0) & (indices < torch.tensor(shape, device="cpu")[:, None])
        at = places(inside.all(0))
        indices, e = indices[:, at], e._replace(values=e.values[at])
    return _renumbered(input, shape, indices, e.values)


def _without(a: SparseTensor, before: Sequence[int], after: Sequence[int]) -> SparseTensor:
    """A matrix without what negative numbers cut off."""
    if min(*before, *after) >= 0:
        return a
    begin = [min(max(-n, 0), m) for n, m in zip(before, a.shape, strict=True)]
    end = [max(m + min(n, 0), at) for n, m, at in zip(after, a.shape, begin, strict=True)]
    return select_all(a, [slice(*ends, 1) for ends in zip(begin, end, strict=True)])


def _full(like: SparseTensor, shape: Sequence[int], value: float, format: str) -> torch.Tensor:
    """Of a shape, a value stored everywhere, be it zero."""
    n = math.prod(shape)
    indices = unravel(torch.arange(n, device="cpu"), shape)
    return build(Entries(tuple(shape), indices, like._val.new_full((n,), value)), format, like.index_dtype)


def _pad_with(input: SparseTensor, pad: list[int], value: float) -> SparseTensor:
    """With a value that is stored; what was missing stays so. Blocks are taken apart."""
    a = input.convert("coo") if fills(layout(input._fmt, input._ndim)) else input
    kept = kept_format(a, range(a._ndim))
    for k, (before, after) in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        d = a._ndim - 1 - k
        sides = []
        for n in (before, after):
            shape = [n if e == d else m for e, m in enumerate(a.shape)]
            sides.append([_full(a, shape, value, kept)] if n > 0 else [])
        cut = narrow(a, d, max(-before, 0), a.shape[d] + min(before, 0) + min(after, 0))
        a = cat([*sides[0], cut, *sides[1]], d)
    return a


def _pad_from_inside(input: SparseTensor, pad: list[int], mode: str) -> SparseTensor:
    """With entries of the tensor: as torch finds their places."""
    a = input
    for k, pair in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        d = a._ndim - 1 - k
        place = torch.arange(a.shape[d], dtype=torch.float64, device="cpu").view(1, 1, -1)
        a = index_select(a, d, torch.nn.functional.pad(place, pair, mode).view(-1).long())
    return a


def rot90(input: SparseTensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> SparseTensor:
    """``torch.rot90``."""
    first, second = (axis(d, input._ndim) for d in dims)
    if k % 2 == 0:
        return flip(input, first, second) if k % 4 else input.clone()
    return flip(input.transpose(first, second), first if k % 4 == 1 else second)


_diagonal = diagonal


def trace(input: SparseTensor) -> torch.Tensor:
    """``torch.trace``: of entries alone, where the diagonal is far longer than their list."""
    if input._ndim != 2:
        raise ValueError(f"trace: expected a matrix, got {input._ndim} dimensions")
    if not _torch.is_compiling() and is_longer(min(input.shape), input._val.shape[0]):
        e = entries(input)
        return e.values[e.indices[0] == e.indices[1]].sum()
    return _diagonal(input).sum()


def unfold(input: SparseTensor, dimension: int, size: int, step: int) -> torch.Tensor:
    """``Tensor.unfold``: windows of a dimension, entries repeated; their places come last."""
    dim = axis(dimension, input._ndim)
    if not 0 <= size <= input.shape[dim] or step < 1:
        raise ValueError(
            f"unfold: expected a size up to {input.shape[dim]} and a positive step, got {size} and {step}"
        )
    if input._ndim == 1:  # of which a list chooses entries, which are dense
        return squeeze(unfold(unsqueeze(input, 0), 1, size, step), 0)
    windows = (input.shape[dim] - size) // step + 1
    at = torch.arange(windows, device="cpu")[:, None] * step + torch.arange(size, device="cpu")
    return movedim(unflatten(index_select(input, dim, at.view(-1)), dim, (windows, size)), dim + 1, -1)


# ---- shuffling ----
def pixel_shuffle(input: SparseTensor, upscale_factor: int) -> torch.Tensor:
    """``F.pixel_shuffle``."""
    *lead, c, h, w = input.shape
    r, n = upscale_factor, len(lead)
    parted = reshape(input, (*lead, c // (r * r), r, r, h, w))
    turned = parted.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return reshape(turned, (*lead, c // (r * r), h * r, w * r))


def pixel_unshuffle(input: SparseTensor, downscale_factor: int) -> torch.Tensor:
    """``F.pixel_unshuffle``."""
    *lead, c, h, w = input.shape
    r, n = downscale_factor, len(lead)
    parted = reshape(input, (*lead, c, h // r, r, w // r, r))
    turned = parted.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return reshape(turned, (*lead, c * r * r, h // r, w // r))


def channel_shuffle(input: SparseTensor, groups: int) -> torch.Tensor:
    """``F.channel_shuffle``."""
    parted = unflatten(input, 1, (groups, input.shape[1] // groups))
    return flatten(parted.transpose(1, 2), 1, 2)

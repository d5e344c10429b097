"""Writing at places: the scatter family, whose results store what the tensor stores and what is written.

What is written is named one by one, by an index, a mask or a region, and all of it is stored, zeros too.
Written into a dense tensor, a sparse source is what it is as a dense one. Derivatives are those of the dense
tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Number

import torch

from .. import _torch
from ..tensor.entries import (
    Entries,
    add_up,
    build,
    distinct,
    entries,
    find,
    kept_format,
    marked,
    places,
    ravel,
    united,
    unravel,
    with_row,
)
from ..tensor.index import as_selection, axis, positions
from ..tensor.matrices import selects, with_diagonal
from ..tensor.picking import asked
from ..tensor.rearrange import diagonal_length
from ..tensor.sparsetensor import SparseTensor
from ..tensor.values import needs_grad
from .pointwise import expand
from .running import beside_dense

Write = Callable[
    [torch.Tensor, torch.Tensor], torch.Tensor
]  # what is there, the slot of each number -> what will be


# ---- how ----
def _merged(a: SparseTensor, kept: Entries, indices: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Entries that stay and entries that come, in the format of a; those of one place are summed."""
    key, slot = distinct(ravel(indices, kept.shape))
    own, come = ravel(kept.indices, kept.shape), unravel(key, kept.shape)
    found, mine, theirs = united(kept.indices, own, come, key)
    slot = torch.cat([mine, theirs[slot]])
    values = add_up(torch.cat([kept.values, values.to(a.dtype)]), slot, found.shape[1])
    return build(Entries(kept.shape, found, values), kept_format(a, range(a._ndim)), a.index_dtype)


def _without(e: Entries, dropped: torch.Tensor) -> Entries:
    at = places(~dropped)
    return Entries(e.shape, e.indices[:, at], e.values[at])


def _changed(a: SparseTensor, key: torch.Tensor, write: Write) -> torch.Tensor:
    """a with other numbers at the places of row-major keys, which may repeat."""
    e = entries(a)
    own = ravel(e.indices, e.shape)
    key, slot = distinct(key)
    found, at = find(own, key)
    there = torch.cat([e.values, e.values.new_zeros(1)])[at]
    there = torch.where(found, there, there.new_zeros(()))
    kept = _without(e, torch.zeros_like(own, dtype=torch.bool).index_fill(0, at[places(found)], True))
    return _merged(a, kept, unravel(key, e.shape), write(there, slot))


def _last(slot: torch.Tensor, n: int) -> torch.Tensor:
    """The last of those that go to each of n slots."""
    return slot.new_zeros(n).scatter_reduce(
        0, slot, torch.arange(slot.numel(), device="cpu"), "amax", include_self=False
    )


def _overwrite(values: torch.Tensor) -> Write:
    return lambda there, slot: values[_last(slot, there.shape[0])]


def _add(values: torch.Tensor) -> Write:
    return lambda there, slot: there.index_add(0, slot, values.to(there.dtype))


def _all(x: torch.Tensor) -> Entries:
    """What a source has: its entries, or all places of a dense one."""
    if isinstance(x, SparseTensor):
        return entries(x)
    return Entries(tuple(x.shape), unravel(torch.arange(x.numel(), device="cpu"), x.shape), x.reshape(-1))


def _flat(x: torch.Tensor) -> torch.Tensor:
    return (x.to_dense() if isinstance(x, SparseTensor) else x).reshape(-1)


def _at_least_a_vector(f: Callable) -> Callable:
    """f, for which a number is computed densely."""

    def call(input: SparseTensor, *args: object, **kwargs: object) -> torch.Tensor:
        if not input._ndim:
            return getattr(torch, f.__name__)(input.to_dense(), *args, **kwargs)
        return f(input, *args, **kwargs)

    call.__wrapped__ = f
    call.__doc__ = f.__doc__
    return call


def into(name: str) -> Callable:
    """What writes into a tensor: into a dense one as torch does, with what is sparse made dense beside it.

    What ``index_add`` adds to a dense one is read where it has entries.
    """
    sparsely = globals()[name]
    densely = _add_into_dense if name == "index_add" else beside_dense(getattr(torch, name), name)

    def call(input: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
        return (sparsely if isinstance(input, SparseTensor) else densely)(input, *args, **kwargs)

    return call


# ---- an index of the shape of the source ----
def _unwritten(a: SparseTensor, src: torch.Tensor | Number | None) -> SparseTensor:
    """A copy of a, where nothing of the source is written; it has a gradient all the same."""
    if not isinstance(src, torch.Tensor) or not needs_grad(src):
        return a.clone()
    return a._with_values(a.values() + _flat(src)[:0].sum(dtype=a.dtype))


def _keys(name: str, a: SparseTensor, dim: int, index: torch.Tensor) -> torch.Tensor:
    sizes = zip(index.shape, a.shape, strict=False)
    if index.dim() != a._ndim or any(n > m for d, (n, m) in enumerate(sizes) if d != dim):
        raise ValueError(
            f"{name}: expected an index of {a._ndim} dimensions, none but dimension {dim} larger than "
            f"{list(a.shape)}, got {list(index.shape)}"
        )
    at = unravel(torch.arange(index.numel(), device="cpu"), index.shape)
    at[dim] = positions(name, index.reshape(-1), a.shape[dim])
    return ravel(at, a.shape)


def _source(name: str, src: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    if src.dim() != index.dim() or any(n < m for n, m in zip(src.shape, index.shape, strict=True)):
        raise ValueError(f"{name}: expected a source of {list(index.shape)} or more, got {list(src.shape)}")
    return _flat(src[tuple(slice(n) for n in index.shape)])


@_at_least_a_vector
def scatter(
    input: SparseTensor,
    dim: int,
    index: torch.Tensor,
    src: torch.Tensor | Number | None = None,
    *,
    value: Number | None = None,
    reduce: str | None = None,
) -> torch.Tensor:
    """``torch.scatter``, sparse: of several numbers for one place the last is written."""
    if not index.numel():
        return _unwritten(input, src)
    dim, src = axis(dim, input._ndim), value if src is None else src
    if isinstance(src, torch.Tensor) and src.dim():
        values = _source("scatter", src, index)
    else:
        values = _torch.as_tensor(src, dtype=input.dtype).expand(index.numel())
    writes = {None: _overwrite(values), "add": _add(values), "multiply": _reduced(values, "prod", True)}
    if reduce not in writes:
        raise ValueError(f"scatter: expected reduce to be add or multiply, got {reduce!r}")
    return _changed(input, _keys("scatter", input, dim, index), writes[reduce])


@_at_least_a_vector
def scatter_add(input: SparseTensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
    """``torch.scatter_add``, sparse."""
    if not index.numel():
        return _unwritten(input, src)
    dim = axis(dim, input._ndim)
    values = _source("scatter_add", src, index)
    return _changed(input, _keys("scatter_add", input, dim, index), _add(values))


def _reduced(values: torch.Tensor, reduce: str, include_self: bool) -> Write:
    def write(there: torch.Tensor, slot: torch.Tensor) -> torch.Tensor:
        return there.scatter_reduce(0, slot, values.to(there.dtype), reduce, include_self=include_self)

    return write


@_at_least_a_vector
def scatter_reduce(
    input: SparseTensor,
    dim: int,
    index: torch.Tensor,
    src: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> torch.Tensor:
    """``torch.scatter_reduce``, sparse; what is missing takes part as zero, as ``include_self`` says."""
    if not index.numel():
        return _unwritten(input, src)
    dim = axis(dim, input._ndim)
    values = _source("scatter_reduce", src, index)
    key = _keys("scatter_reduce", input, dim, index)
    return _changed(input, key, _reduced(values, reduce, include_self))


# ---- a list along a dimension ----
def _listed(name: str, a: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Places along a dimension, checked with the source that goes there."""
    index = positions(name, index.reshape(-1), a.shape[dim])
    wanted = [index.numel() if d == dim else n for d, n in enumerate(a.shape)]
    if source.dim() and list(source.shape) != wanted:
        raise ValueError(f"{name}: expected a source of {wanted}, got {list(source.shape)}")
    return index


def _moved(source: torch.Tensor, dim: int, index: torch.Tensor, shape: Sequence[int]) -> Entries:
    """The entries of a source where an index puts them."""
    e = _all(source if source.dim() else source.reshape([1] * len(shape)))
    indices = with_row(e.indices.clone(), dim, index[e.indices[dim]])
    return Entries(tuple(shape), indices, e.values)


@_at_least_a_vector
def index_add(
    input: SparseTensor, dim: int, index: torch.Tensor, source: torch.Tensor, *, alpha: Number = 1
) -> torch.Tensor:
    """``torch.index_add``, sparse."""
    dim = axis(dim, input._ndim)
    e = _moved(source, dim, _listed("index_add", input, dim, index, source), input.shape)
    if not e.values.is_floating_point():
        alpha = int(alpha)  # as torch does
    values = e.values if alpha == 1 else e.values * alpha
    return _merged(input, entries(input), e.indices, values)


def _add_into_dense(
    input: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, *, alpha: Number = 1
) -> torch.Tensor:
    listed = isinstance(source, SparseTensor) and not isinstance(index, SparseTensor)
    if not listed or not input.dim() or source.dtype != input.dtype:
        return beside_dense(torch.index_add, "index_add")(input, dim, index, source, alpha=alpha)
    dim = axis(dim, input.dim())
    e = _moved(source, dim, _listed("index_add", input, dim, index, source), input.shape)
    alpha = alpha if input.is_floating_point() else int(alpha)  # as torch does
    values = e.values if alpha == 1 else (e.values * alpha).to(input.dtype)
    return input.index_put(tuple(e.indices), values, accumulate=True)


@_at_least_a_vector
def index_copy(input: SparseTensor, dim: int, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """``torch.index_copy``, sparse: of several for one place the last is written."""
    dim = axis(dim, input._ndim)
    index = _listed("index_copy", input, dim, index, source)
    e = _all(source if source.dim() else source.reshape([1] * input._ndim))
    named, slot = distinct(index)
    come = places(_last(slot, named.numel())[slot[e.indices[dim]]] == e.indices[dim])
    indices = e.indices[:, come].clone()
    indices = with_row(indices, dim, index[indices[dim]])
    return _merged(input, _cleared(input, dim, index), indices, e.values[come])


def _cleared(a: SparseTensor, dim: int, index: torch.Tensor) -> Entries:
    """The entries of a but for those at places along a dimension."""
    e = entries(a)
    return _without(e, asked(index, e.indices[dim], a.shape[dim])[1] > 0)


@_at_least_a_vector
def index_fill(
    input: SparseTensor, dim: int, index: torch.Tensor, value: Number | torch.Tensor
) -> torch.Tensor:
    """``torch.index_fill``, sparse: the number 0 is stored nowhere, any other in all that it fills."""
    dim = axis(dim, input._ndim)
    index, _ = distinct(positions("index_fill", index.reshape(-1), input.shape[dim], True))
    kept = _cleared(input, dim, index)
    if isinstance(value, Number) and value == 0:
        return _merged(input, kept, kept.indices[:, :0], kept.values[:0])
    shape = [index.numel() if d == dim else n for d, n in enumerate(input.shape)]
    indices = unravel(torch.arange(math.prod(shape), device="cpu"), shape)
    indices = with_row(indices, dim, index[indices[dim]])
    values = _torch.as_tensor(value, dtype=input.dtype).reshape(()).expand(indices.shape[1])
    return _merged(input, kept, indices, values)


@_at_least_a_vector
def index_reduce(
    input: SparseTensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> torch.Tensor:
    """``torch.index_reduce``, sparse; what is missing takes part as zero, as ``include_self`` says."""
    dim = axis(dim, input._ndim)
    index = _listed("index_reduce", input, dim, index, source)
    source = source.to_dense() if isinstance(source, SparseTensor) else source
    e = _moved(source, dim, index, input.shape)
    return _changed(input, ravel(e.indices, e.shape), _reduced(e.values, reduce, include_self))


# ---- a region ----
def select_scatter(input: SparseTensor, src: torch.Tensor, dim: int, index: int) -> torch.Tensor:
    """``torch.select_scatter``, sparse."""
    dim = axis(dim, input._ndim)
    return slice_scatter(input, src.unsqueeze(dim), dim, index, (index + 1) or None)


def slice_scatter(
    input: SparseTensor,
    src: torch.Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> torch.Tensor:
    """``torch.slice_scatter``, sparse."""
    dim = axis(dim, input._ndim)
    span = as_selection(slice(start, end, step), input.shape[dim], dim)
    return index_copy(input, dim, torch.arange(span.start, span.stop, span.step, device="cpu"), src)


def diagonal_scatter(
    input: SparseTensor, src: torch.Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> torch.Tensor:
    """``torch.diagonal_scatter``, sparse."""
    dim1, dim2 = axis(dim1, input._ndim), axis(dim2, input._ndim)
    if dim1 == dim2:
        raise ValueError("diagonal_scatter: expected two dimensions, got one twice")
    length = diagonal_length((input.shape[dim1], input.shape[dim2]), offset)
    wanted = (*(n for d, n in enumerate(input.shape) if d not in (dim1, dim2)), length)
    if tuple(src.shape) != wanted:
        raise ValueError(f"diagonal_scatter: expected a source of {list(wanted)}, got {list(src.shape)}")
    if input._fmt in ("csr", "csc") and selects(input) and not isinstance(src, SparseTensor):
        place = max(-offset, 0), max(offset, 0)
        return with_diagonal(input, *(place if dim1 < dim2 else place[::-1]), src)
    e, s = entries(input), _all(src)
    rest = iter(s.indices[:-1])
    place = {dim1: s.indices[-1] + max(-offset, 0), dim2: s.indices[-1] + max(offset, 0)}
    indices = torch.stack([place[d] if d in place else next(rest) for d in range(input._ndim)])
    return _merged(input, _without(e, e.indices[dim2] - e.indices[dim1] == offset), indices, s.values)


# ---- places by name ----
def masked_scatter(input: SparseTensor, mask: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """``torch.masked_scatter``, sparse: the first numbers of the source, where the mask is true."""
    shape = _torch.broadcast(input.shape, mask.shape)
    if not shape:
        return torch.masked_scatter(input.to_dense(), mask.to_dense(), source.to_dense())
    input = input if tuple(input.shape) == shape else expand(input, shape)
    key = marked(mask, shape)
    if source.numel() < key.numel():
        raise ValueError(f"masked_scatter: expected {key.numel()} numbers, got {source.numel()}")
    values = _flat(source.reshape(-1)[: key.numel()])
    return _changed(input, key, lambda there, slot: values)


def index_put(
    input: SparseTensor, indices: Sequence[torch.Tensor], values: torch.Tensor, accumulate: bool = False
) -> torch.Tensor:
    """``torch.index_put``, sparse; of several numbers for one place the last is written, or all are added."""
    at = [
        x for i in indices for x in (i.nonzero().unbind(1) if i.dtype in (torch.bool, torch.uint8) else (i,))
    ]
    if not at or len(at) > input._ndim:
        raise IndexError(f"index_put: expected 1 to {input._ndim} indices, got {len(at)}")
    at = torch.broadcast_tensors(
        *(positions("index_put", x, n, True) for x, n in zip(at, input.shape, strict=False))
    )
    rest = tuple(input.shape[len(at) :])
    shape = (*at[0].shape, *rest)
    named = [x.reshape(*x.shape, *(1 for _ in rest)).expand(shape).reshape(-1) for x in at]
    whole = unravel(torch.arange(math.prod(shape), device="cpu"), shape)[at[0].dim() :]
    values = (values.to_dense() if isinstance(values, SparseTensor) else values).expand(shape).reshape(-1)
    key = ravel(torch.cat([torch.stack(named), whole]), input.shape)  # of whole there may be no rows
    return _changed(input, key, (_add if accumulate else _overwrite)(values))


def put(
    input: SparseTensor, index: torch.Tensor, source: torch.Tensor, accumulate: bool = False
) -> torch.Tensor:
    """``torch.put``, sparse: places count in row-major order."""
    key = positions("put", index.reshape(-1), input.numel(), True)
    return _changed(input, key, (_add if accumulate else _overwrite)(_flat(source)))

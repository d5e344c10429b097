"""Other formats, other types, and the dense tensor: what the methods of these names do."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

import torch

from .. import _C, _torch
from . import rooms
from .entries import CARRIER, build, csr_indices, entries, flat_format, rearranged
from .format import Format, Layout, bound, is_composed, is_row_major, layout, relabelled, words_at
from .sparsetensor import TURNED, SparseTensor, core_of, known_core, sound
from .values import apart, assemble, cut_out_as, is_plain, needs_grad, renewed, tracked, viewed
from .wrapping import fresh, wrap


def _carried(a: SparseTensor, body: Callable[[SparseTensor], torch.Tensor]) -> torch.Tensor:
    """body(a), by way of a type that the extension can add."""
    dtype = a._val.dtype
    carrier = CARRIER.get(dtype)
    if carrier is None:
        return body(a)
    return body(a._like((*a._arrays()[:-1], a._val.to(carrier)))).to(dtype)


# ---- formats ----
def convert(a: SparseTensor, format: str | Format, index_dtype: torch.dtype | None) -> SparseTensor:
    """The same tensor in another format; this one if it has it already."""
    form = bound(format, a._ndim)
    index_dtype = index_dtype or a.index_dtype
    if form.text == a._fmt:
        return a.to(index_dtype=index_dtype)
    if form.parts:
        return rooms.composed.deal(a, form, index_dtype)
    if _torch.in_graph():
        made = build(entries(a), form.text, index_dtype)
        shared = is_row_major(a._fmt, a._ndim) and is_row_major(form.text, a._ndim)  # outside
        return apart(made) if shared and (a._fmt, form.text) != ("csr", "coo") else made
    if tracked(a):
        return _convert_tracked(a, form, index_dtype)
    wide = index_dtype is torch.int64
    return _carried(a, lambda b: fresh(form, *_C.convert(core_of(b), form.text, wide)[1:]))


def _convert_tracked(a: SparseTensor, form: Layout, index_dtype: torch.dtype) -> SparseTensor:
    """convert, differentiably: the structure by the extension, the values gathered; by torch's operations
    where entries are summed or dropped."""
    wide = index_dtype == torch.int64
    (_, shape, arrays), perm = _C.convert(core_of(a), form.text, wide, True)
    values = a.values()
    if perm is None:
        return build(entries(a), "coo", index_dtype).convert(form.text, index_dtype=index_dtype)
    if values.shape[0]:
        values = torch.where(perm >= 0, values[perm.clamp(min=0)], 0)
    else:
        values = torch.constant_pad_nd(values, (0, perm.shape[0]))  # all padding; recorded, if values are
    return assemble(form, shape, (*arrays[:-1], values))


def indices(a: SparseTensor) -> torch.Tensor:
    """Coordinates [ndim, nnz] of the stored values, in storage order, a copy; -1 in padding."""
    if not a._ndim:
        return torch.empty((0, a._val.shape[0]), dtype=a.index_dtype, device="cpu")
    if a._fmt == "coo":  # its arrays
        return torch.stack(sound(a)._arrays()[1:-1])
    flat, wide, source = flat_format(a._ndim), a.index_dtype == torch.int64, a
    if _torch.in_graph():
        if a._fmt == "csr":
            return csr_indices(a).to(a.index_dtype)
        _, *crd, place = rearranged(a, flat, wide)
        found = torch.stack(crd)
        return found.new_full((a._ndim, a._val.shape[0]), -1).index_copy(1, place, found)
    if len(a._names) == 1:  # dense sources lose their zeros: number the places instead
        source = a._like([torch.arange(1, a._val.shape[0] + 1, device="cpu")])
    elif is_row_major(a._fmt, a._ndim):
        return torch.stack(_C.convert(core_of(a), flat, wide)[2][1:-1])
    (_, _, arrays), perm = _C.convert(core_of(source), flat, wide, True)
    found = torch.stack(arrays[1:-1])
    if source is not a:
        perm = arrays[-1] - 1
    result = found.new_full((a._ndim, a._val.shape[0]), -1)
    result[:, perm] = found
    return result


# ---- the dense tensor ----
_NARROW = (torch.bool, torch.int8, torch.uint8, torch.int16)


def to_dense(a: SparseTensor, dtype: torch.dtype | None) -> torch.Tensor:
    """The dense tensor, contiguous."""

    def spread(b: SparseTensor) -> torch.Tensor:
        return _C.convert(core_of(b), "dense", False)[2][0].view(b.shape)

    plain = a._val.__class__ in _torch.PLAIN
    if _torch.is_compiling() or not plain or _is_recorded_once(a):
        letters = "abcdefghijklmnop"[: a._ndim]  # as a program it can be traced, of types computed in
        source = a.to(torch.int64) if a.dtype in _NARROW else a
        dense = rooms.expressions.einsum(f"{letters}->{letters}", source, format="dense").to(a.dtype)
    else:
        dense = _scattered(a) if tracked(a) else _carried(a, spread)
    return dense if dtype is None else dense.to(dtype)


def _is_recorded_once(a: SparseTensor) -> bool:
    """Whether an eager call on a is recorded and nothing more, and a has an index and no entry twice."""
    return needs_grad(a) and not _torch.in_transform() and a._ndim > 0 and a._is_unique()


def _scattered(a: SparseTensor) -> torch.Tensor:
    """to_dense, differentiably, whatever transforms it."""
    indices, values = a.indices().long(), a.values()
    stored = indices[0] >= 0 if a._ndim else slice(None)
    dense = values.new_zeros(tuple(a.shape))
    return dense.index_put(tuple(indices[:, stored]), values[stored], accumulate=True)


# ---- types ----
def to(
    a: SparseTensor, dtype: torch.dtype | None, index_dtype: torch.dtype | None, copied: bool
) -> SparseTensor:
    """With another dtype or index type; itself if nothing changes."""
    *structure, values = a._arrays()
    if dtype is not None and dtype.is_complex:
        raise TypeError(f"expected a real type, got {dtype}")
    if index_dtype not in (None, torch.int32, torch.int64):
        raise TypeError(f"index_dtype: expected torch.int32 or torch.int64, got {index_dtype}")
    if (
        index_dtype == torch.int32
        and a.index_dtype != torch.int32
        and max((*a.shape, a._val.shape[0]), default=0) >= 2**31
    ):
        raise ValueError("index_dtype: extents or positions do not fit in int32")
    changed = (
        copied
        or dtype not in (None, values.dtype)
        or (index_dtype not in (None, a.index_dtype) and len(structure) > 0)
    )
    if not changed:
        return a
    added = values.dtype if dtype is None else dtype
    rounded = added.is_floating_point and values.is_floating_point()
    widened = rounded and torch.finfo(added).bits > torch.finfo(values.dtype).bits
    if added != values.dtype and not widened and not a._is_unique():
        return a._unique().to(dtype, index_dtype=index_dtype)  # a sum of casts is no cast of a sum
    cast = a.values().to(added, copy=copied)
    same = not (copied or is_composed(a._fmt)) and index_dtype in (None, a.index_dtype)
    if same and not torch.compiler.is_dynamo_compiling() and is_plain(cast) and cast.is_contiguous():
        return renewed(a, cast)  # with what is derived from the structure
    form = layout(a._fmt, a._ndim)
    arrays = [x.to(index_dtype or x.dtype, copy=copied) for x in structure]
    if index_dtype == torch.int64 != a.index_dtype:
        for k in words_at(form):
            arrays[k] = arrays[k] & 0xFFFFFFFF  # bits, without a sign
    return assemble(form, a.shape, [*arrays, cast])


# ---- views ----
def view(
    input: SparseTensor,
    *shape: int,
    size: Sequence[int] | None = None,
    dtype: torch.dtype | None = None,
) -> SparseTensor:
    """``Tensor.view`` of its own shape: a tensor over the same arrays; for torch's own code any reshaping.

    Raises: NotImplementedError: of another shape, whose coordinates are others; of another type.
    """
    asked = shape[0] if len(shape) == 1 else dtype
    sizes = () if isinstance(asked, torch.dtype) else _torch.one_by_one(shape, size)
    known = math.prod(n for n in sizes if n >= 0)
    sizes = tuple(input.numel() // max(known, 1) if n == -1 else n for n in sizes)
    if sizes and sizes != tuple(input.shape) and (caller := _torch.caller()).startswith("torch."):
        if caller == "torch.nn.utils.convert_parameters":
            raise NotImplementedError(
                f"parameters_to_vector: expected dense parameters, got a SparseTensor {list(input.shape)}, "
                f"whose zeros it counts: hold the values as the parameter, as scorch.nn.Linear does"
            )
        return torch.reshape(input, sizes)
    if isinstance(asked, torch.dtype) or sizes != tuple(input.shape):
        raise NotImplementedError(
            f"view of a SparseTensor {list(input.shape)} as {list(sizes) or asked} is not available: its "
            f"entries are not strided: use A.reshape, A.to or A.to_dense()"
        )
    if input.requires_grad and not torch.is_grad_enabled() and _torch.caller().startswith(_DTENSOR):
        raise NotImplementedError(_DENSE_GRADIENT)
    made = viewed(input)
    if _C.plain() and "_core" in input.__dict__:
        made.__dict__["_core"] = input.__dict__["_core"]
    return made


_DTENSOR = "torch.distributed.tensor"
_DENSE_GRADIENT = (
    "a DTensor of a SparseTensor that requires a gradient is not available: that gradient would be dense: "
    "use A.detach(), or the rows A of this rank in DTensor.from_local("
    "A @ x.to_local(grad_placements=[Partial()]), mesh, [Shard(0)]), where x is a DTensor that is replicated"
)


# ---- the order of dimensions ----
def _share(made: SparseTensor, a: SparseTensor, order: tuple[int, ...]) -> None:
    """What is derived from a structure with its dimensions in an order is kept with the first such tensor."""
    core = known_core(a)
    if core is None or is_composed(made._fmt) or not _C.plain():
        return
    first = core.shared().setdefault("orders", {}).setdefault(order, made)
    if first is not made:
        made.__dict__["_origin"] = core_of(first)


def _is_untouched(made: SparseTensor, a: SparseTensor) -> bool:
    """Whether nobody who was given ``made``, which a keeps, has made it another tensor or a leaf."""
    return made._val is a._val and not _torch.any_requires_grad(made)


def _turned(made: SparseTensor, a: SparseTensor, order: tuple[int, ...]) -> SparseTensor:
    """made, which is a in this order of dimensions, with the order that both come to."""
    if _torch.is_compiling():
        return made
    before = a.__dict__.get(TURNED, range(a._ndim))
    after = tuple(before[d] for d in order)
    if after != tuple(range(a._ndim)):
        made.__dict__[TURNED] = after
    return made


def permute(a: SparseTensor, dims: tuple[int, ...]) -> SparseTensor:
    """Dimensions in another order: the arrays stay, their dimensions are relabelled."""
    n = a._ndim
    order = tuple(d + n if d < 0 else d for d in map(operator.index, dims))
    if sorted(order) != list(range(n)):
        raise ValueError(f"permute: expected a permutation of {n} dimensions, got {tuple(dims)}")
    if n < 2:
        return a
    kept = {} if _torch.is_compiling() else a.__dict__.setdefault("_relabelled", {})
    if order not in kept or not _is_untouched(kept[order], a):
        form = layout(relabelled(a._fmt, n, order), n)
        kept[order] = _torch.lasting(lambda: wrap(form, [a.shape[d] for d in order], a._arrays()))
        _share(kept[order], a, order)
        _turned(kept[order], a, order)
    made = kept[order]
    if not _torch.is_compiling():
        cut_out_as(made, a)
    if not tracked(a):
        return made
    arrays = (*made._arrays()[:-1], a.values())
    computed = assemble(layout(made._fmt, n), made.shape, arrays)
    if _C.plain() and not is_composed(made._fmt):
        computed.__dict__["_core"] = core_of(made)
    return _turned(computed, a, order)

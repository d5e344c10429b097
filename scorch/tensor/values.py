"""A SparseTensor and its values, differentiably: the way from one to the other and back.

``values_of`` and ``assemble`` are what a computation on values begins and ends with. Eager calls are recorded
by two nodes; where calls are traced or transformed, the values are themselves what is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch.autograd import forward_ad

from .. import _C, _torch
from . import rooms
from .format import Layout, is_composed, layout, pads, repeats
from .sparsetensor import CUT_OUT, TURNED, SparseTensor, core_of, rank
from .wrapping import wrap


# ---- what is recorded ----
def needs_grad(*tensors: torch.Tensor) -> bool:
    """Whether a call on these tensors is recorded."""
    if torch.compiler.is_dynamo_compiling():
        return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)
    return torch.is_grad_enabled() and _torch.any_requires_grad(*tensors)


def tracked(a: torch.Tensor) -> bool:
    """Whether what is computed from the values of a must be computed differentiably."""
    return _torch.in_transform() or needs_grad(a)


def carries(values: torch.Tensor) -> bool:
    """Whether derivatives or a batch hang on a plain tensor, so that it must be computed with as it is."""
    if _torch.in_functorch():
        return _torch.is_wrapped(values) or needs_grad(values)
    return _torch.in_forward_mode() or needs_grad(values)


# ---- from one to the other ----
class _Values(_torch.AutogradNode):
    """The values of a SparseTensor; the gradient has its structure.

    Those of a tensor that was computed are a view, which torch lets nobody write to where that would be
    recorded: the tensor would not know. Of a leaf they are none, so that they can be read once, before an
    optimizer writes to it.
    """

    @staticmethod
    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        ctx.structure, ctx.filler = _C.structure(a), padding(a)
        with _torch.DisableTorchFunctionSubclass():
            leaf = a.is_leaf
        return _detached(a._val) if leaf else _followed(a._val.view(-1), a._val)

    @staticmethod
    def backward(ctx, grad):
        # where nothing is stored functions may have infinite derivatives
        return None if grad is None else structured(ctx.structure, grad, ctx.filler)


def _detached(values: torch.Tensor) -> torch.Tensor:
    """The values, detached; torch.export traces through what is recorded here, and keeps gradients."""
    if torch.compiler.is_exporting():
        return _torch.as_far(values.view_as(values), values)
    return _followed(values.detach(), values)


def _followed(made: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """What is made of values: in a graph of make_fx it is the same, and gradients flow through it."""
    if _torch.makes_fx():
        _torch.follow(made, values)
    return _torch.as_far(made, values)


class _Make(_torch.AutogradNode):
    """The SparseTensor of values; the gradient to the values is that of the stored entries."""

    @staticmethod
    def forward(ctx, values, make):
        ctx.set_materialize_grads(False)
        made = make(_detached(values))
        ctx.structure, ctx.count = _C.structure(made), values.shape[0]
        return made

    @staticmethod
    def backward(ctx, grad):
        return None if grad is None else values_of_grad(ctx.structure, ctx.count, grad), None


class _View(_torch.AutogradNode):
    """A SparseTensor over the arrays of another: one node, behind which torch looks for that of a leaf."""

    @staticmethod
    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        ctx.structure, ctx.count = _C.structure(a), a._val.shape[0]
        return wrap(layout(a._fmt, a._ndim), a._shape, (*a._arrays()[:-1], _detached(a._val)))

    @staticmethod
    def backward(ctx, grad):
        if grad is None:
            return None
        return of_structure(ctx.structure, values_of_grad(ctx.structure, ctx.count, grad))


def same_arrays(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two structures, or what SparseTensors have in their dictionaries, are the same arrays."""
    same = one["_fmt"] == other["_fmt"] and one["_shape"] == other["_shape"]
    return same and all(one[n] is other[n] for n in one["_names"][:-1])


def values_of_grad(structure: dict[str, Any], count: int, grad: torch.Tensor) -> torch.Tensor:
    """The values of a gradient at the entries of a structure; users may give any tensor of its shape."""
    if not _torch.is_compiling() and (plain := _C.plain_values(grad, structure)) is not None:
        return plain
    # Arrays of a graph are not known; torch.compile sees to it that gradients fit.
    if isinstance(grad, SparseTensor) and (_torch.in_graph() or same_arrays(structure, grad.__dict__)):
        return values_as_held(grad)
    like = of_structure(structure, torch.empty(count, dtype=grad.dtype, device="cpu"))
    return rooms.writing.values_at(like, grad)


@_torch.entry
def values_of(a: torch.Tensor) -> torch.Tensor:
    """The values of a SparseTensor on shared memory, differentiable where it is."""
    if torch.compiler.is_dynamo_compiling():
        _torch.admit_nodes()
        return _values_in_graph(a)
    return _values(a)


@_torch.node
def _values_in_graph(a: torch.Tensor) -> torch.Tensor:
    return _values(a)


def _values(a: torch.Tensor) -> torch.Tensor:
    _torch.hand_out()
    if a._val.requires_grad:  # made where calls are traced or transformed
        return _torch.give_away(a._val)
    if _torch.in_functorch():
        outside = needs_grad(a) and not _torch.is_wrapped(a._val)
        return _torch.beneath_transforms(_Values.apply, a) if outside else _torch.give_away(a._val)
    if needs_grad(a):
        return _Values.apply(a)
    return _dual(a) if _torch.in_forward_mode() else _detached(a._val)  # which drops tangents


def _dual(a: torch.Tensor) -> torch.Tensor:
    """The values with their tangent, or with that of the SparseTensor itself at its entries."""
    tangent = forward_ad.unpack_dual(a).tangent
    if tangent is None:
        return _torch.give_away(a._val)
    return forward_ad.make_dual(a._val, values_of_grad(a.__dict__, a._val.shape[0], tangent))


def assemble(form: Layout, shape: Sequence[int], arrays: Sequence[torch.Tensor]) -> SparseTensor:
    """The SparseTensor of arrays that an operation computed, the values perhaps differentiably."""
    *structure, values = arrays
    if torch.compiler.is_dynamo_compiling() or not values.requires_grad:
        return wrap(form, shape, arrays)
    if _torch.in_functorch() and not _torch.is_wrapped(values):  # any more, or of a captured tensor
        return _torch.beneath_transforms(assemble, form, shape, arrays)
    if _torch.in_transform():
        return wrap(form, shape, arrays)
    if not torch.is_grad_enabled():
        return wrap(form, shape, (*structure, values.detach()))
    _torch.refuse_jit()
    return _Make.apply(values, lambda detached: wrap(form, tuple(shape), (*structure, detached)))


def apart(a: torch.Tensor, *source: torch.Tensor) -> torch.Tensor:
    """a, a SparseTensor of which a graph copied the values of another where an eager call shares them.

    source: all values of that, and where these are among them. What is written to a is written there too, and
    refused where that is not known.
    """
    if torch.compiler.is_dynamo_compiling():
        _torch.admit_nodes()
        return _apart_in_graph(a, *source)
    if isinstance(a, SparseTensor):
        _torch.set_apart(a._val, *source)
    return a


@_torch.node
def _apart_in_graph(a: torch.Tensor, *source: torch.Tensor) -> torch.Tensor:
    return apart(viewed(a), *source)


def viewed(a: torch.Tensor) -> SparseTensor:
    """A SparseTensor over the arrays of a, differentiably."""
    recorded = not torch.compiler.is_dynamo_compiling() and not _torch.in_transform() and needs_grad(a)
    if recorded and not a._val.requires_grad:
        return _View.apply(a)
    return assemble(layout(a._fmt, rank(a)), a._shape, (*a._arrays()[:-1], values_of(a)))


# ---- eager calls ----
def is_plain(values: torch.Tensor) -> bool:
    """Whether values were computed by an eager call that nothing transforms or traces."""
    return values.__class__ is torch.Tensor and _C.plain()


def renewed(a: SparseTensor, values: torch.Tensor) -> SparseTensor:
    """The structure of a with plain values of its own, perhaps differentiably."""
    if _torch.VALIDATES:
        core_of(a).with_values(values.detach())  # which looks through the structure
    if not values.requires_grad:
        return _C.like(a, values)
    if not torch.is_grad_enabled():
        return _C.like(a, values.detach())
    if "_origin" not in a.__dict__ and values.__class__ in _torch.PLAIN and a._val.__class__ in _torch.PLAIN:
        core_of(a)  # which keeps what is derived from the structure
    return _Make.apply(values, partial(_C.like, a.__dict__))


def of_structure(structure: dict[str, Any], values: torch.Tensor) -> SparseTensor:
    """The SparseTensor of what ``_C.structure`` has kept, and of values, perhaps differentiably."""
    text, names = structure["_fmt"], structure["_names"]
    if not values.requires_grad and is_plain(values) and not is_composed(text):
        return _C.like(structure, values)
    arrays = (*map(structure.__getitem__, names[:-1]), values)
    return assemble(layout(text, structure["_ndim"]), structure["_shape"], arrays)


def structured(
    structure: dict[str, Any], grad: torch.Tensor, filler: torch.Tensor | None = None
) -> SparseTensor:
    """A gradient to values as one to the SparseTensor that has them; zero where a filler is set."""
    if _torch.is_legacy_batchedtensor(grad):
        _torch.refuse_batched()
    return of_structure(structure, filled(grad, filler, 0).contiguous())


def plain_values(a: torch.Tensor) -> torch.Tensor | None:
    """The values of a themselves, each once and none of them padding, where a call on them is eager and
    nothing records, transforms, traces or validates it; else None."""
    return None if torch.compiler.is_dynamo_compiling() else _C.plain_values(a)


def values_as_held(a: torch.Tensor) -> torch.Tensor:
    """The values of a, in plain eager calls the object that a has: as a gradient torch does not take what
    others have for a ``.grad``, which it adds to in place."""
    values = a._val
    held = not torch.compiler.is_dynamo_compiling() and is_plain(values) and not needs_grad(a)
    return values if held else values_of(a)


def in_a_row(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """Values of several tensors one after the other, differentiably."""
    if not _torch.is_compiling() and needs_grad(*parts) and not all(map(len, parts)):
        return torch.cat([x.unsqueeze(1) for x in parts]).squeeze(1)  # torch forgets vectors without elements
    return torch.cat(parts)


# ---- operands ----
def as_dense(a: torch.Tensor) -> torch.Tensor:
    """A SparseTensor of dense levels as the dense tensor that its values are; any other as it is."""
    dims = _dense_levels(a._fmt, rank(a))
    if dims is None:
        return a
    return values_of(a).view([a.shape[d] for d in dims]).permute([dims.index(d) for d in range(len(dims))])


@_torch.constant
def _dense_levels(text: str, ndim: int) -> tuple[int, ...] | None:
    """The dimension of each level of a format that has dense levels only, else None."""
    form = layout(text, ndim)
    return tuple([level[2] for level in form.levels]) if form.is_dense else None


def once(a: SparseTensor) -> SparseTensor:
    """a itself, but with each coordinate once where needed: kernels add, where values of bool are or'ed,
    and gradients have the structure of what a kernel read."""
    if not repeats(a._fmt) or not (a._val.dtype is torch.bool or needs_grad(a)):
        return a
    return a._unique()


def versions(a: SparseTensor) -> tuple[int | bytes, ...]:
    """Those of the arrays of structure: other ones when torch wrote to them."""
    return tuple([_torch.version_of_structure(array) for array in a._arrays()[:-1]])


def kept(a: SparseTensor, name: str, make: Callable[[], Any], structural: bool = False) -> Any:
    """What make() derives from a, kept with it until its arrays are written to.

    Where calls are traced or transformed, and where a requires a gradient, it belongs to its call. What is
    structural is not derived from the values, nor from what they require. Else values are read through, and
    so seen to be others whoever wrote to them.
    """
    if torch.compiler.is_dynamo_compiling() or not _C.plain() or (not structural and tracked(a)):
        return make()
    facts, key = a.__dict__, versions(a)
    if not structural:
        key = (*key, _torch.contents(facts["_val"]))
    store = facts.setdefault("_derived", {})
    found = store.get(name)
    if found is None or found[0] != key:
        found = store[name] = key, _torch.lasting(make)
    return found[1]


def padding(a: SparseTensor) -> torch.Tensor | None:
    """Where the values of a are padding; None: nowhere."""
    if not pads(a._fmt):
        return None
    if is_composed(a._fmt):
        each = [(padding(part), part._val) for part in a._assembled(a._val)]
        return torch.cat([torch.zeros_like(v, dtype=torch.bool) if p is None else p for p, v in each])
    if layout(a._fmt, rank(a)).levels[-1][0] == "ell":
        return a._arrays()[-2] < 0
    return kept(a, "padding", lambda: a.indices()[0] < 0, structural=True)


def filled(values: torch.Tensor, filler: torch.Tensor | None, number: int) -> torch.Tensor:
    """Values with a number where they are padding."""
    return values if filler is None else values.masked_fill(filler, number)


def bytes_kept(a: SparseTensor) -> dict[str, int]:
    """What takes memory of its own among what is kept with a."""
    own = {id(x) for x in a._arrays()}

    def size(made: Any) -> int:
        if isinstance(made, tuple):
            return sum(map(size, made))
        arrays = made._arrays() if isinstance(made, SparseTensor) else (made,)
        return sum(getattr(x, "nbytes", 0) for x in arrays if id(x) not in own)

    return {name: size(made) for name, (_, made) in a.__dict__.get("_derived", {}).items()}


def cut_out_as(made: SparseTensor, a: SparseTensor) -> SparseTensor:
    """made, which has the memory of a: what is written to it is lost where that is."""
    if CUT_OUT in a.__dict__:
        made.__dict__[CUT_OUT] = True
    return made


def unmarked(made: torch.Tensor) -> torch.Tensor:
    """made, which a function that makes parts has made of a tensor that nobody else has."""
    for mark in () if torch.compiler.is_dynamo_compiling() else (CUT_OUT, TURNED):
        made.__dict__.pop(mark, None)
    return made


def refuse_unwritable(name: object, a: SparseTensor) -> None:
    """Raises ValueError where the values of a lie in memory that must not be written, NotImplementedError
    where what is written would be lost: to a copy where torch has a view of another tensor.

    And RuntimeError where a graph has copied them of others that it cannot write to: at a NotImplementedError
    torch.compile would end its graph in front of the call, and go on with the copy.
    """
    if _torch.is_apart(a._val):
        raise RuntimeError(
            f"{name}: in a graph this part of a SparseTensor A, or A in another shape or format, does not "
            f"share its values with A as it does outside: write to A.values(), to A[rows] = A[rows] * 2, to "
            f"clone() of the part, or to a part that is cut after A was last written to"
        )
    if _torch.is_read_only(a._val):
        raise ValueError(
            f"{name}: expected values that can be written, got those of a read-only array, which "
            f"scorch.sparse(..., copy=False) shares: A.clone() has its own"
        )
    if not torch.compiler.is_dynamo_compiling() and CUT_OUT in a.__dict__ and not _torch.stores_back():
        raise NotImplementedError(
            f"{name}: this part of another SparseTensor, a view in torch, is a copy here, and what is "
            f"written to it would not reach that one: write to that, A[:, 1:3] = v or A[:, 1:3] *= 2, or "
            f"take .clone() to change the part alone"
        )

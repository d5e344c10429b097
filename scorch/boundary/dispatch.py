"""What the dispatcher accepts for a SparseTensor: structure-preserving operators, and those of optimizers.

A user's call is answered by the table of torch functions. What arrives here was called by torch itself:
copies, casts, the bookkeeping of modules, and the steps of optimizers, which mean the stored values whatever
their arithmetic does to zero. The list is closed; everything else is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .. import _C, _torch
from ..functions import writing
from ..tensor.entries import same_structure
from ..tensor.format import layout
from ..tensor.making import sparse
from ..tensor.sparsetensor import HANDLERS, STRUCTURAL, SparseTensor, rank
from ..tensor.values import assemble, refuse_unwritable
from ..tensor.wrapping import wrap

aten = torch.ops.aten


def sparse_among(args: object) -> list[SparseTensor]:
    """The SparseTensors among arguments, also in lists."""
    found = []
    for x in args:
        if isinstance(x, list | tuple):
            found += sparse_among(x)
        elif isinstance(x, SparseTensor):
            found.append(x)
    return found


def refuse_out_of_reach(func: Callable, operands: list[SparseTensor]) -> None:
    """Raises where torch's own code, beneath a transform, calls an operator on values of that transform."""
    if any(_torch.is_out_of_reach(a._val) for a in operands):
        raise NotImplementedError(
            f"{func} was called by torch's own code in a transform, whose values it cannot reach: call "
            f"the function that it is part of on A.to_dense()"
        )


# ---- copies and casts ----
def _each(f: Callable) -> Callable:
    return lambda a, *args, **kwargs: a._like([f(x) for x in a._arrays()])


def _detached(a: SparseTensor) -> list[torch.Tensor]:
    *structure, values = a._arrays()
    return [*[x.detach() for x in structure], _torch.as_far(values.detach(), values)]


def _detach(a: SparseTensor) -> SparseTensor:
    """The arrays themselves: they belong to no graph, unless calls are traced or transformed."""
    recorded = a._val.requires_grad or _torch.in_transform() or _torch.makes_fx()
    if torch.compiler.is_exporting():  # which knows what is wrapped
        return wrap(layout(a._fmt, rank(a)), a._shape, _detached(a))
    if a.__class__ is SparseTensor and not recorded:
        return _C.like(a, a._val)
    arrays = a._arrays()
    return a._like(_detached(a) if recorded else arrays)


def _taken(a: SparseTensor) -> SparseTensor:
    """``aten.detach``: so autograd takes a gradient for a ``.grad``, which it adds to in place.

    There values that others have are copied."""
    if _torch.in_backward() and not torch.is_grad_enabled() and not _torch.is_sole(a.__dict__):
        return a._like([*a._arrays()[:-1], a._val.detach().clone()])
    return _detach(a)


def _to_copy(a: SparseTensor, *, dtype=None, layout=None, device=None, **_: object) -> torch.Tensor:
    """A copy; on the meta device, where torch asks for the shape and type of results, a plain tensor."""
    if device is not None and device.type == "meta":
        return torch.empty(a.shape, dtype=dtype or a.dtype, device=device)
    if dtype is not None and dtype.is_complex:
        raise TypeError(f"expected a real type, got {dtype}")
    *structure, values = a._arrays()
    move = [x.to(device=device, copy=True) for x in structure]
    return a._like([*move, values.to(device=device, dtype=dtype, copy=True)])


def clone(input: SparseTensor, *, memory_format: torch.memory_format | None = None) -> SparseTensor:
    """``torch.clone``, differentiable: what functorch would wrap as a whole is taken apart first."""
    *structure, _ = input._arrays()
    arrays = [*(x.clone() for x in structure), input.values().clone()]
    arrays[-1] = _torch.own(arrays[-1])
    return assemble(layout(input._fmt, rank(input)), input._shape, arrays)


def detach(input: SparseTensor) -> SparseTensor:
    """``Tensor.detach``, likewise."""
    return _detach(input)


def copy_(input: SparseTensor, other: torch.Tensor, non_blocking: bool = False) -> SparseTensor:
    """``input.copy_(other)``: values, between tensors of one structure, or all of a dense tensor.

    The other may be a sparse tensor of torch, as state dicts hold it that were saved before.

    Raises: NotImplementedError: the other is dense. ValueError: they differ in format or structure.
    """
    if not isinstance(input, SparseTensor):
        return input.copy_(other.to_dense(), non_blocking)
    if not isinstance(other, torch.Tensor):
        raise TypeError(f"copy_: expected a SparseTensor, got {type(other).__name__}: see scorch.sparse")
    if not isinstance(other, SparseTensor):
        if other.layout is torch.strided:
            raise NotImplementedError(
                "copy_ of a dense tensor to a SparseTensor: convert it with scorch.sparse first; "
                "torch.autograd.gradcheck in its fast mode takes a function of the values, "
                "lambda v: f(scorch.map(A, lambda _: v))"
            )
        other = sparse(other, input._fmt, index_dtype=input.index_dtype)
    values = writing.matched(
        input,
        other,
        "copy_: expected a SparseTensor of the same format and structure; to replace the structure, "
        "assign the tensor (load_state_dict(..., assign=True))",
    )
    refuse_unwritable("copy_", input)
    input._val.copy_(values)
    _torch.write_back(input._val)
    return input


def filled(a: SparseTensor, value: float, dtype: torch.dtype | None = None) -> SparseTensor:
    """A's structure with one value everywhere."""
    values = torch.full_like(a._val, value, dtype=dtype)
    if _torch.is_wrapped(a._val):  # by a transform of torch.func, which may be over
        return a._like([*a._arrays()[:-1], values])
    return a._with_values(values)


def _empty_strided(a: SparseTensor, size, stride, **options: object) -> SparseTensor:
    if tuple(size) != tuple(a.shape):
        raise NotImplementedError("new_empty_strided of another shape: a SparseTensor keeps its structure")
    return filled(a, 0, options.get("dtype"))


def _sum(a: torch.Tensor, b: torch.Tensor, alpha: float = 1) -> SparseTensor:
    """What autograd adds up: gradients of one structure; elsewhere what the function of torch means.

    In a graph one gradient may come from outside, with arrays of its own: of the same tensor, whose they are.
    A dense gradient, as a user's node may return it, counts at the entries of the other.
    """
    sparse, backward = isinstance(a, SparseTensor) and isinstance(b, SparseTensor), _torch.in_backward()
    if not sparse and backward:
        like, dense = (a, b) if isinstance(a, SparseTensor) else (b, a)
        return like._like((*like._arrays()[:-1], like._val + writing.values_at(like, dense)))
    alike = sparse and backward and _torch.is_compiling() and (a._fmt, a.shape) == (b._fmt, b.shape)
    if not sparse or not (alike or same_structure(a, b)):
        if not backward:
            return HANDLERS[torch.add](a, b, alpha=alpha)
        raise NotImplementedError(
            "gradients of a SparseTensor can be added where they have one structure: two of this one differ"
        )
    return a._like((*a._arrays()[:-1], torch.add(a._val, b._val, alpha=alpha)))


STRUCTURAL.update(
    {
        aten.add.Tensor: _sum,
        aten._is_any_true.default: lambda a: a.any(),  # anomaly detection looks at gradients
        aten._local_scalar_dense.default: lambda a: a.to_dense().item(),  # of one entry
        aten.detach.default: _taken,
        aten.alias.default: lambda a: a._like(_detached(a)),
        aten.clone.default: _each(torch.clone),
        aten._to_copy.default: _to_copy,
        aten.copy_.default: copy_,
        aten._unpack_dual.default: lambda a, level: (a, None),  # below autograd there is no tangent
        aten.is_pinned.default: lambda a, *_: all(x.is_pinned() for x in a._arrays()),
        aten._pin_memory.default: _each(torch.Tensor.pin_memory),
        aten.zeros_like.default: lambda a, dtype=None, **_: filled(a, 0, dtype),
        aten.empty_like.default: lambda a, dtype=None, **_: filled(a, 0, dtype),
        aten.new_empty_strided.default: _empty_strided,
    }
)


# ---- arithmetic of optimizers ----
def _values_of(x: object, like: SparseTensor) -> object:
    if isinstance(x, list | tuple):
        return type(x)(_values_of(y, like) for y in x)
    if not isinstance(x, SparseTensor):
        whole = isinstance(x, torch.Tensor) and x.dim() > 0 and x.shape == like.shape
        return writing.stored(like, x, "") if whole else x  # a dense gradient
    return writing.matched(like, x, writing.ONE_STRUCTURE)


def _on_stored(func: Callable) -> Callable:
    """An in-place operator between tensors of one structure, on their values."""

    def step(a: SparseTensor, *args: object, **kwargs: object) -> SparseTensor:
        if not isinstance(a, SparseTensor):
            if func is aten.add_.Tensor and _torch.in_backward():  # to a dense gradient that was there
                return a.add_(args[0].to_dense())
            raise NotImplementedError(
                f"{func} changes a dense tensor by a SparseTensor: hold the values as the parameter"
            )
        refuse_unwritable(func, a)
        func(a._val, *(_values_of(x, a) for x in args), **{k: _values_of(x, a) for k, x in kwargs.items()})
        return _changed(a)

    return step


def _changed(a: SparseTensor) -> SparseTensor:
    """a, whose values are others now, which the dispatcher, below autograd, does not count."""
    writing.cleared(a)
    torch.autograd.graph.increment_version(a._val)
    return a


def _pair(x: object, a: torch.Tensor) -> object:
    """x beside a: beside a dense one, as a state of dense training is, all of it, as in the step of one."""
    if isinstance(a, SparseTensor):
        return _values_of(x, a)
    return x.to_dense() if isinstance(x, SparseTensor) else x


def _states(func: Callable) -> list[bool]:
    """Which arguments an operator on lists writes to; gradients, which are not read again, do not count."""
    arguments = func._schema.arguments
    return [x.alias_info is not None and x.alias_info.is_write and x.name != "grads" for x in arguments]


def _foreach_on_stored(func: Callable) -> Callable:
    """The same for lists: tensors side by side share a structure, dense ones stay as they are.

    A dense state of a SparseTensor, as that of dense training is, takes its values at the stored places.
    Entries that are stored several times have no value to step from, so only what scales them changes them.
    """
    name, in_place, states = str(func), func._schema.is_mutable, _states(func)
    scales = func.overloadpacket.__name__ in _SCALING and func._overloadname != "List"

    def step(tensors: list[torch.Tensor], *args: object, **kwargs: object) -> list[torch.Tensor] | None:
        changed = [a for a in tensors if isinstance(a, SparseTensor)] if in_place else []
        for a in changed:
            refuse_unwritable(name, a)
            if not scales:
                writing.refuse_repeated(name, a)
        dense = []

        def plain(x: object, is_state: bool = False) -> object:
            if not isinstance(x, list | tuple) or len(x) != len(tensors):
                return x
            found = [_pair(y, a) for y, a in zip(x, tensors, strict=True)]
            if is_state:
                taken = zip(tensors, x, found, strict=True)
                dense.extend(t for t in taken if t[2] is not t[1] and not isinstance(t[1], SparseTensor))
            return found

        made = func(*map(plain, (tensors, *args), states), **{k: plain(x) for k, x in kwargs.items()})
        for a, x, values in dense:
            writing.put_back(a, x, values)
        for a in changed:
            _changed(a)
        if made is None:
            return None
        pairs = zip(made, tensors, strict=True)
        return [a._with_values(y) if isinstance(a, SparseTensor) else y for y, a in pairs]

    return step


def _foreach_norm(tensors: list[torch.Tensor], *args: object, **kwargs: object) -> list[torch.Tensor]:
    values = [a._unique()._val if isinstance(a, SparseTensor) else a for a in tensors]
    return aten._foreach_norm.Scalar(values, *args, **kwargs)


def _scalars_last(step: Callable) -> Callable:
    """``_foreach_mul`` of two lists, of which the first may have scalars: factors, as NAdam has them."""

    def multiplied(tensors: list[torch.Tensor], others: list[torch.Tensor]) -> list[torch.Tensor]:
        pairs = zip(tensors, others, strict=True)
        turned = [(y, x) if isinstance(y, SparseTensor) and not x.dim() else (x, y) for x, y in pairs]
        return step([x for x, _ in turned], [y for _, y in turned])

    return multiplied


def _overloads(name: str) -> list[Callable]:
    packet = getattr(aten, name)
    return [getattr(packet, overload) for overload in packet.overloads() if not overload.endswith("out")]


for _name in (
    "add_",
    "addcdiv_",
    "addcmul_",
    "div_",
    "fill_",
    "lerp_",
    "mul_",
    "neg_",
    "sqrt_",
    "sub_",
    "zero_",
    *("bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_"),
):
    STRUCTURAL.update({f: _on_stored(f) for f in _overloads(_name)})
_UNSCALE = "_amp_foreach_non_finite_check_and_unscale_"
_SCALING = {_UNSCALE, *(f"_foreach_{name}_" for name in ("copy", "div", "mul", "neg", "zero"))}
_LISTS = "abs add addcdiv addcmul div lerp maximum mul neg pow reciprocal sign sqrt sub"
for _name in (
    *(f"_foreach_{name}" for name in _LISTS.split()),
    *(f"_foreach_{name}_" for name in (*_LISTS.split(), "clamp_min", "clamp_max", "zero", "copy")),
    _UNSCALE,
    *(f"_fused_{name}_" for name in ("adagrad", "adam", "adamw", "sgd")),
):
    STRUCTURAL.update({f: _foreach_on_stored(f) for f in _overloads(_name)})
STRUCTURAL[aten._foreach_norm.Scalar] = _foreach_norm
STRUCTURAL[aten._foreach_mul.List] = _scalars_last(STRUCTURAL[aten._foreach_mul.List])


# ---- beneath transforms ----
def _within_reach(func: Callable, handler: Callable) -> Callable:
    def call(*args: object, **kwargs: object) -> object:
        refuse_out_of_reach(func, sparse_among((*args, *kwargs.values())))
        return handler(*args, **kwargs)

    return call


for _func in STRUCTURAL.keys() - {aten.detach.default, aten.alias.default}:
    STRUCTURAL[_func] = _within_reach(_func, STRUCTURAL[_func])

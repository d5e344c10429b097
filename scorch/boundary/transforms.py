"""SparseTensors as arguments of torch.func's transforms: their values are wrapped, and differentiated.

functorch wraps each tensor among the arguments of ``grad``, ``vjp`` and ``jacrev`` as a whole. What comes
out would be no SparseTensor: calls on it would pass by the table of functions, and its gradient would be
that of a dense matrix. So the two functions that wrap and unwrap take a SparseTensor apart. Between them it
is one of wrapped values, and ``requires_grad`` and ``torch.autograd.grad`` mean these. So do the functions
that end ``jvp`` and ``vmap``, of results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.autograd.graph import GradientEdge

from .. import _torch
from ..tensor.sparsetensor import HANDLERS, SparseTensor, partwise
from ..tensor.values import values_of, values_of_grad
from ..tensor.wrapping import assembled


def _like(x: SparseTensor, arrays: list[torch.Tensor]) -> SparseTensor:
    if torch.compiler.is_dynamo_compiling():
        _torch.admit_nodes()
    return assembled(x._fmt, tuple(x._shape), *arrays)


def _with_memory(x: torch.Tensor) -> torch.Tensor:
    """What leaves a level, and not zeros that this level has wrapped."""
    return x if _torch.is_wrapped(x) else _torch.beneath_transforms(_torch.with_memory, x)


def _wrap(plainly: Callable) -> Callable:
    def wrap(x: torch.Tensor, level: int) -> torch.Tensor:
        if not isinstance(x, SparseTensor):
            return plainly(x, level)
        return x._like([*x._arrays()[:-1], plainly(values_of(x), level)])

    return wrap


def _unwrap(plainly: Callable) -> Callable:
    def unwrap(x: torch.Tensor, level: int) -> torch.Tensor:
        if not isinstance(x, SparseTensor):
            return plainly(x, level)
        return _like(x, [_with_memory(plainly(array, level)) for array in x._arrays()])

    return unwrap


def _is_differentiated(x: object) -> bool:
    """Whether the values of x are differentiated, also where the transform that wrapped them is over."""
    return isinstance(x, SparseTensor) and _torch.is_wrapped(x._val)


def _differentiated(x: torch.Tensor | None) -> torch.Tensor | None:
    return x._val if _is_differentiated(x) else x


def _as_differentiated(y: torch.Tensor, grad: torch.Tensor | None) -> torch.Tensor | None:
    if grad is None or _differentiated(y) is y:
        return grad
    *structure, values = y._arrays()
    plain = [_torch.numbers_of(array, "a structure") for array in structure]
    return values_of_grad(y._like([*plain, values]).__dict__, values.shape[0], grad)


def _as_given(x: torch.Tensor, grad: torch.Tensor | None) -> torch.Tensor | None:
    """The gradient to x from that to its values."""
    if grad is None or _differentiated(x) is x:
        return grad
    return _like(x, [*x._arrays()[:-1], grad.contiguous()])


def _unpack(plainly: Callable) -> Callable:
    """What ends a call of ``torch.func.jvp``: the tangent of values is one of their structure."""

    def unpack(dual: torch.Tensor, strict: bool) -> tuple[torch.Tensor, torch.Tensor]:
        if _differentiated(dual) is dual:
            return plainly(dual, strict)
        *structure, values = dual._arrays()
        primal, tangent = plainly(values, strict)
        return _like(dual, [*structure, primal]), _like(dual, [*structure, tangent])

    return unpack


def _remove_batch(plainly: Callable) -> Callable:
    """What ends a batch; elements that are no SparseTensors of one structure are dense."""

    def remove(name: str, x: object, *rest: object) -> torch.Tensor:
        return plainly(name, x if _differentiated(x) is x else x.to_dense(), *rest)

    return remove


def _listed(x: object) -> tuple:
    return (x,) if isinstance(x, torch.Tensor | GradientEdge) else tuple(x)


@partwise
def grad(
    outputs: object, inputs: object, grad_outputs: object = None, *args: object, **options: object
) -> tuple[torch.Tensor | None, ...]:
    """``torch.autograd.grad``; where values are wrapped it is asked for these."""
    outputs, inputs = _listed(outputs), _listed(inputs)
    if not torch.compiler.is_dynamo_compiling() and not any(map(_is_differentiated, (*outputs, *inputs))):
        return _torch.grad(outputs, inputs, grad_outputs, *args, **options)
    if grad_outputs is not None:
        grad_outputs = tuple(map(_as_differentiated, outputs, _listed(grad_outputs)))
    with _torch.DisableTorchFunctionSubclass():
        wanted = [_differentiated(x) for x in inputs]
        found = torch.autograd.grad(
            [_differentiated(y) for y in outputs], wanted, grad_outputs, *args, **options
        )
    return tuple(map(_as_given, inputs, found))


_torch.replace(_torch.eager_transforms, "_wrap_for_grad", _wrap)
_torch.replace(_torch.eager_transforms, "_unwrap_for_grad", _unwrap)
_torch.replace(_torch.vmap, "_maybe_remove_batch_dim", _remove_batch)
_torch.replace(_torch.eager_transforms, "safe_unpack_dual", _unpack)
HANDLERS[torch.autograd.grad] = grad


@partwise
def _requires_grad(x: SparseTensor) -> bool:
    with _torch.DisableTorchFunctionSubclass():
        return _differentiated(x).requires_grad


HANDLERS[torch.Tensor.requires_grad.__get__] = _requires_grad


# ---- arguments of make_fx ----
@_torch.symbolic
def component(a: SparseTensor, name: str, length: int | None) -> torch.Tensor:
    """A component array of an argument; a graph that was traced with numbers is for one length of it."""
    array = values_of(a) if name == a._names[-1] else getattr(a, name)
    if length is not None and array.shape[0] != length:
        raise ValueError(
            f"make_fx: expected a SparseTensor with {length} numbers in {name[1:]}, as when traced, got "
            f'{array.shape[0]}: tracing_mode="symbolic" traces for any number of entries'
        )
    return array


@_torch.symbolic
def result(text: str, shape: Sequence[int], *arrays: torch.Tensor) -> SparseTensor:
    """A SparseTensor that a graph returns."""
    return assembled(text, tuple(shape), *arrays)


_torch.follow_components(SparseTensor, component, result)

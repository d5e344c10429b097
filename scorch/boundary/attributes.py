"""Attributes of a SparseTensor that are set, and its hooks.

A layer makes its weight anew at each access, so what is kept with that tensor would be lost: what is set
reaches the values of the layer, or is an error.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .. import _torch
from ..functions.writing import values_at
from ..tensor.entries import same_structure
from ..tensor.sparsetensor import HANDLERS, REMADE, SparseTensor, partwise, users
from ..tensor.values import cut_out_as

_LOST = (
    "the weight of a scorch.nn.Linear is made from its values and its pattern at each access, so this would "
    "be lost: write to layer.values; hooks and gradients belong on layer.values, too; other entries are "
    "stored by layer.set_pattern"
)


def _is_remade(a: torch.Tensor) -> bool:
    return not torch.compiler.is_dynamo_compiling() and REMADE in a.__dict__


def _unless_lost(f: Callable) -> Callable:
    """torch's own f, refused where what it leaves with the tensor would be lost."""

    @partwise
    def called(a: torch.Tensor, *args: object, **kwargs: object) -> object:
        if _is_remade(a):
            raise RuntimeError(_LOST)
        with _torch.DisableTorchFunctionSubclass():
            return f(a, *args, **kwargs)

    return called


for _f in (torch.Tensor.grad.__set__, torch.Tensor.register_hook, torch.Tensor.retain_grad):
    HANDLERS[_f] = _unless_lost(_f)


@partwise
def _grad(a: SparseTensor) -> torch.Tensor | None:
    """``A.grad``, at the entries of A: backward functions and hooks of users may leave a dense one."""
    with _torch.DisableTorchFunctionSubclass():
        found = torch.Tensor.grad.__get__(a)
        if found.__class__ is torch.Tensor and not torch.compiler.is_dynamo_compiling():
            found = a._with_values(values_at(a.detach(), found))
            torch.Tensor.grad.__set__(a, found)
    return found


HANDLERS[torch.Tensor.grad.__get__] = _grad


@partwise
def _set_data(a: SparseTensor, other: torch.Tensor) -> None:
    """``A.data = B``: A holds what B holds, format and structure included; the shape stays."""
    if not isinstance(a, SparseTensor) or not isinstance(other, SparseTensor) or a.shape != other.shape:
        kinds = " and ".join(f"a {type(x).__name__} {list(x.shape)}" for x in (a, other))
        raise NotImplementedError(
            f"A.data = B: expected two SparseTensors of one shape, got {kinds}: see scorch.sparse"
        )
    if _is_remade(a):
        if a.dtype != other.dtype or not same_structure(a, other):
            raise RuntimeError(_LOST)
        a._val.data.copy_(other._val)
        _torch.hand_out()
        return
    with _torch.DisableTorchFunctionSubclass():
        torch.Tensor.data.__set__(a, other)
    kept = users(a.__dict__) | {name: x for name, x in a.__dict__.items() if name == "_is_param"}
    facts = {name: other.__dict__[name] for name in ("_fmt", "_names", "_ndim", "_shape", *other._names)}
    a.__dict__.clear()
    a.__dict__.update(facts | kept)
    a.__class__ = other.__class__


HANDLERS[torch.Tensor.data.__set__] = _set_data


@partwise
def _data(a: SparseTensor) -> SparseTensor:
    """``A.data``: what is written there goes unseen by autograd, as in torch."""
    _torch.hand_out()
    made = a._like((*a._arrays()[:-1], a._val.data))
    return made if torch.compiler.is_dynamo_compiling() else cut_out_as(made, a)


HANDLERS[torch.Tensor.data.__get__] = _data

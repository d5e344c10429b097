"""Functions of stored values that autograd records: one node each, where the derivative is known here.

What is not in the table stands between two nodes, from a tensor to its values and back (values.py), and torch
differentiates it there. So it is with derivatives themselves, where they are recorded too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, NamedTuple

import torch

from .. import _C, _torch
from .sparsetensor import SparseTensor
from .values import of_structure, renewed, values_of, values_of_grad

aten = torch.ops.aten


# ---- the table ----
class Derivative(NamedTuple):
    """The derivative of a function of values x, perhaps of y too, which are values or a number.

    reads: whether gradients are computed from the values, which are kept then. to_x, to_y: of (grad, x, y).
    """

    reads: bool
    to_x: Callable
    to_y: Callable | None = None


_OF_ONE = {
    "neg negative __neg__": Derivative(False, lambda g, *_: -g),
    "abs absolute __abs__": Derivative(True, lambda g, x, _: g * x.sgn()),
    "log1p": Derivative(True, lambda g, x, _: g / (x + 1)),
    "relu": Derivative(True, lambda g, x, _: aten.threshold_backward(g, x, 0)),
    "sin": Derivative(True, lambda g, x, _: g * x.cos()),
    "square": Derivative(True, lambda g, x, _: g * (2 * x)),
}
_BY_NUMBER = {
    "mul multiply": Derivative(False, lambda g, _, y: g * y),
    "div divide true_divide": Derivative(False, lambda g, _, y: g / y),
}
_OF_TWO = {
    "add": Derivative(False, lambda g, *_: g, lambda g, *_: g),
    "sub subtract": Derivative(False, lambda g, *_: g, lambda g, *_: -g),
    "mul multiply": Derivative(True, lambda g, _, y: g * y, lambda g, x, _: g * x),
}


def _by_function(table: dict[str, Derivative], *homes: object) -> dict[Callable, Derivative]:
    """The same by functions of torch, which have a name in several places."""
    pairs = [(name, d) for names, d in table.items() for name in names.split()]
    return {f: d for name, d in pairs for home in homes if callable(f := getattr(home, name, None))}


_ONE = _by_function(_OF_ONE, torch, torch.Tensor, torch.nn.functional, torch.special)
_NUMBER, _TWO = _by_function(_BY_NUMBER, torch), _by_function(_OF_TWO, torch)


# ---- the node ----
class _Function(_torch.AutogradNode):
    """f of values, in the structure that they have."""

    @staticmethod
    def forward(ctx, a, b, f, derivative):
        ctx.set_materialize_grads(False)
        ctx.derivative, ctx.structure = derivative, _C.structure(a)
        pair = b.__class__ is SparseTensor
        ctx.number, ctx.count, ctx.twice = None if pair else b, a._val.shape[0], a is b
        made = _C.on_values(f, a) if b is None else _C.on_values(f, a, b, 3)
        if derivative.reads:  # the values for their versions
            ctx.save_for_backward(a, a._val, *((b, b._val) if pair else ()))
        return made

    @staticmethod
    def backward(ctx, grad):
        if grad is None:
            return None, None, None, None
        g, given, structure = values_of_grad(ctx.structure, ctx.count, grad), _given(ctx), ctx.structure
        _, to_x, to_y = ctx.derivative
        of_a, of_b, *_ = ctx.needs_input_grad
        x, y = to_x(g, *given) if of_a else None, to_y(g, *given) if of_b else None
        if ctx.twice:
            x, y = x + y, None
        return *(None if v is None else of_structure(structure, v) for v in (x, y)), None, None


def _given(ctx: Any) -> Sequence[torch.Tensor | Number | None]:
    """The operands of f that a derivative is computed from."""
    if not ctx.derivative.reads:
        return None, ctx.number
    saved = ctx.saved_tensors
    values = map(values_of, saved[::2]) if torch.is_grad_enabled() else saved[1::2]
    return (*values, None)[:2]


def on_values(f: Callable, a: SparseTensor, b: Any = None) -> SparseTensor:
    """What ``_C.on_values`` gives where an operand requires a gradient."""
    table = _ONE if b is None else _TWO if b.__class__ is SparseTensor else _NUMBER
    derivative = table.get(f)
    if derivative is not None:
        return _Function.apply(a, b, f, derivative)
    x = values_of(a)
    if b is None:
        return renewed(a, f(x))
    if b.__class__ is SparseTensor:
        b = x if b is a else values_of(b)
    return renewed(a, f(x, b))

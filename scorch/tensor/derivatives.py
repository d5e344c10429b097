"""Functions of stored values that autograd records: one node each, where the derivative is known here.

What is not in the table stands between two nodes, from a tensor to its values and back (values.py), and torch
differentiates it there. So it is with derivatives themselves, where they are recorded too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from .. import _C, _torch
from .sparsetensor import SparseTensor
from .values import of_structure, renewed, structured, values_of, values_of_grad

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
    """f of values, in the structure that they have; see csrc/bindings/values_node.c."""

    forward = staticmethod(_C.forward)

    @staticmethod
    def backward(ctx, grad):
        if grad is None:
            return None, None, None, None
        derivative, structure, number, count, twice = ctx.facts
        recorded = torch.is_grad_enabled()
        g = None if recorded or _torch.is_compiling() else _C.plain_values(grad, structure)
        make = _C.like
        if g is None:
            g, make = values_of_grad(structure, count, grad), of_structure
        x, y = _given(ctx, recorded) if derivative.reads else (None, number)
        of_a, of_b, *_ = ctx.needs_input_grad
        to_a = derivative.to_x(g, x, y) if of_a else None
        to_b = derivative.to_y(g, x, y) if of_b else None
        if twice:
            to_a, to_b = to_a + to_b, None
        return (
            None if to_a is None else make(structure, to_a),
            None if to_b is None else make(structure, to_b),
            None,
            None,
        )


def _given(ctx: Any, recorded: bool) -> Sequence[torch.Tensor | None]:
    """The values that a derivative is computed from."""
    saved = ctx.saved_tensors
    values = tuple(map(values_of, saved[::2])) if recorded else saved[1::2]
    return values if len(values) == 2 else (*values, None)


class _Read(_torch.AutogradNode):
    """The values of a SparseTensor, for a function of torch to read; nobody else has them."""

    forward = staticmethod(_C.read)

    @staticmethod
    def backward(ctx, grad):
        return None if grad is None else structured(ctx.facts, grad)


_C.differentiate(_Function.apply, _Read.apply, _ONE, _NUMBER, _TWO)


def on_values(f: Callable, a: SparseTensor, b: Any = None) -> SparseTensor:
    """What ``_C.on_values`` gives where an operand requires a gradient and no derivative is known here."""
    x = values_of(a)
    if b is None:
        return renewed(a, f(x))
    if b.__class__ is SparseTensor:
        b = x if b is a else values_of(b)
    return renewed(a, f(x, b))

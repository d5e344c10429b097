"""Functions of torch as they are called: their arguments, shapes and parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from types import FunctionType

import torch

from .state import is_compiling


def parse_to(*args: object, copy: bool = False, **kwargs: object) -> tuple:
    """(device, dtype, copy) of the arguments of ``Tensor.to``."""
    last = 2 if args and isinstance(args[0], torch.dtype | torch.Tensor) else 3
    if len(args) == last + 1:  # what _parse_to does not know
        *args, copy = args
    try:
        device, dtype, _, _ = torch._C._nn._parse_to(*args, **kwargs)
    except RuntimeError:
        if not (args and isinstance(args[0], str)):
            raise
        said = f"to: expected a device or a dtype, got {args[0]!r}; a format is changed by A.convert"
        raise RuntimeError(said) from None
    return device, dtype, bool(copy)


_NAMES = {  # what else torch calls an argument
    "a": "input",
    "self": "input",
    "x": "input",
    "x1": "input",
    "x2": "other",
    "axis": "dim",
    "axis0": "dim0",
    "axis1": "dim1",
    "keepdims": "keepdim",
}


def under_one_name(kwargs: dict[str, object]) -> dict[str, object]:
    """Keyword arguments under the first of the names that torch takes for each."""
    if _NAMES.keys().isdisjoint(kwargs):
        return kwargs
    return {_NAMES.get(name, name): value for name, value in kwargs.items()}


def unasked(f: FunctionType) -> FunctionType:
    """f, Python code of torch, past its question whether a class answers for it: what f calls still asks."""
    # The question is asked of a tuple, which is not callable.
    names = tuple(["callable" if n == "has_torch_function" else n for n in f.__code__.co_names])
    return FunctionType(f.__code__.replace(co_names=names), f.__globals__, f.__name__, f.__defaults__)


def one_by_one(args: Sequence, named: Sequence[int] | None) -> tuple[int, ...]:
    """Integers that came one by one, as one sequence, or by their name."""
    if named is not None:
        args = (named,)
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], list | tuple) else tuple(args)


def broadcast(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The shape that two shapes broadcast to, as ``torch.broadcast_shapes``, which loads SymPy.

    Raises: ValueError: they do not.
    """
    if is_compiling() or any(type(n) is not int for n in (*a, *b)):
        return tuple(torch.broadcast_shapes(a, b))
    rank = max(len(a), len(b))
    pairs = list(zip(*((1,) * (rank - len(x)) + tuple(x) for x in (a, b)), strict=True))
    if any(n != m and 1 not in (n, m) for n, m in pairs):
        raise ValueError(f"expected shapes that broadcast, got {tuple(a)} and {tuple(b)}")
    return tuple(m if n == 1 else n for n, m in pairs)


def is_foreign(x: object) -> bool:
    """Whether x is a number of a kind that torch does not take, as fractions are."""
    return isinstance(x, Number) and not (isinstance(x, int | float | complex) or hasattr(x, "__array__"))


def are_others(types: Sequence[type]) -> bool:
    """Whether one of these types of arguments is no tensor, and has the call, as symbols of torch.fx have."""
    return any(not issubclass(t, torch.Tensor) for t in types)


def has_calls(x: object) -> bool:
    """Whether x is such an object."""
    if isinstance(x, torch.Tensor):
        return False
    none = torch._C._disabled_torch_function_impl
    return getattr(type(x), "__torch_function__", none) is not none


def handed_over(f: Callable, *args: object) -> object:
    """f of torch, where one of its arguments has the call; NotImplemented elsewhere."""
    return f(*args) if any(map(has_calls, args)) else NotImplemented


def parts_of(func: Callable) -> Callable | None:
    """What calls the operators that an operator is made of, where it has no kernel of its own."""
    return func.decompose if func._can_decompose() else None


nn = torch._C._nn  # what a function of F calls that dynamo traces into

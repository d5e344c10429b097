"""Autocast: products take their operands in its type, as those of torch do.

The extension's fast entries leave a call alone while autocast is on, so eager calls pay nothing. What comes
after them asks here, and calls the same function again with its operands cast and autocast off.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import torch

from ..tensor.sparsetensor import SparseTensor

_CAST = (torch.float16, torch.bfloat16, torch.float32)


def is_on() -> bool:
    """Whether products are to be computed in another type."""
    return torch.is_autocast_enabled("cpu")


def cast(*operands: object) -> list[object]:
    """float32 and half operands in the type of autocast; others, such as float64, as they are."""
    to = torch.get_autocast_dtype("cpu")
    return [_cast(x, to) if isinstance(x, torch.Tensor) and x.dtype in _CAST else x for x in operands]


def _cast(x: torch.Tensor, to: torch.dtype) -> torch.Tensor:
    if x.dtype == to:
        return x
    return x._with_values(x.values().to(to)) if isinstance(x, SparseTensor) else x.to(to)


def called(f: Callable[..., torch.Tensor], *operands: object, **options: object) -> torch.Tensor:
    """f of operands that were cast, with autocast off."""
    operands = cast(*operands)
    with torch.autocast("cpu", enabled=False):
        return f(*operands, **options)


def uncast(f: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """f, a product that torch leaves as it is under autocast."""

    @wraps(f)
    def call(*operands: object, **options: object) -> torch.Tensor:
        if not is_on():
            return f(*operands, **options)
        with torch.autocast("cpu", enabled=False):
            return f(*operands, **options)

    return call

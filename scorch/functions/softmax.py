"""Softmax over the stored entries.

A missing entry takes no part, as if it were minus infinity, and stays missing.
"""

from __future__ import annotations

import math

import torch

from .. import _torch
from ..tensor.index import axis
from ..tensor.sparsetensor import SparseTensor
from .pointwise import gather
from .reduce import kernel


def _normalised(a: SparseTensor, dim: int, dtype: torch.dtype | None, log: bool) -> SparseTensor:
    a = a.coalesce() if dtype is None else a.coalesce().to(dtype)
    if not a.dtype.is_floating_point:
        raise TypeError(f"softmax: expected a floating point type, got {a.dtype}: pass dtype=")
    if dim is None:
        raise TypeError("softmax: expected a dimension, got None: pass dim=")
    if not a._ndim:
        return _normalised(a.reshape(1), dim, None, log).reshape(())
    dim, type = axis(dim, a._ndim), a.dtype
    a = a.to(torch.float32 if type in (torch.float16, torch.bfloat16) else type)
    values = a.values()
    if _recorded(values):
        result = _Softmax.apply(values, a.detach(), dim, log)
    else:
        result = _softmax_values(values, a, dim, log)
    return a._with_values(result.to(type))


def _recorded(values: torch.Tensor) -> bool:
    """Whether a backward pass may be asked for, and no other derivative."""
    if torch.compiler.is_dynamo_compiling() or _torch.in_transform():
        return False
    return torch.is_grad_enabled() and values.requires_grad


def _softmax_values(values: torch.Tensor, a: SparseTensor, dim: int, log: bool) -> torch.Tensor:
    """The softmax of values over the structure of a."""
    top = kernel(a._with_values(values), [dim], "max=", "skip").unsqueeze(dim)
    shifted = values - gather(a, top.masked_fill(top == -math.inf, 0))
    powers = shifted.exp()
    total = kernel(a._with_values(powers), [dim], "+=").unsqueeze(dim)
    return shifted - gather(a, total.log()) if log else powers / gather(a, total)


class _Softmax(torch.autograd.Function):
    """:func:`_softmax_values`, the gradient in closed form: P (G - sum PG); of the logarithm G - P sum G."""

    @staticmethod
    def forward(ctx, values, a, dim, log):
        result = _softmax_values(values, a, dim, log)
        ctx.save_for_backward(result)
        ctx.a, ctx.dim, ctx.log = a, dim, log
        return result

    @staticmethod
    def backward(ctx, grad):
        (result,) = ctx.saved_tensors
        share, part = (result.exp(), grad) if ctx.log else (result, result * grad)
        total = kernel(ctx.a._with_values(part), [ctx.dim], "+=").unsqueeze(ctx.dim)
        return part - share * gather(ctx.a, total), None, None, None


def softmax(
    input: SparseTensor, dim: int = -1, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> SparseTensor:
    """Softmax over the stored entries along ``dim``; the structure stays.

    A missing entry takes no part, as if it were minus infinity. Stored zeros do, also in blocks.
    ``torch.softmax``, ``F.softmax`` and ``torch.sparse.softmax`` of a SparseTensor are this too.
    """
    return _normalised(input, dim, dtype, False)


def log_softmax(
    input: SparseTensor, dim: int = -1, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> SparseTensor:
    """The logarithm of :func:`softmax` on the stored entries; missing entries stay missing."""
    return _normalised(input, dim, dtype, True)

"""Softmax over the stored entries.

A missing entry takes no part, as if it were minus infinity, and stays missing.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import torch

from .. import _C, _torch
from ..tensor.entries import renumbered, summed_type
from ..tensor.format import HAVE_POS, is_compressed, layout
from ..tensor.index import axis
from ..tensor.sparsetensor import SparseTensor, expect_sparse, rank
from ..tensor.values import needs_grad, of_structure, plain_values, values_of_grad
from .expressions import evaluate
from .pointwise import gather
from .program import TAB, known_program, of_operand
from .reduce import kernel
from .run import through_operator


def _normalised(a: SparseTensor, dim: int, dtype: torch.dtype | None, log: bool) -> SparseTensor:
    if a._ndim and dim is not None:
        dim = axis(dim, a._ndim)
        few = renumbered(a, [d for d in range(a._ndim) if d != dim])
        if few is not a:
            return a._unique()._with_values(_normalised(few, dim, dtype, log).values())
        if _is_direct(a, dim, dtype):
            return _in_one_program(a, dim, log)
        if needs_grad(a):
            with torch.no_grad():
                direct = _is_direct(a, dim, dtype)
            if direct:
                return _Rows.apply(a, dim, log)
    a = a._whole()._unique()
    a = a if dtype is None else a.to(dtype)
    if not a.dtype.is_floating_point:
        raise TypeError(f"softmax: expected a floating point type, got {a.dtype}: pass dtype=")
    if dim is None:
        raise TypeError("softmax: expected a dimension, got None: pass dim=")
    if not a._ndim:
        return _normalised(a.reshape(1), dim, None, log).reshape(())
    dim, type = axis(dim, a._ndim), a.dtype
    a = a.to(summed_type(type))
    values = a.values()
    if _recorded(values):
        result = _Softmax.apply(values, a.detach(), dim, log)
    else:
        result = _softmax_values(values, a, dim, log)
    return a._with_values(result.to(type))


def _is_direct(a: SparseTensor, dim: int, dtype: torch.dtype | None) -> bool:
    """Whether a call is one program over a itself: nothing more goes on, and no type changes."""
    values = plain_values(a)
    if values is None or dtype not in (None, values.dtype) or values.dtype not in _LOWEST:
        return False
    return _is_one_program(a, values, dim)


def _recorded(values: torch.Tensor) -> bool:
    """Whether a backward pass may be asked for, and no other derivative."""
    if torch.compiler.is_dynamo_compiling() or torch.compiler.is_exporting() or _torch.in_transform():
        return False
    if _torch.makes_fx():
        return False
    return torch.is_grad_enabled() and values.requires_grad


# ---- as index notation ----
LOWEST, LOWEST_DOUBLE = 3e38, 1.7e308  # minus this stands for entries that are missing
_LOWEST = {torch.float32: LOWEST, torch.float64: LOWEST_DOUBLE}


def maximum(stored: str, score: str, top: str, lowest: float = LOWEST) -> str:
    """The assignment of the largest score to ``top``, among the entries that ``stored`` is 1 of."""
    return f"{top} max= {score} + {lowest} * ({stored} - 1)"


def powers(stored: str, score: str, top: str, power: str) -> str:
    """The assignment of the exponentials to ``power``."""
    return f"{power} = {stored} * exp({score} - {top})"


def quotient(power: str, total: str) -> str:
    """A power over the sum of its row. That is at least 1, but where a row has no entry: then it is not 0,
    since a quotient may be taken of the sum of a product instead of its terms."""
    return f"{power} / max({total}, 0.5)"


def _accesses(ndim: int, dim: int, sums: str) -> tuple[str, list[str]]:
    """The indices of a tensor, and accesses to what is summed along ``dim``."""
    letters = "abcdefghijklmnop"[:ndim]
    kept = ",".join(c for d, c in enumerate(letters) if d != dim)
    return ",".join(letters), [f"{name}[{kept}]" if kept else name for name in sums]


def _sums_are_dense(ndim: int) -> bool:
    """Whether sums of rows, which divide, have values everywhere by themselves; else they are asked to."""
    return ndim < 3


@lru_cache
def _text(ndim: int, dim: int, log: bool, lowest: float) -> str:
    """Softmax of A as a program of three assignments, which one pass over each row can take."""
    every, (top, total) = _accesses(ndim, dim, "mn")
    score, stored = f"A[{every}]", f"stored(A[{every}])"
    power = f"exp({score} - {top})"
    result = f"({score} - {top} - log({total}))" if log else f"({power} / {total})"
    return "; ".join(
        [
            f"tmp {maximum(stored, score, top, lowest)}",
            f"{'tmp ' if _sums_are_dense(ndim) else ''}{total} = {stored} * {power}",
            f"P[{every}] = {stored} * {result}",
        ]
    )


@lru_cache
def _text_of_gradient(ndim: int, dim: int, log: bool) -> str:
    """The gradient of softmax P, P (G - sum PG), or of its logarithm P, G - exp(P) sum G."""
    every, (total,) = _accesses(ndim, dim, "n")
    grad, result = f"G[{every}]", f"P[{every}]"
    if log:
        return f"{total} = {grad}; R[{every}] = stored({grad}) * ({grad} - exp({result}) * {total})"
    return f"{total} = {result} * {grad}; R[{every}] = {result} * ({grad} - {total})"


def _is_one_program(a: SparseTensor, values: torch.Tensor, dim: int) -> bool:
    """Whether a call is one program: it knows no padding and no transforms, and outside of graphs
    wants rows that are stored side by side, or with all that is dense below an entry between."""
    form = layout(a._fmt, rank(a))
    if _torch.in_transform() or torch.compiler.is_exporting() or not is_compressed(form):
        return False
    last = next(d for kind, _, d, *_ in reversed(form.levels) if kind in HAVE_POS)
    return _torch.is_tracing(values) or dim in (last, form.levels[-1][2])


def _in_one_program(a: SparseTensor, dim: int, log: bool) -> SparseTensor:
    text = _text(a._ndim, dim, log, _LOWEST[a.dtype])
    if _sums_are_dense(a._ndim):
        return evaluate(text, format=a._fmt, A=a)
    return evaluate(text, format=("dense", a._fmt), A=a)[1]


def _gradient_in_one_program(P: SparseTensor, G: SparseTensor, dim: int, log: bool) -> SparseTensor:
    """The gradient from that to the result P."""
    return evaluate(_text_of_gradient(P._ndim, dim, log), P=P, G=G, format=("dense", P._fmt))[1]


# ---- as steps ----
def _softmax_values(values: torch.Tensor, a: SparseTensor, dim: int, log: bool) -> torch.Tensor:
    """The softmax of values over the structure of a."""
    if _is_one_program(a, values, dim):
        return _in_one_program(a._with_values(values), dim, log).values()
    top = kernel(a._with_values(values), [dim], "max=", "skip").unsqueeze(dim)
    shifted = values - gather(a, top.masked_fill(top == -math.inf, 0))
    powers = shifted.exp()
    total = kernel(a._with_values(powers), [dim], "+=").unsqueeze(dim)
    return shifted - gather(a, total.log()) if log else powers / gather(a, total)


def _gradient(a: SparseTensor, dim: int, log: bool, result: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    """The gradient of values over the structure of a, from the one of the result."""
    if _is_one_program(a, result, dim):
        P, G = a._with_values(result), a._with_values(grad)
        if not _torch.is_tracing(result):
            return _gradient_in_one_program(P, G, dim, log).values()
        text = _text_of_gradient(a._ndim, dim, log)
        kinds = (of_operand(P), of_operand(G))  # no graph knows that they have one structure
        program = known_program(text, ("P", "G"), kinds, ("dense", a._fmt), None, "zero")
        return through_operator(f"{program}{TAB}!like 1 0", [P, G])[1].values()
    share, part = (result.exp(), grad) if log else (result, result * grad)
    total = kernel(a._with_values(part), [dim], "+=").unsqueeze(dim)
    return part - share * gather(a, total)


class _Softmax(torch.autograd.Function):
    """:func:`_softmax_values` and :func:`_gradient`."""

    @staticmethod
    def forward(ctx, values, a, dim, log):
        result = _softmax_values(values, a, dim, log)
        ctx.save_for_backward(result)
        ctx.a, ctx.dim, ctx.log = a, dim, log
        return result

    @staticmethod
    @_torch.between_graphs
    def backward(ctx, grad):
        return _gradient(ctx.a, ctx.dim, ctx.log, *ctx.saved_tensors, grad), None, None, None


class _Rows(_torch.AutogradNode):
    """Of a SparseTensor, and its gradient, a program each."""

    @staticmethod
    def forward(ctx, a, dim, log):
        ctx.set_materialize_grads(False)
        made = _in_one_program(a, dim, log)
        ctx.structure, ctx.version, ctx.dim, ctx.log = _C.structure(made), a._val._version, dim, log
        ctx.save_for_backward(a, made._val)
        return made

    @staticmethod
    def backward(ctx, grad):
        if grad is None:
            return None, None, None
        a, result = ctx.saved_tensors
        G = of_structure(ctx.structure, values_of_grad(ctx.structure, result.shape[0], grad))
        P = _again(ctx, a) if torch.is_grad_enabled() else of_structure(ctx.structure, result)
        return _gradient_in_one_program(P, G, ctx.dim, ctx.log), None, None


def _again(ctx: Any, a: SparseTensor) -> SparseTensor:
    """The result, for derivatives of the derivative."""
    if a._val._version != ctx.version:
        raise RuntimeError(
            "softmax: values that a gradient of second order needs were modified by an inplace operation"
        )
    return _called(a, ctx.dim, None, ctx.log)


@_torch.node
def softmax_in_graph(a: SparseTensor, dim: int, dtype: torch.dtype | None, log: bool) -> SparseTensor:
    """Either function as the one node that a graph of torch.compile has of it."""
    return _normalised(a, dim, dtype, log)


def _called(a: SparseTensor, dim: int, dtype: torch.dtype | None, log: bool) -> SparseTensor:
    expect_sparse(f"{'log_' * log}softmax", a)
    if torch.compiler.is_dynamo_compiling():
        _torch.admit_nodes()
        return softmax_in_graph(a, dim, dtype, log)
    return _normalised(a, dim, dtype, log)


def softmin(input: SparseTensor, dim: int = -1, _stacklevel: int = 3, dtype: torch.dtype | None = None):
    """``F.softmin``: softmax of the negative, over stored entries."""
    return softmax(-input, dim, dtype=dtype)


@_torch.symbolic
def softmax(
    input: SparseTensor, dim: int = -1, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> SparseTensor:
    """Softmax over the stored entries along ``dim``; the structure stays.

    A missing entry takes no part, as if it were minus infinity. Stored zeros do, also in blocks.
    ``torch.softmax``, ``F.softmax`` and ``torch.sparse.softmax`` of a SparseTensor are this too.

    >>> A = scorch.sparse(torch.tensor([[0.0, 2.0, 2.0], [1.0, 0.0, 0.0]]))
    >>> scorch.softmax(A).values()
    tensor([0.5000, 0.5000, 1.0000])
    """
    return _called(input, dim, dtype, False)


@_torch.symbolic
def log_softmax(
    input: SparseTensor, dim: int = -1, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> SparseTensor:
    """The logarithm of :func:`softmax` on the stored entries; missing entries stay missing.

    >>> A = scorch.sparse(torch.tensor([[0.0, 2.0, 2.0], [1.0, 0.0, 0.0]]))
    >>> scorch.log_softmax(A).values().exp()
    tensor([0.5000, 0.5000, 1.0000])
    """
    return _called(input, dim, dtype, True)

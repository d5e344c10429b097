"""Gradients of eager calls.

A call that needs a gradient is one node over the operands as they are. Its backward pass runs one program,
derived by the compiler, that yields the gradients to all operands, to sparse ones at their stored entries; it
is such a call again, so it can be differentiated. What is traced or transformed goes through the operators on
component tensors instead (boundary/rules.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import torch

from .. import _C, _torch
from ..tensor.format import layout
from ..tensor.sparsetensor import SparseTensor
from ..tensor.values import mismatch, values_of
from ..tensor.wrapping import wrap
from .program import TAB


# ---- derived programs ----
class Gradient(NamedTuple):
    """The program of gradients.

    sources: (origin, index, dim) of each operand. results: (operand, missing dimensions, number) of each
    gradient; the other results are temporaries.
    """

    program: str
    sources: tuple[tuple[str, int, int], ...]
    results: tuple[tuple[int, int, int], ...]


@lru_cache(maxsize=4096)
def gradient_of(program: str, ranks: tuple[int, ...], wanted: int, given: int) -> Gradient:
    """The program of the gradients to the operands in the mask ``wanted``, from those in ``given``.

    Raises: NotImplementedError: the gradient is beyond the limits of one program.
    """
    return Gradient(*_C.gradient(program, ranks, wanted, given))


def _share_nothing(gradient: Gradient) -> bool:
    """Whether there is a sparse operand, and the gradients share neither a temporary nor a part of a product.

    Then each may want the operand in another layout, and one program has one layout of it. Such are the
    gradients of a product of two.
    """
    text, *lines = gradient.program.split(TAB)
    sparse = any(not line.startswith("!") and not line.endswith("::") for line in lines)
    products = [line for line in text.split(";") if line.count("*") > 1]
    return sparse and text.count(";") + 1 == len(gradient.results) and len(products) < 2


@lru_cache(maxsize=4096)
def gradients_of(program: str, ranks: tuple[int, ...], wanted: int, given: int) -> tuple[Gradient, ...]:
    """The gradients to all operands in the mask ``wanted``, by as few programs as are fast and within the
    limits of one.

    Raises: NotImplementedError: the gradient to one operand is beyond the limits.
    """
    alone = [1 << k for k in range(wanted.bit_length()) if wanted >> k & 1]
    try:
        whole = gradient_of(program, ranks, wanted, given)
        found = [whole]
        if len(alone) > 1 and _share_nothing(whole):
            found = [gradient_of(program, ranks, one, given) for one in alone]
    except NotImplementedError:
        if len(alone) == 1:
            raise
        found = [gradient_of(program, ranks, one, given) for one in alone]
    return tuple([g for g in found if g.results])


def gradients_by(
    program: str, ranks: tuple[int, ...], wanted: int, given: int, add: Callable[[Gradient, list], None]
) -> list:
    """The gradient to each operand, None where it has none: ``add(gradient, found)`` runs a program."""
    found: list = [None] * len(ranks)
    for gradient in gradients_of(program, ranks, wanted, given):
        try:
            add(gradient, found)
        except NotImplementedError:
            if len(gradient.results) == 1:
                raise
            for k, _, _ in gradient.results:
                add(gradient_of(program, ranks, 1 << k, given), found)
    return found


@lru_cache(maxsize=4096)
def results_read(program: str, ranks: tuple[int, ...], wanted: int, count: int) -> tuple[int, ...]:
    """The results, of ``count``, that the gradients to the operands in a mask are computed from."""
    try:
        programs = gradients_of(program, ranks, wanted, (1 << count) - 1)
    except NotImplementedError:  # beyond the limits with all gradients given: it may be asked for with fewer
        return tuple(range(count))
    return tuple(sorted({index for g in programs for origin, index, _ in g.sources if origin == "result"}))


def mask(flags: Sequence[object]) -> int:
    """Bit k: whether flag k is true."""
    return sum([1 << k for k, flag in enumerate(flags) if flag])


def fit(grad: torch.Tensor, lacks: int, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """A gradient of an operand's shape and type: along the dimensions in the mask ``lacks`` it repeats."""
    if lacks:
        for d in range(len(shape)):
            if lacks >> d & 1:
                grad = grad.unsqueeze(d)
        grad = grad.expand(tuple(shape))
    return grad if grad.dtype is dtype else grad.to(dtype)


def identity(n: int, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The arrays of the csr identity matrix [n, n]."""
    return torch.arange(n + 1), torch.arange(n), like.new_ones(n)


# ---- eager calls ----
def _sparse(x: torch.Tensor) -> bool:
    return isinstance(x, SparseTensor)


class _Call(torch.autograd.Function):
    """``run(program, operands)``; results and gradients are dense tensors and SparseTensors."""

    @staticmethod
    def forward(ctx, program, run, *operands):
        ctx.set_materialize_grads(False)
        results = run(program, list(operands))
        ctx.program, ctx.run = program, run
        ctx.ranks = tuple([x._ndim if _sparse(x) else x.dim() for x in operands])
        ctx.sparse = [_sparse(x) for x in results]
        ctx.kept = results_read(program, ctx.ranks, mask(ctx.needs_input_grad[2:]), len(results))
        arrays = [a for x in operands if _sparse(x) for a in x._arrays()]  # for their versions
        ctx.save_for_backward(*operands, *(results[r] for r in ctx.kept), *arrays)
        return tuple(results)

    @staticmethod
    def backward(ctx, *grads):
        saved, n = ctx.saved_tensors, len(ctx.ranks)
        results = dict(zip(ctx.kept, saved[n:], strict=False))
        add = lambda gradient, found: _add(ctx, gradient, saved, results, grads, found)  # noqa: E731
        given, wanted = mask([g is not None for g in grads]), mask(ctx.needs_input_grad[2:])
        return None, None, *gradients_by(ctx.program, ctx.ranks, wanted, given, add)


@lru_cache(maxsize=4096)
def _sums_rows(program: str) -> bool:
    """Whether the gradient to the only sparse operand of an einsum sums over rows of dense matrices.

    Then it is computed apart from the other gradients, whose programs may ask for other layouts.
    """
    text, *lines = program.split(TAB)
    inputs, arrow, output = text.partition("->")
    kinds = [line for line in lines if line.startswith(":")]
    if not arrow or sum(not k.endswith("::") for k in kinds) != 1:
        return False
    of_sparse = next(i for i, k in zip(inputs.split(","), kinds, strict=True) if not k.endswith("::"))
    dense = [i for i, k in zip((*inputs.split(","), output), (*kinds, "::"), strict=True) if k.endswith("::")]
    return all(len(i) == 2 and i[0] not in of_sparse for i in dense)


def _add(ctx, gradient: Gradient, operands, results, grads, found: list[torch.Tensor | None]) -> None:
    """Runs a program of gradients, and finds those to the operands that it is for."""
    inputs = []
    for origin, index, dim in gradient.sources:
        if origin == "operand":
            inputs.append(operands[index])
        elif origin == "result":
            inputs.append(results[index])
        elif origin == "gradient":
            grad, sparse = grads[index], ctx.sparse[index]
            if _sparse(grad) != sparse:
                raise mismatch(grad, sparse)
            inputs.append(grad if sparse or 0 not in grad.stride() else grad.contiguous())
        else:
            x = operands[index]
            arrays = identity(x.shape[dim], x._val if _sparse(x) else x)
            inputs.append(wrap(layout("csr", 2), (x.shape[dim],) * 2, arrays))
    outs = run_eagerly(gradient.program, inputs, ctx.run)
    for k, lacks, number in gradient.results:
        x, out = operands[k], outs[number]
        if not _sparse(x):
            out = fit(out, lacks, x.shape, x.dtype)
        elif not _sparse(out):  # x has plain dense levels
            order = [dim for _, _, dim, *_ in layout(x._fmt, x._ndim).levels]
            out = x._with_values(fit(out, lacks, x.shape, x.dtype).permute(order).reshape(-1))
        elif out._val.dtype is not x._val.dtype:
            out = out.to(x._val.dtype)
        found[k] = out


_raw_call = _torch.raw_apply(_Call)


def run_eagerly(program: str, operands: list[torch.Tensor], run: Callable) -> list[torch.Tensor]:
    """``run(program, operands)``, recorded where an operand requires a gradient."""
    if torch.is_grad_enabled() and _torch.any_requires_grad(*operands):
        return list(_raw_call(program, run, *operands))
    return run(program, operands)


# ---- products of a SparseTensor and a plain matrix or vector, of a kind as in csrc/bindings/matmul.c ----
class Step(NamedTuple):
    """A program of gradients of a product."""

    program: str
    inputs: tuple[int, ...]  # of (sparse operand, dense operand, gradient)
    results: tuple[int, ...]  # the number of the gradient to (sparse, dense) operand, -1 where it has none


@lru_cache(maxsize=1024)
def _steps(program: str, ranks: tuple[int, int], sparse: int, wanted: int) -> list[Step]:
    """The programs of the gradients to a mask of (sparse, dense); sparse: the place of that operand."""
    both = wanted if not sparse else (wanted & 1) << 1 | wanted >> 1
    found = []
    for gradient in gradients_of(program, ranks, both, 1):
        inputs = tuple(2 if origin == "gradient" else k ^ sparse for origin, k, _ in gradient.sources)
        number = {k ^ sparse: n for k, _, n in gradient.results}
        found.append(Step(gradient.program, inputs, (number.get(0, -1), number.get(1, -1))))
    return found


def _product_gradients(ctx, a, x, grad, to_a: bool, to_x: bool) -> list[torch.Tensor | None]:
    """The gradients of a product to its operands, [to_a, to_x]; ctx: of a node that has its kind."""
    found: list[torch.Tensor | None] = [None, None]
    alone = not to_a or _sums_rows(ctx.program)
    if to_x and alone and not torch.is_grad_enabled():
        found[1], to_x = ctx.multiply(a, grad, 3 - ctx.kind), False
    if not to_a and not to_x:
        return found
    if 0 in grad.stride():
        grad = grad.contiguous()
    sparse = ctx.kind in (1, 2)
    ranks = (x.dim(), 2) if sparse else (2, x.dim())
    given = (a, x, grad)
    for step in _steps(ctx.program, ranks, int(sparse), to_a + 2 * to_x):
        inputs = [given[k] for k in step.inputs]
        outs = run_eagerly(step.program, inputs, ctx.run)
        for k, number in enumerate(step.results):
            if number >= 0:
                found[k] = outs[number]
    return found


class _Product(torch.autograd.Function):
    """``multiply(a, x, kind)``, which is ``run(program, ...)``: the node of eager products, a lean one."""

    @staticmethod
    def forward(ctx, a, x, program, kind, multiply, run):
        ctx.save_for_backward(a, x, *a._arrays())  # the arrays for their versions
        ctx.program, ctx.kind, ctx.multiply, ctx.run = program, kind, multiply, run
        return multiply(a, x, kind)

    @staticmethod
    def backward(ctx, grad):
        a, x, *_ = ctx.saved_tensors
        to_a, to_x, *_ = ctx.needs_input_grad
        return *_product_gradients(ctx, a, x, grad, to_a, to_x), None, None, None, None


class _Affine(torch.autograd.Function):
    """``multiply(a, x, kind) + bias`` for the values of a: the node of a layer that holds values."""

    @staticmethod
    def forward(ctx, values, x, bias, a, program, kind, multiply, run):
        ctx.save_for_backward(values, x, *a._arrays()[:-1])
        ctx.a, ctx.program, ctx.kind, ctx.multiply, ctx.run = a, program, kind, multiply, run
        y = multiply(a, x, kind)
        return y if bias is None else y.add_(bias)

    @staticmethod
    def backward(ctx, grad):
        values, x, *_ = ctx.saved_tensors
        to_values, to_x, to_bias, *_ = ctx.needs_input_grad
        a = ctx.a._with_values(values) if torch.is_grad_enabled() else ctx.a
        of_a, of_x = _product_gradients(ctx, a, x, grad, to_values, to_x)
        of_values = None if of_a is None else values_of(of_a)
        return of_values, of_x, grad.sum(0) if to_bias else None, *[None] * 5


product_node, affine_node = _torch.raw_apply(_Product), _torch.raw_apply(_Affine)

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
from ..tensor.making import sparse
from ..tensor.sparsetensor import SparseTensor
from ..tensor.values import values_of
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


@lru_cache(maxsize=4096)
def are_derivable(program: str, ranks: tuple[int, ...], wanted: int, given: int) -> bool:
    """Whether all gradients are within the limits of one program each; derived once, whatever comes of it."""
    try:
        gradients_of(program, ranks, wanted, given)
    except NotImplementedError:
        return False
    return True


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
    found = 0
    for k, flag in enumerate(flags):
        if flag:
            found |= 1 << k
    return found


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
    return torch.arange(n + 1, device="cpu"), torch.arange(n, device="cpu"), like.new_ones(n)


# ---- eager calls ----
def _sparse(x: torch.Tensor) -> bool:
    return isinstance(x, SparseTensor)


class _Call(_torch.AutogradNode):
    """``run(program, operands)``; results and gradients are dense tensors and SparseTensors."""

    @staticmethod
    def forward(ctx, program, run, *operands):
        ctx.materialize_grads = False
        results = run(program, list(operands))
        ranks, arrays = [], []  # the arrays for their versions
        for x in operands:
            if isinstance(x, SparseTensor):
                facts = x.__dict__
                ranks.append(facts["_ndim"])
                arrays += map(facts.__getitem__, facts["_names"])
            else:
                ranks.append(x.dim())
        ranks, sparse = tuple(ranks), [isinstance(x, SparseTensor) for x in results]
        kept = results_read(program, ranks, mask(ctx.needs_input_grad[2:]), len(results))
        ctx.call = program, run, ranks, sparse, kept
        ctx.to_save = (*operands, *map(results.__getitem__, kept), *arrays)
        return tuple(results)

    @staticmethod
    def backward(ctx, *grads):
        program, run, ranks, sparse, kept = ctx.call
        saved = ctx.saved_tensors
        results = dict(zip(kept, saved[len(ranks) :], strict=False))
        call = _Pulled(run, sparse, saved, results, grads)
        given, wanted = mask([g is not None for g in grads]), mask(ctx.needs_input_grad[2:])
        return None, None, *gradients_by(program, ranks, wanted, given, call.add)


def _dense(grad: torch.Tensor) -> torch.Tensor:
    """A gradient to a dense tensor, but no negative view, as parts of complex tensors are."""
    if _torch.is_legacy_batchedtensor(grad):
        _torch.refuse_batched()
    return grad.to_dense() if _sparse(grad) else grad.resolve_neg()


def _plain(grad: torch.Tensor) -> torch.Tensor:
    """A dense gradient that repeats no element."""
    return grad.contiguous() if 0 in grad.stride() else grad


def _to_sparse(grad: torch.Tensor) -> SparseTensor:
    """A gradient to a SparseTensor; users may give a dense one."""
    return grad if _sparse(grad) else sparse(grad)


class _Pulled(NamedTuple):
    """A call whose gradients are wanted: which results are sparse, operands, results that are read by number,
    gradients to results."""

    run: Callable
    sparse: Sequence[bool]
    operands: Sequence[torch.Tensor]
    results: dict[int, torch.Tensor]
    grads: Sequence[torch.Tensor | None]

    def source(self, origin: str, index: int, dim: int) -> torch.Tensor:
        """An operand of a program of gradients."""
        if origin == "operand":
            return self.operands[index]
        if origin == "result":
            return self.results[index]
        if origin == "gradient":
            grad = self.grads[index]
            return _to_sparse(grad) if self.sparse[index] else _plain(_dense(grad))
        x = self.operands[index]
        arrays = identity(x.shape[dim], x._val if _sparse(x) else x)
        return wrap(layout("csr", 2), (x.shape[dim],) * 2, arrays)

    def add(self, gradient: Gradient, found: list[torch.Tensor | None]) -> None:
        """Runs a program of gradients, and finds those to the operands that it is for."""
        outs = run_eagerly(gradient.program, [self.source(*s) for s in gradient.sources], self.run)
        for k, lacks, number in gradient.results:
            found[k] = _like_operand(outs[number], self.operands[k], lacks)


def _like_operand(out: torch.Tensor, x: torch.Tensor, lacks: int) -> torch.Tensor:
    if not _sparse(x):
        return fit(out, lacks, x.shape, x.dtype)
    if not _sparse(out):  # x has plain dense levels
        order = [dim for _, _, dim, *_ in layout(x._fmt, x._ndim).levels]
        return x._with_values(fit(out, lacks, x.shape, x.dtype).permute(order).reshape(-1))
    return out if out._val.dtype is x._val.dtype else out.to(x._val.dtype)


def gradients_of_sum(
    program: str, operands: Sequence[torch.Tensor], grad: torch.Tensor, wanted: Sequence[bool], run: Callable
) -> list[torch.Tensor | None]:
    """The gradients to operands of a sum of products, from that to its result, which is dense."""
    ranks = tuple([x._ndim if _sparse(x) else x.dim() for x in operands])
    call = _Pulled(run, (False,), operands, {}, (grad,))
    return gradients_by(program, ranks, mask(wanted), 1, call.add)


def run_eagerly(program: str, operands: list[torch.Tensor], run: Callable) -> list[torch.Tensor]:
    """``run(program, operands)``, recorded where an operand requires a gradient."""
    if torch.is_grad_enabled() and _torch.any_requires_grad(*operands):
        return list(_Call.apply(program, run, *operands))
    return run(program, operands)


# ---- products of a SparseTensor and a plain matrix or vector ----
class Step(NamedTuple):
    """A program of gradients of a product."""

    program: str
    inputs: tuple[int, ...]  # of (sparse operand, dense operand, gradient)
    results: tuple[int, ...]  # the number of the gradient to (sparse, dense) operand, -1 where it has none


class Product:
    """``multiply(a, x, kind)``, which is ``run(program, ...)``, for an x of a rank and a format of a.

    kind: as in csrc/bindings/matmul.c; 3 - kind is the product that is the gradient to x.
    """

    def __init__(self, program: str, kind: int, rank: int, multiply: Callable, run: Callable) -> None:
        self.program, self.kind, self.multiply, self.run = program, kind, multiply, run
        self._last = kind in (1, 2)  # the sparse operand is the second
        self._ranks = (rank, 2) if self._last else (2, rank)
        self._steps: dict[int, list[Step]] = {}

    def steps(self, wanted: int) -> list[Step]:
        """The programs of the gradients to a mask of (sparse, dense)."""
        if wanted not in self._steps:
            both = (wanted & 1) << 1 | wanted >> 1 if self._last else wanted
            self._steps[wanted] = [self._step(g) for g in gradients_of(self.program, self._ranks, both, 1)]
        return self._steps[wanted]

    def _step(self, gradient: Gradient) -> Step:
        inputs = tuple(2 if origin == "gradient" else k ^ self._last for origin, k, _ in gradient.sources)
        number = {k ^ self._last: n for k, _, n in gradient.results}
        return Step(gradient.program, inputs, (number.get(0, -1), number.get(1, -1)))

    def gradients(
        self, a: SparseTensor, x: torch.Tensor, grad: torch.Tensor, to_a: bool, to_x: bool
    ) -> list[torch.Tensor | None]:
        """The gradients to the operands, from that to the result."""
        found: list[torch.Tensor | None] = [None, None]
        recorded, grad = torch.is_grad_enabled(), _dense(grad)
        if to_x and not recorded:
            found[1], to_x = self.multiply(a, grad, 3 - self.kind), False
        if not to_a and not to_x:
            return found
        given, run = (a, x, _plain(grad)), self.run
        for step in self.steps(to_a + 2 * to_x):
            inputs = [given[k] for k in step.inputs]
            outs = run_eagerly(step.program, inputs, run) if recorded else run(step.program, inputs)
            for k, number in enumerate(step.results):
                if number >= 0:
                    found[k] = outs[number]
        return found


class _Product(_torch.AutogradNode):
    """The node of eager products, a lean one."""

    @staticmethod
    def forward(ctx, a, x, product):
        facts = a.__dict__  # the arrays for their versions
        ctx.save_for_backward(a, x, *map(facts.__getitem__, facts["_names"]))
        ctx.product = product
        return product.multiply(a, x, product.kind)

    @staticmethod
    def backward(ctx, grad):
        a, x, *_ = ctx.saved_tensors
        to_a, to_x, _ = ctx.needs_input_grad
        return *ctx.product.gradients(a, x, grad, to_a, to_x), None


class _Affine(_torch.AutogradNode):
    """A product plus a bias, for the values of a: the node of a layer that holds values."""

    @staticmethod
    def forward(ctx, values, x, bias, a, product):
        ctx.save_for_backward(values, x, *a._arrays()[:-1])
        ctx.a, ctx.product = a, product
        y = product.multiply(a, x, product.kind)
        return y if bias is None else y.add_(bias)

    @staticmethod
    def backward(ctx, grad):
        values, x, *_ = ctx.saved_tensors
        to_values, to_x, to_bias, *_ = ctx.needs_input_grad
        a = ctx.a._with_values(values) if torch.is_grad_enabled() else ctx.a
        of_a, of_x = ctx.product.gradients(a, x, grad, to_values, to_x)
        of_values = None if of_a is None else values_of(of_a)
        return of_values, of_x, grad.sum(0) if to_bias else None, None, None


product_node, affine_node = _Product.apply, _Affine.apply

"""Products of a SparseTensor and a plain matrix or vector: the fast entry, and what stands behind it."""

from __future__ import annotations

from functools import lru_cache

import torch

from .. import _C, _torch
from ..tensor import rooms
from ..tensor.format import is_composed
from ..tensor.sparsetensor import LINEAR, MATMUL, RMATMUL, SparseTensor, core_of
from ..tensor.values import once
from .gradients import Product, product_node
from .program import program_of
from .run import operands_of, run, through_operator

EINSUM = (
    ("ij,j->i", "ij,jk->ik"),
    ("i,ij->j", "ij,jk->ik"),
    ("i,oi->o", "ni,oi->no"),
    ("ij,i->j", "ij,ik->jk"),
)


_TURNED = 256  # rows of x from which on it is turned once for all parts


def turns(a: SparseTensor, x: torch.Tensor, kind: int) -> bool:
    """Whether a product of a composed tensor runs across x, which each part would turn for itself."""
    across = kind in (RMATMUL, LINEAR) and is_composed(a._fmt) and x.dim() == 2
    return across and not _torch.is_compiling() and x.shape[0] >= _TURNED


def _expect_fit(a: SparseTensor, x: torch.Tensor, kind: int) -> None:
    """Raises for a composed tensor what the extension, which knows parts alone, says of one in levels."""
    last, want = kind in (RMATMUL, LINEAR), a._shape[kind in (MATMUL, LINEAR)]
    if 0 < x.dim() < 3 and x.shape[-1 if last else 0] != want:
        raise ValueError(
            f"cannot multiply: the sparse operand is {' x '.join(map(str, a._shape))}, and the dense one has "
            f"{x.shape[-1 if last else 0]} where {want} is needed"
        )


def fast_product(a: SparseTensor, x: object, kind: int, out: torch.Tensor | None = None) -> torch.Tensor:
    """A product by the extension's fast entry; NotImplemented where more than plain eager goes on."""
    if torch.is_grad_enabled() and _torch.any_requires_grad(a, x):
        if out is not None or x.__class__ not in _torch.PLAIN or a._ndim != 2 or not _C.plain():
            return NotImplemented
        if x.layout is not torch.strided:  # a sparse tensor of torch, which is converted first
            return NotImplemented
        if len(a._names) == 1 or is_composed(a._fmt):  # dense levels; parts
            return NotImplemented
        return recorded_product(a, x, kind) if 0 < x.dim() < 3 and not x.is_neg() else NotImplemented
    core = a.__dict__.get("_core")
    if core is None or _torch.DEBUG_STAGES:
        if _torch.DEBUG_STAGES or not _C.plain() or _torch.is_fake(a._val):
            return NotImplemented
        if is_composed(a._fmt):
            if not isinstance(x, torch.Tensor) or turns(a, x, kind):
                return NotImplemented
            _expect_fit(a, x, kind)
            if out is not None:
                return NotImplemented
            return rooms.parts.fast_product(a, x, EINSUM[kind], kind in (RMATMUL, LINEAR))
        core = core_of(a)
    if out is None:
        return _C.matmul(core, x, kind)
    y = _C.matmul(core, x, kind, out)
    if y is out:
        torch.autograd.graph.increment_version(out)
    return y


def recorded_product(a: SparseTensor, x: torch.Tensor, kind: int) -> torch.Tensor:
    """A product of plain tensors, one of which requires a gradient."""
    a = once(a)
    return product_node(a, x, product_of(kind, x.dim(), a._fmt))


@lru_cache(maxsize=1024)
def product_of(kind: int, rank: int, format: str) -> Product:
    """A product with an operand of a rank by a matrix of a format."""
    program = text_of_product(EINSUM[kind][rank - 1], format, kind in (RMATMUL, LINEAR))
    return Product(program, kind, rank, run_product, run)


def product_op(a: SparseTensor, x: torch.Tensor, kind: int) -> torch.Tensor:
    """A product through the operator: traced, transformed, differentiable."""
    free = 0 if kind in (RMATMUL, LINEAR) else 1
    if x.dim() == 2 and isinstance(x.shape[free], int) and x.shape[free] == 1:
        return product_op(a, x.select(free, 0), kind).unsqueeze(free)
    program, operands = _product_program(a, x, kind)
    return through_operator(program, operands)[0]


def run_product(a: SparseTensor, x: torch.Tensor, kind: int) -> torch.Tensor:
    """A product of plain tensors; no gradient is recorded."""
    y = NotImplemented if _torch.DEBUG_STAGES else _C.matmul(a.__dict__.get("_core") or core_of(a), x, kind)
    if y is not NotImplemented:
        return y
    program, operands = _product_program(a, x.detach(), kind)
    return run(program, operands_of(tuple(operands)))[0]


def _product_program(a: SparseTensor, x: torch.Tensor, kind: int) -> tuple[str, list]:
    last = kind in (RMATMUL, LINEAR)
    return text_of_product(EINSUM[kind][x.dim() - 1], a._fmt, last), [x, a] if last else [a, x]


@lru_cache(maxsize=1024)
def text_of_product(text: str, format: str, last: bool) -> str:
    """The program string of a product with a matrix of a format, which is the last operand or the first."""
    kinds = (None, (2, format)) if last else ((2, format), None)
    return program_of(text, (), kinds, None, None, "zero")

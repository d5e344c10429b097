"""Products: the ``@`` operator, torch's matrix and vector products, and products at sparse places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from numbers import Number

import torch

from . import _ops
from ._tensor import SparseTensor, rank


# ---- the @ operator ----
def _operator(kind: int) -> Callable:
    """``A @ x`` and ``x @ A``: the fast entry first, then the general path; the table is not asked."""

    def multiply(self: SparseTensor, x: object) -> torch.Tensor:
        """The product with a tensor, an array or a list; batch dimensions broadcast, types promote."""
        if not torch.compiler.is_dynamo_compiling():
            y = _ops.fast_product(self, x, kind)
            if y is not NotImplemented:
                return y
        return _ops.product(self, x, kind) if _is_operand(x) else NotImplemented

    return multiply


def _is_operand(x: object) -> bool:
    """Whether x can become a tensor."""
    if isinstance(x, torch.Tensor | Number | Sequence):
        return not isinstance(x, str)
    return hasattr(x, "__array__") or hasattr(x, "tocoo")


SparseTensor.__matmul__ = _operator(_ops.MATMUL)
SparseTensor.__rmatmul__ = _operator(_ops.RMATMUL)


# ---- matmul and its kin ----
def matmul(
    input: torch.Tensor,
    other: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """``torch.matmul``."""
    if out_dtype is not None:
        raise NotImplementedError("matmul: out_dtype= is not available: use .to(dtype) on an operand")
    if isinstance(input, SparseTensor):
        sparse, x, kind = input, other, _ops.MATMUL
    else:
        sparse, x, kind = other, input, _ops.RMATMUL
    if not torch.compiler.is_dynamo_compiling():
        y = _ops.fast_product(sparse, x, kind, out)
        if y is not NotImplemented:
            return y
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"matmul: expected tensors, got {type(x).__name__}")
    if out is None:
        return _ops.product(sparse, x, kind)
    left, right = (sparse, x) if kind == _ops.MATMUL else (x, sparse)
    text = {(2, 2): "ij,jk->ik", (2, 1): "ij,j->i", (1, 2): "i,ij->j"}.get((rank(left), rank(right)))
    if text is None:
        raise NotImplementedError("matmul: out= takes products of matrices and vectors")
    return _ops.einsum(text, left, right, out=out)


def _of_ranks(
    name: str, left: int, right: int, a: torch.Tensor, b: torch.Tensor, **options: object
) -> torch.Tensor:
    """matmul of operands of these numbers of dimensions, both perhaps dense."""
    found = rank(a), rank(b)
    if found != (left, right):
        raise ValueError(
            f"{name}: expected operands of {left} and {right} dimensions, got {found[0]} and {found[1]}"
        )
    if isinstance(a, SparseTensor) or isinstance(b, SparseTensor):
        return matmul(a, b, **options)
    return torch.matmul(a, b)


def mm(
    input: torch.Tensor,
    mat2: torch.Tensor,
    out_dtype: torch.dtype | None = None,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``torch.mm``."""
    return _of_ranks("mm", 2, 2, input, mat2, out=out, out_dtype=out_dtype)


def bmm(
    input: torch.Tensor,
    mat2: torch.Tensor,
    out_dtype: torch.dtype | None = None,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``torch.bmm``."""
    return _of_ranks("bmm", 3, 3, input, mat2, out=out, out_dtype=out_dtype)


def mv(input: torch.Tensor, vec: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """``torch.mv``."""
    return _of_ranks("mv", 2, 1, input, vec, out=out)


def dot(input: torch.Tensor, tensor: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """``torch.dot``."""
    return _of_ranks("dot", 1, 1, input, tensor, out=out)


def rmatmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``b @ a``."""
    return matmul(b, a)


def sparse_mm(sparse: torch.Tensor, dense: torch.Tensor, reduce: str = "sum") -> torch.Tensor:
    """``torch.sparse.mm``."""
    if reduce != "sum":
        raise NotImplementedError(
            f'torch.sparse.mm with reduce="{reduce}": use scorch.evaluate with max= or min='
        )
    return mm(sparse, dense)


def _added(
    name: str,
    input: torch.Tensor,
    product: Callable[[], torch.Tensor],
    beta: Number = 1,
    alpha: Number = 1,
    out: None = None,
    out_dtype: None = None,
) -> torch.Tensor:
    """``beta * input + alpha * product``; with beta 0 the input is not looked at, as in torch."""
    if out is not None or out_dtype is not None:
        raise NotImplementedError(
            f"{name}: out= and out_dtype= with a SparseTensor are not available: use the result"
        )
    made = product()
    if not (made.is_floating_point() or input.is_floating_point()):
        beta, alpha = int(beta), int(alpha)  # as torch does
    if beta == 0:
        return made if alpha == 1 else alpha * made
    return torch.add(input if beta == 1 else beta * input, made, alpha=alpha)


def addmm(
    input: torch.Tensor,
    mat1: torch.Tensor,
    mat2: torch.Tensor,
    out_dtype: torch.dtype | None = None,
    **how: object,
) -> torch.Tensor:
    """``torch.addmm``, of which any operand is sparse."""
    return _added("addmm", input, lambda: _of_ranks("addmm", 2, 2, mat1, mat2), **how, out_dtype=out_dtype)


def addmv(input: torch.Tensor, mat: torch.Tensor, vec: torch.Tensor, **how: object) -> torch.Tensor:
    """``torch.addmv``, of which any operand is sparse."""
    return _added("addmv", input, lambda: _of_ranks("addmv", 2, 1, mat, vec), **how)


def addr(input: torch.Tensor, vec1: torch.Tensor, vec2: torch.Tensor, **how: object) -> torch.Tensor:
    """``torch.addr``, of which any operand is sparse."""
    return _added("addr", input, lambda: outer(vec1, vec2), **how)


def baddbmm(
    input: torch.Tensor,
    batch1: torch.Tensor,
    batch2: torch.Tensor,
    out_dtype: torch.dtype | None = None,
    **how: object,
) -> torch.Tensor:
    """``torch.baddbmm``, of which any operand is sparse."""
    return _added(
        "baddbmm", input, lambda: _of_ranks("baddbmm", 3, 3, batch1, batch2), **how, out_dtype=out_dtype
    )


def addbmm(input: torch.Tensor, batch1: torch.Tensor, batch2: torch.Tensor, **how: object) -> torch.Tensor:
    """``torch.addbmm``, of which any operand is sparse."""
    return _added("addbmm", input, lambda: _ops.einsum("bij,bjk->ik", batch1, batch2), **how)


def outer(input: torch.Tensor, vec2: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """``torch.outer``."""
    if (rank(input), rank(vec2)) != (1, 1):
        raise ValueError(f"outer: expected two vectors, got {rank(input)} and {rank(vec2)} dimensions")
    if input.dtype == vec2.dtype == torch.bool:  # no sums of integers
        return torch.mul(input.unsqueeze(1), vec2.unsqueeze(0), out=out)
    return _ops.einsum("i,j->ij", input, vec2, out=out)


def multi_dot(tensors: list[torch.Tensor], *, out: torch.Tensor | None = None) -> torch.Tensor:
    """``torch.linalg.multi_dot``, from the left."""
    *first, last = tensors
    return torch.matmul(reduce(torch.matmul, first), last, out=out) if first else last


def inner(input: torch.Tensor, other: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """``torch.inner``."""
    if not rank(input) or not rank(other):
        return torch.mul(input, other, out=out)
    return torch.matmul(input, other.mT if rank(other) > 1 else other, out=out)


def einsum(equation: str, *operands: torch.Tensor) -> torch.Tensor:
    """``torch.einsum``."""
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    return _ops.einsum(equation, *operands)


# ---- products at sparse places ----
def sddmm(mask: SparseTensor, Q: torch.Tensor, K: torch.Tensor) -> SparseTensor:
    """``mask * (Q @ K.mT)``, computed where the mask stores values only.

    Args:
        mask: [..., n, m], any format.
        Q: [..., n, k]; K: [..., m, k]; dense, with the batch dimensions of the mask.

    Returns:
        A SparseTensor with the structure of the mask.

    Raises:
        TypeError: mask is no SparseTensor. ValueError: the shapes do not fit.
    """
    if not isinstance(mask, SparseTensor):
        raise TypeError(f"sddmm: expected a SparseTensor as the mask, got {type(mask).__name__}")
    rows = "abcdefgh"[: mask._ndim - 1]
    text = f"{rows}j,{rows}k,{rows[:-1]}jk->{rows}j"
    try:
        return _ops.einsum(text, mask, Q, K, format=mask._fmt)
    except ValueError:  # of index letters, which the caller did not write
        _check(mask, Q, K)
        raise


def _check(mask: SparseTensor, q: torch.Tensor, k: torch.Tensor) -> None:
    *batch, n, m = mask.shape
    for name, x, rows in (("Q", q, n), ("K", k, m)):
        if x.dim() != mask._ndim or list(x.shape[:-1]) != [*batch, rows] or q.shape[-1] != k.shape[-1]:
            raise ValueError(
                f"{name}: expected shape {[*batch, rows, 'k']} for a mask {list(mask.shape)}, got "
                f"{list(x.shape)}"
            )


def sampled_addmm(
    input: SparseTensor,
    mat1: torch.Tensor,
    mat2: torch.Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: None = None,
) -> SparseTensor:
    """``torch.sparse.sampled_addmm``: ``alpha * (mat1 @ mat2) + beta * input`` where input stores values."""
    if (
        not isinstance(input, SparseTensor)
        or isinstance(mat1, SparseTensor)
        or isinstance(mat2, SparseTensor)
    ):
        raise NotImplementedError("sampled_addmm: expected a SparseTensor and two dense matrices")
    if out is not None:
        raise NotImplementedError("sampled_addmm: out= is not available: use the result")
    input = input.coalesce()
    _check(input, mat1, mat2.mT)
    factors = {name: x for name, x in (("alpha", alpha), ("beta", beta)) if x not in (0, 1)}
    if alpha == 0:
        return input * beta
    text = _sampled(input._ndim, "alpha" in factors, "beta" in factors, beta != 0)
    return _ops.evaluate(text, A=input, Q=mat1, K=mat2, format=input._fmt, **factors)


@lru_cache
def _sampled(ndim: int, alpha: bool, beta: bool, added: bool) -> str:
    """The index notation of ``sampled_addmm``, with the factors and the summand that it has."""
    *rows, i = "abcdefgh"[: ndim - 1]
    at, q, k = (",".join((*rows, *letters)) for letters in ((i, "j"), (i, "k"), ("k", "j")))
    product = f"{'alpha * ' if alpha else ''}stored(A[{at}]) * Q[{q}] * K[{k}]"
    return f"C[{at}] = {product}" + (f" + {'beta * ' if beta else ''}A[{at}]" if added else "")

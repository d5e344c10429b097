"""Products: the ``@`` operator, torch's matrix and vector products, and products at sparse places."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial, reduce
from numbers import Number

import torch

from .. import _C, _torch
from ..tensor.format import is_composed, pads, repeats
from ..tensor.making import sparse
from ..tensor.sparsetensor import LINEAR, MATMUL, RMATMUL, SparseTensor, expect_sparse, rank
from ..tensor.values import kept, needs_grad
from . import autocast, expressions, masks, notation, pairs
from .dynamic import unwrapped
from .gradients import affine_node
from .multiply import (
    EINSUM,
    fast_product,
    product_of,
    product_op,
    recorded_product,
    run_product,
    turns,
)
from .program import Asked
from .run import is_plain, operand_of
from .writing import written


# ---- the @ operator ----
def operator(self: SparseTensor, x: object, kind: int) -> torch.Tensor:
    """``A @ x`` or ``x @ A`` where the fast entry does not apply; NotImplemented if x is no operand."""
    if _is_operand(x):
        return product(self, x, kind)
    return _torch.handed_over(torch.matmul, *((x, self) if kind == RMATMUL else (self, x)))


def _is_operand(x: object) -> bool:
    """Whether x can become a tensor."""
    if isinstance(x, torch.Tensor | Number | Sequence):
        return not isinstance(x, str) and not _torch.is_foreign(x)
    known = hasattr(type(x), "__array__") or hasattr(type(x), "tocoo")
    return known and not _torch.has_calls(x)


# ---- products in general ----
def product(a: SparseTensor, x: torch.Tensor, kind: int) -> torch.Tensor:
    """``a @ x``, ``x @ a``, ``x @ a.T`` or ``a.T @ x`` by kind, where the fast entry does not apply."""
    x = x if isinstance(x, SparseTensor) else operand_of(x, None)
    a = a if isinstance(x, SparseTensor) else operand_of(a, None)
    if autocast.is_on():
        return autocast.called(product, a, x, kind)
    if isinstance(x, SparseTensor) or not isinstance(a, SparseTensor):
        return _sparse_product(a, x, kind)
    if a._ndim != 2 or x.dim() > 2 or x.dim() == 0:
        return _general_product(a, x, kind)
    if turns(a, x, kind):
        left = a if kind == LINEAR else a.T
        return product(left, x.t().contiguous(), MATMUL).t().contiguous()
    if is_composed(a._fmt):
        given = (x, a) if kind in (RMATMUL, LINEAR) else (a, x)
        return expressions.einsum(EINSUM[kind][x.dim() - 1], *given)
    if _torch.is_tracing(x):
        return product_op(a, x, kind)
    return recorded_product(a, x, kind) if needs_grad(a, x) else run_product(a, x, kind)


def _sparse_product(a: SparseTensor, x: SparseTensor, kind: int) -> torch.Tensor:
    """Sparse times sparse, or dense times dense where the sparse one has dense levels."""
    left, right = (x, a) if kind in (RMATMUL, LINEAR) else (a, x)
    if kind == LINEAR:
        right = right.T
    if isinstance(left, SparseTensor) and isinstance(right, SparseTensor) and left._ndim == right._ndim == 2:
        return pairs.product(left, right)
    return _broadcast_product(left, right, None)


@lru_cache
def _matmul_text(left: int, right: int) -> tuple[str, str, str]:
    """The indices of the operands and the result of a product of these numbers of dimensions."""
    if not left or not right:
        raise ValueError("matmul: expected operands of at least one dimension")
    first = "pqrstu"[8 - left :] + "ij" if left > 1 else "j"
    second = "pqrstu"[8 - right :] + "jk" if right > 1 else "j"
    batch = max(first[:-2], second[:-2], key=len)
    return first, second, f"{batch}{'i' if left > 1 else ''}{'k' if right > 1 else ''}"


def _broadcast_product(left: torch.Tensor, right: torch.Tensor, format: Asked) -> torch.Tensor:
    """``left @ right``; batch dimensions broadcast: where one extent is 1, that operand lacks the index."""
    first, second, result = _matmul_text(rank(left), rank(right))
    shapes = dict(zip(first, left.shape, strict=True)), dict(zip(second, right.shape, strict=True))
    for letter in reversed(first[:-2]):
        n, m = (shape.get(letter) for shape in shapes)
        if n == 1 and m not in (None, 1):
            left, first = left.squeeze(first.index(letter)), first.replace(letter, "")
        elif m == 1 and n != 1:
            right, second = right.squeeze(second.index(letter)), second.replace(letter, "")
    return expressions.einsum(f"{first},{second}->{result}", left, right, format=format)


def _general_product(a: SparseTensor, x: torch.Tensor, kind: int) -> torch.Tensor:
    """Batches and higher ranks."""
    if kind in (RMATMUL, LINEAR) and a._ndim == 2 and x.dim() > 2:
        y = product(a, x.reshape(math.prod(x.shape[:-1]), x.shape[-1]), kind)
        return y.reshape(*x.shape[:-1], y.shape[-1])
    left, right = (x, a) if kind in (RMATMUL, LINEAR) else (a, x)
    if kind == LINEAR:
        right = right.T
    return _broadcast_product(left, right, "dense")


def linear(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``F.linear`` with a sparse weight [out, in], or sparse input: input [..., in] -> [..., out]."""
    if out is not None:
        return written(out, linear(input, weight, bias))
    x = input
    if getattr(x, "is_nested", False) and x.layout is torch.strided:
        return torch.nested.as_nested_tensor([linear(part, weight, bias) for part in x.unbind()])
    if isinstance(x, SparseTensor) or not isinstance(weight, SparseTensor):
        y = x @ weight.mT
        return y if bias is None else y + (autocast.cast(bias)[0] if autocast.is_on() else bias)
    if bias is None:
        y = NotImplemented if torch.compiler.is_dynamo_compiling() else fast_product(weight, x, LINEAR)
        return product(weight, x, LINEAR) if y is NotImplemented else y
    if (
        not torch.compiler.is_dynamo_compiling()
        and x.dim() == 2
        and bias.dim() == 1
        and is_plain([x, bias, weight])
        and not turns(weight, x, LINEAR)
    ):
        return _affine(x, weight, bias)
    if autocast.is_on():
        return autocast.called(linear, x, weight, bias)
    return product(weight, x, LINEAR) + bias


def _affine(x: torch.Tensor, weight: SparseTensor, bias: torch.Tensor) -> torch.Tensor:
    one = x.shape[0] == 1  # a row is a vector
    core = weight.__dict__.get("_core")
    if not one and core is not None and _C.fills(core) and bias.shape == weight.shape[:1]:
        return product(weight, x, LINEAR) + bias
    text = "Y[o] = X[i] * W[o,i] + b[o]" if one else "Y[n,o] = X[n,i] * W[o,i] + b[o]"
    given = (x[0] if one else x, weight, bias)
    y = expressions.compute(text, ("X", "W", "b"), given, "dense", None, "zero", None)
    return y[None] if one else y


def linear_of_values(
    a: SparseTensor, values: torch.Tensor, x: torch.Tensor, bias: torch.Tensor | None
) -> torch.Tensor:
    """``F.linear(x, a, bias)`` of plain tensors, a over the memory of ``values``, which take its gradient."""
    if not needs_grad(values, x, *([] if bias is None else [bias])):
        return linear(x, a, bias)
    if (
        is_composed(a._fmt)
        or pads(a._fmt)
        or repeats(a._fmt)
        or len(a._names) == 1
        or x.dim() != 2
        or x.is_neg()
    ):
        return linear(x, a._with_values(values), bias)
    return affine_node(values, x, bias, a, product_of(LINEAR, 2, a._fmt))


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
        sparse, x, kind = input, other, MATMUL
    else:
        sparse, x, kind = other, input, RMATMUL
    if not torch.compiler.is_dynamo_compiling():
        y = fast_product(sparse, x, kind, out)
        if y is not NotImplemented:
            return y
    if out is not None and not _takes(out, input, other):
        return written(out, matmul(input, other))
    if not isinstance(x := unwrapped(x), torch.Tensor):
        raise TypeError(f"matmul: expected tensors, got {type(x).__name__}")
    if out is None:
        return product(sparse, x, kind)
    left, right = (sparse, x) if kind == MATMUL else (x, sparse)
    text = {(2, 2): "ij,jk->ik", (2, 1): "ij,j->i", (1, 2): "i,ij->j"}[rank(left), rank(right)]
    return expressions.einsum(text, left, right, out=out)


def _takes(out: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether a product can be computed where out is; to others, and in graphs, it is copied."""
    ranks = {rank(left), rank(right)}
    if _torch.is_compiling() or isinstance(out, SparseTensor) or ranks not in ({1, 2}, {2}):
        return False
    shape = (*left.shape[:-1], *right.shape[1:])
    return out.is_contiguous() and out.shape == shape and out.dtype == left.dtype == right.dtype


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


@autocast.uncast
def mv(input: torch.Tensor, vec: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """``torch.mv``."""
    return _of_ranks("mv", 2, 1, input, vec, out=out)


@autocast.uncast
def dot(input: torch.Tensor, tensor: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """``torch.dot``."""
    return _of_ranks("dot", 1, 1, input, tensor, out=out)


def rmatmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``b @ a``."""
    return matmul(b, a)


def sparse_mm(sparse: torch.Tensor, dense: torch.Tensor, reduce: str = "sum") -> torch.Tensor:
    """``torch.sparse.mm``."""
    if reduce == "sum":
        return mm(sparse, dense)
    if reduce not in _REDUCE:
        raise ValueError(f"torch.sparse.mm: expected reduce to be sum, {', '.join(_REDUCE)}, got {reduce!r}")
    sparse = sparse if isinstance(sparse, SparseTensor) else operand_of(sparse, None)
    if not isinstance(sparse, SparseTensor) or rank(sparse) != 2 or rank(dense) != 2:
        raise ValueError(
            f"torch.sparse.mm with reduce={reduce!r}: expected a sparse matrix on the left and a matrix"
        )
    return _REDUCE[reduce](sparse._unique(), dense.to_dense() if isinstance(dense, SparseTensor) else dense)


def _entries_a_row(a: SparseTensor) -> torch.Tensor:
    """[rows, 1]: how many entries a row stores."""

    def counted() -> torch.Tensor:
        ones = a.detach()._with_values(torch.ones_like(a._val, dtype=torch.int64))
        return expressions.einsum("ij->i", ones, format="dense")[:, None]

    return kept(a, "entries a row", counted, structural=True)


def _mean_mm(a: SparseTensor, x: torch.Tensor) -> torch.Tensor:
    """Over what a row stores; 0 where it stores nothing."""
    if a._val.dtype in (torch.float32, torch.float64):
        divided = lambda: a * _entries_a_row(a).clamp(min=1).to(a.dtype).reciprocal()  # noqa: E731
        return kept(a, "means of rows", divided) @ x
    return (mm(a, x) / _entries_a_row(a).clamp(min=1)).to(torch.promote_types(a.dtype, x.dtype))


def _empty_rows(a: SparseTensor) -> torch.Tensor:
    find = lambda: (_entries_a_row(a)[:, 0] == 0).nonzero()[:, 0]  # noqa: E731
    return kept(a, "empty rows", find, structural=True)


def _extreme_mm(text: str, a: SparseTensor, x: torch.Tensor) -> torch.Tensor:
    """Over what a row stores; 0 where it stores nothing."""
    y = expressions.evaluate(text, A=a, B=x, implicit="skip", format="dense")
    if _torch.is_compiling():
        return torch.where(_entries_a_row(a) > 0, y, 0)
    empty = _empty_rows(a)
    if not empty.shape[0]:
        return y
    if y.requires_grad or _torch.in_transform():  # its gradient looks at y again
        return y.index_fill(0, empty, 0)
    return y.index_fill_(0, empty, 0)


_LARGEST = partial(_extreme_mm, "C[i,k] max= A[i,j] * B[j,k]")
_SMALLEST = partial(_extreme_mm, "C[i,k] min= A[i,j] * B[j,k]")
_REDUCE = {"mean": _mean_mm, "max": _LARGEST, "min": _SMALLEST, "amax": _LARGEST, "amin": _SMALLEST}


def _added(
    name: str,
    input: torch.Tensor,
    product: Callable[[], torch.Tensor],
    beta: Number = 1,
    alpha: Number = 1,
    out: torch.Tensor | None = None,
    out_dtype: None = None,
) -> torch.Tensor:
    """``beta * input + alpha * product``; with beta 0 the input is not looked at, as in torch."""
    if autocast.is_on():
        (input,) = autocast.cast(input)
    if out_dtype is not None:
        raise NotImplementedError(f"{name}: out_dtype= is not available: use .to(dtype) on an operand")
    if out is not None:
        return written(out, _added(name, input, product, beta, alpha))
    made = product()
    if not (made.is_floating_point() or input.is_floating_point()):
        whole = bool if made.dtype == input.dtype == torch.bool else int  # as torch does
        beta, alpha = whole(beta), whole(alpha)
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


@autocast.uncast
def addmv(input: torch.Tensor, mat: torch.Tensor, vec: torch.Tensor, **how: object) -> torch.Tensor:
    """``torch.addmv``, of which any operand is sparse."""
    return _added("addmv", input, lambda: _of_ranks("addmv", 2, 1, mat, vec), **how)


@autocast.uncast
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
    if isinstance(input, SparseTensor) and _torch.in_attention():
        return torch.baddbmm(masks.unseen(input), batch1, batch2)
    return _added(
        "baddbmm", input, lambda: _of_ranks("baddbmm", 3, 3, batch1, batch2), **how, out_dtype=out_dtype
    )


def addbmm(input: torch.Tensor, batch1: torch.Tensor, batch2: torch.Tensor, **how: object) -> torch.Tensor:
    """``torch.addbmm``, of which any operand is sparse."""
    return _added("addbmm", input, lambda: expressions.einsum("bij,bjk->ik", batch1, batch2), **how)


@autocast.uncast
def outer(input: torch.Tensor, vec2: torch.Tensor) -> torch.Tensor:
    """``torch.outer``."""
    if (rank(input), rank(vec2)) != (1, 1):
        raise ValueError(f"outer: expected two vectors, got {rank(input)} and {rank(vec2)} dimensions")
    if input.dtype == vec2.dtype == torch.bool:  # no sums of integers
        return torch.mul(input.unsqueeze(1), vec2.unsqueeze(0))
    return expressions.einsum("i,j->ij", input, vec2)


def multi_dot(tensors: list[torch.Tensor], *, out: torch.Tensor | None = None) -> torch.Tensor:
    """``torch.linalg.multi_dot``, from the left."""
    *first, last = tensors
    if any(rank(x) != 2 for x in first[1:]) or any(rank(x) not in (1, 2) for x in (*first[:1], last)):
        raise ValueError(
            f"multi_dot: expected matrices, the first and the last perhaps vectors, got "
            f"{[rank(x) for x in tensors]} dimensions: use torch.matmul for batches"
        )
    return torch.matmul(reduce(torch.matmul, first), last, out=out) if first else last.clone()


def matrix_power(input: SparseTensor, n: int) -> SparseTensor:
    """``torch.linalg.matrix_power`` for n of 0 and more, by squares."""
    if n < 0:
        raise NotImplementedError(f"matrix_power: expected n >= 0, got n={n}: use A.to_dense()")
    if rank(input) < 2 or input.shape[-2] != input.shape[-1] or (n == 0 and rank(input) > 2):
        raise NotImplementedError(
            f"matrix_power: expected a square matrix, or a batch of them and n >= 1, got {list(input.shape)} "
            f"and n={n}"
        )
    if n == 0:
        ones = torch.ones(input.shape[0], dtype=input.dtype, device="cpu")
        if needs_grad(input):  # recorded, as torch does, though its gradient is zero
            ones = torch.fill(torch.diagonal(input).to_dense(), 1)
        return torch.diag(sparse(ones))
    if n == 1:
        return input.clone()
    half = input if n < 4 else matrix_power(input, n // 2)
    square = half @ half
    return square @ input if n % 2 else square


def inner(input: torch.Tensor, other: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """``torch.inner``."""
    if not rank(input) or not rank(other):
        return torch.mul(input, other, out=out)
    if input.shape[-1] != other.shape[-1]:
        raise ValueError(
            f"inner: expected last dimensions of one extent, got {list(input.shape)} and {list(other.shape)}"
        )
    if rank(input) == rank(other) == 1:
        return dot(input, other, out=out)
    if rank(other) < 3:
        return torch.matmul(input, other.mT if rank(other) > 1 else other, out=out)
    return torch.tensordot(input, other, ([-1], [-1]), out=out)


def einsum(equation: str, *operands: torch.Tensor) -> torch.Tensor:
    """``torch.einsum``, whose results have the types that it gives of dense tensors."""
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    types = {x.dtype for x in operands}
    dtype = reduce(torch.promote_types, types)
    if dtype.is_floating_point and (len(types) == 1 or all(map(rank, operands))):
        return expressions.einsum(equation, *operands)
    if "..." in equation:
        equation, operands = expressions.with_letters(equation, operands)
    if not dtype.is_floating_point:
        dtype = _type_of_integers(dtype, equation, [tuple(x.shape) for x in operands])
    wide = dtype if dtype.is_floating_point or dtype == torch.int32 else torch.int64
    xs = [x if x.dtype in (wide, torch.bool) and rank(x) else x.to(wide) for x in operands]
    return expressions.einsum(equation, *xs).to(dtype)


def _type_of_integers(dtype: torch.dtype, equation: str, shapes: Sequence[tuple[int, ...]]) -> torch.dtype:
    """Of an einsum of integers that promote to dtype: int64 where it adds up one of them, or counts bools."""
    factors, summed = notation.factors_and_sums(equation)
    if len(shapes) > 1:  # one entry in a product is no sum
        extents = zip("".join(factors), (n for shape in shapes for n in shape), strict=False)
        summed = summed - {i for i, n in extents if n == 1}
    adds = dtype == torch.bool or any(sum(i in f for f in factors) == 1 for i in summed)
    return torch.int64 if summed and adds else dtype


# ---- products at sparse places ----
@_torch.symbolic
def sddmm(mask: SparseTensor, Q: torch.Tensor, K: torch.Tensor) -> SparseTensor:
    """``mask * (Q @ K.mT)``, computed where the mask stores values only.

    Args:
        mask: [..., n, m], any format.
        Q: [..., n, k]; K: [..., m, k]; dense, with the batch dimensions of the mask.

    Returns:
        A SparseTensor with the structure of the mask.

    Raises:
        TypeError: mask is no SparseTensor. ValueError: the shapes do not fit.

    >>> mask = scorch.sparse(torch.eye(3))
    >>> scorch.sddmm(mask, torch.ones(3, 5), torch.ones(3, 5)).values()
    tensor([5., 5., 5.])
    """
    expect_sparse("sddmm", mask)
    rows = "abcdefgh"[: mask._ndim - 1]
    text = f"{rows}j,{rows}k,{rows[:-1]}jk->{rows}j"
    try:
        return expressions.einsum(text, mask, Q, K, format=mask._fmt)
    except ValueError:  # of index letters, which the caller did not write
        *batch, n, m = mask.shape
        _check(mask, "Q", Q, [*batch, n, "k"])
        _check(mask, "K", K, [*batch, m, Q.shape[-1]], ": sddmm is mask * (Q @ K.mT), pass K.mT")
        raise


def _check(mask: SparseTensor, name: str, x: torch.Tensor, wanted: list, turned: str = "") -> None:
    """Raises ValueError where x has another shape than is wanted beside a mask; "k" may be any extent."""
    fits = x.dim() == len(wanted) and all(n in ("k", m) for n, m in zip(wanted, x.shape, strict=True))
    if not fits:
        hint = turned if x.dim() > 1 and list(x.mT.shape) == wanted else ""
        got = f"for a mask {list(mask.shape)}, got {list(x.shape)}{hint}"
        raise ValueError(f"{name}: expected shape {wanted} {got}")


def sampled_addmm(
    input: SparseTensor,
    mat1: torch.Tensor,
    mat2: torch.Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> SparseTensor:
    """``torch.sparse.sampled_addmm``: ``alpha * (mat1 @ mat2) + beta * input`` where input stores values."""
    if (
        not isinstance(input, SparseTensor)
        or isinstance(mat1, SparseTensor)
        or isinstance(mat2, SparseTensor)
    ):
        raise NotImplementedError("sampled_addmm: expected a SparseTensor and two dense matrices")
    input = input._unique()
    *batch, n, m = input.shape
    _check(input, "mat1", mat1, [*batch, n, "k"])
    _check(input, "mat2", mat2, [*batch, mat1.shape[-1], m])
    factors = {name: x for name, x in (("alpha", alpha), ("beta", beta)) if x not in (0, 1)}
    if alpha == 0:
        return input * beta
    text = _sampled(input._ndim, "alpha" in factors, "beta" in factors, beta != 0)
    return expressions.evaluate(text, A=input, Q=mat1, K=mat2, format=input._fmt, **factors)


@lru_cache
def _sampled(ndim: int, alpha: bool, beta: bool, added: bool) -> str:
    """The index notation of ``sampled_addmm``, with the factors and the summand that it has."""
    *rows, i = "abcdefgh"[: ndim - 1]
    at, q, k = (",".join((*rows, *letters)) for letters in ((i, "j"), (i, "k"), ("k", "j")))
    product = f"{'alpha * ' if alpha else ''}stored(A[{at}]) * Q[{q}] * K[{k}]"
    return f"C[{at}] = {product}" + (f" + {'beta * ' if beta else ''}A[{at}]" if added else "")

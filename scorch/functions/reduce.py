"""Reductions and norms.

A reduction counts missing entries as zeros, as torch does for the dense tensor. What remains with two or
more dimensions is sparse, unless all of its levels are dense; vectors and numbers are dense.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import torch

from .. import _torch
from ..tensor.common import COMPUTED
from ..tensor.entries import (
    HALVES,
    Entries,
    add_up,
    build,
    counts,
    distinct,
    entries,
    general_format,
    kept_format,
    ravel,
    renumbered,
    summed_type,
    unravel,
)
from ..tensor.format import is_composed, layout, pads, repeats
from ..tensor.index import axes, axis
from ..tensor.sparsetensor import SparseTensor
from ..tensor.values import plain_values
from . import autocast
from .expressions import einsum, evaluate

Dims = int | Sequence[int] | None


class _Groups(NamedTuple):
    """Entries by what they are reduced into."""

    values: torch.Tensor
    slot: torch.Tensor  # [n] the group of each entry
    n: int  # groups
    size: int  # entries of the dense tensor in a group
    key: torch.Tensor | None  # keys of the groups in the kept shape; None: all of them, in order
    kept: tuple[int, ...]


def dims_of(dim: Dims, ndim: int) -> list[int]:
    if dim.__class__ is int and 0 <= dim < ndim:
        return [dim]
    dims = [] if dim is None else axes(dim, ndim)
    if not dims:
        return list(range(ndim))
    if not ndim:
        return []
    if len(set(dims)) < len(dims):
        raise ValueError(f"expected different dimensions, got {dim}")
    return dims


def _leaves_dense(a: SparseTensor, dims: list[int]) -> bool:
    """Whether a reduction gives a dense tensor: a vector, a number, or what is left in dense levels alone."""
    if a._ndim - len(dims) < 2:
        return True
    return all(kind == "dense" for kind, _, d, *_ in layout(a._fmt, a._ndim).levels if d not in dims)


def group(a: SparseTensor, dims: list[int]) -> _Groups:
    e = entries(a)
    rest = [d for d in range(a._ndim) if d not in dims]
    kept = tuple(e.shape[d] for d in rest)
    slot, size = ravel(e.indices[rest], kept), math.prod(e.shape[d] for d in dims)
    if _leaves_dense(a, dims):
        return _Groups(e.values, slot, math.prod(kept), size, None, kept)
    key, slot = distinct(slot)
    return _Groups(e.values, slot, key.numel(), size, key, kept)


def widened(a: torch.Tensor) -> torch.Tensor:
    """In float32 where a has a half type."""
    return a.to(torch.float32) if a.dtype in HALVES else a


def _finish(
    a: SparseTensor, g: _Groups, result: torch.Tensor, dims: list[int], keepdim: bool
) -> torch.Tensor:
    if g.key is None:
        y = result.view(g.kept)
    else:
        y = build(Entries(g.kept, unravel(g.key, g.kept), result), _left_format(a, dims), a.index_dtype)
    return _kept(y, dims, keepdim)


def _count(g: _Groups) -> torch.Tensor:
    return counts(g.slot, g.n)


# ---- kernels ----
def _left_format(a: SparseTensor, dims: list[int]) -> str:
    """Of what is left where nothing dense is."""
    return general_format(a, a._ndim - len(dims))


def _has_kernel(a: SparseTensor) -> bool:
    """Whether what is left sparse is computed by one, and not entry by entry."""
    return a.dtype in COMPUTED and not is_composed(a._fmt) and not _torch.in_graph()


def kernel(
    a: SparseTensor, dims: list[int], reduction: str, implicit: str = "zero", format: str = "dense"
) -> torch.Tensor:
    """``+=``, ``max=`` or ``min=``, in a type that kernels have."""
    if a._val.dtype in (torch.int8, torch.uint8, torch.int16):
        a = a.to(torch.int32)
    text = _reduced(a._ndim, tuple(dims), reduction)
    if reduction == "+=":
        return einsum(text, a, format=format)
    return evaluate(text, A=a, implicit=implicit, format=format)


@lru_cache(maxsize=256)
def _reduced(ndim: int, dims: tuple[int, ...], reduction: str) -> str:
    """The expression: an einsum where it is a sum."""
    letters = "abcdefghijklmnop"[:ndim]
    kept = [c for d, c in enumerate(letters) if d not in dims]
    if reduction == "+=":
        return f"{letters}->{''.join(kept)}"
    left = f"r[{','.join(kept)}]" if kept else "r"
    return f"{left} {reduction} A[{','.join(letters)}]"


def _sized(a: SparseTensor, dims: list[int]) -> int:
    """Entries of the dense tensor that are reduced into one."""
    return math.prod(a.shape[d] for d in dims)


def _over(total: torch.Tensor, n: int) -> torch.Tensor:
    """Sums of so many entries each; of none, dense: 0 / 0 is no zero that could be missing."""
    return total.to_dense() if not n and isinstance(total, SparseTensor) else total


def _alone(a: SparseTensor, dims: list[int]) -> torch.Tensor | None:
    """The values of a where all dimensions are reduced and an eager call may compute with values alone."""
    return plain_values(a) if len(dims) == a._ndim else None


def _kept(y: torch.Tensor, dims: list[int], keepdim: bool) -> torch.Tensor:
    for d in sorted(dims) if keepdim else ():
        y = y.unsqueeze(d)
    return y


# ---- sums ----
def sum_(
    input: SparseTensor, dim: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """``torch.sum``; integers and bool add up in int64, half types in float32."""
    dims = dims_of(dim, input._ndim)
    given = input._val.dtype
    of = dtype or (given if given.is_floating_point else torch.int64)
    few = _leaves_dense(input, dims)
    # Kernels count what is true by themselves, each entry of those that are one.
    counted = few and of is torch.int64 and given is torch.bool and not repeats(input._fmt)
    a = input if of is given or counted else input.to(of)
    joins = torch.compiler.is_dynamo_compiling()  # other calls, as a program
    if len(dims) == a._ndim and not joins and not pads(a._fmt):
        values = plain_values(a)
        total = (a.values() if values is None else values).sum(dtype=summed_type(of))
    elif few or _has_kernel(a):
        total = kernel(a, dims, "+=", format="dense" if few else _left_format(input, dims))
    else:
        g = group(a, dims)
        return _finish(input, g, add_up(g.values, g.slot, g.n), dims, keepdim)
    return _kept(total if total.dtype is of else total.to(of), dims, keepdim)


def mean(
    input: SparseTensor, dim: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """``torch.mean`` over all entries, missing ones included."""
    dtype = dtype or input._val.dtype
    if not dtype.is_floating_point:
        raise TypeError(f"mean: expected a floating point type, got {dtype}: pass dtype=")
    dims = dims_of(dim, input._ndim)
    wide = summed_type(dtype)
    total = sum_(input if input._val.dtype is wide else input.to(wide), dims, keepdim)
    n = _sized(input, dims)
    return (_over(total, n) / n).to(dtype)


def _without_nan(a: SparseTensor) -> SparseTensor:
    """Zeros where a has NaN."""
    a = a._unique()
    return a._with_values(a.values().masked_fill(a.values().isnan(), 0))


def nansum(
    input: SparseTensor, dim: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """``torch.nansum``."""
    values = _alone(input, dims_of(dim, input._ndim))
    if values is not None and dtype is None:
        total = widened(values).nansum()
        return _kept(
            total.to(input.dtype) if input.dtype in HALVES else total, list(range(input._ndim)), keepdim
        )
    return sum_(_without_nan(input), dim, keepdim, dtype=dtype)


def nanmean(
    input: SparseTensor, dim: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """``torch.nanmean``."""
    if not input.dtype.is_floating_point:
        raise TypeError(f"nanmean: expected a floating point type, got {input.dtype}: convert it first")
    a = input._unique()
    left_out = sum_(a._with_values(a.values().isnan()), dim, keepdim)
    kept = _sized(a, dims_of(dim, a._ndim)) - left_out
    total = nansum(widened(a), dim, keepdim, dtype=dtype)
    kept = kept.to_dense() if isinstance(kept, SparseTensor) else kept
    return (_over(total, _sized(a, dims_of(dim, a._ndim))) / kept).to(dtype or input.dtype)


def sparse_sum(input: SparseTensor, dim: Dims = None, dtype: torch.dtype | None = None) -> torch.Tensor:
    """``torch.sparse.sum``."""
    return sum_(input, dim, dtype=dtype)


def var(
    input: SparseTensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction=None
) -> torch.Tensor:
    """``torch.var`` over all entries, missing ones included."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if not input.dtype.is_floating_point:
        raise TypeError(f"var: expected a floating point type, got {input.dtype}: call .float() first")
    dims = dims_of(dim, input._ndim)
    a, size = widened(input), _sized(input, dims)
    free = size - (int(unbiased) if correction is None else correction)
    by = free if free > 0 else 1
    if _leaves_dense(a, dims):
        y = _kept((_deviations(a._unique(), dims, size) / by).to(input.dtype), dims, keepdim)
    else:
        g = group(a, dims)
        middle = add_up(g.values, g.slot, g.n) / size
        off = (g.values - middle[g.slot]).square()
        total = add_up(off, g.slot, g.n) + middle.square() * (size - _count(g))
        y = _finish(input, g, (total / by).to(input.dtype), dims, keepdim)
    return y if free > 0 else _plain(y) / 0  # NaN, or infinite, everywhere


def _deviations(a: SparseTensor, dims: list[int], size: int) -> torch.Tensor:
    """The sums of the squared deviations from the means, dense."""
    middle = sum_(a, dims) / size
    left, _, of = _reduced(a._ndim, tuple(dims), "max=").split()
    off = f"({of} - {left.replace('r', 'm')})"
    stored = evaluate(f"{left} += {off} * {off} * stored({of})", A=a, m=middle, format="dense")
    count = kernel(a._with_values(torch.ones_like(a.values(), dtype=torch.bool)), dims, "+=")
    return stored + middle.square() * (size - count)


def std(input: SparseTensor, *args, **kwargs) -> torch.Tensor:
    """``torch.std``; as :func:`var`."""
    return _power(var(widened(input), *args, **kwargs), 0.5).to(input.dtype)


def with_mean(of: Callable) -> Callable:
    """``torch.var_mean`` or ``torch.std_mean``, by what gives the first of the two."""

    def call(
        input: SparseTensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, **how
    ) -> tuple:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return of(input, dim, unbiased, keepdim, **how), mean(input, dim, keepdim)

    return call


def dist(input: SparseTensor, other: torch.Tensor, p: float = 2) -> torch.Tensor:
    """``torch.dist``: the norm of the difference."""
    dtype = torch.promote_types(input.dtype, other.dtype)
    return torch.linalg.vector_norm(widened(input) - widened(other), p).to(dtype)


def count_nonzero(input: SparseTensor, *dims: int, dim: Dims = None) -> torch.Tensor:
    """``torch.count_nonzero``: stored zeros do not count."""
    return _nonzeros(input, None if dims == (None,) else _torch.one_by_one(dims, dim), False)


def _nonzeros(input: SparseTensor, dim: Dims, keepdim: bool) -> torch.Tensor:
    dims = dims_of(dim, input._ndim)
    values = _alone(input, dims)
    if values is not None:
        return _kept(values.count_nonzero(), dims, keepdim)
    if _counts_in_one_pass(input, dims):
        left, _, of = _reduced(input._ndim, tuple(dims), "max=").split()
        found = evaluate(f"{left} += {of} != 0", A=input, format="dense")
        return _kept(found.to(torch.int64), dims, keepdim)
    a = input._unique()
    return sum_(a._with_values(a.values() != 0), dim, keepdim)


_EXACT = {  # up to which numbers of a type count by ones
    torch.float32: 1 << 24, torch.float64: 1 << 53, torch.int32: (1 << 31) - 1, torch.int64: (1 << 63) - 1,
}  # fmt: skip


def _counts_in_one_pass(a: SparseTensor, dims: list[int]) -> bool:
    """Whether a kernel counts, in the type of a, what is not zero, into a vector or a number."""
    if plain_values(a) is None or is_composed(a._fmt) or not _leaves_dense(a, dims):
        return False
    return _sized(a, dims) <= _EXACT.get(a._val.dtype, -1)


# ---- extremes and products ----
def _product(input: SparseTensor, dim: Dims, keepdim: bool) -> torch.Tensor:
    dims = dims_of(dim, input._ndim)
    values = _alone(input, dims)
    if values is not None:
        full = values.shape[0] == _sized(input, dims)
        values = widened(values)
        # A factor that is missing is zero, which leaves NaN and infinity NaN.
        y = values.prod() if full else (values * 0).sum()
        return _kept(y.to(input.dtype), dims, keepdim)
    g = group(widened(input), dims)
    if not g.size and g.key is not None:  # nothing is multiplied, which is 1 everywhere
        g = g._replace(n=math.prod(g.kept), key=None)
    values = g.values.to(torch.uint8) if g.values.dtype == torch.bool else g.values
    if _torch.in_forward_mode():
        raise NotImplementedError("prod: torch has no forward mode of it: use reverse mode, or A.to_dense()")
    full = _count(g) == g.size  # else a factor is zero, which leaves NaN and infinity NaN
    result = full.to(values.dtype).scatter_reduce(0, g.slot, values, "prod")
    return _finish(input, g, result.to(input.dtype), dims, keepdim)


_BOUNDED = {"amax": torch.maximum, "amin": torch.minimum}


def _extremum(input: SparseTensor, dim: Dims, keepdim: bool, kind: str) -> torch.Tensor:
    dims = dims_of(dim, input._ndim)
    size = _sized(input, dims)
    if size == 0:
        raise ValueError(f"{kind}: expected entries to reduce, got a dimension of extent 0")
    values = _alone(input, dims)
    if values is not None and values.shape[0]:
        y = getattr(values, kind)()
        return _kept(y if values.shape[0] == size else _BOUNDED[kind](y, y.new_zeros(())), dims, keepdim)
    if not _leaves_dense(input, dims):
        g = group(input, dims)
        values = g.values.to(torch.uint8) if g.values.dtype == torch.bool else g.values
        # torch's derivative counts what is there before among those that attain an extremum: NaN attains none
        start = torch.full(
            (g.n,), math.nan if values.is_floating_point() else 0, dtype=values.dtype, device="cpu"
        )
        stored = start.scatter_reduce(0, g.slot, values, kind, include_self=False)
        zeros = lambda: add_up((values == 0).long(), g.slot, g.n)  # noqa: E731
        result = _with_missing(stored, _count(g), size, kind, zeros)
        return _finish(input, g, result.to(input.dtype), dims, keepdim)
    y = kernel(input._unique(), dims, "max=" if kind == "amax" else "min=")
    return _kept(y.to(input.dtype), dims, keepdim)


def _with_missing(
    stored: torch.Tensor, count: torch.Tensor, size: int, kind: str, zeros: Callable[[], torch.Tensor]
) -> torch.Tensor:
    """The extremum of what is stored, ``count`` of ``size`` entries, and of zeros where some are missing.

    As in torch, all that attain an extremum have an equal share of its gradient; what missing entries have is
    lost. ``zeros()`` are the numbers of zeros that are stored.
    """
    if not stored.requires_grad and not _torch.in_transform() and not _torch.is_compiling():
        bounded = stored.clamp(min=0) if kind == "amax" else stored.clamp(max=0)
        return torch.where(count < size, bounded, stored)
    missing, found = size - count, zeros().to(stored.dtype)
    over = (missing > 0) & (stored <= 0 if kind == "amax" else stored >= 0)
    share = found / torch.where(over, found + missing, 1)
    return torch.where(over, (share * torch.where(stored == 0, stored, 0)).to(stored.dtype), stored)


def amax(input: SparseTensor, dim: Dims = None, keepdim: bool = False) -> torch.Tensor:
    """``torch.amax``: a missing entry counts as 0."""
    return _extremum(input, dim, keepdim, "amax")


def amin(input: SparseTensor, dim: Dims = None, keepdim: bool = False) -> torch.Tensor:
    """``torch.amin``: a missing entry counts as 0."""
    return _extremum(input, dim, keepdim, "amin")


def aminmax(input: SparseTensor, *, dim: int | None = None, keepdim: bool = False):
    """``torch.aminmax``."""
    pair = amin(input, dim, keepdim), amax(input, dim, keepdim)
    return torch.return_types.aminmax(pair)


def prod(
    input: SparseTensor, dim: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """``torch.prod``: a missing entry counts as 0."""
    if dtype is None and not input.dtype.is_floating_point:
        dtype = torch.int64
    return _product(input if dtype is None else input.to(dtype), dim, keepdim)


def _truths(input: SparseTensor, found: torch.Tensor) -> torch.Tensor:
    """Truth values, of uint8 for uint8, as in torch."""
    return found.to(torch.uint8) if input.dtype == torch.uint8 else found


def _reduces_nothing(dim: Dims) -> bool:
    return isinstance(dim, (list, tuple)) and not dim


def any_(input: SparseTensor, dim: Dims = None, keepdim: bool = False) -> torch.Tensor:
    """``torch.any``; () and [] reduce nothing, as in torch."""
    return _truths(input, input != 0 if _reduces_nothing(dim) else _nonzeros(input, dim, keepdim) > 0)


def all_(input: SparseTensor, dim: Dims = None, keepdim: bool = False) -> torch.Tensor:
    """``torch.all``: False where an entry is missing; () and [] reduce nothing, as in torch."""
    if _reduces_nothing(dim):
        return _truths(input, input != 0)
    return _truths(input, _nonzeros(input, dim, keepdim) == _sized(input, dims_of(dim, input._ndim)))


# ---- norms ----
def vector_norm(
    input: SparseTensor,
    ord: float = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """``torch.linalg.vector_norm``; of orders below 0, it is 0 where an entry is missing."""
    a = input._unique() if dtype is None else input._unique().to(dtype)
    if not a.dtype.is_floating_point:
        raise TypeError(f"norm: expected a floating point type, got {a.dtype}: pass dtype=")
    dims = dims_of(dim, a._ndim)
    values = _alone(a, dims) if ord == 2 else None
    if values is not None:
        return _kept(torch.linalg.vector_norm(values), dims, keepdim)
    if a.dtype in HALVES:  # their powers are beyond them
        return vector_norm(widened(a), ord, dim, keepdim).to(a.dtype)
    size = a if ord == 2 else a.abs()  # the square of |x| has no second derivative at zero
    if ord == math.inf:
        return amax(size, dim, keepdim)
    if ord == 0:
        return sum_(_power(size, 0), dim, keepdim)
    if ord == -math.inf:
        return amin(size, dim, keepdim)
    if ord < 0:
        return _of_all(size, ord, dim, keepdim)
    if ord == 1:
        return sum_(size, dim, keepdim)
    powers = _power(size, ord) if ord < 1 else size**ord
    return _power(sum_(powers, dim, keepdim), 1 / ord)


def _of_all(size: SparseTensor, ord: float, dim: Dims, keepdim: bool) -> torch.Tensor:
    """A norm of a negative order: 0, but where all entries are stored and none of them is 0."""
    dims = dims_of(dim, size._ndim)
    if not _sized(size, dims):
        raise ValueError("norm: expected entries to reduce, got a dimension of extent 0")
    g = group(size._with_values(torch.where(size.values() == 0, 0, size.values())), dims)
    there = add_up((g.values != 0).long(), g.slot, g.n) == g.size
    powers = torch.where(there[g.slot], g.values, 1) ** ord
    total = torch.where(there, add_up(powers, g.slot, g.n), 1)
    return _finish(size, g, torch.where(there, total ** (1 / ord), 0), dims, keepdim)


def _power(x: torch.Tensor, exponent: float) -> torch.Tensor:
    """x ** exponent, whose gradients are 0 where x is, as those of torch's norms and deviations."""
    if isinstance(x, SparseTensor):
        return x._with_values(_power(x.values(), exponent))
    zero = x == 0
    return torch.where(zero, 0, torch.where(zero, 1, x) ** exponent)


def norm(
    input: SparseTensor,
    p: float | str | None = "fro",
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """``torch.norm`` and ``torch.linalg.norm``: of the entries; "fro" alone of the norms of matrices."""
    if isinstance(p, str) and p != "fro":
        raise NotImplementedError(f"norm {p!r} of a matrix: use A.to_dense()")
    return vector_norm(input, 2 if p in (None, "fro") else p, dim, keepdim, dtype=dtype)


def linalg_norm(
    input: SparseTensor,
    ord: float | str | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype=None,
) -> torch.Tensor:
    """``torch.linalg.norm``."""
    of_matrix = (input._ndim if dim is None else len(axes(dim, input._ndim))) == 2
    if of_matrix and ord not in (None, "fro"):
        return matrix_norm(input, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    return norm(input, ord, dim, keepdim, dtype=dtype)


def matrix_norm(
    input: SparseTensor,
    ord: float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """``torch.linalg.matrix_norm`` for "fro", 1, -1, inf and -inf; others need singular values."""
    if ord == "fro":
        return vector_norm(input, 2, tuple(dim), keepdim, dtype=dtype)
    if ord not in (1, -1, math.inf, -math.inf):
        raise NotImplementedError(f"norm {ord!r} of a matrix: use A.to_dense(), or linalg.vector_norm")
    rows, columns = (axis(d, input._ndim) for d in dim)
    summed, compared = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(input, 1, summed, True, dtype=dtype)
    largest = torch.amax if input.shape[compared] else torch.sum  # 0, of none
    found = (largest if ord > 0 else torch.amin)(sums, compared, True)
    for d in () if keepdim else sorted((rows, columns), reverse=True):
        found = found.squeeze(d)
    return found


def _plain(x: torch.Tensor) -> torch.Tensor:
    return x.to_dense() if isinstance(x, SparseTensor) else x


def vecdot(input: torch.Tensor, y: torch.Tensor, *, dim: int = -1) -> torch.Tensor:
    """``torch.linalg.vecdot``."""
    if autocast.is_on():
        return autocast.called(vecdot, input, y, dim=dim)
    return (input * y).sum(dim)


def cosine_similarity(
    input: torch.Tensor, other: torch.Tensor, dim: int = 1, eps: float = 1e-8
) -> torch.Tensor:
    """``F.cosine_similarity``, dense."""
    shape, dtype = _torch.broadcast(input.shape, other.shape), torch.promote_types(input.dtype, other.dtype)
    wide = summed_type(dtype)
    x, y = ((t if tuple(t.shape) == shape else t.expand(shape)).to(wide) for t in (input, other))
    sizes = [_plain(torch.linalg.vector_norm(t, 2, dim)).clamp_min(eps) for t in (x, y)]
    return (_plain((x * y).sum(dim)) / (sizes[0] * sizes[1])).to(dtype)


def renorm(input: SparseTensor, p: float, dim: int, maxnorm: float) -> SparseTensor:
    """``torch.renorm``: parts along a dimension, scaled down to a norm where theirs is larger."""
    if input._ndim < 2 or p <= 0 or maxnorm < 0:
        raise ValueError(
            f"renorm: expected two dimensions or more, p > 0 and maxnorm >= 0, got {input._ndim} dimensions, "
            f"p={p} and maxnorm={maxnorm}"
        )
    dim = axis(dim, input._ndim)
    sizes = vector_norm(widened(input), p, [d for d in range(input._ndim) if d != dim])
    scale = torch.where(sizes > maxnorm, maxnorm / (sizes + 1e-7), 1).to(input.dtype)
    return input * scale.view(-1, *[1] * (input._ndim - 1 - dim))


def normalize(input: SparseTensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> SparseTensor:
    """``F.normalize``."""
    if input.dtype in HALVES:
        return normalize(widened(input), p, dim, eps).to(input.dtype)
    dims = dims_of(dim, input._ndim)
    few = renumbered(input, [d for d in range(input._ndim) if d not in dims])
    if few is not input:
        return input._with_values(normalize(few, p, dim, eps).values())
    if input._ndim > 2:
        e, g = entries(input), group(input, dims)
        sizes = vector_norm(input, p, dim)
        sizes = entries(sizes).values if isinstance(sizes, SparseTensor) else sizes.reshape(-1)
        values = e.values / sizes.clamp_min(eps)[g.slot]  # sizes are those of groups with entries
        return build(e._replace(values=values), kept_format(input, range(input._ndim)), input.index_dtype)
    return input / vector_norm(input, p, dim, True).clamp_min(eps)

"""Functions of entries: of one tensor, of two with broadcasting, and in place.

What an operation does where nothing is stored decides the form of its result. Where it gives zero there, the
result is sparse: the structure of the operand, the union of two structures, or what both store. Arithmetic
with dense tensors and numbers that gives something else gives a dense tensor, since that is the right answer.
A function of one tensor that is not zero at zero is refused instead, since the stored entries alone are
usually meant: :func:`map` says so.

A missing entry annihilates products, even with NaN and infinity. In place, only stored values change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import lru_cache
from numbers import Number

import torch

from .. import _C, _torch
from ..tensor.entries import (
    Entries,
    broadcast,
    build,
    entries,
    find,
    kept_format,
    places,
    ravel,
    same_structure,
    scatter,
    united,
)
from ..tensor.format import is_composed
from ..tensor.making import expect_cpu, of_torch, sparse
from ..tensor.sparsetensor import SparseTensor, expect_sparse, partwise
from ..tensor.values import carries, filled, padding, refuse_unwritable, tracked
from . import kernels, masks
from .writing import (
    ONE_STRUCTURE,
    cleared,
    gather,
    matched,
    refuse_recorded,
    refuse_repeated,
    replace,
    stored,
    written,
)

UNION, PRODUCT, QUOTIENT, DENSE, FIRST = range(5)  # what a function of two does with missing entries
_NUMBERS, _ALIKE = 1, 2  # beside what it may be computed on values alone: csrc/bindings/values.c
_QUOTIENTS = {"div", "divide", "true_divide"}
_LINEAR = _QUOTIENTS | {"mul", "multiply", "neg", "negative", "positive", "pos"}
_LINEAR_IN_PLACE = {f"{name}_" for name in _LINEAR} | {"__imul__", "__itruediv__", "zero_"}
_CHOICES = {f"{kind}_{name}" for kind in ("logical", "bitwise") for name in ("and", "or", "xor")} | {
    "bitwise_left_shift",
    "bitwise_right_shift",
    "masked_fill",
}


# ---- one tensor ----
def map(A: SparseTensor, fn: Callable[[torch.Tensor], torch.Tensor]) -> SparseTensor:
    """``fn`` of the stored values [nnz], in a tensor of the same structure; missing entries stay missing.

    >>> scorch.map(scorch.sparse(torch.eye(2)), torch.exp).to_dense()
    tensor([[2.7183, 0.0000],
            [0.0000, 2.7183]])

    Raises:
        TypeError: A is no SparseTensor. ValueError: fn returns another number of values.
        NotImplementedError: fn returns values that are not on the CPU.
    """
    expect_sparse("map", A)
    if not callable(fn):
        raise TypeError(f"map: expected a function of the stored values, got {type(fn).__name__}")
    a = A._unique()
    if a is not A and _torch.is_compiling() and is_composed(A._fmt):
        raise NotImplementedError(
            f"map of {A._fmt} where torch.compile traces: expected parts that store an entry once, which "
            f"nobody knows of these before the call: use A.coalesce(), which is csr there"
        )
    given = a.values()  # nnz of what a graph of torch.compile makes is no number
    values = fn(given)
    if not isinstance(values, torch.Tensor) or values.shape != given.shape:
        said = "" if a is A else "; entries that are stored twice are added first, as A.coalesce() does"
        raise ValueError(
            f"map: expected fn to return {len(given)} values, got {getattr(values, 'shape', values)}{said}"
        )
    expect_cpu("map: the result of fn", values)
    return a._with_values(_torch.give_away(values.contiguous()))  # a column of weights is not


def _of_terms(name: str, a: SparseTensor, b: Number | torch.Tensor) -> SparseTensor:
    """a as it is where ``name`` of what is added up is the sum of it; else with each entry once."""
    types = {a.dtype, torch.result_type(a._val, b)}
    fractions = a.dtype.is_floating_point
    same = fractions or (len(types) == 1 and name not in _QUOTIENTS)  # integers wrap, fractions do not
    return a if same and name in _LINEAR else a._unique()


def _is_zero(x: torch.Tensor) -> bool:
    return not bool(x.any()) and not bool(x.isnan().any())


def _zero_stays(f: Callable, dtype: torch.dtype, *args: object, **kwargs: object) -> bool:
    """Whether f(0, ...) is 0, of numbers also where a graph is traced."""
    with _torch.outside_graphs() if _torch.is_compiling() else nullcontext():
        return _is_zero(f(torch.zeros(1, dtype=dtype, device="cpu"), *args, **kwargs))


@lru_cache(maxsize=1024)
def _zero_stays_with(f: Callable, dtype: torch.dtype, args: tuple, named: tuple) -> bool:
    return _zero_stays(f, dtype, *args, **dict(named))


def _keeps_zero(f: Callable, dtype: torch.dtype, args: tuple, kwargs: dict[str, object]) -> bool:
    """``_zero_stays`` of a function of the table, which is asked once with the same numbers."""
    given = (*args, *kwargs.values())
    if _torch.is_compiling() or not all(x is None or x.__class__ in _PLAIN for x in given):
        return _zero_stays(f, dtype, *args, **kwargs)
    return _zero_stays_with(f, dtype, args, tuple(kwargs.items()))


_PLAIN = {int, float, bool, str}
_NOT = ("invert", "bitwise_not")  # of bool they are "not"


def unary(f: Callable, name: str, keeps_zero: bool) -> Callable:
    """f(A, ...) on the stored values; unless known to keep zero, f is asked what it does there."""

    def mapped(input: SparseTensor, *args: object, **kwargs: object) -> torch.Tensor:
        if any(isinstance(x, torch.Tensor) and x.dim() for x in (*args, *kwargs.values())):
            raise NotImplementedError(
                f"{name}: expected a SparseTensor and numbers: use scorch.map, or A.to_dense()"
            )
        in_place = kwargs.pop("inplace", False)
        if not keeps_zero and not _keeps_zero(f, input.dtype, args, kwargs):
            negates = name == "logical_not" or (input.dtype == torch.bool and name in _NOT)
            instead = "A == 0 for the dense mask" if negates else "scorch.map(A, f) for the stored entries"
            raise NotImplementedError(
                f"{name} of a missing entry is not zero, so the result would be dense: use {instead}, or "
                f"A.to_dense()"
            )
        if in_place:
            return replace(input, lambda values: f(values, *args, **kwargs), name)
        a = input if name.strip("_") in _LINEAR else input._unique()
        return a._with_values(f(a.values(), *args, **kwargs))

    return partwise(mapped)


@partwise
def dropout(
    input: SparseTensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> SparseTensor:
    """``F.dropout`` on the stored values; the structure stays."""
    if not training or p == 0:
        return input
    if inplace:
        return replace(input, lambda values: torch.nn.functional.dropout(values, p), "dropout")
    return input._with_values(torch.nn.functional.dropout(input.values(), p))


# ---- two tensors ----
def expand(
    input: SparseTensor,
    *sizes: int | Sequence[int],
    size: Sequence[int] | None = None,
    implicit: bool = False,
) -> torch.Tensor:
    """``Tensor.expand`` and ``torch.broadcast_to``: entries are repeated, since they are not strided."""
    size = _torch.one_by_one(sizes, size)
    own = (-1,) * (len(size) - input._ndim) + tuple(input.shape)
    pairs = list(zip(own, size, strict=False))
    shape = tuple(n if m == -1 else m for n, m in pairs)
    if len(size) < len(own) or any(m < 0 or n not in (-1, 1, m) for n, m in zip(own, shape, strict=True)):
        raise ValueError(f"expand: {tuple(input.shape)} does not broadcast to {tuple(size)}")
    return input if shape == own or _torch.in_attention("merge_masks") else _spread(input, shape)


def _spread(a: SparseTensor, shape: Sequence[int]) -> torch.Tensor:
    """a repeated to a larger shape: entry by entry, and as a whole along the dimensions in front."""
    own = (1,) * (len(shape) - a._ndim) + tuple(a.shape)
    front = 0  # in a graph, which is for any number of copies
    while not _torch.in_graph() and front < len(own) and own[front] == 1:
        front += 1
    inner = (*own[:front], *shape[front:])
    if inner != own:
        a = build(broadcast(a, inner), format_of(a, len(shape)), a.index_dtype)
    return a.repeat(*shape[:front], *[1] * (len(shape) - front))


def format_of(a: SparseTensor, ndim: int) -> str:
    return kept_format(a, [None] * (ndim - a._ndim) + list(range(a._ndim)))


def merged(f: Callable, name: str, a: SparseTensor, b: SparseTensor, kind: int) -> torch.Tensor:
    """f of two sparse tensors over the union, or the intersection, of what they store."""
    if same_structure(a, b) and a._is_unique():
        return a._with_values(f(a.values(), b.values()))
    if _torch.traces_step() and a._is_unique():
        return a._with_values(f(a.values(), matched(a, b, ONE_STRUCTURE)))
    a, b = a._whole(), b._whole()
    shape = _torch.broadcast(a.shape, b.shape)
    format = format_of(a if a._ndim == len(shape) else b, len(shape))
    pair = a._unique(), b._unique()
    made = None
    if kind == PRODUCT or not kernels.forms_dense(*pair, format):
        made = kernels.evaluated(name, *pair, format)
    if made is None:
        made = kernels.meeting(f, "mul" if kind == PRODUCT else "add", pair, format)
    if made is not None:
        return made
    x, y = broadcast(a, shape), broadcast(b, shape)
    key, other = ravel(x.indices, x.shape), ravel(y.indices, y.shape)
    index = torch.int64 if torch.int64 in (a.index_dtype, b.index_dtype) else torch.int32
    if kind == PRODUCT:
        found, at = find(other, key)
        mine = places(found)
        values = f(x.values[mine], y.values[at[mine]])
        return build(Entries(x.shape, x.indices[:, mine], values), format, index)
    indices, first, second = united(x.indices, key, y.indices, other)
    left = x.values.new_zeros(indices.shape[1]).index_copy(0, first, x.values)
    right = y.values.new_zeros(indices.shape[1]).index_copy(0, second, y.values)
    return build(Entries(x.shape, indices, f(left, right)), format, index)


def _with_dense(f: Callable, name: str, a: SparseTensor, b: torch.Tensor, swapped: bool) -> torch.Tensor:
    """A product or quotient with a dense tensor: its values at the stored places are all that is read."""
    shape = _torch.broadcast(a.shape, b.shape)
    if shape == a.shape and b.numel() == 1:  # which promotes types, unlike a number
        return _scalar(f, name, a, b.reshape(1), swapped)
    a, made = _of_terms(name, a, b), None
    if shape == a.shape:
        made = kernels.evaluated(name, *((b, a) if swapped else (a, b)), a._fmt)
    if made is not None:
        return made
    if shape != a.shape:
        a = _spread(a, shape)
        if not isinstance(a, SparseTensor):  # of the format dense
            return f(b, a) if swapped else f(a, b)
    filler = padding(a)
    values, other = a.values(), filled(gather(a, b), filler, 1)  # nothing is divided by zero in padding
    result = f(other, values) if swapped else f(values, other)
    return a._with_values(filled(result, filler, 0))


def _scalar(f: Callable, name: str, a: SparseTensor, b: Number | torch.Tensor, swapped: bool) -> torch.Tensor:
    a = _of_terms(name, a, b)
    values = f(b, a.values()) if swapped else f(a.values(), b)
    return a._with_values(filled(values, padding(a), 0))


def is_scalar(x: object) -> bool:
    """Whether x is a number, or a tensor of no dimensions."""
    return isinstance(x, Number | _torch.Symbol) or (
        isinstance(x, torch.Tensor) and not isinstance(x, SparseTensor) and x.dim() == 0
    )


def is_known(x: object) -> bool:
    """Whether x is a number, or a tensor of no dimensions, that can be looked at and takes no gradient."""
    return is_scalar(x) and _torch.has_numbers(x) and not (isinstance(x, torch.Tensor) and carries(x))


_LARGE = 4096  # entries, from which on structures are compared before they are merged


def _spelled(x: object) -> str:
    return (
        "a SparseTensor" if isinstance(x, SparseTensor) else "a number" if is_scalar(x) else "a dense tensor"
    )


def _operand(x: object) -> object:
    """A number or a tensor of what is given, None where it is neither."""
    if isinstance(x, SparseTensor):
        return x
    if _torch.is_foreign(x) or _torch.has_calls(x):
        return None
    if is_scalar(x) or (isinstance(x, torch.Tensor) and x.layout is torch.strided):
        return x
    if isinstance(x, torch.Tensor) or hasattr(type(x), "tocoo"):  # a symbol of torch.fx has any attribute
        return sparse(x)
    return _torch.as_tensor(x) if hasattr(type(x), "__array__") else None


def _are_alike(a: object, b: object) -> bool:
    """Whether both have one structure, of so many entries that looking for it costs little."""
    if not (isinstance(a, SparseTensor) and isinstance(b, SparseTensor)) or _torch.in_graph():
        return False
    n = a._val.shape[0]
    return n > _LARGE and n == b._val.shape[0] and same_structure(a, b) and a._is_unique()


def binary(f: Callable, name: str, kind: int) -> Callable:
    """f(a, b) with at least one SparseTensor; ``kind`` says what missing entries do."""
    takes = _NUMBERS * (kind in (PRODUCT, QUOTIENT, FIRST)) + _ALIKE * (kind in (UNION, PRODUCT, FIRST))

    def apply(
        input: object, other: object, alpha: Number | None = None, *, out: object = None, **options: object
    ) -> torch.Tensor:
        if alpha is not None:
            options["alpha"] = alpha
        if out is not None:
            return written(out, apply(input, other, **options))
        if takes and not options and not torch.compiler.is_dynamo_compiling():
            made = _C.on_values(f, input, other, takes)
            if made is not NotImplemented:
                return made
            if takes & _ALIKE and _are_alike(input, other):
                return input._with_values(f(input.values(), other.values()))
        undefined = kind == QUOTIENT and isinstance(other, SparseTensor)  # 0 / 0 nearly everywhere
        if not options and kind != DENSE and not undefined:
            made = kernels.quickly(name, input, other)
            if made is not NotImplemented:
                return made

        def g(x, y):
            return f(x, y, **options)

        spelled = "" if options else name
        a, b = _operand(input), _operand(other)
        if a is None or b is None:
            return _torch.handed_over(f, input, other)
        if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
            if kind in (UNION, PRODUCT, FIRST):
                return merged(g, spelled, a, b, kind)
            if kind == DENSE:
                return g(a.to_dense(), b.to_dense())
        elif kind == PRODUCT or (kind in (QUOTIENT, FIRST) and isinstance(a, SparseTensor)):
            swapped = isinstance(b, SparseTensor)
            sparse, dense = (b, a) if swapped else (a, b)
            if is_scalar(dense):
                return _scalar(g, spelled, sparse, dense, swapped)
            return _with_dense(g, spelled, sparse, dense, swapped)
        elif kind != QUOTIENT:
            return _mixed(g, a, b)
        if name in _QUOTIENTS and is_scalar(a) and _torch.in_step():  # which is one of what is stored
            return _scalar(lambda x, y: x / y, spelled, b, a, True)  # torch.div(x, y) may round otherwise
        raise NotImplementedError(
            f"{name} of {_spelled(a)} by a SparseTensor divides by zero where nothing is stored: for what "
            f"both store use scorch.evaluate('C[i,j] = A[i,j] / B[i,j]', A=A, B=B, implicit='skip'), for one "
            f"tensor scorch.map, for all of it to_dense()"
        )

    return partwise(apply)


_KINDS = {
    UNION: "add sub subtract maximum minimum fmax fmin ne not_equal lt less gt greater logical_or "
    "logical_xor bitwise_or bitwise_xor hypot atan2 arctan2 nextafter gcd",
    PRODUCT: "mul multiply logical_and bitwise_and lcm",
    QUOTIENT: "div divide true_divide floor_divide remainder fmod",
    FIRST: "copysign ldexp xlogy bitwise_left_shift bitwise_right_shift",
    DENSE: "eq le less_equal ge greater_equal isclose heaviside igamma igammac logaddexp logaddexp2",
}
_SPECIAL = {
    FIRST: "xlogy xlog1py",
    DENSE: "gammainc gammaincc zeta chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v "
    "chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l "
    "legendre_polynomial_p shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u "
    "shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w",
}  # of torch.special


_VAST = 1 << 16  # entries, missing ones too
_EVERYWHERE = (
    "; it has a value where nothing is stored: scorch.map(A, f) is that of the stored entries, and "
    "scorch.evaluate computes it beside others, as in C[i,j] = A[i,j] * (A[i,j] <= 0.5)"
)


def _is_mostly_missing(a: SparseTensor) -> bool:
    """Whether a is computed eagerly, without a gradient, and is large and mostly missing."""
    if _torch.in_graph() or _torch.is_tracing(a._val) or tracked(a):
        return False
    return a.numel() > max(_VAST, 4 * a._val.shape[0])


def _filled_up(f: Callable, a: SparseTensor) -> torch.Tensor:
    """f of all entries, dense: of those that are missing it is computed once."""
    e = entries(a)
    missing = f(e.values.new_zeros(1))
    _torch.find_room(a.numel(), missing.element_size(), "values of a dense result", _EVERYWHERE)
    return scatter(e._replace(values=f(e.values)), missing)


def _mixed(g: Callable, a: object, b: object) -> torch.Tensor:
    """With a number that is known to leave zeros zero: sparse. Else the dense result."""
    sparse, other, swapped = (a, b, False) if isinstance(a, SparseTensor) else (b, a, True)
    at_zero = lambda zero: g(other, zero) if swapped else g(zero, other)  # noqa: E731
    if is_known(other) and _zero_stays(at_zero, sparse.dtype):
        return _scalar(g, "", sparse, other, swapped)
    if is_known(other) and _is_mostly_missing(sparse):
        return _filled_up(at_zero, sparse)
    dense = sparse.to_dense()
    return g(other, dense) if swapped else g(dense, other)


_POWERS = (
    "pow: a missing entry stays zero for positive exponents only, a number or a dense tensor: use "
    "scorch.map(A, f) for the stored entries, or A.to_dense()"
)


def _is_positive(x: Number | torch.Tensor) -> bool:
    """Whether all exponents are; a graph, which does not know a tensor's, looks at them in each call."""
    if not isinstance(x, torch.Tensor):
        return x > 0
    if not _torch.is_compiling():
        return bool((_torch.all_numbers(x) > 0).all())
    torch._assert_async((x > 0).all(), _POWERS)
    return True


@partwise
def power(input: object, exponent: object) -> torch.Tensor:
    """``torch.pow`` with positive exponents, a number or a dense tensor."""
    exponent = _operand(exponent)  # of NumPy, too
    plain = exponent is not None and not isinstance(exponent, SparseTensor | complex)
    if isinstance(input, SparseTensor) and plain and _is_positive(exponent):
        a = input._unique()
        return (_scalar if is_scalar(exponent) else _with_dense)(torch.pow, "pow", a, exponent, False)
    raise NotImplementedError(_POWERS)


@partwise
def float_power(input: object, exponent: object) -> torch.Tensor:
    """``torch.float_power``: as :func:`power`, in float64."""
    return power(*(x.double() if isinstance(x, torch.Tensor) else x for x in (input, exponent)))


BINARY = {
    name: binary(getattr(torch, name), name, kind) for kind, names in _KINDS.items() for name in names.split()
}  # the functions of two tensors of torch, by name
BINARY["add"] = masks.joining(BINARY["add"])
SPECIAL = {
    name: binary(getattr(torch.special, name), name, kind)
    for kind, names in _SPECIAL.items()
    for name in names.split()
}  # and those of torch.special


_RAISED = binary(torch.clamp_min, "clamp_min", UNION)  # whose tangents at the bound, unlike those of
_LOWERED = binary(torch.clamp_max, "clamp_max", UNION)  # clamp with one bound, agree with the gradients


def clamp(f: Callable, name: str) -> Callable:
    """``torch.clamp`` and its kin: bounds that are tensors are operands, one after the other."""
    numbers = unary(f, name, False)

    def clamped(input: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
        low, high = ("max", "min") if name == "clamp_max" else ("min", "max")
        bounds = dict(zip((low, high), args, strict=False)) | kwargs
        if not any(isinstance(x, torch.Tensor) for x in bounds.values()):
            return numbers(input, *args, **kwargs)
        for side, bounded in (("min", _RAISED), ("max", _LOWERED)):
            bound = bounds.get(side)
            if isinstance(input, SparseTensor) or isinstance(bound, SparseTensor):
                input = input if bound is None else bounded(input, bound)
            elif bound is not None:
                input = torch.clamp(input, **{side: bound})
        return input

    return partwise(clamped)


def reversed_(f: Callable) -> Callable:
    """f with the operands exchanged, as ``__rsub__`` and its kin want it."""
    return partwise(lambda input, other, *rest, **options: f(other, input, *rest, **options))


@partwise
def masked_fill(input: torch.Tensor, mask: torch.Tensor, value: Number | torch.Tensor) -> torch.Tensor:
    """``torch.masked_fill``: sparse for a sparse mask or the value 0, else dense."""
    value = value.to_dense() if isinstance(value, SparseTensor) else value
    if not isinstance(input, SparseTensor):
        mask = mask.to_dense() if isinstance(mask, SparseTensor) else mask
        return torch.masked_fill(input, mask, value)
    if isinstance(mask, SparseTensor):
        value = _torch.as_tensor(value, dtype=input.dtype)
        if value.dim():
            raise ValueError(f"masked_fill: expected a value without dimensions, got {value.dim()} of them")
        return merged(lambda x, m: torch.where(m, value, x), "", input, mask, UNION)
    if is_known(value) and _zero_stays(torch.add, input.dtype, value):
        return _with_dense(lambda x, m: x.masked_fill(m, 0), "", input, mask, False)
    return input.to_dense().masked_fill(mask, value)


# ---- comparing whole tensors ----
@partwise
def equal(input: torch.Tensor, other: torch.Tensor) -> bool:
    """``torch.equal``: the same shape and numbers, of any types; stored zeros are zeros."""
    if tuple(input.shape) != tuple(other.shape):
        return False
    return not bool(torch.ne(input, other).any())


@partwise
def allclose(
    input: torch.Tensor, other: torch.Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """``torch.allclose``."""
    input, other = of_torch(input), of_torch(other)
    if isinstance(input, SparseTensor) and isinstance(other, SparseTensor):
        far = merged(lambda x, y: ~torch.isclose(x, y, rtol, atol, equal_nan), "", input, other, UNION)
        return not bool(far.any())
    x, y = (t.to_dense() if isinstance(t, SparseTensor) else t for t in (input, other))
    return torch.allclose(x, y, rtol, atol, equal_nan)


# ---- in place ----
def refuse_narrower(name: str, made: torch.dtype, held: torch.dtype) -> None:
    """Raises RuntimeError, as torch does: after a TypeError ``x += A`` would be ``x = x + A``."""
    if not torch.can_cast(made, held):
        raise RuntimeError(f"{name}: expected values that {held} can hold, got {made}")


def changing(f: Callable, name: str) -> Callable:
    """The form of f that writes its result over the first operand, a dense tensor: ``x.addmm_(A, y)``."""

    def changed(input: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
        if isinstance(input, SparseTensor):
            raise NotImplementedError(f"{name} of a SparseTensor is not available: use {name[:-1]}")
        recorded = _torch.is_differentiated([x for x in args if isinstance(x, torch.Tensor)])
        before = input.clone() if recorded else input  # which gradients to the others are made of
        made = f(before, *args, **kwargs)
        if made.shape != input.shape:
            raise ValueError(f"{name}: expected a result {list(input.shape)}, got {list(made.shape)}")
        refuse_narrower(name, made.dtype, input.dtype)
        return input.copy_(made.to_dense() if isinstance(made, SparseTensor) else made)

    return changed


_OTHERS = {"addcdiv", "addcmul", "clamp", "clamp_max", "clamp_min", "clip", "lerp"}


def _change_dense(name: str, x: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
    """``add_`` and its kin of a dense tensor by a SparseTensor; sums touch what it stores alone."""
    if name in _CHOICES and all(y.numel() <= x.numel() for y in args if isinstance(y, SparseTensor)):
        dense = [y.to_dense() if isinstance(y, SparseTensor) else y for y in args]
        return getattr(x, f"{name}_")(*dense, **kwargs)
    if name not in BINARY and name not in _OTHERS:
        raise NotImplementedError(
            f"{name}_ on a dense tensor with a SparseTensor: use its to_dense(), or the operation that "
            f"returns a result"
        )
    a = args[0] if len(args) == 1 and not set(kwargs) - {"alpha"} else None
    if name not in ("add", "sub", "subtract") or not isinstance(a, SparseTensor):
        return changing(getattr(torch, name), f"{name}_")(x, *args, **kwargs)
    if _torch.broadcast(x.shape, a.shape) != tuple(x.shape):
        raise ValueError(
            f"{name}_: {tuple(a.shape)} does not broadcast to {tuple(x.shape)}, which is changed"
        )
    refuse_narrower(f"{name}_", torch.promote_types(x.dtype, a.dtype), x.dtype)
    if x.dtype == torch.bool or not a._ndim:
        return changing(BINARY[name], f"{name}_")(x, a, **kwargs)
    if any(n > 1 and not step for n, step in zip(x.shape, x.stride(), strict=True)):
        raise RuntimeError(
            f"{name}_: expected memory of its own for each element, got an expanded tensor: clone it"
        )
    e, alpha = broadcast(a, x.shape), kwargs.get("alpha", 1)
    values = getattr(torch, name)(e.values.new_zeros(()), e.values, alpha=alpha).to(x.dtype)
    if x.is_contiguous() and not _torch.is_compiling() and not _torch.in_transform():  # twice as fast
        x.view(-1).index_add_(0, ravel(e.indices, x.shape), values)
        return x
    return x.index_put_(tuple(e.indices), values, accumulate=True)


_TERMS = {"add_": lambda x: x, "addcdiv_": torch.div, "addcmul_": torch.mul}  # what a factor is of


def in_place(f: Callable, name: str) -> Callable:
    """f(A.values(), ...) in place; missing entries stay missing, whatever f does to zero.

    So a dense operand counts where A stores, as a number does; a sparse one may store nothing elsewhere.
    """

    def changed(input: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
        if not isinstance(input, SparseTensor):
            return _change_dense(f.__name__[:-1], input, *args, **kwargs)
        refuse_unwritable(name, input)
        refuse_recorded(name, input, *(x for x in args if isinstance(x, torch.Tensor)))
        if name not in _LINEAR_IN_PLACE or kwargs:
            refuse_repeated(name, input)
        operands = [stored(input, x, name) for x in args]
        factor = kwargs.get("value", kwargs.get("alpha"))
        if name in _TERMS and isinstance(factor, torch.Tensor) and _torch.is_compiling():
            input._val.add_(_TERMS[name](*operands) * factor)  # the kernel takes a number, not known there
        else:
            f(input._val, *operands, **{k: stored(input, x, name) for k, x in kwargs.items()})
        return cleared(input)

    return partwise(changed)

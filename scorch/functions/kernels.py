"""Element-wise operations of two tensors as index notation, where kernels have the operation and the types.

What comes back is None where they do not: then a sum or a product says which values of the two meet, and
torch computes. Where kernels do not take the formats either, the coordinates decide, in torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from itertools import accumulate, pairwise

import torch

from .. import _C, _torch
from ..tensor.entries import share_arrays
from ..tensor.format import has_slots, is_composed, layout
from ..tensor.sparsetensor import SparseTensor, core_of
from ..tensor.values import needs_grad
from ..tensor.wrapping import from_run
from .expressions import evaluate
from .gradients import run_eagerly
from .program import known_program
from .run import run

_TEXT = {
    "add": "{} + {}",
    "div": "{} / {}",
    "gt": "{} > {}",
    "lt": "{} < {}",
    "maximum": "max({}, {})",
    "minimum": "min({}, {})",
    "mul": "{} * {}",
    "ne": "{} != {}",
    "sub": "{} - {}",
}
_SAME = {
    "greater": "gt",
    "less": "lt",
    "not_equal": "ne",
    "divide": "div",
    "true_divide": "div",
    "multiply": "mul",
    "subtract": "sub",
}
_OF_MASKS = {
    f"{kind}_{name}": meant
    for kind in ("logical", "bitwise")
    for name, meant in (("and", "mul"), ("or", "maximum"), ("xor", "ne"))
}
_TESTS = {"gt", "lt", "ne"}
_TYPES = {torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64, torch.bool}
_LETTERS = "abcdefghijklmnop"
_ROOM = 32  # elements for each entry: of sums that are larger coordinates are merged


def _access(name: str, x: torch.Tensor, shape: torch.Size) -> tuple[str, torch.Tensor] | None:
    """An operand broadcast to a shape: what it is called with its indices, and without extents of 1."""
    rank = x._ndim if isinstance(x, SparseTensor) else x.dim()
    letters = _LETTERS[len(shape) - rank : len(shape)]
    ones = [d for d in range(rank) if x.shape[d] == 1 and shape[len(shape) - rank + d] != 1]
    if ones and isinstance(x, SparseTensor):
        return None
    for d in reversed(ones):
        x, letters = x.squeeze(d), letters[:d] + letters[d + 1 :]
    return f"{name}[{','.join(letters)}]" if letters else name, x


@lru_cache(maxsize=4096)
def _known(name: str, left: torch.dtype, right: torch.dtype) -> tuple[str | None, bool]:
    """The key of ``name`` of two types in _TEXT, None where kernels do not have it, and if bool comes out."""
    masks, name = left == right == torch.bool, _SAME.get(name, name)
    name = _OF_MASKS.get(name, name) if masks else name
    lacks = not {left, right} <= _TYPES or (name == "div" and not left.is_floating_point)
    if name not in _TEXT or lacks or (name == "sub" and torch.bool in (left, right)):
        return None, False
    return name, masks or name in _TESTS


@lru_cache(maxsize=4096)
def _plainly(name: str, left: tuple, right: tuple, swapped: bool) -> str | None:
    """The program of ``name`` of operands (ndim, format); None where it takes more than a kernel.

    ``swapped``: of the second and the first.
    """
    text, (ndim, format), (rank, other) = _TEXT[name], left, right
    repeated = any(
        not unique for n, fmt in (left, right) if fmt != "coo" for _, unique, *_ in layout(fmt, n).levels
    )
    slots = any(has_slots(layout(fmt, n)) for n, fmt in (left, right))
    if repeated or slots:
        return None
    letters = ",".join(_LETTERS[:ndim])
    accesses = [f"A[{letters}]", f"B[{','.join(_LETTERS[ndim - rank : ndim])}]"]
    text = f"C[{letters}] = {text.format(*(reversed(accesses) if swapped else accesses))}"
    kinds = (left, None if other == "dense" else right)
    if layout(other, rank).is_dense and name not in ("mul", "div"):
        format = "dense"
    return known_program(text, ("A", "B"), kinds, format, None, "zero")


def quickly(name: str, a: object, b: object) -> torch.Tensor:
    """``name`` of a SparseTensor and a tensor of its last extents; NotImplemented if it is no single kernel.

    Two SparseTensors have the same number of dimensions and do not share a structure. A dense one may come
    first.
    """
    swapped = not isinstance(a, SparseTensor)
    if swapped:
        a, b = b, a
    if not isinstance(b, torch.Tensor):
        return NotImplemented
    if torch.compiler.is_dynamo_compiling() or not _C.plain() or _torch.DEBUG_STAGES:
        return NotImplemented
    if is_composed(a._fmt) or (isinstance(b, SparseTensor) and is_composed(b._fmt)):
        return NotImplemented
    own, left = core_of(a), a._val.dtype
    if isinstance(b, SparseTensor):
        shape, right, kind = core_of(b), b._val.dtype, (b._ndim, b._fmt)
        if a._ndim != b._ndim or share_arrays(a, b):
            return NotImplemented
    elif b.__class__ in _torch.PLAIN and b.layout is torch.strided and not b.is_neg():
        shape, right, kind = b.shape, b.dtype, (b.dim(), "dense")
    else:
        return NotImplemented
    name, truth = _known(name, left, right)
    program = _plainly(name, (a._ndim, a._fmt), kind, swapped) if name and kind[0] else None
    if program is None or not own.ends_with(shape):
        return NotImplemented
    recorded = needs_grad(a, b)
    if recorded and (truth or (kind[1] == "dense" and name in ("maximum", "minimum"))):
        return NotImplemented  # extrema beside a dense tensor are torch's: it has a gradient where one is NaN
    try:
        found = run_eagerly(program, [a, b], run) if recorded else _C.evaluate(program, (a, b), None)
    except NotImplementedError:
        return NotImplemented
    if found is NotImplemented:
        return NotImplemented
    (made,) = from_run(found)
    return made.bool() if truth else made


def evaluated(name: str, a: torch.Tensor, b: torch.Tensor, format: str) -> SparseTensor | None:
    """``name`` (of torch) of two tensors of at least one dimension in a format, or None."""
    name, truth = _known(name, a.dtype, b.dtype)
    if name is None:
        return None
    shape = _torch.broadcast(a.shape, b.shape)
    left, right = _access("A", a, shape), _access("B", b, shape)
    if left is None or right is None or len(shape) > len(_LETTERS):
        return None
    text = f"C[{','.join(_LETTERS[: len(shape)])}] = {_TEXT[name].format(left[0], right[0])}"
    try:
        made = evaluate(text, A=left[1], B=right[1], format=format)
    except NotImplementedError:
        return None
    return made.bool() if truth else made


def forms_dense(a: SparseTensor, b: SparseTensor, format: str) -> bool:
    """Whether kernels form a sparse sum of two dense, and would drop what is zero in it.

    They do where nothing stored bounds a loop: over what is repeated, and over dense levels alone.
    """
    if layout(format, max(a._ndim, b._ndim)).is_dense:
        return False
    return a.shape != b.shape or any(layout(x._fmt, x._ndim).is_dense for x in (a, b))


def _places(x: SparseTensor, dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(1, len(x._val) + 1, dtype=dtype, device="cpu")


def _summed(tensors: Sequence[SparseTensor], format: str) -> tuple[SparseTensor, list[torch.Tensor]] | None:
    """A sum's structure, and for each entry the places of every tensor's value; None where it is no kernel.

    The places are one number, which is not zero where one stores: all of a dense sum's entries stay.
    """
    bits = [len(x._val).bit_length() for x in tensors]
    size = math.prod(reduce(_torch.broadcast, [x.shape for x in tensors]))
    known = sum(len(x._val) * (size // max(x.numel(), 1)) for x in tensors)
    large = size > _ROOM * known and any(forms_dense(x, y, format) for x, y in pairwise(tensors))
    if sum(bits) >= 63 or large:
        return None
    made = None
    for x, at in zip(tensors, accumulate(bits, initial=0), strict=False):
        numbered = x._with_values(_places(x, torch.int64) << at)
        made = numbered if made is None else evaluated("add", made, numbered, format)
        if not isinstance(made, SparseTensor):
            return None
    places, rest = [], made._val
    for n in bits:
        places.append(rest & (1 << n) - 1)
        rest >>= n
    return made, places


def _multiplied(
    a: SparseTensor, b: SparseTensor, format: str
) -> tuple[SparseTensor, list[torch.Tensor]] | None:
    """As _summed, for a product of two of one shape that have a structure."""
    if a.shape != b.shape or max(len(a._val), len(b._val)) >= 2**31 - 1:
        return None
    if len(a._names) == 1 or len(b._names) == 1:
        return None
    at, made = [], None
    for k, x in enumerate((a, b)):
        pair = [y._with_values(torch.ones_like(y._val, dtype=torch.int32)) for y in (a, b)]
        pair[k] = x._with_values(_places(x, torch.int32))
        made = evaluated("mul", *pair, format)
        if not isinstance(made, SparseTensor):
            return None
        at.append(made._val)
    return made, at


def meeting(f: Callable, name: str, tensors: Sequence[SparseTensor], format: str) -> SparseTensor | None:
    """f of the values of all where a sum of them, or a product of two, has entries, or None; eager only.

    Kernels compute the places of their values, counted from 1: 0 is where others alone store.
    """
    if _torch.is_compiling() or _torch.in_transform():
        return None
    found = _multiplied(*tensors, format) if name == "mul" else _summed(tensors, format)
    if found is None:
        return None
    made, places = found
    values = [
        torch.cat([x._val.new_zeros(1), x.values()]).index_select(0, at)
        for x, at in zip(tensors, places, strict=True)
    ]
    return made._with_values(f(*values))


def stored(a: SparseTensor, b: torch.Tensor) -> torch.Tensor | None:
    """The values of b, broadcast, at the places of a, or None."""
    ones = a._with_values(torch.ones_like(a._val, dtype=b.dtype))
    picked = evaluated("mul", ones, b, a._fmt)
    if not isinstance(picked, SparseTensor) or picked._fmt != a._fmt or picked._val.shape != a._val.shape:
        return None
    return picked.values()

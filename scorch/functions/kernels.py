"""Element-wise operations of two tensors as index notation, where kernels have the operation and the types.

What comes back is None where they do not: then the coordinates decide, in torch.
"""

from __future__ import annotations

from functools import lru_cache

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
_TESTS = {"gt", "lt", "ne", "greater", "less", "not_equal"}
_TYPES = {torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64}
_LETTERS = "abcdefghijklmnop"


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
def _plainly(name: str, left: tuple, right: tuple) -> str | None:
    """The program of ``name`` of operands (ndim, format); None where it takes more than a kernel."""
    text = _TEXT.get(_SAME.get(name, name))
    (ndim, format), (rank, other) = left, right
    repeated = any(
        not unique for n, fmt in (left, right) if fmt != "coo" for _, unique, *_ in layout(fmt, n).levels
    )
    slots = any(has_slots(layout(fmt, n)) for n, fmt in (left, right))
    if text is None or repeated or slots:
        return None
    if other == "dense" and "*" not in text and "/" not in text:  # dense results
        return None
    letters = ",".join(_LETTERS[:ndim])
    second = ",".join(_LETTERS[ndim - rank : ndim])
    text = f"C[{letters}] = {text.format(f'A[{letters}]', f'B[{second}]')}"
    kinds = (left, None if other == "dense" else right)
    return known_program(text, ("A", "B"), kinds, format, None, "zero")


def quickly(name: str, a: object, b: object) -> torch.Tensor:
    """``name`` of a SparseTensor and a tensor of its last extents; NotImplemented if it is no single kernel.

    Two SparseTensors have the same number of dimensions and do not share a structure.
    """
    if not isinstance(a, SparseTensor) or not isinstance(b, torch.Tensor):
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
    program = _plainly(name, (a._ndim, a._fmt), kind) if kind[0] else None
    if program is None or not own.ends_with(shape) or left not in _TYPES or right not in _TYPES:
        return NotImplemented
    recorded = needs_grad(a, b)
    if (not left.is_floating_point and " / " in program) or (recorded and name in _TESTS):
        return NotImplemented
    try:
        found = run_eagerly(program, [a, b], run) if recorded else _C.evaluate(program, (a, b), None)
    except NotImplementedError:
        return NotImplemented
    if found is NotImplemented:
        return NotImplemented
    (made,) = from_run(found)
    return made.bool() if name in _TESTS else made


def evaluated(name: str, a: torch.Tensor, b: torch.Tensor, format: str) -> SparseTensor | None:
    """``name`` (of torch) of two tensors of at least one dimension in a format, or None."""
    name = _SAME.get(name, name)
    text, types = _TEXT.get(name), {a.dtype, b.dtype}
    if text is None or not types <= _TYPES:
        return None
    if name == "div" and not a.dtype.is_floating_point:
        return None
    shape = _torch.broadcast(a.shape, b.shape)
    left, right = _access("A", a, shape), _access("B", b, shape)
    if left is None or right is None or len(shape) > len(_LETTERS):
        return None
    text = f"C[{','.join(_LETTERS[: len(shape)])}] = {text.format(left[0], right[0])}"
    try:
        made = evaluate(text, A=left[1], B=right[1], format=format)
    except NotImplementedError:
        return None
    return made.bool() if name in _TESTS else made


def stored(a: SparseTensor, b: torch.Tensor) -> torch.Tensor | None:
    """The values of b, broadcast, at the places of a, or None."""
    ones = a._with_values(torch.ones_like(a._val, dtype=b.dtype))
    picked = evaluated("mul", ones, b, a._fmt)
    if not isinstance(picked, SparseTensor) or picked._fmt != a._fmt or picked._val.shape != a._val.shape:
        return None
    return picked.values()

"""Element-wise operations of two tensors as index notation, where kernels have the operation and the types.

What comes back is None where they do not: then the coordinates decide, in torch.
"""

from __future__ import annotations

import torch

from . import _ops
from ._format import layout
from ._tensor import SparseTensor

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


def _in_blocks(x: torch.Tensor) -> bool:
    return isinstance(x, SparseTensor) and any(level[3] for level in layout(x._fmt, x._ndim).levels)


def evaluated(name: str, a: torch.Tensor, b: torch.Tensor, format: str) -> SparseTensor | None:
    """``name`` (of torch) of two tensors of at least one dimension in a format, or None."""
    name = _SAME.get(name, name)
    text, types = _TEXT.get(name), {a.dtype, b.dtype}
    if text is None or not types <= _TYPES:
        return None
    if (name == "div" and not a.dtype.is_floating_point) or _in_blocks(a) or _in_blocks(b):
        return None
    shape = torch.broadcast_shapes(a.shape, b.shape)
    left, right = _access("A", a, shape), _access("B", b, shape)
    if left is None or right is None or len(shape) > len(_LETTERS):
        return None
    text = f"C[{','.join(_LETTERS[: len(shape)])}] = {text.format(left[0], right[0])}"
    try:
        made = _ops.evaluate(text, A=left[1], B=right[1], format=format)
    except NotImplementedError:
        return None
    return made.bool() if name in ("gt", "lt", "ne") else made


def stored(a: SparseTensor, b: torch.Tensor) -> torch.Tensor | None:
    """The values of b, broadcast, at the places of a, or None."""
    ones = a._with_values(torch.ones_like(a._val, dtype=b.dtype))
    picked = evaluated("mul", ones, b, a._fmt)
    if picked is None or picked._fmt != a._fmt or picked.nnz != a.nnz:
        return None
    return picked.values()

"""Dense tensors whose zeros are found in the call.

Activations behind a ReLU, padded batches and masks are dense in memory and mostly zero, at other places in
every call. A product with such a matrix runs in one of three ways (``ways``).

The idea is that of PIT (Zheng et al., SOSP 2023): nothing has to be known before the call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import torch
from torch.nn import functional as F

from .. import _C, _torch
from ..tensor.entries import Entries, build, places, unravel
from ..tensor.making import sparse
from ..tensor.sparsetensor import SparseTensor
from . import autocast, ways
from .ways import multiply

_TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


# ---- products ----
def _at_once(h: Dynamic, w: object) -> torch.Tensor | None:
    """h @ w of plain matrices that fit, without derivatives; None where more goes on."""
    if h._valid is not None or h._tile or torch.compiler.is_dynamo_compiling():
        return None
    return ways.at_once(h._x, w)


class _Product(_torch.AutogradNode):
    """``multiply``; its derivatives are such products again."""

    @staticmethod
    def forward(ctx, x, w, valid, turned):
        ctx.save_for_backward(x, w, valid)
        ctx.turned = turned
        return multiply(x, w, valid, turned)

    @staticmethod
    def backward(ctx, grad):
        return *gradients(times, *ctx.saved_tensors, ctx.turned, grad, ctx.needs_input_grad), None, None


def gradients(
    times: Callable,
    x: torch.Tensor,
    w: torch.Tensor,
    valid: torch.Tensor | None,
    turned: bool,
    grad: torch.Tensor,
    needed: Sequence[bool],
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """The gradients of ``times(x, w, valid, turned)`` to x and w: that to x is dense where x is zero, too."""
    to_x = to_w = None
    if needed[0]:
        left, right = (w, grad.t()) if turned else (grad, w.t())
        to_x = torch.mm(left, right) if valid is None else times(left, right, valid, False)
    if needed[1]:
        to_w = times(x, grad, valid, not turned)
    return to_x, to_w


def _counted(x: torch.Tensor, valid: torch.Tensor | None) -> torch.Tensor:
    """x, zero in rows that do not count."""
    return x if valid is None else x.masked_fill(~valid.unsqueeze(-1), 0)


def by_operations(x: torch.Tensor, w: torch.Tensor, valid: torch.Tensor | None, turned: bool) -> torch.Tensor:
    """``multiply`` by operations that every transform knows, also of batches."""
    x = _counted(x, valid)
    return torch.matmul(x.mT if turned else x, w)


def times(x: torch.Tensor, w: torch.Tensor, valid: torch.Tensor | None, turned: bool) -> torch.Tensor:
    """``multiply``, recorded where a gradient is asked for, and one operator where torch traces."""
    if _torch.is_tracing(x, w):
        return torch.ops.scorch.dynamic_product(x, w, valid, turned)
    if valid is None and ways.is_short(x, w):
        return torch.mm(x.t() if turned else x, w)
    recorded = torch.is_grad_enabled() and _torch.any_requires_grad(x, w)
    return (_Product.apply if recorded else multiply)(x, w, valid, turned)


@_torch.node
def _sparse_in_graph(x: torch.Tensor) -> SparseTensor:
    """Where x is not zero, differentiably, by rows: one node of a graph of torch.compile."""
    flat, shape = x.reshape(-1), tuple(x.shape)
    at = places(flat.detach() != 0)
    return build(Entries(shape, unravel(at, shape), flat[at]), "csr", torch.int32)


# ---- what the user holds ----
class Dynamic:
    """A dense tensor whose zeros are found in each product; made by :func:`dynamic`.

    ``@``, ``F.linear``, ``torch.matmul``, ``torch.mm``, ``scorch.einsum`` and ``scorch.evaluate`` look for
    its zeros; what they give is of the kind that the dense tensor gives. Every other function, method and
    operator of torch takes it as the dense tensor that it is, and gives a dense one. What would change it in
    place is no method of it.
    """

    def __init__(self, x: torch.Tensor, valid: torch.Tensor | None, tile: tuple[int, int] | None) -> None:
        self._x, self._valid, self._tile = x, valid, tile

    @property
    def shape(self) -> torch.Size:
        return self._x.shape

    @property
    def dtype(self) -> torch.dtype:
        return self._x.dtype

    @property
    def device(self) -> torch.device:
        return self._x.device

    @property
    def ndim(self) -> int:
        return self._x.dim()

    @property
    def requires_grad(self) -> bool:
        return self._x.requires_grad

    def dim(self) -> int:
        return self._x.dim()

    def size(self, dim: int | None = None) -> torch.Size | int:
        return self._x.shape if dim is None else self._x.shape[dim]

    def to_dense(self) -> torch.Tensor:
        """The tensor, zero in rows that do not count."""
        return _counted(self._x, self._valid)

    def way(self, w: torch.Tensor) -> str:
        """What the product with a matrix w takes now: "dense", "rows" or "values"."""
        if self._valid is not None:
            return "rows"
        return ways.expected(_as_matrix(self._x.detach().resolve_neg()), w.detach())

    def mask_shape(self) -> torch.Size:
        """The shape as a mask of attention: tiles spread out."""
        *lead, n, m = self._x.shape
        rows, columns = self._tile or (1, 1)
        return torch.Size([*lead, n * rows, m * columns])

    def tiles_said(self) -> str:
        """How the shape of a mask comes about, in words; nothing where it has no tiles."""
        return f", which is tile={self._tile} for each of the blocks {list(self.shape)}" if self._tile else ""

    def as_mask(self) -> SparseTensor:
        """As a mask of attention: sparse, and of single entries where it is of blocks."""
        x = self.to_dense()
        for dim, n in zip((-2, -1), self._tile or (1, 1), strict=True):
            x = x.repeat_interleave(n, dim)
        if not _torch.is_compiling():
            return sparse(x, "auto")
        _torch.admit_nodes()
        return _sparse_in_graph(x)

    def __getattr__(self, name: str) -> object:
        """What a dense tensor has by this name."""
        if name.startswith("_") or name.endswith("_") or not hasattr(torch.Tensor, name):
            raise AttributeError(f"scorch.dynamic(x) has no {name}: use x, or to_dense()")
        return getattr(self.to_dense(), name)

    def __matmul__(self, other: object) -> torch.Tensor:
        return _matmul(self, other)

    def __rmatmul__(self, other: object) -> torch.Tensor:
        return _matmul(other, self)

    def __repr__(self) -> str:
        by = "" if self._valid is None else ", rows that a mask names"
        return f"Dynamic({'x'.join(map(str, self.shape))}, {self.dtype}{by})".replace("torch.", "")

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        body = _BODIES.get(func)
        if body is not None and kwargs.keys() <= _OPERANDS:
            return body(*args, **kwargs)
        return func(*unwrapped(args), **{name: unwrapped(x) for name, x in kwargs.items()})


def _of_dense(name: str) -> Callable:
    def operate(self: Dynamic, *args: object) -> object:
        return getattr(self.to_dense(), name)(*map(unwrapped, args))

    return operate


_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv mod pow rpow neg abs and or xor invert "
    "lt le gt ge eq ne bool len iter getitem"
)
for _name in _OPERATORS.split():
    setattr(Dynamic, f"__{_name}__", _of_dense(f"__{_name}__"))


def unwrapped(x: object) -> object:
    """The dense tensor that x is, also in lists and tuples."""
    if isinstance(x, Dynamic):
        return x.to_dense()
    return type(x)(map(unwrapped, x)) if type(x) in (tuple, list) else x


def _casts() -> bool:
    """Whether autocast says what products are computed in; a graph has dense ones there."""
    return autocast.is_on() and not torch.compiler.is_dynamo_compiling()


def _cast(f: Callable, *operands: object) -> torch.Tensor:
    """f of the operands in the type of autocast."""
    own = [x._x if isinstance(x, Dynamic) else x for x in operands]
    pairs = zip(operands, autocast.cast(*own), strict=True)
    given = [Dynamic(y, x._valid, x._tile) if isinstance(x, Dynamic) else y for x, y in pairs]
    with torch.autocast("cpu", enabled=False):
        return f(*given)


def _is_matrix(x: object, other: torch.Tensor) -> bool:
    """Whether a product with x is one of this module."""
    if not isinstance(x, torch.Tensor) or isinstance(x, SparseTensor) or x.layout is not torch.strided:
        return False
    return x.dim() == 2 and x.dtype == other.dtype and not torch.is_autocast_enabled("cpu")


def _fits(bias: torch.Tensor, *of: torch.Tensor) -> bool:
    """Whether a bias has a number for each column of the last of these, of its type, and none is traced."""
    last = of[-1]
    return bias.shape == last.shape[1:] and bias.dtype == last.dtype and not _torch.is_tracing(*of, bias)


def _plus(y: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """y, which nobody else holds, and a bias of each column: in place where that gives the same."""
    if bias is None:
        return y
    return y.add_(bias) if _fits(bias, y) else y + bias


def _adds_at_once(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> bool:
    """Whether a product over rows can begin with a bias: where nothing records it, too."""
    return _fits(bias, x, w) and not (torch.is_grad_enabled() and _torch.any_requires_grad(x, w, bias))


def _as_matrix(x: torch.Tensor) -> torch.Tensor:
    return x[None].flatten(0, -2)


def _rows_times(h: Dynamic, w: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """h [.., k] @ w [k, n] + bias"""
    x, valid = h._x, h._valid
    if x.shape[-1] != w.shape[0]:
        raise ValueError(f"matmul: expected {x.shape[-1]} rows on the right, got {w.shape[0]}")
    flat = x.dim() == 2
    rows = x if flat else _as_matrix(x)
    valid = None if valid is None else valid.reshape(-1)
    if valid is None or bias is None or not _adds_at_once(x, w, bias):
        y = _plus(times(rows, w, valid, False), bias)
    else:
        y = multiply(rows, w, valid, False, bias)
    return y if flat else y.reshape(*x.shape[:-1], w.shape[1])


def expect_no_tiles(*operands: object) -> None:
    """Raises ValueError where an operand is a mask of blocks, of which there are no products."""
    if any(isinstance(x, Dynamic) and x._tile for x in operands):
        raise ValueError(
            "dynamic: expected no tile= in a product, which would take each block as one value: it is for a "
            "mask of scorch.attention; leave it out"
        )


def _matmul(input: object, other: object) -> torch.Tensor:
    if isinstance(input, Dynamic) and (y := _at_once(input, other)) is not None:
        return y
    if _casts():
        return _cast(_matmul, input, other)
    expect_no_tiles(input, other)
    if isinstance(input, Dynamic) and _is_matrix(other, input._x) and input._x.dim() > 0:
        return _rows_times(input, other, None)
    if isinstance(other, Dynamic) and other.dim() == 2 and _is_matrix(input, other._x):
        if input.shape[1] != other.shape[0]:
            raise ValueError(f"matmul: expected {input.shape[1]} rows on the right, got {other.shape[0]}")
        return times(other._x, input.t(), other._valid, True).t()
    return torch.matmul(unwrapped(input), unwrapped(other))


def _linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    whole = isinstance(input, Dynamic) and isinstance(weight, torch.Tensor) and weight.dim() == 2
    if whole and (y := _at_once(input, weight.t())) is not None:
        return _plus(y, unwrapped(bias))
    if _casts():
        return _cast(_linear, input, weight, bias)
    expect_no_tiles(input, weight)
    if whole and _is_matrix(weight, input._x) and input.dim() > 0:
        return _rows_times(input, weight.t(), unwrapped(bias))
    return F.linear(unwrapped(input), unwrapped(weight), unwrapped(bias))


def _is_product(a: torch.Size, b: torch.Size) -> bool:
    """Whether torch.matmul takes operands of these shapes."""
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
        return False
    return all(n == m or 1 in (n, m) for n, m in zip(a[-3::-1], b[-3::-1], strict=False))


def _method(input: object, other: object) -> torch.Tensor:
    """``Tensor.matmul``, and what torch.compile makes of ``h @ w``: with the operands turned round."""
    turned = torch.compiler.is_dynamo_compiling() and not isinstance(input, Dynamic)
    if not turned or not _is_product(other.shape, input.shape):
        return _matmul(input, other)
    if _is_product(input.shape, other.shape):
        raise NotImplementedError("torch.compile does not tell h @ w from w @ h: use torch.matmul(h, w)")
    return _matmul(other, input)


def _mm(input: object, mat2: object) -> torch.Tensor:
    for x in (input, mat2):
        if x.dim() != 2:
            raise ValueError(f"mm: expected matrices, got a tensor of {x.dim()} dimensions")
    return _matmul(input, mat2)


_BODIES = {
    F.linear: _linear,
    torch.matmul: _matmul,
    torch.Tensor.matmul: _method,
    torch.Tensor.__matmul__: _matmul,
    operator.matmul: _matmul,
    torch.mm: _mm,
    torch.Tensor.mm: _mm,
}
# Names of operands: where anything else is given by name, as out=, functions take the dense tensor.
_OPERANDS = {"input", "other", "mat2", "weight", "bias"}


def resolved(h: Dynamic) -> torch.Tensor:
    """As an operand of an expression: sparse where most values are zero, and no gradient is asked of it."""
    expect_no_tiles(h)
    x = h.to_dense().resolve_neg()
    if _torch.is_tracing(x) or (x.requires_grad and torch.is_grad_enabled()) or x.dim() < 2 or not x.numel():
        return x
    matrix = x.detach().reshape(-1, x.shape[-1])
    most = (1 - ways.WORTH) / 2 * matrix.numel()
    return x if _C.census(matrix, 1)[2] > most else sparse(x, "auto")


@_torch.symbolic
def dynamic(
    x: torch.Tensor, by: str | torch.Tensor = "nonzero", tile: tuple[int, int] | None = None
) -> Dynamic:
    """A dense tensor whose zeros are found in the call: ``scorch.dynamic(relu(x @ W1)) @ W2``.

    A product with a matrix runs dense, over the rows that are not zero, or over the values that are not,
    whichever is expected to be fastest; what each takes is measured at the first product of a shape, and now
    and again at later ones. The
    result is that of the dense product, up to the order of sums, but that a zero times an infinity may be
    left out. Gradients are those of the dense product, also where x is zero.

    Args:
        x: [..., k], float32, float64, bfloat16 or float16, on the CPU; a mask of attention may be of bool.
        by: "nonzero", or a mask of bool: [...], the rows of x that count, the others taken as zero, as in
            padded batches; or of the shape of x, the values that count.
        tile: (r, c): x is a mask of blocks of r rows and c columns, for :func:`scorch.attention` and no
            product.

    Raises:
        TypeError: x is no dense tensor of a floating point type, or by is no mask.
        ValueError: shapes do not fit.

    >>> hidden = torch.randn(64, 256).relu()
    >>> y = scorch.dynamic(hidden) @ torch.rand(256, 32)
    >>> y.shape
    torch.Size([64, 32])
    """
    plain = x.__class__ in _torch.PLAIN and x.layout is torch.strided and x.dtype in _TYPES
    if plain and tile is None and by.__class__ is str and by == "nonzero":  # most calls
        return Dynamic(x, None, None)
    if isinstance(x, SparseTensor) or not isinstance(x, torch.Tensor) or x.layout is not torch.strided:
        raise TypeError(f"dynamic: expected a dense torch.Tensor, got {type(x).__name__}")
    if x.dtype not in _TYPES and x.dtype is not torch.bool:
        raise TypeError(
            f"dynamic: expected a floating point type of at most 64 bits or a mask, got {x.dtype}"
        )
    pair = isinstance(tile, tuple | list) and len(tile) == 2
    if tile is not None and not (pair and min(tile) >= 1 and x.dim() >= 2):
        raise ValueError(f"dynamic: expected tile=(rows, columns) of a mask of two dimensions, got {tile}")
    if isinstance(by, str):
        if by != "nonzero":
            raise ValueError(f'dynamic: by: expected "nonzero" or a mask, got {by!r}')
        return Dynamic(x, None, tile)
    if not isinstance(by, torch.Tensor) or by.dtype is not torch.bool:
        got = by.dtype if isinstance(by, torch.Tensor) else type(by).__name__
        raise TypeError(f'dynamic: by: expected "nonzero" or a mask of torch.bool, got {got}')
    if by.shape == x.shape:
        return Dynamic(x.masked_fill(~by, 0), None, tile)
    if by.shape != x.shape[:-1]:
        raise ValueError(
            f"dynamic: by: expected a mask {list(x.shape[:-1])} of rows or {list(x.shape)} of values, got "
            f"{list(by.shape)}"
        )
    return Dynamic(x, by, tile)

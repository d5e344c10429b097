"""Dense tensors whose zeros are found in the call.

Activations behind a ReLU, padded batches and masks are dense in memory and mostly zero, at other places in
every call. A product with such a matrix runs in one of three ways: dense; dense over its rows that are not
zero; or over its values that are not, listed anew. A sample of its rows says what to expect. Only where that
looks better than dense are all values looked at, up to the number from which on dense is faster, so a sample
that misleads costs a part of one pass over the matrix. What each way takes is measured at the first product
of a shape, in turns, and again at the eighth and whenever there were twice as many.

The idea is that of PIT (Zheng et al., SOSP 2023): nothing has to be known before the call.
"""

from __future__ import annotations

import operator
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch.nn import functional as F

from .. import _C, _torch
from ..tensor.entries import Entries, build, places, unravel
from ..tensor.making import sparse
from ..tensor.sparsetensor import MATMUL, TRANSPOSED, SparseTensor

_TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
_WORTH = 0.5  # the share of zeros below which nothing but dense is tried
_SHORT = 1 << 22  # multiply-adds of a product that is too short for any way but dense,
_READ = 8  # where an element of the weight, which has to be read, counts as so many
_MANY = 128  # rows from which on a copy of the weight may pay
_TURNS = 3  # of each way, where they are measured first,
_AGAIN = 8  # and one more at so many products, at twice as many, and so on;
_LAST = 9  # of the last ones the shortest counts
_LEAST = 1e-6  # seconds of a product, however little it adds to finding its values
_SHAPES = 256  # whose speeds are kept


# ---- copies that are kept ----
class _Kept(NamedTuple):
    """Of a weight: what is known of it without reading it, a copy that lies the other way, or None before
    there is one, and the number of what was copied."""

    weight: weakref.ref
    state: tuple
    copy: torch.Tensor | None
    number: bytes | None


_kept: dict[int, _Kept] = {}


def _number_of(w: torch.Tensor) -> bytes | None:
    """A number for what a weight holds, whoever wrote it: torch does not count what fused optimizers do."""
    whole = w if w.is_contiguous() else w.t()
    return _torch.contents(whole) if whole.is_contiguous() else None


def _copy_of(w: torch.Tensor, at_once: bool) -> torch.Tensor | None:
    """A contiguous copy of a weight, kept until it changes; if not at once, from its second call on: weights
    that are trained are others in each."""
    if w.is_inference():  # torch does not count what is written to it
        return w.contiguous() if at_once else None
    base = w if w._base is None else w._base
    key, state = id(base), (_torch.address(w), w._version, tuple(w.shape), w.stride())
    kept = _kept.get(key)
    same = kept is not None and kept.weight() is base and kept.state == state
    copy = number = None
    if same or at_once:
        number = _number_of(w)
        if same and kept.copy is not None and kept.number == number:
            return kept.copy
        copy = _torch.lasting(w.detach().contiguous)
    lasts = None if number is None else copy
    _kept[key] = _Kept(weakref.ref(base, lambda _: _kept.pop(key, None)), state, lasts, number)
    return copy


def _lies_along_rows(w: torch.Tensor) -> bool:
    return w.stride(1) == 1 or w.shape[1] == 1


def _along_rows(w: torch.Tensor) -> torch.Tensor:
    """A matrix whose rows are contiguous."""
    return w if _lies_along_rows(w) else _copy_of(w, True)


# ---- the ways: x [m, k] @ w [k, n], or, turned, x.T @ w of w [m, n] ----
def _dense(x: torch.Tensor, w: torch.Tensor, turned: bool) -> torch.Tensor:
    return torch.mm(x.t() if turned else x, w)


def _by_library(x: torch.Tensor, w: torch.Tensor, turned: bool) -> torch.Tensor:
    """oneDNN, which torch carries: on some CPUs it is faster than what torch.mm calls."""
    return torch.ops.mkldnn._linear_pointwise(x.t() if turned else x, w.t(), None, "none", [], "")


def _by_library_along_columns(x: torch.Tensor, w: torch.Tensor, turned: bool) -> torch.Tensor:
    """oneDNN over columns that are contiguous: for many rows of x it is faster."""
    copy = _copy_of(w.t(), False)
    return _by_library(x, w if copy is None else copy.t(), turned)


def _listed(x: torch.Tensor, w: torch.Tensor, turned: bool) -> object:
    """What the way over values begins with: to find them takes long, however many there are."""
    return _C.few(x, 1 << 62)


def _looked(x: torch.Tensor, w: torch.Tensor, turned: bool) -> object:
    """What goes before it, however many values there are: whether the copy of a weight is still the same."""
    return None if _lies_along_rows(w) else _number_of(w)


def _by_values(x: torch.Tensor, w: torch.Tensor, turned: bool, most: int = 1 << 62) -> torch.Tensor | None:
    """Over the values that are not zero; None where there are more than ``most``."""
    core, w = _C.few(x, most), _along_rows(w)
    if core is None:
        return None
    y = _C.matmul(core, w, TRANSPOSED if turned else MATMUL)
    if y is not NotImplemented:
        return y
    a = sparse(x, "csr")
    return (a.T if turned else a) @ w


def _room(x: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """A matrix of the type of x, not zeroed: to clear new memory takes as long as many a product."""
    return _C.room(x, rows, columns) if x.__class__ in _torch.PLAIN else x.new_empty(rows, columns)


def _full(x: torch.Tensor, w: torch.Tensor, turned: bool) -> torch.Tensor:
    """What the way over rows begins with: where rows are that are not zero."""
    return x.any(1).nonzero().squeeze(1)


def _at_rows(
    x: torch.Tensor, w: torch.Tensor, turned: bool, rows: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """Over the rows of x at these places, whether they are zero or not.

    Not turned, with a bias of each column, which all rows begin with: another pass over rows that are zero
    would take as long as many a product.
    """
    if rows.numel() == x.shape[0]:
        return _dense(x, w, turned) if bias is None else torch.addmm(bias, x, w)
    picked = x.index_select(0, rows)
    if turned:
        return torch.mm(picked.t(), w.index_select(0, rows))
    found, y = (_room(x, n, w.shape[1]) for n in (rows.numel(), x.shape[0]))
    if bias is None:
        return y.zero_().index_copy_(0, rows, torch.mm(picked, w, out=found))
    return y.copy_(bias).index_copy_(0, rows, torch.addmm(bias, picked, w, out=found))


def _at_none(x: torch.Tensor, w: torch.Tensor, turned: bool) -> torch.Tensor:
    """What a product over rows takes, however few there are."""
    return _at_rows(x, w, turned, torch.arange(0, device="cpu"))


def _at_half(x: torch.Tensor, w: torch.Tensor, turned: bool) -> torch.Tensor:
    return _at_rows(x, w, turned, torch.arange(0, x.shape[0], 2, device="cpu"))


def _by_rows(x: torch.Tensor, w: torch.Tensor, turned: bool, most: int = 1 << 62) -> torch.Tensor | None:
    """Over the rows that are not zero; None where there are more than ``most``."""
    rows = _full(x, w, turned)
    return _at_rows(x, w, turned, rows) if rows.numel() <= most else None


# ---- which one ----
class Speeds(NamedTuple):
    """Of products of a shape: the dense way, and seconds of a row of it, of a row that is looked through, of
    a look at the weight, and of a value that is found; of a row that is zero where the others are picked, and
    of what each of those adds."""

    dense: Callable
    row: float
    scan: float
    look: float
    value: float
    passed: float
    picked: float


class _Turn(NamedTuple):
    """Seconds of each dense way, and of _OTHERS or nothing, run once over so many rows and values."""

    dense: list[float]
    others: list[float]
    rows: int
    values: float


_OTHERS = (_full, _at_none, _at_half, _listed, _looked, _by_values)


class _Shape:
    """What was measured of products of a shape, and how many there were."""

    __slots__ = ("products", "speeds", "turns", "ways")

    def __init__(self, ways: Sequence[Callable], speeds: Speeds | None = None) -> None:
        self.ways, self.speeds, self.products = list(ways), speeds, 0
        self.turns: deque[_Turn] = deque(maxlen=_LAST)

    def is_due(self) -> bool:
        """Others may have kept the machine busy before: each time that there were twice as many products."""
        self.products += 1
        return self.products >= _AGAIN and not self.products & (self.products - 1)

    def run(self, x: torch.Tensor, w: torch.Tensor, turned: bool, values: float, turns: int) -> None:
        """values: how many are listed; 0: nothing but dense is tried."""
        ways = [*self.ways, *(_OTHERS if values else ())]
        for _ in range(turns):
            seconds, n = _times(ways, x, w, turned), len(self.ways)
            self.turns.append(_Turn(seconds[:n], seconds[n:], x.shape[0], values))
        self.speeds = _speeds(self.ways, self.turns)


_known: dict[tuple, _Shape] = {}


def _key(x: torch.Tensor, w: torch.Tensor, turned: bool) -> tuple:
    """Numbers of rows count in powers of two."""
    return x.shape[0].bit_length(), x.shape[1], w.shape[1], x.dtype, w.stride(1) == 1, turned


def _times(ways: Sequence[Callable], *args: object) -> list[float]:
    """Seconds of each, one after another."""
    found = []
    for way in ways:
        start = time.perf_counter()
        way(*args)
        found.append(time.perf_counter() - start)
    return found


def _speeds(ways: Sequence[Callable], turns: Sequence[_Turn]) -> Speeds:
    """By the shortest times of turns: whatever else ran then made none of them shorter."""
    dense = [min(t.dense[k] / t.rows for t in turns) for k in range(len(ways))]
    best = dense.index(min(dense))
    turns = [t for t in turns if t.others]
    if not turns:
        return Speeds(ways[best], dense[best], 0.0, 0.0, 0.0, 0.0, 0.0)
    full, least, half, scan = (min(t.others[k] / t.rows for t in turns) for k in range(4))
    look, rows = min(t.others[4] for t in turns), turns[-1].rows
    value = min(max(t.others[5] - look - scan * t.rows, _LEAST) / t.values for t in turns)
    picked = max((half - least) * rows, _LEAST) / ((rows + 1) // 2)
    return Speeds(ways[best], dense[best], scan, look, value, full + least, picked)


def _measured(x: torch.Tensor, w: torch.Tensor, turned: bool, values: float) -> Speeds:
    """What is known of such products, measured where it is not, or again."""
    key = _key(x, w, turned)
    known = _known.get(key)
    if known is None:
        ways = [_dense]
        if x.dtype is torch.float32 and torch.backends.mkldnn.is_available():
            ways.append(_by_library)
            if w.stride(1) == 1 and x.shape[0] >= _MANY:
                ways.append(_by_library_along_columns)
        while len(_known) >= _SHAPES:
            _known.pop(next(iter(_known)))
        known = _known[key] = _Shape(ways)
    first = known.speeds is None or (values and not known.speeds.value)
    if first:
        _times([*known.ways, *(_OTHERS if values else ())], x, w, turned)  # to warm up
    if known.is_due() or first:
        known.run(x, w, turned, values, _TURNS if first else 1)
    return known.speeds


_Census = tuple[int, int, int]  # rows of a sample, those that are not zero, and values that are not


def _sample(x: torch.Tensor, w: torch.Tensor) -> _Census:
    """Of x before a product with w; no rows where nothing but dense pays."""
    if not x.numel() * w.shape[1] or _is_short(x, w):
        return 0, 0, 0
    try:
        return _C.census(x, 0)
    except TypeError:  # of another class, or without memory
        return 0, 0, 0


def _choose(x: torch.Tensor, w: torch.Tensor, turned: bool, sample: _Census) -> tuple[str, int, Callable]:
    """The way that is expected to be fastest, how many values or rows pay for it, and how dense is made."""
    seen, full, values = sample
    if not seen:
        return "dense", 0, _dense
    rows, columns = x.shape
    share = rows / seen
    if values * share > (1 - _WORTH) * rows * columns:
        return "dense", 0, _measured(x, w, turned, 0).dense
    known = _measured(x, w, turned, max(values * share, 1))
    dense = rows * known.row
    before = rows * known.scan + known.look
    listed = before + values * share * known.value
    passed = rows * known.passed
    if full < seen and passed + full * share * known.picked < min(dense, listed):
        return "rows", int((dense - passed) / known.picked), known.dense
    most = max(0, int((dense - before) / known.value))
    return "values" if listed < dense else "dense", most, known.dense


# ---- products ----
def _is_short(x: torch.Tensor, w: torch.Tensor) -> bool:
    return x.numel() * w.shape[1] + _READ * w.numel() < _SHORT


def _prepared(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x along rows, w along rows or columns, which do not overlap."""
    apart = any(a.stride(1) == 1 and a.stride(0) >= a.shape[1] for a in (w, w.t()))
    return x if x.stride(1) == 1 else x.contiguous(), w if apart else w.contiguous()


def multiply(
    x: torch.Tensor,
    w: torch.Tensor,
    valid: torch.Tensor | None,
    turned: bool,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """x [m, k] @ w [k, n], or x.T @ w of w [m, n] if turned, without derivatives.

    valid: bool [m], the rows of x that count; None: all. bias: [n], with rows that count alone.
    """
    if valid is None and _is_short(x, w):
        return _dense(x, w, turned)
    x, w = x.resolve_neg(), w.resolve_neg()
    if valid is not None:
        return _at_rows(x, w, turned, valid.nonzero().squeeze(1), bias)
    x, w = _prepared(x, w)
    return _run(x, w, turned, _sample(x, w))


def _run(x: torch.Tensor, w: torch.Tensor, turned: bool, sample: _Census) -> torch.Tensor:
    way, most, dense = _choose(x, w, turned, sample)
    y = None if way == "dense" else (_by_rows if way == "rows" else _by_values)(x, w, turned, most)
    return dense(x, w, turned) if y is None else y


def _at_once(h: Dynamic, w: object) -> torch.Tensor | None:
    """h @ w of plain matrices that fit, without derivatives; None where more goes on."""
    if h._valid is not None or h._tile or torch.compiler.is_dynamo_compiling():
        return None
    sample = _C.glance(h._x, w, _SHORT, _READ)
    if sample is None:
        return None
    return _run(h._x, w, False, sample) if sample[0] else torch.mm(h._x, w)


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
    if valid is None and _is_short(x, w):
        return _dense(x, w, turned)
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
    its zeros; every other function, method and operator of torch takes it as the dense tensor that it is, and
    gives a dense one. What would change it in place is no method of it.
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
        x, w = _prepared(_as_matrix(self._x.detach().resolve_neg()), w.detach())
        return _choose(x, w, False, _sample(x, w))[0]

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


def _check_tiles(*operands: object) -> None:
    """A product is not one of blocks."""
    if any(isinstance(x, Dynamic) and x._tile for x in operands):
        raise ValueError(
            "dynamic: expected no tile= in a product, which would take each block as one value: it is for a "
            "mask of scorch.attention; leave it out"
        )


def _matmul(input: object, other: object) -> torch.Tensor:
    if isinstance(input, Dynamic) and (y := _at_once(input, other)) is not None:
        return y
    _check_tiles(input, other)
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
    _check_tiles(input, weight)
    if whole and _is_matrix(weight, input._x) and input.dim() > 0:
        return _rows_times(input, weight.t(), unwrapped(bias))
    return F.linear(unwrapped(input), unwrapped(weight), unwrapped(bias))


def _method(input: object, other: object) -> torch.Tensor:
    """``Tensor.matmul``, and what torch.compile makes of ``h @ w``: with the operands turned round."""
    turned = torch.compiler.is_dynamo_compiling() and not isinstance(input, Dynamic)
    if not turned or other.shape[-1] != input.shape[0]:
        return _matmul(input, other)
    if other.shape[0] == input.shape[-1]:
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
    _check_tiles(h)
    x = h.to_dense().resolve_neg()
    if _torch.is_tracing(x) or (x.requires_grad and torch.is_grad_enabled()) or x.dim() < 2 or not x.numel():
        return x
    matrix = x.detach().reshape(-1, x.shape[-1])
    most = (1 - _WORTH) / 2 * matrix.numel()
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

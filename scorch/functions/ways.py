"""The ways of a product with a matrix that may be mostly zero, and which of them is expected to be fastest.

Dense; dense over the rows that are not zero, or that count; over the values that are not zero, listed anew.
A sample of rows says what to expect. Only where that looks better than dense are all values looked at, up to
the number from which on dense is faster, so a sample that misleads costs a part of one pass over the matrix.
What each way takes is measured at the first product of a shape, in turns, and again at the eighth and when
there were twice as many.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from .. import _C, _torch
from ..tensor.making import sparse
from ..tensor.sparsetensor import MATMUL, TRANSPOSED

WORTH = 0.5  # the share of zeros below which nothing but dense is tried
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
def _dense(x: torch.Tensor, w: torch.Tensor, turned: bool, bias: torch.Tensor | None = None) -> torch.Tensor:
    left = x.t() if turned else x
    return torch.mm(left, w) if bias is None else torch.addmm(bias, left, w)


def _by_library(
    x: torch.Tensor, w: torch.Tensor, turned: bool, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """oneDNN, which torch carries: on some CPUs it is faster than what torch.mm calls."""
    return torch.ops.mkldnn._linear_pointwise(x.t() if turned else x, w.t(), bias, "none", [], "")


def _by_library_along_columns(
    x: torch.Tensor, w: torch.Tensor, turned: bool, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """oneDNN over columns that are contiguous: for many rows of x it is faster."""
    copy = _copy_of(w.t(), False)
    return _by_library(x, w if copy is None else copy.t(), turned, bias)


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
    x: torch.Tensor,
    w: torch.Tensor,
    turned: bool,
    rows: torch.Tensor,
    bias: torch.Tensor | None = None,
    dense: Callable | None = None,
) -> torch.Tensor:
    """Over the rows of x at these places, whether they are zero or not; dense: how they are multiplied.

    Not turned, with a bias of each column, which all rows begin with: another pass over rows that are zero
    would take as long as many a product.
    """
    if rows.numel() == x.shape[0]:
        return (dense or _dense)(x, w, turned, bias)
    picked = x.index_select(0, rows)
    if turned:
        return (dense or _dense)(picked, w.index_select(0, rows), True)
    if dense in (None, _dense):
        found = _room(x, rows.numel(), w.shape[1])
        torch.mm(picked, w, out=found) if bias is None else torch.addmm(bias, picked, w, out=found)
    else:
        found = dense(picked, w, False, bias)
    y = _room(x, x.shape[0], w.shape[1])
    return (y.zero_() if bias is None else y.copy_(bias)).index_copy_(0, rows, found)


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


def _fastest(x: torch.Tensor, w: torch.Tensor, turned: bool, rows: int) -> Callable | None:
    """The dense way for so many rows of x; None: torch's, or it does not matter."""
    picked = x[:rows]
    if not rows or x.dtype is not torch.float32 or is_short(picked, w):
        return None
    return _measured(*_prepared(picked, w[:rows] if turned else w), turned, 0).dense


def _sampled(x: torch.Tensor, w: torch.Tensor) -> _Census:
    """Of x before a product with w; no rows where nothing but dense pays."""
    if not x.numel() * w.shape[1] or is_short(x, w):
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
    if values * share > (1 - WORTH) * rows * columns:
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
def is_short(x: torch.Tensor, w: torch.Tensor) -> bool:
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
    if valid is None and is_short(x, w):
        return _dense(x, w, turned)
    x, w = x.resolve_neg(), w.resolve_neg()
    if valid is not None:
        rows = valid.nonzero().squeeze(1)
        return _at_rows(x, w, turned, rows, bias, _fastest(x, w, turned, rows.numel()))
    x, w = _prepared(x, w)
    return _run(x, w, turned, _sampled(x, w))


def expected(x: torch.Tensor, w: torch.Tensor) -> str:
    """The way that x @ w takes, as a sample has it."""
    x, w = _prepared(x, w)
    return _choose(x, w, False, _sampled(x, w))[0]


def _run(x: torch.Tensor, w: torch.Tensor, turned: bool, sample: _Census) -> torch.Tensor:
    way, most, dense = _choose(x, w, turned, sample)
    y = None if way == "dense" else (_by_rows if way == "rows" else _by_values)(x, w, turned, most)
    return dense(x, w, turned) if y is None else y


def at_once(x: torch.Tensor, w: object) -> torch.Tensor | None:
    """x @ w of plain matrices that fit, without derivatives; None where more goes on."""
    sample = _C.glance(x, w, _SHORT, _READ)
    if sample is None:
        return None
    return _run(x, w, False, sample) if sample[0] else torch.mm(x, w)

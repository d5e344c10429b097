"""Formats: how a sparse tensor is laid out, level by level."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import torch

from .. import _C
from . import rooms

if TYPE_CHECKING:
    from .rules import Rule

_RANK_OF_ALIAS = {"auto": 2, "dense": 2, "coo": 2, "csf": 3}  # names for any number of dimensions
_ALIAS = re.compile(
    r"(csr|csc|dcsr|dcsc|bsr|bsc)\b|(ell|dia)\(\s*\d+\s*\)$|sell\(\s*\d+\s*,\s*\d+\s*\)$|bitmask$"
)
_SPELLED = (
    "auto dense coo csr csc dcsr dcsc csf bsr(r,c) bsc(r,c) ell(w) dia(r) sell(r,w) bitmask compressed(d) "
    "singleton(d)"
)
_DIM = re.compile(r"\b(?:dense|compressed|singleton|ell|diagonals|bitmask|planar|sell)\s*\(\s*(\d+)")
HAVE_POS = frozenset(("compressed", "diagonals", "bitmask", "sell"))  # kinds of levels
PADDED = frozenset(("ell", "diagonals", "sell"))
_FULL = frozenset(("dense", "planar"))  # those whose coordinates are not stored


class Layout(NamedTuple):
    """A format bound to a number of dimensions."""

    text: str  # canonical spelling
    names: tuple[str, ...]  # component arrays in order: pos0, crd0, ..., val
    levels: tuple[tuple, ...]  # (kind, unique, dim, part, block, width) of each level; none of composed ones
    parts: tuple[Layout, ...] = ()  # of a composed format
    rules: tuple[Rule | None, ...] = ()  # of each part

    @property
    def is_dense(self) -> bool:
        """Whether no level has coordinates and no dimension is blocked."""
        plain = len(self.names) == 1 and not self.parts
        return plain and all(part == 0 for _, _, _, part, _, _ in self.levels)


@lru_cache(maxsize=1024)
def layout(text: str, ndim: int) -> Layout:
    """The layout of format ``text`` for ``ndim`` dimensions; ValueError if there is none."""
    if is_composed(text) or " of " in text:
        return _composed(text, ndim)
    name, _, levels = _C.format(text, ndim)
    names = []
    for at, (kind, *_rest) in enumerate(levels):
        if kind in HAVE_POS:
            names.append(f"_pos{at}")
        if arrays(kind):
            names.append(f"_crd{at}")
    return Layout(name, (*names, "_val"), levels)


def arrays(kind: str) -> int:
    """How many arrays a level of this kind has: where its positions begin, and their coordinates."""
    return (kind in HAVE_POS) + (kind not in _FULL)


# ---- composed formats: part { "+" part }, part := levels [ "of" rule ] ----
MOST = 8  # parts; csrc/scorch.h


def is_composed(text: str) -> bool:
    """Whether a format lists parts."""
    return "+" in text


def composed_of(formats: Sequence[str], rules: Sequence[Rule | None] = ()) -> str:
    """The text of parts in these formats."""
    rules = (*rules, *[None] * (len(formats) - len(rules)))
    each = zip(formats, rules, strict=True)
    return " + ".join([f"{format} of {rule}" if rule else format for format, rule in each])


def fills(form: Layout) -> bool:
    """Whether it stores places without an entry, as zeros: blocks, and rows that are dense."""
    return any(map(fills, form.parts)) or (bool(form.levels) and form.levels[-1][0] == "dense")


def _buckets(text: str) -> str:
    """hyb(c,k), SparseTIR's: in each of c pieces of the columns, rows of at most 1, 2, 4 .. 2^k entries,
    padded to that, and the rest."""
    found = re.fullmatch(r"hyb\(\s*(\d+)\s*,\s*(\d+)\s*\)", text)
    pieces, most = map(int, found.groups()) if found else (0, 0)
    if not pieces or pieces * (most + 1) + 1 > MOST:
        raise ValueError(
            f"expected hyb(c,k), buckets of rows of at most 1, 2, 4 .. 2^k entries, for each of c pieces of "
            f"the columns, and csr, up to {MOST} parts in all, as hyb(1,{MOST - 2}) or hyb(2,2), got {text}"
            + (": leave out what is added, since the last part is csr" if "+" in text else "")
        )
    parts = [
        f"compressed(0), ell(1, {2**k}) of "
        + (f"bucket({p},{pieces},{2**k})" if pieces > 1 else f"rows(<= {2**k})")
        for p in range(pieces)
        for k in range(most + 1)
    ]
    return " + ".join([*parts, "csr"])


def _composed(text: str, ndim: int) -> Layout:
    if ndim != 2:
        raise ValueError(f"{text}: composed formats are for matrices, got {ndim} dimensions")
    parts, rules = [], []
    for part in text.split("+"):
        levels, of, rule = part.partition(" of ")
        if not levels.strip():
            raise ValueError(
                f"{text}: expected a format on both sides of +, such as bsr(8,8) of blocks(8,8,0.5) + csr"
            )
        if levels.count("(") != levels.count(")"):
            raise ValueError(f"{text}: expected no parentheses around parts, which are listed: a + b + c")
        parts.append(layout(levels.strip(), ndim))
        rules.append(rooms.rules.rule_of(rule) if of else None)
    if len(parts) > MOST:
        raise ValueError(f"{text}: expected up to {MOST} parts, got {len(parts)}: leave some out")
    if rules[-1]:
        raise ValueError(f"{text}: expected the last part without a rule, as it takes the rest: add + csr")
    names = [f"_p{k}{name}" for k, part in enumerate(parts) for name in part.names[:-1]]
    spelled = composed_of([part.text for part in parts], rules)
    return Layout(spelled, (*names, "_val"), (), tuple(parts), tuple(rules))


def pads(text: str) -> bool:
    """Whether a format has positions without an entry, which have no coordinates."""
    return "ell" in text or "dia" in text


@lru_cache(maxsize=1024)
def is_row_major(text: str, ndim: int) -> bool:
    """Whether a format stores entries in row-major order, and nothing else."""
    return not pads(text) and [dim for _, _, dim, *_ in layout(text, ndim).levels] == [*range(ndim)]


_TWICE = re.compile(r"nonunique\)(?!, singleton)")


def repeats(text: str) -> bool:
    """Whether a coordinate may be stored twice: lists of coordinates are told apart by their last level."""
    return "nonunique" in text and _TWICE.search(text) is not None


class _Single(dict):
    """Of formats, found when asked for: whether one stores each entry once and nothing else."""

    def __missing__(self, text: str) -> bool:
        found = self[text] = not repeats(text) and not pads(text)
        return found


SINGLE = _Single()


def is_compressed(form: Layout) -> bool:
    """Whether each coordinate is stored at most once, and there is no padding."""
    lists = ("compressed", "bitmask")
    return any(kind in lists and part == 0 for kind, _, _, part, *_ in form.levels) and all(
        unique and part == 0 and kind in ("dense", *lists) for kind, unique, _, part, *_ in form.levels
    )


def words_at(form: Layout) -> frozenset[int]:
    """Which of its arrays hold words of bits, that are no numbers."""
    found, at = set(), 0
    for part in form.parts or (form,):
        at += len(part.names) - 1
        if part.levels and part.levels[-1][0] == "bitmask":
            found.add(at - 1)
    return frozenset(found)


def has_slots(form: Layout) -> bool:
    """Whether a level has a fixed number of places, which another tensor of this shape may exceed."""
    above = ("", 1)
    for kind, unique, *_ in form.levels:
        if kind in PADDED or (kind == "singleton" and (above[1] or above[0] in ("dense", "ell"))):
            return True
        above = (kind, unique)
    return False


@lru_cache(maxsize=1024)
def relabelled(text: str, ndim: int, dims: tuple[int, ...]) -> str:
    """The format of the tensor whose dimension ``k`` is dimension ``dims[k]`` of one in format ``text``."""
    new = {old: k for k, old in enumerate(dims)}
    if is_composed(text):
        form = layout(text, ndim)
        rules = [rule and (rule.turned() if dims == (1, 0) else rule) for rule in form.rules]
        return composed_of([relabelled(part.text, ndim, dims) for part in form.parts], rules)
    parts = [
        spelled(kind, unique, new[dim], part, block, width)
        for kind, unique, dim, part, block, width in layout(text, ndim).levels
    ]
    return layout(", ".join(parts), ndim).text


def spelled(kind: str, unique: int, dim: int, part: int, block: int, width: int) -> str:
    where = f"{dim}{' /%'[part]}{block}" if part else f"{dim}"
    options = (f", {width}" if kind in PADDED else "") + (f", {block}" if kind == "sell" else "")
    options += "" if unique else ", nonunique"
    return f"{kind}({where}{options})"


def _spell(levels: Sequence[str], order: Sequence[int] | None, block: Sequence[int] | None) -> str:
    for name, numbers in (("order", order), ("block", block)):
        if numbers is not None and not hasattr(numbers, "__len__"):
            raise TypeError(f"{name}: expected a sequence of integers, got {numbers!r}")
    ndim = len(block) if block else len(levels)
    if len(levels) != (2 * ndim if block else ndim):
        raise ValueError(
            f"expected {2 * ndim} levels for blocks of {ndim} dimensions (block indices, then "
            f"inside the block), got {len(levels)}"
        )
    order = list(order) if order is not None else list(range(ndim))
    if sorted(order) != list(range(ndim)):
        raise ValueError(f"expected order to be a permutation of 0..{ndim - 1}, got {order}")
    spelled = []
    for at, level in enumerate(levels):
        if not isinstance(level, str):
            raise TypeError(f'expected level kinds such as "dense" and "compressed", got {level!r} at {at}')
        kind, _, options = level.strip().rstrip(")").partition("(")
        inside = at >= ndim
        dim = at - ndim if inside else order[at]
        where = f"{dim}{'%' if inside else '/'}{block[dim]}" if block else f"{dim}"
        spelled.append(f"{kind}({where}{', ' + options if options else ''})")
    return ", ".join(spelled)


class Format:
    """The layout of a tensor: an ordered list of levels over its dimensions.

    Args:
        levels: an alias (``"csr"``, ``"coo"``, ``"csf"``, ``"bsr(4,4)"``, ``"ell(8)"``, ``"auto"`` ...), a
            list of levels over dimension numbers (``"dense(0), compressed(1)"``), or a sequence of level
            kinds: ``dense``, ``compressed``, ``compressed(nonunique)``, ``singleton``, ``ell(width)``,
            ``diagonals(rows)``, ``bitmask``, ``sell(rows, window)``; or
            for matrices, parts with rules, ``"bsr(8,8) of blocks(8,8,0.5) + csr"``.
        order: with a sequence: the dimension that each level stores; the natural order by default.
        block: with a sequence: tile sizes, one a dimension; the levels over block numbers come first, then
            those inside the block.

    Formats are hashable; ``str()`` gives the canonical spelling, an alias where there is one.

    Raises:
        ValueError: no such format; the message shows where the text stops making sense. TypeError: levels
            is no text and no sequence.

    >>> str(scorch.Format(["dense", "compressed"]))
    'csr'
    >>> scorch.Format("csr") == scorch.Format("dense(0), compressed(1)")
    True
    """

    __slots__ = ("_text",)

    def __init__(
        self,
        levels: str | Sequence[str] | Format,
        order: Sequence[int] | None = None,
        block: Sequence[int] | None = None,
    ) -> None:
        if isinstance(levels, Format):
            text = str(levels)
        elif isinstance(levels, str):
            if order is not None or block is not None:
                raise ValueError("order and block go with a sequence of level kinds, not with a text")
            text = " ".join(levels.split()).lower()
        elif isinstance(levels, Sequence):
            text = _spell(levels, order, block)
        else:
            meant = _nearest(str(levels).removeprefix("torch.")) if isinstance(levels, torch.layout) else None
            raise TypeError(
                f'expected a format such as "csr", a list of level kinds or a scorch.Format, got {levels!r}'
                + (f': did you mean "{meant}"?' if meant else "")
            )
        if text.startswith("hyb"):
            text = _buckets(text)
        object.__setattr__(self, "_text", text if text in _RANK_OF_ALIAS else _canonical(text))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Format does not change")

    def bind(self, ndim: int) -> Layout:
        """The layout for tensors of ``ndim`` dimensions; ``auto`` is csr for matrices and csf beyond.

        Statistics of the tensor do not take part in ``auto`` yet.
        """
        if self._text == "auto" and not ndim:
            raise ValueError("a tensor of no dimensions has no sparse format: use it as it is, or reshape(1)")
        if self._text == "auto":
            return layout("csr" if ndim == 2 else "csf", ndim)
        return layout(self._text, ndim)

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels as text; for a name that any number of dimensions can have, an example."""
        bound = self.bind(_RANK_OF_ALIAS.get(self._text, _rank(self._text)))
        if bound.parts:
            raise ValueError(f"levels of {self._text}: each part has its own, Format(part).levels")
        return tuple(spelled(*level) for level in bound.levels)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"scorch.Format({self._text!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            try:
                other = Format(other)
            except (ValueError, NotImplementedError):
                return False
        return self._text == other._text if isinstance(other, Format) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple:
        return Format, (self._text,)


def _canonical(text: str) -> str:
    """The canonical spelling; an error says which name was meant."""
    try:
        return layout(text, _rank(text)).text
    except ValueError as error:
        meant = _nearest(text)
        raise ValueError(f"{error}: did you mean {meant}?" if meant else str(error)) from None


def _nearest(text: str) -> str | None:
    """How the first word of a text that is no name of a format or of a level is nearly spelled."""
    from difflib import get_close_matches

    words = re.findall("[a-z]+", text.removeprefix("sparse_"))  # as torch calls its layouts
    spelled = {name.partition("(")[0]: name for name in _SPELLED.split()}
    unknown = next((word for word in words if word not in spelled and word != "nonunique"), None)
    if unknown is None:  # the numbers of a name are wrong, or it is a layout of torch
        if text.startswith("sparse_") and words:
            return spelled[words[0]]
        return spelled[words[0]] if len(words) == 1 and "(" in spelled[words[0]] else None
    near = get_close_matches(unknown, spelled, 1, 0.55)
    return spelled[near[0]] if near else None


def has_parts(format: str | Format) -> bool:
    """Whether a format, as a user may write it, is a composed one."""
    text = format._text if isinstance(format, Format) else format
    return isinstance(text, str) and (is_composed(text) or text.strip().lower().startswith("hyb"))


def bound(format: str | Format, ndim: int) -> Layout:
    """The layout of a format for ``ndim`` dimensions, by its text: at once the second time."""
    return _bound(format if type(format) is str else Format(format)._text, ndim)


@lru_cache(maxsize=1024)
def _bound(text: str, ndim: int) -> Layout:
    made, text = Format(text), text.strip().lower()
    spelled = not _ALIAS.match(text) and not is_composed(text) and _DIM.match(text)
    if spelled and _rank(text) != ndim:
        raise ValueError(
            f"expected levels of {ndim} dimensions, got some of {_rank(text)}: name all dimensions of the "
            f"tensor, from 0 to {ndim - 1}"
        )
    return made.bind(ndim)


def _rank(text: str) -> int:
    """The dimensions a text speaks of: two for an alias, else one more than the largest named."""
    dims = [] if _ALIAS.match(text) or is_composed(text) else _DIM.findall(text)
    for dim in dims:
        if len(dim.lstrip("0")) > 9:  # more than the extension reads
            raise ValueError(f"expected dimensions from 0 to 7, got a number of {len(dim)} digits")
    return 1 + max(map(int, dims), default=1)

"""The text of einsum strings and of index notation."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import lru_cache

from .. import _C, _torch

_LEFT = r"([A-Za-z_]\w*)\s*(?:\[([^\]]*)\])?\s*(?:\+|max|min)?=(?!=)"  # of an assignment
_HIDDEN = r"tmp\s+(?!(?:max|min)\s*=)"  # in front of a left side that is not returned
_NEXT_LINE = re.compile(rf"\s*;?\s*\n\s*(?=(?:{_HIDDEN})?{_LEFT})")
_ACCESS = re.compile(r"([A-Za-z_]\w*)\s*\[([^\[\]]*)\]")
_NAME = re.compile(r"[A-Za-z_]\w*")
_LETTERS = string.ascii_letters


def einsum_text(text: str) -> str:
    text = "".join(text.split())
    letters = text.replace(",", "")
    if "->" in text or (letters and not letters.isalpha()):
        return text
    return text + "->" + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))


@_torch.constant
def factors_and_sums(text: str) -> tuple[list[str], set[str]]:
    """The indices of each operand of an einsum string, and those that the result lacks."""
    given, _, result = einsum_text(text).partition("->")
    return given.split(","), set(given) - set(result) - {","}


def without_ellipses(text: str, shapes: Sequence[Sequence[int]]) -> tuple[str, list[list[int]]]:
    """An einsum string with a letter for every dimension, and the dimensions of operands that it leaves out.

    Those are of extent 1 and stand at an ellipsis where another operand has more: they broadcast.
    """
    given, arrow, result = "".join(text.split()).partition("->")
    factors = given.split(",")
    if len(factors) != len(shapes):
        raise ValueError(f"{text!r} is for {len(factors)} operands, got {len(shapes)}")
    spans = []
    for factor, shape in zip(factors, shapes, strict=True):
        at, n = factor.find("..."), len(shape) - len(factor) + 3
        if n < 0 or factor.count(".") not in (0, 3) or (at < 0 and "." in factor):
            raise ValueError(f"{text!r}: {factor!r} does not fit an operand of {len(shape)} dimensions")
        spans.append((at, list(shape[at : at + n]) if at >= 0 else []))
    free = [c for c in _LETTERS if c not in text]
    most = max(len(span) for _, span in spans)
    if most > len(free):
        raise ValueError(f"{text!r}: no letters are left for {most} dimensions at an ellipsis")
    letters, wide = free[:most], [1] * most
    for _, span in spans:
        for d, n in enumerate(reversed(span), 1):
            wide[-d] = n if wide[-d] == 1 else wide[-d]
    written, left_out = [], []
    for factor, (at, span) in zip(factors, spans, strict=True):
        lacks = [
            d for d, (n, m) in enumerate(zip(span, wide[most - len(span) :], strict=True)) if n == 1 != m
        ]
        own = [c for d, c in enumerate(letters[most - len(span) :]) if d not in lacks]
        written.append(factor.replace("...", "".join(own)))
        left_out.append([at + d for d in lacks])
    if not arrow:
        plain = given.replace(",", "").replace(".", "")
        result = "..." + "".join(sorted(c for c in set(plain) if plain.count(c) == 1))
    return f"{','.join(written)}->{result.replace('...', ''.join(letters))}", left_out


def without_ones(text: str, shapes: Sequence[Sequence[int]]) -> tuple[str, list[list[int]]]:
    """An einsum string without the letters that an operand has with extent 1 and another with more.

    Also the dimensions of operands that it leaves out: they broadcast, as in torch.
    """
    given, arrow, result = einsum_text(text).partition("->")
    factors = given.split(",")
    if [*map(len, factors)] != [*map(len, shapes)]:
        return text, [[] for _ in shapes]
    most: dict[str, int] = {}
    for letter, n in zip("".join(factors), (n for shape in shapes for n in shape), strict=True):
        most[letter] = n if most.get(letter, 1) == 1 else most[letter]
    left_out = [
        [d for d, n in enumerate(shape) if n == 1 != most[factor[d]] and factor.count(factor[d]) == 1]
        for factor, shape in zip(factors, shapes, strict=True)
    ]
    written = (
        "".join(c for d, c in enumerate(factor) if d not in dims)
        for factor, dims in zip(factors, left_out, strict=True)
    )
    return f"{','.join(written)}{arrow}{result}", left_out


@lru_cache(maxsize=4096)
def named(text: str, names: tuple[str, ...]) -> str:
    """An einsum string as index notation; ``names`` says what each factor is called."""
    given, _, result = einsum_text(text).partition("->")

    def access(name: str, indices: str) -> str:
        return f"{name}[{','.join(indices)}]" if indices else name

    factors = [access(name, ix) for name, ix in zip(names, given.split(","), strict=True)]
    return f"{access('out', result)} = {' * '.join(factors)}"


@lru_cache(maxsize=4096)
def of_repeated(text: str, places: tuple[int, ...]) -> tuple[str, tuple[str, ...], tuple[int, ...]]:
    """An einsum string as index notation in which an operand has one name, at ``places`` where it came first.

    Also these names, and their places.
    """
    first = tuple(dict.fromkeys(places))
    return named(text, tuple(f"x{k}" for k in places)), tuple(f"x{k}" for k in first), first


@_torch.constant
def assignments(expression: str) -> tuple[str, tuple[int, ...]]:
    """An expression on one line, and the rank of each result that is returned."""
    return _taken_apart(expression)


@lru_cache(maxsize=4096)
def _taken_apart(expression: str) -> tuple[str, tuple[int, ...]]:
    text = " ".join(_NEXT_LINE.sub("; ", expression.strip()).split())
    lefts = [left for part in text.split(";") if (left := re.match(_LEFT, part.strip()))]  # not of a tmp
    ranks = tuple(left[2].count(",") + 1 if left[2] else 0 for left in lefts)
    return text, ranks


def results(text: str) -> tuple[str, ...]:
    """The names of the results that index notation returns."""
    lefts = [re.match(_LEFT, part.strip()) for part in assignments(text)[0].split(";")]
    return tuple([left[1] for left in lefts if left])


def has_one_result(text: str) -> bool:
    """Whether an einsum string or index notation returns one tensor."""
    return "=" not in text or len(assignments(text)[1]) == 1


@_torch.constant
def revealed(expression: str) -> tuple[str, tuple[bool, ...]]:
    """An expression that returns its temporaries too, and which of its results those are not."""
    parts = [part.strip() for part in assignments(expression)[0].split(";") if part.strip()]
    hidden = [re.match(_HIDDEN + r"[A-Za-z_]", part) for part in parts]
    text = "; ".join(re.sub(rf"^{_HIDDEN}", "", p) if h else p for p, h in zip(parts, hidden, strict=True))
    return text, tuple(not h for h in hidden)


@lru_cache(maxsize=4096)
def apart(
    expression: str, names: tuple[str, ...], kinds: tuple[object, ...]
) -> tuple[str, tuple[str, ...], tuple[int, ...]]:
    """Index notation in which every sparse operand is read in one way.

    So each may have a layout of its own. Tuples of indices that differ in what is summed are one way: what is
    computed twice is seen to be the same. Operand A is called A at the first one and A_1, A_2 .. at the
    others, as in schedules. ``kinds`` are None of dense operands. Also returns all names, and the places
    of the operands that go in again. Where there is nothing to do, or no room, nothing changes.
    """
    place = {name: k for k, name in enumerate(names) if kinds[k]}
    seen: dict[str, dict[str, str]] = {name: {} for name in place}
    kept = {i for left in re.finditer(_LEFT, expression) for i in _NAME.findall(left[2] or "")}
    taken = set(_NAME.findall(expression)).union(names)
    again: dict[str, int] = {}

    def renamed(access: re.Match) -> str:
        name, all_of_them = access[1], "".join(access[2].split()).split(",")
        indices = ",".join(i if i in kept else f"#{all_of_them.index(i)}" for i in all_of_them)
        if name not in seen:
            return access[0]
        called = seen[name]
        if indices not in called:
            called[indices] = f"{name}_{len(called)}" if called else name
            if called[indices] != name:
                again[called[indices]] = place[name]
        return f"{called[indices]}[{access[2]}]"

    text = _ACCESS.sub(renamed, expression)
    many = len(names) + len(again) > _C.remembered
    if many or taken.intersection(again) or any(len(n) > 31 for n in again):
        return expression, names, ()
    return text, (*names, *again), tuple(again.values())

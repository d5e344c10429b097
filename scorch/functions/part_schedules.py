"""Schedules of parts, ``A.0: tile(k: 64); A.1: gather(i: 6)``, in the words of the program over the parts.

There each part is an operand, and a schedule says of which operands' steps it speaks
(csrc/compiler/path/wish.c).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..tensor.format import has_parts

if TYPE_CHECKING:
    from .parts import Apart

_CONVERT = re.compile(r'\bconvert\s*\(((?:[^()"]|"[^"]*"|\([^()]*\))*)\)')
_TO_FORMAT = re.compile(r'(\w+)\s*:\s*("[^"]*"|hyb\s*\([^()]*\))\s*,?', re.I)
_OF_PART = re.compile(r"\s*(\w+)\.(\d+)\s*:(.*)", re.S)


class Asked(NamedTuple):
    """What is asked of the step that reads a part."""

    operand: str
    part: int
    directives: str


def converts(schedule: str | None) -> bool:
    """Whether a schedule converts an operand to a composed format."""
    return schedule is not None and bool(conversions(schedule)[0])


def conversions(schedule: str) -> tuple[dict[str, str], str | None]:
    """Composed formats that a schedule asks for, by operands; and what else it says."""
    formats: dict[str, str] = {}

    def unless_composed(one: re.Match) -> str:
        if not has_parts(format := one[2].strip('"')):
            return one[0]
        formats[one[1]] = format
        return ""

    def left(asked: re.Match) -> str:
        others = _TO_FORMAT.sub(unless_composed, asked[1]).strip(" ,")
        return f"convert({others})" if others else ""

    rest = _CONVERT.sub(left, schedule).strip(" ;")
    return formats, rest or None


def of_parts(schedule: str | None) -> list[Asked]:
    """What a schedule says of each part; nothing where it is none of parts.

    Raises: ValueError: it speaks of parts and of all at once.
    """
    pieces = [piece for piece in (schedule or "").split(";") if piece.strip()]
    found = [_OF_PART.match(piece) for piece in pieces]
    if not any(found):
        return []
    for piece, match in zip(pieces, found, strict=True):
        if not match:
            raise ValueError(
                f"schedule: expected a part in front of all directives between ';', as in A.0: tile(k: 32), "
                f"got {piece.strip()!r}"
            )
    return [Asked(match[1], int(match[2]), match[3].strip()) for match in found]


def _in_terms(directives: str, indices: Sequence[tuple[str, str]]) -> str:
    """Directives where an index has all names that it has in terms, ``j|j_1``; a step has one of them."""
    names: dict[str, str] = {}
    for name, of in indices:
        names[of] = f"{names.get(of, of)}|{name}"
    return re.sub(r"\b[A-Za-z_]\w*\b(?!\s*\()", lambda word: names.get(word[0], word[0]), directives)


def _pieces(text: str) -> int:
    return sum(bool(piece.strip()) for piece in text.split(";"))


def is_printed(schedule: str, text: str, apart: Apart) -> bool:
    """Whether a schedule is one that was printed of the program over parts, not of what the user wrote.

    It names a part, or an index of sums over one, or has a piece for each of the assignments there.
    """
    own = {name for name, (_, part) in zip(apart.names, apart.operands, strict=True) if part >= 0}
    own |= {name for name, _ in apart.indices}
    return not own.isdisjoint(re.findall(r"\w+", schedule)) or (
        _pieces(text) != _pieces(apart.text) == _pieces(schedule)
    )


def in_program(asked: Sequence[Asked], written: Sequence[str], apart: Apart) -> str:
    """The schedule of the program over parts of operands that the user named as ``written``.

    Raises: ValueError: there is no such part.
    """
    known = {
        (written[k], part): name
        for name, (k, part) in zip(apart.names, apart.operands, strict=True)
        if part >= 0
    }
    for operand, part, _ in asked:
        if (operand, part) not in known:
            expected = ", ".join(f"{name}.{k}" for name, k in known) or "none here"
            raise ValueError(
                f"schedule: expected a part of a composed operand ({expected}), got {operand}.{part}"
            )
    return "; ".join(
        f"{known[operand, part]}: {_in_terms(said, apart.indices)}" for operand, part, said in asked
    )


def in_own_words(message: str, written: Sequence[str], apart: Apart) -> str:
    """What is said of the program over parts, of parts and indices as the user calls them: ``A.1[i,j]``."""
    own = dict(apart.indices)
    for name, (k, part) in zip(apart.names, apart.operands, strict=True):
        own[name] = f"{written[k]}.{part}" if part >= 0 else name
    return re.sub(r"[A-Za-z_]\w*", lambda word: own.get(word[0], word[0]), message)

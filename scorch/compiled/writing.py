"""Writes a group of nodes as one program of index notation.

A value that is read outside, or more than once, is an assignment of its own, asked for in the format that the
node has; the others are written where they are read, views and what only a mask reads always. Indices are
named by their extents, and each assignment begins with the same names, so a program needs few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from ..functions import softmax
from . import words
from .words import SOFTMAX, VIEW, Indices, Op, is_one, is_sparse, shape, value

_MOST = 6000  # letters of a program


class CannotSay(Exception):
    """A group is beyond index notation; its nodes stay as they are."""


class Program(NamedTuple):
    """A group as one call."""

    text: str
    formats: tuple[str, ...]  # asked of each result
    operands: dict[str, tuple[torch.fx.Node, tuple[int, ...]]]  # and dimensions of extent 1 that go
    results: dict[torch.fx.Node, int]  # which result a node is


class Writer:
    """The program of a group, node after node."""

    def __init__(self, ops: dict[torch.fx.Node, Op], group: Sequence[torch.fx.Node]) -> None:
        self._ops, self._group = ops, set(group)
        self._operands: dict[tuple[torch.fx.Node, tuple[int, ...]], str] = {}
        self._named: dict[torch.fx.Node, str] = {}
        self._sums: dict[torch.fx.Node, tuple[str, str]] = {}  # powers and their sum, of a softmax
        self._extents: dict[object, str] = {}
        self._used: dict[str, int] = {}
        self._extent: dict[str, object] = {}
        self._lines: list[str] = []
        self._formats: list[str] = []
        self._results: list[str] = []

    # ---- indices ----
    def _begin(self, extents: Sequence[object]) -> Indices:
        self._used = {}
        return tuple([self.fresh(n) for n in extents])

    def fresh(self, extent: object) -> str:
        """An index of an extent that the assignment does not have yet."""
        letter = self._extents.setdefault(
            words.extent(extent), "ijklmnopqrstuvwabcdefgh"[len(self._extents) % 23]
        )
        count = self._used[letter] = self._used.get(letter, 0) + 1
        index = letter if count == 1 else f"{letter}{count}"
        self._extent[index] = extent
        return index

    # ---- reading ----
    def read(self, x: torch.fx.Node, ix: Indices) -> str:
        """The value of a node at indices."""
        name, op = self._named.get(x), self._ops.get(x)
        if name is None and op is not None and (x in self._group or op.kind == VIEW):
            return self._said(x, ix)
        return at(name or self._operand(x, ()), ix)

    def _operand(self, x: torch.fx.Node, without: tuple[int, ...]) -> str:
        """What an operand is called, with or without dimensions of extent 1."""
        return self._operands.setdefault((x, without), f"x{len(self._operands)}")

    def factor(self, x: torch.fx.Node, ix: Indices) -> str:
        """The same, to stand in a product."""
        text = self.read(x, ix)
        return text if text.replace("[", "").replace("]", "").replace(",", "").isalnum() else f"({text})"

    def broadcast(self, x: torch.fx.Node, ix: Indices) -> str:
        """A factor that is broadcast to more dimensions, at the indices of the result."""
        own, op = ix[len(ix) - len(shape(x)) :], self._ops.get(x)
        ones = tuple([d for d, n in enumerate(shape(x)) if is_one(n) and not is_one(self._extent[own[d]])])
        if not ones or (op is not None and op.kind == VIEW):
            return self.factor(x, own)
        return at(self._operand(x, ones), tuple([i for d, i in enumerate(own) if d not in ones]))

    # ---- assignments ----
    def _assign(self, line: str, name: str, format: str) -> str:
        self._lines.append(line)
        self._formats.append(format)
        self._results.append(name)
        if sum(map(len, self._lines)) > _MOST:
            raise CannotSay("a program too long")
        return name

    def _said(self, x: torch.fx.Node, ix: Indices) -> str:
        return self._quotient(x, ix) if self._ops[x].kind == SOFTMAX else self._ops[x].say(self, ix)

    def name(self, x: torch.fx.Node) -> None:
        """Makes a node an assignment."""
        ix, name = self._begin(shape(x)), f"t{len(self._lines)}"
        line = f"{at(name, ix)} = {self._said(x, ix)}"
        self._named[x] = self._assign(line, name, value(x)._fmt if is_sparse(x) else "dense")

    def normalise(self, x: torch.fx.Node) -> None:
        """The assignments that a softmax needs: the maximum, the powers and their sum."""
        ix = self._begin(shape(x))
        score = self.read(self._ops[x].reads[0], ix)
        stored, kept = f"stored({score})", self._kept(x, ix)
        top, power, total = (f"{letter}{len(self._lines)}" for letter in "mez")
        self._assign(softmax.maximum(stored, score, at(top, kept)), top, "dense")
        self._assign(softmax.powers(stored, score, at(top, kept), at(power, ix)), power, value(x)._fmt)
        self._assign(f"{at(total, kept)} = {at(power, ix)}", total, "dense")
        self._sums[x] = power, total

    def _kept(self, x: torch.fx.Node, ix: Indices) -> Indices:
        return tuple([i for d, i in enumerate(ix) if d != self._ops[x].dim])

    def _quotient(self, x: torch.fx.Node, ix: Indices) -> str:
        power, total = self._sums[x]
        return softmax.quotient(at(power, ix), at(total, self._kept(x, ix)))

    def program(self) -> Program:
        """What was written."""
        named = {x: self._results.index(name) for x, name in self._named.items()}
        operands = {name: x for x, name in self._operands.items()}
        return Program("; ".join(self._lines), tuple(self._formats), operands, named)


def at(name: str, ix: Indices) -> str:
    """An access."""
    return f"{name}[{','.join(ix)}]" if ix else name

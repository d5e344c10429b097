"""Index notation on whole arrays: what a program means, written once more and differently.

A term is four arrays over all indices (axes of extent 1 where it does not depend on one): its value;
whether it is there (an absent value is zero in sums and functions and makes a product absent); whether it
is fixed, a constant, or what constants make of what is absent, which is absent too where it is 0; and, for
implicit="skip", whether every sparse operand below is stored. Values are float64 tensors of torch, so that
a gradient can be asked of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import generate
import torch
from generate import Node, Problem

BINARY = {
    "+": torch.add, "-": torch.subtract, "min": torch.minimum, "max": torch.maximum, "<": torch.lt,
    "<=": torch.le, ">": torch.gt, ">=": torch.ge, "==": torch.eq, "!=": torch.ne,
}  # fmt: skip
UNARY = {
    "relu": torch.relu, "abs": torch.abs, "neg": torch.neg, "sqrt": torch.sqrt, "exp": torch.exp,
    "log": torch.log, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
}  # fmt: skip
REDUCE = {"+=": (torch.sum, 0.0), "max=": (torch.amax, -torch.inf), "min=": (torch.amin, torch.inf)}


@dataclass
class Term:
    value: torch.Tensor
    there: torch.Tensor
    fixed: torch.Tensor
    hit: torch.Tensor
    sparse: bool = False  # whether a sparse operand is below


@dataclass
class Stored:
    """An operand or a result: values and, where it is sparse, what it stores."""

    value: torch.Tensor
    there: torch.Tensor | None = None


def reduced(op: str, x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    f, start = REDUCE[op]
    if not all(x.shape[k] for k in axes):
        return x.new_full([1 if k in axes else n for k, n in enumerate(x.shape)], start)
    return f(x, dim=axes, keepdim=True)


PRODUCT, SUM = ("*", "/"), ("+", "-")


def _sums_here(e: Node, i: str) -> bool:
    """An index is summed in this product itself, not in a factor of it."""
    factors = [e]
    while any(f[0] in PRODUCT for f in factors):
        factors = [k for f in factors for k in (f[1:] if f[0] in PRODUCT else [f])]
    having = [f for f in factors if i in generate.indices(f)]
    return len(having) > 1 or any(generate.is_access(f) for f in having)


def _is_sum_over(e: Node, i: str) -> bool:
    """Whether summing an index where its products are comes to the sum of e over it."""
    if i not in generate.indices(e):
        return False
    if _sums_here(e, i):
        return True
    if e[0] in SUM:
        return all(_is_sum_over(k, i) for k in e[1:])
    if e[0] in ("neg", "/"):
        return _is_sum_over(e[1], i)
    return e[0] == "*" and any(_is_sum_over(k, i) for k in e[1:])


class Reference:
    """sparse: the results that are sparse where later assignments read them; others are read as dense."""

    def __init__(
        self, problem: Problem, operands: dict[str, Stored], sparse: frozenset[str] = frozenset()
    ) -> None:
        self.sparse = sparse
        self.names = list(problem.extent)
        self.problem, self.known = problem, dict(operands)
        self.skip = "skip" in problem.flags

    def results(self) -> dict[str, Stored]:
        """Every result and temporary, in float64, and where it is not absent."""
        made = {}
        for a in self.problem.assigns:
            made[a.name] = self._assign(a)
            self.known[a.name] = made[a.name] if a.name in self.sparse else Stored(made[a.name].value)
        return made

    def _assign(self, a: generate.Assign) -> Stored:
        self.total = [i for x in generate.accesses(a.right) for i in set(x[2])]
        self.bound, self.spread = set(a.left), set()
        if a.op == "=":
            t = self._sums(a.right, "")
        else:
            t = self._reduce(self._term(a.right), generate.indices(a.right) - set(a.left), a.op)
        start = 0.0 if a.op == "=" else REDUCE[a.op][1]
        value, there = t.value, t.there
        if self.skip:
            value, there = torch.where(t.hit, value, start), there & t.hit
        return Stored(*(self._result(x, a.left) for x in torch.broadcast_tensors(value, there)))

    def _result(self, x: torch.Tensor, left: str) -> torch.Tensor:
        axes = [self.names.index(i) for i in left]
        x = x.permute(axes + [k for k in range(len(self.names)) if k not in axes])
        return x.reshape(x.shape[: len(axes)]).broadcast_to([self.problem.extent[i] for i in left])

    def _sums(self, e: Node, above: str) -> Term:
        """Einstein summation: products sum what is used nowhere else, and what all terms of a sum have."""
        factor, product = above in PRODUCT, e[0] in PRODUCT
        if e[0] == "num" or (generate.is_access(e) and factor):
            return self._term(e)
        whole = e[0] in (*SUM, "neg") and above not in (*PRODUCT, *SUM, "neg")
        spread = {i for i in self._only_in(e) - self.spread if _is_sum_over(e, i)} if whole else set()
        closes = (product or generate.is_access(e)) and not factor
        here = {i for i in self.spread if _sums_here(e, i)} if closes else set()
        self.spread = (self.spread | spread) - here  # nothing inside is summed once more
        t = (
            self._term(e)
            if generate.is_access(e)
            else self._apply(e[0], [self._sums(k, e[0]) for k in e[1:]])
        )
        self.spread = (self.spread | here) - spread
        self.bound |= spread
        if closes:
            over = self._only_in(e) | here
            self.bound |= over - self.spread
            t = self._reduce(t, over, "+=")
        return t

    def _only_in(self, e: Node) -> set[str]:
        """Indices that are used here, nowhere else, and not summed yet."""
        uses = [i for x in generate.accesses(e) for i in set(x[2])]
        return {i for i in uses if uses.count(i) == self.total.count(i)} - self.bound

    def _reduce(self, t: Term, over: set[str], op: str) -> Term:
        if not over:
            return t
        start = REDUCE[op][1]
        axes = tuple(self.names.index(i) for i in over)
        full = list(torch.broadcast_shapes(t.value.shape, t.there.shape, t.hit.shape))
        for k in axes:
            full[k] = self.problem.extent[self.names[k]]
        value, there, hit = (x.broadcast_to(full) for x in (t.value, t.there, t.hit))
        counts = torch.ones(full, dtype=torch.bool) if op != "+=" else there
        counts = counts & hit if self.skip else counts
        total = reduced(op, torch.where(counts, value, start), axes)
        found, some = (x.double().sum(axes, keepdim=True) > 0 for x in (there & counts, hit))
        return Term(total, found, ~found, some if t.sparse else torch.ones_like(found), t.sparse)

    def _term(self, e: Node) -> Term:
        if e[0] == "num":
            one = torch.ones([1] * len(self.names), dtype=torch.float64)
            return Term(one * e[1], one * e[1] != 0, one > 0, one > 0)
        if e[0] == "at":
            return self._access(e)
        return self._apply(e[0], [self._term(k) for k in e[1:]])

    def _access(self, e: Node) -> Term:
        x, ix = self.known[e[1]], e[2]
        letters = "".join(i for i in self.names if i in ix)

        def spread(a: torch.Tensor) -> torch.Tensor:
            if not ix:
                return a.reshape([1] * len(self.names))
            extents = [self.problem.extent[i] for i in letters]
            grid = torch.meshgrid(*map(torch.arange, extents), indexing="ij")
            a = a[tuple(grid[letters.index(i)] for i in ix)]
            return a.reshape([self.problem.extent[i] if i in ix else 1 for i in self.names])

        value = spread(x.value)
        there = torch.ones(value.shape, dtype=torch.bool) if x.there is None else spread(x.there)
        return Term(torch.where(there, value, 0), there, ~there, there, x.there is not None)

    def _apply(self, op: str, terms: list[Term]) -> Term:
        a, b = terms[0], terms[-1]
        hit, sparse, fixed = a.hit & b.hit, a.sparse or b.sparse, a.fixed & b.fixed
        if op == "stored":
            return Term(a.there.double(), a.there, ~a.there, hit, sparse)
        if op in ("*", "/"):
            there = a.there & b.there if op == "*" else a.there | torch.zeros_like(b.there)
            value = torch.where(there, a.value * b.value if op == "*" else a.value / b.value, 0)
            return Term(value, there & ~(fixed & (value == 0)), fixed | ~there, hit, sparse)
        value = (BINARY.get(op) or UNARY[op])(*[t.value for t in terms]).double()
        there = (value != 0) | ((a.there | b.there) & ~fixed)
        return Term(value, there, fixed, hit, sparse)

"""Index notation on whole numpy arrays: what a program means, written once more and differently.

A term is three arrays over all indices (axes of extent 1 where it does not depend on one): its value, whether
it is there (an absent value is zero in sums and functions and makes a product absent), and, for
implicit="skip", whether every sparse operand below is stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import generate
import numpy as np
from generate import Node, Problem

BINARY = {
    "+": np.add, "-": np.subtract, "min": np.minimum, "max": np.maximum, "<": np.less, "<=": np.less_equal,
    ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
UNARY = {
    "relu": lambda x: np.where((x > 0) | np.isnan(x), x, 0), "abs": np.abs, "neg": np.negative,
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip
REDUCE = {"+=": (np.add, 0.0), "max=": (np.maximum, -np.inf), "min=": (np.minimum, np.inf)}


@dataclass
class Term:
    value: np.ndarray
    there: np.ndarray
    hit: np.ndarray
    sparse: bool = False  # whether a sparse operand is below


@dataclass
class Stored:
    """An operand: values and, where it is sparse, what it stores."""

    value: np.ndarray
    there: np.ndarray | None = None


class Reference:
    def __init__(self, problem: Problem, operands: dict[str, Stored]) -> None:
        self.names = list(problem.extent)
        self.problem, self.known = problem, dict(operands)
        self.skip = "skip" in problem.flags

    def results(self) -> dict[str, np.ndarray]:
        """Every result and temporary, in float64."""
        made = {}
        with np.errstate(all="ignore"):
            for a in self.problem.assigns:
                made[a.name] = self._assign(a)
                self.known[a.name] = Stored(made[a.name])
        return made

    def _assign(self, a: generate.Assign) -> np.ndarray:
        self.total = [i for x in generate.accesses(a.right) for i in set(x[2])]
        self.bound = set(a.left)
        if a.op == "=":
            t = self._sums(a.right, False)
        else:
            t = self._reduce(self._term(a.right), generate.indices(a.right) - set(a.left), a.op)
        start = 0.0 if a.op == "=" else REDUCE[a.op][1]
        value = np.where(t.hit, t.value, start) if self.skip else t.value
        axes = [self.names.index(i) for i in a.left]
        value = value.transpose(axes + [k for k in range(len(self.names)) if k not in axes])
        return np.broadcast_to(
            value.reshape(value.shape[: len(axes)]), [self.problem.extent[i] for i in a.left]
        ).astype(float)

    def _sums(self, e: Node, factor: bool) -> Term:
        """Einstein summation: every product sums what is used nowhere else."""
        if e[0] == "num" or (generate.is_access(e) and factor):
            return self._term(e)
        product = e[0] in ("*", "/")
        t = (
            self._term(e)
            if generate.is_access(e)
            else self._apply(e[0], [self._sums(k, product) for k in e[1:]])
        )
        if (product or generate.is_access(e)) and not factor:
            uses = [i for x in generate.accesses(e) for i in set(x[2])]
            over = {i for i in uses if uses.count(i) == self.total.count(i)} - self.bound
            self.bound |= over
            t = self._reduce(t, over, "+=")
        return t

    def _reduce(self, t: Term, over: set[str], op: str) -> Term:
        if not over:
            return t
        f, start = REDUCE[op]
        axes = tuple(self.names.index(i) for i in over)
        full = list(np.broadcast_shapes(t.value.shape, t.there.shape, t.hit.shape))
        for k in axes:
            full[k] = self.problem.extent[self.names[k]]
        value, there, hit = (np.broadcast_to(x, full) for x in (t.value, t.there, t.hit))
        counts = np.ones(full, bool) if op != "+=" else there
        counts = counts & hit if self.skip else counts
        total = f.reduce(np.where(counts, value, start), axis=axes, keepdims=True, initial=start)
        found = (there & counts).any(axes, keepdims=True) | ((total != 0) & counts.any(axes, keepdims=True))
        some = hit.any(axes, keepdims=True) if t.sparse else np.ones_like(found)
        return Term(total, found, some, t.sparse)

    def _term(self, e: Node) -> Term:
        if e[0] == "num":
            one = np.ones([1] * len(self.names))
            return Term(one * e[1], one > 0, one > 0)
        if e[0] == "at":
            return self._access(e)
        return self._apply(e[0], [self._term(k) for k in e[1:]])

    def _access(self, e: Node) -> Term:
        x, ix = self.known[e[1]], e[2]
        letters = "".join(i for i in self.names if i in ix)

        def spread(a: np.ndarray) -> np.ndarray:
            if not ix:
                return a.reshape([1] * len(self.names))
            grid = np.ix_(*[np.arange(self.problem.extent[i]) for i in letters])
            a = a[tuple(grid[letters.index(i)] for i in ix)]
            return a.reshape([self.problem.extent[i] if i in ix else 1 for i in self.names])

        value = spread(x.value)
        there = np.ones(value.shape, bool) if x.there is None else spread(x.there)
        hit = np.ones(value.shape, bool) if x.there is None else there
        return Term(np.where(there, value, 0), there, hit, x.there is not None)

    def _apply(self, op: str, terms: list[Term]) -> Term:
        a, b = terms[0], terms[-1]
        hit, sparse = a.hit & b.hit, a.sparse or b.sparse
        if op == "stored":
            return Term(a.there.astype(float), a.there, hit, sparse)
        if op in ("*", "/"):
            there = a.there & b.there if op == "*" else a.there | np.zeros_like(b.there)
            value = a.value * b.value if op == "*" else a.value / b.value
            return Term(np.where(there, value, 0), there, hit, sparse)
        f = BINARY.get(op) or UNARY[op]
        value = np.asarray(f(*[t.value for t in terms]), dtype=float)
        return Term(value, a.there | b.there | (value != 0), hit, sparse)

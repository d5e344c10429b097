"""Rules of composed formats: which entries of a matrix a part takes.

A rule is a row of a table: how its arguments are read, which of the entries that are left it takes, and the
rule that takes the same entries of the transposed matrix.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch

_TESTS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class Left(NamedTuple):
    """The entries that no part in front has taken."""

    shape: tuple[int, int]
    at: torch.Tensor  # [2, n] row and column, row by row
    values: torch.Tensor  # [n]


class Kind(NamedTuple):
    """A row of the table."""

    example: str
    read: Callable[[str], tuple]  # the text between the parentheses -> arguments; ValueError
    takes: Callable[..., torch.Tensor]  # (left, *arguments) -> a mask [n]
    turned: Callable[..., tuple]  # (*arguments) -> name and arguments of the rule for the transpose


# ---- reading ----
_MOST = 2**62  # of a number in a rule; sums of two fit in int64


def _test(text: str) -> tuple:
    found = re.fullmatch(r"\s*(<=|>=|<|>)\s*(\d+)\s*", text)
    if not found or int(found[2]) > _MOST:
        raise ValueError(f"expected <, <=, > or >= and a number of entries, got ({text})")
    return found[1], int(found[2])


def _integers(low: int, names: str, text: str) -> tuple:
    words = [word.strip() for word in text.split(",")]
    if len(words) != len(names.split()) or not all(re.fullmatch(r"-?\d+", w) for w in words):
        raise ValueError(f"expected ({', '.join(names.split())}), integers, got ({text})")
    if not all(low <= int(word) <= _MOST for word in words):
        raise ValueError(f"expected integers from {low} to {_MOST}, got ({text})")
    return tuple(map(int, words))


def _band(text: str) -> tuple:
    low, high = _integers(-_MOST, "lo hi", text)
    if low > high:
        raise ValueError(f"expected (lo, hi) with lo at most hi, got ({text})")
    return low, high


def _blocks(text: str) -> tuple:
    sizes, _, share = text.rpartition(",")
    try:
        found = float(share)
    except ValueError:
        found = 0
    if not 0 < found <= 1:
        raise ValueError(f"expected (rows, columns, share) with a share of a block in (0, 1], got ({text})")
    return *_integers(1, "rows columns", sizes), found


def _nearest(text: str) -> tuple:
    n, m, *dim = _integers(0, "n m dim" if text.count(",") == 2 else "n m", text)
    if not 0 < n <= m or dim not in ([], [0], [1]):
        raise ValueError(f"expected (n, m) with n from 1 to m, got ({text})")
    return n, m, *(dim or [1])


def _bucket(text: str) -> tuple:
    k, c, n, *dim = _integers(0, "k c n dim" if text.count(",") == 3 else "k c n", text)
    if not k < c or dim not in ([], [0], [1]):
        raise ValueError(f"expected (k, c, n), of c pieces the one with number k below c, got ({text})")
    return k, c, n, *(dim or [1])


# ---- taking ----
def _by_length(dim: int, left: Left, test: str, n: int) -> torch.Tensor:
    length = torch.bincount(left.at[dim], minlength=left.shape[dim])
    return _TESTS[test](length, n)[left.at[dim]]


def _in_blocks(left: Left, rows: int, columns: int, share: float) -> torch.Tensor:
    key = left.at[0] // rows * (-(-left.shape[1] // columns)) + left.at[1] // columns
    _, block, count = torch.unique(key, return_inverse=True, return_counts=True)
    return (count >= share * rows * columns)[block]


def _in_band(left: Left, low: int, high: int) -> torch.Tensor:
    offset = left.at[1] - left.at[0]
    return (offset >= low) & (offset <= high)


def _sizes(values: torch.Tensor) -> torch.Tensor:
    """How large each value is, in a type that torch can sort."""
    if values.is_floating_point() and values.itemsize == 1:
        values = values.float()
    return values.abs() if values.dtype.is_signed else values


def _largest(left: Left, n: int, m: int, dim: int) -> torch.Tensor:
    """The n largest of each m neighbours along a dimension; of equal ones the first."""
    group = left.at[1 - dim] * (-(-left.shape[dim] // m)) + left.at[dim] // m
    order = torch.argsort(_sizes(left.values), descending=True, stable=True)
    order = order[torch.argsort(group[order], stable=True)]
    _, count = torch.unique_consecutive(group[order], return_counts=True)
    first = torch.repeat_interleave(count.cumsum(0) - count, count)
    taken = torch.zeros(group.numel(), dtype=torch.bool, device="cpu")
    taken[order] = torch.arange(group.numel(), device="cpu") - first < n
    return taken


def _in_bucket(left: Left, k: int, c: int, n: int, dim: int) -> torch.Tensor:
    """Rows of at most n entries among the columns of piece k of c; or columns, among rows."""
    size = max(-(-left.shape[dim] // c), 1)
    inside, row = left.at[dim] // size == k, left.at[1 - dim]
    length = torch.bincount(row[inside], minlength=left.shape[1 - dim])
    return inside & (length <= n)[row]


RULES = {
    "rows": Kind("rows(> 2000)", _test, partial(_by_length, 0), lambda *test: ("columns", *test)),
    "columns": Kind("columns(> 2000)", _test, partial(_by_length, 1), lambda *test: ("rows", *test)),
    "blocks": Kind("blocks(8,8,0.5)", _blocks, _in_blocks, lambda r, c, share: ("blocks", c, r, share)),
    "band": Kind("band(-64,64)", _band, _in_band, lambda low, high: ("band", -high, -low)),
    "nearest": Kind("nearest(2,4)", _nearest, _largest, lambda n, m, dim: ("nearest", n, m, 1 - dim)),
    "bucket": Kind("bucket(0,2,4)", _bucket, _in_bucket, lambda k, c, n, dim: ("bucket", k, c, n, 1 - dim)),
}


# ---- texts ----
class Rule(NamedTuple):
    """A rule with its arguments."""

    name: str
    arguments: tuple

    def takes(self, left: Left) -> torch.Tensor:
        """Which of the entries that are left it takes."""
        return RULES[self.name].takes(left, *self.arguments)

    def turned(self) -> Rule:
        """The rule that takes the same entries of the transpose."""
        name, *arguments = RULES[self.name].turned(*self.arguments)
        return Rule(name, tuple(arguments))

    def __str__(self) -> str:
        given = self.arguments
        if self.name in ("nearest", "bucket") and given[-1] == 1:
            given = given[:-1]
        between = " " if isinstance(given[0], str) else ","
        return f"{self.name}({between.join(map(str, given))})"


def rule_of(text: str) -> Rule:
    """The rule that a text says. Raises: ValueError: there is none."""
    found = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", text)
    if not found or found[1] not in RULES:
        known = ", ".join(kind.example for kind in RULES.values())
        raise ValueError(f"expected a rule such as {known}, got {text.strip()!r}")
    try:
        return Rule(found[1], RULES[found[1]].read(found[2]))
    except ValueError as error:
        raise ValueError(f"{found[1]}: {error}; for example {RULES[found[1]].example}") from None

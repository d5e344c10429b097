"""Tensors of ``scorch.dynamic`` among the operands of an expression, which mean the dense tensors they are.

Read as sparse ones they are walked over faster where most values are zero. What an expression gives must not
depend on how many are: so they are read densely where a format, or what is stored, would show the difference.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import torch

from ..tensor.format import is_composed
from ..tensor.sparsetensor import SparseTensor
from .dynamic import Dynamic, expect_no_tiles, resolved
from .program import Asked, Result, known_program, of_operand, results, type_name
from .run import operands_of


def is_among(operands: Sequence[object]) -> bool:
    """Whether one of them is such a tensor."""
    return any(isinstance(x, Dynamic) for x in operands)


def densely(operands: Sequence[object]) -> tuple[object, ...]:
    """The operands with the dense tensors that such ones are."""
    expect_no_tiles(*operands)
    return tuple([x.to_dense() if isinstance(x, Dynamic) else x for x in operands])


def as_found(
    expression: str,
    names: tuple[str, ...],
    operands: tuple,
    format: Asked,
    schedule: str | None,
) -> tuple[tuple, Asked] | None:
    """The operands with such as are mostly zero made sparse, and the format to ask for: where results of the
    dense ones are dense, these are as well. None: to be read densely."""
    asks = _names_stored(expression, names) if names else [False] * len(operands)
    given = [
        resolved(x) if isinstance(x, Dynamic) and not ask else x
        for x, ask in zip(operands, asks, strict=True)
    ]
    if not any(isinstance(y, SparseTensor) and y is not x for x, y in zip(operands, given, strict=True)):
        return None
    given = densely(given)
    facts = []
    for x, y in zip(operands, operands_of(given), strict=True):
        kind = of_operand(y)
        facts.append((kind, None if isinstance(x, Dynamic) else kind, y.dim(), y.dtype))
    asked = _asked(
        expression, names, tuple(facts), tuple(format) if isinstance(format, list) else format, schedule
    )
    return None if asked is NotImplemented else (given, asked)


@lru_cache(maxsize=4096)
def _names_stored(expression: str, names: tuple[str, ...]) -> list[bool]:
    """Of which operands the expression asks where they are stored."""
    return [bool(re.search(rf"\bstored\s*\(\s*{re.escape(name)}\b", expression)) for name in names]


@lru_cache(maxsize=4096)
def _asked(
    expression: str, names: tuple[str, ...], facts: tuple[tuple, ...], format: Asked, schedule: str | None
) -> Asked:
    """What format to ask for, of operands read as sparse ones and as dense ones; NotImplemented: of these."""
    read, dense, ranks, types = zip(*facts, strict=True)
    each = format if isinstance(format, tuple) else None
    if format is None or (each is not None and None in each):
        made = _results(expression, names, dense, ranks, types, format, schedule)
        wanted = [None] * len(made) if each is None else each
        if not made or not all(r.is_dense for r, f in zip(made, wanted, strict=False) if f is None):
            return NotImplemented
        format = "dense" if each is None else tuple(["dense" if f is None else f for f in each])
    return format if _results(expression, names, read, ranks, types, format, schedule) else NotImplemented


def _results(
    expression: str,
    names: tuple[str, ...],
    kinds: tuple,
    ranks: tuple[int, ...],
    types: tuple[torch.dtype, ...],
    format: Asked,
    schedule: str | None,
) -> tuple[Result, ...]:
    """What the expression gives of such operands; nothing where they are refused."""
    kinds = tuple([(2, "csr") if kind and is_composed(kind[1]) else kind for kind in kinds])
    try:
        program = known_program(expression, names, kinds, format, schedule, "zero")
        return results(program, ranks, tuple(map(type_name, types)))
    except (ValueError, NotImplementedError):
        return ()

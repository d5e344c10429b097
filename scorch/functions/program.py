"""Program strings: what the extension is told of a call, and what it says of the results.

The first part is an einsum string or index notation. A part for each operand follows, ``name:ndim:format``,
``::`` of dense ones, and parts that begin with ``!`` for what is asked for. Tabs lie between, which no part
has: torch pastes such strings into C++, where a line could not end.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch

from .. import _C, _torch
from ..tensor.format import Format, layout
from ..tensor.sparsetensor import SparseTensor, rank
from . import notation

Asked = str | Format | Sequence | None
TAB = "\t"


# ---- what a program is made of ----
def of_operand(x: torch.Tensor) -> tuple[int, str] | None:
    """(ndim, format), or None of a dense tensor: all that a program string says of an operand."""
    return (rank(x), x._fmt) if isinstance(x, SparseTensor) else None


def _line(name: str, kind: tuple[int, str] | None) -> str:
    return f"{name}:{kind[0]}:{kind[1]}" if kind else f"{name}::"


def _asked(format: object, ndims: Sequence[int]) -> list[str]:
    """Lines that ask for formats: one for all results, or a sequence with one (or None) a result."""
    if format is None:
        return []
    each = [format] * len(ndims) if isinstance(format, (str, Format)) else list(format)
    if len(each) != len(ndims):
        raise ValueError(f"format: expected one format, or {len(ndims)}, one a result, got {len(each)}")
    return ["!ask" if f is None else _ask(f, n) for f, n in zip(each, ndims, strict=True)]


def _ask(format: str | Format, ndim: int) -> str:
    return _ask_line(format._text if isinstance(format, Format) else format, ndim)


def written(format: Asked) -> str | tuple[str | None, ...] | None:
    """What is asked for, in strings."""
    if format is None or isinstance(format, str):
        return format
    if isinstance(format, Format):
        return format._text
    return tuple([f._text if isinstance(f, Format) else f for f in format])


@_torch.constant
def _ask_line(format: str, ndim: int) -> str:
    bound = Format(format).bind(ndim)
    return f"!ask {ndim}:{'dense' if bound.is_dense else bound.text}"


def _options(schedule: str | None, implicit: str) -> list[str]:
    if implicit not in ("zero", "skip"):
        raise ValueError(f'implicit: expected "zero" or "skip", got {implicit!r}')
    lines = [f"!schedule {' '.join(schedule.split())}"] if schedule else []
    return lines + (["!skip"] if implicit == "skip" else [])


def program_of(
    expression: str,
    names: tuple[str, ...],
    kinds: tuple[tuple[int, str] | None, ...],
    format: Asked,
    schedule: str | None,
    implicit: str,
) -> str:
    """The program string of an einsum (without names) or of index notation."""
    if names:
        text, ranks = notation.assignments(expression)
        if "=" not in text:
            raise ValueError(f"expected an assignment, such as C[i,k] = A[i,j] * B[j,k], got {expression!r}")
    else:
        text = notation.einsum_text(expression)
        names, ranks = ("",) * len(kinds), (len(text.partition("->")[2]),)
    lines = [_line(name, kind) for name, kind in zip(names, kinds, strict=True)]
    return TAB.join([text, *lines, *_asked(format, ranks), *_options(schedule, implicit)])


def revealed_program(
    expression: str, names: tuple[str, ...], kinds: tuple, format: Asked, *how: str | None
) -> tuple[str, tuple[bool, ...]]:
    """As program_of, for calls that are recorded: it returns temporaries too. Also which results are none."""
    program = program_of(expression, names, kinds, format, *how)
    text, shown = notation.revealed(expression) if names else (expression, (True,))
    if all(shown):
        return program, shown
    if format is not None:
        each = iter([format] * sum(shown) if isinstance(format, (str, Format)) else format)
        format = [next(each) if returned else None for returned in shown]
    return program_of(text, names, kinds, format, *how), shown


known_program = lru_cache(maxsize=4096)(program_of)
known_revealed = lru_cache(maxsize=4096)(revealed_program)


# ---- what a program returns ----
TYPES = {
    torch.bool: "bool",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}


def type_name(dtype: torch.dtype) -> str:
    """What programs call a type.

    Raises: NotImplementedError: they do not compute with it.
    """
    if dtype not in TYPES:
        raise NotImplementedError(
            f"values of {dtype} are stored and converted, not computed with: use .to(torch.float32), or a "
            f"type of {', '.join(str(known)[6:] for known in TYPES)}"
        )
    return TYPES[dtype]


_TORCH = {name: dtype for dtype, name in TYPES.items()}


class Result(NamedTuple):
    """One result of a program."""

    format: str
    dtype: torch.dtype
    like: int  # the operand whose structure it has, or -1
    extents: tuple[tuple[int, int], ...]  # (operand, dimension) that each extent is read from

    @property
    def is_dense(self) -> bool:
        """Whether it is one dense tensor."""
        return layout(self.format, len(self.extents)).is_dense


@lru_cache(maxsize=4096)
def formats(program: str) -> tuple[str, ...]:
    """The format of each operand of a program string, empty for dense ones."""
    lines = program.split(TAB)[1:]
    return tuple(line.split(":", 2)[2] for line in lines if not line.startswith("!"))


@lru_cache(maxsize=4096)
def results(program: str, ranks: tuple[int, ...], types: tuple[str, ...]) -> tuple[Result, ...]:
    """What a program string returns for operands of these ranks and of these types, named as in ``TYPES``.

    Raises: ValueError, NotImplementedError: the program is not right, or not possible.
    """
    given = formats(program)
    found = []
    for text, dtype, like, extents, _ in _C.describe(program, ranks, types):
        shared = like >= 0 and layout(text, len(extents)) == layout(given[like], len(extents))
        found.append(Result(text, _TORCH[dtype], like if shared else -1, extents))
    return tuple(found)

"""Expressions over composed operands: taken apart by the compiler, and computed over the parts.

The compiler (csrc/compiler/expr/compose.c) says of index notation which sums go over parts, each of which is
an operand of its own then, and which results have the parts of an operand. What it leaves gets the operand as
csr. The text that comes out is computed like any other: gradients, tracing and planning know nothing of this.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import torch

from .. import _C
from ..tensor.composed import Composed, whole
from ..tensor.entries import same_structure
from ..tensor.format import Format, Layout, bound, fills, has_parts, is_composed, layout
from ..tensor.sparsetensor import SparseTensor, rank
from ..tensor.values import kept, needs_grad, tracked, values_of
from . import expressions, notation
from .gradients import are_derivable, mask
from .part_schedules import conversions, converts, in_own_words, in_program, is_printed, of_parts
from .program import Asked, known_revealed, of_operand, program_of
from .run import Out

_NO_PARTS = (
    "schedule: expected no part, such as A.0, in a call that gets its composed operands as csr: "
    "leave it out, or see in scorch.explain which calls go over parts"
)
_NO_FILL = (
    'implicit="skip": expected a format whose parts store no zeros between entries, where max= and min= have '
    "no point, got %s: ask for csr"
)
_EXTREMUM = re.compile(r"\b(max|min)\s*=")


class Apart(NamedTuple):
    """Index notation over parts.

    operands: (operand, part or -1 for all of it) of each name. results: (result, part or -1, the operand that
    it is like) of each that is returned. indices: (name, what the user calls it)
    of those that stand in the place of another one in a term.
    """

    text: str
    names: tuple[str, ...]
    operands: tuple[tuple[int, int], ...]
    results: tuple[tuple[int, int, int], ...]
    indices: tuple[tuple[str, str], ...]


def _kind(kind: tuple[int, str] | None) -> tuple[int, str] | None:
    return (kind[0], "csr") if kind and is_composed(kind[1]) else kind


def _plainly(format: Asked) -> Asked:
    """What is asked for, but for composed formats, into which a csr result is converted."""
    if format is None or isinstance(format, str | Format):
        return "csr" if format is not None and has_parts(format) else format
    return tuple([_plainly(f) for f in format])


def _of_each(format: Asked, n: int) -> Sequence:
    return [format] * n if format is None or isinstance(format, str | Format) else list(format)


@lru_cache(maxsize=4096)
def _apart(
    text: str, names: tuple[str, ...], kinds: tuple, ranks: tuple[int, ...], asked: tuple
) -> Apart | None:
    """The text over parts; None where no part has a step of its own."""
    parts = tuple([len(layout(*kind[::-1]).parts) if kind else 0 for kind in kinds])
    asked = [None if f is None or has_parts(f) else f for f in asked]
    try:
        program = program_of(text, names, tuple(map(_kind, kinds)), asked, None, "zero")
        text, operands, results, indices = _C.compose(program, ranks, parts)
    except (ValueError, NotImplementedError):
        return None  # it is said of what was written
    if all(part < 0 for _, _, part in operands):
        return None
    names = tuple([name for name, *_ in operands])
    return Apart(text, names, tuple([o[1:] for o in operands]), results, indices)


def _notation(expression: str, names: tuple[str, ...], n: int) -> tuple[str, tuple[str, ...]]:
    """An einsum string as index notation."""
    if names:
        return expression, names
    names = tuple([f"x{k}" for k in range(n)])
    return notation.named(expression, names), names


def _adds_first(dtype: torch.dtype, expression: str) -> bool:
    """Whether entries that are stored twice are added before anything else: bool is "or"ed, and quotients of
    integers are fractions, where sums of integers wrap."""
    return dtype is torch.bool or (not dtype.is_floating_point and "/" in expression)


def _overlap(expression: str, xs: Sequence[torch.Tensor]) -> bool:
    """Whether one may store an entry twice, and parts must not be taken one by one then."""
    return any(
        isinstance(x, Composed) and _adds_first(x.dtype, expression) and not x._is_unique() for x in xs
    )


@lru_cache(maxsize=4096)
def _known(
    expression: str, names: tuple[str, ...], kinds: tuple, ranks: tuple[int, ...], format: str | None
) -> Apart | None:
    """How it is taken apart where each result is one tensor; None where it is not, or has parts."""
    text, called = _notation(expression, names, len(kinds))
    asked = (format,) * len(notation.assignments(text)[1])
    apart = _apart(text, called, kinds, ranks, asked)
    return apart if apart and all(part < 0 for _, part, _ in apart.results) else None


def quickly(
    expression: str,
    names: tuple[str, ...],
    operands: tuple,
    format: Asked,
    schedule: str | None,
    implicit: str,
    out: Out,
) -> list | object:
    """As ``expressions.quick``, of composed operands: a look at what is known, and a call over the parts."""
    if schedule is not None or implicit != "zero" or not (format is None or type(format) is str):
        return NotImplemented
    kinds, ranks = [], []
    for x in operands:
        if isinstance(x, SparseTensor):
            if needs_grad(x) or _adds_first(x._val.dtype, expression):
                return NotImplemented
            kinds.append((x._ndim, x._fmt))
            ranks.append(x._ndim)
        elif type(x) is torch.Tensor or type(x) is torch.nn.Parameter:
            kinds.append(None)
            ranks.append(x.dim())
        else:
            return NotImplemented
    apart = _known(expression, names, tuple(kinds), tuple(ranks), format)
    if apart is None:
        return NotImplemented
    return expressions.quick(apart.text, apart.names, _given(apart, operands), format, None, "zero", out)


def fast_product(a: Composed, x: object, texts: tuple[str, str], last: bool) -> torch.Tensor:
    """A product of a composed tensor and a plain matrix or vector; NotImplemented where more goes on."""
    if type(x) is not torch.Tensor or not 0 < x.dim() < 3:
        return NotImplemented
    free = 0 if last else 1
    if x.dim() == 2 and x.shape[free] == 1:
        made = fast_product(a, x.select(free, 0), texts, last)
        return made if made is NotImplemented else made.unsqueeze(free)
    given = (x, a) if last else (a, x)
    found = quickly(texts[x.dim() - 1], (), given, None, None, "zero", None)
    return found if found is NotImplemented else found[0]


def _find(
    expression: str,
    names: tuple[str, ...],
    xs: Sequence[torch.Tensor],
    format: Asked,
    schedule: str | None,
    implicit: str,
) -> tuple[Apart | None, list, str | None]:
    """How it is taken apart, the format asked of each result, and the schedule of what is taken apart."""
    text, called = _notation(expression, names, len(xs))
    ranks = notation.assignments(text)[1] if "=" in text else ()
    asked, of_each = _of_each(format, len(ranks)), of_parts(schedule)
    apart = None
    if implicit == "zero" and len(asked) == len(ranks) and not _overlap(expression, xs):
        kinds, dims = tuple(map(of_operand, xs)), tuple([rank(x) for x in xs])
        apart = _apart(text, called, kinds, dims, tuple([f if f is None else str(f) for f in asked]))
    if of_each:
        if not apart:
            raise ValueError(_NO_PARTS)
        return apart, asked, in_program(of_each, _letters(names, len(xs)), apart)
    if not schedule:  # empty where steps are no product's: what was printed goes back
        return apart, asked, None
    if apart and is_printed(schedule, text, apart):
        return apart, asked, schedule
    return None, asked, None


def _refuse_filled(expression: str, format: Asked) -> None:
    """Raises ValueError: zeros that fill blocks up would stand where the extremum of nothing is."""
    for f in _of_each(format, 1):
        if f is not None and has_parts(f) and fills(bound(f, 2)) and _EXTREMUM.search(expression):
            raise ValueError(_NO_FILL % f)


def compute(
    expression: str,
    names: tuple[str, ...],
    xs: list[torch.Tensor],
    format: Asked,
    schedule: str | None,
    implicit: str,
    out: Out,
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """``expressions.compute`` where an operand is composed or shall be, or a result is to be."""
    if implicit == "skip":
        _refuse_filled(expression, format)
    xs, schedule = _as_asked(names, xs, schedule)
    apart, asked, of_each = _find(expression, names, xs, format, schedule, implicit)
    found = None
    if apart and (out is None or all(part < 0 for _, part, _ in apart.results)):
        try:
            found = _in_steps(apart, xs, asked, of_each, out)
        except ValueError as error:
            written = _letters(names, len(xs))
            raise ValueError(in_own_words(str(error), written, apart)) from None
    if found is None and of_each:
        raise ValueError(_NO_PARTS)
    if found is None:
        made = expressions.compute(expression, names, whole(xs), _plainly(format), schedule, implicit, out)
        found = made if isinstance(made, tuple) else (made,)
    own = {x._fmt for x in xs if isinstance(x, Composed)}
    delivered = [y if f is None else _converted(y, f, own) for y, f in zip(found, asked, strict=True)]
    return tuple(delivered) if len(delivered) > 1 else delivered[0]


def _converted(y: torch.Tensor, format: str | Format, own: set[str]) -> torch.Tensor:
    """A result in the format asked for; csr where it is to have the parts of an operand that no rule made."""
    if not isinstance(y, SparseTensor):
        return y
    if not has_parts(format):
        return y.convert(format) if isinstance(y, Composed) else y
    form = bound(format, 2)
    if form.text == y._fmt:
        return y
    return y._whole() if _stays(form, own) else y.convert(form.text)


def _stays(form: Layout, own: set[str]) -> bool:
    """Whether a csr result stays csr: its parts are those of an operand, which nothing can find in it."""
    return form.text in own and not all(form.rules[:-1])


def _given(apart: Apart, xs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    parts = {k: xs[k].parts for k, part in apart.operands if part >= 0}
    return tuple([whole(xs[k]) if part < 0 else parts[k][part] for k, part in apart.operands])


def _formats(apart: Apart, asked: Sequence) -> Asked:
    """What is asked of the results of the text: those that are parts are like their operands."""
    each = [_plainly(asked[result]) if part < 0 else None for result, part, _ in apart.results]
    return each if any(f is not None for f in each) else None


def _is_derivable(apart: Apart, given: Sequence[torch.Tensor], formats: Asked) -> bool:
    """Whether gradients over parts, of which there may be any, are within the limits of one program."""
    wanted = mask(map(tracked, given))
    if not wanted:
        return True
    kinds, asked = tuple(map(of_operand, given)), formats and tuple(formats)
    program, shown = known_revealed(apart.text, apart.names, kinds, asked, None, "zero")
    return are_derivable(program, tuple(map(rank, given)), wanted, mask(shown))


def _in_steps(
    apart: Apart, xs: list[torch.Tensor], asked: Sequence, schedule: str | None, out: Out
) -> list | None:
    """The results over parts; None where one has not the structure that it was thought to have, or where
    gradients over parts would be beyond the limits."""
    given, formats = _given(apart, xs), _formats(apart, asked)
    if schedule is None and not _is_derivable(apart, given, formats):
        return None
    made = expressions.compute(apart.text, apart.names, given, formats, schedule, "zero", out)
    found: dict[int, list] = {}
    for y, (result, part, like) in zip(
        made if isinstance(made, tuple) else (made,), apart.results, strict=True
    ):
        if part >= 0:
            piece = given[apart.operands.index((like, part))]
            if not isinstance(y, SparseTensor) or not same_structure(y, piece):
                return None
        found.setdefault(result, []).append(y)
    likes = {result: like for result, part, like in apart.results if part >= 0}
    return [
        xs[likes[r]]._with_values(torch.cat([values_of(y) for y in ys])) if r in likes else ys[0]
        for r, ys in sorted(found.items())
    ]


# ---- operands that a schedule converts ----
def _letters(names: tuple[str, ...], n: int) -> tuple[str, ...]:
    """What operands are called in a schedule."""
    return names or tuple(string.ascii_uppercase[:n])


def _as_asked(
    names: tuple[str, ...], xs: list[torch.Tensor], schedule: str | None
) -> tuple[list[torch.Tensor], str | None]:
    """Operands in the composed formats that a schedule asks for, kept with them, and what else it says."""
    if not converts(schedule):
        return xs, schedule
    formats, rest = conversions(schedule)
    if rest and not of_parts(rest):
        raise ValueError(
            f"schedule: expected nothing beside a conversion to parts but what is asked of each part, as in "
            f"A.1: ahead(8), got {rest!r}"
        )
    given = dict(zip(_letters(names, len(xs)), xs, strict=True))
    for name, format in formats.items():
        x = given.get(name)
        if not isinstance(x, SparseTensor):
            raise ValueError(
                f"schedule: convert({name}: ..): expected the name of a sparse operand, "
                f"one of {', '.join(given)}"
            )
        text = bound(format, rank(x)).text
        given[name] = kept(x, f"as {text}", partial(x.convert, text))
    return list(given.values()), rest


# ---- ahead of the call ----
class Kernel:
    """A program over parts; see :func:`scorch.compile`."""

    def __init__(self, expression: str, names: tuple[str, ...], xs: list[torch.Tensor], how: tuple) -> None:
        self.expression, self._names, self._how = expression, names, how
        self._kinds = [getattr(x, "_fmt", "dense") for x in xs]
        xs, schedule = _as_asked(names, xs, how[1])
        self._taken = [getattr(x, "_fmt", "dense") for x in xs]
        apart, asked, of_each = _find(expression, names, xs, how[0], schedule, how[2])
        if apart:
            given = dict(zip(apart.names, _given(apart, xs), strict=True))
            formats = _formats(apart, asked)
            self._inner = expressions.compile(apart.text, format=formats, schedule=of_each, **given)
        else:
            asks = {"format": _plainly(how[0]), "schedule": schedule, "implicit": how[2]}
            given = whole(xs)
            named = dict(zip(names, given, strict=True)) if names else {}
            self._inner = expressions.compile(expression, *(() if names else given), **asks, **named)
        self._apart, self._asked = apart, asked

    def __call__(
        self, *operands: object, out: Out = None, **named: object
    ) -> torch.Tensor | tuple[torch.Tensor, ...]:
        """Runs on operands like the ones it was made with; extents may differ."""
        if named and (operands or set(named) != set(self._names)):
            raise TypeError(f"expected the operands {', '.join(self._names)}, got {', '.join(named)}")
        xs = tuple([named[name] for name in self._names]) if named else operands
        kinds = [getattr(x, "_fmt", "dense") for x in xs]
        if kinds != self._kinds:
            raise ValueError(f"expected operands in the formats {self._kinds}, got {kinds}")
        return expressions.compute(self.expression, self._names, xs, *self._how, out)

    def __getattr__(self, name: str) -> object:
        if name not in ("source", "schedule", "directives", "orders"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def explain(self) -> str:
        """What becomes of composed operands, and how the program over the parts runs."""
        return "\n".join([*self._said(), "", self._inner.explain()])

    def _said(self) -> list[str]:
        """A line for each composed operand."""
        lines = []
        for k, kind in enumerate(self._taken):
            if is_composed(kind):
                name = self._names[k] if self._names else f"operand {k}"
                lines.append(f"{name}: {kind}: {', '.join(self._ways(k, kind))}")
        return lines + self._delivered()

    def _delivered(self) -> list[str]:
        """A line for each result that has parts, or gets its format behind the program."""
        apart, own, lines = self._apart, {kind for kind in self._kinds if is_composed(kind)}, []
        text = apart.text if apart else _notation(self.expression, self._names, len(self._kinds))[0]
        names = notation.results(text)
        for r, format in enumerate(self._asked):
            pieces, parts = [names[r]], None
            if apart:
                at = [k for k, (result, *_) in enumerate(apart.results) if result == r]
                pieces, (_, part, like) = [names[k] for k in at], apart.results[at[0]]
                parts = self._taken[like] if part >= 0 else None
            made = parts
            if format is not None and (parts or has_parts(format)):
                form = bound(format, 2)
                made = form.text if form.text == parts or not _stays(form, own) else "csr"
            if made:
                lines.append(f"{', '.join(pieces)}: delivered as {made}")
        return lines

    def _ways(self, operand: int, kind: str) -> list[str]:
        """What becomes of a composed operand."""
        if not self._apart:
            return ["converted to csr"]
        each = zip(self._apart.names, self._apart.operands, strict=True)
        formats = [part.text for part in layout(kind, 2).parts]
        return [
            "converted to csr" if part < 0 else f"{name} is {formats[part]}"
            for name, (of, part) in each
            if of == operand
        ]

    def __repr__(self) -> str:
        return f"<scorch kernel {self.expression!r}, in parts>"


def compiled(
    expression: str,
    names: tuple[str, ...],
    xs: list[torch.Tensor],
    format: Asked,
    schedule: str | None,
    implicit: str,
) -> Kernel:
    """``scorch.compile`` where an operand is composed, or a result is to be."""
    return Kernel(expression, names, xs, (format, schedule, implicit))

"""Which of several formats of a tensor is the fastest for some calls, by a race of all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..tensor.format import Format, bound, has_parts
from ..tensor.sparsetensor import SparseTensor
from . import suggest
from .plan import expect
from .race import Race, clock

_SECONDS = 10.0  # that a race lasts at most
Call = Callable[[SparseTensor], object]


class _Choice:
    """A race of one tensor in several formats."""

    def __init__(self, a: SparseTensor, calls: Sequence[Call]) -> None:
        self._ways, self._now, self._calls = {a._fmt: a}, a, calls
        self._race = Race(self._call, self._switch, clock() + _SECONDS)

    def _switch(self, format: str) -> None:
        self._now = self._ways[format]

    def _call(self) -> None:
        for call in self._calls:
            call(self._now)

    def runs(self, format: str) -> bool:
        """Whether the calls take a format; what they need is made ready."""
        self._switch(format)
        try:
            for _ in range(2):  # the second one uses what the first one derived
                self._call()
        except (ValueError, NotImplementedError):
            return False
        return True

    def winner(self, base: str, others: Sequence[str]) -> str:
        """The one of them that is surely faster than ``base``, or ``base``."""
        a = self._ways[base]
        self._ways |= {f: expect(a.convert(f)) for f in others}
        fit = [f for f in others if self.runs(f)]
        found = self._race.heats(base, fit, self._race.final_takes(base, base))
        best = sorted((f for f in found if found[f] > 1), key=found.__getitem__, reverse=True)
        return next((f for f in best if self._race.final(base, f).wins), base)

    def fastest(self, formats: Sequence[str]) -> SparseTensor:
        """The tensor in the best format; one of several parts must win against the best of the others."""
        best = self._now._fmt
        for parts in (False, True):
            best = self.winner(best, [f for f in formats if has_parts(f) == parts])
        return self._ways[best]


def _wanted(a: SparseTensor, format: str | Format | Sequence[str | Format]) -> list[str]:
    """Formats that a may be converted to, as texts."""
    if format == "auto":
        found = ["csr", *suggest.formats(a.convert("csr"))] if a._ndim == 2 else []
    else:
        found = [bound(f, a._ndim).text for f in ([format] if isinstance(format, str | Format) else format)]
    return [f for f in found if f != a._fmt]


def fastest(
    a: SparseTensor, calls: Sequence[Call], format: str | Format | Sequence[str | Format]
) -> SparseTensor:
    """The tensor in the format in which the calls are the fastest: itself, unless another surely wins."""
    wanted, choice = _wanted(a, format), _Choice(a, calls)
    return choice.fastest(wanted) if wanted and choice.runs(a._fmt) else a

"""What runs inside of a with statement: programs, their steps, conversions, attention, samples and parts.

The core counts (csrc/watch.h), wherever a call comes from: the short entries in C, operators in graphs of
torch.compile, autograd's threads. Nothing is counted, and no time taken, outside of such a statement.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from .. import _C
from .tables import as_html, human, human_bytes, lines

_lock = threading.Lock()
_open = 0  # profiles that count now
_SORTS: dict[str, Callable[[Ran], float]] = {
    "time": lambda ran: ran.seconds,
    "calls": lambda ran: ran.calls,
    "each": lambda ran: ran.seconds / ran.calls,
    "bytes": lambda ran: ran.bytes,
}
_LONG = 60  # letters of an expression in a table


@dataclass(frozen=True)
class Ran:
    """What ran: a program, a step of one, a conversion ("convert"), attention, a sample of neighbours
    ("sample_neighbors"), rows and columns that are taken ("submatrix") or the largest of rows ("topk").

    Attributes:
        expression: as it was asked for first; programs of gradients are index notation.
        operands, results: formats, extents and types.
        way: "bundle", "jit" or "executor" for a program, "steps" for one that runs others, "conversion", or
            "library" for what no kernel of an expression does: dense products, attention, samples, parts.
        calls: how often. seconds: of all calls, with what ran inside of them. bytes: of the arrays that all
            calls read and wrote, once each. entries: values that the first result of the last call stores.
        inside: what ran inside of it.

    >>> A, x = scorch.sparse(torch.eye(10)), torch.rand(10)
    >>> with scorch.profile() as p:
    ...     y = A @ x
    >>> ran = p.programs[0]
    >>> ran.expression, ran.calls, ran.entries
    ('ij,j->i', 1, 10)
    """

    expression: str
    operands: str
    results: str
    way: str
    calls: int
    seconds: float
    bytes: int
    entries: int
    inside: tuple[Ran, ...] = field(default=(), repr=False)

    @property
    def formats(self) -> str:
        """``operands -> results``."""
        return f"{self.operands} -> {self.results}" if self.results else self.operands


_Counts = dict[str, tuple[str, list[int], list[str]]]  # by key: the key around it; numbers; texts


def _read() -> tuple[int, _Counts]:
    first, *rows = _C.watched().splitlines()
    counts = {}
    for row in rows:
        key, above, *fields = row.split("\t")
        counts[key] = (above, [int(n) for n in fields[:4]], [*fields[4:], ""][:4])
    return int(first), counts


def _since(before: _Counts, after: _Counts) -> list[Ran]:
    """What ran between two looks, as a forest."""
    inside: dict[str, list[str]] = {}
    for key, (above, _, _) in after.items():
        inside.setdefault(above, []).append(key)

    def grown(above: str) -> Iterator[Ran]:
        for key in inside.get(above, ()):
            _, (calls, ns, size, entries), (way, results, expression, operands) = after[key]
            if key in before:
                _, (known, known_ns, known_size, _), _ = before[key]
                calls, ns, size = calls - known, ns - known_ns, size - known_size
            if calls:
                yield Ran(
                    expression, operands, results, way, calls, ns * 1e-9, size, entries, tuple(grown(key))
                )

    return list(grown("0"))


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


class Profile:
    """What ran inside of ``with scorch.profile() as p``; prints as a table. See :func:`profile`.

    Attributes:
        programs: what ran, a :class:`Ran` each, the longest first.
        seconds: of the with statement.
        made: programs that were made in it. making: seconds that the C compiler, the loader and the choice of
            orders took.
        lost: calls that there was no room for; there is for 1024 different ones.

    >>> A, x = scorch.sparse(torch.eye(10)), torch.rand(10)
    >>> with scorch.profile() as p:
    ...     for _ in range(3):
    ...         y = A @ x
    >>> len(p.programs), sum(ran.calls for ran in p.programs), p.lost
    (1, 3, 0)
    """

    def __init__(self) -> None:
        self.programs: list[Ran] = []
        self.seconds, self.made, self.making, self.lost = 0.0, 0, 0.0, 0
        self._before: tuple | None = None

    def __enter__(self) -> Profile:
        global _open
        if self._before is not None:
            raise RuntimeError("this profile is running already: make another by scorch.profile()")
        with _lock:
            if not _open:
                _C.watch(True)
            _open += 1
            self._before = (_read(), _C.stats(), time.perf_counter())
        return self

    def __exit__(self, *error: object) -> None:
        global _open
        end = time.perf_counter()
        with _lock:
            (lost, before), stats, start = self._before
            self._before = None
            (now_lost, after), now = _read(), _C.stats()
            _open -= 1
            if not _open:
                _C.watch(False)
        self.seconds, self.lost = end - start, now_lost - lost
        self.programs = sorted(_since(before, after), key=lambda ran: -ran.seconds)
        self.made = now["programs"] - stats["programs"]
        times = ("path_seconds", "compile_seconds", "load_seconds")
        self.making = sum(now[name] - stats[name] for name in times)

    def _cells(self, ran: Ran, depth: int) -> list[str]:
        text = ran.expression if len(ran.expression) <= _LONG else ran.expression[: _LONG - 2] + ".."
        share = f"{100 * ran.seconds / self.seconds:.1f}%" if self.seconds else ""
        size = human_bytes(ran.bytes / ran.calls)
        each = human(ran.seconds / ran.calls)
        return [
            human(ran.seconds),
            share,
            str(ran.calls),
            each,
            size,
            ran.way,
            "  " * depth + text,
            ran.formats,
        ]

    def _rows(self, programs: Sequence[Ran], depth: int = 0) -> Iterator[list[str]]:
        for ran in programs:
            yield self._cells(ran, depth)
            yield from self._rows(ran.inside, depth + 1)

    _HEAD = ("time", "share", "calls", "each", "bytes", "way", "program", "operands -> results")

    def _sorted(self, sort: str, most: int | None) -> list[Ran]:
        if sort not in _SORTS:
            raise ValueError(f"sort: expected one of {', '.join(_SORTS)}, got {sort!r}")
        return sorted(self.programs, key=lambda ran: -_SORTS[sort](ran))[:most]

    def _summary(self) -> str:
        calls, spent = sum(ran.calls for ran in self.programs), sum(ran.seconds for ran in self.programs)
        text = f"{_counted(calls, 'call')}, {human(spent)} of {human(self.seconds)}"
        if self.made:
            text += f"; {_counted(self.made, 'program')} made, which took {human(self.making)}"
        return text + (f"; {self.lost} calls of others were not kept" if self.lost else "")

    def table(self, sort: str = "time", most: int | None = 30) -> str:
        """What ran, as text: a line each, what ran inside of it below, and the sum.

        Args:
            sort: "time", "calls", "each" (time of a call) or "bytes".
            most: how many to show; None: all.

        Raises: ValueError: no such order.
        """
        body = list(self._rows(self._sorted(sort, most)))
        return "\n".join([*(lines(self._HEAD, body) if body else []), self._summary()])

    def __repr__(self) -> str:
        return self.table() if self._before is None else "<scorch profile that is running>"

    def _repr_html_(self) -> str:
        return as_html(self._HEAD, list(self._rows(self._sorted("time", 30)))) + f"<p>{self._summary()}</p>"


def profile() -> Profile:
    """Counts what runs inside of a with statement: calls, times, formats and bytes of each program.

    Conversions, attention, samples of neighbours, submatrices and top-k are listed as programs are, and below
    a program what ran inside of it: its steps, and what they converted. Calls of all threads are counted,
    gradients too. What torch itself computes on arrays of values, as for ``relu(A)`` or ``A * 2``, shows in
    torch.profiler alone. Profiles may lie inside one another. While torch.profiler runs, with or without
    this, programs are events of it whose names begin with ``scorch:``.

    Outside of the statement a call costs what it costs without it; inside, each takes some microseconds more.

    >>> A, x = scorch.sparse(torch.eye(100)), torch.rand(100, 8)
    >>> with scorch.profile() as p:
    ...     for _ in range(3):
    ...         y = A @ x
    >>> p.programs[0].expression, p.programs[0].calls
    ('ij,jk->ik', 3)
    """
    return Profile()

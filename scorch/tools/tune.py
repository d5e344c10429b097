"""Measured choice: schedules and layouts that are faster here than those that costs say, kept for later.

A call is run with notes taken of the programs that it asks for. For each of them some schedules are compiled
and raced, the one that the scheduler chooses among them; then the best one's words are changed one at a time.
What wins two more rounds is kept in the cache directory (csrc/run/tuned.c) and used from then on by whatever
asks for such a program, in this process and in those to come.
"""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import torch

from .. import _C
from ..functions.expressions import einsum, evaluate
from ..functions.program import Asked
from ..tensor.sparsetensor import SparseTensor, core_of
from . import candidates, progress, race, results, suggest
from .candidates import Proposal, Request
from .plan import expect
from .tables import human, lines

_CONVERSION = 5e-7  # seconds that an entry takes at most
_COMPILE = 0.3  # seconds of a compilation, before one was seen
_SHARE = 0.45  # of the time of a request: candidates are compiled until then
_LATE = 0.8  # ... and words changed
_CUT, _PLAIN = 0.7, 0.85  # of all, before operands count as used often: where they may be cut, and where not
_STEP = 1.01  # what exchanging a word must gain, and a candidate for the final
_FINALS = 3
_LITTLE = 0.03  # of what all programs of a call take
_CONVERTED = 1.1  # what a layout must gain that each process makes anew
_TURN = 2  # calls of a turn, at least
_TOO_LONG = "calls take too long for the time given"
_SLOW = 4.0  # times the default: not raced
_PATIENCE = 10.0  # seconds beyond its time after which another tuning is not waited for
_WAYS = min(4, os.cpu_count() or 1)  # compilations at a time
_COUNTED, _UNCOUNTED, _AS_NEW = 0, 1, 2  # what becomes of products, and of those that were counted before
_lock = threading.RLock()
_open: list[_Session] = []  # one at most
On = Callable[[Sequence[SparseTensor]], object]


# ---- what was found ----
@dataclass(eq=False)
class Candidate:
    """A schedule that was tried: median of a call and gain over the default, None where it was not raced."""

    expression: str
    what: str
    schedule: str
    seconds: float | None
    gain: float | None
    verdict: str
    final: float = 1.0  # against the default, in the worse round of the final


class Report:
    """What :func:`scorch.tune` found; prints as a table.

    Attributes:
        gain: how many times as fast the call is by what was kept, in the worse of two rounds; 1: nothing was.
        schedule: what was kept, one text a program that the call asks for.
        seconds: that tuning took.
        candidates: all that was tried.
        unsaved: why other processes will not find what was kept; empty: they will.
    """

    def __init__(
        self, gain: float, schedule: str, seconds: float, candidates: Sequence[Candidate], unsaved: str = ""
    ) -> None:
        self.gain, self.schedule, self.seconds = gain, schedule, seconds
        self.candidates, self.unsaved = tuple(candidates), unsaved

    def __repr__(self) -> str:
        head = ("candidate", "schedule", "median", "against default", "verdict")
        body, seen = [], ""
        for x in self.candidates:
            if x.expression != seen:
                body.append((seen := x.expression, "", "", "", ""))
            gain = "" if x.gain is None else f"{x.gain:.2f}x"
            body.append((f"  {x.what}", _brief(x.schedule), human(x.seconds), gain, x.verdict))
        end = f"{self.gain:.2f}x, kept" if self.schedule else "kept the default"
        end = f"{end}; {len(self.candidates)} tried in {self.seconds:.1f} s"
        here = [f"for this process only, as it could not be saved: {self.unsaved}"] if self.unsaved else []
        return "\n".join([*lines(head, body), end, *here])


def _brief(schedule: str, most: int = 44) -> str:
    """The loops of a nest in a line."""
    if "{" in schedule:
        loops = [
            line.strip(" {")
            for line in schedule.split("\n")
            if line.strip().startswith(("par", "for", "vec"))
        ]
        schedule = ", ".join(loops)
    return schedule if len(schedule) <= most else schedule[: most - 2] + ".."


# ---- one program ----
class _One:
    """The race of one request, until a time."""

    def __init__(self, session: _Session, request: Request, until: float) -> None:
        self.session, self.request, self.begin, self.until = session, request, race.clock(), until
        self.race = race.Race(session.call, self.switch, until)
        self.label = f"{request.text}{', many times' if _plain(request.about) != request.about else ''}"
        self.rows: list[Candidate] = []
        self.default = self.row(Proposal("default", None))
        self.scores = {self.default: 1.0}  # times as fast as the default, as far as heats say
        self.known = candidates.known_of(request)
        session.tried[request.number] = request

    def row(self, proposal: Proposal) -> Candidate:
        schedule = proposal.schedule or ""
        x = Candidate(self.label, proposal.what, schedule, None, None, "")
        self.session.rows.append(x)
        self.rows.append(x)
        return x

    def switch(self, x: Candidate) -> None:
        _C.tuned_try(self.request.number, x.schedule or None)

    def part(self, share: float) -> float:
        """The time when so much of the whole is over."""
        return self.begin + share * (self.until - self.begin)

    # ---- getting ready ----
    def compiled(self, x: Candidate) -> bool:
        start = race.clock()
        try:
            _C.noted_make(self.request.number, x.schedule)
        except (ValueError, NotImplementedError, RuntimeError) as error:
            x.verdict = f"refused: {str(error).splitlines()[0]:.60}"
        self.session.compiled(race.clock() - start)
        return not x.verdict

    def first_run(self, x: Candidate) -> float:
        """Seconds until it has run, been compared and timed, as far as one can say."""
        converted = candidates.entries(self.request) * _CONVERSION if "convert(" in x.schedule else 0.0
        return converted + _SLOW * self.race.takes([self.default])

    def checked(self, x: Candidate) -> bool:
        """Runs it, and compares."""
        if race.clock() + self.first_run(x) > self.until:
            x.verdict = "not started: no time left"
            return False
        self.switch(x)
        result = list(results.parts(self.session.call()))
        wrong = results.difference(result, self.session.expected)
        if results.formats(result) != results.formats(self.session.expected):
            x.verdict = f"refused: gives {', '.join(results.formats(result))}"
        elif wrong:
            self.switch(self.default)
            self.session.same(self.session.call())
            x.verdict = f"WRONG: {wrong}"
            warnings.warn(f"tune: a schedule computes something else, {wrong}: {x.schedule}", stacklevel=2)
        elif _C.tuned_schedule(self.request.number) is None:
            x.verdict = "refused: other formats of results, or no compiler"
        elif self.slower(x):
            x.verdict = "slower"
        return not x.verdict

    def slower(self, x: Candidate) -> bool:
        """Much slower; the first turn, of a call or two, may have met something else on the machine."""
        most = _SLOW * self.race.middle(self.default)
        if self.race.turn(x).middle <= most:
            return False
        return race.clock() + self.race.takes([x]) > self.until or self.race.turn(x).middle > most

    def ready(self, proposals: Sequence[Proposal], end: float) -> list[Candidate]:
        """Those that compile in time, compute the same and are not much slower."""
        rows = [self.row(x) for x in proposals]
        fit: list[Candidate] = []
        with ThreadPoolExecutor(_WAYS) as pool:
            for at in range(0, len(rows), _WAYS):
                some = rows[at : at + _WAYS]
                if race.clock() + 1.5 * self.session.compile > end:
                    for x in rows[at:]:
                        x.verdict = "not started: no time left"
                    break
                self.session.say(f"{self.request.text}: {at} of {len(rows)} compiled")
                made = list(pool.map(self.compiled, some))
                fit += [x for x, ok in zip(some, made, strict=True) if ok and self.checked(x)]
        return fit

    # ---- racing ----
    def starts(self) -> bool:
        """Times the default; False: there is no time for more."""
        for _ in range(2):  # the first one finds its kernels
            if not self.session.fits(_TURN, self.until):
                return False
            self.race.turn(self.default)
        self.reserve = self.race.final_takes(self.default, self.default)
        return race.clock() + self.reserve + self.session.compile <= self.until

    def tune(self, proposals: Sequence[Proposal], words: bool = True) -> Candidate | None:
        """Keeps the best and returns it, its words exchanged or not; None: nothing is surely faster."""
        kept = _C.tuned_schedule(self.request.number)
        before = [Proposal("kept before", kept)] if kept else []
        if not self.starts():
            self.default.verdict = _TOO_LONG
            return self.close(None, None)
        proposals = candidates.differs(self.request, [*before, *proposals], self.known)
        fit = self.ready(proposals, self.part(_SHARE if words else _LATE))
        old = next((x for x in self.rows if before and x.what == before[0].what), None)
        best = self.raced(self.default, fit)
        if words:
            self.reword(best)
        return self.close(next(filter(self.wins, self.contenders()), None), old)

    def raced(self, base: Candidate, others: Sequence[Candidate]) -> Candidate:
        """The best of them, or ``base``."""
        found = self.race.heats(base, others, self.reserve)
        self.scores |= {x: self.scores[base] * gain for x, gain in found.items()}
        best = max(found, key=found.__getitem__, default=base)
        return best if found.get(best, 0.0) >= _STEP else base

    def contenders(self) -> list[Candidate]:
        """Those for the final, the best first: what a heat decided may have been noise."""
        found = [x for x, score in self.scores.items() if score > _STEP]
        return sorted(found, key=self.scores.__getitem__, reverse=True)[:_FINALS]

    def reword(self, base: Candidate) -> None:
        """Exchanges one word after the other, where that gains."""
        for word in candidates.WORDS:
            text = base.schedule or candidates.nest(self.request)
            if "{" not in text or race.clock() + self.session.compile > self.part(_LATE):
                break
            other = candidates.differs(
                self.request, candidates.variants(self.request, word, text), self.known
            )
            base = self.raced(base, self.ready(other, self.part(_LATE)))

    def wins(self, x: Candidate) -> bool:
        self.session.say(f"{self.request.text}: {x.what}, is it surely faster?")
        verdict = self.race.final(self.default, x)
        if "convert(" in x.schedule and verdict.wins and verdict.gain < _CONVERTED:
            verdict = verdict._replace(wins=False, reason=f"less than {_CONVERTED:g}x, for a conversion")
        x.verdict = f"kept: {verdict.gain:.2f}x" if verdict.wins else verdict.reason
        x.final = verdict.gain
        return verdict.wins

    def close(self, winner: Candidate | None, old: Candidate | None) -> Candidate | None:
        for x in self.rows:
            x.seconds, x.gain = self.race.middle(x), self.race.against(self.default, x)
            x.verdict = x.verdict or ("" if x is self.default else "not the best")
        if winner:
            self.session.keep(self.request, winner.schedule, winner.final)
        elif old and (old.verdict.startswith("WRONG") or (old.gain or 1.0) < 1):
            _C.tuned_keep(self.request.number, 0.0)
            self.session.kept.pop(self.request.about, None)
            old.verdict = f"{'wrong' if old.gain is None else 'slower'}, no longer kept"
        else:
            _C.tuned_untry(self.request.number)
        return winner


# ---- a call ----
class _Session:
    """Of one function of sparse tensors, until a time."""

    def __init__(self, on: On, operands: Sequence[SparseTensor], seconds: float) -> None:
        self.on, self.operands = on, operands
        self.call: Callable[[], object] = lambda: on(operands)
        self.pays = False  # to cut operands
        self.begin, self.end = race.clock(), race.clock() + seconds
        self.rows: list[Candidate] = []
        self.kept: dict[str, tuple[str, float]] = {}  # by class, whether operands are used often or not
        self.often_of: dict[str, str] = {}  # the class of a request once its operands are used often
        self.unsaved = ""
        self.tried: dict[int, Request] = {}
        self.compile, self.seen = _COMPILE, 0.0
        self.one = 0.0  # seconds that a call takes, once its kernels are there
        self.conversion = _CONVERSION * sum(x.nnz for x in operands)  # that one takes, at most so far

    def first(self) -> object:
        """The first call, of which nobody knows how long it takes."""
        begin, made = race.clock(), _making()
        result = self.call()
        self.one = max(race.clock() - begin - (_making() - made), 0.0)
        return result

    def fits(self, calls: int, end: float, compilations: int = 0) -> bool:
        """Whether so much would be over by then."""
        return race.clock() + calls * self.one + compilations * self.compile <= end

    def say(self, what: str) -> None:
        since = race.clock() - self.begin
        progress.say(what, since / (self.end - self.begin), since)

    def compiled(self, seconds: float) -> None:
        """The longest compilation is what the next one may take."""
        self.compile = self.seen = max(self.seen, seconds)

    def keep(self, request: Request, schedule: str, gain: float) -> None:
        _C.tuned_try(request.number, schedule)
        self.unsaved = _C.tuned_keep(request.number, gain) or self.unsaved
        self.kept[request.about] = schedule, gain

    def same(self, result: object) -> None:
        """An error where the function gives another result without any of our doing."""
        wrong = results.difference(list(results.parts(result)), self.expected)
        if wrong:
            raise ValueError(
                f"tune: expected a function that gives the same result each time, got another one ({wrong}): "
                "seed or leave out what is random, and what changes its operands"
            )

    def run(self) -> Report:
        _C.count_as(_AS_NEW)  # and so they stay, however often they are multiplied here
        try:
            self.expected = results.copy(self.first())
            if not any(isinstance(x, torch.Tensor) for x in self.expected):
                raise ValueError(
                    "tune: expected a call that returns a tensor, to compare results of candidates"
                )
            self.race()
        finally:
            for number in self.tried:
                _C.tuned_untry(number)
            _C.count_as(_COUNTED)
            progress.end()
        for x in self.operands if self.pays else ():
            expect(x)
        found = self.in_use()
        gain = math.prod(gain for _, gain in found.values())
        schedule = "\n".join(schedule for schedule, _ in (found or self.kept).values())
        return Report(gain, schedule, race.clock() - self.begin, self.rows, self.unsaved)

    def in_use(self) -> dict[str, tuple[str, float]]:
        """Of what was kept, that which calls find now: as their operands are, used often or not."""
        if any(core_of(part).many() for x in self.operands for part in x.parts):
            return {about: x for about, x in self.kept.items() if about not in self.often_of}
        return {about: x for about, x in self.kept.items() if about not in self.often_of.values()}

    def race(self) -> None:
        """Of all that the call asks for, as far as there is time."""
        if not self.fits(1, self.end):
            self.rows.append(Candidate("the call", "default", "", self.one, 1.0, _TOO_LONG))
            return
        again: list[object] = []
        asked = candidates.noted(lambda: again.append(self.call()), anew=True)
        self.same(again.pop())
        share = _CUT if any(map(candidates.may_be_cut, asked)) else _PLAIN
        self.all_of(asked, self.begin + share * (self.end - self.begin))
        self.often(asked)
        self.recommend()

    def all_of(self, asked: Sequence[Request], end: float) -> None:
        """One after the other, the longest first; requests for operands that were converted come next."""
        queue = sorted(asked, key=candidates.cost, reverse=True)
        seen = {x.about for x in queue}
        while queue and race.clock() < end:
            share = _share(queue)
            request = queue.pop(0)
            if not share:
                continue
            until = race.clock() + share * (end - race.clock())
            won = _One(self, request, until).tune(candidates.first(request))
            if won and self.fits(1, end):
                more = [x for x in candidates.noted(self.call) if x.about not in seen]
                seen |= {x.about for x in more}
                queue = more + queue

    def often(self, asked: Sequence[Request]) -> None:
        """Operands that are multiplied often may be cut, and have layouts of their own: what was found is
        raced again, unless the scheduler chooses the same for them."""
        _C.count_as(_UNCOUNTED)
        found = [x for x in asked if x.about in self.kept or candidates.may_be_cut(x)]
        if not found or not self.fits(1, self.end - self.conversion, 1):
            return
        again = list(map(_like, self.operands))  # which become those that are used often, and these do not
        for x in again:
            expect(x)
        self.call = lambda: self.on(again)
        fresh = {x.about: x for x in candidates.noted(self.call)}
        raced = [pair for x in found if (pair := self.twin(x, fresh))]
        for k, (request, twin) in enumerate(raced):
            until = race.clock() + (self.end - race.clock()) / (len(raced) - k)
            whole = Proposal("without cuts", self.kept.get(request.about, ("convert()", 1.0))[0])
            won = _One(self, twin, until).tune([whole, *candidates.cuts(twin)], words=False)
            self.pays |= won is not None and "%" in won.schedule

    def twin(self, request: Request, fresh: dict[str, Request]) -> tuple[Request, Request] | None:
        """The request with that of operands that are used often, to be raced; None: there is nothing to race,
        or it was never asked for, as where the function has other operands."""
        often = candidates.used_often(request)
        if often.about == request.about:
            return None
        self.often_of[request.about] = often.about
        twin = fresh.get(often.about)
        if request.about in self.kept and candidates.same_default(request, twin or often):
            self.keep(often, *self.kept[request.about])
            return (request, twin) if twin and candidates.may_be_cut(request) else None
        return (request, twin) if twin else None

    def recommend(self) -> None:
        """Operands whose entries come in blocks, along diagonals or in parts may be stored so: that is said,
        and the user's to do."""
        for at, x in enumerate(self.operands):
            for format in suggest.formats(x):
                if not self.fits(1 + 2 * _TURN, self.end - self.conversion, 3):
                    return
                begin = race.clock()
                other = [*self.operands[:at], x.convert(format), *self.operands[at + 1 :]]
                self.conversion = max(self.conversion, race.clock() - begin)
                self.compare(f"operand {at + 1} as {format}", {"csr": self.operands, format: other}, format)

    def compare(self, label: str, ways: dict[str, Sequence[SparseTensor]], other: str) -> None:
        """Times the function on other operands; a row of the report."""
        race_of = race.Race(
            lambda: self.on(self.operands_now), lambda way: setattr(self, "operands_now", ways[way]), self.end
        )
        row = Candidate(label, f"format {other}", "", None, None, "")
        self.rows.append(row)
        if results.difference(list(results.parts(self.on(ways[other]))), self.expected):
            row.verdict = "computes something else, or in another format"
            return
        for way in ways:
            race_of.turn(way)
        verdict = race_of.final("csr", other)
        row.seconds, row.gain = race_of.middle(other), race_of.against("csr", other)
        row.verdict = f'recommended: convert("{other}")' if verdict.wins else verdict.reason


def _like(x: SparseTensor) -> SparseTensor:
    """The same, of which nobody knows how often it was multiplied."""
    return x.detach().clone().requires_grad_(x.requires_grad)


def _making() -> float:
    """Seconds that went into kernels so far."""
    spent = _C.stats()
    return sum(spent[f"{name}_seconds"] for name in ("path", "compile", "load"))


def _share(queue: Sequence[Request]) -> float:
    """Of the time that is left, for the first one; 0: it takes too little of the call to matter."""
    costs = [candidates.cost(x) for x in queue if x.kind != "steps"]
    if queue[0].kind == "steps" or not sum(costs):
        return 1 / len(queue)
    share = candidates.cost(queue[0]) / sum(costs)
    return max(share, 1 / len(queue)) if share > _LITTLE else 0.0


def _plain(about: str) -> str:
    """The class of the same request before its operands are known to be used often."""
    return about.replace(", often", "")


# ---- what is kept ----
class Kept(NamedTuple):
    """A choice in the cache directory: what it holds for, and the schedule."""

    expression: str
    operands: tuple[str, ...]
    gain: float
    date: str
    schedule: str


def kept() -> list[Kept]:
    """All choices of the cache directory, of any machine."""
    found = []
    for entry in _C.tuned_list().split("\0")[:-1]:
        head, _, schedule = entry.partition("\nschedule\n")
        lines = [line.partition(" ") for line in head.splitlines()]
        facts = {word: rest for word, _, rest in lines}
        operands = tuple(rest for word, _, rest in lines if word == "operand")
        found.append(Kept(facts["expression"], operands, float(facts["gain"]), facts["date"], schedule))
    return sorted(found)


def clear() -> int:
    """Forgets all choices, in this process and in the cache directory; returns how many files there were."""
    return _C.tuned_clear()


# ---- the verbs ----
_INSIDE = (
    "tune: expected a function that does not tune, got one that calls tune itself, or another thread's tuning"
    " does not end: tune what it does first, or leave that out"
)


def _tuned(on: On, operands: Sequence[SparseTensor], seconds: float) -> Report:
    if not isinstance(seconds, Real) or not seconds > 0:
        kind = ValueError if isinstance(seconds, Real) else TypeError
        raise kind(f"tune: expected a positive number of seconds, as in seconds=5, got {seconds!r}")
    _take_turn()
    try:
        if _open:  # by this thread, as others wait
            raise ValueError(_INSIDE)
        _open.append(session := _Session(on, operands, seconds))
        try:
            return session.run()
        finally:
            _open.clear()
    finally:
        _lock.release()


def _take_turn() -> None:
    """Waits for what other threads tune, but not for ever: that may be what waits for this one."""
    while not _lock.acquire(timeout=1):
        if any(race.clock() > session.end + _PATIENCE for session in _open):
            raise ValueError(_INSIDE)


def tune(
    expression: str,
    *operands: object,
    seconds: float = 5.0,
    format: Asked = None,
    implicit: str = "zero",
    **named: object,
) -> Report:
    """Measures schedules and layouts of an expression on these operands, and keeps what is faster.

    What is kept holds for all calls with such operands: of the same expression, formats and types, of extents
    and numbers of entries in the same powers of two, on this kind of CPU with as many threads; it is used at
    once, in graphs of torch.compile too, and by processes that start later. ``scorch.explain`` says so;
    ``python -m scorch tuned`` lists what is kept and ``python -m scorch tuned clear`` forgets it.

    A schedule is kept if it is at least 3 % faster than the one chosen without measuring, by the median and
    by the fastest calls, in two rounds of turns; 10 % where operands are converted. Else, or where the
    machine is too busy to say, all stays as it is. Results of every schedule are compared with the first's.
    Where the cache directory cannot be written to, it holds for this process, and the report says why.

    Args:
        expression: an einsum string with operands, or index notation with names, as in :func:`einsum` and
            :func:`evaluate`.
        seconds: that it may take, compilations included.

    Returns:
        A :class:`Report`, which prints as a table; ``.gain``, ``.schedule``, ``.seconds``, ``.candidates``.

    Raises: as :func:`einsum` and :func:`evaluate`; ValueError inside of a function that is being tuned.

    >>> A, x = scorch.sparse(torch.eye(100)), torch.rand(100, 16)
    >>> report = scorch.tune("ij,jk->ik", A, x, seconds=0.1)
    >>> report.gain >= 1
    True
    """

    if (operands or not named) and isinstance(expression, str) and "=" in expression:
        raise TypeError("tune: expected the operands of index notation by their names")
    if operands and named:
        raise TypeError(f"tune() got an unexpected keyword argument {next(iter(named))!r}")
    given = {**dict(enumerate(operands)), **named}
    places = [k for k, x in given.items() if isinstance(x, SparseTensor)]

    def on(sparse: Sequence[SparseTensor]) -> object:
        now = {**given, **dict(zip(places, sparse, strict=True))}
        with torch.no_grad():
            if named:
                return evaluate(expression, format=format, implicit=implicit, **now)
            return einsum(expression, *now.values(), format=format, implicit=implicit)

    return _tuned(on, [given[k] for k in places], seconds)


def tune_call(a: SparseTensor, call: Callable[[SparseTensor], object], seconds: float) -> Report:
    """What a function of a tensor asks for: see ``SparseTensor.tune``."""
    if not callable(call):
        raise TypeError(f"tune: expected a function of the tensor, such as lambda A: A @ x, got {call!r}")
    return _tuned(lambda sparse: call(sparse[0]), [a], seconds)

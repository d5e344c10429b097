"""Which of several ways to do the same is the fastest, on a machine that does other things too.

Candidates take turns: in each turn every one is switched to, called once unmeasured, then timed, the one that
is there already among them. Ratios are of one turn; their median counts, and the ratio of the fastest calls.
Where one thread computes, its own time is measured and not that of others on the machine. Nothing begins that
would end behind the time that is given.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from statistics import median, quantiles
from typing import NamedTuple

from .. import _C

GAIN = 1.03  # what a change must win by, in two rounds
_TURN = 2e-3, 15e-3  # seconds that a turn of a short candidate lasts: at least, and at most
_SHARE = 500  # turns that the time is enough for, about
_MOST = 200  # calls in a turn
_HEAT = 3  # turns of a heat, before the slower half goes
_TURNS, _FEW = 9, 4  # of a round of the final: at most and at least
_LATE = "no time left to be sure, kept the default"
_NOISY = 1.5  # how far apart quartiles of the time of one and the same candidate may be

clock = time.perf_counter


def alone() -> bool:
    """Whether one thread computes."""
    return _C.width() == 1


class Times(NamedTuple):
    """Of a turn: seconds of a call."""

    middle: float
    least: float


class Verdict(NamedTuple):
    """Of a final: how many times as fast, and why it is or is not to be trusted."""

    gain: float
    wins: bool
    reason: str


class Race:
    """Times a call under one candidate after another.

    Args:
        call: what is timed.
        switch: puts a candidate in the place of the one before.
        until: the time of ``clock`` that nothing goes beyond.
    """

    def __init__(self, call: Callable[[], object], switch: Callable[[object], None], until: float) -> None:
        self._call, self._switch, self._until = call, switch, until
        self._turn = min(max((until - clock()) / _SHARE, _TURN[0]), _TURN[1])
        self._spent = time.process_time if alone() else clock
        self._seconds: dict[object, float] = {}  # of a call, about
        self._took: dict[object, float] = {}  # by the clock on the wall, a turn, about
        self._turns: dict[object, list[Times]] = {}

    # ---- one turn ----
    def turn(self, candidate: object) -> Times:
        """Switches, warms up, and times some calls."""
        begin = clock()
        self._switch(candidate)
        self._call()
        spent = self.timed(candidate, self._repeat(candidate))
        times = Times(median(spent), min(spent))
        self._seconds[candidate] = times.middle
        self._turns.setdefault(candidate, []).append(times)
        self._took[candidate] = clock() - begin
        return times

    def timed(self, candidate: object, repeat: int) -> list[float]:
        """Seconds of each of so many calls of the candidate that is there; of fewer where time is up."""
        spent: list[float] = []
        while not spent or (len(spent) < repeat and clock() < self._until):
            start = self._spent()
            self._call()
            spent.append(self._spent() - start)
        return spent

    def _repeat(self, candidate: object) -> int:
        about = max(self._seconds.get(candidate, self._turn), 1e-7)
        return max(1, min(_MOST, math.ceil(self._turn / about)))

    def takes(self, candidates: Sequence[object]) -> float:
        """Seconds of a turn of all of them, about."""
        return sum(self._took.get(x, self._turn) for x in candidates)

    def _fits(self, candidates: Sequence[object], turns: int = 1, kept: float = 0.0) -> bool:
        return clock() + 1.3 * turns * self.takes(candidates) + kept < self._until

    def _together(self, candidates: Sequence[object], k: int) -> list[Times]:
        """A turn of each, another one first each time."""
        n = len(candidates)
        found = {at: self.turn(candidates[at]) for at in ((k + i) % n for i in range(n))}
        return [found[at] for at in range(n)]

    # ---- heats ----
    def heats(self, base: object, others: Sequence[object], reserve: float) -> dict[object, float]:
        """How many times as fast as ``base``, which has all turns, each seems, by successive halving."""
        live = list(others)
        turns: dict[object, list[Times]] = {x: [] for x in (base, *live)}
        while live and self._heat(base, live, turns, reserve) and len(live) > 1:
            live.sort(key=lambda x: self.gain(turns[base], turns[x]), reverse=True)
            del live[len(live) // 2 :]
        return {x: self.gain(turns[base], turns[x]) for x in others if turns[x]}

    def _heat(
        self, base: object, live: list[object], turns: dict[object, list[Times]], reserve: float
    ) -> bool:
        """Some turns of all that are left; False: there was no time."""
        for k in range(_HEAT):
            if not self._fits([base, *live], kept=reserve):
                return False
            for x, times in zip([base, *live], self._together([base, *live], k), strict=True):
                turns[x].append(times)
        return True

    @staticmethod
    def gain(base: Sequence[Times], other: Sequence[Times]) -> float:
        """How many times as fast, at least: by the median of turns and by the fastest calls."""
        both = list(zip(base, other, strict=False))
        if not both:
            return 0.0
        by_middle = median(b.middle / o.middle for b, o in both)
        return min(by_middle, min(b.least for b, _ in both) / min(o.least for _, o in both))

    # ---- the final ----
    def final_takes(self, base: object, other: object) -> float:
        """Seconds that the shortest final takes."""
        return 1.3 * 2 * _FEW * self.takes([base, other])

    def final(self, base: object, other: object) -> Verdict:
        """Two rounds: the other must win both."""
        if not self._fits([base, other], 2 * _FEW):
            return Verdict(1.0, False, _LATE)
        left = (self._until - clock()) / max(1.3 * self.takes([base, other]), 1e-9)
        turns = max(_FEW, min(_TURNS, int(left / 4)))  # in half of the time: there may be others
        rounds = [self._round(base, other, turns) for _ in range(2)]
        worst = min(rounds, key=lambda x: (x.wins, x.gain))
        return worst if not worst.wins else Verdict(min(x.gain for x in rounds), True, worst.reason)

    def _round(self, base: object, other: object, turns: int) -> Verdict:
        pairs: list[tuple[Times, Times]] = []
        for k in range(turns):
            if not self._fits([base, other]):
                break
            first, second = self._together([base, other], k)
            pairs.append((first, second))
        if len(pairs) < _FEW:
            return Verdict(1.0, False, _LATE)
        ratios = [b.middle / o.middle for b, o in pairs]
        low, gain, high = quantiles(ratios, n=4)
        least = min(b.least for b, _ in pairs) / min(o.least for _, o in pairs)
        if min(gain, least) < GAIN and max(gain, least) < GAIN:
            return Verdict(gain, False, "not faster" if gain < 1 else f"less than {GAIN:g}x")
        if min(gain, least) < GAIN or low < 1 or high > _NOISY * low:
            reason = f"too noisy, kept the default: {low:.2f}x to {high:.2f}x, fastest calls {least:.2f}x"
            return Verdict(gain, False, reason)
        return Verdict(min(gain, least), True, "faster")

    # ---- what was seen ----
    def middle(self, candidate: object) -> float | None:
        """The median of all its turns, None: it had none."""
        turns = self._turns.get(candidate)
        return median(x.middle for x in turns) if turns else None

    def against(self, base: object, candidate: object) -> float | None:
        """How many times as fast as ``base``, over all turns of both."""
        mine, theirs = self.middle(candidate), self.middle(base)
        return theirs / mine if mine and theirs else None

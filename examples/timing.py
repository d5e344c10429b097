"""Comparing times on a noisy machine: the candidates take turns in one process.

In each round every candidate has a turn (A B C A B C ...), so that a slow moment of the machine hits all of
them alike. A turn lasts two milliseconds at least: short candidates are called many times in it, as a program
would, and find caches and threads as they left them themselves, not as the others did. The minimum says what
the code can do, the median what it did; only ratios within one comparison carry over to another machine.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter

TURN = 2e-3  # seconds that one turn of a short candidate should last


@dataclass(frozen=True)
class Time:
    """Seconds a call."""

    min: float
    median: float
    turns: int


def interleave(calls: dict[str, Callable[[], object]], seconds: float = 1.0) -> dict[str, Time]:
    """Times every candidate for about `seconds` in all, at least five turns each."""
    for call in calls.values():  # warm-up: compilation, caches, thread pools
        call()
        call()
    once = {name: _turn(call, 1) for name, call in calls.items()}
    repeat = {name: max(1, math.ceil(TURN / t)) for name, t in once.items()}
    rounds = max(5, math.ceil(seconds / sum(t * repeat[name] for name, t in once.items())))
    turns = {name: [] for name in calls}
    for _ in range(min(rounds, 2000)):
        for name, call in calls.items():
            turns[name].append(_turn(call, repeat[name]))
    return {name: Time(min(t), median(t), len(t)) for name, t in turns.items()}


def _turn(call: Callable[[], object], repeat: int) -> float:
    start = perf_counter()
    for _ in range(repeat):
        call()
    return (perf_counter() - start) / repeat


def compare(
    title: str,
    calls: dict[str, Callable[[], object]],
    seconds: float = 1.0,
    tolerance: float = 1e-4,
    read: Callable = lambda result: result,
) -> bool:
    """Times calls and prints a table, relative to the one called "Scorch".

    Returns whether every result, a dense tensor after `read`, is the first's, to `tolerance` of its largest
    entry; what is not is printed.
    """
    results = {name: read(call()) for name, call in calls.items()}
    (first, expected), *others = results.items()
    allowed, agree = tolerance * expected.abs().max().item(), True
    for name, got in others:
        error = (got - expected).abs().max().item()
        if not error <= allowed:
            agree = False
            print(f"{title}: {name} differs by {error:.1e} from {first}, allowed are {allowed:.1e}")
    show(title, interleave(calls, seconds))
    return agree


def show(title: str, times: dict[str, Time]) -> None:
    """Prints times, relative to the one called "Scorch"."""
    ours = times["Scorch"].min
    rows = [[n, human(t.min), human(t.median), f"{t.min / ours:.2f}x"] for n, t in times.items()]
    print(table([title, "min", "median", "relative to Scorch"], rows), end="\n\n")


def human(seconds: float) -> str:
    """A time with three digits and its unit."""
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def table(head: list[str], rows: list[list[str]], markdown: bool = False) -> str:
    """A text table, the first column left-aligned and the others right-aligned."""
    width = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row: list[str], between: str) -> str:
        return between.join([row[0].ljust(width[0]), *map(str.rjust, row[1:], width[1:])])

    if markdown:
        rule = ["-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(width)]
        return "\n".join(f"| {line(row, ' | ')} |" for row in [head, rule, *rows])
    return "\n".join(line(row, "  ").rstrip() for row in [head, ["-" * w for w in width], *rows])

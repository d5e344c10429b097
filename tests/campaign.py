"""Random programs, conversions and sequences of calls, for as long as one likes.

    python tests/campaign.py [--seconds S] [--count N] [--seed N] [programs | conversions | sequences]...

Takes turns among them; the n-th of each is the same for the same seed. What is found is made smaller and
printed with a script that shows it. The exit status is the number of different faults. SCORCH_JIT=off makes
it many times faster, and looks at the executor instead of compiled code. If the process dies,
build/tests/campaign.txt says what it was at.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import programs
import sequences

AT = Path(__file__).resolve().parent.parent / "build" / "tests" / "campaign.txt"


def program(seed: int) -> str:
    """Runs one; what is wrong with it, shown by a script."""
    case = programs.draw(random.Random(f"program {seed}"), seed)
    if case is None:
        return ""
    try:
        programs.check(case)
    except programs.Mismatch as wrong:
        case, said = programs.shrink(case, str(wrong))
        return f"{said}\n{case.script()}"
    return ""


def story(f):
    def run(seed: int) -> str:
        try:
            f(seed)
        except programs.Mismatch as wrong:
            return "\n".join(reversed(str(wrong).rsplit(": ", 1)))
        return ""

    return run


KINDS = {
    "programs": program,
    "conversions": story(sequences.conversion),
    "sequences": story(sequences.sequence),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="random use of the package, against dense arrays")
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--count", type=int, default=None, help="of each kind")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    given = parser.parse_args()
    kinds = {name: KINDS[name] for name in given.kinds or KINDS}
    seed = given.seed or random.randrange(1, 1 << 31)
    end = time.monotonic() + (
        given.seconds if given.seconds is not None else 60 if given.count is None else 1e9
    )
    print(f"seed {seed}", flush=True)
    AT.parent.mkdir(parents=True, exist_ok=True)
    found: Counter[str] = Counter()
    n = 0
    while time.monotonic() < end and (given.count is None or n < given.count):
        for name, run in kinds.items():
            AT.write_text(f"{name} {seed + n}\n")
            if said := run(seed + n):
                kind = f"{name}: {programs.kind(said)}"
                found[kind] += 1
                if found[kind] == 1:
                    print(f"---- {name} {seed + n}: {said}", flush=True)
        n += 1
    print(f"{n} of each: {', '.join(kinds)}; {len(found)} different faults", flush=True)
    for kind, times in found.most_common():
        print(f"{times:6} {kind}")
    return len(found)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())

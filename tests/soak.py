"""A process that lives long: changing expressions, structures and threads, and what it holds meanwhile.

    python tests/soak.py [--minutes N] [--threads N] [--jit auto|off] [--memory MB] [--seed N]

Threads run random programs (programs.py), each new to the process, and between them a few calls of the
same text on structures that are new each time: products, sums, conversions, gradients, a module, attention.
Every fiftieth result is compared with torch on dense arrays. Each minute prints what the process holds:
resident memory, file descriptors, mappings, programs that are kept. After the first quarter none of these
may grow by more than a twentieth, or by a few for the small ones. Prints a last line of JSON; the exit status
is the number of faults.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import random
import statistics
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

EVERY = 50  # results until one is compared
SECONDS = 5  # between two looks at the process
SLACK = {"rss_mb": 1.05, "fds": 1.05, "maps": 1.05}
MORE = {"rss_mb": 4, "fds": 2, "maps": 32}


# ---- what a process holds ----
def held() -> dict[str, float]:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what is free does not count as held
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    maps = Path("/proc/self/maps").read_text().count("\n")
    return {
        "rss_mb": pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
        "fds": len(os.listdir("/proc/self/fd")),
        "maps": maps,
    }


# ---- calls of one text on structures that change ----
def _random_matrix(r: random.Random, rows: int, columns: int):
    import torch

    g = torch.Generator().manual_seed(r.randrange(2**31))
    return torch.randint(-3, 4, (rows, columns), generator=g).float() * (
        torch.rand(rows, columns, generator=g) < r.choice((0.01, 0.1, 0.5))
    )


def _call(r: random.Random, compare: bool) -> None:
    """One of a few calls; raises AssertionError where it is wrong."""
    import torch

    import scorch

    n, m, k = (r.randrange(1, 80) for _ in range(3))
    d, e, x = _random_matrix(r, n, m), _random_matrix(r, n, m), torch.ones(m, k)
    A = scorch.sparse(d, r.choice(("csr", "csc", "coo", "dcsr")))
    calls: tuple[Callable[[], tuple], ...] = (
        lambda: (A @ x, d @ x),
        lambda: ((A + scorch.sparse(e, "csr")).to_dense(), d + e),
        lambda: ((A * e).to_dense(), d * e),
        lambda: (A.convert(r.choice(("csc", "dcsr", "coo"))).to_dense(), d),
        lambda: (A.sum(1), d.sum(1)),
        lambda: (A.T @ torch.ones(n), d.sum(0)),
        lambda: _gradient(A, x, d),
        lambda: (torch.nn.functional.linear(x.T, A), (d @ x).T),
    )
    got, want = r.choice(calls)()
    assert not compare or torch.equal(got, want), f"expected {want}, got {got}"


def _gradient(A, x, d):
    A.requires_grad_()
    (A @ x).sum().backward()
    return A.grad.to_dense(), (d != 0) * float(x.shape[1])


# ---- the threads ----
class Work:
    def __init__(self, seed: int, seconds: float) -> None:
        self.seed, self.end = seed, time.monotonic() + seconds
        self.expressions = self.calls = self.compared = self.refused = 0
        self.faults: list[str] = []
        self.lock = threading.Lock()

    def expression(self, r: random.Random, n: int) -> None:
        import programs

        import scorch

        case = programs.draw(r, n)
        if case is None:
            return
        if n % EVERY == 0:
            done, compared = programs.check(case), 1
        else:
            compared = 0
            try:
                scorch.evaluate(
                    case.text(), **{k: o.tensor for k, o in case.operands().items()}, **case.options()
                )
                done = True
            except (ValueError, NotImplementedError) as error:
                if not programs.refused(error):
                    raise
                done = False
        with self.lock:
            self.expressions += done
            self.refused += not done
            self.compared += compared

    def call(self, r: random.Random, n: int) -> None:
        compare = n % EVERY == 1
        _call(r, compare)
        with self.lock:
            self.calls += 1
            self.compared += compare

    def run(self, thread: int) -> None:
        n = 0
        while time.monotonic() < self.end and len(self.faults) < 20:
            n += 1
            r = random.Random(f"{self.seed} {thread} {n}")
            try:
                (self.expression if n % 3 else self.call)(r, n)
            except Exception:
                with self.lock:
                    self.faults.append(f"thread {thread}, step {n}: {traceback.format_exc(limit=-3)}")


def watch(work: Work, threads: list[threading.Thread]) -> list[dict[str, float]]:
    """Looks at the process until the threads end."""
    import scorch

    seen: list[dict[str, float]] = []
    begin = said = time.monotonic()
    while any(t.is_alive() for t in threads):
        time.sleep(SECONDS)
        seen.append({"minute": (time.monotonic() - begin) / 60, **held()})
        if time.monotonic() - said > 60 or not any(t.is_alive() for t in threads):
            said = time.monotonic()
            kept = scorch.stats()["kept"]
            process = "{minute:5.1f} min  {rss_mb:7.1f} MB  {fds:3} fds  {maps:5} maps".format(**seen[-1])
            done = f"{work.expressions} expressions  {work.calls} calls  {work.compared} compared"
            print(f"{process}  {done}  kept {kept}", flush=True)
    return seen


def grown(seen: list[dict[str, float]]) -> list[str]:
    """What grows after the first quarter: the median of the last quarter against that of the second."""
    quarter = len(seen) // 4
    faults = []
    for name, slack in SLACK.items():
        early, late = (
            statistics.median(s[name] for s in part)
            for part in (seen[quarter : 2 * quarter], seen[3 * quarter :])
        )
        if late > max(early * slack, early + MORE[name]):
            faults.append(f"{name} grows from {early:.1f} to {late:.1f}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--threads", type=int, default=3)
    parser.add_argument("--jit", choices=("auto", "off"), default="auto")
    parser.add_argument("--memory", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    os.environ |= {"SCORCH_JIT": args.jit, "SCORCH_MEMORY": str(args.memory)}
    work = Work(args.seed, args.minutes * 60)
    threads = [threading.Thread(target=work.run, args=(k,)) for k in range(args.threads)]
    for t in threads:
        t.start()
    seen = watch(work, threads)
    faults = work.faults + (grown(seen) if len(seen) >= 8 else [])
    for f in faults:
        print(f, file=sys.stderr)
    said = {k: getattr(work, k) for k in ("expressions", "calls", "compared", "refused")}
    print(
        json.dumps(
            {"jit": args.jit, **said, "first": seen[len(seen) // 4], "last": seen[-1], "faults": len(faults)}
        )
    )
    return min(len(faults), 99)


if __name__ == "__main__":
    sys.exit(main())

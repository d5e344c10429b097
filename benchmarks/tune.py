"""What measuring gains: a process tunes, then two others run with what was kept and without.

The two take turns, as a third tells them, so that slow moments of the machine hit both. The one without has a
cache directory of its own, in which nobody has tuned. Both load kernels from disk, and are warm before they
are timed. Where torch has one thread, the time of the process is measured, and not that of others.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
import torch

import scorch
from benchmarks.data import Case
from examples import planetoid
from examples.timing import Time

SECONDS, TURNS, TURN = 8.0, 7, 20e-3  # of tuning; of each of a pair, and how long one lasts
PAIRS = 3  # of processes: the same code takes up to 1.4 times as long in some, by where its memory lies
ENVIRONMENT = ("SCORCH_TUNE_SECONDS", "SCORCH_TUNE_TURNS")
Work = tuple[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]


# ---- data ----
def matrix(rows: torch.Tensor, columns: torch.Tensor, n: int, m: int | None = None) -> torch.Tensor:
    """Ones with noise at these places, each stored once, as csr with int32 indices."""
    indices = torch.stack([rows, columns])
    m = n if m is None else m
    ones = torch.sparse_coo_tensor(indices, torch.ones(rows.numel()), (n, m)).coalesce()
    values = torch.rand(ones._nnz()) + 0.5
    return scorch.sparse(torch.sparse_coo_tensor(ones.indices(), values, (n, m)).coalesce(), format="csr")


def uniform(n: int, each: int, m: int | None = None) -> torch.Tensor:
    m = n if m is None else m
    return matrix(torch.arange(n).repeat_interleave(each), torch.randint(m, (n * each,)), n, m)


def power_law(n: int, edges: int) -> torch.Tensor:
    pairs = planetoid.edges_power_law(n, edges, np.random.RandomState(0).randint(40, size=n))
    pairs = torch.from_numpy(pairs).T
    return matrix(torch.cat([pairs[0], pairs[1]]), torch.cat([pairs[1], pairs[0]]), n)


def grid(side: int) -> torch.Tensor:
    at = torch.arange(side * side)
    steps = torch.tensor([0, 1, -1, side, -side])
    rows, columns = at.repeat_interleave(5), (at[:, None] + steps).reshape(-1)
    inside = (columns >= 0) & (columns < side * side)
    return matrix(rows[inside], columns[inside], side * side)


def band(n: int, width: int) -> torch.Tensor:
    at = torch.arange(n)
    rows = at.repeat_interleave(2 * width + 1)
    columns = (at[:, None] + torch.arange(-width, width + 1)).reshape(-1)
    inside = (columns >= 0) & (columns < n)
    return matrix(rows[inside], columns[inside], n)


def blocks(n: int, size: int, share: float) -> torch.Tensor:
    there = torch.rand(n // size, n // size) < share
    dense = torch.rand(n, n) * there.repeat_interleave(size, 0).repeat_interleave(size, 1)
    return scorch.sparse(dense, format=f"bsr({size},{size})")


def cube(n: int, entries: int) -> torch.Tensor:
    indices = torch.randint(n, (3, entries))
    values = torch.sparse_coo_tensor(indices, torch.ones(entries), (n, n, n)).coalesce()
    return scorch.sparse(values, format="csf")


# ---- workloads: a tensor, and what is done with it ----
def product(a: torch.Tensor, *columns: int) -> Work:
    x = torch.rand(a.shape[1], *columns)
    return a, lambda a: a @ x


def sampled(a: torch.Tensor, width: int) -> Work:
    q, k = torch.rand(a.shape[0], width), torch.rand(a.shape[1], width)
    return a, lambda a: scorch.sddmm(a, q, k)


def squared(a: torch.Tensor) -> Work:
    b = a.clone()
    return a, lambda a: a @ b


def linear(weight: torch.Tensor, rows: int) -> Work:
    x = torch.rand(rows, weight.shape[1])
    return weight, lambda weight: torch.nn.functional.linear(x, weight)


def einsum(text: str, a: torch.Tensor, *shapes: tuple[int, ...]) -> Work:
    dense = [torch.rand(shape) for shape in shapes]
    return a, lambda a: scorch.einsum(text, a, *dense)


def softmax(mask: torch.Tensor, width: int) -> Work:
    text = "tmp S[i,j] = M[i,j]*exp(X[i,d]*K[j,d]); tmp e[i] = S[i,j]; Y[i,f] = S[i,j]*V[j,f]/e[i]"
    x, k, v = (torch.rand(mask.shape[0], width) * 0.1 for _ in range(3))
    return mask, lambda mask: scorch.evaluate(text, M=mask, X=x, K=k, V=v)


WORKLOADS: dict[str, Callable[[], Work]] = {
    "power law, 64 columns": lambda: product(power_law(100_000, 500_000), 64),
    "grid, 32 columns": lambda: product(grid(400), 32),
    "band, 32 columns": lambda: product(band(40_000, 12), 32),
    "uniform, 128 columns": lambda: product(uniform(80_000, 8), 128),
    "power law times a vector": lambda: product(power_law(200_000, 1_500_000)),
    "blocks, 64 columns": lambda: product(blocks(2048, 8, 0.1), 64),
    "linear layer, 256 rows": lambda: linear(uniform(2048, 100), 256),
    "sddmm, width 64": lambda: sampled(uniform(8_000, 20), 64),
    "csr times csr": lambda: squared(uniform(6_000, 8)),
    "mttkrp of csf": lambda: einsum("ijk,jr,kr->ir", cube(300, 400_000), (300, 32), (300, 32)),
    "softmax over entries": lambda: softmax(uniform(4_000, 24), 64),
    "three operands": lambda: einsum("ij,jk,kl->il", uniform(10_000, 12), (10_000, 64), (64, 32)),
}


def workload(name: str) -> Work:
    torch.manual_seed(0)
    return WORKLOADS[name]()


# ---- processes ----
def tune(name: str) -> None:
    """Tunes, and prints the report."""
    a, call = workload(name)
    report = a.tune(call, seconds=float(os.environ.get(ENVIRONMENT[0], SECONDS)))
    print(f"{name}\n{report}\n", file=sys.stderr)


def serve(name: str) -> None:
    """Takes a turn for each line that comes, and says the median and the least of its calls."""
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    a, call = workload(name)
    for _ in range(3):
        call(a)
    start = clock()
    call(a)
    repeat = max(3, math.ceil(TURN / max(clock() - start, 1e-6)))
    for _ in sys.stdin:
        spent = []
        for _ in range(repeat):
            start = clock()
            call(a)
            spent.append(clock() - start)
        print(median(spent), min(spent), flush=True)


class Child:
    """A process that runs a workload when it is told to."""

    def __init__(self, name: str, cache: str) -> None:
        self.turns: list[tuple[float, float]] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, "serve", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"SCORCH_CACHE_DIR": cache},
        )

    def turn(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        middle, least = self.process.stdout.readline().split()
        self.turns.append((float(middle), float(least)))

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()

    def time(self) -> Time:
        return Time(min(x for _, x in self.turns), median(x for x, _ in self.turns), len(self.turns))


def measured(name: str, folder: str) -> dict[str, Time]:
    """Tunes in a process, then measures in two others."""
    plain, tuned = f"{folder}/plain", f"{folder}/tuned"
    command = [sys.executable, "-m", __name__, "tune", name]
    subprocess.run(command, env=os.environ | {"SCORCH_CACHE_DIR": tuned}, check=True)
    pairs = [pair(name, plain, tuned) for _ in range(PAIRS)]
    return {what: joined([times[k] for times in pairs]) for k, what in enumerate(("default", "tuned"))}


def pair(name: str, plain: str, tuned: str) -> list[Time]:
    """Two processes in turns."""
    both = [Child(name, plain), Child(name, tuned)]
    for k in range(int(os.environ.get(ENVIRONMENT[1], TURNS))):
        for child in both if k % 2 else reversed(both):
            child.turn()
    for child in both:
        child.end()
    return [child.time() for child in both]


def joined(times: list[Time]) -> Time:
    return Time(min(t.min for t in times), median(t.median for t in times), sum(t.turns for t in times))


def tuned(root: str | None) -> Iterator[Case]:
    """The schedule that costs choose against the one that was measured, in a process that starts later."""
    with tempfile.TemporaryDirectory() as folder:
        for name in WORKLOADS:
            yield Case(name, {}, {"tuned": ("default",)}, measured=measured(name, folder))


SUITES = {"tune": tuned}


if __name__ == "__main__":
    {"tune": tune, "serve": serve}[sys.argv[1]](sys.argv[2])

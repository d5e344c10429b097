"""How long a program takes before it runs: the order of contraction, the whole plan, a first call from disk.

A process of its own imports the package once and makes a child for each program, which begins without
programs or kernels. There the first call takes its kernels from the cache on disk; calls with operands of
other extents then find their kernels loaded and plan anew. Operands are small, and what a repeated call takes
is left out.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import perf_counter

import torch

import scorch
from benchmarks.data import Case
from examples.timing import Time

CHILDREN, PLANS, WIDTH = 5, 10, 8  # fresh children, and other extents in each; columns
SHORT, LONG, FROM_DISK = (
    2e-3,
    1e-2,
    5e-3,
)  # bounds: of orders of up to five factors and of more, of a first call
Operands = dict[str, torch.Tensor]

ASSIGNMENTS = {  # names, and their texts
    "GCN, two layers": "tmp H[i,f] = relu(A[i,j]*X[j,g]*W[g,f]); Y[i,f] = A[i,j]*H[j,g]*W[g,f]",
    "APPNP, three steps": "; ".join(
        f"{z}[i,f] = 0.9*(A[i,j]*{y}[j,f]) + 0.1*X[i,f]" for y, z in ("XP", "PQ", "QR")
    ),
    "attention": "tmp S[i,j] = M[i,j]*exp(X[i,d]*K[j,d]); tmp e[i] = S[i,j]; Y[i,f] = S[i,j]*V[j,f]/e[i]",
    "factorisation machine": "y[b] = A[b,i]*w[i] + 0.5*A[b,j]*X[j,f]*A[b,k]*X[k,f]"
    " - 0.5*A[b,l]*A[b,l]*X[l,g]*X[l,g]",
    "sampled product of products": "P[i,k] = A[i,j]*A[j,k]; D[i,k] = P[i,k]*M[i,k]; Y[i,f] = D[i,k]*X[k,f]",
}  # fmt: skip


def chain(factors: int) -> str:
    """A A .. X of so many factors."""
    at = "abcdefgh"[:factors]
    sparse = "*".join(f"A[{i},{j}]" for i, j in pairwise(at))
    return f"R[a,z] = {sparse}*X[{at[-1]},z]"


TEXTS = {f"chain of {n}": chain(n) for n in range(2, 9)} | ASSIGNMENTS


def factors(text: str) -> int:
    return text.count("[") - text.count("=")


def operands(text: str, n: int) -> Operands:
    rows = torch.arange(n).repeat_interleave(3)
    index = torch.stack((rows, (rows * 5 + torch.arange(3 * n) * 11) % n))
    A = scorch.sparse(torch.sparse_coo_tensor(index, torch.rand(3 * n), (n, n)).coalesce(), format="csr")
    dense = {name: torch.rand(n, WIDTH) for name in "XKV"}
    given = {"A": A, "M": A, "W": torch.rand(WIDTH, WIDTH), "w": torch.rand(n), **dense}
    return {name: x for name, x in given.items() if f"{name}[" in text}


def seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def measure(text: str, to: Connection) -> None:
    """Sends what a first call, plans and orders of contraction took, the least of each."""
    scorch.evaluate("y[i] = M[i,j] * w[j] + w[i]", **operands("M[w[", 900))  # the cache has been looked for
    took = {"from disk": [], "plan": [], "path": []}
    for n in range(1000, 1000 + 7 * PLANS, 7):
        given = operands(text, n)
        before = scorch.stats()["path_seconds"]
        first = seconds(lambda given=given: scorch.evaluate(text, **given))
        again = min(seconds(lambda given=given: scorch.evaluate(text, **given)) for _ in range(3))
        took["plan" if took["from disk"] else "from disk"].append(first - again)
        took["path"].append(scorch.stats()["path_seconds"] - before)
    to.send({name: min(times) for name, times in took.items()})


def fresh(text: str) -> dict[str, float]:
    """What a child measures that has made no program."""
    context = get_context("fork")
    mine, its = context.Pipe(duplex=False)
    child = context.Process(target=measure, args=(text, its))
    child.start()
    took = mine.recv()
    child.join()
    return took


def planning(root: str | None) -> Iterator[Case]:
    """Orders of contraction, plans and first calls against their bounds."""
    done = subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True, check=True)
    for name, took in json.loads(done.stdout).items():
        bounds = {"bound of path": SHORT if factors(TEXTS[name]) < 6 else LONG, "bound from disk": FROM_DISK}
        times = {what: Time(t, t, CHILDREN) for what, t in (took | bounds).items()}
        against = {"path": ("bound of path",), "from disk": ("bound from disk",)}
        yield Case(name, {}, against, measured=times)


SUITES = {"planning": planning}


def main() -> None:
    torch.set_num_threads(1)
    found = {}
    for name, text in TEXTS.items():
        fresh(text)  # fills the cache
        each = [fresh(text) for _ in range(CHILDREN)]
        found[name] = {what: min(took[what] for took in each) for what in each[0]}
    print(json.dumps(found))


if __name__ == "__main__":
    main()

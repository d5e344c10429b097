"""How good the compiler is at choosing: every schedule it considers is timed, the chosen one against
the best. Regret 1 means that nothing considered was faster. An operand that is converted first is charged an
eighth of its conversion: that is how often the compiler expects the converted one to be used.

    python -m benchmarks.orders [--seconds 0.1] [--json FILE]
"""

import argparse
import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

import torch

import scorch
from benchmarks.compiled import random_csr, random_tensor
from benchmarks.data import adjacency, int32
from examples import planetoid
from examples.timing import human, table

CANDIDATE = re.compile(r"^-- cost (\S+)(?: converts (.*))?$", re.M)
CALLS = 8  # that share a conversion, as in csrc/compiler/cost.c
WIDE, SLOW = 16, 30  # columns of dense operands; a candidate so many times slower than the best is timed once


def data() -> dict[str, torch.Tensor]:
    graph = planetoid.synthetic(nodes=2708, edges=5278, features=16, density=0.1, classes=7)
    made = {
        "graph": adjacency(graph.edge_index, len(graph.x)),
        "random": random_csr(2000, 2000, 0.01),
        "weight": random_csr(512, 512, 0.1),
        "tall": random_csr(8000, 200, 0.02),
    }
    return {name: int32(csr) for name, csr in made.items()}


def pairs() -> Iterator[tuple[str, str, str, list[torch.Tensor]]]:
    """Expression, data, formats, operands."""
    for name, csr in data().items():
        n, m = csr.shape
        A, B, x = scorch.sparse(csr), scorch.sparse(_shifted(csr)), torch.randn(m, WIDE)
        yield "ij,jk->ik", name, "csr dense", [A, x]
        yield "ij,jk->ik", name, "csc dense", [A.convert("csc"), x]
        yield "ij,j->i", name, "csr dense", [A, x[:, 0].contiguous()]
        yield "ji,jk->ik", name, "csr dense", [A, torch.randn(n, WIDE)]
        yield "ij,ik,jk->ij", name, "csr dense dense", [A, torch.randn(n, WIDE), x]
        yield "ij,ij->ij", name, "csr csr", [A, B]
        yield "ij,ij->ij", name, "csr csc", [A, B.convert("csc")]
        yield "ij,jk,kl->il", name, "csr dense dense", [A, x, torch.randn(WIDE, 4)]
        if n == m:
            yield "ij,jk->ik", name, "csr csr", [A, A]
            yield "ij,jk->ik", name, "csc csc", [A.convert("csc"), A.convert("csc")]
            yield "ij,kj->ik", name, "csr csr", [A, A]
    tensor = random_tensor((200, 150, 100), 50_000)
    I, K, L = (torch.randn(n, WIDE) for n in tensor.shape)
    yield "ikl,kj,lj->ij", "tensor", "csf dense dense", [tensor, K, L]
    yield "ikl,ij,lj->kj", "tensor", "csf dense dense", [tensor, I, L]
    yield "ikl,ij,kj->lj", "tensor", "csf dense dense", [tensor, I, K]
    yield "ikl,l->ik", "tensor", "csf dense", [tensor, L[:, 0].contiguous()]
    yield "ikl,lj->ikj", "tensor", "csf dense", [tensor, L]
    yield "ikl,ikl->", "tensor", "csf csf", [tensor, tensor]


def _shifted(csr: torch.Tensor) -> torch.Tensor:
    """The same number of entries elsewhere: columns moved by one."""
    coo = csr.to_sparse_coo()
    index = torch.stack([coo.indices()[0], (coo.indices()[1] + 1) % csr.shape[1]])
    return int32(torch.sparse_coo_tensor(index, coo.values(), csr.shape).coalesce().to_sparse_csr())


def candidates(text: str, operands: list[torch.Tensor]) -> list[tuple[float, str, str]]:
    """Cost, conversions ("0 to csc, ..."), nest; the chosen one first."""
    listing = scorch.compile(text, *operands, schedule="path()").orders  # of one nest
    found = list(CANDIDATE.finditer(listing))
    ends = [f.start() for f in found[1:]] + [len(listing)]
    return [
        (float(f[1]), f[2] or "", listing[f.end() : end].strip()) for f, end in zip(found, ends, strict=True)
    ]


def converted(operands: list[torch.Tensor], conversions: str) -> tuple[list[torch.Tensor], float]:
    """The operands in the layouts wanted; seconds of conversion charged to each call."""
    out, charge = list(operands), 0.0
    for part in filter(None, conversions.split("; ")):
        k, form = part.split(" to ", 1)
        times = []
        for _ in range(3):
            start = perf_counter()
            made = operands[int(k)].convert(form)
            times.append(perf_counter() - start)
        out[int(k)], charge = made, charge + min(times) / CALLS
    return out, charge


def seconds_of(text: str, operands: list[torch.Tensor], nest: str, budget: float, best: float) -> float:
    def call() -> float:
        start = perf_counter()
        scorch.einsum(text, *operands, schedule=nest)
        return perf_counter() - start

    call()
    times = [call()]
    while min(times) < SLOW * best and (sum(times) < budget or len(times) < 5):
        times.append(call())
    return min(times)


def regret(text: str, operands: list[torch.Tensor], budget: float) -> dict:
    """Times of all candidates; chosen over best."""
    times, costs, refused, best = [], [], 0, float("inf")
    for cost, conversions, nest in candidates(text, operands):
        try:
            given, charge = converted(operands, conversions)
            times.append(seconds_of(text, given, nest, budget, best) + charge)
        except (ValueError, NotImplementedError) as error:
            refused += 1
            print(f"    refused: {str(error).splitlines()[0]}")
            continue
        best = min(times)
        costs.append((cost, conversions, nest))
    return {"candidates": len(times), "refused": refused, "chosen": times[0], "best": best, "times": times,
            "costs": costs}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.orders", description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.1, help="time to spend on each candidate")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="Sparse ")
    rows, results = [], []
    for text, name, formats, operands in pairs():
        found = regret(text, operands, args.seconds)
        ratio = found["chosen"] / found["best"]
        results.append({"text": text, "data": name, "formats": formats, "regret": ratio, **found})
        rows.append([f"{text} {name} {formats}", str(found["candidates"]), human(found["chosen"]),
                     human(found["best"]), f"{ratio:.2f}"])  # fmt: skip
    print(table(["pair", "orders", "chosen", "best", "regret"], rows))
    ratios = [r["regret"] for r in results]
    print(f"\n{len(ratios)} pairs: median regret {median(ratios):.2f}, worst {max(ratios):.2f}")
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()

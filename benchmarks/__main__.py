"""Runs the suites and prints what they found, losses included."""

import argparse
import json
import math
import os
import platform
import warnings
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch

import scorch
from benchmarks import (
    blocks,
    bound,
    calls,
    cases,
    compiled,
    composed,
    convolution,
    dense,
    dynamic,
    fewrows,
    geometric,
    graphs,
    joined,
    largest,
    minibatches,
    models,
    peers,
    planning,
    plot,
    programs,
    selections,
    slices,
    squares,
    tune,
    wide,
)
from benchmarks.data import Case
from examples.timing import Time, human, interleave, table

ROOMS = (
    cases,
    calls,
    models,
    geometric,
    compiled,
    composed,
    blocks,
    convolution,
    dense,
    dynamic,
    fewrows,
    programs,
    selections,
    joined,
    graphs,
    planning,
    largest,
    minibatches,
    slices,
    squares,
    tune,
    wide,
)
SUITES = {name: suite for room in ROOMS for name, suite in room.SUITES.items()}
QUICK = programs.QUICK | joined.QUICK  # on small operands


def machine() -> dict[str, object]:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    cpu = next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "absent peers": peers.absent(),
    }


def ratios(case: Case, times: dict[str, Time]) -> dict[str, dict[str, float]]:
    """For each of Scorch's calls, each fair peer's minimum over ours: above 1, Scorch is faster."""
    return {ours: {p: times[p].min / times[ours].min for p in fair} for ours, fair in case.against.items()}


def comparable(result: object) -> torch.Tensor | None:
    """Numbers as they are, matrices of any library as COO in order; None for what else there is."""
    if peers.scipy_sparse is not None and peers.scipy_sparse.issparse(result):
        result = scorch.sparse(result)
    if scorch.is_sparse(result):
        result = result.to_torch(torch.sparse_coo)
    if isinstance(result, (np.ndarray, np.generic)):
        return torch.as_tensor(result)
    if not isinstance(result, torch.Tensor) or result.layout is torch.strided:
        return result if isinstance(result, torch.Tensor) else None
    coo = (
        result.to_sparse_coo()
    )  # of a product of torch's with rows out of order, and yet said to be coalesced
    return torch.sparse_coo_tensor(coo._indices(), coo._values(), coo.shape).coalesce()


def largest(x: torch.Tensor) -> float:
    x = x.coalesce().values() if x.layout is torch.sparse_coo else x
    return x.abs().max().item() if x.numel() else 0.0


def check(case: Case) -> None:
    """A wrong answer is not timed: results must agree with the first call's, all dense if one is."""
    results = {name: comparable(call()) for name, call in case.calls.items()} if case.same else {}
    results = {name: result for name, result in results.items() if result is not None}
    if any(result.layout is torch.strided for result in results.values()):
        results = {name: result.to_dense() for name, result in results.items()}
    for name, result in results.items():
        first = next(iter(results.values()))
        off = largest(result - first) if result.shape == first.shape else math.inf
        allowed = 0.02 if result.dtype is torch.bfloat16 else 1e-4  # each rounds that where it adds
        if not off <= allowed * largest(first):
            raise AssertionError(
                f"{case.name}, {name}: differs from {next(iter(results))} by up to {off:.3g}"
            )


def only(case: Case, wanted: list[str] | None) -> Case:
    """The case with the peers whose names contain one of these."""
    peers = {p for fair in case.against.values() for p in fair} - case.against.keys()
    gone = {p for p in peers if wanted and "all" not in wanted and not any(w in p for w in wanted)}
    calls = {name: call for name, call in case.calls.items() if name not in gone}
    against = {ours: tuple(p for p in fair if p not in gone) for ours, fair in case.against.items()}
    return replace(case, calls=calls, against=against)


def run(suite: Iterable[Case], name: str, args: argparse.Namespace) -> list[dict]:
    results = []
    for case in (only(c, args.peer) for c in suite if args.case in c.name):
        check(case)
        times = {**interleave(case.calls, args.seconds), **case.measured} if case.calls else case.measured
        found = {"suite": name, "case": case.name, "times": times, "ratios": ratios(case, times)}
        found["bound"] = bound.seconds(case.flops, case.traffic) if case.flops else 0
        results.append(found | {"each": case.each})
    return results


def render(results: list[dict], markdown: bool) -> str:
    """One table a set of calls, then geometric means and the worst row against each peer."""
    blocks = []
    for labels in dict.fromkeys(tuple(r["times"]) for r in results):
        rows = [r for r in results if tuple(r["times"]) == labels]
        ours = list(rows[0]["ratios"])
        bounded = any(r.get("bound") for r in rows)
        shown = _columns(rows[0])
        head = [rows[0]["suite"], *labels, *shown, *["of bound"] * bounded]
        body = [
            [r["case"], *(human(r["times"][n].min) for n in labels), *_columns(r).values()]
            + [f"{r['bound'] / r['times'][o].min:.0%}" for o in ours[:1] if bounded]
            for r in rows
        ]
        blocks.append(table(head, body, markdown))
        if ours and len(rows) > 1:
            blocks.append(
                "\n".join(_summary(rows, o, p, "- " * markdown) for o in ours for p in rows[0]["ratios"][o])
            )
    return "\n\n".join(blocks)


def _columns(result: dict) -> dict[str, str]:
    """Ratios by their titles: of the best peer of each call, or of every peer."""
    if not result.get("each"):
        return {f"best peer / {ours}": _best(ratio) for ours, ratio in result["ratios"].items()}
    return {
        f"{p} / {ours}": _best({p: value})
        for ours, ratio in result["ratios"].items()
        for p, value in ratio.items()
    }


def _best(ratio: dict[str, float]) -> str:
    if not ratio:
        return ""
    worst = min(ratio.values())
    return f"{worst:.2f}x{' loss' if worst < 1 else ''}"


def _summary(rows: list[dict], ours: str, peer: str, bullet: str) -> str:
    found = {r["case"]: r["ratios"][ours][peer] for r in rows}
    mean = math.exp(sum(map(math.log, found.values())) / len(found))
    worst = min(found, key=found.get)
    lost = sum(r < 1 for r in found.values())
    return (
        f"{bullet}{peer} / {ours}: geometric mean {mean:.2f}x, worst {found[worst]:.2f}x ({worst}), "
        f"{lost} of {len(found)} lost"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Scorch against its peers.")
    parser.add_argument(
        "--suite", action="append", choices=list(SUITES), help="may be repeated; default: all"
    )
    parser.add_argument("--root", help="folder with Planetoid's raw files (default: $SCORCH_DATA)")
    parser.add_argument("--case", default="", help="only cases whose names contain this")
    parser.add_argument("--seconds", type=float, default=1.0, help="time to spend on each case")
    parser.add_argument(
        "--quick", action="store_true", help=f"small operands, where a suite has any: {', '.join(QUICK)}"
    )
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument(
        "--peer", action="append", help="may be repeated: only these, by a part of their name"
    )
    parser.add_argument("--plot", metavar="FOLDER", help="also draw the ratios there; needs matplotlib")
    parser.add_argument("--json", metavar="FILE", help="also write every number there")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="Sparse ")
    facts = machine()
    flops, bandwidth = bound.peaks()
    facts |= {"dense product": f"{flops / 1e9:.0f} GFLOP/s", "copy": f"{bandwidth / 1e9:.0f} GB/s"}
    print(", ".join(f"{k} {v}" for k, v in facts.items() if v))
    print("Times are minima of interleaved turns; ratios above 1 mean that Scorch is faster.")
    results = []
    for name in args.suite or SUITES:
        suite = QUICK.get(name, SUITES[name]) if args.quick else SUITES[name]
        found = run(suite(args.root), name, args)
        print(f"\n{render(found, args.markdown)}", flush=True)
        results += found
    if args.plot:
        plot.draw(results, args.plot)
    if args.json:
        plain = [{**r, "times": {n: asdict(t) for n, t in r["times"].items()}} for r in results]
        Path(args.json).write_text(json.dumps({"machine": facts, "results": plain}, indent=1))


if __name__ == "__main__":
    main()

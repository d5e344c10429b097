"""``python -m scorch info | demo | explain EXPRESSION FORMAT.. | cache | tuned [clear] | calibrate``."""

from __future__ import annotations

import argparse
import io
import os
import re
import signal
import sys

import torch

import scorch

from ..functions import notation


def _info(_: argparse.Namespace) -> None:
    facts = scorch.info()
    width = max(map(len, facts))
    for key, value in facts.items():
        print(f"{key:<{width}}  {value}")


def _demo(_: argparse.Namespace) -> None:
    torch.manual_seed(0)
    dense = torch.rand(6, 6, device="cpu").mul_(torch.rand(6, 6, device="cpu") < 0.3)
    a = scorch.sparse(dense, format="csr")
    x = torch.rand(6, 2, device="cpu")
    print(a)
    print("A @ x is right:", torch.allclose(a @ x, dense @ x))


def _ranks(expression: str) -> dict[str, int]:
    """The operands of an einsum (A, B, ..) or of index notation, as they come, and their dimensions."""
    if "=" not in expression:
        inputs = expression.partition("->")[0].split(",")
        return {chr(ord("A") + k): len(letters.strip()) for k, letters in enumerate(inputs)}
    ranks: dict[str, int] = {}
    results: set[str] = set()
    for assignment in notation.revealed(expression)[0].split(";"):
        left, _, right = assignment.partition("=")
        for name, indices in re.findall(r"([A-Za-z_]\w*)\s*\[(?=([^\[\]]*))", right):
            if name not in results:
                ranks.setdefault(name, indices.count(",") + 1)
        results.update(re.findall(r"^\s*([A-Za-z_]\w*)", left))
    return ranks


def _explain(args: argparse.Namespace) -> None:
    """Random operands of extent ``--size`` in the formats given, one for each operand."""
    ranks = _ranks(args.expression)
    if ranks and len(ranks) != len(args.formats):  # none: the compiler says what is wrong with the text
        raise ValueError(f"expected {len(ranks)} formats, one an operand, got {len(args.formats)}")
    operands = {}
    for (operand, rank), name in zip(ranks.items(), args.formats, strict=False):
        if args.size < 0 or args.size**rank > 1 << 24:
            raise ValueError(
                f"--size: expected at most 2^24 elements, got {args.size}^{rank} of operand {operand}"
            )
        dense = torch.rand([args.size] * rank, device="cpu")
        operands[operand] = dense if name == "dense" else scorch.sparse(dense * (dense < 0.1), format=name)
    if "=" in args.expression:
        print(scorch.explain(args.expression, **operands))
    else:
        print(scorch.explain(args.expression, *operands.values()))


def _cache(args: argparse.Namespace) -> None:
    if args.action == "clear":
        print("removed", scorch.clear_cache())
    else:
        print("\n".join(f"{k}: {v}" for k, v in scorch.info().items() if "cache" in k))


def _tuned(args: argparse.Namespace) -> None:
    from .tune import clear, kept

    if args.action == "clear":
        print("removed", clear())
        return
    if not (found := kept()):
        print("0 schedules: scorch.tune keeps those that are faster")
    for x in found:
        print(f"{x.gain:.2f}x on {x.date}  {x.expression}")
        print("\n".join(f"    {line}" for line in (*x.operands, *x.schedule.splitlines())))


def _calibrate(args: argparse.Namespace) -> None:
    for name, times in scorch.calibrate(forget=args.action == "forget").items():
        print(f"{name:<7} {times:5.2f} times what it takes on a typical machine")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scorch", description=(scorch.__doc__ or "").partition("\n")[0]
    )
    commands = parser.add_subparsers(required=True)
    commands.add_parser("info", help="what this process has").set_defaults(run=_info)
    commands.add_parser("demo", help="a small product").set_defaults(run=_demo)
    explain = commands.add_parser("explain", help="how an einsum or index notation would run")
    explain.add_argument("expression", help='such as "ij,jk->ik" or "y[i] = A[i,j] * x[j]"')
    explain.add_argument("formats", nargs="+", help="one an operand, as they come, such as csr dense")
    explain.add_argument("--size", type=int, default=64, help="extent of every dimension")
    explain.set_defaults(run=_explain)
    cache = commands.add_parser("cache", help="the cache of compiled kernels")
    cache.add_argument("action", nargs="?", choices=["show", "clear"], default="show")
    cache.set_defaults(run=_cache)
    tuned = commands.add_parser("tuned", help="schedules that scorch.tune keeps")
    tuned.add_argument("action", nargs="?", choices=["show", "clear"], default="show")
    tuned.set_defaults(run=_tuned)
    calibrate = commands.add_parser("calibrate", help="measure what schedules are chosen by, once for a CPU")
    calibrate.add_argument("action", nargs="?", choices=["measure", "forget"], default="measure")
    calibrate.set_defaults(run=_calibrate)
    return parser


def _run(argv: list[str] | None) -> None:
    try:
        args = _parser().parse_args(argv)
        args.run(args)
    finally:
        if sys.stdout is not None:  # it is closed
            sys.stdout.flush()


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files may have letters that it has not
    try:
        _run(argv)
    except BrokenPipeError:  # whoever reads has seen enough: end as by the signal
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is left to be written
        sys.exit(128 + signal.SIGPIPE)
    except (ValueError, NotImplementedError, TypeError, OSError, scorch.CompileError) as error:
        sys.exit(f"scorch: {error}")


if __name__ == "__main__":
    main()

"""``python -m scorch info | demo | explain EXPRESSION FORMAT... | cache [clear] | calibrate [forget]``."""

from __future__ import annotations

import argparse
import sys

import torch

import scorch


def _info(_: argparse.Namespace) -> None:
    facts = scorch.info()
    width = max(map(len, facts))
    for key, value in facts.items():
        print(f"{key:<{width}}  {value}")


def _demo(_: argparse.Namespace) -> None:
    torch.manual_seed(0)
    dense = torch.rand(6, 6).mul_(torch.rand(6, 6) < 0.3)
    a = scorch.sparse(dense, format="csr")
    x = torch.rand(6, 2)
    print(a)
    print("A @ x is right:", torch.allclose(a @ x, dense @ x))


def _explain(args: argparse.Namespace) -> None:
    """Random operands of extent ``--size`` in the formats given, one for each operand."""
    inputs = args.expression.partition("->")[0].split(",")
    if len(inputs) != len(args.formats):
        sys.exit(f"expected {len(inputs)} formats, one an operand, got {len(args.formats)}")
    operands = []
    for letters, name in zip(inputs, args.formats, strict=True):
        shape = [args.size] * len(letters.strip())
        dense = torch.rand(shape)
        operands.append(dense if name == "dense" else scorch.sparse(dense * (dense < 0.1), format=name))
    print(scorch.explain(args.expression, *operands))


def _cache(args: argparse.Namespace) -> None:
    if args.action == "clear":
        print("removed", scorch.clear_cache())
    else:
        print("\n".join(f"{k}: {v}" for k, v in scorch.info().items() if "cache" in k))


def _calibrate(args: argparse.Namespace) -> None:
    for name, times in scorch.calibrate(forget=args.action == "forget").items():
        print(f"{name:<7} {times:5.2f} times what it takes on a typical machine")


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m scorch", description=scorch.__doc__)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("info", help="what this process has").set_defaults(run=_info)
    commands.add_parser("demo", help="a small product").set_defaults(run=_demo)
    explain = commands.add_parser("explain", help="how an einsum would run")
    explain.add_argument("expression", help='such as "ij,jk->ik"')
    explain.add_argument("formats", nargs="+", help="one an operand, such as csr dense")
    explain.add_argument("--size", type=int, default=64, help="extent of every dimension")
    explain.set_defaults(run=_explain)
    cache = commands.add_parser("cache", help="the cache of compiled kernels")
    cache.add_argument("action", nargs="?", choices=["show", "clear"], default="show")
    cache.set_defaults(run=_cache)
    calibrate = commands.add_parser("calibrate", help="measure what schedules are chosen by, once for a CPU")
    calibrate.add_argument("action", nargs="?", choices=["measure", "forget"], default="measure")
    calibrate.set_defaults(run=_calibrate)
    args = parser.parse_args(argv)
    args.run(args)


if __name__ == "__main__":
    main()

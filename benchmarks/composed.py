"""Composed formats against the single formats of Scorch, on matrices whose entries lie in two ways.

Half of the entries of each matrix lie as the row says, the others anywhere; in "scattered" all do, and a
composition has nothing to win. The peers are the formats that a user could convert the same matrix to: csr,
which takes cuts by itself where many products come, cuts, and blocks.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import torch

import scorch
from benchmarks import squares
from benchmarks.bound import onednn
from benchmarks.data import Case
from benchmarks.peers import scipy_sparse
from scorch.tools import plan, suggest

SIDE, DENSITY = 4096, 0.1
COLUMNS, CHOICES = (1, 16, 128, 512), (1, 16, 128)
CUT = "dense(1/128), dense(0), compressed(1%128)"


def _scattered(share: float, side: int) -> torch.Tensor:
    return torch.rand(side, side) < share


def _blocks(share: float, side: int) -> torch.Tensor:
    grid = torch.rand(side // 32, side // 32) < share
    return grid.repeat_interleave(32, 0).repeat_interleave(32, 1)


def _rows(share: float, side: int) -> torch.Tensor:
    chosen = torch.zeros(side, 1, dtype=torch.bool)
    chosen[torch.randperm(side)[: round(share * side)]] = True
    return chosen.expand(side, side)


def _band(share: float, side: int) -> torch.Tensor:
    place = torch.arange(side)
    return (place[:, None] - place).abs() <= share * side / 2


LAID = {  # how half of the entries lie, and the formats that take them apart
    "blocks of 32 x 32": (
        _blocks, ("bsr(8,8) of blocks(8,8,0.5) + csr", "bsr(32,32) of blocks(32,32,0.5) + csr"),
    ),
    "dense rows": (_rows, ("compressed(0), dense(1) of rows(> 2000) + csr",)),
    "a band": (_band, (f"csr of band(-{SIDE // 20},{SIDE // 20}) + csr",)),
    "scattered": (_scattered, ("csr of rows(> 410) + csr",)),
}  # fmt: skip


def matrix(laid: Callable, side: int = SIDE) -> torch.Tensor:
    torch.manual_seed(0)
    there = laid(DENSITY / 2, side) | _scattered(DENSITY / 2, side)
    return torch.randn(side, side) * there


def _product(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return a @ x


def _linear(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.linear(x, a)


def _trained(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    a.grad = x.grad = None
    (a @ x).sum().backward()
    return x.grad


def _cases(name: str, call: Callable, columns: tuple[int, ...], across: bool, train: bool) -> Iterator[Case]:
    for way, (laid, composed) in LAID.items():
        w = matrix(laid)
        formats = ["csr", CUT, "bsr(8,8)", *composed]
        kept = {f: scorch.sparse(w, format=f).requires_grad_(train) for f in formats}
        for n in columns:
            x = torch.randn(*((n, SIDE) if across else (SIDE, n))).requires_grad_(train)
            calls = {"cut" if f == CUT else f: partial(call, a, x) for f, a in kept.items()}
            yield Case(f"{way}{name}, {n}", calls, dict.fromkeys(composed, ("csr", "cut", "bsr(8,8)")))


def products(root: str | None) -> Iterator[Case]:
    """A @ x"""
    yield from _cases("", _product, COLUMNS, False, False)


def layers(root: str | None) -> Iterator[Case]:
    """F.linear(x, A), and A @ x with gradients to both."""
    yield from _cases(", F.linear", _linear, (16, 512), True, False)
    yield from _cases(", forward and backward", _trained, (128,), False, True)


# ---- whole rows or columns ----
SLABS = {"rows": "compressed(0), dense(1)", "columns": "compressed(1), dense(0)"}


def _by_hand(w: torch.Tensor, by: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """x @ w.T by what is left of w, as a user would write it."""
    at = w.any(1 if by == "rows" else 0).nonzero()[:, 0]
    small = w[at].contiguous() if by == "rows" else w[:, at].contiguous()

    def call(x: torch.Tensor) -> torch.Tensor:
        if by == "columns":
            return x[:, at] @ small.T
        y = torch.zeros(len(x), len(w), dtype=x.dtype)
        y[:, at] = x @ small.T
        return y

    return call


def slabs(root: str | None) -> Iterator[Case]:
    """F.linear(x, W) where whole rows or columns of W are pruned."""
    for dtype, side, by, share in product(
        (torch.float32, torch.bfloat16), (1024, 4096), SLABS, (0.5, 0.75, 0.9)
    ):
        pruned = _rows(1 - share, side)
        w = (torch.randn(side, side) * (pruned if by == "rows" else pruned.T)).to(dtype)
        kept = {"csr": scorch.sparse(w, format="csr"), "Scorch": scorch.sparse(w, format=SLABS[by])}
        for rows in (1, 16, 256):
            x = torch.randn(rows, side).to(dtype)
            calls = {"dense": partial(_linear, w, x), "oneDNN": partial(onednn, x, w.T)}
            calls |= {"by hand": partial(_by_hand(w, by), x)}
            calls |= {name: partial(_linear, a, x) for name, a in kept.items()}
            name = f"{rows} x {side} -> {side}, {share:.0%} of {by} pruned"
            single = dtype is torch.float32  # each rounds bfloat16 where it adds
            against = {"Scorch": ("dense", "oneDNN", "by hand", "csr")}
            yield Case(name if single else f"{name}, bfloat16", calls, against, same=single, each=True)


# ---- what optimize chooses ----
def _matrices() -> Iterator[tuple[str, torch.Tensor]]:
    for way, (laid, _) in LAID.items():
        yield way, scorch.sparse(matrix(laid), format="csr")
    for kind in squares.KINDS if scipy_sparse else ():
        m = squares.matrix(kind)
        yield kind, scorch.sparse(m)


def choices(root: str | None) -> Iterator[Case]:
    """A @ x in the format that optimize chooses, against the formats of one part that it considers.

    Kinds marked "held" were not looked at while rules were written.
    """
    for name, a in _matrices():
        plan.expect(a)
        kept = {f: plan.expect(a.convert(f)) for f in suggest.formats(a) if "+" not in f}
        for n in CHOICES:
            x = torch.randn(a.shape[1], n)
            chosen = a.optimize(calls=[lambda a, x=x: a @ x], format="auto")
            calls = {f: partial(_product, b, x) for f, b in {"csr": a, **kept, "chosen": chosen}.items()}
            yield Case(f"{name}, {n}: {chosen.format}", calls, {"chosen": ("csr", *kept)})


SUITES = {"composed": products, "composed layers": layers, "slabs": slabs, "composed choice": choices}

"""Which operation runs on which format and type: ``python -m benchmarks.coverage`` writes docs/coverage.md.

Every cell is a small case that was run and compared with dense torch. Eager runs cover all formats in
float64, and all types in csr; the other ways of running are tried on three formats that stand for the others.
What fails is listed by its error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F

import scorch

ROWS, COLS, DEEP = 8, 6, 4
FORMATS = ("csr", "csc", "coo", "dcsr", "dcsc", "bsr(2,3)", "bsc(2,3)", "ell(6)")
SOME = ("csr", "coo", "bsr(2,3)")
FORMATS_3D = ("csf", "coo", "csr")
TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64)
WAYS = ("compile", "gradient", "second", "vmap", "export")


def _stored(f: Callable) -> Callable:
    """f of a dense matrix where the sparse one stores entries, zero elsewhere."""
    return lambda a, x: torch.where(a != 0, f(a, x), 0)


def _relu(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return scorch.evaluate("C[i,k] = relu(A[i,j] * x[j,k] - 1)", A=a, x=x)


def _largest(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return scorch.evaluate("m[i] max= A[i,j] * x[j,j]", A=a, x=x)


# operation: (on a SparseTensor [8, 6] and a dense [6, 6], the same on a dense tensor or None)
CASES: dict[str, tuple[Callable, Callable | None]] = {
    "`A @ x`": (lambda a, x: a @ x, None),
    "`x @ A.T`, `F.linear`": (lambda a, x: F.linear(x, a), None),
    "`einsum` of three": (
        lambda a, x: scorch.einsum("ij,jk,k->ik", a, x, x[0]),
        lambda a, x: (a @ x) * x[0],
    ),
    "`A @ B`": (lambda a, x: a @ a.T, None),
    "`A + B`": (lambda a, x: a + a * x[0], None),
    "`A * B`": (lambda a, x: a * (a * x[0]), None),
    "`A * row`": (lambda a, x: a * x[0], None),
    "`A / row`": (lambda a, x: a / x[0], None),
    "`A > B`": (lambda a, x: a > 2 * a, None),
    "`torch.relu(A)`": (lambda a, x: torch.relu(a), None),
    "`A.sum(1)`": (lambda a, x: a.sum(1), None),
    "`A.amax(1)`": (lambda a, x: a.amax(1), None),
    "`softmax`": (
        lambda a, x: torch.softmax(a, -1),
        lambda a, x: torch.softmax(a.double().masked_fill(a == 0, -torch.inf), -1),
    ),
    "`sddmm`": (
        lambda a, x: scorch.sddmm(a, F.pad(x, (0, 0, 0, 2)), x),
        lambda a, x: a * (F.pad(x, (0, 0, 0, 2)) @ x.T),
    ),
    "`evaluate`, relu of a sum": (_relu, lambda a, x: torch.relu(a @ x - 1)),
    "`evaluate`, `max=`": (_largest, lambda a, x: (a * x.diagonal()).amax(1)),
    "`A[1:7:2]`": (lambda a, x: a[1:7:2], None),
    "`torch.cat`": (lambda a, x: torch.cat([a, a]), None),
    "`A.to_dense()`": (lambda a, x: a.to_dense(), None),
}


def _attend(**options: object) -> Callable:
    """Attention of two heads that grow from x, under a as the mask."""

    def attend(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        k = torch.stack([x, x.flip(0)]) / 8
        return scorch.attention(torch.cat([k, k[:, :2]], 1), k, k.mT, a, **options)

    return attend


def _attend_torch(additive: bool) -> Callable:
    """The same in torch."""

    def attend(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        k = torch.stack([x, x.flip(0)]).double() / 8
        scores = torch.cat([k, k[:, :2]], 1) @ k.mT * COLS**-0.5
        scores = scores + a if additive else scores * a
        return scores.masked_fill(a == 0, -torch.inf).softmax(-1) @ k.mT

    return attend


ATTENTION: dict[str, tuple[Callable, Callable | None]] = {
    "`attention`": (_attend(), _attend_torch(False)),
    "`attention`, `additive=True`": (_attend(additive=True), _attend_torch(True)),
    "`F.scaled_dot_product_attention`": (
        lambda a, x: F.scaled_dot_product_attention(F.pad(x, (0, 0, 0, 2)), x, x.mT, a, scale=0.1),
        lambda a, x: (
            (
                (F.pad(x, (0, 0, 0, 2)).double() @ x.double().mT * 0.1 + a).masked_fill(a == 0, -torch.inf)
            ).softmax(-1)
            @ x.double().mT
        ),
    ),
}


# the same on a SparseTensor [4, 8, 6]
CASES_3D: dict[str, tuple[Callable, Callable | None]] = {
    "`A @ x`": (lambda a, x: a @ x, None),
    "`einsum` of three (MTTKRP)": (
        lambda a, x: scorch.einsum("ijk,jr,kr->ir", a, F.pad(x, (0, 0, 0, 2)), x),
        lambda a, x: torch.einsum("ijk,jr,kr->ir", a, F.pad(x, (0, 0, 0, 2)), x),
    ),
    "`A.transpose(0, 1) @ x`": (lambda a, x: a.transpose(0, 1) @ x, None),
    **{name: CASES[name] for name in ("`A + B`", "`A * B`", "`A * row`", "`A / row`", "`A > B`")},
    **{name: CASES[name] for name in ("`torch.relu(A)`", "`A.sum(1)`", "`A.amax(1)`", "`softmax`")},
    "`A[1]`": (lambda a, x: a[1], None),
    "`A[1:3]`": (lambda a, x: a[1:3], None),
    **{name: CASES[name] for name in ("`torch.cat`", "`A.to_dense()`")},
}


def operands_3d(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor in which each row stores something, and a matrix without zeros."""
    d, x = operands(dtype)
    return torch.stack([d.roll(k, 1) * (d.roll(k, 1) != k) for k in range(DEEP)]), x


def operands(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """A matrix of full and empty blocks, so that all formats store the same, and one without zeros."""
    g = torch.Generator().manual_seed(1)
    blocks = torch.tensor([[1, 1], [1, 0], [0, 1], [1, 0]]).repeat_interleave(2, 0).repeat_interleave(3, 1)
    d = torch.randint(1, 5, (ROWS, COLS), generator=g) * blocks
    return d.to(dtype), torch.randint(1, 4, (COLS, COLS), generator=g).to(dtype)


def dense(y: torch.Tensor) -> torch.Tensor:
    return y.to_dense() if scorch.is_sparse(y) else y


def plain(y: torch.Tensor) -> torch.Tensor:
    """A differentiable dense tensor of the numbers of a result."""
    return y.values() if scorch.is_sparse(y) else y


class Model(torch.nn.Module):
    def __init__(self, f: Callable, a: torch.Tensor) -> None:
        super().__init__()
        self.f = f
        self.register_buffer("a", a)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return plain(self.f(self.a, x))


def gradients(f: Callable, a: torch.Tensor, x: torch.Tensor, order: int) -> list[torch.Tensor]:
    """Gradients of the sum of squares to a (dense) and x; of their own sum of squares for order 2."""
    a, x = a.requires_grad_(), x.detach().requires_grad_()
    y = plain(f(a, x))
    found = torch.autograd.grad((y * y).sum(), (a, x), create_graph=order > 1, materialize_grads=True)
    if order > 1:  # of stored entries alone
        of_a = plain(found[0]) if scorch.is_sparse(a) else found[0] * (a != 0)
        loss = (of_a**2).sum() + (found[1] ** 2).sum()
        found = torch.autograd.grad(loss, (a, x), materialize_grads=True)
    return [dense(g.detach()) for g in found]


def run(way: str, f: Callable, dense_f: Callable, d: torch.Tensor, x: torch.Tensor, form: str) -> None:
    """One cell; raises where it does not run, AssertionError where the numbers are others."""

    def close(got: torch.Tensor, want: torch.Tensor) -> None:
        torch.testing.assert_close(got, want, check_dtype=False)

    a = scorch.sparse(d, format=form)
    want = dense_f(d, x)
    if way == "eager":
        close(dense(f(a, x)), want)
    elif way == "compile":
        torch._dynamo.reset()
        got = torch.compile(lambda a, x: plain(f(a, x)), backend="aot_eager", fullgraph=True)(a, x)
        close(got, plain(f(a, x)))
    elif way == "export":
        got = torch.export.export(Model(f, a), (x,), strict=True).module()(x)
        close(got, plain(f(a, x)))
    elif way == "vmap":
        got = torch.func.vmap(lambda x: plain(f(a, x)))(torch.stack([x, 2 * x]))
        close(got[1], plain(f(a, 2 * x)))
    else:
        order = 1 if way == "gradient" else 2
        got, wanted = gradients(f, a, x, order), gradients(dense_f, d.clone(), x, order)
        close(got[0], torch.where(d != 0, wanted[0], 0))
        close(got[1], wanted[1])


def said(error: Exception) -> str:
    """The reason in words."""
    text = str(error).strip().split("\n")[0][:160]
    if "FakeTensor" in str(error) or "data-dependent" in str(error):
        return "works on coordinates, which has no traced form in this format"
    for name in ("torch.int32", "torch.int64"):
        text = text.replace(name, "integers")
    return f"{type(error).__name__}: {text}"


class Holes:
    """Reasons, numbered in the order of their first use."""

    def __init__(self) -> None:
        self.notes: dict[str, int] = {}

    def cell(self, tried: dict[str, Exception | None]) -> str:
        """ "all", or what is missing with the numbers of the reasons."""
        failed = {name: e for name, e in tried.items() if e is not None}
        if not failed:
            return "all" if len(tried) > 1 else "yes"
        groups: dict[int, list[str]] = {}
        for name, error in failed.items():
            reason = said(error)
            groups.setdefault(self.notes.setdefault(reason, len(self.notes) + 1), []).append(name)
        lost = ", ".join(f"{' '.join(names)} ({number})" for number, names in groups.items())
        return f"not {lost}" if len(failed) < len(tried) else f"none ({', '.join(map(str, groups))})"


def attempt(*args: object) -> Exception | None:
    try:
        run(*args)
    except Exception as error:
        return error
    return None


class Table(NamedTuple):
    """Operations; formats: of eager runs, types are tried in the first; some: formats of the other ways."""

    cases: dict[str, tuple[Callable, Callable | None]]
    operands: Callable[[torch.dtype], tuple[torch.Tensor, torch.Tensor]]
    formats: tuple[str, ...]
    some: tuple[str, ...]


def row(table: Table, name: str, holes: Holes) -> str:
    """The line of an operation."""
    f, dense_f = table.cases[name]
    dense_f, (d, x) = dense_f or f, table.operands(torch.float64)
    cells = [holes.cell({form: attempt("eager", f, dense_f, d, x, form) for form in table.formats})]
    first = table.formats[0]
    tried = {str(t)[6:]: attempt("eager", f, dense_f, *table.operands(t), first) for t in TYPES}
    cells.append(holes.cell(tried))
    for way in WAYS:
        numbers = ">" not in name or way not in ("gradient", "second")
        tried = {form: attempt(way, f, dense_f, d.clone(), x, form) for form in table.some}
        cells.append(holes.cell(tried) if numbers else "")
    return f"| {name} | {' | '.join(cells)} |"


def lines(table: Table, holes: Holes) -> list[str]:
    """A table of the document."""
    ways = ["second order" if w == "second" else w for w in WAYS]
    head = ["operation", "formats", f"types ({table.formats[0]})", *ways]
    rows = [row(table, name, holes) for name in table.cases]
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *rows]


def document() -> str:
    """The text of docs/coverage.md."""
    holes = Holes()
    matrices = lines(Table(CASES, operands, FORMATS, SOME), holes)
    attention = lines(Table(ATTENTION, operands, FORMATS, SOME), holes)
    tensors = lines(Table(CASES_3D, operands_3d, FORMATS_3D, FORMATS_3D), holes)
    notes = [f"{number}. {reason}" for reason, number in holes.notes.items()]
    return "\n".join(
        [
            "# What runs where",
            "",
            "Written by `python -m benchmarks.coverage`, which runs every cell on a small case and compares",
            f"it with dense torch. Formats: {' '.join(FORMATS)}, in float64.",
            f"Types: csr, {' '.join(str(t)[6:] for t in TYPES)}. The other columns: {' '.join(SOME)}",
            "in float64; gradients are those to the sparse operand and to the dense one, `vmap` is over the",
            "dense one, compile is without graph breaks. Numbers are reasons, below the tables.",
            "",
            "## Matrices",
            "",
            *matrices,
            "",
            "## Attention",
            "",
            "The sparse operand is the mask; gradients are those to its values and to q, k and v together.",
            "Grouped heads, batches of masks, dropout and autocast are in tests/test_attention.py.",
            "",
            *attention,
            "",
            "## Tensors of three dimensions",
            "",
            f"Formats: {' '.join(FORMATS_3D)}, in all columns; csr is a batch of matrices.",
            "",
            *tensors,
            "",
            *notes,
            "",
        ]
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    target = Path(__file__).resolve().parent.parent / "docs" / "coverage.md"
    target.write_text(document())

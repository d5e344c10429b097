"""Random programs through the Python package, and their gradients, against the same on dense arrays.

A case is a problem of generate.py whose operands are made of arrays (components.py): every format,
coordinates that repeat, stored zeros, padding, plain dense levels, index types mixed, dense operands of any
strides. Results are asked for in formats, or written to out=. What is compared: numbers, exactly where they
are exact; that a sparse result has an entry wherever the program is not absent, whatever its value; types;
gradients, with torch's on dense arrays.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import components
import generate
import reference
import sweep
import torch

import scorch
from scorch.tensor.format import repeats

EXACT = (0, 1, -1, 2, -2)
SIGNED = (EXACT, EXACT, EXACT, (0, 1, 2), (1, 2), (-1, -2))
MIXED = (
    torch.float16, torch.bfloat16, torch.float32, torch.float32, torch.float64, torch.int32, torch.int64,
    torch.bool,
)  # fmt: skip
HALF = (torch.float16, torch.bfloat16)
MODES = ("exact", "mixed", "special", "gradient")
ROUNDED = (*generate.INEXACT, "/")
LIMITS = re.compile(  # of one program: gradients have more than their own
    r"expected at most \d+ index variables|the gradient sums over index \w+ in a way"
    r"|no loops compute \w+ from these formats and into this one: more than \d+ tensors are merged"
)


class Mismatch(Exception):
    """What was computed is wrong, in words."""


# ---- operands ----
@dataclass
class Operand:
    """A tensor, what it holds, and Python that makes it."""

    tensor: torch.Tensor
    held: reference.Stored
    script: str
    leaf: torch.Tensor | None = None  # of the reference: values that a gradient is asked of
    made: components.Made | None = None


def scattered(made: components.Made, values: torch.Tensor) -> reference.Stored:
    """Dense arrays of what components hold, differentiable in the values."""
    at = [k for k, c in enumerate(made.at) if c is not None]
    index = torch.tensor([made.at[k] for k in at], dtype=torch.int64).reshape(len(at), len(made.shape)).T
    dense = torch.full(made.shape, -0.0, dtype=torch.float64)  # -0 + x is x, also where x is -0
    there = torch.zeros(made.shape, dtype=torch.bool)
    if len(at):
        dense = dense.index_put(tuple(index), values[at], accumulate=True)
        there = there.index_put(tuple(index), torch.tensor(True))
        if made.values.dtype == torch.bool:
            dense = dense.clamp(max=1)
    return reference.Stored(dense, there)


def sparse_operand(
    r: random.Random, name: str, dims: tuple, dtype: torch.dtype, values: tuple, gradient: bool
) -> Operand:
    form = components.random_format(r, dims)
    while (gradient or dtype == torch.bool) and repeats(scorch.Format(form).bind(len(dims))):
        form = components.random_format(r, dims)  # what repeats has no gradient of its own, and truth no sum
    index = r.choice((torch.int32, torch.int32, torch.int64))
    return _held(components.random_tensor(r, dims, form, dtype, index, values), name, gradient)


def _held(made: components.Made, name: str, gradient: bool) -> Operand:
    a, leaf = made.tensor(), made.values.double()
    if gradient:
        a, leaf = a.requires_grad_(), leaf.requires_grad_()
    held = scattered(made, leaf)
    if a.format.bind(a.dim()).is_dense:
        held.there = None
    return Operand(a, held, made.script(name), leaf if gradient else None, made)


def twin(
    r: random.Random,
    name: str,
    other: str,
    made: components.Made,
    dtype: torch.dtype,
    values: tuple,
    gradient: bool,
) -> Operand:
    """Other values over the arrays of an operand."""
    new = replace(made, values=components.random_values(r, len(made.at), dtype, values))
    found = _held(new, name, gradient)
    text = found.script.rpartition("torch.tensor")[2].rstrip()
    found.script = f"{name} = scorch.map({other}, lambda _: torch.tensor{text}\n"
    return found


def strided(r: random.Random, x: torch.Tensor) -> torch.Tensor:
    """The same numbers in another order of memory."""
    kind = r.randrange(5)
    if kind == 0 and x.dim() > 1:
        d = r.randrange(x.dim())
        return x.transpose(d, -1).contiguous().transpose(d, -1)
    if kind == 1 and x.dim():
        return torch.stack([x, x + 1], -1).flatten(-2)[..., ::2]
    if kind == 2 and x.dim():
        return torch.cat([x, x])[: len(x)]
    return x


def dense_operand(
    r: random.Random, name: str, dims: tuple, dtype: torch.dtype, values: tuple, gradient: bool
) -> Operand:
    n = torch.Size(dims).numel()
    x = components.random_values(r, n, dtype, values).reshape(dims)
    script = f"{name} = torch.tensor({x.tolist()}, dtype={dtype}).reshape({dims})\n"
    y = strided(r, x)
    leaf = x.double().clone()
    if gradient:
        y, leaf = y.clone().requires_grad_(), leaf.requires_grad_()
    if y.stride() != x.stride():
        room = f"{name}.new_empty({y.untyped_storage().nbytes()})"
        script += f"{name} = {room}.as_strided({dims}, {y.stride()}).copy_({name})\n"
    return Operand(y, reference.Stored(leaf), script, leaf if gradient else None)


# ---- a case ----
@dataclass
class Case:
    problem: generate.Problem
    seed: int
    mode: str
    types: dict[str, torch.dtype] = field(default_factory=dict)
    format: str | None = None
    out: bool = False

    def operands(self) -> dict[str, Operand]:
        """Drawn anew, the same for the same seed; those of one name do not depend on the others."""
        made, gradient = {}, self.mode == "gradient"
        for name, o in self.problem.operands.items():
            r = random.Random(f"{self.seed} {name}")
            dims = self.problem.dims(name)
            dtype = self.types.get(name, torch.float64 if gradient else torch.float32)
            values = components.SPECIAL if self.mode == "special" else r.choice(SIGNED)
            sparse = dims and (o.sparse or r.random() < 0.05)
            draw = sparse_operand if sparse else dense_operand
            others = [k for k, x in made.items() if x.made and x.made.shape == tuple(dims)]
            if (
                sparse
                and others
                and r.random() < 0.3
                and not repeats(made[others[0]].tensor.format.bind(len(dims)))
            ):
                first = others[0]
                made[name] = twin(r, name, first, made[first].made, dtype, values, gradient)
                continue
            made[name] = draw(r, name, dims, dtype, values, gradient)
        return made

    def text(self) -> str:
        return "; ".join(map(str, self.problem.assigns))

    def returned(self) -> list[generate.Assign]:
        return [a for a in self.problem.assigns if not a.hidden]

    def is_summed(self) -> bool:
        return any(set(a.left) != generate.indices(a.right) for a in self.problem.assigns)

    def options(self) -> dict[str, object]:
        options: dict[str, object] = {"format": self.format} if self.format else {}
        return options | ({"implicit": "skip"} if "skip" in self.problem.flags else {})

    def script(self) -> str:
        """A program of its own that shows what was found."""
        operands = self.operands()
        lines = "".join(o.script for o in operands.values())
        named = "".join(f", {name}={name}" for name in operands)
        options = "".join(f", {k}={v!r}" for k, v in self.options().items())
        grad = "".join(f"{name}.requires_grad_()\n" for name in operands) if self.mode == "gradient" else ""
        return f"import torch, scorch\n{lines}{grad}print(scorch.evaluate({self.text()!r}{named}{options}))\n"


def random_formats(r: random.Random, dims: tuple) -> str | None:
    """What a result can be asked for in."""
    if not dims or r.random() < 0.6:
        return None
    order = r.sample(range(len(dims)), len(dims))
    kinds = [r.choice(("dense", "compressed")) for _ in order]
    named = {1: ("coo",), 2: ("csr", "csc", "coo", "dcsr", "dcsc")}.get(len(dims), ("csf", "coo"))
    levels = ", ".join(f"{kind}({d})" for kind, d in zip(kinds, order, strict=True))
    blocks = [components.divisor(r, n) for n in dims]
    bsr = f"{r.choice(('bsr', 'bsc'))}({blocks[0]},{blocks[-1]})"
    return r.choice((*named, levels, levels, "dense", bsr if len(dims) == 2 else "dense"))


def _is_product(e: generate.Node) -> bool:
    return e[0] in ("num", "at", "stored") or (e[0] == "*" and all(map(_is_product, e[1:])))


def _keeps_finite(a: generate.Assign) -> bool:
    """Whether special values leave finite results as they are: without sums, or in sums of products alone."""
    terms, e = [], a.right
    while e[0] in ("+", "-"):
        terms, e = [*terms, e[2]], e[1]
    return set(a.left) == generate.indices(a.right) or all(map(_is_product, [e, *terms]))


def draw(r: random.Random, seed: int, mode: str | None = None) -> Case | None:
    """A case of some mode, or none where what was drawn is no problem."""
    p = generate.Draw(r).problem()
    mode = mode or r.choices(MODES, (50, 20, 15, 25))[0]
    if not p.is_valid() or (
        mode == "special" and ("skip" in p.flags or not all(map(_keeps_finite, p.assigns)))
    ):
        return None
    case = Case(p, seed, mode)
    p.asks = {}
    if mode == "mixed":
        types = MIXED if len(p.assigns) == 1 else MIXED[2:]
        case.types = {name: r.choice(types) for name in p.operands}
    elif mode == "exact":
        case.types = dict.fromkeys(p.operands, r.choice((torch.float32, torch.float64)))
    if mode == "gradient":
        if any(f in str(p) for f in ("sqrt", "log")) or "skip" in p.flags:
            return None
        for a in p.assigns:
            a.right = generate.finite(a.right)
    if len(p.assigns) == 1:
        case.format = random_formats(r, tuple(p.extent[i] for i in p.assigns[0].left))
        case.out = case.format is None and mode == "exact" and r.random() < 0.1
    return case


# ---- comparing ----
def stored_as(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """What becomes of exact numbers in a type: integers saturate."""
    if dtype.is_floating_point:
        return x.to(dtype).double()
    if dtype == torch.bool:
        return (x != 0).double()
    info = torch.iinfo(dtype)
    return x.nan_to_num(0, info.max, info.min).clamp(info.min, info.max).trunc()


def differ(got: torch.Tensor, want: torch.Tensor, text: str) -> str:
    """What is wrong with a result, in words; nothing where it is right."""
    rounded = any(f in text for f in ROUNDED)
    if rounded and re.search(r"[<>=!]=|[<>]", text):
        return ""  # a comparison may fall either way
    want, values = stored_as(want, got.dtype), got.double()
    scale = want[want.isfinite()].abs().max().item() if want.isfinite().any() else 0
    slack = {torch.float16: 1e-2, torch.bfloat16: 5e-2}.get(got.dtype, 1e-4) * rounded
    close = torch.isclose(values, want, rtol=slack, atol=slack * scale, equal_nan=True)
    if bool(close.all()):
        return ""
    at = tuple((~close).nonzero()[0].tolist())
    return f"at {at}: expected {want[at].item():g}, got {values[at].item():g}"


def check_result(case: Case, name: str, got: torch.Tensor, want: reference.Stored) -> None:
    value, there, text = want.value.detach(), want.there, case.text()
    if got.shape != value.shape:
        raise Mismatch(f"{name}: expected shape {tuple(value.shape)}, got {tuple(got.shape)}")
    plain = got
    if scorch.is_sparse(got):
        again = scorch.from_components(got.format, got.shape, *components.arrays(got))
        found = components.holds(again)
        plain = components.dense_of(found, tuple(got.shape), got.dtype)
        if case.format is None:
            missing = [c for c in map(tuple, there.nonzero().tolist()) if c not in found]
            if missing:
                raise Mismatch(f"{name}: expected an entry at {missing[0]}, got none")
    if (
        "skip" in case.problem.flags
    ):  # what no point reached is infinite in a dense result, absent in a sparse one
        plain = torch.where(value.isinf(), 0, plain.detach())
        value = torch.where(value.isinf(), 0, value)
    if case.mode == "special" and case.is_summed():
        # a factor may be taken out of a sum: what is infinite may be no number then, what is finite stays
        plain = torch.where(value.isfinite(), plain.detach(), value.to(plain.dtype))
    if said := differ(plain.detach(), value, text):
        raise Mismatch(f"{name} {said}")


def keeps_zeros(case: Case, operands: dict[str, Operand]) -> bool:
    """Whether a zero of the result has a gradient: not where a dense result is asked for as a sparse one."""
    if case.format in (None, "dense"):
        return True
    with torch.no_grad():
        made = scorch.evaluate(case.text(), **{n: o.tensor for n, o in operands.items()})
    return scorch.is_sparse(made) and any(not level.startswith("dense") for level in made.format.levels)


def check_gradients(case: Case, operands: dict[str, Operand], made: tuple, results: dict) -> None:
    names = [a.name for a in case.returned()]
    loss, other = 0, 0
    for name, got in zip(names, made, strict=True):
        x = got.to_dense() if scorch.is_sparse(got) else got
        y = results[name].value
        r = random.Random(f"{case.seed} weights {name}")
        weight = components.random_values(r, y.numel(), torch.float64, EXACT).reshape(y.shape)
        fine = y.isfinite() & (keeps_zeros(case, operands) | (y != 0))
        loss = loss + (torch.where(fine, x, 0) * weight).sum()
        other = other + (torch.where(fine, y, 0) * weight).sum()
    leaves = [o.leaf for o in operands.values()]
    ours = [o.tensor for o in operands.values()]
    theirs = (
        torch.autograd.grad(other, leaves, allow_unused=True) if other.requires_grad else [None] * len(leaves)
    )
    given = torch.autograd.grad(loss, ours, allow_unused=True) if loss.requires_grad else [None] * len(ours)
    for name, got, expected, o in zip(operands, given, theirs, operands.values(), strict=True):
        got = torch.zeros_like(o.leaf) if got is None else got
        got = got.values() if scorch.is_sparse(got) else got
        expected = torch.zeros_like(o.leaf) if expected is None else expected
        if o.held.there is not None and o.leaf.numel():  # padding has no gradient
            expected = torch.where(_padding(o), 0, expected)
        scale = max(1.0, expected.abs().max().item()) if expected.numel() else 1.0
        close = torch.isclose(
            got.reshape(expected.shape), expected, rtol=1e-8, atol=1e-9 * scale, equal_nan=True
        )
        if not bool(close.all()):
            at = tuple((~close).nonzero()[0].tolist())
            want, found = expected[at].item(), got.reshape(expected.shape)[at].item()
            raise Mismatch(f"gradient of {name} at {at}: expected {want:g}, got {found:g}")


def _padding(o: Operand) -> torch.Tensor:
    at = [c for c, _ in components.entries(o.tensor)]
    return torch.tensor([c is None for c in at])


# ---- running ----
def refused(error: Exception) -> bool:
    return bool(sweep.REFUSED.match(str(error)) or LIMITS.match(str(error)))


def check_results(case: Case, held: dict, found: dict[str, torch.Tensor]) -> dict:
    """What they were expected to be. Whether a temporary is sparse is not seen: both are tried."""
    sparse = frozenset(name for name, x in found.items() if scorch.is_sparse(x))
    hidden = frozenset(a.name for a in case.problem.assigns if a.hidden)
    wants = [reference.Reference(case.problem, held, sparse | h).results() for h in {hidden, frozenset()}]
    for k, want in enumerate(wants):
        try:
            for name, got in found.items():
                check_result(case, name, got, want[name])
            return want
        except Mismatch:
            if k + 1 == len(wants):
                raise
    raise AssertionError


def check(case: Case) -> bool:
    """Whether the case was computed; raises Mismatch where it is wrong, or refused without a known reason."""
    operands = case.operands()
    named = {name: o.tensor for name, o in operands.items()}
    held = {name: o.held for name, o in operands.items()}
    options = case.options()
    if case.out:
        shape = reference.Reference(case.problem, held).results()[case.problem.assigns[0].name].value.shape
        options["out"] = torch.full(shape, float("nan"), dtype=next(iter(case.types.values())))
    try:
        made = scorch.evaluate(case.text(), **named, **options)
        made = made if isinstance(made, tuple) else (made,)
        found = dict(zip((a.name for a in case.returned()), made, strict=True))
        want = check_results(case, held, found)
        if case.mode == "gradient":
            check_gradients(case, operands, made, want)
    except Mismatch:
        raise
    except Exception as error:
        if not isinstance(error, (ValueError, NotImplementedError)) or not refused(error):
            raise Mismatch(f"{type(error).__name__}: {error}") from error
        return False
    return True


# ---- smaller cases ----
def fault(case: Case) -> str:
    """What is wrong with a case; nothing, too, where shrinking made it no case."""
    try:
        check(case)
    except Mismatch as wrong:
        return str(wrong)
    except (IndexError, KeyError, RuntimeError, ValueError):
        pass
    return ""


def kind(said: str) -> str:
    return re.sub(r"\b[A-Z]\b|\(.*?\)|-?[\d.]+|inf|nan", "_", said.split("\n")[0])


def shrink(case: Case, said: str, fails: Callable[[Case], str] = fault) -> tuple[Case, str]:
    """A smaller case with the same kind of fault."""
    for _ in range(80):
        for q in [q for q in sweep.smaller(case.problem) if q.is_valid()]:
            smaller = Case(q, case.seed, case.mode, case.types, case.format, case.out)
            if len(q.assigns[0].left) != len(case.problem.assigns[0].left):
                smaller.format = None
            found = fails(smaller)
            if kind(found) == kind(said):
                case, said = smaller, found
                break
        else:
            break
    return case, said

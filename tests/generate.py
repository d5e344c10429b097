"""Random problems: expressions x formats x types x extents, as .sc texts, and how to make a failing one small.

    python tests/generate.py [--seed N] [--count N] [--jit] [--width W] [--lanes N] [--shrink]

prints what was refused or wrong by kind, each with the smallest example at hand. Everything the documented
grammar allows may come out. Data is integer-valued and expressions keep to what is exact (divisors are
powers of two or zero, functions such as exp stand outside of sums), so results are compared for equality.
"""

from __future__ import annotations

import argparse
import copy
import random
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import native

INFIX = ("+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=")
EXACT = ("relu", "abs", "neg")
LIMIT = 6000  # coordinates of all indices together: the oracle visits each
Node = tuple  # ("num", value) ("at", name, indices) (op, kid) (op, kid, kid)


# ---- expressions ----
def kids(e: Node) -> tuple[Node, ...]:
    return () if e[0] in ("num", "at") else e[1:]


def accesses(e: Node) -> list[Node]:
    return [e] if e[0] == "at" else [a for k in kids(e) for a in accesses(k)]


def indices(e: Node) -> set[str]:
    return {i for a in accesses(e) for i in a[2]}


def text(e: Node) -> str:
    if e[0] == "num":
        return f"{e[1]:g}"
    if e[0] == "at":
        return at(e[1], e[2])
    if e[0] in INFIX:
        return f"({text(e[1])} {e[0]} {text(e[2])})"
    return f"{e[0]}({', '.join(map(text, kids(e)))})"


def at(name: str, ix: str) -> str:
    return f"{name}[{','.join(ix)}]" if ix else name


def is_summable(e: Node, left: str) -> bool:
    """Whether '=' is defined: every index that is not on the left lies within one product."""
    total = [i for a in accesses(e) for i in sorted(set(a[2]))]

    def closed(e: Node, factor: bool) -> set[str]:
        """The indices of e that are summed in it."""
        if e[0] in ("num", "at") and factor:
            return set()
        product = e[0] in ("*", "/")
        done = set().union(*(closed(k, product) for k in kids(e)))
        if (product or e[0] == "at") and not factor:
            uses = [i for a in accesses(e) for i in sorted(set(a[2]))]
            done |= {i for i in uses if uses.count(i) == total.count(i)}
        return done

    return indices(e) - set(left) <= closed(e, False)


# ---- problems ----
@dataclass
class Operand:
    format: str
    itype: str = "i32"
    unit: int | None = None

    @property
    def sparse(self) -> bool:
        return self.format != "dense"


@dataclass
class Assign:
    name: str
    left: str
    op: str
    right: Node


@dataclass
class Problem:
    dtype: str
    extent: dict[str, int]
    operands: dict[str, Operand]
    assigns: list[Assign]
    asks: dict[str, str] = field(default_factory=dict)  # result: format and index type
    flags: list[str] = field(default_factory=list)

    def accesses(self, name: str) -> list[Node]:
        return [a for s in self.assigns for a in accesses(s.right) if a[1] == name]

    def dims(self, name: str) -> tuple[int, ...]:
        return tuple(self.extent[i] for i in self.accesses(name)[0][2])

    def is_valid(self) -> bool:
        """Extents agree, indices on the left are used, and '=' has a meaning."""
        named = set(self.operands)
        for a in self.assigns:
            if not set(a.left) <= indices(a.right) or {x[1] for x in accesses(a.right)} - named:
                return False
            if a.op == "=" and not is_summable(a.right, a.left):
                return False
            named.add(a.name)
        return all(self.accesses(n) for n in self.operands) and all(
            self.dims(n) == tuple(self.extent[i] for i in a[2])
            for n in self.operands
            for a in self.accesses(n)
        )

    def __str__(self) -> str:
        lines = []
        for name, o in self.operands.items():
            quoted = f'"{o.format}"' if " " in o.format else o.format
            kind = f"{quoted} {o.itype}" if o.sparse else quoted
            unit = "" if o.unit is None else f" unit {o.unit}"
            lines.append(f"in {name}: {self.dtype} {kind} ({', '.join(map(str, self.dims(name)))}){unit}")
        lines += [f"out {name}: {self.dtype} {form}" for name, form in self.asks.items()] + self.flags
        lines += [f"{at(a.name, a.left)} {a.op} {text(a.right)}" for a in self.assigns]
        return "\n".join(lines) + "\n"


def divisor(draw: random.Random, n: int) -> int:
    return draw.choice([b for b in (1, 2, 3, 4, 5, 8, n or 1) if n % b == 0])


def blocked(draw: random.Random, dims: tuple[int, ...]) -> str:
    """Blocks of two dimensions, the outer halves before the inner ones."""
    r, c = (divisor(draw, n) for n in dims)
    name = draw.choice(("bsr", "bsc", "dcsr", "csr"))
    if name in ("bsr", "bsc"):
        return f"{name}({r},{c})"
    if name == "dcsr":
        return f"compressed(0/{r}), compressed(1/{c}), dense(1%{c}), dense(0%{r})"
    return f"dense(0/{r}), compressed(1), dense(0%{r})"


def level_list(draw: random.Random, dims: tuple[int, ...]) -> str:
    """Any kinds of levels in any order of the dimensions."""
    order = draw.sample(range(len(dims)), len(dims))
    kinds = [draw.choice(("dense", "compressed", "compressed", "ell")) for _ in order]
    if all(k == "dense" for k in kinds):
        kinds[-1] = "compressed"
    levels = [f"{k}({d}, {max(dims[d], 1)})" if k == "ell" else f"{k}({d})" for k, d in zip(kinds, order)]
    if len(order) > 1 and draw.random() < 0.25:  # a list of coordinates below dense levels
        cut = draw.randrange(len(order) - 1)
        levels = [f"dense({d})" for d in order[:cut]] + [f"compressed({order[cut]}, nonunique)"]
        levels += [f"singleton({d}, nonunique)" for d in order[cut + 1 : -1]]
        levels += [f"singleton({order[-1]}{draw.choice(('', ', nonunique'))})"]
    return ", ".join(levels)


def sparse_format(draw: random.Random, dims: tuple[int, ...]) -> str:
    if len(dims) == 1:
        return draw.choice(("compressed(0)", "coo", "compressed(0)", f"ell(0, {max(dims[0], 1)})"))
    named = ["coo", "csf"] if len(dims) > 2 else ["csr", "csr", "csc", "coo", "dcsr", "dcsc"]
    kind = draw.randrange(10)
    if kind < 7:
        return draw.choice(named)
    if kind == 7 and len(dims) == 2:
        return blocked(draw, dims)
    return f"ell({max(dims[-1], 1)})" if kind == 8 else level_list(draw, dims)


def result_format(draw: random.Random, rank: int) -> str:
    form = {1: ("compressed(0)", "coo"), 2: ("csr", "csc", "coo", "dcsr", "dcsc")}.get(rank, ("csf", "coo"))
    return f"{draw.choice((*form, 'dense'))} {draw.choice(('i32', 'i64'))}"


class Draw:
    """One random problem."""

    def __init__(self, seed: int | str) -> None:
        self.r = random.Random(seed)
        r = self.r
        self.square = r.random() < 0.35  # all extents equal: operands repeat with any indices
        self.names = "ijkl"[: r.choice((1, 2, 2, 3, 3, 3, 4))]
        self.extent = self._extents()
        self.operands: dict[str, Operand] = {}
        self.indices: dict[str, str] = {}
        self.want = r.choice((1, 1, 2, 2, 2, 3, 4))

    def _extents(self) -> dict[str, int]:
        r, w = self.r, self.r.choice((4, 8, 16))
        sizes = (1, w - 1, w, w + 1, 3 * w + 2, 2, 3, 5, 6, 0 if r.random() < 0.1 else 4)
        while True:
            n = [r.choice(sizes) for _ in self.names]
            n = n[:1] * len(n) if self.square else n
            if prod(max(x, 1) for x in n) <= LIMIT:
                return dict(zip(self.names, n, strict=True))

    def access(self) -> Node:
        r = self.r
        if self.operands and (len(self.operands) >= self.want or r.random() < 0.2):
            name = r.choice(list(self.operands))
            ix = self.indices[name]
            if self.square and len(ix) > 1 and r.random() < 0.4:  # transposed, shifted, diagonal
                ix = "".join(r.choice(self.names) for _ in ix)
            return ("at", name, ix)
        name = "ABDEFG"[len(self.operands)]
        rank = min(r.choice((0, 1, 1, 2, 2, 2, 2, 2, 3, 3)), len(self.names))
        if not self.operands:
            rank = max(rank, 1)
        ix = "".join(r.sample(self.names, rank))
        if rank > 1 and r.random() < 0.6:
            ix = "".join(sorted(ix))
        dims = tuple(self.extent[i] for i in ix)
        sparse = rank and (r.random() < 0.65 or not self.operands)
        self.operands[name] = Operand(
            sparse_format(r, dims) if sparse else "dense",
            r.choice(("i32", "i32", "i64")),
            r.randrange(rank) if rank > 1 and not sparse and r.random() < 0.3 else None,
        )
        self.indices[name] = ix
        return ("at", name, ix)

    def expression(self, depth: int) -> Node:
        r = self.r
        if depth == 0 or r.random() < 0.12:
            return self.access() if r.random() < 0.93 else ("num", r.choice((1, 2, -1, 0, 0.5)))
        op = r.choices(("*", "+", "-", "/", "minmax", "compare", "unary"), (50, 16, 9, 4, 7, 5, 9))[0]
        if op == "unary":
            return (r.choice(EXACT), self.expression(depth - 1))
        if op == "/":
            return ("/", self.expression(depth - 1), self.divisor())
        op = {"minmax": r.choice(("min", "max")), "compare": r.choice(INFIX[4:])}.get(op, op)
        return (op, self.expression(depth - 1), self.expression(depth - 1))

    def divisor(self) -> Node:
        kind = self.r.randrange(3)
        if kind == 0:
            return ("num", self.r.choice((2, 4)))
        return ("max", ("abs", self.access()), ("num", 1)) if kind == 1 else self.access()

    def assign(self, name: str) -> Assign:
        r = self.r
        e = self.expression(r.choice((1, 1, 2, 2, 2, 3)))
        if not accesses(e):
            e = ("*", e, self.access())
        used = sorted(indices(e))
        left = "".join(r.sample(used, min(len(used), r.choice((0, 1, 1, 2, 2, 2, 2, 3)))))
        left = "".join(sorted(left)) if r.random() < 0.6 else left
        op = r.choices(("=", "+=", "max=", "min="), (75, 15, 5, 5))[0]
        if op == "=" and not is_summable(e, left):
            op = "+="
        if op == "=" and r.random() < 0.06 and set(left) == set(used):
            f = r.choice(("exp", "tanh", "sigmoid", "sqrt"))  # inexact: outside of every sum
            e = (f, ("abs", e) if f == "sqrt" else e)
        return Assign(name, left, op, e)

    def problem(self) -> Problem:
        r = self.r
        assigns = [self.assign("C")]
        if r.random() < 0.12:
            assigns.append(self.assign("S"))
            first = assigns[0]
            if r.random() < 0.6:  # the second reads the first
                assigns[1].right = (r.choice("*+-"), assigns[1].right, ("at", "C", first.left))
                ok = is_summable(assigns[1].right, assigns[1].left)
                assigns[1].op = assigns[1].op if ok else "+="
        flags = ["nofold"] * (r.random() < 0.25) + ["skip"] * (r.random() < 0.08)
        p = Problem(r.choice(("f32", "f64")), self.extent, self.operands, assigns, flags=flags)
        for a in assigns:
            if a.left and r.random() < 0.35 and not p.accesses(a.name):
                p.asks[a.name] = result_format(r, len(a.left))
        return p


def problems(count: int, seed: int) -> Iterator[Problem]:
    """Valid problems, the same for the same seed; the n-th does not depend on the others."""
    n = found = 0
    while found < count:
        p = Draw(f"{seed}.{n}").problem()
        n += 1
        if p.is_valid():
            found += 1
            yield p


# ---- smaller problems ----
def _smaller_nodes(e: Node) -> Iterator[Node]:
    yield from kids(e)
    for n, k in enumerate(kids(e)):
        for smaller in _smaller_nodes(k):
            yield (*e[: n + 1], smaller, *e[n + 2 :])


def _smaller(p: Problem) -> Iterator[Problem]:
    def changed(change) -> Problem:
        q = copy.deepcopy(p)
        change(q)
        q.operands = {n: o for n, o in q.operands.items() if q.accesses(n)}
        q.asks = {n: f for n, f in q.asks.items() if any(a.name == n for a in q.assigns)}
        return q

    for n in range(len(p.assigns)):
        if len(p.assigns) > 1:
            yield changed(lambda q, n=n: q.assigns.pop(n))
    for n, a in enumerate(p.assigns):
        for e in _smaller_nodes(a.right):

            def replace(q: Problem, n=n, e=e) -> None:
                q.assigns[n].right = e
                q.assigns[n].left = "".join(i for i in q.assigns[n].left if i in indices(e))
                q.asks.pop(q.assigns[n].name, None) if not q.assigns[n].left else None

            yield changed(replace)
        if a.op != "=":
            yield changed(lambda q, n=n: setattr(q.assigns[n], "op", "="))
    for f in p.flags:
        yield changed(lambda q, f=f: q.flags.remove(f))
    for name in p.asks:
        yield changed(lambda q, name=name: q.asks.pop(name))
    for name, o in p.operands.items():
        for form in ("dense", "csr", "csf", "coo"):
            if o.sparse and o.format not in ("dense", "csr", form) and (form != "csr" or len(p.dims(name)) == 2):
                yield changed(lambda q, name=name, form=form: setattr(q.operands[name], "format", form))
        if o.unit is not None:
            yield changed(lambda q, name=name: setattr(q.operands[name], "unit", None))
    for i, n in p.extent.items():
        for smaller in (1, 2, 3, n - 1):
            if smaller < n and "%" not in str(p) and "bs" not in str(p) and "ell" not in str(p):
                yield changed(lambda q, i=i, s=smaller, n=n: q.extent.update({i: s}))
                yield changed(lambda q, s=smaller, n=n: q.extent.update({k: s for k, v in q.extent.items() if v == n}))
    if p.dtype == "f64":
        yield changed(lambda q: setattr(q, "dtype", "f32"))


def kind_of(message: str) -> str:
    """A message without its names and numbers."""
    message = message.split("\n")[0]
    if re.search(r"expected \S+, got \S+$", message):
        return "WRONG RESULT"
    return re.sub(r"\b([A-Z]|[a-z]\d?|w_?\d*)\b|'[^']*'|-?\d+", "_", message)


def run(problems: list[str], *options: object, program: Path | None = None, env: dict | None = None) -> list[str]:
    """What scorchc says of each problem: "" where the result is right."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{n:05}.sc" for n in range(len(problems))]
        for name, problem in zip(names, problems, strict=True):
            (Path(folder) / name).write_text(problem)
        said = _run_files(names, Path(folder), program or native.core().scorchc(), options, env)
    return [said[name] for name in names]


def _run_files(names: list[str], folder: Path, program: Path, options: tuple, env: dict | None) -> dict[str, str]:
    """One process for all; where it is killed the file it was at gets the blame and the rest go on."""
    said: dict[str, str] = {}
    while len(said) < len(names):
        rest = [n for n in names if n not in said]
        try:
            done = native.run(program, "--run", *options, *rest[:500], cwd=folder, env=env, limit=900)
            out, err, code = done.stdout, done.stderr, done.returncode
        except native.subprocess.TimeoutExpired as slow:
            out, err, code = (slow.stdout or b"").decode(), (slow.stderr or b"").decode(), "a timeout"
        said |= {name: "" for name in re.findall(r"^(\d+\.sc): ok$", out, flags=re.M)}
        for report in re.split(r"^(?=\d+\.sc: )", err, flags=re.M):
            if m := re.match(r"(\d+\.sc): ", report):
                said[m[1]] = report[m.end() :].strip() or "?"
        if code not in (0, 1):
            blamed = next(n for n in rest if n not in said)
            said[blamed] = f"scorchc ended with {code}: {err[-1500:]}"
    return said


def shrink(p: Problem, message: str, *options: object, **how) -> tuple[Problem, str]:
    """A smaller problem with the same kind of message."""
    kind = kind_of(message)
    for _ in range(60):
        tries = [q for q in _smaller(p) if q.is_valid()]
        reports = run(list(map(str, tries)), *options, **how)
        better = [(q, m) for q, m in zip(tries, reports) if kind_of(m) == kind]
        if not better:
            break
        p, message = min(better, key=lambda b: (len(str(b[0])), sum(b[0].extent.values())))
    return p, message


def main() -> None:
    parser = argparse.ArgumentParser(description="random problems against the oracle")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--only", default="", help="kinds of messages to show, a regular expression")
    given, options = parser.parse_known_args()
    made = list(problems(given.count, given.seed))
    kinds: dict[str, list[tuple[Problem, str]]] = {}
    for p, said in zip(made, run(list(map(str, made)), *options), strict=True):
        kinds.setdefault(kind_of(said), []).append((p, said))
    for kind, found in sorted(kinds.items(), key=lambda k: -len(k[1])):
        print(f"{len(found):6} {kind or 'right'}")
        if kind and re.search(given.only, kind):
            p, said = min(found, key=lambda f: len(str(f[0])))
            p, said = shrink(p, said, *options) if given.shrink else (p, said)
            print("        " + f"{p}{said}".replace("\n", "\n        "))


if __name__ == "__main__":
    main()

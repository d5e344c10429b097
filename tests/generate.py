"""Random problems as .sc texts: expressions x formats x types x extents.

Everything the documented grammar allows may come out; sweep.py runs them. Data is integer-valued and
expressions keep to what is exact (divisors are powers of two, or zero where nothing is summed; functions such
as exp stand outside of sums), so results are compared for equality.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

INFIX = ("+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=")
EXACT = ("relu", "abs", "neg")
INEXACT = ("exp", "tanh", "sigmoid", "sqrt")  # never inside a sum, which could cancel
LIMIT = 6000  # coordinates of all indices together: the oracle visits each
Node = tuple  # ("num", value) ("at", name, indices) (op, kid) (op, kid, kid)


# ---- expressions ----
def kids(e: Node) -> tuple[Node, ...]:
    return () if e[0] in ("num", "at") else e[1:]


def accesses(e: Node) -> list[Node]:
    return [e] if e[0] == "at" else [a for k in kids(e) for a in accesses(k)]


def is_access(e: Node) -> bool:
    return e[0] in ("at", "stored")


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
        if e[0] == "num" or (is_access(e) and factor):
            return set()
        product = e[0] in ("*", "/")
        done = set() if is_access(e) else set().union(*(closed(k, product) for k in kids(e)))
        if (product or is_access(e)) and not factor:
            uses = [i for a in accesses(e) for i in sorted(set(a[2]))]
            done |= {i for i in uses if uses.count(i) == total.count(i)}
        return done

    return indices(e) - set(left) <= closed(e, False)


def finite(e: Node) -> Node:
    """e without divisors that can be zero: sums of infinities depend on how they are split."""
    if e[0] in ("num", "at"):
        return e
    if e[0] == "/" and e[2][0] == "at":
        e = ("/", e[1], ("max", ("abs", e[2]), ("num", 1)))
    return (e[0], *map(finite, e[1:]))


# ---- problems ----
@dataclass
class Operand:
    format: str
    itype: str = "i32"
    unit: int | None = None
    dtype: str = ""  # where it is not the problem's
    perm: bool = False  # values are found through a permutation

    @property
    def sparse(self) -> bool:
        return self.format != "dense"


@dataclass
class Assign:
    name: str
    left: str
    op: str
    right: Node
    hidden: bool = False  # a tmp, which is not returned

    def __str__(self) -> str:
        return f"{'tmp ' * self.hidden}{at(self.name, self.left)} {self.op} {text(self.right)}"


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
            unit += " perm" * o.perm
            lines.append(
                f"in {name}: {o.dtype or self.dtype} {kind} ({', '.join(map(str, self.dims(name)))}){unit}"
            )
        lines += [f"out {name}: {self.dtype} {form}" for name, form in self.asks.items()] + self.flags
        lines += map(str, self.assigns)
        return "\n".join(lines) + "\n"


def divisor(draw: random.Random, n: int) -> int:
    return draw.choice([b for b in (1, 2, 3, 4, 5, 8, n or 1) if n % b == 0])


def blocked(draw: random.Random, dims: tuple[int, ...]) -> str:
    """Blocks of two dimensions, the outer halves before the inner ones."""
    r, c = (divisor(draw, n) for n in dims)
    name = draw.choice(("bsr", "bsc", "dcsr", "csr", "planar"))
    if name in ("bsr", "bsc"):
        return f"{name}({r},{c})"
    if name == "planar":
        return (
            f"{draw.choice(('dense', 'compressed'))}(0/{r}), compressed(1/{c}), planar(0%{r}), dense(1%{c})"
        )
    if name == "dcsr":
        return f"compressed(0/{r}), compressed(1/{c}), dense(1%{c}), dense(0%{r})"
    return f"dense(0/{r}), compressed(1), dense(0%{r})"


def level_list(draw: random.Random, dims: tuple[int, ...]) -> str:
    """Any kinds of levels in any order of the dimensions."""
    order = draw.sample(range(len(dims)), len(dims))
    kinds = [draw.choice(("dense", "compressed", "compressed", "ell")) for _ in order]
    if all(k == "dense" for k in kinds):
        kinds[-1] = "compressed"
    levels = [
        f"{k}({d}, {max(dims[d], 1)})" if k == "ell" else f"{k}({d})"
        for k, d in zip(kinds, order, strict=True)
    ]
    if len(order) > 1 and draw.random() < 0.25:  # a list of coordinates below dense levels
        cut = draw.randrange(len(order) - 1)
        levels = [f"dense({d})" for d in order[:cut]] + [f"compressed({order[cut]}, nonunique)"]
        levels += [f"singleton({d}, nonunique)" for d in order[cut + 1 : -1]]
        levels += [f"singleton({order[-1]}{draw.choice(('', ', nonunique'))})"]
    elif len(order) > 1 and draw.random() < 0.1:
        levels[-1] = draw.choice(
            (
                f"diagonals({order[-1]}, {draw.choice((1, 8, 16))})",
                f"sell({order[-1]}, {draw.choice(('1, 4', '8, 16', '16, 1024'))})",
                f"bitmask({order[-1]})",
            )
        )
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
    if kind == 8:
        sliced = (f"dia({draw.choice((1, 4, 16))})", "sell(8,32)")
        return draw.choice((f"ell({max(dims[-1], 1)})", *sliced, "bitmask"))
    return level_list(draw, dims)


def result_format(draw: random.Random, rank: int) -> str:
    form = {1: ("compressed(0)", "coo"), 2: ("csr", "csc", "coo", "dcsr", "dcsc")}.get(rank, ("csf", "coo"))
    return f"{draw.choice((*form, 'dense'))} {draw.choice(('i32', 'i64'))}"


def upper_levels(draw: random.Random, left: str, ix: str) -> str | None:
    """The first levels of a csf operand at ``ix``, and dense ones of the other indices of the result."""
    n = 0
    while n < len(ix) and ix[n] in left and ix[n] not in ix[:n]:
        n += 1
    if not n:
        return None
    n = draw.randrange(n) + 1
    rest = [i for i in left if i not in ix[:n]]
    levels = [f"compressed({left.index(i)})" for i in ix[:n]] + [f"dense({left.index(i)})" for i in rest]
    return f'"{", ".join(levels)}" i32'


class Draw:
    """One random problem."""

    def __init__(self, r: random.Random) -> None:
        self.r = r
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
            perm=bool(sparse) and r.random() < 0.06,
        )
        self.indices[name] = ix
        return ("at", name, ix)

    def expression(self, depth: int) -> Node:
        r = self.r
        if depth == 0 or r.random() < 0.12:
            return self.access() if r.random() < 0.93 else ("num", r.choice((1, 2, -1, 0, 0.5)))
        op = r.choices(("*", "+", "-", "/", "minmax", "compare", "unary"), (50, 16, 9, 4, 7, 5, 9))[0]
        if op == "unary" and r.random() < 0.1:
            return ("stored", self.access())
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
        if set(left) != set(used):
            e = finite(e)
        op = r.choices(("=", "+=", "max=", "min="), (60, 16, 12, 12))[0]
        if op == "=" and not is_summable(e, left):
            op = "+="
        if op == "=" and r.random() < 0.06 and set(left) == set(used):
            f = r.choice(INEXACT)  # outside of every sum
            e = (f, ("abs", e) if f == "sqrt" else e)
        return Assign(name, left, op, e)

    def problem(self) -> Problem:
        r = self.r
        assigns = [self.assign("C")]
        if r.random() < 0.12:
            assigns.append(self.assign("S"))
            first = assigns[0]
            if r.random() < 0.6 and assigns[1].right[0] not in INEXACT:  # the second reads the first
                first.right = finite(first.right)
                assigns[1].right = (r.choice("*+-"), assigns[1].right, ("at", "C", first.left))
                ok = is_summable(assigns[1].right, assigns[1].left)
                assigns[1].op = assigns[1].op if ok else "+="
        flags = ["nofold"] * (r.random() < 0.25) + ["skip"] * (r.random() < 0.08)
        p = Problem(r.choice(("f32", "f64")), self.extent, self.operands, assigns, flags=flags)
        if r.random() < 0.1:  # types that are promoted; sums of small ones must be small
            small = prod(self.extent.values()) <= 64 and sum(len(accesses(a.right)) for a in assigns) <= 3
            types = ("i32", "i64", "bool", "f32", "f64", *(["f16"] if small else []))
            for o in self.operands.values():
                o.dtype = r.choice(types)
            return p
        for a in assigns:
            if a.left and r.random() < 0.35 and not p.accesses(a.name):
                p.asks[a.name] = result_format(r, len(a.left))
                upper = upper_levels(r, a.left, r.choice(list(self.indices.values())))
                if upper and r.random() < 0.3:
                    p.asks[a.name] = upper
        for a in assigns:
            a.hidden = bool(p.accesses(a.name)) and r.random() < 0.4
        return p


def problems(count: int, seed: int) -> Iterator[Problem]:
    """Valid problems, the same for the same seed; the n-th does not depend on the others."""
    n = found = 0
    while found < count:
        p = Draw(random.Random(f"{seed}.{n}")).problem()
        n += 1
        if p.is_valid():
            found += 1
            yield p

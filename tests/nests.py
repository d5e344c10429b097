"""Nests for random problems: a scheduler of a few lines that looks up every operand in every loop.

Its nests are slow, and legal whatever the expression is, as long as it reduces at most once, outside. A dense
loop visits every coordinate and every sparse operand is looked up there; at random, loops run over what is
stored instead, which the compiler must refuse or get right. Sparse results are assembled, through a sparse
workspace where something is summed.
"""

from __future__ import annotations

import random
import re

import generate
import sweep
from generate import Problem

ILLEGAL = re.compile(  # what Writer gets wrong at times, and the compiler has to notice
    r"^(schedule: '[^']+': what stands inside has a value where"
    r"|schedule: index \w is merged, but the result has values where"
    r"|index \w is merged, but the result has values where"
    r"|schedule: '[^']+': a merged loop cannot be par"
    r"|schedule: '[^']+': needs two tensors"
    r"|schedule: '[^']+ rest': what stands inside is not the same"
    r"|schedule: '[^']+ rest': rest goes with"
    r"|schedule: '[^']+': level \d of \w, .* so it cannot be merged"
    r"|schedule: \w(\[[^]]+\])? is assembled in order"
    r")"
)


def refused(report: str) -> bool:
    return bool(ILLEGAL.match(report)) or sweep.refused(report)


ALIASES = {
    "csr": "dense(0), compressed(1)", "csc": "dense(1), compressed(0)",
    "dcsr": "compressed(0), compressed(1)", "dcsc": "compressed(1), compressed(0)",
}  # fmt: skip


def levels(form: str, rank: int) -> list[tuple[str, int]] | None:
    """Kinds and dimensions of the levels; none where a dimension is in two levels."""
    form = ALIASES.get(form, form)
    if form in ("coo", "csf"):
        first = "singleton" if form == "coo" else "compressed"
        return [("compressed", 0)] + [(first, d) for d in range(1, rank)]
    if re.fullmatch(r"ell\(\d+\)", form):
        return [("dense", d) for d in range(rank - 1)] + [("ell", rank - 1)]
    found = re.findall(r"(\w+)\((\d+)[^)]*\)", form)
    walked = "dia" in form or "sell" in form or "bitmask" in form  # nothing is looked up there
    return None if "%" in form or "bs" in form or walked else [(kind, int(d)) for kind, d in found]


class Writer:
    def __init__(self, r: random.Random, p: Problem) -> None:
        self.r, self.p = r, p
        self.assign = p.assigns[0]
        self.used = sorted(generate.indices(self.assign.right))
        sparse = [(name, levels(o.format, len(p.dims(name)))) for name, o in p.operands.items() if o.sparse]
        self.todo = {n: [(kind, p.accesses(n)[0][2][d]) for kind, d in form or []] for n, form in sparse}
        self.possible = all(form for _, form in sparse) and len(p.assigns) == 1
        for name in p.operands:  # one access an operand: which loop belongs to which is clear
            same = {a[2] for a in p.accesses(name)}
            self.possible &= len(same) == 1 and len(set(same.pop())) == len(p.dims(name))
        self.bound: set[str] = set()
        self.par = r.random() < 0.7

    def loop(self, v: str, body) -> str:
        """A loop over v, or over what is stored there, and lookups of what can be looked up then."""
        r = self.r
        word = "par" if self.par and not self.bound and v in self.assign.left else "for"
        self.par = False
        here = [n for n, todo in self.todo.items() if todo and todo[0][1] == v and todo[0][0] != "dense"]
        source = ""
        if here and r.random() < 0.5:
            here = r.sample(here, r.randint(1, len(here)))
            source = f" in {here[0]}" if len(here) == 1 else f" merge {', '.join(here)}"
            if r.random() < 0.3 and v not in self.assign.left:
                source += " rest"
            for n in here:
                self.todo[n].pop(0)
        self.bound.add(v)
        return f"{word} {v}{source} {{ {self.lookups(body)} }}"

    def lookups(self, body) -> str:
        """Goes down in the operands as far as their coordinates are bound."""
        for name, todo in self.todo.items():
            while todo and todo[0][0] == "dense" and todo[0][1] in self.bound:
                todo.pop(0)
            if todo and todo[0][1] in self.bound:
                _, v = todo.pop(0)
                return f"for {v} merge {name} {{ {self.lookups(body)} }}"
        return body()

    def loops(self, order: list[str], body) -> str:
        return self.loop(order[0], lambda: self.loops(order[1:], body)) if order else self.lookups(body)

    def nest(self) -> str:
        a, r = self.assign, self.r
        e = generate.text(a.right)
        over = [i for i in self.used if i not in a.left]
        if not over or a.op == "=":
            order = r.sample(self.used, len(self.used))
            op = "+=" if over else "="
        else:
            order, op = r.sample(self.used, len(self.used)), a.op
        if self.p.asks:
            return self._assembled(over, op)
        return self.loops(order, lambda: f"{generate.at(a.name, a.left)} {op} {e}")

    def _assembled(self, over: list[str], op: str) -> str:
        a, r, e = self.assign, self.r, generate.text(self.assign.right)
        form = levels(self.p.asks[a.name].rsplit(" ", 1)[0].strip('"'), len(a.left))
        order = [a.left[d] for _, d in form]
        if not over:
            return self.loops(order, lambda: f"{generate.at(a.name, a.left)} = {e}")
        cut = r.randint(sum(kind == "dense" for kind, _ in form), len(order))
        rest = order[cut:]
        inner = r.sample([*rest, *over], len(rest) + len(over))
        kept = generate.at("w", "".join(rest))
        place = f"lane {r.choice(('bitmap', 'hash'))}" if rest else "reg"
        out = f"{generate.at(a.name, a.left)} = {kept}"
        for v in reversed(rest):
            out = f"for {v} in w {{ {out} }}"

        def fill() -> str:
            self.par = False  # a lane fills its workspace alone
            made = self.loops(inner, lambda: f"{kept} {op} {e}")
            return f"work {kept}: {place} {self.p.dtype} {{ {made} }} then {{ {out} }}"

        return self.loops(order[:cut], fill)


def asked(r: random.Random, rank: int) -> str:
    """A format that can be assembled: dense levels, then compressed ones, in any order of the dimensions."""
    order = r.sample(range(rank), rank)
    dense = r.randrange(rank)
    form = [f"{'dense' if k < dense else 'compressed'}({d})" for k, d in enumerate(order)]
    return f'"{", ".join(form)}" {r.choice(("i32", "i64"))}'


def problems(count: int, seed: int):
    """Problems with nests, as texts."""
    n = found = 0
    while found < count:
        r = random.Random(f"nest {seed}.{n}")
        n += 1
        p = generate.Draw(r).problem()
        if not p.is_valid():
            continue
        a = p.assigns[0]
        if a.op == "=" and set(a.left) != generate.indices(a.right):
            a.op = "+="  # one reduction, outside
        p.asks = {a.name: asked(r, len(a.left))} if a.left and r.random() < 0.5 else {}
        for o in p.operands.values():
            o.dtype = ""
        w = Writer(r, p)
        if w.possible:
            found += 1
            yield f"{p}nest {{ {w.nest()} }}\n"

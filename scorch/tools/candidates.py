"""Which schedules are worth measuring for a request: texts, as a user would write them.

What the scheduler considered comes with its costs; formats, tiles and threads that it did not are asked for
in words; the rest are words of a nest exchanged one at a time. The compiler says whether a text
is legal; what it refuses, and what compiles to the text of another candidate, is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .. import _C

NEAR = 4.0  # times the cheapest estimate: beyond, an order is not measured
_ORDERS, _CONVERTED, _PATHS = 3, 2, 2  # candidates of each kind, at most
_FORMATS = ("csr", "csc", "dcsr", "coo")
_CUTS = (64, 128, 256, 512)
_SPARSE = 2  # rows of cuts for each entry, or row, at most
_AHEAD, _UNROLL, _BATCH = (0, 4, 8, 16, 32, 64), (1, 2, 4, 8), (0, 16, 64, 256)
_LOOP = re.compile(
    r"^(\s*)(for|par) (\S+) in (\w+)((?: (?:rest|by \d+|unroll \d+|ahead \d+|batch \d+))*) \{$"
)
_WORDS = ("by", "unroll", "ahead", "batch")
WORDS = ("ahead", "unroll", "tiles", "batch", "loops")  # in the order that they are changed in
_COST = re.compile(r"^-- cost (\d+)(?: converts (.*?))?(?: dense \S+)*$", re.M)


class Request(NamedTuple):
    """What a program was asked for: its number among the noted ones."""

    number: int
    text: str
    kind: str  # "nest", "asks" for conversions, "steps"
    about: str  # the class that a choice holds for
    operands: tuple[
        tuple[str, str, tuple[int, ...], int], ...
    ]  # name, format ("": dense), shape, was converted


class Proposal(NamedTuple):
    """A schedule, and how it came about."""

    what: str
    schedule: str | None  # None: what the scheduler chooses
    cost: float = 0.0


def _request(k: int) -> Request:
    text, kind, about, operands = _C.noted(k)
    return Request(k, text, kind, about, tuple(operands))


def noted(call: Callable[[], object], anew: bool = False) -> list[Request]:
    """The requests that a call makes, one of each class."""
    _C.note(True, anew)
    try:
        call()
    finally:
        count = _C.note(False)
    found: dict[str, Request] = {}
    for request in map(_request, range(count)):
        found.setdefault(request.about, request)
    return list(found.values())


def used_often(request: Request) -> Request:
    """The same of operands that are known to be multiplied often."""
    return _request(_C.noted_often(request.number))


def stage(request: Request, schedule: str | None, name: str, often: bool = False) -> str:
    """A stage under a schedule; empty where there is no such nest."""
    try:
        return _C.noted_stage(request.number, schedule, name, often)
    except (ValueError, NotImplementedError):
        return ""


def nest(request: Request, schedule: str | None = None) -> str:
    """The loops; empty for programs in steps, and where operands are converted first."""
    return stage(request, schedule, "nest") if request.kind == "nest" or schedule else ""


def cost(request: Request) -> float:
    """About how many nanoseconds, as the scheduler reckons."""
    found = _COST.search(stage(request, None, "orders"))
    return float(found[1]) if found else 0.0


# ---- what the scheduler considered ----
def _listed(request: Request, often: bool) -> Iterator[tuple[float, str, str]]:
    """(cost, conversions in the words of a schedule, nest) of each."""
    listing = stage(request, None, "orders", often)
    heads = list(_COST.finditer(listing))
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        body = listing[head.end() : after.start() if after else None].strip("\n")
        yield float(head[1]), _conversions(request, head[2]), body


def _conversions(request: Request, listed: str | None) -> str:
    """``0 to csc; 1 to csr`` as ``convert(A: csc, B: csr)``; empty where there are none."""
    pairs = re.findall(r"(\d+) to ([^;]+?)(?= dense \w+$|;|$)", listed or "")
    named = (f"{request.operands[int(k)][0]}: {_quoted(format)}" for k, format in pairs)
    return f"convert({', '.join(named)})" if pairs else ""


def _quoted(format: str) -> str:
    return f'"{format}"' if " " in format else format


def _is_cut(conversions: str) -> bool:
    return "%" in conversions


def _few_rows(request: Request, conversions: str) -> bool:
    """False: most rows of most cuts would be empty, and take more memory and time than the tensor."""
    shapes = {name: shape for name, format, shape, _ in request.operands if format}
    for name, width in re.findall(r'(\w+): "dense\(1/(\d+)\), dense\(0\)', conversions):
        rows, columns = shapes[name]
        if rows * (columns // int(width)) > _SPARSE * max(entries(request), rows):
            return False
    return True


# ---- what can be asked for ----
def _converted(request: Request, often: bool) -> list[Proposal]:
    """Operands in other formats: those that were considered, then each in one of the common ones."""
    found = {text: cost for cost, text, _ in _listed(request, often) if text}
    for text in ["convert()"] * (request.kind == "asks") + list(_other_formats(request, often)):
        listing = _COST.search(stage(request, text, "orders"))
        if listing and text not in found:
            found[text] = float(listing[1])
    kept = [
        Proposal(text, text, cost)
        for text, cost in found.items()
        if not _is_cut(text) or (often and _few_rows(request, text))
    ]
    return sorted(kept, key=lambda x: x.cost)


def _other_formats(request: Request, often: bool) -> Iterator[str]:
    for name, format, shape, settled in request.operands:
        if not format or settled or len(shape) != 2:
            continue
        yield from (f"convert({name}: {other})" for other in _FORMATS if other != format)
        widths = {_divisor(shape[1], width) for width in _CUTS} - {0} if often else set()
        for width in sorted(widths):
            yield f'convert({name}: "dense(1/{width}), dense(0), compressed(1%{width})")'


def entries(request: Request) -> int:
    """Of its largest sparse operand, at most."""
    return max((1 << int(n) for n in re.findall(r"positions(?: 2\^\d+)* 2\^(\d+)", request.about)), default=1)


def _divisor(extent: int, width: int) -> int:
    """The largest divisor up to a width and above half of it, 0: there is none."""
    return next((n for n in range(width, width // 2, -1) if extent % n == 0 and n < extent), 0)


def _paths(request: Request) -> list[Proposal]:
    """Other orders of contraction."""
    if request.kind != "steps":
        return []
    others = re.findall(r"next best: (path\(.*\)),", _C.noted_path(request.number))
    return [Proposal(text, text) for text in dict.fromkeys([*others, "path()"])][:_PATHS]


def _asked(request: Request) -> Iterator[Proposal]:
    """Nests with another tile, or shared out along another index."""
    base = nest(request)
    for v in dict.fromkeys(re.findall(r"\bpar (\w+)", base) + re.findall(r"\bfor (\w+)", base)):
        yield Proposal(f"parallel({v})", nest(request, f"parallel({v})"))
    for v in dict.fromkeys(re.findall(r"\bvec (\w+)", base)):
        for width in (16, 32, 64, 128):
            yield Proposal(f"tile({v}: {width})", nest(request, f"tile({v}: {width})"))


def first(request: Request) -> list[Proposal]:
    """What is raced first: prefetching, orders, paths and formats, the cheapest of each kind."""
    listed = list(_listed(request, False))
    near = NEAR * min((cost for cost, _, _ in listed), default=0)
    plain = [Proposal(f"order {k}", body, cost) for k, (cost, text, body) in enumerate(listed) if not text]
    formats = [x for x in _converted(request, False) if x.cost <= near][:_CONVERTED]
    orders = [x for x in plain if x.cost <= near] if request.kind == "nest" else []
    base = nest(request)
    knobs = [Proposal(f"ahead {n}", with_word(base, "ahead", n)) for n in (8, 32)] if base else []
    return [x for x in [*knobs, *orders[: _ORDERS + 1], *_paths(request), *formats] if x.schedule]


def cuts(request: Request) -> list[Proposal]:
    """Operands in cuts, for those that are multiplied often."""
    found = [x for x in _converted(request, True) if _is_cut(x.schedule)]
    return [x for x in found if x.cost <= NEAR * found[0].cost][:_CONVERTED]


def may_be_cut(request: Request) -> bool:
    """Whether the scheduler would consider it."""
    return any(_is_cut(text) and _few_rows(request, text) for _, text, _ in _listed(request, True))


# ---- one word at a time ----
def with_word(text: str, word: str, n: int) -> str:
    """The nest with a word of its loops over entries: ``batch`` of outer ones, else of the innermost."""
    lines = text.split("\n")
    for k, line in enumerate(lines):
        loop = _LOOP.match(line)
        if not loop or (word == "batch") != (_inner(lines, k) is not None):
            continue
        if word != "batch" and loop[2] == "par":
            continue
        words = dict(re.findall(r"(by|unroll|ahead|batch) (\d+)", loop[5]))
        words[word] = str(n)
        if n == (1 if word == "unroll" else 0):
            del words[word]
        rest = " rest" if " rest" in loop[5] else ""
        said = "".join(f" {w} {words[w]}" for w in _WORDS if w in words)
        lines[k] = f"{loop[1]}{loop[2]} {loop[3]} in {loop[4]}{rest}{said} {{"
    return "\n".join(lines)


def _inner(lines: list[str], k: int) -> int | None:
    """The line of a loop over entries inside of the one at line k."""
    depth = len(lines[k]) - len(lines[k].lstrip())
    for at in range(k + 1, len(lines)):
        if len(lines[at]) - len(lines[at].lstrip()) <= depth:
            return None
        if _LOOP.match(lines[at]):
            return at
    return None


def _scaled(text: str, times: float) -> str:
    """The nest with all its register tiles wider or narrower."""
    widths = {int(n) for n in re.findall(r"\bvec \w+%(\d+)", text)}
    for v, n in {(v, int(n)) for v, n in re.findall(r"\bvec (\w+)%(\d+)", text)} if len(widths) == 1 else ():
        text = re.sub(rf"\b{v}([/%]){n}\b", rf"{v}\g<1>{int(n * times)}", text)
    return text


def variants(request: Request, word: str, text: str) -> list[Proposal]:
    """A nest with one of its words exchanged."""
    if word == "ahead":
        return [Proposal(f"ahead {n}", with_word(text, "ahead", n)) for n in _AHEAD]
    if word == "unroll":
        return [Proposal(f"unroll {n}", with_word(text, "unroll", n)) for n in _UNROLL]
    if word == "batch":
        return [Proposal(f"batch {n}", with_word(text, "batch", n)) for n in _BATCH]
    if word == "tiles":
        return [Proposal(f"tiles times {f:g}", _scaled(text, f)) for f in (0.5, 2)]
    return [x for x in _asked(request) if x.schedule]


def _uncommented(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def differs(request: Request, proposals: list[Proposal], known: set[str]) -> list[Proposal]:
    """Those that compile, to a text that is not known yet; it is then."""
    kept = []
    for x in proposals:
        text = stage(request, x.schedule, "c") if "{" in (x.schedule or "") else x.schedule
        body = _uncommented(text or "")
        if body and body not in known:
            known.add(body)
            kept.append(x)
    return kept


def same_default(request: Request, other: Request) -> bool:
    """Whether the scheduler chooses the same nest for both, with no operand converted."""
    text = stage(request, None, "c")
    return bool(text) and text == stage(other, None, "c")


def known_of(request: Request) -> set[str]:
    """The text of what the scheduler chooses."""
    text = stage(request, None, "c") if request.kind == "nest" else ""
    return {_uncommented(text)}

"""Random SparseTensors made of arrays, in every format, and what they hold, read by a plain walk.

Structures are drawn level by level, as validation allows them: coordinates that repeat where a level is
nonunique, padding in ell and in slices, of diagonals or of sorted rows, words of bits, stored zeros, empty
fibres, empty and huge extents. No conversion takes part.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import torch

import scorch

Coordinate = tuple[int, ...]
Level = tuple  # kind, unique, dim, part, block, width, as Format.bind says
HUGE = (3_000_000_000, 2_147_483_647, 2_147_483_648, 1 << 40)
WORD = 32  # bits
NAMED = ("csr", "csc", "coo", "dcsr", "dcsc", "csf")
TYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.bool, torch.int16, torch.int32,
    torch.int64, torch.int8, torch.uint8,
)  # fmt: skip
SMALL = (0, 1, -1, 2, -2, 3)
SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.0, -1.0, 2.0)


# ---- formats ----
def divisor(r: random.Random, n: int) -> int:
    return r.choice([b for b in (1, 2, 3, 4, 5) if n % b == 0])


def _level(r: random.Random, dim: str, extent: int, dense: bool) -> str:
    """A level of any kind over a dimension, or a part of one."""
    kind = r.choice(("dense", "compressed", "compressed", "compressed", "singleton", "ell"))
    if (kind == "dense" and not dense) or (kind == "singleton" and not extent):
        kind = "compressed"
    if kind == "ell":
        return f"ell({dim}, {min(r.choice((0, 1, 2, 3, extent)), 6)})"
    return f"{kind}({dim}{', nonunique' if kind != 'dense' and r.random() < 0.4 else ''})"


def _levels(r: random.Random, dims: Coordinate) -> str:
    """Levels of any kinds in any order; at times one dimension is in blocks."""
    order = r.sample(range(len(dims)), len(dims))
    cut = r.choice(order) if r.random() < 0.3 else None
    block = divisor(r, dims[cut]) if cut is not None else 1
    found = []
    for d in order:
        if d == cut:
            found.append(_level(r, f"{d}/{block}", dims[d] // block, dims[d] < 64))
        else:
            found.append(_level(r, str(d), dims[d], dims[d] < 64))
    if cut is not None:
        found.append(
            _level(r, f"{cut}%{block}", block, True) if r.random() < 0.3 else f"dense({cut}%{block})"
        )
    found[0] = found[0].replace("singleton", "compressed")
    if len(found) > 1 and cut is None and r.random() < 0.15 and "compressed" not in found[-2] + found[-1]:
        of_diagonals = f"diagonals({order[-1]}, {r.choice((1, 2, 4, 8, 16))})"
        found[-1] = r.choice((of_diagonals, f"sell({order[-1]}, {_windows(r)})"))
    elif (
        cut != order[-1]
        and len(order) > 1
        and dims[order[-1]] < 512
        and r.random() < 0.2
        and "%" not in found[-1]
    ):
        found = [level.replace(", nonunique", "") for level in found]
        found[-1] = f"bitmask({order[-1]})"
    return ", ".join(found)


def _windows(r: random.Random) -> str:
    width = r.choice((1, 2, 4, 8, 16))
    return f"{width}, {width * r.choice((1, 3, 256))}"


def _list(dims: Coordinate, last: str) -> str:
    """Coordinates side by side, which may repeat."""
    levels = [f"{'singleton' if d else 'compressed'}({d}, nonunique)" for d in range(len(dims))]
    levels[-1] = f"{'singleton' if len(dims) > 1 else 'compressed'}({len(dims) - 1}{last})"
    return ", ".join(levels)


def random_format(r: random.Random, dims: Coordinate) -> str:
    """A format that a tensor of this shape can have."""
    n, small = len(dims), max(dims) < 64
    kind = r.randrange(10)
    if kind < 4 and n > 1:
        names = [
            f
            for f in NAMED
            if (n == 2 or f in ("coo", "csf", "csr", "csc")) and (small or f in ("coo", "csf"))
        ]
        return r.choice(names if n > 2 or not small else [*names, "dcsr", "dcsc"])
    if kind == 4 and n == 2 and small:
        height, width = divisor(r, dims[0]), divisor(r, dims[1])
        if r.random() < 0.3:
            return f"dense(0/{height}), compressed(1/{width}), planar(0%{height}), dense(1%{width})"
        return f"{r.choice(('bsr', 'bsc'))}({height},{width})"
    if kind == 5 and n > 1 and max(dims[:-1]) < 64:
        if dims[-1] < 512 and r.random() < 0.4:
            return "bitmask"
        if r.random() < 0.5:
            return r.choice((f"dia({r.choice((1, 4, 8, 16))})", f"sell({_windows(r)})"))
        return f"ell({r.choice((1, 2, 3, max(1, min(dims[-1], 8))))})"
    if kind == 6:
        return _list(dims, r.choice(("", ", nonunique")))
    if kind == 7 and small and prod(dims) < 5000:
        return "dense"
    return _levels(r, dims)


# ---- entries of one format ----
@dataclass
class Made:
    """A tensor as arrays, with the coordinate of every stored value, none in padding."""

    format: str
    shape: Coordinate
    pos: list
    crd: list
    values: torch.Tensor
    at: list[Coordinate | None]

    def tensor(self) -> scorch.SparseTensor:
        return scorch.from_components(self.format, self.shape, self.pos, self.crd, self.values)

    def script(self, name: str) -> str:
        """Python that makes this tensor."""
        parts = []
        for arrays in (self.pos, self.crd):
            texts = ["None" if x is None else f"torch.tensor({x.tolist()}, dtype={x.dtype})" for x in arrays]
            parts.append(f"[{', '.join(texts)}]")
        values = f"torch.tensor({self.values.tolist()}, dtype={self.values.dtype})".replace(
            "nan", "float('nan')"
        )
        values = (
            values.replace("-inf", "-float('inf')")
            .replace(" inf", " float('inf')")
            .replace("[inf", "[float('inf')")
        )
        return (
            f"{name} = scorch.from_components({self.format!r}, {self.shape}, {', '.join(parts)}, {values})\n"
        )


def _extent(level: Level, shape: Coordinate) -> int:
    _, _, dim, part, block, _ = level
    return block if part == 2 else shape[dim] // block if part == 1 else shape[dim]


def _moved(at: Coordinate, level: Level, c: int) -> Coordinate:
    _, _, dim, part, block, _ = level
    step = c * block if part == 1 else c
    return (*at[:dim], at[dim] + step, *at[dim + 1 :])


def _coordinate(r: random.Random, extent: int) -> int:
    return r.randrange(extent) if extent < 64 else r.choice((0, 1, extent - 1, r.randrange(extent)))


class _Builder:
    """Goes down the levels with the coordinate of every position so far."""

    def __init__(self, r: random.Random, levels: tuple[Level, ...], shape: Coordinate, fill: float) -> None:
        self.r, self.levels, self.shape, self.fill = r, levels, shape, fill
        self.pos, self.crd = [None] * len(levels), [None] * len(levels)
        self.at: list[Coordinate | None] = [(0,) * len(shape)]

    def run(self) -> None:
        k = 0
        while k < len(self.levels):
            chain = 1
            while k + chain < len(self.levels) and self.levels[k + chain][0] == "singleton":
                chain += 1
            kind = self.levels[k][0]
            if kind == "dense":
                n = _extent(self.levels[k], self.shape)
                self.at = [at and _moved(at, self.levels[k], c) for at in self.at for c in range(n)]
                chain = 1
            elif kind == "planar":
                at, n, starts = self.at, _extent(self.levels[k], self.shape), self.pos[k - 1]
                self.at = []
                for begin, end in pairwise(starts):
                    fibre = at[begin:end]
                    self.at += [p and _moved(p, self.levels[k], c) for c in range(n) for p in fibre]
                chain = 1
            elif kind == "singleton":
                self._slots([[self._tuple(k, 1)] for _ in self.at], k, 1)
                chain = 1
            elif kind == "ell":
                self._ell(k, chain)
            elif kind == "diagonals":
                self._diagonals(k)
            elif kind == "sell":
                self._sorted(k)
            elif kind == "bitmask":
                self._words(k)
            else:
                fibres = [self._fibre(k, chain) for _ in self.at]
                self.pos[k] = [0]
                for f in fibres:
                    self.pos[k].append(self.pos[k][-1] + len(f))
                self._slots(fibres, k, chain)
            k += chain

    def _tuple(self, k: int, n: int) -> Coordinate:
        return tuple(_coordinate(self.r, max(_extent(self.levels[k + i], self.shape), 1)) for i in range(n))

    def _count(self, k: int, n: int) -> int:
        room = min(prod(_extent(self.levels[k + i], self.shape) for i in range(n)), 6)
        return sum(self.r.random() < self.fill for _ in range(room)) if len(self.at) < 3000 else 0

    def _fibre(self, k: int, n: int) -> list[Coordinate]:
        """Coordinates of the levels from k on, in order; what may not follow is left out. Some are full."""
        extent, made = _extent(self.levels[k], self.shape), []
        if n == 1 and self.fill > 0.8 and extent * len(self.at) < 600 and self.r.random() < 0.5:
            return [(c,) for c in range(extent)]
        for c in sorted(self._tuple(k, n) for _ in range(self._count(k, n))):
            if not made or self._follows(k, made[-1], c):
                made.append(c)
        return made

    def _follows(self, k: int, before: Coordinate, c: Coordinate) -> bool:
        if self.levels[k][1]:
            return c[0] > before[0]
        return all(c[i] >= before[i] + self.levels[k + i][1] for i in range(len(c)) if c[:i] == before[:i])

    def _slots(self, fibres: list[list[Coordinate]], k: int, n: int) -> None:
        below = []
        for i in range(n):
            self.crd[k + i] = [c[i] for f in fibres for c in f]
        for at, f in zip(self.at, fibres, strict=True):
            for c in f:
                new = at
                for i in range(n):
                    new = None if new is None or c[i] < 0 else _moved(new, self.levels[k + i], c[i])
                below.append(new)
        self.at = below

    def _ell(self, k: int, n: int) -> None:
        width, extent = self.levels[k][5], _extent(self.levels[k], self.shape)
        room = prod(_extent(self.levels[k + i], self.shape) for i in range(n))
        fibres = []
        for _ in self.at:
            count = min(sum(self.r.random() < self.fill for _ in range(width)), extent) if room else 0
            rows = sorted({_coordinate(self.r, extent) for _ in range(count)}) if count else []
            full = [(c, *self._tuple(k + 1, n - 1)) for c in rows[:width]]
            fibres.append(full + [(-1,) * n] * (width - len(full)))
        self._slots(fibres, k, n)

    def _sorted(self, k: int) -> None:
        """Windows of rows, longest first, those of one length in any order, in slices of columns."""
        window, width = self.levels[k][4:6]
        fibres = [self._fibre(k, 1) if above else [] for above in self.at]
        self.pos[k], self.crd[k], below, columns = [], [], [], 0
        for first in range(0, len(fibres), window):
            rows = [fibres[p] if p < len(fibres) else [] for p in range(first, first + window)]
            order = sorted(range(window), key=lambda i, rows=rows: (-len(rows[i]), self.r.random()))
            self.pos[k].append(columns)
            for s in range(0, window, width):
                for q in range(len(rows[order[s]])):
                    found = [rows[i][q][0] for i in order[s : s + width] if q < len(rows[i])]
                    self.crd[k] += [(1 << len(found)) - 1, *found, *[0] * (width - len(found))]
                    above = [self.at[first + i] for i in order[s : s + len(found)]]
                    below += [_moved(a, self.levels[k], c) for a, c in zip(above, found, strict=True)]
                    below += [None] * (width - len(found))
                columns += len(rows[order[s]])
                self.pos[k].append(columns)
            self.pos[k] += [order.index(i) for i in range(window)]
        self.at = below

    def _diagonals(self, k: int) -> None:
        """Slices of rows: rising diagonals, each with bits of rows that have it, few or all that can."""
        width, extent = self.levels[k][5], _extent(self.levels[k], self.shape)
        self.pos[k], self.crd[k], below = [0], [], []
        for first in range(0, len(self.at), width):
            rows = [p for p in range(first, first + width) if p < len(self.at) and self.at[p]]
            entries = {(self.r.randrange(extent) - p, p) for p in rows if extent for _ in range(3)}
            for d in sorted({d for d, _ in entries if self.r.random() < self.fill}):
                able = [p for p in rows if 0 <= p + d < extent]
                kept = able if self.r.random() < 0.5 else [p for p in able if self.r.random() < self.fill]
                if not kept:
                    continue
                self.crd[k] += [d, sum(1 << p - first for p in kept)]
                below += [
                    _moved(self.at[p], self.levels[k], p + d) if p in kept else None
                    for p in range(first, first + width)
                ]
            self.pos[k].append(len(self.crd[k]) // 2)
        self.at = below

    def _words(self, k: int) -> None:
        """For each position above the words of its set bits: few, or all."""
        extent = _extent(self.levels[k], self.shape)
        self.pos[k], self.crd[k], below = [0], [], []
        for at in self.at:
            full = self.r.random() < 0.2
            kept = [c for c in range(extent) if at and (full or self.r.random() < self.fill)]
            for first in range(0, extent, WORD):
                here = [c for c in kept if first <= c < first + WORD]
                self.crd[k].append(sum(1 << c - first for c in here))
                self.pos[k].append(self.pos[k][-1] + len(here))
            below += [_moved(at, self.levels[k], c) for c in kept]
        self.at = below


def random_values(r: random.Random, n: int, dtype: torch.dtype, values: tuple = SMALL) -> torch.Tensor:
    """Small numbers, zeros among them."""
    if not dtype.is_signed:
        values = tuple(abs(v) for v in values)
    return torch.tensor([r.choice(values) for _ in range(n)], dtype=torch.float64).to(dtype)


def random_tensor(
    r: random.Random,
    dims: Coordinate,
    format: str,
    dtype: torch.dtype,
    index: torch.dtype = torch.int32,
    values: tuple = SMALL,
) -> Made:
    """A tensor in this format; its entries are few or many."""
    levels = scorch.Format(format).bind(len(dims)).levels
    b = _Builder(r, levels, dims, r.choice((0, 0.2, 0.5, 0.5, 0.9)))
    b.run()
    pos, crd = ([None if x is None else torch.tensor(x).to(index) for x in part] for part in (b.pos, b.crd))
    return Made(format, dims, pos, crd, random_values(r, len(b.at), dtype, values), b.at)


# ---- what a SparseTensor holds ----
def entries(a: scorch.SparseTensor) -> Iterator[tuple[Coordinate | None, int]]:
    """The coordinate and the place of every stored value, by a walk over the arrays; none in padding."""
    levels, shape = a.format.bind(a.dim()).levels, tuple(a.shape)
    full = ("dense", "planar")
    arrays = {k: a.crd(k).tolist() for k, level in enumerate(levels) if level[0] not in full}
    starts = {
        k: a.pos(k).tolist()
        for k, level in enumerate(levels)
        if level[0] in ("compressed", "diagonals", "bitmask", "sell")
    }
    at: list[Coordinate | None] = [(0,) * a.dim()]
    for k, level in enumerate(levels):
        below = []
        if level[0] == "diagonals":
            at = list(_of_slices(at, level, starts[k], arrays[k]))
            continue
        if level[0] == "sell":
            at = list(_of_sorted(at, level, starts[k], arrays[k]))
            continue
        if level[0] == "planar":
            n = range(_extent(level, shape))
            fibres = [at[begin:end] for begin, end in pairwise(starts[k - 1])]
            at = [c and _moved(c, level, x) for fibre in fibres for x in n for c in fibre]
            continue
        if level[0] == "bitmask":
            at = list(_of_words(at, level, arrays[k], _extent(level, shape)))
            continue
        for p, c in enumerate(at):
            kind, width = level[0], level[5]
            if kind == "dense":
                below += [c and _moved(c, level, x) for x in range(_extent(level, shape))]
                continue
            begin, end = p, p + 1
            if kind == "compressed":
                begin, end = starts[k][p], starts[k][p + 1]
            elif kind == "ell":
                begin, end = p * width, (p + 1) * width
            below += [None if c is None or x < 0 else _moved(c, level, x) for x in arrays[k][begin:end]]
        at = below
    yield from zip(at, range(len(at)), strict=True)


def _of_slices(
    at: list[Coordinate | None], level: Level, pos: list[int], crd: list[int]
) -> Iterator[Coordinate | None]:
    width = level[5]
    for s in range(len(pos) - 1):
        for q in range(pos[s], pos[s + 1]):
            for lane in range(width):
                p = s * width + lane
                here = crd[2 * q + 1] >> lane & 1 and at[p]
                yield _moved(at[p], level, crd[2 * q] + p) if here else None


def _of_sorted(
    at: list[Coordinate | None], level: Level, pos: list[int], crd: list[int]
) -> Iterator[Coordinate | None]:
    window, width = level[4:6]
    slices, step = window // width, window // width + 1 + window
    for w in range(len(pos) // step):
        row = {pos[w * step + slices + 1 + i]: w * window + i for i in range(window)}
        for s in range(slices):
            for q in range(pos[w * step + s], pos[w * step + s + 1]):
                for lane in range(width):
                    here = crd[q * (width + 1)] >> lane & 1 and at[row[s * width + lane]]
                    yield _moved(here, level, crd[q * (width + 1) + 1 + lane]) if here else None


def _of_words(
    at: list[Coordinate | None], level: Level, crd: list[int], extent: int
) -> Iterator[Coordinate | None]:
    words = -(-extent // WORD)
    for p, above in enumerate(at):
        for c in range(extent):
            if crd[p * words + c // WORD] >> c % WORD & 1:
                yield above and _moved(above, level, c)


def arrays(a: scorch.SparseTensor) -> tuple[list, list, torch.Tensor]:
    """What from_components takes."""
    levels = range(len(a.format.bind(a.dim()).levels))
    pos = [a.pos(k) if f"_pos{k}" in a._names else None for k in levels]
    crd = [a.crd(k) if f"_crd{k}" in a._names else None for k in levels]
    return pos, crd, a.values().detach()


def held(at: list[Coordinate | None], values: torch.Tensor) -> dict[Coordinate, float]:
    """Sums by coordinate; of truth values whether any is true."""
    found: dict[Coordinate, float] = {}
    numbers = values.double().tolist() if values.dtype != torch.int64 else values.tolist()
    for c, v in zip(at, numbers, strict=True):
        if c is not None:
            total = found.get(c, 0) + v
            found[c] = min(total, 1) if values.dtype == torch.bool else total
    return found


def holds(a: scorch.SparseTensor) -> dict[Coordinate, float]:
    return held([c for c, _ in entries(a)], a.values().detach())


def dense_of(found: dict[Coordinate, float], shape: Coordinate, dtype: torch.dtype) -> torch.Tensor:
    out = torch.zeros(shape, dtype=torch.float64)
    for c, v in found.items():
        out[c] = v
    return out.to(dtype)

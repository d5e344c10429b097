"""Entries that are picked out along any dimensions: what is not wanted is left on the way down the levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from .. import _torch
from .cutting import Place, Selection, is_tree, is_whole, length
from .entries import Entries, canonical, counts, entries, is_longer, places, runs, with_row
from .format import Layout, layout
from .sparsetensor import SparseTensor, sound


def picked(a: SparseTensor, chosen: Sequence[Selection]) -> Entries:
    """The entries that one selection a dimension wants, renumbered; integers drop their dimension."""
    form, lists = layout(a._fmt, a._ndim), [d for d, c in enumerate(chosen) if isinstance(c, torch.Tensor)]
    walked = is_tree(form) and not _torch.in_graph() and not _torch.is_tracing(a._val)
    e = _walked(a, form, chosen) if walked else _filtered(entries(a), chosen)
    ordered = not lists and (not walked or [dim for _, _, dim, *_ in form.levels] == [*range(a._ndim)])
    for dim in lists:
        e = _repeated(e, dim, chosen[dim])
    shape, rows = [], []
    for c, row in zip(chosen, e.indices, strict=True):
        if not isinstance(c, Place):
            shape.append(length(c))
            rows.append(_renumbered(row, c) if isinstance(c, slice) else row)
    made = Entries(tuple(shape), torch.stack(rows) if rows else e.indices[:0], e.values)
    return made if ordered else canonical(*made)


def _renumbered(row: torch.Tensor, c: slice) -> torch.Tensor:
    row = row - c.start if c.start else row
    return row if c.step == 1 else row.div(c.step, rounding_mode="floor")


# ---- by coordinates ----
def _inside(coordinate: torch.Tensor, c: Selection, extent: int) -> torch.Tensor:
    """Which coordinates a selection wants."""
    if isinstance(c, Place):
        return coordinate == c
    if isinstance(c, slice):
        inside = (coordinate >= c.start) & (coordinate < c.stop)
        return inside & ((coordinate - c.start) % c.step == 0) if c.step > 1 else inside
    if is_longer(extent, c.numel() + coordinate.numel()):
        return torch.isin(coordinate, c)
    return torch.zeros(extent, dtype=torch.bool, device="cpu").index_fill_(0, c, True)[coordinate]


def _filtered(e: Entries, chosen: Sequence[Selection]) -> Entries:
    """The entries inside of what is no list."""
    for dim, c in enumerate(chosen):
        if not isinstance(c, torch.Tensor) and not is_whole(c, e.shape[dim]):
            at = places(_inside(e.indices[dim], c, e.shape[dim]))
            e = Entries(e.shape, e.indices[:, at], e.values[at])
    return e


def asked(wanted: torch.Tensor, of: torch.Tensor, extent: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Where coordinates are among those that are wanted, sorted, and how often; by a table of the extent, but
    where that is far longer than both lists.
    """
    if _torch.in_graph() or not is_longer(extent, wanted.numel() + of.numel()):
        times = counts(wanted, extent)
        return (times.cumsum(0) - times)[of], times[of]
    wanted, of = wanted.sort()[0], of.contiguous()
    low = torch.searchsorted(wanted, of)
    return low, torch.searchsorted(wanted, of, right=True) - low


def _repeated(e: Entries, dim: int, wanted: torch.Tensor) -> Entries:
    """Entries repeated for every place that asks for their coordinate, renumbered by that place."""
    place = torch.argsort(wanted, stable=True)
    low, times = asked(wanted, e.indices[dim], e.shape[dim])
    if not _torch.in_graph() and bool((times == 1).all()):
        return Entries(e.shape, with_row(e.indices.clone(), dim, place[low]), e.values)
    source, offset = runs(times)
    indices = with_row(e.indices[:, source], dim, place[low[source] + offset])
    return Entries(e.shape, indices, e.values[source])


# ---- by levels ----
class _Level(NamedTuple):
    """A level of a tensor, with its arrays where it has them."""

    kind: str
    dim: int
    extent: int
    pos: torch.Tensor | None
    crd: torch.Tensor | None

    def below(self, at: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Its positions below some of the level above, and below which one each lies; None: as they are."""
        if self.kind == "singleton":
            return at, None
        if self.kind == "dense":
            made = at[:, None] * self.extent + torch.arange(self.extent, device="cpu")
            return made.view(-1), torch.arange(at.numel(), device="cpu").repeat_interleave(self.extent)
        begin = self.pos[at].long()
        run, offset = runs(self.pos[at + 1].long() - begin)
        return begin[run] + offset, run

    def coordinates(self, at: torch.Tensor | None, n: int) -> torch.Tensor:
        """The coordinates at positions."""
        if self.kind == "dense":
            return (torch.arange(n, device="cpu") if at is None else at) % self.extent
        return self.crd if at is None else self.crd[at]

    def above(self, at: torch.Tensor) -> torch.Tensor:
        """The positions of the level above that positions lie below: few are searched for."""
        if self.kind == "dense":
            return at // max(self.extent, 1)
        if self.kind == "singleton":
            return at
        n = self.crd.numel()
        if 8 * at.numel() < n:
            return torch.searchsorted(self.pos, at.to(self.pos.dtype), right=True) - 1
        parent = torch.arange(self.pos.numel() - 1, device="cpu")
        return torch.repeat_interleave(parent, self.pos.diff(), output_size=n)[at]


def _walked(a: SparseTensor, form: Layout, chosen: Sequence[Selection]) -> Entries:
    """The entries whose coordinates are wanted, in storage order, some dimension not being whole."""
    own = dict(zip(form.names, sound(a)._arrays(), strict=True))
    levels = [
        _Level(kind, dim, a._shape[dim], own.get(f"_pos{k}"), own.get(f"_crd{k}"))
        for k, (kind, _, dim, *_) in enumerate(form.levels)
    ]
    steps, at, n = [], None, 1  # at: of all n positions of a level those that are wanted, None: all
    for level in levels:
        n = n * level.extent if level.kind == "dense" else level.crd.numel()
        at, up = (None, None) if at is None else level.below(at)
        if not is_whole(chosen[level.dim], level.extent):
            wanted = places(_inside(level.coordinates(at, n), chosen[level.dim], level.extent))
            at, up = (wanted, None) if at is None else (at[wanted], wanted if up is None else up[wanted])
        steps.append((level, at, up))
    # up again: those that are known by their numbers, the others by what lies below them
    rows, of, lower, values = {}, None, None, a.values()[at]
    for level, known, up in reversed(steps):
        at = lower.above(at) if known is None else known if of is None else known[of]
        rows[level.dim] = level.coordinates(at, 0).long()
        of, lower = up if of is None else of if up is None else up[of], level
    return Entries(tuple(a._shape), torch.stack([rows[dim] for dim in range(a._ndim)]), values)

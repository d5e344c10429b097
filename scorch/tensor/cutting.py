"""Parts that are cut out of the arrays of a tensor, so that they cost what they contain."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .. import _C, _torch
from .entries import kept_format
from .format import Layout, layout, repeats
from .sparsetensor import SparseTensor, sound
from .values import assemble

Place = int | torch.SymInt  # in graphs the extent may be a symbol
Selection = Place | slice | torch.Tensor
_FEW_ROWS = 4096  # whose positions are not worth the vectors and threads of torch


def is_whole(c: Selection, extent: int) -> bool:
    """Whether a selection is all of a dimension, as it is."""
    return isinstance(c, slice) and (c.start, c.stop, c.step) == (0, extent, 1)


def length(c: slice | torch.Tensor) -> int:
    """How many coordinates a selection has."""
    if not isinstance(c, slice):
        return c.numel()
    return (c.stop - c.start + c.step + (-1 if c.step > 0 else 1)) // c.step


def is_tree(form: Layout) -> bool:
    """Whether each entry is stored once, below lists of coordinates and dense levels that have no blocks."""
    kinds = {kind if not part else "" for kind, _, _, part, *_ in form.levels}
    return bool(kinds) and kinds <= {"compressed", "singleton", "dense"} and not repeats(form.text)


def cut(arrays: tuple[torch.Tensor, ...], start: int, stop: int) -> tuple[torch.Tensor, ...]:
    """The part of pos, crd and values that consecutive rows are."""
    pos, crd, values = arrays
    if stop - start < _FEW_ROWS and not _torch.is_tracing(pos):
        begins, low, high = _C.rows(pos, start, stop)
        return begins, crd[low:high], values[low:high]
    begins = pos[start : stop + 1]
    low, high = int(begins[0]), int(begins[-1])
    return begins - low, crd[low:high], values[low:high]


def _cut_levels(
    form: Layout, shape: Sequence[int], arrays: Sequence[torch.Tensor], span: slice
) -> list[torch.Tensor]:
    """Of compressed, singleton and dense levels the part whose first coordinate, which ascends, is in a span;
    it is counted from there."""
    own = dict(zip(form.names, arrays, strict=True))
    first = own["_crd0"]
    edges = torch.tensor([span.start, span.stop], dtype=first.dtype, device="cpu")
    low, high = torch.searchsorted(first, edges).tolist()
    made = [own["_pos0"].new_tensor([0, high - low]), first[low:high] - span.start]
    for k, (kind, _, dim, *_) in list(enumerate(form.levels))[1:]:
        if kind == "dense":
            low, high = low * shape[dim], high * shape[dim]
            continue
        if kind == "compressed":
            begins = own[f"_pos{k}"][low : high + 1]
            low, high = int(begins[0]), int(begins[-1])
            made.append(begins - low)
        made.append(own[f"_crd{k}"][low:high])
    return [*made, own["_val"][low:high]]


def _cut_along(a: SparseTensor, form: Layout, chosen: list[Selection]) -> tuple[int, slice] | None:
    """The dimension of the first level and the coordinates that are searched for in it; None: none are."""
    if not is_tree(form) or form.levels[0][0] != "compressed":
        return None
    dim = form.levels[0][2]
    c = chosen[dim]
    span = slice(c, c + 1, 1) if isinstance(c, Place) else c
    searched = isinstance(span, slice) and span.step == 1 and not is_whole(span, a.shape[dim])
    return (dim, span) if searched else None


def is_shared_outside(a: SparseTensor, chosen: list[Selection]) -> bool:
    """Whether what a graph picks is on the values of a in an eager call."""
    found = _cut_along(a, layout(a._fmt, a._ndim), chosen) if _torch.in_graph() else None
    return found is not None and all(is_whole(chosen[d], a.shape[d]) for d in range(a._ndim) if d != found[0])


def cut_first(a: SparseTensor, chosen: list[Selection]) -> tuple[SparseTensor, list[Selection]]:
    """a, cut along its first level where the coordinates of that are searched, and what is left to select."""
    form = layout(a._fmt, a._ndim)
    found = None if _torch.in_graph() else _cut_along(a, form, chosen)
    if found is None:
        return a, chosen
    (dim, span), one = found, isinstance(chosen[found[0]], Place)
    shape, left, arrays = list(a.shape), list(chosen), (*sound(a)._arrays()[:-1], a.values())
    shape[dim] = span.stop - span.start
    arrays = _cut_levels(form, shape, arrays, span)
    if one and (below := _below_first(a, form, arrays)) is not None:
        return below, left[:dim] + left[dim + 1 :]
    left[dim] = 0 if one else slice(0, shape[dim], 1)
    return assemble(form, shape, arrays), left


def _below_first(a: SparseTensor, form: Layout, arrays: list[torch.Tensor]) -> SparseTensor | None:
    """What lies below the one coordinate that the first level has; None where no levels are like those."""
    kinds, dims = zip(*[(kind, dim) for kind, _, dim, *_ in form.levels], strict=True)
    kept = [d for d in range(a._ndim) if d != dims[0]]
    if not kept or not arrays[1].numel():
        return None
    below, rest = list(kinds[1:]), arrays[2:]
    if below[0] == "singleton":  # as many as entries
        below[0], rest = "compressed", [arrays[0], *rest]
    made = layout(kept_format(a, kept), len(kept))
    levels = [(kind, kept[dim]) for kind, _, dim, *_ in made.levels]
    same = levels == list(zip(below, dims[1:], strict=True))
    return assemble(made, [a.shape[d] for d in kept], rest) if same else None

"""Operators whose results have sizes that nobody knows before the call.

What works on the coordinates of a tensor (tensor/entries.py) decides by them how long arrays are. Where
torch.compile or torch.export traces, these few steps are nodes of the graph, with fake kernels that give
sizes of their own; everything between is torch's. They return integers: nothing is differentiated here.
"""

from __future__ import annotations

import torch

from .. import _C
from .._torch import apart, unknown_size
from ..tensor.format import layout, pads
from ..tensor.sparsetensor import core_of
from ..tensor.wrapping import wrap
from .fake import components

library = torch.library.Library("scorch", "FRAGMENT")


def operator(schema: str, kernel, fake) -> None:
    """Defines an operator of the package, with its kernel and what it returns where torch traces."""
    name = schema.partition("(")[0]
    library.define(schema)
    library.impl(name, apart(kernel), "CompositeExplicitAutograd")  # also of no tensors at all
    torch.library.register_fake(f"scorch::{name}", fake, lib=library)


# ---- structures ----
def _structure(
    source: str, target: str, arrays: list[torch.Tensor], sizes: list[int], count: int, wide: bool
) -> list[torch.Tensor]:
    """pos and crd of the same entries in another format; which of ``count`` values each holds, or -1."""
    numbers = torch.arange(1, count + 1, device="cpu")
    a = wrap(layout(source, len(sizes)), tuple(sizes), (*arrays, numbers))
    (_, _, (*structure, place)), _ = _C.convert(core_of(a), target, wide, True)
    return [*(x.clone() for x in structure), place - 1]  # arrays of their own


def _structure_fake(source, target, arrays, sizes, count, wide):
    index = torch.int64 if wide else torch.int32
    stored = None if pads(source) else count
    like = torch.empty(0, dtype=torch.int64, device="cpu") if not arrays else arrays[0]
    return components(target, sizes, index, like, torch.int64, stored)


operator(
    "structure(str source, str target, Tensor[] arrays, SymInt[] sizes, SymInt count, bool wide) -> Tensor[]",
    _structure,
    _structure_fake,
)


def _matched(
    structure: list[torch.Tensor], other: list[torch.Tensor], count: int, refusal: str
) -> torch.Tensor:
    """The values of another tensor that is seen to have this structure."""
    *arrays, values = other
    if values.shape[0] != count or not all(map(torch.equal, structure, arrays)):
        raise ValueError(refusal)
    return values.clone()


operator(
    "matched(Tensor[] structure, Tensor[] other, SymInt count, str refusal) -> Tensor",
    _matched,
    lambda structure, other, count, refusal: other[-1].new_empty(count),
)


def _held(given: torch.Tensor, held: torch.Tensor, refusal: str) -> torch.Tensor:
    """What is written to stored entries, where nothing would have to be written elsewhere."""
    if not held:
        raise ValueError(refusal)
    return given.clone()


operator(
    "held(Tensor given, Tensor held, str refusal) -> Tensor",
    _held,
    lambda given, held, refusal: torch.empty_like(given),
)


# ---- lists of coordinates ----
def _distinct_fake(key):
    return key.new_empty(unknown_size()), torch.empty_like(key)


def _merge(key: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, ...]:
    both, place = torch.unique(torch.cat([key, other]), return_inverse=True)
    left, right = place.split([key.numel(), other.numel()])
    return left.clone(), right.clone(), both


def _runs(lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    run = torch.repeat_interleave(torch.arange(lengths.numel(), device="cpu"), lengths)
    start = lengths.cumsum(0) - lengths
    return run, torch.arange(run.numel(), device="cpu") - start[run]


def _runs_fake(lengths):
    n = unknown_size()
    return lengths.new_empty(n, dtype=torch.int64), lengths.new_empty(n, dtype=torch.int64)


def _inside(index: torch.Tensor, extent: int, wraps: bool = True) -> torch.Tensor:
    low = -extent if wraps else 0
    if index.numel() and not (low <= int(index.min()) and int(index.max()) < extent):
        raise IndexError(f"an index is out of range for a dimension of extent {extent}")
    return torch.where(index < 0, index + extent, index)


operator(
    "distinct(Tensor key) -> (Tensor, Tensor)",
    lambda key: torch.unique(key, return_inverse=True),
    _distinct_fake,
)
operator(
    "merge(Tensor key, Tensor other) -> (Tensor, Tensor, Tensor)",
    _merge,
    lambda key, other: (torch.empty_like(key), torch.empty_like(other), key.new_empty(unknown_size())),
)
operator("runs(Tensor lengths) -> (Tensor, Tensor)", _runs, _runs_fake)
operator(
    "places(Tensor mask) -> Tensor",
    lambda mask: mask.nonzero().view(-1),
    lambda mask: mask.new_empty(unknown_size(), dtype=torch.int64),
)
operator(
    "inside(Tensor index, SymInt extent, bool wraps=True) -> Tensor",
    _inside,
    lambda index, extent, wraps=True: torch.empty_like(index),
)
operator(
    "sought(Tensor pos, Tensor crd, Tensor row, Tensor column) -> Tensor",
    lambda pos, crd, row, column: _C.sought(pos, crd, row.contiguous(), column.contiguous()),
    lambda pos, crd, row, column: torch.empty_like(column),
)


# ---- the largest of each row ----
def _topk(x: torch.Tensor, k: int, smallest: bool, wide: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Columns, ascending in each row, int64 if wide, and values [rows * k]; of half types in float32."""
    numbers = x if x.dtype in (torch.float32, torch.float64) else x.float()
    return _C.topk(numbers.resolve_neg().contiguous(), k, smallest, wide)


def _topk_fake(x, k, smallest, wide):
    n, kind = x.shape[0] * k, x.dtype if x.dtype == torch.float64 else torch.float32
    return x.new_empty(n, dtype=torch.int64 if wide else torch.int32), x.new_empty(n, dtype=kind)


operator("topk(Tensor x, SymInt k, bool smallest, bool wide) -> (Tensor, Tensor)", _topk, _topk_fake)


# ---- the order along rows of csr ----
def _ranked_fake(pos, crd, values, columns, low, high, smallest):
    n = (pos.shape[0] - 1) * (high - low)
    return pos.new_empty(n, dtype=torch.int64), values.new_empty(n)


def _extremes_fake(pos, crd, values, columns, across, smallest):
    n = columns if across else pos.shape[0] - 1
    return pos.new_empty(n, dtype=torch.int64), values.new_empty(n)


_LISTS = "Tensor pos, Tensor crd, Tensor values, SymInt columns"
operator(
    f"ranked({_LISTS}, SymInt low, SymInt high, bool smallest) -> (Tensor, Tensor)",
    lambda *args: _C.ranked(*args),
    _ranked_fake,
)
operator(
    f"extremes({_LISTS}, bool across, bool smallest) -> (Tensor, Tensor)",
    lambda *args: _C.extremes(*args),
    _extremes_fake,
)

"""The mask of attention as its kernels take it: strips, of one part or two, and of its transpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch

from .. import _torch
from ..tensor.entries import counts
from ..tensor.format import layout
from ..tensor.making import sparse
from ..tensor.sparsetensor import SparseTensor, known_core
from ..tensor.values import needs_grad, tracked
from ..tensor.wrapping import wrap
from .dynamic import Dynamic
from .expressions import einsum

_COST = {64: 1.0, 32: 1.1, 16: 1.32, 1: 4.5}  # of a score, by the rows of a block; measured
_SAMPLED = 16  # one of so many blocks of 64 rows says whether the entries of a dense mask are scattered
_FULL = 0.95  # blocks of 64 rows that see this share of their columns are not made lower


class Strips(NamedTuple):
    """A mask as the operators take it: see csrc/attention.h."""

    pos: torch.Tensor  # of two parts one behind the other
    crd: torch.Tensor
    bits: torch.Tensor
    val: torch.Tensor
    order: torch.Tensor  # of the rows of the last part; empty: as they lie
    turned: tuple[torch.Tensor, ...]  # pos, crd, bits and order of the transpose; empty where not wanted
    heights: torch.Tensor  # of both parts, of both of the transpose; 0 where there is none

    def arguments(self, seed: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The arguments of the operators that say what the mask is."""
        return (*self[:5], *self.turned, seed, self.heights)

    @property
    def height(self) -> int:
        return int(self.heights[0])

    def cost(self) -> float:
        """Of the scores that are computed, in those of blocks of 64 rows; of one part."""
        return self.crd.numel() * self.height * _COST[self.height]

    def nbytes(self) -> int:
        return sum(x.nbytes for x in (*self[:5], *self.turned))


def _heights(*heights: int) -> torch.Tensor:
    return torch.tensor((*heights, 0, 0, 0)[:4], device="cpu")


def _nothing() -> tuple[torch.Tensor, ...]:
    """A transpose that is not wanted."""
    pos = torch.empty(1, 1, 0, dtype=torch.int64, device="cpu")
    crd = torch.empty(0, dtype=torch.int32, device="cpu")
    return pos, crd, pos.view(0), crd


def _untold(strips: Strips) -> Strips:
    """Without its transpose."""
    return strips._replace(turned=_nothing(), heights=_heights(*strips.heights[:2].tolist()))


def _alone(
    pos: torch.Tensor, crd: torch.Tensor, bits: torch.Tensor, val: torch.Tensor, height: int
) -> Strips:
    """Of one part with the rows as they lie."""
    turned = _nothing()
    return Strips(pos, crd, bits, val, turned[3], turned, _heights(height))


# ---- the mask ----
def blocks_of(rows: int, height: int) -> int:
    """How many there are of this height; torch.export does not see that -(-rows // height) is the same."""
    return (rows + height - 1) // height


def _rows(mask: SparseTensor, wide: bool, traced: bool = False) -> SparseTensor:
    """The mask with its last dimension compressed and all others dense."""
    levels = ", ".join(f"dense({d})" for d in range(mask._ndim - 1))
    format = "csr" if mask._ndim == 2 else f"{levels}, compressed({mask._ndim - 1})"
    if mask._fmt == format:
        return mask
    if traced:
        letters = "abcd"[: mask._ndim]
        mask = mask._with_values(mask.values().to(torch.float64 if wide else torch.float32))
        return einsum(f"{letters}->{letters}", mask, format=format)
    return mask.convert(format)


def _made(
    rows: SparseTensor, height: int, wide: bool, additive: bool = False, places: bool = False
) -> tuple[Strips, torch.Tensor]:
    """Strips, and the place in val of each entry, if asked for: then val is empty."""
    *lead, n, m = rows.shape
    batch, heads = [1, 1, *lead][-2:]
    arrays = [a.detach() if a.requires_grad else a for a in rows._arrays()]
    pos, *rest, place = torch.ops.scorch.attention_strips(
        *arrays, batch * heads, n, m, height, wide, additive, places
    )
    return _alone(pos.view(batch, heads, blocks_of(n, height) + 1), *rest, height), place


def _chosen(rows: SparseTensor, *rest: bool) -> tuple[Strips, torch.Tensor]:
    """Strips of the height that costs least."""
    best = _made(rows, 64, *rest)
    if rows.nnz < _FULL * best[0].cost():
        for height in (32, 16, 1):  # of a scattered mask they are large: two at once
            best = min(best, _made(rows, height, *rest), key=lambda x: x[0].cost())
    return best


def _cheapest(count: torch.Tensor) -> int:
    """The height whose strips cost least, of the numbers of columns that those of each list."""
    listed = dict(zip(_COST, count.tolist(), strict=True))
    if listed[1] >= _FULL * 64 * listed[64]:
        return 64
    return min(_COST, key=lambda height: listed[height] * height * _COST[height])


def _words(x: torch.Tensor, n: int, m: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ops.scorch.attention_words(x.contiguous(), n, m)


def _is_scattered(x: torch.Tensor) -> bool:
    """Whether the entries of some blocks of rows are too far apart for strips of several rows."""
    blocks = x.shape[1] // 64
    if blocks < _SAMPLED or x.numel() >= 2**31:
        return False
    some = [x[:, 64 * b : 64 * b + 64] for b in range(blocks % _SAMPLED // 2, blocks, _SAMPLED)]
    some = torch.cat(some, 1)
    return _cheapest(_words(some, *some.shape[1:])[1]) == 1


def _apart() -> torch.Tensor:
    """An argument that no other call has, so that two nodes of a graph do not become one.

    The strides of pos are of sizes that nobody knows, and torch would go on asking for those of the call that
    is gone. What is empty it takes for another each time.
    """
    return torch.empty(0, device="cpu")


def listed(x: torch.Tensor, n: int, m: int, apart: torch.Tensor | None = None) -> list[torch.Tensor]:
    """pos, crd, bits and heights of dense masks [n, m] of truth values, or of tiles."""
    if x.shape[1:] == (n, m) and _is_scattered(x):
        rows = sparse(x.reshape(-1, m), "csr", index_dtype=torch.int32)
        pos, crd = rows.pos(1).unfold(0, n + 1, n).long(), rows.crd(1)
        return [pos, crd, torch.ones(crd.shape, dtype=torch.int64, device="cpu"), _heights(1)]
    words, count = _words(x, n, m)
    height = _cheapest(count)
    pos, crd, bits = torch.ops.scorch.attention_listed(words, n, height)
    return [pos.view(x.shape[0], blocks_of(n, height) + 1), crd, bits, _heights(height)]


def found(mask: Dynamic) -> Strips | None:
    """The strips of a dense mask of truth values, or of tiles; None where it is none, or in a transform."""
    x, traced = mask.to_dense(), _torch.is_compiling()
    if x.dtype is not torch.bool or (not traced and (_torch.is_tracing(x) or _is_wrapped(x))):
        return None
    batch, heads = [1, 1, *x.shape[:-2]][-2:]
    n, m = mask.mask_shape()[-2:]
    x = x.reshape(batch * heads, *x.shape[-2:])
    pos, crd, bits, of_them = (
        torch.ops.scorch.attention_found(x, n, m, _apart()) if traced else listed(x, n, m)
    )
    made = _alone(pos.view(batch, heads, pos.shape[1]), crd, bits, torch.empty(0, device="cpu"), 0)
    return made._replace(heights=of_them)


def _with_room(strips: Strips, wide: bool) -> Strips:
    """With places for values, and one for those that do not count."""
    n = strips.crd.shape[0] * strips.height + 1
    return strips._replace(val=torch.zeros(n, dtype=torch.float64 if wide else torch.float32, device="cpu"))


def _placed(strips: Strips, place: torch.Tensor, values: torch.Tensor) -> Strips:
    """With the values of the entries in their places, differentiably."""
    return strips._replace(val=strips.val.index_put((place,), values.to(strips.val.dtype)))


def _is_wrapped(x: torch.Tensor) -> bool:
    return type(x) is not torch.Tensor or _torch.is_wrapped(x)


# ---- rows that are alike, wherever they lie ----
_OFTEN = 8  # calls from which on it pays to look for them
_FILLED = 1.3  # times the entries: strips that cost no more are left as they are
_GAIN = 0.85  # of the cost before is worth a second part
_LARGEST = 2**27  # pairs of a block and a column that are looked through


def _bits_set(x: torch.Tensor) -> torch.Tensor:
    """The number of bits that are set, by sums of ever more of them."""
    for shift, part in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        x = (x & part) + (x >> shift & part)
    return (x * 0x0101010101010101 >> 56) & 0x7F


def _kept_apart(rows: SparseTensor, strips: Strips) -> tuple[torch.Tensor, SparseTensor] | None:
    """Of the listed columns, which ones a quarter of their block or more sees; and the other entries."""
    height, (n, m) = strips.height, rows.shape
    full = _bits_set(strips.bits) >= height // 4
    if blocks_of(n, height) * m > _LARGEST or not full.any() or full.all():
        return None
    block = torch.arange(blocks_of(n, height), device="cpu").repeat_interleave(strips.pos.flatten().diff())
    table = torch.zeros(blocks_of(n, height), m, dtype=torch.bool, device="cpu")
    table[block[full], strips.crd[full].long()] = True
    row, column = rows.indices().long()
    other = ~table[row // height, column]
    pos = torch.nn.functional.pad(counts(row[other], n).cumsum(0), (1, 0)).to(rows.index_dtype)
    return full, wrap(layout("csr", 2), (n, m), (pos, rows.crd(1)[other], rows.values()[other]))


def _orders(rows: SparseTensor) -> Iterator[torch.Tensor]:
    """Orders of the rows that may bring together those with the same columns."""
    row, column = rows.indices().long()
    length = rows.pos(1).diff()
    mixed = column * 0x9E3779B1 & 0xFFFFFFFF
    far = column.new_full((rows.shape[0],), 2**62)
    for key in (-length, *(far.scatter_reduce(0, row, x, "amin") for x in (column, mixed))):
        yield key.argsort(stable=True)


def _regrouped(rows: SparseTensor) -> Strips:
    """The strips that cost least, of blocks of rows that need not lie together."""
    found = []
    for order in _orders(rows):
        moved = rows[order]
        made = min((_made(moved, height, False)[0] for height in (64, 16)), key=Strips.cost)
        found.append(made._replace(order=order.int()))
    return min(found, key=Strips.cost)


def _joined(first: Strips, full: torch.Tensor, rest: Strips) -> Strips:
    """Both as parts of one mask: of the first the columns that are full."""
    n = int(full.sum())
    pos = torch.cat([full.new_zeros(1, dtype=torch.int64), full.cumsum(0)])[first.pos.flatten()]
    return rest._replace(
        pos=torch.cat([pos, rest.pos.flatten() + n])[None, None],
        crd=torch.cat([first.crd[full], rest.crd]),
        bits=torch.cat([first.bits[full], rest.bits]),
        heights=_heights(first.height, rest.height),
    )


def _grouped(rows: SparseTensor, strips: Strips) -> Strips:
    """Strips, or what costs less: blocks of rows that are alike, behind those of neighbours, or alone."""
    if strips.cost() <= _FILLED * rows.nnz or not rows.values().all():
        return strips
    best, cost = strips, _GAIN * strips.cost()
    whole = _regrouped(rows)
    if whole.cost() < cost:
        best, cost = whole, whole.cost()
    for height in (64, 16):
        first = _made(rows, height, False)[0]
        if (found := _kept_apart(rows, first)) is None:
            continue
        rest = _regrouped(found[1])
        both = int(found[0].sum()) * height * _COST[height] + rest.cost()
        if both < cost:
            best, cost = _joined(first, found[0], rest), both
    return best


def _with_turned(strips: Strips, rows: SparseTensor) -> Strips:
    """With those of the transpose, which gradients of k and v take."""
    columns = _rows(rows.T, False)
    turned = _grouped(columns, _chosen(columns, False, False, False)[0])
    return strips._replace(
        turned=(*turned[:3], turned.order), heights=torch.cat([strips.heights[:2], turned.heights[:2]])
    )


# ---- the strips of a mask ----
_Kind = tuple[bool, bool, bool]  # values in float64; that are added; that are placed in each call


class _Kept:
    """The strips of a mask for one kind of call, with what they were made of and how often they were used."""

    def __init__(self, key: object, rows: SparseTensor, kind: _Kind) -> None:
        self.key, self.calls, self.looked = key, 0, False
        self.strips, self.place = _chosen(rows, *kind)
        self.alike = not kind[2] and not self.strips.val.numel() and rows._ndim == 2

    def used(self, rows: Callable[[], SparseTensor], recorded: bool, many: bool = False) -> Strips:
        """The strips for a call; many: more will come."""
        self.calls += 1
        if not self.alike or (self.calls < _OFTEN and not (many or self.looked)):
            return self.strips
        if not self.looked:
            self.strips, self.looked = _torch.lasting(lambda: _grouped(rows(), self.strips)), True
        if recorded and not self.strips.heights[2]:
            self.strips = _torch.lasting(lambda: _with_turned(self.strips, rows()))
        return self.strips

    def nbytes(self) -> int:
        return self.strips.nbytes() + self.place.nbytes


def strips(
    mask: SparseTensor, wide: bool, additive: bool = False, inputs: Sequence[torch.Tensor] = ()
) -> Strips:
    """The strips of a mask, kept with it until its arrays change.

    wide: values in float64; inputs: what gradients may be asked of. Values that are added, or that a
    derivative may be asked of, are placed by an operation of torch. Of a mask that is used often, rows that
    see the same columns are looked for.
    """
    arrays = mask._arrays()
    traced = torch.compiler.is_dynamo_compiling() or any(_is_wrapped(a) for a in arrays)
    number = mask.dtype.is_floating_point
    places = additive or (number and (tracked(mask) or _torch.is_differentiated([arrays[-1]])))
    kind = wide, additive, places
    if traced:
        return _strips_in_graph(mask, kind, inputs)
    key = [(_torch.address(a), _torch.version_of_structure(a)) for a in arrays[:-1]]
    if not additive:
        key.append((_torch.address(arrays[-1]), _torch.contents(arrays[-1])))
    kept = mask.__dict__.setdefault("_strips", {})
    if kind not in kept or kept[kind].key != key:
        kept[kind] = _torch.lasting(lambda: _Kept(key, _rows(mask, wide), kind))
    core = known_core(mask)
    many = core is not None and core.many()
    found = kept[kind].used(lambda: _rows(mask, wide), needs_grad(*inputs), many)
    if not places:
        return found
    return _placed(_with_room(found, wide), kept[kind].place, _rows(mask, wide).values())


# ---- in graphs ----
_MOST = 2**28  # bytes of strips that are kept, those of the mask that came last aside,
_MANY = 32  # and of so many masks

_met: dict[tuple, _Kept] = {}  # the one that was used last is the last


def _strips_in_graph(mask: SparseTensor, kind: _Kind, inputs: Sequence[torch.Tensor]) -> Strips:
    """The same by one operator, which makes and keeps them when the graph runs."""
    mask = _rows(mask, kind[0], True) if kind[2] else mask
    *structure, values = [a.detach() if a.requires_grad else a for a in mask._arrays()]
    # What is exported may be differentiated by whoever loads it.
    recorded = needs_grad(*inputs) or _torch.in_transform() or torch.compiler.is_exporting()
    given = mask._fmt, structure, values, list(mask.shape), *kind, recorded, _apart()
    made = torch.ops.scorch.attention_mask(*given)
    found = Strips(*made[:5], tuple(made[5:9]), made[9])
    return _placed(found, made[10], mask.values()) if kind[2] else found


def met(
    format: str,
    structure: list[torch.Tensor] | None,
    values: torch.Tensor,
    shape: list[int],
    wide: bool,
    additive: bool,
    places: bool,
    recorded: bool,
    apart: torch.Tensor | None = None,
) -> list[torch.Tensor]:
    """The strips of the mask that has these arrays, and the place in val of each entry: arrays of their own,
    as graphs use memory again.

    A graph hands over arrays and no tensor to keep something with, so strips are found again by what the
    arrays hold.
    """
    structure, kind = structure or [], (wide, additive, places)
    mask = wrap(layout(format, len(shape)), tuple(shape), (*structure, values))
    read = [] if additive else [values.bool() if places else values]  # where they are zero, or what they are
    key = format, tuple(shape), _torch.contents(*structure, *read), kind
    kept, before = _met.pop(key, None), None
    if kept is None:
        kept = _torch.lasting(lambda: _Kept(None, _rows(mask, wide), kind))
    else:
        before = kept.strips
    found = kept.used(lambda: _rows(mask, wide), recorded)
    _met[key] = kept  # behind the others
    if kept.strips is not before:
        _forget()
    found = found if recorded else _untold(found)
    made = [x.clone() for x in (*found[:5], *found.turned, found.heights, kept.place)]
    return [*made[:3], _with_room(found, wide).val, *made[4:]] if places else made


def _forget() -> None:
    """Drops strips that were not used for long."""
    sizes = [(key, kept.nbytes()) for key, kept in list(_met.items())]
    total = sum(n for _, n in sizes)
    for key, n in sizes[:-1]:
        if total <= _MOST and len(_met) <= _MANY:
            break
        _met.pop(key, None)
        total -= n

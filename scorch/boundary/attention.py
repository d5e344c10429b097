"""What torch does with the operators of attention: shapes, derivatives and batching.

First derivatives are an operator. What lies beyond, second derivatives and forward mode, goes through the
same function written with torch's own operations over the entries of the mask.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .. import _torch
from ..functions.strips import blocks_of, listed, met
from .sizes import operator

_lib = torch.library.Library("scorch", "IMPL")
_FORWARD = torch.ops.scorch.attention.default
_BACKWARD = torch.ops.scorch.attention_backward.default


# ---- shapes ----
def _fake_part(like, lead, size=_torch.unknown_size):
    """pos, crd and bits of strips, of a height and of columns that nobody knows before the call."""
    blocks, n = size(), size()
    return (
        like.new_empty((*lead, blocks), dtype=torch.int64),
        like.new_empty(n, dtype=torch.int32),
        like.new_empty(n, dtype=torch.int64),
    )


def _fake_mask(format, structure, values, shape, wide, additive, places, recorded, apart=None):
    lead = [1, 1, *shape[:-2]][-2:]
    of_turned = _torch.unknown_size if recorded else lambda: 0
    scaled = places or values.dtype != torch.bool  # the others are all one
    val = values.new_empty(
        _torch.unknown_size() if scaled else 0, dtype=torch.float64 if wide else torch.float32
    )
    orders = [values.new_empty(n(), dtype=torch.int32) for n in (_torch.unknown_size, of_turned)]
    heights = values.new_empty(4, dtype=torch.int64)
    place = values.new_empty(values.shape[0] if places else 0, dtype=torch.int64)
    mask, turned = _fake_part(values, lead), _fake_part(values, (1, 1), of_turned)
    return [*mask, val, orders[0], *turned, orders[1], heights, place]


def _fake_found(mask, rows, columns, apart=None):
    return [*_fake_part(mask, mask.shape[:1]), mask.new_empty(4, dtype=torch.int64)]


operator(
    "attention_mask(str format, Tensor[] structure, Tensor values, SymInt[] shape, bool wide, bool additive, "
    "bool places, bool recorded, Tensor? apart=None) -> Tensor[]",
    met,
    _fake_mask,
)
operator(
    "attention_found(Tensor mask, SymInt rows, SymInt columns, Tensor? apart=None) -> Tensor[]",
    listed,
    _fake_found,
)
_MASK = torch.ops.scorch.attention_mask.default


@torch.library.register_fake("scorch::attention", lib=_lib)
def _fake_forward(q, k, v, *mask):
    lse = q.new_empty(q.shape[:-1], dtype=torch.float64 if q.dtype == torch.float64 else torch.float32)
    return q.new_empty((*q.shape[:-1], v.shape[-1])), lse


@torch.library.register_fake("scorch::attention_backward", lib=_lib)
def _fake_backward(grad, q, k, v, out, lse, pos, crd, bits, val, *rest):
    dval = val.new_empty(val.shape if rest[-1] else 0)
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape), dval


# ---- the same in operations of torch ----
def _entries(pos, crd, bits, order, heights, n, m):
    """Rows and columns, counted through all matrices, of the entries of strips, and their places in val."""
    height, second = heights[:2].tolist()
    first = blocks_of(n, height) + 1
    if not second:
        return _entries_of_part(pos, crd, bits, order, height, n, m)
    cut = int(pos[0, 0, first])
    parts = [
        _entries_of_part(pos[..., :first], crd[:cut], bits[:cut], order[:0], height, n, m),
        _entries_of_part(pos[..., first:], crd[cut:], bits[cut:], order, second, n, m),
    ]
    return [torch.cat(x) for x in zip(*parts, strict=True)]


def _entries_of_part(pos, crd, bits, order, height, n, m):
    batch, heads, _ = pos.shape
    blocks = pos.diff(dim=-1).flatten()
    block = torch.repeat_interleave(torch.arange(blocks.numel(), device="cpu"), blocks)
    lanes = torch.arange(height, device="cpu")
    at, lane = ((bits[:, None] >> lanes) & 1).nonzero().unbind(1)
    each = blocks.numel() // (batch * heads) if blocks.numel() else 1
    matrix, row = block[at] // each, block[at] % each * height + lane
    row = order.long()[row] if order.numel() else row
    return [matrix * n + row, matrix * m + crd[at].long(), at * height + lane]


def _entries_fake(pos, crd, bits, order, heights, n, m):
    found = _torch.unknown_size()
    return [crd.new_empty(found, dtype=torch.int64) for _ in range(3)]


operator(
    "attention_entries(Tensor pos, Tensor crd, Tensor bits, Tensor order, Tensor heights, SymInt n, SymInt "
    "m) -> Tensor[]",
    _entries,
    _entries_fake,
)


def _shifted(x: torch.Tensor, n: int) -> torch.Tensor:
    """x >> n of 64 bits without a sign."""
    return (x >> n) & ((1 << (64 - n)) - 1)


def _signed(x: int) -> int:
    return x - (1 << 64) if x >> 63 else x


def _kept(seed: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor, p: float) -> torch.Tensor:
    """Where dropout keeps entries: bit for bit what csrc/kernels/attention_body.h computes."""
    low = 0xFFFFFFFF
    x = seed + _signed(0x9E3779B97F4A7C15) * (rows + 1)
    x = (x ^ _shifted(x, 30)) * _signed(0xBF58476D1CE4E5B9)
    x = (x ^ _shifted(x, 27)) * _signed(0x94D049BB133111EB)
    x = x ^ _shifted(x, 31)
    key, other = x & low, _shifted(x, 32)
    x = ((columns * 0x9E3779B1) & low) ^ key
    x = ((x ^ (x >> 16)) * 0x85EBCA6B & low) ^ other
    x = (x ^ (x >> 13)) * 0xC2B2AE35 & low
    return (x ^ (x >> 16)) >= min(int(p * 2**32), low)


def _fold(x: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
    """[batch, heads, rows, width] -> [those that share a matrix, matrices * rows, width]"""
    batch, heads = pos.shape[0] > 1, pos.shape[1] > 1
    if batch and not heads:
        return x.transpose(0, 1).flatten(1, 2)
    return x.flatten(1, 2) if heads and not batch else x.flatten(0, 2)[None] if batch else x.flatten(0, 1)


class _Scores:
    """Attention by gathers and sums over the entries, all of it differentiable."""

    def __init__(self, q, k, v, mask: list, seed, heights, scale, added, dropout) -> None:
        self.pos, self.scale, self.shapes, self.dtype = mask[0], scale, (q.shape, k.shape, v.shape), q.dtype
        self.each = q.shape[1] // max(k.shape[1], 1)
        self.rows, self.columns, self.places = torch.ops.scorch.attention_entries(
            *mask[:3], mask[4], heights, q.shape[2], k.shape[2]
        )
        self.val, self.values = mask[3], mask[3][self.places] if mask[3].numel() else None
        self.factor = None if added else self.values
        self.q, self.k, self.v = (self.fold(x) for x in (q, k, v))
        self.products = (self.q[:, self.rows] * self.k[:, self.columns]).sum(-1) * scale
        scores = self.times(self.products)
        if added and self.values is not None:
            scores = scores + self.values
        with torch.no_grad():
            top = torch.full_like(self.q[..., 0], -torch.inf)
            top = top.scatter_reduce(1, self.rows.expand(scores.shape), scores.detach(), "amax")
            top = torch.where(top.isneginf(), 0, top)
        weight = (scores - top[:, self.rows]).exp()
        total = self.sums(weight, self.rows, top.shape[1])
        self.p = weight / torch.where(total == 0, 1, total)[:, self.rows]
        self.drop = self.dropped(seed, dropout) if dropout else None

    def dropped(self, seed: torch.Tensor, p: float) -> torch.Tensor:
        """What dropout makes of each weight."""
        batch, heads, n, _ = self.shapes[0]
        ids = torch.arange(batch * heads * n, device="cpu").view(batch, heads, n, 1)
        rows = _fold(ids, self.pos)[:, self.rows, 0]
        kept = _kept(seed, rows, self.columns % max(self.shapes[1][2], 1), p)
        return kept.to(self.p.dtype) * (1 / (1 - p) if p < 1 else 0)

    def left(self, x: torch.Tensor) -> torch.Tensor:
        """x of each entry, behind dropout."""
        return x if self.drop is None else x * self.drop

    def fold(self, x: torch.Tensor) -> torch.Tensor:
        """One tensor, of q's number of heads, in the type of sums."""
        x = x if x.shape[1] == self.shapes[0][1] else x.repeat_interleave(self.each, 1)
        return _fold(x.to(torch.float64 if x.dtype == torch.float64 else torch.float32), self.pos)

    def unfold(self, x: torch.Tensor, rows: int, heads: int) -> torch.Tensor:
        """The inverse; where heads were repeated, their sums."""
        batch, of_q = self.shapes[0][:2]
        if self.pos.shape[0] > 1 and self.pos.shape[1] == 1:
            x = x.view(of_q, batch, rows, -1).transpose(0, 1)
        x = x.reshape(batch, of_q, rows, -1)
        return (x if heads == of_q else x.unflatten(1, (heads, self.each)).sum(2)).to(self.dtype)

    def times(self, x: torch.Tensor) -> torch.Tensor:
        """x of each entry with its value, where values multiply scores."""
        return x if self.factor is None else x * self.factor

    def sums(self, x: torch.Tensor, slot: torch.Tensor, n: int) -> torch.Tensor:
        return x.new_zeros(x.shape[0], n, *x.shape[2:]).index_add(1, slot, x)

    def slopes(self, of_p: torch.Tensor) -> torch.Tensor:
        """The softmax's derivative, symmetric: p (x - the mean of x in the row)."""
        mean = self.sums(self.p * of_p, self.rows, self.q.shape[1])
        return self.p * (of_p - mean[:, self.rows])

    def gradients(self, grad: torch.Tensor) -> tuple[torch.Tensor, ...]:
        (_, _, n, _), (_, heads, m, _), _ = self.shapes
        g = self.fold(grad)[:, self.rows]
        of_scores = self.slopes(self.left((g * self.v[:, self.columns]).sum(-1)))
        ds = self.times(of_scores)[..., None] * self.scale
        dq = self.sums(ds * self.k[:, self.columns], self.rows, self.q.shape[1])
        dk = self.sums(ds * self.q[:, self.rows], self.columns, self.k.shape[1])
        dv = self.sums(self.left(self.p)[..., None] * g, self.columns, self.k.shape[1])
        dval = self.val
        if self.values is not None:
            each = of_scores if self.factor is None else of_scores * self.products
            dval = torch.zeros_like(self.val).index_put((self.places,), each.sum(0))
        dq, dk, dv = (
            self.unfold(dq, n, self.shapes[0][1]),
            self.unfold(dk, m, heads),
            self.unfold(dv, m, heads),
        )
        return dq, dk, dv, dval

    def tangent(
        self, tq: torch.Tensor, tk: torch.Tensor, tv: torch.Tensor, tval: torch.Tensor
    ) -> torch.Tensor:
        fq, fk, fv = (self.fold(x) for x in (tq, tk, tv))
        ds = (fq[:, self.rows] * self.k[:, self.columns] + self.q[:, self.rows] * fk[:, self.columns]).sum(-1)
        ds = self.times(ds * self.scale)
        if self.values is not None:
            of_values = tval[self.places]
            ds = ds + (of_values if self.factor is None else of_values * self.products)
        dp = self.left(self.slopes(ds))[..., None]
        each = dp * self.v[:, self.columns] + self.left(self.p)[..., None] * fv[:, self.columns]
        return self.unfold(self.sums(each, self.rows, self.q.shape[1]), self.shapes[0][2], self.shapes[0][1])


# ---- derivatives ----
_CONSTANTS = 3  # arguments of the operators that are no tensors: scale, added, dropout


class _Attention(_torch.AutogradNode):
    """Single level. The log of the sums is not differentiable."""

    @staticmethod
    def forward(ctx, q, k, v, *mask):
        with _torch.below_autograd():
            out, lse = _FORWARD(q, k, v, *mask)
        ctx.save_for_backward(q, k, v, out, lse, *mask[:-_CONSTANTS])
        ctx.save_for_forward(q, k, v, out, lse, *mask[:-_CONSTANTS])
        ctx.constants = mask[-_CONSTANTS:]
        ctx.mark_non_differentiable(lse)
        return out, lse

    @staticmethod
    def backward(ctx, grad, _):
        saved = ctx.saved_tensors  # read once: non-reentrant checkpoints refuse another time
        q, k, v, _, _, *mask, seed, heights = saved
        if _torch.is_differentiated([grad, q, k, v, mask[3]]):
            grads = _Scores(q, k, v, mask, seed, heights, *ctx.constants).gradients(grad)
        else:
            grad = grad if grad.stride(-1) == 1 else grad.contiguous()  # that of a sum
            grads = _BACKWARD(grad, *saved, *ctx.constants, ctx.needs_input_grad[6])
        dval = grads[3] if ctx.needs_input_grad[6] else None
        return (*grads[:3], None, None, None, dval, *[None] * (len(mask) - 2 + _CONSTANTS))

    @staticmethod
    def jvp(ctx, *tangents):
        q, k, v, _, _, *mask, seed, heights = ctx.saved_tensors
        inputs = (q, k, v, mask[3])
        tangents = (*tangents[:3], tangents[6])
        given = [torch.zeros_like(x) if t is None else t for t, x in zip(tangents, inputs, strict=True)]
        return _Scores(q, k, v, mask, seed, heights, *ctx.constants).tangent(*given), None


def _forward(*args):
    if not _torch.is_differentiated([*args[:3], args[6]]):
        with _torch.only_below_autograd():
            return _FORWARD(*args)
    with _torch.single_level():
        return tuple(_Attention.apply(*args))


def _backward(*args):
    if _torch.is_differentiated([*args[:4], args[9]]):
        raise NotImplementedError("attention_backward has no derivative: differentiate scorch::attention")
    with _torch.only_below_autograd():
        return _BACKWARD(*args)


# ---- batching ----
def _at(x, d: int | None, b: int):
    return x if d is None else x.select(d, b)


def _batched(op: Callable, dense: int) -> Callable:
    """A batch of the tensors ahead of the mask is one of a larger batch, where all share the mask."""

    def rule(info, in_dims, *args):
        n, pos, dropout, last = info.batch_size, args[dense], args[dense + 13], args[-1]
        shared = all(d is None for d in in_dims[dense:]) and pos.shape[0] == 1
        if shared and not dropout and last is not True:  # True: gradients of values, one of each of the batch
            each = [
                x.movedim(d, 0) if d is not None else x.expand(n, *x.shape)
                for x, d in zip(args[:dense], in_dims[:dense], strict=True)
            ]
            outs = op(*(x.flatten(0, 1) for x in each), *args[dense:])
            outs = [y.unflatten(0, (n, -1)) if y.dim() > 1 else y.expand(n, *y.shape) for y in outs]
        else:
            calls = [op(*(_at(x, d, b) for x, d in zip(args, in_dims, strict=True))) for b in range(n)]
            outs = [torch.stack(ys) for ys in zip(*calls, strict=True)]
        return tuple(outs), (0,) * len(outs)

    return rule


def _batched_mask(info, in_dims, format, structure, values, shape, wide, zeros, places, recorded, apart=None):
    """Of a batch of values there is one structure."""
    if any(d is not None for d in in_dims[1] or ()):
        raise NotImplementedError("vmap over the structure of a mask: only q, k, v and values can be batched")
    values = values.movedim(in_dims[2], 0)
    absent = values == 0
    if not places or not (zeros or torch.equal(absent.any(0), absent.all(0))):
        raise NotImplementedError("vmap over values of a mask: expected zeros at the same entries in all")
    one = values.amin(0) if zeros else values[0]
    found = _MASK(format, structure, one, shape, wide, zeros, places, recorded)
    return found, [None] * len(found)


_lib.impl("attention", _forward, "Autograd")
_lib.impl("attention_backward", _backward, "Autograd")
torch.library.register_vmap("scorch::attention_mask", _batched_mask, lib=_lib)
torch.library.register_vmap("scorch::attention", _batched(_FORWARD, 3), lib=_lib)
torch.library.register_vmap("scorch::attention_backward", _batched(_BACKWARD, 6), lib=_lib)

"""What torch does with the operators of attention: shapes, derivatives and batching.

First derivatives are an operator. What lies beyond, second derivatives and forward mode, goes through the
same function written with torch's own operations over the entries of the mask.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from . import _torch

_lib = torch.library.Library("scorch", "IMPL")
_STRIPS = torch.ops.scorch.attention_strips.default
_FORWARD = torch.ops.scorch.attention.default
_BACKWARD = torch.ops.scorch.attention_backward.default


# ---- shapes ----
@torch.library.register_fake("scorch::attention_strips", lib=_lib)
def _fake_strips(pos, crd, values, matrices, rows, columns, height, wide):
    n, k = torch.library.get_ctx().new_dynamic_size(), torch.library.get_ctx().new_dynamic_size()
    blocks = (rows + height - 1) // height
    return (
        pos.new_empty(matrices * (blocks + 1), dtype=torch.int64),
        pos.new_empty(n, dtype=torch.int32),
        pos.new_empty(n, dtype=torch.int64),
        values.new_empty(k, dtype=torch.float64 if wide else torch.float32),
    )


@torch.library.register_fake("scorch::attention", lib=_lib)
def _fake_forward(q, k, v, pos, crd, bits, val, height, scale):
    lse = q.new_empty(q.shape[:-1], dtype=torch.float64 if q.dtype == torch.float64 else torch.float32)
    return q.new_empty((*q.shape[:-1], v.shape[-1])), lse


@torch.library.register_fake("scorch::attention_backward", lib=_lib)
def _fake_backward(grad, q, k, v, out, lse, pos, crd, bits, val, height, scale):
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


# ---- the same in operations of torch ----
def _entries(pos, crd, bits, val, height, n, m):
    """Rows, columns, counted through all matrices, and values (None: ones) of the entries of strips."""
    batch, heads, _ = pos.shape
    blocks = pos.diff(dim=-1).flatten()
    block = torch.repeat_interleave(torch.arange(blocks.numel()), blocks)
    lanes = torch.arange(height)
    at, lane = ((bits[:, None] >> lanes) & 1).nonzero().unbind(1)
    each = blocks.numel() // (batch * heads) if blocks.numel() else 1
    matrix, row = block[at] // each, block[at] % each * height + lane
    values = val.view(-1, height)[at, lane] if val.numel() else None
    return matrix * n + row, matrix * m + crd[at].long(), values


def _fold(x: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
    """[batch, heads, rows, width] -> [those that share a matrix, matrices * rows, width]"""
    batch, heads = pos.shape[0] > 1, pos.shape[1] > 1
    if batch and not heads:
        return x.transpose(0, 1).flatten(1, 2)
    return x.flatten(1, 2) if heads and not batch else x.flatten(0, 2)[None] if batch else x.flatten(0, 1)


class _Scores:
    """Attention by gathers and sums over the entries, all of it differentiable."""

    def __init__(self, q, k, v, mask: list, height: int, scale: float) -> None:
        self.pos, self.scale, self.shapes, self.dtype = mask[0], scale, (q.shape, k.shape, v.shape), q.dtype
        self.each = q.shape[1] // max(k.shape[1], 1)
        self.rows, self.columns, self.values = _entries(*mask, height, q.shape[2], k.shape[2])
        self.q, self.k, self.v = (self.fold(x) for x in (q, k, v))
        scores = self.scaled((self.q[:, self.rows] * self.k[:, self.columns]).sum(-1))
        with torch.no_grad():
            top = torch.full_like(self.q[..., 0], -torch.inf)
            top = top.scatter_reduce(1, self.rows.expand(scores.shape), scores.detach(), "amax")
            top = torch.where(top.isneginf(), 0, top)
        weight = (scores - top[:, self.rows]).exp()
        total = self.sums(weight, self.rows, top.shape[1])
        self.p = weight / torch.where(total == 0, 1, total)[:, self.rows]

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

    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale if self.values is None else x * (self.values * self.scale)

    def sums(self, x: torch.Tensor, slot: torch.Tensor, n: int) -> torch.Tensor:
        return x.new_zeros(x.shape[0], n, *x.shape[2:]).index_add(1, slot, x)

    def slopes(self, of_p: torch.Tensor) -> torch.Tensor:
        """The softmax's derivative, symmetric: p (x - the mean of x in the row)."""
        mean = self.sums(self.p * of_p, self.rows, self.q.shape[1])
        return self.p * (of_p - mean[:, self.rows])

    def gradients(self, grad: torch.Tensor) -> tuple[torch.Tensor, ...]:
        (_, _, n, _), (_, heads, m, _), _ = self.shapes
        g = self.fold(grad)[:, self.rows]
        ds = self.scaled(self.slopes((g * self.v[:, self.columns]).sum(-1)))[..., None]
        dq = self.sums(ds * self.k[:, self.columns], self.rows, self.q.shape[1])
        dk = self.sums(ds * self.q[:, self.rows], self.columns, self.k.shape[1])
        dv = self.sums(self.p[..., None] * g, self.columns, self.k.shape[1])
        return self.unfold(dq, n, self.shapes[0][1]), self.unfold(dk, m, heads), self.unfold(dv, m, heads)

    def tangent(self, tq: torch.Tensor, tk: torch.Tensor, tv: torch.Tensor) -> torch.Tensor:
        fq, fk, fv = (self.fold(x) for x in (tq, tk, tv))
        ds = (fq[:, self.rows] * self.k[:, self.columns] + self.q[:, self.rows] * fk[:, self.columns]).sum(-1)
        dp = self.slopes(self.scaled(ds))[..., None]
        each = dp * self.v[:, self.columns] + self.p[..., None] * fv[:, self.columns]
        return self.unfold(self.sums(each, self.rows, self.q.shape[1]), self.shapes[0][2], self.shapes[0][1])


# ---- derivatives ----
class _Attention(torch.autograd.Function):
    """Single level. The log of the sums is not differentiable."""

    @staticmethod
    def forward(ctx, q, k, v, pos, crd, bits, val, height, scale):
        with _torch.below_autograd():
            out, lse = _FORWARD(q, k, v, pos, crd, bits, val, height, scale)
        ctx.save_for_backward(q, k, v, out, lse, pos, crd, bits, val)
        ctx.save_for_forward(q, k, v, out, lse, pos, crd, bits, val)
        ctx.constants = height, scale
        ctx.mark_non_differentiable(lse)
        return out, lse

    @staticmethod
    def backward(ctx, grad, _):
        q, k, v, _, _, *mask = ctx.saved_tensors
        if _torch.is_differentiated([grad, q, k, v]):
            grads = _Scores(q, k, v, mask, *ctx.constants).gradients(grad)
        else:
            grads = _BACKWARD(grad, *ctx.saved_tensors, *ctx.constants)
        return (*grads, *[None] * 6)

    @staticmethod
    def jvp(ctx, *tangents):
        q, k, v, _, _, *mask = ctx.saved_tensors
        given = [torch.zeros_like(x) if t is None else t for t, x in zip(tangents, (q, k, v), strict=False)]
        return _Scores(q, k, v, mask, *ctx.constants).tangent(*given), None


_raw_attention = _torch.raw_apply(_Attention)


def _forward(*args):
    if not _torch.is_differentiated(list(args[:3])):
        with _torch.only_below_autograd():
            return _FORWARD(*args)
    with _torch.single_level():
        return tuple(_raw_attention(*args))


def _backward(*args):
    if _torch.is_differentiated(list(args[:4])):
        raise NotImplementedError("attention_backward has no derivative: differentiate scorch::attention")
    with _torch.only_below_autograd():
        return _BACKWARD(*args)


# ---- batching ----
def _batched(op: Callable, dense: int) -> Callable:
    """A batch of the tensors ahead of the mask is one of a larger batch, where all share the mask."""

    def rule(info, in_dims, *args):
        if any(d is not None for d in in_dims[dense:]):
            raise NotImplementedError("vmap over the mask of attention: only q, k and v can be batched")
        n, mask = info.batch_size, args[dense : dense + 4]
        each = [
            x.movedim(d, 0) if d is not None else x.expand(n, *x.shape)
            for x, d in zip(args[:dense], in_dims[:dense], strict=True)
        ]
        if mask[0].shape[0] == 1:
            outs = op(*(x.flatten(0, 1) for x in each), *args[dense:])
            outs = [y.unflatten(0, (n, -1)) for y in outs]
        else:
            calls = [op(*(x[b] for x in each), *args[dense:]) for b in range(n)]
            outs = [torch.stack(ys) for ys in zip(*calls, strict=True)]
        return tuple(outs), (0,) * len(outs)

    return rule


_lib.impl("attention", _forward, "Autograd")
_lib.impl("attention_backward", _backward, "Autograd")
torch.library.register_vmap("scorch::attention", _batched(_FORWARD, 3), lib=_lib)
torch.library.register_vmap("scorch::attention_backward", _batched(_BACKWARD, 6), lib=_lib)

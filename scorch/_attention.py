"""Attention under a sparse mask: what the mask lets through is computed, in one pass and nothing else."""

from __future__ import annotations

from typing import NamedTuple

import torch

from . import _attention_rules, _ops, _torch  # noqa: F401
from ._tensor import SparseTensor

_COST = {64: 1.0, 32: 1.1, 16: 1.32, 1: 4.5}  # of a score, by the rows of a block; measured
_FULL = 0.95  # blocks of 64 rows that see this share of their columns are not made lower


class Strips(NamedTuple):
    """A mask as the operators take it: see csrc/attention.h."""

    pos: torch.Tensor
    crd: torch.Tensor
    bits: torch.Tensor
    val: torch.Tensor
    height: int


# ---- the mask ----
def _rows(mask: SparseTensor) -> SparseTensor:
    """The mask with its last dimension compressed and all others dense."""
    levels = ", ".join(f"dense({d})" for d in range(mask._ndim - 1))
    format = "csr" if mask._ndim == 2 else f"{levels}, compressed({mask._ndim - 1})"
    if mask._fmt == format:
        return mask
    if torch.compiler.is_dynamo_compiling():
        letters = "abcd"[: mask._ndim]
        mask = mask._with_values(mask._val.to(torch.float32))
        return _ops.einsum(f"{letters}->{letters}", mask, format=format)
    return mask.convert(format)


def _made(rows: SparseTensor, height: int, wide: bool) -> Strips:
    *lead, n, m = rows.shape
    batch, heads = [1, 1, *lead][-2:]
    pos, crd, val = rows._arrays()
    pos, *rest = torch.ops.scorch.attention_strips(pos, crd, val, batch * heads, n, m, height, wide)
    return Strips(pos.view(batch, heads, -(-n // height) + 1), *rest, height)


def _chosen(rows: SparseTensor, wide: bool) -> Strips:
    """Strips of the height that costs least."""
    best = _made(rows, 64, wide)
    if rows.nnz < _FULL * best.crd.numel() * best.height:
        others = [best, *(_made(rows, height, wide) for height in (32, 16, 1))]
        best = min(others, key=lambda s: s.crd.numel() * s.height * _COST[s.height])
    return best


def strips(mask: SparseTensor, wide: bool) -> Strips:
    """The strips of a mask, kept with it until its arrays change; wide: values in float64."""
    arrays = mask._arrays()
    if torch.compiler.is_dynamo_compiling() or any(type(a) is not torch.Tensor for a in arrays):
        return _made(_rows(mask), 64, wide)
    key = [(a.data_ptr(), a._version) for a in arrays]
    kept = mask.__dict__.setdefault("_strips", {})
    if wide not in kept or kept[wide][0] != key:
        kept[wide] = key, _chosen(_rows(mask), wide)
    return kept[wide][1]


# ---- attention ----
def _check(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: SparseTensor) -> None:
    if not isinstance(mask, SparseTensor):
        raise TypeError(f"attention: expected a SparseTensor as the mask, got {type(mask).__name__}")
    for name, x in (("q", q), ("k", k), ("v", v)):
        if isinstance(x, SparseTensor) or not isinstance(x, torch.Tensor):
            raise TypeError(f"attention: expected a dense tensor as {name}, got {type(x).__name__}")
        if x.dtype != q.dtype or not x.dtype.is_floating_point:
            raise TypeError(
                f"attention: expected q, k and v of one floating point type, got {name}: {x.dtype}"
            )
        if x.dim() != q.dim() or not 2 <= x.dim() <= 4:
            raise ValueError(
                f"attention: expected q, k and v of 2 to 4 dimensions, got {name}: {list(x.shape)}"
            )
    if mask.requires_grad and torch.is_grad_enabled():
        raise NotImplementedError(
            "attention: no gradient to the mask: use scorch.softmax(scorch.sddmm(mask, q, k)) @ v"
        )
    *lead, n, m = mask.shape
    batch = list(q.shape[:-2])
    fits = len(lead) <= len(batch) and all(
        a in (1, b) for a, b in zip(lead, batch[len(batch) - len(lead) :], strict=True)
    )
    if not fits or n != q.shape[-2] or m != k.shape[-2]:
        raise ValueError(
            f"attention: expected a mask [..., {q.shape[-2]}, {k.shape[-2]}] whose batch extents are 1 or "
            f"those of {batch}, got {list(mask.shape)}"
        )
    shared = k.dim() > 2 and k.shape[-3] and q.shape[-3] % k.shape[-3] == 0
    wanted = [*batch[:-1], k.shape[-3] if shared else batch[-1]] if batch else []
    if list(k.shape) != [*wanted, m, q.shape[-1]] or list(v.shape[:-1]) != [*wanted, m]:
        raise ValueError(
            f"attention: expected k {[*wanted, m, q.shape[-1]]} and v {[*wanted, m, 'any']} for "
            f"q {list(q.shape)}, got {list(k.shape)} and {list(v.shape)}"
        )


def _four(x: torch.Tensor) -> torch.Tensor:
    return x[(None,) * (4 - x.dim())]


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: SparseTensor, *, scale: float | None = None
) -> torch.Tensor:
    """``softmax(mask * (q @ k.mT) * scale) @ v`` over the entries of the mask that are not zero.

    One pass over the mask; scores are not kept. The mask in any format: a band, blocks, causal, padded keys,
    or any entries. A missing entry takes no part, even where k or v is NaN or infinite there; a query that
    sees nothing, or only scores of minus infinity, gives zeros. Sums are in float32 (float64 for float64),
    and the same bits for any number of threads.

    Args:
        q: [..., n, d]; k: [..., m, d]; v: [..., m, e]; dense, of one type (float16, bfloat16, float32,
            float64), with up to two batch dimensions. The last of them is heads: k and v may have fewer,
            of which each then serves as many heads of q (grouped queries).
        mask: [n, m], or with batch dimensions of extent 1 or those of q; bool or numbers, which multiply
            scores. What is made from it is kept with it.
        scale: by default 1 / sqrt(d).

    Returns:
        A dense tensor [..., n, e], differentiable in q, k and v. Second derivatives, forward mode and the
        gradients of torch.func are computed from gathered entries, in memory proportional to their number
        times d.

    Raises:
        TypeError: mask is no SparseTensor, or the types differ. ValueError: shapes do not fit.
        NotImplementedError: the mask requires a gradient.
    """
    _check(q, k, v, mask)
    s = strips(mask, q.dtype == torch.float64)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    out, _ = torch.ops.scorch.attention(_four(q), _four(k), _four(v), *s[:4], s.height, scale)
    return out.view(*q.shape[:-1], v.shape[-1])


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: SparseTensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """``F.scaled_dot_product_attention`` with a SparseTensor of bool as the mask."""
    if dropout_p or is_causal:
        raise NotImplementedError(
            "scaled_dot_product_attention with a sparse mask: no dropout_p, and a causal mask is a mask"
        )
    if isinstance(attn_mask, SparseTensor) and attn_mask.dtype != torch.bool:
        raise NotImplementedError(
            f"scaled_dot_product_attention: expected a sparse mask of bool, got {attn_mask.dtype}, which "
            "torch would add to scores: use mask.bool(), or scorch.attention, which multiplies"
        )
    if not enable_gqa and query.dim() > 2 and query.shape[-3] != key.shape[-3]:
        raise ValueError("scaled_dot_product_attention: fewer heads of keys need enable_gqa=True")
    return attention(query, key, value, attn_mask, scale=scale)

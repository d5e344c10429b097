"""Attention under a sparse mask: what the mask lets through is computed, in one pass and nothing else."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch._guards import detect_fake_mode
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from .. import _torch
from ..tensor.sparsetensor import SparseTensor
from . import autocast
from .dynamic import Dynamic, unwrapped
from .strips import found, strips

# ---- attention ----
_MASKS = (
    torch.bool, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64
)  # fmt: skip


def _check(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: SparseTensor | Dynamic) -> None:
    if not isinstance(mask, (SparseTensor, Dynamic)):
        raise TypeError(
            f"attention: expected a SparseTensor as the mask, got {type(mask).__name__}: use "
            f"scorch.sparse(mask) of a dense mask that is kept, scorch.dynamic(mask) of one that is new in "
            f"each call, and F.scaled_dot_product_attention without a mask"
        )
    if mask.dtype not in _MASKS:
        raise TypeError(
            f"attention: expected a mask of bool, int32, int64, or a floating point type of at most 64 bits, "
            f"got {mask.dtype}: mask.bool() says what is seen"
        )
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
    shape = list(mask.mask_shape() if isinstance(mask, Dynamic) else mask.shape)
    if len(shape) < 2:
        raise ValueError(f"attention: expected a mask [..., queries, keys], got {shape}")
    *lead, n, m = shape
    batch = list(q.shape[:-2])
    fits = len(lead) <= len(batch) and all(
        a in (1, b) for a, b in zip(lead, batch[len(batch) - len(lead) :], strict=True)
    )
    if not fits or n != q.shape[-2] or m != k.shape[-2]:
        tiles = mask.tiles_said() if isinstance(mask, Dynamic) else ""
        raise ValueError(
            f"attention: expected a mask [..., {q.shape[-2]}, {k.shape[-2]}] whose batch extents are 1 or "
            f"those of {batch}, got {shape}{tiles}"
        )
    shared = k.dim() > 2 and k.shape[-3] and q.shape[-3] % k.shape[-3] == 0
    wanted = [*batch[:-1], k.shape[-3] if shared else batch[-1]] if batch else []
    if list(k.shape) != [*wanted, m, q.shape[-1]] or list(v.shape[:-1]) != [*wanted, m]:
        of_v = ", ".join(map(str, [*wanted, m, "e"]))
        heads = f", or heads whose number divides {q.shape[-3]}" if batch else ""
        raise ValueError(
            f"attention: expected k {[*wanted, m, q.shape[-1]]} and v [{of_v}] for q {list(q.shape)}{heads}, "
            f"got {list(k.shape)} and {list(v.shape)}"
        )


def _four(x: torch.Tensor) -> torch.Tensor:
    """Of four dimensions, with the numbers of a row side by side, as they are read fast."""
    x = x if x.stride(-1) == 1 else x.contiguous()
    return x[(None,) * (4 - x.dim())]


@_torch.symbolic
def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: SparseTensor | Dynamic,
    *,
    scale: float | None = None,
    additive: bool = False,
    dropout_p: float = 0,  # an integer: dynamic graphs take a float for one that varies
) -> torch.Tensor:
    """``softmax(mask * (q @ k.mT) * scale) @ v`` over the entries of the mask that are not zero.

    One pass over the mask; scores are not kept. The mask in any format: a band, blocks, causal, padded keys,
    or any entries. A missing entry takes no part, even where k or v is NaN or infinite there; a query that
    sees nothing, or only scores of minus infinity, gives zeros. Sums are in float32 (float64 for float64),
    and the same bits for any number of threads.

    Args:
        q: [..., n, d]; k: [..., m, d]; v: [..., m, e]; dense, of one type (float16, bfloat16, float32,
            float64), with up to two batch dimensions. The last of them is heads: k and v may have fewer,
            of which each then serves as many heads of q (grouped queries). Under autocast they are cast as
            torch casts those of its own attention.
        mask: [n, m], or with batch dimensions of extent 1 or those of q; bool or numbers, which multiply
            scores. What is made from it is kept with it. ``scorch.dynamic(mask)`` of a dense mask, or of one
            of blocks, is listed anew in each call.
        scale: by default 1 / sqrt(d).
        additive: ``softmax(q @ k.mT * scale + mask) @ v`` over all stored entries, those that are zero and
            those that fill blocks included.
        dropout_p: the probability that a weight is set to zero; the others grow by 1 / (1 - dropout_p). Which
            ones follows from torch's generator, and from nothing else but shapes.

    Returns:
        A dense tensor [..., n, e], differentiable in q, k, v and the values of the mask. Second derivatives,
        forward mode and the gradients of torch.func are computed from gathered entries, in memory
        proportional to their number times d.

    Raises:
        TypeError: mask is no SparseTensor, or the types differ, or values of bool are to be added.
        ValueError: shapes do not fit; no probability. RuntimeError: minus infinity is to be added.

    >>> q, k, v = torch.rand(3, 4, 100, 16)  # heads, tokens, width
    >>> place = torch.arange(100)
    >>> band = scorch.sparse((place[:, None] - place).abs() <= 8)
    >>> scorch.attention(q, k, v, band).shape
    torch.Size([4, 100, 16])
    """
    q, k, v = unwrapped((q, k, v))
    if autocast.is_on():
        q, k, v = autocast.cast(q, k, v)
    _check(q, k, v, mask)
    if additive and mask.dtype == torch.bool:
        raise TypeError("attention: expected numbers to add to scores, got a mask of bool")
    if not 0 <= dropout_p <= 1:
        raise ValueError(f"attention: expected dropout_p from 0 to 1, got {dropout_p}")
    wide = q.dtype == torch.float64
    s = found(mask) if isinstance(mask, Dynamic) else None
    if s is None:
        mask = mask.as_mask() if isinstance(mask, Dynamic) else mask
        s = strips(mask._whole(), wide, additive, (q, k, v))
    elif wide:
        s = s._replace(val=s.val.double())
    scale = max(q.shape[-1], 1) ** -0.5 if scale is None else scale
    seed = (
        torch.randint(2**62, (1,), device="cpu")
        if dropout_p
        else torch.empty(0, dtype=torch.int64, device="cpu")
    )
    out, _ = torch.ops.scorch.attention(
        _four(q), _four(k), _four(v), *s.arguments(seed), scale, additive, float(dropout_p)
    )
    return out.view(*q.shape[:-1], v.shape[-1])


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: SparseTensor | None = None,
    dropout_p: float = 0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """``F.scaled_dot_product_attention`` with a SparseTensor as the mask.

    Of bool, it says what is seen; numbers are added to scores, and what is missing is not seen.
    """
    shapes = getattr(detect_fake_mode([query]), "shape_env", None)
    if shapes is not None and get_proxy_mode() is None:  # torch.compile asks for shapes alone
        with shapes.ignore_fresh_unbacked_symbols():
            return _dot_product(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    return _dot_product(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


def _broadcast(operands: tuple[torch.Tensor, ...], own: int) -> tuple[torch.Tensor, ...]:
    """As torch broadcasts them: of one batch, the last ``own`` dimensions as they are."""
    batches = [x.shape[:-own] for x in operands]
    if batches.count(batches[0]) == len(batches):
        return operands
    try:
        batch = torch.broadcast_shapes(*batches)
    except RuntimeError:
        raise ValueError(
            f"scaled_dot_product_attention: expected batches and heads that broadcast, got query, key and "
            f"value {[list(x.shape) for x in operands]}: fewer heads of keys need enable_gqa=True"
        ) from None
    return tuple([x.expand(*batch, *x.shape[-own:]) for x in operands])


def _dot_product(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: SparseTensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> torch.Tensor:
    for name, x in (("query", query), ("key", key), ("value", value)):
        if isinstance(x, SparseTensor):
            raise TypeError(
                f"scaled_dot_product_attention: expected a dense tensor as {name}, got a SparseTensor: use "
                f"to_dense(); the mask is what may be sparse"
            )
    if is_causal:
        raise ValueError(
            "scaled_dot_product_attention: expected attn_mask or is_causal, got both: use tril()"
        )
    query, key, value = _broadcast((query, key, value), 3 if enable_gqa else 2)
    additive = False
    if isinstance(attn_mask, SparseTensor):
        additive = attn_mask.dtype != torch.bool
        if attn_mask.dim() > 1 and 1 in attn_mask.shape[-2:]:
            attn_mask = attn_mask.expand(*attn_mask.shape[:-2], query.shape[-2], key.shape[-2])
    return attention(query, key, value, attn_mask, scale=scale, additive=additive, dropout_p=dropout_p)


def encoder_layer(
    src: torch.Tensor,
    width: int,
    heads: int,
    projection: torch.Tensor,
    projection_bias: torch.Tensor,
    output: torch.Tensor,
    output_bias: torch.Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    *weights: torch.Tensor | int,
) -> torch.Tensor:
    """``nn.TransformerEncoderLayer`` in inference, for which torch has a function of its own."""
    *first, scale, shift, up, up_bias, down, down_bias, mask, kind = weights
    mask = mask[:, None, None] if kind == 1 else mask  # of keys alone
    attention_of = scaled_dot_product_attention
    if not isinstance(mask, SparseTensor):  # weights are sparse: torch.compile does not see that they are
        attention_of = F.scaled_dot_product_attention

    def attend(x: torch.Tensor) -> torch.Tensor:
        projected = F.linear(x, projection, projection_bias).unflatten(-1, (3, heads, -1))
        q, k, v = projected.permute(2, 0, 3, 1, 4)
        y = attention_of(q, k, v, mask)
        return F.linear(y.transpose(1, 2).flatten(2), output, output_bias)

    def feed(x: torch.Tensor) -> torch.Tensor:
        return F.linear((F.gelu if use_gelu else F.relu)(F.linear(x, up, up_bias)), down, down_bias)

    before = lambda x: F.layer_norm(x, (width,), *first, eps)  # noqa: E731
    after = lambda x: F.layer_norm(x, (width,), scale, shift, eps)  # noqa: E731
    if norm_first:
        x = src + attend(before(src))
        return x + feed(after(x))
    x = before(src + attend(src))
    return after(x + feed(x))

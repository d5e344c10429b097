"""Attention under a sparse mask: what the mask lets through is computed, in one pass and nothing else."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch._guards import detect_fake_mode
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from .. import _torch
from ..tensor.making import sparse
from ..tensor.sparsetensor import SparseTensor
from ..tensor.values import tracked
from . import autocast
from .dynamic import Dynamic
from .expressions import einsum

_COST = {64: 1.0, 32: 1.1, 16: 1.32, 1: 4.5}  # of a score, by the rows of a block; measured
_SAMPLED = 16  # one of so many blocks of 64 rows says whether the entries of a dense mask are scattered
_FULL = 0.95  # blocks of 64 rows that see this share of their columns are not made lower


class Strips(NamedTuple):
    """A mask as the operators take it: see csrc/attention.h."""

    pos: torch.Tensor
    crd: torch.Tensor
    bits: torch.Tensor
    val: torch.Tensor
    height: int


# ---- the mask ----
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
    return Strips(pos.view(batch, heads, -(-n // height) + 1), *rest, height), place


def _chosen(rows: SparseTensor, *rest: bool) -> tuple[Strips, torch.Tensor]:
    """Strips of the height that costs least."""
    best = _made(rows, 64, *rest)
    if rows.nnz < _FULL * best[0].crd.numel() * best[0].height:
        others = [best, *(_made(rows, height, *rest) for height in (32, 16, 1))]
        best = min(others, key=lambda made: made[0].crd.numel() * made[0].height * _COST[made[0].height])
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


def found(mask: Dynamic) -> Strips | None:
    """The strips of a dense mask of truth values, or of tiles; None where it is none, or is traced."""
    x = mask.to_dense()
    if x.dtype is not torch.bool or _torch.is_tracing(x) or _is_wrapped(x):
        return None
    batch, heads = [1, 1, *x.shape[:-2]][-2:]
    n, m = mask.mask_shape()[-2:]
    x = x.reshape(batch * heads, *x.shape[-2:])
    if x.shape[1:] == (n, m) and _is_scattered(x):
        rows = sparse(x.reshape(-1, m), "csr", index_dtype=torch.int32)
        pos, crd = rows.pos(1).unfold(0, n + 1, n).long(), rows.crd(1)
        bits, height = torch.ones(crd.shape, dtype=torch.int64), 1
    else:
        words, count = _words(x, n, m)
        height = _cheapest(count)
        pos, crd, bits = torch.ops.scorch.attention_listed(words, n, height)
    return Strips(pos.view(batch, heads, -(-n // height) + 1), crd, bits, torch.empty(0), height)


def _placed(strips: Strips, place: torch.Tensor, values: torch.Tensor, wide: bool) -> Strips:
    """With the values of the entries, differentiably."""
    values = values.to(torch.float64 if wide else torch.float32)
    line = values.new_zeros(strips.crd.shape[0] * strips.height + 1)  # one place for those that do not count
    return strips._replace(val=line.index_put((place,), values)[:-1])


def _is_wrapped(x: torch.Tensor) -> bool:
    return type(x) is not torch.Tensor or _torch.is_wrapped(x)


def strips(mask: SparseTensor, wide: bool, additive: bool = False) -> Strips:
    """The strips of a mask, kept with it until its arrays change; wide: values in float64.

    Values that are added, or that a derivative may be asked of, are placed by an operation of torch.
    """
    arrays = mask._arrays()
    traced = torch.compiler.is_dynamo_compiling() or any(_is_wrapped(a) for a in arrays)
    number = mask.dtype.is_floating_point
    places = additive or (number and (tracked(mask) or _torch.is_differentiated([arrays[-1]])))
    if traced:
        rows = _rows(mask, wide, True)
        found, place = _made(rows, 64, wide, additive, places)
        return _placed(found, place, rows.values(), wide) if places else found
    structure = arrays[:-1] if additive else arrays
    key = [(_torch.address(a), a._version) for a in structure]
    kept = mask.__dict__.setdefault("_strips", {})
    kind = wide, additive, places
    if kind not in kept or kept[kind][0] != key:
        kept[kind] = key, *_chosen(_rows(mask, wide), *kind)
    _, found, place = kept[kind]
    return _placed(found, place, _rows(mask, wide).values(), wide) if places else found


# ---- attention ----
def _check(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: SparseTensor | Dynamic) -> None:
    if not isinstance(mask, (SparseTensor, Dynamic)):
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
    *lead, n, m = shape = list(mask.mask_shape() if isinstance(mask, Dynamic) else mask.shape)
    batch = list(q.shape[:-2])
    fits = len(lead) <= len(batch) and all(
        a in (1, b) for a, b in zip(lead, batch[len(batch) - len(lead) :], strict=True)
    )
    if not fits or n != q.shape[-2] or m != k.shape[-2]:
        raise ValueError(
            f"attention: expected a mask [..., {q.shape[-2]}, {k.shape[-2]}] whose batch extents are 1 or "
            f"those of {batch}, got {shape}"
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
        s = strips(mask._whole(), wide, additive)
    elif wide:
        s = s._replace(val=s.val.double())
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    seed = torch.randint(2**62, (1,)) if dropout_p else torch.empty(0, dtype=torch.int64)
    out, _ = torch.ops.scorch.attention(
        _four(q), _four(k), _four(v), *s[:4], seed, s.height, scale, additive, float(dropout_p)
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
    if not enable_gqa and query.dim() > 2 and query.shape[-3] != key.shape[-3]:
        raise ValueError("scaled_dot_product_attention: fewer heads of keys need enable_gqa=True")
    additive = isinstance(attn_mask, SparseTensor) and attn_mask.dtype != torch.bool
    return attention(query, key, value, attn_mask, scale=scale, additive=additive, dropout_p=dropout_p)

"""Sparse masks where torch's own modules of attention change them before they come to attention.

nn.MultiheadAttention adds a mask of padded keys to its mask of attention, pads it for keys of its own, and
adds it to dense scores where weights are asked for. There too, what a sparse mask lacks is not seen.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .. import _torch
from ..tensor.entries import Entries, broadcast, build, entries, places
from ..tensor.sparsetensor import SparseTensor, partwise, rank

_FORBIDDEN = (
    "mask: expected values to add to scores, got minus infinity: leave such entries out, those that are "
    "missing take no part; nn.MultiheadAttention makes them of a mask of bool, whose True forbids: give it a "
    "dense one"
)
_TRACED = (
    "nn.TransformerEncoderLayer: expected one mask in a graph of inference, got a sparse one and padding: "
    "call torch.backends.mha.set_fastpath_enabled(False) first"
)


def refuse(*_: object) -> None:
    """``nn.MultiheadAttention`` in inference, where torch has a function of its own for masks of bool."""
    raise RuntimeError(_FORBIDDEN)


def _added(e: Entries) -> Entries:
    """The entries of a mask, none of which is minus infinity."""
    torch._assert_async(~e.values.isneginf().any(), _FORBIDDEN)
    return e


def _joint(input: torch.Tensor, other: torch.Tensor) -> SparseTensor:
    """A sparse mask and a dense one, as of padded keys, whose minus infinity is not seen."""
    mask, dense = (input, other) if isinstance(input, SparseTensor) else (other, input)
    if isinstance(dense, SparseTensor):
        raise TypeError(
            "nn.MultiheadAttention: expected one sparse mask, got two: give it a dense key_padding_mask"
        )
    for d, step in enumerate(dense.stride()):
        dense = dense if step else dense.narrow(d, 0, min(1, dense.shape[d]))  # heads that are alike
    shape = torch.broadcast_shapes(mask.shape, dense.shape)
    e = _added(broadcast(mask, shape))
    added = dense.expand(shape)[tuple(e.indices)]
    at = places(~added.isneginf())
    return build(Entries(e.shape, e.indices[:, at], (e.values + added)[at]), "coo", mask.index_dtype)


def joining(add: Callable) -> Callable:
    """``torch.add``, and what it means where torch's attention adds two masks."""

    def call(input: object, other: object, *args: object, **options: object) -> torch.Tensor:
        both = isinstance(input, torch.Tensor) and isinstance(other, torch.Tensor)
        if both and rank(input) > 2 and rank(other) > 2:
            if _torch.in_attention():
                return _joint(input, other)
            if _torch.traces_attention():
                raise NotImplementedError(_TRACED)
        return add(input, other, *args, **options)

    return partwise(call)


def unseen(mask: SparseTensor) -> torch.Tensor:
    """The dense mask to add to scores: minus infinity where nothing is stored."""
    e = _added(entries(mask))
    return e.values.new_full(e.shape, -torch.inf).index_put(tuple(e.indices), e.values)

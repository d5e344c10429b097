"""Activations of more than one operand, and what is asked of every number."""

from __future__ import annotations

import torch

from ..tensor.sparsetensor import SparseTensor, partwise
from .writing import gather, values_at


@partwise
def glu(input: SparseTensor, dim: int = -1) -> SparseTensor:
    """``F.glu``: the first half, sparse, times what the sigmoid makes of the second there."""
    first, second = torch.chunk(input._whole()._unique(), 2, dim)
    return first._with_values(first.values() * torch.sigmoid(values_at(first, second)))


@partwise
def prelu(input: SparseTensor, weight: torch.Tensor) -> SparseTensor:
    """``F.prelu``: one slope, or one for each channel."""
    a = input._unique()
    if weight.numel() > 1:
        if a._ndim < 2 or weight.numel() != a.shape[1]:
            raise ValueError(
                f"prelu: expected a slope for each channel of {list(a.shape)}, got {weight.numel()}"
            )
        weight = gather(a, weight.view(-1, *(1 for _ in a.shape[2:])))
    values, weight = a.values(), weight.reshape(-1)
    if weight.shape == (1,) and weight.dtype == values.dtype:
        return a._with_values(torch.prelu(values, weight))
    return a._with_values(torch.where(values > 0, values, weight * values))


@partwise
def isfinite(input: SparseTensor) -> torch.Tensor:
    """``torch.isfinite``, dense: what is missing is finite."""
    a = input._unique()
    return a._with_values(~torch.isfinite(a.values())).to_dense().logical_not_()

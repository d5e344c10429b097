"""Losses. A missing entry counts as zero, as it does for the dense tensor.

A loss of a difference of two SparseTensors is one of what either stores. Of scores [N, classes, ...] that
are sparse, with classes as targets, no dense scores are made. Other losses, and targets that are dense, are
computed densely: the target is as large as the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

import torch
import torch.nn.functional as F

from .. import _torch
from ..tensor.entries import summed_type
from ..tensor.sparsetensor import SparseTensor
from .order import gather, logsumexp
from .reduce import sum_
from .running import beside_dense

_REDUCTIONS = ("none", "sum", "mean")


def of_difference(name: str) -> Callable:
    """``F.mse_loss`` or another that is a function of ``input - target``, and zero where they are equal."""
    plainly = getattr(F, name)
    names, densely = tuple(signature(plainly).parameters), beside_dense(plainly, name)

    def loss(*args: object, **kwargs: object) -> torch.Tensor:
        said = dict(zip(names, args, strict=False)) | kwargs
        input, target, reduction = said["input"], said["target"], said.get("reduction", "mean")
        sparse = all(isinstance(x, SparseTensor) for x in (input, target)) and input.shape == target.shape
        unknown = [said.get(x) for x in ("size_average", "reduce", "weight")]
        if not sparse or reduction not in _REDUCTIONS or unknown != [None, None, None]:
            return densely(*args, **kwargs)
        off = input - target
        if not isinstance(off, SparseTensor):  # of an input of the format dense
            return plainly(**said | {"input": off, "target": torch.zeros_like(off)})
        values = off.values()
        values = plainly(**said | {"input": values, "target": torch.zeros_like(values), "reduction": "none"})
        if reduction == "none":
            return off._with_values(values)
        return _summed(values, reduction, lambda wide: input.numel())

    return loss


def _summed(losses: torch.Tensor, reduction: str, count: Callable) -> torch.Tensor:
    """Their sum or mean, of half types formed in float32 as torch does: count is of such a type."""
    wide = summed_type(losses.dtype)
    total = losses.sum(dtype=wide)
    return (total if reduction == "sum" else total / count(wide)).to(losses.dtype)


# ---- of classes ----
def _picked(
    name: str, input: SparseTensor, target: torch.Tensor, weight: torch.Tensor | None, ignored: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The entry of each target's class, and its weight: 0 of targets that are ignored."""
    dim = min(input._ndim - 1, 1)
    wanted = input.shape[:dim] + input.shape[dim + 1 :]
    if target.is_floating_point() or target.shape != wanted:
        raise ValueError(f"{name}: expected classes {list(wanted)}, got {target.dtype} {list(target.shape)}")
    kept = target != ignored
    if not _torch.is_compiling() and bool((kept & (target < 0)).any()):
        raise IndexError(f"{name}: expected classes from 0 on, or {ignored}, got {int(target.min())}")
    at = torch.where(kept, target, 0).long()
    entry = gather(input, dim, at.unsqueeze(dim)).squeeze(dim)
    weights = torch.ones_like(entry) if weight is None else weight[at]
    return entry, weights * kept


def _reduced(losses: torch.Tensor, weights: torch.Tensor, reduction: str) -> torch.Tensor:
    if reduction == "none":
        return losses
    return _summed(losses, reduction, lambda wide: weights.sum(dtype=wide))


def nll_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """``F.nll_loss``."""
    plain = not isinstance(input, SparseTensor) or size_average is not None or reduce is not None
    if plain or not input.numel():  # of no scores nothing is gathered, which would not be recorded
        more = (weight, size_average, ignore_index, reduce, reduction)
        return beside_dense(F.nll_loss, "nll_loss")(input, target, *more)
    entry, weights = _picked("nll_loss", input, target, weight, ignore_index)
    return _reduced(-weights * torch.where(weights == 0, 0, entry), weights, reduction)


def cross_entropy(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """``F.cross_entropy``: missing scores are zeros; targets may be probabilities, as large as scores."""
    plain = not isinstance(input, SparseTensor) or size_average is not None or reduce is not None
    if plain or target.is_floating_point():
        more = (weight, size_average, ignore_index, reduce, reduction, label_smoothing)
        return beside_dense(F.cross_entropy, "cross_entropy")(input, target, *more)
    dim = min(input._ndim - 1, 1)
    entry, weights = _picked("cross_entropy", input, target, weight, ignore_index)
    total = logsumexp(input, dim)
    losses = weights * (total - entry)
    if label_smoothing:
        shape = [-1 if d == dim else 1 for d in range(input._ndim)]
        scores = input if weight is None else input * weight.view(shape)
        every = input.shape[dim] if weight is None else weight.sum()
        rest = (total * every - sum_(scores, dim).to_dense()) * (target != ignore_index)
        losses = (1 - label_smoothing) * losses + label_smoothing / input.shape[dim] * rest
    return _reduced(losses, weights, reduction)

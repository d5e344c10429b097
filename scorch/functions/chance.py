"""What is drawn by chance, and how often numbers come; what is missing counts as zero."""

from __future__ import annotations

import builtins
from collections.abc import Callable

import torch

from ..tensor.entries import Entries, build, counts, entries, places
from ..tensor.sparsetensor import SparseTensor, rank


# ---- draws ----
def bernoulli(
    input: SparseTensor, p: None = None, *, generator: torch.Generator | None = None
) -> SparseTensor:
    """``torch.bernoulli`` of stored probabilities; what is missing is never drawn."""
    if p is not None:
        raise NotImplementedError(
            "bernoulli: p= of every entry makes a dense tensor: use A.to_dense(), or A.bernoulli_(p)"
        )
    return input._with_values(torch.bernoulli(input.values(), generator=generator))


def poisson(input: SparseTensor, generator: torch.Generator | None = None) -> SparseTensor:
    """``torch.poisson`` of stored rates; what is missing stays zero."""
    return input._with_values(torch.poisson(input.values(), generator))


def feature_dropout(dims: int) -> Callable:
    """``F.dropout1d`` and its kin: whole channels [N, C, ...], or [C, ...] but in dropout2d, as in torch."""

    def dropped(
        input: SparseTensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> SparseTensor:
        if not 0 <= p <= 1 or inplace:
            raise ValueError(f"dropout{dims}d: expected p from 0 to 1 and inplace=False, got p={p}")
        if not training or p == 0:
            return input
        channels = input.shape[: 2 if dims == 2 or rank(input) > dims + 1 else 1]
        noise = input.values().new_empty(channels).bernoulli_(1 - p).div_(1 - p if p < 1 else 1)
        return input * noise.view(*channels, *[1] * (rank(input) - len(channels)))

    return dropped


def multinomial(
    input: SparseTensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """``torch.multinomial`` of weights that are stored, by rows; what is missing is never drawn.

    int64 [num_samples], or [rows, num_samples] of a matrix. Without replacement the largest quotients of a
    weight and an exponential number are drawn, as torch does; else places in the sums of rows.
    """
    if input._ndim not in (1, 2) or not input.is_floating_point():
        raise ValueError(
            f"multinomial: expected weights of a real type, a vector or a matrix of rows, got {input!r}"
        )
    extent, rows = input.shape[-1], input.shape[0] if input._ndim == 2 else 1
    if num_samples < 1 or (not replacement and num_samples > extent):
        raise ValueError(
            f"multinomial: expected num_samples from 1 to the extent {extent}, or replacement=True, "
            f"got {num_samples}"
        )
    row, column, weight = _drawable(input, rows, 1 if replacement else num_samples)
    if replacement:
        drawn = column[_places_in_sums(row, weight, rows, num_samples, generator)]
    else:
        quotients = weight / torch.empty_like(weight).exponential_(1, generator=generator)
        e = Entries((rows, extent), torch.stack([row, column]), quotients)
        drawn = build(e, "csr", torch.int64).topk(num_samples, 1)[1]
    return drawn if input._ndim == 2 else drawn[0]


def _drawable(input: SparseTensor, rows: int, least: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Row, column and weight in float64 of each entry above zero, of which each row has so many."""
    e = entries(input.detach())
    if not bool(((e.values >= 0) & e.values.isfinite()).all()):
        raise ValueError("multinomial: expected weights from 0 on, got one below, infinite or NaN")
    at = places(e.values > 0)
    row = (e.indices[0] if input._ndim == 2 else torch.zeros_like(e.indices[-1]))[at]
    found = counts(row, rows)
    if rows and int(found.min()) < least:
        raise ValueError(
            f"multinomial: expected {least} weights above zero in each row, or replacement=True and one, "
            f"got {int(found.min())} in row {int(found.argmin())}"
        )
    return row, e.indices[-1][at], e.values[at].double()


def _places_in_sums(
    row: torch.Tensor, weight: torch.Tensor, rows: int, n: int, generator: torch.Generator | None
) -> torch.Tensor:
    """Of each row n entries [rows, n], one as often as its weight says."""
    end, sums = counts(row, rows).cumsum(0), torch.cat([weight.new_zeros(1), weight.cumsum(0)])
    begin = torch.cat([end.new_zeros(1), end[:-1]])[:rows]
    below, above = sums[begin][:, None], sums[end][:, None]
    share = torch.rand(rows, n, dtype=torch.float64, generator=generator, device="cpu")
    at = torch.searchsorted(sums[1:], below + share * (above - below), right=True)
    return at.maximum(begin[:, None]).minimum(end[:, None] - 1)  # sums are rounded


# ---- how often numbers come ----
def _numbers(input: SparseTensor) -> tuple[torch.Tensor, int]:
    """The stored entries, and how many are missing."""
    values = entries(input.detach()).values
    return values, input.numel() - values.shape[0]


def unique(
    input: SparseTensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """``torch.unique`` of all entries, sorted: zero is one of them where one is missing."""
    if return_inverse or dim is not None:
        raise NotImplementedError(
            "unique: return_inverse= and dim= compare what is missing too: use A.to_dense(), or "
            "torch.unique of A.values()"
        )
    values, missing = _numbers(input)
    found, n = torch.unique(values, return_counts=True)
    if missing and not bool((found == 0).any()):
        at = int((found < 0).sum())
        found, n = (torch.cat([x[:at], x.new_zeros(1), x[at:]]) for x in (found, n))
    return (found, torch.where(found == 0, n + missing, n)) if return_counts else found


def histc(input: SparseTensor, bins: int = 100, min: float = 0, max: float = 0) -> torch.Tensor:
    """``torch.histc`` of all entries."""
    values, missing = _numbers(input)
    if min == max and values.numel():
        min, max = values.min().item(), values.max().item()
        min, max = (builtins.min(min, 0), builtins.max(max, 0)) if missing else (min, max)
    zero = torch.histc(values.new_zeros(1), bins, min, max)
    return torch.histc(values, bins, min, max) + zero * missing

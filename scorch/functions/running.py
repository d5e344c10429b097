"""Functions whose results are dense and as large as the tensor, whatever it stores; and differences.

A running sum is something at nearly every place behind the first entry, and so is what is normalised,
smoothed or transformed. The dense tensor is made for them, which is no larger than what they return.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..tensor import join
from ..tensor.index import axis, narrow
from ..tensor.sparsetensor import SparseTensor


def diff(
    input: SparseTensor,
    n: int = 1,
    dim: int = -1,
    prepend: torch.Tensor | None = None,
    append: torch.Tensor | None = None,
) -> torch.Tensor:
    """``torch.diff``, sparse."""
    a, dim = input, axis(dim, input._ndim)
    if prepend is not None or append is not None:
        a = join.cat([x for x in (prepend, a, append) if x is not None], dim)
    if not isinstance(a, SparseTensor):  # joined with a dense one
        return torch.diff(a, n, dim)
    for _ in range(min(n, a.shape[dim])):
        extent = a.shape[dim] - 1
        lower, upper = narrow(a, dim, 0, extent), narrow(a, dim, 1, extent)
        a = torch.logical_xor(upper, lower) if a.dtype == torch.bool else upper - lower
    return a


def dense_result(f: Callable) -> Callable:
    """f of the dense tensor, for functions whose results are dense and as large."""
    return lambda input, *args, **kwargs: f(input.to_dense(), *args, **kwargs)

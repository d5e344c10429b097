"""Functions that are given the dense tensor, because something dense is as large anyway; and differences.

A running sum is something at nearly every place behind the first entry, and so is what is normalised,
smoothed, transformed or factorised. The dense tensor is made for them, which is no larger than what they
return; and for functions beside a dense operand that is as large, such as losses.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

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
    if n < 1:
        if n < 0:
            raise ValueError(f"diff: expected n >= 0, got {n}")
        return input.clone()
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


_STATISTICS = {torch.batch_norm: 3, torch.instance_norm: 3, torch.native_batch_norm: 3}
_STATISTICS |= {F.batch_norm: 1, F.instance_norm: 1}  # where running statistics are among the arguments


def _refuse_statistics(f: Callable, args: tuple, kwargs: dict) -> None:
    """Of a SparseTensor, where f would write them, into the dense tensor that is made for it."""
    flag, at = "use_input_stats" if f.__name__ == "instance_norm" else "training", _STATISTICS[f]
    writes = args[5] if len(args) > 5 else kwargs.get(flag, f is F.instance_norm)
    kept = (*args[at : at + 2], kwargs.get("running_mean"), kwargs.get("running_var"))
    if writes and any(isinstance(x, SparseTensor) for x in kept):
        raise NotImplementedError(
            f"{f.__name__} writes running statistics, and their missing entries would not stay zero: use "
            f"running_mean.to_dense() and running_var.to_dense()"
        )


def dense_result(f: Callable) -> Callable:
    """f of the dense tensor, for functions whose results are dense and as large."""

    def call(*args: object, **kwargs: object) -> object:
        if f in _STATISTICS:
            _refuse_statistics(f, args, kwargs)
        return f(*_dense(args), **{name: _dense(x) for name, x in kwargs.items()})

    return call


def _dense(x: object) -> object:
    if isinstance(x, list | tuple):
        return type(x)(map(_dense, x))
    return x.to_dense() if isinstance(x, SparseTensor) else x


def _tensors(args: object) -> list[torch.Tensor]:
    if isinstance(args, torch.Tensor):
        return [args]
    return [x for arg in args for x in _tensors(arg)] if isinstance(args, list | tuple) else []


def beside_dense(f: Callable, name: str) -> Callable:
    """f of dense tensors, where a dense operand is as large as each SparseTensor; else it is refused."""
    made = dense_result(f)

    def call(*args: object, **kwargs: object) -> object:
        operands = _tensors((*args, *kwargs.values()))
        largest = max((x.numel() for x in operands if not isinstance(x, SparseTensor)), default=0)
        for a in operands:
            if isinstance(a, SparseTensor) and a.numel() > largest:
                raise NotImplementedError(
                    f"{name} computes densely, and a SparseTensor {list(a.shape)} would be made dense for "
                    f"it, which neither its result nor a dense operand is as large as: use A.to_dense()"
                )
        return made(*args, **kwargs)

    return call

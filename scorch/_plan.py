"""Looking ahead: how products with a tensor run, and having them ready before they count."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from . import _ops
from ._tensor import SparseTensor


def plan(A: SparseTensor, columns: int = 1) -> str:
    """How ``A @ x`` for x with this many columns would run: formats, loops with reasons, and the way.

    Raises: ValueError: A has less than two dimensions.
    """
    if A._ndim < 2:
        raise ValueError(f"plan: expected at least 2 dimensions, got {A._ndim}")
    dtype = A.dtype if A.dtype.is_floating_point else torch.get_default_dtype()
    batch = "abcdefgh"[: A._ndim - 2]
    x = torch.empty((*A.shape[:-2], A.shape[-1], columns), dtype=dtype)
    return _ops.explain(f"{batch}ij,{batch}jk->{batch}ik", A, x)


def optimize(A: SparseTensor, calls: Sequence[Callable[[SparseTensor], object]]) -> SparseTensor:
    """Makes calls fast from the first time on; returns A.

    Each call runs once, on A: its kernels are found or compiled, and the layouts derived from A are built and
    kept. ``A.memory()`` tells what they take, ``A.release()`` drops them.

    >>> A.optimize(calls=[lambda A: A @ x, lambda A: A.T @ g])
    """
    with torch.no_grad():
        for call in calls:
            call(A)
    return A


SparseTensor.plan, SparseTensor.optimize = plan, optimize

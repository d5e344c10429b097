"""Looking ahead: how products with a tensor run, and having them ready before they count."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from . import _ops
from ._tensor import SparseTensor, core_of


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


def optimize(A: SparseTensor, calls: int | Sequence[Callable[[SparseTensor], object]]) -> SparseTensor:
    """Makes products with A fast that will be many; returns A.

    Scorch counts products, and after a while uses layouts of A that take time to build but pay off. This
    says at once that they will. Each call runs once, on A: its kernels are found or compiled, and the layouts
    derived from A are built and kept. A number says how many products will come; from 16 on the next ones
    build what they need.
    ``A.memory()`` tells what layouts take, at most four times A, and ``A.release()`` drops them.

    >>> A.optimize(calls=[lambda A: A @ x, lambda A: A.T @ g])
    >>> A.optimize(calls=1000)
    """
    if isinstance(calls, int):
        if calls >= 16:
            core_of(A).expect()
        return A
    core_of(A).expect()
    with torch.no_grad():
        for call in calls:
            call(A)
    return A


SparseTensor.plan, SparseTensor.optimize = plan, optimize

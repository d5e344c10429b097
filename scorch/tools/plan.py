"""Looking ahead: how products with a tensor run, having them ready before they count, and what that takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ..functions.explanation import Explanation
from ..functions.expressions import explain
from ..tensor.sparsetensor import SparseTensor, core_of
from ..tensor.values import bytes_kept


def plan(A: SparseTensor, columns: int = 1) -> Explanation:
    """How ``A @ x`` for x with this many columns would run: see ``SparseTensor.plan``."""
    if A._ndim < 2:
        raise ValueError(f"plan: expected at least 2 dimensions, got {A._ndim}")
    dtype = A.dtype if A.dtype.is_floating_point else torch.get_default_dtype()
    batch = "abcdefgh"[: A._ndim - 2]
    x = torch.empty((*A.shape[:-2], A.shape[-1], columns), dtype=dtype)
    return explain(f"{batch}ij,{batch}jk->{batch}ik", A, x)


def optimize(A: SparseTensor, calls: int | Sequence[Callable[[SparseTensor], object]]) -> SparseTensor:
    """Makes products with A fast that will be many; returns A: see ``SparseTensor.optimize``."""
    if not isinstance(calls, int) or calls >= 16:
        for part in A.parts:
            core_of(part).expect()
    if isinstance(calls, int):
        return A
    with torch.no_grad():
        for call in calls:
            call(A)
    return A


def memory(A: SparseTensor) -> dict[str, object]:
    """Bytes of a tensor, and of the layouts that were derived from it and are kept."""
    tensor, derived = A.nbytes, {}
    core = A.__dict__.get("_core")
    derived |= dict(core.memory()[1]) if core is not None else {}
    for dims, other in A.__dict__.get("_relabelled", {}).items():
        derived |= {f"{name} of permute{dims}": n for name, n in other.memory()["derived"].items()}
    for (wide, added, _), kept in A.__dict__.get("_strips", {}).items():
        name = f"strips, float{64 if wide else 32}{', added' if added else ''}"
        made = sum(x.nbytes for x in (*kept.strips[:5], *kept.strips.turned, kept.place))
        derived[name] = derived.get(name, 0) + made
    derived |= bytes_kept(A)
    return {"tensor": tensor, "derived": derived, "total": tensor + sum(derived.values())}

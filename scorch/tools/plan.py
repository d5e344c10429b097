"""Looking ahead: how products with a tensor run, having them ready before they count, and what that takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch

from .. import _C
from ..functions import pairs
from ..functions.explanation import Explanation
from ..functions.expressions import explain
from ..tensor import rooms
from ..tensor.format import Format
from ..tensor.sparsetensor import SparseTensor, core_of, known_core
from ..tensor.values import bytes_kept


def plan(A: SparseTensor, columns: int = 1) -> Explanation:
    """How ``A @ x`` for x with this many columns would run: see ``SparseTensor.plan``."""
    if A._ndim < 2:
        raise ValueError(f"plan: expected at least 2 dimensions, got {A._ndim}")
    if not hasattr(columns, "__index__") or columns < 0:
        raise ValueError(f"plan: expected a number of columns, got {columns!r}")
    dtype = A.dtype if A.dtype.is_floating_point else torch.get_default_dtype()
    batch = "abcdefgh"[: A._ndim - 2]
    x = torch.empty((*A.shape[:-2], A.shape[-1], columns), dtype=dtype, device="cpu")
    text, core = explain(f"{batch}ij,{batch}jk->{batch}ik", A, x), known_core(A)
    if core is None or not _C.fills(core):
        return text
    return Explanation(
        f"{text}\n\nor, where that was measured to be faster\n    as the dense matrix", text.call
    )


def expect(A: SparseTensor) -> SparseTensor:
    """The same tensor, of which it is known that products with it will be many."""
    for part in A.parts:
        core_of(part).expect()
    return A


def optimize(
    A: SparseTensor,
    calls: int | Sequence[Callable[[SparseTensor], object]],
    format: str | Format | Sequence[str | Format] | None = None,
) -> SparseTensor:
    """Makes products with A fast that will be many: see ``SparseTensor.optimize``."""
    calls = _counted_or_listed(calls)
    if format is not None:
        _check(A, calls)
    if not isinstance(calls, int) or calls >= 16:
        expect(A)
    if isinstance(calls, int):
        return A
    with torch.no_grad():
        if format is not None:
            A = rooms.choice.fastest(A, calls, format)
        for call in calls:
            call(A)
            core = known_core(A)
            if core is not None and pairs.known(core):  # of which the second keeps a structure
                call(A), call(A)
            for _ in range(_C.fills(core) if core is not None else 0):
                call(A)
    return A


def _counted_or_listed(calls: object) -> int | list[Callable[[SparseTensor], object]]:
    """How many calls, or which."""
    if isinstance(calls, int) and not isinstance(calls, bool) and calls >= 0:
        return calls
    if isinstance(calls, Iterable) and all(map(callable, listed := list(calls))):
        return listed
    raise (ValueError if type(calls) is int else TypeError)(
        "optimize: expected how many products will come, as in calls=1000, or a list of functions, as in "
        f"calls=[lambda A: A @ x], got {calls!r}"
    )


def _check(A: SparseTensor, calls: object) -> None:
    """Of what a format can be chosen."""
    if isinstance(calls, int):
        raise ValueError(
            "optimize: formats are measured: expected calls, such as calls=[lambda A: A @ x], got a number"
        )
    if A.requires_grad:
        raise ValueError(
            "optimize: expected a tensor that requires no gradient, as autograd would not watch the one in "
            "another format: give A.detach()"
        )


def memory(A: SparseTensor) -> dict[str, object]:
    """Bytes of a tensor, and of the layouts that were derived from it and are kept."""
    tensor, derived = A.nbytes, {}
    core, turned = known_core(A), A.__dict__.get("_relabelled", {})
    if core is not None:
        for name, n in core.memory()[1]:  # of some formats two, one with values of its own
            derived[name] = derived.get(name, 0) + n
        for pair in pairs.known(core):
            if pair.nbytes:
                name = f"structure of a product with {list(pair.shape)}"
                derived[name] = derived.get(name, 0) + pair.nbytes
        # Another dict: the tensor's own are those of its values.
        turned = turned | core.shared().get("orders", {})
    for dims, other in turned.items():
        derived |= {f"{name} of permute{dims}": n for name, n in other.memory()["derived"].items()}
    for (wide, added, _), kept in A.__dict__.get("_strips", {}).items():
        name = f"strips, float{64 if wide else 32}{', added' if added else ''}"
        derived[name] = derived.get(name, 0) + kept.nbytes()
    derived |= bytes_kept(A)
    return {"tensor": tensor, "derived": derived, "total": tensor + sum(derived.values())}

"""Whether a call gives what it gave before: tensors, sparse ones too, in lists and dicts or alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from ..tensor.sparsetensor import SparseTensor

_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}


def parts(result: object) -> Iterator[object]:
    """Tensors of a result in the order they come; of a sparse one its format and components."""
    if isinstance(result, SparseTensor):
        yield result._fmt
        yield from (result.__dict__[name] for name in result._names)
    elif isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, (list, tuple)):
        for x in result:
            yield from parts(x)
    elif isinstance(result, dict):
        yield from parts(list(result.values()))
    else:
        yield result


def copy(result: object) -> list[object]:
    return [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in parts(result)]


def formats(parts: Sequence[object]) -> list[str]:
    """Of the sparse results."""
    return [x for x in parts if isinstance(x, str)]


def difference(parts: list[object], expected: list[object]) -> str:
    """What is not as in the first result, or nothing."""
    if len(parts) != len(expected):
        return f"{len(parts)} results instead of {len(expected)}"
    for got, want in zip(parts, expected, strict=True):
        if isinstance(want, torch.Tensor) != isinstance(got, torch.Tensor):
            return "a result of another kind"
        wrong = _unequal(got.detach(), want) if isinstance(want, torch.Tensor) else repr(got) * (got != want)
        if wrong:
            return wrong
    return ""


def _unequal(got: torch.Tensor, want: torch.Tensor) -> str:
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{tuple(got.shape)} of {got.dtype} instead of {tuple(want.shape)} of {want.dtype}"
    if not want.numel() or torch.equal(got, want):
        return ""
    if want.dtype not in _TOLERANCE:
        return "other numbers"
    finite = want[want.isfinite()]
    scale = finite.abs().max().item() if finite.numel() else 1.0
    allowed = _TOLERANCE[want.dtype]
    if torch.allclose(got, want, rtol=allowed, atol=allowed * scale, equal_nan=True):
        return ""
    return f"differs by up to {(got - want).abs().max().item():.3g}"

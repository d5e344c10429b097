"""What this machine can do, measured in the same run: a case cannot be faster than its flops at the peak of
the best dense product there is, torch's own or that of oneDNN inside torch, which differ by up to four times,
nor than its bytes at the bandwidth of memory. Gathered rows are counted once, so the bound is optimistic
where they are read again; data that fits a cache moves faster than memory does."""

from collections.abc import Callable
from functools import cache, partial

import torch
import torch.nn.functional as F

from examples.timing import interleave


def onednn(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """x @ w + bias by oneDNN, whatever library torch takes."""
    return torch.ops.mkldnn._linear_pointwise(x, w.T, bias, "none", [], "")


def has_onednn(dtype: torch.dtype) -> bool:
    """Whether oneDNN inside torch multiplies matrices of a type; those of bfloat16 need AVX-512."""
    if not torch.backends.mkldnn.is_available() or dtype is torch.float64:
        return False
    return dtype is not torch.bfloat16 or torch.ops.mkldnn._is_mkldnn_bf16_supported()


def products(x: torch.Tensor, w: torch.Tensor) -> dict[str, Callable[[], torch.Tensor]]:
    """The ways of torch to a dense x @ w, whose best is what a sparse program is compared with."""
    ways = {"torch": partial(F.linear, x, w.T)}
    if has_onednn(x.dtype):
        ways["oneDNN"] = partial(onednn, x, w)
    return ways


@cache
def peaks() -> tuple[float, float]:
    """Flops a second of the best float32 product of 2048 x 2048, bytes a second of a copy of 256 MB."""
    a = torch.randn(2048, 2048)
    big, out = torch.randn(32 << 20), torch.empty(32 << 20)
    times = interleave({**products(a, a), "copy": lambda: out.copy_(big)}, 1.0)
    copy = times.pop("copy").min
    return 2 * 2048**3 / min(t.min for t in times.values()), 2 * 4 * big.numel() / copy


def seconds(flops: float, traffic: float) -> float:
    """The least time of so many flops and bytes; 0 where neither is given."""
    compute, memory = peaks()
    return max(flops / compute, traffic / memory)

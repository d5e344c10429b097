"""What this machine can do, measured in the same run: a case cannot be faster than its flops at the peak of a
dense product, nor than its bytes at the bandwidth of memory. Gathered rows are counted once, so the bound is
optimistic where they are read again; data that fits a cache moves faster than memory does."""

from functools import cache

import torch

from examples.timing import interleave


@cache
def peaks() -> tuple[float, float]:
    """Flops a second of a float32 product of 2048 x 2048, bytes a second of a copy of 256 MB."""
    a = torch.randn(2048, 2048)
    big, out = torch.randn(32 << 20), torch.empty(32 << 20)
    times = interleave({"product": lambda: a @ a, "copy": lambda: out.copy_(big)}, 1.0)
    return 2 * 2048**3 / times["product"].min, 2 * 4 * big.numel() / times["copy"].min


def seconds(flops: float, traffic: float) -> float:
    """The least time of so many flops and bytes; 0 where neither is given."""
    compute, memory = peaks()
    return max(flops / compute, traffic / memory)

"""Attention under sparse masks, against what torch offers on the CPU."""

from collections.abc import Callable, Iterator
from functools import cache

import torch
import torch.nn.functional as F

import scorch
from benchmarks.data import Case
from examples.sparse_attention import band, bigbird, dense_attention, flex, three_steps

SIZES = ((1024, 8), (2048, 8), (4096, 4))  # tokens, heads
WINDOW, WIDTH, MOST_DENSE = 256, 64, 2048


def with_global(tokens: int, first: bool) -> torch.Tensor:
    """A band, and 64 tokens that see and are seen by all: the first ones, or anywhere."""
    order = torch.randperm(tokens, generator=torch.Generator().manual_seed(0))
    mask = band(tokens, WINDOW)
    chosen = torch.arange(64) if first else order[:64]
    mask[chosen], mask[:, chosen] = True, True
    return mask


def strided(tokens: int, stride: int) -> torch.Tensor:
    """Causal: the last tokens, and of all before them every stride-th one."""
    back = torch.arange(tokens)[:, None] - torch.arange(tokens)
    return (back >= 0) & ((back < stride) | (back % stride == 0))


MASKS = {
    "band": lambda tokens: band(tokens, WINDOW),
    "64 first tokens see all": lambda tokens: with_global(tokens, True),
    "64 tokens anywhere see all": lambda tokens: with_global(tokens, False),
    "strides of 64": lambda tokens: strided(tokens, 64),
    "strides of 128": lambda tokens: strided(tokens, 128),
    "BigBird": lambda tokens: bigbird(tokens, WINDOW),
    "scattered": lambda tokens: torch.rand(tokens, tokens, generator=torch.Generator().manual_seed(0)) < 0.03,
}
PEERS = ("torch flex", "torch chunks", "torch dense mask", "Scorch, three steps")


def in_chunks(tokens: int, window: int) -> Callable:
    """Band attention as people write it by hand: dense attention of chunks with the keys around them."""
    half = window // 2
    row, column = torch.arange(window)[:, None], torch.arange(2 * window) - half
    place = torch.arange(0, tokens, window)[:, None, None] + column
    seen = ((row - column).abs() <= half) & (place >= 0) & (place < tokens)

    def around(x: torch.Tensor) -> torch.Tensor:
        return F.pad(x, (0, 0, half, half)).unfold(1, 2 * window, window).mT

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        chunks = q.unflatten(1, (-1, window))
        return F.scaled_dot_product_attention(chunks, around(k), around(v), attn_mask=seen).flatten(1, 2)

    return attend


@cache
def _flex(tokens: int, name: str) -> Callable:
    return flex(MASKS[name](tokens))


def _forward(name: str, mask: torch.Tensor, heads: int, dtype: torch.dtype) -> Case:
    tokens = len(mask)
    q, k, v = torch.randn(3, heads, tokens, WIDTH).to(dtype)
    A, flexible = scorch.sparse(mask), _flex(tokens, name)
    calls = {"torch flex": torch.no_grad()(lambda: flexible(q, k, v, mask))}
    if name == "band":
        chunked = in_chunks(tokens, WINDOW)
        calls["torch chunks"] = lambda: chunked(q, k, v)
    if tokens <= MOST_DENSE:
        calls["torch dense mask"] = lambda: dense_attention(q, k, v, mask)
    if dtype == torch.float32:
        stack = torch.stack([A.float()] * heads)
        calls["Scorch, three steps"] = lambda: three_steps(q, k, v, stack)
    calls["Scorch"] = lambda: scorch.attention(q, k, v, A)
    fair = tuple(peer for peer in PEERS if peer in calls)
    work = {"flops": 4 * A.nnz * WIDTH * heads, "traffic": 4 * q.numel() * q.element_size()}
    title = f"{name}, {tokens} x {heads}, {str(dtype)[6:]}"
    return Case(title, calls, {"Scorch": fair}, same=dtype == torch.float32, **work)


def _backward(mask: torch.Tensor, heads: int) -> Case:
    tokens = len(mask)
    inputs = [x.requires_grad_() for x in torch.randn(3, heads, tokens, WIDTH)]
    grad, A, chunked = torch.randn(heads, tokens, WIDTH), scorch.sparse(mask), in_chunks(tokens, WINDOW)
    stack = torch.stack([A.float()] * heads)
    ways = {
        "torch chunks": chunked,
        "torch dense mask": lambda q, k, v: dense_attention(q, k, v, mask),
        "Scorch, three steps": lambda q, k, v: three_steps(q, k, v, stack),
        "Scorch": lambda q, k, v: scorch.attention(q, k, v, A),
    }
    if tokens > MOST_DENSE:
        del ways["torch dense mask"]
    calls = {
        name: (lambda attend=attend: torch.cat(torch.autograd.grad(attend(*inputs), inputs, grad)))
        for name, attend in ways.items()
    }
    fair = tuple(peer for peer in PEERS if peer in calls)
    return Case(f"band, {tokens} x {heads}, forward and backward", calls, {"Scorch": fair})


def attention(root: str | None) -> Iterator[Case]:
    """softmax(Q K^T) V under a band of 256 tokens, BigBird's mask, tokens that see all, strides, and 3 %
    of all entries; heads of 64.
    """
    for tokens, heads in SIZES:
        for dtype in (torch.float32, torch.bfloat16):
            yield _forward("band", MASKS["band"](tokens), heads, dtype)
    for name in list(MASKS)[1:-1]:
        yield _forward(name, MASKS[name](4096), 4, torch.float32)
    yield _forward("scattered", MASKS["scattered"](2048), 8, torch.float32)
    for tokens, heads in SIZES:
        yield _backward(MASKS["band"](tokens), heads)

"""A transformer encoder layer whose attention has a sparse mask: a band, or BigBird's (Zaheer et al., 2020).

    python examples/sparse_attention.py --compare                 # 512, 1024 and 2048 tokens, window 64
    python examples/sparse_attention.py --mask bigbird --tokens 4096 --window 128 --compare
    python examples/sparse_attention.py --compare --flex          # and against compiled flex_attention

What a user changes: the mask is a SparseTensor, and so attention computes what it lets through only.

    -y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    +y = scorch.attention(q, k, v, scorch.sparse(mask))
"""

import argparse
import copy
import sys
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

import scorch
from timing import compare


def three_steps(q, k, v, mask):
    """q, k, v [heads, tokens, width], mask a SparseTensor [heads, tokens, tokens] of ones -> like v

    What attention is made of; scorch.attention does it in one pass, and without keeping scores.
    """
    scores = scorch.sddmm(mask, q * q.shape[-1] ** -0.5, k)
    return scorch.softmax(scores) @ v


def dense_attention(q, k, v, mask):
    """The same with a dense mask of bool [tokens, tokens]."""
    return F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask)[0]


def flex(mask: torch.Tensor) -> Callable:
    """torch's compiled attention, over blocks of 128 tokens; on the CPU it has no backward pass."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    n, compiled = len(mask), torch.compile(flex_attention)
    blocks = create_block_mask(lambda b, h, i, j: mask[i, j], None, None, n, n, device="cpu")
    return lambda q, k, v, _: compiled(q[None], k[None], v[None], block_mask=blocks)[0]


class EncoderLayer(nn.Module):
    """Attention and a feed-forward layer, each behind a norm and beside a residual."""

    def __init__(self, width: int, heads: int, attention: Callable, mask: torch.Tensor):
        super().__init__()
        self.heads, self.attention, self.mask = heads, attention, mask
        self.qkv, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [tokens, width] -> [tokens, width]"""
        parts = self.qkv(self.norm1(x)).unflatten(1, (3, self.heads, -1)).permute(1, 2, 0, 3)
        y = self.attention(*parts.contiguous(), self.mask)  # [heads, tokens, width / heads]
        x = x + self.mix(y.transpose(0, 1).flatten(1))
        return x + self.feed(self.norm2(x))


def band(tokens: int, window: int) -> torch.Tensor:
    """Each token sees those at most window / 2 away, as in Longformer. [tokens, tokens] bool"""
    place = torch.arange(tokens)
    return (place[:, None] - place).abs() <= window // 2


def bigbird(tokens: int, window: int, block: int = 16, seed: int = 0) -> torch.Tensor:
    """A band, two random blocks a block of rows, and a first block that sees and is seen by all."""
    blocks = -(-tokens // block)
    random = torch.Generator().manual_seed(seed)
    seen = torch.zeros(blocks, blocks, dtype=torch.bool)
    seen.scatter_(1, torch.randint(blocks, (blocks, 2), generator=random), True)
    seen[0], seen[:, 0] = True, True
    seen = seen.repeat_interleave(block, 0).repeat_interleave(block, 1)[:tokens, :tokens]
    return seen | band(tokens, window)


MASKS = {"band": band, "bigbird": bigbird}


def candidates(mask: torch.Tensor, width: int, heads: int, with_flex: bool) -> dict[str, EncoderLayer]:
    """Layers by name, all with the same weights."""
    ours = scorch.sparse(mask)
    ways = {
        "torch, dense mask": (dense_attention, mask),
        "torch, flex": (flex(mask) if with_flex else None, mask),
        "Scorch, three steps": (three_steps, torch.stack([ours.float()] * heads)),
        "Scorch": (scorch.attention, ours),
    }
    first = EncoderLayer(width, heads, dense_attention, mask)
    layers = {name: copy.deepcopy(first) for name, (attention, _) in ways.items() if attention}
    for name, layer in layers.items():
        layer.attention, layer.mask = ways[name]
    return layers


def step(layer: EncoderLayer, x: torch.Tensor) -> torch.Tensor:
    """Forward and backward; the gradients, flat."""
    layer.zero_grad()
    layer(x).square().mean().backward()
    return torch.cat([p.grad.flatten() for p in layer.parameters()])


def attentions(layers: dict[str, EncoderLayer], tokens: int, width: int, heads: int) -> dict:
    """Calls of the attention alone."""
    q, k, v = torch.randn(3, heads, tokens, width // heads)
    return {n: (lambda layer=layer: layer.attention(q, k, v, layer.mask)) for n, layer in layers.items()}


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mask", choices=list(MASKS), default="band")
    parser.add_argument("--tokens", type=int, nargs="+", default=[512, 1024, 2048])
    parser.add_argument(
        "--window", type=int, default=64, help="tokens that a token sees, both sides together"
    )
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--compare", action="store_true", help="time dense attention and Scorch")
    parser.add_argument("--flex", action="store_true", help="also torch's flex_attention, compiled (seconds)")
    parser.add_argument("--seconds", type=float, default=2.0, help="time to spend on each comparison")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    agree = True
    for tokens in args.tokens:
        torch.manual_seed(0)
        mask = MASKS[args.mask](tokens, args.window)
        layers = candidates(mask, args.width, args.heads, args.flex)
        x, ours = torch.randn(tokens, args.width), layers["Scorch"]
        with torch.no_grad():
            print(f"{tokens} tokens: {list(ours(x).shape)}, mask = {ours.mask}\n")
            if not args.compare:
                continue
            calls = attentions(layers, tokens, args.width, args.heads)
            agree &= compare(f"{tokens} tokens, attention", calls, args.seconds)
            calls = {n: (lambda layer=layer, x=x: layer(x)) for n, layer in layers.items()}
            agree &= compare(f"{tokens} tokens, layer", calls, args.seconds)
        layers.pop("torch, flex", None)
        calls = {n: (lambda layer=layer, x=x: step(layer, x)) for n, layer in layers.items()}
        agree &= compare(f"{tokens} tokens, forward and backward", calls, args.seconds, tolerance=1e-3)
    if args.compare:
        print("all agree" if agree else "RESULTS DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())

"""A feed-forward network whose activations are mostly zero: the zeros are found in each call.

    python examples/relu_ffn.py --compare                                # 512 tokens, several shares of zeros
    python examples/relu_ffn.py --tokens 1 8 64 --zeros 0.9 --compare

What a user changes:

    -y = second(first(x).relu())
    +y = second(scorch.dynamic(first(x).relu()))

Models with ReLU, or made to have it, have 80 to 97 zeros in a hundred there. Here a bias makes as many as are
asked for.
"""

import argparse
import sys

import torch
from torch import nn

import scorch
from timing import compare


class FeedForward(nn.Module):
    def __init__(self, features: int, hidden: int, dynamic: bool = False):
        super().__init__()
        self.first, self.second = nn.Linear(features, hidden), nn.Linear(hidden, features)
        self.dynamic = dynamic
        if dynamic:  # the same weight along columns, which are what is read: pays with few tokens
            self.second.weight.data = self.second.weight.data.T.contiguous().T

    def activations(self, x: torch.Tensor) -> torch.Tensor:
        """x [tokens, features] -> [tokens, hidden]"""
        return self.first(x).relu()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [tokens, features] -> [tokens, features]"""
        h = self.activations(x)
        return self.second(scorch.dynamic(h) if self.dynamic else h)


def networks(features: int, hidden: int, zeros: float, x: torch.Tensor) -> dict[str, FeedForward]:
    """By name, with the same weights; of the activations of x this share is zero."""
    torch.manual_seed(1)
    made = {"torch": FeedForward(features, hidden), "Scorch": FeedForward(features, hidden, dynamic=True)}
    with torch.no_grad():
        first = made["torch"].first
        sample = (x @ first.weight.T).flatten()[: 1 << 20]
        first.bias.fill_(-float(sample.sort().values[round(zeros * (sample.numel() - 1))]))
    made["Scorch"].load_state_dict(made["torch"].state_dict())
    return made


def look(made: dict[str, FeedForward], x: torch.Tensor, seconds: float | None) -> bool:
    """Whether the networks agree; says what is zero, which way was taken, and, if asked for, times."""
    h = made["torch"].activations(x)
    share = 1 - h.count_nonzero().item() / h.numel()
    way = scorch.dynamic(h).way(made["Scorch"].second.weight.T)
    print(f"{len(x)} tokens: {share:.1%} of {h.shape[1]} activations are zero; by {way}")
    expected, got = (net(x) for net in made.values())
    agree = torch.allclose(got, expected, rtol=1e-4, atol=1e-4)
    if seconds is None:
        return agree
    second = {
        "torch": lambda: made["torch"].second(h),
        "Scorch": lambda: made["Scorch"].second(scorch.dynamic(h)),
    }
    both = {name: lambda net=net: net(x) for name, net in made.items()}
    return agree & compare("both layers", both, seconds) & compare("second layer", second, seconds)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, nargs="+", default=[512])
    parser.add_argument("--features", type=int, default=768)
    parser.add_argument("--hidden", type=int, default=3072)
    parser.add_argument("--zeros", type=float, nargs="+", default=[0.8, 0.9, 0.95])
    parser.add_argument("--compare", action="store_true", help="time it against the dense network")
    parser.add_argument("--seconds", type=float, default=1.0, help="per comparison")
    args = parser.parse_args(argv)
    agree = True
    for tokens in args.tokens:
        torch.manual_seed(0)
        x = torch.randn(tokens, args.features)
        for zeros in args.zeros:
            made = networks(args.features, args.hidden, zeros, x)
            with torch.no_grad():
                agree &= look(made, x, args.seconds if args.compare else None)
    print("all agree" if agree else "they differ")
    return not agree


if __name__ == "__main__":
    sys.exit(main())

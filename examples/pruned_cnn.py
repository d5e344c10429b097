"""A character-level CNN (in the manner of Zhang et al., 2015), pruned in torch and run with sparse weights.

    python examples/pruned_cnn.py --compare
    python examples/pruned_cnn.py --sparsity 0.95 --channels 512 --compare

The network learns which of four generated languages a text is in. A convolution is a product with windows of
the text (unfold, then a linear layer). Its layers are pruned and trained on with torch.nn.utils.prune; then:

    -logits = net(text)                                 # dense products with weights that are mostly zero
    +logits = sparse(net)(text)                         # each nn.Linear -> scorch.nn.Linear.from_dense
"""

import argparse
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import prune

import scorch.nn
from timing import compare

LETTERS, LANGUAGES = 32, 4


class Conv(nn.Module):
    """A convolution along the text, as a linear layer on windows."""

    def __init__(self, inputs: int, outputs: int, width: int):
        super().__init__()
        self.width, self.linear = width, nn.Linear(inputs * width, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [batch, length, inputs] -> [batch, length - width + 1, outputs]"""
        windows = x.unfold(1, self.width, 1)  # [batch, places, inputs, width]
        return self.linear(windows.reshape(*windows.shape[:2], -1))


class CharCNN(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.embed = nn.Embedding(LETTERS, 16)
        self.conv1, self.conv2 = Conv(16, channels, 7), Conv(channels, channels, 3)
        self.hidden, self.out = nn.Linear(channels, channels), nn.Linear(channels, LANGUAGES)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        """text [batch, length] int64 -> logits [batch, LANGUAGES]"""
        x = torch.relu(self.conv1(self.embed(text)))
        x = F.max_pool1d(x.mT, 3).mT
        x = torch.relu(self.conv2(x)).amax(1)
        return self.out(torch.relu(self.hidden(x)))


def prunable(net: CharCNN) -> list[nn.Linear]:
    return [net.conv1.linear, net.conv2.linear, net.hidden]


def sparse(net: CharCNN) -> CharCNN:
    """The same network, pruned layers in sparse storage."""
    twin = CharCNN(net.hidden.out_features)
    twin.embed, twin.out = net.embed, net.out
    twin.conv1.linear = scorch.nn.Linear.from_dense(net.conv1.linear)
    twin.conv2.linear = scorch.nn.Linear.from_dense(net.conv2.linear)
    twin.hidden = scorch.nn.Linear.from_dense(net.hidden)
    return twin


def texts(count: int, length: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Texts [count, length] and their languages [count]; a language says which letter follows which."""
    tables = torch.rand(LANGUAGES, LETTERS, LETTERS, generator=torch.Generator().manual_seed(0)) ** 6
    random = torch.Generator().manual_seed(seed)
    language = torch.randint(LANGUAGES, (count,), generator=random)
    letter = torch.randint(LETTERS, (count,), generator=random)
    text = [letter]
    for _ in range(length - 1):
        text.append(torch.multinomial(tables[language, text[-1]], 1, generator=random)[:, 0])
    return torch.stack(text, 1), language


def train(net: CharCNN, length: int, steps: int) -> None:
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(steps):
        text, language = texts(32, length, seed=step + 1)
        optimizer.zero_grad()
        F.cross_entropy(net(text), language).backward()
        optimizer.step()


def accuracy(net: CharCNN, length: int) -> float:
    text, language = texts(200, length, seed=10**6)
    with torch.no_grad():
        return (net(text).argmax(1) == language).float().mean().item()


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sparsity", type=float, default=0.9)
    parser.add_argument("--channels", type=int, default=256)
    parser.add_argument("--length", type=int, default=64, help="of the texts")
    parser.add_argument("--batch", type=int, default=32, help="texts that are classified in one call")
    parser.add_argument("--steps", type=int, default=40, help="of training, before and after pruning")
    parser.add_argument("--compare", action="store_true", help="time dense torch and Scorch")
    parser.add_argument("--seconds", type=float, default=3.0, help="time to spend on the comparison")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    torch.manual_seed(0)
    net = CharCNN(args.channels)
    train(net, args.length, args.steps)
    print(f"dense: accuracy {accuracy(net, args.length):.1%}")
    for layer in prunable(net):
        prune.l1_unstructured(layer, "weight", amount=args.sparsity)
    print(f"sparsity {args.sparsity}: accuracy {accuracy(net, args.length):.1%}", end="")
    train(net, args.length, args.steps)
    print(f", trained on {accuracy(net, args.length):.1%}")
    ours = sparse(net)
    print(f"{ours.conv2.linear}: accuracy {accuracy(ours, args.length):.1%}\n")
    if not args.compare:
        return 0
    for layer in prunable(net):
        prune.remove(layer, "weight")
    text, _ = texts(args.batch, args.length, seed=0)
    with torch.no_grad():
        calls = {"torch dense": lambda: net(text), "Scorch": lambda: ours(text)}
        agree = compare("inference", calls, args.seconds)
    print("all logits agree" if agree else "LOGITS DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())

"""Training from sparse to sparse: RigL (Evci et al., 2020) drops small weights and grows at large gradients.

    python examples/sparse_training.py --compare
    python examples/sparse_training.py --hidden 4096 --sparsity 0.98 --compare

What a user changes, where weights are dense and masked:

    -layer = nn.Linear(features, hidden); ... F.linear(x, layer.weight * mask, layer.bias)
    +layer = scorch.nn.Linear(features, hidden, density=1 - sparsity)
    -mask = new; layer.weight.data *= mask; optimizer.state[layer.weight]["momentum_buffer"] *= mask
    +layer.set_pattern(new, optimizer)

Gradients of all weights, stored or not, are needed at updates alone: a forward hook computes them there.
"""

import argparse
import sys
from copy import deepcopy
from math import cos, pi
from time import perf_counter

import torch
from torch import nn
from torch.nn import functional as F

import scorch.nn
from timing import human, interleave, show


class Masked(nn.Linear):
    """The twin in plain torch: a dense weight times a mask."""

    def __init__(self, layer: scorch.nn.Linear):
        super().__init__(layer.in_features, layer.out_features)
        self.register_buffer("mask", stored(layer))
        with torch.no_grad():
            self.weight.copy_(layer.weight.to_dense())
            self.bias.copy_(layer.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight * self.mask, self.bias)

    def set_pattern(self, mask: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
        """What scorch.nn.Linear.set_pattern does."""
        kept = mask & self.mask
        with torch.no_grad():
            self.weight.mul_(kept)
            for state in optimizer.state.get(self.weight, {}).values():
                if isinstance(state, torch.Tensor) and state.shape == mask.shape:
                    state.mul_(kept)
        self.mask.copy_(mask)


class Net(nn.Sequential):
    """Hidden layers with sparse weights, and a dense one at the end."""

    def __init__(self, features: int, hidden: int, classes: int, density: float):
        sparse = [scorch.nn.Linear(n, hidden, density=density) for n in (features, hidden)]
        super().__init__(sparse[0], nn.ReLU(), sparse[1], nn.ReLU(), nn.Linear(hidden, classes))


def masked(net: Net) -> nn.Sequential:
    """The twin of a network, with the same weights."""
    last = nn.Linear(net[4].in_features, net[4].out_features)
    last.load_state_dict(net[4].state_dict())
    return nn.Sequential(Masked(net[0]), nn.ReLU(), Masked(net[2]), nn.ReLU(), last)


# ---- patterns ----
def stored(layer: scorch.nn.Linear) -> torch.Tensor:
    """Which entries are stored, [out, in] bool."""
    weight = layer.weight.detach()
    return weight._with_values(torch.ones_like(weight.values())).to_dense().bool()


def rigl(weight: torch.Tensor, mask: torch.Tensor, gradient: torch.Tensor, share: float) -> torch.Tensor:
    """Another mask of as many entries: a share of them, those of the smallest weights, moves to the largest
    gradients."""
    count = int(share * int(mask.sum()))
    kept = mask.clone().view(-1)
    kept[weight.abs().masked_fill(~mask, torch.inf).view(-1).topk(count, largest=False).indices] = False
    kept[gradient.abs().view(-1).masked_fill(kept, -1).topk(count).indices] = True
    return kept.view_as(mask)


class DenseGradients:
    """While it is entered, backward passes leave the gradients to whole weights, dL/dy^T x, in ``found``."""

    def __init__(self, layers: list[nn.Module]):
        self.layers, self.found, self.hooks = layers, {}, []

    def __enter__(self) -> "DenseGradients":
        self.hooks = [layer.register_forward_hook(self._watch) for layer in self.layers]
        return self

    def _watch(self, layer: nn.Module, args: tuple, y: torch.Tensor) -> None:
        x = args[0].detach()
        y.register_hook(lambda grad: self.found.update({layer: grad.T @ x}))

    def __exit__(self, *_: object) -> None:
        for hook in self.hooks:
            hook.remove()


# ---- training ----
class Training:
    """Gradient descent with momentum on the cross entropy."""

    def __init__(self, net: nn.Sequential, x: torch.Tensor, labels: torch.Tensor, batch: int):
        self.net, self.data = net, list(zip(x.split(batch), labels.split(batch), strict=True))
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        self.layers, self.turn = [net[0], net[2]], 0

    def step(self) -> torch.Tensor:
        """The loss before the step."""
        x, labels = self.data[self.turn % len(self.data)]
        self.turn += 1
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.net(x), labels)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def patterns(self, share: float) -> list[torch.Tensor]:
        """RigL's next pattern of each layer, by the gradients of one batch."""
        with DenseGradients(self.layers) as gradients:
            x, labels = self.data[self.turn % len(self.data)]
            F.cross_entropy(self.net(x), labels).backward()
        masks = []
        for layer in self.layers:
            weight = layer.weight.detach().to_dense()
            masks.append(rigl(weight, stored(layer), gradients.found[layer], share))
        return masks

    def take(self, patterns: list[torch.Tensor]) -> None:
        for layer, mask in zip(self.layers, patterns, strict=True):
            layer.set_pattern(mask, self.optimizer)


def train(training: dict[str, Training], steps: int, every: int) -> tuple[dict[str, torch.Tensor], list]:
    """The loss curves of networks that take the patterns of "Scorch"; (RigL, set_pattern) seconds of updates.

    A cosine takes the share of weights that move from 0.3 to 0 in the first three quarters of the steps.
    """
    curves, seconds, end = {name: [] for name in training}, [], 3 * steps // 4
    for step in range(steps):
        if step and step % every == 0 and step < end:
            start = perf_counter()
            patterns = training["Scorch"].patterns(0.15 * (1 + cos(pi * step / end)))
            between = perf_counter()
            training["Scorch"].take(patterns)
            seconds.append((between - start, perf_counter() - between))
            for name in training.keys() - {"Scorch"}:
                training[name].take(patterns)
        for name, t in training.items():
            curves[name].append(t.step())
    return {name: torch.stack(curve) for name, curve in curves.items()}, seconds


def samples(count: int, features: int, classes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points, and the classes that a network gives them which sees a tenth of the features."""
    x, seen = torch.randn(count, features), features // 10 + 1
    hidden = torch.relu(x[:, :seen] @ torch.randn(seen, 64) / seen**0.5)
    return x, (hidden @ torch.randn(64, classes)).argmax(1)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=int, default=512)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--sparsity", type=float, default=0.95)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=200, help="of training")
    parser.add_argument("--every", type=int, default=20, help="steps from one pattern to the next")
    parser.add_argument("--compare", action="store_true", help="train and time the masked dense twin too")
    parser.add_argument("--seconds", type=float, default=2.0, help="time to spend on the comparison")
    return parser.parse_args(argv)


def agree(nets: dict[str, nn.Sequential], data: tuple, args: argparse.Namespace) -> bool:
    """Whether the loss curves are the same to rounding. In float64: training magnifies what rounds off."""
    x, labels = data
    exact = {
        name: Training(deepcopy(net).double(), x.double(), labels, args.batch) for name, net in nets.items()
    }
    curves, _ = train(exact, args.steps, args.every)
    difference = max((curve - curves["Scorch"]).abs().max().item() for curve in curves.values())
    print(f"largest difference of the loss curves in float64 {difference:.1e}")
    return difference <= 1e-9


def report(layers: list[scorch.nn.Linear], before: list[torch.Tensor], seconds: list) -> None:
    """What the updates moved, and what they took."""
    pairs = list(zip(before, layers, strict=True))
    moved = [1 - int((mask & stored(layer)).sum()) / int(mask.sum()) for mask, layer in pairs]
    print(f"{len(seconds)} new patterns moved {moved[0]:.0%} and {moved[1]:.0%} of the stored weights")
    if seconds:
        found, taken = (min(s) for s in zip(*seconds, strict=True))
        print(f"an update takes {human(found + taken)}, set_pattern {human(taken)} of it")


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    torch.manual_seed(0)
    data = samples(8 * args.batch, args.features, args.classes)
    net = Net(args.features, args.hidden, args.classes, 1 - args.sparsity)
    nets = {"torch dense, masks": masked(net), "Scorch": net} if args.compare else {"Scorch": net}
    same = not args.compare or agree(nets, data, args)
    training = {name: Training(n, *data, args.batch) for name, n in nets.items()}
    layers = training["Scorch"].layers
    before = [stored(layer) for layer in layers]
    curves, seconds = train(training, args.steps, args.every)
    print(f"loss {curves['Scorch'][0]:.3f} -> {curves['Scorch'][-1]:.3f} in {args.steps} steps")
    report(layers, before, seconds)
    if args.compare:
        print()
        show("training step", interleave({n: t.step for n, t in training.items()}, args.seconds))
        print("all agree" if same else "RESULTS DIFFER")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())

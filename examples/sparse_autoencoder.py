"""An autoencoder with sparse weights: inference, and training of the stored values.

    python examples/sparse_autoencoder.py --compare                         # 1024 / 512, several sparsities
    python examples/sparse_autoencoder.py --features 4096 --hidden 2048 --sparsity 0.95 --compare

What a user changes, where a pattern is kept through masks (as torch.nn.utils.prune does):

    -encoder = nn.Linear(features, hidden); prune.random_unstructured(encoder, "weight", sparsity)
    +encoder = scorch.nn.Linear(features, hidden, density=1 - sparsity)

or, from a layer that is pruned already, ``scorch.nn.Linear.from_dense(encoder)``, as here.
"""

import argparse
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import prune

import scorch.nn
from timing import compare


class Autoencoder(nn.Module):
    def __init__(self, encoder: nn.Module, decoder: nn.Module):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [batch, features] -> [batch, features]"""
        return self.decoder(torch.relu(self.encoder(x)))


def masked(features: int, hidden: int, sparsity: float) -> Autoencoder:
    """Dense weights times masks, in plain torch."""
    net = Autoencoder(nn.Linear(features, hidden), nn.Linear(hidden, features))
    for layer in (net.encoder, net.decoder):
        prune.random_unstructured(layer, "weight", amount=sparsity)
    return net


def in_scorch(net: Autoencoder) -> Autoencoder:
    return Autoencoder(*(scorch.nn.Linear.from_dense(x) for x in (net.encoder, net.decoder)))


def dense(net: Autoencoder) -> Autoencoder:
    """The masks multiplied into the weights, for good."""
    made = Autoencoder(*(nn.Linear(x.in_features, x.out_features) for x in (net.encoder, net.decoder)))
    with torch.no_grad():
        for layer, pruned in ((made.encoder, net.encoder), (made.decoder, net.decoder)):
            layer.weight.copy_(pruned.weight_orig * pruned.weight_mask)
            layer.bias.copy_(pruned.bias)
    return made


class TorchLinear(nn.Module):
    """A linear layer on torch's CSR; its stored values train."""

    def __init__(self, layer: nn.Linear):
        super().__init__()
        self.weight = nn.Parameter((layer.weight_orig * layer.weight_mask).detach().to_sparse_csr())
        self.bias = nn.Parameter(layer.bias.detach().clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.weight @ x.T).T + self.bias


def candidates(features: int, hidden: int, sparsity: float) -> dict[str, Autoencoder]:
    """Networks by name, all with the same weights."""
    net = masked(features, hidden, sparsity)
    return {
        "torch dense, masks": net,
        "torch dense": dense(net),
        "torch.sparse CSR": Autoencoder(TorchLinear(net.encoder), TorchLinear(net.decoder)),
        "Scorch": in_scorch(net),
    }


class Training:
    """Steps of gradient descent with momentum on the mean squared error."""

    def __init__(self, net: Autoencoder, x: torch.Tensor):
        self.net, self.x = net, x
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)

    def step(self) -> torch.Tensor:
        """The loss before the step."""
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.net(self.x), self.x)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def samples(count: int, features: int) -> torch.Tensor:
    """Points [count, features] near a space of 16 dimensions."""
    return torch.tanh(torch.randn(count, 16) @ torch.randn(16, features) / 4) + 0.05 * torch.randn(
        count, features
    )


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=int, default=1024)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--sparsity", type=float, nargs="+", default=[0.5, 0.9, 0.95, 0.99])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20, help="of training")
    parser.add_argument("--compare", action="store_true", help="time dense torch, torch.sparse and Scorch")
    parser.add_argument("--seconds", type=float, default=2.0, help="time to spend on each comparison")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    agree = True
    for sparsity in args.sparsity:
        torch.manual_seed(0)
        x = samples(args.batch, args.features)
        nets = candidates(args.features, args.hidden, sparsity)
        if args.compare:
            with torch.no_grad():
                calls = {n: (lambda net=net, x=x: net(x)) for n, net in nets.items()}
                agree &= compare(f"sparsity {sparsity}, inference", calls, args.seconds)
        del nets["torch dense"], nets["torch.sparse CSR"]  # the first trains what is masked; no backward
        training = {n: Training(net, x) for n, net in nets.items() if args.compare or n == "Scorch"}
        curves = {n: torch.stack([t.step() for _ in range(args.steps)]) for n, t in training.items()}
        ours = curves["Scorch"]
        print(f"sparsity {sparsity}: loss {ours[0]:.3f} -> {ours[-1]:.3f} in {args.steps} steps", end="\n\n")
        if args.compare:
            agree &= max((c - ours).abs().max().item() for c in curves.values()) <= 1e-4
            calls = {n: t.step for n, t in training.items()}
            agree &= compare(f"sparsity {sparsity}, training step", calls, args.seconds, tolerance=1e-2)
    if args.compare:
        print("all agree" if agree else "RESULTS DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="Sparse ")  # torch.sparse's notes on beta state and checks
    sys.exit(main())

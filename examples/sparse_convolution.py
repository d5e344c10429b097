"""Sparse convolutions on a voxel grid: is a voxel on top of a surface or at its side?

    python examples/sparse_convolution.py --compare
    python examples/sparse_convolution.py --sites 400000 --channels 16 64 --compare

A surface of bumps and steps is cut into voxels; only those that it passes have features. Two submanifold
layers with a strided one between them are trained to tell flat voxels from steep ones. What a user of torch
changes:

    -for r, (i, j) in enumerate(pairs):  # of every offset of the kernel: output and input sites
    -    y = y.index_add(0, i, x.index_select(0, j) @ weight[r])
    +y = scorch.nn.SparseConv3d(channels, out, 3)(x, kernel_map)
"""

import argparse
import sys
from itertools import pairwise

import torch

import scorch.nn
from timing import compare


def surface(sites: int, seed: int = 0) -> torch.Tensor:
    """About so many voxels [n, 4] of a surface over a square, a batch index of 0 first, in no order."""
    g = torch.Generator().manual_seed(seed)
    side = max(4, round(sites**0.5 / 1.5))
    u, v = (torch.rand(16 * sites, generator=g) * side for _ in range(2))
    steps = 4 * ((u / side * 5).floor() + (v / side * 3).floor())
    height = side / 8 * ((u / side * 9).sin() + (v / side * 7).cos()) + steps
    voxels = torch.stack([torch.zeros_like(u), u, v, height], 1).long()
    voxels = torch.unique(voxels, dim=0)
    return voxels[torch.randperm(len(voxels), generator=g)[:sites]]


def steep(sites: torch.Tensor) -> torch.Tensor:
    """[n] 1.0 for voxels with another one above or below them, else 0.0"""
    column, of = torch.unique(sites[:, :3], dim=0, return_inverse=True)
    return (torch.bincount(of, minlength=len(column))[of] > 1).float()


class GatherScatter(torch.nn.Module):
    """SparseConv3d with the same parameters in plain torch: gather, multiply, scatter for each offset."""

    def __init__(self, layer: scorch.nn.SparseConv3d) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: torch.Tensor, pairs: tuple) -> torch.Tensor:
        rows, by_offset = pairs
        y = self.bias.expand(rows, -1)
        for weight, (i, j) in zip(self.weight, by_offset, strict=True):
            y = y.index_add(0, i, x.index_select(0, j) @ weight)
        return y


def pairs_of(kernel_map: scorch.SparseTensor) -> tuple[int, list[tuple[torch.Tensor, torch.Tensor]]]:
    """Output rows; output and input sites of every offset."""
    r, i, j = kernel_map.indices().long()
    order = r.argsort(stable=True)
    ends = [0, *torch.bincount(r, minlength=kernel_map.shape[0]).cumsum(0).tolist()]
    i, j = i[order], j[order]
    return kernel_map.shape[1], [(i[a:b], j[a:b]) for a, b in pairwise(ends)]


class Net(torch.nn.Module):
    """A submanifold layer, a strided one, and a submanifold one on the coarser grid."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.first = scorch.nn.SparseConv3d(channels, hidden, 3)
        self.down = scorch.nn.SparseConv3d(hidden, hidden, 2, stride=2)
        self.last = scorch.nn.SparseConv3d(hidden, hidden, 3)
        self.head = torch.nn.Linear(2 * hidden, 1)

    def maps(self, sites: torch.Tensor) -> dict[str, torch.Tensor]:
        """The kernel maps of its layers, made once, and which coarse site each site is in."""
        near, _ = self.first.map(sites)
        down, coarse = self.down.map(sites)
        into = torch.empty(len(sites), dtype=torch.int64)
        _, i, j = down.indices().long()
        into[j] = i
        return {"near": near, "down": down, "far": self.last.map(coarse).map, "into": into}

    def forward(self, x: torch.Tensor, maps: dict[str, torch.Tensor]) -> torch.Tensor:
        fine = self.first(x, maps["near"]).relu()
        coarse = self.last(self.down(fine, maps["down"]).relu(), maps["far"]).relu()
        return self.head(torch.cat([fine, coarse[maps["into"]]], 1))[:, 0]


def train(net: Net, x: torch.Tensor, maps: dict, label: torch.Tensor, steps: int) -> list[float]:
    """The loss of each step of Adam."""
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x, maps), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def gradients(layer: torch.nn.Module, x: torch.Tensor, given: object) -> torch.Tensor:
    """Forward and backward; all gradients, flat."""
    y = layer(x, given)
    found = torch.autograd.grad(y, [x, layer.weight, layer.bias], torch.ones_like(y))
    return torch.cat([g.flatten() for g in found])


def compare_layers(name: str, net: Net, maps: dict, seconds: float) -> bool:
    """Times the first layer and the strided one against gathers and scatters."""
    agree = True
    for layer, kernel_map in ((net.first, maps["near"]), (net.down, maps["down"])):
        x = torch.randn(kernel_map.shape[2], layer.in_channels, requires_grad=True)
        pairs, twin = pairs_of(kernel_map), GatherScatter(layer)
        title = f"{name} {layer.in_channels} -> {layer.out_channels}, stride {layer.stride[0]}"
        ways = {"torch gather, mm, scatter": (twin, pairs), "Scorch": (layer, kernel_map)}
        calls = {n: (lambda f=f, g=g, x=x: f(x, g)) for n, (f, g) in ways.items()}
        with torch.no_grad():
            agree &= compare(f"{title}, inference", calls, seconds)
        calls = {n: (lambda f=f, g=g, x=x: gradients(f, x, g)) for n, (f, g) in ways.items()}
        agree &= compare(f"{title}, forward and backward", calls, seconds, tolerance=1e-3)
    return agree


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sites", type=int, default=100_000)
    parser.add_argument("--channels", type=int, nargs=2, default=[4, 64], help="of the input, of the layers")
    parser.add_argument("--steps", type=int, default=10, help="of training")
    parser.add_argument("--compare", action="store_true", help="time torch's way and Scorch")
    parser.add_argument("--seconds", type=float, default=3.0, help="time to spend on each comparison")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    torch.manual_seed(0)
    sites = surface(args.sites)
    label = steep(sites)
    channels, hidden = args.channels
    net = Net(channels, hidden)
    maps = net.maps(sites)
    share = maps["near"].nnz / len(sites)
    print(f"{len(sites)} sites, {share:.1f} neighbours each; {maps['far'].shape[2]} on the coarser grid")
    losses = train(net, torch.ones(len(sites), channels), maps, label, args.steps)
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} in {len(losses)} steps")
    if not args.compare:
        return 0
    agree = compare_layers(f"{len(sites)} sites,", net, maps, args.seconds)
    print("all agree" if agree else "RESULTS DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())

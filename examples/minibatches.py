"""GraphSAGE in minibatches (Hamilton et al., 2017): neighbours are drawn, in processes of their own if asked.

    python examples/minibatches.py             # Cora if its files are found, else a generated graph
    python examples/minibatches.py --nodes 200000 --workers 2 --batch 512 --fanouts 10 10

Each batch is some nodes, the neighbours drawn for them, and theirs: a matrix a layer, ready to multiply.
What a user writes beside a network for the whole graph:

    def collate(seeds):
        return scorch.sample_neighbors(graph, torch.tensor(seeds), fanouts)

    for layers in DataLoader(nodes, batch_size=512, shuffle=True, collate_fn=collate, num_workers=2):
        h = x[layers[0].sources]
        for conv, layer in zip(convs, layers):
            h = conv(h, layer.matrix)
"""

import argparse
import sys
from functools import partial
from itertools import pairwise
from time import perf_counter

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

import planetoid
import scorch
import scorch.nn
from timing import human


class Net(nn.Module):
    def __init__(self, widths: list[int]):
        super().__init__()
        self.convs = nn.ModuleList(scorch.nn.SAGEConv(i, o) for i, o in pairwise(widths))

    def forward(self, x: torch.Tensor, matrices: list[scorch.SparseTensor]) -> torch.Tensor:
        """x [sources, features]; a matrix [targets, sources] a layer -> [targets, classes]"""
        for i, (conv, matrix) in enumerate(zip(self.convs, matrices, strict=True)):
            x = conv(torch.relu(x) if i else x, matrix)
        return x


def generated(nodes: int, degree: int, features: int, classes: int) -> planetoid.Graph:
    """Nodes of some classes, edges mostly inside of them, features that tell a class when many are asked."""
    g = torch.Generator().manual_seed(0)
    y = torch.randint(classes, (nodes,), generator=g)
    by_class = y.argsort()
    rank = torch.empty_like(by_class).scatter_(0, by_class, torch.arange(nodes))
    source = torch.randint(nodes, (nodes * degree // 2,), generator=g)
    near = torch.randn(len(source), generator=g) * nodes / classes / 4
    target = by_class[(rank[source] + near.long()) % nodes]
    both = torch.stack([torch.cat([source, target]), torch.cat([target, source])])
    both = both[:, both[0] != both[1]]
    x = torch.randn(nodes, features, generator=g) + F.one_hot(y, features)
    order = torch.randperm(nodes, generator=g)
    return planetoid.Graph("generated", x, both, y, order[nodes // 5 :], order[: nodes // 5])


def sampled(graph: scorch.SparseTensor, fanouts: list[int], seeds: list[int]) -> list[scorch.SampledLayer]:
    return scorch.sample_neighbors(graph, torch.tensor(seeds), fanouts)


def train_epoch(
    net: Net, optimizer: torch.optim.Optimizer, batches: DataLoader, data: planetoid.Graph
) -> tuple[float, int]:
    """The mean loss, and how many entries all matrices had."""
    total, entries = 0.0, 0
    for layers in batches:
        optimizer.zero_grad()
        logits = net(data.x[layers[0].sources], [layer.matrix for layer in layers])
        loss = F.cross_entropy(logits, data.y[layers[-1].targets])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(logits)
        entries += sum(layer.matrix.nnz for layer in layers)
    return total / len(batches.dataset), entries


@torch.no_grad()
def accuracy(net: Net, graph: scorch.SparseTensor, data: planetoid.Graph) -> float:
    """Of the whole graph at once, with all neighbours."""
    logits = net(data.x, [graph] * len(net.convs))
    return (logits.argmax(1) == data.y)[data.test].float().mean().item()


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, help="of a generated graph")
    parser.add_argument("--degree", type=int, default=16)
    parser.add_argument("--root", help="folder with Planetoid's raw files (default: $SCORCH_DATA)")
    parser.add_argument("--fanouts", type=int, nargs="+", default=[10, 10])
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1, help="processes that draw; 0: this one")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    torch.manual_seed(0)
    if args.nodes or not planetoid.find("cora", args.root):
        data = generated(args.nodes or 20_000, args.degree, 32, 8)
    else:
        data = planetoid.planetoid("cora", args.root)
    graph = scorch.from_edge_index(data.edge_index, num_nodes=len(data.x))
    print(f"{data.name}: {len(data.x)} nodes, {graph.nnz} edges; ", end="")
    print(f"batches of {args.batch}, fan-outs {args.fanouts}")
    widths = [data.x.shape[1], *[args.hidden] * (len(args.fanouts) - 1), data.classes]
    net = Net(widths)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    batches = DataLoader(
        data.train.tolist(), args.batch, shuffle=True, num_workers=args.workers,
        persistent_workers=args.workers > 0, collate_fn=partial(sampled, graph, args.fanouts),
    )  # fmt: skip
    losses = []
    for epoch in range(args.epochs):
        start = perf_counter()
        loss, entries = train_epoch(net, optimizer, batches, data)
        seconds = perf_counter() - start
        losses.append(loss)
        print(f"epoch {epoch}: {human(seconds)}, {len(batches)} batches, {entries} entries, loss {loss:.4f}")
    print(f"test accuracy, all neighbours: {accuracy(net, graph, data):.1%}")
    return 0 if losses[-1] < losses[0] else 1


if __name__ == "__main__":
    sys.exit(main())

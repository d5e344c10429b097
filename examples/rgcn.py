"""A relational graph convolutional network (Schlichtkrull et al., 2018) that classifies entities.

    python examples/rgcn.py --compare                # AIFB if its files are found, else a generated graph
    python examples/rgcn.py --root DIR --compare     # DIR or DIR/rdf has aifb_stripped.nt.gz and the labels

Entities have no features; the first layer's weights are embeddings of each in each relation. What changes:

    -from rgcn import TorchRGCN as RGCNConv           # gathers, scales, scatters: a message an edge
    +from scorch.nn import RGCNConv
"""

import argparse
import csv
import gzip
import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

import scorch.nn
from timing import compare


@dataclass(frozen=True)
class Entities:
    """A task on a relational graph; every relation is there in both directions."""

    name: str
    nodes: int
    edge_index: torch.Tensor  # [2, edges] int64: sources, targets
    edge_type: torch.Tensor  # [edges] int64
    train: tuple[torch.Tensor, torch.Tensor]  # nodes and their classes
    test: tuple[torch.Tensor, torch.Tensor]

    @property
    def relations(self) -> int:
        return int(self.edge_type.max()) + 1

    @property
    def classes(self) -> int:
        return int(torch.cat([self.train[1], self.test[1]]).max()) + 1


# ---- graphs ----
def find(root: str | None) -> Path | None:
    """The folder of AIFB's files: ``root`` or $SCORCH_DATA, or rdf/ in it."""
    root = root or os.environ.get("SCORCH_DATA")
    folders = [Path(root), Path(root) / "rdf"] if root else []
    return next((f for f in folders if (f / "aifb_stripped.nt.gz").is_file()), None)


def aifb(folder: Path) -> Entities:
    """Persons and the research groups that they belong to."""
    node, relation, triples = {}, {}, []
    with gzip.open(folder / "aifb_stripped.nt.gz", "rt", encoding="utf-8") as file:
        for line in filter(str.strip, file):
            subject, predicate, value = line.strip().removesuffix(".").strip().split(" ", 2)
            numbers = (node.setdefault(subject, len(node)), node.setdefault(value, len(node)))
            triples.append((*numbers, relation.setdefault(predicate, len(relation))))
    label = {}

    def labels(part: str) -> tuple[torch.Tensor, torch.Tensor]:
        with open(folder / f"aifb_{part}Set.tsv", encoding="utf-8") as file:
            rows = [(r["person"], r["label_affiliation"]) for r in csv.DictReader(file, delimiter="\t")]
        known = [(node[f"<{who}>"], label.setdefault(group, len(label))) for who, group in rows]
        return tuple(torch.tensor(known).T)

    return _both_ways("AIFB", len(node), torch.tensor(triples).T, labels("training"), labels("test"))


def generated(nodes=3000, edges=12000, relations=12, classes=4, seed=0) -> Entities:
    """Two of three edges join nodes of one class; relations have very different sizes."""
    random = torch.Generator().manual_seed(seed)
    label = torch.randint(classes, (nodes,), generator=random)
    source, target = torch.randint(nodes, (2, edges), generator=random)
    turn = (label[source] - label[target]) % classes  # to a node of the source's class, nearby
    alike = torch.rand(edges, generator=random) < 2 / 3
    by_label = label.argsort(stable=True)
    first = torch.bincount(label, minlength=classes).cumsum(0) - torch.bincount(label, minlength=classes)
    size = torch.bincount(label, minlength=classes)[label[source]]
    mate = by_label[first[label[source]] + target % size]
    target = torch.where(alike & (turn != 0), mate, target)
    share = 1.0 / torch.arange(1, relations + 1)
    kind = torch.multinomial(share, edges, replacement=True, generator=random)
    order = torch.randperm(nodes, generator=random)
    train, test = order[: nodes // 2], order[nodes // 2 :]
    triples = torch.stack([source, target, kind])
    return _both_ways("a generated graph", nodes, triples, (train, label[train]), (test, label[test]))


def _both_ways(name: str, nodes: int, triples: torch.Tensor, train: tuple, test: tuple) -> Entities:
    source, target, kind = torch.unique(triples, dim=1)
    index = torch.stack([torch.cat([source, target]), torch.cat([target, source])])
    return Entities(name, nodes, index, torch.cat([kind, kind + kind.max() + 1]), train, test)


# ---- the layer in plain torch ----
class TorchRGCN(scorch.nn.RGCNConv):
    """The parameters of scorch.nn.RGCNConv, and the sum over edges in plain torch."""

    def forward(self, x, edge_index, edge_type):
        source, target = edge_index
        weight = (self.comp @ self.weight.flatten(1)).view(self.num_relations, *self.weight.shape[1:])
        messages = (weight if x is None else x @ weight)[edge_type, source]
        nodes = self.in_channels if x is None else len(x)
        group = target * self.num_relations + edge_type
        scale = torch.bincount(group, minlength=nodes * self.num_relations).reciprocal()[group]
        y = messages.new_zeros(nodes, self.out_channels).index_add(0, target, messages * scale[:, None])
        return y + (self.root if x is None else x @ self.root) + self.bias


class TorchSparseRGCN(scorch.nn.RGCNConv):
    """The same with torch.sparse: relations side by side in one CSR matrix [nodes, relations * nodes]."""

    def forward(self, x, edge_index, edge_type):
        if not hasattr(self, "matrix"):
            nodes = self.in_channels if x is None else len(x)
            self.matrix = self.adjacency(edge_index, edge_type, nodes).to_torch(torch.sparse_csr)
        weight = (self.comp @ self.weight.flatten(1)).view(self.num_relations, *self.weight.shape[1:])
        messages = weight if x is None else x @ weight
        y = self.matrix @ messages.reshape(-1, self.out_channels)
        return y + (self.root if x is None else x @ self.root) + self.bias


# ---- the network ----
class Net(nn.Module):
    def __init__(self, conv: type[nn.Module], graph: Entities, hidden: int, bases: int):
        super().__init__()
        self.conv1 = conv(graph.nodes, hidden, graph.relations, num_bases=bases)
        self.conv2 = conv(hidden, graph.classes, graph.relations, num_bases=bases)

    def forward(self, graph: Entities) -> torch.Tensor:
        """-> logits [nodes, classes]"""
        H = torch.relu(self.conv1(None, graph.edge_index, graph.edge_type))
        return self.conv2(H, graph.edge_index, graph.edge_type)


class Training:
    def __init__(self, net: Net, graph: Entities):
        self.net, self.graph = net, graph
        self.optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)

    def step(self) -> torch.Tensor:
        """The loss before the step."""
        self.optimizer.zero_grad()
        nodes, classes = self.graph.train
        loss = F.cross_entropy(self.net(self.graph)[nodes], classes)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def networks(graph: Entities, hidden: int, bases: int) -> dict[str, Net]:
    """By name, all with the same weights."""
    kinds = {
        "torch gather, index_add": TorchRGCN,
        "torch.sparse CSR": TorchSparseRGCN,
        "Scorch": scorch.nn.RGCNConv,
    }
    nets = {name: Net(kind, graph, hidden, bases) for name, kind in kinds.items()}
    for net in nets.values():
        net.load_state_dict(nets["Scorch"].state_dict())
    return nets


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", help="folder with AIFB's files (default: $SCORCH_DATA)")
    parser.add_argument("--generated", action="store_true", help="the generated graph in any case")
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--bases", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--compare", action="store_true", help="time plain torch, torch.sparse and Scorch")
    parser.add_argument("--seconds", type=float, default=3.0, help="time to spend on each comparison")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    torch.manual_seed(0)
    folder = None if args.generated else find(args.root)
    graph = aifb(folder) if folder else generated()
    print(f"{graph.name}: {graph.nodes} nodes, {len(graph.edge_type)} edges, {graph.relations} relations")
    nets = networks(graph, args.hidden, args.bases)
    training = {n: Training(net, graph) for n, net in nets.items() if args.compare or n == "Scorch"}
    curves = {n: torch.stack([t.step() for _ in range(args.epochs)]) for n, t in training.items()}
    ours, (nodes, classes) = nets["Scorch"], graph.test
    with torch.no_grad():
        right = (ours(graph).argmax(1)[nodes] == classes).float().mean().item()
    print(f"loss {curves['Scorch'][0]:.3f} -> {curves['Scorch'][-1]:.3f}, test accuracy {right:.1%}")
    if not args.compare:
        return 0
    difference = max((c - curves["Scorch"]).abs().max().item() for c in curves.values())
    print(f"largest difference of the loss curves {difference:.1e}\n")
    with torch.no_grad():
        calls = {n: (lambda net=net: net(graph)) for n, net in nets.items()}
        agree = compare("inference", calls, args.seconds, tolerance=1e-2)
    agree &= compare("training epoch", {n: t.step for n, t in training.items()}, args.seconds, tolerance=1e-2)
    agree &= difference <= 1e-4
    print("all agree" if agree else "RESULTS DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="Sparse ")  # torch.sparse's notes on beta state and checks
    sys.exit(main())

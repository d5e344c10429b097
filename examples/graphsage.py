"""GraphSAGE (Hamilton et al., 2017) and GCN, inference and training, with the layers of scorch.nn.

    python examples/graphsage.py --compare              # Cora if its files are found, else a generated graph
    python examples/graphsage.py --model gcn --dataset pubmed --root DIR --compare

The network is written once and takes the kind of its layers. What a user changes:

    -net = Net(TorchSAGE, features, hidden, classes)        # a layer of one's own around torch.sparse
    +net = Net(scorch.nn.SAGEConv, features, hidden, classes)
    -graph = mean_adjacency(edge_index, nodes)
    +graph = scorch.from_edge_index(edge_index, num_nodes=nodes)   # or edge_index as it is

Both train from the same weights, and their loss curves are the same.
"""

import argparse
import copy
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional as F

import planetoid
import scorch
import scorch.nn
from timing import compare


class Net(nn.Module):
    def __init__(self, conv: type[nn.Module], features: int, hidden: int, classes: int):
        super().__init__()
        self.conv1, self.conv2 = conv(features, hidden), conv(hidden, classes)

    def forward(self, x, graph):
        """x [nodes, features]; graph: what the layers take -> logits [nodes, classes]"""
        return self.conv2(torch.relu(self.conv1(x, graph)), graph)


# ---- the same layers on torch.sparse ----
class TorchSAGE(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.lin_l, self.lin_r = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)

    def forward(self, x, A):
        return A @ (x @ self.lin_l.weight.T) + self.lin_l.bias + x @ self.lin_r.weight.T


class TorchGCN(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.lin = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x, A):
        return A @ (x @ self.lin.weight.T) + self.bias


def torch_adjacency(graph: planetoid.Graph, model: str) -> torch.Tensor:
    """The mean over neighbours, or D^-1/2 (A + I) D^-1/2, as a coalesced torch COO tensor [nodes, nodes]."""
    index, nodes = graph.edge_index, len(graph.x)
    if model == "gcn":
        index = torch.cat([index, torch.arange(nodes).expand(2, -1)], 1)
    degree = torch.bincount(index[0], minlength=nodes).float()
    weight = (degree[index[0]] * degree[index[1]]).rsqrt() if model == "gcn" else 1 / degree[index[0]]
    return torch.sparse_coo_tensor(index, weight, (nodes, nodes)).coalesce()


# ---- the two side by side ----
KINDS = {"sage": (TorchSAGE, scorch.nn.SAGEConv), "gcn": (TorchGCN, scorch.nn.GCNConv)}


def candidates(graph: planetoid.Graph, model: str, hidden: int) -> dict[str, tuple]:
    """Network, features and graph by name; all networks have the same weights."""
    theirs, ours = (Net(kind, graph.x.shape[1], hidden, graph.classes) for kind in KINDS[model])
    theirs.load_state_dict(ours.state_dict())
    coo, x = torch_adjacency(graph, model), graph.x
    adjacency = scorch.from_edge_index(graph.edge_index, num_nodes=len(x))
    return {
        "torch.sparse COO": (theirs, x, coo),
        "torch.sparse CSR": (copy.deepcopy(theirs), x, coo.to_sparse_csr()),
        "torch.sparse COO, x sparse too": (copy.deepcopy(theirs), x.to_sparse_coo(), coo),
        "Scorch": (ours, scorch.sparse(x, format="csr"), adjacency),
    }


class Training:
    """Steps of Adam from a network's weights."""

    def __init__(self, net: Net, x, adjacency, graph: planetoid.Graph):
        self.net, self.inputs, self.graph = net, (x, adjacency), graph
        self.optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)

    def step(self) -> torch.Tensor:
        """The loss before the step."""
        self.optimizer.zero_grad()
        logits, known = self.net(*self.inputs), self.graph.train
        loss = F.cross_entropy(logits[known], self.graph.y[known])
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def losses(self, epochs: int) -> torch.Tensor:
        return torch.stack([self.step() for _ in range(epochs)])


def accuracy(logits: torch.Tensor, graph: planetoid.Graph) -> float:
    return (logits.argmax(1) == graph.y)[graph.test].float().mean().item()


def same_curves(curves: dict[str, torch.Tensor]) -> bool:
    differences = {name: (curve - curves["Scorch"]).abs().max().item() for name, curve in curves.items()}
    for name, difference in differences.items():
        if name != "Scorch":
            print(f"loss curves, {name} and Scorch: the largest difference is {difference:.1e}")
    print()
    return all(d <= 1e-4 for d in differences.values())


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=list(KINDS), default="sage")
    parser.add_argument("--dataset", choices=["cora", "citeseer", "pubmed", "karate", "synthetic"])
    parser.add_argument("--root", help="folder with Planetoid's raw files (default: $SCORCH_DATA)")
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--compare", action="store_true", help="time torch.sparse and Scorch")
    parser.add_argument("--seconds", type=float, default=3.0, help="time to spend on each comparison")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    torch.manual_seed(0)
    name = args.dataset or ("cora" if planetoid.find("cora", args.root) else "synthetic")
    try:
        graph = planetoid.load(name, args.root)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    ways = candidates(graph, args.model, args.hidden)
    if not args.compare:
        ways = {"Scorch": ways["Scorch"]}
    print(f"{args.model} on {graph.name}{f' ({graph.note})' if graph.note else ''}")
    training = {n: Training(*way, graph) for n, way in ways.items()}
    curves = {n: t.losses(args.epochs) for n, t in training.items()}
    net, *inputs = ways["Scorch"]
    with torch.no_grad():
        print(
            f"loss {curves['Scorch'][0]:.3f} -> {curves['Scorch'][-1]:.3f} in {args.epochs} epochs, ", end=""
        )
        print(f"test accuracy {accuracy(net(*inputs), graph):.1%}\n")
    if not args.compare:
        return 0
    agree = same_curves(curves)
    with torch.no_grad():
        calls = {n: (lambda way=way: way[0](*way[1:])) for n, way in ways.items()}
        agree &= compare("inference", calls, args.seconds, tolerance=1e-3)
    calls = {n: t.step for n, t in training.items()}
    agree &= compare("training epoch", calls, args.seconds, tolerance=1e-2)
    print("all agree" if agree else "RESULTS DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="Sparse ")  # torch.sparse's notes on beta state and checks
    sys.exit(main())

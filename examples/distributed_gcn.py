"""A GCN whose graph, features and activations lie in several processes, by rows; parameters are on each.

    python examples/distributed_gcn.py                 # two processes; Cora if found, else a generated graph
    torchrun --nproc-per-node 4 examples/distributed_gcn.py --nodes 100000 --reorder auto
    torchrun --nnodes 2 --node-rank 0 --master-addr HOST --nproc-per-node 2 examples/distributed_gcn.py

What a user changes in a program for one process:

    -graph = scorch.from_edge_index(edge_index, num_nodes=nodes)
    +graph = scorch.distributed.RowSharded(scorch.from_edge_index(edge_index, num_nodes=nodes))
    +x, y = x[graph.rows], y[graph.rows]
     loss = F.cross_entropy(net(x, graph)[known], y[known], reduction="sum") / count
     loss.backward()
    +scorch.distributed.add_gradients(net.parameters())

The same network then trains in one process from the same weights, and the losses are compared.
"""

import argparse
import copy
import os
import subprocess
import sys
from time import perf_counter

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

import planetoid
import scorch
import scorch.nn
from minibatches import generated
from scorch.distributed import RowSharded, add_gradients
from timing import human

LAYERS = {"gcn": scorch.nn.GCNConv, "sage": scorch.nn.SAGEConv, "gat": scorch.nn.GATConv}


class Net(nn.Module):
    def __init__(self, conv: type[nn.Module], features: int, hidden: int, classes: int):
        super().__init__()
        self.first, self.last = conv(features, hidden), conv(hidden, classes)

    def forward(self, x: torch.Tensor, graph: object) -> torch.Tensor:
        """x [nodes here, features]; graph: all of it, or RowSharded -> [nodes here, classes]"""
        return self.last(torch.relu(self.first(x, graph)), graph)


def train(
    net: Net, graph: object, data: planetoid.Graph, rows: torch.Tensor, epochs: int, shared: bool
) -> tuple[torch.Tensor, float]:
    """The losses [epochs], of all nodes, and seconds an epoch."""
    known = torch.zeros(len(data.x), dtype=torch.bool).index_fill(0, data.train, True)[rows]
    x, y, losses, seconds = data.x[rows], data.y[rows], [], []
    for _ in range(epochs):
        start = perf_counter()
        net.zero_grad()
        loss = F.cross_entropy(net(x, graph)[known], y[known], reduction="sum") / len(data.train)
        loss.backward()
        total = loss.detach()
        if shared:
            dist.all_reduce(total)
            add_gradients(net.parameters())
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.5 * p.grad
        losses.append(total)
        seconds.append(perf_counter() - start)
    return torch.stack(losses), min(seconds)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=list(LAYERS), default="gcn")
    parser.add_argument("--nodes", type=int, help="of a generated graph")
    parser.add_argument("--root", help="folder with Planetoid's raw files (default: $SCORCH_DATA)")
    parser.add_argument("--reorder", choices=["auto", "metis", "rcm", "degree", "hub"])
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=10)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    if "RANK" not in os.environ:
        run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        return subprocess.call([*run, __file__, *(sys.argv[1:] if argv is None else argv)])
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    if args.nodes or not planetoid.find("cora", args.root):
        data = generated(args.nodes or 5000, 8, 32, 8)
    else:
        data = planetoid.planetoid("cora", args.root)
    whole = scorch.from_edge_index(data.edge_index, num_nodes=len(data.x))
    net = Net(LAYERS[args.model], data.x.shape[1], args.hidden, data.classes)
    alone = copy.deepcopy(net)
    graph = RowSharded(whole, reorder=args.reorder)
    losses, seconds = train(net, graph, data, graph.rows, args.epochs, shared=True)
    agree = True
    if dist.get_rank() == 0:
        print(f"{args.model} on {data.name}: {len(data.x)} nodes, {whole.nnz} edges\n{graph.plan()}")
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} in {args.epochs} epochs, {human(seconds)} each")
        wanted, seconds = train(alone, whole, data, torch.arange(len(data.x)), args.epochs, shared=False)
        difference = ((losses - wanted).abs() / wanted).max().item()
        agree = difference <= 1e-5
        print(
            f"one process: {human(seconds)} each; the largest relative difference of losses: {difference:.1e}"
        )
        print("all agree" if agree else "RESULTS DIFFER")
    dist.destroy_process_group()
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())

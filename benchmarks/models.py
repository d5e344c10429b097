"""Training graph networks, against torch.sparse and torch_geometric."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch

import scorch
from benchmarks.data import POWER_LAW, SIZES, Case, citation, title
from benchmarks.peers import geometric
from examples.graphsage import Net, Training, candidates, torch_adjacency
from examples.planetoid import Graph, edges_power_law
from scorch.nn import GATConv

HIDDEN, CURVE = 16, 5  # width; epochs whose losses are compared before any is timed


def epochs(root: str | None) -> Iterator[Case]:
    """One step of Adam on all nodes, two layers of one kind, the same weights everywhere."""
    for model in ("gcn", "sage"):
        for name in SIZES:
            graph = citation(name, root)
            ways = candidates(graph, model, HIDDEN)
            peers = {n: way for n, way in ways.items() if n != "Scorch"}
            if geometric():
                peers |= _geometric(graph, model, ways["Scorch"][0])
            trainings = {n: Training(*way, graph) for n, way in {**peers, "Scorch": ways["Scorch"]}.items()}
            _same_curves({n: t.losses(CURVE) for n, t in trainings.items()})
            calls = {n: t.step for n, t in trainings.items()}
            yield Case(f"{model}, {title(name, graph)}", calls, {"Scorch": tuple(peers)}, same=False)


def _geometric(graph: Graph, model: str, ours: torch.nn.Module) -> dict[str, tuple]:
    """Networks of torch_geometric: over edges, normalised once, and over a matrix in CSR that is."""
    from torch_geometric.nn import GCNConv, SAGEConv

    matrix = torch_adjacency(graph, model).to_sparse_csr()
    if model == "sage":  # the layer takes means itself
        matrix.values().fill_(1)
    kinds = {
        "gcn": (partial(GCNConv, cached=True), partial(GCNConv, normalize=False)),
        "sage": (SAGEConv, SAGEConv),
    }
    ways = {}
    for name, kind, given in zip(
        ("PyG edge_index", "PyG CSR"), kinds[model], (graph.edge_index, matrix), strict=True
    ):
        net = Net(kind, graph.x.shape[1], HIDDEN, graph.classes)
        net.load_state_dict(ours.state_dict())
        ways[name] = (net, graph.x, given)
    return ways


def _same_curves(curves: dict[str, torch.Tensor]) -> None:
    for name, curve in curves.items():
        off = (curve - curves["Scorch"]).abs().max().item()
        if not off <= 1e-4:
            raise AssertionError(f"losses of {name} differ from Scorch's by up to {off:.1e}")


def gat(root: str | None) -> Iterator[Case]:
    """A layer of graph attention, eight heads of eight features: forward, and with gradients of weights.

    Features of papers are bags of words, which either library also takes as a sparse tensor.
    """
    for name, edge_index, x in _attended(root):
        layer = GATConv(x.shape[1], 8, heads=8)
        graph = scorch.from_edge_index(edge_index, num_nodes=len(x))
        ways = {"Scorch": (layer, x, edge_index), "Scorch, SparseTensor": (layer, x, graph)}
        against, words = {}, bool((x == 0).float().mean() > 0.5)
        if words:
            ways["Scorch, words sparse"] = (layer, scorch.sparse(x), graph)
        if geometric():
            from torch_geometric.nn import GATConv as Theirs

            theirs = Theirs(x.shape[1], 8, heads=8)
            theirs.load_state_dict(layer.state_dict())
            against = {n: ("PyG, words sparse" if "words" in n else "PyG",) for n in ways}
            ways = {"PyG": (theirs, x, edge_index)} | ways
            if words:
                ways["PyG, words sparse"] = (theirs, x.to_sparse_csr(), edge_index)
        calls = {n: partial(*way) for n, way in ways.items()}
        yield Case(f"{name}, forward", {n: torch.no_grad()(call) for n, call in calls.items()}, against)
        grad = torch.randn(len(x), 64)
        steps = {n: partial(_gradients, way[0], calls[n], grad) for n, way in ways.items()}
        yield Case(f"{name}, forward and backward", steps, against)


def _gradients(layer: torch.nn.Module, call: Callable[[], torch.Tensor], grad: torch.Tensor) -> torch.Tensor:
    return torch.cat([g.flatten() for g in torch.autograd.grad(call(), list(layer.parameters()), grad)])


def _attended(root: str | None) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    for name in ("cora", "pubmed"):
        graph = citation(name, root)
        yield title(name, graph), graph.edge_index, graph.x
    nodes, edges = POWER_LAW[0] // 4, POWER_LAW[1] // 4
    pairs = edges_power_law(nodes, edges, np.random.RandomState(0).randint(40, size=nodes))
    pairs = torch.from_numpy(pairs).T
    yield "power law 42k", torch.cat([pairs, pairs.flip(0)], 1), torch.randn(nodes, 128)


SUITES = {"epochs": epochs, "gat": gat}

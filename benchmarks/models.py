"""Training graph networks, against torch.sparse and torch_geometric."""

from collections.abc import Iterator
from functools import partial

import torch

from benchmarks.data import SIZES, Case, citation, title
from benchmarks.peers import geometric
from examples.graphsage import Net, Training, candidates, torch_adjacency
from examples.planetoid import Graph

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


SUITES = {"epochs": epochs}

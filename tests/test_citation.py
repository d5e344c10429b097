"""Layers on the citation graphs: the numbers of torch_geometric and of torch.sparse."""

import copy

import pytest
import torch

import planetoid
import scorch
import scorch.nn
from graphsage import KINDS, torch_adjacency

pyg = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")
NAMES = ("cora", "citeseer", "pubmed")


@pytest.fixture(scope="module")
def graphs(data_dir) -> dict[str, planetoid.Graph]:
    return {name: planetoid.load(name, str(data_dir)) for name in NAMES}


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def gradients(layer: torch.nn.Module, y: torch.Tensor) -> list[torch.Tensor]:
    return torch.autograd.grad(y.square().mean(), list(layer.parameters()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("model", ("gcn", "sage"))
def test_layers_and_their_gradients(graphs, name, model):
    graph = graphs[name]
    x, index = graph.x, graph.edge_index
    kind, ours = KINDS[model][0], KINDS[model][1](x.shape[1], 16)
    theirs = {"gcn": pyg.GCNConv, "sage": pyg.SAGEConv}[model](x.shape[1], 16)
    plain = kind(x.shape[1], 16)
    theirs.load_state_dict(ours.state_dict())
    plain.load_state_dict(ours.state_dict())
    expected = theirs(x, index)
    others = [
        (plain, plain(x, torch_adjacency(graph, model))),
        (ours, ours(x, index)),
        (ours, ours(scorch.sparse(x), scorch.from_edge_index(index, num_nodes=len(x)))),
    ]
    for layer, y in others:
        close(y, expected)
        wanted = dict(
            zip([n for n, _ in theirs.named_parameters()], gradients(theirs, theirs(x, index)), strict=True)
        )
        for (parameter, _), got in zip(layer.named_parameters(), gradients(layer, y), strict=True):
            close(got, wanted[parameter])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bases", (None, 3))
def test_relations(graphs, name, bases):
    graph = graphs[name]
    x, index = graph.x[:, :64].contiguous(), graph.edge_index
    kinds = (index[0] + index[1]) % 4
    theirs = pyg.RGCNConv(64, 16, 4, num_bases=bases)
    ours = scorch.nn.RGCNConv(64, 16, 4, num_bases=bases)
    ours.load_state_dict(copy.deepcopy(theirs.state_dict()))
    with torch.no_grad():
        close(ours(x, index, kinds), theirs(x, index, kinds))

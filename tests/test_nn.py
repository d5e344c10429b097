"""Layers: the same numbers as torch.nn and torch_geometric, whose weights load across."""

import copy

import pytest
import torch
from torch.nn.utils import prune

import scorch
import scorch.nn


def graph(nodes: int = 50, edges: int = 300) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    index = torch.randint(nodes, (2, edges), generator=generator)
    return torch.unique(index[:, index[0] != index[1]], dim=1)


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


# ---- graphs ----
@pytest.mark.parametrize("given", ("edge_index", "SparseTensor"))
@pytest.mark.parametrize("name", ("GCNConv", "SAGEConv"))
def test_agrees_with_torch_geometric(name, given):
    pyg = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")
    edge_index, x = graph(), torch.randn(50, 12)
    theirs = getattr(pyg, name)(12, 7)
    ours = getattr(scorch.nn, name)(12, 7)
    ours.load_state_dict(theirs.state_dict())
    g = edge_index if given == "edge_index" else scorch.from_edge_index(edge_index, num_nodes=50)
    with torch.no_grad():
        close(ours(x, g), theirs(x, edge_index))
        close(ours(2 * x, g), theirs(2 * x, edge_index))


@pytest.mark.parametrize("bases", (None, 3))
def test_relations_agree_with_torch_geometric(bases):
    pyg = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")
    edge_index, x = graph(), torch.randn(50, 12)
    edge_type = torch.randint(4, (edge_index.shape[1],))
    theirs = pyg.RGCNConv(12, 7, 4, num_bases=bases)
    ours = scorch.nn.RGCNConv(12, 7, 4, num_bases=bases)
    ours.load_state_dict(theirs.state_dict())
    with torch.no_grad():
        close(ours(x, edge_index, edge_type), theirs(x, edge_index, edge_type))
        close(ours(x, ours.adjacency(edge_index, edge_type, 50)), theirs(x, edge_index, edge_type))


@pytest.mark.parametrize("layer", (scorch.nn.GCNConv(12, 7), scorch.nn.SAGEConv(12, 7)), ids=str)
def test_gradients_reach_the_weights(layer):
    edge_index, x = graph(), torch.randn(50, 12, requires_grad=True)
    layer(x, edge_index).square().sum().backward()
    assert x.grad is not None and all(p.grad is not None for p in layer.parameters())


def test_a_graph_that_changes_is_seen():
    layer, x, g = scorch.nn.SAGEConv(3, 2, aggr="sum"), torch.randn(50, 3), graph()
    before = layer(x, g)
    g.copy_(g.flip(1).flip(0))
    close(layer(x, g), copy.deepcopy(layer)(x, g.clone()))
    assert not torch.equal(before, layer(x, g))


# ---- linear ----
@pytest.mark.parametrize("format", ("csr", "csc", "coo", "bsr(4,4)"))
def test_linear_from_dense(format):
    dense = torch.nn.Linear(24, 16)
    with torch.no_grad():
        dense.weight.mul_(torch.rand_like(dense.weight) < 0.3)
    layer, x = scorch.nn.Linear.from_dense(dense, format), torch.randn(5, 24)
    with torch.no_grad():
        close(layer(x), dense(x))
        close(layer(x[0]), dense(x[0]))
        close(layer(x.expand(3, 5, 24)), dense(x.expand(3, 5, 24)))


def test_linear_from_a_pruned_layer():
    dense = torch.nn.Linear(24, 16)
    prune.l1_unstructured(dense, "weight", amount=0.8)
    layer, x = scorch.nn.Linear.from_dense(dense), torch.randn(5, 24)
    with torch.no_grad():
        close(layer(x), dense(x))
    assert layer.values.numel() == int(dense.weight_mask.sum())


def test_linear_density_and_repr():
    layer = scorch.nn.Linear(100, 40, density=0.05)
    assert layer.values.numel() == 200 and [n for n, _ in layer.named_parameters()] == ["values", "bias"]
    with torch.no_grad():
        assert "density=0.05" in repr(layer) and layer.weight.shape == (40, 100)
    with pytest.raises(ValueError, match="density"):
        scorch.nn.Linear(3, 3, density=0)


def test_linear_state():
    layer = scorch.nn.Linear(30, 20)
    twin = copy.deepcopy(layer)
    twin.load_state_dict(layer.state_dict())
    x = torch.randn(4, 30)
    with torch.no_grad():
        assert torch.equal(twin(x), layer(x))
    with pytest.raises(ValueError, match="another pattern"):
        scorch.nn.Linear(30, 20).load_state_dict(layer.state_dict())


# ---- experts ----
def mixture(layer: scorch.nn.MoE, x: torch.Tensor) -> torch.Tensor:
    """Every expert for every token, in plain torch."""
    scores, experts = layer.gate(x).softmax(-1).topk(layer.top_k, -1)
    scores = scores / scores.sum(-1, keepdim=True)
    gate = torch.zeros(*x.shape[:-1], layer.num_experts, dtype=x.dtype).scatter(-1, experts, scores)
    hidden = layer.activation(torch.einsum("td,edh->teh", x, layer.w1))
    return torch.einsum("te,teh,ehd->td", gate, hidden, layer.w2)


@pytest.mark.parametrize(
    ("tokens", "features", "hidden", "experts", "k"),
    [(50, 64, 128, 8, 2), (7, 64, 64, 16, 1), (33, 40, 70, 4, 3), (20, 600, 900, 3, 2), (1, 3, 5, 2, 2)],
)
def test_mixture_of_experts(tokens, features, hidden, experts, k):
    torch.manual_seed(0)
    layer, x = scorch.nn.MoE(features, hidden, experts, k), torch.randn(tokens, features)
    with torch.no_grad():
        close(layer(x), mixture(layer, x))
        close(layer(x.view(1, tokens, features))[0], mixture(layer, x))


def test_mixture_of_experts_with_skewed_routing():
    layer, x = scorch.nn.MoE(32, 64, 8, 1), torch.randn(100, 32)
    with torch.no_grad():
        layer.gate.weight.zero_()  # all scores alike: topk takes one expert for all tokens
        close(layer(x), mixture(layer, x))


def test_mixture_of_experts_gradients():
    torch.manual_seed(0)
    layer = scorch.nn.MoE(32, 64, 4, 2, activation=torch.nn.functional.silu).double()
    x = torch.randn(20, 32, dtype=torch.float64, requires_grad=True)
    leaves = [x, *layer.parameters()]
    ours = torch.autograd.grad(layer(x).square().sum(), leaves)
    wanted = torch.autograd.grad(mixture(layer, x).square().sum(), leaves)
    for a, b in zip(ours, wanted, strict=True):
        torch.testing.assert_close(a, b)

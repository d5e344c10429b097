"""What layers make of a graph, and keep: made again where the graph, or the number of nodes, is another."""

import copy
import os

import child
import pytest
import torch

import scorch
import scorch.nn

FIRST, OTHER = torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.tensor([[0, 0, 1], [1, 2, 2]])
LAYERS = {
    "GCNConv": lambda: scorch.nn.GCNConv(4, 5),
    "SAGEConv": lambda: scorch.nn.SAGEConv(4, 5),
    "GATConv": lambda: scorch.nn.GATConv(4, 5),
    "SGConv": lambda: scorch.nn.SGConv(4, 5),
    "GINConv": lambda: scorch.nn.GINConv(torch.nn.Linear(4, 5)),
    "APPNP": lambda: scorch.nn.APPNP(2, 0.1),
}


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def test_an_edge_index_that_is_written_to():
    layer, x, edges = scorch.nn.SAGEConv(3, 2, aggr="sum"), torch.randn(3, 3), FIRST.clone()
    before = layer(x, edges)
    edges.copy_(OTHER)
    close(layer(x, edges), copy.deepcopy(layer)(x, edges.clone()))
    assert not torch.equal(before, layer(x, edges))


@pytest.mark.parametrize("form", ("csr", "csc", "coo", "bsr(1,1)", "csr of band(-1,1) + csr"))
@pytest.mark.parametrize("name", LAYERS)
def test_a_matrix_that_holds_another(name, form):
    """Of the same values; also one that has the same arrays, read the other way."""
    layer, x = LAYERS[name](), torch.randn(3, 4)
    a, b = (scorch.from_edge_index(edges, num_nodes=3).convert(form) for edges in (FIRST, OTHER))
    for other in (b, b.T, a.clone()):
        layer(x, a)
        a.data = other
        close(layer(x, a), copy.deepcopy(layer)(x, other.clone()))


@pytest.mark.parametrize("bases", (None, 3))
def test_relations_that_hold_others(bases):
    layer, x = scorch.nn.RGCNConv(4, 5, 2, bases, aggr="sum"), torch.randn(3, 4)
    sums = [layer.adjacency(edges, torch.tensor([0, 1, 0]), 3) for edges in (FIRST, OTHER)]
    cubes = [a.unflatten(1, (2, 3)).permute(1, 0, 2) for a in sums]
    for a, b in (sums, cubes):
        layer(x, a)
        a.data = b
        close(layer(x, a), copy.deepcopy(layer)(x, b.clone()))


@pytest.mark.parametrize("name", (*LAYERS, "RGCNConv"))
def test_edges_that_are_no_integers(name):
    related = name == "RGCNConv"
    layer, x = scorch.nn.RGCNConv(4, 5, 2) if related else LAYERS[name](), torch.randn(3, 4)
    kinds = (torch.tensor([0, 1, 0]),) if related else ()
    for edges in (FIRST + 0.5, FIRST.double(), FIRST > 0):
        with pytest.raises(TypeError, match=r"edge_index: expected integers, got .*call \.long"):
            layer(x, edges, *kinds)
    with pytest.raises(ValueError, match=r"edge_index: expected shape \[2, E\]"):
        layer(x, FIRST.T, *kinds)
    if related:
        with pytest.raises(TypeError, match=r"edge_type: expected integers, got torch.float32"):
            layer(x, FIRST, kinds[0].float())
    small = layer(x, FIRST.to(torch.uint8), *[k.to(torch.uint8) for k in kinds])
    close(small, layer(x, FIRST, *kinds))


@pytest.mark.parametrize("given", ("edge_index", "SparseTensor"))
@pytest.mark.parametrize("name", LAYERS)
def test_features_whose_zeros_are_found(name, given):
    layer, x = LAYERS[name](), torch.randn(3, 4).relu().requires_grad_()
    graph = FIRST if given == "edge_index" else scorch.from_edge_index(FIRST)
    found, wanted = layer(scorch.dynamic(x), graph), layer(x, graph)
    close(found, wanted)
    close(*(torch.autograd.grad(y.square().sum(), x)[0] for y in (found, wanted)))


def test_relations_are_made_without_a_warning():
    code = (
        "import torch, scorch.nn, warnings; warnings.simplefilter('error'); "
        "edges, kinds = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 1]); "
        "scorch.nn.RGCNConv(4, 4, 2)(torch.randn(2, 4), edges, kinds)"
    )
    done = child.run(code, dict(os.environ))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", (*LAYERS, "RGCNConv"))
def test_the_same_edges_of_more_nodes(name):
    related = name == "RGCNConv"
    layer = scorch.nn.RGCNConv(4, 5, 2) if related else LAYERS[name]()
    given = (FIRST, torch.tensor([0, 1, 0])) if related else (FIRST,)
    for nodes in (3, 5, 3):
        x = torch.randn(nodes, 4)
        close(layer(x, *given), copy.deepcopy(layer)(x, *[g.clone() for g in given]))

"""Layers: the same numbers as torch.nn and torch_geometric, whose weights load across."""

import copy
import os
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch.nn.utils import parametrizations, parametrize, prune
from torch.nn.utils.fusion import fuse_linear_bn_eval
from torch.utils.checkpoint import checkpoint

import scorch
import scorch.nn
from scorch.nn._relations import relational


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


@pytest.mark.parametrize("dtype", (torch.float64, torch.bfloat16, torch.float16), ids=str)
def test_graph_layers_compute_in_the_type_of_the_features(dtype):
    edge_index, x = graph(), torch.randn(50, 12).to(dtype)
    edge_type = torch.randint(4, (edge_index.shape[1],))
    matrix = scorch.from_edge_index(edge_index, num_nodes=50)
    for layer in (scorch.nn.GCNConv(12, 7), scorch.nn.SAGEConv(12, 7), scorch.nn.SAGEConv(12, 7, aggr="sum")):
        exact, layer = copy.deepcopy(layer).double(), layer.to(dtype)
        exact.load_state_dict(layer.state_dict())
        wanted = exact(x.double(), edge_index)
        for g in (edge_index, matrix):
            y = layer(x, g)
            close = 1e-6 if dtype == torch.float64 and g is matrix else torch.finfo(dtype).eps * 20
            assert y.dtype == dtype and (y.double() - wanted).abs().max() <= close
    layer = scorch.nn.RGCNConv(12, 7, 4).to(dtype)
    assert layer(x, edge_index, edge_type).dtype == dtype


@pytest.mark.parametrize("name", ("GCNConv", "SAGEConv"))
def test_graphs_in_the_layouts_of_torch(name):
    pyg = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")
    edge_index, x = graph(), torch.randn(50, 12)
    theirs, ours = getattr(pyg, name)(12, 7), getattr(scorch.nn, name)(12, 7)
    ours.load_state_dict(theirs.state_dict())
    adjacency = torch.sparse_coo_tensor(
        edge_index.flip(0), torch.ones(edge_index.shape[1]), (50, 50), check_invariants=True
    ).coalesce()
    for g in (adjacency, adjacency.to_sparse_csr(), adjacency.to_sparse_csc()):
        close(ours(x, g), theirs(x, edge_index))


def test_edge_weights_are_trained():
    pyg = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")
    edge_index, x = graph(), torch.randn(50, 12)
    layer, theirs = scorch.nn.GCNConv(12, 7), pyg.GCNConv(12, 7)
    layer.load_state_dict(theirs.state_dict())
    weights = torch.rand(2, edge_index.shape[1]).unbind()
    for weight in weights[1:]:
        ours, plain = weight.clone().requires_grad_(), weight.clone().requires_grad_()
        with torch.no_grad():
            layer(x, edge_index, ours)  # what it keeps knows no gradient
        for _ in range(2):  # without a step in between
            layer(x, edge_index, ours).square().sum().backward()
            theirs(x, edge_index, plain).square().sum().backward()
        torch.testing.assert_close(ours.grad, plain.grad, rtol=1e-4, atol=1e-5)


class Over(torch.nn.Module):
    """A layer over a graph of its own."""

    def __init__(self, layer: torch.nn.Module, graph: scorch.SparseTensor) -> None:
        super().__init__()
        self.graph, self.layer = torch.nn.Parameter(graph), layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x, self.graph)


@pytest.mark.parametrize("name", ("GCNConv", "SAGEConv", "SGConv", "GATConv"))
def test_modules_with_a_graph_are_moved_after_a_look(name):
    """torch swaps no parameter that something refers to weakly; another graph is seen in its place."""
    g, x = scorch.from_edge_index(graph(), num_nodes=50), torch.randint(5, (50, 6)).float()
    module = Over(getattr(scorch.nn, name)(6, 3), g)
    with torch.no_grad():
        y = module(x)
        close(module.double()(x.double()).float(), y)
        module.float().graph.data = scorch.from_edge_index(graph().flip(0), num_nodes=50)
        close(module(x), copy.deepcopy(module.layer)(x, graph().flip(0)))


class Another(torch.nn.Linear):
    def forward(self, x):
        return super().forward(2 * x)


LINEAR = {
    "GCNConv": (scorch.nn.GCNConv(6, 3, bias=False), "lin"),
    "SGConv": (scorch.nn.SGConv(6, 3, bias=False), "lin"),
    "SAGEConv": (scorch.nn.SAGEConv(6, 3, root_weight=False, bias=False), "lin_l"),
    "GATConv": (scorch.nn.GATConv(6, 3), "lin"),
}


@pytest.mark.parametrize("name", LINEAR)
def test_what_is_done_with_calls_of_linear_layers(name):
    """Hooks, pruning, layers of another class and other ways forward."""
    layer, at = LINEAR[name]
    layer, x, g, seen = copy.deepcopy(layer), torch.randint(5, (50, 6)).float(), graph(), []
    linear, before = getattr(layer, at), layer(x, g)
    with linear.register_forward_hook(lambda *given: seen.append(given)):
        close(layer(x, g), before)
    assert len(seen) == 1
    linear.forward = lambda x: linear.weight.new_zeros(len(x), 3)
    assert not layer(x, g).any()
    del linear.forward
    prune.l1_unstructured(linear, "weight", 0.5)
    for _ in range(2):
        layer(x, g).sum().backward()
    assert linear.weight_orig.grad[linear.weight_mask == 0].count_nonzero() == 0
    with torch.no_grad():
        linear.weight_orig.zero_()
    assert not layer(x, g).any()
    other = Another(6, 3, bias=False)
    setattr(layer, at, other)
    found = layer(x, g)
    other.__class__ = torch.nn.Linear
    close(found, layer(2 * x, g))


@pytest.mark.parametrize("name", ("GCNConv", "SAGEConv"))
def test_graph_layers_compile_with_breaks(name):
    edge_index, x = graph(), torch.randn(50, 12)
    layer = getattr(scorch.nn, name)(12, 7)
    for g in (edge_index, scorch.from_edge_index(edge_index, num_nodes=50)):
        close(torch.compile(layer, backend="aot_eager")(x, g), layer(x, g))


def test_what_graph_layers_refuse():
    edge_index, x = graph(), torch.randn(50, 12)
    for layer in (scorch.nn.GCNConv(12, 7), scorch.nn.SAGEConv(12, 7)):
        with pytest.raises(ValueError, match="two kinds of nodes"):
            layer((x, x), edge_index)
        with pytest.raises(ValueError, match="SparseTensor"):
            layer(x, scorch.from_edge_index(edge_index, num_nodes=60))
        with pytest.raises(ValueError, match=r"in 0\.\.49, got"):
            layer(x, edge_index + 40)
    with pytest.raises(ValueError, match="normalize=True"):
        scorch.nn.GCNConv(12, 7, normalize=False, add_self_loops=True)
    layer, kinds = scorch.nn.RGCNConv(12, 7, 4), torch.zeros(edge_index.shape[1], dtype=torch.long)
    with pytest.raises(ValueError, match=r"edge_type: expected integers in 0\.\.3"):
        layer(x, edge_index, kinds + 4)
    with pytest.raises(ValueError, match="edge_type: expected"):
        layer(x, edge_index, kinds[1:])
    with pytest.raises(ValueError, match="x: expected features"):
        layer(torch.arange(50), edge_index, kinds)
    for given in (edge_index, scorch.from_edge_index(edge_index, num_nodes=50)):
        with pytest.raises(TypeError, match="floating point type, got torch"):
            scorch.nn.APPNP(2, 0.1)(torch.ones(50, 3, dtype=torch.long), given)


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


@pytest.mark.parametrize("aggr", ("mean", "sum"))
@pytest.mark.parametrize(("features", "out"), [(12, 8), (8, 12)])
@pytest.mark.parametrize("relations", (2, 40), ids=("rows", "edges"))
def test_block_diagonal_relations_agree_with_torch_geometric(relations, features, out, aggr):
    pyg = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")
    edge_index, x = graph(), torch.randn(50, features, requires_grad=True)
    edge_type = torch.randint(relations, (edge_index.shape[1],))
    theirs, ours = (kind.RGCNConv(features, out, relations, None, 4, aggr) for kind in (pyg, scorch.nn))
    ours.load_state_dict(theirs.state_dict())
    theirs.load_state_dict(ours.state_dict())
    assert ours.weight.shape == (relations, 4, features // 4, out // 4)
    wanted = theirs(x, edge_index, edge_type)
    expected = torch.autograd.grad(wanted.square().sum(), [x, *theirs.parameters()])
    matrix = ours.adjacency(edge_index, edge_type, 50)
    compiled = torch.compile(ours, backend="aot_eager", fullgraph=True)
    for y in (ours(x, edge_index, edge_type), ours(x, matrix), compiled(x, matrix)):
        close(y, wanted)
        found = torch.autograd.grad(y.square().sum(), [x, *ours.parameters()])
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "wrong", [{"num_blocks": 5}, {"num_blocks": 2, "num_bases": 2}, {"num_blocks": "sum"}]
)
def test_blocks_divide_the_channels(wrong):
    with pytest.raises(ValueError, match="num_blocks"):
        scorch.nn.RGCNConv(12, 8, 3, **wrong)
    with pytest.raises(ValueError, match="features"):
        scorch.nn.RGCNConv(12, 8, 3, num_blocks=2)(None, graph(), torch.zeros(1))


@pytest.mark.sampled
@pytest.mark.parametrize("aggr", ("mean", "sum"))
@pytest.mark.parametrize(("features", "out"), [(12, 5), (5, 12), (None, 5)])
@pytest.mark.parametrize("relations", (2, 40), ids=("rows", "edges"))
@pytest.mark.parametrize("bases", (None, 2, 30))
def test_relations_agree_with_a_dense_sum(relations, bases, features, out, aggr):
    """Where each way of evaluating it is taken, with edges that are fixed or trained."""
    torch.manual_seed(0)
    edge_index, n = graph(), 50
    edge_type = torch.randint(relations, (edge_index.shape[1],))
    layer = scorch.nn.RGCNConv(features or n, out, relations, bases, aggr=aggr).double()
    x = None if features is None else torch.randn(n, features, dtype=torch.double, requires_grad=True)
    count = torch.zeros(n, relations, n, dtype=torch.double)
    count[edge_index[1], edge_type, edge_index[0]] = 1
    size = count.sum(2, keepdim=True).clamp(min=1) if aggr == "mean" else 1
    weight = layer.weight if bases is None else torch.einsum("rb,bko->rko", layer.comp, layer.weight)
    given, wanted = torch.eye(n).double() if x is None else x, [*layer.parameters()]
    wanted += [] if x is None else [x]
    shares = (count / size).requires_grad_()
    y = torch.einsum("irj,jk,rko->io", shares, given, weight) + given @ layer.root + layer.bias
    *expected, of_shares = torch.autograd.grad(y.square().sum(), [*wanted, shares])
    matrix = layer.adjacency(edge_index, edge_type, n).double()
    for edges in ((edge_index, edge_type), (matrix,)):
        found = layer(x, *edges)
        torch.testing.assert_close(found, y)
        torch.testing.assert_close(list(torch.autograd.grad(found.square().sum(), wanted)), expected)
    trained = matrix.clone().requires_grad_()
    *found, of_edges = torch.autograd.grad(layer(x, trained).square().sum(), [*wanted, trained])
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(of_edges.to_dense().view(n, relations, n), of_shares * count)


@pytest.mark.parametrize("aggr", ("mean", "sum"))
@pytest.mark.parametrize("form", ("csr", "csf", "coo"))
def test_a_tensor_of_relations_agrees_with_a_dense_sum(form, aggr):
    """Weights are its values, and divided by the number of edges where the mean is taken."""
    weights = (torch.rand(4, 20, 20) * (torch.rand(4, 20, 20) < 0.1)).double()
    x, layer = torch.randn(20, 6).double().requires_grad_(), scorch.nn.RGCNConv(6, 5, 4, aggr=aggr).double()
    cube, dense = scorch.sparse(weights, form).requires_grad_(), weights.clone().requires_grad_()
    count = (weights != 0).sum(2, keepdim=True).clamp(min=1) if aggr == "mean" else 1
    wanted = torch.einsum("rij,jk,rko->io", dense / count, x, layer.weight) + x @ layer.root
    given = [x, layer.weight]
    of_weights, *expected = torch.autograd.grad(wanted.square().sum(), [dense, *given])
    y = layer(x, cube)
    of_cube, *found = torch.autograd.grad(y.square().sum(), [cube, *given])
    torch.testing.assert_close([y, *found], [wanted, *expected])
    torch.testing.assert_close(of_cube.to_dense(), of_weights * (weights != 0))


@pytest.mark.parametrize("aggr", ("mean", "sum"))
@pytest.mark.parametrize("of", (torch.float32, torch.int64))
def test_a_tensor_of_relations_agrees_with_its_edges(of, aggr):
    edges = [torch.unique(torch.randint(20, (2, 40)), dim=1) for _ in range(3)]
    kinds = torch.arange(3).repeat_interleave(torch.tensor([e.shape[1] for e in edges]))
    cube = torch.stack([scorch.from_edge_index(e, num_nodes=20) for e in edges]).to(of)
    layer, x = scorch.nn.RGCNConv(6, 4, 3, aggr=aggr), torch.randn(20, 6)
    close(layer(x, cube), layer(x, torch.cat(edges, 1), kinds))


@pytest.mark.parametrize(("relations", "bases"), [(100_000, None), (4000, 2000)])
def test_no_array_of_relations_or_bases_times_nodes(relations, bases):
    """Such a one would take 64 GB here, or more."""
    nodes, edges = 1_000_000, 2000
    edge_index, edge_type = torch.randint(nodes, (2, edges)), torch.randint(relations, (edges,))
    layer, x = scorch.nn.RGCNConv(4, 8, relations, bases), torch.randn(nodes, 4, requires_grad=True)
    y = layer(x, edge_index, edge_type)
    y.square().sum().backward()
    weight = layer.weight if bases is None else (layer.comp @ layer.weight.flatten(1)).view(-1, 4, 8)
    row = edge_index[1] * relations + edge_type
    share = (row[:, None] == row).sum(1).reciprocal()[:, None]
    message = torch.einsum("ek,eko->eo", x[edge_index[0]], weight[edge_type]) * share
    close(y, (x @ layer.root).index_add(0, edge_index[1], message))
    assert x.grad.shape == x.shape and layer.weight.grad.count_nonzero() > 0


@pytest.mark.parametrize("bases", (None, 3))
@pytest.mark.parametrize("relations", (2, 40), ids=("rows", "edges"))
def test_relations_compile(relations, bases):
    torch._dynamo.reset()
    edge_index, x = graph(), torch.randn(50, 12)
    edge_type = torch.randint(relations, (edge_index.shape[1],))
    layer = scorch.nn.RGCNConv(12, 16, relations, num_bases=bases)
    close(
        torch.compile(layer, backend="aot_eager")(x, edge_index, edge_type), layer(x, edge_index, edge_type)
    )
    matrix = layer.adjacency(edge_index, edge_type, 50)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    wanted = torch.autograd.grad(layer(x, matrix).square().sum(), list(layer.parameters()))
    found = torch.autograd.grad(compiled(x, matrix).square().sum(), list(layer.parameters()))
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_the_operator_of_relations_in_checkpoints():
    edge_index, x = graph(), torch.randn(50, 12, requires_grad=True)
    layer = scorch.nn.RGCNConv(12, 16, 40)
    matrix = layer.adjacency(edge_index, torch.randint(40, (edge_index.shape[1],)), 50)
    given = "ibj,jk,bko->io", matrix, 40, (x, layer.weight), (50, 16)
    (wanted,) = torch.autograd.grad(relational(*given).sum(), x)
    checkpoint(relational, *given, use_reentrant=False).sum().backward()
    assert torch.equal(x.grad, wanted)


@pytest.mark.parametrize("bases", (3, 5))
@pytest.mark.parametrize("onehot", (True, False))
def test_gradients_through_bases(bases, onehot):
    """Those of a weight a relation; with as many bases as relations, and where edges are trained, too."""
    edge_index, x = graph(), None if onehot else torch.randn(50, 12, requires_grad=True)
    edge_type = torch.randint(5, (edge_index.shape[1],))
    layer = scorch.nn.RGCNConv(50 if onehot else 12, 7, 5, num_bases=bases)
    matrix = layer.adjacency(edge_index, edge_type, 50)
    relations = matrix.to_dense().view(50, 5, 50)
    wanted = [layer.weight, layer.comp] if onehot else [layer.weight, layer.comp, x]
    features = torch.eye(50) if onehot else x
    y = torch.einsum("irj,rb,bko,jk->io", relations, layer.comp, layer.weight, features)
    expected = torch.autograd.grad((y + features @ layer.root + layer.bias).square().sum(), wanted)
    trained = layer.adjacency(edge_index, edge_type, 50).requires_grad_()
    for _ in range(2):  # the layer keeps what it derived from the edges
        for given in ((edge_index, edge_type), (matrix,), (trained,)):
            found = torch.autograd.grad(layer(x, *given).square().sum(), wanted)
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layer", (scorch.nn.GCNConv(12, 7), scorch.nn.SAGEConv(12, 7)), ids=str)
def test_gradients_reach_the_weights(layer):
    edge_index, x = graph(), torch.randn(50, 12, requires_grad=True)
    layer(x, edge_index).square().sum().backward()
    assert x.grad is not None and all(p.grad is not None for p in layer.parameters())


@pytest.mark.parametrize("form", ("csr", "csc", "ell(10)", "edge_index"))
@pytest.mark.parametrize("normalize", (True, False))
def test_weights_of_edges_are_trained_in_compiled_layers_too(form, normalize):
    layer, x, found = scorch.nn.GCNConv(4, 3, normalize=normalize), torch.randn(20, 4), []
    torch.compiler.reset()
    for f in (layer, torch.compile(layer, backend="aot_eager", fullgraph=True)):
        index, weight = graph(20, 60), torch.rand(50, generator=torch.Generator().manual_seed(0))
        if form == "edge_index":
            leaf = weight.requires_grad_()
            f(x, index, leaf).square().sum().backward()
        else:
            leaf = scorch.from_edge_index(index, weight, num_nodes=20).convert(form).requires_grad_()
            f(x, leaf).square().sum().backward()
        found.append(leaf.grad if form == "edge_index" else leaf.grad.to_dense())
        assert found[-1].count_nonzero() > 30
    close(*found)


@pytest.mark.parametrize("layer", (scorch.nn.SGConv(4, 3, K=2), scorch.nn.APPNP(2, 0.1)), ids=str)
def test_weights_of_edges_are_trained_in_compiled_propagation(layer):
    x, found = torch.randn(20, 4), []
    torch.compiler.reset()
    for f in (layer, torch.compile(layer, backend="aot_eager", fullgraph=True)):
        a = scorch.from_edge_index(graph(20, 60), num_nodes=20).requires_grad_()
        f(x, a).square().sum().backward()
        found.append(a.grad.values())
    close(*found)


def test_graphs_of_any_size_where_the_graph_breaks():
    """A graph of torch.compile that ends at a matrix is given by inductor without its sizes."""
    layer = scorch.nn.SAGEConv(4, 3)
    torch.compiler.reset()
    compiled = torch.compile(layer, dynamic=True)
    for nodes in (20, 30):
        a, x = scorch.from_edge_index(graph(nodes, 60), num_nodes=nodes), torch.randn(nodes, 4)
        close(compiled(x, a), layer(x, a))


PADDED = {
    "gcn": lambda: scorch.nn.GCNConv(4, 3),
    "mean": lambda: scorch.nn.SAGEConv(4, 3),
    "sum": lambda: scorch.nn.SAGEConv(4, 3, aggr="sum"),
    "gat": lambda: scorch.nn.GATConv(4, 3),
    "powers": lambda: scorch.nn.SGConv(4, 3),
}


@pytest.mark.sampled
@pytest.mark.parametrize("format", ("ell(10)", "dia(16)", "sell(8,16)", "csr of rows(> 6) + ell(6)"))
@pytest.mark.parametrize("name", PADDED)
def test_graphs_in_formats_with_padding(name, format):
    """Padding has no coordinates, and is no edge."""
    layer, x, csr = PADDED[name](), torch.randn(20, 4), scorch.from_edge_index(graph(20, 60), num_nodes=20)
    padded = csr.convert(format)
    close(layer(x, padded), layer(x, csr))
    torch.compiler.reset()
    close(torch.compile(layer, backend="aot_eager", fullgraph=True)(x, padded), layer(x, csr))


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


@pytest.mark.parametrize("fmt", ["csr", "coo", "bsr(2,2)"])
def test_structured_pruning_of_a_sparse_weight(fmt):
    """Alone, and after another, as torch's own of the dense weight."""
    weight = torch.randn(6, 8) * (torch.rand(6, 8) < 0.7)
    sparse, dense = torch.nn.Linear(8, 6), torch.nn.Linear(8, 6)
    sparse.weight, dense.weight = torch.nn.Parameter(scorch.sparse(weight, fmt)), torch.nn.Parameter(weight)
    sparse.bias, x = dense.bias, torch.randn(5, 8)
    for prune_by in (
        lambda layer: prune.ln_structured(layer, "weight", amount=0.3, n=2, dim=0),
        lambda layer: prune.random_structured(layer, "weight", amount=0.3, dim=1),
        lambda layer: prune.ln_structured(layer, "weight", amount=1, n=float("inf"), dim=1),
    ):
        for layer in (sparse, dense):
            torch.manual_seed(0)
            prune_by(layer)
        close(sparse(x), dense(x))
    prune.remove(sparse, "weight")
    assert scorch.is_sparse(sparse.weight)
    with torch.no_grad():
        close(sparse(x), dense(x))


def test_linear_from_dense_keeps_the_share_and_what_is_trained():
    dense = torch.nn.Linear(24, 16)
    torch.nn.init.ones_(dense.weight)  # ties
    for density, kept in ((0.25, 96), (0, 1), (1, 384)):
        assert scorch.nn.Linear.from_dense(dense, density=density).values.numel() == kept
    dense.weight.requires_grad_(False)
    layer = scorch.nn.Linear.from_dense(dense)
    assert not layer.values.requires_grad and layer.bias.requires_grad
    with pytest.raises(ValueError, match="between 0 and 1"):
        scorch.nn.Linear.from_dense(dense, density=1.5)
    with pytest.raises(TypeError, match="Conv1d"):
        scorch.nn.Linear.from_dense(torch.nn.Conv1d(3, 3, 1))


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
    twin = scorch.nn.Linear(30, 20)  # of another pattern, which the state replaces
    assert not torch.equal(twin.crd1, layer.crd1)
    twin.load_state_dict(layer.state_dict())
    assert torch.equal(twin(x), layer(x)) and torch.equal(twin.crd1, layer.crd1)


def test_linear_state_on_the_meta_device():
    layer, x = scorch.nn.Linear(30, 20, density=0.2), torch.randn(4, 30)
    y = layer(x)
    twin = scorch.nn.Linear(30, 20).to("meta")  # of another pattern and size
    twin.load_state_dict(layer.state_dict(), assign=True)
    assert torch.equal(twin(x), y) and twin.values.requires_grad
    twin = scorch.nn.Linear(30, 20).to("meta")
    with pytest.warns(UserWarning, match="is a no-op"):
        twin.load_state_dict(layer.state_dict())
    assert twin.values.is_meta and twin.crd1.is_meta
    twin.load_state_dict(layer.state_dict(), assign=True)
    assert torch.equal(twin(x), y)
    with pytest.raises(RuntimeError, match="out of meta tensor"):
        layer.load_state_dict(copy.deepcopy(layer).to("meta").state_dict())
    assert torch.equal(layer(x), y)


@pytest.mark.parametrize("format", ("csr", "csc", "bsr(4,4)"))
def test_linear_trains_like_a_masked_dense_layer(format):
    torch.manual_seed(0)
    layer, x, y = (
        scorch.nn.Linear(24, 16, density=0.25, format=format),
        torch.randn(8, 24),
        torch.randn(8, 16),
    )
    with torch.no_grad():
        start, mask = (
            layer.weight.to_dense(),
            layer.weight._with_values(torch.ones_like(layer.values)).to_dense(),
        )
    weight, bias = torch.nn.Parameter(start), torch.nn.Parameter(layer.bias.detach().clone())
    ours = torch.optim.Adam(layer.parameters(), lr=0.01)
    theirs = torch.optim.Adam([weight, bias], lr=0.01)
    for _ in range(10):
        for steps, out in ((ours, layer(x)), (theirs, F.linear(x, weight * mask, bias))):
            steps.zero_grad()
            F.mse_loss(out, y).backward()
            steps.step()
    close(layer.weight.detach().to_dense(), (weight * mask).detach())
    close(layer.bias.detach(), bias.detach())


def test_linear_keeps_what_it_knows_of_its_structure():
    layer, x = scorch.nn.Linear(24, 16, density=0.25), torch.randn(8, 24, requires_grad=True)
    layer(x).sum().backward()
    kept = layer._structured
    layer(x).sum().backward()
    assert layer._structured is kept
    layer.double()
    close(layer(x.double()), F.linear(x.double(), layer.weight.to_dense(), layer.bias))
    assert layer.weight.dtype == torch.float64 and copy.deepcopy(layer)._structured is None


@pytest.mark.parametrize("bias", (True, False))
@pytest.mark.parametrize("format", ("csr", "bsr(4,4)", "ell(2)"))
def test_derivatives_of_linear(format, bias):
    layer = scorch.nn.Linear(8, 4, bias, density=0.25, format=format, dtype=torch.float64)
    names, start = zip(*((n, p.detach().clone()) for n, p in layer.named_parameters()), strict=True)

    def f(x, *parameters):
        return torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x,)).sin()

    args = [t.requires_grad_() for t in (torch.randn(3, 2, 8, dtype=torch.float64), *start)]
    assert torch.autograd.gradcheck(f, args) and torch.autograd.gradgradcheck(f, args)
    plain = tuple(t.detach() for t in args)
    loss, places = lambda *t: f(*t).square().sum(), tuple(range(len(args)))
    close(torch.func.grad(loss, places)(*plain), torch.autograd.grad(loss(*args), args))
    if "ell" not in format:  # whose stored values stay zero where nothing is
        close(
            torch.func.jvp(f, plain, plain)[1],
            torch.autograd.functional.jvp(f, plain, plain)[1],
        )


def test_linear_reads_the_values_it_has_and_notices_changes():
    layer, x = scorch.nn.Linear(24, 16), torch.randn(8, 24)
    y = layer(x)
    layer.values.data = layer.values.data * 2
    close(layer(x) - layer.bias, 2 * (y - layer.bias))
    layer.load_state_dict(
        {k: v * 2 if k == "values" else v for k, v in layer.state_dict().items()}, assign=True
    )
    close(layer(x) - layer.bias, 4 * (y - layer.bias))
    y = layer(x.requires_grad_())
    with torch.no_grad():
        layer.values.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_linear_is_saved_and_loaded(tmp_path):
    layer, x = scorch.nn.Linear(24, 16), torch.randn(8, 24)
    layer(x)
    torch.save(layer.state_dict(), tmp_path / "state.pt")
    twin = copy.deepcopy(layer)
    with torch.no_grad():
        twin.values.zero_()
    twin.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert torch.equal(twin(x), layer(x))


class FromValues(torch.nn.Module):
    """A sparse weight of given structure over values, for torch.nn.utils.parametrize."""

    def __init__(self, weight: scorch.SparseTensor) -> None:
        super().__init__()
        self.structure = weight.detach()

    def forward(self, values: torch.Tensor) -> scorch.SparseTensor:
        return self.structure._with_values(values)

    def right_inverse(self, weight: torch.Tensor) -> torch.Tensor:
        index = self.structure.indices().long()
        return weight[index[0], index[1]]


def test_linear_has_no_weight_to_set():
    """A norm is folded into the dense layer, whose zeros stay."""
    layer, norm = torch.nn.Linear(24, 16).eval(), torch.nn.BatchNorm1d(16).eval()
    sparse = scorch.nn.Linear.from_dense(layer, density=0.25).eval()
    for set_weight in (
        lambda: fuse_linear_bn_eval(sparse, norm),
        lambda: setattr(sparse, "weight", torch.nn.Parameter(sparse.weight.detach())),
        lambda: sparse.register_parameter("weight", None),
        lambda: prune.l1_unstructured(sparse, "weight", amount=0.5),
    ):
        with pytest.raises(AttributeError, match=r"weight: .* values, or change the torch\.nn\.Linear"):
            set_weight()
    norm.running_mean, norm.running_var = torch.arange(16.0), torch.full((16,), 4.0)
    prune.l1_unstructured(layer, "weight", amount=0.75)
    prune.remove(layer, "weight")
    x = torch.randn(8, 24)
    close(scorch.nn.Linear.from_dense(fuse_linear_bn_eval(layer, norm))(x), norm(sparse(x)))


def spectral(weight, normed):
    made = normed.parametrizations.weight[0]
    return weight / (made._u @ (weight @ made._v))


def by_rows(weight, normed):
    lengths = normed.parametrizations.weight.original0.detach()
    return weight * (lengths / torch.linalg.vector_norm(weight, dim=1, keepdim=True))


@pytest.mark.parametrize("name, norm", [("spectral_norm", spectral), ("weight_norm", by_rows)])
@pytest.mark.parametrize("format", ["csr", "ell(4)"])
@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
def test_norms_of_the_weight_of_linear_belong_to_the_call(name, norm, format):
    dense, x = torch.nn.Linear(4, 3), torch.arange(8.0).view(2, 4)
    with torch.no_grad():
        dense.weight.copy_((torch.arange(12.0) % 4).view(3, 4))
    layer = scorch.nn.Linear.from_dense(dense, format)
    wanted, index = layer(x), layer.weight.indices().long()
    with pytest.raises(ValueError, match="weight"):
        getattr(parametrizations, name)(layer)
    with pytest.raises(KeyError, match="weight"):
        getattr(torch.nn.utils, name)(layer)
    assert torch.equal(layer(x), wanted)
    normed = getattr(parametrizations, name)(dense).eval()
    y, wanted = F.linear(x, norm(layer.weight, normed), layer.bias), normed(x)
    close(y, wanted)
    y.square().sum().backward()
    wanted.square().sum().backward()
    originals = normed.parametrizations.weight
    grad = originals.original.grad if name == "spectral_norm" else originals.original1.grad
    close(layer.values.grad, grad[index[0], index[1]].where(index[0] >= 0, 0))


def test_gradients_of_each_sample_of_linear():
    layer, x = scorch.nn.Linear(4, 3, density=0.5), torch.arange(8.0).view(2, 4)
    parameters = {name: p.detach() for name, p in layer.named_parameters()}

    def loss(parameters, row):
        return torch.func.functional_call(layer, parameters, (row,)).sum()

    grads = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, x)
    assert torch.equal(grads["values"], x[:, layer.weight.indices()[1]])
    assert torch.equal(grads["bias"], torch.ones(2, 3))


@pytest.mark.parametrize("format", ["csr", "csr of rows(<= 2) + coo"])
@pytest.mark.parametrize("trained", [True, False])
def test_what_is_written_to_the_weight_of_linear_reaches_the_values_or_is_refused(format, trained):
    """The weight is made at each access, so nothing may be kept with it alone."""
    dense = torch.nn.Linear(4, 3)
    with torch.no_grad():
        dense.weight.copy_((torch.arange(12.0) % 4).view(3, 4))
    layer = scorch.nn.Linear.from_dense(dense, format).requires_grad_(trained)
    wanted, parameter = dense.weight.detach().clone(), layer.values
    layer.weight.data = layer.weight.data * 2
    assert torch.equal(layer.weight.to_dense(), wanted.mul_(2))
    layer.weight.data = scorch.sparse(wanted.sqrt().round(), format)
    assert torch.equal(layer.weight.to_dense(), wanted.sqrt_().round_())
    layer.weight.data *= 3
    layer.weight.data.add_(1)
    assert torch.equal(layer.weight.to_dense(), wanted.mul_(3).add_(wanted != 0))
    for lost in (
        lambda: setattr(layer.weight, "data", scorch.sparse(torch.eye(3, 4), format)),
        lambda: setattr(layer.weight, "data", layer.weight.data.double()),
        lambda: setattr(layer.weight, "grad", layer.weight.detach()),
        lambda: setattr(layer.weight, "grad", None),
        lambda: layer.weight.register_hook(torch.neg),
        lambda: layer.weight.retain_grad(),
    ):
        with pytest.raises(RuntimeError, match=r"write to layer\.values"):
            lost()
    assert torch.equal(layer.weight.to_dense(), wanted) and layer.values is parameter
    kept = (layer.weight * 1).requires_grad_()  # a tensor that is computed from it is kept by its owner
    kept.register_hook(lambda grad: grad * 2)
    kept.retain_grad()
    (kept @ torch.ones(4)).sum().backward()
    assert set(kept.grad.values().tolist()) == {2.0}


def test_a_parametrized_layer_of_torch():
    dense, x = torch.nn.Linear(24, 16), torch.randn(8, 24)
    prune.l1_unstructured(dense, "weight", amount=0.8)
    prune.remove(dense, "weight")
    wanted = dense(x)
    weight = scorch.sparse(dense.weight.detach(), "csr")
    parametrize.register_parametrization(dense, "weight", FromValues(weight), unsafe=True)
    close(dense(x), wanted)
    dense(x).sum().backward()
    values = dense.parametrizations.weight.original
    assert values.shape == (weight.nnz,) and values.grad.abs().sum() > 0


DISTRIBUTED = """
import sys, torch, torch.distributed as dist, scorch, scorch.nn
rank, path = int(sys.argv[1]), sys.argv[2]
try:
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
except RuntimeError as error:
    sys.exit(f"cannot bind: {error}")
torch.manual_seed(0)
layer, x = scorch.nn.Linear(24, 16, density=0.25), torch.randn(8, 24)
twin = scorch.nn.Linear.from_dense(torch.nn.Linear(24, 16), mask=layer.weight.detach().to_dense())
twin.load_state_dict(layer.state_dict())
shared = torch.nn.parallel.DistributedDataParallel(layer)
shared(x[4 * rank : 4 * rank + 4]).square().mean().backward()
twin(x).square().mean().backward()
torch.testing.assert_close(layer.values.grad, twin.values.grad)
whole = torch.nn.Module()
whole.weight = torch.nn.Parameter(layer.weight.detach())
try:
    torch.nn.parallel.DistributedDataParallel(whole)
except NotImplementedError as error:
    assert "hold the values as the parameter" in str(error)
else:
    raise AssertionError("a sparse parameter cannot be broadcast")
dist.destroy_process_group()
"""


def test_linear_in_two_processes(tmp_path):
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("torch was built without gloo")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", DISTRIBUTED, str(rank), str(tmp_path / "store")],
            stderr=subprocess.PIPE, text=True, env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"},
        )
        for rank in range(2)
    ]  # fmt: skip
    said = [process.communicate(timeout=120)[1] for process in started]
    if any("cannot bind" in text for text in said):
        pytest.skip(f"gloo cannot bind to loopback: {said}")
    assert all(process.returncode == 0 for process in started), said


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


def test_mixture_of_experts_without_tokens_and_of_another_width():
    layer = scorch.nn.MoE(4, 8, 4)
    assert layer(torch.ones(0, 4)).shape == (0, 4) and layer(torch.ones(2, 0, 4)).shape == (2, 0, 4)
    for shape in ((3, 5), (3, 8), ()):
        with pytest.raises(ValueError, match="x: expected shape"):
            layer(torch.ones(shape))


def test_experts_of_a_type_and_on_a_device():
    layer = scorch.nn.MoE(8, 4, 3, 2, device="cpu", dtype=torch.float64)
    assert {p.dtype for p in layer.parameters()} == {torch.float64}
    assert layer(torch.rand(5, 8, dtype=torch.float64)).dtype == torch.float64
    assert {p.device.type for p in scorch.nn.MoE(8, 4, 3, device="meta").parameters()} == {"meta"}


@pytest.mark.parametrize(
    "sizes", [(0, 4, 3), (8, -1, 3), (8, 4, 0), (8, 4, 3, 0), (8.0, 4, 3), (8, 4, 3, 2.0)]
)
def test_experts_that_are_none(sizes):
    with pytest.raises((ValueError, TypeError), match="expected"):
        scorch.nn.MoE(*sizes)


def test_mixes_say_what_they_expect():
    layer = scorch.nn.MoE(8, 4, 3, 2)
    with pytest.raises(
        ValueError, match=r"mix: expected scores and experts \[5, k\], got \[5, 2\] and \[5, 1\]"
    ):
        layer.mix(torch.rand(5, 8), torch.rand(5, 2), torch.zeros(5, 1, dtype=torch.int64))


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


def test_mixture_of_experts_second_order_and_transforms():
    torch.manual_seed(0)
    layer = scorch.nn.MoE(6, 8, 3, 2, activation=torch.tanh).double()
    x, v = torch.randn(7, 6, dtype=torch.float64), torch.randn(7, 6, dtype=torch.float64)

    def second(f):
        leaves = [x.clone().requires_grad_(), *layer.parameters()]
        first = torch.autograd.grad(f(leaves[0]).pow(3).sum(), leaves, create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in first), leaves)

    plain = lambda x: mixture(layer, x)  # noqa: E731
    torch.testing.assert_close(second(layer), second(plain))
    torch.testing.assert_close(torch.func.jvp(layer, (x,), (v,)), torch.func.jvp(plain, (x,), (v,)))
    squares = [torch.func.grad(lambda x, f=f: f(x).square().sum())(x) for f in (layer, plain)]
    torch.testing.assert_close(*squares)


# ---- formats that store more than edges ----
LAYERS = {
    "GCNConv": lambda: scorch.nn.GCNConv(4, 3),
    "SAGEConv": lambda: scorch.nn.SAGEConv(4, 3),
    "SAGEConv, sums": lambda: scorch.nn.SAGEConv(4, 3, aggr="sum"),
    "GATConv": lambda: scorch.nn.GATConv(4, 3),
    "GATConv, no loops": lambda: scorch.nn.GATConv(4, 3, add_self_loops=False),
    "SGConv": lambda: scorch.nn.SGConv(4, 3, K=2),
    "APPNP": lambda: scorch.nn.APPNP(3, 0.1),
    "GINConv": lambda: scorch.nn.GINConv(torch.nn.Linear(4, 3)),
}


FILLED = (
    *("bsr(2,2)", "bsc(2,4)", "ell(6)", "dia(16)", "sell(8,8)", "compressed(0), dense(1)"),
    *("csr of rows(<= 1) + bsr(2,2)", "compressed(0), dense(1) of rows(>= 2) + csr"),
)


@pytest.mark.parametrize("format", FILLED)
@pytest.mark.parametrize("name", LAYERS)
def test_zeros_that_fill_blocks_up_are_no_edges(name, format):
    torch.manual_seed(0)
    layer, x, d = LAYERS[name]().eval(), torch.randn(8, 4), torch.zeros(8, 8)
    d[torch.randint(8, (14,)), torch.randint(8, (14,))] = torch.rand(14)
    wanted, graph = layer(x, scorch.sparse(d, "csr")), scorch.sparse(d, format)
    torch.testing.assert_close(layer(x, graph), wanted, rtol=1e-5, atol=1e-5)
    compiled = torch.compile(layer, backend="aot_eager")
    torch.testing.assert_close(compiled(x, graph), wanted, rtol=1e-5, atol=1e-5)

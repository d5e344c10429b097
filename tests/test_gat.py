"""Graph attention: against plain torch and torch_geometric, its derivatives, and under torch.compile."""

import copy

import pytest
import torch
import torch.nn.functional as F

import planetoid
import scorch
import scorch.nn

NODES, IN, OUT, HEADS, EDGE = 30, 12, 5, 3, 4


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def edges(
    sources: int = NODES, targets: int = NODES, count: int = 120, parallel: bool = False
) -> torch.Tensor:
    """Edges with loops among them; the last five targets have none."""
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randint(n, (count,), generator=generator) for n in (sources, targets - 5)]
    index = torch.stack(rows)
    return (
        index
        if parallel
        else torch.unique(index, dim=1)[:, torch.randperm(torch.unique(index, dim=1).shape[1])]
    )


def attend(layer, x, index, features=None, weight=lambda w: w):
    """What the layer is to compute, one edge a row and target after target; `weight` is what drops out."""
    sources, targets = x if isinstance(x, tuple) else (x, x)
    project = lambda y, one: (y @ (layer.lin or one).weight.T).view(-1, layer.heads, layer.out_channels)  # noqa: E731
    xs, xt = project(sources, layer.lin_src), project(targets, layer.lin_dst)
    if layer.add_self_loops:
        kept, loops = index[0] != index[1], torch.arange(min(len(xs), len(xt)))
        index = index[:, kept]
        if features is not None:
            features = features[kept]
            means = [features[index[1] == i].sum(0) / max(int((index[1] == i).sum()), 1) for i in loops]
            features = torch.cat([features, torch.stack(means)])
        index = torch.cat([index, loops.expand(2, -1)], 1)
    score = (xs * layer.att_src).sum(-1)[index[0]] + (xt * layer.att_dst).sum(-1)[index[1]]
    if features is not None:
        projected = layer.lin_edge(features).view(-1, layer.heads, layer.out_channels)
        score = score + (projected * layer.att_edge).sum(-1)
    score, rows = F.leaky_relu(score, layer.negative_slope), []
    for i in range(len(xt)):
        at = index[1] == i
        rows.append((weight(score[at].softmax(0))[..., None] * xs[index[0, at]]).sum(0))
    y = torch.stack(rows)
    y = y.flatten(1) if layer.concat else y.mean(1)
    y = y if layer.res is None else y + layer.res(targets)
    return y if layer.bias is None else y + layer.bias


OPTIONS = {
    "plain": {},
    "no loops": {"add_self_loops": False},
    "averaged": {"concat": False, "negative_slope": 0.1},
    "one head": {"heads": 1, "bias": False},
    "residual": {"residual": True, "concat": False},
}


def layer_of(**options) -> scorch.nn.GATConv:
    torch.manual_seed(0)
    return scorch.nn.GATConv(**({"in_channels": IN, "out_channels": OUT, "heads": HEADS} | options)).eval()


def agree(layer, given, wanted) -> None:
    close(given, wanted)
    parameters = list(layer.parameters())
    found = [torch.autograd.grad(y.square().mean(), parameters) for y in (given, wanted)]
    for got, expected in zip(*found, strict=True):
        close(got, expected)


@pytest.mark.parametrize("form", ["edge_index", "csr", "csc", "coo", "torch"])
@pytest.mark.parametrize("name", OPTIONS)
def test_agrees_with_plain_torch(name, form):
    layer, x, index = layer_of(**OPTIONS[name]), torch.randn(NODES, IN), edges()
    graph = index
    if form != "edge_index":  # values of the graph are not read
        graph = scorch.from_edge_index(index, torch.rand(index.shape[1]), num_nodes=NODES)
        graph = graph.to_torch(torch.sparse_csr) if form == "torch" else graph.convert(form)
    for _ in range(2):
        agree(layer, layer(x, graph), attend(layer, x, index))


@pytest.mark.parametrize("loops", [True, False])
def test_parallel_edges_count_each(loops):
    layer, x, index = layer_of(add_self_loops=loops), torch.randn(NODES, IN), edges(parallel=True)
    assert torch.unique(index, dim=1).shape[1] < index.shape[1]
    agree(layer, layer(x, index), attend(layer, x, index))


@pytest.mark.parametrize("loops", [True, False])
def test_features_of_edges(loops):
    layer, x, index = layer_of(add_self_loops=loops, edge_dim=EDGE), torch.randn(NODES, IN), edges()
    features = torch.randn(index.shape[1], EDGE, requires_grad=True)
    given, wanted = layer(x, index, features), attend(layer, x, index, features)
    found = [torch.autograd.grad(y.square().mean(), features, retain_graph=True)[0] for y in (given, wanted)]
    close(*found)
    agree(layer, given, wanted)
    graph = scorch.from_edge_index(index, num_nodes=NODES)
    target, source = graph.indices().long()
    order = [
        (torch.stack([s, t]) == index.T).all(1).nonzero().item() for t, s in zip(target, source, strict=True)
    ]
    close(layer(x, graph, features[order]), wanted)
    with layer.lin_edge.register_forward_hook(lambda module, given, y: 2 * y):
        twice = layer(x, index, features)
    close(twice, layer(x, index, 2 * features))


@pytest.mark.parametrize("loops", [True, False])
def test_two_kinds_of_nodes(loops):
    layer, index = layer_of(in_channels=(IN, 7), add_self_loops=loops), edges(20, NODES, 80)
    x = torch.randn(20, IN), torch.randn(NODES, 7)
    agree(layer, layer(x, index), attend(layer, x, index))
    graph = scorch.sparse(
        torch.sparse_coo_tensor(index.flip(0), torch.ones(index.shape[1]), (NODES, 20)), "csr"
    )
    close(layer(x, graph), attend(layer, x, index))
    with torch.no_grad():
        layer.att_dst.zero_()  # what is left where targets have no features
    for given, size in ((index, (20, NODES)), (graph, None)):
        close(
            layer((x[0], None), given, size=size), attend(layer, x, index) if not loops else layer(x, index)
        )


GEOMETRIC = {
    **OPTIONS,
    "features": {"edge_dim": EDGE},
    "added": {"edge_dim": EDGE, "fill_value": "add"},
    "largest": {"edge_dim": EDGE, "fill_value": "max"},
    "number": {"edge_dim": EDGE, "fill_value": 0.5},
    "tensor": {"edge_dim": EDGE, "fill_value": torch.arange(4.0)},
    "pair": {"in_channels": (IN, IN)},
}


@pytest.mark.parametrize("name", GEOMETRIC)
def test_weights_of_torch_geometric(name):
    pyg = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")
    options, x, index = GEOMETRIC[name], torch.randn(NODES, IN), edges()
    features = torch.randn(index.shape[1], EDGE) if "edge_dim" in options else None
    ours, theirs = (
        layer_of(**options),
        pyg.GATConv(**({"in_channels": IN, "out_channels": OUT, "heads": HEADS} | options)),
    )
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    theirs.eval()
    y, (at, weights) = ours(x, index, features, return_attention_weights=True)
    wanted, (index, expected) = theirs(x, index, features, return_attention_weights=True)
    close(y, wanted)
    order = (index[1] * NODES + index[0]).argsort()
    assert torch.equal(at, index[:, order])
    close(weights, expected[order])


def test_citation_graphs(data_dir):
    pyg = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")
    for name in ("cora", "pubmed"):
        graph = planetoid.load(name, str(data_dir))
        theirs, ours = (
            pyg.GATConv(graph.x.shape[1], 8, heads=8),
            layer_of(in_channels=graph.x.shape[1], out_channels=8, heads=8),
        )
        ours.load_state_dict(theirs.state_dict())
        wanted = theirs(graph.x, graph.edge_index)
        for x, given in (
            (graph.x, graph.edge_index),
            (scorch.sparse(graph.x), scorch.from_edge_index(graph.edge_index, num_nodes=len(graph.x))),
        ):
            y = ours(x, given)
            close(y, wanted)
            found = [
                torch.autograd.grad(z.square().mean(), list(layer.parameters()), retain_graph=True)
                for layer, z in ((ours, y), (theirs, wanted))
            ]
            for got, expected in zip(*found, strict=True):
                close(got, expected)


def test_derivatives():
    layer, index = layer_of(edge_dim=2, residual=True).double(), edges(9, 9, 20)
    names, start = zip(*((n, p.detach().clone()) for n, p in layer.named_parameters()), strict=True)
    features, x = torch.randn(index.shape[1], 2).double(), torch.randn(9, IN).double()

    def f(x, features, *parameters):
        return torch.func.functional_call(
            layer, dict(zip(names, parameters, strict=True)), (x, index, features)
        )

    args = [t.requires_grad_() for t in (x, features, *start)]
    assert torch.autograd.gradcheck(f, args) and torch.autograd.gradgradcheck(f, args, fast_mode=True)


def test_dropout_takes_stored_entries():
    layer, x, index = layer_of(dropout=0.5, bias=False).train(), torch.randn(NODES, IN), edges()
    found = []
    for _ in range(2):
        torch.manual_seed(1)
        found.append(layer(x, index, return_attention_weights=True))
    assert torch.equal(found[0][0], found[1][0])
    y, (at, weights) = found[0]
    layer.eval()
    whole = layer(x, index, return_attention_weights=True)[1][1]
    kept = weights != 0
    assert 0.3 < kept.float().mean() < 0.7
    close(weights, torch.where(kept, 2 * whole, 0))
    X = layer.lin(x).view(NODES, HEADS, OUT)
    wanted = torch.zeros_like(X).index_add(0, at[1], weights[..., None] * X[at[0]])
    close(y, wanted.flatten(1))


def test_large_scores():
    """Exponentials of scores would overflow, and those below their largest vanish."""
    layer, x, index = layer_of(), torch.randn(NODES, IN), edges()
    with torch.no_grad():
        layer.att_src.mul_(1e3)
    assert layer(x, index).isfinite().all()
    close(layer(x, index), attend(layer, x, index))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_computes_in_the_type_of_the_features(dtype):
    layer, x, index = layer_of().to(dtype), torch.randn(NODES, IN).to(dtype), edges()
    exact = copy.deepcopy(layer).double()
    y = layer(x, index)
    assert y.dtype == dtype
    assert (y - exact(x.double(), index)).abs().max() <= 40 * torch.finfo(dtype).eps


def test_a_graph_that_changes_is_seen():
    layer, x, index = layer_of(), torch.randn(NODES, IN), edges(NODES, NODES)
    layer(x, index)
    index.copy_(index.flip(0))
    close(layer(x, index), attend(layer, x, index))
    more = torch.randn(NODES + 3, IN)
    close(layer(more, index), attend(layer, more, index))


@pytest.mark.parametrize("given", ["edge_index", "SparseTensor"])
@pytest.mark.parametrize(
    "options",
    [{}, *(pytest.param(x, marks=pytest.mark.slow) for x in ({"add_self_loops": False}, {"dropout": 0.5}))],
    ids=str,
)
def test_one_graph_of_torch_compile(options, given):
    torch._dynamo.reset()
    layer, x = layer_of(**options).train(), torch.randn(NODES, IN)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    for count in (120, 130, 140):
        index = edges(count=count, parallel=given == "edge_index")
        graph = index if given == "edge_index" else scorch.from_edge_index(index, num_nodes=NODES)
        found = []
        for f in (compiled, layer):
            torch.manual_seed(1)
            y = f(x, graph)
            found.append((y, *torch.autograd.grad(y.square().mean(), list(layer.parameters()))))
        for got, wanted in zip(*found, strict=True):
            close(got, wanted)
    layer.eval()
    with torch.no_grad():
        close(compiled(x, graph), layer(x, graph))


class OverBuffer(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.register_buffer("adjacency", scorch.from_edge_index(edges(), num_nodes=NODES))

    def forward(self, x):
        return self.layer(x, self.adjacency)


@pytest.mark.parametrize("strict", [False, True])
def test_exported_with_weights_that_are_trained(strict):
    model, x = OverBuffer(layer_of()), torch.randn(NODES, IN)
    program = torch.export.export(model, (x,), strict=strict)
    close(program.module()(x), model(x))


def test_features_and_pairs_in_torch_compile():
    torch._dynamo.reset()
    graph = scorch.from_edge_index(edges(), num_nodes=NODES)
    layer = layer_of(edge_dim=EDGE, add_self_loops=False)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    x, features = torch.randn(NODES, IN), torch.randn(graph.nnz, EDGE)
    close(compiled(x, graph, features), layer(x, graph, features))
    torch._dynamo.reset()
    with pytest.raises(Exception, match=r"compiled GATConv: expected a SparseTensor"):
        torch.compile(layer, backend="aot_eager", fullgraph=True)(
            x, edges(), torch.randn(edges().shape[1], EDGE)
        )


def test_what_is_refused():
    layer, x, index = layer_of(edge_dim=EDGE), torch.randn(NODES, IN), edges()
    features = torch.randn(index.shape[1], EDGE)
    for match, call in {
        r"x: expected features": lambda: layer(x[0], index),
        r"sources in 0\.\.29, got": lambda: layer(x, index + torch.tensor([[20], [0]])),
        r"targets in 0\.\.29, got": lambda: layer(x, index + torch.tensor([[0], [20]])),
        r"edge_index: expected shape \[2, E\]": lambda: layer(x, index[0]),
        r"expected a SparseTensor \[30, 30\]": lambda: layer(x, scorch.from_edge_index(index, num_nodes=40)),
        r"size: expected \(30, 30\)": lambda: layer(x, index, size=(30, 40)),
        r"each edge once": lambda: layer(x, torch.cat([index, index], 1), torch.cat([features, features])),
        r"layer without edge_dim": lambda: layer_of()(x, index, features),
        r"edge_attr: expected": lambda: layer(x, index, features[1:]),
        r"fill_value: expected": lambda: layer_of(edge_dim=EDGE, fill_value="median")(x, index, features),
    }.items():
        with pytest.raises(ValueError, match=match):
            call()


def test_shows_what_it_is():
    assert repr(layer_of()).startswith("GATConv(\n  12, 5, heads=3")

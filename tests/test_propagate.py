"""GINConv, SGConv and APPNP against the layers of torch_geometric, whose weights load across."""

import copy

import pytest
import torch

import scorch
import scorch.nn

NODES, BEFORE = 40, 9


def graph(loops: bool = False) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    index = torch.unique(torch.randint(NODES - 2, (2, 200), generator=generator), dim=1)
    return index if loops else index[:, index[0] != index[1]]


def mlp(between: int = 12, bias: bool = True) -> torch.nn.Module:
    first = torch.nn.Linear(BEFORE, between, bias=bias)
    return torch.nn.Sequential(first, torch.nn.ReLU(), torch.nn.Linear(between, 5))


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


LAYERS = {
    "GINConv": lambda nn: nn.GINConv(mlp(), eps=0.3),
    "GINConv, eps trained": lambda nn: nn.GINConv(mlp(), eps=0.3, train_eps=True),
    "GINConv, narrower": lambda nn: nn.GINConv(mlp(6), eps=0.3, train_eps=True),
    "GINConv, no bias": lambda nn: nn.GINConv(mlp(6, bias=False), eps=0.3),
    "GINConv, linear": lambda nn: nn.GINConv(torch.nn.Linear(BEFORE, 5)),
    "GINConv, another first": lambda nn: nn.GINConv(torch.nn.Sequential(torch.nn.Tanh(), mlp())),
    "GINConv, nothing": lambda nn: nn.GINConv(torch.nn.Sequential()),
    "SGConv, narrower": lambda nn: nn.SGConv(BEFORE, 5, K=2),
    "SGConv, wider": lambda nn: nn.SGConv(BEFORE, 12, K=3, bias=False),
    "SGConv, cached": lambda nn: nn.SGConv(BEFORE, 5, K=2, cached=True),
    "SGConv, no loops": lambda nn: nn.SGConv(BEFORE, 5, add_self_loops=False),
    "APPNP": lambda nn: nn.APPNP(4, 0.15),
    "APPNP, as given": lambda nn: nn.APPNP(2, 0.5, normalize=False),
    "APPNP, cached": lambda nn: nn.APPNP(3, 0.1, cached=True),
}


def pair(name: str) -> tuple[torch.nn.Module, torch.nn.Module]:
    theirs = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")
    torch.manual_seed(0)
    wanted, ours = LAYERS[name](theirs), LAYERS[name](scorch.nn)
    ours.load_state_dict(wanted.state_dict())
    wanted.load_state_dict(ours.state_dict())
    return ours, wanted


def gradients(layer, x, *given):
    y = layer(x, *given)
    wanted = [p for p in (x, *layer.parameters()) if p.requires_grad]
    return y, *torch.autograd.grad(y, wanted, torch.cos(y.detach()), allow_unused=True)


@pytest.mark.parametrize("given", ("edge_index", "weights", "SparseTensor"))
@pytest.mark.parametrize("name", LAYERS)
def test_agrees_with_torch_geometric(name, given):
    ours, wanted = pair(name)
    edges, x = graph(), torch.randn(NODES, BEFORE, requires_grad=True)
    weights = torch.ones(edges.shape[1]) if "GIN" in name else torch.rand(edges.shape[1])
    with_weights = (edges,) if "GIN" in name else (edges, weights)  # which GINConv does not take
    if given == "SparseTensor":
        found = gradients(ours, x, scorch.from_edge_index(edges, weights, num_nodes=NODES))
    else:
        found = gradients(ours, x, *(with_weights if given == "weights" else (edges,)))
    expected = gradients(wanted, x, *((edges,) if given == "edge_index" else with_weights))
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            close(a, b)
    with torch.no_grad():  # with what was kept
        other = 2 * x.detach()
        close(ours(other, edges), wanted(other, edges))


@pytest.mark.parametrize("name", [name for name in LAYERS if "cached" not in name])
def test_loops_that_are_there(name):
    ours, wanted = pair(name)
    edges, x = graph(loops=True), torch.randn(NODES, BEFORE)
    close(ours(x, edges), wanted(x, edges))


@pytest.mark.parametrize(
    "name", ("GINConv", "GINConv, narrower", "SGConv, narrower", "SGConv, wider", "APPNP")
)
def test_sparse_features_and_other_types(name):
    ours, _ = pair(name)
    edges, x = graph(), torch.rand(NODES, BEFORE) * (torch.rand(NODES, BEFORE) < 0.3)
    close(ours(scorch.sparse(x), edges), ours(x, edges))
    double = copy.deepcopy(ours).double()
    y = double(x.double(), edges)
    assert y.dtype is torch.float64
    close(y.float(), ours(x, edges))


@pytest.mark.parametrize("name", ("GINConv, eps trained", "GINConv, narrower", "SGConv, narrower", "APPNP"))
def test_compiled(name):
    torch._dynamo.reset()  # what other tests compiled in this process counts against the limit of its frames
    ours, _ = pair(name)
    edges, x = graph(), torch.randn(NODES, BEFORE)
    for given in (edges, scorch.from_edge_index(edges, num_nodes=NODES)):
        close(torch.compile(ours, backend="aot_eager", fullgraph=True)(x, given), ours(x, given))


def test_who_watches_a_linear_layer_sees_it_called_with_sums():
    layer, edges, x, seen = scorch.nn.GINConv(mlp(6)), graph(), torch.randn(NODES, BEFORE), []
    y, sums = layer(x, edges), scorch.nn.GINConv(torch.nn.Identity())(x, edges)
    watch = lambda module, given, y: seen.append(given[0])  # noqa: E731
    for watched in (layer.nn, layer.nn[0]):
        with watched.register_forward_hook(watch):
            close(layer(x, edges), y)
    with torch.nn.modules.module.register_module_forward_hook(watch):
        close(layer(x, edges), y)
    assert sum(given.shape == sums.shape and torch.allclose(given, sums) for given in seen) == 4
    assert len(seen) == 2 + 5  # all modules, in the last call


def test_types_under_autocast():
    layer, edges, x = scorch.nn.GINConv(mlp(6)), graph(), torch.randn(NODES, BEFORE)
    with torch.autocast("cpu", torch.bfloat16):
        y = layer(x, edges)
    assert y.dtype is torch.bfloat16
    torch.testing.assert_close(y.float(), layer(x, edges), rtol=0.05, atol=0.05)


def test_dropped_weights_of_edges():
    torch.manual_seed(0)
    layer, edges, x = scorch.nn.APPNP(1, 0.0, dropout=0.5), graph(), torch.ones(NODES, 1)
    whole = layer.eval()(x, edges)
    drawn = torch.stack([layer.train()(x, edges) for _ in range(300)])
    assert not torch.equal(drawn[0], drawn[1])
    torch.testing.assert_close(drawn.mean(0), whole, rtol=0.2, atol=0.1)


def test_parameters_are_drawn_again():
    layer = scorch.nn.GINConv(mlp(), eps=0.3, train_eps=True)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(7)
    layer.reset_parameters()
    assert layer.eps.item() == pytest.approx(0.3) and layer.nn[0].weight.abs().max() < 1
    first, edges = scorch.nn.SGConv(BEFORE, 5, cached=True), graph()
    x = torch.randn(NODES, BEFORE)
    kept = first(x, edges)
    close(first(2 * x, edges), kept)  # cached, as in torch_geometric
    first.reset_parameters()
    close(first(2 * x, edges), first.lin(2 * scorch.nn.SGConv(BEFORE, 5)._propagated(x, edges, None)))


def test_a_parameter_of_propagation_is_trained():
    """As by torch_geometric; the numbers are those of a plain number, also for a tensor of another type."""
    geometric = pytest.importorskip("torch_geometric.nn")
    edges, x = graph(), torch.randn(NODES, BEFORE, requires_grad=True)
    S, found = scorch.from_edge_index(edges, num_nodes=NODES), []
    for nn, given in ((scorch.nn, S), (geometric, edges)):
        alpha = torch.nn.Parameter(torch.tensor(0.25))
        layer = nn.APPNP(3, alpha)
        assert [name for name, _ in layer.named_parameters()] == ["alpha"]
        y = layer(x, given)
        found.append((y, *torch.autograd.grad(y.square().sum(), (alpha, x))))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    close(scorch.nn.APPNP(3, 0.25)(x, S), found[0][0])
    for shape in ((), (1,)):
        y = scorch.nn.APPNP(3, torch.full(shape, 0.25, dtype=torch.float64))(x, S)
        assert y.dtype is torch.float32
        close(y, found[0][0])


@pytest.mark.parametrize("alpha", (float("nan"), float("inf"), torch.ones(2)))
def test_a_share_that_is_no_finite_number_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha: expected a finite number or a tensor of one element"):
        scorch.nn.APPNP(2, alpha)(torch.randn(NODES, BEFORE), graph())


def test_what_is_refused():
    edges, x = graph(), torch.randn(NODES, BEFORE)
    for name in ("GINConv", "SGConv, narrower", "APPNP"):
        layer = LAYERS[name](scorch.nn)
        with pytest.raises(ValueError, match="two kinds of nodes"):
            layer((x, x), edges)
        with pytest.raises(ValueError, match="SparseTensor"):
            layer(x, scorch.from_edge_index(edges, num_nodes=NODES + 1))

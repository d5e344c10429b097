"""torch.compile and torch.export: layers as one graph each, forward and backward, few recompilations."""

import contextlib
import io
import os
import shutil

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.testing import CompileCounterWithBackend
from torch.ao.quantization import get_default_qconfig_mapping
from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

import scorch
import scorch.nn
from scorch import _C, _torch
from scorch._torch import state


@pytest.fixture(autouse=True)
def forget_graphs():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture(params=["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def backend(request):
    if request.param == "inductor" and not shutil.which(os.environ.get("CXX") or "g++"):
        pytest.skip("inductor needs a C++ compiler")
    return request.param


def agree(loss, module, calls, backend="aot_eager", recompilations=1):
    """loss(*args) for each args of calls: compiled as one graph, with the gradients of eager."""
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(loss, fullgraph=True, backend=counter)
    for args in calls:
        found = []
        for f in (compiled, loss):
            module.zero_grad()
            f(*args).backward()
            found.append([p.grad.clone() for p in module.parameters()])
        for got, wanted in zip(*found, strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)
    assert counter.frame_count <= 1 + recompilations


@pytest.mark.parametrize("format", ["csr", "bsr(4,4)"])
def test_linear(format):
    layer = scorch.nn.Linear(24, 16, format=format)
    calls = [(torch.randn(n, 24),) for n in (5, 7, 9)]
    agree(lambda x: layer(x).square().sum(), layer, calls)


def test_mixture_of_experts(backend):
    layer = scorch.nn.MoE(16, 32, 4, 2)
    calls = [(torch.randn(n, 16),) for n in (15, 7, 9)]
    agree(lambda x: layer(x).square().sum(), layer, calls, backend)


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = scorch.nn.GCNConv(12, 8), scorch.nn.GCNConv(8, 4)

    def forward(self, x, graph):
        return self.second(self.first(x, graph).relu(), graph)


def random_graph(nodes, edges):
    return torch.unique(torch.randint(nodes, (2, edges)), dim=1)


@pytest.mark.parametrize("given", ["edge_index", "SparseTensor"])
def test_a_training_step_of_graph_convolutions(given, backend):
    model, x, y = Convolutions(), torch.randn(50, 12), torch.randint(4, (50,))
    calls = []
    for edges in (300, 310, 320):
        graph = random_graph(50, edges)
        calls.append((x, scorch.from_edge_index(graph, num_nodes=50) if given != "edge_index" else graph))
    agree(lambda x, graph: F.cross_entropy(model(x, graph), y), model, calls, backend)


class Attentive(torch.nn.Module):
    """The weights of edges are learnt, so the matrix is made from values in the graph."""

    def __init__(self):
        super().__init__()
        self.edge = torch.nn.Linear(3, 1)
        self.first = scorch.nn.GCNConv(12, 8, normalize=False)
        self.second = scorch.nn.GCNConv(8, 4, normalize=False)

    def forward(self, x, pos, crd, edges):
        weight = self.edge(edges).sigmoid().squeeze(1)
        graph = scorch.from_components("csr", (len(x), len(x)), [None, pos], [None, crd], weight)
        return self.second(self.first(x, graph).relu(), graph)


def test_a_training_step_of_edge_weights(backend):
    model, calls = Attentive(), []
    for edges in (300, 310, 320):
        graph = scorch.from_edge_index(random_graph(50, edges), num_nodes=50)
        calls.append((torch.randn(50, 12), graph.pos(1), graph.crd(1), torch.randn(graph.nnz, 3)))
    agree(lambda *args: model(*args).square().sum(), model, calls, backend)


PATTERN = scorch.sparse((torch.rand(9, 9, generator=torch.Generator().manual_seed(0)) < 0.4).double(), "csr")


def of_values(w):
    return scorch.from_components("csr", (9, 9), [None, PATTERN.pos(1)], [None, PATTERN.crd(1)], w)


@pytest.mark.parametrize(
    "f",
    [
        lambda w, x: of_values(w) @ x,
        lambda w, x: of_values(w).T @ (of_values(PATTERN.values() * w) @ x),
        lambda w, x: scorch.einsum("ij,jk,k->ik", of_values(w), x, x[0]),
        lambda w, x: (of_values(w) * 2 + PATTERN) @ x,
        lambda w, x: torch.softmax(of_values(w), -1) @ x,
        lambda w, x: scorch.map(of_values(w), torch.exp).values() * w * x.sum(),
        lambda w, x: of_values(w).to_dense() * x.sum(),
        lambda w, x: of_values(w) @ (of_values(w) @ x),
    ],
)
def test_gradients_to_values_that_make_a_tensor(f):
    found = []
    for g in (f, torch.compile(f, fullgraph=True, backend="aot_eager")):
        w, x = (torch.linspace(-1, 1, n, dtype=torch.float64) for n in (PATTERN.nnz, 18))
        w, x = w.requires_grad_(), x.view(9, 2).requires_grad_()
        y = g(w, x)
        found.append((y, *torch.autograd.grad(y.square().sum(), (w, x))))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("f", [torch.mm, torch.matmul, lambda a, x, out: torch.addmm(x, a, x, out=out)])
def test_products_into_memory_that_is_there(f):
    torch.compiler.reset()
    a, x = scorch.sparse(torch.eye(3) + torch.eye(3).roll(1, 0)), torch.rand(3, 2)
    call, out = torch.compile(f, backend="aot_eager", fullgraph=True), torch.empty(3, 2)
    assert call(a, x, out=out) is out
    torch.testing.assert_close(out, f(a.to_dense(), x, out=torch.empty(3, 2)))


def test_a_sparse_result_carries_its_gradient():
    for f in (of_values, lambda w: of_values(w) * 2):
        found = []
        for g in (f, torch.compile(f, fullgraph=True, backend="aot_eager")):
            w = torch.linspace(-1, 1, PATTERN.nnz, dtype=torch.float64).requires_grad_()
            found.append(torch.autograd.grad((g(w) @ torch.ones(9, 2).double()).square().sum(), w))
        torch.testing.assert_close(*found)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: (a @ b, b @ a),
        lambda a, b: (torch.relu(a), a + b),
        lambda a, b: (lambda c: (c, c * 2, c.T))(a @ b),
        lambda a, b: (a[2:7], (a @ b).to_dense(), b),
    ],
)
def test_several_sparse_results(f, backend):
    found = []
    for g in (f, torch.compile(f, fullgraph=True, backend=backend)):
        a, b = PATTERN.clone().requires_grad_(), (PATTERN.T * 0.5).convert("csr").requires_grad_()
        results = [y.to_dense() for y in g(a, b)]
        torch.autograd.backward([y.square().sum() for y in results])
        found.append((*results, a.grad.to_dense(), b.grad.to_dense()))
    torch.testing.assert_close(*found)


def sparse(density, shape=(9, 9)):
    return scorch.sparse((torch.rand(shape) < density).double(), "csr")


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "f",
    [
        lambda a, b, x: (a @ x, torch.nn.functional.linear(x.T, a)),
        lambda a, b, x: (scorch.einsum("ij,jk,kl->il", a, b, x), scorch.einsum("ij,jk->ik", a, b)),
        lambda a, b, x: (scorch.evaluate("C[i,j] = A[i,j] * B[i,j] + A[i,j]", A=a, B=b), a + b),
        lambda a, b, x: (
            scorch.attention(x.T[None, :, :, None], x.T[None, :, :, None], x.T[None, :, :, None], a),
        ),
    ],
)
def test_one_graph_for_any_number_of_entries_and_columns(f, dynamic):
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(f, fullgraph=True, backend=counter, dynamic=dynamic)
    for k, density in enumerate((0.3, 0.5, 0.8)):
        args = sparse(density), sparse(1 - density), torch.rand(9, 3 + k, dtype=torch.float64)
        for got, wanted in zip(compiled(*args), f(*args), strict=True):
            torch.testing.assert_close(got.to_dense(), wanted.to_dense())
    assert counter.frame_count <= 2 - bool(dynamic)


def test_a_cached_graph_without_gradients_is_not_taken_for_one_with(backend):
    """The cache on disk is asked by what the operands say of themselves."""
    a, found = PATTERN.clone(), []
    f = torch.compile(lambda a: torch.tanh(a), fullgraph=True, backend=backend)
    for grad in (False, True):
        a.requires_grad_(grad)
        found.append(a._stable_hash_for_caching())
        torch._dynamo.reset()
        assert f(a).requires_grad is grad
    assert found[0] != found[1]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("most", [None, 1000])
def test_export_of_topk_for_any_number_of_rows(most, strict):
    """No condition on the size of what it stores is left: where there is no bound, indices are wide."""

    class Module(torch.nn.Module):
        def forward(self, x, w):
            gate = scorch.topk(x, 3)
            return gate @ w, gate.crd(1)

    rows, w = torch.export.Dim("rows", max=most), torch.randn(16, 4)
    sizes = {"x": {0: rows}, "w": None}
    exported = torch.export.export(Module(), (torch.randn(20, 16), w), dynamic_shapes=sizes, strict=strict)
    for n in (1, 7, 33):
        y, crd = exported.module()(x := torch.randn(n, 16), w)
        torch.testing.assert_close(y, scorch.topk(x, 3) @ w)
        assert crd.dtype is (torch.int32 if most else torch.int64)


def test_export_of_a_linear_layer():
    layer, file = scorch.nn.Linear(12, 8), io.BytesIO()
    program = torch.export.export(layer, (torch.randn(5, 12),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    torch.export.save(program, file)
    file.seek(0)
    x = torch.randn(9, 12)
    torch.testing.assert_close(torch.export.load(file).module()(x), layer(x))


@pytest.mark.parametrize("strict", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["MoE", "GCNConv", "SAGEConv", "GATConv", "GINConv"])
def test_export_for_any_number_of_rows(kind, strict):
    given = {"MoE": (8, 16, 4), "GINConv": (torch.nn.Linear(8, 4),)}.get(kind, (8, 4))
    layer, auto = getattr(scorch.nn, kind)(*given), torch.export.Dim.AUTO

    def inputs(n):
        if kind == "MoE":
            return (torch.randn(n // 3, n, 8),)
        return torch.randn(n, 8), torch.randint(n, (2, 3 * n))

    dims = ({0: auto, 1: auto},) if kind == "MoE" else ({0: auto}, {1: auto})
    program = torch.export.export(layer, inputs(7), dynamic_shapes=dims, strict=strict).module()
    for n in (7, 12):
        args = inputs(n)
        torch.testing.assert_close(program(*args), layer(*args))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("normalize", [False, True])
def test_export_of_convolutions_over_a_buffer(normalize, strict):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            graph = scorch.from_edge_index(random_graph(50, 300), num_nodes=50)
            self.register_buffer("edges", graph)
            self.first = scorch.nn.GCNConv(12, 8, normalize=normalize)
            self.second = scorch.nn.GCNConv(8, 4, normalize=normalize)

        def forward(self, x):
            return self.second(self.first(x, self.edges).relu(), self.edges)

    model, x, file = Model(), torch.randn(50, 12), io.BytesIO()
    program = torch.export.export(model, (x,), strict=strict).run_decompositions()
    torch.export.save(program, file)
    file.seek(0)
    torch.testing.assert_close(torch.export.load(file).module()(x), model(x))


@pytest.mark.parametrize("strict", [False, True])
def test_export_follows_a_tensor_made_on_the_way(strict):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", PATTERN)

        def forward(self, x):
            return (torch.softmax(self.a, -1) * x[:, 0]) @ x

    model, x = Model(), torch.randn(9, 2, dtype=torch.float64)
    program = torch.export.export(model, (x,), strict=strict)
    torch.testing.assert_close(program.module()(x), model(x))


MADE = {  # tensors that are made in a module, of a pattern, a matrix that takes a gradient, and features
    "times": lambda m, x: (m.a * (x @ m.w)) @ x,
    "softmax": lambda m, x: torch.softmax(m.a * (x @ m.w), -1) @ x,
    "sddmm": lambda m, x: scorch.sddmm(m.a, x, m.w.T) @ x,
    "evaluate": lambda m, x: scorch.evaluate("S[i,j] = A[i,j]*exp(X[i,k]*W[k,j])", A=m.a, X=x, W=m.w).sum(1),
    "values": lambda m, x: m.a._with_values((x @ m.w)[tuple(m.a.indices().long())]) @ x,
    "GATConv": lambda m, x: m.gat(x @ m.w, m.a),
}


class Made(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name
        self.register_buffer("a", PATTERN)
        self.w = torch.nn.Parameter(torch.rand(9, 9, dtype=torch.float64))
        self.gat = scorch.nn.GATConv(9, 3, add_self_loops=False).double()

    def forward(self, x):
        return MADE[self.name](self, x)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", MADE)
def test_export_keeps_gradients_through_tensors_made_on_the_way(name, strict):
    model, x = Made(name), torch.rand(9, 9, dtype=torch.float64)
    exported = torch.export.export(model, (x,), strict=strict).module()
    for f in (exported, model):
        f(x).square().sum().backward()
    own = dict(model.named_parameters())
    for name, parameter in exported.named_parameters():
        torch.testing.assert_close(parameter.grad, own[name].grad)


def test_export_of_what_is_detached():
    class Model(torch.nn.Module):
        def forward(self, a, x):
            return a.detach() @ x + (a * x.T[:1]).detach() @ x

    a, x = PATTERN, torch.rand(9, 9, dtype=torch.float64)
    program = torch.export.export(Model(), (a, x))
    torch.testing.assert_close(program.module()(a, x), Model()(a, x))


@pytest.mark.parametrize(
    "f", [lambda a: a.topk(2, 1).values, lambda a: a.median(1)[0], lambda a: a.kthvalue(3)[0]]
)
def test_orders_of_float32_are_one_graph(f):
    a = scorch.sparse(PATTERN.to_dense().float())
    torch.testing.assert_close(torch.compile(f, fullgraph=True, backend="aot_eager")(a), f(a))


@torch._dynamo.config.patch(compiled_autograd=True)
def test_compiled_autograd_of_dense_code():
    """Which traces torch's own machinery, and what this package puts in its place."""
    model, x = torch.nn.Linear(8, 1), torch.randn(4, 8)
    torch.compile(lambda: model(x).sum().backward(), backend="aot_eager")()
    torch.testing.assert_close(model.weight.grad, x.sum(0, keepdim=True))


@pytest.mark.parametrize(
    "f",
    [
        lambda d, x: scorch.sparse(d) @ x,
        lambda d, x: scorch.from_edge_index((d > 0.5).nonzero().T, num_nodes=8) @ x,
        lambda d, x: scorch.sparse(d)[1:] @ x * len(repr(d)),
    ],
)
def test_tensors_are_made_between_graphs(f):
    d, x = torch.eye(8) * torch.arange(8.0), torch.ones(8, 2)
    torch.testing.assert_close(torch.compile(f, backend="aot_eager")(d, x), f(d, x))


def _edges(d: torch.Tensor) -> torch.Tensor:
    return d.view(-1)[:8].view(2, 4).long()


@pytest.mark.parametrize(
    ("name", "f"),
    {
        "sparse": lambda d: scorch.sparse(d) @ d,
        "coo": lambda d: scorch.coo(_edges(d), d[0, :4], (8, 8)) @ d,
        "from_edge_index": lambda d: scorch.from_edge_index(_edges(d), num_nodes=8) @ d,
    }.items(),
)
def test_what_makes_tensors_of_numbers_says_where(name, f):
    class Net(torch.nn.Module):
        def forward(self, d):
            return f(d)

    said, d = f"{name} looks at numbers, which a graph does not have: call it before the graph", torch.eye(8)
    with pytest.raises(torch._dynamo.exc.Unsupported, match=f"{said}; without fullgraph=True it ends there"):
        torch.compile(f, backend="eager", fullgraph=True)(d)
    with pytest.raises(NotImplementedError, match=said):
        torch.export.export(Net(), (d,), strict=False)
    assert torch.equal(torch.compile(f, backend="eager")(d), f(d))


@pytest.mark.parametrize(
    "f",
    [
        lambda a, x: x * a.nnz,
        lambda a, x: (a + a.T) @ x,
        lambda a, x: torch.cat([a, a * 2]) @ x,
        lambda a, x: a[1:] @ x,
        lambda a, x: a.indices()[0].sum() + x,
    ],
)
def test_a_second_call_compiles_nothing(f):
    """Guards are of what a call finds again, types included."""
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(f, backend=counter, fullgraph=True)
    a, x = scorch.sparse(torch.eye(9), "csr"), torch.rand(9, 2)
    for _ in range(3):
        torch.testing.assert_close(compiled(a, x), f(a, x))
    assert counter.frame_count == 1


def test_relations_are_compiled_once():
    layer, x = scorch.nn.RGCNConv(8, 8, 3), torch.rand(20, 8)
    graph = layer.adjacency(torch.randint(20, (2, 50)), torch.randint(3, (50,)), 20)
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda x: layer(x, graph), backend=counter, fullgraph=True)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), layer(x, graph))
    assert counter.frame_count == 1


@pytest.mark.parametrize("aggr", ("mean", "sum"))
@pytest.mark.parametrize("sizes", ((3, 4, 5), (60, 8, 64)), ids=("rows", "edges"))
def test_a_list_of_edges_and_their_kinds_is_one_graph(sizes, aggr):
    """With gradients, of other edges too: parallel ones, and of kinds without any."""
    relations, features, out = sizes
    layer = scorch.nn.RGCNConv(features, out, relations, aggr=aggr).double()
    x, counter = torch.rand(20, features).double(), CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(layer, backend=counter, fullgraph=True, dynamic=True)
    for n in (50, 77, 31):
        edges, kinds = torch.randint(20, (2, n)), torch.randint(relations, (n,))
        edges[:, :20], kinds[:20] = edges[:, :1], 1
        y, z = layer(x, edges, kinds), compiled(x, edges, kinds)
        torch.testing.assert_close(z, y)
        wanted, found = (torch.autograd.grad(r.square().sum(), list(layer.parameters())) for r in (y, z))
        torch.testing.assert_close(found, wanted)
    assert counter.frame_count == 1
    torch.testing.assert_close(torch.export.export(layer, (x, edges, kinds)).module()(x, edges, kinds), y)
    with pytest.raises(ValueError, match=r"edge_index: expected integers in 0..19, got 0..20"):
        compiled(x, torch.tensor([[0] * 31, [20] * 31]), kinds)
    with pytest.raises(ValueError, match=r"edge_type: expected integers in 0.*got -1"):
        compiled(x, edges, kinds.clamp(max=0) - 1)


@pytest.mark.parametrize("form", ("csr", "csf", "coo"))
def test_means_of_a_tensor_of_relations(form):
    """With gradients to its values, compiled and exported."""
    layer, x = scorch.nn.RGCNConv(8, 5, 3).double(), torch.rand(20, 8).double()
    cube = scorch.sparse((torch.rand(3, 20, 20) * (torch.rand(3, 20, 20) < 0.2)).double(), form)
    trained = cube.clone().requires_grad_()

    def step(f):
        y = f(x, trained)
        return [y.detach(), *torch.autograd.grad(y.square().sum(), [trained, *layer.parameters()])]

    (y, of_cube, *wanted), (z, of_trained, *found) = map(
        step, (layer, torch.compile(layer, backend="aot_eager", fullgraph=True))
    )
    torch.testing.assert_close([z, of_trained.values(), *found], [y, of_cube.values(), *wanted])
    torch.testing.assert_close(torch.export.export(layer, (x, cube)).module()(x, cube), y)


def test_the_cube_of_relations_is_found_again():
    layer, x = scorch.nn.RGCNConv(8, 64, 60).double(), torch.rand(20, 8).double()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    kept = scorch.nn._relations._cubes
    for k in range(3):  # other structures, and other values of the last
        edges, kinds = torch.randint(20, (2, 50)), torch.randint(60, (50,))
        graph = layer.adjacency(edges, kinds, 20).double()
        for matrix in (graph, graph * 2):
            count = len(kept)
            torch.testing.assert_close(compiled(x, matrix), layer(x, matrix))
            assert len(kept) == count + (matrix is graph), k


@pytest.mark.parametrize("bases", (None, 7), ids=("relations", "bases"))
@pytest.mark.parametrize("sizes", ((3, 5), (8, 64)), ids=("wide", "narrow"))
def test_gradients_of_relations_summed_along_edges(sizes, bases):
    """To all that they are made of, also the values of the matrix; without a size that nobody knows."""
    layer = scorch.nn.RGCNConv(*sizes, 60, num_bases=bases).double()
    edges, kinds = torch.randint(40, (2, 300)), torch.randint(60, (300,))
    graph = layer.adjacency(edges, kinds, 40).double()
    values, x = graph.values().clone().requires_grad_(), torch.rand(40, sizes[0]).double().requires_grad_()
    counter = CompileCounterWithBackend("aot_eager")

    def f(x, values):
        return layer(x, graph._with_values(values))

    def step(g):
        y = g(x, values)
        return [y.detach(), *torch.autograd.grad((y * y).sum(), [x, values, *layer.parameters()])]

    torch.testing.assert_close(step(torch.compile(f, backend=counter)), step(f))
    assert counter.frame_count == 1


def test_relations_are_summed_in_what_autocast_asks_for():
    layer, x = scorch.nn.RGCNConv(8, 64, 60), torch.rand(20, 8)
    graph = layer.adjacency(torch.randint(20, (2, 50)), torch.randint(60, (50,)), 20)
    with torch.autocast("cpu", torch.bfloat16):
        y = torch.compile(layer, backend="aot_eager")(x, graph)
        torch.testing.assert_close(y, layer(x, graph), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("train", (False, True))
def test_temporaries_leave_a_graph_for_gradients_alone(train):
    text = "tmp m[i] = A[i,j] * x[j]; y[i,j] = A[i,j] * m[i]; z[i] = m[i] * m[i]"
    a, x, lists = scorch.sparse((torch.rand(9, 9) < 0.5).double(), "csr"), torch.rand(9).double(), []
    x.requires_grad_(train)

    def compiler(gm, inputs):
        lists.extend(len(n.users) for n in gm.graph.nodes if n.target is torch.ops.scorch.run_many.default)
        return gm

    def f(x):
        y, z = scorch.evaluate(text, A=a, x=x)
        return y.to_dense().sum() + z.sum()

    backend = torch._dynamo.backends.common.aot_autograd(fw_compiler=compiler, bw_compiler=compiler)
    y = torch.compile(f, backend=backend)(x)
    torch.testing.assert_close(y, f(x))
    assert lists[0] == 2 + train
    if train:
        torch.testing.assert_close(torch.autograd.grad(y, x), torch.autograd.grad(f(x), x))


def test_graphs_hold_operators_without_kernels_in_python():
    """Also where a gradient is wanted, and forward and backward are graphs of their own."""
    a, x, targets = scorch.sparse(torch.eye(9), "csr"), torch.rand(9, 2, requires_grad=True), set()

    def compiler(gm, inputs):
        targets.update(str(n.target) for n in gm.graph.nodes if "scorch" in str(n.target))
        return gm

    backend = torch._dynamo.backends.common.aot_autograd(fw_compiler=compiler, bw_compiler=compiler)
    y = torch.compile(lambda x: (a @ x).relu() @ x.T * a, backend=backend)(x)
    y.values().sum().backward()
    assert targets <= {"scorch.run.default", "scorch.run_many.default"} and len(targets) == 2
    assert x.grad is not None


@pytest.mark.parametrize(
    "f", [lambda a: (a @ a).to_dense(), lambda a: torch.softmax((a + a.T), -1).to_dense()]
)
def test_graphs_that_end_at_a_size_that_nobody_knows(f):
    """Without fullgraph=True torch.compile captures no such size: the call is an eager one."""
    a = scorch.sparse((torch.rand(9, 9) < 0.3).float(), "csr")
    torch.testing.assert_close(torch.compile(f, backend="aot_eager")(a), f(a))


@pytest.mark.parametrize("f", [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b])
def test_graphs_join_what_they_made(f):
    """Their numbers of entries are symbols, which no decision may compare."""
    a = scorch.sparse((torch.rand(9, 9) < 0.3).float(), "csr")

    def joined(a):
        return f(torch.tril(a), torch.triu(a, -1)).to_dense()

    torch.testing.assert_close(torch.compile(joined, backend="aot_eager", fullgraph=True)(a), joined(a))


@pytest.mark.parametrize(
    "f", [torch.ops.aten.add.Tensor, lambda a, b: torch.ops.aten.add.Tensor(b, a, alpha=3)]
)
def test_graphs_add_tensors_of_other_structures(f):
    """As many entries at other places: only gradients that autograd adds are known to share theirs."""
    x, y = torch.diag(torch.tensor([1.0, 2, 3, 4])), torch.zeros(4, 4)
    y[0, 1:], y[3, 3] = torch.tensor([5.0, 6, 7]), 8
    a, b = scorch.sparse(x), scorch.sparse(y)
    made = torch.compile(f, backend="aot_eager", fullgraph=True)(a, b)
    assert a.nnz == b.nnz and torch.equal(made.to_dense(), f(x, y))


def test_graphs_slice_and_add_in_code_of_torch():
    d = torch.tensor([[2.0, 0, 4, 0, 0], [0, 8, 0, 2, 6], [4, 0, 0, 6, 2]])
    made = torch.compile(torch.trapz, backend="aot_eager", fullgraph=True)(scorch.sparse(d))
    assert torch.equal(made.to_dense(), torch.trapz(d))


def test_shapes_are_read_between_graphs():
    """What answers functions of torch is no graph of its own, which would ask itself for the shape."""

    def f(a):
        return a.reshape(a.shape[0] * 3, -1).to_dense() + a[a.values().nonzero()[0]].sum()

    compiled = torch.compile(f, backend="eager", dynamic=True)
    for n in (6, 9, 12):
        a = scorch.sparse(torch.eye(n), "csr")
        torch.testing.assert_close(compiled(a), f(a))


class Buffered(torch.nn.Module):
    """A product whose result torch's own kernel reads, and a program of two results."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", scorch.sparse((torch.rand(9, 9) < 0.3).float(), "csr"))

    def forward(self, x):
        text = "C[i,k] = relu(A[i,j] * x[j,k]); D[i] = A[i,j] * y[j]"
        y, z = scorch.evaluate(text, A=self.a, x=x, y=x[:, 0])
        return torch.relu(self.a @ x - 1) + y + z[:, None]


@pytest.mark.parametrize("strict", (False, True))
def test_export_returns_no_sparse_tensor_that_it_makes(strict):
    class Module(torch.nn.Module):
        def __init__(self, f):
            super().__init__()
            self.f = f

        def forward(self, a):
            return self.f(a)

    for format in ("csr", "csr of rows(<= 2) + coo"):
        a = scorch.sparse(torch.eye(4) * 2).convert(format)
        with pytest.raises(NotImplementedError, match=r"expected dense results, got a SparseTensor"):
            torch.export.export(Module(lambda a: [a * 2]), (a,), strict=strict)
        exported = torch.export.export(Module(lambda a: (a, (a * 2).values())), (a,), strict=strict)
        torch.export.save(exported, file := io.BytesIO())
        file.seek(0)
        same, values = torch.export.load(file).module()(a)
        assert torch.equal(same.to_dense(), a.to_dense()) and torch.equal(values, 2 * a.values())


def test_programs_are_strings_of_one_line():
    """torch pastes them into C++."""
    texts = []

    def backend(gm, inputs):
        texts.extend(x for n in gm.graph.nodes for x in n.args if isinstance(x, str))
        return gm

    module = Buffered()
    compiler = torch._dynamo.backends.common.aot_autograd(fw_compiler=backend)
    torch.compile(module, backend=compiler)(torch.rand(9, 2))
    assert len(texts) == 2 and all(text.isprintable() for text in "".join(texts).split("\t"))


def test_programs_of_dense_operands_have_sizes():
    """AOTInductor hands an empty list over as None."""
    lists = []

    def backend(gm, inputs):
        lists.extend(n.args[2] for n in gm.graph.nodes if "scorch.run" in str(n.target))
        return gm

    f = lambda x, y: scorch.evaluate("s[i] = x[i,j] * y[i,j]; t[j] = x[i,j] * y[i,j]", x=x, y=y)  # noqa: E731
    compiler = torch._dynamo.backends.common.aot_autograd(fw_compiler=backend)
    x = torch.rand(3, 4, requires_grad=True)
    sum(y.sum() for y in torch.compile(f, backend=compiler)(x, x.detach())).backward()
    assert len(lists) == 2 and all(lists)


class Attending(torch.nn.Module):
    """A layer of programs of dense operands, too, over a buffer."""

    def __init__(self):
        super().__init__()
        self.layer = scorch.nn.GATConv(2, 3)
        self.register_buffer("a", scorch.sparse(torch.eye(9).roll(1, 0) + torch.eye(9)))

    def forward(self, x):
        return self.layer(x, self.a)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which(os.environ.get("CXX") or "g++"), reason="no C++ compiler")
@pytest.mark.parametrize("make", (Buffered, Attending))
def test_in_cpp(make, tmp_path):
    """Graphs that inductor writes in C++, compiled when called and ahead of it."""
    module, x = make(), torch.rand(9, 2)
    if make is Buffered:  # in others torch takes a list of one tensor for a tensor
        with torch.no_grad(), torch._inductor.config.patch(cpp_wrapper=True):
            torch.testing.assert_close(torch.compile(module, fullgraph=True)(x), module(x))
    exported = torch.export.export(module, (x,))
    path = torch._inductor.aoti_compile_and_package(exported, package_path=str(tmp_path / "module.pt2"))
    torch.testing.assert_close(torch._inductor.aoti_load_package(path)(x), module(x))


# ---- calls of inductor's wrappers ----
def parts(a: scorch.SparseTensor, *rest: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return a.crow_indices(), a.col_indices(), a.values(), *rest


PRODUCT = "ij,jk->ik\t:2:csr\t::"


@pytest.mark.slow
@pytest.mark.needs("2.11")
@pytest.mark.skipif(not shutil.which(os.environ.get("CXX") or "g++"), reason="no C++ compiler")
@pytest.mark.parametrize("dynamic", [None, True])
def test_wrappers_call_the_kernel(monkeypatch, dynamic):
    """Also in backward graphs, and with sizes that are symbols."""
    calls, direct = [], torch.ops.scorch.direct

    def counted(*args):
        calls.append(args)
        return direct(*args)

    def f(a, x, w):
        return (a @ (torch.relu(a @ x) @ w)).square().sum()

    monkeypatch.setattr(torch.ops.scorch, "direct", counted)
    with torch._inductor.config.patch(force_disable_caches=True):
        compiled = torch.compile(f, fullgraph=True, dynamic=dynamic)
        for n in (9, 12):
            a = scorch.sparse((torch.rand(n, n) < 0.4) * torch.rand(n, n), "csr")
            x, w = torch.rand(n, 3, requires_grad=True), torch.rand(3, 2, requires_grad=True)
            got, wanted = (torch.autograd.grad(g(a, x, w), [x, w]) for g in (compiled, f))
            torch.testing.assert_close(got, wanted)
    assert len(calls) == 8


def test_the_kernel_called_without_torch():
    a, x = scorch.sparse((torch.rand(9, 9) < 0.4) * torch.rand(9, 9), "csr"), torch.rand(9, 3)
    torch.testing.assert_close(torch.ops.scorch.direct(PRODUCT, parts(a, x), (9, 9)), a @ x)
    torch.testing.assert_close(
        torch.ops.scorch.direct("i,i->\t::\t::", (x[:, 0], x[:, 1]), ()), x[:, 0] @ x[:, 1]
    )
    assert torch.ops.scorch.direct(PRODUCT, parts(a, x[:, :0]), (9, 9)).shape == (9, 0)


def grown(n: int, seed: int) -> torch.Tensor:
    """Of 10 entries a row: arrays that take long to read."""
    g = torch.Generator().manual_seed(seed)
    return scorch.coo((torch.arange(n).repeat(10), torch.randint(n, (10 * n,), generator=g)), shape=(n, n))


def test_arrays_are_read_again_when_they_were_written():
    n = 3000
    a, x = grown(n, 0).convert("csr"), torch.rand(n, 3)
    pos, crd, values = parts(a, x)[:3]
    call = lambda: torch.ops.scorch.direct(PRODUCT, (pos, crd, values, x), (n, n), 0b11)  # noqa: E731
    for _ in range(3):
        torch.testing.assert_close(call(), a @ x)
    for column in (n - 1, n, n - 1):
        crd[pos[1] - 1] = column  # of the last entry of the first row
        for _ in range(2):
            if column == n:
                with pytest.raises(ValueError, match=str(n)):
                    call()
            else:
                torch.testing.assert_close(call(), torch.sparse_csr_tensor(pos, crd, values) @ x)


def test_arrays_that_a_graph_makes_are_read(monkeypatch):
    """Its memory is used again, which torch does not count."""
    calls, direct, n = [], torch.ops.scorch.direct, 2000

    def counted(*args):
        calls.append(args[3])
        return direct(*args)

    def f(pos, crd, values, x):
        shifted = scorch.from_components("csr", (n, n), [None, pos], [None, crd + 1], values)
        return shifted @ (scorch.from_components("csr", (n, n), [None, pos], [None, crd], values) @ x)

    monkeypatch.setattr(torch.ops.scorch, "direct", counted)
    given = torch.arange(n + 1, dtype=torch.int32), torch.arange(n, dtype=torch.int32) // 2, torch.rand(n)
    given = (*given, torch.rand(n, 3))
    with torch.no_grad(), torch._inductor.config.patch(force_disable_caches=True):
        torch.testing.assert_close(torch.compile(f, fullgraph=True)(*given), f(*given))
    assert sorted(calls) == [0b0101, 0b1111]  # the graph makes what is shifted, and what it multiplies


def test_arrays_that_modules_swap():
    """torch swaps none that something refers to: nothing does where it was told to, or after a release."""

    def call(layer):
        given = layer.pos1, layer.crd1, layer.values, torch.rand(400, 2)
        torch.ops.scorch.direct(PRODUCT, given, (400, 400), 3)

    layer, other = (scorch.nn.Linear(400, 400, density=0.1).requires_grad_(False) for _ in range(2))
    call(layer)
    scorch.release()
    torch.utils.swap_tensors(layer.crd1, other.crd1)
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        call(other)
        torch.utils.swap_tensors(layer.crd1, other.crd1)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


def test_arrays_that_come_in_the_place_of_others():
    """Memory and objects are used again, for structures of one size."""
    n, x = 2000, torch.rand(2000, 3)
    for seed in range(12):
        a = grown(n, seed).convert("csr")
        for _ in range(2):
            torch.testing.assert_close(torch.ops.scorch.direct(PRODUCT, parts(a, x), (n, n), 3), a @ x)
        del a


def test_the_kernel_called_with_what_is_no_plain_tensor():
    """torch knows what to do with it: a view of imaginary parts is negative until somebody looks."""
    a, x = (
        scorch.sparse((torch.rand(9, 9) < 0.4) * torch.rand(9, 9), "csr"),
        torch.rand(9, 3, dtype=torch.cfloat),
    )
    y = x.conj().imag
    assert y.is_neg() and _C.direct(PRODUCT, parts(a, y), (9, 9), 0) is NotImplemented
    torch.testing.assert_close(torch.ops.scorch.direct(PRODUCT, parts(a, y), (9, 9)), a @ y.resolve_neg())


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (lambda crow, col, val, x: (crow, col + 9, val, x), ValueError, "out of range"),
        (lambda crow, col, val, x: (crow, col, val[:-1], x), ValueError, "values"),
        (lambda crow, col, val, x: (crow, col, val), ValueError, "operand tensors"),
        (lambda crow, col, val, x: (crow, col, val, x, x), ValueError, "operand tensors"),
        (lambda crow, col, val, x: (crow, col, val, x[1:]), ValueError, "9"),
        (lambda crow, col, val, x: (crow, col.long(), val, x), TypeError, r"others \(i32\), got i64"),
        (
            lambda crow, col, val, x: (crow, torch.stack([col, col], 1)[:, 0], val, x),
            ValueError,
            "contiguous",
        ),
        (lambda crow, col, val, x: (crow.float(), col, val, x), TypeError, "indices, got f32"),
    ],
)
def test_the_kernel_called_with_what_does_not_fit(change, error, says):
    given = change(*parts(scorch.sparse(torch.eye(9), "csr"), torch.rand(9, 3)))
    with pytest.raises(error, match=says):
        torch.ops.scorch.direct(PRODUCT, given, (9, 9))
    with pytest.raises(ValueError, match="sizes"):
        torch.ops.scorch.direct(PRODUCT, given, (9,))


# ---- other recorders ----
class Layered(torch.nn.Module):
    """A SparseTensor as a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", scorch.sparse(torch.eye(4) * 2, "csr"))

    def forward(self, x):
        y = scorch.einsum("ij,jk->ik", self.a, self.a @ x) + x @ self.a
        return scorch.evaluate("C[i,k] = relu(A[i,j] * y[j,k])", A=self.a, y=F.linear(y, self.a))


def test_symbolic_trace():
    module, x = Layered(), torch.randn(4, 4)
    traced = torch.fx.symbolic_trace(module)
    torch.testing.assert_close(traced(x), module(x))
    assert any(n.op == "get_attr" and n.target == "a" for n in traced.graph.nodes)


NOTED = {
    "products": lambda a, x: (
        torch.matmul(a, x) + a.matmul(x) + torch.mm(a, x) + a.mm(x) + torch.sparse.mm(a, x)
    ),
    "vectors": lambda a, x: a.mv(x[0]) + torch.mv(a, x[1]) + torch.addmm(x, a, x),
    "arithmetic": lambda a, x: ((a * x).sin() + torch.softmax(x * a, 1) - scorch.softmax(a * x)) @ x,
    "sums": lambda a, x: a + x - torch.add(a, x) + torch.where(a > x, x, 0.5) - (x - a) * torch.maximum(a, x),
    "attention": lambda a, x: scorch.attention(x, x, x, a) + F.scaled_dot_product_attention(x, x, x, a),
    "zeros": lambda a, x: (
        scorch.dynamic(x.relu()) @ x
        + F.linear(scorch.dynamic(x, by=x[:, 0] > 0.5), x)
        + a @ scorch.dynamic(x)
    ),
    "zeros in expressions": lambda a, x: (
        scorch.einsum("ij,jk->ik", scorch.dynamic(x), x)
        + scorch.evaluate("y[i,k] = a[i,j] * x[j,k]", a=a, x=scorch.dynamic(x))
        + scorch.attention(x, x, x, scorch.dynamic(x > 0.5))
    ),
    "one tensor": lambda a, x: a.T[:, 1:] @ x[1:] + scorch.sddmm(a, x, x) @ x + scorch.log_softmax(a, 0) @ x,
}


@pytest.mark.parametrize("format", ("csr", "csr of rows(<= 2) + coo"))
@pytest.mark.parametrize("call", NOTED)
def test_symbols_of_torch_fx_in_calls_on_a_buffer(call, format):
    """Whatever takes a symbol beside a SparseTensor is a node; nothing is computed before."""

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer(
                "a", scorch.sparse(torch.eye(4) * 2 + torch.eye(4).roll(1, 0)).convert(format)
            )

        def forward(self, x):
            return NOTED[call](self.a, x)

    module, x = Module(), torch.rand(4, 4)
    torch.testing.assert_close(torch.fx.symbolic_trace(module)(x), module(x))


class Convolved(torch.nn.Module):
    """A layer over a graph that is a buffer."""

    def __init__(self):
        super().__init__()
        self.layer = scorch.nn.GCNConv(4, 2)
        self.register_buffer("a", scorch.sparse(torch.eye(3), "csr"))

    def forward(self, x):
        return torch.relu(self.layer(x, self.a))


def test_symbolic_trace_of_layers():
    """Layers of scorch.nn are called, as those of torch.nn are."""
    module = torch.nn.Sequential(
        scorch.nn.Linear(6, 5, density=0.5), torch.nn.ReLU(), scorch.nn.MoE(5, 4, 3), scorch.nn.Linear(5, 2)
    )
    graphs, x = Convolved(), torch.randn(3, 6)
    for whole, given, called in ((module, x, ["0", "1", "2", "3"]), (graphs, x[:, :4], ["layer"])):
        traced = torch.fx.symbolic_trace(whole)
        torch.testing.assert_close(traced(given), whole(given))
        assert [n.target for n in traced.graph.nodes if n.op == "call_module"] == called


@pytest.mark.parametrize("format", ("csr", "csr of rows(<= 2) + coo"))
def test_symbolic_trace_of_a_weight_that_is_read(format):
    """As models do that put the bias of a layer together."""

    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = scorch.nn.Linear.from_dense(torch.nn.Linear(6, 8, bias=False), format, density=0.5)
            self.bias = torch.nn.Parameter(torch.arange(4.0))
            with torch.no_grad():
                self.layer.values.copy_(torch.arange(24.0))

        def forward(self, x):
            return F.linear(x, self.layer.weight, torch.cat([self.bias, self.bias])) + self.layer(x)

    module, x = Attention(), torch.arange(18.0).view(3, 6)
    traced = torch.fx.symbolic_trace(module)
    assert torch.equal(traced(x), module(x))
    wanted = torch.autograd.grad(module(x).sum(), module.layer.values)[0]
    assert torch.equal(torch.autograd.grad(traced(x).sum(), module.layer.values)[0], wanted)
    with torch.no_grad():
        module.layer.values.mul_(2)
    assert torch.equal(traced(x), module(x))
    assert torch.equal(torch.compile(traced, backend="eager", fullgraph=True)(x), module(x))


@pytest.mark.filterwarnings("ignore")  # torch.ao is moving to a package of its own
def test_layers_of_models_that_are_quantized():
    module = torch.nn.Sequential(torch.nn.Linear(6, 6), scorch.nn.Linear(6, 4, density=0.5)).eval()
    x = torch.randn(8, 6)
    prepared = prepare_fx(module, get_default_qconfig_mapping("x86"), (x,))
    torch.testing.assert_close(prepared(x), module(x))
    assert type(prepared.get_submodule("1")) is scorch.nn.Linear
    torch.testing.assert_close(convert_fx(prepared)(x), module(x), rtol=0, atol=0.05)


def products(a, x):
    return a @ x, x @ a, scorch.evaluate("y[i,k] = A[i,j] * A[i,j] * x[j,k]", A=a, x=x)


RECORDED = {
    "products": products,
    "softmax": lambda a, x: (torch.softmax(a, 1) @ x, (a * x).values()),
    "made": lambda a, x: (scorch.coo([[0, 1, 2], [2, 0, 0]], x[0, :3], (4, 4)) @ x, a.values()),
    "attention": lambda a, x: (scorch.attention(x, x, x, a),),
    "zeros": lambda a, x: (scorch.dynamic(torch.relu(x)) @ x, a.values()),
}


@pytest.mark.parametrize("made", RECORDED)
def test_compiled_autograd_of_eager_calls(made):
    def gradients(enabled):
        a = scorch.sparse(torch.eye(4).roll(1, 0) + torch.eye(4) * 2).requires_grad_()
        x = torch.linspace(-1, 1, 16).view(4, 4).requires_grad_()
        loss = sum(y.square().sum() for y in RECORDED[made](a, x))
        with enabled:
            loss.backward()
        return [g.to_dense() if scorch.is_sparse(g) else g for g in (a.grad, x.grad)]

    with_graphs = torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager"))
    torch.testing.assert_close(gradients(with_graphs), gradients(contextlib.nullcontext()))


def test_torchscript_is_refused():
    for f in (
        lambda: torch.jit.trace(Layered(), (torch.randn(4, 4),)),
        lambda: torch.jit.script(torch.nn.Sequential(scorch.nn.Linear(4, 4))),
    ):
        with pytest.raises(
            NotImplementedError, match=r"TorchScript: expected .*, got .*: use torch\.compile"
        ):
            f()


# ---- where torch allows no result of unknown size: without fullgraph=True ----
def gate(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.softmax(scorch.topk(x, 3), 1) @ w


def log_gate(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(scorch.topk(x, 3), 1) @ w


@pytest.mark.parametrize("how", ({}, {"dynamic": True}, {"fullgraph": True}), ids=str)
@pytest.mark.parametrize("f", (gate, log_gate))
def test_gates_are_trained(f, how):
    x, w = torch.rand(6, 8, requires_grad=True), torch.rand(8, 4, requires_grad=True)
    compiled = torch.compile(f, backend="aot_eager", **how)
    for found, wanted in zip(
        torch.autograd.grad(compiled(x, w).sin().sum(), (x, w)),
        torch.autograd.grad(f(x, w).sin().sum(), (x, w)),
        strict=True,
    ):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("how", ({}, {"fullgraph": True}), ids=str)
def test_attention_over_edges_is_trained(how):
    layer, x = scorch.nn.GATConv(8, 2, heads=2), torch.rand(30, 8, requires_grad=True)
    graph = scorch.from_edge_index(random_graph(30, 90), num_nodes=30)
    compiled, wanted = torch.compile(layer, backend="aot_eager", **how), [x, *layer.parameters()]
    for found, expected in zip(
        torch.autograd.grad(compiled(x, graph).sin().sum(), wanted),
        torch.autograd.grad(layer(x, graph).sin().sum(), wanted),
        strict=True,
    ):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "join",
    (lambda a, x: torch.cat([a, a]) @ x, lambda a, x: torch.block_diag(a, a) @ torch.cat([x, x])),
    ids=("cat", "diag"),
)
def test_joined_matrices_are_trained_by_inductor(join):
    """Their arrays are twice as long, which is all that the backward graph is given."""
    a, x = sparse(0.3), torch.rand(9, 4, requires_grad=True)
    (found,) = torch.autograd.grad(torch.compile(join)(a, x).sin().sum(), x)
    (wanted,) = torch.autograd.grad(join(a, x).sin().sum(), x)
    torch.testing.assert_close(found, wanted)


def test_steps_over_sparse_parameters_compile():
    x, a = torch.rand(9, 4), sparse(0.3)
    weights = [torch.nn.Parameter(w) for w in (a, a.clone())]
    for k, weight in enumerate(weights):
        optimizer = torch.optim.Adam([weight], 0.01)
        (weight @ x).square().sum().backward()
        (torch.compile(optimizer.step, backend="aot_eager") if k == 0 else optimizer.step)()
    torch.testing.assert_close(weights[0].values(), weights[1].values())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("factor", [2.0, torch.tensor(2.0)], ids=("number", "tensor"))
def test_changes_in_place_by_a_factor_compile(backend, factor):
    """Dynamo would write them as quotients of whole tensors, and ask a tensor for its number."""

    def f(a, b, x, factor):
        a.addcmul_(b, b, value=factor).addcdiv_(b, b, value=factor).add_(b, alpha=factor)
        return a, x.addcmul_(b, b, value=2.0)

    d = torch.eye(4).add(torch.eye(4).flip(0)).mul(4)
    changed, wanted = (
        g(scorch.sparse(d), scorch.sparse(d), torch.ones(4, 4), factor)
        for g in (torch.compile(f, backend=backend, fullgraph=True), f)
    )
    torch.testing.assert_close(changed[0].to_dense(), wanted[0].to_dense())
    torch.testing.assert_close(changed[1], wanted[1])
    torch.testing.assert_close(wanted[0].to_dense(), (d + 2 * d * d + 2 + 2 * d) * (d != 0))


def test_what_runs_while_a_graph_is_made_is_told():
    """Also what is not traced: a backend, fake kernels, derivatives of a graph."""
    told = []

    def backend(graph, _):
        told.append(_torch.is_compiling() and state._is_compiling() and state.makes_graph())
        return graph

    torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    assert told == [True]
    assert not (_torch.is_compiling() or state._is_compiling())


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize(
    "f",
    [
        lambda A: A[:3], lambda A: A[:, 1:3], lambda A: A[::2], lambda A: A[1:-1, 2:], lambda A: A[2:100],
        lambda A: A[: A.shape[0] - 1], lambda A: A.narrow(0, 1, 2), lambda A: A[1], lambda A: A[-1],
        lambda A: A[:, -2], lambda A: A.select(1, 2), lambda A: A[torch.tensor([0, 2])], lambda A: A.T[:2],
    ],
)  # fmt: skip
@pytest.mark.parametrize("dynamic", [None, True])
def test_parts_of_matrices_of_many_shapes(f, format, dynamic):
    """No extent is a number of the graph, wherever a part begins and ends."""
    counter = CompileCounterWithBackend("eager")
    compiled = torch.compile(f, fullgraph=True, dynamic=dynamic, backend=counter)
    for m in range(4, 9):
        A = scorch.sparse((torch.arange(m * (m + 3)) % 3 * 1.0).view(m, m + 3), format)
        assert torch.equal(compiled(A).to_dense(), f(A).to_dense())
    assert counter.frame_count <= 2

"""Layers of torch_geometric over a SparseTensor, forward and gradients against edge_index; data, batches."""

import copy
import os

import child
import pytest
import torch

import scorch

pyg = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")

from torch_geometric import EdgeIndex, utils  # noqa: E402
from torch_geometric.data import Batch, Data, HeteroData  # noqa: E402
from torch_geometric.loader import DataLoader  # noqa: E402
from torch_geometric.utils import add_self_loops, remove_self_loops, spmm, to_edge_index  # noqa: E402
from torch_geometric.utils.sparse import set_sparse_value  # noqa: E402

from benchmarks.geometric import LAYERS, called, gradients, matrix_of  # noqa: E402

NODES, WIDTH = 40, 8
pyg.SAGEConv(
    1, 1
)  # torch_geometric makes code of a class from its first layer, and a list of sums cannot be fused
# what torch CSR does not pass either, or passes with other numbers
REFUSED = {"RGCNConv", "PDNConv"}


def edges_of(nodes: int = NODES, count: int = 250) -> torch.Tensor:
    """[2, E]: distinct edges in the order of the entries of their matrix; the last nodes have none."""
    generator = torch.Generator().manual_seed(0)
    index = torch.randint(nodes - 3, (2, count), generator=generator)
    return torch.unique(index[:, index[0] != index[1]].flip(0), dim=1).flip(0)


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def made(name: str, edges: torch.Tensor) -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    """A layer, features and weights of edges."""
    torch.manual_seed(0)
    layer = LAYERS[name].make(pyg, WIDTH, WIDTH)
    weights = torch.rand(edges.shape[1]) if "weights" in LAYERS[name].given else torch.ones(edges.shape[1])
    return layer, torch.randn(NODES, WIDTH).requires_grad_(), weights


def run(name, layer, x, graph, weights):
    layer = copy.deepcopy(layer)
    y = called(layer, LAYERS[name].given, x, graph, weights)
    return y, *gradients(layer, x, y)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("format", "index_dtype"), [("csr", torch.int32), ("csr", torch.int64), ("coo", torch.int32)]
)
@pytest.mark.parametrize("name", [name for name in LAYERS if name not in REFUSED])
def test_layers_agree_with_edge_index(name, format, index_dtype):
    edges = edges_of()
    layer, x, weights = made(name, edges)
    graph = scorch.sparse(matrix_of(edges, weights, NODES), format, index_dtype=index_dtype)
    wanted = run(name, layer, x, edges, weights)
    for _ in range(2):  # the second time with what the first kept
        for a, b in zip(run(name, layer, x, graph, weights), wanted, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                close(a, b)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_left_out_is_what_torch_does_not_pass(name):
    edges = edges_of()
    layer, x, weights = made(name, edges)
    try:
        found = run(name, layer, x, matrix_of(edges, weights, NODES), weights)
    except (NotImplementedError, RuntimeError, IndexError):
        return
    with pytest.raises(AssertionError):
        close(found[0], run(name, layer, x, edges, weights)[0])


@pytest.mark.parametrize("format", ("csc", "coo", "dcsr"))
@pytest.mark.parametrize("name", ("GCNConv", "SAGEConv, mean", "SAGEConv, max", "GINConv", "GATConv"))
def test_other_formats(name, format):
    edges = edges_of()
    layer, x, weights = made(name, edges)
    graph = scorch.sparse(matrix_of(edges, weights, NODES), format)
    for a, b in zip(run(name, layer, x, graph, weights), run(name, layer, x, edges, weights), strict=True):
        close(a, b)


@pytest.mark.parametrize("name", ("GCNConv", "GCNConv, improved", "GraphConv", "SGConv", "GraphConv, mean"))
def test_weights_of_edges_take_a_gradient(name):
    edges = edges_of()
    layer, x, weights = made(name, edges)
    plain, ours = weights.clone().requires_grad_(), weights.clone().requires_grad_()
    structure = scorch.sparse(matrix_of(edges, torch.arange(len(weights)) + 1.0, NODES))
    place = structure.values().long() - 1
    graph = structure._with_values(ours[place])
    called(layer, "weights", x, edges, plain).sin().sum().backward()
    called(layer, "weights", x, graph, weights).sin().sum().backward()
    close(ours.grad, plain.grad)


def test_loops_that_are_there():
    """Weights of loops stay, as with edge_index; torch CSR adds to them."""
    edges = torch.cat([edges_of(), torch.tensor([[3, 5], [3, 5]])], 1)
    layer, x, _ = made("GCNConv", edges)
    weights = torch.rand(edges.shape[1])
    graph = scorch.sparse(matrix_of(edges, weights, NODES))
    close(layer(x, graph), layer(x, edges, weights))
    attention = pyg.GATConv(WIDTH, 3, heads=2)
    close(attention(x, graph), attention(x, edges))


def test_what_is_kept_follows_the_values():
    edges = edges_of()
    layer, x, weights = made("GCNConv", edges)
    graph = scorch.sparse(matrix_of(edges, weights, NODES))
    before = layer(x, graph)
    assert graph.memory()["derived"]["gcn_norm, loops of 1.0"] > 0
    graph.values().mul_(torch.rand(graph.nnz))
    after = layer(x, graph)
    assert not torch.allclose(before, after)
    close(after, layer(x, to_edge_index(graph)[0].flip(0), graph.values()))
    graph.release()
    assert not graph.memory()["derived"]
    close(layer(x, graph), after)


@pytest.mark.sampled
@pytest.mark.parametrize("name", [name for name in LAYERS if name not in REFUSED])
def test_layers_train_after_inference(name):
    edges = edges_of()
    layer, x, weights = made(name, edges)
    graph, again = (scorch.sparse(matrix_of(edges, weights, NODES)) for _ in range(2))
    with torch.inference_mode():
        called(copy.deepcopy(layer), LAYERS[name].given, x, graph, weights)
    for found, wanted in zip(
        run(name, layer, x, graph, weights), run(name, layer, x, again, weights), strict=True
    ):
        close(found, wanted)


@pytest.mark.parametrize("name", ("RGATConv", "FastRGCNConv"))
def test_kinds_of_edges_in_the_order_of_entries(name):
    edges = edges_of()
    edges = edges[:, torch.randperm(edges.shape[1])]
    kinds, order = torch.randint(3, edges.shape[1:]), (edges[1] * NODES + edges[0]).argsort()
    layer, x = getattr(pyg, name)(WIDTH, 4, 3), torch.randn(NODES, WIDTH)
    graph = scorch.from_edge_index(edges, num_nodes=NODES)
    close(layer(x, graph, kinds[order]), layer(x, edges, kinds))


# ---- attention ----
def attention(**options):
    torch.manual_seed(0)
    return pyg.GATConv(WIDTH, 3, heads=2, **options), torch.randn(NODES, WIDTH), edges_of()


LISTED = {
    "TopKPooling": lambda g, x, edges, **w: g.TopKPooling(WIDTH)(x, edges, **w),
    "SAGPooling": lambda g, x, edges, **w: g.SAGPooling(WIDTH, GNN=g.GCNConv)(x, edges, **w),
    "EdgePooling": lambda g, x, edges, **w: g.EdgePooling(WIDTH)(x, edges, torch.zeros(NODES).long()),
    "GraphUNet": lambda g, x, edges, **w: g.GraphUNet(WIDTH, 8, 4, 2).eval()(
        x, edges, edge_weight=w.get("edge_attr")
    ),
    "a decoder": lambda g, x, edges, **w: g.InnerProductDecoder()(x, edges),
}


@pytest.mark.parametrize("name", LISTED)
def test_what_wants_a_list_of_edges(name):
    """Pooling layers and the like get the edges of a SparseTensor, and its values for their weights."""
    edges = edges_of()
    weights = torch.rand(edges.shape[1])
    graph = scorch.sparse(matrix_of(edges, weights, NODES))
    results = []
    for given, more in ((edges, {"edge_attr": weights}), (graph, {})):
        torch.manual_seed(0)
        x = torch.randn(NODES, WIDTH).requires_grad_()
        found = LISTED[name](pyg, x, given, **more)
        found = [y for y in (found if isinstance(found, tuple) else [found]) if isinstance(y, torch.Tensor)]
        found[0].sum().backward()
        results.append([*found, x.grad])
    for a, b in zip(*results, strict=True):
        close(a, b)


def test_functions_of_a_list_of_edges():
    """Functions that take no matrix were given one and returned nonsense, or raised."""
    edges = edges_of()
    weights = torch.rand(edges.shape[1])
    graph = scorch.sparse(matrix_of(edges, weights, NODES))
    assert not utils.contains_self_loops(graph) and utils.contains_isolated_nodes(graph)
    assert not utils.is_undirected(graph) and utils.is_undirected(graph + graph.T)
    for f in (utils.to_undirected, utils.coalesce, utils.get_laplacian, utils.add_remaining_self_loops):
        for a, b in zip(f(graph), f(edges, weights, num_nodes=NODES), strict=True):
            close(a, b)
    close(utils.to_dense_adj(graph)[0], graph.to_dense().T)
    subset = torch.arange(20)
    for a, b in zip(utils.subgraph(subset, graph), utils.subgraph(subset, edges, weights), strict=True):
        close(a, b)


def test_attention_runs_in_one_pass(monkeypatch):
    """Without messages, unless they are looked at."""
    layer, x, edges = attention()
    graph = scorch.sparse(matrix_of(edges, torch.ones(edges.shape[1]), NODES))
    seen = []
    wanted = layer(x, edges)
    with monkeypatch.context() as patch:
        patch.setattr(pyg.MessagePassing, "_index_select", lambda *_: pytest.fail("a row an edge was made"))
        close(layer(x, graph), wanted)
    layer.register_message_forward_hook(lambda module, inputs, message: seen.append(message.shape))
    close(layer(x, graph), wanted)
    assert seen == [(edges.shape[1] + NODES, 2, 3)]


def test_attention_weights():
    layer, x, edges = attention(add_self_loops=False)
    graph = scorch.sparse(matrix_of(edges, torch.ones(edges.shape[1]), NODES))
    y, (matrix, alpha) = layer(x, graph, return_attention_weights=True)
    wanted, (_, plain) = layer(x, edges, return_attention_weights=True)
    close(y, wanted)
    close(alpha, plain)
    assert scorch.is_sparse(matrix) and matrix.shape == (NODES, NODES, 2)
    close(matrix.to_dense()[edges[1], edges[0]], plain)


def test_attention_of_features_of_edges():
    layer, x, edges = attention(edge_dim=4, add_self_loops=False)
    graph, features = (
        scorch.sparse(matrix_of(edges, torch.ones(edges.shape[1]), NODES)),
        torch.rand(edges.shape[1], 4),
    )
    close(layer(x, graph, features), layer(x, edges, features))


def test_attention_of_a_subclass_is_its_own():
    class Doubled(pyg.GATConv):
        def message(self, x_j, alpha):
            return 2 * super().message(x_j, alpha)

    torch.manual_seed(0)
    layer, edges, x = Doubled(WIDTH, 3), edges_of(), torch.randn(NODES, WIDTH)
    graph = scorch.sparse(matrix_of(edges, torch.ones(edges.shape[1]), NODES))
    close(layer(x, graph), layer(x, edges))


def test_graphs_of_two_kinds_of_nodes():
    torch.manual_seed(0)
    index = torch.unique(torch.stack([torch.randint(9, (30,)), torch.randint(6, (30,))]).flip(0), dim=1).flip(
        0
    )
    graph = scorch.coo(index.flip(0), torch.ones(index.shape[1]), (6, 9))
    x = torch.randn(9, 4), torch.randn(6, 5)
    for layer in (
        pyg.SAGEConv((4, 5), 3),
        pyg.GATConv((4, 5), 3, add_self_loops=False),
        pyg.GraphConv((4, 5), 3),
    ):
        close(layer(x, graph), layer(x, index, size=(9, 6)))


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name", ("GCNConv", "SAGEConv, mean", "SAGEConv, max", "GINConv", "GATConv", "APPNP", "TransformerConv")
)
def test_compiled(name):
    """Layers without breaks where they end in a product; with edge_index as without scorch."""
    edges = edges_of()
    layer, x, weights = made(name, edges)
    graph = scorch.sparse(matrix_of(edges, weights, NODES))
    wanted = called(layer, LAYERS[name].given, x, edges, weights)
    for given in (edges, graph):
        torch.compiler.reset()
        whole = given is edges or name != "TransformerConv"
        f = torch.compile(layer, backend="aot_eager", fullgraph=whole)
        close(called(f, LAYERS[name].given, x, given, weights), wanted)


# ---- functions ----
@pytest.mark.parametrize("reduce", ("sum", "add", "mean", "min", "max"))
def test_spmm(reduce):
    edges = edges_of()
    csr = matrix_of(edges, torch.rand(edges.shape[1]), NODES)
    x = torch.randn(NODES, 5).requires_grad_()
    y, wanted = spmm(scorch.sparse(csr), x, reduce), spmm(csr, x, reduce)
    close(y, wanted)
    (a,), (b,) = (torch.autograd.grad(z.sin().sum(), x) for z in (y, wanted))
    close(a, b)


@pytest.mark.parametrize("reduce", ("mean", "amax"))
def test_reduced_products_of_torchs_csr_and_sparse_features(reduce):
    edges = edges_of()
    csr = matrix_of(edges, torch.randint(1, 5, (edges.shape[1],)).float(), NODES)
    x = torch.randint(4, (NODES, 5)).float()
    found = torch.sparse.mm(csr, scorch.sparse(x), reduce)
    torch.testing.assert_close(found, torch.sparse.mm(csr, x, reduce))
    layer = pyg.SAGEConv(5, 3, aggr=reduce.removeprefix("a"))
    close(layer(scorch.sparse(x), csr), layer(x, csr))
    with pytest.raises(ValueError, match="a sparse matrix on the left"):
        torch.sparse.mm(x, scorch.sparse(x.T), reduce)


def test_an_edge_index_beside_a_sparse_tensor_is_the_matrix_that_it_means():
    edges = torch.cat([edges_of(), edges_of()[:, :7]], 1)  # some of them twice
    index = EdgeIndex(edges, sparse_size=(NODES, NODES)).sort_by("row")[0]
    x = torch.randint(4, (NODES, 5)).float()
    dense, features = (
        torch.zeros(NODES, NODES).index_put_(tuple(edges), torch.tensor(1.0), True),
        scorch.sparse(x),
    )
    for y in (
        index @ features,
        torch.matmul(index, features),
        torch.sparse.mm(index, features),
        scorch.einsum("ij,jk->ik", index, features),
        scorch.sparse(index) @ x,
    ):
        assert torch.equal(y.to_dense(), dense @ x)
    assert torch.equal((features.T @ index).to_dense(), x.T @ dense)
    assert torch.equal((scorch.sparse(dense) @ index).to_dense(), dense @ dense)
    found = scorch.sparse(EdgeIndex([[0, 2], [1, 1]]), "coo")  # as large as its nodes
    assert found.format == "coo" and found.to_dense().tolist() == [[0, 1], [0, 0], [0, 1]]
    assert scorch.from_edge_index(index).nnz == edges_of().shape[1]


@pytest.mark.parametrize("format", ("csr", "csc", "coo"))
def test_edge_index_and_back(format):
    edges = edges_of()
    csr = matrix_of(edges, torch.rand(edges.shape[1]), NODES)
    index, values = to_edge_index(scorch.sparse(csr, format))
    made = torch.sparse_coo_tensor(index, values, csr.shape).to_dense()
    assert index.dtype is torch.int64
    torch.testing.assert_close(made, csr.to_dense())


def test_loops_are_added_and_removed():
    dense = torch.rand(6, 6) * (torch.rand(6, 6) < 0.5)
    graph, eye = scorch.sparse(dense), torch.eye(6)
    csr = dense.to_sparse_csr()
    for fill in ("mean", "max", torch.tensor([3.0])):
        wanted = add_self_loops(csr, None, fill)[0].to_dense()
        torch.testing.assert_close(add_self_loops(graph, None, fill)[0].to_dense(), wanted)
    for weight in (1.0, 2.5):
        torch.testing.assert_close(add_self_loops(graph, None, weight)[0].to_dense(), dense + weight * eye)
    assert scorch.is_sparse(remove_self_loops(graph)[0])
    torch.testing.assert_close(remove_self_loops(graph)[0].to_dense(), dense * (1 - eye))


@pytest.mark.parametrize("format", ("csr", "csc", "coo"))
def test_values_are_set(format):
    graph = scorch.sparse(torch.rand(4, 5) * (torch.rand(4, 5) < 0.6), format)
    values = torch.rand(graph.nnz, requires_grad=True)
    found = set_sparse_value(graph, values)
    assert scorch.is_sparse(found) and torch.equal(found.values(), values)
    rows = torch.rand(graph.nnz, 3, requires_grad=True)
    found = set_sparse_value(graph, rows)
    target, source = graph.indices()
    assert found.shape == (4, 5, 3) and torch.equal(found.to_dense()[target, source], rows)
    (found * 2).sum().backward()
    assert torch.equal(rows.grad, torch.full_like(rows, 2))


# ---- data ----
def test_transform():
    edges = torch.tensor([[0, 1, 2, 1], [1, 0, 0, 0]])
    data = Data(x=torch.rand(3, 2), edge_index=edges, edge_weight=torch.tensor([1.0, 2, 3, 4]), kind=edges[0])
    found = scorch.pyg.ToSparseTensor()(data)
    wanted = torch.tensor([[0.0, 6, 3], [1, 0, 0], [0, 0, 0]])
    assert "edge_index" not in found and "edge_weight" not in found and "edge_index" in data
    torch.testing.assert_close(found.adj_t.to_dense(), wanted)
    kept = scorch.pyg.ToSparseTensor(None, remove_edge_index=False, format="csc")(data)
    assert str(kept.adj_t.format) == "csc" and "edge_index" in kept
    torch.testing.assert_close(kept.adj_t.sum(1), torch.tensor([3.0, 1, 0]))


def test_transform_of_two_kinds_of_nodes():
    data = HeteroData()
    data["a"].x, data["b"].x = torch.rand(3, 2), torch.rand(2, 2)
    data["a", "to", "b"].edge_index = torch.tensor([[0, 2], [1, 0]])
    found = scorch.pyg.ToSparseTensor()(data)["a", "to", "b"].adj_t
    torch.testing.assert_close(found.to_dense(), torch.tensor([[0.0, 0, 1], [1, 0, 0]]))


@pytest.mark.parametrize("format", ("csr", "csc", "coo"))
def test_batches(format):
    graphs = [edges_of(n, 20) for n in (6, 9)]
    listed = [Data(x=torch.rand(n, 4), edge_index=e) for n, e in zip((6, 9), graphs, strict=True)]
    batch = Batch.from_data_list([scorch.pyg.ToSparseTensor(format=format)(copy.copy(d)) for d in listed])
    assert scorch.is_sparse(batch.adj_t) and batch.adj_t.shape == (15, 15)
    assert str(batch.adj_t.format) == format
    layer = pyg.SAGEConv(4, 3)
    close(layer(batch.x, batch.adj_t), layer(batch.x, Batch.from_data_list(listed).edge_index))


@pytest.mark.parametrize("format", ("csr", "csc", "coo"))
def test_batches_are_taken_apart(format):
    transform = scorch.pyg.ToSparseTensor(format=format)
    listed = [transform(Data(x=torch.rand(n, 4), edge_index=edges_of(n, 20))) for n in (6, 9, 4)]
    batch = Batch.from_data_list(listed)
    found = [*batch.to_data_list(), batch[2], *batch.index_select([1])]
    for got, wanted in zip(found, [*listed, listed[2], listed[1]], strict=True):
        assert scorch.is_sparse(got.adj_t) and str(got.adj_t.format) == format
        close(got.adj_t.to_dense(), wanted.adj_t.to_dense())
        close(got.x, wanted.x)
    two = []
    for n in (3, 5):
        data = HeteroData()
        data["a"].x, data["b"].x = torch.rand(n, 2), scorch.sparse(torch.rand(2, 2))
        data["a", "to", "b"].edge_index = torch.tensor([[0, n - 1], [1, 0]])
        two.append(transform(data))
    for got, wanted in zip(Batch.from_data_list(two).to_data_list(), two, strict=True):
        for x, y in ((got["a", "b"].adj_t, wanted["a", "b"].adj_t), (got["b"].x, wanted["b"].x)):
            close(x.to_dense(), y.to_dense())


def test_data_is_loaded_and_saved(tmp_path):
    transform = scorch.pyg.ToSparseTensor()
    data = transform(Data(x=torch.rand(NODES, 4), edge_index=edges_of()))
    assert data.num_nodes == NODES and data.num_edges == edges_of().shape[1] and data.validate()
    assert repr(transform) == "ToSparseTensor(attr=edge_weight, format=csr)"
    shapes = [tuple(batch.adj_t.shape) for batch in DataLoader([data] * 3, batch_size=2)]
    assert shapes == [(2 * NODES, 2 * NODES), (NODES, NODES)]
    torch.save(data, tmp_path / "data.pt")
    back = torch.load(tmp_path / "data.pt", weights_only=False)
    torch.testing.assert_close(back.adj_t.to_dense(), data.adj_t.to_dense())


@pytest.mark.parametrize("dim", (0, 1))
def test_matrices_one_after_the_other(dim):
    from torch_geometric.utils.sparse import cat

    parts = [torch.rand(3, 4).round(), torch.rand(2, 5).round()]
    wanted = cat([p.to_sparse_csr() for p in parts], dim).to_dense()
    torch.testing.assert_close(cat([scorch.sparse(p) for p in parts], dim).to_dense(), wanted)


# ---- the layout, and the place of it all ----
def test_layouts_are_told():
    a = scorch.sparse(torch.eye(4))
    for format, layout in (
        ("csr", torch.sparse_csr),
        ("csc", torch.sparse_csc),
        ("coo", torch.sparse_coo),
        ("bsr(2,2)", torch.sparse_bsr),
        ("dcsr", torch.strided),
    ):
        assert a.convert(format).layout is layout
    from torch._subclasses import FakeTensorMode

    fake = FakeTensorMode().from_tensor(a)  # torch makes it as it was made
    assert scorch.is_sparse(fake) and type(fake._val) is not torch.Tensor


def process(code: str, **environment: str) -> str:
    done = child.run(code, os.environ | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


_TELL = "print('scorch/pyg/' in torch_geometric.utils.spmm.__code__.co_filename, 'scorch.pyg' in sys.modules)"


@pytest.mark.parametrize("first, second", (("scorch", "torch_geometric"), ("torch_geometric", "scorch")))
def test_either_is_imported_first(first, second):
    assert process(f"import sys, {first}, {second}; {_TELL}") == "True True"


def test_opting_out():
    assert process(f"import sys, scorch, torch_geometric; {_TELL}", SCORCH_PYG="off") == "False False"


@pytest.mark.slow
def test_the_transform_alone():
    code = f"import sys, scorch.pyg, torch_geometric; {_TELL}"
    assert process(code, SCORCH_PYG="off") == "False True"
    assert process(code) == "True True"


def test_another_version_is_left_as_it_is(tmp_path):
    (tmp_path / "torch_geometric").mkdir()
    (tmp_path / "torch_geometric" / "__init__.py").write_text("here = 1")
    code = f"""
import sys, warnings
sys.path.insert(0, {str(tmp_path)!r})
import scorch
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import torch_geometric
print(torch_geometric.here, ["scorch.pyg" in str(w.message) for w in seen])
"""
    assert process(code) == "1 [True]"


def test_arrays_are_saved_alone():
    graph = scorch.sparse(matrix_of(edges_of(), torch.rand(edges_of().shape[1]), NODES))
    array = graph.crow_indices()
    assert not vars(array) and copy.deepcopy(array).equal(array)


def test_scorch_imports_no_torch_geometric():
    assert process("import sys, scorch; print('torch_geometric' in sys.modules)") == "False"


@pytest.mark.parametrize("name", ("GCNConv", "GINConv", "SAGEConv, mean", "APPNP"))
def test_layers_are_still_scripted(name):
    edges = edges_of()
    layer, x, weights = made(name, edges)
    close(
        called(torch.jit.script(layer), LAYERS[name].given, x, edges, weights),
        called(layer, LAYERS[name].given, x, edges, weights),
    )


@pytest.mark.parametrize(
    "layer", (pyg.SAGEConv(6, 4), pyg.GINConv(torch.nn.Linear(6, 4))), ids=("SAGE", "GIN")
)
def test_layers_without_weights_agree_where_the_graph_has_ones(layer):
    edges, x = torch.unique(edges_of(NODES), dim=1), torch.randn(NODES, 6)
    data = Data(x=x, edge_index=edges, edge_weight=torch.rand(edges.shape[1]))
    graph = scorch.pyg.ToSparseTensor(attr=None)(data.clone()).adj_t
    weighted = scorch.pyg.ToSparseTensor()(data.clone()).adj_t
    close(layer(x, graph), layer(x, edges))
    close(layer(x, scorch.map(weighted, torch.ones_like)), layer(x, edges))
    close(layer(x, weighted), layer(x, weighted.to_torch(torch.sparse_csr)))

"""Minibatches: rows and columns of matrices, and neighbours that are drawn."""

import random

import pytest
import torch
from test_select import TYPES, matrix, selection

import scorch
import scorch.nn


def graph(nodes=60, density=0.2, seed=0, dtype=torch.float32, format="csr"):
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(1, 5, (nodes, nodes), generator=g) * (torch.rand(nodes, nodes, generator=g) < density)
    return scorch.sparse(x.to(dtype), format)


def star(weights, dtype=torch.float64):
    """Node 0 with a neighbour for each weight."""
    n = len(weights) + 1
    index = torch.stack([torch.zeros(n - 1, dtype=torch.long), torch.arange(1, n)])
    return scorch.coo(index, torch.as_tensor(weights, dtype=dtype), (n, n))


# ---- submatrices ----
@pytest.mark.parametrize("format", ("csr", "csc", "coo", "bsr(2,2)", "csr of band(-2,2) + csr"))
def test_submatrices_are_those_of_the_dense_twin(format):
    r = random.Random(format)
    for _ in range(30):
        dtype = r.choice(TYPES)
        d = matrix(r, dtype)
        if any(n % 2 for n in d.shape) and format.startswith("bsr"):
            continue
        a = scorch.sparse(d, "csr", index_dtype=r.choice((torch.int32, torch.int64))).convert(format)
        i, j = (x if not isinstance(x := selection(r, n), int) else None for n in d.shape)
        got = a.submatrix(i, j)
        want = d[slice(None) if i is None else i][:, slice(None) if j is None else j]
        assert scorch.is_sparse(got) and torch.equal(got.to_dense(), want), (i, j)


@pytest.mark.parametrize("columns", (1 << 21, 1 << 12))
@pytest.mark.parametrize("repeats", (False, True))
def test_short_lists_of_many_columns(columns, repeats):
    """In a table where there are too many columns for a bit each."""
    g = torch.Generator().manual_seed(0)
    index = torch.stack(
        [torch.randint(50, (3000,), generator=g), torch.randint(columns, (3000,), generator=g)]
    )
    a = scorch.coo(index, torch.rand(3000, generator=g), (50, columns))
    taken = index[1, torch.randperm(3000, generator=g)[:200]].unique()[torch.randperm(190, generator=g)]
    taken = torch.cat([taken, taken[:50]]) if repeats else taken
    rows = torch.randperm(50, generator=g)
    for order in (taken, taken.sort()[0]):
        wanted = a.to_scipy().tocsc()[:, order.numpy()].toarray()[rows]
        assert (a.submatrix(rows, order).to_dense().numpy() == wanted).all()


@pytest.mark.parametrize("format", ("csr", "csc", "coo"))
def test_submatrices_are_differentiable(format):
    d = torch.rand(30, 40, dtype=torch.float64) * (torch.rand(30, 40) < 0.3)
    rows, cols = torch.tensor([3, 0, 29, 3]), torch.randperm(40)[:15]
    a, twin = scorch.sparse(d, format).requires_grad_(), d.clone().requires_grad_()
    weight = torch.rand(4, 15, dtype=torch.float64)
    (a.submatrix(rows, cols).to_dense() * weight).sum().backward()
    (twin[rows][:, cols] * weight).sum().backward()
    torch.testing.assert_close(a.grad.to_dense(), twin.grad * (d != 0))


def test_submatrices_refuse():
    a = graph(5)
    for wrong in (
        2,
        torch.tensor([[1]]),
        torch.tensor([5]),
        torch.tensor([0.5]),
        torch.ones(4, dtype=torch.bool),
    ):
        with pytest.raises(IndexError):
            a.submatrix(wrong, None)
        with pytest.raises(IndexError):
            a.submatrix(None, wrong)
    with pytest.raises(ValueError, match="a matrix"):
        scorch.sparse(torch.eye(3)[0]).submatrix(None, None)


# ---- samples ----
def test_a_layer_says_what_it_is():
    (layer,) = scorch.sample_neighbors(star([1, 1, 1]), torch.tensor([0, 2]), [2])
    assert repr(layer) == f"SampledLayer(2 targets, {len(layer.sources)} sources, {layer.matrix!r})"


@pytest.mark.parametrize("format", ("csr", "csc", "coo"))
@pytest.mark.parametrize("replace", (False, True))
@pytest.mark.parametrize("weighted", (False, True))
def test_layers_fit_together(format, replace, weighted):
    A = graph(format=format)
    d, degree = A.to_dense(), (A.to_dense() != 0).sum(1)
    seeds, fanouts = torch.tensor([7, 3, 41, 12]), [3, -1, 5]
    layers = scorch.sample_neighbors(A, seeds, fanouts, replace=replace, weighted=weighted)
    assert torch.equal(layers[-1].targets, seeds)
    for above, below in zip(layers[1:], layers, strict=False):
        assert torch.equal(above.sources, below.targets)
    for fanout, (made, targets, sources, entries) in zip(fanouts, layers, strict=True):
        assert made.shape == (len(targets), len(sources)) and str(made.format) == "csr"
        assert len(sources.unique()) == len(sources) and torch.equal(sources[: len(targets)], targets)
        scorch.from_components(  # looked through
            "csr", made.shape, [None, made.pos(1)], [None, made.crd(1)], made.values()
        )
        own = d[targets][:, sources]
        drawn = made.to_dense()
        if replace and fanout > 0:
            times = drawn / own.where(own != 0, 1)
            assert torch.equal(times, times.round()) and (own[times > 0] > 0).all()
            assert torch.equal(times.sum(1), fanout * (degree[targets] > 0).float())
        else:
            assert torch.equal(drawn[drawn != 0], own[drawn != 0])
            wanted = degree[targets] if fanout < 0 else degree[targets].clamp(max=fanout)
            assert torch.equal((drawn != 0).sum(1), wanted)
        assert set(made.crd(1).tolist()) | set(range(len(targets))) == set(range(len(sources)))
        if format == "csr" and not replace:
            assert torch.equal(A.values()[entries], made.values())


@pytest.mark.parametrize(
    "format",
    (
        "coo",
        "csc",
        "dcsr",
        "dcsc",
        "bsr(2,2)",
        "bsc(1,1)",
        "bsc(2,3)",
        "ell(12)",
        "dia(4)",
        "sell(4,8)",
        "csr of band(-2,2) + csc",
        "csr of band(-2,2) + bsr(2,2)",
        "dense(1), dense(0)",
    ),
)
def test_entries_are_places_in_the_values(format):
    mask = torch.rand(12, 12, generator=torch.Generator().manual_seed(0)) < 0.4
    A = scorch.sparse(torch.arange(1.0, 145).view(12, 12) * mask, format)
    for _ in range(2):
        layers = scorch.sample_neighbors(A, torch.tensor([7, 3, 11]), [2, -1])
        for layer in layers:
            assert torch.equal(A.values()[layer.entries], layer.matrix.values())
    twin = scorch.sparse(A.to_dense(), format).requires_grad_()
    (layer,) = scorch.sample_neighbors(twin, torch.tensor([7, 3]), [-1])
    assert torch.equal(twin.values()[layer.entries], layer.matrix.values())


def test_entries_of_sums_are_the_first_values():
    part = scorch.sparse(torch.tensor([[0.0, 2], [5, 6]]), "csc")
    A = scorch.parts(part, scorch.sparse(torch.tensor([[0.0, 0], [7, 0]])))
    (layer,) = scorch.sample_neighbors(A, torch.tensor([1, 0]), [-1])
    row, column = layer.targets[layer.matrix.indices()[0]], layer.sources[layer.matrix.indices()[1]]
    assert torch.equal(A.indices()[:, layer.entries].long(), torch.stack([row, column]))
    assert torch.equal(layer.matrix.values(), A.to_dense()[row, column])


def test_whole_neighbourhoods_are_submatrices():
    A, x = graph(), torch.rand(60, 4)
    seeds = torch.tensor([5, 1, 59])
    first, last = scorch.sample_neighbors(A, seeds, [-1, -1])
    assert torch.equal(first.matrix.to_dense(), A.submatrix(first.targets, first.sources).to_dense())
    y = last.matrix @ (first.matrix @ x[first.sources])
    torch.testing.assert_close(y, (A @ (A @ x))[seeds])
    assert torch.equal(scorch.sample_neighbors(A, seeds, [100])[0].matrix.to_dense(), last.matrix.to_dense())
    assert scorch.sample_neighbors(A, seeds, []) == []
    (nothing,) = scorch.sample_neighbors(A, seeds, [0])
    assert nothing.matrix.nnz == 0 and torch.equal(nothing.sources, seeds)
    (none,) = scorch.sample_neighbors(A, torch.tensor([], dtype=torch.long), [3])
    assert none.matrix.shape == (0, 0)


def test_gradients_reach_the_values():
    for replace in (False, True):
        A = graph(dtype=torch.float64).requires_grad_()
        (layer,) = scorch.sample_neighbors(A, torch.arange(20), [3], replace=replace)
        weight = torch.rand(layer.matrix.shape, dtype=torch.float64)
        (layer.matrix.to_dense() * weight).sum().backward()
        times = layer.matrix.values().detach() / A.values().detach()[layer.entries]
        row, column = layer.matrix.indices()
        wanted = torch.zeros(A.nnz, dtype=torch.float64).index_add(
            0, layer.entries, times * weight[row, column]
        )
        torch.testing.assert_close(A.grad.values(), wanted)


@pytest.mark.parametrize("replace", (False, True))
@pytest.mark.parametrize("weighted", (False, True))
def test_a_seed_decides_and_threads_do_not(replace, weighted):
    A = graph(3000, 0.02)
    seeds, threads, found = torch.randperm(3000)[:1500], torch.get_num_threads(), []

    def drawn():
        layers = scorch.sample_neighbors(
            A, seeds, [10, 5], replace, torch.Generator().manual_seed(3), weighted=weighted
        )
        return [y for x in layers for y in (x.sources, x.entries, *x.matrix._arrays())]

    try:
        for n in (1, 2, 2):
            torch.set_num_threads(n)
            found.append(drawn())
    finally:
        torch.set_num_threads(threads)
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))
    torch.manual_seed(5)
    first = scorch.sample_neighbors(A, seeds, [5])[0].entries
    assert not torch.equal(first, scorch.sample_neighbors(A, seeds, [5])[0].entries)
    torch.manual_seed(5)
    assert torch.equal(first, scorch.sample_neighbors(A, seeds, [5])[0].entries)


def frequencies(A, fanout, turns=2500, **how):
    """How often each entry of row 0 came, by its place."""
    g, count = torch.Generator().manual_seed(1), torch.zeros(A.nnz)
    seed = torch.tensor([0])
    for _ in range(turns):
        (layer,) = scorch.sample_neighbors(A, seed, [fanout], generator=g, **how)
        count[layer.entries] += layer.matrix.values() if how.get("replace") else 1
    return count / turns


@pytest.mark.parametrize("degree, fanout", ((5, 2), (5, 4), (40, 3), (40, 30)))  # a pass, and a set
def test_all_neighbours_are_as_likely(degree, fanout):
    for replace in (False, True):
        found = frequencies(star(torch.ones(degree)), fanout, replace=replace)
        p = fanout / degree
        assert torch.allclose(found, torch.full((degree,), p), atol=5 * (p * (1 - p) / 2500) ** 0.5 + 1e-3)


def test_pairs_are_as_likely():
    """Neighbours that are drawn together are independent but for being others."""
    A, g = star(torch.ones(9)), torch.Generator().manual_seed(2)
    count = torch.zeros(9, 9)
    for _ in range(6000):
        a, b = scorch.sample_neighbors(A, torch.tensor([0]), [2], generator=g)[0].entries.tolist()
        count[a, b] += 1
    pairs = (count + count.T)[torch.ones(9, 9).triu(1) > 0]
    chi = ((pairs - 6000 / 36) ** 2 / (6000 / 36)).sum()
    assert chi < 70  # of 35 degrees of freedom: 1 in 2000


@pytest.mark.parametrize("dtype", (torch.float64, torch.float32, torch.float16, torch.int32))
def test_weights_decide(dtype):
    w = torch.tensor([1.0, 0, 3, 1, 5, 2, 0])
    A = star(w, dtype)
    with_replacement = frequencies(A, 4, 3000, replace=True, weighted=True) / w.where(w > 0, 1)
    p = w / w.sum()
    assert torch.allclose(with_replacement, 4 * p, atol=0.15)
    two = p * (1 + sum(p[j] / (1 - p[j]) for j in range(7)) - p / (1 - p))  # first, or second behind another
    found = frequencies(A, 2, weighted=True)
    assert torch.allclose(found, two, atol=0.04)
    assert not found[w == 0].any()
    assert scorch.sample_neighbors(A, [0], [6], weighted=True)[0].matrix.nnz == 5
    assert scorch.sample_neighbors(A, [0], [-1], weighted=True)[0].matrix.nnz == 7


def test_long_rows_by_weights():
    """Sums of many skipped weights: what is drawn weighs as much as probabilities say."""
    g = torch.Generator().manual_seed(0)
    w = torch.rand(2000, generator=g, dtype=torch.float64).pow(8) + 1e-9
    found = frequencies(star(w), 50, 400, weighted=True)
    draws = torch.stack([torch.multinomial(w, 50, generator=g) for _ in range(400)])
    wanted = torch.bincount(draws.flatten(), minlength=2000) / 400
    order = w.argsort()
    for a, b in zip(found[order].split(200), wanted[order].split(200), strict=True):
        assert abs(a.sum() - b.sum()) < 0.05 * wanted.sum() ** 0.5 + 0.4


def test_bad_input_is_refused():
    A, seeds = graph(), torch.tensor([0, 1])
    for wrong, kind, says in (
        (lambda: scorch.sample_neighbors(A.to_dense(), seeds, [1]), TypeError, "from_edge_index"),
        (lambda: scorch.sample_neighbors(A, seeds, [-2]), ValueError, "-1 for all"),
        (lambda: scorch.sample_neighbors(A, seeds, [2**70]), ValueError, "-1 for all"),
        (lambda: scorch.sample_neighbors(A, seeds, [1.5]), TypeError, "integers, one a layer"),
        (lambda: scorch.sample_neighbors(A, torch.tensor([60]), [1]), ValueError, "0..59, got 60"),
        (lambda: scorch.sample_neighbors(A, torch.tensor([-1]), [1]), ValueError, "0..59, got -1"),
        (lambda: scorch.sample_neighbors(A, torch.tensor([4, 4]), [1]), ValueError, "4 again"),
        (lambda: scorch.sample_neighbors(A, torch.rand(2), [1]), ValueError, "vector of integers"),
        (lambda: scorch.sample_neighbors(A * -1, seeds, [1], weighted=True), ValueError, "not negative"),
        (lambda: scorch.sample_neighbors(A / 0, seeds, [1], weighted=True), ValueError, "finite"),
        (lambda: scorch.sample_neighbors(A[:2], seeds, [9, 9]), ValueError, "a row for each node"),
        (lambda: scorch.sample_neighbors(A, torch.arange(60), [2**30], replace=True), ValueError, "fewer"),
        (lambda: scorch.sample_neighbors(A, seeds, [2**62], replace=True), ValueError, "fewer"),
    ):
        with pytest.raises(kind, match=says):
            wrong()


def test_bipartite_graphs_have_one_layer():
    A = scorch.sparse(torch.ones(3, 50))
    (layer,) = scorch.sample_neighbors(A, [0, 1, 2], [10])
    assert layer.matrix.shape[0] == 3 and layer.matrix.nnz == 30


# ---- layers over them ----
def test_layers_of_graphs_take_them():
    """With all neighbours a minibatch has the rows of the whole graph."""
    A, x, seeds = graph(), torch.rand(60, 6), torch.tensor([9, 4, 30])
    layers = scorch.sample_neighbors(A, seeds, [-1, -1])
    for make in (
        lambda i, o: scorch.nn.SAGEConv(i, o),
        lambda i, o: scorch.nn.SAGEConv(i, o, aggr="sum"),
        lambda i, o: scorch.nn.GCNConv(i, o, normalize=False),
        lambda i, o: scorch.nn.GATConv(i, o, heads=2, concat=False),
    ):
        convs = [make(6, 5), make(5, 8)]
        whole, h = x, x[layers[0].sources]
        for conv, layer in zip(convs, layers, strict=True):
            gat = isinstance(conv, scorch.nn.GATConv)
            h = conv((h, h[: len(layer.targets)]) if gat else h, layer.matrix)
            whole = conv(whole, A)
        torch.testing.assert_close(h, whole[seeds], rtol=1e-4, atol=1e-4)
        grads = [torch.autograd.grad(y.square().sum(), convs[0].parameters()) for y in (h, whole[seeds])]
        for a, b in zip(*grads, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)


class Rectangular(torch.nn.Module):
    """A layer over a matrix with fewer rows than columns, a buffer."""

    def __init__(self, conv, matrix):
        super().__init__()
        self.conv = conv
        self.register_buffer("matrix", matrix)

    def forward(self, x):
        gat = isinstance(self.conv, scorch.nn.GATConv)
        return self.conv((x, x[: len(self.matrix)]) if gat else x, self.matrix)


RECTANGLES = ("csr", "coo", "csc", "bsr(2,2)", "ell(9)", "csr of rows(<= 2) + coo")


@pytest.mark.needs("2.11")
@pytest.mark.parametrize("format", RECTANGLES)
@pytest.mark.parametrize(
    "conv", (scorch.nn.SAGEConv(3, 5), scorch.nn.GATConv(3, 5)), ids=("SAGEConv", "GATConv")
)
def test_one_graph_of_a_layer_over_a_rectangle(conv, format):
    rows, x = graph(10)[:4], torch.rand(10, 3)
    module, wanted = Rectangular(conv, rows.convert(format)), Rectangular(conv, rows)(x)
    torch._dynamo.reset()
    for f in (
        module,
        torch.compile(module, fullgraph=True, backend="aot_eager"),
        torch.export.export(module, (x,), strict=False).module(),
        torch.export.export(module, (x,), strict=True).module(),
    ):
        torch.testing.assert_close(f(x), wanted)


def test_pairs_of_features_must_fit():
    conv, A, x = scorch.nn.SAGEConv(4, 3), graph(10)[:4], torch.rand(10, 4)
    torch.testing.assert_close(conv((x, x[:4]), A), conv(x, A))
    for wrong in ((x, x), (x[:5], x[:4]), x[:5]):
        with pytest.raises(ValueError, match="expected a SparseTensor"):
            conv(wrong, A)
    with pytest.raises(ValueError, match="a pair of them"):
        conv((x, None), A)

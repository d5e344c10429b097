"""Writes that torch does not count: by NumPy, ``x.data`` and fused optimizers. What was kept is made anew."""

import pytest
import torch
import torch.nn.functional as F

import scorch
import scorch.nn

torch.manual_seed(0)
X = torch.rand(40, 6)
SPARSE = torch.rand(64, 40) * (torch.rand(64, 40) < 0.05)
QUERIES = torch.rand(3, 2, 40, 8)
EDGES = torch.randint(0, 40, (2, 90))
PATTERN = torch.rand(40, 40) < 0.2


def by_numpy(x):
    x.detach().numpy()[...] *= 3


def by_data(x):
    x.data.mul_(3)


def by_fused_optimizer(x):
    x.grad = torch.ones_like(x)
    torch.optim.SGD([x], lr=0.25, fused=True).step()


WRITERS = [by_numpy, by_data, by_fused_optimizer]


def layer(kind, *sizes):
    torch.manual_seed(0)
    return getattr(scorch.nn, kind)(*sizes).eval()


GCN, SGC = layer("GCNConv", 6, 3), layer("SGConv", 6, 3)
DENSE = {
    "dynamic": lambda w: F.linear(scorch.dynamic(SPARSE), w.view(-1, 40)),
    "dynamic, turned": lambda w: scorch.dynamic(SPARSE) @ w.view(-1, 40).t(),
    "weights of GCNConv": lambda w: GCN(X, EDGES, w[:90]),
    "weights of SGConv": lambda w: SGC(X, EDGES, w[:90]),
}
OF_SPARSE = {
    "product": lambda a: a @ X,
    "transposed": lambda a: a.T @ X,
    "square": lambda a: (a @ a).to_dense(),
    "softmax": lambda a: torch.softmax(a, 1).to_dense(),
    "attention": lambda a: scorch.attention(*QUERIES, a),
    "attention, added": lambda a: scorch.attention(*QUERIES, a, additive=True),
    "means of rows": lambda a: torch.sparse.mm(a, X, "mean"),
    "neighbours": lambda a: scorch.sample_neighbors(a, torch.arange(5), [-1])[0].matrix.values(),
    "GCNConv": lambda a: GCN(X, a),
}


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("f", DENSE.values(), ids=DENSE)
def test_dense_weights(f, write):
    w = torch.nn.Parameter(torch.rand(160))
    with torch.no_grad():
        for _ in range(3):
            f(w)
            write(w)
            torch.testing.assert_close(f(w), f(w.clone()))


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("f", OF_SPARSE.values(), ids=OF_SPARSE)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_values_of_a_parameter(f, write, format):
    a = torch.nn.Parameter(scorch.sparse(torch.rand(40, 40) * PATTERN, format))
    with torch.no_grad():
        for _ in range(3):
            f(a)
            write(a if write is by_fused_optimizer else a.values())
            torch.testing.assert_close(f(a), f(a.clone()))


@pytest.mark.parametrize("write", [by_numpy, by_data])
def test_coordinates_and_edges(write):
    conv, x = layer("SparseConv3d", 2, 2, 3), torch.rand(3, 2)
    sites = torch.tensor([[0, 0, 0, 0], [0, 0, 0, 1], [0, 5, 5, 5]])
    edges = EDGES // 3
    for f, written in ((lambda s: conv(x, s), sites), (lambda e: GCN(X, e), edges)):
        f(written)
        write(written)
        torch.testing.assert_close(f(written), f(written.clone()))

"""Products under torch.autocast have the type that dense code has there."""

import pytest
import torch
import torch.nn.functional as F
from test_surface_functions import matrix, plain

import scorch
import scorch.nn

DENSE, X, B = matrix().float(), torch.randn(6, 3), torch.randn(3)
PRODUCTS = {
    "@": lambda a: a @ X,
    "@, from the left": lambda a: X.T @ a.T,
    "@ a vector": lambda a: a @ X[:, 0],
    "@ sparse": lambda a: a @ a.T,
    "matmul": lambda a: torch.matmul(a, X),
    "mm": lambda a: torch.mm(a, X),
    "mm, half": lambda a: torch.mm(a, X.bfloat16()),
    "float16 meets float32": lambda a: a.half() @ X,
    "addmm": lambda a: torch.addmm(B, a, X),
    "bmm": lambda a: torch.bmm(torch.stack([a, a]), torch.stack([X, X])),
    "baddbmm": lambda a: torch.baddbmm(B, torch.stack([a, a]), torch.stack([X, X])),
    "linear": lambda a: F.linear(X.T, a),
    "linear, bias": lambda a: F.linear(X.T, a, torch.ones(8)),
    "linear, sparse input": lambda a: F.linear(a, X.T.contiguous(), B),
    "linear, batched": lambda a: F.linear(torch.stack([X.T, X.T]), a, torch.ones(8)),
    "einsum": lambda a: torch.einsum("ij,jk->ik", a, X),
    "einsum of three": lambda a: torch.einsum("ij,jk,kl->il", a, X, torch.eye(3)),
    "mv": lambda a: torch.mv(a, X[:, 0]),
    "addmv": lambda a: torch.addmv(torch.ones(8), a, X[:, 0]),
    "dot": lambda a: torch.dot(a[0], X[:, 0]),
    "inner": lambda a: torch.inner(a, X.T),
    "inner of vectors": lambda a: torch.inner(a[0], X[:, 0]),
    "outer": lambda a: torch.outer(a[0], X[:, 0]),
    "addr": lambda a: torch.addr(torch.ones(6, 6), a[0], X[:, 0]),
    "addbmm": lambda a: torch.addbmm(B, torch.stack([a, a]), torch.stack([X, X])),
    "vecdot": lambda a: torch.linalg.vecdot(a, X[:, 0][None]),
    "float64": lambda a: a.double() @ X.double(),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,3)"])
@pytest.mark.parametrize("grad", [False, True])
def test_products(name, format, grad):
    a, d = scorch.sparse(DENSE, format), DENSE.clone()
    if grad:
        a.requires_grad_(), d.requires_grad_()
    with torch.autocast("cpu"):
        got, wanted = PRODUCTS[name](a), PRODUCTS[name](d)
    assert got.dtype == wanted.dtype
    torch.testing.assert_close(plain(got), wanted, rtol=0.03, atol=0.1)
    if grad:
        plain(got).sum().backward()
        wanted.sum().backward()
        stored = scorch.map(a.detach(), torch.ones_like).to_dense()
        assert a.grad.dtype == torch.float32
        torch.testing.assert_close(a.grad.to_dense(), d.grad * stored, rtol=0.03, atol=0.1)


@pytest.mark.parametrize("zeros", [0.1, 0.9])
@pytest.mark.parametrize("given", [scorch.dynamic, torch.Tensor.numpy, torch.Tensor.to_sparse])
def test_operands_that_are_no_plain_tensors(given, zeros):
    a, d = scorch.sparse(DENSE), torch.rand(6, 5) * (torch.rand(6, 5) >= zeros)
    with torch.autocast("cpu"):
        for got, wanted in (
            (a @ given(d), DENSE @ d),
            (scorch.einsum("ij,jk->ik", a, given(d)), DENSE @ d),
            (scorch.einsum("ji,jk->ik", given(d), X), d.T @ X),
        ):
            assert got.dtype == wanted.dtype
            torch.testing.assert_close(plain(got), wanted, rtol=0.03, atol=0.1)


def test_float16_and_what_is_no_product():
    a = scorch.sparse(DENSE)
    with torch.autocast("cpu", torch.float16):
        assert (a @ X).dtype == torch.float16
    with torch.autocast("cpu"):
        assert (a + a).dtype == torch.float32 and a.sum().dtype == torch.float32
        assert scorch.evaluate("y[i] = A[i,j] * x[j]", A=a, x=X[:, 0]).dtype == torch.float32
        with torch.autocast("cpu", enabled=False):
            assert (a @ X).dtype == torch.float32
    assert (a @ X).dtype == torch.float32


@pytest.mark.parametrize("type", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("bias", [False, True])
def test_convolutions(bias, type):
    grid = torch.cartesian_prod(torch.zeros(1, dtype=torch.long), *[torch.arange(3)] * 3)
    layer, x = scorch.nn.SparseConv3d(4, 5, 3, bias=bias), torch.randn(27, 4)
    wanted, (kernel_map, _) = layer(x, grid), layer.map(grid)
    for sites in (grid, kernel_map):
        with torch.autocast("cpu", type):
            y = layer(x, sites)
        assert y.dtype == type
        torch.testing.assert_close(y.float(), wanted, rtol=0.03, atol=0.03)
    y.sum().backward()
    assert all(p.grad.dtype == torch.float32 for p in layer.parameters())


@pytest.mark.parametrize("bias", [False, True])
def test_the_layer(bias):
    dense = torch.nn.Linear(6, 8, bias=bias)
    dense.weight.data *= dense.weight.abs() > 0.2
    layer = scorch.nn.Linear.from_dense(dense)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for x in (X.T, torch.stack([X.T, X.T])):
        with torch.autocast("cpu"):
            y, z, wanted = layer(x), compiled(x), dense(x)
        assert y.dtype == z.dtype == wanted.dtype == torch.bfloat16
        torch.testing.assert_close(y, wanted, rtol=0.02, atol=0.02)
        torch.testing.assert_close(z, wanted, rtol=0.02, atol=0.02)
    y.sum().backward()
    assert layer.values.grad.dtype == torch.float32


def test_compiled():
    a = scorch.sparse(DENSE)

    def f(x):
        with torch.autocast("cpu"):
            return a @ x, torch.einsum("ij,jk->ik", a, x)

    for y in torch.compile(f, backend="aot_eager")(X):
        assert y.dtype == torch.bfloat16


def test_types_that_nothing_computes_with():
    a = scorch.sparse(DENSE).to(torch.int8)
    with torch.autocast("cpu"), pytest.raises(NotImplementedError, match="stored and converted"):
        a @ X
    with pytest.raises(NotImplementedError, match="stored and converted"):
        a @ X

"""Gradients that are zeros without memory, as torch has for derivatives of signs."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F

import scorch

DENSE = torch.tensor([[0.0, 2, 0], [1, 0, 3]])
ONES = torch.ones(3, 2)
OF_DENSE = {
    "A @ x": lambda A, x: A @ x,
    "einsum": lambda A, x: scorch.einsum("ij,jk->ik", A, x),
    "linear": lambda A, x: F.linear(x.T, A),
    "addmm": lambda A, x: torch.addmm(torch.zeros(2, 2), A, x),
    "A.T @ x": lambda A, x: A.T @ x[:2],
    "x @ A": lambda A, x: x.T[:, :2] @ A,
    "A * x": lambda A, x: (A * x.T).values(),
    "A + x": lambda A, x: A + x.T,
}
OF_SPARSE = {
    "A @ x": lambda A: A @ ONES,
    "sum": lambda A: A.sum(1),
    "dense": lambda A: A.to_dense(),
    "cat": lambda A: torch.cat([A, A]) @ ONES,
    "known": lambda A: torch.square(A).sum(1),
    "A @ A.T": lambda A: (A @ A.T).sum(1),
    "rows": lambda A: A[:1] @ ONES,
    "csc": lambda A: A.convert("csc") @ ONES,
    "parts": lambda A: A.convert("csr of rows(> 1) + csr") @ ONES,
    "maximum": lambda A: A.amax(1),
}


def first(f, x):
    torch.sgn(f(x)).sum().backward()
    return x.grad


def second(f, x):
    (once,) = torch.autograd.grad(f(x).abs().sum(), x, create_graph=True)
    (once * (DENSE != 0) if once.shape == DENSE.shape else once).sum().backward()
    return x.grad


@pytest.mark.parametrize("order", [first, second])
@pytest.mark.parametrize("name", OF_DENSE)
def test_of_dense_operands(name, order):
    x = ONES.clone().requires_grad_()
    assert torch.equal(order(lambda x: OF_DENSE[name](scorch.sparse(DENSE), x), x), torch.zeros(3, 2))


@pytest.mark.parametrize("order", [first, second])
@pytest.mark.parametrize("name", OF_SPARSE)
def test_of_sparse_operands(name, order):
    grad = order(OF_SPARSE[name], scorch.sparse(DENSE).requires_grad_())
    dense = order(OF_SPARSE[name], DENSE.clone().requires_grad_()) if name not in ("csc", "parts") else None
    wanted = torch.zeros(2, 3) if dense is None else torch.where(DENSE != 0, dense, 0)
    assert torch.equal(grad.to_dense(), wanted)


def test_in_transforms():
    A, x = scorch.sparse(DENSE), torch.ones(3)
    hessian = torch.autograd.functional.hessian(lambda x: F.l1_loss(A @ x, torch.zeros(2)), x)
    assert torch.equal(hessian, torch.zeros(3, 3))
    assert torch.equal(torch.func.hessian(lambda x: (A @ x).abs().sum())(x), torch.zeros(3, 3))
    assert torch.equal(torch.func.grad(lambda x: torch.sgn(A @ x).sum())(x), torch.zeros(3))
    grad = torch.func.grad(lambda A: torch.sgn(A).sum())(A)
    assert torch.equal(grad.to_dense(), torch.zeros(2, 3)) and torch.equal((A - grad).to_dense(), DENSE)


def test_of_layers():
    layer, x = scorch.nn.Linear.from_dense(torch.nn.Linear(3, 2)), torch.ones(4, 3, requires_grad=True)
    torch.sgn(layer(x)).sum().backward()
    assert not x.grad.any() and not layer.bias.grad.any()


def test_gradients_in_layouts_of_torch():
    A, x = scorch.sparse(torch.eye(3)).requires_grad_(), torch.ones(3, 2, requires_grad=True)
    index = torch.tensor([[0, 0], [1, 1], [1, 1]])
    torch.gather(A @ x, 0, index, sparse_grad=True).sum().backward()
    assert type(x.grad) is torch.Tensor and x.grad.tolist() == [[1, 1], [2, 2], [0, 0]]
    assert A.grad.values().tolist() == [2, 4, 0]


def test_of_what_is_empty_or_constant():
    A, B = scorch.sparse(torch.zeros(5, 0, 10)).requires_grad_(), scorch.sparse(torch.eye(3)).requires_grad_()
    for made in (A.flip(0), A.roll(1, 0), A.repeat(1, 1, 2), F.pad(A, (1, 1), value=1), torch.fill(A, 0)):
        assert made.requires_grad
    none = torch.zeros(0, 2, dtype=torch.long)
    for made in (A.prod(1), A.prod(1, keepdim=True), torch.gather(A, 0, none), torch.gather(B, 0, none)):
        assert made.requires_grad and torch.equal(made, torch.ones_like(made))
    source, empty = torch.ones(3, 3, requires_grad=True), scorch.sparse(torch.zeros(0, 3))
    writes = (torch.scatter, torch.scatter_add, partial(torch.scatter_reduce, reduce="sum"))
    written = [f(B.detach(), 0, none, src=source) for f in writes]
    for made in (*written, empty ** source[:0], torch.where(empty == 1, source[:0], 0)):
        (grad,) = torch.autograd.grad(made.sum(), source)
        assert torch.equal(grad, torch.zeros(3, 3))
    for made in (torch.fill(B, 0), torch.fill(B, 2), torch.linalg.matrix_power(B, 0)):
        (grad,) = torch.autograd.grad(made.sum(), B)
        assert not grad.to_dense().any()


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_beside_sparse_tensors_of_torch(layout):
    d = torch.tensor([[2.0, 0, 1], [0, 3, 0], [0, 0, 4]])
    a, w = d.to_sparse(layout=layout), torch.tensor([[5.0, 0, 0], [7, 11, 0], [0, 1, 2]])
    for f in (torch.mm, lambda a, X: X @ a, torch.sparse.mm, F.linear, lambda a, X: F.linear(X, a)):
        X, dense = scorch.sparse(w).requires_grad_(), w.clone().requires_grad_()
        (f(a, X) * d).sum().backward()
        (f(d, dense) * d).sum().backward()
        assert torch.equal(X.grad.to_dense(), dense.grad * (w != 0))
        with pytest.raises(NotImplementedError, match="gradients to a sparse tensor of torch"):
            f(a.clone().requires_grad_(), X)

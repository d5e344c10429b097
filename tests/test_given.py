"""Gradients that users give: of any structure and format, dense or sparse."""

import pytest
import torch

import scorch

OTHER = scorch.sparse(torch.tensor([[0, 2, 0, 1], [3, 0, 0, 0], [0, 0, 4, 5], [0, 0, 6, 7.0]]))
FUNCTIONS = {
    "relu": lambda a, b: torch.relu(a),
    "multiple": lambda a, b: 2 * a,
    "square": lambda a, b: a**2,
    "product with a dense tensor": lambda a, b: a * OTHER.to_dense(),
    "sum": lambda a, b: a + b,
    "matrix product": lambda a, b: a @ b,
    "transpose": lambda a, b: a.T,
    "rows": lambda a, b: a[torch.tensor([3, 1])],
    "expression": lambda a, b: scorch.evaluate("C[i,j] = A[i,j] * A[i,j] * B[j,i]", A=a, B=b),
}
DENSE = torch.tensor([[1, 0, 2, 0], [0, 0, -3, 4], [0, 5, 0, 0], [6, 0, 0, 7.0]])


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)", "ell(4)", "csr of band(-1,1) + csr"])
def test_gradients_of_any_structure_may_be_given(format, f):
    """Dense, and in many formats; with entries everywhere, and only where the result has none."""
    a, x = scorch.sparse(DENSE, format).requires_grad_(), DENSE.clone().requires_grad_()
    there = a.detach()._with_values(torch.ones(a.nnz)).to_dense()
    y, wanted_y = f(a, OTHER), f(x, OTHER.to_dense())
    torch.testing.assert_close(y.to_dense(), wanted_y)
    everywhere = torch.randint(1, 9, y.shape, generator=torch.Generator().manual_seed(1)).float()
    for grad in (everywhere, everywhere * (wanted_y == 0), torch.ones(y.shape)):
        (wanted,) = torch.autograd.grad(wanted_y, x, grad, retain_graph=True)
        for given in (
            *(scorch.sparse(grad, form) for form in ("csr", "coo", "csc", "dcsr", "bsr(2,2)")),
            grad,
        ):
            (got,) = torch.autograd.grad(y, a, given, retain_graph=True)
            assert got.format == a.format
            torch.testing.assert_close(got.to_dense(), wanted * there)


def test_a_sparse_gradient_may_be_given_to_a_dense_result():
    a = scorch.sparse(torch.eye(3), "csr").requires_grad_()
    x = torch.ones(3, 2, requires_grad=True)
    (a @ x).backward(scorch.sparse(torch.tensor([[1, 0], [0, 2.0], [0, 0]]), "csr"))
    assert x.grad.tolist() == [[1, 0], [0, 2], [0, 0]] and a.grad.values().tolist() == [1, 2, 0]


def test_batches_of_gradients_that_kernels_cannot_read_are_refused():
    a, x = scorch.sparse(DENSE, "csr"), torch.rand(4, 3, requires_grad=True)
    for f in (lambda x: a @ x, lambda x: scorch.evaluate("C[i,f] = A[i,j] * X[j,f]", A=a, X=x)):
        wanted = torch.autograd.functional.jacobian(f, x)
        with pytest.raises(NotImplementedError, match=r"jacrev"):
            torch.autograd.functional.jacobian(f, x, vectorize=True)
        torch.testing.assert_close(torch.func.jacrev(f)(x), wanted)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_batches_of_derivatives_to_values_say_what_to_use(strategy):
    a = scorch.sparse(DENSE, "csr")
    for f in (lambda b: b @ torch.ones(b.shape[1], 2), lambda b: b.sum()):
        if strategy == "forward-mode" and f(a).dim() == 0:
            continue  # nothing but torch's own, which can
        with pytest.raises(NotImplementedError, match=r"jacrev or jacfwd"):
            torch.autograd.functional.jacobian(
                lambda v: f(scorch.map(a, lambda _: v)),  # noqa: B023
                a.values(),
                vectorize=True,
                strategy=strategy,
            )

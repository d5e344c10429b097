"""Operands that expressions read often in another order than theirs."""

import pytest
import torch

import scorch
from scorch.tensor.sparsetensor import core_of


def _pointwise(name):
    return {"add": torch.add, "sub": torch.sub, "ne": torch.ne, "maximum": torch.maximum, "mul": torch.mul}[
        name
    ]


def _banded(n):
    return torch.ones(n, n, dtype=torch.float64).tril(2).triu(-2).mul_(torch.randn(n, n, dtype=torch.float64))


def _scattered(n):
    return torch.randn(n, n, dtype=torch.float64) * (torch.rand(n, n) < 0.01)


def _bytes_of_csr(a):
    """Of csr derived from a."""
    (size,) = (size for text, size in core_of(a).memory()[1] if text == "csr")
    return size


@pytest.mark.parametrize("make", (_scattered, _banded))
@pytest.mark.parametrize("name", ("add", "sub", "ne", "maximum"))
def test_what_is_read_often_in_another_order_has_values_of_its_own_where_they_lie_apart(make, name):
    """And follows those of the operand, whoever writes to them."""
    f, x = _pointwise(name), make(1200)
    a = scorch.sparse(x, "csr")
    assert torch.equal(f(a, a.T).to_dense(), f(x, x.T))
    read = _bytes_of_csr(a.T)
    core_of(a.T).expect()
    values = a.values()
    for change in (lambda: None, lambda: None, lambda: values.mul_(2), lambda: values.data.add_(1)):
        change()
        x = a.to_dense()
        assert torch.equal(f(a, a.T).to_dense(), f(x, x.T))
    apart = 8 * a._nnz() if make is _scattered else 0
    assert _bytes_of_csr(a.T) == read + apart


def test_results_like_an_operand_that_is_read_often():
    x = _scattered(1200)
    a = scorch.sparse(x, "csr")
    core_of(a).expect(), core_of(a.T).expect()
    for b in (a, a.T):
        for _ in range(3):
            made = scorch.evaluate("C[i,j] = A[i,j] * (B[i,j] + 1)", A=b, B=x, format=b.format)
            torch.testing.assert_close(made.to_dense(), b.to_dense() * (x + 1))
        b = b.detach().requires_grad_()
        (b * b.T).sum().backward()
        torch.testing.assert_close(
            b.grad.to_dense(), 2 * b.detach().to_dense().T * (b.detach().to_dense() != 0)
        )

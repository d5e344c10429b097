"""Small eager calls: what the extension does at once, and what it leaves to Python."""

import pytest
import torch

import scorch
from scorch import _C
from scorch.tensor.sparsetensor import ALONE, HANDLERS

DENSE = torch.tensor([[0.0, 2.0, 0.0], [-1.0, 0.0, 3.0], [0.0, 0.0, -4.0]])


def shares(a, b):
    return all(a.__dict__[n] is b.__dict__[n] for n in a._names[:-1]) and a._fmt == b._fmt


def test_functions_of_one_tensor_ask_no_handler(monkeypatch):
    a = scorch.sparse(DENSE / 8)
    for function in ALONE:
        monkeypatch.delitem(HANDLERS, function)
        made = function(a)
        assert shares(a, made) and made._val.dtype is function(a._val).dtype, function
        torch.testing.assert_close(made.to_dense(), function(DENSE / 8), equal_nan=True)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "bsr(3,3)", "dense"])
def test_values_alone(format):
    a = scorch.sparse(DENSE, format)
    made = _C.on_values(torch.relu, a)
    assert type(made) is type(a) and shares(a, made)
    assert torch.equal(made.to_dense(), DENSE.relu())
    assert torch.equal(_C.on_values(torch.mul, a, 3, 1).to_dense(), DENSE * 3)
    assert torch.equal(_C.on_values(torch.add, a, made, 2).to_dense(), DENSE + DENSE.relu())
    assert torch.equal((made @ DENSE), DENSE.relu() @ DENSE)


def test_what_is_more_than_values():
    a, other = scorch.sparse(DENSE), scorch.sparse(DENSE)
    left = [
        (torch.relu, scorch.sparse(DENSE, "ell(2)")),  # padding
        (torch.relu, scorch.sparse(DENSE).requires_grad_()),
        (torch.relu, DENSE),
        (torch.add, a, other, 2),  # arrays of its own
        (torch.add, a, a, 1),
        (torch.mul, a, 2, 2),
        (torch.mul, a, True, 3),
        (torch.mul, a, DENSE, 3),
    ]
    for args in left:
        assert _C.on_values(*args) is NotImplemented
    with torch.autocast("cpu"):
        assert _C.on_values(torch.relu, a) is NotImplemented
    with torch.no_grad():
        b = scorch.sparse(DENSE).requires_grad_()
        assert not _C.on_values(torch.relu, b).requires_grad


def test_errors_of_functions_are_theirs():
    a = scorch.sparse(DENSE)
    with pytest.raises(ZeroDivisionError):
        _C.on_values(lambda v: 1 / 0, a)


def test_programs_give_tensors_of_the_structure_of_an_operand():
    a, x = scorch.sparse(DENSE), torch.rand(3, 3)
    (made,) = _C.run("C[i,j] = A[i,j] * B[i,j]\tA:2:csr\tB::", (a, x))
    assert isinstance(made, scorch.SparseTensor) and shares(a, made)
    torch.testing.assert_close(made.to_dense(), DENSE * x)
    (text, shape, arrays) = _C.run("C[i,j] = A[i,k] * B[k,j]\tA:2:csr\tB:2:csr", (a, a))[0]
    assert text == "csr" and shape == (3, 3) and len(arrays) == 3


def test_gradient_of_a_product_has_its_structure():
    a, x = scorch.sparse(DENSE).requires_grad_(), torch.rand(3, 2, requires_grad=True)
    to_a, to_x = torch.autograd.grad((a @ x).sum(), (a, x))
    assert shares(a, to_a)
    torch.testing.assert_close(to_a.to_dense(), (torch.ones(3, 2) @ x.T).detach() * (DENSE != 0))
    torch.testing.assert_close(to_x, DENSE.T @ torch.ones(3, 2))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_rows(dtype):
    pos = torch.tensor([0, 2, 2, 5, 9], dtype=dtype)
    cut, low, high = _C.rows(pos, 1, 3)
    assert cut.tolist() == [0, 0, 3] and cut.dtype is dtype and (low, high) == (2, 5)
    for start, stop in ((-1, 2), (2, 1), (0, 5)):
        with pytest.raises(ValueError, match="rows inside"):
            _C.rows(pos, start, stop)


@pytest.mark.parametrize("n", [10, 5000])
def test_slices_of_rows(n):
    a = scorch.sparse(torch.eye(n), "csr")
    assert torch.equal(a[2 : n - 1].to_dense(), torch.eye(n)[2 : n - 1])

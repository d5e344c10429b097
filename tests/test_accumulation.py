"""Gradients that autograd adds up in a ``.grad``, in place, as microbatches do.

Those of tensors whose gradients share values, and gradients that users keep.
"""

import pytest
import torch
import torch.nn.functional as F

import scorch

DENSE = torch.tensor([[0.0, 2, 0, 1], [-1, 0, 3, 0], [0, 0, -4, 2], [0, 0, 0, 0]])
FORMATS = [
    "csr", "csc", "coo", "dcsr", "bsr(2,2)", "ell(2)", "bitmask", "dense", "dia(16)", "sell(4,8)",
    "csr of rows(> 1) + csr",
]  # fmt: skip
FUNCTIONS = {
    "add": lambda a, b, x: a + b,
    "sub": lambda a, b, x: a - b,
    "mul": lambda a, b, x: a * b,
    "scaled": lambda a, b, x: a / 2 + b * 3,
    "itself": lambda a, b, x: a + a - b * b,
    "known": lambda a, b, x: torch.relu(a) + torch.sin(b),
    "others": lambda a, b, x: torch.tanh(a) + torch.expm1(b),
    "maximum": lambda a, b, x: torch.maximum(a, b),
    "identity": lambda a, b, x: a,
    "transposes": lambda a, b, x: a.T + b.T,
    "copies": lambda a, b, x: a.clone() + b.clone(),
    "conversions": lambda a, b, x: a.convert("coo") + b.convert("coo"),
    "types": lambda a, b, x: a.double() + b.double(),
    "maps": lambda a, b, x: scorch.map(a, torch.clone) + scorch.map(b, torch.clone),
    "values": lambda a, b, x: a.values() + b.values(),
    "dense": lambda a, b, x: a.to_dense() + b.to_dense() + x,
    "mixed": lambda a, b, x: a * x + b,
    "rows": lambda a, b, x: a[:3] + b[:3],
    "joined": lambda a, b, x: torch.cat([a, b]),
    "reshaped": lambda a, b, x: (a + b).reshape(2, 8),
    "softmax": lambda a, b, x: torch.softmax(a, 1) + b,
    "product": lambda a, b, x: (a + b) @ x,
    "sparse product": lambda a, b, x: a @ b,
    "einsum": lambda a, b, x: scorch.einsum("ij,jk->ik", a + b, x),
    "linear": lambda a, b, x: F.linear(x, a, x[0]) + F.linear(x, b),
    "sums": lambda a, b, x: a.sum(0) + b.sum(0) + x,
}


def operands(format):
    """Two tensors, of one structure where that is for csr, and a dense one."""
    a = scorch.sparse(DENSE).convert(format)
    b = scorch.map(a, lambda v: v * 2) if "+" not in format else scorch.sparse(DENSE * 2).convert(format)
    return [a.requires_grad_(), b.requires_grad_(), torch.arange(16.0).view(4, 4).requires_grad_()]


def plain(x):
    return x.to_dense() if scorch.is_sparse(x) else x


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_add_up(name, format):
    f, given = FUNCTIONS[name], operands(format)
    y = f(*given)
    ones = scorch.map(y.detach(), torch.ones_like) if scorch.is_sparse(y) else torch.ones_like(y)
    before = ones.clone()
    one = torch.autograd.grad(y, given, before, allow_unused=True)
    for _ in range(3):
        f(*given).backward(ones)
        plain(f(*given)).sum().backward()
    assert torch.equal(plain(ones), plain(before))
    for x, grad in zip(given, one, strict=True):
        if grad is not None:
            torch.testing.assert_close(plain(x.grad), 6 * plain(grad))


@pytest.mark.parametrize("format", ["csr", "ell(3)", "sell(4,8)", "dia(16)", "csr of rows(> 2) + ell(2)"])
@pytest.mark.parametrize("name", ["softmax", "sqrt", "power", "map"])
def test_padding_has_no_gradient(name, format):
    """Where nothing is stored these have derivatives that are not finite."""
    f = {
        "softmax": lambda a: torch.softmax(a, 1),
        "sqrt": torch.sqrt,
        "power": lambda a: a**0.5,
        "map": lambda a: scorch.map(a, torch.rsqrt),
    }[name]
    dense = torch.tensor([[1.0, 2, 0, 0], [0, 3, 0, 0], [4, 0, 5, 6]])
    a = torch.nn.Parameter(scorch.sparse(dense, format=format))
    f(a).square().sum().backward()
    grad = a.grad.clone()
    assert grad.values().isfinite().all()
    norm = torch.nn.utils.clip_grad_norm_([a], 1e-3, foreach=True)
    torch.testing.assert_close(norm, grad.to_dense().norm())
    before, scaler = a.detach().to_dense(), torch.amp.GradScaler("cpu", init_scale=16.0)
    a.grad, optimizer = None, torch.optim.SGD([a], lr=0.1)
    scaler.scale(f(a).square().sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 16 and not torch.equal(a.detach().to_dense(), before)

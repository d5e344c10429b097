"""Products of two sparse matrices that are many: their structure is kept, for the operands that have it."""

import gc
import weakref

import pytest
import torch

import scorch
from scorch.functions import pairs

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int32, torch.int64)


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    monkeypatch.setattr(pairs, "_FEW", 0)


def numbers(rows: int, columns: int, share: float = 0.2, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Small whole numbers, whose sums are exact."""
    x = torch.randint(1, 4, (rows, columns)) * torch.randint(0, 2, (rows, columns)).mul(2).sub(1)
    return (x * (torch.rand(rows, columns) < share)).to(dtype)


def often(x: torch.Tensor, format: str = "csr") -> scorch.SparseTensor:
    """x, of which it is known that it is multiplied often."""
    return scorch.sparse(x, format=format).optimize(calls=16)


def kept(a: scorch.SparseTensor) -> list[str]:
    return [name for name in a.memory()["derived"] if "product" in name]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("format", ["csr", "csc", "dcsr"])
def test_values_are_computed_anew(format, dtype):
    x, y = numbers(40, 30, dtype=dtype), numbers(30, 50, dtype=dtype)
    a, b = often(x, format), scorch.sparse(y, format=format)
    first = a @ b
    a @ b
    again = a @ b
    assert torch.equal(first.to_dense(), x @ y) and torch.equal(again.to_dense(), x @ y)
    assert again.dtype == first.dtype and again.format == first.format and again.nnz == first.nnz
    a.values().mul_(2)
    b.values().mul_(-1)
    assert torch.equal((a @ b).to_dense(), -2 * (x @ y))
    assert torch.equal(again.to_dense(), x @ y), "an earlier result is its own"


def test_it_is_kept_and_dropped():
    x = numbers(200, 200)
    a = often(x)
    a @ a
    assert not kept(a), "there may be another right operand each time"
    a @ a
    assert kept(a) == ["structure of a product with [200, 200]"]
    a.release()
    assert not kept(a) and torch.equal((a @ a).to_dense(), x @ x)


def test_products_are_counted(monkeypatch):
    monkeypatch.setattr(pairs, "_MANY", 3 * (numbers(60, 60) @ numbers(60, 60)).numel())
    a = scorch.sparse(numbers(60, 60, 0.3))
    for _ in range(2):
        a @ a
    assert not kept(a)
    for _ in range(4):
        a @ a
    assert kept(a)


def test_tensors_of_one_structure_share_it():
    x, y = numbers(50, 50), numbers(50, 50)
    a = scorch.sparse(x).optimize(calls=[lambda a: a @ a])
    other = a._with_values(2 * a.values())
    assert kept(other) and torch.equal((other @ a).to_dense(), 2 * (x @ x))
    assert torch.equal((a @ scorch.sparse(y)).to_dense(), x @ y), "another operand on the right"
    assert torch.equal((a @ a.T).to_dense(), x @ x.T) and torch.equal((a.T @ a).to_dense(), x.T @ x)
    assert torch.equal((a @ a.T).to_dense(), x @ x.T) and torch.equal((a.T @ a).to_dense(), x.T @ x)


@pytest.mark.parametrize("whose", ["left", "right", "result"])
def test_a_write_to_indices_is_seen(whose):
    x, y = torch.eye(5), torch.eye(5)
    a, b = often(x), scorch.sparse(y)
    made = [a @ b for _ in range(3)][-1]
    {"left": a, "right": b, "result": made}[whose]._arrays()[1].copy_(torch.tensor([4, 3, 2, 1, 0]))
    want = torch.eye(5) if whose == "result" else torch.eye(5).flip(1)
    for _ in range(3):
        assert torch.equal((a @ b).to_dense(), want)


def test_many_operands_on_the_right():
    x = numbers(30, 30)
    a = often(x)
    for k in range(3 * pairs._PAIRS):
        y = numbers(30, 20 + k)
        b = scorch.sparse(y)
        for _ in range(3):
            assert torch.equal((a @ b).to_dense(), x @ y)
    assert len(kept(a)) <= pairs._PAIRS


def test_nothing_lives_longer():
    a, b = often(numbers(30, 30)), scorch.sparse(numbers(30, 30))
    for _ in range(3):
        a @ b, a @ a
    gone = weakref.ref(a._arrays()[1]), weakref.ref(b._arrays()[1])
    del b
    gc.collect()
    assert gone[1]() is None
    del a
    gc.collect()
    assert gone[0]() is None


def test_gradients():
    x, y = numbers(30, 30, dtype=torch.float64), numbers(30, 30, dtype=torch.float64)
    b = scorch.sparse(y)
    a = scorch.sparse(x).optimize(calls=[lambda a: a @ b, lambda a: a @ a])
    assert len(kept(a)) == 1
    weight = numbers(30, 30, 1, dtype=torch.float64)
    for _ in range(2):
        u, v = (t.detach().requires_grad_() for t in (a, b))
        ((u @ v).to_dense() * weight).sum().backward()
        assert torch.equal(u.grad.to_dense(), (weight @ y.T) * (x != 0))
        assert torch.equal(v.grad.to_dense(), (x.T @ weight) * (y != 0))
    free = torch.rand(a.nnz, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda p: (a._with_values(p) @ b).values(), free)
    assert torch.autograd.gradgradcheck(lambda p: (a._with_values(p) @ a._with_values(p)).values(), free)


def test_transforms_and_modes():
    x = numbers(20, 20)
    a = scorch.sparse(x).optimize(calls=[lambda a: a @ a])
    p = a.values().clone()
    f = lambda v: (a._with_values(v) @ a).values().sum()  # noqa: E731
    assert torch.allclose(torch.func.grad(f)(p), torch.autograd.functional.jacobian(f, p))
    with torch.inference_mode():
        made = a @ a
    assert torch.equal(made.to_dense(), x @ x)
    compiled = torch.compile(lambda a: (a @ a).to_dense(), backend="aot_eager")
    assert torch.equal(compiled(a), x @ x)
    with torch.inference_mode():
        b = often(x)
        assert torch.equal((b @ b).to_dense(), x @ x) and torch.equal((b @ b).to_dense(), x @ x)


def test_values_that_are_not_finite():
    """A structure says where sums have terms: what is no number elsewhere does not reach them."""
    x = torch.tensor([[1.0, 0, float("inf")], [0, 2, 0], [0, 0, 0]])
    a = often(x)
    first, *_, last = [(a @ a).to_dense() for _ in range(3)]
    assert kept(a) and torch.equal(first, last)
    a.values()[0] = float("nan")
    assert (a @ a).to_dense()[0, 0].isnan() and (a @ a).to_dense()[1, 1] == 4


@pytest.mark.parametrize(
    "format", ["dense(0), dense(1)", "coo", "ell(30)", "bsr(5,5)", "bsr(5,5) of blocks(5,5,0.5) + csr"]
)
def test_other_formats(format):
    x, y = numbers(20, 30, 0.1), numbers(30, 20)
    a, b = often(x, format), scorch.sparse(y)
    for _ in range(3):
        assert torch.equal((a @ b).to_dense(), x @ y) and torch.equal((b @ a).to_dense(), y @ x)


def test_large_results_are_not_kept_unasked(monkeypatch):
    monkeypatch.setattr(pairs, "_MANY", 1)
    row, column = scorch.sparse(torch.ones(300, 1)), scorch.sparse(torch.ones(1, 300))
    for _ in range(3):
        assert (row @ column).nnz == 300 * 300
    assert not kept(row)

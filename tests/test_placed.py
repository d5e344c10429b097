"""Entries under other coordinates: sorted and packed by the extension at once, or with arrays they had."""

import itertools

import pytest
import torch
import torch.nn.functional as F

import scorch
from scorch.functions import pointwise

TURNS = {
    "flip": lambda x: x.flip(0, 2),
    "roll": lambda x: x.roll((1, -2), (0, 2)),
    "roll all": lambda x: x.roll(5),
    "repeat": lambda x: x.repeat(2, 1, 3),
    "cat": lambda x: torch.cat([x, x.flip(1)], 1),
    "pad": lambda x: F.pad(x, (1, -1, 0, 2)),
    "reshape": lambda x: x.reshape(x.shape[0] * x.shape[1], -1),
    "diagonal": lambda x: x[:, :, :4].diagonal(0, 0, 2),
}
TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.bool]


def numbers(shape, dtype=torch.float32, seed=0):
    torch.manual_seed(seed)
    x = torch.randint(-3, 4, shape) * (torch.rand(shape) < 0.4)
    return x.to(dtype)


@pytest.mark.parametrize("format", ["csf", "coo", "csr", "dense(0), compressed(1), dense(2)"])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("turn", TURNS)
def test_turns_of_three_dimensions_are_those_of_the_dense_tensor(turn, dtype, format):
    x = numbers((4, 3, 6), dtype)
    a = scorch.sparse(x, format=format, index_dtype=torch.int64 if dtype == torch.int64 else None)
    made = TURNS[turn](a)
    assert made.dtype == dtype and torch.equal(made.to_dense(), TURNS[turn](x))
    if turn != "reshape":  # which is a view of a dense tensor, too
        made.values().zero_()
        assert torch.equal(a.to_dense(), x)


@pytest.mark.parametrize("turn", TURNS)
def test_turns_are_differentiable(turn):
    x = numbers((4, 3, 6), torch.float64)
    a, d = scorch.sparse(x, format="csf").requires_grad_(), x.clone().requires_grad_()
    weight = torch.rand_like(TURNS[turn](x))
    (TURNS[turn](a) * weight).sum().backward()
    (TURNS[turn](d) * weight).sum().backward()
    torch.testing.assert_close(a.grad.to_dense(), d.grad * (x != 0))


def test_nothing_is_stored():
    for turn in TURNS.values():
        x = torch.zeros(4, 3, 6)
        assert torch.equal(turn(scorch.sparse(x, format="csf")).to_dense(), turn(x))


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_matrices_among_empty_rows_and_columns(format):
    x = numbers((5, 4))
    a = scorch.sparse(x, format=format)
    for pad in itertools.product((-2, -1, 0, 3), repeat=4):
        if pad[0] + pad[1] <= -4 or pad[2] + pad[3] <= -5:
            continue
        made = F.pad(a, pad)
        assert made.format == a.format and torch.equal(made.to_dense(), F.pad(x, pad))
        made.values().zero_()
        assert torch.equal(a.to_dense(), x)
    a.requires_grad_()
    F.pad(a, (1, -2, 0, 2)).sum().backward()
    assert a.grad.to_dense()[:, :2].equal(x[:, :2].bool().float()) and not a.grad.to_dense()[:, 2:].any()


@pytest.mark.parametrize("step", [2, 3, 7, 50])
@pytest.mark.parametrize("columns", [40, 4000])  # in a table, or too many for one
def test_columns_of_a_range_with_steps(step, columns):
    x = numbers((6, columns)) * (torch.rand(columns) < 20 / columns)
    for format in ("csr", "csc", "coo"):
        a = scorch.sparse(x, format=format)
        assert torch.equal(a[:, 1::step].to_dense(), x[:, 1::step])
        assert torch.equal(a[::2, 5 : columns - 3 : step].to_dense(), x[::2, 5 : columns - 3 : step])


@pytest.mark.parametrize("order", ["as they come", "ascending", "all alike"])
def test_sums_over_what_is_listed_in_any_order(order):
    x = numbers((5, 6, 7), torch.float64)
    a = scorch.sparse(x, format="csf")
    dims = {"as they come": 0, "ascending": -1, "all alike": (0, 1)}[order]
    for of in (a, scorch.sparse(x, format="coo")):
        made = of.sum(dims)
        assert torch.equal(made.to_dense() if scorch.is_sparse(made) else made, x.sum(dims))


def test_lists_of_a_tree_have_its_values():
    a = scorch.sparse(numbers((4, 3, 6)), format="csf")
    coo = a.convert("coo")
    assert coo.values().data_ptr() == a.values().data_ptr()
    assert torch.equal(coo.indices(), a.indices()) and torch.equal(
        coo.convert("csf").to_dense(), a.to_dense()
    )
    assert a.indices().dtype == a.index_dtype


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "bsr(1,4)"])
def test_products_of_kronecker_keep_the_format(format):
    x, y = numbers((5, 4)), numbers((3, 4), seed=1)
    for a, b in ((scorch.sparse(x, format=format), scorch.sparse(y, format="coo")), (torch.eye(3), None)):
        b = scorch.sparse(y, format=format) if b is None else b
        dense = a.to_dense() if scorch.is_sparse(a) else a
        made = torch.kron(a, b)
        assert made.format == scorch.Format(format) and torch.equal(made.to_dense(), torch.kron(dense, y))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "ell(7)", "bsr(1,7)"])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_comparisons_that_hold_of_zero(dtype, format, monkeypatch):
    monkeypatch.setattr(pointwise, "_VAST", 0)
    x = numbers((5, 7), dtype) * (torch.rand(5, 7) < 0.5)
    a = scorch.sparse(x, format=format)
    double = torch.tensor(0.0, dtype=torch.float64)
    for f in (lambda t: t <= 0.5, lambda t: t == 0, lambda t: t <= -1, lambda t: t >= double):
        assert f(a).dtype == torch.bool and torch.equal(f(a), f(x))


def test_comparisons_of_sums(monkeypatch):
    monkeypatch.setattr(pointwise, "_VAST", -1)
    form, pos = "compressed(0, nonunique), singleton(1, nonunique)", torch.tensor([0, 3])
    crd = [torch.tensor([0, 0, 1]), torch.tensor([1, 1, 2])]
    a = scorch.from_components(form, (2, 9), [pos, None], crd, torch.tensor([0.3, 0.4, 1.0]))
    assert (~(a <= 0.5)).nonzero().tolist() == [[0, 1], [1, 2]]


def test_comparisons_that_are_too_large_say_what_to_do():
    a = scorch.coo(torch.randint(10**6, (2, 100)), torch.rand(100), (10**6, 10**6))
    with pytest.raises(MemoryError, match=r"scorch.evaluate computes it beside others"):
        torch.le(a, 0.5)

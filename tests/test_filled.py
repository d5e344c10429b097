"""Products of a matrix of few zeros, which are those of a dense one where that is faster."""

import threading

import pytest
import torch
import torch.nn.functional as F

import scorch
from scorch.tensor.sparsetensor import core_of

SIDE = 320
KINDS = {
    "A @ x": lambda a, x: a @ x.mT,
    "x @ A": lambda a, x: x @ a,
    "linear": lambda a, x: F.linear(x, a),
    "A.T @ x": lambda a, x: a.T @ x.mT,
    "linear with a bias": lambda a, x: F.linear(x, a, torch.arange(SIDE, dtype=x.dtype)),
}


def matrix(dtype=torch.float32, share=0.75, seed=0, rows=SIDE):
    g = torch.Generator().manual_seed(seed)
    kept = torch.rand(rows, SIDE, generator=g) < share
    return torch.randint(1, 4, (rows, SIDE), generator=g).to(dtype) * kept


def many(d, format="csr"):
    a = scorch.sparse(d, format=format)
    core_of(a).expect()
    return a


def rows(n, dtype=torch.float32, seed=1):
    return torch.randint(-3, 4, (n, SIDE), generator=torch.Generator().manual_seed(seed)).to(dtype)


def filled(a):
    return "dense" in a.memory()["derived"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("n", [1, 2, 64])
def test_both_ways_are_the_same(kind, format, dtype, n):
    d, x = matrix(dtype), rows(n, dtype)
    a, want = many(d, format), KINDS[kind](d, x)
    seen = False
    for _ in range(16):
        torch.testing.assert_close(KINDS[kind](a, x), want, rtol=0, atol=0)
        seen |= filled(a)
    # A.T is a tensor of its own each time, and a row with a bias is one kernel
    assert seen or kind == "A.T @ x" or (n == 1 and "bias" in kind)


@pytest.mark.parametrize("bad", [torch.inf, -torch.inf, torch.nan])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_finite_meets_entries_alone(kind, bad):
    d, x = matrix(), rows(8)
    x[3, 5] = bad
    a = many(d)
    few = scorch.sparse(d, format="csr")
    want = KINDS[kind](few, x)
    assert want.isnan().sum() < KINDS[kind](d, x).isnan().sum() or bad != bad
    for _ in range(16):
        torch.testing.assert_close(KINDS[kind](a, x), want, rtol=0, atol=0, equal_nan=True)


def test_values_that_change_are_seen():
    d, x = matrix(), rows(16)
    a = many(d)
    for turn in range(24):
        if turn % 3 == 1:
            a.values().mul_(-1)
            d = -d
        elif turn % 3 == 2:
            a.values().numpy()[0] += 1  # torch does not count it
            first = d[0].nonzero()[0, 0]
            d[0, first] += 1
        torch.testing.assert_close(F.linear(x, a), F.linear(x, d), rtol=0, atol=0)


def test_tensors_of_one_structure():
    d, x = matrix(), rows(16)
    a = many(d)
    for k in range(20):
        b = a * (k + 1)
        torch.testing.assert_close(F.linear(x, b), F.linear(x, d * (k + 1)), rtol=0, atol=0)
        torch.testing.assert_close(
            F.linear(x.double(), b.double()), F.linear(x.double(), d.double() * (k + 1))
        )


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    d, x = matrix(torch.float64), rows(16, torch.float64)
    a = many(d).requires_grad_()
    for _ in range(16):
        y, z = x.clone().requires_grad_(), x.clone().requires_grad_()
        w = d.clone().requires_grad_()
        a.grad = None
        KINDS[kind](a, y).square().sum().backward()
        KINDS[kind](w, z).square().sum().backward()
        torch.testing.assert_close(y.grad, z.grad)
        torch.testing.assert_close(a.grad.to_dense(), w.grad * (d != 0))


def test_a_layer_is_trained():
    torch.manual_seed(0)
    layer = torch.nn.Linear(SIDE, SIDE, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.mul_(matrix(torch.float64) != 0)
    twin = scorch.nn.Linear.from_dense(layer)
    core_of(twin._over(twin.values)).expect()
    mask = layer.weight.detach() != 0
    ours, theirs = (torch.optim.Adam(m.parameters(), lr=1e-2) for m in (twin, layer))
    for _ in range(14):
        x = torch.randn(16, SIDE, dtype=torch.float64)
        for m, o in ((twin, ours), (layer, theirs)):
            o.zero_grad()
            m(x).square().mean().backward()
            if m is layer:
                m.weight.grad *= mask
            o.step()
    torch.testing.assert_close(twin.weight.to_dense(), layer.weight.detach())


def test_optimize_compares_and_plan_says_so():
    a, x = scorch.sparse(matrix(), format="csr"), rows(64).mT.contiguous()
    assert "dense matrix" not in a.plan(64)
    calls = []
    a.optimize(calls=[lambda a: calls.append(a @ x)])
    assert len(calls) > 12
    assert "as the dense matrix" in a.plan(64) and a.plan(64).steps[0].text == "out[i,k] = A[i,j] * B[j,k]"


def test_what_is_to_repeat_does():
    d, x = matrix() * 0.1, rows(64) * 0.1
    a = many(d)
    torch.use_deterministic_algorithms(True)
    try:
        first = F.linear(x, a)
        assert all(torch.equal(F.linear(x, a), first) for _ in range(20))
    finally:
        torch.use_deterministic_algorithms(False)
    assert not filled(a)


@pytest.mark.parametrize("n", [0, 3])
def test_of_other_formats_and_of_no_rows(n):
    d, x = matrix(), rows(n)
    for format in ("coo", "dense", "bitmask", "bsr(2,2)", "sell(8,64)", "ell(320)", "dcsr"):
        a = many(d, format)
        for _ in range(14):
            torch.testing.assert_close(F.linear(x, a), F.linear(x, d), rtol=0, atol=0)


def test_few_entries_have_no_dense_matrix():
    d, x = matrix(share=0.1), rows(64)
    a = many(d)
    for _ in range(16):
        torch.testing.assert_close(F.linear(x, a), F.linear(x, d), rtol=0, atol=0)
    assert not filled(a)


def test_release_drops_it_and_threads_share_it():
    d, x = matrix(), rows(64)
    a, wrong = many(d), []
    want = F.linear(x, d)

    def work():
        for _ in range(30):
            if not torch.equal(F.linear(x, a), want):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for _ in range(20):
        a.release()
        core_of(a).expect()
    for t in threads:
        t.join()
    assert not wrong
    a.release()
    assert not filled(a)


def test_rows_that_lie_apart():
    d = matrix()
    a, wide = many(d), rows(64, seed=3)
    views = [
        wide[::2],
        wide.mT.contiguous().mT,
        wide[:, :],
        torch.cat([wide, wide], 1)[:, :SIDE],
        wide[:1].expand(8, -1),
    ]
    for _ in range(14):
        for x in views:
            torch.testing.assert_close(F.linear(x, a), F.linear(x, d), rtol=0, atol=0)
            torch.testing.assert_close(a @ x.mT, d @ x.mT, rtol=0, atol=0)

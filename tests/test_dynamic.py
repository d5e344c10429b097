"""Dense tensors whose zeros are found in the call: every way gives what dense does, and so do gradients."""

import itertools
import pickle

import pytest
import torch
import torch._dynamo.testing
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

import scorch
from scorch import _C
from scorch.functions import ways

SHAPES = [(1, 600, 40), (9, 300, 64), (70, 130, 150), (64, 128, 1), (200, 90, 260)]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Products of a test are short, so all of them are looked at."""
    monkeypatch.setattr(ways, "_SHORT", 0)
    ways._known.clear()


def integers(*shape: int, zeros: float = 0, dtype=torch.float32, seed: int = 0) -> torch.Tensor:
    """Small integers: every order of summation gives the same floats."""
    g = torch.Generator().manual_seed(seed + sum(shape))
    x = torch.randint(1, 4, shape, generator=g) * (1 - 2 * torch.randint(0, 2, shape, generator=g))
    return (x * (torch.rand(shape, generator=g) >= zeros)).to(dtype)


def know(x: torch.Tensor, w: torch.Tensor, **seconds: float) -> None:
    """What a product takes; a dense row 1 second, and a row that is picked as long."""
    speeds = {"row": 1.0, "scan": 0.0, "look": 0.0, "value": 1e9, "passed": 0.0, "picked": 1.0} | seconds
    ways._known[ways._key(x, w, False)] = ways._Shape([ways._dense], ways.Speeds(ways._dense, **speeds))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("zeros", [0.0, 0.6, 0.97, 1.0])
def test_every_way_is_the_dense_product(shape, zeros, dtype):
    m, k, n = shape
    x, w, g = (
        integers(m, k, zeros=zeros, dtype=dtype),
        integers(k, n, dtype=dtype),
        integers(m, n, dtype=dtype),
    )
    x[: m // 2] = 0
    for a, wanted, turned in ((w, x @ w, False), (g, x.T @ g, True)):
        found = [way(x, a, turned) for way in (ways._dense, ways._by_values, ways._by_rows)]
        if dtype is torch.float32:
            found.append(ways._by_library(x, a, turned))
        assert all(torch.equal(y, wanted) for y in found)
    assert torch.equal(scorch.dynamic(x) @ w, x @ w)
    assert torch.equal(w.T @ scorch.dynamic(x.T.contiguous()), w.T @ x.T)


def test_the_cheapest_way_is_taken(monkeypatch):
    """By what is known of a shape, not by what is measured here."""
    x, w = integers(64, 100, zeros=0.9), integers(100, 32)
    taken = []
    for name in ("_dense", "_by_values", "_by_rows"):
        way = getattr(ways, name)
        monkeypatch.setattr(ways, name, lambda *a, name=name, way=way: taken.append(name) or way(*a))
    count = int(x.count_nonzero())

    def run(row: float, value: float, x=x, scan=0.0) -> str:
        taken.clear()
        know(x, w, row=row, scan=scan, value=value)
        assert torch.equal(scorch.dynamic(x) @ w, x @ w)
        return taken[-1]

    assert run(1.0, 0.5 * 64 / count) == "_by_values" and scorch.dynamic(x).way(w) == "values"
    assert run(1.0, 4 * 64 / count) == "_dense"
    assert run(1.0, 0.5 * 64 / count, scan=0.3) == "_by_values"
    assert run(1.0, 0.5 * 64 / count, scan=0.8) == run(1.0, 1e-9, scan=1.1) == "_dense"
    few = x.clone()
    few[8:] = 0
    assert run(1.0, 100 * 64 / count, few) == "_by_rows"
    assert run(1.0, 1e-9, integers(64, 100, zeros=0.2)) == "_dense"


@pytest.mark.parametrize("shape", [(100_000, 17, 16), (512, 64, 64), (1000, 300, 80)])
def test_rows_are_picked_where_that_pays(shape):
    """By what it takes to find them and to pick each, not by what a product of them takes."""
    m, k, n = shape
    x, w = integers(m, k), integers(k, n)
    for share, passed, picked, wanted in (
        (0.8, 0.0, 1.0, "rows"),
        (0.8, 0.9, 1.0, "dense"),
        (0.8, 0.0, 6.0, "dense"),
        (0.95, 0.3, 6.0, "rows"),
        (0.95, 1.1, 1.0, "dense"),
        (1.0, 0.9, 6.0, "rows"),
        (1.0, 1.1, 6.0, "dense"),
    ):
        some = x.clone()
        some[int(m * (1 - share)) :] = 0
        know(some, w, passed=passed, picked=picked, scan=2.0)
        assert scorch.dynamic(some).way(w) == wanted, (share, passed, picked)
    know(x, w, passed=0.0, picked=1e-9)
    scattered = integers(m, k, zeros=0.97)
    census = _C.census(scattered, 1)
    assert scorch.dynamic(scattered).way(w) == ("rows" if census[1] < 0.9 * m else "dense")


def test_what_picking_rows_takes_is_measured(monkeypatch):
    took = {"_full": 3.0, "_at_none": 2.0, "_at_half": 52.0}
    monkeypatch.setattr(ways, "_times", lambda run, *_: [took.get(way.__name__, 80.0) for way in run])
    x, w = integers(100, 40, zeros=0.95), integers(40, 20)
    x[10:] = 0
    assert scorch.dynamic(x).way(w) == "rows"
    (known,) = ways._known.values()
    assert known.speeds.passed == 0.05 and known.speeds.picked == 1.0


def test_a_machine_that_was_busy_is_measured_again(monkeypatch):
    """What was slow when it was measured first is found to be fast at the eighth product, and stays so."""
    slow, fast = {"_by_values": 900.0}, {"_by_values": 20.0, "_listed": 1.0, "_looked": 1.0}
    took = [slow]
    monkeypatch.setattr(ways, "_times", lambda run, *_: [took[0].get(way.__name__, 80.0) for way in run])
    x, w = integers(100, 40, zeros=0.95), integers(40, 20)
    h = scorch.dynamic(x)
    assert [h.way(w) for _ in range(6)] == ["dense"] * 6
    took[0] = fast
    assert [h.way(w) for _ in range(2)] == ["dense", "values"]
    took[0] = slow
    assert [h.way(w) for _ in range(60)] == ["values"] * 60


def test_rows_that_are_more_than_the_sample_said(monkeypatch):
    """They are taken densely from that number on from which it is faster."""
    x, w = integers(512, 256), integers(256, 32)
    x[500:] = 0
    monkeypatch.setattr(_C, "glance", lambda *_: (32, 1, 256))
    at = []
    for name in ("_dense", "_at_rows"):
        way = getattr(ways, name)
        monkeypatch.setattr(ways, name, lambda *a, name=name, way=way: at.append(name) or way(*a))
    for picked, wanted in ((1.0, "_at_rows"), (2.0, "_dense")):
        know(x, w, picked=picked)
        assert torch.equal(scorch.dynamic(x) @ w, x @ w) and at.pop() == wanted


def test_a_sample_that_misleads_is_found_out(monkeypatch):
    """The rows of the sample are zero, all others full: values are counted no further than they may pay."""
    x, w = integers(512, 256), integers(256, 32)
    monkeypatch.setattr(_C, "glance", lambda *_: (32, 1, 5))
    know(x, w, value=100 * 512 / x.numel())
    monkeypatch.setattr(ways, "_by_rows", ways._dense)
    core = []
    few = _C.few
    monkeypatch.setattr(_C, "few", lambda *a: core.append(few(*a)) or core[-1])
    know(x, w, value=10 * 512 / x.numel())
    monkeypatch.setattr(_C, "glance", lambda *_: (32, 32, 5))
    assert torch.equal(scorch.dynamic(x) @ w, x @ w)
    assert core == [None]


def test_a_glance_takes_plain_matrices_that_fit():
    x, w = integers(64, 300, zeros=0.9), integers(300, 40)
    assert _C.glance(x, w, 0, 0) == _C.census(x, 0) and _C.glance(x, w.T.contiguous().T, 0, 0) == _C.census(
        x, 0
    )
    short = x.numel() * w.shape[1] + 8 * w.numel()
    assert _C.glance(x, w, short, 8)[0] and _C.glance(x, w, short + 1, 8) == (0, 0, 0)
    assert _C.glance(x[:0], w, 0, 0) == (0, 0, 0)
    wide = torch.zeros(300, 80)
    for other in (w[:200], w[0], w.double(), wide[:, ::2], w.expand(3, 300, 40), w.to("meta"), w.tolist()):
        assert _C.glance(x, other, 0, 0) is None
    for other in (x[:, ::2], x[0], x[0].expand(64, 300), torch._neg_view(x), scorch.sparse(x)):
        assert _C.glance(other, w, 0, 0) is None
    assert _C.glance(x, torch.nn.Parameter(w), 0, 0) is None
    with torch.no_grad():
        assert _C.glance(x, torch.nn.Parameter(w), 0, 0) == _C.census(x, 0)
    with torch.autocast("cpu"):
        assert _C.glance(x, w, 0, 0) is None
    assert torch.vmap(lambda a: a * (_C.glance(a, w, 0, 0) is None))(x[None]).equal(x[None])


def test_products_at_once_are_those_of_other_entries(monkeypatch):
    x, w, bias = integers(64, 300, zeros=0.9), integers(300, 40), integers(40)
    h = scorch.dynamic(x)
    calls = [lambda: h @ w, lambda: torch.matmul(h, w), lambda: F.linear(h, w.T, bias), lambda: h.mm(w)]
    at_once = [f() for f in calls]
    monkeypatch.setattr(_C, "glance", lambda *_: None)
    for y, f in zip(at_once, calls, strict=True):
        assert torch.equal(y, f())


class Tagged(torch.Tensor):
    """A class that computes as torch.Tensor does."""


def test_what_has_no_numbers_to_look_at_is_multiplied_densely():
    x, w = integers(64, 300, zeros=0.9), integers(300, 40)
    y = scorch.dynamic(x.as_subclass(Tagged)) @ w
    assert type(y) is Tagged and torch.equal(y, x @ w)
    assert (scorch.dynamic(x.to("meta")) @ w.to("meta")).shape == (64, 40)
    assert not (scorch.dynamic(torch._efficientzerotensor(64, 300)) @ w).any()


def test_the_node_of_torch_fx_is_the_function():
    graph = torch.fx.symbolic_trace(lambda x, w: scorch.dynamic(x) @ w).graph
    assert scorch.dynamic in [node.target for node in graph.nodes]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_values_are_counted(dtype):
    for shape, step in itertools.product([(1, 1), (3, 70), (130, 4100), (40, 0), (0, 5)], (1, 7)):
        x = integers(*shape, zeros=0.7).to(dtype)
        seen, rows, values = _C.census(x, step)
        assert seen == -(-shape[0] // step)
        if step == 1:
            assert (rows, values) == (int((x != 0).any(1).sum()), int((x != 0).sum()))
            assert _C.census(x.T, 1)[2] == values
            assert _C.few(x, values) is not None
            assert not values or _C.few(x, values - 1) is None


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_halves(dtype):
    x, w = integers(30, 40, zeros=0.95, dtype=dtype), integers(40, 20, dtype=dtype)
    assert torch.equal(scorch.dynamic(x) @ w, x @ w)


# ---- gradients ----
@pytest.mark.parametrize("mask", [False, True])
def test_gradients_are_those_of_the_dense_product(mask):
    x, w = integers(40, 30, zeros=0.9, dtype=torch.float64), integers(30, 20, dtype=torch.float64)
    valid = torch.rand(40, generator=torch.Generator().manual_seed(0)) < 0.3
    by = valid if mask else "nonzero"
    found, wanted = [], []
    for product, out in (
        (lambda x, w: scorch.dynamic(x, by=by) @ w, found),
        (lambda x, w: (x * valid[:, None] if mask else x) @ w, wanted),
    ):
        a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
        y = product(a, b)
        first = torch.autograd.grad((y**2).sum(), (a, b), create_graph=True)
        out += [y, *first, *torch.autograd.grad(sum((g**2).sum() for g in first), (a, b))]
    assert all(torch.equal(f, w) for f, w in zip(found, wanted, strict=True))
    by = valid[:9] if mask else "nonzero"
    a, b = x[:9].clone().requires_grad_(), w[:, :5].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: scorch.dynamic(a, by=by) @ b, (a, b))


def test_training_a_feed_forward_network():
    def losses(wrap):
        torch.manual_seed(0)
        first, second = torch.nn.Linear(16, 64).double(), torch.nn.Linear(64, 4).double()
        x, y = torch.randn(50, 16).double(), torch.randn(50, 4).double()
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], 0.05)
        for _ in range(5):
            optimizer.zero_grad()
            loss = F.mse_loss(second(wrap(first(x).relu())), y)
            loss.backward()
            optimizer.step()
            yield float(loss.detach())

    assert torch.allclose(torch.tensor([*losses(scorch.dynamic)]), torch.tensor([*losses(lambda x: x)]))


def test_a_copy_of_a_weight_that_changes_is_not_made():
    """And one that was made is made anew when the weight has changed."""
    x, w = torch.rand(256, 8), torch.rand(8, 6)
    way = ways._by_library_along_columns
    for _ in range(3):  # as in training
        w.add_(1)
        torch.testing.assert_close(way(x, w, False), x @ w)
        assert ways._kept[id(w)].copy is None
    for _ in range(2):
        torch.testing.assert_close(way(x, w, False), x @ w)
        assert torch.equal(ways._kept[id(w)].copy, w.t())
    w.mul_(2)
    torch.testing.assert_close(way(x, w, False), x @ w)


def test_a_weight_that_changes_is_read_again():
    x = integers(20, 50, zeros=0.97)
    layer = torch.nn.Linear(50, 30, bias=False)
    with torch.no_grad():
        for scale in (1.0, 2.0, 3.0):
            layer.weight.copy_(integers(30, 50) * scale)
            know(x, layer.weight.T, value=1e-9)
            assert torch.equal(layer(scorch.dynamic(x)), x @ layer.weight.T)
            layer.weight.data = integers(30, 50, seed=int(scale))
            assert torch.equal(layer(scorch.dynamic(x)), x @ layer.weight.T)
    kept = len(ways._kept)
    del layer
    assert len(ways._kept) < kept


# ---- what a user writes ----
def test_batches_and_functions():
    x, w, b = integers(3, 5, 40, zeros=0.9), integers(40, 20), integers(20)
    h = scorch.dynamic(x)
    assert h.shape == x.shape and h.dtype == x.dtype and h.dim() == 3 and "3x5x40" in repr(h)
    assert torch.equal(h @ w, x @ w)
    assert torch.equal(F.linear(h, w.T, b), F.linear(x, w.T, b))
    assert torch.equal(torch.matmul(h, w), x @ w)
    assert torch.equal(torch.mm(scorch.dynamic(x[0]), w), x[0] @ w)
    assert torch.equal(h @ w[:, 0], x @ w[:, 0])
    assert torch.equal(scorch.dynamic(x[0, 0]) @ w, x[0, 0] @ w)
    assert torch.equal(torch.cat([h, x]), torch.cat([x, x]))
    assert torch.equal(torch.relu(h), x.relu())
    assert torch.equal(h.to_dense(), x)


def test_functions_of_scorch_take_the_dense_tensor():
    x = integers(6, 40, zeros=0.9).requires_grad_()
    h, mask = scorch.dynamic(x), scorch.sparse(torch.eye(6))
    for fmt in ("coo", "csr", "bsr(2,4)", "csr of band(0,3) + coo"):
        assert torch.equal(scorch.sparse(h, fmt).to_dense(), x)
    assert torch.equal(scorch.topk(h, 2).to_dense(), scorch.topk(x, 2).to_dense())
    assert torch.equal(scorch.attention(h, h, h, mask), scorch.attention(x, x, x, mask))
    scorch.topk(h, 2).sum().backward()
    assert x.grad.sum() == 12


def test_operands_by_name_and_out():
    x, w, b = integers(5, 40, zeros=0.9), integers(40, 20), integers(20)
    h, out = scorch.dynamic(x), x.new_empty(5, 20)
    assert torch.matmul(h, w, out=out) is out and torch.equal(out, x @ w)
    assert torch.mm(input=h, mat2=w, out=out.zero_()) is out and torch.equal(out, x @ w)
    assert torch.equal(torch.matmul(input=h, other=w), x @ w)
    assert torch.equal(F.linear(input=h, weight=w.T, bias=b), F.linear(x, w.T, b))
    assert torch.equal(w.T.matmul(other=scorch.dynamic(x.T)), w.T @ x.T)


@pytest.mark.parametrize("product", [torch.matmul, torch.mm, torch.Tensor.mm, torch.sparse.mm])
def test_products_of_sparse_tensors_take_it(product):
    a, x = integers(8, 40, zeros=0.9), integers(40, 20, zeros=0.9)
    A, h = scorch.sparse(a), scorch.dynamic(x)
    assert torch.equal(product(A, h), a @ x)
    assert torch.equal(torch.matmul(A, h, out=x.new_empty(8, 20)), a @ x)
    assert torch.equal(torch.mv(A, scorch.dynamic(x[:, 0])), a @ x[:, 0])


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_rows_that_count(share):
    x, w, b = integers(4, 50, 16), integers(16, 24), integers(24)
    valid = torch.rand(4, 50, generator=torch.Generator().manual_seed(0)) < share
    h = scorch.dynamic(x, by=valid)
    zeroed = x * valid[..., None]
    assert torch.equal(h @ w, zeroed @ w)
    assert torch.equal(F.linear(h, w.T, b), F.linear(zeroed, w.T, b))
    assert torch.equal(h.to_dense(), zeroed)
    x = x.masked_fill(~valid[..., None], torch.nan)  # what does not count may be anything
    assert torch.equal(scorch.dynamic(x, by=valid) @ w, zeroed @ w)
    assert torch.equal(scorch.dynamic(x, by=valid).to_dense(), zeroed)
    assert torch.equal(scorch.dynamic(x, by=valid[..., None].expand(x.shape)) @ w, zeroed @ w)
    x = zeroed
    picked = torch.rand(x.shape, generator=torch.Generator().manual_seed(1)) < 0.2
    assert torch.equal(scorch.dynamic(x, by=picked) @ w, (x * picked) @ w)


@pytest.mark.parametrize("counts", [False, True])
def test_a_vector_is_one_row(counts):
    x, w = (y.requires_grad_() for y in (integers(16), integers(16, 24)))
    h, wanted = scorch.dynamic(x, by=torch.tensor(counts)), x * counts
    assert torch.equal(h.to_dense(), wanted) and torch.equal(F.linear(h, w.T), wanted @ w)
    for got, right in zip(*(torch.autograd.grad((y @ w).sum(), (x, w)) for y in (h, wanted)), strict=True):
        assert torch.equal(got, right)


@pytest.mark.parametrize("recorded", [False, True])
def test_a_padded_result_is_made_once(monkeypatch, recorded):
    """In memory that is kept when it is freed; a bias is added in place."""
    monkeypatch.setattr(ways, "_times", lambda run, *_: [1.0 + (way is not ways._dense) for way in run])
    x, w, b = integers(4, 50, 16), integers(24, 16).requires_grad_(recorded), integers(24)
    valid, made, room = torch.arange(50) < torch.tensor([[50], [3], [0], [9]]), [], _C.room
    monkeypatch.setattr(_C, "room", lambda *a: made.append(room(*a)) or made[-1])
    y = F.linear(scorch.dynamic(x, by=valid), w, b)
    assert torch.equal(y, F.linear(x * valid[..., None], w, b))
    assert [m.shape for m in made] == [(62, 24), (200, 24)] and made[1].data_ptr() == y.data_ptr()
    assert torch.equal(b, integers(24))
    wide = F.linear(scorch.dynamic(x, by=valid), w, b.unsqueeze(0).double())  # not in place
    assert wide.dtype is torch.float64 and torch.equal(wide.float(), y)
    if recorded:
        (y**2).sum().backward()
        other = w.detach().clone().requires_grad_()
        (F.linear(x * valid[..., None], other, b) ** 2).sum().backward()
        assert torch.equal(w.grad, other.grad)


def test_expressions():
    x, w = integers(30, 40, zeros=0.95), integers(40, 20)
    h = scorch.dynamic(x)
    assert torch.equal(scorch.einsum("ij,jk->ik", h, w), x @ w)
    assert torch.equal(scorch.evaluate("y[i,k] = relu(x[i,j] * w[j,k])", x=h, w=w), (x @ w).relu())
    a = x.clone().requires_grad_()
    scorch.einsum("ij,jk->ik", scorch.dynamic(a), w).sum().backward()
    assert torch.equal(a.grad, w.sum(1).expand(30, 40))
    for y in (x, x + 20):  # with zeros and without
        assert torch.equal(scorch.einsum("ij,ij->ij", scorch.dynamic(y), x), y * x)
    A = scorch.sparse(integers(10, 30, zeros=0.5), "csr")
    assert torch.equal(A @ h, A.to_dense() @ x)
    negative = scorch.dynamic(torch.complex(x, x).conj().imag)
    assert torch.equal(scorch.einsum("ij,jk->ik", negative, w), -x @ w) and negative.way(w) == h.way(w)


@pytest.mark.parametrize("zeros", (0.95, 0.3))
@pytest.mark.parametrize(
    "text",
    [
        "C[i,j] = h[i,j] * 2", "C[i,j] = 1 / h[i,j]", "C[i,j] = x[i,j] / h[i,j]", "y += stored(h[i,j])",
        "y[i] += stored(h[i,j]) * x[i,j]", "C[i,j] = h[i,j] == 0", "C[i,j] = exp(h[i,j])",
        "C[i,j] = A[i,j] * h[i,j]", "C[i,j] = A[i,j] + h[i,j]", "C[i,j] = A[i,j] / h[i,j]",
        "y[i] max= h[i,j]", "y[i] += h[i,j]; C[i,j] = y[i] * h[i,j]",
    ],
)  # fmt: skip
def test_expressions_mean_the_dense_tensor(text, zeros):
    """However many zeros there are: what is dense, and what is stored, does not depend on that."""
    x = integers(30, 40, zeros=zeros)
    others = {"x": integers(30, 40), "A": scorch.sparse(integers(30, 40, zeros=0.8))}
    others = {name: y for name, y in others.items() if f"{name}[" in text}
    found, wanted = (scorch.evaluate(text, h=h, **others) for h in (scorch.dynamic(x), x))
    for y, z in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, wanted)), strict=True):
        assert scorch.is_sparse(y) == scorch.is_sparse(z)
        torch.testing.assert_close(*(r.to_dense() for r in (y, z)), equal_nan=True)
    asked = scorch.evaluate("C[i,j] = h[i,j] * 2", h=scorch.dynamic(x), format="csr")
    assert asked.format == "csr" and torch.equal(asked.to_dense(), 2 * x)


def test_kernels_of_expressions_take_any_number_of_zeros():
    x, w = integers(30, 40, zeros=0.95), integers(40, 20)
    kernel = scorch.compile("ij,jk->ik", scorch.dynamic(x), w)
    for y in (x, x + 20):
        assert torch.equal(kernel(scorch.dynamic(y), w), y @ w)
    assert "csr" in scorch.explain("ij,jk->ik", scorch.dynamic(x), w)
    assert "csr" not in scorch.explain("C[i,j] = 1 / h[i,j]", h=scorch.dynamic(x))


def test_compiled_and_exported():
    layer = torch.nn.Linear(40, 20)

    def f(x, valid):
        h = scorch.dynamic(x.relu())
        y = layer(h) + scorch.dynamic(x, by=valid) @ layer.weight.T
        return y + scorch.einsum("ij,kj->ik", h, layer.weight)

    x, valid = torch.randn(12, 40), torch.arange(12) % 3 == 0
    compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
    for rows in (12, 7):
        a, b = x[:rows].clone().requires_grad_(), x[:rows].clone().requires_grad_()
        y, z = compiled(a, valid[:rows]), f(b, valid[:rows])
        assert torch.allclose(y, z, atol=1e-5)
        y.sum().backward()
        z.sum().backward()
        assert torch.allclose(a.grad, b.grad, atol=1e-5)

    square = integers(12, 12, zeros=0.9), integers(12, 12)
    for product in (lambda x, w: scorch.dynamic(x) @ w, lambda x, w: w @ scorch.dynamic(x)):
        assert torch.equal(torch.compile(product, backend="eager")(*square), product(*square))

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(scorch.dynamic(x.relu()))

    program = torch.export.export(Net(), (x,))
    assert "dynamic_product" in str(program.graph)
    assert torch.allclose(program.module()(x), Net()(x), atol=1e-5)


def test_masks_of_attention():
    q, k, v = (torch.randn(2, 3, 32, 8) for _ in "qkv")
    blocks = torch.rand(4, 8, generator=torch.Generator().manual_seed(0)) < 0.5
    mask = blocks.repeat_interleave(8, 0).repeat_interleave(4, 1)
    wanted = scorch.attention(q, k, v, scorch.sparse(mask))
    assert torch.allclose(scorch.attention(q, k, v, scorch.dynamic(mask)), wanted)
    assert torch.allclose(scorch.attention(q, k, v, scorch.dynamic(blocks, tile=(8, 4))), wanted)
    with pytest.raises(ValueError, match=r"expected tile=\(rows, columns\)"):
        scorch.dynamic(blocks, tile=(8, 0))


MASKS = {
    "truth values": (lambda m: scorch.dynamic(m > 0), (2, 1, 40, 24)),
    "numbers": (scorch.dynamic, (40, 24)),
    "batches": (scorch.dynamic, (3, 40, 24)),
    "tiles": (lambda m: scorch.dynamic(m > 0, tile=(8, 4)), (5, 6)),
    "tiles of numbers": (lambda m: scorch.dynamic(m, tile=(8, 4)), (5, 6)),
}


@pytest.mark.parametrize("kind", MASKS)
def test_masks_of_attention_in_graphs(kind):
    """However many entries they have, there is one graph; masks of numbers have gradients."""
    torch._dynamo.reset()
    made, shape = MASKS[kind]

    def f(q, k, v, m):
        return scorch.attention(q, k, v, made(m.relu()))

    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(f, backend=counter, fullgraph=True)
    for least in (-0.5, 0.5, 2.0):
        inputs = [torch.randn(2, 3, n, 8).requires_grad_() for n in (40, 24, 24)]
        inputs.append((torch.randn(shape).clamp(max=1) - least).requires_grad_())
        y, wanted = compiled(*inputs), f(*inputs)
        torch.testing.assert_close(y, wanted)
        found, wanted = (
            torch.autograd.grad(x.square().sum(), inputs, allow_unused=True) for x in (y, wanted)
        )
        torch.testing.assert_close(found, wanted)
    assert counter.frame_count == 1

    class Net(torch.nn.Module):
        def forward(self, *args):
            return f(*args)

    inputs = [x.detach() for x in inputs]
    for strict in (False, True):
        program = torch.export.export(Net(), tuple(inputs), strict=strict).module()
        torch.testing.assert_close(program(*inputs[:3], inputs[3] + 2), f(*inputs[:3], inputs[3] + 2))


@pytest.mark.parametrize(
    "product",
    (
        lambda h, w: h @ w,
        lambda h, w: w @ h,
        torch.matmul,
        torch.mm,
        torch.nn.functional.linear,
        lambda h, w: torch.nn.functional.linear(w, h),
        lambda h, w: scorch.einsum("ij,jk->ik", h, w),
        lambda h, w: scorch.evaluate("C[i,k] = A[i,j] * B[j,k]", A=h, B=w),
    ),
)
def test_a_product_has_no_tiles(product):
    x = torch.eye(4)
    assert torch.equal(product(scorch.dynamic(x), torch.ones(4, 4)), torch.ones(4, 4))
    with pytest.raises(ValueError, match="expected no tile= in a product"):
        product(scorch.dynamic(x, tile=(2, 3)), torch.ones(4, 4))


def test_opcheck():
    x, w = torch.randn(5, 8, requires_grad=True), torch.randn(8, 3, requires_grad=True)
    torch.library.opcheck(torch.ops.scorch.dynamic_product.default, (x, w, None, False))
    valid = torch.tensor([True, False, True, True, False])
    torch.library.opcheck(torch.ops.scorch.dynamic_product.default, (x, torch.randn(5, 3), valid, True))


def test_transforms_take_it_as_dense():
    x, w = integers(6, 8, zeros=0.5, dtype=torch.float64), integers(8, 3, dtype=torch.float64)
    y, t = torch.func.jvp(lambda x: scorch.dynamic(x) @ w, (x,), (x,))
    assert torch.equal(y, x @ w) and torch.equal(t, x @ w)
    found = torch.func.vmap(lambda x: scorch.dynamic(x[None]) @ w)(x)
    assert torch.equal(found[:, 0], x @ w)


TRANSFORMS = {
    "jvp": lambda f, x: torch.func.jvp(f, (x,), (x,))[1],
    "vjp": lambda f, x: torch.func.vjp(f, x)[1](f(x))[0],
    "jacfwd": lambda f, x: torch.func.jacfwd(f)(x),
    "vmap": lambda f, x: torch.vmap(f)(torch.stack([x, 2 * x])),
}


@pytest.mark.parametrize("kind", TRANSFORMS)
@pytest.mark.parametrize("rows", [False, True])
def test_transforms_in_graphs_take_it_as_dense(kind, rows):
    torch._dynamo.reset()
    x, w = integers(6, 8, zeros=0.5), integers(8, 3)
    valid = torch.arange(6) % 2 == 0 if rows else torch.ones(6, dtype=torch.bool)
    by = valid if rows else "nonzero"
    call = TRANSFORMS[kind]
    wanted = call(lambda x: (x * valid[:, None]) @ w, x)
    transformed = lambda x: call(lambda x: torch.matmul(scorch.dynamic(x, by=by), w), x)  # noqa: E731
    assert torch.equal(make_fx(transformed)(x)(x), wanted)
    for backend in ("eager", "aot_eager"):
        assert torch.equal(torch.compile(transformed, backend=backend)(x), wanted)


def test_linearized():
    x, w = integers(6, 8, zeros=0.5), integers(8, 3)
    assert torch.equal(torch.func.linearize(lambda x: scorch.dynamic(x) @ w, x)[1](x), x @ w)


def test_what_is_refused():
    x = torch.randn(3, 4)
    with pytest.raises(TypeError, match=r"dense torch.Tensor, got SparseTensor"):
        scorch.dynamic(scorch.sparse(x))
    with pytest.raises(TypeError, match=r"floating point type .*, got torch.int64"):
        scorch.dynamic(torch.arange(3))
    with pytest.raises(ValueError, match="expected \"nonzero\" or a mask, got 'zero'"):
        scorch.dynamic(x, by="zero")
    with pytest.raises(TypeError, match=r"mask of torch.bool, got torch.float32"):
        scorch.dynamic(x, by=x)
    with pytest.raises(ValueError, match=r"mask \[3\] of rows or \[3, 4\] of values, got \[4\]"):
        scorch.dynamic(x, by=torch.ones(4, dtype=torch.bool))
    with pytest.raises(ValueError, match="expected 4 rows on the right, got 5"):
        scorch.dynamic(x) @ torch.randn(5, 2)


def _residual(h, w):
    y = torch.matmul(h, w) + h + h.sum(1, keepdim=True) + 1 / (1 + h.abs())
    return y - h[:, :1] + (2 * h).T + (h > 0) - h.mean() + torch.stack(list(h))


@pytest.mark.parametrize("by", [False, True])
def test_operators_and_methods_are_those_of_the_dense_tensor(by):
    x, w = torch.randn(32, 32).relu().requires_grad_(), torch.rand(32, 32)
    rows = torch.arange(32) % 3 > 0
    wanted = _residual(torch.where(rows[:, None], x, 0) if by else x, w)
    made = _residual(scorch.dynamic(x, by=rows) if by else scorch.dynamic(x), w)
    torch.testing.assert_close(made, wanted)
    grads = [torch.autograd.grad(y.sum(), x)[0] for y in (made, wanted)]
    torch.testing.assert_close(*grads)
    compiled = torch.compile(lambda x, w: _residual(scorch.dynamic(x), w), fullgraph=True)
    torch.testing.assert_close(compiled(x, w), _residual(x, w))


def test_what_would_change_it_in_place_is_no_method():
    h = scorch.dynamic(torch.ones(3, 4))
    for name in ("add_", "no_such", "_values"):
        with pytest.raises(AttributeError, match=f"scorch.dynamic.x. has no {name}"):
            getattr(h, name)
    with pytest.raises(RuntimeError, match="Boolean value"):
        bool(h)
    again = pickle.loads(pickle.dumps(h))
    assert torch.equal(again.to_dense(), h.to_dense()) and len(h) == 3 and len({h, again}) == 2


@pytest.mark.parametrize("shape", [(0,), (4, 0), (2, 3, 0), (0, 5), (2, 0, 5)])
def test_operands_of_no_elements(shape):
    x, w = torch.zeros(shape), torch.rand(shape[-1], 3)
    assert torch.equal(scorch.dynamic(x) @ w, x @ w)
    assert torch.equal(F.linear(scorch.dynamic(x), w.t()), x @ w)
    assert scorch.dynamic(x).way(w) == "dense"
    rows = "a,b,"[: 2 * x.dim() - 2]
    for h in (scorch.dynamic(x), scorch.dynamic(x, by=torch.ones(shape, dtype=torch.bool))):
        assert torch.equal(scorch.einsum("...j,jk->...k", h, w), x @ w)
        assert torch.equal(scorch.evaluate(f"y[{rows}k] = x[{rows}j] * w[j,k]", x=h, w=w), x @ w)


def test_a_weight_whose_rows_overlap():
    x, w = integers(200, 256, zeros=0.5), integers(1, 1856)[0].unfold(0, 300, 5)[:256]
    assert torch.equal(scorch.dynamic(x) @ w, x @ w)
    assert torch.equal(scorch.dynamic(x.t()).t() @ w, x @ w)


def test_rows_that_count_are_multiplied_by_the_fastest_dense_way(monkeypatch):
    taken, way = [], ways._by_library
    monkeypatch.setattr(ways, "_by_library", lambda *a: taken.append(a[0].shape[0]) or way(*a))
    monkeypatch.setattr(ways, "_times", lambda run, *_: [1.0 if w is ways._dense else 0.5 for w in run])
    monkeypatch.setattr(ways, "_SHORT", 0)
    ways._known.clear()
    x, w, b = integers(20, 16), integers(24, 16), integers(24)
    valid = torch.arange(20) % 3 == 0
    for bias in (None, b):
        y = F.linear(scorch.dynamic(x, by=valid), w, bias)
        assert torch.equal(y, F.linear(x * valid[:, None], w, bias))
    assert taken == [7, 7]


def test_skipped_zeros_are_those_of_the_tensor():
    for zeros in (0.5, 0.95):
        x = -integers(30, 40, zeros=zeros).abs()
        for h in (scorch.dynamic(x), x):
            found = scorch.evaluate("m[i] max= h[i,j]", h=h, implicit="skip")
            assert torch.equal(found, x.amax(1))


@pytest.mark.parametrize(
    "shapes", [((8, 8), (2, 8, 8)), ((4, 8, 8), (4, 8, 8)), ((2, 3), (2, 3, 2)), ((8,), (8, 3))]
)
def test_compiled_products_of_more_dimensions(shapes):
    h, w = (integers(*shape) for shape in shapes)
    for f in (lambda h, w: scorch.dynamic(h) @ w, lambda h, w: h @ scorch.dynamic(w)):
        torch._dynamo.reset()
        assert torch.equal(torch.compile(f, backend="eager")(h, w), h @ w)


def test_under_autocast_zeros_are_looked_for(monkeypatch):
    taken, run = [], ways._run
    monkeypatch.setattr(ways, "_run", lambda *a: taken.append(a[0].dtype) or run(*a))
    x, w, b = integers(64, 64, zeros=0.95), integers(32, 64), integers(32)
    with torch.autocast("cpu", torch.bfloat16):
        for f in (lambda h: F.linear(h, w, b), lambda h: h @ w.T, lambda h: torch.mm(h, w.T)):
            found = f(scorch.dynamic(x))
            assert found.dtype == torch.bfloat16 and torch.equal(found, f(x))
        assert torch.equal(scorch.dynamic(x.double()) @ w.T.double(), x.double() @ w.T.double())
    assert taken[:3] == [torch.bfloat16] * 3
    layer = torch.nn.Linear(64, 32)
    with torch.autocast("cpu", torch.bfloat16):
        layer(scorch.dynamic(x)).float().sum().backward()
    assert layer.weight.grad.dtype == torch.float32 and layer.bias.grad.eq(64).all()

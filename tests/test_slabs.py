"""Tensors of one compressed level above dense ones: a library multiplies them as smaller dense tensors."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.utils import prune

import scorch
from scorch.tools import suggest

ROWS, COLUMNS = "compressed(0), dense(1)", "compressed(1), dense(0)"
KEPT = {"some": slice(3, None, 7), "none": slice(0, 0), "all": slice(None)}


def kept(
    form: str, which: str, m: int = 120, n: int = 96, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """Small integers, so that sums are exact, in some rows or columns alone."""
    d = torch.randint(-3, 4, (m, n), generator=torch.Generator().manual_seed(0)).to(dtype)
    there = torch.zeros(m if form == ROWS else n, 1, dtype=dtype)
    there[KEPT[which]] = 1
    return d * (there if form == ROWS else there.T)


def ints(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


CALLS = {
    "a @ x": (lambda a, x: a @ x, (96, 40)),
    "x @ a": (lambda a, x: x @ a, (40, 120)),
    "linear": (lambda a, x: F.linear(x, a), (40, 96)),
    "linear, bias": (lambda a, x: F.linear(x, a, x.sum() + torch.arange(120.0).to(x.dtype)), (40, 96)),
    "a.T @ x": (lambda a, x: a.T @ x, (120, 40)),
    "across": (lambda a, x: torch.einsum("ij,bj->ib", a, x), (40, 96)),
    "twice": (lambda a, x: torch.einsum("ij,bcj->bci", a, x), (4, 10, 96)),
}


@pytest.mark.parametrize("which", KEPT)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("form", [ROWS, COLUMNS])
def test_products_and_gradients(form, dtype, which):
    d = kept(form, which, dtype=dtype)
    for name, (call, shape) in CALLS.items():
        a, w = scorch.sparse(d, format=form).requires_grad_(), d.clone().requires_grad_()
        x, y = ints(*shape, dtype=dtype).requires_grad_(), ints(*shape, dtype=dtype).requires_grad_()
        got, want = call(a, x), call(w.float(), y.float()).to(dtype)
        assert torch.equal(got, want), name
        g = ints(*want.shape, dtype=dtype)
        got.backward(g)
        call(w.float(), y.float()).backward(g.float())
        torch.testing.assert_close(x.grad, y.grad, rtol=0.02, atol=1, msg=name)
        there = scorch.map(a.detach(), torch.ones_like).to_dense()
        torch.testing.assert_close(a.grad.to_dense(), w.grad * there, rtol=0.02, atol=1, msg=name)


@pytest.mark.parametrize("form", [ROWS, COLUMNS])
def test_the_library_multiplies(form):
    a = scorch.sparse(kept(form, "some", 400, 300), format=form)
    for text, x in (("ij,jk->ik", (300, 256)), ("ij,ik->jk", (400, 256)), ("bj,ij->bi", (256, 300))):
        given = (torch.rand(x), a) if text[0] == "b" else (a, torch.rand(x))
        assert "by the dense library" in scorch.explain(text, *given), text
    b = a.requires_grad_()
    with scorch.profile() as p:
        (b @ torch.rand(300, 256)).sum().backward()
    assert str(p).count("library") == 2  # the product, and the gradient of the values
    assert "library" not in scorch.explain("ij,j->i", a.detach(), torch.rand(300))


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("form", [ROWS, COLUMNS])
def test_strides(form, index):
    """Operands and results that are parts of larger ones, and turned."""
    d = kept(form, "some")
    a = scorch.sparse(d, format=form, index_dtype=index)
    for x in (ints(200, 90)[:96, 3:53], ints(50, 96).T, ints(192, 100)[::2, ::2]):
        assert torch.equal(a @ x, d @ x)
        for out in (torch.ones(120, 50), torch.ones(130, 70)[5:125, 3:53], torch.ones(50, 120).T):
            assert torch.equal(torch.mm(a, x, out=out), d @ x)


@pytest.mark.parametrize("text", ["bij,bjk->bik", "bij,bjk->ik", "bij,jk->bik", "bij,bk->ijk", "bij,bij->ij"])
def test_of_three_dimensions(text):
    d = ints(9, 20, 30)
    d[[0, 2, 3, 7]] = 0
    shape = {"bjk": (9, 30, 40), "jk": (30, 40), "bk": (9, 40), "bij": (9, 20, 30)}[text[4 : text.index("-")]]
    a, x = scorch.sparse(d, format="compressed(0), dense(1), dense(2)"), ints(*shape)
    a.requires_grad_(), x.requires_grad_()
    got = scorch.einsum(text, a, x)
    assert torch.equal(got, torch.einsum(text, d, x))
    wanted = torch.autograd.grad(torch.einsum(text, d, x).sum(), x)
    x_grad, a_grad = torch.autograd.grad(got.sum(), (x, a))
    assert torch.equal(x_grad, wanted[0])
    w = d.clone().requires_grad_()
    torch.einsum(text, w, x.detach()).sum().backward()
    assert torch.equal(a_grad.to_dense(), w.grad * (d != 0).any(-1).any(-1)[:, None, None])


def test_values_that_change_and_infinities():
    d = kept(ROWS, "some")
    a, x = scorch.sparse(d, format=ROWS), ints(96, 40)
    assert torch.equal(a @ x, d @ x)
    a *= 2
    assert torch.equal(a @ x, 2 * d @ x)
    x[0, 0] = float("inf")  # rows that are not stored are zero, whatever they meet
    got = a @ x
    assert torch.equal(got[:3], torch.zeros(3, 40)) and not got[3::7, 0].isfinite().any()


def test_compiled():
    d = kept(ROWS, "some", 200, 150)
    layer = scorch.nn.Linear.from_dense(torch.nn.Linear(150, 200), ROWS, mask=d != 0)
    step = torch.compile(layer, fullgraph=True)
    x = torch.rand(64, 150, requires_grad=True)
    torch.testing.assert_close(step(x), layer(x))
    got = torch.autograd.grad(step(x).square().sum(), [x, *layer.parameters()])
    for g, w in zip(got, torch.autograd.grad(layer(x).square().sum(), [x, *layer.parameters()]), strict=True):
        torch.testing.assert_close(g, w)


@pytest.mark.parametrize(("dim", "form"), [(0, ROWS), (1, COLUMNS)])
def test_pruned_rows_and_columns_suggest_it(dim, form):
    layer = torch.nn.Linear(64, 64)
    prune.ln_structured(layer, "weight", 0.5, n=2, dim=dim)
    assert suggest.slabs(scorch.sparse(layer.weight.detach(), "csr")) == form
    scattered = torch.rand(64, 64) < 0.3
    assert suggest.slabs(scorch.sparse(scattered.float(), "csr")) is None
    assert suggest.slabs(scorch.sparse(torch.ones(64, 64), "csr")) is None
    model = torch.nn.Sequential(layer)
    x = torch.rand(8, 64)
    prune.remove(layer, "weight")
    want = model(x)
    clock = lambda calls: {name: 1.0 if name == form else 9.0 for name in calls}  # noqa: E731
    report = scorch.sparsify(model, x, timer=clock)
    assert form in str(report)
    torch.testing.assert_close(report.model(x), want)

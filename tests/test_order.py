"""Orders along a dimension of SparseTensors, and sparse tensors of the largest entries of dense ones."""

import math
import subprocess
import sys

import pytest
import torch
from test_surface_functions import agree, cube, matrix, plain, same

import scorch

DIMS = [0, 1, -1]


def distinct(rows=8, cols=6, seed=0):
    """A sparse matrix whose stored entries all differ, with rows of zeros, above zero and below."""
    x = matrix(rows, cols, seed)
    x = (
        x
        + (x != 0)
        * torch.randperm(rows * cols, generator=torch.Generator().manual_seed(seed)).view(rows, cols)
        / 64
    )
    x[1], x[2], x[3] = 0, x[2].abs() + 1 + torch.arange(cols) / 8, -x[3].abs() - 1 - torch.arange(cols) / 8
    return x


def stable(name, x, dim, **how):
    return getattr(torch, name)(x, dim=dim, stable=True, **how)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("keepdim", [False, True])
def test_extremes_with_positions(dim, keepdim):
    for f in (torch.max, torch.min, torch.argmax, torch.argmin):
        agree(lambda a, f=f: f(a, dim, keepdim), distinct())
        agree(lambda a, f=f: f(a, dim, keepdim=keepdim), matrix())  # of equal ones the first
        agree(lambda a, f=f: f(a, dim, keepdim), cube(), formats=["csr", "csf", "coo"])
    agree(lambda a: (a.argmax(), a.argmin(), a.argmax(keepdim=keepdim)), distinct())


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.int64, torch.int8, torch.uint8, torch.bool]
)
def test_extremes_of_any_type(dtype):
    """Where zeros are best, the first of them, stored or missing; else the first of the stored ones."""
    signs = torch.tensor([[1, 2, 0, 2], [0, 0, 0, 0], [-1, -2, -1, 0], [-1, -2, -2, -3], [-3, -1, 0, 0]])
    d = (signs.abs() if dtype in (torch.uint8, torch.bool) else signs).to(dtype)
    of = d.int() if dtype == torch.bool else d  # torch's extremes of bool are those of numbers
    for fmt in ("csr", "csc", "coo", "ell(4)"):
        a = scorch.sparse(d, fmt)
        for name in ("max", "min"):
            for dim in (0, 1):
                values, columns = getattr(a, name)(dim)
                same(values, getattr(of, name)(dim)[0].to(dtype))
                same(columns, getattr(of, f"arg{name}")(dim))
            same(getattr(a, f"arg{name}")(), getattr(of, f"arg{name}")())
    stored = scorch.sparse(torch.ones_like(d), "csr")
    stored = stored._with_values(d.reshape(-1))
    for dim in (0, 1):
        same(stored.argmax(dim), of.argmax(dim))
        same(stored.argmin(dim), of.argmin(dim))


@pytest.mark.parametrize("dim", DIMS)
def test_orders_of_zeros_alone(dim):
    """Rows where no stored entry is among those that are asked for, of which none is sorted."""
    x = distinct(40, 40)
    x[5:9], x[9:12] = x[5:9].abs(), -x[9:12].abs()
    for format in ("csr", "csc", "coo"):
        a = scorch.sparse(x, format)
        for k in (1, 8, 20, 33, 40):
            values, at = torch.kthvalue(a, k, dim)
            same(values, torch.kthvalue(x, k, dim)[0])
            same(x.gather(dim, at.unsqueeze(dim)).squeeze(dim), values)
        same(a.median(dim)[0], x.median(dim)[0])
        same(a.median(), x.median())


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("descending", [False, True])
def test_sorting(dim, descending):
    for x in (distinct(), matrix()):
        agree(lambda a: stable("sort", a, dim, descending=descending), x)
        agree(lambda a: stable("argsort", a, dim, descending=descending), x)
        agree(lambda a: torch.sort(a, dim, descending)[0], x)
    agree(lambda a: stable("sort", a, dim), cube(), formats=["csr", "csf", "coo"])


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("k", [0, 1, 3, 6])
def test_the_largest_and_the_kth(dim, k):
    for largest in (True, False):
        x = distinct()
        for format in ("csr", "csc", "coo", "bsr(2,3)", "ell(6)", "dia(4)", "sell(2,4)"):
            a = scorch.sparse(x, format)
            values, at = torch.topk(a, k, dim, largest)
            same(values, torch.topk(x, k, dim, largest)[0])
            same(x.gather(dim, at), values)
            assert len(at.movedim(dim, 0).unique(dim=0)) == k  # k different places
            if k:
                same(torch.kthvalue(a, k, dim)[0], torch.kthvalue(x, k, dim)[0])
                assert a.kthvalue(k, dim, keepdim=True).indices.dim() == 2


def test_nan_and_stored_zeros():
    x = matrix()
    x[0, 2] = x[4, 1] = math.nan
    x[5, 5] = -math.inf
    a = scorch.sparse(x)
    a.values()[a.values() == a.values().nan_to_num().max()] = 0  # stored
    x = a.to_dense()
    for f in (
        lambda a: torch.max(a, 1),
        lambda a: torch.min(a, 0),
        lambda a: stable("sort", a, 1),
        lambda a: stable("sort", a, 0, descending=True),
        lambda a: torch.topk(a, 2, 1)[0],
        lambda a: torch.logsumexp(a, 1),
    ):
        same(f(a), f(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.uint8, torch.bool])
def test_types(dtype):
    x = matrix().abs().to(dtype)
    for f in (lambda a: torch.max(a, 1), lambda a: a.argmin(0) if dtype != torch.bool else a.sum()):
        agree(f, x, formats=["csr", "coo"])
    agree(lambda a: stable("sort", a, 1, descending=True), x, formats=["csr"])


def test_logsumexp():
    for dim in (0, 1, -1, (0, 1), [0]):
        for x in (matrix(), 500 * matrix(), -500 * matrix().abs() - 1):
            agree(lambda a, dim=dim: torch.logsumexp(a, dim), x)
    agree(lambda a: a.logsumexp(0, keepdim=True), matrix().float())
    agree(lambda a: torch.special.logsumexp(a, 1), cube(), formats=["csr", "csf"])


def test_orders_are_differentiable():
    x, weight = distinct(), torch.arange(1.0, 9.0).double()
    for f in (
        lambda a: (torch.max(a, 1)[0] * weight).sum(),
        lambda a: (torch.topk(a, 3, 0)[0].sum(1) * weight[:3]).sum(),
        lambda a: (torch.sort(a, 1)[0] * weight[:6]).sum(),
        lambda a: (a.logsumexp(1) * weight).sum(),
        lambda a: a.kthvalue(2, 1)[0].sum(),
    ):
        a, d = scorch.sparse(x).requires_grad_(), x.clone().requires_grad_()
        f(a).backward()
        f(d).backward()
        same(a.grad, d.grad * (x != 0))


def test_orders_that_do_not_exist():
    a = scorch.sparse(matrix())
    with pytest.raises(ValueError, match="k <= 6, the extent of dimension 1, got 7"):
        torch.topk(a, 7, 1)
    with pytest.raises(ValueError, match="1 <= k"):
        torch.kthvalue(a, 0, 1)
    with pytest.raises(ValueError, match="extent of 0"):
        torch.max(a[:0], 0)


# ---- of dense tensors ----
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(40, 7), (3, 200), (5, 1000), (1, 70000), (2000, 3), (4, 5, 33), (50,)])
@pytest.mark.parametrize("largest", [True, False])
def test_the_largest_of_dense_rows(dtype, shape, largest):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    for k in {0, 1, 2, min(40, shape[-1]), shape[-1] // 2, shape[-1]}:
        made = scorch.topk(x, k, largest=largest)
        values, at = x.double().sort(dim=-1, descending=largest, stable=True)  # of equal ones the first
        wanted = torch.zeros_like(x).scatter(-1, at[..., :k], values[..., :k].to(dtype))
        assert torch.equal(made.to_dense(), wanted) and made.dtype == dtype
        assert made.nnz == k * math.prod(shape[:-1])
        assert str(made.format) == ("csr" if len(shape) > 1 else "coo")
        none, last = [None] * (len(shape) - 1), len(shape) - 1
        pos, crd = [*none, made.pos(last)], [*none, made.crd(last)]
        scorch.from_components(made.format, shape, pos, crd, made.values())  # is well formed


def test_ties_nan_and_zeros():
    x = torch.tensor([[1.0, 3, 3, 3, 2], [0.0, -0.0, 0.0, 0.0, -1], [math.nan, math.inf, 1, math.nan, 2]])
    for n in (1, 30):  # short rows, and rows that the buffer does not hold
        wide = torch.cat([x, torch.full((3, 5 * n), -5.0)], 1)
        assert scorch.topk(wide, 2).crd(1).view(3, 2).tolist() == [[1, 2], [0, 1], [0, 3]]
        assert scorch.topk(wide.double(), 3).crd(1).view(3, 3).tolist() == [[1, 2, 3], [0, 1, 2], [0, 1, 3]]
        assert scorch.topk(-wide, 2, largest=False).crd(1)[:4].tolist() == [1, 2, 0, 1]
    same_value = torch.ones(2, 5000)
    assert scorch.topk(same_value, 700).crd(1).view(2, -1)[1].tolist() == list(range(700))
    falling, rising = torch.arange(5000.0).flip(0)[None], torch.arange(5000.0)[None]
    assert scorch.topk(falling, 9).crd(1).tolist() == list(range(9))
    assert scorch.topk(rising, 9).crd(1).tolist() == list(range(4991, 5000))
    nans = torch.full((1, 300), math.nan)
    assert scorch.topk(nans, 5).crd(1).tolist() == [0, 1, 2, 3, 4]
    assert scorch.topk(nans, 5, largest=False).crd(1).tolist() == [0, 1, 2, 3, 4]


def test_other_dimensions_and_strides():
    x = torch.randn(30, 20, generator=torch.Generator().manual_seed(1))
    columns = scorch.topk(x, 3, 0)
    assert str(columns.format) == "csc"
    same(columns, torch.zeros_like(x).scatter(0, x.topk(3, 0)[1], x.topk(3, 0)[0]))
    same(scorch.topk(x.T, 3), columns.to_dense().T.contiguous())
    same(scorch.topk(x[:, ::2], 3), scorch.topk(x[:, ::2].contiguous(), 3).to_dense())
    assert scorch.topk(torch.empty(0, 4), 2).shape == (0, 4)


def test_the_largest_are_differentiable():
    x = torch.randn(5, 3, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: scorch.topk(x, 2).values(), (x,))
    assert torch.autograd.gradgradcheck(lambda x: scorch.topk(x, 2).values() ** 3, (x,))
    w = torch.randn(9, 4, dtype=torch.float64)
    f = lambda x: (scorch.topk(x[0], 2) @ w).square().sum()  # noqa: E731
    wanted = torch.autograd.grad(f(x), x)[0]
    assert wanted[1:].count_nonzero() == 0 and wanted[0].count_nonzero() == 6
    same(torch.func.grad(f)(x.detach()), wanted)
    compiled = torch.compile(lambda x: scorch.topk(x, 2) @ w, backend="aot_eager", fullgraph=True)
    same(compiled(x[0]), scorch.topk(x[0], 2) @ w)


def test_the_largest_of_any_number_of_rows_and_columns():
    """One graph of torch.compile, whose arrays have the types that they have without it."""
    compiled = torch.compile(
        lambda x, k: scorch.topk(x, k), backend="aot_eager", fullgraph=True, dynamic=True
    )
    for shape, k in (((8, 9), 2), ((5, 12), 2), ((7, 11), 3)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
        made, wanted = compiled(x, k), scorch.topk(x, k)
        same(made, wanted.to_dense())
        assert made.crd(1).dtype == made.pos(1).dtype == wanted.crd(1).dtype == torch.int32


def test_a_gate_of_experts():
    """The k largest of a softmax, as the operand of one einsum over all experts."""
    x, gate, weight = torch.randn(16, 8), torch.randn(8, 4), torch.randn(4, 8, 5)
    scores = (x @ gate).softmax(-1)
    y = scorch.einsum("te,tk,ekn->tn", scorch.topk(scores, 2), x, weight)
    g, at = scores.topk(2, -1)
    torch.testing.assert_close(y, torch.einsum("tj,tk,tjkn->tn", g, x, weight[at]))


def test_what_is_refused():
    for x in (scorch.sparse(matrix()), torch.ones(3, 3).long(), [[1.0]]):
        with pytest.raises(TypeError, match="of a floating point type"):
            scorch.topk(x, 1)
    with pytest.raises(ValueError, match="k <= 3"):
        scorch.topk(torch.ones(2, 3), 4)
    with pytest.raises(IndexError):
        scorch.topk(torch.ones(2, 3), 1, 2)
    for k in (2.0, "2", None):
        with pytest.raises(TypeError, match="expected an integer for k, got"):
            scorch.topk(torch.ones(2, 3), k)
    with pytest.raises(TypeError, match="expected an integer for dim"):
        scorch.topk(torch.ones(2, 3), 1, 1.0)
    assert plain(scorch.topk(torch.ones(2, 3), 0)).sum() == 0
    x = torch.ones(2, 3, requires_grad=True)
    scorch.topk(x, 0).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("dim", (0, 1, -1))
@pytest.mark.parametrize("keepdim", (False, True))
def test_medians_and_modes(dim, keepdim):
    x = torch.randint(-2, 3, (9, 12)).double() * (torch.rand(9, 12) < 0.5)
    x[2] = 0
    a = scorch.sparse(x, "csr")
    for f in (torch.median, torch.nanmedian, torch.mode):
        values, places = f(a, dim, keepdim)
        assert torch.equal(values, f(x, dim, keepdim)[0])
        found = x.gather(dim, places if keepdim else places.unsqueeze(dim))
        assert torch.equal(found if keepdim else found.squeeze(dim), values)


def test_medians_of_tensors_with_nan():
    x = torch.tensor([[0.0, float("nan"), 2, -1, 0], [0, 0, 1, 2, 3], [float("nan")] * 5])
    a = scorch.sparse(x, "csr")
    for f in (torch.median, torch.nanmedian):
        torch.testing.assert_close(f(a, 1)[0], f(x, 1)[0], equal_nan=True)
        torch.testing.assert_close(f(a), f(x), equal_nan=True)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16, torch.int64))
@pytest.mark.parametrize("shape", ((0,), (0, 3), (3, 0), (2, 0, 3)))
def test_medians_of_no_entries(shape, dtype):
    x = torch.zeros(shape, dtype=dtype)
    for f in (torch.median, torch.nanmedian):
        for a in (scorch.sparse(x), scorch.sparse(x, format="coo")):
            torch.testing.assert_close(f(a), f(x), equal_nan=True)
            with pytest.raises(ValueError, match="expected entries along dimension"):
                f(a, shape.index(0))
    if dtype.is_floating_point:
        a = scorch.sparse(x).requires_grad_()
        a.median().backward()
        assert a.grad.shape == shape


def test_gradients_of_medians_and_gathers():
    x = torch.randn(6, 8).double() * (torch.rand(6, 8) < 0.5)
    index = torch.randint(8, (6, 3))
    for f in (
        lambda a: torch.median(a, 1)[0],
        lambda a: torch.gather(a, 1, index),
        lambda a: torch.mode(a, 0)[0],
    ):
        a, d = scorch.sparse(x, "csr").requires_grad_(), x.clone().requires_grad_()
        y = f(a)
        torch.testing.assert_close(y, f(d))
        y.square().sum().backward()
        f(d).square().sum().backward()
        torch.testing.assert_close(a.grad.to_dense(), d.grad * (x != 0))


def test_nan_is_the_last_mode():
    for row in ([0.0, torch.nan], [1.0, torch.nan], [0.0, 0.0, torch.nan], [torch.nan, 2.0, 2.0, 0.0]):
        d = torch.tensor([row])
        for one, other in zip(torch.mode(scorch.sparse(d), 1), torch.mode(d, 1), strict=True):
            assert torch.equal(one, other)


_ORDERED = (
    torch.float32, torch.float64, torch.bfloat16, torch.float16,
    torch.int32, torch.int64, torch.int16, torch.uint8,
)  # fmt: skip


def _mixed(rows, columns, dtype, seed):
    """Numbers that repeat, beside stored and missing zeros, in some cases all of a row or of one sign."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(-3, 4, (rows, columns), generator=g) * (torch.rand(rows, columns, generator=g) < 0.6)
    x[0], x[-1] = 1, -x[-1].abs() - 1
    x[1:2] = 0
    x = x.abs().to(dtype) if dtype == torch.uint8 else x.to(dtype)
    if dtype.is_floating_point:
        x[torch.rand(rows, columns, generator=g) < 0.05] = torch.nan
        x[torch.rand(rows, columns, generator=g) < 0.05] = -torch.inf
    if dtype == torch.int64:
        x[torch.rand(rows, columns, generator=g) < 0.05] = -(2**63)
    a = scorch.sparse(x, "csr")
    values = a.values().clone()
    values[torch.rand(len(values), generator=g) < 0.2] = 0
    return a._with_values(values)


def _equal(one, other):
    return torch.equal(one, other) or torch.equal(one.double().nan_to_num(99), other.double().nan_to_num(99))


@pytest.mark.parametrize("dtype", _ORDERED)
@pytest.mark.parametrize("fmt", ("csr", "csc", "coo"))
@pytest.mark.parametrize("dim", (0, 1))
def test_orders_along_a_dimension_are_those_of_the_dense_tensor(dtype, fmt, dim):
    for seed, shape in enumerate(((7, 5), (3, 90), (60, 4), (1, 1))):
        a = _mixed(*shape, dtype, seed)
        x, a = a.to_dense(), a.convert(fmt)
        for name in ("max", "min"):
            for one, other in zip(getattr(torch, name)(a, dim), getattr(torch, name)(x, dim), strict=True):
                assert _equal(one, other) and one.dtype == other.dtype
            assert torch.equal(getattr(torch, f"arg{name}")(a, dim), getattr(torch, f"arg{name}")(x, dim))
        for descending in (False, True):
            wide = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
            values, places = torch.sort(wide, dim=dim, descending=descending, stable=True)
            for k in {0, 1, x.shape[dim] // 2, x.shape[dim]}:
                found = torch.topk(a, k, dim, descending)
                assert _equal(found.values.to(wide.dtype), values.narrow(dim, 0, k))
                assert torch.equal(found.indices, places.narrow(dim, 0, k))
        k = x.shape[dim] // 2 + 1
        places = torch.sort(wide, dim=dim, stable=True)[1]
        assert torch.equal(torch.kthvalue(a, k, dim).indices, places.select(dim, k - 1))


def test_the_largest_of_long_rows():
    x = torch.randn(3, 5000).mul(20).round() * (torch.rand(3, 5000) < 0.9)
    a = scorch.sparse(x, "csr")
    for largest in (False, True):
        values, places = torch.sort(x, dim=1, descending=largest, stable=True)
        for k in (1, 7, 100, 2500, 5000):
            found = torch.topk(a, k, 1, largest)
            assert torch.equal(found.values, values[:, :k]) and torch.equal(found.indices, places[:, :k])


def test_extremes_of_columns_by_several_threads():
    n = 40_000
    a = scorch.sparse(torch.sparse_coo_tensor(
        torch.stack([torch.arange(n).repeat(3), torch.randint(9, (3 * n,))]), torch.randn(3 * n), (n, 9)
    ), "csr")  # fmt: skip
    full = scorch.sparse(-torch.rand(n, 3) - 0.5, "csr")
    for b in (a, full):
        x = b.to_dense()
        for f in (torch.max, torch.min):
            for one, other in zip(f(b, 0), f(x, 0), strict=True):
                assert torch.equal(one, other)


def test_the_largest_need_memory_for_the_result_alone():
    """Beside it a tenth of what a list of the entries in order takes."""
    code = """
import resource, torch, scorch
torch.set_num_threads(1)
n, each = 200_000, 20
crd = (torch.arange(n)[:, None] * 7 + torch.arange(each) * 9001).remainder(n).sort(1)[0].int().view(-1)
pos = torch.arange(n + 1, dtype=torch.int32) * each
a = scorch.from_components("csr", (n, n), [None, pos], [None, crd], torch.randn(n * each))
torch.topk(a[:9], 3, 1), torch.max(a[:9], 1), torch.argmax(a[:9], 0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
made = torch.topk(a, 2, 1), torch.max(a, 1), torch.argmax(a, 0)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 48_000

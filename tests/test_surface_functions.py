"""SparseTensor in the place of dense ones: operators, reductions, indexing, joining."""

import math
import operator

import numpy as np
import pytest
import scipy.sparse
import torch
import torch.nn.functional as F

import scorch
import scorch.nn

COMPOSED = ["csr of band(-1,1) + csr", "bsr(2,3) of blocks(2,3,0.5) + coo"]
FORMATS = ["csr", "csc", "coo", "dcsc", "bsr(2,3)", "ell(6)", *COMPOSED]
CUBES = ["csr", "csf", "coo", "dense(2), compressed(0), compressed(1)"]


def matrix(rows=8, cols=6, seed=0, dtype=torch.float64, density=0.4):
    g = torch.Generator().manual_seed(seed)
    values = torch.randint(-8, 9, (rows, cols), generator=g)
    return (values * (torch.rand(rows, cols, generator=g) < density)).to(dtype)


def cube(seed=0):
    return matrix(12, 5, seed).view(3, 4, 5)


def plain(x):
    return x.to_dense() if scorch.is_sparse(x) else x


def same(got, wanted):
    if isinstance(wanted, tuple | list):
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            same(g, w)
        return
    got = plain(got)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape, (got.dtype, got.shape, wanted.shape)
    torch.testing.assert_close(got, wanted, equal_nan=True)


def agree(f, *dense, formats=FORMATS):
    """f on sparse operands gives what it gives on dense ones, in every format."""
    wanted = f(*dense)
    for fmt in formats:
        same(f(*(scorch.sparse(d, fmt) for d in dense)), wanted)


# ---- functions of one tensor ----
@pytest.mark.parametrize(
    "f",
    [
        torch.abs, torch.neg, torch.relu, torch.tanh, torch.sin, torch.expm1, torch.sign, torch.square,
        torch.erf,
        torch.isnan, torch.isinf, F.relu, F.gelu, F.silu, F.leaky_relu, F.elu, F.hardtanh, F.softsign,
        lambda a: torch.clamp(a, -2, 3), lambda a: a.clip(min=-1), lambda a: -a, abs, lambda a: +a,
        lambda a: a**2,
        lambda a: a**3.0, lambda a: a.abs().sqrt(), torch.nan_to_num, lambda a: a.abs().log1p(),
        lambda a: F.threshold(a, -1.0, 0.0), lambda a: a.int(), lambda a: a.half(), lambda a: a.bool(),
    ],
)  # fmt: skip
def test_functions_that_keep_zero(f):
    agree(f, matrix())


@pytest.mark.parametrize(
    "f",
    [
        torch.exp,
        torch.cos,
        torch.sigmoid,
        torch.log,
        torch.reciprocal,
        F.softplus,
        lambda a: a**-1,
        lambda a: a**0,
        lambda a: torch.clamp(a, 1, 2),
        lambda a: 2**a,
        lambda a: 1 / a,
        torch.logical_not,
    ],
)
def test_functions_that_do_not_are_refused_with_a_way_out(f):
    with pytest.raises(NotImplementedError, match=r"map|to_dense"):
        f(scorch.sparse(matrix(), "csr"))


def test_map():
    d = matrix()
    for fmt in FORMATS:
        a = scorch.map(scorch.sparse(d, fmt), torch.exp)
        stored = scorch.sparse(d, fmt).map if False else None
        assert stored is None
        if "bsr" not in fmt:
            same(a, torch.where(d != 0, d.exp(), 0))
    a = scorch.sparse(d, "csr")
    assert scorch.map(a, torch.exp).crd(1).data_ptr() == a.crd(1).data_ptr()
    with pytest.raises(ValueError):
        scorch.map(a, torch.sum)
    with pytest.raises(TypeError):
        scorch.map(d, torch.exp)


@pytest.mark.parametrize("format", FORMATS)
def test_map_takes_values_with_strides(format):
    a = scorch.sparse(matrix(), format)
    n = a.values().shape[0]
    w = torch.arange(2.0 * n).view(n, 2).requires_grad_()
    for take in (lambda w: w[:, 1], lambda w: w[0, 1].expand(n), lambda w: w.view(-1)[::2]):
        made, once = (scorch.map(a, lambda _, v=v: v) for v in (take(w), take(w).contiguous()))
        same(made, once.to_dense())
        (got,), (wanted,) = (torch.autograd.grad((t @ torch.ones(t.shape[1])).sum(), w) for t in (made, once))
        assert torch.equal(got, wanted)
    f = torch.compile(lambda a, w: scorch.map(a, lambda _: w[:, 1]) * 2, backend="aot_eager", fullgraph=True)
    same(f(a, w.detach()), 2 * scorch.map(a, lambda _: w[:, 1].detach().clone()).to_dense())


def test_nothing_is_made_on_the_meta_device():
    with pytest.raises(NotImplementedError, match=r"map: the result of fn: .* on the CPU, got .* on meta"):
        scorch.map(scorch.sparse(torch.eye(3)), lambda v: v.to("meta"))
    with pytest.raises(NotImplementedError, match=r"topk: .* on the CPU, got .* on meta"):
        scorch.topk(torch.empty(3, 4, device="meta"), 2)


# ---- arithmetic ----
BINARY = [
    torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, torch.ne, torch.lt, torch.gt, torch.eq,
    torch.le,
    torch.logical_and, torch.logical_or, torch.hypot, lambda a, b: torch.add(a, b, alpha=2),
    lambda a, b: a - b,
    lambda a, b: a * b + b, lambda a, b: (a > 0) & (b > 0), lambda a, b: (a > 0) ^ (b > 0),
    lambda a, b: a != b,
]  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("f", BINARY)
def test_sparse_with_sparse(f):
    agree(f, matrix(), matrix(seed=1))
    agree(f, matrix(), matrix(), formats=["csr"])


def test_mixed_formats_and_broadcasting_of_sparse_tensors():
    d, e = matrix(), matrix(seed=1)
    same(scorch.sparse(d, "csr") + scorch.sparse(e, "csc"), d + e)
    assert (scorch.sparse(d, "csr") + scorch.sparse(e, "coo")).format == scorch.Format("csr")
    row, column = matrix(1, 6, seed=2), matrix(8, 1, seed=3)
    for f in (torch.add, torch.mul, torch.maximum):
        same(f(scorch.sparse(d, "csr"), scorch.sparse(row, "csr")), f(d, row))
        same(f(scorch.sparse(column, "coo"), scorch.sparse(row, "csr")), f(column, row))
        same(f(scorch.sparse(cube(), "csf"), scorch.sparse(matrix(4, 5), "csr")), f(cube(), matrix(4, 5)))


@pytest.mark.sampled
@pytest.mark.parametrize("fmt", FORMATS)
def test_with_dense_tensors_and_numbers(fmt):
    d, full = matrix(), matrix(seed=4, density=2) + 20
    a, row, column = scorch.sparse(d, fmt), full[0], full[:, :1]
    for b in (full, row, column, full[0, 0], 3, 2.5):
        for f in (torch.mul, torch.div, lambda x, y: y * x, lambda x, y: x / y, torch.fmod):
            assert scorch.is_sparse(f(a, b))
            same(f(a, b), f(d, b))
        for f in (torch.sub, torch.add, lambda x, y: y - x, lambda x, y: x >= y, torch.eq, torch.maximum):
            if f is not torch.maximum or isinstance(b, torch.Tensor):
                same(f(a, b), f(d, b))
    assert not scorch.is_sparse(a + row) and scorch.is_sparse(a + 0) and scorch.is_sparse(a > 0)
    same(a * np.float64(2), d * 2)
    same(a * np.ones((8, 6)), d)
    same(np.ones((8, 6)) * a, d)
    same(a + scipy.sparse.csr_array(d.numpy()), 2 * d)
    same(a + d.to_sparse_coo(), 2 * d)
    for f in (lambda: full / a, lambda: a / a, lambda: 1 // a):
        with pytest.raises(NotImplementedError, match="skip"):
            f()
    with pytest.raises((TypeError, RuntimeError)):
        a + "x"


@pytest.mark.parametrize("fmt", FORMATS)
def test_integers_are_divided_where_entries_are_stored(fmt):
    d = matrix(dtype=torch.int64)
    by = torch.arange(1, 7).expand(8, 6)
    for f in (torch.floor_divide, torch.remainder, torch.fmod):
        same(f(scorch.sparse(d, format=fmt), by), f(d, by))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.bool])
def test_integers_are_shifted(dtype):
    """Zeros stay zeros; a number or a dense tensor that is shifted by entries is dense."""
    d, by = matrix(dtype=dtype), torch.arange(6, dtype=torch.int32).expand(8, 6)
    for f in (
        lambda a: a << 1, lambda a: a >> 1, lambda a: a << by, lambda a: a >> by,
        lambda a: torch.bitwise_left_shift(a, 2), lambda a: torch.bitwise_right_shift(a, (a != 0).int()),
        lambda a: 1 << (a != 0), lambda a: by >> (a != 0),
        lambda a: operator.ilshift(a.long().clone(), 1), lambda a: operator.irshift(a.long().clone(), by),
    ):  # fmt: skip
        agree(f, d)
    assert (scorch.sparse(d, "csc") << 1).format == scorch.Format("csc")


def test_in_the_format_dense():
    d, e = matrix(), matrix(seed=1)
    a = scorch.sparse(d, "dense")
    for f in (torch.logical_and, torch.mul, torch.add, torch.logical_or):
        same(f(a, e), f(d, e))
        same(f(e, a), f(e, d))
    same(torch.bitwise_and(scorch.sparse(d.int(), "dense"), e.int()), d.int() & e.int())


def test_a_missing_entry_annihilates():
    a = scorch.sparse(torch.eye(3), "csr")
    bad = torch.full((3, 3), math.nan)
    assert torch.equal((a * bad).isnan().to_dense(), torch.eye(3).bool())
    assert torch.equal(
        (scorch.sparse(torch.eye(3), "ell(2)") * math.inf).to_dense().isnan().sum(), torch.tensor(0)
    )


def test_types_are_promoted():
    a, b = scorch.sparse(matrix(dtype=torch.int32)), scorch.sparse(matrix(dtype=torch.bfloat16))
    for f in (torch.add, torch.mul):
        same(f(a, b), f(a.to_dense(), b.to_dense()))
        same(f(a, 2.5), f(a.to_dense(), 2.5))
        same(f(b, torch.tensor(2.5)), f(b.to_dense(), torch.tensor(2.5)))
        same(f(b, torch.ones(6)), f(b.to_dense(), torch.ones(6)))
    for dtypes in ((torch.float32, torch.int64), (torch.bool, torch.float64), (torch.float64, torch.float32)):
        agree(F.cosine_similarity, *(matrix(dtype=dtype) for dtype in dtypes), formats=["coo", "csr"])
    for dtype in (torch.bool, torch.int8, torch.int64, torch.float16, torch.bfloat16):
        d = matrix(dtype=dtype)
        a = scorch.sparse(d, "csr")
        same(a[1:5], d[1:5])
        same(a.sum(), d.sum())
        same(a.sum(0), d.sum(0))
        same(torch.cat([a, a], 1), torch.cat([d, d], 1))
        same(a.amax(1), d.amax(1))
        same(a | a if dtype == torch.bool else a * a, d | d if dtype == torch.bool else d * d)


@pytest.mark.parametrize("fmt", FORMATS)
def test_in_place(fmt):
    d, full = matrix(), matrix(seed=4, density=2)
    a = scorch.sparse(d, fmt)
    before = a.values().data_ptr()
    a *= 2
    a.mul_(full)
    a /= 4
    a.add_(a, alpha=2)
    a.neg_().clamp_(-100, 100)
    same(a, (-(d * 2 * full / 4 * 3)).clamp(-100, 100))
    a += 1
    assert a.to_dense().count_nonzero() <= a.nnz and a.values().data_ptr() == before
    a.zero_()
    same(a, torch.zeros_like(d))
    with pytest.raises(ValueError, match="structure"):
        a.add_(scorch.sparse(matrix(seed=9), fmt if "(" not in fmt else "csr"))
    with pytest.raises(NotImplementedError):
        full.div_(a)


def test_where_nothing_is_sparse_the_refusal_says_so():
    a = scorch.sparse(matrix(), "csr")
    for f in (
        torch.det,
        torch.linalg.svdvals,
        lambda x: x.view(-1),
        torch.from_dlpack,
        np.from_dlpack,
    ):
        with pytest.raises(NotImplementedError, match="to_dense"):
            f(a)


def test_views():
    """Of its own shape a tensor over the same arrays; another one is for code of torch alone."""
    for fmt in FORMATS:
        a = scorch.sparse(matrix(), fmt).requires_grad_()
        for b in (a.view(8, 6), a.view((8, -1)), a.view(-1, 6), a.view_as(matrix()), a.view(size=(8, 6))):
            assert b is not a and b.values().data_ptr() == a.values().data_ptr() and b.format == a.format
            a.grad = None
            (b * 2).sum().backward()
            assert a.grad.nnz == a.nnz and set(a.grad.values().tolist()) <= {2, 0}
        with pytest.raises(NotImplementedError, match=r"\[8, 6\] as \[6, 8\] .*A\.reshape"):
            a.view(6, 8)
        with pytest.raises(NotImplementedError, match="float32"):
            a.view(torch.float32)


def test_masked_fill():
    d, mask = matrix(), matrix(seed=5) > 0
    for fmt in FORMATS:
        a = scorch.sparse(d, fmt)
        same(a.masked_fill(mask, 0), d.masked_fill(mask, 0))
        same(a.masked_fill(mask, 2), d.masked_fill(mask, 2))
        same(torch.masked_fill(a, scorch.sparse(mask, "csr"), 2), d.masked_fill(mask, 2))
        same(torch.masked_select(a, mask), torch.masked_select(d, mask))


def test_masked_select_broadcasts_and_is_a_vector():
    d, c = matrix(), cube()
    masks = [
        matrix(seed=5) > 0,
        matrix()[0] > 0,
        matrix()[:, :1] > 0,
        torch.tensor(True),
        cube()[:, :1, :1] > 9,
    ]
    for mask in masks:
        for fmt in FORMATS:
            same(torch.masked_select(scorch.sparse(d, fmt), mask), torch.masked_select(d, mask))
            if mask.dim():
                sparse = scorch.sparse(mask, fmt if mask.shape == d.shape else "auto")
                same(torch.masked_select(scorch.sparse(d), sparse), torch.masked_select(d, mask))
                same(torch.masked_select(d, sparse), torch.masked_select(d, mask))
    for mask in (c > 0, c[0] > 0, c[:, :1] > 0, torch.ones(2, 3, 4, 5, dtype=torch.bool)):
        for fmt in CUBES:
            same(torch.masked_select(scorch.sparse(c, fmt), mask), torch.masked_select(c, mask))
    row = scorch.sparse(d[0], "coo")
    same(row.masked_select(d > 0), d[0].masked_select(d > 0))
    same(torch.masked_select(d, scorch.sparse(d > 0)), d[d > 0])
    same(torch.masked_select(torch.tensor(3.0), scorch.sparse(d > 0)), torch.full((int((d > 0).sum()),), 3.0))
    with pytest.raises(TypeError, match="mask of bool"):
        torch.masked_select(scorch.sparse(d), d)
    with pytest.raises(ValueError, match="broadcast"):
        torch.masked_select(scorch.sparse(d), torch.ones(5, dtype=torch.bool))


def test_a_sparse_mask_stays_sparse():
    n, at = 1 << 20, torch.tensor([[0, 5, 7], [1, 2, 1 << 19]])
    a = scorch.coo(at, torch.tensor([1.0, 2, 3]), (n, n))  # which dense takes 4 TB
    same(torch.masked_select(a, a > 1), torch.tensor([2.0, 3]))
    same(torch.masked_select(torch.arange(n), a > 1), at[1, 1:])


def test_float_power_is_in_float64():
    for dtype in (torch.float32, torch.int32, torch.bfloat16, torch.bool):
        d = matrix(dtype=dtype)
        for exponent in (2, 3.0, torch.tensor(2)):
            agree(lambda a, e=exponent: torch.float_power(a, e), d)
            agree(lambda a, e=exponent: a.float_power(e), d)


def test_a_sparse_tensor_as_another_argument():
    d, index = matrix(), torch.tensor([1, 0, 1])
    a = scorch.sparse(d, "csr")
    flat = scorch.sparse(d.reshape(4, 12), "csr")
    same(d.reshape_as(flat), d.reshape(4, 12))
    same(d.view_as(flat), d.view(4, 12))
    same(d[:1].expand_as(a), d[:1].expand(8, 6))
    assert d.float().to(a).dtype == torch.float64 and d.float().type_as(a).dtype == torch.float64
    assert d.to(scorch.sparse(d.int()), True, True).dtype == torch.int32
    same(torch.max(d, a), d)
    same(torch.clamp(d - 1, a), d)
    weight, bias = matrix(3, 6, seed=1), matrix(3, 1, seed=2)[:, 0]
    same(F.linear(d, weight, scorch.sparse(bias)), F.linear(d, weight, bias))
    number = scorch.sparse(torch.tensor(2.0, dtype=torch.float64), "dense")
    same(torch.masked_fill(d, d > 0, number), d.masked_fill(d > 0, 2))
    for wrong in (
        lambda: torch.index_select(d, 0, scorch.sparse(index)),
        lambda: torch.narrow(d, 0, number, 1),
        lambda: torch.tensor_split(d, scorch.sparse(index)),
    ):
        with pytest.raises(TypeError, match="takes no SparseTensor for its other arguments"):
            wrong()
    for name, q in (("query", (a, d, d)), ("key", (d, a, d)), ("value", (d, d, a))):
        with pytest.raises(TypeError, match=f"as {name}, got a SparseTensor"):
            F.scaled_dot_product_attention(*q)


def test_what_is_added_to_a_product_of_dense_tensors():
    g = torch.Generator().manual_seed(0)
    x, y, v = (torch.randint(-3, 4, s, generator=g).double() for s in ((8, 5), (5, 6), (5,)))
    batch = x.expand(3, 8, 5), y.expand(3, 5, 6)
    for f, d, operands in (
        (torch.addmm, matrix(), (x, y)),
        (torch.addmv, matrix()[:, 0], (x, v)),
        (torch.addr, matrix(), (x[:, 0], y[0])),
        (torch.addbmm, matrix(), batch),
        (torch.baddbmm, matrix(24, 6).view(3, 8, 6), batch),
    ):
        for options in ({}, {"beta": 2, "alpha": 3}, {"beta": 0}):
            fmt = {1: "coo", 2: "csr", 3: "csf"}[d.dim()]
            same(f(scorch.sparse(d, fmt), *operands, **options), f(d, *operands, **options))
    integers = torch.ones(2, 2, dtype=torch.int64)
    assert torch.addmm(scorch.sparse(integers), integers, integers, alpha=0.6).dtype == torch.int64
    mask = torch.tensor([True, False])
    same(torch.outer(scorch.sparse(mask), mask), torch.outer(mask, mask))
    truths = torch.tensor([[False, True], [True, False]])
    for options in ({"beta": 3, "alpha": 2}, {"alpha": 0}, {"beta": 0}):
        same(
            torch.addr(scorch.sparse(truths), mask, mask, **options),
            torch.addr(truths, mask, mask, **options),
        )


@pytest.mark.parametrize(
    ("left", "right"),
    [((2, 3, 0), (0, 4)), ((2, 0, 5), (5, 4)), ((0, 3, 5), (5, 4)), ((0, 5), (5, 4)), ((2, 5), (5, 0))],
)
def test_products_without_rows_or_columns(left, right):
    x, d = torch.ones(left), torch.zeros(right)
    same(x @ scorch.sparse(d), x @ d)
    same(F.linear(x, scorch.sparse(d.T.contiguous())), x @ d)
    rows = x.reshape(math.prod(left[:-1]), left[-1])
    same(scorch.sparse(rows) @ d, rows @ d)


def test_a_layer_without_rows():
    layer = scorch.nn.Linear(4, 3)
    for shape in ((2, 0, 4), (0, 4), (4,)):
        assert layer(torch.ones(shape)).shape == (*shape[:-1], 3)


def test_numbers_have_dimensions_0_and_minus_1():
    d = torch.tensor(3.0)
    for f in (
        lambda a: a.sum(0), lambda a: a.amax(-1, keepdim=True), lambda a: a.squeeze(0), lambda a: a.flatten(),
        lambda a: a.t(), lambda a: a.transpose(0, -1), lambda a: a.permute(()), lambda a: torch.softmax(a, 0),
        lambda a: a.index_select(0, torch.tensor([0])), lambda a: a.masked_fill(torch.tensor(True), 0),
        lambda a: torch.flip(a, (0,)), lambda a: a.norm(2, 0), lambda a: torch.hstack([a, a]),
        lambda a: torch.column_stack([a, a]),
    ):  # fmt: skip
        same(f(scorch.sparse(d, "dense")), f(d))


def test_equal_and_allclose():
    d, e = matrix(), matrix()
    e[0, 0] += 1e-12
    for fmt in FORMATS:
        a = scorch.sparse(d, fmt)
        assert torch.equal(a, scorch.sparse(d, "csr")) and torch.equal(a, d) and torch.equal(d, a)
        assert not torch.equal(a, scorch.sparse(d + torch.eye(8)[:, :6], "csr")) and not torch.equal(a, d.T)
        assert torch.allclose(a, scorch.sparse(e, "csr")) and a.allclose(e) and not torch.allclose(a, d + 1)
    n = torch.tensor([[0, 2], [3, 0]])
    for x in (n.float(), n.bool()):
        assert torch.equal(scorch.sparse(n), scorch.sparse(x)) == torch.equal(n, x)


# ---- reductions ----
@pytest.mark.parametrize("dim", [None, 0, 1, -1, (0, 1), ()])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions_of_matrices(dim, keepdim):
    for f in (torch.sum, torch.mean, torch.amax, torch.amin, torch.linalg.vector_norm):
        agree(lambda a, f=f: f(a, dim=dim, keepdim=keepdim), matrix())
    if dim != ():
        agree(lambda a: torch.var(a, dim=dim, keepdim=keepdim), matrix())
        agree(lambda a: torch.std(a, dim=dim, keepdim=keepdim, correction=0), matrix())
    agree(lambda a: torch.sum(a, dim=dim, keepdim=keepdim, dtype=torch.float32), matrix())
    agree(lambda a: a.sum(axis=dim, keepdims=keepdim), matrix())


@pytest.mark.parametrize("dim", [0, 1, 2, (0, 2), (0, 1, 2)])
def test_reductions_of_cubes(dim):
    for f in (torch.sum, torch.mean, torch.amax, torch.amin):
        for keepdim in (False, True):
            agree(lambda a, f=f, k=keepdim: f(a, dim=dim, keepdim=k), cube(), formats=CUBES)
    assert scorch.is_sparse(scorch.sparse(cube(), "csf").sum(0)) is True


def test_other_reductions():
    d = matrix()
    d[:, 2] = torch.arange(1, 9)
    d[3] = torch.arange(2, 8)
    for f in (
        lambda a: a.prod(0), lambda a: a.prod(1), lambda a: a.prod(), lambda a: a.count_nonzero(),
        lambda a: a.count_nonzero(dim=1), lambda a: a.any(), lambda a: a.all(), lambda a: a.any(0),
        lambda a: a.all(0),
        lambda a: a.max(), lambda a: a.min(), lambda a: torch.max(a, a), lambda a: a.norm(),
        lambda a: a.norm(1),
        lambda a: torch.linalg.norm(a), lambda a: torch.linalg.vector_norm(a, math.inf, 0),
        lambda a: a.norm(p=3, dim=1),
        lambda a: torch.linalg.vector_norm(a, 0), lambda a: torch.stack(list(torch.aminmax(a))), torch.trace,
        lambda a: F.normalize(a), lambda a: F.normalize(a, p=1, dim=0),
        lambda a: a.renorm(2, 0, 5.0), lambda a: a.renorm(1, -1, 9.0), lambda a: a.renorm(math.inf, 1, 0),
        lambda a: a / a.sum(1, keepdim=True).clamp(min=1),
    ):  # fmt: skip
        agree(f, d)
    empty = scorch.sparse(torch.zeros(3, 4), "csr")
    assert empty.sum() == 0 and empty.amax() == 0 and empty.amin(1).tolist() == [0, 0, 0]


def test_reductions_of_extents_without_entries():
    a = scorch.sparse(torch.zeros(0, 1, 4), "csr")
    same(a.prod(0, keepdim=True), torch.ones(1, 1, 4))
    same(a.sum(0), torch.zeros(1, 4))
    for f in (torch.amax, torch.amin, torch.max):
        with pytest.raises(ValueError, match="expected entries to reduce"):
            f(a)
    with pytest.raises(ValueError, match="expected entries to reduce"):
        torch.linalg.vector_norm(a, -1)
    for shape in ((3, 0), (0, 5), (0, 0), (2, 0, 3)):
        for order in (1, math.inf):
            agree(
                lambda a, p=order: torch.linalg.matrix_norm(a, p), torch.ones(shape), formats=["coo", "csr"]
            )
    d = matrix() != 0
    for f in (torch.any, torch.all):
        same(f(scorch.sparse(d), dim=()), f(d, dim=()))


def test_renorm_is_sparse():
    agree(lambda a: a.renorm(2, 1, 3.0), cube(), formats=CUBES)
    a = scorch.coo(torch.tensor([[0, 3], [1, 2]]), torch.tensor([3.0, 0.5]), (300_000, 300_000))
    b = a.requires_grad_().renorm(2, 0, 1.0)
    b.sum().backward()
    assert b.format == a.format and b.values().tolist() == pytest.approx([1, 0.5])
    assert a.grad.values().tolist() == pytest.approx([0, 1], abs=1e-6)
    same(scorch.sparse(matrix().half()).renorm(2, 0, 5.0), matrix().half().renorm(2, 0, 5.0))
    for wrong in ((0, 0, 1.0), (2, 0, -1.0)):
        with pytest.raises(ValueError, match="renorm: expected"):
            a.renorm(*wrong)


def test_powers_by_tensors():
    d, row = matrix(), torch.arange(1, 7) / 2
    for exponent in (torch.tensor([2.0]).double(), row, row.expand(8, 6), torch.tensor(3), np.bool_(True)):
        agree(lambda a, e=exponent: a.abs() ** e, d)
        agree(lambda a, e=exponent: torch.float_power(a.abs(), e), d.float())
    r = row.double().requires_grad_()
    (scorch.sparse(d.abs()) ** r).sum().backward()
    q = row.double().requires_grad_()
    (d.abs() ** q).sum().backward()
    same(r.grad, q.grad)
    for exponent in (torch.zeros(6), -row, scorch.sparse(d), 0, 2j):
        with pytest.raises(NotImplementedError, match="positive exponents only"):
            scorch.sparse(d) ** exponent


def test_powers_by_a_batch_of_exponents():
    d, rows = matrix().abs(), torch.arange(1.0, 13).reshape(2, 6).remainder(4) + 1
    powers = lambda a: torch.vmap(lambda x: torch.pow(a, x) @ torch.ones(6).double())  # noqa: E731
    same(powers(scorch.sparse(d))(rows), powers(d)(rows))
    with pytest.raises(NotImplementedError, match="positive exponents only"):
        powers(scorch.sparse(d))(rows - 2)


def test_common_divisors_and_multiples():
    d = matrix(dtype=torch.int64)
    for f in (torch.gcd, torch.lcm):
        for other in (d.flip(0), d[:1] + 1, torch.tensor(6)):
            agree(lambda a, f=f, b=other: f(a, b), d)
            agree(lambda a, f=f, b=other: f(b, a), d)
        same(f(scorch.sparse(d), scorch.sparse(d.flip(0), "coo")), f(d, d.flip(0)))
    assert scorch.is_sparse(torch.lcm(scorch.sparse(d), d.flip(0)))


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int32, torch.int8, torch.uint8, torch.bool]
)
def test_reductions_of_all_of_any_type(dtype):
    d = matrix().abs().to(dtype)
    for x in (
        d,
        d.new_zeros(3, 4),
        d + (d == 0).to(dtype),
        -d if dtype not in (torch.uint8, torch.bool) else d,
    ):
        for f in (
            torch.sum,
            torch.prod,
            torch.nansum,
            torch.count_nonzero,
            torch.any,
            torch.all,
            torch.amax,
            torch.amin,
        ):
            if x.dtype != torch.bool or f is not torch.nansum:
                agree(f, x, formats=["csr", "csc", "coo", "ell(6)", "bsr(1,2)"])
        for dim in (0, 1):
            agree(lambda a, dim=dim: a.count_nonzero(dim), x, formats=["csr", "csc", "coo", "ell(6)"])
    for f in (torch.any, torch.all):
        agree(lambda a, f=f: f(a, dim=[]), d, formats=["csr", "csc", "coo"])
    if dtype.is_floating_point:
        d[2, 1] = math.nan
        for f in (torch.nansum, torch.nanmean, torch.amax, torch.amin, torch.prod, torch.count_nonzero):
            agree(f, d, formats=["csr", "coo", "ell(6)"])


def test_variances_about_large_means():
    d = torch.rand(1500, 1500, generator=torch.Generator().manual_seed(0)) + 100
    d[0] = 0
    for dim in (None, 0, 1):
        torch.testing.assert_close(
            scorch.sparse(d, "csr").var(dim), d.double().var(dim).float(), rtol=1e-4, atol=0
        )


def test_products_of_stored_nan_and_infinity():
    """A missing entry is a factor of zero among them."""
    d = torch.tensor([[math.nan, math.inf, 2.0, 3.0, 0.0, -2.0], [0.0, 0.0, 0.0, 4.0, 0.0, 5.0]])
    for f in (lambda a: a.prod(0), lambda a: a.prod(1), lambda a: a.prod()):
        for format in FORMATS:
            torch.testing.assert_close(f(scorch.sparse(d, format)), f(d), equal_nan=True)


def test_products_and_variances_are_rounded_once():
    d = torch.full((1, 8), 40.0, dtype=torch.float16)
    d[0, 4:] = 1 / 40
    torch.testing.assert_close(scorch.sparse(d).prod(1), d.float().prod(1).half())
    d[0, 7] = 0  # the product of the stored ones is beyond float16
    d[0, 4:7] = 40
    assert scorch.sparse(d).prod() == 0
    d = (matrix(4, 500, density=2) + 100).bfloat16()
    torch.testing.assert_close(scorch.sparse(d).var(1), d.var(1))
    agree(lambda a: a.var(1), cube(), formats=CUBES)
    with pytest.raises(TypeError, match="floating point"):
        scorch.sparse(torch.eye(3).int()).var()


LENGTHS = {
    "norm": torch.norm,
    "norm of rows": lambda a: torch.linalg.vector_norm(a, 4, 1),
    "norm of a matrix": lambda a: torch.linalg.norm(a, "fro"),
    "norm of a cube": lambda a: torch.linalg.vector_norm(torch.stack([a, a]), dim=2),
    "std": lambda a: (a * (1 - 2 * torch.eye(4, dtype=a.dtype))).std(),
    "dist": lambda a: torch.dist(a, a.to_dense() * 0),
    "normalize": lambda a: F.normalize(a, dim=1, eps=1e-6),
    "normalize a cube": lambda a: F.normalize(torch.stack([a, a]), dim=2, eps=1e-6),
    "cosine_similarity": lambda a: F.cosine_similarity(a, a * 2),
}


@pytest.mark.parametrize("f", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("size", [300.0, 1e-4])
def test_lengths_of_half_types_are_rounded_once(f, dtype, size):
    """Squares are beyond float16."""
    d = torch.full((4, 4), size, dtype=dtype)
    found, wanted = f(scorch.sparse(d)), f(scorch.sparse(d.double())).to_dense().to(dtype)
    assert found.dtype == dtype and wanted.isfinite().all() and wanted.any()
    torch.testing.assert_close(found.to_dense(), wanted, rtol=torch.finfo(dtype).eps, atol=1e-7)


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16))
def test_sums_of_many_half_values_are_rounded_once(dtype):
    """Each thread's share is beyond what the type counts one by one, where torch sums in that type."""
    values = torch.ones(200_300)
    values[100_300:] = -1
    a = scorch.sparse(values.to(dtype)[None])
    assert a.sum() == a.sum((0, 1)) == torch.tensor(300, dtype=dtype)


@pytest.mark.parametrize("foreach", [False, True])
def test_gradients_of_half_types_are_clipped(foreach):
    p = torch.nn.Parameter(scorch.sparse(torch.ones(4, 4, dtype=torch.float16)))
    p.grad = scorch.sparse(torch.full((4, 4), 300.0, dtype=torch.float16))
    assert torch.nn.utils.clip_grad_norm_([p], 1.0, foreach=foreach) == 1200
    assert p.grad.values().eq(0.25).all()


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize(("shape", "dim"), [((1, 3, 4), 0), ((2, 1, 4), 1), ((2, 3, 1), -1), ((2, 2), None)])
def test_variances_without_degrees_of_freedom(shape, dim):
    """NaN where all are the same, and where nothing is stored; else infinite."""
    d = matrix(2, 12).view(-1)[: math.prod(shape)].view(shape)
    n = d.numel() if dim is None else d.shape[dim]
    for f in (torch.var, torch.std):
        agree(lambda a, f=f: f(a, dim, correction=n, keepdim=True), d, formats=["coo", "auto"])
        agree(lambda a, f=f: f(a, dim, correction=n - 0.5), d, formats=["coo", "auto"])
    agree(lambda a: torch.var_mean(a, dim, correction=n), d, formats=["coo", "auto"])


@pytest.mark.parametrize("fmt", ["csr", "csc", "coo", "dcsc", "ell(6)"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_over_stored_entries(fmt, dim):
    d = matrix()
    lowered = torch.where(d != 0, d, -math.inf)
    wanted = torch.softmax(lowered, dim).nan_to_num(0)
    a = scorch.sparse(d, fmt)
    for f in (torch.softmax, F.softmax, torch.sparse.softmax, scorch.softmax):
        same(f(a, dim), wanted)
    same(a.softmax(dim), wanted)
    same(scorch.map(F.log_softmax(a, dim), torch.exp), wanted)
    same(F.softmax(a.float(), dim, dtype=torch.float64), wanted)
    assert torch.softmax(a, dim).format == a.format
    same(torch.softmax(scorch.sparse(d.bfloat16(), fmt), dim).double(), wanted.bfloat16().double())


def test_dropout():
    a = scorch.sparse(torch.ones(50, 50), "csr")
    b = F.dropout(a, 0.5)
    assert set(b.values().unique().tolist()) == {0.0, 2.0} and b.crd(1).data_ptr() == a.crd(1).data_ptr()
    assert F.dropout(a, 0.5, training=False) is a and torch.nn.Dropout(0.3).eval()(a) is a


def test_functions_in_place_by_their_argument():
    d = matrix()
    for f in (lambda a: F.relu(a, inplace=True), lambda a: F.leaky_relu(a, 0.1, inplace=True)):
        a = scorch.sparse(d, "csr")
        assert f(a) is a
        same(a, f(d.clone()))
    a = scorch.sparse(torch.ones(50, 50), "csr")
    assert F.dropout(a, 0.5, inplace=True) is a and set(a.values().unique().tolist()) == {0.0, 2.0}
    tracked = scorch.sparse(d).requires_grad_()
    for f in (lambda a: F.relu(a, inplace=True), lambda a: F.dropout(a, inplace=True)):
        with pytest.raises(NotImplementedError, match="in place"):
            f(tracked)
    same(tracked.detach(), d)
    kinds = "compressed(0, nonunique), singleton(1, nonunique)"
    crd = torch.tensor([0, 0]), torch.tensor([1, 1])
    twice = scorch.from_components(kinds, (1, 2), [torch.tensor([0, 2]), None], crd, torch.tensor([1.0, -2]))
    with pytest.raises(ValueError, match="coalesce"):
        F.relu(twice, inplace=True)
    with pytest.raises(TypeError, match="dim="):
        F.softmax(a)


def test_every_method_says_what_it_does():
    undocumented = [
        name
        for name, method in vars(scorch.SparseTensor).items()
        if callable(method) and (not name.startswith("_") or name == "__matmul__") and not method.__doc__
    ]
    assert undocumented == []


# ---- indexing ----
@pytest.mark.parametrize(
    "index",
    [
        0, -1, (3, 2), (-1, -6), slice(2, 5), slice(None, None, 3), slice(5, 2), (slice(None), 1),
        (slice(1, 7, 2), slice(2, 5)),
        (2, slice(1, 4)), None, (None, 2), (slice(None), None), Ellipsis, (Ellipsis, 2), (Ellipsis, None),
        (0, Ellipsis),
        torch.tensor([3, 0, 3, -1]), [1, 2], (slice(None), torch.tensor([5, 0, 0])), (slice(2, 8), [1, 3]),
        torch.tensor([True, False] * 4), (slice(None), torch.arange(6) > 2),
        torch.tensor([], dtype=torch.long),
        (torch.tensor([1, 2, 0]), torch.tensor([5, 0, 1])), (torch.tensor([[1], [2]]), torch.tensor([5, 0])),
        (3, [1, 2]),
        np.array([4, 4]), (slice(None), slice(None, None, 2)), (torch.tensor([2, 1]), 3), torch.tensor(3),
        torch.tensor([[3, 0], [3, -1]]), (slice(2, 8), [[1], [3]]), torch.zeros(0, 2, dtype=torch.long),
        (torch.tensor(3), None), (slice(None), torch.tensor(3), None), (torch.tensor(3), 1, None),
        (1, None, -1),
    ],
)  # fmt: skip
def test_indexing_a_matrix(index):
    agree(lambda a: a[index], matrix())


@pytest.mark.parametrize(
    "index",
    [
        0, (0, 1), (0, 1, 2), (slice(None), 1), (Ellipsis, 3), slice(1, 3),
        (slice(None), slice(1, 4, 2), slice(0, 4)),
        torch.tensor([2, 0, 2]), (1, torch.tensor([3, 3])), (slice(None), slice(None), torch.tensor([4, 0])),
        (1, slice(None), 2), (None, 1), (slice(None), None, 2),
        (slice(None), torch.tensor([True, False, True, True])),
        (1, None, slice(None), torch.tensor([[4, 0]])), (slice(None), torch.tensor([[[2], [0]]])),
        (torch.tensor(1), None, 2), (Ellipsis, torch.tensor(1), None, [4, 0]),
    ],
)  # fmt: skip
def test_indexing_a_cube(index):
    agree(lambda a: a[index], cube(), formats=CUBES)


class _Two:
    def __index__(self):
        return 2


@pytest.mark.parametrize(
    "index", [matrix().numpy() > 2, (None, _Two()), (np.int64(2), np.array(4)), (_Two(), slice(1, _Two()))]
)
def test_indices_of_other_kinds(index):
    agree(lambda a: a[index], matrix())
    d, a = matrix(), scorch.sparse(matrix())
    d[index] = a[index] = 0
    same(a, d)


@pytest.mark.parametrize("index", [True, False, torch.tensor(True), np.True_, (slice(None), False)])
def test_indices_that_would_be_new_dimensions(index):
    for use in (lambda a: a[index], lambda a: a.__setitem__(index, 0)):
        with pytest.raises(IndexError, match=r"a new dimension, of 1 or 0: use A\[None\] or A\[None\]\[:0\]"):
            use(scorch.sparse(matrix()))


def test_what_is_cut_and_joined_of_dense_levels_is_sparse():
    cut = (
        lambda a: a[1:3], lambda a: a[[2, 0]], lambda a: a[torch.tensor([True, False, True])],
        lambda a: a.narrow(1, 1, 1), lambda a: a.flip(0), lambda a: a.roll(1, 1), lambda a: torch.cat([a, a]),
        torch.tril, lambda a: F.pad(a, (1, 0)).index_fill(0, torch.tensor([1]), 2),
    )  # fmt: skip
    for d in (matrix(3), cube(), matrix(12, 4).view(3, 2, 2, 4)):
        for f in cut:
            a = f(scorch.sparse(d, "dense"))
            assert scorch.is_sparse(a) and a.format == scorch.Format("dense")
            same(a, f(d))
        agree(lambda a: a.unfold(0, 2, 1), d, formats=["dense"])
    to_dense = torch.compile(lambda a: a.convert("dense"), backend="aot_eager")
    assert to_dense(scorch.sparse(d, "csf")).format == scorch.Format("dense")


def test_indexing_keeps_the_format_and_shares_memory():
    d = matrix(20, 30)
    a = scorch.sparse(d, "csr")
    assert a[2:5].format == scorch.Format("csr") and a.T[:, 2:5].format == scorch.Format("csc")
    start = int(a.pos(1)[2])
    assert a[2:5].crd(1).data_ptr() == a.crd(1)[start:].data_ptr()
    same(a[2:5] @ torch.ones(30, 2, dtype=d.dtype), d[2:5] @ torch.ones(30, 2, dtype=d.dtype))
    same(a[[3, 3, 1]].T @ torch.ones(3, dtype=d.dtype), d[[3, 3, 1]].T @ torch.ones(3, dtype=d.dtype))
    same(scorch.sparse(d, "bsr(2,3)")[1:4, 2:7], d[1:4, 2:7])
    assert [row.nnz for row in a] == (d != 0).sum(1).tolist() and len(a) == 20
    mask = d > 2
    same(a[mask], d[mask])
    same(a[scorch.sparse(mask, "coo")], d[mask])
    assert scorch.sparse(torch.eye(3))[1, 1].item() == 1


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,), (1, 1), (5,), (2, 3, 0), (2, 1, 3, 2)])
@pytest.mark.parametrize("fmt", ["coo", "csf", "dense"])
def test_other_shapes(shape, fmt):
    d = torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(0)).double()
    last, ones = len(shape) - 1, torch.ones(shape[-1], dtype=d.dtype)
    for f in (
        lambda a: a + torch.flip(a, (0,)), lambda a: a * torch.flip(a, (0,)), lambda a: a.sum(0),
        lambda a: a.any(),
        lambda a: a.sum(-1, keepdim=True), lambda a: a.all(), lambda a: torch.cat([a, a], -1),
        lambda a: a[:1],
        lambda a: torch.stack([a, a]), lambda a: a.flatten(), lambda a: a[None], lambda a: a.squeeze(),
        lambda a: a * ones,
        lambda a: a + ones, lambda a: a.permute(*reversed(range(last + 1))) * 2, lambda a: a.norm(),
        lambda a: a > 1,
        lambda a: a[torch.ones(shape, dtype=torch.bool)], lambda a: a.repeat([2] * (last + 1)),
        lambda a: a.narrow(0, 0, 0),
        lambda a: a.index_select(last, torch.tensor([], dtype=torch.long)), lambda a: a.count_nonzero(),
        lambda a: a @ ones,
    ):  # fmt: skip
        agree(f, d, formats=[fmt])
    a = scorch.sparse(d, fmt)
    assert torch.equal(d[tuple(a.indices().long())], a.values())


def test_a_sparse_mask_of_a_dense_tensor():
    """Also one of the first dimensions alone."""
    d, mask = matrix(), matrix(seed=3) > 0
    for x in (d, d[..., None].expand(8, 6, 2)):
        assert torch.equal(x[scorch.sparse(mask, "csc")], x[mask])
    with pytest.raises(NotImplementedError, match="index"):
        d[scorch.sparse(mask.long())]


def test_index_errors():
    a = scorch.sparse(matrix(), "csr")
    for index in (8, (0, 6), -9, torch.tensor([8]), torch.tensor([True]), (0, 0, 0), 1.5, "x"):
        with pytest.raises((IndexError, TypeError, ValueError)):
            a[index]
    with pytest.raises(NotImplementedError, match="one dimension at a time"):
        scorch.sparse(cube())[torch.tensor([1]), :, torch.tensor([2])]
    with pytest.raises(ValueError, match="step"):
        a[::-1]
    with pytest.raises(ValueError, match="values"):
        a[0] = 1


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_parts(dim):
    for f in (
        lambda a: torch.select(a, dim, 2), lambda a: a.narrow(dim, 1, 4),
        lambda a: torch.narrow(a, dim, 0, 0),
        lambda a: torch.index_select(a, dim, torch.tensor([3, 0, 3])), lambda a: torch.unbind(a, dim),
        lambda a: torch.split(a, 3, dim), lambda a: a.split([1, 2, a.shape[dim] - 3], dim),
        lambda a: a.chunk(4, dim),
        lambda a: torch.tensor_split(a, 4, dim), lambda a: torch.tensor_split(a, (1, 4), dim),
    ):  # fmt: skip
        agree(f, matrix())


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0,), (2, 0, 3)])
def test_parts_of_nothing(shape):
    dim = shape.index(0)
    for n in (1, 2, 3):
        agree(lambda a, n=n: a.chunk(n, dim), torch.ones(shape), formats=["coo", "auto"])
        agree(lambda a, n=n: a.tensor_split(n, dim), torch.ones(shape), formats=["coo", "auto"])
        agree(lambda a, n=n: a.split(n - 1, dim), torch.ones(shape), formats=["coo", "auto"])


@pytest.mark.parametrize("n", [2**50, 2**63, 2**64])
def test_more_parts_than_there_is_memory_for(n):
    with pytest.raises(MemoryError, match=f"out of memory: {n} pieces"):
        scorch.sparse(torch.eye(4)).tensor_split(n)


# ---- joining and rearranging ----
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat_and_stack(dim):
    d = matrix()
    empty = torch.empty(0, dtype=torch.float64)
    agree(lambda a: torch.cat([scorch.sparse(empty) if scorch.is_sparse(a) else empty, a], dim), d)
    agree(lambda a: torch.cat([a, a.T.T, a], dim), d)
    agree(lambda a: torch.stack([a, a], dim), d)
    agree(lambda a: torch.cat([a, a], dim), cube(), formats=CUBES)
    agree(lambda a, b: torch.cat([a, b], 1 - dim % 2), matrix(4, 6), matrix(4, 6, seed=2))
    mixed = [scorch.sparse(d, "csr"), scorch.sparse(2 * d, "coo"), scorch.sparse(d.float(), "csc")]
    same(torch.cat(mixed, dim), torch.cat([d, 2 * d, d], dim))
    same(torch.cat([scorch.sparse(d), d], dim), torch.cat([d, d], dim))
    assert not scorch.is_sparse(torch.cat([scorch.sparse(d), d], dim))
    with pytest.raises(ValueError):
        torch.cat([mixed[0], mixed[0][1:, 1:]], dim)


def test_batches_with_unequal_nnz():
    d = cube()
    parts = [scorch.sparse(x, "csr") for x in d]
    assert len({p.nnz for p in parts}) > 1
    batch = torch.stack(parts)
    assert batch.format == scorch.Format(["dense", "dense", "compressed"])
    same(batch, d)
    same(batch[1], d[1])
    x = torch.ones(3, 5, 2, dtype=d.dtype)
    same(torch.bmm(batch, x), torch.bmm(d, x))
    same(batch @ x, d @ x)
    same(scorch.collate(parts), d)


def test_rearranging():
    for f in (
        lambda a: a.reshape(4, 12), lambda a: a.reshape((-1,)), lambda a: torch.flatten(a),
        lambda a: a.reshape(2, 4, -1),
        lambda a: a.unflatten(0, (2, -1)), lambda a: a.unsqueeze(0), lambda a: a.unsqueeze(-1),
        lambda a: a.unsqueeze(1),
        lambda a: a[None, :, None].squeeze(), lambda a: a[None].squeeze(0), lambda a: a.squeeze(1),
        lambda a: a.T, lambda a: a.mT,
        lambda a: torch.swapaxes(a, 0, 1), lambda a: a.movedim(0, 1), lambda a: torch.flip(a, (0,)),
        lambda a: a.flip(0, 1),
        lambda a: torch.roll(a, 2, 0), lambda a: torch.roll(a, (1, -2), (0, 1)), lambda a: torch.roll(a, 3),
        lambda a: a.repeat(2, 3),
        lambda a: torch.tile(a, (2,)), lambda a: torch.tril(a), lambda a: torch.triu(a, 1),
        lambda a: a.tril(-2), lambda a: a.diagonal(),
        lambda a: torch.diagonal(a, -1), lambda a: torch.diag(a, 2), torch.fliplr, torch.flipud,
        lambda a: a.adjoint(),
        lambda a: torch.hstack([a, a]), lambda a: torch.vstack([a, a[0]]), lambda a: torch.dstack([a, a]),
        lambda a: torch.block_diag(a, a.T), lambda a: torch.block_diag(a[0], a),
        lambda a: torch.kron(a, a), lambda a: torch.empty_like(a).zero_(),
        torch.zeros_like, torch.ones_like, lambda a: torch.full_like(a, 2), lambda a: a.new_ones(3),
    ):  # fmt: skip
        agree(f, matrix())
    for f in (
        lambda a: a.permute(2, 0, 1), lambda a: a.movedim((0, 1), (2, 0)), lambda a: a.flatten(1),
        lambda a: a.flatten(0, 1),
        lambda a: a.diagonal(1, 1, 2), lambda a: torch.diagonal(a, 0, 0, 2), lambda a: a.tril(),
        lambda a: a[:, :1].squeeze(1),
        lambda a: a.transpose(0, 2).reshape(5, 12), lambda a: a.sum(2, keepdim=True),
        lambda a: a.tile((2, 1, 1)),
    ):  # fmt: skip
        agree(f, cube(), formats=CUBES)


@pytest.mark.parametrize("fmt", ["csr", "csc", "coo", "dcsr", "dcsc", "bsr(2,3)", "bitmask"])
def test_a_block_diagonal_keeps_the_format(fmt):
    d, row = matrix(), torch.ones(3, dtype=torch.float64)
    a = scorch.sparse(d, fmt)
    for rest in ([a, a], [a.to(torch.float32)], [scorch.sparse(d, "csr"), row, scorch.sparse(row), d]):
        made = torch.block_diag(a, *rest)
        same(made, torch.block_diag(d, *map(plain, rest)))
        assert made.format == a.format
    same(torch.block_diag(row, a), torch.block_diag(row, d))


@pytest.mark.parametrize("fmt", ["coo", "dense"])
def test_a_block_diagonal_of_vectors_alone(fmt):
    """They are rows of a matrix whose format none of them gives."""
    d, e = torch.tensor([1.0]), torch.tensor([0.0, 2.0])
    a, b = scorch.sparse(d, fmt), scorch.sparse(e, fmt)
    for given in ([a, b], [a], [a, e]):
        same(torch.block_diag(*given), torch.block_diag(*map(plain, given)))


@pytest.mark.parametrize("n", [2, 40])
@pytest.mark.parametrize(
    "join", [torch.block_diag, lambda *ts: torch.cat(ts), lambda *ts: torch.stack(ts, -3)]
)
def test_joins_of_few_and_of_many_matrices(join, n):
    """Of types and indices that differ, some empty, with gradients."""
    dense = [torch.randint(-3, 4, (3, 4)) * (k % 3 != 1) for k in range(n)]
    dense = [d.to((torch.float64, torch.float32)[k % 2]) for k, d in enumerate(dense)]
    if join is torch.block_diag:
        dense = [d[: k % 4, : (k + 1) % 5] for k, d in enumerate(dense)]
    kinds = (torch.int32, torch.int64)
    sparse = [scorch.sparse(d, "csr", index_dtype=kinds[k % 2]) for k, d in enumerate(dense)]
    sparse, dense = ([x.requires_grad_() for x in xs] for xs in (sparse, dense))
    made, wanted = join(*sparse), join(*dense)
    assert str(made.format) == "csr" and made.index_dtype == torch.int64
    same(made, wanted)
    weight = torch.arange(wanted.numel()).view(wanted.shape) % 7
    (made.to_dense() * weight).sum().backward()
    (wanted * weight).sum().backward()
    for x, d in zip(sparse, dense, strict=True):
        assert x.grad is None or torch.equal(x.grad.to_dense(), d.grad * (d != 0))


TURNS = [
    lambda a: a.flip(0), lambda a: a.flip(1), lambda a: a.flip(0, 1), lambda a: a.roll(1),
    lambda a: a.roll(-7), lambda a: a.roll(3, 0), lambda a: a.roll((1, -2, 4), (0, -1, 0)),
]  # fmt: skip


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("fmt", ["csr", "csc", "coo", "dcsc", "bsr(2,3)", "bitmask"])
def test_turns_keep_the_format_and_copy(fmt, index):
    for d in (matrix(), matrix(dtype=torch.int8), torch.zeros(8, 6), torch.eye(6)[:2]):
        for f in TURNS:
            a = scorch.sparse(d, fmt, index_dtype=index)
            made = f(a)
            same(made, f(d))
            assert made.format == a.format and made.index_dtype == index
            made.values().zero_()
            same(a, d)
    a, d = scorch.sparse(matrix(), fmt).requires_grad_(), matrix().requires_grad_()
    for f in TURNS:
        for x in (a, d):
            (plain(f(x)) * torch.arange(48.0).view(8, 6)).sum().backward()
    same(a.grad, d.grad * scorch.map(a.detach(), torch.ones_like).to_dense())


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64, torch.int8, torch.bool])
def test_diagonals(dtype):
    functions = [torch.diagonal, torch.diag, lambda a: a.T.diagonal(), lambda a: a.diagonal(-2), torch.trace]
    for f in functions[: -1 if dtype == torch.bool else None]:  # which torch has no trace of
        for d in (matrix(6, dtype=dtype), matrix(dtype=dtype), torch.zeros(0, 0, dtype=dtype)):
            agree(f, d, formats=[fmt for fmt in FORMATS if d.shape[0] or "(" not in fmt])
    twice = scorch.coo([[0, 0, 1], [0, 0, 0]], torch.tensor([1, 1, 1]).to(dtype), (2, 2))
    same(twice.diagonal(), twice.to_dense().diagonal())


# ---- products ----
def test_products_under_other_names():
    d, x = matrix(), matrix(6, 4, seed=2, density=2)
    m = matrix(8, 4, seed=3, density=2)
    for fmt in FORMATS:
        a = scorch.sparse(d, fmt)
        same(torch.addmm(m, a, x, beta=2, alpha=3), torch.addmm(m, d, x, beta=2, alpha=3))
        same(torch.addmv(m[:, 0], a, x[:, 0]), torch.addmv(m[:, 0], d, x[:, 0]))
        same(torch.mv(a, x[:, 0]), d @ x[:, 0])
        same(torch.linalg.multi_dot([a, x, x.T]), d @ x @ x.T)
        same(torch.inner(a, x.T), torch.inner(d, x.T))
        same(torch.einsum("ij,jk", a, x), d @ x)


def test_products_into_a_result():
    d, x = matrix(), matrix(6, 4, seed=2, density=2)
    a = scorch.sparse(d, "csr")
    for f in (
        lambda a, x, out: torch.inner(a, x.T, out=out),
        lambda a, x, out: torch.linalg.multi_dot([a, x], out=out),
        lambda a, x, out: torch.linalg.multi_dot([torch.eye(8).double(), a, x], out=out),
        lambda a, x, out: torch.matmul(a, x, out=out),
    ):
        out = torch.full((8, 4), 7.0, dtype=d.dtype)
        assert f(a, x, out) is out
        same(out, d @ x)


def test_products_with_what_is_no_tensor():
    d = matrix()
    a, x = scorch.sparse(d, "csr"), np.ones((6, 2))
    same(a @ x, d @ torch.from_numpy(x))
    same(a @ x.tolist(), (d @ torch.from_numpy(x)))
    same(a @ scipy.sparse.csr_array(x), d @ torch.from_numpy(x))
    for wrong in (None, "x", {}):
        with pytest.raises(TypeError, match="unsupported operand"):
            a @ wrong


def test_numbers_of_one_entry():
    one = scorch.sparse(torch.tensor([[5.0]]))
    assert one.item() == 5 and float(one) == 5 and int(one) == 5 and bool(one)
    assert scorch.sparse(torch.zeros(1, 1)).item() == 0
    with pytest.raises(RuntimeError, match="48 elements"):
        scorch.sparse(matrix()).item()


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4, 5), (1, 5, 2)), ((1, 4, 5), (3, 5, 2)), ((3, 4, 5), (5, 2)), ((4, 5), (3, 5, 2)),
        ((1, 4, 5), (1, 5, 2)), ((2, 1, 4, 5), (3, 5, 2)), ((5,), (3, 5, 2)), ((3, 4, 5), (5,)),
        ((2, 1, 3, 4, 5), (2, 1, 5, 2)),
    ],
)  # fmt: skip
def test_batch_dimensions_broadcast(left, right):
    g = torch.Generator().manual_seed(0)
    d, e = (torch.randint(-1, 2, shape, generator=g).double() for shape in (left, right))
    for fmt in ("csr", "coo") if len(left) > 1 else ("coo",):
        a, b = scorch.sparse(d, fmt), scorch.sparse(e, "csr" if len(right) > 1 else "coo")
        same(a @ e, d @ e)
        same(d @ b, d @ e)
        same(a @ b, d @ e)


def test_products_at_stored_places():
    d = matrix()
    q, k = matrix(8, 3, seed=2, density=2), matrix(6, 3, seed=3, density=2)
    for fmt in FORMATS:
        a = scorch.sparse(d, fmt)
        same(scorch.sddmm(a, q, k), d * (q @ k.T))
        if "bsr" not in fmt:
            wanted = 2 * (q @ k.T) * (d != 0) + 3 * d
            same(torch.sparse.sampled_addmm(a, q, k.T, beta=3, alpha=2), wanted)
    batch = scorch.sparse(cube(), "csr")
    same(scorch.sddmm(batch, torch.ones(3, 4, 2).double(), torch.ones(3, 5, 2).double()), 2 * cube())
    with pytest.raises(ValueError, match="K"):
        scorch.sddmm(scorch.sparse(d), q, q)


def test_division_by_a_sparse_tensor():
    a, b = (scorch.sparse(torch.tensor(rows), "csr") for rows in ([[4.0, 0], [3, 8]], [[2.0, 5], [0, 4]]))
    for wrong in (lambda: a / b, lambda: a / a, lambda: 1 / a, lambda: torch.ones(2, 2) / a):
        with pytest.raises(NotImplementedError, match="divides by zero where nothing is stored"):
            wrong()
    both = scorch.evaluate("C[i,j] = A[i,j] / B[i,j]", A=a, B=b, implicit="skip")
    torch.testing.assert_close(both.to_dense(), torch.tensor([[2.0, 0], [0, 2]]))


def calls_of_lists():
    """Functions of torch.foreach, and what they may be called with beside a first list; b: a second one."""
    for name in torch.foreach.__all__:
        for others in ("", (2.0,), ([2.0, 3.0],), "b", "bb", ("b", 0.5)):
            yield name, lambda a, b, o=others: (a, *(b if x == "b" else x for x in o))


@pytest.mark.needs("2.15")
def test_functions_of_lists():
    """They are those of each tensor: right or refused, and in place of what is stored."""
    right = set()
    for name, arguments in calls_of_lists():
        f = getattr(torch.foreach, name)
        a, b = [[matrix(6, 6, k), matrix(6, 6, k + 1)] for k in (1, 3)]
        x, y = ([scorch.sparse(d) for d in ds] for ds in (a, b))
        stored = [d != 0 for d in a]
        try:
            wanted = f(*arguments(a, b))
            got = f(*arguments(x, y))
        except (TypeError, RuntimeError, ValueError):
            continue
        if name.endswith("_"):
            assert got is x
            wanted = [torch.where(m, w, 0.0) for w, m in zip(wanted, stored, strict=True)]
        same([*got], [*wanted])
        right.add(name)
    assert len(right) > 70, sorted(right)


@pytest.mark.needs("2.15")
def test_arguments_of_functions_of_lists():
    a, b = [matrix(seed=k) for k in (1, 2)], [matrix(seed=k) for k in (3, 4)]
    x, y = [scorch.sparse(d) for d in a], [scorch.sparse(d) for d in b]
    same(torch.foreach.add(x, b, alpha=2.0), torch.foreach.add(a, b, alpha=2.0))
    values = torch.tensor([2.0, 3.0])
    same(torch.foreach.addcmul(x, y, b, value=values), torch.foreach.addcmul(a, b, b, value=values))
    same(torch.foreach.norm(x, ord=1), torch.foreach.norm(a, ord=1))
    with pytest.raises(ValueError, match="lists of one length, got"):
        torch.foreach.add(x, y[:1])


@pytest.mark.parametrize("form", ["coo", "dcsr", "dcsc", "csc", "csr"])
def test_reshape_keeps_the_format(form):
    d = torch.arange(24.0).reshape(6, 4) * (torch.arange(24).reshape(6, 4) % 3 == 0)
    y = scorch.sparse(d, form).reshape(4, 6)
    assert y.format == form and torch.equal(y.to_dense(), d.reshape(4, 6))
    assert scorch.sparse(d, form).reshape(2, 3, 4).to_dense().equal(d.reshape(2, 3, 4))


@pytest.mark.parametrize("form", ["coo", "dcsr", "dcsc"])
def test_reshape_of_hypersparse_matrices(form):
    n = 2**33
    a = scorch.coo(torch.tensor([[1, n - 1], [5, n // 16 - 1]]), torch.ones(2), (n, n // 16), format=form)
    y = a.reshape(2 * n, n // 32)
    assert y.format == form and y.convert("coo").indices().tolist() == [[2, 2 * n - 1], [5, n // 32 - 1]]
    wide = scorch.coo(torch.tensor([[1], [5]]), torch.ones(1), (n, 10), format="csc").reshape(10, n)
    assert wide.format == "csr" and wide.indices().tolist() == [[0], [15]]


@pytest.mark.parametrize("layers", (1, 2))
def test_an_lstm_takes_sparse_sequences(layers):
    x = torch.randn(4, 6, 8) * (torch.rand(4, 6, 8) < 0.4)
    model, ours, theirs = (
        torch.nn.LSTM(8, 5, layers),
        scorch.sparse(x).requires_grad_(),
        x.clone().requires_grad_(),
    )
    (y, (h, c)), (z, states) = model(ours), model(theirs)
    torch.testing.assert_close((y, h, c), (z, *states))
    y.sum().backward(), z.sum().backward()
    torch.testing.assert_close(ours.grad.to_dense(), theirs.grad * (x != 0))

"""What code written for torch's own sparse and dense tensors does with a SparseTensor."""

import operator
from decimal import Decimal
from fractions import Fraction

import pytest
import torch
import torch.nn.functional as F
from test_surface_functions import FORMATS, agree, cube, matrix, plain, same

import scorch

INDICES = torch.tensor([[3, 0, 3, 1, 0], [4, 1, 4, 0, 0]])
VALUES = torch.tensor([1.0, 2.0, 3.0, 4.0, -5.0])


# ---- comparing ----
@pytest.mark.parametrize("format", FORMATS)
def test_what_is_not_close_is_told_as_of_dense_tensors(format):
    a, close = scorch.sparse(matrix(), format), torch.testing.assert_close
    close(a, a.clone())
    close(a, plain(a))
    for pair in ((a, 2 * a), (a, plain(2 * a)), (plain(a), 2 * a)):
        with pytest.raises(AssertionError) as ours:
            close(*pair)
        with pytest.raises(AssertionError) as torchs:
            close(*map(plain, pair))
        assert str(ours.value) == str(torchs.value)


@pytest.mark.parametrize(
    "call, advice",
    [
        (lambda a: a.t_(), "A.T"),
        (lambda a: a.transpose_(0, 1), "new tensor"),
        (lambda a: a.unsqueeze_(0), "new tensor"),
        (lambda a: torch.hspmm(a, torch.ones(a.shape[1], 2)), "A @ X"),
        (lambda a: torch.sspaddmm(a, a, a.to_dense()), r"input \+ A @ X"),
    ],
)
def test_what_torchs_own_layouts_have_is_answered_with_what_is_here(call, advice):
    with pytest.raises(NotImplementedError, match=advice):
        call(scorch.sparse(matrix(), "csr"))


# ---- lists of coordinates ----
@pytest.mark.parametrize("format", ["auto", "csr", "coo", "csc", "dcsr", "bsr(2,5)", "ell(3)"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.int64, torch.int8])
def test_coordinates_in_any_order(format, dtype):
    values = VALUES.to(dtype)
    made = scorch.coo(INDICES, values, (4, 5), format)
    wanted = torch.sparse_coo_tensor(INDICES, values, (4, 5), check_invariants=True).to_dense()
    assert str(made.format) == ("csr" if format == "auto" else format) and made.index_dtype == torch.int32
    same(made, wanted)
    assert scorch.coo(INDICES, values, index_dtype=torch.int64).index_dtype == torch.int64


def test_coordinates_of_other_ranks():
    assert scorch.coo([[1, 0]], [1.0, 2.0], (3,)).to_dense().tolist() == [2, 1, 0]
    assert str(scorch.coo(torch.zeros(3, 1).long(), torch.ones(1)).format) == "csf"
    assert scorch.coo(torch.empty(2, 0), torch.empty(0), (3, 4)).nnz == 0
    assert scorch.coo(INDICES, VALUES).shape == (4, 5)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_coordinates_are_differentiable_in_values(format):
    def total(make):
        values = VALUES.clone().requires_grad_()
        (make(values) * torch.arange(20.0).view(4, 5)).sum().backward()
        return values.grad

    wanted = total(lambda v: torch.sparse_coo_tensor(INDICES, v, (4, 5), check_invariants=True).to_dense())
    same(total(lambda v: scorch.coo(INDICES, v, (4, 5), format)), wanted)
    x = torch.arange(5.0)
    f = torch.func.grad(lambda v: (scorch.coo(INDICES, v, (4, 5), format) @ x).sum())
    same(f(VALUES), x[INDICES[1]])


@pytest.mark.parametrize(
    "error, message, args",
    [
        (ValueError, r"indices\[1, 0\]: expected 0 <= index < 4, got 4", (INDICES, VALUES, (4, 4))),
        (ValueError, r"indices\[0, 1\]: expected 0 <= index < 4, got -1", (INDICES - 1, VALUES, (4, 5))),
        (ValueError, r"values: expected shape \[5\]", (INDICES, VALUES[:2], (4, 5))),
        (ValueError, "expected 2 extents", (INDICES, VALUES, (4, 5, 6))),
        (ValueError, r"expected shape \[ndim, n\]", (INDICES[0], VALUES, (4,))),
        (TypeError, "expected integers", (INDICES.float(), VALUES, (4, 5))),
    ],
)
def test_malformed_coordinates(error, message, args):
    with pytest.raises(error, match=message):
        scorch.coo(*args)


# ---- names of torch.sparse ----
def test_accessors_of_torch_sparse():
    dense = matrix()
    for format, layout, names in (
        ("csr", torch.sparse_csr, ("crow_indices", "col_indices")),
        ("csc", torch.sparse_csc, ("ccol_indices", "row_indices")),
    ):
        a, t = scorch.sparse(dense, format), dense.to_sparse(layout=layout)
        for name in names:
            assert torch.equal(getattr(a, name)(), getattr(t, name)().int())
        assert (a.sparse_dim(), a.dense_dim(), a._nnz()) == (2, 0, t._nnz())
    a, t = scorch.sparse(dense, "coo"), dense.to_sparse()
    assert torch.equal(a._indices(), t._indices()) and torch.equal(a._values(), t._values())
    blocks = scorch.sparse(dense, "bsr(2,3)")
    assert torch.equal(blocks.crow_indices(), dense.to_sparse_bsr((2, 3)).crow_indices().int())
    with pytest.raises(ValueError, match=r"convert\('csc'\)"):
        a.ccol_indices()
    with pytest.raises(ValueError, match="padding"):
        scorch.sparse(dense, "ell(6)")._indices()


@pytest.mark.parametrize("format", ["csf", "coo", "csr"])
def test_numbers_of_sparse_and_dense_dimensions(format):
    a = scorch.sparse(cube(), format)
    assert (a.sparse_dim(), a.dense_dim()) == ((2, 0) if format == "csr" else (3, 0))
    hybrid = scorch.sparse(cube().to_sparse(1))
    assert (hybrid.sparse_dim(), hybrid.dense_dim()) == (1, 2)


# ---- choosing ----
@pytest.mark.parametrize(
    "f",
    [
        torch.nonzero,
        torch.argwhere,
        lambda a: torch.nonzero(a, as_tuple=True),
        lambda a: torch.where(a > 1),
        lambda a: torch.where(a > 1, a, 0.0),
        lambda a: torch.where(a > 1, 2.0, 0.0),
        lambda a: torch.where(a > 1, a, 3.0),
        lambda a: torch.where(a > 1, a, -a),
        lambda a: torch.where(a.T > 1, a.T, torch.zeros(())),
        lambda a: torch.where(matrix(seed=5) > 0, a, 0.0),
        lambda a: torch.where(matrix(seed=5) > 0, a, 1.0),
        lambda a: torch.where(matrix(seed=5)[0] > 0, a, 0.0),
        lambda a: torch.where(a > 1, matrix(seed=6), 0.0),
        lambda a: torch.where(a > 1, matrix(seed=6), a),
        lambda a: torch.where(a > 1, torch.arange(6.0).double(), a),
        lambda a: a.where(matrix(seed=5) > 0, 0),
        lambda a: torch.where(a[:, :1] > 0, a, a * 2),
        lambda a: a.int().where(a > 0, 0.5 * a),
    ],
)
def test_choosing(f):
    agree(f, matrix())


def test_choosing_between_structures():
    agree(lambda a, b, c: torch.where(c > 0, a, b), matrix(), matrix(seed=1), matrix(seed=2))
    agree(
        lambda a, b, c: torch.where(c > 0, a, b), *(cube(k) for k in range(3)), formats=["csr", "csf", "coo"]
    )
    a = scorch.sparse(matrix())
    assert torch.where(a > 1, a, 0.0).nnz == a.nnz  # the structure stays
    with pytest.raises(TypeError, match="of bool"):
        torch.where(a, a, 0.0)


def test_choosing_is_differentiable():
    mask, (x, y) = matrix(seed=5) > 0, (matrix(), matrix(seed=1))
    a, b = (scorch.sparse(v).requires_grad_() for v in (x, y))
    torch.where(mask, a, 3 * b).sum().backward()
    same(a.grad, ((x != 0) & mask).double())
    same(b.grad, 3 * ((y != 0) & ~mask).double())


def test_values_at_the_places_of_a_mask():
    for format in FORMATS:
        m = scorch.sparse(matrix(seed=3), format)
        d = matrix(seed=4, density=1.0) + 0.5
        same(d.sparse_mask(m), d * (matrix(seed=3) != 0) if "bsr" not in format else plain(d.sparse_mask(m)))
        assert d.sparse_mask(m).format == ("csr" if "+" in format else m.format)
        same(scorch.sparse(matrix(seed=4)).sparse_mask(m), plain(matrix(seed=4).sparse_mask(m)))
    x = d.clone().requires_grad_()
    x.sparse_mask(scorch.sparse(matrix(seed=3))).sum().backward()
    same(x.grad, (matrix(seed=3) != 0).double())
    with pytest.raises(ValueError, match="of shape"):
        d[:3].sparse_mask(m)


# ---- dense tensors, changed ----
@pytest.mark.parametrize("name", ["add_", "sub_", "mul_", "__iadd__", "__isub__", "__imul__"])
@pytest.mark.parametrize("format", FORMATS)
def test_dense_tensors_change_in_place(name, format):
    a, dense = scorch.sparse(matrix(), format), matrix(seed=1, density=1.0)
    for other, x in ((a, matrix()), (a[3], matrix()[3])):
        got, wanted = dense.clone(), dense.clone()
        assert getattr(got, name)(other) is got
        same(got, getattr(wanted, name)(x))
    turned = dense.T.clone().T
    same(getattr(turned, name)(a), getattr(dense.clone(), name)(matrix()))


@pytest.mark.parametrize("name", ["hypot_", "gt_", "eq_", "nextafter_", "clamp_min_", "xlogy_"])
def test_dense_tensors_take_functions_in_place(name):
    got, wanted = (matrix(seed=1, density=1.0).abs() for _ in range(2))
    assert getattr(got, name)(scorch.sparse(matrix().abs())) is got
    same(got, getattr(wanted, name)(matrix().abs()))


def test_dense_tensors_that_change():
    a, dense = scorch.sparse(matrix()), matrix(seed=1, density=1.0)
    same(dense.clone().add_(a, alpha=3), dense + 3 * matrix())
    same(dense.clone().copy_(a), matrix())
    assert torch.full((8, 6), torch.inf).mul_(a.float()).isfinite().sum() == 48 - a.nnz  # nothing annihilates
    x, y = dense.clone().requires_grad_(), scorch.sparse(matrix()).requires_grad_()
    z = 2 * x
    z += y
    (z * dense).sum().backward()
    same(x.grad, 2 * dense)
    same(y.grad, dense * (matrix() != 0))
    with pytest.raises(RuntimeError, match="int64 can hold"):
        torch.zeros(8, 6, dtype=torch.int64).add_(a)
    with pytest.raises(ValueError, match="which is changed"):
        torch.zeros(6).double().add_(a)
    with pytest.raises(NotImplementedError, match="div of a dense tensor by a SparseTensor"):
        dense.clone().div_(a)
    with pytest.raises(NotImplementedError, match="the operation that returns a result"):
        dense.clone().pow_(a)


CHANGED = {  # y [8, 8], a a matrix [8, 6], x [6, 8]
    "addmm_": lambda y, a, x: y.addmm_(a, x, beta=0.5, alpha=2),
    "addmm_ from the left": lambda y, a, x: y[:6, :6].addmm_(x, a),
    "addmv_": lambda y, a, x: y[:, 2].addmv_(a, x[:, 0]),
    "addr_": lambda y, a, x: y[:6].addr_(a.sum(0), x[0], alpha=3),
    "addbmm_": lambda y, a, x: y.addbmm_(torch.stack([a, a]), torch.stack([x, -2 * x])),
    "baddbmm_": lambda y, a, x: y[None].baddbmm_(a[None], x[None], beta=0),
    "addcmul_": lambda y, a, x: y[:, :6].addcmul_(a, a, value=2),
    "addcdiv_": lambda y, a, x: y[:, :6].addcdiv_(a, x.T + 9),
    "lerp_": lambda y, a, x: y[:, :6].lerp_(a, 0.25),
    "copysign_": lambda y, a, x: y[:, :6].copysign_(a),
    "atan2_": lambda y, a, x: y[:, :6].atan2_(a),
    "index_add_": lambda y, a, x: y[:, :6].index_add_(0, torch.arange(8).flip(0), a, alpha=2),
    "index_copy_": lambda y, a, x: y[:, :6].index_copy_(0, torch.arange(8).flip(0), a),
    "masked_scatter_": lambda y, a, x: y[:, :6].masked_scatter_((a > 0).to_dense(), a),
    "scatter_add_": lambda y, a, x: y[:, :6].scatter_add_(1, torch.arange(6).repeat(8, 1), a),
}


@pytest.mark.parametrize("name", CHANGED)
def test_dense_tensors_take_products_in_place(name):
    """Views change what they are of, and gradients are recorded."""
    found = []
    for a in (scorch.sparse(matrix()), matrix()):
        a = a.requires_grad_()
        x, y = (matrix(n, 8, seed=n, density=1.0).requires_grad_() for n in (6, 7))
        y = torch.cat([y, 2 * y[:1]])
        CHANGED[name](y, a, x)
        y.square().sum().backward()
        grad = a.grad.to_dense() if isinstance(a, scorch.SparseTensor) else a.grad * (a != 0)
        found.append([y.detach(), grad, torch.zeros(()) if x.grad is None else x.grad])
    for one, other in zip(*found, strict=True):
        same(one, other)


MASKS = "|=", "^=", "&="
METHODS = "logical_or_", "logical_xor_", "logical_and_", "bitwise_or_", "bitwise_xor_", "ne_"


@pytest.mark.parametrize(
    "change", (*(f"v {sign} f" for sign in MASKS), *(f"v.{name}(f)" for name in METHODS))
)
def test_masks_change_in_place(change):
    """A dense mask by any, a sparse one by one of what it stores."""
    v, f, within = matrix(density=1.0, seed=1) > 0, matrix() > 0, matrix() > 2
    for fmt in ("csr", "coo", "bsr(2,2)"):
        for whole, left, right in ((v, v.clone(), f), (f, scorch.sparse(matrix(), fmt) > 0, within)):
            names, wanted = {"v": left, "f": scorch.sparse(right, fmt)}, {"v": whole.clone(), "f": right}
            exec(change, names)
            exec(change, wanted)
            same(names["v"], wanted["v"])
            assert names["v"] is left
    if "and" not in change and "&" not in change:
        with pytest.raises(ValueError, match="entries that are stored here too"):
            exec(change, {"v": scorch.sparse(within), "f": scorch.sparse(f)})


def test_products_in_place_say_what_does_not_fit():
    a, x = scorch.sparse(matrix()), matrix().T
    with pytest.raises(ValueError, match=r"addmm_: expected a result \[1, 8\], got \[8, 8\]"):
        torch.ones(1, 8).double().addmm_(a, x)
    with pytest.raises(RuntimeError, match=r"addmm_: expected values that torch\.int64 can hold"):
        torch.ones(8, 8, dtype=torch.int64).addmm_(a, x)
    with pytest.raises(NotImplementedError, match="addmm_ of a SparseTensor is not available: use addmm"):
        (a @ a.T).addmm_(a, x)


# ---- sums and products ----
def test_sums_of_torch_sparse():
    dense = matrix()
    for format in FORMATS:
        a = scorch.sparse(dense, format)
        for dim in (None, 0, 1, (0, 1)):
            same(torch.sparse.sum(a, dim), dense.sum(dim))
        same(torch.sparse.sum(a, 0, dtype=torch.float32), dense.sum(0, dtype=torch.float32))


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_products_that_reduce_otherwise(reduce):
    dense, x = matrix(), matrix(6, 3, seed=1, density=1.0)
    dense[2] = 0
    for format in ("csr", "csc", "coo", "dcsr"):
        y = torch.sparse.mm(scorch.sparse(dense, format), x, reduce)
        same(y, torch.sparse.mm(dense.to_sparse_csr(), x, reduce))
    a, t = scorch.sparse(dense).requires_grad_(), dense.to_sparse_csr().requires_grad_()
    xs = [(x + torch.rand(6, 3)).requires_grad_() for _ in "ab"]
    xs[1].data = xs[0].data
    (torch.sparse.mm(a, xs[0], reduce) ** 2).sum().backward()
    (torch.sparse.mm(t, xs[1], reduce) ** 2).sum().backward()
    same(xs[0].grad, xs[1].grad)
    same(a.grad, t.grad.to_dense())


@pytest.mark.parametrize(
    ("f", "error", "said"),
    [
        (lambda a: torch.nanmean(a.long(), 1), TypeError, "nanmean: .* got torch.int64"),
        (lambda a: torch.lerp(a.long(), a.long(), 0.5), TypeError, "lerp: expected a floating point type"),
        (lambda a: torch.trace(a.unsqueeze(0)), ValueError, "trace: expected a matrix, got 3 dimensions"),
        (lambda a: a.masked_fill(a > 1, torch.ones(2, 1)), ValueError, "masked_fill: .* got 2"),
    ],
)  # fmt: skip
def test_what_torch_refuses_is_refused(f, error, said):
    with pytest.raises(error, match=said):
        f(scorch.sparse(matrix()))


def test_a_reduction_that_does_not_exist():
    with pytest.raises(ValueError, match="amax"):
        torch.sparse.mm(scorch.sparse(matrix()), matrix().T, "prod")


@pytest.mark.parametrize(
    "f",
    [
        torch.nansum, lambda a: torch.nansum(a, 1), lambda a: torch.nanmean(a, 0),
        lambda a: torch.nanmean(a.masked_fill(a > 3, torch.nan), 0),
        lambda a: torch.nansum(a.masked_fill(a > 3, torch.nan), (0, 1)),
        torch.diff, lambda a: torch.diff(a, dim=0), lambda a: a.diff(n=2), lambda a: torch.diff(a, n=9),
        lambda a: torch.diff(a, 0, 0, a[:1], a[:2]),
        lambda a: torch.quantile(a, 0.7), lambda a: a.quantile(0.2, 1),
        lambda a: torch.nanquantile(a, torch.tensor([0.3, 0.9]).double(), 0),
        lambda a: torch.diff(a, dim=0, prepend=a[:1], append=a[:2]), lambda a: (a > 1).diff(),
        lambda a: torch.diff(a, prepend=torch.ones(8, 1).double()),
        lambda a: torch.cumsum(a, 1), lambda a: a.cumsum(0), lambda a: torch.cumprod(a, 1),
        lambda a: torch.cummax(a, 0), lambda a: torch.cummin(a, -1), lambda a: a.logcumsumexp(0),
        lambda a: a.expand(3, 8, 6), lambda a: a[:1].expand(4, -1), lambda a: a[2].broadcast_to((2, 6)),
        lambda a: a.expand(8, 6), lambda a: a[3].expand_as(torch.empty(5, 6)),
        lambda a: F.pad(a, (1, 2)), lambda a: F.pad(a, (0, 0, 2, 1)), lambda a: F.pad(a, (-1, 2, 1, -3)),
        lambda a: F.pad(a, (0, -9 + 6, -2, 0), value=0.0), lambda a: torch.constant_pad_nd(a, (1, 1)),
        lambda a: torch.diag(a[1]), lambda a: torch.diag(a[1], 2), lambda a: a[1].diag(-1),
        lambda a: torch.diag_embed(a), lambda a: torch.diag_embed(a, 1, 0, 2), torch.diag,
        lambda a: torch.combinations(a[1], 3), lambda a: torch.cartesian_prod(a[0].to_dense(), a[1], a[2]),
        lambda a: torch.outer(a[1], a[2]), lambda a: torch.outer(a[1], torch.arange(3.0).double()),
    ],
)  # fmt: skip
def test_more_functions(f):
    agree(f, matrix().relu())


@pytest.mark.parametrize("batches", [True, False])
def test_running_statistics_that_are_written_are_dense(batches):
    a, ones, stored = scorch.sparse(torch.ones(3, 2, 4)), torch.ones(2), scorch.sparse(torch.eye(2)[0])
    f, native = (F.batch_norm, torch.batch_norm) if batches else (F.instance_norm, torch.instance_norm)
    numbers, flag = (0.1, 1e-5, False), "training" if batches else "use_input_stats"
    for refused in (
        lambda: f(a, stored, ones, **{flag: True}),
        lambda: f(a, ones, stored, None, None, True),
        lambda: f(a, running_mean=ones, running_var=stored, **{flag: True}),
        lambda: native(a, ones, ones, stored, ones, True, *numbers),
    ):
        with pytest.raises(NotImplementedError, match="running statistics"):
            refused()
    assert ones.eq(1).all()
    same(f(a, stored, ones, **{flag: False}), f(a.to_dense(), stored.to_dense(), ones, **{flag: False}))
    same(f(a, ones.clone(), ones, stored, **{flag: True}), torch.zeros(3, 2, 4))
    native(a, stored, stored, mean := torch.zeros(2), ones.clone(), True, *numbers)
    assert mean.gt(0).all()  # it is written


@pytest.mark.parametrize(
    "text, shapes",
    [
        ("...j,jk->...k", [(8, 6), (6, 3)]),
        ("...j,jk", [(8, 6), (6, 3)]),
        ("i...,j...->ij...", [(8, 6), (3, 6)]),
        ("...ij,...jk->...ik", [(4, 8, 6), (4, 6, 3)]),
        ("...ij,...jk->...ik", [(4, 8, 6), (6, 3)]),
        ("...ij,...jk->...ik", [(8, 6), (4, 6, 3)]),
        ("...ij,...jk->...ik", [(1, 8, 6), (4, 6, 3)]),
        ("...ij,...jk->ik", [(4, 8, 6), (1, 6, 3)]),
        ("...->...", [(8, 6)]),
        ("i...->...", [(8, 6)]),
        ("ij...,kj->ik...", [(8, 6), (3, 6)]),
    ],
)
def test_einsum_with_an_ellipsis(text, shapes):
    g = torch.Generator().manual_seed(1)
    xs = [torch.randint(-3, 4, s, generator=g).double() * (torch.rand(s, generator=g) < 0.5) for s in shapes]
    for call in (torch.einsum, scorch.einsum):
        same(call(text, scorch.sparse(xs[0]), *xs[1:]), torch.einsum(text, *xs))


def test_ellipses_that_do_not_fit():
    a = scorch.sparse(matrix())
    with pytest.raises(ValueError, match="does not fit an operand of 2 dimensions"):
        scorch.einsum("...ijk->i", a)
    with pytest.raises(ValueError, match="for 2 operands, got 1"):
        scorch.einsum("...i,i->...", a)
    with pytest.raises(ValueError, match="does not fit"):
        scorch.einsum("..i->i...", a)


# ---- what a caller meant ----
def test_errors_name_what_was_meant():
    with pytest.raises(TypeError, match=r"scorch\.coo makes one"):
        scorch.sparse(INDICES, VALUES, (4, 5))
    with pytest.raises(TypeError, match=r"scorch\.coo makes one"):
        scorch.sparse(INDICES, VALUES)
    a = scorch.sparse(matrix())
    assert type(a.nnz) is int and a.nnz == a.values().numel()
    with pytest.raises(ValueError, match=r"\n  ij;jk->ik\n    \^") as error:
        scorch.einsum("ij;jk->ik", a, torch.ones(6, 2).double())
    assert "expected a letter" in str(error.value)
    with pytest.raises(ValueError, match=r"expected at least one dimension, .* x\.reshape\(1\)"):
        scorch.topk(torch.tensor(1.0), 1)
    line = scorch.coo([[0]], [1.0], (2**40,))
    for too_many in (
        lambda: torch.kron(line, line),
        lambda: torch.cat([scorch.coo([[0]], [1.0], (2**62,))] * 2),
    ):
        with pytest.raises(ValueError, match=r"fewer than 2\^63 elements"):
            too_many()


@pytest.mark.parametrize("number", [Fraction(1, 2), Decimal("0.5")])
def test_numbers_that_torch_does_not_take(number):
    a = scorch.sparse(matrix())
    for f in (operator.mul, operator.truediv, operator.add, operator.sub, operator.floordiv, operator.matmul):
        with pytest.raises(TypeError, match=rf"unsupported operand type.*{type(number).__name__}"):
            f(a, number)
    with pytest.raises(TypeError, match=f"expected tensors, .* got .*{type(number).__name__}"):
        scorch.evaluate("C[i,j] = A[i,j] * n", A=a, n=number)


@pytest.mark.parametrize(
    "format, meant",
    [
        ("crs", "csr"), ("csrr", "csr"), ("bsr4,4", r"bsr\(r,c\)"), ("bsr", r"bsr\(r,c\)"),
        ("ell", r"ell\(w\)"), ("sparse_csr", "csr"), ("sparse_bsr", r"bsr\(r,c\)"),
        ("dense(0), compresed(1)", r"compressed\(d\)"),
    ],
)  # fmt: skip
def test_formats_that_are_nearly_spelled(format, meant):
    for f in (lambda: scorch.Format(format), lambda: scorch.sparse(matrix(), format)):
        with pytest.raises(ValueError, match=f"did you mean {meant}"):
            f()
    for far in ("blocked", "bogus"):
        with pytest.raises(ValueError) as error:
            scorch.Format(far)
        assert "did you mean" not in str(error.value)


def test_layouts_of_torch_are_no_formats_but_have_names():
    with pytest.raises(TypeError, match=r'got torch\.sparse_csc: did you mean "csc"\?'):
        scorch.sparse(matrix(), format=torch.sparse_csc)


def test_formats_are_no_devices():
    with pytest.raises(RuntimeError, match=r"expected a device or a dtype, got 'csc'; .+ A\.convert"):
        scorch.sparse(matrix()).to("csc")


def test_what_takes_an_expression_says_where():
    a = scorch.sparse(matrix())
    with pytest.raises(TypeError, match="in front of its operands, such as 'ij,jk->ik', got Tensor"):
        scorch.explain(a @ torch.ones(6, 2).double())


def test_a_dense_tensor_without_bounds_is_refused_by_its_size():
    a = scorch.coo(torch.tensor([[0], [5]]), torch.ones(1), (2**25, 2**25))
    with pytest.raises(MemoryError, match=r"1125899906842624 values of 4 bytes each, 4503599\.6.. GB in all"):
        a.to_dense()


# ---- assigning ----
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,3)", "ell(6)"])
def test_assigning_to_stored_entries(format):
    dense = matrix()
    a = scorch.sparse(dense, format)
    i, j = torch.nonzero(dense)[3].tolist()
    for index, value in (((i, j), 9.0), ((i - 8, j - 6), torch.tensor(7)), (a > 3, -1.0), (dense < -3, 5)):
        a[index] = value
        dense[plain(index) if isinstance(index, torch.Tensor) else index] = value
        same(a, dense)
    at = torch.nonzero(dense)[:4].unbind(1)
    a[at] = torch.arange(4.0).double()
    dense[at] = torch.arange(4.0).double()
    same(a, dense)


def test_assigning_to_parts_takes_memory_for_what_is_stored():
    n, at = 1 << 20, torch.tensor([[0, 4, 5], [1, 2, 1 << 19]])
    row, column = torch.zeros(n), torch.zeros(n // 2, 1)
    row[2], column[0] = 7, 8
    for value, wanted in ((0, [0, 0, 3]), (torch.zeros(n), [0, 0, 3]), (torch.zeros(n // 2, 1), [0, 0, 3])):
        a = scorch.coo(at, torch.tensor([1.0, 2, 3]), (n, n))  # a part of which takes 2 TB
        a[::2] = value
        assert torch.equal(a.values(), torch.tensor(wanted, dtype=torch.float32))
    for value in (1, row, column):
        with pytest.raises(ValueError, match=r"an entry of the part .* is not stored"):
            a[::2] = value
    a[0, 1:2] = torch.tensor([[4.0]])
    a[4, :3] = torch.tensor([0.0, 0, 5])
    assert a.values().tolist() == [4, 5, 3]


def test_assigning_elsewhere():
    dense = matrix()
    a = scorch.sparse(dense)
    i, j = torch.nonzero(dense == 0)[0].tolist()
    with pytest.raises(ValueError, match=rf"entry \[{i}, {j}\] is not stored.*scorch.coo"):
        a[i, j] = 1.0
    with pytest.raises(ValueError, match=r"an entry of the part .* is not stored"):
        a[0] = 1.0
    with pytest.raises(NotImplementedError, match="not recorded"):
        a.clone().requires_grad_()[torch.nonzero(dense)[0].unbind()] = 1.0
    with pytest.raises(IndexError, match="out of range"):
        a[9, 9] = 1.0
    assert torch.equal(a.to_dense(), dense)
    x = dense.clone()
    x[a > 0] = 0  # a SparseTensor as the mask of a dense tensor
    same(x, dense.clamp(max=0))


# ---- dense tensors that change, and keep their types ----
@pytest.mark.parametrize("change", ("x += a", "x -= a", "x *= a"))
def test_integers_that_change_in_place_are_not_replaced(change):
    x = torch.tensor([[1, 0], [2, 3]])
    names = {"x": x, "a": scorch.sparse(torch.eye(2) * 0.5)}
    with pytest.raises(RuntimeError, match=r"int64 can hold, got torch\.float32"):
        exec(change, names)
    assert names["x"] is x and torch.equal(x, torch.tensor([[1, 0], [2, 3]]))


@pytest.mark.parametrize("format", ("csr", "csc", "coo", "bsr(2,2)"))
@pytest.mark.parametrize("grad", (False, True))
def test_products_in_place_have_gradients(format, grad):
    dense = matrix()
    a = scorch.sparse(dense, format).requires_grad_()
    x, given = torch.rand_like(dense).requires_grad_(grad), torch.rand_like(dense)
    y = x.clone()
    y.mul_(a)
    (y * given).sum().backward()
    stored = scorch.map(a.detach(), torch.ones_like).to_dense() > 0
    same(a.grad, torch.where(stored, given * x.detach(), 0))
    assert not grad or torch.equal(x.grad, given * dense)


# ---- state dicts that were saved before ----
@pytest.mark.parametrize("format", ("csr", "coo", "bsr(2,2)"))
@pytest.mark.parametrize("layout", (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc), ids=str)
def test_buffers_that_were_tensors_of_torch(layout, format):
    module, dense = torch.nn.Module(), matrix()
    module.register_buffer("graph", scorch.sparse(dense, format))
    module.load_state_dict({"graph": (2 * dense).to_sparse(layout=layout)})
    assert module.graph.format == format
    same(module.graph, 2 * dense)
    with pytest.raises(RuntimeError, match="same format and structure"):
        module.load_state_dict({"graph": torch.ones_like(dense).to_sparse(layout=layout)})


# ---- TorchScript ----
def test_torchscript_is_refused_where_a_module_holds_one():
    class Product(torch.nn.Module):
        def __init__(self, held):
            super().__init__()
            held(self)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    a = scorch.sparse(torch.eye(3))
    for held in (
        lambda m: m.register_buffer("a", a),
        lambda m: m.register_parameter("a", torch.nn.Parameter(a.clone())),
        lambda m: setattr(m, "inner", Product(lambda m: m.register_buffer("a", a))),
    ):
        with pytest.raises(NotImplementedError, match="TorchScript"):
            torch.jit.script(Product(held))
    layer = scorch.nn.Linear(4, 4, density=0.5)
    with pytest.raises(NotImplementedError, match="TorchScript"):
        torch.jit.trace(layer, torch.ones(2, 4))
    scripted = torch.jit.script(torch.nn.Linear(3, 2))
    assert scripted(torch.ones(1, 3)).shape == (1, 2)


# ---- edges of shapes ----
def test_logsumexp_of_nothing():
    for shape, dim in (((3, 0), 1), ((0, 3), 0), ((2, 0, 3), 1)):
        x = torch.zeros(shape)
        assert torch.equal(torch.logsumexp(scorch.sparse(x, "coo"), dim), torch.logsumexp(x, dim))


def test_blocks_are_padded_with_numbers():
    dense = torch.eye(4)
    padded = torch.nn.functional.pad(scorch.sparse(dense, "bsr(2,2)"), (0, 1), value=3.0)
    same(padded, torch.nn.functional.pad(dense, (0, 1), value=3.0))

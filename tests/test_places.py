"""Writing at places, losses and dense linear algebra: numbers and gradients are those of the dense tensor."""

import pytest
import torch
import torch.nn.functional as F
from test_surface_functions import CUBES, FORMATS, cube, matrix, plain, same

import scorch
from scorch.functions import places

ROWS, COLUMNS = torch.tensor([3, 0, 3]), torch.tensor([[1, 0, 5, 1], [0, 0, 2, 2]])
SOURCE = torch.randn(8, 6, generator=torch.Generator().manual_seed(3)).double()
FEW = SOURCE[:3] * (SOURCE[:3] > 0)


def flat(x):
    return [y for part in x for y in flat(part)] if isinstance(x, tuple | list) else [plain(x)]


def total(y):
    """A number that depends on all of y, and on places differently."""
    found = 0
    for part in flat(y):
        part = torch.view_as_real(part) if part.is_complex() else part
        if part.is_floating_point():
            found = found + (part * torch.arange(1, part.numel() + 1).view(part.shape)).sum()
    return found


def agrees(f, dense, formats=FORMATS, others=(), gradients=True):
    """f of a tensor, in every format, and its gradients: to it, where it stores something, and to others."""
    twin, *rest = (x.clone().requires_grad_(gradients) for x in (dense, *others))
    wanted = f(twin, *rest)
    slopes = torch.autograd.grad(total(wanted), [twin, *rest], allow_unused=True) if gradients else ()
    for fmt in formats:
        a = scorch.sparse(dense, fmt).requires_grad_(gradients)
        more = [x.clone().requires_grad_(gradients) for x in others]
        got = f(a, *more)
        same(flat(got), flat(wanted))
        if gradients:
            found = torch.autograd.grad(total(got), [a, *more], allow_unused=True)
            there = scorch.map(a.detach(), torch.ones_like).to_dense()
            for g, w in zip(found, slopes, strict=True):
                assert (g is None) == (w is None), fmt
                if g is not None:
                    same(g, w * there if scorch.is_sparse(g) else w)


# ---- writing at places ----
WRITTEN = {
    "scatter": lambda a, s: torch.scatter(a, 1, torch.tensor([[2, 0], [5, 1]]), s[:2, :2]),
    "scatter of rows": lambda a, s: a.scatter(0, torch.tensor([[2, 0, 1], [5, 1, 0]]), s[:2, :3]),
    "scatter a number": lambda a, s: a.scatter(-1, COLUMNS, 2.5),
    "scatter_add": lambda a, s: torch.scatter_add(a, 1, COLUMNS, s[:2, :4]),
    **{
        f"scatter_reduce {reduce} {own}": lambda a, s, reduce=reduce, own=own: torch.scatter_reduce(
            a, 1, COLUMNS, s[:2, :4], reduce, include_self=own
        )
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
    },
    "index_add": lambda a, s: torch.index_add(a, 0, ROWS, s[:3], alpha=2),
    "index_add of columns": lambda a, s: a.index_add(1, ROWS, s[:, :3]),
    "index_copy": lambda a, s: torch.index_copy(a, 0, torch.tensor([6, 1]), s[:2]),
    "index_fill": lambda a, s: torch.index_fill(a, 0, ROWS, 2.5),
    "index_fill 0": lambda a, s: a.index_fill(1, ROWS, 0),
    "index_fill, a tensor": lambda a, s: a.index_fill(1, ROWS, s[0, 0]),
    "index_put": lambda a, s: torch.index_put(a, (torch.tensor([3, 0]), torch.tensor([1, 1])), s[0, :2]),
    "index_put of rows": lambda a, s: a.index_put((torch.tensor([3, 0]),), s[:2]),
    "index_put of a mask": lambda a, s: a.index_put((torch.arange(8) > 5,), s[:2]),
    "index_put, added": lambda a, s: torch.index_put(a, (ROWS, ROWS), s[0, :3], accumulate=True),
    "put": lambda a, s: torch.put(a, torch.tensor([[7, 40], [0, 3]]), s[:2, :2]),
    "put, added": lambda a, s: torch.put(a, torch.tensor([7, 7, 0, 3]), s[0, :4], accumulate=True),
    "masked_scatter": lambda a, s: a.masked_scatter(torch.arange(6) % 3 == 0, s),
    "masked_scatter, sparse mask": lambda a, s: a.masked_scatter(a.detach() != 0, s),
    "select_scatter": lambda a, s: torch.select_scatter(a, s[0], 0, -1),
    "slice_scatter": lambda a, s: torch.slice_scatter(a, s[:, :2], 1, 1, 6, 3),
    "diagonal_scatter": lambda a, s: torch.diagonal_scatter(a, s[0, :5], 1),
    "diagonal_scatter, below": lambda a, s: torch.diagonal_scatter(a, s[0], -2),
}


@pytest.mark.parametrize("f", WRITTEN.values(), ids=WRITTEN)
def test_writing_at_places(f):
    agrees(f, matrix(), others=(SOURCE,))
    assert scorch.is_sparse(f(scorch.sparse(matrix()), SOURCE))


@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter")
@pytest.mark.parametrize("index_dtype", (torch.int32, torch.int64), ids=str)
@pytest.mark.parametrize("format", ("csr", "csc"))
@pytest.mark.parametrize("shape", ((7, 9), (9, 7), (300, 40), (1, 5), (0, 3)), ids=str)
def test_a_diagonal_is_written_among_rows(shape, format, index_dtype, monkeypatch):
    """Where it is stored by its places, and else put in; no coordinates are listed, and all else stays."""
    monkeypatch.setattr(places, "entries", None)
    g = torch.Generator().manual_seed(1)
    d = torch.rand(shape, generator=g, dtype=torch.float64) * (torch.rand(shape, generator=g) < 0.3)
    a = scorch.sparse(d, format, index_dtype=index_dtype).requires_grad_()
    for offset in range(1 - min(shape[0], 5), min(shape[1], 5)):
        s = torch.rand(d.diagonal(offset).shape, generator=g, dtype=torch.float64).requires_grad_()
        once = torch.diagonal_scatter(a, s, offset)
        twice = torch.diagonal_scatter(once, 2 * s, offset)  # it is there
        turned = torch.diagonal_scatter(a, s, -offset, 1, 0)
        assert once.format == a.format and once.index_dtype == index_dtype and twice.nnz == once.nnz
        for made, values in ((once, s), (twice, 2 * s), (turned, s)):
            assert torch.equal(made.to_dense(), torch.diagonal_scatter(d, values, offset))
        got = torch.autograd.grad((twice * twice).sum(), [a, s])
        assert torch.equal(got[1], 8 * s)
        assert torch.equal(got[0].to_dense(), 2 * torch.diagonal_scatter(d, torch.zeros_like(s), offset))


def test_scatter_that_reduces():
    for reduce in ("add", "multiply"):
        f = lambda a, reduce=reduce: torch.scatter(a, 1, COLUMNS, SOURCE, reduce=reduce)  # noqa: E731
        agrees(f, matrix(), gradients=False)
    with pytest.raises(ValueError, match="add or multiply"):
        torch.scatter(scorch.sparse(matrix()), 1, COLUMNS, SOURCE, reduce="sum")


def test_writing_into_cubes():
    source = SOURCE.reshape(3, 4, 4)
    for f in (
        lambda a, s: a.scatter_add(2, torch.tensor([[[0, 4]], [[3, 3]]]), s[:2, :1, :2]),
        lambda a, s: a.index_copy(1, torch.tensor([2, 0]), torch.cat([s[:, :2], s[:, 2:, :1]], 2)),
        lambda a, s: a.index_add(2, torch.tensor([1, 1, 2, 0]), s),
        lambda a, s: a.index_put((torch.tensor([[0], [2]]), torch.tensor([1, 3])), s[0, 0, 0]),
        lambda a, s: torch.diagonal_scatter(a, s[:, 0], 0, 2, 1),
        lambda a, s: torch.select_scatter(a, s[:, :, 0], 2, 3),
    ):
        agrees(f, cube(), CUBES, others=(source,))


WRITTEN = {
    "index_fill": lambda a, at, s: a.index_fill(0, at, 2.5),
    "index_copy": lambda a, at, s: a.index_copy(0, at, s),
    "select_scatter": lambda a, at, s: a.select_scatter(s[0], 0, int(at[1])),
    "slice_scatter": lambda a, at, s: a.slice_scatter(s[:1], 0, int(at[2]), int(at[2]) + 1),
}


@pytest.mark.parametrize("f", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("form", ["coo", "dcsr"])
def test_rows_written_among_many_that_are_empty(f, form):
    ends, (row, column) = torch.tensor([0, 5, 9, 2**40 - 1]), torch.tensor([[0, 1, 1, 3], [2, 0, 3, 1]])
    values, at, source = torch.arange(1.0, 5), torch.tensor([3, 2, 1, 3]), torch.arange(1.0, 17).view(4, 4)
    wanted = f(torch.zeros(4, 4).index_put((row, column), values), at, source)
    made = f(scorch.coo((ends[row], column), values, (2**40, 4), form), ends[at], source)
    assert made.format == form and torch.equal(made.submatrix(ends, None).to_dense(), wanted)
    assert made.sum() == wanted.sum()


def test_sparse_sources():
    a, few = matrix(), scorch.sparse(FEW)
    for f in (
        lambda s: torch.index_add(scorch.sparse(a), 0, ROWS, s),
        lambda s: torch.index_add(a, 0, ROWS, s),
        lambda s: torch.index_copy(scorch.sparse(a), 0, torch.tensor([6, 1, 2]), s),
        lambda s: torch.scatter_add(scorch.sparse(a), 0, torch.tensor([[1, 1, 7, 0, 2, 2]]), s),
        lambda s: torch.slice_scatter(scorch.sparse(a), s, 0, 1, 4),
        lambda s: torch.select_scatter(scorch.sparse(a), s[0], 0, 2),
        lambda s: scorch.sparse(a).masked_scatter(a > 5, s),
    ):
        same(f(few), plain(f(FEW)))
    # what a sparse source brings is what it stores
    assert torch.index_add(scorch.sparse(a), 0, ROWS, few).nnz <= (a != 0).sum() + few.nnz
    # repeated places, of which the last is written
    same(torch.index_copy(scorch.sparse(a), 0, ROWS, few), torch.index_copy(a, 0, ROWS, FEW))


def test_narrow_indices():
    """An index of int32 is one of int64, also where places are more than it counts."""
    agrees(lambda a: a.gather(0, COLUMNS.int()), matrix(), ["csr", "coo"])
    agrees(lambda a: a.scatter(1, COLUMNS.int(), 2.5), matrix(), ["csr", "coo"])
    at, one = torch.tensor([100_000], dtype=torch.int32), torch.ones(1)
    a = scorch.coo([[0], [0]], one, (2**17, 2**17))
    for written in (
        a.index_put((at, at), one),
        a.scatter(0, at[None], 1.0).T,
        a.put(torch.tensor([-1]).int(), one),
    ):
        assert written.nnz == 2 and written.shape == a.shape
    assert a.index_put((at, at), one)[100_000, 100_000] == 1


def test_indices_that_are_no_integers():
    a, row = scorch.sparse(matrix()), ROWS.double()
    for f in (
        a.take, lambda i: a.gather(0, i[None]), lambda i: a.scatter(0, i[None], 1.0),
        lambda i: a.index_add(0, i, FEW), lambda i: a.index_fill(0, i, 1.0),
        lambda i: a.put(i, FEW[0, :3]), lambda i: a.index_put((i,), FEW),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="an index of int32 or int64, got"):
            f(row)


def test_what_is_written_is_checked():
    a = scorch.sparse(matrix())
    for f, kind, says in (
        (lambda: a.scatter_add(1, torch.zeros(9, 2).long(), SOURCE), ValueError, "source"),
        (lambda: a.scatter_add(0, torch.zeros(1, 7).long(), torch.ones(1, 7)), ValueError, "index of 2"),
        (lambda: a.scatter_add(1, torch.full((1, 1), 6), SOURCE), IndexError, ""),
        (lambda: a.index_add(0, ROWS, SOURCE), ValueError, r"source of \[3, 6\]"),
        (lambda: a.masked_scatter(matrix() < 99, FEW), ValueError, "expected 48 numbers"),
        (lambda: torch.diagonal_scatter(a, SOURCE[0], 1), ValueError, r"source of \[5\]"),
        (lambda: torch.scatter(a, 1, COLUMNS, SOURCE, out=a), ValueError, "out="),
    ):
        with pytest.raises(kind, match=says):
            f()


@pytest.mark.needs("2.11")
def test_places_under_compile():
    def f(a, s):
        return torch.index_add(a, 0, ROWS, s[:3]) @ s.T + torch.scatter_add(a, 1, COLUMNS, s[:2, :4]) @ s.T

    def losses(a, b):
        return F.mse_loss(a, b) + F.cross_entropy(a, torch.arange(8) % 6, weight=WEIGHTS)

    a, b = scorch.sparse(matrix()), scorch.sparse(matrix(seed=1))
    same(torch.compile(f, backend="aot_eager", fullgraph=True)(a, SOURCE), f(a, SOURCE))
    same(torch.compile(losses, backend="aot_eager")(a, b), losses(a, b))


def test_places_below():
    """Forward mode calls operators."""
    index = torch.tensor([3, 0])
    got = torch.func.jvp(lambda a: a.index_fill(0, index, 0), *[(scorch.sparse(matrix()),)] * 2)
    same(got, torch.func.jvp(lambda a: a.index_fill(0, index, 0), *[(matrix(),)] * 2))


# ---- losses ----
CLASSES = torch.tensor([0, 5, 2, 2, -100, 1, 0, 3])
WEIGHTS = torch.rand(6, generator=torch.Generator().manual_seed(1)).double() + 0.1


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_losses_of_a_difference(name, reduction):
    loss = getattr(F, name)
    agrees(lambda a, b: loss(a, b, reduction=reduction), matrix() / 8, others=(SOURCE,))
    other = matrix(seed=1) / 8
    wanted = loss(matrix() / 8, other, reduction=reduction)
    for fmt in FORMATS:
        a, b = (scorch.sparse(x, fmt).requires_grad_() for x in (matrix() / 8, other))
        got = loss(a, b, reduction=reduction)
        same(got, wanted)
        assert scorch.is_sparse(got) == (reduction == "none")
        total(got).backward()
        twin = (matrix() / 8).requires_grad_()
        total(loss(twin, other, reduction=reduction)).backward()
        same(a.grad, twin.grad * scorch.map(a.detach(), torch.ones_like).to_dense())


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_losses_of_a_difference_from_dense_levels(name, reduction):
    """Which is dense where the first is, and has all places where the second is."""
    loss, x, y = getattr(F, name), matrix(), matrix(seed=1)
    for formats in (("dense", "csr"), ("csr", "dense"), ("dense", "dense"), ("dense(1), dense(0)", "coo")):
        a, b = (scorch.sparse(t, fmt).requires_grad_() for t, fmt in zip((x, y), formats, strict=True))
        twins = [t.clone().requires_grad_() for t in (x, y)]
        got, wanted = loss(a, b, reduction=reduction), loss(*twins, reduction=reduction)
        same(got, wanted)
        total(got).backward()
        total(wanted).backward()
        for t, twin in zip((a, b), twins, strict=True):
            same(t.grad, twin.grad * scorch.map(t.detach(), torch.ones_like).to_dense())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_means_of_losses_whose_sum_half_types_do_not_hold(name, dtype):
    """300 * 300 differences of 3 and more add up to more than float16 has; the mean is a small number."""
    loss, x = getattr(F, name), torch.full((300, 300), 4.0, dtype=dtype)
    x[::2] = 0
    y = torch.zeros(300, 300, dtype=dtype)
    got = loss(scorch.sparse(x), scorch.sparse(y))
    assert got.dtype is dtype and torch.equal(got, loss(x, y))


def test_an_empty_batch_keeps_its_graph():
    for shape in ((0, 3), (2, 3, 0)):
        classes = torch.zeros(shape[0], *shape[2:], dtype=torch.int64)
        for loss in (F.nll_loss, F.cross_entropy):
            a = scorch.sparse(torch.zeros(shape)).requires_grad_()
            loss(a, classes, reduction="sum").backward()
            assert a.grad.shape == shape


def test_means_over_nothing_are_nan():
    for shape, dim in (((3, 0), 1), ((2, 0, 2), 1), ((2, 2, 0, 2), -2), ((4, 0, 2), (1, 2)), ((2, 0), None)):
        for f in (torch.mean, torch.nanmean):
            got, want = (f(x, dim) for x in (scorch.sparse(torch.zeros(shape), "coo"), torch.zeros(shape)))
            same(got, want)
            assert want.isnan().all()


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("options", [{}, {"weight": WEIGHTS}, {"ignore_index": 2}])
def test_losses_of_classes(reduction, options):
    classes = CLASSES.abs() % 6 if "ignore_index" in options else CLASSES
    options = {"reduction": reduction} | options
    agrees(lambda a: F.nll_loss(a, classes, **options), matrix())
    for smoothing in (0.0, 0.3):
        agrees(lambda a, s=smoothing: F.cross_entropy(a, classes, label_smoothing=s, **options), matrix())
    agrees(lambda a: F.cross_entropy(a, SOURCE.softmax(1), reduction=reduction), matrix())
    if not options.get("ignore_index"):
        kinds = {"reduction": reduction, "weight": WEIGHTS[:4]}
        of_cubes = torch.tensor([[0, 3, 2, 1, 1], [3, 3, 0, -100, 0], [1, 2, 0, 0, 2]])
        agrees(lambda a: F.cross_entropy(a, of_cubes, label_smoothing=0.2, **kinds), cube(), CUBES)
    same(F.cross_entropy(scorch.sparse(matrix()[0]), CLASSES[1]), F.cross_entropy(matrix()[0], CLASSES[1]))


def test_losses_make_no_large_tensor():
    n = 100_000
    a = scorch.coo(torch.tensor([[0, 5, n - 1], [7, 5, 0]]), torch.ones(3), (n, n)).requires_grad_()
    b = scorch.coo(torch.tensor([[0, 8], [7, 8]]), torch.full((2,), 3.0), (n, n))
    assert F.mse_loss(a, b, reduction="sum").item() == 4 + 9 + 2
    F.cross_entropy(a, torch.zeros(n).long(), reduction="sum").backward()
    assert a.grad.nnz == 3
    for refused in (
        lambda: F.binary_cross_entropy_with_logits(a, b),
        lambda: torch.linalg.solve(a, torch.ones(n, 1)),
        lambda: torch.linalg.det(a),
        lambda: torch.cdist(a, torch.ones(2, n)),
    ):
        with pytest.raises(NotImplementedError, match=r"A\.to_dense\(\)"):
            refused()
    with pytest.raises(IndexError, match="from 0 on"):
        F.cross_entropy(a, torch.full((n,), -1))


def test_losses_beside_a_dense_target():
    probable, target = matrix().abs() / 9, (SOURCE > 0).double()
    agrees(lambda a: F.binary_cross_entropy(a, target), probable)
    agrees(lambda a: F.binary_cross_entropy_with_logits(a, target, pos_weight=WEIGHTS), matrix())
    agrees(lambda a: F.poisson_nll_loss(a, SOURCE.abs()), matrix())
    agrees(lambda a: F.soft_margin_loss(a, target * 2 - 1), matrix())
    agrees(lambda a: F.multilabel_soft_margin_loss(a, target), matrix())
    agrees(lambda a: F.hinge_embedding_loss(a, target * 2 - 1), matrix())
    same(F.binary_cross_entropy_with_logits(SOURCE, scorch.sparse(target)),
         F.binary_cross_entropy_with_logits(SOURCE, target))  # fmt: skip


# ---- dense linear algebra ----
def square():
    x = matrix(6, 6, density=0.3)
    return x @ x.T / 20 + torch.eye(6).double() * torch.arange(4, 10)


LINEAR = {
    "inv": torch.linalg.inv,
    "inverse": lambda a: a.inverse(),
    "pinv": torch.linalg.pinv,
    "qr": lambda a: torch.linalg.qr(a),
    "svd": lambda a: torch.linalg.svd(a)[1],
    "eigh": lambda a: torch.linalg.eigh(a)[0],
    "cholesky": torch.linalg.cholesky,
    "lu": lambda a: torch.linalg.lu(a)[1:],
    "matrix_exp": lambda a: torch.matrix_exp(a / 9),
    "solve": lambda a: torch.linalg.solve(a, torch.eye(6).double()),
    "norm 1": lambda a: torch.linalg.norm(a, 1),
    "norm inf": lambda a: torch.linalg.norm(a, float("inf")),
    "norm -1": lambda a: torch.linalg.matrix_norm(a, -1, keepdim=True),
    "norm -inf": lambda a: torch.linalg.matrix_norm(a, -float("inf")),
}


@pytest.mark.parametrize("f", LINEAR.values(), ids=LINEAR)
def test_linear_algebra(f):
    agrees(f, square(), ["csr", "csc", "coo", "bsr(2,3)", "ell(6)", "dia(8)", "sell(2,4)"])


def test_linear_algebra_that_is_refused():
    a = scorch.sparse(square())
    for name in ("det", "slogdet", "svdvals", "eigvals", "eigvalsh", "matrix_rank", "cond"):
        with pytest.raises(NotImplementedError, match=r"larger than the result: use A\.to_dense\(\)"):
            getattr(torch.linalg, name)(a)
    with pytest.raises(NotImplementedError, match="would be made dense"):
        torch.linalg.solve(a, torch.ones(6).double())


def test_norms_of_negative_orders():
    d = matrix()
    d[0] = torch.arange(1.0, 7.0)
    for fmt in FORMATS:
        a = scorch.sparse(d, fmt)
        for order in (-1, -2, -0.5, -float("inf")):
            for dim in (0, 1, None):
                same(torch.linalg.vector_norm(a, order, dim), torch.linalg.vector_norm(d, order, dim))
    agrees(lambda a: torch.linalg.vector_norm(a, -2, 1)[:1], d)


@pytest.mark.parametrize("fmt", FORMATS)
def test_norms_of_order_zero_have_gradients_of_zeros(fmt):
    d = matrix()
    d[0, :2] = torch.tensor([torch.nan, torch.inf])
    a = scorch.sparse(d, fmt).requires_grad_()
    for dim in (0, 1, None):
        same(torch.linalg.vector_norm(a, 0, dim), torch.linalg.vector_norm(d, 0, dim))
    (torch.linalg.vector_norm(a, 0, 1).sum() + torch.norm(a, 0)).backward()
    assert a.grad.nnz == a.nnz and not a.grad.values().any()


# ---- functions of two, and shapes ----
def test_functions_of_two():
    d, positive = matrix() / 4, matrix().abs()
    for f in (
        lambda a, b: torch.atan2(a, b), lambda a, b: torch.atan2(b, a), lambda a, b: torch.copysign(a, b),
        lambda a, b: torch.ldexp(a, b), lambda a, b: torch.logaddexp(a, b), lambda a, b: a.clamp(min=b),
        lambda a, b: torch.clamp(a, b - 1, b + 1), lambda a, b: torch.clamp_max(a, b),
        lambda a, b: F.prelu(a, b[0].abs()), lambda a, b: F.prelu(a, b[0, :1]),
        lambda a, b: F.cosine_similarity(a, b), lambda a, b: torch.linalg.vecdot(a, b),
    ):  # fmt: skip
        agrees(f, d, others=(SOURCE,))
    for f in (
        lambda a: torch.xlogy(a, SOURCE.abs()), lambda a: torch.special.xlog1py(a, SOURCE.abs()),
        lambda a: torch.special.zeta(a + 2, SOURCE.abs()), lambda a: torch.heaviside(a, SOURCE),
        lambda a: torch.igamma(a + 1, SOURCE.abs()), lambda a: torch.nextafter(a, SOURCE),
        lambda a: torch.special.chebyshev_polynomial_t(a, 3), torch.special.bessel_j1,
        lambda a: torch.special.hermite_polynomial_h(a, 2), torch.special.entr,
    ):  # fmt: skip
        agrees(f, positive, gradients=False)
    assert scorch.is_sparse(torch.copysign(scorch.sparse(d), SOURCE))
    with pytest.raises(NotImplementedError, match="missing entry is not zero"):
        torch.special.bessel_j0(scorch.sparse(d))


@pytest.mark.parametrize("value", [0.5, -1.5, 3, True])
@pytest.mark.parametrize("types", [(torch.int64, torch.int8), (torch.int8, torch.float32)])
def test_numbers_beside_integers(types, value):
    """They take the type of the result: fractions of integers are cut off, as in torch."""
    d, e = (matrix().round().to(dtype) for dtype in types)
    a, b, rows = scorch.sparse(d), scorch.sparse(e), torch.arange(len(d)) // 2
    for f in (
        lambda x, y: torch.addcmul(x, y, y, value=value),
        lambda x, y: torch.addcmul(y, x, d, value=value),
        lambda x, y: torch.index_add(x, 0, rows, x, alpha=value),
        lambda x, y: torch.index_add(y, 0, rows, y, alpha=value),
    ):
        same(f(a, b), f(d, e))


def test_normalized_cubes():
    for p, dim in ((2, -1), (1, 0), (float("inf"), 1), (3, 2), (2, (0, 2))):
        agrees(lambda a, p=p, dim=dim: F.normalize(a, p, dim), cube(), CUBES, gradients=p == 2)


def test_windows_and_shuffles():
    agrees(lambda a: a.unfold(1, 3, 2), matrix())
    agrees(lambda a: a.unfold(0, 8, 1), matrix())
    blocks = matrix(16, 12).view(1, 4, 8, 6)
    for f in (
        lambda a: F.pixel_shuffle(a, 2), lambda a: F.pixel_unshuffle(a, 2), lambda a: F.channel_shuffle(a, 2)
    ):  # fmt: skip
        agrees(f, blocks, ["csr", "coo"])
    index = torch.tensor([[3, 0], [7, 3]])
    agrees(lambda a: F.embedding(index, a), matrix())
    agrees(lambda a: F.embedding(index, a, 0, scale_grad_by_freq=True), matrix(), gradients=False)
    table = scorch.sparse(matrix()).requires_grad_()
    for option, value, advice in (
        ("max_norm", 1.0, "renorm"), ("padding_idx", 0, "backward"), ("scale_grad_by_freq", True, "backward"),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match=f"no {option}.*{advice}"):
            F.embedding(index, table, **{option: value})


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("keepdim", [False, True])
def test_the_norm_of_all_entries_is_that_of_the_values(dtype, keepdim, monkeypatch):
    monkeypatch.setattr("scorch.functions.reduce.sum_", None)
    dense = torch.tensor([[3.0, 0, 0], [0, 0, -4]], dtype=dtype)
    got = torch.linalg.vector_norm(scorch.sparse(dense), keepdim=keepdim)
    assert got.dtype == dtype
    assert torch.equal(got, torch.linalg.vector_norm(dense, keepdim=keepdim))
    assert torch.equal(scorch.sparse(dense).norm(), dense.norm())

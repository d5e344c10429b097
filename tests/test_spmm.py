"""Products of a sparse and a dense matrix or vector, drawn by hypothesis and compared with dense torch.

Values are small integers, so that every order of summation gives the same floats and equality is exact.
Shapes straddle tiles and vectors and include 0 and 1; dense operands come in every stride.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import scorch

WIDTHS = (1, 3, 6, 7, 16, 33, 64, 250)
EXTENTS = (0, 1, 2, 17, 64, 65, 130)
FORMATS = ("csr", "csc", "coo", "dcsr", "dcsc", "csf", "bsr(2,2)", "bsc(4,2)", "ell",
           "compressed(0), dense(1)", "dense(0/2), compressed(1), dense(0%2)")  # fmt: skip
LAYOUTS = ("plain", "transposed", "rows apart", "columns apart", "inside", "one row", "one column", "both")
quick = settings(
    derandomize=True, deadline=None, max_examples=120, suppress_health_check=list(HealthCheck), database=None
)
long = settings(quick, max_examples=2000)


# ---- operands ----
def integers(g: torch.Generator, *shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randint(-3, 4, shape, generator=g).to(dtype)


def dense(g: torch.Generator, rows: int, cols: int, layout: str, dtype: torch.dtype) -> torch.Tensor:
    """A [rows, cols] view of integers in one of LAYOUTS."""
    make = {
        "plain": lambda: integers(g, rows, cols, dtype=dtype),
        "transposed": lambda: integers(g, cols, rows, dtype=dtype).T,
        "rows apart": lambda: integers(g, 3 * rows, cols, dtype=dtype)[::3],
        "columns apart": lambda: integers(g, rows, 2 * cols, dtype=dtype)[:, ::2],
        "inside": lambda: integers(g, rows + 3, cols + 5, dtype=dtype)[2 : rows + 2, 3 : cols + 3],
        "one row": lambda: integers(g, 1, cols, dtype=dtype).expand(rows, cols),
        "one column": lambda: integers(g, rows, 1, dtype=dtype).expand(rows, cols),
        "both": lambda: integers(g, 2 * cols, 3 * rows, dtype=dtype).T[::3, ::2],
    }
    x = make[layout]()
    assert x.shape == (rows, cols)
    return x


def pattern(
    g: torch.Generator, rows: int, cols: int, density: float, hub: bool, dtype: torch.dtype
) -> torch.Tensor:
    """Integers of which a part is zero; every third row is empty, and a hub row is full."""
    d = integers(g, rows, cols, dtype=dtype) * (torch.rand(rows, cols, generator=g) < density)
    d[::3] = 0
    if hub and rows:
        d[rows // 2] = integers(g, cols, dtype=dtype)
    return d


def spell(form: str, d: torch.Tensor) -> str:
    return form if form != "ell" else f"ell({max(1, int((d != 0).sum(1).max()) if d.numel() else 1)})"


def exact(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.double() @ b.double()).to(a.dtype)


def same(got: torch.Tensor, want: torch.Tensor) -> None:
    assert got.shape == want.shape and got.dtype == want.dtype and torch.equal(got, want)


problems = st.fixed_dictionaries(
    {
        "form": st.sampled_from(FORMATS),
        "rows": st.sampled_from(EXTENTS),
        "cols": st.sampled_from(EXTENTS),
        "width": st.sampled_from((0, *WIDTHS)),
        "density": st.sampled_from((0.0, 0.1, 0.5, 1.0)),
        "hub": st.booleans(),
        "layout": st.sampled_from(LAYOUTS),
        "dtype": st.sampled_from((torch.float32, torch.float64)),
        "index": st.sampled_from((torch.int32, torch.int64)),
        "seed": st.integers(0, 5),
    }
)


def make(p: dict) -> tuple[torch.Generator, torch.Tensor, scorch.SparseTensor]:
    g = torch.Generator().manual_seed(p["seed"])
    rows, cols = p["rows"], p["cols"]
    if "bs" in p["form"] or "/" in p["form"]:
        rows, cols = rows + -rows % 4, cols + -cols % 4
    d = pattern(g, rows, cols, p["density"], p["hub"], p["dtype"])
    a = scorch.sparse(d, spell(p["form"], d), index_dtype=p["index"])
    assert torch.equal(a.to_dense(), d)
    return g, d, a


# ---- products ----
def check_matrix(p: dict) -> None:
    g, d, a = make(p)
    x = dense(g, d.shape[1], p["width"], p["layout"], p["dtype"])
    same(a @ x, exact(d, x))
    same(scorch.einsum("ij,jk->ik", a, x), exact(d, x))


def check_others(p: dict) -> None:
    """From the right, transposed, and as a linear layer."""
    g, d, a = make(p)
    y = dense(g, p["width"], d.shape[0], p["layout"], p["dtype"])
    same(y @ a, exact(y, d))
    same(a.T @ y.T, exact(d.T, y.T))
    x = dense(g, p["width"], d.shape[1], p["layout"], p["dtype"])
    same(F.linear(x, a), exact(x, d.T))


def check_vector(p: dict) -> None:
    g, d, a = make(p)
    x = dense(g, d.shape[1], 3, p["layout"], p["dtype"])[:, 1]
    y = dense(g, d.shape[0], 3, p["layout"], p["dtype"])[:, 1]
    same(a @ x, exact(d, x))
    same(y @ a, exact(y, d))


def check_expression(p: dict) -> None:
    g, d, a = make(p)
    x = dense(g, d.shape[1], p["width"], p["layout"], p["dtype"])
    b = integers(g, p["width"], dtype=p["dtype"])
    got = scorch.evaluate("C[i,k] = relu(A[i,j] * B[j,k] + b[k])", A=a, B=x, b=b)
    same(got, torch.relu(exact(d, x) + b))
    same(scorch.evaluate("s[i] = A[i,j]", A=a), d.sum(1))
    same(scorch.evaluate("s = A[i,j]", A=a), d.sum())


@pytest.mark.wide
@quick
@given(problems)
def test_matrix(p):
    check_matrix(p)


@pytest.mark.wide
@settings(quick, max_examples=60)
@given(problems)
def test_from_the_right_and_transposed(p):
    check_others(p)


@settings(quick, max_examples=60)
@given(problems)
def test_vector(p):
    check_vector(p)


@settings(quick, max_examples=40)
@given(problems)
def test_expression(p):
    check_expression(p)


@pytest.mark.slow
@pytest.mark.parametrize("check", [check_matrix, check_others, check_vector, check_expression])
def test_at_length(check):
    long(given(problems)(check))()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_every_width(width, dtype, index):
    p = {"form": "csr", "rows": 65, "cols": 64, "density": 0.2, "hub": True, "layout": "plain", "seed": 1}
    check_matrix({**p, "width": width, "dtype": dtype, "index": index})


@pytest.mark.parametrize("form", ["csr", "coo", "csc"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_empty_views(form, layout):
    """The strides of what has no elements do not matter."""
    for rows, cols, width in ((0, 2, 0), (2, 0, 0), (2, 3, 0), (0, 2, 3), (2, 0, 1), (0, 0, 0)):
        p = {"form": form, "rows": rows, "cols": cols, "width": width, "layout": layout, "density": 0.5}
        for check in (check_matrix, check_others, check_vector):
            check({**p, "hub": False, "dtype": torch.float64, "index": torch.int32, "seed": 0})


@pytest.mark.parametrize("form", ["dense", "dense(1), dense(0)"])
def test_every_level_dense(form):
    g = torch.Generator().manual_seed(0)
    for rows, cols in ((3, 1), (1, 3), (5, 4)):
        d, x = integers(g, rows, cols, dtype=torch.float32), integers(g, cols, 6, dtype=torch.float32)
        try:
            a = scorch.sparse(d, form)
        except (ValueError, NotImplementedError):
            continue  # refused is all right, wrong is not
        same(a.to_dense(), d)
        same(a @ x, exact(d, x))
        same(a @ x[:, 0], exact(d, x[:, 0]))


# ---- other sources ----
@settings(quick, max_examples=40)
@given(st.sampled_from(("csr", "csc", "coo", "csf", "bsr(2,2)")), st.integers(0, 300), st.integers(0, 9))
@example("csr", 0, 0)
def test_unsorted_edges_with_duplicates(form, count, seed):
    g = torch.Generator().manual_seed(seed)
    i = torch.stack([torch.randint(0, n, (count,), generator=g) for n in (20, 14)])
    s = torch.sparse_coo_tensor(i, integers(g, count, dtype=torch.float64), (20, 14), check_invariants=True)
    x = integers(g, 14, 7, dtype=torch.float64)
    a = scorch.sparse(s, form)
    same(a @ x, exact(s.to_dense(), x))


def test_duplicates_in_components_are_added():
    """compressed(nonunique) may hold an element twice; csr may not."""
    pos, rows, cols = torch.tensor([0, 4]), torch.tensor([0, 0, 0, 2]), torch.tensor([1, 1, 2, 0])
    values = torch.tensor([1.0, 2.0, 4.0, 8.0])
    x = torch.arange(6.0).view(3, 2)
    want = torch.tensor([[0.0, 3, 4], [0, 0, 0], [8, 0, 0]]) @ x
    try:
        a = scorch.from_components("coo", (3, 3), [pos, None], [rows, cols], values)
    except ValueError as error:  # a coo whose innermost level is unique refuses them instead
        assert "level 1" in str(error)
    else:
        same(a @ x, want)
    with pytest.raises(ValueError, match="level 1"):
        twice = [None, torch.tensor([1, 1])]
        scorch.from_components("csr", (1, 3), [None, torch.tensor([0, 2])], twice, values[:2])
    with pytest.raises(ValueError, match="level 0"):
        scorch.from_components("coo", (3, 3), [pos, None], [rows.flip(0), cols], values)


def test_three_dimensions():
    g = torch.Generator().manual_seed(0)
    d = integers(g, 9, 12, 17, dtype=torch.float64) * (torch.rand(9, 12, 17, generator=g) < 0.2)
    c, e = integers(g, 12, 7, dtype=torch.float64), integers(g, 17, 7, dtype=torch.float64)
    for form in ("csf", "coo", "dense(0), compressed(1), compressed(2)", "compressed(2), dense(0), dense(1)"):
        a = scorch.sparse(d, form)
        same(scorch.einsum("ijk,jr,kr->ir", a, c, e), torch.einsum("ijk,jr,kr->ir", d, c, e))
        same(scorch.einsum("ijk,kr->ijr", a, e), torch.einsum("ijk,kr->ijr", d, e))


# ---- NaN and infinity ----
ENTRYWISE = ("csr", "csc", "coo", "dcsr", "dcsc", "csf", "ell(8)")


def by_entries(i: torch.Tensor, values: torch.Tensor, rows: int, x: torch.Tensor) -> torch.Tensor:
    """Only stored entries count: a missing one times infinity is nothing."""
    return torch.zeros(rows, x.shape[1], dtype=x.dtype).index_add_(0, i[0], values[:, None] * x[i[1]])


def matches(got: torch.Tensor, want: torch.Tensor) -> None:
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("form", ENTRYWISE)
@pytest.mark.parametrize("width", [1, 7, 33])
def test_not_finite(form, width):
    i = torch.tensor([[0, 0, 2, 3, 3, 5], [1, 4, 0, 2, 3, 4]])
    inf, nan = float("inf"), float("nan")
    x = torch.arange(5.0 * width).view(5, width) + 1
    x[1], x[2, 0], x[0, -1] = inf, nan, -inf
    for values in ([1.0, 2, 3, 4, 5, 6], [nan, 1, inf, 1, 0, -inf], [0.0, -inf, nan, 1, 1, 1]):
        v = torch.tensor(values)
        s = torch.sparse_coo_tensor(i, v, (6, 5), is_coalesced=True, check_invariants=True)
        a = scorch.sparse(s, form)
        matches(a @ x, by_entries(i, v, 6, x))
        matches(a @ x[:, 0], by_entries(i, v, 6, x)[:, 0])
        matches(a.T @ torch.ones(6, width), by_entries(i.flip(0), v, 5, torch.ones(6, width)))


def test_relu_keeps_nan():
    a = scorch.sparse(torch.tensor([[float("nan"), 0], [0, 1]]), "csr")
    y = scorch.evaluate("C[i,k] = relu(A[i,j] * B[j,k])", A=a, B=-torch.ones(2, 3))
    assert y[0].isnan().all() and torch.equal(y[1], torch.zeros(3))


def test_extremes_of_what_is_stored():
    """Rows of negative entries: the start of a maximum must not be zero."""
    a = scorch.sparse(torch.tensor([[-3.0, 0, -2], [0, 5, -1], [0, 0, 0]]), "csr")
    inf = float("inf")
    same(scorch.evaluate("m[i] max= A[i,j]", A=a, implicit="skip"), torch.tensor([-2.0, 5, -inf]))
    same(scorch.evaluate("m[i] min= A[i,j]", A=a, implicit="skip"), torch.tensor([-3.0, -1, inf]))


@pytest.mark.parametrize("name", ["csr", "csc", "coo", "dcsr", "dcsc", "ell(2)", "bsr(1,1)"])
def test_extremes_without_any_point(name):
    inf = float("inf")
    d, x = torch.tensor([[0.0, 0, 0], [0, 2, 0]]), torch.tensor([[1.0, 2], [3, -1], [0, 5]])
    a = scorch.sparse(d, name)
    wanted = torch.tensor([[-inf, -inf], [6.0, -2.0]])
    text = "C[i,k] max= A[i,j] * x[j,k]"
    same(scorch.evaluate(text, A=a, x=x, implicit="skip"), wanted)
    same(scorch.evaluate("C[i,j] min= A[i,j]", A=a, implicit="skip", format="dense"), d.where(d != 0, inf))
    same(scorch.evaluate("C[j] max= A[i,j]", A=a, implicit="skip"), torch.tensor([-inf, 2, -inf]))
    m, y = scorch.evaluate("m[i] max= A[i,j]; y[i] = m[i] * 2", A=a, implicit="skip")
    same(m, torch.tensor([-inf, 2]))
    same(y, torch.tensor([-inf, 4]))
    some = scorch.evaluate(text, A=a, x=x, implicit="skip", format="csr")
    assert some.nnz == 2
    same(some.to_dense(), torch.tensor([[0.0, 0], [6, -2]]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
@pytest.mark.parametrize(
    "name", ["bsr(2,2)", "bsc(4,1)", "compressed(0), dense(1)", "compressed(1), dense(0)"]
)
def test_extremes_in_formats_that_fill(name, dtype):
    """Places between entries hold what an extremum of nothing is."""
    d = torch.randint(1, 9, (8, 8), generator=torch.Generator().manual_seed(0)).to(dtype)
    d *= torch.rand(8, 8, generator=torch.Generator().manual_seed(1)) < 0.15
    a, both = scorch.sparse(d), (d != 0)[:, :, None] & (d != 0)
    for way, least in (("min=", True), ("max=", False)):
        text = f"C[i,k] {way} A[i,j] + A[j,k]"
        c = scorch.evaluate(text, A=a, implicit="skip", format=name)
        stored = c._with_values(torch.ones(c.nnz)).to_dense() != 0
        sums = (d[:, :, None] + d).double().masked_fill(~both, math.inf if least else -math.inf)
        wanted = sums.amin(1) if least else sums.amax(1)
        nothing = scorch.evaluate(text, A=a, implicit="skip", format="dense")
        same(nothing.double()[both.any(1)], wanted[both.any(1)])
        assert c.format == scorch.Format(name) and bool((stored & ~both.any(1)).any())
        same(c.to_dense(), nothing.where(stored, torch.zeros((), dtype=dtype)))
    with pytest.raises(ValueError, match="ask for csr"):
        scorch.evaluate(text, A=a, implicit="skip", format="bsr(2,2) of blocks(2,2,0.5) + csr")


def test_extremes_below_a_dense_level():
    t = scorch.sparse(torch.eye(2)[:, :, None] * torch.tensor([[[3.0, 0, 5]]]))
    form = "dense(0), compressed(1), dense(2)"
    c = scorch.evaluate("C[i,j,k] min= T[i,j,k] * x[l]", T=t, x=torch.ones(2), implicit="skip", format=form)
    assert c.to_dense()[0].tolist() == [[3, math.inf, 5], [0, 0, 0]]


# ---- threads ----
@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield (1, 2, 4)
    torch.set_num_threads(before)


@pytest.mark.sampled
@pytest.mark.parametrize("form", ["csr", "coo", "dcsr", "csc", "bsr(2,2)", "ell(900)"])
@pytest.mark.parametrize("width", [1, 16, 33])
def test_hub_rows(form, width, threads):
    """Rows of very different weight: two full ones among thousands of short and empty ones."""
    g = torch.Generator().manual_seed(0)
    rows, cols = 1500, 900
    d = pattern(g, rows, cols, 0.004, False, torch.float32)
    d[7], d[1400, 1:] = integers(g, cols, dtype=torch.float32), 2
    a = scorch.sparse(d, form)
    x, y = integers(g, cols, width, dtype=torch.float32), integers(g, width, rows, dtype=torch.float32)
    for n in threads:
        torch.set_num_threads(n)
        same(a @ x, exact(d, x))
        same(y @ a, exact(y, d))
        same(a @ x[:, 0], exact(d, x[:, 0]))


def test_one_huge_row(threads):
    g = torch.Generator().manual_seed(0)
    n = 200_000
    row = integers(g, n, dtype=torch.float64)
    pos = torch.tensor([0, 0, n, n, n + 1])
    crd = torch.cat([torch.arange(n), torch.tensor([5])])
    values = torch.cat([row, torch.ones(1).double()])
    a = scorch.from_components("csr", (4, n), [None, pos], [None, crd], values)
    for width in (1, 7, 64):
        x = integers(g, n, width, dtype=torch.float64)
        want = torch.zeros(4, width, dtype=torch.float64)
        want[1], want[3] = row @ x, x[5]
        for t in threads:
            torch.set_num_threads(t)
            same(a @ x, want)
    row[5] += 1
    same(a.T @ torch.ones(4, 2).double(), row[:, None].expand(n, 2))


@pytest.mark.parametrize("form", ["csr", "dcsr", "csf"])
def test_samples_of_one_huge_row(form, threads):
    """What is stored entry by entry needs no sum over the pieces of a row."""
    g = torch.Generator().manual_seed(0)
    rows, cols = 40, 30_000
    d = pattern(g, rows, cols, 0.001, False, torch.float32)
    d[7] = integers(g, cols, dtype=torch.float32)
    t = d.view(rows, 100, 300)
    q, k = integers(g, rows, 9, dtype=torch.float32), integers(g, cols, 9, dtype=torch.float32)
    v = integers(g, 300, dtype=torch.float32)
    for n in threads:
        torch.set_num_threads(n)
        if form == "csf":  # the first levels, of the operand's structure
            same(scorch.einsum("ijk,k->ij", scorch.sparse(t, form), v).to_dense(), t @ v)
            continue
        a = scorch.sparse(d, form)
        same(scorch.sddmm(a, q, k).to_dense(), d * (q @ k.T))
        same(scorch.evaluate("C[i,j] = A[i,j] * x[j]", A=a, x=k[:, 0], format="dense"), d * k[:, 0])


@pytest.mark.parametrize("form", ["csr", "coo", "csc", "dcsc"])
def test_the_same_bits_again(form, threads):
    """One plan and one number of threads: one result, whatever the scheduling of the threads."""
    g = torch.Generator().manual_seed(0)
    i = torch.randint(0, 3000, (2, 60_000), generator=g)
    i[0, :20_000] = 11  # a hub
    s = torch.sparse_coo_tensor(i, torch.randn(60_000, generator=g), (3000, 3000)).coalesce()
    a, x = scorch.sparse(s, form), torch.randn(3000, 33, generator=g)
    for n in threads:
        torch.set_num_threads(n)
        first, right = a @ x, x.T @ a
        for _ in range(5):
            same(a @ x, first)
            same(x.T @ a, right)


def test_owned_rows_do_not_depend_on_the_number_of_threads(threads):
    g = torch.Generator().manual_seed(0)
    a = scorch.sparse(torch.randn(2000, 300, generator=g) * (torch.rand(2000, 300, generator=g) < 0.1), "csr")
    x = torch.randn(300, 33, generator=g)
    results = []
    for n in threads:
        torch.set_num_threads(n)
        results.append(a @ x)
    assert all(torch.equal(results[0], r) for r in results)


# ---- rows summed in batches ----
LENGTHS = (0, 1, 16, 17, 0, 4097, 33, 0, 2048, 2048, 2049, 5000, 3, *([2] * 90), *([70] * 70), 0)


def ragged(dtype: torch.dtype, index: torch.dtype) -> tuple[scorch.SparseTensor, torch.Tensor]:
    """Rows of LENGTHS, some longer than a batch; the same dense."""
    g = torch.Generator().manual_seed(0)
    pos = torch.tensor((0, *LENGTHS)).cumsum(0).to(index)
    crd = torch.cat([torch.randperm(5000, generator=g)[:n].sort()[0] for n in LENGTHS]).to(index)
    csr = torch.sparse_csr_tensor(pos, crd, integers(g, len(crd), dtype=dtype), (len(LENGTHS), 5000))
    return scorch.sparse(csr), csr.to_dense()


@pytest.mark.parametrize("index", (torch.int32, torch.int64))
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.int64, torch.bfloat16))
def test_rows_of_any_length_are_summed(dtype, index):
    A, d = ragged(dtype, index)
    x = integers(torch.Generator().manual_seed(1), 5000, dtype=dtype)
    same(A @ x, exact(d, x))
    rows = torch.repeat_interleave(torch.arange(len(LENGTHS)), A.pos(1).diff().long())
    terms = A.values() + x[A.crd(1).long()]
    least = scorch.evaluate("y[i] min= A[i,j] + x[j]", A=A, x=x, implicit="skip")
    full = torch.tensor(LENGTHS) > 0
    want = torch.zeros(len(LENGTHS), dtype=dtype).scatter_reduce(0, rows, terms, "amin", include_self=False)
    same(least[full], want[full])

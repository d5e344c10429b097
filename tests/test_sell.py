"""Slices of rows that are sorted by length: arrays, lanes behind the end of a row, derived layouts."""

import math

import pytest
import torch

import scorch

T = torch.tensor


def dense(rows: int = 70, columns: int = 64, seed: int = 0) -> torch.Tensor:
    """Small integers, rows of all lengths from none to full."""
    g = torch.Generator().manual_seed(seed)
    share = torch.rand(rows, 1, generator=g) ** 2
    found = torch.randint(1, 8, (rows, columns), generator=g) * (
        torch.rand(rows, columns, generator=g) < share
    )
    found[rows // 2] = 0
    return found.float()


# ---- arrays ----
def test_arrays_of_a_small_matrix():
    a = scorch.sparse(T([[0.0, 0, 0], [0, 3, 0], [0, 4, 5]]), format="sell(2,4)")
    assert a.pos(1).tolist() == [0, 2, 2, *(2, 1, 0, 3)]  # columns of two slices, places of four rows
    assert a.crd(1).tolist() == [0b11, 1, 1, 0b01, 2, 0] and a.values().tolist() == [4, 3, 5, 0]
    assert str(a.format) == "sell(2,4)" and a.format.levels == ("dense(0)", "sell(1, 2, 4)")
    assert a.indices().tolist() == [[2, 1, 2, -1], [1, 1, 2, -1]]


@pytest.mark.parametrize(
    ("pos", "crd", "n", "said"),
    [
        ([0, 2, 2, 2, 1, 0], [3, 1, 1, 1, 2, 0], 4, "expected 7 entries in pos, got 6"),
        ([0, 2, 2, 2, 1, 0, 3], [3, 1, 1, 1, 2, 0], 3, "expected 4 values, got 3|expected 4"),
        ([0, 1, 2, 2, 1, 0, 3], [3, 1, 1, 1, 2, 0], 4, None),
        ([0, 2, 1, 2, 1, 0, 3], [3, 1, 1, 1, 2, 0], 4, "window 0: expected slices"),
        ([0, 1, 1, 2, 1, 0, 3], [3, 1, 1, 1, 2, 0], 4, "window 0: expected slices"),
        ([1, 2, 2, 2, 1, 0, 3], [3, 1, 1, 1, 2, 0], 4, "window 0: expected slices"),
        ([0, 2, 2, 2, 1, 1, 3], [3, 1, 1, 1, 2, 0], 4, "row 2 at place 1, expected a place of its own"),
        ([0, 2, 2, 2, 1, 4, 3], [3, 1, 1, 1, 2, 0], 4, "row 2 at place 4, expected"),
        ([0, 2, 2, 2, 1, -1, 3], [3, 1, 1, 1, 2, 0], 4, "row 2 at place -1, expected"),
        ([0, 2, 2, 2, 1, 0, 3], [3, 1, 1, 2, 0, 2], 4, "row . at place ., expected"),
        ([0, 2, 2, 2, 1, 0, 3], [3, 1, 1, 0, 0, 0], 4, "row 2 at place 0, expected"),
        ([0, 2, 2, 2, 1, 0, 3], [3, 1, 1, 5, 2, 0], 4, "row . at place ., expected"),
        ([0, 2, 2, 2, 1, 0, 3], [3, 1, 1, 1, 1, 0], 4, "row 2 at place 0, expected"),
        ([0, 2, 2, 2, 1, 0, 3], [3, 1, 1, 1, 3, 0], 4, "row 2 at place 0, expected"),
        ([0, 2, 2, 2, 1, 0, 3], [3, 1, 1, 1, 2, 1], 4, "row 1 at place 1, expected"),
        ([0, 2, 2, 0, 1, 3, 2], [3, 1, 1, 1, 2, 0], 4, None),
        ([0, 2, 2, 0, 1, 2, 3], [3, 1, 1, 1, 2, 0], 4, None),
        ([0, 2, 2, 3, 1, 2, 0], [3, 1, 1, 1, 2, 0], 4, "row 3 at place 0, expected"),
    ],
)
def test_bad_arrays_say_what_is_wrong(pos, crd, n, said):
    arrays = [None, T(pos)], [None, T(crd)], torch.ones(n)
    if said is None:
        assert scorch.from_components("sell(2,4)", (3, 3), *arrays).to_dense().sum() == 3
        return
    with pytest.raises(ValueError, match=said):
        scorch.from_components("sell(2,4)", (3, 3), *arrays)


@pytest.mark.parametrize(
    "bad",
    [
        "sell(3,6)", "sell(32,64)", "sell(0,4)", "sell(4,0)", "sell(4,6)", "sell(4,2)", "sell(16,8192)",
        "sell", "sell(4)", "sell(0, 4, 8)", "sell(0, 4, 8), dense(1)", "dense(0), sell(1)",
        "dense(0), sell(1/2, 4, 8), dense(1%2)", "dense(0), sell(1, 4)", "dense(0), sell(1, 4, 8, 8)",
    ],
)  # fmt: skip
def test_formats_that_there_are_not(bad):
    with pytest.raises(ValueError, match="expected"):
        scorch.Format(bad)


def test_repeated_coordinates_are_summed():
    at, values = T([[0, 0, 3, 3, 3], [1, 1, 2, 2, 0]]), T([1.0, 2, 4, 8, 16])
    a = scorch.sparse(torch.sparse_coo_tensor(at, values, (5, 4)), format="sell(4,4)")
    assert torch.equal(a.to_dense(), torch.sparse_coo_tensor(at, values, (5, 4)).to_dense())
    assert a.crd(1).tolist() == [1, 1, 0, 0, 0] if a.nnz == 1 else True


@pytest.mark.parametrize("format", ["sell(16,1024)", "sell(4,4)", "sell(1,1)", "sell(8,4096)"])
@pytest.mark.parametrize("shape", [(0, 4), (5, 0), (1, 1), (17, 3), (3, 40), (5000, 1), (100_000, 100_000)])
def test_extents_of_all_sizes(shape, format):
    rows, columns = shape
    n = min(rows, columns, 3)
    at = torch.stack([torch.arange(n) * max(rows // max(n, 1), 1), torch.arange(n)])
    coo = scorch.sparse(torch.sparse_coo_tensor(at, torch.arange(1.0, n + 1), shape))
    a, x = coo.convert(format), torch.ones(columns)
    assert torch.equal(a @ x, coo.convert("csr") @ x)
    assert torch.equal(a.convert("csr").indices(), coo.convert("csr").indices())


def test_rows_longer_than_are_counted():
    """Lengths of a thousand and more are told apart one by one."""
    d = torch.zeros(40, 3000)
    for row, n in enumerate((0, 5, 1024, 1023, 3000, 2000, 2001, 1, 1500) * 4):
        d[row, :n] = torch.arange(1.0, n + 1).remainder(7) + 1
    a, x = scorch.sparse(d, format="sell(4,32)"), torch.arange(3000.0).remainder(3)
    assert torch.equal(a.to_dense(), d) and torch.equal(a @ x, d @ x)
    lengths = (d != 0).sum(1)[:32].sort(descending=True).values
    assert a.pos(1)[:9].diff().tolist() == lengths[::4].tolist()


# ---- lanes ----
@pytest.mark.parametrize("rows", [1, 15, 16, 17, 70, 3000])
@pytest.mark.parametrize("format", ["sell(4,8)", "sell(8,512)", "sell(16,1024)", "sell(2,4096)"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64, torch.bfloat16])
def test_products_with_vectors(rows, format, dtype):
    d = dense(rows, 64).to(dtype)
    a, x = scorch.sparse(d, format=format), (torch.arange(64) % 5 - 2).to(dtype)
    exact = (d.double() @ x.double()).to(dtype)
    assert torch.equal(a @ x, exact)
    assert torch.equal(scorch.evaluate("y[i] = A[i,j] * x[j] + b[i]", A=a, x=x, b=exact), 2 * exact)


@pytest.mark.parametrize("special", [math.nan, math.inf])
def test_what_stands_where_nothing_is_stored_adds_nothing(special):
    d = dense()
    d[:, 0] = d[:, 20] = 0  # column 0 is what padding names
    x = torch.arange(64.0)
    x[0] = x[20] = special
    a = scorch.sparse(d, format="sell(16,1024)")
    assert torch.equal(a @ x, d @ x.nan_to_num(0, 0, 0))
    with_factor = scorch.evaluate("y[i] = s * A[i,j] * x[j]", A=a, x=torch.ones(64), s=T(special))
    assert torch.equal(with_factor.isfinite(), (d != 0).sum(1) == 0)


def test_largest_and_smallest_of_rows():
    d, x = -dense(), torch.ones(64)
    a = scorch.sparse(d, format="sell(8,64)")
    largest = torch.where(d != 0, d, -math.inf).amax(1)
    assert torch.equal(scorch.evaluate("y[i] max= A[i,j] * x[j]", implicit="skip", A=a, x=x), largest)
    assert torch.equal(scorch.evaluate("y[i] max= A[i,j] * x[j]", A=a, x=x), (d * x).amax(1))
    assert torch.equal(scorch.evaluate("y[i] min= A[i,j] * x[j]", A=a, x=x), (d * x).amin(1))


def test_batches_of_matrices_share_windows():
    d = torch.stack([dense(19, 23), dense(19, 23).flip(0), torch.zeros(19, 23)])
    a, x = scorch.sparse(d, format="sell(8,16)"), torch.arange(23.0)
    assert torch.equal(scorch.einsum("bij,j->bi", a, x), d @ x)
    assert torch.equal(a.to_dense(), d)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_take_whole_windows(threads):
    d, before = dense(5000, 80), torch.get_num_threads()
    a, x = scorch.sparse(d, format="sell(8,256)"), torch.arange(80.0)
    try:
        torch.set_num_threads(threads)
        assert torch.equal(a @ x, d @ x)
    finally:
        torch.set_num_threads(before)


# ---- layouts of matrices that are multiplied with vectors again and again ----
def graph(n: int = 6000, most: int = 9, seed: int = 0) -> scorch.SparseTensor:
    g = torch.Generator().manual_seed(seed)
    row = torch.repeat_interleave(torch.arange(n), torch.randint(0, most, (n,), generator=g))
    column = torch.randint(n, row.shape, generator=g)
    values = torch.randint(1, 5, row.shape, generator=g).float()
    return scorch.coo((row, column), values, (n, n), format="csr")


def product(a: scorch.SparseTensor, x: torch.Tensor) -> torch.Tensor:
    return torch.sparse.mm(a.to_torch(torch.sparse_csr), x[:, None])[:, 0]


def is_sorted(a: scorch.SparseTensor) -> bool:
    return any("sell" in name for name in a.memory()["derived"])


@pytest.fixture
def narrow() -> None:
    """Layouts of sorted rows are derived where vectors have 32 bytes or more."""
    a = graph().optimize(calls=10**6)
    a @ torch.ones(6000)
    if not is_sorted(a):
        pytest.skip("vectors of this CPU have 16 bytes: no sorted rows are derived")


@pytest.mark.parametrize("write", ["nothing", "in place", "data", "numpy"])
def test_values_that_change_are_seen(narrow, write):
    a, x = graph().optimize(calls=10**6), torch.arange(6000.0).remainder(5)
    assert torch.equal(a @ x, product(a, x)) and is_sorted(a)
    for step in range(3):
        if write == "in place":
            a.values().mul_(-1)
        elif write == "data":
            a.values().data[5] += step + 1
        elif write == "numpy":
            a.values().numpy()[-1] += step + 1
        assert torch.equal(a @ x, product(a, x))


def test_values_that_always_change_are_not_sorted(narrow):
    a, x = graph().optimize(calls=10**6), torch.arange(6000.0)
    for _ in range(20):
        a.values().neg_()
        assert torch.equal(a @ x, product(a, x))
    assert not is_sorted(a)


def test_long_rows_stay_as_they_are():
    a, x = graph(most=120).optimize(calls=10**6), torch.arange(6000.0).remainder(3)
    assert torch.equal(a @ x, product(a, x)) and not is_sorted(a)


def test_few_rows_stay_as_they_are():
    a, x = graph(1000).optimize(calls=10**6), torch.arange(1000.0)
    assert torch.equal(a @ x, product(a, x)) and not is_sorted(a)


def test_other_products_go_on_with_csr(narrow):
    a, x = graph().optimize(calls=10**6), torch.arange(6000.0).remainder(5)
    y = a @ x
    assert is_sorted(a)
    assert torch.equal(a @ torch.stack([x, x], 1), torch.stack([y, y], 1))
    assert torch.equal(a.T @ x, product(a.T.convert("csr"), x))
    assert torch.equal(scorch.evaluate("y[i] = relu(A[i,j] * x[j] - b[i])", A=a, x=x, b=y), torch.zeros(6000))


def test_gradients_of_a_tensor_with_sorted_rows(narrow):
    a, x = graph().optimize(calls=10**6), torch.arange(6000.0).remainder(5)
    assert torch.equal(a @ x, product(a, x)) and is_sorted(a)
    ones = product(a.T.convert("csr"), torch.ones(6000))
    a.requires_grad_()
    x.requires_grad_()
    (a @ x).sum().backward()
    assert torch.equal(x.grad, ones)
    assert torch.equal(a.grad.values(), x.detach()[a.indices()[1]])

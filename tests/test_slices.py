"""Slices of diagonals: arrays, lanes without an entry, layouts of matrices that meet many vectors."""

import math

import pytest
import torch

import scorch

T = torch.tensor


def dense(
    rows: int = 70, columns: int = 64, diagonals: tuple[int, ...] = (-20, -1, 0, 3, 40)
) -> torch.Tensor:
    """Small integers along some diagonals, with gaps, and a row without entries."""
    i, j = torch.arange(rows)[:, None], torch.arange(columns)
    on = sum(((j - i) == d) for d in diagonals).bool()
    found = on * ((3 * i + 5 * j) % 7 + 1.0) * ((i + 2 * j) % 5 != 0)
    found[rows // 2] = 0
    return found


# ---- arrays ----
def test_arrays_of_a_small_matrix():
    a = scorch.sparse(T([[1.0, 2, 0], [0, 3, 4], [0, 0, 5]]), format="dia(2)")
    assert a.pos(1).tolist() == [0, 2, 3] and a.crd(1).tolist() == [0, 3, 1, 3, 0, 1]
    assert a.values().tolist() == [1, 3, 2, 4, 5, 0]
    assert str(a.format) == "dia(2)" and a.format.levels == ("dense(0)", "diagonals(1, 2)")
    assert a.indices().tolist() == [[0, 1, 0, 1, 2, -1], [0, 1, 1, 2, 2, -1]]


@pytest.mark.parametrize(
    ("pos", "crd", "n", "said"),
    [
        ([0, 2, 2], [1, 3, 1, 1], 4, r"crd\[2\] = 1 with rows 0x1, expected rising diagonals"),
        ([0, 1, 1], [0, 4], 2, r"crd\[0\] = 0 with rows 0x4, expected"),
        ([0, 1, 1], [0, 0], 2, r"crd\[0\] = 0 with rows 0, expected"),
        ([0, 1, 1], [2, 2], 2, r"crd\[0\] = 2 with rows 0x2, expected"),
        ([0, 1, 1], [-1, 1], 2, r"crd\[0\] = -1 with rows 0x1, expected"),
        ([0, 0, 1], [0, 2], 2, r"crd\[0\] = 0 with rows 0x2, expected"),
        ([0, 1], [0, 1], 2, "expected 3 entries in pos, got 2"),
        ([0, 1, 1], [0, 1, 5], 2, "expected 2 entries in crd, got 3"),
        ([0, 2, 1], [0, 1], 2, r"pos\[1\] = 2 exceeds pos\[2\] = 1"),
        ([0, 0, 0], [0, 1], 2, r"pos\[2\] = 0, expected 1, the number of stored diagonals"),
        ([0, 1, 1], [0, 1], 3, "expected 2 values, got 3|expected 2"),
    ],
)
def test_bad_arrays_say_what_is_wrong(pos, crd, n, said):
    arrays = [None, T(pos)], [None, T(crd)], torch.ones(n)
    with pytest.raises(ValueError, match=said):
        scorch.from_components("dia(2)", (3, 3), *arrays)


@pytest.mark.parametrize(
    "bad",
    [
        "dia(3)", "dia(32)", "dia(0)", "dia", "diagonals(0, 4)", "diagonals(0, 4), dense(1)",
        "dense(0), diagonals(1/2, 4), dense(1%2)", "dense(0), diagonals(1)",
    ],
)  # fmt: skip
def test_formats_that_there_are_not(bad):
    with pytest.raises(ValueError, match="expected"):
        scorch.Format(bad)


def test_repeated_coordinates_are_summed():
    at, values = T([[0, 0, 3, 3, 3], [1, 1, 2, 2, 0]]), T([1.0, 2, 4, 8, 16])
    a = scorch.sparse(torch.sparse_coo_tensor(at, values, (5, 4)), format="dia(4)")
    assert torch.equal(a.to_dense(), torch.sparse_coo_tensor(at, values, (5, 4)).to_dense())


@pytest.mark.parametrize("shape", [(0, 4), (5, 0), (1, 1), (17, 3), (3, 40), (100_000, 100_000)])
def test_extents_of_all_sizes(shape):
    rows, columns = shape
    n = min(rows, columns, 3)
    at = torch.stack([torch.arange(n) * max(rows // max(n, 1), 1), torch.arange(n)])
    coo = scorch.sparse(torch.sparse_coo_tensor(at, torch.arange(1.0, n + 1), shape))
    a, x = coo.convert("dia(16)"), torch.ones(columns)
    assert torch.equal(a @ x, coo.convert("csr") @ x)
    assert torch.equal(a.convert("csr").indices(), coo.convert("csr").indices())


# ---- lanes ----
@pytest.mark.parametrize("rows", [1, 15, 16, 17, 70, 3000])
@pytest.mark.parametrize("format", ["dia(4)", "dia(8)", "dia(16)"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64, torch.bfloat16])
def test_products_with_vectors(rows, format, dtype):
    d = dense(rows, 64).to(dtype)
    a, x = scorch.sparse(d, format=format), (torch.arange(64) % 5 - 2).to(dtype)
    exact = (d.double() @ x.double()).to(dtype)
    assert torch.equal(a @ x, exact)
    assert torch.equal(scorch.evaluate("y[i] = A[i,j] * x[j] + b[i]", A=a, x=x, b=exact), 2 * exact)


@pytest.mark.parametrize("special", [math.nan, math.inf])
def test_what_stands_where_nothing_is_stored_is_not_read(special):
    d = dense()
    d[:, 7] = d[:, 20] = 0
    x = torch.arange(64.0)
    x[7] = x[20] = special
    around = torch.full((64 + 200,), special)
    around[100:164] = x
    a = scorch.sparse(d, format="dia(16)")
    assert torch.equal(a @ around[100:164], d @ x.nan_to_num(0, 0))
    with_factor = scorch.evaluate("y[i] = s * A[i,j] * x[j]", A=a, x=torch.ones(64), s=T(special))
    assert torch.equal(with_factor.isfinite(), (d != 0).sum(1) == 0)


def test_largest_and_smallest_of_rows():
    d, x = -dense(), torch.ones(64)
    a = scorch.sparse(d, format="dia(16)")
    largest = torch.where(d != 0, d, -math.inf).amax(1)
    assert torch.equal(scorch.evaluate("y[i] max= A[i,j] * x[j]", implicit="skip", A=a, x=x), largest)
    assert torch.equal(scorch.evaluate("y[i] max= A[i,j] * x[j]", A=a, x=x), (d * x).amax(1))
    assert torch.equal(scorch.evaluate("y[i] min= A[i,j] * x[j]", A=a, x=x), (d * x).amin(1))


def test_batches_of_matrices_share_slices():
    d = torch.stack([dense(19, 23), dense(19, 23).flip(0), torch.zeros(19, 23)])
    a, x = scorch.sparse(d, format="dia(8)"), torch.arange(23.0)
    assert torch.equal(scorch.einsum("bij,j->bi", a, x), d @ x)


# ---- layouts of matrices that are multiplied with vectors again and again ----
def grid(side: int = 60) -> scorch.SparseTensor:
    n = side * side
    d = [torch.diag(torch.arange(n - k).remainder(7) + 1.0, k) for k in (0, 1, side)]
    full = d[0] + d[1] + d[2] + d[1].T + d[2].T
    return scorch.sparse(full, format="csr")


def sliced(a: scorch.SparseTensor) -> bool:
    return "dia(16)" in a.memory()["derived"]


@pytest.mark.slow
def test_products_with_vectors_are_counted():
    a, x = grid(), torch.arange(3600.0).remainder(5)
    calls, y = 2**32 // (16 * a.nnz), a @ x
    assert not sliced(a)
    for _ in range(calls):
        a @ x
    assert torch.equal(a @ x, y) and sliced(a)
    assert torch.equal(a @ torch.stack([x, x], 1), torch.stack([y, y], 1))
    a.release()
    assert torch.equal(a @ x, y) and not sliced(a)


@pytest.mark.parametrize("write", ["in place", "data", "numpy"])
def test_values_that_change_are_seen(write):
    a, x = grid(25).optimize(calls=1000), torch.arange(625.0).remainder(5)
    assert torch.equal(a @ x, a.to_dense() @ x) and sliced(a)
    for step in range(3):
        if write == "in place":
            a.values().mul_(-1)
        elif write == "data":
            a.values().data[5] += step + 1
        else:
            a.values().numpy()[-1] += step + 1
        assert torch.equal(a @ x, a.to_dense() @ x)


@pytest.mark.parametrize("of_torch", [False, True])
def test_values_that_always_change_have_no_slices(of_torch):
    """Where torch made the tensor, its coordinates have the version that writes to values move."""
    a = grid(25).to_torch(torch.sparse_csr).clone() if of_torch else grid(25)
    a, x = scorch.sparse(a).optimize(calls=1000), torch.arange(625.0)
    for _ in range(20):
        a.values().neg_()
        assert torch.equal(a @ x, a.to_dense() @ x)
    assert not sliced(a)


def test_rows_that_share_no_diagonals_have_no_slices():
    torch.manual_seed(0)
    scattered = scorch.sparse((torch.rand(512, 512) < 0.02) * 1.0, format="csr").optimize(calls=1000)
    x = torch.arange(512.0)
    assert torch.equal(scattered @ x, scattered.to_dense() @ x) and not sliced(scattered)


def test_one_row_that_is_full_gives_slices_up():
    d = torch.eye(2000) + torch.diag(torch.ones(1999), 1)
    d[1000] = 1
    a, x = scorch.sparse(d, format="csr").optimize(calls=1000), torch.arange(2000.0).remainder(3)
    for _ in range(3):
        assert torch.equal(a @ x, d @ x)
    assert not sliced(a)


def test_gradients_of_a_tensor_with_slices():
    a, x = grid(25).optimize(calls=1000), torch.arange(625.0)
    assert torch.equal(a @ x, a.to_dense() @ x) and sliced(a)
    d = a.to_dense()
    a.requires_grad_()
    x.requires_grad_()
    (a @ x).sum().backward()
    assert torch.equal(x.grad, d.sum(0)) and torch.equal(a.grad.to_dense(), (d != 0) * x.detach())

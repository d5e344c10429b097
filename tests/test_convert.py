"""Conversions of sizes at which the library takes other ways: many entries, many keys, long rows."""

import numpy
import pytest
import scipy.sparse
import torch

import scorch
from scorch import _C
from scorch.tensor.entries import flat_format
from scorch.tensor.sparsetensor import core_of

SHAPES = [
    (3, 4, 9),
    (300, 200, 5000),
    (3, 100_000, 40_000),  # more keys than stay in place, few entries
    (140_000, 3, 40_000),
    (50_000, 40_000, 150_000),  # dealt into buckets
    (30_000, 40_000, 300_000),  # transposed in place by several lanes
    (1, 70_000, 50_000),  # one row
    (70_000, 1, 50_000),
    (2, 2, 100_000),  # nearly all are duplicates
    (0, 5, 0),
    (5, 0, 0),
]


def triples(rows, columns, n, dtype):
    g = torch.Generator().manual_seed(n)
    index = torch.stack([torch.randint(max(extent, 1), (n,), generator=g) for extent in (rows, columns)])
    return index, torch.randint(1, 9, (n,), generator=g).to(dtype)


def expected(index, values, shape):
    found = scipy.sparse.coo_array((values.numpy(), tuple(index.numpy())), shape).tocsr()
    found.sum_duplicates()
    return found


def same(a, matrix):
    assert numpy.array_equal(a.pos(1).numpy(), matrix.indptr)
    assert numpy.array_equal(a.crd(1).numpy(), matrix.indices)
    assert numpy.array_equal(a.values().numpy(), matrix.data)


@pytest.mark.parametrize("rows, columns, n", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int16])
@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64])
def test_rows_and_columns(rows, columns, n, dtype, index_dtype):
    index, values = triples(rows, columns, n, dtype)
    matrix = expected(index, values, (rows, columns))
    coo = torch.sparse_coo_tensor(index, values, (rows, columns), check_invariants=False)
    a = scorch.sparse(coo, format="csr", index_dtype=index_dtype)
    assert a.index_dtype == index_dtype
    same(a, matrix)
    turned = matrix.tocsc()
    turned.sort_indices()
    other = torch.int64 if index_dtype == torch.int32 else torch.int32
    for made in (a.convert("csc"), a.convert("csc", index_dtype=other)):
        same(made, turned)
        same(made.convert("csr"), matrix)
    same(a.convert("coo", index_dtype=other).convert("csr", index_dtype=index_dtype), matrix)


def test_so_many_entries_that_lanes_ask_whether_to_go_on():
    shape, g = (9001, 9011), torch.Generator().manual_seed(0)
    key = torch.randint(shape[0] * shape[1], (4_400_000,), generator=g).unique()
    key = key[: len(key) // 6 * 6 + 1]  # no number of lanes and pieces divides it
    values = torch.arange(len(key), dtype=torch.float32) % 1000
    order = torch.randperm(len(key), generator=g)
    rows, columns = key // shape[1], key % shape[1]
    wanted = scipy.sparse.csr_array((values.numpy(), (rows.numpy(), columns.numpy())), shape)
    csr = scorch.coo(torch.stack([rows, columns])[:, order], values[order], shape).convert("csr")
    same(csr, wanted)
    same(csr.convert("csc"), wanted.tocsc())
    same(csr.T.convert("csr"), wanted.T.tocsr())
    cube = scorch.coo(torch.stack([rows % 7, rows // 7, columns])[:, order], values[order], (7, 1286, 9011))
    sorted_key, at = ((rows % 7 * 1286 + rows // 7) * 9011 + columns).sort()
    made = cube.convert("csf")
    i, j, k = made.indices().long()
    assert torch.equal((i * 1286 + j) * 9011 + k, sorted_key) and torch.equal(made.values(), values[at])


@pytest.mark.parametrize("rows, columns, n", SHAPES[:7])
def test_permutations(rows, columns, n):
    index, _ = triples(rows, columns, n, torch.float32)
    index = index[:, torch.randperm(n)].unique(dim=1)
    index = index[:, torch.randperm(index.shape[1], generator=torch.Generator().manual_seed(1))]
    values = torch.arange(index.shape[1], dtype=torch.float64)
    arrays = torch.tensor([0, index.shape[1]]), *index, values
    listed = _C.Core(flat_format(2), (rows, columns), arrays, False)
    (text, shape, arrays), perm = _C.convert(listed, "csr", True, True)
    assert torch.equal(values[perm], arrays[-1]) and torch.equal(index[1][perm], arrays[1])
    a = scorch.from_components(text, shape, [None, arrays[0]], [None, arrays[1]], arrays[-1])
    (*_, turned), perm = _C.convert(core_of(a), "csc", True, True)
    assert torch.equal(arrays[-1][perm], turned[-1])


@pytest.mark.parametrize("rows", [[0, 5, 5, 3], [0, 1, 2, 9], [-1, 0, 1, 2], [2, 1, 1, 0]])
@pytest.mark.parametrize("length", [4, 700])
def test_rows_that_break_the_promise_of_coo(rows, length):
    """Coordinates that nobody validated: what falls is sorted, what strays is refused."""
    rows = torch.tensor(([0] * (length - 4)) + rows)
    columns = torch.arange(length)
    a = scorch.from_components(
        "coo",
        (6, length),
        [torch.tensor([0, length]), None],
        [rows, columns],
        torch.ones(length),
        validate=False,
    )
    if int(rows.min()) >= 0 and int(rows.max()) < 6:
        dense = torch.zeros(6, length)
        dense[rows, columns] = 1
        assert torch.equal(a.convert("csr").to_dense(), dense)
    else:
        with pytest.raises(ValueError, match="out of range"):
            a.convert("csr")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.float16, torch.bool])
@pytest.mark.parametrize("shape", [(1, 1), (1, 1000), (1000, 1), (70, 63), (33, 200), (5, 4097)])
def test_dense(shape, dtype):
    g = torch.Generator().manual_seed(shape[1])
    for kept in (0.03, 0.7):
        d = ((torch.rand(shape, generator=g) < kept) * torch.randint(1, 9, shape, generator=g)).to(dtype)
        if dtype.is_floating_point:
            d[:, ::3] *= -1  # -0.0 is a zero
        for x in (d, d.T.contiguous().T, torch.cat([d, d], 1)[:, : shape[1]], torch.cat([d, d], 1)[:, ::2]):
            at = x.nonzero()
            for format in ("csr", "coo", "csc"):
                a = scorch.sparse(x, format=format)
                assert a.nnz == len(at) and torch.equal(a.to_dense(), x)
            a = scorch.sparse(x, format="csr", index_dtype=torch.int64)
            assert torch.equal(a.crd(1), at[:, 1]) and torch.equal(a.values(), x[at[:, 0], at[:, 1]])


@pytest.mark.parametrize("fmt", ["dense", "bsr(1,2)", "bsc(1,2)", "compressed(1), dense(0)"])
def test_as_many_duplicates_as_there_are_holes(fmt):
    """Positions without an entry are zero, also where they are as many as the entries that repeat."""
    a = scorch.from_components(
        "dense(0), compressed(1, nonunique)", (1, 4), [None, torch.tensor([0, 4])],
        [None, torch.tensor([2, 2, 3, 3])], torch.ones(4),
    )  # fmt: skip
    for _ in range(20):
        torch.full((4,), float("nan"))  # what is freed here may be taken below
        got = a.to_dense() if fmt == "dense" else a.convert(fmt).to_dense()
        assert got.tolist() == [[0, 0, 2, 2]]


def test_below_padding_is_no_entry_where_an_extent_is_zero():
    n = 2**31 - 1
    levels = "ell(0/4,1), compressed(2), ell(1,5), dense(0%4)"
    pos = [None, torch.tensor([0, 1]), None, None]
    crd = [torch.tensor([-1]), torch.tensor([n - 90]), torch.full((5,), -1), None]
    A = scorch.from_components(levels, (0, n, n), pos, crd, torch.ones(20))
    for format in ("coo", "csf"):
        assert A.convert(format).nnz == 0


TAILS = [
    "dense(0), compressed(1), dense(2)",
    "dense(1), compressed(0), dense(2)",
    "compressed(0), compressed(1), dense(2)",
    "compressed(1), compressed(0), dense(2)",
    "compressed(1), dense(0), dense(2)",
    "compressed(0, nonunique), singleton(1), dense(2)",
]


@pytest.mark.parametrize("source", TAILS)
@pytest.mark.parametrize("target", TAILS)
@pytest.mark.parametrize("shape", [(7, 5, 3), (300, 200, 9), (4, 6, 1)])
def test_dense_levels_at_the_end_move_with_what_is_above(source, target, shape):
    g = torch.Generator().manual_seed(1)
    rows = torch.rand(shape[:2], generator=g) < 0.3
    x = torch.randint(0, 9, shape, generator=g).double() * rows[:, :, None]  # zeros below entries, too
    a = scorch.sparse(x, source)
    through = a.convert("csf").convert(target)  # entry by entry
    for index_dtype in (torch.int32, torch.int64):
        made = a.convert(target, index_dtype=index_dtype)
        assert made.index_dtype == index_dtype and torch.equal(made.to_dense(), x)
        assert made.nnz == through.nnz
        for got, wanted in zip(made._arrays(), through._arrays(), strict=True):
            assert torch.equal(got.double(), wanted.double())


def test_a_kept_layout_reads_the_values_below_entries_that_are_there():
    g = torch.Generator().manual_seed(2)
    rows = torch.rand(40, 30, generator=g) < 0.2
    a = scorch.sparse(torch.rand(40, 30, 3, generator=g) * rows[:, :, None], TAILS[0])
    b = torch.rand(40, 3, 8, generator=g)
    schedule = f'order(j, h, i, f) convert(A: "{TAILS[1]}")'
    for _ in range(3):
        found = scorch.evaluate("C[j,h,f] = A[i,j,h] * b[i,h,f]", A=a, b=b, schedule=schedule)
        torch.testing.assert_close(found, torch.einsum("ijh,ihf->jhf", a.to_dense(), b))
        a.values().mul_(2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_another_type_keeps_what_is_derived(dtype):
    """Else means and norms of half types, which are computed in float32, convert the matrix in each call."""
    n = 30_000
    at = torch.arange(8 * n)
    a = scorch.coo(torch.stack([at // 8, at * 7919 % n]), torch.ones(8 * n), (n, n), format="csr").to(dtype)
    wide = a.float()
    assert torch.equal(wide.sum(0), torch.full((n,), 8.0))
    assert "csc" in a.memory()["derived"]
    for b in (a, a.double(), a.to(torch.int64), wide.half()):
        assert b.memory()["derived"] == a.memory()["derived"]
    assert not a.to(torch.float32, copy=True).memory()["derived"]
    wide.crd(1)[:8] = wide.crd(1)[8:16].clone()
    counts = a.crd(1).bincount(minlength=n).to(torch.float32)
    assert torch.equal(wide.sum(0), counts) and torch.equal(a.float().sum(0), counts)


@pytest.mark.parametrize("levels", ["compressed(0), compressed(1), compressed(2)", "dense(0)", " Dense(0)"])
def test_levels_of_another_rank_are_refused(levels):
    x = torch.eye(4)
    for take in (scorch.sparse, lambda t, f: scorch.sparse(t).convert(f)):
        with pytest.raises(ValueError, match="expected levels of 2 dimensions, got some of"):
            take(x, levels)


def test_names_are_of_any_rank():
    """Also where what is spelled out has a name, which other ranks have too."""
    x = torch.rand(2, 3, 4)
    for text in (
        "ell(4)",
        "dense(0), dense(1), ell(2, 4)",
        "csc",
        "dense(0), dense(1), compressed(2)",
        "dia(2)",
        "sell(2,4)",
    ):
        a = scorch.sparse(x, text)
        assert torch.equal(a.to_dense(), x) and a.convert("coo").convert(a.format).format == a.format
        assert scorch.Format(text).levels
    assert scorch.sparse(x, scorch.Format(["dense", "dense", "compressed"])).format == "csr"


def _entries(rows, columns, n, seed=0):
    g = torch.Generator().manual_seed(seed)
    at = torch.stack([torch.randint(k, (n,), generator=g) for k in (rows, columns)])
    values = torch.randn(n, generator=g, dtype=torch.float64)
    return scorch.sparse(torch.sparse_coo_tensor(at, values, (rows, columns)).coalesce(), "csr")


@pytest.mark.parametrize("block", ((2, 2), (3, 2), (4, 1), (5, 8), (1, 4)))
def test_blocks_of_many_columns(block):
    """More than the words of a bitmap's words have bits for, in the first and in the last of them."""
    rows, columns = 60, 2_400_000
    a = _entries(rows, columns, 4000)
    made = a.convert(f"bsr({block[0]},{block[1]})")
    want = scipy.sparse.csr_matrix((a.values(), a.crd(1), a.pos(1)), shape=(rows, columns)).tobsr(block)
    want.sort_indices()
    assert torch.equal(made.crd(1).long(), torch.from_numpy(want.indices).long())
    assert torch.equal(made.values(), torch.from_numpy(want.data).reshape(-1))
    back = made.convert("csr")
    assert torch.equal(back.values(), made.values().view(-1, *block)[_order_of_rows(made, block)].reshape(-1))


def _order_of_rows(a, block):
    """The block and its row of each row of blocks' entries, in the order of csr."""
    blocks = torch.repeat_interleave(torch.arange(a.shape[0] // block[0]), a.pos(1).diff())
    key = [(b * block[0] + i, k, i) for k, b in enumerate(blocks.tolist()) for i in range(block[0])]
    _, k, i = torch.tensor(sorted(key)).T
    return k, i


@pytest.mark.parametrize("offsets", ((-300, -1, 0, 1, 300), (-2, 0, 1), (0, 70_000)))
@pytest.mark.parametrize("index", (torch.int32, torch.int64))
def test_diagonals_are_transposed_where_they_are(offsets, index):
    n = 150_000
    m = scipy.sparse.diags(
        [numpy.random.default_rng(abs(k)).standard_normal(n) for k in offsets], offsets, (n, n)
    )
    m = m.tocsr()
    m.sort_indices()
    a = scorch.sparse(m, "csr").to(index_dtype=index)
    made, want = a.convert("csc"), m.tocsc()
    want.sort_indices()
    assert torch.equal(made.crd(1), torch.from_numpy(want.indices).to(index))
    assert torch.equal(made.pos(1), torch.from_numpy(want.indptr).to(index))
    assert torch.equal(made.values(), torch.from_numpy(want.data))
    assert torch.equal(made.convert("csr").values(), a.values())

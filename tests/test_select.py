"""Rows and columns of matrices against torch's indexing of their dense twins, and the gradients."""

import itertools
import random
from itertools import pairwise

import pytest
import torch

import scorch
from scorch.tensor import conversion, rearrange
from scorch.tensor import index as indexing
from scorch.tensor import join as joining

SHAPES = ((5, 7), (30, 300), (1, 40), (64, 64), (0, 3), (200, 130))
TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int32, torch.int8, torch.bool)


def selection(r: random.Random, n: int) -> object:
    """An index of n coordinates: all, a range, steps, a mask, an order, a list that repeats, an int."""
    g = torch.Generator().manual_seed(r.randrange(1000))
    low, high = sorted((r.randint(0, n), r.randint(0, n)))
    kinds = [
        slice(None),
        slice(low, high),
        slice(high, low, 2),
        slice(low, high, r.randint(2, 4)),
        torch.rand(n, generator=g) < 0.4,
        torch.randperm(n, generator=g) - n,
        torch.randperm(n, generator=g)[: n // 2].sort()[0],
        torch.randint(0, max(n, 1), (r.randint(0, 2 * n),), generator=g),
    ]
    return r.choice([*kinds, r.randrange(n)] if n else kinds)


def matrix(r: random.Random, dtype: torch.dtype) -> torch.Tensor:
    g = torch.Generator().manual_seed(r.randrange(1000))
    shape = r.choice(SHAPES)
    x = torch.randint(-3, 4, shape, generator=g).to(dtype)
    return x * (torch.rand(shape, generator=g) < r.choice((0.05, 0.3, 1))).to(dtype)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("format", ("csr", "csc", "coo", "dcsr"))
def test_is_what_the_dense_twin_gives(format, dtype):
    r = random.Random(f"{format} {dtype}")
    for _ in range(40):
        d = matrix(r, dtype)
        a = scorch.sparse(d, format, index_dtype=r.choice((torch.int32, torch.int64)))
        i, j = selection(r, d.shape[0]), selection(r, d.shape[1])
        if isinstance(i, torch.Tensor) and isinstance(j, torch.Tensor):
            got, want = a[i][:, j], d[i][:, j]
        else:
            got, want = a[i, j], d[i, j]
        got = got.to_dense() if scorch.is_sparse(got) else got
        assert got.shape == want.shape and torch.equal(got, want), (i, j)


LEVELS = (  # of three dimensions: trees, lists, dense levels at each place, other orders
    "csf",
    "coo",
    "csr",
    "compressed(2), compressed(0), compressed(1)",
    "dense(1), compressed(2), dense(0)",
    "compressed(0), dense(1), compressed(2)",
    "compressed(0), compressed(1, nonunique), singleton(2)",
    "compressed(1, nonunique), singleton(2, nonunique), singleton(0)",
)


@pytest.mark.parametrize("format", LEVELS)
def test_three_dimensions_are_what_the_dense_twin_gives_with_gradients(format):
    r = random.Random(format)
    g = torch.Generator().manual_seed(1)
    for k in range(60):
        shape = [r.choice((0, 1, 2, 5, 9) if k % 3 else (40, 30, 20)) for _ in range(3)]
        d = torch.randint(-3, 4, shape, generator=g) * (
            torch.rand(shape, generator=g) < r.choice((0.05, 0.6))
        )
        a = scorch.sparse(d.double(), format, index_dtype=r.choice((torch.int32, torch.int64)))
        chosen = [selection(r, n) for n in shape]
        for dim in range(3):  # one list, and not integers alone
            if isinstance(chosen[dim], torch.Tensor) and any(
                isinstance(c, torch.Tensor) for c in chosen[:dim]
            ):
                chosen[dim] = slice(None)
        if not any(isinstance(c, slice) for c in chosen):
            chosen[r.randrange(3)] = slice(None)
        a, dense = a.requires_grad_(), d.double().requires_grad_()
        got, want = a[tuple(chosen)], dense
        for dim in (2, 1, 0):
            want = want[(slice(None),) * dim + (chosen[dim],)]
        assert torch.equal(got.to_dense(), want), (shape, chosen)
        weight = torch.randn(want.shape, generator=g, dtype=torch.float64)
        (got.to_dense() * weight).sum().backward()
        (want * weight).sum().backward()
        stored = scorch.map(a.detach(), torch.ones_like).to_dense()
        found = torch.zeros_like(stored) if a.grad is None else a.grad.to_dense()
        torch.testing.assert_close(found, dense.grad * stored)


PARTS = {
    "one": lambda a: a[:, 1],
    "range": lambda a: a[..., 2:5],
    "steps": lambda a: a[:, ::2],
    "list": lambda a: a[:, [3, 1, 1]],
    "mask": lambda a: a[:, torch.arange(5) != 2],
    "one more": lambda a: a.unsqueeze(1),
    "one less": lambda a: a[:, 1:2].squeeze(1),
}


@pytest.mark.parametrize("format", ("csf", "coo", "compressed(2), compressed(0), compressed(1)"))
@pytest.mark.parametrize("part", PARTS)
def test_parts_of_three_dimensions_compile(format, part):
    g = torch.Generator().manual_seed(3)
    d = torch.randint(-3, 4, (4, 5, 6), generator=g) * (torch.rand(4, 5, 6, generator=g) < 0.4)
    torch._dynamo.reset()
    f = torch.compile(PARTS[part], backend="aot_eager", fullgraph=True)
    assert torch.equal(f(scorch.sparse(d, format)).to_dense(), PARTS[part](d))


@pytest.mark.parametrize("format", ("csr", "csc"))
def test_is_differentiable(format):
    r = random.Random(format)
    for _ in range(40):
        d = matrix(r, torch.float64)
        i, j = selection(r, d.shape[0]), selection(r, d.shape[1])
        weight = torch.rand(d[i][..., j].shape, dtype=torch.float64)
        a, twin = scorch.sparse(d, format).requires_grad_(), d.clone().requires_grad_()
        picked = a[i][..., j] if isinstance(i, int) else a[i][:, j]
        dense = picked.to_dense() if scorch.is_sparse(picked) else picked
        (dense * weight).sum().backward()
        (twin[i][..., j] * weight).sum().backward()
        assert torch.equal(a.grad.to_dense(), twin.grad * (d != 0)), (i, j)


def test_rows_longer_than_one_sort():
    g = torch.Generator().manual_seed(0)
    d = torch.rand(3, 5000, generator=g)
    order = torch.randperm(5000, generator=g)
    twice = torch.cat([order, order[:7]])
    a = scorch.sparse(d, "csr")
    assert torch.equal(a[:, twice].to_dense(), d[:, twice])
    pos, crd = a[:, twice].pos(1), a[:, twice].crd(1)
    assert all((crd[p:q].diff() > 0).all() for p, q in pairwise(pos))


@pytest.mark.parametrize("index", (5, -6, torch.tensor([0, 5]), torch.tensor([-6])))
def test_out_of_range_is_refused(index):
    with pytest.raises(IndexError, match=r"out of range for .*extent (of )?5"):
        scorch.sparse(torch.eye(5), "csr")[index]
    with pytest.raises(IndexError, match="out of range"):
        scorch.sparse(torch.eye(5), "csr")[:, index]


# ---- entries that are named one by one ----
FORMATS = ("csr", "csc", "coo", "dcsr", "bsr(2,2)", "ell(16)", "sell(2,8)", "csr of band(-1,1) + csr")


def sparse_twin(rows: int, columns: int) -> torch.Tensor:
    return torch.rand(rows, columns) * (torch.rand(rows, columns) < 0.3)


@pytest.mark.parametrize("index_dtype", (torch.int32, torch.int64), ids=str)
@pytest.mark.parametrize("format", FORMATS)
def test_lists_of_entries(format, index_dtype):
    """Twice, below zero and missing ones; of an empty matrix too; a number of the index is a view."""
    dense = sparse_twin(12, 16)
    r, c = torch.randint(-12, 12, (50,)), torch.randint(-16, 16, (50,))
    for x in (dense, torch.zeros(12, 16)):
        a = scorch.sparse(x, format).to(index_dtype=index_dtype)
        for index in ((r, c), (r[:, None], c), (3, c), (r, -1)):
            assert torch.equal(a[index], x[index])
        assert torch.equal(torch.take(a, r % 12 * 16), torch.take(x, r % 12 * 16))
        assert all(a[k, k] == x[k, k] for k in range(-12, 12))
    i, j = dense.nonzero()[5].tolist()
    a = scorch.sparse(dense, format)
    a[i, j].fill_(7)
    assert a.to_dense()[i, j] == 7


@pytest.mark.parametrize("format", FORMATS)
def test_lists_of_entries_are_differentiable(format):
    dense = sparse_twin(12, 16).requires_grad_()
    a, weight = scorch.sparse(dense.detach(), format).requires_grad_(), torch.rand(50)
    r, c = torch.randint(12, (50,)), torch.randint(16, (50,))
    (wanted,) = torch.autograd.grad((dense[r, c] * weight).sum(), dense)
    (found,) = torch.autograd.grad((a[r, c] * weight).sum(), a)
    stored = scorch.map(a.detach(), torch.ones_like).to_dense()
    torch.testing.assert_close(found.to_dense(), wanted * stored)
    (found,) = torch.autograd.grad(a[0, 0], a)
    assert found.to_dense().sum() == stored[0, 0]


def test_entries_of_more_dimensions_and_stored_twice():
    dense = sparse_twin(24, 8).view(4, 6, 8)
    index = [torch.randint(n, (30,)) for n in dense.shape]
    for format in ("csr", "csf", "coo"):
        assert torch.equal(scorch.sparse(dense, format)[tuple(index)], dense[tuple(index)])
    form = "compressed(0, nonunique), singleton(1, nonunique)"
    pos, crd = [torch.tensor([0, 3]), None], [torch.tensor([1, 1, 5]), torch.tensor([2, 2, 3])]
    twice = scorch.from_components(form, (12, 16), pos, crd, torch.tensor([1.0, 2, 4]))
    assert twice[1, 2] == 3 and twice[torch.tensor([5, 1, 0]), torch.tensor([3, 2, 0])].tolist() == [4, 3, 0]


def test_entries_are_searched_for_in_their_rows():
    """No list of all entries is made of rows or columns; that of another format is made once."""
    extent = 2**31
    far = torch.tensor([[5, extent - 1], [7, extent - 1]])
    a = scorch.coo(far, torch.ones(2), (extent, extent), format="coo")
    index = torch.tensor([5, extent - 1, 6]), torch.tensor([7, extent - 1, 7])
    assert a[index].tolist() == [1, 1, 0] and "keys" in a.memory()["derived"]
    for format in ("csr", "csc"):
        a = scorch.sparse(torch.eye(5), format)
        assert a[[0, 1], [0, 2]].tolist() == [1, 0] and not a.memory()["derived"]


@pytest.mark.parametrize("format", ("csr", "csc", "coo", "dcsr", "bsr(2,2)", "bitmask"))
@pytest.mark.parametrize("dim", (0, 1))
def test_unbind_converts_a_matrix_once_and_gives_what_an_index_gives(format, dim, monkeypatch):
    dense = torch.arange(48.0).view(6, 8) * (torch.arange(48).view(6, 8) % 3 == 0)
    values = scorch.sparse(dense, format).values().clone().requires_grad_()
    a = scorch.map(scorch.sparse(dense, format), lambda _: values)
    for k, found in enumerate(a.unbind(dim)):
        wanted = a[k] if dim == 0 else a[:, k]
        assert (found.format, found.nnz, found.index_dtype) == (wanted.format, wanted.nnz, wanted.index_dtype)
        assert torch.equal(found.to_dense(), dense.select(dim, k))
    (k * a.unbind(dim)[k]).sum().backward()
    assert torch.equal(values.grad.unique(), torch.tensor([0.0, k]))
    a, used = a.detach(), []
    monkeypatch.setattr(indexing, "entries", lambda a: used.append(a))
    a.unbind(dim)
    assert not used  # which reads the whole matrix for a row


def agree(got, want):
    assert torch.equal(got.to_dense(), want.to_dense())


FORMATS_OF_LISTS = ("csr", "coo", "dcsr", "csc", "dcsc")
JOINED = {
    "A[5]": lambda a: a[5],
    "A[2:5]": lambda a: a[2:5],
    "A[rows]": lambda a: a[torch.tensor([5, 0, 0, 3])],
    "A[:, columns]": lambda a: a[:, torch.tensor([7, 1, 1])],
    "A[1:6:2, 3]": lambda a: a[1:6:2, 3],
    "A[None]": lambda a: a[None],
    "stack": lambda a: torch.stack([a, a, a]),
    "stack columns": lambda a: torch.stack([a, a], -1),
    "cat": lambda a: torch.cat([a, a]),
    "cat columns": lambda a: torch.cat([a, a], 1),
    "cat csr": lambda a: torch.cat([a, scorch.sparse(torch.eye(8, dtype=a.dtype))]).to_dense(),
    "block_diag": lambda a: torch.block_diag(a, a, torch.ones(3, dtype=a.dtype)),
    "block_diag of one kind": lambda a: torch.block_diag(a, a),
    "repeat_interleave": lambda a: torch.repeat_interleave(a, 2, 0),
    "flip": lambda a: a.flip(0, 1),
    "roll": lambda a: a.roll(3, 1),
}


@pytest.mark.parametrize("name", JOINED)
@pytest.mark.parametrize("form", FORMATS_OF_LISTS)
def test_lists_of_entries_are_joined_and_cut_in_rows(form, name):
    f, at = JOINED[name], torch.tensor([[0, 0, 2, 2, 5], [1, 7, 0, 7, 4]])  # rows 1, 3 and 4 are empty
    values = torch.arange(1.0, 6.0, dtype=torch.float64).requires_grad_()
    a = scorch.map(scorch.coo(at, values.detach(), (6, 8), format=form), lambda _: values)
    dense = a.detach().to_dense().requires_grad_()
    got, want = f(a), f(dense)
    agree(got, want)
    weight = torch.arange(want.numel()).view(want.shape) % 7
    (got.to_dense() * weight).sum().backward()
    (want * weight).sum().backward()
    agree(values.grad, dense.grad[tuple(a.indices())])
    agree(f(a.detach()), want)


@pytest.mark.parametrize("name", JOINED)
def test_entries_that_are_stored_twice_are_joined_and_cut(name):
    form, n = "compressed(0, nonunique), singleton(1, nonunique)", torch.tensor([0, 4], dtype=torch.int32)
    row, column = (torch.tensor(x, dtype=torch.int32) for x in ([0, 0, 5, 5], [1, 1, 4, 7]))
    a = scorch.from_components(form, (6, 8), [n, None], [row, column], torch.tensor([1.0, 2, 3, 4]))
    assert not a.is_coalesced() and a.indices().tolist() == [[0, 0, 5, 5], [1, 1, 4, 7]]
    got = JOINED[name](a)
    agree(got, JOINED[name](a.to_dense()))


@pytest.mark.parametrize("form", FORMATS_OF_LISTS[1:])
def test_lists_of_entries_keep_their_format_and_sort_no_keys(form, monkeypatch):
    a = scorch.sparse(torch.eye(6, 8), form)
    for room in (indexing, joining):
        monkeypatch.setattr(room, "entries", lambda a: pytest.fail("it reads all entries"))
    for name in ("A[2:5]", "A[rows]", "cat", "cat columns", "block_diag of one kind", "flip", "roll"):
        assert JOINED[name](a).format == form
    assert torch.stack([a, a]).format == scorch.sparse(torch.eye(6, 8), form)[None].format


@pytest.mark.parametrize("form", ["coo", "dcsr", "dcsc"])
def test_hypersparse_matrices_are_joined_and_cut(form):
    n = 2**28
    a = scorch.coo([[1, n - 1], [5, 9]], [1.0, 2.0], (n, n), format=form)
    assert a[n - 1].indices().tolist() == [[9]] and a[None].nnz == 2
    assert torch.stack([a, a]).nnz == torch.cat([a, a]).nnz == torch.block_diag(a, a).nnz == 4
    assert a.flip(0).convert("coo").indices().tolist() == [[0, n - 2], [9, 5]]


@pytest.mark.parametrize("form", ["coo", "dcsr", "dcsc", "csr", "csc"])
def test_turns_take_no_table_of_an_extent(form):
    """Of 2**42 numbers there would be no room."""
    n, dim = 2**42, 0 if form == "csc" else 1
    short, long = torch.tensor([0, 0, 2]), torch.tensor([5, n - 1, 9])

    def made(long):
        at, shape = ((short, long), (5, n)) if dim else ((long, short), (n, 5))
        return scorch.coo(torch.stack(at), [1.0, 2.0, 3.0], shape, format=form)

    a = made(long)
    for got, moved in (
        (a.flip(dim), n - 1 - long),
        (a.roll(1, dim - 2), (long + 1) % n),
        (a.roll((-7, 2), (dim, dim)), (long - 5) % n),
    ):
        assert got.format == form and torch.equal(got, made(moved))


@pytest.mark.parametrize("form", ["csr", "bsr(4,4)", "bsc(4,4)", "ell(4)", "dia(4)", "sell(4,4)", "hyb(1,4)"])
def test_a_new_last_dimension_takes_no_table_of_the_others(form):
    n = 4000
    at = torch.arange(n)
    a = scorch.coo(torch.stack([at, at]), torch.ones(n), (n, n)).convert(form)
    for made in (a.unsqueeze(-1), a[..., None], torch.stack([a, a], -1)):
        assert made.nbytes < 100 * n
        assert torch.equal(made.sum(0).to_dense(), torch.ones(n, made.shape[-1]))
    small = scorch.sparse(torch.eye(8), form)
    agree(small[..., None], torch.eye(8)[..., None])
    agree(small[:, None, :, None], torch.eye(8)[:, None, :, None])


def test_indices_of_coo_are_a_copy_and_are_not_sought(monkeypatch):
    a = scorch.coo([[0, 2, 2], [4, 1, 3]], [1.0, 2.0, 3.0], (3, 5), format="coo")
    monkeypatch.setattr(conversion, "_C", None)
    found = a.indices()
    assert found.tolist() == [[0, 2, 2], [4, 1, 3]] and found.dtype == a.index_dtype
    found.zero_()
    assert a.indices().tolist() == [[0, 2, 2], [4, 1, 3]]


@pytest.mark.parametrize("form", FORMATS_OF_LISTS)
def test_nonzero_is_laid_out_as_in_torch(form):
    for values in ([1.0, 2.0, 3.0], [1.0, 0.0, 3.0]):
        a = scorch.coo([[0, 2, 2], [4, 1, 3]], values, (3, 5), format=form)
        got, want = a.nonzero(), a.to_dense().nonzero()
        assert torch.equal(got, want) and got.stride() == want.stride()
        for x, y in zip(a.nonzero(as_tuple=True), a.to_dense().nonzero(as_tuple=True), strict=True):
            assert torch.equal(x, y)


@pytest.mark.parametrize("density", [0, 0.03, 0.5, 1])
@pytest.mark.parametrize(
    "fmt",
    [
        "csf",
        "coo",
        "compressed(0), dense(1), compressed(2)",
        "compressed(2), compressed(0), compressed(1)",
        "compressed(1), dense(0), dense(2)",
        "compressed(2, nonunique), singleton(0, nonunique), singleton(1)",
    ],
)
def test_parts_along_the_first_level_are_cut_out(fmt, density):
    """Coordinates that are searched, in every order of levels, with what is left to select, and gradients."""
    g = torch.Generator().manual_seed(3)
    x = (torch.rand(7, 5, 6, generator=g) * (torch.rand(7, 5, 6, generator=g) < density)).double()
    stored = scorch.map(scorch.sparse(x, fmt), torch.ones_like).to_dense()
    parts = [4, -1, slice(1, 4), slice(2, 2), slice(None, None, 2), slice(None), torch.tensor([3, 0, 3])]
    for index in itertools.product(parts, parts[:-1], parts[:-1]):
        a, twin = scorch.sparse(x, fmt).requires_grad_(), x.clone().requires_grad_()
        got, want = a[index], twin[index]
        got = got.to_dense() if scorch.is_sparse(got) else got
        assert torch.equal(got, want), index
        if got.requires_grad:
            weight = torch.rand(want.shape, generator=g, dtype=torch.float64)
            (got * weight).sum().backward()
            (want * weight).sum().backward()
            assert torch.equal(a.grad.to_dense(), twin.grad * stored), index
    for dim in range(3):
        pieces = scorch.sparse(x, fmt).unbind(dim)
        assert all(torch.equal(p.to_dense(), q) for p, q in zip(pieces, x.unbind(dim), strict=True))


def test_what_is_cut_reads_no_more_than_it_has(monkeypatch):
    """A slice of csf costs what it contains: entries of the whole are not listed."""
    x = torch.zeros(50, 40, 40)
    x[::3, ::2] = 1
    monkeypatch.setattr(indexing, "entries", lambda a: pytest.fail("all entries are listed"))
    for fmt in ("csf", "coo", "compressed(0), compressed(2), compressed(1)"):
        a = scorch.sparse(x, fmt)
        assert torch.equal(a[3].to_dense(), x[3])
        assert torch.equal(a[10:40].to_dense(), x[10:40])


ONES = {
    2: (
        "csr",
        "csc",
        "coo",
        "dcsr",
        "ell(9)",
        "bsr(2,2)",
        "bitmask",
        "compressed(1, nonunique), singleton(0)",
    ),
    3: (*LEVELS, "csf"),
}


@pytest.mark.parametrize("ndim, format", [(n, format) for n, each in ONES.items() for format in each])
def test_dimensions_of_extent_one_come_and_go(ndim, format):
    r, g = random.Random(format), torch.Generator().manual_seed(2)
    for _ in range(20):
        shape = [r.choice((1, 2, 4, 8)) for _ in range(ndim)]
        if format == "bsr(2,2)":
            shape = [2 * n for n in shape]
        d = torch.randint(1, 4, shape, generator=g) * (torch.rand(shape, generator=g) < 0.5)
        a = scorch.sparse(d.double(), format).requires_grad_()
        dim, gone = r.randrange(-ndim - 1, ndim + 1), r.choice((None, *range(ndim + 1)))
        more, whole = a.unsqueeze(dim), d.double().unsqueeze(dim)
        assert torch.equal(more.to_dense(), whole)
        less, want = (
            (more.squeeze(), whole.squeeze()) if gone is None else (more.squeeze(gone), whole.squeeze(gone))
        )
        assert torch.equal(less.to_dense(), want)
        weight = torch.randn(want.shape, generator=g, dtype=torch.float64)
        (less.to_dense() * weight).sum().backward()
        stored = scorch.map(a.detach(), torch.ones_like).to_dense()
        torch.testing.assert_close(a.grad.to_dense(), weight.reshape(shape) * stored)


@pytest.mark.parametrize("format", ("csr", "csc", "dcsr", "coo", "csf"))
def test_a_dimension_of_extent_one_costs_nothing(format):
    a = scorch.sparse(torch.eye(4)[None].expand(3, 4, 4) if format == "csf" else torch.eye(4), format)
    for dim in range(a.dim() + 1):
        more = a.unsqueeze(dim)
        assert more.values().data_ptr() == a.values().data_ptr()
        assert more.squeeze(dim).values().data_ptr() == a.values().data_ptr()


# ---- what is found without a look at all entries of a row, or by bytes ----
@pytest.mark.parametrize("index_dtype", (torch.int32, torch.int64), ids=str)
@pytest.mark.parametrize("rows", (3, 3000))
def test_few_columns_of_all_rows(rows, index_dtype):
    """Many rows are several threads' work."""
    g = torch.Generator().manual_seed(rows)
    d = torch.rand(rows, 900, generator=g) * (torch.rand(rows, 900, generator=g) < 0.1)
    a = scorch.sparse(d, "csr", index_dtype=index_dtype)
    for columns in (torch.randperm(900, generator=g)[:50], torch.arange(0, 900, 30), torch.tensor([7, 7, 3])):
        assert torch.equal(a[:, columns].to_dense(), d[:, columns])
        assert torch.equal(a.T[columns].to_dense(), d.T[columns])


@pytest.mark.parametrize("format", ("csr", "csc", "coo", "dcsr", "hyb(1,2)", "bsr(1,2)", "bitmask"))
def test_triangles_are_those_of_the_dense_twin(format):
    g = torch.Generator().manual_seed(1)
    for shape in ((6, 10), (10, 6), (1, 8), (300, 200)):
        d = torch.rand(shape, generator=g) * (torch.rand(shape, generator=g) < 0.3)
        a = scorch.sparse(d, format)
        for diagonal in (-400, -5, -1, 0, 2, 7, 400):
            for name in ("tril", "triu"):
                got, want = getattr(a, name)(diagonal), getattr(d, name)(diagonal)
                assert torch.equal(got.to_dense(), want), (shape, name, diagonal)
                assert got.nnz <= a.nnz


@pytest.mark.parametrize("dtype", (torch.float64, torch.bfloat16, torch.int8, torch.bool), ids=str)
@pytest.mark.parametrize("index_dtype", (torch.int32, torch.int64), ids=str)
@pytest.mark.parametrize("format", ("csr", "csc"))
def test_diagonals_are_those_of_the_dense_twin(format, index_dtype, dtype):
    g = torch.Generator().manual_seed(3)
    for shape in ((6, 10), (10, 6), (1, 8), (300, 200), (0, 4)):
        for density in (0.02, 0.4):  # rows of few, and of many
            d = (torch.rand(shape, generator=g) * 9).to(dtype) * (torch.rand(shape, generator=g) < density)
            a = scorch.sparse(d, format, index_dtype=index_dtype)
            for offset in range(-min(shape[0], 7), min(shape[1], 7)):
                assert torch.equal(a.diagonal(offset), d.diagonal(offset)), (shape, offset)
                assert torch.equal(a.diagonal(offset, 1, 0), d.diagonal(offset, 1, 0)), (shape, offset)


@pytest.mark.parametrize("format", ("csr", "csc"))
@pytest.mark.parametrize("offset", (0, 2, -3))
def test_diagonals_are_one_pass_and_differentiable(format, offset, monkeypatch):
    g = torch.Generator().manual_seed(2)
    a = scorch.sparse((torch.rand(7, 9, generator=g) < 0.4).double(), format)
    x = torch.rand(a.nnz, generator=g, dtype=torch.float64).requires_grad_()
    want = a._with_values(x).to_dense().diagonal(offset)
    of = lambda v: a._with_values(v).diagonal(offset)  # noqa: E731
    with monkeypatch.context() as m:
        m.setattr(rearrange.rooms.expressions, "einsum", None)
        assert torch.equal(of(x), want)
    assert torch.autograd.gradcheck(of, x, check_forward_ad=True) and torch.autograd.gradgradcheck(of, x)
    both = torch.stack([x, 2 * x]).detach()
    assert torch.equal(torch.func.vmap(of)(both), torch.stack([of(v) for v in both]))


@pytest.mark.parametrize("name", ("tril", "triu"))
@pytest.mark.parametrize("format", ("csr", "csc", "coo"))
def test_triangles_are_differentiable(format, name):
    d = torch.rand(7, 9, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    weight = torch.arange(63.0, dtype=torch.float64).view(7, 9)
    x = d.clone().requires_grad_()
    made = getattr(scorch.sparse(x, format), name)(1)
    (made.to_dense() * weight).sum().backward()
    assert torch.equal(x.grad, getattr(weight, name)(1))


def test_side_by_side_with_other_types_and_gradients():
    g = torch.Generator().manual_seed(3)
    d = [torch.rand(2000, n, generator=g) * (torch.rand(2000, n, generator=g) < 0.1) for n in (40, 1, 300)]
    types = (torch.int32, torch.int64, torch.int32)
    parts = [scorch.sparse(x, "csr", index_dtype=t) for x, t in zip(d, types, strict=True)]
    made = torch.cat(parts, 1)
    assert made.index_dtype == torch.int64 and torch.equal(made.to_dense(), torch.cat(d, 1))
    mixed = torch.cat([parts[0], parts[1].double()], -1)
    assert mixed.dtype == torch.float64 and torch.equal(mixed.to_dense(), torch.cat([d[0], d[1].double()], 1))
    leaves = [x[:50].clone().requires_grad_() for x in d]
    joined = torch.cat([scorch.sparse(x, "csr") for x in leaves], 1)
    (joined.to_dense() * torch.arange(341.0)).sum().backward()
    want = torch.arange(341.0).expand(50, -1)
    for x, w in zip(leaves, want.split([40, 1, 300], 1), strict=True):
        assert torch.equal(x.grad[x != 0], w[x != 0])
    batch = [scorch.sparse(x[:12].view(3, 4, -1), "csr") for x in d]
    assert torch.equal(torch.cat(batch, 2).to_dense(), torch.cat([x[:12].view(3, 4, -1) for x in d], 2))


@pytest.mark.parametrize("dims", ((0,), (1,), (0, 1), (-1, 0)))
@pytest.mark.parametrize("format", ("csr", "csc", "coo"))
def test_turned_around_by_counting_down(format, dims):
    g = torch.Generator().manual_seed(4)
    for shape in ((0, 4), (1, 1), (900, 120)):
        d = torch.rand(shape, generator=g) * (torch.rand(shape, generator=g) < 0.2)
        a = scorch.sparse(d, format)
        assert torch.equal(a.flip(dims).to_dense(), d.flip(dims))
        assert torch.equal(a.roll([2] * len(dims), dims).to_dense(), d.roll([2] * len(dims), dims))


@pytest.mark.parametrize("index_dtype", (torch.int32, torch.int64), ids=str)
def test_other_shapes_with_as_many_places(index_dtype):
    g = torch.Generator().manual_seed(6)
    for shape in ((1, 1), (12, 30), (600, 240)):
        d = torch.rand(shape, generator=g) * (torch.rand(shape, generator=g) < 0.3)
        a, places = scorch.sparse(d, "csr", index_dtype=index_dtype), d.numel()
        for rows in {n for n in (1, 2, 5, 8, 12, 36, 360, 3600, places) if places % n == 0}:
            made = a.reshape(rows, -1)
            assert made.format == a.format and torch.equal(made.to_dense(), d.reshape(rows, -1))
    a.reshape(-1, 100).mul_(2)
    assert torch.equal(a.to_dense(), 2 * d)  # a view, as of a dense tensor
    x = d[:10, :6].clone().requires_grad_()
    (scorch.sparse(x, "csr").reshape(4, 15).to_dense() * torch.arange(60.0).view(4, 15)).sum().backward()
    assert torch.equal(x.grad[x != 0], torch.arange(60.0).view(10, 6)[x != 0])
    assert scorch.sparse(torch.zeros(0, 4), "csr").reshape(2, 0).shape == (2, 0)


def test_masks_of_any_byte_and_length():
    g = torch.Generator().manual_seed(5)
    for n in (*range(1, 40), 1000):
        mask = torch.randint(0, 2, (n,), generator=g).bool()
        a = scorch.sparse(torch.eye(n), "csr")
        assert torch.equal(a[mask].to_dense(), torch.eye(n)[mask])
        assert torch.equal(a[:, mask].to_dense(), torch.eye(n)[:, mask])
        odd = (mask.to(torch.uint8) * 6).view(torch.bool)
        assert torch.equal(a[odd].to_dense(), torch.eye(n)[mask])
        spread = torch.stack((mask, ~mask), 1)[:, 0]
        assert torch.equal(a[spread].to_dense(), torch.eye(n)[mask])
    with pytest.raises(IndexError, match="mask of 9"):
        scorch.sparse(torch.eye(8), "csr")[torch.ones(9, dtype=torch.bool)]


def test_entries_and_parts_follow_writes_and_are_whole_matrices():
    """What is selected is a matrix of its own: it is not changed with the first, and is one for products."""
    d = torch.eye(6) + torch.ones(6, 6).triu(3)
    a = scorch.sparse(d, "csr")
    rows, few = torch.tensor([4, -6, 4]), torch.tensor([5, 1])
    part, some, one = a[rows], a[:, few], a[0, 4]
    a.values().mul_(2)
    assert torch.equal(part.to_dense(), d[rows]) and torch.equal(some @ torch.eye(2), d[:, few])
    assert one == 2 and a[3, 4] == 0 and a[-1, -1] == 2
    assert torch.equal(a[rows, torch.tensor([4, 3, -1])], 2 * d[rows, torch.tensor([4, 3, -1])])
    for index in (
        (torch.tensor([6]), torch.tensor([0])),
        (torch.tensor([0]), torch.tensor([-7])),
        torch.tensor([6]),
        (6, 0),
        (0, -7),
        (slice(None), torch.tensor([9])),
        torch.tensor(1, dtype=torch.uint8),  # a mask, as in torch
        (0, torch.tensor(1, dtype=torch.uint8)),
    ):
        with pytest.raises(IndexError):
            a[index]
        with pytest.raises(IndexError):
            a[index] = 0


JOINS = {
    "cat": lambda a: torch.cat([a, a]),
    "columns": lambda a: torch.cat([a, a], 1),
    "one": lambda a: torch.cat([a]),
    "blocks": lambda a: torch.block_diag(a, a),
    "repeated": lambda a: a.repeat(2, 1),
    "stack": lambda a: torch.stack([a, a]).sum(0),
    "coo": lambda a: torch.cat([a.convert("coo")] * 2),
    "parts": lambda a: scorch.parts(a, a),
}


@pytest.mark.parametrize("name", JOINS)
@pytest.mark.parametrize("entries", [False, True])
def test_joins_without_entries_keep_their_gradients_differentiable(name, entries):
    a = scorch.sparse(torch.eye(3) if entries else torch.zeros(3, 3)).requires_grad_()
    x = torch.ones(6, 2, requires_grad=True)
    made = JOINS[name](a)
    (grad,) = torch.autograd.grad((made @ x[: made.shape[1]]).sum(), a, create_graph=True)
    assert grad.requires_grad
    grad.sum().backward()
    assert x.grad is None or x.grad.any() == entries


WRAPS = {
    "index_fill": lambda a, i: a.index_fill(0, i, 0.0),
    "take": lambda a, i: torch.take(a, i),
    "take_along_dim": lambda a, i: torch.take_along_dim(a, i.expand(3, 1), 1),
    "index_put": lambda a, i: a.index_put((i, i), torch.ones(1)),
    "put": lambda a, i: a.put(i, torch.ones(1)),
    "A[i]": lambda a, i: a[i],
}
DOES_NOT = {
    "embedding": lambda a, i: torch.nn.functional.embedding(i, a),
    "index_select": lambda a, i: a.index_select(1, i),
    "index_select of rows": lambda a, i: torch.index_select(a, 0, i.int()),
    "gather": lambda a, i: a.gather(1, i.expand(3, 1)),
    "take_along_dim of all": lambda a, i: torch.take_along_dim(a, i),
    "scatter": lambda a, i: a.scatter(1, i.expand(3, 1), 9.0),
    "scatter_add": lambda a, i: a.scatter_add(1, i.expand(3, 1), torch.ones(3, 1)),
    "scatter_reduce": lambda a, i: a.scatter_reduce(1, i.expand(3, 1), torch.ones(3, 1), "sum"),
    "index_add": lambda a, i: a.index_add(0, i, a[:1]),
    "index_copy": lambda a, i: a.index_copy(0, i, a[:1]),
    "index_reduce": lambda a, i: a.index_reduce(0, i, a[:1], "prod"),
}


@pytest.mark.parametrize("name", WRAPS | DOES_NOT)
def test_numbers_below_zero_count_from_the_end_where_they_do_in_torch(name):
    f, dense, last = (WRAPS | DOES_NOT)[name], torch.eye(3) * torch.arange(1.0, 4), torch.tensor([-1])
    a = scorch.sparse(dense)
    if name in WRAPS:
        made = f(a, last)
        assert torch.equal(made.to_dense() if scorch.is_sparse(made) else made, f(dense, last))
        return
    f(a, torch.tensor([2]))
    for x in (dense, a):
        with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)|out of DATA bounds"):
            f(x, last)

"""Large graphs: memory that building and conversions take, chunks, mapped arrays, extents beyond int32.

Memory is what the process has at most (VmHWM, which Linux sets back on request) over what it had before.
Bounds allow for what does not grow with the entries; the slow tests have the real ones.
"""

import ctypes
import gc
import io
import itertools
import math
import os
import pathlib
import sys
import threading
import time
import types

import child
import numpy
import pytest
import scipy.sparse
import torch
import torch.nn.functional as F

import scorch
from scorch.tensor import coordinates
from scorch.tools import progress

STATUS, RESET = pathlib.Path("/proc/self/status"), pathlib.Path("/proc/self/clear_refs")
HERE = pathlib.Path(__file__).resolve().parent
MEMORY = pathlib.Path("/proc/meminfo")
LIBC = ctypes.CDLL(None)
MANY = 4_000_000
HUGE = 2**33
BETWEEN = 3 * 2**30  # fits uint32, not int32


# ---- memory ----
def _said(file, name):
    for line in file.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    pytest.skip(f"no {name} here")


def _status(name):
    return _said(STATUS, name)


def peak(call):
    """Bytes that a call takes at its height, and its result."""
    gc.collect()
    scorch.release()
    LIBC.mallopt(-3, 1 << 17)  # M_MMAP_THRESHOLD: what is large goes back when it is freed
    LIBC.malloc_trim(0)  # what is free would be taken again unseen
    try:
        RESET.write_text("5")
    except OSError:
        pytest.skip("the height of memory cannot be set back here")
    before, of_files = _status("VmRSS"), _status("RssFile")
    result = call()
    # pages of libraries that were given up meanwhile, where memory is short, come back
    return _status("VmHWM") - before - max(_status("RssFile") - of_files, 0), result


def edges(n, dtype, nodes=None):
    g = torch.Generator().manual_seed(n)
    return torch.empty((2, n), dtype=dtype).random_(0, nodes or n // 10, generator=g)


def check_rows(a, index, weight):
    """The sum and a few rows; index is (rows, columns)."""
    assert float(a.values().double().sum()) == pytest.approx(float(weight.double().sum()), rel=1e-5)
    for row in (0, a.shape[0] // 2, a.shape[0] - 1):
        columns, at = torch.unique(index[1][index[0] == row], return_inverse=True)
        here = slice(*a.pos(1)[row : row + 2].tolist())
        assert torch.equal(a.crd(1)[here].long(), columns.long())
        sums = torch.zeros(len(columns)).index_add(0, at, weight[index[0] == row])
        torch.testing.assert_close(a.values()[here], sums)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_memory_of_building(dtype):
    index = edges(MANY, dtype)
    weight, nodes = torch.rand(MANY), MANY // 10
    bytes_, a = peak(lambda: scorch.from_edge_index(index, weight, num_nodes=nodes))
    assert bytes_ < 24 * MANY, bytes_ / MANY
    check_rows(a, index.flip(0), weight)
    bytes_, _ = peak(lambda: scorch.from_edge_index(index, num_nodes=nodes))
    assert bytes_ < 24 * MANY, bytes_ / MANY
    bytes_, _ = peak(lambda: scorch.coo(index.numpy(), weight.numpy(), (nodes, nodes), "csc"))
    assert bytes_ < 24 * MANY, bytes_ / MANY


def test_memory_of_coordinates():
    index, nodes = edges(MANY, torch.int32), MANY // 10
    weight = torch.rand(MANY)
    bytes_, _ = peak(lambda: scorch.coo(index, weight, (nodes, nodes), "coo"))
    assert bytes_ < 24 * MANY, bytes_ / MANY
    matrix = scipy.sparse.coo_array((weight.numpy(), tuple(index.numpy())), (nodes, nodes))
    bytes_, _ = peak(lambda: scorch.sparse(matrix, "csr"))
    assert bytes_ < 25 * MANY, bytes_ / MANY  # and a copy of the values, which SciPy owns


def in_a_process_of_its_own(name):
    """What a function of this file prints, a number. What other tests left of the heap of this process would
    decide where arrays come to lie, and such memory does not go back when they are freed."""
    begin = f"import sys; sys.path[:0] = {[str(HERE.parent), str(HERE)]}"
    done = child.run(f"{begin}; import test_large; test_large.{name}()", dict(os.environ))
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def build_of_normalised():
    """Prints the bytes an edge that normalisation takes at its height, in pieces as of many more edges."""
    coordinates._PIECE = MANY // 30
    index = edges(MANY, torch.int32)
    bytes_, _ = peak(lambda: scorch.from_edge_index(index, add_self_loops=True, normalize="sym"))
    print(bytes_ / MANY)


def test_memory_of_normalisation():
    assert in_a_process_of_its_own("build_of_normalised") < 44


@pytest.mark.parametrize("format, most", [("csc", 15), ("coo", 7), ("dcsr", 3), ("bsr(4,4)", 80)])
def test_memory_of_conversions(format, most):
    index, nodes = edges(MANY, torch.int64), MANY // 10
    a = scorch.coo(index, torch.rand(MANY), (nodes, nodes))
    bytes_, _ = peak(lambda: a.convert(format))
    assert bytes_ < most * a.nnz, bytes_ / a.nnz


def test_memory_of_a_transpose_for_gradients():
    """It keeps coordinates and where values lie, 8 bytes an entry."""
    index, nodes = edges(MANY, torch.int64), MANY // 10
    a, x = scorch.coo(index, torch.rand(MANY), (nodes, nodes)), torch.rand(nodes, 1, requires_grad=True)
    y = a @ x
    bytes_, _ = peak(lambda: y.backward(torch.ones(nodes, 1)))
    assert bytes_ < 25 * a.nnz, bytes_ / a.nnz
    assert sum(a.memory()["derived"].values()) < 10 * a.nnz


@pytest.mark.slow
@pytest.mark.parametrize("n", [5_000_000, 20_000_000, 100_000_000])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_memory_of_building_many(n, dtype):
    index = edges(n, dtype)
    bytes_, a = peak(lambda: scorch.from_edge_index(index, num_nodes=n // 10))
    assert bytes_ < 20 * n, bytes_ / n
    assert a.values().sum(dtype=torch.float64) == n and int(a.pos(1)[-1]) == a.nnz


# ---- what is built ----
def same(a, matrix):
    other = a.convert("csr")
    assert numpy.array_equal(other.pos(1).numpy(), matrix.indptr)
    assert numpy.array_equal(other.crd(1).numpy(), matrix.indices)
    assert numpy.array_equal(other.values().numpy(), matrix.data)


@pytest.mark.parametrize(
    ("n", "given"),
    [(0, torch.int64), (700, torch.int16), (700, torch.uint16), (34_000, torch.int32), (34_000, torch.int64)],
)
@pytest.mark.parametrize("order", ["any", "sorted", "twice"])
def test_lists_of_coordinates(n, order, given):
    shape = (max(n // 12, 3), 300)
    index = edges(n, torch.int64, 1 << 30) % torch.tensor(shape)[:, None]
    if order == "twice":
        index = torch.cat([index, index[:, : n // 2]], 1)
    weight = torch.arange(index.shape[1]) % 17 + 1.0
    matrix = scipy.sparse.coo_array((weight.numpy(), tuple(index.numpy())), shape).tocsr()
    matrix.sum_duplicates()
    if order == "sorted":
        index = torch.from_numpy(numpy.stack(matrix.nonzero())).long()
        weight = torch.from_numpy(matrix.data)
    narrow = index.to(given)
    for format in ("csr", "csc", "coo", "dcsr"):
        for of in (narrow, tuple(narrow), tuple(narrow.numpy()), narrow.T.contiguous().T):
            same(scorch.coo(of, weight, shape, format), matrix)
    matrix.data[:] = numpy.bincount(
        numpy.unique(index[0] * 300 + index[1], return_inverse=True)[1], minlength=matrix.nnz
    )
    same(scorch.coo(narrow, shape=shape), matrix)
    same(scorch.coo(narrow, shape=shape, index_dtype=torch.int64), matrix)


def test_more_entries_than_int32_counts(monkeypatch):
    """Positions of a list of so many are int64, whatever its coordinates are."""
    monkeypatch.setattr("scorch.tensor.making._INT32", types.SimpleNamespace(max=5))
    index = edges(40, torch.int32, 9)
    a = scorch.coo(index, torch.ones(40), (9, 9))
    assert torch.equal(a.to_dense(), torch.zeros(9, 9).index_put((*index.long(),), torch.ones(40), True))


def test_sorted_lists_are_not_shared():
    """What the caller writes to a list later does not change the structure."""
    index = torch.tensor([[0, 1, 2], [2, 0, 1]], dtype=torch.int32)
    a = scorch.coo(index, torch.ones(3), (3, 3))
    b = scorch.from_edge_index(index.flip(0))
    matrix = scipy.sparse.coo_array((numpy.ones(3), tuple(index.numpy())), (3, 3))
    c = scorch.sparse(matrix, "csr")
    matrix.col[:] = 0
    index.zero_()
    assert all(x.crd(1).tolist() == [2, 0, 1] for x in (a, b, c))


def test_loops_are_replaced_in_any_piece(monkeypatch):
    """Of several loops at a node the last counts; pieces of edges are normalised as all at once."""
    index = torch.tensor([[0, 1, 1, 2, 1, 0], [1, 1, 2, 0, 1, 2]])
    weight = torch.tensor([1.0, 7.0, 2.0, 3.0, 5.0, 4.0])
    dense = torch.zeros(3, 3).index_put((index[1], index[0]), weight)
    dense[1, 1], dense[0, 0], dense[2, 2] = 5, 2, 2
    degree = dense.sum(1)
    expected = {None: dense, "row": dense / degree[:, None], "sym": dense / (degree[:, None] * degree).sqrt()}
    for size in (2, 1 << 22):
        monkeypatch.setattr("scorch.tensor.coordinates._PIECE", size)
        for how, of in expected.items():
            made = scorch.from_edge_index(index, weight, add_self_loops=2.0, normalize=how)
            torch.testing.assert_close(made.to_dense(), of)


# ---- chunks ----
def test_chunks():
    index, weight = edges(5000, torch.int64, 80), torch.rand(5000)
    cuts = [0, 1, 1, 700, 5000]
    parts = [slice(a, b) for a, b in itertools.pairwise(cuts)]
    whole = scorch.coo(index, weight, (90, 80))
    for of in (index, index.int(), index.numpy(), index.T.contiguous().T):
        a = scorch.coo(((of[0][p], of[1][p], weight[p]) for p in parts), shape=(90, 80))
        assert torch.equal(a.crd(1), whole.crd(1)) and torch.equal(a.values(), whole.values())
        assert a.shape == (90, 80) and a.index_dtype == torch.int32
    ones = scorch.coo((tuple(index[:, p]) for p in parts), format="csc")
    assert torch.equal(ones.to_dense(), scorch.coo(index, torch.ones(5000), format="csc").to_dense())
    assert scorch.coo(iter([]), shape=(3, 4)).nnz == 0
    wide = scorch.coo(iter([([1], [2]), ([HUGE], [3])]), format="coo")
    assert wide.shape == (HUGE + 1, 4) and wide.indices().tolist() == [[1, HUGE], [2, 3]]


def test_a_reader_may_use_its_arrays_again():
    room = torch.empty(2, 4, dtype=torch.int32)

    def read():
        for k in range(3):
            yield tuple(room.copy_(torch.arange(8).view(2, 4) + k))

    counts = torch.zeros(6, 10).index_put(
        (
            torch.tensor([0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5]),
            torch.tensor([4, 5, 6, 7, 5, 6, 7, 8, 6, 7, 8, 9]),
        ),
        torch.ones(()),
        accumulate=True,
    )
    assert torch.equal(scorch.coo(read(), shape=(6, 10)).to_dense(), counts)


def build_of_chunks():
    """Prints the bytes an entry that building from a reader takes at its height."""
    size = MANY // 12

    def read():
        for k in range(12):
            yield (*edges(size + k, torch.int64, MANY // 10), torch.rand(size + k))

    bytes_, a = peak(lambda: scorch.coo(read(), shape=(MANY // 10, MANY // 10)))
    assert a.nnz > 0.99 * MANY
    print(bytes_ / MANY)


def test_memory_of_chunks():
    """Chunks are kept once, in int32: 12 bytes an entry; building takes more, and one is as it was read."""
    assert in_a_process_of_its_own("build_of_chunks") < 32


@pytest.mark.parametrize(
    ("chunks", "error", "match"),
    [
        ([([1], [2]), ([1, 2], [1])], ValueError, r"chunk 1: indices: expected shape \[ndim, n\]"),
        ([([1], [2], [1.0, 2.0])], ValueError, r"chunk 0: values: expected shape \[1\]"),
        ([([1], [9])], ValueError, r"chunk 0: indices\[1, 0\]: expected 0 <= index < 4, got 9"),
        ([([-1], [1])], ValueError, r"chunk 0: indices\[0, 0\]: expected 0 <= index < 4, got -1"),
        ([([1.5], [1])], TypeError, "chunk 0: indices: expected integers"),
        ([([1], [1], [1.0]), ([1], [1], [1])], TypeError, "chunk 1: expected values of torch.float32"),
        ([torch.zeros(2, 3)], TypeError, r"chunk 0: expected \(rows, columns\) or"),
        (
            [([1], [1], torch.ones(1, requires_grad=True))],
            NotImplementedError,
            "chunk 0: values that require",
        ),
    ],
)
def test_chunks_that_are_wrong(chunks, error, match):
    with pytest.raises(error, match=match):
        scorch.coo(iter(chunks), shape=(4, 4))
    with pytest.raises(TypeError, match="values: expected None"):
        scorch.coo(iter(chunks), torch.ones(1), (4, 4))


# ---- memory-mapped arrays ----
def mapped(folder, mode, **arrays):
    found = {}
    for name, array in arrays.items():
        array.tofile(folder / name)
        found[name] = numpy.memmap(folder / name, array.dtype, mode)
    return found


PARTS = {
    "pos": numpy.array([0, 2, 3], "int32"),
    "crd": numpy.array([0, 2, 1], "int32"),
    "val": numpy.array([1, 2, 3], "float32"),
}


def test_mapped_components_are_shared(tmp_path):
    of = mapped(tmp_path, "r+", **PARTS)
    a = scorch.from_components("csr", (2, 3), [None, of["pos"]], [None, of["crd"]], of["val"])
    for mine, array in ((a.pos(1), of["pos"]), (a.crd(1), of["crd"]), (a.values(), of["val"])):
        assert mine.data_ptr() == array.__array_interface__["data"][0]
    files = [
        torch.from_file(str(tmp_path / n), True, 3, dtype=t)
        for n, t in (("pos", torch.int32), ("crd", torch.int32), ("val", torch.float32))
    ]
    b = scorch.from_components("csr", (2, 3), [None, files[0]], [None, files[1]], files[2])
    assert b.crd(1).data_ptr() == files[1].data_ptr() and b.values().data_ptr() == files[2].data_ptr()
    for x in (a, b):
        assert (x @ torch.ones(3, 1)).tolist() == [[3], [3]]
    a *= 2
    of["val"].flush()
    assert numpy.fromfile(tmp_path / "val", "float32").tolist() == [2, 4, 6]


@pytest.mark.filterwarnings("error")
def test_read_only_mappings_are_read(tmp_path):
    """Writing to the memory itself would end the process."""
    of = mapped(tmp_path, "r", rows=numpy.array([0, 1, 1]), cols=numpy.array([1, 0, 2]), **PARTS)
    a = scorch.from_components("csr", (2, 3), [None, of["pos"]], [None, of["crd"]], of["val"])
    dense = torch.tensor([[1.0, 0, 2], [0, 3, 0]])
    assert torch.equal(a.to_dense(), dense) and torch.equal(a.convert("csc").to_dense(), dense)
    assert (a @ torch.eye(3)).tolist() == dense.tolist()
    for write in (lambda: a.mul_(2), lambda: a.values().zero_(), lambda: a.crd(1).zero_()):
        with pytest.raises((RuntimeError, ValueError), match=r"read-only|data pointer"):
            write()
    b = scorch.coo((of["rows"], of["cols"]), of["val"], (2, 3))  # sorted: they could be taken as they are
    with pytest.raises(ValueError, match="read-only"):
        b.mul_(2)
    c = scorch.coo((of["cols"], of["rows"]), of["val"], (3, 3)).mul_(2)  # of its own
    assert c.to_dense().tolist() == [[0, 4, 0], [2, 0, 0], [0, 6, 0]]
    edge_index = numpy.memmap(tmp_path / "rows", "int64", "r", shape=(2, 1))
    assert scorch.from_edge_index(edge_index).to_dense().tolist() == [[0, 0], [1, 0]]
    assert numpy.fromfile(tmp_path / "val", "float32").tolist() == [1, 2, 3]


# ---- extents beyond int32 ----
def wide(extent, format, tall=False, index_dtype=None):
    """Entries at the ends of a wide matrix [1000, extent], or of a tall one."""
    index = torch.tensor([[3, 0, 999, 3], [5, extent // 2 + 7, extent - 1, 5]])
    shape = (1000, extent)
    if tall:
        index, shape = index.flip(0), shape[::-1]
    values = torch.tensor([1.0, 2.0, 3.0, 4.0])
    return scorch.coo(index, values, shape, format, index_dtype=index_dtype)


def entries_of(a, tall=False):
    index = a.indices().flip(0) if tall else a.indices()
    stored = a.values() != 0
    return sorted(zip(*index[:, stored].tolist(), a.values()[stored].tolist(), strict=True))


WIDE = ["coo", "csr", "dcsr", "dcsc", "csf", "bsr(2,2)", "ell(4)", "bsr(1,4)"]


@pytest.mark.parametrize("extent", [BETWEEN, HUGE])
@pytest.mark.parametrize("tall", [False, True])
def test_formats_of_wide_matrices(extent, tall):
    expected = [(0, extent // 2 + 7, 2), (3, 5, 5), (999, extent - 1, 3)]
    formats = ["coo", "csc", "dcsr", "dcsc"] if tall else WIDE
    for first in formats:
        a = wide(extent, first, tall)
        assert a.index_dtype == torch.int64 and entries_of(a, tall) == expected, first
        for second in formats:
            assert entries_of(a.convert(second), tall) == expected, (first, second)


@pytest.mark.parametrize("extent", [BETWEEN, HUGE])
def test_operations_on_wide_matrices(extent):
    a = wide(extent, "csr")
    full = [(0, extent // 2 + 7, 2.0), (3, 5, 5.0), (999, extent - 1, 3.0)]
    assert entries_of(a + a) == [(i, j, 2 * v) for i, j, v in full]
    assert entries_of(a * a) == [(i, j, v * v) for i, j, v in full]
    assert entries_of(torch.relu(a - 3 * a)) == [] and (a * 2).sum() == 20
    product = (a @ a.T).convert("coo")
    assert product.shape == (1000, 1000) and entries_of(product) == [(0, 0, 4), (3, 3, 25), (999, 999, 9)]
    assert a.sum(1)[[0, 3, 999]].tolist() == [2, 5, 3] and scorch.einsum("ij,ij->", a, a) == 38
    assert entries_of(torch.cat([a, a], 1))[1] == (0, extent + extent // 2 + 7, 2)
    columns = torch.tensor([extent - 1, 5, extent // 2 + 7])
    for form in ("csr", "dcsr"):
        part = a.convert(form).submatrix(torch.tensor([3, 999]), columns)
        assert part.to_dense().tolist() == [[0, 5, 0], [3, 0, 0]]
        assert torch.equal(a.convert(form)[:, columns].to_dense()[[3, 999]], part.to_dense())
    assert a[:, extent - 4 :].to_dense()[999].tolist() == [0, 0, 0, 3]
    assert entries_of(scorch.sparse(a.to_scipy())) == full
    assert entries_of(scorch.sparse(a.to_torch(torch.sparse_coo), "csr")) == full


@pytest.mark.parametrize("tall", [False, True])
def test_gradients_of_wide_matrices(tall):
    values = torch.tensor([1.0, 2.0], requires_grad=True)
    index = torch.tensor([[3, 999], [5, HUGE - 1]])
    shape = (1000, HUGE)
    a = scorch.coo(index.flip(0) if tall else index, values, shape[::-1] if tall else shape, "dcsr")
    (a * a).sum().backward()
    assert values.grad.tolist() == [2, 4]


def test_many_entries_of_wide_matrices():
    """So many that they are dealt into buckets by unsigned numbers of 32 bits, and so that more bits are."""
    for extent in (BETWEEN, HUGE):
        index = torch.stack([edges(50_000, torch.int64, 40_000)[0], edges(50_000, torch.int64, extent)[1]])
        matrix = scipy.sparse.coo_array(
            (numpy.ones(50_000, "f4"), tuple(index.numpy())), (40_000, extent)
        ).tocsr()
        matrix.sum_duplicates()
        same(scorch.coo(index, torch.ones(50_000), (40_000, extent)), matrix)


def test_what_is_too_wide_says_so():
    a = wide(HUGE, "csr")
    with pytest.raises(MemoryError, match="out of memory"):
        a.to_dense()
    with pytest.raises(MemoryError, match="a dense result of"):
        a.T @ torch.ones(1000, 2)
    with pytest.raises(ValueError, match="exceeds what i32 indices reach: use i64"):
        wide(HUGE, "csr", index_dtype=torch.int32)
    with pytest.raises(ValueError, match="do not fit in int32"):
        a.to(index_dtype=torch.int32)
    b = wide(1 << 40, "csr")
    with pytest.raises(MemoryError, match="out of memory"):
        b.T @ b
    tall, one = scorch.coo([[5], [0]], [2.0], (1 << 40, 4), "coo"), scorch.sparse(torch.eye(4))
    with pytest.raises(MemoryError, match=r"format= asks for one, of scorch\.einsum too"):
        tall @ one
    assert scorch.einsum("ij,jk->ik", tall, one, format="coo").values().tolist() == [2]
    with pytest.raises(MemoryError, match=r"layout=torch\.sparse_coo of to_torch"):
        tall.to_torch()
    assert tall.to_torch(layout=torch.sparse_coo).coalesce().values().tolist() == [2]
    square = scorch.coo([[5, 7], [7, 9]], [2.0, -3.0], (1 << 21, 1 << 21)).convert("csr")
    largest = "C[i,k] max= A[i,j] * A[j,k]"
    with pytest.raises(MemoryError, match=r'C is computed dense .* implicit="skip" with format='):
        scorch.evaluate(largest, A=square)
    assert scorch.evaluate(largest, A=square, implicit="skip", format="csr").values().tolist() == [-6]
    with pytest.raises(MemoryError, match=r"R is computed dense .*, as vectors of max= and min= are"):
        scorch.evaluate("R[i] max= A[i,j]", A=tall, implicit="skip", format="coo")
    with pytest.raises(ValueError, match="2\\^63"):
        scorch.coo([[1], [2]], [1.0], (2**32, 2**32))
    with pytest.raises(MemoryError, match="out of memory"):
        wide(2**44, "csr", tall=True)


@pytest.mark.parametrize("form", ["coo", "dcsr", "dcsc"])
def test_a_block_diagonal_of_rows_that_are_mostly_empty(form):
    a = scorch.coo([[0, 5], [3, 9]], [1.0, 2.0], (2**33, 10), form)
    made = torch.block_diag(a, a)
    assert made.format == a.format and made.shape == (2**34, 20)
    assert made.indices().T.tolist() == [[0, 3], [5, 9], [2**33, 13], [2**33 + 5, 19]]


@pytest.mark.parametrize("form", ["coo", "dcsr", "dcsc"])
@pytest.mark.parametrize(
    ("f", "filler"), [(torch.softmax, -math.inf), (torch.log_softmax, -math.inf), (F.normalize, 0)]
)
def test_softmax_and_norms_of_rows_that_are_mostly_empty(f, filler, form):
    """What is computed along a row takes memory of entries; dense rows say what it is."""
    ends, inside = torch.tensor([0, 5, 9, 2**40 - 1]), torch.tensor([[0, 1, 1, 2, 3], [3, 9, 4, 9, 9]])
    values = torch.tensor([1.0, -2, 3, 0, 4], dtype=torch.float64)
    weight = torch.arange(40.0, dtype=torch.float64).view(4, 10)
    dense = torch.full((4, 10), filler, dtype=torch.float64).index_put(tuple(inside), values)
    wanted = f(dense.requires_grad_(), dim=1)
    stored = wanted[tuple(inside)] * weight[tuple(inside)]
    grad = torch.autograd.grad(stored.sum(), dense)[0]
    a = scorch.coo((ends[inside[0]], inside[1]), values, (2**40, 10), form).requires_grad_()
    made = f(a, dim=1)
    assert made.format == a.format and made.shape == a.shape
    at = torch.searchsorted(ends, made.indices()[0].long()), made.indices()[1].long()
    torch.testing.assert_close(made.values(), wanted[at])
    own = torch.autograd.grad((made.values() * weight[at]).sum(), a)[0]
    torch.testing.assert_close(own.values(), grad[at])


def test_the_trace_of_rows_that_are_mostly_empty():
    for form in ("coo", "dcsr", "dcsc"):
        a = scorch.coo([[0, 5, 7, 2**31 - 1], [0, 9, 7, 2**31 - 1]], [1.0, 2, 3, 4], (2**31, 2**31), form)
        assert a.trace().item() == 8 and a.to(torch.int32).trace().dtype == torch.int64


ENTRIES = {
    "expand": lambda v: v.expand(2**44, -1),
    "broadcast_to": lambda v: torch.broadcast_to(v, (2**44, 2)),
    "across": lambda v: v[:, None].expand(-1, 2**44),
    "repeat": lambda v: v.repeat(2**44),
    "repeat_rows": lambda v: v.repeat(2**44, 1),
    "tile": lambda v: torch.tile(v, (2**44,)),
    "kron": lambda v: torch.kron(*[scorch.sparse(torch.ones(2**20), "coo")] * 2),
    "diagonal": lambda v: torch.diag_embed(scorch.coo([[0]], [1.0], (2**44,))),
}


@pytest.mark.parametrize("larger", ENTRIES.values(), ids=ENTRIES)
def test_more_entries_than_there_is_memory_for_are_refused(larger):
    with pytest.raises(MemoryError, match=r"out of memory: .* bytes each, .* GB in all"):
        larger(scorch.coo([[0]], [1.0], (2,)))


OF_ROWS = dict.fromkeys(["topk", "argmax", "mode", "logsumexp", "var", "prod"], (1,))
OF_ROWS |= {"repeat_interleave": (2, 0), "reorder": ()}


@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.parametrize("form", ["coo", "dcsr"])
def test_more_rows_than_there_is_memory_for_are_refused(name, form):
    a = scorch.coo([[0, 1], [1, 0]], [1.0, 2.0], (2**44, 4), form)
    said = r"out of memory: (17592186044416 .* bytes each, .* GB in all|a dense result of 7.04e\+04 GB)"
    with pytest.raises(MemoryError, match=said):
        getattr(a, name)(*OF_ROWS[name])


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_repeat_doubles(form):
    d = torch.eye(3, 4)
    for times in (3, 5), (1, 7), (6, 1), (2, 0):
        assert torch.equal(scorch.sparse(d, form).repeat(*times).to_dense(), d.repeat(*times))
    with pytest.raises(ValueError, match="a number from 0 on"):
        scorch.sparse(d, form).repeat(2, -1)


def test_what_the_system_lacks_is_refused():
    """Linux promises as much memory as it has in all, and ends a process that writes to more."""
    if _said(MEMORY, "SwapTotal"):
        pytest.skip("what is promised here may be had on disk")
    rows = _said(MEMORY, "MemTotal") // 8 // 1024 * 1023
    with pytest.raises(MemoryError, match=r"positions of 8 bytes each, .* dcsr, csf and coo have none"):
        scorch.coo([[1, rows - 1], [5, 7]], [1.0, 2.0], (rows, 8), index_dtype=torch.int64)
    a = scorch.coo([[1, rows - 1], [5, 7]], [1.0, 2.0], (rows, 8), "dcsr", index_dtype=torch.int64)
    with pytest.raises(MemoryError, match="out of memory"):
        a.convert("csr")
    with pytest.raises(MemoryError, match="out of memory: a dense result of"):
        a @ torch.ones(8, 2)
    assert a.nnz == 2


# ---- progress ----
class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("bars", [True, False], ids=["tqdm", "without"])
def test_progress_is_for_terminals(monkeypatch, bars):
    """tests/c/test_progress.c has who is told when."""
    if bars:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    for kind, shows in ((Terminal, True), (io.StringIO, False)):
        monkeypatch.setattr("sys.stderr", kind())
        threads = threading.active_count()
        progress.show(2, 0.43, 3.6)
        shown = sys.stderr.getvalue().split("\r")[-1]
        progress.show(0, 1.0, 4.0)
        assert shown.startswith("scorch: converting, step 2:  43%" if shows else "") and bool(shown) == shows
        assert ("|" in shown and "00:03" in shown) == (bars and shows)
        assert sys.stderr.getvalue().endswith("\r" if shows else "") and threading.active_count() == threads
    monkeypatch.setattr("sys.stderr", None)
    progress.show(1, 0.1, 3.0)


def test_short_conversions_show_nothing(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    scorch.coo(edges(100_000, torch.int64), torch.ones(100_000)).convert("csc")
    assert sys.stderr.getvalue() == ""


@pytest.mark.slow
def test_long_conversions_show_how_far_they_are(monkeypatch):
    a, threads = scorch.from_edge_index(edges(20_000_000, torch.int32)), torch.get_num_threads()
    monkeypatch.setattr("sys.stderr", Terminal())
    torch.set_num_threads(1)
    begin = time.monotonic()
    try:
        a.convert("dcsc")
    finally:
        torch.set_num_threads(threads)
    if time.monotonic() - begin < 3:
        pytest.skip("it took no time")
    assert "scorch: converting, step" in sys.stderr.getvalue()

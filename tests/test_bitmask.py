"""Bit masks: arrays, words, conversions, layouts that keep the order of values."""

import copy
import io
import math
import pickle

import native
import pytest
import torch

import scorch

T = torch.tensor
FORMATS = [
    "csr", "csc", "coo", "dcsr", "dcsc", "bsr(1,1)", "ell(70)", "dia(4)", "sell(4,8)", "dense", "bitmask",
    "compressed(0), bitmask(1)", "dense(1), bitmask(0)", "compressed(0), dense(1)",
    "dense(0/1), dense(0%1), bitmask(1)",
]  # fmt: skip
EXTENTS = (1, 31, 32, 33, 70)
TYPES = (
    torch.bool, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64,
)  # fmt: skip


def dense(rows: int = 20, columns: int = 70) -> torch.Tensor:
    """Small integers, most of them stored; rows without any and with all of them."""
    i, j = torch.arange(rows)[:, None], torch.arange(columns)
    found = ((3 * i + 5 * j) % 7 + 1.0) * ((i * i + 2 * j) % 5 > 1)
    found[rows // 2] = 0
    found[rows // 3] = 1
    return found


def arrays(a: scorch.SparseTensor) -> tuple[list, list, torch.Tensor]:
    levels = range(len(a.format.bind(a.dim()).levels))
    pos = [a.pos(k) if f"_pos{k}" in a._names else None for k in levels]
    crd = [a.crd(k) if f"_crd{k}" in a._names else None for k in levels]
    return pos, crd, a.values()


def again(a: scorch.SparseTensor) -> scorch.SparseTensor:
    """Of the same arrays, which are looked through."""
    return scorch.from_components(str(a.format), tuple(a.shape), *arrays(a))


# ---- arrays ----
def test_arrays_of_a_small_matrix():
    a = scorch.sparse(T([[1.0, 0, 2], [0, 0, 0], [0, 3, 4]]), format="bitmask")
    assert a.pos(1).tolist() == [0, 2, 2, 4] and a.crd(1).tolist() == [0b101, 0, 0b110]
    assert a.values().tolist() == [1, 2, 3, 4]
    assert str(a.format) == "bitmask" and a.format.levels == ("dense(0)", "bitmask(1)")
    assert a.indices().tolist() == [[0, 0, 2, 2], [0, 2, 1, 2]]


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_words_of_all_bits(index):
    a = scorch.sparse(torch.ones(2, 70), format="bitmask", index_dtype=index)
    full = -1 if index == torch.int32 else 2**32 - 1
    assert a.crd(1).tolist() == 2 * [full, full, 63] and a.crd(1).dtype == index
    assert a.pos(1).tolist() == [0, 32, 64, 70, 102, 134, 140]
    assert torch.equal(again(a).to_dense(), a.to_dense())


@pytest.mark.parametrize(
    ("pos", "crd", "n", "said"),
    [
        ([0, 2, 2], [5, 2], 2, r"crd\[1\] = 0x2 has 1 bits, but pos\[2\] - pos\[1\] = 0, expected as many"),
        ([0, 1, 2], [5, 2], 2, r"crd\[0\] = 0x5 has 2 bits, but pos\[1\] - pos\[0\] = 1"),
        ([0, 1, 2], [8, 2], 2, r"crd\[0\] = 0x8 has bits of coordinates out of range, expected none but 0x7"),
        (
            [0, 1, 2],
            [1, 1 << 32],
            2,
            r"crd\[1\] = 4294967296, expected a word of 32 bits, from 0 to 4294967295",
        ),
        ([0, 1, 2], [1, -2], 2, r"crd\[1\] = -2, expected a word of 32 bits"),
        ([0, 1], [1, 2], 1, "expected 3 entries in pos, got 2"),
        ([0, 1, 2], [1, 2, 4], 2, "expected 2 entries in crd, got 3"),
        ([0, 2, 1], [3, 2], 1, r"pos\[1\] = 2 exceeds pos\[2\] = 1"),
        ([1, 2, 3], [1, 2], 3, r"pos\[0\] = 1, expected 0"),
        ([0, 1, 2], [1, 2], 3, r"pos\[2\] = 2, expected 3, the number of stored coordinates"),
    ],
)
def test_bad_arrays_say_what_is_wrong(pos, crd, n, said):
    with pytest.raises(ValueError, match=said):
        scorch.from_components("bitmask", (2, 3), [None, T(pos)], [None, T(crd)], torch.ones(n))


@pytest.mark.parametrize(
    "bad",
    [
        "bitmask(0), dense(1)", "bitmask(0), compressed(1)", "dense(0), bitmask(1/2), dense(1%2)",
        "dense(0), bitmask(1, 4)", "dense(0), bitmask(1, nonunique)", "bitmask(4)x", "bitmask(0)",
        "dense(0), bitmask",
    ],
)  # fmt: skip
def test_formats_that_there_are_not(bad):
    with pytest.raises(ValueError, match="expected"):
        scorch.Format(bad)


def test_names():
    assert scorch.Format("bitmask") == scorch.Format("dense(0), bitmask(1)")
    assert scorch.Format(["dense", "bitmask"]) == "bitmask"
    assert str(scorch.Format("bitmask").bind(3).text) == "bitmask"
    assert scorch.Format("bitmask").bind(3).levels[-1] == ("bitmask", 1, 2, 0, 0, 0)
    with pytest.raises(ValueError, match="bitmask"):
        scorch.Format("bitmasks")


# ---- conversions ----
@pytest.mark.parametrize("columns", EXTENTS)
@pytest.mark.parametrize("format", FORMATS)
def test_round_trips(format, columns):
    d = dense(20, columns)
    a = scorch.sparse(d, format="bitmask")
    there = scorch.sparse(d, format=format)
    back = there.convert("bitmask")
    assert torch.equal(back.to_dense(), d) and torch.equal(again(back).to_dense(), d)
    if not format.endswith("dense(1)"):  # which stores zeros
        back = back.to(index_dtype=torch.int32)
        assert torch.equal(back.crd(1), a.crd(1)) and torch.equal(back.pos(1), a.pos(1))
    for index in (torch.int32, torch.int64):
        other = a.convert(format, index_dtype=index)
        assert torch.equal(other.to_dense(), d) and torch.equal(again(other).to_dense(), d)


@pytest.mark.parametrize("shape", [(0, 4), (5, 0), (0, 0), (1, 1), (17, 3), (3, 100_000)])
def test_extents_of_all_sizes(shape):
    rows, columns = shape
    n = min(rows, columns, 3)
    at = torch.stack([torch.arange(n), torch.arange(n) * max(columns // max(n, 1), 1)])
    coo = scorch.sparse(torch.sparse_coo_tensor(at, torch.arange(1.0, n + 1), shape))
    a = coo.convert("bitmask")
    assert a.nnz == n and torch.equal(a.convert("csr").indices(), coo.convert("csr").indices())
    assert torch.equal(again(a).indices(), coo.convert("csr").indices())


def test_values_stay_where_they_are():
    a = scorch.sparse(dense(), format="csr")
    b = a.convert("bitmask")
    c = b.convert("csr")
    assert torch.equal(a.values(), b.values()) and torch.equal(a.values(), c.values())
    assert torch.equal(a.pos(1), c.pos(1)) and torch.equal(a.crd(1), c.crd(1))
    assert a.values().data_ptr() == b.values().data_ptr() == c.values().data_ptr()


def test_repeated_coordinates_are_summed():
    at, values = T([[0, 0, 3, 3, 3], [1, 1, 2, 2, 40]]), T([1.0, 2, 4, 8, 16])
    coo = torch.sparse_coo_tensor(at, values, (5, 41))
    a = scorch.sparse(coo, format="bitmask")
    assert a.nnz == 3 and torch.equal(a.to_dense(), coo.to_dense())
    pos, crd = [T([0, 5]), None], [at[0], at[1]]
    repeated = scorch.from_components(
        "compressed(0, nonunique), singleton(1, nonunique)", (5, 41), pos, crd, values
    )
    assert torch.equal(repeated.convert("bitmask").to_dense(), coo.to_dense())


def test_zeros_that_are_stored_stay():
    a = scorch.from_components("csr", (2, 40), [None, T([0, 2, 3])], [None, T([1, 35, 0])], T([0.0, 1, 0]))
    b = a.convert("bitmask")
    assert b.values().tolist() == [0, 1, 0] and b.crd(1).tolist() == [2, 8, 1, 0]
    assert torch.equal(b.indices(), a.indices())


@pytest.mark.parametrize(
    "format",
    [
        "bitmask",
        "dense(0), dense(1), bitmask(2)",
        "dense(1), dense(0), bitmask(2)",
        "compressed(0), compressed(1), bitmask(2)",
        "dense(2), compressed(0), bitmask(1)",
    ],
)
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_batches(format, index):
    d = torch.stack([dense(19, 33), dense(19, 33).flip(0), torch.zeros(19, 33)])
    a = scorch.sparse(d, format=format, index_dtype=index)
    assert torch.equal(a.to_dense(), d) and torch.equal(again(a).to_dense(), d)
    for other in ("csf", "coo", "csr", "csc", "ell(33)", "dia(4)"):
        b = scorch.sparse(d, format=other)
        assert torch.equal(b.convert(format).to_dense(), d) and torch.equal(a.convert(other).to_dense(), d)


# ---- what tensors do ----
@pytest.mark.parametrize("dtype", TYPES)
def test_types(dtype):
    d = dense().to(dtype)
    a = scorch.sparse(d, format="bitmask")
    assert a.dtype == dtype and torch.equal(a.to_dense(), d)
    assert torch.equal(a.convert("csr").to_dense(), d)
    assert torch.equal(a.to(torch.float64).to_dense(), d.double())


def test_index_types():
    a = scorch.sparse(torch.ones(3, 40), format="bitmask")
    wide = a.to(index_dtype=torch.int64)
    assert a.index_dtype == torch.int32 and wide.index_dtype == torch.int64
    assert wide.crd(1).tolist() == 3 * [2**32 - 1, 255] and torch.equal(again(wide).to_dense(), a.to_dense())
    assert wide.to(index_dtype=torch.int32).crd(1).tolist() == 3 * [-1, 255]
    assert a.convert("bitmask", index_dtype=torch.int64).crd(1).tolist() == wide.crd(1).tolist()


def test_copies_and_files():
    a, file = scorch.sparse(dense(), format="bitmask"), io.BytesIO()
    torch.save(a, file)
    file.seek(0)
    for b in (
        pickle.loads(pickle.dumps(a)), copy.deepcopy(a), copy.copy(a), a.clone(), a.detach(),
        torch.load(file, weights_only=False),
    ):  # fmt: skip
        assert str(b.format) == "bitmask" and torch.equal(b.to_dense(), dense())


def test_the_transpose_has_the_arrays():
    a = scorch.sparse(dense(), format="bitmask")
    assert a.T.format == "dense(1), bitmask(0)" and torch.equal(a.T.to_dense(), dense().T)
    assert a.T.values().data_ptr() == a.values().data_ptr() and a.T.T.format == "bitmask"


def test_memory():
    a = scorch.sparse(torch.eye(64).repeat(1, 2).repeat_interleave(2, 1), format="bitmask")
    words = 64 * a.shape[1] // 32
    assert a.nbytes == 4 * a.nnz + 4 * words + 4 * (words + 1)
    assert (
        scorch.sparse(torch.ones(64, 256), "bitmask").nbytes
        < scorch.sparse(torch.ones(64, 256), "csr").nbytes
    )


def test_a_gradient_goes_through_a_conversion():
    a = scorch.sparse(dense(), format="csr").requires_grad_()
    b = a.convert("bitmask")
    b.values().mul(torch.arange(float(b.nnz))).sum().backward()
    assert torch.equal(a.grad.values(), torch.arange(float(a.nnz)))


def test_rows_that_are_chosen_and_joined():
    d = dense()
    a = scorch.sparse(d, format="bitmask")
    assert torch.equal(a[3:7].to_dense(), d[3:7]) and torch.equal(a[:, 5].to_dense(), d[:, 5])
    assert torch.equal(torch.cat([a, a]).to_dense(), torch.cat([d, d]))
    assert torch.equal((a * 2).to_dense(), d * 2) and torch.equal(a.unsqueeze(0).to_dense(), d[None])


def test_sums_of_parts():
    d = dense()
    a = scorch.sparse(d, format="bitmask of rows(> 30) + csr")
    assert torch.equal(a.to_dense(), d) and torch.equal(a.convert("csr").to_dense(), d)
    wide = a.to(index_dtype=torch.int64)
    assert torch.equal(wide.to_dense(), d) and torch.equal(sum(p.to_dense() for p in wide.parts), d)


# ---- expressions ----
@pytest.mark.parametrize("columns", EXTENTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64, torch.bfloat16])
def test_products(columns, dtype):
    d = dense(20, columns).to(dtype)
    a, x = scorch.sparse(d, format="bitmask"), (torch.arange(columns * 5) % 5 - 2).view(columns, 5).to(dtype)
    exact = (d.double() @ x.double()).to(dtype)
    assert torch.equal(a @ x, exact) and torch.equal(a @ x[:, 1], exact[:, 1])
    assert torch.equal(a.T @ exact[:, 0], (d.double().T @ exact[:, 0].double()).to(dtype))


def test_expressions():
    d, x = dense(), torch.arange(70.0)
    a = scorch.sparse(d, format="bitmask")
    assert torch.equal(scorch.evaluate("y[i] = A[i,j] * x[j] + 1", A=a, x=x), d @ x + 1)
    assert torch.equal(scorch.evaluate("y[i] max= A[i,j]", A=a), d.amax(1))
    assert torch.equal((a * x).to_dense(), d * x) and (a * x).format == "bitmask"
    assert torch.equal(scorch.evaluate("C[i,j] = 2 * A[i,j]", A=a).to_dense(), 2 * d)
    assert torch.equal((a * scorch.sparse(d, "csr")).to_dense(), d * d)
    assert torch.equal((a + scorch.sparse(d, "csr")).to_dense(), d + d)


@pytest.mark.parametrize("batch", ["bitmask", "compressed(0), dense(1), bitmask(2)"])
def test_batches_of_products(batch):
    d = torch.stack([dense(19, 33), dense(19, 33).flip(0), torch.zeros(19, 33)])
    a, x = scorch.sparse(d, format=batch), torch.arange(33.0)
    assert torch.equal(scorch.einsum("bij,j->bi", a, x), d @ x)


def test_gradients():
    d, x = dense(), torch.arange(70.0).requires_grad_()
    a = scorch.sparse(d, format="bitmask").requires_grad_()
    (a @ x).sum().backward()
    assert torch.equal(x.grad, d.sum(0)) and torch.equal(a.grad.to_dense(), (d != 0) * x.detach())
    assert a.grad.format == "bitmask"


# ---- layouts whose values are in order ----
PAIRS = [("coo", "csr"), ("csr", "dcsr"), ("csr", "coo"), ("dcsr", "csr"), ("csr", "bitmask")]
TWICE, PRODUCT = "C[i,j] = 2 * A[i,j]", "C[i,k] = A[i,j] * B[j,k]"


@pytest.mark.parametrize(("format", "other"), PAIRS)
def test_layouts_in_the_same_order_have_the_values(format, other):
    a, x, schedule = (
        scorch.sparse(dense(), format=format),
        torch.arange(210.0).view(70, 3),
        f"convert(A: {other})",
    )
    for _ in range(2):
        for b in (a, a * 3):
            c = scorch.evaluate(TWICE, A=b, schedule=schedule)
            assert c.format == format and torch.equal(c.to_dense(), 2 * b.to_dense())
            assert c.crd(1).data_ptr() == a.crd(1).data_ptr()
            assert torch.equal(scorch.evaluate(PRODUCT, A=b, B=x, schedule=schedule), b.to_dense() @ x)
        a.values().data[3] += 1
    assert a.memory()["derived"] == {other: a.convert(other).nbytes - 4 * a.nnz}


@pytest.mark.parametrize(("format", "other"), PAIRS)
def test_layouts_in_the_same_order_of_graphs(format, other):
    x, schedule = torch.arange(210.0).view(70, 3), f"convert(A: {other})"

    @torch.compile(backend="eager", fullgraph=True)
    def run(a: scorch.SparseTensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return scorch.evaluate(TWICE, A=a, schedule=schedule), scorch.evaluate(
            PRODUCT, A=a, B=x, schedule=schedule
        )

    for factor in (1, 2, 3):  # arrays of their own, which go
        a = scorch.sparse(factor * dense(), format=format)
        c, y = run(a, x)
        assert torch.equal(c.to_dense(), 2 * factor * dense()) and torch.equal(y, factor * dense() @ x)


# ---- weights that are multiplied often ----
WIDE = 64 in native.widths()


def pruned(side: int, full: float, seed: int = 0) -> torch.Tensor:
    """Small integers in so many of the places, so that sums are exact."""
    g = torch.Generator().manual_seed(seed)
    values = torch.randint(1, 4, (side, side), generator=g).float()
    return values * (torch.rand(side, side, generator=g) < full)


@pytest.mark.skipif(not WIDE, reason="words are taken by vectors of 64 bytes")
@pytest.mark.parametrize(
    ("full", "rows", "words"),
    [
        (0.5, 1, True),
        (0.5, 4, True),
        (0.5, 8, True),
        (0.5, 32, False),
        (0.3, 4, True),
        (0.3, 1, False),
        (0.1, 4, False),
    ],
)
def test_full_weights_get_words_where_rows_are_few(full, rows, words):
    d = pruned(512, full)
    a = scorch.sparse(d, format="csr").optimize(calls=1_000_000)
    x = torch.arange(rows * 512.0).reshape(rows, 512).remainder(5)
    assert torch.equal(torch.nn.functional.linear(x, a), torch.nn.functional.linear(x, d))
    assert ("bitmask" in a.memory()["derived"]) == words


@pytest.mark.skipif(not WIDE, reason="words are taken by vectors of 64 bytes")
def test_words_read_the_values_where_they_are():
    d = pruned(512, 0.5)
    a = scorch.sparse(d, format="csr").optimize(calls=1_000_000)
    x = torch.arange(4 * 512.0).reshape(4, 512).remainder(5)
    torch.nn.functional.linear(x, a)
    words = 512 * 512 // 32 * 8 + 4
    assert a.memory()["derived"]["bitmask"] == words  # no values and no permutation
    a.values().numpy()[:] *= 2  # unseen by torch
    assert torch.equal(torch.nn.functional.linear(x, a), torch.nn.functional.linear(x, 2 * d))
    shared = torch.relu(-a)
    assert torch.equal(torch.nn.functional.linear(x, shared), torch.zeros(4, 512))
    keep = (d > 1).float()
    a.values().copy_(scorch.sparse(d, format="csr").values() * keep[d != 0])
    assert torch.equal(torch.nn.functional.linear(x, a), torch.nn.functional.linear(x, d * keep))


@pytest.mark.skipif(not WIDE, reason="words are taken by vectors of 64 bytes")
@pytest.mark.parametrize(("full", "words"), [(0.5, True), (0.1, False)])
def test_graphs_get_words_as_well(full, words):
    d = pruned(1024, full)
    a, x = scorch.sparse(d, format="csr"), torch.arange(4 * 1024.0).reshape(4, 1024).remainder(5)
    linear = torch.compile(torch.nn.functional.linear, backend="aot_eager", fullgraph=True)

    def kept() -> int:  # bytes of layouts and of workspaces
        scorch._C.release()
        assert torch.equal(linear(x, a), x @ d.T)
        return scorch._C.release()

    before, many = kept(), torch.ones(8192, 1024)
    for _ in range(2 + int(2**32 / (8192 * a.nnz))):
        linear(many, a)
    assert (kept() - before > 200_000) == words  # 262,148 of words, which need no workspace
    a.values().numpy()[:] *= 2  # unseen by torch
    d *= 2
    kept()


@pytest.mark.parametrize("rows", (1, 3, 8, 11))
@pytest.mark.parametrize("columns", (31, 64, 100))
def test_lanes_without_an_entry_read_and_add_nothing(rows, columns):
    d = pruned(128, 0.5)[:, :columns]
    x = torch.arange(rows * columns * 1.0).reshape(rows, columns).remainder(5)
    x[:, ::7] = math.inf
    a, expected = scorch.sparse(d, format="bitmask"), scorch.sparse(d, format="csr")
    for y, z in ((a, expected), (-a, -expected)):
        assert torch.equal(torch.nn.functional.linear(x, y), torch.nn.functional.linear(x, z))


def test_rows_are_vectors_of_coordinates():
    d = pruned(9, 0.5)
    a = scorch.sparse(d, format="bitmask")
    assert a[3].format == "coo" and torch.equal(a[3].to_dense(), d[3])
    with pytest.raises(ValueError, match="with a level above"):
        scorch.sparse(d[3], format="bitmask(0)")

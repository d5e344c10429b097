"""The SparseTensor class: making, reading, converting, products, derived layouts, saving."""

import copy
import io
import os
import pickle

import numpy as np
import pytest
import scipy.sparse
import torch
import torch.nn.functional as F

import scorch

FORMATS = ["csr", "csc", "coo", "dcsr", "dcsc", "csf", "bsr(2,3)", "bsc(2,3)", "ell(6)", "dia(4)", "bitmask"]
FORMATS += ["sell(4,8)"]


def matrix(rows=8, cols=6, density=0.4, dtype=torch.float64, seed=0):
    g = torch.Generator().manual_seed(seed)
    values = torch.randint(1, 9, (rows, cols), generator=g)
    return (values * (torch.rand(rows, cols, generator=g) < density)).to(dtype)


# ---- making ----
@pytest.mark.parametrize("fmt", FORMATS)
def test_dense_round_trip(fmt):
    d = matrix()
    a = scorch.sparse(d, format=fmt)
    assert a.format.bind(2) == scorch.Format(fmt).bind(2) and tuple(a.shape) == (8, 6) and a.dtype == d.dtype
    assert a.index_dtype == torch.int32
    assert torch.equal(a.to_dense(), d)


@pytest.mark.parametrize("fmt", ["coo", "csf", "csr", "auto"])
def test_three_dimensions(fmt):
    d = matrix(12, 5).view(3, 4, 5)
    a = scorch.sparse(d, format=fmt)
    assert torch.equal(a.to_dense(), d)
    assert torch.equal(a.permute(2, 0, 1).to_dense(), d.permute(2, 0, 1))


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_compressed_torch_layouts_are_shared(layout, index):
    t = getattr(matrix(), f"to_sparse_{layout}")(*([(2, 3)] if layout[0] == "b" else []))
    rows = layout in ("csr", "bsr")
    pos, crd = (t.crow_indices(), t.col_indices()) if rows else (t.ccol_indices(), t.row_indices())
    t = torch.sparse_compressed_tensor(pos.to(index), crd.to(index), t.values(), t.shape, layout=t.layout)
    pos, crd = (t.crow_indices(), t.col_indices()) if rows else (t.ccol_indices(), t.row_indices())
    a = scorch.sparse(t, format="bsr(2,3)" if layout == "bsr" else "bsc(2,3)" if layout == "bsc" else layout)
    assert a.values().data_ptr() == t.values().data_ptr()
    assert a.pos(1).data_ptr() == pos.data_ptr() and a.crd(1).data_ptr() == crd.data_ptr()
    assert a.index_dtype == index and torch.equal(a.to_dense(), t.to_dense())
    back = a.to_torch(t.layout)
    assert back.values().data_ptr() == t.values().data_ptr() and torch.equal(back.to_dense(), t.to_dense())


def test_coo_is_shared():
    t = matrix().to_sparse_coo().coalesce()
    a = scorch.sparse(t, format="coo")
    assert a.values().data_ptr() == t.values().data_ptr()
    assert a.crd(0).data_ptr() == t.indices()[0].data_ptr()
    assert torch.equal(a.indices(), t.indices())


def test_duplicates_are_summed():
    t = torch.sparse_coo_tensor(torch.tensor([[0, 1, 0], [2, 0, 2]]), torch.tensor([1.0, 2, 3]), (2, 3))
    assert torch.equal(scorch.sparse(t, "csr").to_dense(), t.to_dense())
    s = scipy.sparse.coo_array((np.ones(3), (np.array([0, 1, 0]), np.array([2, 0, 2]))), shape=(2, 3))
    assert torch.equal(scorch.sparse(s, "csr").to_dense(), torch.from_numpy(s.toarray()))


def test_unsorted_rows_of_torch_are_sorted():
    t = torch.sparse_csr_tensor(
        torch.tensor([0, 2, 3]), torch.tensor([2, 0, 1]), torch.ones(3), (2, 3), check_invariants=False
    )
    assert torch.equal(scorch.sparse(t).to_dense(), t.to_dense())
    with pytest.raises(ValueError):
        scorch.sparse(t, copy=False)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "lil"])
def test_scipy(kind):
    d = matrix().numpy()
    s = getattr(scipy.sparse, f"{kind}_array")(d)
    a = scorch.sparse(s, format="csr")
    assert np.array_equal(a.to_dense().numpy(), d)
    assert np.array_equal(a.to_scipy().toarray(), d)


def test_scipy_copies_unless_told_not_to():
    s = scipy.sparse.csr_array(matrix().numpy())
    owned, shared = scorch.sparse(s), scorch.sparse(s, copy=False)
    assert shared.values().data_ptr() == s.data.ctypes.data
    x = torch.ones(6, 2, dtype=torch.float64)
    before = (shared @ x, shared.T @ torch.ones(8, 2, dtype=torch.float64))
    s.data *= 2
    assert torch.equal(owned @ x, before[0]) and torch.equal(shared @ x, 2 * before[0])
    assert torch.equal(shared.T @ torch.ones(8, 2, dtype=torch.float64), 2 * before[1])


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_nothing_is_copied_where_that_is_said(kind):
    s = getattr(scipy.sparse, f"{kind}_array")(scipy.sparse.eye_array(6))
    shared = scorch.sparse(s, copy=False)
    assert shared.values().data_ptr() == s.data.ctypes.data and str(shared.format).startswith(kind)
    s.data *= 3
    assert torch.equal(shared.to_dense(), 3 * torch.eye(6, dtype=torch.float64))
    t = torch.eye(6).to_sparse(
        layout=getattr(torch, f"sparse_{kind}"), blocksize=(2, 2) if kind == "bsr" else None
    )
    shared = scorch.sparse(t, copy=False)
    assert str(shared.format).startswith(kind)
    assert shared.values().data_ptr() == (t._values() if kind == "coo" else t.values()).data_ptr()
    assert scorch.sparse(scorch.sparse(t, kind if kind != "bsr" else "csc"), copy=False).format != "dcsr"
    other = "csr" if kind != "csr" else "csc"
    for x in (s, t, scorch.sparse(torch.eye(6), "coo")):
        with pytest.raises(ValueError, match=f"copy=False: .* as {other} would need"):
            scorch.sparse(x, other, copy=False)
        with pytest.raises(ValueError, match="copy=False"):
            scorch.sparse(x, "csr of band(-1,1) + csr", copy=False)


def test_what_would_be_copied_is_refused():
    d, m = torch.eye(3), scipy.sparse.csr_array(numpy_eye := np.eye(3))
    unsorted = torch.sparse_coo_tensor([[1, 0], [1, 0]], [1.0, 2.0], (2, 2), check_invariants=True)
    for x in (d, numpy_eye, unsorted, scipy.sparse.dia_array(numpy_eye), torch.stack([d, d]).to_sparse_csr()):
        with pytest.raises(ValueError, match="copy=False"):
            scorch.sparse(x, copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        scorch.sparse(m, copy=False, index_dtype=torch.int64)
    with pytest.raises(ValueError):  # in no order
        scorch.sparse(scipy.sparse.coo_array(([1.0, 2.0], ([1, 0], [1, 0]))), copy=False)


def test_from_components_shares_and_checks():
    pos, crd, values = torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1]), torch.tensor([1.0, 2, 3])
    a = scorch.from_components("csr", (2, 3), [None, pos], [None, crd], values)
    assert a.crd(1).data_ptr() == crd.data_ptr() and a.values().data_ptr() == values.data_ptr()
    assert torch.equal(a.to_dense(), torch.tensor([[1.0, 0, 2], [0, 3, 0]]))
    for bad_pos, bad_crd, text in [
        ([0, 2, 4], [0, 2, 1], "level 1"),
        ([0, 2], [0, 2, 1], "level 1"),
        ([0, 2, 3], [0, 3, 1], "level 1"),
        ([0, 2, 3], [2, 0, 1], "level 1"),
        ([0, 2, 3], [0, -1, 1], "level 1"),
        ([0, 3, 2], [0, 2, 1], "level 1"),
    ]:
        with pytest.raises(ValueError, match=text):
            scorch.from_components(
                "csr", (2, 3), [None, torch.tensor(bad_pos)], [None, torch.tensor(bad_crd)], values
            )
    with pytest.raises(ValueError):
        scorch.from_components("csr", (2, 3), [None, None], [None, crd], values)
    with pytest.raises(TypeError):
        scorch.from_components("csr", (2, 3), [None, pos], [None, crd.int()], values)
    with pytest.raises(TypeError):
        scorch.from_components("csr", (2, 3), [None, pos.double()], [None, crd.double()], values)


def test_structure_written_to_is_validated_again():
    pos, crd = torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1])
    a = scorch.from_components("csr", (2, 3), [None, pos], [None, crd], torch.ones(3))
    x = torch.ones(3, 2)
    a @ x
    crd[1] = 1000
    with pytest.raises(ValueError, match="level 1"):
        a @ x
    crd[1] = 1
    assert torch.equal(a @ x, torch.tensor([[2.0, 2], [1, 1]]))
    crd.resize_(4096)  # moves the memory that the wrapped array shares
    assert torch.equal(a @ x, torch.tensor([[2.0, 2], [1, 1]]))


SHARERS = {
    "relu": torch.relu, "times a number": lambda a: a * 2, "transposed": lambda a: a.T,
    "detached": torch.detach,
    "mapped": lambda a: scorch.map(a, torch.exp), "times a row": lambda a: a * torch.ones(3),
    "added": lambda a: a + a, "sliced": lambda a: a[:2], "a slice": lambda a: a[1:],
    "softmax": lambda a: a.softmax(1),
    "evaluated": lambda a: scorch.evaluate("C[i,j] = relu(A[i,j])", A=a), "in a batch": lambda a: a[None],
    "sampled": lambda a: scorch.sddmm(a, torch.ones(2, 2), torch.ones(3, 2)), "int": lambda a: a.int(),
    "other values": lambda a: a._with_values(a.values() + 1), "gradient": lambda a: _gradient(a),
}  # fmt: skip


def _gradient(a):
    b = a.detach().requires_grad_()
    (b @ torch.ones(3, 2)).sum().backward()
    return b.grad


@pytest.mark.parametrize("share", SHARERS.values(), ids=SHARERS)
@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("name", ["pos", "crd"])
def test_all_that_share_a_structure_notice_a_write(share, used, name):
    pos, crd = torch.tensor([0, 1, 3]), torch.tensor([1, 0, 2])
    a = scorch.from_components("csr", (2, 3), [None, pos], [None, crd], torch.tensor([2.0, 1, 3]))
    b = share(a)
    x = torch.ones(b.shape[-1], 2, dtype=b.dtype)
    if used:
        b @ x
    if name == "pos" and b.pos(b._ndim - 1).data_ptr() != a.pos(1).data_ptr():
        pytest.skip("it has positions of its own")
    getattr(a, name)(1)[1] = 1000
    with pytest.raises(ValueError, match="level"):
        b @ x


def test_memory_of_torch_that_is_written_to():
    d = torch.tensor([[0.0, 2, 0], [1, 0, 3]])
    for t, indices in (
        (d.to_sparse_csr(), lambda t: t.col_indices()),
        (d.to_sparse_coo().coalesce(), lambda t: t.indices()[1]),
    ):
        a = scorch.sparse(t, "csr" if t.layout is torch.sparse_csr else "coo")
        a @ torch.ones(3, 2)
        indices(t)[0] = 1000
        with pytest.raises(ValueError, match="level 1"):
            a @ torch.ones(3, 2)


@pytest.mark.parametrize("normalize", [None, "sym", "row"])
@pytest.mark.parametrize("loops", [False, True])
def test_from_edge_index(normalize, loops):
    edge = torch.tensor([[0, 1, 2, 2, 3], [1, 0, 1, 2, 0]])
    weight = torch.tensor([1.0, 2, 3, 4, 5])
    dense = torch.zeros(5, 5)
    dense[edge[1], edge[0]] = weight
    if loops:
        for i in range(5):
            dense[i, i] = dense[i, i] or 1
    degree = dense.sum(1)
    if normalize == "sym":
        scale = torch.where(degree > 0, degree.pow(-0.5), 0)
        dense = scale[:, None] * dense * scale
    if normalize == "row":
        dense = torch.where(degree[:, None] != 0, dense / degree[:, None], 0)
    a = scorch.from_edge_index(edge, weight, num_nodes=5, add_self_loops=loops, normalize=normalize)
    assert a.format == scorch.Format("csr")
    torch.testing.assert_close(a.to_dense(), dense)
    with pytest.raises(ValueError):
        scorch.from_edge_index(edge, weight, num_nodes=3)


def test_what_cannot_be_made():
    with pytest.raises(TypeError):
        scorch.SparseTensor(torch.ones(2))
    with pytest.raises(TypeError):
        scorch.sparse([[1.0]])
    with pytest.raises(TypeError):
        scorch.sparse(torch.ones(2, 2, dtype=torch.complex64))
    with pytest.raises(NotImplementedError):
        scorch.sparse(torch.ones(2, 2).to_sparse().requires_grad_())
    with pytest.raises(ValueError):
        scorch.sparse(torch.ones(2, 2), format="hyb(3,2)")
    with pytest.raises(ValueError):
        scorch.sparse(torch.ones(2, 2), format="cssr")


# ---- reading ----
def test_what_it_says():
    a = scorch.sparse(matrix(dtype=torch.float32), "csr")
    nnz = int((matrix() != 0).sum())
    assert a.nnz == nnz and a.density == pytest.approx(nnz / 48)
    assert repr(a) == f"{a}" and f"csr, 8x6, nnz={nnz}" in repr(a)
    assert scorch.is_sparse(a) and not a.is_sparse and a.numel() == 48
    assert a.nbytes == 4 * (9 + 2 * nnz) and a.memory()["tensor"] == a.nbytes
    with pytest.raises(ValueError, match="pos1"):
        a.pos(0)


@pytest.mark.parametrize("fmt", FORMATS)
def test_indices_match_values(fmt):
    a = scorch.sparse(matrix(), fmt)
    dense = torch.zeros(8, 6, dtype=a.dtype)
    i, j = a.indices()
    stored = i >= 0
    dense[i[stored], j[stored]] = a.values()[stored]
    assert torch.equal(dense, matrix())


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_convert(source, target):
    a = scorch.sparse(matrix(), source).convert(target)
    assert a.format.bind(2) == scorch.Format(target).bind(2) and torch.equal(a.to_dense(), matrix())


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool]
)
def test_types_that_are_stored(dtype):
    d = matrix().to(dtype)
    a = scorch.sparse(d, "csr")
    assert a.dtype == dtype and torch.equal(a.convert("csc").to_dense(), d)


def test_layouts_of_torch_with_dense_dimensions():
    d = matrix(12, 5).view(3, 4, 5)
    d[1] = 0
    for fmt in ("csf", "coo", "csr"):
        a = scorch.sparse(d, fmt)
        for k in (1, 2, 3):
            wanted = d.to_sparse(k)
            for got in (a.to_sparse(k), a.to_sparse(sparse_dim=k), a.to_sparse(dense_dim=3 - k)):
                assert got.sparse_dim() == k and got.is_coalesced() and torch.equal(got.to_dense(), d)
                assert torch.equal(got.indices(), wanted.indices())
    a = scorch.sparse(matrix(), "csr")
    assert a.to_sparse(layout=torch.sparse_csc).layout is torch.sparse_csc
    assert a.to_sparse(layout=torch.sparse_bsr, blocksize=(2, 3)).values().shape[1:] == (2, 3)
    for wrong, error in (
        (lambda: a.to_sparse(0), ValueError),
        (lambda: a.to_sparse(3), ValueError),
        (lambda: a.to_sparse(1, layout=torch.sparse_coo), TypeError),
        (lambda: a.to_sparse(blocksize=(2, 3)), ValueError),
        (lambda: a.to_sparse(layout=torch.sparse_csr, blocksize=(2, 3)), ValueError),
        (lambda: a.to_sparse_csr(dense_dim=1), NotImplementedError),
    ):
        with pytest.raises(error):
            wrong()


@pytest.mark.needs("2.11")
def test_repeated_coordinates_of_bool_are_ored():
    kinds = "compressed(0, nonunique), singleton(1, nonunique)"

    def repeated(values):
        row, column = torch.tensor([0, 0, 1, 1]), torch.tensor([1, 1, 0, 2])
        return scorch.from_components(kinds, (2, 3), [torch.tensor([0, 4]), None], [row, column], values)

    a, x = repeated(torch.tensor([True, True, True, False])), torch.tensor([[1.0, 2], [3, 4], [5, 6]])
    d = a.to_dense()
    assert d.tolist() == [[False, True, False], [True, False, False]]
    for f in (
        lambda a: a.to(x.dtype) @ x, lambda a: a.float(), lambda a: a.long(), lambda a: a.sum(),
        lambda a: a.sum(1),
        lambda a: a * x.T, lambda a: a & a, lambda a: a.any(0), lambda a: a.mean(dtype=torch.float32),
        lambda a: a * 2,
    ):  # fmt: skip
        got = f(a)
        assert torch.equal(got.to_dense() if scorch.is_sparse(got) else got, f(d))
    wanted = d.float() @ x
    w = x.clone().requires_grad_()
    kernel = scorch.compile("ij,jk->ik", a, x)
    for got in (
        a @ x, (x.T @ a.T).T, F.linear(x.T, a).T, scorch.einsum("ij,jk->ik", a, x), kernel(a, x), a @ w,
        scorch.evaluate("C[i,k] = A[i,j] * x[j,k]", A=a, x=x), torch.func.vmap(lambda x: a @ x)(x[None])[0],
        torch.compile(lambda a, x: a @ x, backend="aot_eager", fullgraph=True)(a, x),
    ):  # fmt: skip
        assert torch.equal(got, wanted)
    (a @ w).sum().backward()
    assert torch.equal(w.grad, d.float().T @ torch.ones(2, 2))
    b = repeated(torch.tensor([0.6, 0.6, -1, 1]))  # a sum of casts is no cast of a sum
    assert torch.equal(b.int().to_dense(), b.to_dense().int())
    for change in (torch.Tensor.relu_, lambda b: b.add_(1), lambda b: b.div_(0.5, rounding_mode="floor")):
        with pytest.raises(ValueError, match="coalesce"):
            change(b)
    assert torch.equal(b.clone().mul_(2).to_dense(), 2 * b.to_dense())


def test_to():
    a = scorch.sparse(matrix(), "csr")
    assert a.to(torch.float64) is a and a.to("cpu") is a
    b = a.to(torch.float32, index_dtype=torch.int64)
    assert (
        b.dtype == torch.float32
        and b.index_dtype == torch.int64
        and torch.equal(b.to_dense().double(), matrix())
    )
    assert a.float().dtype == torch.float32
    with pytest.raises(NotImplementedError):
        a.to("meta")


def test_transpose_shares_memory():
    a = scorch.sparse(matrix(), "csr")
    t = a.T
    assert t.format == scorch.Format("csc") and t.shape == (6, 8)
    assert t.crd(1).data_ptr() == a.crd(1).data_ptr() and t.values().data_ptr() == a.values().data_ptr()
    assert torch.equal(t.to_dense(), matrix().T) and torch.equal(a.transpose(0, 1).to_dense(), matrix().T)
    assert torch.equal(torch.t(a).to_dense(), matrix().T)
    assert scorch.sparse(matrix(), "bsr(2,3)").T.shape == (6, 8)
    assert torch.equal(scorch.sparse(matrix(), "bsr(2,3)").T.to_dense(), matrix().T)


def test_scipy_has_no_bfloat16():
    with pytest.raises(TypeError, match=r"A\.float\(\)"):
        scorch.sparse(torch.eye(3).bfloat16()).to_scipy()


def test_torch_and_scipy_layouts():
    a = scorch.sparse(matrix(), "csr")
    assert torch.equal(a.to_sparse_csr().to_dense(), matrix())
    assert torch.equal(a.to_sparse_csc().to_dense(), matrix())
    assert torch.equal(a.to_sparse_coo().to_dense(), matrix())
    assert torch.equal(a.to_sparse().to_dense(), matrix())
    assert torch.equal(a.to_sparse_bsr((2, 3)).to_dense(), matrix())
    assert a.to_scipy().format == "csr"


@pytest.mark.parametrize("format", ["csr", "coo", "csc", "bsr(2,3)"])
@pytest.mark.parametrize(
    "turn",
    [
        lambda a: a.to_sparse(),
        lambda a: a.to_sparse_coo(),
        lambda a: a.to_sparse(1),
        lambda a: a.to_sparse_csr(),
        lambda a: a.to_sparse_bsc((2, 3)),
        lambda a: a.to_torch(torch.sparse_coo) * 1,
    ],
)
def test_gradients_through_the_layouts_of_torch(format, turn):
    a = scorch.sparse(matrix(), format).requires_grad_()
    weights = torch.arange(48.0, dtype=matrix().dtype).view(8, 6)
    (turn(a * 2).to_dense() * weights).sum().backward()
    there = a.grad.to_dense() != 0
    assert torch.equal(a.grad.to_dense()[there], 2 * weights[there])
    assert bool(there[(matrix() != 0) & (weights != 0)].all())


def test_memory_is_refused():
    a = scorch.sparse(matrix(), "csr")
    for refused in (
        lambda: a.data_ptr(),
        lambda: a.numpy(),
        lambda: np.from_dlpack(a),
        lambda: a.apply_(abs),
        lambda: torch.utils.dlpack.to_dlpack(a),
    ):
        with pytest.raises((RuntimeError, NotImplementedError, TypeError, BufferError)):
            refused()


@pytest.mark.parametrize(
    "f",
    [
        torch.exp,
        torch.det,
        lambda a: a.view(-1),
        torch.linalg.svdvals,
    ],
)
def test_nothing_is_computed_densely(f):
    with pytest.raises(NotImplementedError):
        f(scorch.sparse(matrix(), "csr"))


def test_functions_of_values():
    a = scorch.sparse(matrix() - 3 * (matrix() > 4), "csr")
    d = a.to_dense()
    for f in (
        torch.relu,
        F.relu,
        torch.abs,
        torch.neg,
        torch.tanh,
        lambda x: 2 * x,
        lambda x: x / 2,
        lambda x: -x,
    ):
        assert torch.equal(f(a).to_dense(), f(d))
    assert (2 * a).crd(1).data_ptr() == a.crd(1).data_ptr()


# ---- products ----
@pytest.mark.sampled
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products(fmt, dtype):
    d = matrix(dtype=dtype)
    a = scorch.sparse(d, fmt)
    x, v, w = (
        torch.arange(12.0, dtype=dtype).view(6, 2),
        torch.arange(6.0, dtype=dtype),
        torch.arange(16.0, dtype=dtype).view(2, 8),
    )
    for _ in range(2):
        assert torch.equal(a @ x, d @ x) and torch.equal(a @ v, d @ v)
        assert torch.equal(w @ a, w @ d) and torch.equal(w[0] @ a, w[0] @ d)
        assert torch.equal(torch.mm(a, x), d @ x) and torch.equal(torch.sparse.mm(a, x), d @ x)
        assert (
            torch.equal(torch.mv(a, v), d @ v)
            and torch.equal(a.matmul(x), d @ x)
            and torch.equal(torch.mm(w, a), w @ d)
        )
        assert torch.equal(F.linear(x.T, a), F.linear(x.T, d))
        assert torch.equal(F.linear(x.T, a, torch.ones(8, dtype=dtype)), F.linear(x.T, d) + 1)
        assert torch.equal(a.T @ w.T, d.T @ w.T)
        assert torch.equal(torch.addmm(w.T, a, x), torch.addmm(w.T, d, x))


def test_strided_and_batched_operands():
    d = matrix()
    a = scorch.sparse(d, "csr")
    x = torch.arange(48.0, dtype=torch.float64).view(4, 12)
    assert torch.equal(a @ x.T[::2], d @ x.T[::2])
    assert torch.equal(a @ x[:, :6].T, d @ x[:, :6].T)
    assert torch.equal(a @ x.T[:6, :1], d @ x.T[:6, :1])
    b = torch.arange(36.0, dtype=torch.float64).view(3, 6, 2)
    assert torch.equal(a @ b, d @ b)
    assert torch.equal(F.linear(b.mT, a), F.linear(b.mT, d))
    assert torch.equal(b.mT @ a.T, b.mT @ d.T)
    z = torch.complex(x, x).conj().imag  # a negative view
    assert torch.equal(a @ z[:, :6].T, d @ z[:, :6].T)
    assert torch.equal(a @ x[:1, :6].T.expand(6, 3), d @ x[:1, :6].T.expand(6, 3))


def test_empty_shapes():
    for rows, cols, k in ((0, 3, 2), (3, 0, 2), (3, 2, 0)):
        d = torch.zeros(rows, cols)
        assert torch.equal(scorch.sparse(d, "csr") @ torch.ones(cols, k), d @ torch.ones(cols, k))


def test_product_errors():
    a = scorch.sparse(matrix(), "csr")
    with pytest.raises(ValueError, match="8 x 6"):
        a @ torch.ones(5, 2, dtype=torch.float64)
    with pytest.raises(ValueError):
        torch.mm(a, torch.ones(6, dtype=torch.float64))
    with pytest.raises(TypeError):
        a @ "x"


def test_numpy_on_either_side():
    a = scorch.sparse(matrix(), "csr")
    x = np.ones((2, 8))
    assert torch.equal(x @ a, torch.from_numpy(x @ matrix().numpy()))
    assert torch.equal(a @ np.ones((6, 2)), matrix() @ torch.ones(6, 2, dtype=torch.float64))


def test_sparse_times_sparse():
    a, b = scorch.sparse(matrix(), "csr"), scorch.sparse(matrix(6, 7, seed=1), "csr")
    try:
        c = a @ b
    except NotImplementedError as error:
        pytest.skip(str(error))
    assert scorch.is_sparse(c) and torch.equal(c.to_dense(), matrix() @ matrix(6, 7, seed=1))


def test_einsum_and_evaluate():
    d, x = matrix(), torch.arange(12.0, dtype=torch.float64).view(6, 2)
    a = scorch.sparse(d, "csr")
    assert torch.equal(scorch.einsum("ij,jk->ik", a, x), d @ x) and torch.equal(
        torch.einsum("ij,jk->ik", a, x), d @ x
    )
    bias = torch.tensor([1.0, -100], dtype=torch.float64)
    y = scorch.evaluate("C[i,k] = relu(A[i,j] * B[j,k] + b[k])", A=a, B=x, b=bias)
    assert torch.equal(y, torch.relu(d @ x + bias))
    out = torch.empty(8, 2, dtype=torch.float64)
    version = out._version
    assert (
        scorch.einsum("ij,jk->ik", a, x, out=out) is out
        and torch.equal(out, d @ x)
        and out._version > version
    )
    assert torch.matmul(a, x, out=out) is out
    with pytest.raises(ValueError, match="out"):
        scorch.einsum("ij,jk->ik", a, x, out=torch.empty(3, 2, dtype=torch.float64))
    square = scorch.sparse(d[:6], "csr")
    with pytest.raises(ValueError, match="overlap"):
        scorch.einsum("ij,jk->ik", square, x, out=x)
    with pytest.raises(ValueError):
        scorch.einsum("ij,jk->ik", a)
    with pytest.raises(ValueError):
        scorch.evaluate("C[i] = A[i,j]", A=a, Z=x)


def test_compile_and_explain():
    d, x = matrix(), torch.ones(6, 2, dtype=torch.float64)
    a = scorch.sparse(d, "csr")
    kernel = scorch.compile("ij,jk->ik", a, x)
    assert torch.equal(kernel(a, x), d @ x) and kernel.source and kernel.schedule and kernel.explain()
    assert scorch.explain("ij,jk->ik", a, x)
    with pytest.raises(ValueError):
        kernel(a.T, x)


# ---- derived layouts ----
def test_results_share_the_layouts_of_what_they_are_like():
    a = scorch.sparse(torch.rand(30, 20) * (torch.rand(30, 20) < 0.3))
    d, x = torch.rand(30, 20), torch.rand(30, 8)
    for _ in range(2):
        made = scorch.einsum("ij,ij->ij", a, d)
        y = scorch.einsum("ij,ik->jk", made, x, schedule="order(j, i, k)")
        torch.testing.assert_close(y, (a.to_dense() * d).T @ x)
    assert list(a.memory()["derived"]) == ["csc"]


@pytest.mark.parametrize("recorded", (False, True))
def test_a_structure_whose_own_values_are_never_read_keeps_what_is_derived(recorded):
    """In training values are new in every step, and so is the tensor, and its transpose."""
    a = scorch.sparse((torch.rand(40, 30) < 0.2).double(), "csr")
    w, x = torch.rand(a.nnz).double().requires_grad_(recorded), torch.rand(40, 3).double()
    for step in range(4):
        if step == 2:  # the same arrays hold another structure: every row turned round
            rows = [29 - row.flip(0) for row in a.crd(1).split(a.pos(1).diff().tolist())]
            a.crd(1).copy_(torch.cat(rows))
        new = a._with_values(a.values() * w * step)
        wanted = new.to_dense().T @ x
        torch.testing.assert_close(scorch.einsum("ij,ik->jk", new, x, schedule="order(j, i, k)"), wanted)
        torch.testing.assert_close(scorch.einsum("ji,ik->jk", new.T, x, schedule="order(j, i, k)"), wanted)
        assert list(a.memory()["derived"]) == ["csc", "csr of permute(1, 0)"]
        assert list(new.T.memory()["derived"]) == ["csr"]
    new.release()
    assert not a.memory()["derived"]


def test_derived_values_follow_every_write():
    d = matrix(60, 50, 0.3)
    a = scorch.sparse(d, "csc")
    w, x = torch.ones(3, 60, dtype=torch.float64), torch.ones(50, 4, dtype=torch.float64)

    def check():
        dense = a.to_dense()
        assert (
            torch.equal(a @ x, dense @ x)
            and torch.equal(w @ a, w @ dense)
            and torch.equal(a.T @ w.T, dense.T @ w.T)
        )

    check()
    a.values().mul_(2)
    check()
    a.values().data.add_(1)  # moves no version
    check()
    a._val.data[3] = 7
    check()
    step = torch.optim.SGD([torch.nn.Parameter(a.values())], lr=1.0)
    step.param_groups[0]["params"][0].grad = torch.ones(a.nnz, dtype=torch.float64)
    step.step()
    check()


def test_memory_and_release():
    a = scorch.sparse(matrix(60, 50, 0.3), "csc")
    a @ torch.ones(50, 4, dtype=torch.float64)
    torch.ones(4, 60, dtype=torch.float64) @ a
    memory = a.memory()
    assert memory["total"] == memory["tensor"] + sum(memory["derived"].values())
    a.release()
    assert a.memory()["derived"] == {}
    assert "_core" not in copy.deepcopy(a).__dict__ and "_relabelled" not in a.clone().__dict__


# ---- copies and files ----
@pytest.mark.parametrize("fmt", FORMATS)
def test_copies(fmt):
    a = scorch.sparse(matrix(), fmt)
    for b in (a.clone(), copy.deepcopy(a), pickle.loads(pickle.dumps(a)), a.to(torch.float64, copy=True)):
        assert b.format == a.format and torch.equal(b.to_dense(), matrix())
        assert b.values().data_ptr() != a.values().data_ptr()
    for b in (a.detach(), copy.copy(a)):
        assert type(b) is scorch.SparseTensor and b.values().data_ptr() == a.values().data_ptr()


def test_save_and_load():
    a = scorch.sparse(matrix(), "csr")
    file = io.BytesIO()
    torch.save({"a": a, "values": a._val}, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=True)
    assert torch.equal(loaded["a"].to_dense(), matrix())
    assert loaded["a"].values().data_ptr() == loaded["values"].data_ptr()


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("fmt", ["csr", "coo", "csr of rows(> 1) + csr"])
def test_files_of_the_older_format_are_looked_through_at_the_first_use(fmt, weights_only):
    def loaded(x):
        file = io.BytesIO()
        torch.save(x, file, _use_new_zipfile_serialization=False)
        file.seek(0)
        return torch.load(file, weights_only=weights_only)

    a = scorch.sparse(matrix(), fmt)
    for b in loaded([a, torch.nn.Parameter(a)]):
        assert torch.equal(b.to_dense(), matrix())
    *structure, values = a._arrays()
    broken = loaded(a._like([*[x + 10**6 for x in structure], values]))
    for use in (
        lambda: broken @ torch.ones(matrix().shape[1]),
        broken.to_dense,
        lambda: (broken * 2).T.sum(0),
    ):
        with pytest.raises(ValueError, match="expected"):
            use()


TWO = torch.tensor([2, 1])
READERS = {
    "row": lambda a: a[2],
    "column": lambda a: a[:, 3],
    "rows": lambda a: a[TWO],
    "slice": lambda a: a[1:],
    "columns": lambda a: a[:, 1:],
    "entry": lambda a: a[2, 3],
    "entries": lambda a: a[TWO, TWO],
    "part": lambda a: a.submatrix(TWO, TWO),
    "take": lambda a: torch.take(a, TWO),
    "gather": lambda a: a.gather(1, TWO.view(2, 1)),
    "write": lambda a: a.__setitem__((2, 3), 5.0),
    "joined": lambda a: torch.cat([a, a], 1),
    "rolled": lambda a: a.roll(1, 0),
    "turned": lambda a: a.flip(0),
    "diagonal": lambda a: a.diagonal(),
    "flat": lambda a: a.flatten(),
    "indices": lambda a: a.indices(),
    "largest": lambda a: a.topk(1),
    "rows of an embedding": lambda a: torch.nn.functional.embedding(TWO, a),
    "neighbours": lambda a: scorch.sample_neighbors(a, TWO, [2]),
    "SciPy": lambda a: a.to_scipy(),
    "torch": lambda a: a.to_torch(torch.sparse_csr),
    "COO of torch": lambda a: a.to_sparse(),
}


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_structure_that_torch_wrote_to_is_looked_at_again(read, format):
    """Before anything is read by it, and not only by kernels."""
    d = torch.arange(16.0).view(4, 4)
    for array, at, value in (("pos", -1, 2**30), ("crd", -1, 2**30), ("crd", 0, 3)):
        a = scorch.sparse(d, format).clone()
        level = 0 if format == "coo" and array == "pos" else 1
        for _ in range(2):  # what has not been used yet, and what has
            getattr(a, array)(level)[at], kept = value, int(getattr(a, array)(level)[at])
            with pytest.raises(ValueError, match=f"level {level} .*: {array}"):
                read(a)
            getattr(a, array)(level)[at] = kept
            read(a.clone())
            assert torch.equal(a @ torch.ones(4), d.sum(1))


def test_damaged_files_are_refused():
    a = scorch.sparse(matrix(), "csr")
    rebuild, (text, shape, arrays, *flags) = a.__reduce_ex__(2)
    broken = arrays[1].clone()
    broken[0] = 10**6
    assert torch.equal(rebuild(text, shape, arrays, False).to_dense(), matrix())  # as older files say it
    with pytest.raises(ValueError):
        rebuild(text, shape, (arrays[0], broken, arrays[2]), *flags)


def test_state_dict():
    class Model(torch.nn.Module):
        def __init__(self, a):
            super().__init__()
            self.register_buffer("a", a)

    one, two = Model(scorch.sparse(matrix(), "csr")), Model(scorch.sparse(2 * matrix(), "csr"))
    two.load_state_dict(one.state_dict())
    assert torch.equal(two.a.to_dense(), matrix())
    other = Model(scorch.sparse(matrix(seed=5), "csr"))
    with pytest.raises(RuntimeError):
        other.load_state_dict(one.state_dict())
    other.load_state_dict(one.state_dict(), assign=True)
    assert torch.equal(other.a.to_dense(), matrix())
    assert torch.equal(one.float().a.to_dense(), matrix().float())
    p = torch.nn.Parameter(scorch.sparse(matrix(), "csr"), requires_grad=False)
    assert isinstance(p, torch.nn.Parameter) and isinstance(p, scorch.SparseTensor)
    assert isinstance(copy.deepcopy(p), torch.nn.Parameter) and isinstance(
        pickle.loads(pickle.dumps(p)), torch.nn.Parameter
    )


# ---- formats ----
def test_formats():
    assert scorch.Format(["dense", "compressed"]) == scorch.Format("csr") == "csr"
    assert str(scorch.Format(["dense", "compressed"], order=[1, 0])) == "csc"
    assert str(scorch.Format(["dense", "compressed", "dense", "dense"], block=[2, 3])) == "bsr(2,3)"
    assert str(scorch.Format(["compressed(nonunique)", "singleton"])) == "coo"
    assert str(scorch.Format(["dense", "ell(4)"])) == "ell(4)" == str(scorch.Format("ell(4)"))
    assert len({scorch.Format("csr"), scorch.Format("dense(0), compressed(1)"), scorch.Format("csc")}) == 2
    assert scorch.Format("csr").levels == ("dense(0)", "compressed(1)")
    assert pickle.loads(pickle.dumps(scorch.Format("csf"))) == scorch.Format("csf")
    for bad in ("cssr", "dense(0), dense(0)", "ell()", "bsr(2)"):
        with pytest.raises(ValueError):
            scorch.Format(bad)
    with pytest.raises(ValueError):
        scorch.Format(["dense", "compressed"], order=[0, 2])


def test_tools():
    facts = scorch.info()
    assert facts["torch"] == torch.__version__ and int(facts["threads"]) >= 1
    assert scorch.stats()["programs"] >= 0


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="this build keeps no memory")
def test_memory_of_large_results_is_kept_until_released():
    dense = torch.randn(1024, 1200)
    a = scorch.sparse(dense, format="csr")
    scorch.release()
    first, second = a.to_dense(), a.to_dense()
    assert first.data_ptr() != second.data_ptr() and first.equal(dense) and second.equal(dense)
    assert not scorch.release()  # both are in use
    del first
    third = a.to_dense()
    assert second.equal(dense) and third.equal(dense)
    del second, third
    assert 2 * dense.nbytes <= scorch.release() <= 4 * dense.nbytes
    assert not scorch.release()
    assert a.to_dense().equal(dense)


@pytest.mark.parametrize(
    "shape", [(3, 4, 5), (2, 3, 4, 70), (1, 1, 1), (0, 3, 4), (3, 0, 4), (3, 4, 0), (2, 2, 2, 2, 9)]
)
@pytest.mark.parametrize("density", [0, 0.02, 0.5, 1])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_dense_tensors_of_more_dimensions(shape, density, index):
    """Arrays against those that torch finds, and those made of a list; views whose rows lie apart, too."""
    g, n = torch.Generator().manual_seed(len(shape)), len(shape)
    x = torch.randn(shape, generator=g) * (torch.rand(shape, generator=g) < density)
    rows = ", ".join(f"dense({d})" for d in range(n - 1)) + f", compressed({n - 1})"
    for y in (x, x.transpose(0, -1), x.transpose(0, 1), x[..., ::2], x[1:], x != 0, x.double(), x.bfloat16()):
        at = y.nonzero()
        listed = scorch.sparse(y, "coo", index_dtype=index)
        for level, coordinates in enumerate(at.T):
            assert torch.equal(listed.crd(level).long(), coordinates) and listed.crd(level).dtype == index
        assert torch.equal(listed.values(), y[tuple(at.T)])
        for form in ("csf", rows):
            made, wanted = scorch.sparse(y, form, index_dtype=index), listed.convert(form)
            assert torch.equal(made.to_dense(), y)
            for got, right in zip(made._arrays(), wanted._arrays(), strict=True):
                assert torch.equal(got, right)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_coordinates_that_share_a_version_with_values_are_compared(layout):
    """All components of a sparse tensor of torch have one version: what they were is compared."""
    d = torch.tensor([[0.0, 2, 3], [4, 0, 0]])
    x = d.to_sparse(layout=layout)
    columns = x.indices()[1] if layout == torch.sparse_coo else x.col_indices()
    a, v = scorch.sparse(x, format="csr"), torch.tensor([1.0, 10, 100])
    for step in range(3):
        a.values().mul_(2)
        assert torch.equal(a @ v, 2 ** (step + 1) * d @ v)
    columns[2] = 1
    assert torch.equal(a @ v, torch.tensor([8 * 320.0, 8 * 40]))
    a.values().mul_(0.5)
    columns[2] = 99
    for _ in range(2):
        with pytest.raises(ValueError, match="99 is out of range"):
            a @ v
    columns[2] = 0
    assert torch.equal(a @ v, 4 * d @ v)

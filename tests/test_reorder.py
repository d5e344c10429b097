"""Rows and columns in another order, and back."""

import pytest
import torch

import scorch

FORMATS = ["csr", "csc", "coo", "dcsr", "dcsc", "ell(7)"]


def matrix(rows=9, columns=7):
    g = torch.Generator().manual_seed(rows)
    return (
        torch.randint(1, 9, (rows, columns), generator=g)
        * (torch.rand(rows, columns, generator=g) < 0.4).double()
    )


def check(r, A):
    """P A Q^T with P and Q written out, and exactly A again."""
    d = A.to_dense()
    P, Q = torch.eye(d.shape[0], dtype=d.dtype)[r.rows], torch.eye(d.shape[1], dtype=d.dtype)[r.columns]
    assert torch.equal(r.tensor.to_dense(), P @ d @ Q.T)
    assert torch.equal(r.rows[r.inverse_rows], torch.arange(d.shape[0]))
    assert torch.equal(r.columns[r.inverse_columns], torch.arange(d.shape[1]))
    again = r.undo()
    assert again.format == A.format == r.tensor.format and again.index_dtype == A.index_dtype
    assert again.dtype == A.dtype and r.tensor.nnz == A.nnz
    for name in A._names:
        assert torch.equal(getattr(again, name), getattr(A, name)), name
    x = torch.arange(3 * d.shape[1], dtype=d.dtype).view(-1, 3)
    assert torch.equal((r.tensor @ x[r.columns])[r.inverse_rows], d @ x)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("method", ["degree", "hub"])
@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64])
def test_formats(format, method, index_dtype):
    A = scorch.sparse(matrix(), format=format, index_dtype=index_dtype)
    check(scorch.reorder(A, method), A)
    square = scorch.sparse(matrix(7, 7), format=format, index_dtype=index_dtype)
    check(square.reorder(method), square)
    check(square.reorder(method, symmetric=False), square)


@pytest.mark.parametrize("format", FORMATS)
def test_rcm(format):
    pytest.importorskip("scipy")
    A = scorch.sparse(matrix(7, 7), format=format)
    r = A.reorder("rcm")
    check(r, A)
    assert torch.equal(r.rows, r.columns)


@pytest.mark.parametrize("method", ["rcm", "degree", "hub"])
def test_orders_of_nothing(method):
    A = scorch.sparse(torch.zeros(0, 0))
    check(A.reorder(method), A)


def test_rcm_finds_the_band():
    pytest.importorskip("scipy")
    n = 40
    band = torch.eye(n) + torch.eye(n).roll(1, 0).tril() + torch.eye(n).roll(1, 0).tril().T
    mixed = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    r = scorch.sparse(band[mixed][:, mixed]).reorder("rcm")
    rows, columns = r.tensor.indices().long()
    assert int((rows - columns).abs().max()) == 1


def test_orders():
    d = torch.tensor([[1.0, 0, 0], [1, 1, 1], [1, 1, 0]])
    A = scorch.sparse(d)
    assert A.reorder("degree", symmetric=False).rows.tolist() == [1, 2, 0]
    assert A.reorder("degree", symmetric=False).columns.tolist() == [0, 1, 2]
    assert A.reorder("degree").rows.tolist() == [1, 0, 2]  # row and column together: 4, 5, 3
    assert A.reorder("hub", symmetric=False).rows.tolist() == [1, 0, 2]
    given = A.reorder((torch.tensor([2, 0, 1]), torch.tensor([1, 2, 0], dtype=torch.int32)))
    check(given, A)
    assert torch.equal(given.tensor.to_dense(), d[[2, 0, 1]][:, [1, 2, 0]])


def test_stored_zeros_and_empty_matrices():
    pos, crd = torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1])
    A = scorch.from_components("csr", (2, 3), [None, pos], [None, crd], torch.tensor([0.0, 2.0, 0.0]))
    check(A.reorder("degree"), A)
    for shape in ((0, 3), (3, 0), (4, 4)):
        empty = scorch.sparse(torch.zeros(shape))
        check(empty.reorder("degree"), empty)


def test_values_that_changed_come_back():
    A = scorch.sparse(matrix())
    r = A.reorder("degree")
    r.tensor.values().mul_(3)
    assert torch.equal(r.undo().to_dense(), 3 * A.to_dense())
    assert torch.equal(r.undo(r.tensor * 2).to_dense(), 6 * A.to_dense())


def test_gradient():
    A = scorch.sparse(matrix()).requires_grad_()
    r = A.reorder("degree")
    weight = torch.arange(r.tensor.nnz, dtype=torch.float64)
    (r.tensor.values() * weight).sum().backward()
    expected = r.undo(scorch.sparse(r.tensor.detach())._with_values(weight))
    assert torch.equal(A.grad.to_dense(), expected.to_dense())


def test_refusals():
    A = scorch.sparse(matrix())
    with pytest.raises(TypeError, match="expected a SparseTensor"):
        scorch.reorder(matrix())
    with pytest.raises(ValueError, match="expected one of rcm, degree, hub"):
        A.reorder("best")
    with pytest.raises(ValueError, match="square"):
        A.reorder("rcm")
    with pytest.raises(ValueError, match="square"):
        A.reorder("degree", symmetric=True)
    with pytest.raises(ValueError, match="rows: expected a permutation of 0"):
        A.reorder((torch.zeros(9, dtype=torch.int64), torch.arange(7)))
    with pytest.raises(ValueError, match="blocks"):
        scorch.sparse(torch.ones(4, 4), format="bsr(2,2)").reorder()
    with pytest.raises(ValueError, match="matrix"):
        scorch.sparse(torch.ones(2, 2, 2)).reorder()
    with pytest.raises(ValueError, match="undo: expected shape"):
        A.reorder().undo(scorch.sparse(torch.ones(2, 2)))

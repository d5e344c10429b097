"""``coalesce()``: indices in row-major order, as programs for torch's COO tensors expect them."""

import pytest
import torch

import scorch

FORMATS = (
    "csr", "csc", "coo", "dcsr", "dcsc", "bsr(2,4)", "ell(8)", "sell(2,4)", "dia(2)", "bitmask", "dense",
    "csr of band(-1,1) + csr",
)  # fmt: skip


def dense_of(dtype=torch.float32):
    g = torch.Generator().manual_seed(3)
    return ((torch.rand(4, 8, generator=g) < 0.4) * torch.randint(1, 9, (4, 8), generator=g)).to(dtype)


def ascend(a):
    """Whether the indices of a coalesced tensor do, and are those of its values."""
    key = torch.zeros(a.indices().shape[1], dtype=torch.int64)
    for row, n in zip(a.indices(), a.shape, strict=True):
        key = key * n + row
    return bool((key[1:] > key[:-1]).all()) and torch.equal(a.to_dense().view(-1)[key], a.values())


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("turned", [False, True])
def test_indices_ascend(format, turned):
    dense = dense_of()
    a = scorch.sparse(dense, format=format)
    a, dense = (a.t(), dense.t()) if turned else (a, dense)
    c = a.coalesce()
    assert c.is_coalesced() and ascend(c) and torch.equal(c.to_dense(), dense)
    assert a.is_coalesced() == (c is a)
    assert not a.is_coalesced() or ascend(a)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2), (0, 2, 1)])
@pytest.mark.parametrize("format", ["csf", "coo", "csr"])
def test_tensors(format, order):
    dense = torch.stack([dense_of(), dense_of() * 2, torch.zeros(4, 8)])
    a = scorch.sparse(dense, format=format).permute(order)
    c = a.coalesce()
    assert c.is_coalesced() and ascend(c) and torch.equal(c.to_dense(), dense.permute(order))


def test_row_pointers():
    """Sums over incoming edges, from the degrees of sorted indices."""
    dense = torch.tensor([[0, 1.0, 2], [3, 0, 0]])
    a = scorch.sparse(dense).t().coalesce()
    degree = torch.bincount(a.indices()[0].long(), minlength=3)
    assert [s.sum().item() for s in a.values().split(degree.tolist())] == dense.sum(0).tolist()


def test_gradients():
    dense = dense_of()
    a = scorch.sparse(dense).requires_grad_()
    c = a.t().coalesce()
    (c.values() * torch.arange(c.nnz)).sum().backward()
    weight = torch.zeros(8, 4)
    weight[tuple(c.indices().long())] = torch.arange(c.nnz).float()
    assert torch.equal(a.grad.to_dense(), weight.t())


def test_compiled():
    a = scorch.sparse(dense_of())
    f = torch.compile(lambda a: a.t().coalesce().values() * 2, backend="aot_eager")
    assert torch.equal(f(a), a.t().coalesce().values() * 2)


def test_positions_that_nobody_has_room_for():
    n = 2**40
    wide = scorch.coo(torch.tensor([[0, 1], [7, n - 1]]), torch.ones(2), (2, n), format="csr")
    listed = scorch.coo(torch.tensor([[5, n - 1], [7, 3]]), torch.ones(2), (n, 2**22), format="dcsc")
    for a in (wide.T, listed):
        c = a.coalesce()
        assert (
            c.format == "dcsr"
            and c.is_coalesced()
            and c.indices()[0].tolist() == sorted(a.indices()[0].tolist())
        )

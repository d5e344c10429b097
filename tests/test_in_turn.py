"""Lists of tensors joined: vectors, coo, stacks along every dimension; writes that are merged; degrees."""

import pytest
import torch
import torch.nn.functional as F

import scorch

FORMATS = {1: ("coo",), 2: ("csr", "csc", "coo", "dcsr", "bsr(2,2)"), 3: ("csf", "coo", "csr")}


def dense_of(shape, seed=0, dtype=torch.float32):
    g = torch.Generator().manual_seed(seed)
    return ((torch.rand(shape, generator=g) < 0.4) * torch.randint(1, 9, shape, generator=g)).to(dtype)


def denses(ndim):
    shape = (4, 6, 3)[:ndim]
    return [dense_of(shape, 1), torch.zeros(shape), dense_of(shape, 2)]


CASES = [(ndim, format) for ndim, formats in FORMATS.items() for format in formats]


@pytest.mark.parametrize(("ndim", "format"), CASES)
@pytest.mark.parametrize("join", [torch.stack, torch.cat])
def test_along_each_dimension(ndim, format, join):
    dense = denses(ndim)
    given = [scorch.sparse(x, format=format).requires_grad_() for x in dense]
    for dim in range(-ndim, ndim + (join is torch.stack)):
        made, want = join(given, dim), join(dense, dim)
        assert torch.equal(made.to_dense(), want) and made.shape == want.shape
        assert made.nnz >= want.count_nonzero()
        weight = torch.arange(want.numel()).view(want.shape).float()
        grads = torch.autograd.grad((made * weight).sum(), given)
        leaves = [x.clone().requires_grad_() for x in dense]
        wanted = torch.autograd.grad((join(leaves, dim) * weight).sum(), leaves)
        for a, grad, want_grad in zip(given, grads, wanted, strict=True):
            there = scorch.map(a.detach(), torch.ones_like).to_dense()
            assert torch.equal(grad.to_dense(), want_grad * there)


@pytest.mark.parametrize("format", ["coo", "csr"])
def test_types_promote(format):
    dense = denses(2)
    a, b, c = (scorch.sparse(x, format=format) for x in dense)
    mixed = [a, b.to(torch.float64), c.to(index_dtype=torch.int64)]
    for join in (torch.cat, torch.stack):
        made = join(mixed)
        assert made.dtype == torch.float64 and made.index_dtype == torch.int64
        assert torch.equal(made.to_dense().float(), join(dense))
    before = a.clone()
    torch.cat([a, a]).values().zero_()
    torch.stack([a[0], a[1]]).values().zero_()
    assert torch.equal(a.values(), before.values())


def test_stack_of_rows():
    dense = dense_of((7, 20))
    rows = [scorch.sparse(x) for x in dense]
    made = torch.stack(rows)
    assert made.format == "csr" and torch.equal(made.to_dense(), dense)
    assert torch.equal(torch.utils.data.default_collate(rows).to_dense(), dense)
    f = torch.compile(lambda *rows: torch.stack(rows) * 2, backend="aot_eager")
    assert torch.equal(f(*rows).to_dense(), dense * 2)


# ---- writes that give a new tensor ----
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)"])
def test_merged_writes(format):
    dense, g = dense_of((6, 8)), torch.Generator().manual_seed(5)
    a = scorch.sparse(dense, format=format)
    at = torch.randint(6, (9,), generator=g), torch.randint(8, (9,), generator=g)
    v = torch.arange(1.0, 10)
    for way in (
        lambda x: torch.index_put(x, at, v, accumulate=True),
        lambda x: torch.index_put(x, (at[0][:1], at[1][:1]), v[:1]),
        lambda x: torch.index_add(x, 0, torch.tensor([5, 0, 5]), dense[:3]),
        lambda x: torch.index_copy(x, 1, torch.tensor([7, 0]), dense[:, :2]),
        lambda x: torch.scatter(x, 1, torch.tensor([[3, 3, 1]] * 6), 2.0),
        lambda x: torch.index_fill(x, 0, torch.tensor([1, 3]), 0),
    ):
        assert torch.equal(way(a).to_dense(), way(dense))


def test_index_add_into_fewer_rows():
    dense = dense_of((5, 3))
    a, at = scorch.sparse(dense).requires_grad_(), torch.tensor([0, 1, 0, 0, 1])
    x = torch.ones(2, 3, requires_grad=True)
    made, want = torch.index_add(x, 0, at, a, alpha=2), torch.index_add(x, 0, at, dense, alpha=2)
    assert torch.equal(made, want)
    made.square().sum().backward()
    assert torch.equal(x.grad, 2 * made.detach())
    assert torch.equal(a.grad.to_dense(), (4 * made.detach())[at] * (dense != 0))
    assert torch.equal(torch.zeros(2, 3).index_add_(0, at, a.detach()), (want.detach() - 1) / 2)
    with pytest.raises(IndexError, match="index 2 is out of range"):
        torch.zeros(2, 3).index_add(0, at + 1, a)
    for dtype, alpha in ((torch.bool, 2), (torch.int32, 2.0), (torch.int32, 1.5), (torch.int64, True)):
        zeros, source = torch.zeros(2, 3, dtype=dtype), dense.to(dtype)
        made = zeros.index_add(0, at, scorch.sparse(source), alpha=alpha)
        assert torch.equal(made, zeros.index_add(0, at, source, alpha=alpha))


# ---- functions ----
@pytest.mark.parametrize("dim", [0, 1])
def test_glu(dim):
    dense = dense_of((4, 6))
    a = scorch.sparse(dense).requires_grad_()
    x = dense.clone().requires_grad_()
    made, want = F.glu(a, dim), F.glu(x, dim)
    torch.testing.assert_close(made.to_dense(), want)
    weight = torch.rand(want.shape)
    (made * weight).sum().backward()
    (want * weight).sum().backward()
    torch.testing.assert_close(a.grad.to_dense(), x.grad * (dense != 0))


def test_glu_of_a_large_matrix():
    n = 10**6
    a = scorch.coo([[0, 5], [3, n - 1]], [2.0, 4.0], (n, n))
    assert torch.equal(F.glu(a, 1).values(), torch.tensor([1.0]))


def test_isfinite():
    dense = torch.tensor([[0, torch.inf, 1], [torch.nan, -torch.inf, 0]])
    for format in ("csr", "coo", "bsr(2,3)", "ell(2)"):
        assert torch.equal(torch.isfinite(scorch.sparse(dense, format=format)), dense.isfinite())


def test_zero_is_asked_with_each_number():
    a = scorch.sparse(dense_of((4, 6)))
    assert F.threshold(a, 2.0, 0.0).shape == a.shape
    for _ in range(2):
        with pytest.raises(NotImplementedError, match="threshold of a missing entry is not zero"):
            F.threshold(a, 2.0, 1.0)
        with pytest.raises(NotImplementedError, match="clamp of a missing entry is not zero"):
            a.clamp(min=1)
    assert torch.equal(a.clamp(max=2).to_dense(), a.to_dense().clamp(max=2))


# ---- reductions of batches ----
@pytest.mark.parametrize("keepdim", [False, True])
def test_degrees_of_a_batch(keepdim):
    dense = torch.stack(denses(2))
    a = torch.stack([scorch.sparse(x) for x in dense]).requires_grad_()
    x = dense.clone().requires_grad_()
    for f in (torch.sum, torch.mean, torch.amax, torch.var, torch.logsumexp, torch.count_nonzero):
        named = {} if f is torch.count_nonzero else {"keepdim": keepdim}
        made, want = f(a, -1, **named), f(x, -1, **named)
        assert not scorch.is_sparse(made)
        torch.testing.assert_close(made, want)
    assert scorch.is_sparse(a.sum(0)) and torch.equal(a.sum(0).to_dense(), x.sum(0))
    made, want = ((y * (1 / y.sum(-1, True).clamp(min=1))).sum() for y in (a, x))
    torch.testing.assert_close(made, want)
    made.backward()
    want.backward()
    torch.testing.assert_close(a.grad.to_dense(), x.grad * (dense != 0))


# ---- orders of all entries ----
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)"])
def test_of_all_entries(format, dtype):
    """Where the extreme is stored, or zero, or there is a NaN; the first of equal ones."""
    given = [dense_of((4, 6), 7, dtype), -dense_of((4, 6), 8, dtype), torch.ones(4, 6).to(dtype)]
    given += [given[0] + given[1], torch.zeros(4, 6).to(dtype)]
    if dtype.is_floating_point:
        given.append(
            given[3].index_put(
                (torch.tensor([2, 3]), torch.tensor([1, 0])), torch.tensor(torch.nan).to(dtype)
            )
        )
    for dense in given:
        a = scorch.sparse(dense, format=format)
        for name in ("argmax", "argmin", "median"):
            got, want = getattr(a, name)(), getattr(dense, name)()
            torch.testing.assert_close(got, want, equal_nan=True)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)", "ell(6)"])
def test_under_a_mask_of_the_same_entries(format):
    dense = dense_of((4, 6)) - 3
    a = scorch.sparse(dense * (dense != -3), format=format).requires_grad_()
    dense = a.detach().to_dense()
    for mask in (lambda x: x > 0, lambda x: x < 1, lambda x: x.T.T != 2):
        assert torch.equal(a[mask(a.detach())], dense[mask(dense)])
        assert torch.equal(a.T[mask(a.detach().T)], dense.T[mask(dense.T)])
    a[a > 0].square().sum().backward()
    assert torch.equal(a.grad.to_dense(), 2 * dense * (dense > 0))


# ---- matrices of other formats ----
@pytest.mark.parametrize(
    "format", ["bsr(2,2)", "bsc(2,3)", "ell(6)", "sell(2,4)", "dia(2)", "bitmask", "dcsc"]
)
def test_by_way_of_csr(format):
    dense, order = dense_of((4, 6)), torch.tensor([3, 0, 0, 2])
    a = scorch.sparse(dense, format=format)
    for f in (
        lambda x: x[order], lambda x: x[1:3], lambda x: x[:, 1:4], lambda x: x[2], lambda x: x[1, 2],
        lambda x: torch.cat([x, x]), lambda x: torch.cat([x, x[:, :1]], 1), lambda x: torch.stack([x, x]),
        lambda x: torch.block_diag(x, x[:1]), lambda x: x.flip(0),
        lambda x: x.roll(1, 1), lambda x: x.tril(-1),
    ):  # fmt: skip
        b = a.detach().requires_grad_()
        x = dense.clone().requires_grad_()
        made, want = f(b), f(x)
        assert torch.equal(made.to_dense() if scorch.is_sparse(made) else made, want)
        (made.to_dense() if scorch.is_sparse(made) else made).square().sum().backward()
        want.square().sum().backward()
        assert torch.equal(b.grad.to_dense(), x.grad)

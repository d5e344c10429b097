"""Planar levels, whose coordinates lie one after the other for a whole fibre, and blocks derived in place."""

import copy
import io
import math
import pickle

import native
import pytest
import torch

import scorch

T = torch.tensor
TYPES = (
    torch.bool, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64,
)  # fmt: skip
FORMATS = ("csr", "csc", "coo", "dcsr", "bsr(2,2)", "bsr(4,1)", "bsc(4,4)", "ell(32)", "dia(4)", "bitmask")
FORMATS += ("sell(4,8)",)
CASES = ((12, 16, 3, 4), (8, 8, 2, 2), (6, 6, 6, 1), (24, 24, 8, 8), (4, 4, 1, 1), (4, 6, 4, 6))


def planar(rows: int, columns: int) -> str:
    return f"dense(0/{rows}), compressed(1/{columns}), planar(0%{rows}), dense(1%{columns})"


def some(rows: int, columns: int, full: float = 0.3, seed: int = 0) -> torch.Tensor:
    """Small integers in so many of the places."""
    g = torch.Generator().manual_seed(seed)
    values = torch.randint(1, 4, (rows, columns), generator=g).float()
    return values * (torch.rand(rows, columns, generator=g) < full)


def blocks(rows: int, columns: int, high: int, wide: int, full: float = 0.3, seed: int = 0) -> torch.Tensor:
    """Small integers in all places of some blocks; rows of blocks without any are among them."""
    g = torch.Generator().manual_seed(seed)
    kept = torch.rand(rows // high, columns // wide, generator=g) < full
    kept[rows // high // 2] = False
    kept[0, 0] = True
    values = torch.randint(1, 4, (rows, columns), generator=g).float()
    return values * torch.kron(kept.float(), torch.ones(high, wide))


# ---- arrays ----
def test_arrays_of_a_small_matrix():
    d = T([[1.0, 2, 0, 0, 3, 4], [5, 6, 0, 0, 0, 8]])
    a = scorch.sparse(d, format=planar(2, 2))
    assert a.pos(1).tolist() == [0, 2] and a.crd(1).tolist() == [0, 2]
    assert a.values().tolist() == [1, 2, 3, 4, 5, 6, 0, 8]  # rows one after the other, as in csr
    assert str(a.format) == planar(2, 2) and a.format.levels[2] == "planar(0%2)"
    assert torch.equal(a.to_dense(), d)


@pytest.mark.parametrize(
    "format",
    (
        "dense(0/2), planar(0%2), compressed(1/2), dense(1%2)",
        "dense(0/2), compressed(1/2, nonunique), planar(0%2), dense(1%2)",
        "dense(0/2), compressed(1/2), dense(1%2), planar(0%2)",
        "compressed(1), planar(0)",
        "dense(0/2), compressed(1), planar(0%2)",
        "dense(1/2), compressed(0/2), planar(0%2), compressed(1%2)",
    ),
)
def test_where_planar_levels_may_stand(format):
    with pytest.raises(ValueError, match=r"expected planar\(0%b\) right below a compressed level"):
        scorch.sparse(torch.ones(4, 4), format=format)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_conversions(dtype, index):
    d = some(12, 16).to(dtype)
    for format in FORMATS:
        a = scorch.sparse(d, format=format, index_dtype=index)
        b = a.convert(planar(3, 4))
        assert b.format == planar(3, 4) and b.dtype == dtype and b.index_dtype == index
        assert torch.equal(b.to_dense(), d) and torch.equal(b.convert(format).to_dense(), d)
        assert torch.equal(b.convert("csr").to_dense(), d)


def test_threads_convert_parts_of_long_fibres():
    d = some(96, 3000, 0.5)
    for high, wide in ((2, 3), (96, 1), (8, 8), (1, 4)):
        a = scorch.sparse(d, format="csr").convert(planar(high, wide))
        assert torch.equal(a.to_dense(), d) and torch.equal(a.convert("csc").to_dense(), d)


def test_what_users_do_with_a_tensor():
    d = some(12, 16)
    a = scorch.sparse(d, format=planar(3, 4))
    for b in (copy.deepcopy(a), pickle.loads(pickle.dumps(a)), a.clone(), a.to(torch.float64)):
        assert b.format == a.format and torch.equal(b.to_dense().float(), d)
    file = io.BytesIO()
    torch.save(a, file)
    assert torch.equal(torch.load(io.BytesIO(file.getvalue())).to_dense(), d)
    assert torch.equal(a.T.to_dense(), d.T) and torch.equal(a[2:9].to_dense(), d[2:9])
    assert torch.equal((a * 2 + a).to_dense(), 3 * d) and torch.equal(a.sum(0), d.sum(0))
    assert torch.equal(a[5].to_dense(), d[5]) and a[4, 7] == d[4, 7]
    assert torch.equal((a @ a.T).to_dense(), d @ d.T) and torch.equal(torch.relu(-a).to_dense(), 0 * d)


# ---- expressions ----
@pytest.mark.parametrize(("rows", "columns", "high", "wide"), CASES)
@pytest.mark.parametrize(
    "text", ("ij,jk->ik", "ij,j->i", "ij,ik->jk", "ij->j", "ij->i", "ij,ij->ij", "ij,ik->jik")
)
def test_expressions(rows, columns, high, wide, text):
    d = some(rows, columns)
    a = scorch.sparse(d, format=planar(high, wide))
    extent = {"i": rows, "j": columns, "k": 5}
    left, _, _ = text.partition("->")
    others = [
        torch.arange(math.prod(extent[x] for x in term))
        .remainder(7)
        .float()
        .reshape([extent[x] for x in term])
        for term in left.split(",")[1:]
    ]
    expected = torch.einsum(text, d, *others)
    for y in (
        scorch.einsum(text, a, *others),
        torch.compile(backend="eager")(scorch.einsum)(text, a, *others),
    ):
        assert torch.equal(y.to_dense() if isinstance(y, scorch.SparseTensor) else y, expected)


@pytest.mark.parametrize("other", ("csr", "csc", "bsr(3,4)", planar(3, 4), planar(6, 2)))
def test_with_a_sparse_operand(other):
    d, e = some(12, 16), some(12, 16, 0.5, seed=1)
    a, b = scorch.sparse(d, format=planar(3, 4)), scorch.sparse(e, format=other)
    assert torch.equal((a + b).to_dense(), d + e) and torch.equal((a * b).to_dense(), d * e)
    assert torch.equal((a @ b.T).to_dense(), d @ e.T)


def test_gradients():
    d, x = some(12, 16), torch.arange(80.0).reshape(16, 5).remainder(7).requires_grad_()
    a = scorch.sparse(d, format=planar(3, 4))
    a.requires_grad_()
    (torch.relu(a @ x) * 2).sum().backward()
    e = a.to_dense().detach().requires_grad_()
    z = x.detach().clone().requires_grad_()
    (torch.relu(e @ z) * 2).sum().backward()
    assert torch.equal(x.grad, z.grad)
    assert torch.equal(a.grad.to_dense(), e.grad * (a.grad.to_dense() != 0)) and a.grad.format == a.format


# ---- full blocks of matrices that are multiplied often ----
SIDES = {  # what blocks have, and what is found for products with vectors, and with matrices
    (4, 4): ((4, 4), (4, 4)),
    (8, 1): ((8, 1), (8, 1)),
    (16, 16): ((16, 16), (8, 8)),
    (64, 32): ((16, 16), (8, 8)),
    (2, 8): (None, (2, 8)),
    (1, 8): (None, None),
    (3, 5): ((3, 5), (3, 5)),
    (12, 24): ((12, 12), (6, 6)),
    (11, 22): ((11, 11), (11, 11)),
}


def derived(a: scorch.SparseTensor) -> list[str]:
    return [f for f in a.memory()["derived"] if "planar" in f]


# Where 16 registers hold sums, what is read has none left: csr is about as fast.
FEW_REGISTERS = (torch.float32, (8, 1), 40, 32)


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_full_blocks_are_found(sides, dtype):
    high, wide = sides
    d = blocks(high * 24, wide * (96 // wide + 24), high, wide).to(dtype)
    for columns, found in zip((0, 40), SIDES[sides], strict=True):
        a = scorch.sparse(d, format="csr").optimize(calls=1_000_000)
        x = torch.arange(d.shape[1] * max(columns, 1)).remainder(5).to(dtype)
        x = x.reshape(d.shape[1], columns) if columns else x
        assert torch.equal(a @ x, d @ x)
        if (dtype, sides, columns, native.widths()[-1]) == FEW_REGISTERS:
            found = None
        assert derived(a) == ([planar(*found)] if found else [])


def test_blocks_with_a_gap_are_none():
    d = blocks(96, 96, 4, 4)
    d[d.nonzero()[37].tolist()[0], d.nonzero()[37].tolist()[1]] = 0
    a = scorch.sparse(d, format="csr").optimize(calls=1_000_000)
    x = torch.arange(96 * 40.0).reshape(96, 40).remainder(5)
    assert torch.equal(a @ x, d @ x) and not derived(a)


def test_blocks_read_the_values_where_they_are():
    d = blocks(256, 256, 8, 8)
    a = scorch.sparse(d, format="csr").optimize(calls=1_000_000)
    x = torch.arange(256 * 40.0).reshape(256, 40).remainder(5)
    assert torch.equal(a @ x, d @ x)
    n = int(a.values().numel()) // 64
    assert a.memory()["derived"] == {planar(8, 8): (256 // 8 + 1 + n) * 4}  # no values and no permutation
    a.values().numpy()[:] *= 2  # unseen by torch
    assert torch.equal(a @ x, 2 * d @ x)
    assert torch.equal(torch.relu(-a) @ x, torch.zeros(256, 40))
    a.values().copy_(a.values() + 1)
    assert torch.equal(a @ x, (2 * d + (d != 0)) @ x)
    for _ in range(20):  # new values in each step, as in training
        b = scorch.map(a, lambda v: v + 1)
        assert torch.equal(b @ x, (2 * d + 2 * (d != 0)) @ x)


@pytest.mark.parametrize("columns", (0, 5, 40))
def test_rows_of_blocks_that_are_fetched_ahead(columns):
    d = blocks(4096, 2048, 8, 16, 0.2)
    a = scorch.sparse(d, format="csr").optimize(calls=1_000_000)
    assert a.values().nbytes > 4 << 20
    x = torch.arange(2048 * max(columns, 1) * 1.0).remainder(5)
    x = x.reshape(2048, columns) if columns else x
    assert torch.equal(a @ x, d @ x) and derived(a)
    rows = x.reshape(2048, -1).T.contiguous()
    assert torch.equal(torch.nn.functional.linear(rows, a), rows @ d.T)


def test_what_is_missing_is_not_multiplied():
    d = blocks(96, 96, 4, 4)
    a, x = scorch.sparse(d, format="csr").optimize(calls=1_000_000), torch.ones(96, 40)
    free = (d == 0).nonzero()[0].tolist()
    x[free[1]] = math.inf
    assert torch.equal(a @ x, scorch.sparse(d, format="csr") @ x) and (a @ x)[free[0]].isfinite().all()
    assert derived(a)


def test_structures_that_change():
    a = scorch.sparse(blocks(96, 96, 4, 4), format="csr").optimize(calls=1_000_000)
    x = torch.arange(96 * 40.0).reshape(96, 40).remainder(5)
    for d in (blocks(96, 96, 4, 4, seed=1), some(96, 96), blocks(96, 96, 3, 3), blocks(96, 96, 4, 4)):
        a.data = scorch.sparse(d, format="csr")
        assert torch.equal(a @ x, d @ x) and torch.equal(a.T @ x, d.T @ x)


def test_graphs_take_blocks_as_well():
    d = blocks(1024, 1024, 8, 8)
    a, x = scorch.sparse(d, format="csr"), torch.arange(1024 * 40.0).reshape(1024, 40).remainder(5)
    product = torch.compile(lambda a, x: torch.relu(a @ x), backend="aot_eager", fullgraph=True)
    many = torch.ones(1024, 8192)
    for _ in range(2 + int(2**32 / (8192 * a.nnz))):
        assert torch.equal(product(a, many), torch.relu(d @ many))
    assert torch.equal(product(a, x), torch.relu(d @ x))
    a.values().numpy()[:] *= 2  # unseen by torch
    assert torch.equal(product(a, x), torch.relu(2 * d @ x))


def test_threads_may_ask_at_once():
    from concurrent.futures import ThreadPoolExecutor

    d = blocks(256, 256, 8, 8)
    x = torch.arange(256 * 40.0).reshape(256, 40).remainder(5)
    for _ in range(5):
        a = scorch.sparse(d, format="csr").optimize(calls=1_000_000)
        with ThreadPoolExecutor(4) as pool:
            assert all(torch.equal(y, d @ x) for y in pool.map(lambda _, a=a: a @ x, range(16)))

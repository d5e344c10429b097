"""Two sparse tensors merged: fibres of every length, shared coordinates, one lane and several."""

import operator

import pytest
import torch

import scorch

ROWS, COLUMNS = 700, 900


def _random(seed, dtype, index, format="csr"):
    """Rows of 0 to 120 entries, most of them short; every ninth row is that of seed 0 in part."""
    generator = torch.Generator().manual_seed(seed)
    lengths = (torch.rand(ROWS, generator=generator) ** 4 * 120).long()
    lengths[::9] = 40
    rows = torch.repeat_interleave(torch.arange(ROWS), lengths)
    columns = torch.randint(COLUMNS, (len(rows),), generator=generator)
    shared = rows % 9 == 0
    columns[shared] = columns[shared] % 64
    values = torch.randint(1, 9, (len(rows),), generator=generator).to(dtype)
    dense = torch.zeros(ROWS, COLUMNS, dtype=dtype)
    dense[rows, columns] = values
    return dense, scorch.sparse(dense, format=format, index_dtype=index)


@pytest.mark.parametrize("index", [torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize(
    "dtypes", [(torch.float32,) * 2, (torch.float64, torch.float32), (torch.int32,) * 2], ids=str
)
@pytest.mark.parametrize(
    "f", [operator.add, operator.mul, torch.maximum, operator.gt], ids=lambda f: f.__name__
)
def test_rows_of_every_length(f, dtypes, index):
    (a, A), (b, B) = (_random(seed, dtype, index) for seed, dtype in enumerate(dtypes))
    for x, y, X, Y in ((a, b, A, B), (a, a * 0, A, scorch.sparse(a * 0, format="csr", index_dtype=index))):
        made = f(X, Y)
        assert torch.equal(made.to_dense(), f(x, y))
        stored = (x != 0) & (y != 0) if f is operator.mul else (x != 0) | (y != 0)
        assert made.nnz == stored.sum()


@pytest.mark.parametrize("format", ["coo", "dcsr", "csc"])
@pytest.mark.parametrize("f", [operator.sub, operator.mul], ids=lambda f: f.__name__)
def test_other_formats(f, format):
    (a, A), (b, B) = (_random(seed, torch.float32, torch.int64, format) for seed in range(2))
    made = f(A, B)
    assert made.format == format
    assert torch.equal(made.to_dense(), f(a, b))


MASKED = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": torch.logical_xor,
    "ne": operator.ne,
    "mul": operator.mul,
    "add": operator.add,
    "maximum": torch.maximum,
    "hypot": lambda a, b: torch.hypot(a, b.double()),
    "fill": lambda a, b: a.masked_fill(b > 0, 3),
    "where": lambda a, b: torch.where(b > 0, a, 0),
    "other": lambda a, b: torch.where(b > 0, 0, a),
}


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("format", ["csr", "coo", "bsr(10,10)"])
def test_masks_and_narrow_types(name, format, monkeypatch):
    """By kernels, which lack these types or functions, as the products of floats; in blocks too."""
    monkeypatch.setattr(scorch.functions.pointwise, "broadcast", None)  # would be by coordinates
    f = MASKED[name]
    for types in (
        (torch.bool,) * 2,
        (torch.float32, torch.bool),
        (torch.bool, torch.int32),
        (torch.uint8,) * 2,
    ):
        (a, A), (b, B) = (_random(seed, dtype, torch.int32, format) for seed, dtype in enumerate(types))
        if any(dtype.is_floating_point for dtype in types) and name in ("and", "or"):
            continue
        made, wanted = f(A, B), f(a, b)
        assert made.format == format and made.dtype == wanted.dtype
        assert torch.equal(made.to_dense(), wanted)
        if format != "bsr(10,10)" and name in ("mul", "ne", "fill"):
            stored = (a != 0) & (b != 0) if name == "mul" else (a != 0) | (b != 0)
            assert made.nnz == stored.sum()


def test_narrow_types_are_repeated():
    (a, A), (b, B) = (_random(seed, torch.uint8, torch.int32) for seed in range(2))
    made = torch.add(A, torch.stack([B, A]), alpha=2)
    assert torch.equal(made.to_dense(), torch.add(a, torch.stack([b, a]), alpha=2))
    assert torch.equal((A | torch.stack([B, A])).to_dense(), a | torch.stack([b, a]))


@pytest.mark.parametrize("form", ("dense(0), dense(1)", "dense(1), dense(0)"))
def test_narrow_types_beside_all_places(form):
    """Where all is stored, zeros are entries, whose places no kernel tells."""
    (a, A), (b, B) = (_random(seed, torch.int8, torch.int32) for seed in range(2))
    D = B.convert(form)
    assert torch.equal((A - D).to_dense(), a - b) and torch.equal((A * D).to_dense(), a * b)
    assert torch.equal(torch.maximum(A, D).to_dense(), torch.maximum(a, b))


def test_differences_of_masks_are_refused():
    (_, A), (_, B) = (_random(seed, torch.bool, torch.int32) for seed in range(2))
    with pytest.raises(RuntimeError, match="bool"):
        A - B


@pytest.mark.parametrize("name", ["mul", "fill", "where"])
def test_gradients_beside_a_mask(name):
    (_, A), (b, B) = (
        _random(seed, dtype, torch.int32) for seed, dtype in enumerate((torch.float64, torch.bool))
    )
    A.requires_grad_()
    MASKED[name](A, B).sum().backward()
    kept = ~b if name == "fill" else b
    assert torch.equal(A.grad.to_dense(), ((A.detach().to_dense() != 0) & kept).double())


def test_sum_over_shared_coordinates():
    (a, A), (b, B) = (_random(seed, torch.float64, torch.int32) for seed in range(2))
    assert torch.equal(scorch.einsum("ij,ij->i", A, B), (a * b).sum(1))


@pytest.mark.parametrize("f", [operator.add, operator.mul], ids=lambda f: f.__name__)
def test_results_own_no_more_than_they_store(f):
    made = f(_random(0, torch.float32, torch.int32)[1], _random(1, torch.float32, torch.int32)[1])
    assert made.values().untyped_storage().nbytes() == 4 * made.nnz


@pytest.mark.parametrize("sign, implicit, n", [("*", "zero", 30), ("+", "skip", 31)], ids=["product", "sum"])
def test_as_many_operands_as_a_program_takes(sign, implicit, n):
    """One is walked and the others are looked up: loops inside of each other, far to the right in C text."""
    torch.manual_seed(0)
    dense = [torch.randint(1, 3, (9, 12)) * (torch.rand(9, 12) < 0.97).float() for _ in range(n)]
    operands = {f"A{k}": scorch.sparse(x) for k, x in enumerate(dense)}
    text = "C[i,j] = " + f" {sign} ".join(f"{name}[i,j]" for name in operands)
    made = scorch.evaluate(text, **operands, implicit=implicit)
    stacked = torch.stack(dense)
    want = stacked.prod(0) if sign == "*" else stacked.sum(0) * stacked.all(0)
    assert want.count_nonzero() > 20 and torch.equal(made.to_dense(), want)
    assert made.nnz == want.count_nonzero()
    lines = scorch.compile(text, **operands, implicit=implicit).source.splitlines()
    assert any(line.startswith(104 * " ") for line in lines)


def _uneven(seed, rows, columns, index, dtype):
    """Some rows are empty, in front of long ones too, most are short and some nearly full."""
    g = torch.Generator().manual_seed(seed)
    share = torch.tensor([0, 0, 0.02, 0.05, 0.4, 0.9])[torch.randint(6, (rows, 1), generator=g)]
    x = torch.randint(-4, 5, (rows, columns), generator=g) * (torch.rand(rows, columns, generator=g) < share)
    return x.to(dtype), scorch.sparse(x.to(dtype), "csr", index_dtype=index)


@pytest.mark.parametrize("index", [torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int64], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_rows_that_meet_many(seed, dtype, index):
    """Rows that stay while others pass: noted, searched or merged, as their lengths come."""
    (a, A), (b, B), (m, M) = (
        _uneven(10 * seed + k, *shape, index, dtype)
        for k, shape in enumerate(((90, 400), (120, 400), (90, 120)))
    )
    v, V = _uneven(seed, 1, 400, index, dtype)
    V = V[0]
    inside = (m != 0).to(dtype)
    found = scorch.evaluate("D[i,j] = stored(M[i,j]) * A[i,k] * B[j,k]", M=M, A=A, B=B)
    assert torch.equal(found.to_dense(), inside * (a @ b.T))
    found = scorch.evaluate("D[i,j] = M[i,j] * A[i,k] * B[j,k]", M=M, A=A, B=B, schedule="order(i, j, k)")
    assert torch.equal(found.to_dense(), m * (a @ b.T))
    assert scorch.einsum("ij,ik,jk->", M, A, B) == (m * (a @ b.T)).sum()
    assert torch.equal(scorch.einsum("ik,k->i", A, V), a @ v[0])
    found = scorch.evaluate("y[i] max= A[i,k] * V[k]", A=A, V=V, implicit="zero")
    assert torch.equal(found, (a * v).amax(1))
    text, want = "D[b,i,j] = stored(M[b,i,j]) * A[b,i,k] * B[j,k]", (inside * (a @ b.T)).view(3, 30, -1)
    for form in ("csf", "csr"):  # rows of one unit, the empty ones among them
        M3, A3 = (scorch.sparse(x.view(3, 30, -1), form, index_dtype=index) for x in (m, a))
        assert torch.equal(scorch.evaluate(text, M=M3, A=A3, B=B).to_dense(), want)


def test_what_a_noted_row_lacks_is_not_multiplied():
    """Infinities and NaN of the other rows, where this one has nothing, are not met."""
    (a, A), (b, _), (m, M) = (
        _uneven(k, *shape, None, torch.float64)
        for k, shape in enumerate(((90, 400), (120, 400), (90, 120)), 20)
    )
    alone = (b != 0) & (torch.rand(b.shape, generator=torch.Generator().manual_seed(1)) < 0.3)
    wild = torch.where(alone, torch.inf, b)
    found = scorch.evaluate(
        "D[i,j] = stored(M[i,j]) * A[i,k] * B[j,k]", M=M, A=A, B=scorch.sparse(wild, "csr")
    )
    terms = torch.where((a != 0)[:, None] & (wild != 0), a[:, None] * wild, 0.0)
    want = torch.where(m != 0, terms.sum(2), 0.0)
    assert torch.equal(found.to_dense().nan_to_num(7e9), want.nan_to_num(7e9))


def test_a_row_behind_an_empty_one_is_noted():
    """They begin at the same place; one lane has them all."""
    a, b, m = torch.zeros(1, 40, 40), torch.zeros(2, 40), torch.ones(1, 40, 2)
    a[0, 1::2], b[1, 5:8] = 1, 1
    M, A, B = scorch.sparse(m, "csr"), scorch.sparse(a, "csr"), scorch.sparse(b, "csr")
    text = "D[b,i,j] = stored(M[b,i,j]) * A[b,i,k] * B[j,k]"
    for schedule in (None, "order(b, i, j, k)"):
        found = scorch.evaluate(text, M=M, A=A, B=B, schedule=schedule)
        assert torch.equal(found.to_dense(), a @ b.T)

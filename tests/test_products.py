"""Products of sparse matrices: rows of every length and width, all ways of gathering, one pass and two."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
import torch

import scorch

SIDE = 70_000  # so wide that few entries of a row lie far apart
TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64)


def _matrix(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int], seed: int = 0):
    """Small integers that are nowhere zero, so that sums are exact; repeated coordinates are added up."""
    values = np.random.RandomState(seed).randint(1, 4, len(rows)).astype(np.float64)
    m = scipy.sparse.coo_matrix((values, (rows, columns)), shape).tocsr()
    m.sort_indices()
    return m


def _far(rng: np.random.RandomState, side: int = SIDE):
    """Rows of none, one, few and hundreds of entries, anywhere; most of B's rows are empty or short."""
    rows = np.repeat(np.arange(side), rng.choice([0, 0, 1, 3, 12], side, p=[0.3, 0.2, 0.2, 0.28, 0.02]))
    rows = np.concatenate([rows, np.repeat(rng.randint(side, size=6), 700)])
    return _matrix(rows, rng.randint(side, size=len(rows)), (side, side))


def _near(rng: np.random.RandomState, side: int = 3000):
    """A band with holes, and a few entries elsewhere."""
    rows = np.repeat(np.arange(side), 9)
    columns = np.clip(rows + rng.randint(-20, 20, len(rows)), 0, side - 1)
    return _matrix(
        np.concatenate([rows, rng.randint(side, size=50)]),
        np.concatenate([columns, rng.randint(side, size=50)]),
        (side, side),
    )


def _even(rng: np.random.RandomState, side: int = 2000):
    return _matrix(rng.randint(side, size=40 * side), rng.randint(side, size=40 * side), (side, side))


def _small(rng: np.random.RandomState, side: int = 37):
    return _matrix(rng.randint(side, size=200), rng.randint(side, size=200), (side, side))


KINDS = {f.__name__[1:]: f for f in (_far, _near, _even, _small)}


def _sparse(m, dtype=torch.float64, index=torch.int32, format="csr"):
    parts = (torch.from_numpy(a).to(index) for a in (m.indptr, m.indices))
    csr = torch.sparse_csr_tensor(*parts, torch.from_numpy(m.data).to(dtype), m.shape)
    A = scorch.sparse(csr)
    return A if format == "csr" else A.convert(format)


def _check(made, want) -> None:
    """Entries, their order and their values."""
    want = want.tocsr()
    want.sort_indices()
    rows, columns = made.indices()
    assert torch.equal(
        rows.long(), torch.from_numpy(np.repeat(np.arange(want.shape[0]), np.diff(want.indptr)))
    )
    assert torch.equal(columns.long(), torch.from_numpy(want.indices).long())
    assert torch.equal(made.values().double(), torch.from_numpy(want.data).to(made.dtype).double())


def _pairs(kind: str):
    rng = np.random.RandomState(7)
    return KINDS[kind](rng), KINDS[kind](rng)


@pytest.mark.sampled
@pytest.mark.parametrize("index", [torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_types(kind, dtype, index):
    a, b = _pairs(kind)
    _check(_sparse(a, dtype, index) @ _sparse(b, dtype, index), a @ b)


@pytest.mark.parametrize("kind", KINDS)
def test_truth_values(kind):
    a, b = _pairs(kind)
    made = scorch.evaluate("C[i,k] = A[i,j] * B[j,k]", A=_sparse(a, torch.bool), B=_sparse(b, torch.bool))
    want = (a @ b).astype(bool)
    assert made.nnz == want.nnz and made.values().all()
    assert torch.equal(made.indices()[1].long(), torch.from_numpy(want.sorted_indices().indices).long())


@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_threads(kind):
    a, b = (m.astype(np.float32) for m in _pairs(kind))
    a.data[:] = np.random.RandomState(0).standard_normal(a.nnz)
    A, B = _sparse(a, torch.float32), _sparse(b, torch.float32)
    before, made = torch.get_num_threads(), []
    try:
        for n in (1, 2, 3):
            torch.set_num_threads(n)
            made.append(A @ B)
    finally:
        torch.set_num_threads(before)
    for other in made[1:]:
        assert all(torch.equal(x, y) for x, y in zip(made[0].indices(), other.indices(), strict=True))
        assert torch.equal(made[0].values(), other.values())


EXPRESSIONS = {
    "C[i,k] = relu(2 * A[i,j] * B[j,k])": lambda a, b, d, x: 2 * (a @ b),
    "C[i,k] = x[i] * A[i,j] * B[j,k]": lambda a, b, d, x: scipy.sparse.diags(x.astype(float)) @ a @ b,
    "C[i,k] = A[i,j] * B[j,k] + D[i,k]": lambda a, b, d, x: a @ b + d,
    "C[i,k] = A[i,j] * B[j,k] + D[i,j] * B[j,k]": lambda a, b, d, x: a @ b + d @ b,
    "C[i,k] = A[j,i] * B[j,k]": lambda a, b, d, x: a.T @ b,
    "C[i,l] = A[i,j] * B[j,k] * D[k,l]": lambda a, b, d, x: a @ b @ d,
}


@pytest.mark.sampled
@pytest.mark.parametrize("format", ["csr", "dcsr"])
@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("kind", ["far", "near", "small"])
def test_expressions(kind, text, format):
    (a, b), rng = _pairs(kind), np.random.RandomState(3)
    d, x = KINDS[kind](rng), rng.randint(1, 4, a.shape[0])
    operands = {n: _sparse(m, format=format) for n, m in {"A": a, "B": b, "D": d}.items() if f"{n}[" in text}
    dense = {"x": torch.from_numpy(x).double()} if "x[" in text else {}
    made = scorch.evaluate(text, **operands, **dense)
    _check(made.convert("csr"), EXPRESSIONS[text](a, b, d, x))


@pytest.mark.parametrize("kind", KINDS)
def test_masks(kind):
    (a, b), d = _pairs(kind), KINDS[kind](np.random.RandomState(3))
    made = scorch.evaluate("C[i,k] = D[i,k] * A[i,j] * B[j,k]", A=_sparse(a), B=_sparse(b), D=_sparse(d))
    assert abs(made.to_scipy() - d.multiply(a @ b)).max() == 0


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("columns, each", [(SIDE, 4), (SIDE, 900), (500, 60)], ids=["far", "wide", "near"])
def test_maxima_of_paths(op, columns, each):
    rng = np.random.RandomState(1)
    a = _matrix(rng.randint(30, size=150), rng.randint(50, size=150), (30, 50))
    b = _matrix(np.repeat(np.arange(50), each), rng.randint(columns, size=50 * each), (50, columns), 2)
    text = f"C[i,k] {op}= A[i,j] * B[j,k]"
    made = scorch.evaluate(text, A=_sparse(a), B=_sparse(b), implicit="skip")
    none, reduce = (-torch.inf, torch.amax) if op == "max" else (torch.inf, torch.amin)
    x, y = (torch.from_numpy(m.toarray()) for m in (a, b))
    want = torch.stack([reduce(torch.where((r[:, None] * y) != 0, r[:, None] * y, none), 0) for r in x])
    want = torch.where(want.isinf(), 0, want)
    made = made.to_dense() if scorch.is_sparse(made) else made
    assert torch.equal(torch.where(made.isinf(), 0, made), want)


@pytest.mark.parametrize("index", [torch.int32, torch.int64], ids=str)
def test_far_rows_of_every_length(index):
    """Row i of the product adds i values, half of them at coordinates that come again."""
    rng = np.random.RandomState(4)
    a = _matrix(
        np.repeat(np.arange(300), np.arange(300)),
        np.concatenate([np.arange(i) for i in range(300)]),
        (300, 300),
    )
    columns = np.where(
        rng.rand(300) < 0.5, rng.randint(SIDE, size=300), rng.randint(9, size=300) * (SIDE // 9)
    )
    b = _matrix(np.arange(300), columns, (300, SIDE), 1)
    _check(_sparse(a, index=index) @ _sparse(b, index=index), a @ b)


def test_a_bound_far_above_what_is_stored():
    """So many paths meet that no room is made for them all: what is stored is counted first."""
    rng = np.random.RandomState(0)
    columns = np.sort(rng.permutation(200_000)[:1000])
    a = _matrix(np.repeat(np.arange(700), 100), np.tile(np.arange(100), 700), (700, 100))
    b = _matrix(np.repeat(np.arange(100), 1000), np.tile(columns, 100), (100, 200_000), 1)
    _check(_sparse(a) @ _sparse(b), a @ b)


def test_a_bound_is_not_kept():
    a, _ = _pairs("near")
    made = _sparse(a) @ _sparse(a)
    assert made.values().untyped_storage().nbytes() == 8 * made.nnz


def test_empty_rows_and_sides():
    for shape, inner in (((0, 5), 4), ((5, 0), 4), ((5, 4), 0), ((3, 3), 3)):
        a, b = (scipy.sparse.csr_matrix(s) for s in ((shape[0], inner), (inner, shape[1])))
        _check(_sparse(a) @ _sparse(b), a @ b)


def test_three_levels():
    rng = np.random.RandomState(2)
    b = _far(rng, 50_000)
    m = _matrix(rng.randint(90, size=300), rng.randint(50_000, size=300), (90, 50_000))
    rows = torch.from_numpy(np.repeat(np.arange(90), np.diff(m.indptr)))
    index = torch.stack([rows // 9, rows % 9, torch.from_numpy(m.indices).long()])
    coo = torch.sparse_coo_tensor(index, torch.from_numpy(m.data), (10, 9, 50_000))
    made = scorch.einsum(
        "aij,jk->aik", scorch.sparse(coo.coalesce(), "csf", index_dtype=torch.int32), _sparse(b)
    )
    want = (m @ b).tocoo()
    assert made.nnz == want.nnz
    at = made.indices().long()
    got = scipy.sparse.coo_matrix((made.values().numpy(), (9 * at[0] + at[1], at[2])), want.shape)
    assert abs(got.tocsr() - want.tocsr()).max() == 0


EXECUTED = """
import numpy as np, scipy.sparse, torch, scorch, warnings
import test_products as t
warnings.simplefilter("ignore")
rng = np.random.RandomState(5)
for make, side in ((t._far, 40000), (t._near, 300), (t._small, 37)):
    a, b = make(rng, side), make(rng, side)
    t._check(t._sparse(a) @ t._sparse(b), a @ b)
assert scorch.stats()["compiled"] == 0, scorch.stats()
"""


def test_without_a_compiler():
    folder = os.path.dirname(__file__)
    env = {**os.environ, "SCORCH_JIT": "off", "PYTHONPATH": folder + os.pathsep + os.path.dirname(folder)}
    subprocess.run([sys.executable, "-c", EXECUTED], env=env, check=True, timeout=300)


def test_a_coordinate_that_is_looked_up_is_no_fibre():
    """The inner loop over i has at most one turn: the length of its fibre says nothing of what is written."""
    a = scorch.sparse(torch.tensor([[2.0, 3.0], [0.0, 4.0]]), "csf")
    d = scorch.sparse(torch.tensor([[5.0], [6.0]]), "compressed(0), dense(1)")
    got = scorch.evaluate("C[i,j] += B[k,i] - D[i,j]", B=a, D=d, implicit="skip", schedule="order(j, k, i)")
    assert got.to_dense().tolist() == [[2 - 5], [3 + 4 - 2 * 6]]
    b = scorch.sparse(torch.eye(2), "csf")
    got = scorch.evaluate("S[i,k] += A[j,k] * B[k,k] + B[i,i]", A=a, B=b, implicit="skip")
    assert got.to_dense().tolist() == [[3, 9], [3, 9]]


# ---- out= ----
OUTS = {
    "plain": lambda y: torch.full_like(y, 7),
    "of no entries": lambda y: torch.empty(0),
    "turned": lambda y: torch.full(y.shape[::-1], 7.0).permute(*range(y.dim())[::-1]),
    "apart": lambda y: torch.full([2 * n for n in y.shape], 7.0)[
        tuple(slice(None, None, 2) for _ in y.shape)
    ],
    "wide": lambda y: torch.full_like(y, 7, dtype=torch.float64),
}
OF_TORCH = {
    "mm": (torch.mm, (5, 3)),
    "mv": (torch.mv, (5,)),
    "matmul": (torch.matmul, (5, 3)),
    "turned": (lambda a, x, out: torch.matmul(x.T, a.T, out=out), (5, 3)),
    "batch": (torch.matmul, (2, 5, 3)),
}


@pytest.mark.parametrize("format", ["csr", "bsr(2,1)", "csr of rows(<= 2) + coo"])
@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("name", OF_TORCH)
def test_products_of_torch_are_written_to_any_tensor(name, out, format):
    f, shape = OF_TORCH[name]
    dense = torch.arange(20.0).view(4, 5).remainder(3)
    a, x = scorch.sparse(dense, format), torch.arange(float(math.prod(shape))).view(shape).remainder(7)
    wanted = f(dense, x, out=torch.empty(0))
    given = OUTS[out](wanted)
    assert f(a, x, out=given) is given and torch.equal(given.to(wanted.dtype), wanted)


@pytest.mark.parametrize("format", ["csr", "csr of rows(<= 2) + coo"])
def test_extents_that_differ(format):
    a = scorch.sparse(torch.ones(3, 4), format)
    given = ((a, torch.ones(3, 2)), (a, torch.ones(5)), (torch.ones(2, 4), a), (a.T, torch.ones(4, 1)))
    for left, right in given:
        with pytest.raises(ValueError, match=r"cannot multiply: the sparse operand is \d x \d, .* is needed"):
            left @ right
    with pytest.raises(ValueError, match="the sparse operand is 3 x 4, and the dense one has 3 where 4"):
        torch.nn.functional.linear(torch.ones(2, 3), a)


@pytest.mark.parametrize("format", ["csr", "csr of rows(<= 2) + coo"])
def test_outs_that_do_not_fit(format):
    a, x = scorch.sparse(torch.eye(3), format), torch.ones(3, 2)
    with pytest.raises(ValueError, match=r"out=: expected the shape \[3, 2\], got \[2, 2\]"):
        torch.mm(a, x, out=torch.empty(2, 2))
    with pytest.raises(RuntimeError, match=r"a type that holds torch\.float32, got torch\.int64"):
        torch.mm(a, x, out=torch.empty(3, 2, dtype=torch.int64))
    b = a.clone()
    assert torch.mm(a, 2 * a, out=b) is b and torch.equal(b.to_dense(), 2 * torch.eye(3))

"""Reductions that take all coordinates without an entry at once: in time of entries, with the same value."""

import pytest
import torch

import scorch

NAN, INF = float("nan"), float("inf")
FORMATS = (
    "csr",
    "csc",
    "coo",
    "dcsr",
    "dcsc",
    "bsr(2,3)",
    "bsc(2,3)",
    "ell(6)",
    "dia(4)",
    "sell(4,8)",
    "compressed(0), dense(1)",
    "compressed(0), bitmask(1)",
    "dense(0/2), compressed(0%2), bitmask(1)",
)
DTYPES = (torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64)
ROWS = torch.tensor(
    [
        [0, 0, 0, 0, 0, 0],
        [-1, -2, -3, -1, -2, -4],
        [1, 2, 3, 1, 2, 4],
        [-1, 0, 0, -2, 0, -3],
        [2, 0, 3, 0, 0, 0],
        [-1, 2, 0, 0, -5, 0],
        [0, 0, 0, 0, 0, -7],
        [-4, -4, 5, -4, 5, -4],
    ]
)


def loops(expression, **operands):
    return scorch.compile(expression, **operands).schedule


@pytest.mark.sampled
@pytest.mark.parametrize(
    "format, dtype", [*((f, torch.float32) for f in FORMATS), *(("csr", t) for t in DTYPES)], ids=str
)
def test_rows_full_and_empty(format, dtype):
    for d in (ROWS.to(dtype), ROWS.to(dtype).flip(0).T.contiguous()[:, :6]):
        A = scorch.sparse(d, format=format)
        for op, f in (("max=", torch.amax), ("min=", torch.amin)):
            assert torch.equal(scorch.evaluate(f"m[i] {op} A[i,j]", A=A), f(d, 1))
            assert torch.equal(scorch.evaluate(f"m[j] {op} A[i,j]", A=A), f(d, 0))
            assert torch.equal(scorch.evaluate(f"m {op} A[i,j]", A=A), f(d))
            assert torch.equal(f(A, 1), f(d, 1)) and torch.equal(f(A), f(d))


@pytest.mark.sampled
@pytest.mark.parametrize("format", ["csr", "dcsr", "csc", "coo", "compressed(0), bitmask(1)"])
@pytest.mark.parametrize("expression, dense", [
    ("m[i] max= A[i,j] * B[i,j]", lambda a, b, x, y: (a * b).amax(1)),
    ("m[i] min= A[i,j] - B[i,j]", lambda a, b, x, y: (a - b).amin(1)),
    ("m[i] max= A[i,j] * x[j]", lambda a, b, x, y: (a * x).amax(1)),
    ("m[i] max= A[i,j] * x[j] + B[i,j] + y[i]", lambda a, b, x, y: (a * x + b).amax(1) + y),
    ("m[i,k] max= A[i,j] * (x[j] - y[k])", lambda a, b, x, y: (a[:, None] * (x - y[:, None])).amax(2)),
    ("m[i,k] max= A[i,j] * B[k,j]", lambda a, b, x, y: (a[:, None] * b).amax(2)),
    ("m max= A[i,j] * B[i,k]", lambda a, b, x, y: (a[:, :, None] * b[:, None]).amax()),
    ("m[i] min= relu(A[i,j]) - 3", lambda a, b, x, y: a.relu().amin(1) - 3),
    ("s[i] += exp(A[i,j])", lambda a, b, x, y: a.exp().sum(1)),
    ("s[j] += (A[i,j] >= B[i,j]) + x[j]", lambda a, b, x, y: ((a >= b) + x).sum(0)),
    ("s += exp(A[i,j] * B[i,j]) * A[i,k]", lambda a, b, x, y: (a * b).exp().sum(1) @ a.sum(1)),
    ("s[i] += A[i,j] == 0", lambda a, b, x, y: (a == 0).sum(1).double()),
])  # fmt: skip
def test_expressions(expression, dense, format):
    a, b = ROWS.double(), ROWS.double()[[3, 1, 7, 5, 2, 0, 4, 6]]
    x, y = torch.tensor([1.0, -2, 0, 3, -1, 2]).double(), torch.arange(-3.0, 5).double()
    named = {"A": scorch.sparse(a, format=format), "B": scorch.sparse(b, format=format), "x": x, "y": y}
    used = {n: t for n, t in named.items() if f"{n}[" in expression}
    torch.testing.assert_close(scorch.evaluate(expression, **used), dense(a, b, x, y))


def test_tensors_and_vectors():
    g = torch.Generator().manual_seed(0)
    d = torch.randint(-3, 0, (4, 5, 6), generator=g).double() * (torch.rand(4, 5, 6, generator=g) < 0.6)
    d[1], d[2, 3] = -1, -2
    for format in ("csf", "coo", "ell(6)", "dense(0), compressed(1), compressed(2)"):
        T = scorch.sparse(d, format=format)
        assert torch.equal(scorch.evaluate("m[i] max= T[i,j,k]", T=T), d.amax((1, 2)))
        assert torch.equal(scorch.evaluate("m max= T[i,j,k]", T=T), d.amax())
        assert torch.equal(scorch.evaluate("m[i,j] max= T[i,j,k]", T=T, format="dense"), d.amax(2))
        torch.testing.assert_close(scorch.evaluate("s[k] += exp(T[i,j,k])", T=T), d.exp().sum((0, 1)))
    for v in (-torch.ones(5), torch.tensor([0.0, -1, 0, -2]), torch.zeros(3)):
        for format in ("coo", "compressed(0)", f"ell(0, {len(v)})"):
            assert scorch.evaluate("m max= v[i]", v=scorch.sparse(v, format=format)) == v.max()


def test_no_coordinates_to_reduce():
    A = scorch.sparse(torch.zeros(3, 0), format="csr")
    assert scorch.evaluate("m[i] max= A[i,j]", A=A).tolist() == [-INF] * 3
    assert scorch.evaluate("s[i] += exp(A[i,j])", A=A).tolist() == [0] * 3
    T = scorch.sparse(torch.zeros(3, 4, 0), format="csf")
    assert scorch.evaluate("m[i] min= T[i,j,k]", T=T).tolist() == [INF] * 3


@pytest.mark.parametrize("batched", [True, False])
def test_special_values(batched):
    """One column reads x, so that rows are not summed in batches."""
    d = torch.tensor([[NAN, 0, -1], [-1.0, NAN, -2], [-INF, 0, -1], [-INF, -INF, -INF], [INF, 0, 0]])
    A = scorch.sparse(d, format="csr")
    text = "m[i] max= A[i,j]" if batched else "m[i] max= A[i,j] * x[i]"
    named = {} if batched else {"x": torch.ones(5)}
    assert ("batch" in loops(text, A=A, **named)) == batched
    got = scorch.evaluate(text, A=A, **named)
    assert torch.equal(got.nan_to_num(99), d.amax(1).nan_to_num(99))


def test_columns_are_not_visited():
    """Every column of these would take hours."""
    n = 2**42
    at = torch.tensor([[0, 0, 2], [5, n - 1, 7]])
    A = scorch.sparse(torch.sparse_coo_tensor(at, torch.tensor([-1.0, -2, 3]), (4, n)), format="csr")
    A = A.to(torch.float64)
    B = A * 2
    for text, want in (
        ("m[i] max= A[i,j]", [0, 0, 3, 0]),
        ("m[i] min= A[i,j]", [-2, 0, 0, 0]),
        ("s[i] += A[i,j] == 0", [n - 2, n, n - 1, n]),
    ):
        assert " rest" in loops(text, A=A)
        assert scorch.evaluate(text, A=A).tolist() == want
    assert " rest" in loops("m[i] min= A[i,j] * B[i,j]", A=A, B=B)
    assert scorch.evaluate("m[i] max= A[i,j] * B[i,j]", A=A, B=B).tolist() == [8, 0, 18, 0]
    A.requires_grad_()
    scorch.evaluate("m[i] max= A[i,j]", A=A).sum().backward()
    assert A.grad.values().tolist() == [0, 0, 1]


def test_a_row_in_pieces():
    n = 1 << 21
    d = torch.full((2, n), -1.0)
    d[1, 77] = 0
    A = scorch.sparse(d, format="csr")
    assert scorch.evaluate("m[i] max= A[i,j]", A=A).tolist() == [-1, 0]
    assert scorch.evaluate("s[i] += A[i,j] == 0", A=A).tolist() == [0, 1]


@pytest.mark.parametrize("format", ["csr", "csc", "dcsr", "ell(6)"])
@pytest.mark.parametrize("op", ["max=", "min="])
def test_gradients_share_with_missing_entries(format, op):
    d = ROWS.double()
    stored = d != 0
    stored[0, 2] = stored[3, 1] = True  # zeros that are stored, among others that are not
    A = scorch.sparse(torch.where(stored, d + 9, 0), format=format)
    A = A._with_values(A.values() - 9).requires_grad_()
    x, w = d.clone().requires_grad_(), torch.arange(1.0, 9, dtype=torch.float64)
    (scorch.evaluate(f"m[i] {op} A[i,j]", A=A) * w).sum().backward()
    ((x.amax(1) if op == "max=" else x.amin(1)) * w).sum().backward()
    assert torch.equal(A.grad.to_dense(), torch.where(stored, x.grad, 0))


def test_a_schedule_says_rest():
    d = ROWS.double()
    A = scorch.sparse(d, format="csr")
    nest = "for i in A { for j in A rest { m[i] max= A[i,j] } }"
    assert torch.equal(scorch.evaluate("m[i] max= A[i,j]", A=A, schedule=nest), d.amax(1))
    again = loops("m[i] max= A[i,j]", A=A)
    assert torch.equal(scorch.evaluate("m[i] max= A[i,j]", A=A, schedule=again), d.amax(1))
    with pytest.raises(ValueError, match="not the same at every j that is not visited"):
        wrong = "for i in A { for j in A rest { m[i] max= A[i,j] + x[j] } }"
        scorch.evaluate("m[i] max= A[i,j] + x[j]", A=A, x=torch.ones(6), schedule=wrong)
    with pytest.raises(ValueError, match="rest goes with a loop that visits stored entries"):
        wrong = "for i in A rest { for j in A rest { m[i] max= A[i,j] } }"
        scorch.evaluate("m[i] max= A[i,j]", A=A, schedule=wrong)

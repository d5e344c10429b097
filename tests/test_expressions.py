"""Random expressions through the Python package, against numpy; hypothesis makes failures small.

The same problems as in generate.py, with operands of every format made by scorch.sparse, zeros stored, one to
three threads. Values are small integers, or, in the float tests, also NaN, infinities, -0 and denormals.
"""

import generate
import numpy as np
import pytest
import reference
import sweep
import torch
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import scorch

SMALL = (0.0, 1.0, -1.0, 2.0, -2.0)
SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.0, -1.0, 2.0, 1e-40, -1e-40)
INEXACT = ("exp", "log", "tanh", "sigmoid", "sqrt")
QUIET = {
    "deadline": None, "derandomize": True, "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
}  # fmt: skip


def make(
    r: np.random.Generator, p: generate.Problem, name: str, values: tuple[float, ...]
) -> tuple[torch.Tensor, reference.Stored]:
    """An operand and what it holds."""
    o, dims = p.operands[name], p.dims(name)
    dtype = torch.float32 if p.dtype == "f32" else torch.float64
    if not o.sparse:
        x = torch.from_numpy(r.choice(values, dims)).to(dtype).reshape(dims)
        if o.unit is not None:
            x = x.transpose(o.unit, -1).contiguous().transpose(o.unit, -1)
        return x, reference.Stored(x.double())
    mark = r.random(dims) < r.choice((0, 0.15, 0.5, 0.9))
    index = torch.int64 if o.itype == "i64" else torch.int32
    a = scorch.sparse(torch.from_numpy(mark).to(dtype), o.format, index_dtype=index)
    stored = a.values()
    stored.copy_(torch.from_numpy(r.choice(values, stored.shape)))
    value, there = np.zeros(dims), np.zeros(dims, bool)
    at = a.indices().numpy()
    real = (at >= 0).all(0)
    np.add.at(value, tuple(at[:, real]), stored.double().numpy()[real])
    there[tuple(at[:, real])] = True
    return a, reference.Stored(torch.from_numpy(value), torch.from_numpy(there))


def array(x: torch.Tensor) -> np.ndarray:
    return (x.to_dense() if scorch.is_sparse(x) else x).double().numpy()


def run(p: generate.Problem, operands: dict[str, torch.Tensor], **how: object) -> tuple[torch.Tensor, ...]:
    program = "; ".join(map(str, p.assigns))
    form = next(iter(p.asks.values()), "").rsplit(" ", 1)[0].strip('"') if len(p.assigns) == 1 else ""
    how |= {"format": form} if form else {}
    how |= {"implicit": "skip"} if "skip" in p.flags else {}
    made = scorch.evaluate(program, **operands, **how)
    made = made if isinstance(made, tuple) else (made,)
    for x in made:
        if form:
            assert (str(x.format) if scorch.is_sparse(x) else "dense") == scorch.Format(form).bind(
                x.dim()
            ).text
    return made


def compute(p: generate.Problem, operands: dict[str, torch.Tensor], **how: object) -> list[np.ndarray]:
    return [array(x) for x in run(p, operands, **how)]


def check(p: generate.Problem, seed: int, values: tuple[float, ...] = SMALL) -> bool:
    """Whether the problem was computed; fails where the result is wrong or the refusal is not one we know."""
    r = np.random.default_rng(seed)
    made = {name: make(r, p, name, values) for name in p.operands}
    note(f"{p}seed {seed}")
    try:
        results = run(p, {name: x for name, (x, _) in made.items()})
    except (ValueError, NotImplementedError) as error:
        assert sweep.REFUSED.match(str(error)), f"{p}{error}"
        return False
    names = [a.name for a in p.assigns]
    sparse = frozenset(name for name, x in zip(names, results, strict=True) if scorch.is_sparse(x))
    found = reference.Reference(p, {name: s for name, (_, s) in made.items()}, sparse).results()
    got, want = [array(x) for x in results], {name: s.value.numpy() for name, s in found.items()}
    close = any(f in str(p) for f in (*INEXACT, " / "))  # a sum may be divided by: 1 / 3
    if "skip" in p.flags:  # what no point reached is infinite in a dense result, absent in a sparse one
        got = [np.where(np.isinf(x), 0, x) for x in got]
        want = {name: np.where(np.isinf(x), 0, x) for name, x in want.items()}
    for name, x in zip(names, got, strict=True):
        assert x.shape == want[name].shape
        np.testing.assert_allclose(x, want[name], rtol=1e-5 if close else 0, err_msg=f"{p}seed {seed}")
    return True


def draw(random) -> generate.Problem | None:
    p = generate.Draw(random).problem()
    for a in p.assigns:
        a.hidden = False  # test_tmp.py and the campaign have temporaries
    for o in p.operands.values():
        o.dtype, o.perm = "", False
    return p if p.is_valid() else None


@pytest.mark.wide
@settings(max_examples=200, **QUIET)
@given(st.randoms(use_true_random=False), st.integers(0, 9))
def test_random_expressions(random, seed):
    if p := draw(random):
        check(p, seed)


@pytest.mark.slow
@settings(max_examples=2000, **QUIET)
@given(st.randoms(use_true_random=False), st.integers(0, 9))
def test_random_expressions_at_length(random, seed):
    if p := draw(random):
        check(p, seed)


# ---- one operand, every format ----
MATRICES = (
    "csr", "csc", "coo", "dcsr", "dcsc", "bsr(2,3)", "bsc(3,2)", "ell(6)", "dia(4)", "sell(4,8)",
    "dense(1), compressed(0)",
    "compressed(0), dense(1)", "compressed(1), ell(0, 6)", "dense(0/2), compressed(1), dense(0%2)",
    "compressed(0/3), compressed(1/2), dense(1%2), dense(0%3)", "dense(0), compressed(1, nonunique)",
)  # fmt: skip
ONE = (
    "ij->ji",
    "ii->i",
    "ij->",
    "ii->",
    "ij->i",
    "ij->j",
    "ij,ij->ij",
    "ij,ji->ij",
    "ij,jk->ik",
    "ij,kj->ik",
)


def dense(x: torch.Tensor) -> torch.Tensor:
    return x.to_dense() if scorch.is_sparse(x) else x


def einsum(text: str, *operands: torch.Tensor, **how: object) -> torch.Tensor:
    return dense(scorch.einsum(text, *operands, **how))


@pytest.mark.sampled
@pytest.mark.parametrize("form", MATRICES)
@pytest.mark.parametrize("text", ONE)
def test_every_format(text, form, rng):
    x = torch.from_numpy(rng.integers(-2, 3, (6, 6)) * (rng.random((6, 6)) < 0.4)).float()
    a = scorch.sparse(x, form)
    count = text.count(",") + 1
    assert torch.equal(einsum(text, *[a] * count), torch.einsum(text, *[x] * count))


@pytest.mark.sampled
@pytest.mark.parametrize("text", ("ij,jk->ik", "ij,ij->ij", "ij->j", "ij,jk->ki", "ij,ik->kj"))
@pytest.mark.parametrize(
    "forms", (("csr", "csc"), ("dcsr", "dcsc"), ("bsr(2,3)", "bsc(2,3)"), ("csf", "coo"))
)
def test_the_order_of_levels_does_not_matter(text, forms, rng):
    x, y = (torch.from_numpy(rng.integers(-2, 3, (6, 6)) * (rng.random((6, 6)) < 0.4)).float() for _ in "xy")
    operands = [x, y][: text.count(",") + 1]
    want = torch.einsum(text, *operands)
    for first in forms:
        for second in forms:
            a = [scorch.sparse(t, f) for t, f in zip(operands, (first, second), strict=False)]
            assert torch.equal(einsum(text, *a), want), (first, second)


@pytest.mark.parametrize("expression", ("C[i] = A[i,j]", "C[i,j] = A[i,j] * A[i,j]", "C[i,j] = relu(A[i,j])"))
@pytest.mark.parametrize("last", ("", ", nonunique"))
def test_duplicates_are_summed(expression, last):
    crd = [torch.tensor([0, 0, 0, 2, 2]), torch.tensor([1, 1, 3, 0, 0])]
    values = torch.tensor([1.0, -3.0, 4.0, -2.0, 5.0])
    x = torch.sparse_coo_tensor(torch.stack(crd), values, (3, 4))
    if last:
        form, pos = "compressed(0, nonunique), singleton(1, nonunique)", torch.tensor([0, 5])
        a = scorch.from_components(form, (3, 4), [pos, None], crd, values)
    else:
        a = scorch.sparse(x, "coo")
    want = {"C[i] = A[i,j]": x.to_dense().sum(1), "C[i,j] = relu(A[i,j])": x.to_dense().relu()}
    got = dense(scorch.evaluate(expression, A=a))
    assert torch.equal(got, want.get(expression, x.to_dense() ** 2))


# ---- threads ----
FORMS = (  # A and B sparse, X dense; large enough for a chunk a thread
    "C[i] = A[i,j]", "C[j] = A[i,j]", "C = A[i,j]", "C[i,k] = A[i,j] * X[j,k]", "C[j,k] = A[i,j] * X[i,k]",
    "C[i,j] = A[i,j] * B[i,j]", "C[i,j] = A[i,j] + B[i,j]", "C[i,k] = A[i,j] * B[j,k]",
    "C[i,j] = A[i,j] + B[j,i]", "C[i] max= A[i,j]", "C = A[i,j] * B[j,i]",
    "C[i,j] = A[i,j] * X[i,k] * X[j,k]", "C[i,k] = relu(A[i,j] * B[j,k])",
)  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("expression", FORMS)
def test_threads(expression, rng):
    """One to three threads give the same bits; the first rows hold most entries."""
    n, before = 600, torch.get_num_threads()
    mark = rng.random((2, n, n)) < np.where(np.arange(n) < 8, 0.9, 0.1)[:, None]
    x = torch.from_numpy(rng.integers(-2, 3, (2, n, n)) * mark).double()
    forms = (("csr", "csr"), ("csc", "csr"), ("coo", "dcsr"), ("dcsr", "csc"))
    try:
        for first, second in forms:
            operands = {
                "A": scorch.sparse(x[0], first),
                "B": scorch.sparse(x[1], second),
                "X": x[0, :, :20].contiguous(),
            }
            right = expression.split("= ", 1)[1]
            used = {name: t for name, t in operands.items() if f"{name}[" in right}
            made = []
            for threads in (1, 2, 3):
                torch.set_num_threads(threads)
                made.append(dense(scorch.evaluate(expression, **used)))
            want = expected(expression, x[0], x[1], operands["X"])
            assert all(torch.equal(y, want) for y in made), (first, second)
    finally:
        torch.set_num_threads(before)


def expected(expression: str, a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return {
        "C[i] = A[i,j]": lambda: a.sum(1), "C[j] = A[i,j]": lambda: a.sum(0), "C = A[i,j]": lambda: a.sum(),
        "C[i,k] = A[i,j] * X[j,k]": lambda: a @ x, "C[j,k] = A[i,j] * X[i,k]": lambda: a.T @ x,
        "C[i,j] = A[i,j] * B[i,j]": lambda: a * b, "C[i,j] = A[i,j] + B[i,j]": lambda: a + b,
        "C[i,k] = A[i,j] * B[j,k]": lambda: a @ b, "C[i,j] = A[i,j] + B[j,i]": lambda: a + b.T,
        "C[i] max= A[i,j]": lambda: a.amax(1), "C = A[i,j] * B[j,i]": lambda: (a * b.T).sum(),
        "C[i,j] = A[i,j] * X[i,k] * X[j,k]": lambda: a * (x @ x.T),
        "C[i,k] = relu(A[i,j] * B[j,k])": lambda: (a @ b).relu(),
    }[expression]()  # fmt: skip


def test_a_sum_in_a_product_is_summed_as_it_is_without():
    """What all terms of a sum have, and nothing else, is summed in each, though a product holds the sum."""
    A, D, B = torch.randint(-5, 6, (3, 4, 3), generator=torch.Generator().manual_seed(0)).double()
    want = (A - D).sum().relu()
    assert scorch.evaluate("s = relu(A[i,j] - D[i,j])", A=A, D=D) == want
    assert scorch.evaluate("s = relu(A[i,j] - D[i,j]) / 2", A=A, D=D) == want / 2
    best = torch.maximum((A - D).sum(0), B[0])
    assert scorch.evaluate("s = max(A[i,j] - D[i,j], b[j]) / 2", A=A, D=D, b=B[0]) == best.sum() / 2


@pytest.mark.parametrize(
    "text", ("A[i,k] + v[k]", "A[i,k] / b[i] - v[k]", "A[i,k]", "relu(A[i,k])", "(A[i,k] + v[k]) * b[i]")
)
@pytest.mark.parametrize("around", ("%s", "relu(%s)", "b[i] * (%s)"))
def test_a_sum_with_a_minus_in_front_is_summed_as_it_is_without(text, around):
    A, v, b = torch.rand(3, 4) - 0.5, torch.rand(4) - 0.5, torch.rand(3) + 0.5

    def value(minus, A):
        right = around % minus % text
        operands = {name: x for name, x in {"A": A, "v": v, "b": b}.items() if f"{name}[" in right}
        return torch.as_tensor(scorch.evaluate(f"R[i] = {right}", **operands))

    for x in (A, scorch.sparse(A.relu())):
        torch.testing.assert_close(value("-(%s)", x), value("-1 * (%s)", x))
        torch.testing.assert_close(value("neg(%s)", x), value("-1 * (%s)", x))


def test_a_term_is_summed_where_it_would_be_by_itself():
    """Products inside of the quotient that a sum is taken of are not summed once more."""
    A, x, y = torch.rand(3, 4).double(), torch.rand(3).double(), torch.rand(3).double()
    term = "A[i,j] / (1 + x[i] * A[i,j])"
    want = (A / (1 + x[:, None] * A)).sum()
    torch.testing.assert_close(scorch.evaluate(f"s = {term}", A=A, x=x), want)
    torch.testing.assert_close(scorch.evaluate(f"s = {term} + y[i]", A=A, x=x, y=y), want + y.sum())
    got = scorch.evaluate(f"s = x[i] * ({term}) - y[i]", A=A, x=x, y=y)
    torch.testing.assert_close(got, (x[:, None] * A / (1 + x[:, None] * A)).sum() - y.sum())

"""NaN, infinities, -0, denormals and division: what is stored takes part, what is absent annihilates.

Element-wise expressions are drawn at random: their values are defined to the bit. Of sums, which may be
split and factored, listed forms are looked at, and the rule that an empty row is zero whatever it meets.
"""

import itertools

import generate
import numpy as np
import pytest
import reference
import test_expressions
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import scorch

NAN, INF = float("nan"), float("inf")
SPECIAL = (NAN, INF, -INF, -0.0, 0.0, 1.0, -1.0, 2.0)
TINY = {torch.float32: 1e-40, torch.float64: 1e-310}
FORMATS = ("csr", "csc", "coo", "dcsr", "csf", "bsr(2,2)", "ell(6)", "dia(16)", "dense(0), compressed(1)")
FORMATS += ("sell(8,8)",)
SUMS = (  # A and B sparse [6, 6], X [6, 5], Y [6, 6], x [6] dense
    "C[i] = A[i,j] * x[j]", "C[j] = A[i,j] * x[i]", "C[i,k] = A[i,j] * X[j,k]", "C[j,k] = A[i,j] * X[i,k]",
    "C = A[i,j]", "C[i] = A[i,j]", "C[i] = A[i,j] * B[i,j]", "C[i,k] = A[i,j] * B[j,k]",
    "C[i,j] = A[i,j] * Y[i,k] * Y[j,k]", "C[i] += max(A[i,j], B[i,j])", "C[i] max= A[i,j]",
    "C[i] min= A[i,j]",
    "C[j] max= A[i,j] * x[i]", "C[i] += A[i,j] < B[i,j]", "C[i] = relu(A[i,j] * x[j] + x[i])",
    "C[i,j] = A[i,j] / (A[i,k] * B[k,j] + 1)",
)  # fmt: skip


def no_sums(p: generate.Problem) -> bool:
    return all(set(a.left) == generate.indices(a.right) for a in p.assigns)


@settings(max_examples=150, **test_expressions.QUIET)
@given(st.randoms(use_true_random=False), st.integers(0, 9))
def test_element_wise(random, seed):
    p = test_expressions.draw(random)
    if p and no_sums(p) and not ("skip" in p.flags and "m" in p.assigns[0].op):
        test_expressions.check(p, seed, SPECIAL)


def operands(expression: str, form: str, seed: int) -> dict[str, tuple[torch.Tensor, reference.Stored]]:
    """What the expression names, of special values; half of the rows of the sparse ones are empty."""
    r = np.random.default_rng(seed)
    shapes = {"A": (6, 6), "B": (6, 6), "X": (6, 5), "Y": (6, 6), "x": (6,)}
    made = {}
    for name, dims in shapes.items():
        if f"{name}[" not in expression.split("=", 1)[1].replace("max=", ""):
            continue
        values = r.choice(SPECIAL, dims, p=[0.05, 0.05, 0.05, 0.15, 0.1, 0.2, 0.2, 0.2])
        if name not in "AB":
            made[name] = torch.from_numpy(values), reference.Stored(torch.from_numpy(values))
            continue
        mark = (r.random(dims) < 0.5) & (np.arange(6) // 2 != 1)[:, None]
        a = scorch.sparse(torch.from_numpy(mark).double(), form)
        at, stored = a.indices().numpy(), a.values()
        real = (at >= 0).all(0)
        stored[torch.from_numpy(real)] = torch.from_numpy(values[tuple(at[:, real])])
        there = np.zeros(dims, bool)
        there[tuple(at[:, real])] = True
        made[name] = a, reference.Stored(torch.from_numpy(values), torch.from_numpy(there))
    return made


@pytest.mark.sampled
@pytest.mark.parametrize("expression", SUMS)
def test_sums(expression):
    left, op, right = expression.partition("= ")
    op = {"x": "max=", "n": "min=", "+": "+="}.get(left[-1], "=")
    left = left.rstrip("=").split(" ")[0]
    name, ix = left.partition("[")[0], "".join(c for c in left.partition("[")[2] if c.isalpha())
    assign = generate.Assign(name, ix, op, parse(right))
    extent = {"i": 6, "j": 6, "k": 5 if "X[" in right else 6}
    for form, seed in itertools.product(FORMATS, range(3)):
        made = operands(expression, form, seed)
        p = generate.Problem("f64", extent, {}, [assign])
        got = scorch.evaluate(expression, **{n: x for n, (x, _) in made.items()})
        got = (got.to_dense() if scorch.is_sparse(got) else got).numpy()
        want = reference.Reference(p, {n: s for n, (_, s) in made.items()}).results()[name].value.numpy()
        if expression.count("*") == 2:  # an infinite factor may be taken out of the sum (docs/expressions.md)
            got = np.where(np.isnan(want) & np.isinf(got), want, got)
        np.testing.assert_allclose(got, want, rtol=1e-12, err_msg=f"{form} {seed}")


def parse(text: str) -> generate.Node:
    """The tree of an expression that is also one of Python."""
    import ast

    infix = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Lt: "<"}

    def node(e: ast.expr) -> generate.Node:
        match e:
            case ast.Constant(value):
                return ("num", value)
            case ast.Subscript(ast.Name(name), ast.Name(i)):
                return ("at", name, i)
            case ast.Subscript(ast.Name(name), ast.Tuple(ix)):
                return ("at", name, "".join(i.id for i in ix))
            case ast.Call(ast.Name(f), args):
                return (f, *map(node, args))
            case ast.Compare(a, [op], [b]):
                return (infix[type(op)], node(a), node(b))
            case ast.BinOp(a, op, b):
                return (infix[type(op)], node(a), node(b))
        raise TypeError(ast.dump(e))

    return node(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize("factor", (NAN, INF))
def test_an_empty_row_is_zero_whatever_it_meets(factor):
    dense = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    x, y = torch.tensor([1.0, factor]), torch.tensor([2.0, factor])
    for form in ("csr", "csc", "coo", "dcsr"):
        a = scorch.sparse(dense, form)
        assert scorch.evaluate("C[i] = A[i,j] * x[j] * y[i]", A=a, x=x, y=y).tolist() == [2, 0], form
        assert scorch.evaluate("C = A[i,j] * x[j] * y[i]", A=a, x=x, y=y).item() == 2, form
        assert scorch.einsum("ij,jk,i->ik", a, x[:, None], y).tolist() == [[2], [0]], form


@pytest.mark.parametrize("schedule", (None, "inner()", "inner(j)", "order(i, j, k)", "parallel(i)"))
def test_a_sum_of_nothing_makes_a_product_absent(schedule):
    a = scorch.sparse(torch.full((3, 3), INF), "csr")
    nothing = {"Y": torch.ones(3, 0), "x": torch.ones(0)}
    assert (
        scorch.evaluate("C[i] = A[i,j] * Y[j,k] * x[k]", A=a, **nothing, schedule=schedule).tolist()
        == [0] * 3
    )
    factor = torch.full((3,), INF)
    got = scorch.evaluate("C[i] = z[i] * Y[j,k] * x[k]", z=factor, **nothing, schedule=schedule)
    assert got.tolist() == [0] * 3


def test_a_sum_of_nothing_is_not_taken_first():
    a, nothing = scorch.sparse(torch.full((3, 3), INF), "csr"), {"Y": torch.ones(3, 0), "x": torch.ones(0)}
    for text in ("inner(k)", "first(k)"):
        with pytest.raises(ValueError, match=f"are as '{text[:5]}"):
            scorch.evaluate("C[i] = A[i,j] * Y[j,k] * x[k]", A=a, **nothing, schedule=text)


@pytest.mark.parametrize(
    ("expression", "form", "wanted"),
    (
        (
            "C[k,j] = max(neg(A[k,j] <= A[k,j]), abs(A[j,j]) * (A[k,j] * A[k,j]))",
            "coo",
            lambda a: a**2 * a.diag(),
        ),
        ("C[i,j] += A[i,j] + 0 * b[k]", "csr", lambda a: 5 * a),
        ("C += A[i,l] * 0 + 0.5 * A[i,j]", "bsr(2,2)", lambda a: 0.5 * 6 * a.sum()),
        ("C[i] += A[i,j] * 0 - min(2, 3 * A[j,i])", "csc", lambda a: -(3 * a).clamp(max=2).sum(0)),
    ),
)
def test_numbers_that_make_terms_absent(expression, form, wanted):
    dense = torch.tensor([2.0, 0, 0, 1, 0, 3]).outer(torch.tensor([1.0, 0, 2, 0, 0, 1]))
    dense += torch.eye(6) * (dense > 0)
    named = {"A": scorch.sparse(dense, form), "b": scorch.sparse(torch.ones(5), "coo")}
    if "b[" not in expression:
        del named["b"]
    got = scorch.evaluate(expression, **named)
    assert torch.equal(got.to_dense() if scorch.is_sparse(got) else got, wanted(dense))


@pytest.mark.parametrize(
    ("form", "wanted"), (("-({})", torch.neg), ("2 * ({})", lambda x: 2 * x), ("relu({})", torch.relu))
)
@pytest.mark.parametrize("entries", (0, 1, 20))
def test_a_sum_that_is_zero_asks_for_no_loops(form, wanted, entries):
    b = (torch.arange(64) < entries).float().reshape(8, 8)
    named = {"B": b, "E": torch.ones(8, 4), "H": torch.ones(8, 6, 8)}
    named = {name: scorch.sparse(x) for name, x in named.items()}
    text = f"R[l,j] = {form.format('B[j,l] * E[l,p] * F[q] + 0 * H[j,s,l]')}"
    got = scorch.evaluate(text, **named, F=torch.ones(2))
    assert got.format == "csr" and torch.equal(got.to_dense(), wanted(8 * b.T))


@pytest.mark.parametrize("dtype", TINY)
def test_denormals_are_kept(dtype):
    tiny = TINY[dtype]
    a = scorch.sparse(torch.tensor([[tiny, 0.0], [0.0, 1.0]], dtype=dtype))
    x = torch.tensor([1.0, tiny], dtype=dtype)
    assert (a @ x).tolist() == x.new_tensor([tiny, tiny]).tolist() and tiny > 0
    assert scorch.evaluate("C[i,j] = A[i,j] * 2", A=a).to_dense().tolist()[0][0] == x[1].item() * 2


def test_signed_zero_divides():
    a = scorch.sparse(torch.tensor([[1.0, 0.0], [0.0, -1.0]]))
    x = torch.tensor([[-0.0, 1.0], [1.0, 0.0]])
    c = scorch.evaluate("C[i,j] = A[i,j] / X[i,j]", A=a, X=x)
    c = c.to_dense() if scorch.is_sparse(c) else c
    assert c.tolist() == [[-INF, 0], [0, -INF]]


@pytest.mark.parametrize("other", ("csr", "csc"))
@pytest.mark.parametrize(
    "format",
    (
        "csr",
        "dense(1/2), dense(0), compressed(1%2)",
        "dense(0), dense(1/2), compressed(1%2)",
        "dense(0/2), dense(1/2), dense(0%2), compressed(1%2)",
        "dense(0/2), dense(1), compressed(0%2)",
    ),
)
def test_rows_that_share_no_entry_leave_their_factor_out(format, other):
    a = torch.zeros(4, 4)
    a[0, 1] = a[1, 0] = a[3, 2] = 1
    b = torch.zeros(4, 4)
    b[0, 0] = b[1, 0] = b[2, 3] = 1
    named = {"A": scorch.sparse(a, format=format), "B": scorch.sparse(b, format=other)}
    d = torch.tensor([NAN, 1.0, INF, NAN])
    assert scorch.evaluate("R = A[k,j] * B[k,j] * D[k]", **named, D=d).item() == 1
    turned = {"A": named["A"], "B": scorch.sparse(b.T, format=other)}
    assert scorch.evaluate("R = A[k,j] * B[j,k] * D[k]", **turned, D=d).item() == 1

"""Values everywhere, and others where entries are stored: dense operands beside sparse ones, no product."""

import pytest
import torch

import scorch

NAN, INF = float("nan"), float("inf")
FORMATS = ("csr", "csc", "coo", "dcsr", "bsr(2,3)", "bitmask", "ell(4)", "dia(4)", "csr of band(-1,1) + csr")
FORMATS += ("sell(2,4)",)
ASSIGNED = (
    ("C[i,j] = X[i,j] - A[i,j]", lambda x, a, b, v: x - a),
    ("C[i,j] = A[i,j] - X[i,j]", lambda x, a, b, v: a - x),
    ("C[i,j] = max(X[i,j], A[i,j])", lambda x, a, b, v: torch.maximum(x, a)),
    ("C[i,j] = relu(v[j] + A[i,j])", lambda x, a, b, v: torch.relu(v + a)),
    ("C[i,j] = 2 * X[i,j] * v[j] - A[i,j]", lambda x, a, b, v: 2 * x * v - a),
    ("C[i,j] = X[i,j] + A[i,j] * B[i,j]", lambda x, a, b, v: x + a * b),
    ("C[i,j] = X[i,j] + A[i,j] - B[i,j]", lambda x, a, b, v: x + a - b),
    ("C[i,j] = 1 + A[i,j]", lambda x, a, b, v: 1 + a),
    ("C[j,i] = X[i,j] - A[i,j]", lambda x, a, b, v: (x - a).T),
)
REDUCED = (
    ("y[i] max= X[i,j] + A[i,j]", lambda x, a, b, v: (x + a).amax(1)),
    ("y[j] min= X[i,j] - A[i,j]", lambda x, a, b, v: (x - a).amin(0)),
    ("y[i] += relu(X[i,j] - A[i,j]) * v[j]", lambda x, a, b, v: torch.relu(x - a) @ v),
    ("y[i] += abs(v[j] + A[i,j]) * B[i,j]", lambda x, a, b, v: ((v + a).abs() * b).sum(1)),
    ("s += (X[i,j] - A[i,j]) * (X[i,j] - B[i,j])", lambda x, a, b, v: ((x - a) * (x - b)).sum()),
    ("s max= X[i,j] - A[i,j]", lambda x, a, b, v: (x - a).max()),
)


def numbers(*shape, zeros=0.0):
    kept = torch.rand(*shape) >= zeros
    return torch.randint(-9, 10, shape).float() * kept


def operands(expression, shape, format, dtype=torch.float32):
    """The operands that an expression reads, of integers, and all of them dense."""
    x, v = numbers(*shape).to(dtype), numbers(shape[1]).to(dtype)
    a, b = (torch.zeros(shape, dtype=dtype) for _ in range(2))
    for t in (a, b):  # four entries a row and four diagonals are what some formats hold
        for i in range(shape[0]):
            t[i, [j for j in range(i - 2, i + 2) if 0 <= j < shape[1] and torch.rand(()) < 0.6]] = 3
        t.mul_(numbers(*shape).to(dtype))
    made = {"X": x, "A": scorch.sparse(a, format=format), "B": scorch.sparse(b, format=format), "v": v}
    return {k: t for k, t in made.items() if f"{k}[" in expression}, (x, a, b, v)


@pytest.mark.parametrize("shape", [(12, 9), (2, 6), (66, 48)], ids=str)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "expression, dense", [*ASSIGNED, *REDUCED], ids=[e for e, _ in (*ASSIGNED, *REDUCED)]
)
def test_as_dense(expression, dense, format, shape):
    torch.manual_seed(len(expression))
    given, all_dense = operands(expression, shape, format)
    made = scorch.evaluate(expression, **given)
    assert isinstance(made, torch.Tensor) and not isinstance(made, scorch.SparseTensor)
    assert torch.equal(made, dense(*all_dense))


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64], ids=str
)
@pytest.mark.parametrize(
    "expression, dense", [ASSIGNED[0], ASSIGNED[2], REDUCED[0]], ids=["minus", "max", "row"]
)
def test_types(expression, dense, dtype):
    torch.manual_seed(1)
    given, all_dense = operands(expression, (40, 70), "csr", dtype)
    assert torch.equal(scorch.evaluate(expression, **given), dense(*all_dense))


@pytest.mark.parametrize("extent", [1, 5, 33])
def test_vectors_and_more_dimensions(extent):
    torch.manual_seed(extent)
    x, a = numbers(extent), numbers(extent, zeros=0.5)
    made = scorch.evaluate("c[i] = x[i] - a[i]", x=x, a=scorch.sparse(a, format="compressed(0)"))
    assert torch.equal(made, x - a)
    x, a = numbers(4, extent, 6), numbers(4, extent, 6, zeros=0.7)
    T = scorch.sparse(a, format="csf")
    assert torch.equal(scorch.evaluate("C[i,j,k] = X[i,j,k] - T[i,j,k]", X=x, T=T), x - a)
    assert torch.equal(scorch.evaluate("C[i,j] max= X[i,j,k] - T[i,j,k]", X=x, T=T), (x - a).amax(2))


def test_nothing_is_multiplied_by_what_is_not_stored():
    x = torch.tensor([[NAN, INF, -INF, 1.0], [NAN, INF, -INF, 1.0]])
    a = torch.tensor([[0.0, 0.0, 0.0, 2.0], [1.0, 1.0, 0.0, 0.0]])
    A = scorch.sparse(a, format="csr")
    made = scorch.evaluate("C[i,j] = X[i,j] * A[i,j] + 1", X=x, A=A)
    want = torch.tensor([[1.0, 1.0, 1.0, 3.0], [NAN, INF, 1.0, 1.0]])
    assert torch.equal(made.nan_to_num(7), want.nan_to_num(7))
    made = scorch.evaluate("y[i] max= X[i,j] + A[i,j]", X=x[:, 1:], A=scorch.sparse(a[:, 1:], format="csr"))
    assert torch.equal(made, torch.tensor([INF, INF]))


def test_an_empty_operand_leaves_what_is_everywhere():
    x = numbers(30, 20)
    A = scorch.sparse(torch.zeros(30, 20), format="csr")
    assert torch.equal(scorch.evaluate("C[i,j] = X[i,j] - A[i,j]", X=x, A=A), x)
    none = scorch.sparse(torch.zeros(0, 20), format="csr")
    assert scorch.evaluate("C[i,j] = X[i,j] - A[i,j]", X=x[:0], A=none).shape == (0, 20)


@pytest.mark.parametrize("expression", ["C[i,j] = X[i,j] - A[i,j]", "y[i] max= X[i,j] - A[i,j]"])
def test_no_coordinate_is_looked_up(expression):
    given, _ = operands(expression, (64, 48), "csr")
    loops = str(scorch.explain(expression, **given)).split("its loops")[1].split("plan")[0]
    assert "vec j" in loops and "for j in A" in loops and "merge" not in loops


@pytest.mark.parametrize("f", [torch.add, torch.sub, torch.maximum, torch.minimum])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)"])
def test_functions_of_torch(f, swapped, format):
    torch.manual_seed(3)
    x, a = numbers(24, 18), numbers(24, 18, zeros=0.6)
    for other in (x, x[0], x[:, :1]):
        A = scorch.sparse(a, format=format).requires_grad_()
        d = a.clone().requires_grad_()
        y, z = other.clone().requires_grad_(), other.clone().requires_grad_()
        made, want = (f(y, A), f(z, d)) if swapped else (f(A, y), f(d, z))
        assert torch.equal(made, want)
        made.square().sum().backward()
        want.square().sum().backward()
        stored = a != 0
        assert torch.allclose(y.grad, z.grad) and torch.allclose(A.grad.to_dense()[stored], d.grad[stored])


# what is left where one operand has no entry may be absent too: nobody would fill a workspace with it
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr"])
def test_what_is_left_may_be_absent(format):
    torch.manual_seed(5)
    d, b = numbers(17, 5, zeros=0.6), numbers(17, 4, 5, zeros=0.7)
    D, T = scorch.sparse(d, format=format), scorch.sparse(b, format="csf")
    made = scorch.evaluate("R[i,j] += D[i,k] - T[i,j,k]", D=D, T=T)
    assert torch.equal(made.to_dense(), (d[:, None] - b).sum(2))
    v, a = numbers(130, zeros=0.7), numbers(70, 130, zeros=0.8)
    V, A = scorch.sparse(v, format="coo"), scorch.sparse(a, format=format)
    made = scorch.evaluate("R[i] += max(2 * V[j], A[i,j] - V[j])", V=V, A=A)
    assert torch.equal(made.to_dense(), torch.maximum(2 * v, a - v).sum(1))
    made = scorch.evaluate("R[i,j] = V[j] - A[i,j]", V=V, A=A)
    assert torch.equal(made.to_dense(), v - a)
    made = scorch.evaluate("R[i] max= V[j] - A[i,j]", V=V, A=A)
    assert torch.equal(made.to_dense(), (v - a).amax(1))
    x, u = numbers(70, 130), numbers(130, zeros=0.5)
    U = scorch.sparse(u, format="coo")
    made = scorch.evaluate("R[j] += X[i,j] > max(A[i,j], U[j])", X=x, A=A, U=U)
    assert torch.equal(made.to_dense(), (x > torch.maximum(a, u)).float().sum(0))
    made = scorch.evaluate("t[i] += A[i,j]; R[i,j] = t[i] - A[i,j]", A=A)[-1]
    assert torch.equal(made.to_dense(), a.sum(1, True) - a)


@pytest.mark.parametrize("f", [torch.add, torch.sub, torch.maximum, torch.minimum])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_number_that_is_zero_takes_its_whole_gradient(f, swapped):
    d = torch.tensor([[1.0, 0.0], [0.0, -2.0]])
    grads = []
    for a in (scorch.sparse(d), d):
        x = torch.tensor(0.0, requires_grad=True)
        made = f(x, a) if swapped else f(a, x)
        (made.to_dense() * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        grads.append(x.grad)
    assert torch.equal(*grads)


def test_a_choice_of_a_number_that_is_zero():
    A, x = scorch.sparse(torch.tensor([[1.0, 0.0], [0.0, 2.0]])), torch.tensor(0.0, requires_grad=True)
    torch.where(A > 1, A, x).to_dense().sum().backward()
    assert x.grad == 3


@pytest.mark.parametrize("f", [torch.maximum, torch.minimum])
def test_extrema_with_nan_have_the_gradient_of_torch(f):
    d, nan = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[NAN, 0.0], [0.0, 5.0]])
    x, z, A, dense = nan.clone(), nan.clone(), scorch.sparse(d), d.clone()
    for t in (x, z, A, dense):
        t.requires_grad_()
    f(x, A).sum().backward()
    f(z, dense).sum().backward()
    assert torch.equal(x.grad, z.grad) and torch.equal(A.grad.to_dense()[d != 0], dense.grad[d != 0])

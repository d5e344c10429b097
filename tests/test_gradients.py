"""Gradients: to dense operands and to stored values, of every kind of program, by derived programs.

The derivation itself is checked against differences of the oracle in tests/c/test_derive.c; here is what
torch makes of it: first and second derivatives, eager, transformed and compiled, and the memory they take.
"""

import itertools
import resource
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

import scorch
from scorch import _C
from scorch.functions.gradients import gradients_of
from scorch.functions.program import TAB, known_program

FORMATS = ["csr", "csc", "coo", "dcsr", "bsr(2,2)", "ell(4)", "dia(4)", "sell(4,8)"]


def matrix(rows=6, cols=4, seed=0):
    g = torch.Generator().manual_seed(seed)
    d = torch.randn(rows, cols, generator=g, dtype=torch.float64)
    return d * (torch.rand(rows, cols, generator=g) < 0.6)


def randn(*shape, seed=1):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def dense(x):
    return x.to_dense() if scorch.is_sparse(x) else x


def stored(a):
    """Where a has entries, as 0 and 1."""
    return a.detach()._with_values(torch.ones(a.nnz, dtype=torch.float64)).to_dense()


def compare(f, reference, d, fmt, *xs):
    """f of a sparse tensor against reference of a dense one: values, and gradients to all operands."""
    a = scorch.sparse(d, fmt).requires_grad_()
    b = d.clone().requires_grad_()
    ours, theirs = ([x.clone().requires_grad_() for x in xs] for _ in range(2))
    y, z = f(a, *ours), reference(b, *theirs)
    torch.testing.assert_close(dense(y), z)
    weight = randn(*z.shape, seed=9)
    (dense(y) * weight).sum().backward()
    (z * weight).sum().backward()
    assert a.grad._fmt == a._fmt
    torch.testing.assert_close(a.grad.to_dense(), b.grad * stored(a))
    for x, want in zip(ours, theirs, strict=True):
        torch.testing.assert_close(x.grad, want.grad)


PRODUCTS = {
    "A @ x": (lambda a, x: a @ x, [(4, 3)]),
    "A @ v": (lambda a, x: a @ x, [(4,)]),
    "x @ A": (lambda a, x: x @ a, [(3, 6)]),
    "A.T @ x": (lambda a, x: a.T @ x, [(6, 3)]),
    "linear": (lambda a, x, b: F.linear(x, a, b), [(3, 4), (6,)]),
    "relu(A) @ x": (lambda a, x: torch.relu(a) @ x, [(4, 2)]),
    "(2 * A) @ x": (lambda a, x: (2 * a) @ x, [(4, 2)]),
    "A @ A.T @ x": (lambda a, x: a @ (a.T @ x), [(6, 2)]),
}


@pytest.mark.sampled
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(fmt, name):
    f, shapes = PRODUCTS[name]
    compare(f, f, matrix(), fmt, *(randn(*s, seed=k + 3) for k, s in enumerate(shapes)))


# ---- first and second derivatives of programs, to the values and to dense operands ----
PROGRAMS = {
    "C[i,k] = A[i,j] * x[j,k]": {"x": (4, 2)},
    "C[i,k] = tanh(A[i,j] * x[j,k] + b[k])": {"x": (4, 2), "b": (2,)},
    "C[i,j] = A[i,j] * q[i,k] * k[j,k]": {"q": (6, 2), "k": (4, 2)},
    "C[j] = A[i,j] * x[i] * x[i]": {"x": (6,)},
    "C = exp(A[i,j] * x[j]) * y[i]": {"x": (4,), "y": (6,)},
    "C[i] = sigmoid(A[i,j] * x[j]) / (1 + y[i] * y[i])": {"x": (4,), "y": (6,)},
    "C[i,j] = tanh(A[i,j])": {},
    "s[i] = A[i,j] * A[i,j]": {},
    "C[i,j] = A[i,j] * d[i] / e[j]": {"d": (6,), "e": (4,)},
    "t[i] = A[i,j] * x[j]; C[i] = t[i] * tanh(t[i])": {"x": (4,)},
    "C[i] = A[i,j] * x[j]; D[j] = A[i,j] * y[i]": {"x": (4,), "y": (6,)},
    "C[i] = A[i,j] * max(x[j] + y[i], 0.2 * (x[j] + y[i]))": {"x": (4,), "y": (6,)},
    "e[i] = A[i,j] * A[i,j] * exp(max(x[j] + y[i], 0.2 * (x[j] + y[i])));"
    " C[i,f] = A[i,j] * exp(max(x[j] + y[i], 0.2 * (x[j] + y[i]))) * z[j,f] / (1 + e[i])": {
        "x": (4,),
        "y": (6,),
        "z": (4, 2),
    },
    "C = w[k] * (A[i,j] + y[k] * x[j])": {"w": (3,), "y": (3,), "x": (4,)},  # what A adds to has no index
    "tmp t[i] = A[i,j] * x[j]; C[i] = t[i] * tanh(t[i]); D = t[i] * y[i]": {"x": (4,), "y": (6,)},
}


def call(expression, fmt):
    """The operands that are differentiated, and the program as a function of the values and of them."""
    a = scorch.sparse(matrix(), fmt)
    names = list(PROGRAMS[expression])
    xs = [randn(*shape, seed=5 + k) for k, shape in enumerate(PROGRAMS[expression].values())]

    def f(values, *xs):
        result = scorch.evaluate(expression, A=a._with_values(values), **dict(zip(names, xs, strict=True)))
        several = result if isinstance(result, tuple) else (result,)
        return tuple(x.values() if scorch.is_sparse(x) else x for x in several)

    return [x.requires_grad_() for x in (a.values().clone(), *xs)], f


@pytest.mark.sampled
@pytest.mark.parametrize("expression", PROGRAMS)
def test_gradcheck(expression):
    operands, f = call(expression, "csr")
    assert torch.autograd.gradcheck(f, operands)
    assert torch.autograd.gradgradcheck(f, operands)


def gradient_text(expression: str, wanted: str, **operands: torch.Tensor) -> str:
    """The index notation of the gradients to these operands, given that of the last result."""
    kinds = tuple((x.dim(), x._fmt) if scorch.is_sparse(x) else None for x in operands.values())
    program = known_program(expression, tuple(operands), kinds, None, None, "zero")
    ranks = tuple(x.dim() for x in operands.values())
    mask = sum(1 << k for k, name in enumerate(operands) if name in wanted)
    given = 1 << expression.count(";")
    return "; ".join(g.program.split(TAB)[0] for g in gradients_of(program, ranks, mask, given))


def test_what_gradients_sum_is_computed_once():
    """Both scores of GAT get sums of the same numbers at the entries, along rows and along columns."""
    a, x, y, z = scorch.sparse(matrix(), "csr"), randn(4), randn(6), randn(4, 2)
    weight = "A[i,j] * exp(max(x[j] + y[i], 0.2 * (x[j] + y[i])))"
    text = gradient_text(f"e[i] = {weight}; C[i,f] = {weight} * z[j,f] / e[i]", "xy", A=a, x=x, y=y, z=z)
    normalised, shared, *sums = text.split("; ")
    assert normalised.startswith("grad1[i] = ") and shared.count("exp(") == shared.count("A[i,j]") == 1
    assert sums == ["x_grad[j] = t2[i,j]", "y_grad[i] = t2[i,j]"]
    text = gradient_text("C[i] = A[i,j] * exp(x[j] - y[i])", "xy", A=a, x=x, y=y)
    assert text.endswith("x_grad[j] = t1[i,j]; y_grad[i] = -1 * t1[i,j]")
    text = gradient_text("C = A[i,j] * (x[i] - y[j]) * (x[i] - y[j])", "x", A=a, x=y, y=x)
    assert text == "x_grad[i] = 2 * C_grad * (x[i] - y[j]) * A[i,j]"


def test_gradients_of_dense_products_stay_products():
    """Which a library takes: nothing sparse is visited twice."""
    x, y, z = randn(4, 4), randn(4, 4), randn(4, 4)
    text = gradient_text("C[i,k] = x[i,j] * y[j,k] + x[i,j] * z[j,k]", "x", x=x, y=y, z=z)
    assert text.count("C_grad") == 2


def sandwich(bad=0.0, empty=3):
    """X, A, Y where row ``empty`` of A has no entry, and X has ``bad`` beside it."""
    d = matrix(300, 300).index_fill(0, torch.tensor(empty), 0)
    x = randn(300, 24)
    x[empty] = bad
    return x, scorch.sparse(d, "csr"), randn(300, 24, seed=4)


def test_what_gradients_read_is_kept():
    """The product of A and Y is what the gradient to X multiplies: it is saved, and computed once."""
    x, a, y = sandwich()
    leaves = [x.requires_grad_(), a.requires_grad_(), y.requires_grad_()]
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        got = scorch.einsum("if,ij,jg->fg", *leaves)
    middle = a.detach().to_dense() @ y.detach()
    assert any(t.shape == middle.shape and torch.allclose(dense(t), middle) for t in saved)
    twins = [dense(t.detach()).clone().requires_grad_() for t in leaves]
    want = torch.einsum("if,ij,jg->fg", *twins)
    torch.testing.assert_close(got, want)
    first, theirs = (
        torch.autograd.grad(r.square().sum(), z, create_graph=True) for r, z in ((got, leaves), (want, twins))
    )
    torch.testing.assert_close(dense(first[1]), theirs[1] * stored(a))
    for k in (0, 2):
        torch.testing.assert_close(first[k], theirs[k])
    ours, others = (
        torch.autograd.grad(g[0].square().sum(), z) for g, z in ((first, leaves), (theirs, twins))
    )
    for k in (0, 2):
        torch.testing.assert_close(ours[k], others[k])


@pytest.mark.parametrize("narrow", [torch.bfloat16, torch.float16])
def test_what_is_kept_is_not_rounded(narrow):
    """1 + 2^-14 is no number of these types; what is left when the ones have cancelled is."""
    a = scorch.sparse(torch.eye(300).index_fill(1, torch.tensor([0, 1]), 1), "csr").to(narrow)
    sign = torch.tensor([1, -1], dtype=narrow).repeat(12)
    y = torch.zeros(300, 24, dtype=narrow)
    y[0], y[1] = 1, sign * 2**-14
    x = torch.zeros(300, 24, dtype=narrow, requires_grad=True)
    scorch.einsum("if,ij,jg->fg", x, a, y).backward(sign.expand(24, 24))
    assert (x.grad[5] == 24 * 2**-14).all()


@pytest.mark.parametrize("bad", [torch.inf, torch.nan])
def test_what_is_kept_makes_no_other_numbers(bad):
    """Where a row of A has no entry there is no term, whatever stands beside it."""
    x, a, y = sandwich(bad)
    want = scorch.einsum("if,ij,jg->fg", x, a, y)
    assert want.isfinite().all()
    assert torch.allclose(scorch.einsum("if,ij,jg->fg", x.requires_grad_(), a, y), want)


@pytest.mark.sampled
@pytest.mark.parametrize("fmt", ["csc", "coo", "bsr(2,2)"])
@pytest.mark.parametrize("expression", list(PROGRAMS)[:3])
def test_gradcheck_of_formats(fmt, expression):
    operands, f = call(expression, fmt)
    assert torch.autograd.gradcheck(f, operands)
    assert torch.autograd.gradgradcheck(f, operands)


def test_second_derivatives_of_a_long_program():
    """More operands and assignments than a program of sixteen holds, more workspaces than the alphabet."""
    d, options = matrix(4, 4), {"w": 2.0}
    b, c, e, f, g = (randn(4, seed=k) for k in range(5))
    text = "H[i] = tanh(A[i,j] * b[i] * c[j] + e[i]); O[i] = sigmoid(A[i,j] * H[j] * f[j] + g[i]) * w"

    def dense(a, b, c, e, f, g):
        return torch.sigmoid(a @ (torch.tanh(b * (a @ c) + e) * f) + g) * options["w"]

    def sparse(a, b, c, e, f, g):
        return scorch.evaluate(text, A=a, b=b, c=c, e=e, f=f, g=g, **options)[-1]

    found = []
    for call, a in ((sparse, scorch.sparse(d, "csr")), (dense, d)):
        leaves = [x.clone().requires_grad_() for x in (a, b, c, e, f, g)]
        first = torch.autograd.grad(call(*leaves).square().sum(), leaves, create_graph=True)
        of_a = first[0].values() if scorch.is_sparse(a) else first[0][d != 0]
        loss = of_a.square().sum() + sum(x.square().sum() for x in first[1:])
        to_a, *second = torch.autograd.grad(loss, leaves)
        found.append([to_a.values() if scorch.is_sparse(a) else to_a[d != 0], *second])
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("fmt", ["csr", "coo"])
def test_gradcheck_of_products(fmt):
    a, x = scorch.sparse(matrix(), fmt), randn(4, 2).requires_grad_()
    values = a.values().clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda v, x: a._with_values(v) @ x, (values, x))
    assert torch.autograd.gradgradcheck(lambda v, x: F.linear(x.T, a._with_values(v)), (values, x))


def test_sparse_times_sparse():
    a, b = scorch.sparse(matrix(5, 4), "csr"), scorch.sparse(matrix(4, 6, seed=2), "csr")
    v, w = (x.values().clone().requires_grad_() for x in (a, b))

    def f(v, w):
        return (a._with_values(v) @ b._with_values(w)).values()

    assert torch.autograd.gradcheck(f, (v, w))
    assert torch.autograd.gradgradcheck(f, (v, w))


def test_extremes_share_their_gradient():
    x = torch.tensor([[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]], requires_grad=True)
    scorch.evaluate("m[i] max= X[i,j]", X=x).sum().backward()
    assert x.grad.tolist() == [[0, 0.5, 0.5], [1, 0, 0]]
    y = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    z = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    scorch.evaluate("C[i] = max(y[i], z[i])", y=y, z=z).sum().backward()
    assert y.grad.tolist() == [0.5, 0, 1] and z.grad.tolist() == [0.5, 1, 0]


def test_diagonals_and_broadcasts():
    x = randn(4, 4).requires_grad_()
    scorch.einsum("ii->i", x).pow(2).sum().backward()
    torch.testing.assert_close(x.grad, torch.diag(2 * x.detach().diagonal()))
    x.grad = None
    scorch.einsum("ij->j", x).sum().backward()
    assert torch.equal(x.grad, torch.ones(4, 4, dtype=torch.float64))


def test_diagonals_of_results():
    """The extent of a diagonal is that of an operand, also where no operand has two such dimensions."""
    x, y, weight = randn(4).requires_grad_(), randn(4, 3).requires_grad_(), randn(4, 4)
    text = "tmp s[j] = y[j,k]; C[i,j] = x[i] * s[j]; d[i] = C[i,i]; t = C[i,i]"
    given = torch.autograd.grad(loss_of(scorch.evaluate(text, x=x, y=y), weight), [x, y])
    C = x[:, None] * y.sum(1)
    expected = torch.autograd.grad(loss_of((C, C.diagonal(), C.trace()), weight), [x, y])
    torch.testing.assert_close(given, expected)


def loss_of(made, weight):
    C, d, t = made
    return (C * weight).sum() + d.pow(2).sum() + t.pow(2)


# ---- a SparseTensor as a torch tensor ----
def test_the_gradient_is_sparse_and_accumulates():
    a = scorch.sparse(matrix(), "csr").requires_grad_()
    x = randn(4, 3)
    assert a.requires_grad and a.is_leaf and a.grad is None
    (a @ x).sum().backward()
    first = a.grad.to_dense()
    assert scorch.is_sparse(a.grad) and a.grad.pos(1).data_ptr() == a.pos(1).data_ptr()
    (a @ x).sum().backward()
    torch.testing.assert_close(a.grad.to_dense(), 2 * first)
    (b,) = torch.autograd.grad((a @ x).sum() + (a.T @ randn(6, 2)).sum(), a)
    assert scorch.is_sparse(b)
    with pytest.raises(NotImplementedError, match="in place"):
        a.mul_(2)
    with torch.no_grad():
        a.mul_(2)


def test_values_lead_both_ways():
    a = scorch.sparse(matrix(), "csr")
    values = torch.nn.Parameter(a.values().clone())
    b = scorch.from_components("csr", a.shape, [None, a.pos(1)], [None, a.crd(1)], values)
    assert b.requires_grad and not b.is_leaf
    b.values().pow(2).sum().backward()
    torch.testing.assert_close(values.grad, 2 * values.detach())
    values.grad = None
    b.to_dense().pow(2).sum().backward()
    torch.testing.assert_close(values.grad, 2 * values.detach())


@pytest.mark.parametrize("fmt", ["csc", "coo", "bsr(2,2)", "csr"])
def test_conversions(fmt):
    d, x = matrix(), randn(4, 2)
    compare(lambda a, x: a.convert(fmt) @ x, lambda a, x: a @ x, d, "csr", x)
    compare(lambda a, x: a.to_dense() @ x, lambda a, x: a @ x, d, fmt, x)
    compare(lambda a, x: a.to(torch.float32).to(torch.float64) @ x.float().double(),
            lambda a, x: a.float().double() @ x.float().double(), d, fmt, x)  # fmt: skip


def test_made_from_what_requires_a_gradient():
    d = matrix().requires_grad_()
    (scorch.sparse(d, "csr") @ randn(4, 2)).sum().backward()
    torch.testing.assert_close(d.grad, (torch.ones(6, 2, dtype=torch.float64) @ randn(4, 2).T) * (d != 0))
    edges = torch.tensor([[0, 1, 2, 0], [1, 2, 0, 1]])
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda w: scorch.from_edge_index(edges, w, num_nodes=4, normalize="sym") @ torch.eye(4).double(),
        weight,
    )


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_training(optimizer):
    d, x, y = matrix(), randn(4, 5), randn(6, 5)
    a = torch.nn.Parameter(scorch.sparse(d, "csr"))
    values = torch.nn.Parameter(a.detach().values().clone())
    for parameter, tensor in ((a, lambda: a), (values, lambda: a.detach()._with_values(values))):
        steps = optimizer([parameter], lr=0.1)
        for _ in range(3):
            steps.zero_grad()
            F.mse_loss(tensor() @ x, y).backward()
            steps.step()
        if parameter is a:
            trained = a.detach().values().clone()
    torch.testing.assert_close(values.detach(), trained)


def test_changed_values_are_noticed_in_backward():
    a, x = scorch.sparse(matrix(), "csr").requires_grad_(), randn(4, 2).requires_grad_()
    y = a @ x
    with torch.no_grad():
        a.values().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("format", ["csr", "bsr(2,2) of blocks(2,2,0.9) + csr"])
def test_values_of_what_was_computed_refuse_recorded_writes(format):
    """The tensor would not know of them, and its gradients would be wrong; no_grad records none."""
    a = scorch.sparse(matrix(), format).requires_grad_()
    b = a * 1
    for values in (b.values(), b[1:].values(), b.values()[:2]):
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            values.mul_(3)
    with torch.no_grad():
        b.values().mul_(3)
    (b * b).sum().backward()
    torch.testing.assert_close(a.grad.values(), 6 * a.values().detach())


class _Product(torch.autograd.Function):
    """A @ x, as users write it: what goes to A is dense."""

    @staticmethod
    def forward(ctx, a, x):
        ctx.save_for_backward(a, x)
        return a @ x

    @staticmethod
    def backward(ctx, grad):
        a, x = ctx.saved_tensors
        return grad @ x.T, a.T @ grad


@pytest.mark.parametrize("format", ["csr", "coo", "bsr(2,2)", "ell(4)", "csr of rows(> 2) + csr"])
def test_dense_gradients_of_users_are_those_of_entries(format):
    x = randn(4, 3)
    whole, part = (torch.nn.Parameter(scorch.sparse(matrix(), format)) for _ in range(2))
    for first in (True, False):
        for f in (torch.matmul, _Product.apply)[:: 1 if first else -1]:
            f(part, x).sum().backward()
            assert scorch.is_sparse(part.grad)
    for _ in range(4):
        (whole @ x).sum().backward()
    torch.testing.assert_close(part.grad.values(), whole.grad.values())
    assert torch.nn.utils.clip_grad_norm_([part], 1.0) == torch.nn.utils.clip_grad_norm_([whole], 1.0)
    part.grad = None
    assert part.grad is None
    part.register_hook(lambda g: g + torch.ones(6, 4))
    (part @ x).sum().backward()
    plain = torch.nn.Parameter(scorch.sparse(matrix(), format))
    (plain @ x).sum().backward()
    ones = scorch.map(plain.detach(), torch.ones_like)
    torch.testing.assert_close(part.grad.values(), (plain.grad + ones).values())


def test_values_of_a_leaf_can_be_kept_over_steps():
    a = scorch.sparse(matrix(), "csr").requires_grad_()
    values, steps = a.values(), torch.optim.SGD([a], lr=0.1)
    for _ in range(2):
        expected = 0.8 * a.values().detach()
        a.grad = None
        (values**2).sum().backward()
        steps.step()
        torch.testing.assert_close(a.values().detach(), expected)


# ---- transforms ----
@pytest.mark.parametrize("expression", list(PROGRAMS)[:6])
def test_transforms_over_values_and_dense_operands(expression):
    operands, f = call(expression, "csr")
    operands = [x.detach() for x in operands]

    def loss(*xs):
        return sum(y.pow(2).sum() for y in f(*xs))

    names = tuple(range(len(operands)))
    tracked = [x.clone().requires_grad_() for x in operands]
    want = torch.autograd.grad(loss(*tracked), tracked)
    for got, expected in zip(torch.func.grad(loss, names)(*operands), want, strict=True):
        torch.testing.assert_close(got, expected)
    tangents = [randn(*x.shape, seed=20 + k) for k, x in enumerate(operands)]
    _, tangent = torch.func.jvp(loss, tuple(operands), tuple(tangents))
    torch.testing.assert_close(tangent, sum((g * t).sum() for g, t in zip(want, tangents, strict=True)))


def test_batches():
    a, x = scorch.sparse(matrix(), "csr"), randn(5, 4, 2)
    got = torch.func.vmap(lambda x: scorch.evaluate("C[i,k] = relu(A[i,j] * x[j,k])", A=a, x=x))(x)
    torch.testing.assert_close(got, torch.relu(matrix() @ x))
    values = torch.stack([a.values() * k for k in range(3)])
    got = torch.func.vmap(lambda v: a._with_values(v) @ x[0])(values)
    torch.testing.assert_close(got, torch.stack([k * matrix() @ x[0] for k in range(3)]))


def stored_softmax(a):
    return torch.softmax(a.masked_fill(a == 0, -torch.inf), 1).nan_to_num(0)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_softmax_of_levels_in_any_order(order, log):
    """Its values are those of the same entries, in the format of the tensor."""
    d = randn(2, 3, 4).masked_fill(randn(2, 3, 4) > 0.5, 0)
    for kinds in itertools.product(("dense", "compressed"), repeat=3):
        a = scorch.sparse(d, ", ".join(f"{k}({n})" for k, n in zip(kinds, order, strict=True)))
        if not scorch.is_sparse(a):
            continue
        stored = a._with_values(torch.ones_like(a.values())).to_dense() > 0
        for dim in range(3):
            x, weights = d.clone().requires_grad_(), randn(2, 3, 4)
            held = x.masked_fill(~stored, -torch.inf).softmax(dim).nan_to_num(0)
            want = torch.where(stored, held.clamp(min=1e-300).log() if log else held, 0)
            (want * weights).sum().backward()
            f, b = torch.log_softmax if log else torch.softmax, a.detach().clone().requires_grad_()
            for got in (f(a, dim), f(b, dim), f(a, dim, dtype=torch.float64)):
                assert got.format == a.format
                torch.testing.assert_close(got.detach().to_dense(), want.detach())
            (f(b, dim).to_dense() * weights).sum().backward()
            torch.testing.assert_close(b.grad.to_dense(), torch.where(stored, x.grad, 0))


@pytest.mark.parametrize("fmt", ["csr", "coo"])
@pytest.mark.parametrize(
    ("f", "g"),
    [
        (lambda a, x: a @ x, None),
        (lambda a, x: F.linear(x.T, a), None),
        (lambda a, x: torch.softmax(a, 1) @ x, lambda a, x: stored_softmax(a) @ x),
        (lambda a, x: a[1:4] @ x, None),
        (lambda a, x: torch.cat([a, 2 * a]) @ x * a.sum(), None),
        (lambda a, x: a.amax(1) * x.sum(), None),
    ],
)
def test_transforms_of_what_is_made_of_values(f, g, fmt):
    d = matrix()
    a, x = scorch.sparse(d, fmt), randn(d.shape[1], 2)
    rows, columns = a.indices().long()

    def of_sparse(v, x):
        return f(scorch.map(a, lambda _: v), x)

    def of_dense(v, x):
        return (g or f)(torch.zeros_like(d).index_put((rows, columns), v), x)

    def square(h):
        return lambda v, x: h(v, x).square().sum()

    values, func = a.values().clone(), torch.func
    several = torch.stack([values, 2 * values]), torch.stack([x, 2 * x])
    for transformed in (
        lambda h: func.grad(square(h), (0, 1))(values, x),
        lambda h: func.jvp(h, (values, x), (values + 1, x - 1))[1],
        lambda h: func.jacrev(h, (0, 1))(values, x),
        lambda h: func.hessian(square(h), (0, 1))(values, x),
        lambda h: func.vmap(h, (None, 0))(values, several[1]),
        lambda h: func.vmap(func.grad(square(h), (0, 1)))(*several),
    ):
        torch.testing.assert_close(transformed(of_sparse), transformed(of_dense))


# ---- torch.compile ----
@pytest.mark.wide
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled(backend):
    torch._dynamo.reset()
    a, x = scorch.sparse(matrix(), "csr"), randn(4, 2)
    values, weight = a.values().clone().requires_grad_(), a.clone().requires_grad_()

    def of_values(values, x):
        return torch.tanh(F.linear(x.T, a._with_values(values))).sum()

    def of_tensor(weight, x):
        return torch.tanh(weight @ x).sum()

    for f, leaf in ((of_values, values), (of_tensor, weight)):
        f(leaf, x).backward()
        want, leaf.grad = dense(leaf.grad), None
        torch.compile(f, backend=backend, fullgraph=True)(leaf, x).backward()
        torch.testing.assert_close(dense(leaf.grad), want)
    torch._dynamo.reset()


@pytest.mark.parametrize("expression", list(PROGRAMS)[:4])
def test_opcheck(expression):
    a = scorch.sparse(matrix(), "csr")
    names = PROGRAMS[expression]
    lines = ["A:2:csr", *(f"{name}::" for name in names)]
    xs = [randn(*shape).requires_grad_() for shape in names.values()]
    program = "\t".join([expression, *lines])
    args = (program, [a.pos(1), a.crd(1), a.values().clone().requires_grad_(), *xs], [6, 4])
    torch.library.opcheck(torch.ops.scorch.program.default, args)


# ---- derived programs ----
def test_one_program_gives_all_gradients():
    program, sources, results = _C.gradient("ij,jk->ik\t:2:csr\t::", (2, 2), 3, 1)
    assert program.split("\t") == [
        "A_grad[i,j] = stored(A[i,j]) * out_grad[i,k] * B[j,k]; B_grad[j,k] = out_grad[i,k] * A[i,j]",
        "A:2:csr", "B::", "out_grad::", "!ask", "!like 0 0", "!ask 2:dense",
    ]  # fmt: skip
    assert sources == (("operand", 0, 0), ("operand", 1, 0), ("gradient", 0, 0)) and results == (
        (0, 0, 0),
        (1, 0, 1),
    )


MEMORY = """
import resource, torch, scorch
import torch.nn.functional as F
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
n, nnz = 12000, 60000
g = torch.Generator().manual_seed(0)
indices = torch.randint(0, n, (2, nnz), generator=g)
W = torch.sparse_coo_tensor(indices, torch.randn(nnz, generator=g), (n, n))
W = scorch.sparse(W, "csr").requires_grad_()
x = torch.randn(8, n, requires_grad=True)
small = scorch.sparse(torch.eye(4), "csr").requires_grad_()
F.linear(torch.ones(8, 4, requires_grad=True), small).sum().backward()
F.linear(x, W)
before = peak()
F.linear(x, W).sum().backward()
assert W.grad is not None and x.grad is not None
print(peak() - before)
"""


@pytest.mark.skipif(not hasattr(resource, "RUSAGE_SELF"), reason="memory is not measured here")
def test_backward_builds_nothing_dense():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 20  # MB; the dense weight has 550


PLACES = [[0, 0, 1, 2, 2, 3], [0, 1, 1, 0, 3, 3]]  # with zeros stored in two rows, and a row of zeros
LENGTHS = {
    "vector_norm": torch.linalg.vector_norm,
    "matrix_norm": torch.linalg.matrix_norm,
    "norm 0.5": lambda a: a.norm(0.5),
    "norm 1.5": lambda a: a.norm(1.5, dim=1) * FACTORS[0],
    "norm 2 of rows": lambda a: a.norm(dim=1) * FACTORS[0],
    "norm 3 of columns": lambda a: a.norm(3, dim=0) * FACTORS[0],
    "dist": lambda a: torch.dist(a, FACTORS),
    "normalize": lambda a: F.normalize(a) * FACTORS,
    "cosine_similarity": lambda a: F.cosine_similarity(a, FACTORS),
    "std": lambda a: a.std(1),
}
FACTORS = torch.arange(-7.0, 9.0, dtype=torch.float64).view(4, 4)


@pytest.mark.parametrize("format", ("csr", "bsr(2,2)"))
@pytest.mark.parametrize("length", LENGTHS)
def test_derivatives_of_lengths_where_zeros_are_stored(length, format):
    """As torch's, whose second derivatives at zero are NaN where there is none."""

    def derivatives(matrix):
        v = torch.tensor([3.0, 0, 4, 0, 0, -2], dtype=torch.float64, requires_grad=True)
        y = LENGTHS[length](matrix(v))
        (first,) = torch.autograd.grad(
            y.sum() if y.layout is torch.strided else y.values().sum(), v, create_graph=True
        )
        return first, torch.stack([torch.autograd.grad(g, v, retain_graph=True)[0] for g in first])

    found = derivatives(lambda v: scorch.coo(PLACES, v, (4, 4)).convert(format))
    first, second = derivatives(
        lambda v: torch.zeros(4, 4, dtype=v.dtype).index_put([*map(torch.tensor, PLACES)], v)
    )
    torch.testing.assert_close(found[0], first)
    torch.testing.assert_close(found[1].where(second.isfinite(), second), second, equal_nan=True)


WHOLE = torch.zeros(3, 2, 2)
SUMMANDS = {
    "repeated": (WHOLE, scorch.sparse(torch.eye(2), "bsr(2,2)")),
    "repeated rows": (WHOLE, scorch.sparse(torch.eye(2), "compressed(0), dense(1)")),
    "repeated and zero": (WHOLE, scorch.coo([[0, 1], [0, 1]], torch.tensor([0.0, 1]), (2, 2))),
    "cancelled": (WHOLE - 1, scorch.coo([[0, 1], [0, 1]], torch.tensor([1.0, 2]), (2, 2))),
    "far apart": (torch.zeros(3, 200, 200), scorch.coo([[0, 1], [0, 1]], torch.tensor([0.0, 1]), (200, 200))),
    "dense": (torch.eye(2), scorch.sparse(torch.eye(2), "dense")),
    "dense columns": (torch.eye(2), scorch.sparse(-torch.eye(2), "dense(1), dense(0)")),
}


@pytest.mark.parametrize("f", [torch.add, torch.sub, lambda a, b: torch.add(a, b, alpha=2)])
@pytest.mark.parametrize("summands", SUMMANDS)
def test_sums_keep_the_places_of_both(summands, f):
    """Where one is repeated, or stores all, and what is stored or comes out is zero."""
    left, b = SUMMANDS[summands]
    a = scorch.sparse(left)
    factors = torch.arange(1.0, 1 + left.numel()).view(left.shape)
    wanted = b.to_dense().requires_grad_()
    (f(left, wanted) * factors).sum().backward()

    def weighed(values):
        return (f(a, scorch.map(b, lambda _: values)).to_dense() * factors).sum()

    v = b.values().clone().requires_grad_()
    weighed(v).backward()
    assert torch.equal(scorch.map(b, lambda _: v.grad).to_dense(), wanted.grad * places_of(b))
    assert torch.equal(torch.func.grad(weighed)(b.values()), v.grad)
    assert torch.equal(torch.func.jvp(weighed, (v,), (torch.ones_like(v),))[1], v.grad.sum())
    assert torch.equal(f(a, b).to_dense(), f(left, b.to_dense()))


def places_of(b):
    """1 where b stores."""
    return scorch.map(b, torch.ones_like).to_dense()


class Doubled(torch.autograd.Function):
    """A user's node that returns a dense gradient."""

    @staticmethod
    def forward(ctx, a):
        return a.to_dense() * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


@pytest.mark.parametrize("format", ("csr", "ell(2)", "csr of rows(<= 1) + coo"))
def test_dense_gradients_of_nodes_and_sparse_ones_add_up(format):
    x = torch.tensor([[1.0, 0], [2, 3]])
    a = scorch.sparse(x).convert(format).requires_grad_()
    wanted = torch.full((2, 2), 3.0)
    for losses in (
        [lambda: Doubled.apply(a).sum() + a.sum()],
        [lambda: a.sum() + Doubled.apply(a).sum()],
        [lambda: Doubled.apply(a).sum(), a.sum],
        [a.sum, lambda: Doubled.apply(a).sum()],
    ):
        a.grad = None
        for loss in losses:
            loss().backward()
        got = a.grad.to_dense() if scorch.is_sparse(a.grad) else a.grad
        torch.testing.assert_close(got[x != 0], wanted[x != 0])


# ---- maxima and minima of what is computed ----
EXTREMA = {
    "R[i,j] min= B[l,j,i] * 0.7 * A[n,m]": lambda a, b: (b[:, :, :, None, None] * 0.7 * a).amin((0, 3, 4)).T,
    "R[i] max= B[l,j,i] * A[j,l] + 0.1 * B[l,j,i]": lambda a, b: (b * a.T[:, :, None] + 0.1 * b).amax((0, 1)),
    "R[i] max= A[i,j]": lambda a, b: a.amax(1),
    "R[j] min= A[i,j] * 0.3 * A[i,j]": lambda a, b: (a * 0.3 * a).amin(0),
}


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("text", EXTREMA)
def test_extrema_are_attained(text, dtype, seed):
    """The backward pass computes the terms again, and finds those that attain the extremum exactly."""
    a = randn(4, 3, seed=seed).to(dtype).requires_grad_()
    b = randn(3, 4, 5, seed=seed + 50).to(dtype).requires_grad_()
    operands = {"A": a, "B": b} if "B" in text else {"A": a}
    scorch.evaluate(text, **operands).sum().backward()
    c, d = a.detach().double().requires_grad_(), b.detach().double().requires_grad_()
    EXTREMA[text](c, d).sum().backward()
    error = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}[dtype]
    torch.testing.assert_close(a.grad.double(), c.grad, atol=error, rtol=error)
    if "B" in text:
        torch.testing.assert_close(b.grad.double(), d.grad, atol=error, rtol=error)


def test_ties_of_many_in_16_bits():
    """More points attain the maximum than bfloat16 counts."""
    a = torch.ones(1, 1000, dtype=torch.bfloat16, requires_grad=True)
    scorch.evaluate("R[i] max= A[i,j] * 2", A=a).sum().backward()
    torch.testing.assert_close(a.grad, torch.full_like(a, 2 / 1000))


# ---- who attains an extremum ----
TIED = [
    "csr",
    "csc",
    "coo",
    "dcsc",
    "bsr(2,2)",
    "bsc(2,3)",
    "ell(6)",
    "dia(16)",
    "sell(4,8)",
    "dense",
    "dense(0/2), dense(1), dense(0%2)",
]
EXTREMES = {
    **{
        f"{f.__name__} along {dim}": (lambda a, f=f, dim=dim: f(a, dim=dim),
        lambda d, f=f, dim=dim: f(d, dim=dim))
        for f in (torch.amax, torch.amin)
        for dim in (0, 1, (0, 1))
    },
    "max": (lambda a: a.max(), lambda d: d.amax()),
    "aminmax": (lambda a: torch.stack(list(torch.aminmax(a))), lambda d: torch.stack([d.amin(), d.amax()])),
    **{
        f"{op}= into {left}": (
            lambda a, op=op, left=left: scorch.evaluate(f"m{left} {op}= A[i,j]", A=a),
            lambda d, op=op, dim=dim: getattr(d, f"a{op}")(dim),
        )
        for op in ("max", "min")
        for left, dim in (("[i]", 1), ("[j]", 0), ("", (0, 1)))
    },
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("fmt", TIED)
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_share_gradients_as_in_torch(fmt, name):
    """Evenly among all coordinates that attain it, missing ones being zeros, whose share is lost."""
    f, g = EXTREMES[name]
    for seed, sign in ((0, 1), (1, -1), (2, 0)):
        generator = torch.Generator().manual_seed(seed)
        d = torch.randint(-1, 2, (4, 6), generator=generator).double()
        d = d * (torch.rand(4, 6, generator=generator) < 0.6)
        a = scorch.sparse(sign * d.abs() if sign else d, fmt)
        zeros = torch.rand(a.nnz, generator=generator) < 0.3
        a = a._with_values(torch.where(zeros, 0, a.values())).clone().requires_grad_()  # some are stored
        dense = a.detach().to_dense().requires_grad_()
        stored = a.detach()._with_values(torch.ones(a.nnz, dtype=torch.float64)).to_dense()
        got, wanted = f(a), g(dense)
        weight = torch.arange(1.0, wanted.numel() + 1, dtype=torch.float64).view(wanted.shape)
        assert torch.equal(got, wanted)
        (got * weight).sum().backward()
        (wanted * weight).sum().backward()
        torch.testing.assert_close(a.grad.to_dense(), dense.grad * stored, rtol=1e-12, atol=0)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("f", [torch.amax, torch.amin])
def test_extremes_of_three_dimensions_share_gradients(dim, f):
    generator = torch.Generator().manual_seed(3)
    d = torch.randint(-1, 2, (3, 4, 5), generator=generator).double()
    d = d * (torch.rand(3, 4, 5, generator=generator) < 0.6)
    weight = torch.arange(1.0, d.numel() // d.shape[dim] + 1, dtype=torch.float64)
    for fmt in ("csf", "coo", "csr"):
        a, dense = scorch.sparse(d, fmt), d.clone().requires_grad_()
        a = a.clone().requires_grad_()
        (f(a, dim=dim).to_dense().view(-1) * weight).sum().backward()
        (f(dense, dim=dim).view(-1) * weight).sum().backward()
        torch.testing.assert_close(a.grad.to_dense(), dense.grad * (d != 0))
        values = lambda v, a=a: f(a.detach()._with_values(v), dim=dim).to_dense().view(-1) @ weight  # noqa: E731
        torch.testing.assert_close(torch.func.grad(values)(a.detach().values()), a.grad.values())


# ---- dense levels ----
@pytest.mark.sampled
@pytest.mark.parametrize(
    "fmt", ["dense(0), dense(1)", "dense(1), dense(0)", "dense(0/2), dense(1), dense(0%2)"]
)
@pytest.mark.parametrize(
    "f",
    [
        lambda a, x: a @ x,
        lambda a, x: x.T @ a.mT,
        lambda a, x: torch.nn.functional.linear(x.T, a),
        lambda a, x: scorch.einsum("ij,jk->ik", a, x) if scorch.is_sparse(a) else a @ x,
        lambda a, x: a.sum(),
        lambda a, x: a.sum(1),
        lambda a, x: a * a,
        lambda a, x: a.mT @ a,
        lambda a, x: torch.amax(a, 1),
        lambda a, x: torch.cat([a, a])[1:],
    ],
)
def test_tensors_of_dense_levels(fmt, f):
    d = torch.arange(1.0, 25, dtype=torch.float64).view(4, 6)
    x = torch.arange(1.0, 13, dtype=torch.float64).view(6, 2)
    total = lambda y: (y.to_dense() if scorch.is_sparse(y) else y).square().sum()  # noqa: E731
    a, dense = scorch.sparse(d, fmt).requires_grad_(), d.clone().requires_grad_()
    total(f(a, x)).backward()
    total(f(dense, x)).backward()
    assert scorch.is_sparse(a.grad) and a.grad.format == a.format
    torch.testing.assert_close(a.grad.to_dense(), dense.grad)
    values = a.detach().values()
    of_values = lambda v: total(f(a.detach()._with_values(v), x))  # noqa: E731
    torch.testing.assert_close(torch.func.grad(of_values)(values), a.grad.values())
    many = torch.func.vmap(of_values)(torch.stack([values, 2 * values]))
    torch.testing.assert_close(many, torch.stack([of_values(values), of_values(2 * values)]))


def test_a_gradient_has_the_padding_of_its_operand():
    """Also where the program of both takes a step that wants the operand in another format."""
    crd, ell = [torch.tensor(x) for x in ([1, 2], [-1, 0])]
    pos, values = torch.tensor([0, 2]), torch.tensor([2.0, -1.0], dtype=torch.float64)
    B = scorch.from_components("compressed(0/1), ell(0%1, 1)", (3,), [pos, None], [crd, ell], values)
    b = B.to_dense().requires_grad_()
    a = (matrix(30, 3) * 3).reshape(5, 6, 3).requires_grad_()
    A = scorch.sparse(a.detach(), "csf").requires_grad_()
    B.requires_grad_()
    scorch.evaluate("C[i,k] = relu((A[i,j,k] + B[k]) * A[i,j,k])", A=A, B=B).to_dense().sum().backward()
    torch.relu(((a + b) * a).sum(1)).sum().backward()
    assert B.grad.values().shape == B.values().shape
    assert torch.allclose(B.grad.to_dense()[2], b.grad[2])
    assert torch.allclose(A.grad.to_dense(), a.grad * (a != 0))


def test_a_gradient_like_an_operand_that_no_nest_reads_as_it_is():
    """The operand is converted, so its gradient is not computed in steps, and put back."""
    crd = torch.tensor([0, -1, -1], dtype=torch.int32)
    A = scorch.from_components(
        "dense(0), ell(1/1, 3), dense(2), dense(1%1)",
        (1, 1, 1),
        [None] * 4,
        [None, crd, None, None],
        torch.tensor([2.0, -1.0, -1.0]).double(),
    ).requires_grad_()
    scorch.evaluate("C[i,j] = relu(A[i,j,k] / max(A[i,k,i], 1))", A=A).to_dense().sum().backward()
    assert A.grad.values().tolist() == [0.0, 0.0, 0.0]


def test_gradients_without_memory():
    """The gradient of sgn is one that torch makes without memory; that of nothing stored is recorded too."""
    a = scorch.sparse(torch.eye(3)).requires_grad_()
    a.sgn().sum().backward()
    assert not (a.grad @ torch.ones(3, 2)).any()
    empty = scorch.sparse(torch.zeros(4, 4)).requires_grad_()
    for format in ("csc", "coo", "bsr(2,2)", "dia(4)", "sell(2,4)"):
        assert empty.convert(format).requires_grad, format


def test_anomaly_detection():
    a = scorch.sparse(torch.eye(3)).requires_grad_()
    with pytest.warns(UserWarning, match="Anomaly"), torch.autograd.detect_anomaly():
        (a.softmax(1) @ torch.ones(3, 2)).sum().backward()
        with pytest.raises(RuntimeError, match="nan"):
            (a * torch.tensor(0.0)).sqrt().mul(0).sum().backward()


# ---- gradients that come in, and numbers that go in, as torch may hand them on ----
def twice_as_long(x):
    apart = torch.zeros([2 * n for n in x.shape], dtype=x.dtype)
    return apart[tuple(slice(None, None, 2) for _ in x.shape)].copy_(x)


LAID = {
    "turned": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
    "apart": twice_as_long,
    "negative": lambda x: torch._neg_view(-x),  # as parts of complex tensors are
    "repeated": lambda x: x.flatten()[0].expand(x.shape),
}
GIVEN_BACK = {
    "product": lambda a, x: a @ x,
    "program": lambda a, x: scorch.evaluate("C[i,k] = relu(A[i,j] * x[j,k])", A=a, x=x),
    "sums": lambda a, x: a.sum(0) * x.sum(),
    "dense": lambda a, x: a.to_dense() * x.sum(),
    "softmax": lambda a, x: torch.softmax(a, 1).values() * x.sum(),
}


@pytest.mark.parametrize("laid", LAID)
@pytest.mark.parametrize("name", GIVEN_BACK)
def test_gradients_of_any_layout_come_in(name, laid):
    found = []
    for plainly in (True, False):
        a, x = scorch.sparse(matrix(), "csr").clone().requires_grad_(), randn(4, 3, seed=1).requires_grad_()
        y = GIVEN_BACK[name](a, x)
        grad = LAID[laid](randn(*y.shape, seed=2))
        y.backward(grad.resolve_neg().contiguous() if plainly else grad)
        found.append((a.grad.to_dense(), x.grad))
    for g, w in zip(*found, strict=True):
        torch.testing.assert_close(g, w)


def test_numbers_that_are_a_negative_view():
    x, index = randn(6, 4, seed=1), torch.tensor([[0, 1, 1], [2, 0, 3]])
    view = torch._neg_view(-x)
    a = scorch.coo(index, view[0, :3], (6, 4))
    assert torch.equal(a.values(), x[0, :3])
    b = scorch.from_components("csr", a.shape, [None, a.pos(1)], [None, a.crd(1)], view[0, :3])
    assert torch.equal(b.to_dense(), a.to_dense())
    y = scorch.dynamic(view, by=x[:, 0] > 0) @ x.T
    torch.testing.assert_close(y, torch.where(x[:, :1] > 0, x, 0) @ x.T)
    x, w = (randn(400, 800, seed=1) - 2).relu(), randn(800, 500, seed=2)  # large enough for a choice of ways
    for a, b in (
        (torch._neg_view(-x), w),
        (x, torch._neg_view(-w)),
        (x, torch._neg_view(-w.T.contiguous()).T),
    ):
        torch.testing.assert_close(scorch.dynamic(a) @ b, x @ w)


@pytest.mark.parametrize("name", ("S", "tmp S"))
def test_an_exponential_among_factors_is_not_computed_again(name):
    """The gradient of such a product reads the product."""
    generator = torch.Generator().manual_seed(0)
    pattern = torch.rand(9, 9, generator=generator) < 0.5
    M = scorch.sparse(torch.rand(9, 9, generator=generator).double() * pattern)
    Q, K, V = (torch.rand(9, 3, generator=generator).double().requires_grad_() for _ in range(3))
    text = f"{name}[i,j] = -M[i,j] * exp(Q[i,d] * K[j,d]) * 3; y[i,f] = S[i,j] * V[j,f]"

    def f(values, Q, K, V):
        found = scorch.evaluate(text, M=M._with_values(values), Q=Q, K=K, V=V)
        return found[1] if isinstance(found, tuple) else found

    values = M.values().clone().requires_grad_()
    assert torch.autograd.gradcheck(f, (values, Q, K, V))
    assert torch.autograd.gradgradcheck(f, (values, Q, K, V))
    with scorch.profile() as ran:
        f(values.detach(), Q, K, V).sum().backward()
    programs = [x.expression for x in ran.programs]
    assert any("Q_grad" in x for x in programs) and not any("exp(" in x for x in programs if "Q_grad" in x)


def test_a_dense_result_that_is_asked_for_as_sparse_drops_gradients_with_its_zeros():
    for format, wanted in (("dense", [2, 2]), ("csr", [0, 2])):
        e = scorch.sparse(torch.tensor([0.0, 1.0]), "dense").requires_grad_()
        y = scorch.evaluate("R[i,j] = x[i] * E[j]", x=torch.ones(2), E=e, format=format)
        (y if format == "dense" else y.to_dense()).sum().backward()
        assert e.grad.to_dense().tolist() == wanted


@pytest.mark.parametrize("form", ["csr", "coo", "ell(4)"])
def test_ties_share_a_gradient_as_those_of_amax_do(form):
    """Missing entries count, and get none."""
    d = torch.tensor([[2.0, 2, -1, 2], [-1, 0, 0, -3]])
    a, b = scorch.sparse(d, form).requires_grad_(), d.clone().requires_grad_()
    scorch.evaluate("m[i] max= max(A[i,j], v[j])", A=a, v=2 * torch.ones(4)).sum().backward()
    torch.maximum(b, 2 * torch.ones(4)).amax(1).sum().backward()
    torch.testing.assert_close(a.grad.to_dense(), b.grad * (d != 0))
    (g,) = torch.autograd.grad(scorch.evaluate("m[i] max= A[i,j] + 2 * w[i]", A=a, w=torch.ones(2)).sum(), a)
    (h,) = torch.autograd.grad((b + 2).amax(1).sum(), b)
    torch.testing.assert_close(g.to_dense(), h * (d != 0))


@pytest.mark.parametrize("form", FORMATS)
def test_an_extremum_that_is_nan_has_a_gradient_of_nan(form):
    d = torch.tensor([[torch.nan, 0, 1, 0], [2, 3, 0, 0]], dtype=torch.float64)
    for f, g in (
        (torch.amax, torch.amax), (torch.max, torch.amax), (torch.min, torch.amin),
        (lambda a: torch.amin(a, 1).sum(), lambda a: torch.amin(a, 1).sum()),
        (lambda a: sum(torch.aminmax(a, dim=0)).sum(), lambda a: (a.amin(0) + a.amax(0)).sum()),
        (lambda a: a.reshape(1, 2, 4).amax(2).to_dense().sum(), lambda a: a.amax(1).sum()),
    ):  # fmt: skip
        a, b = scorch.sparse(d, form).requires_grad_(), d.clone().requires_grad_()
        f(a).backward()
        g(b).backward()
        wanted = torch.where(stored(a) > 0, b.grad, 0)
        torch.testing.assert_close(a.grad.to_dense(), wanted, equal_nan=True)


# ---- extrema of what is computed ----
COMPUTED = {
    "R[j,k] max= c[j]*G[m,k] - H[m,k]*d[k]": lambda c, d, G, H: (c[:, None, None] * G - H * d).amax(1),
    "R[i] max= exp(s[i]*3 + t[i])*G[i,j] + G[i,j]*x[j]*t[i]": lambda G, s, t, x: (
        torch.exp(s * 3 + t)[:, None] * G + G * x * t[:, None]
    ).amax(1),
    "R[i] min= exp(x[j]*2 + s[i])*G[i,j] - H[i,j]*x[j]": lambda G, H, s, x: (
        torch.exp(x * 2 + s[:, None]) * G - H * x
    ).amin(1),
}


@pytest.mark.parametrize("form", ["csr", "csc", "bitmask", "dense"])
@pytest.mark.parametrize("text", COMPUTED)
def test_terms_that_are_computed_attain_their_extremum(text, form):
    """Kernels round what they compute as each finds best; one that misses by a bit has no gradient."""
    g = torch.Generator().manual_seed(0)
    for n in (6, 30):
        sparse = {a: torch.randn(n, n, generator=g) * (torch.rand(n, n, generator=g) < 0.5) for a in "GH"}
        vectors = {a: torch.randn(n, generator=g) for a in "cdstx"}
        given = {a: x.requires_grad_() for a, x in (sparse | vectors).items() if f"{a}[" in text}
        held = {a: held_as(x, form).requires_grad_() for a, x in given.items()}
        weight = torch.rand(n, generator=g) + 1
        (COMPUTED[text](**given) * weight).sum().backward()
        (dense(scorch.evaluate(text, **held)) * weight).sum().backward()
        for a, x in given.items():
            want = x.grad * (x != 0) if a in sparse else x.grad
            assert torch.allclose(dense(held[a].grad) * (x != 0), want, rtol=1e-4, atol=1e-5), (n, a)


def held_as(x: torch.Tensor, form: str) -> torch.Tensor:
    return scorch.sparse(x.detach(), format=form) if x.dim() == 2 else x.detach().clone()


@pytest.mark.parametrize("form", ["csr", "csc", "bitmask"])
def test_terms_that_are_skipped_attain_their_extremum(form):
    g = torch.Generator().manual_seed(0)
    text = "R[i] max= exp(x[j]*2 + s[i])*G[i,j] - G[i,j]*x[j]"
    for n in (6, 30):
        G = torch.randn(n, n, generator=g) * (torch.rand(n, n, generator=g) < 0.5) + 3 * torch.eye(n)
        x, s = (torch.randn(n, generator=g).requires_grad_() for _ in range(2))
        terms = torch.exp(x * 2 + s[:, None]) * G - G * x
        terms.masked_fill(G == 0, -torch.inf).amax(1).sum().backward()
        want, x.grad, s.grad = (x.grad, s.grad), None, None
        A = scorch.sparse(G, format=form)
        dense(scorch.evaluate(text, G=A, x=x, s=s, implicit="skip")).sum().backward()
        assert torch.allclose(x.grad, want[0], rtol=1e-4) and torch.allclose(s.grad, want[1], rtol=1e-4)


MANY_READS = {  # of one sparse operand, in several orders of its dimensions
    "R[i,l,j] = A[i,j,l] * A[l,j,i] * A[j,i,l]": lambda a: torch.einsum("ijl,lji,jil->ilj", a, a, a),
    "R[i,l,j] = (A[j,i,l] + A[j,l,i]) * A[l,i,j]": lambda a: (
        torch.einsum("jil,lij->ilj", a, a) + torch.einsum("jli,lij->ilj", a, a)
    ),
    "R[i,l,j] = (A[j,l,i] - A[j,i,l]) * A[l,j,i] * A[l,i,j] * A[l,i,i]": lambda a: torch.einsum(
        "ilj,lji,lij,lii->ilj", a.permute(2, 1, 0) - a.permute(1, 2, 0), a, a, a
    ),
    "R[j] min= A[i,j,i] * A[j,j,i] * A[j,i,j]": lambda a: torch.einsum("iji,jji,jij->ij", a, a, a).amin(0),
}


@pytest.mark.sampled
@pytest.mark.parametrize("fmt", ["csf", "coo", "compressed(0), compressed(1), dense(2)"])
@pytest.mark.parametrize("expression", MANY_READS)
def test_an_operand_that_is_read_in_many_orders(expression, fmt):
    d = randn(4, 4, 4) * (randn(4, 4, 4, seed=2) > -0.5)
    compare(lambda a: scorch.evaluate(expression, A=a), MANY_READS[expression], d, fmt)


def test_second_derivatives_of_an_operand_that_is_read_in_many_orders():
    a = scorch.sparse(randn(3, 3, 3) * (randn(3, 3, 3, seed=2) > 0), "csf")

    def f(values):
        return scorch.evaluate("R[i,j] = A[i,j,k] * A[k,j,i] * A[j,i,k]", A=a._with_values(values)).to_dense()

    values = a.values().clone().requires_grad_()
    assert torch.autograd.gradcheck(f, values) and torch.autograd.gradgradcheck(f, values)


def test_what_several_gradients_share_is_computed_before_the_first_that_reads_it():
    torch.manual_seed(0)
    a, x, y = (torch.randn(*shape, dtype=torch.float64) for shape in ((6, 6), (6, 6), (6,)))
    b = torch.randn(6, 6, dtype=torch.float64) * (torch.rand(6, 6) < 0.4)
    text = (
        "R[j] = X[j,m] * Y[m]; S[i] += B[i,j] * (0.5 - A[i,j]) * tanh(A[i,j]) * (A[i,j] + B[i,j]) "
        "* (2 * R[j] * (A[i,j] / (2 + B[i,j] * B[i,j])) + R[j] + B[i,j] + Y[i] + 2)"
    )
    given = {"A": a.clone(), "B": scorch.sparse(b), "X": x.clone(), "Y": y.clone()}
    given = {name: t.requires_grad_() for name, t in given.items()}
    r, s = scorch.evaluate(text, **given)
    (r.sum() + s.sum()).backward()
    A, B, X, Y = (t.clone().requires_grad_() for t in (a, b, x, y))
    R = X @ Y
    rows = B * (0.5 - A) * A.tanh() * (A + B) * (2 * R * (A / (2 + B * B)) + R + B + Y[:, None] + 2)
    (R.sum() + rows.sum()).backward()
    for name, want in zip("AXY", (A, X, Y), strict=True):
        assert torch.allclose(given[name].grad, want.grad)
    assert torch.allclose(given["B"].grad.to_dense()[b != 0], B.grad[b != 0])


PREDICTED = "W[i,k]*W[j,k]"
AT_ENTRIES = {
    f"A[i,j]*log(sigmoid({PREDICTED}))": lambda a, x, on: a * torch.log(torch.sigmoid(x)),
    f"A[i,j]*sqrt({PREDICTED})": lambda a, x, on: a * x.sqrt(),
    f"A[i,j]/(1 + {PREDICTED})": lambda a, x, on: a / (1 + x),
    f"A[i,j]*log(1 + exp({PREDICTED}))": lambda a, x, on: a * torch.log(1 + x.exp()),
    f"A[i,j]*log(stored(A[i,j])*{PREDICTED})": lambda a, x, on: a * torch.log(torch.where(on, x, 1)),
    f"A[i,j]*sqrt(A[i,j]*{PREDICTED})": lambda a, x, on: a * torch.where(on, a * x, 1).sqrt(),
    f"A[i,j]*({PREDICTED} - 1)*({PREDICTED.replace('k', 'l')} - 1)": lambda a, x, on: a * (x - 1) ** 2,
    f"A[i,j]*tanh({PREDICTED})": lambda a, x, on: a * x.tanh(),
}


@pytest.mark.parametrize("text", AT_ENTRIES)
def test_functions_beside_a_sparse_operand_are_derived_at_its_entries(text):
    """Divisors, and factors of the sparse operand, are not computed for all pairs of rows of W."""
    n, rows = 1_000_000, 20  # of all entries, and those of a dense matrix to compare with
    g = torch.Generator().manual_seed(0)
    d = torch.rand(rows, rows, generator=g, dtype=torch.float64)
    d *= torch.rand(rows, rows, generator=g) < 0.3
    i, j = d.nonzero().T
    A = scorch.coo((i, j), d[i, j], (n, n)).convert("csr").requires_grad_()
    W = (torch.rand(n, 3, generator=g, dtype=torch.float64) + 0.1).requires_grad_()
    scorch.evaluate(f"s = {text}", A=A, W=W).backward()
    D, V = d.clone().requires_grad_(), W.detach()[:rows].requires_grad_()
    AT_ENTRIES[text](D, V @ V.T, d != 0).sum().backward()
    torch.testing.assert_close(W.grad[:rows], V.grad)
    torch.testing.assert_close(A.grad.values(), D.grad[i, j])

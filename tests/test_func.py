"""Transforms of torch.func over SparseTensors: gradients have their structure, captured ones keep theirs."""

import pytest
import torch
from test_surface_functions import matrix, plain, same

import scorch

FORMATS = ["csr", "csc", "coo", "bsr(3,3)", "csr of band(-1,1) + csr"]
X = torch.linspace(-1, 1, 36).view(12, 3).double()
func = torch.func


def stored(a):
    """Ones where a has entries, zeros elsewhere."""
    return plain(scorch.map(a, torch.ones_like))


def of_product(a):
    return ((a @ X) ** 3).sum()


OF_A = {
    "product": func.grad(of_product),
    "square": func.grad(lambda a: ((a @ a) @ X).square().sum()),
    "elementwise": func.grad(lambda a: torch.tanh(torch.relu(a / 4)).sum()),
    "norm": func.grad(torch.linalg.norm),
    "dense": func.grad(lambda a: a.to_dense().cos().sum()),
    "transposed": func.grad(lambda a: (a.T @ X).square().sum()),
    "rows": func.grad(lambda a: (a[2:7] @ X).square().sum()),
    "einsum": func.grad(lambda a: scorch.einsum("ij,jk->k", a, X).square().sum()),
    "beside a dense row": func.grad(lambda a: ((a + torch.ones(12).double()) ** 2).sum()),
    "with its value": lambda a: func.grad_and_value(of_product)(a)[0],
    "of a gradient": func.grad(lambda a: (func.grad(of_product)(a) * a).sum()),
    "vjp": lambda a: func.vjp(lambda a: a.t() @ X, a)[1](X)[0],
    "vjp of what is sparse": lambda a: func.vjp(lambda a: torch.relu(a) * 2, a)[1](3 * a)[0],
    "vjp, dense to sparse": lambda a: func.vjp(lambda a: torch.relu(a), a)[1](X @ X.T)[0],
    "one of a tree": lambda a: func.grad(lambda p: of_product(p["a"] * p["s"]))({"a": a, "s": X[0, 0]})["a"],
}
BATCHES = {
    "jacrev": func.jacrev(lambda a: a @ X[:, 0]),
    "vmap of grad": lambda a: func.vmap(func.grad(lambda a, x: (a @ x).square().sum()), (None, 1))(a, X),
}


@pytest.mark.parametrize("f", OF_A.values(), ids=OF_A)
@pytest.mark.parametrize("format", FORMATS)
def test_gradients_have_the_structure(f, format):
    a = scorch.sparse(matrix(12, 12), format)
    got = f(a)
    assert isinstance(got, scorch.SparseTensor) and got.nnz == a.nnz and str(got.format) == format
    same(got, f(matrix(12, 12)) * stored(a))


@pytest.mark.parametrize("f", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("format", FORMATS)
def test_batches_of_gradients_are_dense(f, format):
    a = scorch.sparse(matrix(12, 12), format)
    same(f(a), f(matrix(12, 12)) * stored(a))


def _tangent(f):
    return lambda a: func.jvp(lambda x: f(a, x), (X,), (X.cos(),))[1]


SPARSE_RESULTS = {
    "scaled": _tangent(lambda a, x: a * x[:, 0]),
    "of a gradient": _tangent(lambda a, x: func.grad(lambda a: ((a @ x) ** 3).sum())(a)),
    "its primal": lambda a: func.jvp(lambda x: a * x.sin(), (X[:, 0],), (X[:, 1],))[0],
    "nothing depends on it": lambda a: func.jvp(lambda x: a * 2, (X[:, 0],), (X[:, 1],))[1],
}


ITSELF = {
    "relu": torch.relu,
    "resolve_conj": torch.resolve_conj,
    "resolve_neg": lambda a: a.resolve_neg(),
    "atleast": lambda a: torch.atleast_2d(torch.atleast_1d(a)),
    "atleast of a list": lambda a: torch.atleast_1d([a, a])[1],
    "broadcast_tensors": lambda a: torch.broadcast_tensors(a, a)[1],
}


@pytest.mark.parametrize("f", ITSELF.values(), ids=ITSELF)
@pytest.mark.parametrize("format", FORMATS)
def test_what_returns_its_argument(f, format):
    d = matrix(12, 12).relu()
    a = scorch.sparse(d, format)
    v = a.values().clone()
    for transform in (func.vjp, lambda g, v: func.jvp(g, (v,), (v,))):
        got = transform(lambda v: f(scorch.map(a, lambda _: v)).to_dense(), v)[0]
        assert type(got) is torch.Tensor
        same(got, d)


@pytest.mark.parametrize("format", FORMATS[:4])
def test_what_is_detached_has_no_tangent(format):
    a = scorch.sparse(matrix(12, 12), format)
    v = a.values().clone()
    detached = lambda v: scorch.map(a, lambda _: v).detach() @ X  # noqa: E731
    primal, tangent = func.jvp(detached, (v,), (v,))
    same(primal, matrix(12, 12) @ X)
    same(tangent, torch.zeros(12, 3).double())
    same(func.vmap(detached)(torch.stack([v, 2 * v]))[1], 2 * matrix(12, 12) @ X)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("f", SPARSE_RESULTS.values(), ids=SPARSE_RESULTS)
@pytest.mark.parametrize("format", FORMATS)
def test_tangents_of_sparse_results_are_sparse(f, format, compiled):
    torch._dynamo.reset()
    a = scorch.sparse(matrix(12, 12), format)
    got = (torch.compile(f, backend="eager", fullgraph=True) if compiled else f)(a)
    assert isinstance(got, scorch.SparseTensor) and str(got.format) == format
    same(got, f(matrix(12, 12)) * stored(a))


@pytest.mark.parametrize("format", FORMATS)
def test_batches_of_sparse_results_are_dense(format):
    a, d = scorch.sparse(matrix(12, 12), format), matrix(12, 12)
    same(func.vmap(lambda x: a * x, 1)(X), func.vmap(lambda x: d * x, 1)(X))
    same(func.vmap(lambda x: 2 * a * x, 1, 2)(X), func.vmap(lambda x: 2 * d * x, 1, 2)(X))
    same(func.jacfwd(lambda x: a * x)(X[:, 0]), func.jacfwd(lambda x: d * x)(X[:, 0]))


@pytest.mark.parametrize("dtype", [torch.bool, torch.int32, torch.int64, torch.double])
@pytest.mark.parametrize("format", FORMATS)
def test_batches_of_values_of_any_type(format, dtype):
    d = matrix(12, 12).to(dtype)
    a, x = scorch.sparse(d, format), (X @ X.T * 3).to(dtype)
    given = torch.stack([x, x.flip(0), x.T])
    product = func.vmap(lambda x: scorch.evaluate("C[i,j] = A[i,j] * x[i,j]", A=a, x=x))
    same(product(given).to(dtype), d * given)
    same(func.vmap(lambda x: a * x)(given), d * given)
    same(func.vmap(lambda x: torch.where(x.bool(), a, 0))(given), torch.where(given.bool(), d, 0))


def test_gradients_of_sums_can_be_computed_with():
    a = scorch.sparse(matrix(12, 12))
    same(func.grad(torch.sum)(a), stored(a))


def test_what_does_not_depend_on_a():
    a = scorch.sparse(matrix(12, 12))
    for got in (func.grad(lambda _: X.sum())(a), func.vjp(lambda _: X + 1, a)[1](X)[0]):
        assert got.nnz == a.nnz and not got.values().any()


def test_a_is_an_argument_beside_the_one_that_is_differentiated():
    def loss(a, x):
        return (scorch.softmax(a, 1) @ x).square().sum()

    a = scorch.sparse(matrix(12, 12))
    want = torch.autograd.grad(loss(a, x := X.clone().requires_grad_()), x)[0]
    torch.testing.assert_close(func.grad(loss, argnums=1)(a, X), want)
    both, aux = func.grad(lambda a, x: (loss(a, x), torch.relu(a)), argnums=(0, 1), has_aux=True)(a, X)
    torch.testing.assert_close(both[1], want)
    same(aux, matrix(12, 12).relu())
    assert aux.values().sum().item() == matrix(12, 12).relu().sum()  # of memory that can be reached


def double(a, f):
    """Gradients of the sum of squares of what f, a gradient itself, makes of a."""
    a = a.requires_grad_()
    made = f(a)
    (plain(made) * (stored(a.detach()) if scorch.is_sparse(made) else 1)).square().sum().backward()
    return a.grad


CAPTURED = {
    "to x": lambda a: func.grad(lambda x: ((a @ x) ** 3).sum())(X),
    "to values": lambda a: func.grad(of_product)(a),
    "twice": lambda a: func.grad(lambda x: func.grad(lambda x: ((a @ x) ** 3).sum())(x).square().sum())(X),
}


@pytest.mark.parametrize("f", CAPTURED.values(), ids=CAPTURED)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_autograd_around_transforms(f, compiled):
    torch._dynamo.reset()
    a = scorch.sparse(matrix(12, 12))
    want = matrix(12, 12).requires_grad_()
    made = f(want)
    (made * (stored(a) if made.shape == a.shape else 1)).square().sum().backward()
    got = double(a, torch.compile(f, fullgraph=True) if compiled else f)
    same(got, want.grad * stored(a.detach()))


def test_arguments_of_autograd_grad():
    a = scorch.sparse(matrix(12, 12)).requires_grad_()
    y = (a @ X).sum()
    edge = torch.autograd.graph.get_gradient_edge(y)
    assert torch.autograd.grad(y, edge)[0] == 1
    (found,) = torch.autograd.grad((a @ X,), a, grad_outputs=(X,), allow_unused=True)
    same(found, (X @ X.T) * stored(a.detach()))


OUT_OF_REACH = {
    "zeros that torch makes": lambda v: torch.hinge_embedding_loss(made(v), torch.ones(2, 3)),
    "in place": lambda v: torch.ops.aten.add_(made(torch.zeros(3)), made(v)).to_dense(),
    "a list": lambda v: torch._foreach_mul([made(v)], 2.0)[0].to_dense(),
    "a copy": lambda v: torch.ops.aten.clone(made(v)).to_dense(),
    "a sum": lambda v: torch.ops.aten.add(made(v), made(v)).to_dense(),
    "without gradients": torch.no_grad()(lambda v: torch.ops.aten.prod(made(v))),
}


def made(v):
    """Values of a level of functorch in a matrix."""
    a = scorch.sparse(torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
    return scorch.map(a, lambda _: v)


@pytest.mark.parametrize("f", [torch.clamp_min, torch.clamp_max, torch.maximum])
@pytest.mark.parametrize("sparse", [False, True])
def test_tangents_where_a_value_equals_its_bound(f, sparse):
    d, bound = torch.tensor([[2.0, 1], [0, 3]]), torch.full((2, 2), 2.0)
    a, other = scorch.sparse(d), scorch.sparse(bound) if sparse else bound
    v, step = a.values().clone(), torch.tensor([3.0, 5, 7])
    got = torch.func.jvp(lambda v: f(scorch.map(a, lambda _: v), other).to_dense(), (v,), (step,))
    wanted = torch.func.jvp(lambda x: f(x, bound), (d,), (scorch.map(a, lambda _: step).to_dense(),))
    for x, y in zip(got, wanted, strict=True):
        assert torch.equal(x, y)


@pytest.mark.parametrize("f", OUT_OF_REACH.values(), ids=OUT_OF_REACH)
@pytest.mark.parametrize("transform", ("vjp", "jvp", "vmap", "functionalize"))
def test_operators_beneath_a_transform_do_not_take_its_values_for_memory(f, transform):
    v = torch.ones(3)
    calls = {
        "vjp": lambda: torch.func.vjp(f, v)[0],
        "jvp": lambda: torch.func.jvp(f, (v,), (v,))[0],
        "vmap": lambda: torch.func.vmap(f)(v[None]),
        "functionalize": lambda: torch.func.functionalize(f)(v),
    }
    try:
        found = calls[transform]()  # a process that ends is noticed
    except RuntimeError as e:
        assert "A.to_dense()" in str(e) or "mutate a captured Tensor" in str(e)
    else:
        assert torch.is_tensor(found)


def test_forward_mode_of_a_product_is_refused():
    with pytest.raises(NotImplementedError, match="prod: torch has no forward mode of it"):
        torch.func.jvp(lambda v: made(v).prod(0), (torch.ones(3),), (torch.ones(3),))
    a = scorch.sparse(torch.tensor([[1.0, 2.0], [4.0, 3.0]]))
    rows = torch.func.jacrev(lambda v: scorch.map(a, lambda _: v).prod(0))(a.values())
    assert torch.equal(rows, torch.tensor([[4.0, 0, 1, 0], [0, 3, 0, 2]]))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(3,3)"])
def test_hooks_of_leaves_are_called_once(format):
    a = scorch.sparse(torch.tensor([[1.0, 0, 2], [0, 3, 0], [4, 0, 5]]), format).requires_grad_()
    w, alone, beside = torch.ones(3, 2, requires_grad=True), [], []
    hooks = [
        torch.autograd.graph.register_multi_grad_hook((a,), alone.append),
        torch.autograd.graph.register_multi_grad_hook((a, w), beside.append),
    ]
    (a @ w).sum().backward()
    assert [len(alone), len(beside)] == [1, 1]
    assert scorch.is_sparse(alone[0][0]) and torch.equal(alone[0][0].values(), a.grad.values())
    assert torch.autograd.graph.get_gradient_edge(a).node.name() == "torch::autograd::AccumulateGrad"
    for hook in hooks:
        hook.remove()
    (grad,) = torch.autograd.grad(
        (a.view_as(a) @ w).square().sum(), a
    )  # through the node that is looked behind
    (want,) = torch.autograd.grad((a @ w).square().sum(), a)
    assert torch.equal(grad.values(), want.values())


RENUMBERED = {
    "triangle": torch.tril,
    "another shape": lambda a: a.reshape(9, 7),
    "kron": lambda a: torch.kron(a, A),
    "diagonal": lambda a: a[:, :7].diagonal(),
    "columns": lambda a: a[:, 2:5],
    "flip": lambda a: a.flip(0),
    "roll": lambda a: a.roll(2, 1),
    "padded": lambda a: torch.nn.functional.pad(a, (1, 1)),
    "union": lambda a: a + A.roll(1, 0),
    "submatrix": lambda a: a.submatrix(torch.tensor([0, 2, 2]), torch.tensor([1, 3])),
    "index_copy": lambda a: torch.index_copy(a, 0, torch.tensor([1, 3]), a[2:4]),
}
A = scorch.sparse(torch.arange(63.0).view(7, 9) * (torch.arange(63).view(7, 9) % 3 < 1))


@pytest.mark.parametrize("name", RENUMBERED)
def test_linearize_of_other_coordinates(name):
    """What it computes ahead is the structure, which nothing may be written to in place."""

    def of_values(v):
        return RENUMBERED[name](scorch.map(A, lambda _: v)).to_dense()

    def beside(x):
        return RENUMBERED[name](A * x).to_dense()

    for f, x in ((of_values, A.values()), (beside, torch.rand(7, 9))):
        _, linear = func.linearize(f, x)
        for t in (x, 2 * x + 1):
            torch.testing.assert_close(linear(t), func.jvp(f, (x,), (t,))[1])

"""Operators of the dispatcher that torch's own code calls on a SparseTensor: one table with the functions."""

import pytest
import torch
import torch.nn.functional as F
from test_surface_functions import matrix, plain, same
from torch.autograd.gradcheck import GradcheckError

import scorch
import scorch.nn
from scorch.boundary import below
from scorch.tensor.sparsetensor import HANDLERS


def square():
    x = matrix(12, 12, density=0.3)
    return x + x.T + 40 * torch.eye(12).double()


def seeded(f, a):
    torch.manual_seed(1)
    return f(a)


OURS = {
    "lobpcg": lambda a: torch.lobpcg(a, 2)[0],
    "lobpcg, the smallest": lambda a: torch.lobpcg(a, 2, method="ortho", largest=False)[0],
    "svd_lowrank": lambda a: torch.svd_lowrank(a, 3)[1],
    "svd_lowrank about M": lambda a: torch.svd_lowrank(a, 3, M=torch.ones(12, 12).double())[1],
    "pca_lowrank": lambda a: torch.pca_lowrank(a, 3)[1],
    "tensordot": lambda a: torch.tensordot(a, torch.ones(12, 3).double(), 1),
    "tensordot, sparse": lambda a: torch.tensordot(a, a, ([0], [1])),
    "tensordot of all": lambda a: torch.tensordot(a, a, 2),
    "cov": torch.cov,
    "cosine_similarity": lambda a: F.cosine_similarity(a, a),
    "msort": torch.msort,
    "hsplit": lambda a: torch.hsplit(a, 3)[1],
    "atleast_3d": torch.atleast_3d,
    "logical_and": lambda a: torch.logical_and(a, a),
    "broadcast_tensors": lambda a: torch.broadcast_tensors(a, torch.ones(2, 12, 12))[0],
    "matrix_power": lambda a: torch.linalg.matrix_power(a / 40, 5),
    "matrix_power 1": lambda a: torch.matrix_power(a, 1),
    "matrix_power 0": lambda a: torch.matrix_power(a, 0),
}
TRANSFORMED = {
    "jvp": lambda a: torch.func.jvp(lambda a: a @ torch.ones(12).double(), (a,), (a,)),
    "jacfwd": lambda a: torch.func.jacfwd(lambda a: a @ torch.ones(12).double())(a),
    "hessian": lambda a: torch.func.hessian(lambda a: (a @ torch.ones(12).double()).square().sum())(a[:2]),
    "vmap": lambda a: torch.vmap(lambda row: row @ torch.ones(12).double())(a),
}
V = torch.linspace(-1, 2, 12).double()
BESIDE_DENSE = {
    "dot": lambda z: torch.dot(z, V),
    "dot from the left": lambda z: torch.dot(V, z),
    "dot with itself": lambda z: torch.dot(z, z),
    "vdot": lambda z: torch.vdot(z, V),
    "matmul": lambda z: z @ V,
    "inner": lambda z: torch.inner(z, V),
    "mul": lambda z: (z * V).sum(),
    "div": lambda z: (z / V).sum(),
    "sub": lambda z: (V - z).sum(),
    "of matrices": lambda z: (torch.outer(z, z)[:9] * V / 2).sum(),
}


@pytest.mark.parametrize("f", [*OURS.values(), *TRANSFORMED.values()], ids=[*OURS, *TRANSFORMED])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_code_of_torch(f, format):
    same(seeded(f, scorch.sparse(square(), format)), seeded(f, square()))


@pytest.mark.parametrize("f", BESIDE_DENSE.values(), ids=BESIDE_DENSE)
def test_tangents_of_what_takes_dense_tensors_beside_it(f):
    """Their tangents are zeros, for which torch has no memory."""
    a = square()[2]
    for call in (lambda z: torch.func.jvp(f, (z,), (2 * z,)), torch.func.jacfwd(f)):
        got, want = call(scorch.sparse(a)), call(a)
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("f", OURS.values(), ids=OURS)
def test_code_of_torch_in_inference_mode(f):
    a = scorch.sparse(square())
    with torch.inference_mode():
        same(seeded(f, a), seeded(f, square()))


def test_gradients_to_what_is_dense():
    a, x = scorch.sparse(square()), torch.rand(12, 2).double().requires_grad_()
    got = torch.autograd.grad(torch.tensordot(a, x, 1).square().sum(), x)[0]
    same(got, torch.autograd.grad((square() @ x).square().sum(), x)[0])


FUNCTIONS = {
    "cov": lambda a: torch.cov(a).sum(),
    "trapezoid": lambda a: torch.trapezoid(a).square().sum(),
}


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_way_round_dense_gradients(f):
    """The refusal names calls that run."""
    d, a = square(), scorch.sparse(square()).requires_grad_()
    for call in (lambda: f(a), lambda: torch.func.grad(f)(a.detach())):
        with pytest.raises(NotImplementedError, match=r"on A\.to_dense\(\).*or on A\.detach\(\)"):
            call()
    same(f(a.detach()), f(d))
    want = torch.func.grad(f)(d) * (d != 0)
    same(torch.autograd.grad(f(a.to_dense()), a)[0], want)
    same(torch.func.grad(lambda a: f(a.to_dense()))(a.detach()), want)


LOW_RANK = {
    "svd_lowrank": lambda a: torch.svd_lowrank(a, 3),
    "svd_lowrank about M": lambda a: torch.svd_lowrank(a, 3, M=torch.ones(12, 9).double()),
    "svd_lowrank, one product": lambda a: torch.svd_lowrank(a, 3, niter=0),
    "svd_lowrank, wide": lambda a: torch.svd_lowrank(a.T, 3),
    "pca_lowrank": lambda a: torch.pca_lowrank(a, 3),
    "pca_lowrank, not centered": lambda a: torch.pca_lowrank(a, 3, center=False),
}


@pytest.mark.parametrize("f", LOW_RANK.values(), ids=LOW_RANK)
@pytest.mark.parametrize("format", ["csr", "coo", "bsr(4,3)"])
def test_gradients_of_factors_of_low_rank(f, format):
    x = matrix(12, 9, density=0.4)
    a = scorch.sparse(x, format).requires_grad_()
    for y in (x.requires_grad_(), a):
        left, middle, right = seeded(f, y)
        (left.square().cos().sum() + middle.sum() + (right[:, 0] ** 4).sum()).backward()
    same(a.grad, torch.where(scorch.map(a.detach(), torch.ones_like).to_dense() > 0, x.grad, 0))
    with pytest.raises(ValueError, match="q from 0 to 9"):
        torch.pca_lowrank(a, 10)


@pytest.mark.parametrize("name", ["t.default", "transpose.int", "permute.default", "view.default"])
def test_views_are_fresh_objects(name):
    a = scorch.sparse(square())
    op = getattr(getattr(torch.ops.aten, name.split(".")[0]), name.split(".")[1])
    args = {"transpose.int": (0, 1), "permute.default": ([0, 1],), "view.default": ([12, 12],)}.get(name, ())
    first, second = op(a, *args), op(a, *args)
    assert first is not second and first is not a
    assert first.values().data_ptr() == a.values().data_ptr()
    same(first, op(square(), *args))


@pytest.mark.parametrize("name", ["numpy_T", "mT", "matrix_H", "mH"])
def test_attributes_that_torch_compile_reads_as_operators(name):
    """They keep the gradient's structure, as the attributes do."""
    a = scorch.sparse(square()).requires_grad_()
    turned = getattr(torch.ops.aten, name)(a)
    same(turned.detach(), square().T)
    turned.sum().backward()
    assert str(a.grad.format) == "csr" and a.grad.nnz == a.nnz


def test_one_table():
    """Every name of the list is a function that the table answers."""
    for name in below._NAMES:
        homes = [getattr(home, name, None) for home in (torch, torch.Tensor)]
        assert any(f in HANDLERS for f in homes if f is not None), name


def test_what_is_not_of_the_list():
    a = scorch.sparse(square())
    for f in (torch.ops.aten.linalg_inv_ex, torch.pdist, torch.histogram):
        with pytest.raises(NotImplementedError, match="nothing is computed densely"):
            f(a)
    with pytest.raises(NotImplementedError, match="n >= 0"):
        torch.linalg.matrix_power(a, -1)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)", "ell(3)"])
def test_gradcheck(format):
    a = scorch.coo([[0, 1, 2, 3], [1, 0, 3, 2]], torch.arange(1.0, 5).double(), (4, 4), format)
    x = torch.arange(8.0).double().view(4, 2) - 3
    for f in (lambda a: a @ x, lambda a: (a * a).sum(0), lambda a: (2 * a).values()):
        assert torch.autograd.gradcheck(f, (a.clone().requires_grad_(),))
    with pytest.raises(GradcheckError):
        torch.autograd.gradcheck(lambda a: a.detach() @ x + 0 * (a @ x), (a.clone().requires_grad_(),))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,3)", "ell(6)"])
def test_a_stored_entry_is_a_view(format):
    dense = matrix()
    a = scorch.sparse(dense, format)
    i, j = torch.nonzero(dense)[4].tolist()
    for x in (a, dense):
        x[i, j].mul_(2)
        x[i, j] += 1
        x.data[i, j].add_(3)
    same(a, dense)
    twice = scorch.from_components(
        "compressed(0, nonunique), singleton(1, nonunique)", (2, 2), [torch.tensor([0, 2]), None],
        [torch.tensor([1, 1]), torch.tensor([0, 0])], torch.tensor([1.0, 2.0]),
    )  # fmt: skip
    assert twice[1, 0] == 3 and twice[0, 0] == 0
    assert plain(a[i]).shape == (6,)


# ---- where weights begin ----
INITS = {
    "normal": torch.nn.init.normal_,
    "uniform": torch.nn.init.uniform_,
    "kaiming": torch.nn.init.kaiming_uniform_,
    "xavier": torch.nn.init.xavier_normal_,
    "truncated": torch.nn.init.trunc_normal_,
    "constant": lambda x: torch.nn.init.constant_(x, 0.5),
    "geometric": lambda x: x.data.geometric_(0.5),
}


@pytest.mark.parametrize("format", ["csr", "ell(7)", "bsr(2,2)"])
@pytest.mark.parametrize("name", INITS)
def test_stored_entries_are_initialised(name, format):
    eye = torch.eye(6) + torch.eye(6).roll(1, 0)
    a, b = (torch.nn.Parameter(scorch.sparse(eye, form)) for form in (format, "csr"))
    for x in (a, b):
        torch.manual_seed(0)
        INITS[name](x)
    stored = scorch.sparse(eye, format).detach()._with_values(torch.ones(a.nnz)).to_dense()
    assert (a.detach().to_dense()[stored == 0] == 0).all() and (a.detach().to_dense()[stored != 0] != 0).all()
    assert float(b.detach().values().abs().max()) > 0 and a.requires_grad


# ---- nested tensors, which answer before the SparseTensor beside them ----
NESTED = {
    "linear": lambda x, a: F.linear(x, a),
    "bias": lambda x, a: F.linear(x, weight=a, bias=torch.arange(4.0)),
    "matmul": lambda x, a: torch.matmul(x, a.T),
    "@": lambda x, a: x @ a.T,
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("f", NESTED.values(), ids=NESTED)
def test_products_of_nested_tensors(f, compiled):
    rows, d = [torch.ones(2, 6), torch.arange(18.0).view(3, 6)], torch.eye(4, 6) * 3
    x, y = (torch.nested.nested_tensor(rows, layout=torch.jagged, requires_grad=True) for _ in range(2))
    a, b = scorch.sparse(d).requires_grad_(), d.clone().requires_grad_()
    found, want = (torch.compile(f, backend="aot_eager") if compiled else f)(x, a), f(y, b)
    assert found.shape == (*x.shape[:2], 4) and torch.equal(found.values(), want.values())
    if not compiled:  # torch 2.13 cannot differentiate this for dense weights either
        found.values().square().sum().backward()
        want.values().square().sum().backward()
        assert torch.equal(x.grad.values(), y.grad.values())
        assert torch.equal(a.grad.to_dense(), b.grad * (d != 0))


def test_nested_tensors_of_the_older_layout():
    """Only where torch has products of them: F.linear."""
    x, y = (torch.nested.nested_tensor([torch.ones(2, 6), torch.ones(3, 6) * 2]) for _ in range(2))
    layer = scorch.nn.Linear(6, 4, density=0.5)
    a, bias = layer.weight, layer.bias
    x.requires_grad_(), y.requires_grad_()
    for f, g in ((F.linear(x, a, bias), F.linear(y, a.to_dense(), bias)), (layer(x), layer(y))):
        assert f.is_nested and len(f.unbind()) == 2
        for part, wanted in zip(f.unbind(), g.unbind(), strict=True):
            torch.testing.assert_close(part, wanted)
    F.linear(x, a).to_padded_tensor(0.0).sum().backward()
    torch.testing.assert_close(x.grad.to_padded_tensor(0.0)[1], a.detach().to_dense().sum(0).expand(3, 6))


@pytest.mark.parametrize("compiled", [False, True])
def test_a_layer_of_nested_tensors(compiled):
    x = torch.nested.nested_tensor([torch.ones(2, 6), torch.ones(3, 6)], layout=torch.jagged)
    layer = scorch.nn.Linear(6, 4, density=0.5)
    found = (torch.compile(layer, backend="aot_eager") if compiled else layer)(x)
    torch.testing.assert_close(found.values(), layer(x.values()))


ONES = torch.ones(3, 3)


def recurrent(kind: str) -> torch.nn.Module:
    layer = getattr(torch.nn, kind)(3, 4)
    name = "weight_hh" if "Cell" in kind else "weight_hh_l0"
    setattr(layer, name, torch.nn.Parameter(scorch.sparse(getattr(layer, name).detach())))
    return layer


@pytest.mark.parametrize(
    ("said", "f"),
    [
        ("gru_cell .*to_dense", lambda a: recurrent("GRUCell")(torch.ones(2, 3))),
        ("lstm_cell .*to_dense", lambda a: recurrent("LSTMCell")(torch.ones(2, 3))),
        ("rnn_tanh .*to_dense", lambda a: recurrent("RNN")(torch.ones(5, 2, 3))),
        ("embedding_bag .*@ W", lambda a: F.embedding_bag(torch.tensor([[0, 1]]), a)),
        ("^spsolve .*to_scipy", lambda a: torch.sparse.spsolve(a, torch.ones(3))),
        ("^gaussian_nll_loss", lambda a: F.gaussian_nll_loss(ONES, ONES, a)),
        ("^ctc_loss", lambda a: F.ctc_loss(a[:, None], ONES.long()[:1], (3,), (3,))),
    ],
    ids=lambda x: x.split()[0] if isinstance(x, str) else "",
)
def test_what_torch_fails_in_is_named_as_it_was_called(said, f):
    with pytest.raises(NotImplementedError, match=said):
        f(scorch.sparse(torch.eye(3)))


def test_bags_are_rows_of_a_sparse_matrix():
    w, weights = torch.tensor([[1.0, 0], [0, 2], [3, 4]]), torch.tensor([1.0, 2, 3])
    index, bag = torch.tensor([0, 2, 1]), torch.tensor([0, 0, 1])
    got = scorch.coo(torch.stack([bag, index]), weights, (2, len(w))) @ scorch.sparse(w)
    start = torch.tensor([0, 2])
    wanted = F.embedding_bag(index, w, start, mode="sum", per_sample_weights=weights)
    assert torch.equal(got.to_dense(), wanted)

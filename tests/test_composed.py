"""Composed tensors in the place of other tensors: copies, files, layers, graphs and functions of torch."""

import copy
import itertools
import pickle

import pytest
import torch
import torch.nn.functional as F
from test_parts import FORMATS, OVERLAP, dense, matrix, plain, same

import scorch
import scorch.nn


@pytest.mark.parametrize("form", [*FORMATS[:3], OVERLAP])
def test_copies_and_files(form, tmp_path):
    a = scorch.sparse(matrix(), format=form)
    torch.save(a, tmp_path / "a.pt")
    twins = [
        copy.copy(a), copy.deepcopy(a), a.clone(), a.detach(), pickle.loads(pickle.dumps(a)),
        torch.load(tmp_path / "a.pt", weights_only=True),
    ]  # fmt: skip
    for b in twins:
        assert b.format == a.format and repr(b) == repr(a)
        same(b, a)
        same(b @ dense(32, 3), a @ dense(32, 3))
    values = a.values()
    values[0] += 1
    same(a.parts[0].values()[:1], values[:1])
    assert copy.deepcopy(torch.nn.Parameter(a)).format == a.format
    text, shape, arrays, *_ = a.__reduce_ex__(2)[1]
    with pytest.raises(ValueError, match=r"values of .* got 1 of all parts"):  # a file that lost values
        a.__reduce_ex__(2)[0](text, shape, (*arrays[:-1], arrays[-1][:1]), False)
    arrays[0 if a.parts[0].format == "csr" else 1][-1] = 1000  # a file that was damaged
    with pytest.raises(ValueError):
        a.__reduce_ex__(2)[0](text, shape, arrays, False)


@pytest.mark.parametrize("forms", [*itertools.permutations(["csr", FORMATS[0], FORMATS[2]], 2)])
@pytest.mark.parametrize("how", ["data", "assign"])
def test_another_tensor_in_the_place_of_one(forms, how):
    a, b = (scorch.sparse(matrix(seed=k), format=form) for k, form in enumerate(forms))
    x, d = dense(32, 3), matrix(seed=1)
    module = torch.nn.Module()
    module.weight = torch.nn.Parameter(a)
    module.weight @ x
    if how == "data":
        module.weight.data = b
    else:
        module.load_state_dict({"weight": b}, assign=True)
    w = module.weight
    for f in (lambda w: w @ x, lambda w: w.T.sum(1), lambda w: w * 2, lambda w: w[3:5]):
        same(f(w), f(d))
    (w @ x).sum().backward()
    assert w.format == b.format == w.grad.format and repr(w).endswith(repr(b)) and w._is_param


@pytest.mark.parametrize("form", [*FORMATS[:3], FORMATS[4]])
def test_values_in_place_are_seen(form):
    d, x = matrix(), dense(32, 3)
    a = scorch.sparse(d, format=form)
    for step in (lambda a: a @ x, lambda a: a.to_dense(), lambda a: (a * x[:, 0]).to_dense()):
        step(a)
        a *= 2
        d = d * 2
        same(step(a), step(scorch.sparse(d, format="csr")))
        a.values().mul_(0.5)
        d = d / 2
        same(step(a), step(scorch.sparse(d, format="csr")))
    assert a.float().dtype == torch.float32 and a.float().format == a.format
    assert scorch.map(a, torch.exp).format == a.format
    assert a.to(index_dtype=torch.int64).index_dtype == torch.int64


@pytest.mark.parametrize("form", FORMATS[:3])
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_optimizers(form, optimizer):
    d, x = matrix(), dense(32, 3)
    a = torch.nn.Parameter(scorch.sparse(d, format=form))
    w = torch.nn.Parameter(a.detach().values().clone())
    steps = [optimizer([p], lr=0.1) for p in (a, w)]
    for _ in range(3):
        (a @ x).square().sum().backward()
        (a.detach()._with_values(w) @ x).square().sum().backward()
        for step in steps:
            step.step()
            step.zero_grad()
    torch.testing.assert_close(a.detach().values(), w.detach())
    torch.nn.utils.clip_grad_norm_([a], 1.0)


@pytest.mark.parametrize("form", FORMATS[:3])
def test_layers(form):
    torch.manual_seed(0)
    layer = scorch.nn.Linear(32, 24, density=0.3, format=form, dtype=torch.float64)
    x = dense(6, 32)
    torch.testing.assert_close(layer(x), F.linear(x, layer.weight.detach().to_dense(), layer.bias))
    layer(x).square().sum().backward()
    other = scorch.nn.Linear(32, 24, density=0.3, format=form, dtype=torch.float64)
    other.load_state_dict(layer.state_dict())
    same(other(x), layer(x))
    assert layer.values.grad.shape == layer.values.shape and str(layer.weight.format) == str(
        scorch.Format(form)
    )
    linear = torch.nn.Linear(32, 24, dtype=torch.float64)
    with torch.no_grad():
        linear.weight.copy_(matrix())
    made = scorch.nn.Linear.from_dense(linear, format=form)
    torch.testing.assert_close(made(x), linear(x))
    made.set_pattern(matrix(seed=9) != 0)
    assert made.weight.format == scorch.Format(form)
    with pytest.raises(ValueError, match="stores an entry once"):
        scorch.nn.Linear.from_dense(linear, format=OVERLAP)


@pytest.mark.parametrize("form", [FORMATS[0], FORMATS[1]])
def test_compiled(form):
    d, x = matrix(), dense(32, 3)
    a = scorch.sparse(d, format=form)
    f = torch.compile(lambda a, x: torch.relu(a @ x) + 1, backend="aot_eager", fullgraph=True)
    same(f(a, x), torch.relu(d @ x) + 1)
    a.requires_grad_()
    f(a, x).square().sum().backward()
    got, a.grad = a.grad, None
    (torch.relu(a @ x) + 1).square().sum().backward()
    same(got, a.grad)
    scaled = torch.compile(lambda a, v: (a * v) @ x, backend="aot_eager", fullgraph=True)
    same(scaled(a.detach(), x[:, 0]), (d * x[:, 0]) @ x)
    layer = scorch.nn.Linear(32, 24, format=form, dtype=torch.float64)
    torch.testing.assert_close(torch.compile(layer, backend="aot_eager")(x.T), layer(x.T))


@pytest.mark.parametrize("form", [FORMATS[6], "bitmask of rows(> 12) + bitmask of rows(> 6) + csc"])
def test_parts_whose_numbers_of_values_are_read_from_arrays_compile(form):
    """Those of bit masks, and of what is stored beside padding."""
    d, x = matrix(), dense(32, 3)
    f = lambda a, x: (a @ x).sum(1) + a.sum(1)  # noqa: E731
    a = scorch.sparse(d, format=form).requires_grad_()
    got = torch.compile(f, backend="aot_eager", fullgraph=True)(a, x)
    same(got, f(d, x))
    (grad,) = torch.autograd.grad(got.square().sum(), a)
    d.requires_grad_()
    (wanted,) = torch.autograd.grad(f(d, x).square().sum(), d)
    same(grad, wanted * (d != 0))


@pytest.mark.parametrize(
    "one, other",
    [
        (lambda a: a.sum(1), lambda a: a.mean(1)),
        (lambda a: a.sum(1), lambda a: a.sum(0)),
        (lambda a: a.var(0), lambda a: a.var(1)),
        (lambda a: a[2:5], lambda a: a.tril()),
    ],
    ids=("mean", "across", "var", "index"),
)
def test_functions_of_one_graph_are_told_apart(one, other):
    """Also where the graph breaks inside of them."""
    torch.compiler.reset()
    d = matrix()
    a = scorch.sparse(d, format=FORMATS[2])
    for x, wanted in zip(
        torch.compile(lambda a: (one(a), other(a)), backend="eager")(a), (one, other), strict=True
    ):
        torch.testing.assert_close(plain(x), wanted(d))


def test_inductor_trains_with_other_numbers_of_entries():
    """What a part of them has are the entries less those of others, which is all that a gradient needs."""
    torch.compiler.reset()
    f = torch.compile(lambda a, x: a @ x)
    for seed in range(3):
        d, x = matrix(seed=seed), dense(32, 3).requires_grad_()
        f(scorch.sparse(d, format=FORMATS[0]), x).sum().backward()
        same(x.grad, d.T @ torch.ones(24, 3, dtype=d.dtype))


def test_parts_that_might_store_an_entry_twice_but_do_not():
    d = torch.tensor([[1.0, 2, 0, 0], [3, 4, 0, 0], [0, 0, 5, 6], [9, 0, 7, 8]])
    a = scorch.sparse(d, format="csr of band(-9,-3) + bsr(2,2)")
    assert a._is_unique()
    for made, wanted in ((scorch.map(a, lambda _: a.values()), d), (a.square(), d**2), (a.sin(), d.sin())):
        same(made, wanted)
        assert made.format == a.format
    v = torch.stack([a.values(), 2 * a.values()])
    same(
        torch.vmap(lambda v: scorch.map(a, lambda _: v).square() @ d)(v),
        torch.stack([d**2 @ d, 4 * d**2 @ d]),
    )
    a *= a
    a[3, 0] = 5
    assert a.to_dense()[3].tolist() == [5, 0, 49, 64]
    f = torch.compile(lambda a: scorch.map(a, torch.exp), backend="eager", fullgraph=True)
    with pytest.raises(Exception, match="parts that store an entry once"):
        f(a)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.bool])
def test_what_is_linear_keeps_parts_that_store_an_entry_twice(dtype):
    d, x = matrix(dtype=dtype), dense(32)
    p = scorch.parts(scorch.sparse(d, format="csc"), scorch.sparse(matrix(seed=1, dtype=dtype)))
    w = p.to_dense()
    linear = [lambda p: p * 2, lambda p: 2 * p, lambda p: p * p.dtype.itemsize, lambda p: p * (x > 0)]
    if dtype != torch.bool:
        linear += [lambda p: -p, lambda p: +p, lambda p: p * (x[:24, None] > 0)]
    if dtype.is_floating_point:
        linear += [lambda p: p / 2, lambda p: p / (x + 5)]
    for k, f in enumerate(linear):
        assert dtype == torch.bool or f(p).format == p.format, k
        torch.testing.assert_close(f(p).to_dense(), f(w))
    for f in (lambda p: p * p, lambda p: p // 2, lambda p: p % 2, lambda p: (p * 1).abs()):
        assert str(f(p).format) == "csr"
        torch.testing.assert_close(f(p).to_dense(), f(w))
    with pytest.raises(ValueError, match="stored twice are added first"):
        scorch.map(p, lambda _: p.values())
    if dtype.is_floating_point:
        torch.testing.assert_close(p.clone().mul_(p).to_dense(), w * w)
        with pytest.raises(ValueError, match="several times"):
            p.div_(p.clone())


def test_sums_of_integers_wrap_before_they_are_divided():
    half = scorch.sparse(torch.full((2, 2), 2**30, dtype=torch.int32))
    p, b = scorch.parts(half, half), torch.full((2, 2), 2, dtype=torch.int32)
    for y in (p / 2, p / b, torch.true_divide(p, b[0]), p.div(2.0)):
        same(y, torch.full((2, 2), -(2.0**30)))
    same(scorch.evaluate("C[i,j] = A[i,j] / 2", A=p), torch.full((2, 2), -(2.0**30)))
    same(scorch.evaluate("y[i] = A[i,j] / b[j]", A=p, b=b[0]), torch.full((2,), -(2.0**31)))
    assert (p * 2).format == p.format and (p.convert("csr") / 2).format == "csr"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_narrower_types_are_of_sums(dtype):
    d = torch.full((2, 2), 2.0**40, dtype=torch.float64)
    p = scorch.parts(scorch.sparse(d), scorch.sparse(3 - d))
    for y in (p.to(dtype), p.type(dtype)):
        assert y.dtype == dtype and y.format == "csr"
        same(y, p.to_dense().to(dtype))
    wide = scorch.parts(scorch.sparse(d.float()), scorch.sparse(-d.float())).double()
    assert wide.format == p.format and wide.dtype == torch.float64
    alone = scorch.sparse(matrix(), format=FORMATS[0])
    assert alone.to(dtype).format == alone.format


@pytest.mark.parametrize("form", [FORMATS[0], FORMATS[3], "ell(2) of nearest(2,12) + coo"])
def test_an_entry_is_a_view_of_its_value(form):
    d, x = matrix(12, 12), dense(12, 2)
    a = scorch.sparse(d, format=form)
    for i, j in ((3, 4), (7, 5)):
        a[i, j] = 2
        a[i, j].mul_(3)
        assert a[i, j] == a.to_dense()[i, j] == 6
    d[[3, 7], [4, 5]] = 6
    for index in (2, (slice(1, 3), 5), (None, 4), (torch.tensor([1, 3]), torch.tensor([5, 5])), d > 1):
        same(a[index], d[index])
    assert torch.autograd.gradcheck(lambda a: a @ x, (a.requires_grad_(),))


def test_functions_that_read_coordinates_get_csr():
    d = matrix()
    for form in FORMATS[:3]:
        a = scorch.sparse(d, format=form)
        same(a.sum(0), d.sum(0))
        same(a[3:9], d[3:9])
        same(torch.cat([a, a.convert("csr")]), torch.cat([d, d]))
        same(a.amax(1), d.amax(1))
        same(a + scorch.sparse(matrix(seed=3), format="csr"), d + matrix(seed=3))
        same(scorch.sparse(matrix(seed=3), format="csr") + a, d + matrix(seed=3))
        same(a + 1, d + 1)
        torch.testing.assert_close(plain(scorch.softmax(a, 1)), plain(scorch.softmax(a.convert("csr"), 1)))
        q = dense(24, 4), dense(32, 4), dense(32, 4)
        torch.testing.assert_close(scorch.attention(*q, a), scorch.attention(*q, a.convert("csr")))
        assert a.to_scipy().shape == (24, 32) and a.to_sparse_csr().shape == (24, 32)
        square = scorch.sparse(matrix(24, 24), format=form)
        same(square.reorder("degree").undo(), square)
        assert a.plan(8).startswith("operand 0:") and a.optimize(calls=[lambda a: a @ dense(32, 3)]) is a
        assert a.memory()["total"] >= a.nbytes
        a.release()


@pytest.mark.parametrize(
    ("text", "f"),
    [
        ("R[k] = A[k,k] * A[i,k] * A[k,i]", lambda a: a.diagonal() * (a * a.T).sum(0)),
        ("R[k] = A[i,k] * A[k,i]", lambda a: (a * a.T).sum(0)),
    ],
)
def test_products_of_entries_with_each_other_get_csr(text, f):
    d = matrix(12, 12).double()
    a, b = scorch.sparse(d, format="csr of rows(> 2) + coo").requires_grad_(), d.clone().requires_grad_()
    assert "converted to csr" in scorch.explain(text, A=a)
    scorch.evaluate(text, A=a).sum().backward()
    f(b).sum().backward()
    torch.testing.assert_close(a.grad.to_dense(), b.grad * (d != 0))


@pytest.mark.parametrize("form", ["hyb(1,3)", "hyb(1,6)"])
@pytest.mark.parametrize("f", [torch.mul, torch.div])
def test_gradients_to_a_dense_operand_are_sums_over_many_parts(form, f):
    d, x = matrix(40, 30).double(), torch.rand(40, 30, dtype=torch.float64) + 1
    a, b = scorch.sparse(d, format=form).requires_grad_(), d.clone().requires_grad_()
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    f(a, ours).to_dense().square().sum().backward()
    f(b, theirs).square().sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)
    torch.testing.assert_close(a.grad.to_dense(), b.grad * (d != 0))


def test_threads_of_a_tensor_see_one_structure():
    a = scorch.sparse(matrix(), format=FORMATS[0])
    b = a * 3
    assert b.parts[0].crd(1).data_ptr() == a.parts[0].crd(1).data_ptr()
    for one, two in itertools.pairwise([a, b, a.clone() * 2]):
        same(one.parts[1].indices(), two.parts[1].indices())


def test_rows_across_are_turned_once():
    d = matrix()
    many, bias = dense(300, 32, seed=5), dense(24, seed=6)
    for form in FORMATS[:3]:
        a = scorch.sparse(d, format=form)
        same(F.linear(many, a, bias), F.linear(many, d, bias))
        same(dense(300, 24) @ a, dense(300, 24) @ d)
        x = many.clone().requires_grad_()
        b = a.detach().requires_grad_()
        F.linear(x, b, bias).square().sum().backward()
        torch.testing.assert_close(x.grad, 2 * F.linear(many, d, bias) @ d)
        assert F.linear(many, a).is_contiguous() and b.grad.format == a.format


def test_dense_rows_are_dense_products():
    d = torch.rand(300, 200) * (torch.arange(300)[:, None] % 3 == 0)
    d[1, 5] = d[4, 7] = 1
    a = scorch.sparse(d, format="compressed(0), dense(1) of rows(> 20) + csr")
    said = scorch.explain("ij,jk->ik", a, torch.ones(200, 128))
    assert "x0_0 is compressed(0), dense(1)" in said and "by the dense library" in said
    none = scorch.sparse(torch.eye(24, 32), format=FORMATS[1])  # no row is long
    same(none @ torch.ones(32, 2), torch.eye(24, 32) @ torch.ones(32, 2))
    same(none.T @ torch.ones(24, 2), torch.eye(24, 32).T @ torch.ones(24, 2))


def test_transforms():
    d, x = matrix(), dense(32, 3)
    for form in FORMATS[:2]:
        a = scorch.sparse(d, format=form)
        v = a.values()
        f = lambda v: scorch.map(a, lambda _: v) @ x  # noqa: B023, E731
        same(torch.func.jvp(f, (v,), (2 * v,))[1], 2 * d @ x)
        same(torch.vmap(f)(torch.stack([v, 3 * v])), torch.stack([d @ x, 3 * d @ x]))
        same(torch.vmap(lambda x: a @ x)(torch.stack([x, -x])), torch.stack([d @ x, -d @ x]))  # noqa: B023
        wanted = torch.zeros(24, 32, dtype=d.dtype)
        wanted[tuple(a.indices().long())] = torch.func.grad(lambda v: f(v).square().sum())(v)  # noqa: B023
        same(wanted, 2 * (d @ x) @ x.T * (scorch.map(a, torch.ones_like).to_dense() != 0))


def test_products_with_one_column_are_those_with_a_vector():
    dense = torch.randn(6, 5) * (torch.rand(6, 5) < 0.6)
    a = scorch.sparse(dense, format="csr of rows(> 2) + csr")
    x, y = torch.randn(5, 3)[:, :1], torch.randn(1, 6)
    assert torch.equal(a @ x, (a @ x[:, 0])[:, None]) and torch.equal(y @ a, (y[0] @ a)[None])
    torch.testing.assert_close(torch.nn.functional.linear(x.T, a), x.T @ dense.T)
    torch.testing.assert_close(a.T @ y.T, dense.T @ y.T)

"""Results that share the first levels of an operand: which they are, their values, and their gradients."""

import pytest
import torch

import scorch
from scorch.tensor.format import layout
from scorch.tensor.values import assemble

TTV, TTM = "ikl,l->ik", "ikl,lr->ikr"
ROWS = "compressed(0), compressed(1), dense(2)"


def cube(seed=0):
    g = torch.Generator().manual_seed(seed)
    d = torch.randint(-3, 4, (9, 8, 7), generator=g).double()
    return d * (torch.rand(9, 8, 7, generator=g) < 0.15)


def factor(text, seed=1):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(-3, 4, (7,) if text == TTV else (7, 5), generator=g).double()


def shared(y, a, levels=2):
    """Whether the index arrays of the first levels are those of the operand."""
    ours, theirs = ([x.data_ptr() for x in t._arrays()[:-1]] for t in (y, a))
    return ours == theirs[: 2 * levels] and len(ours) == 2 * levels


@pytest.mark.parametrize("dtype", (torch.int32, torch.int64))
@pytest.mark.parametrize(("text", "form"), ((TTV, "dcsr"), (TTM, ROWS)))
def test_levels_are_shared(text, form, dtype):
    d, x = cube(), factor(text)
    a = scorch.sparse(d, "csf", index_dtype=dtype)
    y = scorch.einsum(text, a, x)
    assert str(y.format) == form and shared(y, a)
    assert torch.equal(y.to_dense(), torch.einsum(text, d, x))
    assert torch.equal(scorch.einsum(text, a, x, format="dense"), y.to_dense())
    out = torch.empty_like(y.to_dense())
    assert torch.equal(scorch.einsum(text, a, x, out=out), y.to_dense())
    turned = scorch.einsum(text, a.permute(1, 0, 2), x)
    assert shared(turned, a) and torch.equal(turned.to_dense(), y.to_dense().transpose(0, 1))


def test_entries_with_nothing_below_are_zeros():
    pos = [torch.tensor(p) for p in ([0, 2], [0, 2, 3], [0, 2, 2, 3])]
    crd = [torch.tensor(c) for c in ([0, 3], [1, 4, 0], [0, 2, 1])]
    a = scorch.from_components("csf", (4, 5, 3), pos, crd, torch.tensor([2.0, 3.0, 4.0]))
    y = scorch.einsum("ikl->ik", a)
    assert y.values().tolist() == [5, 0, 4] and torch.equal(y.to_dense(), a.to_dense().sum(2))
    m = scorch.evaluate("m[i,k] min= A[i,k,l]", A=a, format="dcsr")
    assert m.values().tolist() == [0, 0, 0]
    some = scorch.evaluate("m[i,k] max= A[i,k,l]", A=a, implicit="skip", format="dcsr")
    assert some.values().tolist() == [3, 4]  # only what had a point


def test_levels_that_are_asked_for():
    d = cube().sum(2)
    a, x = scorch.sparse(d, "dcsr"), factor(TTM)[:, :3]
    y = scorch.evaluate("y[i] += A[i,j]", A=a, format="compressed(0)")
    assert shared(y, a, 1) and torch.equal(y.to_dense(), d.sum(1))
    b = scorch.sparse(d[:, :7], "dcsr")
    for form in ("compressed(0), dense(1)", "csr", "coo"):
        y = scorch.einsum("ij,jk->ik", b, x, format=form)
        assert shared(y, b, 1) == form.startswith("compressed") and torch.equal(y.to_dense(), d[:, :7] @ x)
    turned = scorch.einsum("ij,jk->ki", b, x, format="compressed(1), dense(0)")
    assert shared(turned, b, 1) and torch.equal(turned.to_dense(), (d[:, :7] @ x).T)
    assert not scorch.is_sparse(scorch.einsum("ij,jk->ik", b, x))
    assert not scorch.is_sparse(scorch.einsum("ij->i", b))


def test_other_sparse_operands_decide_too():
    d, x = cube(), factor(TTM)
    v = scorch.sparse(factor(TTV).double() * torch.tensor([1, 0, 0, 0, 1, 0, 0]))
    a = scorch.sparse(d, "csf")
    y = scorch.einsum(TTV, a, v)
    assert str(y.format) == "dcsr" and torch.equal(y.to_dense(), torch.einsum(TTV, d, v.to_dense()))
    sums = scorch.evaluate("Y[i,k,r] = A[i,k,l] * U[l,r] + B[i,k,r]", A=a, U=x, B=torch.ones(9, 8, 5))
    assert torch.equal(sums, torch.einsum(TTM, d, x.double()) + 1)


def test_heads_of_a_sampled_product():
    g = torch.Generator().manual_seed(3)
    q, k = torch.randn(9, 2, 4, generator=g), torch.randn(8, 2, 4, generator=g)
    a = scorch.sparse((cube().sum(2) != 0).float(), "csr")
    y = scorch.einsum("ij,ihd,jhd->ijh", a, q, k)
    assert str(y.format) == "dense(0), compressed(1), dense(2)" and y.crd(1).data_ptr() == a.crd(1).data_ptr()
    torch.testing.assert_close(y.to_dense(), torch.einsum("ij,ihd,jhd->ijh", a.to_dense(), q, k))


@pytest.mark.parametrize("text", (TTV, TTM))
def test_schedules(text):
    d, x = cube(), factor(text)
    a = scorch.sparse(d, "csf")
    left, right = ("Y[i,k]", "v[l]") if text == TTV else ("Y[i,k,r]", "v[l,r]")
    expression = f"{left} = A[i,k,l] * {right}"
    schedule = scorch.compile(expression, A=a, v=x).schedule
    y = scorch.evaluate(expression, A=a, v=x, schedule=schedule)
    assert shared(y, a) and torch.equal(y.to_dense(), torch.einsum(text, d, x))
    inner = f"for l in A {{ {left} += A[i,k,l] * {right} }}"
    inner = inner if text == TTV else inner.replace("Y[", "vec r { Y[") + " }"
    y = scorch.evaluate(expression, A=a, v=x, schedule=f"par i in A {{ for k in A {{ {inner} }} }}")
    assert shared(y, a) and torch.equal(y.to_dense(), torch.einsum(text, d, x))
    with pytest.raises(ValueError, match="assigned by = inside of it"):
        nest = f"par i in A {{ for k in A {{ {inner.replace('+=', '=')} }} }}"
        scorch.evaluate(expression, A=a, v=x, schedule=nest)


@pytest.mark.parametrize("text", (TTV, TTM))
def test_gradients(text):
    a, x = scorch.sparse(cube(), "csf"), factor(text)
    *structure, values = a._arrays()
    operands = [values.clone(), x]

    def f(values, x):
        t = assemble(layout(a._fmt, 3), tuple(a.shape), (*structure, values))
        return scorch.einsum(text, t, x).values()

    def loss(*xs):
        return f(*xs).pow(2).sum()

    tracked = [t.clone().requires_grad_() for t in operands]
    assert torch.autograd.gradcheck(f, tracked) and torch.autograd.gradgradcheck(f, tracked)
    want = torch.autograd.grad(loss(*tracked), tracked)
    for got, expected in zip(torch.func.grad(loss, (0, 1))(*operands), want, strict=True):
        torch.testing.assert_close(got, expected)
    batch = torch.stack([x, 2 * x])
    got = torch.func.vmap(lambda x: scorch.einsum(text, a, x, format="dense"))(batch)
    torch.testing.assert_close(got[1], 2 * torch.einsum(text, cube(), x))


def test_compiled():
    torch._dynamo.reset()
    a, x = scorch.sparse(cube(), "csf"), factor(TTM)

    def f(x):
        return scorch.einsum(TTM, a, x).to_dense().sum()

    assert torch.compile(f, backend="aot_eager", fullgraph=True)(x) == f(x)
    torch._dynamo.reset()

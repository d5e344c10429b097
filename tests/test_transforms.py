"""SparseTensors made inside of torch.func and forward mode, of what is captured and of what is followed."""

import numpy as np
import pytest
import scipy.sparse
import torch
import torch.autograd.forward_ad as fwAD

import scorch


def matrix(rows=4, cols=6, seed=0):
    g = torch.Generator().manual_seed(seed)
    values = torch.randint(1, 9, (rows, cols), generator=g)
    return (values * (torch.rand(rows, cols, generator=g) < 0.5)).double()


def forward_mode(f, x, tangent):
    with fwAD.dual_level():
        return fwAD.unpack_dual(f(fwAD.make_dual(x, tangent))).tangent


def derivatives(f, x):
    """What transforms make of a function of a tensor."""
    t, many, func = (
        torch.linspace(1, 2, x.numel(), dtype=x.dtype).view(x.shape),
        torch.stack([x, 2 * x]),
        torch.func,
    )
    total = lambda x: f(x).sin().sum()  # noqa: E731
    return {
        "grad": lambda: func.grad(total)(x),
        "jvp": lambda: func.jvp(f, (x,), (t,)),
        "hessian": lambda: func.hessian(total)(x),
        "forward mode": lambda: forward_mode(f, x, t),
        "vmap": lambda: func.vmap(f)(many),
        "vmap of grad": lambda: func.vmap(func.grad(total))(many),
    }


def agree(f, g, x, ways):
    for way in ways:
        torch.testing.assert_close(
            derivatives(f, x)[way](), derivatives(g, x)[way](), msg=lambda m, w=way: f"{w}: {m}"
        )


WAYS = ("grad", "jvp", "hessian", "forward mode", "vmap", "vmap of grad")
D, X = matrix(), matrix(6, 2, 1)
A = scorch.sparse(D, "csr")
ARRAY, MATRIX = D.numpy(), scipy.sparse.csr_array(D.numpy())
LAYOUTS = {name: getattr(D, f"to_sparse_{name}")() for name in ("coo", "csr", "csc")}
MAKERS = {
    **{fmt: lambda fmt=fmt: scorch.sparse(D, fmt) for fmt in ("csr", "coo", "bsr(2,3)", "ell(6)", "dense")},
    **{f"torch {name}": lambda x=x: scorch.sparse(x) for name, x in LAYOUTS.items()},
    "numpy": lambda: scorch.sparse(ARRAY),
    "scipy": lambda: scorch.sparse(MATRIX),
    "components": lambda: components(A.values()),
    **{f"to {fmt}": lambda fmt=fmt: A.convert(fmt) for fmt in ("csc", "coo", "bsr(2,3)", "ell(6)")},
    "another": lambda: scorch.sparse(A, "coo"),
    "int64": lambda: A.to(index_dtype=torch.int64),
    "clone": lambda: A.clone(),
    "detach": lambda: A.detach(),
}  # fmt: skip


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_of_what_is_captured(make):
    agree(lambda x: make() @ x, lambda x: D @ x, X, WAYS)


EDGES = torch.tensor([[0, 1, 2, 2, 0], [1, 2, 0, 2, 1]])


def adjacency(weight, sym=False):
    index = EDGES
    if sym:  # a loop at each node that has none
        index = torch.cat([index, torch.tensor([[0, 1, 3, 4, 5]] * 2)], 1)
        weight = torch.cat([weight, weight.new_ones(5)])
        degree = weight.new_zeros(6).index_add(0, index[1], weight)
        weight = degree[index[1]] ** -0.5 * weight * degree[index[0]] ** -0.5
    return weight.new_zeros(36).index_add(0, index[1] * 6 + index[0], weight).view(6, 6)


def test_edges_that_are_captured():
    weight = torch.arange(1.0, 6, dtype=torch.float64)
    for options in ({}, {"normalize": "sym", "add_self_loops": True}):
        dense = adjacency(weight, bool(options))
        f = lambda x, o=options: scorch.from_edge_index(EDGES, weight, num_nodes=6, **o) @ x  # noqa: E731
        agree(f, lambda x, d=dense: d @ x, X, WAYS)


WEIGHT = torch.arange(1.0, 6, dtype=torch.float64)


def place(values):
    return D.new_zeros(4, 6).index_put(tuple(A.indices().long()), values)


def components(values):
    return scorch.from_components("csr", (4, 6), [None, A.pos(1)], [None, A.crd(1)], values)


OF_VALUES = {  # (of values, the same in dense torch, values)
    "components": (components, place, A.values()),
    "components in blocks": (lambda v: components(v).convert("bsr(2,3)"), place, A.values()),
    "components, dense": (lambda v: components(v).to_dense(), place, A.values()),
    "map": (lambda v: scorch.map(A, lambda _: v), place, A.values()),
    "edges": (lambda w: scorch.from_edge_index(EDGES, w, num_nodes=6), adjacency, WEIGHT),
    "edges, coo": (lambda w: scorch.from_edge_index(EDGES, w, num_nodes=6, format="coo"), adjacency, WEIGHT),
    "edges, normalised": (
        lambda w: scorch.from_edge_index(EDGES, w, num_nodes=6, normalize="sym", add_self_loops=True),
        lambda w: adjacency(w, True),
        WEIGHT,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_VALUES)
def test_of_values_that_are_followed(name):
    make, dense, values = OF_VALUES[name]
    agree(lambda v: make(v) @ X, lambda v: dense(v) @ X, values, WAYS)


@pytest.mark.parametrize("fmt", ["csr", "coo", "ell(6)"])
def test_of_a_dense_tensor_that_is_followed(fmt):
    """The structure is that of its numbers, as it is where autograd follows it."""
    kept = D != 0
    agree(lambda d: scorch.sparse(d, fmt) @ X, lambda d: (d * kept) @ X, D, WAYS[:4])


def test_a_structure_that_would_differ_over_a_batch():
    crd = A.crd(1)
    for make, given in (
        (lambda d: scorch.sparse(d) @ X, D),
        (lambda c: scorch.from_components("csr", (4, 6), [None, A.pos(1)], [None, c], A.values()) @ X, crd),
        (lambda edges: scorch.from_edge_index(edges, num_nodes=6) @ X, EDGES),
    ):
        with pytest.raises(NotImplementedError, match="each element of the batch would have a structure of"):
            torch.func.vmap(make)(torch.stack([given, given]))
    with pytest.raises(NotImplementedError, match="gradients to a sparse tensor of torch"):
        torch.func.grad(lambda d: (scorch.sparse(d.to_sparse_coo()) @ X).sum())(D)


def test_components_are_looked_through_there_too():
    def wrong(x):
        return scorch.from_components("csr", (4, 6), [None, A.pos(1)], [None, A.crd(1) + 5], A.values()) @ x

    for transform in (torch.func.vmap, lambda f: torch.func.grad(lambda x: f(x).sum())):
        with pytest.raises(ValueError, match="level 1"):
            transform(wrong)(torch.stack([X, X]))


def test_tensors_without_memory_say_so():
    seen = []

    def f(x):
        try:
            scorch._C.convert(x, "csr", False)
        except TypeError as error:
            seen.append(str(error))
        return x.sum()

    torch.func.grad(f)(X)
    assert "torch.float64" in seen[0] and "transform of torch.func" in seen[0]
    for wrong, said in ((X.to("meta"), "on meta"), (X.to(torch.complex64), "complex")):
        with pytest.raises(TypeError, match=said):
            scorch._C.convert(wrong, "csr", False)


# ---- programs ----
SEVERAL = {
    "m[i] += A[i,j]*B[i,j]; n[i,j] = m[i]*B[i,j]": lambda b: [(D * b).sum(1), (D * b).sum(1, True) * b],
    "n[i,j] = relu(B[i,j])*A[i,j]; s[j] += n[i,j]": lambda b: [torch.relu(b) * D, (torch.relu(b) * D).sum(0)],
}


@pytest.mark.parametrize("text", SEVERAL)
def test_vmap_of_several_assignments(text):
    many = torch.stack([matrix(seed=2), -matrix(seed=3)])
    got = torch.func.vmap(lambda b: scorch.evaluate(text, A=A, B=b, format=("dense", None)))(many)
    wanted = [torch.stack(parts) for parts in zip(*map(SEVERAL[text], many), strict=True)]
    for g, w in zip(got, wanted, strict=True):
        torch.testing.assert_close(g, w)
    last = torch.func.vmap(lambda b: scorch.evaluate(text, A=A, B=b)[0 if "m[i]" in text else 1])(many)
    torch.testing.assert_close(last, wanted[0 if "m[i]" in text else 1])


def test_vmap_of_the_gradient_of_a_maximum():
    many = torch.stack([matrix(seed=2), -matrix(seed=3)])
    f = torch.func.grad(lambda b: scorch.evaluate("m[i] max= B[i,j]", B=b).sum())
    g = torch.func.grad(lambda b: b.amax(1).sum())
    torch.testing.assert_close(torch.func.vmap(f)(many), torch.func.vmap(g)(many))


@pytest.mark.parametrize(
    ("f", "g"),
    [
        (lambda x: scorch.einsum("jk->", x), lambda x: x.sum()),
        (lambda x: scorch.einsum("ij,jk->i", A, x), lambda x: (D @ x).sum(1)),
        (
            lambda x: scorch.evaluate("y = A[i,j] * x[j,k] * x[l,k]", A=A, x=x),
            lambda x: (D @ x).sum(0) @ x.sum(0),
        ),
    ],
)
def test_tangents_of_operands_that_are_summed(f, g):
    agree(f, g, X, ("jvp", "hessian", "forward mode"))


def test_numbers_are_as_before_outside():
    """Making a tensor inside leaves no mark on what it is made of."""

    def f(x):
        return (scorch.sparse(D) @ x).sum()

    torch.func.grad(f)(X)
    assert torch.is_grad_enabled() and fwAD._current_level == -1
    assert np.array_equal((scorch.sparse(D) @ X).numpy(), (D @ X).numpy())


# ---- tangents of a SparseTensor itself ----
@pytest.mark.parametrize("format", ("csr", "csc", "coo", "bsr(2,1)"))
def test_tangents_of_the_tensor_are_those_of_its_values(format):
    dense = (torch.rand(4, 6) > 0.4) * torch.randn(4, 6)
    a, x = scorch.sparse(dense, format), torch.rand(6, 3)
    calls = (
        lambda a: a @ x,
        lambda a: (a * 3).to_dense(),
        lambda a: torch.relu(a).sum(1),
        lambda a: scorch.einsum("ij,jk->ik", a, x),
        lambda a: a.T @ torch.ones(4, 2),
        lambda a: a.values().sin(),
    )
    for call in calls:
        arrays = (a.values(),), (2 * a.values(),)
        _, wanted = torch.func.jvp(lambda v, call=call: call(scorch.map(a, lambda _: v)), *arrays)
        with fwAD.dual_level():
            found = fwAD.unpack_dual(call(fwAD.make_dual(a, a * 2))).tangent
            plain = fwAD.unpack_dual(call(a)).tangent
        assert plain is None
        torch.testing.assert_close(found, wanted)

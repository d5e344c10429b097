"""The same under the modes of torch that programs turn on around everything.

Those are where new tensors lie and of which type they are, inference, no gradients, deterministic algorithms,
looking for anomalies, and modes that see every call.
"""

import contextlib
import copy
import io
from functools import partial

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import scorch
import scorch.nn


class SeesFunctions(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class SeesOperators(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


@contextlib.contextmanager
def wide_by_default():
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


MODES = {
    "elsewhere": lambda: torch.device("meta"),
    "wide": wide_by_default,
    "deterministic": deterministic,
    "functions": SeesFunctions,
    "operators": SeesOperators,
    "anomaly": lambda: torch.autograd.set_detect_anomaly(True),
}


def random(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(len(shape) + sum(shape)))


def square(format="csr"):
    d = random(6, 6)
    return scorch.sparse(torch.where(d < 0.4, d, 0) + torch.eye(6), format)


def edges(weight, x, **how):
    index = torch.tensor([[0, 1, 2, 4, 4], [3, 3, 5, 0, 1]], device="cpu")
    return scorch.from_edge_index(index, weight, num_nodes=6, **how) @ x


def layer(make):
    torch.manual_seed(0)
    return make()


LAYERS = {
    "gcn": scorch.nn.GCNConv(4, 3),
    "sage": scorch.nn.SAGEConv(4, 3),
    "gat": scorch.nn.GATConv(4, 3),
    "sg": scorch.nn.SGConv(4, 3),
    "appnp": scorch.nn.APPNP(2, 0.1),
}
# A function of operands, made each time: those that are dense or of values are differentiated.
CASES = {
    "product": (lambda A, x: A @ x, square, lambda: random(6, 3)),
    "turned": (lambda A, x: x @ A.T, square, lambda: random(3, 6)),
    "squared": (lambda A: A @ A, square),
    "sums": (lambda A: A.sum(0) + A.amax(1) + torch.max(A, 1)[0], square),
    "pointwise": (lambda A, B: torch.relu(A - 2 * B) + A * B, square, lambda: square("coo")),
    "softmax": (lambda A: torch.softmax(A, -1), square),
    "where": (lambda A: torch.where(A > 0.5, A, 0.0), square),
    "rows": (lambda A: torch.cat([A[[0, 2]], A[1:5]]), square),
    "triangle": (lambda A: torch.tril(A) + torch.triu(A, 1), square),
    "submatrix": (lambda A: A.submatrix([0, 2, 1], [5, 1]), square),
    "joined": (lambda A: torch.block_diag(A, A), square),
    "formats": (lambda A, x: A.convert("bsr(2,2)") @ x, square, lambda: random(6, 3)),
    "parts": (
        lambda A, x: A @ x,
        lambda: square("bsr(2,2) of blocks(2,2,0.6) + csr"),
        lambda: random(6, 3),
    ),
    "chain": (
        lambda A, x, w: scorch.einsum("ij,jk,kl->il", A, x, w),
        square,
        lambda: random(6, 4),
        lambda: random(4, 2),
    ),
    "several": (
        lambda A, x: scorch.evaluate("t[i] = A[i,j]*x[j]; y[i] = relu(t[i] - 1)*t[i]", A=A, x=x)[1],
        square,
        lambda: random(6),
    ),
    "attention": (
        lambda A, q, k, v: scorch.attention(q, k, v, A),
        square,
        *[lambda: random(1, 2, 6, 8)] * 3,
    ),
    "edges": (edges, lambda: random(5), lambda: random(6, 2)),
    "normalised": (
        lambda w, x: edges(w, x, add_self_loops=True, normalize="sym"),
        lambda: random(5),
        lambda: random(6, 2),
    ),
    "topk": (lambda s, w: scorch.topk(s, 2) @ w, lambda: random(5, 6), lambda: random(6, 2)),
    "dynamic": (
        lambda x, w: scorch.dynamic(x) @ w,
        lambda: (random(9, 8) - 0.7).relu(),
        lambda: random(8, 3),
    ),
    **{
        name: (lambda A, x, layer=layer: layer(x, A), square, lambda: random(6, 4))
        for name, layer in LAYERS.items()
    },
}  # fmt: skip


def dense(x):
    return x.to_dense() if scorch.is_sparse(x) else x


def run(case, mode, gradients):
    """The result, and gradients to operands, which are made outside of the mode."""
    f, *makes = CASES[case]
    operands = [make().clone().requires_grad_(gradients) for make in makes]
    with mode():
        y = dense(f(*operands))
        if gradients:
            (y**2).sum().backward()
    return [y.detach(), *(dense(x.grad) for x in operands if x.grad is not None)]


@pytest.mark.sampled
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_results_and_gradients_are_the_same(case, mode):
    wanted = run(case, contextlib.nullcontext, True)
    for found, want in zip(run(case, MODES[mode], True), wanted, strict=True):
        assert found.device == want.device
        torch.testing.assert_close(found, want)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("case", CASES)
def test_results_without_gradients_are_the_same(case, mode):
    (wanted,), (found,) = run(case, contextlib.nullcontext, False), run(case, mode, False)
    torch.testing.assert_close(found, wanted)


@pytest.mark.sampled
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("case", ["sums", "pointwise", "softmax", "where", "rows", "triangle", "joined"])
def test_autocast_rounds_products_alone(case, compiled):
    f, *makes = CASES[case]
    operands = [make() for make in makes]
    torch.compiler.reset()
    g = torch.compile(lambda *xs: dense(f(*xs)), backend="aot_eager", fullgraph=True) if compiled else f
    wanted = dense(f(*operands))
    for gradients in (False, True):
        with torch.autocast("cpu", torch.bfloat16):
            found = dense(g(*(x.clone().requires_grad_(gradients) for x in operands)))
        torch.testing.assert_close(found.detach(), wanted)


@pytest.mark.sampled
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)", "bsr(2,2) of blocks(2,2,0.6) + csr"])
@pytest.mark.parametrize("case", [c for c, (_, first, *_) in CASES.items() if first is square])
@torch.inference_mode()
def test_writes_to_what_was_made_in_inference_mode_are_seen(case, format):
    """torch counts no versions of such tensors."""
    f, _, *makes = CASES[case]
    operands = [make() * 1 for make in makes]
    a = scorch.sparse(square().to_dense() * 1, format)
    assert a.values().is_inference()
    for _ in range(3):
        b = scorch.sparse(a.to_dense().clone(), format)
        torch.testing.assert_close(dense(f(a, *operands)), dense(f(b, *operands)))
        a.values().mul_(1.5)


NAMED = torch.tensor([0, 1]), torch.tensor([2, 1])


@pytest.mark.parametrize("format", ["csr", "coo", "dcsr"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: lambda A: scorch.attention(*[torch.arange(12.0).view(3, 4) / 8] * 3, A),
        lambda: lambda A: A[NAMED],
        lambda: lambda A: torch.take(A, NAMED[1]),
        lambda: partial(scorch.nn.GCNConv(4, 4), torch.arange(12.0).view(3, 4)),
        lambda: partial(scorch.nn.SAGEConv(4, 4), torch.arange(12.0).view(3, 4)),
        lambda: partial(scorch.nn.GATConv(4, 4), torch.arange(12.0).view(3, 4)),
    ],
    ids=["attention", "items", "take", "gcn", "sage", "gat"],
)
@torch.inference_mode()
def test_writes_to_structure_made_in_inference_mode_are_seen(make, format):
    a = scorch.sparse(torch.tensor([[1.0, 2, 0], [0, 3, 0], [0, 0, 4]]), format)
    b = scorch.sparse(torch.tensor([[1.0, 0, 2], [0, 3, 0], [0, 0, 4]]), format)
    f = make()
    assert not torch.allclose(f(a), f(b))
    f(a)
    a.crd(1)[1] = 2
    torch.testing.assert_close(f(a), f(b))


@torch.inference_mode()
def test_masks_and_weights_made_in_inference_mode():
    q, mask = random(1, 2, 6, 8), square().to(torch.bool)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask.to_dense())
    for _ in range(2):
        found = torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)
        torch.testing.assert_close(found, wanted)
    x, w = (random(400, 800) - 0.95).relu(), random(500, 800).T
    for _ in range(3):
        torch.testing.assert_close(scorch.dynamic(x) @ w, x @ w)
        w.mul_(2)


def optimized(A, x):
    A.optimize(calls=[lambda A: A.T @ x.detach()])
    return A.T @ x


def masked(A, x):
    q = x[None, None]
    return torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=A)


KEPT = {  # functions of a matrix, or of an index, and features that are trained
    "A.T": lambda A, x: A.T @ x,
    "A.mT": lambda A, x: A.mT @ x,
    "t": lambda A, x: (A.t() * x[:, :1]) @ x,
    "transpose": lambda A, x: x.T @ A.transpose(0, 1),
    "optimize": optimized,
    "sums": lambda A, x: (A.T * x[:, :1]).sum(0) + A.amax(1) * x[:, 0],
    "softmax": lambda A, x: torch.softmax(A.T * x[:, :1], 1) @ x,
    **{f"sparse.mm, {r}": lambda A, x, r=r: torch.sparse.mm(A, x, r) for r in ("mean", "amax")},
    "parts": lambda A, x: sum(part @ x for part in A.parts),
    "mask": lambda A, x: masked(A, x) + masked(A.bool(), x) + masked(A.T, x),
}
MODULES = {
    **LAYERS,
    "gin": scorch.nn.GINConv(torch.nn.Linear(4, 3)),
    "sg, cached": scorch.nn.SGConv(4, 3, K=2, cached=True),
    "gcn, cached": scorch.nn.GCNConv(4, 3, cached=True),
}


def trained(f, A, x, warmed):
    """The result and the gradient to x, perhaps behind a call in inference mode."""
    x = x.clone().requires_grad_()
    if warmed:
        with torch.inference_mode():
            for _ in range(2):
                dense(f(A, x))
    y = dense(f(A, x))
    (y**2).sum().backward()
    return y.detach(), x.grad


@pytest.mark.sampled
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)", "bsr(2,2) of blocks(2,2,0.6) + csr"])
@pytest.mark.parametrize("name", KEPT)
def test_calls_are_recorded_after_inference(name, format):
    found = trained(KEPT[name], square(format), random(6, 4), True)
    torch.testing.assert_close(found, trained(KEPT[name], square(format), random(6, 4), False))


@pytest.mark.sampled
@pytest.mark.parametrize("format", ["csr", "coo", "bsr(2,2) of blocks(2,2,0.6) + csr", "edge_index"])
@pytest.mark.parametrize("name", MODULES)
def test_layers_train_after_inference(name, format):
    found = []
    for warmed in (True, False):
        graph, module = square(format.replace("edge_index", "csr")), copy.deepcopy(MODULES[name])
        if name == "rgcn":
            graph = scorch.stack([graph, graph.T.convert(graph.format)])
        elif format == "edge_index":
            graph = graph.indices().flip(0).long()
        y, _ = trained(lambda graph, x, module=module: module(x, graph), graph, random(6, 4), warmed)
        found.append([y, *(p.grad for p in module.parameters())])
    torch.testing.assert_close(*found)


def test_maps_and_copies_of_weights_made_in_inference_mode_are_trained_with():
    sites, convolution = (
        torch.tensor([[0, 0, 0, 0], [0, 0, 0, 1], [0, 5, 5, 5]]),
        scorch.nn.SparseConv3d(4, 3, 3),
    )
    with torch.inference_mode():
        kernel_map, _ = scorch.conv_map(sites, 3)
    for given in (kernel_map, sites):
        found = trained(lambda given, x: convolution(x, given), given, random(3, 4), True)
        torch.testing.assert_close(
            found, trained(lambda _, x: convolution(x, sites), None, random(3, 4), False)
        )
    x, w = (random(400, 800) - 0.95).relu(), random(500, 800).T
    for turned in (w, w.contiguous()):
        found = trained(lambda x, w: scorch.dynamic(x) @ w, x, turned, True)
        torch.testing.assert_close(found, trained(lambda x, w: x @ w, x, turned, False))


@pytest.mark.parametrize("bases", [None, 1])
def test_relations_are_trained_after_inference(bases):
    relations = torch.stack([square(), square().T.convert("csr")])
    convolution = scorch.nn.RGCNConv(4, 3, 2, num_bases=bases)
    found = trained(lambda A, x: convolution(x, A), relations, random(6, 4), True)
    wanted = trained(lambda A, x: convolution(x, A), relations.clone(), random(6, 4), False)
    torch.testing.assert_close(found, wanted)


def test_fake_tensors():
    """Outside of their mode and in it; what needs numbers says so."""
    file, mode = io.BytesIO(), FakeTensorMode()
    A = scorch.sparse(torch.eye(3, 4))
    torch.save(A, file)
    a, x = mode.from_tensor(A), mode.from_tensor(torch.ones(4, 2))
    assert (a @ x).shape == (3, 2) and type(a @ x) is type(x)
    file.seek(0)
    with mode:
        assert (torch.load(file) @ x).shape == (3, 2)
        for f in (
            lambda: scorch.nn.Linear(6, 4, density=0.5),
            lambda: scorch.nn.GCNConv(4, 2)(x.new_empty(3, 4), mode.from_tensor(scorch.sparse(torch.eye(3)))),
        ):
            with pytest.raises(NotImplementedError, match="FakeTensorMode: this needs numbers"):
                f()

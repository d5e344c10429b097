"""torch.compile with backend="scorch": neighbouring calls are one program, and what they give stays."""

import functools
import io
import random
import tomllib
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

import scorch
from scorch.compiled import backend

N, D = 50, 8


@pytest.fixture(autouse=True)
def forget_graphs():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Compiled:
    """f under the backend, and the graphs that are left for the inner one."""

    def __init__(self, f, join=True, **how):
        self.graphs, self.forward, self.backward = [], [], []
        inner = functools.partial(backend, inner=self._inner) if join else self._inner
        self.call = torch.compile(f, backend=inner, fullgraph=how.pop("fullgraph", True), **how)

    def _inner(self, gm, inputs):
        self.graphs.append(gm.graph)
        keep = lambda into: lambda g, _: into.append(g.graph) or make_boxed_func(g.forward)  # noqa: E731
        return aot_autograd(fw_compiler=keep(self.forward), bw_compiler=keep(self.backward))(gm, inputs)

    def programs(self):
        """The texts of index notation in the graphs of Dynamo."""
        nodes = [x for g in self.graphs for x in g.nodes if "compute_in_graph" in str(x.target)]
        return [x.args[0] for x in nodes]


def operators(graphs):
    return sum("scorch" in str(x.target) for g in graphs for x in g.nodes)


def shapes(graphs):
    """Of all tensors of numbers in graphs of AOTAutograd."""
    made = [x.meta.get("val") for g in graphs for x in g.nodes if x.op == "call_function"]
    flat = [y for x in made for y in (x if isinstance(x, tuple | list) else [x])]
    return {tuple(map(str, y.shape)) for y in flat if isinstance(y, torch.Tensor)}


def numbers(y):
    return y.to_dense() if scorch.is_sparse(y) else y


def close(x, y, tolerance=1e-9):
    torch.testing.assert_close(numbers(x), numbers(y), rtol=tolerance, atol=tolerance)


def operand(*shape, seed=0, sparse=False, grad=True):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=g, dtype=torch.float64)
    if sparse:
        x = scorch.sparse(x * (torch.rand(*shape, generator=g) < 0.2), "csr")
    return x.requires_grad_(grad)


def outcome(f, args):
    """Results and gradients, as a list."""
    args = [x.detach().clone().requires_grad_(x.requires_grad) for x in args]
    leaves = [x for x in args if x.requires_grad]
    ys = f(*args)
    ys = ys if isinstance(ys, tuple) else (ys,)
    if not leaves:
        return list(ys)
    loss = sum(numbers(y).sin().sum() for y in ys)
    return [*ys, *torch.autograd.grad(loss, leaves, allow_unused=True)]


def agree(f, args, join=True, tolerance=1e-9, **how):
    made = Compiled(f, join, **how)
    for x, y in zip(outcome(made.call, args), outcome(f, args), strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            close(x, y, tolerance)
    return made


# ---- one node each ----
A, M = operand(N, N, sparse=True), operand(N, N, seed=1, sparse=True)
X, Y, V = (operand(N, D, seed=k) for k in (2, 3, 4))
W, B = operand(D, 3, seed=5), operand(3, seed=6)

SINGLE = {
    "product": lambda a, x: a @ x,
    "turned": lambda a, x: x.T @ a,
    "linear": lambda a, x: F.linear(x.T, a),
    "sparse": lambda a, x: a @ a,
    "einsum": lambda a, x: scorch.einsum("ij,jk,ik->i", a, x, x),
    "evaluate": lambda a, x: scorch.evaluate("y[i,k] = relu(A[i,j] * X[j,k] + X[i,k])", A=a, X=x),
    "sddmm": lambda a, x: scorch.sddmm(a, x, x),
    "softmax": lambda a, x: torch.softmax(a, -1),
    "softmax of scorch": lambda a, x: scorch.softmax(a, 0),
    "log_softmax": lambda a, x: F.log_softmax(a, 1),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", SINGLE)
def test_each_is_one_operator_without_joining(name):
    made = agree(SINGLE[name], (A, X), join=False)
    assert operators(made.forward) == 1
    assert not made.programs() or len(made.programs()) == 1


ELL = pytest.param("ell(40)", marks=pytest.mark.needs("2.11"))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(5,5)", ELL, "dcsr"])
def test_softmax_of_any_format(format):
    a = A.detach().convert(format).requires_grad_()
    made = agree(lambda a: torch.softmax(a, 1) @ X.detach(), (a,), join=False)
    assert (operators(made.forward) == 2) == (format in ("csr", "csc", "dcsr"))


@pytest.mark.parametrize("shift", [0.0, -1e4, 1e30])
def test_softmax_of_scores_of_any_size(shift):
    d = torch.randn(6, 6) + shift
    a = scorch.sparse(d * (torch.rand(6, 6) < 0.5), "csr")
    close(Compiled(lambda a: torch.softmax(a, 1)).call(a), torch.softmax(a, 1), 1e-5)


# ---- the patterns ----
def attention(m, q, k, v):
    return torch.softmax(m * (q @ k.T), -1) @ v


def scaled_attention(m, q, k, v):
    return F.softmax(m * (torch.matmul(q, k.transpose(0, 1)) * 0.5 + 1), dim=1) @ v


def graph_attention(m, s, t, h):
    scores = scorch.evaluate("e[i,j,h] = stored(M[i,j]) * (s[j,h] + t[i,h])", M=m, s=s, t=t)
    weights = torch.softmax(F.leaky_relu(scores, 0.2), 1)
    return scorch.einsum("ijh,jhf->ihf", weights, h)


def one_head(m, s, t, h):
    scores = F.leaky_relu(m * (s[:, 0].unsqueeze(0) + t[:, 0, None]), 0.2)
    return torch.softmax(scores, 1) @ h[:, 0]


def layer(a, x, w, b):
    return torch.relu(a @ x @ w + b)


def projected_layer(a, x, w, b):
    return F.relu(a @ F.linear(x, w.T) + b)


def twice(a, x):
    return a @ (a @ x)


def squared(a, x):
    return (a @ a) @ x


S, T, H = operand(N, 2, seed=7), operand(N, 2, seed=8), operand(N, 2, 3, seed=9)
PATTERNS = {
    attention: (M, X, Y, V),
    scaled_attention: (M, X, Y, V),
    graph_attention: (M, S, T, H),
    one_head: (M, S, T, H),
    layer: (A, X, W, B),
    projected_layer: (A, X, W, B),
    twice: (A, X),
    squared: (A, X),
}


SCORED = (attention, scaled_attention, graph_attention, one_head)


@pytest.mark.sampled
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("f", PATTERNS, ids=lambda f: f.__name__)
def test_a_pattern_is_one_operator(f, grad):
    """With gradients a softmax is one by itself, between what is in front of it and behind it."""
    count = 3 if grad and f in SCORED else 1
    args = [x.detach().clone().requires_grad_(grad) for x in PATTERNS[f]]
    made = agree(f, args)
    assert operators(made.forward) == count, made.programs()
    assert bool(made.backward) == grad


@pytest.mark.parametrize("f", SCORED)
def test_nothing_of_the_shape_of_the_mask_is_formed(f):
    made = agree(f, PATTERNS[f])
    assert not [s for s in shapes(made.forward + made.backward) if s[:2] == (str(N), str(N))]
    if f in (attention, scaled_attention):
        assert (str(N), str(N)) in shapes(agree(f, PATTERNS[f], join=False).forward)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("f", [attention, scaled_attention, one_head], ids=lambda f: f.__name__)
def test_sizes_inside_of_a_program_break_no_graph(f, grad):
    """Dynamo takes sizes that are known after a call as a reason to; then f would run as it is."""
    args = [x.detach().clone().requires_grad_(grad) for x in PATTERNS[f]]
    made = agree(f, args, fullgraph=False)
    assert len(made.graphs) == 1 and made.programs() and made.forward


def test_rows_without_an_entry_are_zero():
    """Of a size at which the quotient is taken of sums."""
    n, g = 20_000, torch.Generator().manual_seed(0)
    at, values = torch.randint(n, (2, 10 * n), generator=g), torch.rand(10 * n, generator=g)
    m = scorch.sparse(torch.sparse_coo_tensor(at, values, (n, n)).coalesce(), "csr")
    assert (m.pos(1).diff() == 0).any()
    args = [m, *(operand(n, 32, seed=k, grad=False).float() for k in (1, 2, 3))]
    f = lambda m, q, k, v: torch.softmax(scorch.sddmm(m, q, k), -1) @ v  # noqa: E731
    agree(f, args, tolerance=1e-4)


def test_scores_that_are_not_numbers():
    d = torch.randn(6, 6)
    d[0, :2], d[1, 0], d[2, :] = torch.nan, torch.inf, -torch.inf
    d[3, :3] = -torch.inf
    a = scorch.sparse(d * (torch.rand(6, 6) < 2), "csr")
    for f in (lambda a: torch.softmax(a, 1).to_dense(), lambda a: torch.softmax(a * 2, 1) @ torch.eye(6)):
        torch.testing.assert_close(Compiled(f).call(a), f(a), equal_nan=True)


# ---- random graphs ----
def random_function(seed):
    """A function of a, m (sparse), x, y (dense) of a few random steps, as torch code."""
    draw = random.Random(seed)
    sparse, dense, lines = ["a", "m"], ["x", "y"], []

    def new(kind, text):
        name = f"v{len(lines)}"
        lines.append(f"    {name} = {text}")
        kind.append(name)

    for _ in range(draw.randint(3, 7)):
        s, r, d, e = draw.choice(sparse), draw.choice(sparse), draw.choice(dense), draw.choice(dense)
        new(
            *draw.choice(
                [
                    (sparse, f"{s} * ({d} @ {e}.T)"),
                    (sparse, f"torch.softmax({s}, {draw.choice((0, 1, -1))})"),
                    (sparse, f"F.leaky_relu({s}, 0.1)"),
                    (sparse, f"torch.tanh({s} * 0.5)"),
                    (sparse, f"{s} + {r}"),
                    (sparse, f"{s} * {r}"),
                    (sparse, f"{s} / (2 + {d}.abs() @ {e}.abs().T)"),
                    (sparse, f"{s} * {d}[:, 0].unsqueeze(1)"),
                    (dense, f"{s} @ {d}"),
                    (dense, f"{s}.T @ {d}"),
                    (dense, f"torch.relu({s} @ {d} + {e})"),
                    (dense, f"{s} @ {d} @ w"),
                    (dense, f"{s} @ ({d} @ w)"),
                    (dense, f"scorch.einsum('ij,jk,ik->ik', {s}, {d}, {e})"),
                    (dense, f"torch.nn.functional.gelu({d})"),
                    (dense, f"{d} * 0.5 + {e}"),
                ]
            )
        )
    results = draw.sample(sparse[2:] + dense[2:], min(2, len(lines)))
    lines.append(f"    return {results[0]} * 1, {results[-1]} * 1")
    names = {"torch": torch, "F": F, "scorch": scorch}
    exec("def f(a, m, x, y, w):\n" + "\n".join(lines), names)
    return names["f"], "\n".join(lines)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(24))
def test_random_functions(seed):
    f, text = random_function(seed)
    w = operand(D, D, seed=5) / D
    args = [A, M, X / 4, Y / 4, w]
    args = [x.detach().requires_grad_(seed % 3 != 0) for x in args]
    try:
        agree(f, args, tolerance=1e-6)
    except Exception as error:
        raise AssertionError(text) from error


# ---- what is left alone ----
def test_what_is_unknown_stays_between_two_groups():
    def f(a, x, w, b):
        return torch.relu(a @ torch.special.erfcx(torch.relu(a @ x @ w + b)) + 1)

    made = agree(f, (A, X, W, B))
    assert len(made.programs()) == 2
    assert any("erfcx" in str(x.target) for x in made.graphs[0].nodes)


def test_no_way_out_and_back_in():
    def f(a, x):
        y = a @ x
        return scorch.einsum("ij,jk,jk->ik", a, y, torch.special.i0(y))

    assert not agree(f, (A, X / 9)).programs()[1:]


def test_a_value_that_others_read_is_a_result():
    def f(a, x):
        y = a @ x
        z = y.exp()
        return a @ y, z.sum(), y.T[0]

    assert len(agree(f, (A, X)).programs()) == 1


def test_a_masked_product_that_others_read_is_formed_once():
    def f(m, q, k, v):
        s = q @ k.T
        return torch.softmax(m * s, -1) @ v, s.sum()

    made = agree(f, [x.detach() for x in (M, X, Y, V)])
    assert "x1[i,i2]" in made.programs()[0]


def test_writes_are_not_passed():
    def f(a, x):
        y = a @ x
        x.mul_(2)
        return a @ y, a @ x

    def g(a, x, buffer):
        y = a @ (a @ x)
        buffer.copy_(y)
        return (a @ y) * buffer.detach()

    for h, args in ((f, (A.detach(), X.detach())), (g, (A, X, torch.zeros(N, D, dtype=torch.float64)))):
        agree(h, args)


@pytest.mark.parametrize("type", [torch.float16, torch.float32])
def test_mixed_types_stay(type):
    def f(a, x, w, b):
        return torch.relu((a @ x.to(type).float()).double() @ w + b)

    a = operand(N, N, sparse=True, grad=False).to(torch.float32)
    assert not agree(f, (a, *PATTERNS[layer][1:]), tolerance=1e-4).programs()


def test_autocast_stays():
    with torch.autocast("cpu", torch.bfloat16):
        made = Compiled(layer)
        made.call(*(x.detach().float() for x in PATTERNS[layer]))
    assert not made.programs()


def test_no_grad_inside():
    def f(a, x):
        with torch.no_grad():
            y = a @ x
        return a @ y * x

    agree(f, (A, X))


def test_random_numbers_stay():
    def f(m, q, k, v):
        return F.dropout(torch.softmax(m * (q @ k.T), -1), 0.5) @ v

    made = Compiled(f)
    made.call(*PATTERNS[attention])
    assert any("dropout" in str(x.target) for x in made.graphs[0].nodes)


def test_a_long_chain_is_several_programs():
    def f(a, x):
        for _ in range(14):
            x = a @ x
        return x

    made = agree(f, (A.detach() * 0.1, X.detach()))
    assert len(made.programs()) == operators(made.forward) == 3


# ---- shapes, training, export ----
def test_other_shapes():
    made, grads = Compiled(attention), []
    for n, d in ((30, 4), (41, 6), (52, 9)):
        args = [operand(n, n, sparse=True), *(operand(n, d, seed=k) for k in (1, 2, 3))]
        for x, y in zip(outcome(made.call, args), outcome(attention, args), strict=True):
            close(x, y)
        grads.append(len(made.graphs))
    assert grads == [1, 2, 2]
    assert operators(made.forward) == 6  # three a graph


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(D, 16), torch.nn.Linear(16, 3)
        self.q = torch.nn.Linear(16, 4)

    def forward(self, a, x):
        h = torch.relu(self.first(a @ x))
        p = torch.softmax(a * (self.q(h) @ self.q(h).T), 1)
        return self.second(p @ h)


def test_training():
    losses = []
    for compiled in (False, True):
        torch.manual_seed(0)
        net = Net()
        optimizer = torch.optim.Adam(net.parameters(), 0.05)
        a, x = A.detach().float(), X.detach().float()
        made = Compiled(net.forward)
        run, found = made.call if compiled else net.forward, []
        for _ in range(8):
            optimizer.zero_grad()
            loss = F.cross_entropy(run(a, x), torch.arange(N) % 3)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        losses.append(found)
    assert made.programs()
    torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-4)


def test_export_is_as_it_was():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", A.detach())

        def forward(self, x):
            return scorch.evaluate("y[i,k] = A[i,j] * x[j,k]", A=torch.softmax(self.a, 1), x=x)

    model, file = Model(), io.BytesIO()
    for strict in (False, True):
        program = torch.export.export(model, (X.detach(),), strict=strict).run_decompositions()
        torch.export.save(program, file)
        close(program.module()(X.detach()), model(X.detach()))


@pytest.mark.slow
def test_with_inductor_by_name():
    f = torch.compile(attention, backend="scorch", fullgraph=True)
    for x, y in zip(outcome(f, PATTERNS[attention]), outcome(attention, PATTERNS[attention]), strict=True):
        close(x, y)


def test_the_name_of_the_backend():
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["torch_dynamo_backends"] == {"scorch": "scorch.compiled:backend"}


@pytest.mark.parametrize("layout", (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc), ids=str)
def test_sparse_tensors_of_torch_are_joined_too(layout):
    dense, other = torch.eye(4), torch.ones(4, 4).tril()
    a, b = scorch.sparse(dense), other.to_sparse(layout=layout)
    for f in (torch.cat, torch.stack, torch.hstack, torch.vstack, torch.dstack, torch.column_stack):
        for given, plain in (([a, b], [dense, other]), ([b, a], [other, dense])):
            found = f(given)
            assert scorch.is_sparse(found) and torch.equal(found.to_dense(), f(plain))
    found = torch.where(a > 0, b, a)
    assert scorch.is_sparse(found) and torch.equal(found.to_dense(), torch.where(dense > 0, other, dense))
    assert torch.allclose(a, dense.to_sparse(layout=layout)) and not torch.allclose(b, a)
    assert torch.equal(torch.cat([a, b, dense]), torch.cat([dense, other, dense]))

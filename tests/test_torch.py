"""The boundary with torch: the operator, torch.compile, gradients, transforms, threads."""

import importlib
import io
import operator
import os
import subprocess
import sys
from functools import partial

import child
import pytest
import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

import scorch

PRODUCT = "ij,jk->ik\t:2:csr\t::"


def matrix(rows=8, cols=6, density=0.4, dtype=torch.float64, seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randint(1, 9, (rows, cols), generator=g) * (torch.rand(rows, cols, generator=g) < density)
    ).to(dtype)


def randn(*shape, dtype=torch.float64, seed=1, grad=False):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)).requires_grad_(
        grad
    )


# ---- the operator ----
def test_operator():
    a, x = scorch.sparse(matrix(), "csr"), randn(6, 3)
    torch.testing.assert_close(torch.ops.scorch.evaluate(PRODUCT, [*a._arrays(), x], [8, 6]), matrix() @ x)


@pytest.mark.parametrize("grad", [False, True])
def test_opcheck(grad):
    a, x = scorch.sparse(matrix(), "csr"), randn(6, 3, grad=grad)
    torch.library.opcheck(torch.ops.scorch.evaluate.default, (PRODUCT, [*a._arrays(), x], [8, 6]))


def test_operator_notices_a_structure_that_was_written_to():
    a, x = scorch.sparse(matrix(), "csr"), randn(6, 3)
    pos, crd, values = (t.clone() for t in a._arrays())
    torch.ops.scorch.evaluate(PRODUCT, [pos, crd, values, x], [8, 6])
    crd.data[0] = 10**6
    with pytest.raises(RuntimeError, match="level 1"):
        torch.ops.scorch.evaluate(PRODUCT, [pos, crd, values, x], [8, 6])


def test_operator_refuses_what_is_wrong():
    a, x = scorch.sparse(matrix(), "csr"), randn(6, 3)
    pos, crd, values = a._arrays()
    bad = crd.clone()
    bad[0] = 10**6
    for operands, sizes in [
        ([pos, bad, values, x], [8, 6]),
        ([pos, crd, values], [8, 6]),
        ([pos, crd, values, x, x], [8, 6]),
        ([pos, crd, values, x], [8]),
        ([pos, crd, values, x], [9, 6]),
        ([pos.double(), crd, values, x], [8, 6]),
        ([pos, crd, values, x.to(torch.complex64)], [8, 6]),
        ([pos, crd, values, x[:3]], [8, 6]),
    ]:
        with pytest.raises((RuntimeError, ValueError)):
            torch.ops.scorch.evaluate(PRODUCT, operands, sizes)
    with pytest.raises((RuntimeError, ValueError)):
        torch.ops.scorch.evaluate("ij,jk->ik\tnonsense", [pos, crd, values, x], [8, 6])


def test_operator_takes_a_negative_view():
    a, x = scorch.sparse(matrix(), "csr"), torch.complex(randn(6, 3), randn(6, 3)).conj().imag
    torch.testing.assert_close(torch.ops.scorch.evaluate(PRODUCT, [*a._arrays(), x], [8, 6]), matrix() @ x)


def test_operator_takes_zeros_without_memory():
    """torch gives them memory first; where that is left out, they are refused."""
    a, zeros = scorch.sparse(matrix(), "csr"), torch._efficientzerotensor((6, 3))
    operands = [*a._arrays(), zeros]
    assert not torch.ops.scorch.evaluate(PRODUCT, operands, [8, 6]).any()
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.ZeroTensor)
    with torch._C._ExcludeDispatchKeyGuard(keys), pytest.raises(RuntimeError, match="with memory"):
        torch.ops.scorch.evaluate(PRODUCT, operands, [8, 6])


# ---- torch.compile ----
class GCN(torch.nn.Module):
    def __init__(self, a=None, x=None):
        super().__init__()
        self.w1, self.w2 = torch.nn.Parameter(randn(6, 5) * 0.3), torch.nn.Parameter(randn(5, 2) * 0.3)
        self.register_buffer("a", a)
        self.register_buffer("x", x)

    def forward(self, a=None, x=None):
        a, x = self.a if a is None else a, self.x if x is None else x
        return a @ F.relu(a @ (x @ self.w1)) @ self.w2


@pytest.fixture(params=["aot_eager", "inductor"])
def backend(request):
    torch._dynamo.reset()
    yield request.param
    torch._dynamo.reset()


@pytest.mark.parametrize("where", ["argument", "buffer", "closure"])
def test_compiled_gcn(backend, where):
    adjacency, features = matrix(8, 8, 0.3), matrix(8, 6, seed=2)
    a, x = scorch.sparse(adjacency), scorch.sparse(features)
    dense = GCN()
    want = dense(adjacency, features)
    want.sum().backward()
    model = GCN(a, x) if where == "buffer" else GCN()
    args = (a, x) if where == "argument" else ()
    call = torch.compile(
        (lambda: model(a, x)) if where == "closure" else model, backend=backend, fullgraph=True
    )
    got = call(*args)
    torch.testing.assert_close(got, want)
    got.sum().backward()
    torch.testing.assert_close(model.w1.grad, dense.w1.grad)
    torch.testing.assert_close(model.w2.grad, dense.w2.grad)


def test_compile_with_other_sizes_does_not_recompile_forever():
    importlib.import_module("torch._dynamo.testing")
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    f = torch.compile(lambda a, x: a @ x + 1, backend=counter, fullgraph=True)
    for seed, rows, k in ((0, 8, 3), (1, 8, 4), (2, 8, 5), (3, 8, 6), (4, 8, 7)):
        d, x = matrix(rows, 6, seed=seed), randn(6, k)
        torch.testing.assert_close(f(scorch.sparse(d, "csr"), x), d @ x + 1)
    assert counter.frame_count <= 2


@pytest.mark.parametrize(
    "f",
    [
        lambda a, x: torch.mm(a, x),
        lambda a, x: x.T @ a.T,
        lambda a, x: F.linear(x.T, a, torch.ones(8, dtype=x.dtype)),
        lambda a, x: torch.mv(a, x[:, 0]),
        lambda a, x: a @ torch.stack([x, 2 * x]),
        lambda a, x: torch.einsum("ij,jk->ik", a, x),
        lambda a, x: torch.relu(2 * a) @ x,
    ],
)
def test_compiled_functions(f):
    torch._dynamo.reset()
    d, x = matrix(), randn(6, 3)
    got = torch.compile(f, backend="aot_eager", fullgraph=True)(scorch.sparse(d, "csr"), x)
    torch.testing.assert_close(got, f(d, x))


class Named:
    """No tensor, with torch's protocol of functions: one of which a part is known by its name."""

    def __init__(self, t):
        self.t = t

    def __array__(self, *_, **__):
        raise AssertionError("made an array of what has the call")

    @classmethod
    def __torch_function__(cls, f, types, args=(), kwargs=None):
        inner = [[y.t if type(y) is cls else y for y in x] if type(x) is list else x for x in args]
        return cls(f(*[x.t if type(x) is cls else x for x in inner], **(kwargs or {})))


@pytest.mark.parametrize("form", ["csr", "coo", "csr of rows(> 1) + csr"])
def test_objects_with_calls_of_their_own_are_handed_them(form):
    a, d = scorch.sparse(torch.eye(3).double()).convert(form), matrix(3, 3) + 1
    functions = [torch.matmul, torch.mm, torch.add, F.linear, torch.equal, torch.kron, torch.Tensor.mul]
    functions += [operator.matmul, operator.mul, operator.sub, operator.truediv, operator.lt, operator.eq]
    functions += [lambda x, y: torch.cat([x, y]), partial(torch.einsum, "ij,jk")]
    for f in (*functions, *(lambda x, y, f=f: f(y, x) for f in functions[7:10])):
        made, want = f(a, Named(d)), f(a, d)
        assert type(made) is Named and (made.t is want or torch.equal(made.t, want))


@pytest.mark.parametrize("strict", [False, True])
def test_export_of_a_buffer(strict):
    model = GCN(scorch.sparse(matrix(8, 8, 0.3)))
    args = (None, matrix(8, 6, seed=2))
    want = model(*args)
    exported = torch.export.export(model, args, strict=strict)
    torch.testing.assert_close(exported.module()(*args), want)
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    torch.testing.assert_close(torch.export.load(file).module()(*args), want)
    torch.testing.assert_close(exported.run_decompositions().module()(*args), want)


# ---- gradients ----
@pytest.mark.parametrize("fmt", ["csr", "csc", "coo", "bsr(2,3)"])
@pytest.mark.parametrize(
    "f",
    [
        lambda a, x: a @ x,
        lambda a, x: a @ x[:, 0],
        lambda a, x: x.T @ a.T,
        lambda a, x: F.linear(x.T, a),
        lambda a, x: F.linear(x.T, a, x.sum() * torch.ones(8, dtype=x.dtype)),
        lambda a, x: a.T @ (a @ x),
        lambda a, x: a @ torch.stack([x, x * x]),
    ],
)
def test_gradients_to_dense_operands(fmt, f):
    d = matrix()
    a, x, y = scorch.sparse(d, fmt), randn(6, 3, grad=True), randn(6, 3, grad=True)
    g = randn(*f(d, x).shape)
    for tensor, operand in ((x, a), (y, d)):
        f(operand, tensor).backward(g)
    torch.testing.assert_close(x.grad, y.grad)


def test_gradcheck():
    a = scorch.sparse(matrix(), "csr")
    x = randn(6, 2, grad=True)
    assert torch.autograd.gradcheck(lambda x: a @ x, x)
    assert torch.autograd.gradgradcheck(lambda x: a @ (x * x), x)
    assert torch.autograd.gradcheck(
        lambda x: torch.ops.scorch.evaluate(PRODUCT, [*a._arrays(), x], [8, 6]), x, check_forward_ad=True
    )
    y = randn(6, 2, grad=True)
    assert torch.autograd.gradcheck(lambda x, y: scorch.einsum("ij,jk,jl->ikl", a, x, y), (x, y))


def test_changed_values_are_noticed_in_backward():
    a, x = scorch.sparse(matrix(), "csr"), randn(6, 2, grad=True)
    y = a @ x
    a.values().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# ---- transforms and modes ----
def test_transforms():
    d = matrix()
    a, x, v = scorch.sparse(d, "csr"), randn(6, 3), randn(6, 3, seed=7)
    f, g = (lambda x: (a @ x).pow(2).sum()), (lambda x: (d @ x).pow(2).sum())
    torch.testing.assert_close(torch.func.grad(f)(x), torch.func.grad(g)(x))
    torch.testing.assert_close(torch.func.hessian(f)(x), torch.func.hessian(g)(x))
    torch.testing.assert_close(torch.func.jvp(f, (x,), (v,)), torch.func.jvp(g, (x,), (v,)))
    torch.testing.assert_close(torch.func.jacrev(lambda x: a @ x)(x), torch.func.jacrev(lambda x: d @ x)(x))
    torch.testing.assert_close(torch.func.jacfwd(lambda x: a @ x)(x), torch.func.jacfwd(lambda x: d @ x)(x))
    batch = randn(4, 6, 3)
    torch.testing.assert_close(torch.func.vmap(lambda x: a @ x)(batch), d @ batch)
    torch.testing.assert_close(
        torch.func.vmap(torch.func.grad(f))(batch), torch.func.vmap(torch.func.grad(g))(batch)
    )


def test_forward_mode_keeps_the_tangent():
    import torch.autograd.forward_ad as fwAD

    a, x, v = scorch.sparse(matrix(), "csr"), randn(6, 3), randn(6, 3, seed=7)
    with fwAD.dual_level():
        y = a @ fwAD.make_dual(x, v)
        torch.testing.assert_close(fwAD.unpack_dual(y).tangent, matrix() @ v)


TRACED = {
    "product": lambda a, x: a @ x,
    "values": lambda a, x: a.values() * 2,
    "sparse": lambda a, x: torch.relu(a) * x[:, 0],
    "softmax": lambda a, x: torch.softmax(a, 1) @ x,
    "dense": lambda a, x: a.to_dense() + x[:, :1],
    "transpose": lambda a, x: (a + a.T).convert("csc") @ x,
    "rows": lambda a, x: a[1:] @ x,
    "detached": lambda a, x: a.detach() @ x + a @ x,
}


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("f", TRACED.values(), ids=TRACED)
@pytest.mark.needs("2.11")  # sizes that no result shows
def test_graphs_of_make_fx_are_of_their_arguments(f, mode):
    x, d = torch.arange(6.0).view(3, 2), torch.tensor([[1.0, 0, 2], [0, 3, 0], [4, 0, 5]])
    graph = make_fx(f, tracing_mode=mode)(scorch.sparse(d).requires_grad_(), x)
    others = [d * -3, d.T + 1] if mode == "symbolic" else [d * -3]
    for other in others:
        a, b = (scorch.sparse(other).requires_grad_() for _ in range(2))
        found, want = graph(a, x), f(b, x)
        assert type(found) is type(want)
        for y in (found, want):
            (y.values() if scorch.is_sparse(y) else y).square().sum().backward()
        torch.testing.assert_close(found.to_dense(), want.to_dense())
        torch.testing.assert_close(a.grad.to_dense(), b.grad.to_dense())


def test_a_graph_of_make_fx_is_for_the_number_of_entries_that_it_was_traced_with():
    graph = make_fx(lambda a: a @ torch.ones(3))(scorch.sparse(torch.eye(3)))
    with pytest.raises(ValueError, match=r'with 3 numbers in crd1.*tracing_mode="symbolic"'):
        graph(scorch.sparse(torch.ones(3, 3)))
    with pytest.raises(NotImplementedError, match="pre_dispatch=True"):
        make_fx(torch.relu, pre_dispatch=True)(scorch.sparse(torch.eye(3)))


def test_buffers_that_make_fx_is_given():
    x, module = torch.arange(6.0).view(3, 2), torch.nn.Module()
    module.register_buffer("A", scorch.sparse(torch.eye(3)))
    module.forward = lambda x: module.A @ x
    graph = make_fx(lambda b, x: torch.func.functional_call(module, b, (x,)))(dict(module.named_buffers()), x)
    assert torch.equal(graph({"A": module.A * 5}, x), 5 * x)


def test_modes():
    a, x = scorch.sparse(matrix(dtype=torch.float32), "csr"), randn(6, 3, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(a @ x, a.to_dense() @ x)
        assert (a @ x).dtype == (a @ x.bfloat16()).dtype == torch.bfloat16
    with torch.inference_mode():
        torch.testing.assert_close(a @ x, a.to_dense() @ x)
        torch.testing.assert_close(a @ (x + 0), a.to_dense() @ x)
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Mode():
        a @ x
    assert seen
    with torch._subclasses.FakeTensorMode() as mode:
        y = torch.ops.scorch.evaluate(
            PRODUCT, [*map(mode.from_tensor, a._arrays()), mode.from_tensor(x)], [8, 6]
        )
        assert y.shape == (8, 3)
    with pytest.raises((TypeError, NotImplementedError, ValueError, RuntimeError)):
        a @ x.to("meta")


# ---- the process ----
def test_only_one_openmp_is_mapped():
    a = scorch.sparse(torch.rand(2000, 2000), "csr")
    a @ torch.rand(2000, 16)
    with open("/proc/self/maps") as maps:
        found = {
            line.split()[-1] for line in maps if "libgomp" in line or "libomp" in line or "libiomp" in line
        }
    assert len(found) == 1


def run_python(text, **env):
    return child.run(text, {**os.environ, **env})


def test_threads_follow_torch():
    width = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert scorch.info()["threads"] == "1"
        torch.set_num_threads(2)
        assert scorch.info()["threads"] == "2"
    finally:
        torch.set_num_threads(width)
    done = run_python(
        "import torch, scorch; torch.set_num_threads(4); print(scorch.info()['threads'])",
        SCORCH_NUM_THREADS="2",
    )
    assert done.stdout.strip() == "2", done.stderr


@pytest.mark.parametrize("variable", ["SCORCH_JIT", "SCORCH_PYG"])
def test_environment_is_checked(variable):
    done = run_python("import scorch", **{variable: "sometimes"})
    assert done.returncode and f"ImportError: {variable}: expected off" in done.stderr


def test_without_a_compiler():
    text = "import torch, scorch; a = scorch.sparse(torch.eye(3)); print((a @ torch.eye(3)).sum().item())"
    done = run_python(text, SCORCH_JIT="off")
    assert done.stdout.strip() == "3.0", done.stderr


def test_old_torch_is_refused():
    text = "import torch; del torch.Tensor.__dlpack_c_exchange_api__; import scorch"
    done = run_python(text)
    assert done.returncode and "torch 2.10 or newer" in done.stderr


def test_debug_prints_stages():
    text = "import torch, scorch; scorch.einsum('ij,jk->ik', scorch.sparse(torch.eye(3)), torch.eye(3))"
    assert "-- nest" in run_python(text, SCORCH_DEBUG="nest").stderr
    masked = "import torch, scorch; A = scorch.sparse(torch.eye(3)); "
    masked += "scorch.evaluate('P[i,k] = A[i,j]*A[j,k]; D[i,k] = P[i,k]*A[i,k]', A=A)"
    assert run_python(masked, SCORCH_DEBUG="path").stderr.count("->  csr") == 2


@pytest.mark.parametrize("command", [["info"], ["demo"], ["explain", "ij,jk->ik", "csr", "dense"], ["cache"]])
def test_command_line(command):
    done = subprocess.run(
        [sys.executable, "-m", "scorch", *command], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0 and done.stdout, done.stderr


@pytest.mark.parametrize("command", [["explain", "ij,jk->ik", "csr", "dense"], ["--help"]])
def test_command_line_ends_quietly_where_nobody_reads(command):
    words = [sys.executable, "-m", "scorch", *command]
    made = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    made.stdout.close()
    assert made.stderr.read() == "" and made.wait(300) in (0, 141)
    made.stderr.close()
    closed = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *words], stderr=subprocess.PIPE, text=True)
    assert closed.returncode == 0 and "Traceback" not in closed.stderr


def test_structures_are_looked_through_before_every_use():
    text = """
import torch, scorch
d, x = torch.tensor([[0.0, 2, 0], [1, 0, 3]]), torch.ones(3, 2)
for f in (
    lambda a: a @ x, lambda a: a.T @ x[:2], lambda a: a + a, lambda a: a.convert("csc"),
    lambda a: a.to_dense(), lambda a: scorch.einsum("ij,jk->ik", a, x),
    lambda a: scorch.evaluate("y[i] = A[i,j]", A=a),
    lambda a: torch.relu(a) @ x, lambda a: a @ x.clone().requires_grad_(), lambda a: a.sum(1),
):
    a = scorch.sparse(d)
    f(a)
    a.crd(1).data[1] = 10**6
    try:
        f(a)
    except ValueError as error:
        print("level 1" in str(error))
"""
    assert run_python(text, SCORCH_DEBUG="validate").stdout.split() == ["True"] * 10
    quiet = "import torch, scorch; scorch.einsum('ij,jk->ik', scorch.sparse(torch.eye(3)), torch.eye(3))"
    assert run_python(quiet, SCORCH_DEBUG="validate").stderr == ""
    assert "-- nest" in run_python(quiet, SCORCH_DEBUG="validate, nest").stderr
    wrong = run_python("import scorch", SCORCH_DEBUG="validation")
    assert wrong.returncode and "validate, got 'validation'" in wrong.stderr


def test_command_line_says_in_a_sentence_what_it_is_of(capsys):
    with pytest.raises(SystemExit):
        importlib.import_module("scorch.__main__").main(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert scorch.__doc__.partition("\n")[0] in said and ">>>" not in said


def test_command_line_explains_index_notation(capsys):
    main = importlib.import_module("scorch.__main__").main
    for text in (
        "y[i] = A[i,j] * x[j]; z[i] = y[i] * A[i,j]",
        "tmp y[i] = A[i,j] * x[j]\nz[i] = y[i] * y[i]",
        "z[i] = A[i,j]\n  * x[j]",
    ):
        main(["explain", text, "csr", "dense", "--size", "8"])
        assert "z: f32" in capsys.readouterr().out
    for wrong, said in {
        "ij,jk->ik csr": "expected 2 formats",
        "ij,jk->ik csr foo": 'format "foo"',
        "ij,jk->ik csr dense --size 100000": "at most 2.24 elements",
        "ij,jk->zz csr dense": "index z of the result is in no operand",
        "y[i]=A[i,j csr": r"expected '\]' or ',' after an index of A, .*\n  y.*\n +\^",
        "y[i]=A[i,j*x[j] csr dense": r"expected '\]' or ',' after an index of A, got '\*'",
        "y[i]=relu( csr": "expected a tensor, .* got the end of the text",
    }.items():
        with pytest.raises(SystemExit, match=said):
            main(["explain", *wrong.split()])

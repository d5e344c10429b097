"""Every allocation of the extension fails in turn: the scenarios, and the program that runs them.

``python tests/faults/allocations.py SCENARIO`` makes what a scenario needs, then forks for n = 1, 2, 3 and so
on. In the child the n-th request for memory fails (with ``--rest`` all from the n-th on), until a call ends
without meeting the failure. Each child checks that the call raised MemoryError or gave what is right,
that the same call gives what is right afterwards, and is compiled if it can be, and that nothing is left: no
memory, no descriptor, no file in TMPDIR, no child process. A child that ends by a signal or does not end is a
fault too. The parent prints one line of JSON a scenario.
"""

import argparse
import ctypes
import gc
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import Traces, child, outcome

NO_MEMORY = ("MemoryError", "RuntimeError: std::bad_alloc")  # the latter of operators, from torch 2.15 on
LEAK = 1500  # bytes a call, which is more than caches of Python and torch take
QUIET = 20  # calls without an exception, after which no later request of Python is expected to be one's own
Calls = tuple[Callable[[], object], Callable[[object], bool]]
SCENARIOS: dict[str, "Scenario"] = {}


@dataclass
class Scenario:
    """What is called, and in which circumstances."""

    prepare: Callable[[], Calls]  # in the parent: the call, and whether what it gives is right
    ready: str = (
        "cached"  # its kernels are on disk; "empty": they are not; "called": the parent has called it
    )
    threads: int = 1
    again: bool = False  # it is cheap, and repeated to see whether memory is left behind
    wrapped: bool = False  # the exception may be another one that names MemoryError
    python: bool = False  # allocations of Python fail
    mode: str = "auto"  # SCORCH_JIT


def scenario(**how: object) -> Callable:
    """Registers a scenario; how: fields of Scenario."""

    def register(prepare: Callable[[], Calls]) -> Callable[[], Calls]:
        SCENARIOS[prepare.__name__] = Scenario(prepare, **how)
        return prepare

    return register


# ---- what is called ----
def numbers(*shape: int, density: float = 1.0, seed: int = 0) -> "torch.Tensor":
    """Small integers, so that sums are exact."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(1, 5, shape, generator=g).float()
    return x * (torch.rand(*shape, generator=g) < density) if density < 1 else x


def dense(x: object) -> object:
    return x.to_dense() if scorch.is_sparse(x) else x


def same(wanted: object) -> Callable[[object], bool]:
    """Whether a result is a tensor, text or number, or a list of those."""

    def check(got: object, wanted: object = wanted) -> bool:
        if isinstance(wanted, (list, tuple)):
            return len(got) == len(wanted) and all(map(check, got, wanted))
        if isinstance(wanted, torch.Tensor):
            return torch.allclose(dense(got).to(wanted.dtype), wanted, rtol=1e-4, atol=1e-4)
        return got == wanted

    return check


def matrix(rows: int = 40, cols: int = 30, format: str = "csr", density: float = 0.2, seed: int = 0) -> tuple:
    d = numbers(rows, cols, density=density, seed=seed)
    return d, scorch.sparse(d, format)


@scenario()
def importing() -> Calls:
    """The package, the extension being loaded already."""

    def call() -> str:
        import scorch

        return scorch.__name__

    return call, lambda name: name == "scorch"


@scenario(again=True)
def making() -> Calls:
    import scipy.sparse

    d = numbers(40, 30, density=0.2)
    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    graph = torch.zeros(3, 3).index_put((edges[1], edges[0]), torch.ones(3))
    sources = [d, d.to_sparse_coo(), d.to_sparse_csr(), d.to_sparse_csc(), d.to_sparse_bsr((2, 2))]
    sources += [scipy.sparse.coo_matrix(d.numpy()), scipy.sparse.csr_matrix(d.numpy())]

    def call() -> list:
        made = [scorch.sparse(x, "csr") for x in sources]
        return [*made, scorch.sparse(d, "coo"), scorch.from_edge_index(edges)]

    return call, same([d] * 8 + [graph])


@scenario()
def products() -> Calls:
    """Kernels of the bundle, with the slots of the operand empty."""
    d, A = matrix()
    x, y, out = numbers(30, 7), numbers(7, 40), torch.empty(40, 7)
    return lambda: [A @ x, A @ x[:, 0], y @ A, A.T @ y.T, F.linear(x.T, A), torch.mm(A, x, out=out)], same(
        [d @ x, d @ x[:, 0], y @ d, d.T @ y.T, x.T @ d.T, d @ x]
    )


@scenario(ready="called", again=True)
def products_again() -> Calls:
    return products()


@scenario(threads=2)
def products_of_two_threads() -> Calls:
    d, A = matrix(3000, 2000, density=0.02)
    x, y = numbers(2000, 16), numbers(3000, 16)
    return lambda: [A @ x, A.T @ y, scorch.einsum("ij,ik,jk->", A, y, x)], same(
        [d @ x, d.T @ y, ((d @ x) * y).sum()]
    )


@scenario(threads=2)
def sparse_products() -> Calls:
    (d, A), (e, B) = matrix(300, 200, density=0.05), matrix(200, 250, density=0.05, seed=1)
    f, C = matrix(300, 200, density=0.05, seed=2)
    return lambda: [A @ B, A + C, A * C, torch.maximum(A, C), A.T @ C], same(
        [d @ e, d + f, d * f, torch.maximum(d, f), d.T @ f]
    )


@scenario(threads=2)
def listed_rows() -> Calls:
    """Of experts, which the library multiplies where the CPU has products of pairs of bfloat16."""
    d = (numbers(200, 8, density=0.2) > 0).float()
    x, y, w = (numbers(*shape, density=0.05) for shape in ((200, 128), (200, 160), (8, 128, 160)))
    A, *given = scorch.sparse(d, "csr").bfloat16(), x.bfloat16(), y.bfloat16(), w.bfloat16()

    def call() -> list:
        X, Y, W = given
        return [
            scorch.einsum("te,tk,ekn->tn", A, X, W).float(),
            scorch.einsum("te,tk,tn->ekn", A, X, Y).float(),
        ]

    return call, same([torch.einsum("te,tk,ekn->tn", d, x, w), torch.einsum("te,tk,tn->ekn", d, x, y)])


@scenario()
def empty_results() -> Calls:
    (d, A), zero = matrix(), torch.zeros(40, 30)
    Z = scorch.sparse(zero, "csr")

    def call() -> list:
        results = [A * Z, A.T @ Z, Z + Z, torch.relu(A * -1), Z @ numbers(30, 3), A[3:3]]
        return [*results, *(Z.convert(f) for f in FORMATS), scorch.sparse(zero, "coo")]

    wanted = [zero, torch.zeros(30, 30), zero, zero, torch.zeros(40, 3), d[3:3]]
    return call, same([*wanted, *[zero] * (len(FORMATS) + 1)])


FORMATS = ("csc", "coo", "dcsr", "bsr(2,2)", "ell(16)", "dense(0), dense(1)", "compressed(0), dense(1)")


@scenario(again=True)
def conversions() -> Calls:
    d, A = matrix()
    third = numbers(6, 5, 4, density=0.3)
    T = scorch.sparse(third, "csf")

    def call() -> list:
        there = [A.convert(f) for f in FORMATS]
        return [*there, *(B.convert("csr") for B in there), A.to_dense(), T.convert("coo"), T.to_dense()]

    return call, same([d] * (2 * len(FORMATS) + 1) + [third] * 2)


@scenario(threads=2)
def conversions_of_two_threads() -> Calls:
    d = numbers(2500, 2000, density=0.05)
    A = scorch.sparse(d, "csr")
    shuffled = d.to_sparse_coo()
    order = torch.randperm(shuffled._nnz(), generator=torch.Generator().manual_seed(0))
    args = shuffled._indices()[:, order], shuffled._values()[order], d.shape
    coo = torch.sparse_coo_tensor(*args)
    return lambda: [scorch.sparse(coo, "csr"), A.convert("csc"), A.convert("bsr(4,4)")], same([d] * 3)


@scenario()
def gradients() -> Calls:
    d, A = matrix()
    w, b = numbers(30, 4), numbers(4)

    def call() -> list:
        a, v, c = A.detach().requires_grad_(), w.clone().requires_grad_(), b.clone().requires_grad_()
        (a @ v).sum().backward()
        y = scorch.evaluate("C[i,k] = relu(A[i,j] * B[j,k] + b[k])", A=a, B=v, b=c)
        return [v.grad.clone(), a.grad.values().clone(), *torch.autograd.grad(y.sum(), (v, c))]

    importlib.import_module("torch.distributed.tensor")  # torch does, in the first backward pass
    v, c = w.clone().requires_grad_(), b.clone().requires_grad_()
    later = torch.autograd.grad((d @ v + c).relu().sum(), (v, c))
    first = (d.T @ torch.ones(40, 4)), w.sum(1)[d.nonzero()[:, 1]]
    return call, same([*first, *later])


@scenario(threads=2)
def attention() -> Calls:
    g = torch.Generator().manual_seed(0)
    q, k, v = (torch.rand(2, 2, 96, 16, generator=g, requires_grad=True) for _ in range(3))
    d = (torch.rand(96, 96, generator=g) < 0.3) | torch.eye(96).bool()
    mask, plain = scorch.sparse(d.float(), "csr"), scorch.sparse(d, "csr")

    def call() -> list:
        m = mask.detach().requires_grad_()
        y = scorch.attention(q, k, v, plain)
        z = scorch.attention(q, k, v, m)
        return [y.detach(), *torch.autograd.grad(y.sum(), (q, k, v)), *torch.autograd.grad(z.sum(), (q, v))]

    y = F.scaled_dot_product_attention(q, k, v, attn_mask=d)
    grads = torch.autograd.grad(y.sum(), (q, k, v))
    return call, same([y.detach(), *grads, grads[0], grads[2]])


def kernel_maps(side: int) -> Calls:
    """Maps of a cube of sites, and a product over one."""
    near = F.pad(torch.cartesian_prod(*[torch.arange(side)] * 3), (1, 0))
    far = near + torch.tensor([0, 2**62, -(2**62), -(2**62)]) * (near[:, 1:2] == 0)  # keys that do not fit
    weight, x = numbers(27, 2, 3), numbers(len(near), 2)
    M = scorch.conv_map(near, 3).map
    scorch.einsum("rij,jk,rkn->in", M, x, weight)  # compiled already: other scenarios compile
    grid = x.view(1, side, side, side, 2).movedim(-1, 1)
    y = F.conv3d(grid, weight.view(3, 3, 3, 2, 3).permute(4, 3, 0, 1, 2), padding=1)

    def call() -> list:
        made = [scorch.conv_map(near, 3), scorch.conv_map(far, 3), scorch.conv_map(near, 2, 2)]
        return [
            *(m.map.nnz for m in made),
            made[2].coordinates,
            scorch.einsum("rij,jk,rkn->in", M, x, weight),
        ]

    coarse = torch.unique(near // 2, dim=0)
    apart = (3 * side - 2) ** 2 * (3 * (side - 1) - 2 + 1)
    return call, same([(3 * side - 2) ** 3, apart, len(near), coarse, y.movedim(1, -1).flatten(0, 3)])


@scenario(again=True)
def convolutions() -> Calls:
    return kernel_maps(3)


@scenario(threads=2)
def convolutions_of_two_threads() -> Calls:
    return kernel_maps(16)


def expression() -> Calls:
    (d, A), (e, B) = matrix(), matrix(30, 20, seed=1)
    x = numbers(20, 3)
    return lambda: [
        scorch.einsum("ij,jk,kl->il", A, B, x),
        scorch.evaluate("s[i] max= A[i,j] * 3", A=A),
    ], same([d @ e @ x, (d * 3).max(1).values])


@scenario(ready="empty")
def einsum_compiled() -> Calls:
    return expression()


@scenario(ready="empty", mode="on")
def einsum_compiled_or_not_at_all() -> Calls:
    return expression()


@scenario()
def einsum_from_disk() -> Calls:
    return expression()


@scenario(ready="called", again=True)
def einsum_again() -> Calls:
    return expression()


@scenario(mode="off")
def einsum_interpreted() -> Calls:
    return expression()


@scenario(ready="called")
def traced() -> Calls:
    """Calls that torch.compile has recorded, and the operators under vmap."""
    d, A = matrix()
    x, w = numbers(30, 4), numbers(40, 30)

    @torch.compile(backend="aot_eager")
    def f(A: object, x: "torch.Tensor") -> tuple:
        y = scorch.evaluate("C[i,k] = relu(A[i,j] * B[j,k]); s[i] = A[i,j]", A=A, B=x)
        return (A.T @ torch.relu(A @ x)), *y, (A * w)

    def call() -> list:
        batch = torch.vmap(lambda v: A @ v)(x.T)
        return [*f(A, x), batch]

    y = (d @ x).relu()
    return call, same([d.T @ y, y, d.sum(1), d * w, (d @ x).T])


@scenario(wrapped=True)
def traced_first() -> Calls:
    """The recording itself, during which torch.compile wraps exceptions in its own, which name them."""
    d, A = matrix()
    x = numbers(30, 4)
    f = torch.compile(lambda A, x: torch.relu(A @ x), backend="aot_eager")
    return lambda: f(A, x), same((d @ x).relu())


@scenario(again=True)
def slices_and_joins() -> Calls:
    d, A = matrix()
    at = torch.tensor([3, 1, 2])

    def call() -> list:
        parts = [A[2:9], A[:, 4:20:3], A[5], A[at]]
        joined = [torch.cat([A, A]), torch.stack([A, A]), scorch.collate([A, A])]
        return [*parts, *joined, A.T, A.sum(1), A.reshape(30, 40), torch.relu(A * -1), A.amax(1)]

    wanted = [d[2:9], d[:, 4:20:3], d[5], d[at], torch.cat([d, d]), torch.stack([d, d]), torch.stack([d, d])]
    return call, same([*wanted, d.T, d.sum(1), d.reshape(30, 40), torch.zeros(40, 30), d.amax(1)])


@scenario(again=True)
def minibatches() -> Calls:
    d, A = matrix(40, 40)
    rows, columns = torch.tensor([3, 1, 2, 30]), torch.tensor([9, 4, 4, 17, 2])
    wide = scorch.coo([[0, 1, 1], [5, 900_000, 7]], [1.0, 2, 3], (2, 1_000_000))
    generator = torch.Generator()

    def call() -> list:
        found = [A.submatrix(rows, columns), wide.submatrix(None, torch.tensor([7, 5, 7]))]
        for how in ({}, {"weighted": True}, {"replace": True}, {"replace": True, "weighted": True}):
            generator.manual_seed(0)
            layers = scorch.sample_neighbors(A, rows, [3, -1], generator=generator, **how)
            found += [layers[1].matrix, layers[0].matrix.sum(1)[:4]]
        return found

    wanted = [d[rows][:, columns], torch.tensor([[0, 1.0, 0], [3, 0, 3]])]
    return call, same([*wanted, *call()[2:]])


@scenario()
def functions() -> Calls:
    d, A = matrix(30, 30)
    x = numbers(30, 5)
    soft = torch.softmax(torch.where(d == 0, float("-inf"), d), 1).nan_to_num()

    def call() -> list:
        order = scorch.reorder(A)
        return [scorch.softmax(A, 1), scorch.sddmm(A, x, x), A.norm(), order.tensor.sum()]

    return call, same([soft, d * (x @ x.T), d.norm(), d.sum()])


@scenario()
def explanations() -> Calls:
    d, A = matrix()
    x = numbers(30, 4)
    given = "par i in A { for j in A { vec k { C[i,k] += A[i,j] * B[j,k] } } }"
    titles = ("expression", "formats", "reasons", "plan", "runs by", "C")

    def call() -> list:
        kernel = scorch.compile("ij,jk->ik", A, A.T)
        texts = [scorch.explain("ij,jk->ik", A, x), scorch.explain("ij,jk->ik", A, A.T)]
        told = [bool(t) for t in (kernel.source, kernel.schedule, kernel.directives, kernel.orders)]
        made = scorch.evaluate("C[i,k] = A[i,j] * B[j,k]", A=A, B=x, schedule=given)
        parts = [[f"\n{title}\n" in f"\n{text}" for title in titles] for text in texts]
        return [told, *parts, "cheapest" in texts[1], made]

    return call, same([[True] * 4, [True] * 6, [True] * 6, True, d @ x])


@scenario(python=True)
def bindings() -> Calls:
    """The functions of the extension while Python has no memory; what torch asks of Python fails too."""
    d, A = matrix()
    x, out, order = numbers(30, 4), torch.empty(40, 4), torch.arange(30).flip(0)
    core, arrays = scorch.tensor.sparsetensor.core_of(A), tuple(A._arrays())
    dense, sparse = "C[i,k] = A[i,j] * B[j,k]\tA:2:csr\tB::", "C[i,j] = A[i,j] * B[i,j]\tA:2:csr\tB:2:csr"

    def call() -> list:
        made = [_C.matmul(core, x, 0), _C.matmul(core, x, 0, out)]
        made += _C.run(dense, (core, x)) + _C.evaluate(dense, (core, x), None)
        others = [_C.convert(d, "csr", False), _C.convert(core, "csc", True, True)]
        others += [_C.evaluate(sparse, (core, core), None), _C.results(sparse, (core, core))]
        others += [_C.Core("csr", (40, 30), arrays), core.with_values(arrays[-1]), core.memory()]
        others += [_C.text(dense, (core, x), stage) for stage in ("explain", "orders", "c")]
        others += [_C.describe(dense, (2, 2)), _C.gradient(dense, (2, 2), 3, 1), _C.way(dense, (core, x))]
        others += [_C.select(*arrays, None, order, 30), _C.inside(order, 30) is order]
        others += [len(_C.sought(*arrays[:2], order, order))]
        others += [_C.stats(), _C.info(), _C.format("bsr(2,2)", 2), _C.fingerprint((x,))]
        return [*made, core.ends_with((40, 30)) and all(others)]

    return call, same([d @ x] * 4 + [True])


@scenario()
def the_process() -> Calls:
    def call() -> list:
        facts = scorch.info(), scorch.stats(), scorch.calibrate(), scorch.calibrate(forget=True)
        return [all(facts), "compiler" in facts[0], scorch.release() >= 0, scorch.clear_cache() >= 0]

    return call, same([True] * 4)


# ---- a child: one attempt ----
def with_failures(case: Scenario, calls: Calls, n: int, count: int) -> tuple[str, bool]:
    """What a call comes to whose n-th request fails, and whether it was made."""
    if not case.python:
        _C.fail_alloc(n, count)
        came = outcome(*calls)
        return came, bool(_C.fail_alloc(0, 0))
    if n:
        _testcapi.set_nomemory(n - 1, n)
    try:
        made, came = calls[0](), ""
    except MemoryError:
        made, came = None, "MemoryError"
    except BaseException as why:
        made, came = None, f"{type(why).__name__}: {why}"
    _testcapi.remove_mem_hooks()
    return came or outcome(lambda: made, calls[1]), bool(came)


class Mallinfo(ctypes.Structure):
    """What glibc says of its heap."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
                     "fordblks", "keepcost")
    ]  # fmt: skip


def growth(case: Scenario, calls: Calls, n: int, count: int) -> float:
    """Bytes of memory that a call which fails leaves behind: the less of two series."""
    measure = ctypes.CDLL(None).mallinfo2
    measure.restype = Mallinfo
    marks = []
    for series in (4, 8, 8):
        for _ in range(series):
            with_failures(case, calls, n, count)
        gc.collect()
        info = measure()
        marks.append(info.uordblks + info.hblkhd)
    return min(marks[1] - marks[0], marks[2] - marks[1]) / 8


def attempt(case: Scenario, calls: Calls, n: int, count: int, ways: dict) -> dict:
    """A call whose n-th request fails, and one that meets no failure."""
    traces = Traces()
    torch.set_num_threads(case.threads)
    if case.ready == "empty":
        scorch.clear_cache()
    first, failed = with_failures(case, calls, n, count)
    again = outcome(*calls)
    faults = []
    if first.startswith(NO_MEMORY) or (case.wrapped and "MemoryError" in first):
        first = "MemoryError"
    if first not in ("right", "MemoryError") or (first == "MemoryError" and not failed):
        faults.append(first)
    if again != "right":
        faults.append(f"afterwards: {again}")
    elif ways and case.mode != "off" and _C.stats()["executor"] > ways["executor"]:
        faults.append("afterwards: interpreted, though it could be compiled")
    if case.again and failed and hasattr(ctypes.CDLL(None), "mallinfo2"):
        left = growth(case, calls, n, count)
        faults += [f"left: {left:.0f} bytes a call"] if left > LEAK else []
    faults += [f"left: {what}" for what in traces.left()]
    return {"failed": failed, "first": first, "faults": faults, "stats": _C.stats()}


# ---- the parent ----
def tried(case: Scenario, calls: Calls, n: int, count: int, ways: dict) -> dict:
    """An attempt in a process of its own."""
    made = child(lambda: attempt(case, calls, n, count, ways))
    if "died" in made:
        return {"failed": 1, "first": "", "faults": [f"the process died {made['died']}"], "stats": {}}
    return made


def campaign(name: str, count: int, every: int) -> dict:
    """All attempts of a scenario."""
    case = SCENARIOS[name]
    calls = case.prepare()
    clean = tried(case, calls, 0, 0, {})
    if case.ready == "called":
        assert outcome(*calls) == "right"
    report = {"scenario": name, "attempts": 0, "memory_errors": 0, "right": 0, "faults": clean["faults"]}
    case.again &= every == 1
    n, untouched = 1 - every, 0
    while len(report["faults"]) < 20 and untouched < (QUIET if case.python else 1):
        n += every
        made = tried(case, calls, n, count, clean["stats"])
        report["faults"] += [f"request {n}: {fault}" for fault in made["faults"]]
        untouched = 0 if made["failed"] else untouched + 1
        if not made["failed"]:
            continue
        report["attempts"] += 1
        report["memory_errors"] += made["first"] == "MemoryError"
        report["right"] += made["first"] == "right"
    return report


def load_extension() -> object:
    """scorch._C, without the package around it."""
    package = importlib.util.find_spec("scorch").submodule_search_locations[0]
    spec = importlib.util.spec_from_file_location("scorch._C", next(Path(package).glob("_C*.so")))
    module = sys.modules["scorch._C"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def possible(names: list[str]) -> list[str]:
    """Without those that need what this Python does not have."""
    return [n for n in names if not SCENARIOS[n].python or importlib.util.find_spec("_testcapi")]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("scenario", nargs="+", choices=[*SCENARIOS])
    parser.add_argument("--rest", action="store_true", help="all requests from the n-th on fail, not only it")
    parser.add_argument("--every", type=int, default=1, help="the distance of the n that are tried")
    options = parser.parse_args()
    names = possible(options.scenario)
    work = tempfile.mkdtemp()
    mode = SCENARIOS[options.scenario[0]].mode
    os.environ.update({"TMPDIR": work, "SCORCH_CACHE_DIR": f"{work}/kernels", "SCORCH_JIT": mode})
    tempfile.tempdir = None
    warnings.simplefilter("ignore")
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(1)  # threads of OpenMP do not outlive a fork; each child may start its own
    _C = load_extension()
    if names != ["importing"]:
        import scorch
    if any(SCENARIOS[name].python for name in names):
        import _testcapi
    try:
        for name in names:
            print(json.dumps(campaign(name, 2**40 if options.rest else 1, options.every)), flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)

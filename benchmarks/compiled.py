"""Suites of what only the compiler writes: sparse results, several sparse operands, tensors, blocks."""

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import torch

import scorch
from benchmarks import taco
from benchmarks.data import Case, graphs, int32
from benchmarks.peers import MklMatrix, MklProduct, graphblas, graphblas_matrix, mkl, scipy_sparse

SHAPES = ((512, 512, 512), (20_000, 2000, 500))  # of tensors with a million stored values
MILLION = 1_000_000


def _scipy(csr: torch.Tensor):
    parts = csr.values().numpy(), csr.col_indices().numpy(), csr.crow_indices().numpy()
    return scipy_sparse and scipy_sparse.csr_matrix(parts, csr.shape)


def random_csr(rows: int, columns: int, density: float, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randn(rows, columns, generator=generator)
    return (dense * (torch.rand(rows, columns, generator=generator) < density)).to_sparse_csr()


def squares(root: str | None) -> Iterator[tuple[str, torch.Tensor]]:
    yield from (g for g in graphs(root) if g[1].shape[0] < 100_000)
    yield "random 2048, 1 %", random_csr(2048, 2048, 0.01)


def spgemm(root: str | None) -> Iterator[Case]:
    """A @ A, fresh results. Scorch's rows are sorted; torch's and MKL's are not, so they are also given with
    the sort that makes them so."""
    for name, csr in squares(root):
        csr32, A = int32(csr), scorch.sparse(int32(csr))
        calls = {
            "torch CSR i64": lambda csr=csr: csr @ csr,
            "torch CSR i32": lambda csr=csr32: csr @ csr,
        }
        if scipy_sparse:
            m = _scipy(csr32)
            calls["torch i32 sorted"] = lambda csr=csr32: _sorted(csr @ csr)
            calls["SciPy sorted"] = lambda m=m: _sort_scipy(m @ m)
        if graphblas:
            g = graphblas_matrix(csr32)
            calls["GraphBLAS"] = lambda g=g: g.mxm(g).new()
        if mkl():
            handle = MklProduct(csr)
            calls["MKL"] = lambda h=handle: h.square(False)
            calls["MKL sorted"] = lambda h=handle: h.square(True)
        peers = tuple(calls)
        yield Case(name, {**calls, "Scorch": lambda A=A: A @ A}, {"Scorch": peers})


def _sorted(csr: torch.Tensor) -> object:
    """A torch CSR product with its rows put in order, by SciPy's C routine: the fastest way there is."""
    return _sort_scipy(_scipy(csr))


def _sort_scipy(m: object) -> object:
    m.has_sorted_indices = False
    m.sort_indices()
    return m


def vectors(root: str | None) -> Iterator[Case]:
    """A @ v, sums of columns, and products with a matrix stored by columns or transposed."""
    for name, csr in graphs(root):
        yield from _vectors(name, csr)


def _vectors(name: str, csr: torch.Tensor) -> Iterator[Case]:
    csr32, A, m = int32(csr), scorch.sparse(int32(csr)), _scipy(int32(csr))
    v, x = torch.randn(csr.shape[1]), torch.randn(csr.shape[0], 64)
    calls = {"torch CSR i64": lambda: csr @ v, "torch CSR i32": lambda: csr32 @ v}
    if mkl():
        handle = MklMatrix(csr, 1)
        calls["MKL"] = lambda: handle.mv(v)
    work = {"flops": 2 * csr._nnz(), "traffic": 8 * csr._nnz() + 8 * v.numel()}
    yield Case(f"A @ v, {name}", {**calls, "Scorch": lambda: A @ v}, {"Scorch": tuple(calls)}, **work)
    calls = {"torch CSR": lambda: torch.sum(csr, 0, keepdim=True).to_dense()[0]}
    if scipy_sparse:
        calls["SciPy"] = lambda: m.sum(0)
    ours = {"Scorch": lambda: scorch.einsum("ij->j", A)}
    yield Case(f"column sums, {name}", {**calls, **ours}, {"Scorch": tuple(calls)}, same=False)
    csc, C = csr.to_sparse_csc(), A.convert("csc")
    calls = {"torch": lambda: csc @ x}
    yield Case(f"CSC @ x, 64, {name}", {**calls, "Scorch": lambda: C @ x}, {"Scorch": ("torch",)})
    calls = {"torch": lambda: csr.t() @ x}
    yield Case(f"A.T @ x, 64, {name}", {**calls, "Scorch": lambda: A.T @ x}, {"Scorch": ("torch",)})


def halves(root: str | None) -> Iterator[Case]:
    """bfloat16 against our own float32: values and dense operand, summed in float32."""
    for name, csr in graphs(root):
        A = scorch.sparse(int32(csr))
        B = A.to(torch.bfloat16)
        for width in (64, 128, 256):
            x = torch.randn(csr.shape[1], width)
            y = x.bfloat16()
            calls = {"float32": lambda A=A, x=x: A @ x, "bfloat16": lambda B=B, y=y: B @ y}
            yield Case(f"{name}, {width}", calls, {"bfloat16": ("float32",)}, same=False)


def sddmm(root: str | None) -> Iterator[Case]:
    """A product sampled where a graph has edges: [n, width] @ [width, n]."""
    for name, csr in graphs(root):
        ones = torch.sparse_csr_tensor(csr.crow_indices(), csr.col_indices(), torch.ones(csr._nnz()))
        for width in (16, 64, 128):
            yield _sampled(f"{name}, {width}", ones, width)


def _sampled(name: str, ones: torch.Tensor, width: int) -> Case:
    q, k, ones32 = torch.randn(len(ones), width), torch.randn(len(ones), width), int32(ones)
    mask = scorch.sparse(ones32)
    calls = {
        "torch CSR i64": lambda: torch.sparse.sampled_addmm(ones, q, k.T, beta=0),
        "torch CSR i32": lambda: torch.sparse.sampled_addmm(ones32, q, k.T, beta=0),
    }
    ours = {"Scorch": lambda: scorch.einsum("ij,ik,jk->ij", mask, q, k)}
    return Case(name, {**calls, **ours}, {"Scorch": tuple(calls)})


def elementwise(root: str | None) -> Iterator[Case]:
    """A + B and A * B of two patterns; a dense matrix beside a sparse one, where torch has both dense."""
    for name, csr in graphs(root):
        shift = torch.roll(torch.arange(csr.shape[0]), 1)
        other = csr.to_sparse_coo().coalesce()
        index = torch.stack([other.indices()[0], shift[other.indices()[1]]])
        other = torch.sparse_coo_tensor(index, other.values(), csr.shape).coalesce().to_sparse_csr()
        yield from _pair(name, csr, other)
    yield from _pair("random 4096, 1 %", random_csr(4096, 4096, 0.01), random_csr(4096, 4096, 0.01, 1))
    for side, share in itertools.product((256, 1024, 4096), (0.01, 0.1)):
        yield from _beside(f"{side}, {share:.0%}", random_csr(side, side, share))


def _pair(name: str, a: torch.Tensor, b: torch.Tensor) -> Iterator[Case]:
    a32, b32, A, B = int32(a), int32(b), scorch.sparse(int32(a)), scorch.sparse(int32(b))
    m, n = _scipy(a32), _scipy(b32)
    g, h = (graphblas_matrix(a32), graphblas_matrix(b32)) if graphblas else (None, None)
    torch_calls = {"torch CSR i64": lambda: a + b, "torch CSR i32": lambda: a32 + b32}
    scipy_calls = {"SciPy": lambda: m + n} if scipy_sparse else {}
    scipy_calls |= {"GraphBLAS": lambda: g.ewise_add(h, "plus").new()} if graphblas else {}
    yield _elementwise(f"A + B, {name}", {**torch_calls, **scipy_calls}, lambda: A + B)
    torch_calls = {"torch CSR i64": lambda: a * b, "torch CSR i32": lambda: a32 * b32}
    scipy_calls = {"SciPy": lambda: m.multiply(n)} if scipy_sparse else {}
    scipy_calls |= {"GraphBLAS": lambda: g.ewise_mult(h, "times").new()} if graphblas else {}
    yield _elementwise(f"A * B, {name}", {**torch_calls, **scipy_calls}, lambda: A * B)


def _beside(name: str, csr: torch.Tensor) -> Iterator[Case]:
    x, v = torch.randn(csr.shape), torch.randn(csr.shape[1])
    dense, A = csr.to_dense(), scorch.sparse(int32(csr))
    known = {
        "C[i,j] = X[i,j] - A[i,j]": lambda: x - dense,
        "C[i,j] = max(X[i,j], A[i,j])": lambda: torch.maximum(x, dense),
        "y[i] max= X[i,j] + A[i,j]": lambda: (x + dense).amax(1),
        "y[i] += relu(X[i,j] - A[i,j]) * v[j]": lambda: torch.relu(x - dense) @ v,
    }
    for text, call in known.items():
        given = {"X": x, "A": A} | ({"v": v} if "v[j]" in text else {})
        yield _elementwise(f"{text}, {name}", {"torch dense": call}, partial(scorch.evaluate, text, **given))


def _elementwise(name: str, peers: dict[str, Callable[[], object]], ours: Callable[[], object]) -> Case:
    return Case(name, {**peers, "Scorch": ours}, {"Scorch": tuple(peers)})


# ---- tensors ----
def random_tensor(shape: tuple[int, ...], count: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    index = torch.stack([torch.randint(n, (count,), generator=generator) for n in shape])
    coo = torch.sparse_coo_tensor(index, torch.randn(count, generator=generator), shape).coalesce()
    return scorch.sparse(coo, format="csf", index_dtype=torch.int32)


def mttkrp(root: str | None) -> Iterator[Case]:
    """Every mode from one CSF tensor of a million values, against the loops TACO publishes (serial)."""
    for shape in SHAPES:
        tensor = random_tensor(shape, MILLION)
        reference = taco.library() and taco.Csf(tensor)
        for rank in (16, 32):
            factors = [torch.randn(n, rank) for n in shape]
            for mode in range(3):
                yield _mttkrp(tensor, reference, factors, mode)


def _mttkrp(tensor: torch.Tensor, reference: object, factors: list[torch.Tensor], mode: int) -> Case:
    names, rank = "ikl", factors[0].shape[1]
    c, d = (factors[m] for m in range(3) if m != mode)
    text = f"ikl,{','.join(names[m] + 'j' for m in range(3) if m != mode)}->{names[mode]}j"
    calls = {
        "Scorch": lambda: scorch.einsum(text, tensor, c, d),
        "Scorch, 1 thread": _single(lambda: scorch.einsum(text, tensor, c, d)),
    }
    against = dict.fromkeys(calls, ())
    if reference:
        calls["TACO"] = lambda: reference.mttkrp(f"mode{mode}", mode, c, d)
        against = dict.fromkeys(against, ("TACO",))
        if mode == 0:
            calls["TACO, workspace"] = lambda: reference.mttkrp("mode0_fibre", mode, c, d)
    shape = "x".join(map(str, tensor.shape))
    return Case(f"{shape}, rank {rank}, mode {mode}", calls, against)


def _single(call: Callable[[], object]) -> Callable[[], object]:
    def run() -> object:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return call()
        finally:
            torch.set_num_threads(threads)

    return run


def contractions(root: str | None) -> Iterator[Case]:
    """A sparse tensor of a million values times a vector and times a matrix, against the same as products of
    a CSR matrix of fibres, results sparse."""
    for shape in SHAPES:
        tensor = random_tensor(shape, MILLION)
        size = (len(tensor.crd(1)), shape[2])
        fibres = torch.sparse_csr_tensor(tensor.pos(2), tensor.crd(2), tensor.values(), size)
        yield _contraction("ikl,l->ik", tensor, fibres, torch.randn(shape[2]))
        yield _contraction("ikl,lj->ikj", tensor, fibres, torch.randn(shape[2], 16))


def _contraction(text: str, tensor: torch.Tensor, fibres: torch.Tensor, x: torch.Tensor) -> Case:
    calls = {"torch, fibres as CSR": lambda: fibres @ x, "Scorch": lambda: scorch.einsum(text, tensor, x)}
    shape = "x".join(map(str, tensor.shape))
    return Case(f"{text}, {shape}", calls, {"Scorch": ("torch, fibres as CSR",)}, same=False)


def experts(root: str | None) -> Iterator[Case]:
    """Rows that a sparse gate routes through matrices, two each, as one expression; and its gradients
    to the rows and to the matrices. Against what torch needs: rows sorted by expert, a grouped product or a
    loop, and a weighted scatter. "Skewed": expert k is chosen about as often as 1 / k."""
    for dtype, tokens, count in itertools.product((torch.float32, torch.bfloat16), (64, 1024), (8, 16, 64)):
        yield from _routes(f"{count}, {tokens}", torch.randn(tokens, count), dtype)
    for dtype in (torch.float32, torch.bfloat16):
        often = -torch.arange(1.0, 65).log() - torch.rand(1024, 64).log().neg().log()
        yield from _routes("64, 1024, skewed", often, dtype)


def _routes(name: str, scores: torch.Tensor, dtype: torch.dtype) -> Iterator[Case]:
    d, h, (tokens, count) = 512, 1024, scores.shape
    weight, chosen = scores.softmax(1).topk(2, 1)
    gate = torch.zeros(tokens, count).scatter_(1, chosen, weight).to(dtype)
    G, x, y = scorch.sparse(gate, "csr"), torch.randn(tokens, d).to(dtype), torch.randn(tokens, h).to(dtype)
    W = torch.randn(count, d, h).to(dtype)
    expert, token = gate.T.nonzero(as_tuple=True)
    ends = torch.bincount(expert, minlength=count).cumsum(0).int()
    name += ", bfloat16" if dtype is torch.bfloat16 else ""
    yield _routed("te,tk,ekn->tn", name, (G, x, W), _ways(gate, token, expert, ends, x, W))
    turned = W.transpose(1, 2)
    yield _routed("te,tn,ekn->tk", name, (G, y, W), _ways(gate, token, expert, ends, y, turned))
    shares = [(token[expert == e], gate[token[expert == e], e].unsqueeze(1)) for e in range(count)]

    def outer() -> torch.Tensor:
        return torch.stack([x[rows].T @ (y[rows] * scale) for rows, scale in shares])

    yield _routed("te,tk,tn->ekn", name, (G, x, y), {"torch loop": outer})


def _ways(gate, token, expert, ends, x, W) -> dict[str, Callable[[], torch.Tensor]]:
    """[tokens, rows] and [experts, rows, columns]: the scattered products of each token's experts"""
    scale = gate[token, expert].unsqueeze(1)
    spans = list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True))

    def scatter(products: torch.Tensor) -> torch.Tensor:
        return x.new_zeros(len(x), W.shape[2]).index_add_(0, token, products * scale)

    def loop() -> torch.Tensor:
        rows = x[token]
        return scatter(torch.cat([rows[a:b] @ W[e] for e, (a, b) in enumerate(spans)]))

    ways = {"torch loop": loop}
    if hasattr(torch, "_grouped_mm"):
        ways["torch grouped_mm"] = lambda: scatter(torch._grouped_mm(x[token], W, offs=ends))
    return ways


def _routed(text: str, name: str, operands: tuple, peers: dict[str, Callable[[], torch.Tensor]]) -> Case:
    calls = peers | {"Scorch": lambda: scorch.einsum(text, *operands)}
    return Case(f"{text}, {name}", calls, {"Scorch": tuple(peers)}, flops=2 * operands[0].nnz * 512 * 1024)


def linear(root: str | None) -> Iterator[Case]:
    """Pruned weights: W @ X with the columns of X as a batch, and F.linear(x, W) as models call it."""
    for side in (1024, 4096):
        for zeros in (0.8, 0.9, 0.95, 0.99):
            csr = random_csr(side, side, 1 - zeros)
            dense, csr32, W = csr.to_dense(), int32(csr), scorch.sparse(int32(csr))
            for batch in (32, 128, 512):
                yield _weight(f"W @ X, {side}, {zeros:.0%}, {batch}", csr, csr32, W, batch)
                yield _layer(f"F.linear, {side}, {zeros:.0%}, {batch}", csr, dense, W, batch)


def _weight(name: str, csr: torch.Tensor, csr32: torch.Tensor, W: torch.Tensor, batch: int) -> Case:
    x = torch.randn(csr.shape[1], batch)
    calls = {"torch CSR i32": lambda: csr32 @ x}
    if mkl():
        handle = MklMatrix(csr, batch)
        calls["MKL"] = lambda: handle.mm(x)
    work = {"flops": 2 * csr._nnz() * batch, "traffic": 8 * csr._nnz() + 8 * x.numel()}
    return Case(name, {**calls, "Scorch": lambda: W @ x}, {"Scorch": tuple(calls)}, **work)


def _layer(name: str, csr: torch.Tensor, dense: torch.Tensor, W: torch.Tensor, batch: int) -> Case:
    x = torch.randn(batch, csr.shape[1])
    calls = {
        "torch F.linear(csr)": lambda: torch.nn.functional.linear(x, csr),
        "torch dense": lambda: torch.nn.functional.linear(x, dense),
    }
    work = {"flops": 2 * csr._nnz() * batch, "traffic": 8 * csr._nnz() + 8 * x.numel()}
    ours = {"Scorch": lambda: torch.nn.functional.linear(x, W)}
    return Case(name, {**calls, **ours}, {"Scorch": tuple(calls)}, **work)


def training(root: str | None) -> Iterator[Case]:
    """Steps of training with pruned weights: silu(F.linear(x, W, b)), its gradients, and SGD or Adam.

    Dense weights are masked. Scorch does what it does by default, after as many steps as make it think of
    layouts.
    """
    for side in (1024, 4096):
        for zeros in (0.8, 0.9, 0.95, 0.99):
            csr = random_csr(side, side, 1 - zeros)
            for batch in (32, 128, 512):
                yield _training(f"SGD, {side}, {zeros:.0%}, {batch}", csr, batch, torch.optim.SGD)
    yield _training("Adam, 1024, 90%, 128", random_csr(1024, 1024, 0.1), 128, torch.optim.Adam)


def _training(name: str, csr: torch.Tensor, batch: int, optimizer: type) -> Case:
    side, dense = csr.shape[0], csr.to_dense()
    x, g = torch.randn(batch, side, requires_grad=True), torch.randn(batch, side)
    layer = torch.nn.Linear(side, side)
    with torch.no_grad():
        layer.weight.copy_(dense)
    ours = scorch.nn.Linear.from_dense(layer, mask=dense != 0)
    products = ours.values.numel() * batch
    for _ in range(2**32 // (3 * products) + 9 if 3 * products > 2**26 else 0):
        _step(ours, [*ours.parameters()], optimizer, x, g)()
    mask = (dense != 0).float()
    masked = lambda x: torch.nn.functional.linear(x, layer.weight * mask, layer.bias)  # noqa: E731
    calls = {"torch dense, masked": _step(masked, [*layer.parameters()], optimizer, x, g)}
    values, bias = csr.values().clone().requires_grad_(), layer.bias.detach().clone().requires_grad_()
    parts = csr.crow_indices(), csr.col_indices()

    def product(x: torch.Tensor) -> torch.Tensor:
        weight = torch.sparse_csr_tensor(*parts, values, csr.shape, check_invariants=False)
        return torch.nn.functional.linear(x, weight, bias)

    if side * batch <= 1 << 17:  # its gradient is that of a dense weight
        calls["torch CSR"] = _step(product, [values, bias], optimizer, x, g)

    calls["Scorch"] = _step(ours, [*ours.parameters()], optimizer, x, g)
    return Case(name, calls, {"Scorch": tuple(calls)[:-1]}, flops=6 * csr._nnz() * batch)


def _step(
    f: Callable, parameters: list[torch.Tensor], optimizer: type, x: torch.Tensor, g: torch.Tensor
) -> Callable:
    state = optimizer(parameters, lr=1e-9)  # so small that all calls compute the same

    def step() -> torch.Tensor:
        state.zero_grad()
        x.grad = None
        torch.nn.functional.silu(f(x)).backward(g)  # smooth: rounding flips no sign
        state.step()
        return x.grad

    return step


def blocks(root: str | None) -> Iterator[Case]:
    """Block-sparse weights of 2048 x 2048, W @ X."""
    for size in (8, 16, 32):
        for zeros in (0.8, 0.9, 0.95):
            mask = torch.rand(2048 // size, 2048 // size, generator=torch.Generator().manual_seed(0)) >= zeros
            dense = torch.randn(2048, 2048) * mask.repeat_interleave(size, 0).repeat_interleave(size, 1)
            bsr, W = dense.to_sparse_bsr((size, size)), scorch.sparse(dense, format=f"bsr({size},{size})")
            for batch in (32, 128, 512):
                x = torch.randn(2048, batch)
                calls = {
                    "torch BSR": lambda b=bsr, x=x: b @ x,
                    "torch dense": lambda d=dense, x=x: d @ x,
                    "Scorch": lambda w=W, x=x: w @ x,
                }
                work = {"flops": 2 * W.nnz * batch, "traffic": 4 * W.nnz + 8 * x.numel()}
                yield Case(f"{size}x{size}, {zeros:.0%}, {batch}", calls, {"Scorch": ("torch BSR",)}, **work)


SUITES = {
    f.__name__: f
    for f in (
        vectors,
        halves,
        spgemm,
        sddmm,
        elementwise,
        mttkrp,
        contractions,
        experts,
        linear,
        training,
        blocks,
    )
}

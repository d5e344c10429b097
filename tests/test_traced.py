"""What works on coordinates, in one graph: its sizes are known to nobody before the call."""

import io

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.testing import CompileCounterWithBackend

import scorch

pytestmark = pytest.mark.needs("2.11")  # sizes that no result shows

PICK = torch.tensor([3, 1, 3])
GROUPS = {
    "rows and columns": lambda a: (a[1:3], a[..., 1:4], a[1], a[..., 2], a[..., None, :], a.unbind(0)[1]),
    "places": lambda a: (a[PICK], a[..., PICK], a[torch.arange(len(a)) > 1], a.narrow(1, 1, 2), a[a > 2]),
    "joined": lambda a: (torch.cat([a, 2 * a]), torch.cat([a, a], -1), torch.stack([a, 3 * a], 1)),
    "renumbered": lambda a: (
        a.reshape(4, -1),
        a.flip(0, 1),
        a.roll(1, 0),
        a.repeat(*[2] * a.ndim),
        a.flatten(),
    ),
    "padded": lambda a: (
        F.pad(a, (1, 2)),
        F.pad(a, (2, 0, -1, 3), value=2.0),
        *(F.pad(a, (2, 1), mode) for mode in ("reflect", "replicate", "circular")),
    ),
    "parts": lambda a: (a.tril(), a.triu(1), a.diagonal(0, -2, -1)),
    "sums": lambda a: (a.sum(0), a.sum(1, keepdim=True), a.mean(-1), F.dropout(a, 0.5, False).sum()),
    "extremes": lambda a: (a.amax(1), a.amin(-1), a.prod(1), torch.linalg.vector_norm(a, 2, 1)),
    "two tensors": lambda a: (a + a.roll(1, 1), a * a[:1], torch.hypot(a, a.flip(0)), a > 1),
    "formats": lambda a: (as_format(a, "coo"), as_format(a, "dense(0), compressed(1)"), a @ a.mT),
}


def as_format(a, text):
    """Converted: sparse tensors alone have formats."""
    text = text if a.ndim == 2 or text == "coo" else "csf"
    return a.convert(text) if scorch.is_sparse(a) else a


def numbers(y):
    return y.to_dense() if scorch.is_sparse(y) else y


def tensor(format, grad=True):
    generator = torch.Generator().manual_seed(1)
    shape = (4, 5, 6) if format == "csf" else (8, 6)
    d = torch.randint(1, 5, shape, generator=generator) * (torch.rand(shape, generator=generator) < 0.5)
    return d.double(), scorch.sparse(d.double(), format).requires_grad_(grad)


@pytest.fixture(autouse=True)
def forget_graphs():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


QUICK = ("joined", "padded", "parts", "sums", "formats")
CASES = [
    pytest.param(name, format, marks=[] if name in QUICK and format == "csf" else pytest.mark.slow)
    for name in GROUPS
    for format in ("csf", "coo", "bsr(2,3)", "ell(6)")
]


@pytest.mark.parametrize(("name", "format"), CASES)
def test_compiled(name, format):
    """Dynamo takes sizes that are known after a call as a reason to break a graph, where it may."""
    f, (d, a) = GROUPS[name], tensor(format)
    found, counter = [], CompileCounterWithBackend("aot_eager")
    for g in (f, torch.compile(f, backend=counter)):
        results = g(a)
        loss = sum(numbers(y).square().sum() for y in results if y.requires_grad)
        (grad,) = torch.autograd.grad(loss, a)
        found.append((results, numbers(grad)))
    assert counter.frame_count == 1
    (eager, wanted), (compiled, grad) = found
    torch.testing.assert_close(grad, wanted, equal_nan=True)
    for x, y, z in zip(compiled, eager, f(d), strict=True):
        blocks = name == "places" and format.startswith("bsr")  # rows that are not counted yet
        assert blocks or getattr(x, "_fmt", None) == getattr(y, "_fmt", None)
        assert x.dtype == y.dtype
        torch.testing.assert_close(numbers(x), numbers(y))
        torch.testing.assert_close(numbers(x), z)


class Model(torch.nn.Module):
    def __init__(self, f, a):
        super().__init__()
        self.f = f
        self.register_buffer("a", a)

    def forward(self, x):
        return [y.values() * x if scorch.is_sparse(y) else y * x for y in self.f(self.a)]


@pytest.mark.parametrize("strict", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name",
    ["joined", *(pytest.param(n, marks=pytest.mark.slow) for n in ("rows and columns", "two tensors"))],
)
def test_exported(name, strict):
    model, x = Model(GROUPS[name], tensor("csf", False)[1]), torch.tensor(2.0, dtype=torch.float64)
    program = torch.export.export(model, (x,), strict=strict)
    torch.testing.assert_close(program.module()(x), model(x))


def test_one_graph_for_any_number_of_entries():
    counter = CompileCounterWithBackend("aot_eager")
    f = torch.compile(lambda a: a[1:3].sum(1) * 2, fullgraph=True, backend=counter)
    for density in (0.2, 0.5, 0.9, 0.0):
        d = (torch.rand(4, 5, 6) < density).double()
        torch.testing.assert_close(f(scorch.sparse(d, "csf")).to_dense(), d[1:3].sum(1) * 2)
    assert counter.frame_count <= 2  # nothing stored may be a graph of its own


def test_a_number_of_entries_that_no_graph_knows_breaks_it():
    """A property of a tensor that is made in the graph; ``values().shape[0]`` is part of it."""
    a, x = scorch.sparse(torch.eye(4)), torch.ones(4)
    for f in (lambda a: x * (a + a.flip(0)).nnz, lambda a: x * (a + a.flip(0)).density):
        torch.testing.assert_close(torch.compile(f, backend="eager")(a), f(a))


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_a_layout_that_no_graph_has_breaks_it(layout):
    """Its gradient goes through; with fullgraph=True the refusal says what it is."""
    a, x = scorch.sparse(torch.eye(4)).requires_grad_(), torch.ones(4, 2)
    f = lambda a, x: getattr(a * 2, f"to_sparse_{layout}")() @ x * 3  # noqa: E731
    y = torch.compile(f, backend="aot_eager")(a, x)
    torch.testing.assert_close(y, torch.full((4, 2), 6.0))
    torch.testing.assert_close(torch.autograd.grad(y.sum(), a)[0].to_dense(), torch.eye(4) * 12)
    torch._dynamo.reset()
    with pytest.raises(Exception, match=f"a graph has no tensors of torch.sparse_{layout}: convert before"):
        torch.compile(f, backend="aot_eager", fullgraph=True)(a, x)


EYE = scorch.sparse(torch.eye(4))
MADE = {
    "dense level": lambda x: scorch.einsum("ij,jk->ijk", EYE, x),
    "topk": lambda x: scorch.topk(x, 2),
    "dia": lambda x: scorch.topk(x, 2).convert("dia(4)"),
    "sell": lambda x: scorch.topk(x, 2).convert("sell(2,4)"),
    "ell": lambda x: scorch.topk(x, 2).convert("ell(2)"),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", MADE)
def test_functions_of_values_of_what_a_graph_makes(name, dynamic):
    """Its number of values is no plain number there, and may be zero."""
    made = MADE[name]
    f = torch.compile(
        lambda x: scorch.map(made(x), torch.cos).to_dense(), backend="eager", fullgraph=True, dynamic=dynamic
    )
    x = torch.rand(4, 3) + 1
    d = made(x).to_dense()
    torch.testing.assert_close(f(x), torch.where(d != 0, d.cos(), 0))


OF_EXTENTS = {
    "chunk": lambda a: a.chunk(2)[1],
    "split": lambda a: a.split(len(a) // 2)[1],
    "tensor_split": lambda a: a.tensor_split(3, 1)[1],
    "roll": lambda a: a.roll(len(a) // 2, 0),
    "index": lambda a: a[len(a) // 2, : a.shape[1] // 2],
}


@pytest.mark.parametrize("f", OF_EXTENTS.values(), ids=OF_EXTENTS)
def test_numbers_that_are_made_of_extents(f):
    """In a graph for any extent they are symbols."""
    compiled = torch.compile(f, backend="eager", fullgraph=True)
    for n in (8, 10, 12):
        d = torch.arange(n * n).view(n, n).double()
        torch.testing.assert_close(compiled(scorch.sparse(d)).to_dense(), f(d))


POWERS = {
    "pow": torch.pow,
    "float_power": lambda a, x: torch.float_power(a, x[0]),
    "operator": lambda a, x: a**x,
    "one": lambda a, x: a ** x[0, 0],
}


@pytest.mark.parametrize("f", POWERS.values(), ids=POWERS)
def test_exponents_are_looked_at_by_the_call(f):
    d, a = tensor("csr")
    x = (torch.arange(48).view(8, 6) % 3 + 1).double().requires_grad_()
    compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
    want, got = f(d, x), compiled(a, x).to_dense()
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(*(torch.autograd.grad(y.sum(), x)[0] for y in (got, want)))
    with pytest.raises(RuntimeError, match="positive exponents"):
        compiled(a, x - 3)


ALONG = {
    "sums": lambda a, d: (a.sum(d), a.mean(d, True), a.var((d,)), F.normalize(a, 1, d), a.count_nonzero(d)),
    "extremes": lambda a, d: (a.amax(d), a.max(d)[0], a.argmin(d), a.median(d)[0], a.topk(1, d)[0]),
    "norms": lambda a, d: (torch.linalg.norm(a, 1, d), torch.linalg.norm(a, 1, (d, (d + 1) % 3)), a.any(d)),
    "orders": lambda a, d: (a.flip(d), a.movedim(d, 0), a.permute(d, (d + 1) % 3, (d + 2) % 3)),
    "others": lambda a, d: (a.logsumexp(d), a.unfold(d, 2, 1), torch.fft.fftshift(a, d)),
    "product": lambda a, d: (torch.tensordot(a, a.permute(2, 1, 0), d % 2),),
}


@pytest.mark.parametrize("f", ALONG.values(), ids=ALONG)
def test_dimensions_that_change_from_call_to_call(f):
    """They are symbols from the second one on."""
    compiled, (d, a) = torch.compile(f, backend="eager", fullgraph=True), tensor("csf", grad=False)
    for dim in (2, 0, 1):
        for got, want in zip(compiled(a, dim), f(d, dim), strict=True):
            torch.testing.assert_close(numbers(got), want)


def test_softmax_along_a_dimension_that_changes():
    compiled, (_, a) = torch.compile(torch.softmax, backend="eager", fullgraph=True), tensor("csf", False)
    for dim in (2, 0, 1):
        torch.testing.assert_close(numbers(compiled(a, dim)), numbers(torch.softmax(a, dim)))


def test_an_index_out_of_range_is_refused_by_the_call():
    _, a = tensor("coo", False)
    f = torch.compile(lambda a, i: a[i], backend="aot_eager", fullgraph=True)
    f(a, PICK)
    with pytest.raises(IndexError, match="out of range"):
        f(a, PICK + 7)


def test_operators():
    key = torch.tensor([4, 1, 4, 0])
    for f, args in (
        (torch.ops.scorch.distinct, (key,)),
        (torch.ops.scorch.merge, (key.unique(), key.unique() + 1)),
        (torch.ops.scorch.runs, (key,)),
        (torch.ops.scorch.places, (key > 1,)),
        (torch.ops.scorch.inside, (key, 5)),
        (torch.ops.scorch.sought, (torch.tensor([0, 3]), torch.arange(3), torch.zeros_like(key), key)),
    ):
        torch.library.opcheck(f.default, args)
    for source, target in (("coo", "bsr(2,3)"), ("csr", "coo"), ("ell(6)", "csc")):
        a = tensor(source, False)[1]
        *structure, _ = a._arrays()
        args = (source, scorch.Format(target).bind(2).text, list(structure), [8, 6], a.nnz, True)
        torch.library.opcheck(torch.ops.scorch.structure.default, args)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.uint8, torch.int16], ids=str)
def test_dense_tensors_of_narrow_types(dtype):
    """A program sums bools up to int64, and computes in no narrow integers: the type stays."""
    dense = (torch.arange(12).view(3, 4) % 3).to(dtype)
    compiled = torch.compile(lambda a: a.to_dense(), backend="aot_eager", fullgraph=True)
    got = compiled(scorch.sparse(dense))
    assert got.dtype == dtype and torch.equal(got, dense)


def test_maxima_are_sparse_where_they_are_in_eager_calls():
    """A maximum over no coordinate is infinite; extents that are not known while traced are not zero."""
    A = scorch.sparse(torch.rand(3, 4, 5) * (torch.rand(3, 4, 5) < 0.5), format="csf")

    def f(A):
        return scorch.evaluate("C[i,j] max= A[k,i,j]; s[i] = A[k,i,j]", A=A)

    want, got = f(A), torch.compile(f, backend="aot_eager", fullgraph=True)(A)
    assert want[0].format == got[0].format and torch.equal(want[0].to_dense(), got[0].to_dense())
    assert torch.equal(want[1], got[1])


BESIDE_A_NUMBER = {
    "sum and difference": lambda a, s: (a + s, s - a, a.sub(s, alpha=2)),
    "comparisons": lambda a, s: (a > s, s >= a, a == s, a != s),
    "extremes": lambda a, s: (torch.fmax(a, torch.as_tensor(s)), torch.maximum(torch.as_tensor(s), a)),
    "clamp": lambda a, s: (a.clamp(max=s), a.clamp(-s, s)),
    "where": lambda a, s: (torch.where(a > s, a, 0.0), torch.where(a > 1, a, s)),
    "masked_fill": lambda a, s: (a.masked_fill(a > 2, s), a.masked_fill(numbers(a) > 2, s)),
    "product and quotient": lambda a, s: (a * s, a / s, a * (a > s)),
    "of its own": lambda a, s: (a - a.mean(), a * (a > a.mean())),
}


@pytest.mark.parametrize("f", BESIDE_A_NUMBER.values(), ids=BESIDE_A_NUMBER)
@pytest.mark.parametrize("kind", [int, torch.tensor])
def test_numbers_that_a_graph_does_not_know(f, kind):
    """Results that are sparse for some of them, and for others dense."""
    d, a = tensor("csr", grad=False)
    compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
    for s in (kind(2), kind(3), kind(4)):
        for got, want in zip(compiled(a, s), f(d, s), strict=True):
            torch.testing.assert_close(numbers(got), want)
    if kind is torch.tensor:
        given = torch.tensor([1, 2])
        for got, want in zip(*(torch.vmap(lambda s: f(x, s))(given) for x in (a, d)), strict=True):  # noqa: B023
            torch.testing.assert_close(got, want)


def test_a_number_of_an_exported_graph():
    class Centred(torch.nn.Module):
        def forward(self, a):
            return a - a.mean()

    d, a = tensor("csr", grad=False)
    torch.testing.assert_close(torch.export.export(Centred(), (a,)).module()(a), d - d.mean())


EXPORTED = {
    "sum": lambda a: a * 2 + a.convert("coo").convert("csr"),
    "columns": lambda a: a[:, 1:4],
    "triangle": torch.tril,
    "put": lambda a: a.index_put((torch.tensor([0, 1]), torch.tensor([1, 5])), torch.tensor([7.0, 8.0])),
}


@pytest.mark.parametrize("name", EXPORTED)
def test_exported_programs_are_read_again(name):
    """An operator without results, such as unbind of no rows, is written by torch and not read."""

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", tensor("csr", False)[1].float())

        def forward(self, x):
            return EXPORTED[name](self.a) @ x

    x = torch.arange(12.0).view(6, 2)
    x = x[:3] if name == "columns" else x
    program = torch.export.export(Module(), (x,))
    assert not any(n.meta.get("val") in ((), []) for n in program.graph.nodes if n.op == "call_function")
    torch.export.save(program, file := io.BytesIO())
    file.seek(0)
    assert torch.equal(torch.export.load(file).module()(x), numbers(EXPORTED[name](Module().a)) @ x)


# ---- written in graphs ----
def cut_twice(a, x):
    part = a[1:7][1:4]
    part *= 2


def whole_row(a, x):
    a[0:1] = a[0:1] * 3 + a[0:1]


WRITTEN = {
    "rows": lambda a, x: a[1:3].mul_(2),
    "a row": lambda a, x: a[0].zero_(),
    "narrow": lambda a, x: a.narrow(0, 1, 2).mul_(2),
    "rows transposed": lambda a, x: a[1:3].T.mul_(2),
    "a product of rows": lambda a, x: a.__setitem__(slice(1, 3), a[1:3] * 2),
    "rows of rows": cut_twice,
    "a row of its own": lambda a, x: a[1].copy_(a[1] * 2) if scorch.is_sparse(a) else a[1].mul_(2),
    "one after the other": lambda a, x: (a[0:3].mul_(2), a[1:4].mul_(3)),
    "a submatrix": lambda a, x: (
        a.submatrix(slice(1, 3), None).mul_(2) if scorch.is_sparse(a) else a[1:3].mul_(2)
    ),
    "a triangle": lambda a, x: a[0:4].tril_(),
    "zero": lambda a, x: a.__setitem__(0, 0),
    "a column": lambda a, x: a.__setitem__((slice(None), 2), 0),
    "a part of a part": lambda a, x: a[1:3].__setitem__((0, slice(None)), 0),
    "a sum": whole_row,
    "what is copied": lambda a, x: (a.reshape(4, 12) * 1).mul_(3) + a[:, 1:3].clone().mul_(2).sum(),
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_parts_are_written_through(name, dynamic, whole):
    d, a = tensor("csr", grad=False)
    x = torch.arange(6.0, dtype=torch.double)

    def f(a, x):
        WRITTEN[name](a, x)
        return a @ x

    compiled = torch.compile(f, backend="aot_eager", fullgraph=whole, dynamic=dynamic)
    torch.testing.assert_close(compiled(a, x), f(d, x))
    torch.testing.assert_close(a.to_dense(), d)


def overlapping(a):
    rows, later = a[0:3], a[1:4]
    rows.mul_(2)
    later.mul_(2)


COPIED = {
    "another format": lambda a: a.convert("dcsr").mul_(2),
    "another number of dimensions": lambda a: a.reshape(2, 4, 6).mul_(2),
    "rows of coo": lambda a: a.convert("coo")[1:3].mul_(2),
    "a part that is older": overlapping,
}


@pytest.mark.parametrize("name", COPIED)
def test_copies_in_graphs_are_not_written(name):
    """Where an eager call writes through."""
    _, a = tensor("csr", grad=False)
    before = a.to_dense()
    with pytest.raises(RuntimeError, match="does not share its values with A"):
        torch.compile(COPIED[name], backend="aot_eager", fullgraph=True)(a)
    assert torch.equal(a.to_dense(), before)


def test_another_shape_of_csr_is_a_view_in_graphs_too():
    _, a = tensor("csr", grad=False)
    before = a.to_dense()
    torch.compile(lambda a: a.reshape(6, 8).mul_(2), backend="aot_eager", fullgraph=True)(a)
    assert torch.equal(a.to_dense(), 2 * before)


def test_entries_that_are_missing_are_not_written_in_graphs():
    _, a = tensor("csr", grad=False)
    with pytest.raises(ValueError, match="an entry that is named is not stored"):
        torch.compile(lambda a: a.__setitem__(0, 5.0), backend="aot_eager", fullgraph=True)(a)


OUT = {
    "einsum": lambda a, x, o: scorch.einsum("ij,jk->ik", a, x, out=o),
    "evaluate": lambda a, x, o: scorch.evaluate("y[i,k] = A[i,j] * x[j,k]", A=a, x=x, out=o),
    "one of two": lambda a, x, o: scorch.evaluate(
        "S[i,j] = A[i,j] * A[i,j]; y[i,k] = A[i,j] * x[j,k]", A=a, x=x, out=(None, o)
    )[1],
}


@pytest.mark.parametrize("name", OUT)
@pytest.mark.parametrize("dynamic", [False, True])
def test_out(name, dynamic):
    d, a = tensor("csr", grad=False)
    x, out = torch.rand(6, 3, dtype=torch.double), torch.empty(8, 3, dtype=torch.double)
    compiled = torch.compile(OUT[name], backend="aot_eager", fullgraph=True, dynamic=dynamic)
    assert compiled(a, x, out) is out
    torch.testing.assert_close(out, d @ x)
    for wrong in (torch.empty(3, 8).double(), torch.empty(8, 3), torch.empty(3, 8).double().T):
        for f in (OUT[name], compiled):
            with pytest.raises((ValueError, torch._dynamo.exc.Unsupported), match="out: expected a contig"):
                f(a, x, wrong)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="out: expected a call without gradients"):
        compiled(a, x.clone().requires_grad_(), out)

"""Types of values: what they promote to, and how exact sums of 16 bit floats are."""

import pytest
import torch

import scorch
from scorch.functions import reduce

TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64)
ERROR = {torch.float16: 2e-3, torch.bfloat16: 1e-2, torch.float32: 1e-5, torch.float64: 1e-12}


def operands(left: torch.dtype, right: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    dense = torch.randn(60, 50, generator=generator) * (torch.rand(60, 50, generator=generator) < 0.2)
    return (4 * dense).to(left), (3 * torch.randn(50, 23, generator=generator)).to(right)


@pytest.mark.sampled
@pytest.mark.parametrize("right", TYPES, ids=str)
@pytest.mark.parametrize("left", (*TYPES, torch.bool), ids=str)
def test_product(left, right):
    a, x = operands(left, right)
    wanted, exact = torch.promote_types(left, right), a.double() @ x.double()
    for y in (scorch.sparse(a, "csr") @ x, scorch.einsum("ij,jk->ik", scorch.sparse(a, "coo"), x)):
        assert y.dtype == wanted
        assert (y.double() - exact).abs().max() <= ERROR.get(wanted, 0) * exact.abs().max()


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16))
def test_sums_are_made_in_float32(dtype):
    """5000 ones: in 16 bits a sum would stop at 2048 or 256."""
    a = scorch.sparse(torch.ones(2, 5000, dtype=dtype), "csr")
    for x in (torch.ones(5000, dtype=dtype), torch.ones(5000, 8, dtype=dtype)):
        assert torch.equal(a @ x, torch.full((2, *x.shape[1:]), 5000, dtype=dtype))


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16))
def test_rounding(dtype):
    """Every 16 bit number there and back, and what lies between goes where torch puts it."""
    every = torch.arange(-32768, 32768, dtype=torch.int32).to(torch.int16).view(dtype)
    every = every[every.isfinite()]
    one = scorch.sparse(torch.ones(1, 1), "csr")
    wide = one @ every[None]
    assert torch.equal(wide, every[None].float())
    between = torch.cat([wide * (1 + 2.0**-12), wide * (1 - 2.0**-12), wide * 1.0002], 1)
    narrow = scorch.sparse(torch.ones(1, 1, dtype=dtype), "csr")
    got = scorch.einsum("ij,jk->ik", narrow, between.to(dtype))
    assert torch.equal(got, between.to(dtype))


@pytest.mark.sampled
@pytest.mark.parametrize("rows", (1, 3, 4, 8, 16, 21, 40, 130))
def test_pairs_of_bfloat16(rows):
    """Entries are taken two at a time, in rows of even, odd and short lengths, and sums are rounded once."""
    generator = torch.Generator().manual_seed(rows)
    kept = torch.rand(50, 300, generator=generator) < torch.linspace(0, 1, 50)[:, None]
    dense = torch.randint(-8, 9, (50, 300), generator=generator) * kept
    x = torch.randint(-8, 9, (rows, 300), generator=generator).bfloat16()
    W = scorch.sparse(dense.bfloat16(), "csr")
    wanted = (x.float() @ dense.float().T).bfloat16()
    for y in (torch.nn.functional.linear(x, W), (W @ x.T).T, (W @ x.T.contiguous()).T):
        assert torch.equal(y, wanted)


def test_integers():
    a = torch.tensor([[0, 3], [-2, 0]], dtype=torch.int32)
    s = scorch.sparse(a, "csr")
    x = torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)
    assert torch.equal(s @ x, a @ x)
    half = scorch.evaluate("C[i,k] = A[i,j] * x[j,k] * 0.5", A=s, x=x)
    assert half.dtype == torch.float32 and torch.equal(half, (a @ x) * 0.5)
    pattern = scorch.sparse(a != 0, "csr")
    assert torch.equal(scorch.einsum("ij->i", pattern), (a != 0).sum(1))


ONE_ELEMENT = {
    "mul": torch.mul,
    "rmul": lambda a, b: b * a,
    "div": torch.div,
    "floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "addcmul": lambda a, b: torch.addcmul(a, a, b),
    "compiled": torch.compile(torch.mul, backend="eager", dynamic=False),
}
WIDER = [
    (torch.float32, torch.float64),
    (torch.float16, torch.bfloat16),
    (torch.int32, torch.int64),
    (torch.float32, torch.float32),
]


@pytest.mark.parametrize("name", ONE_ELEMENT)
@pytest.mark.parametrize("types", WIDER, ids=str)
def test_one_element_promotes_where_it_has_a_dimension(name, types):
    f, (narrow, wide) = ONE_ELEMENT[name], types
    for shape in ((2, 3), (1, 3), (3, 1), (3,), (2, 1, 3)):
        a = torch.arange(torch.Size(shape).numel()).view(shape).to(narrow)
        for extents in ((), (1,), (1, 1), (1, 1, 1)):
            b = torch.full(extents, 2**31 if wide == torch.int64 and name != "compiled" else 3).to(wide)
            made, wanted = f(scorch.sparse(a), b), f(a, b)
            assert made.dtype == wanted.dtype and torch.equal(made.to_dense(), wanted)


def test_gradients_of_one_element():
    a, p = (
        torch.tensor([[0.0, 2.0], [1.0, 0.0]]),
        torch.tensor([3.0], dtype=torch.float64, requires_grad=True),
    )
    A = scorch.sparse(a).requires_grad_()
    (A * p).sum().backward()
    assert p.grad.tolist() == [3] and torch.equal(A.grad.to_dense(), 3.0 * (a != 0))


def test_tensordot_repeats_an_extent_of_one():
    a, b = torch.tensor([[0, 3, 1], [-2, 0, 0]], dtype=torch.int32), torch.tensor([2], dtype=torch.int32)
    made, wanted = torch.tensordot(scorch.sparse(a), b, 1), torch.tensordot(a, b, 1)
    assert made.dtype == wanted.dtype and torch.equal(made, wanted)


NARROW_SUMS = torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16


@pytest.mark.parametrize("dtype", NARROW_SUMS, ids=str)
@pytest.mark.parametrize("given", (torch.bool, torch.int32, torch.float32), ids=str)
def test_sums_have_the_type_that_is_asked_for(given, dtype):
    a = torch.tensor([[0, 200, 0], [1, 0, 99]]).to(given)
    for fmt in ("csr", "coo", "bsr(1,3)", "dense"):
        A = scorch.sparse(a, fmt)
        for dim in (None, 0, 1, (0, 1)):
            made, wanted = A.sum(dim, dtype=dtype), a.sum(dim, dtype=dtype)
            assert made.dtype == wanted.dtype and torch.equal(made, wanted)


SUMS = "ij->j", "ij->", "ij->ji", "ii->i", "ii", "...j->...", "ij,ij->ij", "ij,k->i", "ij,k->kij", "ij,->ij"
MIXED = "int8 int16", "int32 int64", "bool bool", "bool int32", "int32 float32", "float16 float64"
EINSUMS = [(text, types) for text in (*SUMS, "ij,jk->ik") for types in ("int16 int16", "int32 int32")]
EINSUMS += [(text, types) for text in SUMS for types in MIXED]


@pytest.mark.parametrize(("text", "dtypes"), EINSUMS)
def test_types_of_torchs_einsum(text, dtypes):
    """As of dense tensors: sums are int64, products stay narrow."""
    given = text.partition("->")[0].replace("...", "i").split(",")
    dense = [
        torch.tensor([[100, 0, 3], [0, 90, 0], [120, 0, 127]]).to(getattr(torch, dtype))[(0,) * (2 - len(f))]
        for dtype, f in zip(dtypes.split(), given, strict=False)
    ]
    wanted = torch.einsum(text, *dense)
    for fmt in ("csr", "coo", "bsr(3,3)"):
        first, *more = scorch.sparse(dense[0], fmt), *dense[1:]
        got = torch.einsum(text, first, *more)
        got = got.to_dense() if scorch.is_sparse(got) else got
        assert got.dtype == wanted.dtype and torch.equal(got, wanted)
    assert scorch.einsum("ij->j", scorch.sparse(dense[0].int())).dtype == torch.int32


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"])
def test_types_that_are_only_stored(name):
    dtype = getattr(torch, name)
    d = torch.tensor([[0, 2, 0], [1, 0, 3]]).to(dtype)
    d[1, 2] = min(torch.iinfo(dtype).max, 2**63 - 1) if name.startswith("u") else 240
    for fmt in ("csr", "coo", "csc", "bsr(2,3)", "ell(3)"):
        a = scorch.sparse(d, fmt)
        for b in (a, a.convert("dcsr"), a.convert("coo"), a.T.convert("csr").T, torch.cat([a, a])[:2]):
            assert b.dtype == dtype and torch.equal(b.to_dense().double(), d.double())
    twice = torch.sparse_coo_tensor([[0, 0], [0, 0]], torch.tensor([1, 2]).to(dtype), (1, 1))
    assert scorch.sparse(twice).to_dense().double().item() == 3


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("form", ["csr of band(0,0) + csr", "csr of nearest(1,2) + coo", "hyb(1,2)"])
def test_types_that_are_only_stored_have_parts(name, form):
    dtype = getattr(torch, name)
    d = torch.tensor([[1, 2, 0, 3], [0, 4, 0, 0], [5, 6, 7, 8], [0, 0, 0, 9]]).to(dtype)
    d[2, 1] = min(torch.iinfo(dtype).max, 2**63 - 1) if name.startswith("u") else 240
    a, parts = scorch.sparse(d, "csr"), scorch.sparse(d.double(), form).parts
    p = a.convert(form)
    assert [part.nnz for part in p.parts] == [part.nnz for part in parts]
    for got, want in zip(p.parts, parts, strict=True):
        assert torch.equal(got.to_dense().double(), want.to_dense().to(dtype).double())
    for b in (p, p.convert("csr"), p.T.convert(form).T, torch.cat([p, p])[:4]):
        assert b.dtype == dtype and torch.equal(b.to_dense().double(), d.double())
    d[2, 1] = 0
    a = scorch.sparse(d, "csr")
    assert torch.equal(scorch.parts(a, a).to_dense().double(), 2 * d.double())


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_the_largest_unsigned_numbers_are_taken_first(name):
    most = 2 ** int(name[4:]) - 1
    d = torch.tensor([[1, most, 2, 0]], dtype=getattr(torch, name))
    first = scorch.sparse(d, "csr").convert("csr of nearest(1,4) + csr").parts[0]
    assert first.nnz == 1 and first.to_dense()[0, 1].item() == most


def test_types_that_are_refused():
    for x in (torch.ones(2, 2, dtype=torch.complex64), torch.ones(2, 2).to(torch.float8_e8m0fnu)):
        with pytest.raises(TypeError, match="real type"):
            scorch.sparse(x)


ORDERS = ["", "order(k, j, i)", "order(j, i, k)", "order(j, k, i)", "order(i, k, j)"]


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16))
@pytest.mark.parametrize("fmt", ["csr", "csc", "dcsr", "dcsc", "coo", "bsr(2,2)", "dense"])
def test_sums_are_rounded_once(fmt, dtype):
    """However the loops stand: where they add into memory, the sums there are float32."""
    a, x = torch.ones(4, 3000, dtype=dtype), torch.ones(3000, 2, dtype=dtype)
    s = scorch.sparse(a, fmt) if fmt != "dense" else a
    for schedule in ORDERS if "(" not in fmt else [""]:
        got = scorch.evaluate("C[i,k] = A[i,j] * x[j,k]", A=s, x=x, schedule=schedule or None)
        assert torch.equal(got, torch.full((4, 2), 3000, dtype=dtype)), schedule
    assert torch.equal(scorch.evaluate("c[i] = A[i,j]", A=s), torch.full((4,), 3000, dtype=dtype))
    assert torch.equal(scorch.evaluate("c = A[i,j]", A=s), torch.tensor(12000, dtype=dtype))


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16))
def test_duplicates_are_rounded_once(dtype):
    index = torch.zeros(2, 3000, dtype=torch.int64)
    index[1, :1500] = 1
    coo = torch.sparse_coo_tensor(index, torch.ones(3000, dtype=dtype), (1, 2), check_invariants=False)
    for fmt in ("csr", "csc", "dcsr", "bsr(1,2)"):
        assert torch.equal(scorch.sparse(coo, fmt).to_dense(), torch.full((1, 2), 1500, dtype=dtype))


def test_index_types_of_files(tmp_path):
    import native

    file = tmp_path / "a.sc"
    for name, want in {"f32": "float32", "f16": "float16", "i16": "int16", "bool": "bool"}.items():
        file.write_text(f"in A: f32 csr {name} (4, 4)\nb[i] = A[i,j]\n")
        done = native.run(native.core().scorchc(), "--emit=index", file)
        assert done.returncode and f"indices of type {want}, expected int32 or int64" in done.stderr


@pytest.mark.parametrize("format", ("csr", "csc"))
@pytest.mark.parametrize(
    "dtype", (torch.float32, torch.float64, torch.int32, torch.int64, torch.bfloat16), ids=str
)
def test_what_is_not_zero_is_counted_in_one_pass(dtype, format, monkeypatch):
    """Of values of a type that counts as far; NaN is counted, stored zeros are not."""
    d = torch.tensor([[1, 0, 2, 3], [0, 0, 0, 0], [4, 5, 6, 7]]).to(dtype)
    a = scorch.sparse(d, format)
    stored = a.values().clone()
    stored[:2] = torch.tensor([0, float("nan") if dtype.is_floating_point else 1]).to(dtype)
    a = a._with_values(stored)
    d, dim = a.to_dense(), int(format == "csr")
    if dtype != torch.bfloat16:
        monkeypatch.setattr(reduce, "sum_", None)
    for f in (torch.count_nonzero, torch.any, torch.all):
        assert torch.equal(f(a, dim), f(d, dim)), f

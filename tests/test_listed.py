"""Sparse matrices of bfloat16 that list rows of dense operands, which a library multiplies."""

import native
import pytest
import torch

import scorch

pytestmark = pytest.mark.skipif(not native.has_dots(), reason="the CPU has no products of pairs of bfloat16")

TOKENS, EXPERTS, INNER, OUTER = 300, 6, 192, 256
EXPRESSIONS = {  # what is routed, and what a matrix of its own stands beside
    "te,tk,ekn->tn": [(TOKENS, INNER), (EXPERTS, INNER, OUTER)],
    "te,tn,ekn->tk": [(TOKENS, OUTER), (EXPERTS, INNER, OUTER)],
    "te,tk,tn->ekn": [(TOKENS, INNER), (TOKENS, OUTER)],
    "te,ekn,tk->tn": [(EXPERTS, INNER, OUTER), (TOKENS, INNER)],
    "te,tk,ekn->nt": [(TOKENS, INNER), (EXPERTS, INNER, OUTER)],
    "te,tk,enk->tn": [(TOKENS, INNER), (EXPERTS, OUTER, INNER)],
    "te,tk,ken->tn": [(TOKENS, INNER), (INNER, EXPERTS, OUTER)],
    "te,tk,tn->ken": [(TOKENS, INNER), (TOKENS, OUTER)],
    "te,tbk,ekn->tbn": [(TOKENS, 3, INNER), (EXPERTS, INNER, OUTER)],
    "te,tbk,ekn->tnb": [(TOKENS, 3, INNER), (EXPERTS, INNER, OUTER)],
}
OTHER_LOOPS = ["te,tk,ekn->nt"]  # the rows that are listed are not the first dimension


def routes(most: int = 3, seed: int = 0) -> torch.Tensor:
    """Up to `most` experts a token with small values, a token and an expert without any."""
    g = torch.Generator().manual_seed(seed)
    d = torch.zeros(TOKENS, EXPERTS)
    chosen = torch.rand(TOKENS, EXPERTS, generator=g).topk(most, 1).indices
    d.scatter_(1, chosen, torch.randint(1, 3, (TOKENS, most), generator=g).float())
    d[7], d[:, 4] = 0, 0
    return d


def few(*shape: int) -> torch.Tensor:
    """Small integers, mostly zeros, so that no sum is rounded."""
    g = torch.Generator().manual_seed(sum(shape))
    return (torch.randint(-1, 2, shape, generator=g) * (torch.rand(shape, generator=g) < 0.1)).bfloat16()


def is_for_the_library(text: str, *given) -> bool:
    return "by the dense library" in scorch.explain(text, *given)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dcsr"])
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_is_exact(text, form):
    d, operands = routes(), [few(*shape) for shape in EXPRESSIONS[text]]
    a = scorch.sparse(d.bfloat16(), format=form)
    assert is_for_the_library(text, a, *operands) == (text not in OTHER_LOOPS)
    want = torch.einsum(text, d, *(x.float() for x in operands))
    assert want.abs().max() < 256
    for _ in range(2):
        got = scorch.einsum(text, a, *operands)
        assert got.dtype is torch.bfloat16 and torch.equal(got.float(), want)


@pytest.mark.skipif(not native.is_swift(), reason="tiles of gathered rows are faster than the library")
@pytest.mark.parametrize("text", [t for t in EXPRESSIONS if t not in OTHER_LOOPS and "tn->" not in t])
def test_few_rows_in_float32(text):
    """Where many rows share a matrix, tiles of gathered rows are as fast."""
    d = routes().repeat(1, 10)  # of ten times as many experts, half of the entries
    d[torch.rand(d.shape, generator=torch.Generator().manual_seed(1)) < 0.95] = 0
    shapes = [[10 * n if n == EXPERTS else n for n in shape] for shape in EXPRESSIONS[text]]
    a, operands = scorch.sparse(d), [few(*shape).float() for shape in shapes]
    assert is_for_the_library(text, a, *operands)
    assert torch.equal(scorch.einsum(text, a, *operands), torch.einsum(text, d, *operands))


@pytest.mark.skipif(not native.is_swift(), reason="tiles of outer products are faster than the library")
@pytest.mark.parametrize("text", [text for text in EXPRESSIONS if "tn->" in text])
def test_many_rows_in_float32(text):
    d, operands = routes(), [few(*shape).float() for shape in EXPRESSIONS[text]]
    a = scorch.sparse(d)
    assert is_for_the_library(text, a, *operands)
    assert torch.equal(scorch.einsum(text, a, *operands), torch.einsum(text, d, *operands))


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_the_other_way_round(index):
    """The matrices are chosen by the first index of the list, whose layout is read as it is."""
    d, (x, w) = routes(), (few(*shape) for shape in EXPRESSIONS["te,tk,ekn->tn"])
    a = scorch.sparse(d.T.contiguous().bfloat16(), format="csr", index_dtype=index)
    assert is_for_the_library("et,tk,ekn->tn", a, x, w)
    want = torch.einsum("te,tk,ekn->tn", d, x.float(), w.float())
    assert torch.equal(scorch.einsum("et,tk,ekn->tn", a, x, w).float(), want)
    assert not a.memory()["derived"]


def test_new_values_and_structures():
    d, (x, w) = routes(), (few(*shape) for shape in EXPRESSIONS["te,tk,ekn->tn"])
    a = scorch.sparse(d.bfloat16())
    for seed in range(3):
        want = torch.einsum("te,tk,ekn->tn", a.to_dense().float(), x.float(), w.float())
        assert torch.equal(scorch.einsum("te,tk,ekn->tn", a, x, w).float(), want)
        a.values().neg_()
        want.neg_()
        assert torch.equal(scorch.einsum("te,tk,ekn->tn", a, x, w).float(), want)
        a = scorch.sparse(routes(2, seed + 1).bfloat16())


def test_patterns_and_strides():
    d, (x, w) = routes(), (few(*shape) for shape in EXPRESSIONS["te,tk,ekn->tn"])
    a, there = scorch.sparse(d.bfloat16()), (d != 0).float()
    want = torch.einsum("te,tk,ekn->tn", there, x.float(), w.float())
    got = scorch.evaluate("y[t,n] = stored(A[t,e]) * x[t,k] * w[e,k,n]", A=a, x=x, w=w)
    assert torch.equal(got.float(), want)
    want = torch.einsum("te,tk,ekn->tn", d, x.float(), w.float())
    wide, turned = few(2 * TOKENS, INNER + 9), w.transpose(0, 2).contiguous().transpose(0, 2)
    wide[::2, 3:-6] = x
    assert torch.equal(scorch.einsum("te,tk,ekn->tn", a, wide[::2, 3:-6], turned).float(), want)
    out = torch.ones(TOKENS, OUTER).bfloat16()
    assert scorch.einsum("te,tk,ekn->tn", a, x, w, out=out) is out and torch.equal(out.float(), want)


def test_rows_that_are_not_listed_are_not_read():
    d, (x, w) = routes(), (few(*shape) for shape in EXPRESSIONS["te,tk,ekn->tn"])
    a = scorch.sparse(d.bfloat16())
    want = scorch.einsum("te,tk,ekn->tn", a, x, w)
    x[7], w[4] = torch.nan, torch.inf
    assert torch.equal(scorch.einsum("te,tk,ekn->tn", a, x, w), want)
    x[8] = torch.nan
    got = scorch.einsum("te,tk,ekn->tn", a, x, w)
    assert got[8].isnan().all() and got.isnan().sum() == OUTER


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("format", ["csr", "csc", "compressed(0), dense(1) of rows(> 2) + csr"])
def test_nothing_is_listed(format, dtype):
    """By programs that were made for as few entries, and as many."""
    shapes = (1000, 512), (1000, 384), (2, 512, 384)
    x, y, w = (torch.ones(shape, dtype=dtype) for shape in shapes)
    for text, *operands in (("te,tk,ekn->tn", x, w), ("te,tn,ekn->tk", y, w), ("te,tk,tn->ekn", x, y)):
        for d in (torch.zeros(1000, 2), torch.eye(1000, 2), torch.zeros(1000, 2)):
            a, want = scorch.sparse(d.to(dtype), format=format), torch.einsum(text, d.to(dtype), *operands)
            out = torch.full_like(want, 7)
            assert scorch.einsum(text, a, *operands, out=out).equal(want), text
            assert scorch.einsum(text, a, *operands).equal(want), text
    assert scorch.einsum("te,tk,ekn->tn", a[:0], x[:0], w).shape == (0, 384)
    given = x.requires_grad_(), w.requires_grad_()
    for grad in torch.autograd.grad(scorch.einsum("te,tk,ekn->tn", a, *given).sum(), given):
        assert not grad.any()


def test_kernels_for_entries_are_called_with_none():
    d, (x, w) = routes(), (few(*shape) for shape in EXPRESSIONS["te,tk,ekn->tn"])
    a, none = scorch.sparse(d.bfloat16()), scorch.sparse(torch.zeros(TOKENS, EXPERTS).bfloat16())
    call = torch.compile(
        lambda a, x, w: scorch.einsum("te,tk,ekn->tn", a, x, w), backend="aot_eager", fullgraph=True
    )
    for _ in range(2):
        assert call(a, x, w).any() and not call(none, x, w).any()
    kernel = scorch.compile("te,tk,ekn->tn", a, x, w)
    assert kernel(a, x, w).equal(call(a, x, w)) and not kernel(none, x, w).any()


def test_rows_do_not_spoil_the_ones_in_front():
    """oneDNN's tiles reach behind rows that they do not fill."""
    a = scorch.sparse((torch.arange(96)[:, None] % 2 == torch.arange(2)).bfloat16())
    for inner in (128, 130, 136, 200, 208, 264, 320):
        x, w = torch.ones(96, inner).bfloat16(), torch.ones(2, inner, 256).bfloat16()
        assert is_for_the_library("te,tk,ekn->tn", a, x, w)
        x[48, 3], x[71, 0] = torch.inf, torch.nan
        y = scorch.einsum("te,tk,ekn->tn", a, x, w)
        assert y.isnan().any(1).nonzero().tolist() == [[71]] and y.isinf().any(1).nonzero().tolist() == [[48]]
        x = x[:, None].expand(-1, 32, -1).contiguous()
        y = scorch.einsum("te,tbk,ekn->tbn", a, x, w)
        assert y.isnan().any(2).any(1).nonzero().tolist() == [[71]], inner
        z = scorch.einsum("te,tk,tn->ekn", a, x[:, 0].contiguous(), torch.ones(96, 256).bfloat16())
        assert z.isnan().any(2).nonzero().tolist() == [[1, 0]], inner


def test_sums_are_rounded_once():
    """Each product is a number of bfloat16, the sums of three of them lie between such numbers."""
    d, (x, w) = routes(), (torch.ones(shape) for shape in EXPRESSIONS["te,tk,ekn->tn"])
    w = w * (torch.rand(w.shape, generator=torch.Generator().manual_seed(0)) < 0.5)
    want = torch.einsum("te,tk,ekn->tn", d, x, w)
    assert 2 * w.sum(1).max() < 256 < want.max() and (want % 2 == 1).any()
    got = scorch.einsum("te,tk,ekn->tn", scorch.sparse(d.bfloat16()), x.bfloat16(), w.bfloat16())
    assert torch.equal(got, want.bfloat16())


def test_rounding():
    """Sums over the matrices of a row are in float32; what they are of was rounded once."""
    d, (x, w) = routes(), (torch.randn(shape).bfloat16() for shape in EXPRESSIONS["te,tk,ekn->tn"])
    got = scorch.einsum("te,tk,ekn->tn", scorch.sparse(d.bfloat16()), x, w)
    want = torch.einsum("te,tk,ekn->tn", d.double(), x.double(), w.double())
    assert (got.double() - want).norm() < 0.004 * want.norm()


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_gradients(format):
    text, (x, w) = "te,tk,ekn->tn", (few(*shape) for shape in EXPRESSIONS["te,tk,ekn->tn"])
    d, g = routes(), few(TOKENS, OUTER)
    a = scorch.sparse(d.bfloat16(), format=format).requires_grad_()
    x.requires_grad_(), w.requires_grad_()
    with scorch.profile() as p:
        scorch.einsum(text, a, x, w).backward(g)
    assert str(p).count("library") >= 3
    e, y, v = d.requires_grad_(), x.detach().float().requires_grad_(), w.detach().float().requires_grad_()
    torch.einsum(text, e, y, v).backward(g.float())
    assert torch.equal(x.grad.float(), y.grad) and torch.equal(w.grad.float(), v.grad)
    assert torch.equal(a.grad.to_dense().float(), e.grad * (d != 0))


def test_graphs():
    text, (x, w) = "te,tk,ekn->tn", (few(*shape) for shape in EXPRESSIONS["te,tk,ekn->tn"])
    call = torch.compile(lambda a, x, w: torch.relu(scorch.einsum(text, a, x, w)), backend="aot_eager")
    for seed in range(2):
        d = routes(3, seed)
        want = torch.einsum(text, d, x.float(), w.float()).relu()
        assert torch.equal(call(scorch.sparse(d.bfloat16()), x, w).float(), want)


def test_beside_other_terms():
    text = "y[t,n] = relu(A[t,e] * x[t,k] * w[e,k,n] + b[n])"
    d, (x, w), b = routes(), (few(*shape) for shape in EXPRESSIONS["te,tk,ekn->tn"]), few(OUTER)
    given = {"A": scorch.sparse(d.bfloat16()), "x": x, "w": w, "b": b}
    want = torch.einsum("te,tk,ekn->tn", d, x.float(), w.float()) + b.float()
    assert torch.equal(scorch.evaluate(text, **given).float(), want.relu())

"""Attention under a sparse mask against dense attention: masks, types, gradients, rows that see nothing."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.utils import prune
from torch.utils.checkpoint import checkpoint

import scorch
import scorch.nn

BOUND = {torch.float64: 1e-13, torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


NO_SEED = torch.zeros(0, dtype=torch.int64)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def dense_attention(q, k, v, mask, scale=None, bias=0):
    """The definition, dense."""
    each = q.shape[-3] // k.shape[-3] if q.dim() > 2 else 1
    k, v = (x.repeat_interleave(each, -3) if each > 1 else x for x in (k, v))
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale) * mask + bias
    p = scores.masked_fill(mask == 0, -torch.inf).softmax(-1)
    return torch.where((mask != 0).any(-1, keepdim=True), p, 0) @ v


def tensors(*lead, n=37, m=29, d=8, e=5, heads=None, dtype=torch.float64):
    """q, k, v"""
    g, other = generator(1), (*lead[:-1], heads) if heads else lead
    shapes = (*lead, n, d), (*other, m, d), (*other, m, e)
    return tuple(torch.randn(s, generator=g, dtype=torch.float64).to(dtype) for s in shapes)


def random_mask(*shape, density=0.3, seed=0):
    """Bool; the third row sees nothing, the fifth everything."""
    mask = torch.rand(shape, generator=generator(seed)) < density
    mask[..., 2, :], mask[..., 4, :] = False, True
    return mask


def band(n, m, width):
    return (torch.arange(n)[:, None] * m // n - torch.arange(m)).abs() <= width


MASKS = {
    "band": band(150, 150, 11),
    "causal": torch.ones(150, 150).tril() > 0,
    "blocks": torch.kron(torch.rand(10, 10, generator=generator()) < 0.4, torch.ones(15, 15)) > 0,
    "scattered": random_mask(150, 150, density=0.03),
    "padded keys": torch.arange(150).expand(150, 150) < 111,
    "everything": torch.ones(150, 150) > 0,
    "nothing": torch.zeros(150, 150) > 0,
    "wide": random_mask(7, 300),
    "tall": random_mask(300, 7),
    "one row of blocks, exactly": random_mask(64, 64),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_and_their_gradients(name):
    mask = MASKS[name]
    q, k, v = (x.requires_grad_() for x in tensors(2, n=mask.shape[0], m=mask.shape[1], d=16, e=24))
    ours, theirs = scorch.attention(q, k, v, scorch.sparse(mask)), dense_attention(q, k, v, mask)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-13)
    grad = torch.randn(ours.shape, generator=generator(2), dtype=ours.dtype)
    for a, b in zip(*(torch.autograd.grad(y, (q, k, v), grad) for y in (ours, theirs)), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-13)


@pytest.mark.parametrize("format", ("csr", "csc", "coo", "bsr(4,4)", "dcsr", "ell(60)"))
def test_the_format_of_the_mask_changes_nothing(format):
    mask = random_mask(40, 60)
    q, k, v = tensors(3, n=40, m=60)
    expected = scorch.attention(q, k, v, scorch.sparse(mask))
    assert torch.equal(scorch.attention(q, k, v, scorch.sparse(mask.double(), format=format)), expected)


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("d, e", ((64, 64), (40, 33), (7, 1), (96, 128)))
def test_types_and_widths(dtype, d, e):
    mask = random_mask(130, 100, density=0.5)
    q, k, v = (x.requires_grad_() for x in tensors(2, n=130, m=100, d=d, e=e, dtype=dtype))
    exact = [x.detach().double().requires_grad_() for x in (q, k, v)]
    ours, theirs = scorch.attention(q, k, v, scorch.sparse(mask)), dense_attention(*exact, mask)
    grad = torch.randn(ours.shape, generator=generator(2)).to(dtype)
    assert ours.dtype == dtype
    found = ours, *torch.autograd.grad(ours, (q, k, v), grad)
    wanted = theirs, *torch.autograd.grad(theirs, exact, grad.double())
    for a, b in zip(found, wanted, strict=True):
        assert (a - b).abs().max() <= BOUND[dtype] * b.abs().max()


@pytest.mark.parametrize("height", (1, 16, 32, 64))
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_every_height_of_blocks(height, dtype):
    mask = random_mask(100, 90, density=0.2)
    q, k, v = tensors(1, 2, n=100, m=90, d=9, e=20, dtype=dtype)
    csr = scorch.sparse(mask.to(dtype) * 1.5)
    wide = dtype == torch.float64
    strips = scorch.functions.strips._made(csr, height, wide)[0].arguments(NO_SEED)
    out, lse = torch.ops.scorch.attention(q, k, v, *strips, 0.5, False, 0.0)
    exact = [x.double().clone().requires_grad_() for x in (q, k, v)]
    theirs = dense_attention(*exact, mask * 1.5, 0.5)
    bound = BOUND[dtype]
    assert (out - theirs).abs().max() <= bound * theirs.abs().max()
    scores = (exact[0] @ exact[1].mT * 0.75).masked_fill(~mask, -torch.inf).logsumexp(-1)
    torch.testing.assert_close(lse.double(), scores, rtol=1e-6, atol=1e-6)
    *grads, _ = torch.ops.scorch.attention_backward(out, q, k, v, out, lse, *strips, 0.5, False, 0.0, False)
    for a, b in zip(grads, torch.autograd.grad(theirs, exact, out.double()), strict=True):
        assert (a - b).abs().max() <= 2 * bound * b.abs().max()


I = torch.arange(200)
RESIDUE = I[:, None] % 16 == I % 16
SOME = torch.isin(I, I[7::31])
FAR = {  # rows that see the same columns lie apart; parts of the mask and of its transpose, 0 as they lie
    "some rows see all": (band(200, 200, 9) | SOME[:, None], 2, 0),
    "some columns are seen by all": (band(200, 200, 9) | SOME, 0, 2),
    "some rows and columns": (band(200, 200, 9) | SOME[:, None] | SOME, 2, 2),
    "strides": (band(200, 200, 9).tril() | RESIDUE.tril(), 2, 0),
    "residues": (RESIDUE, 1, 1),
    "residues and one row of nothing": (RESIDUE & (I != 5)[:, None], 1, 1),
}


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("name", FAR)
def test_rows_that_are_alike_are_taken_together(name, dtype):
    mask, *parts = FAR[name]
    A, g = scorch.sparse(mask), generator(4)
    q, k, v = (x.requires_grad_() for x in tensors(2, n=200, m=200, d=20, e=24, dtype=dtype))
    exact = [x.detach().double().requires_grad_() for x in (q, k, v)]
    theirs = dense_attention(*exact, mask)
    grad = torch.randn(theirs.shape, generator=g).to(dtype)
    wanted = theirs, *torch.autograd.grad(theirs, exact, grad.double())
    for _ in range(9):
        ours = scorch.attention(q, k, v, A)
        found = ours, *torch.autograd.grad(ours, (q, k, v), grad)
        for a, b in zip(found, wanted, strict=True):
            assert (a - b).abs().max() <= 2 * BOUND[dtype] * b.abs().max()
    kept = A._strips[dtype == torch.float64, False, False].strips
    orders, seconds = (kept.order, kept.turned[3]), kept.heights.tolist()[1::2]
    found = [(x.numel() > 0) + (second > 0) for x, second in zip(orders, seconds, strict=True)]
    assert found == parts


def test_rows_that_are_alike_are_taken_together_at_once_where_calls_will_be_many():
    A, inputs = (
        scorch.sparse(FAR["some rows and columns"][0]),
        [x.requires_grad_() for x in tensors(n=200, m=200)],
    )
    wanted = scorch.attention(*inputs, A)
    assert not A._strips[True, False, False].strips.heights[1]
    torch.testing.assert_close(scorch.attention(*inputs, A.optimize(calls=1000)), wanted)
    assert all(height > 0 for height in A._strips[True, False, False].strips.heights)


def test_no_other_mask_is_taken_apart():
    for name, mask in MASKS.items():
        A, (q, k, v) = scorch.sparse(mask), tensors(2, n=mask.shape[0], m=mask.shape[1])
        one = scorch.attention(q, k, v, A)
        assert all(torch.equal(scorch.attention(q, k, v, A), one) for _ in range(9)), name


def test_derivatives_and_dropout_over_rows_taken_together():
    A, once = (scorch.sparse(FAR["some rows and columns"][0]) for _ in range(2))
    inputs = [x.requires_grad_() for x in tensors(2, n=200, m=200, d=4, e=3)]

    def f(A, *inputs):
        torch.manual_seed(3)
        return scorch.attention(*inputs, A, dropout_p=0.3)

    for _ in range(9):
        ours = f(A, *inputs)
    assert A._strips[True, False, False].strips.heights[1]
    torch.testing.assert_close(ours, f(once, *inputs))
    grads = (torch.autograd.grad(f(x, *inputs).square().sum(), inputs) for x in (A, once))
    for a, b in zip(*grads, strict=True):
        torch.testing.assert_close(a, b)
    assert torch.autograd.gradcheck(lambda *x: f(A, *x), inputs, fast_mode=True, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda *x: f(A, *x), inputs, fast_mode=True)
    ours = torch.func.vmap(lambda q: scorch.attention(q, *inputs[1:], A))(inputs[0].expand(2, 2, 200, 4))
    torch.testing.assert_close(ours[1], scorch.attention(*inputs, A))


SHAPES = [((), ()), ((3,), ()), ((3,), (3,)), ((2, 4), ()), ((2, 4), (4,)), ((2, 4), (2, 1)),
          ((2, 4), (1, 4)), ((2, 4), (2, 4))]  # fmt: skip


@pytest.mark.parametrize("lead, of_mask", SHAPES)
@pytest.mark.parametrize("numbers", (False, True))
def test_batches_heads_and_derivatives(lead, of_mask, numbers):
    mask = random_mask(*of_mask, 19, 17)
    if numbers:
        mask = mask * torch.randn(mask.shape, generator=generator(5), dtype=torch.float64)
    A = scorch.sparse(mask)
    inputs = tensors(*lead, n=19, m=17, d=4, e=3, heads=2 if len(lead) == 2 else None)
    inputs = [x.requires_grad_() for x in inputs]
    ours = scorch.attention(*inputs, A)
    torch.testing.assert_close(ours, dense_attention(*inputs, mask))
    checks = {"fast_mode": True, "check_forward_ad": True}
    assert torch.autograd.gradcheck(lambda *x: scorch.attention(*x, A, scale=0.7), inputs, **checks)
    assert torch.autograd.gradgradcheck(lambda *x: scorch.attention(*x, A), inputs, fast_mode=True)


FORMATS = ("csr", "csc", "coo", "dcsr", "bsr(1,2)", "ell(18)")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("additive", (False, True))
def test_gradients_to_the_values_of_the_mask(format, additive):
    seen = torch.kron(random_mask(19, 9, density=0.4), torch.ones(1, 2)) > 0
    A = scorch.sparse(seen.double(), format=format)
    values = torch.randn(A.values().shape, generator=generator(5), dtype=torch.float64)
    values = (values * (A.values() != 0)).requires_grad_()  # ell is padded with zeros
    inputs = [x.requires_grad_() for x in (*tensors(2, 4, n=19, m=18, d=4, e=3, heads=2), values)]

    def ours(q, k, v, values):
        return scorch.attention(q, k, v, A._with_values(values), additive=additive)

    def theirs(q, k, v, values):
        D = A._with_values(values).to_dense()
        return dense_attention(q, k, v, seen, bias=D) if additive else dense_attention(q, k, v, seen * D)

    torch.testing.assert_close(ours(*inputs), theirs(*inputs))
    grads = [torch.autograd.grad(f(*inputs).square().sum(), inputs) for f in (ours, theirs)]
    torch.testing.assert_close(*grads)
    assert torch.autograd.gradcheck(ours, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(ours, inputs, fast_mode=True)
    if "ell" in format:  # its structure cannot be given values inside a transform
        return
    *qkv, w = [x.detach() for x in inputs]
    found = torch.func.grad(lambda w: ours(*qkv, w).square().sum())(w)
    torch.testing.assert_close(found, grads[0][3])
    both = torch.func.vmap(lambda w: ours(*qkv, w))(torch.stack([w, 2 * w]))
    torch.testing.assert_close(both[1], ours(*qkv, 2 * w))
    step = 1e-6 * w.cos() * (w != 0)
    _, tangent = torch.func.jvp(lambda w: ours(*qkv, w), (w,), (step,))
    wanted = (ours(*qkv, w + step) - ours(*qkv, w - step)) / 2
    torch.testing.assert_close(tangent, wanted, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("of_mask", ((), (2, 1), (1, 4), (2, 4)))
@pytest.mark.parametrize("density", (0.05, 0.9))  # blocks of one row, of many
def test_heads_that_share_values_sum_their_gradients(of_mask, density):
    seen = random_mask(*of_mask, 70, 50, density=density)
    w = torch.randn(int(seen.sum()), generator=generator(5), dtype=torch.float64).requires_grad_()
    q, k, v = tensors(2, 4, n=70, m=50, heads=2)
    A, D = scorch.sparse(seen.double()), torch.zeros(seen.shape, dtype=torch.float64).masked_scatter(seen, w)
    ours = scorch.attention(q, k, v, A._with_values(w), additive=True)
    (found,), (wanted,) = (
        torch.autograd.grad(y.cos().sum(), w) for y in (ours, dense_attention(q, k, v, seen, bias=D))
    )
    torch.testing.assert_close(found, wanted)


def test_added_zeros_are_seen_and_the_structure_is_kept():
    seen, (q, k, v) = random_mask(40, 30), tensors(n=40, m=30)
    A = scorch.sparse(seen.double())
    A = A._with_values(torch.zeros_like(A.values()))
    torch.testing.assert_close(scorch.attention(q, k, v, A, additive=True), dense_attention(q, k, v, seen))
    kept = A._strips[True, True, True].strips
    A.values()[::2] = -1.5
    bias = A.to_dense()
    torch.testing.assert_close(
        scorch.attention(q, k, v, A, additive=True), dense_attention(q, k, v, seen, bias=bias)
    )
    assert A._strips[True, True, True].strips is kept


# ---- dropout ----
@pytest.mark.parametrize("of_mask", ((), (3, 1), (1, 4), (3, 4)))
def test_derivatives_behind_dropout(of_mask):
    mask = random_mask(*of_mask, 19, 17)
    A, inputs = scorch.sparse(mask), [x.requires_grad_() for x in tensors(3, 4, n=19, m=17, heads=2)]

    def f(*inputs):
        torch.manual_seed(3)
        return scorch.attention(*inputs, A, dropout_p=0.3)

    assert torch.autograd.gradcheck(f, inputs, fast_mode=True, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, inputs, fast_mode=True)


def test_dropout_is_torchs_in_distribution():
    n, p = 150, 0.25
    q, v = torch.zeros(2, 3, n, 8), torch.eye(n).expand(2, 3, n, n)
    A = scorch.sparse(torch.ones(n, n))
    torch.manual_seed(0)
    weights = scorch.attention(q, q, v, A, dropout_p=p) * n
    kept = (weights > 0).double()
    torch.testing.assert_close(weights[weights > 0], torch.tensor(1 / (1 - p)).expand(int(kept.sum())))
    sigma = (p * (1 - p)) ** 0.5
    assert abs(kept.mean() - (1 - p)) < 4 * sigma / kept.numel() ** 0.5
    for along in (kept.mean(-1), kept.mean(-2)):
        torch.testing.assert_close(along.std().item(), sigma / n**0.5, rtol=0.15, atol=0)
    between = torch.corrcoef(kept.view(-1, n)).fill_diagonal_(0)
    assert between.abs().max() < 6 / n**0.5
    torch.manual_seed(0)
    assert torch.equal(scorch.attention(q, q, v, A, dropout_p=p) * n, weights)
    assert not torch.equal(scorch.attention(q, q, v, A, dropout_p=p) * n, weights)
    state = torch.get_rng_state()
    scorch.attention(q, q, v, A)
    assert torch.equal(torch.get_rng_state(), state)
    assert not scorch.attention(q, q, v, A, dropout_p=1.0).any()


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_dropout_does_not_depend_on_the_height_of_blocks(dtype):
    B, wide = scorch.sparse(random_mask(100, 90).float()), dtype == torch.float64
    q, k, v = tensors(1, 2, n=100, m=90, dtype=dtype)
    seed = torch.tensor([77])
    made = (scorch.functions.strips._made(B, height, wide)[0] for height in (1, 16, 32, 64))
    results = [torch.ops.scorch.attention(q, k, v, *s.arguments(seed), 1.0, False, 0.4)[0] for s in made]
    for y in results[1:]:
        torch.testing.assert_close(y, results[0], rtol=0, atol=BOUND[dtype])


# ---- transforms ----
def test_autocast_is_that_of_torchs_attention():
    mask, (q, k, v) = random_mask(20, 20), tensors(1, 2, n=20, m=20, dtype=torch.float32)
    q.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        y = scorch.attention(q, k.double().float(), v, scorch.sparse(mask))
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y.float(), dense_attention(q, k, v, mask), rtol=0, atol=3e-2)
    assert torch.autograd.grad(y.sum(), q)[0].dtype == torch.float32


def test_func_transforms():
    mask = random_mask(12, 10)
    A, (q, k, v) = scorch.sparse(mask), tensors(2, n=12, m=10, d=3, e=2)
    rows = mask.any(1)

    def loss(attend, given):
        return lambda q: attend(q, k, v, given)[:, rows].square().sum()

    ours, theirs = loss(scorch.attention, A), loss(dense_attention, mask)
    torch.testing.assert_close(torch.func.grad(ours)(q), torch.func.grad(theirs)(q))
    torch.testing.assert_close(torch.func.hessian(ours)(q), torch.func.hessian(theirs)(q).nan_to_num())
    many = torch.stack([q, 2 * q, -q])
    torch.testing.assert_close(
        torch.func.vmap(torch.func.grad(ours))(many), torch.stack([torch.func.grad(theirs)(x) for x in many])
    )


@pytest.mark.parametrize("of_mask", ((), (2,)))
def test_vmap(of_mask):
    mask = random_mask(*of_mask, 12, 10)
    A, (q, k, v) = scorch.sparse(mask), tensors(4, 2, n=12, m=10)
    ours = torch.func.vmap(lambda q, v: scorch.attention(q, k[0], v, A), in_dims=(0, 0))(q, v)
    for b in range(4):
        torch.testing.assert_close(ours[b], dense_attention(q[b], k[0], v[b], mask))


@pytest.mark.parametrize("format", ("csr", "bsr(2,2)"))
def test_compiles_without_a_break(format):
    """Nor where breaks are allowed."""
    mask = random_mask(30, 20)
    A, inputs = scorch.sparse(mask.float(), format=format), tensors(2, n=30, m=20, dtype=torch.float32)
    inputs = [x.requires_grad_() for x in inputs]
    compiled = torch.compile(lambda q, k, v, A: scorch.attention(q, k, v, A) * 2, fullgraph=True)
    ours, plain = compiled(*inputs, A), 2 * scorch.attention(*inputs, A)
    torch.testing.assert_close(ours, plain)
    grads = (torch.autograd.grad(y.square().sum(), inputs) for y in (ours, plain))
    torch.testing.assert_close(*grads)
    counter = torch._dynamo.testing.CompileCounter()
    torch.compile(lambda q, k, v, A: scorch.attention(q, k, v, A) * 2, backend=counter)(*inputs, A)
    assert counter.frame_count == 1


@pytest.mark.parametrize("additive", (False, True))
def test_compiles_with_gradients_to_values(additive):
    A, inputs = scorch.sparse(random_mask(30, 20).float()), tensors(2, n=30, m=20, dtype=torch.float32)
    w = torch.randn(A.values().shape, generator=generator(5))
    inputs = [x.requires_grad_() for x in (*inputs, w)]

    def f(q, k, v, w, A):
        return scorch.attention(q, k, v, A._with_values(w), additive=additive)

    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    ours, plain = compiled(*inputs, A), f(*inputs, A)
    torch.testing.assert_close(ours, plain)
    grads = (torch.autograd.grad(y.square().sum(), inputs) for y in (ours, plain))
    torch.testing.assert_close(*grads)


@pytest.fixture
def made(monkeypatch):
    """A list that gets a mask whenever strips are made of one."""
    strips, masks = scorch.functions.strips, []
    chosen = strips._chosen
    monkeypatch.setattr(strips, "_chosen", lambda rows, *kind: masks.append(rows) or chosen(rows, *kind))
    monkeypatch.setattr(strips, "_met", {})
    return masks


@pytest.mark.parametrize("format", ("csr", "coo"))
@pytest.mark.parametrize("dtype", (torch.bool, torch.float32))
def test_graphs_keep_strips_until_the_mask_changes(made, dtype, format):
    A, inputs = scorch.sparse(band(90, 90, 3).to(dtype), format=format), tensors(2, n=90, m=90, d=4)
    compiled = torch.compile(lambda q, k, v, A: scorch.attention(q, k, v, A), backend="aot_eager")
    for _ in range(3):
        assert torch.equal(compiled(*inputs, A), scorch.attention(*inputs, A))
    assert len(made) == 2  # one by each
    A.values()[::2] = 0
    for _ in range(3):
        torch.testing.assert_close(compiled(*inputs, A), dense_attention(*inputs, A.to_dense()))
    assert len(made) == 3


def test_graphs_keep_strips_whose_values_are_trained(made):
    A, inputs = scorch.sparse(random_mask(30, 20).double()), tensors(2, n=30, m=20)

    def f(q, k, v, w, A):
        return scorch.attention(q, k, v, A._with_values(w))

    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    for zeros in (0, 0, 5):
        w = torch.rand(A.values().shape, dtype=torch.float64) + 1
        w[:zeros] = 0
        w.requires_grad_()
        mask = A._with_values(w.detach()).to_dense()
        torch.testing.assert_close(compiled(*inputs, w, A), dense_attention(*inputs, mask))
        (found,) = torch.autograd.grad(compiled(*inputs, w, A).sum(), w)
        (wanted,) = torch.autograd.grad(f(*inputs, w, A).sum(), w)
        torch.testing.assert_close(found, wanted)
    assert len(made) - 3 == 2  # those of f


@pytest.mark.parametrize("name, height", (("scattered", 1), ("band", 16), ("everything", 64)))
def test_graphs_choose_the_height_of_blocks(name, height):
    mask = MASKS[name].repeat(7, 7)
    *structure, values = scorch.sparse(mask)._arrays()
    made = torch.ops.scorch.attention_mask("csr", structure, values, mask.shape, *[False] * 4)
    found = torch.ops.scorch.attention_found(mask[None], *mask.shape)
    assert made[9].tolist() == found[3].tolist() == [height, 0, 0, 0]


@pytest.mark.parametrize(
    "kind", ("one mask", "a slice of one", "a dense one made twice", "values that are trained")
)
def test_graphs_of_several_layers_attend_by_one_mask(kind):
    mask = scorch.sparse(torch.ones(9, 9).tril())
    if kind == "values that are trained":
        mask.requires_grad_()

    def f(q, scores):
        for _ in range(3):
            by = mask
            if kind == "a slice of one":
                by = mask[:7, :7]
            elif kind == "a dense one made twice":
                by = scorch.dynamic(scores > 0)
            q = scorch.attention(q, q, q, by)
        return q

    n = 7 if kind == "a slice of one" else 9
    q, scores = torch.randn(n, 4, requires_grad=True), torch.eye(9) + torch.randn(9, 9)
    inputs = [q, mask] if mask.requires_grad else [q]
    found, wanted = torch.compile(f, fullgraph=True)(q, scores), f(q, scores)
    torch.testing.assert_close(found, wanted)
    for a, b in zip(*(torch.autograd.grad(y.sin().sum(), inputs) for y in (found, wanted)), strict=True):
        torch.testing.assert_close(a.to_dense(), b.to_dense())


@pytest.mark.parametrize("how", ("compiled", "exported"))
def test_graphs_take_rows_together_that_are_alike(made, how):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mask", scorch.sparse(FAR["some rows and columns"][0]))

        def forward(self, q, k, v):
            return scorch.attention(q, k, v, self.mask)

    model, inputs = Model(), [x.requires_grad_() for x in tensors(n=200, m=200)]
    if how == "compiled":
        graph = torch.compile(model, fullgraph=True, backend="aot_eager")
    else:
        graph = torch.export.export(model, tuple(x.detach() for x in inputs)).module()
    wanted = model(*inputs)
    grads = torch.autograd.grad(wanted.sin().sum(), inputs)
    for _ in range(9):
        y = graph(*inputs)
        torch.testing.assert_close(y, wanted)
        torch.testing.assert_close(torch.autograd.grad(y.sin().sum(), inputs), grads)
    (kept,) = scorch.functions.strips._met.values()
    assert all(height > 0 for height in kept.strips.heights)


def test_graphs_drop_strips_that_were_not_used_for_long(made, monkeypatch):
    strips = scorch.functions.strips
    monkeypatch.setattr(strips, "_MANY", 2)
    arrays = [scorch.sparse(band(20, 20, w))._arrays() for w in range(4)]

    def make(w):
        torch.ops.scorch.attention_mask("csr", arrays[w][:2], arrays[w][2], [20, 20], *[False] * 4)

    for w in (0, 1, 0, 2, 0, 1):
        make(w)
    assert len(made) == 4 and len(strips._met) == 2
    monkeypatch.setattr(strips, "_MOST", 0)
    make(3)
    assert len(strips._met) == 1


def test_gradients_of_torch_func_compile():
    A, (q, k, v) = scorch.sparse(random_mask(30, 20)), tensors(n=30, m=20)

    def f(q):
        return torch.func.grad(lambda q: scorch.attention(q, k, v, A).sin().sum())(q)

    torch.testing.assert_close(torch.compile(f, fullgraph=True, backend="aot_eager")(q), f(q))


def test_torchs_function_compiles_with_dropout():
    A, inputs = scorch.sparse(random_mask(30, 20)), tensors(2, n=30, m=20, dtype=torch.float32)

    def f(q, k, v, A):
        return F.scaled_dot_product_attention(q, k, v, A, dropout_p=0.5)

    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    torch.manual_seed(1)
    first, second = compiled(*inputs, A), compiled(*inputs, A)
    assert not torch.equal(first, second)
    torch.manual_seed(1)
    assert torch.equal(compiled(*inputs, A), first)


@pytest.mark.parametrize("strict", (False, True))
def test_export_with_the_mask_as_a_buffer(strict):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mask", scorch.sparse(random_mask(30, 20)))

        def forward(self, q, k, v):
            return scorch.attention(q, k, v, self.mask)

    model, inputs = Model(), tensors(2, n=30, m=20, dtype=torch.float32)
    exported = torch.export.export(model, inputs, strict=strict)
    torch.testing.assert_close(exported.module()(*inputs), model(*inputs))


@pytest.mark.parametrize("dtype", (torch.bool, torch.float32))
@pytest.mark.parametrize(("n", "strict"), [(9, False), (100, True)])
def test_export_for_any_number_of_queries(dtype, n, strict):
    """Whatever number of blocks the example has."""

    class Model(torch.nn.Module):
        def forward(self, q, mask):
            return scorch.attention(q, q, q, scorch.dynamic(mask))

    def inputs(n):
        return tensors(2, n=n, m=n, dtype=torch.float32)[0], random_mask(n, n).to(dtype)

    dim = torch.export.Dim("n", min=2, max=4096)
    shapes = {1: dim}, {0: dim, 1: dim}
    exported = torch.export.export(Model(), inputs(n), dynamic_shapes=shapes, strict=strict).module()
    for k in (5, 64, 130):
        q, mask = inputs(k)
        torch.testing.assert_close(exported(q, mask), dense_attention(q, q, q, mask))


def test_operators_pass_torchs_checks():
    A, (q, k, v) = scorch.sparse(random_mask(20, 20)), tensors(1, 2, n=20, m=20)
    strips = scorch.functions.strips.strips(A, True)
    arguments = q.requires_grad_(), k, v, *strips.arguments(NO_SEED), 0.3, False, 0.0
    torch.library.opcheck(torch.ops.scorch.attention.default, arguments)
    csr = *A._arrays(), 1, 20, 20, 32, False, False, True
    tests = ("test_schema", "test_autograd_registration")  # sizes that the data decides
    torch.library.opcheck(torch.ops.scorch.attention_strips.default, csr, test_utils=tests)
    pos, crd, values = A._arrays()
    mask = "csr", [pos, crd], values, [20, 20], False, False, True, True
    torch.library.opcheck(torch.ops.scorch.attention_mask.default, mask, test_utils=tests)
    entries = *strips[:3], strips.order, strips.heights, 20, 20
    torch.library.opcheck(torch.ops.scorch.attention_entries.default, entries, test_utils=tests)


# ---- what is not seen ----
@pytest.mark.parametrize("bad", (torch.nan, torch.inf, -torch.inf))
@pytest.mark.parametrize("where", "kv")
def test_what_nobody_may_see_changes_nothing(bad, where):
    mask = random_mask(70, 70)
    mask[:, 11] = False
    mask[5] = False
    mask[5, 12] = True  # only row 5 sees column 12
    mask[torch.arange(70) != 5, 12] = False
    q, k, v = (x.requires_grad_() for x in tensors(2, n=70, m=70))
    clean = dense_attention(q, k, v, mask)
    dirty = {"k": k.detach().clone(), "v": v.detach().clone()}
    dirty[where][:, 11:13] = bad
    dirty = {name: x.requires_grad_() for name, x in dirty.items()}
    found = scorch.attention(q, dirty["k"], dirty["v"], scorch.sparse(mask))
    others = torch.arange(70) != 5
    torch.testing.assert_close(found[:, others], clean[:, others])
    assert not found[:, 5].isfinite().any() or (where == "k" and bad != torch.nan)
    grads = torch.autograd.grad(found[:, others].sum(), (q, dirty["k"], dirty["v"]))
    wanted = torch.autograd.grad(clean[:, others].sum(), (q, k, v))
    for a, b in zip(grads, wanted, strict=True):
        kept = others if a.shape[-2] == 70 and a is grads[0] else torch.arange(70) != 12
        torch.testing.assert_close(a[:, kept], b[:, kept])


def test_rows_without_entries_are_zero_and_pass_no_gradient():
    mask = random_mask(40, 30)
    q, k, v = (x.requires_grad_() for x in tensors(n=40, m=30))
    y = scorch.attention(q, k, v, scorch.sparse(mask))
    assert torch.equal(y[2], torch.zeros(5, dtype=y.dtype))
    assert not any(g.any() for g in torch.autograd.grad(y[2].sum(), (q, k, v)))
    stored = scorch.sparse(mask)._with_values(torch.zeros(int(mask.sum()), dtype=torch.bool))
    assert not scorch.attention(q, k, v, stored).any()  # an explicit zero is not seen either


def test_scores_without_bound():
    q, k, v = tensors(n=9, m=7)
    mask, A = torch.ones(9, 7), scorch.sparse(torch.ones(9, 7))
    torch.testing.assert_close(scorch.attention(1e4 * q, k, v, A), dense_attention(1e4 * q, k, v, mask))
    low = torch.full_like(k, -torch.inf)
    assert torch.equal(scorch.attention(q.abs() + 1, low, v, A), torch.zeros(9, 5, dtype=v.dtype))
    assert scorch.attention(q.abs() + 1, -low, v, A).isnan().all()


def test_extents_of_zero():
    for n, m in ((0, 4), (4, 0), (0, 0)):
        q, k, v = (x.requires_grad_() for x in tensors(2, n=n, m=m))
        y = scorch.attention(q, k, v, scorch.sparse(torch.zeros(n, m)))
        assert y.shape == (2, n, 5) and not y.any()
        assert not any(g.any() for g in torch.autograd.grad(y.sum(), (q, k, v)))


def test_queries_of_no_width_see_all_alike():
    mask, (q, k, v) = random_mask(6, 7), tensors(2, n=6, m=7)
    y = scorch.attention(q[..., :0], k[..., :0], v, scorch.sparse(mask))
    torch.testing.assert_close(y, dense_attention(q * 0, k, v, mask.double()))


# ---- the mask changes, strides, threads ----
def test_what_is_kept_with_the_mask_follows_it():
    mask = random_mask(40, 40).float()
    A, (q, k, v) = scorch.sparse(mask), tensors(n=40, m=40, dtype=torch.float32)
    scorch.attention(q, k, v, A)
    before = scorch.functions.strips.strips(A, False)
    assert scorch.functions.strips.strips(A, False) is before
    assert "strips, float32" in A.memory()["derived"]
    with torch.no_grad():
        A.values()[::2] = 0
    torch.testing.assert_close(scorch.attention(q, k, v, A), dense_attention(q, k, v, A.to_dense()))
    A.release()
    assert "strips, float32" not in A.memory()["derived"]


def test_strides():
    mask = random_mask(37, 29)
    x = torch.randn(37, 3, 2, 8, generator=generator(3))
    q, k = x[:, 0].transpose(0, 1), x[:29, 1].transpose(0, 1)
    v = torch.randn(2, 6, 29, generator=generator(4)).mT
    wanted = dense_attention(q.double(), k.double(), v.double(), mask)
    A = scorch.sparse(mask)
    torch.testing.assert_close(scorch.attention(q, k, v, A).double(), wanted, rtol=1e-5, atol=1e-5)
    q.requires_grad_()
    (grad,) = torch.autograd.grad(scorch.attention(q, k, v, A).sum(), q)  # a gradient of strides 0
    (same,) = torch.autograd.grad(dense_attention(q, k, v, mask).sum(), q)
    torch.testing.assert_close(grad, same.nan_to_num(), rtol=1e-4, atol=1e-5)


def test_the_same_bytes_for_any_number_of_threads():
    A, inputs = scorch.sparse(random_mask(300, 300)), tensors(4, n=300, m=300, d=32, dtype=torch.float32)
    inputs = [x.requires_grad_() for x in inputs]
    results, threads = [], torch.get_num_threads()
    for n in (1, 2, threads):
        torch.set_num_threads(n)
        y = scorch.attention(*inputs, A)
        results.append((y, *torch.autograd.grad(y.square().sum(), inputs)))
    torch.set_num_threads(threads)
    for other in results[1:]:
        assert all(map(torch.equal, results[0], other))


def test_scaled_dot_product_attention():
    mask, (q, k, v) = random_mask(20, 20, density=0.5), tensors(1, 2, n=20, m=20)
    A = scorch.sparse(mask)
    ours = F.scaled_dot_product_attention(q, k, v, attn_mask=A, scale=0.4)
    torch.testing.assert_close(ours, F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.4))
    bias = torch.randn(mask.shape, generator=generator(7), dtype=q.dtype).masked_fill(~mask, -torch.inf)
    added = scorch.sparse(mask.double())._with_values(bias[mask])
    ours = F.scaled_dot_product_attention(q, k, v, added)
    seen = mask.any(1)
    torch.testing.assert_close(
        ours[..., seen, :], F.scaled_dot_product_attention(q, k, v, bias)[..., seen, :]
    )
    with pytest.raises(ValueError, match="is_causal"):
        F.scaled_dot_product_attention(q, k, v, attn_mask=A, is_causal=True)
    with pytest.raises(RuntimeError, match="minus infinity"):
        F.scaled_dot_product_attention(q, k, v, scorch.sparse(bias))
    with pytest.raises(ValueError, match="enable_gqa"):
        F.scaled_dot_product_attention(q.repeat(1, 3, 1, 1), k, v, attn_mask=A)


@pytest.mark.parametrize("reentrant", (True, False))
def test_recomputed_in_the_backward_pass(reentrant):
    mask = random_mask(20, 20, density=0.5)
    A, inputs = scorch.sparse(mask.double()), [x.requires_grad_() for x in tensors(2, n=20, m=20)]

    def f(q, k, v, mask):
        return (
            scorch.attention(q, k, v, mask).square().sum() + F.scaled_dot_product_attention(q, k, v, A).sum()
        )

    found = torch.autograd.grad(f(*inputs, A), inputs)
    checkpoint(f, *inputs, A, use_reentrant=reentrant).backward()
    torch.testing.assert_close([x.grad for x in inputs], list(found))


@pytest.mark.parametrize("batches", (((3, 2), (1, 2), (1, 2)), ((1, 2), (3, 2), (3, 1)), ((2,), (1,), (1,))))
def test_scaled_dot_product_attention_broadcasts(batches):
    mask = random_mask(20, 20, density=0.5) | torch.eye(20, dtype=torch.bool)
    xs = [tensors(*b, n=20, m=20)[i].requires_grad_() for i, b in enumerate(batches)]
    found, wanted = (F.scaled_dot_product_attention(*xs, m) for m in (scorch.sparse(mask), mask))
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(*(torch.autograd.grad(y.square().sum(), xs) for y in (found, wanted)))


# ---- refusals ----
def test_refusals():
    A, (q, k, v) = scorch.sparse(random_mask(20, 10).float()), tensors(2, n=20, m=10, dtype=torch.float32)
    for error, match, arguments in (
        (
            TypeError,
            r"SparseTensor as the mask, got Tensor: .* scorch\.dynamic\(mask\)",
            (q, k, v, A.to_dense()),
        ),
        (TypeError, "got NoneType: .* F.scaled_dot_product_attention", (q, k, v, None)),
        (TypeError, r"a mask of bool, .* got torch.int8: mask.bool\(\)", (q, k, v, A.to(torch.int8))),
        (ValueError, r"v \[3, 10, e\] .* divides 3", (q[:1].repeat(3, 1, 1), k, v, A)),
        (TypeError, "one floating point type", (q, k.double(), v, A)),
        (TypeError, "dense tensor as k", (q, A, v, A)),
        (ValueError, r"mask \[..., 20, 10\]", (q, k, v, A.T)),
        (ValueError, "batch extents", (q, k, v, torch.stack([A] * 3))),
        (ValueError, r"expected k \[2, 10, 8\]", (q, k[..., :4], v, A)),
        (ValueError, "2 to 4 dimensions", (q[0, 0], k[0, 0], v[0, 0], A)),
        (ValueError, r"mask \[..., queries, keys\], got \[10\]", (q, k, v, A[0])),
    ):
        with pytest.raises(error, match=match):
            scorch.attention(*arguments)
    with pytest.raises(TypeError, match="a mask of bool"):
        scorch.attention(q, k, v, A.bool(), additive=True)
    with pytest.raises(ValueError, match="dropout_p from 0 to 1"):
        scorch.attention(q, k, v, A, dropout_p=1.5)


@pytest.mark.parametrize("change", (
    ("pos", lambda s: s[0].__setitem__((0, 0, 1), 10**9)), ("pos", lambda s: s[0].__setitem__((0, 0, 0), -1)),
    ("below", lambda s: s[1].__setitem__(0, -1)), ("below", lambda s: s[1].__setitem__(-1, 10)),
    ("ascend", lambda s: s[1].copy_(s[1].flip(0))), ("bits", lambda s: s[2].fill_(-1)),
))  # fmt: skip
def test_strips_of_others_are_checked(change):
    match, spoil = change
    A, (q, k, v) = scorch.sparse(torch.ones(20, 10)), tensors(1, 1, n=20, m=10, dtype=torch.float32)
    made = scorch.functions.strips._made(A, 32, False)[0].arguments(NO_SEED)
    strips = [x.clone() if isinstance(x, torch.Tensor) else x for x in made]
    spoil(strips)
    with pytest.raises(RuntimeError, match=match):
        torch.ops.scorch.attention(q, k, v, *strips, 1.0, False, 0.0)
    lse, out = torch.zeros(1, 1, 20), torch.zeros(1, 1, 20, 5)
    with pytest.raises(RuntimeError, match=match):
        torch.ops.scorch.attention_backward(out, q, k, v, out, lse, *strips, 1.0, False, 0.0, False)


@pytest.mark.parametrize("order", ([0] * 60, [60, *range(59)], [-1, *range(59)], [*range(59)]))
def test_orders_of_others_are_checked(order):
    A, (q, k, v) = scorch.sparse(RESIDUE[:60, :60]), tensors(1, 1, n=60, m=60, dtype=torch.float32)
    made = scorch.functions.strips._made(A, 16, False)[0]
    wrong = made._replace(order=torch.tensor(order, dtype=torch.int32)).arguments(NO_SEED)
    with pytest.raises(RuntimeError, match=r"names each of 60 rows once|expected shape \[60\]"):
        torch.ops.scorch.attention(q, k, v, *wrong, 1.0, False, 0.0)
    right = made._replace(order=torch.arange(60, dtype=torch.int32)).arguments(NO_SEED)
    out, lse = torch.ops.scorch.attention(q, k, v, *right, 1.0, False, 0.0)
    with pytest.raises(RuntimeError, match="expected the mask transposed too"):
        torch.ops.scorch.attention_backward(out, q, k, v, out, lse, *right, 1.0, False, 0.0, False)


def test_malformed_masks_are_refused():
    ok = torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.ones(2)
    for pos, crd in (((0, 1, 3), (0, 1)), ((0, 2, 1), (0, 1)), ((0, 1, 2), (0, 5)), ((0, 1, 2), (-1, 0))):
        arrays = torch.tensor(pos), torch.tensor(crd), ok[2]
        with pytest.raises(RuntimeError, match="mask: expected pos"):
            torch.ops.scorch.attention_strips(*arrays, 1, 2, 2, 64, False, False, False)
    with pytest.raises(RuntimeError, match="height of 1, 16, 32 or 64"):
        torch.ops.scorch.attention_strips(*ok, 1, 2, 2, 48, False, False, False)


def test_nothing_is_compiled():
    before = scorch.stats()["programs"]
    q, k, v = tensors(2, n=30, m=30)
    scorch.attention(q, k, v, scorch.sparse(torch.ones(30, 30).tril()))
    assert scorch.stats()["programs"] == before


# ---- masks that are new in each call ----
@pytest.mark.parametrize(
    "shape", [(1, 1), (63, 70), (64, 64), (130, 3000), (3, 100, 65), (2, 3, 70, 130), (2, 0, 5, 5)]
)
@pytest.mark.parametrize("density", [0, 0.03, 0.5, 1])
def test_strips_of_a_dense_mask_are_those_of_a_sparse_one(shape, density):
    mask = torch.rand(shape, generator=generator(3)) < density
    words, count = torch.ops.scorch.attention_words(mask.reshape(-1, *shape[-2:]), *shape[-2:])
    sparse = scorch.sparse(mask.reshape(-1, shape[-1]), "csr")
    matrices = words.shape[0]
    for k, height in enumerate((64, 32, 16, 1)):
        listed = torch.ops.scorch.attention_listed(words, shape[-2], height)
        wanted = torch.ops.scorch.attention_strips(
            *sparse._arrays(), matrices, *shape[-2:], height, False, False, False
        )
        assert count[k] == wanted[1].numel()
        for got, right in zip(listed, wanted[:3], strict=True):
            assert torch.equal(got, right)


@pytest.mark.parametrize("tile", [(1, 1), (64, 64), (7, 3), (100, 1), (1, 40)])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_masks_found_in_the_call(tile, lead):
    given = torch.rand(*lead, 3, 4, generator=generator(4)) < 0.5
    mask = given.repeat_interleave(tile[0], -2).repeat_interleave(tile[1], -1)
    n, m = mask.shape[-2:]
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        q, k, v = (x.requires_grad_() for x in tensors(2, 3, n=n, m=m, dtype=dtype))
        out = scorch.attention(q, k, v, scorch.dynamic(given, tile=tile))
        kept = scorch.attention(q, k, v, scorch.sparse(mask))
        torch.testing.assert_close(out, kept, atol=BOUND[dtype], rtol=BOUND[dtype])
        grads = (torch.autograd.grad(x.sum(), (q, k, v)) for x in (out, kept))
        for got, right in zip(*grads, strict=True):
            torch.testing.assert_close(got, right, atol=8 * BOUND[dtype], rtol=8 * BOUND[dtype])


@pytest.mark.parametrize("density", [0.01, 0.9])
@pytest.mark.parametrize("lead", [(), (2, 3)])
def test_long_masks_found_in_the_call(density, lead):
    """Some blocks of rows say whether entries are scattered; those are listed row by row."""
    mask = torch.rand(*lead, 1100, 90, generator=generator(5)) < density
    q, k, v = tensors(2, 3, n=1100, m=90)
    strips = scorch.functions.strips.found(scorch.dynamic(mask))
    assert (strips.heights[0] == 1) == (density < 0.5)
    torch.testing.assert_close(
        scorch.attention(q, k, v, scorch.dynamic(mask)), scorch.attention(q, k, v, scorch.sparse(mask))
    )


def test_a_mask_whose_true_forbids_is_named():
    layer, x = torch.nn.MultiheadAttention(8, 2, batch_first=True), torch.rand(3, 4, 8)
    mask = ~torch.eye(4, dtype=torch.bool)
    layer(x, x, x, attn_mask=mask, need_weights=False)
    with pytest.raises(RuntimeError, match=r"nn\.MultiheadAttention .* whose True forbids: give it a dense"):
        layer(x, x, x, attn_mask=scorch.sparse(mask), need_weights=False)


MODULES = ({}, {"add_bias_kv": True}, {"add_bias_kv": True, "add_zero_attn": True})


def masks_of_a_module(format="csr", n=6):
    """A sparse mask, the dense one that torch takes, and padding of keys: none, numbers, bool."""
    place = torch.arange(n)
    seen = (place[:, None] - place).abs() < 2
    bias = torch.rand(n, n, generator=generator())
    padded = (place > 4).expand(2, n)
    mask, dense = scorch.sparse(bias * seen, format), bias.masked_fill(~seen, -torch.inf)
    return mask, dense, (None, torch.zeros(2, n).masked_fill(padded, -torch.inf), padded)


@pytest.mark.filterwarnings("ignore:Support for mismatched")
@pytest.mark.parametrize("format", ("csr", "coo", "ell(3)"))
@pytest.mark.parametrize("heads", (False, True))
@pytest.mark.parametrize("options", MODULES)
@pytest.mark.parametrize("weights", (False, True))
def test_torchs_module_with_padding_and_keys_of_its_own(format, heads, options, weights):
    mask, dense, paddings = masks_of_a_module(format)
    if heads:
        mask, dense = torch.stack([mask] * 4), dense.expand(4, 6, 6)
    x, layer = torch.rand(2, 6, 8), torch.nn.MultiheadAttention(8, 2, batch_first=True, **options)
    for padding in paddings:
        found = []
        for given in (mask, dense):
            layer.zero_grad()
            given = given.detach().clone().requires_grad_()
            y, w = layer(x, x, x, attn_mask=given, key_padding_mask=padding, need_weights=weights)
            (y.square().sum() + (w.square().sum() if weights else 0)).backward()
            grad = given.grad.to_dense() if given is not dense else given.grad
            found.append(
                [y, grad.nan_to_num(0) * (dense > -torch.inf), *(p.grad for p in layer.parameters())]
            )
        torch.testing.assert_close(*found)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("padded", (False, True))
@pytest.mark.parametrize("norm_first", (False, True))
@pytest.mark.parametrize("activation", ("relu", "gelu"))
def test_torchs_layers_in_inference(padded, norm_first, activation):
    mask, dense, paddings = masks_of_a_module()
    x, how = torch.rand(2, 6, 8), {"src_key_padding_mask": paddings[padded]}
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, 0, activation, batch_first=True, norm_first=norm_first)
    for heads in (1, 4):
        given = mask if heads == 1 else torch.stack([mask] * 4)
        for model, name in ((layer, "src_mask"), (torch.nn.TransformerEncoder(layer, 2), "mask")):
            wanted = model.eval()(x, **{name: dense}, **how)
            with torch.no_grad():
                torch.testing.assert_close(model(x, **{name: given}, **how), wanted)


@pytest.mark.parametrize("norm_first", (False, True))
def test_torchs_layers_with_sparse_weights_compile_for_inference(norm_first):
    """No mask, a dense one, padded keys, and both: torch.compile takes torch's own function of the layer."""
    _, dense, (_, padding, _) = masks_of_a_module()
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, 0, batch_first=True, norm_first=norm_first).eval()
    for linear in (layer.linear1, layer.linear2):
        prune.l1_unstructured(linear, "weight", 0.7)
    x = torch.rand(2, 6, 8)
    masks = [{"src_mask": m, "src_key_padding_mask": p} for m in (None, dense) for p in (None, padding)]
    wanted = [layer(x, **how) for how in masks]
    layer.linear1, layer.linear2 = map(scorch.nn.Linear.from_dense, (layer.linear1, layer.linear2))
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    torch._dynamo.reset()  # graphs of a module of torch count together
    with torch.no_grad():
        torch.testing.assert_close([compiled(x, **how) for how in masks], wanted)


def test_torchs_module_compiles_with_padding():
    mask, dense, (_, padding, _) = masks_of_a_module()
    x, layer = torch.rand(2, 6, 8), torch.nn.MultiheadAttention(8, 2, batch_first=True, add_bias_kv=True)

    def f(mask):
        return layer(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0]

    torch.testing.assert_close(torch.compile(f, backend="aot_eager", fullgraph=True)(mask), f(dense))


@pytest.mark.parametrize("masked", (False, True))
@pytest.mark.parametrize("weights", (False, True))
@pytest.mark.parametrize("training", (False, True))
@pytest.mark.parametrize("format", ("csr", "csr of rows(<= 2) + coo"))
def test_torchs_module_with_sparse_projections(format, training, weights, masked):
    mask, dense = (m.double() for m in masks_of_a_module()[:2])
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).double().train(training)
    x, number = torch.rand(2, 6, 8).double(), torch.arange(256.0).view(32, 8).double() % 7 / 8
    owners = (layer, "in_proj_weight"), (layer.out_proj, "weight")
    found = []
    for given in (dense, mask):
        for (owner, name), w in zip(owners, number.split([24, 8]), strict=True):
            setattr(owner, name, torch.nn.Parameter(w if given is dense else scorch.sparse(w, format)))
        with torch.set_grad_enabled(training):
            y, w = layer(x, x, x, attn_mask=given if masked else None, need_weights=weights)
        grads = torch.autograd.grad(y.square().sum(), [getattr(*at) for at in owners]) if training else ()
        grads = [g.to_dense() if scorch.is_sparse(g) else g for g in grads]
        found.append((y, w, torch.cat(grads) * (number > 0) if training else None))
    torch.testing.assert_close(*found)


def test_torchs_layer_with_a_sparse_projection_compiles_for_training():
    layer, x = torch.nn.TransformerEncoderLayer(8, 2, 16, 0, batch_first=True), torch.rand(2, 6, 8)
    with torch.no_grad():
        layer.self_attn.out_proj.weight.copy_(torch.eye(8))
    wanted = layer(x)
    layer.self_attn.out_proj.weight = torch.nn.Parameter(scorch.sparse(torch.eye(8)))
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(layer, backend="aot_eager", fullgraph=True)(x), wanted)


def test_a_graph_of_two_masks_in_inference_says_what_to_do():
    mask, _, (_, padding, _) = masks_of_a_module()
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, 0, batch_first=True).eval()
    x, compiled = torch.rand(2, 6, 8), torch.compile(layer, backend="aot_eager", fullgraph=True)
    torch._dynamo.reset()
    with torch.no_grad(), pytest.raises(Exception, match=r"set_fastpath_enabled\(False\)"):
        compiled(x, src_mask=mask, src_key_padding_mask=padding)


@pytest.mark.filterwarnings("ignore:Support for mismatched")
@pytest.mark.parametrize("training", (False, True))
@pytest.mark.parametrize("weights", (False, True))
def test_masks_whose_true_forbids_are_named(training, weights):
    mask, dense, paddings = masks_of_a_module()
    x, layer = torch.rand(2, 6, 8), torch.nn.MultiheadAttention(8, 2, batch_first=True).train(training)
    with torch.set_grad_enabled(training):
        for padding in paddings[:2]:
            with pytest.raises(RuntimeError, match="whose True forbids: give it a dense"):
                given = scorch.sparse(dense == -torch.inf)
                layer(x, x, x, attn_mask=given, key_padding_mask=padding, need_weights=weights)
        padding = scorch.sparse(paddings[2].contiguous())
        with pytest.raises(RuntimeError, match="whose True forbids: give it a dense"):
            layer(x, x, x, key_padding_mask=padding, need_weights=weights)
        with pytest.raises(TypeError, match="got two: give it a dense key_padding_mask"):
            layer(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=weights)


def test_what_dense_masks_are_refused():
    q, k, v = tensors(1, 2, n=8, m=8)
    said = r"expected a mask \[\.\.\., 8, 8\] .*, got \[4, 6\], which is tile=\(2, 3\) for .* blocks \[2, 2\]"
    with pytest.raises(ValueError, match=said):
        scorch.attention(q, k, v, scorch.dynamic(torch.ones(2, 2, dtype=torch.bool), tile=(2, 3)))
    with pytest.raises(TypeError, match="expected numbers to add"):
        scorch.attention(q, k, v, scorch.dynamic(torch.ones(8, 8, dtype=torch.bool)), additive=True)
    with pytest.raises(RuntimeError, match="mask: expected tiles that divide 9, got 2"):
        torch.ops.scorch.attention_words(torch.ones(1, 2, 2, dtype=torch.bool), 9, 8)
    with pytest.raises(RuntimeError, match="a height of 1, 16, 32 or 64"):
        torch.ops.scorch.attention_listed(torch.zeros(1, 1, 2, dtype=torch.int64), 9, 8)

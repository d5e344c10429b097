"""Sparse convolutions: kernel maps against a dictionary of sites, layers against dense convolutions."""

import copy
import itertools
import random

import native
import pytest
import torch
import torch.nn.functional as F

import scorch
import scorch.nn

LEAST, MOST = -(2**63), 2**63 - 1


# ---- references ----
def taps(size, dilation):
    first = [-(s // 2) if s % 2 else 0 for s in size]
    return list(
        itertools.product(
            *([(f + t) * d for t in range(s)] for f, s, d in zip(first, size, dilation, strict=True))
        )
    )


def reference(coordinates, size, stride, dilation):
    """Entries (r, i, j), and output sites, in integers of Python."""
    sites = [tuple(row) for row in coordinates.tolist()]
    where = {site: j for j, site in enumerate(sites)}
    floors = [(b, *(x // s for x, s in zip(at, stride, strict=True))) for b, *at in sites]
    out = sites if set(stride) <= {1} else list(dict.fromkeys(floors))
    entries = set()
    for (i, (b, *at)), (r, off) in itertools.product(enumerate(out), enumerate(taps(size, dilation))):
        j = where.get((b, *(x * s + t for x, s, t in zip(at, stride, off, strict=True))))
        if j is not None:
            entries.add((r, i, j))
    return entries, out


def entries_of(M):
    return set(zip(*M.indices().tolist(), strict=True)) if M.nnz else set()


def random_sites(rng, dimensions, count, low, high, near):
    """Distinct sites, some of whose coordinates are near to the low end so that they have neighbours."""

    def coordinate():
        return rng.randint(low, min(low + near, MOST) if rng.random() < 0.7 else high)

    sites = {(rng.randint(0, 2), *(coordinate() for _ in range(dimensions))) for _ in range(count)}
    sites = list(sites)
    rng.shuffle(sites)
    return torch.tensor(sites, dtype=torch.int64).view(-1, 1 + dimensions)


def scene(count=60, side=6, dtype=torch.int64, seed=0):
    g = torch.Generator().manual_seed(seed)
    c = torch.randint(-side, side, (count, 4), generator=g)
    c[:, 0] %= 2
    c = torch.unique(c, dim=0)
    return c[torch.randperm(len(c), generator=g)].to(dtype)


def dense_twin(conv, x, coordinates, out):
    """The rows at output sites of torch's conv3d over the whole grid."""
    stride = torch.tensor(conv.stride)
    base = torch.div(coordinates[:, 1:].amin(0), stride, rounding_mode="floor") * stride
    at = coordinates[:, 1:] - base
    grid = x.new_zeros(int(coordinates[:, 0].max()) + 1, *(at.amax(0) + 1).tolist(), x.shape[1])
    grid = grid.index_put((coordinates[:, 0], *at.T), x).movedim(-1, 1)
    reach = [
        (s // 2 * d if s % 2 else 0, s * d + t)
        for s, d, t in zip(conv.kernel_size, conv.dilation, conv.stride, strict=True)
    ]
    grid = F.pad(grid, [n for pair in reversed(reach) for n in pair])
    weight = conv.weight.view(*conv.kernel_size, conv.in_channels, conv.out_channels).permute(4, 3, 0, 1, 2)
    y = F.conv3d(grid, weight, conv.bias, stride=conv.stride, dilation=conv.dilation)
    to = out[:, 1:] - torch.div(base, stride, rounding_mode="floor")
    return y.movedim(1, -1)[(out[:, 0], *to.T)]


# ---- kernel maps ----
@pytest.mark.parametrize("seed", range(120))
def test_the_map_is_that_of_a_dictionary(seed):
    rng = random.Random(seed)
    d, low = rng.choice((1, 2, 3, 4)), rng.choice((0, -5, -(2**31), 2**62 - 1, LEAST))
    high = min(low + rng.choice((2, 5, 10, 10**6, 2**62, 2**64)), MOST)
    c = random_sites(rng, d, rng.randint(0, 60), low, high, rng.choice((3, 5)))
    size, stride, dilation = (
        [rng.choice(numbers) for _ in range(d)]
        for numbers in ((1, 2, 3, 4, 5), (1, 2, 3), (1, 1, 2, 2**60 if seed % 7 == 0 else 1))
    )
    stride = [1] * d if seed % 2 else stride
    M, out = scorch.conv_map(c, size, stride, dilation)
    wanted, sites = reference(c, size, stride, dilation)
    assert entries_of(M) == wanted and M.nnz == len(wanted)
    assert [tuple(row) for row in out.tolist()] == sites
    assert M.shape == (len(taps(size, dilation)), len(sites), len(c))


@pytest.mark.parametrize("stride", [1, 2])
def test_the_map_of_many_sites_is_the_same_for_any_threads(stride):
    g = torch.Generator().manual_seed(0)
    c = torch.unique(torch.randint(0, 60, (60000, 4), generator=g) // torch.tensor([30, 1, 1, 1]), dim=0)
    c = c[torch.randperm(len(c), generator=g)]
    threads, found = torch.get_num_threads(), []
    try:
        for n in (1, 4):
            torch.set_num_threads(n)
            found.append(scorch.conv_map(c, 3, stride))
    finally:
        torch.set_num_threads(threads)
    (M, out), (N, other) = found
    assert all(map(torch.equal, (*M._arrays(), out), (*N._arrays(), other)))
    side = torch.full((2, 64, 64, 64), -1)
    side[c[:, 0], c[:, 1] + 1, c[:, 2] + 1, c[:, 3] + 1] = torch.arange(len(c))
    r, i, j = M.indices().long()
    tap = torch.stack([r // 9, r // 3 % 3, r % 3]) - 1
    at = out.T[1:, i] * stride + tap + 1
    assert torch.equal(side[(out[i, 0], *at)], j)
    every = torch.cartesian_prod(*[torch.arange(-1, 2)] * 3)[:, None] + out[:, 1:] * stride + 1
    assert M.nnz == int((side[(out[:, 0], *every.movedim(-1, 0))] >= 0).sum())


def test_what_the_map_is():
    c = scene()
    M, out = scorch.conv_map(c, 3)
    assert (
        out is c and isinstance(M, scorch.SparseTensor) and M.dtype == torch.bool and bool(M.values().all())
    )
    assert M.index_dtype == torch.int32
    pos, offset, source, ones = M._arrays()
    levels = [None, pos, None], [None, offset, source]
    scorch.from_components(M.format, M.shape, *levels, ones)  # looks through the structure
    made = scorch.conv_map(c, 3, 2)
    assert made.map is made[0] and made.coordinates is made[1]


@pytest.mark.parametrize("kind", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
def test_coordinates_of_any_integer_type(kind):
    c = (scene() + torch.tensor([0, 6, 6, 6])).to(kind)
    for stride in (1, 2):
        M, out = scorch.conv_map(c, 3, stride)
        N, wanted = scorch.conv_map(c.long(), 3, stride)
        assert entries_of(M) == entries_of(N) and out.dtype == kind and torch.equal(out.long(), wanted)


def test_coordinates_that_are_views():
    c = scene()
    for view in (c.T.contiguous().T, torch.cat([c, c])[: len(c)], c.repeat_interleave(2, 0)[::2]):
        assert entries_of(scorch.conv_map(view, 3).map) == entries_of(scorch.conv_map(c, 3).map)


@pytest.mark.parametrize("stride", [1, 2])
def test_no_sites(stride):
    M, out = scorch.conv_map(torch.empty(0, 4, dtype=torch.int32), 3, stride)
    assert M.shape == (27, 0, 0) and M.nnz == 0 and out.shape == (0, 4) and out.dtype == torch.int32
    conv = scorch.nn.SparseConv3d(2, 5, 3, stride)
    y = conv(torch.empty(0, 2), M)
    assert y.shape == (0, 5)
    y.sum().backward()
    assert conv.weight.grad.count_nonzero() == 0


def test_a_site_that_comes_twice():
    c = torch.tensor([[0, 1, 1, 1], [1, 1, 1, 1], [0, 2, 2, 2], [0, 1, 1, 1], [0, 2, 2, 2]])
    for far in (0, 2**61):  # packed keys, and keys that are looked at again
        with pytest.raises(ValueError, match="each site once, but row 3 is the same as row 0: join them"):
            scorch.conv_map(c * torch.tensor([1, 1, 1, 1]) + far * (c == 2), 3)


def test_keys_that_are_equal_and_sites_that_are_not():
    """2^64 apart in one coordinate cannot be; wraps of a sum of two can."""
    c = torch.tensor([[0, MOST, 0], [0, LEAST, 0], [0, 0, MOST], [0, 0, LEAST]])
    M, _ = scorch.conv_map(c, 3)
    assert entries_of(M) == {(4, i, i) for i in range(4)}
    M, out = scorch.conv_map(c, 2, 2)
    assert entries_of(M) == reference(c, (2, 2), (2, 2), (1, 1))[0] and len(out) == 4


@pytest.mark.parametrize(
    "error, match, call",
    [
        (TypeError, "coordinates: expected a dense tensor", lambda c: scorch.conv_map([[0, 1]], 3)),
        (TypeError, "coordinates: expected integers", lambda c: scorch.conv_map(c.float(), 3)),
        (TypeError, "coordinates: expected integers", lambda c: scorch.conv_map(c.bool(), 3)),
        (ValueError, r"expected \[n, 1 \+ d\].*column of zeros", lambda c: scorch.conv_map(c[0], 3)),
        (ValueError, r"expected \[n, 1 \+ d\]", lambda c: scorch.conv_map(c[:, :1], 3)),
        (ValueError, r"expected \[n, 1 \+ d\]", lambda c: scorch.conv_map(c.repeat(1, 3), 3)),
        (ValueError, "kernel_size: expected one number, or 3", lambda c: scorch.conv_map(c, (3, 3))),
        (ValueError, "kernel_size: expected numbers from 1", lambda c: scorch.conv_map(c, 0)),
        (ValueError, "stride: expected numbers from 1", lambda c: scorch.conv_map(c, 3, -1)),
        (ValueError, "dilation: expected numbers from 1", lambda c: scorch.conv_map(c, 3, 1, 2**63)),
        (TypeError, "kernel_size: expected an integer", lambda c: scorch.conv_map(c, 1.5)),
        (ValueError, r"fewer than 2\^31 offsets", lambda c: scorch.conv_map(c, 2**11)),
        (ValueError, r"reach less than 2\^63 far", lambda c: scorch.conv_map(c, 3, 1, 2**62)),
        (ValueError, r"coordinates: expected \[n, 4\]", lambda c: layer()(X, c[:, :3])),
        (
            ValueError,
            r"x: expected features \[n, 3\], got \[60, 2\]",
            lambda c: layer()(torch.ones(60, 2), c),
        ),
        (
            ValueError,
            r"kernel map \[27, m, 5\].*got \[27, \d+, \d+\]",
            lambda c: layer()(torch.ones(5, 3), c),
        ),
        (
            ValueError,
            r"kernel map \[27, m",
            lambda c: layer()(torch.ones(len(c), 3), scorch.conv_map(c, 2).map),
        ),
        (TypeError, "coordinates: expected a dense tensor", lambda c: layer()(torch.ones(len(c), 3), None)),
        (ValueError, "in_channels: expected numbers from 1", lambda c: scorch.nn.SparseConv3d(0, 3, 3)),
        (
            ValueError,
            "kernel_size: expected one number, or 3",
            lambda c: scorch.nn.SparseConv3d(2, 3, (3, 3)),
        ),
        (NotImplementedError, "on the CPU", lambda c: scorch.nn.SparseConv3d(2, 3, 3, device="cuda")),
    ],
)
def test_what_is_refused(error, match, call):
    with pytest.raises(error, match=match):
        call(scene())


# ---- the layer ----
X = torch.ones(60, 3)


def layer(stride=1, size=3, dilation=1, kind=torch.float32, bias=True):
    torch.manual_seed(1)
    return scorch.nn.SparseConv3d(3, 5, size, stride, dilation, bias=bias, dtype=kind)


def features(c, kind=torch.float32):
    return torch.randn(len(c), 3, generator=torch.Generator().manual_seed(2)).to(kind)


@pytest.mark.sampled
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "size, stride, dilation",
    [
        (3, 1, 1), (1, 1, 1), (2, 1, 1), ((1, 3, 5), 1, 1), (3, 1, 2), ((3, 2, 1), 1, (2, 1, 3)),
        (2, 2, 1), (3, 2, 1), (1, 2, 1), (4, 4, 1), (5, 3, 1), ((3, 2, 1), (1, 2, 3), (2, 3, 1)),
    ],
)  # fmt: skip
def test_as_a_dense_convolution(size, stride, dilation, bias):
    c = scene(count=150)
    conv = layer(stride, size, dilation, torch.float64, bias)
    x = features(c, torch.float64).requires_grad_()
    M, out = conv.map(c)
    leaves = [x, *conv.parameters()]
    results = [conv(x, M), dense_twin(conv, x, c, out)]
    g = torch.randn(results[1].shape, dtype=torch.float64)
    for got, wanted in zip(*([y, *torch.autograd.grad(y, leaves, g)] for y in results), strict=True):
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize(
    "kind, near", [(torch.float32, 1e-5), (torch.float64, 1e-12), (torch.bfloat16, 3e-2)]
)
def test_types(kind, near):
    c = scene()
    conv, x = layer(2, 2, kind=kind), features(c, kind).requires_grad_()
    M, out = conv.map(c)
    y = conv(x, M)
    y.sum().backward()
    assert {t.dtype for t in (y, x.grad, conv.weight.grad, conv.bias.grad)} == {kind}
    twin = copy.deepcopy(conv).double()
    torch.testing.assert_close(y.double(), dense_twin(twin, x.double(), c, out), rtol=near, atol=near)


@pytest.mark.parametrize("stride", [1, 2])
def test_gradients_by_differences(stride):
    c = scene(count=12, side=2)
    conv, x = layer(stride, kind=torch.float64), features(c, torch.float64).requires_grad_()
    M = conv.map(c).map

    def f(x, weight, bias):
        return torch.func.functional_call(conv, {"weight": weight, "bias": bias}, (x, M))

    assert torch.autograd.gradcheck(f, (x, conv.weight, conv.bias))


def test_maps_and_coordinates_give_the_same():
    c, conv = scene(), layer()
    x, made = features(c), layer().map(c)
    y = conv(x, c)
    assert torch.equal(y, conv(x, made)) and torch.equal(y, conv(x, made.map))
    torch.testing.assert_close(y, conv(x, made.map.convert("csf")))  # of any format
    torch.testing.assert_close(y, conv(scorch.dynamic(x), c))


def test_the_map_of_coordinates_is_kept(monkeypatch):
    c, conv, made = scene(), layer(), []
    monkeypatch.setattr(conv, "map", lambda c, of=conv.map: made.append(1) or of(c))
    x = features(c)
    first = conv(x, c)
    assert torch.equal(conv(x, c), first) and len(made) == 1
    c[:, 1:] *= 100  # no neighbours are left
    assert not torch.equal(conv(x, c), first) and len(made) == 2
    conv(x, c.clone())
    assert len(made) == 3


def test_one_graph_of_torch_compile():
    torch._dynamo.reset()
    conv = torch.nn.ModuleList([layer(), scorch.nn.SparseConv3d(5, 4, 2, 2)])

    def net(x, M, down):
        return conv[1](conv[0](x, M).relu(), down)

    compiled = torch.compile(net, fullgraph=True, backend="aot_eager")
    for count in (60, 70, 80):
        c = scene(count)
        maps, x = [conv[0].map(c), conv[1].map(c).map], features(c).requires_grad_()
        found = []
        for f in (compiled, net):
            y = f(x, *maps)
            found.append([y, *torch.autograd.grad(y.square().sum(), [x, *conv.parameters()])])
        for got, wanted in zip(*found, strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


def test_coordinates_break_the_graph_of_torch_compile():
    torch._dynamo.reset()
    c, conv = scene(), layer()
    x = features(c)
    compiled = torch.compile(lambda x, c: conv(x.relu(), c).sum(), backend="aot_eager")
    torch.testing.assert_close(compiled(x, c), conv(x.relu(), c).sum())


def test_parameters_begin_as_those_of_conv3d():
    conv, dense = scorch.nn.SparseConv3d(16, 32, (3, 3, 2)), torch.nn.Conv3d(16, 32, (3, 3, 2))
    assert {n: tuple(p.shape) for n, p in conv.state_dict().items()} == {
        "weight": (18, 16, 32),
        "bias": (32,),
    }
    for name in ("weight", "bias"):
        ours, theirs = getattr(conv, name), getattr(dense, name)
        assert ours.abs().max() <= 1 / (16 * 18) ** 0.5
        assert 0.8 < ours.std() / theirs.std() < 1.25
    assert "bias" not in scorch.nn.SparseConv3d(2, 3, 3, bias=False).state_dict()


def test_a_layer_is_copied_and_shown():
    c, conv = scene(), layer(2)
    x = features(c)
    y = conv(x, c)
    assert torch.equal(copy.deepcopy(conv)(x, c), y)
    assert repr(conv) == "SparseConv3d(3, 5, kernel_size=(3, 3, 3), stride=(2, 2, 2))"
    assert repr(layer(size=2, dilation=2, bias=False)).endswith("dilation=(2, 2, 2), bias=False)")


def test_the_map_of_a_real_scan(data_dir):
    """Sites of a laser scan of a street, whose map another library made."""
    files = sorted(data_dir.glob("sparseconv/*.pth"))
    if not files:
        pytest.skip("no map of a real scan")
    saved = torch.load(files[0], weights_only=True, map_location="cpu")
    n, pos, out, source = saved["in_nnz"], *(saved[name].long() for name in ("kpos", "omap", "imap"))
    r = torch.repeat_interleave(torch.arange(len(pos) - 1), pos.diff())
    index = torch.stack([r, out, source])
    ones = torch.ones(len(r))
    coo = torch.sparse_coo_tensor(index, ones, (len(pos) - 1, n, n), check_invariants=False)
    M = scorch.sparse(coo, "csf").bool()
    conv = scorch.nn.SparseConv3d(saved["c_in"], saved["c_out"], 3)
    x = torch.randn(n, saved["c_in"])
    wanted = conv.bias.expand(n, -1).clone()
    for k, weight in enumerate(conv.weight):
        at = slice(pos[k], pos[k + 1])
        wanted = wanted.index_add(0, out[at], x[source[at]] @ weight)
    torch.testing.assert_close(conv(x, M), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("n", [40, 1300])
def test_entries_that_read_elsewhere_than_they_write_are_gathered(n, kind):
    """In tiles over blocks of rows, which divide no number of sites; exact on small integers."""
    g = torch.Generator().manual_seed(n)
    M = scorch.sparse(torch.rand(7, n, n + 5, generator=g) < 0.5 / n, "csf")
    x = torch.randint(-2, 3, (n + 5, 48), generator=g).to(kind)
    weight = torch.randint(-2, 3, (7, 48, 72), generator=g).to(kind)
    text, expected = "rij,jk,rkn->in", torch.zeros(n, 72, dtype=torch.float64)
    for r, i, j in M.indices().T.tolist():
        expected[i] += x[j].double() @ weight[r].double()
    pairs = M.convert("compressed(0), compressed(1, nonunique), singleton(2)").to(kind)
    tiles = [(pairs, "gather(i: 6)")] if kind is not torch.bfloat16 else []
    for operand, schedule in ((M, None), (pairs, "path()"), *tiles):
        y = scorch.einsum(text, operand, x, weight, schedule=schedule)
        assert torch.equal(y.double(), expected.to(kind).double())
    chosen = [(pairs, "path()")] if tiles and 64 in native.widths() else []  # elsewhere both take as long
    for operand, schedule in (*tiles, *chosen):
        explained = str(scorch.explain(text, operand, x, weight, schedule=schedule))
        assert "at a time share what is read of" in explained


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("n", [40, 2500])
def test_outer_products_of_many_entries_are_added_up_by_blocks(n, kind):
    """The gradient to the weights, in blocks that divide no number of sites; exact on small integers."""
    g = torch.Generator().manual_seed(n)
    index = torch.stack([torch.randint(extent, (3 * n,), generator=g) for extent in (3, n, n + 5)])
    coo = torch.sparse_coo_tensor(index, torch.ones(3 * n), (3, n, n + 5)).coalesce()
    M = scorch.sparse(coo, "csf").bool()
    x = torch.randint(-2, 3, (n + 5, 20), generator=g).to(kind)
    y = torch.randint(-2, 3, (n, 72), generator=g).to(kind)
    r, i, j = M.indices().long()
    expected = torch.stack([x[j[r == k]].double().T @ y[i[r == k]].double() for k in range(3)])
    text = "rij,jk,in->rkn"
    pairs = M.convert("compressed(0), compressed(1, nonunique), singleton(2)").to(kind)
    for operand, schedule in ((M, None), (pairs, "path()"), (pairs, "block(i: 60)" if n > 2048 else None)):
        got = scorch.einsum(text, operand, x, y, schedule=schedule)
        assert torch.equal(got.double(), expected.to(kind).double())
    if kind is not torch.bfloat16:
        explained = str(scorch.explain(text, pairs, x, y, schedule="block(i: 60)" if n > 2048 else "path()"))
        assert ("added up in copies" in explained) == (n > 2048)


def test_gradients_of_gathered_entries():
    """Those of the same sum written as products of gathered rows."""
    sites = torch.cat([torch.zeros(700, 1), torch.randint(0, 12, (5000, 3)).unique(dim=0)[:700]], 1).long()
    M, _ = scorch.conv_map(sites, 3)
    r, i, j = M.indices().long()
    leaves = [torch.randn(700, 32, requires_grad=True), torch.randn(27, 32, 64, requires_grad=True)]
    grad, by_hand = torch.randn(700, 64), torch.zeros(700, 64)
    by_hand = by_hand.index_add(0, i, torch.bmm(leaves[0][j].unsqueeze(1), leaves[1][r]).squeeze(1))
    y = scorch.einsum("rij,jk,rkn->in", M, *leaves)
    torch.testing.assert_close(y, by_hand, rtol=1e-4, atol=1e-4)
    for got, want in zip(
        torch.autograd.grad(y, leaves, grad), torch.autograd.grad(by_hand, leaves, grad), strict=True
    ):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-3)

"""scorch.sparsify: what is replaced, what stays, and what replaced layers keep. No test reads a clock."""

import copy
from collections import UserDict

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune

import scorch
import scorch.nn


def pruned(layer: nn.Linear, density: float = 0.1, seed: int = 0) -> nn.Linear:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        layer.weight.mul_(torch.rand(layer.weight.shape, generator=generator) < density)
    return layer


def clock(**seconds: float):
    """A timer that runs each call once and says these times; one second where nothing is said."""

    def timer(calls):
        for call in calls.values():
            call()
        return {name: seconds.get(name, 1.0) for name in calls}

    return timer


SPARSE_WINS, DENSE_WINS = clock(dense=2.0), clock(dense=0.5)


class Net(nn.Module):
    """Two linear layers, a norm with buffers, dropout."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.norm = pruned(nn.Linear(16, 24)), nn.BatchNorm1d(24)
        self.tail = nn.Sequential(nn.ReLU(), nn.Dropout(0.5), nn.Linear(24, 4))

    def forward(self, x):
        return self.tail(self.norm(self.first(x)))


def test_the_faster_one_is_taken():
    x, model = torch.randn(5, 16), Net().eval()
    before = model(x)
    report = scorch.sparsify(model, x, timer=DENSE_WINS)
    assert report.replaced == () and type(model.first) is nn.Linear and report.model is model
    with pytest.raises(TypeError, match=r"call report\.model"):
        report(x)
    assert torch.equal(model(x), before)
    report = scorch.sparsify(model, x, timer=SPARSE_WINS)
    assert report.replaced == ("first",) and type(model.tail[2]) is nn.Linear
    assert isinstance(model.first, scorch.nn.Linear)
    torch.testing.assert_close(model(x), before)


def test_the_gain_that_is_asked_for():
    x = torch.randn(5, 16)
    assert not scorch.sparsify(Net(), x, timer=clock(dense=1.05)).replaced
    assert scorch.sparsify(Net(), x, timer=clock(dense=1.05), gain=1).replaced


def test_the_clock_of_its_own():
    first, dense = scorch.sparsify(Net(), torch.randn(5, 16))
    assert first.dense > 0 and first.sparse > 0 and first.rows == 5
    assert 0 < first.spread[0] <= first.gain <= first.spread[1] and dense.gain is None


def test_without_measuring():
    model = Net()
    report = scorch.sparsify(model, measure=False, threshold=0.2)
    assert report.replaced == ("first",) and report[1].reason == "density above 0.2"
    assert [x.dense for x in report] == [None, None]
    assert "nothing was measured" in repr(report)


def test_the_report():
    report = scorch.sparsify(Net(), torch.randn(5, 16), timer=clock(dense=3e-4, csr=1e-4))
    first = report[0]
    assert (first.name, first.shape, first.rows, first.format) == ("first", (24, 16), 5, "csr")
    head, _, *rows, last = repr(report).splitlines()
    assert head.split() == ["layer", "shape", "density", "rows", "dense", "sparse", "gain", "now", "why"]
    assert rows[0].split()[3:] == ["5", "300", "us", "100", "us", "3.00x", "csr", "faster"]
    assert rows[1].split() == ["tail.2", "4x24", "100%", "dense", "density", "above", "0.7,", "not", "tried"]
    assert last.startswith("1 of 2 layers are sparse")
    assert len(report[:1]) == 1 and list(report) == [report[0], report[1]]


def test_a_model_that_is_a_layer():
    layer, x = pruned(nn.Linear(8, 8)), torch.randn(3, 8)
    report = scorch.sparsify(layer, x, timer=SPARSE_WINS)
    assert isinstance(report.model, scorch.nn.Linear) and "(the model)" in repr(report)
    torch.testing.assert_close(report.model(x), layer(x))


# ---- a machine that has more to do ----
def noisy(*turns: float):
    """A timer by which the dense call takes these times in turn, and the sparse one a second; its turns."""
    made = []

    def timer(calls):
        made.append(turns[len(made) % len(turns)])
        return {name: made[-1] if name == "dense" else 1.0 for name in calls}

    return timer, made


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ((2.0, 2.1, 1.9, 111.0), "faster"),  # a few are far off
        ((0.5, 0.6, 0.5, 111.0), "less than 1.1x as fast"),
        ((111.0, 0.5), "too noisy"),
        ((0.9, 1.0, 1.2, 1.2, 1.3), "not surely 1.1x as fast"),  # the lower quartile is no gain
        ((1.3, 1.2, 1.2, 1.2), "faster"),
        ((2.0, 8.0, 30.0), "too noisy"),
    ],
)
def test_noise(turns, reason):
    model, (timer, made) = nn.Sequential(pruned(nn.Linear(16, 24))), noisy(*turns)
    report = scorch.sparsify(model, torch.randn(5, 16), timer=timer)
    assert report[0].reason.startswith(reason) and bool(report.replaced) == (reason == "faster")
    assert len(made) >= 11 and report[0].spread[0] <= report[0].gain <= report[0].spread[1]


def test_load_that_comes_and_goes_meets_both_of_a_pair():
    """Each turn takes ten times as long as the one before, up to a limit, and the ratio stays."""
    turns = iter(range(200))

    def timer(calls):
        load = 10.0 ** (next(turns) % 5)
        return {name: load * (2.0 if name == "dense" else 1.0) for name in calls}

    report = scorch.sparsify(nn.Sequential(pruned(nn.Linear(16, 24))), torch.randn(5, 16), timer=timer)
    assert report.replaced == ("0",) and report[0].gain == 2 and report[0].spread == (2, 2)


def test_many_short_turns_and_few_long_ones():
    for seconds, turns in ((1.0, 11), (1e-6, 101)):
        timer, made = noisy(seconds)
        scorch.sparsify(
            nn.Sequential(pruned(nn.Linear(16, 24))),
            torch.randn(5, 16),
            timer=lambda calls, t=timer, s=seconds: {name: s * v for name, v in t(calls).items()},
        )
        assert len(made) == turns


def test_a_layer_without_zeros_is_never_tried():
    def refuse(calls):
        raise AssertionError("nothing is to be measured")

    for density in (1.0, 0.8):
        report = scorch.sparsify(
            nn.Sequential(pruned(nn.Linear(64, 64), density)), torch.randn(2, 64), timer=refuse
        )
        assert not report.replaced and report[0].reason == "density above 0.7, not tried"


# ---- what is kept ----
def test_modes_buffers_and_random_numbers_are_put_back():
    model, x = Net(), torch.randn(5, 16)
    model.tail.eval()
    modes = {n: m.training for n, m in model.named_modules()}
    buffers = copy.deepcopy(dict(model.norm.named_buffers()))
    state = torch.get_rng_state()
    scorch.sparsify(model, x, timer=DENSE_WINS)
    assert torch.equal(torch.get_rng_state(), state)
    scorch.sparsify(model, x, timer=SPARSE_WINS)
    assert {n: m.training for n, m in model.named_modules()} == modes
    for name, buffer in model.norm.named_buffers():
        assert torch.equal(buffer, buffers[name])


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16))
@pytest.mark.parametrize("trained", (True, False))
def test_types_and_wishes_for_gradients(dtype, trained):
    layer = pruned(nn.Linear(8, 6, dtype=dtype))
    layer.weight.requires_grad_(trained)
    layer.bias.requires_grad_(not trained)
    model = nn.Sequential(layer)
    scorch.sparsify(model, torch.randn(3, 8, dtype=dtype), timer=SPARSE_WINS)
    new = model[0]
    assert new.values.dtype == dtype and new.bias.dtype == dtype
    assert new.values.requires_grad == trained and new.bias.requires_grad != trained


def test_it_trains_as_before():
    dense = nn.Sequential(pruned(nn.Linear(8, 8)), nn.ReLU(), nn.Linear(8, 2))
    model, x = copy.deepcopy(dense), torch.randn(7, 8)
    scorch.sparsify(model, x, timer=clock(dense=2.0), gain=1.5)
    for m in (dense, model):
        m(x).square().sum().backward()
    torch.testing.assert_close(model[2].bias.grad, dense[2].bias.grad)
    stored = dense[0].weight != 0
    torch.testing.assert_close(model[0].values.grad, dense[0].weight.grad[stored])


def test_hooks_stay():
    model, x, seen = nn.Sequential(pruned(nn.Linear(8, 6))), torch.randn(3, 8, requires_grad=True), []
    model[0].register_forward_pre_hook(lambda m, args: seen.append("before"))
    model[0].register_forward_hook(lambda m, args, kwargs, y: 2 * y, with_kwargs=True)
    model[0].register_full_backward_hook(lambda m, gi, go: seen.append("backward"))
    handle = model[0].register_forward_hook(lambda m, args, y: seen.append("gone"))
    wanted = model(x).detach()
    scorch.sparsify(model, x, timer=SPARSE_WINS)
    assert isinstance(model[0], scorch.nn.Linear)
    handle.remove()
    seen.clear()
    y = model(x)
    torch.testing.assert_close(y, wanted)
    y.sum().backward()
    assert seen == ["before", "backward"]


# ---- patterns ----
def test_the_masks_of_torchs_pruning():
    model, x = nn.Sequential(nn.Linear(16, 12)), torch.randn(3, 16)
    prune.l1_unstructured(model[0], "weight", amount=0.75)
    wanted = model(x)
    with torch.no_grad():
        model[0].weight_orig[model[0].weight_mask.bool().nonzero()[0].unbind()] = 0.0  # kept, and trained
    report = scorch.sparsify(model, x, timer=SPARSE_WINS)
    assert model[0].values.numel() == 48 and report[0].density == 0.25
    assert not model[0]._forward_pre_hooks and wanted.shape == model(x).shape


def test_pruning_to_a_density():
    model, x = Net(), torch.randn(5, 16)
    dense = copy.deepcopy(model)
    report = scorch.sparsify(model, x, density=0.25, timer=SPARSE_WINS)
    assert [x.density <= 0.25 for x in report] == [True, True]
    kept, weight = model.tail[2].values, dense.tail[2].weight
    assert kept.numel() == 24 and kept.abs().min() >= weight.abs().flatten().kthvalue(96 - 24).values
    untouched = copy.deepcopy(dense)
    scorch.sparsify(dense, x, density=0.25, timer=DENSE_WINS)
    assert torch.equal(dense.tail[2].weight, untouched.tail[2].weight)


@pytest.mark.parametrize("density", (0.0, 0.1, 0.29, 0.3, 0.35, 1.0))
@pytest.mark.parametrize("shape", ((64, 64), (10, 10), (7, 13), (30, 11)))
def test_no_more_than_the_share_is_kept(density, shape):
    model = nn.Sequential(nn.Linear(*shape))
    report = scorch.sparsify(model, density=density, threshold=max(density, 0.01), measure=False)
    n = shape[0] * shape[1]
    kept = max(1, max(k for k in range(n + 1) if k / n <= density))
    assert report[0].density == kept / n
    assert report.replaced == (("0",) if kept / n <= max(density, 0.01) else ())


def test_blocks_are_found():
    weight = torch.kron(torch.eye(4), torch.ones(8, 8))
    model = nn.Sequential(nn.Linear(32, 32))
    with torch.no_grad():
        model[0].weight.copy_(weight)
    report = scorch.sparsify(model, torch.randn(2, 32), timer=clock(dense=2.0, csr=1.5, **{"bsr(8,8)": 1.0}))
    assert report[0].format == "bsr(8,8)" and model[0].layout.text == "bsr(8,8)"


def test_formats_to_choose_from():
    model, x = Net(), torch.randn(5, 16)
    report = scorch.sparsify(model, x, format=("csr", "csc"), timer=clock(dense=2.0, csr=1.5))
    assert [x.format for x in report] == ["csc", None]
    with pytest.raises(ValueError):
        scorch.sparsify(Net(), x, format="bsr(5,5)", timer=SPARSE_WINS)


# ---- what is not replaced ----
def test_one_layer_in_two_places():
    layer = pruned(nn.Linear(8, 8))
    model, x = nn.Sequential(layer, nn.ReLU(), layer), torch.randn(3, 8)
    wanted = model(x)
    report = scorch.sparsify(model, x, timer=SPARSE_WINS)
    assert report.replaced == ("0", "2") and model[0] is model[2]
    torch.testing.assert_close(model(x), wanted)


def test_shared_weights_stay_shared():
    model = nn.Sequential(nn.Embedding(20, 8), pruned(nn.Linear(8, 20, bias=False)))
    model[1].weight = model[0].weight
    report = scorch.sparsify(model, torch.arange(4), timer=SPARSE_WINS)
    assert not report.replaced and model[1].weight is model[0].weight
    assert [x.reason for x in report] == [
        "Embedding, not a linear layer",
        "shares a parameter: 0.weight and 1.weight",
    ]


class Scaled(nn.Linear):
    """A subclass."""


def test_layers_of_other_kinds_stay():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.scaled = Scaled(8, 8)
            self.normed = parametrizations.weight_norm(nn.Linear(8, 8))
            self.attention = nn.MultiheadAttention(8, 2)
            self.unused = nn.Linear(8, 8)

        def forward(self, x):
            return self.attention(*[self.normed(self.scaled(x))] * 3)[0]

    model, x = Model(), torch.randn(3, 8)
    wanted = model.eval()(x)
    report = scorch.sparsify(model, x, timer=SPARSE_WINS)
    reasons = {x.name: x.reason for x in report}
    assert not report.replaced and torch.equal(model(x), wanted)
    assert "Scaled" in reasons["scaled"] and "parametrization" in reasons["normed"]
    assert "not torch.nn.Linear itself" in reasons["attention.out_proj"]
    assert reasons["unused"] == "the example does not reach it"


def test_all_that_hold_a_matrix_are_listed():
    model = nn.Sequential(
        nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4), nn.Flatten(), pruned(nn.Linear(16, 8)), nn.Bilinear(8, 8, 2)
    )
    model.lstm, model.embedding = nn.LSTM(3, 4), nn.Embedding(5, 6)
    prune.l1_unstructured(model[0], "weight", amount=0.5)
    report = scorch.sparsify(model, measure=False, threshold=0.5)
    assert [(x.name, x.reason) for x in report] == [
        ("0", "Conv2d, not a linear layer"),
        ("3", "density at most 0.5"),
        ("4", "Bilinear, not a linear layer"),
        ("lstm", "LSTM, not a linear layer"),
        ("embedding", "Embedding, not a linear layer"),
    ]
    assert report[0].shape == (4, 3, 2, 2) and report[0].density == 0.5 and "4x3x2x2" in repr(report)
    assert report.replaced == ("3",) and report[3].density == 1
    again = scorch.sparsify(model, measure=False, threshold=1)
    assert again[1].reason == "sparse already" and again[1].shape == (8, 16) and not again.replaced


def test_a_model_of_several_arguments():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = pruned(nn.Linear(8, 8))

        def forward(self, a, b):
            return self.layer(input=a + b)

    names = {"b": torch.ones(8), "a": torch.ones(2, 8)}
    for example in ((names["a"], names["b"]), names, UserDict(names)):
        report = scorch.sparsify(Sum(), example, timer=SPARSE_WINS)
        assert report.replaced == ("layer",) and report[0].rows == 2
    with pytest.raises(TypeError, match=r"a tuple of arguments or a dict .*, got a list: write \(x,\)"):
        scorch.sparsify(Sum(), [*names.values()], timer=SPARSE_WINS)


def test_a_failing_call_leaves_the_model_alone():
    model = Net()
    with pytest.raises(RuntimeError):
        scorch.sparsify(model, torch.randn(5, 3))
    assert model.training and not model.first._forward_pre_hooks


def test_refusals():
    for match, arguments in (
        ("give an example", {}),
        ("density between", {"measure": False, "density": 1.5}),
        ("threshold between", {"measure": False, "threshold": -1}),
        ("positive gain", {"measure": False, "gain": 0}),
        ("at least one format", {"measure": False, "format": []}),
        ("bogus", {"measure": False, "format": "bogus"}),  # also where no layer is sparse enough
    ):
        with pytest.raises(ValueError, match=match):
            scorch.sparsify(Net(), **arguments)
    with pytest.raises(TypeError, match="a format as a string, or several, got 3"):
        scorch.sparsify(Net(), measure=False, format=3)


def test_models_without_weights_yet_and_what_is_no_model():
    model = nn.Sequential(nn.LazyLinear(3), pruned(nn.Linear(3, 4)))
    report = scorch.sparsify(model, measure=False, threshold=0.5)
    assert report.replaced == ("1",) and "LazyLinear" in report[0].reason
    with pytest.raises(TypeError, match=r"expected a torch.nn.Module, got int"):
        scorch.sparsify(3, measure=False)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(4,4)", "ell(24)"])
def test_a_dense_state_is_loaded_where_it_fits(format):
    def model():
        return nn.Sequential(
            pruned(nn.Linear(16, 24), seed=1), nn.Sequential(pruned(nn.Linear(24, 4), seed=2))
        )

    dense = model()
    sparse = scorch.sparsify(copy.deepcopy(dense), measure=False, threshold=1, format=format).model
    with torch.no_grad():
        for p in dense.parameters():
            p.mul_(3)
    state = dense.state_dict()
    assert "all keys matched" in str(sparse.load_state_dict(state)).lower() and "0.weight" in state
    x = torch.randn(5, 16)
    torch.testing.assert_close(sparse(x), dense(x))
    nn.init.ones_(dense[0].weight)
    before = sparse(x)
    with pytest.raises(ValueError, match="outside of this layer's pattern"):
        sparse.load_state_dict(dense.state_dict())
    assert torch.equal(sparse(x), before)
    with pytest.raises(ValueError, match=r"0.weight: expected shape"):
        sparse.load_state_dict({**state, "0.weight": torch.zeros(3, 3)})

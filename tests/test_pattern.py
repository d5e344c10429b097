"""Other patterns of a sparse linear layer: what stays, what starts anew, and what must not go on."""

import copy
import re

import pytest
import torch
import torch.nn.functional as F
from torch.nn.utils import prune
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import scorch
import scorch.nn

OPTIMIZERS = {
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.02),
    "amsgrad": lambda p: torch.optim.Adam(p, lr=0.02, amsgrad=True, weight_decay=0.1),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.02),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.02, momentum=0.5, centered=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, initial_accumulator_value=0.3),
    "Rprop": lambda p: torch.optim.Rprop(p, lr=0.02),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.02),
    "Adadelta": lambda p: torch.optim.Adadelta(p, lr=1.0),
}
START = {"sum": 0.3, "step_size": 0.02}


def blocks(mask: torch.Tensor, format: str) -> torch.Tensor:
    """What a format stores of a mask."""
    if not format.startswith("bsr"):
        return mask
    tall, wide = mask.shape[0] // 4, mask.shape[1] // 4
    any_of = mask.view(tall, 4, wide, 4).any(3).any(1)
    return any_of.repeat_interleave(4, 0).repeat_interleave(4, 1)


def stored(layer: scorch.nn.Linear) -> torch.Tensor:
    """The mask of a layer's entries."""
    row, column = layer.weight.detach().indices().long()
    mask = torch.zeros(layer.out_features, layer.in_features, dtype=torch.bool)
    mask[row[row >= 0], column[row >= 0]] = True
    return mask


def spread(layer: scorch.nn.Linear, numbers: torch.Tensor) -> torch.Tensor:
    """Numbers of the values, at their places in the dense matrix."""
    row, column = layer.weight.detach().indices().long()
    dense = numbers.new_zeros(layer.out_features, layer.in_features)
    dense[row[row >= 0], column[row >= 0]] = numbers[row >= 0]
    return dense


def random_mask(share: float, seed: int, rows: int = 16, columns: int = 24) -> torch.Tensor:
    return torch.rand(rows, columns, generator=torch.Generator().manual_seed(seed)) < share


def steps(layer, optimizer, count: int, seed: int = 0) -> None:
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        x, y = torch.randn(8, 24, generator=generator), torch.randn(8, 16, generator=generator)
        optimizer.zero_grad()
        F.mse_loss(layer(x), y).backward()
        optimizer.step()


# ---- values ----
@pytest.mark.parametrize("share", (0.05, 0.2, 0.6))
@pytest.mark.parametrize("format", ("csr", "csc", "coo", "dcsr", "bsr(4,4)", "ell(24)"))
def test_values_stay_where_entries_stay(format, share):
    layer = scorch.nn.Linear(24, 16, density=0.2, format=format)
    before, mask, x = layer.weight.detach().to_dense(), random_mask(share, 1), torch.randn(5, 24)
    values, was = layer.values, stored(layer)
    layer(x).sum().backward()
    layer.set_pattern(mask)
    kept = blocks(mask, format)
    assert layer.values is values and layer.values.grad is None
    assert torch.equal(stored(layer), kept)
    after = torch.where(kept & was, before, 0)
    torch.testing.assert_close(layer.weight.detach().to_dense(), after)
    torch.testing.assert_close(layer(x), F.linear(x, after, layer.bias))
    layer(x).sum().backward()
    wanted = torch.where(kept, x.sum(0).expand(16, 24), 0)
    torch.testing.assert_close(spread(layer, layer.values.grad), wanted)


@pytest.mark.parametrize("format", ("csr", "bsr(4,4)", "ell(24)"))
def test_new_entries_start_at_given_values(format):
    layer = scorch.nn.Linear(24, 16, density=0.2, format=format)
    for given in (0.5, torch.tensor(0.25), torch.randn(16, 24), torch.randn(16, 24, dtype=torch.float64)):
        before, was = layer.weight.detach().to_dense(), stored(layer)
        mask = random_mask(0.3, int(layer.values.numel()))
        layer.set_pattern(mask, values=given)
        start = torch.as_tensor(given, dtype=torch.float32).expand(16, 24)
        kept = blocks(mask, format)
        wanted = torch.where(kept, torch.where(was, before, start), 0)
        torch.testing.assert_close(layer.weight.detach().to_dense(), wanted)
        assert layer.values.dtype == torch.float32


def test_masks_of_every_kind():
    mask = random_mask(0.3, 3)
    signed = mask * torch.randn(16, 24)
    doubled = scorch.sparse(torch.ones(16, 24), "csr") * mask  # stores zeros
    for given in (
        mask,
        mask.long(),
        signed,
        signed.bfloat16(),
        scorch.sparse(mask),
        scorch.sparse(signed, "csc"),
    ):
        layer = scorch.nn.Linear(24, 16)
        layer.set_pattern(given)
        assert torch.equal(stored(layer), mask)
    for given in (doubled, signed.to_sparse(), signed.to_sparse_csr(), signed.requires_grad_()):
        layer = scorch.nn.Linear(24, 16)
        layer.set_pattern(given)
        assert torch.equal(stored(layer), mask)


@pytest.mark.parametrize("share", (0, 1))
def test_nothing_and_everything(share):
    layer, x = scorch.nn.Linear(24, 16), torch.randn(5, 24)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    steps(layer, optimizer, 2)
    before = layer.weight.detach().to_dense()
    layer.set_pattern(torch.full((16, 24), bool(share)), optimizer)
    assert layer.values.numel() == share * 16 * 24
    torch.testing.assert_close(layer(x), F.linear(x, before * share, layer.bias))
    steps(layer, optimizer, 2)
    layer.set_pattern(random_mask(0.5, 0), optimizer)  # and back
    steps(layer, optimizer, 2)
    assert torch.equal(stored(layer), random_mask(0.5, 0)) and layer.values.isfinite().all()


def test_what_set_pattern_refuses():
    layer, mask = scorch.nn.Linear(24, 16), random_mask(0.2, 0)
    before, state = layer.values, copy.deepcopy(layer.state_dict())
    other = torch.optim.Adam(scorch.nn.Linear(24, 16).parameters())
    lbfgs = torch.optim.LBFGS(layer.parameters())
    lbfgs.step(lambda: layer(torch.ones(1, 24)).square().sum())  # without gradients: nothing is known yet
    with torch.enable_grad():
        lbfgs.zero_grad()
        layer(torch.ones(1, 24)).square().sum().backward()
        lbfgs.step(lambda: layer(torch.ones(1, 24)).square().sum())
    state = copy.deepcopy(layer.state_dict())
    refused = [
        (ValueError, r"mask: expected shape \[16, 24\], got \[24, 16\]", (mask.T,), {}),
        (ValueError, r"mask: expected shape \[16, 24\], got \[16\]", (mask[:, 0],), {}),
        (ValueError, r"mask: expected shape \[16, 24\], got \[24, 16\]", (scorch.sparse(mask).T,), {}),
        (TypeError, r"mask: expected a tensor \[16, 24\], got list", (mask.tolist(),), {}),
        (TypeError, "mask: expected bools or real numbers, got torch.complex64", (mask.cfloat(),), {}),
        (TypeError, "optimizer: expected a torch.optim.Optimizer, got dict", (mask, {}), {}),
        (ValueError, "optimizer: it does not train the values of this layer", (mask, other), {}),
        (NotImplementedError, "of LBFGS is neither a number nor one for each value", (mask, lbfgs), {}),
        (
            ValueError,
            r"values: expected a number or shape \[16, 24\], got \[5\]",
            (mask,),
            {"values": torch.ones(5)},
        ),
        (
            TypeError,
            r"values: expected a number or a dense tensor \[16, 24\], got str",
            (mask,),
            {"values": "0"},
        ),
        (TypeError, "values: .* got SparseTensor", (mask,), {"values": scorch.sparse(mask.float())}),
    ]
    for kind, message, args, options in refused:
        with pytest.raises(kind, match=message):
            layer.set_pattern(*args, **options)
    assert layer.values is before
    assert all(torch.equal(x, state[name]) for name, x in layer.state_dict().items())


def test_pruned_values():
    """Zeros of torch's pruning are computed anew by each call, for the pattern that they were chosen for."""
    layer, mask = scorch.nn.Linear(24, 16, bias=False, density=0.25), random_mask(0.25, 0)
    prune.l1_unstructured(layer, "values", amount=0.5)
    before, y = stored(layer), layer(torch.eye(24))
    with pytest.raises(RuntimeError, match=r"set_pattern: expected .*call prune.remove\(layer, 'values'\)"):
        layer.set_pattern(mask)
    assert torch.equal(stored(layer), before) and torch.equal(layer(torch.eye(24)), y)
    prune.remove(layer, "values")
    layer.set_pattern(mask, values=7.0)
    wanted = torch.where(mask, torch.where(before, y.detach().T, 7.0), 0)
    torch.testing.assert_close(layer(torch.eye(24)).T, wanted)


@pytest.mark.parametrize("kind", ("dense", "sparse", "coo"))
def test_in_inference_mode(kind):
    layer, x = scorch.nn.Linear(24, 16, density=0.2), torch.randn(5, 24)
    optimizer = torch.optim.Adam(layer.parameters())
    steps(layer, optimizer, 1)
    before, was, mask = layer.weight.detach().to_dense(), stored(layer), random_mask(0.3, 1)
    with torch.inference_mode():
        given, start = mask.clone(), torch.randn(16, 24)
        given = {"dense": given, "sparse": scorch.sparse(given), "coo": given.to_sparse()}[kind]
        layer.set_pattern(given, optimizer, values=start)
        y = layer(x)
    wanted = torch.where(mask, torch.where(was, before, start), 0)
    torch.testing.assert_close(y, F.linear(x, wanted, layer.bias))
    steps(layer, optimizer, 2)
    other = scorch.nn.Linear(24, 16)
    with torch.inference_mode():
        other.load_state_dict(layer.state_dict())
    assert torch.equal(other(x), layer(x))
    steps(other, torch.optim.Adam(other.parameters()), 2)


def test_layers_made_in_inference_mode():
    mask, x = random_mask(0.3, 1), torch.randn(5, 24)
    with torch.inference_mode():
        layer = scorch.nn.Linear(24, 16, bias=False)
        layer.set_pattern(mask, values=2.0)
        assert torch.equal(stored(layer), mask)
        torch.testing.assert_close(layer(x), F.linear(x, layer.weight.to_dense()))


# ---- optimizers ----
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_what_an_optimizer_knows_is_carried_over(name):
    layer, mask = scorch.nn.Linear(24, 16, density=0.2), random_mask(0.3, 1)
    optimizer = OPTIMIZERS[name](layer.parameters())
    steps(layer, optimizer, 3)
    was = stored(layer)
    state = optimizer.state.get(layer.values, {})
    before = {k: x.clone() if isinstance(x, torch.Tensor) else x for k, x in state.items()}
    dense = {k: spread(layer, x) for k, x in before.items() if getattr(x, "shape", ()) == layer.values.shape}
    assert bool(dense) == (name != "SGD")
    layer.set_pattern(mask, optimizer)
    assert optimizer.param_groups[0]["params"][0] is layer.values
    for key, x in optimizer.state.get(layer.values, {}).items():
        if key not in dense:
            assert x == before[key]
            continue
        wanted = torch.where(mask, torch.where(was, dense[key], START.get(key, 0.0)), 0)
        assert torch.equal(spread(layer, x), wanted), key
    steps(layer, optimizer, 2)
    assert layer.values.isfinite().all()


@pytest.mark.parametrize("format", ("csr", "csc", "bsr(4,4)"))
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_is_that_of_a_masked_dense_layer(name, format):
    """Whose weight and state are zeroed, or start anew, by hand; through several patterns."""
    torch.manual_seed(0)
    layer = scorch.nn.Linear(24, 16, density=0.25, format=format)
    ours = OPTIMIZERS[name](layer.parameters())
    mask, weight = stored(layer), torch.nn.Parameter(layer.weight.detach().to_dense())
    bias = torch.nn.Parameter(layer.bias.detach().clone())
    theirs = OPTIMIZERS[name]([weight, bias])
    for turn in range(4):
        for _ in range(3):
            x, y = torch.randn(8, 24), torch.randn(8, 16)
            for optimizer, out in ((ours, layer(x)), (theirs, F.linear(x, weight * mask, bias))):
                optimizer.zero_grad()
                F.mse_loss(out, y).backward()
                optimizer.step()
        torch.testing.assert_close(
            layer.weight.detach().to_dense(), (weight * mask).detach(), rtol=1e-4, atol=1e-5
        )
        torch.testing.assert_close(layer.bias, bias, rtol=1e-4, atol=1e-5)
        grown = blocks(random_mask(0.1 + 0.1 * turn, turn), format)
        layer.set_pattern(grown, ours)
        with torch.no_grad():
            weight.mul_(mask & grown)
            for key, x in theirs.state.get(weight, {}).items():
                if getattr(x, "shape", ()) == weight.shape:
                    x.copy_(torch.where(mask & grown, x, START.get(key, 0.0)))
        mask = grown


@pytest.mark.parametrize("many", (False, True), ids=("one number", "many"))
def test_numbers_of_entries_under_compile(many):
    """Of one number all is traced once; of many the layer once or twice, where lengths of parameters vary."""
    from torch._dynamo import config, testing

    torch._dynamo.reset()
    forward, step = (testing.CompileCounterWithBackend("aot_eager") for _ in range(2))
    layer, traced = scorch.nn.Linear(24, 16, density=0.25), []
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9, foreach=False)
    compiled = torch.compile(layer, backend=forward, fullgraph=True)
    update = optimizer.step if many else torch.compile(optimizer.step, backend=step)
    with config.patch(force_parameter_static_shapes=not many):
        for k in range(config.recompile_limit + 2):
            x = torch.randn(5, 24)
            torch.testing.assert_close(compiled(x), F.linear(x, layer.weight.to_dense(), layer.bias))
            wanted = torch.autograd.grad(layer(x).square().sum(), [*layer.parameters()])
            optimizer.zero_grad()
            compiled(x).square().sum().backward()
            torch.testing.assert_close([p.grad for p in layer.parameters()], [*wanted])
            update()
            traced.append((forward.frame_count, step.frame_count))
            mask = torch.arange(16 * 24) < 96 + many * k
            layer.set_pattern(mask[torch.randperm(16 * 24)].view(16, 24), optimizer)
    assert traced[1:] == traced[1:2] * len(traced[1:]) if not many else traced[-1] <= (2, 0)


def test_other_parameters_of_the_optimizer_are_left_alone():
    net = torch.nn.Sequential(scorch.nn.Linear(24, 16), torch.nn.ReLU(), scorch.nn.Linear(16, 16))
    groups = [{"params": net[0].parameters(), "lr": 0.1}, {"params": net[2].parameters()}]
    optimizer = torch.optim.Adam(groups, lr=0.01)
    steps(net, optimizer, 2)
    before = copy.deepcopy({k: optimizer.state[p] for k, p in net[2].named_parameters()})
    net[0].set_pattern(random_mask(0.2, 5), optimizer)
    for name, p in net[2].named_parameters():
        assert all(torch.equal(x, before[name][key]) for key, x in optimizer.state[p].items())
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.01]
    steps(net, optimizer, 2)


def test_a_frozen_layer():
    layer, x = scorch.nn.Linear(24, 16).requires_grad_(False), torch.randn(5, 24, requires_grad=True)
    old = layer(x)
    layer.set_pattern(random_mask(0.3, 0), values=1.0)
    assert not layer.values.requires_grad
    found = torch.autograd.grad(layer(x).sum(), x)[0]
    torch.testing.assert_close(found, layer.weight.to_dense().sum(0).expand(5, 24))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        old.sum().backward()


# ---- what was recorded before ----
@pytest.mark.parametrize("format", ("csr", "ell(4)", "bsr(4,4)"))
@pytest.mark.parametrize("same", (True, False), ids=("as many", "other"))
def test_graphs_from_before_raise(format, same):
    """Also where the number of values stays, and no size can tell."""
    layer, x = scorch.nn.Linear(24, 16, density=1 / 6, format=format), torch.randn(5, 24)
    weight = layer.weight  # a snapshot: it computes with what it was made of
    wanted, mask = weight.detach().to_dense(), stored(layer).roll(4, 1)
    if not same:
        mask[:, :4] = mask[0, 0] = False
    graphs = [layer(x).sum(), layer.values.sum(), (weight @ x.T).sum(), (layer.values * 2).sum()]
    compiled = torch.compile(layer, backend="aot_eager")
    graphs.append(compiled(x).sum())
    layer.set_pattern(mask)
    assert not same or layer.values.numel() == weight.nnz
    graphs.append((weight @ x.T).sum())
    torch.testing.assert_close(graphs[-1], (wanted @ x.T).sum())
    for graph in graphs:
        with pytest.raises(RuntimeError, match=r"pattern of a sparse layer|modified by an inplace operation"):
            graph.backward(retain_graph=True)  # the snapshot is in two of them
        assert layer.values.grad is None
    layer(x).sum().backward()  # while they live
    torch.testing.assert_close(spread(layer, layer.values.grad), x.sum(0) * stored(layer))


def test_hooks_of_the_parameter_stay():
    layer, seen = scorch.nn.Linear(24, 16), []
    layer.values.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.numel()))
    layer(torch.ones(2, 24)).sum().backward()
    layer.set_pattern(random_mask(0.5, 0))
    layer(torch.ones(2, 24)).sum().backward()
    assert seen[-1] == layer.values.numel() and len(seen) == 2


@pytest.mark.parametrize("same", (True, False), ids=("as many", "other"))
def test_a_compiled_layer_takes_the_new_pattern(same):
    torch._dynamo.reset()  # what other tests compiled counts
    layer, x = scorch.nn.Linear(24, 16, density=0.25), torch.randn(5, 24)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for turn in range(4):
        torch.testing.assert_close(compiled(x), layer(x))
        found = torch.autograd.grad(compiled(x).square().sum(), layer.values)
        torch.testing.assert_close(found, torch.autograd.grad(layer(x).square().sum(), layer.values))
        mask = stored(layer).roll(1, 1) if same else random_mask(0.1 + 0.1 * turn, turn)
        layer.set_pattern(mask, values=torch.randn(16, 24))


def test_derivatives_after_a_change():
    layer, x = (
        scorch.nn.Linear(6, 4, density=0.5, dtype=torch.float64),
        torch.randn(3, 6, dtype=torch.float64),
    )
    layer(x).sum().backward()
    layer.set_pattern(random_mask(0.4, 0, 4, 6), values=torch.randn(4, 6))

    def f(values, bias):
        return torch.func.functional_call(layer, {"values": values, "bias": bias}, (x,)).sin()

    args = [p.detach().clone().requires_grad_() for p in (layer.values, layer.bias)]
    assert torch.autograd.gradcheck(f, args) and torch.autograd.gradgradcheck(f, args)


# ---- averages ----
@pytest.mark.parametrize("average", (None, get_ema_multi_avg_fn(0.9)))
@pytest.mark.parametrize("format", ("csr", "bsr(4,4)"))
def test_averages_of_a_layer_and_its_copy(format, average):
    layer, x = scorch.nn.Linear(24, 16, density=0.2, format=format), torch.randn(5, 24)
    averaged = AveragedModel(layer, multi_avg_fn=average)
    averaged.update_parameters(layer)
    for count, share in enumerate((0.3, 0.3, 0.1), 1):
        before, mask = averaged.module.weight.detach().to_dense(), random_mask(share, count)
        layer.set_pattern(mask, values=torch.randn(16, 24))
        averaged.module.set_pattern(mask)
        averaged.update_parameters(layer)
        part = 1 / (count + 1) if average is None else 0.1
        wanted = (1 - part) * before * blocks(mask, format) + part * layer.weight.detach().to_dense()
        torch.testing.assert_close(averaged.module.weight.detach().to_dense(), wanted)
        torch.testing.assert_close(averaged(x), F.linear(x, wanted, averaged.module.bias))


# ---- files ----
@pytest.mark.parametrize("format", ("csr", "csc", "coo", "bsr(4,4)"))
def test_states_bring_their_pattern(format, tmp_path):
    torch.manual_seed(0)
    layer, x = scorch.nn.Linear(24, 16, density=0.2, format=format), torch.randn(8, 24)
    optimizer = torch.optim.Adam(layer.parameters())
    steps(layer, optimizer, 2)
    layer.set_pattern(random_mask(0.3, 2), optimizer)
    steps(layer, optimizer, 2)
    torch.save({"net": layer.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "state.pt")
    for assign in (False, True):
        saved = torch.load(tmp_path / "state.pt", weights_only=True)
        twin = scorch.nn.Linear(24, 16, density=0.4, format=format)
        other = torch.optim.Adam(twin.parameters())
        steps(twin, other, 1)
        twin.load_state_dict(saved["net"], assign=assign)
        assert torch.equal(twin(x), layer(x)) and torch.equal(stored(twin), stored(layer))
        if not assign:  # which makes other parameters, as torch does
            other.load_state_dict(saved["optimizer"])
            again, again_with = copy.deepcopy((layer, optimizer))
            steps(again, again_with, 2)
            steps(twin, other, 2)
            assert torch.equal(twin(x), again(x))
        saved["net"]["values"].zero_()
        assert assign or twin.values.count_nonzero() > 0
    plain = torch.load(tmp_path / "state.pt", weights_only=True)["net"]
    twin.load_state_dict({name: plain[name] for name in plain})  # a dict that knows no format
    assert torch.equal(twin(x), layer(x))


def test_states_in_a_module_of_layers(tmp_path):
    def make() -> torch.nn.Module:
        return torch.nn.Sequential(scorch.nn.Linear(24, 16), torch.nn.ReLU(), scorch.nn.Linear(16, 4))

    net, twin, x = make(), make(), torch.randn(3, 24)
    net[0].set_pattern(random_mask(0.3, 0), values=torch.randn(16, 24))
    twin.load_state_dict(net.state_dict())
    assert torch.equal(net(x), twin(x))
    torch.save(net, tmp_path / "net.pt")
    assert torch.equal(torch.load(tmp_path / "net.pt", weights_only=False)(x), net(x))
    deep = copy.deepcopy(net)
    deep[0].set_pattern(random_mask(0.1, 1))
    assert torch.equal(net(x), twin(x)) and not torch.equal(deep(x), net(x))


def test_states_that_do_not_fit():
    layer = scorch.nn.Linear(16, 16, density=0.25)
    before = copy.deepcopy(layer.state_dict())
    for format in ("csc", "coo", "csr of rows(> 3) + csr"):
        other = scorch.nn.Linear(16, 16, density=0.25, format=format)
        for to, of in ((layer, other), (other, layer)):
            said = f"expected a weight of the format {to.layout.text}, the state has one of {of.layout.text}:"
            with pytest.raises(ValueError, match=re.escape(said)):
                to.load_state_dict(of.state_dict())
    good = scorch.nn.Linear(16, 16, density=0.5).state_dict()
    for name, bad in (
        ("pos1", good["pos1"].flip(0)),
        ("crd1", good["crd1"] + 9),
        ("values", good["values"][1:]),
    ):
        with pytest.raises(ValueError, match=r"no pattern of a weight \[16, 16\] in csr"):
            layer.load_state_dict({**good, name: bad})
    with pytest.raises(ValueError, match=r"no pattern of a weight \[16, 16\] in csr"):
        layer.load_state_dict(scorch.nn.Linear(16, 17, density=0.5).state_dict())
    assert all(torch.equal(x, before[name]) for name, x in layer.state_dict().items())
    with pytest.raises(RuntimeError, match=r"Missing key.*crd1"):
        layer.load_state_dict({name: x for name, x in good.items() if name != "crd1"})


def test_start_values_are_those_of_the_type():
    layer = scorch.nn.Linear(4, 4, density=1.0, dtype=torch.float64)
    optimizer = torch.optim.Adagrad([layer.values], initial_accumulator_value=0.1)
    layer(torch.ones(1, 4, dtype=torch.float64)).sum().backward()
    optimizer.step()
    layer.set_pattern(torch.zeros(4, 4), optimizer)
    layer.set_pattern(torch.ones(4, 4), optimizer, values=1e300)
    assert layer.values[0].item() == 1e300 and optimizer.state[layer.values]["sum"][0].item() == 0.1
    with pytest.raises(TypeError, match="a number or a dense tensor"):
        layer.set_pattern(torch.ones(4, 4), values=1j)

"""Formats that entries suggest, and the choice between them: a census, then a race."""

import pytest
import torch
import torch.nn as nn

import scorch
from scorch.tools import race, suggest
from scorch.tools.race import Race

BLOCKS, ROWS = (
    "bsr(32,32) of blocks(32,32,0.5) + csr",
    "compressed(0), dense(1) of rows(> 128) + csr",
)


def scattered(share=0.05, rows=256, columns=256):
    return torch.rand(rows, columns, generator=torch.Generator().manual_seed(0)) < share


def blocks(share=0.05, size=32, extent=256):
    n = extent // size
    chosen = torch.arange(n)[:, None] % 4 == torch.arange(n) % 4
    return scattered(share, extent, extent) | chosen.repeat_interleave(size, 0).repeat_interleave(size, 1)


def rows():
    return scattered() | (torch.arange(256)[:, None] % 8 == 5)


def grid(side=16):
    at = torch.arange(side * side)
    step = (at[:, None] - at).abs()
    return (step == 0) | (step == 1) | (step == side)


def power_law():
    degree = 128 // torch.arange(1, 257)
    return torch.rand(256, 256, generator=torch.Generator().manual_seed(0)) * 256 < degree[:, None]


def csr(mask):
    return scorch.sparse(torch.arange(1, mask.numel() + 1).view(mask.shape) % 7 * mask.double(), "csr")


def timed(monkeypatch, seconds):
    """Each candidate takes what it is given, by its name, or 1."""
    monkeypatch.setattr(Race, "timed", lambda self, x, repeat: [1e-5 * seconds.get(x, 1)])


# ---- what entries suggest ----
def test_compositions_that_entries_suggest():
    assert BLOCKS in suggest.compositions(csr(blocks())) and suggest.blocks(csr(blocks())) is None
    assert suggest.compositions(csr(rows())) == [ROWS]
    small = suggest.compositions(csr(blocks(size=8)))
    assert "bsr(8,8) of blocks(8,8,0.5) + csr" in small and BLOCKS not in small
    assert {BLOCKS, ROWS} <= set(suggest.formats(csr(blocks() | rows())))


@pytest.mark.parametrize("mask", [scattered, power_law, lambda: torch.zeros(64, 64, dtype=torch.bool)])
def test_no_composition_without_parts(mask):
    assert suggest.compositions(csr(mask())) == []


def test_formats_of_one_part():
    assert suggest.formats(csr(grid()))[0] == suggest.diagonals(csr(grid())) == "dia(16)"
    assert suggest.blocks(csr(blocks(share=0))) == "bsr(32,32)"
    assert suggest.diagonals(csr(scattered())) is None
    assert (
        suggest.formats(csr(blocks()).convert("coo"))
        == suggest.formats(scorch.sparse(torch.ones(2, 2, 2)))
        == []
    )


def test_blocks_divide_the_extents():
    odd = csr(blocks()[:252, :248])
    assert all(suggestion.startswith("bsr(4,4)") for suggestion in suggest.compositions(odd))
    for format in suggest.formats(odd):
        assert torch.equal(odd.convert(format).to_dense(), odd.to_dense())


# ---- the choice ----
def test_the_fastest_format_is_returned(monkeypatch):
    a, x = csr(blocks()), torch.ones(256, 4, dtype=torch.float64)
    timed(monkeypatch, {BLOCKS: 0.5})
    chosen = a.optimize(calls=[lambda a: a @ x, lambda a: a.T @ x], format="auto")
    assert chosen.format == BLOCKS and a.format == "csr"
    assert torch.equal(chosen @ x, a @ x) and torch.equal(chosen.to_dense(), a.to_dense())


def test_the_tensor_itself_unless_another_is_surely_faster(monkeypatch):
    a, x = csr(blocks()), torch.ones(256, 4, dtype=torch.float64)
    calls = [lambda a: a @ x]
    timed(monkeypatch, {BLOCKS: 1 / (race.GAIN - 0.01)})
    assert a.optimize(calls=calls, format="auto") is a
    assert (
        a.optimize(calls=calls) is a and csr(scattered()).optimize(calls=calls, format="auto").format == "csr"
    )
    timed(monkeypatch, {"csr": 0.5})
    assert a.convert("coo").optimize(calls=calls, format="auto").format == "csr"


def test_several_parts_must_win_against_the_best_of_the_others(monkeypatch):
    a, x = csr(blocks()), torch.ones(256, 4, dtype=torch.float64)
    given = {"calls": [lambda a: a @ x], "format": ["csc", "bsr(8,8)", BLOCKS]}
    timed(monkeypatch, {"bsr(8,8)": 0.5, BLOCKS: 0.49})
    assert a.optimize(**given).format == "bsr(8,8)"
    timed(monkeypatch, {"bsr(8,8)": 0.5, BLOCKS: 0.4})
    assert a.optimize(**given).format == BLOCKS


def test_calls_that_take_no_other_format_keep_theirs(monkeypatch):
    a = csr(blocks())
    timed(monkeypatch, {BLOCKS: 0.5})
    assert a.optimize(calls=[lambda a: a.crd(1)], format=BLOCKS) is a


@pytest.mark.parametrize("calls", (torch.relu, 2.5, -1, True, "ab", [torch.relu, 3], None))
def test_calls_are_a_number_or_a_list_of_functions(calls):
    with pytest.raises((ValueError, TypeError), match=r"calls=1000, or a list .*\[lambda A: A @ x\], got "):
        csr(blocks()).optimize(calls)


def test_what_cannot_be_chosen_is_said():
    a = csr(blocks())
    with pytest.raises(ValueError, match=r"expected calls, such as calls=\[lambda A: A @ x\], got a number"):
        a.optimize(calls=1000, format="auto")
    with pytest.raises(ValueError, match="expected a tensor that requires no gradient"):
        a.requires_grad_().optimize(calls=[torch.relu], format="auto")
    with pytest.raises(ValueError, match="expected a rule such as"):
        a.detach().optimize(calls=[torch.relu], format="bsr(8,8) of squares + csr")


def test_results_are_right_with_the_real_clock():
    a, x = csr(blocks() | rows()), torch.arange(256.0, dtype=torch.float64)
    assert torch.equal(a.optimize(calls=[lambda a: a @ x], format="auto") @ x, a.to_dense() @ x)


# ---- tune and sparsify ----
def test_compositions_are_recommended(monkeypatch):
    a, x = csr(blocks()), torch.ones(256, 16, dtype=torch.float64)
    timed(monkeypatch, {BLOCKS: 0.5})
    report = scorch.tune("ij,jk->ik", a, x, seconds=20)
    found = {x.what: x.verdict for x in report.candidates}
    assert found[f"format {BLOCKS}"] == f'recommended: convert("{BLOCKS}")'


def model(mask):
    layer = nn.Linear(256, 256)
    with torch.no_grad():
        layer.weight.mul_(mask)
    return nn.Sequential(layer)


def clock(**seconds):
    return lambda calls: {name: seconds.get(name, 1.0) for name in calls}


@pytest.mark.parametrize(("seconds", "format"), [(0.5, BLOCKS), (0.8 / 1.02, "csr")])
def test_layers_may_be_composed(seconds, format):
    net, x = model(blocks()).eval(), torch.randn(8, 256)
    wanted = net(x)
    report = scorch.sparsify(net, x, timer=clock(dense=2.0, csr=0.8, **{BLOCKS: seconds}))
    assert report[0].format == format == net[0].layout.text
    torch.testing.assert_close(net(x), wanted)


def test_layers_are_not_composed_unmeasured():
    report = scorch.sparsify(model(blocks()), measure=False, threshold=1)
    assert report[0].format == "csr"

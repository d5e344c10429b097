"""Random expressions through the Python package, against numpy; hypothesis makes failures small.

The same problems as in generate.py, with operands of every format made by scorch.sparse, zeros stored, one to
three threads. Values are small integers, or, in the float tests, also NaN, infinities, -0 and denormals.
"""

import generate
import numpy as np
import pytest
import reference
import sweep
import torch
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import scorch

SMALL = (0.0, 1.0, -1.0, 2.0, -2.0)
SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.0, -1.0, 2.0, 1e-40, -1e-40)
INEXACT = ("exp", "log", "tanh", "sigmoid", "sqrt")
QUIET = {
    "deadline": None, "derandomize": True, "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
}  # fmt: skip


def make(
    r: np.random.Generator, p: generate.Problem, name: str, values: tuple[float, ...]
) -> tuple[torch.Tensor, reference.Stored]:
    """An operand and what it holds."""
    o, dims = p.operands[name], p.dims(name)
    dtype = torch.float32 if p.dtype == "f32" else torch.float64
    if not o.sparse:
        x = torch.from_numpy(r.choice(values, dims)).to(dtype).reshape(dims)
        if o.unit is not None:
            x = x.transpose(o.unit, -1).contiguous().transpose(o.unit, -1)
        return x, reference.Stored(x.double().numpy())
    mark = r.random(dims) < r.choice((0, 0.15, 0.5, 0.9))
    index = torch.int64 if o.itype == "i64" else torch.int32
    a = scorch.sparse(torch.from_numpy(mark).to(dtype), o.format, index_dtype=index)
    stored = a.values()
    stored.copy_(torch.from_numpy(r.choice(values, stored.shape)))
    value, there = np.zeros(dims), np.zeros(dims, bool)
    at = a.indices().numpy()
    real = (at >= 0).all(0)
    np.add.at(value, tuple(at[:, real]), stored.double().numpy()[real])
    there[tuple(at[:, real])] = True
    return a, reference.Stored(value, there)


def compute(p: generate.Problem, operands: dict[str, torch.Tensor], **how: object) -> list[np.ndarray]:
    program = "; ".join(f"{generate.at(a.name, a.left)} {a.op} {generate.text(a.right)}" for a in p.assigns)
    form = next(iter(p.asks.values()), "").split(" ")[0] if len(p.assigns) == 1 else ""
    how |= {"format": form} if form else {}
    how |= {"implicit": "skip"} if "skip" in p.flags else {}
    made = scorch.evaluate(program, **operands, **how)
    made = made if isinstance(made, tuple) else (made,)
    for x in made:
        assert not form or (str(x.format) if scorch.is_sparse(x) else "dense") == str(
            scorch.Format(form).bind(x.dim()).text
        ), "format"
    return [(x.to_dense() if scorch.is_sparse(x) else x).double().numpy() for x in made]


def check(p: generate.Problem, seed: int, values: tuple[float, ...] = SMALL) -> bool:
    """Whether the problem was computed; fails where the result is wrong or the refusal is not one we know."""
    r = np.random.default_rng(seed)
    made = {name: make(r, p, name, values) for name in p.operands}
    note(f"{p}seed {seed}")
    try:
        got = compute(p, {name: x for name, (x, _) in made.items()})
    except (ValueError, NotImplementedError) as error:
        assert sweep.REFUSED.match(str(error)) or sweep.PENDING.match(str(error)), f"{p}{error}"
        return False
    want = reference.Reference(p, {name: s for name, (_, s) in made.items()}).results()
    read = {a[1] for s in p.assigns for a in generate.accesses(s.right)}
    names = [a.name for a in p.assigns if a.name not in read]
    close = any(f in str(p) for f in INEXACT)
    for name, x in zip(names, got, strict=True):
        assert x.shape == want[name].shape
        np.testing.assert_allclose(x, want[name], rtol=1e-5 if close else 0, err_msg=f"{p}seed {seed}")
    return True


def draw(random) -> generate.Problem | None:
    p = generate.Draw(random).problem()
    return p if p.is_valid() and not sweep.KNOWN.search(str(p)) else None


@settings(max_examples=200, **QUIET)
@given(st.randoms(use_true_random=False), st.integers(0, 9))
def test_random_expressions(random, seed):
    if p := draw(random):
        check(p, seed)


@pytest.mark.slow
@settings(max_examples=2000, **QUIET)
@given(st.randoms(use_true_random=False), st.integers(0, 9))
def test_random_expressions_at_length(random, seed):
    if p := draw(random):
        check(p, seed)

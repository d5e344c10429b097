"""Products with tensors whose zeros are found in the call, against dense ones and nested tensors.

"dense" is the best of torch's own product and of oneDNN inside torch. Rows without zeros say what looking for
them costs.
"""

from collections.abc import Iterator
from functools import partial

import torch
import torch.nn.functional as F

import scorch
from benchmarks.bound import has_onednn, onednn
from benchmarks.data import Case

TOKENS, WIDE, NARROW = (1, 8, 64, 512, 2048), (3072, 768), (3072, 48)
ZEROS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99)


def dense(x: torch.Tensor, w: torch.Tensor) -> dict:
    """w [in, out]"""
    calls = {"torch": partial(torch.mm, x, w)}
    if has_onednn(x.dtype):
        calls["oneDNN"] = partial(onednn, x, w.t().contiguous().t())
    return calls


def marked(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return scorch.dynamic(x) @ w


def _trained(f, *leaves: torch.Tensor) -> torch.Tensor:
    return torch.cat([g.flatten() for g in torch.autograd.grad(f(*leaves).sum(), leaves)])


def products(root: str | None) -> Iterator[Case]:
    for width, tokens in ((w, t) for w in (WIDE, NARROW) for t in TOKENS):
        w = torch.randn(width) / width[0] ** 0.5
        for zeros in ZEROS:
            torch.manual_seed(0)
            x = torch.randn(tokens, width[0]) * (torch.rand(tokens, width[0]) >= zeros)
            calls = dense(x, w) | {"Scorch": partial(marked, x, w)}
            peers = tuple(calls)[:-1]
            name = f"{tokens} x {width[0]} -> {width[1]}, {zeros:.0%} zeros"
            yield Case(name, calls, {"Scorch": peers})
            if width is WIDE and tokens == 512 and zeros in (0.0, 0.9):
                a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
                calls = {
                    "torch": partial(_trained, torch.mm, a, b),
                    "Scorch": partial(_trained, marked, a, b),
                }
                yield Case(f"{name}, forward and backward", calls, {"Scorch": ("torch",)})


def ragged(root: str | None) -> Iterator[Case]:
    """Sequences of several lengths in a padded batch [32, 512, 768]."""
    torch.manual_seed(0)
    weight, bias = torch.randn(3072, 768) / 768**0.5, torch.randn(3072)
    for full in (0.1, 0.25, 0.5, 1.0):
        length = (
            (torch.rand(32) * 2 * full * 512).clamp(1, 512).long() if full < 1 else torch.full((32,), 512)
        )
        valid = torch.arange(512) < length[:, None]
        x = torch.randn(32, 512, 768) * valid[..., None]
        nested = torch.nested.nested_tensor(
            [a[:n] for a, n in zip(x, length, strict=True)], layout=torch.jagged
        )
        calls = {
            "padded": partial(F.linear, x, weight, bias),
            "oneDNN": partial(onednn, x, weight.T, bias),
            "nested": partial(F.linear, nested, weight, bias),
            "Scorch": lambda x=x, valid=valid: F.linear(scorch.dynamic(x, by=valid), weight, bias),
        }
        name = f"ragged, {valid.float().mean():.0%} full"
        yield Case(name, calls, {"Scorch": ("padded", "oneDNN", "nested")}, each=True, same=False)


SUITES = {"dynamic": products, "ragged": ragged}

"""Suite of dense products as einsum: by the library that is best at them, at no cost around it."""

from collections.abc import Iterator
from functools import partial

import torch

import scorch
from benchmarks.bound import products
from benchmarks.data import Case

PRODUCTS = (
    (64, 64, 64),
    (512, 512, 512),
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (512, 3072, 768),
    (20_000, 64, 8),
)
BATCHES = (
    ("bik,bkj->bij", (256, 32, 32), (256, 32, 32)),
    ("bik,bkj->bij", (4, 512, 512), (4, 512, 512)),
    ("bik,kj->bij", (8, 512, 512), (512, 512)),
    ("bhqd,bhkd->bhqk", (4, 8, 256, 64), (4, 8, 256, 64)),
    ("bqhd,bkhd->bhqk", (4, 256, 8, 64), (4, 256, 8, 64)),
    ("bhqk,bkhd->bqhd", (4, 8, 256, 256), (4, 256, 8, 64)),
    ("nk,hkd->nhd", (2708, 128), (8, 128, 8)),
    ("rik,rkj->ij", (8, 256, 256), (8, 256, 256)),
    ("ij,jk,kl->il", (512, 512), (512, 512), (512, 512)),
)


def _case(text: str, *shapes: tuple[int, ...], dtype: torch.dtype) -> Case:
    torch.manual_seed(0)
    operands = [torch.randint(-2, 3, s).to(dtype) for s in shapes]
    calls = products(*operands) if text == "ik,kj->ij" else {"torch": partial(torch.einsum, text, *operands)}
    peers = tuple(calls)
    calls["Scorch"] = partial(scorch.einsum, text, *operands)
    sizes = ", ".join("x".join(map(str, s)) for s in shapes)
    return Case(f"{text}, {sizes}, {str(dtype).removeprefix('torch.')}", calls, {"Scorch": peers})


def dense(root: str | None) -> Iterator[Case]:
    for dtype in (torch.float32, torch.bfloat16):
        for m, k, n in PRODUCTS:
            yield _case("ik,kj->ij", (m, k), (k, n), dtype=dtype)
        for text, *shapes in BATCHES:
            yield _case(text, *shapes, dtype=dtype)


SUITES = {"dense": dense}

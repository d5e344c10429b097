"""The k largest of each row of a dense matrix as csr, against torch.topk and building the csr by hand."""

from collections.abc import Iterator

import torch

import scorch
from benchmarks.data import Case

SIZES = (
    ("gate, 512 tokens", 512, 8, 2),
    ("gate, 4096 tokens", 4096, 64, 2),
    ("gate, 4096 tokens", 4096, 64, 8),
    ("neighbours", 1000, 10_000, 10),
    ("a tenth", 1000, 10_000, 1000),
    ("autoencoder", 256, 16_384, 64),
    ("autoencoder", 64, 65_536, 64),
    ("one row", 1, 1_000_000, 100),
)


def by_hand(x: torch.Tensor, k: int) -> scorch.SparseTensor:
    """torch.topk, whose columns are put in order."""
    values, columns = x.topk(k, -1)
    columns, order = columns.sort(-1)
    pos = torch.arange(len(x) + 1, dtype=torch.int32) * k
    crd, val = columns.int().view(-1), values.gather(-1, order).view(-1)
    return scorch.from_components("csr", x.shape, [None, pos], [None, crd], val, validate=False)


def largest(root: str | None) -> Iterator[Case]:
    for name, rows, columns, k in SIZES:
        x = torch.randn(rows, columns, generator=torch.Generator().manual_seed(0))
        yield Case(
            f"{name}, {rows} x {columns}, k {k}",
            {
                "Scorch": lambda x=x, k=k: scorch.topk(x, k),
                "torch.topk": lambda x=x, k=k: x.topk(k, -1),
                "torch.topk to csr": lambda x=x, k=k: by_hand(x, k),
            },
            {"Scorch": ("torch.topk to csr",)},
            same=False,
        )


SUITES = {"largest": largest}

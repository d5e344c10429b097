"""Products with matrices in blocks: every shape of block, both orders of blocks, on every side."""

import pytest
import torch
from torch.nn.functional import linear

import scorch

BLOCKS = [(4, 4), (8, 8), (16, 16), (32, 32), (64, 64), (3, 5), (1, 7), (6, 2), (12, 3), (31, 2), (40, 3)]
ACROSS = "dense(0/8), compressed(1/4), dense(1%4), dense(0%8)"  # a block column by column


def in_blocks(fmt: str, r: int, s: int) -> tuple[torch.Tensor, scorch.SparseTensor]:
    kept = torch.rand(3, 4) < 0.5
    dense = torch.randn(3 * r, 4 * s) * kept.repeat_interleave(r, 0).repeat_interleave(s, 1)
    return dense, scorch.sparse(dense, format=fmt)


def check(dense: torch.Tensor, a: scorch.SparseTensor, width: int) -> None:
    rows, columns = dense.shape
    x, y, v = torch.randn(columns, width), torch.randn(width, rows), torch.randn(width, columns)
    close = {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(a @ x, dense @ x, **close)
    torch.testing.assert_close(y @ a, y @ dense, **close)
    torch.testing.assert_close(linear(v, a), v @ dense.T, **close)
    torch.testing.assert_close(a.T @ y.T, dense.T @ y.T, **close)


@pytest.mark.sampled
@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: f"{b[0]}x{b[1]}")
@pytest.mark.parametrize("order", ["bsr", "bsc"])
def test_every_block(order: str, block: tuple[int, int]) -> None:
    torch.manual_seed(0)
    dense, a = in_blocks(f"{order}({block[0]}, {block[1]})", *block)
    for width in (5, 40):
        check(dense, a, width)


def test_blocks_by_columns() -> None:
    torch.manual_seed(0)
    dense, a = in_blocks(ACROSS, 8, 4)
    for width in (1, 40):
        check(dense, a, width)


def test_values_stay_live() -> None:
    """A product through a derived layout of blocks reads the values where they are."""
    torch.manual_seed(0)
    dense, a = in_blocks("bsc(8, 8)", 8, 8)
    x = torch.randn(32, 20)
    torch.testing.assert_close(a @ x, dense @ x)
    a.values().mul_(2)
    torch.testing.assert_close(a @ x, 2 * dense @ x)

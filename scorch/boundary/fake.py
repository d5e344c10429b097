"""What the operators return, as torch.compile and torch.export see it: shapes and types without data.

A dense result has the extents of the operands it takes its indices from; a result with the structure of an
operand has as many values as that one; any other sparse result has sizes that nobody knows before the call.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from .. import _torch
from ..functions.program import TAB, formats, results, type_name
from ..tensor.format import PADDED, arrays, layout

_WORD = 32  # bits; csrc/base.h


class _Operand(NamedTuple):
    arrays: list[torch.Tensor]
    shape: list[int]


def _operands(program: str, tensors: list[torch.Tensor], sizes: list[int]) -> list[_Operand]:
    ranks = [line.split(":")[1] for line in program.split(TAB)[1:] if not line.startswith("!")]
    found, at, size = [], 0, 0
    for format, rank in zip(formats(program), ranks, strict=True):
        n = len(layout(format, int(rank)).names) if format else 1
        arrays = list(tensors[at : at + n])
        found.append(
            _Operand(arrays, list(sizes[size : size + int(rank)]) if format else list(arrays[0].shape))
        )
        at, size = at + n, size + (int(rank) if format else 0)
    return found


def _index_dtype(operands: list[_Operand]) -> torch.dtype:
    wide = any(x.arrays[0].dtype == torch.int64 for x in operands if len(x.arrays) > 1)
    return torch.int64 if wide else torch.int32


def components(
    format: str,
    shape: list[int],
    index: torch.dtype,
    source: torch.Tensor,
    dtype: torch.dtype,
    stored: int | None = None,
) -> list[torch.Tensor]:
    """pos and crd of each level, then values; every compressed level has a size of its own, and bit masks.

    stored: the number of entries where it is known; formats with padding and blocks hold others.
    """
    levels, made, n = layout(format, len(shape)).levels, [], 1
    exact = stored is not None and not any(kind in PADDED or part for kind, _, _, part, _, _ in levels)
    last = max((k for k, level in enumerate(levels) if level[0] == "compressed"), default=-1)
    flat = all(level[0] == "singleton" for level in levels[last + 1 :])
    for k, (kind, _, dim, part, block, width) in enumerate(levels):
        extent = (shape[dim], -(-shape[dim] // max(block, 1)), block)[part]
        if kind == "compressed":
            made.append(source.new_empty(n + 1, dtype=index))
        if kind == "diagonals":
            made.append(source.new_empty(-(-n // width) + 1, dtype=index))
            n = _torch.unknown_size()  # diagonals
            made.append(source.new_empty(2 * n, dtype=index))
            n = n * width
            continue
        if kind == "sell":  # the last level
            n = _torch.unknown_size()  # columns
            made.append(source.new_empty(-(-n // block) * (block // width + 1 + block), dtype=index))
            made.append(source.new_empty(n * (width + 1), dtype=index))
            n = n * width
            continue
        if kind == "bitmask":  # the last level
            words = n * -(-extent // _WORD)
            made += [source.new_empty(words + 1, dtype=index), source.new_empty(words, dtype=index)]
            n = stored if exact else _torch.unknown_size()
            continue
        n = {"compressed": None, "singleton": n, "ell": n * width}.get(kind, n * extent)
        if n is None:
            n = stored if exact and flat and k == last else _torch.unknown_size()
        if arrays(kind):
            made.append(source.new_empty(n, dtype=index))
    return [*made, source.new_empty(n, dtype=dtype)]


def _check_extents(program: str, operands: list[_Operand]) -> None:
    text = program.partition(TAB)[0]
    if "->" not in text:
        return
    extent: dict[str, int] = {}
    for indices, x in zip(text.partition("->")[0].split(","), operands, strict=True):
        for index, n in zip(indices, x.shape, strict=True):
            torch._check(extent.setdefault(index, n) == n, lambda: "operands disagree about an extent")


def returned(program: str, tensors: list[torch.Tensor], sizes: list[int], *, dense: bool) -> list:
    """Empty tensors like those an operator returns, a list for each result; dense: whatever is inferred."""
    operands = _operands(program, tensors, sizes)
    _check_extents(program, operands)
    ranks = tuple(len(x.shape) for x in operands)
    types = tuple(type_name(x.arrays[-1].dtype) for x in operands)
    found = []
    for r in results(program, ranks, types):
        shape = [operands[k].shape[d] for k, d in r.extents]
        if dense or r.is_dense:
            found.append([tensors[0].new_empty(shape, dtype=r.dtype)])
        elif r.like >= 0:
            found.append([torch.empty_like(operands[r.like].arrays[-1], dtype=r.dtype)])
        else:
            index, source = _index_dtype(operands), operands[0].arrays[-1]
            found.append(components(r.format, shape, index, source, r.dtype))
    return found


_lib = torch.library.Library("scorch", "IMPL")


def _one(program: str, operands: list[torch.Tensor], sizes: list[int]) -> torch.Tensor:
    return returned(program, operands, sizes, dense=True)[0][0]


def _many(program: str, operands: list[torch.Tensor], sizes: list[int]) -> list[torch.Tensor]:
    return [x for arrays in returned(program, operands, sizes, dense=False) for x in arrays]


for _name, _fake in (("evaluate", _one), ("run", _one), ("program", _many), ("run_many", _many)):
    torch.library.register_fake(f"scorch::{_name}", _fake, lib=_lib)

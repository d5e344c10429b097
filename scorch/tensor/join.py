"""Joining: cat, stack and their kin, block_diag and batches of samples.

Coordinates are renumbered; values move along. Tensors joined with a dense one become dense.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate

import torch
import torch.utils.data

from .. import _torch
from .entries import Entries, build, entries, fitting, in_rows, kept_format, placed, unravel
from .format import layout
from .index import axis, select_all
from .making import of_torch, sparse
from .matrices import joined, joins, lists_in_a_row
from .sparsetensor import SparseTensor, rank
from .values import assemble, in_a_row, tracked, unmarked


def common_types(tensors: Sequence[torch.Tensor]) -> tuple[torch.dtype, torch.dtype]:
    """The promoted types of values and of indices."""
    sparse = [t for t in tensors if isinstance(t, SparseTensor)]
    index = torch.int64 if any(t.index_dtype == torch.int64 for t in sparse) else torch.int32
    return reduce(torch.promote_types, [t.dtype for t in tensors]), index


def _are_csr(tensors: Sequence[torch.Tensor]) -> bool:
    return all(isinstance(t, SparseTensor) and t._fmt == "csr" for t in tensors)


def _are_lists(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether all are coo, and joined in one pass."""
    return all(isinstance(t, SparseTensor) and t._fmt == "coo" for t in tensors) and joins(tensors)


def _in_rows(tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Matrices as csr, which is joined by its positions, if all can be; else as they are."""
    if _are_csr(tensors):
        return tensors
    rows = [in_rows(t) if isinstance(t, SparseTensor) else t for t in tensors]
    return rows if _are_csr(rows) else tensors


def cat(tensors: Sequence[torch.Tensor], dim: int = 0) -> torch.Tensor:
    """``torch.cat`` along any dimension, in the format of the first; dense where an operand is dense."""
    tensors = [*map(of_torch, tensors)]
    dtype, index = common_types(tensors)
    if any(rank(t) > 1 for t in tensors):
        tensors = [
            t for t in tensors if rank(t) != 1 or t.shape[0]
        ]  # empty vectors fit anything, as in torch
    first = tensors[0]
    if not all(isinstance(t, SparseTensor) for t in tensors):
        return torch.cat([t.to_dense() if isinstance(t, SparseTensor) else t for t in tensors], dim)
    dim = axis(dim, first._ndim)
    shapes = [tuple(t.shape) for t in tensors]
    before, after = shapes[0][:dim], shapes[0][dim + 1 :]
    for own in shapes:
        if own[:dim] != before or own[dim + 1 :] != after:
            raise ValueError(
                f"cat: expected shapes that agree but in dimension {dim}, got {shapes[0]} and {own}"
            )
    if first._ndim == 2 and all(t._fmt == "csc" for t in tensors):
        return unmarked(cat([t.T for t in tensors], 1 - dim).T)
    shape = (*before, sum([own[dim] for own in shapes]), *after)
    if dim == 0 and first._ndim and _are_lists(tensors):
        return lists_in_a_row(tensors, shape, (dtype, index), False)
    rows = _in_rows(tensors)
    if dim in (0, first._ndim - 1) and first._ndim > 1 and _are_csr(rows):
        made = _cat_csr(rows, shape, dim, dtype, index)
        return made if rows is tensors else made.convert(fitting(kept_format(first, range(2)), shape))
    parts, at = [], 0
    for t, own in zip(tensors, shapes, strict=True):
        e = entries(t)
        parts.append(
            (torch.cat([e.indices[:dim], e.indices[dim : dim + 1] + at, e.indices[dim + 1 :]]), e.values)
        )
        at += own[dim]
    indices = torch.cat([i for i, _ in parts], 1)
    values = in_a_row([v.to(dtype) for _, v in parts])
    return placed(Entries(shape, indices, values), kept_format(first, range(first._ndim)), index)


def _cat_csr(
    tensors: Sequence[SparseTensor], shape: Sequence[int], dim: int, dtype: torch.dtype, index: torch.dtype
) -> SparseTensor:
    """Along the first dimension, or the last, where rows come in turn and those of one place are joined."""
    k, last = len(tensors), dim > 0
    starts = [0, *accumulate(t.shape[-1] for t in tensors)][:k] if last else [0] * k
    if not last or joins(tensors):
        return joined(tensors, starts, shape, (dtype, index), not last)
    rows = math.prod(shape[:-1])
    listed = joined(tensors, starts, (k * rows, shape[-1]), (dtype, index), True)
    turn = torch.arange(k * rows, device="cpu").view(k, rows).T.reshape(-1)
    made = select_all(listed, (turn, slice(0, shape[-1], 1)))
    pos, crd, _ = made._arrays()
    return assemble(layout("csr", len(shape)), shape, (pos[::k].contiguous(), crd, made.values()))


def stack(tensors: Sequence[torch.Tensor], dim: int = 0) -> torch.Tensor:
    """``torch.stack``: a new dimension, stored densely; csr matrices become a batch with unequal nnz."""
    tensors = [*map(of_torch, tensors)]
    if any(tuple(t.shape) != tuple(tensors[0].shape) for t in tensors):
        raise ValueError(f"stack: expected equal shapes, got {[tuple(t.shape) for t in tensors]}")
    dim, like = axis(dim, rank(tensors[0]) + 1), tensors[0]
    shape, types = (len(tensors), *like.shape), common_types(tensors)
    if rank(like) and _are_lists(tensors):
        if rank(like) == 1:  # rows, of which each has its positions
            return joined(tensors, [0] * len(tensors), shape, types, True).movedim(0, dim)
        if dim == 0:
            return lists_in_a_row(tensors, shape, types, True)
    if _are_csr(tensors):
        return _cat_csr(tensors, shape, 0, *types).movedim(0, dim)
    if dim == 0 and _are_csr(rows := _in_rows(tensors)):
        made = _cat_csr(rows, shape, 0, *types)
        return made.convert(fitting(kept_format(like, [None, *range(like._ndim)]), shape))
    return cat([t.unsqueeze(dim) for t in tensors], dim)


def _at_least(tensors: Sequence[torch.Tensor], n: int) -> list[torch.Tensor]:
    """Tensors of at least n dimensions, up to three: numbers, vectors and matrices as torch places them."""
    made = [t.reshape(1) if not rank(t) else t for t in map(of_torch, tensors)]
    made = [t.unsqueeze(0) if rank(t) == 1 < n else t for t in made]
    return [t.unsqueeze(2) if rank(t) == 2 < n else t for t in made]


def hstack(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """``torch.hstack``."""
    tensors = _at_least(tensors, 1)
    return cat(tensors, 0 if rank(tensors[0]) == 1 else 1)


def vstack(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """``torch.vstack``."""
    return cat(_at_least(tensors, 2), 0)


def dstack(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """``torch.dstack``."""
    return cat(_at_least(tensors, 3), 2)


def column_stack(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """``torch.column_stack``: vectors are columns."""
    return cat([t.reshape(-1, 1) if rank(t) < 2 else t for t in tensors], 1)


def block_diag(*tensors: torch.Tensor) -> SparseTensor:
    """``torch.block_diag``: a batch of graphs, in the format of the first sparse matrix; vectors are rows."""
    parts, rows, columns = [], 0, 0
    if any(rank(t) > 2 for t in tensors):
        raise ValueError(
            f"block_diag: expected matrices and vectors, got {[rank(t) for t in tensors]} dimensions"
        )
    like = next((t for t in tensors if isinstance(t, SparseTensor) and t._ndim == 2), None)
    format = "csr" if like is None else kept_format(like, range(2))
    tensors = [t.reshape(1, -1) if rank(t) < 2 else t for t in tensors]
    matrices = _in_rows(tensors)
    if _are_csr(matrices) and (format == "csr" or format == like._fmt):
        starts = [0, *accumulate(t.shape[1] for t in matrices)]
        shape = (sum(t.shape[0] for t in matrices), starts.pop())
        return joined(matrices, starts, shape, common_types(matrices), True).convert(fitting(format, shape))
    for t in tensors:
        e = entries(as_sparse(t))
        parts.append((e.indices + torch.tensor([[rows], [columns]], device="cpu"), e.values))
        rows, columns = rows + t.shape[0], columns + t.shape[1]
    dtype, index = common_types(tensors)
    indices = torch.cat([i for i, _ in parts], 1)
    values = in_a_row([v.to(dtype) for _, v in parts])
    return build(Entries((rows, columns), indices, values), format, index)


def as_sparse(t: torch.Tensor) -> SparseTensor:
    """t; of a dense one what is not zero, or all of it where that takes a gradient or is not known."""
    if isinstance(t, SparseTensor):
        return t
    if not _torch.in_graph() and not tracked(t):
        return sparse(t)
    at = unravel(torch.arange(t.numel(), device="cpu"), t.shape)
    return build(Entries(tuple(t.shape), at, t.reshape(-1)), "csr" if rank(t) > 1 else "coo", torch.int32)


def collate(batch: Sequence[object]) -> object:
    """Joins samples into a batch, for ``DataLoader(collate_fn=scorch.collate)``.

    SparseTensors of one shape are stacked (csr matrices become a batch with unequal nnz), everything else
    goes the way of torch's default_collate, which knows SparseTensors too once scorch is imported.

    >>> samples = [(scorch.sparse(torch.eye(3)), 0), (scorch.sparse(torch.ones(3, 3)), 1)]
    >>> graphs, labels = scorch.collate(samples)
    >>> graphs.shape, graphs.nnz, labels
    (torch.Size([2, 3, 3]), 12, tensor([0, 1]))
    """
    if isinstance(batch, Sequence) and not batch:
        raise ValueError("collate: expected samples, got an empty batch")
    return torch.utils.data.default_collate(batch)


torch.utils.data._utils.collate.default_collate_fn_map[SparseTensor] = lambda batch, *, collate_fn_map=None: (
    stack(batch)
)

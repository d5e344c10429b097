"""Orders along a dimension: extremes with their positions, sorting, the k largest, medians, logsumexp.

A missing entry counts as zero. Positions are found of numbers, from the stored entries along rows
(csrc/kernels/ranked.c, extremes.c), with the values there; where these are differentiated they are looked up
at the positions. Results are dense. Of equal entries the first counts.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

import torch

from .. import _torch
from ..tensor.entries import CARRIER, Entries, add_up, counts, entries, places, ravel, unravel
from ..tensor.format import layout
from ..tensor.index import axis, lookup, positions
from ..tensor.making import expect_cpu
from ..tensor.matrices import selects
from ..tensor.sparsetensor import SparseTensor, sound
from ..tensor.values import assemble, carries, plain_values
from .dynamic import unwrapped
from .reduce import Dims, amax, amin, dims_of, group, widened

_WIDE = {**CARRIER, torch.bool: torch.int32, torch.int16: torch.int32}  # in which kernels find orders


# ---- positions ----
def _rows_of(a: SparseTensor, dim: int) -> Entries:
    """The entries of a with a dimension last, so that they lie along rows."""
    if not a._ndim:
        a = a.reshape(1)
    dim = axis(dim, a._ndim)
    return entries(a.permute(*(d for d in range(a._ndim) if d != dim), dim))


def _nonzeros(e: Entries) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The row, the column and the value of each entry that is not zero, as numbers."""
    values = _torch.numbers_of(e.values, "an order")
    values = values.to(torch.uint8) if values.dtype == torch.bool else values
    at = places(values != 0)
    return ravel(e.indices[:-1, at], e.shape[:-1]), e.indices[-1, at], values[at]


def _zeros(
    row: torch.Tensor, column: torch.Tensor, start: torch.Tensor, n: int, of: torch.Tensor, j: torch.Tensor
) -> torch.Tensor:
    """The column of the j-th zero of rows, ``of``, of n columns, by the entries that are not."""
    place = torch.arange(row.numel(), device="cpu") - start[row]  # in its row
    passed = row * (n + 1) + column - place  # zeros before each
    return j + torch.searchsorted(passed, of * (n + 1) + j, right=True) - start[of]


_BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


def _as_integers(values: torch.Tensor) -> torch.Tensor:
    """Integers that ascend as numbers other than zero come in an order, the same for equal ones.

    torch sorts a million of them in a tenth of the time that it takes for numbers.
    """
    if values.dtype.is_floating_point:
        wide = values if values.dtype in _BITS else values.float()
        bits = wide.view(_BITS[wide.dtype])
        most = torch.iinfo(bits.dtype).max
        values = torch.where(wide.isnan(), most, torch.where(bits < 0, bits ^ most, bits))
    return values


def _in_rows(row: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The order of entries by rows and there by their values, of equal ones as they come."""
    values = _as_integers(values)
    if values.itemsize <= 4 and not _torch.in_graph() and row.numel() and int(row.max()) < 2**31:
        # keys that are not negative, at which torch is quick
        return torch.argsort((row << 32) + (values.long() + 2**31), stable=True)
    order = torch.argsort(values, stable=True)
    return order[torch.argsort(row[order], stable=True)]


def _numbers(a: SparseTensor) -> SparseTensor:
    """Each entry once, of a type that orders are found of, and nothing that derivatives hang on."""
    a = a._unique()
    values = _torch.numbers_of(a.values(), "an order")
    return a._with_values(values.to(_WIDE.get(values.dtype, values.dtype)))


def _in_lists(a: SparseTensor, dims: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What lies along dimensions as the rows of csr: pos, crd and values."""
    rest = [d for d in range(a._ndim) if d not in dims]
    if a._fmt == "csr" and [*dims] == [a._ndim - 1]:
        pos, crd, values = sound(a)._arrays()
        return pos, crd, values
    if selects(a) and len(dims) == 1:
        return _in_lists((a if dims[0] else a.T).convert("csr"), (1,))
    e = entries(a.permute(*rest, *dims))
    kept, reduced = e.shape[: len(rest)], e.shape[len(rest) :]
    count = counts(ravel(e.indices[: len(rest)], kept), math.prod(kept))
    pos = torch.cat([count.new_zeros(1), count.cumsum(0)])
    return pos, ravel(e.indices[len(rest) :], reduced).contiguous(), e.values.contiguous()


def _ranked(input: SparseTensor, dim: int, low: int, high: int, largest: bool) -> tuple:
    """Columns and values [rows * (high - low)] of the entries at these places of the order of each row."""
    a = _numbers(input)
    return torch.ops.scorch.ranked(*_in_lists(a, (dim,)), a.shape[dim], low, high, not largest)


_ROWS = 2**32 - 1  # that csr has at most where extremes of columns are found along its rows


def _extreme(input: SparseTensor, dims: list[int], largest: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Columns and values [rows] of the largest or the smallest entry along dimensions; of the first NaN where
    there is one."""
    a = _numbers(input)
    across = dims == [0] and selects(a) and a._fmt != "csc" and a._shape[0] <= _ROWS
    lists = _in_lists(a.convert("csr"), (1,)) if across else _in_lists(a, dims)
    extent = a.shape[1] if across else math.prod(a.shape[d] for d in dims)
    return torch.ops.scorch.extremes(*lists, extent, across, not largest)


def _back(x: torch.Tensor, shape: Sequence[int], dim: int, k: int) -> torch.Tensor:
    """Rows of k as a tensor that has them along a dimension of this shape."""
    kept = [n for d, n in enumerate(shape) if d != axis(dim, len(shape))] if shape else []
    return x.view(*kept, k).movedim(-1, dim) if shape else x.view(())


def _at(input: SparseTensor, dim: int, columns: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The values at columns along a dimension, looked up differentiably, and the columns."""
    if not input._ndim:
        return lookup(input.reshape(1), [columns.view(1)]).view(()), columns
    at, last = axis(dim, input._ndim), input._ndim - 1
    places_of = lambda d: torch.arange(input.shape[d], device="cpu").view(-1, *[1] * (last - d))  # noqa: E731
    return lookup(input, [columns if d == at else places_of(d) for d in range(input._ndim)]), columns


def _pair(input: SparseTensor, dim: int, columns: torch.Tensor, values: torch.Tensor, k: int) -> tuple:
    """The values that were found, k a row along a dimension, differentiably, and their columns."""
    columns = _back(columns, input.shape, dim, k)
    if plain_values(input) is None:
        return _at(input, dim, columns)
    return _back(values, input.shape, dim, k).to(input.dtype), columns


def _between(input: SparseTensor, dim: int, low: int, high: int, largest: bool) -> tuple:
    a = input if input._ndim else input.reshape(1)
    return _pair(input, dim, *_ranked(a, axis(dim, a._ndim), low, high, largest), high - low)


# ---- of torch ----
def _needs_entries(name: str, input: SparseTensor, dim: int) -> None:
    if input._ndim and not input.shape[axis(dim, input._ndim)]:
        raise ValueError(f"{name}: expected entries along dimension {dim}, which has an extent of 0")


def extreme(largest: bool) -> Callable:
    """``torch.max(A, dim)`` or ``torch.min(A, dim)``."""
    name = "max" if largest else "min"

    def call(input: SparseTensor, dim: int, keepdim: bool = False) -> tuple:
        _needs_entries(name, input, dim)
        a = input if input._ndim else input.reshape(1)
        pair = _pair(input, dim, *_extreme(a, [axis(dim, a._ndim)], largest), 1)
        return getattr(torch.return_types, name)([_closed(x, input, dim, keepdim) for x in pair])

    return call


def _closed(x: torch.Tensor, input: SparseTensor, dim: int, keepdim: bool) -> torch.Tensor:
    return x if keepdim or not input._ndim else x.squeeze(dim)


_ALONG = {"max": extreme(True), "min": extreme(False)}


def max_or_min(name: str) -> Callable:
    """``torch.max`` or ``torch.min``: of all, along a dimension, or of two tensors."""

    def call(input: SparseTensor, *args: object, **kwargs: object) -> torch.Tensor | tuple:
        if (args and isinstance(args[0], torch.Tensor)) or "other" in kwargs:
            return getattr(torch, f"{name}imum")(input, *args, **kwargs)
        if args or kwargs:
            return _ALONG[name](input, *args, **kwargs)
        return (amax if name == "max" else amin)(input)

    return call


def arg(name: str) -> Callable:
    """``torch.argmax`` or ``torch.argmin``."""
    largest = name == "max"

    def call(input: SparseTensor, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
        if dim is not None:
            return _ALONG[name](input.detach(), dim, keepdim)[1]
        if not input.numel():
            raise ValueError(f"{name}: expected entries, got the shape {list(input.shape)}")
        a = input if input._ndim else input.reshape(1)
        found = _first_of_all(a, largest)
        found = _extreme(a, list(range(a._ndim)), largest)[0] if found is None else found
        return found.view((1,) * input._ndim if keepdim else ())

    return call


def sort(
    input: SparseTensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """``torch.sort``, stable: dense, and as large as the dense tensor, which is therefore what is sorted."""
    return torch.sort(input.to_dense(), dim=dim, descending=descending, stable=True)


def argsort(
    input: SparseTensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None
) -> torch.Tensor:
    """``torch.argsort``, stable."""
    return sort(input, dim, descending)[1]


def _in_range(name: str, k: int, low: int, input: torch.Tensor, dim: int) -> None:
    n = input.shape[axis(dim, input.dim())] if input.dim() else 1
    if not low <= k <= n:
        raise ValueError(f"{name}: expected {low} <= k <= {n}, the extent of dimension {dim}, got {k}")


def topk_along(
    input: SparseTensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[torch.Tensor, torch.Tensor]:
    """``torch.topk``, sorted."""
    _in_range("topk", k, 0, input, dim)
    return torch.return_types.topk(_between(input, dim, 0, k, largest))


def kthvalue(
    input: SparseTensor, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """``torch.kthvalue``: the k-th smallest."""
    _in_range("kthvalue", k, 1, input, dim)
    pair = _between(input, dim, k - 1, k, False)
    return torch.return_types.kthvalue([_closed(x, input, dim, keepdim) for x in pair])


def _first_of_all(a: SparseTensor, largest: bool) -> torch.Tensor | None:
    """The place in row-major order of the largest or the smallest entry, where that surely is a value that is
    stored; else None."""
    values = plain_values(a) if a.is_coalesced() else None
    if values is None or not values.shape[0] or values.dtype == torch.bool:
        return None
    at = int(values.argmax() if largest else values.argmin())
    best = values[at]
    if not (best.isnan() or (best > 0 if largest else best < 0) or values.shape[0] == a.numel()):
        return None
    if a._fmt != "csr":
        return ravel(a.indices()[:, at : at + 1].long(), a.shape).view(())
    pos, crd = a._arrays()[:2]
    row = torch.searchsorted(pos, torch.tensor(at, dtype=pos.dtype, device="cpu"), right=True) - 1
    return row * a.shape[-1] + crd[at]


def _middle_of_all(values: torch.Tensor, n: int) -> torch.Tensor:
    """The lower median of n numbers, of which these may not be zero."""
    if values.is_floating_point() and values.isnan().any():
        return values.new_full((), math.nan)
    below, k = values[values < 0], (n - 1) // 2
    if k < below.shape[0]:
        return below.kthvalue(k + 1)[0]
    above = values[values > 0]
    k -= n - above.shape[0]
    return above.kthvalue(k + 1)[0] if k >= 0 else values.new_zeros(())


def _of_all(f: Callable, input: SparseTensor) -> torch.Tensor:
    """f of all entries; of none, what torch has of a dense tensor."""
    if not input.numel():
        return f(input.to_dense())
    return f(input.flatten() if input._ndim else input, 0)[0]


def median(input: SparseTensor, dim: int | None = None, keepdim: bool = False) -> torch.Tensor | tuple:
    """``torch.median``: the lower one; NaN where there is one."""
    if dim is None:
        values = plain_values(input) if input.numel() else None
        return _of_all(torch.median, input) if values is None else _middle_of_all(values, input.numel())
    _needs_entries("median", input, dim)
    n = input.shape[dim] if input._ndim else 1
    pair = _between(input, dim, (n - 1) // 2, (n + 1) // 2, False)
    if input.dtype.is_floating_point:
        top = extreme(True)(input, dim, True)
        pair = (torch.where(top[0].isnan(), t, x) for t, x in zip(top, pair, strict=True))
    return torch.return_types.median([_closed(x, input, dim, keepdim) for x in pair])


def nanmedian(input: SparseTensor, dim: int | None = None, keepdim: bool = False) -> torch.Tensor | tuple:
    """``torch.nanmedian``: the lower one of the entries that are numbers."""
    if dim is None:
        return _of_all(torch.nanmedian, input)
    _needs_entries("nanmedian", input, dim)
    ordered = sort(input, dim)
    n = ordered[0].shape[dim] if input._ndim else 1
    missing = ordered[0].isnan().sum(dim, True) if input._ndim else 0
    place = _torch.as_tensor((n - missing - 1).clamp(min=0) // 2 if input._ndim else 0)
    pair = (x.gather(dim, place) if input._ndim else x for x in ordered)
    return torch.return_types.nanmedian([_closed(x, input, dim, keepdim) for x in pair])


def _commonest(e: Entries) -> torch.Tensor:
    """Columns [rows] of the last entry that is the commonest of its row, the smallest of several."""
    rows, n = math.prod(e.shape[:-1]), e.shape[-1]
    row, column, values = _nonzeros(e)
    order = _in_rows(row, values)
    owner, value = row[order], values[order]
    first = torch.arange(order.numel(), device="cpu") == 0
    begins = first | (owner != owner.roll(1)) | (value != value.roll(1))
    run = begins.cumsum(0) - 1
    first = places(begins)
    owner, value, size = owner[first], value[first], counts(run, first.numel())
    count = counts(row, rows)
    best = size.new_zeros(rows).scatter_reduce(0, owner, size, "amax")
    best = torch.maximum(best, n - count)
    mine = places(size == best[owner])
    chosen = torch.full((rows,), first.numel(), device="cpu").scatter_reduce(0, owner[mine], mine, "amin")
    chosen_value = torch.cat([value, value.new_full((1,), 1)])[chosen]
    zero = (n - count == best) & ~(chosen_value < 0)  # NaN comes last
    last = torch.cat([first[1:], first.new_full((1,), order.numel())])[: first.numel()] - 1
    found = torch.cat([column[order][last], column.new_zeros(1)])[chosen]
    of = places(zero)
    start = count.cumsum(0) - count
    return found.index_put((of,), _zeros(row, column, start, n, of, n - count[of] - 1))


def mode(input: SparseTensor, dim: int = -1, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """``torch.mode``: the commonest entry, the smallest of several, and where it is last."""
    _needs_entries("mode", input, dim)
    pair = _at(input, dim, _back(_commonest(_rows_of(input, dim)), input.shape, dim, 1))
    return torch.return_types.mode([_closed(x, input, dim, keepdim) for x in pair])


# ---- entries at positions ----
def gather(input: SparseTensor, dim: int, index: torch.Tensor, *, sparse_grad: bool = False) -> torch.Tensor:
    """``torch.gather``: dense, of the shape of the index."""
    if not index.numel():  # of any number of dimensions, as in torch
        return take(input, index)
    if not input._ndim or index.dim() != input._ndim:
        raise ValueError(f"gather: expected an index of {input._ndim} dimensions, got {list(index.shape)}")
    dim = axis(dim, input._ndim)
    if any(n > m for d, (n, m) in enumerate(zip(index.shape, input.shape, strict=True)) if d != dim):
        raise ValueError(f"gather: an index {list(index.shape)} is larger than {list(input.shape)}")
    inner = torch.meshgrid([torch.arange(n, device="cpu") for n in index.shape], indexing="ij")
    index = positions("gather", index, input.shape[dim])
    return lookup(input, [index if d == dim else x for d, x in enumerate(inner)])


def take(input: SparseTensor, index: torch.Tensor) -> torch.Tensor:
    """``torch.take``: dense, of the shape of the index."""
    input = input if input._ndim else input.reshape(1)
    index = positions("take", index, input.numel(), True)
    return lookup(input, [w.view(index.shape) for w in unravel(index.reshape(-1), input.shape)])


def take_along_dim(input: SparseTensor, indices: torch.Tensor, dim: int | None = None) -> torch.Tensor:
    """``torch.take_along_dim``: dense."""
    if dim is None:  # where numbers below zero are refused
        return take(input, positions("take_along_dim", indices.reshape(-1), input.numel()))
    dim = axis(dim, input._ndim)
    shape = list(torch.broadcast_shapes(
        [1 if d == dim else n for d, n in enumerate(input.shape)],
        [1 if d == dim else n for d, n in enumerate(indices.shape)],
    ))  # fmt: skip
    shape[dim] = indices.shape[dim]
    indices = positions("take_along_dim", indices, input.shape[dim], True)
    whole = [input.shape[d] if d == dim else n for d, n in enumerate(shape)]
    given = input if list(input.shape) == whole else input.expand(whole)
    return gather(given, dim, indices.expand(shape))


def logsumexp(input: SparseTensor, dim: Dims, keepdim: bool = False) -> torch.Tensor:
    """``torch.logsumexp``, of which each missing entry is exp(0); dense."""
    a = input if input.dtype.is_floating_point else input.to(torch.get_default_dtype())
    dims = dims_of(dim, a._ndim)
    g = group(widened(a), dims)
    missing = g.size - counts(g.slot, g.n)
    peak = g.values.new_full((g.n,), -math.inf).scatter_reduce(0, g.slot, g.values.detach(), "amax")
    peak = torch.where(missing > 0, peak.clamp(min=0), peak)
    peak = torch.where(peak.isinf(), 0, peak)
    total = add_up((g.values - peak[g.slot]).exp(), g.slot, g.n) + missing * (-peak).exp()
    found = total.log() + peak
    if g.key is not None:
        none = math.log(g.size) if g.size else -math.inf
        found = found.new_full((math.prod(g.kept),), none).index_copy(0, g.key, found)
    y = found.view(g.kept).to(a.dtype)
    for d in sorted(dims) if keepdim else ():
        y = y.unsqueeze(d)
    return y


# ---- of a dense tensor, sparse ----
def _whole(name: str, number: object) -> int:
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"topk: expected an integer for {name}, got {number!r}") from None


@_torch.symbolic
def topk(x: torch.Tensor, k: int, dim: int = -1, *, largest: bool = True) -> SparseTensor:
    """The k largest entries along a dimension of a dense tensor, as a sparse tensor: one pass over x.

    The gate of a mixture of experts, the nearest neighbours of points, the activations of a TopK autoencoder.
    Exactly k entries a row are stored, also where they are zero. NaN is larger than any number, and of
    equal entries the first are taken. The gradient reaches x at these places.

    Args:
        x: [..., n] of a floating point type. k: 0 to the extent of the dimension.
        dim: the last one gives csr (a batch of it for more than two dimensions, coo for a vector); another
            one its transpose, for a matrix csc.
        largest: False takes the smallest.

    Raises: ValueError: k is out of range. TypeError: x is no dense tensor of a floating point type, or k or
        dim is no integer. NotImplementedError: x is not on the CPU.

    >>> scorch.topk(torch.tensor([[1.0, 3.0, 2.0], [6.0, 5.0, 4.0]]), 2)
    SparseTensor(csr, 2x3, nnz=4, density=66.7%, float32, int32)
    """
    x = unwrapped(x)
    dense = isinstance(x, torch.Tensor) and not isinstance(x, SparseTensor)
    if not dense or not x.is_floating_point():
        got = x.dtype if dense else type(x).__name__
        raise TypeError(f"topk: expected a dense tensor of a floating point type, got {got}")
    expect_cpu("topk", x)
    if not x.dim():
        raise ValueError("topk: expected at least one dimension, got a tensor of none: use x.reshape(1)")
    k, dim = _whole("k", k), axis(_whole("dim", dim), x.dim())
    _in_range("topk", k, 0, x, dim)
    if torch.compiler.is_dynamo_compiling():
        _torch.admit_nodes()
    return _topk_in_graph(x, k, dim, largest)


@_torch.node
def _topk_in_graph(x: torch.Tensor, k: int, dim: int, largest: bool) -> SparseTensor:
    """:func:`topk` as the one node that a graph of torch.compile has of it."""
    if dim != x.dim() - 1:
        return _topk_in_graph(x.transpose(dim, -1), k, x.dim() - 1, largest).transpose(dim, -1)
    shape = tuple(x.shape)
    rows = x.reshape(math.prod(shape[:-1]), shape[-1])
    crd, values = _largest(rows, k, largest)
    form = layout("csr" if len(shape) > 1 else "coo", len(shape))
    pos = torch.arange(rows.shape[0] + 1, dtype=crd.dtype, device="cpu") * k
    return assemble(form, shape, [pos, crd, values])


def _largest(x: torch.Tensor, k: int, largest: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Columns and values [rows * k] of the largest entries of rows."""
    wide = not (_torch.holds(x.shape[0] * k < 2**31 - 1) and _torch.holds(x.shape[1] < 2**31 - 1))
    if not _torch.is_compiling() and not carries(x):
        crd, values = torch.ops.scorch.topk(x.detach(), k, not largest, wide)
        return crd, values.to(x.dtype)
    numbers = x.detach() if _torch.is_compiling() else _torch.numbers_of(x, "topk")
    crd, _ = torch.ops.scorch.topk(numbers, k, not largest, wide)
    return crd, x.gather(1, crd.view(x.shape[0], k).long()).reshape(-1)

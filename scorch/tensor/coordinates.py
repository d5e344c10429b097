"""Making SparseTensors of lists of coordinates: those of torch.sparse_coo_tensor, and edges of graphs."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence

import numpy
import torch

from .. import _C, _torch
from .entries import Entries, add_up, build, distinct, located, ravel, summed_type, unravel
from .format import Format, bound
from .making import (
    MADE,
    apart,
    core_of_lists,
    expect_cpu,
    extents_of,
    finish,
    fitting_dtype,
    from_coo,
    list_of,
    of_lists,
    of_numpy,
)
from .sparsetensor import SparseTensor
from .values import carries
from .wrapping import from_result

_PIECE = 1 << 20  # edges that are looked at together


# ---- what indices are ----
def check_integers(name: str, x: torch.Tensor) -> None:
    """Raises TypeError where x has elements and they are no integers."""
    if (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool) and x.numel():
        raise TypeError(f"{name}: expected integers, got {x.dtype}: call .long()")


def check_edges(index: torch.Tensor) -> None:
    """Raises ValueError or TypeError where an edge_index is not [2, E] integers."""
    if index.dim() != 2 or index.shape[0] != 2:
        raise ValueError(f"edge_index: expected shape [2, E], got {list(index.shape)}")
    check_integers("edge_index", index)


# ---- in general ----
def _of_coordinates(
    shape: tuple[int, ...],
    indices: Sequence[torch.Tensor],
    values: torch.Tensor,
    format: str | Format,
    index_dtype: torch.dtype | None,
) -> SparseTensor:
    """The tensor of coordinates in range, [n] a dimension; values of one are summed, differentiably."""
    index_dtype = index_dtype or fitting_dtype(shape, values.shape[0])
    if not carries(values):
        return _made_of(shape, indices, values, format, index_dtype)
    by_rows = len(shape) == 2 and shape[0] <= 64 * (values.shape[0] + 1024)
    own = "csr" if by_rows else "coo"
    found = _placed(shape, indices, values, own, index_dtype) if _is_recorded(values) else None
    if found is not None:
        made, slot = found
        given = values.clone() if slot is None else _Summed.apply(values, (made._val, slot))
        return finish(made._with_values(given), format, index_dtype)
    with _torch.plainly():
        key, slot = distinct(ravel(torch.stack([x.long() for x in indices]), shape))
        once = Entries(shape, unravel(key, shape), torch.empty(key.numel(), dtype=values.dtype, device="cpu"))
        made = build(once, own, index_dtype)
    summed = made._with_values(add_up(values, slot, key.numel()))
    return finish(summed, format, index_dtype)


# ---- values that require a gradient, in eager calls ----
class _Summed(_torch.AutogradNode):
    """The values of a tensor, of values that were given for its entries: each of those has a place there."""

    @staticmethod
    def forward(ctx, given, made):
        ctx.set_materialize_grads(False)
        values, slot = made
        ctx.save_for_backward(slot)
        return values

    @staticmethod
    def backward(ctx, grad):
        return None if grad is None else grad.index_select(0, *ctx.saved_tensors), None


def _is_recorded(values: torch.Tensor) -> bool:
    """Whether a call on these values is recorded and nothing more."""
    return values.__class__ in _torch.PLAIN and _C.plain()


def _placed(
    shape: tuple[int, ...],
    indices: Sequence[torch.Tensor],
    values: torch.Tensor,
    format: str,
    index_dtype: torch.dtype,
) -> tuple[SparseTensor, torch.Tensor | None] | None:
    """The tensor, and the place of each given value among its own; None: each stays where it was.

    None in all where values were summed in a format whose entries are not searched.
    """
    with _torch.plainly():
        lists, dtype = _lists(shape, indices), values.dtype
        core = core_of_lists(shape, lists, values.detach().resolve_neg())
        arrays, perm = _C.convert(core, format, index_dtype == torch.int64, True)
        made = apart(from_result(*arrays), lists)
        made = made if made.dtype == dtype else made.to(dtype)
        if perm is None:
            return (made, located(made, [x.long() for x in lists])) if format == "csr" else None
        order = torch.arange(perm.shape[0], device="cpu")
        return made, None if torch.equal(perm, order) else torch.empty_like(perm).index_copy_(0, perm, order)


def _lists(shape: tuple[int, ...], indices: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Coordinates of one type, that the core reads."""
    lists = [list_of(x, n) for x, n in zip(indices, shape, strict=True)]
    return [x.long() for x in lists] if len({x.dtype for x in lists}) > 1 else lists


def _made_of(
    shape: tuple[int, ...],
    indices: Sequence[torch.Tensor],
    values: torch.Tensor,
    format: str | Format,
    index_dtype: torch.dtype,
) -> SparseTensor:
    if not _C.plain():
        coo = torch.sparse_coo_tensor(
            torch.stack([*indices]).long(), values, shape, check_invariants=False, device="cpu"
        )
        return finish(from_coo(coo, format, index_dtype), format, index_dtype)
    lists = _lists(shape, indices)
    made = apart(of_lists(shape, lists, values.resolve_neg(), bound(format, len(shape)), index_dtype), lists)
    return finish(made, format, index_dtype)


def _tensor(x: object) -> torch.Tensor:
    """As a tensor, over the same memory where it can be; what must not be written there must not be here."""
    if isinstance(x, numpy.ndarray) and x.ndim:
        return of_numpy(x, False)
    x = _torch.as_plain(_torch.as_tensor(x))
    if x.is_nested:
        raise TypeError("got a nested tensor: call .to_padded_tensor(0) first")
    return x


def _listed(indices: object, values: object) -> tuple[Sequence[torch.Tensor], torch.Tensor]:
    """Coordinates, [n] a dimension or [ndim, n], and values [n] as tensors; of none all are one."""
    if isinstance(indices, tuple | list) and len(indices) and all(map(_torch.is_array, indices)):
        indices = [_tensor(x) for x in indices]
    else:
        indices = _tensor(indices)
    found = [list(x.shape) for x in indices] if isinstance(indices, list) else list(indices.shape)
    lists = [*indices] if found and found[0] != 0 else []
    if not lists or any(x.dim() != 1 or x.shape != lists[0].shape for x in lists):
        raise ValueError(f"indices: expected shape [ndim, n], or [n] a dimension, got {found}")
    shape = [len(lists), len(lists[0])]
    values = torch.ones(shape[1], device="cpu") if values is None else _tensor(values)
    for name, x in (*(("indices", x) for x in lists), ("values", values)):
        expect_cpu(name, x)
    for x in lists:
        check_integers("indices", x)
    if values.dim() != 1 or values.shape[0] != shape[1]:
        raise ValueError(
            f"values: expected shape [{shape[1]}], one for each column of indices, got "
            f"{list(values.shape)}: with dense dimensions scorch.sparse(torch.sparse_coo_tensor(...))"
        )
    return lists, values


def _comparable(indices: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """As numbers, in types that torch can compare."""
    unsigned = (torch.uint16, torch.uint32, torch.uint64)
    plain = (_torch.numbers_of(x, MADE) for x in indices)
    return [x.long() if x.dtype in unsigned else x for x in plain]


def _bounds(indices: Sequence[torch.Tensor], shape: Sequence[int] | None) -> tuple[int, ...]:
    """The shape, that all coordinates lie in; of none the smallest that they do."""
    ends = [x.aminmax() for x in indices] if indices[0].numel() else []
    low, high = [int(least) for least, _ in ends], [int(most) for _, most in ends]
    if shape is None:
        shape = [max(most + 1, 0) for most in high] if ends else [0] * len(indices)
    shape = extents_of(shape)
    if len(shape) != len(indices):
        raise ValueError(f"shape: expected {len(indices)} extents, one a row of indices, got {shape}")
    for dim, (least, most, n) in enumerate(zip(low, high, shape, strict=False)):
        if least < 0 or most >= n:
            wrong = least if least < 0 else most
            at = int((indices[dim] == wrong).nonzero()[0])
            raise ValueError(f"indices[{dim}, {at}]: expected 0 <= index < {n}, got {wrong}")
    return shape


# ---- in pieces ----
def _chunk(
    chunk: object, shape: Sequence[int] | None
) -> tuple[list[torch.Tensor], torch.Tensor, tuple[int, ...]]:
    """Copies of the coordinates of a chunk, in int32 where they fit, and of its values; its extents."""
    if not isinstance(chunk, (tuple, list)) or len(chunk) not in (2, 3):
        raise TypeError(f"expected (rows, columns) or (rows, columns, values), got {type(chunk).__name__}")
    indices, values = _listed(tuple(map(_tensor, chunk[:2])), chunk[2] if len(chunk) == 3 else None)
    if carries(values):
        raise NotImplementedError("values that require a gradient: pass all entries at once")
    with _torch.plainly():
        indices = _comparable(indices)
        extents = _bounds(indices, shape)
        copies = [x.to(fitting_dtype((n,), 0), copy=True) for x, n in zip(indices, extents, strict=True)]
        return copies, values.detach().clone(), extents


def _joined(chunks: Iterator, shape: Sequence[int] | None) -> tuple[list, torch.Tensor, tuple[int, ...]]:
    """Coordinates, values and shape of an iterator's chunks, which take their memory once."""
    kept, extents = [], (0, 0)
    for number, chunk in enumerate(chunks):
        try:
            indices, values, reached = _chunk(chunk, shape)
        except (TypeError, ValueError, NotImplementedError) as error:
            raise type(error)(f"chunk {number}: {error}") from None
        if kept and values.dtype != kept[0][-1].dtype:
            raise TypeError(f"chunk {number}: expected values of {kept[0][-1].dtype}, got {values.dtype}")
        kept.append((*indices, values))
        extents = tuple(map(max, extents, reached))
    shape, n = extents if shape is None else extents_of(shape), sum(part[-1].numel() for part in kept)
    wide = fitting_dtype(shape, 0)
    kind = kept[0][-1].dtype if kept else torch.get_default_dtype()
    whole = [torch.empty(n, dtype=dtype, device="cpu") for dtype in (wide, wide, kind)]
    while kept:  # the last first, so that the memory of each goes back before the next is copied
        part = kept.pop()
        n -= part[-1].numel()
        for to, x in zip(whole, part, strict=True):
            to[n : n + x.numel()] = x
    return whole[:2], whole[2], shape


@_torch.before_graphs
def coo(
    indices: object,
    values: object = None,
    shape: Sequence[int] | None = None,
    format: str | Format = "auto",
    *,
    index_dtype: torch.dtype | None = None,
) -> SparseTensor:
    """The tensor of a list of coordinates, as ``torch.sparse_coo_tensor`` takes them.

    Args:
        indices: [ndim, n] of an integer type, in any order, or a tuple of [n], one a dimension; values of one
            coordinate are summed. Or an iterator of chunks of a matrix, each (rows, columns) or (rows,
            columns, values), [n] of any length, which are copied one after the other.
        values: [n], of any real type; the result is differentiable in them. Ones of the default type if
            None; chunks bring their own.
        shape: the extents; one more than the largest coordinates if None.
        format: "auto" is csr for matrices, csf for more dimensions. csr has a number for each row: where rows
            outnumber entries many times, "coo" or "csf" takes less memory.
        index_dtype: torch.int32 or torch.int64; by default int32 where it fits.

    Raises:
        ValueError: shapes do not fit, or a coordinate is out of range. TypeError: indices are no integers, or
        a chunk is none. NotImplementedError: not on the CPU, or chunks with values that require a gradient.

    >>> scorch.coo([[1, 0, 1], [2, 1, 2]], [1.0, 2.0, 3.0], (2, 4))
    SparseTensor(csr, 2x4, nnz=2, density=25%, float32, int32)
    >>> scorch.coo(iter([([1, 0], [2, 1]), ([1], [2])]), shape=(2, 4)).values()
    tensor([1., 2.])
    """
    if index_dtype not in (None, torch.int32, torch.int64):
        raise TypeError(f"index_dtype: expected torch.int32 or torch.int64, got {index_dtype}")
    if isinstance(indices, Iterator):
        if values is not None:
            raise TypeError("values: expected None, as chunks are (rows, columns, values)")
        indices, values, extents = _joined(indices, shape)
    else:
        indices, values = _listed(indices, values)
        with _torch.plainly():
            indices = _comparable(indices)
            extents = _bounds(indices, shape)
    if carries(values):
        return _of_coordinates(extents, indices, values, format, index_dtype)
    with _torch.plainly():
        return _of_coordinates(extents, indices, values.detach(), format, index_dtype)


# ---- of graphs ----
def _edges(index: object, weight: object) -> tuple[torch.Tensor, torch.Tensor | None]:
    """edge_index and edge_weight as tensors."""
    index = _tensor(index)
    weight = None if weight is None else _tensor(weight)
    for name, x in (("edge_index", index), ("edge_weight", weight)):
        if x is not None:
            expect_cpu(name, x)
    check_edges(index)
    return index, weight


def _nodes(edge_index: torch.Tensor, given: int | None) -> int:
    """The number of nodes, that all edges agree with."""
    low, high = map(int, edge_index.aminmax()) if edge_index.numel() else (0, -1)
    try:
        n = high + 1 if given is None else operator.index(given)
    except TypeError:
        raise TypeError(f"num_nodes: expected an integer, got {given!r}") from None
    if n < 0 or n * n >= 2**63:
        raise ValueError(f"num_nodes: expected 0 <= N < 2^31.5, got {n}")
    if low < 0 or high >= n:
        raise ValueError(f"edge_index: expected indices in 0..{n - 1}, got {low if low < 0 else high}")
    return n


def _loops(source: torch.Tensor, target: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The nodes without a loop, and which edges are loops at nodes that have a later one."""
    (at,) = (source == target).nonzero(as_tuple=True)
    nodes = source[at].long()
    last = torch.full((n,), -1, device="cpu").scatter_reduce(0, nodes, at, "amax")
    return (last < 0).nonzero().view(-1), at[last[nodes] != at]


def _appended(index: torch.Tensor, more: torch.Tensor, n: int) -> torch.Tensor:
    """A list of nodes and some more, in the narrowest index type."""
    joined = torch.empty(index.numel() + more.numel(), dtype=fitting_dtype((n,), 0), device="cpu")
    joined[: index.numel()] = index
    joined[index.numel() :] = more
    return joined


def _degrees(target: torch.Tensor, weight: torch.Tensor, n: int, pieces: list[slice]) -> torch.Tensor:
    """Sums of weights, half types in float32."""
    dtype = summed_type(weight.dtype)
    degree = weight.new_zeros(n, dtype=dtype)
    for piece in pieces:
        degree = degree.index_add(0, target[piece].long(), weight[piece].to(dtype))
    return degree


def _normalised(
    source: torch.Tensor, target: torch.Tensor, weight: torch.Tensor, n: int, how: str
) -> torch.Tensor:
    """The weights divided by sums of rows, many edges piece by piece: only the result takes memory."""
    size = max(weight.numel(), 1) if carries(weight) else _PIECE
    pieces = [slice(at, at + size) for at in range(0, weight.numel(), size)]
    degree = _degrees(target, weight, n, pieces)
    if how == "sym":
        scale = degree.masked_fill(degree <= 0, torch.inf).pow(-0.5)
    else:
        scale = degree.masked_fill(degree == 0, torch.inf).reciprocal()

    def scaled(piece: slice) -> torch.Tensor:
        by_row = weight[piece].to(degree.dtype) * scale[target[piece].long()]
        return (by_row * scale[source[piece].long()] if how == "sym" else by_row).to(weight.dtype)

    if len(pieces) == 1:
        return scaled(pieces[0])
    result = torch.empty_like(weight)
    for piece in pieces:
        result[piece] = scaled(piece)
    return result


@_torch.before_graphs
def from_edge_index(
    edge_index: torch.Tensor,
    edge_weight: torch.Tensor | None = None,
    *,
    num_nodes: int | None = None,
    add_self_loops: bool | float = False,
    normalize: str | None = None,
    format: str | Format = "csr",
) -> SparseTensor:
    """The adjacency matrix [N, N] of a graph, an entry (target, source) an edge: A @ x gathers from sources.

    Args:
        edge_index: [2, E] of an integer type: sources, targets.
        edge_weight: [E]; ones in the default float type if None. Parallel edges are summed. Integers
            and bool become the default float type where they are normalised, before loops are added.
        num_nodes: N; one more than the largest index if None.
        add_self_loops: adds an edge at each node that has none, of weight 1, or of the weight that is given;
            of several at one node the last counts, as in PyG. The type of the weights is promoted as
            ``edge_weight * add_self_loops`` is: integers stay integers beside True and 2, not beside 0.5.
        normalize: None; "sym": D^-1/2 A D^-1/2 with D the sums of rows (GCN); "row": D^-1 A.
            Nodes without edges get 0.
        format: of the result.

    Raises:
        ValueError: shapes do not fit, an index is out of range, or normalize is something else.
        TypeError: indices or num_nodes are no integers. NotImplementedError: not on the CPU.

    >>> edges = torch.tensor([[0, 1, 2], [1, 2, 0]])  # sources, targets
    >>> scorch.from_edge_index(edges, add_self_loops=True).to_dense().tolist()
    [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    """
    index, weight = _edges(edge_index, edge_weight)
    if normalize not in (None, "sym", "row"):
        raise ValueError(f'normalize: expected None, "sym" or "row", got {normalize!r}')
    with _torch.plainly():
        (index,) = _comparable([index])
        n = _nodes(index, num_nodes)
        weight = torch.ones(index.shape[1], device="cpu") if weight is None else weight
    weight = weight.reshape(-1)
    if weight.numel() != index.shape[1]:
        raise ValueError(f"edge_weight: expected {index.shape[1]} weights, one an edge, got {weight.numel()}")
    if carries(weight):
        return _graph(index, weight, n, add_self_loops, normalize, format)
    with _torch.plainly():
        return _graph(index, weight.detach(), n, add_self_loops, normalize, format)


def _graph(
    index: torch.Tensor,
    weight: torch.Tensor,
    n: int,
    loops: bool | float,
    normalize: str | None,
    format: str | Format,
) -> SparseTensor:
    """The adjacency matrix of edges, differentiable in their weights."""
    source, target = index
    if normalize is not None and not weight.is_floating_point():
        weight = weight.to(torch.get_default_dtype())
    if loops:
        weight = weight.to(torch.result_type(weight, loops))  # that of a loop may be a fraction
        with _torch.plainly():
            nodes, replaced = _loops(source, target, n)
            source, target = _appended(source, nodes, n), _appended(target, nodes, n)
        if replaced.numel():
            weight = weight.index_fill(0, replaced, 0)  # they add nothing to the loop that counts
        weight = torch.cat([weight, weight.new_full(nodes.shape, float(loops))])
    if normalize is not None:
        weight = _normalised(source, target, weight, n, normalize)
    return _of_coordinates((n, n), (target, source), weight, format, None)

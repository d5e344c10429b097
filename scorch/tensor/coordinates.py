"""Making SparseTensors of lists of coordinates: those of torch.sparse_coo_tensor, and edges of graphs."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import torch

from .. import _torch
from .entries import Entries, add_up, build, distinct, ravel, unravel
from .format import Format
from .making import MADE, extents_of, finish, fitting_dtype, from_coo
from .sparsetensor import SparseTensor
from .values import carries


# ---- in general ----
def _of_coordinates(
    shape: tuple[int, ...],
    indices: torch.Tensor,
    values: torch.Tensor,
    format: str | Format,
    index_dtype: torch.dtype | None,
) -> SparseTensor:
    """The tensor of coordinates [ndim, n] in range; values of one are summed, differentiably."""
    index_dtype = index_dtype or fitting_dtype(shape, indices.shape[1])
    if not carries(values):
        coo = torch.sparse_coo_tensor(indices, values, shape, check_invariants=False)
        return finish(from_coo(coo, format, index_dtype), format, index_dtype)
    with _torch.plainly():
        key, slot = distinct(ravel(indices, shape))
        once = Entries(shape, unravel(key, shape), torch.empty(key.numel(), dtype=values.dtype))
        made = build(once, "csr" if len(shape) == 2 else "coo", index_dtype)
    summed = made._with_values(add_up(values, slot, key.numel()))
    return finish(summed, format, index_dtype)


def _listed(indices: object, values: object) -> tuple[torch.Tensor, torch.Tensor]:
    """Coordinates [ndim, n] and values [n] as tensors."""
    indices, values = torch.as_tensor(indices), torch.as_tensor(values)
    for name, x in (("indices", indices), ("values", values)):
        if x.device.type != "cpu":
            raise NotImplementedError(f"{name}: scorch computes on the CPU, got a tensor on {x.device}")
    if indices.dim() != 2 or not indices.shape[0]:
        raise ValueError(f"indices: expected shape [ndim, n], got {list(indices.shape)}")
    if (indices.is_floating_point() or indices.dtype == torch.bool) and indices.numel():
        raise TypeError(f"indices: expected integers, got {indices.dtype}")
    if values.dim() != 1 or values.shape[0] != indices.shape[1]:
        raise ValueError(
            f"values: expected shape [{indices.shape[1]}], one for each column of indices, got "
            f"{list(values.shape)}: with dense dimensions scorch.sparse(torch.sparse_coo_tensor(...))"
        )
    return indices, values


def _bounds(indices: torch.Tensor, shape: Sequence[int] | None) -> tuple[int, ...]:
    """The shape, that all coordinates lie in; of none the smallest that they do."""
    low, high = indices.aminmax(dim=1) if indices.shape[1] else (indices.new_zeros(len(indices)),) * 2
    if shape is None:
        shape = (high + 1).tolist() if indices.shape[1] else [0] * len(indices)
    shape = extents_of(shape)
    if len(shape) != len(indices):
        raise ValueError(f"shape: expected {len(indices)} extents, one a row of indices, got {shape}")
    for dim, (least, most, n) in enumerate(zip(low.tolist(), high.tolist(), shape, strict=True)):
        if indices.shape[1] and (least < 0 or most >= n):
            wrong = least if least < 0 else most
            at = int((indices[dim] == wrong).nonzero()[0])
            raise ValueError(f"indices[{dim}, {at}]: expected 0 <= index < {n}, got {wrong}")
    return shape


@_torch.apart
def coo(
    indices: object,
    values: object,
    shape: Sequence[int] | None = None,
    format: str | Format = "auto",
    *,
    index_dtype: torch.dtype | None = None,
) -> SparseTensor:
    """The tensor of a list of coordinates, as ``torch.sparse_coo_tensor`` takes them.

    Args:
        indices: [ndim, n] of an integer type, in any order; values of one coordinate are summed.
        values: [n], of any real type; the result is differentiable in them.
        shape: the extents; one more than the largest coordinates if None.
        format: "auto" is csr for matrices, csf for more dimensions.
        index_dtype: torch.int32 or torch.int64; by default int32 where it fits.

    Raises:
        ValueError: shapes do not fit, or a coordinate is out of range. TypeError: indices are no integers.
        NotImplementedError: not on the CPU.

    >>> scorch.coo([[1, 0, 1], [2, 1, 2]], [1.0, 2.0, 3.0], (2, 4))
    SparseTensor(csr, 2x4, nnz=2, density=25%, float32, int32)
    """
    if index_dtype not in (None, torch.int32, torch.int64):
        raise TypeError(f"index_dtype: expected torch.int32 or torch.int64, got {index_dtype}")
    indices, values = _listed(indices, values)
    with _torch.plainly():
        indices = _torch.numbers_of(indices, MADE).long()
        extents = _bounds(indices, shape)
    if carries(values):
        return _of_coordinates(extents, indices, values, format, index_dtype)
    with _torch.plainly():
        return _of_coordinates(extents, indices, values.detach(), format, index_dtype)


# ---- of graphs ----
def _edges(index: object, weight: object) -> tuple[torch.Tensor, torch.Tensor | None]:
    """edge_index and edge_weight as tensors."""
    index = torch.as_tensor(index)
    weight = None if weight is None else torch.as_tensor(weight)
    for name, x in (("edge_index", index), ("edge_weight", weight)):
        if x is not None and x.device.type != "cpu":
            raise NotImplementedError(f"{name}: scorch computes on the CPU, got a tensor on {x.device}")
    if index.dim() != 2 or index.shape[0] != 2:
        raise ValueError(f"edge_index: expected shape [2, E], got {list(index.shape)}")
    if (index.is_floating_point() or index.is_complex() or index.dtype == torch.bool) and index.numel():
        raise TypeError(f"edge_index: expected integers, got {index.dtype}")
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


def _with_loops(index: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The edges with one loop at each node, those that were added at the end, and which others are kept."""
    source, target = index
    (at,) = (source == target).nonzero(as_tuple=True)
    last = torch.full((n,), -1).scatter_reduce(0, source[at].long(), at, "amax")
    kept = torch.ones(source.numel(), dtype=torch.bool)
    kept[at] = False
    kept[last[last >= 0]] = True
    loops = (last < 0).nonzero().view(-1).to(source.dtype)
    return torch.cat([index[:, kept], loops.expand(2, -1)], 1), kept.nonzero().view(-1)


def _normalised(
    source: torch.Tensor, target: torch.Tensor, weight: torch.Tensor, n: int, how: str
) -> torch.Tensor:
    """The weights divided by sums of rows; half types are summed in float32."""
    kind = weight.dtype if weight.is_floating_point() else torch.get_default_dtype()
    wide = torch.float32 if kind in (torch.float16, torch.bfloat16) else kind
    weight, source, target = weight.to(wide), source.long(), target.long()
    degree = weight.new_zeros(n).index_add(0, target, weight)
    if how == "sym":
        scale = degree.masked_fill(degree <= 0, torch.inf).pow(-0.5)
        return (scale[target] * weight * scale[source]).to(kind)
    return (weight * degree.masked_fill(degree == 0, torch.inf).reciprocal()[target]).to(kind)


@_torch.apart
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
        edge_weight: [E]; ones in the default float type if None. Parallel edges are summed. Integers are
            normalised in the default float type.
        num_nodes: N; one more than the largest index if None.
        add_self_loops: adds an edge at each node that has none, of weight 1, or of the weight that is given;
            of several at one node the last counts, as in PyG.
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
        index = _torch.numbers_of(index, MADE)
        n = _nodes(index, num_nodes)
        weight = torch.ones(index.shape[1]) if weight is None else weight
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
    if loops:
        with _torch.plainly():
            index, kept = _with_loops(index, n)
        added = weight.new_full((index.shape[1] - kept.numel(),), float(loops))
        weight = torch.cat([weight[kept], added])
    if normalize is not None:
        weight = _normalised(index[0], index[1], weight, n, normalize)
    return _of_coordinates((n, n), index.flip(0).long(), weight, format, None)

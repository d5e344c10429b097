"""Minibatches of a graph: neighbours of nodes, drawn in C, as matrices from layer to layer."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import NamedTuple

import torch

from .. import _C, _torch
from ..tensor.entries import located
from ..tensor.format import layout
from ..tensor.sparsetensor import SparseTensor, sound
from ..tensor.values import assemble, kept, needs_grad

_WEIGHTS = (torch.float32, torch.float64)


class SampledLayer(NamedTuple):
    """What one layer of a network sees of a graph: ``matrix @ x[sources]`` gathers for its targets.

    ``matrix`` [T, S] csr has an entry (i, j) where node ``sources[j]`` was drawn for ``targets[i]``, with the
    value that A has there, as many times as it was drawn. ``targets`` [T] and ``sources`` [S] are nodes,
    int64; the targets are the first sources, so ``h[: len(targets)]`` are their own rows. ``entries`` [nnz]
    says which of ``A.values()`` each entry is, for what else there is of edges; where A is a sum and has
    several at one place, the first of them.

    >>> A = scorch.coo([[0, 0, 1], [1, 2, 0]], [5.0, 6, 7], (3, 3))
    >>> (layer,) = scorch.sample_neighbors(A, torch.tensor([1]), [3])
    >>> [x.tolist() for x in (layer.targets, layer.sources, layer.entries, layer.matrix.to_dense())]
    [[1], [1, 0], [2], [[0.0, 7.0]]]
    """

    matrix: SparseTensor
    targets: torch.Tensor
    sources: torch.Tensor
    entries: torch.Tensor

    def __repr__(self) -> str:
        return f"SampledLayer({len(self.targets)} targets, {len(self.sources)} sources, {self.matrix!r})"


class Hops(NamedTuple):
    """What was drawn, as arrays. nodes: by number, the seeds first. begin: of each hop, the number of its
    first row; arrays: its pos, crd, entries and times (None: each is drawn once); reached: nodes then."""

    nodes: torch.Tensor
    begin: list[int]
    arrays: list[tuple[torch.Tensor, ...]]
    reached: list[int]


def read_fanouts(fanouts: Sequence[int]) -> tuple[int, ...]:
    try:
        found = tuple([operator.index(n) for n in fanouts])
    except TypeError:
        raise TypeError(f"fanouts: expected integers, one a layer, got {fanouts!r}") from None
    if not all(-1 <= n < 2**63 for n in found):
        raise ValueError(f"fanouts: expected numbers of neighbours, or -1 for all, got {list(found)}")
    return found


def _weights(csr: SparseTensor) -> torch.Tensor:
    """Values in a type that the extension draws by."""
    values = csr.values().detach()
    return values if values.dtype in _WEIGHTS else kept(csr, "weights", lambda: values.double())


@_torch.apart
def draw(
    arrays: tuple[torch.Tensor, torch.Tensor, torch.Tensor | None],
    seeds: torch.Tensor,
    fanouts: tuple[int, ...],
    replace: bool,
    generator: torch.Generator | None,
    *,
    fresh: bool,
) -> Hops:
    """Hops from the seeds; arrays: pos, crd and perhaps weights of a csr matrix.

    fresh: a hop starts from the nodes that the one before it found, and an entry comes as often as it is
    drawn; else from all, and it comes once, with how often.
    """
    random = int(torch.randint(2**63 - 1, (), generator=generator, device="cpu"))
    *hops, nodes = _C.sample(*arrays, seeds, fanouts, replace, fresh, random)
    return Hops(nodes, [h[0] for h in hops], [h[1:5] for h in hops], [h[5] for h in hops])


def graph_of(A: SparseTensor) -> SparseTensor:
    """The matrix as csr, each entry once; made once for a tensor in another format."""
    if not isinstance(A, SparseTensor):
        raise TypeError(
            f"sample_neighbors: expected a SparseTensor, got {type(A).__name__}: scorch.from_edge_index "
            f"makes one of edges"
        )
    if A._ndim != 2:
        raise ValueError(f"sample_neighbors: expected a matrix, got {A._ndim} dimensions")
    return sound(A) if A._fmt == "csr" else kept(A, "rows to draw from", lambda: A.convert("csr"))


def read_seeds(seeds: object) -> torch.Tensor:
    seeds = _torch.as_tensor(seeds)
    whole = not (seeds.is_floating_point() or seeds.is_complex() or seeds.dtype == torch.bool)
    if seeds.dim() != 1 or not (whole or not seeds.numel()):
        raise ValueError(
            f"seeds: expected a vector of integers, got shape {list(seeds.shape)} of {seeds.dtype}"
        )
    return seeds.long().contiguous()


def _layer(
    A: SparseTensor,
    csr: SparseTensor,
    arrays: tuple[torch.Tensor, ...],
    targets: torch.Tensor,
    sources: torch.Tensor,
) -> SampledLayer:
    """The layer of what was drawn from csr, which is A."""
    *structure, entries, times = arrays
    values = csr.values()[entries] if needs_grad(csr) else csr.values().detach()[entries]
    values = values if times is None else values * times.to(values.dtype)
    matrix = assemble(layout("csr", 2), (len(targets), len(sources)), (*structure, values))
    if csr._val is not A._val:  # which are in another order
        i, j = matrix.indices()
        entries = located(A, (targets[i], sources[j]))
    return SampledLayer(matrix, targets, sources, entries)


def sample_neighbors(
    A: SparseTensor,
    seeds: torch.Tensor,
    fanouts: Sequence[int],
    replace: bool = False,
    generator: torch.Generator | None = None,
    *,
    weighted: bool = False,
) -> list[SampledLayer]:
    """Neighbours of nodes for a minibatch, a fan-out a layer, with the matrices of the layers.

    The layers are in the order in which a network computes them, and so are the fan-outs: the last one is
    that of the seeds, which are the last layer's targets. A layer's sources are the targets of the one
    before it.

    >>> A = scorch.coo([[0, 0, 1, 2], [1, 2, 3, 3]], [1.0, 1, 1, 1], (4, 4))
    >>> layers = scorch.sample_neighbors(A, torch.tensor([0]), [10, -1])
    >>> [layer.matrix.shape for layer in layers]
    [torch.Size([3, 4]), torch.Size([1, 3])]
    >>> x = torch.rand(4, 8)
    >>> h = x[layers[0].sources]
    >>> for layer in layers:
    ...     h = layer.matrix @ h  # of as many rows as layer.targets
    >>> torch.allclose(h, (A @ (A @ x))[:1])
    True

    Args:
        A: [N, N], an entry (i, j) where j is a neighbour of i, as ``scorch.from_edge_index`` makes it, of any
            type and format; csr is read as it is. What is stored is a neighbour, even if zero, as blocks
            store them. Gradients flow to its values.
        seeds: [n] nodes, integers, each once.
        fanouts: of each layer at most so many neighbours of a node; -1: all.
        replace: neighbours are drawn one by one from all; an entry counts as often as it comes.
        generator: one number of it, or of torch, decides all: the same sample for any number of threads.
        weighted: neighbours are drawn in proportion to the values of A, one after the other, those of value
            zero never, except where the fan-out is -1.

    Returns:
        A :class:`SampledLayer` a fan-out.

    Raises:
        TypeError: A is no SparseTensor, or fan-outs are no integers. ValueError: A is no matrix, a seed is no
            row of A or comes twice, a neighbour is no row, a fan-out is less than -1, or a value that decides
            is negative or not finite.

    Source: Hamilton et al. (2017), Inductive Representation Learning on Large Graphs; weights: Efraimidis and
    Spirakis (2006).
    """
    csr, seeds = graph_of(A), read_seeds(seeds)
    arrays = *csr._arrays()[:2], _weights(csr) if weighted else None
    hops = draw(arrays, seeds, read_fanouts(fanouts)[::-1], bool(replace), generator, fresh=False)
    layers, targets = [], len(seeds)
    for arrays, reached in zip(hops.arrays, hops.reached, strict=True):
        layers.append(_layer(A, csr, arrays, hops.nodes[:targets], hops.nodes[:reached]))
        targets = reached
    return layers[::-1]

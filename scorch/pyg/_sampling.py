"""Samplers of torch_geometric's loaders, where neither pyg-lib nor torch-sparse is there.

``NeighborSampler`` then raises ImportError; here it draws as ``scorch.sample_neighbors`` does, in the
sampler's own arrays: the edges of new nodes, hop by hop, as with pyg-lib. So do the loaders above it, for
nodes and for links. A seed that comes again is a node of its own, to which edges are drawn apart; edges from
it begin at the first. What is left to pyg-lib, and raises: several kinds of nodes, times, disjoint samples.
"""

from __future__ import annotations

import torch
import torch_geometric.typing
from torch_geometric.data import Data
from torch_geometric.sampler import NeighborSampler, SamplerOutput
from torch_geometric.sampler.base import SubgraphType

from .. import _C
from ..functions.sampling import draw


def is_needed() -> bool:
    """Whether nothing else is there that samples."""
    return not (torch_geometric.typing.WITH_PYG_LIB or torch_geometric.typing.WITH_TORCH_SPARSE)


def _is_plain(sampler: NeighborSampler, seed: object, time: object) -> bool:
    return (
        isinstance(seed, torch.Tensor)
        and not sampler.disjoint
        and time is None
        and sampler.node_time is None
        and sampler.edge_time is None
    )


def _first_places(node: torch.Tensor) -> torch.Tensor:
    """Where each node stands first, by rising node."""
    nodes, slot = torch.unique(node, return_inverse=True)
    places = torch.arange(len(node), device="cpu")
    return torch.empty_like(nodes).scatter_reduce(0, slot, places, "amin", include_self=False)


def _induced(sampler: NeighborSampler, node: torch.Tensor) -> SamplerOutput:
    """All edges between the nodes; they begin at the first of those that are one."""
    places = sampler.__dict__.get("_places")
    if places is None:
        places = sampler._places = torch.arange(len(sampler.row), device="cpu")
    nodes = len(sampler.colptr) - 1
    first = _first_places(node)
    pos, crd, edge = _C.select(sampler.colptr, sampler.row, places, node, node[first], nodes)
    return SamplerOutput(node, first[crd], _rows(0, pos), edge)


def _rows(begin: int, pos: torch.Tensor) -> torch.Tensor:
    """The row of each entry."""
    return torch.repeat_interleave(torch.arange(begin, begin + len(pos) - 1, device="cpu"), pos.diff())


def sample(
    sampler: NeighborSampler, seed: torch.Tensor, seed_time: torch.Tensor | None = None, **how: object
) -> SamplerOutput:
    """``NeighborSampler._sample``"""
    if not _is_plain(sampler, seed, seed_time):
        return NotImplemented
    weight = sampler.edge_weight
    if weight is not None and weight.dtype not in (torch.float32, torch.float64):
        weight = weight.double()
    fanouts = tuple([-1 if n < 0 else int(n) for n in sampler.num_neighbors.get_mapped_values()])
    arrays = sampler.colptr, sampler.row, weight
    hops = draw(arrays, seed.long().contiguous(), fanouts, sampler.replace, None, fresh=True)
    if sampler.subgraph_type == SubgraphType.induced:
        return _induced(sampler, hops.nodes)
    pieces = [
        (crd.long(), _rows(begin, pos), at) for begin, (pos, crd, at, _) in zip(*hops[1:3], strict=True)
    ]
    row, col, edge = (torch.cat(x) for x in zip(*pieces, strict=True))
    if sampler.sample_direction == "backward":
        row, col = col, row
    reached = [len(seed), *hops.reached]
    new = [b - a for a, b in zip([0, *reached], reached, strict=False)]
    return SamplerOutput(hops.nodes, row, col, edge, None, new, [len(x[0]) for x in pieces])


def initialise(sampler: NeighborSampler, data: object, *args: object, **how: object) -> None:
    """``NeighborSampler.__init__``, which lets nobody but pyg-lib draw by weights."""
    if not isinstance(data, Data) or how.get("weight_attr") is None:
        return NotImplemented
    name = how.pop("weight_attr")
    sampler.__init__(data, *args, **how)
    weight = data[name]
    sampler.edge_weight = weight.contiguous() if sampler.perm is None else weight[sampler.perm]

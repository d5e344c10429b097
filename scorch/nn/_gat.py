"""Graph attention with the arguments, parameter names and initialisation of PyTorch Geometric.

Scores live where the adjacency matrix has entries. With H heads they are a tensor [targets, sources, H] whose
last level is dense; its softmax along the sources weighs what each target gathers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from .._torch import as_tensor, is_compiling, is_unwatched
from ..functions.expressions import einsum, evaluate
from ..functions.softmax import softmax
from ..tensor.coordinates import check_edges
from ..tensor.entries import unfilled
from ..tensor.making import from_components, sparse
from ..tensor.sparsetensor import SparseTensor
from ._edges import counted, ones_of
from ._graph import FEATURES, RowShards, _Derived, _traced, _zeros, is_plain

_FILLS = {"add": "sum", "sum": "sum", "mean": "mean", "min": "amin", "max": "amax", "mul": "prod"}


class Edges(NamedTuple):
    """A graph as a matrix [targets, sources] that says how many edges each entry stands for.

    kept: which of the edges given are left, all if None. place: the entry of each of those and of the loops
    that follow; None where the order of edges is that of entries.
    """

    matrix: SparseTensor
    parallel: bool
    kept: torch.Tensor | None = None
    place: torch.Tensor | None = None


def _listed(graph: torch.Tensor) -> torch.Tensor:
    """[2, E]: sources and targets"""
    if isinstance(graph, SparseTensor):
        return unfilled(graph).indices().flip(0).long()
    check_edges(graph)
    return graph.long()


def _check(index: torch.Tensor, sources: int, targets: int) -> None:
    for name, row, n in zip(("sources", "targets"), index, (sources, targets), strict=True):
        if row.numel() and (int(row.min()) < 0 or int(row.max()) >= n):
            raise ValueError(
                f"edge_index: expected {name} in 0..{n - 1}, got {int(row.min())}..{int(row.max())}"
            )


@torch.no_grad()
def edges_of_graph(graph: torch.Tensor, sources: int, targets: int, loops: bool, dtype: torch.dtype) -> Edges:
    index, kept = _listed(graph), None
    _check(index, sources, targets)
    if loops:
        kept = index[0] != index[1]
        index = torch.cat(
            [index[:, kept], torch.arange(min(sources, targets), device="cpu").expand(2, -1)], 1
        )
    key, place, count = torch.unique(index[1] * sources + index[0], return_inverse=True, return_counts=True)
    type = torch.int32 if max(key.numel(), sources, targets) < 2**31 else torch.int64
    row, crd = key.div(max(sources, 1), rounding_mode="floor"), key.remainder(max(sources, 1)).to(type)
    pos = torch.zeros(targets + 1, dtype=type, device="cpu")
    pos[1:] = torch.bincount(row, minlength=targets).cumsum(0)
    matrix = from_components(
        "csr", (targets, sources), [None, pos], [None, crd], count.to(dtype), validate=False
    )
    return Edges(matrix, key.numel() < index.shape[1], kept, place)


def edges_in_graph(
    graph: torch.Tensor, sources: int, targets: int, loops: bool, features: bool, dtype: torch.dtype
) -> Edges:
    """The same in traced code, where the number of entries may not be known."""
    given = isinstance(graph, SparseTensor)
    ones = ones_of(graph, dtype) if given else None
    if given and not loops and str(graph.format) == "csr":
        return Edges(graph._with_values(ones), False)
    if features or (sources != targets and not given):
        raise NotImplementedError(
            "edge features, or an edge_index of two kinds of nodes, in a compiled GATConv: expected a "
            "SparseTensor, with features in csr, in the order of its entries, and add_self_loops=False"
        )
    if sources != targets:
        return Edges(counted(graph, loops, dtype), True)
    return Edges(_traced(graph, ones, sources, loops, "").to(dtype), True)


def _fill(
    value: float | torch.Tensor | str, features: torch.Tensor, target: torch.Tensor, loops: int
) -> torch.Tensor:
    """[loops, D]: the features of loops, given or of the edges that arrive at the same node."""
    if not isinstance(value, str):
        return as_tensor(value, dtype=features.dtype).expand(loops, features.shape[1])
    if value not in _FILLS:
        raise ValueError(
            f"fill_value: expected a number, a tensor or one of {', '.join(_FILLS)}, got {value!r}"
        )
    size = max(loops, int(target.max()) + 1) if target.numel() else loops
    made = features.new_zeros(size, features.shape[1])
    at = target[:, None].expand_as(features)
    return made.scatter_reduce(0, at, features, _FILLS[value], include_self=False)[:loops]


class GATConv(nn.Module):
    """Graph attention of Velickovic et al. (2018):
    ``softmax(leaky_relu(a_src W x_j + a_dst W x_i)) W x + b``, the softmax over the neighbours j of a node i.

    Args:
        in_channels: features a node; a pair (sources, targets) for graphs of two kinds of nodes.
        out_channels: features a node and head, after.
        heads: how many attend; their results are joined, or averaged with concat=False.
        negative_slope: of the leaky relu. dropout: the probability that the weight of an edge is dropped in
            training.
        add_self_loops: removes the loops that there are and gives every node one.
        edge_dim: features an edge, if any. fill_value: those of added loops: a number, a tensor, or "mean",
            "add", "min", "max", "mul" of the features of edges that arrive at the node.
        bias, residual: as in PyG.

    Parameters: ``lin.weight`` [heads * out, in], or ``lin_src.weight`` and ``lin_dst.weight`` for a pair;
    ``att_src``, ``att_dst`` [1, heads, out]; with edge_dim ``lin_edge.weight`` and ``att_edge``; with
    residual ``res.weight``; ``bias``. Glorot, zeros.

    >>> graph = scorch.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 0]]))
    >>> scorch.nn.GATConv(8, 4, heads=2)(torch.rand(3, 8), graph).shape
    torch.Size([3, 8])
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        add_self_loops: bool = True,
        edge_dim: int | None = None,
        fill_value: float | torch.Tensor | str = "mean",
        bias: bool = True,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.heads, self.concat = (
            in_channels,
            out_channels,
            heads,
            concat,
        )
        self.negative_slope, self.dropout, self.add_self_loops = negative_slope, dropout, add_self_loops
        self.edge_dim, self.fill_value, self.residual = edge_dim, fill_value, residual
        pair = not isinstance(in_channels, int)
        source, target = in_channels if pair else (in_channels, in_channels)
        width, result = heads * out_channels, (heads if concat else 1) * out_channels
        self.lin = None if pair else nn.Linear(source, width, bias=False)
        self.lin_src = nn.Linear(source, width, bias=False) if pair else None
        self.lin_dst = nn.Linear(target, width, bias=False) if pair else None
        self.att_src = nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels))
        self.lin_edge = None if edge_dim is None else nn.Linear(edge_dim, width, bias=False)
        self.att_edge = None if edge_dim is None else nn.Parameter(torch.empty(1, heads, out_channels))
        self.res = nn.Linear(target, result, bias=False) if residual else None
        self.bias = _zeros(result) if bias else None
        self._kept = _Derived()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weights again."""
        for name, parameter in self.named_parameters():
            if name == "bias":
                nn.init.zeros_(parameter)
            else:
                bound = (6 / (parameter.size(-2) + parameter.size(-1))) ** 0.5
                nn.init.uniform_(parameter, -bound, bound)

    def forward(
        self,
        x: torch.Tensor | tuple[torch.Tensor, torch.Tensor | None],
        edge_index: torch.Tensor,
        edge_attr: torch.Tensor | None = None,
        size: tuple[int, int] | None = None,
        return_attention_weights: bool | None = None,
    ) -> torch.Tensor | tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """x [N, in], dense or sparse, or a pair of sources [S, in] and targets [T, in], which may be None;
        edge_index [2, E], or a SparseTensor [N, N] or [T, S] whose entries are the edges; edge_attr [E, D] in
        their order -> [T, heads * out], or [T, out] without concat

        size: (S, T), where x does not say it. Parallel edges count each; with features they are refused.
        With return_attention_weights also ([2, entries], [entries, heads]), ordered by target and source.
        """
        return attend(self, self._edges, x, edge_index, edge_attr, size, return_attention_weights)

    def _edges(
        self, graph: torch.Tensor, sources: int, targets: int, features: bool, dtype: torch.dtype
    ) -> Edges:
        if is_compiling():
            return edges_in_graph(graph, sources, targets, self.add_self_loops, features, dtype)
        make = lambda: edges_of_graph(graph, sources, targets, self.add_self_loops, dtype)  # noqa: E731
        return self._kept(graph, None, (sources, targets, dtype), make)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, heads={self.heads}"


# ---- the layer, as a function of anything with its attributes ----
def attend(
    layer: nn.Module,
    edges_of: Callable[..., Edges],
    x: torch.Tensor | tuple[torch.Tensor, torch.Tensor | None],
    edge_index: torch.Tensor,
    edge_attr: torch.Tensor | None = None,
    size: tuple[int, int] | None = None,
    return_attention_weights: bool | None = None,
    linear: type = nn.Linear,
) -> torch.Tensor | tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
    """What a layer of graph attention computes; ``edges_of`` makes the edges of a graph, or has them.

    linear: the class of its linear layers, of which no call is made where nobody would see it.
    """
    if isinstance(edge_index, RowShards):
        x, edge_index = (edge_index.gather(x), x), edge_index.local
    source, target, root = _projected(layer, x)
    graph = edge_index if is_plain(edge_index) else sparse(edge_index)
    targets = _targets(source.shape[0], target, graph, size)
    edges = edges_of(graph, source.shape[0], targets, edge_attr is not None, source.dtype)
    scores = _scores(layer, source, target)
    given = None if edge_attr is None else _of_features(layer, edge_attr, graph, edges, linear)
    weights = _weights(layer, edges, *scores, given)
    # a row and a head at a time, for the sums to stay in registers and the entries in the cache
    said = "ijh,jhf->ihf" if layer.concat else "ijh,jhf->if"
    y = einsum(said, weights, source, format="dense", schedule="order(i, h, j, f)")
    y = y.flatten(1) if layer.concat else y / layer.heads
    if layer.res is not None and root is not None:
        y = y + layer.res(root)
    y = y if layer.bias is None else y + layer.bias
    if not return_attention_weights:
        return y
    return y, (edges.matrix.indices().flip(0), weights.values().view(-1, layer.heads))


def _projected(
    layer: nn.Module, x: torch.Tensor | tuple
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """X W of sources and of targets, [n, heads, out]; the features of targets."""
    source, target = x if isinstance(x, (tuple, list)) else (x, x)
    for given in (source,) if target is None else (source, target):
        if not isinstance(given, FEATURES) or given.dim() != 2:
            got = list(given.shape) if isinstance(given, FEATURES) else type(given).__name__
            raise ValueError(f"x: expected features [N, in], or a pair of such, got {got}")

    def projected(features: torch.Tensor, project: nn.Module) -> torch.Tensor:
        return project(features).view(-1, layer.heads, layer.out_channels)

    made = projected(source, layer.lin or layer.lin_src)
    if target is None or (target is source and layer.lin is not None):
        return made, None if target is None else made, target
    return made, projected(target, layer.lin or layer.lin_dst), target


def _targets(
    sources: int, target: torch.Tensor | None, graph: torch.Tensor, size: tuple[int, int] | None
) -> int:
    targets = sources if target is None else target.shape[0]
    if target is None and size is not None:
        targets = size[1]
    elif target is None and isinstance(graph, SparseTensor):
        targets = graph.shape[0]
    wanted = [targets, sources]
    if isinstance(graph, SparseTensor) and list(graph.shape) != wanted:
        raise ValueError(f"edge_index: expected a SparseTensor {wanted}, got {list(graph.shape)}")
    if size is not None and list(size) != wanted[::-1]:
        raise ValueError(f"size: expected {tuple(wanted[::-1])}, sources and targets, got {tuple(size)}")
    return targets


def _of_features(
    layer: nn.Module, features: torch.Tensor, graph: torch.Tensor, edges: Edges, linear: type
) -> torch.Tensor:
    """[entries, heads]: what the features of edges add to scores"""
    if layer.lin_edge is None:
        raise ValueError("edge_attr: expected None for a layer without edge_dim")
    if edges.parallel:
        raise ValueError("edge_index: expected each edge once, since edges have features: join parallel ones")
    features = features.view(-1, 1) if features.dim() == 1 else features
    wanted = [_count(graph), layer.edge_dim]
    if list(features.shape) != wanted:
        raise ValueError(f"edge_attr: expected {wanted}, edges and features, got {list(features.shape)}")
    if edges.kept is not None:
        target, loops = _listed(graph)[1][edges.kept], min(edges.matrix.shape)
        features = features[edges.kept]
        features = torch.cat([features, _fill(layer.fill_value, features, target, loops)])
    if is_unwatched(layer.lin_edge, linear):
        weight = layer.lin_edge.weight.view(layer.heads, layer.out_channels, -1)
        scores = features @ (weight * layer.att_edge[0, :, :, None]).sum(1).T
    else:
        scores = (layer.lin_edge(features).view(-1, layer.heads, layer.out_channels) * layer.att_edge).sum(-1)
    return scores if edges.place is None else torch.zeros_like(scores).index_copy(0, edges.place, scores)


def _scores(
    layer: nn.Module, source: torch.Tensor, target: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """[n, heads]: what sources and targets add to scores"""
    of_source, of_target = layer.att_src[0], layer.att_dst[0]
    if target is source:
        both = "s[n,h] = X[n,h,f] * a[h,f]; t[n,h] = X[n,h,f] * b[h,f]"
        return evaluate(both, X=source, a=of_source, b=of_target)
    scores = einsum("nhf,hf->nh", source, of_source)
    return scores, None if target is None else einsum("nhf,hf->nh", target, of_target)


def _weights(
    layer: nn.Module,
    edges: Edges,
    source: torch.Tensor,
    target: torch.Tensor | None,
    given: torch.Tensor | None,
) -> SparseTensor:
    """[targets, sources, heads]: the softmax of scores along sources, dropped out in training"""
    matrix = edges.matrix
    ones = matrix._with_values(torch.ones_like(matrix.values())) if edges.parallel else matrix
    if target is None:
        scores = evaluate("u[i,j,h] = M[i,j] * s[j,h]", M=ones, s=source)
    else:
        scores = evaluate("u[i,j,h] = M[i,j] * (s[j,h] + t[i,h])", M=ones, s=source, t=target)
    values = scores.values().view(-1, layer.heads)
    values = values if given is None else values + given
    values = nn.functional.leaky_relu(values, layer.negative_slope)
    if edges.parallel:  # exp(u + log m) = m exp(u)
        values = values + matrix.values().log()[:, None]
    weights = softmax(scores._with_values(values.flatten()), 1)
    if not layer.dropout or not layer.training:
        return weights
    return weights._with_values(nn.functional.dropout(weights.values(), layer.dropout))


def _count(graph: torch.Tensor) -> int:
    return graph._val.shape[0] if isinstance(graph, SparseTensor) else graph.shape[1]

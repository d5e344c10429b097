"""Layers that sum over neighbours and do little else, with the arguments and names of PyTorch Geometric.

A sum and what is added to it are one kernel. Graphs are given as to the convolutions (``_graph.py``).
"""

from __future__ import annotations

import math

import torch
from torch import nn

from .._torch import is_unwatched, lasting
from ..functions.expressions import evaluate
from ..tensor.sparsetensor import SparseTensor
from ._graph import Normalizing, RowShards, _Derived, adjacency, nodes_of


def mapped_sums(module: nn.Module, matrix: SparseTensor, x: torch.Tensor, eps: torch.Tensor) -> torch.Tensor:
    """``module((A + (1 + eps) I) X)``, eps of one element.

    Sums are linear: a layer that the module begins with and that does not widen comes before them, and its
    bias and a ReLU behind it are part of their kernel.
    """
    rest = list(module) if is_unwatched(module, nn.Sequential) else [module]
    given, sums = {"A": matrix, "X": x, "e": eps.squeeze()}, "A[i,j] * X[j,k] + (1 + e) * X[i,k]"
    if rest and _comes_first(rest[0]):
        linear = rest.pop(0)
        given["X"] = nn.functional.linear(x, linear.weight)
        if linear.bias is not None:
            given["b"], sums = linear.bias, f"{sums} + b[k]"
        if rest and is_unwatched(rest[0], nn.ReLU):
            sums = f"relu({sums})"
            del rest[0]
    y = evaluate(f"Y[i,k] = {sums}", format="dense", **given)
    for step in rest:
        y = step(y)
    return y


def _comes_first(layer: nn.Module) -> bool:
    narrows = is_unwatched(layer, nn.Linear) and layer.out_features <= layer.in_features
    return narrows and not torch.is_autocast_enabled("cpu")


class GINConv(nn.Module):
    """Graph isomorphism layer of Xu et al. (2019): ``nn((A + (1 + eps) I) X)``.

    Args:
        nn: the module that maps sums [N, in] to results.
        eps: how much more a node counts than a neighbour, at first. train_eps: whether it is a parameter.

    Parameters: those of ``nn``; ``eps`` [1], else a buffer.

    >>> graph = scorch.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 0]]))
    >>> scorch.nn.GINConv(torch.nn.Linear(8, 4))(torch.rand(3, 8), graph).shape
    torch.Size([3, 4])
    """

    def __init__(self, nn: nn.Module, eps: float = 0.0, train_eps: bool = False) -> None:
        super().__init__()
        self.nn, self.initial_eps = nn, eps
        start = torch.full((1,), float(eps))
        if train_eps:
            self.eps = torch.nn.Parameter(start)
        else:
            self.register_buffer("eps", start)
        self._matrix = _Derived()

    def reset_parameters(self) -> None:
        """Draws the weights again, of what in ``nn`` knows how to."""
        for module in self.nn.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()
        with torch.no_grad():
            self.eps.fill_(self.initial_eps)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        """x [N, in], dense or sparse; edge_index [2, E] or SparseTensor [N, N] of the edges -> what nn makes
        of [N, in]"""
        nodes, graph = nodes_of(x, edge_index)
        make = lambda: adjacency(graph, None, nodes, x.dtype)  # noqa: E731
        matrix = self._matrix(graph, None, (nodes, x.dtype), make)
        return mapped_sums(self.nn, matrix, x, self.eps.to(x.dtype))


class SGConv(Normalizing):
    """Simple graph convolution of Wu et al. (2019): ``S^K X W + b`` with S = D^-1/2 (A + I) D^-1/2.

    Args:
        in_channels, out_channels: features a node, before and after.
        K: how many products with S.
        cached: keeps ``S^K X`` of the first call for good.
        add_self_loops, bias: as in PyG.

    Parameters: ``lin.weight`` [out, in], ``lin.bias`` [out], initialised as torch.nn.Linear.

    >>> graph = scorch.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 0]]))
    >>> scorch.nn.SGConv(8, 4, K=2)(torch.rand(3, 8), graph).shape
    torch.Size([3, 4])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        K: int = 1,
        cached: bool = False,
        add_self_loops: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__(cached, add_self_loops, True)
        self.in_channels, self.out_channels, self.K = in_channels, out_channels, K
        self.lin = nn.Linear(in_channels, out_channels, bias=bias)
        self._sums = None

    def reset_parameters(self) -> None:
        """Draws the weights again and forgets cached sums."""
        self.lin.reset_parameters()
        self._sums = None
        self._forget()

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor, edge_weight: torch.Tensor | None = None
    ) -> torch.Tensor:
        """x [N, in], dense or sparse; edge_index [2, E] or SparseTensor [N, N] -> [N, out]"""
        if self._sums is not None:
            return self.lin(self._sums)
        narrows = self.out_channels < self.in_channels and is_unwatched(self.lin, nn.Linear)
        if self.cached or not narrows:
            sums = lasting(lambda: self._propagated(x, edge_index, edge_weight))
            self._sums = sums.detach() if self.cached else None
            return self.lin(sums)
        matrix, y = self.matrix(x, edge_index, edge_weight), x @ self.lin.weight.T
        for _ in range(self.K):  # sums are linear: fewer features to gather
            y = matrix @ y
        return y if self.lin.bias is None else y + self.lin.bias

    def _propagated(
        self, x: torch.Tensor, edge_index: torch.Tensor, edge_weight: torch.Tensor | None
    ) -> torch.Tensor:
        matrix = self.matrix(x, edge_index, edge_weight)
        for _ in range(self.K):
            x = matrix @ x
        return x

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, K={self.K}"


def _shares(alpha: float | torch.Tensor) -> tuple[str, str, dict[str, torch.Tensor]]:
    """The factors 1 - alpha and alpha in an expression, and what they name: a tensor, for its gradient."""
    if isinstance(alpha, torch.Tensor) and alpha.numel() == 1:
        return "(1 - a)", "a", {"a": alpha.reshape(())}
    if isinstance(alpha, torch.Tensor) or not math.isfinite(alpha):
        raise ValueError(f"alpha: expected a finite number or a tensor of one element, got {alpha}")
    return repr(1 - float(alpha)), repr(float(alpha)), {}


class APPNP(Normalizing):
    """Personalised propagation of Gasteiger et al. (2019): K times ``Z = (1 - alpha) S Z + alpha X`` from
    Z = X, with S = D^-1/2 (A + I) D^-1/2.

    Args:
        K: how many steps. alpha: how much of X comes back in each; a parameter is trained.
        dropout: the probability that the weight of an edge is dropped in a step, in training.
        cached: keeps S of the first graph for good; without it the one of the last graph is kept for as long
            as that graph lives.
        add_self_loops, normalize: as in PyG.

    >>> graph = scorch.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 0]]))
    >>> scorch.nn.APPNP(K=10, alpha=0.1)(torch.rand(3, 8), graph).shape
    torch.Size([3, 8])
    """

    def __init__(
        self,
        K: int,
        alpha: float | torch.Tensor,
        dropout: float = 0.0,
        cached: bool = False,
        add_self_loops: bool = True,
        normalize: bool = True,
    ) -> None:
        super().__init__(cached, add_self_loops, normalize)
        self.K, self.alpha, self.dropout = K, alpha, dropout

    def reset_parameters(self) -> None:
        """Forgets cached matrices."""
        self._forget()

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor, edge_weight: torch.Tensor | None = None
    ) -> torch.Tensor:
        """x [N, in], dense; edge_index [2, E] or SparseTensor [N, N] -> [N, in]"""
        graph, y = self.matrix(x, edge_index, edge_weight), x
        sharded = isinstance(graph, RowShards)
        matrix = graph.local if sharded else graph
        ahead, back, shares = _shares(self.alpha)
        text = f"Y[i,k] = {ahead} * (S[i,j] * Z[j,k]) + {back} * X[i,k]"
        for _ in range(self.K):
            step = matrix
            if self.dropout and self.training:
                step = matrix._with_values(nn.functional.dropout(matrix.values(), self.dropout))
            y = evaluate(text, S=step, Z=graph.gather(y) if sharded else y, X=x, **shares, format="dense")
        return y

    def extra_repr(self) -> str:
        return f"K={self.K}, alpha={self.alpha}"

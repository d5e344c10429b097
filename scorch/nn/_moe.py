"""A mixture of experts: a gate picks experts for each token, and only those run.

Pairs of token and expert are put in the order of their experts. Which expert a pair belongs to is then a
sparse matrix S [pairs, experts] of ones, and the work of all experts one expression, S[p,e] X[p,k] W[e,k,n],
whose loops gather the pairs of an expert into dense tiles of registers (as in PIT, Zheng et al., SOSP 2023).
Threads share out the columns of the result, so that skewed routing does not leave one of them idle; nothing
is padded, and no array of tokens x experts exists. Derivatives are those of the expression.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn

from ..functions.convolution import axes
from ..functions.expressions import einsum
from ..tensor.making import from_components
from ..tensor.sparsetensor import SparseTensor


def members(experts: torch.Tensor, count: int, dtype: torch.dtype) -> SparseTensor:
    """experts [pairs] int64, ascending, each below ``count`` -> [pairs, count] csc, a one for each pair"""
    pairs = experts.numel()
    share = experts.new_zeros(count).scatter_add_(0, experts, torch.ones_like(experts))
    pos = torch.cat([share.new_zeros(1), share.cumsum(0)]).to(torch.int32)
    crd = torch.arange(pairs, dtype=torch.int32, device="cpu")
    ones = torch.ones(pairs, dtype=dtype, device="cpu")
    return from_components("csc", (pairs, count), [None, pos], [None, crd], ones, validate=False)


class MoE(nn.Module):
    """Feed-forward layer of experts with a top-k gate: ``sum_e g_e(x) W2_e act(W1_e x)``.

    Every token reaches its k experts: there is no capacity and no token is dropped. The gate's weights are
    the k largest of the softmax over all experts' scores, divided by their sum if ``renormalize``.

    Args:
        in_features: d. hidden_features: h of each expert. num_experts: E. top_k: k.
        activation: of the hidden units, element by element.
        renormalize: makes the k weights of a token sum to 1.
        device, dtype: of the parameters, as everywhere in torch.nn.

    Parameters: ``gate.weight`` [E, d]; ``w1`` [E, d, h], ``w2`` [E, h, d], uniform in +-1/sqrt(their fan-in).
    Raises: ValueError: k outside 1..E, sizes below 1, or an input of another width. TypeError: sizes that are
    no integers.

    >>> scorch.nn.MoE(16, 32, num_experts=8, top_k=2)(torch.rand(5, 16)).shape
    torch.Size([5, 16])
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int,
        num_experts: int,
        top_k: int = 2,
        activation: Callable[[torch.Tensor], torch.Tensor] = nn.functional.relu,
        renormalize: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        sizes = {"in_features": in_features, "hidden_features": hidden_features, "num_experts": num_experts}
        for name, n in {**sizes, "top_k": top_k}.items():
            axes(name, n, 1)
        if not 1 <= top_k <= num_experts:
            raise ValueError(f"top_k: expected 1..{num_experts}, the number of experts, got {top_k}")
        super().__init__()
        self.in_features, self.hidden_features = in_features, hidden_features
        self.num_experts, self.top_k = num_experts, top_k
        self.activation, self.renormalize = activation, renormalize
        made = {"device": device, "dtype": dtype}
        self.gate = nn.Linear(in_features, num_experts, bias=False, **made)
        self.w1 = nn.Parameter(torch.empty(num_experts, in_features, hidden_features, **made))
        self.w2 = nn.Parameter(torch.empty(num_experts, hidden_features, in_features, **made))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weights again."""
        self.gate.reset_parameters()
        for weight in (self.w1, self.w2):
            bound = weight.shape[1] ** -0.5
            nn.init.uniform_(weight, -bound, bound)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [..., d] -> [..., d]"""
        if x.shape[-1:] != (self.in_features,):
            raise ValueError(f"x: expected shape [..., {self.in_features}], got {list(x.shape)}")
        rows = x.reshape(math.prod(x.shape[:-1]), self.in_features)
        scores, experts = self.gate(rows).softmax(-1).topk(self.top_k, -1)
        if self.renormalize:
            scores = scores / scores.sum(-1, keepdim=True)
        return self.mix(rows, scores, experts).reshape(x.shape)

    def mix(self, x: torch.Tensor, scores: torch.Tensor, experts: torch.Tensor) -> torch.Tensor:
        """x [tokens, d], scores and experts [tokens, k] -> [tokens, d], for a gate of one's own"""
        if experts.dim() != 2 or scores.shape != experts.shape or x.shape[:1] != experts.shape[:1]:
            raise ValueError(
                f"mix: expected scores and experts [{x.shape[0]}, k], got {list(scores.shape)} and "
                f"{list(experts.shape)}"
            )
        flat = experts.reshape(-1)
        order = flat.argsort(stable=True)
        place = torch.empty_like(order).scatter_(0, order, torch.arange(order.numel(), device="cpu"))
        of = members(flat[order], self.num_experts, x.dtype)
        token = order.div(experts.shape[-1], rounding_mode="floor")
        hidden = self.activation(einsum("pe,pk,ekn->pn", of, x[token], self.w1))
        y = einsum("pe,pk,ekn->pn", of, hidden, self.w2)
        return (y[place].view(*scores.shape, y.shape[-1]) * scores[..., None]).sum(-2)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.hidden_features}, experts={self.num_experts}, top_k={self.top_k}"

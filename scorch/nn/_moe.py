"""A mixture of experts: a gate picks experts for each token, and only those run.

Pairs of token and expert are put in the order of their experts, each expert's share filled up to a multiple
of TILE rows. "Which expert does a row belong to" is then a sparse matrix [rows, experts] in blocks of TILE
rows, and the work of all experts one expression, compiled with a schedule of dense register tiles (gathered
dense tiles, as in PIT, Zheng et al., SOSP 2023). Threads share out the columns of the result, so that skewed
routing does not leave one of them idle, and no array of tokens x experts exists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from .. import _info, _torch
from .._make import from_components
from .._ops import evaluate
from .._tensor import SparseTensor

TILE = 6  # rows that are multiplied together


class Routing(NamedTuple):
    """Pairs of token and expert, by expert. rows: the pairs and what fills tiles up."""

    token: torch.Tensor  # [rows] the token of each row; 0 where it only fills up
    place: torch.Tensor  # [tokens, k] the row of each pair
    expert: torch.Tensor  # [rows / TILE] int32, the expert of each tile
    pos: torch.Tensor  # [experts + 1] int32, where each expert's tiles start


_lib = torch.library.Library("scorch", "FRAGMENT")
_lib.define("route(Tensor experts, SymInt count) -> (Tensor, Tensor, Tensor, Tensor)")
_lib.define("grouped(Tensor x, Tensor weight, Tensor expert, Tensor pos) -> Tensor")
_lib.define("grouped_back(Tensor grad, Tensor weight, Tensor expert, Tensor pos) -> Tensor")
_lib.define("grouped_weights(Tensor x, Tensor grad, Tensor expert, Tensor pos) -> Tensor")


def route(experts: torch.Tensor, count: int) -> Routing:
    """experts [tokens, k] int64, each below ``count`` -> the rows of all experts"""
    return Routing(*torch.ops.scorch.route(experts, count))


@torch.library.impl(_lib, "route", "CPU")
def _route(experts: torch.Tensor, count: int) -> tuple[torch.Tensor, ...]:
    flat = experts.reshape(-1)
    order = flat.argsort(stable=True)
    share = torch.bincount(flat, minlength=count)
    filled = (share + TILE - 1).div(TILE, rounding_mode="floor") * TILE
    first = filled.cumsum(0) - filled
    sorted_experts = flat[order]
    row = first[sorted_experts] + torch.arange(flat.numel()) - (share.cumsum(0) - share)[sorted_experts]
    token = torch.zeros(int(filled.sum()), dtype=torch.int64)
    token[row] = order.div(experts.shape[1], rounding_mode="floor")
    place = torch.empty_like(flat)
    place[order] = row
    tiles = (filled // TILE).to(torch.int32)
    pos = torch.cat([tiles.new_zeros(1), tiles.cumsum(0, dtype=torch.int32)])
    expert = torch.repeat_interleave(torch.arange(count, dtype=torch.int32), tiles)
    return token, place.view(experts.shape), expert, pos


@torch.library.register_fake("scorch::route", lib=_lib)
def _route_fake(experts: torch.Tensor, count: int) -> tuple[torch.Tensor, ...]:
    tiles = torch.library.get_ctx().new_dynamic_size()
    index = experts.new_empty(tiles, dtype=torch.int32)
    pos = experts.new_empty(count + 1, dtype=torch.int32)
    return experts.new_empty(tiles * TILE), torch.empty_like(experts), index, pos


def _owner(rows: int, expert: torch.Tensor, pos: torch.Tensor) -> SparseTensor:
    """[rows, experts] ones, in blocks of TILE rows"""
    each = torch.arange(rows // TILE + 1, dtype=torch.int32)
    return from_components(
        f"dense(0/{TILE}), compressed(1), dense(0%{TILE})", (rows, pos.numel() - 1),
        [None, each, None], [None, expert, None], torch.ones(rows), validate=False,
    )  # fmt: skip


def _members(rows: int, expert: torch.Tensor, pos: torch.Tensor) -> SparseTensor:
    """The same by experts."""
    each = torch.arange(rows // TILE, dtype=torch.int32)
    return from_components(
        f"dense(1), compressed(0/{TILE}), dense(0%{TILE})", (rows, pos.numel() - 1),
        [None, pos, None], [None, each, None], torch.ones(rows), validate=False,
    )  # fmt: skip


def _columns(dtype: torch.dtype) -> int:
    """Columns of a register tile: four vectors, two where there are 16 registers."""
    size = _info.vector_bytes()
    return size // dtype.itemsize * (4 if size == 64 else 2)


@torch.library.impl(_lib, "grouped", "CPU")
@torch.no_grad()
def _product(x: torch.Tensor, weight: torch.Tensor, expert: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
    """x [rows, k], weight [experts, k, n] -> [rows, n]: each row times the weight of its expert"""
    t, v = TILE, _columns(x.dtype)
    nest = f"""
    par n/{v} {{ for p/{t} in S {{
      work c[p%{t},n%{v}]: reg {_name(x)} {{
        for e in S {{ for k {{ for p%{t} unroll {t} {{ vec n%{v} {{
          c[p%{t},n%{v}] += stored(S[p,e]) * X[p,k] * W[e,k,n]
        }} }} }} }}
      }} then {{ for p%{t} unroll {t} {{ vec n%{v} {{ Y[p,n] = c[p%{t},n%{v}] }} }} }}
    }} }}"""
    text = "Y[p,n] = stored(S[p,e]) * X[p,k] * W[e,k,n]"
    return evaluate(text, S=_owner(len(x), expert, pos), X=x, W=weight, schedule=nest)


@torch.library.impl(_lib, "grouped_back", "CPU")
@torch.no_grad()
def _back(grad: torch.Tensor, weight: torch.Tensor, expert: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
    """grad [rows, n], weight [experts, k, n] -> [rows, k]; a thread turns its columns of the weight around"""
    t, v = TILE, _columns(grad.dtype)
    nest = f"""
    par k/{v} {{ for e in S {{
      work w[n,k%{v}]: lane {_name(grad)} {{
        for n {{ vec k%{v} {{ w[n,k%{v}] = W[e,k,n] }} }}
      }} then {{
        for p/{t} in S {{
          work c[p%{t},k%{v}]: reg {_name(grad)} {{
            for n {{ for p%{t} unroll {t} {{ vec k%{v} {{
              c[p%{t},k%{v}] += stored(S[p,e]) * G[p,n] * w[n,k%{v}]
            }} }} }}
          }} then {{ for p%{t} unroll {t} {{ vec k%{v} {{ X[p,k] += c[p%{t},k%{v}] }} }} }}
        }}
      }}
    }} }}"""
    text = "X[p,k] = stored(S[p,e]) * G[p,n] * W[e,k,n]"
    return evaluate(text, S=_members(len(grad), expert, pos), G=grad, W=weight, schedule=nest)


@torch.library.impl(_lib, "grouped_weights", "CPU")
@torch.no_grad()
def _weights(x: torch.Tensor, grad: torch.Tensor, expert: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
    """x [rows, k], grad [rows, n] -> [experts, k, n]: the sum over an expert's rows"""
    t, v = TILE, _columns(x.dtype)
    nest = f"""
    par k/8 {{ for e in S {{ for n/{v} {{
      work c[k%8,n%{v}]: reg {_name(x)} {{
        for p/{t} in S {{ for p%{t} {{ for k%8 unroll 8 {{ vec n%{v} {{
          c[k%8,n%{v}] += stored(S[p,e]) * X[p,k] * G[p,n]
        }} }} }} }}
      }} then {{ for k%8 unroll 8 {{ vec n%{v} {{ W[e,k,n] = c[k%8,n%{v}] }} }} }}
    }} }} }}"""
    text = "W[e,k,n] = stored(S[p,e]) * X[p,k] * G[p,n]"
    return evaluate(text, S=_members(len(x), expert, pos), X=x, G=grad, schedule=nest)


def _name(x: torch.Tensor) -> str:
    return "f64" if x.dtype == torch.float64 else "f32"


@torch.library.register_fake("scorch::grouped", lib=_lib)
def _product_fake(x, weight, expert, pos):
    return x.new_empty(x.shape[0], weight.shape[2])


@torch.library.register_fake("scorch::grouped_back", lib=_lib)
def _back_fake(grad, weight, expert, pos):
    return grad.new_empty(grad.shape[0], weight.shape[1])


@torch.library.register_fake("scorch::grouped_weights", lib=_lib)
def _weights_fake(x, grad, expert, pos):
    return x.new_empty(pos.shape[0] - 1, x.shape[1], grad.shape[1])


# ---- derivatives: each operator is linear in both tensors, and the gradients are the other two ----
_PARTNERS = {
    "grouped": lambda ops, x, weight, grad: (
        lambda *tiles: ops.grouped_back(grad, weight, *tiles),
        lambda *tiles: ops.grouped_weights(x, grad, *tiles),
    ),
    "grouped_back": lambda ops, given, weight, grad: (
        lambda *tiles: ops.grouped(grad, weight, *tiles),
        lambda *tiles: ops.grouped_weights(grad, given, *tiles),
    ),
    "grouped_weights": lambda ops, x, given, grad: (
        lambda *tiles: ops.grouped_back(given, grad, *tiles),
        lambda *tiles: ops.grouped(x, grad, *tiles),
    ),
}


class _Grouped(torch.autograd.Function):
    """One of the operators, single level."""

    @staticmethod
    def forward(ctx, name, a, b, expert, pos):
        ctx.name = name
        ctx.save_for_backward(a, b, expert, pos)
        ctx.save_for_forward(a, b, expert, pos)
        with _torch.below_autograd():
            return getattr(torch.ops.scorch, name)(a, b, expert, pos)

    @staticmethod
    def backward(ctx, grad):
        a, b, *tiles = ctx.saved_tensors
        both = _PARTNERS[ctx.name](torch.ops.scorch, a, b, grad.contiguous())
        wanted = ctx.needs_input_grad[1:3]
        return None, *(f(*tiles) if want else None for f, want in zip(both, wanted, strict=True)), None, None

    @staticmethod
    def jvp(ctx, _name, to_a, to_b, _expert, _pos):
        a, b, *tiles = ctx.saved_tensors
        op = getattr(torch.ops.scorch, ctx.name)
        parts = [op(to_a.contiguous(), b, *tiles)] if to_a is not None else []
        parts += [op(a, to_b.contiguous(), *tiles)] if to_b is not None else []
        return sum(parts[1:], parts[0])


_raw_grouped = _torch.raw_apply(_Grouped)


def _autograd_kernel(name: str) -> Callable:
    op = getattr(torch.ops.scorch, name).default

    def kernel(a, b, expert, pos):
        if not _torch.is_differentiated([a, b]):
            with _torch.only_below_autograd():
                return op(a, b, expert, pos)
        with _torch.single_level():
            return _raw_grouped(name, a, b, expert, pos)

    return kernel


for _operator in _PARTNERS:
    _lib.impl(_operator, _autograd_kernel(_operator), "Autograd")


class MoE(nn.Module):
    """Feed-forward layer of experts with a top-k gate: ``sum_e g_e(x) W2_e act(W1_e x)``.

    Every token reaches its k experts: there is no capacity and no token is dropped. The gate's weights are
    the k largest of the softmax over all experts' scores, divided by their sum if ``renormalize``.

    Args:
        in_features: d. hidden_features: h of each expert. num_experts: E. top_k: k.
        activation: of the hidden units, element by element.
        renormalize: makes the k weights of a token sum to 1.

    Parameters: ``gate.weight`` [E, d]; ``w1`` [E, d, h], ``w2`` [E, h, d], uniform in +-1/sqrt(their fan-in).
    Raises: ValueError: k outside 1..E.
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int,
        num_experts: int,
        top_k: int = 2,
        activation: Callable[[torch.Tensor], torch.Tensor] = nn.functional.relu,
        renormalize: bool = True,
    ) -> None:
        if not 1 <= top_k <= num_experts:
            raise ValueError(f"top_k: expected 1..{num_experts}, the number of experts, got {top_k}")
        super().__init__()
        self.in_features, self.hidden_features = in_features, hidden_features
        self.num_experts, self.top_k = num_experts, top_k
        self.activation, self.renormalize = activation, renormalize
        self.gate = nn.Linear(in_features, num_experts, bias=False)
        self.w1 = nn.Parameter(torch.empty(num_experts, in_features, hidden_features))
        self.w2 = nn.Parameter(torch.empty(num_experts, hidden_features, in_features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weights again."""
        self.gate.reset_parameters()
        for weight in (self.w1, self.w2):
            bound = weight.shape[1] ** -0.5
            nn.init.uniform_(weight, -bound, bound)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [..., d] -> [..., d]"""
        rows = x.reshape(-1, self.in_features)
        scores, experts = self.gate(rows).softmax(-1).topk(self.top_k, -1)
        if self.renormalize:
            scores = scores / scores.sum(-1, keepdim=True)
        return self.mix(rows, scores, experts).reshape(x.shape)

    def mix(self, x: torch.Tensor, scores: torch.Tensor, experts: torch.Tensor) -> torch.Tensor:
        """x [tokens, d], scores and experts [tokens, k] -> [tokens, d], for a gate of one's own"""
        routing = route(experts, self.num_experts)
        tiles, grouped = (routing.expert, routing.pos), torch.ops.scorch.grouped
        hidden = self.activation(grouped(x[routing.token], self.w1, *tiles))
        y = grouped(hidden.contiguous(), self.w2, *tiles)
        return (y[routing.place] * scores[..., None]).sum(-2)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.hidden_features}, experts={self.num_experts}, top_k={self.top_k}"

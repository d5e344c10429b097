"""A mixture of experts: each token goes to 2 of 8 to 64 experts, and only those compute.

    python examples/moe.py --compare                         # 8, 16 and 64 experts
    python examples/moe.py --experts 32 --tokens 4096 --skew 1.5 --compare

What a user changes:

    -layer = LoopMoE(features, hidden, experts)       # for every expert: its tokens, two products, index_add
    +layer = scorch.nn.MoE(features, hidden, experts, top_k=2)

Peers: tokens sorted by expert, then a loop over experts, or torch's grouped product, one call for all.
"""

import argparse
import sys

import torch

import scorch.nn
from timing import compare


class LoopMoE(scorch.nn.MoE):
    """The parameters and the gate of scorch.nn.MoE; tokens sorted by expert, and a loop over experts."""

    def mix(self, x, scores, experts):
        token, scores, share = by_expert(scores, experts, self.num_experts)
        parts = x[token].split(share.tolist())
        products = [self.activation(p @ a) @ b for p, a, b in zip(parts, self.w1, self.w2, strict=True)]
        return torch.zeros_like(x).index_add(0, token, torch.cat(products) * scores[:, None])


class GroupedMoE(scorch.nn.MoE):
    """The same with torch's grouped matrix product."""

    def mix(self, x, scores, experts):
        token, scores, share = by_expert(scores, experts, self.num_experts)
        ends = share.cumsum(0).to(torch.int32)
        hidden = self.activation(torch._grouped_mm(x[token], self.w1, offs=ends))
        y = torch._grouped_mm(hidden, self.w2, offs=ends)
        return torch.zeros_like(x).index_add(0, token, y * scores[:, None])


def by_expert(
    scores: torch.Tensor, experts: torch.Tensor, count: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pairs of token and expert in the order of experts: tokens, scores [pairs]; shares [count]."""
    flat = experts.flatten()
    order = flat.argsort(stable=True)
    return order // experts.shape[1], scores.flatten()[order], torch.bincount(flat, minlength=count)


def is_grouped(*widths: int) -> bool:
    """Whether torch has a grouped product of these widths: it wants rows of multiples of 16 bytes."""
    return hasattr(torch, "_grouped_mm") and not any(4 * n % 16 for n in widths)


def layers(features: int, hidden: int, experts: int) -> dict[str, scorch.nn.MoE]:
    """By name, all with the same weights."""
    kinds = {"torch loop over experts": LoopMoE, "Scorch": scorch.nn.MoE}
    if is_grouped(features, hidden):
        kinds["torch grouped product"] = GroupedMoE
    made = {name: kind(features, hidden, experts, top_k=min(2, experts)) for name, kind in kinds.items()}
    for layer in made.values():
        layer.load_state_dict(made["Scorch"].state_dict())
    return made


def skewed(tokens: int, features: int, layer: scorch.nn.MoE, skew: float) -> torch.Tensor:
    """Tokens [tokens, features] whose routing is uneven: expert e is preferred by -skew * log(e + 1)."""
    x = torch.randn(tokens, features)
    wish = -skew * (torch.arange(layer.num_experts) + 1.0).log()
    with torch.no_grad():
        return x + torch.linalg.lstsq(layer.gate.weight, wish[:, None]).solution[:, 0]


def step(layer: scorch.nn.MoE, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Forward and backward; the gradients, flat."""
    layer.zero_grad()
    torch.nn.functional.mse_loss(layer(x), target).backward()
    return torch.cat([p.grad.flatten() for p in layer.parameters()])


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experts", type=int, nargs="+", default=[8, 16, 64])
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--features", type=int, default=512)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument(
        "--skew", type=float, default=0.0, help="0: even routing; 1.5: a few experts get most"
    )
    parser.add_argument("--compare", action="store_true", help="time torch's ways and Scorch")
    parser.add_argument("--seconds", type=float, default=3.0, help="time to spend on each comparison")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    torch.manual_seed(0)
    agree = True
    for experts in args.experts:
        made = layers(args.features, args.hidden, experts)
        x = skewed(args.tokens, args.features, made["Scorch"], args.skew)
        with torch.no_grad():
            scores, top = made["Scorch"].gate(x), made["Scorch"].top_k
            share = torch.bincount(scores.topk(top).indices.flatten(), minlength=experts)
            y = made["Scorch"](x)
        print(
            f"{experts} experts: {list(x.shape)} -> {list(y.shape)}, {share.min()}-{share.max()} tokens each"
        )
        if not args.compare:
            continue
        with torch.no_grad():
            calls = {n: (lambda layer=layer, x=x: layer(x)) for n, layer in made.items()}
            agree &= compare(f"{experts} experts, inference", calls, args.seconds)
        target = torch.randn_like(x)
        calls = {n: (lambda layer=layer, x=x, t=target: step(layer, x, t)) for n, layer in made.items()}
        # Rounding may put a hidden unit near zero on either side of relu: a few gradients differ by 1 %.
        agree &= compare(f"{experts} experts, forward and backward", calls, args.seconds, tolerance=2e-2)
    if args.compare:
        print("all agree" if agree else "RESULTS DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())

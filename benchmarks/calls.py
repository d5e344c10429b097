"""Small calls: what stands around the arithmetic of 10 x 10, and what autograd adds to it.

Where calls are recorded, an operand requires a gradient; forward and backward end in ``torch.autograd.grad``.
"""

from collections.abc import Callable, Iterator
from functools import partial
from operator import neg

import torch

import scorch
from benchmarks.data import Case

_FUNCTIONS = {  # with the ways in which torch's CSR tensors have them: False as they are, True recorded
    "relu(A)": (torch.relu, (False, True)),
    "-A": (neg, (False, True)),
    "2 * A": (lambda a: 2 * a, (False, True)),
    "A + A": (lambda a: a + a, (False, True)),
    "A.sum()": (torch.sum, (False, True)),
    "A.sum(1)": (lambda a: a.sum(1), ()),
    "A @ X": (torch.matmul, (False,)),
    "A * X": (torch.mul, ()),
}


def _both_ways(f: Callable, operands: list[torch.Tensor]) -> Callable[[], object]:
    """f, and the gradients to all its operands."""
    with torch.no_grad():
        made = f(*operands)
    ones = scorch.map(made, torch.ones_like) if scorch.is_sparse(made) else torch.ones_like(made)
    return lambda: torch.autograd.grad(f(*operands), operands, ones)


def calls(root: str | None) -> Iterator[Case]:
    """Small calls as they are, recorded, and forward and backward, 10 x 10."""
    dense = torch.randn(10, 10) * (torch.rand(10, 10) < 0.3)
    x = torch.randn(10, 10)
    for recorded in (False, True):
        matrices = {
            "torch dense": dense.clone(),
            "torch CSR": dense.to_sparse_csr(),
            "Scorch": scorch.sparse(dense),
        }
        second = [x.clone().requires_grad_(recorded)]
        operands = {who: [a.requires_grad_(recorded)] for who, a in matrices.items()}
        for name, (f, of_csr) in _FUNCTIONS.items():
            given = {who: a + (second if "X" in name else []) for who, a in operands.items()}
            if recorded not in of_csr:
                del given["torch CSR"]
            run = {who: partial(f, *xs) for who, xs in given.items()}
            yield Case(f"{name}{', recorded' if recorded else ''}", run, {"Scorch": tuple(run)[:-1]})
            if recorded:
                both = {who: _both_ways(f, given[who]) for who in ("torch dense", "Scorch")}
                yield Case(f"{name}, forward and backward", both, {"Scorch": ("torch dense",)}, same=False)


SUITES = {"calls": calls}

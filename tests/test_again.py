"""What one call resolved to is taken again where it fits: entries of a layout may lie in the order of the
operand or in another, and what was compiled for the one reads wrong values of the other."""

import pytest
import torch

import scorch

FUNCTIONS = {
    "A @ A.T": lambda A: A @ A.T,
    "A.T @ A": lambda A: A.T @ A,
    "A + A.T": lambda A: A + A.T,
    "maximum": lambda A: torch.maximum(A, A.T),
    "amax": lambda A: torch.amax(A, 0),
    "rows by rows": lambda A: scorch.einsum("ij,kj->ik", A, A),
    "gradient": lambda A: torch.autograd.grad((A @ A.T).square().sum(), A)[0],
}
FORMATS = ("csr", "csc", "coo", "bitmask", "dia(1)")


def permuted(n: int, first: int) -> list[torch.Tensor]:
    """Alike in all that a call is known by: of one, entries are in one order by rows and by columns."""
    diagonal = torch.diag(torch.arange(1.0, n + 1))
    two = [diagonal, torch.roll(diagonal, 1, 0)]
    return [two[first], two[1 - first]]


def dense(x: torch.Tensor) -> torch.Tensor:
    return x.to_dense() if scorch.is_sparse(x) else x


def wanted(function: str, x: torch.Tensor) -> torch.Tensor:
    if function == "rows by rows":
        return x @ x.T
    return FUNCTIONS[function](x.requires_grad_(function == "gradient")).detach()


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_entries_in_another_order(function, backend):
    """A shape of its own for each: a call of that shape was not met before."""
    f = torch.compile(FUNCTIONS[function], backend=backend) if backend else FUNCTIONS[function]
    n = 17 + 40 * list(FUNCTIONS).index(function) + 20 * bool(backend)
    for form in FORMATS[:2] if backend else FORMATS:
        for first in (0, 1):
            n += 1
            for x in permuted(n, first):
                A = scorch.sparse(x, format=form).requires_grad_(function == "gradient")
                assert torch.equal(dense(f(A)).detach(), wanted(function, x)), (form, first)

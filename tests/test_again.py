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


# ---- composed operands of several densities ----
COMPOSED = (
    "bsr(8,8) of blocks(8,8,0.5) + csr",
    "dia(4) of band(0,0) + bsr(2,2) of blocks(2,2,0.7) + csr",
    "csr of band(-2,2) + bsr(4,4) of blocks(4,4,0.1) + csr",
    "sell(4,8) of rows(<= 6) + csr",
    "bsr(4,4) of blocks(4,4,0.3) + dcsr of rows(<= 4) + csc",
)
ON_PARTS = {
    "P @ v": (lambda P, X: P @ X[:, 0],) * 2,
    "P.T @ v": (lambda P, X: P.T @ X[:, 0],) * 2,
    "P.T @ X": (lambda P, X: P.T @ X,) * 2,
    "P @ (P.T @ X)": (lambda P, X: P @ (P.T @ X),) * 2,
    "relu": (
        lambda P, X: scorch.evaluate("C[i,k] = relu(A[j,i] * X[j,k] + X[i,k])", A=P, X=X),
        lambda P, X: torch.relu(P.T @ X + X),
    ),
    "sum": (
        lambda P, X: scorch.evaluate("C[i,k] = A[i,j] * X[j,k] + A[i,j] * Z[j,k]", A=P, X=X, Z=X.cos()),
        lambda P, X: P @ X + P @ X.cos(),
    ),
}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("function", ON_PARTS)
def test_parts_of_several_densities(function, first):
    """Values of a part that is empty, or in order, lie otherwise than those of another."""
    ours, theirs = ON_PARTS[function]
    n, generator = 64, torch.Generator().manual_seed(0)
    i, X = torch.arange(n), torch.randn(n, 3, generator=generator)
    masks = [torch.rand(n, n, generator=generator) < density for density in (0.05, 0.0, 0.3)]
    masks = [masks[0] | (i[:, None] // 8 == i // 8), *masks[1:], torch.eye(n, dtype=torch.bool)]
    for form in COMPOSED:
        for mask in masks[::-1] if first else masks:
            x = torch.randn(n, n, generator=generator) * mask
            P, D = scorch.sparse(x, format=form).requires_grad_(), x.clone().requires_grad_()
            (got,) = torch.autograd.grad(ours(P, X).square().sum(), P)
            (want,) = torch.autograd.grad(theirs(D, X).square().sum(), D)
            stored = P.detach()._with_values(torch.ones_like(P.values())).to_dense()  # some entries twice
            torch.testing.assert_close(ours(P, X), theirs(D, X), atol=1e-4, rtol=1e-5)
            torch.testing.assert_close(got.to_dense(), want * stored, atol=1e-2, rtol=1e-4)

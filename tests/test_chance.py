"""Draws from sparse weights against frequencies, and how often numbers come against torch's own."""

import pytest
import torch

import scorch

FORMATS = ["csr", "coo", "csc", "ell(5)", "bsr(1,5)", "hyb(1,2)"]
WEIGHTS = torch.tensor([[0.0, 2, 3, 0, 5], [1, 0, 0, 0, 0], [0.1, 0.2, 0.3, 0.2, 0.2]])
SHARES = WEIGHTS / WEIGHTS.sum(1, True)
NUMBERS = torch.tensor([[0.0, 2, 3, -1, 5], [1, 0, 0, 0, 2], [0, 2, 3, 2, 2]])


def frequencies(drawn: torch.Tensor) -> torch.Tensor:
    return torch.stack([torch.bincount(row, minlength=5) for row in drawn]) / drawn.shape[1]


@pytest.mark.parametrize("format", FORMATS)
def test_drawn_as_often_as_weights_say(format):
    a, generator = scorch.sparse(WEIGHTS, format=format), torch.Generator().manual_seed(1)
    drawn = torch.multinomial(a, 50_000, True, generator=generator)
    assert drawn.dtype == torch.int64 and drawn.shape == (3, 50_000)
    torch.testing.assert_close(frequencies(drawn), SHARES, atol=0.015, rtol=0)
    many = scorch.sparse(WEIGHTS.repeat(4000, 1), format=format)
    once = torch.multinomial(many, 1, generator=generator).view(4000, 3).T
    torch.testing.assert_close(frequencies(once), SHARES, atol=0.05, rtol=0)
    again = [torch.multinomial(a, 7, True, generator=torch.Generator().manual_seed(2)) for _ in range(2)]
    assert torch.equal(*again)


def test_without_replacement_each_is_drawn_once():
    a = scorch.sparse(WEIGHTS, format="csr")
    assert sorted(torch.multinomial(a[0], 3).tolist()) == [1, 2, 4]
    assert torch.multinomial(a[[0, 2]], 3).sort(1)[0].unique(dim=1).shape == (2, 3)


def test_what_is_never_drawn():
    torch.manual_seed(0)
    weights = torch.rand(50, 400) * (torch.rand(50, 400) < 0.02)
    weights[:, 7] += 1e-3
    a = scorch.sparse(weights, format="csr")
    a.values()[::5] = 0  # stored, and zero
    drawn = torch.multinomial(a, 1000, True)
    assert bool((a.to_dense().gather(1, drawn) > 0).all())


def test_categorical_distributions_of_sparse_probabilities():
    drawn = torch.distributions.Categorical(probs=scorch.sparse(WEIGHTS, format="csr")).sample((20_000,))
    torch.testing.assert_close(frequencies(drawn.T), SHARES, atol=0.03, rtol=0)


@pytest.mark.parametrize(
    "weights, n, message",
    [
        (WEIGHTS, 2, "expected 2 weights above zero in each row"),
        (-WEIGHTS, 1, "from 0 on"),
        (WEIGHTS * torch.inf, 1, "infinite or NaN"),
        (WEIGHTS, 6, "from 1 to the extent 5"),
        (torch.zeros(2, 5), 1, "got 0 in row 0"),
        (WEIGHTS.int(), 1, "of a real type"),
    ],
)
def test_refused_weights(weights, n, message):
    with pytest.raises(ValueError, match=message):
        torch.multinomial(scorch.sparse(weights, format="csr"), n)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("numbers", [NUMBERS, NUMBERS + 1, torch.zeros(3, 5)], ids=["some", "full", "none"])
def test_how_often_numbers_come(format, numbers):
    a = scorch.sparse(numbers, format="csr" if format == "ell(5)" and not numbers.any() else format)
    assert torch.equal(torch.unique(a), torch.unique(numbers))
    for got, want in zip(a.unique(return_counts=True), numbers.unique(return_counts=True), strict=True):
        assert torch.equal(got, want)
    for how in ((), (7,), (5, -1, 3), (4, 1, 2)):
        assert torch.equal(torch.histc(a, *how), torch.histc(numbers, *how))
    for of in (numbers.int(), numbers.bool()):
        assert torch.equal(torch.unique(scorch.sparse(of, format="coo")), torch.unique(of))


def test_rates():
    torch.manual_seed(0)
    a = scorch.sparse(WEIGHTS.expand(2000, -1, -1).reshape(-1, 5), format="csr")
    drawn = torch.poisson(a)
    assert drawn.format == a.format and drawn.nnz == a.nnz
    mean = drawn.to_dense().view(2000, 3, 5).mean(0)
    torch.testing.assert_close(mean, WEIGHTS, atol=0.25, rtol=0)


def test_inverses_are_refused():
    with pytest.raises(NotImplementedError, match="return_inverse"):
        torch.unique(scorch.sparse(NUMBERS), return_inverse=True)

"""What is computed where nothing is stored: the same as of a stored zero, whatever the format."""

import pytest
import torch

import scorch

RIGHT = {
    torch.float32: (
        "A[i,j] + 0.1 + 0.2 == 0.3", "(A[i,j] + 16777217) - 16777216", "(A[i,j] + 3e38 + 3e38) / 1e5",
        "(A[i,j] + 1e-50) > 0", "max(A[i,j], 1e-50) > 0", "1e-30 * (A[i,j] + 1e-30) > 0",
        "exp(A[i,j] - 104) > 0", "A[i,j] + 16777217 == 16777216", "A[i,j] * 2 + 3e38 + 3e38 < 1e40",
        "(A[i,j] + 0.1 + 0.2 - 0.3) * 1e8",
    ),
    torch.float64: ("A[i,j] + 0.1 + 0.2 == 0.3", "(A[i,j] + 1e16 + 1) - 1e16", "max(A[i,j], 1e-50) > 0"),
    torch.bfloat16: ("A[i,j] + 0.1 + 0.2 == 0.3", "(A[i,j] + 257) - 256"),
    torch.int32: (
        "(A[i,j] + 65536) * (A[i,j] + 65536) == 0", "A[i,j] + 2147483647 + 1 > 0", "A[i,j] > -2147483648",
    ),
    torch.int64: (
        "(A[i,j] + 9007199254740992 + 1) - 9007199254740992",
        "A[i,j] + 9007199254740992 + 1 == 9007199254740992",
        "(A[i,j] + 4294967296) * (A[i,j] + 4294967296) == 0",
        "(A[i,j] + 2000000000) * 2000000000 * 2000000000 * 5",
        "A[i,j] * (65536 * 65536 * 65536 * 65536) + 1",
    ),
}  # fmt: skip
CASES = [(dtype, right) for dtype, rights in RIGHT.items() for right in rights]


@pytest.mark.parametrize(("dtype", "right"), CASES)
@pytest.mark.parametrize("left", ["C[i,j] =", "c +="])
def test_as_of_a_stored_zero(dtype, right, left):
    dense = torch.tensor([[0, 0], [0, 5]]).to(dtype)
    stored = scorch.coo([[0, 1], [0, 1]], torch.tensor([0, 5]).to(dtype), (2, 2))
    want = scorch.evaluate(f"{left} {right}", A=dense, format="dense")
    assert want.isfinite().all() or "3e38" in right
    for a in (stored, stored.convert("bsr(2,2)"), scorch.sparse(dense, format="csr"), stored.convert("csc")):
        got = scorch.evaluate(f"{left} {right}", A=a, format="dense")
        assert torch.equal(got, want), (a.format, got, want)


@pytest.mark.parametrize("right", ["min(A[i,j], 3000000000)", "A[i,j] < -2147483649", "A[i,j] == 4294967301"])
def test_constants_fit(right):
    a = scorch.sparse(torch.tensor([[5, 0], [0, -7]], dtype=torch.int32))
    with pytest.raises(ValueError, match=r"is no number of int32.*convert an operand"):
        scorch.evaluate(f"C[i,j] = {right}", A=a)
    assert scorch.evaluate(f"C[i,j] = {right}", A=a.to(torch.int64)).dtype == torch.int64


def test_integers_wrap():
    """Constants, too, are computed with as torch computes with numbers."""
    x = torch.tensor([[0, 3], [2, 0]])
    for a in (x, scorch.sparse(x, format="csr"), scorch.sparse(x, format="bsr(2,2)")):
        made = scorch.evaluate("C[i,j] = A[i,j] * 2000000000 * 2000000000 * 5", A=a, format="dense")
        assert torch.equal(made, x * 2000000000 * 2000000000 * 5)
        made = scorch.evaluate("C[i,j] = (A[i,j] + 2) * (3000000000 * 3000000001)", A=a, format="dense")
        assert torch.equal(made, (x + 2) * (3000000000 * 3000000001))


@pytest.mark.parametrize("right", ["sqrt(A[i,j] - 1)", "max(A[i,j], sqrt(A[i,j] - 1))", "log(A[i,j] - 1)"])
def test_no_number_where_nothing_is_stored(right):
    dense = torch.tensor([[0.0, 3.0], [2.0, 0.0]])
    want = scorch.evaluate(f"C[i,j] = {right}", A=dense)
    assert want.isnan().sum() == 2
    for format in ("csr", "csc", "coo", "dcsr", "dcsc", "bsr(2,2)", "ell(1)", "compressed(0), dense(1)"):
        made = scorch.evaluate(f"C[i,j] = {right}", A=scorch.sparse(dense, format=format), format="dense")
        torch.testing.assert_close(made, want, equal_nan=True)

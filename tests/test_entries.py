"""Where sparse results have entries: as operands store them, whatever the values are; and what is missing."""

import pytest
import torch

import scorch

NAN = float("nan")


def matrix(rows=6, cols=6, seed=0, density=0.5):
    g = torch.Generator().manual_seed(seed)
    d = torch.randint(1, 9, (rows, cols), generator=g, dtype=torch.float64)
    return d * (torch.rand(rows, cols, generator=g) < density)


def stored(a):
    return a._with_values(torch.ones(a.nnz, dtype=torch.float64)).to_dense() != 0


def test_a_turned_operand_and_a_sparse_result():
    g = torch.Generator().manual_seed(0)
    D = torch.randint(1, 9, (6, 6, 6), generator=g).double()
    E = torch.randint(1, 9, (6, 6), generator=g).double()
    R = scorch.evaluate("R[k,l] = D[k,m,l] * E[n,m]", D=scorch.sparse(D, "csf"), E=E)
    assert torch.equal(R.to_dense(), torch.einsum("kml,nm->kl", D, E))
    for n in (6, 30, 64, 200):
        A, B, E = matrix(n, n, 1), matrix(n, n, 2), matrix(n, n, 3, 1.0)
        csr = {"A": scorch.sparse(A, "csr"), "B": scorch.sparse(B, "csr")}
        R = scorch.evaluate("R[i,j] = (A[i,j] + B[i,j]) * E[n,j]", E=E, **csr)
        assert torch.equal(R.to_dense(), (A + B) * E.sum(0))
        assert torch.equal(stored(R), (A != 0) | (B != 0))
        R = scorch.evaluate("R[i,k] max= A[i,j] * B[j,k] * E[n,j]", E=E, **csr)
        R = R.to_dense() if scorch.is_sparse(R) else R
        assert torch.equal(R, (A[:, :, None] * B * E.amax(0)[:, None]).amax(1))


# A result that every nest computes dense; A and B as sparse operands.
DENSE = {
    "R[i,j] = A[i,j] + B[i,i] * B[j,j]": lambda a, b: a + b.diag()[:, None] * b.diag(),
    "R[i,j] = A[i,j] - max(B[i,i] * B[j,j], -1)": lambda a, b: a - b.diag()[:, None] * b.diag(),
}


@pytest.mark.parametrize("text", DENSE)
@pytest.mark.parametrize("format", [None, "coo", "dcsr", "csc", "bsr(2,2)"])
def test_zeros_that_come_out_are_entries(text, format):
    A, B = matrix(seed=1), torch.diag(torch.tensor([2.0, 3, 0, 4, 5, 0], dtype=torch.float64))
    A[0, 1], A[1, 3] = -6, 12
    a, b = scorch.sparse(A, "csr").requires_grad_(), scorch.sparse(B, "csr").requires_grad_()
    R = scorch.evaluate(text, A=a, B=b, format=format)
    wanted = DENSE[text](A, B)
    assert torch.equal(R.detach().to_dense(), wanted)
    covered = (A != 0) | (B.diag()[:, None] * B.diag() != 0)
    assert bool((stored(R.detach()) >= covered).all())
    if format != "bsr(2,2)":
        assert torch.equal(stored(R.detach()), covered)
    R.to_dense().sum().backward()
    c, d = A.clone().requires_grad_(), B.clone().requires_grad_()
    DENSE[text](c, d).sum().backward()
    torch.testing.assert_close(a.grad.to_dense(), c.grad * (A != 0))
    torch.testing.assert_close(b.grad.to_dense(), d.grad * (B != 0))


def test_gradients_of_a_product_that_is_zero():
    """Operands in blocks and in columns, every stored value zero."""
    form = "dense(0/2), dense(1/2), dense(0%2), dense(1%2)"
    A = (scorch.sparse(torch.ones(6, 6), form) * 0).clone().requires_grad_()
    B, D = matrix(seed=1, density=1.0).float(), matrix(seed=2, density=1.0).float()
    text = "R[i,j] += B[j,l] * A[k,i] * (D[m,j] * B[m,n])"
    scorch.evaluate(text, A=A, B=B, D=scorch.sparse(D, "compressed(1), dense(0)")).sum().backward()
    a = torch.zeros(6, 6, requires_grad=True)
    torch.einsum("jl,ki,mj,mn->ij", B, a, D, B).sum().backward()
    torch.testing.assert_close(A.grad.to_dense(), a.grad)


def test_a_later_assignment_reads_a_result_that_is_sparse():
    A = scorch.sparse(torch.tensor([[1.0, 0], [2, 3]]), "csr")
    B = scorch.sparse(torch.tensor([[-1.0, 0], [0, 4]]), "csr")
    S, t = scorch.evaluate("S[i,j] = A[i,j] + B[i,j]; t[i] = S[i,j]", A=A, B=B, format=["csr", None])
    assert stored(S).tolist() == [[True, False], [True, True]] and t.tolist() == [0, 9]


def test_a_schedule_does_not_lose_entries():
    A, B = scorch.sparse(matrix(seed=1), "csr"), scorch.sparse(-matrix(seed=1), "csr")
    text = "C[i,j] = A[i,j] + B[i,j]"
    nest = "par i { for j { for j merge A, B { C[i,j] = A[i,j] + B[i,j] } } }"
    for schedule in (None, nest):
        C = scorch.evaluate(text, A=A, B=B, schedule=schedule)
        assert C.nnz == A.nnz and not C.to_dense().any()


# ---- what is missing ----
MISSING = {  # expressions of A: 0 where A is missing
    "A[i,j] > 2": lambda a: (a > 2).double(),
    "A[i,j] != 0": lambda a: (a != 0).double(),
    "relu(A[i,j] - 3)": lambda a: torch.relu(a - 3),
    "max(A[i,j], -1)": lambda a: a.clamp(min=-1),
    "min(A[i,j], 3)": lambda a: a.clamp(max=3),
    "(A[i,j] + 1) - 1": lambda a: a,
    "2 * (A[i,j] >= 3)": lambda a: 2.0 * (a >= 3),
}
PRESENT = {"exp(A[i,j])": torch.exp, "A[i,j] + 1": lambda a: a + 1, "A[i,j] < 2": lambda a: (a < 2).double()}


@pytest.mark.parametrize("text", MISSING | PRESENT)
def test_what_comes_down_to_zero_is_missing(text):
    A = matrix(seed=3)
    R = scorch.evaluate(f"R[i,j] = {text}", A=scorch.sparse(A, "csr"))
    assert scorch.is_sparse(R) == (text in MISSING)
    wanted = (MISSING | PRESENT)[text](A)
    if text in MISSING:
        assert torch.equal(stored(R), A != 0)
        R = R.to_dense()
    torch.testing.assert_close(R, wanted, check_dtype=False)
    x = torch.full((6,), NAN, dtype=torch.float64)
    y = scorch.evaluate(f"y[i,j] = ({text}) * x[j]", A=scorch.sparse(A, "csr"), x=x)
    y = y.to_dense() if scorch.is_sparse(y) else y
    assert torch.equal(y.isnan(), A != 0 if text in MISSING else torch.ones(6, 6, dtype=torch.bool))


# ---- extents that nothing dense has room for ----
def test_hypersparse_matrices():
    n = 3_000_000_000
    index = torch.tensor([[1, 5, 5], [5, 7, 1]])
    coo = torch.sparse_coo_tensor(index, torch.tensor([1.0, 2, 3]), (n, n), check_invariants=False)
    A = scorch.sparse(coo, "dcsr")
    for B, values in ((A * A, [1, 9, 4]), (A + A, [2, 6, 4]), (A * 2, [2, 6, 4]), (A - A, [0, 0, 0])):
        assert B.values().tolist() == values
    for B in (A @ A, A @ A.convert("coo"), scorch.evaluate("C[i,k] = A[i,j] * B[j,k]", A=A, B=A)):
        assert B.indices().tolist() == [[1, 1, 5], [1, 7, 5]] and B.values().tolist() == [3, 2, 3]
    T = scorch.evaluate("C[i,k] = A[j,i] * A[j,k]", A=A)
    assert T.indices().tolist() == [[1, 1, 5, 7, 7], [1, 7, 5, 1, 7]] and T.values().tolist() == [
        9,
        6,
        1,
        6,
        4,
    ]
    assert scorch.evaluate("s = A[i,j] * A[i,j]", A=A).item() == 14
    with pytest.raises(ValueError, match="more than 2\\^60 elements"):
        scorch.evaluate("C[i,j] = A[i,j] + 1", A=A)


@pytest.mark.parametrize("format", ["dcsr", "csr", "csc", "coo"])
def test_rows_that_share_nothing_have_no_entry(format):
    d = matrix(8, 12, 5, 0.15)
    A = scorch.sparse(d, format)
    for text in ("R[i,k] = A[i,j] * A[k,j]", "R[i,k] = A[i,j] * B[k,j]"):
        R = scorch.evaluate(text, A=A, **({"B": A} if "B" in text else {}))
        assert torch.equal(R.to_dense(), d @ d.T)
        assert torch.equal(stored(R), (d @ d.T) != 0)  # all values are positive


# ---- one index in several terms ----
SUMS = {
    "y[i] = A[i,j] * x[j] + B[i,j] * z[j]": lambda a, b, x, z: a @ x + b @ z,
    "y[i] = A[i,j] * x[j] - 2 * B[i,j] + z[j]": lambda a, b, x, z: a @ x - 2 * b.sum(1) + z.sum(),
    "y[i] = relu(A[i,j] * x[j] - B[i,j] * z[j])": lambda a, b, x, z: torch.relu(a @ x - b @ z),
    "y[i] = x[i] * (A[i,j] + -B[i,j])": lambda a, b, x, z: x * (a - b).sum(1),
    "y[i] = 2 * (A[i,j] + B[i,j]) + A[i,j] / 4": lambda a, b, x, z: (2.25 * a + 2 * b).sum(1),
    "y[i] = A[i,j] * x[j] + B[i,j] * A[j,k] * z[k]": lambda a, b, x, z: a @ x + b @ (a @ z),
}


@pytest.mark.parametrize("text", SUMS)
def test_an_index_of_all_terms_is_summed_in_each(text):
    a, b, x, z = matrix(seed=1), matrix(seed=2), torch.arange(6).double(), torch.ones(6).double()
    operands = {"A": scorch.sparse(a, "csr"), "B": scorch.sparse(b, "csr"), "x": x, "z": z}
    y = scorch.evaluate(text, **{k: v for k, v in operands.items() if k in text})
    torch.testing.assert_close(y, SUMS[text](a, b, x, z))


@pytest.mark.parametrize(
    "right",
    ["A[i,j] * x[j] + B[i,j] + x[i]", "relu(A[i,j]) + x[i] * B[i,j]", "2 * exp(A[i,j]) + x[i] * B[i,j]",
     "x[i] / (A[i,j] + 1) + B[i,j]"],
)  # fmt: skip
def test_an_index_of_some_terms_is_refused(right):
    a = scorch.sparse(matrix(seed=1), "csr")
    with pytest.raises(ValueError, match="used in several terms"):
        scorch.evaluate(f"y[i] = {right}", A=a, B=a, x=torch.ones(6).double())


@pytest.mark.parametrize("format", ["csr", "coo", "csc", "ell(100)", "bsr(2,2)"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "maximum", "ne", "logical_or"])
def test_large_tensors_of_one_structure_are_not_merged(name, format):
    """Arrays that hold the same are compared; others with as many entries are merged."""
    f, torch_generator = getattr(torch, name), torch.Generator().manual_seed(0)
    pattern = torch.rand(100, 100, generator=torch_generator) < 0.6
    d, e = (torch.randint(1, 4, (100, 100), generator=torch_generator) * pattern for _ in range(2))
    a, b = (scorch.sparse(x.float(), format) for x in (d, e))
    made = f(a, b)
    assert torch.equal(made.to_dense(), f(d.float(), e.float()))
    assert made.crd(1) is None or made.crd(1).data_ptr() == a.crd(1).data_ptr()
    moved = scorch.sparse(e.flip(0).float(), format)
    assert torch.equal(f(a, moved).to_dense(), f(d.float(), e.flip(0).float()))
    if name in ("add", "mul"):
        a.requires_grad_()
        f(a, b).sum().backward()
        want = e.float() if name == "mul" else pattern.float()
        assert torch.equal(a.grad.to_dense() * pattern, want)

"""Programs that read their own sparse results: they mean their assignments one after another."""

import pytest
import torch

import scorch

MASKED = "P[i,k] = A[i,j]*B[j,k]; D[i,k] = P[i,k]*M[i,k]; Y[i,f] = D[i,k]*X[k,f]"
SCORES = "S[i,j] = M[i,j]*Q[i,k]*K[j,k]; E[i,j] = stored(M[i,j])*exp(S[i,j])"
ATTENTION = f"{SCORES}; n[i] = E[i,j]; Y[i,f] = E[i,j]*X[j,f]/n[i]"
SQUARES = "P[i,k] = A[i,j]*B[j,k]; U[i,l] = P[i,k]*C[k,l]; R[i,m] = U[i,l]*U[m,l]"
DIAGONAL = "P[i,k] = A[i,j]*B[j,k]; d[i] = P[i,i]; R[i,k] = P[i,k]*d[k] + P[k,i]"
SHARED = "P[i,k] = A[i,j]*B[j,k]; D[i,k] = P[i,k]*W[i,k]; T[i,k] = relu(D[i,k]); y[i] = T[i,k]*x[k]"
LENT = "z[i] = A[i,j]*x[j]; S[i,j] = M[i,j]*W[i,j]; T[i,j] = S[i,j]*A[i,j]; y[i] = T[i,j]*z[j]"
PROGRAMS = [MASKED, ATTENTION, SQUARES, DIAGONAL, SHARED, LENT]


def operands(form: str, dtype: torch.dtype = torch.float64) -> dict[str, torch.Tensor]:
    torch.manual_seed(3)

    def matrix(share: float = 0.3) -> torch.Tensor:
        return scorch.sparse(torch.rand(9, 9, dtype=dtype) * (torch.rand(9, 9) < share), format=form)

    named = {name: matrix() for name in "ABCM"}
    named |= {name: torch.rand(9, 4, dtype=dtype) for name in "QKX"}
    return named | {"W": torch.rand(9, 9, dtype=dtype), "x": torch.rand(9, dtype=dtype)}


def used(text: str, named: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: x for name, x in named.items() if f"{name}[" in text}


def one_by_one(text: str, named: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    known, made = dict(named), []
    for line in text.split("; "):
        x = scorch.evaluate(line, **used(line.split(" = ")[1], known))
        known[line.split("[")[0]] = x
        made.append(x)
    return made


def same(a: torch.Tensor, b: torch.Tensor) -> None:
    assert scorch.is_sparse(a) == scorch.is_sparse(b)
    if scorch.is_sparse(a):
        assert a.format == b.format
        assert torch.equal(a.indices(), b.indices())
        a, b = a.values(), b.values()
    assert torch.allclose(a, b)


@pytest.mark.sampled
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("text", PROGRAMS)
def test_results_are_those_of_the_assignments_by_themselves(text, form):
    named = used(text, operands(form))
    for x, y in zip(scorch.evaluate(text, **named), one_by_one(text, named), strict=True):
        same(x, y)


@pytest.mark.sampled
@pytest.mark.parametrize("text", PROGRAMS)
def test_gradients(text):
    named = used(text, operands("csr"))
    leaves = {name: x.clone().requires_grad_() for name, x in named.items()}
    plain = {name: x.clone().requires_grad_() for name, x in named.items()}

    def total(made: list[torch.Tensor]) -> torch.Tensor:
        return sum((x.to_dense() if scorch.is_sparse(x) else x).square().sum() for x in made)

    total(scorch.evaluate(text, **leaves)).backward()
    total(one_by_one(text, plain)).backward()
    for name in named:
        same(leaves[name].grad, plain[name].grad)


def test_nothing_dense_is_made():
    n = 300_000  # a dense matrix of this size does not fit
    i = torch.arange(n)
    ring = torch.sparse_coo_tensor(
        torch.stack((i, (i + 1) % n)), torch.ones(n), (n, n), check_invariants=False
    )
    A, X = scorch.sparse(ring, format="csr").requires_grad_(), torch.rand(n, 2)
    P, D, Y = scorch.evaluate(
        "P[i,k] = A[i,j]*A[j,k]; D[i,k] = P[i,k]*A[k,i]; Y[i,f] = P[i,k]*X[k,f]", A=A, X=X
    )
    assert (P.nnz, D.nnz) == (n, 0)
    assert torch.equal(Y, X.roll(-2, 0))
    Y.sum().backward()
    assert torch.allclose(A.grad.values(), X.sum(1).roll(-2) + X.sum(1).roll(-1))


def test_a_result_like_another_owns_its_structure():
    named = used(SHARED, operands("csr"))
    P, D, T, _ = scorch.evaluate(SHARED, **named)
    before = D.to_dense()
    del P
    assert torch.equal(D.to_dense(), before)
    assert D.nnz == T.nnz


def test_dense_where_it_is_asked_for_and_where_types_are_mixed():
    named = used(MASKED, operands("csr"))
    P, _, Y = scorch.evaluate(MASKED, **named, format=("dense", None, None))
    assert not scorch.is_sparse(P)
    assert torch.allclose(Y, scorch.evaluate(MASKED, **named)[2])
    named["A"], named["B"] = named["A"].float(), named["B"].float()
    P, _, Y = scorch.evaluate(MASKED, **named)
    assert P.dtype == Y.dtype == torch.float64
    assert torch.allclose(Y, scorch.evaluate(MASKED, **{k: x.double() for k, x in named.items()})[2])


@pytest.mark.parametrize("text", [MASKED, ATTENTION])
def test_compiled(text):
    named = used(text, operands("csr"))
    names = list(named)
    torch._dynamo.reset()

    @torch.compile(backend="aot_eager", fullgraph=True)
    def run(*xs):
        return scorch.evaluate(text, **dict(zip(names, xs, strict=True)))[-1] * 2

    assert torch.allclose(run(*named.values()), scorch.evaluate(text, **named)[-1] * 2)


@pytest.mark.parametrize("schedule", ["path()", None])
def test_each_assignment_by_itself_where_nothing_is_taken_apart(schedule):
    named = used(SQUARES, operands("csr"))
    for x, y in zip(
        scorch.evaluate(SQUARES, **named, schedule=schedule), one_by_one(SQUARES, named), strict=True
    ):
        same(x, y)


def test_explain_shows_the_steps():
    said = scorch.explain(MASKED, **used(MASKED, operands("csr")))
    assert said.count("-- step") == 3
    assert "->  csr" in said


def test_a_step_whose_operands_must_be_converted():
    A = scorch.sparse((torch.rand(6, 6, 6) < 0.2) * torch.rand(6, 6, 6), "coo")
    B = scorch.sparse(
        (torch.rand(6, 6, 6) < 0.5) * torch.rand(6, 6, 6),
        "compressed(0), compressed(1, nonunique), compressed(2)",
    )
    C, S = scorch.evaluate("C[j,k] = A[i,j,k]; S[i,j] = B[j,i,j] - C[j,k]", A=A, B=B)
    b = B.to_dense()
    assert torch.allclose(C.to_dense(), A.to_dense().sum(0))
    assert torch.allclose(S, torch.einsum("jij->ij", b) - C.to_dense().sum(1))


def test_rows_without_entries_are_divided_by_nothing():
    """Their sum is a zero of a temporary, and what it is divided by a zero too: a NaN that no term has."""
    n = 20_000
    i, j = torch.randint(n, (2, 10 * n), generator=torch.Generator().manual_seed(0))
    index = torch.stack([torch.where(i % 7 == 5, 6, i), j])
    S = scorch.sparse(torch.sparse_coo_tensor(index, torch.rand(10 * n), (n, n)).coalesce(), "csr")
    v = torch.randn(n, 32)
    text = "E[i,j] = exp(S[i,j]) * stored(S[i,j]); z[i] = E[i,j]; Y[i,f] = E[i,j] * v[j,f] / z[i]"
    assert scorch.explain(text, S=S, v=v).count("-- step") > 2
    (E, z), first = one_by_one(text, {"S": S, "v": v})[:2], None
    for _ in range(3):
        Y = scorch.evaluate(text, S=S, v=v)[2]
        assert torch.isfinite(Y).all() and not Y[5].any()
        first = Y if first is None else first
        assert torch.allclose(Y, first, atol=1e-5)
    full = z > 0
    assert torch.allclose(Y[full], (E @ v)[full] / z[full, None], atol=1e-4)


def test_stored_of_a_result_that_is_read_dense_is_refused():
    """It would be true everywhere."""
    A = scorch.sparse(torch.eye(4), "csr")
    B = scorch.sparse(torch.eye(4, dtype=torch.float64), "csr")
    text = "S[i,j] = A[i,j] * 2; R[i,j] = stored(S[i,j]) + B[i,j]"
    assert scorch.evaluate(text, A=A, B=A)[1].nnz == 4
    with pytest.raises(NotImplementedError, match=r"stored\(S\): S is dense inside of one nest"):
        scorch.evaluate(text, A=A, B=B)
    with pytest.raises(NotImplementedError, match="evaluate S by itself first"):
        scorch.evaluate(text, A=A, B=A, schedule="order(i, j)")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("right", ["A[i,j]/P[i,j]", "1/P[i,j]", "A[i,j]/abs(P[i,j])"])
def test_a_division_is_refused_of_a_program_as_of_the_assignment_by_itself(right, dtype):
    """What was said of one assignment once made all that are read dense, and others have a NaN."""
    A = scorch.sparse(torch.tensor([[0.0, 2.0], [3.0, 0.0]], dtype=dtype), "csr")
    d, x = torch.ones(2, dtype=dtype), torch.tensor([torch.inf, 1.0], dtype=dtype)
    P = scorch.evaluate("P[i,j] = A[i,j]*d[i]", A=A, d=d)
    line = f"Q[i,j] = {right}"
    with pytest.raises(ValueError, match=r"division by P\[i,j\].* numerator by stored\(P\[i,j\]\)") as alone:
        scorch.evaluate(line, **({"A": A, "P": P} if "A" in right else {"P": P}))
    for text in (
        f"tmp P[i,j] = A[i,j]*d[i]; {line}",
        f"P[i,j] = A[i,j]*d[i]; y[i] = P[i,j]*x[j]; {line}",
    ):
        with pytest.raises(ValueError, match="division by P") as within:
            scorch.evaluate(text, **used(text, {"A": A, "d": d, "x": x}))
        assert str(within.value).split("\n")[0] == str(alone.value).split("\n")[0]
    P, y, Q = scorch.evaluate(
        "P[i,j] = A[i,j]*d[i]; y[i] = P[i,j]*x[j]; Q[i,j] = A[i,j]*stored(P[i,j])/P[i,j]", A=A, d=d, x=x
    )
    assert P.nnz == Q.nnz == 2
    assert y.tolist() == [2, torch.inf]


def test_a_dense_result_divides():
    A = scorch.sparse((torch.rand(9, 7) < 0.3) * torch.rand(9, 7), "csr")
    W, H = torch.rand(9, 4), torch.rand(4, 7)
    for text in (
        "P[i,j] = W[i,k]*H[k,j]; Q[i,j] = A[i,j]/P[i,j]",
        "tmp P[i,j] = W[i,k]*H[k,j]; Q[i,j] = A[i,j]/P[i,j]; s = Q[i,j]",
    ):
        Q = next(x for x in scorch.evaluate(text, A=A, W=W, H=H) if scorch.is_sparse(x))
        torch.testing.assert_close(Q.to_dense(), A.to_dense() / (W @ H))


def test_a_divisor_at_entries_takes_their_memory():
    n = 1_000_000  # a dense matrix of this size does not fit
    i, j = torch.randint(n, (2, 1000), generator=torch.Generator().manual_seed(0))
    A, W = scorch.coo((i, j), torch.rand(1000), (n, n)).convert("csr"), torch.rand(n, 3) + 0.1
    P, Q = scorch.evaluate(
        "P[i,j] = stored(A[i,j])*W[i,k]*W[j,k]; Q[i,j] = A[i,j]*stored(P[i,j])/P[i,j]", A=A, W=W
    )
    i, j = A.indices()
    assert P.nnz == Q.nnz == A.nnz
    torch.testing.assert_close(Q.values(), A.values() / (W[i] * W[j]).sum(1))

"""Operands of one structure: what loops run in one of them gives what dense tensors give."""

import itertools

import pytest
import torch

import scorch

FORMATS = ("csr", "csc", "coo", "dcsr", "bsr(2, 2)", "ell(9)", "csf", "dense(0), dense(1)")
TWO = (
    "R[i,j] = A[i,j] * B[i,j]",
    "R[i,j] = A[i,j] + B[i,j]",
    "R[i,j] = A[i,j] - 2 * B[i,j]",
    "R[i,j] = max(A[i,j], B[i,j])",
    "R[i,j] = A[i,j] * exp(B[i,j])",
    "R[i,j] = stored(A[i,j]) * B[i,j] + stored(B[i,j])",
    "R[i,j] = A[i,j] / (B[i,j] * B[i,j] + 1)",
    "R[i] = A[i,j] * B[i,j]",
    "R[j] = A[i,j] * B[i,j]",
    "R = A[i,j] * B[i,j]",
    "R[i] = A[i,j] * v[j] + B[i,j]",
    "R[i,k] = A[i,j] * B[i,j] * X[j,k]",
    "R[j,k] = A[i,j] * B[i,j] * X[i,k]",
    "R[i,k] = (A[i,j] + B[i,j]) * X[j,k]",
    "R[i,j] = A[i,j] * B[j,i]",
    "R[i,j] = A[i,j] * B[i,j] + B[j,i]",
    "R[i,k] = A[i,j] * B[j,k]",
    "R[i,j] = A[i,j] * exp(X[i,k] * X[j,k]) + B[i,j]",
    "R[i] max= A[i,j] * B[i,j]",
    "R[i,j] = A[i,j] * B[i,j] * C[i,j]",
    "R[i,j] = A[i,j] * B[i,j] + C[i,j]",
    "S[i,j] = A[i,j] * B[i,j]; R[i] = S[i,j] * B[i,j]",
    "tmp S[i,j] = A[i,j] + B[i,j]; R[i,k] = S[i,j] * A[i,j] * X[j,k]",
)


def operands(format, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    n = 12
    pattern = torch.rand(n, n, generator=generator) < 0.3
    A = scorch.sparse(torch.randint(1, 9, (n, n), generator=generator).to(dtype) * pattern, format)
    other = torch.randint(1, 9, (A.nnz,), generator=generator).to(dtype) / 4
    B = scorch.map(A, lambda _: other)
    C = scorch.sparse(torch.eye(n, dtype=dtype), "csr")
    dense = {"v": torch.rand(n, generator=generator), "X": torch.rand(n, 5, generator=generator) / 4}
    return {"A": A, "B": B, "C": C} | {name: x.to(dtype) for name, x in dense.items()}


def apart(x):
    """The same tensor with arrays of its own."""
    return (
        x.clone()
        if not scorch.is_sparse(x)
        else scorch.from_components(str(x.format), tuple(x.shape), *_components(x))
    )


def _components(x):
    levels = range(len(x.format.levels))
    names = dict(zip(x._names, x._arrays(), strict=True))
    pos = [names[f"_pos{k}"].clone() if f"_pos{k}" in names else None for k in levels]
    crd = [names[f"_crd{k}"].clone() if f"_crd{k}" in names else None for k in levels]
    return pos, crd, x.values().clone()


def used(text, given):
    return {name: x for name, x in given.items() if f"{name}[" in text}


def dense_of(x):
    return x.to_dense() if scorch.is_sparse(x) else x


@pytest.mark.sampled
@pytest.mark.parametrize("format", FORMATS)
def test_like_operands_of_their_own(format):
    given = operands(format)
    own = {name: apart(x) for name, x in given.items()}
    for text in TWO:
        one = scorch.evaluate(text, **used(text, given))
        two = scorch.evaluate(text, **used(text, own))
        one, two = (x[-1] if isinstance(x, tuple) else x for x in (one, two))
        torch.testing.assert_close(dense_of(one), dense_of(two), msg=lambda m, text=text: f"{text}: {m}")
        if scorch.is_sparse(two):
            assert one.format == two.format and one.nnz == two.nnz, text


@pytest.mark.parametrize("schedule", ("order(i, j)", "order(j, i)", "convert(A: csc)", "path()"))
def test_in_any_order(schedule):
    given = operands("csr")
    for text in ("R[i,j] = A[i,j] * B[i,j] + A[i,j]", "R[j] = A[i,j] * B[i,j]"):
        want = scorch.evaluate(text, **used(text, {n: apart(x) for n, x in given.items()}))
        try:
            got = scorch.evaluate(text, **used(text, given), schedule=schedule)
        except (ValueError, NotImplementedError):
            continue
        torch.testing.assert_close(dense_of(got), dense_of(want))


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.int64, torch.bool))
def test_types(dtype):
    given = operands("csr", dtype if dtype is not torch.bool else torch.int64)
    if dtype is torch.bool:
        given = {name: x.to(dtype) for name, x in given.items()}
        given["B"] = scorch.map(given["A"], lambda v: torch.arange(len(v)) % 2 == 0)
    own = {name: apart(x) for name, x in given.items()}
    for text in ("R[i,j] = A[i,j] * B[i,j]", "R[i,j] = A[i,j] + B[i,j]", "R[i] = A[i,j] * B[i,j]"):
        got, want = (scorch.evaluate(text, **used(text, x)) for x in (given, own))
        torch.testing.assert_close(dense_of(got), dense_of(want))


def test_gradients():
    for text in TWO[:13]:
        found = []
        for share in (True, False):
            given = operands("csr")
            if not share:
                given["B"] = apart(given["B"])
            leaves = [given[n].requires_grad_() for n in "AB"]
            result = scorch.evaluate(text, **used(text, given))
            dense_of(result).square().sum().backward()
            found.append([None if x.grad is None else x.grad.to_dense() for x in leaves])
        for one, two in zip(*found, strict=True):
            torch.testing.assert_close(one, two)


def test_in_blocks_that_are_converted():
    A = scorch.sparse(torch.tensor([1.0, 2.0, 0, 0, 0, 3.0, 0, 4.0]), "compressed(0/2), dense(0%2)")
    B = torch.tensor(-1.0)
    found = scorch.evaluate("tmp C[i] = A[i]; S[i] max= (B + A[i]) + C[i]", A=A, B=B)
    torch.testing.assert_close(found, 2 * A.to_dense() - 1)


def test_blocks_that_no_operand_has():
    crd = [torch.tensor([-1]), torch.tensor([4, -1, -1])]
    A, B = (
        scorch.from_components("ell(0/5, 1), ell(0%5, 3)", (5,), [None, None], crd, torch.ones(3))
        for _ in "AB"
    )
    for text in ("C min= min(B[i], A[i])", "C max= max(B[i], A[i])", "C += max(A[i] + 1, B[i] + 2)"):
        found = scorch.evaluate(text, A=A, B=B)
        assert found == {"C min": 0, "C max": 0}.get(text[:5], 10), text


def test_is_seen_anew_in_every_call():
    """One text, and operands that share a structure in some calls and in others not."""
    given = operands("csr")
    other = scorch.sparse(given["B"].to_dense().T.contiguous(), "csr")
    A, text = given["A"], "R[i,j] = A[i,j] * B[i,j] + B[i,j]"
    assert other.nnz == A.nnz
    for B in itertools.islice(itertools.cycle((given["B"], other, apart(given["B"]))), 9):
        want = A.to_dense() * B.to_dense() + B.to_dense()
        torch.testing.assert_close(dense_of(scorch.evaluate(text, A=A, B=B)), want)


def test_a_function_of_a_sum_is_taken_at_entries_first():
    torch.manual_seed(0)
    A = scorch.sparse((torch.rand(300, 300) < 0.1).double(), "csr")
    X = torch.rand(300, 16, dtype=torch.float64) / 4
    text = "e[i] = A[i,j] * exp(X[i,k] * X[j,k]); y[i,f] = A[i,j] * exp(X[i,k] * X[j,k]) * X[j,f] / e[i]"
    plan = scorch.explain(text, A=A, X=X).partition("-- step 1")[0]
    assert plan.count("exp(") == 1 and plan.count("X[i,k] * X[j,k]") == 1
    weight = A.to_dense() * (X @ X.T).exp()
    _, y = scorch.evaluate(text, A=A, X=X)
    torch.testing.assert_close(y, weight @ X / weight.sum(1, keepdim=True))
    X[7] = torch.inf
    weight = torch.where(A.to_dense() > 0, (X @ X.T).exp(), 0)
    e, _ = scorch.evaluate(text, A=A, X=X)
    torch.testing.assert_close(e, weight.sum(1), equal_nan=True)


@pytest.mark.parametrize("format", ("csr", "coo", "dense(0), compressed(1), dense(2)", "bsr(2, 2)"))
def test_a_product_has_the_structure_that_its_operands_share(format):
    generator = torch.Generator().manual_seed(0)
    rank = 3 if "2)" in format and "dense" in format else 2
    dense = torch.rand(6, 8, 4, generator=generator) * (torch.rand(6, 8, 1, generator=generator) < 0.4)
    A = scorch.sparse(dense if rank == 3 else dense.sum(2), format)
    index = ",".join("ijk"[:rank])
    text = f"R[{index}] = A[{index}] * (B[{index}] - s[i])"

    def product(values, s):
        B = A._with_values(values)
        return scorch.evaluate(text, A=A, B=B, s=s)

    values, s = A.values() + 1, torch.rand(6, generator=generator)
    made = product(values, s)
    assert made.format == A.format and made.nnz == A.nnz
    if format != "bsr(2, 2)":
        assert made._arrays()[0].data_ptr() == A._arrays()[0].data_ptr()
    graph = torch.compile(product, fullgraph=True, backend="aot_eager")
    got = graph(values, s)  # where it is not known that arrays are the same
    assert got.format == made.format
    torch.testing.assert_close(got.to_dense(), made.to_dense())
    apart_too = scorch.evaluate(text, A=A, B=apart(A._with_values(values)), s=s)
    torch.testing.assert_close(made.to_dense(), apart_too.to_dense())

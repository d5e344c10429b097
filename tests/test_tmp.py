"""tmp: results that are not returned. Each program is compared with the same one that returns them all."""

import generate
import pytest
import test_apart
import torch

import scorch

CHAIN = "tmp H[i,k] = A[i,j]*X[j,k]; tmp Z[i,l] = H[i,k]*Q[j,k]*W[j,l]; Y[i,l] = relu(Z[i,l] - 1)"
FACTORS = "tmp s = X[i,k]*Q[i,k]; tmp u[k] = A[i,j]*X[j,k]*x[i]; Y[i,k] = K[i,k]*s*u[k]"
TWICE = "tmp P[i,k] = A[i,j]*B[j,k]; R[i,k] = P[i,k]*M[i,k]; y[i] = P[i,k]*x[k]"
SOFTMAX = """tmp m[i] max= A[i,j]
tmp E[i,j] = exp(A[i,j] - m[i])*stored(A[i,j])
tmp d[i] += E[i,j]
P[i,j] = E[i,j]/d[i]"""
INSIDE = "tmp t[i] = A[i,j]*x[j]; y[i] = M[i,j]*relu(t[j]); z[i] = y[i]/(t[i] + 1)"
OWN = [CHAIN, FACTORS, TWICE, SOFTMAX, INSIDE]
APART = [
    "; ".join([*(f"tmp {a}" for a in p.split("; ")[:-1]), p.split("; ")[-1]]) for p in test_apart.PROGRAMS
]


def dense(x: torch.Tensor) -> torch.Tensor:
    return x.to_dense() if scorch.is_sparse(x) else x


def every(x: object) -> tuple[torch.Tensor, ...]:
    return x if isinstance(x, tuple) else (x,)


def both(text: str, named: dict[str, torch.Tensor], run=scorch.evaluate) -> tuple[list, list]:
    """What the program returns, and the same results of the one that returns them all."""
    shown = [not line.strip().startswith("tmp ") for line in text.replace("\n", ";").split(";")]
    got, all_of_them = every(run(text, **named)), every(run(text.replace("tmp ", ""), **named))
    assert len(all_of_them) == len(shown)
    return list(got), [x for x, s in zip(all_of_them, shown, strict=True) if s]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "form, dtype",
    [("csr", torch.float64), ("csr", torch.float32), ("csc", torch.float32), ("coo", torch.float64)],
)
@pytest.mark.parametrize("text", [*OWN, *APART])
def test_what_is_returned_is_the_same(text, form, dtype):
    got, want = both(text, test_apart.used(text, test_apart.operands(form, dtype)))
    for x, y in zip(got, want, strict=True):
        assert scorch.is_sparse(x) == scorch.is_sparse(y)
        assert torch.allclose(dense(x), dense(y))


@pytest.mark.parametrize("text", [*OWN, *APART])
def test_gradients(text):
    found = []
    for returned in (True, False):
        named = test_apart.used(text, test_apart.operands("csr"))
        for x in named.values():
            x.requires_grad_()
        results = both(text, named)[returned]
        sum((dense(x) ** 2).sum() for x in results).backward()
        found.append([dense(x.grad) for x in named.values()])
    for x, y in zip(*found, strict=True):
        assert torch.allclose(x, y)


@pytest.mark.parametrize("text", [CHAIN, TWICE])
def test_compiled(text):
    named = test_apart.used(text, test_apart.operands("csr"))
    torch._dynamo.reset()
    run = torch.compile(lambda **named: scorch.evaluate(text, **named), fullgraph=True)
    for x, y in zip(every(run(**named)), both(text, named)[1], strict=True):
        assert torch.allclose(dense(x), dense(y))
    for x, y in zip(every(scorch.compile(text, **named)(**named)), both(text, named)[1], strict=True):
        assert torch.allclose(dense(x), dense(y))


def test_a_product_joins_what_reads_it():
    named = test_apart.used(CHAIN, test_apart.operands("csr"))
    said = scorch.explain(CHAIN, **named)
    assert "H[" not in said and "Z[" not in said and "relu(" in said
    asked = scorch.compile(CHAIN, **named, schedule="path()")
    again = scorch.compile(CHAIN, **named, schedule=asked.directives)
    assert again.schedule == asked.schedule


def test_formats_and_out_are_of_what_is_returned():
    named = test_apart.used(TWICE, test_apart.operands("csr"))
    R, y = scorch.evaluate(TWICE, **named, format=["csc", None])
    assert str(R.format) == "csc" and not scorch.is_sparse(y)
    into = torch.empty(9, dtype=torch.float64)
    assert scorch.evaluate(TWICE, **named, out=(None, into))[1] is into
    named["A"].requires_grad_()
    assert str(scorch.evaluate(TWICE, **named, format=["csc", None])[0].format) == "csc"
    with pytest.raises(ValueError, match="2, one a result, got 3"):
        scorch.evaluate(TWICE, **named, format=["csc", None, None])


def test_what_is_refused():
    A = scorch.sparse(torch.eye(3))
    with pytest.raises(ValueError, match=r"tmp t is not read; remove it.*\n.*tmp t\[i\]"):
        scorch.evaluate("tmp t[i] = A[i,j]*A[j,i]; C[i] = A[i,j]*2", A=A)
    with pytest.raises(ValueError, match="every result is a tmp"):
        scorch.evaluate("tmp t[i] = A[i,j]*A[j,i]", A=A)
    with pytest.raises(ValueError, match="t is assigned twice"):
        scorch.evaluate("tmp t[i] = A[i,j]*A[j,i]; t[i] = A[i,i]; C[i] = t[i]", A=A)
    with pytest.raises(ValueError, match="unknown tensor t"):
        scorch.evaluate("C[i] = t[i]; tmp t[i] = A[i,j]*A[j,i]", A=A)


def test_it_names_a_tensor_too():
    A = scorch.sparse(torch.eye(3))
    assert scorch.evaluate("tmp max= A[i,j]", A=A) == 1
    assert scorch.evaluate("tmp[i] = A[i,j]*A[i,j]; C[i] = tmp[i]*2", A=A)[1].tolist() == [2, 2, 2]
    assert scorch.evaluate("C[i] = tmp[i,j]*2", tmp=A).tolist() == [2, 2, 2]


def test_random_programs_have_temporaries():
    made = list(generate.problems(300, seed=5))
    assert sum(a.hidden for p in made for a in p.assigns) > 5

"""Programs in steps: every order of contraction gives what one nest gives, and the cheap one is chosen."""

import itertools
import random
import re
from collections.abc import Iterator

import native
import pytest
import torch

import scorch

EXTENT = dict(zip("bijklmfgn", (3, 6, 5, 7, 4, 5, 3, 4, 5), strict=True))


def matrix(
    rng: random.Random,
    indices: str,
    form: str,
    dtype: torch.dtype = torch.float64,
    share: float = 0.4,
    times: int = 1,
) -> torch.Tensor:
    """Small integers, so that sums are exact in any order; a share of the entries of sparse ones is there."""
    shape = [times * EXTENT[i] for i in indices]
    x = torch.tensor([float(rng.randint(-3, 3)) for _ in range(torch.Size(shape).numel())]).reshape(shape)
    if form != "dense":
        x = x * torch.tensor([rng.random() < share for _ in range(x.numel())]).reshape(shape)
    return x.to(dtype)


def held(x: torch.Tensor, form: str) -> torch.Tensor:
    return x if form == "dense" else scorch.sparse(x, format=form)


def dense(x: torch.Tensor) -> torch.Tensor:
    return x.to_dense() if scorch.is_sparse(x) else x


def trees(names: tuple[str, ...]) -> Iterator[str]:
    """Every way to put brackets around two or more of these, once each."""
    if len(names) == 1:
        yield names[0]
        return
    for parts in partitions(names):
        if len(parts) > 1:
            for each in itertools.product(*(tuple(trees(p)) for p in parts)):
                yield f"({' '.join(each)})"


def partitions(names: tuple[str, ...]) -> Iterator[list[tuple[str, ...]]]:
    if not names:
        yield []
        return
    first, rest = names[0], names[1:]
    for n in range(len(rest) + 1):
        for others in itertools.combinations(rest, n):
            left = tuple(x for x in rest if x not in others)
            for more in partitions(left):
                yield [(first, *others), *more]


SPECS = [
    ("ij,jk,kf->if", ("csr", "csr", "dense")),
    ("ij,jk,k->i", ("csr", "csc", "dense")),
    ("ji,jk,kf->if", ("csr", "coo", "dense")),
    ("ij,jk,kl->il", ("csr", "csr", "csr")),
    ("ij,jk,ik->ik", ("csr", "csr", "csr")),
    ("ij,ik,jk->ij", ("csr", "dense", "dense")),
    ("i,ij,j->", ("dense", "csr", "dense")),
    ("ijk,jf,kf->if", ("csf", "dense", "dense")),
    ("ij,jk,kl,lf->if", ("csr", "csr", "dcsr", "dense")),
    ("ij,if,jf,jg->ig", ("csr", "dense", "dense", "dense")),
    ("bi,ij,jk,kl->bl", ("dense", "csr", "csr", "csr")),
    ("i,ij,j,jk->ik", ("dense", "csr", "dense", "dense")),
    ("ijk,ib,jf,kg->bfg", ("csf", "dense", "dense", "dense")),
]  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("text, formats", SPECS, ids=[s[0] for s in SPECS])
def test_every_order_gives_the_same(text: str, formats: tuple[str, ...]):
    rng = random.Random(text)
    left = text.partition("->")[0].split(",")
    plain = [matrix(rng, i, f) for i, f in zip(left, formats, strict=True)]
    given = [held(x, f) for x, f in zip(plain, formats, strict=True)]
    want = torch.einsum(text, *plain)
    orders = list(trees(tuple("ABCDEF"[: len(given)])))
    assert len(orders) == {3: 4, 4: 26}[len(given)]
    form = scorch.compile(text, *given, schedule="path()")(*given)
    for order in orders:
        got = scorch.einsum(text, *given, schedule=f"path{order}")
        assert torch.equal(dense(got), want), order
        assert scorch.is_sparse(got) == scorch.is_sparse(form), order


def asked_otherwise(x: torch.Tensor) -> str:
    """A format that is sparse where the result is dense, and the other way round."""
    return "dense" if scorch.is_sparse(x) else {1: "coo", 2: "csr"}.get(x.dim(), "csf")


def check_orders(text: str, formats: tuple[str, ...], orders: list[str], share: float, times: int) -> bool:
    """Dense and sparse results of these orders; whether any temporary was sparse."""
    rng = random.Random(text)
    left = text.partition("->")[0].split(",")
    plain = [matrix(rng, i, f, share=share, times=times) for i, f in zip(left, formats, strict=True)]
    given = [held(x, f) for x, f in zip(plain, formats, strict=True)]
    want, sparse = torch.einsum(text, *plain), False
    forms = [None, asked_otherwise(scorch.einsum(text, *given, schedule="path()"))]
    for order, form in itertools.product(orders, forms[: 1 + (want.dim() > 0)]):
        how = {"format": form, "schedule": f"path{order}"}
        assert torch.equal(dense(scorch.einsum(text, *given, **how)), want), (order, form)
        plan = scorch.explain(text, *given, **how).partition("\n\n")[0]
        sparse |= re.search(r"^t\d+\[.*\n  ->  (?!dense)", plan, re.M) is not None
    return sparse


THREE = [s for s in SPECS if len(s[1]) == 3]
FIVE = [
    ("ij,jk,kl,lm,mf->if", ("csr", "csr", "csc", "csr", "dense")),
    ("i,ij,jk,kl,l->", ("dense", "csr", "csr", "csr", "dense")),
    ("ij,jk,ik,kl,lf->if", ("csr", "csr", "csr", "csr", "dense")),
    ("ij,if,jf,jk,kg->ig", ("csr", "dense", "dense", "dcsr", "dense")),
    ("ij,jk,kl,lm,mn->in", ("csr", "coo", "csr", "csc", "csr")),
]  # fmt: skip


@pytest.mark.wide
@pytest.mark.parametrize("share, times", [(0.4, 1), (0.04, 4)])
def test_every_order_gives_the_same_in_every_form(share, times):
    """Of three factors all, of five some; temporaries are dense, and sparse where nearly nothing is there."""
    found = [check_orders(*spec, list(trees(("A", "B", "C"))), share, times) for spec in THREE]
    some = random.Random(0).sample(list(trees(tuple("ABCDE"))), 6)
    found += [check_orders(*spec, some, share, times) for spec in FIVE[:2]]
    assert any(found)


@pytest.mark.slow
@pytest.mark.parametrize("share, times", [(0.4, 1), (0.04, 4)])
@pytest.mark.parametrize("text, formats", FIVE, ids=[s[0] for s in FIVE])
def test_every_order_of_five_gives_the_same(text, formats, share, times):
    orders = list(trees(tuple("ABCDE")))
    assert len(orders) == 236
    check_orders(text, formats, orders, share, times)


TERMS = [
    ("A[i,j]*B[j,k]*X[k,f]", "C[i,j]*D[j,k]*Y[k,f]", "csr csr csr csc dense dense"),
    ("A[i,j]*B[j,k]*X[k,f]", "C[i,j]*Y[j,f]", "csr csr coo csr dense dense"),
    ("A[i,j]*X[i,f]*Y[j,f]", "B[i,j]*C[j,i]*Y[i,f]", "csr csr csr csr dense dense"),
]


@pytest.mark.sampled
@pytest.mark.parametrize("sign", "+-")
@pytest.mark.parametrize("first, second, formats", TERMS, ids=[f"{a} {b}" for a, b, _ in TERMS])
def test_every_order_of_sums_of_terms(first, second, formats, sign):
    """Each term in each of its orders, for a result with two indices and with one."""
    names = [tuple(re.findall("[A-Z]", term)) for term in (first, second)]
    rng = random.Random(first + second)
    plain = {n: some_square(rng, f) for n, f in zip("ABCDXY", formats.split(), strict=True)}
    given = {n: held(plain[n], f) for n, f in zip("ABCDXY", formats.split(), strict=True)}
    used = {n: given[n] for n in {*names[0], *names[1]}}
    for left in ("if", "i"):
        want = [einsum_of(term, left, plain) for term in (first, second)]
        want = want[0] + want[1] if sign == "+" else want[0] - want[1]
        for orders in itertools.product(*(trees(n) for n in names)):
            how = " ".join(f"path{o}" for o, n in zip(orders, names, strict=True) if len(n) > 2)
            text = f"R[{','.join(left)}] = {first} {sign} {second}"
            assert torch.equal(dense(scorch.evaluate(text, **used, schedule=how)), want), (text, how)


def some_square(rng: random.Random, form: str) -> torch.Tensor:
    x = torch.tensor([float(rng.randint(-3, 3)) for _ in range(49)]).reshape(7, 7).double()
    keeps = torch.tensor([rng.random() < 0.4 for _ in range(49)]).reshape(7, 7)
    return x if form == "dense" else x * keeps


def einsum_of(term: str, left: str, named: dict[str, torch.Tensor]) -> torch.Tensor:
    factors = re.findall(r"([A-Z])\[(\w),(\w)\]", term)
    return torch.einsum(
        ",".join(a + b for _, a, b in factors) + f"->{left}", *(named[n] for n, _, _ in factors)
    )


@pytest.mark.wide
def test_random_orders_of_random_products():
    """With functions, divisors, sums beside them, all results asked dense or sparse, single precision too."""
    for seed in range(60):
        rng = random.Random(seed)
        names = "ABCDE"[: rng.randint(3, 5)]
        tensors, accesses = {}, []
        for name in names:
            ix = rng.sample("ijklm", rng.choice((1, 2, 2, 2)))
            form = rng.choice(("csr", "csr", "coo", "dense")) if len(ix) == 2 else "dense"
            tensors[name] = (matrix(rng, "".join(ix), form, rng.choice((torch.float32, torch.float64))), form)
            accesses.append((name, ix))
        used = sorted({i for _, ix in accesses for i in ix})
        out = rng.sample(used, min(len(used), rng.randint(0, 2)))
        body = " * ".join(f"{n}[{','.join(ix)}]" for n, ix in accesses)
        order = rng.choice(list(trees(tuple(names))))
        given = {n: held(x, f) for n, (x, f) in tensors.items()}
        left = f"R[{','.join(out)}]" if out else "R"
        got = scorch.evaluate(f"{left} = {body}", schedule=f"path{order}", **given)
        text = ",".join("".join(ix) for _, ix in accesses) + "->" + "".join(out)
        want = torch.einsum(text, *(x.double() for x, _ in tensors.values()))
        assert torch.allclose(dense(got).double(), want), (seed, body, order)


# ---- what is chosen ----
def graph(n: int, degree: int, seed: int = 0) -> scorch.SparseTensor:
    r = torch.Generator().manual_seed(seed)
    cols = torch.randint(n, (n * degree,), generator=r)
    rows = torch.arange(n).repeat_interleave(degree)
    values = torch.rand(n * degree, generator=r) + 0.5
    return scorch.sparse(torch.sparse_coo_tensor(torch.stack((rows, cols)), values, (n, n)).coalesce())


def plan(text: str, *operands: torch.Tensor, **named: torch.Tensor) -> str:
    return scorch.compile(text, *operands, **named).directives


def test_a_chain_is_taken_from_its_thin_end():
    a, b, x = graph(3000, 10), graph(3000, 10, 1), torch.rand(3000)
    assert plan("ij,jk,k->i", a, b, x) == "path(A (B C))"
    assert torch.allclose(scorch.einsum("ij,jk,k->i", a, b, x), a @ (b @ x))
    y = torch.rand(3000, 32)
    assert plan("ij,jk,kl,lf->if", a, b, a, y) == "path(A (B (C D)))"
    assert torch.allclose(scorch.einsum("ij,jk,kl,lf->if", a, b, a, y), a @ (b @ (a @ y)), rtol=1e-4)


def test_one_nest_stays_where_it_is_as_cheap():
    a, q, k = graph(3000, 10), torch.rand(3000, 16), torch.rand(3000, 16)
    assert "path" not in plan("ij,if,jf->ij", a, q, k)
    assert "path" not in plan("ij,jf->if", a, q)
    assert "path" not in plan(
        "s[i] = a[i,j] * x[j] + b[i]", a=a, x=q[:, 0].contiguous(), b=k[:, 0].contiguous()
    )


def test_terms_and_sums_inside_are_computed_first():
    a, x = graph(1000, 20), torch.rand(1000, 16)
    w, v = torch.rand(16, 16), torch.rand(16, 8)
    text = "Y[i,f] = A[i,j] * relu(A[j,k]*X[k,g]*W[g,h]) * V[h,f]"
    steps = scorch.explain(text, A=a, X=x, W=w, V=v)
    assert steps.startswith("t1[")
    got = scorch.evaluate(text, A=a, X=x, W=w, V=v)
    assert torch.allclose(got, (a @ torch.relu(a @ x @ w)) @ v, rtol=1e-4)
    u, low = torch.rand(1000, 8), torch.rand(8, 64)
    text = "y[b,o] = x[b,i]*W[i,o] + x[b,i]*U[i,r]*L[r,o]"
    weight = scorch.sparse(torch.rand(1000, 64) * (torch.rand(1000, 64) < 0.1))
    rows = torch.rand(32, 1000)
    got = scorch.evaluate(text, x=rows, W=weight, U=u, L=low)
    assert torch.allclose(got, rows @ weight.to_dense() + rows @ u @ low, rtol=1e-4)
    assert scorch.explain(text, x=rows, W=weight, U=u, L=low).startswith("t1[")


CROWDS = (
    "A[i,j] + B[i,j] - C[i,j] + D[i,j] + E[i,j] - F[i,j] + G[i,j]",
    "-A[i,j] * B[i,j] - C[i,j] * D[i,j] + E[i,j] * F[i,j] - G[i,j] * H[i,j]",
    "A[i,j] - X[i,j] + B[i,j] * X[i,j] + C[i,j] + D[i,j] + E[i,j] * F[i,j] - G[i,j] + 2 * H[i,j]",
    "relu(A[i,j]) + B[i,j] + C[i,j] + D[i,j] / X[i,j] + E[i,j] + F[i,j] + G[i,j] + H[i,j] + A[i,j] * B[i,j]",
)


@pytest.mark.parametrize("form", ("csr", "csc", "coo", "ell(7)"))
@pytest.mark.parametrize("text", CROWDS)
def test_sums_over_more_than_merge_are_taken_some_at_a_time(text, form):
    """No loop merges all of them; those of products and dense operands too, with gradients."""
    rng = random.Random(text)
    twins = {c: matrix(rng, "jk", "csr").T.contiguous() for c in "ABCDEFGH" if c in text}
    given = {c: scorch.sparse(x, form).requires_grad_() for c, x in twins.items()}
    for c in [c for c in "X" if c in text]:
        twins[c] = matrix(rng, "kj", "dense") + 5
        given[c] = twins[c].clone().requires_grad_()
    same = {c: x.clone().requires_grad_() for c, x in twins.items()}
    sparse = "X" not in text or "- X" not in text
    for format in ("dense", "csr") if sparse else ("dense",):
        got = scorch.evaluate(f"R[i,j] = {text}", format=format, **given)
        want = scorch.evaluate(f"R[i,j] = {text}", **same)
        torch.testing.assert_close(dense(got), want)
        for ours, theirs in zip(
            torch.autograd.grad(dense(got).square().sum(), [*given.values()]),
            torch.autograd.grad(want.square().sum(), [*same.values()]),
            strict=True,
        ):
            torch.testing.assert_close(
                dense(ours), theirs * (dense(ours) != 0) if scorch.is_sparse(ours) else theirs
            )
    assert "t1[" in str(scorch.explain(f"R[i,j] = {text}", **given))


def sparser(seed: int) -> scorch.SparseTensor:
    return graph(1500, (8, 5, 3)[seed], seed).to(index_dtype=torch.int32)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "text, form",
    [
        *(("R[i,k] = A[i,j] * B[j,k] + C[i,k]", form) for form in ("csr", "csc", "coo", "dcsr")),
        ("R[i,k] = A[i,k] - 2 * B[i,j] * C[j,k]", "csr"),
        ("R[i,k] = A[i,j] * B[j,k] + B[i,l] * C[l,k] - A[i,k]", "csr"),
        ("R[k,i] = A[i,j] * B[j,k] - C[k,i]", "csr"),
    ],
)
def test_terms_of_a_sparse_result_are_computed_first_and_merged(text, form):
    a, b, c = (sparser(seed).convert(form).requires_grad_() for seed in range(3))
    made = scorch.evaluate(text, A=a, B=b, C=c)
    if form == "csr" and (64 in native.widths() or "l" in text):
        steps = str(scorch.explain(text, A=a, B=b, C=c))
        assert steps.startswith("t1[") and re.search(r"R\[.*\] = .*t1\[", steps)
    again = scorch.evaluate(text, A=a, B=b, C=c, schedule="path()")
    same = [x.detach().to_dense().requires_grad_() for x in (a, b, c)]
    wanted = scorch.evaluate(text, A=same[0], B=same[1], C=same[2])
    torch.testing.assert_close(made.to_dense(), wanted)
    torch.testing.assert_close(again.to_dense(), wanted)
    assert made.nnz == again.nnz
    made.to_dense().square().sum().backward()
    wanted.square().sum().backward()
    for x, y in zip((a, b, c), same, strict=True):
        torch.testing.assert_close(x.grad.to_dense(), y.grad * (x.detach().to_dense() != 0))


def test_functions_of_dense_operands_are_computed_once():
    a, s, x = graph(2000, 12), torch.randn(2000), torch.randn(2000, 8)
    text = "Y[i,f] = A[i,j] * tanh(X[j,f]) / sqrt(exp(s[j]))"
    steps = scorch.explain(text, A=a, X=x, s=s)
    assert "= tanh(X[j,f])" in steps
    assert "= sqrt(exp(s[j]))" in steps
    a, s, x = a.requires_grad_(), s.requires_grad_(), x.requires_grad_()
    wide = [t.detach().double().requires_grad_() for t in (a.to_dense(), s, x)]
    got = scorch.evaluate(text, A=a, X=x, s=s)
    want = (wide[0] / wide[1].exp().sqrt()) @ wide[2].tanh()
    assert torch.allclose(got.double(), want, rtol=1e-4, atol=1e-5)
    weight = torch.randn_like(got)
    found = torch.autograd.grad((got * weight).sum(), (a, s, x))
    for one, other in zip(found, torch.autograd.grad((want * weight).sum(), wide), strict=True):
        stored = (a.detach().to_dense() != 0) if scorch.is_sparse(one) else 1
        assert torch.allclose(dense(one).double(), other * stored, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "text",
    [
        "y[i] = W[i,j] * exp(s[j])",  # in the precision of W, which a step by itself has not
        "y[i] = B[i,j] * exp(s[j])",  # there are few entries
        "y[i] = A[i,j] * exp(s[i] + s[j])",
        "y[i] = A[i,j] / s[j]",
    ],
)
def test_other_functions_stay_at_the_entries(text: str):
    a, few, s = graph(2000, 12), graph(2000, 1), torch.rand(2000) + 1
    given = {"A": a, "B": few, "W": a.double(), "s": s}
    given = {name: x for name, x in given.items() if name in text}
    assert len(scorch.explain(text, **given).steps) == 1


def test_terms_of_a_reduction_are_added_once():
    a, b = graph(400, 6), graph(400, 6, 1)
    x = torch.rand(400, 8)
    d, e = a.to_dense(), b.to_dense()
    for text, want in (
        ("C += A[i,j] * (A[i,j] + B[i,j])", (d * (d + e)).sum()),
        ("C[i] += A[i,j] * (A[i,j] - B[i,j])", (d * (d - e)).sum(1)),
        ("C[i,f] += (A[i,j] + B[i,j]) * X[j,f]", (d + e) @ x),
        ("C[i,f] = (A[i,j] - B[i,j]) * X[j,f]", (d - e) @ x),
    ):
        given = {"A": a, "B": b, **({"X": x} if "X" in text else {})}
        assert torch.allclose(dense(scorch.evaluate(text, **given)), want, rtol=1e-4, atol=1e-4), text


@pytest.mark.wide
def test_sparse_results_store_what_operands_cover():
    """Zeros too: gradients at them are not lost."""
    a, b = graph(300, 4), graph(300, 4, 1)
    zero = torch.zeros(300)
    for text, given in (
        ("R[m,i] = x[i] * A[i,n] * B[m,l] * A[i,n]", {"A": a, "B": b, "x": zero}),
        ("R[i,l] = A[i,j] * B[j,k] * A[k,l] * x[l]", {"A": a, "B": b, "x": zero}),
    ):
        whole = scorch.evaluate(text, schedule="path()", **given)
        assert scorch.evaluate(text, **given).nnz == whole.nnz > 300
        for order in trees(("x", "A", "B") if "A[i,n]" in text else ("A", "B", "A_1", "x")):
            try:
                got = scorch.evaluate(text, schedule=f"path{order}", **given)
            except ValueError:
                continue
            assert got.nnz == whole.nnz, order


# ---- infinities ----
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_infinities_anywhere_are_seen(dtype):
    """A row of A has no entry: its sum is zero, whatever stands beside it."""
    n, k = 700, 3  # more than is looked at in one piece, and a rest
    a = scorch.sparse(torch.zeros(n, n, dtype=dtype), format="csr")
    d = torch.eye(n, dtype=dtype)
    d[5] = 0
    b, x = scorch.sparse(d, format="csr"), torch.rand(n, k, dtype=dtype)
    for row, bad in ((0, torch.inf), (n - 1, torch.nan), (333, -torch.inf)):
        y = x.clone()
        for _ in range(20):  # one that met an infinity is followed by runs as one nest
            scorch.einsum("ij,jk,kf->if", a, b, y)
        y[row, k - 1] = bad
        assert not scorch.einsum("ij,jk,kf->if", a, b, y).any()
        got = scorch.evaluate("R[i,f] = A[i,j]*B[j,k]*X[k,f] + B[i,k]*X[k,f]", A=a, B=b, X=y)
        assert torch.equal(got.isfinite(), (b @ y).isfinite())


def test_infinities_are_those_of_one_nest():
    """A row without entries has no term: no infinity beside it makes a NaN."""
    for bad in (torch.inf, -torch.inf, torch.nan):
        a = torch.zeros(6, 5)
        a[0, 1], a[2, 3], a[3, 0] = bad, 2, 1
        b = torch.zeros(5, 7)
        b[3, 2], b[0, 1] = 3, 1
        x = torch.rand(7, 4)
        x[1, 2] = bad
        given = (scorch.sparse(a, format="csr"), scorch.sparse(b, format="csr"), x)
        want = scorch.einsum("ij,jk,kf->if", *given, schedule="path()")
        assert not want[0].any()
        for order in trees(("A", "B", "C")):
            got = scorch.einsum("ij,jk,kf->if", *given, schedule=f"path{order}")
            assert torch.equal(got.isfinite(), want.isfinite()), order
            assert torch.allclose(got, want, equal_nan=True), order


# ---- the rest of the package ----
def test_gradients_and_operators():
    a, b, x = graph(400, 6), graph(400, 6, 1), torch.rand(400, 8)
    values = a.values().clone().requires_grad_()
    weighted = a._with_values(values)
    y = x.clone().requires_grad_()
    scorch.einsum("ij,jk,kf->if", weighted, b, y).square().sum().backward()
    da, db = a.to_dense().requires_grad_(), b.to_dense()
    z = x.clone().requires_grad_()
    (da @ (db @ z)).square().sum().backward()
    assert torch.allclose(y.grad, z.grad, rtol=1e-4)
    rows, cols = a.indices()
    assert torch.allclose(values.grad, da.grad[rows, cols], rtol=1e-4)
    compiled = torch.compile(
        lambda x: scorch.einsum("ij,jk,kf->if", a, b, x) + 1, fullgraph=True, backend="eager"
    )
    assert torch.allclose(compiled(x), a @ (b @ x) + 1, rtol=1e-4)


def test_results_into_out_and_formats_that_are_asked():
    a, b, c, x = graph(300, 5), graph(300, 5, 1), graph(300, 5, 2), torch.rand(300, 8)
    out = torch.empty(300, 8)
    got = scorch.einsum("ij,jk,kf->if", a, b, x, out=out, schedule="path(A (B C))")
    assert got.data_ptr() == out.data_ptr()
    assert torch.allclose(out, a @ (b @ x))
    want = (a @ b @ c).to_dense()
    for form in ("csr", "csc", "dense", "coo", "dcsr"):
        for order in ("((A B) C)", "(A (B C))"):
            got = scorch.einsum("ij,jk,kl->il", a, b, c, format=form, schedule=f"path{order}")
            assert torch.allclose(dense(got), want, rtol=1e-4), (form, order)
            assert form == "dense" or str(got.format) == form


def test_assignments_around_stay_as_they_are():
    a, b, x = graph(500, 8), graph(500, 8, 1), torch.rand(500, 16)
    got = scorch.evaluate(
        "n[i] = A[i,j] * A[i,j]; y[i,f] = A[i,j] * B[j,k] * X[k,f]; z[i,f] = y[i,f] / (1 + n[i])",
        A=a,
        B=b,
        X=x,
    )
    n = a.to_dense().square().sum(1)
    y = a @ (b @ x)
    for u, v in zip(got, (n, y, y / (1 + n[:, None])), strict=True):
        assert torch.allclose(u, v, rtol=1e-4)


@pytest.mark.parametrize(
    "words", ["path(A B)", "path((A B) (C D))", "path(A (B A))", "path(A B C", "path(A (B))"]
)
def test_orders_that_are_none_are_refused(words: str):
    a, x = graph(50, 3), torch.rand(50)
    with pytest.raises(ValueError, match=r"path|expected"):
        scorch.einsum("ij,jk,k->i", a, a, x, schedule=words)


def test_steps_run_as_asked():
    a, x = graph(200, 8), torch.rand(200)
    for schedule in ("C: ahead(4)", "B: ahead(4)", "B : ahead(4) ; A:parallel(i);"):
        kernel = scorch.compile("ij,jk,k->i", a, a.clone(), x, schedule=schedule)
        said = kernel.explain()
        assert "as asked: ahead(4)" in said and ("as asked: parallel(i)" in said) == ("A" in schedule)
        assert torch.allclose(kernel(a, a, x), a @ (a @ x), rtol=1e-4)


@pytest.mark.parametrize(
    ("expression", "schedule", "said"),
    [
        ("ij,jk,k->i", "B: ahead(4); C: ahead(4)", "and no other operand with a schedule, got B"),
        ("ij,jk,kl->il", "D: ahead(8)", "expected the name of an operand and a colon"),
        ("ij,jk,kl->il", "A: ahead(8); ahead(8)", "expected the name of an operand and a colon"),
        ("ij,jk,kl->il", "A: tile(q: 2)", "q is no index of the expression"),
        ("ij,jk->ik", "A: ahead(8)", "expected a program in steps"),
    ],
)
def test_steps_that_are_none_are_refused(expression: str, schedule: str, said: str):
    operands = [graph(50, 3), torch.rand(50, 8), torch.rand(8, 4)][: expression.count(",") + 1]
    if expression == "ij,jk,k->i":
        operands = [graph(200, 8), graph(200, 8), torch.rand(200)]
    with pytest.raises(ValueError, match=said):
        scorch.compile(expression, *operands, schedule=schedule)


def test_nests_of_steps_are_refused():
    a, x = graph(200, 8), torch.rand(200)
    kernel = scorch.compile("ij,jk,k->i", a, a, x)
    assert "-- step 2" in kernel.schedule
    with pytest.raises(ValueError, match="those of the steps of a program"):
        scorch.compile("ij,jk,k->i", a, a, x, schedule=kernel.schedule)
    again = scorch.compile("ij,jk,k->i", a, a, x, schedule=kernel.directives)
    assert again.schedule == kernel.schedule


@pytest.mark.parametrize("words", ["path(A (B C))", " path ( A(B C) )", "path()", "path ( )"])
def test_blanks_do_not_matter(words: str):
    a, x = graph(50, 3), torch.rand(50)
    assert torch.allclose(scorch.einsum("ij,jk,k->i", a, a, x, schedule=words), a @ (a @ x), rtol=1e-4)


def test_an_order_that_is_asked_is_taken_where_products_are_nearly_full():
    """A dense temporary would not say what the result stores."""
    a = graph(60, 12)
    for words, first in (
        ("path(A (B C))", "t1[j,l] += B[j,k] * C[k,l]"),
        ("path((A B) C)", "t1[i,k] += A[i,j]"),
    ):
        assert scorch.explain("ij,jk,kl->il", a, a, a, schedule=words).startswith(first)
        got = scorch.einsum("ij,jk,kl->il", a, a, a, schedule=words)
        assert got.format == "csr" and torch.allclose(got.to_dense(), a.to_dense().matrix_power(3), rtol=1e-4)


@pytest.mark.parametrize("name", ["path", "path2", "pathology"])
def test_a_nest_may_assign_to_a_name_like_the_word(name: str):
    got = scorch.evaluate(f"{name} = 2 * x", x=torch.tensor(3.0), schedule=f"{name} = 2 * x")
    assert got == 6


def test_explain_prints_the_steps_first():
    a, x = graph(2000, 8), torch.rand(2000)
    text = scorch.explain("ij,jk,k->i", a, a, x)
    assert text.startswith("t1[j] += B[j,k] * C[k]\n  ->  dense, ")
    assert "-- step 2: out[i] += A[i,j] * t1[j]" in text


def test_many_assignments_keep_their_loops():
    """Each product of a long program is shared out over threads as it is alone."""
    given = {f"A{k}": graph(200 + 40 * k, 8, k) for k in range(8)}
    xs = {f"x{k}": torch.rand(200 + 40 * k) for k in range(8)}
    text = "; ".join(f"y{k}[i{k}] = A{k}[i{k},j{k}] * x{k}[j{k}]" for k in range(8))
    for y, a, x in zip(scorch.evaluate(text, **given, **xs), given.values(), xs.values(), strict=True):
        assert torch.allclose(y, a @ x)
    made = scorch.compile(text, **given, **xs)
    assert made.schedule.count("par i") == 8
    assert "finish_7" in made.source


# ---- random programs, large enough that steps are chosen ----
def drawn(seed: int) -> tuple[str, dict[str, tuple[str, torch.Tensor]], str]:
    """A product of three to six factors, its operands, and the same for torch.einsum."""
    rng = random.Random(seed)
    extent = {i: rng.choice((2, 60, 150, 300)) for i in "ijklmn"}
    count = rng.randint(3, 6)
    chain = rng.sample("ijklmn", rng.randint(2, 5))
    for i in chain:  # what torch makes of a chain of dense matrices has room
        if torch.Size([extent[i] for i in chain]).numel() > 10_000_000:
            extent[i] = 2
    operands, accesses = {}, []
    for name in "ABCDEF"[:count]:
        rank = rng.choice((1, 2, 2, 2))
        at = rng.randrange(len(chain))
        ix = [chain[at], chain[(at + 1) % len(chain)]][:rank]
        form = rng.choice(("csr", "csr", "csc", "dense")) if rank == 2 else "dense"
        x = torch.tensor(
            [float(rng.randint(-2, 2)) for _ in range(torch.Size([extent[i] for i in ix]).numel())]
        )
        x = x.reshape([extent[i] for i in ix]).double()
        if form != "dense":
            x = x * (torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) < 0.08)
        operands[name] = (form, x)
        accesses.append((name, ix))
    used = sorted({i for _, ix in accesses for i in ix})
    out = rng.sample(used, min(len(used), rng.choice((0, 1, 2, 2))))
    body = " * ".join(f"{name}[{','.join(ix)}]" for name, ix in accesses)
    text = ",".join("".join(ix) for _, ix in accesses) + "->" + "".join(out)
    return (f"R[{','.join(out)}]" if out else "R") + f" = {body}", operands, text


def check_random(seed: int) -> bool:
    """Result and gradients against torch on dense twins; whether the program was taken in steps."""
    text, operands, einsum = drawn(seed)
    twins = [x.clone().requires_grad_() for _, x in operands.values()]
    want = torch.einsum(einsum, *twins)
    weight = torch.randint(-2, 3, want.shape, generator=torch.Generator().manual_seed(seed)).double()
    (want * weight).sum().backward()
    given = {name: held(x.clone(), form).requires_grad_() for name, (form, x) in operands.items()}
    got = scorch.evaluate(text, **given)
    assert torch.equal(dense(got), want), (seed, text)
    (dense(got) * weight).sum().backward()
    for x, twin in zip(given.values(), twins, strict=True):
        grad = twin.grad
        if scorch.is_sparse(x):
            grad = grad[tuple(x.indices())]
            assert torch.equal(x.grad.values(), grad), (seed, text)
        else:
            assert torch.equal(x.grad, grad), (seed, text)
    return "path" in scorch.compile(text, **{k: x.detach() for k, x in given.items()}).directives


@pytest.mark.wide
def test_random_programs_with_gradients():
    taken = [check_random(seed) for seed in (1, 6, 13, 27, 44, 54, 67, 90)]
    assert sum(taken) > 3


@pytest.mark.slow
def test_random_programs_with_gradients_at_length():
    assert sum(check_random(seed) for seed in range(100, 400)) > 10


def test_a_sum_that_no_text_can_say_stays_where_it_is():
    A = scorch.sparse(torch.randint(-2, 3, (5, 6)).float(), format="csr")
    assert not scorch.evaluate("C[i] += (A[k,i] > A[j,i]) * (A[k,i] - A[k,i])", A=A).any()


def test_a_result_with_levels_of_a_layout_that_a_step_reads():
    d = torch.zeros(3, 6)
    d[range(3), (4, 0, 5)] = torch.tensor([2.0, -1, 3])
    A = scorch.sparse(d, format="compressed(0/1), singleton(1, nonunique), dense(0%1)")
    for _ in range(2):
        C, S = scorch.evaluate("C = (A[k,i] + A[k,i]) * (A[k,i] / 2); S[k,i] = A[k,i] * A[k,i]", A=A)
        assert torch.equal(C, (d * d).sum())
        assert torch.equal(S.to_dense(), d * d)


def test_explain_shows_what_was_next_best_and_what_a_run_made():
    torch.manual_seed(0)
    A = scorch.sparse((torch.rand(90, 80) < 0.1).float(), "csr")
    B = scorch.sparse((torch.rand(80, 70) < 0.1).float(), "csr")
    X = torch.rand(70, 50)
    said = scorch.explain("ij,jk,kf->if", A, B, X)
    steps = said[: said.index("\n\n")]
    assert re.search(r"^temporaries: about 16 KB$", steps, re.M)  # 80 x 50 of 4 bytes
    assert re.search(r"^next best: (one step|path\(\(A B\) C\)), \d+\.\d us more$", steps, re.M)
    A, B = (scorch.sparse(torch.eye(2000).roll(k, 0), "csr") for k in (1, 2))
    X, how = torch.rand(2000, 4), {"schedule": "path((A B) C)"}
    assert "in the last run" not in scorch.explain("ij,jk,kf->if", A, B, X, **how)
    scorch.einsum("ij,jk,kf->if", A, B, X, **how)
    assert "step 1 made 2000 entries in the last run" in scorch.explain("ij,jk,kf->if", A, B, X, **how)


def test_what_is_the_same_but_for_names_in_sums_is_computed_once():
    """A factorisation machine, and the squared length of rows of a product, given the same operands twice."""
    torch.manual_seed(0)
    X = scorch.sparse((torch.rand(300, 200) < 0.05) * torch.rand(300, 200), "csr").double()
    V = torch.randn(200, 16, dtype=torch.float64)
    text = "y[b] = X[b,j]*V[j,f]*X[b,k]*V[k,f] - X[b,l]*X[b,l]*V[l,g]*V[l,g]"
    dense = X.to_dense()
    pairs = (dense @ V).square().sum(1)
    assert torch.allclose(scorch.evaluate(text, X=X, V=V), pairs - dense.square() @ V.square().sum(1))
    plan = scorch.explain(text, X=X, V=V).partition("\n\n")[0]
    assert len(re.findall(r"^t\d+\[b,f\] \+= X", plan, re.M)) == 1, plan
    assert torch.allclose(scorch.einsum("bi,if,bj,jf->b", X, V, X, V), pairs)
    into = torch.empty(300, dtype=torch.float64)
    assert scorch.einsum("bi,if,bj,jf->b", X, V, X, V, out=into) is into
    Vs = [V.clone().requires_grad_() for _ in range(2)]
    scorch.einsum("bi,if,bj,jf->b", X, Vs[0], X, Vs[0]).sum().backward()
    (dense @ Vs[1]).square().sum().backward()
    assert torch.allclose(Vs[0].grad, Vs[1].grad)
    with pytest.raises(ValueError, match="for 3 operands, got 4"):
        scorch.einsum("bi,if,bj->b", X, V, X, V)


def test_sums_of_other_factors_are_not_the_same():
    torch.manual_seed(0)
    A = scorch.sparse((torch.rand(7, 7) < 0.4) * torch.rand(7, 7).double(), "csr")
    V, W = torch.rand(2, 7, 5, dtype=torch.float64)
    d = A.to_dense()
    for text, want in {
        "y[b] = A[b,j]*V[j,f]*A[b,k]*W[k,f]": ((d @ V) * (d @ W)).sum(1),
        "y[b] = A[b,j]*V[j,f]*A[k,b]*V[k,f]": ((d @ V) * (d.T @ V)).sum(1),
        "y[b] = A[b,j]*V[j,f]*A[b,k]/V[k,f]": ((d @ V) * (d @ (1 / V))).sum(1),
        "y[b] = A[b,j]*V[j,f]*A[b,k]*V[k,g]*V[b,f]": ((d @ V) * V).sum(1) * (d @ V).sum(1),
        "y[b] = A[b,j]*A[j,i]*A[b,k]*A[k,l]*V[i,f]*V[l,f]": (d @ d @ V).square().sum(1),
        "y[b] = A[b,j]*A[j,i]*A[b,k]*A[i,k]*V[i,f]*V[k,f]": torch.einsum(
            "bj,ji,bk,ik,if,kf->b", d, d, d, d, V, V
        ),
    }.items():
        named = {"A": A, "V": V} | ({"W": W} if "W" in text else {})
        assert torch.allclose(scorch.evaluate(text, **named), want), text


def test_planning_takes_little_time():
    """Orders of contraction of five factors take 2 ms at most; a busy machine has five times as long."""
    took = []
    for n in range(600, 640, 8):  # other extents, so another plan
        A, X = graph(n, 2), torch.rand(n, 8)
        before = scorch.stats()["path_seconds"]
        scorch.explain("ab,bc,cd,de,ez->az", A, A, A, A, X)
        took.append(scorch.stats()["path_seconds"] - before)
    assert 0 < min(took) < 0.01


def test_steps_that_say_the_same_share_a_kernel():
    """Six steps of this chain are A times something dense: one program, also under other names."""
    A, X = graph(520, 8), torch.rand(520, 9)
    before = scorch.stats()
    R = scorch.evaluate("R[a,z] = A[a,b]*A[b,c]*A[c,d]*A[d,e]*A[e,f]*A[f,g]*X[g,z]", A=A, X=X)
    once = scorch.stats()
    assert once["programs"] - before["programs"] == 1
    assert torch.allclose(R, A @ (A @ (A @ (A @ (A @ (A @ X))))))
    shown = scorch.explain("ab,bc,cd,dz->az", A, A, A, X)
    assert "-- step 3: out[a,z] += A" in shown, "explain has the names of the expression"
    last = scorch.stats()["programs"]
    assert torch.equal(scorch.einsum("pq,qr,rs,st->pt", A, A, A, X), A @ (A @ (A @ X)))
    assert scorch.stats()["programs"] == last, "nothing new is compiled"


def test_results_over_one_operand_each_in_its_own_layout():
    """The plan that tests/golden/path/layouts.sc shows, with numbers."""
    M, _ = scorch.conv_map(torch.cartesian_prod(*[torch.arange(14)] * 4)[:2700], 3)
    g = torch.Generator().manual_seed(0)
    G, X = (torch.randint(-2, 3, (M.shape[1], 64), generator=g).float() for _ in "GX")
    W = torch.randint(-2, 3, (27, 64, 64), generator=g).float()
    both = "P[j,k] = G[i,n] * W[r,k,n] * M[r,i,j]; Q[r,k,n] = G[i,n] * M[r,i,j] * X[j,k]"
    for found, text in zip(scorch.evaluate(both, M=M, G=G, W=W, X=X), both.split(";"), strict=True):
        used = {name: x for name, x in {"M": M, "G": G, "W": W, "X": X}.items() if f"{name}[" in text}
        assert torch.equal(found, scorch.evaluate(text.strip(), **used, schedule="path()"))


def _costs(*given: object) -> list[float]:
    return [float(us) for us in re.findall(r"([\d.]+) us  ", scorch.explain(*given))]


def test_rows_of_many_lengths_meet_more():
    """As many entries, of which most lie in few rows and columns: their product has more terms."""
    n, generator = 1024, torch.Generator().manual_seed(0)
    alike = torch.rand(n, n, generator=generator) < 12 / n
    weight = torch.exp(1.5 * torch.randn(n, generator=generator))
    share = weight[:, None] * weight
    skewed = torch.rand(n, n, generator=generator) < share * (12 * n / share.sum())
    costs = [_costs("ij,jk->ik", A, A)[0] for A in (scorch.sparse(x.float()) for x in (alike, skewed))]
    assert costs[1] > 2 * costs[0]
    A = scorch.sparse(skewed.double())
    torch.testing.assert_close(dense(scorch.einsum("ij,jk,kl->il", A, A, A)), torch.einsum(
        "ij,jk,kl->il", *[skewed.double()] * 3))  # fmt: skip


def test_a_product_is_looked_up_at_entries():
    """Its rows are gathered as a whole; where an entry of the mask has no term, the result is zero."""
    rng = random.Random(0)
    M, A, B = (matrix(rng, "ij", "csr", share=0.2, times=8)[:40, :40] for _ in range(3))
    want = M * (A @ B)
    lone = (M != 0) & ~((A != 0).double() @ (B != 0).double()).bool()
    assert lone.any()
    sparse = [scorch.sparse(x) for x in (torch.where(lone, torch.inf, M), A, B)]
    for schedule in ("order(i,k,j) inner(k)", "order(i,j,k) inner()"):
        found = scorch.einsum("ij,ik,kj->ij", *sparse, schedule=schedule)
        assert found.nnz == sparse[0].nnz
        torch.testing.assert_close(dense(found), want)
    nest = scorch.explain("ij,ik,kj->ij", *sparse, schedule="order(i,k,j) inner(k)")
    assert "for j in A {\n      for j in w {" in nest


def test_operands_that_can_hold_nothing_have_costs():
    """A row of an ELL matrix of width 0 has no entry, whatever meets it."""
    A, B = scorch.sparse(torch.zeros(4, 3), "ell(0, 0), dense(1)"), torch.ones(4)
    C, S = scorch.evaluate("C[i,k] max= A[i,k] * B[i]; S[k] = A[i,k] * B[i] * C[i,k]", A=A, B=B)
    assert C.nnz == 0 and torch.equal(dense(S), torch.zeros(3))


# ---- dense products ----
BATCHES = {
    "bik,bkj->bij": ((4, 60, 70), (4, 70, 50)),
    "bik,kj->bij": ((6, 50, 70), (70, 60)),
    "ik,bkj->bij": ((70, 60), (3, 60, 50)),
    "bik,bjk->bji": ((4, 60, 70), (4, 50, 70)),
    "bqhd,bkhd->bhqk": ((2, 40, 3, 64), (2, 50, 3, 64)),
    "bhqk,bkhd->bqhd": ((2, 3, 40, 64), (2, 64, 3, 50)),
    "abik,abkj->abij": ((2, 3, 60, 50), (2, 3, 50, 60)),
    "bik,ckj->bcij": ((2, 60, 50), (3, 50, 60)),
    "nk,hkd->nhd": ((300, 60), (3, 60, 20)),
    "rik,rkj->ij": ((5, 60, 40), (5, 40, 70)),
    "rik,kjr->ji": ((5, 60, 40), (40, 70, 5)),
    "kbir,rkbj->jbi": ((9, 4, 50, 11), (11, 9, 4, 60)),
    "ambk,kbnc->nbmca": ((3, 30, 4, 50), (50, 4, 20, 5)),
}


def test_batches_are_taken_by_the_library():
    for text, shapes in BATCHES.items():
        assert "by the dense library" in str(scorch.explain(text, *map(torch.rand, shapes))), text


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("text", BATCHES)
def test_batches_of_dense_products(text, dtype):
    """Whole ones, parts of larger ones, and those whose elements are nowhere side by side."""
    g = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-1, 2, [2 * n for n in s], generator=g).to(dtype) for s in BATCHES[text])
    corner = tuple([slice(n) for n in s] for s in BATCHES[text])
    forms = {
        "whole": lambda x, at: x[tuple(at)].contiguous(),
        "part": lambda x, at: x[tuple(at)],
        "turned": lambda x, at: x[tuple(at)].transpose(-1, -2).contiguous().transpose(-1, -2),
        "apart": lambda x, at: x[tuple(slice(0, 2 * s.stop, 2) for s in at)],
    }
    for form, cut in forms.items():
        x, y = cut(a, corner[0]), cut(b, corner[1])
        want = torch.einsum(text, x.float(), y.float()).to(dtype)
        assert torch.equal(scorch.einsum(text, x, y), want), form


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sparse_products_of_short_floats_run_in_steps(dtype):
    """What they make on the way is float32: 257 is no bfloat16, and 2049 no float16."""
    large = 256 if dtype is torch.bfloat16 else 2048
    first, then = (
        (torch.rand(300, 300, generator=torch.Generator().manual_seed(k)) < 0.1).float() for k in (1, 2)
    )
    first[:2], then[0] = 0, 0
    first[0, :2], first[1, 0], then[0, :2] = 1, 1, torch.tensor([1.0, -1.0])
    b, a = (scorch.sparse(m, "csr").to(dtype) for m in (then, first))
    x = torch.ones(300, dtype=dtype)
    x[0] = large
    assert str(scorch.explain("ij,jk,k->i", b, a, x)).count("-- step") == 2
    got = scorch.einsum("ij,jk,k->i", b, a, x)
    want = then.double() @ (first.double() @ x.double())
    assert got.dtype is dtype and got[0] == 1 and torch.equal(got, want.to(dtype))


@pytest.mark.skipif(not native.has_dots(), reason="the CPU has no products of pairs of bfloat16")
def test_what_rounds_between_dense_products():
    """Factors that the library makes are rounded, arguments of functions are not."""
    x, y, z = (torch.randn(300, 300).bfloat16() for _ in range(3))
    said = str(scorch.explain("ij,jk,kl->il", x, y, z))
    assert said.count("by the dense library") == 2
    assert torch.equal(scorch.einsum("ij,jk,kl->il", x, y, z), x @ y @ z)
    got = scorch.evaluate("C[i,l] = exp(x[i,j] * y[j,k] / 100) * z[k,l]", x=x, y=y, z=z)
    want = torch.exp(x.float() @ y.float() / 100) @ z.float()
    torch.testing.assert_close(got, want.bfloat16())


def test_batches_of_dense_products_are_for_the_library():
    a, b = torch.rand(8, 256, 128), torch.rand(8, 128, 256)
    said = scorch.explain("bik,bkj->bij", a, b)
    assert "by the dense library" in str(said)
    assert torch.allclose(scorch.einsum("bik,bkj->bij", a, b), a @ b, rtol=1e-4)
    x = a[:0], b[:0]
    assert scorch.einsum("bik,bkj->bij", *x).shape == (0, 256, 256)
    assert torch.equal(scorch.einsum("bik,bkj->bij", a[:, :, :0], b[:, :0]), torch.zeros(8, 256, 256))


@pytest.mark.parametrize("text", ["ij,kj->", "ij,kj,k->i", "ij,kj,kf->if", "ij,j,kj,kf->if"])
@pytest.mark.parametrize("columns", [300, 3000, 9000])
def test_a_full_column_is_not_multiplied_out(text, columns):
    """Rows of one entry, all in the same column: n * n pairs, which no count of rows foretells."""
    n = 3000
    crow, col = torch.arange(n + 1), torch.zeros(n, dtype=torch.int64)
    A = scorch.sparse(torch.sparse_csr_tensor(crow, col, torch.ones(n), (n, columns)), format="csr")
    others = {"j": torch.ones(columns), "k": torch.ones(n), "kf": torch.ones(n, 4)}
    operands = [A if x in ("ij", "kj") else others[x] for x in text.split("->")[0].split(",")]
    made = str(scorch.explain(text, *operands))
    assert "t1[j" in made and "A[i,j] * B[k,j]" not in made
    got = scorch.einsum(text, *operands)
    assert (got == (n * n if text.endswith("->") else n)).all()


def test_factors_that_share_nothing_are_summed_each():
    a, b = (torch.randint(-3, 4, shape).double() for shape in ((90, 70), (60, 80)))
    for x, y in itertools.product((a, scorch.sparse(a)), (b, scorch.sparse(b))):
        assert scorch.einsum("ij,kl->", x, y) == a.sum() * b.sum()
        if scorch.is_sparse(x) and scorch.is_sparse(y):
            assert "t1 += A[i,j]" in str(scorch.explain("ij,kl->", x, y))

"""What a step of a program is told and gives: each of these fails where one small thing of it goes wrong."""

import itertools

import components
import pytest
import torch

import scorch


def some(*shape: int, share: float = 0.4, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Small integers, of which a share is not zero."""
    r = torch.Generator().manual_seed(seed)
    values = torch.randint(1, 4, shape, generator=r) * torch.randint(0, 2, shape, generator=r).mul(2).sub(1)
    return (values * (torch.rand(shape, generator=r) < share)).to(dtype)


def dense(x: torch.Tensor) -> torch.Tensor:
    return x.to_dense() if scorch.is_sparse(x) else x


# ---- what may be taken apart ----
def test_a_term_that_lacks_an_index_of_the_sum_counts_as_often():
    n, m = 600, 500  # as large as that the terms are summed one by one
    a, b, x, c = some(n, m, share=0.02), some(n), some(m, share=1), some(n, share=1)
    given = {"A": scorch.sparse(a, format="csr"), "b": scorch.sparse(b, format="coo")}
    got = scorch.evaluate("y[i] += (A[i,j] + b[i]) * x[j]", **given, x=x)
    assert torch.equal(got, (a + b[:, None]) @ x)
    got = scorch.evaluate("s += (A[i,j] - b[i]) * c[i]", **given, c=c)
    assert torch.equal(got, ((a - b[:, None]) * c[:, None]).sum())


def test_maxima_of_products_are_of_whole_products():
    a, b, x = some(6, 5), some(5, 7, seed=1), some(7, share=1)
    A, B = scorch.sparse(a, format="csr"), scorch.sparse(b, format="csr")
    all_of_them = a[:, :, None] * b * x
    for op, want in (("max", all_of_them.amax((1, 2))), ("min", all_of_them.amin((1, 2)))):
        got = scorch.evaluate(f"m[i] {op}= A[i,j]*B[j,k]*x[k]; y[i] = A[i,j]*B[j,k]*x[k]", A=A, B=B, x=x)
        assert torch.equal(got[0], want)
        assert torch.equal(got[1], a @ b @ x)
        tmp = scorch.evaluate(f"tmp t[j] {op}= B[j,k]*x[k]; y[i] = A[i,j]*t[j]", A=A, B=B, x=x)
        assert torch.equal(tmp, a @ getattr(b * x, f"a{op}")(1))


def test_temporaries_of_a_program_are_what_they_are_alone():
    a, b, x = some(6, 6), some(6, 6, seed=1), some(6, share=1)
    given = {"A": scorch.sparse(a, format="csr"), "B": scorch.sparse(b, format="csr"), "x": x}
    for text, want in {
        "tmp t[i] = A[i,j]*x[j]; y[i] = B[i,j]*t[j]": b @ (a @ x),
        "tmp t[i] = A[i,j]*x[j]; y[i] = t[i]*t[i]*B[i,j]*x[j]": (a @ x).square() * (b @ x),
        "tmp t[i] = A[i,j]*x[j]; y[i] = B[i,k] / (1 + t[i]*t[i])": b.sum(1) / (1 + (a @ x).square()),
        "tmp t[i] = A[i,j] + B[i,j]; y[i] = t[i]*x[i]*x[i]": (a + b).sum(1) * x * x,
        "tmp t[i] = A[i,j] - x[j]; y[k] = B[k,i]*t[i]": b @ (a - x).sum(1),
        "tmp t[i] = A[i,j]*x[j]; z[i] = t[i] + 1; y[i] = B[i,j]*t[j]": b @ (a @ x),
    }.items():
        got = scorch.evaluate(text, **given)
        assert torch.allclose(got[-1] if isinstance(got, tuple) else got, want), text


# ---- what a user asks for ----
def test_names_of_factors_are_whole_names():
    a, b, x = some(6, 5), some(5, 7, seed=1), some(7, share=1)
    given = {"AB": scorch.sparse(a, format="csr"), "A": scorch.sparse(b, format="csr"), "x": x}
    for order, first in (("((AB A) x)", "AB["), ("(AB (A x))", "A[")):
        how = {"schedule": f"path{order}"}
        assert torch.equal(scorch.evaluate("y[i] = AB[i,j]*A[j,k]*x[k]", **given, **how), a @ b @ x)
        plan = scorch.explain("y[i] = AB[i,j]*A[j,k]*x[k]", **given, **how).splitlines()[0]
        assert plan.partition("= ")[2].startswith(first), plan


def test_an_order_takes_each_factor_once():
    given = scorch.sparse(some(5, 5), format="csr"), scorch.sparse(some(5, 5), format="csr"), some(5)
    with pytest.raises(ValueError, match="no order of contraction"):
        scorch.einsum("ij,jk,k->i", *given, schedule="path(A (B C A))")


# ---- numbers ----
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_temporaries_are_not_rounded(dtype):
    """4097 and 257 are no numbers of these types; what is left of their difference to a neighbour is."""
    n = 4097 if dtype == torch.float16 else 257
    a = torch.tensor([[1, -1]], dtype=dtype)
    b = torch.ones(2, n, dtype=dtype)
    b[1, 0] = 0
    given = scorch.sparse(a, format="csr"), scorch.sparse(b, format="csr"), torch.ones(n, 2, dtype=dtype)
    assert scorch.einsum("ij,jk,kf->if", *given, schedule="path(A (B C))").tolist() == [[1, 1]]


def holes(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """A row of A meets a row of B that has no entry."""
    a, b = torch.zeros(3, 3, dtype=dtype), torch.eye(3, dtype=dtype)
    a[0, 1], b[1, 1] = 1, 0
    return scorch.sparse(a, format="csr"), scorch.sparse(b, format="csr")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("at", [0, 1, 17, 63, 64, 299, 899])
def test_an_infinity_beside_a_temporary_is_noticed(dtype, at):
    """The temporary is zero where B has no entry; one nest has no term there to multiply.

    Calls after one that met an infinity are one nest, for a while.
    """
    a, b = holes(torch.promote_types(dtype, torch.float32))
    x, y = torch.ones(3, 300, dtype=dtype), torch.ones(3, 300, dtype=dtype)
    for _ in range(20):
        scorch.einsum("ij,jk,kf,if->if", a, b, x, y, schedule="path(D (A (B C)))")
    y.view(-1)[at] = torch.inf
    got = scorch.einsum("ij,jk,kf,if->if", a, b, x, y, schedule="path(D (A (B C)))")
    assert not got.any()


@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("text", ["ij,jf,if->if", "ji,jf,if->if", "ki,kj,jf,if->if"])
@pytest.mark.parametrize("dim", [0, 1])
def test_an_infinity_beside_an_empty_row_or_column_is_noticed(text, dim, index_dtype):
    """No sum over it has a term, and over all others each has one."""
    a = torch.ones(40, 40).index_fill(dim, torch.tensor(7), 0)
    a = scorch.sparse(a, format="csr").to(index_dtype=index_dtype)
    one = text.count(",") == 2
    given = (a, *(() if one else (a,)), torch.ones(40, 5))
    order = "path(C (A B))" if one else "path(D (A (B C)))"
    y = torch.ones(40, 5)
    for _ in range(20):  # until steps are tried
        scorch.einsum(text, *given, y, schedule=order)
    y[7] = torch.inf
    want = scorch.einsum(text, *given, y, schedule="path()")
    assert torch.equal(scorch.einsum(text, *given, y, schedule=order), want)


def test_what_reads_an_empty_row_alone_has_no_term_either():
    """Each row of A has an entry; that of row 4 meets the row of B that has none."""
    a = scorch.sparse(torch.eye(6).roll(1, 0), format="csr")
    b = scorch.sparse(torch.ones(6, 6).index_fill(0, torch.tensor(3), 0), format="csr")
    y = torch.ones(6, 2)
    y[4] = torch.inf
    got = scorch.einsum("ij,jk,kf,if->if", a, b, torch.ones(6, 2), y, schedule="path(D (A (B C)))")
    assert got.tolist() == [[6, 6]] * 4 + [[0, 0]] + [[6, 6]]


def test_an_infinity_that_a_temporary_has_is_noticed():
    """Both temporaries have zeros where there is no term, and one overflows."""
    a = scorch.sparse(torch.tensor([[1.0, 0], [0, 0]]), format="csr")
    b = scorch.sparse(torch.tensor([[0.0, 0], [1e30, 0]]), format="csr")
    big, x = torch.full((2, 2), 1e30), torch.ones(2, 2)
    order = {"schedule": "path((A B) (C D))"}
    got = scorch.einsum("if,fi,ig,gi->i", scorch.sparse(torch.eye(2)), x, b, big, **order)
    assert (
        got.tolist()
        == scorch.einsum("if,fi,ig,gi->i", scorch.sparse(torch.eye(2)), x, b, big, schedule="path()").tolist()
    )
    got = scorch.einsum("ij,jf,ik,kf->if", a, x, b, big, **order)
    want = scorch.einsum("ij,jf,ik,kf->if", a, x, b, big, schedule="path()")
    assert torch.equal(got, want) and not want.isnan().any()


def test_strides_do_not_hide_an_infinity():
    a, b = holes(torch.float64)
    y = torch.ones(600, 3, dtype=torch.float64)
    y[599, 0] = torch.inf
    for given in (y.T, torch.ones(3, 1200, dtype=torch.float64)[:, ::2] * y.T):
        got = scorch.einsum(
            "ij,jk,kf,if->if", a, b, torch.ones_like(y).T, given, schedule="path(D (A (B C)))"
        )
        assert not got.any()


# ---- dense steps ----
@pytest.mark.parametrize("left", ["mn", "nm"])
@pytest.mark.parametrize("x, y", list(itertools.product(["mk", "km"], ["kn", "nk"])))
def test_dense_products_of_any_sides(x, y, left):
    extent = {"m": 70, "k": 80, "n": 90, "j": 60}
    X, Y = (some(*(extent[i] for i in ix), share=1, seed=k) for k, ix in enumerate((x, y)))
    assert torch.equal(scorch.einsum(f"{x},{y}->{left}", X, Y), torch.einsum(f"{x},{y}->{left}", X, Y))
    a = some(60, extent[left[0]], share=0.1)
    text = f"j{left[0]},{x},{y}->j{left[1]}"
    got = scorch.einsum(text, scorch.sparse(a, format="csr"), X, Y, schedule="path(A (B C))")
    assert torch.equal(got, torch.einsum(text, a, X, Y))
    got = scorch.einsum(f"{x},{y}->{left}", X, Y, format="csr")
    assert scorch.is_sparse(got) and torch.equal(dense(got), torch.einsum(f"{x},{y}->{left}", X, Y))


# ---- structure ----
def arrays(x: scorch.SparseTensor) -> list[torch.Tensor]:
    pos, crd, values = components.arrays(x)
    return [t for t in (*pos, *crd, values) if t is not None]


def test_results_do_not_share_what_a_step_made():
    a, b, w = some(9, 9), some(9, 9, seed=1), some(9, 9, share=1)
    A, B = scorch.sparse(a, format="csr"), scorch.sparse(b, format="csr")
    for tmp in ("", "tmp "):
        text = f"{tmp}P[i,k] = A[i,j]*B[j,k]; D[i,k] = P[i,k]*W[i,k]; y[i] = D[i,k]*P[i,k]"
        made = scorch.evaluate(text, A=A, B=B, W=w)
        P, D = made[0], made[-2]
        if not tmp:
            assert {t.data_ptr() for t in arrays(P)}.isdisjoint(t.data_ptr() for t in arrays(D))
        before = [t.clone() for t in arrays(D)]
        for seed in range(3):  # memory of the first run is taken again
            other = scorch.sparse(some(9, 9, seed=5 + seed), format="csr")
            scorch.evaluate(text, A=other, B=other, W=w)
        assert all(map(torch.equal, arrays(D), before))
        assert torch.equal(D.to_dense(), (a @ b) * w)


def test_hidden_results_leave_the_others_where_they_are():
    a, b, x = some(6, 6), some(6, 6, seed=1), some(6, 4, share=1)
    given = {"A": scorch.sparse(a, format="csr"), "B": scorch.sparse(b, format="csr"), "X": x}
    text = """
    tmp P[i,k] = A[i,j]*B[j,k]
    Y[i,f] = P[i,k]*X[k,f]
    D[i,k] = P[i,k]*A[i,k]
    tmp n[i] = P[i,k]*P[i,k]
    z[i] = n[i] + P[i,i]"""
    Y, D, z = scorch.evaluate(text, **given)
    p = a @ b
    assert torch.equal(Y, p @ x)
    assert scorch.is_sparse(D) and torch.equal(D.to_dense(), p * a)
    assert torch.equal(z, p.square().sum(1) + p.diagonal())


def test_a_mask_that_lends_its_structure_is_the_one_at_the_same_indices():
    a, b, c = some(6, 6), some(6, 6, seed=1), some(6, 6, seed=2)
    given = {
        name: scorch.sparse(x, format="csr").requires_grad_()
        for name, x in zip("ABC", (a, b, c), strict=True)
    }
    x = some(6, 6, share=1)
    text = "y = A[i,j]*B[j,k]*C[k,i]*X[i,j]*A[j,i]"
    twins = [t.clone().requires_grad_() for t in (a, b, c)]
    scorch.evaluate(text, **given, X=x).backward()
    torch.einsum("ij,jk,ki,ij,ji->", twins[0], twins[1], twins[2], x, twins[0]).backward()
    for got, twin in zip(given.values(), twins, strict=True):
        assert torch.equal(got.grad.values(), twin.grad[tuple(got.indices())])


def test_a_common_part_is_read_as_it_lies():
    """Both of its dimensions are of one extent, so nothing but numbers tells that they changed places."""
    a, v = some(200, 200, share=0.05), some(200, 200, share=1)
    A = scorch.sparse(a, format="csr")
    for text, want in {
        "y[b] = A[b,j]*V[j,f]*A[b,k]*V[k,f]": (a @ v).square().sum(1),
        "y[f] = A[b,j]*V[j,f]*A[b,k]*V[k,f]": (a @ v).square().sum(0),
    }.items():
        assert torch.equal(scorch.evaluate(text, A=A, V=v), want), text


@pytest.mark.parametrize("few", (1, 2, 7, 12, 13))
@pytest.mark.parametrize("text", ("ik,kl->il", "ik,lk->il", "ki,kl->il", "ki,lk->li", "kl,ik->il"))
def test_dense_products_by_few(few, text):
    """Another library takes them where they are large; integers, so that sums are exact."""
    for i, k, l in ((1500, 64, few), (few, 300, 400), (40, 9, few)):
        sizes = {"i": i, "k": k, "l": l}
        given, _ = text.split("->")
        a, b = (torch.randint(-4, 5, [sizes[v] for v in word]).float() for word in given.split(","))
        assert torch.equal(scorch.einsum(text, a, b), torch.einsum(text, a, b))
        wide = torch.randint(-4, 5, (*a.shape, 2)).float()[..., 0]  # nothing lies side by side
        assert torch.equal(scorch.einsum(text, wide, b), torch.einsum(text, wide, b))


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_what_runs_as_one_nest_is_converted_where_no_loops_take_it(bad):
    """Diagonals are merged with nothing: the nest that an infinity leads to takes them in another format."""
    a, b = torch.rand(16, 16).double(), torch.rand(16, 3, 16).double()
    A = scorch.sparse(a, format="dia(16)")
    B = scorch.sparse(b, format="compressed(0), compressed(1), dense(2)")
    for factor in (2.0, bad, bad, 2.0):  # the first is met by the steps
        x = torch.tensor([1.0, factor, 1.0]).double()
        got = scorch.evaluate("R = A[k,j] * B[j,i,k] * x[i]", A=A, B=B, x=x, schedule="path(A (B x))")
        torch.testing.assert_close(got, torch.einsum("kj,jik,i->", a, b, x), equal_nan=True)


def test_gradients_keep_the_structure_of_what_one_nest_converts():
    a = torch.rand(127, 65).double() * (torch.rand(127, 65) < 0.1)
    A = scorch.sparse(a, format="dia(16)").requires_grad_()
    b, c, d = torch.rand(65, 17).double(), torch.tensor(1.0).double(), torch.tensor(0.0).double()
    b, c, d = b.requires_grad_(), c.requires_grad_(), d.requires_grad_()
    scorch.evaluate("R[j,k] = b[i,j] * sigmoid(c + A[k,i]) / d", A=A, b=b, c=c, d=d).sum().backward()
    assert A.grad.format == A.format and A.grad.values().shape == A.values().shape
    assert (A.grad.to_dense() == torch.inf).equal(a != 0)


@pytest.mark.parametrize("columns", (1, 2, 8, 12, 13))
@pytest.mark.parametrize("k", (3, 64))
def test_dense_products_of_parts_of_larger_matrices(columns, k):
    """What lies in a larger matrix is multiplied as it lies, or copied."""
    generator = torch.Generator().manual_seed(columns)
    integers = lambda *shape: torch.randint(-3, 4, shape, generator=generator).float()  # noqa: E731
    rows = 2100
    M = scorch.sparse(torch.eye(rows))
    large, wide = integers(k + 5, columns + 7), integers(rows, k + 9)
    part = large[:k, :columns]
    for W in (part, part.contiguous(), part.T.contiguous().T):
        for X in (wide[:, :k], wide[:, :k].contiguous(), wide.T[:k].contiguous().T):
            found = scorch.evaluate("y[i,f] = M[i,j] * X[j,k] * W[k,f]", M=M, X=X, W=W)
            torch.testing.assert_close(found, X @ W)
            turned = scorch.evaluate("y[f,i] = M[i,j] * X[j,k] * W[k,f]", M=M, X=X, W=W)
            torch.testing.assert_close(turned, (X @ W).T)


def test_a_result_that_is_dense_in_one_nest_alone():
    """What is not finite runs as one nest, where C is dense, though its steps make it sparse."""
    A = scorch.sparse(torch.zeros(2, 2, 2), format="csf")
    text = "C[i,j] min= A[i,j,k]; S[k] = B[k] * C[i,j]"
    for _ in range(3):
        C, S = scorch.evaluate(text, A=A, B=torch.tensor([1.0, float("-inf")]))
        assert C.format == "dcsr" and C.nnz == 0 and S[0] == 0

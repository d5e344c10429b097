"""What einsum, evaluate, compile and explain take and return: formats, results, out, operands of any kind.

Schedules are given where the way matters, so that these tests are about the calls alone.
"""

import native
import numpy as np
import pytest
import scipy.sparse
import torch

import scorch

PRODUCT = "C[i,k] = A[i,j] * B[j,k]"
ROWS = """par i in A {
  work w[k] : lane bitmap f64 { for j in A { for k in B { w[k] += A[i,j] * B[j,k] } } }
  then { for k in w { C[i,k] = w[k] } }
}"""
TWICE = "C[i,j] = 2 * A[i,j]; D[i,j] = A[i,j] * A[i,j]"
TWICE_ROWS = """par i in A { for j in A { C[i,j] = 2 * A[i,j] } }
par i in A { for j in A { D[i,j] = A[i,j] * A[i,j] } }"""


def matrix(rows=8, cols=6, density=0.4, seed=0):
    g = torch.Generator().manual_seed(seed)
    values = torch.randint(1, 9, (rows, cols), generator=g)
    return (values * (torch.rand(rows, cols, generator=g) < density)).double()


def dense(x):
    return x.to_dense() if scorch.is_sparse(x) else x


# ---- formats ----
@pytest.mark.parametrize(
    "fmt", ["csr", "coo", "csc", "dcsr", "bsr(2,7)", "ell(7)", "dia(16)", "sell(8,16)", "dense", "auto"]
)
def test_an_assembled_result_is_delivered_in_any_format(fmt):
    a, b = matrix(), matrix(6, 7, seed=1)
    operands = {"A": scorch.sparse(a, "csr"), "B": scorch.sparse(b, "csr")}
    for _ in range(2):
        c = scorch.evaluate(PRODUCT, **operands, schedule=ROWS, format=fmt)
        assert scorch.is_sparse(c) == (fmt != "dense")
        if fmt not in ("dense", "auto"):
            assert c.format == scorch.Format(fmt)
        assert torch.equal(dense(c), a @ b)


@pytest.mark.parametrize("fmt", ["csr", "coo", "csc", "bsr(2,3)", scorch.Format("dcsr")])
def test_a_dense_result_is_delivered_sparse(fmt):
    a, x = matrix(), matrix(6, 3, seed=1)
    y = scorch.einsum("ij,jk->ik", scorch.sparse(a, "csr"), x, format=fmt)
    assert scorch.is_sparse(y) and torch.equal(y.to_dense(), a @ x)


@pytest.mark.sampled
@pytest.mark.parametrize("left", ["csr", "csc", "coo", "dcsr", "ell(6)", "dia(4)", "sell(4,8)"])
@pytest.mark.parametrize("right", ["csr", "csc", "coo"])
def test_results_of_sparse_operands_are_sparse(left, right):
    d, e, f = matrix(), matrix(6, 7, seed=1), matrix(seed=2)
    a, b, c = scorch.sparse(d, left), scorch.sparse(e, right), scorch.sparse(f, right)
    for _ in range(2):
        for got, want in [
            (scorch.einsum("ij,jk->ik", a, b), d @ e),
            (scorch.evaluate("C[i,j] = A[i,j] + B[i,j]", A=a, B=c), d + f),
            (scorch.evaluate("C[i,j] = A[i,j] * B[i,j]", A=a, B=c), d * f),
            (scorch.einsum("ij,kj->ik", a, a), d @ d.T),
        ]:
            assert scorch.is_sparse(got) and torch.equal(got.to_dense(), want)
    p, q = scorch.evaluate("C[i,k] = A[i,j] * B[j,k]; D[i,j] = 2 * A[i,j]", A=a, B=b, format=["csc", None])
    assert p.format == scorch.Format("csc") and torch.equal(p.to_dense(), d @ e)
    assert q.format == a.format and torch.equal(q.to_dense(), 2 * d)


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_index_types_follow_the_operands(index):
    a = scorch.sparse(matrix(), "csr", index_dtype=index)
    assert scorch.einsum("ij,jk->ik", a, matrix(6, 3), format="csr").index_dtype == index


def test_a_format_must_have_the_rank():
    a = scorch.sparse(matrix(), "csr")
    with pytest.raises(ValueError):
        scorch.einsum("ij,jk->ik", a, matrix(6, 3), format="compressed(0), dense(1), dense(2)")
    with pytest.raises(ValueError, match="one a result"):
        scorch.evaluate("C[i] = A[i,j] * x[j]", A=a, x=matrix(6, 1)[:, 0], format=["csr", "csr"])


def test_results_outlive_their_operands():
    a, b = matrix(), matrix(6, 7, seed=1)
    c = scorch.evaluate(
        PRODUCT, A=scorch.sparse(a, "csr"), B=scorch.sparse(b, "csr"), schedule=ROWS, format="coo"
    )
    torch.ones(1000)
    assert torch.equal(c.to_dense(), a @ b)
    c.values().mul_(2)
    assert torch.equal(c.to_dense(), 2 * (a @ b))


def test_results_are_looked_at_when_somebody_wrote_into_them():
    a, b = matrix(), matrix(6, 7, seed=1)
    c = scorch.evaluate(
        PRODUCT, A=scorch.sparse(a, "csr"), B=scorch.sparse(b, "csr"), schedule=ROWS, format="csr"
    )
    c.crd(1)[0] = 1000
    with pytest.raises(ValueError, match="level 1"):
        c @ torch.ones(7, 2, dtype=torch.float64)


# ---- several results, on one line or several ----
@pytest.mark.parametrize("separator", ["; ", "\n", ";\n   "])
@pytest.mark.parametrize("fmt", [("csr", "coo"), "csr", ["csc", "dense"]])
def test_several_sparse_results(separator, fmt):
    a = matrix()
    sparse = scorch.sparse(a, "csr")
    c, d = scorch.evaluate(TWICE.replace("; ", separator), A=sparse, schedule=TWICE_ROWS, format=fmt)
    assert torch.equal(dense(c), 2 * a) and torch.equal(dense(d), a * a)
    wanted = [fmt, fmt] if isinstance(fmt, str) else fmt
    assert [scorch.is_sparse(x) for x in (c, d)] == [f != "dense" for f in wanted]


def test_out_takes_what_is_dense():
    a, x = matrix(), matrix(6, 3, seed=1)
    sparse = scorch.sparse(a, "csr")
    y = torch.empty(8, 3, dtype=torch.float64)
    version = y._version
    assert scorch.einsum("ij,kj->ik", sparse, x.T.contiguous(), out=y) is y
    assert torch.equal(y, a @ x) and y._version > version
    assert scorch.evaluate("C[i,k] = A[i,j] * x[j,k]", A=sparse, x=x, out=y) is y
    for out in ((None, None), (torch.empty(8, 6, dtype=torch.float64), None)):
        c, d = scorch.evaluate(TWICE, A=sparse, schedule=TWICE_ROWS, format=["dense", "csr"], out=out)
        assert torch.equal(c, 2 * a) and torch.equal(d.to_dense(), a * a)
        assert out[0] is None or c is out[0]
    with pytest.raises(ValueError, match="sparse"):
        scorch.evaluate(TWICE, A=sparse, schedule=TWICE_ROWS, format="csr", out=(y, y))
    with pytest.raises(ValueError, match="tuple"):
        scorch.evaluate(TWICE, A=sparse, schedule=TWICE_ROWS, format="csr", out=y)


# ---- operands of any kind ----
def test_operands_of_any_kind():
    a, x = matrix(), matrix(6, 3, seed=1)
    for operand in (
        a.to_sparse_csr(),
        a.to_sparse_coo(),
        scipy.sparse.csr_array(a.numpy()),
        scipy.sparse.coo_matrix(a.numpy()),
    ):
        assert torch.equal(dense(scorch.einsum("ij,jk->ik", operand, x)), a @ x)
        assert torch.equal(dense(scorch.evaluate("C[i,k] = A[i,j] * x[j,k]", A=operand, x=x)), a @ x)
    assert torch.equal(scorch.einsum("ij,jk->ik", scorch.sparse(a, "csr"), x.numpy()), a @ x)
    scaled = scorch.evaluate("C[i,k] = s * A[i,j] * x[j,k]", s=0.5, A=scorch.sparse(a, "csr"), x=x)
    assert torch.equal(dense(scaled), 0.5 * (a @ x))
    assert torch.equal(
        dense(scorch.einsum("ij,jk->ik", scorch.sparse(a, "csr"), np.float64(2) * x)), a @ x * 2
    )


def test_an_operand_that_is_converted_again_and_again():
    g = torch.Generator().manual_seed(3)
    a = (torch.rand(3000, 40, generator=g) < 0.1) * torch.rand(3000, 40, generator=g).double()
    sparse, x = scorch.sparse(a, "csc"), torch.rand(40, 3, generator=g).double()
    for _ in range(3):
        torch.testing.assert_close(dense(scorch.einsum("ij,jk->ik", sparse, x)), a @ x)
        sparse.values().mul_(2)
        a = 2 * a


# ---- kernels ----
def test_kernels_have_formats():
    a, b = matrix(), matrix(6, 7, seed=1)
    operands = {"A": scorch.sparse(a, "csr"), "B": scorch.sparse(b, "csr")}
    kernel = scorch.compile(PRODUCT, **operands, schedule=ROWS, format="coo")
    assert torch.equal(kernel(**operands).to_dense(), a @ b)
    other = scorch.sparse(matrix(6, 9, seed=4), "csr")
    assert torch.equal(kernel(operands["A"], other).to_dense(), a @ other.to_dense())
    text = scorch.explain(PRODUCT, **operands, schedule=ROWS, format="coo")
    assert "convert C from csr to coo" in text and "delivered as coo" in text
    assert "stores" in text


# ---- torch.compile ----
def test_sparse_results_are_traced():
    a, b, x = matrix(), matrix(6, 7, seed=1), matrix(7, 2, seed=2)

    def f(A, B, x):
        c = scorch.evaluate(PRODUCT, A=A, B=B, schedule=ROWS, format="csr")
        return c, c @ x

    call = torch.compile(f, backend="aot_eager", fullgraph=True)
    for seed in (0, 5):
        a = matrix(seed=seed)
        c, y = call(scorch.sparse(a, "csr"), scorch.sparse(b, "csr"), x)
        assert torch.equal(c.to_dense(), a @ b) and torch.equal(y, a @ b @ x)


def test_the_operator_returns_components():
    a = scorch.sparse(matrix(), "csr")
    program = "\t".join([TWICE, "A:2:csr", "!ask 2:coo", "!ask", "!like 1 0", f"!schedule {TWICE_ROWS}"])
    program = program.replace("}\npar", "} par")
    *coo, like = torch.ops.scorch.program(program, list(a._arrays()), [8, 6])
    assert torch.equal(like, a.values() ** 2)
    pos, rows, cols, values = coo
    assert torch.equal(
        torch.sparse_coo_tensor(torch.stack([rows, cols]), values, (8, 6)).to_dense(), 2 * matrix()
    )
    assert pos.tolist() == [0, len(values)]


# ---- rows that a sparse operand routes through dense matrices ----
@pytest.mark.parametrize("fmt", ["csr", "csc", "coo", "dcsr", "bsr(2,3)"])
@pytest.mark.parametrize(
    ("tokens", "d", "h", "dtype"),
    [(90, 20, 70, torch.float32), (40, 33, 48, torch.float64), (700, 100, 150, torch.float64)],
)
def test_routed_rows_and_their_gradients(fmt, tokens, d, h, dtype):
    """Experts with no token, with one, and with many; a token with several experts."""
    gate = torch.zeros(tokens, 6, dtype=dtype)
    gate[:, 1] = torch.arange(1, tokens + 1) % 5
    gate[7, 2], gate[::9, 4], gate[3, 5] = 2, 3, -1
    g = torch.Generator().manual_seed(3)
    x, w, y = (torch.randint(-4, 5, s, generator=g).to(dtype) for s in ((tokens, d), (6, d, h), (tokens, h)))
    G = scorch.sparse(gate, fmt)
    for text, a, b in [("te,tk,ekn->tn", x, w), ("te,tn,ekn->tk", y, w), ("te,tk,tn->ekn", x, y)]:
        torch.testing.assert_close(scorch.einsum(text, G, a, b), torch.einsum(text, gate, a, b))
    bias = torch.arange(h, dtype=dtype)
    out = scorch.evaluate("Y[t,n] = b[n] + G[t,e] * X[t,k] * W[e,k,n]", G=G, X=x, W=w, b=bias)
    torch.testing.assert_close(out, bias + torch.einsum("te,tk,ekn->tn", gate, x, w))


def test_routed_rows_are_gathered_into_tiles():
    gate = torch.zeros(1024, 8)
    gate[torch.arange(1024), torch.arange(1024) % 8] = 1
    G, x, y, w = (
        scorch.sparse(gate, "csr"), torch.ones(1024, 128), torch.ones(1024, 256), torch.ones(8, 128, 256)
    )  # fmt: skip
    assert "by 6" in scorch.explain("te,tk,ekn->tn", G, x, w)
    assert "k%6 unroll 6" in scorch.explain("te,tk,tn->ekn", G, x, y)


def test_a_tile_is_unrolled_as_a_whole():
    nest = """par e in G { for t in G by 4 { for t in G unroll 2 { Y[e,t] += G[t,e] } } }"""
    with pytest.raises(ValueError, match="unroll takes all of them: 4"):
        scorch.evaluate("Y[e,t] += G[t,e]", G=scorch.sparse(matrix(), "csc"), schedule=nest)


def test_short_fibres_are_not_unrolled():
    def schedule(density):
        d = (torch.rand(40, 40, 64, generator=torch.Generator().manual_seed(0)) < density).float()
        a, x = scorch.sparse(d, "csf"), torch.ones(64, 16)
        torch.testing.assert_close(scorch.einsum("ijk,kr->ir", a, x), torch.einsum("ijk,kr->ir", d, x))
        return scorch.explain("ijk,kr->ir", a, x)

    often = "unroll 4" if 64 in native.widths() else "unroll"  # registers are fewer
    assert often in schedule(0.9) and "unroll" not in schedule(0.05)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.int64])
def test_sums_over_many_vectors(kind):
    """Some sums side by side, and what is left of them: exact on small integers, whatever the length."""
    for n in (257, *range(513, 570, 3), 1031):
        x = (torch.arange(7 * n) % 11 - 5).reshape(7, n).to(kind)
        y, rows = x.flip(0), torch.eye(7).to(kind)
        products, most = scorch.evaluate("s[i] = x[i,k] * y[i,k]; m[i] max= x[i,k] - y[i,k]", x=x, y=y)
        assert torch.equal(products, (x * y).sum(1)) and torch.equal(most, (x - y).amax(1))
        sampled = scorch.einsum("ij,ik,jk->ij", scorch.sparse(rows, format="csr"), x, y)
        assert torch.equal(sampled.to_dense(), rows * (x @ y.T))


def test_formats_are_those_of_all_results():
    """Also of a result that a later assignment reads."""
    a = scorch.sparse(torch.eye(4) * torch.arange(1.0, 5), "csr")
    text = "m[i] = A[i,j]; e[i,j] = A[i,j] / m[i]"
    m, e = scorch.evaluate(text, A=a, format=[None, "coo"], implicit="skip")
    assert torch.equal(m, torch.arange(1.0, 5)) and str(e.format) == "coo"
    assert torch.equal(e.to_dense(), torch.eye(4))
    with pytest.raises(ValueError, match="one format, or 2, one a result, got 1"):
        scorch.evaluate(text, A=a, format=["csr"])


def test_what_lies_right_is_not_converted_again():
    """Of seven indices one order is improved; a conversion to the format at hand would never settle."""
    g = torch.Generator().manual_seed(0)

    def some(density: float, *dims: int) -> torch.Tensor:
        return torch.rand(dims, generator=g, dtype=torch.float64) * (torch.rand(dims, generator=g) < density)

    s, t = some(0.266, 7, 7, 7, 6), some(0.27, 7, 6, 5)
    u, v = torch.rand(5, 8, dtype=torch.float64), torch.rand(8, 8, dtype=torch.float64).T
    y = scorch.einsum("abcd,cde,ef,fg->abg", scorch.sparse(s, "csr"), scorch.sparse(t, "csf"), u, v)
    torch.testing.assert_close(y, torch.einsum("abcd,cde,ef,fg->abg", s, t, u, v))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected an assignment, such as"),
        ("C[i]", "expected an assignment, such as"),
        ("C[i] =", "expected a tensor.*got the end"),
        ("C[i] = 1", "index i of C is not used on the right"),
        ("s = 1 + 1", "operand A is not used"),
        ("C[i] = A\u00e9[i,j]", "unexpected character(.*\n)+ *\\^"),
        ("C[i] = A[i,j]\0", "character 0"),
        ("C[i] = 3 * A[i,j] A[i,j]", "expected an operator, ';' or the end, got 'A'"),
    ],
)
def test_syntax_comes_before_what_is_not_used(text, said):
    with pytest.raises(ValueError, match=said):
        scorch.evaluate(text, A=matrix(6, 6))


def test_einsum_strings_without_arrow_or_letters():
    assert scorch.einsum("", torch.tensor(2.0)) == 2
    assert scorch.einsum(",", torch.tensor(2.0), torch.tensor(3.0)) == 6
    assert torch.equal(scorch.einsum("ij,\njk", torch.eye(3), torch.ones(3, 2)), torch.ones(3, 2))
    with pytest.raises(ValueError, match=r"'->' before the indices of the result\n  ij,jk-ik\n       \^"):
        scorch.einsum("ij,jk-ik", torch.eye(3), torch.eye(3))
    with pytest.raises(ValueError, match=r"operand 0: expected a name of at most 31 letters, got n+$"):
        scorch.evaluate(f"C[i] = {'n' * 40}[i]", **{"n" * 40: torch.ones(2)})


def test_out_lies_apart_from_everything():
    a, x = scorch.sparse(matrix(6, 6)), torch.rand(6, 6).double()
    for out in [x, x.expand(6, 6), torch.empty(6, 5), torch.empty(6, 6).T, torch.empty(6, 6)]:
        with pytest.raises(ValueError, match=r"^out: expected (memory apart|a contiguous tensor of shape)"):
            scorch.einsum("ij,jk->ik", a, x, out=out)
    same, two = torch.empty(7).double(), "y[i] = A[i,j]; z[i] = 2 * A[i,j]"
    for outs in [(same[:6], same[:6]), (same[:6], same[1:])]:
        with pytest.raises(ValueError, match="other results"):
            scorch.evaluate(two, A=a, out=outs)
    index = scorch.sparse(torch.eye(6, dtype=torch.int32), "csr", index_dtype=torch.int32)
    for array in index._arrays()[:-1]:
        with pytest.raises(ValueError, match="memory apart"):
            scorch.evaluate("y[i] = A[i,j]", A=index, out=array[:6])
    with pytest.raises(ValueError, match="requires no gradient"):
        scorch.einsum("ij,jk->ik", a, x, out=x.clone().requires_grad_())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schedule": 5}, "schedule: expected a string, got int"),
        ({"schedule": ["order(i)"]}, "schedule: expected a string, got list"),
        ({"format": 5}, "format: expected a string, a Format or a sequence of them, got int"),
        ({"out": [1]}, "out: expected a dense torch.Tensor, got list"),
        ({"x": None}, "expected tensors, SparseTensors, arrays or numbers, got NoneType"),
        ({"x": {}}, "expected tensors, SparseTensors, arrays or numbers, got dict"),
        ({"x": [torch.ones(6)] * 6}, "got list: operands stand one by one; torch.stack makes one"),
    ],
)
def test_arguments_of_wrong_types(options, said):
    with pytest.raises(TypeError, match=said):
        scorch.evaluate("C[i,k] = A[i,j] * x[j,k]", **{"A": matrix(6, 6), "x": torch.rand(6, 6), **options})


def test_kernels_take_the_operands_they_were_made_for():
    a, x = scorch.sparse(matrix(6, 6)), torch.rand(6, 6).double()
    kernel = scorch.compile("C[i,k] = A[i,j] * x[j,k]", A=a, x=x)
    assert torch.equal(kernel(x=x, A=a), kernel(a, x))
    for operands, named in [((), {"A": a}), ((), {"A": a, "x": x, "y": x}), ((a,), {"x": x})]:
        with pytest.raises(TypeError, match="expected the operands A, x, got"):
            kernel(*operands, **named)
    with pytest.raises(ValueError, match=r"got .'csr'."):
        kernel(a)


@pytest.mark.sampled
@pytest.mark.parametrize("fmt", ["csr", "csc", "coo", "dcsr", "bsr(2,2)"])
@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("h[i] = A[i,j] * (A[k,j] * x[k])", "ij,kj,k->i"),
        ("H[j,k] = A[i,j] * x[i] * A[ i , k ]", "ij,i,ik->jk"),
        ("C[i,j] = A[i,k] * x[k] * A[j,k]", "ik,k,jk->ij"),
        ("t = A[i,j] * A[j,k] * A[i,k] * x[i]", "ij,jk,ik,i->"),
        ("d[i] = A[i,i] * A[i,j] * A[j,i] * x[j]", "ii,ij,ji,j->i"),
    ],
)
def test_an_operand_has_a_layout_for_each_way_of_reading(text, same, fmt):
    d, x = matrix(6, 6), torch.arange(6.0).double()
    a = scorch.sparse(d, fmt)
    wanted = torch.einsum(same, *([d, x][c == "x"] for c in _order(text)))
    y, kernel = scorch.evaluate(text, A=a, x=x), scorch.compile(text, A=a, x=x)
    for got in [y, kernel(A=a, x=x), kernel(a, x)]:
        assert torch.equal(got.to_dense() if scorch.is_sparse(got) else got, wanted)
    leaf = x.clone().requires_grad_()
    assert torch.equal(kernel(a, leaf).to_dense().detach(), wanted)


def _order(text: str) -> str:
    return "".join(c for c in text.partition("=")[2] if c in "Ax")


def test_a_transposed_reading_is_converted():
    a = scorch.sparse(matrix(400, 400, 0.01), "csr")
    kernel = scorch.compile("S[i,j] = A[i,j] + A[j,i]", A=a)
    assert "A_1: f64, dense(1), compressed(0)" in kernel.explain().replace("csc", "dense(1), compressed(0)")
    with pytest.raises(ValueError, match=r"division by A\[j,i\](.*\n)+.* = A\[i,j\] / A\[j,i\]"):
        scorch.evaluate("S[i,j] = A[i,j] / A[j,i]", A=a)
    assert torch.equal(kernel(a).to_dense(), a.to_dense() + a.to_dense().T)


# ---- the same expression again ----
def test_an_expression_over_other_formats_ranks_and_types():
    """Each is what it is alone, whichever was computed before it."""
    torch.manual_seed(0)
    dense = {n: (torch.rand(4, 4, 4)[(0,) * (3 - n)] * 8).round() for n in (2, 3)}
    given = [
        scorch.sparse(dense[n].to(dtype), format)
        for n, format in ((2, "coo"), (3, "coo"), (2, "csr"), (2, "csc"), (3, "csf"))
        for dtype in (torch.float32, torch.float64, torch.int32)
    ]
    for _ in range(3):
        for a in given:
            all_of_them = "ijk"[: a.dim()]
            got = scorch.einsum(f"{all_of_them},{all_of_them}->", a, a)
            assert got == (a.to_dense() ** 2).sum() and got.dtype == a.dtype
            entry = f"A[{','.join(all_of_them)}]"
            assert scorch.evaluate(f"t = {entry} * {entry}", A=a) == got


def test_an_expression_again_over_what_is_not_plain():
    a, x = scorch.sparse(torch.eye(3), "csr"), torch.arange(3.0)
    text = "y[i] = A[i,j] * x[j]"
    for _ in range(2):
        assert scorch.evaluate(text, A=a, x=x).tolist() == [0, 1, 2]
    assert scorch.evaluate(text, A=a, x=[0, 1, 2]).tolist() == [0, 1, 2]
    turned = torch._neg_view(x)
    assert scorch.evaluate(text, A=a, x=turned).tolist() == [0, -1, -2]
    leaf = x.clone().requires_grad_()
    scorch.evaluate(text, A=a, x=leaf).sum().backward()
    assert leaf.grad.tolist() == [1, 1, 1]
    weight = a.clone().requires_grad_()
    scorch.evaluate(text, A=weight, x=x).sum().backward()
    assert weight.grad.values().tolist() == [0, 1, 2]
    got = torch.func.vmap(lambda x: scorch.evaluate(text, A=a, x=x))(torch.stack((x, 2 * x)))
    assert got.tolist() == [[0, 1, 2], [0, 2, 4]]
    with torch.autocast("cpu"):
        scorch.evaluate(text, A=a, x=x)
    with pytest.raises(ValueError, match="3"):
        scorch.evaluate(text, A=a, x=torch.ones(4))
    with pytest.raises(ValueError, match="x"):
        scorch.evaluate(text, A=a)
    assert scorch.evaluate(text, A=a, x=x).tolist() == [0, 1, 2]


def test_duplicates_of_bool_count_once_each_time():
    twice = scorch.coo(torch.tensor([[0, 0], [1, 1]]), torch.tensor([True, True]), (2, 2))
    for _ in range(3):
        assert scorch.einsum("ij->i", twice).tolist() == scorch.einsum("ij->i", twice.coalesce()).tolist()


@pytest.mark.parametrize("terms", [64, 65, 100])
@pytest.mark.parametrize("format", ["dense", "csr"])
def test_sums_of_more_terms_than_are_listed(terms, format):
    """They are taken apart at their first operator: right, or refused."""
    text = "y[i] = " + " + ".join(["A[i,j] * x[j]"] * terms)
    A, x = torch.eye(3), torch.arange(3.0)
    try:
        torch.testing.assert_close(
            scorch.evaluate(text, A=A if format == "dense" else scorch.sparse(A), x=x), terms * x
        )
    except NotImplementedError as e:
        assert format == "dense", e


def test_constants_that_float64_rounds():
    a, exact = scorch.sparse(torch.eye(2, dtype=torch.int64)), 2**60 + 2**10
    assert scorch.evaluate(f"C[i,j] = A[i,j] * {exact}", A=a).values().tolist() == [exact] * 2
    for number in (2**53 + 1, 2**60 + 1, 2**63 - 1):
        with pytest.raises(ValueError, match="rounded in float64"):
            scorch.evaluate(f"C[i,j] = A[i,j] * {number}", A=a)
        assert scorch.evaluate("C[i,j] = A[i,j] * a", A=a, a=number).values().tolist() == [number] * 2


def test_more_dimensions_than_there_are():
    with pytest.raises(NotImplementedError, match="at most 8 dimensions, got 9: join some"):
        scorch.einsum("abcdefghi->a", torch.ones([2] * 9))


@pytest.mark.parametrize(
    "text, shapes",
    [
        ("ij,jk->ik", [(4, 5), (1, 3)]),
        ("ij,jk->ik", [(4, 1), (5, 3)]),
        ("ij,ij->i", [(4, 5), (1, 5)]),
        ("ij,jk,ik->", [(4, 5), (1, 3), (4, 1)]),
        ("ij,jk", [(4, 5), (5, 1)]),
        ("...ij,...jk->...ik", [(4, 5), (2, 1, 3)]),
    ],
)
@pytest.mark.parametrize("way", [torch.einsum, scorch.einsum, "compiled"])
def test_extents_of_one_broadcast(text, shapes, way):
    first, *others = (torch.randint(1, 5, shape).float() for shape in shapes)
    first[0] = 0
    a = scorch.sparse(first)
    if way == "compiled":
        torch._dynamo.reset()
        way = torch.compile(lambda text, *xs: scorch.einsum(text, *xs), fullgraph=True, backend="eager")
    for way_of in (way, way):  # the second time as the first
        torch.testing.assert_close(way_of(text, a, *others), torch.einsum(text, first, *others))


def test_extents_that_do_not_broadcast_are_refused_as_they_were_written():
    a = scorch.sparse(torch.eye(3))
    with pytest.raises(ValueError, match="the sparse operand is 3 x 3, and the dense one has 2 where 3"):
        scorch.einsum("ij,jk->ik", a, torch.ones(2, 1))
    with pytest.raises(ValueError, match="of extent 1, and dimension 1"):
        scorch.einsum("ii->i", torch.ones(1, 3))

"""Composed formats: matrices that are the sum of parts, in expressions."""

import random
import re
from pathlib import Path

import native
import pytest
import torch
import torch.nn.functional as F

import scorch
from scorch.tools.plan import expect

FORMATS = [
    "bsr(4,4) of blocks(4,4,0.5) + csr",
    "compressed(0), dense(1) of rows(> 20) + csr",
    "csr of band(-3,3) + csr",
    "csr of columns(> 10) + csc",
    "ell(2) of nearest(2,32) + coo",
    "bsr(4,4) of blocks(4,4,0.6) + compressed(0), dense(1) of rows(> 12) + dcsr",
    "hyb(1,2)",
    "hyb(2,2)",
    "csr of bucket(2,3,2) + csc",
    "sell(4,8) of rows(<= 6) + csr",
    "csr of rows(< 4) + dense(1/8), dense(0), compressed(1%8)",
]
SECOND = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
OVERLAP = "csr of band(-3,3) + bsr(2,2)"  # blocks store places of the band once more, as zeros


def matrix(rows=24, columns=32, seed=0, dtype=torch.float64):
    """Integers, with a full block, a full row and a full column."""
    g = torch.Generator().manual_seed(seed)
    d = torch.randint(-4, 5, (rows, columns), generator=g) * (torch.rand(rows, columns, generator=g) < 0.2)
    d[4:8, 8:12] = torch.randint(1, 5, (4, 4), generator=g)
    d[3] = torch.randint(1, 5, (columns,), generator=g)
    d[:, 5] = torch.randint(1, 5, (rows,), generator=g)
    return d.to(dtype)


def dense(*shape, seed=1, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(-3, 4, shape, generator=g).to(dtype)


def plain(x):
    return x.to_dense() if scorch.is_sparse(x) else x


def same(got, wanted):
    assert torch.equal(plain(got), plain(wanted))


# ---- making ----
@pytest.mark.parametrize("text", [*FORMATS, OVERLAP])
def test_there_and_back(text):
    d = matrix()
    a = scorch.sparse(d, format=text)
    same(a, d)
    assert a.format == scorch.Format(text) == scorch.Format(str(a.format))
    for b in (a.convert("csr"), a.convert("coo"), a.convert(FORMATS[0]), a.convert(text), a.T.T):
        same(b, d)
    same(a.T, d.T)
    assert a.convert("csr").format == "csr" and a.T.T.format == a.format
    total = sum((plain(part) for part in a.parts), torch.zeros_like(d))
    assert torch.equal(total, d)
    assert a.nnz == sum(part.nnz for part in a.parts) == a.values().numel() == a.indices().shape[1]
    assert scorch.sparse(d.to_sparse(), format=text).format == a.format


def test_entries_go_to_the_first_rule_that_takes_them():
    d = matrix()
    place = torch.arange(24)[:, None] - torch.arange(32)
    band, rest = scorch.sparse(d, format="csr of band(-3,3) + csr").parts
    same(band, d * (place.abs() <= 3))
    same(rest, d * (place.abs() > 3))
    rows, rest = scorch.sparse(d, format="csr of rows(>= 12) + csr").parts
    same(rows, d * ((d != 0).sum(1, keepdim=True) >= 12))
    columns, _ = scorch.sparse(d, format="csr of columns(> 20) + csr").parts
    same(columns, d * ((d != 0).sum(0) > 20))
    blocks, rest = scorch.sparse(d, format="bsr(4,4) of blocks(4,4,0.9) + csr").parts
    assert blocks.nnz >= 16 and torch.equal(plain(blocks)[4:8, 8:12], d[4:8, 8:12])
    assert not plain(rest)[4:8, 8:12].any()
    two, rest = scorch.sparse(d, format="csr of nearest(2,4) + csr").parts
    assert (plain(two).view(24, 8, 4) != 0).sum(2).max() == 2
    assert (plain(two).view(24, 8, 4).abs().sum(2) >= plain(rest).view(24, 8, 4).abs().amax(2)).all()
    one, two, _ = scorch.sparse(d, format="csr of band(0,0) + csr of band(-1,1) + csr").parts
    same(one, d * (place == 0))
    same(two, d * (place.abs() == 1))


def repeats(a):
    key = a.indices()[0].long() * a.shape[1] + a.indices()[1]
    return key.unique().numel() < key.numel()


def test_what_fills_blocks_takes_all_that_lies_in_them():
    assert not repeats(scorch.sparse(matrix(), format="bsr(4,4) of band(0,0) + csr"))
    assert repeats(scorch.sparse(matrix(), format=OVERLAP))
    everything = scorch.sparse(matrix(), format="dense of rows(> 1000) + csr")  # no row is so long
    assert repeats(everything)
    same(scorch.map(everything, lambda v: v + 1).to_dense()[matrix() != 0], (matrix() + 1)[matrix() != 0])


def test_parts_of_a_user():
    d, e = matrix(), matrix(seed=5)
    b, c = scorch.sparse(d, format="bsr(4,4)"), scorch.sparse(e, format="csc")
    a = scorch.parts(b, c)
    same(a, d + e)
    assert [str(part.format) for part in a.parts] == ["bsr(4,4)", "csc"] and a.parts[1].nnz == c.nnz
    assert len(scorch.parts(a, b).parts) == 3 and b.parts == (b,)
    same(a @ dense(32, 5), (d + e) @ dense(32, 5))
    same(torch.relu(a), torch.relu(d + e))  # entries that both store are added up first
    same(a * 2, (d + e) * 2)
    assert scorch.parts(b.float(), c).dtype == torch.float64
    vector, cube = scorch.sparse(torch.ones(3), "coo"), scorch.sparse(torch.ones(2, 2, 2), "csf")
    for wrong in ([b], [b, d], [b, c.T], [b] * 9, [a] * 5, [vector] * 2, [cube] * 2):
        with pytest.raises((TypeError, ValueError), match="expected"):
            scorch.parts(*wrong)


@pytest.mark.parametrize("text", ["csr of rows(> 20) + dense", "dense of rows(> 20) + csr"])
def test_dense_parts(text):
    d, x = matrix(), dense(32, 5)
    a = scorch.sparse(d, format=text)
    for f in (lambda a: a @ x, lambda a: a.sum(0), lambda a: a * x[:, 0], torch.relu, lambda a: a.T[3:5]):
        same(f(a), f(d))
    assert a.parts[0 if text.startswith("dense") else 1].nnz == 24 * 32


def test_repr_names_the_parts():
    a = scorch.sparse(matrix(), format=FORMATS[0])
    assert f"bsr(4,4): {a.parts[0].nnz}, csr: {a.parts[1].nnz}" in repr(a)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("csr of rows(5) + csr", "rows: expected <"),
        (f"csr of rows(> {10**20}) + csr", "rows: expected <"),
        (f"csr of band(0,{10**20}) + csr", "expected integers from"),
        ("csr of lines(> 5) + csr", "expected a rule such as rows"),
        ("csr of band(3,-3) + csr", "lo at most hi"),
        ("bsr(4,4) of blocks(4,4,2) + csr", "share"),
        ("bsr(4,4) of blocks(4,4) + csr", "share"),
        ("csr of nearest(5,4) + csr", "n from 1 to m"),
        ("csr of rows(> 5)", "the last part without a rule"),
        ("csr + csr of rows(> 5)", "the last part without a rule"),
        ("(csr of rows(> 5) + csr) + csr", "no parentheses"),
        ("csr of rows(> 5) +", "on both sides"),
        ("csr + csr", "expected a rule for every part"),
        ("bsr(5,5) of blocks(5,5,0.5) + csr", "divide"),
        (" + ".join(["csr of rows(> 5)"] * 8 + ["csr"]), "up to 8 parts, got 9"),
        ("hyb(2,3)", "up to 8 parts"),
        ("hyb(0,2)", "up to 8 parts"),
        ("hyb(1,2) + csr", "leave out what is added"),
        ("csr of bucket(2,2,1) + csr", "number k below c"),
        ("csr of bucket(0,2) + csr", "k, c, n"),
    ],
)
def test_wrong_formats_are_refused(text, said):
    with pytest.raises(ValueError, match=said):
        scorch.sparse(matrix(), format=text)


def test_what_parts_have_of_their_own():
    a = scorch.sparse(matrix(), format=FORMATS[0])
    for read in (a.pos, a.crd):
        with pytest.raises(ValueError, match=r"A\.parts"):
            read(0)
    with pytest.raises(ValueError, match="each part"):
        a.format.levels  # noqa: B018
    with pytest.raises(ValueError, match="matrices"):
        scorch.sparse(torch.ones(2, 2, 2), format=FORMATS[0])
    with pytest.raises(ValueError, match=r"scorch\.parts"):
        scorch.from_components(FORMATS[0], (4, 4), [], [], torch.ones(1))


# ---- expressions ----
PROGRAMS = [
    "C[i,k] = A[i,j] * X[j,k]",
    "C[i,k] += A[i,j] * X[j,k]",
    "C[i,k] = relu(A[i,j] * X[j,k] + b[i])",
    "C[k,i] = X[j,k] * A[i,j] * 2",
    "C[j,k] = A[i,j] * Y[i,k]",
    "C[i] = A[i,j] * v[j] / b[i]",
    "C[i] = b[i] + A[i,j] * v[j] + A[i,l] * X[l,k]",
    "c = A[i,j] * v[j] * b[i]",
    "C[i,j] = A[i,j] * v[j]",
    "C[i,j] = A[i,j] * b[i] - A[i,j] * v[j]",
    "C[i,j] = A[i,j] * Y[i,k] * X[j,k]",
    "C[i,j] = relu(A[i,j])",
    "C[i,j] = A[i,j] + X[j,k] * Y[i,k]",
    "C[i,j] = A[i,j] * A[i,j] * v[j]",
    "m[i] max= A[i,j] * v[j]",
    "C[i,k] = A[i,j] * X[j,k]; D[i] = A[i,j] * v[j]; E[i,j] = A[i,j] * b[i]",
    "tmp t[i,k] = A[i,j] * X[j,k]; C[i,k] = t[i,k] * b[i] + relu(t[i,k])",
    "S[i,j] = A[i,j] * v[j]; C[i,k] = S[i,j] * X[j,k]",
    "C[i,l] = A[i,j] * A[l,j] * v[j]",
    "C[i,k] = A[i,j] * A[l,j] * Y[l,k]",
    "C[i,k] = A[i,j] * B[l,j] * Y[l,k]",
    "C[i,k] = A[i,j] * X[j,k] + B[i,j] * X[j,k]",
    "C[i,k] = A[i,j] * relu(B[l,j] * Y[l,k])",
    "C[i,k] = (A[i,j] + B[i,j]) * X[j,k]",
    "C[i,j] = A[i,j] * B[i,j]",
    "C[i,j] = A[i,j] + B[i,j]",
    "C[i,j] = stored(A[i,j]) * v[j]",
    "C[i] = exp(A[i,j] * v[j] / 50)",
]


def operands(dtype=torch.float64):
    b = dense(24, dtype=dtype)
    return {
        "A": matrix(dtype=dtype),
        "B": matrix(seed=7, dtype=dtype),
        "X": dense(32, 3, dtype=dtype),
        "Y": dense(24, 3, seed=2, dtype=dtype),
        "v": dense(32, seed=3, dtype=dtype),
        "b": b + (b == 0),
    }


def evaluated(text, given, **how):
    names = [name for name in given if any(f"{name}{end}" in text for end in "[")]
    made = scorch.evaluate(text, **{name: given[name] for name in names}, **how)
    return made if isinstance(made, tuple) else (made,)


@pytest.mark.sampled
@pytest.mark.parametrize("other", ["csr", pytest.param(FORMATS[1], marks=pytest.mark.slow)])
@pytest.mark.parametrize("text", PROGRAMS)
def test_programs(text, other):
    given = operands()
    for form in [*FORMATS, OVERLAP]:
        parts = {
            "A": scorch.sparse(given["A"], format=form),
            "B": scorch.sparse(given["B"], format=other),
        }
        csr = {name: x.convert("csr") for name, x in parts.items()}
        wanted = evaluated(text, given | csr)
        for y, w in zip(evaluated(text, given | parts), wanted, strict=True):
            if "exp" in text or "/" in text:
                torch.testing.assert_close(plain(y), plain(w))
            else:
                same(y, w)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=pytest.mark.slow if n > 3 else ()) for n in range(12)]
)
def test_random_compositions(seed):
    draw = random.Random(seed)
    rules = ["rows(> 8)", "rows(<= 5)", "columns(>= 6)", "blocks(4,4,0.4)", "band(-9,2)", "nearest(1,8)"]
    levels = ["csr", "csc", "coo", "dcsr", "bsr(4,4)", "bsr(2,8)", "ell(32)", "compressed(0), dense(1)"]
    dtype = draw.choice([torch.float32, torch.float64, torch.int64, torch.int32, torch.bfloat16])
    given = operands(dtype)
    for _ in range(4):
        n = draw.randint(1, 3)
        form = " + ".join([f"{draw.choice(levels)} of {draw.choice(rules)}" for _ in range(n)])
        form += f" + {draw.choice(levels)}"
        a = scorch.sparse(given["A"], format=form, index_dtype=draw.choice([None, torch.int64]))
        same(a, given["A"])
        for text in draw.sample([t for t in PROGRAMS if "/" not in t and "B[" not in t], 3):
            csr = evaluated(text, given | {"A": a.convert("csr")})
            for y, w in zip(evaluated(text, given | {"A": a}), csr, strict=True):
                torch.testing.assert_close(
                    plain(y), plain(w), rtol=1e-1 if dtype == torch.bfloat16 else 0, atol=0
                )


def test_a_step_for_each_part():
    given = operands()
    a = scorch.sparse(given["A"], format=FORMATS[0])
    kernel = scorch.compile("C[i,k] = relu(A[i,j] * X[j,k] + b[i])", A=a, X=given["X"], b=given["b"])
    said = kernel.explain()
    assert said.startswith(f"A: {FORMATS[0]}: A_0 is bsr(4,4), A_1 is csr\n") and "A_0[i,j] * X[j,k]" in said
    same(kernel(A=a, X=given["X"], b=given["b"]), torch.relu(given["A"] @ given["X"] + given["b"][:, None]))
    assert "converted to csr" in scorch.explain("C[i,j] = relu(A[i,j])", A=a)
    assert "x0_0 is bsr(4,4)" in scorch.explain("ij,jk->ik", a, given["X"])
    with pytest.raises(ValueError, match="formats"):
        kernel(A=a.convert("csr"), X=given["X"], b=given["b"])


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        (FORMATS[0], None),
        (FORMATS[0], "csr"),
        (FORMATS[2], "ell(32)"),
        (FORMATS[2], FORMATS[0]),
        ("csr", FORMATS[0]),
        (FORMATS[0], FORMATS[0]),
    ],
)
def test_the_format_that_is_delivered_is_explained(form, wanted):
    given = operands()
    a, v = scorch.sparse(given["A"], format=form), given["v"]
    made = scorch.einsum("ij,j->ij", a, v, format=wanted)
    said = scorch.explain("ij,j->ij", a, v, format=wanted)
    assert f": delivered as {made.format}\n" in said and said.steps[0].format == str(made.format)


@pytest.mark.parametrize("form", [*FORMATS[:5], *FORMATS[6:]])
def test_results_with_the_parts_of_an_operand(form):
    given = operands()
    a = scorch.sparse(given["A"], format=form)
    for y in (
        a * given["v"],
        a / given["b"][:, None],
        scorch.sddmm(a, given["Y"], given["X"]),
        -a,
        a * 2,
        a + a,
    ):
        assert y.format == a.format and y.nnz == a.nnz
    assert (a @ scorch.sparse(given["A"].T, format="csr")).format == "csr"
    assert a.convert("csr").mul(given["v"]).convert(form).format == a.format
    asked = scorch.einsum("ij,j->ij", a.convert("csr"), given["v"], format=form)
    assert asked.format == a.format
    same(asked, given["A"] * given["v"])


@pytest.mark.parametrize("wanted", ["csr", "coo", "csc", "bsr(2,2)", FORMATS[0], FORMATS[2], FORMATS[6]])
def test_results_have_the_format_that_is_asked_for(wanted):
    given = operands()
    a, bound = scorch.sparse(given["A"], format=FORMATS[2]), scorch.sparse(given["A"], format=wanted).format
    scaled, twice = given["A"] * given["v"], 2 * given["A"]
    traced = torch.compile(
        lambda a, v: scorch.einsum("ij,j->ij", a, v, format=wanted), backend="eager", fullgraph=True
    )
    made = [
        (scorch.einsum("ij,j->ij", a, given["v"], format=wanted), scaled),
        (scorch.evaluate("C[i,j] = 2 * A[i,j]", A=a, format=scorch.Format(wanted)), twice),
        (scorch.compile("ij,j->ij", a, given["v"], format=wanted)(a, given["v"]), scaled),
        (scorch.einsum("ij,jk->ik", a, dense(32, 24), format=wanted), given["A"] @ dense(32, 24)),
    ]
    if wanted in ("csr", FORMATS[2]):
        made.append((traced(a, given["v"]), scaled))
    for y, right in made:
        assert y.format == bound
        same(y, right)
    text = "C[i,j] = 2 * A[i,j]; D[i,j] = A[i,j] * v[j]"
    for y, form in zip(
        scorch.evaluate(text, A=a, v=given["v"], format=[None, wanted]), (a.format, bound), strict=True
    ):
        assert y.format == form


def test_parts_of_another_operand_are_asked_for_in_vain():
    d = matrix()
    a, user = scorch.sparse(d, format=FORMATS[2]), scorch.parts(*map(scorch.sparse, (d, d)))
    y, x = scorch.evaluate(
        "C[i,j] = 2 * A[i,j]; y[i] = B[i,j] * x[j]", A=a, B=user, x=dense(32), format=[str(user.format), None]
    )
    assert y.format == "csr"
    same(y, 2 * d)
    same(x, 2 * d @ dense(32))


def test_out_and_schedules():
    given = operands()
    a, out = scorch.sparse(given["A"], format=FORMATS[0]), torch.empty(24, 3, dtype=torch.float64)
    wanted = given["A"] @ given["X"]
    assert scorch.einsum("ij,jk->ik", a, given["X"], out=out) is out
    same(out, wanted)
    same(torch.matmul(a, given["X"], out=out.zero_()), wanted)
    same(scorch.einsum("ij,jk->ik", a, given["X"], schedule="order(i, j, k)"), wanted)
    same(scorch.einsum("ij,jk->ik", a, given["X"], implicit="skip"), wanted)


@pytest.mark.skipif(
    64 not in native.widths() or not SECOND.exists() or SECOND.read_text() != "1024K\n",
    reason="which remainders are cut depends on vectors and caches",
)
def test_a_remainder_that_is_cut_is_computed_first():
    g = torch.Generator().manual_seed(0)
    d = (torch.rand(4096, 4096, generator=g) < 0.05).float()
    d[:1024, :256] = 1
    a = expect(scorch.sparse(d, format="bsr(32,32) of blocks(32,32,0.5) + csr"))
    first, last = scorch.explain("ij,jk->ik", a, torch.zeros(4096, 128)).steps
    assert "_1[i," in first.text and "_0[i," in last.text and "t1[i,k]" in last.text
    assert "_0[i," in scorch.explain("ij,jk->ik", a, torch.zeros(4096, 16)).steps[0].text


# ---- schedules ----
def test_a_schedule_for_each_part():
    given = operands()
    given["A"] = scorch.sparse(given["A"], format=FORMATS[0])
    given = {name: given[name] for name in ("A", "X", "b")}
    text, schedule = "C[i,k] = relu(A[i,j] * X[j,k] + b[i])", "A.0: parallel(k); A.1: ahead(8)"
    wanted = scorch.evaluate(text, **given)
    kernel = scorch.compile(text, schedule=schedule, **given)
    said = kernel.explain()
    assert "as asked: parallel(k)" in said and "as asked: ahead(8)" in said
    assert "par k" in said and " ahead 8 " in said
    for asked in (schedule, "A.1: ahead(8)", "A.0: parallel(k);"):
        same(scorch.evaluate(text, schedule=asked, **given), wanted)
    same(kernel(**given), wanted)
    x = given["X"].clone().requires_grad_()
    y = scorch.einsum("ij,jk->ik", given["A"], x, schedule="A.1: tile(k: 2)")
    same(y.detach(), plain(given["A"]) @ given["X"])
    y.sum().backward()
    same(x.grad, plain(given["A"]).sum(0)[:, None].expand_as(x))


@pytest.mark.parametrize(
    ("form", "of", "text"),
    [
        ("hyb(1,1)", "A", "C[i,k] = A[i,j] * X[j,k]"),
        (FORMATS[0], "A", "C[i,k] = A[i,j] * X[j,k]"),
        (FORMATS[2], "AX", "C[i] = A[i,j] * X[j,k]"),
    ],
)
def test_indices_of_schedules_are_those_of_the_expression(form, of, text):
    given = {name: x for name, x in operands().items() if name in "AX"}
    wanted = scorch.evaluate(text, **given)
    given = {name: scorch.sparse(x, form) if name in of else x for name, x in given.items()}
    schedule = "; ".join(f"A.{k}: order(i, j)" for k in range(len(given["A"].parts)))
    kernel = scorch.compile(text, schedule=schedule, **given)
    said = kernel.explain()
    assert "as asked: order(i, j)" in said and re.search(r"as asked: order\(i, j_\d\)", said)
    same(kernel(**given), wanted)


@pytest.mark.parametrize("form", [FORMATS[0], FORMATS[2], "bsr(2,2) of blocks(2,2,0.5) + csr"])
@pytest.mark.parametrize("text", ["C[i,k] = A[i,j] * X[j,k]", "C[i,j] = A[i,j] * v[j]"])
def test_schedules_that_were_printed_go_back(form, text):
    given = operands()
    wanted = scorch.evaluate(text, **{name: x for name, x in given.items() if name in text})
    given["A"] = scorch.sparse(given["A"], form)
    given = {name: x for name, x in given.items() if name in text}
    kernel = scorch.compile(text, **given)
    for schedule in (kernel.directives, kernel.schedule):
        again = scorch.compile(text, schedule=schedule, **given)
        assert again.schedule == kernel.schedule
        same(again(**given), wanted)


def test_nests_of_steps_over_parts_are_refused():
    given = {"P": scorch.sparse(matrix(), "hyb(1,2)"), "X": dense(matrix().shape[1], 5)}
    text = "C[i,k] = P[i,j] * X[j,k]"
    kernel = scorch.compile(text, **given)
    assert "-- step 1" in kernel.schedule
    with pytest.raises(ValueError, match="those of the steps of a program"):
        scorch.evaluate(text, schedule=kernel.schedule, **given)
    assert scorch.compile(text, schedule=kernel.directives, **given).schedule == kernel.schedule


@pytest.mark.parametrize(
    ("form", "schedule", "said"),
    [
        (FORMATS[0], "A.2: ahead(8)", r"composed operand \(A.0, A.1\), got A.2"),
        (FORMATS[0], "B.0: ahead(8)", r"composed operand \(A.0, A.1\), got B.0"),
        (FORMATS[0], "ahead(8); A.1: ahead(8)", "in front of all directives .* got 'ahead"),
        (FORMATS[0], "A.1: tile(q: 4)", "q is no index of the expression"),
        (FORMATS[0], "A.0: parallel()", r"no loops .* A\.0\[i,j\] .* as 'parallel\(\)' asks"),
        (FORMATS[0], "A.1: fast(8)", "expected order, parallel, .* got 'fast'"),
    ],
)
def test_schedules_of_parts_that_are_refused(form, schedule, said):
    given = operands()
    a = scorch.sparse(given["A"], format=form)
    with pytest.raises(ValueError, match=said):
        scorch.evaluate("C[i,k] = A[i,j] * X[j,k]", A=a, X=given["X"], schedule=schedule)
    with pytest.raises(ValueError, match="expected no part"):
        scorch.evaluate("C[i,j] = relu(A[i,j])", A=a, schedule="A.0: ahead(8)")


def test_schedules_convert_to_parts():
    given = operands()
    a, x = scorch.sparse(given["A"], format="csr"), given["X"]
    text, convert = "C[i,k] = A[i,j] * X[j,k]", f'convert(A: "{FORMATS[0]}")'
    kernel = scorch.compile(text, A=a, X=x, schedule=convert)
    assert kernel.explain().startswith(f"A: {FORMATS[0]}: A_0 is bsr(4,4), A_1 is csr")
    for schedule in (convert, f"{convert}; A.1: ahead(8)"):
        same(scorch.evaluate(text, A=a, X=x, schedule=schedule), given["A"] @ x)
        same(scorch.einsum("ij,jk->ik", a, x, schedule=schedule), given["A"] @ x)
    name = f"as {FORMATS[0]}"
    kept = a.__dict__["_derived"][name][1]
    same(kernel(A=a, X=x), given["A"] @ x)
    assert a.__dict__["_derived"][name][1] is kept and name in a.memory()["derived"]
    a.values().numpy()[:] *= 2  # which torch does not count
    same(kernel(A=a, X=x), 2 * given["A"] @ x)
    a.requires_grad_()
    scorch.evaluate(text, A=a, X=x, schedule=convert).sum().backward()
    assert a.grad.format == "csr" and torch.equal(a.grad.values(), x.sum(1)[a.indices()[1].long()])


@pytest.mark.parametrize(
    "schedule", ['convert(A: "hyb(1,2)")', "convert(A: HYB(1, 2))", 'convert(A: "hyb(1,2)"); A.1: ahead(8)']
)
def test_schedules_convert_to_buckets(schedule):
    given = operands()
    a, x = scorch.sparse(given["A"], format="csr"), given["X"]
    same(scorch.evaluate("C[i,k] = A[i,j] * X[j,k]", A=a, X=x, schedule=schedule), given["A"] @ x)
    same(scorch.einsum("ij,jk->ik", a, x, schedule=schedule), given["A"] @ x)
    said = scorch.explain("ij,jk->ik", a, x, schedule=schedule)
    assert "compressed(0), ell(1, 4) of rows(<= 4) + csr" in said


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ('convert(A: "hyb(2,3)")', r"expected hyb\(c,k\)"),
        ('convert(X: "hyb(1,2)")', "expected the name of a sparse operand, one of A, X"),
        (f'convert(X: "{FORMATS[0]}")', "expected the name of a sparse operand, one of A, X"),
        (f'convert(B: "{FORMATS[0]}")', "expected the name of a sparse operand, one of A, X"),
        ('convert(A: "bsr(4,4) of squares + csr")', "expected a rule such as"),
        (f'convert(X: csc, A: "{FORMATS[0]}")', r"beside a conversion to parts .* got 'convert\(X: csc\)'"),
        (f'convert(A: "{FORMATS[0]}") order(i, k, j)', "beside a conversion to parts .* got 'order"),
        (f'convert(A: "{FORMATS[0]}"); ahead(8); A.0: ahead(8)', "in front of all directives"),
    ],
)
def test_conversions_to_parts_that_are_refused(schedule, said):
    given = operands()
    with pytest.raises(ValueError, match=said):
        scorch.evaluate(
            "C[i,k] = A[i,j] * X[j,k]", A=scorch.sparse(given["A"]), X=given["X"], schedule=schedule
        )


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["@", "r@", "T@", "mv", "mm", "addmm", "linear", "einsum", "bias", "3d"])
def test_products(kind):
    d, x, y = matrix(), dense(32, 5), dense(7, 24, seed=4)
    calls = {
        "@": lambda a: a @ x,
        "r@": lambda a: y @ a,
        "T@": lambda a: a.T @ y.T,
        "mv": lambda a: torch.mv(a, x[:, 0].contiguous()),
        "mm": lambda a: torch.mm(a, x),
        "addmm": lambda a: torch.addmm(torch.ones(24, 5, dtype=x.dtype), a, x, beta=2, alpha=3),
        "linear": lambda a: F.linear(x.T, a),
        "einsum": lambda a: torch.einsum("ij,jk->ki", a, x),
        "bias": lambda a: F.linear(x.T, a, torch.arange(24.0, dtype=x.dtype)),
        "3d": lambda a: dense(2, 3, 24) @ a,
    }
    wanted = calls[kind](d)
    for form in [*FORMATS, OVERLAP]:
        same(calls[kind](scorch.sparse(d, format=form)), wanted)


# ---- gradients ----
@pytest.mark.sampled
@pytest.mark.parametrize(
    "form", [OVERLAP, *(pytest.param(form, marks=pytest.mark.slow) for form in FORMATS[:2])]
)
@pytest.mark.parametrize("text", PROGRAMS[:8] + PROGRAMS[18:22])
def test_gradients(form, text):
    given = operands()
    dense_ = {name: x.clone().requires_grad_() for name, x in given.items()}
    csr = {"A": scorch.sparse(given["A"], format="csr").requires_grad_()}
    a = scorch.sparse(given["A"], format=form).requires_grad_()
    b = scorch.sparse(given["B"], format="csr")
    others = {name: x.clone().requires_grad_() for name, x in given.items() if name not in "AB"}
    for first in (csr["A"], a):
        mine = {name: x.detach().clone().requires_grad_() for name, x in others.items()}
        total = sum((plain(y) * plain(y)).sum() for y in evaluated(text, mine | {"A": first, "B": b}))
        total.backward()
        others_of = {name: x.grad for name, x in mine.items()}
        if first is csr["A"]:
            wanted = others_of
    for name, grad in wanted.items():
        assert (grad is None) == (others_of[name] is None)
        if grad is not None:
            torch.testing.assert_close(others_of[name], grad)
    assert a.grad.format == a.format and dense_
    full = torch.zeros(24, 32, dtype=torch.float64)
    row, column = csr["A"].grad.indices()
    full[row, column] = csr["A"].grad.values()
    row, column = a.grad.indices()
    mine = a.grad.values()[row >= 0]
    stored = (given["A"] != 0)[row[row >= 0], column[row >= 0]]
    torch.testing.assert_close(mine[stored], full[row[row >= 0], column[row >= 0]][stored])


@pytest.mark.parametrize("form", [FORMATS[2], "hyb(1,6)"])
@pytest.mark.parametrize("text", ["ij,kj,lj->ikl", "ij,kj,lj,mj->iklm"])
@pytest.mark.parametrize("which", ["dense", "sparse", "grad", "compile"])
def test_what_goes_over_parts_forward_has_gradients(form, text, which):
    d, x, y, z = matrix(8, 12), dense(5, 12), dense(4, 12, seed=2), dense(3, 12, seed=3)
    others = {2: (y,), 3: (y, z)}[text.count(",")]
    a = scorch.sparse(d, format=form)

    def f(x, a):
        return scorch.einsum(text, x, a, *others).square().sum()

    def right(x, d):
        return torch.einsum(text, x, d, *others).square().sum()

    of_x, of_d = torch.func.grad(right, (0, 1))(x, d)
    if which == "grad":
        torch.testing.assert_close(torch.func.grad(lambda x: f(x, a))(x), of_x)
    elif which == "sparse":
        f(x, a.requires_grad_()).backward()
        assert a.grad.format == a.format
        torch.testing.assert_close(a.grad.to_dense(), of_d * (d != 0))
    else:
        call = torch.compile(f, backend="aot_eager", fullgraph=True) if which == "compile" else f
        call(x.requires_grad_(), a).backward()
        torch.testing.assert_close(x.grad, of_x)


def test_gradients_of_conversions_and_parts():
    d = matrix().requires_grad_()
    b = scorch.sparse(d.detach(), format="csr").requires_grad_()
    x = dense(32, 3)
    ((b.convert(FORMATS[0]) @ x) ** 2).sum().backward()
    ((b.detach().requires_grad_() @ x) ** 2).sum().backward()
    wanted = 2 * (d.detach() @ x) @ x.T * (d.detach() != 0)
    same(b.grad, wanted)
    c = scorch.sparse(d.detach(), format="coo").requires_grad_()
    e = scorch.sparse(d.detach(), format="bsr(4,4)")
    ((scorch.parts(e, c) @ x) ** 2).sum().backward()
    same(c.grad, 2 * wanted)
    a = scorch.sparse(d.detach(), format=FORMATS[1]).requires_grad_()
    ((a.parts[0].to_dense() + a.parts[1].to_dense()) @ x).square().sum().backward()
    same(a.grad, wanted)
    a.grad = None
    (a.convert("csr") @ x).square().sum().backward()
    same(a.grad, wanted)
    gradcheck = torch.autograd.gradcheck
    assert gradcheck(lambda v: a.detach()._with_values(v) @ x, (a.values().detach().requires_grad_(),))
    v = a.values().detach().requires_grad_()
    assert torch.autograd.gradgradcheck(lambda v: (a.detach()._with_values(v) @ x[:, :1]) ** 2, (v,))

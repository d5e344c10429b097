"""Sweeps of whole problems: formats x widths x types x shapes x expressions, against the oracle.

A problem is an .sc text; scorchc runs hundreds of them in one process, through the executor or through
compiled code, on generated data whose sums are exact. The quick tests take a sample of fixed seed, the slow
ones a larger one. A problem may be refused, but only with one of the messages that say so.
"""

import itertools
import random
import re
import sys
from collections.abc import Iterator

import generate
import native
import nests
import pytest
import sweep

WIDTHS = (1, 3, 6, 7, 16, 33, 64, 250)
SHAPES = ((50, 40), (64, 65), (1, 1), (17, 1), (1, 300), (0, 8), (9, 0), (129, 16))
MATRICES = (
    "csr", "csc", "coo", "dcsr", "dcsc", "bsr(2,4)", "bsc(5,2)", "ell(40)", "dia(16)", "dia(4)", "bitmask",
    "sell(4,8)", "sell(16,1024)",
    "dense(0), compressed(1)", "dense(1), bitmask(0)",
    "dense(1), compressed(0)", "compressed(0), dense(1)", "dense(0/4), compressed(1), dense(0%4)",
    "dense(1/64), dense(0), compressed(1%64)", "compressed(0/2), compressed(1/2), dense(1%2), dense(0%2)",
)  # fmt: skip
CUBES = ("csf", "coo", "dense(0), compressed(1), compressed(2)", "dense(0), dense(1), compressed(2)",
         "compressed(2), dense(0), compressed(1)", "dia(8)", "sell(8,24)",
         "compressed(1), dense(0), diagonals(2, 4)", "bitmask",
         "compressed(1), dense(0), bitmask(2)")  # fmt: skip
OF_MATRICES = (  # operands: A[i,j] sparse; B[j,k], X[i,k], Y[l,j,k], b[k], d[i], v[j] dense
    "C[i,k] = A[i,j] * B[j,k]", "C[k,i] = A[i,j] * B[j,k]", "C[j,k] = A[i,j] * X[i,k]",
    "C[i] = A[i,j] * v[j]", "C[j] = A[i,j] * d[i]", "C[i] = A[i,j]", "C[j] = A[i,j]",
    "C = A[i,j]", "C[i,j] = 2 * A[i,j]",
    "C[i,j] = A[i,j] * d[i]", "C[i,j] = A[i,j] * X[i,k] * B[j,k]", "C[i,j,k] = A[i,j] * B[j,k]",
    "C[k] = A[i,j] * B[j,k]", "C = A[i,j] * B[j,k]", "C[i] = A[i,j] * X[i,k] * B[j,k]",
    "C[i,k] = A[i,j] * B[j,k] + b[k]", "C[i,k] = A[i,j] * B[j,k] * d[i]", "C[l,i,k] = A[i,j] * Y[l,j,k]",
    "C[i,k] = A[i,j] * Y[l,j,k]", "C[i,k] = relu(A[i,j] * B[j,k] + b[k])",
    "C[i,k] = exp(A[i,j] * B[j,k]) - 1",
    "C[i,k] = relu(A[i,j]) * B[j,k]", "C[i,k] = abs(A[i,j] * B[j,k]) + X[i,k]", "C[i] max= A[i,j]",
    "C[j] min= A[i,j]", "C = max(A[i,j], 0) * d[i]", "C[i,j] = abs(A[i,j])",
    "C[i,k] += A[i,j] * B[j,k] * v[j]",
    "C[i,k] += A[i,j] * B[j,k] - A[i,j] * B[j,k]", "C[i,k] = -A[i,j] * (B[j,k] + B[j,k])",
)  # fmt: skip
OF_CUBES = (  # operands: A[i,j,l] sparse; E[j,k], F[l,k], v[j], w[l] dense
    "C[i,k] = A[i,j,l] * E[j,k] * F[l,k]", "C[i,j,k] = A[i,j,l] * F[l,k]", "C[i] = A[i,j,l] * v[j] * w[l]",
    "C[j] = A[i,j,l]", "C[l,j] = A[i,j,l]", "C = A[i,j,l] * w[l]", "C[i,j,l] = A[i,j,l] * 3",
    "C[l,k] = A[i,j,l] * E[j,k]", "C[i,l] max= A[i,j,l]",
)  # fmt: skip


def declare(name: str, dtype: str, dims: tuple[int, ...], unit: int | None = None) -> str:
    text = f"in {name}: {dtype} dense ({', '.join(map(str, dims))})"
    return text if unit is None else f"{text} unit {unit}"


def problem(draw: random.Random, form: str, expression: str, cube: bool) -> str:
    """One problem with a sparse operand."""
    dtype, itype, k = draw.choice(("f32", "f64")), draw.choice(("i32", "i64")), draw.choice(WIDTHS)
    rows, columns = draw.choice(SHAPES)
    if "/" in form or form.startswith("bs"):
        rows, columns = -(-rows // 20) * 20, -(-columns // 64) * 64
    if form.startswith("ell"):
        columns = min(columns, 40)
    batch = draw.choice((1, 5))
    shape = (rows % 40, columns % 40, draw.choice((0, 1, 30))) if cube else (rows, columns)
    extents = {"i": shape[0], "j": shape[1], "l": shape[2] if cube else batch, "k": k}
    quoted = f'"{form}"' if " " in form else form
    lines = [f"in A: {dtype} {quoted} {itype} ({', '.join(map(str, shape))})"]
    for name, indices in sorted(set(re.findall(r"\b([B-Zb-z])\[([a-z,]+)\]", expression.split("=", 1)[1]))):
        dims = tuple(extents[x] for x in indices.split(","))
        lines.append(
            declare(name, dtype, dims, draw.choice((None, None, None, 0)) if len(dims) == 2 else None)
        )
    lines += draw.choices(([], ["nofold"]), (3, 1))[0]
    lines += ["skip"] if re.search(r"(max|min)=", expression) and draw.random() < 0.5 else []
    return "\n".join([*lines, expression]) + "\n"


def templates(count: int, seed: int) -> Iterator[str]:
    """A sample in which every pair of a format and an expression has its turn."""
    draw = random.Random(seed)
    pairs = [(f, e, False) for f in MATRICES for e in OF_MATRICES] + [
        (f, e, True) for f in CUBES for e in OF_CUBES
    ]
    draw.shuffle(pairs)
    for n in range(count):
        yield problem(draw, *pairs[n % len(pairs)])


def narrow() -> Iterator[str]:
    """Sums that their types cannot take step by step: 16 bits would stop growing, truth values do not add."""
    forms = ("csr", "csc", "coo", "dense")
    expressions = (
        "C[i] = A[i,j] * A[i,j]",
        "C[j] = A[i,j] * A[i,j]",
        "C = A[i,j] * A[i,j]",
        "C[j,i] = A[i,j] * -2",
    )
    for dtype, form, expression in itertools.product(("f16", "bf16", "bool"), forms, expressions):
        if dtype != "bool" or "-" not in expression:
            for shape in ("(4, 6000)", "(6000, 4)"):
                yield f"in A: {dtype} {form} {shape}\n{expression}\n"
    for dtype in ("f16", "bf16"):  # sums that memory takes
        operands = f"in A: {dtype} csc (4, 6000)\nin x: {dtype} dense (6000, 2)\nschedule order(k, j, i)\n"
        yield f"{operands}C[i,k] = A[i,j] * A[i,j] * x[j,k] * x[j,k]\n"


KINDS, SUMS = (
    ("f32", "f64", "bf16", "f16", "i64", "i32", "bool"),
    {"bf16": "f32", "f16": "f32", "bool": "i64"},
)


def picks(count: int, seed: int) -> Iterator[str]:
    """Vectors of entries whose coordinates pick what is read, in rows of every length."""
    draw = random.Random(seed)
    for _ in range(count):
        kind, itype = draw.choice(KINDS), draw.choice(("i32", "i64"))
        extents = {"i": draw.choice((1, 5, 40)), "j": draw.choice((1, 7, 33, 150)), "n": draw.choice((1, 3))}
        op, term = (
            draw.choice(("+=", "max=")),
            draw.choice(("A[i,j] * x[j]", "A[i,j] * B[n,j]", "A[i,j] * T[j,n]")),
        )
        if op == "+=" and draw.random() < 0.5:
            term = f"stored(A[i,j]) * ({term} + x[j])"
        left = "C[n,i]" if "n" in term else "C[i]"
        used = sorted(set(re.findall(r"\b([ABTx])\[([a-z,]+)\]", term)))
        lines = [
            f"in {name}: {kind} {f'csr {itype}' if name == 'A' else 'dense'} "
            f"({', '.join(str(extents[v]) for v in at.split(','))})"
            for name, at in used
        ]
        body = (
            f"for i in A {{ work c: reg {SUMS.get(kind, kind)} "
            f"{{ vec j in A {{ c {op} {term} }} }} then {{ {left} = c }} }}"
        )
        nest = f"par n {{ {body} }}" if "n" in term else body.replace("for i", "par i", 1)
        yield "\n".join([*lines, *["skip"][: op == "max="], f"{left} {op} {term}", f"nest {{ {nest} }}\n"])


def gathers(count: int, seed: int) -> Iterator[str]:
    """Dense work that entries route, in tiles and blocks of any size."""
    draw = random.Random(seed)
    for _ in range(count):
        dtype, k, n = (
            draw.choice(("f32", "f64", "bf16")),
            draw.choice((1, 3, 20)),
            draw.choice((1, 5, 16, 40)),
        )
        rows, itype, wishes = draw.choice((1, 7, 90)), draw.choice(("i32", "i64")), []
        through = draw.random() < 0.5  # an entry reads through another index than it writes through
        if not through or draw.random() < 0.5:
            wishes.append(f"gather(i: {draw.randint(2, 32)})")
        if through:
            wishes.append(f"block(i: {draw.choice((1, 5, 16, 100))})")
        form = '"compressed(0), compressed(1, nonunique), singleton(2)"' if through else "csc"
        shape, at, x = (f"3, {rows}, 8", "r,i,j", "j") if through else (f"{rows}, 3", "i,r", "i")
        yield (
            f"in M: {dtype} {form} {itype} ({shape})\nin X: {dtype} dense ({8 if through else rows}, {k})\n"
            f"in W: {dtype} dense (3, {k}, {n})\nY[i,n] = M[{at}] * X[{x},k] * W[r,k,n]\n"
            f"schedule {' '.join(wishes)}\n"
        )


def check(made: list, *options: object, refused=sweep.refused, **how) -> int:
    """Runs problems; the first that is wrong, or refused with another message, fails small. Returns how many
    were computed."""
    said = sweep.run(list(map(str, made)), *options, **how)
    for p, report in zip(made, said, strict=True):
        if report and not refused(report):
            p, report = (p, report) if isinstance(p, str) else sweep.shrink(p, report, *options, **how)
            pytest.fail(f"{p}\n{report}", pytrace=False)
    return said.count("")


def anything(count: int, seed: int) -> list[generate.Problem]:
    return list(generate.problems(count, seed))


def with_nests(count: int, seed: int) -> list[str]:
    return list(nests.problems(count, seed))


# ---- through the executor, the same for every width ----
def test_templates():
    assert check(list(templates(500, seed=1))) > 350


def test_anything():
    assert check(anything(600, seed=1)) > 50


def test_narrow():
    made = list(narrow())
    assert check(made) == len(made)


def test_integers_into_floats():
    """The least of nothing, an infinity in memory, is no integer."""
    made = [
        f"in A: {of} csr i32 (6, 9)\nin B: {of} dense (9)\nout C: {into} dense\nC[i] {how} A[i,j] * B[j]\n"
        f"nest {{ par i {{ for j {{ for j merge A {{ C[i] {how} A[i,j] * B[j] }} }} }} }}\n"
        for of in ("i64", "i32", "bool")
        for into in ("f64", "f32", "bf16")
        for how in ("min=", "max=", "+=")
    ]
    assert check(made) == len(made)


def test_picks():
    made = list(picks(150, seed=1))
    assert check(made) == len(made)


def test_gathers():
    made = list(gathers(120, seed=1))
    assert check(made, refused=lambda report: False) == len(made)


@pytest.mark.parametrize("batch", ["", " batch 64"])
def test_rows_that_are_not_stored(batch):
    """Rows that are summed in batches, and those that are not stored, which add as well."""
    inner = "work r: reg f64 { for j in A rest { r += A[i,j] + 2 } } then { c += B[k] * r }"
    made = [
        f"in A: f64 dcsr i32 ({rows}, 7)\nin B: f64 dense (4)\nt[k] += (A[i,j] + 2) * B[k]\nnest {{\n"
        f"par k {{ work c: reg f64 {{ for i in A rest{batch} {{ {inner} }} }} then {{ t[k] = c }} }}\n}}\n"
        for rows in (1, 9, 64, 1000)
    ]
    assert check(made) == len(made)


def tiled(tile: int, extent: int, word: str) -> str:
    return f"""in A: f32 csr i32 (9, 12)
in B: f32 dense (12, {extent})
{word}C[i,k] = A[i,j] * B[j,k]
nest {{ par i in A {{ for j in A {{ for k/{tile} {{ vec k%{tile} {{ C[i,k] += A[i,j] * B[j,k] }} }} }} }} }}
"""


def test_tiles_of_any_size():
    sizes = [
        (t, n, w)
        for t in (3, 5, 8, 12, 14)
        for n in (1, t - 1, t, t + 1, 3 * t + 2)
        for w in ("", "nofold\n")
    ]
    assert check([tiled(*size) for size in sizes]) == len(sizes)


def test_nests():
    assert check(with_nests(400, seed=1), refused=nests.refused) > 50


@pytest.mark.skipif(not native.SANITIZED, reason="make sanitize runs it")
def test_chunks():
    """Lanes take turns, and the work of a few multiply-adds pays for one."""
    program = native.chunked().scorchc()
    assert check(anything(300, seed=2), "--lanes", 3, program=program) > 20
    assert check(with_nests(200, seed=2), "--lanes", 2, program=program, refused=nests.refused) > 20
    assert check(list(templates(100, seed=2)), "--lanes", 3, program=program) > 50


# ---- compiled ----
@pytest.mark.parametrize("width", native.width_parameters())
def test_compiled(kernel_cache, width):
    options = ("--jit", "--width", width)
    assert check(list(templates(30, seed=10 + width)), *options, env=kernel_cache) > 18
    assert check(list(picks(12, seed=width)), *options, env=kernel_cache) == 12
    assert check(list(gathers(6, seed=width)), *options, env=kernel_cache) == 6
    check(anything(20, seed=width), *options, env=kernel_cache)
    check(with_nests(10, seed=width), *options, env=kernel_cache, refused=nests.refused)


@pytest.mark.skipif(not native.SANITIZED, reason="make sanitize runs it")
@pytest.mark.parametrize("width", native.widths())
def test_compiled_under_sanitizers(tmp_path, width):
    env, options = native.checked_compiler(tmp_path), ("--jit", "--width", width)
    assert check(list(templates(40, seed=40 + width)), *options, env=env) > 25
    check(anything(40, seed=40 + width), *options, env=env)
    check(with_nests(20, seed=40 + width), *options, env=env, refused=nests.refused)


# ---- at length ----
@pytest.mark.slow
@pytest.mark.parametrize("width", (16, 32, 64))
def test_executor_at_length(width):
    """More than 20,000 problems, and as many in chunks."""
    options, program = ("--width", width), native.chunked().scorchc()
    check(anything(7000, seed=100 + width), *options)
    check(anything(2000, seed=200 + width), *options, "--lanes", 3, program=program)
    check(with_nests(2000, seed=100 + width), *options, "--lanes", 2, program=program, refused=nests.refused)
    assert check(list(templates(1500, seed=20 + width)), *options) > 900


@pytest.mark.slow
@pytest.mark.parametrize("width", native.widths())
def test_compiled_at_length(kernel_cache, width):
    """More than a thousand kernels over all widths."""
    options = ("--jit", "--width", width)
    check(anything(400, seed=300 + width), *options, env=kernel_cache)
    check(with_nests(150, seed=300 + width), *options, env=kernel_cache, refused=nests.refused)
    assert check(list(templates(200, seed=30 + width)), *options, env=kernel_cache) > 120


@pytest.mark.slow
@pytest.mark.skipif(native.SANITIZED, reason="it is the results that are looked at")
def test_seeded_bugs_are_noticed():
    """tests/mutate.py: one replacement at a time in the compiler and the driver."""
    done = native.run(sys.executable, native.ROOT / "tests" / "mutate.py", limit=2400)
    assert done.returncode == 0, f"{done.stdout}{done.stderr[-2000:]}"

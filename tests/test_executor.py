"""Sweeps of whole problems: formats x widths x types x shapes x expressions, against the oracle.

A problem is an .sc text; scorchc runs hundreds of them in one process, through the executor or through
compiled code, on generated data whose sums are exact. The quick tests take a sample of fixed seed, the slow
ones a larger one. A problem may be refused, but only with one of the messages that say so.
"""

import random
import re
import sys
from collections.abc import Iterator

import generate
import native
import pytest
import sweep

WIDTHS = (1, 3, 6, 7, 16, 33, 64, 250)
SHAPES = ((50, 40), (64, 65), (1, 1), (17, 1), (1, 300), (0, 8), (9, 0), (129, 16))
MATRICES = (
    "csr", "csc", "coo", "dcsr", "dcsc", "bsr(2,4)", "bsc(5,2)", "ell(40)", "dense(0), compressed(1)",
    "dense(1), compressed(0)", "compressed(0), dense(1)", "dense(0/4), compressed(1), dense(0%4)",
    "dense(1/64), dense(0), compressed(1%64)", "compressed(0/2), compressed(1/2), dense(1%2), dense(0%2)",
)  # fmt: skip
CUBES = ("csf", "coo", "dense(0), compressed(1), compressed(2)", "dense(0), dense(1), compressed(2)",
         "compressed(2), dense(0), compressed(1)")  # fmt: skip
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
    "C[i,k] = A[i,j] * B[j,k] - A[i,j] * B[j,k]", "C[i,k] = -A[i,j] * (B[j,k] + B[j,k])",
)  # fmt: skip
OF_CUBES = (  # operands: A[i,j,l] sparse; E[j,k], F[l,k], v[j], w[l] dense
    "C[i,k] = A[i,j,l] * E[j,k] * F[l,k]", "C[i,j,k] = A[i,j,l] * F[l,k]", "C[i] = A[i,j,l] * v[j] * w[l]",
    "C[j] = A[i,j,l]", "C[l,j] = A[i,j,l]", "C = A[i,j,l] * w[l]", "C[i,j,l] = A[i,j,l] * 3",
    "C[l,k] = A[i,j,l] * E[j,k]", "C[i,l] max= A[i,j,l]",
)  # fmt: skip
REFUSED = re.compile(
    r"is wanted as \w+: give it in that format|not supported without a schedule|is no multiple of its block"
    r"|index \w is not on the left and is used in several terms|more than \d+ lane workspaces"
    r"|index \w is merged, but the result has values where no operand is stored"
    r"|is assembled in order|the stored entry of \w is not known here|has a value where \w has no entry"
)


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


def term(draw: random.Random, depth: int) -> str:
    """A random element-wise expression over the sparse A, B, D and the dense X."""
    if depth == 0 or draw.random() < 0.15:
        return draw.choice(("A[i,j]", "B[i,j]", "D[i,j]", "A[i,j]", "B[i,j]", "X[i,j]", "2"))
    form = draw.choice(
        ("({} + {})", "({} - {})", "{} * {}", "min({}, {})", "max({}, {})", "relu({})", "abs({})")
    )
    return form.format(*(term(draw, depth - 1) for _ in range(form.count("{}"))))


def vanishes(body: str) -> bool:
    """Whether the expression is zero where nothing sparse is stored: a loop over one operand needs that."""
    names = {"relu": lambda x: max(x, 0), "abs": abs, "min": min, "max": max}
    plain = re.sub(r"[ABD]\[i,j\]", "0", body).replace("X[i,j]", "X")
    return not any(eval(plain, {**names, "X": x}) for x in (-2, -1, 0, 1, 2))


def source(operands: list[str]) -> str:
    return {0: "", 1: f" in {''.join(operands)}"}.get(len(operands), f" merge {', '.join(operands)}")


def merge(draw: random.Random) -> str:
    """Several sparse operands that one loop runs over together, rows too where they are not all stored."""
    body, used = "", []
    while not used or (len(used) == 1 and not vanishes(body)):
        body = term(draw, 3)
        used = [name for name in "ABD" if f"{name}[" in body]
    form, itype = draw.choice(("csr", "dcsr")), draw.choice(("i32", "i64"))
    rows, columns = draw.choice(((20, 30), (1, 40), (33, 1), (0, 5), (7, 0), (40, 40)))
    lines = [f"in {name}: f32 {form} {itype} ({rows}, {columns})" for name in used]
    if "X[" in body:
        lines.append(declare("X", "f32", (rows, columns)))
    lines += ["out C: f32 csr i32"] if form == "csr" and draw.random() < 0.5 else []
    outer = "par i" if form == "csr" else f"for i{source(used)}"
    inner = f"for j{source(used)} {{ C[i,j] = {body} }}"
    return "\n".join([*lines, f"C[i,j] = {body}", "nest {", f"  {outer} {{ {inner} }}", "}"]) + "\n"


def problems(count: int, seed: int) -> Iterator[str]:
    """A sample in which every pair of a format and an expression has its turn."""
    draw = random.Random(seed)
    pairs = [(f, e, False) for f in MATRICES for e in OF_MATRICES] + [
        (f, e, True) for f in CUBES for e in OF_CUBES
    ]
    draw.shuffle(pairs)
    for n in range(count):
        yield problem(draw, *pairs[n % len(pairs)])


def merges(count: int, seed: int) -> Iterator[str]:
    draw = random.Random(seed)
    return (merge(draw) for _ in range(count))


def write(texts: Iterator[str], folder, first: int = 0) -> list[str]:
    names = []
    for n, text in enumerate(texts, first):
        (folder / f"{n:04}.sc").write_text(text)
        names.append(f"{n:04}.sc")
    return names


def ran(texts: Iterator[str], folder, *options: object, env: dict | None = None, chunk: int = 200) -> int:
    """Runs the problems; returns how many were computed and not refused."""
    names, right = write(texts, folder), 0
    for at in range(0, len(names), chunk):
        part = names[at : at + chunk]
        done = native.run(native.core().scorchc(), "--run", *options, *part, cwd=folder, env=env)
        assert done.returncode in (0, 1), f"ended with {done.returncode} in {folder}\n{done.stderr[-3000:]}"
        for report in re.split(r"^(?=\d{4}\.sc: )", done.stderr, flags=re.M):
            if re.match(r"\d{4}\.sc: ", report):
                text = (folder / report[:7]).read_text()
                assert REFUSED.search(report), f"{report}\n{text}"
        right += done.stdout.count(": ok")
    return right


def anything(count: int, seed: int, *options: object, **how) -> int:
    """Random problems of the whole grammar; a failure is shown small. Returns how many were computed."""
    made = [p for p in generate.problems(count, seed) if not sweep.KNOWN.search(str(p))]
    said = sweep.run(list(map(str, made)), *options, **how)
    for p, report in zip(made, said, strict=True):
        if report and not sweep.REFUSED.match(report) and not sweep.PENDING.match(report):
            p, report = sweep.shrink(p, report, *options, **how)
            pytest.fail(f"{p}\n{report}", pytrace=False)
    return said.count("")


def test_anything():
    assert anything(600, 1) > 50


@pytest.mark.parametrize("width", native.widths())
def test_anything_compiled(kernel_cache, width):
    assert anything(20, width, "--jit", "--width", width, env=kernel_cache) >= 0


def test_anything_in_chunks():
    """Lanes take turns, and the work of a few multiply-adds pays for one."""
    assert anything(300, 2, "--lanes", 3, program=native.chunked().scorchc()) > 20


def test_executor(tmp_path):
    assert ran(problems(500, seed=1), tmp_path) > 350


@pytest.mark.parametrize("width", native.widths())
def test_compiled(tmp_path, kernel_cache, width):
    texts = problems(40, seed=10 + width)
    assert ran(texts, tmp_path, "--jit", "--width", width, env=kernel_cache) > 25


def test_merges(tmp_path):
    assert ran(merges(300, seed=2), tmp_path) > 100


def test_compiled_merges(tmp_path, kernel_cache):
    assert ran(merges(30, seed=3), tmp_path, "--jit", "--width", 16, env=kernel_cache) > 10


@pytest.mark.skipif(not native.SANITIZED, reason="make sanitize runs it")
@pytest.mark.parametrize("width", native.widths())
def test_compiled_under_sanitizers(tmp_path, width):
    env = native.checked_compiler(tmp_path)
    assert ran(problems(60, seed=40 + width), tmp_path, "--jit", "--width", width, env=env) > 40
    assert ran(merges(20, seed=50 + width), tmp_path, "--jit", "--width", width, env=env) > 5


@pytest.mark.slow
@pytest.mark.parametrize("width", (16, 32, 64))
def test_executor_at_length(tmp_path, width):
    assert ran(problems(2500, seed=20 + width), tmp_path, "--width", width) > 1500


@pytest.mark.slow
@pytest.mark.parametrize("width", native.widths())
def test_compiled_at_length(tmp_path, kernel_cache, width):
    assert ran(problems(600, seed=30 + width), tmp_path, "--jit", "--width", width, env=kernel_cache) > 400


@pytest.mark.slow
def test_merges_at_length(tmp_path, kernel_cache):
    assert ran(merges(4000, seed=4), tmp_path) > 1500
    assert ran(merges(300, seed=5), tmp_path, "--jit", env=kernel_cache) > 100


@pytest.mark.slow
@pytest.mark.skipif(native.SANITIZED, reason="it is the results that are looked at")
def test_seeded_bugs_are_noticed():
    """tests/mutate.py: one replacement at a time in the compiler and the driver."""
    done = native.run(sys.executable, native.ROOT / "tests" / "mutate.py", limit=1200)
    assert done.returncode == 0, f"{done.stdout}{done.stderr[-2000:]}"

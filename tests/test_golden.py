"""Golden files: every tests/golden/NAME.sc against its stages, and run against the oracle.

``pytest tests/test_golden.py --update-golden`` rewrites what the files expect; the difference is then for
the reader of the change. A file in tests/golden/errors is wrong, and its .err says how.
"""

import itertools
import re
import resource
import struct
from pathlib import Path

import native
import pytest

GOLDEN = native.ROOT / "tests" / "golden"
FILES = sorted(GOLDEN.glob("*.sc"))
PATHS = sorted((GOLDEN / "path").glob("*.sc"))
ERRORS = sorted((GOLDEN / "errors").glob("*.sc"))
STAGES = ("index", "nest", "stmt", "plan", "c")
NEST = re.compile(r"^nest \{\n.*?^\}\n", re.M | re.S)


@pytest.fixture(scope="session")
def scorchc() -> Path:
    return native.core().scorchc()


def emit(scorchc: Path, stage: str, file: Path, width: int = 64) -> str:
    return native.must(scorchc, f"--emit={stage}", "--width", width, file)


def without_abi(text: str) -> str:
    """C text without the declarations that every text has: abi.h is where they are read."""
    head, rest = text.split("typedef __INT64_TYPE__ sc_i64;", 1)
    return head + rest.split("} sc_object;\n\n", 1)[1]


def expect(file: Path, got: str, update: bool) -> None:
    if update:
        file.write_text(got)
    assert file.exists(), f"{file.name} is missing: run pytest --update-golden and read it"
    assert got == file.read_text(), f"{file.name} differs: run pytest --update-golden and read the difference"


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_stage(scorchc, file, stage, request):
    got = emit(scorchc, stage, file)
    got = without_abi(got) if stage == "c" else got
    expect(file.with_suffix(f".{stage}"), got, request.config.getoption("--update-golden"))


@pytest.mark.parametrize("file", PATHS, ids=lambda f: f.stem)
def test_path(scorchc, file, request):
    """The steps that a program is taken in."""
    expect(
        file.with_suffix(".path"), emit(scorchc, "path", file), request.config.getoption("--update-golden")
    )


@pytest.mark.parametrize("file", ERRORS, ids=lambda f: f.stem)
def test_error(scorchc, file, request):
    done = native.run(scorchc, "--run", file.name, cwd=file.parent)
    assert done.returncode == 1 and not done.stdout
    expect(file.with_suffix(".err"), done.stderr, request.config.getoption("--update-golden"))


def test_no_golden_file_is_left_over():
    known = {f.with_suffix(s) for f in FILES for s in (".sc", *(f".{stage}" for stage in STAGES))}
    known |= {f.with_suffix(s) for f in PATHS for s in (".sc", ".path")}
    known |= {f.with_suffix(s) for f in ERRORS for s in (".sc", ".err")}
    assert {f for f in GOLDEN.rglob("*") if f.is_file()} == known


def without_nest(text: str) -> str:
    return re.sub(r"^nest \{\n.*?^\}\n", "", text, flags=re.M | re.S)


def bodies(text: str) -> list[str]:
    """The functions of the entries, from the C text of a file."""
    return re.findall(r"^static int \w+\(const sc_call .*?^}", text, re.M | re.S)


@pytest.mark.parametrize("width", (16, 32, 64))
def test_generated_code_has_no_long_lines(scorchc, width):
    for file in FILES:
        long = [line for line in emit(scorchc, "c", file, width).splitlines() if len(line) > 110]
        assert not long, f"{file.name}: {long[0]}"


def flat(line: str) -> set[str]:
    """A line of a nest; a vec loop may be one line with its evaluation."""
    return {line, *re.match(r"(?:(vec [^{]*) \{ )?(.*?)(?: \})?$", line).groups()}


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_notes_say_where_lines_of_the_nest_begin(file):
    """Every body has notes, and every line of the nest is one; sums that go on are read and written."""
    text = file.with_suffix(".c").read_text().replace("\n", " ")
    notes = set().union(
        *(flat(" ".join(n.split())) for n in re.findall(r"/\* (.*?) \*/", text[text.index("*/") :]))
    )
    assert all("/* " in body for body in bodies(file.with_suffix(".c").read_text()))
    nest = {line.strip().removesuffix(" {") for line in file.with_suffix(".nest").read_text().splitlines()}
    missing = nest - {"}", "} then"} - notes
    assert all(re.sub(r" (\+|max|min)= ", " = ", line) in notes for line in missing), missing


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_what_is_printed_is_the_program(scorchc, file, tmp_path):
    """The printed index notation and nest, put into the file, give the same program, nest chosen or given."""
    lines = NEST.sub("", file.read_text()).splitlines()
    head = [line for line in lines if re.match(r"(in|out) |fold|nofold|skip|dots", line)]
    nest = emit(scorchc, "nest", file)
    again = tmp_path / file.name
    again.write_text("\n".join([*head, emit(scorchc, "index", file), f"nest {{\n{nest}}}\n"]))
    for stage in ("index", "nest", "stmt", "plan"):
        assert emit(scorchc, stage, again) == emit(scorchc, stage, file), stage


def test_the_text_depends_on_the_vector_width_and_nothing_else(scorchc):
    for file in FILES:
        texts = {w: emit(scorchc, "c", file, w) for w in (16, 32, 64)}
        assert all(emit(scorchc, "c", file, w) == text for w, text in texts.items()), file.name
        assert all(f"vector_size({2 * w})" not in text for w, text in texts.items()), file.name


@pytest.mark.skipif(native.SANITIZED or bool(native.EMULATOR), reason="these take more of a stack")
def test_a_small_stack_is_enough(scorchc):
    """What loops keep of their surroundings lies elsewhere: threads of some systems have 128 to 512 KB."""
    small = lambda: resource.setrlimit(resource.RLIMIT_STACK, (192 * 1024, 192 * 1024))  # noqa: E731
    for file in FILES:
        native.must(scorchc, "--emit=c", file, preexec_fn=small)


def test_executor_agrees_with_the_oracle(scorchc):
    native.must(scorchc, "--run", *FILES)


def test_a_result_of_converted_operands_may_outgrow_its_format(scorchc, tmp_path):
    """B is tried as csr, whose rows hold more than a singleton has room for."""
    file = tmp_path / "bounded.sc"
    file.write_text(
        'in A: f32 "compressed(0, nonunique), singleton(1, nonunique)" i32 (20, 20)\n'
        'in B: f32 "compressed(0), singleton(1, nonunique)" i32 (20, 20)\n'
        "in G: f32 dcsr i32 (20, 20)\nout P: like A\nout Q: like B\n"
        "P[i,j] = 2 * G[i,j] * A[i,j]\nQ[i,j] = stored(B[i,j]) * G[i,j]\n"
    )
    native.must(scorchc, "--run", file)


def test_a_result_like_an_operand_is_computed_at_its_entries(scorchc, tmp_path):
    file = tmp_path / "like.sc"
    file.write_text(
        "in D: f64 dense (19, 18)\nin G: f64 csr (19, 18)\nout R: like G\nR[a,b] = 2 * G[a,b] + D[a,b]\n"
    )
    native.must(scorchc, "--run", file)


DOTS = [f for f in FILES if "\ndots\n" in f.read_text()]


def compiled(width: int) -> list[Path]:
    """The files whose code runs on this CPU."""
    return [f for f in FILES if width != native.dots_width() or native.has_dots() or f not in DOTS]


@pytest.mark.parametrize("width", native.width_parameters())
def test_compiled_code_agrees_with_the_oracle(scorchc, width, kernel_cache):
    native.must(scorchc, "--run", "--jit", "--width", width, *compiled(width), env=kernel_cache)


@pytest.mark.skipif(not native.EMULATOR, reason="make arm runs it")
def test_pairs_of_bf16_where_arm_has_them(scorchc, tmp_path):
    run = (scorchc, "--run", "--jit", "--width", 16, *DOTS)
    native.must(*run, cpu="max", env={"SCORCH_CACHE_DIR": str(tmp_path)})
    without = native.run(*run, cpu="cortex-a53")
    assert without.returncode == 1 and "no dot products of bf16" in without.stderr
    objects = [f.read_bytes() for f in tmp_path.glob("*.so")]
    words = {word for o in objects for (word,) in struct.iter_unpack("<I", o[: len(o) // 4 * 4])}
    assert any(word & 0xFFE0FC00 == 0x6E40FC00 for word in words), "bfdot of four lanes"


def test_scorchc_takes_the_compiler_that_it_is_told(scorchc, tmp_path, kernel_cache):
    env = {**kernel_cache, "SCORCH_CACHE_DIR": str(tmp_path), "SCORCH_CC": "/bin/false"}
    done = native.run(scorchc, "--run", "--jit", FILES[0], env=env)
    assert done.returncode == 1 and "/bin/false" in done.stderr
    native.must(scorchc, "--run", "--jit", FILES[0], env={**env, "SCORCH_CC": native.compiler()})
    assert list(tmp_path.glob("*.so"))


@pytest.mark.skipif(not native.SANITIZED, reason="make sanitize runs it")
def test_compiled_code_under_sanitizers(scorchc, tmp_path):
    env = native.checked_compiler(tmp_path)
    for width, part in itertools.product(sorted({native.widths()[0], native.widths()[-1]}), range(4)):
        native.must(scorchc, "--run", "--jit", "--width", width, *compiled(width)[part::4], env=env)
    assert len(list((tmp_path / "scorch").glob("*.so"))) >= len(FILES) - 2, "by that compiler"


@pytest.mark.slow
def test_code_of_clang_agrees_with_the_oracle(scorchc, kernel_cache):
    env = {**kernel_cache, "SCORCH_CC": native.other_compiler("clang")}
    for width in (16, native.widths()[-1]):
        native.must(scorchc, "--run", "--jit", "--width", width, *compiled(width), env=env)


@pytest.mark.parametrize("compiler", ("cc", "clang"))
def test_generated_code_is_clean(scorchc, tmp_path, compiler):
    """The C texts of all files compile without a warning."""
    cc = native.compiler() if compiler == "cc" else native.other_compiler(compiler)
    for file in FILES:
        text = tmp_path / f"{file.stem}.c"
        text.write_text('#define SC_OBJECT o\n#define SC_KEY ""\n' + emit(scorchc, "c", file, 16))
        flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-ffreestanding", "-fsyntax-only"]
        native.must(cc, *flags, text)


def test_usage(scorchc, tmp_path):
    assert native.run(scorchc).returncode == 2
    assert native.run(scorchc, "--run", "--width", 12, FILES[0]).returncode == 2
    missing = native.run(scorchc, "--run", tmp_path / "none.sc")
    assert missing.returncode == 1 and "cannot open" in missing.stderr
    wrong = native.run(scorchc, "--emit=loops", FILES[0])
    assert wrong.returncode == 1 and "expected index, sums, path, schedule, nest" in wrong.stderr
    piped = native.run(scorchc, "--emit=index", "-", input=FILES[0].read_text())
    assert piped.returncode == 0 and piped.stdout

"""The fuzz targets of tests/fuzz: built, seeded from the golden files, run for a time.

    python tests/fuzzing.py [--seconds N] [--seed N] [--keep] [TARGET...]

With clang and its runtime they are linked with libFuzzer, else with tests/fuzz/driver.c, compiled by the C
compiler at hand; address and undefined-behaviour sanitizers watch in both cases. What was found new stays
in build/tests/fuzz/found/TARGET for the next run, and --keep makes tests/fuzz/corpus/TARGET.txt, a line an
input, from the smallest inputs that reach all of it. Prints a line for each target; the exit status is the
number of those that found a fault, whose input is left beside the report.
"""

import argparse
import ast
import base64
import os
import random
import re
import shutil
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import native

HERE = native.ROOT / "tests" / "fuzz"
GOLDEN = native.ROOT / "tests" / "golden"
FOLDER = native.ROOT / "build" / "tests" / "fuzz"
SHARED = ("fuzz", "driver")
TARGETS = tuple(sorted(f.stem for f in HERE.glob("*.c") if f.stem not in SHARED))
LONGEST = 2048  # bytes of an input
REPORTED = 40  # lines of a report that are printed
SKIPPED = re.compile(r"#\d+\t|\"|##")  # libFuzzer's progress and its dictionary
CHUNKED = ["-DSC_LANE_WORK=4", "-DSC_PIECE_STEPS=8", f"-I{HERE}"]  # a few multiply-adds pay for a lane
NEST = re.compile(r"^(nest \{\n.*?^\}|schedule .*)\n", re.M | re.S)
ASSIGNMENT = re.compile(r"^\w+(\[.*?\])? *(\+|max|min)?= .*|^[a-z]*,[a-z,]*->\w*$", re.M)
OPERAND = re.compile(r'^in \w+: \w+ (?:"([^"]*)"|(\w+(?:\([^)]*\))?)).*\(([^)]*)\)', re.M)
WISHES = (
    "order(i, k, j)", "parallel(k)", "order(j, i, k) convert(A: csc)", "tile(k: 2)", "ahead(8)", "inner(k)",
    "gather(i: 3)", "block(i: 64)", "inner()", "first(k)", "convert()", "order(i/4, i%4)",
    "parallel(); ahead(0)",
)  # fmt: skip


# ---- inputs ----
def seeds(target: str) -> Iterator[bytes]:
    """Inputs made of the golden files; leading zeros are choices."""
    files = sorted(GOLDEN.glob("*.sc"))
    texts = [f.read_text() for f in [*files, *sorted((GOLDEN / "errors").glob("*.sc"))]]
    if target in ("programs", "derivatives"):
        yield from (bytes(3) + t.encode() for t in texts)
    elif target == "expressions":
        yield from (bytes(24) + "\n".join(m[0] for m in ASSIGNMENT.finditer(t)).encode() for t in texts)
    elif target == "formats":
        for m in OPERAND.finditer("\n".join(texts)):
            yield bytes([m[3].count(",") + 1, 9]) + (m[1] or m[2]).encode()
    elif target == "nests":
        for f in files:
            nest = f.with_suffix(".nest").read_text()
            yield bytes(3) + f"{NEST.sub('', f.read_text())}\nnest {{\n{nest}}}\n".encode()
    elif target == "statements":
        yield from (f.with_suffix(".stmt").read_bytes() for f in files)
    elif target == "schedules":
        yield from (bytes([p, 0, 0]) + text.encode() for p in range(11) for text in WISHES)
    else:
        r = random.Random(0)
        yield from (r.randbytes(100 + 5 * n) for n in range(40))


def corpus(target: str) -> list[bytes]:
    """Inputs that were found once and are kept."""
    file = HERE / "corpus" / f"{target}.txt"
    return [ast.literal_eval(line) for line in file.read_text().splitlines()] if file.exists() else []


def write_inputs(target: str, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for n, content in enumerate([*seeds(target), *corpus(target)]):
        (folder / f"{n:05}").write_bytes(content[:LONGEST])
    return folder


# ---- programs ----
@cache
def libfuzzer() -> str | None:
    """clang, where it can link a fuzz target."""
    clang = shutil.which("clang")
    FOLDER.mkdir(parents=True, exist_ok=True)
    probe = FOLDER / "probe.c"
    probe.write_text(
        "int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return p && n ? 0 : 0; }\n"
    )
    flags = ["-fsanitize=fuzzer,address,undefined", "-o", probe.with_suffix("")]
    return clang if clang and not native.run(clang, *flags, probe).returncode else None


@cache
def instrumented() -> native.Core:
    """The core with sanitizers, told at every branch where it is."""
    watch = "-fsanitize=fuzzer-no-link" if libfuzzer() else "-fsanitize-coverage=trace-pc"
    folder = FOLDER / ("libfuzzer" if libfuzzer() else "driver")
    return native.Core([*native.SANITIZE, *CHUNKED], folder, cc=libfuzzer(), watch=(watch,))


def build(target: str, core: native.Core) -> Path:
    """The target with this core; with driver.c where the core was not made for libFuzzer."""
    names, flags = [target, *SHARED], CHUNKED
    if core is instrumented() and libfuzzer():
        names, flags = [target, "fuzz"], [*CHUNKED, "-fsanitize=fuzzer"]
    return core.program(*[HERE / f"{name}.c" for name in names], flags=flags)


# ---- campaigns ----
def run(target: str, seconds: int, seed: int) -> tuple[bool, str]:
    """Whether nothing was found, and a line for people."""
    program, found = build(target, instrumented()), FOLDER / "found" / target
    given = write_inputs(target, FOLDER / "given" / target)
    found.mkdir(parents=True, exist_ok=True)
    faults = FOLDER / "faults" / target
    shutil.rmtree(faults, ignore_errors=True)
    faults.mkdir(parents=True)
    options = [
        f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={LONGEST}", "-timeout=60",
        "-rss_limit_mb=4096",
        f"-dict={HERE / 'words.dict'}", f"-artifact_prefix={faults}/",
    ]  # fmt: skip
    start = time.monotonic()
    done = native.run(program, *options, found, given, limit=seconds + 600, errors="replace")
    said = f"{done.stdout}{done.stderr}"
    (faults / "report.txt").write_text(said)
    runs = int((re.findall(r"Done (\d+) runs", said) or re.findall(r"^#(\d+)", said, re.M) or [0])[-1])
    line = f"{target:12} {runs:9} runs, {runs / (time.monotonic() - start):8.0f} a second"
    return not done.returncode, line + ("" if not done.returncode else finding(faults))


def finding(faults: Path) -> str:
    """The end of a report and the inputs in base64, for whoever sees these lines alone."""
    report = (faults / "report.txt").read_text().splitlines()
    said = [text[:300] for text in report if not SKIPPED.match(text)][-REPORTED:]
    inputs = [base64.b64encode(f.read_bytes()).decode() for f in sorted(faults.glob("*-*"))]
    return "\n  ".join([f"   <--- see {faults}", *said, *inputs])


def keep(target: str) -> None:
    """Rewrites the corpus of a target: the smallest inputs that reach what all do and no golden file does."""
    merged, found = FOLDER / "merged" / target, FOLDER / "found" / target
    given = write_inputs(target, FOLDER / "given" / target)
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir(parents=True)
    for n, content in enumerate(seeds(target)):
        (merged / f"seed{n}").write_bytes(content)
    native.must(build(target, instrumented()), "-merge=1", "-timeout=60", merged, found, given, limit=3600)
    new = [f.read_bytes() for f in merged.iterdir() if not f.name.startswith("seed")]
    lines, room = [], 24_000
    for content in sorted(new, key=lambda c: (len(c), c)):
        room -= len(repr(content)) + 1
        if room > 0:
            lines.append(f"{content!r}\n")
    (HERE / "corpus").mkdir(exist_ok=True)
    (HERE / "corpus" / f"{target}.txt").write_text("".join(lines))


def main() -> int:
    parser = argparse.ArgumentParser(description="fuzz targets of the C core")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument("--keep", action="store_true", help="rewrite the kept inputs; needs libFuzzer")
    parser.add_argument("targets", nargs="*", metavar="TARGET", default=[], help=", ".join(TARGETS))
    given = parser.parse_args()
    targets, seed = given.targets or TARGETS, given.seed or random.randrange(1, 1 << 31)
    print(f"{'libFuzzer' if libfuzzer() else 'tests/fuzz/driver.c'}, seed {seed}", flush=True)
    build(targets[0], instrumented())  # the core once
    left = 0
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for fine, line in pool.map(lambda target: run(target, given.seconds, seed), targets):
            left += not fine
            print(line, flush=True)
    for target in targets if given.keep else ():
        keep(target)
    return left


if __name__ == "__main__":
    sys.exit(main())

"""The test programs of the C core, tests/c/test_*.c: each is linked with the core and run.

With SCORCH_SANITIZE=1 core and programs have the address and undefined-behaviour sanitizers; the slow tests
run them so in any case, and those with threads under the thread sanitizer.
"""

import re

import native
import pytest

PROGRAMS = sorted((native.ROOT / "tests" / "c").glob("test_*.c"))
SKIPPED = 77
WITH_THREADS = (
    "attention", "conv_map", "convert_sums", "drive", "jit", "sampling", "select", "table", "threads", "topk",
)  # fmt: skip
SANITIZER = {
    "ASAN_OPTIONS": "exitcode=99:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "exitcode=99:report_thread_leaks=0",  # those of forked children
}


def check(source, core, kernel_cache):
    done = native.run(core.program(source), cwd=native.ROOT, env={**SANITIZER, **kernel_cache})
    said = f"{done.stdout}{done.stderr}"
    if done.returncode == SKIPPED:
        pytest.skip(said[-300:])
    assert done.returncode == 0, f"{source.name} ended with {done.returncode}\n{said[-8000:]}"


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda f: f.stem)
def test_program(source, kernel_cache):
    check(source, native.core(), kernel_cache)


@pytest.mark.skipif(not native.EMULATOR, reason="make arm runs it")
def test_cores_are_told_apart(kernel_cache):
    """What is measured on one is not believed on another; kernels run on the least."""
    program, said = native.core().program(native.ROOT / "tests" / "c" / "test_jit.c"), set()
    for cpu in ("cortex-a53", "cortex-a72", "max"):
        text = native.must(program, "target", "compile_call", cpu=cpu, env=kernel_cache)
        said |= set(re.findall(r"cpu armv8-a, core (.+)", text))
    assert len(said) == 3 and "0" not in said


@pytest.mark.slow
@pytest.mark.skipif(native.SANITIZED, reason="the other tests of this file already are")
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda f: f.stem)
def test_sanitized_program(source, kernel_cache):
    check(source, native.core(sanitized=True), kernel_cache)


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_THREADS)
def test_races(name, kernel_cache):
    check(native.ROOT / "tests" / "c" / f"test_{name}.c", native.threaded(), kernel_cache)

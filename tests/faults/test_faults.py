"""Campaigns of failures: every allocation, a zoo of compilers, and what killed processes leave.

The campaigns are programs of their own (allocations.py, compilers.py); a sample of each runs with the quick
tests, the whole by ``make faults``.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import allocations
import compilers
import native
import pytest

import scorch

HERE = Path(__file__).resolve().parent
PACKAGE = str(Path(scorch.__file__).parent.parent)
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
TWICE = pytest.mark.parametrize("rest", [False, True], ids=["one", "rest"])
# Scenarios of the quick sample, which can share a process: none changes the environment.
SAMPLE = ["making", "products_again", "attention", "einsum_from_disk", "explanations", "bindings"]
ZOO = ["garbage", "nothing", "truncated", "zeros at the end", "odd bytes", "removed", "hanging after its end",
       "folders in its folder", "no space for a text", "1 descriptors"]  # fmt: skip


def campaign(program: str, *argv: str) -> list[dict]:
    """The reports of a campaign, in which nothing was found."""
    env = {**os.environ, "PYTHONPATH": PACKAGE}
    done = native.run(sys.executable, HERE / program, *argv, env=env, limit=1500)
    assert done.returncode == 0, done.stderr[-3000:]
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    faults = [(report, fault) for report in reports for fault in report.pop("faults")]
    assert not faults, "\n".join(f"{report}: {fault}" for report, fault in faults[:10])
    return reports


# ---- allocations ----
@linux
def test_some_allocations():
    for report in campaign("allocations.py", *SAMPLE, "--every", "23"):
        assert report["memory_errors"], report


@linux
@pytest.mark.slow
@TWICE
@pytest.mark.parametrize("name", allocations.SCENARIOS)
def test_every_allocation(name, rest):
    if rest and allocations.SCENARIOS[name].python:
        pytest.skip("Python itself needs memory to raise")
    (report,) = campaign("allocations.py", name, *["--rest", "--every", "3"] * rest)
    assert report["memory_errors"] >= (name != "importing"), report


# ---- compilers ----
@linux
def test_some_compilers():
    assert len(campaign("compilers.py", *ZOO)) == 2 * len(ZOO)


@linux
@pytest.mark.slow
@pytest.mark.parametrize("quick", [True, False], ids=["quick", "slow"])
def test_every_compiler(quick):
    names = [name for name, kind in compilers.SPECIMENS.items() if kind.slow != quick]
    assert campaign("compilers.py", *names)


@linux
@pytest.mark.slow
@pytest.mark.parametrize("name", ["test_jit_elf", "test_faults"])
def test_every_bit_of_an_object_and_every_allocation_of_a_program(kernel_cache, name):
    program = native.core().program(native.ROOT / "tests" / "c" / f"{name}.c")
    done = native.run(program, env={**kernel_cache, "SCORCH_FAULTS": "1"})
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"[-3000:]


# ---- leavings ----
COMPILE = """
import torch, scorch
a = torch.arange(12.0).reshape(4, 3)
got = scorch.evaluate("C[i,k] = relu(A[i,j] * B[j,k] + 2)", A=scorch.sparse(a, "csr"), B=torch.ones(3, 5))
assert torch.equal(got, a @ torch.ones(3, 5) + 2), got
"""


@linux
@pytest.mark.slow
def test_what_a_killed_process_leaves_is_swept(tmp_path):
    hanging = tmp_path / "cc"
    hanging.write_text('#!/bin/sh\n[ "$1" = --version ] && echo cc 1 && exit\ntouch cc1.s\nexec sleep 1000\n')
    hanging.chmod(0o755)
    cache = str(tmp_path / "kernels")
    env = {**os.environ, "PYTHONPATH": PACKAGE, "TMPDIR": str(tmp_path), "SCORCH_CACHE_DIR": cache}
    argv = [sys.executable, "-c", COMPILE]
    killed = subprocess.Popen(argv, env={**env, "SCORCH_CC": str(hanging)})
    for _ in range(300):
        left = list(tmp_path.glob("scorch-kernel-*/cc1.s"))
        if left:
            break
        time.sleep(0.1)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    folder = left[0].parent
    native.must(*argv, env=env)
    assert folder.exists(), "it is young: it may belong to somebody"
    os.utime(folder, (1, 1))
    native.must(*argv, env={**env, "SCORCH_CACHE_DIR": str(tmp_path / "other")})
    assert not folder.exists()

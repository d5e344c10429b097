"""The constants that schedules are chosen by: measured for a CPU, kept, ignored where they are broken."""

import os
import re
import subprocess
import sys
from pathlib import Path

import scorch

SCRIPT = r"""
import hashlib, pathlib, sys
import scorch, torch

NAMES = ["core", "branch", "l2", "l3", "memory", "insert", "clear", "team"]
TYPICAL, FOLDER = "a typical machine", pathlib.Path(sys.argv[1])
a, x = scorch.sparse(torch.eye(4)), torch.ones(4, 3)


def costs():
    # as a process that starts now sees them
    scorch._C.configure(0, None, "", str(FOLDER), 1 << 28)
    return scorch.info()["costs"]


def entry():
    (found,) = (FOLDER / "speeds").iterdir()
    return found


def keep(steps):
    # exchanges what was kept, the text with its checksum
    text = "".join(f"{n} {s}\n" for n, s in zip(NAMES, steps))
    entry().write_text(f"{text}sum {hashlib.sha256(text.encode()).hexdigest()}\n")
    return costs()


# nothing is measured unasked; what is measured is kept, and forgotten
assert costs() == TYPICAL
assert list(made := scorch.calibrate()) == NAMES
assert all(0.25 <= times <= 4 for times in made.values())
measured = scorch.info()["costs"]
assert costs() == measured and (measured == TYPICAL) == (set(made.values()) == {1.0})
assert set(scorch.calibrate(forget=True).values()) == {1.0} and costs() == TYPICAL

# what was kept decides, and explain shows it
shown = "this machine, against a typical one: core 1.00, branch 1.00, l2 2.00, l3 2.00, memory 4.00"
assert keep([0, 0, 4, 4, 8, 0, 0, -4]).startswith(shown)
assert f"costs are those of {shown}" in scorch.explain("ij,jk->ik", a, x)  # a call that was not met before
other = scorch.compile("ij,jk->ik", a, x).orders
scorch.calibrate(forget=True)
assert f"costs are those of {TYPICAL}\n" in scorch.explain("ij,jl->il", a, x)
typical = scorch.compile("ij,jl->il", a, x).orders.replace("l", "k")
other = other.replace("l", "k")
assert typical.count("-- cost") == other.count("-- cost") and typical != other

# what cannot be is ignored
for steps in ([0] * 7 + [99], [-9] + [0] * 7, [1] * 7, ["x"] * 8):
    assert keep(steps) == TYPICAL, steps
assert keep([4] * 8) != TYPICAL

# it is no kernel
assert "(0 kernels" in scorch.info()["cache"] and scorch.clear_cache() == 0 and costs() != TYPICAL

# what was damaged is ignored
whole = entry().read_bytes()
for broken in (b"", whole[:20], whole[:-30], whole.replace(b"core 4", b"core 5"), b"\0" * len(whole)):
    entry().write_bytes(broken)
    assert costs() == TYPICAL
"""


def test_speeds(tmp_path: Path):
    env = {**os.environ, "SCORCH_JIT": "off", "SCORCH_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(tmp_path / "cache")],
        capture_output=True,
        text=True,
        env=env,
    )
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_kept_is_said(tmp_path: Path):
    (tmp_path / "file").touch()
    env = {**os.environ, "SCORCH_CACHE_DIR": str(tmp_path / "file")}
    done = subprocess.run(
        [sys.executable, "-m", "scorch", "calibrate"], capture_output=True, text=True, env=env, check=True
    )
    assert done.stdout.startswith("core ")
    if set(re.findall(r"([\d.]+) times", done.stdout)) != {"1.00"}:  # a typical machine needs no file
        assert "calibrate: this is for this process alone" in done.stderr
        assert str(tmp_path / "file") in done.stderr


def test_nothing_is_measured_unasked():
    assert scorch.info()["costs"] == "a typical machine"

"""The ways a program runs, seen from Python: every test is a process of its own with its own cache.

The C tests (tests/c/test_jit*.c) take the cache and the compiler apart; here it is the whole stack: what the
user gets, what ``scorch.stats()`` and ``scorch.explain`` say, and what several processes do to each other.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import child
import pytest
import torch

import scorch

CC = shutil.which("cc") or shutil.which("gcc")
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

DAMAGE = ("flip", "truncate", "empty", "text", "exchange", "folder", "link", "shared")

# What every process runs: an expression that no bundle has, and a product that the bundle has.
WORK = """
import json, os, sys, warnings
import torch, scorch
warnings.simplefilter("always")
g = torch.Generator().manual_seed(0)
d = torch.randint(-3, 4, (40, 30), generator=g).float() * (torch.rand(40, 30, generator=g) < 0.3)
x, b = torch.randint(-3, 4, (30, 5), generator=g).float(), torch.randint(-3, 4, (5,), generator=g).float()
A = scorch.sparse(d, "csr")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    got = scorch.evaluate("C[i,k] = relu(A[i,j] * B[j,k] + b[k])", A=A, B=x, b=b)
    wrong = not torch.equal(got, (d @ x + b).relu())
    wrong |= not torch.equal(A @ x, d @ x)
    wrong |= not torch.equal(A @ x, d @ x)
print(json.dumps({"wrong": wrong, "stats": scorch.stats(), "info": scorch.info(),
                  "warnings": [str(w.message) for w in said if "scorch" in str(w.message).lower()]}))
"""


def with_cache(cache: Path) -> dict[str, str]:
    """The environment of a process that imports this scorch and keeps its kernels there."""
    return {
        **os.environ,
        "PYTHONPATH": str(Path(scorch.__file__).parent.parent),
        "SCORCH_CACHE_DIR": str(cache),
    }


def run(argv: list, env: dict[str, str]) -> subprocess.CompletedProcess:
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=300)


def python(text: str, cache: Path, *, check: bool = True, **env: str | None) -> subprocess.CompletedProcess:
    """Runs Python text in a process with this cache; an environment variable of None is removed."""
    environment = with_cache(cache)
    for name in ("SCORCH_JIT", "SCORCH_CC", "SCORCH_CFLAGS"):
        environment.pop(name, None)
    for name, value in env.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    done = child.run(text, environment)
    assert not check or done.returncode == 0, done.stderr[-3000:]
    return done


def work(cache: Path, **env: str | None) -> dict:
    """Runs WORK; what it reports, its results having been right."""
    report = json.loads(python(WORK, cache, **env).stdout.splitlines()[-1])
    assert not report["wrong"]
    return report


def kernels(cache: Path) -> list[Path]:
    return sorted(cache.glob("*.so"))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "kernels"


# ---- modes ----
@needs_cc
def test_compiled_then_loaded(cache):
    first = work(cache)["stats"]
    assert first["compiled"] > 0 and first["from_disk"] == 0 and first["executor"] == 0
    assert len(kernels(cache)) == first["compiled"]
    second = work(cache)["stats"]
    assert second["compiled"] == 0 and second["from_disk"] == first["compiled"]
    assert cache.stat().st_mode & 0o777 == 0o700


@needs_cc
def test_load_takes_what_is_there_and_compiles_nothing(cache):
    empty = work(cache, SCORCH_JIT="load")["stats"]
    assert empty["compiled"] == 0 and empty["executor"] > 0 and not kernels(cache)
    work(cache)
    full = work(cache, SCORCH_JIT="load")["stats"]
    assert full["compiled"] == 0 and full["from_disk"] > 0 and full["executor"] == 0
    bare = work(cache, SCORCH_JIT="load", PATH="/nowhere", SCORCH_CC=None)["stats"]
    assert bare["from_disk"] > 0


def test_off(cache):
    report = work(cache, SCORCH_JIT="off")
    stats = report["stats"]
    assert stats["compiled"] == stats["from_disk"] == 0 and not kernels(cache)
    assert stats["from_bundle"] > 0, "the product is in the bundle"
    assert stats["executor"] > 0, "the expression is not"


def compiler(path: Path, body: str) -> str:
    """A program that stands in for a compiler."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_what_is_slow_is_said_once_with_its_reason(cache, tmp_path):
    failing = compiler(tmp_path / "cc", 'case "$*" in *kernel.c*) echo gone; exit 9;; esac; echo cc 1')
    for env, reason in (
        ({"SCORCH_JIT": "off"}, "SCORCH_JIT=off"),
        ({"SCORCH_CC": "/nowhere/cc"}, '"/nowhere/cc" is not a compiler that runs here'),
        ({"SCORCH_CC": failing}, f"{failing} failed with status 9: gone"),
    ):
        said = work(cache, **env)["warnings"]
        assert len(said) == 1 and reason in said[0], said


@needs_cc
@pytest.mark.slow
def test_a_kernel_that_takes_too_long_is_said_to(cache, tmp_path):
    body = f'case "$*" in *kernel.c*) grep -q "int probe" kernel.c || exec sleep 60;; esac; exec {CC} "$@"'
    said = work(cache, SCORCH_CC=compiler(tmp_path / "cc", body))["warnings"]
    assert len(said) == 1 and "was stopped" in said[0] and "as several calls" in said[0], said


def test_on_without_a_compiler_is_an_error(cache, tmp_path):
    nothing = tmp_path / "bin"
    nothing.mkdir()
    for env in ({"SCORCH_CC": "/nowhere/cc"}, {"SCORCH_CC": "no-such-compiler", "PATH": str(nothing)}):
        done = python(WORK, cache, check=False, SCORCH_JIT="on", **env)
        assert done.returncode == 1 and "CompileError" in done.stderr and "SCORCH_CC" in done.stderr


def test_variables_that_mean_nothing_are_refused(cache):
    """By their names, and with what they may be."""
    for name, value in {"JIT": "fast", "NUM_THREADS": "two", "DEBUG": "nest,foo"}.items():
        done = python("import scorch", cache, check=False, **{f"SCORCH_{name}": value})
        assert done.returncode == 1 and f"ImportError: SCORCH_{name}: expected " in done.stderr
    assert python("import scorch", cache, SCORCH_NUM_THREADS="1", SCORCH_DEBUG="nest, orders").returncode == 0


def test_no_compiler_at_all_still_computes(cache, tmp_path):
    nothing = tmp_path / "bin"
    nothing.mkdir()
    stats = work(cache, SCORCH_CC="no-such-compiler", PATH=str(nothing))["stats"]
    assert stats["compiled"] == 0 and stats["from_bundle"] > 0 and stats["executor"] > 0


@pytest.mark.parametrize("body", ["exit 1", "exit 0", "kill -9 $$", "echo 'error: no'; exit 1", "echo gcc 1"])
def test_broken_compilers(cache, tmp_path, body):
    broken = tmp_path / "cc"
    broken.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && echo 'cc 1.0' && exit 0\n{body}\n")
    broken.chmod(0o755)
    stats = work(cache, SCORCH_CC=str(broken))["stats"]
    assert stats["compiled"] == 0 and stats["executor"] > 0 and not kernels(cache)
    done = python(WORK, cache, check=False, SCORCH_CC=str(broken), SCORCH_JIT="on")
    assert done.returncode == 1 and "CompileError" in done.stderr


def test_flags_that_change_results_are_refused(cache):
    for flags in ("-ffast-math", "-march=native", "-Ofast", "--optimize=fast"):
        done = python("import scorch", cache, check=False, SCORCH_CFLAGS=flags)
        assert done.returncode and "SCORCH_CFLAGS" in done.stderr


# ---- the cache ----
@needs_cc
@pytest.mark.parametrize(
    "damage",
    [pytest.param(d, marks=() if d in ("truncate", "flip", "link") else pytest.mark.slow) for d in DAMAGE],
)
def test_damaged_entries_are_replaced(cache, damage):
    count = work(cache)["stats"]["compiled"]
    entries = kernels(cache)
    assert len(entries) == count > 1
    for entry, other in zip(entries, entries[1:] + entries[:1], strict=True):
        data = entry.read_bytes()
        if damage == "flip":
            middle = len(data) // 2
            entry.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
        elif damage == "truncate":
            entry.write_bytes(data[: len(data) // 2])
        elif damage == "empty":
            entry.write_bytes(b"")
        elif damage == "text":
            entry.write_bytes(b"#!/bin/sh\n" * 1000)
        elif damage == "exchange":
            entry.write_bytes(other.read_bytes())
        elif damage == "shared":
            entry.chmod(0o666)
        else:
            entry.unlink()
            if damage == "folder":
                entry.mkdir()
            else:
                entry.symlink_to(other)
    stats = work(cache)["stats"]
    assert stats["from_disk"] < count or damage == "exchange"
    assert stats["executor"] == 0
    if damage not in ("folder", "link"):
        assert work(cache)["stats"]["from_disk"] == count


@needs_cc
def test_a_cache_of_somebody_else_is_not_used(cache, tmp_path):
    work(cache)
    cache.chmod(0o777)
    report = work(cache)
    assert report["stats"]["from_disk"] == 0 and report["stats"]["executor"] == 0
    assert "in memory only" in report["info"]["cache"]
    link = tmp_path / "link"
    cache.chmod(0o700)
    link.symlink_to(cache)
    assert work(link)["stats"]["from_disk"] == 0


@needs_cc
def test_a_cache_whose_name_is_no_text(tmp_path):
    """Files have bytes for names."""
    cache = tmp_path / os.fsdecode(b"caf\xe9")
    cache.mkdir(mode=0o700)
    run([sys.executable, "-c", "import scorch"], with_cache(cache)).check_returncode()
    ascii = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run([sys.executable, "-P", "-m", "scorch", "info"], with_cache(cache) | ascii)
    assert done.returncode == 0 and "kernels, 0.0 of" in done.stdout, done.stderr


@needs_cc
@root_only
def test_a_foreign_cache_is_not_used(cache):
    work(cache)
    os.chown(cache, 65534, 65534)
    stats = work(cache)["stats"]
    assert stats["from_disk"] == 0 and stats["compiled"] > 0
    os.chown(cache, 0, 0)
    for entry in kernels(cache):
        os.chown(entry, 65534, 65534)
    assert work(cache)["stats"]["from_disk"] == 0


@needs_cc
def test_a_read_only_cache_is_read(cache):
    count = work(cache)["stats"]["compiled"]
    cache.chmod(0o500)
    try:
        assert work(cache)["stats"]["from_disk"] == count
        text = WORK.replace("(30, 5)", "(30, 6)").replace("(5,)", "(6,)")
        assert not json.loads(python(text, cache).stdout.splitlines()[-1])["wrong"]
    finally:
        cache.chmod(0o700)


@needs_cc
@root_only
def test_a_noexec_cache(cache):
    cache.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "noexec,mode=0700", "tmpfs", str(cache)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("may not mount a file system")
    try:
        count = work(cache)["stats"]["compiled"]
        assert work(cache)["stats"]["from_disk"] == count > 0
    finally:
        subprocess.run(["umount", str(cache)], check=True)


@needs_cc
def test_a_cache_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/scorch")):
        assert work(place)["stats"]["executor"] == 0, "compiled, in memory only"


@needs_cc
def test_clear_cache(cache):
    work(cache)
    (cache / "keep.txt").write_text("not ours")
    count = len(kernels(cache))
    done = python("import scorch; print(scorch.clear_cache(), scorch.clear_cache())", cache)
    assert done.stdout.split() == [str(count), "0"] and not kernels(cache)
    assert (cache / "keep.txt").exists()


PRODUCTS = """
import torch, scorch
A = scorch.sparse(torch.eye(30), "csr"); print("go", flush=True)
for k in range(1, 12): assert torch.equal(A @ torch.ones(30, k), torch.ones(30, k))
"""
RACE = """
import os, signal, time, torch
racing = []
for at in range(8):
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(write, 1)
        exec(PRODUCTS)
        os._exit(0)
    racing.append((pid, read))
for at, (pid, read) in enumerate(racing):
    os.read(read, 2)
    if at % 2:
        time.sleep(0.03 * at)  # somewhere in the middle of its work
        os.kill(pid, signal.SIGKILL)
for at, (pid, _) in enumerate(racing):
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == 0 or (at % 2 and code == -signal.SIGKILL), code
"""


@needs_cc
def test_raced_and_killed(cache):
    """Processes compile the same texts at once, half of them are killed in the middle; the cache survives."""
    python(f"PRODUCTS = {PRODUCTS!r}\n{RACE}", cache, SCORCH_JIT="on")
    entries = kernels(cache)
    assert entries and all(e.stat().st_size > 1000 for e in entries)
    clean = "import json\n" + PRODUCTS + "\nprint(json.dumps(scorch.stats()))"
    stats = json.loads(python(clean, cache, SCORCH_JIT="on").stdout.splitlines()[-1])
    assert stats["compiled"] == 0 and stats["from_disk"] == len(entries), "every kernel was there, whole"


# ---- what is compiled, and how often ----
def test_a_batch_does_not_recompile():
    g = torch.Generator().manual_seed(0)
    d = torch.rand(20, 12, generator=g)
    a = scorch.sparse(d, "csr")
    scorch.einsum("ij,bjk->bik", a, torch.ones(600, 12, 9))
    before = scorch.stats()["compiled"] + scorch.stats()["from_disk"]
    for batch in (601, 700, 1000):
        x = torch.rand(batch, 12, 9, generator=g)
        torch.testing.assert_close(scorch.einsum("ij,bjk->bik", a, x), d @ x)
    assert scorch.stats()["compiled"] + scorch.stats()["from_disk"] == before


def test_rows_columns_and_entries_do_not_recompile():
    """There are two kernels: rows of a few entries have one of their own."""
    a = scorch.sparse(torch.ones(1000, 50), "csr")
    a @ torch.ones(50, 11)
    before = scorch.stats()["compiled"] + scorch.stats()["from_disk"]
    for rows, cols in ((900, 1100), (2000, 777), (1, 1000)):
        scorch.sparse(torch.ones(rows, cols), "csr") @ torch.ones(cols, 11)
    assert scorch.stats()["compiled"] + scorch.stats()["from_disk"] == before


def test_stats_count_runs():
    a, x = scorch.sparse(torch.eye(8), "csr"), torch.ones(8, 4)
    a @ x
    before = scorch.stats()
    for _ in range(5):
        a @ x
    after = scorch.stats()
    assert sum(after["runs"].values()) - sum(before["runs"].values()) == 5
    assert {k: v for k, v in before.items() if k != "runs"} == {k: v for k, v in after.items() if k != "runs"}


def test_explain_has_its_sections():
    a, x = scorch.sparse(torch.eye(8), "csr"), torch.ones(8, 4)
    text = scorch.explain("ij,jk->ik", a, x)
    for title in ("expression", "formats", "reasons", "schedule", "plan", "runs by", "C"):
        assert f"\n{title}\n" in f"\n{text}", title
    kernel = scorch.compile("ij,jk->ik", a, x)
    assert kernel.source in text and kernel.schedule.strip() in text
    torch.testing.assert_close(scorch.einsum("ij,jk->ik", a, x, schedule=kernel.schedule), x)


def test_a_schedule_that_is_wrong_is_refused():
    a, x = scorch.sparse(torch.eye(8), "csr"), torch.ones(8, 4)
    right = scorch.compile("C[i,k] = A[i,j] * B[j,k]", A=a, B=x).schedule
    unbound = "par i in A { for j in A { C[i,k] += A[i,j] * B[j,k] } }"
    for wrong in ("par i in A {", right.replace("*", "+"), unbound):
        with pytest.raises((ValueError, NotImplementedError)):
            scorch.evaluate("C[i,k] = A[i,j] * B[j,k]", A=a, B=x, schedule=wrong)


# ---- processes and threads ----
POOL = """
import os, torch, scorch
torch.set_num_threads(4)
A, few, many = scorch.sparse(torch.eye(3000), "csr"), torch.ones(3000, 20), torch.ones(3000, 64)
def turn():
    return A @ few, A @ many, torch.ones(1000, 1000).relu()
for _ in range(3):
    turn()
before = set(os.listdir("/proc/self/task"))
for _ in range(20):
    turn()
print(len(before) > 3, set(os.listdir("/proc/self/task")) == before)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the system does not list threads")
def test_regions_of_fewer_threads_keep_the_others(kernel_cache):
    """OpenMP ends threads that a region does not ask for: the next, of more, would start them anew."""
    run = child.run(POOL, {**os.environ, **kernel_cache})
    assert run.stdout.split() == ["True", "True"], run.stderr


def test_schedules_are_chosen_for_the_threads_there_are():
    """A program that was chosen for one thread is not what several run."""
    a, x = scorch.sparse(torch.eye(30), "csr"), torch.ones(30, 4)
    before, keys = torch.get_num_threads(), []
    try:
        for n in (1, 2, 1, 2):
            torch.set_num_threads(n)
            assert torch.equal(a @ x, x)
            assert torch.equal(scorch.einsum("ij,jk,k->ik", a, x, x[0]), x)
            keys.append(scorch.stats()["kept"]["keys"])
    finally:
        torch.set_num_threads(before)
    assert keys[0] < keys[1] == keys[2] == keys[3]


AFTER = """
import multiprocessing as mp, sys, torch, scorch
A = scorch.sparse(torch.eye(3000), "csr")
X = torch.ones(3000, 64)
def child(queue):
    y = A @ X
    torch.set_num_threads(1)  # torch's own loops would wait for ever after fork
    z = scorch.einsum("ij,jk->ik", A, torch.ones(3000, 13))
    queue.put(bool(torch.equal(y, X)) and tuple(z.shape) == (3000, 13))
if __name__ == "__main__":
    torch.set_num_threads(2)
    assert torch.equal(A @ X, X)
    context = mp.get_context(sys.argv[1])
    queue = context.Queue()
    workers = [context.Process(target=child, args=(queue,)) for _ in range(2)]
    [w.start() for w in workers]
    good = [queue.get(timeout=60) for _ in workers]
    [w.join(60) for w in workers]
    assert torch.equal(A @ X, X)
    print("right" if all(good) and all(w.exitcode == 0 for w in workers) else "wrong")
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children(method, tmp_path, cache):
    script = tmp_path / "script.py"
    script.write_text(AFTER)
    done = run([sys.executable, script, method], with_cache(cache))
    assert done.stdout.strip() == "right", done.stderr[-3000:]


def test_loader_workers(cache):
    text = """
import torch, scorch
class Rows(torch.utils.data.Dataset):
    def __init__(self): self.a = scorch.sparse(torch.eye(50), "csr")
    def __len__(self): return 12
    def __getitem__(self, n): return self.a @ torch.full((50, 3), float(n))
if __name__ == "__main__":
    rows = Rows()
    rows[0]
    got = list(torch.utils.data.DataLoader(rows, batch_size=None, num_workers=2))
    print(len(got), all(bool((g == n).all()) for n, g in enumerate(got)))
"""
    assert python(text, cache).stdout.split() == ["12", "True"]


def test_threads_of_python(cache):
    """Several Python threads ask for new and for the same programs and run them at once."""
    text = """
import threading, torch, scorch
A, wrong = scorch.sparse(torch.eye(400), "csr"), []
def run(seed):
    for k in list(range(1, 9)) * 3:
        x = torch.full((400, k), float(seed))
        if not torch.equal(A @ x, x): wrong.append((seed, k))
threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
print(wrong, scorch.stats()["compiled"] <= 8)
"""
    assert python(text, cache).stdout.strip() == "[] True"

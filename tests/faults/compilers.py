"""A zoo of compilers, each with its own way to fail, and of systems that lack what a compilation needs.

``python tests/faults/compilers.py`` runs every specimen in a forked process, in mode auto and in mode on. In
mode auto two new expressions must give what is right and warn at most once; in mode on a compilation that
fails is a CompileError that names what came. Nothing may be left behind, and a compiler that hangs costs 20
seconds at most. Prints one line of JSON a specimen and mode.
"""

import argparse
import ctypes
import json
import os
import resource
import shlex
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import Traces, child, outcome

MOST_SECONDS = 20.5
MODES = {"on": 2, "auto": 3}
NOBODY = 65534
GCC = shlex.quote(shutil.which("gcc") or shutil.which("cc") or "cc")
SPECIMENS: dict[str, "Specimen"] = {}
HELD: list[int] = []  # descriptors


@dataclass
class Specimen:
    """A compiler, and what becomes of two calls."""

    body: str  # a shell script
    says: str = ""  # the CompileError of the first call; nothing: it works; "?": it may work
    then: str | None = None  # the same of the second call
    slow: bool = False
    version: str | None = "echo 'cc 1.0'"  # what it does when asked; None: it is no program at all
    before: Callable[[], None] | None = None  # done before the first call
    between: Callable[[Path], None] | None = None  # with the script, before the second
    root: bool = False  # that takes root

    def __post_init__(self) -> None:
        self.then = self.says if self.then is None else self.then


def patched(at: int, *values: int) -> str:
    """Compiles, and writes other bytes into the object."""
    octal = "".join(f"\\{v:o}" for v in values)
    return f"{GCC} \"$@\" && printf '{octal}' | dd of=kernel.so bs=1 seek={at} conv=notrunc 2>&1"


# ---- what a system lacks ----
def limit(what: int, most: int) -> None:
    resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


def few_descriptors(more: int) -> Callable[[], None]:
    """All but so many are in use."""

    def lack() -> None:
        used = {int(n) for n in os.listdir("/proc/self/fd")}
        most = max(used) + 1
        HELD.extend(os.dup(0) for _ in range(most - len(used)))
        limit(resource.RLIMIT_NOFILE, most + more)

    return lack


def no_processes() -> None:
    """As somebody who may not start any."""
    for folder in (os.environ["TMPDIR"], os.environ["SCORCH_CACHE_DIR"]):
        os.makedirs(folder, exist_ok=True)
        os.chown(folder, NOBODY, NOBODY)
    limit(resource.RLIMIT_NPROC, 0)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # dumpable again, or /proc/self would be root's


def full_disk() -> None:
    """TMPDIR, /tmp and /dev/shm are a file system of 16 KB, seen by this process alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    clone_newns, ms_private_rec = 0x20000, 0x44000
    if libc.unshare(clone_newns) or libc.mount(b"none", b"/", None, ms_private_rec, None):
        raise OSError(ctypes.get_errno(), "unshare")
    for place in (os.environ["TMPDIR"], "/tmp", "/dev/shm", os.environ["SCORCH_CACHE_DIR"]):
        os.makedirs(place, exist_ok=True)
        if libc.mount(b"none", os.fsencode(place), b"tmpfs", 0, b"size=16k,mode=1777"):
            raise OSError(ctypes.get_errno(), f"mount {place}")


def replace(cc: Path) -> None:
    """By a compiler that says so and fails."""
    cc.write_text("#!/bin/sh\necho gone; exit 9\n")


def closed_stdio() -> None:
    for n in range(3):
        os.close(n)


# ---- the specimens ----
WHOLE = f'{GCC} "$@"'
TAIL = "truncate -s -3000 kernel.so; truncate -s +3000 kernel.so"
HOLE = "dd if=/dev/zero of=kernel.so bs=4096 seek=1 count=1 conv=notrunc 2>/dev/null"
OTHER_ABI = "sed -i 's/SC_OBJECT = {[0-9]*/SC_OBJECT = {99/' kernel.c"


def hangs(body: str) -> Specimen:
    """A compiler that is stopped, and not asked again."""
    return Specimen(body, "stopped", "cannot build", slow=True)


def small_files(most: int) -> Specimen:
    """A compiler where files may have so many bytes."""
    return Specimen(WHOLE, "File too large", before=lambda: limit(resource.RLIMIT_FSIZE, most))


SPECIMENS |= {
    # objects that are none, or not whole
    "garbage": Specimen("head -c 20000 /dev/urandom > kernel.so", "not an ELF file"),
    "text": Specimen("yes '#!/bin/sh' | head -c 9000 > kernel.so", "not an ELF file"),
    "empty": Specimen(": > kernel.so", "without an object"),
    "nothing": Specimen("exit 0", "without an object"),
    "truncated": Specimen(f"{WHOLE}; truncate -s 6000 kernel.so", "ends"),
    "cut by a byte": Specimen(f"{WHOLE}; truncate -s -1 kernel.so", "ends"),
    "zeros at the end": Specimen(f"{WHOLE}; {TAIL}", "refused"),
    "zeros in the middle": Specimen(f"{WHOLE}; {HOLE}", "refused"),
    "another machine": Specimen(patched(18, 183), "another architecture"),
    "32 bits": Specimen(patched(4, 1), "another architecture"),
    "a program": Specimen(patched(16, 2), "not a shared object"),
    "another ABI": Specimen(f"{OTHER_ABI}; {WHOLE}", "another version"),
    "another text": Specimen(f"{WHOLE} -USC_KEY '-DSC_KEY=\"other\"'", "another text"),
    "an object of static code": Specimen(f"{WHOLE} -c", "refused"),
    "a link": Specimen("ln -s /etc/passwd kernel.so", "without an object"),
    "a pipe": Specimen("mkfifo kernel.so", "without an object"),
    "a folder": Specimen("mkdir -p kernel.so/below", "without an object"),
    # ways to end
    "status 1": Specimen("echo 'kernel.c:1: error: I do not want to' >&2; exit 1", "I do not want to"),
    "status 1 with an object": Specimen(f"{WHOLE}; exit 1", "status 1"),
    "a signal": Specimen("kill -SEGV $$", "signal 11"),
    "odd bytes": Specimen(r"printf 'kernel.c: error: \377\376\000\001 caf\351' >&2; exit 1", "caf"),
    "many words": Specimen("yes 'error: no' | head -c 50000000 >&2; exit 1", "error: no"),
    "no words of version": Specimen(WHOLE, "not a compiler that runs here", version="true"),
    "odd words of version": Specimen(WHOLE, "", version="head -c 1000000 /dev/urandom"),
    "no interpreter": Specimen(WHOLE, "not a compiler that runs here", version=None),
    # what takes long
    "hanging": hangs("sleep 1000"),
    "hanging after its end": Specimen(f"{WHOLE}; sleep 1000 & echo $! > $0.pid"),
    "hanging with an object": hangs(f"{WHOLE}; sleep 1000"),
    "deaf to signals": hangs("trap '' TERM INT HUP; while :; do sleep 1; done"),
    "asking for its version": Specimen(WHOLE, "not a compiler that runs here", version="sleep 1000"),
    "talking for ever": hangs("yes 'warning: no end'"),
    "waiting for input": Specimen(f"cat; {WHOLE}"),
    # leavings
    "folders in its folder": Specimen(f"mkdir -p a/b/c; touch a/b/c/d; {WHOLE}"),
    # systems
    "removed": Specimen(WHOLE, "", "could not be started", between=lambda cc: cc.unlink()),
    "replaced": Specimen(WHOLE, "", "gone", between=replace),
    "no space": Specimen(WHOLE, "No space left", before=full_disk, root=True),
    "no space for an object": small_files(12000),
    "no space for a text": small_files(2000),
    "no processes": Specimen(WHOLE, "unavailable", before=no_processes, root=True),
    "no stdio": Specimen(WHOLE, before=closed_stdio),
    "ignored children": Specimen(WHOLE, before=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)),
    **{f"{n} descriptors": Specimen(WHOLE, "?", before=few_descriptors(n)) for n in range(9)},
}  # fmt: skip


def script(kind: Specimen, folder: Path) -> Path:
    """The compiler of a specimen, executable."""
    cc = folder / "cc"
    if kind.version is None:
        cc.write_bytes(b"\0\1\2 this is no program")
    else:
        cc.write_text(f'#!/bin/sh\n[ "$1" = --version ] && {{ {kind.version}; exit 0; }}\n{kind.body}\n')
    cc.chmod(0o755)
    return cc


# ---- one specimen ----
def still_running(folder: Path) -> list[str]:
    """Processes whose numbers a compiler has left."""
    numbers = [file.read_text().strip() for file in folder.glob("*.pid")]
    time.sleep(0.2 if numbers else 0)
    stats = [Path(f"/proc/{n}/stat") for n in numbers]
    return [f"process {s.parent.name}" for s in stats if s.exists() and s.read_text().split()[2] != "Z"]


def judge(kind: Specimen, mode: str, said: list[str], words: list[str]) -> list[str]:
    """What is wrong with what two calls came to."""
    faults = []
    for what, expected in zip(said, (kind.says, kind.then), strict=True):
        if expected == "?":
            fine = what == "right" or (mode == "on" and what.startswith("CompileError"))
        elif mode == "auto" or not expected:
            fine = what == "right"
        else:
            fine = what.startswith("CompileError") and (expected in what or "cannot build" in what)
        if not fine or len(what) > 2500:
            faults.append(what)
    executor = _C.stats()["executor"]
    if mode == "auto" and len(words) != (executor > 0):
        faults.append(f"{len(words)} warnings, {executor} interpreted")
    if (executor == 0) != (not kind.says and not kind.then) and mode == "auto" and kind.says != "?":
        faults.append(f"{executor} interpreted")
    return faults


def attempt(kind: Specimen, mode: str, calls: list) -> dict:
    """Two calls with this compiler."""
    traces = Traces()
    folder = Path(tempfile.mkdtemp(dir=WORK))
    folder.chmod(0o755)
    os.environ["SCORCH_CACHE_DIR"] = str(folder / "kernels")
    cc = script(kind, folder)
    _C.configure(MODES[mode], str(cc), None, str(folder / "kernels"), 1 << 28)
    if kind.before:
        kind.before()
    begin, memory = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with warnings.catch_warnings(record=True) as words:
        warnings.simplefilter("always")
        said = [outcome(*calls[0])]
        if kind.between:
            kind.between(cc)
        said.append(outcome(*calls[1]))
    seconds = time.monotonic() - begin
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    limit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    while HELD:
        os.close(HELD.pop())
    faults = judge(kind, mode, said, [str(w.message) for w in words if "scorch" in str(w.message)])
    if seconds > MOST_SECONDS:
        faults.append(f"it took {seconds:.0f} s")
    if memory > 40:
        faults.append(f"it took {memory:.0f} MB")
    faults += [f"left: {what}" for what in [*traces.left(), *still_running(folder)]]
    return {"said": said, "seconds": round(seconds, 1), "faults": faults}


def calls() -> list:
    """Two expressions that the bundle does not have, and whether what they give is right."""
    d = torch.arange(1200.0).reshape(40, 30) % 7 * (torch.arange(1200).reshape(40, 30) % 3 == 0)
    A, x, b = scorch.sparse(d, "csr"), torch.arange(150.0).reshape(30, 5) % 5, torch.arange(5.0)
    return [
        (lambda: scorch.evaluate("C[i,k] = relu(A[i,j] * B[j,k] + b[k])", A=A, B=x, b=b),
         lambda got: torch.equal(got, torch.relu(d @ x + b))),
        (lambda: scorch.evaluate("s[i] max= A[i,j] * 3", A=A), lambda got: torch.equal(got, (d * 3).amax(1))),
    ]  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("specimen", nargs="*", help="names; none: all")
    parser.add_argument("--quick", action="store_true", help="none that takes long")
    options = parser.parse_args()
    WORK = tempfile.mkdtemp(dir="/var/tmp")  # a specimen hides /tmp
    os.chmod(WORK, 0o755)
    os.environ.update({"TMPDIR": WORK, "SCORCH_CACHE_DIR": f"{WORK}/kernels"})
    tempfile.tempdir = None
    import torch

    torch.set_num_threads(1)  # threads of OpenMP do not outlive a fork
    import scorch
    from scorch import _C

    pair = calls()
    try:
        for NAME, kind in SPECIMENS.items():
            if (options.specimen and NAME not in options.specimen) or (kind.root and os.geteuid()):
                continue
            if options.quick and kind.slow:
                continue
            for mode in MODES:
                made = child(lambda: attempt(kind, mode, pair))  # noqa: B023
                if "died" in made:
                    made = {"said": ["", ""], "seconds": 0, "faults": [f"the process died {made['died']}"]}
                print(json.dumps({"specimen": NAME, "mode": mode, **made}), flush=True)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)

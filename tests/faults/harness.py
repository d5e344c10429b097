"""What the campaigns share: attempts in forked processes, and what an attempt may not leave behind.

A program imports torch and scorch once, which takes seconds, and forks for every attempt, which takes
milliseconds. So each attempt finds the same process, and may end it.
"""

import glob
import json
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PATIENCE = 60  # seconds for one attempt
WORKED_IN = ("/tmp/scorch-kernel-*", "/dev/shm/scorch-kernel-*")  # by compilations, beside TMPDIR


def child(work: Callable[[], dict]) -> dict:
    """What ``work`` returns in a forked process; where that dies or hangs, {"died": how}."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        signal.alarm(PATIENCE)
        try:
            said = json.dumps(work())
        except BaseException:
            said = json.dumps({"died": traceback.format_exc()})
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    if not status:
        return json.loads(said)
    what = signal.Signals(status & 127).name if status & 127 else f"status {status >> 8}"
    return {"died": "hanging" if what == "SIGALRM" else f"with {what}"}


def outcome(call: Callable[[], object], right: Callable[[object], bool]) -> str:
    """What a call comes to: "right", "a wrong result", or the exception and where it was raised."""
    try:
        return "right" if right(call()) else "a wrong result"
    except BaseException as why:
        where = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(why.__traceback__)[-3:]]
        return f"{type(why).__name__}: {str(why)[:2000]} ({' '.join(where)})"


class Traces:
    """Descriptors, child processes and files of TMPDIR, from now on a folder of its own."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(dir=os.environ["TMPDIR"])
        os.environ["TMPDIR"] = self.folder
        self.descriptors, self.elsewhere = self._descriptors(), self._abandoned()

    @staticmethod
    def _descriptors() -> set[str]:
        return {n for n in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{n}")}

    @staticmethod
    def _abandoned() -> set[str]:
        """Folders outside of TMPDIR that no process works in: those of others come and go.

        Locks are looked at, not tried: who makes a folder could come too late for its own.
        """
        locked = {line.split()[-3] for line in Path("/proc/locks").read_text().splitlines()}
        found = set()
        for folder in (f for pattern in WORKED_IN for f in glob.glob(pattern)):
            with suppress(OSError):
                st = os.stat(folder)
                if f"{os.major(st.st_dev):02x}:{os.minor(st.st_dev):02x}:{st.st_ino}" not in locked:
                    found.add(folder)
        return found

    def left(self) -> list[str]:
        """What is left, in words."""
        elsewhere = self._abandoned() - self.elsewhere
        for _ in range(20):  # others may be at its beginning or end, and wait for a processor there
            if elsewhere:
                time.sleep(0.5)
                elsewhere &= self._abandoned()
        found = [f"descriptor {n}" for n in self._descriptors() - self.descriptors]
        found += [f"file {f}" for f in [*os.listdir(self.folder), *elsewhere]]
        with suppress(ChildProcessError):
            found.append(f"child process {os.waitpid(-1, os.WNOHANG)}")
        return found

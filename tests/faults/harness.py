"""What the campaigns share: attempts in forked processes, and what an attempt may not leave behind.

A program imports torch and scorch once, which takes seconds, and forks for every attempt, which takes
milliseconds. So each attempt finds the same process, and may end it.
"""

import glob
import json
import os
import signal
import tempfile
import traceback
from collections.abc import Callable
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
    """ "right", "a wrong result", or the exception and where it came from."""
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
        self.descriptors, self.elsewhere = self._descriptors(), self._elsewhere()

    @staticmethod
    def _descriptors() -> set[str]:
        return {n for n in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{n}")}

    @staticmethod
    def _elsewhere() -> set[str]:
        return {f for pattern in WORKED_IN for f in glob.glob(pattern)}

    def left(self) -> list[str]:
        """What is left, in words."""
        found = [f"descriptor {n}" for n in self._descriptors() - self.descriptors]
        found += [f"file {f}" for f in [*os.listdir(self.folder), *(self._elsewhere() - self.elsewhere)]]
        try:
            found.append(f"child process {os.waitpid(-1, os.WNOHANG)}")
        except ChildProcessError:
            pass
        return found

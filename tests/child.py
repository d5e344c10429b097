"""Processes that run a text, forked from one that has imported torch: the import takes seconds, a fork none.

``run`` is what ``subprocess.run([sys.executable, "-W", "ignore", "-c", text])`` would be, but for what torch
reads of the environment while it is imported. Nothing of scorch is imported before the fork.
"""

import atexit
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path


@functools.cache
def _server() -> subprocess.Popen:
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.stdin.close)
    return server


def run(text: str, env: dict[str, str], limit: int = 300) -> subprocess.CompletedProcess:
    """Runs Python text with this environment; it is killed by SIGALRM after so many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        said = [str(Path(folder) / name) for name in ("stdout", "stderr")]
        job = {"text": text, "env": env, "limit": limit, "said": said, "folder": os.getcwd()}
        server = _server()
        server.stdin.write(json.dumps(job) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        out, err = (Path(name).read_text() for name in said)
        return subprocess.CompletedProcess(text, code, out, err)


# ---- the process that has imported torch ----
def _become(job: dict) -> None:
    os.environ.clear()
    os.environ.update(job["env"])
    os.chdir(job["folder"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, name in zip((1, 2), job["said"], strict=True):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
    sys.path[0] = ""
    signal.alarm(job["limit"])


def _serve() -> str:
    """The text to run, in the child; in the server it returns where nobody asks any more."""
    import torch  # noqa: F401

    for line in sys.stdin:
        job, pid = json.loads(line), os.fork()
        if not pid:
            _become(job)
            return job["text"]
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    return ""


if __name__ == "__main__":
    exec(compile(_serve(), "<string>", "exec"), {"__name__": "__main__"})

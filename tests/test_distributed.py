"""SparseTensors in two processes: what tests/ranks.py checks there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

CHECKS = (
    "ddp", "ddp_broadcasts_each_time", "ddp_refuses", "fsdp", "products", "shards", "modules",
    "dtensor_refuses", "checkpoints", "states_of_rank_0", "document",
)  # fmt: skip


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each of the two processes printed."""
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("torch was built without gloo")
    folder, script = tmp_path_factory.mktemp("ranks"), Path(__file__).parent / "ranks.py"
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", script, str(rank), str(folder)], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"},
        )
        for rank in range(2)
    ]  # fmt: skip
    try:
        printed = [process.communicate(timeout=120) for process in started]
    finally:
        for process in started:
            process.kill()
    if any("cannot bind" in errors for _, errors in printed):
        pytest.skip(f"gloo cannot bind to loopback: {printed}")
    assert all(process.returncode == 0 for process in started), printed
    return [out for out, _ in printed]


@pytest.mark.parametrize("check", CHECKS)
def test_two_processes(check, said):
    for text in said:
        assert re.search(rf"^{check} ok$", text, re.M), text


def test_every_check_is_asked_for():
    text = (Path(__file__).parent / "ranks.py").read_text()
    assert re.findall(r"^def (\w+)\(rank, mesh, folder\)", text, re.M) == list(CHECKS)

"""Fixtures shared by all tests."""

import os
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "build" / "tests" / "kernels"
KERNELS.parent.mkdir(parents=True, exist_ok=True)
os.environ.setdefault("SCORCH_CACHE_DIR", str(KERNELS))  # read when scorch is imported

# What is chosen depends on the number of threads, and tests say what they expect of at most two; programs
# that they start take it from the environment.
torch.set_num_threads(min(torch.get_num_threads(), 2))
os.environ.setdefault("OMP_NUM_THREADS", str(torch.get_num_threads()))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite what tests/golden expects")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Cases of a sampled function are wide, but for its first and one in five, told by their names.

    What needs a later torch is skipped.
    """
    seen = set()
    for item in items:
        if item.get_closest_marker("sampled"):
            function = item.nodeid.partition("[")[0]
            if function in seen and zlib.crc32(item.name.encode()) % 5:
                item.add_marker("wide")
            seen.add(function)
        for release in (mark.args[0] for mark in item.iter_markers("needs")):
            if torch.__version__ < release:
                item.add_marker(pytest.mark.skip(reason=f"needs torch {release}"))


@pytest.fixture(scope="session")
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of programs that compile: a cache of kernels of their own."""
    folder = str(tmp_path_factory.mktemp("kernels"))
    return {"XDG_CACHE_HOME": folder, "SCORCH_CACHE_DIR": f"{folder}/scorch"}


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with the same numbers in every run."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets (planetoid/, matrices/, ...); the test is skipped where there is none."""
    given = os.environ.get("SCORCH_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "datasets"
    if not folder.is_dir():
        pytest.skip("real data sets are not at hand: name their folder in SCORCH_DATA")
    return folder

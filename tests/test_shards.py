"""Matrices whose rows lie in four processes, and in two of them: what tests/shards.py checks there."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import torch

import scorch
from benchmarks import shards as shards_of_benchmarks
from scorch.distributed import count_exchange, cut_rows, partition

CHECKS = (
    "products", "only_what_is_needed_moves", "other_ways_to_make_one", "rectangles", "another_order",
    "sampled_products", "training", "dropped_weights", "normalization", "second_derivatives", "refusals",
    "features_that_differ",
)  # fmt: skip
RANKS = 4


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each process printed."""
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("torch was built without gloo")
    folder, script = tmp_path_factory.mktemp("shards"), Path(__file__).parent / "shards.py"
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", script, str(rank), str(RANKS), str(folder)], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"},
        )
        for rank in range(RANKS)
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


@pytest.mark.sampled
@pytest.mark.parametrize("ranks", (2, RANKS))
@pytest.mark.parametrize("check", CHECKS)
def test_processes(check, ranks, said):
    for text in said[:ranks]:
        assert re.search(rf"^{check} {ranks} ok$", text, re.M), text


# ---- counting, in one process ----
def test_cuts():
    entries = torch.tensor([0, 5, 5, 0, 30, 1, 1])
    assert cut_rows(entries, 2, "rows").tolist() == [0, 4, 7]
    assert cut_rows(entries, 2).tolist() == [0, 4, 7]  # 14 and 35 of 49; the other way 45 and 4
    assert cut_rows(entries, 3, [2, 0, 5]).tolist() == [0, 2, 2, 7]
    assert cut_rows(torch.zeros(0), 3).tolist() == [0] * 4
    g = torch.Generator().manual_seed(0)
    entries = torch.randint(50, (1000,), generator=g)
    for ranks in (1, 7, 64):
        cut = cut_rows(entries, ranks)
        parts = torch.tensor([int((entries + 1)[a:b].sum()) for a, b in pairwise(cut.tolist())])
        assert int(cut[-1]) == 1000 and (parts - (entries + 1).sum() / ranks).abs().max() <= 51
    for wrong in ("best", [3, 3], [8, -1], [7, 0, 0]):
        with pytest.raises(ValueError, match="cut: expected"):
            cut_rows(torch.zeros(7), 2, wrong)


def test_what_moves_is_what_lies_elsewhere():
    g = torch.Generator().manual_seed(0)
    d = (torch.rand(30, 30, generator=g) < 0.1).float()
    cut = torch.tensor([0, 3, 3, 20, 30])
    counted = count_exchange(scorch.sparse(d), cut)
    for rank, (low, high) in enumerate(pairwise(cut.tolist())):
        needed = {j for j in d[low:high].nonzero()[:, 1].tolist() if not low <= j < high}
        assert int(counted.received[rank]) == len(needed)
        assert int(counted.entries[rank]) == int(d[low:high].sum())
    assert int(counted.sent.sum()) == counted.moved < counted.gathered == 4 * 3 * 17
    assert counted.text(2).endswith("...") and "4 ranks, one exchange" in counted.text()


def test_partitions_find_what_is_near():
    """Of a grid whose nodes were renumbered at random."""
    n, g = 24, torch.Generator().manual_seed(0)
    i = torch.arange(n * n).view(n, n)
    edges = torch.cat(
        [torch.stack([a.flatten(), b.flatten()]) for a, b in ((i[1:], i[:-1]), (i[:, 1:], i[:, :-1]))], 1
    )
    edges = torch.randperm(n * n, generator=g)[torch.cat([edges, edges.flip(0)], 1)]
    A = scorch.from_edge_index(edges, num_nodes=n * n)
    plain = count_exchange(A, cut_rows(A.pos(1).diff(), 8)).moved
    for method, share in (("metis", 0.15), ("rcm", 0.35), ("auto", 0.35)):
        pytest.importorskip({"metis": "pymetis", "rcm": "scipy"}.get(method, "scipy"))
        found = partition(A, 8, method)
        assert torch.equal(found.order.sort()[0], torch.arange(n * n))
        moved = A.submatrix(found.order, found.order)
        cut = cut_rows(moved.pos(1).diff(), 8, found.sizes or "nnz")
        counted = count_exchange(moved, cut)
        assert counted.moved < share * plain and counted.imbalance < 1.1


def test_partitions_say_what_is_missing(monkeypatch):
    A = scorch.sparse(torch.ones(4, 4))
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(ImportError, match="pip install pymetis"):
        partition(A, 2, "metis")
    assert partition(A, 2).method == "rcm"
    monkeypatch.setitem(sys.modules, "scipy.sparse.csgraph", None)
    assert partition(A, 2).method == "none"
    with pytest.raises(ValueError, match="a square matrix"):
        partition(scorch.sparse(torch.ones(4, 3)), 2)
    with pytest.raises(ValueError, match="got 'best'"):
        partition(A, 2, "best")


def test_every_check_is_asked_for():
    text = (Path(__file__).parent / "shards.py").read_text()
    assert re.findall(r"^def (\w+)\(rank, ranks, group\)", text, re.M) == list(CHECKS)


@pytest.mark.slow
@pytest.mark.parametrize("model", ("gcn", "sage", "gat"))
def test_the_example_has_the_losses_of_one_process(model, tmp_path):
    script = Path(__file__).parent.parent / "examples" / "distributed_gcn.py"
    place = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, script, "--nodes", "400", "--model", model, "--reorder", "auto"],
        capture_output=True, text=True, env=place, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0 and "all agree" in done.stdout, done.stdout + done.stderr


def test_counts_for_many_ranks_are_printed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["shards", "--scale", "6", "--metis", "6", "--ranks", "2", "4"])
    monkeypatch.setattr(shards_of_benchmarks, "METHODS", (None, "rcm"))
    shards_of_benchmarks.main()
    text = capsys.readouterr().out
    assert text.count("| 4 ") == 5
    (row,) = re.findall(r"^\| Cora.*", text, re.MULTILINE)
    received, even = re.findall(r"(\S+), (\S+) \|", row)[1]  # by reverse Cuthill-McKee
    assert 0 < float(received) < 3 and 1 <= float(even) < 1.5

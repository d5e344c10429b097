"""The GCN example and the benchmark's arithmetic, end to end on small inputs."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import gcn
import planetoid
import scorch
from benchmarks import bound
from benchmarks.__main__ import check, ratios, render
from benchmarks.data import Case
from benchmarks.operands import sets
from benchmarks.programs import PROGRAMS, backward, forward, named
from examples.timing import Time, human, interleave, table


def test_the_example_agrees_with_torch(capsys):
    assert gcn.main(["--dataset", "karate", "--compare", "--seconds", "0.01", "--epochs", "30"]) == 0
    out = capsys.readouterr().out
    assert "all logits agree" in out and "torch.sparse CSR, X sparse too" in out


def test_the_example_says_what_is_missing(tmp_path, capsys):
    assert gcn.main(["--dataset", "cora", "--root", str(tmp_path)]) == 2
    assert "ind.cora.x" in capsys.readouterr().err


def test_the_example_learns_and_saves(tmp_path, capsys):
    file = str(tmp_path / "weights.pt")
    assert gcn.main(["--dataset", "karate", "--weights", file]) == 0
    first = capsys.readouterr().out
    assert gcn.main(["--dataset", "karate", "--weights", file, "--epochs", "0"]) == 0
    accuracy = [line for line in first.splitlines() if "accuracy" in line]
    assert accuracy[0] in capsys.readouterr().out
    assert float(accuracy[0].split()[2].rstrip("%")) > 85


def test_the_same_adjacency(rng):
    graph = planetoid.karate()
    A, X = gcn.scorch_inputs(graph)
    torch.testing.assert_close(A.to_dense(), gcn.torch_adjacency(graph).to_dense())
    torch.testing.assert_close(X.to_dense(), graph.x)


def test_interleave_takes_turns():
    calls = []
    times = interleave({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, seconds=0)
    assert calls[:4] == ["a", "a", "b", "b"] and times["a"].turns == times["b"].turns == 5
    assert 0 < times["a"].min <= times["a"].median


@pytest.mark.parametrize(
    "seconds, text", [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4e-6, "4 us"), (3e-8, "30 ns")]
)
def test_human(seconds, text):
    assert human(seconds) == text


def test_tables():
    assert table(["a", "b"], [["long", "1"]]) == "a     b\n----  -\nlong  1"
    assert table(["a", "b"], [["c", "1"]], markdown=True) == "| a | b |\n| - | : |\n| c | 1 |"


def test_losses_are_shown():
    names = ("torch", "MKL", "Scorch")
    rows = []
    for case, seconds in {"small": (4, 2, 1), "large": (4, 1, 2)}.items():
        times = {n: Time(float(s), float(s), 5) for n, s in zip(names, seconds, strict=True)}
        found = ratios(Case(case, against={"Scorch": ("torch", "MKL")}), times)
        rows.append({"suite": "spmm", "case": case, "times": times, "ratios": found})
    text = render(rows, markdown=False)
    assert "0.50x loss" in text and "2.00x" in text
    assert "MKL / Scorch: geometric mean 1.00x, worst 0.50x (large), 1 of 2 lost" in text


def test_wrong_answers_are_not_timed():
    x = torch.ones(3)
    check(Case("good", {"torch": lambda: x, "Scorch": lambda: x + 0}))
    with pytest.raises(AssertionError, match="bad, Scorch"):
        check(Case("bad", {"torch": lambda: x, "Scorch": lambda: x + 1}))


@pytest.mark.sampled
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs_of_the_benchmarks_agree(program):
    """One expression, the same by hand, and torch or SciPy; their gradients too."""
    for _, make in sets(program.kind, True, None):
        operands = named(program, make())
        check(Case(program.name, forward(program, operands)))
        if program.leaves:
            check(Case(program.name, backward(program, operands)))


def test_sparse_answers_are_compared():
    A = scorch.sparse(torch.eye(3), "csr")
    check(Case("good", {"torch": lambda: torch.eye(3).to_sparse_csr(), "Scorch": lambda: A * 1}))
    for wrong in (lambda: A * 2, lambda: scorch.sparse(torch.eye(4), "csr"), lambda: 2 * torch.eye(3)):
        with pytest.raises(AssertionError, match="bad, Scorch"):
            check(Case("bad", {"torch": lambda: torch.eye(3).to_sparse_csr(), "Scorch": wrong}))


def test_the_bound_is_the_best_dense_product(monkeypatch):
    """Libraries of torch differ: a bound by one of them alone would be beaten by the other."""
    x, w = torch.rand(5, 7), torch.rand(7, 3)
    for way in bound.products(x, w).values():
        torch.testing.assert_close(way(), x @ w)
    given = {"torch": 2.0, "oneDNN": 1.0, "copy": 4.0}
    took = {name: Time(t, t, 1) for name, t in given.items() if name in {**bound.products(x, w), "copy": 0}}
    monkeypatch.setattr(bound, "interleave", lambda calls, seconds: took)
    bound.peaks.cache_clear()
    best = min(t.min for name, t in took.items() if name != "copy")
    assert bound.peaks() == (2 * 2048**3 / best, 2**28 / 4)
    bound.peaks.cache_clear()


def test_the_benchmarks_start():
    root = Path(__file__).resolve().parent.parent
    command = [sys.executable, "-m", "benchmarks", "--help"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert "attention" in done.stdout and "spmm" in done.stdout

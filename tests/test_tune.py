"""Measured choices: what is kept is found again and right, what is damaged is not, and no loser is kept."""

import hashlib
import itertools
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

import scorch
from scorch import _C
from scorch.tools import candidates, command, race, tune

ROOT = Path(__file__).resolve().parent.parent
AUTO = 3  # of the modes of the jit
SLOW = "order(i, k, j)"  # legal, and hardly ever the best
PRODUCT = "ij,jk->ik"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A cache directory for all tests here, so that each kernel is compiled once."""
    return tmp_path_factory.mktemp("tuned")


@pytest.fixture(autouse=True)
def cache(folder):
    compiler = os.environ.get("SCORCH_CC")
    _C.configure(AUTO, compiler, None, str(folder), 1 << 28)
    _C.tuned_clear()
    yield folder
    _C.tuned_clear()
    _C.configure(AUTO, compiler, None, os.environ["SCORCH_CACHE_DIR"], 1 << 28)


def operands(rows=40, columns=16, seed=0):
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randint(1, 9, (rows, rows), generator=generator).float()
    dense *= torch.rand(rows, rows, generator=generator) < 0.2
    return dense, scorch.sparse(dense, format="csr"), torch.ones(rows, columns).cumsum(0)


def afresh():
    """As a process that starts now: programs are made again, and what is kept is read from its files."""
    _C.configure(AUTO, os.environ.get("SCORCH_CC"), None, str(Path(_file_of.folder)), 1 << 28)
    _C.note(True, True)
    _C.note(False)


class _file_of:
    folder = ""


@pytest.fixture(autouse=True)
def _known_folder(folder):
    _file_of.folder = str(folder)


def keep(call, schedule, which=0, gain=1.34):
    """A choice for a request of the call, made by hand."""
    request = candidates.noted(call, anew=True)[which]
    _C.tuned_try(request.number, schedule)
    _C.tuned_keep(request.number, gain)


def files(folder):
    return sorted((folder / "tuned").glob("*")) if (folder / "tuned").exists() else []


def is_tuned(*operands, expression=PRODUCT):
    return scorch.explain(expression, *operands).startswith("tuned on ")


def write(file, text):
    """The file of a choice with its checksum."""
    file.write_bytes(text + b"sum " + hashlib.sha256(text).hexdigest().encode() + b"\n")


# ---- what is kept ----
def test_nothing_is_kept_unasked(folder):
    dense, a, x = operands()
    assert torch.equal(a @ x, dense @ x)
    assert not (folder / "tuned").exists() or not files(folder)
    assert not is_tuned(a, x)


def test_a_choice_is_used_at_once_and_explained(folder):
    dense, a, x = operands()
    before, kernel = scorch.stats()["tuned"], scorch.compile(PRODUCT, a, x)
    assert "par i in A {\n  for k" not in kernel.schedule and torch.equal(a @ x, dense @ x)
    keep(lambda: a @ x, SLOW)
    assert torch.equal(a @ x, dense @ x)
    assert scorch.stats()["tuned"] == before + 1
    said = scorch.explain(PRODUCT, a, x)
    assert said.startswith(f"tuned on {time.strftime('%Y-%m-%d', time.gmtime())}: 1.34x by {SLOW}\n")
    assert kernel.schedule.startswith("par i in A {\n  for k {")
    assert torch.equal(kernel(a, x), dense @ x)
    (kept,) = tune.kept()
    assert (kept.expression, kept.gain, kept.schedule) == (PRODUCT, 1.34, SLOW)
    assert len(files(folder)) == 1 and files(folder)[0].stat().st_mode & 0o777 == 0o600


def test_a_choice_for_parts_is_explained():
    dense, a, x = operands()
    p = a.convert("csr of band(-3,3) + csr")
    assert torch.equal(p @ x, dense @ x) and "tuned on" not in p.plan(16)
    before = scorch.stats()["tuned"]
    keep(lambda: p @ x, SLOW)
    assert torch.equal(p @ x, dense @ x) and scorch.stats()["tuned"] == before + 1
    assert f"by {SLOW}" in scorch.explain(PRODUCT, p, x) and f"by {SLOW}" in p.plan(16)
    keep(lambda: x.T @ p, SLOW)
    assert torch.equal(x.T @ p, x.T @ dense)
    assert f"by {SLOW}" in scorch.explain(PRODUCT, x.T, p)


def test_another_process_finds_it(folder):
    dense, a, x = operands()
    keep(lambda: a @ x, SLOW)
    script = """
import sys, torch, scorch
sys.path.insert(0, "tests")
assert "scorch.tools.tune" not in sys.modules
dense = torch.load(sys.argv[1])
a, x = scorch.sparse(dense, format="csr"), torch.ones(40, 16).cumsum(0)
assert torch.equal(a @ x, dense @ x)
assert scorch.stats()["tuned"] == 1
assert scorch.explain("ij,jk->ik", a, x).startswith("tuned on ")
traced = torch.compile(lambda a, x: torch.relu(a @ x), backend="aot_eager")
x.requires_grad_()
assert torch.equal(traced(a, x), dense @ x)
"""
    torch.save(dense, folder / "dense.pt")
    run(script, folder, str(folder / "dense.pt"))


def run(script, folder, *args, **environment):
    environment = {**os.environ, "SCORCH_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-c", script, *args]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_a_compiler_nothing_gets_slower(folder):
    """What is kept must be compiled; where it cannot be, the default runs from the bundle."""
    _, a, x = operands()
    keep(lambda: a @ x, SLOW)
    script = """
import torch, scorch
a = scorch.sparse(torch.eye(40) + (torch.arange(1600).view(40, 40) % 5 == 0), format="csr")
x = torch.ones(40, 16)
assert torch.equal(a @ x, a.to_dense() @ x)
assert scorch.stats()["tuned"] == 0 and scorch.stats()["runs"]["executor"] == 0
"""
    run(script, folder, SCORCH_JIT="off")


def test_steps_and_their_order():
    dense, a, x = operands()
    w = torch.ones(16, 8).cumsum(1)
    expected = dense @ x @ w
    chain = "ij,jk,kl->il"
    for schedule in ("path((A B) C)", "path()"):
        keep(lambda: scorch.einsum(chain, a, x, w), schedule, -1)
        assert is_tuned(a, x, w, expression=chain)
        assert torch.equal(scorch.einsum(chain, a, x, w), expected)
        _C.tuned_clear()
        assert not is_tuned(a, x, w, expression=chain)


def test_a_step_has_a_choice_of_its_own():
    dense, a, x = operands()
    w = torch.ones(16, 8).cumsum(1)
    call = lambda: scorch.einsum("ij,jk,kl->il", a, x, w)  # noqa: E731
    asked = candidates.noted(call, anew=True)
    step = next(k for k, r in enumerate(asked) if r.text.startswith("out[i,j] +="))
    keep(call, "ahead(8)", step)
    assert torch.equal(call(), dense @ x @ w)
    assert scorch.explain("ij,jk,kl->il", a, x, w).count("tuned on ") == 1


def test_operands_are_converted_as_it_says():
    dense, a, x = operands()
    keep(lambda: a @ x, "convert(A: csc)")
    assert torch.equal(a @ x, dense @ x)
    assert "csc" in " ".join(a.memory()["derived"]) and is_tuned(a, x)


def test_blocks_that_do_not_divide_the_extent_are_a_miss():
    dense, a, x = operands(rows=128)
    keep(lambda: a @ x, 'convert(A: "dense(1/64), dense(0), compressed(1%64)")')
    assert torch.equal(a @ x, dense @ x) and scorch.stats()["tuned"]
    dense, a, x = operands(rows=120)  # of the same class
    before = scorch.stats()["tuned"]
    assert torch.equal(a @ x, dense @ x) and scorch.stats()["tuned"] == before


# ---- what is a miss ----
def test_another_class_is_a_miss():
    dense, a, x = operands()
    keep(lambda: a @ x, SLOW)
    assert is_tuned(a, torch.ones(40, 12))  # of the same power of two
    for other in (torch.ones(40, 5), torch.ones(40, 64), torch.ones(40, 16).T.contiguous().T):
        assert not is_tuned(a, other)
    assert not is_tuned(scorch.sparse(dense.double(), format="csr"), x.double())
    assert not is_tuned(a.convert("csc"), x)
    assert not is_tuned(scorch.sparse(dense[:20], format="csr"), x)


def test_another_number_of_threads_is_a_miss():
    _, a, x = operands()
    threads = torch.get_num_threads()
    keep(lambda: a @ x, SLOW)
    try:
        torch.set_num_threads(threads + 1)
        afresh()
        assert not is_tuned(a, x)
    finally:
        torch.set_num_threads(threads)
    afresh()
    assert is_tuned(a, x)


def test_damaged_files_are_misses(folder):
    dense, a, x = operands()
    keep(lambda: a @ x, SLOW)
    (file,) = files(folder)
    whole = file.read_bytes()
    places = [*range(0, len(whole), 37), len(whole) - 1]
    flipped = (whole[:k] + bytes([whole[k] ^ 4]) + whole[k + 1 :] for k in places)
    cut = (whole[:n] for n in (0, 1, 40, 69, len(whole) // 2, len(whole) - 1))
    for damaged in itertools.chain(flipped, cut, (whole + b"x", b"\0" * 500)):
        file.write_bytes(damaged)
        afresh()
        assert not is_tuned(a, x)
        assert torch.equal(a @ x, dense @ x)
    file.write_bytes(whole)
    afresh()
    assert is_tuned(a, x)


@pytest.mark.parametrize(
    "old, new",
    (
        (SLOW.encode(), b"order(i, q)"),
        (SLOW.encode(), b"nonsense"),
        (SLOW.encode(), b""),
        (SLOW.encode(), b"tile(k: 0)"),
        (SLOW.encode(), b"convert(A: ell(1))"),
        (SLOW.encode(), b"par i in A { for j in A { vec k { out[i,k] += 2 * A[i,j] * B[j,k] } } }"),
        (b"gain 1.34", b"gain nan"),
        (b"gain 1.34", b"gain"),
        (b"results dense f32", b"results csr f32"),
        (b"threads ", b"threads 9"),
        (b"scorch tuned 1", b"scorch tuned 2"),
    ),
)
def test_foreign_files_are_misses(folder, old, new):
    """With a checksum that is right: what it says is verified."""
    dense, a, x = operands()
    keep(lambda: a @ x, SLOW)
    (file,) = files(folder)
    text = file.read_bytes()[:-69]
    assert old in text
    write(file, text)
    afresh()
    assert is_tuned(a, x)
    write(file, text.replace(old, new))
    afresh()
    assert torch.equal(a @ x, dense @ x)
    assert not is_tuned(a, x)


def test_memory_that_runs_out_is_a_miss_or_an_error():
    dense, a, x = operands()
    expected = dense @ x
    keep(lambda: a @ x, SLOW)
    missed = 0
    for first in range(1, 200, 3):
        afresh()
        _C.fail_alloc(first, 1)
        try:
            assert torch.equal(a @ x, expected)
        except MemoryError:
            missed += 1
        finally:
            failed = _C.fail_alloc(0, 0)
        assert torch.equal(a @ x, expected)
        if not failed:
            break
    assert missed and is_tuned(a, x)


def test_a_folder_that_others_may_write_to_is_ignored(folder):
    _, a, x = operands()
    keep(lambda: a @ x, SLOW)
    (folder / "tuned").chmod(0o777)
    try:
        afresh()
        assert not is_tuned(a, x)
    finally:
        (folder / "tuned").chmod(0o700)
    afresh()
    assert is_tuned(a, x)


# ---- choosing: the clock is exchanged ----
def timed(monkeypatch, seconds):
    """Calls take what ``seconds`` of a candidate, and of how often it was asked, says."""
    turns = {}

    def fake(self, candidate, repeat):
        turns[candidate] = turns.get(candidate, 0) + 1
        return [seconds(candidate, turns[candidate])] * repeat

    monkeypatch.setattr(race.Race, "timed", fake)


def fast(*names, by=1.5):
    return lambda x, turn: 1e-5 / by if x.what in names else 1e-5


def test_the_winner_is_kept(monkeypatch, folder):
    dense, a, x = operands()
    timed(monkeypatch, fast("ahead 32"))
    report = a.tune(lambda a: a @ x, seconds=20)
    assert report.gain == pytest.approx(1.5)
    assert "ahead 32" in report.schedule and "kept: 1.50x" in repr(report)
    assert {"default", "ahead 8", "ahead 32"} <= {x.what for x in report.candidates}
    assert torch.equal(a @ x, dense @ x)
    assert scorch.explain(PRODUCT, a, x).partition("\n")[0].endswith(": 1.50x")
    fresh = scorch.sparse(dense, format="csr")  # nobody knows that it is used often
    assert is_tuned(fresh, x) and len(files(folder)) == 2
    afresh()
    assert is_tuned(fresh, x) and "ahead 32" in scorch.compile(PRODUCT, fresh, x).schedule


def test_words_are_exchanged_one_at_a_time(monkeypatch):
    _, a, x = operands()
    timed(
        monkeypatch, lambda c, turn: 1e-5 / (1 + ("ahead 4" in c.schedule) + 2 * ("unroll 8" in c.schedule))
    )
    report = a.tune(lambda a: a @ x, seconds=30)
    assert report.gain == pytest.approx(4) and "unroll 8 ahead 4" in report.schedule


@pytest.mark.parametrize(
    "seconds, verdict",
    (
        (fast(), "not the best"),
        (fast("ahead 32", by=1.02), "less than 1.03x"),
        (lambda x, turn: 1e-5 * (1 + x.what.startswith("ahead")), "not the best"),
    ),
)
def test_a_loser_is_never_kept(monkeypatch, folder, seconds, verdict):
    dense, a, x = operands()
    timed(monkeypatch, seconds)
    report = scorch.tune(PRODUCT, a, x, seconds=10)
    assert report.gain == 1 and not report.schedule and not files(folder)
    assert verdict in repr(report) and "kept the default" in repr(report)
    assert not is_tuned(a, x) and torch.equal(a @ x, dense @ x)


@pytest.mark.parametrize(
    "old, new, wins, reason",
    (
        ([10] * 99, [8] * 99, True, "faster"),
        ([10] * 99, [9.8] * 99, False, "less than"),
        ([10] * 99, [11] * 99, False, "not faster"),
        ([10] * 99, [8] * 9 + [11] * 90, False, "not faster"),  # wins the first round alone
        ([10] * 99, [11] * 9 + [8] * 90, False, "not faster"),  # and the second
        ([10, 20, 30] * 33, [20, 16, 8, 9, 25, 9, 7] * 15, False, "too noisy"),
        ([10] + [12] * 98, [11] * 99, False, "too noisy"),  # the median wins, the fastest calls do not
    ),
)
def test_a_final_has_two_rounds(monkeypatch, old, new, wins, reason):
    times = {"old": iter(old), "new": iter(new)}
    monkeypatch.setattr(race.Race, "timed", lambda self, x, repeat: [1e-5 * next(times[x])])
    runner = race.Race(lambda: None, lambda x: None, race.clock() + 1000)
    verdict = runner.final("old", "new")
    assert verdict.wins == wins and verdict.reason.startswith(reason), verdict


def test_a_race_ends_in_time(monkeypatch):
    now = [0.0]

    def timed(self, x, repeat):
        now[0] += 1  # by the clock on the wall; the processor says less
        return [0.05 if x == "b" else 0.1]

    monkeypatch.setattr(race, "clock", lambda: now[0])
    monkeypatch.setattr(race.Race, "timed", timed)
    runner = race.Race(lambda: None, lambda x: None, 30)
    for x in "abcdefgh":
        runner.turn(x)
    found = runner.heats("a", list("bcdefgh"), reserve=8)
    assert found["b"] == pytest.approx(2) and found["c"] == pytest.approx(1)
    assert 15 < now[0] <= 22  # two turns of eight would end behind
    assert runner.final("a", "b") == (1.0, False, "no time left to be sure, kept the default")
    runner._until = now[0] + 21
    assert runner.final("a", "b").wins and now[0] <= runner._until


def test_a_slow_choice_is_replaced(monkeypatch, folder):
    _, a, x = operands()
    keep(lambda: a @ x, SLOW)
    timed(monkeypatch, lambda c, turn: {"kept before": 3e-5, "ahead 8": 0.5e-5}.get(c.what, 1e-5))
    report = a.tune(lambda a: a @ x, seconds=20)
    assert report.gain == pytest.approx(2) and "ahead 8" in report.schedule
    assert SLOW not in [x.schedule for x in tune.kept()]


def test_a_slow_choice_goes_where_nothing_is_faster(monkeypatch, folder):
    _, a, x = operands()
    keep(lambda: a @ x, SLOW)
    timed(monkeypatch, lambda c, turn: 1.5e-5 if c.what == "kept before" else 1e-5)
    report = scorch.tune(PRODUCT, a, x, seconds=10)
    assert "slower, no longer kept" in repr(report)
    assert not files(folder) and not is_tuned(a, x)


def test_a_wrong_result_is_reported_and_not_chosen(monkeypatch, folder):
    _, a, x = operands()
    timed(monkeypatch, fast("ahead 8", "ahead 32"))
    number = candidates.noted(lambda: a @ x, anew=True)[0].number
    other = lambda: _C.tuned_schedule(number) is not None  # noqa: E731
    with pytest.warns(UserWarning, match="computes something else, differs by up to 1"):
        report = a.tune(lambda a: (a @ x) + other(), seconds=5)
    assert "WRONG: differs by up to 1" in repr(report) and not files(folder)


def test_an_interrupt_leaves_all_as_it_was(monkeypatch, folder):
    dense, a, x = operands()

    def interrupted(self, base, others, reserve):
        raise KeyboardInterrupt

    monkeypatch.setattr(race.Race, "heats", interrupted)
    with pytest.raises(KeyboardInterrupt):
        a.tune(lambda a: a @ x, seconds=5)
    assert not is_tuned(a, x) and not files(folder) and torch.equal(a @ x, dense @ x)


def test_blocks_are_recommended(monkeypatch):
    dense = torch.eye(16).repeat_interleave(8, 0).repeat_interleave(8, 1)
    a, x = scorch.sparse(dense, format="csr"), torch.ones(128, 16).cumsum(0)
    monkeypatch.setattr(race.Race, "timed", lambda self, x, repeat: [1e-5 / (2 if x == "bsr(8,8)" else 1)])
    report = scorch.tune(PRODUCT, a, x, seconds=20)
    (found,) = [x for x in report.candidates if x.verdict.startswith("recommended")]
    assert found.verdict == 'recommended: convert("bsr(8,8)")'
    assert report.gain == 1 and str(a.format) == "csr"


def test_diagonals_are_recommended(monkeypatch):
    dense = (
        torch.diag(torch.arange(1.0, 81)) + torch.diag(torch.ones(77), 3) + torch.diag(torch.ones(40), -40)
    )
    a, x = scorch.sparse(dense, format="csr"), torch.ones(80).cumsum(0)
    monkeypatch.setattr(race.Race, "timed", lambda self, x, repeat: [1e-5 / (2 if x == "dia(16)" else 1)])
    report = scorch.tune("y[i] = A[i,j] * x[j]", A=a, x=x, seconds=20)
    assert report.candidates[-1].verdict == 'recommended: convert("dia(16)")'
    assert torch.equal(a.convert("dia(16)") @ x, dense @ x) and str(a.format) == "csr"


@pytest.mark.parametrize(
    "call", (lambda p, x: p.tune(lambda a: a @ x), lambda p, x: scorch.tune(PRODUCT, p, x))
)
def test_parts_of_a_composed_operand_may_be_cut(monkeypatch, call):
    generator = torch.Generator().manual_seed(3)
    dense = torch.randint(0, 2, (8, 8), generator=generator).float()
    dense = dense.repeat_interleave(32, 0).repeat_interleave(32, 1)
    a, x = scorch.sparse(dense, format="bsr(32,32) of blocks(32,32,0.5) + csr"), torch.ones(256, 64).cumsum(1)
    monkeypatch.setattr(tune._One, "tune", lambda self, proposals, words=True: None)
    report = call(a, x)
    assert report.gain == 1 and "many times" in repr(report)
    assert torch.equal(a @ x, dense @ x)


# ---- the verb ----
def test_results_stay_right_with_the_real_clock():
    dense, a, x = operands(rows=200)
    b = torch.arange(16.0)
    text = "C[i,k] = relu(A[i,j] * x[j,k] - b[k])"
    report = scorch.tune(text, A=a, x=x, b=b, seconds=1)
    assert report.candidates[0].what == "default" and report.candidates[0].seconds > 0
    assert torch.equal(scorch.evaluate(text, A=a, x=x, b=b), torch.relu(dense @ x - b))


def test_the_bound_holds_on_a_busy_machine():
    _, a, x = operands(rows=300)
    a @ x
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            torch.rand(64, 64) @ torch.rand(64, 64)

    crowd = [threading.Thread(target=busy) for _ in range(3)]
    for thread in crowd:
        thread.start()
    try:
        start = time.perf_counter()
        report = a.tune(lambda a: a @ x, seconds=1.5)
        spent = time.perf_counter() - start
    finally:
        stop.set()
        for thread in crowd:
            thread.join()
    assert spent < 4 and report.seconds < 4  # a compilation that has begun ends


def test_calls_that_take_longer_than_the_time_are_left_alone(folder):
    _, a, x = operands()

    def call(a):
        time.sleep(0.2)
        return a @ x

    report = a.tune(call, seconds=0.5)
    assert "too long" in repr(report) and not files(folder)


@pytest.mark.parametrize(("seconds", "calls"), ((0.5, 1), (2.5, 2), (5, 4), (12, 6)))
def test_no_call_begins_that_would_end_late(monkeypatch, seconds, calls):
    """A call takes a second of an exchanged clock."""
    _, a, x = operands()
    now = [0.0]
    monkeypatch.setattr(race, "clock", lambda: now[0])
    monkeypatch.setattr(race, "alone", lambda: False)
    a @ x

    def call(a):
        now[0] += 1
        return a @ x

    report = a.tune(call, seconds=seconds)
    assert now[0] == calls == report.seconds and "too long" in repr(report)


def test_what_is_asked_must_make_sense():
    _, a, x = operands()
    for seconds in (0, -1.0, float("nan"), "a", None):
        with pytest.raises((ValueError, TypeError), match=f"positive number of seconds, .* got {seconds!r}"):
            a.tune(lambda a: a @ x, seconds=seconds)
    with pytest.raises(ValueError, match="returns a tensor"):
        a.tune(lambda a: None, seconds=1)
    with pytest.raises(ValueError, match="index q"):
        scorch.tune("ij,jk->iq", a, x, seconds=1)
    for name in ("second", "schedule"):
        with pytest.raises(TypeError, match=f"tune.* got an unexpected keyword argument '{name}'"):
            scorch.tune("ij,jk->ik", a, x, **{name: 1})
    with pytest.raises(TypeError, match="index notation by their names"):
        scorch.tune("C[i,k] = A[i,j] * x[j,k]", a, x=x)


def test_the_command_line_lists_and_clears(folder, capsys):
    _, a, x = operands()
    keep(lambda: a @ x, SLOW)
    command.main(["tuned"])
    shown = capsys.readouterr().out
    assert shown.startswith("1.34x on ") and PRODUCT in shown and SLOW in shown and "A csr f32" in shown
    (folder / "tuned" / "notes").write_text("of somebody else")
    assert scorch.clear_cache() >= 0 and is_tuned(a, x)
    command.main(["tuned", "clear"])
    assert capsys.readouterr().out == "removed 1\n"
    assert [f.name for f in files(folder)] == ["notes"] and not is_tuned(a, x)
    command.main(["tuned"])
    assert capsys.readouterr().out.startswith("0 schedules")
    (folder / "tuned" / "notes").unlink()


# ---- texts ----
NEST = """par i in A {
  work c[k]: reg f32 {
    for j in A unroll 2 {
      vec k {
        c[k] += A[i,j] * x[j,k]
      }
    }
  } then {
  }
}"""


def test_words_of_a_nest():
    assert "for j in A unroll 2 ahead 8 {" in candidates.with_word(NEST, "ahead", 8)
    assert "for j in A {" in candidates.with_word(NEST, "unroll", 1)
    assert candidates.with_word(NEST, "ahead", 0) == NEST
    assert candidates.with_word(NEST, "batch", 64).startswith("par i in A batch 64 {\n")
    tiled = NEST.replace("vec k", "vec k%16").replace("par i", "for k/16")
    assert candidates._scaled(tiled, 2).count("k%32") == 1 and "k/32" in candidates._scaled(tiled, 2)

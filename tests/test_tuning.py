"""Sessions of tuning: what a function may do that is tuned, and what others find behind it."""

import itertools
import threading

import pytest
import torch
from test_tune import (
    SLOW,
    _known_folder,
    afresh,
    cache,
    fast,
    files,
    folder,
    is_tuned,
    keep,
    operands,
    timed,
    write,
)

import scorch
from scorch import _C
from scorch.tensor.sparsetensor import core_of
from scorch.tools import candidates, command, tune

__all__ = ["_known_folder", "cache", "folder"]  # fixtures


def asked_as_often(a, x):
    return ", often" in candidates.noted(lambda: a @ x, anew=True)[0].about


# ---- products ----
def test_products_are_not_counted_while_a_session_is_open():
    a, x = scorch.sparse(torch.ones(512, 512), format="csr"), torch.ones(512, 512)
    enough = (1 << 32) // (512 * 512 * 512) + 1
    try:
        for how, often in ((1, False), (2, False), (0, True)):
            _C.count_as(how)
            for _ in range(enough):
                a @ x
            assert core_of(a).many() == often
        assert asked_as_often(a, x)
        _C.count_as(2)
        assert not asked_as_often(a, x)
    finally:
        _C.count_as(0)
    with pytest.raises(ValueError, match="expected 0, 1 or 2, got 3"):
        _C.count_as(3)


def test_counting_goes_on_behind_a_session(monkeypatch):
    a = operands()[1]
    how = []
    monkeypatch.setattr(_C, "count_as", how.append)
    with pytest.raises(ZeroDivisionError):
        a.tune(lambda a: 1 / 0, seconds=1)
    assert how == [2, 0]


@pytest.mark.parametrize("often", (False, True))
def test_what_is_found_holds_before_and_behind_many_products(monkeypatch, folder, often):
    dense, a, x = operands()
    if often:
        a.optimize(calls=1000)
    timed(monkeypatch, fast("ahead 32"))
    report = a.tune(lambda a: a @ x, seconds=20)
    assert report.gain == pytest.approx(1.5) and len(files(folder)) == 2
    afresh()
    fresh = scorch.sparse(dense, format="csr")
    assert is_tuned(fresh, x) and not asked_as_often(fresh, x)
    fresh.optimize(calls=1000)
    assert is_tuned(fresh, x) and asked_as_often(fresh, x)
    assert core_of(a).many() == often and torch.equal(a @ x, dense @ x)


def test_for_many_products_it_is_raced_where_the_default_is_another(monkeypatch, folder):
    dense, a, x = operands()
    monkeypatch.setattr(candidates, "same_default", lambda request, other: False)

    def seconds(c, turn):
        better = 1.5 if "many times" not in c.expression else 0.9
        return 1e-5 / (better if "ahead 32" in c.schedule else 1)

    timed(monkeypatch, seconds)
    report = a.tune(lambda a: a @ x, seconds=20)
    assert report.gain == pytest.approx(1.5) and "many times" in repr(report)
    afresh()
    fresh = scorch.sparse(dense, format="csr")
    assert is_tuned(fresh, x) and not is_tuned(fresh.optimize(calls=1000), x)


def test_cuts_with_more_rows_than_entries_are_not_tried():
    rows = torch.arange(200_000)
    a = scorch.coo((rows, rows), torch.ones(200_000), (200_000, 200_000)).convert("csr")
    request = candidates.noted(lambda: a @ torch.ones(200_000, 16), anew=True)[0]
    assert "(1%" in candidates.stage(request, None, "orders", True)  # the scheduler lists some
    assert not candidates.may_be_cut(request) and candidates.cuts(request) == []


# ---- functions ----
def test_tuning_inside_of_tuning_is_an_error():
    _, a, x = operands()
    with pytest.raises(ValueError, match="got one that calls tune itself"):
        a.tune(lambda a: a.tune(lambda a: a @ x, seconds=1), seconds=1)
    assert a.tune(lambda a: a @ x, seconds=0.01).gain == 1


def test_a_thread_that_tunes_inside_of_tuning_ends(monkeypatch):
    _, a, x = operands()
    monkeypatch.setattr(tune, "_PATIENCE", 0.1)
    errors = []

    def inner():
        try:
            a.tune(lambda a: a @ x, seconds=1)
        except ValueError as error:
            errors.append(str(error))

    def waits(a):
        thread = threading.Thread(target=inner)
        thread.start()
        thread.join()
        return a @ x

    assert a.tune(waits, seconds=0.1).gain == 1
    assert errors and all("another thread's tuning does not end" in error for error in errors)


@pytest.mark.parametrize("steady", (1, 5))
def test_other_results_each_time_are_an_error_and_kept_choices_stay(folder, steady):
    dense, a, x = operands()
    keep(lambda: a @ x, SLOW)
    count = itertools.count()
    with pytest.raises(ValueError, match=r"same result each time, got another one \(differs by up to"):
        a.tune(lambda a: (a @ x) + max(next(count) - steady, 0), seconds=5)
    assert is_tuned(a, x) and len(files(folder)) == 1
    afresh()
    assert is_tuned(a, x) and torch.equal(a @ x, dense @ x)


def test_a_slow_first_turn_decides_nothing(monkeypatch):
    _, a, x = operands()
    timed(monkeypatch, lambda c, turn: 1e-3 if turn == 1 else fast("ahead 32")(c, turn))
    report = a.tune(lambda a: a @ x, seconds=20)
    assert "ahead 32" in report.schedule
    timed(monkeypatch, lambda c, turn: 1e-3 if c.what == "ahead 8" else 1e-5)
    found = a.tune(lambda a: a @ x, seconds=20).candidates
    assert {c.verdict for c in found if c.what == "ahead 8"} == {"slower"}


# ---- what cannot be saved, and what others saved ----
def test_what_cannot_be_saved_is_said_and_stays_in_this_process(monkeypatch, folder):
    _, a, x = operands()
    file = folder / "tuned"
    if file.exists():
        [f.unlink() for f in file.iterdir()]
        file.rmdir()
    file.write_text("of somebody else")
    try:
        timed(monkeypatch, fast("ahead 32"))
        report = a.tune(lambda a: a @ x, seconds=20)
        assert report.unsaved == f"{file}: Not a directory"
        assert repr(report).endswith(
            f"for this process only, as it could not be saved: {file}: Not a directory"
        )
        assert is_tuned(a, x)
        request = candidates.noted(lambda: a @ x, anew=True)[0]
        _C.tuned_try(request.number, SLOW)
        assert _C.tuned_schedule(request.number) == SLOW
        _C.tuned_untry(request.number)
        assert "ahead 32" in _C.tuned_schedule(request.number)
    finally:
        _C.tuned_clear()
        file.unlink()
    assert not is_tuned(a, x)
    keep(lambda: a @ x, SLOW)
    assert is_tuned(a, x) and len(files(folder)) == 1


@pytest.mark.parametrize(
    "old, new",
    (
        (b"gain 1.34", b"gain nan"),
        (b"date ", b"when "),
        (b"expression ", b"impression "),
        (b"schedule\n", b""),
    ),
)
def test_what_would_not_be_used_is_not_listed(folder, capsys, old, new):
    _, a, x = operands()
    keep(lambda: a @ x, SLOW)
    (file,) = files(folder)
    text = file.read_bytes()[:-69]
    write(file, text.replace(old, new))
    assert tune.kept() == []
    write(folder / "tuned" / ("0" * 32), text)  # under the name of another class
    assert tune.kept() == []
    command.main(["tuned"])
    assert capsys.readouterr().out.startswith("0 schedules")
    write(file, text)
    assert [x.gain for x in tune.kept()] == [1.34]

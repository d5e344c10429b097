"""Every nest that the scheduler considered, not only the one it chose, against the oracle.

The stage "orders" lists them: a line ``-- cost X`` with the operands it converts and the results it computes
dense whatever was asked for, then the nest. Each becomes a problem of its own: the same text with the nest,
and with operands and results in the formats it wants.
"""

import copy
import re

import generate
import native
import pytest
import sweep
import test_executor
from generate import Problem

HEAD = re.compile(r"^-- cost (\S+)(?: converts (.*?))?((?: dense \w+)*)\n", re.M)


def candidates(p: Problem, folder) -> list[str]:
    """The texts of a problem with each of its nests; none where the problem is refused."""
    file = folder / "problem.sc"
    file.write_text(str(p))
    done = native.run(native.core().scorchc(), "--emit=orders", file)
    if done.returncode:
        assert sweep.refused(done.stderr.split(": ", 1)[1]), f"{p}{done.stderr}"
        return []
    _, *parts = HEAD.split(done.stdout)
    found = []
    for converts, dense, nest in zip(parts[1::4], parts[2::4], parts[3::4], strict=True):
        q, names = copy.deepcopy(p), list(p.operands)
        for k, form in re.findall(r"(\d+) to ([^;]+)", converts or ""):
            q.operands[names[int(k)]].format = form
        for name in dense.split()[1::2]:
            q.asks[name] = "dense"
        found.append(f"{q}nest {{\n{nest}}}\n")
    return found


def check(count: int, seed: int, folder) -> int:
    """Runs all nests of so many problems; the number of them."""
    made = [c for p in generate.problems(count, seed) for c in candidates(p, folder)]
    return test_executor.check(made)


def test_every_nest(tmp_path):
    assert check(60, 1, tmp_path) > 200


@pytest.mark.slow
def test_every_nest_at_length(tmp_path):
    assert check(1000, 2, tmp_path) > 3000


ASKED = {  # a schedule, and what all heads, or some nest, then say
    "convert(A: csc)": lambda heads, text: all(converts == "0 to csc" for _, converts, _ in heads),
    "convert()": lambda heads, text: not any(converts for _, converts, _ in heads),
    "ahead(32)": lambda heads, text: " ahead 32 " in text,
}


@pytest.mark.parametrize("schedule", ASKED)
def test_a_schedule_is_heeded(schedule, tmp_path):
    file = tmp_path / "asked.sc"
    head = "in A: f32 csr i32 (100, 80)\nin B: f32 dense (80, 32)\nC[i,k] = A[i,j] * B[j,k]\n"
    file.write_text(f"{head}schedule {schedule}\n")
    listed = native.must(native.core().scorchc(), "--emit=orders", file)
    heads = HEAD.findall(listed)
    assert len(heads) > 2 and ASKED[schedule](heads, listed), listed


def test_blocks_of_two_sizes_meet(tmp_path):
    """A coordinate that is known is known in blocks of any size, so nothing has to be converted."""
    file = tmp_path / "blocks.sc"
    file.write_text(
        'in A: f64 "dense(0/2), compressed(1), dense(0%2)" i64 (6, 5)\n'
        'in D: f64 "dense(0/6), compressed(1), dense(0%6)" i32 (6, 5)\n'
        "C += A[i,j] + D[i,j] * D[i,j]\n"
    )
    found = HEAD.findall(native.must(native.core().scorchc(), "--emit=orders", file))
    assert not found[0][1] and native.must(native.core().scorchc(), "--run", file).strip().endswith("ok")


def test_dense_levels_at_the_end_stay_where_they_are(tmp_path):
    """They are entered by coordinate, so an order of loops asks for the levels above alone."""
    file = tmp_path / "tail.sc"
    file.write_text(
        'in A: f32 "dense(0), compressed(1), dense(2)" i32 (1000, 800, 8)\n'
        "in B: f32 dense (1000, 8, 32)\n"
        "C[j,h,f] = A[i,j,h] * B[i,h,f]\n"
    )
    found = {
        converts
        for _, converts, _ in HEAD.findall(native.must(native.core().scorchc(), "--emit=orders", file))
    }
    assert any(c.endswith("to dense(1), compressed(0), dense(2)") for c in found if c), found
    assert not any("compressed(2)" in c for c in found if c), found


@pytest.mark.parametrize("form", ("coo", "dcsr"))
@pytest.mark.parametrize(("n", "wanted"), ((3000, "1 to csr"), (6, "")))
def test_rows_that_would_be_searched_for_are_converted(form, n, wanted, tmp_path):
    """Each row of A would go through all rows of B; few of them are gone through sooner than converted."""
    file = tmp_path / "rows.sc"
    file.write_text(
        f"in A: f32 csr i32 ({n}, {n})\nin B: f32 {form} i32 ({n}, {n})\nC[i,k] = A[i,j] * B[j,k]\n"
    )
    found = HEAD.findall(native.must(native.core().scorchc(), "--emit=orders", file))
    assert found[0][1] == wanted, found

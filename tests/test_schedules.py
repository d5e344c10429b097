"""Schedules in short: every order that is legal computes the same, others say why not.

What was chosen, passed as text, is chosen again.
"""

import re
from itertools import permutations

import generate
import native
import pytest
import torch
from generate import Problem

import scorch

FORMATS = ("csr", "csc", "coo", "dcsr", "bsr(2,3)")


@pytest.fixture
def a() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randint(1, 4, (12, 18)) * (torch.rand(12, 18) < 0.3).float()


def loops(text: str) -> str:
    """The order in a schedule, without blanks."""
    return text.split("order(")[1].split(")")[0].replace(" ", "")


def legal_orders(problem: str, indices: str, folder, more: str = "") -> set[str]:
    """Those orders of the indices that are legal, run against the oracle; the others say why they are not."""
    core, legal, file = native.core().scorchc(), set(), folder / "problem.sc"
    for order in map("".join, permutations(indices)):
        text = f"order({','.join(order)}){more}"
        file.write_text(f"{problem}\nschedule {text}\n")
        done = native.run(core, "--emit=why", file)
        if done.returncode:
            assert f"are as '{text}' asks: " in done.stderr and "chosen without it: order(" in done.stderr
            continue
        assert native.must(core, "--run", file).endswith("ok\n"), text
        chosen = native.run(core, "--emit=schedule", file).stdout
        assert not chosen or "/" in chosen or loops(chosen) == ",".join(order)
        legal.add(order)
    return legal


@pytest.mark.parametrize("form", FORMATS)
def test_every_order_of_a_product(form, tmp_path):
    problem = f"in A: f32 {form} (12, 18)\nin x: f32 dense (18, 5)\nC[i,k] = A[i,j] * x[j,k]"
    assert legal_orders(problem, "ijk", tmp_path) == set(map("".join, permutations("ijk")))


@pytest.mark.parametrize("form", ("csr", "dcsr"))
def test_orders_that_a_sparse_result_allows(form, tmp_path):
    problem = f"in A: f32 {form} (12, 18)\nin B: f32 {form} (18, 12)\nC[i,k] = A[i,j] * B[j,k]"
    found = legal_orders(problem, "ijk", tmp_path, " convert()")
    assert "ijk" in found and not found & {"jik", "jki"}  # a sum on the outside comes back to entries


def test_orders_of_a_sampled_product_and_of_a_tensor(tmp_path):
    sampled = "in A: f32 csr (12, 18)\nin x: f32 dense (12, 4)\nin z: f32 dense (18, 4)\n"
    assert "ijk" in legal_orders(f"{sampled}S[i,j] = A[i,j] * x[i,k] * z[j,k]", "ijk", tmp_path)
    tensor = "in T: f32 csf (6, 5, 7)\nin u: f32 dense (7, 4)\nout C: f32 dense\nC[i,j,r] = T[i,j,k] * u[k,r]"
    assert len(legal_orders(tensor, "ijkr", tmp_path, " convert()")) == 24


@pytest.mark.parametrize(
    ("text", "why"),
    (
        ("order(j, i, k)", "C is sparse and made in order, and a loop over j would come back to its entries"),
        ("parallel(j)", "the loops would be order("),
        ("parallel()", "the loops would be order("),
        ("tile(k: 8)", "sums over k are not kept in registers"),
        ("order(k/4, k%4)", "there is no loop over k/4"),
        ("first(j)", "none of those considered"),
        ("order(i, l)", "l is no index of the expression"),
        ("order(i, j", "expected ')' at the end of order, got the end of the text"),
        ("order(i, i)", "every loop stands once"),
        ("order(#i, j)", "expected a loop, such as i, i/4 or i%4, got a slot"),
        ("orders(i)", "expected order, parallel, inner"),
        ("order(i); order(j)", "expected one part for each of 1 assignments"),
        ("convert(C: csr)", "expected the name of an operand"),
        ("convert(A: dense)", "a sparse operand stays sparse"),
        ("convert(A: bsr(5,5))", "not a multiple of its block 5"),
        ("ahead(100000)", "at most 4096"),
        ("gather(i: 6)", "entries over i do not route rows through a dense matrix"),
        ("block(j: 1024)", "entries over j do not lie in blocks of rows that threads could share"),
        ("gather(i: 33)", "expected a number of entries from 2 to 32, got 33"),
        ("block(i: 0)", "a number of coordinates from 1 to 65536"),
        ("tile(k: 0)", "the size of a tile from 1 to 65536"),
    ),
)
def test_what_is_refused(a, text, why):
    A, B = scorch.sparse(a, "csr"), scorch.sparse(a.T.contiguous(), "csr")
    with pytest.raises(ValueError) as info:
        scorch.evaluate("C[i,k] = A[i,j] * B[j,k]", A=A, B=B, schedule=text)
    assert why in str(info.value)


def test_a_dense_operand_is_not_converted(a):
    with pytest.raises(ValueError, match="x is dense, and only sparse operands are converted"):
        scorch.evaluate(
            "y[i] = A[i,j] * x[j]", A=scorch.sparse(a), x=torch.ones(18), schedule="convert(x: coo)"
        )


def test_repeated_coordinates_are_named():
    row, column = torch.tensor([[0, 0, 1], [1, 1, 0]])
    form = "compressed(0, nonunique), singleton(1, nonunique)"
    A = scorch.from_components(form, (2, 2), [torch.tensor([0, 3]), None], [row, column], torch.ones(3))
    with pytest.raises(NotImplementedError, match="coordinates of A may repeat"):
        scorch.evaluate("C[i,j] = relu(A[i,j])", A=A, schedule="order(j, i) convert()")


def test_numbers_that_are_asked_for(a):
    A, x = scorch.sparse(a), torch.randint(-2, 3, (18, 100)).float()
    product = "C[i,k] = A[i,j] * x[j,k]"
    for text, shows in (
        ("tile(k: 16)", "for k/16 {"),
        ("order(i, j, k) tile(k: 32)", "vec k%32 {"),
        ("ahead(9)", " ahead 9 {"),
        ("ahead(0)", "for j in A"),
        ("convert(A: dcsc)", "j in A"),
        ('convert(A: "dense(1), compressed(0)")', "j in A"),
        ("convert(A: bsr(3,2))", "par i/3 in A"),
    ):
        kernel = scorch.compile(product, A=A, x=x, schedule=text)
        assert shows in kernel.schedule and torch.equal(kernel(A=A, x=x), a @ x), text
        assert scorch.compile(product, A=A, x=x, schedule=kernel.directives).schedule == kernel.schedule
    assert " ahead " not in scorch.compile(product, A=A, x=x, schedule="ahead(0)").schedule


def test_gathered_tiles_and_blocks():
    """Asked for in other sizes, printed as they are, and what was printed chooses the same nest."""
    g = torch.Generator().manual_seed(0)
    dense = (torch.rand(3, 90, 40, generator=g) < 0.05).float()
    M = scorch.sparse(dense, "compressed(0), compressed(1, nonunique), singleton(2)")
    x, W = torch.randint(-2, 3, (40, 16)).float(), torch.randint(-2, 3, (3, 16, 32)).float()
    product, right = "Y[i,n] = M[r,i,j] * x[j,k] * W[r,k,n]", torch.einsum("rij,jk,rkn->in", dense, x, W)
    given = {"M": M, "x": x, "W": W}
    for text, shows in (
        ("gather(i: 3)", " by 3 {"),
        ("block(i: 16)", "par i/16 {"),
        ("gather(i: 5) block(i: 7)", " by 5 {"),
    ):
        kernel = scorch.compile(product, **given, schedule=text)
        assert all(word in kernel.directives for word in text.replace(") ", ")|").split("|"))
        assert shows in kernel.schedule and torch.equal(kernel(**given), right)
        again = scorch.compile(product, **given, schedule=kernel.directives)
        assert again.schedule == kernel.schedule


@pytest.mark.parametrize(
    ("text", "why"),
    (
        ("gather(i: 6) parallel(r)", r"the loops would be order\(.*\) parallel\(i\) gather\(i: 6\) block\("),
        ("gather(j: 6) block(i: 7)", "entries over j do not route rows"),
        ("gather(i: 6) block(j: 7)", "entries over j do not lie in blocks"),
    ),
)
def test_the_word_that_cannot_be_is_named(text, why):
    M = scorch.sparse(torch.eye(40).expand(3, 40, 40))
    given = {"M": M, "x": torch.ones(40, 16), "W": torch.ones(3, 16, 32)}
    with pytest.raises(ValueError, match=why):
        scorch.evaluate("Y[i,n] = M[r,i,j] * x[j,k] * W[r,k,n]", schedule=text, **given)


def test_sums_inside_of_sums(a):
    A, x, y = scorch.sparse(a), torch.randint(-2, 3, (18, 5)).float(), torch.randint(-2, 3, (5,)).float()
    chain = "c[i] = A[i,j] * x[j,k] * y[k]"
    first = scorch.compile(chain, A=A, x=x, y=y, schedule="first(k)")
    assert first.schedule.startswith("work t[j]: shared") and "first(k)" in first.directives
    inner = scorch.compile(chain, A=A, x=x, y=y, schedule="inner(k) order(i, j, k)")
    assert "inner(k)" in inner.directives and "shared" not in inner.schedule
    flat = scorch.compile(chain, A=A, x=x, y=y, schedule="inner() order(i, j, k)")
    for kernel in (first, inner, flat):
        assert torch.equal(kernel(A=A, x=x, y=y), a @ x @ y)
        assert scorch.compile(chain, A=A, x=x, y=y, schedule=kernel.directives).schedule == kernel.schedule


def test_a_part_for_every_assignment(a):
    A = scorch.sparse(a)
    text = "s[i] = A[i,j]; m[j] max= A[i,j]"
    kernel = scorch.compile(text, A=A, schedule="order(i, j); order(j, i) convert()")
    assert [loops(part) for part in kernel.directives.split(";")] == ["i,j", "j,i"]
    s, m = kernel(A=A)
    assert torch.equal(s, a.sum(1)) and torch.equal(m, a.amax(0))
    with pytest.raises(ValueError, match="expected 2 parts, one an assignment"):
        scorch.evaluate(text, A=A, schedule="order(i, j)")


@pytest.mark.parametrize("form", ("csr", "csc", "bsr(2,3)"))
@pytest.mark.parametrize("text", ("ij,jk->ik", "ij,kj->ik", "ij,jk,kl,lm->im"))
def test_what_is_printed_is_chosen_again(a, text, form):
    inputs = text.split("->")[0].split(",")
    size = {"i": 12, "j": 18, "k": 4, "l": 5, "m": 6}
    operands = [scorch.sparse(a, form), *(torch.ones([size[c] for c in letters]) for letters in inputs[1:])]
    chosen = scorch.compile(text, *operands)
    assert "order(" in chosen.directives and chosen.directives in scorch.explain(text, *operands)
    again = scorch.compile(text, *operands, schedule=chosen.directives)
    assert (again.directives, again.schedule) == (chosen.directives, chosen.schedule)


def check_problems(count: int, seed: int, folder) -> int:
    """For random problems: the chosen nest, asked for in short, is chosen again. How many."""
    core, file, done = native.core().scorchc(), folder / "problem.sc", 0

    def emit(p: Problem, stage: str, more: str = "") -> str:
        file.write_text(f"{p}{more}")
        return native.run(core, f"--emit={stage}", file).stdout

    for p in generate.problems(count, seed):
        text, nest = emit(p, "schedule"), emit(p, "nest")
        if not text or not nest:
            continue  # refused, or another format comes first
        line = f"schedule {text}"
        assert (emit(p, "schedule", line), emit(p, "nest", line)) == (text, nest), f"{p}{line}"
        done += 1
    return done


def test_random_problems(tmp_path):
    assert check_problems(60, 3, tmp_path) > 40


@pytest.mark.slow
def test_random_problems_at_length(tmp_path):
    assert check_problems(600, 4, tmp_path) > 450


def test_a_nest_over_rows_of_few_places():
    A, x = scorch.sparse(torch.eye(30, 20), format="ell(1)"), torch.rand(20)
    nest = "for i { for j in A { y[i] += A[i,j] * x[j] } }"
    assert torch.equal(scorch.evaluate("y[i] = A[i,j] * x[j]", A=A, x=x, schedule=nest), A @ x)


def test_rows_are_prefetched_inside_of_a_loop_over_the_level_below():
    """Entries with a value a head, walked once a head: the nest was ill, and the operand was converted."""
    A = (torch.rand(12, 18) < 0.3).double()[..., None] * torch.randint(1, 4, (12, 18, 4)).double()
    weights = scorch.sparse(A, format="dense(0), compressed(1), dense(2)")
    x = torch.randint(-3, 4, (18, 4, 8)).double()
    y = scorch.einsum("ijh,jhf->ihf", weights, x, schedule="order(i, h, j, f) ahead(4) convert()")
    assert torch.equal(y, torch.einsum("ijh,jhf->ihf", A, x))


def test_narrow_rows_are_asked_for_earlier():
    n, at = 300_000, [[0, 1], [7, 299_999]]
    found = []
    for width, dtype in ((16, torch.float32), (128, torch.float32), (128, torch.float64)):
        a = scorch.sparse(torch.sparse_coo_tensor(at, torch.ones(2, dtype=dtype), (4, n)), format="csr")
        x = torch.empty(n, width, dtype=dtype)
        text = scorch.compile("C[i,k] = A[i,j] * x[j,k]", A=a, x=x).schedule
        ahead = re.search(r"ahead (\d+)", text)  # none of rows in more than two tiles of vectors
        found.append(int(ahead[1]) if ahead else 0)
    assert found[0] >= 32 and found[-1] in (0, 16) and found == sorted(found, reverse=True)

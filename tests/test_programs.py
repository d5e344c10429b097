"""Random programs, conversions and sequences of calls (campaign.py), and what they found once."""

import sys
import time

import components
import native
import pytest
import sequences
import torch

import scorch

T = torch.tensor


def campaign(*arguments: object, jit: str, limit: int = 600) -> None:
    done = native.run(
        sys.executable, native.ROOT / "tests" / "campaign.py", *arguments, limit=limit,
        env={"SCORCH_JIT": jit, "PYTHONPATH": f"{native.ROOT}:{native.ROOT / 'tests'}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.wide
def test_campaign():
    """Through the executor, without a compiler; the same every time."""
    campaign("--seed", 1, "--count", 100, jit="off")


@pytest.mark.slow
def test_campaign_at_length():
    campaign("--seed", 10_000, "--count", 6000, jit="off", limit=1800)
    campaign("--seed", 1, "--count", 1000, "programs", jit="auto", limit=1800)


def dense(x: torch.Tensor) -> torch.Tensor:
    return x.to_dense() if scorch.is_sparse(x) else x


# ---- lists of coordinates, and levels with a fixed number of places ----
def single() -> scorch.SparseTensor:
    """One coordinate in each column."""
    return scorch.from_components(
        "dense(1), singleton(0)", (2, 3), [None, None], [None, T([0, 1, 0])], T([1.0, 2, 3])
    )


def test_a_list_of_one_place_is_searched():
    a = scorch.from_components(
        "compressed(0), singleton(1, nonunique)", (1, 3), [T([0, 1]), None], [T([0]), T([0])], T([1.0])
    )
    assert scorch.evaluate("C[l] = A[k,l]", A=a).tolist() == [1, 0, 0]


def test_results_do_not_take_formats_that_cannot_hold_them():
    a = single()
    for turned in (scorch.evaluate("C[i,k] = A[k,i]", A=a), a.T + a.T, a.T * a.T):
        assert turned.shape == (3, 2)
    b = scorch.sparse(T([[1.0, 0, 1], [1, 0, 1]]))
    d, e = a.to_dense(), b.to_dense()
    for f in (torch.add, torch.sub, torch.mul, torch.maximum):
        assert torch.equal(dense(f(a, b)), f(d, e)), f
    for f in (torch.tril, torch.triu, lambda x: x[..., ::2], lambda x: x[T([0, 0])], lambda x: x.flip(1)):
        assert torch.equal(dense(f(a)), f(d))


def test_results_do_not_take_lists_whose_places_they_leave_empty():
    """Rows of one column each, of which a diagonal takes some: the others have none."""
    a = scorch.from_components(
        "dense(0), singleton(1), compressed(2)", (3, 3, 3), [None, None, T([0, 1, 2, 2])],
        [None, T([1, 2, 0]), T([1, 0])], T([2.0, 3])
    )  # fmt: skip
    d = a.to_dense()
    got = scorch.evaluate("S[j,k] = A[j,k,k] * B[j,k]", A=a, B=torch.ones(3, 3))
    assert torch.equal(dense(got), torch.einsum("jkk->jk", d))
    c, s = scorch.evaluate("C[i,j,k] = A[i,j,k] * A[i,k,j]; S[j,k] += abs(A[k,j,j]) * C[i,j,k]", A=a)
    want = d * d.transpose(1, 2)
    assert torch.equal(dense(c), want)
    assert torch.equal(dense(s), torch.einsum("kjj,ijk->jk", d.abs(), want))


def test_values_of_padding_are_zero():
    for _ in range(20):
        torch.full((6,), float("nan"))  # what is freed here may be taken below
        a = scorch.from_components(
            "ell(3)", (2, 4), [None, None], [None, T([0, 2, -1, -1, -1, -1])], torch.ones(6)
        )
        made = scorch.evaluate("C[i,j] = A[i,j] * x[j]", A=a, x=torch.full((4,), 2.0))
        assert made.convert("ell(3)").values().tolist() == [2, 2, 0, 0, 0, 0]
        a.requires_grad_()
        scorch.evaluate("C[i] = A[i,j]", A=a).sum().backward()
        assert a.grad.values().tolist() == [1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("name", ["_", "__", "__x", "sc_a", "sc", "f32", "v_f32", "v__"])
def test_names_that_begin_like_those_of_c(name):
    Q = torch.rand(6, 5)
    expected = Q.sum(1)
    for text in (f"C[i] = Q[i,{name}]", f"C[{name}] = Q[{name},k]", f"{name}[i] = Q[i,k]"):
        assert torch.allclose(scorch.evaluate(text, Q=Q), expected)
    assert torch.allclose(scorch.evaluate(f"C[i] = {name}[i,k]", **{name: scorch.sparse(Q)}), expected)
    A, B = (scorch.sparse(torch.rand(6, 6), format=f) for f in ("dcsc", "bsc(2,3)"))
    found = scorch.evaluate(f"C[i,j] = A[{name},k] * B[j,k] * Q[i,j]", A=A, B=B, Q=Q[:, :1].expand(6, 6))
    assert torch.allclose(found, Q[:, :1] * (B.to_dense() @ A.to_dense().sum(0)))


def test_padding_of_an_empty_extent():
    a = scorch.from_components("ell(1)", (3, 0), [None, None], [None, T([-1, -1, -1])], T([1, 2, 3]).short())
    assert (a * torch.ones(0, dtype=torch.int16)).shape == (3, 0)


# ---- coordinates that repeat ----
VIEWS = {
    "unsqueeze": lambda x: x.unsqueeze(0), "cat": lambda x: torch.cat([x, x]), "flip": lambda x: x.flip(0),
    "slice": lambda x: x[1:], "stack": lambda x: torch.stack([x, x]), "reshape": lambda x: x.reshape(-1, 2),
    "rows": lambda x: x[T([0, 2])], "roll": lambda x: x.roll(1, 0), "sum": lambda x: x + x,
    "no": lambda x: x - x, "mask": lambda x: x * (x != 0),
}  # fmt: skip


@pytest.mark.parametrize("dtype", (torch.float32, torch.int8))
@pytest.mark.parametrize("name", VIEWS)
def test_a_vector_whose_coordinates_repeat(name, dtype):
    a = scorch.from_components(
        "compressed(0, nonunique)", (4,), [T([0, 3])], [T([0, 2, 2])], T([1, 2, 3], dtype=dtype)
    )
    assert torch.equal(dense(VIEWS[name](a)), VIEWS[name](a.to_dense()))
    assert a.indices().tolist() == [[0, 2, 2]]


@pytest.mark.parametrize("name", VIEWS)
def test_columns_that_repeat_above_dense_rows(name):
    a = scorch.from_components(
        "compressed(1, nonunique), dense(0)", (4, 2), [T([0, 2]), None], [T([0, 0]), None], torch.arange(8.0)
    )
    assert torch.equal(dense(VIEWS[name](a)), VIEWS[name](a.to_dense()))


def test_a_vector_in_blocks():
    a = scorch.from_components("dense(0/2), dense(0%2)", (4,), [None, None], [None, None], T([1.0, 2, 3, 4]))
    assert torch.equal(dense(a[1:]), a.to_dense()[1:])


# ---- plain dense levels ----
@pytest.mark.parametrize("form", ("dense", "dense(1), dense(0)"))
def test_the_gradient_of_a_tensor_of_dense_levels(form):
    x = torch.arange(6.0).reshape(2, 3)
    a = scorch.from_components(form, (2, 3), [None, None], [None, None], torch.arange(6.0)).requires_grad_()
    d = a.detach().to_dense().requires_grad_()
    scorch.evaluate("C[i] = A[i,j] * A[i,j] * x[i,j]", A=a, x=x).sum().backward()
    (d * d * x).sum().backward()
    assert scorch.is_sparse(a.grad) and a.grad.format == a.format
    assert torch.equal(a.grad.to_dense(), d.grad)


# ---- types ----
def test_other_values_of_a_type_that_is_only_moved():
    a = scorch.from_components(
        "compressed(0/1), compressed(0%1)", (6,), [T([0, 1]), T([0, 0])], [T([5]), T([], dtype=torch.int64)],
        T([], dtype=torch.uint8),
    )  # fmt: skip
    assert torch.equal(((a / 2) + scorch.sparse(torch.ones(6), "coo")).to_dense(), torch.ones(6))


def test_numbers_beyond_integers_are_real():
    a = scorch.sparse(T([[0, 3], [2, 0]]))
    assert scorch.evaluate("C[i,j] = A[i,j] * 1e300", A=a).dtype.is_floating_point
    assert scorch.evaluate("C[i,j] = A[i,j] * 3", A=a).dtype == torch.int64


# ---- huge extents ----
def test_rows_without_places_cost_nothing():
    start = time.monotonic()
    rows = 3_000_000_000
    a = scorch.from_components(
        "dense(0), ell(1, 0)", (rows, 2), [None, None], [None, T([], dtype=torch.int64)], T([])
    )
    assert a.nnz == 0 and time.monotonic() - start < 1


def test_the_walk_reads_what_was_written():
    """components.py, by hand."""
    a = scorch.from_components(
        "dense(0), compressed(1, nonunique)",
        (2, 3),
        [None, T([0, 2, 3])],
        [None, T([1, 1, 0])],
        T([1.0, 2, 4]),
    )
    assert components.holds(a) == {(0, 1): 3, (1, 0): 4}
    assert [c for c, _ in components.entries(scorch.sparse(torch.eye(2), "bsr(1,2)"))] == [
        (0, 0), (0, 1), (1, 0), (1, 1),
    ]  # fmt: skip


def test_sequences_notice_a_wrong_number(monkeypatch):
    monkeypatch.setitem(sequences.STEPS, "product", lambda s: (s.a.to_dense() + 1, s.d))
    with pytest.raises(sequences.Mismatch, match="expected"):
        for seed in range(200):
            sequences.sequence(seed)


# ---- which entries results have ----
def test_results_that_take_the_levels_of_an_operand_keep_zeros():
    """Since j repeats the levels cannot be written as they are: the result is made dense, then sparse."""
    A = scorch.sparse(torch.tensor([[[0.0, 2], [0, 0]], [[1, 0], [0, 3]]]), "csf")
    B = T([[0.0, 1], [0, 0]])
    S = scorch.evaluate("S[i,j,k] = A[j,i,j] * B[i,k]", A=A, B=B)
    assert S.nnz == 2 * 1 and torch.equal(S.to_dense(), torch.einsum("jij,ik->ijk", A.to_dense(), B))


@pytest.mark.parametrize("form", (None, "compressed(0), dense(1)", "csr", "coo"))
@pytest.mark.parametrize("name", ("csf", "coo", "compressed(2), compressed(1), compressed(0)"))
def test_an_extreme_stores_nothing_beside_its_operand(name, form):
    """Where the sum is over an index between those of the result, a loop must not run over all of these."""
    dense = torch.zeros(4, 3, 5)
    dense[1, 0, 2], dense[1, 2, 2], dense[3, 1, 0] = -2, -1, 4
    A = scorch.sparse(dense, name)
    C = scorch.evaluate("C[i,k] min= A[i,j,k] * (A[i,j,k] + x[j,k])", A=A, x=torch.ones(3, 5), format=form)
    assert C.nnz == (10 if form and "dense" in form else 2)
    assert torch.equal(C.to_dense(), (dense * (dense + 1)).amin(1))


# ---- gradients ----
REPEATING = {
    "compressed(0, nonunique), singleton(1, nonunique)": [
        [T([0, 4]), None],
        [T([0, 0, 1, 1]), T([1, 1, 2, 2])],
    ],
    "dense(0), compressed(1, nonunique)": [[None, T([0, 2, 4])], [None, T([1, 1, 2, 2])]],
}
USES = {
    "evaluate": lambda a, x: scorch.evaluate("s = A[i,j] * A[i,j]", A=a),
    "rows": lambda a, x: scorch.evaluate("R[i] = A[i,j] * x[j]", A=a, x=x).square().sum(),
    "product": lambda a, x: (a @ x).square().sum(),
    "turned": lambda a, x: (a.T @ x[:2]).square().sum(),
    "linear": lambda a, x: torch.nn.functional.linear(x, a, x[:2]).square().sum(),
    "sum": lambda a, x: a.sum(),
    "to_dense": lambda a, x: a.to_dense().square().sum() if scorch.is_sparse(a) else a.square().sum(),
    "map": lambda a, x: (a * 2).to_dense().square().sum(),
    "convert": lambda a, x: (a.convert("csc") if scorch.is_sparse(a) else a).to_dense().square().sum(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("form", REPEATING)
def test_entries_of_one_coordinate_have_its_gradient(form, use):
    a = scorch.from_components(form, (2, 3), *REPEATING[form], torch.arange(1.0, 5)).requires_grad_()
    x = T([1.0, 2, 3])
    full = a.detach().to_dense().requires_grad_()
    if use is USES["map"]:
        (full * 2).square().sum().backward()
    else:
        use(full, x).backward()
    use(a, x).backward()
    assert a.grad.nnz == 4
    torch.testing.assert_close(a.grad.values(), full.grad[[0, 0, 1, 1], [1, 1, 2, 2]])


SKIPPED = {
    "C[i] = x[i]; S[i] = x[i] * B[i]": ((2,), [6, 1]),
    "C[i,j] = x[i,j]; S[i] = x[i,i] * B[i]": ((2, 2), [6, 1, 1, 1]),
    "C[i] = x[i,i] * 2; S[i] = x[i,i] * B[i]": ((2, 2), [7, 0, 0, 2]),
    "C[i,j] = x[i,j] * x[i,j]; S[i] = x[i,i] * B[i]": ((2, 2), [7, 2, 2, 2]),
}


@pytest.mark.parametrize("text", SKIPPED)
@pytest.mark.parametrize("sparse", (False, True))
def test_shares_of_a_gradient_count_where_their_own_operands_do(text, sparse):
    shape, want = SKIPPED[text]
    x = torch.ones(shape)
    x = (scorch.sparse(x) if sparse else x).requires_grad_()
    made = scorch.evaluate(text, x=x, B=scorch.sparse(T([5.0, 0]), "coo"), implicit="skip")
    sum((y.to_dense() if scorch.is_sparse(y) else y).sum() for y in made).backward()
    assert (x.grad.to_dense() if sparse else x.grad).flatten().tolist() == want


IN_PLACE = {
    "div_": lambda a: a.div_(T([[1.0, 0, 1], [1, 1, 1]])),
    "fill_": lambda a: a.fill_(3),
    "exp_": lambda a: a.exp_(),
    "pow_": lambda a: a.pow_(0),
    "by a number": lambda a: a / 0,
}


@pytest.mark.parametrize("change", IN_PLACE.values(), ids=IN_PLACE)
def test_padding_stays_zero(change):
    full = T([[1.0, 0, 2], [0, 3, 0]])
    rows, plain = change(scorch.sparse(full, "ell(2)")), change(scorch.sparse(full, "csr"))
    assert rows.values().tolist() == [*plain.values().tolist(), 0]

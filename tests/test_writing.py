"""Writing to what is there: parts of a SparseTensor, functions in place, ``out=``, against dense tensors."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

import scorch

FORMATS = ["csr", "coo", "csc", "bsr(2,2)", "ell(6)", "dense", "csr of rows(> 3) + csr"]


def matrix(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(6, 6, generator=generator) * (torch.rand(6, 6, generator=generator) < 0.5)


def same(got, wanted):
    assert_close(got.to_dense() if scorch.is_sparse(got) else got, wanted)


def put(index, value):
    def write(a):
        a[index] = value(a[index]) if callable(value) else value

    return write


def doubled(a):
    a[1:4] *= 2


WRITES = {
    "a row": put(0, 0),
    "a column": put((slice(None), 1), 0.0),
    "rows by name": put(torch.tensor([3, 0]), 0),
    "rows by a mask": put(torch.arange(6) > 3, 0),
    "a column by a number": put((slice(None), torch.tensor(1), None), 0),
    "an entry, and a new dimension": put((1, None, -1), 0),
    "an entry by numbers": put((None, torch.tensor(2), torch.tensor(4)), lambda part: part * 2),
    "a block": put((slice(1, 5, 2), slice(2, None)), torch.zeros(())),
    "zero where nothing is": put((0, slice(None)), torch.zeros(6)),
    "a multiple of a part": put(slice(2, 5), lambda part: part * 3),
    "an entry of a row": put(2, lambda part: part * torch.tensor([1.0, 0, 2, 1, 0, 1])),
    "in place, a part": doubled,
    "entries that are missing": put((torch.arange(6), torch.arange(6)), 0),
    "a mask with missing entries": lambda a: a.__setitem__(a < 0.5, 0),
    "fill_diagonal_": lambda a: a.fill_diagonal_(0),
    "index_fill_": lambda a: a.index_fill_(1, torch.tensor([1, 4]), 0),
    "masked_fill_": lambda a: a.masked_fill_(a > 0.5, 0),
    "tril_": lambda a: a.tril_(-1),
    "triu_": lambda a: a.triu_(1),
    "a product of other structure": lambda a: a.mul_(a.T.clone()),
    "the difference to a part": lambda a: a.sub_(torch.tril(a)),
    "data": lambda a: a.data.mul_(3),
    "out=": lambda a: torch.mul(a, a.clone(), out=a),
    "out= of a choice": lambda a: torch.where(a.detach() > 0.5, a.clone(), a * 0, out=a),
}


@pytest.mark.parametrize("fmt", ["coo", "csr", "csr of band(0,0) + coo"])
@pytest.mark.parametrize(
    "write",
    [
        put((0, 0), 5.0), put((1, 0), torch.tensor(7.0)), put(0, lambda part: part * 2), lambda a: a.mul_(2),
        put((slice(None), 1), lambda part: part * 2),
    ],
)  # fmt: skip
def test_lists_of_coordinates_are_written_transposed(write, fmt):
    """Each entry is stored once, whichever dimension is listed first."""
    dense = torch.tensor([[1.0, 2.0], [0.0, 3.0]])
    a = scorch.sparse(dense, fmt)
    assert a.T.nnz == 3 and a.T.coalesce().is_coalesced() and not a.T.is_coalesced()
    for x in (a.T, dense.T):
        write(x)
    same(a, dense)


@pytest.mark.parametrize("fmt", FORMATS)
def test_parts(fmt):
    """Parts are written where what is stored suffices; the address of the values stays."""
    for name, write in WRITES.items():
        dense, a = matrix(), scorch.sparse(matrix(), fmt)
        before = a.values().data_ptr()
        write(dense), write(a)
        same(a, dense)
        assert a.values().data_ptr() == before, name


@pytest.mark.parametrize("fmt", ["csr", "coo", "ell(6)", "csr of rows(> 3) + csr"])
def test_parts_that_are_not_stored(fmt):
    a = scorch.sparse(matrix(), fmt)
    for write in (
        put(0, 1),
        put(0, torch.ones(6)),
        put(slice(0, 2), torch.ones(2, 6)),
        lambda a: a.add_(scorch.sparse(torch.ones(6, 6), "coo")),
    ):
        with pytest.raises(ValueError, match="store"):
            write(a)
    same(a, matrix())


def test_parts_are_not_recorded():
    with pytest.raises(NotImplementedError, match="not recorded"):
        scorch.sparse(matrix()).requires_grad_()[0] = 0


def test_functions_in_place():
    """Functions that keep zeros do in place what they do to a dense tensor, those of numbers too."""
    plain = (
        "abs_ asinh_ atan_ ceil_ deg2rad_ erf_ expm1_ floor_ frac_ log1p_ neg_ relu_ round_ sgn_ sin_ sinh_ "
        "sqrt_ square_ tan_ tanh_ trunc_"
    )
    calls = [(name, ()) for name in plain.split()]
    calls += [("remainder_", (0.3,)), ("fmod_", (0.3,)), ("floor_divide_", (0.3,)), ("clamp_", (0, 0.5))]
    for name, args in calls:
        dense, a = matrix(), scorch.sparse(matrix())
        getattr(dense, name)(*args), getattr(a, name)(*args)
        same(a, dense)
    dense, mask = torch.ones(6, 6), scorch.sparse(matrix() > 0.5)
    same(dense.clone().masked_fill_(mask, -1), dense.masked_fill(mask.to_dense(), -1))


def test_dense_operands_in_place_count_where_entries_are():
    """As numbers do; a sparse operand that stores more is an error."""
    x, stored = torch.arange(36.0).view(6, 6).to(matrix()) + 1, matrix() != 0
    for f in (
        lambda a: a.add_(x),
        lambda a: a.sub_(x[0], alpha=2),
        lambda a: a.addcmul_(x, x),
        lambda a: a.lerp_(x, 0.5),
        lambda a: a.clamp_min_(x),
    ):
        a, dense = scorch.sparse(matrix()), matrix()
        assert f(a) is a
        same(a, f(dense) * stored)
    with pytest.raises(ValueError, match="only stored values change"):
        scorch.sparse(matrix()).add_(scorch.sparse(x))


def test_out():
    """out= is what is returned: dense for any result, sparse for entries that it stores."""
    d, x = matrix(), torch.rand(6, 4)
    a = scorch.sparse(d)
    for f, shape in (
        (lambda a, out: torch.add(a, d, out=out), (6, 6)),
        (lambda a, out: torch.mul(a, 2, out=out), (6, 6)),
        (lambda a, out: torch.sum(a, 1, out=out), (0,)),
        (lambda a, out: torch.amax(a, 0, out=out), (6,)),
        (lambda a, out: torch.addmm(x, a, x, beta=2, out=out), (6, 4)),
        (lambda a, out: torch.nn.functional.linear(x.T, a, x[:, 0], out=out), (4, 6)),
        (lambda a, out: torch.cat([a, a], out=out), (12, 6)),
        (lambda a, out: torch.cumsum(a, 1, out=out), (6, 6)),
        (lambda a, out: torch.linalg.norm(a, out=out), ()),
        (lambda a, out: torch.pow(a, 2, out=out), (6, 6)),
        (lambda a, out: torch.masked_select(a, d > 0.5, out=out), (0,)),
        (lambda a, out: torch.outer(a[0], a[1], out=out), (0,)),
        (lambda a, out: torch.linalg.matrix_power(a, 2, out=out), (6, 6)),
        (lambda a, out: torch.nn.functional.normalize(a, out=out), (6, 6)),
    ):
        out, wanted = torch.empty(shape), torch.empty(shape)
        assert f(a, out) is out
        same(out, f(d, wanted))
    out = torch.empty(6, 12)[:, ::2]
    assert torch.outer(a[0], a[1], out=out) is out
    same(out, torch.outer(d[0], d[1]))
    torch.sparse.sampled_addmm(a, x, x.T, out=out)
    same(out, torch.where(d == 0, 0, x @ x.T) + d)
    out = torch.empty(6), torch.empty(6, dtype=torch.int64)
    values, _ = torch.max(a, 1, out=out)
    assert values is out[0] and torch.equal(values, d.amax(1))
    b = scorch.sparse(d, "csc")
    assert torch.mul(a, torch.tril(a), out=b) is b
    same(b, d * d.tril())


def test_out_is_checked():
    a = scorch.sparse(matrix())
    for f, kind, says in (
        (lambda: torch.sum(a, 1, out=torch.empty(3)), ValueError, r"the shape \[6\]"),
        (lambda: torch.sum(a, 1, out=torch.empty(6, dtype=torch.int64)), RuntimeError, "type"),
        (lambda: torch.mul(a, 2, out=scorch.sparse(torch.eye(6))), ValueError, "structure"),
        (lambda: torch.add(a, 1, out=a.clone()), ValueError, "dense"),
        (lambda: torch.sum(a.clone().requires_grad_(), 1, out=torch.empty(6)), RuntimeError, "recorded"),
    ):
        with pytest.raises(kind, match=says):
            f()


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs_of_a_parameter(line_search):
    """The optimizer reshapes gradients, and adds parts of one vector to parameters: as for their values."""
    torch.manual_seed(0)  # a search turns on the last digit of some losses
    pattern, x, target = scorch.sparse(matrix()), torch.rand(6, 4), torch.rand(6, 4)
    ours = torch.nn.Parameter(scorch.sparse(matrix()))
    values = torch.nn.Parameter(ours.detach().values().clone())
    losses = []
    for parameter, made in ((ours, lambda: ours), (values, lambda: scorch.map(pattern, lambda _: values))):
        optimizer = torch.optim.LBFGS([parameter], lr=0.1, max_iter=4, line_search_fn=line_search)

        def closure(parameter=parameter, made=made, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (made() @ x - target).square().sum()
            loss.backward()
            return loss

        losses.append([float(optimizer.step(closure).detach()) for _ in range(3)])
    assert_close(torch.tensor(losses[0]), torch.tensor(losses[1]), rtol=1e-3, atol=1e-3)
    assert losses[0][-1] < losses[0][0]


def test_a_triangle_drops_what_is_no_number():
    for bad in (torch.nan, torch.inf):
        dense = torch.tensor([[1.0, bad], [2.0, 3.0]])
        assert torch.equal(scorch.sparse(dense, "csr").tril_().to_dense(), dense.tril())


def test_a_number_is_written_as_a_whole():
    a = scorch.sparse(torch.tensor([-2.0]), "dense").squeeze()
    a[()] *= 2
    assert a.to_dense() == -4
    a[()] = -a[()]
    assert a.to_dense() == 4


NOTHING = torch.zeros(0, 6, dtype=torch.long)
COPIES = {
    "repeat": lambda a: a.repeat(1, 1),
    "repeat, a new dimension": lambda a: a.repeat(1, 1, 1),
    "tile": lambda a: a.tile((1, 1)),
    "rot90": lambda a: a.rot90(0),
    "rot90, all around": lambda a: torch.rot90(a, 4),
    "pad": lambda a: F.pad(a, (0, 0)),
    "pad, no pairs": lambda a: F.pad(a, (), value=2.0),
    "pad by zeros": lambda a: F.pad(a, (0, 2, 1, 0)),
    "matrix_power": lambda a: torch.linalg.matrix_power(a, 1),
    "chain_matmul": lambda a: torch.chain_matmul(a),
    "diag_embed": lambda a: torch.diag_embed(a),
    "scatter": lambda a: a.scatter(0, NOTHING, torch.zeros(0, 6)),
    "scatter_add": lambda a: a.scatter_add(0, NOTHING, torch.zeros(0, 6)),
    "scatter_reduce": lambda a: a.scatter_reduce(0, NOTHING, torch.zeros(0, 6), "amax"),
}


@pytest.mark.filterwarnings("ignore:torch.chain_matmul")
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", COPIES)
def test_what_is_no_view_in_torch_is_a_copy(name, fmt):
    """Also where nothing changes: what is written to the result stays there."""
    f, dense = COPIES[name], torch.tensor([[1.0, 2.0], [0.0, 3.0]]).repeat(3, 3).tril()
    a = scorch.sparse(dense, fmt)
    made = f(a)
    same(made, f(dense))
    made.requires_grad_()
    assert not a.requires_grad
    made.detach().zero_()
    same(a, dense)
    a.requires_grad_()
    (2 * f(a)).sum().backward()
    there = dense != 0  # blocks have gradients at their zeros too
    assert_close(a.grad.to_dense()[there], torch.full((int(there.sum()),), 2.0))


# ---- what is refused ----
def test_copies_that_would_not_be_recorded():
    a, b = scorch.sparse(torch.eye(3)).requires_grad_(), scorch.sparse(torch.eye(3))
    for call in (lambda: a.copy_(b), lambda: b.copy_(a * 2), lambda: (a * 1).copy_(b)):
        with pytest.raises(NotImplementedError, match="not recorded"):
            call()
    with torch.no_grad():
        assert_close(a.copy_(b * 2).to_dense(), 2 * torch.eye(3))
    x = torch.zeros(3, 3).copy_(a)
    x.sum().backward()
    assert_close(a.grad.to_dense(), torch.eye(3))


@pytest.mark.parametrize("name", ["add_", "sub_"])
def test_sums_into_elements_that_share_memory(name):
    x = torch.ones(1, 3).expand(4, 3)
    with pytest.raises(RuntimeError, match="clone it"):
        getattr(x, name)(scorch.sparse(torch.ones(4, 3)))
    assert torch.equal(x, torch.ones(4, 3))


def test_values_that_are_complex():
    a = scorch.sparse(torch.eye(3))
    calls = (
        lambda: a * 1j, lambda: a / 1j, lambda: scorch.map(a, lambda v: v * 1j),
        lambda: a * torch.ones(3, 3, dtype=torch.complex64), lambda: torch.mul(a, torch.tensor(1j)),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(TypeError, match="real type"):
            call()


ASSIGNED = {
    "row": 2, "last row": -1, "rows": slice(1, 4), "all rows": slice(0, 6), "steps": slice(0, 6, 2),
    "entry": (3, 4), "entry from the end": (-3, -1), "row of a pair": (2, slice(None)),
    "columns": (slice(None), slice(1, 3)), "column": (slice(2, 5), 1), "list": torch.tensor([4, 0]),
    "mask": torch.arange(6) % 3 == 1, "rest": (1, ...), "new": (None, 2), "no rows": slice(3, 3),
}  # fmt: skip


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)"])
@pytest.mark.parametrize("name", ASSIGNED)
def test_parts_are_written_through(name, format):
    index, dense = ASSIGNED[name], torch.arange(1.0, 31).view(6, 5) * (torch.arange(30).view(6, 5) % 7 != 3)
    dense = torch.cat([dense, torch.zeros(6, 1)], 1)
    a = scorch.sparse(dense).convert(format)
    view, values, version = a.detach(), a.values(), a._val._version
    wanted = dense.clone()
    wanted[index] *= 3
    a[index] = a[index] * 3
    assert torch.equal(a.to_dense(), wanted) and torch.equal(view.to_dense(), wanted)
    assert a.values().data_ptr() == values.data_ptr()
    assert a._val._version > version or name == "no rows"
    wanted[index] = 0
    a[index] = 0
    assert torch.equal(a.to_dense(), wanted) and torch.equal(a @ torch.ones(6), wanted @ torch.ones(6))


def test_arrays_that_run_backwards():
    a, x = scorch.sparse(torch.eye(3)), torch.arange(6.0).view(3, 2)
    backwards = x.numpy()[::-1]
    assert torch.equal(a @ backwards, x.flip(0)) and torch.equal(backwards.T @ a, x.flip(0).T)
    assert torch.equal((a * x[:, :1].numpy()[::-1]).to_dense(), torch.diag(x[:, 0].flip(0)))
    assert torch.equal(a[torch.arange(3).numpy()[::-1]].to_dense(), torch.eye(3).flip(0))


@pytest.mark.parametrize("format", ["csr", "coo", "bsr(2,2)"])
def test_entries_that_are_named_several_times_are_added_to(format):
    dense, at, values = torch.eye(4) * 5, torch.tensor([0, 1, 1, 3]), torch.arange(4.0)
    a = scorch.sparse(dense).convert(format)
    a.index_put_((at, at), values, accumulate=True)
    assert torch.equal(a.to_dense(), dense.index_put((at, at), values, accumulate=True))
    with pytest.raises(ValueError, match=r"index_put_: the entry \[0, 3\] is not stored"):
        a.index_put_((at, at.flip(0)), values + 1, accumulate=True)

"""Functions that torch writes as several others, over SparseTensors: numbers, gradients to stored entries."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

import scorch

X, Y = torch.rand(6, 4), torch.rand(6, 6)
FUNCTIONS = {
    "tensordot": lambda a: torch.tensordot(a, X, 1),
    "tensordot of named dimensions": lambda a: torch.tensordot(Y, a, dims=([0], [1])),
    "tensordot of all": lambda a: torch.tensordot(a, Y, 2),
    "tensordot of repeats": lambda a: torch.tensordot(a, X[:1], dims=([0], [0])),
    "tensordot of both": lambda a: torch.tensordot(a, a * 2, 1),
    "inner of a cube": lambda a: torch.inner(a, a.reshape(2, 3, 6)),
    "inner of cubes": lambda a: torch.inner(a.reshape(3, 2, 6), Y.view(2, 3, 6)),
    "inner of a vector": lambda a: torch.inner(Y[0], a.reshape(1, 6, 1, 6)),
    "kron of a vector": lambda a: torch.kron(a[1], a),
    "kron of matrices": lambda a: torch.kron(a[1:4], a * 2),
    "kron with a dense matrix": lambda a: torch.kron(a, X),
    "kron of a dense cube": lambda a: torch.kron(a[:2], X.view(2, 3, 4)),
    "kron of a number": lambda a: torch.kron(torch.tensor(2.0), a),
    "hsplit": lambda a: torch.hsplit(a, 2)[1],
    "hsplit of a vector": lambda a: a[0].hsplit([2])[1],
    "vsplit": lambda a: a.vsplit([2, 3])[2],
    "dsplit": lambda a: a[None].dsplit(3)[0],
    "atleast_2d": lambda a: torch.atleast_2d(a[0]),
    "atleast_3d": lambda a: torch.atleast_3d(a, a[1])[1],
    "sum_to_size": lambda a: a[None].sum_to_size(6, 1),
    "repeat_interleave": lambda a: a.repeat_interleave(2, 1),
    "repeat_interleave by counts": lambda a: torch.repeat_interleave(
        a, torch.tensor([1, 0, 2, 1, 1, 1]), dim=0
    ),
    "repeat_interleave of all": lambda a: a.repeat_interleave(2),
    "fftshift": lambda a: torch.fft.fftshift(a[:5], 0),
    "ifftshift": lambda a: torch.fft.ifftshift(a[:, :5]),
    "msort": torch.msort,
    "unfold": lambda a: a.unfold(1, 3, 2),
    "unfold of a vector": lambda a: a[0].unfold(0, 2, 3),
    "pairwise_distance": lambda a: F.pairwise_distance(a, Y, keepdim=True),
    "triplet_margin_loss": lambda a: F.triplet_margin_loss(Y, a, a * 2, swap=True, reduction="none"),
    "cosine_embedding_loss": lambda a: F.cosine_embedding_loss(a, Y, torch.tensor([1, -1] * 3), margin=0.1),
    "kl_div": lambda a: F.kl_div(Y.log_softmax(1), a, reduction="batchmean"),
    "kl_div of scores": lambda a: F.kl_div(a, Y.softmax(1), reduction="none"),
    "kl_div of logarithms": lambda a: F.kl_div(a, Y.log_softmax(1), log_target=True),
    "lerp": lambda a: torch.lerp(a, a.T * 2, 0.7),
    "lerp by weights": lambda a: torch.lerp(a, Y, a),
    "dropout1d": lambda a: F.dropout1d(a, 0.3),
    "dropout2d": lambda a: F.dropout2d(a.reshape(2, 3, 6), 0.3),
    "dropout3d": lambda a: F.dropout3d(a.reshape(2, 3, 3, 2, 1), 0.3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_and_gradients(name):
    generator = torch.Generator().manual_seed(0)
    dense = torch.rand(6, 6, generator=generator) * (torch.rand(6, 6, generator=generator) < 0.5)
    found = []
    for a in (scorch.sparse(dense), dense.clone()):
        torch.manual_seed(0)
        y = FUNCTIONS[name](a.requires_grad_())
        y = y.to_dense() if scorch.is_sparse(y) else y
        (y * torch.linspace(0.5, 1, y.numel()).view(y.shape)).sum().backward()
        grad = a.grad.to_dense() if scorch.is_sparse(a) else torch.where(dense != 0, a.grad, 0)
        found.append((y.detach(), grad))
    assert_close(*found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", (torch.float32, torch.float16))
def test_lerp_rounds_as_torch_does(kind):
    a = torch.tensor([[6e4, 1, 0, -torch.inf, 2, 0], [0, 3, 0, 1, 0.1, 0]], dtype=kind)
    b = torch.tensor([[-6e4, 3, 2, 0, 0.1, 0], [1e-3, 0, 0, 1, 7, 0]], dtype=kind)
    for weight in (0.3, 0.5, 1.0, torch.tensor(0.7, dtype=kind), torch.linspace(0, 1, 6).to(kind)):
        mixed = [torch.lerp(scorch.sparse(a), b, weight), torch.lerp(a, scorch.sparse(b), weight)]
        both = [torch.lerp(scorch.sparse(a), scorch.sparse(b, f), weight) for f in ("csr", "coo", "csc")]
        for made in (*mixed, *(x.to_dense() for x in both)):
            assert_close(made, torch.lerp(a, b, weight), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("index", (torch.int32, torch.int64))
def test_kron_keeps_stored_zeros(index):
    crow, column = torch.tensor([0, 1, 1, 3], dtype=index), torch.tensor([2, 0, 1], dtype=index)
    a = scorch.sparse(torch.sparse_csr_tensor(crow, column, torch.tensor([0, 2, 3]), (3, 3)))
    b = scorch.sparse(torch.tensor([[0, 5], [7, 0]]))
    made = torch.kron(a, b)
    assert made.format == "csr" and made.index_dtype == index and made.nnz == 6 and made.dtype == torch.int64
    assert torch.equal(made.to_dense(), torch.kron(a.to_dense(), b.to_dense()))
    assert torch.equal(made.indices(), torch.kron(scorch.sparse(a, format="coo"), b).indices())
    assert torch.kron(a, b[:0]).shape == (0, 6)


@pytest.mark.parametrize("name", ("block_diag", "kron"))
@pytest.mark.parametrize("first", (True, False))
def test_zeros_of_a_dense_operand_get_their_gradient(name, first):
    """A parameter that begins at zero trains; where it takes none, what is zero is not stored."""
    a, f = scorch.sparse(torch.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]])), getattr(torch, name)
    join = (lambda x, w: f(w, x)) if first else f
    for start in (torch.zeros(2, 2), torch.tensor([[0.0, 1.5], [0.0, -2.0]])):
        ours, theirs = start.clone().requires_grad_(), start.clone().requires_grad_()
        got, want = join(a, ours), join(a.to_dense(), theirs)
        assert_close(got.to_dense(), want)
        weight = torch.randn(want.shape)
        (got.to_dense() * weight).sum().backward()
        (want * weight).sum().backward()
        assert_close(ours.grad, theirs.grad)
        assert join(a, start).nnz < got.nnz
        whole = torch.func.jacrev(lambda w: join(a, w).to_dense())(start)
        assert_close(whole, torch.func.jacrev(lambda w: join(a.to_dense(), w))(start))
        compiled = torch.compile(lambda w: join(a, w).to_dense(), fullgraph=True, backend="aot_eager")
        assert_close(compiled(start), want)


def test_what_does_not_fit():
    a = scorch.sparse(torch.eye(6))
    for f, says in (
        (lambda: torch.hsplit(a, 4), "not of one size"),
        (lambda: torch.dsplit(a, 2), "at least 3 dimensions"),
        (lambda: a.sum_to_size(3, 6), "does not sum"),
        (lambda: torch.tensordot(a, X[:3], 1), "do not match"),
        (lambda: torch.inner(a[:, :1], Y), "one extent"),
        (lambda: torch.linalg.multi_dot([Y, a[None], Y]), "expected matrices"),
        (lambda: F.kl_div(a, Y, reduction="other"), "reduction"),
        (lambda: F.dropout2d(a, 1.5), "p from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=says):
            f()


def test_places_among_numbers():
    """Dense, as large as the tensor: zeros have a place too."""
    dense = torch.rand(6, 6).where(torch.rand(6, 6) < 0.5, 0)
    a, bounds = scorch.sparse(dense), torch.tensor([-0.5, 0.2, 0.7])
    assert torch.equal(torch.bucketize(a, bounds, right=True), torch.bucketize(dense, bounds, right=True))
    assert torch.equal(torch.isin(a, dense[0]), torch.isin(dense, dense[0]))


def test_chance_of_what_is_stored():
    a = scorch.sparse(torch.tensor([[0.0, 1.0], [0.5, 0.0]])).convert("csr")
    drawn = torch.stack([torch.bernoulli(a).to_dense() for _ in range(200)]).mean(0)
    assert drawn[0].tolist() == [0, 1] and drawn[1, 1] == 0 and 0.3 < drawn[1, 0] < 0.7
    with pytest.raises(NotImplementedError, match="dense"):
        a.bernoulli(0.5)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16, torch.int32, torch.int64))
@pytest.mark.parametrize("fmt", ("csr", "csc", "coo"))
def test_kron_of_types(dtype, fmt):
    x = (torch.rand(60, 40) * 9 - 4).to(dtype) * (torch.rand(60, 40) < 0.3)
    y = (torch.rand(5, 70) * 9 - 4).to(dtype) * (torch.rand(5, 70) < 0.3)
    for one, other in ((x, y), (y, x), (x, y.float())):
        made, want = torch.kron(scorch.sparse(one, fmt), scorch.sparse(other)), torch.kron(one, other)
        assert made.dtype == want.dtype and torch.equal(made.to_dense(), want)


def test_kron_needs_memory_for_the_result_alone():
    code = """
import resource, torch, scorch
n, each = 200_000, 10
crd = (torch.arange(n)[:, None] * 7 + torch.arange(each) * 9001).remainder(n).sort(1)[0].int().view(-1)
pos = torch.arange(n + 1, dtype=torch.int32) * each
a = scorch.from_components("csr", (n, n), [None, pos], [None, crd], torch.randn(n * each))
b = scorch.sparse(torch.ones(2, 2), "csr")
torch.kron(a[:9], b)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
made = torch.kron(a, b)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 1.3 * (4 * 2_000_000 * 8 + 400_000 * 4) / 1024

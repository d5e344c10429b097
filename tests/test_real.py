"""Real tensors (medical records, Matrix Market files, citation graphs) against SciPy and numpy."""

from pathlib import Path

import numpy as np
import pytest
import torch

import planetoid
import scorch

sp = pytest.importorskip("scipy.sparse")
io = pytest.importorskip("scipy.io")
FORMATS = ("csr", "csc", "coo", "dcsr")


@pytest.fixture(scope="module", params=("bcsstk13", "ca-CondMat", "cora", "citeseer", "pubmed"))
def matrix(request, data_dir):
    """A real square matrix in double precision with small integer values, so that sums are exact."""
    files = {f.stem: f for f in data_dir.glob("matrices/**/*.mtx")}
    if request.param in files:
        a = sp.csr_array(io.mmread(files[request.param]))
    else:
        if not (data_dir / "planetoid").is_dir():
            pytest.skip("no planetoid folder")
        graph = planetoid.load(request.param, str(data_dir / "planetoid"))
        n, (u, v) = len(graph.y), graph.edge_index.numpy()
        a = sp.csr_array((np.ones(len(u)), (u, v)), (n, n))
    a.sum_duplicates()
    a.data[:] = np.arange(a.nnz) % 7 - 3
    return a.astype(np.float64)


@pytest.fixture(scope="module")
def records(data_dir) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Coordinates [3, nnz], values and shape of the tensor of order three."""
    file: Path = data_dir / "tensors" / "med.tns"
    if not file.exists():
        pytest.skip("no tensors/med.tns")
    table = np.loadtxt(file)
    at = table[:, :3].T.astype(np.int64) - 1
    return at, np.arange(at.shape[1]) % 5 - 2.0, tuple(at.max(1) + 1)


def same(got: torch.Tensor, want) -> None:
    """A sparse or dense result against a SciPy array: equal everywhere."""
    if scorch.is_sparse(got):
        difference = abs(
            sp.csr_array(got.to_scipy())
            - sp.csr_array(np.asarray(want) if isinstance(want, torch.Tensor) else want)
        )
        assert difference.nnz == 0 or difference.max() == 0
    else:
        np.testing.assert_array_equal(got.numpy(), want.toarray() if sp.issparse(want) else np.asarray(want))


PAIRS = {
    "C[i,k] = A[i,j] * B[j,k]": lambda a, b: a @ b,
    "C[i,j] = A[i,j] + B[j,i]": lambda a, b: a + b.T,
    "C[i,j] = A[i,j] * B[i,j]": lambda a, b: a * b,
    "C[i,j] = A[i,j] - B[i,j]": lambda a, b: a - b,
}


@pytest.mark.sampled
@pytest.mark.parametrize("expression", PAIRS)
def test_two_matrices(matrix, expression):
    b = matrix.copy()
    b.data = b.data[::-1].copy()
    for form, other in (("csr", "csr"), ("csc", "csr"), ("coo", "csc"), ("dcsr", "coo")):
        x, y = scorch.sparse(matrix, format=form), scorch.sparse(b, format=other)
        same(scorch.evaluate(expression, A=x, B=y), PAIRS[expression](matrix, b))


def test_numbers_of_a_matrix(matrix):
    for form in FORMATS:
        a = scorch.sparse(matrix, format=form)
        assert scorch.evaluate("s = A[i,j] * A[i,j]", A=a).item() == (matrix.data**2).sum()
        assert scorch.evaluate("s = A[i,j] * B[j,i]", A=a, B=a).item() == (matrix * matrix.T).sum()


def test_triangles(matrix):
    edges = (matrix != 0).astype(np.float64)
    edges = sp.csr_array(edges - sp.diags_array(edges.diagonal()))
    edges.eliminate_zeros()
    a = scorch.sparse(edges)
    assert scorch.evaluate("t = A[i,j] * A[j,k] * A[i,k]", A=a).item() == ((edges @ edges) * edges).sum()


def test_matrix_by_dense(matrix, rng):
    x = rng.integers(-3, 4, (matrix.shape[1], 33)).astype(float)
    for form in FORMATS:
        same(scorch.sparse(matrix, format=form) @ torch.from_numpy(x), matrix @ x)


@pytest.mark.parametrize("form", ("csf", "coo", "compressed(2), compressed(0), compressed(1)"))
@pytest.mark.parametrize("mode", range(3))
def test_tensor(records, rng, form, mode):
    at, value, shape = records
    t = torch.sparse_coo_tensor(torch.from_numpy(at), torch.from_numpy(value), shape).coalesce()
    a = scorch.sparse(t, form)
    p, q = (d for d in range(3) if d != mode)
    f, g = (rng.integers(-2, 3, (shape[d], 5)).astype(float) for d in (p, q))
    m, n, o = "ijk"[mode], "ijk"[p], "ijk"[q]
    want = np.zeros((shape[mode], 5))
    np.add.at(want, at[mode], value[:, None] * f[at[p]] * g[at[q]])
    f, g = torch.from_numpy(f), torch.from_numpy(g)
    same(scorch.evaluate(f"M[{m},r] = A[i,j,k] * F[{n},r] * G[{o},r]", A=a, F=f, G=g), want)  # MTTKRP

    assert scorch.evaluate("s = A[i,j,k] * A[i,j,k]", A=a).item() == (t.values() ** 2).sum().item()


@pytest.mark.parametrize("form", ("csf", "coo", "compressed(2), compressed(0), compressed(1)"))
@pytest.mark.parametrize("mode", range(3))
def test_corner_of_a_tensor(records, rng, form, mode):
    """Times a vector and times a matrix, where the dense result is small enough to compare with."""
    at, value, _ = records
    few = (at < 150).all(0)
    t = torch.sparse_coo_tensor(
        torch.from_numpy(at[:, few]), torch.from_numpy(value[few]), (150, 150, 150)
    ).coalesce()
    a, dense = scorch.sparse(t, form), t.to_dense()
    m, n, o = "ijk"[mode], "jki"[mode], "kij"[mode]
    w = torch.from_numpy(rng.integers(-2, 3, (150, 7)).astype(float))
    v = w[:, 0].contiguous()
    same(
        scorch.evaluate(f"C[{m},{n}] = A[i,j,k] * v[{o}]", A=a, v=v),
        torch.einsum(f"ijk,{o}->{m}{n}", dense, v),
    )
    got = scorch.evaluate(f"C[{m},{n},r] = A[i,j,k] * W[{o},r]", A=a, W=w)
    assert torch.equal(got.to_dense(), torch.einsum(f"ijk,{o}r->{m}{n}r", dense, w))

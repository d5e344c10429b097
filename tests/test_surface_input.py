"""What users bring: tensors of other libraries, edges, and what is wrong with them."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
import torch

import scorch

POS, CRD, VALUES = torch.tensor([0, 1, 2]), torch.tensor([0, 2]), torch.ones(2)


def made(shape=(2, 3), pos=POS, crd=CRD, values=VALUES, format="csr"):
    return scorch.from_components(format, shape, [None, pos], [None, crd], values)


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        ({"shape": (-2, 3)}, ValueError, "shape: expected extents"),
        ({"shape": (2**32, 2**32)}, ValueError, "shape: expected extents"),
        ({"shape": (2.0, 3)}, TypeError, "shape: expected a sequence of integers"),
        ({"shape": 5}, TypeError, "shape: expected a sequence of integers"),
        ({"values": [1.0, 2.0]}, TypeError, "expected torch tensors, got list"),
        ({"pos": np.array([0, 1, 2])}, TypeError, "expected torch tensors, got ndarray"),
        ({"values": scorch.sparse(torch.ones(2))}, TypeError, "expected torch tensors, got SparseTensor"),
        ({"values": torch.ones(2, device="meta")}, TypeError, "of torch.float32 on meta"),
        ({"values": torch.ones(2).to_sparse()}, ValueError, "contiguous"),
        ({"values": torch.ones(4)[::2]}, ValueError, "contiguous"),
        ({"values": torch.ones(2, dtype=torch.complex64)}, TypeError, "complex"),
        ({"crd": CRD.float(), "pos": POS.float()}, TypeError, "int32 or int64"),
        ({"crd": CRD.int()}, TypeError, "index type of the others"),
        ({"crd": torch.tensor([0, 3])}, ValueError, r"crd\[1\] = 3 is out of range"),
        ({"crd": torch.tensor([2, 0]), "pos": torch.tensor([0, 2, 2])}, ValueError, "increasing"),
        ({"pos": torch.tensor([0, -1, 2])}, ValueError, "non-decreasing"),
        ({"format": 3}, TypeError, "expected a format"),
        ({"format": None}, TypeError, "expected a format"),
    ],
)
def test_components_that_are_wrong(wrong, error, match):
    with pytest.raises(error, match=match):
        made(**wrong)


def test_shapes_of_other_integers():
    for shape in ([2, 3], torch.Size([2, 3]), np.array([2, 3]), torch.tensor([2, 3])):
        assert torch.equal(made(shape=shape) @ torch.ones(3, 2), torch.ones(2, 2))


def test_results_that_do_not_fit_in_memory():
    wide = made(shape=(2, 2**45))
    for f in (lambda: wide.sum(0), lambda: wide.T @ torch.ones(2, 3), wide.to_dense):
        with pytest.raises(MemoryError, match=r"out of memory: .+"):
            f()
    assert (wide @ wide.T).nnz == 2 and wide.sum(1).tolist() == [1, 1]


# ---- torch ----
@pytest.mark.parametrize(
    ("convert", "format"),
    [
        (lambda d: d.to_sparse(2), "compressed(0, nonunique), singleton(1), dense(2)"),
        (lambda d: d.to_sparse(1), "compressed(0), dense(1), dense(2)"),
        (lambda d: d.to_sparse_csr(dense_dim=1), "dense(0), compressed(1), dense(2)"),
        (lambda d: d.to_sparse_csc(dense_dim=1), "dense(1), compressed(0), dense(2)"),
        (lambda d: d.to_sparse_csr(), "csr"),
        (lambda d: d.to_sparse_bsr((2, 1)), "csr"),
    ],
)
def test_batches_and_dense_dimensions_of_torch(convert, format):
    d = torch.ones(3, 4, 2) * torch.arange(1.0, 4)[:, None, None]
    d[:, 1:3] = 0  # the same number of entries in each matrix, as torch's batches have
    source = convert(d)
    a = scorch.sparse(source)
    assert str(a.format) == str(scorch.Format(format)) and a.dtype == d.dtype
    assert torch.equal(a.to_dense(), d) and torch.equal(a @ torch.ones(2, 5), d @ torch.ones(2, 5))
    assert torch.equal(scorch.sparse(source, "csf").to_dense(), d)
    if source.dense_dim():  # memory of torch
        assert a.values().data_ptr() == source.values().data_ptr()


def test_sparse_tensors_of_torch_that_are_wrong():
    def csr(pos, crd):
        return torch.sparse_csr_tensor(pos, crd, torch.ones(len(crd)), (2, 3), check_invariants=False)

    unsorted = scorch.sparse(csr([0, 2, 2], [2, 0]))
    assert torch.equal(unsorted.to_dense(), torch.tensor([[1.0, 0, 1], [0, 0, 0]]))
    for wrong in (csr([0, 1, 2], [0, 7]), csr([0, 2, 2], [2, -1]), csr([0, 5, 2], [2, 0])):
        with pytest.raises(ValueError, match="level 1"):
            scorch.sparse(wrong)
    for wrong in (
        torch.quantize_per_tensor(torch.ones(2, 2), 0.1, 0, torch.qint8),
        torch.nested.nested_tensor([torch.ones(2)]),
    ):
        with pytest.raises(TypeError, match="quantized or nested"):
            scorch.sparse(wrong)
    with pytest.raises(TypeError, match="index_dtype"):
        scorch.sparse(torch.eye(2), index_dtype=torch.int16)


# ---- others ----
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("name", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_scipy(name, kind):
    d = torch.tensor([[0.0, 2, 0, 1], [1, 0, 3, 0]])
    a = scorch.sparse(getattr(scipy.sparse, f"{name}_{kind}")(d.numpy()))
    assert torch.equal(a.to_dense(), d)
    back = scorch.sparse(a, "csc" if name == "csc" else "csr").to_scipy()
    assert np.array_equal(back.toarray(), d.numpy())


def test_scipy_in_any_order():
    blocks = scipy.sparse.bsr_array((np.arange(12.0).reshape(2, 2, 3), [1, 0], [0, 2]), shape=(2, 6))
    doubled = scipy.sparse.bsr_array((np.ones((2, 2, 3)), [1, 1], [0, 2]), shape=(2, 6))
    rows = scipy.sparse.csr_array(([1.0, 2, 3], [2, 2, 0], [0, 2, 3]), shape=(2, 3))
    for x in (blocks, doubled, rows, scipy.sparse.csr_array(np.array([0, 1.0, 0]))):
        assert np.array_equal(scorch.sparse(x).to_dense().numpy(), x.toarray())
    assert str(scorch.sparse(blocks, "bsr(2,3)").format) == "bsr(2,3)"


def test_numpy_views_and_graphs_without_nodes():
    d = np.arange(6.0).reshape(2, 3)
    for view in (d[::-1, ::-1], d.T, d[:, ::2], np.broadcast_to(d[0], (4, 3))):
        assert np.array_equal(scorch.sparse(view).to_dense().numpy(), view)
    networkx = pytest.importorskip("networkx")
    assert scorch.sparse(networkx.Graph()).shape == (0, 0)
    path = networkx.path_graph(3)
    back = networkx.from_scipy_sparse_array(scorch.sparse(path).to_scipy())
    assert list(back.edges) == list(path.edges)
    with pytest.raises(TypeError, match="for lists call"):
        scorch.sparse([[0, 1]])


class TorchSparse:
    """As torch_sparse.SparseTensor, as far as it is asked."""

    def to_torch_sparse_csr_tensor(self):
        return torch.eye(3).to_sparse_csr()


def test_torch_sparse():
    assert torch.equal(scorch.sparse(TorchSparse()).to_dense(), torch.eye(3))


# ---- edges ----
EDGES = torch.tensor([[0, 1, 2], [1, 2, 0]])


def test_edges_of_other_types():
    wanted = scorch.from_edge_index(EDGES).to_dense()
    for given in (EDGES.int(), EDGES.numpy(), EDGES.tolist(), EDGES.T.contiguous().T):
        assert torch.equal(scorch.from_edge_index(given).to_dense(), wanted)
    weights = [[1, 2, 3], torch.tensor([1, 2, 3]), torch.tensor([1.0, 2, 3], dtype=torch.float64)]
    for weight in weights:
        for normalize in ("sym", "row"):
            got = scorch.from_edge_index(EDGES, weight, normalize=normalize)
            plain = scorch.from_edge_index(EDGES, torch.tensor([1.0, 2, 3]), normalize=normalize)
            torch.testing.assert_close(got.to_dense().float(), plain.to_dense())


def test_degrees_of_half_types_are_summed_in_float32():
    edges = torch.stack([torch.arange(5000), torch.zeros(5000, dtype=torch.long)])
    a = scorch.from_edge_index(edges, torch.ones(5000, dtype=torch.bfloat16), normalize="row")
    assert a.dtype == torch.bfloat16
    assert a.values()[0] == torch.tensor(1 / 5000, dtype=torch.bfloat16)


def test_graphs_without_edges():
    a = scorch.from_edge_index(torch.empty(2, 0).long(), num_nodes=3, add_self_loops=True, normalize="sym")
    assert torch.equal(a.to_dense(), torch.eye(3))
    assert scorch.from_edge_index(torch.empty(2, 0).long()).shape == (0, 0)


@pytest.mark.parametrize(
    ("index", "options", "error", "match"),
    [
        (EDGES.float(), {}, TypeError, "expected integers"),
        (EDGES.T[:, :1], {}, ValueError, r"shape \[2, E\]"),
        (EDGES, {"num_nodes": 2, "normalize": "sym"}, ValueError, r"in 0\.\.1, got 2"),
        (EDGES - 1, {"num_nodes": 3, "add_self_loops": True, "normalize": "sym"}, ValueError, "got -1"),
        (EDGES, {"num_nodes": -1}, ValueError, "num_nodes"),
        (EDGES, {"num_nodes": 3.0}, TypeError, "num_nodes"),
        (EDGES + 2**40, {}, ValueError, "num_nodes"),
        (EDGES.to("meta"), {}, NotImplementedError, "meta"),
        (EDGES, {"edge_weight": torch.ones(3, 2)}, ValueError, "expected 3 weights"),
        (EDGES, {"normalize": "both"}, ValueError, "normalize"),
    ],
)
def test_edges_that_are_wrong(index, options, error, match):
    with pytest.raises(error, match=match):
        scorch.from_edge_index(index, **options)


def test_loops_that_are_there_already_count_as_in_pyg():
    norm = pytest.importorskip("torch_geometric.nn.conv.gcn_conv").gcn_norm
    g = torch.Generator().manual_seed(0)
    index, weight = torch.randint(0, 9, (2, 60), generator=g), torch.rand(60, generator=g)
    assert (index[0] == index[1]).sum() > (index[:, index[0] == index[1]][0]).unique().numel(), "repeats"
    for w in (None, weight):
        edges, values = norm(index, w, 9, False, True)
        wanted = torch.zeros(9, 9).index_put((edges[1], edges[0]), values, accumulate=True)
        got = scorch.from_edge_index(index, w, num_nodes=9, add_self_loops=True, normalize="sym")
        torch.testing.assert_close(got.to_dense(), wanted)


# ---- the process ----
def test_plain_use_does_not_import_torch_compile():
    text = (
        "import sys, copy, torch, scorch; a = scorch.sparse(torch.eye(3)); a.detach().clone().mul_(2); "
        "copy.deepcopy(a) @ torch.ones(3, 2); "
        "p = torch.nn.Parameter(a); (p @ torch.ones(3, 2)).sum().backward(); "
        "print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout.strip() == "False", done.stderr

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
        ({"values": [1.0, 2.0]}, TypeError, "expected tensors or arrays, got list"),
        ({"pos": np.array([0.0, 1.0, 2.0])}, TypeError, "int32 or int64"),
        ({"values": scorch.sparse(torch.ones(2))}, TypeError, "expected tensors or arrays, got SparseTensor"),
        ({"values": torch.ones(2, device="meta")}, TypeError, "float32 on meta: .* on the CPU$"),
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
    with pytest.raises(ValueError, match="a tensor of no dimensions has no sparse format"):
        scorch.sparse(torch.tensor(2.0))
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
    unsigned = (EDGES.to(dtype) for dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64))
    for given in (EDGES.int(), EDGES.numpy(), EDGES.tolist(), EDGES.T.contiguous().T, *unsigned):
        assert torch.equal(scorch.from_edge_index(given).to_dense(), wanted)
    weights = [[1, 2, 3], torch.tensor([1, 2, 3]), torch.tensor([1.0, 2, 3], dtype=torch.float64)]
    for weight in weights:
        for normalize in ("sym", "row"):
            got = scorch.from_edge_index(EDGES, weight, normalize=normalize)
            plain = scorch.from_edge_index(EDGES, torch.tensor([1.0, 2, 3]), normalize=normalize)
            torch.testing.assert_close(got.to_dense().float(), plain.to_dense())


def test_a_fraction_is_the_weight_of_a_loop():
    for weight in (torch.tensor([2, 1, 4]), torch.tensor([True, False, True])):
        for loops in (True, 2, 0.5):
            for normalize in (None, "sym", "row"):
                options = {"add_self_loops": loops, "normalize": normalize}
                got = scorch.from_edge_index(EDGES, weight, **options)
                plain = scorch.from_edge_index(EDGES, weight.float(), **options)
                whole = normalize is None and loops != 0.5
                assert got.dtype == ((weight * loops).dtype if whole else torch.float32)
                assert torch.equal(got.to_dense().float(), plain.to_dense())


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


# ---- memory of others ----
READ_ONLY = """
import numpy as np, scipy.sparse, torch, scorch, sys
d = np.arange(24.0).reshape(4, 6) * (np.arange(24).reshape(4, 6) % 3 > 0)
arrays = []
for name in ("data", "indices", "indptr"):
    array = getattr(scipy.sparse.csr_array(d), name)
    array.tofile(sys.argv[1] + name)
    arrays.append(np.memmap(sys.argv[1] + name, dtype=array.dtype, mode="r"))
A = scorch.sparse(scipy.sparse.csr_array(tuple(arrays), shape=d.shape), copy=False)
assert scorch._torch.address(A.values()) == arrays[0].ctypes.data, "shared"
x, D = torch.ones(6, 2).double(), torch.from_numpy(d)
for f in (
    lambda a: a @ x, lambda a: a.T @ x[:4], lambda a: a[1:3], lambda a: a + a, lambda a: a.sum(1),
    lambda a: torch.relu(a) @ x, lambda a: scorch.einsum("ij,jk->ik", a, x) if scorch.is_sparse(a) else a @ x,
    lambda a: torch.from_numpy(a.to_scipy().toarray()) if scorch.is_sparse(a) else a,
    lambda a: a.clone().mul_(2),
    lambda a: scorch.sparse(a, "csc") if scorch.is_sparse(a) else a,
    lambda a: torch.func.vmap(lambda x: a @ x)(x[None]),
):
    got = f(A)
    torch.testing.assert_close(got.to_dense() if scorch.is_sparse(got) else got, f(D))
import copy, io, pickle
file = io.BytesIO()
torch.save(A, file)
file.seek(0)
for other in (copy.deepcopy(A), pickle.loads(pickle.dumps(A)), torch.load(file)):
    other.mul_(2)
w = x.clone().requires_grad_()
(A @ w).sum().backward()
torch.testing.assert_close(w.grad, D.T @ torch.ones(4, 2).double())
p = torch.nn.Parameter(A)
p.grad = A * 1
for write, error in {
    lambda: A.mul_(2): ValueError, lambda: A.__imul__(2): ValueError, lambda: A[1:3].zero_(): ValueError,
    lambda: A.T.add_(1): ValueError, lambda: A.detach().neg_(): ValueError,
    lambda: A.copy_(A * 2): ValueError,
    lambda: torch.nn.functional.relu(A, inplace=True): ValueError, lambda: torch.add(A, A, out=A): ValueError,
    lambda: torch.optim.SGD([p], lr=0.1).step(): ValueError,
    lambda: A.values().mul_(2): RuntimeError, lambda: A.values()[1:].zero_(): RuntimeError,
    lambda: A.values().data.fill_(1): RuntimeError, lambda: A.crd(1).fill_(0): RuntimeError,
    lambda: A.values().numpy(): RuntimeError,
    lambda: scorch.einsum("ij,j->i", A, x[:, 0], out=A.values()[:4]): TypeError,
}.items():
    try:
        write()
    except error:
        continue
    raise AssertionError(f"line {write.__code__.co_firstlineno}: nothing was refused")
assert np.array_equal(A.to_dense().numpy(), d)
scorch.sparse(scipy.sparse.csr_array(tuple(arrays), shape=d.shape)).mul_(2)  # a copy
print("done")
"""


def python(text, *arguments, **env):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text, *arguments],
        capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env},
    )  # fmt: skip
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


def test_read_only_memory_is_shared_and_never_written(tmp_path):
    """In a process of its own: what must not be written crashes where it is."""
    assert python(READ_ONLY, f"{tmp_path}/").strip() == "done"


def test_read_only_arrays_of_other_kinds():
    d = np.arange(12.0).reshape(3, 4)
    d.flags.writeable = False
    for fmt in ("csr", "dense"):
        a = scorch.sparse(d, fmt)
        assert np.array_equal(a.mul_(2).to_dense().numpy(), 2 * d)
    weight = np.ones(3)
    weight.flags.writeable = False
    assert scorch.from_edge_index(EDGES, weight).values().tolist() == [1, 1, 1]


# ---- the process ----
LOADED = """
import sys, torch
torch.ones(1, requires_grad=True).sum().backward()
before = set(sys.modules)
import scorch
after = set(sys.modules) - before
a, x = scorch.sparse(torch.eye(6)), torch.ones(6, 2, requires_grad=True)
(a @ x).sum().backward()
values = a.values().clone().requires_grad_()
b = a.clone()._with_values(values)
(b * x[:, 0]).sum().backward()
a[1:3], a[:, torch.tensor([2, 0])], torch.cat([a, a]), a.reshape(4, 9), a.sum(0), a.amax(1), a.T @ a
scorch.sparse(torch.eye(6), "bsr(2,3)")[:2], torch.softmax(a, 1), torch.nn.Parameter(a), a.float(), a + a
scorch.evaluate("y[i] = A[i,j] * x[j,k]", A=a, x=x.detach())
scorch.from_edge_index(torch.tensor([[0, 1], [1, 0]]), normalize="sym")
scorch.sparsify(torch.nn.Sequential(torch.nn.Linear(2, 2)), measure=False)
used = set(sys.modules) - before - after
print(*sorted(after), "|", *sorted(used))
"""


def test_what_is_loaded():
    """Importing and plain use load nothing that torch has not loaded: SymPy and torch.compile take seconds.

    Where gradients to a SparseTensor are stored or added up that is not so: torch's dispatcher loads much
    when it first meets any subclass.
    """
    after, used = (part.split() for part in python(LOADED).split("|"))
    unasked = [
        "sympy",
        "mpmath",
        "statistics",
        "scipy",
        "networkx",
        "pytest",
        "torch._dynamo",
        "torch._inductor",
        "torch.fx.experimental",
    ]
    for name in (*after, *used):
        assert not any(name == other or name.startswith(f"{other}.") for other in unasked), name
    known = {"scorch", "_sysconfigdata", *sys.stdlib_module_names}
    for name in after:
        assert name.partition(".")[0] in known or name.startswith("_sysconfigdata"), name


@pytest.mark.parametrize(
    "f", (lambda x: scorch.softmax(x, 1), lambda x: scorch.map(x, abs), lambda x: scorch.sddmm(x, x, x))
)
def test_what_is_no_sparse_tensor_is_told_to_become_one(f):
    for x in (torch.eye(3), torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr()):
        with pytest.raises(
            TypeError, match=r"expected a SparseTensor, got Tensor: call scorch\.sparse first"
        ):
            f(x)


def test_the_operand_of_a_sampled_product_that_does_not_fit_is_named():
    mask, q, k = scorch.sparse(torch.eye(30, 20)), torch.rand(30, 4), torch.rand(20, 4)
    with pytest.raises(ValueError, match=r"K: expected shape \[20, 4\] .* got \[4, 20\].* pass K\.mT"):
        scorch.sddmm(mask, q, k.T)
    with pytest.raises(ValueError, match=r"Q: expected shape \[30, 'k'\] .* got \[4, 30\]$"):
        scorch.sddmm(mask, q.T, k)
    with pytest.raises(ValueError, match=r"mat2: expected shape \[4, 20\] .* got \[20, 4\]$"):
        torch.sparse.sampled_addmm(mask, q, k)


@pytest.mark.parametrize("f", (torch.logical_not, torch.bitwise_not, lambda m: ~m))
def test_a_mask_is_negated_as_what_is_zero(f):
    mask, x = scorch.sparse(torch.eye(3) > 0), torch.rand(3, 3)
    with pytest.raises(NotImplementedError, match="use A == 0 for the dense mask"):
        f(mask)
    assert torch.equal(x.masked_fill(mask == 0, 7), x.masked_fill(torch.eye(3) == 0, 7))


class Tagged(torch.Tensor):
    """A subclass that computes as a tensor does."""


@pytest.mark.parametrize("format", ("csr", "coo", "ell(2)", "bsr(3,3)"))
@pytest.mark.parametrize(
    "f", (lambda a, x: a * x, lambda a, x: x * a, lambda a, x: a / x, lambda a, x: scorch.map(a, type(x)))
)
def test_values_that_a_subclass_gives_are_plain(f, format):
    dense, x = torch.tensor([[1.0, 0, 2], [0, 4, 0], [0, 0, 8]]), torch.tensor([1.0, 2, 4])
    a, tagged = scorch.sparse(dense, format), x.as_subclass(Tagged).requires_grad_()
    made, right = f(a, tagged), f(a, x)
    assert torch.equal(made @ x, right @ x) and type(made.values()) is torch.Tensor
    assert torch.equal(made.to_dense(), right.to_dense())


def test_gradients_reach_what_is_of_a_subclass():
    x, index = torch.tensor([1.0, 2]), torch.tensor([[0, 1], [0, 2]])
    pos = torch.tensor([0, 1, 2]).as_subclass(Tagged)
    for make in (
        lambda v: scorch.sparse(torch.eye(2)) * v,
        lambda v: scorch.coo(index.as_subclass(Tagged), v, (2, 3)),
        lambda v: scorch.from_components("csr", (2, 3), [None, pos], [None, index[1].as_subclass(Tagged)], v),
        lambda v: scorch.sparse(v.expand(2, 2)),
    ):
        given, plain = (t.requires_grad_() for t in (x.clone().as_subclass(Tagged), x.clone()))
        for v in (given, plain):
            a = make(v)
            (a @ torch.ones(a.shape[1])).square().sum().backward()
        assert torch.equal(given.grad, plain.grad)
        assert torch.equal(make(given.detach()).to_dense(), make(plain.detach()).to_dense())


@pytest.mark.parametrize(
    ("f", "error", "match"),
    [
        (lambda a: a.copy_(1), TypeError, "copy_: expected a SparseTensor, got int"),
        (lambda a: a[0].tril_(), ValueError, "tril_: expected at least 2 dimensions, got 1"),
        (lambda a: scorch.tune(a, a), TypeError, "expected the expression as a string .* got SparseTensor"),
        (lambda a: scorch.map(a, None), TypeError, "map: expected a function .* got NoneType"),
        (lambda a: scorch.softmax(a, (0, 1)), TypeError, r"expected a dimension, .* got \(0, 1\)"),
        (lambda a: scorch.reorder(a, True), ValueError, "pair of permutations, got True"),
        (lambda a: scorch.Format(["dense", "compressed"], order=1), TypeError, "order: expected a sequence"),
        (lambda a: scorch.Format(["dense", "compressed"], block=2), TypeError, "block: expected a sequence"),
        (lambda a: scorch.sparse(a, ["csr", 5]), TypeError, 'level kinds such as "dense" .*, got 5 at 1'),
        (lambda a: scorch.Format([["a"]]), TypeError, r"expected level kinds .*, got \['a'\] at 0"),
        (lambda a: torch.block_diag(a, 3), TypeError, "expected a tensor, got int"),
        (lambda a: torch.tensordot(a, 3, 1), TypeError, "expected a tensor, got int"),
        (lambda a: scorch.collate([]), ValueError, "collate: expected samples, got an empty batch"),
        (lambda a: scorch.dynamic(torch.eye(2), tile=2.0), ValueError, r"expected tile=\(rows, columns\)"),
        (lambda a: a.to_sparse_bsr(1e3), TypeError, r"expected blocksize=\(rows, columns\), got 1000.0"),
        (lambda a: a.to_sparse_bsr((1, 1, 1)), TypeError, r"expected blocksize=\(rows, columns\)"),
        (lambda a: a.transpose(0, 2), IndexError, "dimension 2 is out of range for 2 dimensions"),
        (lambda a: scorch.coo(None), TypeError, "expected a tensor, .* got NoneType"),
        (lambda a: scorch.coo("ab"), TypeError, "expected a tensor, .* got str"),
        (lambda a: scorch.coo([[-3]]), ValueError, r"indices\[0, 0\]: expected 0 <= index < 0, got -3"),
        (lambda a: scorch.from_edge_index(iter(EDGES)), TypeError, r"expected a tensor, .* got \w*iterator"),
        (lambda a: scorch.sample_neighbors(a, None, [1]), TypeError, "expected a tensor, .* got NoneType"),
        (lambda a: scorch.reorder(a, (None, None)), TypeError, "expected a tensor, .* got NoneType"),
        (lambda a: a["b"], TypeError, "expected a tensor, .* got str"),
        (
            lambda a: scorch.from_components("csr", (2, 2), None, [], a),
            TypeError,
            "pos: expected a list, .*None",
        ),
        (
            lambda a: scorch.coo(torch.zeros(3, 0).long(), torch.zeros(0), (2**33, 2**31, 0)),
            ValueError,
            r"less than 2\^63 beside an extent of 0",
        ),
        (
            lambda a: scorch.sparse(a, f"dense(0), compressed({'9' * 40})"),
            ValueError,
            "dimensions from 0 to 7, got a number of 40 digits",
        ),
        (lambda a: a.tune(3), TypeError, "tune: expected a function of the tensor, .* got 3"),
        (lambda a: a.spy(3), TypeError, "spy: expected axes of matplotlib, got int"),
        (lambda a: a.plan(-1), ValueError, "plan: expected a number of columns, got -1"),
        (
            lambda a: scorch.nn.Linear(4, 3, density=None),
            ValueError,
            r"expected a number in \(0, 1\], got None",
        ),
        (
            lambda a: scorch.sparsify(scorch.nn.Linear(4, 3), density="a", measure=False),
            ValueError,
            "expected density between 0 and 1, got a",
        ),
        (
            lambda a: scorch.coo([[0]], torch.nested.nested_tensor([torch.ones(1)])),
            TypeError,
            "nested tensor",
        ),
        (
            lambda a: scorch.einsum("ij,j->i", a, torch.nested.nested_tensor([torch.ones(2)])),
            TypeError,
            "nested tensors hold several: pad them",
        ),
        (
            lambda a: scorch.einsum(
                "ij,j->i", a, torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
            ),
            TypeError,
            r"call .dequantize\(\) first",
        ),
        (
            lambda a: scorch.evaluate("R[i,j] = a * A[i,j]", A=a, a=1j),
            TypeError,
            "expected real numbers and tensors, got 1j",
        ),
        (lambda a: scorch.evaluate(" "), ValueError, "expected an assignment, such as"),
    ],
)
def test_arguments_of_a_wrong_kind_are_named(f, error, match):
    with pytest.raises(error, match=match):
        f(scorch.sparse(torch.eye(2)))


class Labelled:
    """As a Series or a DataFrame of pandas, of which items are found by label."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        self.array.flags.writeable = False
        return self.array

    def __len__(self):
        return len(self.array)

    def __getitem__(self, label):
        raise KeyError(label)


def test_objects_that_are_arrays():
    r, c, v = np.array([0, 2]), np.array([1, 2]), np.array([3.0, 2.0])
    a = scorch.coo((Labelled(r), Labelled(c)), Labelled(v), (3, 3))
    assert torch.equal(a.to_dense(), scorch.coo((r, c), v, (3, 3)).to_dense())
    x, y = np.arange(3.0), np.arange(6.0).reshape(3, 2)
    assert torch.equal(a @ Labelled(x), a @ torch.arange(3.0).double())
    assert torch.equal(a @ Labelled(y), a @ torch.tensor(y.tolist()).double())
    assert torch.equal(scorch.einsum("ij,j->i", a, Labelled(x)), a @ torch.arange(3.0).double())
    assert torch.equal((a * Labelled(x)).to_dense(), a.to_dense() * torch.arange(3.0))
    assert torch.equal(a[Labelled(r)].to_dense(), a.to_dense()[[0, 2]])
    assert torch.equal(scorch.sparse(Labelled(y)).to_dense(), torch.tensor(y.tolist()).double())


def test_values_that_require_a_gradient_go_to_coo():
    i, w = torch.tensor([[0, 1], [1, 0]]), torch.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match=r"make it by scorch.coo\(indices, values, shape\)"):
        scorch.sparse(torch.sparse_coo_tensor(i, w, (2, 2)))
    (scorch.coo(i, w, (2, 2)) @ torch.ones(2, 1)).sum().backward()
    assert w.grad.tolist() == [1, 1]


@pytest.mark.parametrize("format", ["auto", "coo", "csc"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("index", ["sorted", "shuffled", "repeated", "none"])
def test_values_that_require_a_gradient_are_placed_by_the_core(index, dtype, format, monkeypatch):
    monkeypatch.setattr("scorch.tensor.coordinates.distinct", None)
    i = {
        "sorted": [[0, 0, 1, 3], [0, 2, 1, 2]],
        "shuffled": [[3, 0, 1, 0], [2, 2, 1, 0]],
        "repeated": [[3, 0, 3, 0, 3], [2, 1, 2, 1, 0]],
        "none": [[], []],
    }[index]
    i, v = torch.tensor(i).long(), torch.arange(1, len(i[0]) + 1).to(dtype)
    w, x = (torch.nn.Parameter(v.clone()) for _ in range(2))
    a = scorch.coo(i, w, (4, 3), format)
    dense = torch.zeros(4, 3, dtype=dtype).index_put((i[0], i[1]), x, accumulate=True)
    first = [torch.autograd.grad((y**2).sum(), z, create_graph=True)[0] for y, z in ((a, w), (dense, x))]
    second = [torch.autograd.grad((g**2).sum(), z)[0] for g, z in zip(first, (w, x), strict=True)]
    assert torch.equal(a.to_dense(), dense)
    assert torch.equal(*first)
    assert torch.equal(*second)
    with torch.no_grad():
        w.zero_()
    assert torch.equal(a.to_dense(), dense)  # its values are its own


def test_repeated_entries_of_many_dimensions_pass_on_gradients():
    i, w = torch.tensor([[1, 0, 1], [0, 1, 0], [1, 1, 1]]), torch.tensor([1.0, 2, 3], requires_grad=True)
    a = scorch.coo(i, w, (2, 2, 2))
    (g,) = torch.autograd.grad((a * a).sum(), w)
    assert a.values().tolist() == [2, 4]
    assert g.tolist() == [8, 4, 8]

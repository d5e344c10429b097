"""What people ask torch.sparse for and do not get, a test each (gradients in depth: test_gradients.py)."""

import copy

import pytest
import torch
import torch.nn.functional as F

import scorch


def matrix(rows=6, cols=5, seed=0, dtype=torch.float32):
    g = torch.Generator().manual_seed(seed)
    values = torch.randint(1, 9, (rows, cols), generator=g)
    return (values * (torch.rand(rows, cols, generator=g) < 0.5)).to(dtype)


def same(got, wanted):
    torch.testing.assert_close(got.to_dense() if scorch.is_sparse(got) else got, wanted)


@pytest.fixture
def dense():
    return matrix()


@pytest.fixture
def a(dense):
    return scorch.sparse(dense, "csr")


def test_softmax_of_csr(a, dense):
    same(torch.softmax(a, -1), torch.softmax(dense.masked_fill(dense == 0, -torch.inf), -1).nan_to_num(0))


def test_slices_and_rows_of_csr(a, dense):
    same(a[1:4], dense[1:4])
    same(a[2], dense[2])
    same(a[torch.tensor([4, 0, 4])], dense[[4, 0, 4]])
    same(a[:, 1:3], dense[:, 1:3])
    same(a[dense.sum(1) > 5], dense[dense.sum(1) > 5])


def test_cat_and_stack_of_csr(a, dense):
    for dim in (0, 1):
        same(torch.cat([a, 2 * a], dim), torch.cat([dense, 2 * dense], dim))
        same(torch.stack([a, 2 * a], dim), torch.stack([dense, 2 * dense], dim))


def test_bfloat16_of_csr(a, dense):
    x = torch.ones(5, 3, dtype=torch.bfloat16)
    same(a.bfloat16() @ x, dense.bfloat16() @ x)


def test_batches_of_csr_with_unequal_nnz(dense):
    parts = [scorch.sparse(matrix(seed=k), "csr") for k in range(3)]
    batch = torch.stack(parts)
    assert len({p.nnz for p in parts}) > 1 and batch.format == scorch.Format(["dense", "dense", "compressed"])
    x = torch.ones(3, 5, 2)
    same(torch.bmm(batch, x), torch.bmm(batch.to_dense(), x))


def test_adding_a_row_vector(a, dense):
    row = torch.arange(5.0)
    same(a + row, dense + row)
    same(a * row, dense * row)


def test_exp_of_stored_values(a, dense):
    same(scorch.map(a, torch.exp), torch.where(dense != 0, dense.exp(), 0))


def test_deepcopy_of_a_module_with_a_sparse_buffer(a, dense):
    module = torch.nn.Module()
    module.register_buffer("a", a)
    same(copy.deepcopy(module).a, dense)


def test_adam_on_sparse_weights(a):
    p = torch.nn.Parameter(a.clone(), requires_grad=False)
    p.grad = p.clone()
    torch.optim.Adam([p], lr=0.5).step()
    same(p.values(), a.values() - 0.5)


def test_share_memory(a):
    assert a.clone().share_memory_().is_shared()


def test_vmap_over_the_dense_side(a, dense):
    x = torch.arange(30.0).view(3, 5, 2)
    same(torch.func.vmap(lambda y: a @ y)(x), dense @ x)


def test_int32_coo(dense):
    a = scorch.sparse(dense, "coo", index_dtype=torch.int32)
    assert a.crd(0).dtype == torch.int32
    same(a @ torch.ones(5, 2), dense @ torch.ones(5, 2))
    same(scorch.sparse(dense.int(), "coo").sum(1), dense.int().sum(1))


def test_sum_and_amax_over_a_dimension(a, dense):
    for dim in (0, 1):
        same(a.sum(dim), dense.sum(dim))
        same(a.amax(dim), dense.amax(dim))
        same((-a).amax(dim), (-dense).amax(dim))


def test_compile_of_a_function_that_takes_a_sparse_tensor(a, dense):
    f = torch.compile(lambda m, x: F.relu(m @ x) * 2, fullgraph=True, backend="aot_eager")
    same(f(a, torch.ones(5, 3)), F.relu(dense @ torch.ones(5, 3)) * 2)


def test_gradient_of_csr_times_csr(a, dense):
    p, q = a.clone().requires_grad_(), dense.clone().requires_grad_()
    (p @ a.T).to_dense().square().sum().backward()
    (q @ dense.T).square().sum().backward()
    same(p.grad, q.grad * (dense != 0))


def test_adam_trains_sparse_weights(a, dense):
    p, x = torch.nn.Parameter(a.clone()), torch.ones(5, 2)
    steps = torch.optim.Adam([p], lr=0.1)
    before = (p.detach() @ x).square().sum()
    for _ in range(5):
        steps.zero_grad()
        (p @ x).square().sum().backward()
        steps.step()
    assert (p.detach() @ x).square().sum() < before and p.nnz == a.nnz


def test_products_of_two_sparse_matrices(a, dense):
    same(a @ a.T, dense @ dense.T)

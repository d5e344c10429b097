"""Layouts with values of their own see every write to values, also where they do not look at these again."""

import copy
import ctypes
import gc
import io
import pickle

import numpy
import pytest
import torch

import scorch

N = 20_000


def band() -> scorch.SparseTensor:
    """Three diagonals, 240 KB of values, multiplied often: in slices of diagonals."""
    i = torch.arange(N)
    at = torch.stack([i.repeat(3), torch.cat([i, (i + 1) % N, (i + 5) % N])])
    A = scorch.coo(at, torch.arange(1.0, 3 * N + 1), (N, N), format="csr").optimize(calls=1000)
    multiply(A)
    assert "dia" in str(A.memory())
    return A


def multiply(A: scorch.SparseTensor, rtol: float = 0) -> None:
    """Compares with the stored values, twice: what is found by a look holds for the next product.

    Nothing is handed out for it, so that what was written before is all there is to see.
    """
    x = (torch.arange(N) % 5).float()
    at, values = A.indices().long(), A._val.double()
    plain = torch.zeros(N, dtype=torch.float64).index_add_(0, at[0], values * x[at[1]].double())
    for _ in range(2):
        torch.testing.assert_close((A @ x).detach().double(), plain, rtol=rtol, atol=0)


def past_torch(values: torch.Tensor) -> None:
    values.numpy()[7] += 3


def by_address(values: torch.Tensor) -> None:
    ctypes.cast(values.data_ptr(), ctypes.POINTER(ctypes.c_float))[11] += 5


def by_dlpack(values: torch.Tensor) -> None:
    torch.from_dlpack(values).data.add_(1)


def by_memory(values: torch.Tensor) -> None:
    torch.empty(0).set_(values.untyped_storage(), 0, values.shape)[3] = 9


WRITES = {
    "data": lambda v: v.data.add_(2),
    "numpy": past_torch,
    "address": by_address,
    "dlpack": by_dlpack,
    "memory": by_memory,
    "torch": lambda v: v.mul_(2),
    "inference": lambda v: torch.inference_mode()(lambda: v.sub_(1))(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_values_are_written_with(write):
    A = band()
    x = torch.rand(N)
    for _ in range(2):
        write(A.values())
        multiply(A)
        held = A.values()
        A @ x  # with somebody who holds the values
        write(held)
        multiply(A)
        del held
        A @ x
        write(A.detach().values())
        multiply(A)
        write(A.T.values())
        multiply(A)


def test_what_keeps_the_memory():
    A = band()
    array, view, twin = A.values().numpy(), A.values()[100:], A.to_torch(torch.sparse_csr)
    array[0] = 2
    multiply(A)
    view.numpy().fill(3)
    multiply(A)
    twin.values().data.add_(1)
    multiply(A)
    scipy = A.to_scipy()
    del array, view, twin
    gc.collect()
    scipy.data[5] = 8
    multiply(A)
    scipy.data *= 2
    multiply(A)


def test_what_a_tensor_was_made_of():
    """Arrays of the caller, who writes to them and drops them."""
    A = band()
    values = A.values().clone()
    B = scorch.from_components("csr", (N, N), [None, A.pos(1)], [None, A.crd(1)], values).optimize(calls=1000)
    multiply(B)
    for _ in range(2):
        values.numpy()[2] += 1
        multiply(B)
        values.data.add_(1)
        multiply(B)
    array = A.values().numpy().copy()
    parts = [None, A.pos(1)], [None, A.crd(1)], torch.from_numpy(array)
    C = scorch.from_components("csr", (N, N), *parts).optimize(calls=1000)
    del parts
    multiply(C)
    array[4] = -3
    multiply(C)
    torchs = A.clone().to_torch(torch.sparse_csr)
    D = scorch.sparse(torchs).optimize(calls=1000)
    multiply(D)
    torchs.values().numpy()[9] = 1
    multiply(D)
    del torchs
    multiply(D)


def test_what_the_library_writes():
    A = band()
    for change in (
        lambda: A.mul_(2),
        lambda: A.data.mul_(3),
        lambda: A.detach().mul_(2),
        lambda: A.data.values().data.add_(1),
        lambda: A.copy_(A * 0.5),
        lambda: A.__setitem__((0, 0), 4),
        lambda: torch._foreach_mul_([A], 2.0),
        lambda: scorch.map(A, lambda v: (past_torch(v), v)[1]),
    ):
        change()
        multiply(A)


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
@pytest.mark.parametrize("how", [{}, {"fused": True}, {"foreach": True}])
def test_optimizers(kind, how):
    P = torch.nn.Parameter(band())
    step = kind([P], lr=1000.0, **how)
    for _ in range(2):
        P.grad = P.detach() * 2
        step.step()
        multiply(P, rtol=1e-6)


def test_copies_and_saves():
    A = band()
    file = io.BytesIO()
    torch.save(A, file)
    file.seek(0)
    for B in (copy.copy(A), copy.deepcopy(A), A.clone(), torch.load(file)):
        B.optimize(calls=1000)
        multiply(B)
        B.values().numpy()[1] = 77
        multiply(B)
        multiply(A)


def test_another_tensor_in_the_same_place():
    """Values that are freed, and others where they were, of one structure."""
    A = band()
    x = (torch.arange(N) % 5).float()
    whole = A @ x
    for k in range(1, 7):
        B = scorch.evaluate("B[i,j] = k * A[i,j]", A=A, k=torch.tensor(float(k)))
        assert torch.equal(B @ x, whole * k)
        assert torch.equal(B @ x, whole * k)
        del B


def test_shared_memory():
    A = band()
    A.share_memory_()
    multiply(A)
    memory = numpy.frombuffer(
        (ctypes.c_float * A.nnz).from_address(A.values().data_ptr()), dtype=numpy.float32
    )
    memory[5] = 1
    multiply(A)
    A @ torch.rand(N)
    memory[6] = 2  # as another process does
    multiply(A)


def test_a_look_is_spared():
    """What is written to an address that was kept, without a tensor, is what docs/limits.md warns of."""
    A, x = band(), torch.ones(N)
    address = A.values().data_ptr()
    before = A @ x
    ctypes.cast(address, ctypes.POINTER(ctypes.c_float))[0] += 5
    assert torch.equal(A @ x, before)
    A.values()
    assert not torch.equal(A @ x, before)


@pytest.mark.parametrize("format", ["csr", "csr of rows(> 1) + csr"])
def test_what_users_set_on_a_tensor_goes_with_its_copies(format):
    for kind in (lambda a: a, torch.nn.Parameter):
        A, t = kind(scorch.sparse(torch.eye(3)).convert(format)), kind(torch.eye(3))
        for x in (A, t):
            x.label, x.scale = "weight", [torch.ones(2)]
        file = io.BytesIO()
        torch.save(A, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=True)
        for B, u in zip(
            (copy.copy(A), copy.deepcopy(A), pickle.loads(pickle.dumps(A)), loaded),
            (copy.copy(t), copy.deepcopy(t), pickle.loads(pickle.dumps(t)), pickle.loads(pickle.dumps(t))),
            strict=True,
        ):
            assert hasattr(B, "label") == hasattr(u, "label") and torch.equal(B.to_dense(), u)
            assert not hasattr(u, "label") or (B.scale is A.scale) == (u.scale is t.scale)
        A.data = A.data * 2
        assert A.label == "weight"
    facts = A.__reduce_ex__(2)[1]
    assert scorch._saved._rebuild_v1(*facts[:5]).format == A.format  # as files of before have it
    assert scorch._saved._rebuild_v1(*facts[:5], {"_fmt": "csc"}).format == A.format

"""Suites around products: models, SpMM, its neighbours, conversions, the cost of a call."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from statistics import median

import torch

import scorch
from benchmarks.attention import attention
from benchmarks.data import DENSE_SIDE, SIZES, WIDTHS, ZEROS, Case, adjacency, citation, graphs, int32, title
from benchmarks.peers import MklMatrix, mkl, scipy_sparse
from examples.timing import Time


def gcn(root: str | None) -> Iterator[Case]:
    """Two-layer GCN inference, hidden 16: torch as people write it, torch at its best, Scorch."""
    for name in SIZES:
        graph = citation(name, root)
        nodes, X = graph.x.shape[0], graph.x
        W1, W2 = torch.randn(X.shape[1], 16), torch.randn(16, graph.classes)
        csr, x_csr = adjacency(graph.edge_index, nodes), X.to_sparse_csr()
        ours = scorch.from_edge_index(graph.edge_index, num_nodes=nodes, add_self_loops=True, normalize="sym")
        inputs = {
            "torch CSR, X dense": (csr, X),
            "torch COO": (csr.to_sparse_coo().coalesce(), X.to_sparse_coo()),
            "torch CSR i64": (csr, x_csr),
            "torch CSR i32": (int32(csr), int32(x_csr)),
            "Scorch": (ours, scorch.sparse(X, format="csr")),
        }
        calls = {
            n: (lambda A=A, X=X, V=W1, W=W2: A @ (torch.relu(A @ (X @ V)) @ W))
            for n, (A, X) in inputs.items()
        }
        yield Case(title(name, graph), calls, {"Scorch": tuple(inputs)[:-1]})


def spmm(root: str | None) -> Iterator[Case]:
    """A @ x over graphs and widths; "kept" and "out=" write into a result allocated once."""
    for name, csr in graphs(root):
        csr32 = int32(csr)
        A = scorch.sparse(csr32)
        for width in WIDTHS:
            yield _product(f"{name}, {width}", csr, csr32, A, width)


def _product(name: str, csr: torch.Tensor, csr32: torch.Tensor, A: torch.Tensor, width: int) -> Case:
    x = torch.randn(csr.shape[1], width)
    out = torch.empty(csr.shape[0], width)
    calls = {"torch CSR i64": lambda: csr @ x, "torch CSR i32": lambda: csr32 @ x}
    against = {"Scorch": ("torch CSR i64", "torch CSR i32")}
    if mkl():
        handle = MklMatrix(csr, width)
        calls |= {"MKL": lambda: handle.mm(x), "MKL kept": lambda: handle.mm(x, out)}
        against = {"Scorch": (*against["Scorch"], "MKL"), "Scorch out=": ("MKL kept",)}
    calls |= {"Scorch": lambda: A @ x, "Scorch out=": lambda: scorch.einsum("ij,jk->ik", A, x, out=out)}
    traffic = 8 * csr._nnz() + 4 * (x.numel() + out.numel())
    return Case(name, calls, against, flops=2 * csr._nnz() * width, traffic=traffic)


def neighbours(root: str | None) -> Iterator[Case]:
    """Expressions next to SpMM that nobody tuned, against SpMM itself."""
    for name, csr in graphs(root):
        A, rows, columns = scorch.sparse(int32(csr)), torch.randn(csr.shape[0]), torch.randn(csr.shape[1])
        for width in (16, 64, 128):
            x, scale = torch.randn(csr.shape[1], width), torch.randn(width)
            yield _neighbour(name, "ij,jk,k->ik", A, x, scale)
            yield _neighbour(name, "ij,jk,i->ik", A, x, rows)
            yield _neighbour(name, "ij,jk,j->ik", A, x, columns)
            yield _neighbour(name, "ji,jk->ik", A, x)


def _neighbour(name: str, text: str, A: torch.Tensor, x: torch.Tensor, *last: torch.Tensor) -> Case:
    calls = {
        "ij,jk->ik": lambda: scorch.einsum("ij,jk->ik", A, x),
        "neighbour": lambda: scorch.einsum(text, A, x, *last),
    }
    return Case(f"{text}, {name}, {x.shape[1]}", calls, {"neighbour": ("ij,jk->ik",)}, same=False)


def reorder(root: str | None) -> Iterator[Case]:
    """A @ x with rows and columns in other orders, everything kept in that order, against the order given."""
    for name, csr in graphs(root):
        A = scorch.sparse(int32(csr))
        orders = {"as given": A} | {m: A.reorder(m).tensor for m in ("degree", "hub", "rcm")}
        for width in (16, 64):
            x = torch.randn(csr.shape[1], width)
            calls = {n: (lambda B=B, x=x: B @ x) for n, B in orders.items()}
            against = dict.fromkeys(list(orders)[1:], ("as given",))
            yield Case(f"{name}, {width}", calls, against, same=False)


def convert(root: str | None) -> Iterator[Case]:
    """Layout conversions, results fresh."""
    for zeros in ZEROS:
        yield from _dense_conversions(zeros)
    for name, csr in graphs(root):
        yield from _sparse_conversions(name, csr)


def _dense_conversions(zeros: float) -> Iterator[Case]:
    torch.manual_seed(0)
    dense = torch.randn(DENSE_SIDE, DENSE_SIDE) * (torch.rand(DENSE_SIDE, DENSE_SIDE) >= zeros)
    csr = dense.to_sparse_csr()
    yield _conversion(
        f"dense -> CSR, {zeros:.0%} zeros",
        dense.to_sparse_csr,
        lambda: scipy_sparse.csr_matrix(dense.numpy()),
        lambda: scorch.sparse(dense, format="csr"),
    )
    yield _conversion(
        f"dense -> COO, {zeros:.0%} zeros",
        dense.to_sparse_coo,
        lambda: scipy_sparse.coo_matrix(dense.numpy()),
        lambda: scorch.sparse(dense, format="coo"),
    )
    scipy, ours = _scipy(csr), scorch.sparse(csr)
    yield _conversion(
        f"CSR -> dense, {zeros:.0%} zeros", csr.to_dense, lambda: scipy.toarray(), ours.to_dense
    )
    yield _conversion(
        f"CSR -> BSR(4,4), {zeros:.0%} zeros",
        lambda: csr.to_sparse_bsr((4, 4)),
        lambda: scipy.tobsr((4, 4)),
        lambda: ours.convert("bsr(4,4)"),
    )


def _sparse_conversions(name: str, csr: torch.Tensor) -> Iterator[Case]:
    index = csr.to_sparse_coo().indices()
    shuffle = torch.randperm(index.shape[1])
    index, values = index[:, shuffle], csr.values()[shuffle]
    coo = torch.sparse_coo_tensor(index, values, csr.shape)
    triplets = values.numpy(), tuple(index.numpy())
    yield _conversion(
        f"COO unsorted -> CSR, {name}",
        coo.to_sparse_csr,
        lambda: scipy_sparse.coo_matrix(triplets, csr.shape).tocsr(),
        lambda: scorch.sparse(coo, format="csr"),
    )
    scipy, ours = _scipy(csr), scorch.sparse(csr)
    yield _conversion(
        f"CSR -> CSC, {name}", csr.to_sparse_csc, lambda: scipy.tocsc(), lambda: ours.convert("csc")
    )
    yield _conversion(
        f"CSR -> COO, {name}", csr.to_sparse_coo, lambda: scipy.tocoo(copy=False), lambda: ours.convert("coo")
    )
    triples, listed = csr.to_sparse_coo().coalesce(), ours.convert("coo")
    scipy_coo = scipy_sparse and scipy.tocoo()
    yield _conversion(
        f"COO sorted -> CSR, {name}",
        triples.to_sparse_csr,
        lambda: scipy_coo.tocsr(),
        lambda: listed.convert("csr"),
    )


def _conversion(name: str, torch_call: Callable, scipy_call: Callable, scorch_call: Callable) -> Case:
    peers = {"torch": torch_call, **({"SciPy": scipy_call} if scipy_sparse else {})}
    return Case(name, {**peers, "Scorch": scorch_call}, {"Scorch": tuple(peers)})


def _scipy(csr: torch.Tensor):
    """The same arrays as a SciPy matrix, or None without SciPy."""
    parts = csr.values().numpy(), csr.col_indices().numpy(), csr.crow_indices().numpy()
    return scipy_sparse and scipy_sparse.csr_matrix(parts, csr.shape)


def overhead(root: str | None) -> Iterator[Case]:
    """What a call, a new kernel and an import cost."""
    dense = torch.randn(10, 10) * (torch.rand(10, 10) < 0.3)
    x, csr, coo, A = torch.randn(10, 10), dense.to_sparse_csr(), dense.to_sparse_coo(), scorch.sparse(dense)
    calls = {
        "torch dense": lambda: torch.mm(dense, x),
        "torch CSR": lambda: csr @ x,
        "torch COO": lambda: coo @ x,
        "Scorch": lambda: A @ x,
    }
    yield Case("A @ x, 10 x 10", calls, {"Scorch": tuple(calls)[:3]})
    folders = [tempfile.TemporaryDirectory() for _ in range(5)]
    for name, way in (("kernel compiled", "compiled"), ("kernel in the disk cache", "from_disk")):
        first = _processes(_NEW_KERNEL.format(way=way), folders)
        yield Case(f"first A @ x, {name}", measured={"Scorch": first})
    imports = {name: _processes(_IMPORT.format(name=name), folders) for name in ("torch", "scorch")}
    yield Case("import", measured={"import torch": imports["torch"], "then import scorch": imports["scorch"]})


_NEW_KERNEL = """
import torch, scorch, time
A = scorch.sparse(torch.eye(64, dtype=torch.float64), format="csr")
x = torch.rand(64, 37, dtype=torch.float64)
start = time.perf_counter()
A @ x
print(time.perf_counter() - start)
assert scorch.stats()["{way}"], scorch.stats()
"""
_IMPORT = """
import time
if "{name}" != "torch":
    import torch
start = time.perf_counter()
import {name}
print(time.perf_counter() - start)
"""


def _processes(script: str, folders: list[tempfile.TemporaryDirectory]) -> Time:
    """The script's own time, one fresh process a cache folder."""
    seconds = []
    for folder in folders:
        env = {**os.environ, "SCORCH_CACHE_DIR": folder.name}
        done = subprocess.run(
            [sys.executable, "-c", script], env=env, check=True, stdout=subprocess.PIPE, text=True
        )
        seconds.append(float(done.stdout))
    return Time(min(seconds), median(seconds), len(seconds))


SUITES = {suite.__name__: suite for suite in (gcn, spmm, neighbours, overhead, convert, reorder, attention)}

"""Minibatches: rows and columns of a graph, and neighbours that are drawn."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch

import scorch
from benchmarks import data
from benchmarks.data import Case
from benchmarks.peers import scipy_sparse

NODES = (100, 1000, 10_000, 100_000)
SEEDS, FANOUTS = (128, 1024), (10, 5)


def _subgraph() -> Callable | None:
    """Edges between nodes, as torch_geometric finds them without compiled parts."""
    try:
        from torch_geometric.utils import subgraph
    except ImportError:
        return None
    return subgraph


def _hops() -> Callable | None:
    try:
        from torch_geometric.utils import k_hop_subgraph
    except ImportError:
        return None
    return k_hop_subgraph


def drawn(pos: torch.Tensor, crd: torch.Tensor, seeds: torch.Tensor, fanouts: tuple[int, ...]) -> list:
    """Neighbours with replacement, by torch: [targets, fanout] numbers of sources, and the sources."""
    layers, nodes = [], seeds
    for fanout in fanouts:
        low, degree = pos[nodes], pos[nodes + 1] - pos[nodes]
        at = (torch.rand(len(nodes), fanout) * degree[:, None]).long().clamp_(max=degree.max() - 1)
        found = crd[(low[:, None] + at).clamp_(max=len(crd) - 1)]
        nodes, place = torch.unique(torch.cat([nodes, found.view(-1)]), return_inverse=True)
        layers.append((place[-found.numel() :].view(found.shape), nodes))
    return layers


def _sliced(m: "scipy_sparse.csr_matrix", i: np.ndarray) -> "scipy_sparse.csr_matrix":
    return m[i][:, i]


def _submatrices(name: str, A: scorch.SparseTensor, edges: torch.Tensor) -> Iterator[Case]:
    m, subgraph, weight = A.to_scipy(), _subgraph(), A.values()
    for n in NODES:
        if n > A.shape[0] // 2:
            continue
        nodes = torch.randperm(A.shape[0])[:n]
        for order, kind in ((nodes.sort()[0], "in order"), (nodes, "at random")):
            calls: dict[str, Callable] = {}
            if scipy_sparse is not None:
                calls["SciPy"] = partial(_sliced, m, order.numpy())
            if subgraph:
                calls["torch_geometric subgraph"] = partial(
                    subgraph, order, edges, weight, relabel_nodes=True, num_nodes=A.shape[0]
                )
            peers = tuple(calls)
            calls["Scorch"] = partial(A.submatrix, order, order)
            yield Case(f"{name}, {n} nodes {kind}", calls, {"Scorch": peers}, same=False, each=True)


def _samples(name: str, A: scorch.SparseTensor, edges: torch.Tensor) -> Iterator[Case]:
    pos, crd, hops = A.pos(1).long(), A.crd(1).long(), _hops()
    for n in SEEDS:
        seeds = torch.randperm(A.shape[0])[:n]
        sample = partial(scorch.sample_neighbors, A, seeds)
        if hops:
            calls = {"torch_geometric k_hop_subgraph": partial(hops, seeds, 1, edges, True, A.shape[0])}
            calls["Scorch"] = partial(sample, [-1])
            yield Case(
                f"{name}, {n} seeds, all neighbours",
                calls,
                {"Scorch": tuple(calls)[:1]},
                same=False,
                each=True,
            )
        again = "torch, with replacement"
        calls = {
            again: partial(drawn, pos, crd, seeds, FANOUTS[::-1]),
            "Scorch, with replacement": partial(sample, FANOUTS, replace=True),
            "Scorch": partial(sample, FANOUTS),
            "Scorch, weighted": partial(sample, FANOUTS, weighted=True),
        }
        against = {"Scorch, with replacement": (again,), "Scorch": (again,)}
        yield Case(f"{name}, {n} seeds, {FANOUTS[1]} and {FANOUTS[0]}", calls, against, same=False, each=True)


def minibatches(root: str | None) -> Iterator[Case]:
    """Submatrices, then neighbours: all of one hop, and two fan-outs."""
    torch.manual_seed(0)
    graphs = [(name, scorch.sparse(csr, index_dtype=torch.int32)) for name, csr in data.graphs(root)]
    for cases in (_submatrices, _samples):
        for name, A in graphs:
            yield from cases(name, A, A.indices().flip(0).long())


SUITES = {"minibatches": minibatches}

"""What suites share: the shape of a case, and the data.

`against` names, for each of Scorch's calls, the peers it is fairly compared with: fresh results with fresh
ones, results written into a kept tensor with the same.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch

from examples import planetoid
from examples.timing import Time

WIDTHS = (3, 7, 16, 33, 64, 128, 256)
SIZES = {  # what is generated where the files are not at hand
    "cora": {"nodes": 2708, "edges": 5278, "features": 1433, "density": 0.0127, "classes": 7},
    "citeseer": {"nodes": 3327, "edges": 4552, "features": 3703, "density": 0.0085, "classes": 6},
    "pubmed": {"nodes": 19717, "edges": 44324, "features": 500, "density": 0.1, "classes": 3},
}
POWER_LAW = (169_343, 1_320_000)  # nodes and undirected edges: 2.8 million entries with the diagonal
DENSE_SIDE, ZEROS = 4096, (0.5, 0.9, 0.99)


@dataclass
class Case:
    name: str
    calls: dict[str, Callable[[], object]] = field(default_factory=dict)
    against: dict[str, tuple[str, ...]] = field(default_factory=dict)
    measured: dict[str, Time] = field(default_factory=dict)  # times taken in processes of their own
    same: bool = True  # the calls compute the same
    each: bool = False  # ratios are shown for each peer, not for the best
    flops: float = 0  # of the multiply-adds on stored values, two each
    traffic: float = 0  # bytes of every operand and the result, once


# ---- data ----
def citation(name: str, root: str | None) -> planetoid.Graph:
    return (
        planetoid.planetoid(name, root) if planetoid.find(name, root) else planetoid.synthetic(**SIZES[name])
    )


def adjacency(edge_index: torch.Tensor, nodes: int) -> torch.Tensor:
    """The GCN-normalised adjacency with self-loops, a torch CSR tensor with int64 indices."""
    index = torch.cat([edge_index, torch.arange(nodes).expand(2, -1)], 1)
    scale = torch.bincount(index[0], minlength=nodes).float().rsqrt()
    coo = torch.sparse_coo_tensor(index, scale[index[0]] * scale[index[1]], (nodes, nodes))
    return coo.coalesce().to_sparse_csr()


def power_law() -> torch.Tensor:
    nodes, edges = POWER_LAW
    pairs = planetoid.edges_power_law(nodes, edges, np.random.RandomState(0).randint(40, size=nodes))
    pairs = torch.from_numpy(pairs).T
    return adjacency(torch.cat([pairs, pairs.flip(0)], 1), nodes)


def graphs(root: str | None) -> Iterator[tuple[str, torch.Tensor]]:
    for name in SIZES:
        graph = citation(name, root)
        yield title(name, graph), adjacency(graph.edge_index, len(graph.x))
    yield "power law 169k", power_law()


def int32(csr: torch.Tensor) -> torch.Tensor:
    return torch.sparse_csr_tensor(csr.crow_indices().int(), csr.col_indices().int(), csr.values(), csr.shape)


def title(name: str, graph: planetoid.Graph) -> str:
    return graph.name if graph.name.lower() == name else f"{planetoid.NAMES[name]}-sized"

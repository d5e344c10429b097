"""Where the rows of a matrix are cut, and what that costs: counted, in one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from .._torch import as_tensor
from ..tensor.coordinates import coo
from ..tensor.entries import unpadded
from ..tensor.sparsetensor import SparseTensor
from ..tools.reorder import reorder

ORDERS = ("metis", "rcm", "degree", "hub")


# ---- cuts ----
def cut_rows(entries: torch.Tensor, ranks: int, cut: str | Sequence[int] = "nnz") -> torch.Tensor:
    """Where each of so many ranks begins, [ranks + 1] int64: rank r has rows ``cut[r]`` to ``cut[r + 1]``.

    Args:
        entries: [m] how many entries each row has.
        ranks: how many parts.
        cut: "nnz": about as many entries each, a row counting as one more; "rows": as many rows; or how many
            rows each rank has.

    Raises: ValueError: parts that do not sum to the rows, or another word.

    >>> scorch.distributed.cut_rows(torch.tensor([1, 1, 4, 2]), 2)
    tensor([0, 2, 4])
    """
    rows = len(entries)
    if ranks < 1:
        raise ValueError(f"cut: expected at least one rank, got {ranks}")
    if isinstance(cut, str):
        if cut not in ("nnz", "rows"):
            raise ValueError(f'cut: expected "nnz", "rows" or the rows of each rank, got {cut!r}')
        weight = entries.long() + 1 if cut == "nnz" else torch.ones(rows, dtype=torch.long, device="cpu")
        before = torch.cat([torch.zeros(1, dtype=torch.long, device="cpu"), weight.cumsum(0)])
        if not rows:
            return torch.zeros(ranks + 1, dtype=torch.long, device="cpu")
        wanted = torch.arange(1, ranks, dtype=torch.float64, device="cpu") * int(before[-1]) / ranks
        at = torch.searchsorted(before.double(), wanted).clamp(1, rows)
        at -= (wanted - before[at - 1] < before[at] - wanted).long()  # the nearer one of two
        return torch.cat(
            [torch.zeros(1, dtype=torch.long, device="cpu"), at, torch.tensor([rows], device="cpu")]
        )
    sizes = [int(n) for n in cut]
    if len(sizes) != ranks or min(sizes) < 0 or sum(sizes) != rows:
        raise ValueError(f"cut: expected {ranks} numbers of rows that sum to {rows}, got {sizes}")
    return torch.tensor([0, *sizes], device="cpu").cumsum(0)


# ---- partitions ----
class Partition(NamedTuple):
    """An order of nodes and its parts: ``order[i]`` is the node that comes at place i, int64; ``sizes``: the
    nodes of each part, or None where the order says no more than that near ones are near.

    >>> A = scorch.sparse(torch.tensor([[0., 1., 0.], [1., 0., 0.], [0., 0., 0.]]), "csr")
    >>> scorch.distributed.partition(A, 2, "degree")
    Partition(order=tensor([0, 1, 2]), sizes=None, method='degree')
    """

    order: torch.Tensor
    sizes: list[int] | None
    method: str


def _metis(A: SparseTensor, parts: int) -> Partition | None:
    """Parts of about as many entries, by METIS."""
    try:
        import pymetis
    except ImportError:
        return None
    A = unpadded(A)
    edges = A.indices().long()
    edges = torch.cat([edges, edges.flip(0)], 1)[:, torch.cat([edges[0] != edges[1]] * 2)]
    graph = coo(edges, torch.ones(edges.shape[1], device="cpu"), A.shape)
    pos, crd = graph.pos(1), graph.crd(1)
    weights = torch.bincount(A.indices()[0].long(), minlength=A.shape[0]) + 1
    adjacency = pymetis.CSRAdjacency(pos.tolist(), crd.tolist())
    part = as_tensor(pymetis.part_graph(parts, adjacency, vweights=weights.tolist())[1])
    order = part.argsort(stable=True)
    return Partition(order, torch.bincount(part, minlength=parts).tolist(), "metis")


def partition(A: SparseTensor, parts: int, method: str = "auto") -> Partition:
    """An order of the nodes of a graph in which neighbours are near, cut into parts if the method knows any.

    Args:
        A: [N, N]; where it is not symmetric, METIS sees edges in both directions.
        parts: how many.
        method: "metis", with pymetis, whose parts have about as many entries; "rcm", with SciPy; "degree" or
            "hub", of :func:`scorch.reorder`; "auto": METIS or else "rcm", if it is installed, else none.

    Raises:
        ImportError: what the method needs is not installed. ValueError: A is not square, or another word.

    >>> A = scorch.sparse(torch.tensor([[0., 0., 1.], [0., 0., 0.], [1., 0., 1.]]), "csr")
    >>> scorch.distributed.partition(A, 2, "degree").order
    tensor([2, 0, 1])
    """
    if A._ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"partition: expected a graph, a square matrix, got shape {tuple(A.shape)}")
    if method not in ("auto", *ORDERS):
        raise ValueError(f"partition: expected auto, {', '.join(ORDERS)}, got {method!r}")
    if method in ("auto", "metis"):
        if parts > 1 and (found := _metis(A.detach(), parts)) is not None:
            return found
        if method == "metis" and parts > 1:
            raise ImportError('partition: "metis" needs pymetis: pip install pymetis, or use "rcm"')
    try:
        by = "rcm" if method == "auto" else method
        if method != "metis":
            return Partition(reorder(A.detach().convert("csr"), by).rows, None, by)
    except ImportError:
        if method != "auto":
            raise
    return Partition(torch.arange(A.shape[0], device="cpu"), None, "none")


# ---- counting ----
class Exchange(NamedTuple):
    """What a product with rows in many processes moves, counted in rows of x, [ranks] each.

    >>> A = scorch.from_edge_index(torch.tensor([[0, 1, 2, 0], [1, 0, 3, 2]]), num_nodes=4)
    >>> found = scorch.distributed.count_exchange(A, torch.tensor([0, 2, 4]))
    >>> found.moved, found.gathered, found.gathers, found.imbalance
    (1, 4, False, 1.0)
    """

    rows: torch.Tensor
    entries: torch.Tensor
    received: torch.Tensor
    sent: torch.Tensor
    own: torch.Tensor  # rows of x that a rank has

    @property
    def moved(self) -> int:
        """Rows that move in all where only those move that are needed."""
        return int(self.received.sum())

    @property
    def gathered(self) -> int:
        """Rows that move where every rank gets all: parts are sent as long as the longest."""
        ranks = len(self.own)
        return ranks * (ranks - 1) * int(self.own.max())

    @property
    def gathers(self) -> bool:
        """Whether everything is gathered, because that moves no more."""
        return self.moved >= self.gathered

    @property
    def imbalance(self) -> float:
        """The most entries of a rank over the mean."""
        mean = float(self.entries.double().mean())
        return float(self.entries.max()) / mean if mean else 1.0

    def text(self, ranks: int = 8) -> str:
        """A few lines, and a line for each of the first ranks."""
        share = f", {self.moved / self.gathered:.0%} of what gathering all would" if self.gathered else ""
        way = "all rows are gathered" if self.gathers and self.gathered else "one exchange of needed rows"
        busiest = int(torch.maximum(self.received, self.sent).max())
        lines = [
            f"{len(self.rows)} ranks, {way}",
            f"rows of x that move: {self.moved}{share}; most at one rank: {busiest}",
            f"entries: {int(self.entries.sum())}, the most at one rank {self.imbalance:.2f} of the mean",
            "rank        rows     entries    received        sent",
        ]
        table = torch.stack([self.rows, self.entries, self.received, self.sent], 1).tolist()
        for rank, row in enumerate(table[:ranks]):
            lines.append(f"{rank:4}" + "".join(f"{n:12}" for n in row))
        return "\n".join([*lines, "..."] if len(table) > ranks else lines)


def count_exchange(A: SparseTensor, rows: torch.Tensor, columns: torch.Tensor | None = None) -> Exchange:
    """What ``A @ x`` would move with rows of A and x cut there, in processes that need not be there.

    Args:
        A: [m, n]. rows: [ranks + 1] as :func:`cut_rows` returns. columns: [ranks + 1], where x is cut; by
            default as the rows.

    >>> A = scorch.from_edge_index(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), num_nodes=4)
    >>> scorch.distributed.count_exchange(A, torch.tensor([0, 2, 4])).received
    tensor([1, 1])
    """
    columns = rows if columns is None else columns
    i, j = unpadded(A).indices().long()
    here = torch.searchsorted(rows[1:], i, right=True)
    there = torch.searchsorted(columns[1:], j, right=True)
    ranks, away = len(rows) - 1, here != there
    pairs = torch.unique(here[away] * A.shape[1] + j[away])
    to = pairs.div(max(A.shape[1], 1), rounding_mode="floor")
    source = torch.searchsorted(columns[1:], pairs - to * A.shape[1], right=True)
    count = [torch.bincount(x, minlength=ranks) for x in (here, to, source)]
    return Exchange(rows.diff(), *count, columns.diff())

"""A matrix of which every process has some rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
import torch.distributed as dist

from ..functions.products import sddmm
from ..nn._edges import mean_of
from ..nn._graph import RowShards
from ..tensor.coordinates import check_edges, coo
from ..tensor.sparsetensor import SparseTensor
from ._cut import Exchange, cut_rows, partition
from ._halo import Fetch, Halo, compared, dealt, gathered, group_of


def _checked(A: object) -> SparseTensor:
    if not isinstance(A, SparseTensor):
        raise TypeError(f"RowSharded: expected a SparseTensor, got {type(A).__name__}: see scorch.sparse")
    if A._ndim != 2:
        raise ValueError(f"RowSharded: expected a matrix, got {A._ndim} dimensions")
    return A if A._fmt == "csr" else A.convert("csr")


def _even(n: int, ranks: int) -> torch.Tensor:
    return cut_rows(torch.zeros(n, dtype=torch.long, device="cpu"), ranks, "rows")


def _agreed(A: SparseTensor, ranks: int, method: str, group: object) -> tuple[torch.Tensor, list[int] | None]:
    """The order and the parts that the first rank finds, on all."""
    order = torch.empty(A.shape[0], dtype=torch.long, device="cpu")
    sizes = torch.full((ranks,), -1, device="cpu")
    why = None
    if dist.get_rank(group) == 0:
        try:
            found = partition(A, ranks, method)
            order.copy_(found.order)
            if found.sizes is not None:
                sizes.copy_(torch.tensor(found.sizes, device="cpu"))
        except (ImportError, ValueError) as error:  # which the others wait for
            why = error
            sizes.fill_(-2)
    first = dist.get_global_rank(group, 0) if group is not dist.group.WORLD else 0
    dist.broadcast(sizes, first, group)
    if int(sizes[0]) == -2:
        raise why or RuntimeError(f"reorder: the first rank found no order by {method!r}: it says why")
    dist.broadcast(order, first, group)
    return order, None if int(sizes[0]) < 0 else sizes.tolist()


class RowSharded(RowShards):
    """A matrix [m, n] whose rows are cut over the ranks of a process group, and x where rows of it are used.

    ``P @ x`` is the product's rows on this rank, [rows, k], of ``x`` [own, k], the rows of the other operand
    that this rank has: those of ``P.rows`` where the matrix is square, as many as on others where it is not.
    What other ranks have of x and the rows here need is fetched first, in one all_to_all, or gathered where
    all is needed; ``P.plan()`` tells how much that is. Gradients flow to x, and to the values of ``P.local``.

    Layers of ``scorch.nn`` (GCNConv, SAGEConv, GATConv, SGConv, APPNP) take P for a graph, with the features
    of ``P.rows``.

    Args:
        A: the whole matrix, the same on every rank; where no rank has it, see :meth:`from_rows` and
            :meth:`from_edges`.
        mesh: a DeviceMesh of one dimension, a process group, or None for all processes.
        cut: "nnz": about as many entries on each rank; "rows": as many rows; or how many rows each has.
        reorder: None; or how the nodes of a graph are ordered and cut first, as :func:`partition` says:
            "auto", "metis" ...; ``P.rows`` tells which rows of A this rank has then.

    Attributes: ``local`` [rows, own + fetched], a SparseTensor whose columns are this rank's rows of x first,
    then the others that it needs; ``rows`` int64, the rows of A that are here; ``columns``, those of x;
    ``shape``; ``counted``, an :class:`Exchange`.

    Raises: RuntimeError: there is no process group. TypeError, ValueError: A is no sparse matrix, the cut
    does not fit, or a graph is to be reordered that is not square.

    One process is a group, too:

    >>> import torch.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> P = scorch.distributed.RowSharded(scorch.sparse(torch.eye(3)))
    >>> P @ torch.ones(3, 2)[P.columns]
    tensor([[1., 1.],
            [1., 1.],
            [1., 1.]])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        A: SparseTensor,
        mesh: object = None,
        cut: str | Sequence[int] = "nnz",
        *,
        reorder: str | None = None,
    ) -> None:
        group, A, order = group_of(mesh), _checked(A), None
        ranks, rank = dist.get_world_size(group), dist.get_rank(group)
        if reorder is not None:
            order, sizes = _agreed(A, ranks, reorder, group)
            A, cut = A.submatrix(order, order), sizes or cut
        rows = cut_rows(A.pos(1).diff(), ranks, cut)
        self._set(A[int(rows[rank]) : int(rows[rank + 1])], rows, order, group)

    @classmethod
    def from_rows(cls, local: SparseTensor, mesh: object = None) -> RowSharded:
        """Of rows that every rank has read itself: ``local`` [rows here, n], one rank's below the other's.

        Raises: ValueError, TypeError, on every rank: the numbers of columns differ, or the types of values.
        """
        group, local = group_of(mesh), _checked(local)
        shapes = compared("from_rows", local.shape, local.dtype, group)
        if len(shapes[:, 1].unique()) > 1:
            found = shapes[:, 1].tolist()
            raise ValueError(f"from_rows: expected as many columns on each rank, got {found}")
        self = cls.__new__(cls)
        self._set(
            local, torch.cat([torch.zeros(1, device="cpu").long(), shapes[:, 0].cumsum(0)]), None, group
        )
        return self

    @classmethod
    def from_edges(
        cls,
        edge_index: torch.Tensor,
        edge_weight: torch.Tensor | None = None,
        mesh: object = None,
        cut: str | Sequence[int] = "nnz",
        *,
        num_nodes: int | None = None,
    ) -> RowSharded:
        """Of edges, some on each rank, in any order: [2, E] sources and targets, weights [E] or ones.

        Each edge is sent to the rank that has its target, parallel ones are summed. Weights get no gradient.
        num_nodes: N; one more than the largest index of all ranks if None.

        Raises: ValueError, TypeError, on every rank: num_nodes or the types of weights differ, or a node is
        out of range.
        """
        group = group_of(mesh)
        ranks, rank = dist.get_world_size(group), dist.get_rank(group)
        check_edges(edge_index)
        if edge_weight is not None and edge_weight.shape != edge_index.shape[1:]:
            raise ValueError(f"edge_weight: expected [{edge_index.shape[1]}], got {list(edge_weight.shape)}")
        source, target = edge_index.long()
        weight = torch.ones(len(source), device="cpu") if edge_weight is None else edge_weight.detach()
        nodes = int(edge_index.max()) + 1 if edge_index.numel() else 0
        low = int(edge_index.min()) if edge_index.numel() else 0
        given = (0, 0) if num_nodes is None else (1, int(num_nodes))
        found = compared("edge_weight", (nodes, -low, *given), weight.dtype, group)
        largest, lowest = found[:, :2].amax(0).tolist()
        each = [n if is_given else largest for is_given, n in found[:, 2:].tolist()]
        nodes = each[rank]
        if len(set(each)) > 1:
            raise ValueError(f"num_nodes: expected one number on every rank, got {each}")
        if nodes < largest or lowest > 0:
            raise ValueError(f"edge_index: expected nodes in 0..{nodes - 1} on every rank")
        entries = torch.bincount(target, minlength=nodes)
        dist.all_reduce(entries, group=group)
        rows = cut_rows(entries, ranks, cut)
        owner = torch.searchsorted(rows[1:], target, right=True)
        by_owner, counts = owner.argsort(stable=True), torch.bincount(owner, minlength=ranks)
        ends, _ = dealt(torch.stack([target, source], 1)[by_owner], counts, group)
        weight, _ = dealt(weight[by_owner], counts, group)
        low, high = rows[rank : rank + 2].tolist()
        self = cls.__new__(cls)
        local = coo(torch.stack([ends[:, 0] - low, ends[:, 1]]), weight, (high - low, nodes))
        self._set(local, rows, None, group)
        return self

    def _set(
        self, local: SparseTensor, rows: torch.Tensor, order: torch.Tensor | None, group: object
    ) -> None:
        """local [rows here, n] with the columns of the whole matrix."""
        rank, n = dist.get_rank(group), local.shape[1]
        self.shape = int(rows[-1]), n
        self.cut = rows
        columns = rows if self.shape[0] == n else _even(n, len(rows) - 1)
        low, high = columns[rank : rank + 2].tolist()
        used = local.crd(1).long().unique()
        needed = used[(used < low) | (used >= high)]
        self._halo = Halo(needed, columns, group)
        here = torch.arange(low, high, device="cpu")
        self.local: SparseTensor = local.submatrix(None, torch.cat([here, needed]))
        self.counted: Exchange = self._halo.count(local.shape[0], local.nnz)
        mine = torch.arange(*rows[rank : rank + 2].tolist(), device="cpu")
        self._order = order
        self.rows = mine if order is None else order[mine]
        self.columns = here if order is None else order[here]

    def _like(self, local: SparseTensor) -> RowSharded:
        made = self.__class__.__new__(self.__class__)
        made.__dict__.update(self.__dict__)
        made.local = local
        return made

    # ---- what it is ----
    def __repr__(self) -> str:
        m, n = self.shape
        return f"RowSharded({m}x{n}, {len(self.cut) - 1} ranks, here {self.local!r})"

    def plan(self) -> str:
        """What a product moves, as was counted when the matrix was made: the same text on every rank."""
        return self.counted.text()

    @property
    def dtype(self) -> torch.dtype:
        """The type of the values."""
        return self.local.dtype

    @property
    def requires_grad(self) -> bool:
        """Whether the values of this rank's rows do."""
        return self.local.requires_grad

    def values(self) -> torch.Tensor:
        """The values of this rank's rows, those of ``local``."""
        return self.local.values()

    def with_values(self, values: torch.Tensor) -> RowSharded:
        """The same structure with other values of this rank's rows [local.nnz]; gradients flow to them."""
        return self._like(self.local._with_values(values))

    def to(self, dtype: torch.dtype) -> RowSharded:
        """With values of another type."""
        return self if dtype == self.dtype else self._like(self.local.to(dtype))

    # ---- computing ----
    def gather(self, x: torch.Tensor) -> torch.Tensor:
        """[own + fetched, ...]: the rows of x here, then those of other ranks that the rows of P need."""
        if not isinstance(x, torch.Tensor) or not x.dim() or len(x) != self._halo.own:
            got = list(x.shape) if isinstance(x, torch.Tensor) else type(x).__name__
            raise ValueError(f"x: expected the {self._halo.own} rows that this rank has, got {got}")
        self._halo.compare("x", x)
        return Fetch.apply(x, self._halo)

    def __matmul__(self, x: torch.Tensor) -> torch.Tensor:
        """The rows of the product that are here."""
        return self.local @ self.gather(x)

    def sddmm(self, Q: torch.Tensor, K: torch.Tensor) -> RowSharded:
        """``P * (Q @ K.T)`` where P has entries: Q [rows here, k], K [own, k] as x is cut."""
        return self._like(sddmm(self.local, Q, self.gather(K)))

    def full(self, y: torch.Tensor) -> torch.Tensor:
        """All rows of what has the rows of P on each rank, in the order of A, on every rank; no gradient."""
        self._halo.compare("y", y)
        sizes = self.cut.diff()
        padded = y.new_zeros(int(sizes.max()), *y.shape[1:])
        padded[: len(y)] = y.detach()
        parts = gathered(padded, self._halo.group)
        made = torch.cat([part[:n] for part, n in zip(parts, sizes.tolist(), strict=True)])
        if self._order is None:
            return made
        return torch.empty_like(made).index_copy_(0, self._order, made)

    # ---- matrices of graphs ----
    def _ends(self) -> torch.Tensor:
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"expected a graph, a square matrix, got shape {self.shape}")
        return self.local.indices().long()

    def _with_loops(self, weight: float) -> RowSharded:
        ends, local = self._ends(), self.local
        there = torch.zeros(local.shape[0], dtype=torch.bool, device="cpu")
        there[ends[0, ends[0] == ends[1]]] = True
        (new,) = (~there).nonzero(as_tuple=True)  # own columns come first, so that a loop is on the diagonal
        values = torch.cat([local.values(), local.values().new_full((len(new),), weight)])
        return self._like(coo(torch.cat([ends, new.expand(2, -1)], 1), values, local.shape))

    def normalized(self, normalize: str = "sym", add_self_loops: bool | float = False) -> RowSharded:
        """The matrix divided by its sums of rows, as ``scorch.from_edge_index`` does: "sym" or "row"."""
        if normalize not in ("sym", "row"):
            raise ValueError(f'normalize: expected "sym" or "row", got {normalize!r}')
        made = self._with_loops(float(add_self_loops)) if add_self_loops else self
        row, column = made._ends()
        values = made.values()
        degree = values.new_zeros(len(self.rows)).index_add(0, row, values)
        if normalize == "row":
            return made.with_values(values * degree.masked_fill(degree == 0, torch.inf).reciprocal()[row])
        scale = degree.masked_fill(degree <= 0, torch.inf).pow(-0.5)
        return made.with_values(scale[row] * values * self.gather(scale)[column])

    def mean(self, dtype: torch.dtype) -> RowSharded:
        """The edges of each node, all alike, with sum 1."""
        return self._like(mean_of(self.local, dtype))


def add_gradients(parameters: Iterable[torch.nn.Parameter], mesh: object = None) -> None:
    """Adds up the gradients of parameters that every rank has, in one all_reduce; a missing one is zero.

    Where each rank's loss is a sum over its own rows, divided by what all ranks sum over, the result is the
    gradient of the whole loss.

    >>> import torch.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> w = torch.ones(2, requires_grad=True)
    >>> w.sum().backward()
    >>> scorch.distributed.add_gradients([w])
    >>> w.grad
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    group, parameters = group_of(mesh), [p for p in parameters if p.requires_grad]
    for kind in dict.fromkeys(p.dtype for p in parameters):
        own = [p for p in parameters if p.dtype == kind]
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in own])
        dist.all_reduce(flat, group=group)
        for p, grad in zip(own, flat.split([p.numel() for p in own]), strict=True):
            p.grad = grad.view_as(p).clone()

"""Rows of x that other ranks have: fetched before a product, and their gradients brought back.

Both ways are one all_to_all of rows, the second with what was sent and received exchanged, and each is the
gradient of the other. Which rows go where is agreed on once, when a matrix is made. Where every rank needs
everything the rows are gathered instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist

from ..tensor.coordinates import coo
from ._cut import Exchange


def group_of(mesh: object) -> object:
    """The process group of a mesh of one dimension, of a group, or of all processes."""
    if not dist.is_available() or not dist.is_initialized():
        raise RuntimeError(
            "scorch.distributed: expected processes that know each other: call "
            'torch.distributed.init_process_group("gloo") first'
        )
    if mesh is None:
        return dist.group.WORLD
    if hasattr(mesh, "get_group"):
        if mesh.ndim != 1:
            raise ValueError(
                f"mesh: expected one dimension, got {mesh.ndim}: take one by its name, mesh[name]"
            )
        return mesh.get_group()
    return mesh


def gathered(x: torch.Tensor, group: object) -> torch.Tensor:
    """[ranks, ...]: tensors of one shape."""
    found = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
    dist.all_gather(found, x.contiguous(), group)
    return torch.stack(found)


def compared(name: str, numbers: Sequence[int], dtype: torch.dtype, group: object) -> torch.Tensor:
    """[ranks, ...]: numbers of every rank. Raises TypeError, on all of them, where types differ."""
    text = str(dtype).encode().ljust(40)  # numbers too, so that one exchange is enough
    found = gathered(torch.tensor([*numbers, *text], device="cpu"), group)
    kinds = [bytes(row).decode().strip() for row in found[:, len(numbers) :].tolist()]
    if len(set(kinds)) > 1:
        raise TypeError(f"{name}: expected one type on every rank, got {kinds}")
    return found[:, : len(numbers)]


def dealt(x: torch.Tensor, counts: torch.Tensor, group: object) -> tuple[torch.Tensor, torch.Tensor]:
    """The parts of x that all ranks have for this one, one after the other, and their lengths."""
    received = torch.empty_like(counts)
    dist.all_to_all_single(received, counts, group=group)
    into = x.new_empty(int(received.sum()), *x.shape[1:])
    dist.all_to_all_single(into, x.contiguous(), received.tolist(), counts.tolist(), group)
    return into, received


class Halo:
    """Which rows of x this rank gets and gives.

    needed: numbers of columns that lie elsewhere, ascending; columns: [ranks + 1], where x is cut.
    """

    def __init__(self, needed: torch.Tensor, columns: torch.Tensor, group: object) -> None:
        self.group, self.rank = group, dist.get_rank(group)
        self.own = int(columns[self.rank + 1] - columns[self.rank])
        self.most = int(columns.diff().max())
        owner = torch.searchsorted(columns[1:], needed, right=True)
        counts = torch.bincount(owner, minlength=len(columns) - 1)
        wanted, gives = dealt(needed, counts, group)
        self.gives, self.gets = gives.tolist(), counts.tolist()
        self.rows = wanted - columns[self.rank]
        self.gathers = False
        self._back: dict = {}
        self._compared: set = set()

    def count(self, rows: int, entries: int) -> Exchange:
        """What all ranks move."""
        mine = torch.tensor([rows, entries, sum(self.gets), len(self.rows), self.own], device="cpu")
        found = Exchange(*gathered(mine, self.group).T)
        self.gathers = found.gathers and found.gathered > 0
        return found

    def compare(self, name: str, x: torch.Tensor) -> None:
        """Raises TypeError or ValueError, on every rank, where rows of x differ in type or width.

        Messages of gloo that differ in size end the process. Each type and width is compared once, so that
        products need no exchange for it: what ranks agreed on before is the same on all of them.
        """
        known = x.dtype, x.shape[1:].numel()
        if known not in self._compared:
            widths = compared(name, known[1:], x.dtype, self.group).flatten().tolist()
            if len(set(widths)) > 1:
                raise ValueError(f"{name}: expected rows of one width on every rank, got {widths}")
            self._compared.add(known)

    def fetch(self, x: torch.Tensor) -> torch.Tensor:
        """[own + needed, ...]: the rows of this rank, then those of others."""
        made = x.new_empty(self.own + sum(self.gets), *x.shape[1:])
        made[: self.own] = x
        if self.gathers:
            padded = x.new_zeros(self.most, *x.shape[1:])
            padded[: self.own] = x
            parts = gathered(padded, self.group)
            others = [part[:n] for part, n in zip(parts, self.gets, strict=True)]  # none of its own
            made[self.own :] = torch.cat(others)
        else:
            sent = x.index_select(0, self.rows)
            dist.all_to_all_single(made[self.own :], sent, self.gets, self.gives, self.group)
        return made

    def bring_back(self, g: torch.Tensor) -> torch.Tensor:
        """[own, ...]: rows of g for this rank's rows, summed over the ranks that had them."""
        came = g.new_empty(len(self.rows), *g.shape[1:])
        sent = g[self.own :].contiguous()
        dist.all_to_all_single(came, sent, self.gives, self.gets, self.group)
        if not len(self.rows):
            return g[: self.own].clone()
        return g[: self.own] + (self._adder(g.dtype) @ came.flatten(1)).view(self.own, *g.shape[1:])

    def _adder(self, dtype: torch.dtype) -> torch.Tensor:
        """[own, rows that came]: a one where a row goes."""
        if dtype not in self._back:
            places = torch.stack([self.rows, torch.arange(len(self.rows), device="cpu")])
            shape = (self.own, len(self.rows))
            self._back[dtype] = coo(places, torch.ones(len(self.rows), dtype=dtype, device="cpu"), shape)
        return self._back[dtype]


class Fetch(torch.autograd.Function):
    """[own] -> [own + needed]"""

    @staticmethod
    def forward(ctx, x, halo):
        ctx.halo = halo
        return halo.fetch(x)

    @staticmethod
    def backward(ctx, grad):
        return BringBack.apply(grad, ctx.halo), None


class BringBack(torch.autograd.Function):
    """[own + needed] -> [own]"""

    @staticmethod
    def forward(ctx, grad, halo):
        ctx.halo = halo
        return halo.bring_back(grad)

    @staticmethod
    def backward(ctx, grad):
        return Fetch.apply(grad, ctx.halo), None

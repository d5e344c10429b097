"""What traced layers derive from the arrays of a graph, found by what these hold."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

import torch

from .. import _torch


class Recent:
    """Arrays made from others: the newest stay, and older ones while all together take no more than LIMIT
    bytes."""

    LIMIT = 64 << 20

    def __init__(self) -> None:
        self._made: OrderedDict[tuple, tuple[torch.Tensor, ...]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._made)

    def __call__(self, arrays: Sequence[torch.Tensor], options: tuple, make: Callable) -> tuple:
        """The arrays that are kept: who hands them to a caller copies them."""
        key = _torch.contents(*arrays), options
        self._made[key] = self._made.pop(key, None) or make()
        self._made.move_to_end(key)
        while len(self._made) > 1 and sum(a.nbytes for m in self._made.values() for a in m) > self.LIMIT:
            self._made.popitem(last=False)
        return self._made[key]

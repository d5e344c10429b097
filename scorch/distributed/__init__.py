"""Matrices and graphs whose rows lie in many processes, over ``torch.distributed`` and nothing else.

``scorch.distributed.RowSharded`` is the matrix; ``cut_rows``, ``partition`` and ``count_exchange`` need no
processes: they say where to cut, and what that would move. Imported where it is used first.
"""

from ._cut import Exchange, Partition, count_exchange, cut_rows, partition
from ._rows import RowSharded, add_gradients

__all__ = [
    "Exchange", "Partition", "RowSharded", "add_gradients", "count_exchange", "cut_rows", "partition",
]  # fmt: skip

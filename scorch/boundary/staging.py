"""Copies of SparseTensors that torch.distributed.checkpoint.async_save writes from.

torch copies the memory of a tensor, which a SparseTensor has none of, so it is copied array by array.
Imported behind torch's module, which takes a while to import.
"""

from __future__ import annotations

from collections.abc import Callable

from torch.distributed.checkpoint._state_dict_stager import StateDictStager

from .. import _torch
from ..tensor.sparsetensor import SparseTensor


def _offload(plainly: Callable) -> Callable:
    def offload(self: StateDictStager, x: object, memo: dict, non_blocking: bool = False) -> object:
        if not isinstance(x, SparseTensor):
            return plainly(self, x, memo, non_blocking=non_blocking)
        arrays = [a.clone() if _torch.is_read_only(a) else a for a in x._arrays()]
        y = x._like([plainly(self, a, memo, non_blocking=non_blocking) for a in arrays])
        memo[id(x)] = y
        return y

    return offload


_torch.replace(StateDictStager, "_offload_tensor", _offload)

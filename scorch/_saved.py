"""What saved files name: paths of modules that are a file format and stay, wherever their contents are now.

A pickle names functions and classes by their modules. Tensors name ``scorch._tensor``, also those
saved today, so that every version loads what another one saved.
"""

from __future__ import annotations

import sys
from multiprocessing.reduction import ForkingPickler

import torch

from . import _torch
from .tensor import format
from .tensor.composed import Composed
from .tensor.format import layout
from .tensor.sparsetensor import SparseTensor, core_of, users
from .tensor.wrapping import wrap
from .tools import reorder, sparsify


def _rebuild_v1(
    text: str,
    shape: tuple[int, ...],
    arrays: tuple[torch.Tensor, ...],
    is_param: bool,
    requires_grad: bool = False,
    set_by_users: dict[str, object] | None = None,
) -> SparseTensor:
    """Loads a saved tensor. Files name it, so it only gets arguments; they are not trusted: it validates,
    or where there are no numbers yet, the first use of the tensor does."""
    self = wrap(layout(text, len(shape)), tuple(shape), tuple(arrays))
    for part in () if _torch.fills_later() or _torch.is_fake(self._val) else self.parts:
        core_of(part)
    self._is_param = is_param
    self.__dict__.update(users(set_by_users or {}))
    return self.requires_grad_(requires_grad)


def _to_another_process(a: SparseTensor) -> tuple:
    """What queues and workers are handed."""
    if a.requires_grad and not a.is_leaf:
        raise RuntimeError(
            "a SparseTensor that was computed with a gradient cannot be sent to another process, where its "
            "graph is not: detach() it first"
        )
    return a.__reduce_ex__(2)


for _kind in (SparseTensor, Composed):
    ForkingPickler.register(_kind, _to_another_process)
_rebuild_v1.__module__ = "scorch._tensor"
torch.serialization.add_safe_globals([_rebuild_v1])
for _name, _module in {
    "_format": format,
    "_reorder": reorder,
    "_sparsify": sparsify,
    "_tensor": sys.modules[__name__],
}.items():
    sys.modules[f"scorch.{_name}"] = _module
    setattr(sys.modules["scorch"], _name, _module)  # where dill looks for it

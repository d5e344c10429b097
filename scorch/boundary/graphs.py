"""In graphs of torch.compile, ``addcmul_`` and its kin stay what they are where SparseTensors take part.

Dynamo writes them as quotients and sums of whole tensors, which a SparseTensor refuses: in place only stored
values change, and those of two tensors are divided where both store. Imported behind dynamo's module.
"""

from __future__ import annotations

from collections.abc import Callable

from torch._dynamo.variables.tensor import TensorVariable

from .. import _torch
from ..tensor.sparsetensor import SparseTensor


def _is_sparse(x: object) -> bool:
    x = x.realize()
    return isinstance(x, TensorVariable) and isinstance(
        x.as_proxy().node.meta.get("example_value"), SparseTensor
    )


def _kept(plainly: Callable) -> Callable:
    def method(self: TensorVariable, tx: object, *args: object, **kwargs: object) -> object:
        if any(map(_is_sparse, (self, *args))):
            return None  # a node of the call
        return plainly(self, tx, *args, **kwargs)

    return method


for _name in ("method_add_", "method_addcdiv_", "method_addcmul_"):
    if hasattr(TensorVariable, _name):  # which of them torch rewrites differs between its versions
        _torch.replace(TensorVariable, _name, _kept)

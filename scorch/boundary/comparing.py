"""What torch.testing says of SparseTensors that are not close.

Whether they are is told by operators, as of dense tensors; how far apart they are is computed by quotients,
which a SparseTensor refuses.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .. import _torch
from ..tensor.sparsetensor import SparseTensor


def _densely(plainly: Callable) -> Callable:
    def message(*args: object, **options: object) -> str:
        return plainly(*(x.to_dense() if isinstance(x, SparseTensor) else x for x in args), **options)

    return message


_torch.replace(torch.testing._comparison, "make_tensor_mismatch_msg", _densely)

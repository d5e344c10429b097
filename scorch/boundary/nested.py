"""Products of torch's jagged nested tensors with a SparseTensor: those of their values.

A nested tensor answers a call before the SparseTensor beside it, by operators below autograd, where a
gradient to a SparseTensor would be dense. Imported behind torch's module, which is imported at the first such
call.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch.nested._internal import ops
from torch.nested._internal.nested_tensor import NestedTensor, nested_view_from_values_offsets_lengths

from .. import _torch
from ..tensor.sparsetensor import SparseTensor

_PRODUCTS = {
    F.linear: ("input", "weight", "bias"),
    torch.matmul: ("input", "other"),
    torch.Tensor.matmul: ("input", "other"),
    torch.Tensor.__matmul__: ("input", "other"),
}


def _is_product(input: object = None, a: object = None, *_: object) -> bool:
    """Whether the rows of a nested tensor are multiplied by a matrix."""
    if not isinstance(a, SparseTensor) or a.dim() != 2 or not isinstance(input, NestedTensor):
        return False
    return input._ragged_idx < input.dim() - 1 and input.is_contiguous()


def _beside_sparse(plainly: Callable) -> Callable:
    def call(func: Callable, *args: object, **kwargs: object) -> object:
        given = (*args, *(kwargs[n] for n in _PRODUCTS.get(func, ()) if n in kwargs))
        if func not in _PRODUCTS or not _is_product(*given):
            return plainly(func, *args, **kwargs)
        input, *rest = given
        parts = input.offsets(), input.lengths(), input._ragged_idx
        extents = input._maybe_min_seqlen, input._maybe_max_seqlen
        values = (F.linear if func is F.linear else torch.matmul)(input.values(), *rest)
        return nested_view_from_values_offsets_lengths(values, *parts, *extents)

    return call


_torch.replace(ops, "jagged_torch_function", _beside_sparse)

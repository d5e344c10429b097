"""What operators of the dispatcher mean that torch's own code calls on a SparseTensor.

Functions that torch writes in Python or C++ (torch.lobpcg, torch.cov, F.cosine_similarity, forward mode and
torch.vmap) call operators below the table of functions. Those of the list here mean what the functions of the
same name mean there, by the same handlers: there is one table. Those that torch has made of others, and takes
apart only where autograd is at work, are taken apart here. They run below autograd, so they return tensors of
their own and record nothing; derivatives are torch's, and those to A would be dense.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number

import torch

from .. import _torch
from ..functions import choose, reduce
from ..tensor import index, rearrange
from ..tensor.sparsetensor import HANDLERS, STRUCTURAL, SparseTensor
from . import dispatch, distributed

_LIST = (
    "mm mv bmm dot vdot addmm addmv addbmm baddbmm addr outer t transpose permute expand select narrow "
    "index_select unsqueeze squeeze flip roll tril triu diagonal cat stack add sub mul div maximum "
    "minimum where masked_fill neg abs relu sgn sign sqrt square sin tanh expm1 log1p isnan clamp pow "
    "gt lt ne eq ge le sum mean var std amax amin prod any all count_nonzero nansum norm max min argmax "
    "argmin topk sort kthvalue logsumexp nonzero cumsum cumprod sparse_mask isclose rsub masked_select "
    "reshape scatter scatter_add scatter_reduce index_add index_copy index_fill index_reduce index_put put "
    "masked_scatter select_scatter slice_scatter diagonal_scatter"
)
_NAMES = frozenset(_LIST.split())


# ---- operators that no function is named after ----
def _slice(
    a: SparseTensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> torch.Tensor:
    return index.along(a, dim, slice(start, end, step))


def _vector_norm(
    a: SparseTensor, ord: Number = 2, dim: object = None, keepdim: bool = False, *, dtype=None
) -> torch.Tensor:
    return reduce.vector_norm(a, ord, dim, keepdim, dtype=dtype)


def _index(a: torch.Tensor, indices: list) -> torch.Tensor:
    return index.getitem(a, tuple(slice(None) if i is None else i for i in indices))


_OWN = {
    "_has_same_storage_numel": lambda a, b: a.numel() == b.numel(),
    "_reshape_alias": lambda a, size, stride: rearrange.reshape(a, size),
    "_unsafe_view": lambda a, size: rearrange.reshape(a, size),
    "index": _index,
    "is_same_size": lambda a, b: tuple(a.shape) == tuple(b.shape),
    "linalg_vector_norm": _vector_norm,
    "slice": _slice,
    "tanh_backward": lambda grad, y: grad - grad * y * y,
    "threshold_backward": lambda grad, a, threshold: choose.where(a > threshold, grad, 0),
    "view": lambda a, size: rearrange.reshape(a, size),
}


# ---- how they are called ----
def _filled(x: object) -> object:
    """x; tangents may be zeros that torch has no memory for."""
    return type(x)(map(_filled, x)) if isinstance(x, list | tuple) else _torch.with_memory(x)


def _fresh(x: object) -> object:
    """A SparseTensor of its own over the same arrays: what is kept with an operand belongs to it."""
    if isinstance(x, list | tuple):
        return type(x)(map(_fresh, x))
    if not isinstance(x, SparseTensor):
        return x
    made = dispatch.detach(x)
    if (core := x.__dict__.get("_core")) is not None:
        made.__dict__["_core"] = core
    return made


def _below(func: Callable, handler: Callable) -> Callable:
    def call(*args: object, **kwargs: object) -> object:
        given = dispatch.sparse_among((*args, *kwargs.values()))
        if torch.is_grad_enabled() and any(a.requires_grad or _torch.is_wrapped(a._val) for a in given):
            raise NotImplementedError(
                f"{func} was called by torch's own code, where gradients to a SparseTensor would be dense: "
                f"call the function on A.to_dense(), whose gradient is that of the stored entries, or on "
                f"A.detach() for none"
            )
        dispatch.refuse_out_of_reach(func, given)
        with torch.no_grad():
            return _fresh(handler(*map(_filled, args), **kwargs))

    return call


def handler_of(func: Callable) -> Callable | None:
    """What an operator means, kept for the next time; None: neither of the list nor made of others."""
    name = func._opname
    if "c10d" in func.namespace:
        return distributed.collective(func)
    handler = _OWN.get(name)
    if handler is None and name in _NAMES:
        handler = HANDLERS.get(getattr(torch, name, None)) or HANDLERS.get(getattr(torch.Tensor, name, None))
    if handler is None or func.namespace != "aten" or func._schema.is_mutable:
        return _torch.parts_of(func)
    made = STRUCTURAL[func] = _below(func, handler)
    return made

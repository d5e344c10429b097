"""Parts that torch documents as views of a tensor, and that are copies here: nobody may write to them.

Which parts share memory depends on the format. A write to one that does not would be lost without a word, so
each is marked by :data:`CUT_OUT`, which every write in place asks for. Dense results, as diagonals are, have
no mark.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .. import _C, _torch
from ..tensor.sparsetensor import CUT_OUT, TURNED, SparseTensor
from ..tensor.values import cut_out_as, unmarked
from .table import HANDLERS

_VIEWS = (
    "select narrow unbind chunk tensor_split split split_with_sizes vsplit hsplit dsplit diagonal squeeze "
    "unsqueeze unflatten unfold movedim moveaxis expand broadcast_to view view_as expand_as"
)
_RESHAPING = "reshape reshape_as flatten ravel"  # views, unless dimensions are in another order


def _is_lost(a: SparseTensor, part: SparseTensor) -> bool:
    """Whether what is written to a part of a does not reach a, or what that was cut out of."""
    if CUT_OUT in a.__dict__:
        return True
    values, own = part.__dict__["_val"], a.__dict__["_val"]
    if values.__class__ is not torch.Tensor or own.__class__ is not torch.Tensor or not _C.plain():
        return False
    return _torch.memory_of(values) != _torch.memory_of(own) and values.shape[0] > 0


def _noted(a: SparseTensor, made: object) -> object:
    for part in made if isinstance(made, tuple | list) else (made,):
        if part is not a and isinstance(part, SparseTensor) and _is_lost(a, part):
            part.__dict__[CUT_OUT] = True
    return made


def _viewing(handler: Callable, reshapes: bool) -> Callable:
    """The handler of a function whose results are views of its first argument in torch."""
    partwise = getattr(handler, "partwise", False)

    def called(*args: object, **kwargs: object) -> object:
        name = None if args else next((n for n in ("input", "tensor") if n in kwargs), None)
        a = args[0] if args else kwargs.get(name)
        if not isinstance(a, SparseTensor) or torch.compiler.is_dynamo_compiling():
            return handler(*args, **kwargs)
        copied = reshapes and TURNED in a.__dict__
        whole = a.contiguous() if copied else a if partwise else a._whole()  # a copy of a composed one
        made = handler(whole, *args[1:], **kwargs) if args else handler(**kwargs | {name: whole})
        return unmarked(made) if copied else _noted(a, made)

    called.__wrapped__ = getattr(handler, "__wrapped__", handler)
    called.partwise = True
    return called


_BASIC = (int, slice, type(None), type(Ellipsis))  # the commonest items


def _is_list(item: object) -> bool:
    """Whether an item of an index makes a copy in torch as well: a list, an array, a mask."""
    if item.__class__ in _BASIC:
        return False
    if isinstance(item, torch.Tensor):
        return item.dim() > 0 or item.dtype is torch.bool
    return hasattr(item, "__len__")


_getitem = HANDLERS[torch.Tensor.__getitem__]


def _part(a: torch.Tensor, index: object) -> torch.Tensor:
    """``A[index]``."""
    made = _getitem(a, index)
    if torch.compiler.is_dynamo_compiling() or not isinstance(made, SparseTensor) or made is a:
        return made
    if any(map(_is_list, index)) if index.__class__ is tuple else _is_list(index):
        return unmarked(made)  # of the shape that a list of several dimensions has
    if _is_lost(a, made):
        made.__dict__[CUT_OUT] = True
    return made


_part.partwise = True
HANDLERS[torch.Tensor.__getitem__] = _part
for _name in f"{_VIEWS} {_RESHAPING}".split():
    for _home in (torch, torch.Tensor):
        if (_f := getattr(_home, _name, None)) in HANDLERS:
            HANDLERS[_f] = _viewing(HANDLERS[_f], _name in _RESHAPING.split())
_detach = HANDLERS[torch.Tensor.detach]


def _detached(input: SparseTensor) -> SparseTensor:
    """``Tensor.detach``, whose memory is that of the input."""
    made = _detach(input)
    return made if torch.compiler.is_dynamo_compiling() else cut_out_as(made, input)


_detached.partwise = True
HANDLERS |= dict.fromkeys((torch.detach, torch.Tensor.detach), _detached)
HANDLERS[torch.Tensor.__iter__] = lambda a: iter(torch.unbind(a))

"""Tensors and their memory: none, memory that nobody may write, and what arrays hold."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from types import NoneType
from typing import Any

import numpy
import torch
from torch._C import DisableTorchFunctionSubclass
from torch.compiler import is_dynamo_compiling

from .. import _C
from .state import PLAIN, any_requires_grad, in_graph, is_compiling, is_wrapped, refuse_fake
from .tracing import untraced

_OWN = "_scorch_own"  # an attribute of tensors that no caller has the object of; the extension sets it too
_references = getattr(torch._C, "_storage_Use_Count", lambda _: math.inf)
_OURS = 2  # of a tensor's memory: the tensor, and the object that stands for the memory


_APART = "_scorch_apart"  # an attribute of values: [those they were copied of, where there, their version]


def set_apart(x: torch.Tensor, of: torch.Tensor | None = None, where: torch.Tensor | None = None) -> None:
    """Marks values that a graph copied, of others where that is known, which an eager call would share."""
    setattr(x, _APART, [] if of is None else [of, where, _version(of)])


def _version(x: torch.Tensor) -> int | None:
    """That of values, of which torch counts none in inference mode."""
    return None if x.is_inference() else x._version


def as_far(x: torch.Tensor, of: torch.Tensor) -> torch.Tensor:
    """x, a view of values that may be marked, marked as they are."""
    if hasattr(of, _APART):
        setattr(x, _APART, getattr(of, _APART))
    return x


def is_apart(x: torch.Tensor) -> bool:
    """Whether what is written to marked values cannot be written to those they were copied of too: it is not
    known which these are, or they were written to since."""
    while found := getattr(x, _APART, None):
        if _version(found[0]) != found[2]:
            return True
        x = found[0]
    return found is not None


def write_back(x: torch.Tensor) -> None:
    """Writes values, which were written to, where they were copied of."""
    while found := getattr(x, _APART, None):
        of, where, _ = found
        of.index_copy_(0, where, x)
        x, found[2] = of, _version(of)


def count_elements(shape: Sequence[int]) -> None:
    """Raises ValueError where a shape has more elements than torch can count."""
    if math.prod(map(int, shape)) >= 2**63:
        raise ValueError(
            f"expected a shape of fewer than 2^63 elements, which torch counts, got {tuple(shape)}"
        )


@untraced
def new_wrapper(cls: type, shape: tuple, values: torch.Tensor) -> torch.Tensor:
    """A tensor of ``cls`` without storage; reading its address raises."""
    try:
        self = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=values.dtype, device=values.device)
    except RuntimeError:
        count_elements(shape)
        if math.prod(int(n) or 1 for n in shape) >= 2**63:  # as torch multiplies them
            raise ValueError(
                f"expected extents that multiply to less than 2^63 beside an extent of 0 too, "
                f"got {tuple(shape)}: make the others smaller"
            ) from None
        raise
    torch._C._set_throw_on_mutable_data_ptr(self)
    return self


def adopt(cls: type, record: Callable, core_of: Callable, single: dict) -> None:
    """Tells the extension of the class, whose objects it makes from then on as :func:`new_wrapper` does."""
    make, seal = torch.Tensor._make_wrapper_subclass, torch._C._set_throw_on_mutable_data_ptr
    device = getattr(torch._C, "_get_default_device", lambda: "")
    _C.adopt(cls, make, seal, torch.get_default_dtype, device, any_requires_grad, record, core_of, single)


def as_plain(x: torch.Tensor) -> torch.Tensor:
    """x as a torch.Tensor itself, differentiably, if its class computes as that does; else x as it is."""
    cls = x.__class__
    if cls in PLAIN or getattr(cls, "__torch_dispatch__", None) is not torch.Tensor.__torch_dispatch__:
        return x
    with DisableTorchFunctionSubclass():  # which would make the result one of the class again
        return x.as_subclass(torch.Tensor)


def protected(x: torch.Tensor) -> torch.Tensor:
    """x, over read-only memory, which torch must not write: it raises instead, of views too.

    Such a tensor can be read and computed with; what hands out its address (``data_ptr``, ``numpy``) raises.
    A copy where this torch cannot do that.
    """
    if not hasattr(torch._C, "_construct_storage_from_data_pointer"):
        return x.clone()
    torch._C._set_throw_on_mutable_data_ptr(x)
    return x


def is_read_only(x: torch.Tensor) -> bool:
    """Whether torch lets nobody write the memory of a plain tensor."""
    if is_compiling():
        return False
    try:
        x.data_ptr()
    except RuntimeError:
        return type(x) in (torch.Tensor, torch.nn.Parameter) and not is_wrapped(x)
    return False


memory_of = torch._C._data_address  # where the memory begins that a tensor lies in


def address(x: torch.Tensor) -> int:
    """Where the first element of a tensor is."""
    return memory_of(x) + x.storage_offset() * x.element_size()


def readable(x: torch.Tensor) -> torch.Tensor | None:
    """A tensor over the memory of one that nobody may write, for the extension to read; None: x has none."""
    if not x.is_cpu or x.layout is not torch.strided or not is_read_only(x):
        return None
    n = x.untyped_storage().nbytes()
    memory = torch._C._construct_storage_from_data_pointer(torch._C._data_address(x), x.device, n)
    twin = torch.empty(0, dtype=x.dtype, device="cpu").set_(memory, x.storage_offset(), x.shape, x.stride())
    twin._memory_of = x.detach()  # which holds it
    return twin


def own(x: torch.Tensor) -> torch.Tensor:
    """x, which was made here, and of which no caller has this object nor, outside of torch, its memory."""
    large = not is_compiling() and x.__class__ is torch.Tensor and x.nbytes >= _C.large
    if large and x.untyped_storage().resizable():  # torch allocated it
        setattr(x, _OWN, True)
    return x


def hand_out() -> None:
    """Says that others may write to values from now on, past their versions."""
    if not is_compiling():
        _C.hand_out()


def give_away(x: torch.Tensor) -> torch.Tensor:
    """x, of which somebody else has the object from now on."""
    if not is_dynamo_compiling() and x.__class__ is torch.Tensor:
        x.__dict__.pop(_OWN, None)
    return x


def is_alone(x: torch.Tensor) -> bool:
    """Whether nothing but this object, which is our own, refers to its memory: then nobody can write there.

    Objects that did before, and are gone, may have: whoever makes one calls :func:`hand_out`.
    """
    if not hasattr(x, _OWN):
        return False
    memory = x.untyped_storage()
    return not memory.is_shared() and _references(memory._cdata) <= _OURS


def _holders(facts: dict[str, Any]) -> int:
    x = facts["_val"]
    return sys.getrefcount(x)


_ALONE = _holders({"_val": object()})  # which differs between versions of Python


def is_sole(facts: dict[str, Any]) -> bool:
    """Whether nothing but these facts of a SparseTensor, and nothing in torch, refers to its values."""
    if _holders(facts) > _ALONE:
        return False
    x = facts["_val"]
    return x._use_count() <= 1 and _references(x.untyped_storage()._cdata) <= _OURS


def contents(*tensors: torch.Tensor) -> bytes:
    """A number for what tensors hold, whoever wrote it: torch does not count fused optimizers or NumPy."""
    for x in tensors:
        refuse_fake(x)
    return _C.fingerprint(tuple([x if x.is_contiguous() else x.contiguous() for x in tensors]))


def version_of_structure(x: torch.Tensor) -> int | bytes:
    """What is another when pos or crd was written to by torch; nobody else should, so they are not read, but
    where torch counts no versions.
    """
    return contents(x) if x.is_inference() else x._version


def is_array(x: object) -> bool:
    """Whether x is a tensor, an array of NumPy or an object that gives one, and no NumPy scalar."""
    return hasattr(type(x), "__array__") and not isinstance(x, numpy.generic)


def as_tensor(x: object, dtype: torch.dtype | None = None) -> torch.Tensor:
    """``torch.as_tensor``; what is no tensor becomes one on the CPU, wherever torch makes them by default.

    Of an object that says which array it is, such as a Series of pandas, torch would read items by label.
    """
    if is_array(x) and not isinstance(x, (torch.Tensor, numpy.ndarray)):
        x = numpy.asarray(x)
        if not x.flags.writeable:  # it is the object's own memory
            x = x.copy()
    if isinstance(x, torch.Tensor):
        return torch.as_tensor(x, dtype=dtype, device=x.device)
    if isinstance(x, numpy.ndarray) and min(x.strides, default=0) < 0:
        x = x.copy()
    if isinstance(x, (str, Iterator, NoneType)):
        raise TypeError(f"expected a tensor, an array or numbers in lists, got {type(x).__name__}")
    return torch.as_tensor(x, dtype=dtype, device="cpu")


def find_room(n: int, each: int, what: str, instead: str = "") -> None:
    """Raises MemoryError where the system has no room for n of ``what``, of so many bytes each.

    Arrays that are filled one after the other would have the process killed where each by itself has room.
    In a graph nobody knows n.
    """
    if not in_graph() and not _C.fits(n * each):
        raise MemoryError(
            f"out of memory: {n} {what} of {each} bytes each, {n * each * 1e-9:.3f} GB in all{instead}"
        )

"""Making SparseTensors of component arrays, which are not looked at."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch

from .. import _torch
from . import rooms
from .format import Layout, is_composed, layout
from .sparsetensor import SparseTensor, made


def wrap(form: Layout, shape: Sequence[int], arrays: Sequence[torch.Tensor]) -> SparseTensor:
    """A SparseTensor over component arrays in the order of ``form.names``; they are not looked at."""
    if torch.compiler.is_dynamo_compiling():
        _torch.admit_nodes()
        return assembled(form.text, tuple(shape), *arrays)
    if arrays[-1].__class__ is not torch.Tensor:
        arrays = (*arrays[:-1], _torch.as_plain(arrays[-1]))
    kind = rooms.composed.Composed if is_composed(form.text) else SparseTensor
    if torch.compiler.is_exporting():
        kind = _on_the_way(kind)
    return made(kind, form.text, form.names, tuple(shape), arrays)


@_torch.node
def assembled(text: str, shape: tuple[int, ...], *arrays: torch.Tensor) -> SparseTensor:
    """The same, perhaps differentiably; a node of its own in graphs."""
    return rooms.values.assemble(layout(text, len(shape)), shape, arrays)


@_torch.untraced
def from_result(text: str, shape: tuple[int, ...], arrays: tuple[torch.Tensor, ...]) -> SparseTensor:
    """The SparseTensor of arrays that the extension made, whose structure needs no second look."""
    return fresh(layout(text, len(shape)), shape, arrays)


def from_run(found: Sequence) -> list[torch.Tensor]:
    """The results of a program. Those with the structure of an operand are SparseTensors already."""
    return [from_result(*r) if r.__class__ is tuple else r for r in found]


def fresh(form: Layout, shape: tuple[int, ...], arrays: tuple[torch.Tensor, ...]) -> SparseTensor:
    """The SparseTensor of arrays of its own that the extension made."""
    self = made(SparseTensor, form.text, form.names, shape, arrays)
    self.__dict__["_made"] = True
    return self


class _OnTheWay:
    """What is made while torch.export traces.

    It follows reads of the components of SparseTensors, as it must for inputs; of these it knows the
    arrays already, and they are read as they are.
    """

    __getattribute__ = torch.Tensor.__getattribute__


@cache
def _on_the_way(kind: type) -> type:
    """SparseTensors of a kind that are made then."""
    return type(f"_{kind.__name__}OnTheWay", (_OnTheWay, kind), {})


_torch.refuse_in_results(_OnTheWay)

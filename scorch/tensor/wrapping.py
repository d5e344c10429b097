"""Making SparseTensors of component arrays, which are not looked at."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .. import _torch
from . import rooms
from .format import Layout, is_composed, layout
from .sparsetensor import SparseTensor, made


def wrap(form: Layout, shape: Sequence[int], arrays: Sequence[torch.Tensor]) -> SparseTensor:
    """A SparseTensor over component arrays in the order of ``form.names``; they are not looked at."""
    if torch.compiler.is_dynamo_compiling():
        _torch.admit_nodes()
        return _wrap_in_graph(form.text, tuple(shape), *arrays)
    kind = _OnTheWay if torch.compiler.is_exporting() else SparseTensor
    if is_composed(form.text):
        kind = rooms.composed.Composed
    return made(kind, form.text, form.names, tuple(shape), arrays)


@_torch.node
def _wrap_in_graph(text: str, shape: tuple[int, ...], *arrays: torch.Tensor) -> SparseTensor:
    return rooms.values.assemble(layout(text, len(shape)), shape, arrays)


@_torch.untraced
def from_result(text: str, shape: tuple[int, ...], arrays: tuple[torch.Tensor, ...]) -> SparseTensor:
    """The SparseTensor of arrays that the extension made, whose structure needs no second look."""
    return fresh(layout(text, len(shape)), shape, arrays)


def from_run(found: Sequence, operands: Sequence) -> list[torch.Tensor]:
    """The results of a program. Those with the structure of an operand share its derived layouts too."""
    results = []
    for r in found:
        if not isinstance(r, torch.Tensor):
            r = from_result(*r)
            _look_for_origin(r.__dict__, operands)
        results.append(r)
    return results


def _look_for_origin(facts: dict, operands: Sequence) -> None:
    """Notes the core of the operand in this format whose last array of structure is the same, so all are."""
    text, names = facts["_fmt"], facts["_names"]
    for x in operands:
        own = x.__dict__
        if len(names) > 1 and own.get("_fmt") == text and own.get(names[-2]) is facts[names[-2]]:
            if own["_shape"] == facts["_shape"]:
                facts["_origin"] = own.get("_core")
            return


def fresh(form: Layout, shape: tuple[int, ...], arrays: tuple[torch.Tensor, ...]) -> SparseTensor:
    """The SparseTensor of arrays of its own that the extension made."""
    self = made(SparseTensor, form.text, form.names, shape, arrays)
    self.__dict__["_made"] = True
    return self


class _OnTheWay(SparseTensor):
    """A SparseTensor made while torch.export traces.

    It follows reads of the components of SparseTensors, as it must for inputs; of this one it knows the
    arrays already, and they are read as they are.
    """

    __getattribute__ = torch.Tensor.__getattribute__

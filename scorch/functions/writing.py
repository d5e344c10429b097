"""Writing to what is there: the stored values of a SparseTensor, parts of it, and ``out=``.

Only stored values change; the structure is fixed, so nothing but zero is written where nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number

import torch

from .. import _torch
from ..tensor.entries import coordinates, same_structure
from ..tensor.index import assign, lookup
from ..tensor.sparsetensor import SparseTensor, partwise
from ..tensor.values import filled, needs_grad, padding, refuse_unwritable, values_as_held
from . import kernels

_MEETS = {"__imul__", "__iand__", "mul_", "multiply_", "logical_and_", "bitwise_and_", "masked_fill_"}  # by A

ONE_STRUCTURE = "expected SparseTensors of one structure, as parameter and gradient have"


# ---- stored values ----
def cleared(a: SparseTensor) -> SparseTensor:
    """a, changed in place: what fills its rows up is zero."""
    if (filler := padding(a)) is not None:
        a._val.masked_fill_(filler, 0)
    _torch.write_back(a._val)
    return a


def refuse_recorded(name: str, *tensors: torch.Tensor) -> None:
    if needs_grad(*tensors):
        raise NotImplementedError(
            f"{name} changes a SparseTensor in place, which is not recorded: use the operation that "
            f"returns a result, or torch.no_grad()"
        )


def refuse_repeated(name: str, a: SparseTensor) -> None:
    if not a._is_unique():
        raise ValueError(f"{name} in place: entries are stored several times: call A.coalesce() first")


def gather(a: SparseTensor, b: torch.Tensor) -> torch.Tensor:
    """The values of a dense tensor, broadcast, at A's stored places, in storage order; 0 in padding."""
    values = None if torch.is_grad_enabled() and b.requires_grad else kernels.stored(a, b)
    if values is not None:
        return values
    indices, there = coordinates(a)
    if 0 in a.shape:  # all that is stored is padding
        return b.expand(a.shape).sum(dtype=b.dtype).repeat(a._val.shape[0])
    values = b.expand(a.shape)[tuple(indices)]
    return values if there is None else values.masked_fill(~there, 0)


def put_back(a: SparseTensor, b: torch.Tensor, values: torch.Tensor) -> None:
    """Writes values in A's storage order to its stored places in a dense tensor, as ``gather`` took them."""
    indices, there = coordinates(a)
    if there is not None:
        indices, values = indices[:, there], values[there]
    b.index_put_(tuple(indices), values)


def looked_up(a: SparseTensor, x: SparseTensor) -> torch.Tensor:
    """The values of x at A's stored places, in storage order; 0 where x has none, and in padding."""
    indices, there = coordinates(a)
    values = lookup(x, tuple(indices))
    return values if there is None else values.masked_fill(~there, 0)


def values_at(a: SparseTensor, x: torch.Tensor) -> torch.Tensor:
    """The same of an x that is dense or sparse; its own values where both have one structure."""
    if not isinstance(x, SparseTensor):
        return gather(a, x)
    return values_as_held(x) if same_structure(a, x) else looked_up(a, x)


def stored(a: SparseTensor, x: object, name: str) -> object:
    """What an in-place operation on A's values takes for an operand."""
    if isinstance(x, SparseTensor):
        x = x._unique()
        return x.values() if same_structure(a, x) else _met(a, x, name)
    if not (isinstance(x, torch.Tensor) and x.dim()):
        return x
    return filled(gather(a, x), padding(a), 1)  # nothing is divided by zero in padding


def matched(a: SparseTensor, x: SparseTensor, refusal: str) -> torch.Tensor:
    """The values of x, which has the structure of a; where calls are traced, the graph looks whether it has.

    Raises: ValueError: the refusal, where it has another.
    """
    if same_structure(a, x):
        return x._val
    alike = (a._fmt, a.index_dtype, a.shape) == (x._fmt, x.index_dtype, x.shape)
    if not alike or not _torch.is_compiling():
        raise ValueError(refusal)
    structure, count = a._arrays()[:-1], a._val.shape[0]
    return torch.ops.scorch.matched(structure, x._arrays(), count, refusal)


def _met(a: SparseTensor, x: SparseTensor, name: str) -> torch.Tensor:
    """The values of x at A's stored places, zeros where x has none; x is of other structure.

    Raises: ValueError: x has an entry where A has none, and a product does not drop it.
    """
    if a.shape == x.shape and (name in _MEETS or not _torch.in_graph()):
        values = looked_up(a, x)
        if name in _MEETS or int((values != 0).sum()) == x.count_nonzero():
            return values
    refuse_repeated(name, a)
    refusal = (
        f"{name}: expected a SparseTensor of the same structure, or, outside of graphs, of entries that are "
        f"stored here too, since only stored values change in place: use the operation that returns a "
        f"result; an optimizer that ends here, as Muon, steps on all of a matrix: hold A.to_dense()"
    )
    return matched(a, x, refusal)


def replace(a: SparseTensor, f: Callable, name: str) -> SparseTensor:
    """f on the stored values, in place."""
    refuse_unwritable(name, a)
    refuse_recorded(name, a)
    refuse_repeated(name, a)
    a._val.copy_(f(a.values()))
    return cleared(a)


# ---- parts ----
def cut(f: Callable, name: str) -> Callable:
    """``tril_`` and ``triu_``, by f, which tells of the coordinates [ndim, nnz] which stay."""

    def changed(input: SparseTensor, diagonal: int = 0) -> SparseTensor:
        if input._ndim < 2:
            raise ValueError(f"{name}: expected at least 2 dimensions, got {input._ndim}")
        refuse_unwritable(name, input)
        refuse_recorded(name, input)
        row, column = coordinates(input)[0][-2:]
        input._val.masked_fill_(~f(column - row, diagonal), 0)
        return cleared(input)

    return partwise(changed)


@partwise
def fill_diagonal_(input: SparseTensor, fill_value: Number, wrap: bool = False) -> SparseTensor:
    """``Tensor.fill_diagonal_`` of a matrix; anything but zero is for diagonals that are stored."""
    if input._ndim != 2 or (wrap and input.shape[0] > input.shape[1]):
        raise NotImplementedError(
            "fill_diagonal_: expected a matrix, and no wrap: use torch.diagonal_scatter"
        )
    places = torch.arange(min(input.shape), device="cpu")
    assign(input, (places, places), fill_value, "fill_diagonal_")
    return input


@partwise
def index_fill_(input: SparseTensor, dim: int, index: torch.Tensor, value: Number) -> SparseTensor:
    """``Tensor.index_fill_``; anything but zero is for parts that are stored."""
    where = [slice(None)] * input._ndim
    where[dim] = index
    assign(input, tuple(where), value, "index_fill_")
    return input


@partwise
def index_put_(
    input: SparseTensor, indices: tuple[torch.Tensor, ...], values: torch.Tensor, accumulate: bool = False
) -> SparseTensor:
    """``Tensor.index_put_`` of entries that are stored."""
    assign(input, tuple(indices), values, "index_put_", accumulate)
    return input


# ---- out= ----
def written(out: object, made: object) -> object:
    """``out=``: what was made, in tensors that are there; one of no entries takes its shape, as in torch.

    Raises: RuntimeError: a gradient is asked for, or the types do not allow it. ValueError: another shape, or
    a SparseTensor that has no room for an entry.
    """
    if isinstance(made, tuple | list):
        if not isinstance(out, tuple | list) or len(out) != len(made):
            raise TypeError(f"out=: expected {len(made)} tensors, got {type(out).__name__}")
        return type(made)([written(x, y) for x, y in zip(out, made, strict=True)])
    if needs_grad(out, made):
        raise RuntimeError("what is written to out= is not recorded: use the result, or torch.no_grad()")
    if not torch.can_cast(made.dtype, out.dtype):
        raise RuntimeError(f"out=: expected a type that holds {made.dtype}, got {out.dtype}")
    if out.shape != made.shape:
        if isinstance(out, SparseTensor) or out.numel():
            raise ValueError(f"out=: expected the shape {list(made.shape)}, got {list(out.shape)}")
        out.resize_(made.shape)
    if not isinstance(out, SparseTensor):
        return out.copy_(made)
    if not isinstance(made, SparseTensor):
        raise ValueError("out=: the result is dense: expected a dense tensor, got a SparseTensor")
    refuse_unwritable("out=", out)
    refuse_repeated("out=", out)
    out._val.copy_(stored(out, made, "out="))
    return cleared(out)

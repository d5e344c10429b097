"""Running programs: on the objects themselves, recorded by a node, or through the operators.

What is eager hands the operands to the extension directly. What torch records or transforms (torch.compile,
functorch, forward-mode) goes through ``torch.ops.scorch.evaluate`` and ``torch.ops.scorch.program`` on plain
component tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from numbers import Number

import torch

from .. import _C, _torch
from ..tensor.format import layout
from ..tensor.making import MATRICES, sparse
from ..tensor.sparsetensor import SparseTensor, core_of
from ..tensor.values import as_dense, assemble, needs_grad, once, values_of
from ..tensor.wrapping import from_run
from .dynamic import Dynamic, resolved
from .gradients import run_eagerly
from .program import results, type_name

NO_SIZES = [0]  # AOTInductor hands an empty list over as None; a program reads as many as it needs
_printed: set[str] = set()

Out = torch.Tensor | tuple[torch.Tensor | None, ...] | None


# ---- operands ----
def operand_of(x: object, dtype: torch.dtype | None) -> torch.Tensor:
    """A SparseTensor or a plain dense tensor."""
    if isinstance(x, SparseTensor):
        return as_dense(once(x))
    if x.__class__ is torch.Tensor and x.layout is torch.strided and not torch.compiler.is_dynamo_compiling():
        return x.resolve_neg() if x.is_neg() else x  # the commonest operand
    if isinstance(x, Number) and not _torch.is_foreign(x):
        if isinstance(x, complex):
            raise TypeError(f"expected real numbers and tensors, got {x}: complex numbers are not supported")
        return torch.tensor(x, dtype=dtype, device="cpu")
    if isinstance(x, Dynamic):
        return resolved(x)
    listed = hasattr(x, "tocoo") or x.__class__ in MATRICES
    if listed or (isinstance(x, torch.Tensor) and x.layout is not torch.strided):
        return sparse(x)
    if not isinstance(x, torch.Tensor):
        try:
            x = _torch.as_tensor(x)
        except (RuntimeError, TypeError, ValueError) as error:
            why = str(error)
            what = f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")
            if isinstance(x, (list, tuple)) and any(isinstance(part, torch.Tensor) for part in x):
                why = "operands stand one by one; torch.stack makes one tensor of several"
            message = f"expected tensors, SparseTensors, arrays or numbers, got {what}: {why}"
            raise TypeError(message) from None
    if torch.compiler.is_dynamo_compiling() or not x.is_neg():
        return x
    return x.resolve_neg()


def operands_of(given: tuple) -> list[torch.Tensor]:
    """Operands as they were given, as tensors; numbers have the type of the first floating point tensor."""
    dtype = None
    if any(not isinstance(x, torch.Tensor) and isinstance(x, Number) for x in given):
        dtype = next((x.dtype for x in given if isinstance(x, torch.Tensor) and x.is_floating_point()), None)
    return [operand_of(x, dtype) for x in given]


def is_plain(operands: list[torch.Tensor]) -> bool:
    """Whether the extension may be called on the objects themselves."""
    return not needs_grad(*operands) and not is_traced(operands)


def is_traced(operands: list[torch.Tensor]) -> bool:
    """Whether a call on these operands is traced or transformed."""
    return _torch.is_tracing(*[x for x in operands if not isinstance(x, SparseTensor)])


def as_passed(x: torch.Tensor) -> object:
    """What the extension is given for an operand."""
    return core_of(x) if isinstance(x, SparseTensor) else x


def note_written(out: Out) -> None:
    """Tells autograd that what took a result has changed."""
    for x in out if isinstance(out, tuple) else (out,):
        if x is not None:
            torch.autograd.graph.increment_version(x)


def _refuse_out(out: torch.Tensor, made: torch.Tensor) -> None:
    """Raises ValueError where a result cannot be written to what shall take it, as the extension does."""
    if isinstance(made, SparseTensor):
        raise ValueError('out: expected a dense result, and this one is sparse: ask for format="dense"')
    whole = out.is_contiguous()
    if not whole or out.shape != made.shape or out.dtype != made.dtype:
        sizes = [", ".join([f"{n}" for n in x.shape]) for x in (made, out)]
        raise ValueError(
            f"out: expected a contiguous tensor of shape ({sizes[0]}) and type {type_name(made.dtype)}, "
            f"got {'' if whole else 'a strided one of '}({sizes[1]}) of {type_name(out.dtype)}"
        )


def copied(
    out: Out, made: torch.Tensor | tuple[torch.Tensor, ...]
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """``out=`` in a graph, which knows no addresses: results, copied to what shall take them."""
    outs = out if isinstance(out, tuple) else (out,)
    results = made if isinstance(made, tuple) else (made,)
    if len(outs) != len(results):
        raise ValueError(
            f"out: expected a tuple of {len(results)} tensors, one a result (None where it is to be made), "
            f"got {len(outs)}"
        )
    pairs = [*zip(outs, results, strict=True)]
    for x, y in pairs:
        if x is not None:
            _refuse_out(x, y)
    return unpacked([y if x is None else x.copy_(y) for x, y in pairs])


# ---- three ways ----
def run(program: str, operands: list[torch.Tensor], out: Out = None) -> list[torch.Tensor]:
    """Results by the extension, on the objects themselves."""
    direct = tuple(operands)
    if _torch.DEBUG_STAGES and program not in _printed:
        _printed.add(program)
        for stage in _torch.DEBUG_STAGES:
            print(f"-- {stage}\n{_C.text(program, direct, stage)}", file=sys.stderr)
    results = from_run(_C.run(program, direct, out))
    if out is not None:
        note_written(out)
    return results


@_torch.constant
def _described(program: str, ranks: tuple[int, ...], types: tuple[str, ...]) -> list:
    """(layout, is it dense, operand it is like or -1, sources of extents) of each result."""
    found = results(program, ranks, types)
    return [(layout(r.format, len(r.extents)), r.is_dense, r.like, r.extents) for r in found]


def through_operator(program: str, operands: list[torch.Tensor]) -> list[torch.Tensor]:
    """Results by the operators, on plain tensors: traced, transformed, differentiable."""
    _torch.refuse_jit()
    tensors, sizes = [], []
    for x in operands:
        if isinstance(x, SparseTensor):
            tensors.extend((*x._arrays()[:-1], values_of(x)))
            sizes.extend(x.shape)
        else:
            tensors.append(x)
    ranks, types = tuple(x.dim() for x in operands), tuple(type_name(x.dtype) for x in operands)
    described = _described(program, ranks, types)
    sizes = sizes or NO_SIZES
    if len(described) == 1 and described[0][1]:
        return [torch.ops.scorch.evaluate(program, tensors, sizes)]
    arrays, at, results = torch.ops.scorch.program(program, tensors, sizes), 0, []
    for form, dense, like, extents in described:
        n = 1 if dense or like >= 0 else len(form.names)
        own, at = arrays[at : at + n], at + n
        if dense:
            results.append(own[0])
        elif like >= 0:
            results.append(operands[like]._with_values(own[0]))
        else:
            results.append(assemble(form, [operands[k].shape[d] for k, d in extents], own))
    return results


def recorded(program: str, operands: list[torch.Tensor]) -> list[torch.Tensor]:
    """A call that is traced, transformed or differentiated."""
    if is_traced(operands):
        return through_operator(program, operands)
    return run_eagerly(program, operands, run)


def unpacked(results: Iterable[torch.Tensor]) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """The result, or the tuple of several."""
    found = tuple(results)
    return found[0] if len(found) == 1 else found

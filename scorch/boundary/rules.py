"""What torch does with the operators of scorch: derivatives, forward-mode and batching.

``scorch::evaluate`` returns one dense tensor, ``scorch::program`` the arrays of any number of results; both
take a program string and plain component tensors. An Autograd-key kernel runs a single-level Function and
dispatches below autograd inside it, as torch's own functorch code does, so that one definition serves eager,
functorch transforms, forward-mode and torch.compile. What torch.compile differentiates no more is
``scorch::run`` and ``scorch::run_many``, which have kernels in C alone. Derivatives are programs as well: the
gradient is derived by the compiler, and a tangent is the gradient of that gradient, which is linear in what
comes in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import torch

from .. import _torch
from ..functions.gradients import Gradient, fit, gradient_of, gradients_by, identity, mask, results_read
from ..functions.program import TAB, Result, results, type_name
from ..functions.run import NO_SIZES
from ..tensor.format import layout
from . import wrappers

_lib = torch.library.Library("scorch", "IMPL")


# ---- calls taken apart ----
class Group(NamedTuple):
    """One operand or result: its structure, its values (dense: itself) and its extents."""

    structure: tuple[torch.Tensor, ...]
    values: torch.Tensor | None
    shape: tuple[int, ...]


def _lines(program: str) -> list[tuple[str, str, str]]:
    """(name, rank, format) of each operand."""
    return [tuple(line.split(":", 2)) for line in program.split(TAB)[1:] if not line.startswith("!")]


def _groups(program: str, tensors: Sequence[torch.Tensor], sizes: Sequence[int]) -> list[Group]:
    groups, at, size = [], 0, 0
    for _, rank, format in _lines(program):
        n = len(layout(format, int(rank)).names) if format else 1
        *structure, values = tensors[at : at + n]
        at += n
        shape = tuple(sizes[size : size + int(rank)]) if format else tuple(values.shape)
        size += int(rank) if format else 0
        groups.append(Group(tuple(structure), values, shape))
    return groups


def _ranks(groups: Sequence[Group]) -> tuple[int, ...]:
    return tuple(len(g.shape) for g in groups)


def _results(program: str, groups: Sequence[Group]) -> tuple[Result, ...]:
    types = tuple(type_name(g.values.dtype) for g in groups)
    return results(program, _ranks(groups), types)


def _outcome(program: str, groups: Sequence[Group], outs: Sequence[torch.Tensor | None]) -> list[Group]:
    """The results that an operator returned."""
    made, at = [], 0
    for r in _results(program, groups):
        shape = tuple(groups[k].shape[d] for k, d in r.extents)
        n = 1 if r.is_dense or r.like >= 0 else len(layout(r.format, len(shape)).names)
        *structure, values = outs[at : at + n]
        at += n
        made.append(Group(groups[r.like].structure if r.like >= 0 else tuple(structure), values, shape))
    return made


@lru_cache(maxsize=4096)
def _dense(program: str, ranks: tuple[int, ...], types: tuple[str, ...]) -> str:
    """The program of ``scorch::evaluate``, which returns a dense tensor whatever is inferred."""
    (result,) = results(program, ranks, types)
    if result.is_dense:
        return program
    kept = [line for line in program.split(TAB) if not line.startswith("!ask")]
    return TAB.join([*kept, f"!ask {len(result.extents)}:dense"])


def _delivered(op: Callable, program: str, groups: Sequence[Group]) -> str:
    if op is not torch.ops.scorch.evaluate.default:
        return program
    return _dense(program, _ranks(groups), tuple(type_name(g.values.dtype) for g in groups))


def _call(program: str, groups: Sequence[Group]) -> list[Group]:
    tensors = [t for g in groups for t in (*g.structure, g.values)]
    lines = _lines(program)
    sizes = [n for g, (_, _, format) in zip(groups, lines, strict=True) if format for n in g.shape]
    sizes = sizes + _torch.symbols_in([t.shape[0] for t in tensors if t.dim()]) or NO_SIZES
    results = _results(program, groups)
    if len(results) == 1 and results[0].is_dense:
        outs = [torch.ops.scorch.evaluate(program, tensors, sizes)]
    else:
        outs = torch.ops.scorch.program(program, tensors, sizes)
    return _outcome(program, groups, outs)


# ---- derivatives ----
def _inputs(
    gradient: Gradient, groups: Sequence[Group], made: Sequence[Group], grads: Sequence[torch.Tensor | None]
) -> list[Group]:
    """The operands of a gradient program, from the gradients to the values of the results."""
    found = []
    for origin, index, dim in gradient.sources:
        if origin == "operand":
            found.append(groups[index])
        elif origin == "result":
            found.append(made[index])
        elif origin == "gradient":
            grad = grads[index].contiguous() if made[index].structure else grads[index]
            found.append(made[index]._replace(values=grad))
        else:
            n = groups[index].shape[dim]
            *structure, values = identity(n, groups[index].values)
            found.append(Group(tuple(structure), values, (n, n)))
    return found


def _fitted(out: Group, lacks: int, x: Group) -> torch.Tensor:
    return fit(out.values, lacks, () if x.structure else x.shape, x.values.dtype)


def _add(
    gradient: Gradient,
    groups: list[Group],
    made: list[Group],
    grads: Sequence[torch.Tensor | None],
    found: list[torch.Tensor | None],
) -> None:
    """The gradients to the values of the operands that a program is for."""
    outs = _call(gradient.program, _inputs(gradient, groups, made, grads))
    for k, lacks, number in gradient.results:
        found[k] = _fitted(outs[number], lacks, groups[k])


def _jvp(
    program: str, groups: list[Group], made: list[Group], tangents: Sequence[torch.Tensor | None]
) -> list[torch.Tensor | None]:
    """The tangent of the values of each result, None where it is zero."""
    found: list[torch.Tensor | None] = [None] * len(made)
    wanted = mask([t is not None for t in tangents])
    first = gradient_of(program, _ranks(groups), wanted, (1 << len(made)) - 1)
    inner = _inputs(first, groups, made, [torch.zeros_like(m.values) for m in made])
    incoming = mask([origin == "gradient" for origin, _, _ in first.sources])
    if not first.results or not incoming:
        return found
    second = gradient_of(first.program, _ranks(inner), incoming, sum(1 << n for *_, n in first.results))
    if any(origin == "result" for origin, _, _ in second.sources):  # temporaries without what comes in
        outer = _call(first.program, inner)
    else:
        outer = [Group((), None, ())] * (1 + max(n for *_, n in first.results))
    seeds: list[torch.Tensor | None] = [None] * len(outer)
    for k, lacks, n in first.results:
        dims = [d for d in range(len(groups[k].shape)) if lacks >> d & 1]
        seeds[n] = tangents[k].sum(dims) if dims else tangents[k]
        kept = tuple(m for d, m in enumerate(groups[k].shape) if d not in dims)
        outer[n] = groups[k]._replace(values=seeds[n], shape=kept)
    outs = _call(second.program, _inputs(second, inner, outer, seeds)) if second.results else ()
    for k, lacks, n in second.results:
        r = first.sources[k][1]
        found[r] = _fitted(outs[n], lacks, made[r])
    return found


class _Operator(_torch.AutogradNode):
    """Either operator, single level."""

    @staticmethod
    def forward(ctx, op, below, program, sizes, *tensors):
        ctx.set_materialize_grads(False)
        with _torch.below_autograd():
            outs = below(program, list(tensors), sizes)
        outs = [outs] if isinstance(outs, torch.Tensor) else outs
        groups = _groups(program, tensors, sizes)
        program = _delivered(op, program, groups)
        made = _outcome(program, groups, range(len(outs)))  # places of arrays among outs
        floats = mask([g.values.is_floating_point() for g in groups])
        keep = {made[r].values for r in results_read(program, _ranks(groups), floats, len(made))}
        keep |= {at for m in made for at in m.structure if isinstance(at, int)}
        ctx.program, ctx.sizes, ctx.count = program, sizes, len(tensors)
        ctx.keep, ctx.shapes = sorted(keep), [tuple(y.shape) for y in outs]
        ctx.types = [y.dtype for y in outs]
        ctx.save_for_backward(*tensors, *(outs[at] for at in ctx.keep))
        ctx.save_for_forward(*tensors, *(outs[at] for at in ctx.keep))
        ctx.mark_non_differentiable(*(y for y in outs if not y.is_floating_point()))
        return tuple(outs)

    @staticmethod
    def _saved(ctx):
        saved, n = ctx.saved_tensors, ctx.count
        outs: list[torch.Tensor | None] = [None] * len(ctx.shapes)
        for at, y in zip(ctx.keep, saved[n:], strict=True):
            outs[at] = y
        groups = _groups(ctx.program, saved[:n], ctx.sizes)
        return groups, _outcome(ctx.program, groups, outs)

    @staticmethod
    def backward(ctx, *grads):
        groups, made = _Operator._saved(ctx)
        places = _outcome(ctx.program, groups, range(len(grads)))
        counts = [len(g.structure) + 1 for g in groups]
        wanted, at = 0, 4
        for k, n in enumerate(counts):
            at += n
            wanted |= ctx.needs_input_grad[at - 1] << k
        incoming = [grads[p.values] for p in places]
        add = lambda gradient, found: _add(gradient, groups, made, incoming, found)  # noqa: E731
        given = mask([g is not None for g in incoming])
        found = gradients_by(ctx.program, _ranks(groups), wanted, given, add)
        flat = [x for n, grad in zip(counts, found, strict=True) for x in (*[None] * (n - 1), grad)]
        return None, None, None, None, *flat

    @staticmethod
    def jvp(ctx, _op, _below, _program, _sizes, *tangents):
        groups, made = _Operator._saved(ctx)
        places = _outcome(ctx.program, groups, range(len(ctx.shapes)))
        zeros = lambda at: groups[0].values.new_zeros(ctx.shapes[at], dtype=ctx.types[at])  # noqa: E731
        for k, (m, place) in enumerate(zip(made, places, strict=True)):
            if m.values is None:
                made[k] = m._replace(values=zeros(place.values))
        given, at = [], 0
        for g in groups:
            at += len(g.structure) + 1
            given.append(tangents[at - 1])
        result: list[torch.Tensor | None] = [None] * len(ctx.shapes)
        for place, tangent in zip(places, _jvp(ctx.program, groups, made, given), strict=True):
            if ctx.types[place.values].is_floating_point:  # None for one of several is refused by torch
                result[place.values] = zeros(place.values) if tangent is None else tangent
        return tuple(result)


def _below(op: Callable, last: Callable) -> Callable:
    """What a graph holds: `last` where nothing is differentiated after it."""
    if not _torch.in_final_graph():
        return op
    wrappers.call_directly()
    return last


def _kernel(op: Callable, last: Callable, single: bool) -> Callable:
    def autograd(program, operands, sizes):
        below = _below(op, last)
        if not _torch.is_differentiated(operands):
            with _torch.only_below_autograd():
                return below(program, operands, sizes)
        with _torch.single_level():
            outs = _Operator.apply(op, below, program, sizes, *operands)
        return outs[0] if single else list(outs)

    return autograd


# ---- batching ----
_FRESH = "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA"


def _add_index(names: set[str], index: str, text: str) -> str:
    """Index notation with a leading index on every access to the tensors in names."""

    def access(match: re.Match) -> str:
        if match[1] not in names:
            return match[0]
        return f"{match[1]}[{index},{match[2]}]" if match[2] else f"{match[1]}[{index}]"

    return re.sub(r"([A-Za-z_]\w*)(?:\[([^\]]*)\])?", access, text)


def _batch_notation(text: str, names: Sequence[str], batched: Sequence[bool]) -> tuple[str, list[bool]]:
    """The same over a new leading index, and which assignments have it on the left."""
    index = next(c for c in ("batch", "batch_1", "batch_2", "batch_3") if c not in text)
    carried = {name for name, flag in zip(names, batched, strict=True) if flag}
    written, flags = [], []
    for assignment in text.split("; "):
        left, right = re.match(r"(.*?(?<![<>!=])(?:\+|max|min)?=(?!=))(.*)", assignment).groups()
        name = re.match(r"\w+", left)[0]
        flags.append(bool(carried & set(re.findall(r"[A-Za-z_]\w*", right))))
        if flags[-1]:
            carried.add(name)
        written.append(_add_index(carried, index, left) + _add_index(carried, index, right))
    return "; ".join(written), flags


def _batch_program(program: str, batched: Sequence[bool]) -> tuple[str, list[bool]]:
    """The program over a new leading dimension of some operands, and which results have it too."""
    text, *lines = program.split(TAB)
    if "->" in text:
        index = next(c for c in _FRESH if c not in text)
        inputs, output = text.split("->")
        inputs = ",".join(index * b + i for i, b in zip(inputs.split(","), batched, strict=True))
        return TAB.join([f"{inputs}->{index}{output}", *_batch_asks(lines, [True])]), [True]
    names = [name for name, _, _ in _lines(program)]
    text, flags = _batch_notation(text, names, batched)
    return TAB.join([text, *_batch_asks(lines, flags)]), flags


def _batch_asks(lines: list[str], batched: list[bool]) -> list[str]:
    asks = iter(batched)
    return [
        re.sub(r"^!ask (\d+):dense$", lambda m: f"!ask {int(m[1]) + 1}:dense", line) if added else line
        for line in lines
        for added in [line.startswith("!ask") and next(asks)]
    ]


def _in_a_loop(
    op: Callable, info: object, in_dims: Sequence, program: str, operands: list, sizes: list
) -> list[tuple[torch.Tensor, ...]]:
    """One call an element of the batch: what each array is in all of them."""
    calls = []
    for b in range(info.batch_size):
        own = [
            x if d is None else x.select(d, b).contiguous() for x, d in zip(operands, in_dims, strict=True)
        ]
        outs = op(program, own, sizes)
        calls.append([outs] if isinstance(outs, torch.Tensor) else outs)
    return list(zip(*calls, strict=True))


def _batched(op: Callable, single: bool) -> Callable:
    """Batching rule: a new leading index on batched dense operands and on what depends on them."""

    def rule(info, in_dims, program, operands, sizes):
        groups = _groups(program, operands, sizes)
        dims, at = [], 0
        for g in groups:
            at += len(g.structure) + 1
            dims.append(in_dims[1][at - 1])
        sparse = [bool(format) for *_, format in _lines(program)]
        single_groups = [
            g._replace(shape=g.shape[1:]) if d is not None and not s else g
            for g, d, s in zip(groups, dims, sparse, strict=True)
        ]
        program = _delivered(op, program, single_groups)
        results = _results(program, single_groups)
        if any(d is not None and s for d, s in zip(dims, sparse, strict=True)) or not all(
            r.is_dense for r in results
        ):
            calls = _in_a_loop(op, info, in_dims[1], program, operands, sizes)
            values = {m.values for m in _outcome(program, single_groups, range(len(calls)))}
            flags = [k in values for k in range(len(calls))]  # structures are those of operands
            outs = [torch.stack(y) if flag else y[0] for y, flag in zip(calls, flags, strict=True)]
        else:
            moved = [x if d is None else x.movedim(d, 0) for x, d in zip(operands, in_dims[1], strict=True)]
            batched, flags = _batch_program(program, [d is not None for d in dims])
            outs = op(batched, moved, sizes)
            outs = [outs] if single else outs
        places = [0 if flag else None for flag in flags]
        return (outs[0], places[0]) if single else (outs, places)

    return rule


for _name, _last, _single in (("evaluate", "run", True), ("program", "run_many", False)):
    _op = getattr(torch.ops.scorch, _name).default
    _lib.impl(_name, _kernel(_op, getattr(torch.ops.scorch, _last).default, _single), "Autograd")
    torch.library.register_vmap(f"scorch::{_name}", _batched(_op, _single), lib=_lib)
    _lib.impl(_name, _torch.refuse_batched, "Batched")

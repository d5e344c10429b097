"""Expressions: einsum and index notation, at once or ahead of the call.

An einsum that is a product takes the extension's fast entry (multiply.py). Most other eager calls are
found by the extension itself; what is left goes one of the ways of run.py.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import compress

import torch

from .. import _C, _torch
from ..tensor import rooms
from ..tensor.format import Format, has_parts, is_composed, repeats
from ..tensor.sparsetensor import MATMUL, TRANSPOSED, SparseTensor
from ..tensor.values import needs_grad, once
from ..tensor.wrapping import from_run
from . import autocast, notation, readings
from .dynamic import Dynamic
from .explanation import Explanation
from .gradients import run_eagerly
from .keeping import run_kept
from .multiply import fast_product
from .part_schedules import converts
from .program import Asked, known_program, known_revealed, of_operand, program_of, revealed_program, written
from .run import (
    Out,
    as_passed,
    copied,
    is_plain,
    is_traced,
    note_written,
    operands_of,
    recorded,
    run,
    unpacked,
)

_PRODUCTS = {"ij,jk->ik": MATMUL, "ji,jk->ik": TRANSPOSED, "ij,ik->jk": TRANSPOSED}
_NO_OUT = "out: expected a call without gradients or transforms"


def _check(expression: object, format: object, schedule: object, out: object) -> None:
    """Of the right types, and nothing that autograd watches."""
    if isinstance(expression, str) and format is None and schedule is None and out is None:
        return
    if not isinstance(expression, str):
        got = type(expression).__name__
        raise TypeError(
            f"expected the expression as a string in front of its operands, such as 'ij,jk->ik', got {got}"
        )
    if schedule is not None and not isinstance(schedule, str):
        raise TypeError(f"schedule: expected a string, got {type(schedule).__name__}")
    if format is not None and not isinstance(format, (str, Format, list, tuple)):
        got = type(format).__name__
        raise TypeError(f"format: expected a string, a Format or a sequence of them, got {got}")
    for x in () if out is None else out if isinstance(out, tuple) else (out,):
        if x is not None and (not isinstance(x, torch.Tensor) or isinstance(x, SparseTensor)):
            raise TypeError(f"out: expected a dense torch.Tensor, got {type(x).__name__}")
        if x is not None and x.requires_grad and torch.is_grad_enabled():
            raise ValueError("out: expected a tensor that requires no gradient; use torch.no_grad()")


# What program an expression is, and which operands go in again, by what again.c looks at.
_known: dict[tuple, tuple[str, tuple[int, ...]]] = {}
_MOST_KNOWN = 4096
_PLAINLY = None, None, "zero"  # format, schedule, implicit of a call that says nothing of them


def _said(expression: str, how: tuple) -> str | tuple:
    """An expression and what a call says beside it, as keys have it."""
    return expression if how == _PLAINLY else (expression, how)


def _note(
    expression: str | tuple, names: tuple[str, ...], kinds: tuple, program: str, again: tuple[int, ...]
) -> None:
    if any(kind and repeats(kind[1]) for kind in kinds):
        return
    if len(_known) == _MOST_KNOWN:
        _known.clear()
    looked_at = (x for kind in kinds for x in ((kind[1], kind[0]) if kind else (None, None)))
    _known[expression, names, *looked_at] = program, again


def _evaluate(
    expression: str, names: tuple[str, ...], kinds: tuple, direct: list, how: tuple, out: Out
) -> list | object:
    as_written = expression, names, ()
    ways = [notation.apart(expression, names, kinds), as_written] if names else [as_written]
    for text, called, again in ways:
        try:
            program = known_program(text, called, (*kinds, *(kinds[k] for k in again)), *how)
            found = _C.evaluate(program, (*direct, *(direct[k] for k in again)), out)
        except (ValueError, NotImplementedError):
            if not again:
                raise  # else it is said of what was written
        else:
            if out is None:
                _note(_said(expression, how), names, kinds, program, again)
            return found
    return NotImplemented


# What recorded calls run, and which of its results they return, by the formats of their operands.
_known_recorded: dict[tuple, tuple[str, tuple[bool, ...]]] = {}


def _recorded_before(expression: str, names: tuple[str, ...], operands: tuple, how: tuple) -> object:
    """Results of a recorded call over operands like those of an earlier one; NotImplemented elsewhere."""
    kinds = []
    for x in operands:
        if isinstance(x, SparseTensor):
            kinds.append((x._ndim, x._fmt))
        elif x.__class__ in _torch.PLAIN and x.layout is torch.strided and not x.is_neg():
            kinds.append(None)
        else:
            return NotImplemented
    known = _known_recorded.get((_said(expression, how), names, *kinds))
    if known is None or not _C.plain():  # which says of autocast, too
        return NotImplemented
    kept = run_kept(expression, names, operands) if how == _PLAINLY else None
    return unpacked(compress(run_eagerly(known[0], operands, run), known[1])) if kept is None else kept


def _note_recorded(
    expression: str | tuple, names: tuple[str, ...], kinds: tuple, known: tuple[str, tuple[bool, ...]]
) -> None:
    if any(kind and repeats(kind[1]) for kind in kinds):
        return  # a gradient to such an operand is to another structure
    if len(_known_recorded) == _MOST_KNOWN:
        _known_recorded.clear()
    _known_recorded[expression, names, *kinds] = known


def _as_before(expression: str, names: tuple[str, ...], operands: tuple, how: tuple = _PLAINLY) -> object:
    """Results over operands like those of an earlier call; NotImplemented where more goes on."""
    if torch.compiler.is_dynamo_compiling() or _torch.DEBUG_STAGES:
        return NotImplemented
    try:
        if torch.is_grad_enabled() and _torch.any_requires_grad(*operands):
            return _recorded_before(expression, names, operands, how)
        found = _C.evaluate_again(_known, _said(expression, how), names, operands)
    except (TypeError, ValueError, RuntimeError):
        return NotImplemented  # it is said where all is looked at
    if found is NotImplemented:
        return NotImplemented
    if len(found) == 1 and isinstance(found[0], torch.Tensor):
        return found[0]
    return unpacked(from_run(found))


def quick(
    expression: str,
    names: tuple[str, ...],
    operands: tuple,
    format: Asked,
    schedule: str | None,
    implicit: str,
    out: Out,
) -> list | object:
    """Results by a look of the extension itself; NotImplemented where more than plain eager goes on."""
    if torch.compiler.is_dynamo_compiling() or _torch.DEBUG_STAGES or needs_grad(*operands):
        return NotImplemented
    kinds, direct = [], []
    for x in operands:
        if isinstance(x, SparseTensor):
            if once(x) is not x:
                return NotImplemented
            facts = x.__dict__
            kinds.append((facts["_ndim"], facts["_fmt"]))
            if "_core" not in facts and not _C.plain():
                return NotImplemented
            if "_core" not in facts and is_composed(facts["_fmt"]):
                return rooms.parts.quickly(expression, names, operands, format, schedule, implicit, out)
            direct.append(x)
        elif isinstance(x, torch.Tensor) and x.layout is torch.strided and not x.is_neg():
            kinds.append(None)
            direct.append(x)
        else:
            return NotImplemented
    found = _evaluate(expression, names, tuple(kinds), direct, (format, schedule, implicit), out)
    if found is NotImplemented:
        return NotImplemented
    if out is not None:
        note_written(out)
    return from_run(found)


def einsum(
    text: str,
    *operands: object,
    format: Asked = None,
    schedule: str | None = None,
    implicit: str = "zero",
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Sum of products over any number of operands, any mix of dense and sparse.

    Args:
        text: as in ``torch.einsum``, one letter an index: ``"ij,jk->ik"``; ``...`` stands for the dimensions
            that have none. Extents of 1 broadcast.
        operands: SparseTensors, dense tensors or torch sparse tensors, on the CPU; types promote as in torch.
        format: of the result; inferred where not given (sparse where the product is).
        schedule: how to run, as ``scorch.explain`` prints it; chosen where not given.
        implicit: what a missing entry is for ``min=`` and ``max=``: "zero", or "skip" to leave it out.
        out: a contiguous dense tensor that takes the result, apart from the operands.

    Returns:
        A dense tensor or a SparseTensor.

    Raises:
        ValueError: letters, ranks or extents do not fit. TypeError: an operand is no tensor.
        NotImplementedError: nothing here computes this yet; the message says what does.
        CompileError: the C compiler failed.

    >>> A, x = scorch.sparse(torch.eye(3)), torch.ones(3, 2)
    >>> scorch.einsum("ij,jk->ik", A, x).shape
    torch.Size([3, 2])
    >>> scorch.einsum("ij,jk,ik->", A, A, A).item()
    3.0
    """
    _check(text, format, schedule, out)
    if "..." in text:
        text, operands = with_letters(text, operands)
    how = format, schedule, implicit
    if torch.compiler.is_dynamo_compiling():
        return _einsum(*_left_out(notation.without_ones, text, operands), how, out)
    try:
        return _einsum(text, operands, how, out)
    except ValueError:
        plain, xs = _left_out(notation.without_ones, text, operands)
        if plain == notation.einsum_text(text):
            raise
    return _einsum(plain, xs, how, out)


def _einsum(text: str, operands: tuple, how: tuple, out: Out) -> torch.Tensor:
    """An einsum with a letter for every dimension."""
    y = _einsum_product(text, operands, out) if how == _PLAINLY else NotImplemented
    if y is NotImplemented and out is None:
        y = _as_before(text, (), operands, how)
    if y is NotImplemented and how == _PLAINLY and len(operands) > 3:
        y = _with_repeated_operands(text, operands, out)
    return compute(text, (), operands, *how, out) if y is NotImplemented else y


def _left_out(without: Callable, text: str, operands: tuple) -> tuple[str, tuple]:
    """An einsum ``without`` some dimensions of extent 1, and operands that lack them."""
    xs = operands_of(readings.densely(operands))
    text, left_out = without(text, [tuple(x.shape) for x in xs])
    xs = [x.squeeze(tuple(dims)) if dims else x for x, dims in zip(xs, left_out, strict=True)]
    if torch.compiler.is_dynamo_compiling():
        return text, tuple(xs)
    given = zip(operands, xs, strict=True)
    return text, tuple([Dynamic(x, None, None) if isinstance(y, Dynamic) else x for y, x in given])


def with_letters(text: str, operands: tuple) -> tuple[str, tuple]:
    """An einsum with ``...`` as one without."""
    return _left_out(notation.without_ellipses, text, operands)


def _with_repeated_operands(text: str, operands: tuple, out: Out) -> torch.Tensor:
    """An einsum that is given an operand twice, as one that says so: what is the same is computed once."""
    given = [*map(id, operands)]
    places = tuple(map(given.index, given))
    if torch.compiler.is_dynamo_compiling() or len(set(places)) == len(places):
        return NotImplemented
    try:
        expression, names, first = notation.of_repeated(text, places)
        xs = tuple([operands[k] for k in first])
        y = _as_before(expression, names, xs) if out is None else NotImplemented
        if y is not NotImplemented or autocast.is_on():  # which casts what einsum is given
            return y
        return compute(expression, names, xs, None, None, "zero", out)
    except (ValueError, NotImplementedError):
        return NotImplemented  # it is said of what was written


def _asks_parts(format: Asked) -> bool:
    """Whether a result shall be composed."""
    return any(map(has_parts, format)) if isinstance(format, tuple | list) else has_parts(format)


def _has_parts(operands: list[torch.Tensor]) -> bool:
    """Whether an operand is composed."""
    return any(isinstance(x, SparseTensor) and is_composed(x._fmt) for x in operands)


def compute(
    expression: str,
    names: tuple[str, ...],
    operands: tuple,
    format: Asked,
    schedule: str | None,
    implicit: str,
    out: Out,
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    if format is None and isinstance(out, torch.Tensor) and notation.has_one_result(expression):
        format = "dense"
    if out is not None and _torch.is_compiling():
        transformed = not torch.compiler.is_dynamo_compiling() and _torch.in_transform()
        if transformed or needs_grad(*[x for x in operands if isinstance(x, torch.Tensor)]):
            raise ValueError(_NO_OUT)
        return copied(out, compute(expression, names, operands, format, schedule, implicit, None))
    if readings.is_among(operands):
        return _over_dynamic(expression, names, operands, format, schedule, implicit, out)
    if out is None and torch.compiler.is_dynamo_compiling():
        _torch.admit_nodes()
        return compute_in_graph(expression, names, written(format), schedule, implicit, *operands)
    if format.__class__ is list:
        format = tuple(format)
    in_parts = (format is not None and _asks_parts(format)) or converts(schedule)
    y = NotImplemented
    if not in_parts:
        y = quick(expression, names, operands, format, schedule, implicit, out)
    if y is not NotImplemented:
        return unpacked(y)
    if (symbol := _torch.symbol_in(operands)) is not None:
        given = (expression, names, written(format), schedule, implicit, *operands)
        return _torch.noted(symbol, compute_in_graph, given, {})
    if not names and len(operands) > 1 and autocast.is_on():  # a product
        return autocast.called(
            lambda *xs: compute(expression, names, xs, format, schedule, implicit, out),
            *operands_of(operands),
        )
    xs = operands_of(operands)
    if in_parts or _has_parts(xs):
        return rooms.parts.compute(expression, names, xs, format, schedule, implicit, out)
    how = (names, tuple(map(of_operand, xs)), format, schedule, implicit)
    if is_plain(xs):
        return unpacked(run(program_of(expression, *how), xs, out))
    if out is not None:
        raise ValueError(_NO_OUT)
    if not needs_grad(*xs) and not _torch.in_transform():
        return unpacked(recorded(known_program(expression, *how), xs))
    program, shown = known_revealed(expression, *how)
    if not is_traced(xs):
        said = format, schedule, implicit
        if all(map(operator.is_, xs, operands)):
            _note_recorded(_said(expression, said), names, how[1], (program, shown))
        kept = run_kept(expression, names, xs) if said == _PLAINLY else None
        if kept is not None:
            return kept
    return unpacked(compress(recorded(program, xs), shown))


@_torch.node
def compute_in_graph(
    expression: str,
    names: tuple[str, ...],
    format: str | tuple[str | None, ...] | None,
    schedule: str | None,
    implicit: str,
    *operands: object,
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """:func:`compute` as the one node that a graph of torch.compile has of it."""
    return compute(expression, names, operands, format, schedule, implicit, None)


def evaluate(
    expression: str,
    *,
    format: Asked = None,
    schedule: str | None = None,
    implicit: str = "zero",
    out: Out = None,
    **operands: object,
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """Index notation: ``evaluate("C[i,k] = relu(A[i,j] * B[j,k] + b[k])", A=A, B=B, b=b)``.

    Operands are given by name; several assignments, separated by ``;`` or on lines of their own, give a tuple
    of their results, in order, but for those of assignments that begin with ``tmp``. Reductions are ``=``
    and ``+=``, ``max=``, ``min=``; an index that the left side lacks is reduced. ``format`` is one format for
    all results or a sequence with one (or None) a result, ``out`` a tuple likewise. The other arguments, the
    types and the errors are those of :func:`einsum`.

    >>> A, x, b = scorch.sparse(torch.eye(3)), torch.ones(3, 2), torch.tensor([0.5, -2.0])
    >>> scorch.evaluate("C[i,k] = relu(A[i,j] * x[j,k] + b[k])", A=A, x=x, b=b).tolist()[0]
    [1.5, 0.0]
    """
    _check(expression, format, schedule, out)
    names, given = tuple(operands), tuple(operands.values())
    y = _as_before(expression, names, given, (format, schedule, implicit)) if out is None else NotImplemented
    if y is not NotImplemented:
        return y
    if not expression.strip():
        raise ValueError("expected an assignment, such as y[i] = A[i,j] * x[j], got nothing")
    return compute(expression, names, given, format, schedule, implicit, out)


def _over_dynamic(
    expression: str,
    names: tuple[str, ...],
    operands: tuple,
    format: Asked,
    schedule: str | None,
    implicit: str,
    out: Out,
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """:func:`compute` of operands with tensors of ``scorch.dynamic``; one that is refused as a sparse operand
    is a dense one."""
    if implicit != "skip":  # which says what zeros count for
        given = readings.as_found(expression, names, operands, format, schedule)
        try:
            if given is not None:
                how = given[1], schedule, implicit
                y = _as_before(expression, names, given[0], how) if out is None else NotImplemented
                return compute(expression, names, given[0], *how, out) if y is NotImplemented else y
        except (ValueError, NotImplementedError):
            pass
    return compute(expression, names, readings.densely(operands), format, schedule, implicit, out)


class Kernel:
    """A program for operands of the formats and types it was made with; see :func:`compile`.

    >>> A, x = scorch.sparse(torch.eye(3)), torch.ones(3)
    >>> product = scorch.compile("y[i] = A[i,j] * x[j]", A=A, x=x)
    >>> product.expression, product(A=2 * A, x=x)
    ('y[i] = A[i,j] * x[j]', tensor([2., 2., 2.]))
    """

    def __init__(
        self,
        expression: str,
        program: str,
        revealed: tuple[str, tuple[bool, ...]],
        names: tuple[str, ...],
        example: list[torch.Tensor],
    ) -> None:
        self.expression = expression
        self._program, self._names = program, names
        self._example = tuple(map(as_passed, example))
        self._kinds = [getattr(x, "_fmt", "dense") for x in example]
        self._revealed, self._again = revealed, ()
        _C.results(program, self._example)

    def _go_apart(self, program: str, again: tuple[int, ...], example: list[torch.Tensor]) -> None:
        """Operands at these places go in again, where nothing records the call."""
        try:
            _C.results(program, tuple(map(as_passed, example)))
        except (ValueError, NotImplementedError):
            return
        self._program, self._again, self._example = program, again, tuple(map(as_passed, example))

    def __call__(
        self, *operands: object, out: Out = None, **named: object
    ) -> torch.Tensor | tuple[torch.Tensor, ...]:
        """Runs on operands like the ones it was made with; extents may differ."""
        if named:
            if operands or set(named) != set(self._names):
                given = (*("one without a name" for _ in operands), *named)
                raise TypeError(f"expected the operands {', '.join(self._names)}, got {', '.join(given)}")
            operands = tuple(named[name] for name in self._names)
        xs = operands_of(readings.densely(operands))
        kinds = [getattr(x, "_fmt", "dense") for x in xs]
        if kinds != self._kinds:
            raise ValueError(f"expected operands in the formats {self._kinds}, got {kinds}")
        if is_plain(xs):
            return unpacked(run(self._program, xs + [xs[k] for k in self._again], out))
        if out is not None:
            raise ValueError(_NO_OUT)
        program, shown = self._revealed
        return unpacked(compress(recorded(program, xs), shown))

    @property
    def source(self) -> str:
        """The C text."""
        return _C.text(self._program, self._example, "c")

    @property
    def schedule(self) -> str:
        """The loop nest, in the text that ``schedule=`` takes.

        Of a program in steps, the nest of each; ``directives`` go back there.
        """
        return _C.text(self._program, self._example, "nest")

    @property
    def directives(self) -> str:
        """The schedule in short, which ``schedule=`` takes too: ``order(i, j, k) parallel(i)``.

        Empty where a loop nest was passed, and of steps that no order of contraction says.
        """
        return _C.text(self._program, self._example, "schedule").strip()

    @property
    def orders(self) -> str:
        """The loop nests that were considered: a line ``-- cost N``, then the nest; the chosen one first."""
        return _C.text(self._program, self._example, "orders")

    def explain(self) -> Explanation:
        """Formats, loop order with reasons, and the way it runs."""
        return Explanation(_C.text(self._program, self._example, "explain"))

    def __repr__(self) -> str:
        return f"<scorch kernel {self.expression!r}, {_C.way(self._program, self._example)}>"


def compile(
    expression: str,
    *operands: object,
    format: Asked = None,
    schedule: str | None = None,
    implicit: str = "zero",
    **named: object,
) -> Kernel:
    """The kernel of an expression, ahead of the call: einsum with operands, or index notation with names.

    Raises: as :func:`einsum` and :func:`evaluate`.

    >>> A, x = scorch.sparse(torch.eye(3)), torch.ones(3, 2)
    >>> kernel = scorch.compile("C[i,k] = A[i,j] * x[j,k]", A=A, x=x)
    >>> kernel.directives, kernel(A=A, x=x).sum().item()
    ('order(i, j, k) parallel(i)', 6.0)
    """
    _check(expression, format, schedule, None)
    if "..." in expression and not named:
        expression, operands = with_letters(expression, operands)
    xs, names = operands_of(readings.densely(named.values() if named else operands)), tuple(named)
    if _has_parts(xs) or _asks_parts(format) or converts(schedule):
        return rooms.parts.compiled(expression, names, xs, format, schedule, implicit)
    kinds = tuple(map(of_operand, xs))
    how = (names, kinds, format, schedule, implicit)
    kernel = Kernel(expression, program_of(expression, *how), revealed_program(expression, *how), names, xs)
    text, more, again = notation.apart(expression, names, kinds)
    if again and is_plain(xs):
        xs += [xs[k] for k in again]
        kernel._go_apart(
            program_of(text, more, tuple(map(of_operand, xs)), format, schedule, implicit), again, xs
        )
    return kernel


def explain(
    expression: str,
    *operands: object,
    format: Asked = None,
    schedule: str | None = None,
    implicit: str = "zero",
    **named: object,
) -> Explanation:
    """How an einsum or an evaluate with these arguments would run, as text.

    First the steps, where there are several, with formats and estimated costs; then of each step the
    expression, formats, reasons, schedule, loops and plan, the way it runs, and its C. The text also has
    ``steps``, the estimates as numbers, and ``plot()``, which draws them beside what is measured.

    >>> A, x = scorch.sparse(torch.eye(10)), torch.rand(10, 4)
    >>> text = scorch.explain("ij,jk->ik", A, x)
    >>> print(text.split("schedule")[1].split("its loops")[0].strip())
    order(i, j, k) parallel(i)
    """
    _check(expression, format, schedule, None)
    how = {"format": format, "schedule": schedule, "implicit": implicit}

    def call() -> object:
        return evaluate(expression, **how, **named) if named else einsum(expression, *operands, **how)

    text, given, names = expression, tuple(named.values()) if named else operands, tuple(named)
    if "..." in text and not named:
        text, given = with_letters(text, given)
    if readings.is_among(given) and implicit != "skip":
        given, how["format"] = readings.as_found(text, names, given, format, schedule) or (given, format)
    made = (
        compile(text, **how, **dict(zip(names, given, strict=True)))
        if named
        else compile(text, *given, **how)
    )
    return Explanation(made.explain(), call)


def _einsum_product(text: str, operands: tuple, out: torch.Tensor | None) -> torch.Tensor:
    """An einsum that is a product of a sparse and a dense matrix; else NotImplemented."""
    if isinstance(out, tuple):
        return NotImplemented
    if text in _PRODUCTS and len(operands) == 2 and not torch.compiler.is_dynamo_compiling():
        left, right = operands
        if isinstance(left, SparseTensor) and not isinstance(right, SparseTensor):
            return fast_product(left, right, _PRODUCTS[text], out)
    return NotImplemented

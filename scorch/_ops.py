"""Computing with sparse tensors: einsum, index notation, products.

Three ways lead to a kernel. Products take the extension's fast entry. Everything else that is eager hands the
operands to the extension directly. What torch records or transforms (torch.compile, functorch, forward-mode,
gradients) goes through the operator ``torch.ops.scorch.evaluate`` on plain component tensors.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import lru_cache
from numbers import Number

import torch

from . import _C, _autograd, _fake, _notation, _torch
from ._format import Format, layout
from ._tensor import SparseTensor, assemble, core_of, from_run, once, rank

MATMUL, RMATMUL, LINEAR, TRANSPOSED = range(4)
_EINSUM = (
    ("ij,j->i", "ij,jk->ik"),
    ("i,ij->j", "ij,jk->ik"),
    ("i,oi->o", "ni,oi->no"),
    ("ij,i->j", "ij,ik->jk"),
)
_PRODUCTS = {"ij,jk->ik": MATMUL, "ji,jk->ik": TRANSPOSED, "ij,ik->jk": TRANSPOSED}
_NO_OUT = "out: expected a call without gradients, transforms or torch.compile"
_printed: set[str] = set()

Asked = str | Format | Sequence | None
Out = torch.Tensor | tuple[torch.Tensor | None, ...] | None


# ---- operands ----
def _operand(x: object, dtype: torch.dtype | None) -> torch.Tensor:
    """A SparseTensor or a plain dense tensor."""
    if isinstance(x, SparseTensor):
        return _autograd.as_dense(once(x))
    if isinstance(x, Number):
        return torch.tensor(x, dtype=dtype)
    if hasattr(x, "tocoo") or (isinstance(x, torch.Tensor) and x.layout is not torch.strided):
        from ._make import sparse

        return sparse(x)
    if not isinstance(x, torch.Tensor):
        try:
            x = torch.as_tensor(x)
        except (RuntimeError, TypeError, ValueError) as why:
            what = f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")
            message = f"expected tensors, SparseTensors, arrays or numbers, got {what}: {why}"
            raise TypeError(message) from None
    if torch.compiler.is_dynamo_compiling() or not x.is_neg():
        return x
    return x.resolve_neg()


def _operands(given: tuple) -> list[torch.Tensor]:
    dtype = None
    if any(isinstance(x, Number) for x in given):
        dtype = next((x.dtype for x in given if isinstance(x, torch.Tensor) and x.is_floating_point()), None)
    return [_operand(x, dtype) for x in given]


def _kind(x: torch.Tensor) -> tuple[int, str] | None:
    """(ndim, format), or None of a dense tensor: all that a program string says of an operand."""
    return (rank(x), x._fmt) if isinstance(x, SparseTensor) else None


def _line(name: str, kind: tuple[int, str] | None) -> str:
    return f"{name}:{kind[0]}:{kind[1]}" if kind else f"{name}::"


def _asked(format: object, ndims: Sequence[int]) -> list[str]:
    """Lines that ask for formats: one for all results, or a sequence with one (or None) a result."""
    if format is None:
        return []
    each = [format] * len(ndims) if isinstance(format, (str, Format)) else list(format)
    if len(each) != len(ndims):
        raise ValueError(f"format: expected one format, or {len(ndims)}, one a result, got {len(each)}")
    return ["!ask" if f is None else _ask(f, n) for f, n in zip(each, ndims, strict=True)]


def _ask(format: str | Format, ndim: int) -> str:
    return _ask_line(format._text if isinstance(format, Format) else format, ndim)


@_torch.constant
def _ask_line(format: str, ndim: int) -> str:
    bound = Format(format).bind(ndim)
    return f"!ask {ndim}:{'dense' if bound.is_dense else bound.text}"


def _options(schedule: str | None, implicit: str) -> list[str]:
    if implicit not in ("zero", "skip"):
        raise ValueError(f'implicit: expected "zero" or "skip", got {implicit!r}')
    lines = [f"!schedule {' '.join(schedule.split())}"] if schedule else []
    return lines + (["!skip"] if implicit == "skip" else [])


# ---- running ----
def _check(expression: object, format: object, schedule: object, out: object) -> None:
    """Of the right types, and nothing that autograd watches."""
    if isinstance(expression, str) and format is None and schedule is None and out is None:
        return
    if not isinstance(expression, str):
        raise TypeError(f"expected the expression as a string, got {type(expression).__name__}")
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


def _plain(operands: list[torch.Tensor]) -> bool:
    """Whether the extension may be called on the objects themselves."""
    return not _tracing(operands) and not _autograd.needs_grad(*operands)


def _tracing(operands: list[torch.Tensor]) -> bool:
    return _torch.is_tracing(*(x for x in operands if not isinstance(x, SparseTensor)))


def _direct(x: torch.Tensor) -> object:
    return core_of(x) if isinstance(x, SparseTensor) else x


def _written(out: Out) -> None:
    """Tells autograd that what took a result has changed."""
    for x in out if isinstance(out, tuple) else (out,):
        if x is not None:
            torch.autograd.graph.increment_version(x)


def _run(program: str, operands: list[torch.Tensor], out: Out = None) -> list[torch.Tensor]:
    direct = tuple(map(_direct, operands))
    if _torch.DEBUG_STAGES and program not in _printed:
        _printed.add(program)
        for stage in _torch.DEBUG_STAGES:
            print(f"-- {stage}\n{_C.text(program, direct, stage)}", file=sys.stderr)
    results = from_run(_C.run(program, direct, out), operands)
    if out is not None:
        _written(out)
    return results


@_torch.constant
def _described(program: str, ranks: tuple[int, ...], types: tuple[str, ...]) -> list:
    """(layout, is it dense, operand it is like or -1, sources of extents) of each result."""
    found = _fake.results(program, ranks, types)
    return [(layout(r.format, len(r.extents)), r.is_dense, r.like, r.extents) for r in found]


def _through_op(program: str, operands: list[torch.Tensor]) -> list[torch.Tensor]:
    """Results by the operators, on plain tensors: traced, transformed, differentiable."""
    tensors, sizes = [], []
    for x in operands:
        if isinstance(x, SparseTensor):
            tensors.extend((*x._arrays()[:-1], _autograd.values_of(x)))
            sizes.extend(x.shape)
        else:
            tensors.append(x)
    ranks, types = tuple(x.dim() for x in operands), tuple(_fake.TYPES[x.dtype] for x in operands)
    described = _described(program, ranks, types)
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


def _recorded(program: str, operands: list[torch.Tensor]) -> list[torch.Tensor]:
    """A call that is traced, transformed or differentiated."""
    if _tracing(operands):
        return _through_op(program, operands)
    return _autograd.run_eagerly(program, operands, _run)


def _finish(results: list[torch.Tensor]) -> torch.Tensor | tuple[torch.Tensor, ...]:
    return results[0] if len(results) == 1 else tuple(results)


def _program(
    expression: str,
    names: tuple[str, ...],
    kinds: tuple[tuple[int, str] | None, ...],
    format: Asked,
    schedule: str | None,
    implicit: str,
) -> str:
    """The program string of an einsum (without names) or of index notation."""
    if names:
        text, ranks = _notation.assignments(expression)
        if "=" not in text:
            raise ValueError(f"expected an assignment, such as C[i,k] = A[i,j] * B[j,k], got {expression!r}")
    else:
        text = _notation.einsum_text(expression)
        names, ranks = ("",) * len(kinds), (len(text.partition("->")[2]),)
    lines = [_line(name, kind) for name, kind in zip(names, kinds, strict=True)]
    return "\n".join([text, *lines, *_asked(format, ranks), *_options(schedule, implicit)])


known_program = lru_cache(maxsize=4096)(_program)


def _evaluate(
    expression: str, names: tuple[str, ...], kinds: tuple, direct: list, how: tuple, out: Out
) -> list | object:
    if names and (again := (apart := _notation.apart(expression, names, kinds))[2]):
        try:
            more = (*kinds, *(kinds[k] for k in again))
            program = known_program(apart[0], apart[1], more, *how)
            return _C.evaluate(program, (*direct, *(direct[k] for k in again)), out)
        except (ValueError, NotImplementedError):
            pass  # it is said of what was written
    return _C.evaluate(known_program(expression, names, kinds, *how), tuple(direct), out)


def _quick(
    expression: str,
    names: tuple[str, ...],
    operands: tuple,
    format: Asked,
    schedule: str | None,
    implicit: str,
    out: Out,
) -> list | object:
    """Results by a look of the extension itself; NotImplemented where more than plain eager goes on."""
    if torch.compiler.is_dynamo_compiling() or _torch.DEBUG_STAGES:
        return NotImplemented
    kinds, direct = [], []
    for x in operands:
        if isinstance(x, SparseTensor):
            if _autograd.needs_grad(x) or once(x) is not x:
                return NotImplemented
            facts = x.__dict__
            kinds.append((facts["_ndim"], facts["_fmt"]))
            if "_core" not in facts and not _C.plain():
                return NotImplemented
            direct.append(facts.get("_core") or core_of(x))
        elif isinstance(x, torch.Tensor) and x.layout is torch.strided and not x.is_neg():
            kinds.append(None)
            direct.append(x)
        else:
            return NotImplemented
    if format.__class__ is list:
        format = tuple(format)
    found = _evaluate(expression, names, tuple(kinds), direct, (format, schedule, implicit), out)
    if found is NotImplemented:
        return NotImplemented
    if out is not None:
        _written(out)
    return from_run(found, operands)


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
        text: as in ``torch.einsum``, one letter an index: ``"ij,jk->ik"``.
        operands: SparseTensors, dense tensors or torch sparse tensors, on the CPU; types promote as in torch.
        format: of the result; inferred where not given (sparse where the product is).
        schedule: how to run, as ``scorch.explain`` prints it; chosen where not given.
        implicit: what a missing entry is for ``min=`` and ``max=``: "zero", or "skip" to leave it out.
        out: a contiguous dense tensor that takes the result, apart from the operands.

    Returns:
        A dense tensor or a SparseTensor.

    Raises:
        ValueError: letters, ranks or extents do not fit. TypeError: types differ.
        NotImplementedError: nothing here computes this yet; the message says what does.
        CompileError: the C compiler failed.
    """
    _check(text, format, schedule, out)
    if schedule is None and format is None and implicit == "zero":
        y = _einsum_product(text, operands, out)
        if y is not NotImplemented:
            return y
    return _compute(text, (), operands, format, schedule, implicit, out)


def _compute(
    expression: str,
    names: tuple[str, ...],
    operands: tuple,
    format: Asked,
    schedule: str | None,
    implicit: str,
    out: Out,
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    if format is None and isinstance(out, torch.Tensor) and ";" not in expression:
        format = "dense"
    found = _quick(expression, names, operands, format, schedule, implicit, out)
    if found is not NotImplemented:
        return _finish(found)
    xs = _operands(operands)
    program = _program(expression, names, tuple(map(_kind, xs)), format, schedule, implicit)
    if _plain(xs):
        return _finish(_run(program, xs, out))
    if out is not None:
        raise ValueError(_NO_OUT)
    return _finish(_recorded(program, xs))


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
    of their results, in order. Reductions are ``=`` and ``+=``, ``max=``, ``min=``; an index
    that the left side lacks is reduced. ``format`` is one format for all results or a sequence with one
    (or None) a result, ``out`` a tuple likewise. The other arguments, the types and the errors are those of
    :func:`einsum`.
    """
    _check(expression, format, schedule, out)
    return _compute(expression, tuple(operands), tuple(operands.values()), format, schedule, implicit, out)


class Kernel:
    """A program for operands of the formats and types it was made with; see :func:`compile`."""

    def __init__(
        self, expression: str, program: str, names: tuple[str, ...], example: list[torch.Tensor]
    ) -> None:
        self.expression = expression
        self._program, self._names = program, names
        self._example = tuple(map(_direct, example))
        self._kinds = [getattr(x, "_fmt", "dense") for x in example]
        self._recorded, self._again = program, ()
        _C.results(program, self._example)

    def _go_apart(self, program: str, again: tuple[int, ...], example: list[torch.Tensor]) -> None:
        """Operands at these places go in again, where nothing records the call."""
        try:
            _C.results(program, tuple(map(_direct, example)))
        except (ValueError, NotImplementedError):
            return
        self._program, self._again, self._example = program, again, tuple(map(_direct, example))

    def __call__(
        self, *operands: object, out: Out = None, **named: object
    ) -> torch.Tensor | tuple[torch.Tensor, ...]:
        """Runs on operands like the ones it was made with; extents may differ."""
        if named:
            if operands or set(named) != set(self._names):
                given = (*("one without a name" for _ in operands), *named)
                raise TypeError(f"expected the operands {', '.join(self._names)}, got {', '.join(given)}")
            operands = tuple(named[name] for name in self._names)
        xs = _operands(operands)
        kinds = [getattr(x, "_fmt", "dense") for x in xs]
        if kinds != self._kinds:
            raise ValueError(f"expected operands in the formats {self._kinds}, got {kinds}")
        if _plain(xs):
            return _finish(_run(self._program, xs + [xs[k] for k in self._again], out))
        if out is not None:
            raise ValueError(_NO_OUT)
        return _finish(_recorded(self._recorded, xs))

    @property
    def source(self) -> str:
        """The C text."""
        return _C.text(self._program, self._example, "c")

    @property
    def schedule(self) -> str:
        """The loop nest, in the text that ``schedule=`` takes."""
        return _C.text(self._program, self._example, "nest")

    @property
    def directives(self) -> str:
        """The schedule in short, which ``schedule=`` takes too: ``order(i, j, k) parallel(i)``.

        Empty where a loop nest was passed.
        """
        return _C.text(self._program, self._example, "schedule").strip()

    @property
    def orders(self) -> str:
        """The loop nests that were considered: a line ``-- cost N``, then the nest; the chosen one first."""
        return _C.text(self._program, self._example, "orders")

    def explain(self) -> str:
        """Formats, loop order with reasons, and the way it runs."""
        return _C.text(self._program, self._example, "explain")

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
    """
    _check(expression, format, schedule, None)
    xs, names = _operands(tuple(named.values()) if named else operands), tuple(named)
    kinds = tuple(map(_kind, xs))
    program = _program(expression, names, kinds, format, schedule, implicit)
    kernel = Kernel(expression, program, names, xs)
    text, more, again = _notation.apart(expression, names, kinds)
    if again and _plain(xs):
        xs += [xs[k] for k in again]
        kernel._go_apart(_program(text, more, tuple(map(_kind, xs)), format, schedule, implicit), again, xs)
    return kernel


def explain(
    expression: str,
    *operands: object,
    format: Asked = None,
    schedule: str | None = None,
    implicit: str = "zero",
    **named: object,
) -> str:
    """How an einsum or an evaluate with these arguments would run, as text."""
    made = compile(expression, *operands, format=format, schedule=schedule, implicit=implicit, **named)
    return made.explain()


# ---- products ----
def fast_product(a: SparseTensor, x: object, kind: int, out: torch.Tensor | None = None) -> torch.Tensor:
    """A product by the extension's fast entry; NotImplemented where more than plain eager goes on."""
    if _torch.any_requires_grad(a) and torch.is_grad_enabled():
        if out is not None or type(x) is not torch.Tensor or a._ndim != 2 or not _C.plain():
            return NotImplemented
        if len(a._names) == 1:  # dense levels
            return NotImplemented
        return _recorded_product(a, x, kind) if 0 < x.dim() < 3 and not x.is_neg() else NotImplemented
    core = a.__dict__.get("_core")
    if core is None or _torch.DEBUG_STAGES:
        if _torch.DEBUG_STAGES or not _C.plain():
            return NotImplemented
        core = core_of(a)
    if out is None:
        return _C.matmul(core, x, kind)
    y = _C.matmul(core, x, kind, out)
    if y is out:
        torch.autograd.graph.increment_version(out)
    return y


def _einsum_product(text: str, operands: tuple, out: torch.Tensor | None) -> torch.Tensor:
    """An einsum that is a product of a sparse and a dense matrix; else NotImplemented."""
    if isinstance(out, tuple):
        return NotImplemented
    if text in _PRODUCTS and len(operands) == 2 and not torch.compiler.is_dynamo_compiling():
        left, right = operands
        if isinstance(left, SparseTensor) and not isinstance(right, SparseTensor):
            return fast_product(left, right, _PRODUCTS[text], out)
    return NotImplemented


def product(a: SparseTensor, x: torch.Tensor, kind: int) -> torch.Tensor:
    """``a @ x``, ``x @ a``, ``x @ a.T`` or ``a.T @ x`` by kind, where the fast entry does not apply."""
    x = x if isinstance(x, SparseTensor) else _operand(x, None)
    a = a if isinstance(x, SparseTensor) else _operand(a, None)
    if isinstance(x, SparseTensor) or not isinstance(a, SparseTensor):
        return _sparse_product(a, x, kind)
    if a._ndim != 2 or x.dim() > 2 or x.dim() == 0:
        return _general_product(a, x, kind)
    if torch.is_autocast_enabled("cpu") and x.dtype != a.dtype:
        x = x.to(a.dtype)
    if _torch.is_tracing(x):
        return product_op(a, x, kind)
    return _recorded_product(a, x, kind) if _autograd.needs_grad(a, x) else run_product(a, x, kind)


def _recorded_product(a: SparseTensor, x: torch.Tensor, kind: int) -> torch.Tensor:
    """A product of plain tensors, one of which requires a gradient."""
    a, last = once(a), kind in (RMATMUL, LINEAR)
    program = _text_of_product(_EINSUM[kind][x.dim() - 1], a._fmt, last)
    return _autograd.product(a, x, program, kind, run_product, _run)


def product_op(a: SparseTensor, x: torch.Tensor, kind: int) -> torch.Tensor:
    """A product through the operator: traced, transformed, differentiable."""
    program, operands = _product_program(a, x, kind)
    return _through_op(program, operands)[0]


def run_product(a: SparseTensor, x: torch.Tensor, kind: int) -> torch.Tensor:
    """A product of plain tensors; no gradient is recorded."""
    y = NotImplemented if _torch.DEBUG_STAGES else _C.matmul(core_of(a), x, kind)
    if y is not NotImplemented:
        return y
    program, operands = _product_program(a, x.detach(), kind)
    return _run(program, _operands(tuple(operands)))[0]


def _product_program(a: SparseTensor, x: torch.Tensor, kind: int) -> tuple[str, list]:
    last = kind in (RMATMUL, LINEAR)
    return _text_of_product(_EINSUM[kind][x.dim() - 1], a._fmt, last), [x, a] if last else [a, x]


@lru_cache(maxsize=1024)
def _text_of_product(text: str, format: str, last: bool) -> str:
    """The program string of a product with a matrix of a format, which is the last operand or the first."""
    kinds = (None, (2, format)) if last else ((2, format), None)
    return _program(text, (), kinds, None, None, "zero")


def _sparse_product(a: SparseTensor, x: SparseTensor, kind: int) -> torch.Tensor:
    """Sparse times sparse, or dense times dense where the sparse one has dense levels."""
    left, right = (x, a) if kind in (RMATMUL, LINEAR) else (a, x)
    return _broadcast_product(left, right.T if kind == LINEAR else right, None)


@lru_cache
def _matmul_text(left: int, right: int) -> tuple[str, str, str]:
    """The indices of the operands and the result of a product of these numbers of dimensions."""
    if not left or not right:
        raise ValueError("matmul: expected operands of at least one dimension")
    first = "pqrstu"[8 - left :] + "ij" if left > 1 else "j"
    second = "pqrstu"[8 - right :] + "jk" if right > 1 else "j"
    batch = max(first[:-2], second[:-2], key=len)
    return first, second, f"{batch}{'i' if left > 1 else ''}{'k' if right > 1 else ''}"


def _broadcast_product(left: torch.Tensor, right: torch.Tensor, format: Asked) -> torch.Tensor:
    """``left @ right``; batch dimensions broadcast: where one extent is 1, that operand lacks the index."""
    first, second, result = _matmul_text(rank(left), rank(right))
    shapes = dict(zip(first, left.shape, strict=True)), dict(zip(second, right.shape, strict=True))
    for letter in reversed(first[:-2]):
        n, m = (shape.get(letter) for shape in shapes)
        if n == 1 and m not in (None, 1):
            left, first = left.squeeze(first.index(letter)), first.replace(letter, "")
        elif m == 1 and n != 1:
            right, second = right.squeeze(second.index(letter)), second.replace(letter, "")
    return einsum(f"{first},{second}->{result}", left, right, format=format)


def _general_product(a: SparseTensor, x: torch.Tensor, kind: int) -> torch.Tensor:
    """Batches and higher ranks."""
    if kind in (RMATMUL, LINEAR) and a._ndim == 2 and x.dim() > 2:
        y = product(a, x.reshape(math.prod(x.shape[:-1]), x.shape[-1]), kind)
        return y.reshape(*x.shape[:-1], y.shape[-1])
    left, right = (x, a) if kind in (RMATMUL, LINEAR) else (a, x)
    if kind == LINEAR:
        right = right.T
    return _broadcast_product(left, right, "dense")


def linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """``F.linear`` with a sparse weight [out, in], or sparse input: input [..., in] -> [..., out]."""
    x = input
    if isinstance(x, SparseTensor) or not isinstance(weight, SparseTensor):
        y = x @ weight.mT
        return y if bias is None else y + bias
    if bias is None:
        y = NotImplemented if torch.compiler.is_dynamo_compiling() else fast_product(weight, x, LINEAR)
        return product(weight, x, LINEAR) if y is NotImplemented else y
    if (
        not torch.compiler.is_dynamo_compiling()
        and x.dim() == 2
        and bias.dim() == 1
        and _plain([x, bias, weight])
    ):
        return _affine(x, weight, bias)
    return product(weight, x, LINEAR) + bias


def _affine(x: torch.Tensor, weight: SparseTensor, bias: torch.Tensor) -> torch.Tensor:
    text = "Y[n,o] = X[n,i] * W[o,i] + b[o]"
    return _compute(text, ("X", "W", "b"), (x, weight, bias), "dense", None, "zero", None)


def linear_of_values(
    a: SparseTensor, values: torch.Tensor, x: torch.Tensor, bias: torch.Tensor | None
) -> torch.Tensor:
    """``F.linear(x, a, bias)`` of plain tensors, a over the memory of ``values``, which take its gradient."""
    if not _autograd.needs_grad(values, x, *([] if bias is None else [bias])):
        return linear(x, a, None) if bias is None else _affine(x, a, bias)
    if "ell" in a._fmt or "nonunique" in a._fmt or len(a._names) == 1 or x.dim() != 2 or x.is_neg():
        return linear(x, a._with_values(values), bias)
    program = _text_of_product("ni,oi->no", a._fmt, True)
    return _autograd.affine(values, x, bias, a, program, LINEAR, run_product, _run)

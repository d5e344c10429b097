"""What a node of a graph says in index notation.

A node that notation can say becomes an :class:`Op`: what it reads, and a function that writes its value at
given indices, for which it asks a writer for what it reads. A view is an Op that only renames indices. Any
other node is None here and stays where it is.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from ..functions.expressions import compute_in_graph
from ..functions.notation import assignments, einsum_text
from ..functions.softmax import softmax, softmax_in_graph
from ..tensor.format import is_compressed, layout
from ..tensor.sparsetensor import SparseTensor

if TYPE_CHECKING:
    from .writing import Writer

Indices = tuple[str, ...]
VIEW, PRODUCT, EACH, SOFTMAX, EINSUM = range(5)
_TYPES = (torch.float32, torch.float64)


@dataclass
class Op:
    """A node in words."""

    kind: int
    reads: tuple[torch.fx.Node, ...]
    say: Callable[[Writer, Indices], str]
    scales: bool = False  # a product or quotient, in which a sparse operand is a mask
    dim: int = 0  # of a softmax
    sums: bool = False  # over an index of its own
    twice: bool = False  # its text has what it reads more than once
    whole: frozenset = frozenset()  # what it reads by name
    drops: frozenset = frozenset()  # of a view: dimensions of extent 1 that the text lacks


# ---- what nodes are ----
def value(node: object) -> torch.Tensor | None:
    """The tensor of shapes and types that stands for a node."""
    found = node.meta.get("example_value") if isinstance(node, torch.fx.Node) else None
    return found if isinstance(found, torch.Tensor) else None


def is_sparse(node: object) -> bool:
    """Whether a node is a SparseTensor."""
    return isinstance(value(node), SparseTensor)


def shape(node: torch.fx.Node) -> tuple:
    """Extents, perhaps symbols."""
    return tuple(value(node).shape)


def is_one(n: object) -> bool:
    """Whether an extent is 1; symbols stand for 2 and more."""
    return isinstance(n, int) and n == 1


def speakable(node: object) -> bool:
    """Whether a node is a tensor that programs take: of real numbers, each entry once, of known extents."""
    x = value(node)
    if x is None or x.dtype not in _TYPES or x.device.type != "cpu":
        return False
    if isinstance(x, SparseTensor):
        if not is_compressed(layout(x._fmt, x._ndim)):
            return False
    elif x.layout is not torch.strided:
        return False
    return not any(free_unbacked_symbols(n) for n in x.shape)


def extent(n: object) -> object:
    """An extent, for comparisons that guard nothing."""
    return n if isinstance(n, int) else str(n.node.expr)


def same(a: Sequence, b: Sequence) -> bool:
    """Whether two shapes are known to be one."""
    return [extent(n) for n in a] == [extent(n) for n in b]


# ---- views ----
def _view(x: torch.fx.Node, order: Sequence[int], new: Sequence[int] = ()) -> Op:
    """order: for each dimension of x, where it is in the view; new: those that x lacks."""

    def say(w: Writer, ix: Indices) -> str:
        return w.read(x, tuple(ix[k] for k in order))

    return Op(VIEW, (x,), say, drops=frozenset(new))


def _permuted(x: torch.fx.Node, dims: Sequence[int]) -> Op:
    rank = len(shape(x))
    dims = [d % rank for d in dims]
    return _view(x, [dims.index(d) for d in range(rank)])


def _transpose(x: torch.fx.Node, a: int = 0, b: int = 1) -> Op | None:
    rank = len(shape(x))
    if rank < 2:
        return None
    dims = list(range(rank))
    dims[a], dims[b] = dims[b], dims[a]
    return _permuted(x, dims)


def _attribute(x: torch.fx.Node, name: str) -> Op | None:
    if name == "T" and len(shape(x)) == 2:
        return _transpose(x)
    return _transpose(x, -2, -1) if name == "mT" else None


def _permute(x: torch.fx.Node, *dims: object) -> Op | None:
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims
    return _permuted(x, dims) if all(type(d) is int for d in dims) else None


def _unsqueeze(x: torch.fx.Node, dim: int) -> Op | None:
    rank = len(shape(x))
    dim %= rank + 1
    return None if is_sparse(x) else _view(x, [d + (d >= dim) for d in range(rank)], [dim])


def _getitem(x: torch.fx.Node, at: object) -> Op | None:
    """New dimensions, as in x[:, None]."""
    at = list(at) if isinstance(at, tuple) else [at]
    if is_sparse(x) or None not in at or not all(a in (None, Ellipsis, slice(None)) for a in at):
        return None
    rest = len(shape(x)) - at.count(slice(None))
    at = [
        b
        for a in [*at, *[Ellipsis] * (Ellipsis not in at)]
        for b in ([slice(None)] * rest if a is Ellipsis else [a])
    ]
    kept = [d for d, a in enumerate(at) if a is not None]
    return _view(x, kept, [d for d in range(len(at)) if d not in kept])


# ---- products ----
def _matmul(a: torch.fx.Node, b: torch.fx.Node) -> Op | None:
    n, m = len(shape(a)), len(shape(b))
    if n not in (1, 2) or m not in (1, 2) or n + m < 3:
        return None

    def say(w: Writer, ix: Indices) -> str:
        j = w.fresh(shape(a)[-1])
        left = (ix[0], j) if n == 2 else (j,)
        right = (j, ix[-1]) if m == 2 else (j,)
        return f"{w.factor(a, left)} * {w.factor(b, right)}"

    return Op(PRODUCT, (a, b), say, sums=True)


def _linear(x: torch.fx.Node, weight: torch.fx.Node, bias: torch.fx.Node | None = None) -> Op | None:
    if len(shape(x)) != 2 or len(shape(weight)) != 2:
        return None

    def say(w: Writer, ix: Indices) -> str:
        j = w.fresh(shape(x)[1])
        product = f"{w.factor(x, (ix[0], j))} * {w.factor(weight, (ix[1], j))}"
        return product if bias is None else f"{product} + {w.read(bias, ix[1:])}"

    return Op(PRODUCT, (x, weight) if bias is None else (x, weight, bias), say, sums=True)


def _addmm(bias: torch.fx.Node, a: torch.fx.Node, b: torch.fx.Node) -> Op | None:
    product = _matmul(a, b) if value(a) is not None and value(b) is not None else None
    if product is None or is_sparse(bias) or len(shape(a)) + len(shape(b)) != 4:
        return None

    def say(w: Writer, ix: Indices) -> str:
        return f"{product.say(w, ix)} + {w.broadcast(bias, ix)}"

    return Op(PRODUCT, (bias, a, b), say, sums=True)


# ---- element by element ----
def _number(x: Number) -> str | None:
    """A literal; what is not finite has none."""
    if isinstance(x, bool) or not isinstance(x, int | float) or x != x or abs(x) > 1e300:
        return None
    return repr(x) if x >= 0 else f"(-{abs(x)!r})"


def _binary(sign: str) -> Callable:
    def op(a: object, b: object) -> Op | None:
        if not all(_number(x) if isinstance(x, Number) else value(x) is not None for x in (a, b)):
            return None
        sparse = [is_sparse(x) for x in (a, b)]
        numbers = [isinstance(x, Number) for x in (a, b)]
        if any(sparse) and not _keeps_structure(sign, sparse, numbers):
            return None

        def part(w: Writer, x: object, ix: Indices) -> str:
            return _number(x) if isinstance(x, Number) else w.broadcast(x, ix)

        def say(w: Writer, ix: Indices) -> str:
            return f"{part(w, a, ix)} {sign} {part(w, b, ix)}"

        reads = tuple(x for x in (a, b) if not isinstance(x, Number))
        return Op(EACH, reads, say, scales=sign in "*/")

    return op


def _keeps_structure(sign: str, sparse: list[bool], numbers: list[bool]) -> bool:
    """Whether the result is sparse in notation too, where an operand is."""
    if sign == "*":
        return True
    if sign == "/":
        return sparse == [True, False]
    return all(sparse) and not any(numbers)


def _each(word: str, keeps_zero: bool = True) -> Callable:
    def op(x: torch.fx.Node) -> Op | None:
        if is_sparse(x) and not keeps_zero:
            return None
        return Op(EACH, (x,), lambda w, ix: f"{word}({w.read(x, ix)})")

    return op


def _leaky_relu(x: torch.fx.Node, slope: float = 0.01) -> Op | None:
    if not (isinstance(slope, float | int) and 0 <= slope < 1):
        return None

    def say(w: Writer, ix: Indices) -> str:
        inner = w.read(x, ix)
        return f"({slope!r} * ({inner}) + {1 - slope!r} * relu({inner}))"

    return Op(EACH, (x,), say, twice=True)


# ---- scorch's own ----
def _softmax(x: torch.fx.Node, dim: int = -1, dtype: None = None, _stacklevel: int = 3) -> Op | None:
    if not is_sparse(x) or dtype is not None or type(dim) is not int:
        return None
    dim %= len(shape(x))
    return Op(SOFTMAX, (x,), _told, dim=dim, whole=frozenset([x]))


def _told(w: Writer, ix: Indices) -> str:
    raise AssertionError("a softmax is several assignments, which the writer makes")


def _softmax_node(x: torch.fx.Node, dim: int, dtype: None, log: bool) -> Op | None:
    return None if log or dim is None else _softmax(x, dim, dtype)


def _evaluate(
    text: str, names: Indices, format: object, schedule: object, implicit: str, *xs: object
) -> Op | None:
    if schedule is not None or implicit != "zero" or not all(map(speakable, xs)):
        return None
    return _notation(text, names, xs) if names else _einsum(text, xs)


def _einsum(text: str, xs: tuple) -> Op | None:
    inputs, _, output = einsum_text(text).partition("->")
    inputs = inputs.split(",")
    if len(set(output)) < len(output) or [len(i) for i in inputs] != [len(shape(x)) for x in xs]:
        return None

    def say(w: Writer, ix: Indices) -> str:
        known = dict(zip(output, ix, strict=True))
        at = [renamed(w, known, letters, shape(x)) for letters, x in zip(inputs, xs, strict=True)]
        return " * ".join([w.factor(x, own) for x, own in zip(xs, at, strict=True)])

    return Op(EINSUM, xs, say, sums=not set("".join(inputs)) <= set(output))


def renamed(w: Writer, known: dict[str, str], indices: Sequence[str], extents: Sequence) -> Indices:
    """Indices of a text as those of the program; what is summed gets an index of its own."""
    for index, n in zip(indices, extents, strict=True):
        if index not in known:
            known[index] = w.fresh(n)
    return tuple([known[index] for index in indices])


_ASSIGNMENT = re.compile(r"\w+\[([^\]]*)\] = ([^=;]*)")
_PART = re.compile(r"(stored\()?\b([A-Za-z_]\w*)(?![\w(])(?:\[([^\]]*)\])?")


def _notation(text: str, names: Indices, xs: tuple) -> Op | None:
    """One assignment, in which every name is that of an operand."""
    found = _ASSIGNMENT.fullmatch(assignments(text)[0])
    if found is None:
        return None
    left, right = found[1].replace(" ", "").split(","), found[2]
    operands = dict(zip(names, xs, strict=True))
    parts = list(_PART.finditer(right))
    if any(p[2] not in operands or len(_indices(p)) != len(shape(operands[p[2]])) for p in parts):
        return None

    def say(w: Writer, ix: Indices) -> str:
        known = dict(zip(left, ix, strict=True))

        def read(part: re.Match) -> str:
            x = operands[part[2]]
            return (part[1] or "") + w.factor(x, renamed(w, known, _indices(part), shape(x)))

        return _PART.sub(read, right)

    counts = [p[2] for p in parts]
    whole = frozenset(operands[p[2]] for p in parts if p[1])
    sums = not {i for p in parts for i in _indices(p)} <= set(left)
    twice = len(set(counts)) < len(counts)
    return Op(EINSUM, tuple(dict.fromkeys(xs)), say, sums=sums, twice=twice, whole=whole)


def _indices(part: re.Match) -> list[str]:
    return part[3].replace(" ", "").split(",") if part[3] else []


# ---- the table ----
WORDS: dict[object, Callable] = {}
for _names, _op in (
    ((operator.matmul, torch.matmul, torch.mm, torch.mv, torch.sparse.mm, "matmul", "mm", "mv"), _matmul),
    ((F.linear,), _linear),
    ((torch.addmm,), _addmm),
    ((operator.mul, torch.mul, "mul", torch.multiply), _binary("*")),
    ((operator.truediv, torch.div, "div", torch.true_divide), _binary("/")),
    ((operator.add, torch.add, "add"), _binary("+")),
    ((operator.sub, torch.sub, "sub"), _binary("-")),
    ((torch.relu, F.relu, "relu"), _each("relu")),
    ((torch.tanh, F.tanh, "tanh"), _each("tanh")),
    ((torch.abs, operator.abs, "abs"), _each("abs")),
    ((torch.neg, operator.neg, "neg"), _each("neg")),
    ((torch.sigmoid, F.sigmoid, "sigmoid"), _each("sigmoid", False)),
    ((torch.exp, "exp"), _each("exp", False)),
    ((F.leaky_relu,), _leaky_relu),
    ((torch.softmax, F.softmax, torch.sparse.softmax, softmax, "softmax"), _softmax),
    ((softmax_in_graph,), _softmax_node),
    ((compute_in_graph,), _evaluate),
    ((getattr,), _attribute),
    ((torch.ops.aten.numpy_T, torch.ops.aten.matrix_H), lambda x: _attribute(x, "T")),  # from torch 2.14 on
    ((torch.ops.aten.mT, torch.ops.aten.mH), lambda x: _attribute(x, "mT")),
    ((torch.t, "t"), _transpose),
    ((torch.transpose, "transpose"), _transpose),
    ((torch.permute, "permute"), _permute),
    ((torch.unsqueeze, "unsqueeze"), _unsqueeze),
    ((operator.getitem,), _getitem),
):
    WORDS |= dict.fromkeys(_names, _op)
_IGNORED = {"inplace": False, "dtype": None, "_stacklevel": 3}  # arguments by name that change nothing
_NAMED = {"dim": "dim", "negative_slope": "slope", "bias": "bias"}


def in_words(node: torch.fx.Node) -> Op | None:
    """What a node says, None where notation cannot say it."""
    word = WORDS.get(node.target) if node.op in ("call_function", "call_method") else None
    if word is None or not speakable(node):
        return None
    given = {k: x for k, x in node.kwargs.items() if k not in _IGNORED or x != _IGNORED[k]}
    if not given.keys() <= _NAMED.keys():
        return None
    try:
        op = word(*node.args, **{_NAMED[k]: x for k, x in given.items()})
    except TypeError:  # other arguments than are known here
        return None
    fits = op is not None and all(map(speakable, op.reads)) and (op.kind != EACH or _broadcasts(node, op))
    return op if fits else None


def _broadcasts(node: torch.fx.Node, op: Op) -> bool:
    """Whether sparse operands have the shape of the result, and dense ones lack what they repeat along."""
    for x in op.reads:
        own, of = shape(x), shape(node)[len(shape(node)) - len(shape(x)) :]
        ones = {d for d, (n, m) in enumerate(zip(own, of, strict=True)) if is_one(n) and not is_one(m)}
        if is_sparse(x) and not same(own, shape(node)):
            return False
        inner = in_words(x) if ones else None
        if inner is not None and not (inner.kind == VIEW and ones <= inner.drops):
            return False
    return True

"""Products of two sparse matrices that are computed often.

Which entries such a product has follows from what its operands store, never from their values. So the
structure that one product found is kept beside that of its left operand, and later ones compute values alone,
at these entries: Gustavson's two phases, of which the first is done once ("Two Fast Algorithms for Sparse
Matrices", 1978).
"""

from __future__ import annotations

import weakref

import torch

from .. import _C
from ..tensor.format import is_composed, repeats
from ..tensor.sparsetensor import SparseTensor, core_of
from ..tensor.values import needs_grad, versions
from .expressions import einsum
from .gradients import run_eagerly
from .program import known_program
from .run import run

_PRODUCT = "ij,jk->ik"
_VALUES = "C[i,k] = stored(S[i,k]) * A[i,j] * B[j,k]"
_HOW = "inner(j)"  # all that is multiplied has an entry of S: sums are whole before S is looked at
_MANY = 1 << 25  # entries that products had together: they took as long as compiling for another way does
_FEW = 512  # entries of a product from which on its values alone take less time
_LARGER = 8  # times the bytes of both operands that a structure may take,
_MOST = 32  # where it is known that products will be many
_PAIRS = 4  # right operands that are remembered for a left one


def _bytes_of_structure(a: SparseTensor) -> int:
    return a.nbytes - a._val.nbytes


def _seen(*matrices: SparseTensor) -> tuple:
    """What is another where a matrix has another format or shape, or its structure was written to."""
    return tuple([(a._fmt, a._shape, versions(a)) for a in matrices])


class Pair:
    """What products of two structures had, and the structure of these once they are many."""

    def __init__(self, right: SparseTensor) -> None:
        self.shape = right.shape
        self.result: SparseTensor | None = None
        self._products = self._entries = 0
        self._right: list[weakref.ref] = []
        self._seen: tuple = ()

    @property
    def nbytes(self) -> int:
        """Of what is kept; its values are never written, nor read."""
        return 0 if self.result is None else _bytes_of_structure(self.result)

    def is_of(self, left: SparseTensor, right: SparseTensor) -> bool:
        """Whether the structure that is kept, if any, is that of these operands, and nobody wrote to it."""
        if self.result is None:
            return True
        known = zip(self._right, right._arrays(), strict=False)
        return self._seen == _seen(left, right, self.result) and all(a() is x for a, x in known)

    def note(self, left: SparseTensor, right: SparseTensor, made: SparseTensor, many: bool) -> None:
        """One more product, whose structure is kept if they are many, as was counted or said."""
        entries = made._val.shape[0]
        self._products += 1
        self._entries += entries
        if entries < _FEW or not (self._entries >= _MANY or (many and self._products > 1)):
            return
        room = (left.nbytes + right.nbytes) * (_MOST if many else _LARGER)
        if _bytes_of_structure(made) > room:
            return
        unread = torch.empty(made._val.shape, dtype=torch.bool, device="cpu")
        self.result = made.detach()._with_values(unread)
        self._right = [weakref.ref(x) for x in right._arrays()[:-1]]
        self._seen = _seen(left, right, self.result)


def _pairs(core: _C.Core) -> dict[int, Pair]:
    """What tensors of a structure were multiplied with."""
    return core.shared().setdefault("products", {})


def known(core: _C.Core) -> list[Pair]:
    """The pairs that tensors of a structure are the left operands of."""
    return list(_pairs(core).values())


def _suits(x: torch.Tensor) -> bool:
    """Matrices whose entries have one structure, each once; values of bool are or'ed."""
    listed = x.__class__ is SparseTensor and len(x._names) > 1 and x._val.dtype is not torch.bool
    return listed and not is_composed(x._fmt) and not repeats(x._fmt)


class _AtEntries:
    """Runs a recorded product at the entries of a structure, and then the programs of its gradients."""

    def __init__(self, structure: SparseTensor) -> None:
        self._structure: SparseTensor | None = structure

    def __call__(self, program: str, operands: list[torch.Tensor], *more: object) -> list[torch.Tensor]:
        at, self._structure = self._structure, None
        return run(program, operands, *more) if at is None else [_values(at, *operands)]


def _values(at: SparseTensor, left: SparseTensor, right: SparseTensor) -> SparseTensor:
    kinds = (2, at._fmt), (2, left._fmt), (2, right._fmt)
    return run(known_program(_VALUES, ("S", "A", "B"), kinds, None, _HOW, "zero"), [at, left, right])[0]


def _at(structure: SparseTensor, left: SparseTensor, right: SparseTensor) -> SparseTensor:
    if not needs_grad(left, right):
        return _values(structure, left, right)
    program = known_program(_PRODUCT, (), ((2, left._fmt), (2, right._fmt)), None, None, "zero")
    return run_eagerly(program, [left, right], _AtEntries(structure))[0]


def product(left: SparseTensor, right: SparseTensor) -> SparseTensor:
    """``left @ right`` of two matrices: its values alone where such products are many."""
    if torch.compiler.is_dynamo_compiling() or not _C.plain() or not _suits(left) or not _suits(right):
        return einsum(_PRODUCT, left, right)
    core = core_of(left)
    pairs, key = _pairs(core), id(right._arrays()[-2])
    pair = pairs.get(key)
    if pair is None or not pair.is_of(left, right):
        if len(pairs) == _PAIRS:
            pairs.clear()
        pair = pairs[key] = Pair(right)
    if pair.result is not None:
        return _at(pair.result, left, right)
    made = einsum(_PRODUCT, left, right)
    if made.__class__ is SparseTensor and not torch.is_inference_mode_enabled():
        pair.note(left, right, made, core.many())
    return made

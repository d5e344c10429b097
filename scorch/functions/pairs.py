"""Products of two sparse matrices that are computed often.

Which entries such a product has follows from what its operands store, never from their values. So the
structure that one product found is kept beside that of its left operand, and later ones compute values alone,
at these entries: Gustavson's two phases, of which the first is done once ("Two Fast Algorithms for Sparse
Matrices", 1978).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

import torch

from .. import _C, _torch
from ..tensor.format import is_composed, repeats
from ..tensor.sparsetensor import SparseTensor, core_of
from ..tensor.values import needs_grad, versions
from .expressions import evaluate
from .gradients import run_eagerly
from .program import known_program
from .run import run

_VALUES = "C[i,k] = stored(S[i,k]) * A[i,j] * B[j,k]"
_MANY = 1 << 25  # entries that products had together: they took as long as compiling for another way does
_LARGER = 8  # times the bytes of both operands that a structure may take,
_MOST = 32  # where it is known that products will be many
_PAIRS = 4  # right operands that are remembered for a left one


def _bytes_of_structure(a: SparseTensor) -> int:
    return sum(x.nbytes for x in a._arrays()[:-1])


class Pair:
    """Two structures that were multiplied, and the structure of their products once these are many."""

    def __init__(self, left: SparseTensor, right: SparseTensor, now: tuple) -> None:
        self.shape = right.shape
        self.result: SparseTensor | None = None
        self._arrays = [weakref.ref(x) for x in right._arrays()[:-1]]
        self._versions, self._own = now, ()
        self._given = left.nbytes + right.nbytes
        self._entries = 0

    @property
    def nbytes(self) -> int:
        """Of what is kept; its values are never written, nor read."""
        return 0 if self.result is None else _bytes_of_structure(self.result)

    def is_of(self, right: SparseTensor, now: tuple) -> bool:
        """Whether the operands are still those, and nobody wrote to what is kept."""
        mine = self._versions == now and (self.result is None or versions(self.result) == self._own)
        return mine and all(a() is x for a, x in zip(self._arrays, right._arrays()[:-1], strict=True))

    def note(self, made: SparseTensor, many: bool) -> bool:
        """One more product; whether its structure is kept from now on."""
        self._entries += made.nnz
        room = self._given * (_MOST if many else _LARGER)
        if not (many or self._entries >= _MANY) or _bytes_of_structure(made) > room:
            return False
        unread = torch.empty(made._val.shape, dtype=torch.bool, device="cpu")
        self.result = made.detach()._with_values(unread)
        self._own = versions(self.result)
        return True


def _suits(x: torch.Tensor) -> bool:
    plain = x.__class__ is SparseTensor and x._ndim == 2 and x._val.dtype is not torch.bool
    return plain and not is_composed(x._fmt) and not repeats(x._fmt)


class _AtEntries:
    """Runs a recorded product at the entries of a structure, and then the programs of its gradients."""

    def __init__(self, structure: SparseTensor) -> None:
        self._structure: SparseTensor | None = structure

    def __call__(self, program: str, operands: list[torch.Tensor], *more: object) -> list[torch.Tensor]:
        at, self._structure = self._structure, None
        return run(program, operands, *more) if at is None else [_values(at, *operands)]


def _values(at: SparseTensor, left: SparseTensor, right: SparseTensor) -> SparseTensor:
    return evaluate(_VALUES, S=at, A=left, B=right)


def _at(structure: SparseTensor, left: SparseTensor, right: SparseTensor) -> SparseTensor:
    if not needs_grad(left, right):
        return _values(structure, left, right)
    program = known_program("ij,jk->ik", (), ((2, left._fmt), (2, right._fmt)), None, None, "zero")
    return run_eagerly(program, [left, right], _AtEntries(structure))[0]


def product(left: torch.Tensor, right: torch.Tensor, otherwise: Callable[[], torch.Tensor]) -> torch.Tensor:
    """``left @ right``: its values alone where such products are many, else ``otherwise()``."""
    if torch.compiler.is_dynamo_compiling() or not _C.plain() or not _suits(left) or not _suits(right):
        return otherwise()
    core = core_of(left)
    pairs = core.shared().setdefault("products", {})
    key, now = (right._fmt, id(right._arrays()[-2])), (versions(left), versions(right))
    pair = pairs.get(key)
    if pair is None or not pair.is_of(right, now):
        if len(pairs) == _PAIRS:
            pairs.clear()
        pair = pairs[key] = Pair(left, right, now)
    if pair.result is not None:
        return _at(pair.result, left, right)
    made = otherwise()
    if made.__class__ is SparseTensor and not torch.is_inference_mode_enabled() and not _torch.in_backward():
        many = core.many()
        if pair.note(made, many) and many:  # the way that the next ones take is made ready now
            _values(pair.result, left.detach(), right.detach())
    return made

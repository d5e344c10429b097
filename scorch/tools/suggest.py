"""Which formats the entries of a matrix suggest: a look at them says what is worth measuring, and no more.

Counts are those of the extension (csrc/kernels/census_*.c), a pass over some of the entries each; rows and
columns that have any are counted by torch.
"""

from __future__ import annotations

import torch

from .. import _C
from ..tensor.sparsetensor import SparseTensor, core_of

_SIDES = (32, 16, 8, 4)  # of blocks
_FILLED = 0.7  # share of the places of blocks that are stored, from which on blocks alone may pay
_FULL = 0.5  # ... of one block, for the part that has blocks
_FEWER = 0.9  # share of all places that the rows or columns with entries have, at most, for those alone
_APART = 0.25  # share of all entries that a part must take
_SHARED = 6  # entries on a diagonal of a slice, at least


def _sides(a: SparseTensor) -> list[int]:
    """Sides of blocks that divide the extents."""
    return [side for side in _SIDES if not any(n % side for n in a.shape)]


def blocks(a: SparseTensor) -> str | None:
    """The blocks that the entries of a csr matrix come in, the largest that are filled enough."""
    for side in _sides(a) if a._fmt == "csr" and a.nnz else ():
        seen, stored, _ = core_of(a).blocks(side, _FILLED)
        if seen >= _FILLED * stored * side * side:
            return f"bsr({side},{side})"
    return None


def diagonals(a: SparseTensor) -> str | None:
    """Slices of diagonals, if rows of a csr matrix that follow one another have entries on the same ones."""
    shared = core_of(a).diagonals() if a._fmt == "csr" and a.nnz else 0
    return f"dia({_C.slice_rows})" if shared >= _SHARED else None


def slabs(a: SparseTensor) -> str | None:
    """Rows or columns of a csr matrix, if those with entries are few and full enough: a smaller dense one."""
    if a._fmt != "csr" or not a.nnz:
        return None
    rows, columns = a.shape
    begins, at = a.pos(1), a.crd(1)
    stored = {
        "compressed(0), dense(1)": int((begins[1:] > begins[:-1]).sum()) * columns,
        "compressed(1), dense(0)": int((torch.bincount(at, minlength=columns) > 0).sum()) * rows,
    }
    best = min(stored, key=stored.__getitem__)
    return best if stored[best] <= min(_FEWER * rows * columns, a.nnz / _FULL) else None


def _takes(a: SparseTensor, side: int) -> bool:
    """Whether blocks that are full take enough of the entries."""
    seen, _, within = core_of(a).blocks(side, _FULL)
    return within >= _APART * seen


def compositions(a: SparseTensor) -> list[str]:
    """Composed formats of a csr matrix, a good part of whose entries lie in full blocks or in long rows."""
    if a._fmt != "csr" or a._ndim != 2 or not a.nnz:
        return []
    sides = [side for side in _sides(a) if _takes(a, side)]
    found = [f"bsr({side},{side}) of blocks({side},{side},{_FULL}) + csr" for side in sides]
    long = a.shape[1] // 2
    if core_of(a).long_rows(long) >= _APART * a.nnz:
        found.append(f"compressed(0), dense(1) of rows(> {long}) + csr")
    return found


def formats(a: SparseTensor) -> list[str]:
    """What a csr matrix may be converted to, formats of one part first."""
    alone = [slabs(a), blocks(a) or diagonals(a)] if a._ndim == 2 else []
    return [*filter(None, alone), *compositions(a)]

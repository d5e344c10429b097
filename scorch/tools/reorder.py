"""Renumbering the rows and columns of a matrix, so that entries that are used together lie together."""

from __future__ import annotations

from typing import NamedTuple

import torch

from .. import _C
from .._torch import as_tensor
from ..tensor.entries import counts, entries, flat_format
from ..tensor.format import layout
from ..tensor.sparsetensor import SparseTensor
from ..tensor.values import assemble

_METHODS = ("rcm", "degree", "hub")


class Reordering(NamedTuple):
    """A matrix [m, n] in another order, and the way back.

    ``tensor[i, j]`` is ``A[rows[i], columns[j]]``; with the permutation matrices P and Q of rows and columns
    it is P A Q^T. ``rows`` [m], ``columns`` [n] and their inverses are int64. A product in the old order:

    >>> A, x = scorch.sparse(torch.tensor([[0.0, 1.0], [2.0, 3.0]])), torch.tensor([[1.0], [10.0]])
    >>> r = scorch.reorder(A, "degree")
    >>> torch.equal((r.tensor @ x[r.columns])[r.inverse_rows], A @ x)
    True
    """

    tensor: SparseTensor
    rows: torch.Tensor
    columns: torch.Tensor
    inverse_rows: torch.Tensor
    inverse_columns: torch.Tensor

    def undo(self, tensor: SparseTensor | None = None) -> SparseTensor:
        """A tensor [m, n] of the new order, by default this one, in the old order and its own format.

        Of ``tensor`` itself that is A again: the same structure, values and format. ValueError where the
        shape is another one.
        """
        tensor = self.tensor if tensor is None else tensor
        if tensor.shape != self.tensor.shape:
            raise ValueError(f"undo: expected shape {tuple(self.tensor.shape)}, got {tuple(tensor.shape)}")
        return _permuted(tensor, self.rows, self.columns)


def _check(a: SparseTensor) -> None:
    if not isinstance(a, SparseTensor):
        raise TypeError(f"reorder: expected a SparseTensor, got {type(a).__name__}: see scorch.sparse")
    if a._ndim != 2:
        raise ValueError(f"reorder: expected a matrix, got {a._ndim} dimensions")
    levels = layout(a._fmt, 2).levels
    if any(part for _, _, _, part, _, _ in levels) or not levels[-1][1]:
        raise ValueError(
            f"reorder: blocks and repeated coordinates do not survive it, got format {a._fmt}: "
            f'call A.convert("csr") first'
        )


def _permuted(a: SparseTensor, to_rows: torch.Tensor, to_columns: torch.Tensor) -> SparseTensor:
    """The tensor whose entry (to_rows[i], to_columns[j]) is the entry (i, j) of a."""
    _check(a)
    e, shape, wide = entries(a), tuple(a.shape), a.index_dtype == torch.int64
    place = (
        torch.tensor([0, e.values.shape[0]], device="cpu"),
        to_rows[e.indices[0]],
        to_columns[e.indices[1]],
    )
    listed = _C.Core(flat_format(2), shape, (*place, e.values.detach().contiguous()), False)
    (_, _, (*structure, _)), source = _C.convert(listed, "csr", wide, True)
    values = e.values if source is None else e.values[source]
    return assemble(layout("csr", 2), shape, (*structure, values)).convert(a._fmt)


# ---- methods ----
def _by_degree(counts: torch.Tensor) -> torch.Tensor:
    return torch.argsort(counts, descending=True, stable=True)


def _by_hub(counts: torch.Tensor) -> torch.Tensor:
    """Those above the average first; the order among them, and among the others, stays."""
    hub = counts * max(counts.numel(), 1) > counts.sum()
    return torch.cat([hub.nonzero().view(-1), (~hub).nonzero().view(-1)])


def _reverse_cuthill_mckee(a: SparseTensor) -> torch.Tensor:
    try:
        from scipy.sparse.csgraph import reverse_cuthill_mckee
    except ImportError as error:
        raise ImportError(
            'reorder: "rcm" needs SciPy: pip install scipy, or use "degree" or "hub"'
        ) from error
    if a.shape[0] != a.shape[1]:
        raise ValueError(
            f'reorder: "rcm" renumbers a graph and needs a square matrix, got {tuple(a.shape)}: use "degree"'
        )
    if not a.shape[0]:  # which SciPy does not take
        return torch.arange(0, device="cpu")
    ones = a.detach().convert("csr")._with_values(torch.ones(entries(a).values.shape[0], device="cpu"))
    graph = (ones + ones.T).convert("csr").to(index_dtype=torch.int32).to_scipy()
    return torch.from_numpy(reverse_cuthill_mckee(graph, symmetric_mode=True).astype("int64"))


def _given(permutation: torch.Tensor, n: int, name: str) -> torch.Tensor:
    p = as_tensor(permutation)
    good = p.dim() == 1 and p.numel() == n and not p.is_floating_point()
    if not good or not torch.equal(p.long().sort().values, torch.arange(n, device="cpu")):
        raise ValueError(f"reorder: {name}: expected a permutation of 0..{n - 1}, got shape {tuple(p.shape)}")
    return p.long()


def _chosen(a: SparseTensor, method: str, symmetric: bool) -> tuple[torch.Tensor, torch.Tensor]:
    if method == "rcm":
        order = _reverse_cuthill_mckee(a)
        return order, order
    if method not in _METHODS:
        raise ValueError(
            f"reorder: expected one of {', '.join(_METHODS)} or a pair of permutations, got {method!r}"
        )
    by = _by_degree if method == "degree" else _by_hub
    rows, columns = map(counts, entries(a).indices, a.shape)  # what each has stored
    if symmetric:
        order = by(rows + columns)
        return order, order
    return by(rows), by(columns)


def reorder(
    A: SparseTensor,
    method: str | tuple[torch.Tensor, torch.Tensor] = "degree",
    *,
    symmetric: bool | None = None,
) -> Reordering:
    """The matrix with its rows and columns in another order, with the permutations and their inverses.

    Nothing is reordered unless asked for: results of the new tensor are in its order, and are brought back by
    what is returned with it. Gradients flow to the values of A.

    Args:
        A: [m, n], of any format without blocks and repeated coordinates; the result has the same.
        method: "degree": by falling number of stored entries. "hub": rows and columns with more entries than
            the average come first, in their order, then the others. "rcm": reverse Cuthill-McKee, which
            gathers the entries of a graph near the diagonal; A is square, SciPy is needed. Or a pair of
            permutations (rows [m], columns [n]) of integers.
        symmetric: one order for rows and columns, so that a graph stays a graph; by default where A is
            square. Says nothing with a pair, nor with "rcm", which has one order.

    Raises:
        TypeError: A is no SparseTensor. ValueError: the method is none of these, the format has blocks or
            repeated coordinates, A is not square where it must be, or what is given is no permutation.
        ImportError: "rcm" without SciPy.

    >>> A = scorch.sparse(torch.tensor([[0.0, 1.0], [2.0, 3.0]]))
    >>> scorch.reorder(A, "degree").rows
    tensor([1, 0])
    """
    _check(A)
    m, n = A.shape
    if symmetric and m != n:
        raise ValueError(f"reorder: one order for rows and columns needs a square matrix, got {(m, n)}")
    if isinstance(method, str) or not hasattr(method, "__iter__"):
        rows, columns = _chosen(A, method, m == n if symmetric is None else symmetric)
    else:
        rows, columns = (
            _given(p, extent, name)
            for p, extent, name in zip(method, (m, n), ("rows", "columns"), strict=True)
        )
    inverse_rows, inverse_columns = torch.argsort(rows), torch.argsort(columns)
    return Reordering(
        _permuted(A, inverse_rows, inverse_columns), rows, columns, inverse_rows, inverse_columns
    )

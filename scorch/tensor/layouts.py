"""The layouts of torch and SciPy that a SparseTensor turns into, and what torch calls the arrays of its own.

Equal arrays are shared.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch.utils.weak import WeakIdKeyDictionary

from .. import _torch
from .entries import distinct, entries, is_longer, ravel, unravel
from .format import layout, pads
from .making import COMPRESSED
from .sparsetensor import SparseTensor, sound

TORCHS = {  # of each format with the arrays of one, blocks left out
    "coo": torch.sparse_coo,
    **{name: known for known, name in COMPRESSED.items()},
}


def _refuse_graphs(what: str) -> None:
    """Raises NotImplementedError in a graph, which ends there, or with fullgraph=True says this."""
    if _torch.is_compiling():
        raise NotImplementedError(
            f"a graph has no tensors of {what}: convert before it, or leave out fullgraph=True"
        )


def to_coo(a: SparseTensor) -> torch.Tensor:
    """The COO tensor of torch, coalesced."""
    a = sound(a)
    coo = a._unique() if a._fmt.startswith("compressed(0, nonunique)") else a.convert("coo")
    values = coo.values()
    indices = torch.stack([coo.crd(d) for d in range(a._ndim)]).long()
    return torch.sparse_coo_tensor(
        indices, values, a.shape, is_coalesced=True, check_invariants=False, device="cpu"
    )


def in_row_major(a: SparseTensor) -> SparseTensor:
    """In a format that stores entries in row-major order, near to that of a."""
    if "singleton" in a._fmt:
        return a.convert("coo")
    empty = not _torch.is_compiling() and is_longer(a._shape[0], a._val.shape[0])
    return a.convert("csf" if a._ndim != 2 else "dcsr" if empty else "csr")


def to_torch(
    a: SparseTensor, layout: torch.layout, blocksize: tuple[int, int] | None, dense_dim: int | None
) -> torch.Tensor:
    """The tensor in a layout of torch; memory is shared where the format is that layout."""
    if dense_dim:
        raise NotImplementedError(
            f"{layout} with {dense_dim} dense dimensions: use A.to_sparse({a._ndim - dense_dim}), which is "
            f"COO, or A.to_dense()"
        )
    if layout is torch.strided:
        return a.to_dense()
    if layout is torch.sparse_coo:
        return to_coo(a)
    if layout not in COMPRESSED:
        raise ValueError(f"expected a layout of torch, got {layout}")
    if a._ndim != 2:
        raise NotImplementedError(f"{layout} of {a._ndim} dimensions: use torch.sparse_coo")
    _refuse_graphs(str(layout))
    name = COMPRESSED[layout]
    if blocksize is not None and not name.startswith("b"):
        raise ValueError(f"{layout} has no blocks, got blocksize={blocksize}")
    if name.startswith("b"):
        if blocksize is None and not a._fmt.startswith(name):
            raise ValueError(f"{layout} needs blocksize=(rows, columns)")
        if blocksize is not None and not (isinstance(blocksize, (tuple, list)) and len(blocksize) == 2):
            raise TypeError(f"{layout}: expected blocksize=(rows, columns), got {blocksize!r}")
        name = f"{name}({blocksize[0]},{blocksize[1]})" if blocksize else a._fmt
        blocksize = tuple(int(n) for n in name[4:-1].split(","))
        if any(n % b for n, b in zip(a.shape, blocksize, strict=True)):
            raise ValueError(
                f"{layout}: expected a shape that blocks of {blocksize} divide, got {tuple(a.shape)}"
            )
    b = sound(a).convert(name)
    values = b.values().view(-1, *blocksize) if blocksize else b.values()
    return torch.sparse_compressed_tensor(
        b.pos(1), b.crd(1), values, a.shape, layout=layout, check_invariants=False, device="cpu"
    )


def _to_hybrid(a: SparseTensor, sparse_dim: int) -> torch.Tensor:
    """The COO tensor of torch that is sparse in its first dimensions; of the others all is stored."""
    if not 1 <= sparse_dim <= a._ndim:
        raise ValueError(f"to_sparse: expected sparse_dim from 1 to {a._ndim}, got {sparse_dim}")
    if sparse_dim == a._ndim:
        return to_coo(a)
    e = entries(a)
    lead, rest = e.shape[:sparse_dim], e.shape[sparse_dim:]
    key, slot = distinct(ravel(e.indices[:sparse_dim], lead))
    at = slot * math.prod(rest) + ravel(e.indices[sparse_dim:], rest)
    values = e.values.new_zeros(key.numel() * math.prod(rest)).index_put((at,), e.values)
    return torch.sparse_coo_tensor(
        unravel(key, lead),
        values.view(-1, *rest),
        a.shape,
        is_coalesced=True,
        check_invariants=False,
        device="cpu",
    )


def to_sparse(
    a: SparseTensor,
    sparse_dim: int | None,
    layout: torch.layout | None,
    blocksize: tuple[int, int] | None,
    dense_dim: int | None,
) -> torch.Tensor:
    """The tensor in a sparse layout of torch, COO by default, perhaps with dense dimensions at the end."""
    if sparse_dim is not None and (layout, blocksize, dense_dim) != (None, None, None):
        raise TypeError("to_sparse: expected sparse_dim alone, or layout, blocksize and dense_dim by name")
    if layout not in (None, torch.sparse_coo):
        return to_torch(a, layout, blocksize, dense_dim)
    if blocksize is not None:
        raise ValueError("to_sparse: blocksize goes with torch.sparse_bsr and torch.sparse_bsc, got COO")
    return _to_hybrid(a, a._ndim - (dense_dim or 0) if sparse_dim is None else sparse_dim)


def _numpy(x: torch.Tensor):
    """An array on the memory of x, or a copy where that is read-only."""
    return (x.clone() if _torch.is_read_only(x) else x).numpy()


def to_scipy(a: SparseTensor):
    """The SciPy sparse array of the nearest format (csr, csc, bsr, else coo), sharing memory if it can."""
    import scipy.sparse

    _refuse_graphs("SciPy")
    if a.dtype is torch.bfloat16:
        raise TypeError("NumPy has no bfloat16: call A.float().to_scipy()")
    name = sound(a)._fmt.partition("(")[0]
    if name in ("csr", "csc") and a._ndim == 2:
        make = getattr(scipy.sparse, f"{name}_array")
        return make((_numpy(a.values()), _numpy(a.crd(1)), _numpy(a.pos(1))), shape=tuple(a.shape))
    if name == "bsr":
        block = tuple(int(n) for n in a._fmt[4:-1].split(","))
        data = _numpy(a.values().view(-1, *block))
        return scipy.sparse.bsr_array((data, _numpy(a.crd(1)), _numpy(a.pos(1))), shape=tuple(a.shape))
    if a._ndim > 2:
        raise ValueError(f"SciPy has matrices and vectors only, got {a._ndim} dimensions")
    coo = a.convert("coo")
    return scipy.sparse.coo_array(
        (_numpy(coo.values()), tuple(_numpy(coo.crd(d)) for d in range(a._ndim))), shape=tuple(a.shape)
    )


# ---- what torch calls the arrays ----
# not attributes of the arrays, which would be saved with them
_owners: WeakIdKeyDictionary = WeakIdKeyDictionary()


def compressed(name: str, formats: tuple[str, str], kind: str) -> Callable[[SparseTensor], torch.Tensor]:
    """``crow_indices`` and its kin: an array of a matrix that is compressed along rows, or along columns.

    Whose array it is, :func:`owner_of` tells those who get nothing else.
    """

    def read(input: SparseTensor) -> torch.Tensor:
        if input._ndim != 2 or input._fmt.partition("(")[0] not in formats:
            raise ValueError(
                f"{name}: expected a matrix in {' or '.join(formats)}, got {input._ndim} dimensions in "
                f"{input._fmt}: use A.convert({formats[0]!r}).{name}(), or A.pos(level) and A.crd(level)"
            )
        array = getattr(input, kind)(1)
        if not _torch.is_compiling():
            _owners[array] = input
        return array

    return read


def owner_of(array: torch.Tensor) -> SparseTensor | None:
    """The SparseTensor that an array was read from by ``crow_indices`` or its kin."""
    return _owners.get(array)


def coordinates(input: SparseTensor) -> torch.Tensor:
    """``Tensor._indices``: [ndim, nnz], int64, in storage order."""
    if pads(input._fmt):
        raise ValueError(
            f"_indices: {input._fmt} stores padding, which has no coordinates: use A.convert('coo')"
        )
    return input.indices().long()


def dense_dim(input: SparseTensor) -> int:
    """``Tensor.dense_dim``: how many dimensions at the end are stored densely below stored ones."""
    if input._fmt.partition("(")[0] in ("csr", "csc", "bsr", "bsc"):
        return 0
    whole = [kind == "dense" and not part for kind, _, _, part, *_ in layout(input._fmt, input._ndim).levels]
    return 0 if all(whole) else whole[::-1].index(False)


def sparse_dim(input: SparseTensor) -> int:
    """``Tensor.sparse_dim``: the others; of csr and its kin two, as in torch, the rest being batches."""
    of_matrices = input._fmt.partition("(")[0] in ("csr", "csc", "bsr", "bsc")
    return 2 if of_matrices else input._ndim - dense_dim(input)

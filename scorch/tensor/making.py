"""Making sparse tensors."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence

import numpy
import torch

from .. import _C, _torch
from .entries import CARRIER, flat_format
from .format import Format, Layout, bound, has_parts, layout, spelled
from .sparsetensor import SparseTensor, core_of
from .values import assemble, carries, needs_grad, tracked
from .wrapping import from_result

COMPRESSED = {  # layouts of torch, and the formats with their arrays
    torch.sparse_csr: "csr",
    torch.sparse_csc: "csc",
    torch.sparse_bsr: "bsr",
    torch.sparse_bsc: "bsc",
}
MADE = "making a SparseTensor"
_INT32 = torch.iinfo(torch.int32)
_NO_VALUES_GRAD = (
    "gradients to a sparse tensor of torch are not available: make it by scorch.coo(indices, values, shape) "
    "or of its arrays by scorch.from_components, or detach it"
)


# ---- pieces ----
def expect_cpu(name: str, x: torch.Tensor) -> None:
    """Raises NotImplementedError where x is on another device; there are no SparseTensors on any."""
    if x.device.type != "cpu":
        raise NotImplementedError(f"{name}: scorch computes on the CPU, got a tensor on {x.device}")


@_torch.constant
def traced_layout(format: str, ndim: int) -> Layout:
    """The layout of a format, also while torch.compile traces."""
    return Format(format).bind(ndim)


def _own(array: torch.Tensor) -> torch.Tensor:
    """A component array: the same memory and version counter, detached, marked as of dynamic length."""
    array = array.detach()
    if not torch.compiler.is_dynamo_compiling():
        array = _torch.as_plain(array)
        _torch.mark_dynamic(array)
    return array


def _refuse_grad(values: torch.Tensor) -> None:
    if _torch.is_wrapped(values) or (values.requires_grad and torch.is_grad_enabled()):
        raise NotImplementedError(_NO_VALUES_GRAD)


def _assemble(
    form: Layout, shape: Sequence[int], arrays: Sequence[torch.Tensor], validate: bool = True
) -> SparseTensor:
    *structure, values = arrays
    if not torch.compiler.is_dynamo_compiling() and _torch.in_transform():
        return _assemble_transformed(form, shape, arrays, validate)
    owned = values if needs_grad(values) else _own(values)
    self = assemble(form, tuple(shape), [*map(_own, structure), owned])
    if torch.compiler.is_dynamo_compiling() or not _C.plain():
        return self
    if validate:
        core_of(self)
    else:
        self.__dict__["_core"] = _C.Core(form.text, tuple(shape), self._arrays(), False)
    return self


def _assemble_transformed(
    form: Layout, shape: Sequence[int], arrays: Sequence[torch.Tensor], validate: bool
) -> SparseTensor:
    """_assemble inside of a transform: the structure is of numbers, the values may be its own."""
    carried = carries(arrays[-1])
    with _torch.plainly():
        *structure, values = (
            torch.empty(a.shape, dtype=a.dtype, device="cpu")
            if carried and a is arrays[-1]
            else _torch.numbers_of(a, MADE)
            for a in arrays
        )
        made = _assemble(form, shape, [*structure, values], validate)
    return made._with_values(arrays[-1]) if carried else made


def fitting_dtype(shape: Sequence[int], nnz: int) -> torch.dtype:
    return torch.int32 if max((*shape, nnz), default=0) < 2**31 else torch.int64


def _pos_of_list(nnz: int, like: torch.Tensor) -> torch.Tensor:
    return torch.tensor([0, nnz], dtype=like.dtype, device="cpu")


def finish(a: SparseTensor, format: str | Format, index_dtype: torch.dtype | None) -> SparseTensor:
    form = bound(format, a._ndim)
    if form.text != a._fmt:
        a = a.convert(form.text, index_dtype=index_dtype)
    elif index_dtype not in (None, a.index_dtype):
        a = a.to(index_dtype=index_dtype)
    for array in a._arrays():
        _torch.mark_dynamic(array)
    return a


def _gathered(a: SparseTensor, x: torch.Tensor) -> SparseTensor:
    """The structure of a with the values of the dense x there, differentiably."""
    with _torch.plainly():
        indices = tuple(a.indices().long().clamp(min=0))
    return a._with_values(x[indices])


# ---- from what others have ----
def _from_dense(x: torch.Tensor, format: str | Format, index_dtype: torch.dtype | None) -> SparseTensor:
    form = bound(format, x.dim())
    if tracked(x):
        with _torch.plainly():
            made = _from_dense(_torch.numbers_of(x, MADE), format, index_dtype)
        return _gathered(made, x) if carries(x) else made
    wide = (index_dtype or fitting_dtype(x.shape, x.numel())) == torch.int64
    return finish(_converted(_carried(x.detach().resolve_neg()), x.dtype, form, wide), form.text, None)


def _converted(source: torch.Tensor | _C.Core, dtype: torch.dtype, form: Layout, wide: bool) -> SparseTensor:
    """A dense tensor or a core in a format, with values of a type."""
    _torch.refuse_fake(source)
    made = from_result(*_C.convert(source, form.text, wide))
    return made if made._val.dtype == dtype else made.to(dtype)


def _carried(values: torch.Tensor) -> torch.Tensor:
    """Values in a type that the extension can add."""
    return values.to(CARRIER[values.dtype]) if values.dtype in CARRIER else values


def _hybrid(format: str, ndim: int, dims: int) -> Layout:
    """The layout of a format over the first ``ndim`` of ``dims`` dimensions; the others are dense."""
    if ndim == dims:
        return layout(format, dims)
    levels = [spelled(*level) for level in layout(format, ndim).levels]
    return layout(", ".join((*levels, *(f"dense({d})" for d in range(ndim, dims)))), dims)


def from_coo(
    x: torch.Tensor, format: str | Format = "coo", index_dtype: torch.dtype | None = None
) -> SparseTensor:
    """In COO, or, where entries are to be sorted and summed anyway, in the format asked for."""
    sparse_dim = x.sparse_dim()
    if not sparse_dim:
        raise NotImplementedError("a COO tensor without sparse dimensions: call .to_dense() first")
    if not x.dense_dim() and not x.is_coalesced() and _C.plain():
        return _from_entries(x, bound(format, x.dim()), index_dtype)
    x = x.coalesce()
    indices = x.indices()
    crd = [indices[d] if indices[d].is_contiguous() else indices[d].contiguous() for d in range(sparse_dim)]
    arrays = [_pos_of_list(x._nnz(), indices), *crd, x.values().reshape(-1)]
    return _assemble(_hybrid("coo", sparse_dim, x.dim()), x.shape, arrays)


def _from_entries(x: torch.Tensor, form: Layout, index_dtype: torch.dtype | None) -> SparseTensor:
    """A COO tensor in any order, with duplicates."""
    indices = x._indices().contiguous()
    return of_lists(x.shape, [*indices], x._values().resolve_neg(), form, index_dtype or indices.dtype)


def list_of(x: torch.Tensor, n: int) -> torch.Tensor:
    """Integers as a list of coordinates among n, contiguous, int32 or int64; itself where it is that."""
    fits = x.dtype == torch.int32 or (x.dtype == torch.int64 and x.is_contiguous())
    wide = x.dtype if fits else fitting_dtype((), n)
    return x.to(wide).contiguous()


def of_lists(
    shape: Sequence[int],
    crd: Sequence[torch.Tensor],
    values: torch.Tensor,
    form: Layout,
    index_dtype: torch.dtype,
) -> SparseTensor:
    """The tensor of lists of coordinates, one a dimension, of one type, in any order; duplicates are summed.

    Where they are sorted the result may have the lists and the values themselves.
    """
    shape, n = tuple(shape), values.numel()
    by_rows = layout("csr", 2)
    if len(shape) == 2 and (form.parts or (form.text == layout("coo", 2).text and shape[0] <= n)):
        made = of_lists(shape, crd, values, by_rows, index_dtype)  # which sorts by rows, in less memory
        return made.convert(form.text, index_dtype=index_dtype)
    return _converted(core_of_lists(shape, crd, values), values.dtype, form, index_dtype == torch.int64)


def core_of_lists(shape: tuple[int, ...], crd: Sequence[torch.Tensor], values: torch.Tensor) -> _C.Core:
    """Lists of coordinates, one a dimension, of one type, and values as the core of a tensor."""
    n = values.numel()
    if n > _INT32.max:
        crd = [x.long() for x in crd]
    arrays = _pos_of_list(n, crd[0]), *crd, _carried(values).contiguous()
    return _C.Core(flat_format(len(shape)), shape, arrays, False)


def apart(made: SparseTensor, lists: Sequence[torch.Tensor]) -> SparseTensor:
    """What was made of lists that were sorted already, with a structure of its own."""
    given, arrays = {*map(_torch.address, lists)}, made._arrays()
    if given.isdisjoint(map(_torch.address, arrays[:-1])):
        return made
    return made._like([*(x.clone() if _torch.address(x) in given else x for x in arrays[:-1]), arrays[-1]])


def _canonical(
    name: str, pos: torch.Tensor, crd: torch.Tensor, values: torch.Tensor, shape: Sequence[int]
) -> SparseTensor:
    """A matrix by compressed rows, columns or blocks with coordinates sorted and duplicates summed."""
    outer = torch.repeat_interleave(torch.arange(pos.numel() - 1, dtype=crd.dtype, device="cpu"), pos.diff())
    by_row = name.startswith(("csr", "bsr"))
    pairs = torch.stack([outer, crd] if by_row else [crd, outer])
    if values.dim() > 1:
        block = torch.tensor(values.shape[1:], device="cpu")
        inside = torch.cartesian_prod(*map(torch.arange, block.tolist())).view(-1, 2).T
        pairs = ((pairs * block[:, None])[:, :, None] + inside[:, None]).view(2, -1)
    made = torch.sparse_coo_tensor(
        pairs, values.reshape(-1), tuple(shape), check_invariants=True, device="cpu"
    )
    return from_coo(made).convert(name, index_dtype=crd.dtype)


def _from_compressed(x: torch.Tensor, copy: bool | None) -> SparseTensor:
    """A matrix, perhaps of dense blocks or with dense dimensions behind, or a batch of them."""
    if x.dim() - x.dense_dim() > 2:
        return torch.stack([_from_compressed(part, copy) for part in x.unbind()])
    name = COMPRESSED[x.layout]
    by_row = name in ("csr", "bsr")
    pos, crd = (x.crow_indices(), x.col_indices()) if by_row else (x.ccol_indices(), x.row_indices())
    if name.startswith("b"):
        if x.dense_dim():
            raise NotImplementedError(f"{x.layout} with dense dimensions: use .to_dense()")
        name = f"{name}({x.values().shape[1]},{x.values().shape[2]})"
    return _compressed(name, pos, crd, x.values(), x.shape, copy)


def _compressed(
    name: str,
    pos: torch.Tensor,
    crd: torch.Tensor,
    values: torch.Tensor,
    shape: Sequence[int],
    copy: bool | None,
) -> SparseTensor:
    """A matrix by compressed rows, columns or blocks; they may come unsorted, as from torch's own product."""
    try:
        return _assemble(_hybrid(name, 2, len(shape)), shape, [pos, crd, values.reshape(-1)])
    except ValueError as error:
        if copy is False or len(shape) > 2:
            raise
        try:
            return _canonical(name, pos, crd, values, shape)
        except RuntimeError:  # not only the order is wrong
            raise error from None


def of_numpy(array: numpy.ndarray, copy: bool) -> torch.Tensor:
    """An array as a tensor; what must not be written there must not be written here."""
    if any(n < 0 for n in array.strides):
        array = array.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of read-only arrays: see protected
        tensor = torch.from_numpy(array)
    if copy:
        return tensor.clone()
    return tensor if array.flags.writeable else _torch.protected(tensor)


def _from_scipy(x: object, copy: bool | None) -> SparseTensor:
    share = copy is False
    if x.format in ("csr", "csc", "bsr") and len(x.shape) == 2:
        pos, crd, values = (of_numpy(a, not share) for a in (x.indptr, x.indices, x.data))
        name = f"bsr({x.blocksize[0]},{x.blocksize[1]})" if x.format == "bsr" else x.format
        return _compressed(name, pos, crd, values, x.shape, copy)
    coo = x.tocoo()
    if share:
        return _list_of_scipy(coo)
    crd, values = [of_numpy(c, False) for c in coo.coords], of_numpy(coo.data, not share)
    if len({c.dtype for c in crd} - {torch.int32, torch.int64}):
        crd = [c.long() for c in crd]
    made = of_lists(coo.shape, crd, values, layout("coo", len(crd)), crd[0].dtype)
    return apart(made, crd)


def _list_of_scipy(x: object) -> SparseTensor:
    """A list of SciPy over its arrays.

    Raises: ValueError: they are not sorted, or an entry is there twice.
    """
    crd, values = [of_numpy(c, False) for c in x.coords], of_numpy(x.data, False)
    form = layout("coo", len(crd))
    return _assemble(form, x.shape, [_pos_of_list(values.shape[0], crd[0]), *crd, values])


def _memory(x: object) -> set[int]:
    """Where the arrays lie that a sparse array of SciPy or tensor has."""
    if isinstance(x, SparseTensor):
        arrays = x._arrays()
    elif not isinstance(x, torch.Tensor):
        arrays = [getattr(x, name, None) for name in ("indptr", "indices", "data")]
        arrays = [*arrays, *getattr(x, "coords", ())] if x.format in _SHARED else []
        return {a.ctypes.data for a in arrays if a is not None}
    elif x.layout is torch.sparse_coo:
        arrays = x._indices(), x._values()
    elif x.layout in (torch.sparse_csr, torch.sparse_bsr):
        arrays = x.crow_indices(), x.col_indices(), x.values()
    else:
        arrays = x.ccol_indices(), x.row_indices(), x.values()
    return {*map(_torch.memory_of, arrays)}


_SHARED = ("csr", "csc", "bsr", "coo")  # formats of SciPy whose arrays are those of a format here


def _refuse_copies(given: object, made: SparseTensor) -> None:
    """Raises ValueError where a tensor that copy=False asks for has arrays of its own for entries."""
    known, arrays = _memory(given), dict(zip(made._names, made._arrays(), strict=True))
    arrays.pop("_pos0", None)  # two numbers
    if any(a.numel() and _torch.memory_of(a) not in known for a in arrays.values()):
        _refuse_copy(given, made._fmt)


def _refuse_copy(given: object, format: str | Format) -> None:
    dense = isinstance(given, torch.Tensor) and given.layout is torch.strided
    kind = "a dense tensor" if dense and not isinstance(given, SparseTensor) else type(given).__name__
    raise ValueError(
        f"copy=False: {kind} as {format} would need arrays of its own: leave copy out, "
        f"or keep the format, the types and the order of what is shared"
    )


def _from_networkx(graph: object) -> object:
    import networkx

    name = str(torch.get_default_dtype())[6:]
    if not graph.number_of_nodes():
        return torch.zeros(0, 0, device="cpu")
    return networkx.to_scipy_sparse_array(graph, dtype=name if name in ("float32", "float64") else "float32")


MATRICES: dict = {}  # classes of tensors that list the entries of a matrix -> what makes it


def _as_torchs(x: object) -> object:
    """The tensor of torch that torch_sparse.SparseTensor, scorch.dynamic or a subclass can be; else x."""
    if x.__class__ in MATRICES:
        return MATRICES[x.__class__](x)
    for name in ("to_torch_sparse_csr_tensor", "to_dense"):
        if not isinstance(x, torch.Tensor) and hasattr(x, name):
            return getattr(x, name)()
    return _torch.as_plain(x) if isinstance(x, torch.Tensor) else x


@_torch.before_graphs
def sparse(
    x: object,
    format: str | Format = "auto",
    *more: object,
    index_dtype: torch.dtype | None = None,
    copy: bool | None = None,
) -> SparseTensor:
    """A SparseTensor of a dense or sparse tensor of torch, NumPy or SciPy, a graph, or another SparseTensor.

    Args:
        x: of any real type on the CPU. Products take all but int8, unsigned integers and float8, which can be
            stored, converted and moved. A NetworkX graph gives its adjacency matrix: an entry (u, v) is the
            weight of the edge from u to v, in torch's default type (networkx.to_scipy_sparse_array keeps
            integers and float64). Batches and dense dimensions of torch's layouts are taken too, the
            SparseTensor of torch_sparse, and scorch.dynamic.
        format: "auto" is csr for matrices and csf for more dimensions; batches of rows and dense dimensions
            at the end stay what they are. Statistics take no part in it yet.
        index_dtype: torch.int32 or torch.int64; by default what x has, and int32 where scorch builds
            the arrays and they fit.
        copy: None shares what torch owns and copies what others own; True always copies; False never does:
            "auto" is then the format that x has, what would need arrays of its own is an error, as it is in
            NumPy, and the owner must not change the structure. Arrays that
            are not writable, such as those of a file that is mapped, can be shared too: then values and
            structure are read-only, and ``A.clone()`` has its own.

    Raises:
        ValueError: the structure of x is malformed, the format does not fit its dimensions, or copy=False
            would need a copy: of what is dense, in another format or order, or of another type.
        TypeError: x is no tensor, or complex.
        NotImplementedError: x is a sparse tensor of torch that requires grad, or is not on the CPU.

    >>> dense = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    >>> scorch.sparse(dense, format="csc").crd(1)  # the rows of the entries, column by column
    tensor([1, 0, 1], dtype=torch.int32)
    >>> scorch.sparse(dense.to_sparse_csr()).nnz
    3
    """
    if more or isinstance(format, torch.Tensor):
        raise TypeError(
            "sparse: expected a tensor and a format: of indices, values and a shape scorch.coo makes one, of "
            "component arrays scorch.from_components"
        )
    if index_dtype not in (None, torch.int32, torch.int64):
        raise TypeError(f"index_dtype: expected torch.int32 or torch.int64, got {index_dtype}")
    x, shares = _as_torchs(x), copy is False
    if has_parts(format):
        if shares:
            _refuse_copy(x, format)
        return sparse(x, "csr", index_dtype=index_dtype, copy=copy).convert(format)
    if not isinstance(x, SparseTensor) and _torch.in_transform():
        return _sparse_transformed(x, format, index_dtype, copy)
    if isinstance(x, numpy.ndarray):
        x = of_numpy(x, False)
    elif not isinstance(x, torch.Tensor) and hasattr(x, "adjacency") and hasattr(x, "number_of_nodes"):
        if shares:
            _refuse_copy(x, format)
        x, copy = _from_networkx(x), False
    elif not isinstance(x, torch.Tensor) and _torch.is_array(x) and not hasattr(x, "tocoo"):
        x = _torch.as_tensor(x)
    if isinstance(x, SparseTensor):
        made = x
    elif not isinstance(x, torch.Tensor):
        if not (hasattr(x, "tocoo") and hasattr(x, "format")):
            raise TypeError(
                f"expected a torch tensor, a NumPy array, a SciPy sparse array or a NetworkX graph, got "
                f"{type(x).__name__}: for lists call torch.tensor first, for edges scorch.from_edge_index"
            )
        made = _from_scipy(x, copy)
        copy = None if copy else copy
    elif x.device.type != "cpu":
        instead = "make or load it on the CPU" if x.is_meta else "call .cpu() first"
        raise NotImplementedError(f"scorch computes on the CPU, got a tensor on {x.device}: {instead}")
    elif x.is_quantized or x.is_nested:
        raise TypeError("got a quantized or nested tensor: call .dequantize() or .to_padded_tensor(0) first")
    elif x.layout is torch.strided:
        if shares:
            _refuse_copy(x, format)
        return _from_dense(x, format, index_dtype)
    elif x.layout is torch.sparse_coo:
        _refuse_grad(x)
        made = from_coo(x.detach(), "coo" if shares else format, index_dtype)
    elif x.layout in COMPRESSED:
        _refuse_grad(x)
        made = _from_compressed(x.detach(), copy)
    else:
        raise NotImplementedError(
            f"cannot read the layout {x.layout}: convert it with .to_sparse_coo() or .to_dense()"
        )
    batch_or_hybrid = made._fmt == "csr" or layout(made._fmt, made._ndim).levels[-1][0] == "dense"
    if Format(format) == "auto" and (shares or (made._ndim > 2 and batch_or_hybrid)):
        format = made._fmt
    result = finish(made, format, index_dtype)
    if shares:
        _refuse_copies(x, result)
    if copy and not {*map(_torch.address, result._arrays())}.isdisjoint(map(_torch.address, made._arrays())):
        return result.clone()
    if made is not x:
        _torch.own(result._val)  # of torch's sparse tensors it is an object of its own
    return result


def _sparse_transformed(
    x: object, format: str | Format, index_dtype: torch.dtype | None, copy: bool | None
) -> SparseTensor:
    """sparse inside of a transform: the structure is that of the numbers of x."""
    tensor, carried = isinstance(x, torch.Tensor), False
    if tensor and x.layout is torch.strided:
        carried = carries(x)
    elif tensor:
        _refuse_grad(x)
    with _torch.plainly():
        numbers = _torch.numbers_of(x, MADE) if tensor else x
        made = sparse(numbers, format, index_dtype=index_dtype, copy=copy)
    return _gathered(made, x) if carried else made


def extents_of(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape as integers. Raises: TypeError: it is no sequence of them. ValueError: one is negative."""
    if _torch.is_compiling():
        return tuple(shape)
    try:
        extents = tuple(map(operator.index, shape))
    except TypeError:
        raise TypeError(f"shape: expected a sequence of integers, got {shape!r}") from None
    if any(n < 0 for n in extents) or math.prod(extents) >= 2**63:
        raise ValueError(f"shape: expected extents from 0 on, whose product is below 2^63, got {extents}")
    return extents


def of_torch(x: object) -> object:
    """A tensor in a sparse layout of torch as a SparseTensor; anything else as it is."""
    foreign = isinstance(x, torch.Tensor) and not isinstance(x, SparseTensor)
    return sparse(x) if foreign and x.layout is not torch.strided else x


def _by_level(kind: str, entries: Sequence, form: Layout) -> list:
    """pos or crd as they are given, as many as there are levels."""
    if not hasattr(type(entries), "__iter__"):
        raise TypeError(f"{kind}: expected a list, one entry a level, got {type(entries).__name__}")
    entries = list(entries)
    if len(entries) != len(form.levels):
        raise ValueError(f"{kind}: expected {len(form.levels)} entries, one a level, got {len(entries)}")
    return entries


def from_components(
    format: str | Format,
    shape: Sequence[int],
    pos: Sequence[torch.Tensor | None],
    crd: Sequence[torch.Tensor | None],
    values: torch.Tensor,
    *,
    validate: bool = True,
) -> SparseTensor:
    """Wraps arrays without copying them.

    The owner may write to values at any time, and to pos and crd by operations of torch, which are noticed:
    the structure is then looked through again. What is written to them past torch (``.data``, NumPy,
    ``untyped_storage()``) is not, and kernels trust the structure: ``SCORCH_DEBUG=validate`` looks before
    every use.

    Args:
        format: any format; it fixes which levels have pos and crd.
        shape: the dense shape.
        pos, crd: one entry a level, None where the level has none; int32 or int64, all the same.
        values: one a position of the last level, contiguous (blocks may keep their own dimensions). Every
            array may be NumPy's, numpy.memmap included; where it is not writable, the tensor is read-only.
        validate: False skips all checks of the structure; malformed arrays are then undefined behaviour.

    Raises:
        ValueError: an array is missing, has another length, is unsorted or out of range; the message names
            the level and the position; the shape is none. TypeError: an array or the shape has a wrong type.

    >>> pos, crd = torch.tensor([0, 1, 2]), torch.tensor([0, 2])
    >>> scorch.from_components("csr", (2, 3), [None, pos], [None, crd], torch.ones(2))
    SparseTensor(csr, 2x3, nnz=2, density=33.3%, float32, int64)
    """
    shape = extents_of(shape)
    form = traced_layout(format._text if isinstance(format, Format) else format, len(shape))
    if form.parts:
        raise ValueError(f"{form.text}: expected a format of levels; make each part, then scorch.parts(B, C)")
    given = {f"_{kind}": _by_level(kind, x, form) for kind, x in (("pos", pos), ("crd", crd))}
    arrays = []
    for level in range(len(form.levels)):
        for kind, entries in given.items():
            wanted, array = f"{kind}{level}" in form.names, entries[level]
            if wanted != (array is not None):
                raise ValueError(f"level {level} of {form.text}: {kind[1:]} must {'not ' * wanted}be None")
            if wanted:
                arrays.append(array)
    *arrays, values = (of_numpy(x, False) if isinstance(x, numpy.ndarray) else x for x in (*arrays, values))
    for array in (*arrays, values):
        if not isinstance(array, torch.Tensor) or isinstance(array, SparseTensor):
            raise TypeError(f"pos, crd, values: expected tensors or arrays, got {type(array).__name__}")
    if values.layout is not torch.strided or not values.is_contiguous():
        raise ValueError("values: expected a contiguous tensor: call .contiguous()")
    values = _torch.give_away(values.resolve_neg())
    return _assemble(form, shape, [*arrays, values.view(-1) if values.dim() != 1 else values], validate)

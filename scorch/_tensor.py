"""The SparseTensor class.

A wrapper without storage around plain component tensors. Three layers answer a call: methods of the class
that need no detour (``@`` first of all), the table of torch functions, and the dispatcher, which accepts a
short list of structural operators and refuses the rest by name. Nothing falls through to a dense computation.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch

from . import _C, _autograd, _torch
from ._format import Format, Layout, bound, layout, relabelled

_FLOAT8 = (torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz)
_CARRIER = {
    **dict.fromkeys((torch.float16, torch.bfloat16, *_FLOAT8), torch.float32),
    **dict.fromkeys((torch.int8, torch.uint8, torch.uint16), torch.int32),
    **dict.fromkeys((torch.uint32, torch.uint64), torch.int64),
}  # types whose duplicates are summed in a wider one, or that the extension only moves
HANDLERS: dict = {}  # torch function -> what it means here; filled by _functions.py
STRUCTURAL: dict = {}  # operator of the dispatcher -> what it means here; likewise


def wrap(form: Layout, shape: Sequence[int], arrays: Sequence[torch.Tensor]) -> SparseTensor:
    """A SparseTensor over component arrays in the order of ``form.names``; they are not looked at."""
    if torch.compiler.is_dynamo_compiling():
        _torch.admit_nodes()
        return _wrap_in_graph(form.text, tuple(shape), *arrays)
    kind = _OnTheWay if torch.compiler.is_exporting() else SparseTensor
    return _made(kind, form.text, form.names, tuple(shape), arrays)


@_torch.untraced
def _made(
    kind: type, text: str, names: tuple[str, ...], shape: tuple[int, ...], arrays: Sequence[torch.Tensor]
) -> SparseTensor:
    self = _torch.new_wrapper(kind, shape, arrays[-1])
    facts = self.__dict__
    facts["_fmt"], facts["_names"], facts["_ndim"], facts["_shape"] = text, names, len(shape), shape
    facts.update(zip(names, arrays, strict=True))
    return self


@_torch.node
def _wrap_in_graph(text: str, shape: tuple[int, ...], *arrays: torch.Tensor) -> SparseTensor:
    return assemble(layout(text, len(shape)), shape, arrays)


def assemble(form: Layout, shape: Sequence[int], arrays: Sequence[torch.Tensor]) -> SparseTensor:
    """The SparseTensor of arrays that an operation computed, the values perhaps differentiably."""
    return _autograd.make(form, shape, arrays)


@_torch.untraced
def from_result(text: str, shape: tuple[int, ...], arrays: tuple[torch.Tensor, ...]) -> SparseTensor:
    """The SparseTensor of arrays that the extension made, whose structure needs no second look."""
    return _fresh(layout(text, len(shape)), shape, arrays)


def from_run(found: Sequence, operands: Sequence) -> list[torch.Tensor]:
    """The results of a program. Those with the structure of an operand share its derived layouts too."""
    results = []
    for r in found:
        if not isinstance(r, torch.Tensor):
            r = from_result(*r)
            _look_for_origin(r.__dict__, operands)
        results.append(r)
    return results


def _look_for_origin(facts: dict, operands: Sequence) -> None:
    """Notes the core of the operand in this format whose last array of structure is the same, so all are."""
    text, names = facts["_fmt"], facts["_names"]
    for x in operands:
        own = x.__dict__
        if len(names) > 1 and own.get("_fmt") == text and own.get(names[-2]) is facts[names[-2]]:
            if own["_shape"] == facts["_shape"]:
                facts["_origin"] = own.get("_core")
            return


def _fresh(form: Layout, shape: tuple[int, ...], arrays: tuple[torch.Tensor, ...]) -> SparseTensor:
    self = _made(SparseTensor, form.text, form.names, shape, arrays)
    self.__dict__["_made"] = True
    return self


def core_of(self: SparseTensor) -> _C.Core:
    """What the extension knows of this tensor; made at the first use, validating the structure."""
    core = self.__dict__.get("_core")
    if core is None:
        made, origin = self.__dict__.pop("_made", False), self.__dict__.pop("_origin", None)
        if origin is not None:
            core = origin.with_values(self._val)
        else:
            core = _C.Core(self._fmt, self._shape, self._arrays(), True, made)
        self.__dict__["_core"] = core
    return core


def refuse_read_only(name: str, a: SparseTensor) -> None:
    """Raises ValueError where the values of a lie in memory that must not be written."""
    if _torch.is_read_only(a._val):
        raise ValueError(
            f"{name}: expected values that can be written, got those of a read-only array, which "
            f"scorch.sparse(..., copy=False) shares: A.clone() has its own"
        )


def is_sparse(x: object) -> bool:
    """Whether x is a scorch SparseTensor (``x.is_sparse`` is torch's own and stays False)."""
    return isinstance(x, SparseTensor)


def once(a: SparseTensor) -> SparseTensor:
    """a itself, but with each coordinate once where needed: kernels add, where values of bool are or'ed,
    and gradients have the structure of what a kernel read."""
    return a.coalesce() if a._val.dtype is torch.bool or _autograd.needs_grad(a) else a


def rank(x: torch.Tensor) -> int:
    """The number of dimensions, which is a constant where torch.compile traces too."""
    plainly = isinstance(x, SparseTensor) and not torch.compiler.is_dynamo_compiling()
    return x._ndim if plainly else x.dim()  # dim() of a SparseTensor asks the table


def _rebuild_v1(
    text: str,
    shape: tuple[int, ...],
    arrays: tuple[torch.Tensor, ...],
    is_param: bool,
    requires_grad: bool = False,
) -> SparseTensor:
    """Loads a saved tensor. Files name it, so it only gets arguments; they are not trusted: it validates."""
    self = wrap(layout(text, len(shape)), tuple(shape), tuple(arrays))
    core_of(self)
    self._is_param = is_param
    return self.requires_grad_(requires_grad)


torch.serialization.add_safe_globals([_rebuild_v1])


class SparseTensor(torch.Tensor):
    """A sparse tensor: a format, a shape, and plain tensors for positions, coordinates and values.

    Made by :func:`scorch.sparse`, :func:`scorch.from_components` and :func:`scorch.from_edge_index`. To
    torch it is a strided tensor of its dense shape (``numel()`` counts zeros; ``scorch.is_sparse(A)`` tells)
    without memory: ``data_ptr()`` and ``numpy()`` raise, and what has no sparse form raises
    NotImplementedError.
    """

    __array_ufunc__ = None
    __array_priority__ = 1000

    def __new__(cls, *args: object, **kwargs: object) -> SparseTensor:
        raise TypeError("use scorch.sparse(x) or scorch.from_components(...) to make a SparseTensor")

    # ---- layers of torch ----
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        handler = HANDLERS.get(func)
        if handler is not None:
            return handler(*args, **_torch.under_one_name(kwargs)) if kwargs else handler(*args)
        with _torch.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    @_torch.apart
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        handler = STRUCTURAL.get(func)
        if handler is None:
            raise NotImplementedError(
                f"{func} is not available for a SparseTensor, and nothing is computed densely instead: use "
                f"A.to_dense(), or A.values() for the stored entries; for DistributedDataParallel and "
                f"torch.func hold the values as the parameter, as scorch.nn.Linear does, or transform "
                f"a function of values, lambda v: f(scorch.map(A, lambda _: v))"
            )
        return handler(*args, **(kwargs or {}))

    def __tensor_flatten__(self) -> tuple[list[str], tuple]:
        return list(self._names), (self._fmt, self._names)

    @staticmethod
    def __tensor_unflatten__(
        inner: dict, meta: tuple, outer_size: Sequence[int], outer_stride: Sequence[int]
    ) -> SparseTensor:
        text, names = meta
        return _made(SparseTensor, text, names, tuple(outer_size), [inner[name] for name in names])

    def _stable_hash_for_caching(self) -> str:
        """What cached graphs are found by; "meta 2" counts changes of what ``__tensor_flatten__`` returns."""
        inner = [(str(a.dtype), tuple(map(str, a.shape))) for a in self._arrays()]
        facts = self._fmt, self._names, tuple(map(str, self.shape)), inner, self.requires_grad
        return f"scorch {_C.version} meta 2 {facts}"

    def __reduce_ex__(self, protocol: int) -> tuple:
        is_param = bool(self.__dict__.get("_is_param"))
        arrays = tuple([a.clone() if _torch.is_read_only(a) else a.detach() for a in self._arrays()])
        return _rebuild_v1, (self._fmt, tuple(self.shape), arrays, is_param, self.requires_grad)

    def __deepcopy__(self, memo: dict) -> SparseTensor:
        if self.requires_grad and not self.is_leaf:
            raise RuntimeError(
                "deepcopy of a SparseTensor that was computed with a gradient: detach() it first"
            )
        new = self._like([copy.deepcopy(a, memo) for a in self._arrays()])
        if "_is_param" in self.__dict__:
            new._is_param = self._is_param
        memo[id(self)] = new
        return new.requires_grad_(self.requires_grad)

    def __copy__(self) -> SparseTensor:
        return self._like(self._arrays())

    def _arrays(self) -> tuple[torch.Tensor, ...]:
        return tuple([getattr(self, name) for name in self._names])

    def _like(self, arrays: Sequence[torch.Tensor]) -> SparseTensor:
        return _made(SparseTensor, self._fmt, self._names, self._shape, arrays)

    def _with_values(self, values: torch.Tensor) -> SparseTensor:
        """This structure with other values [nnz], in storage order; padding is set to zero."""
        if "ell" in self._fmt and self.nnz:
            values = values.masked_fill(self.indices()[0] < 0, 0)
        made = assemble(layout(self._fmt, rank(self)), self._shape, (*self._arrays()[:-1], values))
        if not torch.compiler.is_dynamo_compiling() and _C.plain() and values.is_contiguous():
            made.__dict__["_core"] = core_of(self).with_values(made._val)
        return made

    # ---- what it is ----
    @property
    def format(self) -> Format:
        """The layout."""
        return Format(self._fmt)

    @property
    def nnz(self) -> int:
        """Number of stored values, explicit zeros, block fill and padding included."""
        return self._val.shape[0]

    @property
    def density(self) -> float:
        """Stored values over all entries; 0 for an empty shape."""
        n = self.numel()
        return self.nnz / n if n else 0.0

    @property
    def index_dtype(self) -> torch.dtype:
        """Type of pos and crd: torch.int32 or torch.int64."""
        return getattr(self, self._names[0]).dtype if len(self._names) > 1 else torch.int64

    @property
    def nbytes(self) -> int:
        """Bytes of the component arrays."""
        return sum(a.numel() * a.element_size() for a in self._arrays())

    def values(self) -> torch.Tensor:
        """The stored values [nnz], in storage order, on shared memory: writing there changes this tensor.

        They are differentiable where this tensor requires a gradient. Where they are those of a read-only
        array (``scorch.sparse(..., copy=False)``), torch raises RuntimeError when they are written, and for
        their address (``numpy()``, ``data_ptr()``): ``clone()`` them for that.
        """
        return _autograd.values_of(self)

    def pos(self, level: int) -> torch.Tensor:
        """Positions [parents + 1] of a compressed level, shared memory, to be read; see :meth:`crd`.

        Raises: ValueError: the level has none.
        """
        return self._component("_pos", level)

    def crd(self, level: int) -> torch.Tensor:
        """Coordinates of a level, one a position, shared memory, to be read.

        Kernels trust the structure. What torch writes to it is noticed, and looked through before the next
        use; what is written past torch is not (``.data``, ``.numpy()``, ``untyped_storage()``, the array it
        is made of) and may make kernels read and write beyond their arrays: ``SCORCH_DEBUG=validate`` looks
        before every use.

        Raises: ValueError: the level has none.
        """
        return self._component("_crd", level)

    def _component(self, kind: str, level: int) -> torch.Tensor:
        name = f"{kind}{level}"
        if name not in self._names:
            raise ValueError(
                f"level {level} of format {self._fmt} has no {kind[1:]}; there are "
                f"{', '.join(n[1:] for n in self._names)}"
            )
        return getattr(self, name).detach()

    def indices(self) -> torch.Tensor:
        """Coordinates [ndim, nnz] of the stored values, in storage order, a copy; -1 in padding."""
        if not self._ndim:
            return torch.empty((0, self.nnz), dtype=self.index_dtype)
        kinds = ["compressed(0, nonunique)"]
        kinds += [f"singleton({d}, nonunique)" for d in range(1, self._ndim)]
        form = layout(", ".join(kinds), self._ndim)
        wide, source = self.index_dtype == torch.int64, self
        if _torch.in_graph():
            from ._entries import rearranged

            _, *crd, place = rearranged(self, form.text, wide)
            found = torch.stack(crd)
            return found.new_full((self._ndim, self.nnz), -1).index_copy(1, place, found)
        if len(self._names) == 1:  # dense sources lose their zeros: number the places instead
            source = self._like([torch.arange(1, self.nnz + 1)])
        (_, _, arrays), perm = _C.convert(core_of(source), form.text, wide, True)
        found = torch.stack(arrays[1:-1])
        if source is not self:
            perm = arrays[-1] - 1
        if perm is None:
            return found
        result = found.new_full((self._ndim, self.nnz), -1)
        result[:, perm] = found
        return result

    def __repr__(self) -> str:
        shape, nnz = "x".join(str(n) for n in self.shape), self._val.shape[0]
        plain = isinstance(nnz, int) and isinstance(self.numel(), int)  # sizes may be symbols
        density = f"density={100 * self.density:.3g}%, " if plain else ""
        text = f"SparseTensor({self._fmt}, {shape}, nnz={nnz}, {density}"
        text += f"{str(self.dtype)[6:]}, {str(self.index_dtype)[6:]})"
        return ("Parameter containing:\n" if getattr(self, "_is_param", False) else "") + text

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    # ---- derived layouts ----
    def memory(self) -> dict[str, object]:
        """Bytes: ``tensor``, ``derived`` (a dictionary by format, permutations included) and ``total``.

        Layouts that calls asked for are kept up to four times the size of the tensor, the newest always.
        """
        tensor, derived = self.nbytes, {}
        core = self.__dict__.get("_core")
        derived |= dict(core.memory()[1]) if core is not None else {}
        for dims, other in self.__dict__.get("_relabelled", {}).items():
            derived |= {f"{name} of permute{dims}": n for name, n in other.memory()["derived"].items()}
        for (wide, added, _), (_, strips, place) in self.__dict__.get("_strips", {}).items():
            name = f"strips, float{64 if wide else 32}{', added' if added else ''}"
            made = sum(x.nbytes for x in (*strips[:4], place))
            derived[name] = derived.get(name, 0) + made
        return {"tensor": tensor, "derived": derived, "total": tensor + sum(derived.values())}

    def release(self) -> None:
        """Drops derived layouts; the next call that needs one makes it again."""
        if (core := self.__dict__.get("_core")) is not None:
            core.release()
        self.__dict__.pop("_relabelled", None)
        self.__dict__.pop("_strips", None)

    # ---- other layouts and types ----
    def convert(self, format: str | Format, *, index_dtype: torch.dtype | None = None) -> SparseTensor:
        """The same tensor in another format; this one if it has it already.

        Duplicates are summed where the target's levels are unique; explicit zeros stay. The result may share
        memory with this tensor (sorted COO and CSR share columns and values), as torch's ``to_sparse`` does.
        Raises: ValueError: no such format for this number of dimensions.
        """
        from ._entries import build, entries

        form = bound(format, self._ndim)
        index_dtype = index_dtype or self.index_dtype
        if form.text == self._fmt:
            return self.to(index_dtype=index_dtype)
        if _torch.in_graph():
            return build(entries(self), form.text, index_dtype)
        if _autograd.tracked(self):
            return self._convert_tracked(form, index_dtype)
        wide = index_dtype is torch.int64
        return self._carried(lambda a: _fresh(form, *_C.convert(core_of(a), form.text, wide)[1:]))

    def _convert_tracked(self, form: Layout, index_dtype: torch.dtype) -> SparseTensor:
        """convert, differentiably: the structure by the extension, the values gathered; by torch's operations
        where entries are summed or dropped."""
        from ._entries import build, entries

        wide = index_dtype == torch.int64
        (_, shape, arrays), perm = _C.convert(core_of(self), form.text, wide, True)
        values = self.values()
        if perm is None:
            return build(entries(self), "coo", index_dtype).convert(form.text, index_dtype=index_dtype)
        if values.shape[0]:
            values = torch.where(perm >= 0, values[perm.clamp(min=0)], 0)
        else:
            values = values.new_zeros(perm.shape[0])
        return assemble(form, shape, (*arrays[:-1], values))

    def _carried(self, body):
        """body(self), by way of a type that the extension can add."""
        dtype = self._val.dtype
        carrier = _CARRIER.get(dtype)
        if carrier is None:
            return body(self)
        return body(self._like((*self._arrays()[:-1], self._val.to(carrier)))).to(dtype)

    def to_dense(self, dtype: torch.dtype | None = None, *, masked_grad: bool | None = None) -> torch.Tensor:
        """The dense tensor, contiguous."""

        def spread(a: SparseTensor) -> torch.Tensor:
            return _C.convert(core_of(a), "dense", False)[2][0].view(a.shape)

        if torch.compiler.is_dynamo_compiling() or type(self._val) not in (torch.Tensor, torch.nn.Parameter):
            from ._ops import einsum

            letters = "abcdefghijklmnop"[: self._ndim]
            dense = einsum(f"{letters}->{letters}", self, format="dense")  # as a program it can be traced
        else:
            dense = self._scattered() if _autograd.tracked(self) else self._carried(spread)
        return dense if dtype is None else dense.to(dtype)

    def _scattered(self) -> torch.Tensor:
        """to_dense, differentiably."""
        indices, values = self.indices().long(), self.values()
        stored = indices[0] >= 0 if self._ndim else slice(None)
        dense = values.new_zeros(tuple(self.shape))
        return dense.index_put(tuple(indices[:, stored]), values[stored], accumulate=True)

    def coalesce(self) -> SparseTensor:
        """Sums duplicates, of bool by "or"; this tensor itself where its format has none."""
        return self if self.is_coalesced() else self.convert("coo")

    def is_coalesced(self) -> bool:
        """Whether no entry is stored twice."""
        return self._fmt == "coo" or all(level[1] for level in layout(self._fmt, self._ndim).levels)

    def to(self, *args: object, index_dtype: torch.dtype | None = None, **kwargs: object) -> SparseTensor:
        """With another dtype or index type; itself if nothing changes. Only the CPU is a device here."""
        device, dtype, copied = _torch.parse_to(*args, **kwargs)
        if device is not None and device.type != "cpu":
            raise NotImplementedError(f"scorch computes on the CPU, got device {device}")
        *structure, values = self._arrays()
        if dtype is not None and dtype.is_complex:
            raise TypeError(f"expected a real type, got {dtype}")
        if index_dtype not in (None, torch.int32, torch.int64):
            raise TypeError(f"index_dtype: expected torch.int32 or torch.int64, got {index_dtype}")
        if (
            index_dtype == torch.int32
            and self.index_dtype != torch.int32
            and max((*self.shape, self.nnz), default=0) >= 2**31
        ):
            raise ValueError("index_dtype: extents or positions do not fit in int32")
        changed = (
            copied
            or dtype not in (None, values.dtype)
            or (index_dtype not in (None, self.index_dtype) and len(structure) > 0)
        )
        if not changed:
            return self
        added = values.dtype if dtype is None else dtype
        rounded = added.is_floating_point and values.is_floating_point()
        if added != values.dtype and not rounded and not self.is_coalesced():
            return self.coalesce().to(dtype, index_dtype=index_dtype)  # a sum of casts is no cast of a sum
        arrays = [a.to(index_dtype or a.dtype, copy=copied) for a in structure]
        arrays.append(self.values().to(dtype or values.dtype, copy=copied))
        return assemble(layout(self._fmt, self._ndim), self.shape, arrays)

    def type(self, dtype: torch.dtype | str | None = None, non_blocking: bool = False) -> SparseTensor | str:
        """With values of a type; without one, the name of this tensor's."""
        if dtype is None:
            return self._val.type()
        return self.to(dtype if isinstance(dtype, torch.dtype) else torch.empty(0).type(dtype).dtype)

    def cpu(self, memory_format: torch.memory_format = torch.preserve_format) -> SparseTensor:
        """Itself."""
        return self

    def cuda(self, *args: object, **kwargs: object) -> SparseTensor:
        """Refused: scorch computes on the CPU."""
        return self.to("cuda")

    def contiguous(self, memory_format: torch.memory_format = torch.contiguous_format) -> SparseTensor:
        """Itself."""
        return self

    # ---- the order of dimensions ----
    def permute(self, *order: int, dims: Sequence[int] | None = None) -> SparseTensor:
        """Dimensions in another order: the arrays stay, their dimensions are relabelled (CSR becomes CSC)."""
        n, dims = self._ndim, _torch.one_by_one(order, dims)
        order = tuple(d + n if d < 0 else d for d in dims)
        if sorted(order) != list(range(n)):
            raise ValueError(f"permute: expected a permutation of {n} dimensions, got {tuple(dims)}")
        if n < 2:
            return self
        kept = self.__dict__.setdefault("_relabelled", {})
        if order not in kept:
            form = layout(relabelled(self._fmt, n, order), n)
            kept[order] = wrap(form, [self.shape[d] for d in order], self._arrays())
        made = kept[order]
        if not _autograd.tracked(self):
            return made
        arrays = (*made._arrays()[:-1], self.values())
        tracked = assemble(layout(made._fmt, n), made.shape, arrays)
        if _C.plain():
            tracked.__dict__["_core"] = core_of(made)
        return tracked

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """Two dimensions exchanged; zero copy."""
        order = list(range(max(self._ndim, 1)))  # a number has dimensions 0 and -1
        order[dim0], order[dim1] = order[dim1], order[dim0]
        return self.permute(*order[: self._ndim])

    def t(self) -> SparseTensor:
        """The transpose of a matrix; zero copy."""
        if self._ndim > 2:
            raise ValueError(f"t() expects at most 2 dimensions, got {self._ndim}: use permute")
        return self.permute(*reversed(range(self._ndim)))

    @property
    def T(self) -> SparseTensor:
        """Dimensions in reverse order; zero copy."""
        return self.permute(*reversed(range(self._ndim)))

    @property
    def mT(self) -> SparseTensor:
        """The last two dimensions exchanged; zero copy."""
        return self.transpose(-2, -1)

    # ---- refused or redefined ----
    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Asks for a gradient: ``A.grad`` is then a SparseTensor with the structure of A."""
        with _torch.DisableTorchFunctionSubclass():
            return super().requires_grad_(requires_grad)

    def apply_(self, *args: object, **kwargs: object) -> SparseTensor:
        """Refused: there is no dense memory to visit."""
        raise NotImplementedError("apply_ on a SparseTensor: change A.values() in place instead")

    map_ = map2_ = apply_

    def share_memory_(self) -> SparseTensor:
        """Moves the component arrays to shared memory."""
        for array in self._arrays():
            array.share_memory_()
        self.__dict__.pop("_core", None)
        return self

    def is_shared(self) -> bool:
        """Whether all component arrays are in shared memory."""
        return all(a.is_shared() for a in self._arrays())


class _OnTheWay(SparseTensor):
    """A SparseTensor made while torch.export traces.

    It follows reads of the components of SparseTensors, as it must for inputs; of this one it knows the
    arrays already, and they are read as they are.
    """

    __getattribute__ = torch.Tensor.__getattribute__


def _cast(dtype: torch.dtype):
    def cast(self: SparseTensor, memory_format: torch.memory_format | None = None) -> SparseTensor:
        return self.to(dtype)

    cast.__doc__ = f"With {str(dtype)[6:]} values."
    return cast


for _name, _dtype in {
    "float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16,
    "int": torch.int32, "long": torch.int64, "short": torch.int16, "char": torch.int8, "byte": torch.uint8,
    "bool": torch.bool,
}.items():  # fmt: skip
    setattr(SparseTensor, _name, _cast(_dtype))

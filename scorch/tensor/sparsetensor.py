"""The SparseTensor class.

A wrapper without storage around plain component tensors. Three layers answer a call: methods of the class
that need no detour (``@`` first of all), the table of torch functions, and the dispatcher, which accepts a
short list of structural operators and refuses the rest by name. Nothing falls through to a dense computation;
functions of the table that compute densely are listed there.
"""

from __future__ import annotations

import builtins
import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

import torch
from torch.compiler import is_dynamo_compiling

from .. import _C, _torch
from . import rooms
from .format import SINGLE, Format, is_row_major, layout, repeats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..functions.explanation import Explanation
    from ..tools.reorder import Reordering
    from ..tools.tune import Report
    from .declared import Declared as _Tensor
else:
    _Tensor = torch.Tensor

MATMUL, RMATMUL, LINEAR, TRANSPOSED = range(4)  # products: A @ x, x @ A, x @ A.T, A.T @ x
Block = tuple[int, int]  # rows and columns of blocks
CUT_OUT = "_cut_out"  # marks a part that torch has as a view, and that is a copy here
TURNED = "_turned"  # the order of the dimensions of one that is not contiguous where it is dense
REMADE = "_remade"  # marks a tensor that its owner makes anew at each access
HANDLERS: dict = {}  # torch function -> what it means here; filled by boundary/table.py
ALONE: set = set()  # those of them that are functions of one tensor's values, and zero at zero
TOTALS: set = set()  # those that make one number of a tensor's values, to which zeros add nothing
STRUCTURAL: dict = {}  # operator of the dispatcher -> what it means here; by boundary/dispatch.py

FOR_STEPS = "an optimizer that ends here takes foreach=False, or A.values() as its parameter"


@_torch.untraced
def made(
    kind: type, text: str, names: tuple[str, ...], shape: tuple[int, ...], arrays: Sequence[torch.Tensor]
) -> SparseTensor:
    """A tensor of the class or a subclass over component arrays named so."""
    self = _torch.new_wrapper(kind, shape, arrays[-1])
    facts = self.__dict__
    facts["_fmt"], facts["_names"], facts["_ndim"], facts["_shape"] = text, names, len(shape), shape
    facts.update(zip(names, arrays, strict=True))
    return self


def core_of(self: SparseTensor) -> _C.Core:
    """What the extension knows of this tensor; made at the first use, validating the structure."""
    core = self.__dict__.get("_core")
    if core is None:
        _torch.refuse_fake(self._val)
        made, origin = self.__dict__.pop("_made", False), self.__dict__.pop("_origin", None)
        if origin is not None:
            core = origin.with_values(self._val)
        else:
            core = _C.Core(self._fmt, self._shape, self._arrays(), True, made)
        self.__dict__["_core"] = core
    return core


def sound(self: SparseTensor) -> SparseTensor:
    """The tensor itself, for who reads pos and crd without a kernel, which looks at them by itself.

    Raises: ValueError: the structure is damaged, as it came or by what torch wrote to it since the last look.
    """
    if self.__class__ is SparseTensor and self._val.__class__ in _torch.PLAIN and not _torch.in_graph():
        core_of(self).refresh()
    return self


def users(facts: dict[str, Any]) -> dict[str, Any]:
    """What users set on a tensor of these facts; names that begin with an underscore are not theirs."""
    return {name: x for name, x in facts.items() if not name.startswith("_")}


def known_core(self: SparseTensor) -> _C.Core | None:
    """The core of this tensor, or of one with its structure; None where nothing is known of it yet."""
    return self.__dict__.get("_core") or self.__dict__.get("_origin")


def partwise(f: Callable) -> Callable:
    """f, a function of the table that takes composed tensors as they are; others get them as csr."""
    f.partwise = True
    return f


def is_sparse(x: object) -> bool:
    """Whether x is a scorch SparseTensor (``x.is_sparse`` is torch's own and stays False).

    >>> scorch.is_sparse(scorch.sparse(torch.eye(3))), scorch.is_sparse(torch.eye(3))
    (True, False)
    """
    return isinstance(x, SparseTensor)


def expect_sparse(name: str, x: object) -> None:
    """Raises TypeError where an argument is no SparseTensor."""
    if isinstance(x, SparseTensor):
        return
    if isinstance(x, torch.Tensor) and _torch.in_functorch() and _torch.is_wrapped(x):
        raise TypeError(
            f"{name}: expected a SparseTensor, got one of a batch of torch.vmap, or a dense tensor: there "
            f"SparseTensors have torch's operators alone; write the batch as an index, as in "
            f"scorch.einsum('bij,jk->bik', A, x), or map over their values"
        )
    raise TypeError(f"{name}: expected a SparseTensor, got {type(x).__name__}: call scorch.sparse first")


def rank(x: torch.Tensor) -> int:
    """The number of dimensions, which is a constant where torch.compile traces too."""
    if not hasattr(x, "dim"):
        raise TypeError(f"expected a tensor, got {type(x).__name__}: torch.as_tensor makes one of numbers")
    return x.dim()


class SparseTensor(_Tensor):
    """A sparse tensor: a format, a shape, and plain tensors for positions, coordinates and values.

    Made by :func:`scorch.sparse`, :func:`scorch.from_components` and :func:`scorch.from_edge_index`. To
    torch it is a strided tensor of its dense shape (``numel()`` counts zeros; ``scorch.is_sparse(A)`` tells)
    without memory: ``data_ptr()`` and ``numpy()`` raise, and what has no sparse form raises
    NotImplementedError.

    >>> A = scorch.sparse(torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
    >>> A
    SparseTensor(csr, 2x3, nnz=3, density=50%, float32, int32)
    >>> A @ torch.ones(3)
    tensor([2., 4.])
    """

    __array_ufunc__ = None
    __array_priority__ = 1000

    def __new__(cls, *args: object, **kwargs: object) -> SparseTensor:
        raise TypeError("use scorch.sparse(x) or scorch.from_components(...) to make a SparseTensor")

    # ---- layers of torch ----
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if not kwargs and len(args) == 1 and not is_dynamo_compiling():
            made = NotImplemented
            if func in ALONE:
                made = _C.on_values(func, args[0])
            elif func in TOTALS:
                made = _C.of_values(func, args[0])
            if made is not NotImplemented:
                return made
        if len(types) > 1 and _torch.are_others(types):
            return NotImplemented
        handler = HANDLERS.get(func)
        if handler is not None:
            return handler(*args, **_torch.under_one_name(kwargs)) if kwargs else handler(*args)
        with _torch.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    @_torch.apart
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        handler = STRUCTURAL.get(func) or rooms.below.handler_of(func)
        if func._schema.is_mutable:
            _torch.hand_out()  # below autograd, which counts what is written
        if handler is None:
            of_lists = func._opname.startswith("_foreach_")
            raise NotImplementedError(
                f"{func} is not available for a SparseTensor, and nothing is computed densely instead: use "
                f"A.to_dense(), or A.values() for the stored entries; "
                f"{f'{FOR_STEPS}; ' if of_lists else ''}torch.func transforms a function of "
                f"values, lambda v: f(scorch.map(A, lambda _: v))"
            )
        return handler(*args, **(kwargs or {}))

    @property
    def _is_param(self) -> builtins.bool:
        return self.__dict__.get("_is_param", False)

    @_is_param.setter
    def _is_param(self, value: builtins.bool) -> None:
        """What torch.nn.Parameter says; dynamo cannot trace a step over a parameter of dynamic lengths."""
        self.__dict__["_is_param"] = value
        for mark in (CUT_OUT, TURNED):  # a parameter stands for itself
            self.__dict__.pop(mark, None)
        for array in self._arrays():
            _torch.unmark_dynamic(array)

    def __tensor_flatten__(self) -> tuple[list[str], tuple]:
        _torch.give_away(self._val)
        return list(self._names), (self._fmt, self._names)

    @staticmethod
    def __tensor_unflatten__(
        inner: dict, meta: tuple, outer_size: Sequence[builtins.int], outer_stride: Sequence[builtins.int]
    ) -> SparseTensor:
        text, names = meta
        return made(SparseTensor, text, names, tuple(outer_size), [inner[name] for name in names])

    def _stable_hash_for_caching(self) -> str:
        """What cached graphs are found by; "meta 6" counts changes of what they are made of."""
        inner = [(str(a.dtype), tuple(map(str, a.shape))) for a in self._arrays()]
        facts = self._fmt, self._names, tuple(map(str, self.shape)), inner, self.requires_grad
        return f"scorch {_C.version} meta 6 {facts}"

    def __reduce_ex__(self, protocol: builtins.int) -> tuple:
        _torch.hand_out()
        arrays = tuple([a.clone() if _torch.is_read_only(a) else a.detach() for a in self._arrays()])
        facts = self._fmt, tuple(self.shape), arrays, self._is_param, self.requires_grad
        set_by_users = users(self.__dict__)
        return rooms.saved._rebuild_v1, (*facts, set_by_users) if set_by_users else facts

    def __deepcopy__(self, memo: dict) -> SparseTensor:
        if self.requires_grad and not self.is_leaf:
            raise RuntimeError(
                "deepcopy of a SparseTensor that was computed with a gradient: detach() it first"
            )
        new = self._like([copy.deepcopy(a, memo) for a in self._arrays()])
        memo[id(self)] = new
        new.requires_grad_(self.requires_grad)
        if self._is_param:
            new._is_param = True
            return new  # nor does torch.nn.Parameter copy what follows
        if self.grad is not None:
            new.grad = copy.deepcopy(self.grad, memo)
        new.__dict__.update(copy.deepcopy(users(self.__dict__), memo))
        return new

    def __copy__(self) -> SparseTensor:
        new = self._like(self._arrays())
        new.__dict__.update(users(self.__dict__))
        return new

    def _arrays(self) -> tuple[torch.Tensor, ...]:
        return tuple([getattr(self, name) for name in self._names])

    def _like(self, arrays: Sequence[torch.Tensor]) -> SparseTensor:
        return made(SparseTensor, self._fmt, self._names, self._shape, arrays)

    def _with_values(self, values: torch.Tensor) -> SparseTensor:
        """This structure with other values [nnz], in storage order; padding is set to zero."""
        if values.is_complex():
            raise TypeError(f"expected values of a real type, got {values.dtype}: use A.to_dense()")
        values = rooms.values.filled(values, rooms.values.padding(self), 0)
        if not is_dynamo_compiling() and rooms.values.is_plain(values) and values.is_contiguous():
            return rooms.values.renewed(self, values)
        arrays = (*self._arrays()[:-1], values)
        return rooms.values.assemble(layout(self._fmt, rank(self)), self._shape, arrays)

    # ---- what it is ----
    # torch would ask the table for the first five, a microsecond each. What as_subclass makes knows none.
    @property
    def shape(self) -> torch.Size:
        """The extents [ndim], zeros included."""
        shape = None if is_dynamo_compiling() else self.__dict__.get("_shape")
        return torch.Tensor.shape.__get__(self) if shape is None else torch.Size(shape)

    @property
    def dtype(self) -> torch.dtype:
        """The type of the values."""
        values = None if is_dynamo_compiling() else self.__dict__.get("_val")
        return torch.Tensor.dtype.__get__(self) if values is None else values.dtype

    @property
    def ndim(self) -> builtins.int:
        """The number of dimensions."""
        return self.dim()

    def dim(self) -> builtins.int:
        """The number of dimensions."""
        n = None if is_dynamo_compiling() else self.__dict__.get("_ndim")
        if n is not None:
            return n
        with _torch.DisableTorchFunctionSubclass():
            return torch.Tensor.dim(self)

    @overload
    def size(self, dim: None = None) -> torch.Size: ...
    @overload
    def size(self, dim: builtins.int) -> builtins.int: ...
    def size(self, dim: builtins.int | None = None) -> torch.Size | builtins.int:
        """The extents, or that of one dimension."""
        if dim is None:
            return self.shape
        shape = None if is_dynamo_compiling() else self.__dict__.get("_shape")
        if shape is not None and dim.__class__ is builtins.int and -len(shape) <= dim < len(shape):
            return shape[dim]
        with _torch.DisableTorchFunctionSubclass():
            return torch.Tensor.size(self, dim)

    @property
    def format(self) -> Format:
        """The layout."""
        return Format(self._fmt)

    @property
    def layout(self) -> torch.layout:
        """The layout of torch with the arrays of this format, ``torch.strided`` where there is none.

        torch's own code, which looks for what a layout of its own has in C, reads strided of all formats.
        """
        if _torch.asked_by_torch():
            return torch.strided
        return rooms.layouts.TORCHS.get(self._fmt.partition("(")[0], torch.strided)

    @property
    def nnz(self) -> builtins.int:
        """Number of stored values, explicit zeros, block fill and padding included.

        A plain integer: torch.compile makes a guard of it, and takes one of another type for another number.
        It knows none of a tensor that is made in its graph, and breaks it: use ``values().shape[0]``.
        """
        n = self._val.shape[0]
        if isinstance(n, torch.SymInt) and n.node.hint is None:
            raise NotImplementedError("nnz: not known in a graph: use values().shape[0]")
        return n

    @property
    def density(self) -> builtins.float:
        """Stored values over all entries; 0 for an empty shape."""
        n = self.numel()
        return self.nnz / n if n else 0.0

    @property
    def parts(self) -> tuple[SparseTensor, ...]:
        """The tensors whose sum this is: those of a composed format, and otherwise this one alone."""
        return (self,)

    def _whole(self) -> SparseTensor:
        """This tensor in levels; a composed one as csr."""
        return self

    @property
    def index_dtype(self) -> torch.dtype:
        """Type of pos and crd: torch.int32 or torch.int64."""
        return getattr(self, self._names[0]).dtype if len(self._names) > 1 else torch.int64

    @property
    def nbytes(self) -> builtins.int:
        """Bytes of the component arrays."""
        return sum(a.numel() * a.element_size() for a in self._arrays())

    def values(self) -> torch.Tensor:
        """The stored values [nnz], in storage order, on shared memory: writing there changes this tensor.

        They are differentiable where this tensor requires a gradient. Where they are those of a read-only
        array (``scorch.sparse(..., copy=False)``), torch raises RuntimeError when they are written, and for
        their address (``numpy()``, ``data_ptr()``): ``clone()`` them for that.

        >>> scorch.sparse(torch.tensor([[0.0, 2.0], [1.0, 0.0]])).values()
        tensor([2., 1.])
        """
        return rooms.values.values_of(self)

    def pos(self, level: builtins.int) -> torch.Tensor:
        """Positions [parents + 1] of a compressed level, shared memory, to be read; see :meth:`crd`.

        Raises: ValueError: the level has none.
        """
        return self._component("_pos", level)

    def crd(self, level: builtins.int) -> torch.Tensor:
        """Coordinates of a level, one a position, shared memory, to be read.

        Kernels trust the structure. What torch writes to it is noticed, and looked through before the next
        use; what is written past torch is not (``.data``, ``.numpy()``, ``untyped_storage()``, the array it
        is made of) and may make kernels read and write beyond their arrays: ``SCORCH_DEBUG=validate`` looks
        before every use.

        Raises: ValueError: the level has none.
        """
        return self._component("_crd", level)

    def _component(self, kind: str, level: builtins.int) -> torch.Tensor:
        name = f"{kind}{level}"
        if name not in self._names:
            raise ValueError(
                f"level {level} of format {self._fmt} has no {kind[1:]}; there are "
                f"{', '.join(n[1:] for n in self._names)}"
            )
        return getattr(self, name).detach()

    def indices(self) -> torch.Tensor:
        """Coordinates [ndim, nnz] of the stored values, in storage order, a copy; -1 in padding.

        >>> scorch.sparse(torch.tensor([[0.0, 2.0], [1.0, 0.0]])).indices()
        tensor([[0, 1],
                [1, 0]], dtype=torch.int32)
        """
        return rooms.conversion.indices(self)

    def __repr__(self) -> str:
        shape, nnz = "x".join(str(n) for n in self.shape), self._val.shape[0]
        plain = isinstance(nnz, int) and isinstance(self.numel(), int)  # sizes may be symbols
        density = f"density={100 * self.density:.3g}%, " if plain else ""
        text = f"SparseTensor({self._fmt}, {shape}, nnz={nnz}, {density}"
        text += f"{str(self.dtype)[6:]}, {str(self.index_dtype)[6:]})"
        return ("Parameter containing:\n" if self._is_param else "") + text

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def _repr_html_(self) -> str:
        """What a notebook shows: format, shape, entries, bytes, and a small picture of where entries are."""
        return rooms.pictures.html_of(self)

    def spy(
        self, ax: Axes | None = None, *, pixels: builtins.int = 512, colours: Sequence[str] | None = None
    ) -> Axes:
        """Draws where entries are, with matplotlib: each part of a composed format in a colour of its own.

        A pixel of a large tensor is as dark as its part of the tensor is dense, and never so faint that a
        single entry is lost; nothing is made dense for it. Stored zeros count, what fills blocks too, padding
        does not. A vector is one row; of more than two dimensions the last two are drawn, all others laid
        over each other.

        Args:
            ax: where to draw; a new figure otherwise.
            pixels: at most so many a side.
            colours: of the parts, as matplotlib writes colours.

        Returns:
            The axes.

        Raises: ImportError: matplotlib is not installed. ValueError: pixels is less than 1.

        >>> ax = scorch.sparse(torch.eye(30), format="bsr(5,5)").spy()
        >>> ax.get_title()
        'bsr(5,5), 30x30, 150 stored'
        """
        return rooms.pictures.spy(self, ax, pixels=pixels, colours=colours)

    # ---- derived layouts ----
    def memory(self) -> dict[str, object]:
        """Bytes: ``tensor``, ``derived`` (a dictionary by format, permutations included) and ``total``.

        Layouts that calls asked for are kept up to four times the size of the tensor, the newest always;
        structures of products with other sparse matrices up to 32 times that of both.

        >>> scorch.sparse(torch.eye(4)).memory()
        {'tensor': 52, 'derived': {}, 'total': 52}
        """
        return rooms.plan.memory(self)

    def release(self) -> None:
        """Drops derived layouts; the next call that needs one makes it again."""
        if (core := known_core(self)) is not None:
            core.release()
        for name in ("_relabelled", "_strips", "_derived"):
            self.__dict__.pop(name, None)

    def plan(self, columns: builtins.int = 1) -> Explanation:
        """How ``A @ x`` for x with this many columns would run: formats, loops with reasons, and the way.

        Raises: ValueError: A has less than two dimensions, or columns is no number of them.

        >>> A = scorch.sparse(torch.eye(4))
        >>> A.plan(columns=8).steps[0].text
        'out[i,k] = A[i,j] * B[j,k]'
        """
        return rooms.plan.plan(self, columns)

    def optimize(
        self,
        calls: builtins.int | Sequence[Callable[[SparseTensor], object]],
        *,
        format: str | Format | Sequence[str | Format] | None = None,
    ) -> SparseTensor:
        """Makes products with A fast that will be many; returns A, or A in a faster format if that is asked.

        Scorch counts products, and after a while uses layouts of A that take time to build but pay off. This
        says at once that they will. Each call runs on A, once, three times if it multiplies A with a sparse
        matrix, or a dozen times if A has so few zeros that it may be faster as a dense one: its kernels are
        found or compiled, and the layouts derived from A and the structures of sparse products are built and
        kept. A number says how many products will come; from 16 on the next
        ones build what they need, and attention under A looks at once for rows that see the same columns.
        ``A.memory()`` tells what layouts take, at most four times A, and ``A.release()`` drops them.

        format: one to try, several, or "auto": those that the entries of a matrix suggest, blocks, slices of
            diagonals and compositions of parts among them. The calls race in all of them, for ten seconds at
            most; what is returned is A itself unless another format was faster by 3 % in two rounds, one of
            several parts faster than the best of the others.

        Raises: ValueError: a format is to be chosen by a number of calls, or of a tensor that requires a
            gradient; or a number is negative. TypeError: calls is no number and no list of functions.

        >>> A, x = scorch.sparse(torch.eye(3)), torch.ones(3, 2)
        >>> A.optimize(calls=[lambda A: A @ x, lambda A: A.T @ x]) is A
        True
        >>> A.optimize(calls=1000) is A
        True
        >>> A.optimize(calls=[lambda A: A @ x], format="auto").format
        scorch.Format('csr')
        """
        return rooms.plan.optimize(self, calls, format)

    def tune(self, call: Callable[[SparseTensor], object], seconds: builtins.float = 5.0) -> Report:
        """Measures schedules and layouts of all that a function asks for, on A, and keeps what is faster.

        The function is called many times, returns what can be compared and leaves no trace. See
        :func:`scorch.tune`.

        >>> A, x = scorch.sparse(torch.eye(100)), torch.rand(100, 16)
        >>> A.tune(lambda A: A @ x, seconds=0.1).gain >= 1
        True
        """
        return rooms.tune.tune_call(self, call, seconds)

    def reorder(
        self,
        method: str | tuple[torch.Tensor, torch.Tensor] = "degree",
        *,
        symmetric: builtins.bool | None = None,
    ) -> Reordering:
        """The matrix with its rows and columns in another order: :func:`scorch.reorder`."""
        return rooms.reorder.reorder(self, method, symmetric=symmetric)

    def submatrix(self, rows: object, cols: object) -> SparseTensor:
        """The matrix [len(rows), len(cols)] of these rows and columns, in this order, in this format.

        Entry (i, j) is that at (rows[i], cols[j]). Rows and columns are vectors of integers, which may repeat
        and count from the end below zero, masks, slices, or None for all. In csr and csc what is read is the
        rows, or columns, that are asked for. Gradients flow to the values.

        >>> A = scorch.sparse(torch.arange(12.0).view(3, 4))
        >>> A.submatrix(torch.tensor([2, 0]), torch.tensor([3, 1, 3])).to_dense().tolist()
        [[11.0, 9.0, 11.0], [3.0, 1.0, 3.0]]

        Raises: ValueError: no matrix. IndexError: one is out of range, or no such index.
        """
        return rooms.index.submatrix(self, rows, cols)

    # ---- other layouts and types ----
    def convert(self, format: str | Format, *, index_dtype: torch.dtype | None = None) -> SparseTensor:
        """The same tensor in another format; this one if it has it already.

        Duplicates are summed where the target's levels are unique; explicit zeros stay. The result may share
        memory with this tensor (sorted COO and CSR share columns and values), as torch's ``to_sparse`` does.
        A composed format, ``"bsr(8,8) of blocks(8,8,0.5) + csr"``, stores parts in formats of their own.
        Raises: ValueError: no such format for this number of dimensions.

        >>> scorch.sparse(torch.eye(4)).convert("bsr(2,2)").nnz
        8
        """
        return rooms.conversion.convert(self, format, index_dtype)

    def to_dense(
        self, dtype: torch.dtype | None = None, *, masked_grad: builtins.bool | None = None
    ) -> torch.Tensor:
        """The dense tensor, contiguous.

        >>> scorch.sparse(torch.eye(2)).to_dense()
        tensor([[1., 0.],
                [0., 1.]])
        """
        return rooms.conversion.to_dense(self, dtype)

    def to_torch(
        self,
        layout: torch.layout = torch.sparse_csr,
        blocksize: Block | None = None,
        dense_dim: builtins.int | None = None,
    ) -> torch.Tensor:
        """The tensor in a layout of torch; memory is shared where the format is that layout."""
        return rooms.layouts.to_torch(self, layout, blocksize, dense_dim)

    def to_sparse(
        self,
        sparse_dim: builtins.int | None = None,
        *,
        layout: torch.layout | None = None,
        blocksize: Block | None = None,
        dense_dim: builtins.int | None = None,
    ) -> torch.Tensor:
        """The tensor in a sparse layout of torch, COO by default; dense dimensions come last."""
        return rooms.layouts.to_sparse(self, sparse_dim, layout, blocksize, dense_dim)

    def to_sparse_coo(self) -> torch.Tensor:
        """The COO tensor of torch, coalesced."""
        return rooms.layouts.to_coo(self)

    def to_sparse_csr(self, dense_dim: builtins.int | None = None) -> torch.Tensor:
        """The tensor in torch.sparse_csr; as :meth:`to_torch`."""
        return self.to_torch(torch.sparse_csr, None, dense_dim)

    def to_sparse_csc(self, dense_dim: builtins.int | None = None) -> torch.Tensor:
        """The tensor in torch.sparse_csc; as :meth:`to_torch`."""
        return self.to_torch(torch.sparse_csc, None, dense_dim)

    def to_sparse_bsr(
        self,
        blocksize: Block | None = None,
        dense_dim: builtins.int | None = None,
    ) -> torch.Tensor:
        """The tensor in torch.sparse_bsr; as :meth:`to_torch`."""
        return self.to_torch(torch.sparse_bsr, blocksize, dense_dim)

    def to_sparse_bsc(
        self,
        blocksize: Block | None = None,
        dense_dim: builtins.int | None = None,
    ) -> torch.Tensor:
        """The tensor in torch.sparse_bsc; as :meth:`to_torch`."""
        return self.to_torch(torch.sparse_bsc, blocksize, dense_dim)

    def to_scipy(self) -> Any:
        """The nearest sparse array of SciPy (csr, csc, bsr, else coo), sharing memory if it can."""
        return rooms.layouts.to_scipy(self)

    def coalesce(self) -> SparseTensor:
        """With duplicates summed, of bool by "or", and ``indices()`` in row-major order, as torch has them.

        This tensor itself where its format has them so; else csr, dcsr where csr has far more positions, csf,
        or coo where it is a list.
        """
        a = self._unique()
        return a if is_row_major(a._fmt, a._ndim) else rooms.layouts.in_row_major(a)

    def is_coalesced(self) -> builtins.bool:
        """Whether no entry is stored twice, and ``indices()`` come in row-major order."""
        return self._is_unique() and is_row_major(self._fmt, self._ndim)

    def _unique(self) -> SparseTensor:
        """With duplicates summed; this tensor itself where there are none."""
        return self if self._is_unique() else self.convert("coo")

    def _is_unique(self) -> builtins.bool:
        """Whether no entry is stored twice."""
        return not repeats(self._fmt)

    def to(self, *args: Any, index_dtype: torch.dtype | None = None, **kwargs: Any) -> SparseTensor:
        """With another dtype or index type; itself if nothing changes. Only the CPU is a device here."""
        device, dtype, copied = _torch.parse_to(*args, **kwargs)
        if device is not None and device.type != "cpu":
            raise NotImplementedError(f"scorch computes on the CPU, got device {device}")
        return rooms.conversion.to(self, dtype, index_dtype, copied)

    def type(
        self, dtype: torch.dtype | str | None = None, non_blocking: builtins.bool = False
    ) -> SparseTensor | str:
        """With values of a type; without one, the name of this tensor's."""
        if dtype is None:
            return self._val.type()
        return self.to(
            dtype if isinstance(dtype, torch.dtype) else torch.empty(0, device="cpu").type(dtype).dtype
        )

    def cpu(self, memory_format: torch.memory_format = torch.preserve_format) -> SparseTensor:
        """Itself."""
        return self

    def cuda(self, *args: object, **kwargs: object) -> SparseTensor:
        """Refused: scorch computes on the CPU."""
        return self.to("cuda")

    def contiguous(self, memory_format: torch.memory_format = torch.contiguous_format) -> SparseTensor:
        """Itself; of a transpose, and of a part that is a copy, one with values of its own."""
        if is_dynamo_compiling() or not {CUT_OUT, TURNED} & self.__dict__.keys():
            return self
        return self._with_values(self.values().clone())

    def float(self, memory_format: torch.memory_format | None = None) -> SparseTensor:
        """With float32 values."""
        return self.to(torch.float32)

    def double(self, memory_format: torch.memory_format | None = None) -> SparseTensor:
        """With float64 values."""
        return self.to(torch.float64)

    def half(self, memory_format: torch.memory_format | None = None) -> SparseTensor:
        """With float16 values."""
        return self.to(torch.float16)

    def bfloat16(self, memory_format: torch.memory_format | None = None) -> SparseTensor:
        """With bfloat16 values."""
        return self.to(torch.bfloat16)

    def int(self, memory_format: torch.memory_format | None = None) -> SparseTensor:
        """With int32 values."""
        return self.to(torch.int32)

    def long(self, memory_format: torch.memory_format | None = None) -> SparseTensor:
        """With int64 values."""
        return self.to(torch.int64)

    def short(self, memory_format: torch.memory_format | None = None) -> SparseTensor:
        """With int16 values."""
        return self.to(torch.int16)

    def char(self, memory_format: torch.memory_format | None = None) -> SparseTensor:
        """With int8 values."""
        return self.to(torch.int8)

    def byte(self, memory_format: torch.memory_format | None = None) -> SparseTensor:
        """With uint8 values."""
        return self.to(torch.uint8)

    def bool(self, memory_format: torch.memory_format | None = None) -> SparseTensor:
        """With bool values."""
        return self.to(torch.bool)

    # ---- the order of dimensions ----
    def permute(self, *order: builtins.int, dims: Sequence[builtins.int] | None = None) -> SparseTensor:
        """Dimensions in another order: the arrays stay, their dimensions are relabelled (CSR becomes CSC)."""
        return rooms.conversion.permute(self, _torch.one_by_one(order, dims))

    def transpose(self, dim0: builtins.int, dim1: builtins.int) -> SparseTensor:
        """Two dimensions exchanged; zero copy."""
        order = list(range(max(self._ndim, 1)))  # a number has dimensions 0 and -1
        dim0, dim1 = (rooms.index.axis(d, self._ndim) for d in (dim0, dim1))
        order[dim0], order[dim1] = order[dim1], order[dim0]
        return rooms.conversion.permute(self, tuple(order[: self._ndim]))

    def t(self) -> SparseTensor:
        """The transpose of a matrix; zero copy."""
        if self._ndim > 2:
            raise ValueError(f"t() expects at most 2 dimensions, got {self._ndim}: use permute")
        return self.T

    @property
    def T(self) -> SparseTensor:
        """Dimensions in reverse order; zero copy."""
        return rooms.conversion.permute(self, tuple(range(self._ndim))[::-1])

    @property
    def mT(self) -> SparseTensor:
        """The last two dimensions exchanged; zero copy."""
        return self.transpose(-2, -1)

    # ---- operators: what they mean is in functions/pointwise.py and functions/products.py ----
    # They return what they declare in every sparse format; of format dense they may return plain tensors.
    def __matmul__(self, other: Any) -> torch.Tensor:
        """The product with a tensor, an array or a list; batch dimensions broadcast, types promote."""
        if not is_dynamo_compiling():
            y = rooms.multiply.fast_product(self, other, MATMUL)
            if y is not NotImplemented:
                return y
        return rooms.products.operator(self, other, MATMUL)

    def __rmatmul__(self, other: Any) -> torch.Tensor:
        """As ``@``, from the right."""
        if not is_dynamo_compiling():
            y = rooms.multiply.fast_product(self, other, RMATMUL)
            if y is not NotImplemented:
                return y
        return rooms.products.operator(self, other, RMATMUL)

    def __mul__(self, other: Any) -> SparseTensor:
        return rooms.pointwise.BINARY["mul"](self, other)

    def __rmul__(self, other: Any) -> SparseTensor:
        return rooms.pointwise.BINARY["mul"](self, other)

    def __truediv__(self, other: Any) -> SparseTensor:
        return rooms.pointwise.BINARY["div"](self, other)

    def __rtruediv__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["div"](other, self)

    def __floordiv__(self, other: Any) -> SparseTensor:
        return rooms.pointwise.BINARY["floor_divide"](self, other)

    def __rfloordiv__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["floor_divide"](other, self)

    def __mod__(self, other: Any) -> SparseTensor:
        return rooms.pointwise.BINARY["remainder"](self, other)

    def __rmod__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["remainder"](other, self)

    def __and__(self, other: Any) -> SparseTensor:
        return rooms.pointwise.BINARY["bitwise_and"](self, other)

    def __rand__(self, other: Any) -> SparseTensor:
        return rooms.pointwise.BINARY["bitwise_and"](other, self)

    @overload
    def __add__(self, other: SparseTensor) -> SparseTensor: ...
    @overload
    def __add__(self, other: Any) -> torch.Tensor: ...
    def __add__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["add"](self, other)

    def __radd__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["add"](other, self)

    @overload
    def __sub__(self, other: SparseTensor) -> SparseTensor: ...
    @overload
    def __sub__(self, other: Any) -> torch.Tensor: ...
    def __sub__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["sub"](self, other)

    def __rsub__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["sub"](other, self)

    @overload
    def __or__(self, other: SparseTensor) -> SparseTensor: ...
    @overload
    def __or__(self, other: Any) -> torch.Tensor: ...
    def __or__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["bitwise_or"](self, other)

    def __ror__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["bitwise_or"](other, self)

    @overload
    def __xor__(self, other: SparseTensor) -> SparseTensor: ...
    @overload
    def __xor__(self, other: Any) -> torch.Tensor: ...
    def __xor__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["bitwise_xor"](self, other)

    def __rxor__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["bitwise_xor"](other, self)

    @overload
    def __ne__(self, other: SparseTensor) -> SparseTensor: ...
    @overload
    def __ne__(self, other: Any) -> torch.Tensor: ...
    def __ne__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["ne"](self, other)

    @overload
    def __lt__(self, other: SparseTensor) -> SparseTensor: ...
    @overload
    def __lt__(self, other: Any) -> torch.Tensor: ...
    def __lt__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["lt"](self, other)

    @overload
    def __gt__(self, other: SparseTensor) -> SparseTensor: ...
    @overload
    def __gt__(self, other: Any) -> torch.Tensor: ...
    def __gt__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["gt"](self, other)

    def __eq__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["eq"](self, other)

    def __le__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["le"](self, other)

    def __ge__(self, other: Any) -> torch.Tensor:
        return rooms.pointwise.BINARY["ge"](self, other)

    __hash__ = torch.Tensor.__hash__

    # ---- refused or redefined ----
    def requires_grad_(self, requires_grad: builtins.bool = True) -> SparseTensor:
        """Asks for a gradient: ``A.grad`` is then a SparseTensor with the structure of A."""
        if _torch.in_functorch() and _torch.is_wrapped(self._val):
            self._val.requires_grad_(requires_grad)
            return self
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

    def is_shared(self) -> builtins.bool:
        """Whether all component arrays are in shared memory."""
        return all(a.is_shared() for a in self._arrays())


_torch.entries(vars(SparseTensor))
_torch.adopt(SparseTensor, lambda *call: rooms.derivatives.on_values(*call), core_of, SINGLE)
_torch.refuse_scripts(SparseTensor)

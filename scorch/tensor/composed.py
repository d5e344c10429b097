"""Composed tensors: matrices that are the sum of parts, each in a format of its own.

A composed tensor is a SparseTensor whose format lists parts. Its arrays are the structures of the parts one
after the other, and one array of values, of which each part has a slice: what works on values, and on arrays
without looking at them, needs nothing of its own. Expressions are taken apart in functions/parts.py. What
reads entries by their coordinates gets the tensor as csr.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence

import torch

from .. import _torch
from . import rooms
from .entries import Entries, add_up, build, canonical, find, is_longer, places, ravel, runs, unravel
from .format import MOST, Format, Layout, arrays, bound, composed_of, fills, layout, pads, repeats
from .rules import Left
from .sparsetensor import HANDLERS, SparseTensor, core_of, made
from .values import assemble, bytes_kept, in_a_row, tracked, versions

_WHOLE = "to_dense to_torch to_sparse to_sparse_coo to_scipy reorder"  # methods that begin with csr


# ---- arrays ----
def _structures(form: Layout, arrays: Sequence[torch.Tensor]) -> list[Sequence[torch.Tensor]]:
    """Those of each part."""
    found, at = [], 0
    for part in form.parts:
        n = len(part.names) - 1
        found.append(arrays[at : at + n])
        at += n
    return found


def _length(pos: torch.Tensor) -> int:
    """How many values the last number of pos says; traced, the size of an array of them."""
    return runs(pos[-1:])[1].shape[0] if _torch.is_compiling() else int(pos[-1])


def _count(part: Layout, shape: Sequence[int], structure: Sequence[torch.Tensor]) -> int:
    """How many values a part stores."""
    n, at = 1, 0
    for kind, _, dim, half, block, width in part.levels:
        if kind == "compressed":
            n = structure[at + 1].shape[0]
        elif not arrays(kind):
            n = n * (shape[dim], -(-shape[dim] // max(block, 1)), block)[half]
        elif kind == "ell":
            n = n * width
        elif kind == "diagonals":
            n = structure[at + 1].shape[0] // 2 * width
        elif kind == "sell":
            n = structure[at + 1].shape[0] // (width + 1) * width
        elif kind == "bitmask":
            n = _length(structure[at])
        at += arrays(kind)
    return n


def _slices(a: Composed, values: torch.Tensor) -> list[torch.Tensor]:
    """The values of each part."""
    form, at, found = layout(a._fmt, 2), 0, []
    structures = _structures(form, a._arrays()[:-1])
    for part, structure in zip(form.parts[:-1], structures, strict=False):
        n = _count(part, a._shape, structure)
        if not _torch.in_graph() and not 0 <= n <= values.shape[0] - at:  # of a damaged file
            raise ValueError(
                f"{a._fmt}: expected {n} values of {part.text} from {at} on, got {values.shape[0]} of all "
                "parts: save the tensor anew"
            )
        found.append(values.narrow(0, at, n))
        at = at + n
    return [*found, values.narrow(0, at, values.shape[0] - at)]


def _stored(a: SparseTensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Keys of the stored values, and the places of those that are not padding (None: all)."""
    indices = a.indices().long()
    there = places(indices[0] >= 0) if pads(a._fmt) else None
    return ravel(indices if there is None else indices[:, there], a._shape), there


class Composed(SparseTensor):
    """A matrix that is the sum of its parts; see :func:`scorch.parts` and ``SparseTensor.convert``."""

    # ---- layers of torch ----
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if len(types) > 1 and _torch.are_others(types):
            return NotImplemented
        handler = HANDLERS.get(func)
        method = getattr(handler, "method", None)
        if method and args and isinstance(args[0], Composed):
            return getattr(args[0], method)(*args[1:], **(kwargs or {}))
        if handler is not None and not getattr(handler, "partwise", False):
            kwargs = kwargs or {}
            args, kwargs = whole(args), {k: x if k == "out" else whole(x) for k, x in kwargs.items()}
        return SparseTensor.__torch_function__(func, types, args, kwargs)

    @staticmethod
    def __tensor_unflatten__(
        inner: dict, meta: tuple, outer_size: Sequence[builtins.int], outer_stride: Sequence[builtins.int]
    ) -> Composed:
        text, names = meta
        return made(Composed, text, names, tuple(outer_size), [inner[name] for name in names])

    def _like(self, arrays: Sequence[torch.Tensor]) -> Composed:
        return made(Composed, self._fmt, self._names, self._shape, arrays)

    def _with_values(self, values: torch.Tensor) -> Composed:
        values = rooms.values.filled(values, rooms.values.padding(self), 0)
        arrays = (*self._arrays()[:-1], values)
        new = rooms.values.assemble(layout(self._fmt, 2), self._shape, arrays)
        if not _torch.is_compiling() and "_slots" in self.__dict__:
            new.__dict__["_slots"] = self.__dict__["_slots"]
        return new

    # ---- parts ----
    @property
    def parts(self) -> tuple[SparseTensor, ...]:
        """The parts, whose sum this is, over the memory of the values; differentiable where this is."""
        if _torch.in_graph():
            return tuple(self._assembled(self.values()))
        pieces = self.__dict__.get("_pieces")
        if pieces is None:
            with _torch.plainly():
                pieces = self.__dict__["_pieces"] = tuple(self._assembled(self._val.detach()))
        if not tracked(self):
            return pieces
        made = []
        for piece, own in zip(pieces, _slices(self, self.values()), strict=True):
            made.append(piece._with_values(own))
        return tuple(made)

    def _assembled(self, values: torch.Tensor) -> list[SparseTensor]:
        form = layout(self._fmt, 2)
        each = zip(form.parts, _structures(form, self._arrays()[:-1]), _slices(self, values), strict=True)
        return [assemble(part, self._shape, (*structure, own)) for part, structure, own in each]

    def _whole(self) -> SparseTensor:
        """This tensor as csr, or dcsr of far too many rows, differentiably."""
        values = self.values()
        if _torch.in_graph():
            key, there = _stored(self)
            indices = unravel(key, self._shape)
            kept = values if there is None else values[there]
            return build(canonical(self._shape, indices, kept), "csr", self.index_dtype)
        pattern, slot, _ = self._merged()
        return pattern._with_values(add_up(values, slot, pattern.nnz + 1)[:-1])

    def _merged(self) -> tuple[SparseTensor, torch.Tensor, builtins.bool]:
        """The structure of the whole, the value of it that each stored value goes to, padding being behind
        all, and whether no two go to one."""
        structure, written = self._arrays()[:-1], versions(self)
        kept = self.__dict__.get("_slots")
        if kept is None or kept[0] != written:
            with _torch.plainly():
                for part in self.parts:  # a file may have brought any structure
                    core_of(part)
                values = torch.empty(self._val.shape[0], dtype=self._val.dtype, device="cpu")
                found, there = _stored(self._like((*structure, values)))
                key, slot = torch.unique(found, return_inverse=True)
                e = Entries(self._shape, unravel(key, self._shape), values.new_zeros(len(key)))
                far = is_longer(self._shape[0], len(key))  # rows, nearly all of them empty
                pattern = build(e, "dcsr" if far else "csr", self.index_dtype)
                if there is not None:
                    slot = torch.full((self.nnz,), len(key), device="cpu").index_copy(0, there, slot)
            kept = self.__dict__["_slots"] = (written, pattern, slot, len(key) == len(found))
        return kept[1:]

    # ---- what it is ----
    def pos(self, level: builtins.int) -> torch.Tensor:
        """Refused: each part has levels of its own."""
        raise ValueError(f"pos and crd of {self._fmt}: each part has its own, A.parts[0].pos(level)")

    crd = pos

    def indices(self) -> torch.Tensor:
        """Coordinates [2, nnz] of the stored values, part by part, a copy; -1 in padding."""
        return torch.cat([part.indices().to(self.index_dtype) for part in self.parts], 1)

    def _is_unique(self) -> builtins.bool:
        """Whether no entry is stored twice; where torch.compile traces, whether no format of parts stores
        one that another part may store."""
        form = layout(self._fmt, 2)
        if repeats(self._fmt):
            return False
        others = any(map(fills, form.parts[1:])) or form.parts[0].is_dense  # which has all, taken or not
        if all(form.rules[:-1]) and not others:
            return True
        return not _torch.is_compiling() and self._merged()[2]

    def _unique(self) -> SparseTensor:
        """Itself where no entry is stored twice, else csr."""
        return self if self._is_unique() else self._whole()

    def __repr__(self) -> str:
        text = super().__repr__()
        if _torch.is_compiling():
            return text
        each = [f"{part._fmt}: {part.nnz}" for part in self.parts]
        return f"{text[:-1]}, entries {', '.join(each)})"

    __str__ = __repr__

    def memory(self) -> dict[str, object]:
        """Bytes, the layouts derived from each part among them; see ``SparseTensor.memory``."""
        derived = bytes_kept(self)
        for k, part in enumerate(self.parts):
            derived |= {f"{name} of part {k}": n for name, n in part.memory()["derived"].items()}
        return {"tensor": self.nbytes, "derived": derived, "total": self.nbytes + sum(derived.values())}

    def release(self) -> None:
        """Drops derived layouts; the next call that needs one makes it again."""
        for part in self.__dict__.get("_pieces", ()):
            part.release()
        for name in ("_pieces", "_slots", "_relabelled", "_derived"):
            self.__dict__.pop(name, None)

    def share_memory_(self) -> SparseTensor:
        """Moves the component arrays to shared memory."""
        self.release()
        return super().share_memory_()

    # ---- other layouts ----
    def convert(self, format: str | Format, *, index_dtype: torch.dtype | None = None) -> SparseTensor:
        """The same tensor in another format; this one if it has it already."""
        form = bound(format, 2)
        if form.text == self._fmt:
            return self.to(index_dtype=index_dtype)
        return self._whole().convert(form.text, index_dtype=index_dtype)


def _by_whole(name: str) -> Callable:
    method = getattr(SparseTensor, name)

    def called(self: Composed, *args: object, **kwargs: object) -> object:
        return method(self._whole(), *args, **kwargs)

    called.__name__, called.__doc__ = name, method.__doc__
    return called


for _name in _WHOLE.split():
    setattr(Composed, _name, _by_whole(_name))
_torch.entries(vars(Composed))


def whole(x: object) -> object:
    """x with every composed tensor in it as csr."""
    if isinstance(x, Composed):
        return x._whole()
    if isinstance(x, dict):
        return {name: whole(y) for name, y in x.items()}
    return type(x)(map(whole, x)) if type(x) in (list, tuple) else x


# ---- making ----
def _taken(form: Layout, rule: object, left: Left, index: torch.dtype) -> torch.Tensor:
    """Which of the entries that are left a part takes; one that fills blocks, all that lie in them."""
    mask = rule.takes(left)
    if not fills(form) or not bool(mask.any()):
        return mask
    ones = torch.ones(int(mask.sum()), dtype=torch.int64, device="cpu")
    stored, _ = _stored(build(Entries(left.shape, left.at[:, mask], ones), form.text, index))
    return find(stored.sort().values, ravel(left.at, left.shape))[0]


def _fitted(form: Layout, shape: Sequence[int]) -> None:
    for part in form.parts:
        for _, _, dim, half, block, _ in part.levels:
            if half and shape[dim] % block:
                raise ValueError(
                    f"{part.text} of a shape {list(shape)}: expected blocks that divide it, got {block} in "
                    f"dimension {dim}: use another block, or csr for this part"
                )


def deal(a: SparseTensor, form: Layout, index: torch.dtype) -> SparseTensor:
    """a in a composed format: an entry goes to the first part whose rule takes it, the rest to the last."""
    if _torch.in_graph():
        raise NotImplementedError(
            f"a conversion to {form.text} decides what each part stores by looking at the entries, which "
            f"torch.compile and transforms cannot follow: convert outside of them"
        )
    if not all(form.rules[:-1]):
        raise ValueError(
            f"{form.text}: expected a rule for every part but the last, such as csr of rows(> 100) + csr; "
            f"parts that are there already are joined by scorch.parts"
        )
    _fitted(form, a.shape)
    with _torch.plainly():
        csr = a.convert("csr")
        at = csr.indices().long()
        left, place = csr._val, torch.arange(1, csr.nnz + 1, device="cpu")
        structure, source = [], []
        for part, rule in zip(form.parts, form.rules, strict=True):
            mask = torch.ones_like(place, dtype=torch.bool)
            if rule:
                mask = _taken(part, rule, Left(tuple(a.shape), at, left), index)
            e = Entries(tuple(a.shape), at[:, mask], place[mask])
            *arrays, numbers = build(e, part.text, index)._arrays()
            structure, source = [*structure, *arrays], [*source, numbers]
            at, left, place = at[:, ~mask], left[~mask], place[~mask]
    values = a.convert("csr").values()
    values = torch.cat([values.new_zeros(1), values])[torch.cat(source)]  # 0: nothing is stored there
    return assemble(form, tuple(a.shape), [*structure, values])


def parts(*tensors: SparseTensor) -> SparseTensor:
    """The matrix that is the sum of these, each of which stays as it is stored.

    ``A.parts`` reads them. Values are copied into one array, in the type that all promote to; gradients
    reach the tensors that were given. What takes a matrix apart by rules is ``SparseTensor.convert``.

    >>> blocks, rest = torch.block_diag(torch.ones(8, 8), torch.ones(8, 8)), torch.eye(16).flip(0)
    >>> A = scorch.parts(scorch.sparse(blocks, "bsr(8,8)"), scorch.sparse(rest, "csr"))
    >>> [part.nnz for part in A.parts]
    [128, 16]

    Raises: TypeError: one is no SparseTensor. ValueError: their shapes differ, are no matrices, or there are
        fewer than 2 or more than 8 of them.
    """
    for x in tensors:
        if not isinstance(x, SparseTensor):
            what = "write parts(*tensors)" if isinstance(x, (list, tuple)) else "call scorch.sparse first"
            raise TypeError(f"parts: expected SparseTensors, got {type(x).__name__}: {what}")
    pieces = [piece for x in tensors for piece in x.parts]
    shapes = {tuple(x.shape) for x in pieces}
    if not 2 <= len(pieces) <= MOST or len(shapes) != 1 or pieces[0]._ndim != 2:
        raise ValueError(
            f"parts: expected 2 to {MOST} matrices of one shape, got {[list(x.shape) for x in pieces]}"
        )
    for piece in pieces:
        core_of(piece)
    dtype = pieces[0].dtype
    for piece in pieces:
        dtype = torch.promote_types(dtype, piece.dtype)
    form = layout(composed_of([piece._fmt for piece in pieces]), 2)
    structure = [array for piece in pieces for array in piece._arrays()[:-1]]
    values = in_a_row([piece.values().to(dtype) for piece in pieces])
    return assemble(form, pieces[0]._shape, [*structure, values])

"""What torch functions mean for a SparseTensor: fills the tables that the class consults.

Methods that compute are attached to the class here too: they need the operations, which need the class.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from . import _ops
from ._tensor import HANDLERS, STRUCTURAL, SparseTensor

aten = torch.ops.aten


# ---- the @ operator ----
def _operator(kind: int):
    """``A @ x`` and ``x @ A``: the fast entry first, then the general path; the table is not asked."""

    def multiply(self: SparseTensor, x: object) -> torch.Tensor:
        if not torch.compiler.is_dynamo_compiling():
            y = _ops.fast_product(self, x, kind)
            if y is not NotImplemented:
                return y
        return _ops.product(self, x if isinstance(x, torch.Tensor) else torch.as_tensor(x), kind)

    return multiply


SparseTensor.__matmul__ = _operator(_ops.MATMUL)
SparseTensor.__rmatmul__ = _operator(_ops.RMATMUL)


# ---- torch functions ----
def _matmul(a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    if isinstance(a, SparseTensor):
        sparse, x, kind = a, b, _ops.MATMUL
    else:
        sparse, x, kind = b, a, _ops.RMATMUL
    if not torch.compiler.is_dynamo_compiling():
        y = _ops.fast_product(sparse, x, kind, out)
        if y is not NotImplemented:
            return y
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"matmul: expected tensors, got {type(x).__name__}")
    if out is None:
        return _ops.product(sparse, x, kind)
    left, right = (sparse, x) if kind == _ops.MATMUL else (x, sparse)
    text = {(2, 2): "ij,jk->ik", (2, 1): "ij,j->i", (1, 2): "i,ij->j"}.get((_rank(left), _rank(right)))
    if text is None:
        raise NotImplementedError("matmul: out= takes products of matrices and vectors")
    return _ops.einsum(text, left, right, out=out)


def _rank(x: torch.Tensor) -> int:
    return x._ndim if isinstance(x, SparseTensor) else x.dim()


def _ranks(name: str, left: int, right: int):
    def checked(input: torch.Tensor, other: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
        found = _rank(input), _rank(other)
        if found != (left, right):
            raise ValueError(
                f"{name}: expected operands of {left} and {right} dimensions, got {found[0]} and {found[1]}"
            )
        return _matmul(input, other, out=out)

    return checked


def _rmatmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _matmul(b, a)


def _sparse_mm(mat1: torch.Tensor, mat2: torch.Tensor, reduce: str = "sum") -> torch.Tensor:
    if reduce != "sum":
        raise NotImplementedError(
            f'torch.sparse.mm with reduce="{reduce}": use scorch.evaluate with max= or min='
        )
    return _ranks("torch.sparse.mm", 2, 2)(mat1, mat2)


def _addmm(input, mat1, mat2, *, beta=1, alpha=1):
    y = _matmul(mat1, mat2)
    return torch.add(input if beta == 1 else beta * input, y, alpha=alpha)


def _einsum(equation: str, *operands):
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    return _ops.einsum(equation, *operands)


# ---- torch layouts ----
def _to_coo(a: SparseTensor) -> torch.Tensor:
    coo = a.coalesce() if a._fmt.startswith("compressed(0, nonunique)") else a.convert("coo")
    *_, values = coo._arrays()
    indices = torch.stack([coo.crd(d) for d in range(a._ndim)]).long()
    return torch.sparse_coo_tensor(indices, values, a.shape, is_coalesced=True, check_invariants=False)


def to_torch(
    a: SparseTensor, layout: torch.layout = torch.sparse_csr, blocksize: tuple[int, int] | None = None
) -> torch.Tensor:
    """The tensor in a layout of torch; memory is shared where the format is that layout."""
    if layout is torch.strided:
        return a.to_dense()
    if layout is torch.sparse_coo:
        return _to_coo(a)
    names = {
        torch.sparse_csr: "csr",
        torch.sparse_csc: "csc",
        torch.sparse_bsr: "bsr",
        torch.sparse_bsc: "bsc",
    }
    if layout not in names:
        raise ValueError(f"expected a layout of torch, got {layout}")
    name = names[layout]
    if name.startswith("b"):
        if blocksize is None and not a._fmt.startswith(name):
            raise ValueError(f"{layout} needs blocksize=(rows, columns)")
        name = f"{name}({blocksize[0]},{blocksize[1]})" if blocksize else a._fmt
        blocksize = tuple(int(n) for n in name[4:-1].split(","))
        if any(n % b for n, b in zip(a.shape, blocksize, strict=True)):
            raise ValueError(
                f"{layout}: expected a shape that blocks of {blocksize} divide, got {tuple(a.shape)}"
            )
    b = a.convert(name)
    values = b.values().view(-1, *blocksize) if blocksize else b.values()
    return torch.sparse_compressed_tensor(
        b.pos(1), b.crd(1), values, a.shape, layout=layout, check_invariants=False
    )


def _to_sparse(
    a: SparseTensor, *args, layout: torch.layout | None = None, blocksize=None, dense_dim=None
) -> torch.Tensor:
    return to_torch(a, layout or torch.sparse_coo, blocksize)


def to_scipy(a: SparseTensor):
    """The SciPy sparse array of the nearest format (csr, csc, bsr, else coo), sharing memory if it can."""
    import scipy.sparse

    name = a._fmt.partition("(")[0]
    if name in ("csr", "csc") and a._ndim == 2:
        make = getattr(scipy.sparse, f"{name}_array")
        return make((a.values().numpy(), a.crd(1).numpy(), a.pos(1).numpy()), shape=tuple(a.shape))
    if name == "bsr":
        block = tuple(int(n) for n in a._fmt[4:-1].split(","))
        data = a.values().view(-1, *block).numpy()
        return scipy.sparse.bsr_array((data, a.crd(1).numpy(), a.pos(1).numpy()), shape=tuple(a.shape))
    if a._ndim > 2:
        raise ValueError(f"SciPy has matrices and vectors only, got {a._ndim} dimensions")
    coo = a.convert("coo")
    return scipy.sparse.coo_array(
        (coo.values().numpy(), tuple(coo.crd(d).numpy() for d in range(a._ndim))), shape=tuple(a.shape)
    )


SparseTensor.to_torch, SparseTensor.to_scipy = to_torch, to_scipy
SparseTensor.to_sparse, SparseTensor.to_sparse_coo = _to_sparse, _to_coo


def _layout_method(layout: torch.layout, blocked: bool):
    if blocked:
        return lambda a, blocksize=None, dense_dim=None: to_torch(a, layout, blocksize)
    return lambda a, dense_dim=None: to_torch(a, layout)


for _name in ("csr", "csc", "bsr", "bsc"):
    _method = _layout_method(getattr(torch, f"sparse_{_name}"), _name.startswith("b"))
    setattr(SparseTensor, f"to_sparse_{_name}", _method)


# ---- functions of the stored values ----
def _on_values(f):
    """f(0) = 0: the structure stays."""

    def mapped(a, *args, **kwargs):
        if not isinstance(a, SparseTensor) or kwargs.get("out") is not None:
            return NotImplemented
        return a._like((*a._arrays()[:-1], f(a._val, *args, **kwargs)))

    return mapped


def _scaled(f):
    """Multiplication and division by a number."""

    def scaled(a, b, **kwargs):
        if isinstance(b, SparseTensor) and f is torch.mul:
            a, b = b, a
        if (
            (isinstance(b, torch.Tensor) and b.dim())
            or not isinstance(a, SparseTensor)
            or isinstance(b, SparseTensor)
        ):
            raise NotImplementedError(
                f"{f.__name__} of a SparseTensor takes numbers: use scorch.einsum for tensors"
            )
        return a._like((*a._arrays()[:-1], f(a._val, b, **kwargs)))

    return scaled


def _refuse_grad(*args):
    raise NotImplementedError("gradients to the values of a SparseTensor are not available yet")


def _set_requires_grad(a: SparseTensor, value: bool) -> None:
    if value:
        _refuse_grad()


HANDLERS.update({
    torch.matmul: _matmul, torch.Tensor.matmul: _matmul, torch.Tensor.__matmul__: _matmul,
    torch.Tensor.__rmatmul__: _rmatmul,
    torch.mm: _ranks("mm", 2, 2), torch.Tensor.mm: _ranks("mm", 2, 2), torch.Tensor.smm: _ranks("smm", 2, 2),
    torch.mv: _ranks("mv", 2, 1), torch.Tensor.mv: _ranks("mv", 2, 1),
    torch.bmm: _ranks("bmm", 3, 3), torch.Tensor.bmm: _ranks("bmm", 3, 3),
    torch.addmm: _addmm, torch.Tensor.addmm: _addmm,
    torch.sparse.mm: _sparse_mm, F.linear: _ops.linear, torch.einsum: _einsum,
    torch.permute: SparseTensor.permute, torch.transpose: SparseTensor.transpose, torch.t: SparseTensor.t,
    torch.Tensor.requires_grad.__set__: _set_requires_grad,
    torch.Tensor.to_dense: SparseTensor.to_dense,
    **dict.fromkeys((torch.mul, torch.Tensor.mul), _scaled(torch.mul)),
    **dict.fromkeys((torch.Tensor.__mul__, torch.Tensor.__rmul__), _scaled(torch.mul)),
    **dict.fromkeys((torch.div, torch.Tensor.div, torch.Tensor.__truediv__), _scaled(torch.div)),
})  # fmt: skip
for _name in (
    "abs",
    "neg",
    "sqrt",
    "relu",
    "tanh",
    "sin",
    "asin",
    "atan",
    "sinh",
    "tan",
    "expm1",
    "log1p",
    "sign",
    "floor",
    "ceil",
    "round",
    "trunc",
    "square",
    "deg2rad",
    "rad2deg",
):
    HANDLERS[getattr(torch, _name)] = HANDLERS[getattr(torch.Tensor, _name)] = _on_values(
        getattr(torch, _name)
    )
HANDLERS[torch.Tensor.__neg__] = HANDLERS[torch.neg]
HANDLERS[torch.Tensor.__abs__] = HANDLERS[torch.abs]
HANDLERS[F.relu] = lambda input, inplace=False: HANDLERS[torch.relu](input)


# ---- the dispatcher: structural operators ----
def _map_arrays(f):
    return lambda a, *args, **kwargs: a._like([f(x) for x in a._arrays()])


def _to_copy(a: SparseTensor, *, dtype=None, layout=None, device=None, **_):
    *structure, values = a._arrays()
    move = [x.to(device=device, copy=True) for x in structure]
    return a._like([*move, values.to(device=device, dtype=dtype, copy=True)])


def _copy_(target: SparseTensor, source: torch.Tensor, non_blocking: bool = False) -> SparseTensor:
    if not (isinstance(source, SparseTensor) and isinstance(target, SparseTensor)):
        raise NotImplementedError(
            "copy_ between sparse and dense tensors: convert with scorch.sparse or to_dense first"
        )
    *mine, values = target._arrays()
    *theirs, new = source._arrays()
    same = source._fmt == target._fmt and source.shape == target.shape
    if not same or not all(torch.equal(x, y) for x, y in zip(mine, theirs, strict=True)):
        raise ValueError(
            "copy_: expected a SparseTensor of the same format and structure; to replace the structure, "
            "assign the tensor (load_state_dict(..., assign=True))"
        )
    values.copy_(new)
    return target


STRUCTURAL.update(
    {
        aten.detach.default: _map_arrays(torch.Tensor.detach),
        aten.alias.default: _map_arrays(torch.Tensor.detach),
        aten.clone.default: _map_arrays(torch.clone),
        aten._to_copy.default: _to_copy,
        aten.copy_.default: _copy_,
    }
)

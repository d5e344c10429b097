"""Functions that torch writes as several others, written as those here, which the table answers one by one.

torch's own code calls operators for them, which gives numbers, but no gradient to the stored entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from numbers import Number
from string import ascii_lowercase

import torch
import torch.nn.functional as F

from .. import _torch
from ..tensor.entries import same_structure
from ..tensor.index import axes, axis, index_select, tensor_split
from ..tensor.making import of_torch
from ..tensor.sparsetensor import SparseTensor, partwise, rank
from ..tensor.values import unmarked
from .choose import joined
from .products import einsum
from .running import beside_dense, dense_result
from .writing import written


# ---- shapes ----
def split_along(name: str, dim: int) -> Callable:
    """``torch.hsplit`` and its kin; a vector has one dimension to be split along."""

    def split(input: SparseTensor, *args: object, **kwargs: object) -> tuple[torch.Tensor, ...]:
        (parts,) = (*args, *kwargs.values())
        if rank(input) <= dim and not (name == "hsplit" and rank(input) == 1):
            raise ValueError(f"{name}: expected at least {dim + 1} dimensions, got {rank(input)}")
        along = min(dim, rank(input) - 1)
        if isinstance(parts, int) and input.shape[along] % parts:
            raise ValueError(
                f"{name}: {parts} parts of {input.shape[along]} are not of one size: use tensor_split"
            )
        return tensor_split(input, parts, along)

    return split


def _listed(tensors: tuple) -> Sequence[torch.Tensor]:
    alone = len(tensors) == 1 and not isinstance(tensors[0], torch.Tensor)
    return tensors[0] if alone else tensors


def at_least(dims: int) -> Callable:
    """``torch.atleast_1d`` and its kin, of tensors one by one or in a sequence."""

    def grown(*tensors: torch.Tensor | Sequence[torch.Tensor]) -> torch.Tensor | tuple[torch.Tensor, ...]:
        made, listed = [], _listed(tensors)
        for x in listed:
            while x.dim() < dims:
                x = x.unsqueeze(-1 if x.dim() == 2 else 0)
            made.append(x)
        return made[0] if listed is tensors and len(made) == 1 else tuple(made)

    return partwise(grown)


@partwise
def broadcast_tensors(*tensors: torch.Tensor | Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """``torch.broadcast_tensors``, likewise."""
    tensors = _listed(tensors)
    shape = reduce(_torch.broadcast, (tuple(x.shape) for x in tensors))
    return tuple([x.expand(shape) for x in tensors])


def sum_to_size(
    input: SparseTensor, *extents: int | Sequence[int], size: Sequence[int] | None = None
) -> torch.Tensor:
    """``Tensor.sum_to_size``."""
    wanted = _torch.one_by_one(extents, size)
    new = rank(input) - len(wanted)
    pairs = list(zip(wanted, input.shape[max(new, 0) :], strict=False))
    if new < 0 or any(n not in (1, m) for n, m in pairs):
        raise ValueError(f"sum_to_size: {list(input.shape)} does not sum to {list(wanted)}")
    gone = [*range(new), *[new + d for d, (n, m) in enumerate(pairs) if n != m]]
    return unmarked(torch.sum(input, gone, keepdim=True).reshape(wanted)) if gone else input


def repeat_interleave(
    input: SparseTensor | None = None,
    repeats: int | torch.Tensor | None = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> torch.Tensor:
    """``torch.repeat_interleave``; how often is said by a number or a dense tensor."""
    if not isinstance(input, SparseTensor) or repeats is None or isinstance(repeats, SparseTensor):
        raise NotImplementedError("repeat_interleave: expected dense repeats: use their to_dense()")
    if dim is None:
        input, dim = input.flatten(), 0
    dim = axis(dim, rank(input))
    _torch.find_room(input.shape[dim], 8, "places")
    places = torch.arange(input.shape[dim], device="cpu").repeat_interleave(repeats, output_size=output_size)
    return index_select(input, dim, places)


def shifted(input: SparseTensor, dim: int | Sequence[int] | None = None, *, back: bool) -> torch.Tensor:
    """``torch.fft.fftshift``, and ``ifftshift``, which puts back what it moved."""
    dims = range(rank(input)) if dim is None else axes(dim, rank(input))
    return torch.roll(input, [(input.shape[d] + back) // 2 for d in dims], list(dims))


# ---- products ----
def tensordot(
    input: torch.Tensor,
    b: torch.Tensor,
    dims: int | Sequence | torch.Tensor = 2,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``torch.tensordot``, of which either is sparse."""
    if out is not None:
        return written(out, tensordot(input, b, dims))
    a = input
    dims = dims.tolist() if isinstance(dims, torch.Tensor) else dims
    if not isinstance(dims, Sequence):
        dims = range(rank(a) - dims, rank(a)), range(dims)
    of_a, of_b = ([axis(d, rank(x)) for d in ds] for ds, x in zip(dims, (a, b), strict=True))
    for i, k in zip(of_a, of_b, strict=True):  # an extent of one is repeated
        if a.shape[i] != b.shape[k] and 1 not in (a.shape[i], b.shape[k]):
            raise ValueError(
                f"tensordot: {list(a.shape)} at {of_a} and {list(b.shape)} at {of_b} do not match"
            )
        a = a.sum(i, keepdim=True, dtype=a.dtype) if a.shape[i] > b.shape[k] else a
        b = b.sum(k, keepdim=True, dtype=b.dtype) if b.shape[k] > a.shape[i] else b
    left, right = ascii_lowercase[: rank(a)], list(ascii_lowercase[rank(a) : rank(a) + rank(b)])
    for i, k in zip(of_a, of_b, strict=True):
        right[k] = left[i]
    kept = [c for d, c in enumerate(left) if d not in of_a] + [
        c for d, c in enumerate(right) if d not in of_b
    ]
    return einsum(f"{left},{''.join(right)}->{''.join(kept)}", a, b)


# ---- distances and losses ----
def pairwise_distance(
    input: torch.Tensor, other: torch.Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> torch.Tensor:
    """``F.pairwise_distance``: eps is added to each difference, stored or not, as in torch."""
    return torch.linalg.vector_norm(input - other + eps, p, dim=-1, keepdim=keepdim)


def _reduced(name: str, losses: torch.Tensor, reduction: str, legacy: Sequence) -> torch.Tensor:
    if any(x is not None for x in legacy) or reduction not in ("none", "sum", "mean"):
        raise ValueError(f"{name}: expected reduction= 'none', 'sum' or 'mean', got {reduction!r}")
    return losses if reduction == "none" else getattr(losses, reduction)()


def triplet_margin_loss(
    anchor: torch.Tensor,
    positive: torch.Tensor,
    negative: torch.Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """``F.triplet_margin_loss``."""
    near, far = (pairwise_distance(anchor, x, p, eps) for x in (positive, negative))
    if swap:
        far = torch.minimum(far, pairwise_distance(positive, negative, p, eps))
    losses = (margin + near - far).clamp(min=0)
    return _reduced("triplet_margin_loss", losses, reduction, (size_average, reduce))


def cosine_embedding_loss(
    input1: torch.Tensor,
    input2: torch.Tensor,
    target: torch.Tensor,
    margin: float = 0,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """``F.cosine_embedding_loss``."""
    along = rank(input1) - 1
    squares = [(x * x).sum(along) + 1e-12 for x in (input1, input2)]
    cosine = (input1 * input2).sum(along) / (squares[0] * squares[1]).sqrt()
    losses = torch.where(target == 1, 1 - cosine, 0) + torch.where(
        target == -1, (cosine - margin).clamp(min=0), 0
    )
    return _reduced("cosine_embedding_loss", losses, reduction, (size_average, reduce))


def kl_div(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> torch.Tensor:
    """``F.kl_div``: of a sparse target of probabilities, what it stores."""
    if log_target or size_average is not None or reduce is not None:
        return beside_dense(F.kl_div, "kl_div")(input, target, size_average, reduce, reduction, log_target)
    losses = torch.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return losses.sum() / input.shape[0]
    return _reduced("kl_div", losses, reduction, ())


# ---- factors of low rank ----
def pca_lowrank(
    A: SparseTensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``torch.pca_lowrank``: the means are taken from products, A keeps its zeros."""
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n) or niter < 0:
        raise ValueError(
            f"pca_lowrank: expected q from 0 to {min(m, n)} and niter >= 0, got q={q} and niter={niter}"
        )
    return _torch.svd_lowrank(A, q, niter, A.mean(-2, keepdim=True) if center else None)


# ---- entries of three tensors ----
def _side_by_side(*tensors: torch.Tensor) -> list[torch.Tensor] | None:
    """The values of SparseTensors in the step of an optimizer, which have one structure; elsewhere None."""
    a = tensors[0]
    if not isinstance(a, SparseTensor) or _torch.in_graph() or not (_torch.in_step() and a._is_unique()):
        return None
    if not all(isinstance(x, SparseTensor) and same_structure(a, x) for x in tensors):
        return None
    return [x.values() for x in tensors]


def lerp(input: torch.Tensor, end: torch.Tensor, weight: Number | torch.Tensor) -> torch.Tensor:
    """``torch.lerp``."""
    if not input.dtype.is_floating_point:
        raise TypeError(f"lerp: expected a floating point type, got {input.dtype}: convert it first")
    given = [*map(of_torch, (input, end, weight))]
    if isinstance(given[0], SparseTensor) and isinstance(given[1], SparseTensor):
        return joined(torch.lerp, given)  # torch's own, which counts from the end where that is nearer
    return dense_result(torch.lerp)(*given)


def _added(f: Callable, name: str) -> Callable:
    """``torch.addcmul`` or ``torch.addcdiv``: the input plus a number times f of two tensors."""

    def call(
        input: torch.Tensor,
        tensor1: torch.Tensor,
        tensor2: torch.Tensor,
        *last: torch.Tensor,
        value: Number = 1,
    ) -> torch.Tensor:
        if last:  # as it was once written, the number first
            value, tensor1, tensor2 = tensor1, tensor2, *last
        if (values := _side_by_side(input, tensor1, tensor2)) is not None:
            return input._with_values(getattr(torch, name)(*values, value=value))
        made = f(tensor1, tensor2)
        fractions = torch.promote_types(input.dtype, made.dtype).is_floating_point
        return torch.add(input, made, alpha=float(value) if fractions else int(value))  # as torch does

    call.__name__ = name
    return call


addcmul, addcdiv = _added(torch.mul, "addcmul"), _added(torch.div, "addcdiv")


# ---- norms of weights ----
@partwise
def norm_except_dim(v: SparseTensor, pow: float = 2, dim: int = 0) -> torch.Tensor:
    """``torch.norm_except_dim``: dense, over all dimensions but one; -1: over all of them."""
    if dim == -1:
        return torch.linalg.vector_norm(v, pow)
    others = [d for d in range(rank(v)) if d != axis(dim, rank(v))]
    return torch.linalg.vector_norm(v, pow, others, keepdim=True)


@partwise
def weight_norm(v: SparseTensor, g: torch.Tensor, dim: int = 0) -> torch.Tensor:
    """``torch._weight_norm``: v * g / |v|, sparse. What is zero stays so, as a row without entries does."""
    length = norm_except_dim(v, 2, dim)
    return v * (g / length.masked_fill(length == 0, 1))

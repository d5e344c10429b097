"""What torch.distributed does with SparseTensors: buffers that are broadcast, shards that are gathered.

Every rank has its structure already, so a broadcast sends values alone, when all ranks have agreed that
their structures are one. Shards of a DTensor have a structure each: they are gathered by coordinates and
values. Other collectives write into memory that is given, whose size would depend on numbers: they are
refused by name.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist

from .. import _torch
from ..tensor.entries import Entries, build, canonical, entries, kept_format, places
from ..tensor.making import sparse
from ..tensor.sparsetensor import STRUCTURAL, SparseTensor, partwise
from ..tensor.values import kept, refuse_unwritable


# ---- broadcast by DistributedDataParallel ----
def _fingerprint(a: SparseTensor) -> int:
    """A number of what a is but for its values; it is kept with a."""

    def made() -> int:
        found = zlib.crc32(f"{a._fmt} {tuple(a.shape)} {a.dtype} {a.nnz}".encode())
        for array in a._arrays()[:-1]:
            array = array.clone() if _torch.is_read_only(array) else array.contiguous()
            found = zlib.crc32(array.view(torch.uint8).numpy(), found)
        return found

    return kept(a, "fingerprint", made, structural=True)


def _agree(group: object, tensors: Sequence[torch.Tensor]) -> None:
    """Raises ValueError, on every rank alike, where structures differ from rank to rank; one that has a dense
    tensor differs from those that have none."""
    numbers = [_fingerprint(a) if isinstance(a, SparseTensor) else -1 for a in tensors]
    own = torch.tensor(numbers, device="cpu")
    extremes = torch.cat([own, -own])
    dist.all_reduce(extremes, dist.ReduceOp.MAX, group)
    most, least = extremes.chunk(2)
    for a, differs in zip(tensors, (most != -least).tolist(), strict=True):
        if differs:
            own = a if isinstance(a, SparseTensor) else f"a dense tensor {list(a.shape)}"
            raise ValueError(
                f"broadcast of {own}: expected one structure on all ranks, got several: values alone are "
                f"sent. Make the same graph on each, or keep it out of the broadcast: in "
                f"DistributedDataParallel by broadcast_buffers=False, init_sync=False, or "
                f"_set_params_and_buffers_to_ignore_for_model"
            )


def _broadcast(plainly: Callable) -> Callable:
    """torch's broadcast of parameters and buffers, of SparseTensors the values."""

    def broadcast(group: object, tensors: Sequence[torch.Tensor], *how: object, **named: object) -> None:
        found = [x for x in tensors if isinstance(x, SparseTensor)]
        if found:
            _agree(group, found)
        for a in found:
            refuse_unwritable("broadcast", a)
        plainly(group, [x._val if isinstance(x, SparseTensor) else x for x in tensors], *how, **named)
        _torch.hand_out()

    return broadcast


def _broadcast_one(tensors: list[SparseTensor], group: object, *how: object) -> tuple:
    """``torch.distributed.broadcast``, likewise."""
    _agree(dist.ProcessGroup.unbox(group), tensors)
    (a,) = tensors
    refuse_unwritable("broadcast", a)
    _, work = torch.ops.c10d.broadcast_.default([a._val], group, *how)
    torch.autograd.graph.increment_version(a._val)
    return tensors, work


def broadcast_states(plainly: Callable) -> Callable:
    """torch's broadcast of rank 0's state to what each rank has, of SparseTensors the values.

    What is dense in a module takes a sparse state densely, as in ``load_state_dict``.
    """

    def broadcast(full: dict, local: dict, keys: list[str], device: torch.device, pg: object = None) -> None:
        first = dist.get_rank() == 0
        sparse = [key for key in keys if isinstance(local.get(key), SparseTensor)]
        if sparse:
            given = [(full if first else local)[key].detach().to(device, copy=True) for key in sparse]
            group = pg or dist.distributed_c10d._get_default_group()
            _agree(group, given)
            dist._broadcast_coalesced(group, [a._val for a in given], 500, 0)
            local.update(zip(sparse, given, strict=True))
        if rest := [key for key in keys if key not in sparse]:
            plainly({key: _dense(full[key]) for key in rest}, local, rest, device, pg)

    return broadcast


def _dense(x: object) -> object:
    return x.to_dense() if isinstance(x, SparseTensor) else x


def _verify(plainly: Callable) -> Callable:
    """torch's check of parameters, with SparseTensors refused, whose gradients it would flatten."""

    def verify(group: object, parameters: Sequence[torch.Tensor], *more: object) -> object:
        if any(isinstance(x, SparseTensor) for x in parameters):
            raise NotImplementedError(
                "DistributedDataParallel takes no SparseTensor as a parameter, since it adds gradients up in "
                "flat memory: hold the values as the parameter, as scorch.nn.Linear does; buffers are taken"
            )
        return plainly(group, parameters, *more)

    return verify


# ---- shards of a DTensor ----
def _all_gather(a: SparseTensor, size: int, group: object) -> SparseTensor:
    """The tensors of all ranks, one below the other; each may store another number of entries."""
    e = entries(a)
    count = _gathered(torch.tensor([e.values.numel()], device="cpu"), size, group)
    most = int(count.max())
    sent = e.indices.new_zeros(most, a._ndim)
    sent[: e.values.numel()] = e.indices.T
    raw = e.values.new_zeros(most)
    raw[: e.values.numel()] = e.values
    indices = _gathered(sent, size, group).view(size, most, a._ndim)
    indices[:, :, 0] += torch.arange(size, device="cpu")[:, None] * a.shape[0]
    values = _gathered(raw.view(torch.uint8), size, group).view(a.dtype)
    there = places((torch.arange(most, device="cpu") < count[:, None]).view(-1))
    shape = (size * a.shape[0], *a.shape[1:])
    found = canonical(shape, indices.view(-1, a._ndim)[there].T, values[there])
    return build(Entries(*found), kept_format(a, range(a._ndim)), a.index_dtype)


def _gathered(x: torch.Tensor, size: int, group: object) -> torch.Tensor:
    ops = torch.ops._c10d_functional
    return ops.wait_tensor(ops.all_gather_into_tensor(x, size, group))


@partwise
def new_zeros(input: SparseTensor, *size: object, **options: object) -> torch.Tensor:
    """``Tensor.new_zeros``: dense; for a DTensor, of the rows of a rank that has none, sparse.

    Raises: NotImplementedError: ``fully_shard`` asks, for a parameter.
    """
    found, caller = input._val.new_zeros(*size, **options), _torch.caller()
    if caller.startswith("torch.distributed.fsdp"):
        raise NotImplementedError(
            "fully_shard takes no SparseTensor as a parameter, which it would make dense: hold the values as "
            "the parameter, as scorch.nn.Linear does, or the tensor as a buffer"
        )
    if not caller.startswith("torch.distributed.tensor") or found.dim() != input._ndim:
        return found
    return sparse(found, kept_format(input, range(input._ndim)), index_dtype=input.index_dtype)


def collective(func: Callable) -> Callable | None:
    """What an operator of torch.distributed means, if it is not in the table of operators.

    Raises: NotImplementedError: a collective that is not here.
    """
    if func._opname == "_wrap_tensor_autograd":  # of torch's Python, which is imported late
        return lambda a: a
    raise NotImplementedError(
        f"{func} is not available for a SparseTensor, whose size depends on its entries: send A.values() "
        f"where all ranks have the structure, or the tensor by dist.broadcast_object_list; "
        f"distribute_tensor(A, .., src_data_rank=None) sends nothing"
    )


if dist.is_available():
    functional = torch.ops._c10d_functional
    STRUCTURAL[functional.all_gather_into_tensor.default] = _all_gather
    STRUCTURAL[torch.ops.c10d.broadcast_.default] = _broadcast_one
    STRUCTURAL[functional.wait_tensor.default] = lambda a: a  # all of it is there
    _torch.replace(dist, "_broadcast_coalesced", _broadcast)
    _torch.replace(dist, "_verify_params_across_processes", _verify)

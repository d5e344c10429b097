"""One of two processes of tests/test_distributed.py: ``python tests/ranks.py RANK FOLDER`` runs every check.

A line tells what became of each: its name and "ok", or a traceback.
"""

import os
import re
import shutil
import sys
import traceback
from datetime import timedelta
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import (
    DTensor,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    init_device_mesh,
)
from torch.nn.parallel import DistributedDataParallel

import scorch
import scorch.nn

RANKS = 2
DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "distributed.md"
close = torch.testing.assert_close


def graph(rows=7, columns=6, seed=0):
    g = torch.Generator().manual_seed(seed)
    return (torch.rand(rows, columns, generator=g) < 0.4) * torch.rand(rows, columns, generator=g)


def refused(f, kind, says):
    try:
        f()
    except kind as error:
        assert re.search(says, str(error)), error
    else:
        raise AssertionError(f"expected {kind.__name__}: {says}")


class Net(nn.Module):
    """A graph as a buffer, a dense layer and a sparse one; perhaps a sparse parameter."""

    def __init__(self, seed=0, parameter=False):
        super().__init__()
        torch.manual_seed(seed)
        values = torch.rand(7, 7)
        self.register_buffer("graph", scorch.sparse((graph(7, 7) > 0) * values))
        self.register_buffer("scale", torch.rand(3))
        self.first, self.last = nn.Linear(4, 3), scorch.nn.Linear(3, 5, density=0.5)
        if parameter:
            self.weight = nn.Parameter(scorch.sparse((graph(7, 7, 1) > 0) * torch.rand(7, 7)))

    def forward(self, x):
        y = self.graph @ (self.first(x) * self.scale)
        return self.last(self.weight @ y if hasattr(self, "weight") else y)


def trained_alike(shared, alone, rank, full):
    """Three steps; the gradients of a mean over ranks are those of one process."""
    optimizers = [torch.optim.Adam(m.parameters()) for m in (shared, alone)]
    for step in range(3):
        x = torch.rand(RANKS, 7, 4, generator=torch.Generator().manual_seed(step))
        shared(x[rank]).square().mean().backward()
        (sum(alone(part).square().mean() for part in x) / RANKS).backward()
        for p, q in zip(shared.parameters(), alone.parameters(), strict=True):
            close(full(p.grad), q.grad)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()


# ---- modules ----
def ddp(rank, mesh, folder):
    shared, alone = Net(), Net()
    if rank:
        shared.graph.values().zero_()  # rank 0 has them
    trained_alike(DistributedDataParallel(shared), alone, rank, lambda grad: grad)
    close(shared.graph.values(), alone.graph.values())


def ddp_broadcasts_each_time(rank, mesh, folder):
    shared = DistributedDataParallel(Net())
    shared.module.graph.values().fill_(rank + 1)
    shared(torch.ones(7, 4))
    assert shared.module.graph.values().unique().tolist() == [1]


def ddp_refuses(rank, mesh, folder):
    refused(lambda: DistributedDataParallel(Net(parameter=True)), NotImplementedError, "hold the values")
    other = Net()
    if rank:
        other.graph = scorch.sparse(graph(7, 7, 5))
    refused(lambda: DistributedDataParallel(other), ValueError, "one structure on all ranks")
    DistributedDataParallel(other, broadcast_buffers=False, init_sync=False)(torch.ones(7, 4))


def fsdp(rank, mesh, folder):
    shared, alone = Net(), Net()
    fully_shard(shared.last, mesh=mesh)
    fully_shard(shared, mesh=mesh)
    assert scorch.is_sparse(shared.graph) and isinstance(shared.last.values, DTensor)
    trained_alike(shared, alone, rank, lambda grad: grad.full_tensor())
    mask = torch.ones(shared.last.out_features, shared.last.in_features)
    refused(
        lambda: shared.last.set_pattern(mask), NotImplementedError, "and set the pattern before fully_shard"
    )
    other = scorch.nn.Linear(shared.last.in_features, shared.last.out_features).state_dict()
    refused(lambda: shared.last.load_state_dict(other), NotImplementedError, "the state before fully_shard")
    refused(lambda: fully_shard(Net(parameter=True), mesh=mesh), NotImplementedError, "hold the values")


# ---- DTensor ----
def sharded(dense, rank, mesh, dim, format="csr"):
    each = -(-dense.shape[dim] // RANKS)
    own = scorch.sparse(dense.split(each, dim)[rank] if rank * each < dense.shape[dim] else dense[:0], format)
    return DTensor.from_local(own, mesh, [Shard(dim)], shape=dense.shape, stride=dense.stride())


def products(rank, mesh, folder):
    dense, x = graph(), torch.rand(6, 3, generator=torch.Generator().manual_seed(2))
    wanted = torch.autograd.functional.vjp(lambda x: (dense @ x).square().sum(), x)[1]
    whole = DTensor.from_local(scorch.sparse(dense), mesh, [Replicate()])
    lefts = [whole, *(sharded(dense, rank, mesh, d, f) for d in (0, 1) for f in ("csr", "coo", "csc"))]
    for a in lefts:
        for placement in (Replicate(), Shard(0), Shard(1)):
            right = distribute_tensor(x, mesh, [placement]).requires_grad_()
            y = a @ right
            close(y.full_tensor(), dense @ x)
            y.full_tensor().square().sum().backward()
            close(right.grad.full_tensor(), wanted)
            left = distribute_tensor(torch.ones(2, 7), mesh, [placement])
            close((left @ a).full_tensor(), torch.ones(2, 7) @ dense)
        close((a.T @ distribute_tensor(dense, mesh, [Replicate()])).full_tensor(), dense.T @ dense)


def shards(rank, mesh, folder):
    for rows in (7, 1):  # one rank of two has none
        dense = graph(rows).double()
        for dim in (0, 1):
            a = sharded(dense, rank, mesh, dim, "coo" if dim else "csr")
            for found, wanted in ((a, dense), (a.T, dense.T), (a * 2, dense * 2), (torch.relu(a), dense)):
                full = found.full_tensor()
                assert scorch.is_sparse(full) and full.dtype == torch.float64
                close(full.to_dense(), wanted)
            close(a.redistribute(mesh, [Shard(1 - dim)]).full_tensor().to_dense(), dense)
            close(a.sum().full_tensor(), dense.sum())
            assert a.to_local().shape == a.to_local().to_dense().shape
        cut = distribute_tensor(scorch.sparse(dense), mesh, [Shard(0)], src_data_rank=None)
        close(cut.full_tensor().to_dense(), dense)


def modules(rank, mesh, folder):
    """Replicated, with the values of rank 0."""
    one, shared = Net(), distribute_module(Net(rank), mesh)
    for net, x in (
        (one, torch.ones(7, 4)),
        (shared, distribute_tensor(torch.ones(7, 4), mesh, [Replicate()])),
    ):
        (net.graph @ net.first(x)).square().sum().backward()
    close(shared.graph.to_local().values(), one.graph.values())
    close(shared.first.weight.grad.full_tensor(), one.first.weight.grad)
    own = scorch.sparse(graph(seed=rank))
    refused(lambda: dist.broadcast(own, 0), ValueError, "one structure on all ranks")


def dtensor_refuses(rank, mesh, folder):
    a = scorch.sparse(graph(8))
    refused(lambda: distribute_tensor(a, mesh, [Shard(0)]), NotImplementedError, "src_data_rank=None")
    refused(lambda: dist.all_reduce(a), NotImplementedError, r"A\.values\(\)")
    trained = a.clone().requires_grad_()
    refused(lambda: DTensor.from_local(trained, mesh, [Shard(0)]), NotImplementedError, "would be dense")


# ---- checkpoints ----
def stepped(seed):
    model = Net(seed, parameter=True)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(7, 4)).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    return model, optimizer


def flat(state):
    if isinstance(state, dict):
        return [x for key in state for x in flat(state[key])]
    return [state.to_dense()] if isinstance(state, torch.Tensor) else []


def checkpoints(rank, mesh, folder):
    for how in ("save", "async_save", "writer"):
        path = folder / how
        model, optimizer = stepped(3)
        state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer), strict=True))
        wanted = [x.clone() for x in flat(state)]
        if how == "save":
            dcp.save(state, checkpoint_id=path)
        elif how == "async_save":
            saving = dcp.async_save(state, checkpoint_id=path)
            model.weight.detach().mul_(0)  # copies are what is written
            saving.result()
        else:
            dcp.async_save(state, storage_writer=dcp.FileSystemWriter(path)).result()
        model, optimizer = stepped(4)
        state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer), strict=True))
        dcp.load(state, checkpoint_id=path)
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        close(flat(dict(zip("mo", get_state_dict(model, optimizer), strict=True))), wanted, rtol=0, atol=0)
        assert scorch.is_sparse(optimizer.state[model.weight]["exp_avg"])
        dist.barrier()
    if not rank:
        shutil.rmtree(folder, ignore_errors=True)


def states_of_rank_0(rank, mesh, folder):
    how = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    (model, optimizer), (first, stepping) = stepped(3 + rank), stepped(3)
    given = [{}, {}] if rank else get_state_dict(model, optimizer)
    set_model_state_dict(model, given[0], options=how)
    set_optimizer_state_dict(model, optimizer, given[1], options=how)
    close(flat(get_state_dict(model, optimizer)[0]), flat(get_state_dict(first, stepping)[0]), rtol=0, atol=0)
    close(optimizer.state[model.weight]["exp_avg"].values(), stepping.state[first.weight]["exp_avg"].values())
    for other in (scorch.sparse(graph(7, 7, 5)), model.graph.to_dense()):
        state = {} if rank else {**Net().state_dict(), "graph": other}
        load = partial(set_model_state_dict, Net(), state, options=how)
        refused(load, ValueError, "one structure on all ranks")
    model = Net()
    model.graph = torch.zeros(7, 7)
    set_model_state_dict(model, {} if rank else Net().state_dict(), options=how)
    close(model.graph, Net().graph.to_dense())


# ---- the document ----
def document(rank, mesh, folder):
    blocks = re.findall(r"^```python\n(.*?)^```\n", DOCUMENT.read_text(), re.M | re.S)
    assert len(blocks) == 6
    names = {"__name__": "__docs__"}
    for block in blocks:
        exec(compile(block, DOCUMENT, "exec"), names)


CHECKS = (
    ddp, ddp_broadcasts_each_time, ddp_refuses, fsdp, products, shards, modules, dtensor_refuses,
    checkpoints, states_of_rank_0, document,
)  # fmt: skip


def main() -> None:
    rank, folder = int(sys.argv[1]), Path(sys.argv[2])
    torch.set_num_threads(1)
    try:
        store = f"file://{folder}/store"
        patience = timedelta(seconds=30)
        dist.init_process_group("gloo", init_method=store, timeout=patience, rank=rank, world_size=RANKS)
    except RuntimeError as error:
        sys.exit(f"cannot bind: {error}")
    mesh = init_device_mesh("cpu", (RANKS,))
    for check in CHECKS:
        torch.manual_seed(0)
        try:
            check(rank, mesh, folder / check.__name__)
            print(check.__name__, "ok", flush=True)
        except Exception:  # of every check all ranks are to hear
            print(check.__name__, traceback.format_exc(), flush=True)
    dist.barrier()
    os._exit(0)  # threads of torch's own that asynchronous saving started may still be there


if __name__ == "__main__":
    main()

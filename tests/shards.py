"""One of the processes of tests/test_shards.py: ``python tests/shards.py RANK RANKS FOLDER``.

Every check runs: those of all ranks and those of the first two alone; a line tells what became of each.
"""

import re
import sys
import traceback
from datetime import timedelta
from functools import partial
from pathlib import Path
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

import scorch
import scorch.nn
from scorch.distributed import RowSharded, add_gradients

close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-6)
NODES = 41


def matrix(rows=NODES, columns=NODES, density=0.15, seed=0, dtype=torch.float64):
    """The last rows are empty."""
    g = torch.Generator().manual_seed(seed)
    d = (torch.rand(rows, columns, generator=g) < density) * (torch.rand(rows, columns, generator=g) + 0.5)
    d[-3:] = 0
    return d.to(dtype)


def rand(*shape, seed=1, dtype=torch.float64):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def cuts(ranks, rows=NODES):
    """By entries, by rows, and parts of which one is empty and one large."""
    sizes = [0, rows - 5, 5] if ranks == 3 else [rows - 5, 5] if ranks == 2 else [rows - 9, 0, 7, 2]
    return "nnz", "rows", sizes


def products(rank, ranks, group):
    d, x, w = matrix(), rand(NODES, 3), rand(NODES, 3, seed=2)
    twin, features = d.clone().requires_grad_(), x.clone().requires_grad_()
    (twin @ features * w).sum().backward()
    for cut in cuts(ranks):
        P = RowSharded(scorch.sparse(d), group, cut)
        assert P.shape == (NODES, NODES) and len(P.rows) == len(P.local)
        P.local.requires_grad_()
        own = x[P.rows].requires_grad_()
        y = P @ own
        close(y, (d @ x)[P.rows])
        close(P.full(y), d @ x)
        close(P @ own[:, 0], (d @ x[:, 0])[P.rows])
        (y * w[P.rows]).sum().backward()
        close(own.grad, features.grad[P.rows])
        i, j = P.local.indices().long()
        names = P.gather(torch.arange(NODES)[P.columns])
        close(P.local.grad.values(), twin.grad[P.rows[i], names[j]])


def only_what_is_needed_moves(rank, ranks, group):
    """A ring: each rank needs a row of its two neighbours."""
    n = 12 * ranks
    i = torch.arange(n)
    ring = scorch.coo(torch.stack([i.repeat(3), torch.cat([i, i - 1, i + 1]) % n]), torch.ones(3 * n), (n, n))
    P = RowSharded(ring, group, "rows")
    counted = P.counted
    assert counted.moved == 2 * ranks and not counted.gathers and counted.received.tolist() == [2] * ranks
    assert f"rows of x that move: {2 * ranks}, " in P.plan() and "one exchange" in P.plan()
    assert len(P.gather(torch.rand(12))) == 14
    again = scorch.distributed.count_exchange(ring, P.cut)
    assert all(torch.equal(a, b) for a, b in zip(counted, again, strict=True))
    full = RowSharded(scorch.sparse(torch.ones(n, n)), group, "rows")
    assert full.counted.gathers and "all rows are gathered" in full.plan()
    x = rand(n, 2, dtype=torch.float32)
    own = x[full.rows].requires_grad_()
    (full @ own).sum().backward()
    close(full @ own, (torch.ones(n, n) @ x)[full.rows])
    close(own.grad, torch.full_like(own, n))


def other_ways_to_make_one(rank, ranks, group):
    d, x = matrix(), rand(NODES, 3)
    rows = torch.arange(NODES).tensor_split([5, 30, 34][: ranks - 1])[rank]
    P = RowSharded.from_rows(scorch.sparse(d[rows], "coo"), group)
    assert torch.equal(P.rows, rows)
    close(P @ x[rows], (d @ x)[rows])
    target, source = d.nonzero().T
    mine = torch.randperm(len(target), generator=torch.Generator().manual_seed(0)).tensor_split(ranks)[rank]
    edges, weight = torch.stack([source, target])[:, mine], d[target, source][mine]
    for cut in cuts(ranks):
        P = RowSharded.from_edges(edges, weight, group, cut, num_nodes=NODES)
        close(P.full(P @ x[P.rows]), d @ x)
    assert RowSharded.from_edges(edges, mesh=group).shape == (int(max(target.max(), source.max())) + 1,) * 2
    if group is None:
        mesh = init_device_mesh("cpu", (ranks,))
        assert torch.equal(RowSharded(scorch.sparse(d), mesh).rows, RowSharded(scorch.sparse(d)).rows)


def rectangles(rank, ranks, group):
    d, x, w = matrix(NODES, 17), rand(17, 3), rand(NODES, 3, seed=2)
    P = RowSharded(scorch.sparse(d), group)
    own = x[P.columns].requires_grad_()
    (y := P @ own).backward(w[P.rows])
    close(y, (d @ x)[P.rows])
    close(own.grad, (d.T @ w)[P.columns])
    wide = RowSharded(scorch.sparse(d.T.contiguous()), group)
    close(wide @ w[wide.columns], (d.T @ w)[wide.rows])


def another_order(rank, ranks, group):
    i = torch.randperm(64, generator=torch.Generator().manual_seed(3))
    near = ((i[:, None] - i).abs() < 4).double()
    A, x = scorch.sparse(near), rand(64, 2)
    plain = RowSharded(A, group).counted.moved
    for method in ("auto", "rcm", "degree"):
        P = RowSharded(A, group, reorder=method)
        close(P.full(P @ x[P.rows]), near @ x)
        assert torch.equal(P.full(P.rows), torch.arange(64))
        assert method == "degree" or P.counted.moved < plain / 2


def sampled_products(rank, ranks, group):
    d, q, k = matrix(), rand(NODES, 4), rand(NODES, 4, seed=2)
    P = RowSharded(scorch.sparse(d), group)
    leaves = [x[P.rows].requires_grad_() for x in (q, k)]
    S = P.sddmm(*leaves)
    wanted = [x.clone().requires_grad_() for x in (q, k)]
    whole = d * (wanted[0] @ wanted[1].T)
    close(S.full(S @ q[P.rows]), whole.detach() @ q)
    attention = P._like(scorch.softmax(S.local, 1))
    y = attention @ leaves[1]
    scores = torch.softmax(whole.masked_fill(d == 0, -torch.inf), 1).nan_to_num()
    z = scores @ wanted[1]
    close(y, z.detach()[P.rows])
    y.square().sum().backward()
    z[:-3].square().sum().backward()
    close(leaves[0].grad[P.rows < NODES - 3], wanted[0].grad[P.rows][P.rows < NODES - 3])
    close(leaves[1].grad, wanted[1].grad[P.rows])


class Propagated(nn.Module):
    """A dense layer before APPNP, which has no parameters."""

    def __init__(self, n, m, **options):
        super().__init__()
        self.lin, self.sums = nn.Linear(n, m), scorch.nn.APPNP(2, 0.25, **options)

    def forward(self, x, graph):
        return self.sums(self.lin(x), graph)


class Net(nn.Module):
    def __init__(self, make):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = make(6, 5), make(5, 4)

    def forward(self, x, graph):
        return self.last(torch.relu(self.first(x, graph)), graph)


def losses(net, graph, x, y, share, after):
    found = []
    for _ in range(5):  # plain steps: Adam divides what is zero, up to rounding, by itself
        net.zero_grad()
        loss = nn.functional.cross_entropy(net(x, graph), y, reduction="sum") / share
        loss.backward()
        found.append(after(loss.detach().clone()))
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.3 * p.grad
    return torch.stack(found)


def training(rank, ranks, group):
    """Losses of a step and those behind it are those of one process."""
    d, x = (matrix(density=0.1) > 0).float(), rand(NODES, 6, dtype=torch.float32)
    y, A = torch.arange(NODES) % 4, scorch.sparse(d)
    makes = (
        scorch.nn.GCNConv, scorch.nn.SAGEConv, partial(scorch.nn.SAGEConv, aggr="sum"), scorch.nn.GATConv,
        partial(scorch.nn.GATConv, add_self_loops=False), partial(scorch.nn.SGConv, K=2),
        partial(scorch.nn.GCNConv, normalize=False), Propagated, partial(Propagated, normalize=False),
    )  # fmt: skip
    for number, make in enumerate(makes):
        alone = losses(Net(make), A, x, y, NODES, lambda loss: loss)
        for cut in cuts(ranks) if number < 2 else cuts(ranks)[2:]:
            P, net = RowSharded(A, group, cut), Net(make)

            def after(loss, net=net):
                dist.all_reduce(loss, group=group)
                add_gradients(net.parameters(), group)
                return loss

            torch.testing.assert_close(
                losses(net, P, x[P.rows], y[P.rows], NODES, after), alone, rtol=1e-5, atol=1e-5
            )
        assert alone[-1] < alone[0]


def dropped_weights(rank, ranks, group):
    """APPNP drops weights of half of the edges and doubles the others, also in what flows back."""
    d, x = matrix(density=0.5, dtype=torch.float32) > 0, torch.ones(NODES, 3)
    P = RowSharded(scorch.sparse(d.float()), group, cuts(ranks)[2])
    layer = scorch.nn.APPNP(1, 0.5, dropout=0.5, normalize=False)
    own = x[P.rows].requires_grad_()
    y = layer(own, P)
    kept = 2 * y.detach() - 1  # the sums of twos
    assert torch.equal(kept % 2, torch.zeros_like(kept)) and (kept <= 2 * d.sum(1)[P.rows, None]).all()
    total = kept.sum()
    dist.all_reduce(total, group=group)
    assert 0 < total < 2 * 3 * d.sum()
    y.sum().backward()
    ones = own.grad.sum()
    dist.all_reduce(ones, group=group)
    close(ones, (total + 3 * NODES) / 2)
    assert torch.equal(layer.eval()(x[P.rows], P), (d.sum(1)[P.rows, None] + x[P.rows]) / 2)


def normalization(rank, ranks, group):
    d, x = matrix(), rand(NODES, 2)
    d[2, 2] = 7  # a loop that is there stays
    edges = d.nonzero().T
    for how in ("sym", "row"):
        for loops in (False, True, 2.0):
            A = scorch.from_edge_index(
                edges.flip(0), d[*edges], num_nodes=NODES, add_self_loops=loops, normalize=how
            )
            P = RowSharded(scorch.sparse(d), group, cuts(ranks)[2]).normalized(how, loops)
            close(P.full(P @ x[P.rows]), A @ x)


def second_derivatives(rank, ranks, group):
    d, x = matrix(20, 20, 0.3), rand(20, 2)
    P = RowSharded(scorch.sparse(d), group)
    own, twin = x[P.rows].requires_grad_(), x.clone().requires_grad_()
    found = []
    for y, leaf in ((P @ own, own), (d @ twin, twin)):
        (g,) = torch.autograd.grad(y.pow(3).sum(), leaf, create_graph=True)
        found += torch.autograd.grad(g.square().sum(), leaf)
    close(found[0], found[1][P.rows])


def refused(f, kind, says):
    try:
        f()
    except kind as error:
        assert re.search(says, str(error)), error
    else:
        raise AssertionError(f"expected {kind.__name__}: {says}")


def refusals(rank, ranks, group):
    A = scorch.sparse(matrix())
    refused(lambda: RowSharded(A.to_dense(), group), TypeError, "expected a SparseTensor")
    refused(lambda: RowSharded(A, group, "best"), ValueError, '"nnz", "rows"')
    why = (ValueError, "expected auto") if rank == 0 else (RuntimeError, "the first rank found no order")
    refused(lambda: RowSharded(A, group, reorder="best"), *why)
    refused(lambda: RowSharded.from_edges(torch.zeros(3, 2), mesh=group), ValueError, "shape .2, E")
    refused(lambda: RowSharded(A, group, [1] * ranks), ValueError, "sum to 41")
    refused(lambda: RowSharded(A, group) @ torch.rand(NODES, 2), ValueError, "rows that this rank has")
    refused(
        lambda: RowSharded.from_rows(scorch.sparse(torch.ones(2, 3 + rank)), group),
        ValueError,
        "as many columns",
    )
    edges = torch.tensor([[0], [rank * 9]])
    refused(
        lambda: RowSharded.from_edges(edges, mesh=group, num_nodes=3), ValueError, "in 0..2 on every rank"
    )
    kind = torch.float64 if rank else torch.float32
    one, kinds = torch.ones(1, dtype=kind), "float32.*float64"
    made = partial(RowSharded.from_edges, torch.tensor([[0], [1]]), mesh=group)
    refused(lambda: made(one, num_nodes=3), TypeError, f"edge_weight: .*{kinds}")
    refused(lambda: made(None if rank else one.double(), num_nodes=3), TypeError, "float64.*float32")
    refused(lambda: made(num_nodes=3 + rank), ValueError, r"num_nodes: .*\[3, 4")
    refused(lambda: made(num_nodes=3 if rank else None), ValueError, r"num_nodes: .*\[2, 3")
    assert made(num_nodes=2 if rank else None).shape == (2, 2)
    rows = scorch.sparse(torch.ones(2, 3, dtype=kind))
    refused(lambda: RowSharded.from_rows(rows, group), TypeError, f"from_rows: .*{kinds}")
    wide = RowSharded(scorch.sparse(torch.ones(4, 9)), group)
    refused(lambda: wide.normalized(), ValueError, "a square matrix")


def features_that_differ(rank, ranks, group):
    """In type or width, wherever rows are moved; those that agree are compared once."""
    kind = torch.float64 if rank else torch.float32
    for d in (torch.eye(12).roll(1, 0), torch.ones(12, 12)):
        P = RowSharded(scorch.sparse(d), group)
        n, layer = len(P.rows), scorch.nn.SAGEConv(2, 2)
        for f in (P.__matmul__, P.full, lambda x, P=P, layer=layer: layer(x, P)):
            refused(partial(f, torch.ones(n, 2 + rank)), ValueError, r"one width .*\[2, 3")
        for f in (P.__matmul__, P.full):
            refused(partial(f, torch.ones(n, 2, dtype=kind)), TypeError, "one type .*float32.*float64")
        x, other = rand(12, 2, dtype=torch.float32), rand(12, 3, dtype=torch.float32)
        close(P @ x[P.rows], (d @ x)[P.rows])
        with mock.patch("scorch.distributed._halo.compared", side_effect=AssertionError):
            close(P @ x[P.rows], (d @ x)[P.rows])
            close(P.with_values(P.values() * 2) @ x[P.rows], 2 * (d @ x)[P.rows])
        close(P @ other[P.rows], (d @ other)[P.rows])


CHECKS = (
    products, only_what_is_needed_moves, other_ways_to_make_one, rectangles, another_order, sampled_products,
    training, dropped_weights, normalization, second_derivatives, refusals,
    features_that_differ,
)  # fmt: skip


def main() -> None:
    rank, ranks, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    torch.set_num_threads(1)
    refused(lambda: RowSharded(scorch.sparse(torch.eye(2))), RuntimeError, "init_process_group")
    try:
        dist.init_process_group(
            "gloo", init_method=f"file://{folder}/store", timeout=timedelta(seconds=15), rank=rank,
            world_size=ranks,
        )  # fmt: skip
    except RuntimeError as error:
        sys.exit(f"cannot bind: {error}")
    two = dist.new_group([0, 1])
    for size, group in ((ranks, None), (2, two)):
        for check in CHECKS if rank < size else ():
            try:
                check(rank, size, group)
                print(check.__name__, size, "ok", flush=True)
            except Exception:  # of every check all ranks are to hear
                print(check.__name__, size, traceback.format_exc(), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""Loaders of torch_geometric that sample neighbours, without pyg-lib and torch-sparse."""

import os
import subprocess
import sys

import pytest
import torch

import scorch

pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
import torch_geometric.typing
from torch_geometric.data import Data
from torch_geometric.loader import ImbalancedSampler, LinkNeighborLoader, NeighborLoader
from torch_geometric.nn import SAGEConv

assert scorch.pyg  # as the import of torch_geometric made it
pytestmark = [
    pytest.mark.filterwarnings("ignore:Using 'NeighborSampler' without"),
    pytest.mark.skipif(
        torch_geometric.typing.WITH_PYG_LIB or torch_geometric.typing.WITH_TORCH_SPARSE,
        reason="pyg-lib or torch-sparse samples here",
    ),
]
NODES, EDGES = 50, 400


def data():
    """Features that are the numbers of nodes, parallel edges among others."""
    g = torch.Generator().manual_seed(0)
    edges = torch.randint(NODES, (2, EDGES), generator=g)
    w = torch.rand(EDGES, generator=g) * (torch.arange(EDGES) % 3 > 0)
    return Data(x=torch.arange(NODES), edge_index=edges, edge_attr=torch.arange(EDGES), w=w)


def hops(batch):
    """The number of hops from the seeds to each node of a batch."""
    far = [h for h, n in enumerate(batch.num_sampled_nodes) for _ in range(n)]
    return torch.tensor(far)


@pytest.mark.parametrize("how", ({}, {"replace": True}, {"weight_attr": "w"}, {"num_workers": 1}), ids=str)
def test_batches_are_edges_of_the_graph(how):
    d, seen = data(), []
    degree = torch.bincount(d.edge_index[1], minlength=NODES)
    for batch in NeighborLoader(d, [3, 2], input_nodes=torch.arange(10, 45), batch_size=16, **how):
        assert torch.equal(batch.x, batch.n_id) and torch.equal(batch.edge_attr, batch.e_id)
        assert torch.equal(batch.n_id[batch.edge_index], d.edge_index[:, batch.e_id])
        assert len(batch.n_id.unique()) == len(batch.n_id)
        assert batch.num_sampled_nodes[0] == batch.batch_size
        seen.append(batch.n_id[: batch.batch_size])
        far, count = hops(batch), torch.bincount(batch.edge_index[1], minlength=len(batch.x))
        for hop, fanout in enumerate((3, 2)):
            rows = far == hop
            if not how.get("weight_attr"):
                own = degree[batch.n_id[rows]]
                wanted = fanout * (own > 0) if how.get("replace") else own.clamp(max=fanout)
                assert torch.equal(count[rows], wanted)
        assert not count[far == 2].any()
        if how.get("weight_attr"):
            assert (batch.w > 0).all()
        if not how.get("replace"):
            assert len(batch.e_id.unique()) == len(batch.e_id)
    assert torch.equal(torch.cat(seen), torch.arange(10, 45))


def test_induced_and_bidirectional_batches():
    d = data()
    for batch in NeighborLoader(d, [3, 2], batch_size=8, subgraph_type="induced"):
        inside = torch.isin(d.edge_index, batch.n_id).all(0).nonzero().view(-1)
        assert torch.equal(batch.e_id.sort()[0], inside)
        assert torch.equal(batch.n_id[batch.edge_index], d.edge_index[:, batch.e_id])
    batch = next(iter(NeighborLoader(d, [3, 2], batch_size=8, subgraph_type="bidirectional")))
    pairs = {tuple(e) for e in batch.edge_index.T.tolist()}
    assert pairs == {(b, a) for a, b in pairs}


def test_all_neighbours_give_what_the_graph_gives():
    d, x = data(), torch.rand(NODES, 4)
    d.x = x
    first, last = SAGEConv(4, 5), SAGEConv(5, 3)
    whole = last(first(x, d.edge_index).relu(), d.edge_index)
    for batch in NeighborLoader(d, [-1, -1], batch_size=7):
        y = last(first(batch.x, batch.edge_index).relu(), batch.edge_index)[: batch.batch_size]
        torch.testing.assert_close(y, whole[batch.n_id[: batch.batch_size]])


@pytest.mark.parametrize("kind", ("directional", "induced"))
def test_seeds_that_come_again(kind):
    """Each has a row and edges of its own."""
    d, x = data(), torch.rand(NODES, 4)
    d.x, d.y = x, torch.arange(NODES) % 3
    layer = SAGEConv(4, 5)
    whole, often = layer(x, d.edge_index), 0
    given = {"input_nodes": torch.tensor([3, 4, 3])}, {"sampler": ImbalancedSampler(d.y)}
    for how in given:
        for batch in NeighborLoader(d, [-1, -1], batch_size=16, subgraph_type=kind, **how):
            seeds = batch.n_id[: batch.batch_size]
            assert torch.equal(d.y[seeds], batch.y[: batch.batch_size])
            assert torch.equal(batch.n_id[batch.edge_index], d.edge_index[:, batch.e_id])
            torch.testing.assert_close(layer(batch.x, batch.edge_index)[: len(seeds)], whole[seeds])
            often += len(seeds) - len(seeds.unique())
    assert often > 1
    batch = next(iter(NeighborLoader(d, [100], torch.tensor([3, 4, 3]), replace=True, batch_size=3)))
    assert torch.equal(batch.edge_index[1].bincount(), torch.full((3,), 100))
    assert not torch.isin(batch.edge_index[0], 2).any()


def test_a_seed_decides():
    found = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        found.append(torch.cat([b.e_id for b in NeighborLoader(data(), [2, 2], batch_size=10)]))
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])


def test_links():
    for batch in LinkNeighborLoader(data(), [2], batch_size=100, neg_sampling_ratio=1.0):
        assert batch.edge_label_index.shape == (2, 200) and int(batch.edge_label_index.max()) < len(batch.x)


@pytest.mark.parametrize("how", ({"disjoint": True}, {"time_attr": "x"}), ids=str)
def test_what_is_left_out_asks_for_what_has_it(how):
    with pytest.raises((ImportError, ValueError), match=r"pyg-lib|input_time"):
        next(iter(NeighborLoader(data(), [2], batch_size=5, **how)))


@pytest.mark.slow
def test_they_can_be_left_as_they_are():
    code = (
        "import scorch, torch; from torch_geometric.data import Data; "
        "from torch_geometric.loader import NeighborLoader; "
        "next(iter(NeighborLoader(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2), [1])))"
    )
    for off in (False, True):
        place = {**os.environ, **({"SCORCH_PYG": "off"} if off else {})}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=place)
        assert (done.returncode != 0) == off and ("ImportError" in done.stderr) == off, done.stderr

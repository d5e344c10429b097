"""Layers of torch_geometric over a SparseTensor, against the same layers over a CSR tensor of torch."""

import copy
import ctypes
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch

import scorch
from benchmarks.data import SIZES, Case, citation, title
from benchmarks.peers import geometric

WIDTH, FEATURES, RELATIONS = 64, 4, 3  # of nodes before and after, of edges; kinds of edges


class Layer(NamedTuple):
    """How a layer is made for widths before and after, and what it is called with beside x and the graph."""

    make: Callable[[Any, int, int], torch.nn.Module]
    given: str = ""  # weights of edges, features or types of them, or something of nodes: see called
    timed: bool = True


def _mlp(before: int, after: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(before, after), torch.nn.ReLU(), torch.nn.Linear(after, after))


DEGREES = torch.ones(64, dtype=torch.int64)  # how often each degree occurs, for layers that scale by it
LAYERS = {
    "GCNConv": Layer(lambda g, i, o: g.GCNConv(i, o), "weights"),
    "GCNConv, improved": Layer(lambda g, i, o: g.GCNConv(i, o, improved=True), "weights"),
    "GCNConv, cached": Layer(lambda g, i, o: g.GCNConv(i, o, cached=True), "weights"),
    "GCNConv, as given": Layer(lambda g, i, o: g.GCNConv(i, o, normalize=False), "weights"),
    "ChebConv": Layer(lambda g, i, o: g.ChebConv(i, o, 2), "weights"),
    "SAGEConv, mean": Layer(lambda g, i, o: g.SAGEConv(i, o)),
    "SAGEConv, max": Layer(lambda g, i, o: g.SAGEConv(i, o, aggr="max")),
    "SAGEConv, min": Layer(lambda g, i, o: g.SAGEConv(i, o, aggr="min")),
    "SAGEConv, sum": Layer(lambda g, i, o: g.SAGEConv(i, o, aggr="sum")),
    "SAGEConv, lstm": Layer(lambda g, i, o: g.SAGEConv(i, o, aggr="lstm"), timed=False),
    "SAGEConv, two": Layer(lambda g, i, o: g.SAGEConv(i, o, aggr=["mean", "max"])),
    "GraphConv": Layer(lambda g, i, o: g.GraphConv(i, o), "weights"),
    "GraphConv, mean": Layer(lambda g, i, o: g.GraphConv(i, o, aggr="mean"), "weights"),
    "GraphConv, max": Layer(lambda g, i, o: g.GraphConv(i, o, aggr="max"), "weights"),
    "GatedGraphConv": Layer(lambda g, i, o: g.GatedGraphConv(i, 2), "weights"),
    "ResGatedGraphConv": Layer(lambda g, i, o: g.ResGatedGraphConv(i, o)),
    "GATConv": Layer(lambda g, i, o: g.GATConv(i, max(o // 8, 1), heads=8)),
    "GATConv, averaged": Layer(lambda g, i, o: g.GATConv(i, o, heads=2, concat=False, add_self_loops=False)),
    "GATConv, residual": Layer(lambda g, i, o: g.GATConv(i, o, residual=True, bias=False)),
    "GATv2Conv": Layer(lambda g, i, o: g.GATv2Conv(i, max(o // 8, 1), heads=8)),
    "TransformerConv": Layer(lambda g, i, o: g.TransformerConv(i, o)),
    "AGNNConv": Layer(lambda g, i, o: g.AGNNConv()),
    "TAGConv": Layer(lambda g, i, o: g.TAGConv(i, o), "weights"),
    "GINConv": Layer(lambda g, i, o: g.GINConv(_mlp(i, o), train_eps=True)),
    "GINEConv": Layer(lambda g, i, o: g.GINEConv(_mlp(i, o), edge_dim=FEATURES), "features"),
    "ARMAConv": Layer(lambda g, i, o: g.ARMAConv(i, o), "weights"),
    "SGConv": Layer(lambda g, i, o: g.SGConv(i, o, K=2), "weights"),
    "SSGConv": Layer(lambda g, i, o: g.SSGConv(i, o, alpha=0.1, K=2), "weights"),
    "APPNP": Layer(lambda g, i, o: g.APPNP(4, 0.1), "weights"),
    "MFConv": Layer(lambda g, i, o: g.MFConv(i, o)),
    "RGCNConv": Layer(lambda g, i, o: g.RGCNConv(i, o, RELATIONS), "types"),
    "FastRGCNConv": Layer(lambda g, i, o: g.FastRGCNConv(i, o, RELATIONS), "types", timed=False),
    "SignedConv": Layer(lambda g, i, o: g.SignedConv(i, o, first_aggr=True), "negative"),
    "DNAConv": Layer(lambda g, i, o: g.DNAConv(i), "layers", timed=False),
    "PointTransformerConv": Layer(lambda g, i, o: g.PointTransformerConv(i, o), "places"),
    "PointNetConv": Layer(lambda g, i, o: g.PointNetConv(_mlp(i + 3, o)), "places"),
    "PPFConv": Layer(lambda g, i, o: g.PPFConv(_mlp(i + 4, o)), "normals"),
    "GMMConv": Layer(lambda g, i, o: g.GMMConv(i, o, FEATURES, 3), "features"),
    "NNConv": Layer(lambda g, i, o: g.NNConv(i, o, _mlp(FEATURES, i * o)), "features", timed=False),
    "CGConv": Layer(lambda g, i, o: g.CGConv(i, dim=FEATURES), "features"),
    "EdgeConv": Layer(lambda g, i, o: g.EdgeConv(_mlp(2 * i, o))),
    "FeaStConv": Layer(lambda g, i, o: g.FeaStConv(i, o, 2)),
    "LEConv": Layer(lambda g, i, o: g.LEConv(i, o), "weights"),
    "PNAConv": Layer(lambda g, i, o: g.PNAConv(i, o, ["mean", "max"], ["identity"], DEGREES)),
    "ClusterGCNConv": Layer(lambda g, i, o: g.ClusterGCNConv(i, o)),
    "GENConv": Layer(lambda g, i, o: g.GENConv(i, o)),
    "GCN2Conv": Layer(lambda g, i, o: g.GCN2Conv(i, 0.1), "first and weights"),
    "WLConvContinuous": Layer(lambda g, i, o: g.WLConvContinuous(), "weights"),
    "FiLMConv": Layer(lambda g, i, o: g.FiLMConv(i, o)),
    "SuperGATConv": Layer(lambda g, i, o: g.SuperGATConv(i, o).eval()),
    "FAConv": Layer(lambda g, i, o: g.FAConv(i, eps=0.1), "first"),
    "EGConv": Layer(lambda g, i, o: g.EGConv(i, o, num_heads=2)),
    "EGConv, four": Layer(
        lambda g, i, o: g.EGConv(i, o, num_heads=2, aggregators=["sum", "mean", "max", "symnorm"])
    ),
    "PDNConv": Layer(lambda g, i, o: g.PDNConv(i, o, FEATURES, 5), "features"),
    "GeneralConv": Layer(lambda g, i, o: g.GeneralConv(i, o, FEATURES, attention=True), "features"),
    "LGConv": Layer(lambda g, i, o: g.LGConv(), "weights"),
    "MixHopConv": Layer(lambda g, i, o: g.MixHopConv(i, o), "weights"),
    "RGATConv": Layer(lambda g, i, o: g.RGATConv(i, o, RELATIONS), "types"),
    "SimpleConv": Layer(lambda g, i, o: g.SimpleConv("mean"), "weights"),
    "DirGNNConv": Layer(lambda g, i, o: g.DirGNNConv(g.SAGEConv(i, o))),
    "AntiSymmetricConv": Layer(lambda g, i, o: g.AntiSymmetricConv(i)),
    "GPSConv": Layer(lambda g, i, o: g.GPSConv(i, g.SAGEConv(i, i)).eval(), timed=False),
    "HEATConv": Layer(lambda g, i, o: g.HEATConv(i, o, 2, RELATIONS, 3, FEATURES, 4), "heterogeneous"),
}


def _keep_memory() -> None:
    """Lets glibc keep what is freed. Else which of two layers with a row an edge pays for pages that are new
    to the process is a matter of what was called before it."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        for parameter, value in ((-1, 2**31 - 1), (-4, 0)):  # M_TRIM_THRESHOLD, M_MMAP_MAX
            libc.mallopt(parameter, value)


def matrix_of(edges: torch.Tensor, weights: torch.Tensor, nodes: int) -> torch.Tensor:
    """The CSR tensor of torch [targets, sources] of distinct edges."""
    coo = torch.sparse_coo_tensor(edges.flip(0), weights, (nodes, nodes))
    return coo.coalesce().to_sparse_csr()


def called(layer: torch.nn.Module, given: str, x: torch.Tensor, graph: torch.Tensor, weights: torch.Tensor):
    """What a layer makes of a graph: edges, whose weights go with them, or a matrix that holds them."""
    listed = graph.dtype is torch.int64
    random = torch.Generator().manual_seed(0)
    some = partial(torch.rand, generator=random)
    ids = lambda n, count: torch.randint(n, (count,), generator=random)  # noqa: E731
    nodes, edges = len(x), len(weights)
    extra = {
        "": lambda: (x, graph),
        "weights": lambda: (x, graph, weights)[: 3 if listed else 2],
        "features": lambda: (x, graph, some(edges, FEATURES)),
        "types": lambda: (x, graph, ids(RELATIONS, edges)),
        "negative": lambda: (x, graph, graph),
        "places": lambda: (x, some(nodes, 3), graph),
        "normals": lambda: (x, some(nodes, 3), some(nodes, 3), graph),
        "first": lambda: (x, some(x.shape), graph),
        "first and weights": lambda: (x, some(x.shape), graph, weights)[: 4 if listed else 3],
        "layers": lambda: (x[:, None].expand(-1, 2, -1), graph),
        "heterogeneous": lambda: (x, graph, ids(2, nodes), ids(RELATIONS, edges), some(edges, FEATURES)),
    }
    return layer(*extra[given]())


def gradients(layer: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    """Those of x and of the parameters."""
    wanted = [x, *(p for p in layer.parameters() if p.requires_grad)]
    return torch.autograd.grad(y, wanted, torch.cos(y.detach()), allow_unused=True)


def _trained(layer: torch.nn.Module, call: Callable, x: torch.Tensor) -> torch.Tensor:
    found = gradients(layer, x, call())
    return torch.cat([g.flatten() for g in found if g is not None])


def pyg(root: str | None) -> Iterator[Case]:
    """Layers over the citation graphs, 64 features before and after: inference, and a step with gradients of
    features and weights. Left out are those that torch CSR does not pass, and that take gigabytes."""
    if not geometric():
        return
    import torch_geometric.nn as nn

    _keep_memory()
    for name in SIZES:
        graph = citation(name, root)
        nodes, edges = len(graph.x), torch.unique(graph.edge_index.flip(0), dim=1).flip(0)
        for kind, layer in LAYERS.items():
            if layer.timed:
                yield from _cases(f"{title(name, graph)}, {kind}", layer, nn, nodes, edges)


def _cases(name: str, layer: Layer, nn: Any, nodes: int, edges: torch.Tensor) -> Iterator[Case]:
    torch.manual_seed(0)
    x, first = torch.randn(nodes, WIDTH).requires_grad_(), layer.make(nn, WIDTH, WIDTH)
    weights = torch.rand(edges.shape[1]) if "weights" in layer.given else torch.ones(edges.shape[1])
    csr = matrix_of(edges, weights, nodes)
    try:  # what torch does not pass is not compared
        called(copy.deepcopy(first), layer.given, x, csr, weights)
    except (NotImplementedError, RuntimeError, IndexError):
        return
    ways = {"torch CSR": csr, "Scorch": scorch.from_edge_index(edges, weights, num_nodes=nodes)}
    modules = {n: copy.deepcopy(first) for n in ways}  # some keep what they made of a graph
    calls = {n: partial(called, modules[n], layer.given, x, g, weights) for n, g in ways.items()}
    against = {"Scorch": ("torch CSR",)}
    yield Case(f"{name}, inference", {n: torch.no_grad()(c) for n, c in calls.items()}, against)
    steps = {n: partial(_trained, modules[n], c, x) for n, c in calls.items()}
    yield Case(f"{name}, training", steps, against)


SUITES = {"pyg": pyg}

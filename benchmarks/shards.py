"""Matrices cut over many ranks: ``python -m benchmarks.shards`` counts what moves and how even cuts are.

No process is started and nothing is timed: an R-MAT graph (Chakrabarti et al., 2004; 0.57, 0.19, 0.19, 0.05)
whose nodes are renumbered at random, and a grid renumbered so, are cut for 2 to 1024 ranks as ``RowSharded``
cuts them, and the rows of x that would move in a product are counted. So they are for citation graphs, which
have a good cut, and for an R-MAT graph as dense as social ones, which has none, in units of all rows.
"""

import argparse

import torch

import scorch
from benchmarks.data import SIZES, citation, title
from examples.timing import table
from scorch.distributed import Exchange, count_exchange, cut_rows, partition

RANKS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
METHODS = (None, "rcm", "metis")
QUADRANTS = torch.tensor([0.57, 0.19, 0.19, 0.05])


def rmat(scale: int, degree: int = 16) -> scorch.SparseTensor:
    """A graph of 2^scale nodes, edges in both directions, each once."""
    g = torch.Generator().manual_seed(0)
    n, source = 2**scale, torch.zeros(degree << scale, dtype=torch.long)
    target = source.clone()
    for bit in range(scale):
        quadrant = torch.multinomial(QUADRANTS, len(source), replacement=True, generator=g)
        source += (quadrant >> 1) << bit
        target += (quadrant & 1) << bit
    return _graph(torch.stack([source, target]), n, g)


def grid(side: int) -> scorch.SparseTensor:
    """Nodes with four neighbours."""
    i = torch.arange(side * side).view(side, side)
    edges = [torch.stack([a.flatten(), b.flatten()]) for a, b in ((i[1:], i[:-1]), (i[:, 1:], i[:, :-1]))]
    return _graph(torch.cat(edges, 1), side * side, torch.Generator().manual_seed(0))


def _graph(edges: torch.Tensor, n: int, generator: torch.Generator) -> scorch.SparseTensor:
    edges = torch.randperm(n, generator=generator)[edges[:, edges[0] != edges[1]]]
    made = scorch.from_edge_index(torch.cat([edges, edges.flip(0)], 1), num_nodes=n)
    return made._with_values(torch.ones(made.nnz))


def counted(A: scorch.SparseTensor, ranks: int, cut: str, method: str | None) -> Exchange:
    if method is not None:
        found = partition(A, ranks, method)
        A, cut = A.submatrix(found.order, found.order), found.sizes or cut
    return count_exchange(A, cut_rows(A.pos(1).diff(), ranks, cut))


def row(ranks: int, found: Exchange) -> list[str]:
    busiest, mean = int(torch.maximum(found.received, found.sent).max()), found.moved / ranks
    share = found.moved / ((ranks - 1) * int(found.own.sum()))
    return [
        str(ranks),
        f"{found.imbalance:.2f}",
        f"{share:.1%}",
        f"{mean:.0f}",
        f"{busiest / max(mean, 1):.2f}",
    ]


def whole(ranks: int, scale: int, root: str | None) -> list[list[str]]:
    """Rows that all ranks receive in a product, over those there are; where all is gathered ranks - 1."""
    graphs = {
        title(name, g := citation(name, root)): scorch.from_edge_index(g.edge_index, num_nodes=len(g.x))
        for name in SIZES
    }
    graphs[f"R-MAT {scale}, 64 edges a node"] = rmat(scale, 64)
    rows = []
    for name, A in graphs.items():
        found = [counted(A, ranks, "nnz", method) for method in METHODS]
        cells = [f"{x.moved / A.shape[0]:.2f}, {x.imbalance:.2f}" for x in found]
        rows.append([name, str(A.shape[0]), str(A.nnz), *cells])
    return rows


HEAD = ["ranks", "entries, most / mean", "moved / all", "rows moved a rank", "busiest / mean"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shards", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=17, help="2^scale nodes")
    parser.add_argument("--metis", type=int, default=14, help="the scale of graphs that METIS cuts too")
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS)
    parser.add_argument("--root", help="folder with Planetoid's raw files (default: $SCORCH_DATA)")
    args = parser.parse_args()
    small, mesh = rmat(args.metis), grid(2 ** (args.metis // 2))
    large = rmat(args.scale)
    graphs = [
        (f"R-MAT {args.scale}", large, "rows", None),
        (f"R-MAT {args.scale}", large, "nnz", None),
        *((f"R-MAT {args.metis}", small, "nnz", method) for method in METHODS if method != "rcm"),
        *(("grid", mesh, "nnz", method) for method in METHODS),
    ]
    for name, A, cut, method in graphs:
        how = f", in the order of {method}" * bool(method)
        rows = [row(n, counted(A, n, cut, method)) for n in args.ranks]
        print(f"\n{name}: {A.shape[0]} nodes, {A.nnz} entries, cut by {cut}{how}:\n")
        print(table(HEAD, rows, markdown=True), flush=True)
    names = ["any order", *(method for method in METHODS if method)]
    print("\nWhole graphs, four ranks: rows received over all rows (gathered: 3), entries most / mean:\n")
    print(table(["graph", "nodes", "entries", *names], whole(4, args.metis, args.root), markdown=True))


if __name__ == "__main__":
    main()

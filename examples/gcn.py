"""A graph convolutional network (Kipf and Welling, 2017) with sparse adjacency and sparse features.

    python examples/gcn.py --compare                     # Cora if its files are found, else a generated graph
    python examples/gcn.py --dataset karate
    python examples/gcn.py --dataset cora --root DIR --compare --plot gcn.png

A short training in plain torch gives the weights; then the same model runs on dense tensors, on torch.sparse
and on Scorch. What a user changes are the two lines in `scorch_inputs`: model and call stay as they are.
"""

import argparse
import sys
import warnings
from pathlib import Path

import torch
from torch import nn

import planetoid
import scorch
from timing import human, interleave, show

DENSE_LIMIT = 8000  # nodes; a dense adjacency of more is left out of the comparison


class GCN(nn.Module):
    def __init__(self, features: int, hidden: int, classes: int):
        super().__init__()
        self.W1 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(features, hidden)))
        self.W2 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(hidden, classes)))

    def forward(self, A, X):
        """A [nodes, nodes], X [nodes, features], each dense or sparse -> logits [nodes, classes]."""
        H = torch.relu(A @ (X @ self.W1))
        return A @ (H @ self.W2)


def scorch_inputs(graph: planetoid.Graph):
    """The sparse adjacency with self-loops, normalised, and the sparse features."""
    edge_index, X, N = graph.edge_index, graph.x, len(graph.x)
    A = scorch.from_edge_index(edge_index, num_nodes=N, add_self_loops=True, normalize="sym")
    X = scorch.sparse(X, format="csr")
    return A, X


def torch_adjacency(graph: planetoid.Graph) -> torch.Tensor:
    """D^-1/2 (A + I) D^-1/2 as a coalesced torch COO tensor [nodes, nodes]."""
    nodes = len(graph.x)
    index = torch.cat([graph.edge_index, torch.arange(nodes).expand(2, -1)], 1)
    scale = torch.bincount(index[0], minlength=nodes).float().rsqrt()
    return torch.sparse_coo_tensor(index, scale[index[0]] * scale[index[1]], (nodes, nodes)).coalesce()


def train(model: GCN, graph: planetoid.Graph, epochs: int) -> None:
    """The paper's recipe in plain torch: Adam, dropout on features and hidden units, decay of W1."""
    A, X = torch_adjacency(graph), graph.x.to_sparse_coo()
    optimizer = torch.optim.Adam(
        [{"params": [model.W1], "weight_decay": 5e-4}, {"params": [model.W2]}], lr=0.01
    )
    for _ in range(epochs):
        optimizer.zero_grad()
        kept = torch.sparse_coo_tensor(X.indices(), nn.functional.dropout(X.values(), 0.5), X.shape)
        H = torch.relu(A @ (kept @ model.W1))
        logits = A @ (nn.functional.dropout(H, 0.5) @ model.W2)
        nn.functional.cross_entropy(logits[graph.train], graph.y[graph.train]).backward()
        optimizer.step()


def accuracy(logits: torch.Tensor, graph: planetoid.Graph) -> float:
    return (logits.argmax(1) == graph.y)[graph.test].float().mean().item()


def torch_inputs(graph: planetoid.Graph) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """The ways to hold A and X in torch itself."""
    coo, X = torch_adjacency(graph), graph.x
    csr = coo.to_sparse_csr()
    inputs = {
        "torch.sparse COO": (coo, X),
        "torch.sparse CSR": (csr, X),
        "torch.sparse COO, X sparse too": (coo, X.to_sparse_coo()),
        "torch.sparse CSR, X sparse too": (csr, X.to_sparse_csr()),
    }
    return {"dense": (coo.to_dense(), X), **inputs} if len(X) <= DENSE_LIMIT else inputs


@torch.no_grad()
def compare(model: GCN, graph: planetoid.Graph, seconds: float) -> tuple[dict, bool]:
    """Times by name, and whether all logits agree with the first way's."""
    inputs = {**torch_inputs(graph), "Scorch": scorch_inputs(graph)}
    logits = {name: model(*pair) for name, pair in inputs.items()}
    expected = next(iter(logits.values()))
    agree = True
    for name, got in logits.items():
        error = (got - expected).abs().max().item()
        if error > 1e-4 * expected.abs().max().item():
            agree = False
            print(f"{name}: logits differ by {error:.1e} from {next(iter(logits))}", file=sys.stderr)
    calls = {name: (lambda pair=pair: model(*pair)) for name, pair in inputs.items()}
    return interleave(calls, seconds), agree


def plot(times: dict, title: str, path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = list(times)[::-1]
    figure, axes = plt.subplots(figsize=(8, 0.5 * len(names) + 1.2), layout="constrained")
    bars = axes.barh(
        names,
        [times[n].min * 1e3 for n in names],
        color=["#d95f02" if n == "Scorch" else "#8da0b3" for n in names],
    )
    axes.bar_label(bars, [human(times[n].min) for n in names], padding=4)
    axes.set(title=title, xlabel="milliseconds for one inference (minimum)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.12)
    figure.savefig(path, dpi=150)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", choices=["cora", "citeseer", "pubmed", "karate", "synthetic"])
    parser.add_argument("--root", help="folder with Planetoid's raw files (default: $SCORCH_DATA)")
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--weights", metavar="FILE", help="load from FILE; train and save there if it is absent"
    )
    parser.add_argument("--compare", action="store_true", help="time dense torch, torch.sparse and Scorch")
    parser.add_argument("--seconds", type=float, default=3.0, help="time to spend on the comparison")
    parser.add_argument("--plot", metavar="FILE", help="also draw a bar chart (needs matplotlib)")
    return parser.parse_args(argv)


def weights(model: GCN, graph: planetoid.Graph, path: str | None, epochs: int) -> None:
    if path and Path(path).exists():
        model.load_state_dict(torch.load(path, weights_only=True))
        return
    train(model, graph, epochs)
    if path:
        torch.save(model.state_dict(), path)
        print(f"trained for {epochs} epochs, weights saved to {path}")


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    torch.manual_seed(args.seed)
    name = args.dataset or ("cora" if planetoid.find("cora", args.root) else "synthetic")
    try:
        graph = planetoid.load(name, args.root)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    model = GCN(graph.x.shape[1], args.hidden, graph.classes)
    weights(model, graph, args.weights, args.epochs)

    A, X = scorch_inputs(graph)
    print(f"{graph.name}{f' ({graph.note})' if graph.note else ''}\nA = {A}\nX = {X}")
    with torch.no_grad():
        print(f"test accuracy {accuracy(model(A, X), graph):.1%} on {len(graph.test)} nodes\n")
    if not (args.compare or args.plot):
        return 0
    times, agree = compare(model, graph, args.seconds)
    show("inference", times)
    if len(graph.x) > DENSE_LIMIT:
        print(f"dense torch left out: its adjacency would take {len(graph.x) ** 2 * 4 / 1e9:.1f} GB")
    print("all logits agree" if agree else "LOGITS DIFFER")
    if args.plot:
        plot(times, f"GCN inference, {graph.name}, {torch.get_num_threads()} threads", args.plot)
    return 0 if agree else 1


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="Sparse ")  # torch.sparse's notes on beta state and checks
    sys.exit(main())

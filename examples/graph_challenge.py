"""Inference of the Sparse DNN Graph Challenge (Kepner et al., 2019): sparse activations, sparse layers.

    python examples/graph_challenge.py --compare                     # generated layers like RadiX-Net's
    python examples/graph_challenge.py --folder DIR --compare        # DIR has n1024-l1.mtx, n1024-l2.mtx ..

Each layer is Y = min(relu(Y W + b), 32), with W sparse and b the same negative number everywhere. The diff:

    -Z = Y @ W; z = (Z.values() + b).relu().clamp(max=32)   # and a new tensor of Z's structure, without zeros
    +Y = scorch.evaluate("Z[i,k] = min(relu(Y[i,j] * W[j,k] + b), 32)", Y=Y, W=W, b=b, format="csr")
"""

import argparse
import os
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import torch

import scorch
from timing import compare

LAYER = "Z[i,k] = min(relu(Y[i,j] * W[j,k] + b), 32)"
BIAS = {1024: -0.3, 4096: -0.35, 16384: -0.4, 65536: -0.45}


# ---- layers ----
def read_matrix(path: Path) -> torch.Tensor:
    """A Matrix Market file of coordinates as a torch COO tensor, float32; a pattern is ones."""
    with open(path) as file:
        head = file.readline().split()
        if head[:3] != ["%%MatrixMarket", "matrix", "coordinate"] or head[4:] != ["general"]:
            raise ValueError(f"{path}: expected a general coordinate matrix, got {' '.join(head)!r}")
        line = file.readline()
        while line.startswith("%"):
            line = file.readline()
        rows, columns, _ = map(int, line.split())
        entries = np.loadtxt(file, ndmin=2)
    index = torch.from_numpy(entries[:, :2].T.astype(np.int64) - 1)
    values = torch.ones(len(entries)) if head[3] == "pattern" else torch.from_numpy(entries[:, 2]).float()
    return torch.sparse_coo_tensor(index, values, (rows, columns)).coalesce()


def read(folder: Path) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Images and layers, in the layers' order."""
    number = {p: int(m[1]) for p in folder.glob("*.mtx") if (m := re.search(r"-l(\d+)\.mtx$", p.name))}
    images = list(folder.glob("*images*.mtx"))
    if not number or not images:
        raise FileNotFoundError(f"expected *-l1.mtx, *-l2.mtx .. and *images*.mtx in {folder}")
    return read_matrix(images[0]), [read_matrix(p) for p in sorted(number, key=number.get)]


def generate(neurons: int, layers: int, images: int, seed: int = 0) -> tuple[torch.Tensor, list]:
    """Butterflies as RadiX-Net has them, 32 inputs a neuron, 2^s apart, shuffled; images up to 32 % dense."""
    random = torch.Generator().manual_seed(seed)
    made, fan = [], min(32, neurons)
    for layer in range(layers):
        step = 1 << layer % max(1, (neurons // fan).bit_length())
        row = torch.arange(neurons).repeat_interleave(fan)
        column = (row + step * torch.arange(fan).repeat(neurons)) % neurons
        column = torch.randperm(neurons, generator=random)[column]
        made.append(torch.sparse_coo_tensor(torch.stack([column, row]), torch.full((len(row),), 2 / fan)))
    share = 0.32 * torch.rand(images, 1, generator=random)
    strokes = torch.rand(images, neurons, generator=random) < share
    return strokes.float().to_sparse_coo(), [w.coalesce() for w in made]


# ---- the network, four ways ----
def in_scorch(Y, layers, b):
    """Y [images, neurons] sparse or dense, layers sparse -> the last activations, in Y's format"""
    for W in layers:
        Y = scorch.evaluate(LAYER, Y=Y, W=W, b=b, format=str(getattr(Y, "format", "dense")))
    return Y


def in_torch_sparse(Y, layers, b):
    """torch CSR times torch CSR; the zeros of the activations are dropped."""
    for W in layers:
        Z = (Y @ W).to_sparse_coo()
        values = (Z.values() + b).relu().clamp(max=32)
        keep = values != 0
        Y = torch.sparse_coo_tensor(Z.indices()[:, keep], values[keep], Z.shape, is_coalesced=True)
        Y = Y.to_sparse_csr()
    return Y


def in_torch(Y, layers, b):
    """Dense activations [neurons, images], layers torch CSR, transposed."""
    for W in layers:
        Y = (W @ Y).add_(b).relu_().clamp_(max=32)
    return Y


def in_scipy(Y, layers, b):
    for W in layers:
        Y = Y @ W
        Y.data = np.clip(Y.data + b, 0, 32)
        Y.eliminate_zeros()
    return Y


def candidates(images: torch.Tensor, layers: list[torch.Tensor], b: float) -> dict:
    """Calls by name."""
    Y, ours = scorch.sparse(images, format="csr"), [scorch.sparse(W, format="csr") for W in layers]
    dense, csr = images.to_dense(), [W.to_sparse_csr() for W in layers]
    turned, bias = [W.t().coalesce().to_sparse_csr() for W in layers], torch.tensor(b)
    calls = {
        "torch.sparse CSR": lambda: in_torch_sparse(images.to_sparse_csr(), csr, b),
        "torch CSR, activations dense": lambda: in_torch(dense.T.contiguous(), turned, b).T,
        "Scorch": lambda: in_scorch(Y, ours, bias),
        "Scorch, activations dense": lambda: in_scorch(dense, ours, bias),
    }
    try:
        import scipy.sparse as sp
    except ImportError:
        return calls
    y, *theirs = (sp.csr_matrix((w.values(), w.indices().numpy()), w.shape) for w in [images, *layers])
    return {**calls, "SciPy CSR": lambda: in_scipy(y, theirs, np.float32(b))}


def read_result(Y) -> torch.Tensor:
    """Dense, from any of them."""
    return torch.from_numpy(Y.toarray()) if hasattr(Y, "toarray") else Y.to_dense()


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--folder", help="layers and images as Matrix Market files (default: $SCORCH_DATA/dnn)"
    )
    parser.add_argument("--neurons", type=int, default=1024, help="of generated layers")
    parser.add_argument("--layers", type=int, default=5)
    parser.add_argument("--images", type=int, default=1200)
    parser.add_argument("--compare", action="store_true", help="time torch.sparse, SciPy and Scorch")
    parser.add_argument("--seconds", type=float, default=3.0, help="time to spend on the comparison")
    return parser.parse_args(argv)


def network(args: argparse.Namespace) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """What --folder or SCORCH_DATA has, else what is generated."""
    folder = args.folder or (os.environ.get("SCORCH_DATA") and Path(os.environ["SCORCH_DATA"]) / "dnn")
    if args.folder or (folder and Path(folder).is_dir()):
        images, layers = read(Path(folder))
        return images, layers[: args.layers]
    print("generated layers")
    return generate(args.neurons, args.layers, args.images)


@torch.no_grad()
def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    try:
        images, layers = network(args)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    neurons = images.shape[1]
    calls = candidates(images, layers, BIAS.get(neurons, -0.3))
    Y = calls["Scorch"]()
    categories = int((Y.to_dense().sum(1) > 0).sum())
    print(f"{len(layers)} layers of {neurons} neurons: {categories} of {len(images)} images stay active")
    print(f"images {images._nnz() / images.numel():.1%} dense, result = {Y}\n")
    if not args.compare:
        return 0
    agree = compare("inference", calls, args.seconds, read=read_result)
    print("all results agree" if agree else "RESULTS DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="Sparse ")  # torch.sparse's notes on beta state and checks
    sys.exit(main())

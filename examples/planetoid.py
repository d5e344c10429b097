"""Citation graphs for the examples and benchmarks: Planetoid's raw files, and two graphs without files.

Planetoid's files are Python 2 pickles, and a pickle is a program. The reader below runs it with stand-ins
only: the names those files mention (ndarray, its constructor, dtype, csr_matrix, defaultdict, ...) map to
small classes of ours that keep the raw parts, and any other name is refused. Neither NumPy's nor SciPy's own
reconstruction is called, so that old module paths do not matter and SciPy is not needed.
"""

import os
import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

NAMES = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")


@dataclass(frozen=True)
class Graph:
    """A node classification task. `edge_index` holds each edge in both directions, and no self-loops."""

    name: str
    x: torch.Tensor  # [nodes, features] float32, dense, rows sum to 1
    edge_index: torch.Tensor  # [2, edges] int64, sorted by row
    y: torch.Tensor  # [nodes] int64; -1 where no label is known
    train: torch.Tensor  # node numbers, int64
    test: torch.Tensor
    note: str = ""

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1


# ---- the restricted unpickler ----
class _DType:
    def __init__(self, code, *_):
        self.code, self.order = code, "="

    def __setstate__(self, state):
        self.order = state[1]

    def numpy(self) -> np.dtype:
        dtype = np.dtype(self.code)
        if dtype.kind not in "biuf":
            raise pickle.UnpicklingError(f"expected an array of numbers, got dtype {self.code!r}")
        return dtype.newbyteorder(self.order)


class _Array:
    def __setstate__(self, state):
        _, shape, dtype, fortran, raw = state
        raw = raw.encode("latin1") if isinstance(raw, str) else raw
        self.array = np.frombuffer(raw, dtype.numpy()).reshape(shape, order="F" if fortran else "C")


class _Csr:
    def dense(self) -> np.ndarray:
        """[rows, columns] float32."""
        shape = getattr(self, "_shape", None) or self.shape
        data, indices, indptr = self.data.array, self.indices.array, self.indptr.array
        if indices.size and not 0 <= indices.min() <= indices.max() < shape[1]:
            raise pickle.UnpicklingError("the matrix has column numbers outside its shape")
        out = np.zeros(shape, np.float32)
        out[np.repeat(np.arange(shape[0]), np.diff(indptr)), indices] = data
        return out


_STAND_INS = {
    "dtype": _DType,
    "ndarray": _Array,
    "_reconstruct": lambda *_: _Array(),
    "csr_matrix": _Csr,
    "defaultdict": lambda *_: {},
    "list": list,
    "encode": lambda text, _: text.encode("latin1"),  # how Python 3 writes bytes in protocol 2
}
_MODULES = {"numpy", "scipy", "collections", "builtins", "__builtin__", "_codecs"}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if module.split(".")[0] not in _MODULES or name not in _STAND_INS:
            raise pickle.UnpicklingError(f"refused {module}.{name}: Planetoid's files never name it")
        return _STAND_INS[name]


def read_pickle(path: Path):
    """A Planetoid part: a float32 matrix [rows, columns], or the dict of neighbour lists."""
    with open(path, "rb") as file:
        value = _Unpickler(file, encoding="latin1").load()
    if isinstance(value, _Csr):
        return value.dense()
    return value.array if isinstance(value, _Array) else value


# ---- Planetoid ----
def find(name: str, root: str | None = None) -> Path | None:
    """The folder with `ind.NAME.*` under `root` or $SCORCH_DATA; also in PyTorch Geometric's layout."""
    root = root or os.environ.get("SCORCH_DATA")
    if not root:
        return None
    folders = [Path(root), Path(root) / "planetoid", Path(root) / "raw", Path(root) / NAMES[name] / "raw"]
    return next((f for f in folders if (f / f"ind.{name}.graph").is_file()), None)


def planetoid(name: str, root: str | None = None) -> Graph:
    """Reads `cora`, `citeseer` or `pubmed`; FileNotFoundError says which files go where."""
    folder = find(name, root)
    paths = {part: (folder or Path()) / f"ind.{name}.{part}" for part in PARTS}
    required = [part for part in PARTS if part != "allx"]
    missing = [paths[p].name for p in required if not (folder and paths[p].is_file())]
    if missing:
        where = folder or root or os.environ.get("SCORCH_DATA") or "any folder (none was given)"
        raise FileNotFoundError(
            f"{NAMES[name]} was not found in {where}: put Planetoid's raw files {', '.join(missing)} "
            f"(and ind.{name}.allx) into one folder and name it with --root or SCORCH_DATA; the datasets "
            "karate and synthetic need no files"
        )
    index = np.loadtxt(paths["test.index"], dtype=np.int64)
    y, ty, ally = (read_pickle(paths[p]) for p in ("y", "ty", "ally"))
    nodes = max(len(ally), int(index.max()) + 1)
    labels = np.zeros((nodes, y.shape[1]), np.int64)
    labels[: len(ally)] = ally
    labels[index] = ty
    # Citeseer's test range has nodes without features or label: zero rows, label -1.
    target = np.where(labels.any(1), labels.argmax(1), -1)
    features, note = _features(paths, nodes, len(ally), index)
    edges = np.array([(u, v) for u, near in read_pickle(paths["graph"]).items() for v in near], np.int64)
    return _graph(NAMES[name], features, edges, target, np.arange(len(y)), np.sort(index), note)


def _features(paths, nodes, known, index):
    tx = read_pickle(paths["tx"])
    x = np.zeros((nodes, tx.shape[1]), np.float32)
    note = ""
    if paths["allx"].is_file():
        x[:known] = read_pickle(paths["allx"])
    else:
        first = read_pickle(paths["x"])
        random = np.random.RandomState(0)
        x[:known] = random.rand(known, x.shape[1]) * (random.rand(known, x.shape[1]) < 0.1)
        x[: len(first)] = first
        note = (
            f"{paths['allx'].name} is missing: graph, labels and {len(first) + len(tx)} feature rows are "
            f"real, the other {known - len(first)} rows are generated (10 % dense); the accuracy means little"
        )
    x[index] = tx
    return x, note


def _graph(name, x, edges, y, train, test, note="") -> Graph:
    """Symmetric edges, no loops or duplicates, rows of x normalised: the GCN paper's preprocessing."""
    edges = np.concatenate([edges, edges[:, ::-1]])
    edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
    if edges.min() < 0 or edges.max() >= len(x):
        raise ValueError(f"expected node numbers below {len(x)}, got {edges.min()} to {edges.max()}")
    x = x / np.maximum(x.sum(1, keepdims=True), 1e-12)
    tensors = (torch.from_numpy(np.ascontiguousarray(a)) for a in (x, edges.T, y, train, test))
    return Graph(name, *tensors, note)


# ---- graphs that need no files ----
# Per member, those of higher number that he knew.
_KARATE = """
1,2,3,4,5,6,7,8,10,11,12,13,17,19,21,31/2,3,7,13,17,19,21,30/3,7,8,9,13,27,28,32/7,12,13/6,10/
6,10,16/16//30,32,33/33////33/32,33/32,33///32,33/33/32,33//32,33/25,27,29,32,33/
25,27,31/31/29,33/33/31,33/32,33/32,33/32,33/33
"""
_OFFICER = (9, 14, 15, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33)


def karate() -> Graph:
    """Zachary's karate club: 34 members, 78 friendships, two factions; one known member of each."""
    rows = enumerate(_KARATE.replace("\n", "").split("/"))
    edges = np.array([(u, int(v)) for u, row in rows for v in row.split(",") if v])
    y = np.isin(np.arange(34), _OFFICER).astype(np.int64)
    return _graph("karate club", np.eye(34, dtype=np.float32), edges, y, np.array([0, 33]), np.arange(1, 33))


def edges_power_law(nodes: int, edges: int, label: np.ndarray, seed: int = 0) -> np.ndarray:
    """`edges` distinct undirected edges [edges, 2]: heavy-tailed degrees, four of five within a community."""
    random = np.random.RandomState(seed)
    weight = random.permutation((np.arange(nodes) + 3.0) ** -0.6)
    by_label = np.argsort(label, kind="stable")
    start = np.searchsorted(label[by_label], np.arange(label.max() + 2))
    inside = np.concatenate([[0], np.cumsum(weight[by_label])])
    found = np.empty(0, np.int64)
    u = np.arange(nodes)  # every node begins with one edge
    while len(found) < edges:
        lo, hi = inside[start[label[u]]], inside[start[label[u] + 1]]
        stray = random.rand(len(u)) < 0.22
        lo, hi = np.where(stray, 0, lo), np.where(stray, inside[-1], hi)
        at = np.searchsorted(inside, lo + (hi - lo) * random.rand(len(u)), "right")
        v = by_label[np.minimum(at, nodes) - 1]
        key = np.minimum(u, v) * nodes + np.maximum(u, v)
        key = np.concatenate([found, key[u != v]])
        found = key[np.sort(np.unique(key, return_index=True)[1])][:edges]
        u = random.randint(nodes, size=edges)
    return np.stack([found // nodes, found % nodes], 1)


def synthetic(nodes=2708, edges=5278, features=1433, density=0.0127, classes=7, seed=0) -> Graph:
    """A citation-like graph, the same on every machine; the defaults are Cora's sizes.

    Binary features: each class prefers some of the words, and common words are shared. Twenty labelled nodes
    a class for training, the last thousand for testing, as in Planetoid's split.
    """
    random = np.random.RandomState(seed)
    y = random.randint(classes, size=nodes)
    popular = np.log((np.arange(features) + 10.0) ** -0.7)
    topic = random.rand(classes, features) < 0.1
    x = np.zeros((nodes, features), np.float32)
    words = np.maximum(1, random.poisson(density * features, nodes))
    for i in range(nodes):  # Gumbel's trick: the k largest are a weighted sample without replacement
        score = popular + 1.2 * topic[y[i]] + random.gumbel(size=features)
        x[i, np.argpartition(-score, words[i])[: words[i]]] = 1
    train = np.sort(np.concatenate([np.flatnonzero(y == c)[:20] for c in range(classes)]))
    test = np.arange(max(0, nodes - 1000), nodes)
    graph = edges_power_law(nodes, edges, y, seed + 1)
    note = "a generated graph, not real citations"
    return _graph("synthetic", x, graph, y, train, np.setdiff1d(test, train), note)


def load(name: str, root: str | None = None) -> Graph:
    """One of cora, citeseer, pubmed (files under `root` or $SCORCH_DATA), karate, synthetic."""
    made = {"karate": karate, "synthetic": synthetic}
    return made[name]() if name in made else planetoid(name, root)

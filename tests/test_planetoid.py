"""The loader of the examples: real files, hostile pickles, and the graphs that need no files."""

import builtins
import io
import pickle
from collections import defaultdict

import numpy as np
import pytest
import torch

import planetoid


def write_dataset(folder, name="cora", omit=(), isolated=False):
    """A tiny Planetoid data set: eight nodes, or nine with an isolated test node."""
    sparse = pytest.importorskip("scipy.sparse")
    x = np.diag(np.arange(1.0, 9.0)).astype(np.float32)
    y = np.eye(2, dtype=np.int64)[np.arange(8) % 2]
    last = 8 if isolated else 7
    graph = defaultdict(list, {0: [1, 1, 0], 1: [2], 2: [5], 5: [last], 3: [4], 4: [6]})
    parts = {
        "x": sparse.csr_matrix(x[:2]),
        "y": y[:2],
        "allx": sparse.csr_matrix(x[:6]),
        "ally": y[:6],
        "tx": sparse.csr_matrix(x[6:]),
        "ty": y[6:],
        "graph": graph,
    }
    for part, value in parts.items():
        if part not in omit:
            (folder / f"ind.{name}.{part}").write_bytes(pickle.dumps(value, protocol=2))
    (folder / f"ind.{name}.test.index").write_text(f"{last}\n6\n")
    return x


def test_small_dataset(tmp_path):
    write_dataset(tmp_path)
    graph = planetoid.load("cora", str(tmp_path))
    edges = {tuple(e) for e in graph.edge_index.T.tolist()}
    assert edges == {e for u, v in [(0, 1), (1, 2), (2, 5), (5, 7), (3, 4), (4, 6)] for e in ((u, v), (v, u))}
    assert graph.edge_index.shape[1] == len(edges)
    assert graph.train.tolist() == [0, 1] and graph.test.tolist() == [6, 7]
    assert graph.y.tolist() == [0, 1, 0, 1, 0, 1, 1, 0]  # the first test row belongs to node 7
    assert graph.x[7, 6] == 1 and graph.x[6, 7] == 1 and graph.x.sum(1).tolist() == [1] * 8


def test_isolated_test_node_has_no_features_and_no_label(tmp_path):
    write_dataset(tmp_path, "citeseer", isolated=True)
    graph = planetoid.load("citeseer", str(tmp_path))
    assert len(graph.x) == 9 and graph.y[7] == -1 and graph.x[7].sum() == 0
    assert 7 not in graph.test and graph.classes == 2


def test_missing_allx_is_generated_and_said(tmp_path):
    write_dataset(tmp_path, "pubmed", omit=["allx"])
    graph = planetoid.load("pubmed", str(tmp_path))
    assert "allx is missing" in graph.note and "4 feature rows are real" in graph.note
    assert graph.x[0, 0] == 1 and graph.x[6, 7] == 1
    assert torch.equal(graph.x, planetoid.load("pubmed", str(tmp_path)).x)


def test_missing_data_says_what_goes_where(tmp_path, monkeypatch):
    monkeypatch.delenv("SCORCH_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"none was given.*ind\.cora\.graph.*--root or SCORCH_DATA"):
        planetoid.load("cora")
    write_dataset(tmp_path, omit=["ty"])
    with pytest.raises(FileNotFoundError, match=r"raw files ind\.cora\.ty \(and"):
        planetoid.load("cora", str(tmp_path))


@pytest.mark.parametrize("layout", [".", "planetoid", "raw", "Cora/raw"])
def test_folder_layouts(tmp_path, monkeypatch, layout):
    folder = tmp_path / layout
    folder.mkdir(parents=True, exist_ok=True)
    write_dataset(folder)
    monkeypatch.setenv("SCORCH_DATA", str(tmp_path))
    assert planetoid.find("cora") == folder


class Evil:
    def __reduce__(self):
        return builtins.eval, ("1/0",)


@pytest.mark.parametrize("value", [Evil(), {"x": [Evil()]}, io.BytesIO, np.array([Evil()], object), len])
def test_a_pickle_that_asks_for_more_is_refused(tmp_path, value):
    path = tmp_path / "ind.cora.graph"
    path.write_bytes(pickle.dumps(value, protocol=2))
    with pytest.raises(pickle.UnpicklingError):
        planetoid.read_pickle(path)


def test_columns_outside_the_shape_are_refused(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(np.eye(3, dtype=np.float32))
    matrix.indices[1] = -1
    (tmp_path / "m").write_bytes(pickle.dumps(matrix, protocol=2))
    with pytest.raises(pickle.UnpicklingError, match="outside its shape"):
        planetoid.read_pickle(tmp_path / "m")


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i4", "|b1", "<u2"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("protocol", [2, 4])
def test_arrays_come_back(tmp_path, rng, dtype, order, protocol):
    array = np.asarray(rng.integers(0, 2, (3, 4)), dtype=dtype, order=order)
    (tmp_path / "a").write_bytes(pickle.dumps(array, protocol=protocol))
    assert np.array_equal(planetoid.read_pickle(tmp_path / "a"), array)


@pytest.mark.parametrize(
    "name, nodes, edges, features, classes, unlabelled",
    [
        ("cora", 2708, 10556, 1433, 7, 0),
        ("citeseer", 3327, 9104, 3703, 6, 15),
        ("pubmed", 19717, 88648, 500, 3, 0),
    ],
)
def test_real_data(data_dir, name, nodes, edges, features, classes, unlabelled):
    if not planetoid.find(name, str(data_dir)):
        pytest.skip(f"no Planetoid files of {name} in the data folder")
    graph = planetoid.load(name, str(data_dir))
    assert graph.x.shape == (nodes, features) and graph.edge_index.shape == (2, edges)
    assert graph.classes == classes and len(graph.train) == 20 * classes and len(graph.test) == 1000
    assert (graph.y == -1).sum() == unlabelled and (graph.y[graph.test] >= 0).all()


def test_karate():
    graph = planetoid.load("karate")
    assert graph.x.shape == (34, 34) and graph.edge_index.shape == (2, 156)
    assert torch.bincount(graph.y).tolist() == [17, 17]
    degree = torch.bincount(graph.edge_index[0])
    assert degree[[0, 33, 11]].tolist() == [16, 17, 1]


def test_synthetic_has_coras_sizes_and_repeats():
    graph = planetoid.load("synthetic")
    assert graph.x.shape == (2708, 1433) and graph.edge_index.shape == (2, 10556) and graph.classes == 7
    assert 0.012 < (graph.x > 0).float().mean() < 0.0134
    degree = torch.bincount(graph.edge_index[0], minlength=2708)
    assert degree.min() >= 1 and degree.max() > 8 * degree.float().mean()
    same = (graph.y[graph.edge_index[0]] == graph.y[graph.edge_index[1]]).float().mean()
    assert 0.75 < same < 0.87
    again = planetoid.synthetic()
    assert torch.equal(graph.edge_index, again.edge_index) and torch.equal(graph.x, again.x)

"""The models of examples/, end to end on small inputs: each agrees with its twin in plain torch."""

import gzip

import pytest
import torch

import graph_challenge
import graphsage
import minibatches
import moe
import pruned_cnn
import relu_ffn
import rgcn
import scorch
import sparse_attention
import sparse_autoencoder
import sparse_convolution
import sparse_training

QUICK = ["--compare", "--seconds", "0"]


@pytest.mark.parametrize("model", ("sage", "gcn"))
def test_graphsage(model, capsys):
    assert graphsage.main(["--dataset", "karate", "--model", model, "--epochs", "40", *QUICK]) == 0
    out = capsys.readouterr().out
    assert "all agree" in out and out.count("the largest difference") == 3


@pytest.mark.parametrize("workers", (0, 1))
def test_minibatches(workers, capsys):
    args = ["--nodes", "600", "--batch", "100", "--fanouts", "5", "5", "--workers", str(workers)]
    assert minibatches.main(args) == 0
    assert capsys.readouterr().out.count("5 batches") == 3


def test_graphsage_says_what_is_missing(tmp_path, capsys):
    assert graphsage.main(["--dataset", "cora", "--root", str(tmp_path)]) == 2
    assert "ind.cora.x" in capsys.readouterr().err


def test_graph_challenge(capsys, monkeypatch):
    monkeypatch.delenv("SCORCH_DATA", raising=False)
    assert graph_challenge.main(["--neurons", "64", "--layers", "3", "--images", "50", *QUICK]) == 0
    out = capsys.readouterr().out
    assert "all results agree" in out and "generated layers" in out


def test_graph_challenge_reads_matrix_market(tmp_path, capsys):
    head = "%%MatrixMarket matrix coordinate"
    for layer in (1, 2):
        lines = f"{head} real general\n% a comment\n3 3 3\n1 2 1\n2 3 1\n3 1 1\n"
        (tmp_path / f"n3-l{layer}.mtx").write_text(lines)
    (tmp_path / "images.mtx").write_text(f"{head} pattern general\n2 3 2\n1 1\n2 2\n")
    images, layers = graph_challenge.read(tmp_path)
    assert len(layers) == 2 and layers[0].to_dense()[0].tolist() == [0, 1, 0]
    assert graph_challenge.main(["--folder", str(tmp_path), *QUICK]) == 0
    Y = graph_challenge.in_scorch(
        scorch.sparse(images, format="csr"),
        [scorch.sparse(W, format="csr") for W in layers],
        torch.tensor(-0.25),
    )
    torch.testing.assert_close(Y.to_dense(), torch.tensor([[0.0, 0.0, 0.5], [0.5, 0.0, 0.0]]))
    assert graph_challenge.main(["--folder", str(tmp_path / "none")]) == 2
    assert "-l1.mtx" in capsys.readouterr().err


def test_rgcn(capsys, monkeypatch):
    small = rgcn.generated(nodes=200, edges=900, relations=3)
    monkeypatch.setattr(rgcn, "generated", lambda: small)
    assert rgcn.main(["--generated", "--bases", "4", "--epochs", "10", *QUICK]) == 0
    assert "all agree" in capsys.readouterr().out


def test_rgcn_reads_triples(tmp_path):
    triples = '<a> <knows> <b> .\n<b> <knows> <c> .\n<a> <likes> "tea, or so" .\n\n'
    with gzip.open(tmp_path / "aifb_stripped.nt.gz", "wt") as file:
        file.write(triples)
    for part, who in (("training", "a"), ("test", "c")):
        rows = f"person\tid\tlabel_affiliation\n{who}\t1\tgroup\n"
        (tmp_path / f"aifb_{part}Set.tsv").write_text(rows)
    graph = rgcn.aifb(rgcn.find(str(tmp_path)))
    assert (graph.nodes, graph.relations, graph.classes) == (4, 4, 1)
    assert graph.edge_index.shape == (2, 6) and graph.test[0].tolist() == [2]


def test_sparse_convolution(capsys):
    assert sparse_convolution.main(["--sites", "2000", "--channels", "3", "8", "--steps", "8", *QUICK]) == 0
    out = capsys.readouterr().out
    assert "all agree" in out and "stride 2, forward and backward" in out
    first, last = (float(word) for word in out.split("loss ")[1].split()[:3:2])
    assert last < 0.9 * first


def test_moe(capsys):
    args = ["--experts", "4", "9", "--tokens", "40", "--features", "32", "--hidden", "48"]
    assert moe.main([*args, *QUICK]) == 0
    assert moe.main([*args, "--skew", "1.5", *QUICK]) == 0
    few = ["--experts", "1", "--tokens", "5", "--features", "7", "--hidden", "9"]
    assert moe.main([*few, *QUICK]) == 0
    assert capsys.readouterr().out.count("all agree") == 3


def test_sparse_autoencoder(capsys):
    args = ["--features", "64", "--hidden", "32", "--sparsity", "0.5", "0.95", "--batch", "8", "--steps", "5"]
    assert sparse_autoencoder.main([*args, *QUICK]) == 0
    assert "all agree" in capsys.readouterr().out


def test_relu_ffn(capsys):
    args = ["--tokens", "3", "40", "--features", "48", "--hidden", "200", "--zeros", "0.5", "0.95"]
    assert relu_ffn.main([*args, *QUICK]) == 0
    out = capsys.readouterr().out
    assert "all agree" in out and out.count("activations are zero; by ") == 4 and "95." in out


def test_sparse_training(capsys):
    args = ["--features", "48", "--hidden", "64", "--sparsity", "0.8", "--batch", "16"]
    assert sparse_training.main([*args, "--steps", "40", "--every", "5", *QUICK]) == 0
    out = capsys.readouterr().out
    assert "all agree" in out and "5 new patterns moved" in out


def test_new_patterns_drop_small_weights_and_grow_at_large_gradients():
    weight = torch.tensor([[4.0, -1.0, 0.0, 0.0], [0.0, 3.0, -2.0, 0.0]])
    gradient = torch.tensor([[9.0, 0.0, 0.5, 1.0], [-5.0, 8.0, 0.0, 0.0]])
    mask = sparse_training.rigl(weight, weight != 0, gradient, share=0.5)
    assert mask.tolist() == [[True, False, False, True], [True, True, False, False]]


def test_pruned_cnn(capsys):
    args = ["--channels", "16", "--length", "30", "--batch", "4", "--steps", "3"]
    assert pruned_cnn.main([*args, *QUICK]) == 0
    assert "all logits agree" in capsys.readouterr().out


@pytest.mark.parametrize("mask", ("band", "bigbird"))
def test_sparse_attention(mask, capsys):
    args = ["--mask", mask, "--tokens", "50", "--window", "8", "--width", "32", "--heads", "2"]
    assert sparse_attention.main([*args, *QUICK]) == 0
    assert "all agree" in capsys.readouterr().out

"""torch.compile and torch.export: layers as one graph each, forward and backward, few recompilations."""

import io

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.testing import CompileCounterWithBackend

import scorch
import scorch.nn


@pytest.fixture(autouse=True)
def forget_graphs():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def agree(loss, module, calls, recompilations=1):
    """loss(*args) for each args of calls: compiled as one graph, with the gradients of eager."""
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(loss, fullgraph=True, backend=counter)
    for args in calls:
        found = []
        for f in (compiled, loss):
            module.zero_grad()
            f(*args).backward()
            found.append([p.grad.clone() for p in module.parameters()])
        for got, wanted in zip(*found, strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)
    assert counter.frame_count <= 1 + recompilations


@pytest.mark.parametrize("format", ["csr", "bsr(4,4)"])
def test_linear(format):
    layer = scorch.nn.Linear(24, 16, format=format)
    calls = [(torch.randn(n, 24),) for n in (5, 7, 9)]
    agree(lambda x: layer(x).square().sum(), layer, calls)


def test_mixture_of_experts():
    layer = scorch.nn.MoE(16, 32, 4, 2)
    calls = [(torch.randn(n, 16),) for n in (15, 7, 9)]
    agree(lambda x: layer(x).square().sum(), layer, calls)


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = scorch.nn.GCNConv(12, 8), scorch.nn.GCNConv(8, 4)

    def forward(self, x, graph):
        return self.second(self.first(x, graph).relu(), graph)


@pytest.mark.parametrize("given", ["edge_index", "SparseTensor"])
def test_a_training_step_of_graph_convolutions(given):
    model, x, y = Convolutions(), torch.randn(50, 12), torch.randint(4, (50,))
    calls = []
    for edges in (300, 310, 320):
        graph = torch.unique(torch.randint(50, (2, edges)), dim=1)
        calls.append((x, scorch.from_edge_index(graph, num_nodes=50) if given != "edge_index" else graph))
    agree(lambda x, graph: F.cross_entropy(model(x, graph), y), model, calls)


def test_export_of_a_linear_layer():
    layer, file = scorch.nn.Linear(12, 8), io.BytesIO()
    program = torch.export.export(layer, (torch.randn(5, 12),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    torch.export.save(program, file)
    file.seek(0)
    x = torch.randn(9, 12)
    torch.testing.assert_close(torch.export.load(file).module()(x), layer(x))

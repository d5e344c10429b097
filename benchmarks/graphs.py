"""Suite of torch.compile: what a call costs compiled by inductor, against the same call in eager mode.

Beside each case stands its twin with dense matrices, eager and compiled: what torch.compile costs by itself.
"""

from collections.abc import Callable, Iterator
from types import FunctionType

import torch

import scorch
import scorch.nn
from benchmarks.data import Case

EAGER, COMPILED = "eager", "compiled"
TWINS = {EAGER: "dense, eager", COMPILED: "dense, compiled"}
PRODUCTS = (  # rows, entries a row, columns
    (10, 3, 4),
    (2708, 5, 16),
    (20_000, 18, 16),
    (200_000, 2, 60),
    (100_000, 0.01, 120),
)
DENSE = 3000  # rows from which on there is no dense twin


def _random(rows: int, each: float) -> torch.Tensor:
    at = torch.randint(rows, (2, max(1, int(rows * each))))
    coo = torch.sparse_coo_tensor(at, torch.rand(at.shape[1]), (rows, rows), check_invariants=False)
    return scorch.sparse(coo.coalesce(), format="csr")


def _compiled(f: Callable) -> Callable:
    """Of code of its own, so that compiled functions do not count as versions of one."""
    own = FunctionType(f.__code__.replace(), f.__globals__, f.__name__, closure=f.__closure__)
    return torch.compile(own, fullgraph=True, dynamic=False)


def _both(f: Callable, args: tuple, names: tuple[str, str], parameters: list[torch.Tensor]) -> dict:
    """Eager and compiled, and with parameters their gradients too."""

    def of(g: Callable) -> Callable:
        if not parameters:
            return torch.no_grad()(lambda: g(*args))
        return lambda: torch.cat([x.flatten() for x in torch.autograd.grad(g(*args).sum(), parameters)])

    return {name: of(g) for name, g in zip(names, (f, _compiled(f)), strict=True)}


def _case(name: str, ours: tuple, twin: tuple | None) -> Case:
    """ours, twin: a function, its arguments, and the parameters whose gradients are wanted."""
    calls = _both(*ours[:2], (EAGER, COMPILED), ours[2])
    if twin:
        calls |= _both(*twin[:2], tuple(TWINS.values()), twin[2])
    return Case(name, calls, {COMPILED: (EAGER,)}, same=not twin)


# ---- what is compiled ----
def _product(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return a @ x


def _gcn(a: torch.Tensor, x: torch.Tensor, w: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return a @ (torch.relu(a @ (x @ w)) @ v)


def _rgcn(layers: torch.nn.Module, matrix: torch.Tensor) -> Callable:
    first, second = layers
    return lambda x: second(torch.relu(first(x, matrix)), matrix)


def _dense_rgcn(layers: torch.nn.Module, adjacency: torch.Tensor) -> Callable:
    """The same over the matrices of all relations side by side, as a dense one."""

    def layer(conv: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        messages = (x @ conv.weight).reshape(-1, conv.weight.shape[2])
        return adjacency @ messages + x @ conv.root + conv.bias

    return lambda x: layer(layers[1], torch.relu(layer(layers[0], x)))


def _autoencoder(layers: torch.nn.Module) -> Callable:
    first, second = layers
    return lambda x: second(torch.relu(first(x)))


# ---- cases ----
def _gcn_case(rows: int, train: bool) -> Case:
    a, x = _random(rows, 5), torch.rand(rows, 64)
    w, v = (torch.rand(64, 16).requires_grad_(train), torch.rand(16, 7).requires_grad_(train))
    own = [w, v] if train else []
    twin = (_gcn, (a.to_dense(), x, w, v), own) if rows < DENSE else None
    return _case(f"GCN, {rows}{', gradients' * train}", (_gcn, (a, x, w, v), own), twin)


def _rgcn_case(rows: int, train: bool) -> Case:
    edges, kinds = torch.randint(rows, (2, 4 * rows)), torch.randint(4, (4 * rows,))
    layers = torch.nn.ModuleList([scorch.nn.RGCNConv(16, 16, 4), scorch.nn.RGCNConv(16, 8, 4)])
    matrix = layers[0].adjacency(edges, kinds, rows)
    own = list(layers.parameters()) if train else []
    x = torch.rand(rows, 16)
    twin = (_dense_rgcn(layers, matrix.to_dense()), (x,), own) if rows < DENSE else None
    return _case(f"RGCN, {rows}{', gradients' * train}", (_rgcn(layers, matrix), (x,), own), twin)


def _autoencoder_case(side: int, train: bool) -> Case:
    dense = torch.nn.ModuleList([torch.nn.Linear(side, side // 2), torch.nn.Linear(side // 2, side)])
    for layer in dense:
        with torch.no_grad():
            layer.weight *= torch.rand_like(layer.weight) < 0.05
    sparse = torch.nn.ModuleList([scorch.nn.Linear.from_dense(x, mask=x.weight.detach() != 0) for x in dense])
    x = torch.rand(32, side)
    ways = [(_autoencoder(m), (x,), list(m.parameters()) if train else []) for m in (sparse, dense)]
    return _case(f"autoencoder, {side}{', gradients' * train}", *ways)


def graphs(root: str | None) -> Iterator[Case]:
    """Eager against compiled, products and models."""
    torch.manual_seed(0)
    for rows, each, columns in PRODUCTS:
        a, x = _random(rows, each), torch.rand(rows, columns)
        twin = (_product, (a.to_dense(), x), []) if rows < DENSE else None
        yield _case(f"A @ x, {rows} x {columns}", (_product, (a, x), []), twin)
    for train in (False, True):
        for rows in (300, 2708):
            yield _gcn_case(rows, train)
            yield _rgcn_case(rows, train)
        for side in (256, 2048):
            yield _autoencoder_case(side, train)


SUITES = {"graphs": graphs}

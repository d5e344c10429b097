"""Sparse convolutions: making kernel maps, and layers over them, against torch's ways by hand."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch

import scorch
from benchmarks.bound import has_onednn, onednn
from benchmarks.data import Case
from examples.sparse_convolution import surface

SITES = (10_000, 100_000)
CHANNELS = ((4, 64), (64, 64))
Pairs = list[tuple[torch.Tensor, torch.Tensor]]


# ---- maps ----
def packed(sites: torch.Tensor, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A number for each site, and what an offset adds to it."""
    low, high = sites.amin(0) - size, sites.amax(0) + size
    extent = high - low + 1
    factor = torch.cat([extent.flip(0)[:-1].cumprod(0).flip(0), torch.ones(1, dtype=torch.int64)])
    tap = torch.arange(size) - size // 2
    return ((sites - low) * factor).sum(1), (torch.cartesian_prod(tap, tap, tap) * factor[1:]).sum(1)


def by_search(sites: torch.Tensor, size: int) -> Pairs:
    """A search of every offset's keys, in order, among the sorted ones."""
    key, steps = packed(sites, size)
    key, order = key.sort()
    pairs = []
    for step in steps.tolist():
        wanted = key + step
        at = torch.searchsorted(key, wanted).clamp_(max=len(key) - 1)
        found = (key[at] == wanted).nonzero().view(-1)
        pairs.append((order[found], order[at[found]]))
    return pairs


def by_grid(sites: torch.Tensor, size: int) -> Pairs:
    """A number for every cell of the box around the sites, looked up for every offset."""
    key, steps = packed(sites, size)
    cells = int(key.max() + steps.max()) + 1
    row = torch.full((cells,), -1, dtype=torch.int32)
    row[key] = torch.arange(len(sites), dtype=torch.int32)
    pairs = []
    for step in steps.tolist():
        j = row[key + step]
        i = (j >= 0).nonzero().view(-1)
        pairs.append((i, j[i]))
    return pairs


def counted(pairs: Pairs) -> torch.Tensor:
    return torch.tensor([len(i) for i, _ in pairs])


def maps() -> Iterator[Case]:
    for count in SITES:
        sites = surface(count)
        for size in (3, 5):
            made = counted(by_search(sites, size))
            found = scorch.conv_map(sites, size).map.indices()[0].long()
            assert torch.equal(torch.bincount(found, minlength=size**3), made)
            calls = {
                "torch searchsorted": partial(by_search, sites, size),
                "torch dense grid": partial(by_grid, sites, size),
                "Scorch": partial(scorch.conv_map, sites, size),
            }
            peers = ("torch searchsorted", "torch dense grid")
            yield Case(f"map, surface {count // 1000}k, kernel {size}", calls, {"Scorch": peers}, same=False)


# ---- layers ----
def by_offset(M: scorch.SparseTensor) -> Pairs:
    r, i, j = M.indices().long()
    order = r.argsort(stable=True)
    share = torch.bincount(r, minlength=M.shape[0]).tolist()
    return list(zip(i[order].split(share), j[order].split(share), strict=True))


def gathered(
    product: Callable, pairs: Pairs, rows: int, x: torch.Tensor, weight: torch.Tensor
) -> torch.Tensor:
    """Gather, product, scatter of every offset."""
    y = x.new_zeros(rows, weight.shape[2])
    for w, (i, j) in zip(weight, pairs, strict=True):
        y.index_add_(0, i, product(x.index_select(0, j), w))
    return y


def einsum(M: scorch.SparseTensor, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return scorch.einsum("rij,jk,rkn->in", M, x, weight)


def gradients(f: Callable, x: torch.Tensor, weight: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    return torch.cat([g.flatten() for g in torch.autograd.grad(f(x, weight), (x, weight), grad)])


def layers(name: str, M: scorch.SparseTensor) -> Iterator[Case]:
    pairs, (offsets, rows, n) = by_offset(M), M.shape
    for channels, out in CHANNELS:
        x, weight = torch.randn(n, channels), torch.randn(offsets, channels, out)
        title = f"{name}, {channels} -> {out}"
        ways = {"gather mm scatter": partial(gathered, torch.mm, pairs, rows)}
        if has_onednn(x.dtype):
            ways["gather onednn scatter"] = partial(gathered, onednn, pairs, rows)
        ways["Scorch"] = partial(einsum, M)
        flops = 2.0 * M.nnz * channels * out
        traffic = 4.0 * (x.numel() + weight.numel() + rows * out) + 9.0 * M.nnz
        peers = tuple(ways)[:-1]
        calls = {way: partial(f, x, weight) for way, f in ways.items()}
        yield Case(f"{title}, forward", calls, {"Scorch": peers}, flops=flops, traffic=traffic)
        grad, leaves = torch.randn(rows, out), (x.clone().requires_grad_(), weight.clone().requires_grad_())
        trained = ("gather mm scatter", "Scorch")  # what calls oneDNN has no derivative
        calls = {way: partial(gradients, ways[way], *leaves, grad) for way in trained}
        yield Case(f"{title}, forward and backward", calls, {"Scorch": trained[:1]}, flops=3 * flops)


def real(root: str | None) -> Iterator[tuple[str, scorch.SparseTensor]]:
    """Kernel maps of laser scans, files of lists of pairs."""
    folder = root or os.environ.get("SCORCH_DATA")
    for file in sorted(Path(folder).glob("sparseconv/*.pth")) if folder else ():
        saved = torch.load(file, weights_only=True, map_location="cpu")
        share, shape = saved["knnz"].long(), (len(saved["knnz"]), saved["out_nnz"], saved["in_nnz"])
        r = torch.repeat_interleave(torch.arange(len(share)), share)
        index = torch.stack([r, saved["omap"].long(), saved["imap"].long()])
        ones = torch.ones(len(r))
        coo = torch.sparse_coo_tensor(index, ones, shape, check_invariants=False)
        yield "laser scan", scorch.sparse(coo, "dense(1), compressed(0), singleton(2)").bool()


def convolution(root: str | None) -> Iterator[Case]:
    yield from maps()
    for name, M in real(root):
        yield from layers(name, M)
    for count in SITES:
        sites = surface(count)
        yield from layers(f"surface {count // 1000}k", scorch.conv_map(sites, 3).map)
        yield from layers(f"surface {count // 1000}k, stride 2", scorch.conv_map(sites, 2, 2).map)


SUITES = {"convolution": convolution}

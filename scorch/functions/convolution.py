"""Kernel maps of sparse convolutions: which sites a convolution multiplies by which matrix.

A sparse convolution is out[i] = sum over r and j of M[r,i,j] X[j] W[r], one einsum over a sparse tensor M
that says which input site j lies at offset r of output site i. This makes M; the compiler does the rest.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

import torch

from .. import _C, _torch
from ..tensor.making import from_components
from ..tensor.sparsetensor import SparseTensor

MOST_DIMENSIONS = 7  # beside the batch
# Row by row of the output, so that a row is summed in registers, and one input site an entry.
_FORMAT = "dense(1), compressed(0), singleton(2)"


class ConvMap(NamedTuple):
    """What :func:`scorch.conv_map` returns.

    map: SparseTensor [offsets, output sites, input sites] of truth values, all true.
    coordinates: [output sites, 1 + d] of the output sites, in the units of the stride.

    >>> made = scorch.conv_map(torch.tensor([[0, 0, 0], [0, 1, 3]]), 2, stride=2)  # two sites of a plane
    >>> made.coordinates.tolist()
    [[0, 0, 0], [0, 0, 1]]
    """

    map: SparseTensor
    coordinates: torch.Tensor


def axes(name: str, given: int | Sequence[int], dimensions: int) -> tuple[int, ...]:
    """One number a dimension, from that or from one number for all.

    Raises: TypeError: no integers. ValueError: not so many, or one that is not in 1 .. 2^63 - 1.
    """
    try:
        single = not isinstance(given, Sequence)
        numbers = (operator.index(given),) * dimensions if single else tuple(map(operator.index, given))
    except TypeError:
        raise TypeError(f"{name}: expected an integer or one a dimension, got {given!r}") from None
    if len(numbers) != dimensions:
        raise ValueError(f"{name}: expected one number, or {dimensions}, one a dimension, got {given!r}")
    if any(not 1 <= n < 2**63 for n in numbers):
        raise ValueError(f"{name}: expected numbers from 1 on, got {given!r}")
    return numbers


def _sites(coordinates: object) -> torch.Tensor:
    """The coordinates as contiguous int64."""
    if not isinstance(coordinates, torch.Tensor) or coordinates.layout is not torch.strided:
        raise TypeError(f"coordinates: expected a dense tensor of integers, got {type(coordinates).__name__}")
    kind = coordinates.dtype
    if kind.is_floating_point or kind.is_complex or kind in (torch.bool, torch.uint64):
        raise TypeError(f"coordinates: expected integers of up to int64, got {kind}: call .long()")
    if coordinates.device.type != "cpu":
        raise NotImplementedError(
            f"coordinates: scorch computes on the CPU, got a tensor on {coordinates.device}: call .cpu()"
        )
    if coordinates.dim() != 2 or not 2 <= coordinates.shape[1] <= 1 + MOST_DIMENSIONS:
        raise ValueError(
            f"coordinates: expected [n, 1 + d], a batch index and then d of 1 to {MOST_DIMENSIONS} "
            f"coordinates, got {list(coordinates.shape)}: without batches put a column of zeros in front"
        )
    return _torch.numbers_of(coordinates, "making a kernel map").to(torch.int64).contiguous()


@_torch.before_graphs
def conv_map(
    coordinates: torch.Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] = 1,
    dilation: int | Sequence[int] = 1,
) -> ConvMap:
    """The kernel map of a sparse convolution: a SparseTensor M [offsets, output sites, input sites].

    M[r, i, j] is stored where input site j lies at offset r of output site i, in the same batch and on every
    axis: ``coordinate(j) = coordinate(i) * stride + tap(r) * dilation``. With features X [n, in] and weights
    W [offsets, in, out] the convolution is ``scorch.einsum("rij,jk,rkn->in", M, X, W)``, with gradients;
    values are true, so the types of X and W decide. :class:`scorch.nn.SparseConv3d` is the layer.

    Args:
        coordinates: [n, 1 + d] of any integer type: a batch index first, as in spconv, MinkowskiEngine and
            torchsparse, then d of 1 to 7 coordinates, which may be negative and far apart. Each site once.
        kernel_size, stride, dilation: a number, or one a dimension.

    Taps of an odd kernel are centred, -(size - 1) / 2 to (size - 1) / 2; those of an even one begin at the
    site, 0 to size - 1, as in MinkowskiEngine. Offsets are numbered with the last dimension fastest, as the
    weights of torch.nn.Conv3d lie in memory: ``W.view(*kernel_size, in, out)`` permuted to
    ``[out, in, *kernel_size]`` is such a weight. (The odd kernels of MinkowskiEngine and torchsparse have the
    first dimension fastest.)

    Where every stride is 1 the output sites are the input sites (a submanifold convolution). Else they are
    the sites ``floor(coordinate / stride)``, each once, in the order in which the input reaches them: the
    generalised convolution of MinkowskiEngine, with coordinates divided by the stride as in spconv, so a
    layer behind has stride 1 again. A site whose kernel reaches no input, as a kernel of 1 and a stride of 2
    allow, is a row without entries.

    Returns:
        (map, coordinates): M, which keeps the layouts that gradients need, so share it between layers; and
        the coordinates of the output sites, of the type of those given: these themselves where every stride
        is 1.

    Raises:
        ValueError: a site comes twice, shapes do not fit, or a number is below 1. TypeError: no integers.
        NotImplementedError: not on the CPU.

    >>> sites = torch.tensor([[0, 0, 0, 0], [0, 0, 0, 1], [0, 5, 5, 5]])
    >>> M, _ = scorch.conv_map(sites, 3)
    >>> M.shape, M.nnz
    (torch.Size([27, 3, 3]), 5)
    """
    with _torch.plainly():
        sites = _sites(coordinates)
        dimensions = sites.shape[1] - 1
        size, stride, dilation = (
            axes(name, given, dimensions)
            for name, given in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation))
        )
        pos, offset, source, out = _C.conv_map(sites, (1, *size), (1, *stride), (1, *dilation))
        out = coordinates if out is None else out.view(-1, 1 + dimensions).to(coordinates.dtype)
        ones = torch.ones(len(offset), dtype=torch.bool, device="cpu")
        shape = (math.prod(size), len(out), len(sites))
        crd = [None, offset, source]
        return ConvMap(from_components(_FORMAT, shape, [None, pos, None], crd, ones, validate=False), out)

"""Sparse convolutions: submanifold ones, and strided ones as MinkowskiEngine and torchsparse generalise them.

Which sites meet which matrix of the kernel is a sparse tensor M [offsets, output sites, input sites], the
kernel map that ``scorch.conv_map`` makes, and a layer is one expression over it, M[r,i,j] X[j,k] W[r,k,n] +
b[n]: no row of features is copied to be multiplied and no result is scattered. Derivatives are those of the
expression.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import nn

from .._torch import is_compiling
from ..functions import autocast
from ..functions.convolution import ConvMap, axes, conv_map
from ..functions.dynamic import unwrapped
from ..functions.expressions import evaluate
from ..tensor.sparsetensor import SparseTensor
from ._graph import _Derived


class SparseConv3d(nn.Module):
    """Convolution over the sites of a sparse voxel grid: ``out[i] = sum_r,j M[r,i,j] x[j] W[r] + b``.

    With a stride of 1 it is a submanifold convolution (Graham et al., 2018): output sites are input sites.
    With another one output sites are those that :func:`scorch.conv_map` lists, where kernels, their order and
    strides are described too.

    >>> sites = torch.tensor([[0, 0, 0, 0], [0, 0, 0, 1], [0, 5, 5, 5]])  # batch, then three coordinates
    >>> down = scorch.nn.SparseConv3d(16, 32, kernel_size=2, stride=2)
    >>> M, coarse = down.map(sites)  # made once, for every layer with this kernel and stride on these sites
    >>> len(coarse), down(torch.rand(3, 16), M).shape
    (2, torch.Size([2, 32]))

    Args:
        in_channels, out_channels: features a site, before and after.
        kernel_size, stride, dilation: a number, or one for each of the three dimensions.
        bias: adds a learnt bias [out_channels].
        device, dtype: as in torch.nn.Conv3d; the device is the CPU.

    Parameters: ``weight`` [offsets, in_channels, out_channels], torchsparse's ``kernel``; ``bias``
    [out_channels]. Both start as those of torch.nn.Conv3d, uniform in +-1/sqrt(in_channels * offsets).
    Raises: TypeError, ValueError: a number is none, or below 1. NotImplementedError: another device.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        dilation: int | Sequence[int] = 1,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if torch.device(device or "cpu").type != "cpu":
            raise NotImplementedError(f"scorch computes on the CPU, got device {device}")
        super().__init__()
        (self.in_channels,) = axes("in_channels", in_channels, 1)
        (self.out_channels,) = axes("out_channels", out_channels, 1)
        self.kernel_size = axes("kernel_size", kernel_size, 3)
        self.stride, self.dilation = axes("stride", stride, 3), axes("dilation", dilation, 3)
        shape = math.prod(self.kernel_size), self.in_channels, self.out_channels
        self.weight = nn.Parameter(torch.empty(shape, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(self.out_channels, dtype=dtype)) if bias else None
        self._made = _Derived()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weights and the bias again."""
        bound = 1 / math.sqrt(math.prod(self.weight.shape[:2]))
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -bound, bound)

    def map(self, coordinates: torch.Tensor) -> ConvMap:
        """coordinates [n, 4] of integers, a batch index first -> the kernel map, [m, 4] of output sites"""
        if isinstance(coordinates, torch.Tensor) and coordinates.shape[1:] != (4,):
            raise ValueError(
                f"coordinates: expected [n, 4], a batch index and three coordinates, got "
                f"{list(coordinates.shape)}"
            )
        return conv_map(coordinates, self.kernel_size, self.stride, self.dilation)

    def forward(self, x: torch.Tensor, sites: SparseTensor | ConvMap | torch.Tensor) -> torch.Tensor:
        """x [n, in_channels], with sites of n rows -> [m, out_channels], a row an output site

        sites: a kernel map, [offsets, m, n] or as :meth:`map` returns it; or coordinates [n, 4], whose map is
        made, and kept for as long as they are the ones given, live and are not written to. Inside of
        torch.compile a map is a part of the graph, and coordinates break it.
        """
        kernel_map, x = self._map_of(sites), unwrapped(x)
        if not isinstance(x, torch.Tensor) or x.dim() != 2 or x.shape[1] != self.in_channels:
            got = list(x.shape) if isinstance(x, torch.Tensor) else type(x).__name__
            raise ValueError(f"x: expected features [n, {self.in_channels}], got {got}")
        offsets, wanted = kernel_map.shape[0], kernel_map.shape[-1]
        if kernel_map.dim() != 3 or offsets != len(self.weight) or wanted != x.shape[0]:
            raise ValueError(
                f"sites: expected a kernel map [{len(self.weight)}, m, {x.shape[0]}], offsets of the kernel, "
                f"output sites and rows of x, got {list(kernel_map.shape)}: make it with map(coordinates)"
            )
        given = [kernel_map, x, self.weight, *([] if self.bias is None else [self.bias])]
        given = autocast.cast(*given) if autocast.is_on() else given
        text = "y[i,n] = M[r,i,j] * x[j,k] * W[r,k,n]" + " + b[n]" * (self.bias is not None)
        return evaluate(text, **dict(zip("MxWb", given, strict=False)))

    def _map_of(self, sites: SparseTensor | ConvMap | torch.Tensor) -> SparseTensor:
        if isinstance(sites, ConvMap):
            return sites.map
        if isinstance(sites, SparseTensor):
            return sites
        if is_compiling() or not isinstance(sites, torch.Tensor):
            return self.map(sites).map
        return self._made(sites, None, (), lambda: self.map(sites).map)

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
            + f", dilation={self.dilation}" * (self.dilation != (1, 1, 1))
            + ", bias=False" * (self.bias is None)
        )

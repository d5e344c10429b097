"""Scorch: sparse tensor operators for PyTorch, compiled for the expression at hand.

>>> A, x = scorch.sparse(torch.eye(3), format="csr"), torch.ones(3, 2)
>>> y = A @ x
>>> z = scorch.evaluate("C[i,k] = relu(A[i,j] * x[j,k])", A=A, x=x)
"""

from __future__ import annotations

import gc
from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING

import torch  # first, always: the extension joins the OpenMP pool that torch brings

if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    raise ImportError(
        f"scorch needs torch 2.10 or newer (the first release with Tensor.__dlpack_c_exchange_api__), got "
        f"torch {torch.__version__}: pip install -U torch"
    )
if _find_spec(f"{__name__}._C") is None:  # Python would speak of a circular import
    raise ImportError(
        f"{__path__[0]} is the source of scorch, whose extension is not built: `pip install -e .` beside it "
        f"builds it, or work in another folder, since this one hides a scorch that is installed"
    )

_collecting = gc.isenabled()
gc.disable()  # what importing makes stays; a collection on the way looks through all of torch, for 100 ms
try:
    from . import _C, _after, _saved, _torch, boundary  # noqa: F401
    from ._C import CompileError
    from .functions.attention import attention
    from .functions.convolution import ConvMap, conv_map
    from .functions.dynamic import dynamic
    from .functions.expressions import compile, einsum, evaluate, explain
    from .functions.order import topk
    from .functions.pointwise import map
    from .functions.products import sddmm
    from .functions.sampling import SampledLayer, sample_neighbors
    from .functions.softmax import log_softmax, softmax
    from .tensor import rooms
    from .tensor.coordinates import coo, from_edge_index
    from .tensor.format import Format
    from .tensor.join import collate
    from .tensor.making import from_components, sparse
    from .tensor.sparsetensor import SparseTensor, is_sparse
    from .tools.info import calibrate, clear_cache, info, release, stats
    from .tools.reorder import Reordering, reorder
    from .tools.sparsify import sparsify
finally:
    if _collecting:
        gc.enable()

if TYPE_CHECKING:
    from . import distributed, nn
    from .tensor.composed import parts
    from .tools.profiling import profile
    from .tools.tune import tune

rooms.find_all()
_torch.entries({name: x for name, x in globals().items() if not name.startswith("_")})
_after.watch()

__version__ = _C.version
__all__ = [
    "CompileError", "ConvMap", "Format", "Reordering", "SampledLayer", "SparseTensor", "attention",
    "calibrate", "clear_cache", "collate", "compile", "conv_map", "coo", "distributed", "dynamic", "einsum",
    "evaluate", "explain", "from_components", "from_edge_index", "info", "is_sparse", "log_softmax", "map",
    "nn", "parts", "profile", "release", "reorder", "sample_neighbors", "sddmm", "softmax", "sparse",
    "sparsify", "stats", "topk", "tune",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """``nn``, ``pyg``, ``distributed``, ``parts``, ``profile`` and ``tune``, imported when used first."""
    if name in ("distributed", "nn", "pyg"):
        return _import_module(f".{name}", __name__)
    if name == "parts":
        return rooms.composed.parts
    if name == "profile":
        return rooms.profiling.profile
    if name == "tune":
        return rooms.tune.tune
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])

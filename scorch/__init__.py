"""Scorch: sparse tensor operators for PyTorch, compiled for the expression at hand.

>>> A = scorch.sparse(dense, format="csr")
>>> y = A @ x
>>> z = scorch.einsum("te,tk,ekn->tn", gate, x, W)
"""

from __future__ import annotations

import torch  # first, always: the extension joins the OpenMP pool that torch brings

if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    raise ImportError(
        f"scorch needs torch 2.10 or newer (the first release with Tensor.__dlpack_c_exchange_api__), got "
        f"torch {torch.__version__}: pip install -U torch"
    )

from . import _C, _functions, _layouts, _plan, _rules, _sizes  # noqa: F401
from ._attention import attention
from ._C import CompileError
from ._format import Format
from ._info import calibrate, clear_cache, info, release, stats
from ._join import collate
from ._make import from_components, from_edge_index, sparse
from ._ops import compile, einsum, evaluate, explain
from ._pointwise import map
from ._products import sddmm
from ._reduce import log_softmax, softmax
from ._reorder import Reordering, reorder
from ._sparsify import sparsify
from ._tensor import SparseTensor, is_sparse

__version__ = _C.version
__all__ = [
    "CompileError", "Format", "Reordering", "SparseTensor", "attention", "calibrate", "clear_cache",
    "collate", "compile", "einsum", "evaluate", "explain", "from_components", "from_edge_index", "info",
    "is_sparse", "log_softmax", "map", "release", "reorder", "sddmm", "softmax", "sparse", "sparsify",
    "stats",
]  # fmt: skip

"""SparseTensors in torch_geometric.

Its layers ask a tensor for its layout and arrays, and take a SparseTensor in csr, csc or coo as one of torch.
Functions that would then make tensors of torch, compute anew what a graph has for good, or take long, have
another meaning for a SparseTensor, and for all else their own. Importing this package puts these meanings in
place, in all modules of torch_geometric that have bound the old ones. It is imported behind torch_geometric
(``scorch/_after.py``), unless ``SCORCH_PYG=off``.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType

import torch
import torch_geometric
from torch_geometric import EdgeIndex, index
from torch_geometric.data import separate
from torch_geometric.nn import DirGNNConv, GATConv, GINConv, MessagePassing
from torch_geometric.nn.conv import gcn_conv
from torch_geometric.sampler import NeighborSampler
from torch_geometric.utils import sparse

from .._torch import is_compiling
from ..tensor.making import MATRICES
from ..tensor.sparsetensor import SparseTensor
from . import _functions, _messages, _sampling
from ._data import ToSparseTensor

__all__ = ["ToSparseTensor"]


def _is_ours(graph: object) -> bool:
    return isinstance(graph[0] if isinstance(graph, list) and graph else graph, SparseTensor)


def _is_one(graph: object) -> bool:
    return isinstance(graph, SparseTensor)


def _is_any(sampler: object) -> bool:
    return True


def _is_known(index: object) -> bool:
    return not is_compiling() and _messages.ends_of(index) is not None


def _is_index(index: object) -> bool:
    narrow = isinstance(index, torch.Tensor) and index.dtype is torch.int32
    return narrow or _is_known(index)


def _is_run(ptr: torch.Tensor) -> bool:
    return not is_compiling()


def _meaning(original: Callable, ours: Callable, at: int = 0, applies: Callable = _is_ours) -> Callable:
    """original, and ours where its argument number ``at`` is one that ours is for, unless ours returns
    NotImplemented."""
    name, absent = list(inspect.signature(original).parameters)[at], NotImplemented

    def call(*args: object, **kwargs: object) -> object:
        given = args[at] if len(args) > at else kwargs.get(name)
        found = ours(*args, **kwargs) if applies(given) else absent
        return original(*args, **kwargs) if found is absent else found

    # TorchScript reads the text of the original, and looks up its names where the function that it got does
    there = FunctionType(call.__code__, original.__globals__, original.__name__, None, call.__closure__)
    return update_wrapper(there, original)


def _meanings() -> dict[Callable, Callable]:
    utils, at = torch_geometric.utils, _functions
    of_graphs = {
        utils.is_torch_sparse_tensor: at.is_torch_sparse_tensor,
        utils.spmm: at.spmm,
        utils.remove_self_loops: at.remove_self_loops,
        utils.add_self_loops: at.add_self_loops,
        gcn_conv.gcn_norm: at.gcn_norm,
        sparse.set_sparse_value: at.set_sparse_value,
        sparse.cat: at.cat,
    }
    made = {original: _meaning(original, ours) for original, ours in of_graphs.items()}
    made[utils.scatter] = _meaning(utils.scatter, _messages.scatter, 1, _is_index)
    made[utils.softmax] = _meaning(utils.softmax, _messages.softmax, 1, _is_known)
    for f in vars(utils).values():
        if isinstance(f, FunctionType) and f not in made and (place := _place_of_edges(f)) is not None:
            made[f] = _meaning(f, at.over_edges(f), place, _is_one)
    made[separate._separate] = _meaning(separate._separate, at.separate, 1, _is_one)
    made[index.ptr2index] = _meaning(index.ptr2index, _messages.ptr2index, applies=_is_run)
    return made


_LISTED = (  # layers that look at edges as a list
    "ChebConv MFConv WLConvContinuous TopKPooling SAGPooling ASAPooling EdgePooling ClusterPooling "
    "InnerProductDecoder GraphUNet"
)


def _place_of_edges(f: Callable) -> int | None:
    """Which argument of a function of torch_geometric is a list of edges."""
    names = list(inspect.signature(f).parameters)
    return names.index("edge_index") if "edge_index" in names else None


def _connect() -> None:
    meanings = _meanings()
    for module in [m for name, m in sys.modules.items() if name.partition(".")[0] == "torch_geometric"]:
        for name, bound in list(vars(module).items()):
            if isinstance(bound, FunctionType) and bound in meanings:
                setattr(module, name, meanings[bound])
    for layer, ours in ((GATConv, "gat"), (GINConv, "gin"), (DirGNNConv, "directed")):
        layer.forward = _meaning(layer.forward, getattr(_functions, ours), 2)
    for name in _LISTED.split():
        layer = getattr(torch_geometric.nn, name)
        ours, place = _functions.over_edges(layer.forward), _place_of_edges(layer.forward)
        layer.forward = _meaning(layer.forward, ours, place, _is_one)
    if _sampling.is_needed():
        NeighborSampler._sample = _meaning(NeighborSampler._sample, _sampling.sample, applies=_is_any)
        NeighborSampler.__init__ = _meaning(NeighborSampler.__init__, _sampling.initialise, applies=_is_any)
    MATRICES[EdgeIndex] = _functions.matrix_of
    select = MessagePassing._index_select
    MessagePassing._index_select = _meaning(select, _messages.index_select, 2, _is_known)


if os.environ.get("SCORCH_PYG") != "off":
    _connect()

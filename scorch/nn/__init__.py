"""Layers with sparse weights, on graphs and on sparse grids, for models written with torch.nn.

Parameters keep the names and the initialisation of torch and of PyTorch Geometric: weights load across.
"""

from .._torch import keep_whole, refuse_script
from ._convolution import SparseConv3d
from ._gat import GATConv
from ._graph import GCNConv, RGCNConv, SAGEConv
from ._linear import Linear
from ._moe import MoE
from ._propagate import APPNP, GINConv, SGConv

__all__ = [
    "APPNP", "GATConv", "GCNConv", "GINConv", "Linear", "MoE", "RGCNConv", "SAGEConv", "SGConv",
    "SparseConv3d",
]  # fmt: skip

for _layer in __all__:
    globals()[_layer].__prepare_scriptable__ = refuse_script
keep_whole(__name__)

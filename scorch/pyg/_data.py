"""A transform that makes SparseTensors of the edges of data."""

from __future__ import annotations

import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.transforms import ToSparseTensor as _ToSparseTensor

from ..tensor.coordinates import coo
from ..tensor.format import Format


class ToSparseTensor(_ToSparseTensor):
    """Gives data a SparseTensor ``adj_t`` [targets, sources] in place of its ``edge_index``.

    Args:
        attr: the attribute with the weights of edges, ones where there is none. Those of parallel edges are
            summed; other attributes of edges stay, sorted by targets and sources as the entries are.
        remove_edge_index: whether ``edge_index``, and the weights, go.
        format: of ``adj_t``; layers take csr and coo, those that end in a product csc as well.

    >>> data = scorch.pyg.ToSparseTensor()(data)
    >>> y = GCNConv(16, 7)(data.x, data.adj_t)
    """

    def __init__(
        self,
        attr: str | None = "edge_weight",
        remove_edge_index: bool = True,
        format: str | Format = "csr",
    ) -> None:
        super().__init__(attr, remove_edge_index=False, layout=torch.sparse_csr)
        self.removes, self.format = remove_edge_index, format

    def forward(self, data: Data | HeteroData) -> Data | HeteroData:
        data = super().forward(data)  # which sorts edges and what belongs to them
        for store in data.edge_stores:
            if "edge_index" not in store:
                continue
            edges = store.edge_index.flip(0)
            weights = store.get(self.attr)
            weights = torch.ones(edges.shape[1], device="cpu") if weights is None else weights
            store.adj_t = coo(edges, weights, store.size()[::-1], self.format)
            for name in ("edge_index", self.attr):
                if self.removes and name in store:
                    del store[name]
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(attr={self.attr}, format={self.format})"

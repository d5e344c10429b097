"""Which nodes of a graph belong together.

Nodes are joined along edges where one program is faster than two, or never slower, as measured
(``python -m benchmarks --suite joined``):

- between operations on SparseTensors: products, masks, softmax;
- from what a sparse factor masks, a dense product or function of the mask's shape that nothing else reads: it
  is computed at the entries of the mask, and nothing of its shape is ever formed;
- between a product with a SparseTensor and the dense product before or behind it, where nothing else reads
  what lies between: the order of contraction is chosen by cost;
- from a product to bias, scale and activation behind it.

A softmax that a gradient is wanted of stays by itself: its own gradient is shorter than the one derived from
its steps (joined, such functions took 1.0 to 1.3 times as long). An activation ends a group, unless its
result is sparse: a program across two layers was not faster than one for each. No group spans a node that
writes to memory or changes the state of torch, and none has a way out and back in.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .words import EACH, EINSUM, PRODUCT, SOFTMAX, VIEW, Op, extent, in_words, is_sparse, shape, value

Node = torch.fx.Node
_MOST = 6  # operations on SparseTensors in a group: programs of more take long to plan
_WRITES = ("batch_norm", "instance_norm", "rrelu", "rrelu_")


class Graph:
    """A graph in words, and the groups found in it."""

    def __init__(self, graph: torch.fx.Graph) -> None:
        self.nodes = list(graph.nodes)
        self.place = {x: k for k, x in enumerate(self.nodes)}
        self.ops: dict[Node, Op] = {x: op for x in self.nodes if (op := in_words(x)) is not None}
        self.now: dict[Node, Node] = {}  # what stands for nodes that were replaced
        self.masked = self._masked()
        self._segment = self._segments()
        self._of = {x: [x] for x, op in self.ops.items() if op.kind != VIEW}

    # ---- the graph ----
    def base(self, x: Node) -> Node:
        """What a node views, or itself."""
        while (op := self.ops.get(x)) is not None and op.kind == VIEW:
            (x,) = op.reads
        return x

    def readers(self, x: Node) -> Iterator[Node]:
        """The nodes that read x, or a view of it."""
        for user in x.users:
            op = self.ops.get(user)
            if op is not None and op.kind == VIEW:
                yield from self.readers(user)
            else:
                yield user

    def reads(self, x: Node) -> list[Node]:
        """What a node reads, without views."""
        return [self.base(y) for y in self.ops[x].reads]

    def is_anchor(self, x: Node) -> bool:
        """Whether a node computes with SparseTensors."""
        op = self.ops.get(x)
        return op is not None and op.kind != VIEW and (is_sparse(x) or any(map(is_sparse, op.reads)))

    def sums(self, x: Node) -> bool:
        """Whether the text of a node has a sum, so that to compute it twice costs more than to keep it."""
        op = self.ops.get(x)
        return op is not None and (op.sums or any(map(self.sums, op.reads)))

    def _segments(self) -> dict[Node, int]:
        segment, found = 0, {}
        for x in self.nodes:
            segment += _changes(x)
            found[x] = segment
        return found

    # ---- edges ----
    def _masked(self) -> set[Node]:
        """Dense nodes of which nothing but the entries of a mask is read."""
        found: set[Node] = set()
        for x in reversed(self.nodes):
            op, readers = self.ops.get(x), list(self.readers(x))
            if op is None or op.kind not in (PRODUCT, EACH, EINSUM) or self.is_anchor(x) or not readers:
                continue
            if all(r in found or self._is_mask(r) for r in readers) and self._fills(x, readers):
                found.add(x)
        return found

    def _is_mask(self, r: Node) -> bool:
        """Whether a node is a SparseTensor times, or by, something else."""
        op = self.ops.get(r)
        return op is not None and op.scales and is_sparse(r) and any(map(is_sparse, op.reads))

    def _fills(self, x: Node, readers: list[Node]) -> bool:
        """Whether a node is as large as what reads it; to form a smaller one costs little."""
        return len(shape(x)) > 1 and any(_extents(x) == _extents(r) for r in readers)

    def _joins(self, p: Node, c: Node) -> bool:
        """Whether to join p and c, which reads it."""
        if c not in self.ops or self._segment[p] != self._segment[c]:
            return False
        if any(self.ops[x].kind == SOFTMAX and value(x).requires_grad for x in (p, c)):
            return False
        if p in self.masked:
            return True
        if self.is_anchor(p) and self.is_anchor(c):
            return True
        alone, op = len(list(self.readers(p))) == 1, self.ops[c]
        if not alone or is_sparse(p) or is_sparse(c):
            return False
        if self._is_plain_product(p) and self.is_anchor(c):
            return op.kind in (PRODUCT, EINSUM)
        if op.kind == PRODUCT:
            return self.is_anchor(p) and self.ops[p].kind in (PRODUCT, EINSUM) and self._is_plain_product(c)
        return op.kind == EACH and not self.is_anchor(c) and c not in self.masked and self._ends_in_product(p)

    def _is_plain_product(self, x: Node) -> bool:
        op = self.ops[x]
        return op.kind == PRODUCT and len(shape(x)) == 2 and not self.is_anchor(x) and x not in self.masked

    def _ends_in_product(self, p: Node) -> bool:
        """Whether p is, or follows element by element on, what was joined to a sparse product."""
        return any(self.is_anchor(x) for x in self._of[p])

    # ---- groups ----
    def groups(self) -> list[list[Node]]:
        """The groups of two nodes and more, each in the order of the graph."""
        for c in self.nodes:
            if c not in self._of:
                continue
            for p in self.reads(c):
                if p in self._of and self._of[p] is not self._of[c] and self._joins(p, c):
                    self._unite(p, c)
        found = {id(group): group for group in self._of.values()}
        return [g for g in found.values() if len(g) > 1 and any(map(self.is_anchor, g))]

    def _unite(self, p: Node, c: Node) -> None:
        both = sorted({*self._of[p], *self._of[c]}, key=self.place.__getitem__)
        if sum(map(self.is_anchor, both)) > _MOST or len({self._segment[x] for x in both}) > 1:
            return
        if self._is_convex(both):
            for x in both:
                self._of[x] = both

    def _is_convex(self, group: list[Node]) -> bool:
        """Whether no way leads out of a group and back in."""
        inside, out = set(group), set()
        for x in self.nodes[self.place[group[0]] : self.place[group[-1]] + 1]:
            sources = self.reads(x) if x in self.ops else x.all_input_nodes
            if x in inside:
                if any(y in out for y in sources):
                    return False
            elif any(y in out or self.base(y) in inside for y in sources):
                out.add(x)
        return True


def _extents(x: Node) -> list[str]:
    return sorted(str(extent(n)) for n in shape(x))


def _changes(x: Node) -> bool:
    """Whether a node may write to memory, or change how later ones run."""
    if x.op in ("placeholder", "get_attr", "output"):
        return False
    if x.op == "call_module" or x.kwargs.get("out") is not None or x.kwargs.get("inplace"):
        return True
    name = x.target if isinstance(x.target, str) else getattr(x.target, "__name__", "")
    if x.op == "call_method":
        return name.endswith("_") or name == "__setitem__"
    if isinstance(x.target, torch._ops.OpOverload):
        return x.target._schema.is_mutable
    module = getattr(x.target, "__module__", "") or ""
    if module == "_operator":
        return name == "setitem" or (
            name.startswith("i") and name not in ("inv", "invert", "is_", "is_not", "index", "indexOf")
        )
    positional = module == "torch.nn.functional" and True in [a for a in x.args if isinstance(a, bool)]
    return positional or name.endswith("_") or name in _WRITES or x.meta.get("example_value") is None

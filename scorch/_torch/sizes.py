"""Sizes in graphs: those that nobody knows before the call, and what is known of the others."""

from __future__ import annotations

import torch
from torch.compiler import is_exporting

from .state import is_compiling


def unknown_size() -> int:
    """In a fake kernel: a size that nobody knows before the call.

    torch.compile may take a whole function of SparseTensors for one node first; sizes inside it are then no
    business of the node's results. torch 2.10 cannot be told so, and raises an error there. Dynamo breaks
    graphs at operators that ask for such a size, unless it was told fullgraph=True: these make it.
    """
    context = torch.library.get_ctx()
    env = context._shape_env
    if env is None:
        return context.new_dynamic_size()  # which refuses
    from torch.fx.experimental.symbolic_shapes import _constrain_range_for_size

    n = env.create_unbacked_symint()
    _constrain_range_for_size(n)
    getattr(env, "ignorable_fresh_unbacked_symbols", []).append(n.node._expr)
    return n


def surely(condition: bool) -> bool:
    """Whether a condition on sizes holds; no where torch.compile cannot say before the call."""
    if type(condition) is bool and not is_compiling():
        return condition
    from torch.fx.experimental.symbolic_shapes import guard_or_false

    return guard_or_false(condition)


def holds(condition: bool) -> bool:
    """Whether a condition on sizes holds: in what is exported for all in their ranges, in other graphs for
    this call, which is noted, and where they cannot say, yes."""
    if type(condition) is bool and not is_compiling():
        return condition
    from torch.fx.experimental.symbolic_shapes import guard_or_true, statically_known_true

    return (statically_known_true if is_exporting() else guard_or_true)(condition)


def bounds(item: slice, extent: int) -> tuple[int, int, int]:
    """``item.indices(extent)``, which in a graph would make a number of an extent that is a symbol."""
    if not is_compiling() or (item.step is not None and item.step < 0):
        return item.indices(extent)

    def inside(n: int | None, otherwise: int) -> int:
        if n is None:
            return otherwise
        n = n + extent if n < 0 else n
        return 0 if n < 0 else n if n < extent else extent

    return inside(item.start, 0), inside(item.stop, extent), 1 if item.step is None else item.step


def divides(block: int, extent: int) -> bool:
    """Whether a block divides an extent; of one that is a symbol, whether it is known to."""
    if type(extent) is int and not is_compiling():
        return extent % block == 0
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return statically_known_true(extent % block == 0)


def symbols_in(lengths: list[int | torch.SymInt]) -> list[torch.SymInt]:
    """What lengths are computed from that are no symbols themselves.

    A graph that is given an array of length 2 * s and reads s nowhere is refused by inductor. So s is handed
    to an operator among the sizes, of which that reads as many as it needs.
    """
    found, traced = {}, None
    for n in lengths:
        if isinstance(n, torch.SymInt) and not n.node.expr.is_Symbol:
            env, traced = n.node.shape_env, _symbols_traced() if traced is None else traced
            known = env.backed_var_to_val if hasattr(env, "backed_var_to_val") else env.var_to_val
            for s in n.node.expr.free_symbols & known.keys():
                found[s] = traced.get(s) or env.create_symintnode(s, hint=int(known[s]))
    return list(found.values())


def _symbols_traced() -> dict[object, torch.SymInt]:
    """The first number of a graph in the making that is a symbol, which is the size of an input.

    For one that it does not know, torch takes the last, which may be computed from the length of an array
    that only the backward graph is given.
    """
    from torch.fx.experimental.proxy_tensor import get_proxy_mode

    mode, first = get_proxy_mode(), {}
    for node in mode.tracer.symnode_tracker.sym_node_dict if mode is not None else ():
        if node.is_int() and node.expr.is_Symbol:
            first.setdefault(node.expr, torch.SymInt(node))
    return first

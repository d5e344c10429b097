"""Replaces groups of nodes by one call each.

What a group became is checked before anything changes: the core is asked what the program returns, which must
be what the nodes did, and for its gradients. A group that it refuses is tried without its last node.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

import torch

from ..functions.expressions import compute_in_graph
from ..functions.gradients import gradients_of, mask
from ..functions.program import TYPES, program_of, results
from ..tensor.sparsetensor import SparseTensor
from .groups import Graph
from .words import SOFTMAX, is_sparse, same, shape, value
from .writing import CannotSay, Program, Writer

Node = torch.fx.Node


def join(gm: torch.fx.GraphModule) -> int:
    """Joins what belongs together in a graph of Dynamo, in place; returns how many programs were made."""
    _drop_trivial_checks(gm.graph)
    if not any(map(is_sparse, gm.graph.nodes)):
        return 0
    words = Graph(gm.graph)
    made = sum([_join_group(gm.graph, words, group) for group in words.groups()])
    gm.graph.lint()
    gm.recompile()
    return made


def _drop_trivial_checks(graph: torch.fx.Graph) -> None:
    """Dynamo asserts that the lengths of new arrays are not negative."""
    for x in list(graph.nodes):
        if x.target is not torch.ops.aten._assert_scalar.default:
            continue
        (test,) = (y for y in x.args if isinstance(y, Node))
        length = test.args[0] if test.target is operator.ge and test.args[1:] == (0,) else None
        if isinstance(length, Node) and length.target is torch.ops.aten.sym_size.int:
            graph.erase_node(x)
            for y in (test, length, length.args[0]):
                if not y.users and y.op != "placeholder":
                    graph.erase_node(y)


def _join_group(graph: torch.fx.Graph, words: Graph, group: list[Node]) -> bool:
    while len(group) > 1:
        try:
            program = _written(words, group)
            _check(program)
        except (CannotSay, ValueError, NotImplementedError):
            group = group[:-1]
            continue
        _replace(graph, words, group, program)
        return True
    return False


# ---- the program ----
def _written(words: Graph, group: Sequence[Node]) -> Program:
    """The program of a group: an assignment for what is read outside, or by name, or more than once."""
    writer, inside = Writer(words.ops, group), set(group)
    whole = {words.base(y) for x in group for y in words.ops[x].whole}
    for x in group:
        readers = list(words.readers(x))
        outside = not all(r in inside for r in readers)
        count = sum(1 + (words.ops[r].twice and words.sums(x)) for r in readers if r in inside)
        if x in words.masked and not outside and x not in whole:
            continue
        if words.ops[x].kind == SOFTMAX:
            writer.normalise(x)
        if outside or count > 1 or x in whole:
            writer.name(x)
    return writer.program()


def _values(program: Program) -> list[torch.Tensor]:
    found = [(value(x), ones) for x, ones in program.operands.values()]
    return [x.squeeze(ones) if ones else x for x, ones in found]


def _kinds(program: Program) -> tuple:
    found = _values(program)
    return tuple([(x._ndim, x._fmt) if isinstance(x, SparseTensor) else None for x in found])


def _check(program: Program) -> None:
    """Raises CannotSay, or what the core does, where the program is not what the nodes are."""
    operands = _values(program)
    if not operands or len({x.dtype for x in operands}) != 1:
        raise CannotSay("operands of several types")
    text = program_of(program.text, tuple(program.operands), _kinds(program), program.formats, None, "zero")
    ranks = tuple([len(x.shape) for x in operands])
    found = results(text, ranks, tuple([TYPES[x.dtype] for x in operands]))
    for x, k in program.results.items():
        y, wanted = found[k], value(x)
        extents = [operands[a].shape[d] for a, d in y.extents]
        if not (same(extents, shape(x)) and y.dtype == wanted.dtype and y.is_dense != is_sparse(x)):
            raise CannotSay("another result")
    if wanted := mask([x.requires_grad for x in operands]):
        gradients_of(text, ranks, wanted, mask([k in program.results.values() for k in range(len(found))]))


# ---- the graph ----
def _replace(graph: torch.fx.Graph, words: Graph, group: Sequence[Node], program: Program) -> None:
    """Puts the call behind the last node, and what reads its results behind the call."""
    given = [(words.now.get(x, x), ones) for x, ones in program.operands.values()]
    with graph.inserting_after(group[-1]):
        call = graph.call_function(compute_in_graph, ())
    with graph.inserting_before(call):
        operands = [graph.call_method("squeeze", (x, ones)) if ones else x for x, ones in given]
    call.args = (program.text, tuple(program.operands), program.formats, None, "zero", *operands)
    made = [call]
    for x, k in program.results.items():
        if all(user in group for user in x.users):
            continue
        taken = call
        if len(program.formats) > 1:
            with graph.inserting_after(made[-1]):
                taken = graph.call_function(operator.getitem, (call, k))
            made.append(taken)
        taken.meta["example_value"] = value(x)
        words.now[x] = taken
        x.replace_all_uses_with(taken, delete_user_cb=lambda user: user not in group)
    first = group[0].prev
    for x in reversed(group):
        _erase(graph, x)
    _move_behind(first.next, made)


def _erase(graph: torch.fx.Graph, x: Node) -> None:
    """Erases a node, and first the views of it, which nothing reads."""
    for view in list(x.users):
        _erase(graph, view)
    graph.erase_node(x)


def _move_behind(x: Node, made: list[Node]) -> None:
    """Moves nodes between x and the call that need its results; nothing there writes to memory."""
    late, last = set(made), made[-1]
    while x is not made[0]:
        after = x.next
        if late.intersection(x.all_input_nodes):
            last.append(x)
            late.add(x)
            last = x
        x = after

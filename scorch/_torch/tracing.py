"""What torch.compile is told of our functions: traced, called as one node, or left alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar

import torch
from torch._C import _AutoDispatchBelowAutograd
from torch._C._dynamo import eval_frame
from torch._functorch.utils import enable_single_level_autograd_function

F = TypeVar("F", bound=Callable[..., Any])

_ACTION = eval_frame._FrameAction


def _never_first(f: Callable, below: object) -> None:
    """torch.compile makes no graph of its own of f, where code that is not traced calls it."""
    eval_frame.set_code_exec_strategy(f.__code__, eval_frame._FrameExecStrategy(_ACTION.SKIP, below))


def entry(f: F) -> F:
    """f itself, which belongs to the graph of traced code that calls it.

    Behind a break of the graph, where code that is not traced calls it, it runs as it is, with all that it
    calls: graphs of pieces would be made of arrays, tables and sizes that are known in there alone.
    """
    _never_first(f, _ACTION.SKIP)
    return f


def entries(namespace: dict[str, object]) -> None:
    """Makes the functions, methods and properties of a module or class entries."""
    for x in namespace.values():
        functions = [x.fget, x.fset] if isinstance(x, property) else [getattr(x, "__func__", x)]
        for f in functions:
            if isinstance(f, FunctionType):
                entry(f)


def untraced(f: F) -> F:
    """f itself, whose own code is never traced."""
    _never_first(f, _ACTION.DEFAULT)
    f._torchdynamo_disable = True
    return f


def constant(f: F) -> F:
    """Lets torch.compile call f, a function of constants, while it traces."""
    f._dynamo_marked_constant = True  # what torch.compiler.assume_constant_result does, without its imports
    return f


def _refusal(f: Callable) -> str:
    """What torch says where f cannot be part of a graph."""
    return f"{f.__qualname__} looks at numbers, which a graph does not have: call it before the graph"


def apart(f: F) -> F:
    """f, never traced, nor what it calls. torch.compile is not imported for that, which takes seconds, unless
    it is there."""
    disabled = torch._disable_dynamo(f)

    @wraps(f)
    def call(*args: object, **kwargs: object) -> object:
        return (disabled if "torch._dynamo" in sys.modules else f)(*args, **kwargs)

    call._torchdynamo_disable_msg = f"{_refusal(f)}; without fullgraph=True it ends there"
    return untraced(call)


def before_graphs(f: F) -> F:
    """f, apart, which torch.export is told to call before it traces, where that cannot go on."""

    @wraps(f)
    def call(*args: object, **kwargs: object) -> object:
        try:
            return f(*args, **kwargs)
        except (TypeError, RuntimeError) as error:
            if not torch.compiler.is_exporting():
                raise
            raise NotImplementedError(_refusal(f)) from error

    return apart(call)


_nodes: list[Callable] = []


def node(f: F) -> F:
    """A function of tensors that is a node of its own where torch.compile traces.

    Where it cannot be one, the graph ends there and f is called: not traced, as what it calls would be, which
    takes a call that is traced for one that makes a node.
    """
    body = apart(f)

    @wraps(f)
    def call(*args: object) -> object:
        return body(*args)

    _nodes.append(call)
    return call


@constant
def admit_nodes() -> None:
    """Tells torch.compile of these functions; called while it traces, before one of them is named."""
    while _nodes:
        torch.compiler.allow_in_graph(_nodes.pop())


def between_graphs(f: F) -> F:
    """f itself, a backward function, which compiled autograd calls between its graphs."""
    entry(f)._torchdynamo_disable = True
    f._torchdynamo_disable_msg = "gradients of eager calls are taken between graphs: leave out fullgraph=True"
    return f


def with_memory(x: Any) -> Any:
    """x; zeros that torch has no memory for, as the derivative of a sign, get theirs."""
    if x.__class__ is not torch.Tensor or not x._is_zerotensor():
        return x
    return torch.zeros(x.shape, dtype=x.dtype, device=x.device)


def dense(x: Any) -> Any:
    """x; dense, where it is in one of torch's sparse layouts, as gradients of ``sparse_grad=True`` are."""
    return x.to_dense() if x.__class__ is torch.Tensor and x.layout is not torch.strided else x


def mark_dynamic(array: torch.Tensor) -> None:
    """Lets torch.compile treat the length of a component array as dynamic from the first call."""
    array._dynamo_weak_dynamic_indices = {0}


def unmark_dynamic(array: torch.Tensor) -> None:
    """Takes that back."""
    vars(array).pop("_dynamo_weak_dynamic_indices", None)


only_below_autograd = _AutoDispatchBelowAutograd
single_level = enable_single_level_autograd_function


class AutogradNode(torch.autograd.function._SingleLevelFunction):
    """A node that is recorded at one level: functorch starts no machinery of its own for it."""

    def __init_subclass__(cls) -> None:
        backward = cls.backward

        @wraps(backward)
        def on_memory(ctx: Any, *grads: Any) -> Any:
            if torch.Tensor not in map(type, grads):
                return backward(ctx, *grads)
            return backward(ctx, *[dense(with_memory(grad)) for grad in grads])

        cls.backward = staticmethod(between_graphs(on_memory))

    @staticmethod
    def _compiled_autograd_key(ctx):
        return (ctx._autograd_function_id,)


def add_wrapper_call(operator: str, write: Callable[[Any, Callable[[str], None]], None]) -> None:
    """How wrappers that inductor writes in Python call an operator, where that is at work (torch 2.11)."""
    module = sys.modules.get("torch._inductor.codegen.custom_extern_kernel_codegen")
    if module:
        module.CUSTOM_EXTERN_KERNEL_CODEGEN.setdefault(operator, module.CustomCodegen(python=write))


def is_given_to_graph(name: str) -> bool:
    """Whether this is a tensor that the graph which inductor writes is given, and writes nothing to."""
    graph = sys.modules["torch._inductor.virtualized"].V.graph
    return name in graph.graph_inputs and name not in graph.mutated_inputs

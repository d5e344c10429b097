"""Who called: code of torch that is answered in a way of its own; functions that get another meaning."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import wraps
from types import FunctionType

import torch
from torch.nn.modules.module import _has_any_global_hook
from torch.serialization import _legacy_load

from .state import makes_graph
from .tracing import entry


def replace(owner: object, name: str, by: Callable[[Callable], Callable]) -> None:
    """Gives a function of torch, or a method, another meaning, made of the one it has.

    torch.compile leaves its own machinery alone by the files it is in, and ours by being told.
    """
    plainly = getattr(owner, name)
    ours = by(plainly)
    if isinstance(ours, FunctionType):
        entry(ours)
    setattr(owner, name, wraps(plainly)(ours))


def asked_by_torch() -> bool:
    """Whether torch's own code called the function that asks."""
    return sys._getframe(2).f_globals.get("__name__", "").startswith("torch.")


def caller() -> str:
    """The module whose code called into this package; empty where it was C."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("scorch."):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "") if frame is not None else ""  # autograd's thread has no other


_CODES = dis.opname


def stores_back() -> bool:
    """Whether the operator that called into this package changes a part of something and stores it there
    again, as ``A[:, 0] *= 2`` does, and ``t *= 2`` does not."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("scorch."):
        frame = frame.f_back
    if frame is None:
        return False
    called, *after = [_CODES[op] for op in frame.f_code.co_code[frame.f_lasti :: 2]][:64]
    after = [name for name in after if name not in ("CACHE", "SWAP")]
    return called == "BINARY_OP" and after[0] in ("STORE_SUBSCR", "STORE_SLICE")


_STEP = "_single_tensor_"  # how functions of torch.optim begin
_ATTENTION = ("multi_head_attention_forward", "merge_masks")


def in_attention(*where: str) -> bool:
    """Whether a function of torch's multi-head attention, any or one of these, called into this package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(("scorch.", "torch.")):
        if frame.f_code.co_name in (where or _ATTENTION):
            return True
        frame = frame.f_back
    return False


def traces_attention() -> bool:
    """Whether torch.compile traces such a function: the graph that it makes does not say so."""
    context = sys.modules["torch._guards"].TracingContext if makes_graph() else None
    return context is not None and any(f.name in _ATTENTION for f in context.extract_stack())


def traces_step() -> bool:
    """Whether torch.compile, or a backend at its graph, is in what torch steps one parameter by."""
    if not makes_graph():
        return False
    frames = sys.modules["torch._guards"].TracingContext.extract_stack()
    if frames:
        return frames[-1].name.startswith(_STEP)
    note = sys.modules["torch.fx.traceback"].get_current_meta().get("stack_trace") or ""
    return note.rpartition(", in ")[2].startswith(_STEP)


def in_step() -> bool:
    """Whether an optimizer of torch called into this package, or torch.compile traces its step."""
    if torch.compiler.is_dynamo_compiling():
        return traces_step()
    return traces_step() if makes_graph() else caller().startswith("torch.optim.")


def fills_later() -> bool:
    """Whether torch loads a file of its older format: it makes all tensors first, and reads numbers then."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not _legacy_load.__code__:
        frame = frame.f_back
    return frame is not None


HOOKS = (  # where a module keeps those of its calls
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_is_full_backward_hook",
)


def is_unwatched(module: torch.nn.Module, kind: type) -> bool:
    """Whether a call of the module is that of its class, of which no hook is told."""
    if type(module) is not kind or "forward" in module.__dict__:
        return False
    return not (_has_any_global_hook() or any(getattr(module, h) for h in HOOKS))

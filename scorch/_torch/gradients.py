"""``torch.autograd.grad`` where a class is asked what it means."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch._C import DisableTorchFunctionSubclass

# What torch.autograd.grad ends in; versions that have it elsewhere are called as users call them.
_engine = getattr(torch.autograd.graph, "_engine_run_backward", None)


def _fits(y: object, grad: object) -> bool:
    """Whether y is a tensor and the other its gradient, of the same shape and type."""
    if not (isinstance(y, torch.Tensor) and isinstance(grad, torch.Tensor)) or y.dtype is not grad.dtype:
        return False
    return y.shape == grad.shape and not y.is_nested


def grad(
    outputs: tuple[object, ...],
    inputs: tuple[object, ...],
    grad_outputs: Sequence[torch.Tensor | None] | torch.Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    **options: bool,
) -> tuple[torch.Tensor | None, ...]:
    """``torch.autograd.grad``, as torch hands it over when it asks a class.

    It has looked through the arguments then, and does so again when it is called: of the usual ones
    shapes are what is left to look at before its engine runs.
    """
    with DisableTorchFunctionSubclass():
        listed = isinstance(grad_outputs, list | tuple)
        grads = tuple(grad_outputs) if listed else (grad_outputs,)
        usual = _engine is not None and only_inputs and not any(options.values())
        if not usual or len(grads) != len(outputs) or not all(map(_fits, outputs, grads)):
            return torch.autograd.grad(
                outputs, inputs, grad_outputs, retain_graph, create_graph, only_inputs, **options
            )
        retain = create_graph if retain_graph is None else retain_graph
        return _engine(outputs, grads, retain, create_graph, inputs, False, accumulate_grad=False)

"""Another pattern for a parameter of stored values: which values stay, and what an optimizer knows of them.

Entries are compared by their place in the dense matrix, row by row. A parameter stays the object it is, so
that optimizers and modules that hold it go on; what was recorded of it before is no longer differentiated.
"""

from __future__ import annotations

from numbers import Number, Real
from typing import Any, NoReturn

import torch
from torch import nn
from torch.autograd.graph import get_gradient_edge, increment_version

from .._torch import as_tensor
from ..tensor.format import Layout
from ..tensor.making import sparse
from ..tensor.sparsetensor import SparseTensor

_STARTS = {"sum": "initial_accumulator_value", "step_size": "lr"}  # of Adagrad and Rprop; others start at 0


def pattern_of(
    mask: torch.Tensor, form: Layout, shape: tuple[int, int], dtype: torch.dtype, index_dtype: torch.dtype
) -> SparseTensor:
    """Ones where a mask is not zero, and zeros that the format stores beside them."""
    if not isinstance(mask, torch.Tensor):
        raise TypeError(f"mask: expected a tensor {list(shape)}, got {type(mask).__name__}")
    if tuple(mask.shape) != shape:
        raise ValueError(f"mask: expected shape {list(shape)}, got {list(mask.shape)}")
    if mask.is_complex():
        raise TypeError(f"mask: expected bools or real numbers, got {mask.dtype}")
    mask = mask.detach()
    if isinstance(mask, SparseTensor) or mask.layout is not torch.strided:
        mask = sparse(mask)
        index = mask.indices()[:, mask.values() != 0].long()
    else:
        index = mask.nonzero().T
    ones = torch.ones(index.shape[1], dtype=dtype, device=index.device)
    made = torch.sparse_coo_tensor(index, ones, shape, check_invariants=False, device="cpu")
    return sparse(made, format=form.text, index_dtype=index_dtype)


def entries_of(pattern: SparseTensor) -> torch.Tensor:
    """The place in the dense matrix, row by row, of each stored value; -1 for padding."""
    row, column = pattern.indices().long()
    return torch.where(row < 0, -1, row * pattern.shape[1] + column)


def origins(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """Which of the old entries each of the new ones is, or -1."""
    if not old.numel():
        return torch.full_like(new, -1)
    ordered, order = old.sort()
    at = torch.searchsorted(ordered, new).clamp_(max=old.numel() - 1)
    return torch.where((ordered[at] == new) & (new >= 0), order[at], -1)


def starts(values: torch.Tensor | float, shape: tuple[int, int], entries: torch.Tensor) -> torch.Tensor:
    """What new entries start at: a number, or what a dense matrix has there; padding is zero."""
    if isinstance(values, SparseTensor) or not isinstance(values, torch.Tensor | Real):
        raise TypeError(
            f"values: expected a number or a dense tensor {list(shape)}, got {type(values).__name__}"
        )
    given = values.detach() if isinstance(values, torch.Tensor) else as_tensor(values, dtype=torch.float64)
    if given.dim() and tuple(given.shape) != shape:
        raise ValueError(f"values: expected a number or shape {list(shape)}, got {list(given.shape)}")
    found = given.reshape(-1)[entries.clamp(min=0)] if given.dim() else given.expand(entries.shape)
    return torch.where(entries < 0, 0, found)


def carried(old: torch.Tensor, origin: torch.Tensor, start: torch.Tensor | float) -> torch.Tensor:
    """The old numbers where entries stay, those of ``start`` where they are new."""
    known = origin >= 0
    start = start if isinstance(start, torch.Tensor) else as_tensor(start, dtype=torch.float64)
    new = old.new_empty(origin.shape).copy_(start)
    new[known] = old[origin[known]]
    return new


def carried_state(
    optimizer: torch.optim.Optimizer, parameter: nn.Parameter, origin: torch.Tensor
) -> dict[str, torch.Tensor]:
    """What an optimizer keeps a number of for each value, for other entries; nothing is changed yet."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError(f"optimizer: expected a torch.optim.Optimizer, got {type(optimizer).__name__}")
    groups = [g for g in optimizer.param_groups if any(p is parameter for p in g["params"])]
    if not groups:
        raise ValueError("optimizer: it does not train the values of this layer: give the one that does")
    found = {}
    for name, x in optimizer.state.get(parameter, {}).items():
        if isinstance(x, torch.Tensor) and x.shape == parameter.shape:
            found[name] = carried(x.detach(), origin, _start(name, groups[0]))
        elif (
            x is not None and not isinstance(x, Number) and not (isinstance(x, torch.Tensor) and not x.dim())
        ):
            raise NotImplementedError(
                f"optimizer: state {name!r} of {type(optimizer).__name__} is neither a number nor one for "
                f"each value, so it cannot follow the pattern: set the pattern without it and make it again"
            )
    return found


def keep_state(state: dict[str, object], made: dict[str, torch.Tensor]) -> None:
    """Puts these in an optimizer's state, into the tensors that are there where they fit.

    A compiled step asks for the tensors it was traced with.
    """
    for name, x in made.items():
        if state[name].shape == x.shape:
            state[name].copy_(x)
        else:
            state[name] = x


def _start(name: str, group: dict[str, Any]) -> float:
    return float(group[_STARTS[name]]) if _STARTS.get(name) in group else 0.0


def _refuse(_: object) -> NoReturn:
    raise RuntimeError(
        "the pattern of a sparse layer was changed after this was computed from its values: call set_pattern "
        "after backward(), and compute again"
    )


def exchange(parameter: nn.Parameter, data: torch.Tensor) -> None:
    """Other memory, perhaps of another size, for a parameter without a gradient yet.

    Graphs that were recorded with the old memory raise in their backward passes. torch notes the size of a
    leaf in the node that sums up its gradient, which lives as long as such a graph, and makes another node
    where the type changes.
    """
    if not parameter.is_inference():  # no graph has such a one
        if parameter.requires_grad:
            with torch.enable_grad():
                get_gradient_edge(parameter).node.register_prehook(_refuse)
        increment_version(parameter)
    parameter.grad = None
    other = torch.float32 if data.dtype is torch.float64 else torch.float64
    parameter.data = data.new_empty(0, dtype=other)
    parameter.data = data

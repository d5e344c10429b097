"""How the wrappers that inductor writes in Python call ``scorch::run``: without torch between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .. import _C, _torch


def _direct(
    program: str, operands: tuple[torch.Tensor, ...], sizes: tuple[int, ...], given: int = 0
) -> torch.Tensor:
    made = _C.direct(program, operands, sizes, given)
    return torch.ops.scorch.run.default(program, operands, sizes) if made is NotImplemented else made


def _write(node: Any, write: Callable[[str], None]) -> None:
    program, *lists = node.codegen_args()
    operands, sizes = (f"({x[1:-1]},)" if x != "[]" else "()" for x in lists)
    names = lists[0][1:-1].split(", ")  # views are calls, and the names in them are none of operands
    alone = all(name.isidentifier() for name in names)
    given = sum(1 << k for k, name in enumerate(names[:64]) if alone and _torch.is_given_to_graph(name))
    write(f"{node.get_name()} = torch.ops.scorch.direct({program}, {operands}, {sizes}, {given})")


def call_directly() -> None:
    """From now on, where inductor is at work; in torch 2.10 operators are called as all are."""
    _torch.add_wrapper_call("torch.ops.scorch.run.default", _write)


torch.ops.scorch.direct = _direct  # a name that every wrapper has

"""Products whose gradients read what the forward pass computed on the way.

A product of three factors or more runs in steps (csrc/compiler/path). Where a call is recorded, dense
temporaries are results of the call that nobody is given, as if a user had split the product, if the gradients
then meet the entries of sparse operands less often.
"""

from __future__ import annotations

import re
import string

import torch

from .. import _C, _torch
from ..tensor.sparsetensor import SparseTensor
from . import notation
from .gradients import gradients_of, mask, results_read, run_eagerly
from .program import TAB, known_program, of_operand
from .run import run

_ACCESSED = re.compile(r"[A-Za-z_]\w*(?=\[)")
_FEWEST = 3  # operands, of which fewer are one step
_RESULT = "  ->  "


def _plan(program: str, operands: list[torch.Tensor]) -> list[str]:
    """The steps of a program, each with what its result is, as explain says them."""
    text = _C.text(program, tuple(operands), "path")
    return text.partition("\ntemporaries: ")[0].partition("\nnext best: ")[0].splitlines()


def _steps(program: str, names: tuple[str, ...], operands: list[torch.Tensor]) -> list[str]:
    """The steps in terms of the operands; none where a temporary is sparse."""

    def own(
        name: re.Match,
    ) -> str:  # operands that are read at several tuples of indices have a name for each
        stem = name[0].rpartition("_")[0]
        return stem if name[0] not in names and stem in names else name[0]

    plan = _plan(program, operands)
    if not all(line.startswith(f"{_RESULT}dense") for line in plan[1::2]):
        return []
    return [_ACCESSED.sub(own, line) for line in plan[::2]]


def _entries(program: str, operands: list[torch.Tensor], wanted: int) -> int:
    """How many entries of sparse operands the gradients of the last result of a program meet."""
    made = _C.results(program, tuple(operands))
    results = [operands[0].new_empty(shape) for _, shape, _, _ in made]
    from_origin = {"operand": operands, "result": results, "gradient": results}
    met = 0
    for gradient in gradients_of(program, tuple(x.dim() for x in operands), wanted, 1 << len(made) - 1):
        given = [
            from_origin[origin][k] for origin, k, _ in gradient.sources
        ]  # a KeyError where it is neither
        lines = [line for line in gradient.program.split(TAB)[1:] if not line.startswith("!")]
        nnz = {
            line.partition(":")[0]: x.nnz
            for line, x in zip(lines, given, strict=True)
            if isinstance(x, SparseTensor)
        }
        for line in _plan(gradient.program, given):
            if not line.startswith(_RESULT):
                met += sum(nnz.get(re.sub(r"_\d+$", "", name), 0) for name in _ACCESSED.findall(line))
    return met


class _Kept:
    """Runs ``whole``, which says the result as it was written, where ``split`` is differentiated."""

    def __init__(self, split: str, whole: str) -> None:
        self.split, self.whole = split, whole

    def __call__(self, program: str, operands: list[torch.Tensor], *more: object) -> list[torch.Tensor]:
        return run(self.whole if program == self.split else program, operands, *more)


def _kept(expression: str, names: tuple[str, ...], operands: list[torch.Tensor], wanted: int) -> _Kept | None:
    kinds = tuple(map(of_operand, operands))
    called = names or tuple(string.ascii_uppercase[: len(kinds)])
    program = known_program(expression, names, kinds, None, None, "zero")
    steps = _steps(program, called, operands)
    if len(steps) < 2:
        return None
    sparse = {name for name, kind in zip(called, kinds, strict=True) if kind}
    written = expression if names else notation.named(expression, called)
    wide = "".join(f"{TAB}!wide {k}" for k in range(len(steps) - 1))  # not rounded, as temporaries are not
    split, whole = (
        known_program("; ".join(text), called, kinds, None, None, "zero") + wide
        for text in (steps, [*steps[:-1], written])
    )
    met = {k for k, step in enumerate(steps[:-1]) if sparse.intersection(_ACCESSED.findall(step))}
    if met.isdisjoint(results_read(split, tuple(x.dim() for x in operands), wanted, len(steps))):
        return None  # the gradients read none of those that take time; nothing is compiled to see that
    fewer = _entries(split, operands, wanted) < _entries(program, operands, wanted)
    return _Kept(split, whole) if fewer else None


_known: dict[tuple, _Kept | None] = {}
_MOST = 1024


def run_kept(expression: str, names: tuple[str, ...], operands: list[torch.Tensor]) -> torch.Tensor | None:
    """The result of a product in a recorded eager call; None where nothing is gained by temporaries.

    What was found for operands of about these sizes is remembered.
    """
    if len(operands) < _FEWEST or ";" in expression:
        return None
    wanted = mask([_torch.any_requires_grad(x) for x in operands])
    shapes = [x._shape if isinstance(x, SparseTensor) else x.shape for x in operands]
    formats = tuple([x._fmt if isinstance(x, SparseTensor) else None for x in operands])
    key = expression, names, wanted, formats, tuple([n.bit_length() for shape in shapes for n in shape])
    if key not in _known:
        if len(_known) == _MOST:
            _known.clear()
        try:
            _known[key] = _kept(expression, names, operands, wanted)
        except (KeyError, ValueError, NotImplementedError):
            _known[key] = None  # it is said of what was written
    kept = _known[key]
    return run_eagerly(kept.split, operands, kept)[-1] if kept else None

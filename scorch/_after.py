"""What is to happen when another package has been imported.

Layers of torch_geometric take SparseTensors by what these tell of themselves, as torch's tensors do; but some
build matrices of torch inside, and ``scorch.pyg`` gives those functions another meaning. It needs
torch_geometric, which takes seconds to import, so nothing here imports that: a finder at the front of
``sys.meta_path`` lets the other finders find it, and has a module of ours imported at the end of its code.
Python tells of imports in no other place, and at the first call of a layer it would be late: users have bound
functions by name. Copies of checkpoints, nested tensors and dynamo are treated so too, whose modules torch
itself imports late.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_AFTER = {  # what to import behind, and what forbids it
    "torch_geometric": ("scorch.pyg", "SCORCH_PYG"),
    "torch._dynamo.variables.tensor": ("scorch.boundary.graphs", None),
    "torch.nested._internal.ops": ("scorch.boundary.nested", None),
    "torch.distributed._state_dict_utils": ("scorch.boundary.states", None),
    "torch.distributed.checkpoint._state_dict_stager": ("scorch.boundary.staging", None),
}


class _Finder:
    """Finds what the others find, with a loader that imports a module of ours when it is done."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _AFTER:
            return None
        for finder in sys.meta_path:
            found = None if finder is self else finder.find_spec(name, path, target)
            if found is not None and found.loader is not None:
                _follow(found.loader, _AFTER[name][0])
                return found
        return None


def _follow(loader: object, ours: str) -> None:
    execute = loader.exec_module

    def then_ours(module: ModuleType) -> None:
        execute(module)
        _import(ours)

    loader.exec_module = then_ours


def _import(ours: str) -> None:
    try:
        importlib.import_module(ours)
    except (AttributeError, ImportError) as why:
        warnings.warn(f"{ours} does not fit this version and is left out: {why}", stacklevel=2)


def _is_off(variable: str) -> bool:
    """Whether a variable of the environment forbids what it is for."""
    text = os.environ.get(variable) or "on"
    if text not in ("off", "on"):
        raise ImportError(f"{variable}: expected off or on, got {text!r}")
    return text == "off"


def watch() -> None:
    """Imports ours behind the packages that are to come, at once for those that are there."""
    for name, (ours, variable) in list(_AFTER.items()):
        if variable and _is_off(variable):
            del _AFTER[name]
        elif name in sys.modules:
            _import(ours)
    sys.meta_path.insert(0, _Finder())

"""What methods of the class call: modules that import the class themselves, found when all are imported.

Imports of this package point down: the class knows the extension and formats, everything else knows the
class. Its methods are defined in it nevertheless, each with a body of a line that names one of these.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .. import _saved as saved
    from ..functions import expressions, multiply, pointwise, products
    from ..tools import plan, reorder, tune
    from . import conversion, layouts, values

_PATHS = {
    "conversion": "scorch.tensor.conversion",
    "expressions": "scorch.functions.expressions",
    "layouts": "scorch.tensor.layouts",
    "multiply": "scorch.functions.multiply",
    "plan": "scorch.tools.plan",
    "pointwise": "scorch.functions.pointwise",
    "products": "scorch.functions.products",
    "reorder": "scorch.tools.reorder",
    "saved": "scorch._saved",
    "tune": "scorch.tools.tune",
    "values": "scorch.tensor.values",
}
__all__ = [
    "conversion", "expressions", "find_all", "layouts", "multiply", "plan", "pointwise", "products",
    "reorder", "saved", "tune", "values",
]  # fmt: skip


_SELDOM = {"tune"}  # imported where they are used first


def __getattr__(name: str) -> object:
    if name not in _SELDOM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = import_module(_PATHS[name])
    return globals()[name]


def find_all() -> None:
    """Finds them, when all are imported."""
    for name, path in _PATHS.items():
        if name not in _SELDOM:
            globals()[name] = import_module(path)

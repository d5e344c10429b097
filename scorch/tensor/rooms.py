"""What methods of the class call: modules that import the class themselves, found when all are imported.

Imports of this package point down: the class knows the extension and formats, everything else knows the
class. Its methods are defined in it nevertheless, each with a body of a line that names one of these.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .. import _saved as saved
    from ..boundary import below
    from ..functions import expressions, multiply, parts, pointwise, products, writing
    from ..tools import choice, pictures, plan, profiling, reorder, tune
    from . import composed, conversion, derivatives, index, layouts, rules, values

_PATHS = {
    "below": "scorch.boundary.below",
    "conversion": "scorch.tensor.conversion",
    "derivatives": "scorch.tensor.derivatives",
    "expressions": "scorch.functions.expressions",
    "index": "scorch.tensor.index",
    "layouts": "scorch.tensor.layouts",
    "multiply": "scorch.functions.multiply",
    "plan": "scorch.tools.plan",
    "pointwise": "scorch.functions.pointwise",
    "products": "scorch.functions.products",
    "reorder": "scorch.tools.reorder",
    "saved": "scorch._saved",
    "values": "scorch.tensor.values",
    "writing": "scorch.functions.writing",
}
_LATER = {  # at the first use
    "choice": "scorch.tools.choice",
    "composed": "scorch.tensor.composed",
    "parts": "scorch.functions.parts",
    "pictures": "scorch.tools.pictures",
    "profiling": "scorch.tools.profiling",
    "rules": "scorch.tensor.rules",
    "tune": "scorch.tools.tune",
}
__all__ = [
    "below", "choice", "composed", "conversion", "derivatives", "expressions", "find_all", "index",
    "layouts", "multiply", "parts", "pictures", "plan", "pointwise", "products", "profiling", "reorder",
    "rules", "saved", "tune", "values", "writing",
]  # fmt: skip


def find_all() -> None:
    """Finds them, when all are imported."""
    for name, path in _PATHS.items():
        globals()[name] = import_module(path)


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = import_module(_LATER[name])
    return globals()[name]

"""What torch sees: the table of its functions, the dispatcher, and operators with shapes and derivatives.

Importing this package fills the tables that the class consults and registers the operators.
"""

from . import (
    attention,
    attributes,
    below,
    comparing,
    distributed,
    dynamic,
    fake,
    lists,
    named,
    rules,
    sizes,
    table,
    transforms,
    views,
)

__all__ = [
    "attention",
    "attributes",
    "below",
    "comparing",
    "distributed",
    "dynamic",
    "fake",
    "lists",
    "named",
    "rules",
    "sizes",
    "table",
    "transforms",
    "views",
]

"""``torch.foreach``, which torch has from 2.15 on: each function is that of every tensor of a list.

Optimizers call ``torch._foreach_...`` instead, and mean the stored values: dispatch.py answers them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..tensor.sparsetensor import HANDLERS

_OTHERS = {"maximum": "clamp_min", "minimum": "clamp_max"}  # which take numbers too


def _alone(name: str) -> Callable:
    """The function of one tensor."""
    if name == "norm":
        return torch.linalg.vector_norm
    plain = name.removesuffix("_")
    return getattr(torch.Tensor if name != plain else torch, _OTHERS.get(plain, plain) + name[len(plain) :])


def _at(k: int, x: object) -> object:
    return x[k] if isinstance(x, list | tuple) else x


def _of_each(name: str) -> Callable:
    """A function of lists side by side, and of what is the same for all; in place, it returns the first."""
    f = _alone(name)

    def called(*args: object, **kwargs: object) -> object:
        kwargs = {word: x.tolist() if isinstance(x, torch.Tensor) else x for word, x in kwargs.items()}
        lengths = {len(x) for x in (*args, *kwargs.values()) if isinstance(x, list | tuple)}
        if len(lengths) != 1:
            raise ValueError(f"torch.foreach.{name}: expected lists of one length, got {sorted(lengths)}")
        made = [
            f(*(_at(k, x) for x in args), **{word: _at(k, x) for word, x in kwargs.items()})
            for k in range(*lengths)
        ]
        return args[0] if name.endswith("_") else tuple(made)

    return called


for _name in getattr(getattr(torch, "foreach", None), "__all__", ()):
    HANDLERS[getattr(torch.foreach, _name)] = _of_each(_name)

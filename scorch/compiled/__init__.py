"""``torch.compile(f, backend="scorch")``: neighbours become one program, inductor takes the rest.

The pass works on the graph that Dynamo hands over, before AOTAutograd: a SparseTensor is still one value
there, a product, an einsum or a softmax one node, and what replaces them is one call of ``scorch.evaluate``
whose gradients are derived from its text. torch finds the backend by an entry point, so importing scorch
imports nothing of this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from .joining import join

__all__ = ["backend", "join"]


def backend(
    gm: torch.fx.GraphModule,
    inputs: Sequence[object],
    *,
    mode: str | None = None,
    options: dict[str, object] | None = None,
    inner: str | Callable = "inductor",
) -> Callable:
    """The backend: joins, then hands on to ``inner``; options={"inner": ...} names another one than inductor.

    ``mode`` and the other options are inductor's.
    """
    options = dict(options or {})
    inner = options.pop("inner", inner)
    if not torch.is_autocast_enabled("cpu"):
        join(gm)
    if inner == "inductor":
        return torch._TorchCompileInductorWrapper(mode, options, None)(gm, inputs)
    from torch._dynamo.backends.registry import lookup_backend

    return lookup_backend(inner)(gm, inputs, **({"options": options} if options else {}))

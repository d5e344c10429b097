"""The product with a matrix whose zeros are found in the call, as torch.compile and torch.export see it.

One operator, whose result has a shape that no value decides; its derivatives are such products.
"""

from __future__ import annotations

import torch

from ..functions import dynamic
from .sizes import library, operator


def _fake(x, w, valid, turned):
    inner, rows = (x.shape[0], x.shape[1]) if turned else (x.shape[1], x.shape[0])
    torch._check(inner == w.shape[0], lambda: "operands disagree about an extent")
    return x.new_empty(rows, w.shape[1])


def _setup(ctx, inputs, output):
    x, w, valid, turned = inputs
    ctx.save_for_backward(x, w, valid)
    ctx.turned = turned


def _backward(ctx, grad):
    times = torch.ops.scorch.dynamic_product
    found = dynamic.gradients(times, *ctx.saved_tensors, ctx.turned, grad, ctx.needs_input_grad)
    return *found, None, None


operator("dynamic_product(Tensor x, Tensor w, Tensor? valid, bool turned) -> Tensor", dynamic.multiply, _fake)
torch.library.register_autograd("scorch::dynamic_product", _backward, setup_context=_setup, lib=library)

"""The product with a matrix whose zeros are found in the call, as torch.compile and torch.export see it.

One operator, whose result has a shape that no value decides; its derivatives are such products. Transforms,
which differentiate and batch it in ways of their own, see the dense product instead.
"""

from __future__ import annotations

import torch

from .. import _torch
from ..functions import dynamic, ways
from .sizes import library, operator


def _fake(x, w, valid, turned):
    inner, rows = (x.shape[0], x.shape[1]) if turned else (x.shape[1], x.shape[0])
    torch._check(inner == w.shape[0], lambda: "operands disagree about an extent")
    return x.new_empty(rows, w.shape[1])


operator("dynamic_product(Tensor x, Tensor w, Tensor? valid, bool turned) -> Tensor", ways.multiply, _fake)
_OPERATOR = torch.ops.scorch.dynamic_product.default


class _Product(_torch.AutogradNode):
    """The operator, recorded; its derivatives are calls of it."""

    @staticmethod
    def forward(ctx, x, w, valid, turned):
        ctx.save_for_backward(x, w, valid)
        ctx.turned = turned
        with _torch.only_below_autograd():
            return _OPERATOR(x, w, valid, turned)

    @staticmethod
    def backward(ctx, grad):
        found = dynamic.gradients(_OPERATOR, *ctx.saved_tensors, ctx.turned, grad, ctx.needs_input_grad)
        return *found, None, None


def _autograd(x, w, valid, turned):
    if _torch.in_transform():
        return dynamic.by_operations(x, w, valid, turned)
    if torch.is_grad_enabled() and _torch.any_requires_grad(x, w):
        return _Product.apply(x, w, valid, turned)
    with _torch.only_below_autograd():
        return _OPERATOR(x, w, valid, turned)


def _batched(info, in_dims, x, w, valid, turned):
    x, w, valid = (a if d is None else a.movedim(d, 0) for a, d in zip((x, w, valid), in_dims, strict=False))
    return dynamic.by_operations(x, w, valid, turned), 0


library.impl("dynamic_product", _autograd, "Autograd")
torch.library.register_vmap("scorch::dynamic_product", _batched, lib=library)

"""Functions that torch's own code answers, or fails in: what is refused is named as the user called it."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from .. import _torch
from ..tensor.sparsetensor import HANDLERS


def _said(f: Callable, name: str, hint: str) -> Callable:
    """f, whose code is torch's; where that is refused, what the user called is named, not what it calls."""

    def called(*args: object, **kwargs: object) -> object:
        try:
            with _torch.DisableTorchFunctionSubclass():
                return f(*args, **kwargs)
        except NotImplementedError:
            raise NotImplementedError(f"{name} {hint}") from None

    return called


_RECURRENT = (
    "is not for this SparseTensor, weight or state: call its to_dense(), through which gradients reach the "
    "stored entries, or write the step with torch.nn.functional.linear(h, A)"
)
_BAGS = (
    "is not for a sparse table W: a bag is a row of a sparse matrix, so with bag and index [n], the numbers "
    "of the bag and of the row of W, write scorch.coo(torch.stack([bag, index]), weights, (bags, len(W))) @ W"
)
for _names, _hint, _home in (
    ("gru_cell rnn_tanh_cell rnn_relu_cell lstm_cell gru rnn_tanh rnn_relu", _RECURRENT, torch._VF),
    ("embedding_bag", _BAGS, F),
    ("ctc_loss gaussian_nll_loss", "is not for this SparseTensor: call its to_dense()", F),
    ("spsolve", "is not for a SparseTensor: use scipy.sparse.linalg.spsolve on A.to_scipy()", torch.sparse),
):
    for _name in _names.split():
        _f = getattr(_home, _name)
        HANDLERS[_f] = _said(_f, _name, _hint)

"""What is at work: graphs in the making, transforms, modes, autograd; and what tensors are in them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch._C import _AutoDispatchBelowAutograd
from torch._C._functorch import maybe_get_level, peek_interpreter_stack
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad
from torch.autograd.forward_ad import _set_fwd_grad_enabled
from torch.fx.experimental import proxy_tensor
from torch.utils._python_dispatch import _disable_current_modes

from .. import _C

T = TypeVar("T")

PLAIN = frozenset([torch.Tensor, torch.nn.Parameter])
Symbol = torch.SymInt | torch.SymFloat | torch.SymBool  # a number in a graph that is for several


def in_functorch() -> bool:
    """Whether a functorch transform is at work."""
    return peek_interpreter_stack() is not None


def in_forward_mode() -> bool:
    """Whether a level of forward mode is open: tensors may have tangents."""
    return forward_ad._current_level >= 0


def makes_graph() -> bool:
    """Whether torch.compile is at work, of which torch keeps a context."""
    guards = sys.modules.get("torch._guards")
    return guards is not None and guards.TracingContext.try_get() is not None


def _is_compiling() -> bool:
    """Whether torch.compile is at work, also for what runs meanwhile untraced, as torch says from 2.13 on."""
    return torch.compiler.is_compiling() or makes_graph()


_KNOWS = hasattr(torch.compiler, "_compile_session_context")
_dispatch_modes = torch._C._len_torch_dispatch_stack
_compiles = torch.compiler.is_compiling if _KNOWS else _is_compiling


def makes_fx() -> bool:
    """Whether make_fx makes a graph, and not for torch.compile, which knows components by itself."""
    return _dispatch_modes() > 0 and proxy_tensor.get_proxy_mode() is not None and not _compiles()


def is_compiling() -> bool:
    """Whether a graph is made, of make_fx too, which does not record what a call looks at numbers for."""
    return _compiles() or makes_fx()


def in_transform() -> bool:
    """Whether a functorch transform is at work, or a level of forward mode is open."""
    return peek_interpreter_stack() is not None or forward_ad._current_level >= 0


def in_graph() -> bool:
    """Whether arrays may be other than plain: what works on coordinates keeps to operators then."""
    return is_compiling() or peek_interpreter_stack() is not None


def in_final_graph() -> bool:
    """Whether AOTAutograd makes the graph that torch.compile will run: nothing is differentiated after it.

    torch.export's may be, and what functorch transforms is handed to its next level.
    """
    if not makes_graph() or peek_interpreter_stack() is not None:
        return False
    return not torch.compiler.is_dynamo_compiling() and not torch.compiler.is_exporting()


def is_tracing(*tensors: torch.Tensor) -> bool:
    """Whether the operator must be called: a graph is recorded, or a mode, transform or subclass at work."""
    if torch.compiler.is_dynamo_compiling():
        return True
    return not _C.plain() or not PLAIN.issuperset([t.__class__ for t in tensors])


def is_fake(x: object) -> bool:
    """Whether x is a tensor of FakeTensorMode, which has a shape and no numbers."""
    return isinstance(x, FakeTensor)


def refuse_fake(x: object) -> None:
    """Raises NotImplementedError where numbers are needed and x has none."""
    if is_fake(x):
        raise NotImplementedError(
            "FakeTensorMode: this needs numbers, which fake tensors have not: make SparseTensors and "
            "layers outside of the mode, mode.from_tensor(A) is a fake of one"
        )


def is_wrapped(x: torch.Tensor) -> bool:
    """Whether x belongs to a level of functorch; to dynamo, which cannot ask, everything in one does."""
    if torch.compiler.is_dynamo_compiling():
        return in_functorch()
    return torch._C._functorch.is_functorch_wrapped_tensor(x)


def is_out_of_reach(x: torch.Tensor) -> bool:
    """Whether x belongs to a level of functorch that is not at work: kernels would take it for memory."""
    level, top = maybe_get_level(x), peek_interpreter_stack()
    return level > 0 and (top is None or top.level() < level)


def refuse_batched(*_: object) -> None:
    """Raises NotImplementedError: of a batch of torch's older kind, which is no level of functorch."""
    raise NotImplementedError(
        "is_grads_batched=True and jacobian(vectorize=True) batch derivatives in a way that kernels cannot "
        "read: use torch.func.jacrev or jacfwd, torch.func.vmap over torch.func.vjp, or vectorize=False"
    )


def _unwrapped(x: torch.Tensor, batches: bool = False) -> torch.Tensor | None:
    """What transforms have wrapped as x; None: in a batch of torch.vmap, where those are not asked for."""
    wrapped = torch._C._functorch
    while is_wrapped(x):
        if not batches and wrapped.is_batchedtensor(x):
            return None
        x = wrapped.get_unwrapped(x)
    return x


def has_numbers(x: object) -> bool:
    """Whether the numbers of x can be looked at: it belongs to no graph, and to no batch of torch.vmap."""
    if not isinstance(x, torch.Tensor):
        return not isinstance(x, Symbol)
    if is_compiling():
        return False
    return _unwrapped(x).__class__ in PLAIN


def numbers_of(x: torch.Tensor, what: str) -> torch.Tensor:
    """The numbers that x holds, whatever is done with it; of ``what`` in the message, by which arrays differ.

    Raises: NotImplementedError: it is a batch of torch.vmap.
    """
    x = _unwrapped(x)
    if x is None:
        raise NotImplementedError(
            f"{what} inside of torch.vmap: each element of the batch would have a structure of its own, "
            f"and they share one: make the SparseTensor outside, and in here one with other values by "
            f"scorch.map(A, lambda _: values)"
        )
    return x.detach()


def all_numbers(x: torch.Tensor) -> torch.Tensor:
    """The numbers of x, those of all elements where it is a batch of torch.vmap."""
    return _unwrapped(x, batches=True).detach()


outside_graphs = _disable_current_modes  # a with statement: what is computed there has numbers


def beneath_transforms(f: Callable, *args: object) -> object:
    """What f makes where no functorch transform is at work: a constant of those that are."""
    with temporarily_clear_interpreter_stack():
        return f(*args)


@contextmanager
def plainly() -> Iterator[None]:
    """In the with statement calls are plain eager ones, whatever transforms them or asks for derivatives, and
    make no inference tensors."""
    level = forward_ad._current_level
    with temporarily_clear_interpreter_stack(), torch.inference_mode(False), torch.no_grad():
        forward_ad._current_level = -1
        try:
            yield
        finally:
            forward_ad._current_level = level


def lasting(make: Callable[[], T]) -> T:
    """What make() gives, to be kept: no inference tensors, which later calls could not record."""
    if is_compiling() or not torch.is_inference_mode_enabled():
        return make()
    with plainly():
        return make()


@contextmanager
def below_autograd() -> Iterator[None]:
    """Inside of a single-level Function: calls go to the next functorch level, or to the kernel."""
    with torch.enable_grad(), _set_fwd_grad_enabled(True), _AutoDispatchBelowAutograd():
        yield


def in_backward() -> bool:
    """Whether autograd's engine is at work."""
    return torch._C._current_graph_task_id() != -1


def is_differentiated(tensors: list[torch.Tensor]) -> bool:
    """Whether a derivative may be asked of a call on these tensors."""
    if in_transform():
        return True
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


any_requires_grad = torch._C._any_requires_grad

"""Everything that torch calls private or that registers with torch, in one file.

The operator ``scorch::evaluate`` (its C kernel is registered by the extension) gets a fake kernel, an
Autograd-key kernel and a batching rule here. The Autograd-key kernel runs a single-level Function and
dispatches below autograd inside it, as torch's own functorch code does, so that one definition serves eager,
functorch transforms, forward-mode and torch.compile.
"""

from __future__ import annotations

import os
import shutil
import sys
from functools import lru_cache
from typing import NamedTuple

import torch
from torch._C import DisableTorchFunctionSubclass, _AutoDispatchBelowAutograd
from torch._C._functorch import peek_interpreter_stack
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.forward_ad import _set_fwd_grad_enabled

from . import _C

__all__ = ["DisableTorchFunctionSubclass"]

_JIT_MODES = {"off": 0, "load": 1, "on": 2, "auto": 3}
_WAY_OUT = "call it under torch.no_grad(), or on detached operands"


# ---- the process ----
def _compiler() -> str | None:
    chosen = os.environ.get("SCORCH_CC")
    if chosen:
        return chosen
    import sysconfig

    words = (sysconfig.get_config_var("CC") or "").split()
    return shutil.which(words[0]) if words else None


def _connect() -> None:
    """Hands the extension what belongs to torch, and the environment, read once."""
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    library = os.path.join(os.path.dirname(torch.__file__), "lib", f"libtorch_cpu{suffix}")
    guards = (
        torch._C._len_torch_dispatch_stack,
        torch._C._len_torch_function_stack,
        peek_interpreter_stack,
        torch._C._get_tracing_state,
        torch._C._is_any_autocast_enabled,
    )
    threads = int(os.environ.get("SCORCH_NUM_THREADS") or 0)
    mode = os.environ.get("SCORCH_JIT") or "auto"
    if mode not in _JIT_MODES:
        raise ImportError(f"SCORCH_JIT: expected off, load, on or auto, got {mode!r}")
    _C.connect(
        library,
        torch.Tensor,
        torch.nn.Parameter,
        torch.Tensor.__dlpack_c_exchange_api__,
        guards,
        vars(forward_ad),
        threads,
    )
    _C.configure(
        _JIT_MODES[mode],
        _compiler(),
        os.environ.get("SCORCH_CFLAGS"),
        os.environ.get("SCORCH_CACHE_DIR"),
    )


_connect()
DEBUG_STAGES = tuple(s for s in os.environ.get("SCORCH_DEBUG", "").split(",") if s)


# ---- subclass machinery ----
def new_wrapper(cls: type, shape: tuple, values: torch.Tensor) -> torch.Tensor:
    """A tensor of ``cls`` without storage; reading its address raises."""
    self = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=values.dtype, device=values.device)
    torch._C._set_throw_on_mutable_data_ptr(self)
    return self


def constant(f):
    """Lets torch.compile call f, a function of constants, while it traces."""
    f._dynamo_marked_constant = True  # what torch.compiler.assume_constant_result does, without its imports
    return f


def mark_dynamic(array: torch.Tensor) -> None:
    """Lets torch.compile treat the length of a component array as dynamic from the first call."""
    array._dynamo_weak_dynamic_indices = {0}


def is_tracing(*tensors: torch.Tensor) -> bool:
    """Whether the operator must be called: a graph is recorded, or a mode, transform or subclass at work."""
    if torch.compiler.is_dynamo_compiling():
        return True
    return not _C.plain() or any(type(t) not in (torch.Tensor, torch.nn.Parameter) for t in tensors)


def parse_to(*args: object, **kwargs: object) -> tuple:
    """(device, dtype, copy) of the arguments of ``Tensor.to``."""
    copy = bool(kwargs.pop("copy", False))
    device, dtype, _, _ = torch._C._nn._parse_to(*args, **kwargs)
    return device, dtype, copy


# ---- program strings, as the operator sees them ----
class Operand(NamedTuple):
    """One operand of a program: its indices and the number of its component arrays (0: dense)."""

    indices: str
    line: str
    ndim: int
    arrays: int


class Program(NamedTuple):
    """An einsum program taken apart."""

    operands: tuple[Operand, ...]
    output: str


@lru_cache(maxsize=4096)
def parse_program(program: str) -> Program:
    """Takes an einsum program string apart.

    Raises:
        NotImplementedError: the expression is index notation, which has no traced form yet.
    """
    text, *lines = program.split("\n")
    if "[" in text or any(line.startswith("!") for line in lines):
        raise NotImplementedError(
            f"{text!r} cannot be traced or differentiated yet: {_WAY_OUT}, outside "
            f"torch.compile, or write it as scorch.einsum"
        )
    inputs, output = text.split("->")
    operands = []
    for indices, line in zip(inputs.split(","), lines, strict=True):
        _, ndim, name = line.split(":", 2)
        arrays = 0
        if name:
            arrays = 1 + sum(
                (kind == "compressed") + (kind != "dense") for kind, *_ in _C.format(name, int(ndim))[2]
            )
        operands.append(Operand(indices, line, int(ndim or 0), arrays))
    return Program(tuple(operands), output)


def make_program(operands: list[Operand], output: str) -> str:
    """The program string of an einsum."""
    return "\n".join([",".join(o.indices for o in operands) + "->" + output, *(o.line for o in operands)])


def _split(parsed: Program, tensors: list, sizes: list) -> list[tuple[list, list]]:
    """(component tensors, sizes) of each operand."""
    groups, at, size = [], 0, 0
    for o in parsed.operands:
        n = max(o.arrays, 1)
        groups.append((list(tensors[at : at + n]), list(sizes[size : size + o.ndim])))
        at, size = at + n, size + o.ndim
    return groups


# ---- the operator ----
op = torch.ops.scorch.evaluate.default
_lib = torch.library.Library("scorch", "IMPL")


def _join(program: str, groups: list[tuple[list, list]]) -> torch.Tensor:
    return op(
        program, [t for tensors, _ in groups for t in tensors], [s for _, sizes in groups for s in sizes]
    )


@lru_cache(maxsize=4096)
def _gradient(program: str, k: int) -> tuple[str, str]:
    """The program of the gradient to dense operand k, from the gradient and the others; its indices."""
    parsed = parse_program(program)
    wanted = parsed.operands[k]
    if wanted.arrays:
        raise NotImplementedError(
            f"gradients to the values of a sparse operand are not available yet: {_WAY_OUT}"
        )
    others = [Operand(parsed.output, "::", 0, 0), *(o for i, o in enumerate(parsed.operands) if i != k)]
    if len(set(wanted.indices)) < len(wanted.indices):
        raise NotImplementedError(
            f"no gradient to an operand with a repeated index yet ({wanted.indices}): {_WAY_OUT}"
        )
    known = "".join(i for i in wanted.indices if any(i in o.indices for o in others))
    return make_program(others, known), known


class _Evaluate(torch.autograd.Function):
    """scorch::evaluate, single level: product rules on program strings."""

    @staticmethod
    def forward(ctx, program, sizes, *tensors):
        ctx.program, ctx.sizes = program, sizes
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        with torch.enable_grad(), _set_fwd_grad_enabled(True), _AutoDispatchBelowAutograd():
            return op(program, list(tensors), sizes)

    @staticmethod
    def backward(ctx, grad):
        groups = _split(parse_program(ctx.program), ctx.saved_tensors, ctx.sizes)
        grads = []
        for k, (tensors, _) in enumerate(groups):
            at = 2 + len(grads)
            grads.extend([None] * len(tensors))
            if any(ctx.needs_input_grad[at : at + len(tensors)]):
                grads[-1] = _grad_of(ctx.program, k, grad, groups)
        return None, None, *grads

    @staticmethod
    def jvp(ctx, _program, _sizes, *tangents):
        primal, total = list(ctx.saved_tensors), None
        for k, tangent in enumerate(tangents):
            if tangent is not None:
                term = op(ctx.program, [*primal[:k], tangent, *primal[k + 1 :]], ctx.sizes)
                total = term if total is None else total + term
        return total


def _grad_of(program: str, k: int, grad: torch.Tensor, groups: list) -> torch.Tensor:
    gradient, known = _gradient(program, k)
    result = _join(gradient, [([grad], []), *(g for i, g in enumerate(groups) if i != k)])
    wanted = parse_program(program).operands[k].indices
    for at, index in enumerate(wanted):  # an index of this operand alone was summed: its gradient repeats
        if index not in known:
            result = result.unsqueeze(at)
    return result.expand(groups[k][0][0].shape)


_raw_evaluate = super(torch.autograd.Function, _Evaluate).apply


def _autograd_kernel(program, operands, sizes):
    if (
        forward_ad._current_level < 0
        and peek_interpreter_stack() is None
        and not (torch.is_grad_enabled() and any(t.requires_grad for t in operands))
    ):
        with _AutoDispatchBelowAutograd():
            return op(program, operands, sizes)
    with enable_single_level_autograd_function():
        return _raw_evaluate(program, sizes, *operands)


_lib.impl("evaluate", _autograd_kernel, "Autograd")


def _batched(info, in_dims, program, operands, sizes):
    """Batching rule: a fresh index on each batched dense operand and on the result."""
    parsed = parse_program(program)
    used = set("".join(o.indices for o in parsed.operands))
    fresh = next(c for c in "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in used)
    new, at, moved = [], 0, list(operands)
    for o in parsed.operands:
        dims = in_dims[1][at : at + max(o.arrays, 1)]
        if o.arrays and any(d is not None for d in dims):
            raise NotImplementedError(
                "vmap over the arrays of a sparse operand is not available yet: loop over them"
            )
        if not o.arrays and dims[0] is not None:
            moved[at] = operands[at].movedim(dims[0], 0)
            o = o._replace(indices=fresh + o.indices)
        new.append(o)
        at += len(dims)
    return op(make_program(new, fresh + parsed.output), moved, sizes), 0


torch.library.register_vmap("scorch::evaluate", _batched, lib=_lib)


# ---- one node for the eager product ----
_GRADIENT_KIND = (3, 2, 1, 0)


class _Product(torch.autograd.Function):
    """Product of a sparse and a dense tensor with a gradient to the dense one; never enters traced code."""

    @staticmethod
    def forward(ctx, x, sparse, kind, run, differentiable):
        ctx.save_for_backward(*sparse._arrays())
        ctx.sparse, ctx.kind, ctx.run, ctx.differentiable = sparse, kind, run, differentiable
        return run(sparse, x, kind)

    @staticmethod
    def backward(ctx, grad):
        ctx.saved_tensors  # noqa: B018  raises if a component was changed in place since
        again = ctx.differentiable if torch.is_grad_enabled() else ctx.run
        return again(ctx.sparse, grad, _GRADIENT_KIND[ctx.kind]), None, None, None, None


eager_product = super(torch.autograd.Function, _Product).apply

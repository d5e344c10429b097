"""Tracers that hand out symbols for tensors: torch.fx, make_fx and torch.export; torch.jit is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

import torch
from torch.fx.experimental import proxy_tensor
from torch.fx.experimental.proxy_tensor import PreDispatchTorchFunctionMode, PythonKeyTracer
from torch.jit import _recursive

from .callers import replace
from .state import PLAIN, is_compiling

F = TypeVar("F", bound=Callable[..., Any])

_JIT = (
    "TorchScript: expected a model of plain tensors, got one that computes with a SparseTensor, which it "
    "does not know: use torch.compile, torch.export or torch.fx"
)


def refuse_jit() -> None:
    """Raises NotImplementedError under torch.jit.trace."""
    if not is_compiling() and torch._C._is_tracing():
        raise NotImplementedError(_JIT)


def refuse_script(*_: object) -> None:
    """What torch.jit.script asks a layer for."""
    raise NotImplementedError(_JIT)


def refuse_scripts(cls: type) -> None:
    """torch.jit.script refuses modules that hold a tensor of the class, of which it would keep zeros."""
    plainly = _recursive.infer_concrete_type_builder

    @wraps(plainly)
    def infer(module: torch.nn.Module, *args: object, **kwargs: object) -> object:
        held = [*module._parameters.values(), *module._buffers.values(), *vars(module).values()]
        if any(isinstance(x, cls) for x in held):
            refuse_script()
        return plainly(module, *args, **kwargs)

    _recursive.infer_concrete_type_builder = infer


def keep_whole(package: str) -> None:
    """torch.fx calls modules of a package, as those of torch.nn, and looks into none.

    Not by what is a leaf: other tracers than torch.fx's own, as that of quantization, ask for other names.
    That of make_fx calls modules with tensors.
    """

    def calling(plainly: Callable) -> Callable:
        def call_module(
            self: torch.fx.Tracer, m: torch.nn.Module, forward: Callable, args: tuple, kwargs: dict
        ) -> object:
            def noted(*args: object, **kwargs: object) -> torch.fx.Proxy:
                return self.create_proxy("call_module", self.path_of_module(m), args, kwargs)

            ours = m.__module__.startswith(f"{package}.") and not isinstance(self, PythonKeyTracer)
            return plainly(self, m, noted if ours else forward, args, kwargs)

        return call_module

    replace(torch.fx.Tracer, "call_module", calling)


def refuse_in_results(cls: type) -> None:
    """torch.export refuses results of a class, made on its way, which would be constants of its graph."""

    def telling(plainly: Callable) -> Callable:
        def create_arg(self: object, a: object) -> object:
            if isinstance(a, cls):
                raise NotImplementedError(
                    "torch.export: expected dense results, got a SparseTensor that is made in the module, "
                    "which its graphs cannot return: return A.values(), and A.indices() where unknown"
                )
            return plainly(self, a)

        return create_arg

    replace(PythonKeyTracer, "create_arg", telling)


def follow_components(cls: type, component: Callable, assembled: Callable) -> None:
    """make_fx knows the components of an object of the class that it is given, and one that is made of them.

    Calls compute with the components. Calls of component and assembled are nodes of its graphs, through which
    gradients flow. torch.export follows reads of components by itself.
    """

    def tracking(plainly: Callable) -> Callable:
        def track(tensor: torch.Tensor, proxy: torch.fx.Proxy, *, constant: object, tracer: Any) -> None:
            plainly(tensor, proxy, constant=constant, tracer=tracer)
            if not isinstance(tensor, cls) or torch.compiler.is_exporting():
                return
            _refuse_pre_dispatch(tensor._val)
            for name, array in zip(tensor._names, tensor._arrays(), strict=True):
                length = array.shape[0] if type(array.shape[0]) is int else None
                part = tracer.create_proxy("call_function", component, (proxy, name, length), {})
                plainly(array, part, constant=None, tracer=tracer)

        return track

    def making(plainly: Callable) -> Callable:
        def create_arg(self: PythonKeyTracer, a: object) -> object:
            arrays = a._arrays() if isinstance(a, cls) and not torch.compiler.is_exporting() else ()
            if not any(x in self.tensor_tracker for x in arrays):
                return plainly(self, a)
            args = (a._fmt, tuple(map(self.unwrap_proxy, a._shape)), *map(self.unwrap_proxy, arrays))
            return self.create_proxy("call_function", assembled, args, {}).node

        return create_arg

    replace(proxy_tensor, "track_tensor", tracking)
    replace(PythonKeyTracer, "create_arg", making)


def follow(made: torch.Tensor, x: torch.Tensor) -> None:
    """make_fx takes made, which is x detached, for x."""
    tracked = proxy_tensor.get_proxy_mode().tracer.tensor_tracker
    if x in tracked:
        tracked[made] = tracked[x]


def _refuse_pre_dispatch(array: torch.Tensor) -> None:
    """Where make_fx traces calls on numbers before autograd, of which the extension knows nothing."""
    modes = torch.overrides._get_current_function_mode_stack()
    if array.__class__ in PLAIN and any(isinstance(m, PreDispatchTorchFunctionMode) for m in modes):
        raise NotImplementedError(
            'make_fx(pre_dispatch=True): of a SparseTensor expected tracing_mode="symbolic", got "real"'
        )


def symbol_in(given: Iterable[object]) -> torch.fx.Proxy | None:
    """What stands for a tensor among arguments, where torch.fx traces."""
    return next((x for x in given if isinstance(x, torch.fx.Proxy)), None)


def noted(symbol: torch.fx.Proxy, f: Callable, args: tuple, kwargs: dict[str, object]) -> torch.fx.Proxy:
    """The node of a call in the graph of a symbol."""
    return type(symbol).__torch_function__(f, (), args, kwargs)


def symbolic(f: F) -> F:
    """f, of which a call on a symbol is a node."""

    @wraps(f)
    def call(*args: object, **kwargs: object) -> object:
        if len(args) == 1 and not kwargs and args[0].__class__ in PLAIN:  # most calls
            return f(*args)
        symbol = None if is_compiling() else symbol_in((*args, *kwargs.values()))
        return f(*args, **kwargs) if symbol is None else noted(symbol, call, args, kwargs)

    return call

"""Everything that torch calls private, in one file, and the connection of the extension to torch."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from numbers import Number
from types import FunctionType
from typing import Any, TypeVar

import torch
from torch._C import DisableTorchFunctionSubclass, _AutoDispatchBelowAutograd
from torch._C._dynamo import eval_frame
from torch._C._functorch import is_legacy_batchedtensor, maybe_get_level, peek_interpreter_stack
from torch._functorch import eager_transforms, vmap
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch._functorch.utils import enable_single_level_autograd_function
from torch._lowrank import _svd_lowrank as svd_lowrank
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad
from torch.autograd.forward_ad import _set_fwd_grad_enabled
from torch.fx.experimental import proxy_tensor
from torch.fx.experimental.proxy_tensor import PreDispatchTorchFunctionMode, PythonKeyTracer
from torch.jit import _recursive
from torch.nn.modules.module import _has_any_global_hook
from torch.serialization import _legacy_load
from torch.utils._python_dispatch import _disable_current_modes

from . import _C

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
__all__ = [
    "DisableTorchFunctionSubclass",
    "eager_transforms",
    "is_legacy_batchedtensor",
    "outside_graphs",
    "svd_lowrank",
    "vmap",
]

_JIT_MODES = {"off": 0, "load": 1, "on": 2, "auto": 3}
_VALIDATE = "validate"  # no stage: structures are looked through before every use


# ---- the process ----
def _compiler() -> str | None:
    chosen = os.environ.get("SCORCH_CC")
    if chosen:
        return chosen
    import sysconfig

    words = (sysconfig.get_config_var("CC") or "").split()
    return shutil.which(words[0]) if words else None


def _encoded(text: str | None) -> bytes | None:
    """As the environment has it, whatever the file system's encoding."""
    return None if text is None else os.fsencode(text)


def _number(name: str, meaning: str) -> int:
    """A variable of the environment that is a number, 0 where it is not set."""
    text = os.environ.get(name) or "0"
    if not (text.isascii() and text.isdecimal() and int(text) < 2**31):
        raise ImportError(f"{name}: expected a number, {meaning}, got {text!r}")
    return int(text)


def _connect() -> None:
    """Hands the extension what belongs to torch, and the environment, read once."""
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    library = os.path.join(os.path.dirname(torch.__file__), "lib", f"libtorch_cpu{suffix}")
    guards = (
        torch._C._len_torch_dispatch_stack,
        torch._C._len_torch_function_stack,
        peek_interpreter_stack,
        torch._C._is_tracing,
        torch._C._is_any_autocast_enabled,
    )
    threads = _number("SCORCH_NUM_THREADS", "0 for torch's")
    memory = _number("SCORCH_MEMORY", "of megabytes, 0 for 256")
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
        _readable,
        torch.__future__.get_swap_module_params_on_conversion,
        _VALIDATE in _asked(),
    )
    _C.configure(
        _JIT_MODES[mode],
        *map(_encoded, (_compiler(), os.environ.get("SCORCH_CFLAGS"), os.environ.get("SCORCH_CACHE_DIR"))),
        memory << 20,
    )


def _asked() -> tuple[str, ...]:
    """What SCORCH_DEBUG asks for."""
    asked = tuple(s.strip() for s in os.environ.get("SCORCH_DEBUG", "").split(",") if s.strip())
    known = (*_C.stages, _VALIDATE)
    for word in asked:
        if word not in known:
            raise ImportError(f"SCORCH_DEBUG: expected some of {', '.join(known)}, got {word!r}")
    return asked


# ---- memory that nobody may write ----
def protected(x: torch.Tensor) -> torch.Tensor:
    """x, over read-only memory, which torch must not write: it raises instead, of views too.

    Such a tensor can be read and computed with; what hands out its address (``data_ptr``, ``numpy``) raises.
    A copy where this torch cannot do that.
    """
    if not hasattr(torch._C, "_construct_storage_from_data_pointer"):
        return x.clone()
    torch._C._set_throw_on_mutable_data_ptr(x)
    return x


def is_read_only(x: torch.Tensor) -> bool:
    """Whether torch lets nobody write the memory of a plain tensor."""
    if is_compiling():
        return False
    try:
        x.data_ptr()
    except RuntimeError:
        return type(x) in (torch.Tensor, torch.nn.Parameter) and not is_wrapped(x)
    return False


def address(x: torch.Tensor) -> int:
    """Where the first element of a tensor is."""
    return torch._C._data_address(x) + x.storage_offset() * x.element_size()


def _readable(x: torch.Tensor) -> torch.Tensor | None:
    """A tensor over the memory of one that nobody may write, for the extension to read; None: x has none."""
    if not x.is_cpu or x.layout is not torch.strided or not is_read_only(x):
        return None
    n = x.untyped_storage().nbytes()
    memory = torch._C._construct_storage_from_data_pointer(torch._C._data_address(x), x.device, n)
    twin = torch.empty(0, dtype=x.dtype, device="cpu").set_(memory, x.storage_offset(), x.shape, x.stride())
    twin._memory_of = x.detach()  # which holds it
    return twin


def _show_profiler() -> None:
    """Programs are events of torch.profiler while it runs, which these functions of torch are told of."""

    def telling(on: bool) -> Callable[[Callable], Callable]:
        def by(plainly: Callable) -> Callable:
            def call() -> None:
                plainly()
                _C.mark(on)

            return call

        return by

    profiler = torch.autograd.profiler
    if hasattr(profiler, "_run_on_profiler_start") and hasattr(profiler, "_run_on_profiler_stop"):
        replace(profiler, "_run_on_profiler_start", telling(True))
        replace(profiler, "_run_on_profiler_stop", telling(False))
        _C.mark(bool(getattr(profiler, "_is_profiler_enabled", False)))


_connect()
DEBUG_STAGES = tuple(word for word in _asked() if word != _VALIDATE)
VALIDATES = _VALIDATE in _asked()


# ---- subclass machinery ----
any_requires_grad = torch._C._any_requires_grad
_ACTION = eval_frame._FrameAction


def _never_first(f: Callable, below: object) -> None:
    """torch.compile makes no graph of its own of f, where code that is not traced calls it."""
    eval_frame.set_code_exec_strategy(f.__code__, eval_frame._FrameExecStrategy(_ACTION.SKIP, below))


def entry(f: F) -> F:
    """f itself, which belongs to the graph of traced code that calls it.

    Behind a break of the graph, where code that is not traced calls it, it runs as it is, with all that it
    calls: graphs of pieces would be made of arrays, tables and sizes that are known in there alone.
    """
    _never_first(f, _ACTION.SKIP)
    return f


def entries(namespace: dict[str, object]) -> None:
    """Makes the functions, methods and properties of a module or class entries."""
    for x in namespace.values():
        functions = [x.fget, x.fset] if isinstance(x, property) else [getattr(x, "__func__", x)]
        for f in functions:
            if isinstance(f, FunctionType):
                entry(f)


def untraced(f: F) -> F:
    """f itself, whose own code is never traced."""
    _never_first(f, _ACTION.DEFAULT)
    f._torchdynamo_disable = True
    return f


def count_elements(shape: Sequence[int]) -> None:
    """Raises ValueError where a shape has more elements than torch can count."""
    if math.prod(map(int, shape)) >= 2**63:
        raise ValueError(
            f"expected a shape of fewer than 2^63 elements, which torch counts, got {tuple(shape)}"
        )


@untraced
def new_wrapper(cls: type, shape: tuple, values: torch.Tensor) -> torch.Tensor:
    """A tensor of ``cls`` without storage; reading its address raises."""
    try:
        self = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=values.dtype, device=values.device)
    except RuntimeError:
        count_elements(shape)
        raise
    torch._C._set_throw_on_mutable_data_ptr(self)
    return self


def adopt(cls: type, record: Callable, core_of: Callable, single: dict) -> None:
    """Tells the extension of the class, whose objects it makes from then on as :func:`new_wrapper` does."""
    make, seal = torch.Tensor._make_wrapper_subclass, torch._C._set_throw_on_mutable_data_ptr
    _C.adopt(cls, make, seal, any_requires_grad, record, core_of, single)


def constant(f: F) -> F:
    """Lets torch.compile call f, a function of constants, while it traces."""
    f._dynamo_marked_constant = True  # what torch.compiler.assume_constant_result does, without its imports
    return f


def _refusal(f: Callable) -> str:
    """What torch says where f cannot be part of a graph."""
    return f"{f.__qualname__} looks at numbers, which a graph does not have: call it before the graph"


def apart(f: F) -> F:
    """f, never traced, nor what it calls. torch.compile is not imported for that, which takes seconds, unless
    it is there."""
    disabled = torch._disable_dynamo(f)

    @wraps(f)
    def call(*args: object, **kwargs: object) -> object:
        return (disabled if "torch._dynamo" in sys.modules else f)(*args, **kwargs)

    call._torchdynamo_disable_msg = f"{_refusal(f)}; without fullgraph=True it ends there"
    return untraced(call)


def before_graphs(f: F) -> F:
    """f, apart, which torch.export is told to call before it traces, where that cannot go on."""

    @wraps(f)
    def call(*args: object, **kwargs: object) -> object:
        try:
            return f(*args, **kwargs)
        except (TypeError, RuntimeError) as error:
            if not torch.compiler.is_exporting():
                raise
            raise NotImplementedError(_refusal(f)) from error

    return apart(call)


_nodes: list[Callable] = []


def node(f: F) -> F:
    """A function of tensors that is a node of its own where torch.compile traces.

    Where it cannot be one, the graph ends there and f is called: not traced, as what it calls would be, which
    takes a call that is traced for one that makes a node.
    """
    body = apart(f)

    @wraps(f)
    def call(*args: object) -> object:
        return body(*args)

    _nodes.append(call)
    return call


@constant
def admit_nodes() -> None:
    """Tells torch.compile of these functions; called while it traces, before one of them is named."""
    while _nodes:
        torch.compiler.allow_in_graph(_nodes.pop())


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


def are_symbols(types: Sequence[type]) -> bool:
    """Whether one of these types of arguments stands for a tensor where torch.fx traces."""
    return any(issubclass(t, torch.fx.Proxy) for t in types)


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
        symbol = None if is_compiling() else symbol_in((*args, *kwargs.values()))
        return f(*args, **kwargs) if symbol is None else noted(symbol, call, args, kwargs)

    return call


def unknown_size() -> int:
    """In a fake kernel: a size that nobody knows before the call.

    torch.compile may take a whole function of SparseTensors for one node first; sizes inside it are then no
    business of the node's results. torch 2.10 cannot be told so, and raises an error there. Dynamo breaks
    graphs at operators that ask for such a size, unless it was told fullgraph=True: these make it.
    """
    context = torch.library.get_ctx()
    env = context._shape_env
    if env is None:
        return context.new_dynamic_size()  # which refuses
    from torch.fx.experimental.symbolic_shapes import _constrain_range_for_size

    n = env.create_unbacked_symint()
    _constrain_range_for_size(n)
    getattr(env, "ignorable_fresh_unbacked_symbols", []).append(n.node._expr)
    return n


def surely(condition: bool) -> bool:
    """Whether a condition on sizes holds; no where torch.compile cannot say before the call."""
    if type(condition) is bool and not is_compiling():
        return condition
    from torch.fx.experimental.symbolic_shapes import guard_or_false

    return guard_or_false(condition)


def divides(block: int, extent: int) -> bool:
    """Whether a block divides an extent; of one that is a symbol, whether it is known to."""
    if type(extent) is int and not is_compiling():
        return extent % block == 0
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return statically_known_true(extent % block == 0)


def symbols_in(lengths: list[int | torch.SymInt]) -> list[torch.SymInt]:
    """What lengths are computed from that are no symbols themselves.

    A graph that is given an array of length 2 * s and reads s nowhere is refused by inductor. So s is handed
    to an operator among the sizes, of which that reads as many as it needs.
    """
    found, traced = {}, None
    for n in lengths:
        if isinstance(n, torch.SymInt) and not n.node.expr.is_Symbol:
            env, traced = n.node.shape_env, _symbols_traced() if traced is None else traced
            known = env.backed_var_to_val if hasattr(env, "backed_var_to_val") else env.var_to_val
            for s in n.node.expr.free_symbols & known.keys():
                found[s] = traced.get(s) or env.create_symintnode(s, hint=int(known[s]))
    return list(found.values())


def _symbols_traced() -> dict[object, torch.SymInt]:
    """The first number of a graph in the making that is a symbol, which is the size of an input.

    For one that it does not know, torch takes the last, which may be computed from the length of an array
    that only the backward graph is given.
    """
    from torch.fx.experimental.proxy_tensor import get_proxy_mode

    mode, first = get_proxy_mode(), {}
    for node in mode.tracer.symnode_tracker.sym_node_dict if mode is not None else ():
        if node.is_int() and node.expr.is_Symbol:
            first.setdefault(node.expr, torch.SymInt(node))
    return first


def mark_dynamic(array: torch.Tensor) -> None:
    """Lets torch.compile treat the length of a component array as dynamic from the first call."""
    array._dynamo_weak_dynamic_indices = {0}


def unmark_dynamic(array: torch.Tensor) -> None:
    """Takes that back."""
    vars(array).pop("_dynamo_weak_dynamic_indices", None)


Symbol = torch.SymInt | torch.SymFloat | torch.SymBool  # a number in a graph that is for several
PLAIN = frozenset([torch.Tensor, torch.nn.Parameter])


def is_tracing(*tensors: torch.Tensor) -> bool:
    """Whether the operator must be called: a graph is recorded, or a mode, transform or subclass at work."""
    if torch.compiler.is_dynamo_compiling():
        return True
    return not _C.plain() or not PLAIN.issuperset([t.__class__ for t in tensors])


def is_unfilled(x: object) -> bool:
    """Whether x is a tensor of zeros that torch has no memory for."""
    return isinstance(x, torch.Tensor) and x._is_zerotensor()


def parts_of(func: Callable) -> Callable | None:
    """What calls the operators that an operator is made of, where it has no kernel of its own."""
    return func.decompose if func._can_decompose() else None


def asked_by_torch() -> bool:
    """Whether torch's own code called the function that asks."""
    return sys._getframe(2).f_globals.get("__name__", "").startswith("torch.")


def caller() -> str:
    """The module whose code called into this package; empty where it was C."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("scorch."):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "") if frame is not None else ""  # autograd's thread has no other


_STEP = "_single_tensor_"  # how functions of torch.optim begin
_ATTENTION = ("multi_head_attention_forward", "merge_masks")


def in_attention(*where: str) -> bool:
    """Whether a function of torch's multi-head attention, any or one of these, called into this package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(("scorch.", "torch.")):
        if frame.f_code.co_name in (where or _ATTENTION):
            return True
        frame = frame.f_back
    return False


def traces_attention() -> bool:
    """Whether torch.compile traces such a function: the graph that it makes does not say so."""
    context = sys.modules["torch._guards"].TracingContext if _makes_graph() else None
    return context is not None and any(f.name in _ATTENTION for f in context.extract_stack())


def traces_step() -> bool:
    """Whether torch.compile, or a backend at its graph, is in what torch steps one parameter by."""
    if not _makes_graph():
        return False
    frames = sys.modules["torch._guards"].TracingContext.extract_stack()
    if frames:
        return frames[-1].name.startswith(_STEP)
    note = sys.modules["torch.fx.traceback"].get_current_meta().get("stack_trace") or ""
    return note.rpartition(", in ")[2].startswith(_STEP)


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


def fills_later() -> bool:
    """Whether torch loads a file of its older format: it makes all tensors first, and reads numbers then."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not _legacy_load.__code__:
        frame = frame.f_back
    return frame is not None


def replace(owner: object, name: str, by: Callable[[Callable], Callable]) -> None:
    """Gives a function of torch, or a method, another meaning, made of the one it has."""
    plainly = getattr(owner, name)
    setattr(owner, name, wraps(plainly)(by(plainly)))


def parse_to(*args: object, copy: bool = False, **kwargs: object) -> tuple:
    """(device, dtype, copy) of the arguments of ``Tensor.to``."""
    last = 2 if args and isinstance(args[0], torch.dtype | torch.Tensor) else 3
    if len(args) == last + 1:  # what _parse_to does not know
        *args, copy = args
    try:
        device, dtype, _, _ = torch._C._nn._parse_to(*args, **kwargs)
    except RuntimeError:
        if not (args and isinstance(args[0], str)):
            raise
        said = f"to: expected a device or a dtype, got {args[0]!r}; a format is changed by A.convert"
        raise RuntimeError(said) from None
    return device, dtype, bool(copy)


_NAMES = {  # what else torch calls an argument
    "a": "input",
    "self": "input",
    "x": "input",
    "x1": "input",
    "x2": "other",
    "axis": "dim",
    "axis0": "dim0",
    "axis1": "dim1",
    "keepdims": "keepdim",
}


def under_one_name(kwargs: dict[str, object]) -> dict[str, object]:
    """Keyword arguments under the first of the names that torch takes for each."""
    return {_NAMES.get(name, name): value for name, value in kwargs.items()}


def one_by_one(args: Sequence, named: Sequence[int] | None) -> tuple[int, ...]:
    """Integers that came one by one, as one sequence, or by their name."""
    if named is not None:
        args = (named,)
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], list | tuple) else tuple(args)


def broadcast(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The shape that two shapes broadcast to, as ``torch.broadcast_shapes``, which loads SymPy.

    Raises: ValueError: they do not.
    """
    if is_compiling() or any(type(n) is not int for n in (*a, *b)):
        return tuple(torch.broadcast_shapes(a, b))
    rank = max(len(a), len(b))
    pairs = list(zip(*((1,) * (rank - len(x)) + tuple(x) for x in (a, b)), strict=True))
    if any(n != m and 1 not in (n, m) for n, m in pairs):
        raise ValueError(f"expected shapes that broadcast, got {tuple(a)} and {tuple(b)}")
    return tuple(m if n == 1 else n for n, m in pairs)


# ---- modules ----
HOOKS = (  # where a module keeps those of its calls
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_is_full_backward_hook",
)


def is_unwatched(module: torch.nn.Module, kind: type) -> bool:
    """Whether a call of the module is that of its class, of which no hook is told."""
    return type(module) is kind and not (_has_any_global_hook() or any(getattr(module, h) for h in HOOKS))


# ---- single-level Functions ----
only_below_autograd = _AutoDispatchBelowAutograd
single_level = enable_single_level_autograd_function


nn = torch._C._nn  # what a function of F calls that dynamo traces into
outside_graphs = _disable_current_modes  # a with statement: what is computed there has numbers


def between_graphs(f: F) -> F:
    """f itself, a backward function, which compiled autograd calls between its graphs."""
    entry(f)._torchdynamo_disable = True
    f._torchdynamo_disable_msg = "gradients of eager calls are taken between graphs: leave out fullgraph=True"
    return f


class AutogradNode(torch.autograd.function._SingleLevelFunction):
    """A node that is recorded at one level: functorch starts no machinery of its own for it."""

    def __init_subclass__(cls) -> None:
        between_graphs(cls.backward)

    @staticmethod
    def _compiled_autograd_key(ctx):
        return (ctx._autograd_function_id,)


def in_functorch() -> bool:
    """Whether a functorch transform is at work."""
    return peek_interpreter_stack() is not None


def beneath_transforms(f: Callable, *args: object) -> object:
    """What f makes where no functorch transform is at work: a constant of those that are."""
    with temporarily_clear_interpreter_stack():
        return f(*args)


def in_forward_mode() -> bool:
    """Whether a level of forward mode is open: tensors may have tangents."""
    return forward_ad._current_level >= 0


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


def has_numbers(x: object) -> bool:
    """Whether the numbers of x can be looked at: it belongs to no graph, and to no batch of torch.vmap."""
    if not isinstance(x, torch.Tensor):
        return not isinstance(x, Symbol)
    if is_compiling():
        return False
    wrapped = torch._C._functorch
    while is_wrapped(x):
        if wrapped.is_batchedtensor(x):
            return False
        x = wrapped.get_unwrapped(x)
    return x.__class__ in PLAIN


def contents(*tensors: torch.Tensor) -> bytes:
    """A number for what tensors hold, whoever wrote it: torch does not count fused optimizers or NumPy."""
    for x in tensors:
        refuse_fake(x)
    return _C.fingerprint(tuple([x if x.is_contiguous() else x.contiguous() for x in tensors]))


def version_of_structure(x: torch.Tensor) -> int:
    """What is another when pos or crd was written to by torch; nobody else should, so they are not read."""
    return 0 if x.is_inference() else x._version


def as_tensor(x: object, dtype: torch.dtype | None = None) -> torch.Tensor:
    """``torch.as_tensor``; what is no tensor becomes one on the CPU, wherever torch makes them by default."""
    return torch.as_tensor(x, dtype=dtype, device=x.device if isinstance(x, torch.Tensor) else "cpu")


def find_room(n: int, each: int, what: str, instead: str = "") -> None:
    """Raises MemoryError where the system has no room for n of ``what``, of so many bytes each.

    Arrays that are filled one after the other would have the process killed where each by itself has room.
    In a graph nobody knows n.
    """
    if not in_graph() and not _C.fits(n * each):
        raise MemoryError(
            f"out of memory: {n} {what} of {each} bytes each, {n * each * 1e-9:.3f} GB in all{instead}"
        )


def is_foreign(x: object) -> bool:
    """Whether x is a number of a kind that torch does not take, as fractions are."""
    return isinstance(x, Number) and not (isinstance(x, int | float | complex) or hasattr(x, "__array__"))


def numbers_of(x: torch.Tensor, what: str) -> torch.Tensor:
    """The numbers that x holds, whatever is done with it; of ``what`` in the message, by which arrays differ.

    Raises: NotImplementedError: it is a batch of torch.vmap.
    """
    wrapped = torch._C._functorch
    while is_wrapped(x):
        if wrapped.is_batchedtensor(x):
            raise NotImplementedError(
                f"{what} inside of torch.vmap: each element of the batch would have a structure of its own, "
                f"and they share one: make the SparseTensor outside, and in here one with other values by "
                f"scorch.map(A, lambda _: values)"
            )
        x = wrapped.get_unwrapped(x)
    return x.detach()


def _makes_graph() -> bool:
    """Whether torch.compile is at work, of which torch keeps a context."""
    guards = sys.modules.get("torch._guards")
    return guards is not None and guards.TracingContext.try_get() is not None


def _is_compiling() -> bool:
    """Whether torch.compile is at work, also for what runs meanwhile untraced, as torch says from 2.13 on."""
    return torch.compiler.is_compiling() or _makes_graph()


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
    if not _makes_graph() or peek_interpreter_stack() is not None:
        return False
    return not torch.compiler.is_dynamo_compiling() and not torch.compiler.is_exporting()


def add_wrapper_call(operator: str, write: Callable[[Any, Callable[[str], None]], None]) -> None:
    """How wrappers that inductor writes in Python call an operator, where that is at work (torch 2.11)."""
    module = sys.modules.get("torch._inductor.codegen.custom_extern_kernel_codegen")
    if module:
        module.CUSTOM_EXTERN_KERNEL_CODEGEN.setdefault(operator, module.CustomCodegen(python=write))


def is_given_to_graph(name: str) -> bool:
    """Whether this is a tensor that the graph which inductor writes is given, and writes nothing to."""
    graph = sys.modules["torch._inductor.virtualized"].V.graph
    return name in graph.graph_inputs and name not in graph.mutated_inputs


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


_show_profiler()

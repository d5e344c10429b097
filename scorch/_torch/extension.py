"""The connection of the extension to torch and to the environment."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable

import torch
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import forward_ad

from .. import _C
from .callers import replace
from .tensors import is_alone, readable

_JIT_MODES = {"off": 0, "load": 1, "on": 2, "auto": 3}
_VALIDATE = "validate"  # no stage: structures are looked through before every use


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
        readable,
        torch.__future__.get_swap_module_params_on_conversion,
        is_alone,
        torch._C._get_deterministic_algorithms,
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
_show_profiler()

"""Facts about this process, for people and for bug reports."""

from __future__ import annotations

import platform
import warnings

import torch

from .. import _C


def info() -> dict[str, str]:
    """CPU, threads, bundle, compiler, cache and versions, as a dictionary of texts.

    >>> scorch.info()["scorch"] == scorch.__version__
    True
    """
    facts = dict(line.split(": ", 1) for line in _C.info().splitlines() if ": " in line)
    return {
        "scorch": _C.version,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "threads": str(_C.width()),
        **{k: v for k, v in facts.items() if k != "threads"},
    }


def stats() -> dict[str, object]:
    """Counts of this process.

    ``programs`` were made, ``compiled`` by the C compiler, loaded ``from_disk``, or found ``from_memory`` or
    ``from_bundle``; ``executor`` are interpreted; ``runs`` counts calls by way. ``tuned`` requests were met
    by what :func:`scorch.tune` keeps. ``path_seconds`` went into orders of contraction, ``compile_seconds``
    into the C compiler, ``load_seconds`` into loading kernels. ``kept`` says what the process holds of them
    now: ``keys`` that lead to programs, ``bytes`` of at most ``limit`` (``SCORCH_MEMORY``), and how many keys
    were ``forgotten`` to make room, the least recently used first; they are found in the cache again.

    >>> sorted(scorch.stats()["runs"])
    ['bundle', 'executor', 'jit']
    """
    return _C.stats()


def clear_cache() -> int:
    """Removes the kernels of the cache on disk; returns how many. Kernels in use stay usable.

    What was measured stays, as it takes longer to find than a kernel to compile: ``python -m scorch tuned
    clear`` removes what :func:`scorch.tune` keeps, ``calibrate forget`` what :func:`calibrate` does.

    Raises:
        OSError, ValueError: the cache directory cannot be read or is not ours.

    >>> scorch.clear_cache()  # doctest: +SKIP
    12
    """
    return _C.clear_cache()


def release() -> int:
    """Frees the memory that is kept between calls; returns how many bytes.

    Large results, from 4 MB on, and workspaces come from at most 256 MB that are kept when they are freed,
    because new memory takes the system longer than most kernels need to fill it. Layouts that traced and
    compiled calls derived, another 256 MB at most, are dropped too; those of a tensor go with its
    ``release()``.

    >>> scorch.release() >= 0
    True
    """
    return _C.release()


def calibrate(*, forget: bool = False) -> dict[str, float]:
    """Measures what schedules are chosen by on this CPU, in less than a second; once is enough.

    The cache directory keeps it, so that later processes on this kind of CPU choose alike, and this one for
    calls that it has not met; where it cannot, a warning says so. Without it the constants of a typical
    machine are used; ``scorch.info()["costs"]`` and ``scorch.explain`` say which. Other work on the machine
    makes it wrong, so nothing is measured unasked.

    Args:
        forget: go back to the typical machine instead.

    Returns:
        Times against those of the typical machine, in powers of the fourth root of 2, from 1/4 to 4: ``core
        branch l2 l3 memory insert clear team``.

    >>> list(scorch.calibrate(forget=True))
    ['core', 'branch', 'l2', 'l3', 'memory', 'insert', 'clear', 'team']
    """
    steps, kept = _C.calibrate(forget)
    if not kept:
        warnings.warn(
            f"calibrate: this is for this process alone, since the cache does not keep it: {info()['cache']}",
            stacklevel=2,
        )
    return {name: 2 ** (step / 4) for name, step in steps.items()}

"""How far work of some seconds is: a bar of tqdm where that is installed, else a line; on a terminal alone.

A thread has one, and what it does next takes its place.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

_of = threading.local()


def on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _bar() -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return None

    class Bar(tqdm):
        monitor_interval = 0  # a thread that watches over bars would be there in forked children, too

    shape = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"
    return Bar(total=1.0, bar_format=shape, leave=False, file=sys.stderr, mininterval=0, dynamic_ncols=True)


def say(what: str, share: float, seconds: float) -> None:
    """What is going on, which part of it is done, and since when."""
    if not on_terminal():
        return
    if not hasattr(_of, "bar"):
        _of.bar = _bar()
    if _of.bar is None:
        print(f"\r{f'{what}: {share:4.0%}, {seconds:.0f} s':<78.78}", end="", file=sys.stderr, flush=True)
    else:
        _of.bar.start_t = time.time() - seconds
        _of.bar.n = min(share, 1.0)
        _of.bar.set_description_str(what)


def end() -> None:
    """It is over: the terminal is as it was."""
    if hasattr(_of, "bar"):
        if _of.bar is None:
            print(f"\r{'':78}\r", end="", file=sys.stderr, flush=True)
        else:
            _of.bar.close()
        del _of.bar


def show(step: int, share: float, seconds: float) -> None:
    """How far a conversion is; the extension calls it from the third second on. Step 0: it is over."""
    if step:
        say(f"scorch: converting, step {step}", share, seconds)
    else:
        end()

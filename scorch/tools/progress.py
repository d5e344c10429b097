"""A line on the terminal while something takes long; nothing where stderr is no terminal."""

from __future__ import annotations

import sys


def on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def say(text: str) -> None:
    """The line of what is going on, in the place of the one before; none if the text is empty."""
    if on_terminal():
        print(f"\r{text:<78.78}", end="" if text else "\r", file=sys.stderr, flush=True)


def show(step: int, share: float, seconds: float) -> None:
    """How far a conversion is; the extension calls it from the third second on. Step 0: it is over."""
    say(f"scorch: converting, step {step}, {share:4.0%}, {seconds:.0f} s" if step else "")

"""Numbers that are properties, for callers who know them as methods."""

from __future__ import annotations


class Number(int):
    """An integer that says what it is when it is called, as ``nnz`` is where it is a method."""

    __slots__ = ()

    def __call__(self) -> None:
        raise TypeError(f"nnz is a property, here {int(self)}: write A.nnz, without parentheses")

    def __reduce__(self) -> tuple:
        return int, (int(self),)

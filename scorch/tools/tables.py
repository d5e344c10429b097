"""Tables and numbers for people: what reports of this package print, as text and in notebooks."""

from __future__ import annotations

from collections.abc import Sequence


def human(seconds: float | None) -> str:
    """A time in the unit that suits it; empty where there is none."""
    if seconds is None:
        return ""
    unit, factor = next(
        (u, f) for u, f in (("s", 1), ("ms", 1e3), ("us", 1e6)) if seconds * f >= 1 or u == "us"
    )
    return f"{seconds * factor:.3g} {unit}"


def human_bytes(n: float) -> str:
    """Bytes with their unit, by powers of ten."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n:.0f} B"


def lines(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """A table with columns side by side: its head, a rule, and its rows."""
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, ["-" * width for width in widths], *body)
    ]


def as_html(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """The same for a notebook."""
    import html  # and its tables of entities, which nobody else needs

    def row(cells: Sequence[str], kind: str) -> str:
        # spaces in front of a name show what lies inside of what
        texts = [
            "&nbsp;" * (len(cell) - len(cell.lstrip(" "))) + html.escape(cell.lstrip(" ")) for cell in cells
        ]
        each = (f'<{kind} style="text-align:left">{text}</{kind}>' for text in texts)
        return f"<tr>{''.join(each)}</tr>"

    return f"<table>{row(head, 'th')}{''.join(row(cells, 'td') for cells in body)}</table>"

"""Pictures: where a tensor has entries, what a notebook shows of one, and how a plan ran.

Nothing here makes a tensor dense: a picture is a two-dimensional histogram of coordinates. Pictures of
notebooks are PNG text by zlib alone; what is drawn on axes needs matplotlib, which is imported then.
"""

from __future__ import annotations

import base64
import struct
import time
import zlib
from typing import TYPE_CHECKING, Any

import torch

from ..functions.explanation import Explanation, Step
from ..tensor.sparsetensor import SparseTensor
from .profiling import Profile, Ran
from .tables import as_html, human, human_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222222")
_FAINTEST = 0.25  # of a pixel with an entry, so that single ones are seen
_SMALL = 96  # pixels of a side, in notebooks


def _axes(ax: Axes | None, what: str, **size: Any) -> Axes:
    if ax is not None:
        if not hasattr(ax, "imshow"):
            raise TypeError(f"{what}: expected axes of matplotlib, got {type(ax).__name__}")
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as why:
        raise ImportError(
            f"{what} draws with matplotlib, which is not installed: pip install matplotlib"
        ) from why
    return pyplot.subplots(**size)[1]


# ---- where entries are ----
def _extents(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of the picture: a vector is one row, of more dimensions the last two count."""
    if len(shape) >= 2:
        return shape[-2], shape[-1]
    return 1, shape[0] if shape else 1


def raster(A: SparseTensor, pixels: int) -> torch.Tensor:
    """How densely A stores, [rows, columns] of at most so many pixels a side, from 0 to 1.

    What fills blocks counts as stored, padding does not. Of more than two dimensions the last two are shown,
    all others laid over each other.
    """
    rows, columns = _extents(tuple(A.shape))
    high, wide = max(min(rows, pixels), 1), max(min(columns, pixels), 1)
    at = A.detach().indices().long()
    if len(at):
        at = at[:, at[0] >= 0]
    none = torch.zeros(at.shape[1], dtype=torch.int64, device="cpu")
    i, j = (none, none, *at)[-2:]
    place = _pixel(i, rows, high) * wide + _pixel(j, columns, wide)
    count = torch.bincount(place, minlength=high * wide).view(high, wide)
    layers = max(A.numel() // max(rows * columns, 1), 1)
    return count.double() / (_covered(rows, high)[:, None] * _covered(columns, wide) * layers)


def _pixel(at: torch.Tensor, extent: int, pixels: int) -> torch.Tensor:
    """The pixel of each coordinate, in floats: a product of integers may overflow."""
    return at.double().mul_(pixels).div_(max(extent, 1)).long().clamp_(max=pixels - 1)


def _covered(extent: int, pixels: int) -> torch.Tensor:
    """How many coordinates each pixel stands for."""
    place = torch.arange(pixels + 1, dtype=torch.float64, device="cpu") * extent / pixels
    return place.ceil().diff().clamp(min=1)


def _strength(density: torch.Tensor) -> torch.Tensor:
    """How opaque each pixel is: nothing is white, the densest pixel full, and single entries are seen."""
    most = float(density.max()) if density.numel() else 0.0
    if not most:
        return density
    return torch.where(density > 0, _FAINTEST + (1 - _FAINTEST) * (density / most).sqrt(), 0)


def spy(
    A: SparseTensor, ax: Axes | None = None, *, pixels: int = 512, colours: tuple[str, ...] | None = None
) -> Axes:
    """Draws where A has entries: see ``SparseTensor.spy``."""
    if pixels < 1:
        raise ValueError(f"pixels: expected at least 1, got {pixels}")
    ax = _axes(ax, "spy")
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    rows, columns = _extents(tuple(A.shape))
    colours, legend = colours or _COLOURS, []
    for k, part in enumerate(A.parts):
        colour = to_rgb(colours[k % len(colours)])
        strength = _strength(raster(part, pixels))
        picture = torch.tensor([*colour, 0], dtype=torch.float64, device="cpu").repeat(*strength.shape, 1)
        picture[..., 3] = strength
        place = (-0.5, max(columns, 1) - 0.5, max(rows, 1) - 0.5, -0.5)
        ax.imshow(picture.numpy(), extent=place, interpolation="nearest", aspect="auto", zorder=1 + k)
        legend.append(Patch(color=colour, label=f"{part.format}: {part.nnz}"))
    if rows and columns and 1 / 8 < rows / columns < 8:
        ax.set_aspect("equal")
    if len(legend) > 1:
        ax.legend(handles=legend, loc="upper center", bbox_to_anchor=(0.5, -0.08), frameon=False)
    ax.set_title(f"{'x'.join(map(str, A.shape))}, {A.nnz} stored" if len(legend) > 1 else _title(A))
    return ax


def _title(A: SparseTensor) -> str:
    return f"{A.format}, {'x'.join(map(str, A.shape))}, {A.nnz} stored"


# ---- without matplotlib ----
def png(picture: torch.Tensor) -> bytes:
    """A PNG file of a picture [rows, columns, 4] of bytes: red, green, blue, opacity."""

    def chunk(name: bytes, data: bytes) -> bytes:
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    high, wide, _ = picture.shape
    lines = b"".join(b"\0" + bytes(line.flatten().tolist()) for line in picture)
    head = struct.pack(">IIBBBBB", wide, high, 8, 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(lines, 9))
        + chunk(b"IEND", b"")
    )


def _small_picture(A: SparseTensor) -> torch.Tensor:
    """[rows, columns, 4] bytes: each part in its colour, later ones over earlier ones."""
    rows, columns = _extents(tuple(A.shape))
    high, wide = max(min(rows, _SMALL), 1), max(min(columns, _SMALL), 1)
    picture = torch.full((high, wide, 4), 255.0, dtype=torch.float64, device="cpu")
    for k, part in enumerate(A.parts):
        text = _COLOURS[k % len(_COLOURS)]
        colour = torch.tensor(
            [int(text[i : i + 2], 16) for i in (1, 3, 5)], dtype=torch.float64, device="cpu"
        )
        strength = _strength(raster(part, _SMALL))[..., None]
        picture[..., :3] = picture[..., :3] * (1 - strength) + colour * strength
    return picture.round().to(torch.uint8)


def html_of(A: SparseTensor) -> str:
    """What a notebook shows of a tensor: format, shape, entries, bytes, and a small picture by density."""
    facts = [
        ["format", str(A.format)],
        ["shape", " x ".join(map(str, A.shape)) or "a number"],
        ["entries", f"{A.nnz} stored, {100 * A.density:.3g}%"],
        *([f"part {k}", f"{part.format}: {part.nnz}"] for k, part in enumerate(A.parts) if len(A.parts) > 1),
        ["types", f"{str(A.dtype)[6:]}, indices {str(A.index_dtype)[6:]}"],
        ["bytes", human_bytes(A.nbytes)],
    ]
    picture = _small_picture(A)
    high, wide, _ = picture.shape
    scale = max(1, 2 * _SMALL // max(high, wide))
    data = base64.b64encode(png(picture)).decode()
    image = (
        f'<img alt="where entries are" width="{wide * scale}" height="{high * scale}" '
        f'style="image-rendering:pixelated;border:1px solid #bbb;margin-left:1em" '
        f'src="data:image/png;base64,{data}">'
    )
    table = as_html(["SparseTensor", ""], facts)
    return f'<div style="display:flex;align-items:flex-start">{table}{image}</div>'


# ---- how a plan ran ----
def measured(of: Explanation, seconds: float = 0.2) -> list[Ran]:
    """What each step of an explained call took, on the mean of calls that take about so long together."""
    call = of.call
    if call is None:
        raise ValueError(
            "the explanation of a kernel, or a copy, has no operands to run on: use scorch.explain"
        )
    with torch.no_grad():
        call()  # programs that depend on what temporaries turn out to be are made now
        start, turns = time.perf_counter(), 0
        with Profile() as profile:
            while turns < 3 or (time.perf_counter() - start < seconds and turns < 1000):
                call()
                turns += 1
    calls = [ran for ran in profile.programs if ran.way != "conversion"]
    if len(calls) == 1 and calls[0].inside and calls[0].way == "steps":
        return [ran for ran in calls[0].inside if ran.way != "conversion"]
    return calls


def _pairs(of: Explanation) -> list[tuple[str, Step, Ran | None]]:
    """The steps of a plan, and what they took; none where the run went another way than the plan."""
    steps, ran = list(of.steps), measured(of)
    by_text = {one.expression.replace(" ", ""): one for one in ran}
    found: list[tuple[str, Step, Ran | None]] = []
    for k, step in enumerate(steps):
        same = by_text.get(step.text.replace(" ", ""))
        if same is None and len(ran) == len(steps):
            same = sorted(ran, key=lambda one: -one.seconds)[0] if len(steps) == 1 else ran[k]
        found.append((step.text, step, same))
    return found


def plot(of: Explanation, ax: Any = None) -> Any:
    """Draws estimates and what is measured, of the steps of a plan: see ``Explanation.plot``."""
    if ax is None:
        ax = _axes(None, "plot", ncols=2, figsize=(11, 1.6 + 0.5 * max(len(of.steps), 1)))
    times, entries = ax
    pairs = _pairs(of)
    labels = [text if len(text) <= 40 else f"{text[:38]}.." for text, _, _ in pairs]
    micro = [
        ("estimated", [1e6 * (step.seconds or 0) for _, step, _ in pairs]),
        ("measured", [1e6 * ran.seconds / ran.calls if ran else 0 for _, _, ran in pairs]),
    ]
    counts = [
        ("expected", [step.entries or 0 for _, step, _ in pairs]),
        ("stored", [ran.entries if ran else 0 for _, _, ran in pairs]),
    ]
    _bars(times, labels, micro, "us a call")
    _bars(entries, [step.format for _, step, _ in pairs], counts, "values of the result")
    times.figure.tight_layout()
    return ax


def _bars(ax: Axes, labels: list[str], groups: list[tuple[str, list[float]]], title: str) -> None:
    """Two bars a label, the first one on top."""
    for k, (name, values) in enumerate(groups):
        places = [row + 0.2 * (2 * k - 1) for row in range(len(values))]
        bars = ax.barh(places, values, height=0.36, color=_COLOURS[k], label=name)
        ax.bar_label(bars, labels=[_short(v) for v in values], padding=2, fontsize=8)
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.margins(x=0.15)
    ax.set_xlabel(title)
    ax.legend(frameon=False, fontsize=8)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value else ""


def html_of_plan(of: Explanation) -> str:
    """What a notebook shows of an explanation: its steps, and the text, C folded away."""
    import html

    body = [
        [step.text, step.format, human(step.seconds), f"{step.entries:.3g}" if step.entries else ""]
        for step in of.steps
    ]
    table = as_html(["step", "result", "estimated", "entries expected"], body) if body else ""
    text, _, code = str(of).partition("\n\nC\n")
    folded = f"<details><summary>C</summary><pre>{html.escape(code)}</pre></details>" if code else ""
    return f"{table}<details open><summary>plan</summary><pre>{html.escape(text)}</pre></details>{folded}"

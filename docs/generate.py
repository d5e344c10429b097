"""Writes the pages of examples (docs/gallery) and the pictures (docs/pictures): `make gallery`.

A page has what an example says of itself, its command on small data, what that prints, and its source.
Pictures are SVG text written here, the same on every machine: cells of small matrices in the order in which a
format stores them, and rasters of large ones.
"""

import ast
import html
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import torch

import scorch
from scorch.tools.pictures import raster

DOCS = Path(__file__).resolve().parent
EXAMPLES = DOCS.parent / "examples"
HELPERS = {"planetoid", "timing"}  # files beside the examples that are none
COMMANDS = {
    "gcn": "--dataset karate --epochs 60",
    "graphsage": "--dataset karate --epochs 30",
    "minibatches": "--nodes 600 --batch 100 --fanouts 5 5 --workers 0",
    "distributed_gcn": "--nodes 400",
    "rgcn": "--generated --epochs 5",
    "graph_challenge": "--layers 3 --images 200",
    "moe": "--experts 8 --tokens 128 --features 64 --hidden 64",
    "sparse_attention": "--tokens 256 --width 64",
    "sparse_convolution": "--sites 2000 --steps 3",
    "sparse_autoencoder": "--features 256 --hidden 128 --sparsity 0.9 --steps 10",
    "sparse_training": "--features 64 --hidden 128 --steps 60",
    "pruned_cnn": "--channels 32 --length 16 --steps 10",
    "relu_ffn": "--tokens 64 --features 128 --hidden 512 --zeros 0.9",
}


# ---- pictures ----
COLOURS = ((68, 119, 170), (238, 102, 119), (34, 136, 51))
CELL, GAP, TEXT = 12, 44, 11


def _rgb(colour: tuple[int, int, int], strength: float) -> str:
    return "#" + "".join(f"{round(255 - (255 - c) * strength):02x}" for c in colour)


def _cells(A: scorch.SparseTensor, left: int, top: int) -> list[str]:
    """The cells that A stores, darker from the first to the last; hollow where what is stored is a zero."""
    found = []
    for part, colour in zip(A.parts, COLOURS, strict=False):
        at, values = part.indices().T.tolist(), part.values().tolist()
        for k, ((i, j), value) in enumerate(zip(at, values, strict=True)):
            if i < 0:
                continue  # padding
            shade = _rgb(colour, 0.35 + 0.65 * k / max(len(at) - 1, 1))
            place = (
                f'x="{left + j * CELL + 1}" y="{top + i * CELL + 1}" width="{CELL - 2}" height="{CELL - 2}"'
            )
            fill = f'fill="{shade}"' if value else f'fill="none" stroke="{shade}"'
            found.append(f"<rect {place} {fill}/>")
    return found


def _panel(A: scorch.SparseTensor, left: int, top: int) -> list[str]:
    rows, columns = A.shape
    place = f'x="{left}" y="{top}" width="{columns * CELL}" height="{rows * CELL}"'
    words = f"{A.format}: {A.nnz}".replace(" + ", "\n+ ").splitlines()
    lines = [
        f'<text x="{left}" y="{top - 6 - (TEXT + 2) * (len(words) - 1 - k)}">{html.escape(line)}</text>'
        for k, line in enumerate(words)
    ]
    return [f'<rect {place} fill="#fff" stroke="#999"/>', *lines, *_cells(A, left, top)]


def _svg(wide: int, high: int, body: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
    )
    style = f'font-family="monospace" font-size="{TEXT}" fill="#222"'
    return "\n".join(
        [f"{head} {style}>", f'<rect width="{wide}" height="{high}" fill="#fff"/>', *body, "</svg>\n"]
    )


def sample() -> torch.Tensor:
    """A matrix [12, 12] with a bit of everything: a band, a block, a full row, and scattered entries."""
    place = torch.arange(12)
    dense = ((place[:, None] - place).abs() <= 1).float()
    dense[0:4, 8:12], dense[9, :], dense[6, 1], dense[11, 4] = 1, 1, 1, 1
    return dense


FORMATS = ("csr", "csc", "bsr(2,2)", "ell(12)", "dia(4)", "compressed(0), dense(1) of rows(> 8) + csr")


def formats_picture() -> str:
    """One matrix in six formats."""
    side, across = 12 * CELL, 3
    panels = []
    for k, name in enumerate(FORMATS):
        A = scorch.sparse(sample(), format=name)
        left, top = 12 + (k % across) * (side + 2 * GAP), 26 + (k // across) * (side + GAP)
        panels += _panel(A, left, top)
    return _svg(across * (side + 2 * GAP) + 24, 2 * (side + GAP), panels)


def raster_picture(A: scorch.SparseTensor, pixels: int = 64, cell: int = 4) -> str:
    """Where a matrix has entries, a pixel as dark as its part of the matrix is dense."""
    share = raster(A, pixels)
    high, wide = share.shape
    strength = (share / share.max()).sqrt() * 0.75 + 0.25
    body = [
        f'<rect x="{j * cell}" y="{i * cell}" width="{cell}" height="{cell}" '
        f'fill="{_rgb(COLOURS[0], strength[i, j].item())}"/>'
        for i, j in share.nonzero().tolist()
    ]
    frame = f'<rect width="{wide * cell}" height="{high * cell}" fill="none" stroke="#999"/>'
    return _svg(wide * cell, high * cell, [*body, frame])


def _karate() -> scorch.SparseTensor:
    sys.path.insert(0, str(EXAMPLES))
    import planetoid

    graph = planetoid.karate()
    return scorch.from_edge_index(graph.edge_index, num_nodes=len(graph.x), add_self_loops=True)


def _band() -> scorch.SparseTensor:
    place = torch.arange(256)
    return scorch.sparse((place[:, None] - place).abs() <= 32)


PICTURES: dict[str, tuple[str, Callable[[], str]]] = {
    "gcn": (
        "The karate club with loops: 34 people, an entry for each pair of friends",
        lambda: raster_picture(_karate()),
    ),
    "sparse_attention": (
        "The mask: each of 256 tokens sees 32 to either side",
        lambda: raster_picture(_band(), 32, 8),
    ),
}


# ---- pages ----
def output(name: str) -> str:
    """What an example prints on small data.

    Raises: RuntimeError: it failed.
    """
    command = [sys.executable, "-W", "ignore", f"{name}.py", *COMMANDS[name].split()]
    done = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed:\n{done.stderr}")
    return done.stdout.strip()


def page(name: str, printed: str) -> str:
    """The page of an example; its source is read in when pages are built."""
    title, _, about = ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text())).partition("\n")
    blocks = [
        f"```\n{textwrap.dedent(block)}\n```" if block.startswith("    ") else block
        for block in about.strip("\n").split("\n\n")
    ]
    parts = [f"# {name}.py", title, *blocks]
    if name in PICTURES:
        parts.append(f"![{PICTURES[name][0]}](../pictures/{name}.svg)\n\n{PICTURES[name][0]}.")
    parts.append(
        f"## What it prints\n\n```\npython examples/{name}.py {COMMANDS[name]}\n```\n```text\n{printed}\n```"
    )
    source = f"```{{literalinclude}} ../../examples/{name}.py\n:language: python\n```"
    parts.append(f"## Source\n\n[examples/{name}.py](../../examples/{name}.py)\n\n{source}")
    return "\n\n".join(parts) + "\n"


def pictures() -> dict[str, str]:
    """All pictures, by the names of their files."""
    return {"formats": formats_picture(), **{name: draw() for name, (_, draw) in PICTURES.items()}}


def main() -> int:
    """Writes everything."""
    for folder in ("gallery", "pictures"):
        (DOCS / folder).mkdir(exist_ok=True)
    for name, text in pictures().items():
        (DOCS / "pictures" / f"{name}.svg").write_text(text)
    for name in COMMANDS:
        (DOCS / "gallery" / f"{name}.md").write_text(page(name, output(name)))
        print(f"docs/gallery/{name}.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())

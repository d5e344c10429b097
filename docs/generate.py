"""Writes the pages of examples (docs/gallery) and the pictures (docs/pictures): `make gallery`.

A page has what an example says of itself, its command on small data, what that prints, and its source.
Pictures are SVG text written here, the same on every machine: cells of small matrices in the order in which a
format stores them, rasters of large ones, and lines of a table of docs/figures.md.
"""

import ast
import html
import importlib
import math
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch
import torch.nn.utils.prune

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


# Lines of figures: a share of zeros to the right, how many times as fast as dense upwards, by powers of two.
WIDE, HIGH, LEAST, MOST = 260, 220, -1.5, 5.0
ZEROS = (50, 60, 70, 80, 90, 95)
LINES = (*COLOURS, (204, 187, 68))


def where_dense_wins() -> list[tuple[str, list[float], list[float]]]:
    """The table of that name in docs/figures.md: "side, batch", ratios of a layer, ratios of a product."""
    text = (DOCS / "figures.md").read_text()
    rows = re.findall(r"^\| (\d+, \d+) +\|(.*)\|$", text[text.index("## Where dense wins") :], re.M)[:8]
    ratios = [[float(cell) for cell in cells.split("|")] for _, cells in rows]
    return [(name, r[:6], r[6:]) for (name, _), r in zip(rows, ratios, strict=True)]


def _point(zeros: int, ratio: float) -> str:
    up = (math.log2(ratio) - LEAST) / (MOST - LEAST)
    return f"{(zeros - 50) / 45 * WIDE:.1f},{(1 - up) * HIGH:.1f}"


def _stroke(k: int) -> str:
    """How line k is drawn: those beyond the colours are dashed."""
    dash = ' stroke-dasharray="5 3"' if k >= len(LINES) else ""
    return f'stroke="{_rgb(LINES[k % len(LINES)], 1)}" stroke-width="2"{dash}'


def _lines(title: str, rows: list[tuple[str, list[float]]]) -> list[str]:
    body = [f'<text x="0" y="-8">{title}</text>']
    for power in range(-1, 5):
        at, _, y = _point(50, 2.0**power).partition(",")
        stroke = "#222" if power == 0 else "#ddd"
        body.append(f'<path d="M{at},{y} H{WIDE}" stroke="{stroke}"/>')
        body.append(f'<text x="-8" y="{float(y) + 4:.1f}" text-anchor="end">{2.0**power:g}x</text>')
    for zeros in ZEROS:
        x, _, _ = _point(zeros, 1).partition(",")
        body.append(f'<text x="{x}" y="{HIGH + 16}" text-anchor="middle">{zeros}%</text>')
    for k, (_, ratios) in enumerate(rows):
        path = " ".join(_point(z, r) for z, r in zip(ZEROS, ratios, strict=True))
        body.append(f'<polyline points="{path}" fill="none" {_stroke(k)}/>')
    return body


def _legend(names: list[str]) -> list[str]:
    body = []
    for k, name in enumerate(names):
        y = 20 + 18 * k
        body.append(f'<path d="M0,{y} h26" {_stroke(k)}/>')
        body.append(f'<text x="32" y="{y + 4}">{name}</text>')
    return ['<text x="0" y="-8">side, batch</text>', *body]


def break_even_picture() -> str:
    """How many times as fast as dense a pruned weight is; below the dark line dense is faster."""
    rows = where_dense_wins()
    panels = [
        _lines("F.linear(x, W), by zeros of W", [(name, r) for name, r, _ in rows]),
        _lines("W @ X", [(name, r) for name, _, r in rows]),
        _legend([name for name, _, _ in rows]),
    ]
    body = []
    for k, panel in enumerate(panels):
        body += [f'<g transform="translate({50 + k * (WIDE + 60)},30)">', *panel, "</g>"]
    return _svg(2 * WIDE + 270, HIGH + 60, body)


def _example(name: str) -> ModuleType:
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module(name)


def _karate() -> scorch.SparseTensor:
    graph = _example("planetoid").karate()
    return scorch.from_edge_index(graph.edge_index, num_nodes=len(graph.x), add_self_loops=True)


def _band() -> scorch.SparseTensor:
    place = torch.arange(256)
    return scorch.sparse((place[:, None] - place).abs() <= 32)


def _drawn() -> scorch.SparseTensor:
    data = _example("minibatches").generated(600, 16, 32, 8)
    graph = scorch.from_edge_index(data.edge_index, num_nodes=600)
    random = torch.Generator().manual_seed(0)
    return scorch.sample_neighbors(graph, torch.arange(100), [5, 5], generator=random)[0].matrix


def _relation() -> scorch.SparseTensor:
    graph = _example("rgcn").generated()
    edges, by_class = graph.edge_index[:, graph.edge_type == 0], torch.empty(graph.nodes, dtype=torch.long)
    nodes, classes = (torch.cat(x) for x in zip(graph.train, graph.test, strict=True))
    by_class[nodes[classes.argsort(stable=True)]] = torch.arange(graph.nodes)
    return scorch.from_edge_index(by_class[edges], num_nodes=graph.nodes)


def _butterfly() -> scorch.SparseTensor:
    _, layers = _example("graph_challenge").generate(256, 1, 1)
    return scorch.sparse(layers[0])


def _pruned() -> scorch.SparseTensor:
    torch.manual_seed(0)
    return _example("sparse_training").Net(64, 128, 10, 0.1)[0].weight.detach()


def _by_magnitude() -> scorch.SparseTensor:
    torch.manual_seed(0)
    layer = _example("pruned_cnn").CharCNN(32).conv1.linear
    torch.nn.utils.prune.l1_unstructured(layer, "weight", 0.9)
    return scorch.sparse(layer.weight.detach())


def _kernel_map() -> scorch.SparseTensor:
    sites = _example("sparse_convolution").surface(400)
    return scorch.conv_map(sites[sites[:, 1].argsort(stable=True)], 3)[0]


PICTURES: dict[str, tuple[str, Callable[[], str]]] = {
    "gcn": (
        "The karate club with loops: 34 people, an entry for each pair of friends",
        lambda: raster_picture(_karate()),
    ),
    "sparse_attention": (
        "The mask: each of 256 tokens sees 32 to either side",
        lambda: raster_picture(_band(), 32, 8),
    ),
    "minibatches": (
        "The first layer of a batch of 100: a row a target, a column a source, the targets first",
        lambda: raster_picture(_drawn(), 64),
    ),
    "rgcn": (
        "The largest relation of 3000 nodes, those of a class together: most edges lead to the same class",
        lambda: raster_picture(_relation(), 40, 6),
    ),
    "graph_challenge": (
        "The weights of a layer of 256 neurons, 32 inputs each",
        lambda: raster_picture(_butterfly(), 48, 6),
    ),
    "sparse_training": (
        "What the first layer stores before training, a tenth of its weights",
        lambda: raster_picture(_pruned(), 64),
    ),
    "pruned_cnn": (
        "The first convolution, 32 channels by 16 x 7 inputs: a tenth of the weights, the largest",
        lambda: raster_picture(_by_magnitude(), 112),
    ),
    "sparse_convolution": (
        "A kernel map: the neighbours of 400 sites of a surface, sites from one side to the other",
        lambda: raster_picture(_kernel_map(), 50, 5),
    ),
}


# ---- pages ----
def output(name: str) -> str:
    """What an example prints on small data, which is generated: what SCORCH_DATA names is not everywhere.

    Raises: RuntimeError: it failed.
    """
    command = [sys.executable, "-W", "ignore", f"{name}.py", *COMMANDS[name].split()]
    env = {name: value for name, value in os.environ.items() if name != "SCORCH_DATA"}
    done = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, env=env)
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
    drawn = {"formats": formats_picture(), "dense": break_even_picture()}
    return {**drawn, **{name: draw() for name, (_, draw) in PICTURES.items()}}


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

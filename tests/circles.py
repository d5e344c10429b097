"""Files of csrc that call one another in a circle, by the exact call graph of the compiler (gcc).

    python tests/circles.py [--edges]

Prints a line for every circle: how many files it has, and which. With --edges, also the calls that make it
one. Calls through pointers are not seen. tests/test_architecture.py bounds the number.
"""

import argparse
import re
import subprocess
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import native
import networkx

EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', re.M)
NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "[^"]*"( shape : ellipse)? \}', re.M)


def graph_of(source: Path, folder: Path) -> str:
    """What the compiler says of the calls in a file."""
    target = folder / (str(source.relative_to(native.CSRC)).replace("/", "-") + ".o")
    flags = ["-std=gnu11", "-O0", "-D_GNU_SOURCE", "-fcallgraph-info", f"-I{native.CSRC}"]
    flags.append(f"-I{sysconfig.get_path('include')}")
    subprocess.run([native.compiler(), *flags, "-c", source, "-o", target], check=True, capture_output=True)
    return target.with_suffix(".ci").read_text()


def calls() -> networkx.DiGraph:
    """Files, and which calls which; an edge has the names of the functions."""
    sources = [*native.core(False).sources(), *sorted((native.CSRC / "bindings").glob("*.c"))]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        texts = dict(zip(sources, pool.map(lambda s: graph_of(s, Path(folder)), sources), strict=True))
    home = {n: s for s, t in texts.items() for n, elsewhere in NODE.findall(t) if not elsewhere}
    graph = networkx.DiGraph()
    for source, text in texts.items():
        for caller, callee in EDGE.findall(text):
            target = home.get(callee, source)
            if target != source:
                here, there = (str(f.relative_to(native.CSRC)) for f in (source, target))
                names = graph.get_edge_data(here, there, {"names": set()})["names"]
                graph.add_edge(here, there, names=names | {f"{caller.rpartition(':')[2]} -> {callee}"})
    return graph


def circles(graph: networkx.DiGraph) -> list[list[str]]:
    found = (sorted(c) for c in networkx.strongly_connected_components(graph) if len(c) > 1)
    return sorted(found, key=lambda c: (-len(c), c))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--edges", action="store_true", help="show the calls")
    given = parser.parse_args()
    graph = calls()
    found = circles(graph)
    print(f"{len(found)} circles with {sum(map(len, found))} files")
    for circle in found:
        print(f"{len(circle):4} {' '.join(circle)}")
        for a, b, names in graph.subgraph(circle).edges(data="names") if given.edges else ():
            print(f"       {a} calls {b}: {', '.join(sorted(names))}")


if __name__ == "__main__":
    main()

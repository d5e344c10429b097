"""The documents: their Python blocks run, names and pages are all there, links lead somewhere.

Blocks run in order, in one fresh namespace a file; a ``text`` block right after a ``python`` block is what
that block prints. Examples of docstrings run one by one, with torch and scorch at hand.
"""

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import scorch

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = ("coming", "expressions", "formats", "large", "looking", "programs", "pyg", "start", "tensors")
NEEDS = {"docs/pyg.md": "torch_geometric", "docs/coming.md": "scipy"}
NOT_RUN = {"clear_cache"}  # it would empty the cache of all tests
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n?^```text\n(.*?)^```$)?", re.M | re.S)


@pytest.mark.parametrize("name", ["README.md", *(f"docs/{page}.md" for page in PAGES)])
def test_python_blocks_run(name: str) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    text = (ROOT / name).read_text()
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) == text.count("```python\n") > 0
    torch.manual_seed(0)
    namespace: dict[str, object] = {"__name__": "__docs__"}
    for block in blocks:
        line = text.count("\n", 0, block.start()) + 2
        code = compile("\n" * (line - 1) + block[1], f"{ROOT / name}", "exec")  # messages name the line
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if block[2] is not None:
            assert printed.getvalue().rstrip() == block[2].rstrip(), f"{name}:{line} prints something else"


# ---- the reference ----
def public():
    """(name, object) of all that is public: the package, layers, methods of the class, what calls return."""
    yield from ((name, getattr(scorch, name)) for name in scorch.__all__)
    for room in (scorch.nn, scorch.distributed):
        yield from ((f"{room.__name__[7:]}.{name}", getattr(room, name)) for name in room.__all__)
    listed = re.findall(
        r"autoclass:: scorch\.(functions|tools)\.(\w+)\.(\w+)", (DOCS / "reference.md").read_text()
    )
    for folder, file, name in listed:
        yield name, getattr(importlib.import_module(f"scorch.{folder}.{file}"), name)
    own = vars(scorch.SparseTensor).items()
    yield from ((f"SparseTensor.{name}", x) for name, x in own if not name.startswith("_"))


def examples(name, x):
    found = doctest.DocTestFinder(recurse=False).find(x, name, globs={"torch": torch, "scorch": scorch})
    return [test for test in found if test.examples]


def test_every_public_name_has_an_example():
    names = [(name, x) for name, x in public() if not name.startswith("SparseTensor.")]
    assert not {name for name, x in names if not inspect.ismodule(x) and not examples(name, x)}
    skipped = {
        name for name, x in names for t in examples(name, x) for e in t.examples if doctest.SKIP in e.options
    }
    assert skipped == NOT_RUN


@pytest.mark.parametrize("name, x", [pytest.param(n, x, id=n) for n, x in public() if examples(n, x)])
def test_examples_of_docstrings_run(name, x):
    if name == "SparseTensor.spy":
        pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")
    torch.manual_seed(0)
    for test in examples(name, x):
        said = io.StringIO()
        failed = doctest.DocTestRunner(verbose=False).run(test, out=said.write).failed
        assert not failed, said.getvalue()


def test_the_reference_has_every_name():
    text = (DOCS / "reference.md").read_text()
    listed = set(re.findall(r"^\.\. auto\w+:: ([\w.]+)$", text, re.M))
    assert set(scorch.__all__) - {"distributed", "nn"} <= listed
    assert {"scorch.nn", "scorch.distributed"} <= listed


# ---- pages ----
def pages():
    return sorted(f for f in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


def test_every_page_is_in_the_contents():
    listed = re.findall(r"^[a-z]+$", (DOCS / "index.md").read_text(), re.M)
    assert sorted(listed) == sorted(f.stem for f in DOCS.glob("*.md") if f.stem != "index")
    assert "gallery/*" in (DOCS / "examples.md").read_text()


def anchors(file):
    """Headings of a page as links name them: small letters, hyphens."""
    text = re.sub(r"^```.*?^```$", "", file.read_text(), flags=re.M | re.S)
    heads = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("file", pages(), ids=lambda f: str(f.relative_to(ROOT)))
def test_links_lead_somewhere(file):
    text = re.sub(r"^```.*?^```$", "", file.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        there = (file.parent / path).resolve() if path else file
        assert there.exists(), f"{target} is not there"
        assert not anchor or anchor in anchors(there), f"{target}: no such heading"


def test_readme_is_short_and_has_its_commands():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 100
    assert all(re.search(rf"^{command} ", text, re.M) for command in ("make demo", "make test"))


@pytest.mark.slow
def test_pages_are_built_without_warnings(tmp_path):
    for name in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(name, reason=f"{name} is not installed: make docs installs it")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-d",
        tmp_path / "trees",
        DOCS,
        tmp_path,
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- what is generated ----
@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def masked(text):
    """Numbers differ from machine to machine, and so does what follows from them, such as a way taken."""
    return re.sub(r"[\d.]+(e[+-]\d+)?( [mun]?s)?|(?<=zero; by )(dense|rows|values)$", "#", text, flags=re.M)


DRAWN_AT_RANDOM = {"minibatches", "pruned_cnn", "rgcn", "sparse_convolution", "sparse_training"}


def test_pictures_are_what_is_drawn_now(generate):
    """But for a cell or two of those of random numbers, which differ in their last bit on another CPU."""
    drawn = generate.pictures()
    assert {f.stem for f in (DOCS / "pictures").glob("*.svg")} == set(drawn)
    for name, text in drawn.items():
        kept, now = (DOCS / "pictures" / f"{name}.svg").read_text().splitlines(), text.splitlines()
        near = name in DRAWN_AT_RANDOM and len(set(kept) ^ set(now)) <= len(kept) / 50
        assert kept == now or near, f"{name}.svg: make gallery"


def test_every_example_has_a_page(generate):
    names = {f.stem for f in (ROOT / "examples").glob("*.py")} - generate.HELPERS
    assert names == set(generate.COMMANDS) == {f.stem for f in (DOCS / "gallery").glob("*.md")}
    for name in names:
        text = (DOCS / "gallery" / f"{name}.md").read_text()
        printed = re.search(r"^```text\n(.*?)\n```$", text, re.M | re.S)[1]
        assert text == generate.page(name, printed), f"{name}.md: make gallery"
        assert f"gallery/{name}.md" in (DOCS / "examples.md").read_text()


def test_eight_examples_have_a_plot(generate):
    """Of data of their own; `page` has it, which is compared above."""
    assert len(generate.PICTURES) >= 8 and set(generate.PICTURES) <= set(generate.COMMANDS)


def test_lines_are_those_of_the_table(generate):
    rows = generate.where_dense_wins()
    assert len(rows) == 8 and all(len(r) == len(generate.ZEROS) for _, *both in rows for r in both)
    assert rows[0][0] == "1024, 1" and generate.pictures()["dense"].count("<polyline") == 16


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(f.stem for f in (DOCS / "gallery").glob("*.md")))
def test_examples_print_what_their_pages_say(generate, name):
    text = (DOCS / "gallery" / f"{name}.md").read_text()
    assert masked(text) == masked(generate.page(name, generate.output(name)))

"""The notebooks of examples/ run from top to bottom, and carry no output of somebody's machine."""

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NOTEBOOKS = sorted(f.name for f in EXAMPLES.glob("*.ipynb"))


def test_there_are_notebooks():
    assert NOTEBOOKS == ["gcn.ipynb", "pruning.ipynb"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_saved_without_output(name):
    cells = json.loads((EXAMPLES / name).read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code and not any(cell["outputs"] or cell["execution_count"] for cell in code)


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_run(name, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: make docs installs it")
    for needed in ("ipykernel", "matplotlib"):
        pytest.importorskip(needed, reason=f"{needed} is not installed: make docs installs it")
    import nbformat

    monkeypatch.delenv("SCORCH_DATA", raising=False)  # the generated graph
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    book = nbformat.read(EXAMPLES / name, as_version=4)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    shown = [out for cell in book.cells for out in cell.get("outputs", ())]
    pages = ["".join(out.get("data", {}).get("text/html", "")) for out in shown]
    assert any("data:image/png" in page for page in pages)  # a tensor
    assert any("operands -&gt; results" in page for page in pages)  # a profile
    assert any("image/png" in out.get("data", {}) for out in shown)  # a drawing

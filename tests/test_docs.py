"""The Python blocks of the documents run, in order, in one fresh namespace a file.

A ``text`` block right after a ``python`` block is what that block prints.
"""

import contextlib
import io
import re
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("expressions", "programs", "pyg", "tensors")
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n?^```text\n(.*?)^```$)?", re.M | re.S)


@pytest.mark.parametrize("name", ["README.md", *(f"docs/{page}.md" for page in PAGES)])
def test_python_blocks_run(name: str) -> None:
    if name == "docs/pyg.md":
        pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
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

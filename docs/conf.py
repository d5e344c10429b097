"""How Sphinx builds the pages of this folder: `make docs`, or `python -m sphinx -W docs build/docs`."""

import re
from pathlib import Path

from sphinx.application import Sphinx

import scorch

project, author, copyright = "Scorch", "The Scorch authors", "The Scorch authors"
version = release = scorch.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_*"]

# Pages are read as GitHub reads them; headings are what links such as tensors.md#composed-formats name.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.header"]  # a page that is included begins at its own level

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say shapes and types; signatures stay readable
napoleon_google_docstring, napoleon_numpy_docstring = True, False

# Pages of the folder above are read in where a page of this one includes them, and their links led here.
HERE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}


def from_here(link: re.Match) -> str:
    """A link of a file above, as a page of this folder writes it."""
    target = link[1]
    if target.startswith("docs/"):
        return f"]({target.removeprefix('docs/')}"
    return f"]({HERE.get(target, f'../{target}')}"


def read_in(app: Sphinx, page: str, source: list[str]) -> None:
    """Files of the folder above, where a page includes one."""

    def text_of(include: re.Match) -> str:
        file = Path(__file__).parent.parent / include[1]
        app.env.dependencies[page].add(str(file))  # the page is built again when it changes
        text = file.read_text()
        return re.sub(r"\]\((?!https?:|#)([^)#]+)", from_here, text)

    source[0] = re.sub(r"```\{include\} \.\./(\w+\.md)\n```", text_of, source[0])


def setup(app: Sphinx) -> None:
    """What Sphinx calls."""
    app.connect("source-read", read_in)


html_theme = "furo"
html_title = f"Scorch {version}"
html_copy_source = False
html_show_copyright = False
highlight_language = "none"  # blocks without a language are no Python

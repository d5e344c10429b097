"""The recipe for an operator in docs/extending.md makes one that is right in every way of running."""

import re
import shutil
from collections.abc import Iterator
from itertools import product

import native
import pytest
import sweep

RECIPE = (native.ROOT / "docs" / "extending.md").read_text().split("## An operator")[1].split("\n## ")[0]
DERIVE = native.ROOT / "tests" / "c" / "test_derive.c"
EXPRESSIONS = (  # operands: A[i,j] and D[i,j] of any format, B[j,k] dense
    "C[i,j] = square(A[i,j])",
    "C[i,j] = 3 * square(A[i,j]) + square(2)",
    "C[i,k] = square(A[i,j] * B[j,k])",
    "C[i,k] = square(A[i,j]) * B[j,k]",
    "C[i,j] = square(A[i,j] + D[i,j])",
    "C[i,j] = square(A[i,j]) - square(D[i,j])",
    "C[i,j] = square(A[i,j] > 1) * D[i,j]",
    "C[j] max= square(A[i,j])",
    "C = square(A[i,j])",
)


def changes() -> Iterator[tuple[str, str, str]]:
    """File, lines, and what comes in their place, as the blocks of the recipe say."""
    for block in re.findall(r"^   ```diff\n(.*?)^   ```$", RECIPE, re.M | re.S):
        lines = [line[3:] for line in block.splitlines()]
        heads = [n for n, line in enumerate(lines) if line.startswith("csrc/")]
        for head, end in zip(heads, [*heads[1:], len(lines)], strict=True):
            body = lines[head + 1 : end]
            before, after = ([x[1:] for x in body if x[0] != other] for other in "+-")
            yield lines[head], "\n".join(before) + "\n", "\n".join(after) + "\n"


@pytest.fixture(scope="module")
def extended(tmp_path_factory) -> native.Core:
    """The core of a copy of the sources in which the recipe was carried out."""
    folder = tmp_path_factory.mktemp("extended")
    shutil.copytree(native.CSRC, folder / "csrc")
    for file, before, after in changes():
        text = (folder / file).read_text()
        (folder / file).write_text(text.replace(before, after))
    return native.Core([], folder / "objects", folder / "csrc")


def problems(dtype: str) -> Iterator[str]:
    for form, expression in product(("csr", "coo", "dcsr", "dense"), EXPRESSIONS):
        names = re.findall(r"\b([ABD])\[", expression)
        shapes = {"A": f"{form} (20, 33)", "B": "dense (33, 40)", "D": f"{form} (20, 33)"}
        operands = [f"in {name}: {dtype} {shapes[name]}\n" for name in sorted(set(names))]
        yield f"{''.join(operands)}{expression}\n"


def test_files_of_the_recipe_are_there():
    found = list(changes())
    assert len(found) >= 6
    for file, before, _ in found:
        assert (native.ROOT / file).read_text().count(before) == 1, f"docs/extending.md: {file}\n{before}"


@pytest.mark.slow
def test_operator(extended, kernel_cache):
    made = [p for dtype in ("f32", "f64", "i32", "i64", "bool", "f16") for p in problems(dtype)]
    jit = [("--jit", "--width", width) for width in native.widths()]
    for options in [(), *jit]:
        said = sweep.run(made, *options, program=extended.scorchc(), env=kernel_cache)
        wrong = [f"{p}{report}" for p, report in zip(made, said, strict=True) if report]
        assert not wrong, f"{options}: {len(wrong)} of {len(made)}\n{wrong[0]}"


@pytest.mark.slow
def test_gradient_of_the_operator(extended, tmp_path):
    case = r"in A: f64 csr i32 (5, 4)\nin B: f64 dense (4, 3)\nC[i,k] = square(square(A[i,j]) * B[j,k])\n"
    first = "static const char *const cases[] = {\n"
    source = tmp_path / DERIVE.name
    source.write_text(DERIVE.read_text().replace(first, f'{first}    "{case}",\n'))
    native.must(extended.program(source))

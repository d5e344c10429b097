"""One fact, one place: what the build files and sources say about each other."""

import ast
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import native
import pytest
import release
import wheels
from setuptools import find_packages

import scorch

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def constants(path):
    """Names assigned a literal at the top level of a Python file."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def test_the_version_stands_in_one_place():
    """In csrc/scorch.h; setup.py and documents read it there, and what must repeat it agrees."""
    assert "version" not in PROJECT and "version" in PROJECT["dynamic"]
    assert importlib.metadata.version("scorch") == release.version() == scorch.__version__
    assert release.disagreements(clean=False) == []


def test_what_is_not_ready_is_said(tmp_path):
    for name in ("CHANGELOG.md", "CITATION.cff", "csrc/scorch.h"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text().replace("0.1.0", "9.9.9", 1))
    (tmp_path / "CITATION.cff").write_text("version: 1.0\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n")
    said = release.disagreements(tmp_path, clean=False)
    assert len(said) == 2 and all("9.9.9" in line for line in said)


def test_torch_floor_is_the_one_the_import_names():
    said = re.search(r"torch ([\d.]+) or newer", (ROOT / "scorch" / "__init__.py").read_text()).group(1)
    assert f"torch>={said}" in PROJECT["dependencies"]


def test_what_the_import_needs_is_installed():
    """Packages that modules of the bare import name at their top, of which torch may install none."""
    code = "import sys, scorch; print(*(m.__file__ for n, m in sys.modules.items() if n[:7] == 'scorch.'))"
    files = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    needed = set()
    for file in (f for f in files if f.endswith(".py")):
        for node in ast.parse(Path(file).read_text()).body:
            if isinstance(node, ast.Import):
                needed.update(name.name.partition(".")[0] for name in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                needed.add(node.module.partition(".")[0])
    given = {re.match(r"[\w-]+", text).group() for text in PROJECT["dependencies"]}
    assert {"numpy", "torch"} <= needed - sys.stdlib_module_names <= {*given, "scorch"}


def test_makefile_compiles_like_setup():
    make = (ROOT / "Makefile").read_text()
    setup = (ROOT / "setup.py").read_text()
    warnings = re.search(r"^WARNINGS := (.*)$", make, re.M).group(1)
    flags = re.search(r"^FLAGS := (.*) \$\(WARNINGS\)", make, re.M).group(1)
    assert warnings.split() == constants(ROOT / "setup.py")["WARNINGS"]
    assert re.search(r"CFLAGS = \[(.*), \*WARNINGS\]", setup).group(1) == ", ".join(
        f'"{f}"' for f in flags.split()
    )
    assert "csrc/folders.list" in make and '"folders.list"' in setup


def test_the_source_folder_says_that_it_is_not_built(tmp_path):
    """It hides what `pip install .` has installed from whoever runs Python in it."""
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "scorch", tmp_path / "scorch", ignore=ignored)
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    finders = "machinery.BuiltinImporter, machinery.FrozenImporter, machinery.PathFinder"  # none of pip -e
    code = f"import sys; from importlib import machinery; sys.meta_path[:] = [{finders}]; import scorch"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode
    assert f"ImportError: {tmp_path / 'scorch'} is the source of scorch" in done.stderr
    assert "`pip install -e .`" in done.stderr and "circular" not in done.stderr


COMPILER = """#!/bin/sh
for last; do true; done
case "$*" in
*bundle_*.c*) echo "$*" >> {log};;
*scorchc.o*) cp {scorchc} "$last"; exit;;
esac
: > "$last"
"""


def test_flags_of_a_user_change_no_target_of_a_kernel(tmp_path):
    """CFLAGS of conda name an old CPU, others the one at hand; a kernel has the target of its width."""
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("csrc", "scorch"):
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    log, cc = tmp_path / "log", tmp_path / "logging"
    cc.write_text(COMPILER.format(log=log, scorchc=native.core().scorchc()))
    cc.chmod(0o755)
    env = {**os.environ, "CC": str(cc), "CFLAGS": "-march=native"}
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build"], cwd=tmp_path, env=env, check=True, timeout=120
    )
    lines = log.read_text().splitlines()
    levels = {"bundle_16": "x86-64", "bundle_32": "x86-64-v3", "bundle_64": "x86-64-v4"}
    if platform.machine() != "x86_64":
        levels = {"bundle_16": "armv8-a"} if platform.machine() == "aarch64" else {}
    for kind, level in levels.items():
        of_kind = [line for line in lines if f"{kind}_" in line]
        assert of_kind and {re.findall(r"-march=(\S+)", line)[-1] for line in of_kind} == {level}


@pytest.mark.slow
def test_clang_warns_of_nothing():
    """With the flags of setup.py, of the core and the extension."""
    said = constants(ROOT / "setup.py")["WARNINGS"]
    python = {f"-I{sysconfig.get_path(key)}" for key in ("include", "platinclude")}
    flags = [*native.FLAGS, *said, *native.BINDING, *python, "-O2", "-Werror", "-fsyntax-only"]
    files = sorted((ROOT / "csrc").rglob("*.c"))
    native.must(native.other_compiler("clang"), *flags, *files)


@pytest.mark.slow
def test_the_core_is_built_with_musl(tmp_path):
    """No name of glibc alone, nor of a new one: the program is linked and agrees with the oracle."""
    cc = native.other_compiler("musl-gcc")
    make = ["make", "-s", "-C", ROOT, f"CC={cc}", "CFLAGS=-O0 -Werror", f"BUILD={tmp_path}", "scorchc"]
    native.must(*make)
    native.must(tmp_path / "scorchc", "--run", ROOT / "tests" / "golden" / "spmm_7.sc")


def test_every_package_is_built():
    """What setup.py finds is every folder of sources: a folder without __init__.py would be left out."""
    folders = {".".join(f.relative_to(ROOT).parent.parts) for f in (ROOT / "scorch").rglob("*.py")}
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    assert set(find_packages(str(ROOT), **settings)) == folders


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("ziglang"), reason="`make wheels` installs ziglang")
@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_the_compiler_of_wheels_asks_for_an_old_glibc(tmp_path):
    """scorchc asks for symbols of then, and for all of libc, where Zig would bring its own."""
    cc, out = wheels.compiler(tmp_path), tmp_path / "scorchc"
    make = ["make", "-s", "-C", str(ROOT), f"CC={cc}", "CFLAGS=-O0", f"BUILD={tmp_path}", "scorchc"]
    subprocess.run(make, check=True, timeout=300)
    said = subprocess.check_output(["nm", "-D", "--undefined-only", out], text=True)
    versions = {tuple(map(int, v)) for v in re.findall(r"@GLIBC_(\d+)\.(\d+)", said)}
    assert max(versions) <= tuple(map(int, wheels.GLIBC.split(".")))
    assert {"dlopen", *wheels.OF_LIBC} <= set(re.findall(r" U (\w+)", said))

"""The C core as the tests use it: objects kept in build/tests, scorchc, and programs linked with the core.

Variants are folders of their own: ``plain``, ``sanitize`` with the address and undefined-behaviour sanitizers
(SCORCH_SANITIZE=1 makes it the default), and ``thread`` with the one that sees data races.
"""

import contextlib
import os
import platform
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CSRC = ROOT / "csrc"
FLAGS = ["-std=gnu11", "-O1", "-g", "-fPIC", "-D_GNU_SOURCE", f"-I{CSRC}"]
FLAGS += ["-DSC_CC_SECONDS=90"]  # kernels of tests are large, may be instrumented, and machines are busy
BINDING = ["-fexceptions", "-DPy_LIMITED_API=0x030B0000"]  # as in setup.py
LIBRARIES = ("-ldl", "-lpthread", "-lm")
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
SANITIZE += ["-DSC_PLAIN_MEMORY"]  # base.h: blocks of their own, poisoned
SANITIZED = os.environ.get("SCORCH_SANITIZE", "0") not in ("", "0")
# What runs programs of another machine, for a compiler CC that makes them: `make arm`.
EMULATOR = os.environ.get("SCORCH_EMULATOR", "").split()
LINES = (CSRC / "folders.list").read_text().splitlines()
FOLDERS = {line.split()[0]: line.split()[1:] for line in LINES if line.strip() and not line.startswith("#")}
PARTS = [folder for folder in FOLDERS if folder != "bindings"]


def compiler() -> str:
    """The C compiler; the test is skipped where there is none."""
    found = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if not found:
        pytest.skip("no C compiler on PATH")
    return found


def other_compiler(name: str) -> str:
    """A compiler by its name; the test is skipped where there is none."""
    return shutil.which(name) or pytest.skip(f"no {name} on PATH")


def folder(variant: str) -> Path:
    """Where a variant is built: objects of two compilers do not mix."""
    named = Path(os.environ.get("CC", "cc").split()[0]).name
    return ROOT / "build" / "tests" / (variant if named in ("cc", "gcc") else f"{variant}-{named}")


def widths() -> list[int]:
    """Vector widths in bytes that the compiler can emit for and this CPU can run."""
    if EMULATOR or platform.machine() != "x86_64" or not Path("/proc/cpuinfo").exists():
        return [16]
    flags = Path("/proc/cpuinfo").read_text()
    return [16] + [32] * (" avx2 " in flags) + [64] * (" avx512vl " in flags)


def dots_width() -> int:
    """The width in bytes of vectors that may have dot products of bf16."""
    return 16 if EMULATOR or platform.machine() == "aarch64" else 64


def has_dots() -> bool:
    """Whether this CPU has them; the one that is emulated has not."""
    known = Path("/proc/cpuinfo").read_text() if dots_width() in widths() and not EMULATOR else ""
    return bool(re.search(r"^(flags|Features)\b.* (avx512_bf16|bf16)\b", known, re.M))


def is_swift() -> bool:
    """Whether torch's library multiplies float32 as fast as the CPU can (bindings/torch_dense.c)."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return True
    return "GenuineIntel" in Path("/proc/cpuinfo").read_text()


def width_parameters() -> list:
    """Of these widths, the widest is for the quick tests; make sanitize also runs others."""
    found = widths()
    return [pytest.param(w, marks=pytest.mark.slow if w < found[-1] else ()) for w in found]


def run(
    *argv: object, env: dict | None = None, limit: int = 300, cpu: str = "", **options
) -> subprocess.CompletedProcess:
    """Runs a program, at most ``limit`` seconds; its output is text. Those made here may be emulated, on the
    usual CPU or on ``cpu``."""
    environment = {"ASAN_OPTIONS": "exitcode=99", **os.environ, **(env or {})}
    if EMULATOR and Path(str(argv[0])).is_relative_to(ROOT / "build" / "tests"):
        other = ("-cpu", cpu) if cpu else ()  # the last that is named counts
        argv, limit = (*EMULATOR, *other, *argv), 4 * limit
        environment["PATH"] = f"{foreign_compilers()}:{environment['PATH']}"
    return subprocess.run(
        list(map(str, argv)), capture_output=True, text=True, env=environment, timeout=limit, **options
    )


@cache
def foreign_compilers() -> Path:
    """A folder for PATH, where what is emulated finds its compiler as cc and gcc; these are not emulated."""
    found = folder("bin")
    found.mkdir(parents=True, exist_ok=True)
    for name in ("cc", "gcc"):
        with contextlib.suppress(FileExistsError):
            (found / name).symlink_to(compiler())
    return found


def must(*argv: object, **options) -> str:
    """Runs a program that must succeed; its standard output."""
    done = run(*argv, **options)
    assert done.returncode == 0, f"{argv[0]} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def _stale(target: Path, sources: list[Path]) -> bool:
    made = target.stat().st_mtime_ns if target.exists() else -1
    return any(s.stat().st_mtime_ns > made for s in sources)


def _make(target: Path, cc: str, flags: list[str], *argv: object) -> None:
    """Runs a compiler; the target appears whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, fresh = tempfile.mkstemp(dir=target.parent)
    os.close(handle)
    try:
        must(cc, *flags, *argv, "-o", fresh)
        os.replace(fresh, target)
    finally:
        Path(fresh).unlink(missing_ok=True)


def checked_compiler(folder: Path) -> dict[str, str]:
    """The environment in which generated code is compiled with sanitizers, and cached in this folder.

    Kernels are linked with nothing, so undefined behaviour traps; in a sanitized program, whose runtime they
    find in the process, it is reported, and so are accesses outside of arrays. That is compiled with -O1:
    with more, sanitized texts of some thousand lines take half a minute.
    """
    trapped = ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
    flags = " ".join([*SANITIZE, "-O1"] if SANITIZED else trapped)
    script = folder / "bin" / "cc"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec {compiler()} "$@" {flags}\n')
    script.chmod(0o755)
    kernels = {"XDG_CACHE_HOME": str(folder), "SCORCH_CACHE_DIR": f"{folder}/scorch"}
    return {"PATH": f"{script.parent}:{os.environ['PATH']}", **kernels}


class Core:
    """The compiled core of one variant of a source tree.

    ``watch`` are flags for the core alone, not for the programs it is linked with.
    """

    def __init__(
        self,
        flags: list[str],
        folder: Path,
        csrc: Path = CSRC,
        cc: str | None = None,
        watch: tuple[str, ...] = (),
    ) -> None:
        self.csrc, self.folder, self.cc, self.watch = csrc, folder, cc, watch
        self.flags = [f.replace(str(CSRC), str(csrc)) for f in FLAGS] + flags

    def sources(self) -> list[Path]:
        found = [f for part in PARTS for f in sorted((self.csrc / part).glob("*.c"))]
        return [f for f in found if f.name != "scorchc.c"]

    def objects(self) -> list[Path]:
        """Objects of the core, compiled where a source or a header is newer."""
        headers = list(self.csrc.rglob("*.h"))
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return list(pool.map(lambda source: self._object(source, headers), self.sources()))

    def _object(self, source: Path, headers: list[Path], flags: Sequence[str] = ()) -> Path:
        target = (self.folder / source.relative_to(self.csrc)).with_suffix(".o")
        if _stale(target, [source, *headers]):
            _make(target, self.cc or compiler(), [*self.flags, *self.watch, *flags], "-c", source)
        return target

    def program(self, *sources: Path, flags: tuple[str, ...] = ()) -> Path:
        """A program of these sources and the core, named after the first."""
        objects = self.objects()
        target = self.folder / sources[0].stem
        headers = (ROOT / "tests").glob("*/*.h")
        if _stale(target, [*sources, *objects, *headers]):
            _make(target, self.cc or compiler(), [*self.flags, *flags], *sources, *objects, *LIBRARIES)
        return target

    def scorchc(self) -> Path:
        return self.program(self.csrc / "scorchc.c")

    def bindings(self) -> list[Path]:
        """Objects of the extension module, beside those of the core."""
        headers = [*self.csrc.rglob("*.h")]
        python = [f"-I{sysconfig.get_path(key)}" for key in ("include", "platinclude")]
        flags = [*BINDING, *dict.fromkeys(python)]
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            sources = sorted((self.csrc / "bindings").glob("*.c"))
            return list(pool.map(lambda source: self._object(source, headers, flags), sources))

    def package(self, folder: Path) -> Path:
        """The Python package around this core, in a folder to import it from; it has no bundle of kernels."""
        shutil.copytree(
            ROOT / "scorch", folder / "scorch", ignore=shutil.ignore_patterns("*.so", "__pycache__")
        )
        bundle = folder / "bundle.c"
        bundle.write_text("void sc_bundle_register(void);\nvoid sc_bundle_register(void) {}\n")
        objects = [*self.objects(), *self.bindings()]
        flags = [*self.flags, "-shared"]
        _make(folder / "scorch" / "_C.abi3.so", self.cc or compiler(), flags, bundle, *objects, *LIBRARIES)
        return folder


@cache
def core(sanitized: bool = SANITIZED) -> Core:
    """The core of this tree."""
    name = "sanitize" if sanitized else "plain"
    return Core(SANITIZE if sanitized else [], folder(name))


@cache
def threaded() -> Core:
    """The core of this tree with the thread sanitizer; small problems have several lanes."""
    flags = ["-fsanitize=thread", "-DSC_LANE_WORK=4"]
    return Core(flags, folder("thread"))


@cache
def chunked() -> Core:
    """The core of this tree that cuts small problems: few multiply-adds pay for a lane, fewer for a piece."""
    flags = ["-DSC_LANE_WORK=4", "-DSC_PIECE_WORK=8", "-DSC_PIECE_STEPS=8", *(SANITIZE if SANITIZED else [])]
    return Core(flags, folder("chunked-sanitize" if SANITIZED else "chunked"))

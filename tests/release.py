"""Whether a release is ready: `python tests/release.py`; `dist` behind it: of archives.

The version stands in csrc/scorch.h. What repeats it for people and catalogues must agree, the tree must be
clean, and the archives must hold what they should and nothing that was built. Ends with 1 and what is wrong,
a line each.
"""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (
    "csrc/scorch.h",
    "csrc/bundle.list",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "tests/release.py",
    "docs/conf.py",
)


def version(root: Path = ROOT) -> str:
    """SC_VERSION, which is the only place that says it."""
    return re.search(r'#define SC_VERSION "(.+)"', (root / "csrc/scorch.h").read_text()).group(1)


def disagreements(root: Path = ROOT, clean: bool = True) -> list[str]:
    """What does not fit the version, and, where asked, files that no commit has."""
    now, wrong = version(root), []
    if not re.search(rf"^## {re.escape(now)}\b", (root / "CHANGELOG.md").read_text(), re.M):
        wrong.append(f"CHANGELOG.md has no heading ## {now}")
    if f"\nversion: {now}\n" not in "\n" + (root / "CITATION.cff").read_text():
        wrong.append(f"CITATION.cff has no line version: {now}")
    if clean:
        found = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True)
        wrong += [f"not committed: {line[3:]}" for line in found.stdout.splitlines()]
    return wrong


def of_archives(folder: Path) -> list[str]:
    """What is wrong with the sdist and the wheel."""
    now, wrong = version(), []
    sdist, wheels = folder / f"scorch-{now}.tar.gz", list(folder.glob(f"scorch-{now}-cp311-abi3-*.whl"))
    if not sdist.exists() or len(wheels) != 1:
        found = ", ".join(sorted(f.name for f in folder.glob("*")))
        return [f"expected {sdist.name} and one abi3 wheel of {now} in {folder}, found {found or 'nothing'}"]
    with tarfile.open(sdist) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    wrong += [f"{sdist.name} lacks {name}" for name in SOURCES if name not in names]
    wrong += [f"{sdist.name} has {name}" for name in sorted(names) if name.endswith((".so", ".o", ".pyc"))]
    with zipfile.ZipFile(wheels[0]) as wheel:
        inside = wheel.namelist()
    wrong += [
        f"{wheels[0].name} lacks {n}" for n in ("scorch/_C.abi3.so", "scorch/py.typed") if n not in inside
    ]
    wrong += [f"{wheels[0].name} has {n}" for n in inside if n.split("/")[0] in ("tests", "docs", "examples")]
    return wrong


def main(argv: list[str]) -> int:
    """0: all is as it should be."""
    wrong = of_archives(ROOT / "dist") if argv[:1] == ["dist"] else disagreements()
    print("\n".join(wrong) or f"{version()}: {'sdist and wheel are' if argv else 'the tree is'} ready")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

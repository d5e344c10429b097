"""Random problems against the oracle, and how to make a failing one small.

    python tests/sweep.py [--seed N] [--count N] [--shrink] [--only REGEX] [--jit] [--width W] [--lanes N]

prints what scorchc refuses or gets wrong, by kind, each with the smallest problem at hand.
"""

from __future__ import annotations

import argparse
import copy
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import generate
import native
from generate import Node, Problem

REFUSED = re.compile(  # each is explained in docs/expressions.md
    r"^(division by .*, which is zero where"
    r"|implicit=\"skip\" takes one reduction of the whole right side"
    r"|(no loops compute \w+ from these formats and into this one: )?"
    r"the (program|kernel|nest|plan) needs more than"
    r")"
)


def refused(report: str) -> bool:
    """Whether scorchc may say this instead of a result."""
    return bool(REFUSED.match(report))


# ---- smaller problems ----
def _smaller_nodes(e: Node) -> Iterator[Node]:
    yield from generate.kids(e)
    for n, k in enumerate(generate.kids(e)):
        for smaller in _smaller_nodes(k):
            yield (*e[: n + 1], smaller, *e[n + 2 :])


def smaller(p: Problem) -> Iterator[Problem]:
    def changed(change) -> Problem:
        q = copy.deepcopy(p)
        change(q)
        q.operands = {n: o for n, o in q.operands.items() if q.accesses(n)}
        q.asks = {n: f for n, f in q.asks.items() if any(a.name == n for a in q.assigns)}
        return q

    for n in range(len(p.assigns)):
        if len(p.assigns) > 1:
            yield changed(lambda q, n=n: q.assigns.pop(n))
    for n, a in enumerate(p.assigns):
        for e in _smaller_nodes(a.right):

            def replace(q: Problem, n=n, e=e) -> None:
                q.assigns[n].right = e
                q.assigns[n].left = "".join(i for i in q.assigns[n].left if i in generate.indices(e))
                q.asks.pop(q.assigns[n].name, None) if not q.assigns[n].left else None

            yield changed(replace)
        if a.op != "=":
            yield changed(lambda q, n=n: setattr(q.assigns[n], "op", "="))
    for f in p.flags:
        yield changed(lambda q, f=f: q.flags.remove(f))
    for name in p.asks:
        yield changed(lambda q, name=name: q.asks.pop(name))
    for name, o in p.operands.items():
        for form in ("csr", "csf", "coo"):
            if (
                o.sparse
                and o.format not in ("dense", "csr", form)
                and (form != "csr" or len(p.dims(name)) == 2)
            ):
                yield changed(lambda q, name=name, form=form: setattr(q.operands[name], "format", form))
        if o.dtype:
            yield changed(lambda q, name=name: setattr(q.operands[name], "dtype", ""))
        if o.perm:
            yield changed(lambda q, name=name: setattr(q.operands[name], "perm", False))
        if o.unit is not None:
            yield changed(lambda q, name=name: setattr(q.operands[name], "unit", None))
    for i, n in p.extent.items():
        for less in (1, 2, 3, n - 1):
            if 0 <= less < n and "%" not in str(p) and "bs" not in str(p) and "ell" not in str(p):
                yield changed(lambda q, i=i, s=less, n=n: q.extent.update({i: s}))
                yield changed(
                    lambda q, s=less, n=n: q.extent.update({k: s for k, v in q.extent.items() if v == n})
                )
    if p.dtype == "f64":
        yield changed(lambda q: setattr(q, "dtype", "f32"))


def kind_of(message: str) -> str:
    """A message without its names and numbers."""
    message = message.split("\n")[0]
    if re.search(r"expected \S+, got \S+$", message):
        return "WRONG RESULT"
    return re.sub(r"\b([A-Z]|[a-z]\d?|w_?\d*)\b|'[^']*'|-?\d+", "_", message)


def run(
    problems: list[str], *options: object, program: Path | None = None, env: dict | None = None
) -> list[str]:
    """What scorchc says of each problem: "" where the result is right."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{n:05}.sc" for n in range(len(problems))]
        for name, problem in zip(names, problems, strict=True):
            (Path(folder) / name).write_text(problem)
        said = _run_files(names, Path(folder), program or native.core().scorchc(), options, env)
    return [said[name] for name in names]


def _run_files(
    names: list[str], folder: Path, program: Path, options: tuple, env: dict | None
) -> dict[str, str]:
    """One process for all; where it is killed the file it was at gets the blame and the rest go on."""
    said: dict[str, str] = {}
    while len(said) < len(names):
        rest = [n for n in names if n not in said]
        try:
            done = native.run(program, "--run", *options, *rest[:500], cwd=folder, env=env, limit=900)
            out, err, code = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as slow:
            out, err, code = (slow.stdout or b"").decode(), (slow.stderr or b"").decode(), "a timeout"
        said |= dict.fromkeys(re.findall(r"^(\d+\.sc): ok$", out, flags=re.M), "")
        for report in re.split(r"^(?=\d+\.sc: )", err, flags=re.M):
            if m := re.match(r"(\d+\.sc): ", report):
                said[m[1]] = report[m.end() :].strip() or "?"
        if code not in (0, 1):
            blamed = next(n for n in rest if n not in said)
            said[blamed] = f"ended with {code}: {err.strip().splitlines()[-1:]}"
    return said


def shrink(p: Problem, message: str, *options: object, **how) -> tuple[Problem, str]:
    """A smaller problem with the same kind of message."""
    kind = kind_of(message)
    for _ in range(60):
        tries = [q for q in smaller(p) if q.is_valid()]
        reports = run(list(map(str, tries)), *options, **how)
        better = [(q, m) for q, m in zip(tries, reports, strict=True) if kind_of(m) == kind]
        if not better:
            break
        p, message = min(better, key=lambda b: (len(str(b[0])), sum(b[0].extent.values())))
    return p, message


def main() -> None:
    parser = argparse.ArgumentParser(description="random problems against the oracle")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--only", default="", help="kinds of messages to show, a regular expression")
    given, options = parser.parse_known_args()
    made = list(generate.problems(given.count, given.seed))
    kinds: dict[str, list[tuple[Problem, str]]] = {}
    for p, said in zip(made, run(list(map(str, made)), *options), strict=True):
        kinds.setdefault(kind_of(said), []).append((p, said))
    for kind, found in sorted(kinds.items(), key=lambda k: -len(k[1])):
        print(f"{len(found):6} {kind or 'right'}")
        if kind and re.search(given.only, kind):
            p, said = min(found, key=lambda f: len(str(f[0])))
            p, said = shrink(p, said, *options) if given.shrink else (p, said)
            print("        " + f"{p}{said}".replace("\n", "\n        "))


if __name__ == "__main__":
    main()

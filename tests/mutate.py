"""Seeded bugs: does the suite notice? Each is one replacement in a copy of csrc.

    python tests/mutate.py [NAME...]

Golden texts must not be what notices, since they are rewritten with a change: what counts is the comparison
with the oracle, through the executor and through compiled code, and for the driver tests/c/test_drive.c.
Prints a line for every bug; the exit status is the number that nothing noticed.
"""

import random
import shutil
import sys
import tempfile
from pathlib import Path

import native
import nests
import sweep
import test_executor

GOLDEN = sorted((native.ROOT / "tests" / "golden").glob("*.sc"))
DRIVE = native.ROOT / "tests" / "c" / "test_drive.c"
MUTATIONS = {  # name: file, text, replacement
    # ---- lowering ----
    "tail tile starts one late": (
        "compiler/lower/loop.c", "num(l, known / b * b), num(l, known % b)",
        "num(l, known / b * b + 1), num(l, known % b)",
    ),
    "last tile is never cut": ("compiler/lower/loop.c", "if (known % b) tile(", "if (0) tile("),
    "powers of two skip one": ("compiler/lower/loop.c", "part = largest; part;", "part = largest; part > 1;"),
    "unrolled loop drops its rest": (
        "compiler/lower/level.c", "from = let(l, \"whole\", plus(l, f->lo, whole));",
        "from = f->hi; (void)whole;",
    ),
    "a batch adds what the next row has": (
        "compiler/lower/batch.c", "val_first(l->p, k, n)", "val_first(l->p, k, num(l, k))",
    ),
    "a batch forgets its rest": (
        "compiler/lower/batch.c", "begin_for(l, \"p\", whole, last, 1, &outer)",
        "begin_for(l, \"p\", last, last, 1, &outer)",
    ),
    "a batch ends after one vector": (
        "compiler/lower/batch.c", "begin_for(l, \"q\", num(l, k), n, k, &outer)",
        "begin_for(l, \"q\", n, n, k, &outer)",
    ),
    "position tile reads past its end": (
        "compiler/lower/level.c", "val_op(l->p, O_MIN, plus(l, w->tile_lo, num(l, n->by)), f->hi)",
        "plus(l, w->tile_lo, num(l, n->by))",
    ),
    "block base forgotten": ("compiler/lower/loop.c", "c->whole = plus(l, c->base, v);", "c->whole = v;"),
    "dense position without its parent": (
        "compiler/lower/loop.c", "plus(l, times(l, w->pos[w->n], level_size(l, t, w->n)), c)", "c",
    ),
    "maximum starts from zero": (
        "compiler/lower/work.c", "key, 1, op == O_CONST ? 0 : op_identity(op));", "key, 1, 0);",
    ),
    "a shared workspace starts from one": (
        "compiler/lower/lower.c", "s->fill = op == O_CONST ? 0 : op_identity(op);", "s->fill = 1;",
    ),
    "stride of another dimension": (
        "compiler/lower/eval.c", "times(l, index_base(l, e, e->ix[d]), stride)", "index_base(l, e, e->ix[d])",
    ),
    # ---- merging ----
    "a merge steps over what it did not visit": (
        "compiler/lower/merge.c", "val_op(p, O_ADD, val_local(p, m->next[i]), val_cast(p, I64, m->here[i]))",
        "val_op(p, O_ADD, val_local(p, m->next[i]), val_int(p, 1))",
    ),
    "the last case of a merge has no test": (
        "compiler/lower/merge.c", "(all && k == n - 2)", "(k == n - 2)",
    ),
    "what is absent counts": (
        "compiler/lower/merge.c", "absent |= tensor_bit(l->p, m->f[i].t);", "absent |= 0;",
    ),
    "galloping leaps over an entry": (
        "compiler/lower/merge.c", "val_op(p, O_ADD, m->coord, val_cast(p, I64, same))",
        "val_op(p, O_ADD, m->coord, val_int(p, 1))",
    ),
    "a search believes what it finds": (
        "compiler/lower/level.c", "f->one ? same : both(l, less(l, at.pos, f->hi), same);",
        "f->one ? same : less(l, at.pos, f->hi);",
    ),
    "runs of equal coordinates are single": (
        "compiler/lower/level.c", "run->a = both(l, less(l, val_local(p, q), f->hi), same);",
        "run->a = both(l, less(l, val_local(p, q), f->lo), same);",
    ),
    # ---- assembling results ----
    "a fibre ends at its parent": (
        "compiler/lower/result.c", "val_op(l->p, O_ADD, parent, val_int(l->p, 1)), end)", "parent, end)",
    ),
    "dense levels of a result lie in one another": (
        "compiler/lower/result.c", "val_op(l->p, O_MUL, at, slot_extent(l, &ix))", "at",
    ),
    "every chunk begins at the start": ("kernels/drive_result.c", "*at = total;", "*at = 0;"),
    "the last chunk is forgotten": ("kernels/drive_result.c", "k <= n; k++", "k < n; k++"),
    # ---- plans and the driver ----
    "rows are cut inside": (
        "kernels/drive_units.c", "return u->snap ? run_end(u, p) : p;", "return p;",
    ),
    "finish sees one slot fewer": ("kernels/drive_lanes.c", "cursor[1] = m - k;", "cursor[1] = m - k - 1;"),
    "a hub leaves the rest undone": (
        "kernels/drive_lanes.c", "put_range(r, from, r->units.n);", "put_range(r, from, from);",
    ),
}  # fmt: skip


def build(folder: Path, edit: tuple[str, str, str] | None) -> native.Core:
    """The core of a copy of the sources in which the edit has been made; other objects are taken over."""
    source, objects, kept = folder / "csrc", folder / "objects", native.chunked()
    shutil.copytree(native.CSRC, source)
    if edit:
        file, text, replacement = source / edit[0], edit[1], edit[2]
        before = file.read_text()
        if text not in before:
            raise LookupError(f"{edit[0]} has no {text!r}: bring this list up to date")
        file.write_text(before.replace(text, replacement, 1))
    for made in kept.objects():
        target = objects / made.relative_to(kept.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not edit or target.relative_to(objects).with_suffix(".c") != Path(edit[0]):
            shutil.copy(made, target)  # newer than the copied sources
    return native.Core(kept.flags[len(native.FLAGS) :], objects, source)


def right(program: Path, folder: Path) -> bool:
    """Whether every problem gives the right result or is refused."""
    golden = [f.read_text() for f in GOLDEN]
    executed = [*golden, *test_executor.anything(300, 1), *test_executor.templates(200, 1)]
    narrow = list(test_executor.templates(150, 4))
    chunked = [*test_executor.anything(200, 2), *test_executor.with_nests(200, 2)]
    jit = ("--jit", "--width", native.widths()[-1])
    compiled = [*golden, *test_executor.anything(30, 3), *random.Random(0).sample(executed, 20)]
    env = {"XDG_CACHE_HOME": str(folder / "cache")}
    ways = ((), executed), (("--width", 16), narrow), (("--lanes", 3), chunked), (jit, compiled)
    for options, made in ways:
        said = sweep.run(list(map(str, made)), *options, program=program, env=env)
        if not all(not report or nests.refused(report) for report in said):
            return False
    return True


def passes(core: native.Core, folder: Path, edit: tuple[str, str, str] | None) -> bool:
    driver = edit is not None and edit[0].startswith("kernels/")
    if driver and native.run(core.program(DRIVE), cwd=native.ROOT).returncode:
        return False
    return right(core.scorchc(), folder)


def main(names: list[str]) -> int:
    """Builds and tries the bugs of these names, all without one; first none at all, which must pass."""
    left = 0
    for name, edit in {"no bug": None, **MUTATIONS}.items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            passed = passes(build(Path(folder), edit), Path(folder), edit)
        wrong = passed != (edit is None)
        left += wrong
        print(f"{name}: {'passes' if passed else 'noticed'}{'   <---' if wrong else ''}", flush=True)
    return left


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

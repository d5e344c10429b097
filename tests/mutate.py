"""Seeded bugs: does the suite notice? Each is one replacement in a copy of csrc.

    python tests/mutate.py [NAME...]

Golden texts must not be what notices, since they are rewritten with a change: what counts is the comparison
with the oracle, through the executor and through compiled code, and before it the C tests of the part that
the bug is in (WATCH); conversions are also tried on random tensors (tests/fuzz/tensors.c). What takes
programs apart is tried by tests of the package on programs of several steps (PACKAGE), without a C compiler.
Prints a line for every bug; the exit status is the number that nothing noticed.
"""

import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import fuzzing
import native
import nests
import pytest
import sweep
import test_executor

GOLDEN = sorted((native.ROOT / "tests" / "golden").glob("*.sc"))
C_TESTS = native.ROOT / "tests" / "c"
WATCH = {  # the C tests of files whose path begins so, the quick ones first
    "compiler/emit/sort": ("test_stmt",),
    "compiler/expr/derive": ("test_derive",),
    "dtype": ("test_dtype", "test_convert_sums"),
    "kernels/convert": ("test_convert_sums", "test_convert_wide", "test_convert_large", "test_kernels"),
    "kernels/census_": ("test_census",),
    "kernels/drive": ("test_drive", "test_cuts"),
    "kernels/team": ("test_convert_large",),
    "kernels/validate": ("test_kernels",),
    "run/": ("test_table",),
}
STEPS = ("test_steps", "test_slabs", "test_listed", "test_apart", "test_path", "test_tmp")
PACKAGE = {  # instead of all that, the Python tests of files whose path begins so
    "bindings/filled": ("test_filled",),
    "bindings/layouts": ("test_alone", "test_filled"),
    "bindings/sample": ("test_dynamic",),
    "compiler/path/": STEPS,
    "compiler/expr/derive_shares": ("test_gradients",),
    "compiler/expr/inline": STEPS,
    "compiler/lower/noted": ("test_merges",),
    "compiler/expr/twins": ("test_twins",),
    "compiler/ir/ops": ("test_missing",),
    "kernels/merged": ("test_in_turn",),
    "kernels/slabs": ("test_slabs",),
    "kernels/listed": ("test_listed",),
    "run/listed": ("test_listed",),
    "run/dense": STEPS,
    "run/steps": STEPS,
    "run/holes": STEPS,
}
RANDOM_TENSORS = 20_000
MEMORY = 2 << 30  # bytes for a C test: extents without end must not be what the machine ends by
MUTATIONS = {  # name: file, text, replacement
    # ---- lowering ----
    "tail tile starts one late": (
        "compiler/lower/loop.c", "num(l, known / b * b), num(l, known % b)",
        "num(l, known / b * b + 1), num(l, known % b)",
    ),
    "last tile is never cut": ("compiler/lower/loop.c", "if (known % b) tile(", "if (0) tile("),
    "squares are taken where a tile is short": (
        "compiler/lower/turn.c", "O_EQ, size ? size : all, all)", "O_EQ, size ? all : all, all)",
    ),
    "what is missing is computed in doubles": (
        "compiler/ir/ops.c", "type == SC_F32 ? (float)op_eval(op, (float)a, (float)b)",
        "type == SC_F32 && a != a ? (float)op_eval(op, (float)a, (float)b)",
    ),
    "what is missing does not wrap": ("compiler/ir/ops.c", "const bool wraps = type == SC_I32;",
        "const bool wraps = false;"),
    "keys of both lists are two": ("kernels/merged.c", "j += y <= x;", "j += y < x;"),
    "no coordinate begins a position": (
        "kernels/convert_pack.c", "return p->all | sc_list_begins(p->list, last, e);", "return p->all;",
    ),
    "all values stay where they are": ("kernels/convert_pack.c", "same = p->at[e] == e;", "same = true;"),
    "fibres that fall are fine": ("kernels/validate.c", "return found == starts ? -1 : begin;",
        "return found >= 0 ? -1 : begin;"),
    "a square is not turned": (
        "compiler/emit/lib.c", "const bool right = k & d;", "const bool right = k & d & 8;",
    ),
    "a list counts lanes without an entry": (
        "compiler/lower/list.c", "val_op(l->p, O_MIN, val_op(l->p, O_SUB, end, at), num(l, lanes))",
        "num(l, lanes)",
    ),
    "a key goes one place too far": (
        "compiler/emit/sort.c", "r -= v[a] > (", "r -= v[a] >= (",
    ),
    "the last of equal coordinates is not added": (
        "compiler/emit/sort.c", "for (int d = 1; d < most; d++)", "for (int d = 1; d < most - 1; d++)",
    ),
    "what is read of a workspace is not cleared": (
        "compiler/lower/work.c", "    if (read) {\n        lower_body(l, read);", "    if (read) {",
    ),
    "a result like an operand is not filled": (
        "compiler/lower/lower.c", "t->like ? f->sources & ~tensor_bit(f->p, t->like)", "t->like ? 0",
    ),
    "powers of two skip one": ("compiler/lower/loop.c", "part = largest; part;", "part = largest; part > 1;"),
    "unrolled loop drops its rest": (
        "compiler/lower/level.c", "from = lower_let(l, \"whole\", plus(l, f->lo, whole));",
        "from = f->hi; (void)whole;",
    ),
    "a rest where every coordinate was visited": (
        "compiler/lower/rest.c", "val_op(p, O_GT, left, num(l, 0))", "val_op(p, O_GE, left, num(l, 0))",
    ),
    "sums side by side leave a vector out": (
        "compiler/lower/eval.c", "copies / 2; c; c", "copies / 2; c > 1; c",
    ),
    "a sum side by side is dropped": (
        "compiler/lower/eval.c", "int u = 1; u < copies; u++", "int u = 1; u < sc_min(copies, 2); u++",
    ),
    "lanes come together in another order": (
        "kernels/convert_wide_32.c", "*)together[four]", "*)together[four & 14]",
    ),
    "a lane masked out is loaded": (
        "compiler/emit/meet.c", "(bit & (int)bits) != 0", "(bit | (int)bits) != 0",
    ),
    "a panel is not scaled": (
        "compiler/schedule/gather.c", "factors(g, apart, false)", "factors(g, 1u << g->vec, true)",
    ),
    "a sum takes its rest once": (
        "compiler/lower/eval.c", "v = val_op(p, O_MUL, v, val_cast(p, v->type, times));", "(void)times;",
    ),
    "a batch adds what the next row has": (
        "compiler/lower/batch.c", "val_first(l->p, k, n)", "val_first(l->p, k, num(l, k))",
    ),
    "a batch forgets its rest": (
        "compiler/lower/batch.c", "lower_for(l, \"p\", whole, last, 1, &outer)",
        "lower_for(l, \"p\", last, last, 1, &outer)",
    ),
    "a batch ends after one vector": (
        "compiler/lower/batch.c", "lower_for(l, \"q\", num(l, k), n, k, &outer)",
        "lower_for(l, \"q\", n, n, k, &outer)",
    ),
    "position tile reads past its end": (
        "compiler/lower/level.c", "val_op(l->p, O_MIN, plus(l, w->tile_lo, num(l, n->by)), f->hi)",
        "plus(l, w->tile_lo, num(l, n->by))",
    ),
    "block base forgotten": ("compiler/lower/env.c", "c->whole = plus(l, c->base, v);", "c->whole = v;"),
    "dense position without its parent": (
        "compiler/lower/env.c", "times(l, lower_where(l, t)->pos[level], level_size(l, t, level))",
        "num(l, 0)",
    ),
    "maximum starts from zero": (
        "compiler/lower/registers.c", "key, 1, op == O_CONST ? 0 : op_identity(op));", "key, 1, 0);",
    ),
    "a shared workspace starts from one": (
        "compiler/lower/lower.c", "s->fill = op_identity(op == O_CONST ? w->empty : op);", "s->fill = 1;",
    ),
    "stride of another dimension": (
        "compiler/lower/eval.c", "times(l, index_base(l, e, e->ix[d]), stride)", "index_base(l, e, e->ix[d])",
    ),
    # ---- merging ----
    "what is given everywhere is not compared": (
        "compiler/nest/absent.c", "return left && same_value(s->p, left, s->given->rhs);", "return left;",
    ),
    "entries are missing in front of entries": (
        "compiler/schedule/build.c", "(Assign){a.lhs, O_CONST, left})", "(Assign){a.lhs, O_CONST, a.rhs})",
    ),
    "the part that is something without entries is too small": (
        "compiler/nest/absent.c", "if (names(p, in, absent, true) && expr_absent(p, in, absent))",
        "if (names(p, in, absent, true))",
    ),
    "what gradients share stays behind its readers": (
        "compiler/expr/derive_shares.c", "        move_ahead(d);", "",
    ),
    "what may be absent is a value everywhere": (
        "compiler/schedule/build.c", "!expr_any(e, may_lack, NULL)", "(!expr_any(e, may_lack, NULL) || e)",
    ),
    "a result that is assigned everywhere is filled behind it": (
        "compiler/lower/lower.c", "f->fill & ~l->assigned", "f->fill",
    ),
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
    "a row is taken for the empty one in front": (
        "compiler/lower/noted.c", "val_op(p, O_GT, size, times(l, other, num(l, ROW_LONGER)))",
        "val_op(p, O_GE, size, times(l, other, num(l, ROW_LONGER)))",
    ),
    "a noted row is believed unseen": (
        "compiler/lower/merge.c", "O_EQ, lower_load_index(l, row->crd, place), m->coord)",
        "O_EQ, m->coord, m->coord)",
    ),
    "a row that is noted stays": (
        "compiler/lower/noted.c", "val_op(p, O_NE, f->lo, val_local(p, x->held))",
        "val_op(p, O_EQ, num(l, -1), val_local(p, x->held))",
    ),
    "a search believes what it finds": (
        "compiler/lower/level.c", "f->one ? same : both(l, less(l, at.pos, f->hi), same);",
        "f->one ? same : less(l, at.pos, f->hi);",
    ),
    "runs of equal coordinates are single": (
        "compiler/lower/level.c", "run->a = both(l, less(l, val_local(p, q), f->hi), same);",
        "run->a = both(l, less(l, val_local(p, q), f->lo), same);",
    ),
    # ---- slices of sorted rows ----
    "lanes behind the end of a row add what stands there": (
        "compiler/lower/slices.c",
        "v = val_select(p, here, v, val_const(p, old->type, op_identity(x->reduce)));", "(void)here;",
    ),
    "sums of a window are taken in the order of rows": (
        "compiler/lower/sell.c",
        "Sums sums = {.buf = x.sums, .place = lower_buf(l, B_POS, x.t, x.level)};",
        "Sums sums = {.buf = x.sums};",
    ),
    "all rows of a slice are in lane 0": (
        "compiler/lower/sell.c",
        "Val *lane = lower_let(l, \"row\", op(l, O_MOD, f->place, width));", "Val *lane = num(l, 0);",
    ),
    "what results store is bounded by windows": (
        "compiler/lower/result.c",
        "    if (sc_kind_of(&t->format.level[t->format.nlevel - 1])->sorted) return false;\n", "",
    ),
    # ---- slices of diagonals ----
    "lanes without an entry take part": (
        "compiler/lower/slices.c",
        "v = val_select(p, here, v, val_const(p, old->type, op_identity(x->reduce)));", "(void)here;",
    ),
    "rows of a slice have the bit of its first": (
        "compiler/lower/slices.c", "op(l, O_SHL, num(l, 1), lane)", "num(l, 1)",
    ),
    "slices begin where the range does": (
        "compiler/lower/slices.c", "op(l, O_SUB, times(l, slice, width), apart)", "start",
    ),
    "values below an entry are those of the next": (
        "kernels/convert_tail.c", "const int64_t k = x->was[i] - 1;",
        "const int64_t k = x->was[i] ? x->was[i] % (x->c->from->view.nval / x->width) : -1;",
    ),
    "values below an entry are found by its number": (
        "kernels/convert_tail.c", "k < 0 ? -1 : k * x->width + w;", "k < 0 ? -1 : k + w;",
    ),
    "every diagonal has the first row": (
        "kernels/convert_slices.c", "2 * q + 1, bits);", "2 * q + 1, bits | 1);",
    ),
    # ---- planar levels and full blocks ----
    "planes lie as blocks do": (
        "compiler/lower/env.c", "sc_kind_of(&t->format.level[*n])->planar", "false",
    ),
    "a row of blocks begins with the first": (
        "compiler/lower/env.c", "return plus(l, times(l, lo, level_size(l, t, level)), within);",
        "return within;",
    ),
    "planes are read as blocks": (
        "kernels/convert_list.c", "extend(u, u->above[lo + at % n], at / n, extent, false, &stray)",
        "extend(u, u->above[lo + at / size], at % size, extent, false, &stray)",
    ),
    "planes of the row of blocks in front": (
        "kernels/convert_pack.c", "while (sc_index(up->pos, it, f + 1) <= p->at[e]) f++;",
        "while (sc_index(up->pos, it, f + 1) < p->at[e]) f++;",
    ),
    "no rows are alike": (
        "kernels/census_blocks.c", "const bool same = i && n == begin - before &&",
        "const bool same = i && n == begin - before && 0 *",
    ),
    "runs may end anywhere": (
        "kernels/census_blocks.c", "if (c != next) width = divisor(divisor(width, c), sc_max(next, 0));",
        "if (c != next) width = divisor(width, c);",
    ),
    # ---- bit masks ----
    "both halves of a word begin where it does": (
        "compiler/lower/words.c", "off ? plus(l, x->first, before) : x->first;", "((void)before, x->first);",
    ),
    "absent lanes take part in a maximum": (
        "compiler/lower/words.c", "if (a->reduce != O_ADD || !is_zero_apart(a->rhs, l->e.vec.ix.var))",
        "if (!is_zero_apart(a->rhs, l->e.vec.ix.var) && a->reduce == O_ADD)",
    ),
    "words keep the sign of 32 bits": (
        "compiler/lower/words.c", "op(l, O_AND, lower_load_index(l, f->crd, x.w), num(l, 0xffffffff))",
        "lower_load_index(l, f->crd, x.w)",
    ),
    # ---- assembling results ----
    "a fibre ends at its parent": (
        "compiler/lower/result.c", "val_op(l->p, O_ADD, parent, val_int(l->p, 1)), end)", "parent, end)",
    ),
    "dense levels of a result lie in one another": (
        "compiler/lower/result.c", "val_op(l->p, O_MUL, at, lower_slot_extent(l, &ix))", "at",
    ),
    "every chunk begins at the start": (
        "kernels/drive_result.c", "*at = total;\n        total += n;", "*at = 0;\n        total += n;",
    ),
    "the last chunk is forgotten": ("kernels/drive_result.c", "c->cut[c->n] = u->end;", "c->cut[c->n] = 0;"),
    # ---- plans and the driver ----
    "rows are cut inside": (
        "kernels/drive_units.c", "return u->snap && p > 0 && p < u->n ? run_end(u, p) : p;", "return p;",
    ),
    "finish sees one slot fewer": ("kernels/drive_lanes.c", "cursor[1] = m - k;", "cursor[1] = m - k - 1;"),
    "a hub leaves the rest undone": (
        "kernels/drive_lanes.c", "put_range(r, from, r->units.n, &left);", "put_range(r, from, from, &left);",
    ),
    # ---- conversions ----
    "a lane begins elsewhere where there is more to do": (
        "kernels/team.c", "begin = sc_split_even(x->r.n, t, x->r.nlane);",
        "begin = sc_split_even(x->r.n, t * x->pieces, x->r.nlane * x->pieces);",
    ),
    "entries of one place are not summed": (
        "kernels/convert_pack.c", "if (e > 0 && at[e] == at[e - 1])\n            sc_value_add",
        "if (0)\n            sc_value_add",
    ),
    "a row keeps what is there twice": (
        "kernels/convert_coo.c", "kept += key[i] >> 32 != key[i - 1] >> 32;", "kept++;",
    ),
    "a sum begins with the one before it": (
        "kernels/convert_coo.c", "sc_value_first(val, to++, from, e, t, &sum);",
        "sc_value_add(val, to++, from, e, t, &sum);",
    ),
    "holes are filled with ones": (
        "kernels/convert_pack.c", "if (holes) sc_fill(v.val, c->from->dtype, p->npos, c->fill);",
        "if (holes) sc_fill(v.val, c->from->dtype, p->npos, 1);",
    ),
    "a dense copy of coordinates is not cleared": (
        "kernels/convert_dense.c", "    sc_fill(val, c->from->dtype, n, 0);\n    if (x.perm)",
        "    if (x.perm)",
    ),
    "padding is a coordinate": (
        "kernels/convert_pack.c", "sc_fill(p->crd, p->c->to->itype, p->npos, -1);",
        "sc_fill(p->crd, p->c->to->itype, p->npos, 0);",
    ),
    "padding is read as an entry": (
        "kernels/convert_list.c", "drops |= sc_kind_of(&c->from->format.level[l])->padded;",
        "drops |= false;",
    ),
    "the last empty row has no end": (
        "kernels/convert_pack.c",
        "f < p->above; f++)\n        sc_index_put(p->pos, p->c->to->itype, f + 1, p->npos);",
        "f < p->above - 1; f++)\n        sc_index_put(p->pos, p->c->to->itype, f + 1, p->npos);",
    ),
    "a block takes the remainder of another": (
        "kernels/convert_list.c", "if (v->part == SC_MOD) c %= v->block;",
        "if (v->part == SC_MOD) c = v->block - 1 - c % v->block;",
    ),
    "a transposed value says another place": (
        "kernels/convert_csr.c", "perm[at] = sc_deal_source(&x->deal, begin + i);", "perm[at] = begin + i;",
    ),
    "sorted rows that begin late are trusted": (
        "kernels/convert_coo.c", "for (int64_t r = 0; r <= first; r++)",
        "for (int64_t r = 0; r < first; r++)",
    ),
    # ---- narrow types ----
    "a sum of entries is rounded at each": (
        "kernels/convert_pack.c", "*sum += sc_half_get(t, ((const uint16_t *)from)[j]);",
        "*sum = sc_half_get(t, ((uint16_t *)to)[i]) + sc_half_get(t, ((const uint16_t *)from)[j]);",
    ),
    "a sum of integers stops at the largest": (
        "kernels/convert_pack.c",
        "((int16_t *)to)[i] = (int16_t)(((int16_t *)to)[i] + ((const int16_t *)from)[j]);",
        "sc_number_put(t, to, i, (double)((int16_t *)to)[i] + ((const int16_t *)from)[j]);",
    ),
    "halfway goes up": ("dtype.c", "return (x + half - 1 + odd) >> n;", "return (x + half) >> n;"),
    "integers wrap when numbers are stored": (
        "dtype.c", "(int16_t)saturated(v, INT16_MIN, INT16_MAX)", "(int16_t)(int64_t)v",
    ),
    "sums in memory are rounded at each turn": (
        "compiler/schedule/narrow.c", "(t->dtype != SC_F16 && t->dtype != SC_BF16)", "t->dtype != SC_F16",
    ),
    "16 bit floats are computed in themselves": (
        "dtype.c", "if (t == SC_F16 || t == SC_BF16) return SC_F32;", "(void)0;",
    ),
    "truth values are counted in themselves": (
        "dtype.c", "return t == SC_BOOL || t == SC_I16 ? SC_I64 : t;", "return t;",
    ),
    "the executor forgets the sign of 16 bits": (
        "run/exec.c", "((uint16_t *)p)[at] = sc_half_put(t, (float)x);",
        "((uint16_t *)p)[at] = sc_half_put(t, x < 0 ? -(float)x : (float)x);",
    ),
    # ---- the table of programs ----
    "the newest go first": (
        "run/table.c", "(x->used > y->used) - (x->used < y->used)",
        "(x->used < y->used) - (x->used > y->used)",
    ),
    "what is found is not used": ("run/table.c", "    e->used = ++table.clock;\n", ""),
    "all go at once": ("run/table.c", "k < n && bytes_now() > table.limit / 4 * 3; k++", "k < n; k++"),
    "nothing goes": ("run/table.c", "if (bytes_now() <= table.limit) return;", "return;"),
    "what goes is not released": ("run/table.c", "        sc_program_release(e->program);\n", ""),
    "a program is not held by its key": (
        "run/table.c", "(*link)->program = sc_program_retain(p);", "(*link)->program = p;",
    ),
    "a program that is found is not held": (
        "run/table.c", "return sc_program_retain(e->program);", "return e->program;",
    ),
    "what lies in between is given to the result": ("kernels/convert_csr.c", " && !c->passing", ""),
    "perm is of what lies in between": (
        "kernels/convert_way.c", "if (x->perm[i] >= 0) x->perm[i] = x->first[x->perm[i]];", "(void)x;",
    ),
    "a handle finds what came to its place": (
        "run/table.c", " && table.places[k].taken == handle >> 32", "",
    ),
    "a handle is good for any number of threads": (
        "run/table.c", "if (e && e->key[1] == threads) p", "if (e) p",
    ),
    "a failure stays in the table": (
        "run/table.c", "} else {\n        free(unlinked(link));", "} else {",
    ),
    "equal requests do not wait": ("run/table.c", "if (wait_for_others(err)) return err->code;", "break;"),
    "keys are compared by their length": (
        "run/table.c", "(*e)->hash == hash && (*e)->size == n && !memcmp((*e)->key, key, n)",
        "(*e)->size == n",
    ),
    "the key forgets extents": (
        "run/program.c", "(size_t)s->format.ndim * sizeof(int64_t)", "sizeof(int64_t)",
    ),
    "the key forgets how many entries": (
        "run/program.c", "(const char *)s->positions, (size_t)s->format.nlevel",
        "(const char *)s->positions, 0",
    ),
    "the key forgets strides": ("run/program.c", "s->unit, s->perm, s->even", "s->perm, s->even"),
    "the key forgets what is multiplied often": (
        "run/program.c", "sc_text_addn(t, (const char *)&s->often, sizeof s->often);", "",
    ),
    "what was not seen before counts as far": (
        "kernels/census_reach.c", "if (p - begin >= (end - begin) / 2)", "if (p >= begin)",
    ),
    "the key forgets blocks": (
        "run/program.c", "(const char *)f->level, (size_t)f->nlevel * sizeof *f->level",
        "(const char *)f->level, sizeof *f->level",
    ),
    "a union forgets where its twin is": ("compiler/expr/twins.c", "!expr_kills(p, e, leader)", "false"),
    "twins at other indices": ("compiler/expr/twins.c", "(size_t)t->ndim * sizeof *t->dimvar", "0"),
    "the key forgets skip": ("run/program.c", "(char)rq->skip, (char)rq->nofold", "(char)rq->nofold"),
    "the key forgets the schedule": (
        "run/program.c", "if (rq->schedule) sc_text_addn(t, rq->schedule, strlen(rq->schedule) + 1);\n",
        ";\n",
    ),
    "the text forgets what is asked": (
        "run/program.c", "        add_format(&t, &p->result[r].spec.format);\n", "",
    ),
    "bytes of a program stay counted": (
        "run/record.c", "    atomic_fetch_sub(&sc_this_process.program_bytes, p->bytes);\n", "",
    ),
    "a program goes with the first that lets go": (
        "run/record.c", "memory_order_acq_rel) > 1) return;", "memory_order_acq_rel) > 2) return;",
    ),
    # ---- programs in steps: what a step is told ----
    "a step reads the operand of its own number": (
        "compiler/path/step.c", "s->from[rq->nin++] = (uint8_t)value;",
        "s->from[rq->nin] = (uint8_t)rq->nin, rq->nin++;",
    ),
    "an operand at other indices is the same": (
        "compiler/path/step.c", "if (!strcmp(rq->in[k].name, t->name)) return s->holes",
        "if (rq->in[k].name[0] == t->name[0]) return s->holes",
    ),
    "the dimensions of a temporary change places": (
        "compiler/path/taken.c", "(uint8_t)same->dimvar[d]}", "(uint8_t)same->dimvar[same->ndim - 1 - d]}",
    ),
    "a temporary is read along its first dimension": (
        "compiler/path/step.c", "? t->ndim - 1 : -1;", "? 0 : -1;",
    ),
    "a sum of terms is told as terms that have sums": (
        "compiler/path/step.c", 'op == O_CONST ? "" : op == O_ADD ? "+"', 'op == O_CONST || op == O_ADD ? ""',
    ),
    "a text need not mean the step": (
        "compiler/path/step.c", "return !unsummed && expr_equal(e, a->rhs);", "return !unsummed;",
    ),
    "entries are read before they are known": (
        "compiler/lower/eval.c",
        "    if (!sc_format_is_dense(&t->format))\n        return lower_level",
        "    if (tensor_is_sparse(t))\n        return lower_level",
    ),
    "a transposed result has the structure of an operand": (
        "compiler/path/step.c", "if (same && !memcmp(x->dimvar", "if (same || !memcmp(x->dimvar",
    ),
    "dense temporaries say what is stored": (
        "compiler/path/step.c",
        "return !reads(pl, s, has_holes) && !(expr_vars(a->lhs) & ~path_covered(pl->p, a->rhs));",
        "(void)s, (void)has_holes, (void)reads; return true;",
    ),
    "holes are not seen": (
        "compiler/path/step.c", "const bool holes = factor && has_holes(pl, value);",
        "const bool holes = false; (void)factor;",
    ),
    "what is absent leaves no holes": (
        "compiler/path/step.c", "reads(pl, s, has_holes) || !expr_sure(a[k].rhs);",
        "reads(pl, s, has_holes);",
    ),
    "temporaries are rounded": (
        "compiler/path/step.c", "if (result < 0 ? lhs->tensor->dtype == p->type",
        "if (result < 0 ? false",
    ),
    "short results of wider temporaries are not promised": (
        "compiler/path/step.c", "rq->narrow = p->result_type;", "(void)0;",
    ),
    "values of a way that was not taken stay": (
        "compiler/path/step.c", "pl->path->nvalue = m.nvalue;", "(void)0;",
    ),
    "a dense product is of the transposed matrix": (
        "compiler/path/library.c", "d->sum_b[d->nsum++] = (uint8_t)other;", "d->sum_b[d->nsum++] = !other;",
    ),
    "a dense product is transposed": (
        "compiler/path/library.c", "d->in_a[i] = (int8_t)expr_dim_of(f->x,",
        "d->in_a[i] = (int8_t)expr_dim_of(f->y,",
    ),
    "a dense product of any format": (
        "compiler/path/library.c",
        "if (!is_beside(f)) return sc_format_is_dense(&s->request.ask[0]) && like < 0;",
        "if (!is_beside(f)) return true;",
    ),
    "a dense product with slabs is not scattered": (
        "compiler/path/library.c", "f->listed >= 0 && dense ? expr_dim_of(e, f->listed)",
        "false && dense ? expr_dim_of(e, f->listed)",
    ),
    # ---- programs in steps: which ----
    "an index of the result is summed": (
        "compiler/path/tree.c", "uint32_t mine = 0, others = x->kept;", "uint32_t mine = 0, others = 0;",
    ),
    "an order that a user asks for is one nest": (
        "compiler/path/plan.c", "if (!own || is_flat(own)) return e;", "if (own) return e;",
    ),
    "an order may take a factor twice": ("compiler/path/wish.c", "k < 0 || r->seen >> k & 1;", "k < 0;"),
    "names of factors are told by how they begin": (
        "compiler/path/wish.c", "(int)strlen(own) == len && ", "",
    ),
    "the index of a factor with a sum goes": (
        "compiler/path/plan.c", "taken_first(pl, f, expr_free(f), false, false, 0);",
        "taken_first(pl, f, expr_free(f) & expr_free(e), false, false, 0);",
    ),
    "indices that are kept may differ": (
        "compiler/path/common.c", "if (!in(r->from, v)) return v == w;", "if (!in(r->from, v)) return true;",
    ),
    "as many as there are merged at a time": (
        "compiler/path/crowd.c",
        "const bool fits = more && sparse + more <= CROWD;",
        "const bool fits = more;",
    ),
    "what is left of a crowd is forgotten": (
        "compiler/path/crowd.c", "rest[left++] = term[k];", "rest[left] = term[k];",
    ),
    "any operand is the same": ("compiler/path/common.c", "s->arg == t->arg); }", "true); }"),
    "a step begins behind what reads": (
        "compiler/path/apart.c", "p->apart |= 1u << a, from = a;", "p->apart |= 2u << a, from = a;",
    ),
    # ---- temporaries of a program ----
    "a maximum joins a product": (
        "compiler/expr/inline.c", "return a->reduce == O_CONST || a->reduce == O_ADD;",
        "return a->reduce >= 0;",
    ),
    "indices of what joins are those that are there": (
        "compiler/expr/inline.c", "if (own & taken & 1u << v) r->of[v]", "if (0) r->of[v]",
    ),
    "what is read twice joins one": ("compiler/expr/inline.c", "if (reads > 1 || ", "if ("),
    "indices of names of one length are one": (
        "compiler/path/alike.c", "if (of[k].n == w.n && !memcmp(of[k].s, w.s, (size_t)w.n)) return k;",
        "if (of[k].n == w.n) return k;",
    ),
    # ---- programs in steps: running them ----
    "hidden results come first": (
        "run/steps_make.c", "sc_delivered *d = &p->result[x->result[r]];",
        "sc_delivered *d = &p->result[p->nout - 1 - x->result[r]];",
    ),
    "no infinity is noticed": ("run/steps.c", "if (!holes) return true;", "if (x) return true;"),
    "an infinity in the rest is not noticed": (
        "run/holes.c", "for (; i < n; i++) x[0] =", "for (; i < n - 1; i++) x[0] =",
    ),
    "an infinity of 16 bits is not noticed": (
        "run/holes.c", "case SC_F16: SUM_UP(uint16_t, |=, (vector)((x & 0x7c00) == 0x7c00)) break;\n", "",
    ),
    "an infinity of bfloat16 is not noticed": (
        "run/holes.c", "case SC_BF16: SUM_UP(uint16_t, |=, (vector)((x & 0x7f80) == 0x7f80)) break;\n", "",
    ),
    "an exponential is the product that it is in": (
        "compiler/expr/derive.c", "binary(w, O_MUL, w->adj, w->a->lhs)", "binary(w, O_MUL, adj, w->a->lhs)",
    ),
    "sums that are merged lose a factor": (
        "compiler/expr/derive_shares.c", "common[n++] = a[k];", "if (!n) common[n++] = a[k];",
    ),
    "numbers of factors in common are lost": (
        "compiler/expr/derive_shares.c", "both.c = m.c + n.c;", "both.c = m.c;",
    ),
    "a multiple of a sum is taken for the sum": (
        "compiler/expr/derive_shares.c", "Expr *part = ratio == 1 ?", "Expr *part = ratio ?",
    ),
    "a largest number across vectors is a sum": (
        "compiler/schedule/across.c", "nest_eval(p, sum, op, lanes)", "nest_eval(p, sum, O_ADD, lanes)",
    ),
    "rows without entries are not noticed": (
        "kernels/census_rows.c", "least = (end & less) | (least & ~less),", "least = least,",
    ),
    "blocks of a row are counted into the next": (
        "kernels/census_blocks.c", "*n = 0;", "",
    ),
    "columns count as rows": (
        "run/holes.c", "if (kept >> t->format.level[t->format.nlevel - 1].dim & 1) return false;", "",
    ),
    "holes of a temporary end with the next one": (
        "run/steps.c", "dense ? sc_step_made(r->p, value) && r->gaps >> value & 1 :", "dense ? value < 0 :",
    ),
    "a shared level is not copied": (
        "run/steps.c", "if (!is_lent(r, x, in, *array)) continue;", "if (r) continue;",
    ),
    "coordinates that are shared are not copied": (
        "run/steps.c", "what <= SC_CRD; what++)", "what < SC_CRD; what++)",
    ),
    "a converted operand is forgotten": (
        "run/steps.c", "    in[k] = t;\n    sc_request_converted(rq, k, &t);\n",
        "    sc_request_converted(rq, k, &t);\n",
    ),
    "rows and columns of a dense factor change places": (
        "run/dense.c", "x < 0 ? SC_COLUMNS : y < 0 ? SC_ROWS", "x < 0 ? SC_ROWS : y < 0 ? SC_COLUMNS",
    ),
    "the shape of a dense product is that of another operand": (
        "run/dense.c", "in[d->b].view.dim[d->in_b[i]]", "in[d->a].view.dim[d->in_b[i]]",
    ),
    "indices of a dense product are joined over a gap": (
        "run/dense.c", "last->a == x->size * x->a && last->b", "last->b",
    ),
    "rows that are not finite are read from the ones in front": (
        "run/listed.c", "length % TILE == 0)", "length % TILE >= 0)",
    ),
    "listed rows are not scaled": ("run/listed.c", "if (room && !d->pattern)", "if (false)"),
    "what nothing is listed for stays as it was": ("run/listed.c", "else if (!s[2].rows)", "else if (false)"),
    "factors of listed rows lie in order": (
        "kernels/listed.c", "t->view.perm ? sc_index(t->view.perm, t->itype, k) : k", "k",
    ),
    "sums of listed rows are cut off": ("kernels/listed.c", "bits + 0x7fff + (bits >> 16 & 1)", "bits"),
    "each matrix is multiplied with all rows": (
        "run/listed.c", "s->rows ? end - begin : 1;", "s->rows ? s->view.dim[d] - begin : 1;",
    ),
    "rows of other dimensions than the first are listed": (
        "compiler/path/library.c", "d.is = d.listed_out <= 0;", "d.is = true;",
    ),
    "slabs lie as the tensor they are of": (
        "kernels/slabs.c", "v.dim[t->format.level[0].dim] = count(t);", "",
    ),
    "what is not listed stays": (
        "kernels/slabs.c", "sc_fill_view(&dense->view, dense->format.ndim, dense->dtype, 0);", "",
    ),
    "listed coordinates are those in front": (
        "kernels/slabs.c", "d == m->listed ? sc_index(m->list->crd, m->itype, x) : x;", "x;",
    ),
    "what others may have written is not looked for": (
        "bindings/layouts.c", " && a->handed == b->handed", "",
    ),
    "what torch wrote is not looked for": (
        "bindings/layouts.c", "a->version == b->version &&", "b->version >= 0 &&",
    ),
    "values of another tensor are taken for these": (
        "bindings/layouts.c", "a->serial == b->serial &&", "",
    ),
    "whoever holds the values is not asked for": (
        "bindings/layouts.c", "if (alone == Py_True) now.version", "if (alone) now.version",
    ),
    "a dense matrix stays when values change": (
        "bindings/layouts.c", "if (!same && sc_format_is_dense(f))", "if (!d && sc_format_is_dense(f))",
    ),
    "the first row alone is looked through for what is not finite": (
        "bindings/filled.c", "x->view.val + i * step, n, x->dtype);", "x->view.val, n, x->dtype);",
    ),
    "products at once of two types": ("bindings/sample.c", "x->t.dtype == w->t.dtype &&", ""),
    "products at once of extents that do not fit": ("bindings/sample.c", "a->dim[1] == b->dim[0] && ", ""),
    "products at once ask for no gradient": (
        "bindings/sample.c", "return grad < 0 ? -1 : !grad;", "return 1;",
    ),
    "terms of an extremum are computed by two kernels": (
        "compiler/expr/derive.c", "? body : derive_temporary(w->d, \"v\", body)", "? body : body",
    ),
}  # fmt: skip


def source_of(file: str, csrc: Path = native.CSRC) -> Path:
    """The file of a mutation, which must be where MUTATIONS says."""
    path = csrc / file
    if not path.is_file():
        raise LookupError(f"there is no csrc/{file}: say in MUTATIONS where it is now")
    return path


def mutated(edit: tuple[str, str, str], csrc: Path = native.CSRC) -> str:
    """The file with the bug in it."""
    file, text, replacement = edit
    before = source_of(file, csrc).read_text()
    if before.count(text) != 1:
        raise LookupError(
            f"csrc/{file} has {text!r} {before.count(text)} times, expected once: mend MUTATIONS"
        )
    return before.replace(text, replacement)


def build(folder: Path, edit: tuple[str, str, str] | None) -> native.Core:
    """The core of a copy of the sources in which the edit has been made; other objects are taken over."""
    source, objects, kept = folder / "csrc", folder / "objects", native.chunked()
    shutil.copytree(native.CSRC, source)
    if edit:
        (source / edit[0]).write_text(mutated(edit, source))
    for made in [*kept.objects(), *kept.bindings()]:
        target = objects / made.relative_to(kept.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not edit or target.relative_to(objects).with_suffix(".c") != Path(edit[0]):
            shutil.copy(made, target)  # newer than the copied sources
    return native.Core(kept.flags[len(native.FLAGS) :], objects, source)


def right(program: Path, folder: Path) -> bool:
    """Whether every problem gives the right result or is refused."""
    golden = [f.read_text() for f in GOLDEN]
    executed = [*golden, *test_executor.anything(300, 1), *test_executor.templates(200, 1)]
    narrow = [*test_executor.templates(150, 4), *test_executor.narrow()]
    chunked = [*test_executor.anything(200, 2), *test_executor.with_nests(200, 2)]
    jit = ("--jit", "--width", native.widths()[-1])
    compiled = [
        *golden,
        *test_executor.narrow(),
        *test_executor.anything(30, 3),
        *random.Random(0).sample(executed, 20),
    ]
    env = {"XDG_CACHE_HOME": str(folder / "cache")}
    ways = ((), executed), (("--width", 16), narrow), (("--lanes", 3), chunked), (jit, compiled)
    for options, made in ways:
        said = sweep.run(list(map(str, made)), *options, program=program, env=env)
        if not all(not report or nests.refused(report) for report in said):
            return False
    return True


def succeeds(program: Path, *argv: object) -> bool:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    try:
        return not native.run(program, *argv, cwd=native.ROOT, preexec_fn=limited).returncode
    except subprocess.TimeoutExpired:
        return False


def converts(core: native.Core, folder: Path) -> bool:
    """Whether random tensors stay what they are in any format; the same ones for every bug."""
    given = fuzzing.write_inputs("tensors", folder / "given")
    options = (f"-runs={RANDOM_TENSORS}", "-seed=1", "-max_len=512", f"-artifact_prefix={folder}/")
    return succeeds(fuzzing.build("tensors", core), *options, given)


def runs(core: native.Core, folder: Path, tests: Iterable[str]) -> bool:
    """Whether these tests of the package pass, where everything goes through the executor."""
    names = [native.ROOT / "tests" / f"{name}.py" for name in tests]
    paths = f"pythonpath={core.package(folder / 'package')} {native.ROOT / 'tests'}"
    options = ("-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-o", paths)
    env = {"SCORCH_JIT": "off", "CC": "/nonexistent", "SCORCH_CACHE_DIR": str(folder / "cache")}
    try:
        done = native.run(sys.executable, "-m", "pytest", *options, *names, env=env, cwd=native.ROOT)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode > pytest.ExitCode.TESTS_FAILED:
        raise RuntimeError(f"the tests did not run\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def passes(core: native.Core, folder: Path, edit: tuple[str, str, str] | None) -> bool:
    """Whether the checks of the part the bug is in pass (all where there is none), and programs are right."""
    apart = [tests for part, tests in PACKAGE.items() if edit is None or edit[0].startswith(part)]
    if apart and not runs(core, folder, dict.fromkeys(sum(apart, ()))):
        return False
    if apart and edit:
        return True
    parts = [part for part in WATCH if edit is None or edit[0].startswith(part)]
    tests = {name: None for part in parts for name in WATCH[part]}
    if not all(succeeds(core.program(C_TESTS / f"{name}.c")) for name in tests):
        return False
    if "kernels/convert" in parts and not converts(core, folder):
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

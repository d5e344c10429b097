/* slices.c: levels of sliced diagonals.
 *
 * A row walks the diagonals of its slice and takes those that have its bit; its coordinate is the diagonal and the number
 * of the row added up. Where rows only sum their entries, a slice is taken at a time, a lane each row: at one diagonal the
 * values of its rows lie side by side, and so do the coordinates that they have, so both are vectors, and nothing is
 * gathered. Lanes without an entry read nothing and add nothing, whatever stands at their coordinate. The sums of some
 * slices go to memory of the lane, from where the rows take them; the first and the last slice may have rows that belong
 * to others, which are left there. */
#include "private.h"

#define SLICES 1024 /* rows whose sums are kept before they are used */

static const sc_levelspec *level_of(Low *l, const Tensor *t) { return &t->format.level[lower_level(l, t)]; }

static Val *op(Low *l, Op o, Val *a, Val *b) { return val_op(l->p, o, a, b); }

void slices_refuse_tiles(Low *l, const Tensor *t)
{
    const sc_kind *is = sc_kind_of(level_of(l, t));
    if (sc_kind_walked(is))
        fail(l->p, SC_EVALUE, -1, "the %s of %s are not cut into tiles or blocks",
             is->words    ? "bit masks"
             : is->sorted ? "sorted rows"
                          : "diagonals",
             t->name);
}

/* ---- a row ---- */
static void range_of(Low *l, Fibre *f, Val *slice)
{
    Buf *pos = lower_buf(l, B_POS, f->t, lower_level(l, f->t));
    f->lo = lower_let(l, sc_arena_printf(&l->p->arena, "%s_lo", f->t->name), lower_load_index(l, pos, slice));
    f->hi = lower_let(l, sc_arena_printf(&l->p->arena, "%s_hi", f->t->name),
                      lower_load_index(l, pos, plus(l, slice, num(l, 1))));
}

void slices_range(Low *l, Fibre *f)
{
    Val *row = lower_position(l, f->t), *width = num(l, level_of(l, f->t)->width);
    range_of(l, f, lower_let(l, "slice", op(l, O_DIV, row, width)));
}

/* What is stored of diagonal q: which it is (0), the bits of its rows (1). */
static Val *diagonal(Low *l, const Fibre *f, Val *q, int what)
{ return lower_load_index(l, f->crd, plus(l, times(l, q, num(l, 2)), num(l, what))); }

Val *slices_loop(Low *l, const Nest *n, const Fibre *f)
{
    Prog *p = l->p;
    Stmt **outer;
    Local *seen = n->rest ? lower_mut(l, "seen", num(l, 0)) : NULL;
    Val *row = lower_position(l, f->t), *width = num(l, level_of(l, f->t)->width);
    Val *lane = lower_let(l, "row", op(l, O_MOD, row, width)),
        *mine = lower_let(l, "mine", op(l, O_SHL, num(l, 1), lane));
    Val *q = val_local(p, lower_for(l, "q", f->lo, f->hi, 1, &outer)->local);
    Stmt *here = lower_put(l, S_IF);
    here->a = op(l, O_NE, op(l, O_AND, diagonal(l, f, q, 1), mine), num(l, 0));
    l->tail = &here->body;
    Val *c = lower_let(l, lower_index_name(l, n->ix), plus(l, diagonal(l, f, q, 0), row));
    if (seen) lower_set(l, seen, plus(l, val_local(p, seen), num(l, 1)));
    level_enter(l, f->t, lower_let(l, "p", plus(l, times(l, q, width), lane)), NULL);
    lower_bind(l, n->ix, c);
    lower_body(l, n->body);
    l->tail = outer;
    return seen ? val_local(p, seen) : NULL;
}

/* ---- a slice ---- */
bool slices_below(Low *l, const Nest *n)
{
    const int level = lower_level(l, n->in) + 1;
    return level < n->in->format.nlevel && sc_kind_of(&n->in->format.level[level])->sliced;
}

Slices slices_of(Low *l, const Nest *n, SlicesColumn *column, bool masked)
{
    Slices x = {.in = n->body->body, .t = n->in, .column = column, .masked = masked};
    x.sums = lane_of(l, n->body->work)->val;
    x.level = lower_level(l, n->in) + 1;
    x.reduce = work_reduce(n->body->body, n->body->work);
    x.width = n->in->format.level[x.level].width;
    x.lanes = (int)sc_min(l->p->vector_bytes / (int)sc_dtype_size(l->p->type), x.width);
    return x;
}

Val *slices_apart(Low *l, const Nest *n, Val *unit)
{
    const Env *save = lower_keep(l);
    batch_enter(l, n, unit);
    Val *at = lower_position(l, n->in);
    lower_back(l, save);
    return lower_let(l, "apart", op(l, O_SUB, at, unit));
}

/* Adds what column q of a slice has to the sums, each a vector of rows. */
static void add_column(Low *l, const Slices *x, const Fibre *f, Val *q, Local **sum)
{
    Prog *p = l->p;
    const Env *save = lower_keep(l);
    const int nmemo = l->nmemo;
    Fibre entries = *f;
    Val *bits;
    l->e.vec = (Vec){.on = true, .ix = x->in->ix, .lanes = x->lanes, .fibre = &entries};
    x->column(l, x, &entries, q, &bits);
    Expr *rhs = eval_absent(p, &x->in->body->eval, l->e.absent);
    lower_note(l, x->in->body);
    for (int k = 0; k < x->width / x->lanes; k++) {
        Val *old = val_local(p, sum[k]), *mine = k ? op(l, O_SHR, bits, num(l, k * x->lanes)) : bits;
        l->e.vec.off = k * x->lanes;
        if (x->masked) l->e.vec.bits = mine;
        Val *v = val_cast(p, old->type, lower_value(l, rhs)), *here = val_bits(p, x->lanes, mine);
        v = val_select(p, here, v, val_const(p, old->type, op_identity(x->reduce)));
        lower_set(l, sum[k], op(l, x->reduce, old, v));
    }
    l->nmemo = nmemo;
    lower_back(l, save);
}

void slices_sum(Low *l, const Slices *x, const Fibre *f, Val *to)
{
    Prog *p = l->p;
    const Type type = {(uint8_t)p->type, (uint8_t)x->lanes};
    const Address sums = {.buf = x->sums};
    Local *sum[16];
    Stmt **outer;
    for (int k = 0; k < x->width / x->lanes; k++)
        sum[k] = lower_mut(l, "sum", val_const(p, type, op_identity(x->reduce)));
    lower_note(l, x->in);
    Val *q = val_local(p, lower_for(l, "q", f->lo, f->hi, 1, &outer)->local);
    add_column(l, x, f, q, sum);
    l->tail = outer;
    for (int k = 0; k < x->width / x->lanes; k++)
        lower_store(l, &sums, plus(l, to, num(l, k * x->lanes)), O_CONST, val_local(p, sum[k]));
}

/* Where the rows of diagonal q have their coordinates and values. */
static void diagonal_at(Low *l, const Slices *x, Fibre *entries, Val *q, Val **bits)
{
    Val *at = lower_let(l, "at", plus(l, diagonal(l, entries, q, 0), lower_position(l, x->t)));
    *bits = lower_let(l, "rows", diagonal(l, entries, q, 1));
    entries->lo = lower_let(l, "ahead", op(l, O_SUB, times(l, q, num(l, x->width)), at));
    l->e.vec.at = at;
}

static void sum_slice(Low *l, const Slices *x, Val *slice, Val *to)
{
    const Env *save = lower_keep(l);
    Val *first = lower_let(l, "first", times(l, slice, num(l, x->width)));
    Fibre f = {.t = x->t, .crd = lower_buf(l, B_CRD, x->t, x->level), .unique = true};
    level_enter(l, x->t, first, NULL);
    range_of(l, &f, slice);
    slices_sum(l, x, &f, to);
    lower_back(l, save);
}

/* Rows that only assign numbers which lie side by side do so a vector at a time. */
static bool rows_suit(const Nest *loop)
{
    const Nest *n = loop->body->then;
    const sc_levelspec *s = &loop->in->format.level[nest_loop_level(loop)];
    if (n->op != N_EVAL || n->eval.reduce != O_CONST || sc_kind_of(s)->crd) return false;
    return expr_has_lanes(n->eval.lhs, loop->ix.var, NULL) && expr_has_lanes(n->eval.rhs, loop->ix.var, NULL);
}

static Val *sum_of(Low *l, const Sums *x, Val *u, int lanes)
{
    Val *at = op(l, O_SUB, u, x->first);
    if (!x->place) return val_load(l->p, x->buf, lanes, at, NULL);
    if (lanes == 1) return load(l, x->buf, lower_load_index(l, x->place, at));
    return val_pick(l->p, x->buf, lanes, num(l, 0), NULL, val_load(l->p, x->place, lanes, at, NULL));
}

/* So many rows at a time. */
static void take_some(Low *l, const Nest *loop, int lanes, Val *from, Val *to, const Sums *x)
{
    const Env *save = lower_keep(l);
    const int nmemo = l->nmemo;
    Batch b = {.loop = loop, .work = loop->body->work, .terms = x->buf};
    Stmt **outer;
    Val *u = val_local(l->p, lower_for(l, "u", from, to, lanes, &outer)->local);
    if (lanes > 1)
        l->e.vec = (Vec){.on = true, .ix = loop->ix, .at = u, .lanes = lanes, .rows = true};
    else
        batch_enter(l, loop, u);
    l->e.batch = &b;
    b.sum = lower_let(l, "sum", sum_of(l, x, u, lanes));
    lower_body(l, loop->body);
    l->tail = outer;
    l->nmemo = nmemo;
    lower_back(l, save);
}

void slices_take(Low *l, const Nest *loop, int lanes, Val *from, Val *to, const Sums *x)
{
    const bool again = l->e.again;
    Val *whole = from;
    if (rows_suit(loop)) {
        Val *rest = op(l, O_MOD, op(l, O_SUB, to, from), num(l, lanes));
        whole = lower_let(l, "whole", op(l, O_SUB, to, rest));
        take_some(l, loop, lanes, from, whole, x);
        l->e.again = true;
    }
    take_some(l, loop, 1, whole, to, x);
    l->e.again = again;
}

void slices_batch(Low *l, const Nest *n, Val *lo, Val *hi)
{
    Prog *p = l->p;
    const Slices x = slices_of(l, n, diagonal_at, true);
    Val *apart = slices_apart(l, n, lo), *width = num(l, x.width);
    Local *from = lower_mut(l, "from", lo);
    Stmt *loop = lower_put(l, S_WHILE), **outer = l->tail, **rows;
    Val *start = val_local(p, from);
    loop->a = op(l, O_LT, start, hi);
    l->tail = &loop->body;
    Val *slice = lower_let(l, "slice", op(l, O_DIV, plus(l, start, apart), width));
    Val *first = lower_let(l, "first", op(l, O_SUB, times(l, slice, width), apart));
    Val *end = lower_let(l, "end", op(l, O_MIN, hi, plus(l, first, num(l, SLICES))));
    Val *count = lower_let(l, "count", op(l, O_SUB, end, first));
    lower_remark(l, "the sums of whole slices, a lane each row");
    Val *at = val_local(p, lower_for(l, "at", num(l, 0), count, x.width, &rows)->local);
    sum_slice(l, &x, lower_let(l, "s", plus(l, slice, op(l, O_DIV, at, width))), at);
    l->tail = rows;
    slices_take(l, n, x.lanes, start, end, &(Sums){.buf = x.sums, .first = first});
    lower_set(l, from, end);
    l->tail = outer;
}

/* sell.c: levels of slices whose rows are sorted by length (SELL-C-sigma: Kreutzer, Hager, Wellein, Fehske, Bishop, 2014).
 *
 * A row is looked up by its place, which says in which slice it is and in which lane of it. Where rows only sum their
 * entries, a window is taken at a time: its slices in order, a lane each row, so what is read of the tensor is read as it
 * lies, and rows of one length end together. The sums go to memory of the lane, from where the rows take them by their
 * places. In columns of slots that only some rows of a slice have, the lanes of the others add nothing. */
#include "private.h"

static const sc_levelspec *level_of(Low *l, const Tensor *t) { return &t->format.level[lower_level(l, t)]; }

static Val *op(Low *l, Op o, Val *a, Val *b) { return val_op(l->p, o, a, b); }

/* What pos holds of a window begins at `at`: where the columns of slice k begin and end. */
static void columns(Low *l, Fibre *f, int level, Val *at, Val *k)
{
    Buf *pos = lower_buf(l, B_POS, f->t, level);
    Val *begin = plus(l, at, k);
    f->lo = lower_let(l, sc_arena_printf(&l->p->arena, "%s_lo", f->t->name), lower_load_index(l, pos, begin));
    f->hi = lower_let(l, sc_arena_printf(&l->p->arena, "%s_hi", f->t->name),
                      lower_load_index(l, pos, plus(l, begin, num(l, 1))));
}

/* Where crd holds column q, and a bit for every row of the slice that has it. */
static Val *column_at(Low *l, int width, Val *q) { return times(l, q, num(l, width + 1)); }

static Val *rows_of(Low *l, const Fibre *f, int width, Val *q)
{ return lower_load_index(l, f->crd, column_at(l, width, q)); }

/* ---- a row ---- */
void sell_range(Low *l, Fibre *f)
{
    const int level = lower_level(l, f->t);
    const sc_levelspec *s = level_of(l, f->t);
    Val *row = lower_position(l, f->t), *rows = num(l, s->block), *width = num(l, s->width);
    Val *at = lower_let(l, "window", times(l, op(l, O_DIV, row, rows), num(l, sc_window_step(s))));
    Val *mine = plus(l, at, plus(l, op(l, O_MOD, row, rows), num(l, s->block / s->width + 1)));
    f->place = lower_let(l, "place", lower_load_index(l, lower_buf(l, B_POS, f->t, level), mine));
    columns(l, f, level, at, op(l, O_DIV, f->place, width));
}

Val *sell_loop(Low *l, const Nest *n, const Fibre *f)
{
    Prog *p = l->p;
    Stmt **outer;
    Local *seen = n->rest ? lower_mut(l, "seen", num(l, 0)) : NULL;
    Val *width = num(l, level_of(l, f->t)->width);
    Val *lane = lower_let(l, "row", op(l, O_MOD, f->place, width));
    Val *mine = lower_let(l, "mine", op(l, O_SHL, num(l, 1), lane));
    Val *q = val_local(p, lower_for(l, "q", f->lo, f->hi, 1, &outer)->local);
    Stmt *here = lower_put(l, S_IF);
    here->a = op(l, O_NE, op(l, O_AND, rows_of(l, f, level_of(l, f->t)->width, q), mine), num(l, 0));
    l->tail = &here->body;
    Val *at = plus(l, column_at(l, level_of(l, f->t)->width, q), plus(l, lane, num(l, 1)));
    Val *c = lower_let(l, lower_index_name(l, n->ix), lower_load_index(l, f->crd, at));
    if (seen) lower_set(l, seen, plus(l, val_local(p, seen), num(l, 1)));
    level_enter(l, f->t, lower_let(l, "p", plus(l, times(l, q, width), lane)), NULL);
    lower_bind(l, n->ix, c);
    lower_body(l, n->body);
    l->tail = outer;
    return seen ? val_local(p, seen) : NULL;
}

/* ---- a window ---- */
/* Where the rows of column q have their coordinates and values; those that have none read at coordinate 0. */
static void column_of(Low *l, const Slices *x, Fibre *entries, Val *q, Val **bits)
{
    *bits = lower_let(l, "rows", rows_of(l, entries, x->width, q));
    entries->lo = lower_let(l, "p", times(l, q, num(l, x->width)));
    l->e.vec.at = num(l, 0);
    l->e.vec.coords = lower_let(l, "at", plus(l, column_at(l, x->width, q), num(l, 1)));
}

static void sum_slice(Low *l, const Slices *x, Val *at, Val *k)
{
    const Env *save = lower_keep(l);
    Fibre f = {.t = x->t, .crd = lower_buf(l, B_CRD, x->t, x->level), .unique = true};
    level_enter(l, x->t, num(l, 0), NULL); /* what is added does not depend on the row */
    columns(l, &f, x->level, at, k);
    slices_sum(l, x, &f, times(l, k, num(l, x->width)));
    lower_back(l, save);
}

void sell_batch(Low *l, const Nest *n, Val *lo, Val *hi)
{
    Prog *p = l->p;
    const Slices x = slices_of(l, n, column_of, false);
    const sc_levelspec *s = &n->in->format.level[x.level];
    Val *apart = slices_apart(l, n, lo), *rows = num(l, s->block), *slices = num(l, s->block / s->width);
    Local *from = lower_mut(l, "from", lo);
    Stmt *loop = lower_put(l, S_WHILE), **outer = l->tail, **inner;
    Val *start = val_local(p, from);
    loop->a = op(l, O_LT, start, hi);
    l->tail = &loop->body;
    Val *window = lower_let(l, "window", op(l, O_DIV, plus(l, start, apart), rows));
    Val *at = lower_let(l, "at", times(l, window, num(l, sc_window_step(s))));
    Val *first = lower_let(l, "first", op(l, O_SUB, times(l, window, rows), apart));
    Val *end = lower_let(l, "end", op(l, O_MIN, hi, plus(l, first, rows)));
    lower_remark(l, "the sums of a window's slices, a lane each row");
    Val *k = val_local(p, lower_for(l, "s", num(l, 0), slices, 1, &inner)->local);
    sum_slice(l, &x, at, k);
    l->tail = inner;
    Sums sums = {.buf = x.sums, .place = lower_buf(l, B_POS, x.t, x.level)};
    sums.first = lower_let(l, "before", op(l, O_SUB, first, plus(l, at, plus(l, slices, num(l, 1)))));
    slices_take(l, n, x.lanes, start, end, &sums);
    lower_set(l, from, end);
    l->tail = outer;
}

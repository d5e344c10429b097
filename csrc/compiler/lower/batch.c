/* batch.c: rows summed in batches.
 *
 * Where each row sums a few entries, processors mispredict the end of most rows. So the terms of several rows are
 * computed first, in one loop over all their entries, into memory of the lane; then every row is a piece of that
 * memory, which vectors add up, the lanes beyond its end masked out. As many rows are taken as their terms fit there;
 * a row with more terms than fit is summed as if there were no batches. So how a row is summed depends on its length
 * alone. A unit is what the loop counts for a row: a coordinate or a position. */
#include "private.h"

#define TOGETHER 4 /* units whose vectors are added up across lanes in the same steps */

/* Lanes of the vectors that rows are summed in: half as many where few rows would fill half of those. */
static int term_lanes(Low *l, const Batch *b)
{
    const Tensor *t = b->loop->in;
    const int level = lower_level(l, t), most = l->p->vector_bytes / (int)sc_dtype_size(b->work->dtype);
    const int row = (int)sc_max(t->positions[level + 1] - t->positions[level], 0); /* log2 of its entries */
    if (t->skew || !t->positions[level + 1]) return most;
    return (t->even ? 4 : 8) << row <= most ? most / 2 : most;
}

bool batch_wanted(Low *l, const Nest *n)
{
    if (!n->batch || l->mode != BODY || l->e.blend) return false;
    const Nest *in = n->body->body;
    return !lower_index(l, in->ix) && eval_absent(l->p, &in->body->eval, l->e.absent);
}

/* ---- units ---- */
/* Unit u of the loop becomes known: a coordinate, or a position whose coordinate is loaded. */
void batch_enter(Low *l, const Nest *n, Val *u)
{
    const Tensor *t = n->in;
    const int level = lower_level(l, t);
    if (sc_kind_of(&t->format.level[level])->crd) {
        level_enter(l, t, u, NULL);
        u = lower_let(l, lower_index_name(l, n->ix), lower_load_index(l, lower_buf(l, B_CRD, t, level), u));
    }
    lower_bind(l, n->ix, u);
}

/* Where the entries of unit u begin. */
static Val *begins(Low *l, const Nest *n, Val *u)
{
    const Tensor *t = n->in;
    const Env *save = lower_keep(l);
    const int level = lower_level(l, t);
    if (!sc_kind_of(&t->format.level[level])->crd) {
        lower_bind(l, n->ix, u);
        u = lower_where(l, t)->pos[level + 1];
        lower_back(l, save);
    }
    return lower_load_index(l, lower_buf(l, B_POS, t, level + 1), u);
}

/* ---- terms ---- */
/* Those that were computed. A store between them would keep compilers from making vectors, as they cannot know that it
 * changes nothing which is read there. */
static void store_terms(Low *l, const Batch *b)
{
    const Address to = {.buf = b->terms};
    for (int u = 0; u < b->nterm; u++) lower_store(l, &to, b->term[u].at, O_CONST, b->term[u].value);
}

/* Computes the terms of the `count` entries from p on, then stores them. */
static void some_entries(Low *l, Batch *b, const Fibre *f, Val *p, int count)
{
    const Env *save = lower_keep(l);
    b->nterm = 0;
    for (int u = 0; u < count; u++) {
        lower_back(l, save);
        l->e.batch = b;
        l->e.again |= u > 0;
        level_at_position(l, b->loop->body->body, f, plus(l, p, num(l, u)), NULL);
    }
    store_terms(l, b);
    lower_back(l, save);
}

/* Numbers of 16 bits are hard to put together in a vector. */
static bool is_wide(const Expr *e)
{
    if (e->op == O_ACCESS) return sc_dtype_size(e->tensor->dtype) >= 4;
    return (!e->kid[0] || is_wide(e->kid[0])) && (!e->kid[1] || is_wide(e->kid[1]));
}

static bool vectors_suit(const Nest *entries)
{
    Nest loop = *entries;
    loop.unroll = 0;
    return loop.body->op == N_EVAL && nest_vector_picks(&loop) && !nest_vector_refused(&loop) &&
           is_wide(loop.body->eval.rhs);
}

/* The same as vectors, which take fewer loads of entries and fewer stores. */
static void some_vectors(Low *l, Batch *b, const Fibre *f, Val *p)
{
    const Env *save = lower_keep(l);
    const Nest *entries = b->loop->body->body;
    const int lanes = prog_picked_lanes(l->p), nmemo = l->nmemo;
    const Fibre from = {.t = f->t, .crd = f->crd, .lo = p};
    l->e.batch = b;
    l->e.vec = (Vec){.on = true, .ix = entries->ix, .at = num(l, 0), .lanes = lanes, .fibre = &from};
    lower_note(l, entries->body);
    b->nterm = 0;
    for (; l->e.vec.off < MAXTERM; l->e.vec.off += lanes) lower_eval(l, entries->body);
    store_terms(l, b);
    l->nmemo = nmemo;
    lower_back(l, save);
}

/* Computes the terms of the entries [first, last), whatever units they belong to. */
static void all_entries(Low *l, Batch *b, Val *last)
{
    Prog *p = l->p;
    const Tensor *t = b->loop->in;
    const Env *save = lower_keep(l);
    level_enter(l, t, NULL, NULL);
    const Fibre f = {.t = t, .crd = lower_buf(l, B_CRD, t, lower_level(l, t))};
    Val *rest = val_op(p, O_MOD, val_op(p, O_SUB, last, b->first), num(l, MAXTERM));
    Val *whole = lower_let(l, "whole", val_op(p, O_SUB, last, rest));
    Stmt **outer;
    lower_remark(l, "what the entries of all units add");
    Val *at = val_local(p, lower_for(l, "p", b->first, whole, MAXTERM, &outer)->local);
    if (vectors_suit(b->loop->body->body))
        some_vectors(l, b, &f, at);
    else
        some_entries(l, b, &f, at, MAXTERM);
    l->tail = outer;
    l->e.again = true;
    some_entries(l, b, &f, val_local(p, lower_for(l, "p", whole, last, 1, &outer)->local), 1);
    l->tail = outer;
    lower_back(l, save);
}

/* ---- sums ---- */
static Val *some_terms(Low *l, const Batch *b, Op op, Val *at, Val *n)
{
    const int k = b->lanes;
    Val *v = val_load(l->p, b->terms, k, at, NULL);
    return val_select(l->p, val_first(l->p, k, n), v, val_const(l->p, v->type, op_identity(op)));
}

/* The n terms from `at` on, added up lane by lane into one vector. */
static Val *summed(Low *l, const Batch *b, Op op, Val *at, Val *n)
{
    Prog *p = l->p;
    const int k = b->lanes;
    Local *sum = lower_mut(l, "sum", some_terms(l, b, op, at, n));
    Stmt **outer;
    Val *q = val_local(p, lower_for(l, "q", num(l, k), n, k, &outer)->local);
    Val *more = some_terms(l, b, op, plus(l, at, q), val_op(p, O_SUB, n, q));
    lower_set(l, sum, val_op(p, op, val_local(p, sum), more));
    l->tail = outer;
    return val_local(p, sum);
}

static Val *neighbours(Low *l, Op op, Val *a, Val *b)
{
    Prog *p = l->p;
    return lower_let(l, "pairs", val_op(p, op, val_op(p, O_EVEN, a, b), val_op(p, O_ODD, a, b)));
}

/* The lanes of each of n vectors added up, neighbours first: the sums stand in the first lanes. */
static Val *across(Low *l, Op op, Val **v, int n)
{
    int left = v[0]->type.lanes / n;
    for (; n > 1; n /= 2)
        for (int k = 0; k < n / 2; k++) v[k] = neighbours(l, op, v[2 * k], v[2 * k + 1]);
    for (; left > 1; left /= 2) v[0] = neighbours(l, op, v[0], v[0]);
    return v[0];
}

/* Enters unit u: its terms, added up lane by lane into one vector. */
static Val *unit_terms(Low *l, Batch *b, Op op, Val *u)
{
    const Tensor *t = b->loop->in;
    batch_enter(l, b->loop, u);
    Buf *pos = lower_buf(l, B_POS, t, lower_level(l, t));
    Val *unit = lower_position(l, t);
    Val *from = val_load(l->p, pos, 1, unit, NULL),
        *to = val_load(l->p, pos, 1, plus(l, unit, num(l, 1)), NULL);
    Val *at = lower_let(l, "at", val_op(l->p, O_SUB, val_cast(l->p, I64, from), b->first));
    Val *count = lower_let(l, "count",
                           val_op(l->p, O_SUB, to, from)); /* in the type of positions: cheaper to compare */
    b->count = val_cast(l->p, I64, count);
    return summed(l, b, op, at, b->count);
}

/* What is done with the sum of the unit that env has entered, the k-th of several. */
static void put_sum(Low *l, Batch *b, const Env *env, int k, Val *sum, Val *count)
{
    Stmt **outer = lower_block(l);
    lower_back(l, env);
    l->e.batch = b;
    l->e.again |= k > 0;
    b->sum = sum;
    b->count = count;
    lower_body(l, b->loop->body);
    b->sum = NULL;
    l->tail = outer;
}

/* n units from u on. Adding up n vectors across lanes takes fewer steps together, and each sum keeps its order. */
static void units(Low *l, Batch *b, Val *u, int n)
{
    const Env *save = lower_keep(l);
    const Op op = work_reduce(b->loop->body->body, b->work);
    const Env *env[TOGETHER];
    Val *v[TOGETHER] = {0}, *count[TOGETHER];
    for (int k = 0; k < n; k++) {
        v[k] = unit_terms(l, b, op, plus(l, u, num(l, k)));
        count[k] = b->count;
        env[k] = lower_keep(l);
        lower_back(l, save);
    }
    Val *sums = across(l, op, v, n);
    for (int k = 0; k < n; k++) put_sum(l, b, env[k], k, val_lane(l->p, sums, k), count[k]);
    lower_back(l, save);
}

/* n units from u on that have no entries. */
static void empty_units(Low *l, Batch *b, Val *u, int n)
{
    const Env *save = lower_keep(l);
    const Op op = work_reduce(b->loop->body->body, b->work);
    Val *none = val_const(l->p, (Type){(uint8_t)b->work->dtype, 1}, op_identity(op));
    for (int k = 0; k < n; k++) {
        lower_back(l, save);
        batch_enter(l, b->loop, plus(l, u, num(l, k)));
        put_sum(l, b, lower_keep(l), k, none, num(l, 0));
    }
    lower_back(l, save);
}

/* Where most rows are empty most of n neighbours are together: it pays to look first. */
static bool empty_suit(Low *l, const Nest *n)
{
    const Tensor *t = n->in;
    const int level = lower_level(l, t);
    return !sc_kind_of(&t->format.level[level])->crd && tensor_short_fibres(t, level + 1, 1);
}

static void some_units(Low *l, Batch *b, Val *u, int n)
{
    if (!empty_suit(l, b->loop)) {
        units(l, b, u, n);
        return;
    }
    Stmt *s = lower_put(l, S_IF), **outer = l->tail;
    s->a = val_op(l->p, O_EQ, begins(l, b->loop, u), begins(l, b->loop, plus(l, u, num(l, n))));
    l->tail = &s->body;
    empty_units(l, b, u, n);
    l->tail = &s->other;
    units(l, b, u, n);
    l->tail = outer;
}

static void all_units(Low *l, Batch *b, Val *first, Val *end)
{
    Prog *p = l->p;
    const Nest *n = b->loop;
    const char *name =
        lower_level(l, n->in) || sc_kind_of(&n->in->format.level[0])->crd ? "p" : lower_index_name(l, n->ix);
    const int k = b->lanes < TOGETHER ? b->lanes : TOGETHER;
    Val *rest = val_op(p, O_MOD, val_op(p, O_SUB, end, first), num(l, k));
    Val *whole = lower_let(l, "whole", val_op(p, O_SUB, end, rest));
    Stmt **outer;
    lower_remark(l, sc_arena_printf(&p->arena, "%d units at a time, each in a vector", k));
    some_units(l, b, val_local(p, lower_for(l, name, first, whole, k, &outer)->local), k);
    l->tail = outer;
    const bool again = l->e.again;
    l->e.again = true;
    units(l, b, val_local(p, lower_for(l, name, whole, end, 1, &outer)->local), 1);
    l->e.again = again;
    l->tail = outer;
}

/* Where `to` is still `from`, that unit alone has more entries than there is memory for: no batch takes it. */
static void long_unit(Low *l, const Nest *n, Val *from, Local *to)
{
    const Env *save = lower_keep(l);
    Stmt *s = lower_put(l, S_IF), **outer = l->tail;
    s->a = val_op(l->p, O_EQ, val_local(l->p, to), from);
    l->tail = &s->body;
    lower_remark(l, "a unit of too many entries, alone");
    batch_enter(l, n, from);
    lower_body(l, n->body);
    lower_back(l, save);
    lower_set(l, to, plus(l, from, num(l, 1)));
    l->tail = outer;
}

void batch_lower(Low *l, const Nest *n, Val *lo, Val *hi)
{
    Prog *p = l->p;
    const Tensor *t = n->in;
    if (slices_below(l, n)) {
        const bool sorted = sc_kind_of(&t->format.level[lower_level(l, t) + 1])->sorted;
        (sorted ? sell_batch : slices_batch)(l, n, lo, hi);
        return;
    }
    Batch b = {.loop = n, .work = n->body->work, .terms = lane_of(l, n->body->work)->val};
    b.lanes = term_lanes(l, &b);
    Local *from = lower_mut(l, "from", lo);
    Val *start = val_local(p, from);
    Stmt *loop = lower_put(l, S_WHILE), **outer = l->tail, **inner;
    loop->a = val_op(p, O_LT, start, hi);
    l->tail = &loop->body;
    b.first = lower_let(l, sc_arena_printf(&p->arena, "%s_first", t->name), begins(l, n, start));
    Local *to = lower_mut(l, "to", val_op(p, O_MIN, plus(l, start, num(l, n->batch)), hi));
    Val *end = val_local(p, to), *most = num(l, batch_most_terms(b.work));
    Stmt *fit = lower_put(l, S_WHILE);
    fit->a = val_op(p, O_LT, most, val_op(p, O_SUB, begins(l, n, end), b.first));
    inner = l->tail;
    l->tail = &fit->body;
    lower_set(l, to, plus(l, start, val_op(p, O_DIV, val_op(p, O_SUB, end, start), num(l, 2))));
    l->tail = inner;
    all_entries(l, &b, lower_let(l, sc_arena_printf(&p->arena, "%s_last", t->name), begins(l, n, end)));
    all_units(l, &b, start, end);
    long_unit(l, n, start, to);
    lower_set(l, from, end);
    l->tail = outer;
}

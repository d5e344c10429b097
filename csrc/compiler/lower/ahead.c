/* ahead.c: prefetches rows of dense operands.
 *
 * A loop over positions reads, at every coordinate, a row of a dense operand, and a value. Where the operand is larger
 * than the caches each row is a wait for memory, unless it is prefetched. The position ahead is the last one of the
 * level at most, so only addresses of the operand are prefetched. */
#include <math.h>

#include "private.h"

#define LINE 64 /* bytes of a cache line */

typedef struct {
    Low *l;
    const Nest *loop;
    int level;             /* of its tensor */
    uint32_t binds;        /* the indices that an entry has */
    Val *pos;              /* the position ahead */
    Val *coord[SC_MAXVAR]; /* its coordinates, once something needs them */
    const Expr *seen[8];
    int n;
    Index along; /* of the loop inside */
} Ahead;

static Val *coordinate(Ahead *a, int var)
{
    Low *l = a->l;
    const Tensor *t = a->loop->in;
    int level = a->level;
    while (tensor_level_index(t, level).var != var) level++;
    if (!a->coord[var])
        a->coord[var] = lower_let(l, "ahead", lower_load_index(l, lower_buf(l, B_CRD, t, level), a->pos));
    return a->coord[var];
}

/* Where along a row the loop inside begins; a workspace may have just that piece of it. */
static Val *row_start(const Ahead *a, Index ix)
{
    const bool piece = a->along.part == SC_MOD && ix.part == SC_WHOLE;
    return piece ? a->l->e.coord[ix.var].base : num(a->l, 0);
}

/* Where the piece of the row starts that the loop inside runs over. */
static Val *start(Ahead *a, const Expr *e)
{
    Low *l = a->l;
    const Tensor *t = e->tensor;
    Val *at = num(l, 0);
    for (int d = 0; d < t->ndim; d++) {
        const int var = e->ix[d].var;
        Val *x = var == a->along.var   ? row_start(a, e->ix[d])
                 : a->binds >> var & 1 ? coordinate(a, var)
                                       : lower_index(l, e->ix[d]);
        if (!x) return NULL;
        at = plus(l, at, times(l, x, lower_stride(l, t, d)));
    }
    return at;
}

void ahead_values(Low *l, const Tensor *t, Val *at, int64_t n)
{
    const int64_t each = LINE / (int64_t)sc_dtype_size(t->dtype);
    for (int64_t k = 0; k < n && k < MAXLINES * each; k += each) {
        Stmt *s = lower_put(l, S_FETCH);
        s->buf = t->role == T_WORK ? work_buf(l, t) : lower_buf(l, B_VAL, t, 0);
        s->a = plus(l, at, num(l, k));
    }
}

static void prefetch(Ahead *a, const Expr *e)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) prefetch(a, e->kid[k]);
    if (!expr_reads_row(e, a->binds, a->along.var) || a->n == SC_LEN(a->seen)) return;
    for (int k = 0; k < a->n; k++)
        if (a->seen[k]->tensor == e->tensor) return;
    a->seen[a->n++] = e;
    Low *l = a->l;
    const int64_t extent = lower_const_extent(l, &a->along);
    if (extent < 0) return;
    Val *at = start(a, e);
    if (!at) return;
    ahead_values(l, e->tensor, lower_let(l, "row", at), extent);
}

static void read_along(const Nest *n, void *ctx)
{
    if (n->op == N_EVAL) prefetch(ctx, n->eval.rhs);
}

static void look(const Nest *n, void *ctx)
{
    Ahead *a = ctx;
    if (!nest_runs_along(n)) return;
    a->along = n->ix;
    nest_walk(n->body, read_along, a);
}

/* Whether near caches do not hold the values. */
static bool far_values(const Tensor *t)
{ return ldexp((double)sc_dtype_size(t->dtype), t->positions[t->format.nlevel - 1]) > PROG_NEAR; }

/* The rows of a row of blocks lie one after the other, each too short for processors to foresee: fetches what the next row
 * of blocks, if it has as many, has in the place of the entry at pos. */
void ahead_planes(Low *l, const Tensor *t, Val *pos)
{
    const Where *w = lower_where(l, t);
    const int level = lower_level(l, t), last = t->format.nlevel - 1;
    if (level >= last || !sc_kind_of(&t->format.level[level + 1])->planar || !w->first || counting(l)) return;
    if (lower_index(l, tensor_level_index(t, level + 1))) return; /* one row is walked by itself */
    if (!far_values(t)) return;
    int64_t block = 1;
    for (int k = level + 1; k <= last; k++) block *= t->format.level[k].block;
    Val *next = plus(l, pos, val_op(l->p, O_SUB, w->beyond, w->first));
    next = val_op(l->p, O_MIN, next, ahead_last(l, t, level));
    ahead_values(l, t, lower_let(l, "next", times(l, next, num(l, block))), block);
}

Val *ahead_last(Low *l, const Tensor *t, int level)
{
    const char *name = sc_arena_printf(&l->p->arena, "%s_npos%d", t->name, level);
    return val_op(l->p, O_SUB, val_param(l->p, module_param(l->p, P_NPOS, t->arg, level, name)), num(l, 1));
}

/* Values that lie in another order are as far apart as rows are. */
static void prefetch_value(Low *l, const Tensor *t, Val *pos)
{ ahead_values(l, t, lower_let(l, "value", lower_value_place(l, t, pos)), 1); }

void ahead_fetch(Low *l, const Nest *n, Val *pos)
{
    if (n->ix.part != SC_WHOLE) return;
    Prog *p = l->p;
    const int turns = n->by ? n->by : 1;
    const int level = nest_loop_level(n); /* the loop may be inside of one over a level below */
    Val *last = ahead_last(l, n->in, level);
    for (int u = 0; u < turns; u++) {
        Ahead a = {.l = l, .loop = n, .level = level, .binds = nest_binds(n)};
        a.pos = val_op(p, O_MIN, plus(l, pos, num(l, n->ahead + u)), last);
        if (n->by) a.pos = lower_let(l, "next", a.pos);
        nest_walk(n->body, look, &a);
        if (n->in->perm && level == n->in->format.nlevel - 1 && far_values(n->in))
            prefetch_value(l, n->in, a.pos);
    }
}

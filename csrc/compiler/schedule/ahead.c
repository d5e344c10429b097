/* ahead.c: which loops prefetch rows.
 *
 * requires  a nest; sets `ahead` of loops
 *
 * A loop over the entries of an operand inside of which a loop runs along rows of a dense operand, chosen by the
 * entries, waits for memory at each of them if the operand, or a panel of it, is larger than the caches. A loop that takes few, N, at a
 * time asks for the rows of the next N. Others ask the earlier, the shorter the rows are, as an entry takes less time: as far
 * ahead as a part of the first cache holds, and twice as far where the last cache does not hold the operand. Extents count in
 * powers of two, so that a new batch size seldom makes a new kernel. */
#include "private.h"

enum { LEAST = 16, MOST = 32, NEXT = 16 << 10 }; /* entries; bytes of the rows that were asked for */

typedef struct {
    const Prog *p;
    const Nest *entries;          /* the loop */
    const Nest *along[SC_MAXVAR]; /* the innermost loop around that runs along the index */
    bool asked;                   /* the user asked for it, whatever the operand's size */
    int64_t ahead;                /* entries, of the row that allows fewest; 0: none is prefetched */
} Rows;

/* Where a row is cut into more than two tiles of vectors, prefetching comes too late; those of a panel are as long as a
 * tile. */
static bool in_time(const Prog *p, const Nest *loop, const Tensor *t)
{
    const Index along = loop->ix;
    return t->role == T_WORK || loop->kind != L_VEC || along.part != SC_MOD ||
           schedule_bucket(p->var[along.var].extent) <= 2 * (int64_t)along.block;
}

/* Entries ahead at which the rows of an access are asked for. */
static int64_t distance(const Prog *p, Index along, const Expr *e)
{
    const int64_t extent = schedule_bucket(p->var[along.var].extent),
                  row = along.part == SC_MOD ? sc_min(extent, along.block) : extent,
                  most = schedule_bytes(p, e, e->tensor->dtype) > machine_cache(p, 2) ? 2 * MOST : MOST,
                  bytes = sc_min(row, NEXT) * (int64_t)sc_dtype_size(e->tensor->dtype);
    return sc_max(LEAST, sc_min(most, NEXT / bytes));
}

static void look_expr(const Expr *e, Rows *r)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) look_expr(e->kid[k], r);
    const int v = e->op == O_ACCESS ? expr_runs_along(e) : -1;
    const Nest *along = v < 0 ? NULL : r->along[v];
    if (!along || !expr_reads_row(e, nest_binds(r->entries), v)) return;
    const bool far = schedule_bytes(r->p, e, e->tensor->dtype) > PROG_NEAR && in_time(r->p, along, e->tensor);
    if (!r->asked && !far) return;
    const int64_t ahead = distance(r->p, along->ix, e);
    r->ahead = r->ahead ? sc_min(r->ahead, ahead) : ahead;
}

/* What is read below n, with no other loop over entries between. */
static void look(const Nest *n, Rows *r)
{
    if (n->op == N_LOOP && (n->nmerge || (n->in && (!r->entries->by || n->in != r->entries->in)))) return;
    const bool runs = nest_runs_along(n);
    const Nest *around = runs ? r->along[n->ix.var] : NULL;
    if (runs) r->along[n->ix.var] = n;
    if (n->op == N_EVAL) look_expr(n->eval.rhs, r);
    if (n->body) look(n->body, r);
    if (n->then) look(n->then, r);
    for (int k = 0; k < n->n; k++) look(n->kid[k], r);
    if (runs) r->along[n->ix.var] = around;
}

static bool walks_entries(const Nest *n)
{
    if (n->op != N_LOOP || n->kind != L_FOR || !n->in || n->in->role != T_IN) return false;
    if (n->ix.part != SC_WHOLE) return false;
    for (int k = 0; k < n->in->format.nlevel; k++) {
        const sc_levelspec *v = &n->in->format.level[k];
        if (n->in->dimvar[v->dim] == n->ix.var)
            return (sc_kind_of(v)->pos || sc_kind_of(v)->one) && (v->unique || n->by);
    }
    return false;
}

void schedule_ahead(const Prog *p, Nest *n)
{
    if (p->nofold && !p->ahead) return; /* one text serves every extent */
    if (walks_entries(n)) {
        Rows r = {.p = p, .entries = n, .asked = p->ahead};
        look(n->body, &r);
        if (r.ahead && n->by <= LEAST) n->ahead = p->ahead ? p->ahead - 1 : n->by ? n->by : (int)r.ahead;
    }
    if (n->body) schedule_ahead(p, n->body);
    if (n->then) schedule_ahead(p, n->then);
    for (int k = 0; k < n->n; k++) schedule_ahead(p, n->kid[k]);
}

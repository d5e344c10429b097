/* ahead.c: which loops prefetch rows.
 *
 * requires  a nest; sets `ahead` of loops
 *
 * A loop over the entries of an operand inside of which a loop runs along rows of a dense operand, chosen by the
 * entries, waits for memory at each of them if the operand is larger than the caches. A loop that takes N of them at a
 * time asks for the rows of the next N. Extents count in powers of two, so that a new batch size seldom makes a new
 * kernel. */
#include "private.h"

#define CACHED_BYTES (4 << 20)
#define AHEAD 16 /* entries: about the time that memory takes */

typedef struct {
    const Prog *p;
    const Nest *entries; /* the loop */
    const Nest *along;   /* a dense loop inside */
    bool asked;          /* the user asked for it, whatever the operand's size */
    bool far;            /* some row is prefetched */
} Rows;

static int64_t bytes_of(const Tensor *t)
{
    int64_t bytes = (int64_t)sc_dtype_size(t->dtype);
    for (int d = 0; d < t->ndim; d++) {
        if (!sc_mul(bytes, schedule_bucket(t->extent[d]), &bytes)) return INT64_MAX;
    }
    return bytes;
}

/* Where a row is cut into more than two tiles of vectors, prefetching comes too late. */
static bool in_time(const Prog *p, const Nest *loop)
{
    const Index along = loop->ix;
    return loop->kind != L_VEC || along.part != SC_MOD ||
           schedule_bucket(p->var[along.var].extent) <= 2 * (int64_t)along.block;
}

static void look_expr(const Expr *e, Rows *r)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) look_expr(e->kid[k], r);
    if (!expr_reads_row(e, nest_binds(r->entries), r->along->ix.var)) return;
    if (r->asked || (bytes_of(e->tensor) > CACHED_BYTES && in_time(r->p, r->along))) r->far = true;
}

static bool other_entries(const Nest *n, const Rows *r)
{ return n->nmerge || (n->in && (!r->entries->by || n->in != r->entries->in)); }

/* What is read in a dense loop, with no other loop over entries between. */
static void look_inside(const Nest *n, Rows *r)
{
    if (n->op == N_LOOP && other_entries(n, r)) return;
    if (n->op == N_EVAL) look_expr(n->eval.rhs, r);
    if (n->body) look_inside(n->body, r);
    if (n->then) look_inside(n->then, r);
    for (int k = 0; k < n->n; k++) look_inside(n->kid[k], r);
}

static void look(const Nest *n, Rows *r)
{
    if (n->op == N_LOOP && other_entries(n, r)) return;
    if (n->op == N_LOOP && !n->in) {
        r->along = n;
        look_inside(n->body, r);
    }
    if (n->body) look(n->body, r);
    if (n->then) look(n->then, r);
    for (int k = 0; k < n->n; k++) look(n->kid[k], r);
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
        if (r.far) n->ahead = p->ahead ? p->ahead - 1 : n->by ? n->by : AHEAD;
    }
    if (n->body) schedule_ahead(p, n->body);
    if (n->then) schedule_ahead(p, n->then);
    for (int k = 0; k < n->n; k++) schedule_ahead(p, n->kid[k]);
}

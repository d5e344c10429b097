/* ahead.c: which loops prefetch rows.
 *
 * requires  a nest; sets `ahead` of loops
 *
 * A loop over the entries of an operand whose vector loop runs along rows of a dense operand, chosen by the
 * entries, waits for memory at each of them if the operand is larger than the caches. Extents count in powers of
 * two, so that a new batch size seldom makes a new kernel. */
#include "private.h"

#define CACHED_BYTES (4 << 20)
#define AHEAD 16 /* entries: about the time that memory takes */

typedef struct {
    const Prog *p;
    int var;     /* the index of the loop */
    Index along; /* with `vec`: the index of the vector loop inside */
    bool vec;
    bool asked; /* the user asked for it, whatever the operand's size */
    bool far;   /* some row is prefetched */
} Rows;

static int64_t bytes_of(const Tensor *t)
{
    int64_t bytes = (int64_t)sc_dtype_size(t->dtype);
    for (int d = 0; d < t->ndim; d++) {
        if (!sc_mul(bytes, schedule_bucket(t->extent[d]), &bytes)) return INT64_MAX;
    }
    return bytes;
}

/* Where a row is cut into more than two tiles, prefetching comes too late. */
static bool few_tiles(const Prog *p, Index along)
{ return along.part != SC_MOD || schedule_bucket(p->var[along.var].extent) <= 2 * (int64_t)along.block; }

static void look_expr(const Expr *e, Rows *r)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) look_expr(e->kid[k], r);
    if (!expr_reads_row(e, r->var, r->along.var)) return;
    if (r->asked || (bytes_of(e->tensor) > CACHED_BYTES && few_tiles(r->p, r->along))) r->far = true;
}

/* Vector loops below n, with no other loop over entries between. */
static void look(const Nest *n, Rows *r)
{
    if (n->op == N_LOOP && (n->in || n->nmerge)) return;
    if (n->op == N_LOOP && n->kind == L_VEC) r->along = n->ix, r->vec = true;
    if (n->op == N_EVAL && r->vec) look_expr(n->eval.rhs, r);
    if (n->body) look(n->body, r);
    if (n->then) look(n->then, r);
    for (int k = 0; k < n->n; k++) look(n->kid[k], r);
}

static bool walks_entries(const Nest *n)
{
    if (n->op != N_LOOP || n->kind != L_FOR || !n->in || n->in->role != T_IN || n->by) return false;
    if (n->ix.part != SC_WHOLE) return false;
    for (int k = 0; k < n->in->format.nlevel; k++) {
        const sc_levelspec *v = &n->in->format.level[k];
        if (n->in->dimvar[v->dim] == n->ix.var)
            return (sc_kind_of(v)->pos || sc_kind_of(v)->one) && v->unique;
    }
    return false;
}

void schedule_ahead(const Prog *p, Nest *n)
{
    if (p->nofold && !p->ahead) return; /* one text serves every extent */
    if (walks_entries(n)) {
        Rows r = {.p = p, .var = n->ix.var, .asked = p->ahead};
        look(n->body, &r);
        if (r.far) n->ahead = p->ahead ? p->ahead - 1 : AHEAD;
    }
    if (n->body) schedule_ahead(p, n->body);
    if (n->then) schedule_ahead(p, n->then);
    for (int k = 0; k < n->n; k++) schedule_ahead(p, n->kid[k]);
}

/* schedule_ahead.c: which loops ask for rows ahead of their use.
 *
 * requires  a nest; sets `ahead` of loops
 *
 * A loop over the entries of an operand whose vector loop runs along rows of a dense operand, chosen by the
 * entries, waits for memory at each of them if the operand is larger than the caches. Extents count in powers of
 * two, so that a new batch seldom makes a new kernel. */
#include "schedule.h"

#define CACHED_BYTES (4 << 20)
#define AHEAD 16 /* entries: about the time that memory takes */

typedef struct {
    int var, along; /* the index of the loop, of the vector loop inside */
    bool asked, far;
} Rows;

static int64_t bytes_of(const Tensor *t)
{
    int64_t bytes = (int64_t)sc_dtype_size(t->dtype);
    for (int d = 0; d < t->ndim; d++) {
        if (!sc_mul(bytes, bucket(t->extent[d]), &bytes)) return INT64_MAX;
    }
    return bytes;
}

static void look_expr(const Expr *e, Rows *r)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) look_expr(e->kid[k], r);
    const Tensor *t = e->op == O_ACCESS ? e->tensor : NULL;
    if (!t || t->role != T_IN || !sc_format_is_dense(&t->format) || t->unit < 0) return;
    bool gathered = false;
    for (int d = 0; d < t->ndim; d++) gathered |= d != t->unit && e->ix[d].var == r->var;
    if (gathered && e->ix[t->unit].var == r->along && (r->asked || bytes_of(t) > CACHED_BYTES)) r->far = true;
}

/* Vector loops below n, with no other loop over entries between. */
static void look(const Nest *n, Rows *r)
{
    if (n->op == N_LOOP && (n->in || n->nmerge)) return;
    if (n->op == N_LOOP && n->kind == L_VEC) r->along = n->ix.var;
    if (n->op == N_EVAL && r->along >= 0) look_expr(n->eval.rhs, r);
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
            return (v->kind == SC_COMPRESSED || v->kind == SC_SINGLETON) && v->unique;
    }
    return false;
}

void schedule_ahead(const Prog *p, Nest *n)
{
    if (p->nofold && !p->ahead) return; /* a text for every extent */
    if (walks_entries(n)) {
        Rows r = {.var = n->ix.var, .along = -1, .asked = p->ahead};
        look(n->body, &r);
        if (r.far) n->ahead = p->ahead ? p->ahead - 1 : AHEAD;
    }
    if (n->body) schedule_ahead(p, n->body);
    if (n->then) schedule_ahead(p, n->then);
    for (int k = 0; k < n->n; k++) schedule_ahead(p, n->kid[k]);
}

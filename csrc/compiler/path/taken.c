/* taken.c: temporaries: what is computed first, by a step, and how its indices are ordered. */
#include "private.h"

/* Entries run over v: a sparse tensor has it. */
static bool is_stored(const Expr *e, const void *v)
{ return e->op == O_ACCESS && !sc_format_is_dense(&e->tensor->format) && in(expr_vars(e), *(const int *)v); }

/* The indices of a temporary that a result is read beside, in the order of the result. */
static int order_as(const Expr *lhs, uint32_t vars, Index *out)
{
    int n = 0;
    for (int d = 0; d < lhs->tensor->ndim; d++)
        if (in(vars, lhs->ix[d].var)) out[n++] = lhs->ix[d];
    return n;
}

/* The indices of a temporary: those that entries run over first, in the order in which they are met, then those of
 * dense rows; or, turned, the other way round. */
static int order_of(const Planner *pl, uint32_t vars, bool turned, Index *out)
{
    const Prog *p = pl->p;
    int n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int v = 0; v < p->nvar; v++) {
            bool stored = false;
            for (int a = 0; a < p->nassign; a++) stored |= expr_any(p->assign[a].rhs, is_stored, &v);
            if (in(vars, v) && stored == !pass && n < SC_MAXDIM) out[n++] = (Index){.var = (uint8_t)v};
        }
    for (int k = 0; turned && k < n / 2; k++) {
        const Index x = out[k];
        out[k] = out[n - 1 - k], out[n - 1 - k] = x;
    }
    return n;
}

Expr *taken_find(Planner *pl, const Expr *e)
{
    Index ix[SC_MAXDIM];
    for (int v = pl->p->nin; v < pl->path->nvalue; v++) {
        Tensor *same = pl->value[v];
        for (int d = 0; d < same->ndim; d++) ix[d] = (Index){.var = (uint8_t)same->dimvar[d]};
        if (same->dtype != pl->p->type && !pl->factor) continue; /* it is rounded, as factors may be */
        if (!pl->how[v] || !common_same(pl->p, pl->how[v], e)) continue;
        pl->reused[v] = true;
        return expr_access(pl->p, same, ix);
    }
    return NULL;
}

Expr *taken_as(Planner *pl, Tensor *t, const Index *ix, Expr *e, int takers)
{
    const Assign a = {expr_access(pl->p, t, ix), O_CONST, e};
    if (!step_add(pl, 1, &a, (int[]){-1})) return NULL;
    pl->path->cost -= pl->path->step[pl->path->n - 1]->cost * (1 - 1.0 / takers);
    return a.lhs;
}

static Expr *take_over(Planner *pl, Expr *e, const Index *ix, int n, bool sparse, double entries)
{
    Expr *taken = taken_find(pl, e);
    if (taken) return taken;
    return taken_as(pl, step_temporary(pl, ix, n, sparse, entries), ix, e, common_takers(pl, e));
}

Expr *taken_first(Planner *pl, Expr *e, uint32_t kept, bool sparse, bool turned, double entries)
{
    Index ix[SC_MAXDIM];
    if (__builtin_popcount(kept) > SC_MAXDIM) return taken_find(pl, e);
    return take_over(pl, e, ix, order_of(pl, kept, turned && !sparse, ix), sparse, entries);
}

Expr *taken_beside(Planner *pl, Expr *e)
{
    Index ix[SC_MAXDIM];
    const uint32_t kept = expr_free(e);
    if (kept & ~expr_vars(pl->lhs)) return taken_first(pl, e, kept, false, false, 0);
    return take_over(pl, e, ix, order_as(pl->lhs, kept, ix), false, 0);
}

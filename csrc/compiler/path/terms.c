/* terms.c: a sum of terms, each a sum of products over entries, in steps: all but one are computed first, and that one
 * adds them where it is written. In one nest the terms of a row would take turns with the registers and near caches. */
#include <math.h>
#include <string.h>

#include "private.h"

#define TERMS_TIE .95  /* what a step for each term must gain over one nest */
#define STAYS_TIE 1.02 /* what another term that stays must gain */

/* A term that adds the others where it is written, since it meets entries. */
static bool may_stay(Prog *p, Expr *term)
{ return expr_has(term, O_REDUCE) && path_has_sparse(term) && !library_may_multiply(p, term); }

/* The sum, after all terms that are sums of products are computed first but for one. Where that is none, -1, what a
 * library may multiply is. */
static Expr *take_others(Planner *pl, int n, Part *part, int stays)
{
    for (int k = 0; k < n; k++) {
        if (k == stays || !expr_has(part[k].e, O_REDUCE)) continue;
        if (stays < 0 && !library_may_multiply(pl->p, part[k].e)) continue;
        const uint32_t kept = expr_free(part[k].e);
        Expr *t = stays < 0 ? taken_beside(pl, part[k].e) : taken_first(pl, part[k].e, kept, false, false, 0);
        if (t) part[k].e = t;
    }
    return expr_sum(pl->p, n, part);
}

static bool is_often(const Prog *p)
{
    bool often = false;
    for (int k = 0; k < p->nin; k++) often |= p->tensor[k]->often.many;
    return often;
}

/* Which term stays: the last that may, unless it takes longer. Where an operand is multiplied often, one that stays may
 * have to go without a layout by which it would be computed first. */
static int choose_stays(Planner *pl, int n, const Part *part, const Assign *a, int result)
{
    double least = INFINITY;
    int stays = -1;
    const bool tries = a && !pl->nwish && is_often(pl->p);
    for (int k = n; k-- > 0;) {
        Part others[MAXFACTOR];
        const Point m = step_mark(pl);
        if (!may_stay(pl->p, part[k].e)) continue;
        if (stays < 0) stays = k;
        if (!tries) break;
        memcpy(others, part, (size_t)n * sizeof *part);
        Expr *e = take_others(pl, n, others, k);
        const bool fits = step_add(pl, 1, &(Assign){a->lhs, a->reduce, e}, &result);
        const double cost = pl->path->cost - m.cost;
        step_rewind(pl, m);
        if (fits && cost * STAYS_TIE < least) least = cost, stays = k;
    }
    return stays;
}

Expr *terms_first(Planner *pl, int n, Part *part, const Assign *a, int result)
{ return take_others(pl, n, part, choose_stays(pl, n, part, a, result)); }

double terms_tie(Prog *p, const Assign *a, int result, int steps, double other)
{
    Part term[MAXFACTOR];
    int sums = 0;
    for (int k = expr_terms(p, a->rhs, term); k-- > 0;) sums += expr_has(term[k].e, O_REDUCE);
    return sums == steps && sc_format_is_dense(&p->ask[result]) ? TERMS_TIE : other;
}

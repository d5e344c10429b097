/* cost_access.c: what accesses take.
 *
 * An access costs what its innermost loop makes of it: along the unit stride, across it, or scattered over a region whose
 * size says which cache answers. */
#include "cost.h"

#include <math.h>

#define LINE 64    /* bytes */
#define ALONE 2.35 /* times what memory takes: rows that nothing foresees */
#define WHOLE 1.5  /* times what a further cache takes for a vector that is all of a line */

bool cost_depends(const Spot *at, const Expr *e, int var)
{
    for (int d = 0; d < e->tensor->ndim; d++)
        if (e->ix[d].var == var || at->with[e->ix[d].var] == 1 + var) return true;
    return false;
}

double cost_blocks_around(const Cost *c, const Spot *at, Index ix)
{
    double blocks = 1;
    for (int k = 0; k < at->nloop && ix.part == SC_WHOLE; k++)
        if (at->loop[k].ix.var == ix.var && at->loop[k].ix.part == SC_DIV)
            blocks *= extent(c, at->loop[k].ix);
    return blocks;
}

double cost_work_bytes(const Cost *c, const Tensor *t)
{
    double n = (double)sc_dtype_size(t->dtype);
    for (int d = 0; d < t->ndim; d++) n *= extent(c, t->slot[d]);
    return n;
}

/* Bytes from an element to the next that is met inside of loop j. What lies a page apart falls into few sets of a cache,
 * so it is no better further apart. */
static double apart(const Cost *c, const Spot *at, const Expr *e, int j)
{
    enum { PAGE = 4096 };
    const double size = (double)sc_dtype_size(e->tensor->dtype);
    const int along = expr_runs_along(e);
    while (++j < at->nloop)
        if (at->loop[j].ix.var == along) return size;
    return along < 0 ? size : fmin(PAGE, size * extent(c, index_whole(along)));
}

/* Bytes that an access spans inside of loop j, -1: in all. */
static double region(const Cost *c, const Spot *at, const Expr *e, int j)
{
    const Tensor *t = e->tensor;
    double bytes = apart(c, at, e, j);
    while (++j < at->nloop) {
        const Index ix = at->loop[j].ix;
        if (!at->loop[j].cut && cost_depends(at, e, ix.var))
            bytes *= extent(c, ix) / cost_blocks_around(c, at, ix);
    }
    return t->role == T_WORK ? fmin(bytes, cost_work_bytes(c, t)) : bytes;
}

/* What an access in a region of so many bytes costs, in accesses to the first cache. A cache answers as large a part of
 * the accesses as it holds of the region. */
double cost_by_size(const Cost *c, double bytes)
{
    double factor = c->m.factor[0], missed = 1;
    for (int k = 0; k < 3; k++) {
        const double cache = (double)machine_cache(c->p, k);
        if (bytes <= cache) break;
        missed = fmin(missed, 1 - cache / bytes);
        factor += missed * (c->m.factor[k + 1] - c->m.factor[k]);
    }
    return factor;
}

/* Whether entries choose rows that have left all caches when they are chosen again. */
static bool is_far(const Cost *c, const Spot *at, const Expr *e)
{
    double row = (double)sc_dtype_size(e->tensor->dtype);
    for (int j = at->nloop - 1; j >= 0; j--) {
        const Loop *l = &at->loop[j];
        if (l->ix.var == expr_runs_along(e))
            row *= extent(c, l->ix);
        else if (l->in && cost_depends(at, e, l->ix.var) && schedule_is_far(c->p, l->in, l->ix.var, row))
            return true;
    }
    return false;
}

/* What an access that loop k moves costs, in accesses to the first cache. A loop around that it does not depend on
 * reads the same region in every turn: all but the first find it in the cache that holds the region. What no such loop
 * reads again comes from where the whole tensor is. */
static double distance(const Cost *c, const Spot *at, const Expr *e, int k)
{
    double share = 1, sum = 0;
    for (int j = k - 1; j >= 0; j--) {
        const Loop *l = &at->loop[j];
        if (cost_depends(at, e, l->ix.var) || l->side > 1 || l->turns <= 1) continue;
        sum += share * (1 - 1 / l->turns) * cost_by_size(c, region(c, at, e, j));
        share /= l->turns;
    }
    return sum + share * cost_by_size(c, region(c, at, e, -1)) * (is_far(c, at, e) ? ALONE : 1);
}

/* The innermost loop that an access depends on, -1: none. side: even where its turns stand side by side, each as a
 * stream of its own. */
static int varies_at(const Spot *at, const Expr *e, bool side)
{
    int k = at->nloop - 1;
    while (k >= 0 && !(cost_depends(at, e, at->loop[k].ix.var) && (side || at->loop[k].side == 1))) k--;
    return k;
}

/* Turns side by side share what is the same for all of them. */
static double times_read(const Spot *at, const Expr *e, int k)
{
    double trips = at->loop[k].trips;
    for (int j = 0; j < k; j++)
        if (!cost_depends(at, e, at->loop[j].ix.var)) trips /= at->loop[j].side;
    return trips;
}

/* Loop k moves across lines, and the next one that moves at all goes along them: a line is loaded once, unless the entries
 * that it runs over are further apart than a line. */
static bool shares_lines(const Cost *c, const Spot *at, const Expr *e, int k)
{
    const int var = at->loop[k].ix.var;
    for (const Loop *l = at->loop + k; l-- > at->loop;)
        if (l->ix.var != var && cost_depends(at, e, l->ix.var)) {
            const double gap = l->gathered ? extent(c, l->ix) / fmax(1, l->turns) : 1;
            return expr_runs_along(e) == l->ix.var && gap * (double)sc_dtype_size(e->tensor->dtype) <= LINE;
        }
    return false;
}

/* A vector of numbers that lie across: one by one, or its part of a square that registers turn (lower/turn.c). */
static double cost_across(const Cost *c, double kind)
{ return c->turns ? kind + log2(lanes(c)) * c->m.flop : lanes(c) * c->m.across; }

/* How far a vector of a row is that entries choose. A vector that is all of a line waits for it alone, where narrower ones
 * share it: that is felt where the rows leave the second cache, in which a panel lies beside what it was copied from. */
static double by_lines(const Cost *c, const Spot *at, const Expr *e, int k, double far)
{
    const double second = (double)machine_cache(c->p, 1) * (e->tensor->role == T_WORK ? 1 : 2);
    int j = 0;
    while (j < k && !(at->loop[j].gathered && cost_depends(at, e, at->loop[j].ix.var))) j++;
    const bool whole = at->loop[k].vec && c->p->vector_bytes == LINE;
    return whole && j < k && region(c, at, e, j - 1) > second ? 1 + WHOLE * (far - 1) : far;
}

double cost_access(const Cost *c, const Spot *at, const Expr *e, bool read, double kind)
{
    const int inner = varies_at(at, e, true), outer = varies_at(at, e, false), k = outer < 0 ? inner : outer;
    const double trips = inner < 0 ? 1 : read ? times_read(at, e, inner) : at->loop[inner].trips;
    if (e->tensor->role == T_WORK && e->tensor->place == W_REG) return 0;
    if (source_is_sparse(e->tensor) || (e->tensor->role == T_IN && e->tensor->like)) return trips * kind;
    const bool along = k >= 0 && expr_runs_along(e) == at->loop[k].ix.var;
    double each = kind;
    if (k >= 0 && !along) each = at->loop[k].vec ? cost_across(c, kind) : fmax(kind, c->m.across);
    if (k >= 0 && along && at->loop[k].gathered) each = fmax(kind, c->m.across);
    double far = distance(c, at, e, k);
    if (along && inner != k && !at->loop[k].vec) /* scalars of streams side by side: a line brings many */
        far = 1 + (far - 1) * (double)sc_dtype_size(e->tensor->dtype) / LINE;
    if (along) far = by_lines(c, at, e, k, far);
    const double first = k >= 0 && !along && shares_lines(c, at, e, k) ? each + kind * (far - 1) : each * far;
    const double side = inner >= 0 && expr_runs_along(e) == at->loop[inner].ix.var ? at->loop[inner].side : 1;
    return trips * (first + (side - 1) * kind) / side; /* side by side in one line */
}

/* common.c: what the sums of a program have in common.
 *
 * Two sums share a part where the same factors stand in both, and the same indices of theirs are needed outside. Then
 * the sum over the others is one temporary for both: the gradients of a product of three share two of them. */
#include "private.h"

/* Where the n factors a stand among the m factors b, each at a place of its own: a set of places, 0 where one is not
 * there. */
static uint64_t among(int n, const Part *a, int m, const Part *b)
{
    uint64_t found = 0;
    for (int k = 0; k < n; k++) {
        int q = 0;
        while (q < m && (found >> q & 1 || a[k].under != b[q].under || !expr_equal(a[k].e, b[q].e))) q++;
        if (q == m) return 0;
        found |= 1ull << q;
    }
    return found;
}

/* The set of factors of `sum` that `part` is the product of, if it sums that over all indices which the other factors
 * and the result do not need; else 0. */
static uint32_t part_of(Prog *p, const Expr *part, const Expr *sum)
{
    Part a[MAXFACTOR], b[MAXFACTOR];
    if (!path_is_sum(part) || !path_is_sum(sum)) return 0;
    const int n = expr_factors(p, part->kid[0], a), m = expr_factors(p, sum->kid[0], b);
    if (n >= m || m > MAXFACTORS) return 0;
    const uint32_t mask = (uint32_t)among(n, a, m, b);
    uint32_t mine = 0, others = expr_free(sum);
    for (int q = 0; q < m; q++) *(in(mask, q) ? &mine : &others) |= expr_free(b[q].e);
    return (mine & others) == expr_free(part) ? mask : 0;
}

bool common_same(Prog *p, const Expr *x, const Expr *y)
{
    Part a[MAXFACTOR], b[MAXFACTOR];
    if (expr_equal(x, y)) return true;
    if (!path_is_sum(x) || !path_is_sum(y) || x->vars != y->vars) return false;
    const int n = expr_factors(p, x->kid[0], a), m = expr_factors(p, y->kid[0], b);
    return n == m && among(n, a, m, b);
}

void common_collect(Planner *pl, const Expr *e)
{
    if (path_is_sum(e) && pl->nsum < MAXSUM) pl->sum[pl->nsum++] = e;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) common_collect(pl, e->kid[k]);
}

int common_takers(Planner *pl, const Expr *part)
{
    int n = 0;
    for (int k = 0; k < pl->nsum; k++) n += part_of(pl->p, part, pl->sum[k]) != 0;
    return n > 1 ? n : 1;
}

/* The sum of the product of these factors over all indices that the others and the result do not need. */
static Expr *part_sum(Prog *p, const Product *x, const Part *factor, uint32_t mask)
{
    Part part[MAXFACTORS];
    uint32_t vars = 0;
    int n = 0;
    for (int k = 0; k < x->n; k++)
        if (in(mask, k)) part[n++] = factor[k], vars |= expr_free(factor[k].e);
    return expr_reduce(p, O_ADD, vars & ~tree_kept(x, mask), expr_product(p, n, part));
}

void common_find(Planner *pl, Product *x, const Part *factor, const Expr *sum)
{
    const uint32_t all = (1u << x->n) - 1;
    for (int v = pl->p->nin; v < pl->path->nvalue; v++)
        if (pl->how[v]) x->made[part_of(pl->p, pl->how[v], sum)] = 1;
    for (uint32_t mask = 1; mask < all && pl->nsum > 1; mask++)
        if (__builtin_popcount(mask) > 1)
            x->takers[mask] = (uint8_t)common_takers(pl, part_sum(pl->p, x, factor, mask));
}

/* common.c: what the sums of a program have in common.
 *
 * Two sums share a part where the same factors stand in both, and the same indices of theirs are needed outside. Then
 * the sum over the others is one temporary for both: the gradients of a product of three share two of them. */
#include <string.h>

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

/* ---- the same but for the names of what is summed ---- */
typedef struct {
    int8_t to[SC_MAXVAR]; /* of an index that is summed in one, the index in the other, or -1 */
    uint32_t from, into;  /* that are summed in each */
} IndexMap;

static bool same_index(IndexMap *r, int v, int w)
{
    if (!in(r->from, v)) return v == w;
    for (int u = 0; u < SC_MAXVAR; u++)
        if (in(r->from, u) && u != v && r->to[u] == w) return false;
    if (r->to[v] < 0 && in(r->into, w)) r->to[v] = (int8_t)w;
    return r->to[v] == w;
}

/* An operand that is read at several tuples of indices is one. */
static bool same_tensor(const Tensor *s, const Tensor *t)
{ return s == t || (s->role == T_IN && t->role == T_IN && s->arg == t->arg); }

/* The same tree, with one name for another. */
static bool same_tree(IndexMap *r, const Expr *x, const Expr *y)
{
    if (x->op != y->op || x->op == O_REDUCE) return false;
    if (x->op == O_CONST) return x->c == y->c;
    if (x->op == O_ACCESS) {
        bool same = same_tensor(x->tensor, y->tensor);
        for (int d = 0; same && d < x->tensor->ndim; d++) same = same_index(r, x->ix[d].var, y->ix[d].var);
        return same;
    }
    return same_tree(r, x->kid[0], y->kid[0]) && (!x->kid[1] || same_tree(r, x->kid[1], y->kid[1]));
}

/* Whether the factors a[k..] are, in some order, those of b that are not taken. */
static bool same_factors(IndexMap *r, int n, int k, const Part *a, const Part *b, uint32_t taken)
{
    for (int q = 0; k < n && q < n; q++) {
        IndexMap next = *r;
        if (!in(taken, q) && a[k].under == b[q].under && same_tree(&next, a[k].e, b[q].e) &&
            same_factors(&next, n, k + 1, a, b, taken | 1u << q))
            return true;
    }
    return k == n;
}

bool common_same(Prog *p, const Expr *x, const Expr *y)
{
    Part a[MAXFACTOR], b[MAXFACTOR];
    IndexMap r = {.from = x->vars, .into = y->vars};
    if (expr_equal(x, y)) return true;
    if (!path_is_sum(x) || !path_is_sum(y)) return false;
    const int n = expr_factors(p, x->kid[0], a), m = expr_factors(p, y->kid[0], b);
    if (n != m || n > MAXFACTORS || __builtin_popcount(x->vars) != __builtin_popcount(y->vars)) return false;
    memset(r.to, -1, sizeof r.to);
    return same_factors(&r, n, 0, a, b, 0);
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

static bool repeats(const Product *x, const Part *factor)
{
    for (int k = 0; k < x->n; k++)
        for (int q = 0; q < k; q++)
            if (factor[k].e->op == O_ACCESS && factor[q].e->op == O_ACCESS &&
                same_tensor(factor[k].e->tensor, factor[q].e->tensor))
                return true;
    return false;
}

/* How many parts of the product come to the same as `own`, that of these factors, which is one of them; no factor
 * stands in two. */
static int count_alike(Prog *p, const Product *x, const Part *factor, uint32_t mask, const Expr *own)
{
    const int size = __builtin_popcount(mask);
    uint32_t used = mask;
    int n = 1;
    for (uint32_t other = 1; other < 1u << x->n; other++)
        if (!(other & used) && __builtin_popcount(other) == size &&
            common_same(p, own, part_sum(p, x, factor, other)))
            used |= other, n++;
    return n;
}

void common_find(Planner *pl, Product *x, const Part *factor, const Expr *sum)
{
    const uint32_t all = (1u << x->n) - 1;
    const bool again = repeats(x, factor);
    for (int v = pl->p->nin; v < pl->path->nvalue; v++)
        if (pl->how[v]) x->made[part_of(pl->p, pl->how[v], sum)] = 1;
    for (uint32_t mask = 1; mask < all && (again || pl->nsum > 1); mask++) {
        const int size = __builtin_popcount(mask);
        if (size < 2) continue;
        const Expr *part = part_sum(pl->p, x, factor, mask);
        int takers = common_takers(pl, part);
        if (again && 2 * size <= x->n) takers *= count_alike(pl->p, x, factor, mask, part);
        x->takers[mask] = (uint8_t)takers;
    }
}

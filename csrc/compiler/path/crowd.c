/* crowd.c: sums over more sparse operands than a loop merges. */
#include "private.h"

#define CROWD 4 /* that are merged at a time where all are too many: a quarter of the cases of MAXMERGE */

/* Sparse operands that e reads, each as often as it does. */
static int count_sparse(const Expr *e)
{
    if (e->op == O_ACCESS) return !sc_format_is_dense(&e->tensor->format);
    return (e->kid[0] ? count_sparse(e->kid[0]) : 0) + (e->kid[1] ? count_sparse(e->kid[1]) : 0);
}

/* Adds the sparse operands of e to n that are known, until they are too many. */
static int add_sparse(const Expr *e, const Tensor *known[MAXMERGE + 1], int n)
{
    if (e->op != O_ACCESS) {
        for (int k = 0; k < 2 && e->kid[k]; k++) n = add_sparse(e->kid[k], known, n);
        return n;
    }
    if (sc_format_is_dense(&e->tensor->format) || n > MAXMERGE) return n;
    for (int k = 0; k < n; k++)
        if (known[k] == e->tensor) return n;
    known[n] = e->tensor;
    return n + 1;
}

/* Whether e is a sum of terms, of the same indices, that no loop merges all at once. */
bool crowd_is(Prog *p, Expr *e)
{
    Part term[MAXFACTOR];
    const Tensor *known[MAXMERGE + 1];
    if ((e->op != O_ADD && e->op != O_SUB) || add_sparse(e, known, 0) <= MAXMERGE) return false;
    const int n = expr_terms(p, e, term);
    bool all = !expr_has(e, O_REDUCE);
    for (int k = 0; k < n; k++)
        all &= expr_free(term[k].e) == expr_free(e) && count_sparse(term[k].e) <= CROWD;
    return all;
}

/* Such a sum, after as many of its sparse terms as are merged are computed first, time and again: what is known goes to
 * the end, and is merged last. */
Expr *crowd_take(Planner *pl, Expr *e)
{
    Part term[MAXFACTOR], some[MAXFACTOR], rest[MAXFACTOR];
    Prog *p = pl->p;
    while (count_sparse(e) > CROWD) {
        int m = 0, left = 0, sparse = 0;
        const int n = expr_terms(p, e, term);
        for (int k = 0; k < n; k++) {
            const int more = count_sparse(term[k].e);
            const bool fits = more && sparse + more <= CROWD;
            if (fits)
                some[m++] = term[k], sparse += more;
            else
                rest[left++] = term[k];
        }
        Expr *sum = expr_sum(p, m, some), *t = NULL;
        if (sparse > 1) t = taken_first(pl, sum, expr_free(e), true, false, tree_entries(p, sum));
        if (!t) return e;
        rest[left++] = (Part){.e = t};
        e = expr_sum(p, left, rest);
    }
    return e;
}

/* pointwise.c: functions of dense operands that a term computes again and again.
 *
 * A[i,j] * exp(s[j]) takes an exponential at every entry of A, of as many numbers as s has. Where entries outnumber
 * them by far, the function is computed first, in vectors, and read at the entries. */
#include <math.h>

#include "private.h"

enum { AGAIN = 2 }; /* so many times as often as there are values of the function, at least */

/* Of dense operands alone, so that it is the same by itself; a step by itself would compute it in their type. */
static bool is_dense(const Prog *p, const Expr *e)
{
    if (e->op == O_CONST) return true;
    if (e->op == O_REDUCE || e->op == O_STORED) return false;
    if (e->op == O_ACCESS) return sc_format_is_dense(&e->tensor->format) && e->tensor->dtype == p->type;
    return is_dense(p, e->kid[0]) && (!e->kid[1] || is_dense(p, e->kid[1]));
}

/* A division is hidden behind the loads that bring its operands. */
static bool takes_long(const Expr *e)
{
    return (op_info(e->op)->work != W_SIMPLE && e->op != O_DIV) || (e->kid[0] && takes_long(e->kid[0])) ||
           (e->kid[1] && takes_long(e->kid[1]));
}

/* The fewest turns that entries of an operand make of all those over `vars`. What is summed inside has loops of its
 * own. */
static double turns(const Prog *p, const Expr *e, uint32_t vars)
{
    double least = tree_cells(p, vars);
    if (e->op == O_ACCESS && !sc_format_is_dense(&e->tensor->format))
        return fmin(least, tree_size(p, e).entries * tree_cells(p, vars & ~expr_vars(e)));
    for (int k = 0; k < 2 && e->op != O_REDUCE; k++)
        if (e->kid[k]) least = fmin(least, turns(p, e->kid[k], vars));
    return least;
}

/* The innermost part that has all indices of the function, as there may be others of fewer. */
static Expr *find(const Prog *p, Expr *e, const Expr *term)
{
    const bool dense = is_dense(p, e), terms = !dense && (e->op == O_ADD || e->op == O_SUB);
    for (int k = 0; k < 2; k++) {
        Expr *kid = e->kid[k];
        const bool apart = e->op == O_REDUCE || (terms && kid && path_has_sparse(kid));
        Expr *f = kid ? find(p, kid, apart ? kid : term) : NULL;
        if (f && !(dense && expr_vars(f) == expr_vars(e))) return f;
    }
    const uint32_t mine = expr_vars(e), all = expr_free(term);
    const bool again = dense && mine && mine != all && takes_long(e);
    return again && turns(p, term, all) >= AGAIN * tree_cells(p, mine) ? e : NULL;
}

Expr *pointwise_find(const Prog *p, Expr *e) { return find(p, e, e); }

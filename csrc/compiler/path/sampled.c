/* sampled.c: functions whose argument is computed at the entries of a sparse factor first.
 *
 * M[i,j] * exp(Q[i,d] * K[j,d]) takes one exponential after the other, since what it is of is summed, or gathered,
 * entry by entry. With the argument in values of its own, in the structure of M, a vector of entries is taken at a
 * time; and the function, computed once, serves all that reads it. */
#include "private.h"

/* What is read beside entries differs from one entry of a row of m to the next, or is summed. */
static bool is_gathered(const Expr *e, const Expr *m)
{
    const sc_format *f = &m->tensor->format;
    const int along = m->ix[f->level[f->nlevel - 1].dim].var;
    if (e->op == O_REDUCE) return true;
    if (e->op == O_ACCESS) return sc_format_is_dense(&e->tensor->format) && in(expr_vars(e), along);
    return (e->kid[0] && is_gathered(e->kid[0], m)) || (e->kid[1] && is_gathered(e->kid[1], m));
}

/* The outermost argument of a function that takes long, which is gathered. */
static Expr *argument(const Expr *e, const Expr *m)
{
    if (e->op == O_REDUCE || e->op == O_STORED) return NULL;
    if (op_info(e->op)->work == W_SERIES && is_gathered(e, m)) return e->kid[0];
    Expr *a = e->kid[0] ? argument(e->kid[0], m) : NULL;
    return a || !e->kid[1] ? a : argument(e->kid[1], m);
}

/* Compressed rows, of which a coordinate stands once: vectors of their entries can be taken. */
static bool is_pattern(const Expr *e)
{
    if (e->op == O_STORED) e = e->kid[0];
    if (e->op != O_ACCESS || !tensor_is_sparse(e->tensor) || e->tensor->ndim < 2) return false;
    const sc_format *f = &e->tensor->format;
    return sc_format_has_twins(f) && sc_kind_of(&f->level[f->nlevel - 1])->pos;
}

Sampled sampled_find(int n, const Part *part)
{
    for (int k = 0; k < n; k++)
        for (int q = 0; q < n; q++) {
            Expr *m = part[q].e, *e = part[k].e;
            if (part[q].under || !is_pattern(m) || expr_free(e) != expr_vars(m)) continue;
            if (m->op == O_STORED) m = m->kid[0];
            Expr *of = q == k ? NULL : argument(e, m);
            if (of) return (Sampled){k, m, of};
        }
    return (Sampled){-1, NULL, NULL};
}

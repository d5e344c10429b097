/* narrow.c: sums of 16 bit floats are rounded once, when they are stored.
 *
 * They are computed in f32. A nest that adds into its result, turn by turn, would round each sum so far: then a shared
 * workspace of f32 takes the sums, and a kernel behind it stores them. */
#include "private.h"

Nest *schedule_narrow(Prog *p, const Assign *a, Nest *n)
{
    Tensor *t = a->lhs->tensor;
    char why[WHY];
    if (!n || (t->dtype != SC_F16 && t->dtype != SC_BF16) || work_reduce(n, t) != O_ADD) return n;
    if (t->like) return NULL;
    Tensor *w = work_new(p, "sum", W_SHARED);
    for (int d = 0; d < t->ndim; d++) work_slot(w, a->lhs->ix[d]);
    w->unit = t->unit;
    expr_make_dense(p, w);
    schedule_rename(p, n, t, w);
    Order o = {0};
    for (int d = 0; d < t->ndim; d++) o.loop[o.n++] = a->lhs->ix[d];
    const Assign store = {a->lhs, O_CONST, work_access(p, w)};
    Nest *last = schedule_build(p, &store, &o, why);
    return last ? schedule_before_rest(p, n, w, last) : NULL;
}

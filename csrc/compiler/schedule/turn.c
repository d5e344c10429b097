/* turn.c: products whose dense operands lie across the vector, or nowhere side by side: they are copied first, as a whole,
 * to where they lie along it.
 *
 * F.linear(x, W), Y[n,o] = X[n,i] * W[o,i], reads X and writes Y along the wrong index: n would be the vector. So
 * X goes to T[i,n], the sums of W[o,i] * T[i,n] to U[o,n], and U to Y. The same helps where a sum runs along the
 * rows of two matrices, as in the gradient of W, W'[o,i] = stored(W[o,i]) * G[n,o] * X[n,i]. An operand without stride 1,
 * every other column of a matrix or the gradient of a sum, would be gathered at each entry.
 *
 * Transposing takes a pass over each matrix, shared by all threads; what is multiplied then is a product like any
 * other (product.c), with rows at stride 1. */
#include <string.h>

#include "private.h"

enum { SIDE = 16, MAXTURNED = 4 };

typedef struct {
    Prog *p;
    const Assign *a;
    const Expr *sum; /* the O_REDUCE node */
    uint32_t stored; /* variables of the sparse operand */
    int vec;         /* the dense index that is to run at stride 1 */
    Expr *product;
    int n;
    Expr *from[MAXTURNED]; /* the matrices that are transposed, and into what */
    Tensor *to[MAXTURNED];
} Turn;

static void find(Turn *t, const Expr *e)
{
    if (e->op == O_REDUCE) t->sum = e;
    if (e->op == O_ACCESS && source_is_sparse(e->tensor)) t->stored |= expr_vars(e);
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) find(t, e->kid[k]);
}

/* A dense matrix over the vector index and another one that has no stride 1 along it. */
static bool lies_across(const Turn *t, const Expr *e)
{
    const Tensor *x = e->tensor;
    return x->ndim == 2 && sc_format_is_dense(&x->format) && e->ix[0].var != e->ix[1].var &&
           in(expr_vars(e), t->vec) && expr_unit_var(e) != t->vec;
}

static int other_of(const Turn *t, const Expr *e) { return e->ix[e->ix[0].var == t->vec].var; }

/* A workspace for the transpose of e: its last index, at stride 1, is the vector. */
static Tensor *transpose_of(Turn *t, const char *name, const Expr *e)
{
    Tensor *w = work_new(t->p, name, W_SHARED);
    work_slot(w, index_whole(other_of(t, e)));
    work_slot(w, index_whole(t->vec));
    w->unit = 1;
    expr_make_dense(t->p, w);
    return w;
}

/* Everything in the product that lies across; false: there is something that cannot be transposed. */
static bool collect(Turn *t, Expr *e)
{
    if (e->op == O_ACCESS && !source_is_sparse(e->tensor) && in(expr_vars(e), t->vec) &&
        expr_unit_var(e) != t->vec) {
        if (!lies_across(t, e) || t->n == MAXTURNED) return false;
        t->from[t->n++] = e;
    }
    for (int k = 0; k < 2; k++)
        if (e->kid[k] && !collect(t, e->kid[k])) return false;
    return true;
}

/* par r/16 { for c/16 { for r%16 { vec c%16 { to[r,c] = from } } } }, shared along the longer side */
static Nest *transposition(Prog *p, Expr *to, Expr *from, int row, int column)
{
    const Index r = {.var = (uint8_t)row, .part = SC_MOD, .block = SIDE},
                c = {.var = (uint8_t)column, .part = SC_MOD, .block = SIDE};
    Index rows = r, columns = c;
    rows.part = columns.part = SC_DIV;
    const bool wide = p->var[column].extent > p->var[row].extent;
    Nest *n = nest_loop(p, L_FOR, r, NULL, nest_loop(p, L_VEC, c, NULL, nest_eval(p, to, O_CONST, from)));
    n = nest_loop(p, L_FOR, wide ? rows : columns, NULL, n);
    return nest_loop(p, L_PAR, wide ? columns : rows, NULL, n);
}

static bool choose(Turn *t)
{
    find(t, t->a->rhs);
    if (!t->sum || !t->stored || t->a->lhs->tensor->ndim != 2) return false;
    const uint32_t free = (expr_vars(t->sum->kid[0]) | expr_vars(t->a->lhs)) & ~t->stored;
    if (__builtin_popcount(free) != 1) return false;
    t->vec = __builtin_ctz(free);
    return t->p->var[t->vec].extent > 1 && collect(t, t->sum->kid[0]) && t->n;
}

/* Loops over the levels of the sparse operand, and the vector inside. */
static Nest *sampled(const Turn *t, const Assign *sum)
{
    char why[WHY];
    Order o = {0};
    for (int v = 0; v < t->p->nvar; v++)
        if (in(t->stored, v)) o.loop[o.n++] = index_whole(v);
    o.loop[o.n++] = index_whole(t->vec);
    o = order_natural(t->p, &o);
    return schedule_build(t->p, sum, &o, why);
}

Nest *schedule_turned(Prog *p, const Assign *a, sc_format *to, sc_text *why)
{
    Turn *t = NEW(p, Turn);
    *t = (Turn){.p = p, .a = a};
    if (!choose(t)) return NULL;
    Expr *product = t->sum->kid[0], *result = a->lhs;
    for (int k = 0; k < t->n; k++) {
        t->to[k] = transpose_of(t, "t", t->from[k]);
        product = expr_replace(p, product, t->from[k], work_access(p, t->to[k]));
    }
    Assign sum = {a->lhs, a->reduce, expr_replace(p, a->rhs, t->sum->kid[0], product)};
    Tensor *back = lies_across(t, a->lhs) ? transpose_of(t, "u", a->lhs) : NULL;
    if (back) {
        result = work_access(p, back);
        sum = (Assign){result, O_CONST, expr_replace(p, (Expr *)t->sum, t->sum->kid[0], product)};
    }
    Nest *n = product_fits(p, a) ? product_nest(p, &sum, to, why) : sampled(t, &sum);
    if (!n) return NULL;
    if (back) {
        const int o = other_of(t, a->lhs);
        Expr *value = expr_replace(p, a->rhs, t->sum, result);
        n = schedule_before_rest(p, n, back, transposition(p, a->lhs, value, t->vec, o));
    }
    for (int k = t->n - 1; k >= 0; k--)
        n = nest_work(p, t->to[k],
                      transposition(p, work_access(p, t->to[k]), t->from[k], other_of(t, t->from[k]), t->vec),
                      n);
    if (why)
        sc_text_add(why, "matrices that do not lie along %s are copied first, to where they do\n",
                    p->var[t->vec].name);
    return n;
}

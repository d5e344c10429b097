/* factors.c: products begin with what a vector loop leaves as it is.
 *
 * requires  a nest whose loops are `vec` where they should be
 *
 * G[i,f] * A[i,j] / d[i] along f is a product and a quotient of vectors, as it is written; (A[i,j] / d[i]) * G[i,f] has
 * a quotient of numbers, which is computed in front of the loop. Only terms of sums are changed so: gradients of extrema
 * compute again, to the last bit, what may attain them. Integers stay as they are, since their quotients are cut. */
#include "private.h"

typedef struct {
    Prog *p;
    int var; /* of the vector loop around */
} Around;

/* Two factors or more that the loop leaves as they are, the first of them no divisor, behind others. */
static bool moves(const Around *x, int n, const Part *part)
{
    int nkept = 0, begin = -1;
    bool behind = false;
    for (int k = 0; k < n; k++) {
        if (in(expr_vars(part[k].e), x->var)) continue;
        begin = begin < 0 ? k : begin;
        behind |= nkept++ < k;
    }
    return nkept > 1 && behind && !part[begin].under;
}

static Expr *reorder(const Around *x, Expr *e)
{
    Part part[MAXFACTOR], kept[MAXFACTOR], rest[MAXFACTOR + 1];
    int nkept = 0, nrest = 1;
    const bool product = e->op == O_MUL || e->op == O_DIV, sum = e->op == O_ADD || e->op == O_SUB;
    if (!product && !sum && e->op != O_NEG) return e;
    const int n = product ? expr_factors(x->p, e, part) : 0;
    if (!n || !moves(x, n, part)) {
        Expr *a = reorder(x, e->kid[0]);
        return expr_with_kids(x->p, e, a, e->kid[1] ? reorder(x, e->kid[1]) : NULL);
    }
    for (int k = 0; k < n; k++) {
        part[k].e = reorder(x, part[k].e);
        if (in(expr_vars(part[k].e), x->var))
            rest[nrest++] = part[k];
        else
            kept[nkept++] = part[k];
    }
    rest[0] = (Part){expr_product(x->p, nkept, kept), false};
    return expr_product(x->p, nrest, rest);
}

static void look(Around x, Nest *n)
{
    if (n->op == N_LOOP && n->kind == L_VEC) x.var = n->ix.var;
    if (n->op == N_EVAL && n->eval.reduce == O_ADD && x.var >= 0) n->eval.rhs = reorder(&x, n->eval.rhs);
    if (n->body) look(x, n->body);
    if (n->then) look(x, n->then);
    for (int k = 0; k < n->n; k++) look(x, n->kid[k]);
}

void schedule_factors(Prog *p, Nest *n)
{
    if (p->type >= SC_F16) look((Around){p, -1}, n);
}

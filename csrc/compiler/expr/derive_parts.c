/* derive_parts.c: what the two files that make gradients ask of expressions. */
#include "derive.h"

bool expr_contains(const Expr *e, bool (*test)(const Expr *, const void *), const void *x)
{
    return test(e, x) || (e->kid[0] && expr_contains(e->kid[0], test, x)) ||
           (e->kid[1] && expr_contains(e->kid[1], test, x));
}

bool derive_sparse(const Tensor *t) { return !sc_format_is_dense(&t->format); }

Tensor *derive_operand(Derive *d, Tensor *t)
{ return t->role == T_IN && t->arg >= 0 && t->arg < d->p->nin ? d->p->tensor[t->arg] : t; }

/* factor * product, in front of its first factor. */
Expr *derive_prefix(Prog *p, Expr *factor, Expr *e)
{
    if (e->op == O_REDUCE || e->op == O_MUL || e->op == O_DIV) {
        Expr *copy = NEW(p, Expr);
        *copy = *e;
        copy->kid[0] = derive_prefix(p, factor, e->kid[0]);
        return copy;
    }
    return expr_new(p, O_MUL, factor, e);
}

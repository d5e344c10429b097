/* expr.c: expressions as trees. */
#include "ir.h"

#include <string.h>

Expr *expr_new(Prog *p, Op op, Expr *a, Expr *b)
{
    Expr *e = NEW(p, Expr);
    e->op = op;
    e->kid[0] = a;
    e->kid[1] = b;
    e->pos = a ? a->pos : -1;
    return e;
}

Expr *expr_const(Prog *p, double c)
{
    Expr *e = expr_new(p, O_CONST, NULL, NULL);
    e->c = c;
    return e;
}

Expr *expr_access(Prog *p, Tensor *t, const Index *ix)
{
    Expr *e = expr_new(p, O_ACCESS, NULL, NULL);
    e->tensor = t;
    memcpy(e->ix, ix, (size_t)t->ndim * sizeof *ix);
    return e;
}

uint32_t expr_vars(const Expr *e)
{
    uint32_t vars = 0;
    for (int d = 0; e->op == O_ACCESS && d < e->tensor->ndim; d++) vars |= 1u << e->ix[d].var;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) vars |= expr_vars(e->kid[k]);
    return vars;
}

bool expr_any(const Expr *e, bool (*test)(const Expr *, const void *), const void *x)
{
    return test(e, x) || (e->kid[0] && expr_any(e->kid[0], test, x)) ||
           (e->kid[1] && expr_any(e->kid[1], test, x));
}

static bool is_op(const Expr *e, const void *op) { return e->op == *(const Op *)op; }

bool expr_has(const Expr *e, Op op) { return expr_any(e, is_op, &op); }

int expr_dim_of(const Expr *access, int var)
{
    for (int d = 0; d < access->tensor->ndim; d++)
        if (access->ix[d].var == var) return d;
    return -1;
}

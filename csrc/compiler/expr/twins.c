/* twins.c: operands that were given with one structure: loops run in one of them, and the others are read where it is.
 *
 * requires  check, infer
 *
 * Values of the same structure lie side by side, in the order in which they were given: what would merge two operands
 * is a loop over the entries of one. Of an assignment that reads several, the first one leads, or the one whose
 * structure the result has. Where nothing is left without the entries of the leader, the others are read as they are;
 * elsewhere they are times stored(leader), since they are zero where they have no entry. */
#include "expr.h"

#include <string.h>

static int structure(const Tensor *t) { return t->twin ? t->twin - 1 : t->arg; }

bool tensor_is_twin(const Tensor *t, const Tensor *x)
{
    return tensor_is_sparse(t) && tensor_is_sparse(x) && structure(t) == structure(x) &&
           !memcmp(t->dimvar, x->dimvar, (size_t)t->ndim * sizeof *t->dimvar);
}

static Expr *stored(Prog *p, Tensor *t, const Index *ix)
{ return expr_new(p, O_STORED, expr_access(p, t, ix), NULL); }

/* x: t, as it is read where its leader is. */
static Expr *follow(Prog *p, Expr *e, const Tensor *t, Tensor *x, bool elsewhere)
{
    if (e->op == O_CONST || (e->op == O_ACCESS && e->tensor != t)) return e;
    if (e->op == O_ACCESS) {
        Expr *value = expr_access(p, x, e->ix);
        return elsewhere ? expr_new(p, O_MUL, stored(p, x->like, e->ix), value) : value;
    }
    if (e->op == O_STORED && e->kid[0]->op == O_ACCESS && e->kid[0]->tensor == t)
        return stored(p, x->like, e->kid[0]->ix);
    Expr *a = follow(p, e->kid[0], t, x, elsewhere);
    return expr_with_kids(p, e, a, e->kid[1] ? follow(p, e->kid[1], t, x, elsewhere) : NULL);
}

Expr *expr_follow(Prog *p, Expr *e, Tensor *t, Tensor *twin, bool elsewhere)
{
    Tensor *x = name_alias(p, t, -1);
    x->alias = t->alias ? t->alias : t;
    x->like = twin;
    x->shared = twin->format.nlevel;
    return follow(p, e, t, x, elsewhere);
}

static Tensor *leader_of(const Prog *p, const Assign *a, const Expr *rhs, const Tensor *t)
{
    Tensor *like = a->lhs->tensor->like;
    if (like && tensor_is_twin(t, like) && expr_reads(rhs, like)) return like;
    for (int k = 0; k < p->ntensor; k++)
        if (tensor_is_twin(t, p->tensor[k]) && expr_reads(rhs, p->tensor[k])) return p->tensor[k];
    return NULL;
}

Expr *expr_twins(Prog *p, const Assign *a)
{
    Expr *e = a->rhs;
    const int n = p->ntensor;
    for (int k = 0; k < n; k++) {
        Tensor *t = p->tensor[k];
        Tensor *leader = expr_reads(e, t) ? leader_of(p, a, e, t) : NULL;
        if (leader && leader != t) e = expr_follow(p, e, t, leader, !expr_kills(p, e, leader));
    }
    return e;
}

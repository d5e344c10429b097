/* twins.c: operands that were given with one structure: loops run in one of them, and the others are read where it is.
 *
 * requires  check, infer
 *
 * Values of the same structure lie side by side, in the order in which they were given: what would merge two operands
 * is a loop over the entries of one. Of an assignment that reads several, the first one leads, or the one whose
 * structure the result has. Where nothing is left without the entries of the leader, the others are read as they are;
 * elsewhere they are times stored(leader), since they are zero where they have no entry. */
#include <string.h>

#include "private.h"

static int structure(const Tensor *t) { return t->twin ? t->twin - 1 : t->arg; }

static bool is_twin(const Tensor *t, const Tensor *x)
{
    return tensor_is_sparse(x) && structure(t) == structure(x) &&
           !memcmp(t->dimvar, x->dimvar, (size_t)t->ndim * sizeof *t->dimvar);
}

static Tensor *leader_of(const Prog *p, const Assign *a, const Tensor *t)
{
    Tensor *like = a->lhs->tensor->like;
    if (like && is_twin(t, like) && expr_reads(a->rhs, like)) return like;
    for (int k = 0; k < p->ntensor; k++)
        if (is_twin(t, p->tensor[k]) && expr_reads(a->rhs, p->tensor[k])) return p->tensor[k];
    return NULL;
}

static Tensor *follower(Prog *p, Tensor *t, Tensor *leader)
{
    Tensor *x = NEW(p, Tensor);
    *x = *t;
    x->alias = t->alias ? t->alias : t;
    x->like = leader;
    x->shared = leader->format.nlevel;
    work_add(p, x, t->name);
    return x;
}

static Expr *read_there(Prog *p, Expr *e, Tensor *t, Tensor *x, bool everywhere)
{
    if (e->op == O_CONST) return e;
    if (e->op == O_STORED && e->kid[0]->op == O_ACCESS && e->kid[0]->tensor == t)
        return expr_stored_access(p, x->like);
    if (e->op == O_ACCESS && e->tensor == t) {
        Expr *value = expr_access(p, x, e->ix);
        return everywhere ? value : expr_new(p, O_MUL, expr_stored_access(p, x->like), value);
    }
    if (e->op == O_ACCESS) return e;
    Expr *a = read_there(p, e->kid[0], t, x, everywhere);
    return expr_with_kids(p, e, a, e->kid[1] ? read_there(p, e->kid[1], t, x, everywhere) : NULL);
}

Expr *schedule_twins(Prog *p, const Assign *a)
{
    Assign now = *a;
    const int n = p->ntensor;
    for (int k = 0; k < n; k++) {
        Tensor *t = p->tensor[k];
        Tensor *leader = tensor_is_sparse(t) && expr_reads(now.rhs, t) ? leader_of(p, &now, t) : NULL;
        if (!leader || leader == t) continue;
        now.rhs = read_there(p, now.rhs, t, follower(p, t, leader), expr_kills(now.rhs, leader));
    }
    return now.rhs;
}

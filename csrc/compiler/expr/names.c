/* names.c: what the names of a program stand for, once it is parsed.
 *
 * Every left side is a result; results are numbered behind the operands in the
 * order of the assignments, those that are not returned behind the others. A
 * sparse operand is walked level by level, in the order of its indices, so each
 * tuple of indices that it is accessed with gets a Tensor of its own: the passes
 * behind see one walk for each Tensor, and two walks of one operand are as
 * independent as those of two operands. */
#include <stdio.h>

#include "expr.h"

/* ---- results ---- */
void name_results(Prog *p)
{
    for (int a = 0; a < p->nassign; a++) {
        Tensor *t = p->assign[a].lhs->tensor;
        for (int b = 0; b <= a; b++)
            if (expr_reads(p->assign[b].rhs, t))
                fail(p, SC_EVALUE, p->assign[b].rhs->pos,
                     "%s is read before it is assigned; order the assignments so that each reads only "
                     "operands and "
                     "earlier results",
                     t->name);
        p->nhidden += t->hidden;
    }
    for (int hidden = 0; hidden < 2; hidden++)
        for (int a = 0; a < p->nassign; a++) {
            Tensor *t = p->assign[a].lhs->tensor;
            if (t->hidden == hidden) t->arg = p->nin + p->nout++;
        }
    p->draft.nmade = p->nout;
    if (p->nin + p->nout > SC_MAXOP)
        fail(p, SC_ENOTIMPL, -1, "expected at most %d operands and results, got %d", SC_MAXOP,
             p->nin + p->nout);
}

/* ---- aliases ---- */
static bool walks(const Tensor *t, const Expr *e)
{
    for (int d = 0; d < t->ndim; d++)
        if (t->dimvar[d] != e->ix[d].var) return false;
    return true;
}

/* The Tensor of the operand that e reads whose indices are those of e, or null. */
static Tensor *find_walk(const Prog *p, const Expr *e)
{
    for (int k = 0; k < p->ntensor; k++)
        if (p->tensor[k]->role == T_IN && p->tensor[k]->arg == e->tensor->arg && walks(p->tensor[k], e))
            return p->tensor[k];
    return NULL;
}

Tensor *name_alias(Prog *p, Tensor *t, int pos)
{
    char name[sizeof t->name];
    int k = 0;
    do snprintf(name, sizeof name, "%.20s_%d", t->name, ++k);
    while (prog_tensor(p, name) || prog_var(p, name, false) >= 0);
    Tensor *x = prog_add(p, name, T_IN, pos);
    const int id = x->id;
    *x = *t;
    x->id = id;
    snprintf(x->name, sizeof x->name, "%s", name);
    x->alias = t;
    return x;
}

static void name_walks(Prog *p, Expr *e)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) name_walks(p, e->kid[k]);
    if (e->op != O_ACCESS || !tensor_is_sparse(e->tensor)) return;
    Tensor *t = find_walk(p, e);
    if (!t) {
        t = e->tensor->dimvar[0] < 0 ? e->tensor : name_alias(p, e->tensor, e->pos);
        for (int d = 0; d < t->ndim; d++) t->dimvar[d] = e->ix[d].var;
    }
    e->tensor = t;
}

void name_aliases(Prog *p)
{
    for (int a = 0; a < p->nassign; a++) name_walks(p, p->assign[a].rhs);
}

void name_access(Prog *p, Expr *e)
{
    if (!tensor_is_sparse(e->tensor) || walks(e->tensor, e)) return;
    Tensor *t = find_walk(p, e);
    if (!t)
        fail(p, SC_EVALUE, e->pos, "schedule: the expression does not read %s at these indices",
             e->tensor->name);
    e->tensor = t;
}

/* apart.c: where a program must be taken apart.
 *
 * A program means its assignments one after another, so a result that later ones read is what it would be if they were
 * another program: sparse where nothing but zeros can lie outside of what operands store. One nest cannot read what it
 * assembles, so a step begins in front of the first assignment that reads such a result. What is read so is an operand
 * of that step like any other: what would be refused of an assignment by itself, as to divide by what is missing, is
 * refused of the program. Where types are mixed, so that a step by itself would compute in another one, the program
 * stays whole and what is read is dense. */
#include <string.h>

#include "private.h"

/* Whether the result may be sparse, if nobody asked that it is not. */
static bool may_be_sparse(const Prog *p, const Assign *a)
{
    const Tensor *t = a->lhs->tensor;
    const int r = t->arg - p->nin;
    if (in(p->asked, r) && sc_format_is_dense(&p->ask[r])) return false;
    return t->ndim > 0 && path_has_sparse(a->rhs);
}

typedef bool Test(const Prog *, const Assign *);

static bool is_sparse(const Prog *p, const Assign *a)
{
    (void)p;
    return !sc_format_is_dense(&a->lhs->tensor->format);
}

/* Whether assignment a reads a result that passes, of the assignments from..a-1. */
static bool reads(const Prog *p, int from, int a, Test *passes)
{
    for (int b = from; b < a; b++)
        if (expr_reads(p->assign[a].rhs, p->assign[b].lhs->tensor) && passes(p, &p->assign[b])) return true;
    return false;
}

/* Finds where steps begin. False where assignments are no step by themselves. */
static bool cut(Planner *pl)
{
    Prog *p = pl->p;
    int from = 0;
    for (int a = 1; a < p->nassign; a++) {
        const Point m = step_mark(pl);
        if (!reads(p, from, a, may_be_sparse)) continue;
        if (!step_add_range(pl, from, a)) return false;
        if (reads(p, from, a, is_sparse))
            p->apart |= 1u << a, from = a;
        else
            step_rewind(pl, m);
    }
    return !p->apart || step_add_range(pl, from, p->nassign);
}

/* By itself, such an assignment makes a sparse result. */
static bool comes_sparse(const Prog *p, const Assign *a)
{ return may_be_sparse(p, a) && a->lhs->tensor->ndim > 1 && !(expr_vars(a->lhs) & ~path_covered(p, a->rhs)); }

/* A step computes in the type that its operands promote to. */
static bool mixes_types(const Prog *p)
{
    bool mixed = false;
    for (int k = 0; k < p->nin; k++) mixed |= p->tensor[k]->dtype != p->result_type;
    return mixed;
}

/* Whether an assignment reads a result of one in front that passes. */
static bool any_reads(const Prog *p, Test *passes)
{
    bool any = false;
    for (int a = 1; a < p->nassign; a++) any |= reads(p, 0, a, passes);
    return any;
}

/* The program cannot be cut. It means something else where results are read dense that are sparse by themselves. */
static void refuse_whole(Planner *pl)
{
    Prog *p = pl->p;
    const sc_err *why = pl->meaningless;
    if (mixes_types(p)) return;
    if (why) fail(p, why->code, -1, "%s", why->msg);
    if (any_reads(p, comes_sparse))
        fail(p, SC_ENOTIMPL, -1,
             "a program that reads its sparse results has a step of more than %d operands and results; "
             "evaluate some assignments by themselves first",
             SC_MAXOP);
}

/* Where a result is read dense that would come sparse by itself, stored() of it would be true everywhere. */
static void refuse_stored(Prog *p, int a, const Expr *e)
{
    for (int b = 0; e->op == O_STORED && b < a; b++) {
        const Tensor *t = p->assign[b].lhs->tensor;
        if (e->kid[0]->tensor != t || !comes_sparse(p, &p->assign[b])) continue;
        fail(p, SC_ENOTIMPL, e->pos,
             "stored(%s): %s is dense inside of one nest, as a schedule asks for or operands of several "
             "types need; "
             "evaluate %s by itself first",
             t->name, t->name, t->name);
    }
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) refuse_stored(p, a, e->kid[k]);
}

void path_check_whole(Prog *p)
{
    for (int a = 1; a < p->nassign && !p->skip; a++) refuse_stored(p, a, p->assign[a].rhs);
}

void path_cut(Prog *p, const Costs *infer)
{
    Tensor before[SC_MAXOP];
    sc_format ask[SC_MAXOP];
    if (p->skip || !any_reads(p, may_be_sparse)) return;
    Planner *pl = NEW(p, Planner);
    *pl = (Planner){.p = p, .costs = infer, .path = NEW(p, Path), .tree = "", .infers = true};
    pl->path->nvalue = p->nin;
    for (int r = 0; r < p->nout; r++) before[r] = *prog_result(p, r);
    memcpy(ask, p->ask, sizeof ask);
    const bool fits = cut(pl);
    if (fits && p->apart) return;
    for (int r = 0; r < p->nout; r++) *prog_result(p, r) = before[r];
    memcpy(p->ask, ask, sizeof ask);
    p->apart = 0;
    if (!fits) refuse_whole(pl);
}

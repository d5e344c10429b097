/* fuse.c: two kernels in a row that run over the same rows -> one.
 *
 * What the first computes for a row is a number, and the second reads it for the
 * same row only. Then the number stays in a register, the rows are walked once
 * more while they are in the cache, and nothing waits in between. So a maximum, a
 * sum and a quotient over the entries of each row, three assignments, are one kernel.
 */
#include <string.h>

#include "private.h"

static bool is_number(const Expr *e, const Tensor *t) { return e->op == O_ACCESS && e->tensor == t; }

/* Every read of t is at index v. */
static bool reads_at(const Expr *e, const Tensor *t, int v)
{
    if (is_number(e, t)) return e->ix[0].var == v;
    return (!e->kid[0] || reads_at(e->kid[0], t, v)) && (!e->kid[1] || reads_at(e->kid[1], t, v));
}

static bool all_read_at(const Nest *n, const Tensor *t, int v)
{
    bool all = n->op != N_EVAL || reads_at(n->eval.rhs, t, v);
    if (n->body) all &= all_read_at(n->body, t, v);
    if (n->then) all &= all_read_at(n->then, t, v);
    for (int k = 0; k < n->n; k++) all &= all_read_at(n->kid[k], t, v);
    return all;
}

/* Visits every coordinate of its index. */
static bool is_dense(const Nest *loop)
{ return !loop->nmerge && (!loop->in || !sc_kind_of(&loop->in->format.level[0])->crd); }

static bool same_rows(const Nest *a, const Nest *b)
{
    if (a->op != N_LOOP || b->op != N_LOOP || a->kind != L_PAR || b->kind != L_PAR) return false;
    if (!index_same(a->ix, b->ix) || a->ix.part != SC_WHOLE || a->nmerge || b->nmerge) return false;
    return a->in == b->in || (is_dense(a) && is_dense(b));
}

/* The register that the row's number is summed in already: work c { .. } then { t[i] = c } */
static Tensor *summed_in(const Nest *row, const Tensor *t)
{
    if (row->op != N_WORK || row->work->place != W_REG || row->then->op != N_EVAL) return NULL;
    const Assign *a = &row->then->eval;
    const bool plain = a->lhs->tensor == t && a->reduce == O_CONST && is_number(a->rhs, row->work);
    return plain && !row->work->ndim ? row->work : NULL;
}

Nest *schedule_fuse(Prog *p, Nest *first, Tensor *t, Nest *rest)
{
    if (t->ndim != 1 || !same_rows(first, rest) || !all_read_at(rest->body, t, first->ix.var)) return NULL;
    Index row = first->ix;
    Tensor *c = summed_in(first->body, t);
    Nest *fill = c ? first->body->body : first->body;
    if (!c) {
        c = work_new(p, "c", W_REG);
        schedule_rename(p, fill, t, c);
    }
    schedule_rename(p, rest->body, t, c);
    if (t->role == T_OUT) {
        Nest *store = nest_eval(p, expr_access(p, t, &row), O_CONST, work_access(p, c));
        rest->body = nest_seq(p, 2, (Nest *[]){store, rest->body});
    }
    Nest *loop = rest->in ? rest : first;
    loop->body = nest_work(p, c, fill, rest->body);
    return loop;
}

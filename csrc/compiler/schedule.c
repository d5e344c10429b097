/* schedule.c: a program -> nest.
 *
 * requires  check, infer
 * sets      p->nest, formats of results that had none; p->convert, p->converts; p->why
 *
 * Every assignment becomes its own kernels, found by schedule_search.c, in the
 * order of the program. A temporary becomes a shared workspace, filled before
 * what reads it. */
#include <string.h>

#include "schedule.h"

/* Blocks that fit no loops, and coordinates that repeat where they must not, are converted away: levels in the
 * order that they have, without both. Returns whether there were any. */
static bool make_plain(Prog *p, const Assign *a)
{
    bool any = false;
    for (int k = 0; k < p->ntensor; k++) {
        const Tensor *t = p->tensor[k];
        bool odd = may_repeat(t);
        if (t->role != T_IN || !sparse_source(t) || !expr_reads(a->rhs, t)) continue;
        for (int l = 0; l < t->format.nlevel; l++) odd |= t->format.level[l].part != SC_WHOLE;
        if (!odd) continue;
        sc_format f = {.ndim = t->ndim};
        for (int l = 0; l < t->format.nlevel; l++) {
            if (t->format.level[l].part == SC_MOD) continue;
            const uint8_t kind = !f.nlevel && t->ndim == 2 ? SC_DENSE : SC_COMPRESSED;
            f.level[f.nlevel++] = (sc_levelspec){.kind = kind, .unique = 1, .dim = t->format.level[l].dim};
        }
        p->convert[t->arg] = f;
        p->converts = any = true;
    }
    return any;
}

/* A result that no nest can assemble is computed dense, and delivered as asked. */
static Nest *schedule_one(Prog *p, const Assign *a)
{
    Tensor *t = a->lhs->tensor;
    const char *why = NULL;
    Nest *n = schedule_search(p, a, &why);
    if (!n && make_plain(p, a)) return nest_seq(p, 0, NULL); /* it is compiled again, converted */
    if (!n && t->role == T_OUT && t->ndim && !t->format.nlevel) {
        result_format(p, t, "dense");
        n = schedule_search(p, a, &why);
    }
    if (!n)
        fail(p, SC_ENOTIMPL, a->rhs->pos,
             "no loops were found for %s: %s; convert an operand to another format, or pass a schedule",
             t->name, why ? why : "no order is legal");
    return n;
}

/* ---- temporaries ---- */
Nest *before_rest(Prog *p, Nest *first, Tensor *w, Nest *rest)
{
    const bool outer =
        first->op == N_WORK && (first->work->place == W_PRIVATE || first->work->place == W_SHARED);
    if (!outer) return nest_work(p, w, first, rest);
    first->then = before_rest(p, first->then, w, rest);
    return first;
}

static Tensor *workspace_for(Prog *p, const Expr *lhs)
{
    Tensor *w = work_new(p, lhs->tensor->name, W_SHARED);
    for (int d = 0; d < lhs->tensor->ndim; d++) work_slot(w, lhs->ix[d]);
    return w;
}

/* The nest of the assignments from `from` on. */
static Nest *schedule_from(Prog *p, Assign *assign, int from)
{
    Assign a = assign[from];
    Tensor *t = a.lhs->tensor, *w = NULL;
    /* += of what has nothing to sum is =, but where skipped points keep the identity */
    if (a.rhs->op == O_REDUCE || a.reduce == O_ADD || !p->skip) a.reduce = O_CONST;
    if (t->role == T_WORK) {
        w = workspace_for(p, a.lhs);
        a.lhs = work_access(p, w);
        for (int k = from + 1; k < p->nassign; k++) assign[k].rhs = expr_reading(p, assign[k].rhs, t, w);
    }
    Nest *n = schedule_one(p, &a);
    if (from + 1 == p->nassign) return n;
    Nest *rest = schedule_from(p, assign, from + 1);
    Nest *one = fuse(p, n, w ? w : t, rest);
    if (one) return one;
    if (w) return before_rest(p, n, w, rest);
    return nest_seq(p, 2, (Nest *[]){n, rest});
}

void schedule(Prog *p)
{
    Assign assign[SC_LEN(p->assign)];
    memcpy(assign, p->assign, sizeof assign);
    p->nest = schedule_from(p, assign, 0);
}

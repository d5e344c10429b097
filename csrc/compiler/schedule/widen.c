/* widen.c: what vectors of entries pick of 16 bit floats is made f32 first.
 *
 * requires  a nest whose loops over entries are `vec` where they should be; returns it, or one with a workspace around
 *
 * A vector that is picked is made of as many loads, and there are no instructions that put 16 bit numbers together as
 * well as those of 32 bits. An operand of one index is copied to the lane as f32, if its numbers are read a few times. */
#include "private.h"

enum { TIMES = 4, MOST = 1 << 20 /* bytes */ };

typedef struct {
    Prog *p;
    const Nest *loop;
    Expr *found;
    Tensor *t; /* its numbers as f32 */
} Picked;

static Expr *short_pick(Expr *e, int var)
{
    const Tensor *t = e->op == O_ACCESS ? e->tensor : NULL;
    if (t) return t->ndim == 1 && sc_dtype_size(t->dtype) == 2 && nest_picks(e, var) ? e : NULL;
    Expr *found = NULL;
    for (int k = 0; k < 2 && !found; k++)
        if (e->kid[k]) found = short_pick(e->kid[k], var);
    return found;
}

static bool pays(Prog *p, const Nest *loop, const Tensor *t)
{
    const int64_t extent = schedule_bucket(t->extent[0]), threads = prog_threads(p);
    return extent * 4 <= MOST && cost_positions(p, loop->in) >= (double)(TIMES * threads * extent);
}

static void find(Nest *n, Picked *x)
{
    if (n->op == N_LOOP && n->kind == L_VEC && n->in) x->loop = n;
    if (n->op == N_EVAL && x->loop && !x->found) {
        Expr *e = short_pick(n->eval.rhs, x->loop->ix.var);
        if (e && pays(x->p, x->loop, e->tensor)) x->found = e;
    }
    if (n->body) find(n->body, x);
    if (n->then && !x->found) find(n->then, x);
    for (int k = 0; k < n->n && !x->found; k++) find(n->kid[k], x);
    if (n->op == N_LOOP && n == x->loop && !x->found) x->loop = NULL;
}

static void replace(Nest *n, const Picked *x)
{
    Expr *e;
    while (n->op == N_EVAL && (e = short_pick(n->eval.rhs, x->loop->ix.var)) && e->tensor == x->found->tensor)
        n->eval.rhs = expr_replace(x->p, n->eval.rhs, e, work_access(x->p, x->t));
    if (n->body) replace(n->body, x);
    for (int k = 0; k < n->n; k++) replace(n->kid[k], x);
}

/* work t[j] { vec j { t[j] = x[j] } } then { n, which reads t } */
static Nest *around(Prog *p, Nest *n)
{
    Picked x = {.p = p};
    find(n, &x);
    if (!x.found) return n;
    const Index ix = index_whole(x.loop->ix.var);
    x.t = work_new(p, "t", W_LANE);
    work_slot(x.t, ix);
    Nest *fill = nest_loop(p, L_VEC, ix, NULL, nest_eval(p, work_access(p, x.t), O_CONST, x.found));
    replace(x.loop->body, &x);
    return nest_work(p, x.t, fill, n);
}

Nest *schedule_widen(Prog *p, Nest *n)
{
    if (n->op == N_LOOP && n->kind == L_PAR) return around(p, n);
    if (n->op == N_WORK && n->work->place == W_SHARED) {
        n->body = schedule_widen(p, n->body);
        n->then = schedule_widen(p, n->then);
    }
    for (int k = 0; n->op == N_SEQ && k < n->n; k++) n->kid[k] = schedule_widen(p, n->kid[k]);
    return n;
}

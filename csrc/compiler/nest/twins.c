/* twins.c: a nest as text reads an operand where loops run in another of its structure (expr/twins.c). */
#include "nest.h"

typedef struct {
    const Tensor *t;
    Tensor *found; /* what loops run in: t itself, else a twin of it */
} Runner;

static void note(Runner *r, Tensor *t)
{
    if (t && (t == r->t || (!r->found && tensor_is_twin(r->t, t)))) r->found = t;
}

static void look(const Nest *n, void *ctx)
{
    Runner *r = ctx;
    if (n->op != N_LOOP || (r->found && r->found == r->t)) return;
    note(r, n->in);
    for (int k = 0; k < n->nmerge; k++) note(r, n->merge[k]);
}

static void follow(Prog *p, Nest *n, Tensor *t, Tensor *twin)
{
    if (n->op == N_EVAL && expr_reads(n->eval.rhs, t))
        n->eval.rhs = expr_follow(p, n->eval.rhs, t, twin, false);
    for (int k = 0; k < n->n; k++) follow(p, n->kid[k], t, twin);
    if (n->body) follow(p, n->body, t, twin);
    if (n->then) follow(p, n->then, t, twin);
}

void nest_twins(Prog *p, Nest *n)
{
    const int count = p->ntensor;
    for (int k = 0; k < count; k++) {
        Runner r = {.t = p->tensor[k]};
        if (!tensor_is_sparse(r.t)) continue;
        nest_walk(n, look, &r);
        if (r.found && r.found != r.t) follow(p, n, p->tensor[k], r.found);
    }
}

/* across.c: which sums are taken across vectors once, not at every entry.
 *
 * requires  a nest whose loops are `vec` and `unroll` where they should be; returns it, with other registers
 *
 * A number that vectors at entries are added to would be taken across each of them:
 * work c { for j in A { vec f { c += .. } } } then { .. }. In place of the number stands a vector over f, and behind the
 * last entry it is added up: work v { for j in A { vec f { v[f] += .. } } } then { work c { vec f { c += v[f] } } then { .. } }. */
#include "private.h"

enum { VECTORS = 8 }; /* in registers, with those of an unrolled loop */

typedef struct {
    const Tensor *number;
    const Nest *along; /* the loop whose vectors are added to the number; null: there is none */
    bool entries;      /* inside of a loop over entries */
    bool refused;
} Across;

/* All that is done with the number: vectors over one index are added to it, at entries. */
static void look(const Nest *n, Across x, Across *found)
{
    if (n->op == N_EVAL) {
        const bool written = n->eval.lhs->tensor == x.number;
        if (written &&
            (!x.along || !x.entries || (found->along && !index_same(found->along->ix, x.along->ix))))
            found->refused = true;
        if (written) found->along = x.along;
        found->refused |= expr_reads(n->eval.rhs, x.number);
    }
    if (n->op == N_LOOP) {
        found->refused |= n->rest;
        x.along = n->kind == L_VEC && !n->in ? n : NULL;
        x.entries |= n->in || n->nmerge;
    }
    if (n->body) look(n->body, x, found);
    if (n->then) look(n->then, x, found);
    for (int k = 0; k < n->n; k++) look(n->kid[k], x, found);
}

static int vectors_of(const Prog *p, const Nest *loop)
{
    const Var *v = &p->var[loop->ix.var];
    const int lanes = p->vector_bytes / (int)sc_dtype_size(p->type);
    if (!v->fold || loop->ix.part != SC_WHOLE || v->extent < lanes) return VECTORS + 1;
    return (int)sc_min((v->extent + lanes - 1) / lanes, VECTORS + 1);
}

static void unroll_less(Nest *n, int most)
{
    if (n->op == N_LOOP && n->unroll > most) n->unroll = most > 1 ? most : 0;
    if (n->body) unroll_less(n->body, most);
    if (n->then) unroll_less(n->then, most);
    for (int k = 0; k < n->n; k++) unroll_less(n->kid[k], most);
}

static Nest *later(Prog *p, Nest *n)
{
    Across x = {.number = n->work}, found = x;
    const Op op = work_reduce(n->body, n->work);
    if (n->work->place != W_REG || n->work->ndim || op == O_CONST) return n;
    look(n->body, x, &found);
    const int vectors = found.along && !found.refused ? vectors_of(p, found.along) : VECTORS + 1;
    if (vectors > VECTORS) return n;
    Tensor *vector = work_new(p, "v", W_REG);
    work_slot(vector, found.along->ix);
    Expr *sum = work_access(p, n->work), *lanes = work_access(p, vector);
    schedule_rename(p, n->body, n->work, vector);
    unroll_less(n->body, VECTORS / vectors);
    Nest *up = nest_loop(p, L_VEC, found.along->ix, NULL, nest_eval(p, sum, op, lanes));
    return nest_work(p, vector, n->body, nest_work(p, n->work, up, n->then));
}

Nest *schedule_across(Prog *p, Nest *n)
{
    if (n->body) n->body = schedule_across(p, n->body);
    if (n->then) n->then = schedule_across(p, n->then);
    for (int k = 0; k < n->n; k++) n->kid[k] = schedule_across(p, n->kid[k]);
    return n->op == N_WORK ? later(p, n) : n;
}

/* batch.c: which loops can take their rows in batches. Shared by the verifier, which must know, and the scheduler. */
#include "nest.h"

/* Something is read at the index, other than stored values of t. */
static bool follows(const Expr *e, int var, const Tensor *t)
{
    if (e->op == O_ACCESS && e->tensor != t && e->tensor->like != t)
        for (int d = 0; d < e->tensor->ndim; d++)
            if (e->ix[d].var == var) return true;
    return (e->kid[0] && follows(e->kid[0], var, t)) || (e->kid[1] && follows(e->kid[1], var, t));
}

int nest_loop_level(const Nest *n)
{
    for (int k = 0; n->in && k < n->in->format.nlevel; k++)
        if (index_same(tensor_level_index(n->in, k), n->ix)) return k;
    return -1;
}

/* A level of unique coordinates: with `stored`, a compressed one, else one that is entered by coordinate. */
static bool is_unique(const Tensor *t, int level, bool stored)
{
    const sc_levelspec *s = &t->format.level[level];
    const sc_kind *is = sc_kind_of(s);
    return s->unique && (stored ? is->pos || is->sliced : !is->crd);
}

#define LEAST 4 /* rows of a slice that are worth a vector */

bool expr_has_lanes(const Expr *e, int var, const Tensor *t)
{
    if (e->op == O_ACCESS && expr_vars(e) >> var & 1) {
        const Tensor *x = e->tensor;
        int along = 0;
        for (int d = 0; d < x->ndim; d++) along += e->ix[d].var == var;
        if (x->perm || sc_dtype_size(x->dtype) < 4 || along != 1) return false;
        if (x != t && (x->role == T_WORK || x->like || !sc_format_is_dense(&x->format))) return false;
        if (x != t && (x->unit < 0 || e->ix[x->unit].var != var)) return false;
    }
    return (!e->kid[0] || expr_has_lanes(e->kid[0], var, t)) &&
           (!e->kid[1] || expr_has_lanes(e->kid[1], var, t));
}

/* Rows of a slice lie side by side: they are summed a lane each, and nobody counts the entries of one. */
static bool slices_suit(const Nest *in)
{
    const sc_levelspec *s = &in->in->format.level[nest_loop_level(in)];
    if (!sc_kind_of(s)->sliced) return true;
    return !in->rest && s->width >= LEAST && expr_has_lanes(in->body->eval.rhs, in->ix.var, in->in);
}

const char *nest_batch_refused(const Nest *n)
{
    const Nest *w = n->body;
    const int k = nest_loop_level(n);
    if (k < 0 || n->in->role != T_IN || n->kind == L_VEC || n->by || n->unroll || n->ahead)
        return "it goes with 'for' or 'par' in an operand, without by, unroll and ahead";
    if (n->ix.part != SC_WHOLE || (!is_unique(n->in, k, false) && !is_unique(n->in, k, true)))
        return "the level must be dense or compressed, without blocks, its coordinates unique";
    if (w->op != N_WORK || w->work->place != W_REG || w->work->ndim)
        return "the loop must hold nothing but a register workspace of one number";
    const Nest *in = w->body;
    if (in->op != N_LOOP || in->kind == L_PAR || in->in != n->in || nest_loop_level(in) != k + 1 || in->by ||
        in->ix.part != SC_WHOLE || in->ix.var == n->ix.var || !is_unique(n->in, k + 1, true))
        return "the workspace must be filled by one loop over the entries of the next level, compressed";
    if (in->body->op != N_EVAL || in->body->eval.lhs->tensor != w->work || in->body->eval.reduce == O_CONST)
        return "inside, one evaluation must add to the workspace, or take the largest or smallest";
    if (follows(in->body->eval.rhs, n->ix.var, n->in))
        return "what is added may depend on the index of the loop through the entries only";
    if (!slices_suit(in))
        return "of slices, which need 4 rows, what is added must be read side by side, numbers of 32 or 64 "
               "bits, without rest";
    return NULL;
}

/* vector.c: which loops over entries take a vector of them at a time, and which parallel loops over dense results.
 *
 * requires  a nest; makes loops `vec`, and blocks of what threads share
 *
 * Of loops over entries all for which that is legal, unless the entries lie in short runs: what is left of a run after
 * whole vectors takes a branch for each power of two, which only functions of many operations outweigh. Where coordinates
 * pick what is read of dense operands, a vector saves loads of coordinates and of entries, and sums in several lanes.
 *
 * A parallel loop is of one coordinate at a time, so where its body is one evaluation there is nothing to make a vector
 * of: it becomes one over blocks of coordinates. */
#include "private.h"

enum { BLOCK = 256 };                  /* coordinates of a dense result that a thread takes at once */
enum { LONG = 6, LONG_OF_SERIES = 2 }; /* entries of a run, as powers of two */

static bool has_series(const Expr *e)
{
    return op_info(e->op)->work == W_SERIES || (e->kid[0] && has_series(e->kid[0])) ||
           (e->kid[1] && has_series(e->kid[1]));
}

static void find_series(const Nest *n, void *found)
{
    if (n->op == N_EVAL && has_series(n->eval.rhs)) *(bool *)found = true;
}

bool vector_suits(const Nest *given, uint32_t bound)
{
    Nest loop = *given, *n = &loop;
    loop.unroll = 0; /* a vector has as many sums */
    if (n->op != N_LOOP || in(bound, n->ix.var) || nest_vector_refused(n)) return false;
    bool series = false;
    nest_walk(n->body, find_series, &series);
    const int level = nest_loop_level(n);
    if (nest_vector_picks(n) && !n->in->positions[level]) return false; /* as likely short as long */
    return !schedule_short_fibres(n->in, level, series ? LONG_OF_SERIES : LONG);
}

/* ---- dense results ---- */
/* What is read lies side by side along the index, or is one number. */
static bool side_by_side(const Expr *e, int var)
{
    const Tensor *t = e->op == O_ACCESS ? e->tensor : NULL;
    if (t && (!sc_format_is_dense(&t->format) || t->perm)) return false;
    for (int d = 0; t && d < t->ndim; d++)
        if (e->ix[d].var == var &&
            (e->ix[d].part != SC_WHOLE || d != (t->role == T_WORK ? t->ndim - 1 : t->unit)))
            return false;
    return e->op != O_REDUCE && (!e->kid[0] || side_by_side(e->kid[0], var)) &&
           (!e->kid[1] || side_by_side(e->kid[1], var));
}

static void in_blocks(Prog *p, Nest *n)
{
    if (n->op != N_LOOP || n->kind != L_PAR || n->in || n->nmerge || n->ix.part != SC_WHOLE) return;
    Nest *eval = n->body;
    const int var = n->ix.var;
    if (eval->op != N_EVAL || eval->eval.lhs->tensor->like || !in(expr_vars(eval->eval.lhs), var)) return;
    if (!side_by_side(eval->eval.lhs, var) || !side_by_side(eval->eval.rhs, var)) return;
    Index inner = n->ix;
    n->ix.part = SC_DIV, inner.part = SC_MOD, n->ix.block = inner.block = BLOCK;
    n->body = nest_loop(p, L_VEC, inner, NULL, eval);
}

/* ---- all loops ---- */
static void look(Prog *p, Nest *n, uint32_t bound)
{
    in_blocks(p, n);
    if (vector_suits(n, bound)) n->kind = L_VEC, n->unroll = 0;
    if (n->op == N_LOOP) bound |= 1u << n->ix.var;
    if (n->op == N_LOOP && n->batch)
        n = n->body; /* the entries of many rows are taken by one loop */
    else if (n->body)
        look(p, n->body, bound);
    if (n->then) look(p, n->then, bound);
    for (int k = 0; k < n->n; k++) look(p, n->kid[k], bound);
}

void schedule_vector(Prog *p, Nest *n) { look(p, n, 0); }

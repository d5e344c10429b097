/* vector.c: which loops over entries take a vector of them at a time.
 *
 * requires  a nest; makes loops `vec`
 *
 * All loops for which that is legal, unless the entries lie in short runs: what is left of a run after whole vectors
 * takes a branch for each power of two, which only functions of many operations outweigh. Where coordinates pick what is
 * read of dense operands, a vector saves loads of coordinates and of entries, and sums in several lanes. */
#include "private.h"

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

static void look(Nest *n, uint32_t bound)
{
    if (vector_suits(n, bound)) n->kind = L_VEC, n->unroll = 0;
    if (n->op == N_LOOP) bound |= 1u << n->ix.var;
    if (n->op == N_LOOP && n->batch)
        n = n->body; /* the entries of many rows are taken by one loop */
    else if (n->body)
        look(n->body, bound);
    if (n->then) look(n->then, bound);
    for (int k = 0; k < n->n; k++) look(n->kid[k], bound);
}

void schedule_vector(Nest *n) { look(n, 0); }

/* batch.c: which loops take their rows in batches.
 *
 * requires  a nest; sets `batch` of loops
 *
 * All loops for which that is legal, unless they visit a few rows only, or rows that vectors of entries sum: long rows
 * are summed as fast in batches as without, short ones several times as fast. */
#include "private.h"

#define ROWS 64 /* of a batch */
#define FEW 8

/* A visit of the loop takes FEW rows or more on average; those of a first level count as many, unknown ones do not. */
static bool many(const Tensor *t, int level)
{
    if (!level || !t->positions[level] || !t->positions[level - 1]) return level == 0;
    return t->positions[level] >= t->positions[level - 1] + __builtin_ctz(FEW);
}

bool batch_suits(const Nest *n, uint32_t bound)
{
    if (in(bound, n->ix.var) || nest_batch_refused(n)) return false;
    const Nest *row = n->body->body;
    return !in(bound, row->ix.var) && many(n->in, nest_loop_level(n)) &&
           !(nest_vector_picks(row) && vector_suits(row, bound | 1u << n->ix.var));
}

static void look(Nest *n, uint32_t bound)
{
    if (n->op == N_LOOP) {
        if (batch_suits(n, bound)) n->batch = ROWS;
        bound |= 1u << n->ix.var;
    }
    if (n->body) look(n->body, bound);
    if (n->then) look(n->then, bound);
    for (int k = 0; k < n->n; k++) look(n->kid[k], bound);
}

void schedule_batch(Nest *n) { look(n, 0); }

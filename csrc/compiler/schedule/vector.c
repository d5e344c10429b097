/* vector.c: which loops over entries take a vector of them at a time, and which parallel loops over dense results.
 *
 * requires  a nest; makes loops `vec`, and blocks of what threads share
 *
 * Of loops over entries all for which that is legal, unless the entries lie in short runs: what is left of a run after
 * whole vectors takes a branch for each power of two, which only operations that take long outweigh, or which is foreseen
 * since most rows have as many entries as the one in front. Where coordinates
 * pick what is read of dense operands, a vector saves loads of coordinates and of entries, and sums in several lanes.
 *
 * A parallel loop is of one coordinate at a time, so where its body is one evaluation there is nothing to make a vector
 * of: it becomes one over blocks of coordinates. */
#include "private.h"

enum { BLOCK = 256 }; /* coordinates of a dense result that a thread takes at once */
enum { HUBS = 5 };    /* skew of rows, from which on some are far longer than others */
/* Entries of a run, as powers of two: what takes long pays for short ones, what is foreseen for medium ones. */
enum { LONG = 6, MEDIUM = 4, SHORT = 2 };

static bool takes_long(const Expr *e)
{
    return op_info(e->op)->work != W_SIMPLE || (e->kid[0] && takes_long(e->kid[0])) ||
           (e->kid[1] && takes_long(e->kid[1]));
}

static void find_long(const Nest *n, void *found)
{
    if (n->op == N_EVAL && takes_long(n->eval.rhs)) *(bool *)found = true;
}

/* Runs of some length whose ends processors foresee. Sums of 32 bits are no faster so than in batches. */
static bool is_foreseen(const Nest *n, int level)
{
    const Tensor *t = n->in;
    const size_t size = sc_dtype_size(t->dtype);
    const bool stores = n->body->op == N_EVAL && n->body->eval.reduce == O_CONST;
    return t->even && level == t->format.nlevel - 1 && (size == 8 || (size == 4 && stores)) &&
           !tensor_short_fibres(t, level, MEDIUM);
}

bool vector_suits(const Nest *given, uint32_t bound)
{
    Nest loop = *given, *n = &loop;
    loop.unroll = 0; /* a vector has as many sums */
    if (n->op != N_LOOP || in(bound, n->ix.var) || nest_vector_refused(n)) return false;
    if (nest_over_words(n)) return true;
    bool takes = false;
    nest_walk(n->body, find_long, &takes);
    const int level = nest_loop_level(n);
    if (nest_vector_picks(n) && !n->in->positions[level]) return false; /* as likely short as long */
    if (is_foreseen(n, level)) return true;
    return !tensor_short_fibres(n->in, level, takes ? SHORT : LONG);
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

bool vector_in_blocks(const Nest *n)
{
    if (n->op != N_LOOP || n->kind != L_PAR || n->in || n->nmerge || n->ix.part != SC_WHOLE) return false;
    if (n->body->op != N_EVAL) return false;
    const Assign *a = &n->body->eval;
    const int var = n->ix.var;
    return !a->lhs->tensor->like && in(expr_vars(a->lhs), var) && side_by_side(a->lhs, var) &&
           side_by_side(a->rhs, var);
}

static void in_blocks(Prog *p, Nest *n)
{
    if (!vector_in_blocks(n)) return;
    Index inner = n->ix;
    n->ix.part = SC_DIV, inner.part = SC_MOD, n->ix.block = inner.block = BLOCK;
    n->body = nest_loop(p, L_VEC, inner, NULL, n->body);
}

/* ---- all loops ---- */
/* The entries of many rows are taken by one loop, but for rows that are too long, or cut. */
static void alone(Nest *row)
{
    Nest loop = *row;
    loop.unroll = 0;
    if (row->in->skew >= HUBS && !nest_vector_refused(&loop)) loop.kind = L_VEC, *row = loop;
}

static void look(Prog *p, Nest *n, uint32_t bound)
{
    in_blocks(p, n);
    if (vector_suits(n, bound) && (!nest_over_words(n) || p->vector_bytes == 64))
        n->kind = L_VEC, n->unroll = 0;
    if (n->op == N_LOOP) bound |= 1u << n->ix.var;
    if (n->op == N_LOOP && n->batch) {
        n = n->body;
        alone(n->body);
    } else if (n->body)
        look(p, n->body, bound);
    if (n->then) look(p, n->then, bound);
    for (int k = 0; k < n->n; k++) look(p, n->kid[k], bound);
}

void schedule_vector(Prog *p, Nest *n) { look(p, n, 0); }

/* vector.c: which loops over entries can take a vector of them at a time. Shared by the verifier, which must know, and
 * the scheduler.
 *
 * The entries of a compressed level below one position lie side by side, and so do those of a result that shares its
 * structure. What is computed of them alone, and of numbers that are the same for all, needs no coordinate; dense
 * operands are read wherever the coordinates say. It is stored side by side, or summed up. */
#include "nest.h"

/* The value at the position that the loop over the last level of t is at. */
static bool is_entry(const Expr *e, const Tensor *t)
{
    const Tensor *r = e->tensor;
    if (r == t) return !t->perm;
    const bool places = r->role != T_IN || !t->perm; /* those of a twin are the given ones */
    return r->like == t && places && r->shared == t->format.nlevel && r->format.nlevel == r->shared;
}

static bool is_at(const Expr *e, int var)
{
    for (int d = 0; d < e->tensor->ndim; d++)
        if (e->ix[d].var == var) return true;
    return false;
}

bool nest_picks(const Expr *e, int var)
{
    const Tensor *t = e->tensor;
    if (e->op != O_ACCESS || !is_at(e, var)) return false;
    const bool lane = t->role == T_WORK && t->place == W_LANE && !tensor_gathers(t);
    if (!lane && (t->role != T_IN || !sc_format_is_dense(&t->format))) return false;
    for (int d = 0; d < t->ndim; d++)
        if (e->ix[d].var == var && (e->ix[d].part != SC_WHOLE || e->ix[d].slot)) return false;
    return true;
}

static bool has_pick(const Expr *e, int var)
{
    return nest_picks(e, var) || (e->kid[0] && has_pick(e->kid[0], var)) ||
           (e->kid[1] && has_pick(e->kid[1], var));
}

bool nest_vector_picks(const Nest *n)
{
    const Nest *in = n->body;
    if (in->op == N_EVAL) return has_pick(in->eval.rhs, n->ix.var);
    for (int k = 0; in->op == N_SEQ && k < in->n; k++)
        if (in->kid[k]->op == N_EVAL && has_pick(in->kid[k]->eval.rhs, n->ix.var)) return true;
    return false;
}

/* What is read is an entry, or the same for all of them, or chosen by their coordinates. */
static bool reads_entries(const Expr *e, int var, const Tensor *t)
{
    if (e->op == O_ACCESS) return is_entry(e, t) || !is_at(e, var) || nest_picks(e, var);
    return (!e->kid[0] || reads_entries(e->kid[0], var, t)) &&
           (!e->kid[1] || reads_entries(e->kid[1], var, t));
}

static const char *eval_refused(const Nest *n, const Nest *loop)
{
    const Tensor *r = n->eval.lhs->tensor;
    const bool sum = r->role == T_WORK && r->place == W_REG && !r->ndim && n->eval.reduce != O_CONST;
    if (!sum && (r->role != T_OUT || !is_entry(n->eval.lhs, loop->in)))
        return "inside, evaluations must write entries of a result that shares the structure, or sum into a "
               "register";
    if (!reads_entries(n->eval.rhs, loop->ix.var, loop->in))
        return "what is read must be entries, dense operands, or the same for all entries";
    return NULL;
}

bool nest_over_words(const Nest *n)
{
    const int level = n->op == N_LOOP && n->in ? nest_loop_level(n) : -1;
    return level >= 0 && sc_kind_of(&n->in->format.level[level])->words;
}

/* The lanes of a word: sums of what is read side by side along the level, each in a register; perhaps in a loop over
 * several. */
static const char *words_refused(const Nest *loop, const Nest *n)
{
    if (n->op == N_LOOP && n->kind == L_FOR && n->unroll && !n->in && !n->nmerge) n = n->body;
    if (n->op == N_SEQ) {
        const char *why = n->n ? NULL : "it must hold evaluations only";
        for (int k = 0; k < n->n && !why; k++) why = words_refused(loop, n->kid[k]);
        return why;
    }
    if (n->op != N_EVAL) return "it must hold evaluations only, perhaps in an unrolled loop";
    const Tensor *r = n->eval.lhs->tensor;
    if (r->role != T_WORK || r->place != W_REG || n->eval.reduce == O_CONST ||
        expr_vars(n->eval.lhs) >> loop->ix.var & 1)
        return "inside, evaluations must sum into registers";
    if (!expr_has_lanes(n->eval.rhs, loop->ix.var, loop->in))
        return "what is read must lie side by side along the level, numbers of 32 or 64 bits";
    return NULL;
}

const char *nest_vector_refused(const Nest *n)
{
    const int k = nest_loop_level(n);
    const Tensor *t = n->in;
    if (k < 0 || t->role != T_IN || n->kind == L_PAR || n->by || n->unroll || n->ahead || n->batch || n->rest)
        return "it goes with a loop in an operand, without by, unroll, ahead, batch and rest";
    if (nest_over_words(n)) return words_refused(n, n->body);
    if (k != t->format.nlevel - 1 || n->ix.part != SC_WHOLE || !t->format.level[k].unique ||
        !sc_kind_of(&t->format.level[k])->pos)
        return "the level must be the last one and compressed, without blocks, its coordinates unique";
    if (n->body->op == N_EVAL) return eval_refused(n->body, n);
    if (n->body->op != N_SEQ || !n->body->n) return "it must hold evaluations only";
    for (int i = 0; i < n->body->n; i++) {
        if (n->body->kid[i]->op != N_EVAL) return "it must hold evaluations only";
        const char *why = eval_refused(n->body->kid[i], n);
        if (why) return why;
    }
    return NULL;
}

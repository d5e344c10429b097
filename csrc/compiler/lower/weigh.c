/* weigh.c: what a kernel takes at an entry, so that the driver knows how many lanes are worth their start.
 *
 * Counted in multiply-adds of vectors: one that adds to registers or rows, side by side, takes an eighth of what any
 * other evaluation takes. Terms of a batch take twice that, entries that are merged far more. */
#include "private.h"

enum { MADD = 1, OTHER = SC_ENTRY_WORK, TERM = 2 * OTHER, MERGED = 8 * OTHER };

typedef struct {
    bool batch, merges;
    bool other;   /* something else is computed than multiply-adds of vectors */
    bool several; /* more than one sparse operand is gone through */
    const Tensor *in;
    uint32_t vars; /* that loops run over */
} Weight;

/* Copies of a workspace lie in the caches of the lanes that filled them. */
static bool is_cheap(const Expr *e)
{
    if (e->op == O_ACCESS) return e->tensor->role != T_WORK || e->tensor->place != W_PRIVATE;
    if (e->op == O_CONST) return true;
    if (e->op != O_MUL && e->op != O_ADD && e->op != O_SUB) return false;
    return is_cheap(e->kid[0]) && is_cheap(e->kid[1]);
}

/* vec: the variable of the vector loop around, or -1; counts: evaluations weigh, at entries and where there are none. */
static void look(const Nest *n, int vec, bool counts, Weight *w)
{
    if (n->op == N_LOOP) {
        w->vars |= 1u << n->ix.var;
        w->several |= n->nmerge || (n->in && w->in && w->in != n->in);
        if (n->in) w->in = n->in;
        w->batch |= n->batch > 0;
        w->merges |= n->nmerge > 1;
        vec = n->kind == L_VEC && !n->in ? n->ix.var : -1;
        counts |= n->nmerge || (n->in && sc_kind_of(&n->in->format.level[nest_loop_level(n)])->crd);
    }
    if (n->op == N_EVAL && counts) {
        const bool stores = (n->eval.reduce == O_ADD || n->eval.reduce == O_CONST) && vec >= 0 &&
                            expr_vars(n->eval.lhs) >> vec & 1;
        w->other |= !stores || !is_cheap(n->eval.rhs);
    }
    if (n->body) look(n->body, vec, counts, w);
    if (n->then) look(n->then, vec, counts, w);
    for (int k = 0; k < n->n; k++) look(n->kid[k], vec, counts, w);
}

bool weigh_by_entries(const Tensor *t, int unit, uint32_t dense)
{
    for (int l = 0; l < t->format.nlevel; l++) {
        const sc_levelspec *s = &t->format.level[l];
        if (t->dimvar[s->dim] != unit && sc_kind_of(s)->crd && in(dense, t->dimvar[s->dim])) return false;
    }
    return true;
}

/* The operand whose entries units share that are coordinates: each has those with its coordinate. */
static const Tensor *shared_entries(const Weight *w, const sc_step *s, uint32_t dense)
{
    if (!w->in || w->several || w->in->role != T_IN || !weigh_by_entries(w->in, s->var, dense)) return NULL;
    for (int d = 0; d < w->in->ndim; d++)
        if (w->in->dimvar[d] == s->var) return w->in;
    return NULL;
}

void weigh_step(Low *l, sc_step *s, const Tensor *t, uint32_t dense)
{
    Weight w = {0};
    uint32_t stored = 0;
    look(l->kernel, -1, !t, &w);
    if (!t && (t = shared_entries(&w, s, dense))) s->entries = (int16_t)(t->arg + 1);
    if (t)
        for (int d = 0; d < t->ndim; d++) stored |= 1u << t->dimvar[d];
    else if (s->var >= 0)
        stored = 1u << s->var;
    s->work.bytes = (t ? 1 : s->block) * (w.batch ? TERM : w.merges ? MERGED : w.other ? OTHER : MADD);
    for (int v = 0; v < l->p->nvar && s->work.n < SC_LEN(s->work.var); v++)
        if ((w.vars & ~stored) >> v & 1) lower_size_times(&s->work, (Index){.var = (uint8_t)v});
}

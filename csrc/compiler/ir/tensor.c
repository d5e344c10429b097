/* tensor.c: what a tensor says of itself: how it is stored, and what it shares with an operand. */
#include "ir.h"

#include <math.h>
#include <string.h>

bool tensor_is_sparse(const Tensor *t)
{ return t->role == T_IN && !t->like && !sc_format_is_dense(&t->format); }

void tensor_spec(const Tensor *t, sc_spec *s)
{
    memcpy(s->name, t->name, sizeof s->name);
    s->format = t->format;
    s->dtype = t->dtype;
    s->itype = t->itype;
    s->unit = t->unit;
    s->perm = t->perm;
    s->often = t->often;
    s->twin = (int8_t)t->twin;
    s->even = t->even;
    s->skew = t->skew;
    memcpy(s->positions, t->positions, sizeof s->positions);
}

/* Of the logarithms of the numbers of entries, if those are lognormal. Where some of one coordinate go together with
 * others of it, the mean of their product is exp(spread * spread) times that of means. */
double tensor_spread(const Tensor *t) { return sqrt(t->skew * M_LN2); }

bool index_same(Index a, Index b)
{
    return a.var == b.var && a.part == b.part && a.slot == b.slot &&
           (a.part == SC_WHOLE || a.block == b.block);
}

Index tensor_level_index(const Tensor *t, int level)
{
    const sc_levelspec *s = &t->format.level[level];
    return (Index){.var = (uint8_t)t->dimvar[s->dim], .part = s->part, .block = s->block};
}

bool tensor_gathers(const Tensor *t) { return t->bitmap || t->hash; }

bool tensor_assembled(const Tensor *t)
{ return t->role == T_OUT && !t->like && !sc_format_is_dense(&t->format); }

bool tensor_shares_all(const Tensor *t)
{
    if (!t->like || !sc_format_equal(&t->format, &t->like->format)) return false;
    return !memcmp(t->dimvar, t->like->dimvar, (size_t)t->ndim * sizeof *t->dimvar);
}

bool tensor_shares_upper(const Tensor *t) { return t->like && !tensor_shares_all(t); }

bool tensor_gives_upper(const Prog *p, int operand)
{
    bool any = false;
    for (int r = 0; r < p->nout; r++) {
        const Tensor *t = prog_result(p, r);
        any |= tensor_shares_upper(t) && t->like->arg == operand;
    }
    return any;
}

bool tensor_shares_index(const Tensor *t, int var)
{
    for (int l = 0; t->like && l < t->shared; l++)
        if (tensor_level_index(t->like, l).var == var) return true;
    return false;
}

bool tensor_short_fibres(const Tensor *t, int level, int bits)
{ return level > 0 && t->positions[level] && t->positions[level] < t->positions[level - 1] + bits; }

bool work_has_slot(const Tensor *t, int var)
{
    for (int d = 0; d < t->ndim; d++)
        if (t->slot[d].slot && t->slot[d].var == var) return true;
    return false;
}

/* stays.c: rows that merges meet again and again.
 *
 * A loop may stand between the row of one tensor and the merge that it takes part in: then this row is merged with another
 * one in each turn. lower/noted.c has what is done about it. */
#include "nest.h"

#define MOST (4 << 20) /* bytes of an array of places */

/* The level of the tensor that has the index, where that is a list of coordinates, each once; else -1. */
static int level_of(const Tensor *t, Index ix)
{
    int level = -1;
    for (int l = 0; t->role == T_IN && l < t->format.nlevel; l++)
        if (index_same(tensor_level_index(t, l), ix)) level = l;
    if (level < 0 || t->format.level[level].kind != SC_COMPRESSED || !t->format.level[level].unique)
        return -1;
    return level;
}

/* No level in front of this one has the index. */
static bool stays(const Tensor *t, int level, int var)
{
    bool same = true;
    for (int l = 0; l < level; l++) same &= tensor_level_index(t, l).var != var;
    return same;
}

/* Rows of both have as many entries, as far as is known: neither is long for the other. */
static bool as_long(const Tensor *a, const Tensor *b)
{
    const int m = a->format.nlevel - 1, n = b->format.nlevel - 1;
    return a->positions[m] && a->positions[m] == b->positions[n] && m == n && !a->skew && !b->skew;
}

int nest_row_stays(Prog *p, const Nest *merge, int around)
{
    int found = -1, n = 0;
    if (around < 0 || merge->nmerge != 2 || merge->kind == L_PAR || merge->ix.part != SC_WHOLE) return -1;
    if (nest_has_sources(merge->body)) return -1;
    for (int k = 0; k < 2; k++) {
        const Tensor *t = merge->merge[k];
        const int level = level_of(t, merge->ix);
        if (level < 0 || nest_alive(p, merge->body, tensor_bit(p, t))) return -1;
        if (stays(t, level, around)) found = k, n++;
    }
    if (n != 1 || as_long(merge->merge[0], merge->merge[1])) return -1;
    const int64_t size = (int64_t)sc_dtype_size(merge->merge[found]->itype);
    return p->var[merge->ix.var].extent <= MOST / size ? found : -1;
}

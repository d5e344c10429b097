/* place.c: what is known at a place of a nest: coordinates, by the loops around it, and levels, by those and by
 * coordinates. */
#include "place.h"

void place_bind(Place *at, Index ix)
{
    uint32_t *set = ix.slot               ? &at->slot
                    : ix.part == SC_WHOLE ? &at->whole
                    : ix.part == SC_DIV   ? &at->div
                                          : &at->mod;
    *set |= 1u << ix.var;
    if (ix.part != SC_WHOLE) at->block[ix.var] = ix.block;
}

bool place_knows(const Place *at, Index ix)
{
    uint32_t set = ix.slot ? at->slot : at->whole | (at->div & at->mod);
    if (!ix.slot && ix.part == SC_DIV && at->block[ix.var] == ix.block) set |= at->div;
    return set >> ix.var & 1;
}

bool place_below_runs(const Tensor *t, int level)
{ return level && !t->format.level[level - 1].unique && !sc_kind_of(&t->format.level[level])->one; }

bool place_descends(const Place *at, const Tensor *t, int level)
{
    return t->role != T_WORK && level < t->format.nlevel && !sc_kind_of(&t->format.level[level])->crd &&
           !place_below_runs(t, level) && place_knows(at, tensor_level_index(t, level));
}

void place_advance(Place *at, const Tensor *t, int levels)
{
    while (at->level[t->id] < levels && place_descends(at, t, at->level[t->id])) at->level[t->id]++;
}

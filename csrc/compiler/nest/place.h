/* place.h: which coordinates are known at a place of a nest, and how far every tensor has been followed there.
 *
 * The one account of it: the verifier, the builder of nests, their costs and lowering each walk a nest from outside in,
 * with a Place that is copied at every loop, and keep beside it what they alone need. */
#ifndef SC_PLACE_H
#define SC_PLACE_H

#include "nest.h"

typedef struct {
    uint32_t whole, div, mod, slot; /* the index variables of which i, i/N, i%N, #i is known, as bits */
    int32_t block[SC_MAXVAR];       /* N of i/N and i%N; of the innermost, where blocks are cut into tiles */
    uint8_t level[MAXTENSOR];       /* how many levels of a tensor are resolved, by Tensor.id */
} Place;

void place_bind(Place *, Index);
/* i is known by i, or by i/N and i%N; i/N and i%N are known by i too. */
bool place_knows(const Place *, Index);
/* The level follows one whose coordinates repeat: it is entered by runs of positions, as singleton levels are only. */
bool place_below_runs(const Tensor *, int level);
/* The next level is dense and over an index that is known: its position follows without a loop. */
bool place_descends(const Place *, const Tensor *, int level);
void place_advance(Place *, const Tensor *, int levels); /* passes all such levels, of the first so many */
#endif

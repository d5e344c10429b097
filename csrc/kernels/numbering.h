/* numbering.h: numbers for coordinates, given in the order in which they come, in a table with open addressing.
 *
 * It costs what is numbered and not what could be, unlike an array over all coordinates. Half of the slots are free, and
 * where a coordinate goes follows from its product with a constant, from the upper bits. */
#ifndef SC_NUMBERING_H
#define SC_NUMBERING_H

#include "kernels.h"

typedef struct {
    int64_t coord, number; /* coord -1: free */
} sc_numbered;

typedef struct sc_numbering {
    sc_numbered *slot;
    int bits; /* 2^bits slots */
    int64_t n;
} sc_numbering;

/* Room for this many; what is there stays. SC_ENOMEM. */
int sc_numbering_reserve(sc_numbering *, int64_t n, sc_err *);
void sc_numbering_close(sc_numbering *);

SC_INLINE uint64_t sc_numbering_home(const sc_numbering *t, int64_t coord)
{ return (uint64_t)coord * UINT64_C(0x9E3779B97F4A7C15) >> (64 - t->bits); }

/* The slot of a coordinate, or the free one where it would be. */
SC_INLINE sc_numbered *sc_numbering_find(const sc_numbering *t, int64_t coord)
{
    const uint64_t mask = (UINT64_C(1) << t->bits) - 1;
    uint64_t i = sc_numbering_home(t, coord);
    while (t->slot[i].coord != coord && t->slot[i].coord >= 0) i = (i + 1) & mask;
    return &t->slot[i];
}

/* The number of a coordinate, the next one where it had none; there is room. */
SC_INLINE int64_t sc_numbering_add(sc_numbering *t, int64_t coord)
{
    sc_numbered *s = sc_numbering_find(t, coord);
    if (s->coord < 0) *s = (sc_numbered){coord, t->n++};
    return s->number;
}

#endif

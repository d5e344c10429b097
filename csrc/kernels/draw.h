/* draw.h: entries of a row, drawn at random. */
#ifndef SC_DRAW_H
#define SC_DRAW_H

#include "kernels.h"

/* What draws for one lane: random numbers, and memory that sc_draw_size says. */
typedef struct {
    uint64_t state;
    const void *weight; /* null: all alike */
    sc_dtype wtype;
    bool replace;
    void *memory;
    int64_t bad; /* an entry whose weight is no weight, -1: none */
} sc_drawer;

/* Bytes for at most `most` of rows of at most `longest` entries. */
size_t sc_draw_size(int64_t longest, int64_t most);
/* At most `most` of the entries [lo, hi), into entry; returns how many. With replacement some may be the same. */
int64_t sc_draw(sc_drawer *, int64_t lo, int64_t hi, int64_t most, int64_t *entry);
/* Numbers that follow from a number and two more, as good as random. */
uint64_t sc_draw_mix(uint64_t random, uint64_t a, uint64_t b);

#endif

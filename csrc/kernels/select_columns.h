/* select_columns.h: the columns of a list, and where in the list each of them is. */
#ifndef SC_SELECT_COLUMNS_H
#define SC_SELECT_COLUMNS_H

#include "../select.h"
#include "numbering.h"

typedef struct sc_columns {
    int64_t n;     /* columns, each counted once and numbered as they come */
    uint64_t *bit; /* bit (c & mask) of a column is 0: it is not in the list */
    uint64_t mask;
    int32_t
        *where; /* the number of a column whose bit is 1, where each has a bit of its own; else null, and */
    sc_numbering number;
    int64_t *offset,
        *place;  /* of a list that repeats: place[offset[i]] to place[offset[i + 1]] are of number i */
    void *found; /* places of entries of few columns, those of a lane from its first place on; or null */
    int nlane;   /* which found them */
} sc_columns;

SC_INLINE int64_t sc_taken_at(const sc_taken *t, int64_t i)
{ return t->list ? t->list[i] : t->first + i * t->step; }

/* Turns around the columns of s->column, in range, into s->list. SC_ENOMEM. */
int sc_columns_open(sc_selection *s, sc_err *);
void sc_columns_close(sc_selection *s);

/* 1: perhaps in the list, and surely where there is a bit a column. */
SC_INLINE int64_t sc_columns_bit(const sc_columns *t, int64_t c)
{
    const uint64_t b = (uint64_t)c & t->mask;
    return (int64_t)(t->bit[b >> 6] >> (b & 63) & 1);
}

/* The number of a column, -1: not in the list. */
SC_INLINE int64_t sc_columns_number(const sc_columns *t, int64_t c)
{
    if (!sc_columns_bit(t, c)) return -1;
    if (t->where) return t->where[c];
    const sc_numbered *at = sc_numbering_find(&t->number, c);
    return at->coord < 0 ? -1 : at->number;
}

/* Whether there is a bit a column, and whether it says all: each column is listed once. */
SC_INLINE bool sc_columns_each(const sc_columns *t) { return t->where; }
SC_INLINE bool sc_columns_marks(const sc_columns *t) { return t->where && !t->offset; }

/* How often a column is in a list that repeats, with a bit a column: no branch, since nothing foresees which are. */
SC_INLINE int64_t sc_columns_repeats(const sc_columns *t, int64_t c)
{
    const int64_t listed = -sc_columns_bit(t, c), i = t->where[c] & listed;
    return (t->offset[i + 1] - t->offset[i]) & listed;
}

/* How often a column is in the list. */
SC_INLINE int64_t sc_columns_times(const sc_columns *t, int64_t c)
{
    const int64_t i = sc_columns_number(t, c);
    return i < 0 ? 0 : t->offset ? t->offset[i + 1] - t->offset[i] : 1;
}

#endif

/* convert_slices.c: builds a level of sliced diagonals from a sorted list.
 *
 * The rows of a slice are merged: each has a cursor, the least diagonal of those that the cursors stand at is the next
 * one, and all rows that have it move on. One pass counts diagonals, so that each lane knows where its own go, a second
 * one writes them. */
#include <string.h>

#include "convert.h"

#define WIDEST 16

typedef struct {
    const sc_conversion *c;
    const sc_list *list;
    const sc_levelspec *spec;
    int level;
    const int64_t *at;
    int64_t *to;
    void *pos, *crd;
    int64_t above, count[SC_MAXLANE];
} slicing;

typedef struct {
    int64_t next[WIDEST], end[WIDEST]; /* entries that each row of the slice still has */
    int64_t diagonal[WIDEST];          /* of its next one; the largest number: it has none */
} merging;

static int64_t slice_of(const slicing *x, int64_t e) { return x->at[e] / x->spec->width; }

static int64_t column(const slicing *x, int64_t e) { return sc_list_at(x->list, x->level, e); }

static void look(const slicing *x, merging *m, int row)
{
    const int64_t e = m->next[row];
    m->diagonal[row] = e < m->end[row] ? column(x, e) - x->at[e] : INT64_MAX;
}

/* The rows of the slice whose first entry is e; returns the first entry behind it. */
static int64_t open(const slicing *x, merging *m, int64_t e)
{
    const int width = x->spec->width;
    const int64_t first = slice_of(x, e) * width;
    for (int row = 0; row < width; row++) {
        m->next[row] = e;
        while (e < x->list->n && x->at[e] == first + row) e++;
        m->end[row] = e;
        look(x, m, row);
    }
    return e;
}

/* The row's entries on this diagonal, of which there are several where coordinates repeat, have position p. */
static void step(const slicing *x, merging *m, int row, int64_t p)
{
    const int64_t c = column(x, m->next[row]);
    while (m->next[row] < m->end[row] && column(x, m->next[row]) == c) {
        if (x->crd) x->to[m->next[row]] = p;
        m->next[row]++;
    }
    look(x, m, row);
}

/* Diagonals of a slice, written from diagonal q on where there is room; returns q behind them. */
static int64_t merge(const slicing *x, merging *m, int64_t q)
{
    const int width = x->spec->width;
    for (;; q++) {
        int64_t least = INT64_MAX, bits = 0;
        for (int row = 0; row < width; row++) least = sc_min(least, m->diagonal[row]);
        if (least == INT64_MAX) return q;
        for (int row = 0; row < width; row++) {
            if (m->diagonal[row] != least) continue;
            bits |= (int64_t)1 << row;
            step(x, m, row, q * width + row);
        }
        if (!x->crd) continue;
        sc_index_put(x->crd, x->c->to->itype, 2 * q, least);
        sc_index_put(x->crd, x->c->to->itype, 2 * q + 1, bits);
    }
}

/* Slices that begin in the range, whole. */
static void range(void *arg, int lane, int64_t begin, int64_t end)
{
    slicing *x = arg;
    merging m;
    int64_t q = x->count[lane], e = begin;
    while (e > 0 && e < end && slice_of(x, e) == slice_of(x, e - 1)) e++;
    while (e < end) {
        const int64_t s = slice_of(x, e);
        for (int64_t f = e ? slice_of(x, e - 1) : -1; x->pos && f < s; f++)
            sc_index_put(x->pos, x->c->to->itype, f + 1, q);
        e = open(x, &m, e);
        q = merge(x, &m, q);
    }
    x->count[lane] = q;
}

static int write_levels(slicing *x, int lanes, int64_t n)
{
    const sc_dtype itype = x->c->to->itype;
    void *pos, *crd;
    int rc = sc_convert_pos(x->c, x->level, sc_pos_length(x->spec, 0, x->above), &pos);
    if (rc || (rc = sc_convert_crd(x->c, x->level, 2 * n, &crd))) return rc;
    x->pos = pos;
    x->crd = crd;
    sc_parallel_ranges(lanes, x->list->n, range, x);
    for (int64_t f = x->list->n ? slice_of(x, x->list->n - 1) : -1; f < sc_slices(x->spec, x->above); f++)
        sc_index_put(x->pos, itype, f + 1, n);
    return SC_OK;
}

int sc_slices_pack(const sc_conversion *c, const sc_list *list, int level, int64_t above, const int64_t *at,
                   int64_t *to, sc_level *made)
{
    slicing x = {.c = c, .list = list, .level = level, .above = above, .at = at, .to = to};
    const int lanes = sc_team_lanes(4 * (double)list->n);
    x.spec = &c->to->format.level[level];
    if (c->to->itype == SC_I32 && above > INT32_MAX)
        return sc_error(c->err, SC_EVALUE,
                        "level %d (diagonals): %lld rows exceed what i32 indices reach: use i64", level,
                        (long long)above);
    sc_parallel_ranges(lanes, list->n, range, &x);
    const int64_t n = sc_prefix(x.count, lanes);
    const int rc = write_levels(&x, lanes, n);
    *made = (sc_level){.pos = x.pos, .crd = x.crd, .size = x.spec->width, .npos = n * x.spec->width};
    return rc;
}

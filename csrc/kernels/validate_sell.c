/* validate_sell.c: are slices of sorted rows what their format says?
 *
 * Where columns begin is checked first, since it bounds what is read; then each window by itself: the places of its rows,
 * their coordinates, and that they are in order by length, which says that a column is that of the first rows of a slice. */
#include "kernels.h"

typedef struct {
    const sc_tensor *t;
    int level;
    int64_t fibres; /* positions above */
} ordering;

static int64_t crd_at(const ordering *c, int64_t p)
{ return sc_index(c->t->view.level[c->level].crd, c->t->itype, p); }

/* Where the columns of slice k of a window begin; those behind the last one are the places of its rows. */
static int64_t start_of(const ordering *c, int64_t window, int64_t k)
{
    const int64_t step = sc_window_step(&c->t->format.level[c->level]);
    return sc_index(c->t->view.level[c->level].pos, c->t->itype, window * step + k);
}

static int64_t place_of(const ordering *c, int64_t window, int64_t row)
{
    const sc_levelspec *s = &c->t->format.level[c->level];
    return start_of(c, window, s->block / s->width + 1 + row);
}

/* Entries of the row at a place; -1: its coordinates do not rise, or are not in range, or those of padding are not 0. */
static int64_t length_at(const ordering *c, int64_t window, int64_t place)
{
    const sc_levelspec *s = &c->t->format.level[c->level];
    const int64_t last = start_of(c, window, place / s->width + 1),
                  extent = sc_level_extent(s, c->t->view.dim);
    int64_t n = 0, before = -1;
    for (int64_t q = start_of(c, window, place / s->width); q < last; q++) {
        const int64_t at = q * (s->width + 1), k = place % s->width, x = crd_at(c, at + 1 + k);
        const int64_t bits = crd_at(c, at), here = bits >> k & 1;
        if (!bits || bits & (bits + 1) || bits >> s->width) return -1; /* the first rows have it */
        if (here ? x <= before || x >= extent : x) return -1;
        before = here ? x : extent; /* nothing but padding may follow */
        n += here;
    }
    return n;
}

/* The first row of a window that is not as it should be, or -1. */
static int64_t wrong_row(const ordering *c, int64_t window)
{
    const sc_levelspec *s = &c->t->format.level[c->level];
    const int64_t first = window * s->block;
    int32_t at[SC_WINDOW];
    for (int k = 0; k < s->block; k++) at[k] = -1;
    for (int k = 0; k < s->block; k++) {
        const int64_t place = place_of(c, window, k);
        if (place < 0 || place >= s->block || at[place] >= 0) return first + k;
        at[place] = k;
    }
    for (int64_t k = 0, before = INT64_MAX; k < s->block; k++) {
        const int64_t slice = k / s->width,
                      columns = start_of(c, window, slice + 1) - start_of(c, window, slice);
        const int64_t n = length_at(c, window, k);
        const bool fills = k % s->width || n == columns, there = !n || first + at[k] < c->fibres;
        if (n < 0 || n > before || !fills || !there) return first + at[k];
        before = n;
    }
    return -1;
}

static int64_t starts_range(const void *arg, int64_t begin, int64_t end)
{
    const ordering *c = arg;
    const sc_levelspec *s = &c->t->format.level[c->level];
    const int64_t slices = s->block / s->width;
    for (int64_t w = begin; w < end; w++) {
        bool follows = start_of(c, w, 0) == (w ? start_of(c, w - 1, slices) : 0);
        for (int64_t k = 0; k < slices; k++) follows &= start_of(c, w, k) <= start_of(c, w, k + 1);
        if (!follows) return w;
    }
    return -1;
}

static int64_t windows_range(const void *arg, int64_t begin, int64_t end)
{
    int64_t bad = -1;
    for (int64_t w = begin; w < end && bad < 0; w++) bad = wrong_row(arg, w);
    return bad;
}

int sc_validate_sell(const sc_tensor *t, int level, int64_t above, sc_err *e)
{
    ordering c = {.t = t, .level = level, .fibres = above};
    const sc_levelspec *s = &t->format.level[level];
    const sc_level *v = &t->view.level[level];
    const int64_t windows = sc_windows(s, above), columns = v->npos / s->width;
    const double work = (double)windows * s->block;
    int64_t bad;
    if ((!v->pos && windows) || (!v->crd && v->npos))
        return sc_error(e, SC_EVALUE, "level %d (sell): expected pos and crd arrays, got none", level);
    if (sc_first_bad(&c, windows, work, starts_range, &bad, e)) return e->code;
    if (bad >= 0 || (windows ? start_of(&c, windows - 1, s->block / s->width) : 0) != columns)
        return sc_error(
            e, SC_EVALUE,
            "level %d (sell): window %lld: expected slices whose columns follow each other, from 0 to "
            "%lld in all",
            level, (long long)(bad < 0 ? windows - 1 : bad), (long long)columns);
    if (sc_first_bad(&c, windows, work, windows_range, &bad, e)) return e->code;
    if (bad < 0) return SC_OK;
    return sc_error(
        e, SC_EVALUE,
        "level %d (sell): row %lld at place %lld, expected a place of its own in the window of %d rows "
        "from %lld on, the longest row first, with rising coordinates below %lld, 0 behind them, and bits "
        "of the rows that each column has",
        level, (long long)bad, (long long)place_of(&c, bad / s->block, bad % s->block), s->block,
        (long long)(bad / s->block * s->block), (long long)sc_level_extent(s, t->view.dim));
}

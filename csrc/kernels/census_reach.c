/* census_reach.c: how far apart the entries of a matrix lie that choose the same row of what it is multiplied with.
 *
 * Some stretches of entries, spread over the matrix, are gone through, and of each coordinate it is kept when it came last.
 * The first half of a stretch is not counted, so that what came in front of it is missed by few; what was not seen there
 * counts as further away than that. */
#include <stdlib.h>

#include "kernels.h"

enum { STRETCHES = 4, BITS = 17, HALF = 1 << BITS, MOST = 1 << 26 };

typedef struct {
    const void *crd;
    sc_dtype itype;
    int32_t *last; /* when each coordinate came last, 0: it did not */
    int32_t now;
    int64_t seen, at[BITS + 1]; /* entries, by the log2 of how far apart they lie */
} reach;

static void go_through(reach *r, int64_t begin, int64_t end)
{
    r->now += HALF; /* what other stretches have seen is far away */
    for (int64_t p = begin; p < end; p++) {
        int32_t *last = &r->last[sc_index(r->crd, r->itype, p)];
        const int32_t apart = ++r->now - *last;
        *last = r->now;
        if (p - begin >= (end - begin) / 2)
            r->at[sc_min(31 - __builtin_clz((unsigned)apart), BITS)]++, r->seen++;
    }
}

uint8_t sc_census_reach(const sc_tensor *t)
{
    if (!sc_is_csr(t) || !t->view.nval || t->view.level[1].size > MOST) return 0;
    const sc_level *v = &t->view.level[1];
    const int64_t step = sc_max(t->view.nval / STRETCHES, sc_min(t->view.nval, 2 * HALF));
    reach r = {.crd = v->crd, .itype = t->itype, .last = sc_zalloc((size_t)v->size * sizeof *r.last)};
    for (int64_t p = 0; r.last && p + step <= t->view.nval; p += step)
        go_through(&r, p, p + sc_min(step, 2 * HALF));
    free(r.last);
    int bits = 0;
    for (int64_t nearer = 0; r.seen && (nearer += r.at[bits]) * 2 < r.seen;) bits++;
    return (uint8_t)bits;
}

/* census_far.c: how far apart the entries of a matrix lie that choose the same row of what it is multiplied with.
 *
 * A cache holds what the last SC_NEAR of them chose. Some stretches of entries, spread over the matrix, are gone through,
 * and of each coordinate it is kept when it came last: the first SC_NEAR of a stretch fill the cache, of those behind them
 * it is counted whether they find their row there. */
#include <stdlib.h>

#include "kernels.h"

enum { STRETCHES = 8, LENGTH = 2 * SC_NEAR };

typedef struct {
    const void *crd;
    sc_dtype itype;
    int32_t *last; /* when each coordinate came last */
    int32_t now;
    int64_t seen, far;
} reach;

static void go_through(reach *r, int64_t begin, int64_t end)
{
    r->now += SC_NEAR; /* nothing of other stretches is left in the cache */
    for (int64_t p = begin; p < end; p++) {
        int32_t *last = &r->last[sc_index(r->crd, r->itype, p)];
        const int32_t before = *last;
        *last = ++r->now;
        r->far += p - begin >= SC_NEAR && r->now - before > SC_NEAR;
    }
    r->seen += sc_max(0, end - begin - SC_NEAR);
}

uint8_t sc_census_far(const sc_tensor *t)
{
    if (!sc_is_csr(t) || t->view.nval <= LENGTH) return 0;
    const sc_level *v = &t->view.level[1];
    const int64_t step = t->view.nval / STRETCHES, each = sc_min(step, LENGTH);
    reach r = {.crd = v->crd, .itype = t->itype, .last = sc_zalloc((size_t)v->size * sizeof *r.last)};
    for (int64_t k = 0; r.last && k < STRETCHES; k++) go_through(&r, k * step, k * step + each);
    free(r.last);
    return r.seen ? (uint8_t)(8 * r.far / r.seen) : 0;
}

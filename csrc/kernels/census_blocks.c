/* census_blocks.c: whether the entries of a matrix come in blocks.
 *
 * Some rows of blocks, spread over the matrix and each at another place of its step, are counted until so many entries
 * were seen. The entries of a row of blocks lie side by side. They are met twice, once to count them and once to ask how
 * full their block is, so that nothing is looked at or cleared where no entry lies. */
#include <stdlib.h>

#include "kernels.h"

enum { SAMPLES = 1024, MOST = 1 << 18 };

typedef struct {
    const void *crd;
    sc_dtype itype;
    int shift;      /* log2 of the side */
    double full;    /* entries from which on a block counts */
    int32_t *count; /* entries of each block of a row of blocks, zeros between */
} tally;

static void count_blocks(const tally *x, int64_t begin, int64_t end, sc_blocks *out)
{
    for (int64_t p = begin; p < end; p++) x->count[sc_index(x->crd, x->itype, p) >> x->shift]++;
    for (int64_t p = begin; p < end; p++) {
        int32_t *n = &x->count[sc_index(x->crd, x->itype, p) >> x->shift];
        out->blocks += *n > 0;
        if (*n >= x->full) out->within += *n;
        *n = 0;
    }
    out->seen += end - begin;
}

bool sc_census_blocks(const sc_tensor *t, int64_t side, double share, sc_blocks *out)
{
    *out = (sc_blocks){0};
    if (!sc_is_csr(t)) return true;
    const sc_level *v = &t->view.level[1];
    const int64_t rows = t->view.level[0].size, bands = (rows - 1) / side + 1,
                  step = sc_max(1, bands / SAMPLES);
    const size_t size = ((size_t)(v->size / side) + 1) * sizeof(int32_t);
    tally x = {v->crd, t->itype, __builtin_ctzll((uint64_t)side), share * (double)side * (double)side, NULL};
    x.count = sc_zalloc(size);
    if (!x.count) return false;
    for (int64_t k = 0; k * step < bands && out->seen < MOST; k++) {
        const int64_t row = sc_min(sc_sample(k, step), bands - 1) * side;
        const int64_t end = sc_index(v->pos, t->itype, sc_min(row + side, rows));
        count_blocks(&x, sc_index(v->pos, t->itype, row), end, out);
    }
    free(x.count);
    return true;
}

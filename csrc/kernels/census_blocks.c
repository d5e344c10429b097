/* census_blocks.c: whether the entries of a matrix come in blocks, which may have gaps, or all in full ones.
 *
 * For the first, some rows of blocks, spread over the matrix and each at another place of its step, are counted until so
 * many entries were seen. The entries of a row of blocks lie side by side. They are met twice, once to count them and once
 * to ask how full their block is, so that nothing is looked at or cleared where no entry lies.
 *
 * For the second, all rows are compared with the one in front: groups of equal ones end where the height of blocks ends, and
 * runs of coordinates that follow one another where their width does. Two rows of most matrices show that there are none. */
#include <stdlib.h>
#include <string.h>

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

/* ---- full blocks ---- */
static int64_t divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* What divides the ends of the runs of coordinates that follow one another, and `width`. */
static int64_t divide_runs(const sc_tensor *t, int64_t begin, int64_t end, int64_t width)
{
    const void *crd = t->view.level[1].crd;
    int64_t next = -1;
    for (int64_t p = begin; p < end && width > 1; p++) {
        const int64_t c = sc_index(crd, t->itype, p);
        if (c != next) width = divisor(divisor(width, c), sc_max(next, 0));
        next = c + 1;
    }
    return divisor(width, sc_max(next, 0));
}

static int side_of(int64_t divisor)
{
    int side = SC_SIDE;
    while (divisor % side) side--;
    return side;
}

void sc_census_sides(const sc_tensor *t, int *rows, int *columns)
{
    *rows = *columns = 1;
    if (!sc_is_csr(t) || !t->view.nval) return;
    const sc_level *v = t->view.level;
    const size_t size = sc_dtype_size(t->itype);
    const char *crd = v[1].crd;
    int64_t height = v[0].size, width = v[1].size, before = 0, last = 0;
    for (int64_t i = 0; i < v[0].size && height > 1; i++) {
        const int64_t begin = last, n = sc_index(v[1].pos, t->itype, i + 1) - begin;
        last = begin + n;
        const bool same = i && n == begin - before &&
                          !memcmp(crd + (size_t)before * size, crd + (size_t)begin * size, (size_t)n * size);
        before = begin;
        if (same) continue;
        height = divisor(height, i);
        width = divide_runs(t, begin, last, width);
    }
    *rows = side_of(height);
    if (*rows > 1) *columns = side_of(width);
}

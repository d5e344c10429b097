/* census_diagonals.c: whether the rows of a matrix follow diagonals.
 *
 * Some slices are merged by diagonals, spread over the matrix and each at another place of its step, until so many
 * entries were seen. The rows of a slice are in order, so the least diagonal that any of them has next is the next of
 * all. */
#include "kernels.h"

enum { SLICES = 1024, MOST = 1 << 16, LONGEST = 1 << 12 };

typedef struct {
    int64_t entries, diagonals;
} sharing;

/* The diagonals of rows from `first` on: coordinates less the number of the row. */
static void merge(const sc_tensor *t, int64_t first, int rows, sharing *s)
{
    const sc_level *v = &t->view.level[1];
    int64_t next[SC_SLICE], end[SC_SLICE];
    for (int k = 0; k < rows; k++) {
        next[k] = sc_index(v->pos, t->itype, first + k);
        end[k] = sc_min(sc_index(v->pos, t->itype, first + k + 1), next[k] + LONGEST);
    }
    for (;;) {
        int64_t least = INT64_MAX;
        for (int k = 0; k < rows; k++)
            if (next[k] < end[k]) least = sc_min(least, sc_index(v->crd, t->itype, next[k]) - k);
        if (least == INT64_MAX) return;
        for (int k = 0; k < rows; k++) {
            const bool here = next[k] < end[k] && sc_index(v->crd, t->itype, next[k]) - k == least;
            next[k] += here;
            s->entries += here;
        }
        s->diagonals++;
    }
}

double sc_census_diagonals(const sc_tensor *t)
{
    if (!sc_is_csr(t)) return 0;
    const int64_t rows = t->view.level[0].size, slices = rows / SC_SLICE, step = sc_max(1, slices / SLICES);
    sharing s = {0};
    for (int64_t k = 0; k * step < slices && s.entries < MOST; k++)
        merge(t, sc_min(sc_sample(k, step), slices - 1) * SC_SLICE, SC_SLICE, &s);
    return s.diagonals ? (double)s.entries / (double)s.diagonals : 0;
}

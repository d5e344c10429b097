/* census_padding.c: how much padding the rows of a matrix take in slices of those that are about as long.
 *
 * Some windows, spread over the matrix, are put in order by length; a slice has as many columns as its longest row. */
#include <string.h>

#include "kernels.h"

enum { WINDOWS = 64, LENGTHS = 4096 };

/* Slots of a window, longer rows left to what each takes alone. */
static int64_t slots_of(const sc_tensor *t, int64_t first, int rows, int width, int64_t *entries)
{
    const void *pos = t->view.level[1].pos;
    int32_t of[LENGTHS] = {0};
    int64_t slots = 0;
    for (int k = 0; k < rows; k++) {
        const int64_t n = sc_index(pos, t->itype, first + k + 1) - sc_index(pos, t->itype, first + k);
        *entries += n;
        if (n < LENGTHS)
            of[n]++;
        else
            slots += n * width;
    }
    int in = 0; /* rows of the slice that is being filled */
    for (int n = LENGTHS - 1; n > 0; n--)
        for (; of[n]; in %= width) {
            if (!in) slots += (int64_t)n * width;
            const int more = (int)sc_min(of[n], width - in);
            of[n] -= more, in += more;
        }
    return slots;
}

double sc_census_padding(const sc_tensor *t, int width, int window)
{
    if (!sc_is_csr(t)) return 0;
    const int64_t rows = t->view.level[0].size, windows = rows / window + (rows % window != 0);
    const int64_t step = sc_max(1, windows / WINDOWS);
    int64_t slots = 0, entries = 0;
    for (int64_t k = 0; k * step < windows; k++) {
        const int64_t first = sc_min(sc_sample(k, step), windows - 1) * window;
        slots += slots_of(t, first, (int)sc_min(window, rows - first), width, &entries);
    }
    return entries ? (double)slots / (double)entries : 0;
}

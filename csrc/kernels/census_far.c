/* census_far.c: whether values that are read through a permutation lie far from each other.
 *
 * The lines that they lie on go through a cache of one way. Where several stretches are read side by side, as by the transpose
 * of a grid, each line comes once and all of it is read; where neighbours lie anywhere nearly each value has a line to itself. */
#include "kernels.h"

enum { LINES = 512, LINE = 64, FEW = 4 }; /* values for a line that is fetched, where they lie close */

bool sc_census_far(const void *perm, sc_dtype itype, int64_t n, size_t size)
{
    const int64_t each = LINE / (int64_t)size;
    int64_t last[LINES], fetched = 0;
    for (int i = 0; i < LINES; i++) last[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t line = sc_index(perm, itype, i) / each;
        fetched += last[line % LINES] != line;
        last[line % LINES] = line;
    }
    return fetched * FEW > n;
}

/* census_rows.c: how many entries the shortest and the longest row have, whether most rows have as many, and how much
 * they differ.
 *
 * One pass over the positions, many at a time: what is known of a structure once spares calls a look at all of it. Where
 * a row has as many entries as the one in front, processors foresee its end. */
#include <math.h>
#include <string.h>

#include "kernels.h"

enum { BYTES = 64 };

typedef struct {
    int64_t least, most;
    int64_t same;   /* rows with as many entries as the one in front of them */
    double squares; /* the sum of those of the numbers of entries */
} counts;

static void meet(counts *c, int64_t entries)
{
    c->least = sc_min(c->least, entries);
    c->most = sc_max(c->most, entries);
}

static void take_row(counts *c, int64_t entries)
{
    meet(c, entries);
    c->squares += (double)entries * (double)entries;
}

/* All n rows, from the second on in vectors. */
#define COUNT(type, real)                                                                                    \
    {                                                                                                        \
        typedef type vector __attribute__((vector_size(BYTES)));                                             \
        typedef real reals __attribute__((vector_size(BYTES)));                                              \
        reals squares = {0};                                                                                 \
        const int lanes = BYTES / sizeof(type);                                                              \
        const type *at = pos;                                                                                \
        vector front, begin, end, least = (vector){0} + (at[1] - at[0]), most = least, same = {0};           \
        for (; i + lanes <= n; i += lanes) {                                                                 \
            memcpy(&front, at + i - 1, sizeof front), memcpy(&begin, at + i, sizeof begin);                  \
            memcpy(&end, at + i + 1, sizeof end);                                                            \
            end -= begin, begin -= front;                                                                    \
            const vector less = end < least, more = most < end;                                              \
            least = (end & less) | (least & ~less), most = (end & more) | (most & ~more);                    \
            same -= end == begin;                                                                            \
            squares += __builtin_convertvector(end, reals) * __builtin_convertvector(end, reals);            \
        }                                                                                                    \
        take_row(&c, at[1] - at[0]);                                                                         \
        for (int l = 0; l < lanes; l++)                                                                      \
            meet(&c, least[l]), meet(&c, most[l]), c.same += same[l], c.squares += squares[l];               \
        for (; i < n; i++)                                                                                   \
            take_row(&c, at[i + 1] - at[i]), c.same += at[i + 1] - at[i] == at[i] - at[i - 1];               \
    }

void sc_census_rows(sc_tensor *t)
{
    const int last = t->format.nlevel - 1;
    for (int l = 0; l < last; l++)
        if (t->format.level[l].kind != SC_DENSE) return;
    if (last < 0 || !t->view.nval) return;
    const sc_levelspec *v = &t->format.level[last];
    if (v->kind != SC_COMPRESSED || v->part != SC_WHOLE) return;
    const void *pos = t->view.level[last].pos;
    const int64_t n = last ? t->view.level[last - 1].npos : 1;
    int64_t i = 1;
    counts c = {.least = INT64_MAX};
    if (t->itype == SC_I32)
        COUNT(int32_t, float)
    else
        COUNT(int64_t, double)
    const double mean = (double)t->view.nval / (double)n;
    t->rows.least = c.least, t->rows.most = c.most;
    t->rows.even = 4 * c.same >= 3 * n;
    t->rows.skew = (uint8_t)lrint(fmax(0, log2(c.squares / (double)n / (mean * mean))));
}

int64_t sc_census_long_rows(const sc_tensor *t, int64_t most)
{
    int64_t found = 0;
    if (!sc_is_csr(t)) return 0;
    const void *pos = t->view.level[1].pos;
    for (int64_t i = 0; i < t->view.level[0].size; i++) {
        const int64_t n = sc_index(pos, t->itype, i + 1) - sc_index(pos, t->itype, i);
        if (n > most) found += n;
    }
    return found;
}

/* census_rows.c: how many entries the shortest and the longest row have.
 *
 * One pass over the positions, many at a time: what is known of a structure once spares calls a look at all of it. */
#include <string.h>

#include "kernels.h"

enum { BYTES = 64 };

#define MEET(type)                                                                                           \
    {                                                                                                        \
        typedef type vector __attribute__((vector_size(BYTES)));                                             \
        const int lanes = BYTES / sizeof(type);                                                              \
        const type *at = pos;                                                                                \
        vector begin, end, least = (vector){0} + (at[1] - at[0]), most = least;                              \
        for (; i + lanes <= n; i += lanes) {                                                                 \
            memcpy(&begin, at + i, sizeof begin), memcpy(&end, at + i + 1, sizeof end);                      \
            end -= begin;                                                                                    \
            const vector less = end < least;                                                                 \
            const vector more = most < end;                                                                  \
            least = (end & less) | (least & ~less), most = (end & more) | (most & ~more);                    \
        }                                                                                                    \
        for (int l = 0; l < lanes; l++) meet(t, least[l]), meet(t, most[l]);                                 \
        for (; i < n; i++) meet(t, at[i + 1] - at[i]);                                                       \
    }

static void meet(sc_tensor *t, int64_t entries)
{
    t->least = sc_min(t->least, entries);
    t->most = sc_max(t->most, entries);
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
    int64_t i = 0;
    t->least = INT64_MAX, t->most = 0;
    if (t->itype == SC_I32)
        MEET(int32_t)
    else
        MEET(int64_t)
}

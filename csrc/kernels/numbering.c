/* numbering.c: the memory of a numbering. */
#include "numbering.h"

#include <string.h>

int sc_numbering_reserve(sc_numbering *t, int64_t n, sc_err *e)
{
    sc_numbering wide = {.bits = 5, .n = t->n};
    while (wide.bits < 60 && INT64_C(1) << wide.bits < 2 * n) wide.bits++;
    if (t->slot && wide.bits <= t->bits) return 0;
    const size_t size = sizeof *wide.slot << wide.bits;
    wide.slot = wide.bits < 60 ? sc_work_take(size) : NULL;
    if (!wide.slot) return sc_error(e, SC_ENOMEM, "out of memory to number %lld nodes", (long long)n);
    memset(wide.slot, 0xff, size);
    for (int64_t i = 0; t->slot && i < INT64_C(1) << t->bits; i++)
        if (t->slot[i].coord >= 0) *sc_numbering_find(&wide, t->slot[i].coord) = t->slot[i];
    sc_work_give(t->slot);
    *t = wide;
    return 0;
}

void sc_numbering_close(sc_numbering *t)
{
    sc_work_give(t->slot);
    *t = (sc_numbering){0};
}

/* merged.c: two ascending lists as one. */
#include "../select.h"

#include "kernels.h"

int64_t sc_merge(const sc_keys *a, const sc_keys *b)
{
    int64_t i = 0, j = 0, n = 0;
    while (i < a->n && j < b->n) {
        const int64_t x = a->key[i], y = b->key[j];
        a->place[i] = b->place[j] = n++; /* that of the larger one is written over */
        i += x <= y;
        j += y <= x;
    }
    while (i < a->n) a->place[i++] = n++;
    while (j < b->n) b->place[j++] = n++;
    return n;
}

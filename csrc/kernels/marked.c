/* marked.c: where a mask is true, eight of its bytes at a time. */
#include <string.h>

#include "../select.h"

#include "kernels.h"

#define HIGH UINT64_C(0x8080808080808080)

/* The highest bit of each of eight bytes that is not 0. */
static uint64_t marks_at(const uint8_t *mask)
{
    uint64_t w;
    memcpy(&w, mask, sizeof w);
    return (((w & ~HIGH) + ~HIGH) | w) & HIGH;
}

int64_t sc_marked_count(const uint8_t *mask, int64_t n)
{
    int64_t count = 0, i = 0;
    for (; i + 8 <= n; i += 8) count += __builtin_popcountll(marks_at(mask + i));
    for (; i < n; i++) count += mask[i] != 0;
    return count;
}

void sc_marked_list(const uint8_t *mask, int64_t n, int64_t count, int64_t *list)
{
    int64_t k = 0, i = 0;
    for (; i + 8 <= n && k + 8 <= count; i += 8) {
        if (!marks_at(mask + i)) continue;
        for (int b = 0; b < 8; b++) { /* written over where it is not true, which nothing foresees */
            list[k] = i + b;
            k += mask[i + b] != 0;
        }
    }
    for (; i < n && k < count; i++) {
        list[k] = i;
        k += mask[i] != 0;
    }
}

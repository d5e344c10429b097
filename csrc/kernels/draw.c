/* draw.c: some entries of a row, uniformly or by weights, with and without replacement.
 *
 * Random numbers are those of splitmix64, a counter that is mixed, so that every row has a sequence of its own whoever
 * draws, whenever. Without replacement and uniformly a row that is not much longer than what is drawn is passed once, each
 * entry being taken with the probability that is left (selection sampling); of a longer one Floyd's way draws each entry
 * once, with a small set of those that it has. By weights, entry i has the key log(u_i) / w_i with u_i uniform, and the
 * largest keys are taken, which is what drawing one after the other in proportion to the weights left gives (Efraimidis and
 * Spirakis, 2006). Keys are not drawn for all: how much weight passes until the next one that is larger than the smallest
 * key that is held has a distribution of its own, so a row costs an addition an entry. */
#include "draw.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct {
    double key;
    int64_t entry;
} held_entry;

typedef unsigned __int128 sc_draw_wide;

static uint64_t mixed(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint64_t sc_draw_mix(uint64_t random, uint64_t a, uint64_t b)
{ return mixed(mixed(random + UINT64_C(0x9E3779B97F4A7C15) * (a + 1)) + b); }

SC_INLINE uint64_t next(sc_drawer *d) { return mixed(d->state += UINT64_C(0x9E3779B97F4A7C15)); }

/* An integer in [0, n). */
SC_INLINE int64_t below(sc_drawer *d, int64_t n)
{ return (int64_t)((sc_draw_wide)next(d) * (uint64_t)n >> 64); }

/* A number in (0, 1). */
SC_INLINE double uniform(sc_drawer *d) { return ((double)(next(d) >> 12) + 0.5) * 0x1p-52; }

static int64_t slots(int64_t most)
{
    int64_t n = 8;
    while (n < 2 * most) n *= 2;
    return n;
}

size_t sc_draw_size(int64_t longest, int64_t most)
{
    most = most < 0 ? 0 : sc_min(most, longest);
    const int64_t set = (int64_t)sizeof(int64_t) * slots(most), heap = (int64_t)sizeof(held_entry) * most;
    return (size_t)sc_max(sc_max(set, heap), (int64_t)sizeof(double) * longest);
}

/* ---- all alike ---- */
static int64_t draw_selected(sc_drawer *d, int64_t lo, int64_t hi, int64_t most, int64_t *entry)
{
    int64_t n = 0;
    for (int64_t p = lo; n < most; p++)
        if (below(d, hi - p) < most - n) entry[n++] = p;
    return n;
}

/* Whether x was not in the set. */
SC_INLINE bool put_in(int64_t *set, int64_t mask, int64_t x)
{
    int64_t i = (int64_t)((uint64_t)x * UINT64_C(0x9E3779B97F4A7C15) >> 32) & mask;
    while (set[i] >= 0) {
        if (set[i] == x) return false;
        i = (i + 1) & mask;
    }
    set[i] = x;
    return true;
}

static int64_t draw_few(sc_drawer *d, int64_t lo, int64_t hi, int64_t most, int64_t *entry)
{
    int64_t *set = d->memory, n = 0;
    const int64_t size = slots(most);
    memset(set, 0xff, sizeof *set * (size_t)size);
    for (int64_t last = hi - lo - most; last < hi - lo; last++) {
        int64_t x = below(d, last + 1);
        if (!put_in(set, size - 1, x)) put_in(set, size - 1, x = last);
        entry[n++] = lo + x;
    }
    return n;
}

#define LONG 4 /* times as long as what is drawn: from here on a set is faster than a pass */

static int64_t draw_alike(sc_drawer *d, int64_t lo, int64_t hi, int64_t most, int64_t *entry)
{
    if (d->replace) {
        for (int64_t k = 0; k < most; k++) entry[k] = lo + below(d, hi - lo);
        return most;
    }
    if (hi - lo > LONG * most) return draw_few(d, lo, hi, most, entry);
    return draw_selected(d, lo, hi, most, entry);
}

/* ---- by weights ---- */
SC_INLINE double weight_of(sc_drawer *d, int64_t p)
{
    const double w = d->wtype == SC_F64 ? ((const double *)d->weight)[p] : ((const float *)d->weight)[p];
    if (!(w >= 0 && w <= DBL_MAX)) d->bad = p;
    return w;
}

/* The held_entry at i, which may be larger than those below, sinks in a heap whose smallest is on top. */
static void sink(held_entry *heap, int64_t n, int64_t i)
{
    const held_entry x = heap[i];
    for (int64_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        child += child + 1 < n && heap[child + 1].key < heap[child].key;
        if (heap[child].key >= x.key) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = x;
}

static int64_t draw_weighted(sc_drawer *d, int64_t lo, int64_t hi, int64_t most, int64_t *entry)
{
    held_entry *heap = d->memory;
    int64_t n = 0, p = lo;
    for (; p < hi && n < most; p++) {
        const double w = weight_of(d, p);
        if (w > 0) heap[n++] = (held_entry){log(uniform(d)) / w, p};
    }
    for (int64_t i = n / 2; n == most && i-- > 0;) sink(heap, n, i);
    double left = p < hi && n ? log(uniform(d)) / heap[0].key : 0; /* weight that passes by */
    for (; p < hi && n; p++) {
        const double w = weight_of(d, p);
        left -= w;
        if (left > 0 || !(w > 0)) continue;
        /* u is uniform between exp(key w) and 1, which may be near each other */
        heap[0] = (held_entry){log1p(uniform(d) * expm1(heap[0].key * w)) / w, p};
        sink(heap, n, 0);
        left = log(uniform(d)) / heap[0].key;
    }
    for (int64_t k = 0; k < n; k++) entry[k] = heap[k].entry;
    return n;
}

static int64_t draw_again(sc_drawer *d, int64_t lo, int64_t hi, int64_t most, int64_t *entry)
{
    double *sum = d->memory, all = 0;
    for (int64_t p = lo; p < hi; p++) sum[p - lo] = all += weight_of(d, p);
    if (!(all > 0)) return 0;
    for (int64_t k = 0; k < most; k++) {
        const double wanted = uniform(d) * all;
        int64_t first = 0, end = hi - lo - 1; /* the first whose sum is larger */
        while (first < end) {
            const int64_t mid = first + (end - first) / 2;
            if (sum[mid] > wanted)
                end = mid;
            else
                first = mid + 1;
        }
        while (first && sum[first] == sum[first - 1]) first--; /* where it was rounded up to all of it */
        entry[k] = lo + first;
    }
    return most;
}

int64_t sc_draw(sc_drawer *d, int64_t lo, int64_t hi, int64_t most, int64_t *entry)
{
    const bool all = most < 0 || (!d->replace && !d->weight && most >= hi - lo);
    if (all || hi == lo) {
        for (int64_t p = lo; p < hi; p++) entry[p - lo] = p;
        return hi - lo;
    }
    if (!d->weight) return draw_alike(d, lo, hi, most, entry);
    return d->replace ? draw_again(d, lo, hi, most, entry)
                      : draw_weighted(d, lo, hi, sc_min(most, hi - lo), entry);
}

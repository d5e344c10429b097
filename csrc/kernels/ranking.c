/* ranking.c: the largest keys of a buffer. */
#include "ranking.h"

/* Moves the keys of [lo, hi) that are larger than the pivot, or as large, to the front; returns where they end. */
SC_INLINE int64_t part(uint64_t *key, int64_t lo, int64_t hi, uint64_t pivot, bool equal)
{
    int64_t end = lo;
    for (int64_t i = lo; i < hi; i++) {
        const uint64_t x = key[i];
        key[i] = key[end];
        key[end] = x;
        end += equal ? x >= pivot : x > pivot;
    }
    return end;
}

/* The k-th largest of n keys, which change places. */
static uint64_t kth(uint64_t *key, int64_t n, int64_t k)
{
    uint64_t random = 12345;
    for (int64_t lo = 0, hi = n;;) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint64_t pivot = key[lo + (int64_t)((random >> 33) * (uint64_t)(hi - lo) >> 31)];
        const int64_t larger = part(key, lo, hi, pivot, false);
        if (k <= larger) {
            hi = larger;
            continue;
        }
        lo = part(key, larger, hi, pivot, true);
        if (k <= lo) return pivot;
    }
}

void sc_ranking_shrink(sc_ranking *b)
{
    memcpy(b->scratch, b->key, (size_t)b->n * sizeof *b->key);
    b->bar = kth(b->scratch, b->n, b->k);
    b->barred = true;
    int64_t above = 0, kept = 0;
    for (int64_t i = 0; i < b->n; i++) above += b->key[i] > b->bar;
    int64_t equal = b->k - above;
    for (int64_t i = 0; i < b->n; i++) {
        if (b->key[i] < b->bar || (b->key[i] == b->bar && equal-- <= 0)) continue;
        b->key[kept] = b->key[i];
        b->at[kept++] = b->at[i];
    }
    b->n = kept;
}

/* ---- in order ---- */
#define SHORT 24 /* keys that are put in order by moving them one by one */

static void insert_all(sc_ranking *b)
{
    for (int64_t i = 1; i < b->n; i++) {
        const uint64_t key = b->key[i];
        const int64_t at = b->at[i];
        int64_t j = i;
        for (; j && b->key[j - 1] < key; j--) b->key[j] = b->key[j - 1], b->at[j] = b->at[j - 1];
        b->key[j] = key, b->at[j] = at;
    }
}

/* Whether i comes before j. */
SC_INLINE bool is_before(const sc_ranking *b, int64_t i, int64_t j)
{ return b->key[i] > b->key[j] || (b->key[i] == b->key[j] && b->at[i] < b->at[j]); }

SC_INLINE void swap(sc_ranking *b, int64_t i, int64_t j)
{
    const uint64_t key = b->key[i];
    const int64_t at = b->at[i];
    b->key[i] = b->key[j], b->at[i] = b->at[j];
    b->key[j] = key, b->at[j] = at;
}

/* Lets i sink below those of [i, n) that come after it: the last is at the top of a heap. */
static void sink(sc_ranking *b, int64_t i, int64_t n)
{
    for (int64_t c; (c = 2 * i + 1) < n; i = c) {
        if (c + 1 < n && is_before(b, c, c + 1)) c++;
        if (is_before(b, c, i)) return;
        swap(b, i, c);
    }
}

void sc_ranking_sort(sc_ranking *b)
{
    if (b->n <= SHORT) {
        insert_all(b);
        return;
    }
    for (int64_t i = b->n / 2; i-- > 0;) sink(b, i, b->n);
    for (int64_t end = b->n - 1; end > 0; end--) swap(b, 0, end), sink(b, 0, end);
}

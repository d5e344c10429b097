/* convert_wide.c: see convert_wide.h. */
#include <stdatomic.h>
#include <string.h>

#include "convert_wide_vectors.h"

static atomic_int widest = 64;

void sc_wide_allow(int vector_bytes) { atomic_store(&widest, vector_bytes); }

/* The widest vectors that the CPU has and that are allowed, or null. */
static const sc_wide *wide(void)
{
#if defined(__x86_64__)
    const int allowed = atomic_load_explicit(&widest, memory_order_relaxed);
    if (allowed >= 64 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("popcnt"))
        return &sc_wide_64;
    if (allowed >= 32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"))
        return &sc_wide_32;
#endif
    return NULL;
}

/* ---- where coordinates change ---- */
SC_INLINE void change(sc_changing *c, const void *crd, sc_dtype itype, int64_t begin, int64_t i, int64_t end,
                      uint32_t *out)
{
    for (; i < end; i++) {
        int64_t next = sc_index(crd, itype, i + 1);
        out[c->n] = (uint32_t)(i - begin);
        c->n += next != c->here;
        c->signs |= (uint64_t)next | (uint64_t)(next - c->here);
        c->here = next;
    }
}

int sc_wide_changes(const void *crd, sc_dtype itype, int64_t extent, int64_t begin, int64_t end,
                    uint32_t *out)
{
    const sc_wide *w = wide();
    int64_t i = begin;
    sc_changing c = {.here = sc_index(crd, itype, begin)};
    c.signs = (uint64_t)c.here;
    if (w) i = w->change(&c, crd, itype, begin, end, out);
#define RUN(t) change(&c, crd, t, begin, i, end, out)
    SC_BY_INDEX(itype, RUN);
#undef RUN
    return c.signs >> 63 || c.here >= extent ? -1 : c.n;
}

/* ---- indices from distances ---- */
SC_INLINE void put_indices(void *out, sc_dtype itype, int64_t at, int64_t base, const uint32_t *distance,
                           int k, int n)
{
    for (; k < n; k++) sc_index_put(out, itype, at + k, base + distance[k]);
}

void sc_wide_put(void *out, sc_dtype itype, int64_t at, int64_t base, const uint32_t *distance, int n)
{
    const sc_wide *w = wide();
    const int k = w && w->put ? w->put(out, itype, at, base, distance, n) : 0;
#define RUN(t) put_indices(out, t, at, base, distance, k, n)
    SC_BY_INDEX(itype, RUN);
#undef RUN
}

/* ---- what is not zero ---- */
/* The bits that say so: for floating point all but the sign. */
static uint64_t mask_of(sc_dtype t)
{
    bool real = t == SC_F16 || t == SC_BF16 || t == SC_F32 || t == SC_F64;
    return (UINT64_MAX >> (64 - 8 * sc_dtype_size(t))) >> real;
}

SC_INLINE uint64_t mark_word(const void *val, size_t size, uint64_t mask, int64_t begin, int64_t end)
{
    uint64_t word = 0, x = 0;
    for (int64_t j = begin; j < end; j++) {
        sc_value_move(&x, 0, val, j, size);
        word |= (uint64_t)((x & mask) != 0) << (j - begin);
    }
    return word;
}

int64_t sc_wide_mark(const void *val, sc_dtype t, int64_t n, uint64_t *bits)
{
    size_t size = sc_dtype_size(t);
    uint64_t mask = mask_of(t);
    const sc_wide *w = wide();
    int64_t count = 0, j = 0;
    if (w) {
        count = w->mark(val, size, mask, n, bits);
        j = n & ~(int64_t)63;
    }
    for (; j < n; j += 64) {
        int64_t end = sc_min(j + 64, n);
#define RUN(s) bits[j / 64] = mark_word(val, s, mask, j, end)
        SC_BY_SIZE(size, RUN);
#undef RUN
        count += __builtin_popcountll(bits[j / 64]);
    }
    return count;
}

/* ---- picking what is marked ---- */
int64_t sc_wide_pick(const void *val, size_t size, int64_t n, const uint64_t *bits, sc_dtype itype, void *crd,
                     void *out, int64_t k, int64_t end)
{
    sc_picking x = {crd, out, k, end};
    const sc_wide *w = size >= 4 ? wide() : NULL;
    int64_t j = w ? w->pick(&x, val, size, itype, n, bits) : 0;
    for (; j < n; j += 64) {
#define RUN(index, s) sc_pick_word(&x, val, s, index, j, bits[j / 64])
        SC_BY_INDEX_AND_SIZE(itype, size, RUN);
#undef RUN
    }
    return x.k;
}

/* ---- sorting a few keys ---- */
static void insertion_sort(uint64_t *a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        uint64_t x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

void sc_wide_sort(uint64_t *key, int64_t n)
{
    const sc_wide *w = wide();
    if (n < 2) return;
    if (w)
        w->sort(key, n);
    else
        insertion_sort(key, n);
}

uint64_t *sc_wide_sort_all(uint64_t *key, uint64_t *spare, int64_t n)
{
    for (int64_t i = 0; i < n; i += SC_WIDE_SORT) sc_wide_sort(key + i, sc_min(n - i, SC_WIDE_SORT));
    for (int64_t run = SC_WIDE_SORT; run < n; run *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * run) {
            const int64_t mid = sc_min(lo + run, n), hi = sc_min(lo + 2 * run, n);
            int64_t a = lo, b = mid;
            for (int64_t k = lo; k < hi; k++)
                spare[k] = b == hi || (a < mid && key[a] < key[b]) ? key[a++] : key[b++];
        }
        uint64_t *sorted = spare;
        spare = key;
        key = sorted;
    }
    return key;
}

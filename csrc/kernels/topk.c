/* topk.c: the k largest numbers of every row of a matrix, in one pass.
 *
 * A row is read once. Numbers that may be among the k largest are appended to a buffer, with their columns; when it is
 * full it shrinks to its k largest, the smallest of which is from then on the bar that a number has to pass. In random
 * rows of n numbers about k log(n / k) pass it, so nearly all the time goes into comparing vectors of numbers with the
 * bar. Numbers are compared as integers, their bits in an order of their own, in which NaN is the largest and the two
 * zeros are one; the vectors are compared as numbers, which lets NaN pass. Appending keeps columns ascending and so
 * does shrinking, so that the first of equal numbers stay, and the row comes out sorted. */
#include <string.h>

#include "../topk.h"
#include "kernels.h"

#define BLOCK 32 /* numbers that are compared with the bar at once */
#define FEW 32   /* as many numbers fit at least, beside k, before the buffer shrinks */

typedef struct {
    uint64_t *key, *scratch; /* [most] */
    int64_t *column;         /* [most] */
    int64_t n, most, k;
    uint64_t bar; /* keys up to it fail, once there is one */
    bool barred;
} buffer;

/* ---- numbers as integers ---- */
SC_INLINE uint64_t key_f32(float x, bool smallest)
{
    uint32_t bits;
    x += 0.0F; /* of -0 */
    memcpy(&bits, &x, sizeof bits);
    if (x != x) bits = 0x7fffffff;
    bits ^= bits >> 31 ? 0xffffffff : 0x80000000;
    return smallest ? ~bits : bits;
}

SC_INLINE uint64_t key_f64(double x, bool smallest)
{
    uint64_t bits;
    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) bits = 0x7fffffffffffffff;
    bits ^= bits >> 63 ? 0xffffffffffffffff : 0x8000000000000000;
    return smallest ? ~bits : bits;
}

/* ---- the buffer ---- */
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

/* Keeps the k largest, of equal ones the first; the smallest of them is the bar. */
static void shrink(buffer *b)
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
        b->column[kept++] = b->column[i];
    }
    b->n = kept;
}

/* ---- a row ---- */
/* For one type: whether any of a block of numbers may pass the bar, which is a number; then a row. */
#define ROWS_OF(REAL, INT, LANES, NAME, KEY)                                                                 \
    typedef REAL vec_##NAME __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));              \
    typedef INT ivec_##NAME __attribute__((vector_size(16)));                                                \
    SC_INLINE bool any_##NAME(const REAL *x, REAL bar, bool smallest)                                        \
    {                                                                                                        \
        ivec_##NAME fails = ~(ivec_##NAME){0};                                                               \
        const vec_##NAME bars = bar - (vec_##NAME){0};                                                       \
        for (int i = 0; i < BLOCK; i += LANES) {                                                             \
            const vec_##NAME v = *(const vec_##NAME *)(x + i);                                               \
            fails &= smallest ? v >= bars : v <= bars;                                                       \
        }                                                                                                    \
        INT all = fails[0];                                                                                  \
        for (int l = 1; l < LANES; l++) all &= fails[l];                                                     \
        return !all;                                                                                         \
    }                                                                                                        \
    SC_INLINE void take_##NAME(const REAL *x, int64_t n, bool smallest, buffer *b)                           \
    {                                                                                                        \
        REAL bar = 0;                                                                                        \
        b->n = 0, b->barred = false;                                                                         \
        for (int64_t i = 0; i < n;) {                                                                        \
            if (b->barred && i + BLOCK <= n && !any_##NAME(x + i, bar, smallest)) {                          \
                i += BLOCK;                                                                                  \
                continue;                                                                                    \
            }                                                                                                \
            for (const int64_t end = sc_min(i + BLOCK, n); i < end; i++) {                                   \
                const uint64_t key = b->key[b->n] = KEY(x[i], smallest);                                     \
                b->column[b->n] = i;                                                                         \
                b->n += !b->barred | (key > b->bar);                                                         \
                if (b->n < b->most) continue;                                                                \
                shrink(b);                                                                                   \
                for (int64_t c = 0; c < b->n; c++)                                                           \
                    if (b->key[c] == b->bar) bar = x[b->column[c]];                                          \
            }                                                                                                \
        }                                                                                                    \
        if (b->n > b->k) shrink(b);                                                                          \
    }

ROWS_OF(float, int32_t, 4, f32, key_f32)
ROWS_OF(double, int64_t, 2, f64, key_f64)

static void take_row(const sc_topk *t, int64_t row, buffer *b)
{
    const int64_t n = t->columns, at = row * n;
    if (t->dtype == SC_F32)
        t->smallest ? take_f32((const float *)t->x + at, n, true, b)
                    : take_f32((const float *)t->x + at, n, false, b);
    else
        t->smallest ? take_f64((const double *)t->x + at, n, true, b)
                    : take_f64((const double *)t->x + at, n, false, b);
}

/* ---- all rows ---- */
typedef struct {
    const sc_topk *t;
    char *memory;
    int64_t most; /* numbers in a buffer */
} work;

static size_t buffer_size(const work *w) { return (size_t)w->most * (3 * sizeof(int64_t)) + 64; }

static void take_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    const work *w = arg;
    const sc_topk *t = w->t;
    char *memory = w->memory + (size_t)lane * buffer_size(w);
    buffer b = {.key = (uint64_t *)memory, .most = w->most, .k = t->k};
    b.scratch = b.key + w->most;
    b.column = (int64_t *)(b.scratch + w->most);
    const size_t size = sc_dtype_size(t->dtype);
    for (int64_t row = begin; row < end; row++) {
        take_row(t, row, &b);
        for (int64_t i = 0; i < t->k; i++) {
            sc_index_put(t->crd, t->itype, row * t->k + i, b.column[i]);
            sc_value_move(t->val, row * t->k + i, t->x, row * t->columns + b.column[i], size);
        }
    }
}

int sc_topk_rows(const sc_topk *t, sc_err *e)
{
    if (!t->k || !t->rows) return 0;
    const int nlane = (int)sc_min(sc_team_lanes((double)t->rows * (double)t->columns), t->rows);
    work w = {.t = t, .most = sc_min(t->columns, 2 * t->k + FEW)};
    w.memory = sc_work_take(buffer_size(&w) * (size_t)nlane);
    if (!w.memory)
        return sc_error(e, SC_ENOMEM, "out of memory for the largest %lld of a row", (long long)t->k);
    sc_parallel_ranges(nlane, t->rows, take_rows, &w);
    sc_work_give(w.memory);
    return 0;
}

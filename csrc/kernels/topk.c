/* topk.c: the k largest numbers of every row of a matrix, in one pass.
 *
 * A row is read once. Numbers that may be among the k largest are appended to a buffer (ranking.h), with their columns. In
 * random rows of n numbers few pass its bar, so nearly all the time goes into comparing vectors of numbers with
 * that. They are compared as numbers, which lets NaN pass. Appending keeps columns ascending and so does shrinking, so
 * that the row comes out sorted. */
#include "../topk.h"
#include "ranking.h"

#define BLOCK 32 /* numbers that are compared with the bar at once */

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
    SC_INLINE void take_##NAME(const REAL *x, int64_t n, bool smallest, sc_ranking *b)                       \
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
                b->at[b->n] = i;                                                                             \
                b->n += !b->barred | (key > b->bar);                                                         \
                if (b->n < b->most) continue;                                                                \
                sc_ranking_shrink(b);                                                                        \
                for (int64_t c = 0; c < b->n; c++)                                                           \
                    if (b->key[c] == b->bar) bar = x[b->at[c]];                                              \
            }                                                                                                \
        }                                                                                                    \
        if (b->n > b->k) sc_ranking_shrink(b);                                                               \
    }

ROWS_OF(float, int32_t, 4, f32, sc_key_f32)
ROWS_OF(double, int64_t, 2, f64, sc_key_f64)

static void take_row(const sc_topk *t, int64_t row, sc_ranking *b)
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

static void take_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    const work *w = arg;
    const sc_topk *t = w->t;
    sc_ranking b = sc_ranking_in(w->memory + (size_t)lane * sc_ranking_size(w->most), w->most, t->k);
    const size_t size = sc_dtype_size(t->dtype);
    for (int64_t row = begin; row < end; row++) {
        take_row(t, row, &b);
        for (int64_t i = 0; i < t->k; i++) {
            sc_index_put(t->crd, t->itype, row * t->k + i, b.at[i]);
            sc_value_move(t->val, row * t->k + i, t->x, row * t->columns + b.at[i], size);
        }
    }
}

int sc_topk_rows(const sc_topk *t, sc_err *e)
{
    if (!t->k || !t->rows) return 0;
    const int nlane = (int)sc_min(sc_team_lanes((double)t->rows * (double)t->columns), t->rows);
    work w = {.t = t, .most = sc_min(t->columns, 2 * t->k + SC_RANK_FEW)};
    w.memory = sc_work_take(sc_ranking_size(w.most) * (size_t)nlane);
    if (!w.memory)
        return sc_error(e, SC_ENOMEM, "out of memory for the largest %lld of a row", (long long)t->k);
    sc_parallel_ranges(nlane, t->rows, take_rows, &w);
    sc_work_give(w.memory);
    return 0;
}

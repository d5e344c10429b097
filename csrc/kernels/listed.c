/* listed.c: rows of bfloat16 or float32 that a sparse matrix lists, scaled before products with them and summed behind. */
#include "../listed.h"

#include <string.h>

#include "kernels.h"

enum { LANES = 16 };
typedef uint16_t __attribute__((vector_size(2 * LANES))) halves;
typedef uint32_t __attribute__((vector_size(4 * LANES))) integers;
typedef float __attribute__((vector_size(4 * LANES))) floats;

/* What the two loops below are compiled for as well. */
#if defined(__x86_64__)
#define WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define HAS_WIDE                                                                                             \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&                              \
     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
#else
#define WIDE
#define HAS_WIDE false
#endif

/* n of the lanes from element `at` on, of bfloat16 or of float32; the others are zero. */
SC_INLINE void get(const void *p, int64_t at, int64_t n, bool half, floats *x)
{
    halves h = {0};
    *x = (floats){0};
    if (half) {
        memcpy(&h, (const uint16_t *)p + at, (size_t)n * sizeof(uint16_t));
        *x = (floats)(__builtin_convertvector(h, integers) << 16);
    } else {
        memcpy(x, (const float *)p + at, (size_t)n * sizeof(float));
    }
}

/* To nearest, ties to even, as sc_half_put() does, without a branch. */
SC_INLINE void put(void *p, int64_t at, int64_t n, bool half, const floats *x)
{
    if (!half) {
        memcpy((float *)p + at, x, (size_t)n * sizeof(float));
        return;
    }
    const integers bits = (integers)*x, near = bits + 0x7fff + (bits >> 16 & 1), nan = bits | 0x400000,
                   which = (integers)((bits & 0x7fffffff) > 0x7f800000);
    const halves h = __builtin_convertvector(((which & nan) | (~which & near)) >> 16, halves);
    memcpy((uint16_t *)p + at, &h, (size_t)n * sizeof(uint16_t));
}

static float value(const sc_tensor *t, int64_t k, bool half)
{
    const int64_t at = t->view.perm ? sc_index(t->view.perm, t->itype, k) : k;
    return half ? sc_half_get(SC_BF16, ((const uint16_t *)t->view.val)[at])
                : ((const float *)t->view.val)[at];
}

sc_tensor sc_listed_rows(const sc_tensor *matrix)
{
    sc_tensor rows = {.itype = matrix->itype};
    rows.view.level[0].crd = matrix->view.level[1].crd;
    rows.view.level[0].npos = matrix->view.level[1].npos;
    return rows;
}

static int64_t width_of(const sc_view *v) { return v->nval / sc_max(v->dim[0], 1); }

/* ---- scaled ---- */
typedef struct {
    const sc_tensor *matrix;
    const sc_view *rows;
} scaling;

SC_INLINE void scale_some(void *rows, int64_t at, int64_t n, bool half, float a)
{
    floats x;
    get(rows, at, n, half, &x);
    x *= a;
    put(rows, at, n, half, &x);
}

SC_INLINE void scale_rows(const scaling *s, int64_t begin, int64_t end, bool half)
{
    const int64_t width = width_of(s->rows), whole = width - width % LANES;
    for (int64_t k = begin; k < end; k++) {
        const float a = value(s->matrix, k, half);
        for (int64_t i = 0; i < whole; i += LANES) scale_some(s->rows->val, k * width + i, LANES, half, a);
        scale_some(s->rows->val, k * width + whole, width - whole, half, a);
    }
}

SC_INLINE void scale_all(const scaling *s, int64_t begin, int64_t end)
{
    if (s->matrix->dtype == SC_BF16)
        scale_rows(s, begin, end, true);
    else
        scale_rows(s, begin, end, false);
}

static void scale(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    scale_all(arg, begin, end);
}

WIDE static void scale_wide(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    scale_all(arg, begin, end);
}

void sc_listed_scale(const sc_tensor *matrix, const sc_view *rows)
{
    scaling s = {matrix, rows};
    sc_parallel_ranges(sc_team_lanes((double)rows->nval), rows->dim[0], HAS_WIDE ? scale_wide : scale, &s);
}

/* ---- summed ---- */
typedef struct {
    bool half;
    const void *rows;
    int64_t width;
    const int64_t *first, *entry; /* entries of row r: entry[first[r]], .. */
    const sc_view *out;
    int ndim;
} row_sums;

/* n elements of row r, from one on. */
SC_INLINE void sum_some(const row_sums *s, int64_t r, int64_t from, int64_t n, bool half, int64_t to)
{
    floats x = {0}, y;
    for (int64_t k = s->first[r]; k < s->first[r + 1]; k++) {
        get(s->rows, s->entry[k] * s->width + from, n, half, &y);
        x += y;
    }
    put(s->out->val, to, n, half, &x);
}

SC_INLINE void sum_run(const row_sums *s, int64_t r, int64_t from, int64_t n, bool half, int64_t to)
{
    const int64_t stride = s->out->stride[s->ndim - 1], whole = stride == 1 ? n - n % LANES : 0;
    for (int64_t i = 0; i < whole; i += LANES) sum_some(s, r, from + i, LANES, half, to + i);
    for (int64_t i = whole; i < n; i++) sum_some(s, r, from + i, 1, half, to + i * stride);
}

/* A run for each place in the dimensions between the first and the last. */
SC_INLINE void sum_rows(const row_sums *s, int64_t begin, int64_t end, bool half)
{
    const sc_view *out = s->out;
    const int last = s->ndim - 1;
    const int64_t n = last ? out->dim[last] : 1;
    for (int64_t r = begin; r < end; r++)
        for (int64_t from = 0; from < s->width; from += n) {
            int64_t to = r * out->stride[0], left = from / n;
            for (int d = last - 1; d > 0; left /= out->dim[d--]) to += left % out->dim[d] * out->stride[d];
            sum_run(s, r, from, n, half, to);
        }
}

SC_INLINE void sum_all(const row_sums *s, int64_t begin, int64_t end)
{
    if (s->half)
        sum_rows(s, begin, end, true);
    else
        sum_rows(s, begin, end, false);
}

static void sum(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    sum_all(arg, begin, end);
}

WIDE static void sum_wide(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    sum_all(arg, begin, end);
}

/* The entries of each row, in their order. */
static void sort(const sc_tensor *matrix, int64_t n, int64_t rows, int64_t *first, int64_t *entry)
{
    const void *crd = matrix->view.level[1].crd;
    memset(first, 0, (size_t)(rows + 1) * sizeof *first);
    for (int64_t k = 0; k < n; k++) first[sc_index(crd, matrix->itype, k) + 1]++;
    for (int64_t r = 0; r < rows; r++) first[r + 1] += first[r];
    for (int64_t k = 0; k < n; k++) entry[first[sc_index(crd, matrix->itype, k)]++] = k;
    for (int64_t r = rows; r; r--) first[r] = first[r - 1];
    first[0] = 0;
}

bool sc_listed_sum(const sc_tensor *matrix, const sc_view *rows, const sc_view *out, int ndim)
{
    const int64_t n = rows->dim[0], count = out->dim[0];
    int64_t *first = sc_work_take((size_t)(count + 1 + n) * sizeof *first), *entry = first + count + 1;
    if (!first) return false;
    sort(matrix, n, count, first, entry);
    row_sums s = {matrix->dtype == SC_BF16, rows->val, width_of(out), first, entry, out, ndim};
    sc_parallel_ranges(sc_team_lanes((double)rows->nval), count, HAS_WIDE ? sum_wide : sum, &s);
    sc_work_give(first);
    return true;
}

static bool is_finite(const uint16_t *p, int64_t n)
{
    halves x, all = {0};
    for (; n >= LANES; p += LANES, n -= LANES) {
        memcpy(&x, p, sizeof x);
        all |= (halves)((x & 0x7f80) == 0x7f80);
    }
    bool finite = true;
    for (int i = 0; i < LANES; i++) finite &= !all[i];
    for (int64_t i = 0; i < n; i++) finite &= (p[i] & 0x7f80) != 0x7f80;
    return finite;
}

int64_t sc_listed_infinite(const sc_view *rows, int64_t k, int64_t end)
{
    const int64_t width = width_of(rows);
    while (k < end && is_finite((const uint16_t *)rows->val + k * width, width)) k++;
    return k;
}

void sc_listed_clear(const sc_view *v, int ndim, sc_dtype t) { sc_fill_view(v, ndim, t, 0); }

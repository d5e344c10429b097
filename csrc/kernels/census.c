/* census.c: how much of a matrix is not zero.
 *
 * Whoever chooses between two ways to compute wants a number and little else, so no more is looked at than every step-th
 * row, each at another place of its step: what repeats is not mistaken for all. */
#include <stdatomic.h>

#include "convert.h"
#include "convert_wide.h"

enum { WORDS = 64 };

typedef struct {
    const sc_view *view;
    sc_dtype dtype;
    int64_t step;
    atomic_llong values, rows;
} counting;

static int64_t count_strided(const counting *x, int64_t at, int64_t step, int64_t n)
{
    int64_t found = 0;
#define RUN(t)                                                                                               \
    for (int64_t j = 0; j < n; j++) found += sc_value_nonzero(x->view->val, at + j * step, t)
    SC_BY_DTYPE(x->dtype, RUN);
#undef RUN
    return found;
}

static int64_t count_row(const counting *x, int64_t row)
{
    const sc_view *v = x->view;
    const int64_t at = row * v->stride[0], n = v->dim[1];
    const char *val = (const char *)v->val + at * (int64_t)sc_dtype_size(x->dtype);
    uint64_t bits[WORDS];
    int64_t found = 0;
    if (v->stride[1] != 1 && n > 1) return count_strided(x, at, v->stride[1], n);
    for (int64_t j = 0; j < n; j += WORDS * 64)
        found += sc_wide_mark(val + j * (int64_t)sc_dtype_size(x->dtype), x->dtype, sc_min(n - j, WORDS * 64),
                              bits);
    return found;
}

/* The row that stands for the k-th step. */
static int64_t row_of(const counting *x, int64_t k)
{ return sc_min(sc_sample(k, x->step), x->view->dim[0] - 1); }

static void count_range(void *arg, int lane, int64_t begin, int64_t end)
{
    counting *x = arg;
    int64_t values = 0, rows = 0;
    (void)lane;
    for (int64_t k = begin; k < end; k++) {
        const int64_t n = count_row(x, row_of(x, k));
        values += n;
        rows += n > 0;
    }
    atomic_fetch_add(&x->values, values);
    atomic_fetch_add(&x->rows, rows);
}

void sc_census_take(const sc_tensor *t, int64_t step, sc_census *out)
{
    counting x = {.view = &t->view, .dtype = t->dtype, .step = sc_max(step, 1)};
    const int64_t n = t->view.dim[0] / x.step + (t->view.dim[0] % x.step != 0);
    sc_parallel_ranges(sc_team_lanes((double)n * (double)t->view.dim[1] / 8), n, count_range, &x);
    *out = (sc_census){.seen = n, .rows = x.rows, .values = x.values};
}

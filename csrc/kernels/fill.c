/* fill.c: writing one value over memory, and moving values by a permutation.
 *
 * Memory-bound loops: the only questions are who touches a page first and how
 * large the pages are. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels.h"

#define HUGE_FROM ((size_t)4 << 20)

void sc_fill_advise(void *p, size_t size)
{
#ifdef MADV_HUGEPAGE
    if (size <= HUGE_FROM) return;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)p + page - 1) & ~(page - 1), end = ((uintptr_t)p + size) & ~(page - 1);
    if (end > begin) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)p, (void)size;
#endif
}

/* The bytes of value as a dtype; true if they are all zero. */
static bool encode(sc_dtype t, double value, uint64_t *out)
{
    *out = 0;
    sc_number_put(t, out, 0, value);
    return *out == 0;
}

void sc_fill_serial(void *p, sc_dtype t, int64_t n, double value)
{
    uint64_t x = 0;
    if (n <= 0) return;
    if (encode(t, value, &x)) {
        memset(p, 0, (size_t)n * sc_dtype_size(t));
        return;
    }
#define FILL(size)                                                                                           \
    for (int64_t i = 0; i < n; i++) sc_value_move(p, i, &x, 0, size)
    SC_BY_SIZE(sc_dtype_size(t), FILL);
#undef FILL
}

typedef struct {
    char *p;
    sc_dtype dtype;
    double value;
} filling;

static void fill_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const filling *f = arg;
    (void)lane;
    sc_fill_serial(f->p + (size_t)begin * sc_dtype_size(f->dtype), f->dtype, end - begin, f->value);
}

void sc_fill(void *p, sc_dtype dtype, int64_t n, double value)
{
    filling f = {p, dtype, value};
    if (n <= 0) return;
    size_t size = (size_t)n * sc_dtype_size(dtype);
    sc_fill_advise(p, size);
    sc_parallel_ranges(sc_team_lanes((double)size / 16), n, fill_range, &f);
}

/* ---- strides ---- */
typedef struct {
    const sc_view *view;
    int order[SC_MAXDIM]; /* dimensions of more than one coordinate, by falling stride */
    int n;
    sc_dtype dtype;
    double value;
} strided;

static void order_dims(strided *f, int ndim)
{
    for (int d = 0; d < ndim; d++) {
        int k = f->n;
        if (f->view->dim[d] == 1) continue;
        for (; k > 0 && f->view->stride[f->order[k - 1]] < f->view->stride[d]; k--)
            f->order[k] = f->order[k - 1];
        f->order[k] = d;
        f->n++;
    }
}

/* Elements of the innermost dimensions that lie side by side; *n counts the
 * dimensions left outside. */
static int64_t run_length(const strided *f, int *n)
{
    int64_t run = 1;
    for (*n = f->n; *n > 0 && f->view->stride[f->order[*n - 1]] == run; (*n)--)
        run *= f->view->dim[f->order[*n - 1]];
    return run;
}

static void fill_runs(void *arg, int lane, int64_t begin, int64_t end)
{
    const strided *f = arg;
    int n;
    int64_t run = run_length(f, &n), size = (int64_t)sc_dtype_size(f->dtype);
    (void)lane;
    for (int64_t r = begin; r < end; r++) {
        int64_t at = 0, rest = r;
        for (int k = n - 1; k >= 0; k--) {
            int d = f->order[k];
            at += rest % f->view->dim[d] * f->view->stride[d];
            rest /= f->view->dim[d];
        }
        sc_fill_serial((char *)f->view->val + at * size, f->dtype, run, f->value);
    }
}

void sc_fill_view(const sc_view *view, int ndim, sc_dtype dtype, double value)
{
    strided f = {.view = view, .dtype = dtype, .value = value};
    int n;
    order_dims(&f, ndim);
    int64_t run = run_length(&f, &n), runs = 1;
    for (int k = 0; k < n; k++) runs *= view->dim[f.order[k]];
    if (run == 0 || runs == 0) return;
    if (runs == 1)
        sc_fill(view->val, dtype, run, value);
    else
        sc_parallel_ranges(sc_team_lanes((double)run * (double)runs / 4), runs, fill_runs, &f);
}

/* ---- gathering ---- */
typedef struct {
    void *out;
    const void *in, *perm;
    sc_dtype itype, dtype;
} gathering;

static void gather_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const gathering *g = arg;
    static const uint64_t zero;
    (void)lane;
#define GATHER(size)                                                                                         \
    for (int64_t i = begin; i < end; i++) {                                                                  \
        const int64_t from = sc_index(g->perm, g->itype, i);                                                 \
        sc_value_move(g->out, i, from < 0 ? &zero : g->in, from < 0 ? 0 : from, size);                       \
    }
    SC_BY_SIZE(sc_dtype_size(g->dtype), GATHER);
#undef GATHER
}

/* A negative entry of perm is a place that no source value fills: it becomes 0. */
void sc_gather_values(void *out, const void *in, const void *perm, sc_dtype itype, int64_t n, sc_dtype dtype)
{
    gathering g = {out, in, perm, itype, dtype};
    if (n > 0) sc_parallel_ranges(sc_team_lanes((double)n), n, gather_range, &g);
}

/* ---- scattering ---- */
typedef struct {
    void *out;
    const void *in, *perm;
    sc_dtype itype, dtype;
} scattering;

static void scatter_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const scattering *s = arg;
    (void)lane;
#define SCATTER(size)                                                                                        \
    for (int64_t i = begin; i < end; i++) {                                                                  \
        int64_t to = sc_index(s->perm, s->itype, i);                                                         \
        if (to >= 0) sc_value_move(s->out, to, s->in, i, size);                                              \
    }
    SC_BY_SIZE(sc_dtype_size(s->dtype), SCATTER);
#undef SCATTER
}

void sc_scatter_values(void *out, const void *in, const void *perm, sc_dtype itype, int64_t n, sc_dtype dtype)
{
    scattering s = {out, in, perm, itype, dtype};
    if (n > 0) sc_parallel_ranges(sc_team_lanes((double)n), n, scatter_range, &s);
}

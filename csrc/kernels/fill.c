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

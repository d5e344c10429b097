/* kron.c: the Kronecker product of two csr matrices, in one pass over the result.
 *
 * How many entries stand in front of row (i, k) is told by pos of both: those of the rows in front of i, with all of b, and
 * those of row i with the rows in front of k. So each row is made where it belongs, and lanes have rows of a
 * with as many entries. */
#include "../kron.h"
#include "kernels.h"

/* out[q] = a[p] * b[r] */
SC_INLINE void multiply(sc_dtype t, void *out, int64_t q, const void *a, int64_t p, const void *b, int64_t r)
{
    switch (t) {
    case SC_F32: ((float *)out)[q] = ((const float *)a)[p] * ((const float *)b)[r]; break;
    case SC_F64: ((double *)out)[q] = ((const double *)a)[p] * ((const double *)b)[r]; break;
    case SC_I32: ((uint32_t *)out)[q] = ((const uint32_t *)a)[p] * ((const uint32_t *)b)[r]; break;
    case SC_I64: ((uint64_t *)out)[q] = ((const uint64_t *)a)[p] * ((const uint64_t *)b)[r]; break;
    default:
        ((uint16_t *)out)[q] = sc_half_put(t, sc_half_get(t, ((const uint16_t *)a)[p]) *
                                                  sc_half_get(t, ((const uint16_t *)b)[r]));
    }
}

SC_INLINE void make_rows(const sc_kron *x, sc_dtype itype, sc_dtype dtype, int64_t begin, int64_t end)
{
    const sc_factor *a = &x->a, *b = &x->b;
    const int64_t all = sc_index(b->pos, itype, b->rows);
    for (int64_t i = begin; i < end; i++) {
        const int64_t lo = sc_index(a->pos, itype, i), hi = sc_index(a->pos, itype, i + 1);
        int64_t q = lo * all;
        for (int64_t k = 0; k < b->rows; k++) {
            const int64_t first = sc_index(b->pos, itype, k), last = sc_index(b->pos, itype, k + 1);
            sc_index_put(x->pos, itype, i * b->rows + k, q);
            for (int64_t p = lo; p < hi; p++) {
                const int64_t column = sc_index(a->crd, itype, p) * b->columns;
                for (int64_t r = first; r < last; r++, q++) {
                    sc_index_put(x->crd, itype, q, column + sc_index(b->crd, itype, r));
                    multiply(dtype, x->val, q, a->val, p, b->val, r);
                }
            }
        }
    }
}

/* Lanes have as many entries and rows of the result each. */
static int64_t work_before(const void *ctx, int64_t i)
{
    const sc_kron *x = ctx;
    return sc_index(x->a.pos, x->itype, i) * sc_index(x->b.pos, x->itype, x->b.rows) + i * x->b.rows;
}

typedef struct {
    const sc_kron *kron;
    int nlane;
} making;

static void make_lane(void *arg, int lane, int64_t first, int64_t last)
{
    const making *m = arg;
    const sc_kron *x = m->kron;
    const int64_t work = work_before(x, x->a.rows);
    const int64_t begin = sc_split_find(work_before, x, x->a.rows, sc_split_even(work, (int)first, m->nlane)),
                  end = sc_split_find(work_before, x, x->a.rows, sc_split_even(work, (int)last, m->nlane));
    (void)lane;
#define ROWS(itype, dtype) make_rows(x, itype, dtype, begin, end)
    switch (x->dtype) {
    case SC_F32: SC_BY_INDEX(x->itype, ROWS, SC_F32); break;
    case SC_F64: SC_BY_INDEX(x->itype, ROWS, SC_F64); break;
    case SC_I32: SC_BY_INDEX(x->itype, ROWS, SC_I32); break;
    case SC_I64: SC_BY_INDEX(x->itype, ROWS, SC_I64); break;
    default: SC_BY_INDEX(x->itype, ROWS, x->dtype); break;
    }
#undef ROWS
}

void sc_kron_make(const sc_kron *x)
{
    const int64_t work = work_before(x, x->a.rows);
    const making m = {.kron = x, .nlane = sc_team_lanes((double)work)};
    sc_parallel_ranges(m.nlane, m.nlane, make_lane, (void *)&m);
    sc_index_put(x->pos, x->itype, x->a.rows * x->b.rows,
                 sc_index(x->a.pos, x->itype, x->a.rows) * sc_index(x->b.pos, x->itype, x->b.rows));
}

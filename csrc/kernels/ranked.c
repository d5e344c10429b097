/* ranked.c: places in the order of the numbers of each row, where a missing one is zero.
 *
 * Numbers are keys (ranking.h). First come the entries before zero, then the zeros by their columns, stored or not, then the
 * entries behind zero. Only the part of the entries that the places reach into is put in order, in a buffer that shrinks to
 * as many as are wanted; where zeros are is found by walking along the entries. */
#include "../ranked.h"
#include "ranking.h"

typedef struct {
    const sc_ranked *r;
    int64_t low, high;
    char *memory; /* a buffer a lane */
    int64_t most;
    int nlane;
} ranking;

/* A row while it is looked at: its entries, the first zero and what is behind the last one, and where results go: that at
 * place low is number 0 from there. */
typedef struct {
    int64_t lo, hi, above, below, out;
} row;

SC_INLINE int is_side(uint64_t key, uint64_t zero) { return key > zero ? 1 : key < zero ? -1 : 0; }

/* ---- entries ---- */
/* The places from `from` to `to` among the entries on one side of zero, which begin at place `first`. */
SC_INLINE void put_side(const ranking *x, const row *w, sc_ranking *b, sc_dtype itype, sc_dtype dtype,
                        int side, int64_t first)
{
    const sc_ranked *r = x->r;
    const uint64_t zero = sc_key_zero(dtype, r->smallest);
    const int64_t from = sc_max(x->low - first, 0);
    b->n = 0, b->barred = false;
    b->k = x->high - first;
    for (int64_t p = w->lo; p < w->hi; p++) {
        const uint64_t key = b->key[b->n] = sc_key(r->val, dtype, p, r->smallest);
        b->at[b->n] = p;
        b->n += is_side(key, zero) == side && (!b->barred || key > b->bar);
        if (b->n == b->most) sc_ranking_shrink(b);
    }
    if (b->n > b->k) sc_ranking_shrink(b);
    sc_ranking_sort(b);
    for (int64_t i = from; i < b->n; i++) {
        const int64_t to = w->out + first + i - x->low;
        r->at[to] = sc_index(r->crd, itype, b->at[i]);
        sc_value_move(r->out, to, r->val, b->at[i], sc_dtype_size(dtype));
    }
}

/* ---- zeros ---- */
/* The zeros from number j to number end of a row; before each entry that is none, and behind the last one, lie some. */
SC_INLINE void put_zeros(const ranking *x, const row *w, sc_dtype itype, sc_dtype dtype, int64_t j,
                         int64_t end)
{
    const sc_ranked *r = x->r;
    const uint64_t zero = sc_key_zero(dtype, r->smallest);
    int64_t passed = 0, column = 0; /* zeros, and their next column */
    for (int64_t p = w->lo; passed < end; p++) {
        const bool behind = p == w->hi;
        if (!behind && sc_key(r->val, dtype, p, r->smallest) == zero) continue;
        const int64_t next = behind ? r->columns : sc_index(r->crd, itype, p);
        for (const int64_t stop = sc_min(passed + next - column, end); j < stop; j++) {
            const int64_t to = w->out + w->above + j - x->low;
            r->at[to] = column + j - passed;
            memset((char *)r->out + (size_t)to * sc_dtype_size(dtype), 0, sc_dtype_size(dtype));
        }
        passed += next - column;
        column = next + 1;
    }
}

/* ---- rows ---- */
SC_INLINE void put_row(const ranking *x, sc_ranking *b, int64_t i, sc_dtype itype, sc_dtype dtype)
{
    const sc_ranked *r = x->r;
    const uint64_t zero = sc_key_zero(dtype, r->smallest);
    row w = {.lo = sc_index(r->pos, itype, i), .hi = sc_index(r->pos, itype, i + 1)};
    for (int64_t p = w.lo; p < w.hi; p++) {
        const int side = is_side(sc_key(r->val, dtype, p, r->smallest), zero);
        w.above += side > 0, w.below += side < 0;
    }
    w.out = i * (x->high - x->low);
    const int64_t behind = r->columns - w.below; /* the last zero */
    if (x->low < w.above) put_side(x, &w, b, itype, dtype, 1, 0);
    if (x->low < behind && x->high > w.above)
        put_zeros(x, &w, itype, dtype, sc_max(x->low - w.above, 0), sc_min(x->high, behind) - w.above);
    if (x->high > behind) put_side(x, &w, b, itype, dtype, -1, behind);
}

/* Lanes have as many entries and results each. */
static int64_t work_before(const void *ctx, int64_t i)
{
    const ranking *x = ctx;
    return sc_index(x->r->pos, x->r->itype, i) + i * (x->high - x->low);
}

static int64_t lane_begin(const ranking *x, int lane)
{
    const int64_t work = work_before(x, x->r->rows);
    return sc_split_find(work_before, x, x->r->rows, sc_split_even(work, lane, x->nlane));
}

static void put_lane(void *arg, int lane, int64_t first, int64_t last)
{
    const ranking *x = arg;
    const int64_t begin = lane_begin(x, (int)first), end = lane_begin(x, (int)last);
    sc_ranking b = sc_ranking_in(x->memory + (size_t)lane * sc_ranking_size(x->most), x->most, 0);
#define ROWS(itype, dtype)                                                                                   \
    for (int64_t i = begin; i < end; i++) put_row(x, &b, i, itype, dtype)
#define TYPED(dtype) SC_BY_INDEX(x->r->itype, ROWS, dtype)
    SC_BY_KEYED(x->r->dtype, TYPED);
#undef TYPED
#undef ROWS
}

/* The entries of the longest row. */
static int64_t longest(const sc_ranked *r)
{
    int64_t n = 0;
    for (int64_t i = 0; i < r->rows; i++)
        n = sc_max(n, sc_index(r->pos, r->itype, i + 1) - sc_index(r->pos, r->itype, i));
    return n;
}

int sc_ranked_rows(const sc_ranked *r, int64_t low, int64_t high, sc_err *e)
{
    if (low == high || !r->rows) return 0;
    const double work = (double)sc_index(r->pos, r->itype, r->rows) + (double)r->rows * (double)(high - low);
    ranking x = {.r = r, .low = low, .high = high, .nlane = (int)sc_min(sc_team_lanes(4 * work), r->rows)};
    x.most = sc_min(longest(r), 2 * high + SC_RANK_FEW) + 1;
    x.memory = sc_work_take(sc_ranking_size(x.most) * (size_t)x.nlane);
    if (!x.memory)
        return sc_error(e, SC_ENOMEM, "out of memory for the first %lld of a row", (long long)high);
    sc_parallel_ranges(x.nlane, x.nlane, put_lane, &x);
    sc_work_give(x.memory);
    return 0;
}

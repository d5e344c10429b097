/* extremes.c: the largest or the smallest number along each row or each column, where a missing one is zero.
 *
 * One pass over the entries, row by row. Of a row, or of every column, it keeps the first of the best numbers that are
 * not zero, as a key (ranking.h), and the first place without one: coordinates ascend, so that is what one more than
 * the last was, as long as they follow each other. What comes before zero is best, else the first zero is, and only where there
 * is none the best of what comes behind. Lanes have rows of their own, and for columns what they found is joined in the
 * order of the rows. */
#include "../ranked.h"
#include "ranking.h"

#define NAN_KEY UINT64_MAX /* whatever is sought */

typedef struct {
    uint64_t key; /* 0: that of the first number, if none is better */
    uint32_t at, next;
} column_state;

typedef struct {
    const sc_ranked *r;
    column_state *state; /* [nlane, columns] */
    int nlane;
} extremes;

/* ---- keys ---- */
SC_INLINE uint64_t key_at(const sc_ranked *r, sc_dtype dtype, int64_t p)
{
    if (dtype == SC_F32 && ((const float *)r->val)[p] != ((const float *)r->val)[p]) return NAN_KEY;
    if (dtype == SC_F64 && ((const double *)r->val)[p] != ((const double *)r->val)[p]) return NAN_KEY;
    return sc_key(r->val, dtype, p, r->smallest);
}

/* The number that has a key, as number i of the result. */
SC_INLINE void put_number(const sc_ranked *r, sc_dtype dtype, int64_t i, uint64_t key)
{
    const uint64_t high = UINT64_C(1) << 63;
    const bool is_nan = key == NAN_KEY;
    if (r->smallest) key = ~key;
    if (dtype == SC_F32) {
        uint32_t bits = (uint32_t)key;
        bits ^= bits >> 31 ? 0x80000000 : 0xffffffff;
        if (is_nan) bits = 0x7fc00000;
        memcpy((float *)r->out + i, &bits, sizeof bits);
    } else if (dtype == SC_F64) {
        key ^= key & high ? high : UINT64_MAX;
        if (is_nan) key = UINT64_C(0x7ff8000000000000);
        memcpy((double *)r->out + i, &key, sizeof key);
    } else {
        sc_index_put(r->out, dtype, i, (int64_t)(key ^ high));
    }
}

/* Result i, of n numbers: the best that is not zero, and the first zero, if that is before n. */
SC_INLINE void put_result(const sc_ranked *r, sc_dtype dtype, int64_t i, uint64_t key, int64_t at,
                          int64_t next, int64_t n)
{
    const uint64_t zero = sc_key_zero(dtype, r->smallest);
    const bool is_zero = key <= zero && next < n;
    r->at[i] = is_zero ? next : at;
    put_number(r, dtype, i, is_zero ? zero : key);
}

/* ---- rows ---- */
SC_INLINE void put_rows(const sc_ranked *r, sc_dtype itype, sc_dtype dtype, int64_t begin, int64_t end)
{
    const uint64_t zero = sc_key_zero(dtype, r->smallest);
    for (int64_t i = begin, p = sc_index(r->pos, itype, begin); i < end; i++) {
        uint64_t best = 0;
        int64_t at = 0, next = 0;
        for (const int64_t stop = sc_index(r->pos, itype, i + 1); p < stop; p++) {
            const uint64_t key = key_at(r, dtype, p);
            const int64_t column = sc_index(r->crd, itype, p);
            if (key == zero) continue;
            next += next == column;
            at = key > best ? column : at;
            best = key > best ? key : best;
        }
        put_result(r, dtype, i, best, at, next, r->columns);
    }
}

static void extreme_range(void *arg, int lane, int64_t first, int64_t last)
{
    const extremes *x = arg;
    const sc_ranked *r = x->r;
    const int64_t begin = sc_split_rows(r->pos, r->itype, r->rows, (int)first, x->nlane),
                  end = sc_split_rows(r->pos, r->itype, r->rows, (int)last, x->nlane);
    (void)lane;
#define ROWS(itype, dtype) put_rows(r, itype, dtype, begin, end)
#define TYPED(dtype) SC_BY_INDEX(r->itype, ROWS, dtype)
    SC_BY_KEYED(r->dtype, TYPED);
#undef TYPED
#undef ROWS
}

void sc_extreme_rows(const sc_ranked *r)
{
    extremes x = {.r = r};
    x.nlane = sc_team_lanes((double)sc_index(r->pos, r->itype, r->rows) + (double)r->rows);
    sc_parallel_ranges(x.nlane, x.nlane, extreme_range, &x);
}

/* ---- columns ---- */
SC_INLINE void see_rows(const sc_ranked *r, column_state *state, sc_dtype itype, sc_dtype dtype,
                        int64_t begin, int64_t end)
{
    const uint64_t zero = sc_key_zero(dtype, r->smallest);
    for (int64_t i = begin, p = sc_index(r->pos, itype, begin); i < end; i++)
        for (const int64_t stop = sc_index(r->pos, itype, i + 1); p < stop; p++) {
            column_state *s = state + sc_index(r->crd, itype, p);
            const uint64_t key = key_at(r, dtype, p);
            if (key == zero) continue;
            s->next += s->next == (uint32_t)i;
            if (key <= s->key) continue;
            s->key = key, s->at = (uint32_t)i;
        }
}

static void see_lane(void *arg, int lane, int64_t first, int64_t last)
{
    const extremes *x = arg;
    const sc_ranked *r = x->r;
    column_state *state = x->state + lane * r->columns;
    const int64_t begin = sc_split_rows(r->pos, r->itype, r->rows, (int)first, x->nlane),
                  end = sc_split_rows(r->pos, r->itype, r->rows, (int)last, x->nlane);
    for (int64_t c = 0; c < r->columns; c++)
        state[c] = (column_state){.at = (uint32_t)begin, .next = (uint32_t)begin};
#define ROWS(itype, dtype) see_rows(r, state, itype, dtype, begin, end)
#define TYPED(dtype) SC_BY_INDEX(r->itype, ROWS, dtype)
    SC_BY_KEYED(r->dtype, TYPED);
#undef TYPED
#undef ROWS
}

static void join_columns(void *arg, int lane, int64_t begin, int64_t end)
{
    const extremes *x = arg;
    const sc_ranked *r = x->r;
    int64_t from[SC_MAXLANE];
    (void)lane;
    for (int l = 1; l < x->nlane; l++) from[l] = sc_split_rows(r->pos, r->itype, r->rows, l, x->nlane);
    for (int64_t c = begin; c < end; c++) {
        column_state all = x->state[c];
        for (int l = 1; l < x->nlane; l++) {
            const column_state *s = x->state + l * r->columns + c;
            if (all.next == (uint32_t)from[l]) all.next = s->next;
            if (s->key > all.key) all.key = s->key, all.at = s->at;
        }
        put_result(r, r->dtype, c, all.key, all.at, all.next, r->rows);
    }
}

int sc_extreme_columns(const sc_ranked *r, sc_err *e)
{
    const int64_t entries = sc_index(r->pos, r->itype, r->rows);
    extremes x = {.r = r};
    x.nlane = (int)sc_max(sc_min(sc_team_lanes((double)entries), entries / sc_max(2 * r->columns, 1)), 1);
    x.state = sc_work_take((size_t)x.nlane * (size_t)r->columns * sizeof *x.state);
    if (!x.state) return sc_error(e, SC_ENOMEM, "out of memory for %lld columns", (long long)r->columns);
    sc_parallel_ranges(x.nlane, x.nlane, see_lane, &x);
    sc_parallel_ranges(sc_team_lanes((double)r->columns), r->columns, join_columns, &x);
    sc_work_give(x.state);
    return 0;
}

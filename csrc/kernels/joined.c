/* joined.c: csr matrices one beside the other, or one below the other.
 *
 * Beside: a row of the result is one of each, their columns moved; rows are cut by the entries that they have together.
 * Below: arrays follow one another, so that entries are cut anywhere. */
#include <string.h>

#include "../select.h"

#include "kernels.h"

#define FEW 8 /* values, which are copied one by one */

typedef struct {
    const sc_joined *j;
    int nlane;
} joining;

static int64_t stored(const sc_joined *j, const sc_side *x) { return sc_index(x->pos, j->itype, x->rows); }

/* ---- positions ---- */
SC_INLINE void add_positions(const sc_joined *j, int64_t begin, int64_t end, sc_dtype itype)
{
    for (int64_t i = begin; i < end; i++) {
        int64_t n = 0;
        for (int k = 0; k < j->n; k++) n += sc_index(j->side[k].pos, itype, i);
        sc_index_put(j->out_pos, itype, i, n);
    }
}

SC_INLINE void follow_positions(const sc_joined *j, int64_t begin, int64_t end, sc_dtype itype)
{
    int64_t row = 0, before = 0;
    for (int k = 0; k < j->n && row < end; k++) {
        const sc_side *x = &j->side[k];
        const int64_t last = sc_min(end - row, x->rows);
        for (int64_t i = sc_max(begin - row, 0); i < last; i++)
            sc_index_put(j->out_pos, itype, row + i, before + sc_index(x->pos, itype, i));
        row += x->rows;
        before += stored(j, x);
    }
    if (end == j->rows + 1) sc_index_put(j->out_pos, itype, j->rows, before);
}

static void position_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const sc_joined *j = arg;
    (void)lane;
#define ADD(TYPE) add_positions(j, begin, end, TYPE)
#define FOLLOW(TYPE) follow_positions(j, begin, end, TYPE)
    if (j->below)
        SC_BY_INDEX(j->itype, FOLLOW);
    else
        SC_BY_INDEX(j->itype, ADD);
#undef ADD
#undef FOLLOW
}

int sc_joined_count(sc_joined *j, int64_t *n, sc_err *e)
{
    *n = 0;
    for (int k = 0; k < j->n; k++) *n += stored(j, &j->side[k]);
    if (j->itype == SC_I32 && *n > INT32_MAX)
        return sc_error(e, SC_EVALUE,
                        "the result stores more entries than int32 can count: convert the tensors with "
                        "index_dtype=torch.int64 first");
    const double work = (double)j->rows * (j->below ? 1 : j->n);
    sc_parallel_ranges(sc_team_lanes(work), j->rows + 1, position_range, j);
    return 0;
}

/* ---- entries ---- */
/* n coordinates, moved: eight at a time, which are read before any is written. */
#define MOVE(type)                                                                                           \
    static void move_##type(type *to, const type *from, int64_t n, type first)                               \
    {                                                                                                        \
        int64_t k = 0;                                                                                       \
        for (; k + 8 <= n; k += 8) {                                                                         \
            type x[8];                                                                                       \
            for (int i = 0; i < 8; i++) x[i] = from[k + i] + first;                                          \
            for (int i = 0; i < 8; i++) to[k + i] = x[i];                                                    \
        }                                                                                                    \
        for (; k < n; k++) to[k] = from[k] + first;                                                          \
    }
MOVE(int32_t)
MOVE(int64_t)

SC_INLINE void copy_entries(const sc_joined *j, const sc_side *x, int64_t from, int64_t to, int64_t n,
                            sc_dtype itype, size_t size)
{
    if (itype == SC_I64)
        move_int64_t((int64_t *)j->out_crd + to, (const int64_t *)x->crd + from, n, x->first);
    else
        move_int32_t((int32_t *)j->out_crd + to, (const int32_t *)x->crd + from, n, (int32_t)x->first);
    if (!j->valued) return;
    if (n > FEW)
        memcpy((char *)j->out_val + (size_t)to * size, (const char *)x->val + (size_t)from * size,
               (size_t)n * size);
    else
        for (int64_t k = 0; k < n; k++) sc_value_move(j->out_val, to + k, x->val, from + k, size);
}

SC_INLINE void copy_rows(const sc_joined *j, int64_t begin, int64_t end, sc_dtype itype, size_t size)
{
    int64_t to = sc_index(j->out_pos, itype, begin);
    for (int64_t i = begin; i < end; i++)
        for (const sc_side *x = j->side; x < j->side + j->n; x++) {
            const int64_t from = sc_index(x->pos, itype, i), n = sc_index(x->pos, itype, i + 1) - from;
            copy_entries(j, x, from, to, n, itype, size);
            to += n;
        }
}

static void beside_lane(void *arg, int lane, int64_t begin, int64_t end)
{
    const joining *x = arg;
    const sc_joined *j = x->j;
    begin = sc_split_rows(j->out_pos, j->itype, j->rows, lane, x->nlane);
    end = sc_split_rows(j->out_pos, j->itype, j->rows, lane + 1, x->nlane);
#define COPY(TYPE, SIZE) copy_rows(j, begin, end, TYPE, SIZE)
    SC_BY_INDEX_AND_SIZE(j->itype, j->size, COPY);
#undef COPY
}

/* Entries begin to end of the result. */
static void below_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const sc_joined *j = arg;
    (void)lane;
    int64_t before = 0;
    for (const sc_side *x = j->side; x < j->side + j->n && before < end; x++) {
        const int64_t n = stored(j, x), from = sc_max(begin - before, 0), last = sc_min(end - before, n);
#define COPY(TYPE, SIZE) copy_entries(j, x, from, before + from, last - from, TYPE, SIZE)
        if (from < last) SC_BY_INDEX_AND_SIZE(j->itype, j->size, COPY);
#undef COPY
        before += n;
    }
}

void sc_joined_fill(const sc_joined *j)
{
    const int64_t n = sc_index(j->out_pos, j->itype, j->rows);
    joining x = {.j = j};
    if (j->below) {
        sc_parallel_ranges(sc_team_lanes(2 * (double)n), n, below_range, (void *)j);
        return;
    }
    x.nlane = sc_team_lanes(2 * (double)n + (double)j->rows * j->n);
    sc_parallel_ranges(x.nlane, x.nlane, beside_lane, &x);
}

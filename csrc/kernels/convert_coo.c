/* convert_coo.c: a short way from coordinates to (dense, compressed).
 *
 * Strictly sorted coordinates only need their rows counted. Others are dealt
 * into rows by a stable counting sort, as keys (column, source position) in one
 * word. Short rows are then sorted one by one, in the cache; where rows are
 * long, entries are dealt into columns first, and come out of the second deal
 * sorted. Duplicates are neighbours after either, in the order of the source. */
#include <stdlib.h>
#include <string.h>

#include "convert.h"

#define LONG_ROWS 8 /* entries of a row, on average, from which a second pass costs less than sorting */

typedef struct {
    const sc_conversion *c;
    const void *row, *col;
    int64_t n, rows, cols;
    sc_counting k;
    int64_t *pos, *kept;    /* where rows begin among keys; among what remains when duplicates are summed */
    uint64_t *key, *spare;  /* (column, source) in rows; room for as many */
    const void *by, *other; /* of the first pass, which fills `dealt` */
    uint64_t *dealt;
    int64_t *col_pos; /* where columns begin in spare, for the second pass */
    bool again;       /* the second pass */
    void *out_pos, *crd, *val;
    int64_t *perm;
    int lanes; /* of passes over rows */
    bool stray[SC_MAXLANE], falls[SC_MAXLANE], unsorted;
} collecting;

/* ---- is it sorted, is it in range ---- */
SC_INLINE void ask_entries(collecting *x, sc_dtype itype, int lane, int64_t begin, int64_t end)
{
    bool stray = false, falls = false;
    int64_t r0 = begin > 0 ? sc_index(x->row, itype, begin - 1) : -1;
    int64_t c0 = begin > 0 ? sc_index(x->col, itype, begin - 1) : -1;
    for (int64_t e = begin; e < end; e++) {
        int64_t r = sc_index(x->row, itype, e), col = sc_index(x->col, itype, e);
        stray |= ((uint64_t)r >= (uint64_t)x->rows) | ((uint64_t)col >= (uint64_t)x->cols);
        falls |= (r < r0) | ((r == r0) & (col <= c0));
        r0 = r, c0 = col;
    }
    x->stray[lane] = stray;
    x->falls[lane] = falls;
}

static void ask_range(void *arg, int lane, int64_t begin, int64_t end)
{
    collecting *x = arg;
#define RUN(itype) ask_entries(x, itype, lane, begin, end)
    SC_BY_INDEX(x->c->from->itype, RUN);
#undef RUN
}

static int ask(collecting *x)
{
    int lanes = sc_team_lanes((double)x->n);
    sc_parallel_ranges(lanes, x->n, ask_range, x);
    for (int t = 0; t < lanes; t++) {
        if (x->stray[t]) return sc_convert_stray(x->c);
        x->unsorted |= x->falls[t];
    }
    return SC_OK;
}

/* ---- sorted: rows begin where the row changes ---- */
SC_INLINE void begin_rows(collecting *x, sc_dtype from, sc_dtype to, int lane, int64_t begin, int64_t end)
{
    int64_t before = begin > 0 ? sc_index(x->row, from, begin - 1) : -1;
    bool stray = before < -1 || before >= x->rows;
    for (int64_t e = begin; e < end && !stray; e++) {
        int64_t r = sc_index(x->row, from, e);
        if (r == before) continue;
        stray = r < before || r >= x->rows;
        for (int64_t i = before; i < r && !stray; i++) sc_index_put(x->out_pos, to, i + 1, e);
        before = r;
    }
    x->stray[lane] = stray;
}

static void begin_range(void *arg, int lane, int64_t begin, int64_t end)
{
    collecting *x = arg;
#define RUN(from)                                                                                            \
    if (x->c->to->itype == SC_I64)                                                                           \
        begin_rows(x, from, SC_I64, lane, begin, end);                                                       \
    else                                                                                                     \
        begin_rows(x, from, SC_I32, lane, begin, end)
    SC_BY_INDEX(x->c->from->itype, RUN);
#undef RUN
}

/* Fills pos; false if rows are not in order, or out of range. */
static bool begin_all(collecting *x)
{
    int lanes = sc_team_lanes((double)x->n);
    bool stray = false;
    sc_parallel_ranges(lanes, x->n, begin_range, x);
    for (int t = 0; t < lanes; t++) stray |= x->stray[t];
    for (int64_t r = x->n && !stray ? sc_index(x->row, x->c->from->itype, x->n - 1) : -1; r < x->rows; r++)
        sc_index_put(x->out_pos, x->c->to->itype, r + 1, x->n);
    return !stray;
}

static int compress(collecting *x)
{
    const sc_conversion *c = x->c;
    int rc;
    if ((rc = sc_convert_crd_keep(c, 1, x->col, x->n, &x->crd)) || (rc = sc_convert_val_keep(c))) return rc;
    sc_convert_csr_levels(c->to, x->n);
    return SC_OK;
}

/* ---- dealing entries ---- */
/* Entries are dealt by the coordinates `by`, each with its other coordinate and its place in the source. */
SC_INLINE void count_entries(const collecting *x, sc_dtype itype, sc_dtype type, void *count, int64_t begin,
                             int64_t end)
{
    for (int64_t e = begin; e < end; e++) {
        int64_t r = sc_index(x->by, itype, e);
        sc_index_put(count, type, r, sc_index(count, type, r) + 1);
    }
}

SC_INLINE void deal_entries(const collecting *x, sc_dtype itype, sc_dtype type, void *place, int64_t begin,
                            int64_t end)
{
    for (int64_t e = begin; e < end; e++) {
        int64_t r = sc_index(x->by, itype, e), at = sc_index(place, type, r);
        sc_index_put(place, type, r, at + 1);
        x->dealt[at] = (uint64_t)sc_index(x->other, itype, e) << 32 | (uint64_t)e;
    }
}

/* Once more: entries that lie in columns, as (row, source), into rows. */
SC_INLINE void count_again(const collecting *x, sc_dtype type, void *count, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        int64_t r = (int64_t)(x->spare[i] >> 32);
        sc_index_put(count, type, r, sc_index(count, type, r) + 1);
    }
}

SC_INLINE void deal_again(const collecting *x, sc_dtype type, void *place, int64_t begin, int64_t end)
{
    int64_t col = begin < end ? sc_split_fibre(x->col_pos, SC_I64, x->cols, begin) : 0;
    for (int64_t i = begin; i < end; col++)
        for (int64_t last = sc_min(x->col_pos[col + 1], end); i < last; i++) {
            int64_t r = (int64_t)(x->spare[i] >> 32), at = sc_index(place, type, r);
            sc_index_put(place, type, r, at + 1);
            x->key[at] = (uint64_t)col << 32 | (x->spare[i] & UINT32_MAX);
        }
}

#define BY_PASS(type, FIRST, AGAIN)                                                                          \
    do {                                                                                                     \
        if (x->again)                                                                                        \
            AGAIN(x, type, table, begin, end);                                                               \
        else if (x->c->from->itype == SC_I64)                                                                \
            FIRST(x, SC_I64, type, table, begin, end);                                                       \
        else                                                                                                 \
            FIRST(x, SC_I32, type, table, begin, end);                                                       \
    } while (0)

static void count_range(void *arg, int lane, int64_t begin, int64_t end)
{
    collecting *x = arg;
    void *table = sc_counting_lane(&x->k, lane);
    memset(table, 0, (size_t)x->k.nkey * sc_dtype_size(x->k.type));
#define RUN(type) BY_PASS(type, count_entries, count_again)
    SC_BY_INDEX(x->k.type, RUN);
#undef RUN
}

static void deal_range(void *arg, int lane, int64_t begin, int64_t end)
{
    collecting *x = arg;
    void *table = sc_counting_lane(&x->k, lane);
#define RUN(type) BY_PASS(type, deal_entries, deal_again)
    SC_BY_INDEX(x->k.type, RUN);
#undef RUN
}

/* One pass over nkey keys; pos[key] tells where the entries of a key begin. */
static int deal(collecting *x, int64_t nkey, int64_t *pos)
{
    int rc = sc_counting_init(x->c, &x->k, nkey, x->n);
    if (rc) return rc;
    sc_parallel_ranges(x->k.lanes, x->n, count_range, x);
    sc_counting_places(&x->k, pos);
    sc_parallel_ranges(x->k.lanes, x->n, deal_range, x);
    free(x->k.place);
    return SC_OK;
}

static int deal_twice(collecting *x)
{
    x->col_pos = sc_convert_take(x->c, x->cols + 1, sizeof *x->col_pos);
    x->by = x->col, x->other = x->row, x->dealt = x->spare;
    int rc = x->col_pos ? deal(x, x->cols, x->col_pos) : SC_ENOMEM;
    x->again = true;
    if (!rc) rc = deal(x, x->rows, x->pos);
    free(x->col_pos);
    return rc;
}

static int deal_once(collecting *x)
{
    x->by = x->row, x->other = x->col, x->dealt = x->key;
    return deal(x, x->rows, x->pos);
}

/* ---- sorting rows ---- */
static void insertion_sort(uint64_t *a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        uint64_t x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

/* Merge sort; tmp has room for n. */
static void sort_keys(uint64_t *a, int64_t n, uint64_t *tmp)
{
    if (n <= 24) {
        insertion_sort(a, n);
        return;
    }
    int64_t half = n / 2, i = 0, j = half, k = 0;
    sort_keys(a, half, tmp);
    sort_keys(a + half, n - half, tmp);
    if (a[half - 1] <= a[half]) return;
    memcpy(tmp, a, (size_t)half * sizeof *a);
    while (i < half && j < n) {
        bool left = tmp[i] <= a[j];
        a[k++] = left ? tmp[i] : a[j];
        i += left;
        j += !left;
    }
    memcpy(a + k, tmp + i, (size_t)(half - i) * sizeof *a);
}

static int64_t row_weight(const void *ctx, int64_t r)
{
    const collecting *x = ctx;
    return x->pos[r] + r;
}

/* Rows of a lane: even in entries. */
static int64_t row_cut(const collecting *x, int lane)
{ return sc_split_find(row_weight, x, x->rows, sc_split_even(x->n + x->rows, lane, x->lanes)); }

static void sort_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    collecting *x = arg;
    begin = row_cut(x, lane), end = row_cut(x, lane + 1);
    for (int64_t r = begin; r < end; r++) {
        uint64_t *key = x->key + x->pos[r];
        int64_t n = x->pos[r + 1] - x->pos[r], kept = n > 0;
        if (!x->again) sort_keys(key, n, x->spare + x->pos[r]);
        for (int64_t i = 1; i < n; i++) kept += key[i] >> 32 != key[i - 1] >> 32;
        x->kept[r] = kept;
    }
}

/* ---- writing rows ---- */
SC_INLINE void write_keys(const collecting *x, sc_dtype itype, size_t size, int64_t begin, int64_t end)
{
    const void *from = x->c->from->view.val;
    for (int64_t k = begin; k < end; k++) {
        int64_t e = (int64_t)(x->key[k] & UINT32_MAX);
        sc_index_put(x->crd, itype, k, (int64_t)(x->key[k] >> 32));
        sc_value_move(x->val, k, from, e, size);
        if (x->perm) x->perm[k] = e;
    }
}

static void write_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const collecting *x = arg;
    (void)lane;
#define RUN(size)                                                                                            \
    if (x->c->to->itype == SC_I64)                                                                           \
        write_keys(x, SC_I64, size, begin, end);                                                             \
    else                                                                                                     \
        write_keys(x, SC_I32, size, begin, end)
    SC_BY_SIZE(sc_dtype_size(x->c->from->dtype), RUN);
#undef RUN
}

static void sum_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    const collecting *x = arg;
    const void *from = x->c->from->view.val;
    sc_dtype t = x->c->from->dtype;
    begin = row_cut(x, lane), end = row_cut(x, lane + 1);
    for (int64_t r = begin; r < end; r++) {
        int64_t at = x->kept[r] - 1;
        for (int64_t k = x->pos[r]; k < x->pos[r + 1]; k++) {
            int64_t e = (int64_t)(x->key[k] & UINT32_MAX), col = (int64_t)(x->key[k] >> 32);
            if (k > x->pos[r] && x->key[k - 1] >> 32 == (uint64_t)col) {
                sc_value_add(x->val, at, from, e, t);
                continue;
            }
            sc_index_put(x->crd, x->c->to->itype, ++at, col);
            sc_value_move(x->val, at, from, e, sc_dtype_size(t));
        }
    }
}

/* kept: counts of rows -> where they begin; returns the total. */
static int64_t prefix(int64_t *kept, int64_t rows)
{
    int64_t n = 0;
    for (int64_t r = 0; r < rows; r++) {
        int64_t here = kept[r];
        kept[r] = n;
        n += here;
    }
    return kept[rows] = n;
}

static int collect(collecting *x)
{
    const sc_conversion *c = x->c;
    int rc = x->n >= LONG_ROWS * x->rows && x->cols <= 2 * x->n ? deal_twice(x) : deal_once(x);
    if (rc) return rc;
    x->lanes = sc_team_lanes(4 * (double)(x->n + x->rows));
    sc_parallel_ranges(x->lanes, x->lanes, sort_rows, x);
    int64_t n = prefix(x->kept, x->rows);
    if ((rc = sc_convert_crd(c, 1, n, &x->crd)) || (rc = sc_convert_val(c, n, &x->val))) return rc;
    if (n == x->n && (rc = sc_convert_perm(c, n, &x->perm))) return rc;
    sc_convert_narrow(x->out_pos, c->to->itype, x->kept, SC_I64, x->rows + 1);
    if (n == x->n)
        sc_parallel_ranges(sc_team_lanes((double)n), n, write_range, x);
    else
        sc_parallel_ranges(x->lanes, x->lanes, sum_rows, x);
    sc_convert_csr_levels(c->to, n);
    return SC_OK;
}

static int collect_unsorted(collecting *x)
{
    int rc = SC_ENOMEM;
    x->pos = sc_convert_take(x->c, x->rows + 1, sizeof *x->pos);
    x->kept = sc_convert_take(x->c, x->rows + 1, sizeof *x->kept);
    x->key = sc_convert_take(x->c, x->n, sizeof *x->key);
    x->spare = sc_convert_take(x->c, x->n, sizeof *x->spare);
    if (x->pos && x->kept && x->key && x->spare) {
        sc_fill_advise(x->key, (size_t)x->n * sizeof *x->key);
        sc_fill_advise(x->spare, (size_t)x->n * sizeof *x->spare);
        rc = collect(x);
    }
    free(x->pos);
    free(x->kept);
    free(x->key);
    free(x->spare);
    return rc;
}

int sc_convert_coo_csr(const sc_conversion *c)
{
    const sc_view *v = &c->from->view;
    int d = c->to->format.level[0].dim, l = c->from->format.level[0].dim != d; /* source level of the rows */
    collecting x = {.c = c, .row = v->level[l].crd, .col = v->level[!l].crd, .n = v->level[1].npos};
    x.rows = v->dim[d];
    x.cols = v->dim[!d];
    bool trusted = l == 0 && c->from->format.level[1].unique; /* sorted, as the format says */
    int rc = sc_convert_pos(c, 1, x.rows + 1, &x.out_pos);
    if (rc || (!trusted && (rc = ask(&x)))) return rc;
    bool sorted = !x.unsorted && begin_all(&x);
    if (!sorted && trusted) rc = ask(&x);
    if (!rc) rc = sorted ? compress(&x) : collect_unsorted(&x);
    c->to->view.level[1].pos = x.out_pos;
    c->to->view.level[1].crd = x.crd;
    return rc;
}

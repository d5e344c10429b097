/* convert_coo.c: a short way from coordinates to (dense, compressed).
 *
 * Strictly sorted coordinates only need their rows counted. Others are dealt
 * into rows by a stable counting sort, as keys (column, entry) in one word, and
 * rows are then sorted one by one, in the cache. Duplicates are neighbours
 * after that, in the order of the source. */
#include <string.h>

#include "convert.h"
#include "convert_wide.h"

#define FEW (1 << 15) /* entries that one thread sorts */
#define PARTS 64      /* of rows, a lane */
#define LONG 128      /* a row of so many is sorted by its bytes */

typedef struct {
    const sc_conversion *c;
    const void *row, *col;
    int64_t n, rows, cols;
    sc_deal deal;
    int64_t *pos, *kept;   /* where rows begin among keys; among what remains when duplicates are summed */
    uint64_t *key, *spare; /* (column, entry as dealt) in rows; room for as many */
    void *out_pos, *crd, *val;
    int64_t *perm;
    int parts; /* of passes over rows, even in entries */
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
    x->stray[lane] |= stray;
    x->falls[lane] |= falls;
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
    memset(x->stray, 0, sizeof x->stray);
    if (sc_parallel_pieces(lanes, (double)x->n, x->n, ask_range, x)) return SC_ESTOP;
    for (int t = 0; t < lanes; t++) {
        if (x->stray[t]) return sc_convert_stray(x->c);
        x->unsorted |= x->falls[t];
    }
    return SC_OK;
}

/* ---- sorted: rows begin where the row changes ---- */
SC_INLINE bool begin_rows(const collecting *x, sc_dtype from, sc_dtype to, int64_t begin, int64_t end)
{
    const void *row = x->row;
    void *pos = x->out_pos;
    uint32_t at[SC_WIDE_BLOCK + 16];
    end = sc_min(end, x->n - 1);
    for (int64_t e = begin; e < end; e += SC_WIDE_BLOCK) {
        int n = sc_wide_changes(row, from, x->rows, e, sc_min(e + SC_WIDE_BLOCK, end), at);
        if (n < 0) return false;
        int64_t first = sc_index(row, from, e), last = sc_index(row, from, sc_min(e + SC_WIDE_BLOCK, end));
        if (last - first == n) { /* no row in between is empty */
            sc_wide_put(pos, to, first + 1, e + 1, at, n);
            continue;
        }
        for (int k = 0; k < n; k++) {
            int64_t i = e + at[k] + 1, r = sc_index(row, from, i - 1), next = sc_index(row, from, i);
            do sc_index_put(pos, to, ++r, i);
            while (r < next);
        }
    }
    return true;
}

static void begin_range(void *arg, int lane, int64_t begin, int64_t end)
{
    collecting *x = arg;
#define RUN(from)                                                                                            \
    x->stray[lane] |= x->c->to->itype == SC_I64 ? !begin_rows(x, from, SC_I64, begin, end)                   \
                                                : !begin_rows(x, from, SC_I32, begin, end)
    SC_BY_INDEX(x->c->from->itype, RUN);
#undef RUN
}

/* Fills pos; *sorted: not, if rows are not in order, or out of range. */
static int begin_all(collecting *x, bool *sorted)
{
    sc_dtype from = x->c->from->itype, to = x->c->to->itype;
    int lanes = sc_team_lanes((double)x->n);
    int64_t first = x->n ? sc_index(x->row, from, 0) : x->rows;
    int64_t last = x->n ? sc_index(x->row, from, x->n - 1) : x->rows;
    *sorted = first >= 0 && last <= x->rows - (x->n > 0);
    if (!*sorted) return SC_OK;
    if (sc_parallel_pieces(lanes, (double)x->n, x->n, begin_range, x)) return SC_ESTOP;
    for (int t = 0; t < lanes; t++) *sorted &= !x->stray[t];
    if (!*sorted) return SC_OK;
    for (int64_t r = 0; r <= first; r++) sc_index_put(x->out_pos, to, r, 0);
    for (int64_t r = last; r < x->rows; r++) sc_index_put(x->out_pos, to, r + 1, x->n);
    return SC_OK;
}

static int compress(collecting *x)
{
    const sc_conversion *c = x->c;
    int rc;
    if ((rc = sc_convert_crd_keep(c, 1, x->col, x->n, &x->crd)) || (rc = sc_convert_val_keep(c))) return rc;
    sc_convert_csr_levels(c->to, x->n);
    return SC_OK;
}

/* ---- sorting rows ---- */
/* Merge sort; tmp has room for n. */
static void merge_sort(uint64_t *a, int64_t n, uint64_t *tmp)
{
    if (n <= SC_WIDE_SORT) {
        sc_wide_sort(a, n);
        return;
    }
    int64_t half = n / 2, i = 0, j = half, k = 0;
    merge_sort(a, half, tmp);
    merge_sort(a + half, n - half, tmp);
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

/* By the bytes of columns that differ, last byte first; entries of one column stay in their order. tmp has room for n. */
static void radix_sort(uint64_t *a, int64_t n, uint64_t *tmp)
{
    uint64_t *from = a, *to = tmp, varies = 0;
    for (int64_t i = 1; i < n; i++) varies |= a[i] ^ a[0];
    for (int shift = 32; shift < 64; shift += 8) {
        if (!(varies >> shift & UINT8_MAX)) continue;
        int64_t place[UINT8_MAX + 1] = {0};
        for (int64_t i = 0; i < n; i++) place[from[i] >> shift & UINT8_MAX]++;
        sc_prefix(place, UINT8_MAX + 1);
        for (int64_t i = 0; i < n; i++) to[place[from[i] >> shift & UINT8_MAX]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
}

/* Keys that stand in the order of their entries. */
static void sort_keys(uint64_t *a, int64_t n, uint64_t *tmp)
{
    if (n <= SC_WIDE_SORT)
        sc_wide_sort(a, n);
    else if (n >= LONG)
        radix_sort(a, n, tmp);
    else
        merge_sort(a, n, tmp);
}

static int64_t row_weight(const void *ctx, int64_t r)
{
    const collecting *x = ctx;
    return x->pos[r] + r;
}

static int64_t row_cut(const collecting *x, int64_t part)
{ return sc_split_find(row_weight, x, x->rows, sc_split_even(x->n + x->rows, (int)part, x->parts)); }

SC_INLINE void put_keys(collecting *x, const void *keys, sc_dtype type, uint32_t *place, int64_t begin,
                        int64_t end)
{
    uint32_t room[SC_DEAL_BLOCK];
    uint64_t *to = x->key + begin;
    int64_t f = 0;
    for (int64_t e = begin, last; e < end; e = last) {
        last = sc_min(e + SC_DEAL_BLOCK, end);
        const uint32_t *col = sc_deal_others(&x->deal, &f, e, last, room) - e;
        for (int64_t i = e; i < last; i++)
            to[place[sc_deal_key(keys, type, i)]++] = (uint64_t)col[i] << 32 | (uint64_t)i;
    }
}

/* Puts the entries of a bucket into rows, and sorts those. */
static void sort_bucket(void *arg, int lane, int64_t bucket)
{
    collecting *x = arg;
    int64_t begin = x->deal.begin[bucket], end = x->deal.begin[bucket + 1], row = bucket << x->deal.shift;
    int64_t last = sc_min(row + ((int64_t)1 << x->deal.shift), x->rows);
    uint32_t *place = sc_deal_places(&x->deal, lane, bucket, x->pos, SC_I64);
    if (!place) return;
#define RUN(keys, type) put_keys(x, keys, type, place, begin, end)
    SC_DEAL_BY_KEY(&x->deal, RUN);
#undef RUN
    for (int64_t r = row; r < last; r++) {
        uint64_t *key = x->key + x->pos[r];
        int64_t n = (r + 1 < last ? x->pos[r + 1] : end) - x->pos[r], kept = n > 0;
        sort_keys(key, n, x->spare + x->pos[r]);
        for (int64_t i = 1; i < n; i++) kept += key[i] >> 32 != key[i - 1] >> 32;
        x->kept[r] = kept;
    }
}

/* ---- writing rows ---- */
SC_INLINE void write_keys(const collecting *x, sc_dtype itype, size_t size, int64_t begin, int64_t end)
{
    const uint64_t *key = x->key;
    const void *from = x->deal.val;
    void *crd = x->crd, *val = x->val;
    int64_t *perm = x->perm;
    for (int64_t k = begin; k < end; k++) {
        int64_t e = (int64_t)(key[k] & UINT32_MAX);
        sc_index_put(crd, itype, k, (int64_t)(key[k] >> 32));
        sc_value_move(val, k, from, e, size);
        if (perm) perm[k] = sc_deal_source(&x->deal, e);
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
    const void *from = x->deal.val;
    sc_dtype t = x->c->from->dtype;
    float sum = 0;
    (void)lane;
    begin = row_cut(x, begin), end = row_cut(x, end);
    for (int64_t r = begin; r < end; r++) {
        int64_t at = x->kept[r] - 1;
        for (int64_t k = x->pos[r]; k < x->pos[r + 1]; k++) {
            int64_t e = (int64_t)(x->key[k] & UINT32_MAX), col = (int64_t)(x->key[k] >> 32);
            if (k > x->pos[r] && x->key[k - 1] >> 32 == (uint64_t)col) {
                sc_value_add(x->val, at, from, e, t, &sum);
                continue;
            }
            sc_index_put(x->crd, x->c->to->itype, ++at, col);
            sc_value_first(x->val, at, from, e, t, &sum);
        }
    }
}

static int collect(collecting *x)
{
    const sc_conversion *c = x->c;
    int rc = sc_deal_open(&x->deal, c->perm, FEW);
    if (rc || (rc = sc_deal_each(&x->deal, sort_bucket, x))) return rc;
    x->pos[x->rows] = x->n;
    x->parts = PARTS * x->deal.lanes;
    int64_t n = x->kept[x->rows] = sc_prefix(x->kept, x->rows);
    if ((rc = sc_convert_crd(c, 1, n, &x->crd)) || (rc = sc_convert_val(c, n, &x->val))) return rc;
    if (n == x->n && (rc = sc_convert_perm(c, n, &x->perm))) return rc;
    sc_convert_narrow(x->out_pos, c->to->itype, x->kept, SC_I64, x->rows + 1);
    if (n == x->n)
        rc = sc_parallel_pieces(sc_team_lanes((double)n), (double)n, n, write_range, x);
    else
        rc = sc_parallel_pieces(x->deal.lanes, (double)x->n, x->parts, sum_rows, x);
    sc_convert_csr_levels(c->to, n);
    return rc;
}

static int collect_unsorted(collecting *x)
{
    int rc = SC_ENOMEM;
    x->pos = sc_convert_take(x->c, x->rows + 1, sizeof *x->pos);
    x->kept = sc_convert_take(x->c, x->rows + 1, sizeof *x->kept);
    x->key = sc_convert_take(x->c, x->n, sizeof *x->key);
    x->spare = sc_convert_take(x->c, x->n, sizeof *x->spare);
    if (x->pos && x->kept && x->key && x->spare) rc = collect(x);
    sc_deal_close(&x->deal);
    sc_work_give(x->pos);
    sc_work_give(x->kept);
    sc_work_give(x->key);
    sc_work_give(x->spare);
    return rc;
}

int sc_convert_coo_csr(const sc_conversion *c)
{
    const sc_view *v = &c->from->view;
    int d = c->to->format.level[0].dim, l = c->from->format.level[0].dim != d; /* source level of the rows */
    collecting x = {.c = c, .row = v->level[l].crd, .col = v->level[!l].crd, .n = v->level[1].npos};
    x.rows = v->dim[d];
    x.cols = v->dim[!d];
    x.deal = (sc_deal){.c = c, .n = x.n, .nkey = x.rows, .by = x.row, .other = x.col};
    bool trusted = l == 0 && c->from->format.level[1].unique; /* sorted, as the format says */
    int rc = sc_convert_pos(c, 1, x.rows + 1, &x.out_pos);
    if (rc || (!trusted && (rc = ask(&x)))) return rc;
    bool sorted = !x.unsorted;
    if (sorted && (rc = begin_all(&x, &sorted))) return rc;
    if (!sorted && trusted) rc = ask(&x);
    if (!rc) rc = sorted ? compress(&x) : collect_unsorted(&x);
    c->to->view.level[1].pos = x.out_pos;
    c->to->view.level[1].crd = x.crd;
    return rc;
}

/* convert_coo.c: a short way from coordinates to (dense, compressed).
 *
 * Strictly sorted coordinates only need their rows counted. Others are dealt
 * into buckets of rows by a stable counting sort. A bucket is put into rows as
 * keys (column, entry) in one word, and rows are sorted one by one, in the
 * cache. Duplicates are neighbours after that, in the order of the source.
 *
 * Keys take more than entries, so only the lanes have room for them, each for
 * one bucket: what was sorted goes back to where it was dealt to, and when all
 * is sorted, and its number known, from there into the result. Beside the
 * result that is a copy of its columns and values at most. */
#include <string.h>

#include "convert.h"
#include "convert_wide.h"

#define FEW (1 << 15) /* entries that one thread sorts */
#define LONG 128      /* a row of so many is sorted by its bytes */

/* (column, entry as dealt) by rows, and room for as many. */
typedef struct {
    uint64_t *key, *spare;
} sorting;

typedef struct {
    const sc_conversion *c;
    const void *row, *col;
    int64_t n, rows, cols;
    sc_deal deal;
    int64_t *kept; /* of each bucket; where what remains of it goes */
    void *out_pos, *crd, *val;
    int64_t *perm;
    const uint64_t *only; /* the keys of the only bucket, and where its rows end */
    const uint32_t *place;
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
    for (int t = 0; t < lanes; t++) x->unsorted |= x->falls[t];
    return sc_convert_strays(x->c, x->stray, lanes);
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

/* ---- a bucket ---- */
SC_INLINE void put_keys(collecting *x, const void *keys, sc_dtype type, uint64_t *to, uint32_t *place,
                        int64_t begin, int64_t end)
{
    uint32_t room[SC_DEAL_BLOCK];
    int64_t f = 0;
    for (int64_t e = begin, last; e < end; e = last) {
        last = sc_min(e + SC_DEAL_BLOCK, end);
        const uint32_t *col = sc_deal_others(&x->deal, &f, e, last, room) - e;
        for (int64_t i = e; i < last; i++)
            to[place[sc_deal_key(keys, type, i)]++] = (uint64_t)col[i] << 32 | (uint64_t)(i - begin);
    }
}

/* Sorts rows, whose keys end at place[row]; out_pos says how many different ones of the bucket are before each row.
 * Returns how many there are. */
static int64_t sort_rows(const collecting *x, const sorting *s, const uint32_t *place, int64_t row,
                         int64_t last)
{
    int64_t kept = 0, begin = 0;
    for (int64_t r = row; r < last; r++) {
        uint64_t *key = s->key + begin;
        const int64_t n = place[r - row] - begin;
        sc_index_put(x->out_pos, x->c->to->itype, r, kept);
        sort_keys(key, n, s->spare);
        kept += n > 0;
        for (int64_t i = 1; i < n; i++) kept += key[i] >> 32 != key[i - 1] >> 32;
        begin += n;
    }
    return kept;
}

SC_INLINE void write_keys(const uint64_t *key, int64_t n, void *crd, sc_dtype itype, void *val,
                          const void *from, size_t size, int64_t to)
{
    for (int64_t k = 0; k < n; k++) {
        sc_index_put(crd, itype, to + k, (int64_t)(key[k] >> 32));
        sc_value_move(val, to + k, from, (int64_t)(key[k] & UINT32_MAX), size);
    }
}

/* The same where keys repeat; place: where rows end. */
static void sum_keys(const collecting *x, const uint64_t *key, const uint32_t *place, int64_t n, void *crd,
                     sc_dtype itype, void *val, const void *from, int64_t to)
{
    const sc_dtype t = x->c->from->dtype;
    float sum = 0;
    for (int64_t k = 0; k < n; place++)
        for (const int64_t first = k; k < *place; k++) {
            const int64_t e = (int64_t)(key[k] & UINT32_MAX), col = (int64_t)(key[k] >> 32);
            if (k > first && key[k - 1] >> 32 == (uint64_t)col) {
                sc_value_add(val, to - 1, from, e, t, &sum);
                continue;
            }
            sc_index_put(crd, itype, to, col);
            sc_value_first(val, to++, from, e, t, &sum);
        }
}

/* n keys, of which so many are kept, as columns and values from `to` on. */
static void write_entries(const collecting *x, const uint64_t *key, const uint32_t *place, int64_t n,
                          int64_t kept, void *crd, sc_dtype itype, void *val, const void *from, int64_t to)
{
    if (kept < n) {
        sum_keys(x, key, place, n, crd, itype, val, from, to);
        return;
    }
#define RUN(index, size) write_keys(key, n, crd, index, val, from, size, to)
    SC_BY_INDEX_AND_SIZE(itype, sc_dtype_size(x->c->from->dtype), RUN);
#undef RUN
}

/* Where entries were dealt to, sorted ones take their place. The other room of the lane has what they were until then. */
static void put_back(const collecting *x, const sorting *s, const uint32_t *place, int64_t begin, int64_t n,
                     int64_t kept)
{
    const size_t size = sc_dtype_size(x->c->from->dtype);
    uint32_t *source = x->deal.source;
    memcpy(s->spare, (const char *)x->deal.room + (size_t)begin * size, (size_t)n * size);
    write_entries(x, s->key, place, n, kept, x->deal.rest, SC_I32, x->deal.room, s->spare, begin);
    if (!source) return;
    memcpy(s->spare, source + begin, (size_t)n * sizeof *source);
    for (int64_t k = 0; k < n; k++) source[begin + k] = ((const uint32_t *)s->spare)[s->key[k] & UINT32_MAX];
}

static void sort_bucket(void *arg, int lane, int64_t bucket)
{
    collecting *x = arg;
    const int64_t begin = x->deal.begin[bucket], end = x->deal.begin[bucket + 1],
                  row = bucket << x->deal.shift;
    const int64_t last = sc_min(row + ((int64_t)1 << x->deal.shift), x->rows);
    uint32_t *place = sc_deal_places(&x->deal, lane, bucket, NULL, SC_I64);
    uint64_t *key = place ? sc_deal_room(&x->deal, lane, 2 * (end - begin) * (int64_t)sizeof *key) : NULL;
    if (!key) return;
    const sorting s = {key, key + (end - begin)};
#define RUN(keys, type) put_keys(x, keys, type, key, place, begin, end)
    SC_DEAL_BY_KEY(&x->deal, RUN);
#undef RUN
    const int64_t kept = x->kept[bucket] = sort_rows(x, &s, place, row, last);
    if (x->deal.dealt)
        put_back(x, &s, place, begin, end - begin, kept);
    else
        x->only = key, x->place = place;
}

/* ---- the result ---- */
/* Of what a bucket keeps the columns, and where its rows begin. */
static void move_columns(void *arg, int lane, int64_t bucket)
{
    const collecting *x = arg;
    const sc_deal *d = &x->deal;
    const int64_t to = x->kept[bucket], n = x->kept[bucket + 1] - to;
    const int64_t row = bucket << d->shift, last = sc_min(row + ((int64_t)1 << d->shift), x->rows);
    const uint32_t *col = d->rest + d->begin[bucket];
    const sc_dtype itype = x->c->to->itype;
    (void)lane;
    if (itype == SC_I64)
        for (int64_t k = 0; k < n; k++) ((int64_t *)x->crd)[to + k] = col[k];
    else
        memcpy((uint32_t *)x->crd + to, col, (size_t)n * sizeof *col);
    for (int64_t r = row; r < last; r++)
        sc_index_put(x->out_pos, itype, r, sc_index(x->out_pos, itype, r) + to);
}

static void move_values(void *arg, int lane, int64_t bucket)
{
    const collecting *x = arg;
    const size_t size = sc_dtype_size(x->c->from->dtype);
    const int64_t to = x->kept[bucket], n = x->kept[bucket + 1] - to;
    (void)lane;
    memcpy((char *)x->val + (size_t)to * size,
           (const char *)x->deal.room + (size_t)x->deal.begin[bucket] * size, (size_t)n * size);
}

/* Memory goes as soon as its content has moved. */
static int move_all(collecting *x, int64_t n)
{
    const sc_conversion *c = x->c;
    sc_deal *d = &x->deal;
    int rc;
    sc_work_drop(d->low), d->low = NULL; /* for good: nothing below is of its size */
    if ((rc = sc_convert_crd(c, 1, n, &x->crd)) || (rc = sc_deal_each(d, move_columns, x))) return rc;
    sc_work_give(d->rest), d->rest = NULL;
    if ((rc = sc_convert_val(c, n, &x->val)) || (rc = sc_deal_each(d, move_values, x))) return rc;
    sc_work_give(d->room), d->room = NULL;
    return SC_OK;
}

static int write_only(collecting *x, int64_t n)
{
    const sc_conversion *c = x->c;
    int rc;
    if ((rc = sc_convert_crd(c, 1, n, &x->crd)) || (rc = sc_convert_val(c, n, &x->val))) return rc;
    write_entries(x, x->only, x->place, x->n, n, x->crd, c->to->itype, x->val, x->deal.val, 0);
    return SC_OK;
}

static int collect(collecting *x)
{
    const sc_conversion *c = x->c;
    sc_deal *d = &x->deal;
    int rc = sc_deal_open(d, c->perm, FEW);
    if (rc || !(x->kept = sc_convert_take(c, d->nbucket + 1, sizeof *x->kept))) return rc ? rc : SC_ENOMEM;
    if ((rc = sc_deal_each(d, sort_bucket, x))) return rc;
    const int64_t n = x->kept[d->nbucket] = sc_prefix(x->kept, d->nbucket);
    if ((rc = d->dealt ? move_all(x, n) : write_only(x, n))) return rc;
    if (n == x->n && (rc = sc_convert_perm(c, n, &x->perm))) return rc;
    for (int64_t k = 0; k < n && x->perm; k++)
        x->perm[k] = d->dealt ? d->source[k] : (int64_t)(x->only[k] & UINT32_MAX);
    sc_index_put(x->out_pos, c->to->itype, x->rows, n);
    sc_convert_csr_levels(c->to, n);
    return SC_OK;
}

static int collect_unsorted(collecting *x)
{
    const int rc = collect(x);
    sc_deal_close(&x->deal);
    sc_work_give(x->kept);
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

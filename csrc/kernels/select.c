/* select.c: rows and columns of a csr matrix: counted, then copied.
 *
 * A row of the result is a row of the matrix, or what is left of it. Columns that are a range are found by arithmetic.
 * A list of columns is turned around first: where in the result each column of the matrix goes, once for every time that
 * the list names it. If the list ascends, what is left of a row ascends too; else it is sorted by keys of 64 bits, the
 * new column above and where it comes from below. */
#include "../select.h"

#include <string.h>

#include "convert_wide.h"
#include "kernels.h"

/* ---- a list of columns, turned around ---- */
static bool ascends(const sc_taken *t)
{
    for (int64_t i = 1; i < t->n; i++)
        if (t->list[i] <= t->list[i - 1]) return false;
    return true;
}

static int out_of_range(sc_err *e, int64_t got, int64_t extent)
{
    return sc_error(e, SC_EVALUE, "an index is out of range: got %lld for an extent of %lld", (long long)got,
                    (long long)extent);
}

static int check_list(const sc_taken *t, int64_t extent, sc_err *e)
{
    for (int64_t i = 0; t->list && i < t->n; i++)
        if (t->list[i] < 0 || t->list[i] >= extent) return out_of_range(e, t->list[i], extent);
    return 0;
}

/* place[offset[c]] to place[offset[c + 1]] are where column c goes. */
static int turn_around(sc_selection *s, sc_err *e)
{
    const sc_taken *t = &s->column;
    const size_t size = sizeof(int64_t) * ((size_t)s->columns + 1 + (size_t)t->n);
    s->offset = sc_work_take(size);
    if (!s->offset) return sc_error(e, SC_ENOMEM, "out of memory for %lld columns", (long long)s->columns);
    s->place = s->offset + s->columns + 1;
    memset(s->offset, 0, sizeof(int64_t) * ((size_t)s->columns + 1));
    for (int64_t i = 0; i < t->n; i++) s->offset[t->list[i]]++;
    int64_t end = 0; /* of the places of a column; each is filled from its end */
    for (int64_t c = 0; c < s->columns; c++) s->offset[c] = end += s->offset[c];
    s->offset[s->columns] = end;
    for (int64_t i = t->n; i-- > 0;) s->place[--s->offset[t->list[i]]] = i;
    return 0;
}

void sc_select_close(sc_selection *s)
{
    sc_work_give(s->offset);
    s->offset = NULL;
}

/* ---- rows ---- */
SC_INLINE int64_t taken(const sc_taken *t, int64_t i)
{ return t->list ? t->list[i] : t->first + i * t->step; }

#define SHORT 64 /* coordinates, up to which counting is faster than a search */

/* The first position in [lo, hi) whose coordinate is not less. */
SC_INLINE int64_t seek(const void *crd, sc_dtype itype, int64_t lo, int64_t hi, int64_t coord)
{
    while (hi - lo > SHORT) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (sc_index(crd, itype, mid) < coord)
            lo = mid + 1;
        else
            hi = mid;
    }
    int64_t n = 0;
    for (int64_t p = lo; p < hi; p++) n += sc_index(crd, itype, p) < coord;
    return lo + n;
}

/* The place in the result of a column of a range with steps, -1: none. */
SC_INLINE int64_t place_in_steps(const sc_taken *t, int64_t c)
{
    const int64_t d = c - t->first;
    return d >= 0 && d % t->step == 0 && d / t->step < t->n ? d / t->step : -1;
}

SC_INLINE int64_t left_of_row(const sc_selection *s, int64_t row, sc_dtype itype)
{
    const int64_t lo = sc_index(s->pos, itype, row), hi = sc_index(s->pos, itype, row + 1);
    int64_t n = 0;
    if (s->every_column) return hi - lo;
    if (!s->offset && s->column.step == 1)
        return seek(s->crd, itype, lo, hi, s->column.first + s->column.n) -
               seek(s->crd, itype, lo, hi, s->column.first);
    for (int64_t p = lo; p < hi; p++) {
        const int64_t c = sc_index(s->crd, itype, p);
        n += s->offset ? s->offset[c + 1] - s->offset[c] : place_in_steps(&s->column, c) >= 0;
    }
    return n;
}

static void count_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    const sc_selection *s = arg;
    (void)lane;
#define COUNT(TYPE)                                                                                          \
    for (int64_t i = begin; i < end; i++)                                                                    \
    sc_index_put(s->out_pos, TYPE, i + 1, left_of_row(s, taken(&s->row, i), TYPE))
    SC_BY_INDEX(s->itype, COUNT);
#undef COUNT
}

int sc_select_count(sc_selection *s, int64_t *n, sc_err *e)
{
    int rc = check_list(&s->row, s->rows, e);
    if (!rc && !s->every_column) rc = check_list(&s->column, s->columns, e);
    if (!rc && !s->every_column && s->column.list) rc = turn_around(s, e);
    if (rc) return rc;
    const int64_t stored = sc_index(s->pos, s->itype, s->rows);
    const double share = s->rows ? (double)s->row.n / (double)s->rows : 0;
    const double work = (double)s->row.n + (s->every_column ? 0 : share * (double)stored);
    sc_parallel_ranges(sc_team_lanes(work), s->row.n, count_rows, s);
    sc_index_put(s->out_pos, s->itype, 0, *n = 0);
    for (int64_t i = 1; i <= s->row.n; i++) {
        *n += sc_index(s->out_pos, s->itype, i);
        if (s->itype == SC_I32 && *n > INT32_MAX)
            return sc_error(e, SC_EVALUE,
                            "the result stores more entries than int32 can count: convert the tensor with "
                            "index_dtype=torch.int64 first");
        sc_index_put(s->out_pos, s->itype, i, *n);
    }
    return 0;
}

/* ---- copies ---- */
typedef struct {
    const sc_selection *s;
    int nlane;
    int64_t longest; /* entries of a row of the result that is sorted */
    uint64_t *key;   /* [nlane, 2 * longest] */
    bool sorts;
} copy;

/* n sorted keys, in key or in spare, by merging runs that sc_wide_sort made. */
static uint64_t *sort_keys(uint64_t *key, uint64_t *spare, int64_t n)
{
    for (int64_t i = 0; i < n; i += SC_WIDE_SORT) sc_wide_sort(key + i, sc_min(n - i, SC_WIDE_SORT));
    for (int64_t run = SC_WIDE_SORT; run < n; run *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * run) {
            const int64_t mid = sc_min(lo + run, n), hi = sc_min(lo + 2 * run, n);
            int64_t a = lo, b = mid;
            for (int64_t k = lo; k < hi; k++)
                spare[k] = b == hi || (a < mid && key[a] < key[b]) ? key[a++] : key[b++];
        }
        uint64_t *sorted = spare;
        spare = key;
        key = sorted;
    }
    return key;
}

/* n entries from position lo on, at `to` of the result. */
SC_INLINE void copy_span(const sc_selection *s, int64_t lo, int64_t to, int64_t n, sc_dtype itype,
                         size_t size)
{
    const int64_t first = s->every_column ? 0 : s->column.first;
    for (int64_t k = 0; k < n; k++) {
        sc_index_put(s->out_crd, itype, to + k, sc_index(s->crd, itype, lo + k) - first);
        sc_value_move(s->out_val, to + k, s->val, lo + k, size);
    }
}

/* What is left of positions [lo, hi), at `to` of the result. */
SC_INLINE void copy_left(const copy *x, int64_t lo, int64_t hi, int64_t to, sc_dtype itype, size_t size)
{
    const sc_selection *s = x->s;
    for (int64_t p = lo; p < hi; p++) {
        const int64_t c = sc_index(s->crd, itype, p);
        int64_t at = s->offset ? s->offset[c] : 0, end = s->offset ? s->offset[c + 1] : 1;
        for (; at < end; at++) {
            const int64_t place = s->offset ? s->place[at] : place_in_steps(&s->column, c);
            if (place < 0) continue;
            sc_index_put(s->out_crd, itype, to, place);
            sc_value_move(s->out_val, to++, s->val, p, size);
        }
    }
}

SC_INLINE void copy_sorted(const copy *x, uint64_t *key, int64_t lo, int64_t hi, int64_t to, sc_dtype itype,
                           size_t size)
{
    const sc_selection *s = x->s;
    int64_t n = 0;
    for (int64_t p = lo; p < hi; p++) {
        const int64_t c = sc_index(s->crd, itype, p);
        for (int64_t at = s->offset[c]; at < s->offset[c + 1]; at++)
            key[n++] = (uint64_t)s->place[at] << 32 | (uint64_t)(p - lo);
    }
    key = sort_keys(key, key + x->longest, n);
    for (int64_t k = 0; k < n; k++) {
        sc_index_put(s->out_crd, itype, to + k, (int64_t)(key[k] >> 32));
        sc_value_move(s->out_val, to + k, s->val, lo + (int64_t)(key[k] & 0xffffffff), size);
    }
}

SC_INLINE void copy_range(const copy *x, int lane, int64_t begin, int64_t end, sc_dtype itype, size_t size)
{
    const sc_selection *s = x->s;
    uint64_t *key = x->key ? x->key + 2 * x->longest * lane : NULL;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = taken(&s->row, i), to = sc_index(s->out_pos, itype, i);
        const int64_t lo = sc_index(s->pos, itype, row), hi = sc_index(s->pos, itype, row + 1);
        if (x->sorts)
            copy_sorted(x, key, lo, hi, to, itype, size);
        else if (s->every_column || (!s->offset && s->column.step == 1))
            copy_span(s, s->every_column ? lo : seek(s->crd, itype, lo, hi, s->column.first), to,
                      sc_index(s->out_pos, itype, i + 1) - to, itype, size);
        else
            copy_left(x, lo, hi, to, itype, size);
    }
}

static int64_t entries_before(const void *ctx, int64_t i)
{
    const sc_selection *s = ctx;
    return sc_index(s->out_pos, s->itype, i);
}

/* Rows are cut by the entries that they have in the result. */
static void copy_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    const copy *x = arg;
    const sc_selection *s = x->s;
    const int64_t n = entries_before(s, s->row.n);
    begin = lane ? sc_split_find(entries_before, s, s->row.n, sc_split_even(n, lane, x->nlane)) : 0;
    end = lane + 1 < x->nlane
              ? sc_split_find(entries_before, s, s->row.n, sc_split_even(n, lane + 1, x->nlane))
              : s->row.n;
#define COPY32(SIZE) copy_range(x, lane, begin, end, SC_I32, SIZE)
#define COPY64(SIZE) copy_range(x, lane, begin, end, SC_I64, SIZE)
    if (s->itype == SC_I64)
        SC_BY_SIZE(s->size, COPY64);
    else
        SC_BY_SIZE(s->size, COPY32);
#undef COPY32
#undef COPY64
}

int sc_select_fill(const sc_selection *s, sc_err *e)
{
    const int64_t n = entries_before(s, s->row.n);
    copy x = {.s = s, .nlane = sc_team_lanes(2 * (double)n)};
    x.sorts = s->offset && !ascends(&s->column);
    for (int64_t i = 0; x.sorts && i < s->row.n; i++)
        x.longest = sc_max(x.longest, entries_before(s, i + 1) - entries_before(s, i));
    if (x.longest) {
        x.key = sc_work_take(2 * sizeof *x.key * (size_t)x.longest * (size_t)x.nlane);
        if (!x.key)
            return sc_error(e, SC_ENOMEM, "out of memory to sort a row of %lld", (long long)x.longest);
    }
    sc_parallel_ranges(x.nlane, x.nlane, copy_rows, &x);
    sc_work_give(x.key);
    return 0;
}

/* select.c: rows and columns of a csr matrix: counted, then copied; entries that are named one by one.
 *
 * A row of the result is a row of the matrix, or what is left of it: one side of a diagonal, or some columns. Those that are
 * a range are found by arithmetic.
 * A list of columns is turned around first (select_columns.c): where in the result each column of the matrix goes, once for
 * every time that the list names it. If the list ascends, what is left of a row ascends too; else it is sorted by keys of 64 bits, the
 * new column above and where it comes from below. */
#include "../select.h"

#include <string.h>

#include "convert_wide.h"
#include "select_columns.h"

/* ---- lists ---- */
static bool ascends(const sc_taken *t)
{
    for (int64_t i = 1; t->list && i < t->n; i++)
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

void sc_select_close(sc_selection *s) { sc_columns_close(s); }

/* ---- rows ---- */
#define AHEAD 8 /* rows of a list: they lie anywhere, so they are asked for before they are read */

SC_INLINE void fetch(const sc_selection *s, int64_t i, sc_dtype itype, size_t size)
{
    const int64_t *list = s->row.list, step = itype == SC_I64 ? 8 : 4;
    if (!list || i + 2 * AHEAD >= s->row.n) return;
    const int64_t lo = sc_index(s->pos, itype, list[i + AHEAD]);
    __builtin_prefetch((const char *)s->pos + step * list[i + 2 * AHEAD]);
    if (lo == sc_index(s->pos, itype, s->rows)) return;
    __builtin_prefetch((const char *)s->crd + step * lo);
    if (size) __builtin_prefetch((const char *)s->val + (int64_t)size * lo);
}

#define SPARSE 16 /* columns for an entry, up to which those in steps are looked up, not divided */
#define SHORT 16  /* entries of a row that are looked at one by one */
#define SOUGHT 64 /* entries that take as long as one that is sought */

/* The place in the result of a column of a range with steps, -1: none. */
SC_INLINE int64_t place_in_steps(const sc_taken *t, int64_t c)
{
    const int64_t d = c - t->first;
    return d >= 0 && d % t->step == 0 && d / t->step < t->n ? d / t->step : -1;
}

/* Whether a column is in a range without steps, 1 or 0. */
SC_INLINE int64_t in_range(const sc_selection *s, int64_t c)
{ return (uint64_t)(c - s->column.first) < (uint64_t)s->column.n; }

SC_INLINE int64_t left_of_row(const sc_selection *s, int64_t row, sc_dtype itype)
{
    const int64_t lo = sc_index(s->pos, itype, row), hi = sc_index(s->pos, itype, row + 1);
    int64_t n = 0;
    if (s->every_column) return hi - lo;
    if (s->triangle) {
        const int64_t cut = sc_seek(s->crd, itype, lo, hi, row + s->diagonal + (s->triangle < 0));
        return s->triangle < 0 ? cut - lo : hi - cut;
    }
    if (!s->list && s->column.step == 1 && hi - lo <= SHORT) {
        for (int64_t p = lo; p < hi; p++) n += in_range(s, sc_index(s->crd, itype, p));
        return n;
    }
    if (!s->list && s->column.step == 1)
        return sc_seek(s->crd, itype, lo, hi, s->column.first + s->column.n) -
               sc_seek(s->crd, itype, lo, hi, s->column.first);
    if (s->list && sc_columns_marks(s->list)) {
        for (int64_t p = lo; p < hi; p++) n += sc_columns_bit(s->list, sc_index(s->crd, itype, p));
        return n;
    }
    if (s->list && sc_columns_each(s->list)) {
        for (int64_t p = lo; p < hi; p++) n += sc_columns_repeats(s->list, sc_index(s->crd, itype, p));
        return n;
    }
    for (int64_t p = lo; p < hi; p++) {
        const int64_t c = sc_index(s->crd, itype, p);
        n += s->list ? sc_columns_times(s->list, c) : place_in_steps(&s->column, c) >= 0;
    }
    return n;
}

SC_INLINE void count_range(const sc_selection *s, int64_t begin, int64_t end, sc_dtype itype)
{
    for (int64_t i = begin; i < end; i++) {
        fetch(s, i, itype, 0);
        sc_index_put(s->out_pos, itype, i + 1, left_of_row(s, sc_taken_at(&s->row, i), itype));
    }
}

static void count_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    const sc_selection *s = arg;
    (void)lane;
#define COUNT(TYPE) count_range(s, begin, end, TYPE)
    SC_BY_INDEX(s->itype, COUNT);
#undef COUNT
}

/* ---- few columns of all rows ---- */
/* Most rows have none of them, so entries are found whatever their row, and counted by row after. */
#define FEW 16 /* columns for one of the list, at least */

static bool few_columns(const sc_selection *s)
{
    const bool all = !s->row.list && s->row.step == 1 && s->row.n == s->rows;
    return all && s->list && sc_columns_marks(s->list) && s->column.n <= s->columns / FEW;
}

/* Of rows that are cut by the entries that the matrix has. */
static int64_t lane_begin(const sc_selection *s, int lane)
{ return sc_split_rows(s->pos, s->itype, s->rows, lane, s->list->nlane); }

/* Places of the entries in the list, behind the first place of the lane, then how many of them each row has. */
SC_INLINE void find_few_in(const sc_selection *s, int64_t begin, int64_t end, sc_dtype itype)
{
    void *found = s->list->found;
    const int64_t lo = sc_index(s->pos, itype, begin), hi = sc_index(s->pos, itype, end);
    int64_t last = lo, k = lo;
    for (int64_t p = lo; p < hi; p++) {
        sc_index_put(found, itype, last, p);
        last += sc_columns_bit(s->list, sc_index(s->crd, itype, p));
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t behind = sc_index(s->pos, itype, i + 1), first = k;
        while (k < last && sc_index(found, itype, k) < behind) k++;
        sc_index_put(s->out_pos, itype, i + 1, k - first);
    }
}

static void find_few(void *arg, int lane, int64_t begin, int64_t end)
{
    const sc_selection *s = arg;
    begin = lane_begin(s, lane), end = lane_begin(s, lane + 1);
#define FIND(TYPE) find_few_in(s, begin, end, TYPE)
    SC_BY_INDEX(s->itype, FIND);
#undef FIND
}

static int count_few(sc_selection *s, sc_err *e)
{
    sc_columns *t = s->list;
    t->nlane = sc_team_lanes((double)s->rows + (double)s->stored);
    t->found = sc_work_take((size_t)sc_max(s->stored, 1) * sc_dtype_size(s->itype));
    if (!t->found)
        return sc_error(e, SC_ENOMEM, "out of memory for the places of %lld entries", (long long)s->stored);
    sc_parallel_ranges(t->nlane, t->nlane, find_few, s);
    return 0;
}

/* ---- counts ---- */
static int count_each(sc_selection *s, sc_err *e)
{
    if (few_columns(s)) return count_few(s, e);
    const double share = s->rows ? (double)s->row.n / (double)s->rows : 0;
    const double read = s->every_column ? 0 : share * (double)s->stored;
    sc_parallel_ranges(sc_team_lanes((double)s->row.n + read), s->row.n, count_rows, s);
    return 0;
}

int sc_select_count(sc_selection *s, int64_t *n, sc_err *e)
{
    s->stored = sc_index(s->pos, s->itype, s->rows);
    const bool steps = s->column.step > 1 && s->columns <= SPARSE * s->stored;
    const bool listed = (s->column.list || steps) && !s->every_column && !s->triangle;
    int rc = check_list(&s->row, s->rows, e);
    if (!rc && listed) rc = check_list(&s->column, s->columns, e);
    if (!rc && listed) rc = sc_columns_open(s, e);
    if (!rc) rc = count_each(s, e);
    if (rc) return rc;
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

/* n entries from position lo on, at `to` of the result, `first` less. Few are copied as EIGHT, which says the same whatever n
 * is: what is too much is written over, by the next row, unless the lane's part of the result ends before that. */
#define EIGHT ((int64_t)8)

SC_INLINE void copy_span(const sc_selection *s, int64_t lo, int64_t to, int64_t n, int64_t first, int64_t end,
                         sc_dtype itype, size_t size)
{
    const size_t step = itype == SC_I64 ? 8 : 4;
    char *crd = (char *)s->out_crd + (size_t)to * step, *val = (char *)s->out_val + (size_t)to * size;
    const char *from = (const char *)s->crd + (size_t)lo * step,
               *kept = (const char *)s->val + (size_t)lo * size;
    if (!first && n <= EIGHT && to + EIGHT <= end && lo + EIGHT <= s->stored) {
        memcpy(crd, from, EIGHT * step);
        memcpy(val, kept, EIGHT * size);
    } else if (!first && n > EIGHT) {
        memcpy(crd, from, (size_t)n * step);
        memcpy(val, kept, (size_t)n * size);
    } else
        for (int64_t k = 0; k < n; k++) {
            sc_index_put(s->out_crd, itype, to + k, sc_index(s->crd, itype, lo + k) - first);
            sc_value_move(s->out_val, to + k, s->val, lo + k, size);
        }
}

/* What is left of positions [lo, hi), at `to` of the result. */
SC_INLINE void copy_left(const sc_selection *s, int64_t lo, int64_t hi, int64_t to, sc_dtype itype,
                         size_t size)
{
    for (int64_t p = lo; p < hi; p++) {
        const int64_t c = sc_index(s->crd, itype, p);
        const int64_t number = s->list ? sc_columns_number(s->list, c) : place_in_steps(&s->column, c);
        if (number < 0) continue;
        const int64_t *offset = s->list ? s->list->offset : NULL;
        for (int64_t at = offset ? offset[number] : 0, end = offset ? offset[number + 1] : 1; at < end;
             at++) {
            sc_index_put(s->out_crd, itype, to, offset ? s->list->place[at] : number);
            sc_value_move(s->out_val, to++, s->val, p, size);
        }
    }
}

/* The same of a list with a bit a column and each column once: all are written, and the next one over those that are not
 * in the list, since whether one is cannot be foreseen. What belongs to the row ends at `end`. */
SC_INLINE void copy_marked(const sc_selection *s, int64_t lo, int64_t to, int64_t end, sc_dtype itype,
                           size_t size)
{
    const sc_columns *t = s->list;
    for (int64_t p = lo; to < end; p++) {
        const int64_t c = sc_index(s->crd, itype, p);
        sc_index_put(s->out_crd, itype, to, t->where[c]);
        sc_value_move(s->out_val, to, s->val, p, size);
        to += sc_columns_bit(t, c);
    }
}

/* The same of a range of columns and a short row. */
SC_INLINE void copy_inside(const sc_selection *s, int64_t lo, int64_t to, int64_t end, sc_dtype itype,
                           size_t size)
{
    for (int64_t p = lo; to < end; p++) {
        const int64_t c = sc_index(s->crd, itype, p);
        sc_index_put(s->out_crd, itype, to, c - s->column.first);
        sc_value_move(s->out_val, to, s->val, p, size);
        to += in_range(s, c);
    }
}

/* Keys of the entries in the list, at most so many, which has a bit a column: the number of the column above, the place in
 * the row below. All are written, each over the one before that is not in the list. */
SC_INLINE int64_t make_marked(const sc_selection *s, uint64_t *key, int64_t lo, int64_t hi, int64_t most,
                              sc_dtype itype)
{
    const sc_columns *t = s->list;
    int64_t found = 0;
    for (int64_t p = lo; p < hi && found < most; p++) {
        const int64_t c = sc_index(s->crd, itype, p);
        key[found] = (uint64_t)(uint32_t)t->where[c] << 32 | (uint64_t)(p - lo);
        found += sc_columns_bit(t, c);
    }
    return found;
}

/* Keys of what is left: the new column above, the place in the row below; n of them. */
SC_INLINE int64_t make_keys(const sc_selection *s, uint64_t *key, uint64_t *spare, int64_t lo, int64_t hi,
                            int64_t n, sc_dtype itype)
{
    const sc_columns *t = s->list;
    if (sc_columns_marks(t)) return make_marked(s, key, lo, hi, n, itype);
    int64_t found = 0;
    if (sc_columns_each(t)) { /* those of a column from its last place down */
        const int64_t m = make_marked(s, spare, lo, hi, n, itype);
        for (int64_t q = 0; q < m; q++) {
            const int64_t *offset = t->offset + (spare[q] >> 32);
            for (int64_t k = offset[1]; k-- > offset[0];)
                key[found++] = (uint64_t)t->place[k] << 32 | (spare[q] & UINT32_MAX);
        }
        return found;
    }
    for (int64_t p = lo; p < hi; p++) {
        const int64_t number = sc_columns_number(t, sc_index(s->crd, itype, p));
        if (number < 0) continue;
        const int64_t *offset = t->offset, at = offset ? offset[number] : 0;
        for (int64_t k = offset ? offset[number + 1] - at : 1; k-- > 0;)
            key[found++] = (uint64_t)(offset ? t->place[at + k] : number) << 32 | (uint64_t)(p - lo);
    }
    return found;
}

SC_INLINE void copy_sorted(const copy *x, uint64_t *key, int64_t lo, int64_t hi, int64_t to, int64_t n,
                           sc_dtype itype, size_t size)
{
    const sc_selection *s = x->s;
    n = make_keys(s, key, key + x->longest, lo, hi, n, itype);
    key = sc_wide_sort_all(key, key + x->longest, n);
    for (int64_t k = 0; k < n; k++) {
        sc_index_put(s->out_crd, itype, to + k, (int64_t)(key[k] >> 32));
        sc_value_move(s->out_val, to + k, s->val, lo + (int64_t)(key[k] & 0xffffffff), size);
    }
}

SC_INLINE void copy_range(const copy *x, int lane, int64_t begin, int64_t end, sc_dtype itype, size_t size)
{
    const sc_selection *s = x->s;
    uint64_t *key = x->key ? x->key + 2 * x->longest * lane : NULL;
    const int64_t last = sc_index(s->out_pos, itype, end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = sc_taken_at(&s->row, i), to = sc_index(s->out_pos, itype, i);
        const int64_t lo = sc_index(s->pos, itype, row), hi = sc_index(s->pos, itype, row + 1);
        const int64_t n = sc_index(s->out_pos, itype, i + 1) - to;
        fetch(s, i, itype, size);
        if (x->sorts)
            copy_sorted(x, key, lo, hi, to, n, itype, size);
        else if (s->every_column || s->triangle)
            copy_span(s, s->triangle > 0 ? hi - n : lo, to, n, 0, last, itype, size);
        else if (!s->list && s->column.step == 1 && hi - lo <= SHORT)
            copy_inside(s, lo, to, to + n, itype, size);
        else if (!s->list && s->column.step == 1)
            copy_span(s, sc_seek(s->crd, itype, lo, hi, s->column.first), to, n, s->column.first, last, itype,
                      size);
        else if (s->list && sc_columns_marks(s->list))
            copy_marked(s, lo, to, to + n, itype, size);
        else
            copy_left(s, lo, hi, to, itype, size);
    }
}

/* What was found of few columns, as it comes; then rows of several are put in order. */
SC_INLINE void copy_few_in(const copy *x, int lane, int64_t begin, int64_t end, sc_dtype itype, size_t size)
{
    const sc_selection *s = x->s;
    const sc_columns *t = s->list;
    const int64_t from = sc_index(s->pos, itype, begin), to = sc_index(s->out_pos, itype, begin);
    const int64_t n = sc_index(s->out_pos, itype, end) - to;
    for (int64_t k = 0; k < n; k++) {
        const int64_t p = sc_index(t->found, itype, from + k);
        sc_index_put(s->out_crd, itype, to + k, t->where[sc_index(s->crd, itype, p)]);
        sc_value_move(s->out_val, to + k, s->val, p, size);
    }
    for (int64_t i = begin; x->sorts && i < end; i++) {
        const int64_t at = sc_index(s->out_pos, itype, i), several = sc_index(s->out_pos, itype, i + 1) - at;
        if (several > 1)
            copy_sorted(x, x->key + 2 * x->longest * lane, sc_index(s->pos, itype, i),
                        sc_index(s->pos, itype, i + 1), at, several, itype, size);
    }
}

static void copy_few(void *arg, int lane, int64_t begin, int64_t end)
{
    const copy *x = arg;
    const sc_selection *s = x->s;
    begin = lane_begin(s, lane), end = lane_begin(s, lane + 1);
#define COPY(TYPE, SIZE) copy_few_in(x, lane, begin, end, TYPE, SIZE)
    SC_BY_INDEX_AND_SIZE(s->itype, s->size, COPY);
#undef COPY
}

/* Rows are cut by the entries that they have in the result. */
static void copy_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    const copy *x = arg;
    const sc_selection *s = x->s;
    begin = sc_split_rows(s->out_pos, s->itype, s->row.n, lane, x->nlane);
    end = sc_split_rows(s->out_pos, s->itype, s->row.n, lane + 1, x->nlane);
#define COPY(TYPE, SIZE) copy_range(x, lane, begin, end, TYPE, SIZE)
    SC_BY_INDEX_AND_SIZE(s->itype, s->size, COPY);
#undef COPY
}

int sc_select_fill(const sc_selection *s, sc_err *e)
{
    const int64_t n = sc_index(s->out_pos, s->itype, s->row.n);
    const bool few = s->list && s->list->found;
    copy x = {.s = s, .nlane = few ? s->list->nlane : sc_team_lanes(2 * (double)n)};
    x.sorts = s->list && !ascends(&s->column);
    for (int64_t i = 0; x.sorts && i < s->row.n; i++)
        x.longest =
            sc_max(x.longest, sc_index(s->out_pos, s->itype, i + 1) - sc_index(s->out_pos, s->itype, i));
    if (x.longest) {
        x.key = sc_work_take(2 * sizeof *x.key * (size_t)x.longest * (size_t)x.nlane);
        if (!x.key)
            return sc_error(e, SC_ENOMEM, "out of memory to sort a row of %lld", (long long)x.longest);
    }
    sc_parallel_ranges(x.nlane, x.nlane, few ? copy_few : copy_rows, &x);
    sc_work_give(x.key);
    return 0;
}

/* ---- entries ---- */
/* As sc_seek; of a short row of int32 EIGHT are looked at at once, whatever it has, if the matrix has as many behind. */
SC_INLINE int64_t seek_in_row(const sc_sought *s, int64_t lo, int64_t hi, int64_t c, int64_t stored,
                              sc_dtype itype)
{
    if (itype == SC_I64 || hi - lo > EIGHT || lo + EIGHT > stored || c != (int32_t)c)
        return sc_seek(s->crd, itype, lo, hi, c);
    const int32_t *crd = (const int32_t *)s->crd + lo, few = (int32_t)(hi - lo), near = (int32_t)c;
    int32_t n = 0;
    for (int32_t k = 0; k < (int32_t)EIGHT; k++) n += (crd[k] < near) & (k < few);
    return lo + n;
}

SC_INLINE void find_range(const sc_sought *s, int64_t begin, int64_t end, sc_dtype itype, size_t size)
{
    const int64_t stored = sc_index(s->pos, itype, s->rows);
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = s->row ? s->row[i] : s->first_row + i;
        const int64_t c = s->column ? s->column[i] : s->first_column + i;
        const int64_t lo = sc_index(s->pos, itype, row), hi = sc_index(s->pos, itype, row + 1);
        const int64_t p = seek_in_row(s, lo, hi, c, stored, itype);
        const bool there = p < hi && sc_index(s->crd, itype, p) == c;
        if (s->place)
            s->place[i] = there ? p : s->row ? -1 : -1 - p;
        else if (there)
            sc_value_move(s->out, i, s->val, p, size);
        else
            memset((char *)s->out + (size_t)i * size, 0, size);
    }
}

static void find_entries(void *arg, int lane, int64_t begin, int64_t end)
{
    const sc_sought *s = arg;
    (void)lane;
#define FIND(TYPE, SIZE) find_range(s, begin, end, TYPE, SIZE)
    SC_BY_INDEX_AND_SIZE(s->itype, s->size, FIND);
#undef FIND
}

int sc_select_find(const sc_sought *s, sc_err *e)
{
    const sc_taken rows = {.n = s->n, .list = s->row, .step = 1};
    int rc = check_list(&rows, s->rows, e);
    if (!s->row && s->n && (s->first_row < 0 || s->first_row + s->n > s->rows))
        rc = out_of_range(e, s->first_row < 0 ? s->first_row : s->first_row + s->n - 1, s->rows);
    if (!rc) sc_parallel_ranges(sc_team_lanes(SOUGHT * (double)s->n), s->n, find_entries, (void *)s);
    return rc;
}

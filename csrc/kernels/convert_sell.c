/* convert_sell.c: levels of slices whose rows are sorted by length, built from a sorted list and read back.
 *
 * A window is a unit of work: its rows are counted, put in order by length, and sliced. One pass counts columns of slots,
 * so that each lane knows where its own go, a second one writes them. */
#include <string.h>

#include "convert.h"

#define LENGTHS 1024 /* rows of different lengths from here on are few, and sorted one by one */

typedef struct {
    const sc_conversion *c;
    const sc_list *list;
    const sc_levelspec *spec;
    int level;
    const int64_t *at;
    int64_t *to;
    void *pos, *crd;
    int64_t above, count[SC_MAXLANE];
    struct window *room; /* a lane each */
} selling;

typedef struct window {                         /* of its rows */
    int64_t length[SC_WINDOW];                  /* entries; later where they begin */
    int32_t order[SC_WINDOW], place[SC_WINDOW]; /* longest first, and where each comes */
} window;

/* The first entry of a row from `row` on. */
static int64_t first_of(const selling *x, int64_t row)
{
    int64_t lo = 0, hi = x->list->n;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (x->at[mid] < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int64_t window_of(const selling *x, int64_t e) { return x->at[e] / x->spec->block; }

/* Whether entry e is at another coordinate than the one in front. */
static bool begins(const selling *x, int64_t e)
{ return e == 0 || sc_list_begins(x->list, x->list->field[x->level], e); }

/* The entries of window `number` from e on are counted; returns the first one behind it. */
static int64_t count_rows(const selling *x, window *w, int64_t number, int64_t e)
{
    memset(w->length, 0, (size_t)x->spec->block * sizeof *w->length);
    for (; e < x->list->n && window_of(x, e) == number; e++)
        w->length[x->at[e] % x->spec->block] += begins(x, e);
    return e;
}

/* Longest first, rows of one length as they were. */
static void sort_rows(window *w, int n)
{
    int first[LENGTHS + 1] = {0};
    for (int row = 0; row < n; row++) first[LENGTHS - sc_min(w->length[row], LENGTHS - 1)]++;
    for (int k = 1; k <= LENGTHS; k++) first[k] += first[k - 1];
    const int longest = first[1];
    for (int row = 0; row < n; row++)
        w->order[first[LENGTHS - 1 - sc_min(w->length[row], LENGTHS - 1)]++] = row;
    for (int k = 1; k < longest; k++) {
        const int row = w->order[k];
        int to = k;
        for (; to && w->length[w->order[to - 1]] < w->length[row]; to--) w->order[to] = w->order[to - 1];
        w->order[to] = row;
    }
    for (int k = 0; k < n; k++) w->place[w->order[k]] = k;
}

/* The columns of a slice from q on, whose rows are those from `order` on: which rows have each, and padding. */
static void write_columns(const selling *x, const window *w, const int32_t *order, int64_t q)
{
    const int width = x->spec->width;
    for (int64_t c = 0, n = width; c < w->length[order[0]]; c++) {
        const int64_t at = (q + c) * (width + 1);
        while (w->length[order[n - 1]] <= c) n--;
        sc_index_put(x->crd, x->c->to->itype, at, ((int64_t)1 << n) - 1);
        for (int64_t k = n; k < width; k++) sc_index_put(x->crd, x->c->to->itype, at + 1 + k, 0);
    }
}

/* The levels of a window whose columns begin with q: its slices, the places of its rows. */
static void write_window(const selling *x, const window *w, int64_t number, int64_t q)
{
    const sc_dtype itype = x->c->to->itype;
    const int width = x->spec->width, slices = x->spec->block / width;
    const int64_t at = number * sc_window_step(x->spec);
    for (int k = 0; k < x->spec->block; k++) sc_index_put(x->pos, itype, at + slices + 1 + k, w->place[k]);
    for (int s = 0; s < slices; s++) {
        sc_index_put(x->pos, itype, at + s, q);
        write_columns(x, w, w->order + s * width, q);
        q += w->length[w->order[s * width]];
    }
    sc_index_put(x->pos, itype, at + slices, q);
}

/* Where each row of the window begins, in place of its length. */
static void begin_rows(const selling *x, window *w, int64_t q)
{
    const int width = x->spec->width;
    for (int k = 0; k < x->spec->block; k += width) {
        const int64_t longest = w->length[w->order[k]];
        for (int lane = 0; lane < width; lane++) w->length[w->order[k + lane]] = q * width + lane;
        q += longest;
    }
}

static void write_entries(const selling *x, window *w, int64_t e, int64_t end)
{
    for (int64_t row = -1, slot = 0; e < end; e++) {
        const int64_t now = x->at[e] % x->spec->block;
        slot = now != row ? w->length[now] : slot + (begins(x, e) ? x->spec->width : 0);
        row = now;
        x->to[e] = slot;
        sc_index_put(x->crd, x->c->to->itype, slot + slot / x->spec->width + 1,
                     sc_list_at(x->list, x->level, e));
    }
}

static int64_t columns_of(const selling *x, const window *w)
{
    int64_t q = 0;
    for (int k = 0; k < x->spec->block; k += x->spec->width) q += w->length[w->order[k]];
    return q;
}

/* Windows that begin in the range of windows. */
static void range(void *arg, int lane, int64_t begin, int64_t end)
{
    selling *x = arg;
    window *w = &x->room[lane];
    int64_t q = x->count[lane], e = first_of(x, begin * x->spec->block);
    for (int64_t number = begin; number < end; number++) {
        const int64_t first = e;
        e = count_rows(x, w, number, e);
        sort_rows(w, x->spec->block);
        const int64_t columns = columns_of(x, w);
        if (x->crd) {
            write_window(x, w, number, q);
            begin_rows(x, w, q);
            write_entries(x, w, first, e);
        }
        q += columns;
    }
    x->count[lane] = q;
}

static int write_levels(selling *x, int lanes, int64_t windows, int64_t n)
{
    int rc = sc_convert_pos(x->c, x->level, sc_pos_length(x->spec, 0, x->above), &x->pos);
    if (rc || (rc = sc_convert_crd(x->c, x->level, n * (x->spec->width + 1), &x->crd))) return rc;
    sc_parallel_ranges(lanes, windows, range, x);
    return SC_OK;
}

int sc_sell_pack(const sc_conversion *c, const sc_list *list, int level, int64_t above, const int64_t *at,
                 int64_t *to, sc_level *made)
{
    selling x = {.c = c, .list = list, .level = level, .above = above, .at = at, .to = to};
    const int lanes = sc_team_lanes(4 * (double)list->n);
    x.spec = &c->to->format.level[level];
    const int64_t windows = sc_windows(x.spec, above);
    if (!(x.room = sc_convert_take(c, lanes, sizeof *x.room))) return SC_ENOMEM;
    sc_parallel_ranges(lanes, windows, range, &x);
    const int64_t n = sc_prefix(x.count, lanes);
    int rc = SC_OK;
    if (c->to->itype == SC_I32 && sc_max(above + x.spec->block, n * (x.spec->width + 1)) > INT32_MAX)
        rc = sc_error(c->err, SC_EVALUE,
                      "level %d (sell): %lld rows with %lld slots exceed what i32 indices reach: use i64",
                      level, (long long)above, (long long)n * x.spec->width);
    else
        rc = write_levels(&x, lanes, windows, n);
    sc_work_give(x.room);
    *made = (sc_level){.pos = x.pos, .crd = x.crd, .size = x.spec->width, .npos = n * x.spec->width};
    return rc;
}

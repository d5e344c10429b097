/* attention_strips.c: the strips of a mask from its csr arrays.
 *
 * A thread marks the columns that the rows of a block see in a bitmap, which
 * gives them back sorted. Blocks are counted, then filled; both passes walk the
 * entries once. */
#include <stdatomic.h>

#include "attention_blocks.h"

typedef struct {
    const sc_strip_source *from;
    sc_strips *to;
    int64_t *pos, units, words;
    int32_t *crd;
    uint64_t *bits;
    void *val;
    int64_t *place;   /* of each entry */
    uint64_t *memory; /* of a thread: a bitmap of words, then a word (or while filling, a place) a column */
    _Atomic int64_t next;
    atomic_bool wrong, low, scaled;
    bool filling;
} strips;

SC_INLINE double value(const sc_strip_source *f, int64_t p)
{
    if (f->dtype == SC_F32) return ((const float *)f->val)[p];
    return f->dtype == SC_BOOL ? ((const uint8_t *)f->val)[p] != 0 : sc_number_get(f->dtype, f->val, p);
}

/* The rows of a block: matrix and first row from the unit. */
static void rows_of(const strips *s, int64_t unit, int64_t *first, int64_t *n)
{
    const int64_t matrix = unit / s->to->blocks, at = unit % s->to->blocks * s->to->height;
    *first = matrix * s->from->rows + at;
    *n = sc_min(s->to->height, s->from->rows - at);
}

/* Marks what a row sees; false where the arrays are malformed. */
static bool mark(strips *s, int64_t row, uint64_t *map, int64_t *first, int64_t *last)
{
    const sc_strip_source *f = s->from;
    const int64_t begin = sc_index(f->pos, f->itype, row), end = sc_index(f->pos, f->itype, row + 1);
    bool scaled = false, low = false;
    if (begin < 0 || end < begin || end > f->nnz) return false;
    for (int64_t p = begin; p < end; p++) {
        const int64_t c = sc_index(f->crd, f->itype, p);
        const double x = value(f, p);
        if (c < 0 || c >= f->columns) return false;
        low |= x == (double)-__builtin_inf();
        if (x == 0 && !f->zeros) continue;
        scaled |= x != 1;
        map[c >> 6] |= (uint64_t)1 << (c & 63);
        *first = sc_min(*first, c >> 6);
        *last = sc_max(*last, c >> 6);
    }
    if (scaled) atomic_store_explicit(&s->scaled, true, memory_order_relaxed);
    if (low) atomic_store_explicit(&s->low, true, memory_order_relaxed);
    return true;
}

/* Writes the entries of a row to the places that their columns have. */
static void put(strips *s, int64_t row, int64_t lane, const int64_t *place)
{
    const sc_strip_source *f = s->from;
    for (int64_t p = sc_index(f->pos, f->itype, row), end = sc_index(f->pos, f->itype, row + 1); p < end;
         p++) {
        const double x = value(f, p);
        if (s->place) s->place[p] = s->to->n * s->to->height;
        if (x == 0 && !f->zeros) continue;
        const int64_t at = place[sc_index(f->crd, f->itype, p)];
        s->bits[at] |= (uint64_t)1 << lane;
        if (s->place) s->place[p] = at * s->to->height + lane;
        if (s->val && f->computed == SC_F64)
            ((double *)s->val)[at * s->to->height + lane] = x;
        else if (s->val)
            ((float *)s->val)[at * s->to->height + lane] = (float)x;
    }
}

/* The columns in the map, in order, from position at on; clears the map. */
static int64_t list(strips *s, uint64_t *map, int64_t low, int64_t high, int64_t *place, int64_t at)
{
    const size_t line = s->val ? (size_t)s->to->height * sc_dtype_size(s->from->computed) : 0;
    for (int64_t w = low; w <= high; w++) {
        for (uint64_t word = map[w]; s->filling && word; word &= word - 1, at++) {
            const int64_t c = w * 64 + __builtin_ctzll(word);
            s->crd[at] = (int32_t)c;
            s->bits[at] = 0;
            place[c] = at;
            if (line) memset((char *)s->val + (size_t)at * line, 0, line);
        }
        if (!s->filling) at += __builtin_popcountll(map[w]);
        map[w] = 0;
    }
    return at;
}

static void run_units(void *arg, int id, int n)
{
    strips *s = arg;
    uint64_t *map = s->memory + id * (s->words + s->from->columns);
    int64_t *place = (int64_t *)(map + s->words);
    (void)n;
    memset(map, 0, (size_t)s->words * sizeof *map);
    for (int64_t u; (u = atomic_fetch_add(&s->next, 1)) < s->units && !atomic_load(&s->wrong);) {
        int64_t first, rows, low = s->words, high = -1;
        int64_t *pos = s->pos + u + u / s->to->blocks; /* a place more a matrix */
        rows_of(s, u, &first, &rows);
        for (int64_t r = 0; r < rows; r++)
            if (!mark(s, first + r, map, &low, &high)) atomic_store(&s->wrong, true);
        const int64_t end = list(s, map, low, high, place, s->filling ? pos[0] : 0);
        if (!s->filling) pos[1] = end;
        for (int64_t r = 0; s->filling && r < rows; r++) put(s, first + r, r, place);
    }
}

static int run(strips *s, sc_err *e)
{
    const double work = (double)s->from->nnz;
    const int lanes = (int)sc_max(1, sc_min(sc_team_lanes(work), s->units));
    s->memory = sc_work_take((size_t)lanes * (size_t)(s->words + s->from->columns) * sizeof *s->memory);
    if (!s->memory) return sc_error(e, SC_ENOMEM, "out of memory");
    atomic_store(&s->next, 0);
    sc_parallel(lanes, run_units, s);
    sc_work_give(s->memory);
    if (!atomic_load(&s->wrong)) return SC_OK;
    return sc_error(e, SC_EVALUE, "mask: expected pos that ascends to %lld and columns below %lld",
                    (long long)s->from->nnz, (long long)s->from->columns);
}

bool sc_strips_height(int64_t h) { return h == 1 || h == 16 || h == 32 || h == 64; }

int sc_attention_strips(const sc_strip_source *from, sc_strips *to, sc_alloc *alloc, void *ctx, sc_err *e)
{
    int64_t places, values;
    if (from->columns > INT32_MAX || from->rows < 0 || from->columns < 0 || from->matrices < 0)
        return sc_error(e, SC_EVALUE, "mask: expected at most 2^31 - 1 columns");
    to->blocks = (from->rows + to->height - 1) / to->height;
    if (!sc_mul(from->matrices, to->blocks + 1, &places)) return sc_error(e, SC_EVALUE, "mask: too large");
    strips s = {
        .from = from, .to = to, .units = from->matrices * to->blocks, .words = (from->columns + 63) / 64};
    if (!(s.pos = alloc(ctx, SC_POS, 0, SC_I64, places))) return sc_error(e, SC_ENOMEM, "out of memory");
    if (run(&s, e)) return e->code;
    to->batch = from->matrices, to->heads = 1;
    to->n = sc_strips_sum(to, s.pos);
    s.crd = alloc(ctx, SC_CRD, 0, SC_I32, to->n);
    s.bits = s.crd ? alloc(ctx, SC_CRD, 1, SC_I64, to->n) : NULL;
    const bool scaled = atomic_load(&s.scaled) && !from->places;
    if (from->zeros && atomic_load(&s.low))
        return sc_error(e, SC_EVALUE,
                        "mask: expected values to add to scores, got minus infinity: leave such "
                        "entries out, those that are missing take no part; nn.MultiheadAttention makes "
                        "them of a mask of bool, whose True forbids: give it a dense one, or "
                        "scorch.attention one of what is seen");
    if (from->places) s.place = alloc(ctx, SC_VAL, 1, SC_I64, from->nnz);
    if (s.bits && scaled && sc_mul(to->n, to->height, &values))
        s.val = alloc(ctx, SC_VAL, 0, from->computed, values);
    if (!s.bits || (scaled && !s.val) || (from->places && !s.place))
        return sc_error(e, SC_ENOMEM, "out of memory");
    s.filling = true;
    if (run(&s, e)) return e->code;
    to->pos = s.pos, to->crd = s.crd, to->bits = s.bits, to->val = s.val;
    return SC_OK;
}

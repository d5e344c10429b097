/* validate.c: is this tensor what its format says?
 *
 * From the root down: the number of positions above a level says how long its
 * arrays must be, so lengths are compared before an array is read, and pos is
 * checked to be monotone before its entries are used as bounds. Coordinates are
 * then read in even ranges of positions, whatever the lengths of fibres.
 *
 * A chain is a level with the singletons below it: they share positions, and
 * the tuples of their coordinates are what a nonunique head keeps in order.
 * Every pass only looks for its first bad position; the message is made after. */
#include <stdio.h>

#include "kernels.h"

#define AT_ONCE 16

typedef struct {
    const sc_tensor *t;
    int level, head; /* head of the chain that level belongs to */
    int64_t fibres;  /* positions above the head */
    bool pairs;      /* pairs_rise was true: levels 0 and 1 are in order */
} checking;

static int wrong(const sc_tensor *t, int l, sc_err *e, const char *fmt, ...) SC_PRINTF(4, 5);
static int wrong(const sc_tensor *t, int l, sc_err *e, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return sc_error(e, SC_EVALUE, "level %d (%s): %s", l, sc_kind_of(&t->format.level[l])->name, text);
}

static int first_bad(const checking *c, int64_t n, sc_bad_item *body, int64_t *bad, sc_err *e)
{ return sc_first_bad(c, n, (double)n, body, bad, e); }

static int64_t crd_at(const sc_tensor *t, int l, int64_t p)
{ return sc_index(t->view.level[l].crd, t->itype, p); }

/* ---- pos ---- */
SC_INLINE int64_t falling(const void *pos, sc_dtype itype, int64_t begin, int64_t end)
{
    int64_t bad = 0;
    for (int64_t p = begin; p < end; p++) bad |= sc_index(pos, itype, p) > sc_index(pos, itype, p + 1);
    if (!bad) return -1;
    while (sc_index(pos, itype, begin) <= sc_index(pos, itype, begin + 1)) begin++;
    return begin;
}

static int64_t pos_range(const void *arg, int64_t begin, int64_t end)
{
    const checking *c = arg;
    const void *pos = c->t->view.level[c->level].pos;
#define RUN(itype) return falling(pos, itype, begin, end)
    SC_BY_INDEX(c->t->itype, RUN);
#undef RUN
}

/* pos has n + 1 entries by contract, and counts so many coordinates, or diagonals. */
static int check_pos(checking *c, int64_t n, int64_t stored, sc_err *e)
{
    const sc_level *v = &c->t->view.level[c->level];
    sc_dtype it = c->t->itype;
    if (!v->pos)
        return wrong(c->t, c->level, e, "expected a pos array of %lld entries, got none", (long long)n + 1);
    if (sc_index(v->pos, it, 0) != 0)
        return wrong(c->t, c->level, e, "pos[0] = %lld, expected 0", (long long)sc_index(v->pos, it, 0));
    int64_t p;
    if (first_bad(c, n, pos_range, &p, e)) return e->code;
    if (p >= 0)
        return wrong(c->t, c->level, e,
                     "pos[%lld] = %lld exceeds pos[%lld] = %lld, expected non-decreasing positions",
                     (long long)p, (long long)sc_index(v->pos, it, p), (long long)p + 1,
                     (long long)sc_index(v->pos, it, p + 1));
    if (sc_index(v->pos, it, n) != stored)
        return wrong(c->t, c->level, e, "pos[%lld] = %lld, expected %lld, the number of stored %s",
                     (long long)n, (long long)sc_index(v->pos, it, n), (long long)stored,
                     stored == v->npos ? "coordinates" : "diagonals");
    return SC_OK;
}

/* ---- coordinates in range ---- */
/* -1 is padding: in ell levels, and under a padded position. */
static bool may_pad(const sc_tensor *t, int l)
{
    while (sc_kind_of(&t->format.level[l])->one) l--;
    return sc_kind_of(&t->format.level[l])->padded;
}

SC_INLINE int64_t outside(const void *crd, sc_dtype itype, int64_t begin, int64_t end, int64_t least,
                          int64_t extent)
{
    int64_t bad = 0;
    for (int64_t p = begin; p < end; p++) {
        int64_t x = sc_index(crd, itype, p);
        bad |= (x < least) | (x >= extent);
    }
    if (!bad) return -1;
    while (sc_index(crd, itype, begin) >= least && sc_index(crd, itype, begin) < extent) begin++;
    return begin;
}

static int64_t crd_range(const void *arg, int64_t begin, int64_t end)
{
    const checking *c = arg;
    const void *crd = c->t->view.level[c->level].crd;
    int64_t extent = sc_level_extent(&c->t->format.level[c->level], c->t->view.dim);
    int64_t least = may_pad(c->t, c->level) ? -1 : 0;
#define RUN(itype) return outside(crd, itype, begin, end, least, extent)
    SC_BY_INDEX(c->t->itype, RUN);
#undef RUN
}

static int check_crd(checking *c, sc_err *e)
{
    const sc_level *v = &c->t->view.level[c->level];
    if (!v->crd && v->npos)
        return wrong(c->t, c->level, e, "expected a crd array of %lld entries, got none", (long long)v->npos);
    int64_t p;
    if (first_bad(c, v->npos, crd_range, &p, e)) return e->code;
    if (p < 0) return SC_OK;
    return wrong(c->t, c->level, e, "crd[%lld] = %lld is out of range, expected 0 <= coordinate < %lld",
                 (long long)p, (long long)crd_at(c->t, c->level, p),
                 (long long)sc_level_extent(&c->t->format.level[c->level], c->t->view.dim));
}

/* ---- order ---- */
/* Do positions p - 1 and p of one fibre agree in every level from head to above l? */
static bool same_prefix(const checking *c, int64_t p)
{
    for (int l = c->head; l < c->level; l++)
        if (crd_at(c->t, l, p - 1) != crd_at(c->t, l, p)) return false;
    return true;
}

/* In one fibre, p from begin on (its predecessor is in the fibre too): the first that does not follow. */
SC_INLINE int64_t unordered(const checking *c, const void *crd, sc_dtype itype, int64_t begin, int64_t end,
                            int64_t rise)
{
    int64_t bad = 0;
    if (c->head == c->level) {
        for (int64_t p = begin; p < end; p++)
            bad |= sc_index(crd, itype, p) < sc_index(crd, itype, p - 1) + rise;
        if (!bad) return -1;
    }
    for (int64_t p = begin; p < end; p++)
        if (sc_index(crd, itype, p) < sc_index(crd, itype, p - 1) + rise && same_prefix(c, p)) return p;
    return -1;
}

static int64_t order_range(const void *arg, int64_t begin, int64_t end)
{
    const checking *c = arg;
    const void *pos = c->t->view.level[c->head].pos, *crd = c->t->view.level[c->level].crd;
    int64_t rise = c->t->format.level[c->level].unique, bad = -1;
    int64_t f = begin < end ? sc_split_fibre(pos, c->t->itype, c->fibres, begin) : 0;
    for (int64_t p = begin; p < end && bad < 0; f++) {
        int64_t first = sc_index(pos, c->t->itype, f), last = sc_min(sc_index(pos, c->t->itype, f + 1), end);
#define RUN(itype) bad = unordered(c, crd, itype, sc_max(p, first + 1), last, rise)
        SC_BY_INDEX(c->t->itype, RUN);
#undef RUN
        p = last;
    }
    return bad;
}

static int check_order(checking *c, sc_err *e)
{
    const sc_levelspec *s = &c->t->format.level[c->level], *head = &c->t->format.level[c->head];
    if (!sc_kind_of(head)->pos || (c->head < c->level && head->unique)) return SC_OK;
    int64_t p;
    if (first_bad(c, c->t->view.level[c->level].npos, order_range, &p, e)) return e->code;
    if (p < 0) return SC_OK;
    return wrong(
        c->t, c->level, e, "crd[%lld] = %lld follows %lld in one fibre, expected %s coordinates; sort them%s",
        (long long)p, (long long)crd_at(c->t, c->level, p), (long long)crd_at(c->t, c->level, p - 1),
        s->unique ? "strictly increasing" : "non-decreasing", s->unique ? " and sum duplicates" : "");
}

/* How many of n coordinates do not rise over the one ahead; -1: one is not from 0 to last. The first has none ahead, if it
 * is. As many at once as every compiler makes vectors of. */
#define FALLS(type)                                                                                          \
    static int64_t falls_##type(const type *crd, int64_t n, bool first, type last)                           \
    {                                                                                                        \
        type falls = first || crd[0] <= crd[-1], bad = (crd[0] < 0) | (crd[0] > last);                       \
        int64_t p = 1;                                                                                       \
        for (; p + AT_ONCE <= n; p += AT_ONCE)                                                               \
            for (int i = 0; i < AT_ONCE; i++) {                                                              \
                falls += crd[p + i] <= crd[p + i - 1];                                                       \
                bad |= (crd[p + i] < 0) | (crd[p + i] > last);                                               \
            }                                                                                                \
        for (; p < n; p++) {                                                                                 \
            falls += crd[p] <= crd[p - 1];                                                                   \
            bad |= (crd[p] < 0) | (crd[p] > last);                                                           \
        }                                                                                                    \
        return bad ? -1 : (int64_t)falls;                                                                    \
    }
FALLS(int32_t)
FALLS(int64_t)

/* The same of those that begin a fibre, from f on. */
SC_INLINE int64_t falls_between(const checking *c, sc_dtype itype, int64_t f, int64_t end)
{
    const void *pos = c->t->view.level[c->level].pos, *crd = c->t->view.level[c->level].crd;
    int64_t falls = 0;
    for (int64_t p; f < c->fibres && (p = sc_index(pos, itype, f)) < end; f++) {
        const bool filled = sc_index(pos, itype, f + 1) > p;
        falls += filled & (sc_index(crd, itype, p) <= sc_index(crd, itype, p ? p - 1 : 0));
    }
    return falls;
}

/* Coordinates rise in fibres where those that do not begin one. */
static int64_t rising_range(const void *arg, int64_t begin, int64_t end)
{
    const checking *c = arg;
    const void *pos = c->t->view.level[c->level].pos, *crd = c->t->view.level[c->level].crd;
    const int64_t extent = sc_level_extent(&c->t->format.level[c->level], c->t->view.dim);
    if (begin >= end) return -1;
    int64_t f = sc_split_fibre(pos, c->t->itype, c->fibres, begin), starts;
    f += sc_index(pos, c->t->itype, f) < begin;
#define RUN(itype) starts = falls_between(c, itype, f, end)
    SC_BY_INDEX(c->t->itype, RUN);
#undef RUN
    const int64_t n = end - begin, last = extent - 1;
    const int64_t found = c->t->itype == SC_I64 ? falls_int64_t((const int64_t *)crd + begin, n, !begin, last)
                                                : falls_int32_t((const int32_t *)crd + begin, n, !begin,
                                                                (int32_t)sc_min(last, INT32_MAX));
    return found == starts ? -1 : begin;
}

/* One pass for what most tensors are: fibres of unique coordinates. Anything wrong is left to the passes that say what;
 * *e: it was interrupted. */
static bool all_rise(checking *c, sc_err *e)
{
    const sc_level *v = &c->t->view.level[c->level];
    int64_t p;
    if (!sc_kind_of(&c->t->format.level[c->level])->pos || !c->t->format.level[c->level].unique || !v->crd)
        return false;
    return !first_bad(c, v->npos, rising_range, &p, e) && p < 0;
}

SC_INLINE bool pairs_rise_in(const checking *c, sc_dtype itype, int64_t begin, int64_t end)
{
    const sc_levelspec *s = c->t->format.level;
    const void *x = c->t->view.level[0].crd, *y = c->t->view.level[1].crd;
    const int64_t xs = sc_level_extent(&s[0], c->t->view.dim), ys = sc_level_extent(&s[1], c->t->view.dim);
    int64_t bad = 0, before_x = begin ? sc_index(x, itype, begin - 1) : -1,
            before_y = begin ? sc_index(y, itype, begin - 1) : 0;
    for (int64_t p = begin; p < end; p++) {
        const int64_t at_x = sc_index(x, itype, p), at_y = sc_index(y, itype, p);
        bad |= (at_x < before_x) | ((at_x == before_x) & (at_y < before_y + s[1].unique)) | (at_x < 0) |
               (at_x >= xs) | (at_y < 0) | (at_y >= ys);
        before_x = at_x;
        before_y = at_y;
    }
    return !bad;
}

static int64_t pairs_range(const void *arg, int64_t begin, int64_t end)
{
    const checking *c = arg;
    bool good;
#define RUN(itype) good = pairs_rise_in(c, itype, begin, end)
    SC_BY_INDEX(c->t->itype, RUN);
#undef RUN
    return good ? -1 : begin;
}

/* One pass for a list of sorted pairs, as coo has it. */
static bool pairs_rise(checking *c, sc_err *e)
{
    const sc_levelspec *s = c->t->format.level;
    const sc_level *v = c->t->view.level;
    int64_t p;
    if (c->level || c->t->format.nlevel != 2 || !sc_kind_of(&s[0])->pos || s[0].unique ||
        !sc_kind_of(&s[1])->one || v[1].npos != v[0].npos || !v[0].crd || !v[1].crd)
        return false;
    return !first_bad(c, v->npos, pairs_range, &p, e) && p < 0;
}

/* ---- padding ---- */
/* Rows of an ell level: rising coordinates, then padding. */
static int64_t ell_range(const void *arg, int64_t begin, int64_t end)
{
    const checking *c = arg;
    int64_t width = c->t->view.level[c->level].size, bad = -1;
    for (int64_t r = begin; r < end && bad < 0; r++)
        for (int64_t p = r * width + 1; p < (r + 1) * width && bad < 0; p++) {
            int64_t x = crd_at(c->t, c->level, p), before = crd_at(c->t, c->level, p - 1);
            if (x >= 0 && (before < 0 || before >= x)) bad = p;
        }
    return bad;
}

/* A singleton below ell is padding exactly where the level above it is. */
static int64_t padding_range(const void *arg, int64_t begin, int64_t end)
{
    const checking *c = arg;
    int64_t p = begin;
    while (p < end && (crd_at(c->t, c->level, p) < 0) == (crd_at(c->t, c->level - 1, p) < 0)) p++;
    return p < end ? p : -1;
}

static int check_padding(checking *c, sc_err *e)
{
    if (!may_pad(c->t, c->level) || !c->t->view.level[c->level].npos)
        return SC_OK; /* rows without slots are cheap */
    bool ell = sc_kind_of(&c->t->format.level[c->level])->padded;
    const int64_t n = ell ? c->fibres : c->t->view.level[c->level].npos;
    int64_t p;
    if (first_bad(c, n, ell ? ell_range : padding_range, &p, e)) return e->code;
    if (p < 0) return SC_OK;
    if (!ell)
        return wrong(c->t, c->level, e, "crd[%lld] = %lld, expected -1 exactly where level %d has padding",
                     (long long)p, (long long)crd_at(c->t, c->level, p), c->level - 1);
    return wrong(c->t, c->level, e,
                 "crd[%lld] = %lld follows %lld in one row, expected increasing coordinates and padding (-1) "
                 "only at the end",
                 (long long)p, (long long)crd_at(c->t, c->level, p),
                 (long long)crd_at(c->t, c->level, p - 1));
}

/* ---- diagonals ---- */
/* Whether diagonal q of slice s says that it has entries, all of which are inside of the tensor: without any, the same
 * entries would have several structures. */
static bool inside(const checking *c, int64_t s, int64_t q)
{
    const sc_levelspec *spec = &c->t->format.level[c->level];
    const int64_t offset = crd_at(c->t, c->level, 2 * q), bits = crd_at(c->t, c->level, 2 * q + 1);
    const int64_t extent = sc_level_extent(spec, c->t->view.dim);
    if (!bits || bits >> spec->width) return false;
    const int64_t low = s * spec->width + __builtin_ctzll((uint64_t)bits),
                  high = s * spec->width + 63 - __builtin_clzll((uint64_t)bits);
    return high < c->fibres && offset >= -low && offset < extent - high;
}

static int64_t slices_range(const void *arg, int64_t begin, int64_t end)
{
    const checking *c = arg;
    const void *pos = c->t->view.level[c->level].pos;
    for (int64_t s = begin; s < end; s++) {
        const int64_t first = sc_index(pos, c->t->itype, s), last = sc_index(pos, c->t->itype, s + 1);
        for (int64_t q = first; q < last; q++) {
            const bool rises =
                q == first || crd_at(c->t, c->level, 2 * q) > crd_at(c->t, c->level, 2 * q - 2);
            if (rises && inside(c, s, q)) continue;
            return q;
        }
    }
    return -1;
}

static int check_slices(checking *c, sc_err *e)
{
    const sc_levelspec *s = &c->t->format.level[c->level];
    const sc_level *v = &c->t->view.level[c->level];
    const int64_t slices = sc_slices(s, c->fibres);
    int64_t q;
    const int rc = check_pos(c, slices, v->npos / s->width, e);
    if (rc) return rc;
    if (!v->crd && v->npos)
        return wrong(c->t, c->level, e, "expected a crd array of %lld entries, got none",
                     (long long)sc_crd_length(s, v->size, c->fibres, v->npos));
    if (first_bad(c, slices, slices_range, &q, e)) return e->code;
    if (q < 0) return SC_OK;
    return wrong(
        c->t, c->level, e,
        "crd[%lld] = %lld with rows %#llx, expected rising diagonals in each slice, and bits of rows, one at "
        "least, whose coordinates, the diagonal and the number of the row added up, are 0 or more and below "
        "%lld",
        2 * (long long)q, (long long)crd_at(c->t, c->level, 2 * q),
        (unsigned long long)crd_at(c->t, c->level, 2 * q + 1), (long long)sc_level_extent(s, c->t->view.dim));
}

/* ---- bit masks ---- */
/* The bits that word w can have: the last word of a row may have fewer. */
static uint32_t bits_of_word(const checking *c, int64_t w)
{
    const int64_t extent = c->t->view.level[c->level].size, words = sc_words(extent);
    const int rest = (int)(extent % SC_WORD);
    return w % words == words - 1 && rest ? ((uint32_t)1 << rest) - 1 : UINT32_MAX;
}

/* Of i64 the words are numbers of 32 bits; those of i32 have a sign. */
static bool is_word(const checking *c, int64_t x)
{ return c->t->itype == SC_I32 || (x >= 0 && x <= (int64_t)UINT32_MAX); }

static int64_t entries_of_word(const checking *c, int64_t w)
{
    const void *pos = c->t->view.level[c->level].pos;
    return sc_index(pos, c->t->itype, w + 1) - sc_index(pos, c->t->itype, w);
}

static int64_t words_range(const void *arg, int64_t begin, int64_t end)
{
    const checking *c = arg;
    for (int64_t w = begin; w < end; w++) {
        const int64_t x = crd_at(c->t, c->level, w);
        if (is_word(c, x) && !((uint32_t)x & ~bits_of_word(c, w)) &&
            entries_of_word(c, w) == __builtin_popcount((uint32_t)x))
            continue;
        return w;
    }
    return -1;
}

static int wrong_word(const checking *c, int64_t w, sc_err *e)
{
    const int64_t x = crd_at(c->t, c->level, w);
    const uint32_t bits = (uint32_t)x;
    if (!is_word(c, x))
        return wrong(c->t, c->level, e, "crd[%lld] = %lld, expected a word of %d bits, from 0 to %lld",
                     (long long)w, (long long)x, SC_WORD, (long long)UINT32_MAX);
    if (bits & ~bits_of_word(c, w))
        return wrong(c->t, c->level, e,
                     "crd[%lld] = %#x has bits of coordinates out of range, expected none but %#x: 0 <= "
                     "coordinate < %lld",
                     (long long)w, bits, bits_of_word(c, w), (long long)c->t->view.level[c->level].size);
    return wrong(c->t, c->level, e,
                 "crd[%lld] = %#x has %d bits, but pos[%lld] - pos[%lld] = %lld, expected as many positions",
                 (long long)w, bits, __builtin_popcount(bits), (long long)w + 1, (long long)w,
                 (long long)entries_of_word(c, w));
}

static int check_words(checking *c, sc_err *e)
{
    const sc_level *v = &c->t->view.level[c->level];
    const int64_t words = c->fibres * sc_words(v->size);
    int64_t w;
    const int rc = check_pos(c, words, v->npos, e);
    if (rc) return rc;
    if (!v->crd && words)
        return wrong(c->t, c->level, e, "expected a crd array of %lld entries, got none", (long long)words);
    if (first_bad(c, words, words_range, &w, e)) return e->code;
    return w < 0 ? SC_OK : wrong_word(c, w, e);
}

/* ---- levels ---- */
static int check_lengths(const checking *c, int64_t parent, sc_err *e)
{
    const sc_levelspec *s = &c->t->format.level[c->level];
    const sc_level *v = &c->t->view.level[c->level];
    int64_t size = sc_level_size(s, c->t->view.dim), n = parent;
    if (s->part != SC_WHOLE && c->t->view.dim[s->dim] % s->block)
        return wrong(c->t, c->level, e,
                     "dimension %d of extent %lld is not a multiple of its block %d; pad it", s->dim,
                     (long long)c->t->view.dim[s->dim], s->block);
    if (v->size != size)
        return wrong(c->t, c->level, e, "size %lld, expected %lld", (long long)v->size, (long long)size);
    if (v->npos < 0)
        return wrong(c->t, c->level, e, "a negative number of positions, %lld", (long long)v->npos);
    if (sc_kind_of(s)->pos) return SC_OK;
    if (sc_kind_of(s)->words) {
        if (sc_mul(parent, sc_words(size), &n)) return SC_OK;
        return wrong(c->t, c->level, e, "%lld positions times %lld words overflow", (long long)parent,
                     (long long)sc_words(size));
    }
    if (sc_kind_of(s)->sliced) {
        if (v->npos % s->width == 0) return SC_OK;
        return wrong(c->t, c->level, e, "%lld positions, expected a multiple of the %d rows of a slice",
                     (long long)v->npos, s->width);
    }
    if (!sc_kind_of(s)->one && !sc_mul(parent, size, &n))
        return wrong(c->t, c->level, e, "%lld positions times size %lld overflow", (long long)parent,
                     (long long)size);
    if (v->npos == n) return SC_OK;
    return wrong(c->t, c->level, e, "%lld positions stored, expected %lld for the %lld positions above",
                 (long long)v->npos, (long long)n, (long long)parent);
}

static int check_level(checking *c, int l, int64_t parent, sc_err *e)
{
    const sc_kind *is = sc_kind_of(&c->t->format.level[l]);
    int rc;
    c->level = l;
    if (!is->one) {
        c->head = l;
        c->fibres = parent;
    }
    if ((rc = check_lengths(c, parent, e)) || !is->crd) return rc;
    if (is->sorted) return sc_validate_sell(c->t, l, c->fibres, e);
    if (is->sliced) return check_slices(c, e);
    if (is->words) return check_words(c, e);
    if (is->pos && (rc = check_pos(c, c->fibres, c->t->view.level[l].npos, e))) return rc;
    if (all_rise(c, e) || e->code || c->pairs || (c->pairs = pairs_rise(c, e)) || e->code) return e->code;
    if ((rc = check_crd(c, e)) || (rc = check_padding(c, e))) return rc;
    return check_order(c, e);
}

/* ---- the tensor ---- */
static int check_shape(const sc_tensor *t, sc_err *e)
{
    const sc_format *f = &t->format;
    if (f->ndim < 0 || f->ndim > SC_MAXDIM || f->nlevel < f->ndim || f->nlevel > SC_MAXLEVEL)
        return sc_error(e, SC_EVALUE, "expected at most %d dimensions and %d levels, got %d and %d",
                        SC_MAXDIM, SC_MAXLEVEL, f->ndim, f->nlevel);
    for (int l = 0; l < f->nlevel; l++) {
        const sc_levelspec *s = &f->level[l];
        if (s->kind >= SC_NKIND || s->part > SC_MOD || s->dim >= f->ndim ||
            (s->part != SC_WHOLE && s->block < 1) || (sc_kind_of(s)->padded && s->width < 0) ||
            (sc_kind_of(s)->sliced &&
             (!sc_slices_fit(s) || !sc_window_fits(s) || l == 0 || l + 1 < f->nlevel || s->part)) ||
            (sc_kind_of(s)->words && (l == 0 || l + 1 < f->nlevel || s->part || !s->unique)) ||
            (sc_kind_of(s)->planar &&
             (l == 0 || !sc_kind_of(s - 1)->pos || !s[-1].unique || s->part != SC_MOD)) ||
            (l == 0 && sc_kind_of(s)->one))
            return sc_error(e, SC_EVALUE, "level %d is not a level: kind %d of dimension %d", l, s->kind,
                            s->dim);
    }
    for (int d = 0; d < f->ndim; d++)
        if (t->view.dim[d] < 0)
            return sc_error(e, SC_EVALUE, "dimension %d: expected an extent of at least 0, got %lld", d,
                            (long long)t->view.dim[d]);
    if ((unsigned)t->dtype >= SC_NDTYPE)
        return sc_error(e, SC_ETYPE, "unknown type of values, %d", (int)t->dtype);
    return SC_OK;
}

static int check_dense(const sc_tensor *t, sc_err *e)
{
    int64_t n = 1;
    for (int d = 0; d < t->format.ndim; d++)
        if (!sc_mul(n, t->view.dim[d], &n))
            return sc_error(e, SC_EVALUE, "the product of the extents overflows");
    if (n && !t->view.val) return sc_error(e, SC_EVALUE, "expected %lld values, got none", (long long)n);
    return SC_OK;
}

int sc_validate(const sc_tensor *t, sc_err *e)
{
    checking c = {.t = t};
    int64_t parent = 1;
    int rc = check_shape(t, e);
    if (rc) return rc;
    if (sc_format_is_dense(&t->format)) return check_dense(t, e);
    if (t->itype != SC_I32 && t->itype != SC_I64)
        return sc_error(e, SC_ETYPE, "expected indices of type i32 or i64, got type %d", (int)t->itype);
    for (int l = 0; l < t->format.nlevel; l++) {
        if ((rc = check_level(&c, l, parent, e))) return rc;
        parent = t->view.level[l].npos;
    }
    if (t->view.nval != parent)
        return sc_error(e, SC_EVALUE, "%lld values, expected %lld, one for each position of the last level",
                        (long long)t->view.nval, (long long)parent);
    if (parent && !t->view.val)
        return sc_error(e, SC_EVALUE, "expected %lld values, got none", (long long)parent);
    return SC_OK;
}

/* convert_words.c: levels of bit masks, from a sorted list, and from and to compressed levels.
 *
 * A word is written by one lane: the one in whose range its first entry lies. One pass counts positions, so that each
 * lane knows where its own go, a second one writes them. Compressed levels store the same positions in the same order,
 * so values stay as they are, and a word is found from coordinates, and these from it, row by row. */
#include "convert.h"

typedef struct {
    const sc_conversion *c;
    const sc_list *list;
    int level;
    int64_t words; /* below one position above */
    const int64_t *at;
    int64_t *to;
    void *pos, *crd;
    int64_t count[SC_MAXLANE];
} masking;

static int64_t word_of(const masking *x, int64_t e)
{ return x->at[e] * x->words + sc_list_at(x->list, x->level, e) / SC_WORD; }

/* The entries of word w, the first of which is e and has position *q; returns the first behind them. */
static int64_t gather(const masking *x, int64_t e, int64_t w, int64_t *q)
{
    uint32_t bits = 0;
    for (; e < x->list->n && word_of(x, e) == w; e++) {
        const uint32_t bit = (uint32_t)1 << sc_list_at(x->list, x->level, e) % SC_WORD;
        *q += !(bits & bit);
        bits |= bit;
        if (x->crd) x->to[e] = *q - 1;
    }
    if (x->crd) sc_index_put(x->crd, x->c->to->itype, w, bits);
    return e;
}

/* Words that begin in the range, whole. */
static void range(void *arg, int lane, int64_t begin, int64_t end)
{
    masking *x = arg;
    int64_t q = x->count[lane], e = begin;
    while (e > 0 && e < end && word_of(x, e) == word_of(x, e - 1)) e++;
    while (e < end) {
        const int64_t w = word_of(x, e);
        for (int64_t f = e ? word_of(x, e - 1) : -1; x->pos && f < w; f++)
            sc_index_put(x->pos, x->c->to->itype, f + 1, q);
        e = gather(x, e, w, &q);
    }
    x->count[lane] = q;
}

/* Room for so many words with n positions in all. */
static int take_words(const sc_conversion *c, int level, int64_t words, int64_t n, void **pos, void **crd)
{
    if (c->to->itype == SC_I32 && n > INT32_MAX)
        return sc_error(c->err, SC_EVALUE,
                        "level %d (bitmask): %lld coordinates, more than i32 indices count: use i64", level,
                        (long long)n);
    const int rc = sc_convert_pos(c, level, words + 1, pos);
    return rc ? rc : sc_convert_crd(c, level, words, crd);
}

static int all_words(const sc_conversion *c, int level, int64_t above, int64_t *out)
{
    const int64_t each = sc_words(sc_level_size(&c->to->format.level[level], c->to->view.dim));
    if (sc_mul(above, each, out) && *out < INT64_MAX) return SC_OK;
    return sc_error(c->err, SC_EVALUE, "level %d (bitmask): rows overflow: %lld times %lld words", level,
                    (long long)above, (long long)each);
}

static int write_level(masking *x, int lanes, int64_t all, int64_t n)
{
    void *pos, *crd;
    const int rc = take_words(x->c, x->level, all, n, &pos, &crd);
    if (rc) return rc;
    sc_fill(crd, x->c->to->itype, all, 0);
    x->pos = pos;
    x->crd = crd;
    if (sc_parallel_pieces(lanes, 4 * (double)x->list->n, x->list->n, range, x)) return SC_ESTOP;
    for (int64_t f = x->list->n ? word_of(x, x->list->n - 1) : -1; f < all; f++)
        sc_index_put(pos, x->c->to->itype, f + 1, n);
    return SC_OK;
}

int sc_words_pack(const sc_conversion *c, const sc_list *list, int level, int64_t above, const int64_t *at,
                  int64_t *to, sc_level *made)
{
    masking x = {.c = c, .list = list, .level = level, .at = at, .to = to};
    const int64_t size = sc_level_size(&c->to->format.level[level], c->to->view.dim);
    const int lanes = sc_team_lanes(4 * (double)list->n);
    int64_t all;
    int rc = all_words(c, level, above, &all);
    if (rc) return rc;
    x.words = sc_words(size);
    if (sc_parallel_pieces(lanes, 4 * (double)list->n, list->n, range, &x)) return SC_ESTOP;
    const int64_t n = sc_prefix(x.count, lanes);
    rc = write_level(&x, lanes, all, n);
    *made = (sc_level){.pos = x.pos, .crd = x.crd, .size = size, .npos = n};
    return rc;
}

/* ---- another index type ---- */
typedef struct {
    const sc_conversion *c;
    void *out;
    const void *in;
} widening;

static void widen_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const widening *x = arg;
    (void)lane;
    for (int64_t w = begin; w < end; w++)
        sc_index_put(x->out, x->c->to->itype, w, sc_word(x->in, x->c->from->itype, w));
}

int sc_convert_words_keep(const sc_conversion *c, int level, const void *crd, int64_t n, void **out)
{
    if (c->from->itype == c->to->itype) return sc_convert_crd_keep(c, level, crd, n, out);
    const int rc = sc_convert_crd(c, level, n, out);
    widening x = {c, *out, crd};
    if (!rc) sc_parallel_ranges(sc_team_lanes((double)n / 4), n, widen_range, &x);
    return rc;
}

/* ---- from and to compressed levels ---- */
bool sc_convert_is_list(const sc_format *f, const sc_format *words)
{
    const int last = f->nlevel - 1;
    sc_format same = *f;
    if (last < 0 || words->nlevel != f->nlevel) return false;
    const sc_levelspec *s = &words->level[last], *from = &f->level[last];
    same.level[last] = *s;
    return sc_kind_of(s)->words && sc_kind_of(from)->pos && from->unique && from->part == SC_WHOLE &&
           from->dim == s->dim && sc_format_equal(&same, words);
}

typedef struct {
    const sc_conversion *c;
    const void *from_pos, *from_crd;
    void *pos, *crd;
    int64_t words, extent;
    bool stray[SC_MAXLANE];
} rewording;

/* A row whose coordinates rise becomes words. */
SC_INLINE bool row_words(const rewording *x, sc_dtype from, sc_dtype to, int64_t row)
{
    int64_t q = sc_index(x->from_pos, from, row), w = row * x->words, behind = SC_WORD;
    const int64_t last = sc_index(x->from_pos, from, row + 1);
    for (const int64_t end = w + x->words; w < end; w++, behind += SC_WORD) {
        uint32_t bits = 0;
        sc_index_put(x->pos, to, w, q);
        for (int64_t c; q < last && (c = sc_index(x->from_crd, from, q)) < behind; q++)
            bits |= (uint32_t)1 << (c & (SC_WORD - 1));
        sc_index_put(x->crd, to, w, bits);
    }
    return q < last ||
           (last > sc_index(x->from_pos, from, row) && sc_index(x->from_crd, from, last - 1) >= x->extent);
}

static void words_range(void *arg, int lane, int64_t begin, int64_t end)
{
    rewording *x = arg;
    bool stray = false;
    for (int64_t row = begin; row < end; row++) {
#define RUN(from)                                                                                            \
    stray |= x->c->to->itype == SC_I64 ? row_words(x, from, SC_I64, row) : row_words(x, from, SC_I32, row)
        SC_BY_INDEX(x->c->from->itype, RUN);
#undef RUN
    }
    x->stray[lane] |= stray;
}

/* The coordinates of a row, and where it begins. */
SC_INLINE bool row_list(const rewording *x, sc_dtype from, sc_dtype to, int64_t row)
{
    int64_t first = 0, q = sc_index(x->from_pos, from, row * x->words);
    const int64_t last = sc_index(x->from_pos, from, (row + 1) * x->words);
    sc_index_put(x->pos, to, row, q);
    for (int64_t w = row * x->words; w < (row + 1) * x->words; w++, first += SC_WORD)
        for (uint32_t bits = sc_word(x->from_crd, from, w); bits && q < last; bits &= bits - 1)
            sc_index_put(x->crd, to, q++, first + __builtin_ctz(bits));
    return q < last;
}

static void list_range(void *arg, int lane, int64_t begin, int64_t end)
{
    rewording *x = arg;
    bool stray = false;
    for (int64_t row = begin; row < end; row++) {
#define RUN(from)                                                                                            \
    stray |= x->c->to->itype == SC_I64 ? row_list(x, from, SC_I64, row) : row_list(x, from, SC_I32, row)
        SC_BY_INDEX(x->c->from->itype, RUN);
#undef RUN
    }
    x->stray[lane] |= stray;
}

/* All rows by `body`, and the level that they make; where the rows of bit masks have no words there are no entries. */
static int list_rows(rewording *x, int level, int64_t above, int64_t ends, sc_range *body)
{
    const sc_conversion *c = x->c;
    const int64_t n = c->from->view.level[level].npos;
    const double work = (double)n + (double)above * (double)(x->words + 1);
    sc_fill(x->pos, c->to->itype, x->words ? 0 : ends, 0);
    if (x->words && sc_parallel_pieces(sc_team_lanes(work), work, above, body, x)) return SC_ESTOP;
    x->stray[0] |= !x->words && n;
    const int rc = sc_convert_strays(c, x->stray, SC_MAXLANE);
    if (rc) return rc;
    sc_index_put(x->pos, c->to->itype, ends, n);
    c->to->view.level[level] = (sc_level){.pos = x->pos, .crd = x->crd, .size = x->extent, .npos = n};
    return sc_convert_val_keep(c);
}

static void open_listing(rewording *x, const sc_conversion *c, int level)
{
    const sc_level *from = &c->from->view.level[level];
    const int64_t extent = c->from->view.dim[c->from->format.level[level].dim];
    *x = (rewording){
        .c = c, .from_pos = from->pos, .from_crd = from->crd, .words = sc_words(extent), .extent = extent};
}

int sc_convert_list_words(const sc_conversion *c)
{
    const int level = c->from->format.nlevel - 1;
    rewording x;
    int64_t above, all;
    open_listing(&x, c, level);
    int rc = sc_convert_levels(c, level, &above);
    if (rc || (rc = all_words(c, level, above, &all)) ||
        (rc = take_words(c, level, all, c->from->view.level[level].npos, &x.pos, &x.crd)))
        return rc;
    return list_rows(&x, level, above, all, words_range);
}

int sc_convert_words_list(const sc_conversion *c)
{
    const int level = c->from->format.nlevel - 1;
    rewording x;
    int64_t above;
    open_listing(&x, c, level);
    int rc = sc_convert_levels(c, level, &above);
    if (rc || (rc = sc_convert_pos(c, level, above + 1, &x.pos)) ||
        (rc = sc_convert_crd(c, level, c->from->view.level[level].npos, &x.crd)))
        return rc;
    return list_rows(&x, level, above, above, list_range);
}

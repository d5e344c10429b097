/* convert_words.c: levels of bit masks, from a sorted list, and from compressed rows and back.
 *
 * A lane takes whole words: those that begin in its range of entries. Of compressed rows the entries stay where they are,
 * and where those of a word begin follows from where the row begins. */
#include <string.h>

#include "convert.h"

/* ---- from a list ---- */
typedef struct {
    const sc_conversion *c;
    const sc_list *list;
    int level;
    const int64_t *at;
    int64_t *to;
    void *pos, *crd;
    int64_t words, count[SC_MAXLANE];
} packed;

static int64_t column(const packed *x, int64_t e) { return sc_list_at(x->list, x->level, e); }
static int64_t word_of(const packed *x, int64_t e) { return x->at[e] * x->words + column(x, e) / SC_WORD; }

/* The entries of the word that entry e begins, which are the positions from *q on; returns the first entry behind. */
static int64_t pack_word(const packed *x, int64_t e, int64_t *q)
{
    const int64_t w = word_of(x, e);
    uint32_t bits = 0;
    for (; e < x->list->n && word_of(x, e) == w; e++) {
        const uint32_t bit = (uint32_t)1 << column(x, e) % SC_WORD;
        *q += !(bits & bit);
        bits |= bit;
        if (x->crd) x->to[e] = *q - 1;
    }
    if (x->crd) sc_index_put(x->crd, x->c->to->itype, w, bits);
    return e;
}

static void pack_range(void *arg, int lane, int64_t begin, int64_t end)
{
    packed *x = arg;
    int64_t q = x->count[lane], e = begin;
    while (e > 0 && e < end && word_of(x, e) == word_of(x, e - 1)) e++;
    while (e < end) {
        const int64_t w = word_of(x, e);
        for (int64_t f = e ? word_of(x, e - 1) : -1; x->crd && f < w; f++)
            sc_index_put(x->pos, x->c->to->itype, f + 1, q);
        e = pack_word(x, e, &q);
    }
    x->count[lane] = q;
}

static int check(const sc_conversion *c, int level, int64_t npos, int64_t above, int64_t words, int64_t *all)
{
    if (!sc_mul(above, words, all) || *all == INT64_MAX)
        return sc_error(c->err, SC_EVALUE, "level %d (bitmask): %lld rows of %lld words overflow", level,
                        (long long)above, (long long)words);
    if (c->to->itype == SC_I32 && npos > INT32_MAX)
        return sc_error(c->err, SC_EVALUE,
                        "level %d stores %lld coordinates, more than i32 indices count: use i64", level,
                        (long long)npos);
    return SC_OK;
}

/* Room for the arrays; crd is cleared. */
static int arrays(const sc_conversion *c, int level, int64_t all, void **pos, void **crd)
{
    const int rc = sc_convert_pos(c, level, all + 1, pos);
    if (rc) return rc;
    return sc_convert_crd(c, level, all, crd);
}

int sc_words_pack(const sc_conversion *c, const sc_list *list, int level, int64_t above, const int64_t *at,
                  int64_t *to, sc_level *made)
{
    const int64_t size = sc_level_size(&c->to->format.level[level], c->to->view.dim);
    packed x = {.c = c, .list = list, .level = level, .at = at, .to = to, .words = sc_words(size)};
    const int lanes = sc_team_lanes(2 * (double)list->n);
    void *pos, *crd;
    int64_t all;
    sc_parallel_ranges(lanes, list->n, pack_range, &x);
    const int64_t n = sc_prefix(x.count, lanes);
    int rc = check(c, level, n, above, x.words, &all);
    if (rc || (rc = arrays(c, level, all, &pos, &crd))) return rc;
    x.pos = pos;
    x.crd = crd;
    sc_fill(crd, c->to->itype, all, 0);
    if (crd) sc_parallel_ranges(lanes, list->n, pack_range, &x);
    for (int64_t f = list->n ? word_of(&x, list->n - 1) : -1; f < all; f++)
        sc_index_put(pos, c->to->itype, f + 1, n);
    *made = (sc_level){.pos = pos, .crd = crd, .size = size, .npos = n};
    return SC_OK;
}

/* ---- compressed rows ---- */
typedef struct {
    const sc_conversion *c;
    int64_t words;
    void *pos, *crd;
    bool stray[SC_MAXLANE];
} rows;

/* Entries q and on of a row as the words from w on. */
static bool to_words(const rows *x, int64_t w, int64_t q, int64_t end)
{
    const sc_level *from = &x->c->from->view.level[1];
    const sc_dtype type = x->c->from->itype, itype = x->c->to->itype;
    for (int64_t k = 0; k < x->words; k++) {
        uint32_t bits = 0;
        sc_index_put(x->pos, itype, w + k, q);
        for (; q < end; q++) {
            const int64_t c = sc_index(from->crd, type, q) - k * SC_WORD;
            if (c >= SC_WORD) break;
            if (c < 0) return false;
            bits |= (uint32_t)1 << c;
        }
        sc_index_put(x->crd, itype, w + k, bits);
    }
    return q == end;
}

static void rows_to_words(void *arg, int lane, int64_t begin, int64_t end)
{
    rows *x = arg;
    const void *pos = x->c->from->view.level[1].pos;
    const sc_dtype type = x->c->from->itype;
    for (int64_t r = begin; r < end; r++)
        x->stray[lane] |= !to_words(x, r * x->words, sc_index(pos, type, r), sc_index(pos, type, r + 1));
}

static int run(rows *x, int64_t n, void range(void *, int, int64_t, int64_t))
{
    const int64_t entries = x->c->from->view.level[1].npos;
    const int lanes = sc_team_lanes((double)entries);
    if (sc_parallel_pieces(lanes, (double)entries, n, range, x)) return SC_ESTOP;
    for (int t = 0; t < lanes; t++)
        if (x->stray[t]) return sc_convert_stray(x->c);
    return SC_OK;
}

/* The levels of a pair of this inner one. */
static int finish(const rows *x)
{
    const sc_level *from = x->c->from->view.level;
    for (int l = 0; l < 2; l++)
        x->c->to->view.level[l] = (sc_level){.size = from[l].size, .npos = from[l].npos};
    x->c->to->view.level[1].pos = x->pos;
    x->c->to->view.level[1].crd = x->crd;
    return sc_convert_val_keep(x->c);
}

int sc_convert_csr_words(const sc_conversion *c)
{
    const sc_level *from = c->from->view.level;
    rows x = {.c = c, .words = sc_words(from[1].size)};
    int64_t all;
    int rc = check(c, 1, from[1].npos, from[0].npos, x.words, &all);
    if (rc || (rc = arrays(c, 1, all, &x.pos, &x.crd))) return rc;
    sc_index_put(x.pos, c->to->itype, all, from[1].npos);
    if ((rc = run(&x, from[0].npos, rows_to_words))) return rc;
    return finish(&x);
}

static void words_to_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    rows *x = arg;
    const sc_level *from = &x->c->from->view.level[1];
    const sc_dtype type = x->c->from->itype, itype = x->c->to->itype;
    (void)lane;
    for (int64_t w = begin * x->words; w < end * x->words; w++) {
        int64_t q = sc_index(from->pos, type, w);
        if (w % x->words == 0) sc_index_put(x->pos, itype, w / x->words, q);
        for (uint32_t bits = sc_word(from->crd, type, w); bits; bits &= bits - 1)
            sc_index_put(x->crd, itype, q++, w % x->words * SC_WORD + __builtin_ctz(bits));
    }
}

int sc_convert_words_csr(const sc_conversion *c)
{
    const sc_level *from = c->from->view.level;
    rows x = {.c = c, .words = sc_words(from[1].size)};
    int rc = sc_convert_pos(c, 1, from[0].npos + 1, &x.pos);
    if (rc || (rc = sc_convert_crd(c, 1, from[1].npos, &x.crd))) return rc;
    if (!x.words) sc_fill(x.pos, c->to->itype, from[0].npos, 0);
    sc_index_put(x.pos, c->to->itype, from[0].npos, from[1].npos);
    if ((rc = run(&x, from[0].npos, words_to_rows))) return rc;
    return finish(&x);
}

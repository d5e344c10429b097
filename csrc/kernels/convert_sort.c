/* convert_sort.c: puts a list into the target's order.
 *
 * Most lists arrive sorted, so that is asked first. Otherwise a stable radix
 * sort from the last byte to the first, over the bytes that differ at all:
 * every lane counts its own range, one prefix sum over (digit, lane) gives each
 * lane its places, and the outcome is the same for any number of lanes. Keys of
 * several words are sorted from the last word to the first. */
#include <string.h>

#include "convert.h"

#define DIGITS 256

/* ---- is it sorted ---- */
typedef struct {
    const sc_list *list;
    bool falls[SC_MAXLANE], repeats[SC_MAXLANE];
} asking;

static int compare(const sc_list *s, int64_t a, int64_t b)
{
    for (int w = 0; w < s->nword; w++)
        if (s->key[w][a] != s->key[w][b]) return s->key[w][a] < s->key[w][b] ? -1 : 1;
    return 0;
}

static void ask_range(void *arg, int lane, int64_t begin, int64_t end)
{
    asking *a = arg;
    bool falls = false, repeats = false;
    for (int64_t e = sc_max(begin, 1); e < end && !falls; e++) {
        int c = compare(a->list, e - 1, e);
        falls = c > 0;
        repeats |= c == 0;
    }
    a->falls[lane] |= falls;
    a->repeats[lane] |= repeats;
}

/* Also fills in whether keys repeat, if they are sorted. */
static int ask(sc_list *s, bool *sorted)
{
    asking a = {.list = s};
    int lanes = sc_team_lanes((double)s->n);
    bool falls = false, repeats = false;
    if (sc_parallel_pieces(lanes, (double)s->n, s->n, ask_range, &a)) return SC_ESTOP;
    for (int t = 0; t < lanes; t++) {
        falls |= a.falls[t];
        repeats |= a.repeats[t];
    }
    s->distinct = !repeats;
    *sorted = !falls;
    return SC_OK;
}

/* ---- radix sort of (key, index) pairs ---- */
typedef struct {
    const uint64_t *key;
    const int64_t *idx;
    uint64_t *key_to;
    int64_t *idx_to;
    int64_t *place; /* per lane: DIGITS counts, then places */
    int shift;
    uint64_t varies[SC_MAXLANE];
} radix;

static void vary_range(void *arg, int lane, int64_t begin, int64_t end)
{
    radix *r = arg;
    uint64_t v = 0;
    for (int64_t e = begin; e < end; e++) v |= r->key[e] ^ r->key[0];
    r->varies[lane] |= v;
}

static void digit_range(void *arg, int lane, int64_t begin, int64_t end)
{
    radix *r = arg;
    int64_t *count = r->place + (int64_t)lane * DIGITS;
    for (int64_t e = begin; e < end; e++) count[r->key[e] >> r->shift & (DIGITS - 1)]++;
}

static void scatter_range(void *arg, int lane, int64_t begin, int64_t end)
{
    radix *r = arg;
    int64_t *place = r->place + (int64_t)lane * DIGITS;
    for (int64_t e = begin; e < end; e++) {
        int64_t to = place[r->key[e] >> r->shift & (DIGITS - 1)]++;
        r->key_to[to] = r->key[e];
        r->idx_to[to] = r->idx[e];
    }
}

static void places(int64_t *place, int lanes)
{
    int64_t n = 0;
    for (int d = 0; d < DIGITS; d++)
        for (int t = 0; t < lanes; t++) {
            int64_t count = place[t * DIGITS + d];
            place[t * DIGITS + d] = n;
            n += count;
        }
}

/* By one digit, into the other arrays. */
static int sort_digit(radix *r, int lanes, int64_t n)
{
    memset(r->place, 0, (size_t)lanes * DIGITS * sizeof *r->place);
    if (sc_parallel_pieces(lanes, (double)n, n, digit_range, r)) return SC_ESTOP;
    places(r->place, lanes);
    return sc_parallel_pieces(lanes, 2 * (double)n, n, scatter_range, r);
}

static int sort_digits(radix *r, int lanes, uint64_t **key, int64_t **idx, int64_t n)
{
    uint64_t varies = 0;
    int rc = sc_parallel_pieces(lanes, (double)n, n, vary_range, r);
    for (int t = 0; t < lanes; t++) varies |= r->varies[t];
    for (r->shift = 0; r->shift < 64 && !rc; r->shift += 8) {
        if (!(varies >> r->shift & (DIGITS - 1))) continue;
        r->key = *key, r->idx = *idx;
        rc = sort_digit(r, lanes, n);
        *key = r->key_to, *idx = r->idx_to;
        r->key_to = (uint64_t *)(uintptr_t)r->key, r->idx_to = (int64_t *)(uintptr_t)r->idx;
    }
    return rc;
}

/* Sorts *key with *idx, n of each; either array may be replaced. */
static int sort_pairs(const sc_conversion *c, uint64_t **key, int64_t **idx, int64_t n)
{
    radix r = {.key = *key, .idx = *idx};
    const int lanes = sc_team_lanes((double)n);
    r.key_to = sc_convert_take(c, n, sizeof *r.key_to);
    r.idx_to = sc_convert_take(c, n, sizeof *r.idx_to);
    r.place = sc_convert_take(c, (int64_t)lanes * DIGITS, sizeof *r.place);
    const int rc = r.key_to && r.idx_to && r.place ? sort_digits(&r, lanes, key, idx, n) : SC_ENOMEM;
    sc_work_give(r.key_to);
    sc_work_give(r.idx_to);
    sc_work_give(r.place);
    return rc;
}

/* ---- several words ---- */
static void gather(uint64_t *to, const uint64_t *from, const int64_t *order, int64_t n)
{ sc_gather_values(to, from, order, SC_I64, n, SC_I64); }

/* order becomes the permutation that sorts all words. */
static int sort_words(const sc_conversion *c, const sc_list *s, int64_t **order)
{
    uint64_t *key = sc_convert_take(c, s->n, sizeof *key);
    int rc = key ? SC_OK : SC_ENOMEM;
    for (int w = s->nword - 1; w >= 0 && !rc; w--) {
        gather(key, s->key[w], *order, s->n);
        rc = sort_pairs(c, &key, order, s->n);
    }
    sc_work_give(key);
    return rc;
}

static int reorder(const sc_conversion *c, sc_list *s, int64_t **order)
{
    int rc = sort_words(c, s, order);
    for (int w = 0; w < s->nword && !rc; w++) {
        uint64_t *key = sc_convert_take(c, s->n, sizeof *key);
        if (!key) return SC_ENOMEM;
        gather(key, s->key[w], *order, s->n);
        sc_work_give(s->key[w]);
        s->key[w] = key;
    }
    if (rc || !s->idx) return rc;
    int64_t *idx = sc_convert_take(c, s->n, sizeof *idx);
    if (!idx) return SC_ENOMEM;
    sc_gather_values(idx, s->idx, *order, SC_I64, s->n, SC_I64);
    sc_work_give(s->idx);
    s->idx = idx;
    return SC_OK;
}

static int64_t *identity(const sc_conversion *c, int64_t n)
{
    int64_t *p = sc_convert_take(c, n, sizeof *p);
    for (int64_t i = 0; p && i < n; i++) p[i] = i;
    return p;
}

int sc_list_sort(const sc_conversion *c, sc_list *s)
{
    bool sorted;
    int rc = ask(s, &sorted);
    if (rc || sorted) return rc;
    if (s->nword == 1) {
        if (!s->idx && !(s->idx = identity(c, s->n))) return SC_ENOMEM;
        rc = sort_pairs(c, &s->key[0], &s->idx, s->n);
    } else {
        int64_t *order = identity(c, s->n);
        rc = order ? reorder(c, s, &order) : SC_ENOMEM;
        if (!rc && !s->idx)
            s->idx = order;
        else
            sc_work_give(order);
    }
    return rc ? rc : ask(s, &sorted);
}

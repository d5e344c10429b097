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
    a->falls[lane] = falls;
    a->repeats[lane] = repeats;
}

/* Also fills in whether keys repeat, if they are sorted. */
static bool sorted(sc_list *s)
{
    asking a = {.list = s};
    int lanes = sc_team_lanes((double)s->n);
    bool falls = false, repeats = false;
    sc_parallel_ranges(lanes, s->n, ask_range, &a);
    for (int t = 0; t < lanes; t++) {
        falls |= a.falls[t];
        repeats |= a.repeats[t];
    }
    s->distinct = !repeats;
    return !falls;
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
    r->varies[lane] = v;
}

static void digit_range(void *arg, int lane, int64_t begin, int64_t end)
{
    radix *r = arg;
    int64_t *count = r->place + (int64_t)lane * DIGITS;
    memset(count, 0, DIGITS * sizeof *count);
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

/* Sorts *key with *idx, n of each; either array may be replaced. */
static int sort_pairs(const sc_conversion *c, uint64_t **key, int64_t **idx, int64_t n)
{
    radix r = {.key = *key, .idx = *idx};
    int lanes = sc_team_lanes((double)n);
    uint64_t varies = 0;
    uint64_t *key_to = sc_convert_take(c, n, sizeof *key_to);
    int64_t *idx_to = sc_convert_take(c, n, sizeof *idx_to);
    r.place = sc_convert_take(c, (int64_t)lanes * DIGITS, sizeof *r.place);
    bool ok = key_to && idx_to && r.place;
    if (ok) sc_parallel_ranges(lanes, n, vary_range, &r);
    for (int t = 0; t < lanes && ok; t++) varies |= r.varies[t];
    for (r.shift = 0; r.shift < 64 && ok; r.shift += 8) {
        if (!(varies >> r.shift & (DIGITS - 1))) continue;
        r.key = *key, r.idx = *idx, r.key_to = key_to, r.idx_to = idx_to;
        sc_parallel_ranges(lanes, n, digit_range, &r);
        places(r.place, lanes);
        sc_parallel_ranges(lanes, n, scatter_range, &r);
        uint64_t *k = *key;
        int64_t *i = *idx;
        *key = key_to, *idx = idx_to, key_to = k, idx_to = i;
    }
    sc_work_give(key_to);
    sc_work_give(idx_to);
    sc_work_give(r.place);
    return ok ? SC_OK : SC_ENOMEM;
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
    if (sorted(s)) return SC_OK;
    int rc;
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
    if (!rc) sorted(s);
    return rc;
}

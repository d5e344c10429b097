/* conv_map.c: the kernel map of a sparse convolution, by hashing sites.
 *
 * The key of a site is linear in its coordinates: key = sum over axes of coordinate * factor, modulo 2^64. So a
 * neighbour's key is the site's key and a number of the offset, one addition whatever the number of axes. Where the
 * box around all sites, widened by what the kernel reaches, has fewer than 2^63 cells, factors number its cells, and
 * equal keys are equal sites. Elsewhere factors are odd numbers without a pattern, and equal keys are looked at again,
 * axis by axis.
 *
 * Most neighbours are not there, and a filter of 16 bits a site or more says so without a look at the table: 64 cells
 * that follow one another on the last axis are the bits of one word, so neighbours on that axis are found in one line.
 * Offsets that pass go to a list, without a branch, and only those are looked up in the table.
 *
 * The table has open addressing and holds rows. All threads insert at once: a free slot is claimed by compare and
 * swap, and of rows with one site the slot ends up with the first, whichever thread came first. So it finds sites that
 * are given twice, and with quotients for coordinates it finds the output sites of a stride. Lanes then take ranges of
 * output sites and keep what they find in lists of their own, which are copied to their places when their lengths are
 * known. */
#include <stdatomic.h>
#include <string.h>

#include "../convolution.h"
#include "kernels.h"

enum { LOOKUP = 4 }; /* a lookup takes as long as so many multiply-adds */

typedef struct {
    sc_conv_map *m;
    bool exact; /* equal keys are equal sites */
    uint64_t factor[SC_MAXDIM];
    int64_t first[SC_MAXDIM]; /* tap 0, dilated */
    bool strided;
    sc_alloc *alloc;
    void *ctx;
    sc_err *err;
} mapping;

/* Rows by key. The coordinates of a row are those of its site, or with `quotient` what the strides leave of them. */
typedef struct {
    const mapping *c;
    bool quotient;
    uint64_t *key;  /* of each row */
    uint32_t *slot; /* 1 + row, 0: free */
    uint64_t mask;
    uint64_t *word; /* the filter */
    int word_shift;
    atomic_bool repeats;
} site_table;

static int nomem(const mapping *c) { return sc_error(c->err, SC_ENOMEM, "out of memory"); }

static void *take(const mapping *c, int64_t n, size_t size)
{
    int64_t bytes;
    void *p = sc_mul(n, (int64_t)size, &bytes) ? sc_work_take((size_t)bytes) : NULL;
    if (!p) (void)nomem(c);
    return p;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* ---- the kernel ---- */
static int read_kernel(mapping *c)
{
    static const char *const names[] = {"kernel_size", "stride", "dilation"};
    sc_conv_map *m = c->m;
    m->noffset = 1;
    for (int a = 0; a < m->naxis; a++) {
        const int64_t given[] = {m->size[a], m->stride[a], m->dilation[a]};
        int64_t reach;
        for (int k = 0; k < SC_LEN(given); k++)
            if (given[k] < 1)
                return sc_error(c->err, SC_EVALUE, "%s: expected 1 or more, got %lld", names[k],
                                (long long)given[k]);
        if (!sc_mul(m->noffset, m->size[a], &m->noffset) || m->noffset > INT32_MAX ||
            !sc_mul(m->size[a], m->dilation[a], &reach))
            return sc_error(c->err, SC_EVALUE,
                            "kernel_size, dilation: expected fewer than 2^31 offsets that reach less than "
                            "2^63 far, got a size of %lld and a dilation of %lld",
                            (long long)m->size[a], (long long)m->dilation[a]);
        c->first[a] = m->size[a] % 2 ? -(m->size[a] / 2) * m->dilation[a] : 0;
        c->strided |= m->stride[a] != 1;
    }
    return SC_OK;
}

/* Cells on an axis that sites and what is looked up may lie in; false: too many to count. */
static bool cells(const mapping *c, int a, int64_t *out)
{
    const sc_conv_map *m = c->m;
    int64_t low = 0, high = 0;
    for (int64_t i = 0; i < m->n; i++) {
        const int64_t x = m->site[i * m->naxis + a];
        low = i ? sc_min(low, x) : x;
        high = i ? sc_max(high, x) : x;
    }
    return !__builtin_sub_overflow(high, low, out) && sc_add(*out, m->stride[a], out) &&
           sc_add(*out, (m->size[a] - 1) * m->dilation[a], out);
}

static void choose_factors(mapping *c)
{
    int64_t all = 1, extent;
    c->exact = true;
    for (int a = c->m->naxis - 1; a >= 0 && c->exact; a--) {
        c->factor[a] = (uint64_t)all;
        c->exact = cells(c, a, &extent) && sc_mul(all, extent, &all);
    }
    uint64_t x = 0x9e3779b97f4a7c15u;
    for (int a = c->m->naxis - 2; a >= 0 && !c->exact; a--) {
        x = (x ^ x >> 31) * 0xd6e8feb86659fd93u;
        c->factor[a] = x | 1;
    }
}

/* ---- the table ---- */
static uint64_t mixed(uint64_t key)
{
    key = (key ^ key >> 32) * 0xd6e8feb86659fd93u;
    return key ^ key >> 32;
}

/* Which word of the filter has the bit of a key, number key modulo 64. */
SC_INLINE uint64_t word_of(uint64_t key, int shift) { return (key >> 6) * 0x9e3779b97f4a7c15u >> shift; }

/* Whether two rows with one key are the same. */
static bool same_rows(const site_table *t, int64_t i, int64_t j)
{
    const sc_conv_map *m = t->c->m;
    bool same = true;
    for (int a = 0; a < m->naxis && same && !t->c->exact; a++) {
        const int64_t s = t->quotient ? m->stride[a] : 1;
        same = floor_div(m->site[i * m->naxis + a], s) == floor_div(m->site[j * m->naxis + a], s);
    }
    return same;
}

static void key_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const site_table *t = arg;
    const sc_conv_map *m = t->c->m;
    (void)lane;
    for (int64_t i = begin; i < end; i++) {
        uint64_t key = 0;
        for (int a = 0; a < m->naxis; a++) {
            const int64_t x = m->site[i * m->naxis + a];
            const uint64_t whole =
                t->quotient ? (uint64_t)floor_div(x, m->stride[a]) * (uint64_t)m->stride[a] : (uint64_t)x;
            key += whole * t->c->factor[a];
        }
        t->key[i] = key;
    }
}

static bool swap(uint32_t *slot, uint32_t *held, uint32_t row)
{ return __atomic_compare_exchange_n(slot, held, row, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); }

/* Claims a slot for row i; of equal rows the first stays. */
static void insert(site_table *t, int64_t i)
{
    const uint64_t key = t->key[i];
    const uint32_t row = (uint32_t)i + 1;
    (void)__atomic_fetch_or(&t->word[word_of(key, t->word_shift)], (uint64_t)1 << (key & 63),
                            __ATOMIC_RELAXED);
    for (uint64_t at = mixed(key) & t->mask;; at = (at + 1) & t->mask) {
        uint32_t held = 0;
        if (swap(&t->slot[at], &held, row)) return;
        if (t->key[held - 1] != key || !same_rows(t, held - 1, i)) continue;
        while (held > row && !swap(&t->slot[at], &held, row)) continue;
        atomic_store_explicit(&t->repeats, true, memory_order_relaxed);
        return;
    }
}

static void insert_range(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    for (int64_t i = begin; i < end; i++) insert(arg, i);
}

/* The row that stands for the site of row i. */
static int64_t find_row(const site_table *t, int64_t i)
{
    for (uint64_t at = mixed(t->key[i]) & t->mask;; at = (at + 1) & t->mask) {
        const int64_t j = (int64_t)t->slot[at] - 1;
        if (t->key[j] == t->key[i] && same_rows(t, j, i)) return j;
    }
}

static void table_free(site_table *t)
{
    sc_work_give(t->key);
    sc_work_give(t->slot);
    sc_work_give(t->word);
}

static int table_make(site_table *t, const mapping *c, bool quotient)
{
    const int64_t n = c->m->n;
    const int64_t slots = (int64_t)2 << sc_log2_up(n + 1); /* at most half full */
    const int64_t words = sc_max(slots / 8, 2);
    const int lanes = sc_team_lanes(LOOKUP * (double)n);
    *t = (site_table){.c = c, .quotient = quotient, .mask = (uint64_t)slots - 1};
    t->word_shift = 64 - __builtin_ctzll((unsigned long long)words);
    t->key = take(c, n, sizeof *t->key);
    t->slot = take(c, slots, sizeof *t->slot);
    t->word = take(c, words, sizeof *t->word);
    if (!t->key || !t->slot || !t->word) return SC_ENOMEM;
    sc_fill(t->slot, SC_I32, slots, 0);
    sc_fill(t->word, SC_I64, words, 0);
    if (sc_parallel_pieces(lanes, LOOKUP * (double)n, n, key_range, t) ||
        sc_parallel_pieces(lanes, LOOKUP * (double)n, n, insert_range, t))
        return sc_error(c->err, SC_ESTOP, "stopped");
    return SC_OK;
}

static int refuse_repeats(const site_table *t)
{
    int64_t i = 0;
    while (find_row(t, i) == i) i++;
    return sc_error(
        t->c->err, SC_EVALUE,
        "coordinates: expected each site once, but row %lld is the same as row %lld: join them first, "
        "see torch.unique(coordinates, dim=0, return_inverse=True)",
        (long long)i, (long long)find_row(t, i));
}

/* ---- output sites ---- */
typedef struct {
    const site_table *t;
    int64_t count[SC_MAXLANE + 1]; /* of a lane, then of all before it */
    int64_t *out;
} listing;

static void count_range(void *arg, int lane, int64_t begin, int64_t end)
{
    listing *l = arg;
    int64_t n = 0;
    for (int64_t i = begin; i < end; i++) n += find_row(l->t, i) == i;
    l->count[lane + 1] = n;
}

static void list_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const listing *l = arg;
    const sc_conv_map *m = l->t->c->m;
    int64_t *to = l->out + l->count[lane] * m->naxis;
    for (int64_t i = begin; i < end; i++) {
        if (find_row(l->t, i) != i) continue;
        for (int a = 0; a < m->naxis; a++) *to++ = floor_div(m->site[i * m->naxis + a], m->stride[a]);
    }
}

static int list_outputs(mapping *c, const site_table *t)
{
    sc_conv_map *m = c->m;
    listing l = {.t = t};
    const int lanes = sc_team_lanes(LOOKUP * (double)m->n);
    sc_parallel_ranges(lanes, m->n, count_range, &l);
    for (int k = 0; k < lanes; k++) l.count[k + 1] += l.count[k];
    m->nout = l.count[lanes];
    m->out = l.out = c->alloc(c->ctx, SC_CRD, -1, SC_I64, m->nout * m->naxis);
    if (!l.out) return nomem(c);
    sc_parallel_ranges(lanes, m->n, list_range, &l);
    return SC_OK;
}

static int make_outputs(mapping *c)
{
    site_table t;
    c->m->nout = c->m->n, c->m->out = c->m->site;
    if (!c->strided) return SC_OK;
    int rc = table_make(&t, c, true);
    if (!rc) rc = list_outputs(c, &t);
    table_free(&t);
    return rc;
}

/* ---- neighbours ---- */
typedef struct {
    int32_t offset, input;
} neighbour;

typedef struct {
    neighbour *entry;
    int32_t *passed; /* offsets that the filter lets through */
    int64_t n, room, begin, end;
    bool failed;
} found;

typedef struct {
    const mapping *c;
    const site_table *t;
    uint64_t *step;  /* [noffset] what an offset adds to a key */
    int64_t *count;  /* [nout] entries of each output site */
    int32_t *passed; /* [lanes, noffset] */
    void *pos, *offset, *input;
    int lanes;
    double work;
    found lane[SC_MAXLANE];
} search;

static void make_steps(const mapping *c, uint64_t *step)
{
    const sc_conv_map *m = c->m;
    int64_t n = 1;
    step[0] = 0;
    for (int a = 0; a < m->naxis; a++) step[0] += (uint64_t)c->first[a] * c->factor[a];
    for (int a = m->naxis - 1; a >= 0; n *= m->size[a], a--)
        for (int64_t k = n; k < n * m->size[a]; k++)
            step[k] = step[k - n] + (uint64_t)m->dilation[a] * c->factor[a];
}

/* Whether row j is output site i at offset r; in 128 bits, as a floor may lie below the least coordinate. */
static bool meets(const mapping *c, int64_t i, int64_t r, int64_t j)
{
    const sc_conv_map *m = c->m;
    bool same = true;
    for (int a = m->naxis - 1; a >= 0 && same; r /= m->size[a], a--) {
        const int64_t tap = c->first[a] + r % m->size[a] * m->dilation[a];
        same = (__int128)m->out[i * m->naxis + a] * m->stride[a] + tap == m->site[j * m->naxis + a];
    }
    return same;
}

/* The input site of output site i at offset r, or -1. */
static int64_t find(const search *s, uint64_t key, int64_t i, int64_t r)
{
    const site_table *t = s->t;
    for (uint64_t at = mixed(key) & t->mask;; at = (at + 1) & t->mask) {
        const int64_t j = (int64_t)t->slot[at] - 1;
        if (j < 0 || (t->key[j] == key && (s->c->exact || meets(s->c, i, r, j)))) return j;
    }
}

/* Room for the entries of one more output site. */
static bool make_room(const search *s, found *f)
{
    const int64_t more = s->c->m->noffset;
    if (f->room - f->n >= more) return true;
    const int64_t room = sc_max(2 * f->room, f->n + more);
    neighbour *grown = sc_work_take((size_t)room * sizeof *grown);
    if (!grown) return false;
    if (f->n) memcpy(grown, f->entry, (size_t)f->n * sizeof *grown);
    sc_work_give(f->entry);
    f->entry = grown, f->room = room;
    return true;
}

/* The offsets whose keys the filter lets through. */
static int64_t pass(const search *s, uint64_t base, int32_t *restrict passed)
{
    const uint64_t *restrict step = s->step, *restrict word = s->t->word;
    const int64_t noffset = s->c->m->noffset;
    const int shift = s->t->word_shift;
    int64_t n = 0;
    for (int64_t r = 0; r < noffset; r++) {
        const uint64_t key = base + step[r];
        passed[n] = (int32_t)r;
        n += (int64_t)(word[word_of(key, shift)] >> (key & 63) & 1);
    }
    return n;
}

static void search_site(const search *s, found *f, int64_t i)
{
    const sc_conv_map *m = s->c->m;
    const int64_t before = f->n;
    uint64_t base = 0;
    for (int a = 0; a < m->naxis; a++)
        base += (uint64_t)m->out[i * m->naxis + a] * (uint64_t)m->stride[a] * s->c->factor[a];
    const int64_t passed = pass(s, base, f->passed);
    for (int64_t k = 0; k < passed; k++) {
        const int32_t r = f->passed[k];
        const int64_t j = find(s, base + s->step[r], i, r);
        f->entry[f->n] = (neighbour){r, (int32_t)j};
        f->n += j >= 0;
    }
    s->count[i] = f->n - before;
}

static void search_range(void *arg, int lane, int64_t begin, int64_t end)
{
    search *s = arg;
    found f = s->lane[lane]; /* a copy, as those of other lanes are in the same lines of the cache */
    if (!f.room) f.begin = begin;
    for (int64_t i = begin; i < end && !f.failed; i++) {
        f.failed = !make_room(s, &f);
        if (!f.failed) search_site(s, &f, i);
    }
    f.end = end;
    s->lane[lane] = f;
}

/* ---- the map ---- */
static void copy_lane(void *arg, int lane, int64_t begin, int64_t end)
{
    const search *s = arg;
    (void)lane;
    for (int64_t k = begin; k < end; k++) {
        const found *f = &s->lane[k];
        int64_t at = 0;
        for (int64_t x = 0; x < k; x++) at += s->lane[x].n;
#define COPY(itype)                                                                                          \
    do {                                                                                                     \
        for (int64_t e = 0; e < f->n; e++) {                                                                 \
            sc_index_put(s->offset, itype, at + e, f->entry[e].offset);                                      \
            sc_index_put(s->input, itype, at + e, f->entry[e].input);                                        \
        }                                                                                                    \
        for (int64_t i = f->begin; i < f->end; i++) sc_index_put(s->pos, itype, i + 1, at += s->count[i]);   \
    } while (0)
        SC_BY_INDEX(s->c->m->itype, COPY);
#undef COPY
    }
}

static int make_arrays(search *s)
{
    const mapping *c = s->c;
    sc_conv_map *m = c->m;
    m->nnz = 0;
    for (int k = 0; k < s->lanes; k++) m->nnz += s->lane[k].n;
    m->itype = m->nnz > INT32_MAX ? SC_I64 : SC_I32;
    s->pos = c->alloc(c->ctx, SC_POS, 1, m->itype, m->nout + 1);
    s->offset = c->alloc(c->ctx, SC_CRD, 1, m->itype, m->nnz);
    s->input = c->alloc(c->ctx, SC_CRD, 2, m->itype, m->nnz);
    if (!s->pos || !s->offset || !s->input) return nomem(c);
    sc_index_put(s->pos, m->itype, 0, 0);
    sc_parallel_ranges(s->lanes, s->lanes, copy_lane, s);
    m->pos = s->pos, m->offset = s->offset, m->input = s->input;
    return SC_OK;
}

static int search_all(search *s)
{
    for (int k = 0; k < s->lanes; k++) s->lane[k].passed = s->passed + k * s->c->m->noffset;
    int rc = sc_parallel_pieces(s->lanes, s->work, s->c->m->nout, search_range, s);
    if (rc) (void)sc_error(s->c->err, rc, "stopped");
    for (int k = 0; k < s->lanes && !rc; k++)
        if (s->lane[k].failed) rc = nomem(s->c);
    if (!rc) rc = make_arrays(s);
    for (int k = 0; k < s->lanes; k++) sc_work_give(s->lane[k].entry);
    return rc;
}

static int search_neighbours(const mapping *c, const site_table *t)
{
    const sc_conv_map *m = c->m;
    search s = {.c = c, .t = t, .work = LOOKUP * (double)m->nout * (double)m->noffset};
    s.lanes = sc_team_lanes(s.work);
    s.passed = take(c, s.lanes * m->noffset, sizeof *s.passed);
    s.step = take(c, m->noffset, sizeof *s.step);
    s.count = take(c, m->nout, sizeof *s.count);
    if (s.step) make_steps(c, s.step);
    const int rc = s.passed && s.step && s.count ? search_all(&s) : SC_ENOMEM;
    sc_work_give(s.passed);
    sc_work_give(s.step);
    sc_work_give(s.count);
    return rc;
}

static int make_map(mapping *c)
{
    site_table t;
    int rc = table_make(&t, c, false);
    if (!rc && atomic_load(&t.repeats)) rc = refuse_repeats(&t);
    if (!rc) rc = make_outputs(c);
    if (!rc) rc = search_neighbours(c, &t);
    table_free(&t);
    return rc;
}

int sc_conv_map_make(sc_conv_map *m, sc_alloc *alloc, void *ctx, sc_err *e)
{
    mapping c = {.m = m, .alloc = alloc, .ctx = ctx, .err = e};
    if (m->n >= INT32_MAX)
        return sc_error(e, SC_EVALUE, "coordinates: expected fewer than 2^31 - 1 sites, got %lld",
                        (long long)m->n);
    if (read_kernel(&c)) return e->code;
    choose_factors(&c);
    return make_map(&c);
}

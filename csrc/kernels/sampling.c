/* sampling.c: neighbours of nodes, hop by hop.
 *
 * A hop draws entries of rows (draw.c), numbers the nodes that they lead to, and puts the entries of each row in the order
 * of these numbers. Rows are drawn from and sorted by all threads; nodes are numbered by one, in the order of entries, so
 * that numbers do not tell who drew. The random numbers of a row follow from the hop and its place in it. Numbering waits
 * for memory, so the table is asked for some slots ahead. */
#include "../sampling.h"

#include <string.h>

#include "convert_wide.h"
#include "draw.h"
#include "numbering.h"

#define AHEAD 16

struct sc_sampling {
    sc_sampled from;
    sc_numbering number;
    int64_t *node, room;   /* by number */
    int64_t hops, reached; /* nodes when the last hop began */
    /* the last hop */
    sc_hop hop;
    int64_t fanout, longest;
    int64_t *offset; /* [rows + 1] of what was drawn from each row */
    int64_t *count;  /* [rows] what is left of it where it was drawn several times */
    int64_t *entry;  /* as drawn */
    uint64_t *key;   /* the column; then the number above, and below where its entry is in its row */
    int nlane;
    char *memory; /* of the lanes */
    size_t each;
    int64_t bad[SC_MAXLANE];
};

static void end_hop(sc_sampling *s)
{
    sc_work_give(s->offset), sc_work_give(s->count), sc_work_give(s->entry), sc_work_give(s->key);
    sc_work_give(s->memory);
    s->offset = s->count = s->entry = NULL, s->key = NULL, s->memory = NULL;
}

void sc_sampling_close(sc_sampling *s)
{
    if (!s) return;
    end_hop(s);
    sc_numbering_close(&s->number);
    sc_work_give(s->node);
    sc_work_give(s);
}

static int no_memory(sc_err *e, int64_t n)
{ return sc_error(e, SC_ENOMEM, "out of memory for a sample of %lld entries", (long long)n); }

/* ---- nodes ---- */
/* Room for n nodes. */
static int reserve(sc_sampling *s, int64_t n, sc_err *e)
{
    if (sc_numbering_reserve(&s->number, n, e)) return e->code;
    if (n <= s->room) return 0;
    const int64_t room = sc_max(n, 2 * s->room);
    int64_t *node = sc_work_take(sizeof *node * (size_t)room);
    if (!node) return no_memory(e, n);
    if (s->node) memcpy(node, s->node, sizeof *node * (size_t)s->number.n);
    sc_work_give(s->node);
    s->node = node, s->room = room;
    return 0;
}

SC_INLINE int64_t number_of(sc_sampling *s, int64_t coord)
{
    const int64_t before = s->number.n, number = sc_numbering_add(&s->number, coord);
    if (number == before) s->node[number] = coord;
    return number;
}

int sc_sampling_open(sc_sampling **made, const sc_sampled *from, const int64_t *node, int64_t n, sc_err *e)
{
    sc_sampling *s = *made = sc_work_take(sizeof *s);
    if (!s) return no_memory(e, n);
    memset(s, 0, sizeof *s);
    s->from = *from;
    if (reserve(s, sc_max(n, 1), e)) return e->code;
    for (int64_t i = 0; i < n; i++) {
        if (node[i] < 0 || node[i] >= from->rows)
            return sc_error(e, SC_EVALUE, "seeds: expected nodes in 0..%lld, got %lld",
                            (long long)from->rows - 1, (long long)node[i]);
        if (number_of(s, node[i]) == i) continue;
        if (!from->fresh)
            return sc_error(e, SC_EVALUE,
                            "seeds: expected each node once, got %lld again: torch.unique(seeds, "
                            "return_inverse=True) gives them once",
                            (long long)node[i]);
        s->node[s->number.n++] = node[i];
    }
    return 0;
}

/* ---- drawing ---- */
SC_INLINE int64_t row_of(const sc_sampling *s, int64_t i, int64_t *hi)
{
    const int64_t row = s->node[s->hop.begin + i];
    *hi = sc_index(s->from.pos, s->from.itype, row + 1);
    return sc_index(s->from.pos, s->from.itype, row);
}

/* How many may be drawn from each row, and what that takes. */
static int measure(sc_sampling *s, sc_err *e)
{
    const int64_t rows = s->hop.rows, most = s->fanout;
    int64_t n = 0;
    s->longest = 0;
    s->offset = sc_work_take(sizeof *s->offset * (size_t)(rows + 1));
    s->count = sc_work_take(sizeof *s->count * (size_t)(rows + 1));
    if (!s->offset || !s->count) return no_memory(e, rows);
    for (int64_t i = 0; i < rows; i++) {
        if (s->node[s->hop.begin + i] >= s->from.rows)
            return sc_error(e, SC_EVALUE,
                            "A: expected a row for each node that is reached, got node %lld of %lld rows",
                            (long long)s->node[s->hop.begin + i], (long long)s->from.rows);
        int64_t hi;
        const int64_t lo = row_of(s, i, &hi), length = hi - lo;
        s->offset[i] = n;
        s->longest = sc_max(s->longest, length);
        n += most < 0 ? length : s->from.replace ? (length ? most : 0) : sc_min(length, most);
        if (s->number.n + n >= INT32_MAX)
            return sc_error(e, SC_EVALUE,
                            "a layer of more than %lld entries: expected fewer seeds or fan-outs",
                            (long long)INT32_MAX);
    }
    s->offset[rows] = n;
    return 0;
}

static void draw_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    sc_sampling *s = arg;
    sc_drawer d = {.weight = s->from.weight, .wtype = s->from.wtype, .replace = s->from.replace, .bad = -1};
    d.memory = s->memory + s->each * (size_t)lane;
    for (int64_t i = begin; i < end; i++) {
        int64_t hi, *entry = s->entry + s->offset[i];
        const int64_t lo = row_of(s, i, &hi);
        d.state = sc_draw_mix(s->from.random, (uint64_t)s->hops, (uint64_t)i);
        s->count[i] = sc_draw(&d, lo, hi, s->fanout, entry);
        for (int64_t k = 0; k < s->count[i]; k++)
            s->key[s->offset[i] + k] = (uint64_t)sc_index(s->from.crd, s->from.itype, entry[k]);
    }
    s->bad[lane] = d.bad;
}

static int check_weights(const sc_sampling *s, sc_err *e)
{
    for (int lane = 0; lane < s->nlane; lane++)
        if (s->bad[lane] >= 0)
            return sc_error(e, SC_EVALUE,
                            "weighted: expected values of A that are finite and not negative, which that at "
                            "place %lld is not",
                            (long long)s->bad[lane]);
    return 0;
}

/* ---- numbers, and the order of a row ---- */
static void number_all(sc_sampling *s)
{
    for (int64_t i = 0; i < s->hop.rows; i++) {
        uint64_t *key = s->key + s->offset[i];
        const int64_t n = s->count[i];
        for (int64_t k = 0; k < n; k++) {
            /* behind the end of a row the next one begins, or memory that nobody reads */
            const int64_t ahead = s->offset[i] + k + AHEAD;
            if (ahead < s->offset[s->hop.rows])
                __builtin_prefetch(&s->number.slot[sc_numbering_home(&s->number, (int64_t)s->key[ahead])]);
            key[k] = (uint64_t)number_of(s, (int64_t)key[k]) << 32 | (uint64_t)k;
        }
    }
}

/* Whether entries that were drawn several times become one. */
SC_INLINE bool joins(const sc_sampling *s) { return s->from.replace && !s->from.fresh; }

/* The keys of an entry that was drawn several times are one after the other: the first stays. */
static int64_t distinct(const uint64_t *key, int64_t n)
{
    int64_t found = n > 0;
    for (int64_t k = 1; k < n; k++) found += key[k] >> 32 != key[k - 1] >> 32;
    return found;
}

static void sort_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    sc_sampling *s = arg;
    uint64_t *spare = (uint64_t *)(void *)(s->memory + s->each * (size_t)lane);
    for (int64_t i = begin; i < end; i++) {
        uint64_t *key = s->key + s->offset[i];
        const int64_t n = s->count[i];
        const uint64_t *sorted = sc_wide_sort_all(key, spare, n);
        if (sorted != key) memcpy(key, sorted, sizeof *key * (size_t)n);
    }
}

int sc_sampling_hop(sc_sampling *s, int64_t fanout, sc_hop *hop, sc_err *e)
{
    end_hop(s);
    s->fanout = sc_min(fanout, INT32_MAX);
    s->hop = (sc_hop){.begin = s->from.fresh ? s->reached : 0};
    s->hop.rows = s->number.n - s->hop.begin;
    s->reached = s->number.n;
    if (measure(s, e)) return e->code;
    const int64_t n = s->offset[s->hop.rows], most = fanout < 0 ? s->longest : s->fanout;
    s->nlane = sc_team_lanes(8 * (double)n + (s->from.weight ? 8.0 : 2.0) * (double)s->hop.rows);
    s->each = sc_draw_size(s->longest, most);
    s->each = (size_t)sc_max((int64_t)s->each, (int64_t)sizeof *s->key * sc_max(most, 1));
    s->each = (s->each + 63) / 64 * 64;
    s->memory = sc_work_take(s->each * (size_t)s->nlane);
    s->entry = sc_work_take(sizeof *s->entry * (size_t)sc_max(n, 1));
    s->key = sc_work_take(sizeof *s->key * (size_t)sc_max(n, 1));
    if (!s->memory || !s->entry || !s->key) return no_memory(e, n);
    for (int lane = 0; lane < s->nlane; lane++) s->bad[lane] = -1;
    sc_parallel_ranges(s->nlane, s->hop.rows, draw_rows, s);
    if (check_weights(s, e) || reserve(s, s->number.n + n, e)) return e->code;
    number_all(s);
    sc_parallel_ranges(s->nlane, s->hop.rows, sort_rows, s);
    s->hops++;
    for (int64_t i = 0; i < s->hop.rows; i++)
        s->hop.entries += joins(s) ? distinct(s->key + s->offset[i], s->count[i]) : s->count[i];
    s->hop.nodes = s->number.n;
    *hop = s->hop;
    return 0;
}

/* ---- what is returned ---- */
void sc_sampling_fill(const sc_sampling *s, int32_t *pos, int32_t *crd, int64_t *entry, int32_t *times)
{
    int64_t at = 0;
    pos[0] = 0;
    for (int64_t i = 0; i < s->hop.rows; i++) {
        const uint64_t *key = s->key + s->offset[i];
        const int64_t first = at;
        for (int64_t k = 0; k < s->count[i]; k++) {
            const int32_t number = (int32_t)(key[k] >> 32);
            if (joins(s) && at > first && crd[at - 1] == number) {
                if (times) times[at - 1]++;
                continue;
            }
            if (times) times[at] = 1;
            crd[at] = number;
            entry[at++] = s->entry[s->offset[i] + (int64_t)(key[k] & 0xffffffff)];
        }
        pos[i + 1] = (int32_t)at;
    }
}

void sc_sampling_nodes(const sc_sampling *s, int64_t *node)
{ memcpy(node, s->node, sizeof *node * (size_t)s->number.n); }

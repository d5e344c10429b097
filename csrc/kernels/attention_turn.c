/* attention_turn.c: the strips of a mask transposed, from its strips.
 *
 * A block of columns takes, from each block of rows, the columns that fall into
 * it: at most 64 words of 64 bits, a square that is transposed in registers. Which blocks of rows those are is listed
 * first, so that time is that of the strips, however many blocks there are. */
#include <stdatomic.h>

#include "attention_blocks.h"

typedef struct {
    int64_t rows, at; /* a block of rows, and the first of its strips that falls into a block of columns */
} square;

typedef struct {
    const sc_strips *from;
    sc_strips *to;
    int64_t *first; /* square of each block of columns */
    square *square;
    int64_t *pos;
    int32_t *crd;
    uint64_t *bits;
    char *val;
    size_t size; /* of a value */
    _Atomic int64_t next;
} turning;

/* m[r] bit c becomes m[c] bit r. */
static void transpose(uint64_t *m)
{
    uint64_t mask = 0x00000000ffffffff;
    for (int j = 32; j; j >>= 1, mask ^= mask << j)
        for (int k = 0; k < 64; k = ((k | j) + 1) & ~j) {
            const uint64_t t = ((m[k] >> j) ^ m[k | j]) & mask;
            m[k] ^= t << j;
            m[k | j] ^= t;
        }
}

/* Behind the strips from p on that lie in the same block of columns, whose last column is below `column`. */
static int64_t end_of(const sc_strips *f, int64_t p, int64_t end, int64_t column)
{
    while (p < end && f->crd[p] < column) p++;
    return p;
}

/* Counts the squares of each block of columns, or lists them, in the order of rows. */
static void list_squares(turning *t)
{
    const sc_strips *f = t->from;
    for (int64_t m = 0; m < f->batch * f->heads; m++) {
        const int64_t *pos = f->pos + m * (f->blocks + 1);
        int64_t *first = t->first + m * t->to->blocks;
        for (int64_t rb = 0; rb < f->blocks; rb++)
            for (int64_t p = pos[rb], next; p < pos[rb + 1]; p = next) {
                const int64_t column = f->crd[p] / f->height;
                next = end_of(f, p, pos[rb + 1], (column + 1) * f->height);
                if (t->square)
                    t->square[first[column]++] = (square){rb, p};
                else
                    first[column]++;
            }
    }
}

static bool find_squares(turning *t)
{
    const int64_t units = t->to->batch * t->to->heads * t->to->blocks;
    int64_t n = 0;
    t->first = sc_zalloc(sizeof *t->first * (size_t)(units + 1));
    if (!t->first) return false;
    list_squares(t);
    for (int64_t u = 0; u < units; u++) {
        const int64_t count = t->first[u];
        t->first[u] = n;
        n += count;
    }
    t->square = sc_malloc(sizeof *t->square * (size_t)(n + 1));
    if (!t->square) return false;
    list_squares(t);
    for (int64_t u = units; u > 0; u--) t->first[u] = t->first[u - 1]; /* each has become the next */
    t->first[0] = 0;
    return true;
}

/* Writes the square of row block rb, whose columns are at [lo, hi), to places from `at` on. */
static int64_t put(const turning *t, int64_t rb, int64_t lo, int64_t hi, int64_t column, int64_t at)
{
    const sc_strips *f = t->from;
    const int64_t h = f->height;
    uint64_t m[64] = {0};
    for (int64_t p = lo; p < hi; p++) m[f->crd[p] - column] = f->bits[p];
    transpose(m);
    for (int64_t r = 0; r < h; r++) {
        if (!m[r]) continue;
        t->crd[at] = (int32_t)(rb * h + r);
        t->bits[at] = m[r];
        char *line = t->val + (size_t)(at * h) * t->size;
        if (t->val) memset(line, 0, (size_t)h * t->size);
        for (int64_t p = lo; t->val && p < hi; p++)
            memcpy(line + (size_t)(f->crd[p] - column) * t->size,
                   (const char *)f->val + (size_t)(p * h + r) * t->size, t->size);
        at++;
    }
    return at;
}

static void turn_units(void *arg, int id, int n)
{
    turning *t = arg;
    const sc_strips *f = t->from, *to = t->to;
    const int64_t units = to->batch * to->heads * to->blocks;
    (void)id, (void)n;
    for (int64_t u; (u = atomic_fetch_add(&t->next, 1)) < units;) {
        const int64_t matrix = u / to->blocks, column = u % to->blocks * to->height;
        const int64_t *pos = f->pos + matrix * (f->blocks + 1);
        int64_t *here = t->pos + u + matrix, at = t->crd ? here[0] : 0;
        for (int64_t k = t->first[u]; k < t->first[u + 1]; k++) {
            const int64_t rb = t->square[k].rows, lo = t->square[k].at;
            const int64_t hi = end_of(f, lo, pos[rb + 1], column + to->height);
            uint64_t any = 0;
            if (t->crd)
                at = put(t, rb, lo, hi, column, at);
            else
                for (int64_t p = lo; p < hi; p++) any |= f->bits[p];
            at += __builtin_popcountll(any);
        }
        if (!t->crd) here[1] = at;
    }
}

/* Blocks of one row are csr: entries are put in the order of columns, those of a column in the order of rows. */
static void turn_rows(turning *t)
{
    const sc_strips *f = t->from;
    for (int64_t m = 0; m < f->batch * f->heads; m++) {
        const int64_t *pos = f->pos + m * (f->blocks + 1);
        int64_t *to = t->pos + m * (t->to->blocks + 1);
        const int64_t begin = to[0];
        if (!t->crd) memset(to, 0, sizeof *to * (size_t)(t->to->blocks + 1));
        for (int64_t r = 0; r < f->blocks; r++)
            for (int64_t p = pos[r]; p < pos[r + 1]; p++) {
                if (!t->crd) {
                    to[f->crd[p] + 1]++;
                    continue;
                }
                const int64_t at = to[f->crd[p]]++;
                t->crd[at] = (int32_t)r;
                t->bits[at] = f->bits[p];
                if (t->val)
                    memcpy(t->val + (size_t)at * t->size, (const char *)f->val + (size_t)p * t->size,
                           t->size);
            }
        for (int64_t c = t->to->blocks; t->crd && c > 0; c--)
            to[c] = to[c - 1]; /* each has become the next */
        if (t->crd) to[0] = begin;
    }
}

static void run(turning *t)
{
    if (t->from->height == 1) {
        turn_rows(t);
        return;
    }
    atomic_store(&t->next, 0);
    sc_parallel(sc_team_lanes((double)t->from->n * 16), turn_units, t);
}

int64_t sc_strips_sum(const sc_strips *s, int64_t *pos)
{
    int64_t n = 0;
    for (int64_t m = 0; m < s->batch * s->heads; m++, pos += s->blocks + 1) {
        pos[0] = n;
        for (int64_t k = 1; k <= s->blocks; k++) pos[k] = n += pos[k];
    }
    return n;
}

static int turn(turning *t, sc_err *e)
{
    const sc_strips *from = t->from;
    sc_strips *to = t->to;
    to->pos = t->pos = sc_malloc(sizeof *t->pos * (size_t)(to->batch * to->heads * (to->blocks + 1) + 1));
    if (!t->pos || (from->height > 1 && !find_squares(t))) return sc_error(e, SC_ENOMEM, "out of memory");
    run(t);
    to->n = sc_strips_sum(to, t->pos);
    to->crd = t->crd = sc_malloc(sizeof *t->crd * (size_t)(to->n + 1));
    to->bits = t->bits = sc_malloc(sizeof *t->bits * (size_t)(to->n + 1));
    if (from->val) to->val = t->val = sc_malloc(t->size * (size_t)(to->n * to->height + 1));
    if (!t->crd || !t->bits || (from->val && !t->val)) return sc_error(e, SC_ENOMEM, "out of memory");
    run(t);
    return SC_OK;
}

int sc_strips_turn(const sc_strips *from, int64_t columns, size_t size, sc_strips *to, sc_err *e)
{
    *to = (sc_strips){.height = from->height, .batch = from->batch, .heads = from->heads};
    to->blocks = (columns + to->height - 1) / to->height;
    turning t = {.from = from, .to = to, .size = size};
    const int rc = turn(&t, e);
    free(t.first);
    free(t.square);
    return rc;
}

void sc_strips_free(sc_strips *s)
{
    const void *const memory[] = {s->pos, s->crd, s->bits, s->val};
    for (int i = 0; i < SC_LEN(memory); i++) free((void *)(uintptr_t)memory[i]);
}

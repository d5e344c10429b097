/* attention.c: attention under a sparse mask: checks, choice of vectors, threads.
 *
 * The unit of work is a block of one head. Threads take units from a common
 * counter; a unit writes its own rows of the result and depends on nothing else,
 * so the bytes are the same for any number of threads. Gradients of k and v are
 * made by the blocks of the mask transposed, for the same reason. */
#include <stdatomic.h>
#include <stdio.h>

#include "../watch.h"
#include "attention_blocks.h"

/* ---- the CPU ---- */
static atomic_int widest = 64;

void sc_attention_use(int vector_bytes) { atomic_store(&widest, vector_bytes); }

static int vector_bytes(void)
{
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512cd");
    return (int)sc_min(atomic_load(&widest), avx2 && avx512 ? 64 : avx2 ? 32 : 16);
#else
    return 16;
#endif
}

static const sc_attention_blocks *blocks_of(sc_dtype t)
{
    switch (vector_bytes()) {
#if defined(__x86_64__)
    case 64: return t == SC_F64 ? &sc_attention_blocks_64_f64 : &sc_attention_blocks_64_f32;
    case 32: return t == SC_F64 ? &sc_attention_blocks_32_f64 : &sc_attention_blocks_32_f32;
#endif
    default: return t == SC_F64 ? &sc_attention_blocks_16_f64 : &sc_attention_blocks_16_f32;
    }
}

/* ---- checks ---- */
static bool check_block(const sc_strips *s, int64_t begin, int64_t end, int64_t columns, uint64_t all)
{
    uint64_t bits = 0;
    int64_t before = -1;
    bool good = true;
    for (int64_t i = begin; i < end; i++) {
        good &= s->crd[i] > before;
        before = s->crd[i];
        bits |= s->bits[i];
    }
    return good && before < columns && !(bits & ~all);
}

/* Each row must be there once. */
static int check_order(const sc_strips *s, int64_t rows, sc_err *e)
{
    if (!s->order) return SC_OK;
    bool good = s->height > 1;
    uint8_t *seen = sc_malloc((size_t)rows + 1);
    if (!seen) return sc_error(e, SC_ENOMEM, "out of memory");
    memset(seen, 0, (size_t)rows + 1);
    for (int64_t r = 0; r < rows && good; r++) {
        const int64_t row = s->order[r];
        good = row >= 0 && row < rows && !seen[row];
        if (good) seen[row] = 1;
    }
    free(seen);
    return good ? SC_OK
                : sc_error(e, SC_EVALUE,
                           "strips: expected an order that names each of %lld rows once, for blocks of "
                           "several rows",
                           (long long)rows);
}

static int check_strips(const sc_attention *a, const sc_strips *s, int64_t rows, int64_t columns, sc_err *e)
{
    if (check_order(s, rows, e)) return e->code;
    if (!sc_strips_height(s->height))
        return sc_error(e, SC_EVALUE, "strips: expected a height of 1, 16, 32 or 64, got %lld",
                        (long long)s->height);
    if ((s->batch != 1 && s->batch != a->batch) || (s->heads != 1 && s->heads != a->heads) ||
        s->blocks != (rows + s->height - 1) / s->height)
        return sc_error(
            e, SC_EVALUE, "strips: expected pos [%lld or 1, %lld or 1, %lld], got [%lld, %lld, %lld]",
            (long long)a->batch, (long long)a->heads, (long long)((rows + s->height - 1) / s->height + 1),
            (long long)s->batch, (long long)s->heads, (long long)(s->blocks + 1));
    for (int64_t u = 0; u < s->batch * s->heads * s->blocks; u++) {
        const int64_t *pos = s->pos + u + u / s->blocks, left = rows - u % s->blocks * s->height;
        if (pos[0] < 0 || pos[1] < pos[0] || pos[1] > s->n)
            return sc_error(e, SC_EVALUE, "strips: pos must ascend from 0 to %lld at most", (long long)s->n);
        if (!check_block(s, pos[0], pos[1], columns, sc_strips_rows(sc_min(left, s->height))))
            return sc_error(
                e, SC_EVALUE,
                "strips: expected columns of a block that ascend and stay below %lld, and bits of its rows "
                "only",
                (long long)columns);
    }
    return SC_OK;
}

static int check_parts(const sc_attention *a, const sc_strips *s, int parts, int64_t rows, int64_t columns,
                       sc_err *e)
{
    for (int i = 0; i < parts; i++) {
        const bool alone = parts == 1 || (s[i].batch == 1 && s[i].heads == 1 && !s[i].val);
        if (!alone || (s[i].order && s[i].batch * s[i].heads != 1))
            return sc_error(e, SC_EVALUE,
                            "strips: expected one matrix for all heads, without values, where there are two "
                            "parts or an order");
        if (check_strips(a, &s[i], rows, columns, e)) return e->code;
    }
    return SC_OK;
}

/* ---- a region ---- */
typedef struct {
    const sc_attention *a;
    const sc_strips *strips;
    bool more;
    sc_attention_block *block;
    int64_t heads, blocks; /* units: [batch, heads, blocks of one unit after the other] */
    int64_t units, n;      /* of a head, in all */
    int64_t each;          /* blocks of a unit */
    char *memory;
    size_t bytes;
    _Atomic int64_t next;
} attention_region;

static void run_units(void *arg, int id, int n)
{
    attention_region *r = arg;
    (void)n;
    for (int64_t u; (u = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed)) < r->n;) {
        const int64_t head = u / r->units, first = u % r->units * r->each;
        const sc_attention_unit unit = {
            head / r->heads, head % r->heads, first, sc_min(r->each, r->blocks - first), r->strips, r->more};
        r->block(r->a, r->memory + (size_t)id * r->bytes, &unit);
    }
}

/* Runs block on every block of strips s, for so many batches and heads; more: as in a unit. */
static int run(const sc_attention *a, const sc_strips *s, bool more, int64_t batches, int64_t heads,
               sc_attention_block *block, double work, sc_err *e)
{
    int lanes = sc_team_lanes(work);
    attention_region r = {.a = a, .strips = s, .more = more, .block = block, .heads = heads};
    r.blocks = s->blocks, r.each = 1;
    if (s->height == 1) r.each = sc_min(512, batches * heads * s->blocks / (8 * lanes) + 1);
    r.units = (s->blocks + r.each - 1) / r.each, r.n = batches * heads * r.units;
    if (r.n <= 0) return SC_OK;
    lanes = (int)sc_min(lanes, r.n);
    r.bytes = (blocks_of(a->dtype)->size(a, s, r.each) + 63) & ~(size_t)63;
    r.memory = sc_work_take(r.bytes * (size_t)lanes);
    if (!r.memory) return sc_error(e, SC_ENOMEM, "out of memory");
    sc_parallel(lanes, run_units, &r);
    sc_work_give(r.memory);
    return SC_OK;
}

static double work_of(const sc_attention *a, const sc_strips *s)
{
    const double matrices = (double)(a->batch * a->heads) / (double)(s->batch * s->heads);
    return matrices * (double)(s->n * s->height) * (double)(a->width + a->depth);
}

static void begin_span(sc_span *s, const sc_attention *a, const char *what)
{
    char text[160];
    const int64_t q = a->rows * a->width, kv = a->columns * (a->width + a->depth), out = a->rows * a->depth;
    snprintf(text, sizeof text, "%s\t%lldx%lldx%lldx%lld %s, mask of %lldx%lld", what, (long long)a->batch,
             (long long)a->heads, (long long)a->rows, (long long)a->width, sc_dtype_name(a->dtype),
             (long long)a->rows, (long long)a->columns);
    sc_span_begin(s, text, NULL, 0);
    s->bytes = (a->batch * (a->heads * (q + out) + a->shared * kv)) * (int64_t)sc_dtype_size(a->dtype);
}

static int forward(const sc_attention *a, sc_err *e)
{
    if (check_parts(a, a->mask, a->parts, a->rows, a->columns, e)) return e->code;
    for (int i = 0; i < a->parts && !e->code; i++)
        run(a, &a->mask[i], i > 0, a->batch, a->heads, blocks_of(a->dtype)->forward, work_of(a, &a->mask[i]),
            e);
    return e->code;
}

int sc_attention_forward(const sc_attention *a, sc_err *e)
{
    sc_span span;
    if (!sc_is_watched()) return forward(a, e);
    begin_span(&span, a, "attention");
    const int rc = forward(a, e);
    sc_span_end(&span, "library", NULL, 0, !rc);
    return rc;
}

/* delta and base, then the gradients that need them. */
static int gradients(sc_attention *a, const sc_attention_blocks *blocks, sc_err *e)
{
    const size_t n = (size_t)(a->batch * a->heads * a->rows) + 16, size = a->dtype == SC_F64 ? 8 : 4;
    char *lines = sc_work_take(2 * n * size);
    if (!lines) return sc_error(e, SC_ENOMEM, "out of memory");
    a->base = lines, a->delta = lines + n * size;
    const sc_strips *mask = a->mask;
    const int64_t batches = a->dval ? mask->batch : a->batch, heads = a->dval ? mask->heads : a->heads;
    run(a, mask, false, a->batch, a->heads, blocks->prepare, (double)n * (double)a->depth, e);
    for (int i = 0; i < a->parts && !e->code; i++)
        run(a, mask + i, i > 0, batches, heads, blocks->to_rows, 1.5 * work_of(a, mask + i), e);
    for (int i = 0; i < a->turned_parts && !e->code; i++)
        run(a, a->turned + i, i > 0, a->batch, a->shared, blocks->to_columns, 2 * work_of(a, a->turned + i),
            e);
    sc_work_give(lines);
    return e->code;
}

static int backward(const sc_attention *given, sc_err *e)
{
    sc_attention a = *given;
    if (check_parts(&a, a.mask, a.parts, a.rows, a.columns, e) ||
        check_parts(&a, a.turned, a.turned_parts, a.columns, a.rows, e))
        return e->code;
    if (a.turned_parts) return gradients(&a, blocks_of(a.dtype), e);
    if (a.parts != 1 || a.mask->order)
        return sc_error(e, SC_EVALUE,
                        "strips: expected the mask transposed too, since it has two parts or an order");
    a.turned_parts = 1;
    if (!sc_strips_turn(a.mask, a.columns, a.dtype == SC_F64 ? 8 : 4, a.turned, e))
        gradients(&a, blocks_of(a.dtype), e);
    sc_strips_free(a.turned);
    return e->code;
}

int sc_attention_backward(const sc_attention *a, sc_err *e)
{
    sc_span span;
    if (!sc_is_watched()) return backward(a, e);
    begin_span(&span, a, "gradient of attention");
    const int rc = backward(a, e);
    sc_span_end(&span, "library", NULL, 0, !rc);
    return rc;
}

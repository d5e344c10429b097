/* attention_body.h: one block of attention, for one number type and vector width.
 *
 * Included twice by each attention_N.c, which sets LANES (numbers in a vector), REAL, INT, TINY (the exponent that
 * counts as zero), MAX (x86: the instruction), and NAME(x), a name of its own for each. Rows of the block lie along
 * the lanes. Scores are made transposed, a row of `scores` a column of the mask, so that maxima and sums over columns
 * are vertical, and neither K nor V is ever packed: both are read row by row, one number at a time as a factor, or as
 * vectors. The two loops that cost, `dots` and `add_products`, keep a tile of sums in registers.
 *
 * Everything is in powers of two: q is scaled by scale / ln 2 when it is packed. */

typedef REAL NAME(vec) __attribute__((vector_size(LANES * sizeof(REAL))));
typedef REAL NAME(any) __attribute__((vector_size(LANES * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
typedef INT NAME(ivec) __attribute__((vector_size(LANES * sizeof(REAL))));
typedef UINT NAME(uvec) __attribute__((vector_size(LANES * sizeof(REAL))));

#define vec NAME(vec)
#define ivec NAME(ivec)
#define uvec NAME(uvec)
#define LOAD(p) ((vec) * (const NAME(any) *)(p))
#define STORE(p, x) (*(NAME(any) *)(p) = (x))
#define SPLAT(x) ((x) - (vec){0})
#define PICK(mask, a, b) ((vec)(((ivec)(a) & (mask)) | ((ivec)(b) & ~(mask))))
/* The larger one, b where either is NaN. */
#if defined(__x86_64__)
#define LARGER(a, b) ((vec)MAX((a), (b)))
#else
#define LARGER(a, b) PICK((a) > (b), a, b)
#endif
#define UNROLL _Pragma("GCC unroll 16")

SC_INLINE REAL NAME(sum)(vec x)
{
#if defined(SUM)
    return SUM(x);
#else
    REAL sum = 0;
    for (int l = 0; l < LANES; l++) sum += x[l];
    return sum;
#endif
}

/* ---- numbers ---- */
/* 2^x for x up to the largest exponent, at 1.9e-9 (f32) or 2e-16 relative to exact arithmetic; 0 below the smallest
 * exponent, NaN for NaN. */
SC_INLINE vec NAME(exp2)(vec x)
{
    static const double c[] = POLYNOMIAL;
    const REAL magic = (REAL)(sizeof(REAL) == 4 ? 12582912.0 : 6755399441055744.0);
    x = LARGER(SPLAT((REAL)TINY), x);
    vec shifted = x + magic, f = x - (shifted - magic), p = SPLAT((REAL)c[SC_LEN(c) - 1]);
    UNROLL for (int k = SC_LEN(c) - 2; k >= 0; k--) p = p * f + (REAL)c[k];
    uvec power = ((uvec)shifted << MANTISSA) - ((UINT)(INT)TINY << MANTISSA);
    return p * (vec)power;
}

/* All ones in the lanes of rows from `at` on whose bit is set. */
SC_INLINE ivec NAME(seen)(uint64_t bits, int64_t at)
{
    static const INT lane[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
    ivec bit;
    __builtin_memcpy(&bit, lane, sizeof bit);
    return ((((INT)(bits >> at & 0xffff)) - (ivec){0}) & bit) != 0;
}

static bool NAME(is_finite)(const REAL *x, int64_t n)
{
    vec zero = {0};
    for (int64_t k = 0; k < n; k += LANES) zero += LOAD(x + k) * 0;
    REAL sum = 0;
    for (int l = 0; l < LANES; l++) sum += zero[l];
    return sum == 0;
}

/* A score, in powers of two, with the value of the mask. */
SC_INLINE vec NAME(valued)(vec x, vec val, bool added) { return added ? x + val * (REAL)SC_LOG2E : x * val; }

/* What gradients need of the rows, and of the columns of a chunk; drop and dval may be null. */
typedef struct {
    const REAL *lse, *delta, *val, *drop;
    REAL *dval; /* gradients of val are added to it */
} NAME(given);

/* One vector of NAME(slopes). */
SC_INLINE void NAME(slope)(REAL *score, REAL *of_p, ivec seen, vec base, vec delta, const vec *val,
                           bool added, vec drop, REAL *dval)
{
    vec x = LOAD(score), p = NAME(exp2)((val ? NAME(valued)(x, *val, added) : x) - base);
    p = PICK(seen, p, (vec){0});
    STORE(score, p * drop);
    vec slope = p * (LOAD(of_p) * drop - delta);
    if (dval)
        STORE(dval, LOAD(dval) + PICK(seen, added ? slope : slope * x * (REAL)(1 / SC_LOG2E), (vec){0}));
    STORE(of_p, PICK(seen, val && !added ? slope * *val : slope, (vec){0}));
}

#include "attention_rows.h"

/* ---- register tiles ---- */
/* t[r][0..nv*LANES) = sum over n of row[r][n] b[n][...] for mr rows; b and t have h numbers a row. */
SC_INLINE void NAME(dot_tile)(const int mr, const int nv, const void *const *row, int64_t n, const REAL *b,
                              int64_t h, REAL *t)
{
    vec sum[8][4], x[4];
    const REAL *a[8];
    UNROLL for (int r = 0; r < mr; r++)
    {
        a[r] = row[r];
        UNROLL for (int v = 0; v < nv; v++) sum[r][v] = (vec){0};
    }
    for (int64_t k = 0; k < n; k++) {
        UNROLL for (int v = 0; v < nv; v++) x[v] = LOAD(&b[k * h + v * LANES]);
        UNROLL for (int r = 0; r < mr; r++)
        {
            vec factor = SPLAT(a[r][k]);
            UNROLL for (int v = 0; v < nv; v++) sum[r][v] += factor * x[v];
        }
    }
    UNROLL for (int r = 0; r < mr; r++) UNROLL for (int v = 0; v < nv; v++)
        STORE(&t[r * h + v * LANES], sum[r][v]);
}

/* out[r][0..nv*LANES) = out[r] * keep[r] + sum over n of t[n][r] row[n][at...] for mr rows; keep null: 1. */
SC_INLINE void NAME(add_tile)(const int mr, const int nv, const REAL *t, int64_t h, const void *const *row,
                              int64_t n, int64_t at, const REAL *keep, REAL *out, int64_t stride)
{
    vec sum[8][4], x[4];
    UNROLL for (int r = 0; r < mr; r++) UNROLL for (int v = 0; v < nv; v++)
    {
        sum[r][v] = LOAD(&out[r * stride + v * LANES]);
        if (keep) sum[r][v] *= SPLAT(keep[r]);
    }
    for (int64_t k = 0; k < n; k++) {
        const REAL *from = (const REAL *)row[k] + at;
        UNROLL for (int v = 0; v < nv; v++) x[v] = LOAD(&from[v * LANES]);
        UNROLL for (int r = 0; r < mr; r++)
        {
            vec factor = SPLAT(t[k * h + r]);
            UNROLL for (int v = 0; v < nv; v++) sum[r][v] += factor * x[v];
        }
    }
    UNROLL for (int r = 0; r < mr; r++) UNROLL for (int v = 0; v < nv; v++)
        STORE(&out[r * stride + v * LANES], sum[r][v]);
}

/* t[r] = row[r] . b; row has pointers up to the next multiple of 8, the spare ones to zeros. */
static void NAME(dots)(const void *const *row, int64_t rows, int64_t n, const REAL *b, int64_t h, REAL *t)
{
    for (int64_t s = 0, left; (left = h - s) > 0;) {
        const bool wide = TALL && left >= 4 * LANES, pair = left >= 2 * LANES;
        for (int64_t r = 0; r < rows; r += wide || pair ? 4 : 8) {
            if (wide)
                NAME(dot_tile)(4, 4, row + r, n, b + s, h, t + r * h + s);
            else if (pair)
                NAME(dot_tile)(4, 2, row + r, n, b + s, h, t + r * h + s);
            else
                NAME(dot_tile)(8, 1, row + r, n, b + s, h, t + r * h + s);
        }
        s += wide ? 4 * LANES : pair ? 2 * LANES : LANES;
    }
}

static void NAME(add_products)(const REAL *t, int64_t h, const void *const *row, int64_t n, const REAL *keep,
                               REAL *out, int64_t width)
{
    for (int64_t at = 0, left; (left = width - at) > 0;) {
        const bool wide = TALL && left >= 4 * LANES, pair = left >= 2 * LANES;
        const int64_t step = wide || pair ? 4 : 8;
        for (int64_t r = 0; r < h; r += step) {
            const REAL *k = keep ? keep + r : NULL;
            REAL *o = out + r * width + at;
            if (wide)
                NAME(add_tile)(4, 4, t + r, h, row, n, at, k, o, width);
            else if (pair)
                NAME(add_tile)(4, 2, t + r, h, row, n, at, k, o, width);
            else
                NAME(add_tile)(8, 1, t + r, h, row, n, at, k, o, width);
        }
        at += wide ? 4 * LANES : pair ? 2 * LANES : LANES;
    }
}

/* ---- memory of a thread ---- */
typedef struct {
    const sc_attention *a;
    const sc_strips *s;
    int64_t h, extent[2], pad[2];     /* rows of a block; width and depth, and both in whole vectors */
    int64_t first, rows;              /* the block's rows */
    REAL *packed[2], *sum[2];         /* [width or depth, h], [h, pad] */
    REAL *scores[2];                  /* [CHUNK, h]; of blocks of one row: [SEGMENTS] */
    REAL *drop;                       /* [CHUNK, h]: what dropout makes of each weight */
    REAL *fetched[2];                 /* [CHUNK, pad] */
    REAL *zeros, *top, *total, *lane; /* a row of zeros; [h] each */
    REAL *sums[2];                    /* of blocks of one row: [blocks, pad] */
    const void *row[2][CHUNK + 8];
} NAME(work);

static REAL *NAME(take)(char **from, int64_t n)
{
    REAL *p = (REAL *)(((uintptr_t)*from + 63) & ~(uintptr_t)63);
    *from = (char *)(p + n);
    return p;
}

/* Lays out in memory what a unit of so many blocks needs; returns where it ends. */
static char *NAME(plan)(NAME(work) * w, const sc_attention *a, const sc_strips *s, int64_t blocks,
                        char *memory)
{
    w->a = a, w->s = s, w->h = s->height;
    w->extent[0] = a->width, w->extent[1] = a->depth;
    for (int i = 0; i < 2; i++) {
        w->pad[i] = (w->extent[i] + LANES - 1) / LANES * LANES;
        w->packed[i] = NAME(take)(&memory, w->extent[i] * w->h);
        w->sum[i] = NAME(take)(&memory, w->pad[i] * w->h);
        w->scores[i] = NAME(take)(&memory, w->h > 1 ? CHUNK * w->h : SEGMENTS);
        w->fetched[i] = NAME(take)(&memory, CHUNK * w->pad[i]);
        w->sums[i] = NAME(take)(&memory, w->h > 1 ? 0 : blocks * w->pad[i]);
    }
    w->drop = NAME(take)(&memory, CHUNK * w->h);
    w->zeros = NAME(take)(&memory, sc_max(w->pad[0], w->pad[1]));
    w->top = NAME(take)(&memory, w->h);
    w->total = NAME(take)(&memory, w->h);
    w->lane = NAME(take)(&memory, w->h);
    return memory;
}

static size_t NAME(size)(const sc_attention *a, const sc_strips *s, int64_t blocks)
{
    NAME(work) w;
    return sizeof w + 64 + (size_t)(NAME(plan)(&w, a, s, blocks, (char *)&w) - (char *)&w);
}

static NAME(work) *
    NAME(begin)(const sc_attention *a, const sc_strips *s, const sc_attention_unit *u, char *memory)
{
    NAME(work) *w = (NAME(work) *)memory;
    NAME(plan)(w, a, s, u->blocks, memory + sizeof *w);
    memset(w->zeros, 0, sizeof(REAL) * (size_t)sc_max(w->pad[0], w->pad[1]));
    for (int i = 0; i < 2; i++) memset(w->sum[i], 0, sizeof(REAL) * (size_t)(w->pad[i] * w->h));
    return w;
}

/* Sets the block, of a matrix with so many rows. */
SC_INLINE void NAME(select)(NAME(work) * w, int64_t block, int64_t rows)
{
    w->first = block * w->h;
    w->rows = sc_min(w->h, rows - w->first);
}

/* The row that a lane of the block is. */
SC_INLINE int64_t NAME(row_of)(const NAME(work) * w, int64_t lane)
{ return w->s->order ? w->s->order[w->first + lane] : w->first + lane; }

/* ---- reading and writing tensors ---- */
#if HALVES
/* Moves the bits of f16 to their places in f32 and multiplies by 2^112, which is right for subnormal numbers too;
 * infinity and NaN get their exponent back. */
static void NAME(widen)(sc_dtype t, const void *from, int64_t n, REAL *to)
{
    typedef uint16_t half __attribute__((vector_size(2 * LANES)));
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES) {
        half x;
        memcpy(&x, (const uint16_t *)from + k, sizeof x);
        uvec u = __builtin_convertvector(x, uvec);
        if (t == SC_BF16) {
            u <<= 16;
        } else {
            const uvec bits = (u & 0x7fff) << 13;
            u = (uvec)((vec)bits * 0x1p112f) | ((uvec)(bits >= 0x0f800000) & 0x7f800000) | (u & 0x8000) << 16;
        }
        STORE(to + k, (vec)u);
    }
    for (; k < n; k++) to[k] = sc_half_get(t, ((const uint16_t *)from)[k]);
}
#else
static void NAME(widen)(sc_dtype t, const void *from, int64_t n, REAL *to)
{
    for (int64_t k = 0; k < n; k++) to[k] = (REAL)sc_half_get(t, ((const uint16_t *)from)[k]);
}
#endif

SC_INLINE const char *NAME(at)(const sc_heads *x, sc_dtype t, int64_t b, int64_t h, int64_t row)
{
    return (const char *)x->p +
           (x->stride[0] * b + x->stride[1] * h + x->stride[2] * row) * (int64_t)sc_dtype_size(t);
}

static void NAME(read_row)(const void *from, sc_dtype t, int64_t stride, int64_t n, REAL *to)
{
    if (stride != 1)
        for (int64_t k = 0; k < n; k++) to[k] = (REAL)sc_number_get(t, from, k * stride);
    else if (t == SC_F32 || t == SC_F64)
        memcpy(to, from, sizeof(REAL) * (size_t)n);
    else
        NAME(widen)(t, from, n, to);
}

/* Whether rows are numbers of this type, side by side. */
SC_INLINE bool NAME(is_plain)(const sc_heads *x, sc_dtype t)
{ return (t == SC_F32 || t == SC_F64) && x->stride[3] == 1; }

/* to = from * factor, or that added to what is there, times keep if it is not 0. */
static void NAME(write_row)(const REAL *from, REAL factor, REAL keep, sc_dtype t, int64_t n, void *to,
                            int64_t row)
{
    int64_t k = 0;
    if (t == SC_F32 || t == SC_F64) {
        REAL *out = (REAL *)to + row * n;
        for (; keep == 0 && k + LANES <= n; k += LANES) STORE(out + k, LOAD(from + k) * factor);
        for (; k + LANES <= n; k += LANES) STORE(out + k, LOAD(out + k) * keep + LOAD(from + k) * factor);
        for (; k < n; k++) out[k] = from[k] * factor + (keep == 0 ? 0 : out[k] * keep);
    }
    for (uint16_t *out = (uint16_t *)to + row * n; k < n; k++) {
        const REAL there = keep == 0 ? 0 : (REAL)sc_half_get(t, out[k]) * keep;
        out[k] = sc_half_put(t, (float)(from[k] * factor + there));
    }
}

/* packed[i] = factor times the current block's rows of x, transposed; lanes without a row are zero. */
static void NAME(pack)(NAME(work) * w, int i, const sc_heads *x, int64_t b, int64_t head, REAL factor)
{
    REAL *to = w->packed[i], *line = w->fetched[i];
    const int64_t h = w->h, n = w->extent[i];
    const sc_dtype t = w->a->dtype;
    for (int64_t l = 0; l < h; l++) {
        const REAL *from = line;
        if (l >= w->rows)
            from = w->zeros;
        else if (NAME(is_plain)(x, t))
            from = (const REAL *)(const void *)NAME(at)(x, t, b, head, NAME(row_of)(w, l));
        else
            NAME(read_row)(NAME(at)(x, t, b, head, NAME(row_of)(w, l)), t, x->stride[3], n, line);
        int64_t k = 0;
        for (; h == 1 && k + LANES <= n; k += LANES) STORE(to + k, LOAD(from + k) * factor);
        for (; k < n; k++) to[k * h + l] = from[k] * factor;
    }
}

/* row[i][...] = the rows of x that the strips list from c on; whole vectors can be read where `whole`. */
static bool NAME(fetch)(NAME(work) * w, int i, const sc_heads *x, int64_t b, int64_t head, const int32_t *crd,
                        int64_t rows, bool whole)
{
    const sc_dtype t = w->a->dtype;
    const int64_t n = w->extent[i];
    const bool direct = NAME(is_plain)(x, t) && (!whole || n == w->pad[i]);
    int64_t r = 0;
    const char *from = NAME(at)(x, t, b, head, 0);
    const int64_t step = x->stride[2] * (int64_t)sc_dtype_size(t);
    for (; direct && r < rows; r++) w->row[i][r] = from + crd[r] * step;
    for (; r < rows; r++) {
        REAL *to = w->fetched[i] + r * w->pad[i];
        NAME(read_row)(from + crd[r] * step, t, x->stride[3], n, to);
        for (int64_t k = n; k < w->pad[i]; k++) to[k] = 0;
        w->row[i][r] = to;
    }
    for (; r % 8; r++) w->row[i][r] = w->zeros;
    return true;
}

/* ---- dropout ---- */
/* A number for each row and column that looks random, in the low 32 bits: two keys of the row, and the column. */
SC_INLINE uvec NAME(mixed)(uvec key, uvec other, uvec column)
{
    const UINT low = (UINT)0xffffffff;
    uvec x = (column * 0x9e3779b1u & low) ^ key;
    x = (x ^ x >> 16) * 0x85ebca6bu & low;
    x ^= other;
    x = (x ^ x >> 13) * 0xc2b2ae35u & low;
    return x ^ x >> 16;
}

/* What dropout makes of the weights of a chunk, 0 or 1 / (1 - p); null without dropout. Lanes are rows, and the strips
 * list columns (along), or the other way. */
static const REAL *NAME(drop)(NAME(work) * w, int64_t matrix, bool along, const int32_t *crd, int64_t listed)
{
    const sc_attention *a = w->a;
    if (!(a->dropout > 0)) return NULL;
    UINT key[2][CHUNK + LANES] = {{0}}, column[CHUNK + LANES] = {0};
    const bool flat = w->h == 1, rows_inside = along != flat;
    const int64_t rows = along ? w->rows : listed, columns = along ? listed : w->rows;
    for (int64_t r = 0; r < rows; r++) {
        const uint64_t k =
            sc_attention_key(a->seed, matrix * a->rows + (along ? NAME(row_of)(w, r) : crd[r]));
        key[0][r] = (uint32_t)k, key[1][r] = (UINT)(k >> 32);
    }
    for (int64_t c = 0; c < columns; c++) column[c] = (UINT)(along ? crd[c] : NAME(row_of)(w, c));
    const vec kept = SPLAT((REAL)(a->dropout < 1 ? 1 / (1 - a->dropout) : 0));
    const UINT bound = (UINT)sc_min((int64_t)(a->dropout * 4294967296.0), (int64_t)UINT32_MAX);
    for (int64_t o = 0; o < (flat ? 1 : listed); o++)
        for (int64_t i = 0; i < (flat ? listed : w->h); i += LANES) {
            uvec k = (uvec){0} + key[0][o], l = (uvec){0} + key[1][o], c = (uvec){0} + column[o];
            if (rows_inside)
                memcpy(&k, &key[0][i], sizeof k), memcpy(&l, &key[1][i], sizeof l);
            else
                memcpy(&c, &column[i], sizeof c);
            STORE(w->drop + o * w->h + i, PICK(NAME(mixed)(k, l, c) >= bound, kept, (vec){0}));
        }
    return w->drop;
}

/* ---- steps of a chunk ---- */
/* sum[to] = sum[to] * keep + scores^T rows. Rows that only some lanes see, with an infinity or NaN, are added to
 * those alone. */
static void NAME(add)(NAME(work) * w, const REAL *scores, int i, int to, const uint64_t *bits, int64_t rows,
                      const REAL *keep)
{
    const uint64_t full = sc_strips_rows(w->rows);
    const void *odd[CHUNK];
    int at[CHUNK], nodd = 0;
    const int64_t pad = w->pad[to];
    for (int r = 0; r < rows; r++)
        if ((bits[r] & full) != full && !NAME(is_finite)(w->row[i][r], pad)) {
            at[nodd] = r;
            odd[nodd++] = w->row[i][r];
            w->row[i][r] = w->zeros;
        }
    NAME(add_products)(scores, w->h, w->row[i], rows, keep, w->sum[to], pad);
    for (int k = 0; k < nodd; k++)
        for (int64_t l = 0; l < w->h; l++)
            for (int64_t c = 0; c < pad && bits[at[k]] >> l & 1; c++)
                w->sum[to][l * pad + c] += scores[at[k] * w->h + l] * ((const REAL *)odd[k])[c];
    for (int k = 0; k < nodd; k++) w->row[i][at[k]] = odd[k];
}

/* Scores with the values of the mask, minus infinity where nothing is seen; raises top to the largest, turns scores
 * into 2^(score - top), and multiplies these by drop behind their sum. lane = what sums made before must be
 * multiplied with. */
static void NAME(weigh)(NAME(work) * w, const uint64_t *bits, const REAL *val, const REAL *drop, int64_t rows)
{
    const vec lowest = SPLAT((REAL)-__builtin_inf());
    const uint64_t full = sc_strips_rows(w->rows);
    for (int64_t s = 0; s < w->h; s += LANES) {
        vec top = LOAD(w->top + s), before = top;
        REAL *at = w->scores[0] + s;
        for (int64_t r = 0; r < rows; r++, at += w->h) {
            if (val || (bits[r] & full) != full) {
                vec x = LOAD(at);
                if (val) x = NAME(valued)(x, LOAD(val + r * w->h + s), w->a->added);
                STORE(at, PICK(NAME(seen)(bits[r], s), x, lowest));
            }
            vec x = LOAD(at);
            top = LARGER(x, top);
        }
        vec base = PICK(top == lowest, (vec){0}, top), keep = NAME(exp2)(before - base), sum = {0};
        at = w->scores[0] + s;
        for (int64_t r = 0; r < rows; r++, at += w->h) {
            vec x = NAME(exp2)(LOAD(at) - base);
            sum += x;
            if (drop) x *= LOAD(drop + r * w->h + s);
            STORE(at, x);
        }
        STORE(w->top + s, top);
        STORE(w->lane + s, keep);
        STORE(w->total + s, LOAD(w->total + s) * keep + sum);
    }
}

/* For gradients: scores[0] = p = 2^(score - lse), scores[1] = p (scores[1] - delta), each with what the mask's values
 * and dropout make of it. lse and delta are of the lanes (along) or of the rows that the strips list. */
static void NAME(slopes)(NAME(work) * w, bool along, const NAME(given) * g, const int32_t *crd,
                         const uint64_t *bits, int64_t rows)
{
    for (int64_t s = 0; s < w->h; s += LANES)
        for (int64_t r = 0; r < rows; r++) {
            const int64_t at = r * w->h + s;
            const ivec seen = NAME(seen)(bits[r], s);
            vec base = along ? LOAD(g->lse + s) : SPLAT(g->lse[crd[r]]);
            vec slope = along ? LOAD(g->delta + s) : SPLAT(g->delta[crd[r]]);
            vec val = g->val ? LOAD(g->val + at) : (vec){0},
                drop = g->drop ? LOAD(g->drop + at) : (vec){0} + 1;
            NAME(slope)(w->scores[0] + at, w->scores[1] + at, seen, base, slope, g->val ? &val : NULL,
                        w->a->added, drop, g->dval ? g->dval + at : NULL);
        }
}

/* ---- results ---- */
/* The row of out and of lse, from its sum; more: merged with what other strips gave. */
static void NAME(finish)(const NAME(work) * w, const REAL *sum, REAL top, REAL total, int64_t row, bool more)
{
    const sc_attention *a = w->a;
    REAL *lse = (REAL *)a->lse + row;
    const double none = -__builtin_inf(), before = more ? (double)*lse : none;
    if (more && total == 0) return;
    double after = total == 0 ? none : ((double)top + log2((double)total)) / SC_LOG2E, share = 1, keep = 0;
    if (before != none) {
        const double largest = fmax(before, after);
        const double all = largest + log(exp(before - largest) + exp(after - largest));
        share = exp(after - all), keep = exp(before - all), after = all;
    }
    NAME(write_row)(sum, total == 0 ? 0 : (REAL)(share / (double)total), (REAL)keep, a->dtype, a->depth,
                    a->out, row);
    *lse = (REAL)after;
}

/* The gradients of k and v, of one column. */
static void NAME(write_columns)(const NAME(work) * w, const REAL *dk, const REAL *dv,
                                const sc_attention_unit *u, int64_t column)
{
    const sc_attention *a = w->a;
    const int64_t row = (u->batch * a->shared + u->head) * a->columns + column;
    NAME(write_row)(dk, (REAL)a->scale, u->more, a->dtype, a->width, a->dk, row);
    NAME(write_row)(dv, 1, u->more, a->dtype, a->depth, a->dv, row);
}

#include "attention_row_units.h"
#include "attention_units.h"

#undef vec
#undef ivec
#undef uvec
#undef LOAD
#undef STORE
#undef SPLAT
#undef PICK
#undef UNROLL
#undef LARGER
#undef REAL
#undef INT
#undef UINT
#undef LANES
#undef TINY
#undef MANTISSA
#undef MAX
#undef SUM
#undef POLYNOMIAL
#undef HALVES
#undef NAME

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

/* A block of one row: t[r] = row[r] . b */
static void NAME(dot_rows)(const void *const *row, int64_t rows, int64_t n, const REAL *b, REAL *t)
{
    for (int64_t r = 0; r < rows; r++) {
        const REAL *a = row[r];
        vec even = {0}, odd = {0};
        int64_t k = 0;
        for (; k + 2 * LANES <= n; k += 2 * LANES) {
            even += LOAD(a + k) * LOAD(b + k);
            odd += LOAD(a + k + LANES) * LOAD(b + k + LANES);
        }
        if (k + LANES <= n) even += LOAD(a + k) * LOAD(b + k), k += LANES;
        t[r] = NAME(sum)(even + odd);
        for (; k < n; k++) t[r] += a[k] * b[k];
    }
}

/* row has pointers up to the next multiple of 8, the spare ones to zeros. */
static void NAME(dots)(const void *const *row, int64_t rows, int64_t n, const REAL *b, int64_t h, REAL *t)
{
    if (h == 1) {
        NAME(dot_rows)(row, rows, n, b, t);
        return;
    }
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
        const bool wide = (TALL || h == 1) && left >= 4 * LANES, pair = left >= 2 * LANES;
        const int64_t step = h == 1 ? 1 : wide || pair ? 4 : 8;
        for (int64_t r = 0; r < h; r += step) {
            const REAL *k = keep ? keep + r : NULL;
            REAL *o = out + r * width + at;
            if (h == 1 && wide)
                NAME(add_tile)(1, 4, t, h, row, n, at, k, o, width);
            else if (h == 1)
                NAME(add_tile)(1, 1, t, h, row, n, at, k, o, width);
            else if (wide)
                NAME(add_tile)(4, 4, t + r, h, row, n, at, k, o, width);
            else if (pair)
                NAME(add_tile)(4, 2, t + r, h, row, n, at, k, o, width);
            else
                NAME(add_tile)(8, 1, t + r, h, row, n, at, k, o, width);
        }
        at += wide ? 4 * LANES : pair && h > 1 ? 2 * LANES : LANES;
    }
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

/* ---- memory of a thread ---- */
typedef struct {
    int64_t h, pad[2];                /* width and depth in whole vectors */
    REAL *packed[2];                  /* [width or depth, h] */
    REAL *scores[2];                  /* [CHUNK, h] */
    REAL *sum[2];                     /* [h, pad] */
    REAL *fetched[2];                 /* [CHUNK, pad] */
    REAL *zeros, *top, *total, *lane; /* a row of zeros; [h] each */
    const void *row[2][CHUNK + 8];
} NAME(work);

static size_t NAME(size)(const sc_attention *a)
{
    size_t h = SC_MAXSTRIP, w = (size_t)(a->width + LANES), d = (size_t)(a->depth + LANES);
    return sizeof(NAME(work)) + 64 +
           sizeof(REAL) * ((w + d) * (2 * h + CHUNK + 1) + 2 * CHUNK * h + 3 * h + 16 * 16);
}

static REAL *NAME(take)(char **from, int64_t n)
{
    REAL *p = (REAL *)(((uintptr_t)*from + 63) & ~(uintptr_t)63);
    *from = (char *)(p + n);
    return p;
}

static NAME(work) * NAME(begin)(const sc_attention *a, const sc_strips *s, char *memory)
{
    NAME(work) *w = (NAME(work) *)memory;
    memory += sizeof *w;
    w->h = s->height;
    const int64_t size[2] = {a->width, a->depth};
    for (int i = 0; i < 2; i++) {
        w->pad[i] = (size[i] + LANES - 1) / LANES * LANES;
        w->packed[i] = NAME(take)(&memory, size[i] * w->h);
        w->scores[i] = NAME(take)(&memory, CHUNK * w->h);
        w->sum[i] = NAME(take)(&memory, w->pad[i] * w->h);
        w->fetched[i] = NAME(take)(&memory, CHUNK * w->pad[i]);
        memset(w->sum[i], 0, sizeof(REAL) * (size_t)(w->pad[i] * w->h));
    }
    w->zeros = NAME(take)(&memory, sc_max(w->pad[0], w->pad[1]));
    memset(w->zeros, 0, sizeof(REAL) * (size_t)sc_max(w->pad[0], w->pad[1]));
    w->top = NAME(take)(&memory, w->h);
    w->total = NAME(take)(&memory, w->h);
    w->lane = NAME(take)(&memory, w->h);
    return w;
}

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

static void NAME(write_row)(const REAL *from, REAL factor, sc_dtype t, int64_t n, void *to, int64_t row)
{
    int64_t k = 0;
    if (t == SC_F32 || t == SC_F64) {
        REAL *out = (REAL *)to + row * n;
        for (; k + LANES <= n; k += LANES) STORE(out + k, LOAD(from + k) * factor);
        for (; k < n; k++) out[k] = from[k] * factor;
    }
    for (; k < n; k++) ((uint16_t *)to)[row * n + k] = sc_half_put(t, (float)(from[k] * factor));
}

/* packed[i] = factor times rows first.. of x, transposed; lanes without a row are zero. */
static void NAME(pack)(NAME(work) * w, int i, const sc_heads *x, sc_dtype t, int64_t b, int64_t head,
                       int64_t first, int64_t rows, int64_t n, REAL factor)
{
    REAL *to = w->packed[i], *line = w->fetched[i];
    const int64_t h = w->h;
    for (int64_t l = 0; l < h; l++) {
        const REAL *from = line;
        if (l >= rows)
            from = w->zeros;
        else if (NAME(is_plain)(x, t))
            from = (const REAL *)(const void *)NAME(at)(x, t, b, head, first + l);
        else
            NAME(read_row)(NAME(at)(x, t, b, head, first + l), t, x->stride[3], n, line);
        int64_t k = 0;
        for (; h == 1 && k + LANES <= n; k += LANES) STORE(to + k, LOAD(from + k) * factor);
        for (; k < n; k++) to[k * h + l] = from[k] * factor;
    }
}

/* row[i][...] = the rows of x that the strips list from c on; whole vectors can be read where `whole`. */
static void NAME(fetch)(NAME(work) * w, int i, const sc_heads *x, sc_dtype t, int64_t b, int64_t head,
                        const int32_t *crd, int64_t rows, int64_t n, bool whole)
{
    const bool direct = NAME(is_plain)(x, t) && (!whole || n == w->pad[i]);
    int64_t r = 0;
    for (; r < rows; r++) {
        const void *from = NAME(at)(x, t, b, head, crd[r]);
        for (int64_t k = 0; direct && w->h == 1 && k < n; k += 64 / (int64_t)sizeof(REAL))
            __builtin_prefetch((const REAL *)from + k); /* rows that are read once, far apart */
        if (!direct) {
            REAL *to = w->fetched[i] + r * w->pad[i];
            NAME(read_row)(from, t, x->stride[3], n, to);
            for (int64_t k = n; k < w->pad[i]; k++) to[k] = 0;
            from = to;
        }
        w->row[i][r] = from;
    }
    for (; r % 8; r++) w->row[i][r] = w->zeros;
}

/* ---- steps of a chunk ---- */
/* sum[to] = sum[to] * keep + scores^T rows. Rows that only some lanes see, with an infinity or NaN, are added to
 * those alone. */
static void NAME(add)(NAME(work) * w, const REAL *scores, int i, int to, const uint64_t *bits, uint64_t full,
                      int64_t rows, const REAL *keep)
{
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

/* The same as weigh for a block of one row, whose scores lie side by side. */
static void NAME(weigh_row)(NAME(work) * w, const REAL *val, int64_t rows)
{
    const REAL lowest = (REAL)-__builtin_inf(), before = w->top[0];
    REAL *at = w->scores[0], top = before;
    vec largest = SPLAT(before), sum = {0};
    for (int64_t r = 0; r < rows && val; r++) at[r] *= val[r];
    for (int64_t r = rows; r % LANES; r++) at[r] = lowest;
    for (int64_t r = 0; r < rows; r += LANES) largest = LARGER(LOAD(at + r), largest);
    for (int l = 0; l < LANES; l++) top = largest[l] > top ? largest[l] : top;
    const REAL base = top == lowest ? 0 : top;
    for (int64_t r = 0; r < rows; r += LANES) {
        vec x = NAME(exp2)(LOAD(at + r) - base);
        STORE(at + r, x);
        sum += x;
    }
    w->top[0] = top;
    w->lane[0] = NAME(exp2)(SPLAT(before - base))[0];
    w->total[0] = w->total[0] * w->lane[0] + NAME(sum)(sum);
}

/* Scores times the values of the mask, minus infinity where nothing is seen; raises top to the largest and
 * turns scores into 2^(score - top). lane = what sums made before must be multiplied with. */
static void NAME(weigh)(NAME(work) * w, const uint64_t *bits, const REAL *val, uint64_t full, int64_t rows)
{
    const vec lowest = SPLAT((REAL)-__builtin_inf());
    if (w->h == 1) {
        NAME(weigh_row)(w, val, rows);
        return;
    }
    for (int64_t s = 0; s < w->h; s += LANES) {
        vec top = LOAD(w->top + s), before = top;
        REAL *at = w->scores[0] + s;
        for (int64_t r = 0; r < rows; r++, at += w->h) {
            if (val || (bits[r] & full) != full) {
                vec x = LOAD(at);
                if (val) x *= LOAD(val + r * w->h + s);
                STORE(at, PICK(NAME(seen)(bits[r], s), x, lowest));
            }
            vec x = LOAD(at);
            top = LARGER(x, top);
        }
        vec base = PICK(top == lowest, (vec){0}, top), keep = NAME(exp2)(before - base), sum = {0};
        at = w->scores[0] + s;
        for (int64_t r = 0; r < rows; r++, at += w->h) {
            vec x = NAME(exp2)(LOAD(at) - base);
            STORE(at, x);
            sum += x;
        }
        STORE(w->top + s, top);
        STORE(w->lane + s, keep);
        STORE(w->total + s, LOAD(w->total + s) * keep + sum);
    }
}

/* The same as slopes for a block of one row. */
static void NAME(slopes_row)(NAME(work) * w, bool along, const REAL *lse, const REAL *delta,
                             const int32_t *crd, const REAL *val, int64_t rows)
{
    for (int64_t r = 0; r < rows; r += LANES) {
        vec base = SPLAT(lse[along ? 0 : crd[r]]), slope = SPLAT(delta[along ? 0 : crd[r]]),
            factor = (vec){0} + 1;
        for (int64_t l = 0; l < LANES && r + l < rows; l++) {
            if (!along) base[l] = lse[crd[r + l]], slope[l] = delta[crd[r + l]];
            if (val) factor[l] = val[r + l];
        }
        vec x = NAME(exp2)(LOAD(w->scores[0] + r) * factor - base);
        STORE(w->scores[0] + r, x);
        STORE(w->scores[1] + r, x * (LOAD(w->scores[1] + r) - slope) * factor);
    }
}

/* For gradients: scores[0] = p = 2^(score - lse), scores[1] = p (scores[1] - delta) times the value of the mask. lse
 * and delta are of the lanes (along) or of the rows that the strips list. */
static void NAME(slopes)(NAME(work) * w, bool along, const REAL *lse, const REAL *delta, const int32_t *crd,
                         const uint64_t *bits, const REAL *val, int64_t rows)
{
    if (w->h == 1) {
        NAME(slopes_row)(w, along, lse, delta, crd, val, rows);
        return;
    }
    for (int64_t s = 0; s < w->h; s += LANES)
        for (int64_t r = 0; r < rows; r++) {
            REAL *p = w->scores[0] + r * w->h + s, *d = w->scores[1] + r * w->h + s;
            const ivec seen = NAME(seen)(bits[r], s);
            vec x = LOAD(p), y = LOAD(d), factor = val ? LOAD(val + r * w->h + s) : (vec){0} + 1;
            vec base = along ? LOAD(lse + s) : SPLAT(lse[crd[r]]);
            vec slope = along ? LOAD(delta + s) : SPLAT(delta[crd[r]]);
            x = PICK(seen, NAME(exp2)(x * factor - base), (vec){0});
            STORE(p, x);
            STORE(d, PICK(seen, x * (y - slope) * factor, (vec){0}));
        }
}

/* ---- units ---- */
/* The part of the strips that belongs to a block, CHUNK columns at a time. */
#define EACH_CHUNK(s, m, block)                                                                              \
    for (int64_t c_ = (s)->pos[(m) * ((s)->blocks + 1) + (block)],                                           \
                 end_ = (s)->pos[(m) * ((s)->blocks + 1) + (block) + 1], rows;                               \
         (rows = sc_min(CHUNK, end_ - c_)) > 0; c_ += rows)
#define CRD(s) ((s)->crd + c_)
#define BITS(s) ((s)->bits + c_)
#define VAL(s) ((s)->val ? (const REAL *)(s)->val + c_ * (s)->height : NULL)

static void NAME(forward)(const sc_attention *a, char *memory, int64_t b, int64_t head, int64_t block)
{
    const sc_strips *s = &a->mask;
    NAME(work) *w = NAME(begin)(a, s, memory);
    const int64_t first = block * s->height, n = sc_min(s->height, a->rows - first);
    const int64_t m = sc_strips_matrix(s, b, head), other = head / (a->heads / a->shared);
    const int64_t row = (b * a->heads + head) * a->rows + first;
    const uint64_t full = sc_strips_rows(n);
    for (int64_t l = 0; l < s->height; l++) w->top[l] = (REAL)-__builtin_inf(), w->total[l] = 0;
    NAME(pack)(w, 0, &a->q, a->dtype, b, head, first, n, a->width, (REAL)(a->scale * SC_LOG2E));
    EACH_CHUNK(s, m, block)
    {
        NAME(fetch)(w, 0, &a->k, a->dtype, b, other, CRD(s), rows, a->width, false);
        NAME(fetch)(w, 1, &a->v, a->dtype, b, other, CRD(s), rows, a->depth, true);
        NAME(dots)(w->row[0], rows, a->width, w->packed[0], w->h, w->scores[0]);
        NAME(weigh)(w, BITS(s), VAL(s), full, rows);
        NAME(add)(w, w->scores[0], 1, 1, BITS(s), full, rows, w->lane);
    }
    for (int64_t l = 0; l < n; l++) {
        const REAL total = w->total[l];
        NAME(write_row)(w->sum[1] + l * w->pad[1], total == 0 ? 0 : 1 / total, a->dtype, a->depth, a->out,
                        row + l);
        ((REAL *)a->lse)[row + l] =
            (REAL)(total == 0 ? -__builtin_inf() : ((double)w->top[l] + log2((double)total)) / SC_LOG2E);
    }
}

/* delta[row] = grad . out, lse in powers of two and 0 for rows that see nothing, for one row of one head. */
static void NAME(prepare)(const sc_attention *a, char *memory, int64_t b, int64_t head, int64_t block)
{
    NAME(work) *w = NAME(begin)(a, &a->mask, memory);
    const int64_t first = block * a->mask.height, n = sc_min(a->mask.height, a->rows - first);
    const sc_heads out = {a->out, {a->heads * a->rows * a->depth, a->rows * a->depth, a->depth, 1}};
    for (int64_t l = 0; l < n; l++) {
        const int64_t row = (b * a->heads + head) * a->rows + first + l;
        REAL *x = w->fetched[1], *y = x + w->pad[1], sum = 0;
        NAME(read_row)(NAME(at)(&a->grad, a->dtype, b, head, first + l), a->dtype, a->grad.stride[3],
                       a->depth, x);
        NAME(read_row)(NAME(at)(&out, a->dtype, b, head, first + l), a->dtype, 1, a->depth, y);
        for (int64_t k = 0; k < a->depth; k++) sum += x[k] * y[k];
        const REAL lse = ((const REAL *)a->lse)[row];
        ((REAL *)(uintptr_t)a->delta)[row] = sum;
        ((REAL *)(uintptr_t)a->base)[row] =
            lse == (REAL)-__builtin_inf() ? 0 : (REAL)((double)lse * SC_LOG2E);
    }
}

static void NAME(to_rows)(const sc_attention *a, char *memory, int64_t b, int64_t head, int64_t block)
{
    const sc_strips *s = &a->mask;
    NAME(work) *w = NAME(begin)(a, s, memory);
    const int64_t first = block * s->height, n = sc_min(s->height, a->rows - first);
    const int64_t m = sc_strips_matrix(s, b, head), other = head / (a->heads / a->shared);
    const int64_t row = (b * a->heads + head) * a->rows + first;
    memset(w->top, 0, sizeof(REAL) * (size_t)s->height);
    memset(w->total, 0, sizeof(REAL) * (size_t)s->height);
    memcpy(w->top, (const REAL *)a->base + row, sizeof(REAL) * (size_t)n);
    memcpy(w->total, (const REAL *)a->delta + row, sizeof(REAL) * (size_t)n);
    NAME(pack)(w, 0, &a->q, a->dtype, b, head, first, n, a->width, (REAL)(a->scale * SC_LOG2E));
    NAME(pack)(w, 1, &a->grad, a->dtype, b, head, first, n, a->depth, 1);
    EACH_CHUNK(s, m, block)
    {
        NAME(fetch)(w, 0, &a->k, a->dtype, b, other, CRD(s), rows, a->width, true);
        NAME(fetch)(w, 1, &a->v, a->dtype, b, other, CRD(s), rows, a->depth, false);
        NAME(dots)(w->row[0], rows, a->width, w->packed[0], w->h, w->scores[0]);
        NAME(dots)(w->row[1], rows, a->depth, w->packed[1], w->h, w->scores[1]);
        NAME(slopes)(w, true, w->top, w->total, CRD(s), BITS(s), VAL(s), rows);
        NAME(add)(w, w->scores[1], 0, 0, BITS(s), sc_strips_rows(n), rows, NULL);
    }
    for (int64_t l = 0; l < n; l++)
        NAME(write_row)(w->sum[0] + l * w->pad[0], (REAL)a->scale, a->dtype, a->width, a->dq, row + l);
}

/* head: of k and v; the heads of q that share it are summed in order. */
static void NAME(to_columns)(const sc_attention *a, char *memory, int64_t b, int64_t head, int64_t block)
{
    const sc_strips *s = &a->turned;
    NAME(work) *w = NAME(begin)(a, s, memory);
    const int64_t first = block * s->height, n = sc_min(s->height, a->columns - first);
    const int64_t each = a->heads / a->shared, row = (b * a->shared + head) * a->columns + first;
    const uint64_t full = sc_strips_rows(n);
    NAME(pack)(w, 0, &a->k, a->dtype, b, head, first, n, a->width, (REAL)(a->scale * SC_LOG2E));
    NAME(pack)(w, 1, &a->v, a->dtype, b, head, first, n, a->depth, 1);
    for (int64_t o = head * each; o < (head + 1) * each; o++) {
        const int64_t m = sc_strips_matrix(s, b, o), begin = (b * a->heads + o) * a->rows;
        EACH_CHUNK(s, m, block)
        {
            NAME(fetch)(w, 0, &a->q, a->dtype, b, o, CRD(s), rows, a->width, true);
            NAME(fetch)(w, 1, &a->grad, a->dtype, b, o, CRD(s), rows, a->depth, true);
            NAME(dots)(w->row[0], rows, a->width, w->packed[0], w->h, w->scores[0]);
            NAME(dots)(w->row[1], rows, a->depth, w->packed[1], w->h, w->scores[1]);
            NAME(slopes)(w, false, (const REAL *)a->base + begin, (const REAL *)a->delta + begin, CRD(s),
                         BITS(s), VAL(s), rows);
            NAME(add)(w, w->scores[0], 1, 1, BITS(s), full, rows, NULL);
            NAME(add)(w, w->scores[1], 0, 0, BITS(s), full, rows, NULL);
        }
    }
    for (int64_t l = 0; l < n; l++) {
        NAME(write_row)(w->sum[0] + l * w->pad[0], (REAL)a->scale, a->dtype, a->width, a->dk, row + l);
        NAME(write_row)(w->sum[1] + l * w->pad[1], 1, a->dtype, a->depth, a->dv, row + l);
    }
}

const sc_attention_blocks NAME(sc_attention_blocks) = {NAME(size), NAME(forward), NAME(prepare),
                                                       NAME(to_rows), NAME(to_columns)};

#undef vec
#undef ivec
#undef uvec
#undef LOAD
#undef STORE
#undef SPLAT
#undef PICK
#undef UNROLL
#undef LARGER
#undef EACH_CHUNK
#undef CRD
#undef BITS
#undef VAL
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

/* attention_rows.h: the parts of attention_body.h for blocks of one row, where entries lie too far apart to share
 * what is read. Scores lie side by side; rows of K and V are read along their width, each wherever it is. */

/* t[r] = row[r] . b */
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

/* NAME(weigh) for a block of one row. */
static void NAME(weigh_row)(REAL *at, const REAL *val, bool added, int64_t rows, REAL *top, REAL *total,
                            REAL *keep)
{
    const REAL lowest = (REAL)-__builtin_inf(), before = *top;
    vec largest = SPLAT(before), sum = {0};
    for (int64_t r = 0; r < rows && val; r++)
        at[r] = added ? at[r] + val[r] * (REAL)SC_LOG2E : at[r] * val[r];
    for (int64_t r = rows; r % LANES; r++) at[r] = lowest;
    for (int64_t r = 0; r < rows; r += LANES) largest = LARGER(LOAD(at + r), largest);
    for (int l = 0; l < LANES; l++) *top = largest[l] > *top ? largest[l] : *top;
    const REAL base = *top == lowest ? 0 : *top;
    for (int64_t r = 0; r < rows; r += LANES) {
        vec x = NAME(exp2)(LOAD(at + r) - base);
        sum += x;
        STORE(at + r, x);
    }
    *keep = NAME(exp2)(SPLAT(before - base))[0];
    *total = *total * *keep + NAME(sum)(sum);
}

/* out[0..nv*LANES) = out * keep + sum over rows of t[r] row[r][at...] */
SC_INLINE void NAME(add_row)(const int nv, const REAL *t, const void *const *row, int64_t rows, int64_t at,
                             REAL keep, REAL *out)
{
    vec even[4], odd[4];
    UNROLL for (int v = 0; v < nv; v++) even[v] = LOAD(&out[v * LANES]) * keep, odd[v] = (vec){0};
    int64_t r = 0;
    for (; r + 2 <= rows; r += 2) {
        const REAL *a = (const REAL *)row[r] + at, *b = (const REAL *)row[r + 1] + at;
        UNROLL for (int v = 0; v < nv; v++) even[v] += LOAD(&a[v * LANES]) * t[r];
        UNROLL for (int v = 0; v < nv; v++) odd[v] += LOAD(&b[v * LANES]) * t[r + 1];
    }
    if (r < rows)
        UNROLL for (int v = 0; v < nv; v++) even[v] += LOAD(&((const REAL *)row[r])[at + v * LANES]) * t[r];
    UNROLL for (int v = 0; v < nv; v++) STORE(&out[v * LANES], even[v] + odd[v]);
}

static void NAME(add_rows)(const REAL *t, const void *const *row, int64_t rows, REAL keep, REAL *out,
                           int64_t width)
{
    int64_t at = 0;
    for (; at + 4 * LANES <= width; at += 4 * LANES) NAME(add_row)(4, t, row, rows, at, keep, out + at);
    for (; at + 2 * LANES <= width; at += 2 * LANES) NAME(add_row)(2, t, row, rows, at, keep, out + at);
    if (at < width) NAME(add_row)(1, t, row, rows, at, keep, out + at);
}

/* NAME(slopes) for a block of one row. */
static void NAME(slopes_row)(REAL *scores, REAL *slopes, bool along, bool added, const NAME(given) * g,
                             const int32_t *crd, int64_t rows)
{
    for (int64_t r = 0; r < rows; r += LANES) {
        const int64_t n = sc_min(LANES, rows - r);
        vec base = SPLAT(g->lse[along ? 0 : crd[r]]), slope = SPLAT(g->delta[along ? 0 : crd[r]]);
        vec val = {0}, drop = g->drop ? LOAD(g->drop + r) : (vec){0} + 1;
        REAL dval[LANES] = {0};
        for (int64_t l = 0; l < n; l++) {
            if (!along) base[l] = g->lse[crd[r + l]], slope[l] = g->delta[crd[r + l]];
            if (g->val) val[l] = g->val[r + l];
        }
        NAME(slope)(scores + r, slopes + r, ~(ivec){0}, base, slope, g->val ? &val : NULL, added, drop,
                    g->dval ? dval : NULL);
        for (int64_t l = 0; l < n && g->dval; l++) g->dval[r + l] += dval[l];
    }
}

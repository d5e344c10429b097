/* test_attention.c: attention at every vector width against sums in double, one entry after the other. */
#include <stdio.h>

#include "../../csrc/kernels/attention_blocks.h"

static int failures;
#define CHECK(ok, ...)                                                                                       \
    do {                                                                                                     \
        if (!(ok)) printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"), failures++;     \
    } while (0)

enum { ROWS = 70, COLUMNS = 45, HEADS = 4, SHARED = 2, WIDTH = 11, DEPTH = 21 };

static uint32_t state = 1;
static double uniform(void)
{
    state = state * 1664525 + 1013904223;
    return (double)(state >> 8) / (1 << 23) - 1;
}

typedef struct {
    double q[HEADS][ROWS][WIDTH], k[SHARED][COLUMNS][WIDTH], v[SHARED][COLUMNS][DEPTH],
        grad[HEADS][ROWS][DEPTH];
    double mask[ROWS][COLUMNS];
    double out[HEADS][ROWS][DEPTH], dq[HEADS][ROWS][WIDTH], dk[SHARED][COLUMNS][WIDTH],
        dv[SHARED][COLUMNS][DEPTH];
} problem;

static void row_of(problem *p, int h, int i, double scale)
{
    double s[COLUMNS], top = -INFINITY, total = 0, mean = 0;
    const int g = h / (HEADS / SHARED);
    for (int j = 0; j < COLUMNS; j++) {
        s[j] = -INFINITY;
        if (p->mask[i][j] == 0) continue;
        s[j] = 0;
        for (int c = 0; c < WIDTH; c++) s[j] += p->q[h][i][c] * p->k[g][j][c];
        s[j] *= scale * p->mask[i][j];
        top = fmax(top, s[j]);
    }
    for (int j = 0; j < COLUMNS; j++) total += s[j] = p->mask[i][j] == 0 ? 0 : exp(s[j] - top);
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < COLUMNS; j++) {
            double weight = total == 0 ? 0 : s[j] / total, slope = 0;
            for (int c = 0; c < DEPTH; c++) slope += p->grad[h][i][c] * p->v[g][j][c];
            for (int c = 0; c < DEPTH && !pass; c++) {
                p->out[h][i][c] += weight * p->v[g][j][c];
                p->dv[g][j][c] += weight * p->grad[h][i][c];
            }
            if (!pass) mean += weight * slope;
            for (int c = 0; c < WIDTH && pass; c++) {
                const double d = weight * (slope - mean) * scale * p->mask[i][j];
                p->dq[h][i][c] += d * p->k[g][j][c];
                p->dk[g][j][c] += d * p->q[h][i][c];
            }
        }
}

/* Rounds to what the type can hold, so that both sides read the same numbers. */
static void *stored(double *x, int64_t n, sc_dtype t)
{
    char *p = sc_malloc((size_t)n * sc_dtype_size(t));
    for (int64_t i = 0; i < n; i++) sc_number_put(t, p, i, x[i]), x[i] = sc_number_get(t, p, i);
    return p;
}

static double off(const void *found, const double *wanted, int64_t n, sc_dtype t)
{
    double worst = 0, largest = 1e-3;
    for (int64_t i = 0; i < n; i++) {
        const double d = fabs(sc_number_get(t, found, i) - wanted[i]);
        worst = d > worst || d != d ? d : worst;
        largest = fmax(largest, fabs(wanted[i]));
    }
    return worst / largest;
}

static void *keep(void *ctx, int what, int level, sc_dtype t, int64_t n)
{
    (void)ctx, (void)what, (void)level;
    return sc_malloc((size_t)(n + 1) * sc_dtype_size(t));
}

static sc_heads contiguous(const void *p, int64_t heads, int64_t rows, int64_t width)
{ return (sc_heads){p, {heads * rows * width, rows * width, width, 1}}; }

#define FILL(x)                                                                                              \
    for (size_t i_ = 0; i_ < sizeof(x) / 8; i_++) ((double *)(x))[i_] = uniform()
#define N(x) ((int64_t)(sizeof(x) / 8))

/* The strips of the mask, or of its transpose; of all columns, or of those that are even (0) or odd (1). */
static void strips_of(const problem *p, bool turned, int which, const int32_t *order, sc_dtype t,
                      int64_t height, sc_strips *s)
{
    const int rows = turned ? COLUMNS : ROWS, columns = turned ? ROWS : COLUMNS;
    int32_t pos[ROWS + 1] = {0}, *crd = sc_malloc(ROWS * COLUMNS * 4);
    double *val = sc_malloc(ROWS * COLUMNS * 8);
    sc_err e = {0};
    for (int r = 0; r < rows; r++) {
        const int i = order ? order[r] : r;
        pos[r + 1] = pos[r];
        for (int j = 0; j < columns; j++) {
            const double x = turned ? p->mask[j][i] : p->mask[i][j];
            if (x == 0 || (which >= 0 && j % 2 != which)) continue;
            crd[pos[r + 1]] = j;
            val[pos[r + 1]++] = x;
        }
    }
    sc_strip_source from = {.matrices = 1,
                            .rows = rows,
                            .columns = columns,
                            .pos = pos,
                            .crd = crd,
                            .val = val,
                            .itype = SC_I32,
                            .dtype = SC_F64,
                            .nnz = pos[rows],
                            .computed = sc_dtype_computed(t)};
    s->height = height;
    CHECK(!sc_attention_strips(&from, s, keep, NULL, &e), "%s", e.msg);
    s->order = order;
    free(crd), free(val);
}

/* The mask of a; apart: as two parts, the rows of the second the last one first. */
static void set_mask(const problem *p, sc_attention *a, int64_t height, bool apart, const int32_t *back[2])
{
    const sc_dtype t = a->dtype;
    a->parts = apart ? 2 : 1, a->turned_parts = apart ? 2 : 0;
    strips_of(p, false, apart ? 0 : -1, NULL, t, height, &a->mask[0]);
    for (int turned = 0; turned < 2 && apart; turned++) {
        sc_strips *s = turned ? a->turned : a->mask;
        if (turned) strips_of(p, true, 0, NULL, t, 64, &s[0]);
        strips_of(p, turned, 1, height > 1 ? back[turned] : NULL, t, height, &s[1]);
    }
}

static void one(sc_dtype t, int64_t height, bool numbers, bool apart)
{
    problem *p = sc_zalloc(sizeof *p);
    sc_err e = {0};
    int32_t rows[ROWS], columns[COLUMNS];
    const int32_t *back[] = {rows, columns};
    for (int i = 0; i < ROWS; i++) rows[i] = ROWS - 1 - i;
    for (int j = 0; j < COLUMNS; j++) columns[j] = COLUMNS - 1 - j;
    FILL(p->q);
    FILL(p->k);
    FILL(p->v);
    FILL(p->grad);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS && i != 3; j++) {
            if (uniform() > -0.2 && i != 5) continue;
            p->mask[i][j] = numbers ? 2 + floor(4 * uniform()) / 4 : 1;
        }
    sc_attention a = {.dtype = t,
                      .batch = 1,
                      .heads = HEADS,
                      .shared = SHARED,
                      .rows = ROWS,
                      .columns = COLUMNS,
                      .width = WIDTH,
                      .depth = DEPTH,
                      .scale = 0.5};
    a.q = contiguous(stored(&p->q[0][0][0], N(p->q), t), HEADS, ROWS, WIDTH);
    a.k = contiguous(stored(&p->k[0][0][0], N(p->k), t), SHARED, COLUMNS, WIDTH);
    a.v = contiguous(stored(&p->v[0][0][0], N(p->v), t), SHARED, COLUMNS, DEPTH);
    a.grad = contiguous(stored(&p->grad[0][0][0], N(p->grad), t), HEADS, ROWS, DEPTH);
    for (int h = 0; h < HEADS; h++)
        for (int i = 0; i < ROWS; i++) row_of(p, h, i, a.scale);
    set_mask(p, &a, height, apart, back);
    CHECK(!a.mask->val == !numbers, "values are kept where they are not one");
    a.out = sc_malloc(sizeof p->out), a.lse = sc_malloc(HEADS * ROWS * 8);
    a.dq = sc_malloc(sizeof p->dq), a.dk = sc_malloc(sizeof p->dk), a.dv = sc_malloc(sizeof p->dv);
    CHECK(!sc_attention_forward(&a, &e) && !sc_attention_backward(&a, &e), "%s", e.msg);
    const double bound = t == SC_F64 ? 1e-13 : t == SC_F32 ? 3e-6 : t == SC_F16 ? 4e-3 : 3e-2;
    const double found[] = {off(a.out, &p->out[0][0][0], N(p->out), t),
                            off(a.dq, &p->dq[0][0][0], N(p->dq), t), off(a.dk, &p->dk[0][0][0], N(p->dk), t),
                            off(a.dv, &p->dv[0][0][0], N(p->dv), t)};
    for (int i = 0; i < 4; i++)
        CHECK(found[i] <= bound, "%s, height %d, %d parts, result %d: off by %g", sc_dtype_name(t),
              (int)height, a.parts, i, found[i]);
    const void *memory[] = {a.q.p, a.k.p, a.v.p, a.grad.p, a.out, a.lse, a.dq, a.dk, a.dv, p};
    for (int i = 0; i < SC_LEN(memory); i++) free((void *)(uintptr_t)memory[i]);
    for (int i = 0; i < SC_MASKPARTS; i++) sc_strips_free(&a.mask[i]), sc_strips_free(&a.turned[i]);
}

int main(void)
{
    static const int64_t height[] = {1, 16, 32, 64};
    static const sc_dtype type[] = {SC_F64, SC_F32, SC_F16, SC_BF16};
    for (int bytes = 16; bytes <= 64; bytes *= 2) {
        sc_attention_use(bytes);
        for (int h = 0; h < SC_LEN(height); h++)
            for (int k = 0; k < 2 * SC_LEN(type); k++) one(type[k / 2], height[h], k % 2, false);
        for (int h = 0; h < SC_LEN(height); h++)
            for (int k = 0; k < SC_LEN(type); k++) one(type[k], height[h], false, true);
    }
    return failures != 0;
}

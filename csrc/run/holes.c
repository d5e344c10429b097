/* holes.c: what is looked at where a temporary may have zeros that the program has no term for (steps.c). */
#include <string.h>

#include "run.h"

/* ---- infinities ---- */
enum { BYTES = 64, PART = 1 << 18 };

/* Bytes at a time, four of them in flight: what each says of itself, summed up, stays 0 where all numbers are finite. */
#define SUM_UP(type, op, says)                                                                               \
    {                                                                                                        \
        typedef type vector __attribute__((vector_size(BYTES)));                                             \
        const int lanes = BYTES / sizeof(type);                                                              \
        vector sum[4] = {{0}}, x = {0};                                                                      \
        for (; i + 4 * lanes <= n; i += 4 * lanes)                                                           \
            for (int k = 0; k < 4; k++) {                                                                    \
                memcpy(&x, (const type *)val + i + k * lanes, sizeof x);                                     \
                sum[k] op says;                                                                              \
            }                                                                                                \
        x = (vector){0};                                                                                     \
        for (; i < n; i++) x[0] = ((const type *)val)[i], sum[0] op says;                                    \
        for (int l = 0; l < lanes; l++)                                                                      \
            any |= sum[0][l] != 0 || sum[1][l] != 0 || sum[2][l] != 0 || sum[3][l] != 0;                     \
    }

/* Infinities, and what is no number: x - x is not 0, and of 16 bits the exponent is the largest one. */
static bool has_infinite(const void *val, sc_dtype dtype, int64_t n)
{
    int64_t i = 0;
    bool any = false;
    switch (dtype) {
    case SC_F32: SUM_UP(float, +=, x - x) break;
    case SC_F64: SUM_UP(double, +=, x - x) break;
    case SC_F16: SUM_UP(uint16_t, |=, (vector)((x & 0x7c00) == 0x7c00)) break;
    case SC_BF16: SUM_UP(uint16_t, |=, (vector)((x & 0x7f80) == 0x7f80)) break;
    default: break;
    }
    return any;
}

bool sc_has_strides(const sc_tensor *t)
{
    int64_t n = 1;
    if (!sc_format_is_dense(&t->format)) return false;
    for (int d = t->format.ndim; d-- > 0; n *= t->view.dim[d])
        if (t->view.dim[d] > 1 && t->view.stride[d] != n) return true;
    return false;
}

typedef struct {
    const sc_tensor *t;
    atomic_bool infinite;
} look;

static void look_at(void *arg, int id, int n)
{
    look *x = arg;
    const sc_tensor *t = x->t;
    const int64_t from = t->view.nval * id / n, to = t->view.nval * (id + 1) / n;
    const char *val = (const char *)t->view.val + (size_t)from * sc_dtype_size(t->dtype);
    if (has_infinite(val, t->dtype, to - from)) x->infinite = true;
}

bool sc_all_finite(const sc_tensor *t)
{
    look x = {.t = t};
    sc_parallel((int)sc_min(64, 1 + t->view.nval / PART), look_at, &x);
    return !x.infinite;
}

/* ---- rows ---- */
bool sc_has_all_rows(const sc_tensor *t, unsigned kept)
{
    sc_tensor seen = *t;
    if (kept >> t->format.level[t->format.nlevel - 1].dim & 1) return false;
    if (!seen.rows.most) sc_census_rows(&seen);
    return seen.rows.least > 0;
}

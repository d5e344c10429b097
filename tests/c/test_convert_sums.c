/* test_convert_sums.c: what entries of one place become, in every type and on every way to a format that stores a place
 * once: integers wrap, truth values join, floats are added in the order of the source, those of 16 bits rounded once. */
#include "kernels_harness.h"

enum { EACH = 4 }; /* entries of a place */

/* What is added up, and what that is. In 16 bits 2048 + 1 is 2048, and 256 + 1 is 256. */
static const struct {
    sc_dtype type;
    double part[EACH], sum;
} sums[] = {{SC_BOOL, {0, 1, 1, 0}, 1},
            {SC_I16, {32767, 2, 3, -1}, -32765},
            {SC_I32, {2147483647, 2, 3, -1}, -2147483645},
            {SC_I64, {1, 2, 3, 4503599627370496}, 4503599627370502},
            {SC_F16, {2048, 1, 1, 1}, 2052},
            {SC_BF16, {256, 1, 1, 1}, 260},
            {SC_F32, {100000000, 1, -100000000, 3}, 3},
            {SC_F64, {1e300, 1, -1e300, 3}, 3}};

/* The parts of each of n places, one part of all, then the next; backwards: the last place first. */
static void many(sc_tensor *t, int kind, const int64_t *dim, int64_t n, bool backwards, pool *m)
{
    random_coo(t, dim, 2, n * EACH, sums[kind].type, SC_I32, m);
    for (int64_t e = 0; e < n * EACH; e++) {
        const int64_t k = backwards ? n - 1 - e % n : e % n;
        value_set((void *)(uintptr_t)t->view.level[0].crd, SC_I32, e, (double)(k * 5 % dim[0]));
        value_set((void *)(uintptr_t)t->view.level[1].crd, SC_I32, e, (double)(k * 7 % dim[1]));
        value_set(t->view.val, sums[kind].type, e, sums[kind].part[e / n]);
    }
}

static void check(const sc_tensor *from, const char *text, double sum, int64_t n)
{
    pool m = {0};
    sc_err e = {0};
    sc_tensor to = {.itype = below(2) ? SC_I32 : SC_I64};
    int64_t *perm, found = 0;
    CHECK(!sc_format_parse(&to.format, text, 2, &e), "%s", e.msg);
    CHECK(!sc_convert(from, &to, pool_alloc, &m, &perm, &e), "%s: %s", text, e.msg);
    CHECK(!perm, "%s: a sum has no place in the source", text);
    for (int64_t i = 0; i < to.view.nval; i++) {
        const double v = value_at(to.view.val, to.dtype, i);
        CHECK(v == 0 || v == sum, "%s of %s: expected %.17g, got %.17g", text, sc_dtype_name(to.dtype), sum,
              v);
        found += v == sum;
    }
    CHECK(found == n, "%s of %s: %lld of %lld sums", text, sc_dtype_name(to.dtype), (long long)found,
          (long long)n);
    pool_free(&m);
}

int main(void)
{
    static const char *const formats[] = {
        "csr", "csc", "dcsr", "dense", "bsr(2,3)", "ell(20)", "dense(1), dense(0)"};
    static const int64_t dim[2] = {16, 18}; /* 5 k mod 16 and 7 k mod 18 differ for all k below 144 */
    sc_team_install(&toy_team);
    for (int kind = 0; kind < SC_LEN(sums); kind++)
        for (int side = 0; side < 2; side++)
            for (int f = 0; f < SC_LEN(formats); f++) {
                pool source = {0};
                sc_tensor t;
                team_size = 1 + (int)below(3);
                many(&t, kind, dim, 100, side, &source);
                check(&t, formats[f], sums[kind].sum, 100);
                pool_free(&source);
            }
    printf(failures ? "%d FAILED\n" : "ok\n", failures);
    return failures != 0;
}

/* test_topk.c: the largest of rows against a sort of each, for rows that fit the buffer and longer ones, equal numbers
 * and NaN, over several threads. */
#include <math.h>

#include "../../csrc/topk.h"
#include "kernels_harness.h"

static void *run_thread(void *arg)
{
    void **a = arg;
    ((sc_body *)a[0])(a[1], (int)(intptr_t)a[2], 4);
    return NULL;
}

static void fork_four(sc_body *body, void *arg, int n)
{
    pthread_t t[4];
    void *given[4][3];
    (void)n;
    for (int id = 0; id < 4; id++) {
        given[id][0] = (void *)(uintptr_t)body, given[id][1] = arg, given[id][2] = (void *)(intptr_t)id;
        if (pthread_create(&t[id], NULL, run_thread, given[id])) abort();
    }
    for (int id = 0; id < 4; id++) pthread_join(t[id], NULL);
}

static int four(void) { return 4; }

/* Whether x comes before y, NaN first (last of the smallest). */
static bool before(double x, double y, bool smallest)
{
    if (isnan(x) || isnan(y)) return isnan(x) != isnan(y) && isnan(x) != smallest;
    return smallest ? x < y : x > y;
}

/* Column c of a row is among the k largest if fewer than k come before it, or are equal and left of it. */
static bool chosen(const double *x, int64_t n, int64_t c, int64_t k, bool smallest)
{
    int64_t ahead = 0;
    for (int64_t j = 0; j < n; j++)
        ahead += before(x[j], x[c], smallest) || (!before(x[c], x[j], smallest) && j < c);
    return ahead < k;
}

static void check(int64_t rows, int64_t n, int64_t k, bool smallest, bool wide, int64_t values)
{
    double *x = malloc((size_t)(rows * n) * sizeof *x);
    float *narrow = malloc((size_t)(rows * n) * sizeof *narrow);
    for (int64_t i = 0; i < rows * n; i++) {
        x[i] = (double)(below(values) - values / 2);
        if (below(50) == 0) x[i] = below(2) ? NAN : -0.0;
        narrow[i] = (float)x[i];
    }
    int32_t *crd = malloc((size_t)(rows * k + 1) * sizeof *crd);
    double *val = malloc((size_t)(rows * k + 1) * sizeof *val);
    sc_err e = {0};
    const sc_topk t = {.dtype = wide ? SC_F64 : SC_F32,
                       .x = wide ? (void *)x : narrow,
                       .rows = rows,
                       .columns = n,
                       .k = k,
                       .smallest = smallest,
                       .itype = SC_I32,
                       .crd = crd,
                       .val = val};
    CHECK(!sc_topk_rows(&t, &e), "%s", e.msg);
    int64_t at = 0, wrong = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < n; c++) {
            if (!chosen(x + r * n, n, c, k, smallest)) continue;
            const double got = wide ? val[at] : (double)((float *)val)[at];
            wrong += crd[at] != c || (got != x[r * n + c] && !(isnan(got) && isnan(x[r * n + c])));
            at++;
        }
    CHECK(at == rows * k && !wrong, "%lld x %lld, k %lld: %lld wrong", (long long)rows, (long long)n,
          (long long)k, (long long)wrong);
    free(x), free(narrow), free(crd), free(val);
}

int main(void)
{
    static const sc_team team = {fork_four, four};
    for (int how = 0; how < 8; how++) {
        const bool smallest = how & 1, wide = how & 2;
        sc_team_install(how & 4 ? &team : NULL);
        check(300, 5, 2, smallest, wide, 9);
        check(200, 70, 1, smallest, wide, 1000);
        check(100, 200, 33, smallest, wide, 30);
        check(30, 700, 7, smallest, wide, 100000);
        check(3, 400, 400, smallest, wide, 100);
        check(2, 300, 0, smallest, wide, 100);
    }
    if (!failures) puts("ok");
    return failures != 0;
}

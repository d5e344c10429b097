/* test_census.c: what is counted of the rows of a structure is what a walk over them counts. */
#include <math.h>

#include "kernels_harness.h"

/* A csr structure of n rows with up to `spread` entries more than `base` each, and no fewer than 0; csf-like ones have a dense level above. */
static void check_rows(int64_t n, int64_t base, int64_t spread, sc_dtype itype, int above)
{
    const int64_t rows = n * above;
    int32_t *narrow = malloc(sizeof *narrow * (size_t)(rows + 1));
    int64_t *wide = malloc(sizeof *wide * (size_t)(rows + 1)), least = INT64_MAX, most = 0, same = 0,
            before = -1;
    double squares = 0;
    sc_err e = {0};
    sc_tensor t = {.itype = itype};
    const char *text = above > 1 ? "dense(0), dense(1), compressed(2)" : "csr";
    CHECK(!sc_format_parse(&t.format, text, above > 1 ? 3 : 2, &e), "%s", e.msg);
    wide[0] = narrow[0] = 0;
    for (int64_t k = 0; k < rows; k++) {
        const int64_t entries = sc_max(0, base + (spread ? below(spread) : 0));
        squares += (double)(entries * entries);
        least = sc_min(least, entries), most = sc_max(most, entries);
        same += entries == before, before = entries;
        wide[k + 1] = wide[k] + entries;
        narrow[k + 1] = (int32_t)wide[k + 1];
    }
    const int last = t.format.nlevel - 1;
    t.view.level[last - 1].npos = rows;
    t.view.level[last].pos = itype == SC_I32 ? (void *)narrow : (void *)wide;
    t.view.level[last].npos = t.view.nval = wide[rows];
    sc_census_rows(&t);
    if (!most) least = 0;
    CHECK(t.rows.least == least && t.rows.most == most, "%lld rows: %lld to %lld, counted %lld to %lld",
          (long long)rows, (long long)least, (long long)most, (long long)t.rows.least,
          (long long)t.rows.most);
    CHECK(t.rows.even == (most && 4 * same >= 3 * rows && wide[rows] >= 12 * rows),
          "%lld of %lld rows are like the one in front: %d", (long long)same, (long long)rows, t.rows.even);
    const double longer = most ? squares * (double)rows / (double)wide[rows] / (double)wide[rows] : 1;
    CHECK(fabs(log2(longer) - t.rows.skew) < .51, "2^%d for %g", t.rows.skew, longer);
    free(narrow);
    free(wide);
}

int main(void)
{
    for (int64_t n = 1; n < 100; n++)
        for (int base = 0; base < 3; base++) {
            check_rows(n, base, 7, n % 2 ? SC_I32 : SC_I64, 1);
            check_rows(n, base, 2, n % 2 ? SC_I64 : SC_I32, 3);
            check_rows(n, base, 0, SC_I32, 1);
            check_rows(n, 11 + base, n % 5 ? 0 : 2, n % 2 ? SC_I32 : SC_I64, 1);
        }
    for (int k = 0; k < 60; k++) check_rows(1 + below(300), -(k / 2), 1 + k, k % 2 ? SC_I32 : SC_I64, 1);
    for (int k = 0; k < 200; k++) check_rows(1 + below(3000), 1, 1 + below(40), k % 2 ? SC_I32 : SC_I64, 1);
    sc_tensor sliced = {.itype = SC_I32};
    sc_err e = {0};
    CHECK(!sc_format_parse(&sliced.format, "dcsr", 2, &e), "%s", e.msg);
    sc_census_rows(&sliced);
    CHECK(!sliced.rows.most, "rows that are not there were counted");
    return failures != 0;
}

/* test_convert_large.c: conversions of so many entries that they are dealt into buckets first: coordinates in no order
 * to rows, and rows to columns. Each entry has a value that tells its place, so nothing else is needed to check. */
#include "kernels_harness.h"

enum { ROWS = 2000, COLUMNS = 1600, STEP = 7919 }; /* 7919 has no factor in common with 3200000 */

static int64_t tag(int64_t row, int64_t column) { return (row * 31 + column * 17) % 100 + 1; }

/* Entry e is at place STEP e of all places; each twice where twice is 2. */
static void scattered(sc_tensor *t, int64_t n, int twice, sc_dtype itype, pool *m)
{
    random_coo(t, (int64_t[]){ROWS, COLUMNS}, 2, n, SC_I32, itype, m);
    for (int64_t e = 0; e < n; e++) {
        const int64_t at = e / twice * STEP % (ROWS * COLUMNS);
        value_set((void *)(uintptr_t)t->view.level[0].crd, itype, e, (double)(at / COLUMNS));
        value_set((void *)(uintptr_t)t->view.level[1].crd, itype, e, (double)(at % COLUMNS));
        value_set(t->view.val, SC_I32, e, (double)tag(at / COLUMNS, at % COLUMNS));
    }
}

/* n entries, each with its tag times so much; perm: entry i is entry perm[i] of `from`. */
static void check(const sc_tensor *t, int64_t n, int times, const sc_tensor *from, const int64_t *perm)
{
    sc_err e = {0};
    const bool turned = t->format.level[0].dim == 1;
    const void *pos = t->view.level[1].pos, *crd = t->view.level[1].crd;
    const int other = from->format.level[1].dim;
    int64_t wrong = 0, moved = 0;
    CHECK(!sc_validate(t, &e), "%s", e.msg);
    CHECK(t->view.nval == n && n == sc_index(pos, t->itype, t->view.level[0].npos), "%lld",
          (long long)t->view.nval);
    for (int64_t f = 0; f < t->view.level[0].npos; f++)
        for (int64_t i = sc_index(pos, t->itype, f); i < sc_index(pos, t->itype, f + 1); i++) {
            const int64_t c = sc_index(crd, t->itype, i), place[2] = {turned ? c : f, turned ? f : c};
            const int32_t v = ((const int32_t *)t->view.val)[i];
            wrong += v != times * tag(place[0], place[1]);
            if (perm) moved += sc_index(from->view.level[1].crd, from->itype, perm[i]) != place[other];
            if (perm) moved += v != ((const int32_t *)from->view.val)[perm[i]];
        }
    CHECK(!wrong && !moved, "%lld values, %lld places in the source", (long long)wrong, (long long)moved);
}

static void convert(const sc_tensor *from, const char *format, sc_tensor *to, int64_t n, int times, pool *m)
{
    sc_err e = {0};
    int64_t *perm;
    *to = (sc_tensor){.itype = below(2) ? SC_I32 : SC_I64};
    CHECK(!sc_format_parse(&to->format, format, 2, &e), "%s", e.msg);
    CHECK(!sc_convert(from, to, pool_alloc, m, &perm, &e), "%s", e.msg);
    CHECK(!perm == (times > 1), "%s: a permutation where nothing is summed", format);
    check(to, n, times, from, perm);
}

static void round_trip(int64_t n, int twice)
{
    static const char *const formats[] = {"csr", "csc"};
    for (int first = 0; first < 2; first++) {
        pool source = {0}, rows = {0}, columns = {0};
        sc_tensor t, a, b;
        scattered(&t, n * twice, twice, first ? SC_I64 : SC_I32, &source);
        convert(&t, formats[first], &a, n, twice, &rows);
        if (twice == 1) convert(&a, formats[!first], &b, n, 1, &columns);
        pool_free(&source);
        pool_free(&rows);
        pool_free(&columns);
    }
}

int main(void)
{
    sc_team_install(&toy_team);
    for (team_size = 1; team_size <= 3; team_size += 2) {
        round_trip(2200000, 1); /* more than 1 << 21, which csr to csc deals */
        round_trip(60000, 1);   /* more than 1 << 15, which coordinates to rows deals */
        round_trip(60000, 2);
    }
    printf(failures ? "%d FAILED\n" : "ok\n", failures);
    return failures != 0;
}

/* test_progress.c: a conversion tells how far it is, in steps; what is told may end it; short ones tell nothing. */
#include "kernels_harness.h"

enum { ROWS = 3000, COLUMNS = 3000, N = 200000 };

static struct {
    int calls, ends, step;
    double share;
    int64_t ns;
    int until; /* the call that stops; 0: none */
} seen;

static bool told(int step, double share, int64_t ns)
{
    seen.calls++;
    CHECK(share >= 0 && share <= 1 && ns >= seen.ns, "share %g after %lld ns", share, (long long)ns);
    CHECK(!step || step > seen.step || (step == seen.step && share >= seen.share), "step %d, %g after %d, %g",
          step, share, seen.step, seen.share);
    seen.ends += !step;
    seen.step = step, seen.share = share, seen.ns = ns;
    return seen.until && seen.calls == seen.until;
}

static int convert(const sc_tensor *from, int64_t after, int until, sc_err *e)
{
    pool m = {0};
    sc_tensor to = {.itype = SC_I64};
    memset(&seen, 0, sizeof seen);
    seen.until = until;
    sc_progress_install(told, after);
    *e = (sc_err){0};
    CHECK(!sc_format_parse(&to.format, "csr", 2, e), "%s", e->msg);
    const int rc = sc_convert(from, &to, pool_alloc, &m, NULL, e);
    pool_free(&m);
    return rc;
}

int main(void)
{
    pool source = {0};
    sc_tensor t;
    sc_err e;
    sc_team_install(&toy_team);
    random_coo(&t, (int64_t[]){ROWS, COLUMNS}, 2, N, SC_F32, SC_I32, &source);
    for (team_size = 1; team_size <= 3; team_size += 2) {
        CHECK(!convert(&t, 0, 0, &e), "%s", e.msg);
        CHECK(seen.calls > 5 && seen.ends == 1 && !seen.step, "%d calls, %d ends", seen.calls, seen.ends);
        CHECK(convert(&t, 0, 3, &e) == SC_ESTOP && strstr(e.msg, "interrupted"), "%s", e.msg);
        CHECK(seen.calls == 4 && seen.ends == 1, "%d calls, %d ends", seen.calls, seen.ends);
        CHECK(!convert(&t, (int64_t)1 << 40, 0, &e) && !seen.calls, "%d calls", seen.calls);
    }
    sc_progress_install(NULL, 0);
    CHECK(!convert(&t, (int64_t)1 << 40, 0, &e), "%s", e.msg);
    pool_free(&source);
    printf(failures ? "%d FAILED\n" : "ok\n", failures);
    return failures != 0;
}

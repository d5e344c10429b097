/* test_team.c: regions of a team of threads, shared by callers and by processes, and how many lanes pay. */
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "kernels_harness.h"

static void nested(void *arg, int id, int n)
{
    (void)id;
    *(int *)arg = n;
}

static void outer(void *arg, int id, int n)
{
    int *out = arg, inner = 0;
    sc_parallel(4, nested, &inner);
    out[id] = inner * 100 + n;
}

static void test_team(void)
{
    int out[4] = {0};
    team_size = 3;
    sc_parallel(4, outer, out);
    CHECK(out[0] == 103 && out[2] == 103 && out[3] == 0, "regions of 3 with serial ones inside, got %d %d %d",
          out[0], out[2], out[3]);
    pid_t child = fork();
    if (child == 0) {
        int n = 0;
        sc_parallel(3, nested, &n);
        _exit(n == 1 && sc_team_width() == 1 ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0, "a forked child did not run serially");
}

typedef struct {
    int callers, got[4];
} company;

static void *join_in(void *arg);
static void in_company(void *arg, int id, int n)
{
    company *c = arg;
    if (id) return;
    c->got[c->callers++] = n;
    pthread_t other;
    if (c->callers == SC_LEN(c->got) || pthread_create(&other, NULL, join_in, c)) return;
    pthread_join(other, NULL);
}

static void *join_in(void *arg)
{
    sc_parallel(4, in_company, arg);
    return NULL;
}

static void test_callers_share(void)
{
    team_size = 4;
    for (int again = 0; again < 2; again++) {
        company c = {0};
        join_in(&c);
        CHECK(c.got[0] == 4 && c.got[1] == 2 && c.got[2] == 1 && c.got[3] == 1,
              "four threads among callers that come one after the other, got %d %d %d %d", c.got[0], c.got[1],
              c.got[2], c.got[3]);
    }
}

static void test_lanes(void)
{
    static const struct {
        int width, lanes;
        double work;
    } want[] = {
        {2, 1, 2 * SC_LANE_WORK - 1},  {2, 2, 2 * SC_LANE_WORK},
        {32, 5, 5.9 * SC_LANE_WORK},   {32, 32, 1e9},
        {128, 1, 7.9 * SC_LANE_WORK},  {128, 2, 8 * SC_LANE_WORK},
        {128, 64, 256 * SC_LANE_WORK}, {128, 128, 1e9},
    };
    for (int k = 0; k < SC_LEN(want); k++) {
        team_size = want[k].width;
        const int n = sc_team_lanes(want[k].work);
        CHECK(n == want[k].lanes, "%g of work for a team of %d: %d lanes, expected %d", want[k].work,
              want[k].width, n, want[k].lanes);
    }
}

int main(void)
{
    sc_team_install(&toy_team);
    test_callers_share();
    test_lanes();
    test_team();
    printf(failures ? "%d FAILED\n" : "ok\n", failures);
    return failures != 0;
}

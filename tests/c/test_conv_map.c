/* test_conv_map.c: kernel maps against a look at every pair of sites, with several threads, keys that fit and keys that
 * do not, and every request for memory refused in turn. */
#include "../../csrc/convolution.h"
#include "kernels_harness.h"

enum { MOST = 3000 };

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

/* Distinct sites of two axes behind a batch; spread puts two halves far apart. */
static int64_t sites(int64_t *to, int64_t n, int64_t side, int64_t spread)
{
    int64_t at = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t cell = k * 7919 % (side * side * 2);
        if (below(3) == 0) continue;
        to[at * 3] = cell % 2;
        to[at * 3 + 1] = cell / 2 % side - side / 2;
        to[at * 3 + 2] = cell / 2 / side + (cell % 3 ? 0 : spread);
        at++;
    }
    return at;
}

static bool meets(const sc_conv_map *m, int64_t i, int64_t r, int64_t j)
{
    const int64_t tap[3] = {0, r / m->size[2], r % m->size[2]};
    for (int a = 0; a < 3; a++) {
        const int64_t first = m->size[a] % 2 ? -(m->size[a] / 2) : 0;
        if (m->out[i * 3 + a] * m->stride[a] + (first + tap[a]) * m->dilation[a] != m->site[j * 3 + a])
            return false;
    }
    return true;
}

static void check(const sc_conv_map *m)
{
    int64_t at = 0, wrong = 0;
    for (int64_t i = 0; i < m->nout; i++) {
        wrong += sc_index(m->pos, m->itype, i) != at;
        for (int64_t r = 0; r < m->noffset; r++)
            for (int64_t j = 0; j < m->n; j++) {
                if (!meets(m, i, r, j)) continue;
                wrong += at >= m->nnz || sc_index(m->offset, m->itype, at) != r ||
                         sc_index(m->input, m->itype, at) != j;
                at++;
            }
    }
    CHECK(!wrong && at == m->nnz, "%lld entries, %lld expected, %lld wrong", (long long)m->nnz, (long long)at,
          (long long)wrong);
}

static void map(int64_t n, int64_t spread, int64_t stride)
{
    static int64_t site[3 * MOST];
    sc_conv_map m = {
        .naxis = 3, .site = site, .size = {1, 3, 2}, .stride = {1, stride, stride}, .dilation = {1, 2, 1}};
    pool memory = {0};
    sc_err e = {0};
    m.n = sites(site, n, 40, spread);
    CHECK(!sc_conv_map_make(&m, pool_alloc, &memory, &e), "%s", e.msg);
    if (!failures) check(&m);
    pool_free(&memory);
    for (long k = 1; k < 100; k++) {
        e = (sc_err){0};
        sc_fail_alloc(k, 1);
        const int rc = sc_conv_map_make(&m, pool_alloc, &memory, &e);
        const bool failed = sc_fail_alloc(0, 0);
        CHECK(rc == (failed ? SC_ENOMEM : SC_OK), "request %ld: %d %s", k, rc, e.msg);
        pool_free(&memory);
        if (!failed) break;
    }
}

static void repeated(int64_t spread)
{
    int64_t site[] = {0, 1, 1, 0, 2, 2, 1, 1, 1, 0, 2, 2, 0, 1, 1 + spread};
    sc_conv_map m = {
        .naxis = 3, .n = 5, .site = site, .size = {1, 3, 3}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
    pool memory = {0};
    sc_err e = {0};
    CHECK(sc_conv_map_make(&m, pool_alloc, &memory, &e) == SC_EVALUE, "taken");
    CHECK(strstr(e.msg, "row 3 is the same as row 1"), "%s", e.msg);
    pool_free(&memory);
}

int main(void)
{
    static const sc_team team = {fork_four, four};
    for (int threads = 0; threads < 2; threads++) {
        sc_team_install(threads ? &team : NULL);
        for (int64_t stride = 1; stride < 4; stride++)
            for (int64_t spread = 0; spread < 2; spread++) {
                map(0, 0, stride);
                map(40, spread * (INT64_MAX - 100), stride);
                map(MOST, spread * (INT64_MAX - 100), stride);
            }
        repeated(5);
        repeated(INT64_MAX - 2);
    }
    return failures != 0;
}

/* test_cuts.c: how evenly the driver shares out work, on 128 lanes that no machine here has.
 *
 * There is no clock: a call of a kernel takes the time of its entries, or of its products, and of all lanes the one
 * whose time is least goes on. So what a lane takes from a common counter is what it would take. One lane runs at a
 * time, and what comes is the same every time. */
#include <math.h>

#include "kernels_harness.h"

enum { LANES = 128, ROWS = 100003, DEGREE = 16, I = 0, J = 1 };
#define BOUND 1.1 /* the largest share over the mean, or over the largest row where rows are not cut */

/* ---- time ---- */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t turn[LANES];
    double clock[LANES]; /* HUGE_VAL: has ended */
    int n;
} now = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local int self;

static int first(void)
{
    int best = 0;
    for (int k = 1; k < now.n; k++)
        if (now.clock[k] < now.clock[best]) best = k;
    return best;
}

/* The lane that runs takes so long, and waits until it is the first again. */
static void spend(double time)
{
    pthread_mutex_lock(&now.lock);
    now.clock[self] += time;
    pthread_cond_signal(&now.turn[first()]);
    while (time < HUGE_VAL && first() != self) pthread_cond_wait(&now.turn[self], &now.lock);
    pthread_mutex_unlock(&now.lock);
}

static double ended[LANES]; /* when each lane had no more to do */

static void *lane_main(void *p)
{
    toy *t = p;
    self = t->id;
    spend(0);
    t->body(t->arg, t->id, t->n);
    ended[self] = now.clock[self];
    spend(HUGE_VAL);
    return NULL;
}

static void timed_fork(sc_body *body, void *arg, int n)
{
    pthread_t thread[LANES];
    toy t[LANES];
    CHECK(n == LANES, "%d lanes", n);
    now.n = n;
    for (int i = 0; i < n; i++) now.clock[i] = 0;
    for (int i = 0; i < n; i++) {
        t[i] = (toy){body, arg, i, n};
        pthread_create(&thread[i], NULL, lane_main, &t[i]);
    }
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
}

static int timed_width(void) { return LANES; }
static const sc_team timed_team = {timed_fork, timed_width};

/* ---- graphs ---- */
typedef struct {
    const char *name;
    int64_t *pos, *crd, *products; /* products: before each row, of the graph with itself */
    double *val;
    double row, bulk; /* entries and products of the largest row, over the mean of lanes */
} graph;

static double largest(const int64_t *before)
{
    int64_t most = 0;
    for (int i = 0; i < ROWS; i++) most = sc_max(most, before[i + 1] - before[i]);
    return (double)most / ((double)before[ROWS] / LANES);
}

/* The r-th of n rows of a power law has so many entries; a few rows have a tenth of all. */
static int64_t power(int64_t r) { return (int64_t)(DEGREE * 0.3 * pow((double)(r + 1) / ROWS, -0.7)); }

static int64_t column(const char *kind, int64_t row, int64_t k)
{
    if (kind[0] == 'b') return sc_min(sc_max(row + k - DEGREE / 2, 0), ROWS - 1);
    if (kind[0] == 'u') return below(ROWS);
    const double u =
        (double)(below(1 << 30) + 1) / (1 << 30); /* hubs are met as often as they have entries */
    return ((int64_t)(pow(u, 1 / 0.3) * (ROWS - 1)) * 7919 + ROWS - 1) % ROWS;
}

static graph make(const char *kind)
{
    graph g = {.name = kind, .pos = calloc(ROWS + 1, 8), .products = calloc(ROWS + 1, 8)};
    int64_t *degree = calloc(ROWS, 8);
    for (int64_t r = 0; r < ROWS; r++)
        degree[(ROWS - 1 + r * 7919) % ROWS] = kind[0] == 'p'   ? power(r)
                                               : kind[0] == 'u' ? below(2 * DEGREE + 1)
                                                                : DEGREE;
    for (int i = 0; i < ROWS; i++) g.pos[i + 1] = g.pos[i] + degree[i];
    g.crd = calloc((size_t)g.pos[ROWS], 8);
    g.val = calloc((size_t)g.pos[ROWS], 8);
    for (int i = 0; i < ROWS; i++) {
        g.products[i + 1] = g.products[i];
        for (int64_t p = g.pos[i]; p < g.pos[i + 1]; p++) {
            g.crd[p] = column(kind, i, p - g.pos[i]);
            g.products[i + 1] += degree[g.crd[p]];
        }
    }
    free(degree);
    g.row = largest(g.pos), g.bulk = largest(g.products);
    return g;
}

/* ---- kernels that do nothing but take time ---- */
static int rows_of(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int64_t *before = c->self;
    (void)lane;
    spend((double)(before[end] - before[begin]));
    return SC_OK;
}

static int part_of(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    (void)c, (void)lane;
    spend((double)(end - begin));
    return SC_OK;
}

static double worst(void)
{
    double most = 0, sum = 0;
    for (int k = 0; k < LANES; k++) most = fmax(most, ended[k]), sum += ended[k];
    return most * LANES / sum;
}

/* The largest over the mean of what the lanes of one step do; `before` is the work ahead of each row. */
static double share(const graph *g, const sc_step *s, const int64_t *before)
{
    sc_kernel *const entry[] = {rows_of, part_of};
    sc_tensor t[2] = {{.dtype = SC_F64, .itype = SC_I64}, {.dtype = SC_F64, .itype = SC_I64}};
    const int64_t dim[] = {ROWS, ROWS};
    pool m = {0};
    void *ctx[] = {&m};
    sc_err e = {0};
    sc_step steps[] = {*s, {.op = SC_STEP_ALLOC}};
    const sc_plan p = {.nstep = s->counts ? 2 : 1, .nin = 1, .nout = 1, .nvar = 2, .step = steps};
    for (int k = 0; k < 2; k++) {
        sc_format_parse(&t[k].format, "csr", 2, &e);
        for (int d = 0; d < 2; d++) t[k].view.dim[d] = t[k].view.level[d].size = ROWS;
    }
    t[0].view.level[0].npos = ROWS;
    t[0].view.level[1] = (sc_level){.pos = g->pos, .crd = g->crd, .size = ROWS, .npos = g->pos[ROWS]};
    t[0].view.val = g->val, t[0].view.nval = g->pos[ROWS];
    CHECK(!sc_plan_run(&p, entry, before, t, dim, pool_alloc, ctx, &e), "%s", e.msg);
    pool_free(&m);
    return worst();
}

int main(void)
{
    static const char *const kinds[] = {"power law", "uniform", "banded"};
    const sc_step rows = {.op = SC_STEP_KERNEL, .strategy = SC_OWN, .work = {.bytes = 64}, .block = 1};
    sc_step split = rows, counted = rows;
    split.strategy = SC_SPLIT, split.part = 1;
    counted.counts = 1, counted.ncursor = 1;
    for (int k = 0; k < LANES; k++) pthread_cond_init(&now.turn[k], NULL);
    sc_team_install(&timed_team);
    for (int k = 0; k < SC_LEN(kinds); k++) {
        graph g = make(kinds[k]);
        const double cut = share(&g, &split, g.pos), whole = share(&g, &rows, g.pos),
                     made = share(&g, &counted, g.products);
        printf("%s: split %.2f; own %.2f, largest row %.2f; products %.2f, of a row %.2f\n", g.name, cut,
               whole, g.row, made, g.bulk);
        CHECK(cut <= BOUND, "split %.3f", cut);
        CHECK(whole <= BOUND * fmax(g.row, 1), "own %.3f", whole);
        CHECK(made <= BOUND * fmax(g.bulk, 1), "products %.3f", made);
        free(g.pos), free(g.crd), free(g.products), free(g.val);
    }
    return failures != 0;
}

/* test_drive.c: plans of toy kernels in every strategy. */
#include "kernels/kernels.h"
#include "kernels_harness.h"

enum { I, J };
static const sc_size heavy = {.bytes = 1 << 20};

/* y[i] = sum of row i, and its relatives; operand 0 is sparse [I, J], result y. */
static int rows_own(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_level *v = &c->view[0].level[1];
    double *y = c->view[1].val;
    const double *a = c->view[0].val;
    if (c->abi != SC_ABI || c->size != sizeof *c) return SC_EINTERNAL;
    for (int k = 0; lane->scratch && k < 16; k++)
        if (((int64_t *)lane->scratch)[k]) return SC_EINTERNAL;
    if (lane->scratch) memset(lane->scratch, 1, 128);
    for (sc_i64 i = begin; i < end; i++) {
        y[i] = 0;
        for (sc_i64 p = sc_index(v->pos, SC_I64, i); p < sc_index(v->pos, SC_I64, i + 1); p++) y[i] += a[p];
    }
    if (lane->scratch) memset(lane->scratch, 0, 128);
    return SC_OK;
}

static int rows_part(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    double s = 0;
    for (sc_i64 p = begin; p < end; p++) s += ((const double *)c->view[0].val)[p];
    *(double *)lane->partial = s;
    __atomic_fetch_add((int *)(uintptr_t)c->self, 1, __ATOMIC_RELAXED);
    return SC_OK;
}

static int rows_finish(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    double *y = c->view[1].val;
    if (end != begin + 1 || lane->cursor[0] != begin) return SC_EINTERNAL;
    y[begin] = 0;
    for (sc_i64 k = 0; k < lane->cursor[1]; k++) y[begin] += ((double *)lane->partial)[k];
    return SC_OK;
}

/* Each entry, doubled, where it stands. */
static int entries_part(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    for (sc_i64 p = begin; p < end; p++)
        ((double *)c->view[1].val)[p] = 2 * ((const double *)c->view[0].val)[p];
    if (lane->partial) return SC_EINTERNAL;
    __atomic_fetch_add((int *)(uintptr_t)c->self, 1, __ATOMIC_RELAXED);
    return SC_OK;
}

static int entries_own(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const void *pos = c->view[0].level[1].pos;
    int parts = 0;
    sc_call call = *c;
    call.self = &parts;
    return entries_part(&call, lane, sc_index(pos, SC_I64, begin), sc_index(pos, SC_I64, end));
}

/* Starts every row anew, as kernels do: a row that is cut in two loses its first part. */
static int coo_rows(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    (void)lane;
    const void *row = c->view[0].level[0].crd;
    double *y = c->view[1].val;
    for (sc_i64 p = begin; p < end; p++) {
        sc_i64 i = sc_index(row, SC_I64, p);
        if (p == begin || sc_index(row, SC_I64, p - 1) != i) y[i] = 0;
        y[i] += ((const double *)c->view[0].val)[p];
    }
    return SC_OK;
}

static int columns(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_level *v = &c->view[0].level[1];
    double *mine = lane->partial;
    for (sc_i64 p = sc_index(v->pos, SC_I64, begin); p < sc_index(v->pos, SC_I64, end); p++)
        mine[sc_index(v->crd, SC_I64, p)] += ((const double *)c->view[0].val)[p];
    return SC_OK;
}

static int reducing, copied; /* lanes */

static int columns_reduce(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    double *y = c->view[1].val;
    if (!lane->id) reducing = lane->n, copied = c->copies[3];
    for (sc_i64 j = begin; j < end; j++) {
        y[j] = 0;
        for (int t = 0; t < c->copies[3]; t++) y[j] += ((double *)c->shared[3])[t * c->dim[J] + j] - 5;
    }
    return SC_OK;
}

/* Even columns of operand 0, as dcsr: counted, then filled. */
static int even_count(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_level *v = &c->view[0].level[1];
    for (sc_i64 i = begin; i < end; i++) {
        sc_i64 n = lane->cursor[2];
        for (sc_i64 p = sc_index(v->pos, SC_I64, i); p < sc_index(v->pos, SC_I64, i + 1); p++)
            lane->cursor[2] += sc_index(v->crd, SC_I64, p) % 2 == 0;
        lane->cursor[1] += lane->cursor[2] > n;
    }
    return SC_OK;
}

static int even_fill(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_level *v = &c->view[0].level[1], *w = c->view[1].level;
    sc_i64 row = lane->cursor[1], k = lane->cursor[2];
    for (sc_i64 i = begin; i < end; i++) {
        sc_i64 n = k;
        for (sc_i64 p = sc_index(v->pos, SC_I64, i); p < sc_index(v->pos, SC_I64, i + 1); p++) {
            if (sc_index(v->crd, SC_I64, p) % 2) continue;
            ((int32_t *)(uintptr_t)w[1].crd)[k] = (int32_t)sc_index(v->crd, SC_I64, p);
            ((double *)c->view[1].val)[k++] = ((const double *)c->view[0].val)[p];
        }
        if (k == n) continue;
        ((int32_t *)(uintptr_t)w[0].crd)[row++] = (int32_t)i;
        ((int32_t *)(uintptr_t)w[1].pos)[row] = (int32_t)k;
    }
    return SC_OK;
}

/* The same in one pass: it leaves its cursors, and writes one entry more than it keeps. */
static int even_append(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_level *v = &c->view[0].level[1], *w = c->view[1].level;
    bool listed = w[1].crd && w[0].crd;
    sc_i64 *next = &lane->cursor[listed];
    for (sc_i64 i = begin; i < end; i++) {
        sc_i64 n = *next;
        for (sc_i64 p = sc_index(v->pos, SC_I64, i); p < sc_index(v->pos, SC_I64, i + 1); p++) {
            ((int32_t *)(uintptr_t)w[1].crd)[*next] = (int32_t)sc_index(v->crd, SC_I64, p);
            ((double *)c->view[1].val)[*next] = ((const double *)c->view[0].val)[p];
            *next += sc_index(v->crd, SC_I64, p) % 2 == 0;
        }
        if (listed && *next == n) continue;
        if (listed) ((int32_t *)(uintptr_t)w[0].crd)[lane->cursor[0]++] = (int32_t)i;
        ((int32_t *)(uintptr_t)w[1].pos)[listed ? lane->cursor[0] : i + 1] = (int32_t)*next;
    }
    return SC_OK;
}

/* All columns, which are no fewer than the even ones: the bound is the last cursor. */
static int even_most(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_level *v = &c->view[0].level[1];
    for (int k = 0; k < 2; k++)
        lane->cursor[k] += sc_index(v->pos, SC_I64, end) - sc_index(v->pos, SC_I64, begin);
    return SC_OK;
}

static int never(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    (void)c, (void)lane, (void)begin, (void)end;
    return SC_EINTERNAL;
}

/* A kernel that needs a table of 3000 slots: it starts over, and finds its cursor as it was. It leaves the table empty,
 * as all do. */
static int grows(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const char *table = lane->scratch;
    (void)c, (void)begin, (void)end;
    for (int k = 0; k < 8 * lane->slots; k++)
        if (table[64 + k]) return SC_EINTERNAL;
    const bool full = lane->slots < 3000;
    memset(lane->scratch, full, (size_t)(64 + 8 * lane->slots));
    if (lane->cursor[0]) return SC_EINTERNAL;
    lane->cursor[0] = full;
    return full ? SC_EGROW : SC_OK;
}

/* Ranges of coordinates: counts how often each one is met. */
static int covered(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    int64_t *y = c->view[1].val;
    (void)lane;
    for (sc_i64 i = begin; i < end; i++) __atomic_fetch_add(&y[i], 1, __ATOMIC_RELAXED);
    return begin < end ? SC_OK : SC_EINTERNAL;
}

static int failing(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    (void)c, (void)lane;
    return begin <= 7 && 7 < end ? SC_ESTOP : SC_OK;
}

typedef struct {
    pool m;
    sc_tensor t[2]; /* operand, result */
    int64_t dim[2];
    double y[2000], row[2000], col[2000];
} bench;

/* A random operand [300, 700] with one row that outweighs all others, in its midst or the first. */
static void bench_init(bench *b, const char *format)
{
    sc_tensor coo, csr = {.itype = SC_I64};
    sc_err e = {0};
    memset(b, 0, sizeof *b);
    b->dim[I] = 300, b->dim[J] = 700;
    random_coo(&coo, b->dim, 2, 1500, SC_F64, SC_I64, &b->m);
    for (int64_t i = 700; i < 1500; i++)
        value_set((void *)(uintptr_t)coo.view.level[0].crd, SC_I64, i, team_size % 2 ? 211 : 0);
    sc_format_parse(&csr.format, format, 2, &e);
    memset(b->m.seen, 0, sizeof b->m.seen);
    CHECK(!sc_convert(&coo, &csr, pool_alloc, &b->m, NULL, &e), "%s", e.msg);
    b->t[0] = csr;
    dict d = unpack(&csr, true);
    for (int64_t k = 0; k < d.n; k++) b->row[d.e[k].c[0]] += d.e[k].v, b->col[d.e[k].c[1]] += d.e[k].v;
    free(d.e);
    for (int i = 0; i < 2000; i++) b->y[i] = -1;
    sc_format_parse(&b->t[1].format, "dense", 1, &e);
    b->t[1].dtype = SC_F64;
    b->t[1].view.val = b->y;
    b->t[1].view.dim[0] = b->dim[I];
    b->t[1].view.stride[0] = 1;
}

static int go(bench *b, const sc_plan *p, sc_kernel *const *entry, const void *self, sc_err *e)
{
    memset(e, 0, sizeof *e);
    void *ctx[] = {&b->m};
    return sc_plan_run(p, entry, self, b->t, b->dim, pool_alloc, ctx, e);
}

static bool equal(const double *a, const double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (a[i] != b[i]) return false;
    return true;
}

/* A row in pieces that leave nothing to add up. */
static void test_pieces(void)
{
    bench b;
    sc_err e;
    int parts = 0;
    sc_kernel *const entry[] = {entries_own, entries_part};
    sc_plan p = {.nstep = 1, .nin = 1, .nout = 1, .nvar = 2, .step = (sc_step[4]){{0}}};
    bench_init(&b, "csr");
    p.step[0] = (sc_step){.op = SC_STEP_KERNEL, .strategy = SC_SPLIT, .part = 1, .work = heavy};
    CHECK(!go(&b, &p, entry, &parts, &e), "%s", e.msg);
    CHECK((parts > 1) == (team_size > 1), "%d parts, %d threads", parts, team_size);
    const int64_t n = sc_index(b.t[0].view.level[1].pos, SC_I64, b.dim[I]);
    const double *a = b.t[0].view.val;
    for (int64_t k = 0; k < n; k++) CHECK(b.y[k] == 2 * a[k], "entry %d, %d threads", (int)k, team_size);
    pool_free(&b.m);
}

static int rows_counted(const sc_call *c, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    __atomic_fetch_add((int *)(uintptr_t)c->self, 1, __ATOMIC_RELAXED);
    return rows_own(c, lane, begin, end);
}

/* Units that are coordinates: what they take is that of the entries they share. Two pieces of a lane's work are asked
 * about in between, somewhat less is one call. */
static void test_shared_entries(void)
{
#ifdef SC_PIECE_WORK /* programs are tried with pieces that are tiny */
    return;
#endif
    const double piece = 1 << 25;
    bench b;
    sc_err e;
    sc_kernel *const entry[] = {rows_counted};
    sc_plan p = {.nstep = 1, .nin = 1, .nout = 1, .nvar = 2, .step = (sc_step[4]){{0}}};
    bench_init(&b, "csr");
    const double each = 2 * piece * team_size / (double)(b.t[0].view.nval + b.dim[I]);
    for (int more = 0; more < 2; more++) {
        int calls = 0;
        p.step[0] = (sc_step){.op = SC_STEP_KERNEL,
                              .strategy = SC_OWN,
                              .arg = -1,
                              .var = I,
                              .block = 1,
                              .entries = 1,
                              .work = {.bytes = (int64_t)(each * (more ? 1.1 : 0.9))}};
        memset(b.y, 0xff, sizeof b.y);
        CHECK(!go(&b, &p, entry, &calls, &e), "%s", e.msg);
        CHECK(equal(b.y, b.row, b.dim[I]), "row sums, %d threads", team_size);
        CHECK(calls == (more + 1) * team_size, "%d calls, %d threads", calls, team_size);
    }
    pool_free(&b.m);
}

static void test_rows(void)
{
    bench b;
    sc_err e;
    int parts = 0;
    sc_kernel *const entry[] = {rows_own, rows_part, rows_finish, failing};
    sc_plan p = {.nstep = 1, .nin = 1, .nout = 1, .nvar = 2, .step = (sc_step[4]){{0}}};
    bench_init(&b, "csr");
    for (int strategy = SC_SERIAL; strategy <= SC_SPLIT; strategy++) {
        p.step[0] = (sc_step){.op = SC_STEP_KERNEL,
                              .strategy = (uint8_t)strategy,
                              .part = 1,
                              .finish = 2,
                              .work = heavy,
                              .partial = {.bytes = 8},
                              .clean = 3,
                              .nscratch = 2,
                              .scratch = {{.bytes = 70}, {.bytes = 1, .n = 1, .var = {J}}}};
        memset(b.y, 0xff, sizeof b.y);
        parts = 0;
        CHECK(!go(&b, &p, entry, &parts, &e), "%s", e.msg);
        CHECK(equal(b.y, b.row, b.dim[I]), "row sums, strategy %d, %d threads", strategy, team_size);
        CHECK((parts > 1) == (strategy == SC_SPLIT && team_size > 1), "%d parts, strategy %d", parts,
              strategy);
    }
    p.step[0].entry = 3;
    p.step[0].strategy = SC_OWN;
    expect(go(&b, &p, entry, &parts, &e), SC_ESTOP, &e, "interrupted");
    p.step[0].scratch[0].bytes = INT64_MAX;
    expect(go(&b, &p, entry, &parts, &e), SC_EVALUE, &e, "overflow");
    pool_free(&b.m);
}

static void test_snap(void)
{
    bench b;
    sc_err e;
    sc_kernel *const entry[] = {coo_rows};
    sc_plan p = {.nstep = 2, .nin = 1, .nout = 1, .nvar = 2, .step = (sc_step[4]){{0}}};
    bench_init(&b, "coo");
    p.step[0] = (sc_step){.op = SC_STEP_FILL, .dtype = SC_F64};
    p.step[1] = (sc_step){.op = SC_STEP_KERNEL, .strategy = SC_OWN, .snap = 1, .work = heavy};
    CHECK(!go(&b, &p, entry, NULL, &e), "%s", e.msg);
    CHECK(equal(b.y, b.row, b.dim[I]), "row sums of coordinates, %d threads", team_size);
    pool_free(&b.m);
}

static void test_private(void)
{
    bench b;
    sc_err e;
    sc_kernel *const entry[] = {columns, columns_reduce};
    sc_plan p = {.nstep = 2, .nin = 1, .nout = 1, .nvar = 2, .step = (sc_step[4]){{0}}};
    bench_init(&b, "csr");
    p.step[0] = (sc_step){.op = SC_STEP_KERNEL,
                          .strategy = SC_PRIVATE,
                          .slot = 3,
                          .dtype = SC_F64,
                          .fill = 5,
                          .work = heavy,
                          .partial = {.bytes = 8, .n = 1, .var = {J}}};
    p.step[1] =
        (sc_step){.op = SC_STEP_KERNEL, .strategy = SC_OWN, .entry = 1, .arg = -1, .var = J, .work = heavy};
    CHECK(!go(&b, &p, entry, NULL, &e), "%s", e.msg);
    CHECK(equal(b.y, b.col, b.dim[J]), "column sums, %d threads", team_size);
    for (int n = 1, rc = 1; rc && n < 20; n++) {
        sc_work_clear();
        sc_fail_alloc(n, 1);
        rc = go(&b, &p, entry, NULL, &e);
        sc_fail_alloc(0, 0);
        CHECK(!rc || rc == SC_ENOMEM, "code %d", rc);
    }
    p.step[1].work.bytes = 1; /* too little for a second lane, but there are copies */
    p.step[1].sums = 4;
    CHECK(!go(&b, &p, entry, NULL, &e), "%s", e.msg);
    CHECK(copied == team_size && reducing == copied, "%d lanes sum %d copies", reducing, copied);
    p.step[0].partial.bytes = 1 << 14; /* clearing copies takes longer than filling one */
    p.step[0].work.bytes = 1 << 9;
    CHECK(!go(&b, &p, entry, NULL, &e), "%s", e.msg);
    CHECK(copied == 1, "%d copies", copied);
    pool_free(&b.m);
}

static void check_even(const bench *b, const char *format)
{
    sc_err e = {0};
    dict in = unpack(&b->t[0], false), out = unpack(&b->t[1], false);
    CHECK(!sc_validate(&b->t[1], &e), "%s", e.msg);
    int64_t k = 0;
    for (int64_t i = 0; i < in.n; i++)
        if (in.e[i].c[1] % 2 == 0) in.e[k++] = in.e[i];
    in.n = k;
    CHECK(same(&in, &out), "even columns, %s, %d threads", format, team_size);
    free(in.e);
    free(out.e);
}

/* The n-th allocation of the result fails, or none. returns whether there was one */
static bool assemble(const sc_plan *p, sc_kernel *const *entry, const char *format, int n)
{
    bench b;
    sc_err e = {0};
    bench_init(&b, "csr");
    b.m.fail_at = n;
    b.t[1] = (sc_tensor){.dtype = SC_F64, .itype = SC_I32, .view = {.dim = {b.dim[0], b.dim[1]}}};
    sc_format_parse(&b.t[1].format, format, 2, &e);
    int rc = go(&b, p, entry, NULL, &e);
    CHECK(rc == SC_OK || (n && rc == SC_ENOMEM), "code %d: %s", rc, e.msg);
    if (!rc) check_even(&b, format);
    pool_free(&b.m);
    return rc != SC_OK;
}

static void test_assembled(void)
{
    sc_kernel *const counted[] = {even_count, even_fill}, *const appended[] = {even_append},
                     *const bounded[] = {never, even_most, even_append};
    const sc_step kernel = {.op = SC_STEP_KERNEL, .strategy = SC_OWN, .work = heavy, .block = 1};
    sc_plan p = {.nstep = 3, .nin = 1, .nout = 1, .nvar = 2, .step = (sc_step[4]){{0}}},
            q = {.nstep = 2, .nin = 1, .nout = 1, .nvar = 2, .step = (sc_step[4]){{0}}};
    p.step[0] = p.step[2] = q.step[0] = kernel;
    p.step[0].counts = 1;
    p.step[0].ncursor = p.step[2].ncursor = 3;
    p.step[1] = (sc_step){.op = SC_STEP_ALLOC, .cursor = 1};
    p.step[2].entry = 1;
    q.step[0].nbound = 1;
    q.step[0].bound[0] = 1;
    q.step[1] = (sc_step){.op = SC_STEP_ALLOC};
    for (int n = 0; n < 6; n++) CHECK(assemble(&p, counted, "dcsr", n) == (n > 0), "allocation %d", n);
    q.step[0].ncursor = 2;
    for (int n = 0; n < 6; n++) CHECK(assemble(&q, appended, "dcsr", n) == (n > 0), "allocation %d", n);
    q.step[0].ncursor = 1;
    for (int n = 0; n < 4; n++) CHECK(assemble(&q, appended, "csr", n) == (n > 0), "allocation %d", n);
    p.step[0].entry = 0;
    p.step[0].most = 1;
    p.step[1].cursor = 0;
    p.step[2].entry = 2;
    p.step[0].ncursor = p.step[2].ncursor = 2;
    for (int n = 0; n < 6; n++) CHECK(assemble(&p, bounded, "dcsr", n) == (n > 0), "allocation %d", n);
    p.step[0].ncursor = p.step[2].ncursor = 1;
    for (int n = 0; n < 4; n++) CHECK(assemble(&p, bounded, "csr", n) == (n > 0), "allocation %d", n);
}

/* Two operands of one pattern: half of the room is used, and the result stays there. */
static void test_half_of_the_room(void)
{
    bench b;
    sc_err e = {0};
    sc_kernel *const entry[] = {even_append};
    sc_plan p = {.nstep = 2, .nin = 1, .nout = 1, .nvar = 2, .step = (sc_step[4]){{0}}};
    p.step[0] = (sc_step){.op = SC_STEP_KERNEL,
                          .strategy = SC_OWN,
                          .work = heavy,
                          .block = 1,
                          .ncursor = 1,
                          .nbound = 2,
                          .bound = {1, 1}};
    p.step[1] = (sc_step){.op = SC_STEP_ALLOC};
    bench_init(&b, "csr");
    const sc_level *v = &b.t[0].view.level[1];
    for (int64_t k = 0; k < v->npos; k++)
        value_set((void *)(uintptr_t)v->crd, SC_I64, k, 2.0 * (double)sc_index(v->crd, SC_I64, k));
    b.t[1] = (sc_tensor){.dtype = SC_F64, .itype = SC_I32, .view = {.dim = {b.dim[0], 2 * b.dim[1]}}};
    sc_format_parse(&b.t[1].format, "csr", 2, &e);
    memset(b.m.seen, 0, sizeof b.m.seen);
    CHECK(!go(&b, &p, entry, NULL, &e), "%s", e.msg);
    CHECK(b.t[1].view.nval == v->npos, "%lld entries", (long long)b.t[1].view.nval);
    CHECK(b.m.seen[SC_CRD][2] == 1 && b.m.seen[SC_VAL][0] == 1, "the result was made anew");
    pool_free(&b.m);
}

static void test_grows(void)
{
    bench b;
    sc_err e;
    sc_kernel *const entry[] = {grows};
    sc_plan p = {.nstep = 1, .nin = 1, .nout = 1, .nvar = 2, .step = (sc_step[4]){{0}}};
    bench_init(&b, "csr");
    p.step[0] = (sc_step){.op = SC_STEP_KERNEL,
                          .strategy = SC_OWN,
                          .work = heavy,
                          .clean = 1,
                          .hash = 8,
                          .nscratch = 1,
                          .scratch = {{.bytes = 64}}};
    CHECK(!go(&b, &p, entry, NULL, &e), "%s", e.msg);
    for (int n = 1, rc = 1; rc && n < 30; n++) {
        sc_work_clear();
        sc_fail_alloc(n, 1);
        rc = go(&b, &p, entry, NULL, &e);
        sc_fail_alloc(0, 0);
        CHECK(!rc || rc == SC_ENOMEM, "code %d", rc);
    }
    pool_free(&b.m);
}

static void test_coordinates(void)
{
    sc_kernel *const entry[] = {covered};
    sc_plan p = {.nstep = 1, .nin = 1, .nout = 1, .nvar = 2, .step = (sc_step[4]){{0}}};
    p.step[0] = (sc_step){.op = SC_STEP_KERNEL, .strategy = SC_OWN, .work = heavy, .coords = 1};
    for (int empty = 0; empty < 2; empty++) {
        bench b;
        sc_err e;
        bench_init(&b, "dcsr");
        if (empty) b.t[0].view.level[0].npos = b.t[0].view.level[1].npos = b.t[0].view.nval = 0;
        memset(b.y, 0, sizeof b.y);
        CHECK(!go(&b, &p, entry, NULL, &e), "%s", e.msg);
        for (int i = 0; i < 300; i++) CHECK(((int64_t *)(void *)b.y)[i] == 1, "coordinate %d", i);
        pool_free(&b.m);
    }
}

static void test_fill(void)
{
    int32_t data[6 * 40] = {0};
    sc_err e = {0};
    sc_plan p = {.nstep = 1, .nout = 1, .step = (sc_step[4]){{0}}};
    sc_tensor t = {.dtype = SC_I32, .view = {.val = data, .dim = {3, 2, 5}, .stride = {80, 5, 1}}};
    sc_format_parse(&t.format, "dense", 3, &e);
    p.step[0] = (sc_step){.op = SC_STEP_FILL, .fill = __builtin_inf()};
    CHECK(!sc_plan_run(&p, NULL, NULL, &t, NULL, pool_alloc, NULL, &e), "%s", e.msg);
    for (int i = 0; i < 240; i++)
        CHECK(data[i] == (i % 80 < 10 ? INT32_MAX : 0), "element %d is %d", i, data[i]);
    t.view.dim[1] = 0;
    t.view.val = NULL;
    CHECK(!sc_plan_run(&p, NULL, NULL, &t, NULL, pool_alloc, NULL, &e), "%s", e.msg);
}

int main(void)
{
    for (team_size = 1; team_size <= 4; team_size++) {
        if (team_size == 2) sc_team_install(&toy_team);
        test_rows();
        test_pieces();
        test_shared_entries();
        test_snap();
        test_private();
        test_assembled();
        test_half_of_the_room();
        test_grows();
        test_coordinates();
        test_fill();
    }
    printf(failures ? "%d FAILED\n" : "ok\n", failures);
    return failures != 0;
}

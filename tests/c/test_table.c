/* test_table.c: the programs that a process keeps: keys, handles, references, what goes and what stays, who waits. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../csrc/run/run.h"
#include "check.h"

enum { THREADS = 8, MANY = 60 };

static void limit(int64_t bytes)
{
    sc_err e = {0};
    CHECK(!sc_configure(&(sc_config){.jit = SC_JIT_OFF, .memory = bytes}, &e));
}

static sc_stats stats(void)
{
    sc_stats s;
    sc_stats_get(&s);
    return s;
}

static void set_operand(sc_request *r, int k, const char *name, const char *format, int64_t rows,
                        int64_t columns)
{
    sc_spec *s = &r->in[k];
    sc_err e = {0};
    CHECK(!sc_format_parse(&s->format, format, 2, &e));
    const bool dense = sc_format_is_dense(&s->format);
    snprintf(s->name, sizeof s->name, "%s", name);
    s->dtype = SC_F32;
    s->itype = SC_I32;
    s->unit = dense ? 1 : -1;
    r->dim[k][0] = rows, r->dim[k][1] = columns;
    for (int l = 0; l < s->format.nlevel && !dense; l++) s->positions[l] = 7;
}

/* A sparse matrix times a dense one of this many columns. */
static sc_request product(int64_t columns)
{
    sc_request r = {.text = "C[i,k] = A[i,j] * B[j,k]", .nin = 2};
    set_operand(&r, 0, "A", "csr", 40, 30);
    set_operand(&r, 1, "B", "dense", 30, columns);
    return r;
}

static uint64_t get(const sc_request *r, sc_program **p)
{
    uint64_t handle = 0;
    sc_err e = {0};
    if (sc_program_get(r, p, &handle, &e)) printf("%s: %s\n", r->text, e.msg);
    CHECK(!e.code && *p && handle);
    return handle;
}

/* The program is for the request: it delivers what is asked for. */
static uint64_t handle_of(const sc_request *r)
{
    sc_program *p = NULL;
    const uint64_t handle = get(r, &p);
    CHECK(!r->nask || sc_format_equal(&sc_program_result(p, 0)->format, &r->ask[0]));
    sc_program_release(p);
    return handle;
}

static bool is_kept(uint64_t handle)
{
    sc_program *p = sc_program_again(handle);
    sc_program_release(p);
    return p;
}

/* Nothing is kept, and nothing that was kept is counted. */
static void forget_all(void)
{
    limit(1);
    CHECK(stats().kept_keys == 0 && stats().kept_bytes == 0);
    limit(0);
    CHECK(stats().kept_limit == SC_PROGRAM_BYTES);
}

/* ---- keys ---- */
static sc_request base_request;

static void set_format(sc_format *f, const char *text)
{
    sc_err e = {0};
    CHECK(!sc_format_parse(f, text, 2, &e));
}

/* Requests that differ from the base in one field. */
static sc_request variant(int field)
{
    sc_request r = base_request;
    sc_spec *s = &r.in[0], *x = &r.in[1];
    switch (field) {
    case 0: r.text = "C[i,k] = A[i,j] * B[j,k] * 2"; break;
    case 1: r.schedule = "order(i, j, k)"; break;
    case 2: r.skip = true; break;
    case 3: r.settled = 1; break;
    case 4: r.nofold = true; break;
    case 5: r.wide = 1; break;
    case 6: r.nask = 1, set_format(&r.ask[0], "csr"); break;
    case 7: r.nask = 1, set_format(&r.ask[0], "csc"); break;
    case 8: set_format(&s->format, "dcsr"); break;
    case 9: s->positions[1] = 9; break;
    case 10: s->dtype = SC_F64; break;
    case 11: s->itype = SC_I64; break;
    case 12: x->unit = 0; break;
    case 13: s->perm = true; break;
    case 14: s->often.reach = 1; break;
    case 15: r.dim[0][0] = 41; break;
    case 16: r.dim[1][1] = 17; break;
    case 17: set_format(&s->format, "bsr(2,2)"); break;
    case 18: set_format(&s->format, "bsr(2,5)"); break;
    case 19: r.schedule = "order(i, k, j)"; break;
    case 20: r.narrow = SC_BF16; break;
    default: return (sc_request){.text = NULL};
    }
    return r;
}

/* Each is a key of its own, and found again by the same bytes. */
static void test_keys(void)
{
    uint64_t handle[32];
    int n = 0;
    base_request = product(16);
    handle[n++] = handle_of(&base_request);
    for (int field = 0; variant(field).text; field++) {
        const sc_request r = variant(field);
        handle[n] = handle_of(&r);
        for (int k = 0; k < n; k++)
            if (handle[k] == handle[n])
                printf("request %d is taken for request %d\n", field, k - 1), failures++;
        n++;
    }
    CHECK(handle_of(&base_request) == handle[0]);
    CHECK(n == 22 && stats().kept_keys >= n);
}

/* Requests that differ in what no code depends on share a program; in folded extents they do not. */
static void test_sharing(void)
{
    sc_program *p, *taller, *wider;
    sc_request r = product(16);
    get(&r, &p);
    r.dim[0][0] = 43;
    get(&r, &taller);
    r.dim[1][1] = 18;
    get(&r, &wider);
    CHECK(p == taller && p != wider);
    CHECK(p->var[0].fold < 0 && p->bytes > 0);
    sc_program_release(p);
    sc_program_release(taller);
    sc_program_release(wider);
}

/* ---- references ---- */
static void test_references(void)
{
    forget_all();
    sc_program *p, *q;
    const sc_request r = product(16);
    const uint64_t handle = get(&r, &p);
    CHECK(p->refs == 3); /* the request, its text, and this */
    CHECK(get(&r, &q) == handle && q == p && p->refs == 4);
    sc_program_release(q);
    q = sc_program_again(handle);
    CHECK(q == p && p->refs == 4);
    sc_program_release(q);
    const int64_t held = p->bytes;
    limit(1);
    CHECK(p->refs == 1 && stats().kept_keys == 0 && stats().kept_bytes == held);
    CHECK(!sc_program_again(handle) && !sc_program_again(0));
    sc_program_release(p);
    CHECK(stats().kept_bytes == 0);
    limit(0);
}

/* A handle of what went is no handle of what came to its place; all places are taken. */
static void test_handles(void)
{
    uint64_t old[MANY];
    sc_request r;
    forget_all();
    for (int k = 0; k < MANY; k++) r = product(20 + k), old[k] = handle_of(&r);
    CHECK(stats().kept_keys == 2 * MANY);
    forget_all();
    for (int k = 0; k < 3 * MANY; k++) {
        r = product(120 + k), handle_of(&r);
        r.dim[0][0] = 43, handle_of(&r); /* by the same text, so requests come to all places */
        for (int q = 0; q < MANY; q++) CHECK(!is_kept(old[q]));
    }
}

static int threads = 1;
static int width(void) { return threads; }

static void run_alone(sc_body *body, void *arg, int n)
{
    (void)n;
    body(arg, 0, 1);
}

/* A program was chosen for the threads there were: its handle is none for another number. */
static void test_threads(void)
{
    const sc_request r = product(17);
    sc_team_install(&(sc_team){run_alone, width});
    forget_all();
    const uint64_t one = handle_of(&r);
    threads = 2;
    CHECK(!is_kept(one));
    const uint64_t two = handle_of(&r);
    CHECK(two != one && is_kept(two));
    threads = 1;
    CHECK(is_kept(one) && !is_kept(two) && handle_of(&r) == one);
    sc_team_install(NULL);
}

/* A request that fails leaves nothing, and fails the same way again. */
static void test_failing(void)
{
    sc_request r = product(16);
    const int64_t keys = stats().kept_keys;
    r.text = "C[i,k] = A[i,j] * Z[j,k]";
    for (int k = 0; k < 2; k++) {
        sc_program *p = NULL;
        sc_err e = {0};
        CHECK(sc_program_get(&r, &p, NULL, &e) == SC_EVALUE && e.msg[0] && !p);
        CHECK(stats().kept_keys == keys);
    }
}

/* ---- room ---- */
/* The first half of the programs is used again; when room is needed the other half goes first. */
static void test_order(void)
{
    uint64_t handle[MANY];
    sc_request r;
    forget_all();
    for (int k = 0; k < MANY; k++) r = product(20 + k), handle[k] = handle_of(&r);
    for (int k = 0; k < MANY / 2; k++) r = product(20 + k), handle_of(&r);
    const sc_stats before = stats();
    limit(before.kept_bytes * 3 / 4);
    const sc_stats after = stats();
    int used = 0, unused = 0;
    for (int k = 0; k < MANY; k++) *(k < MANY / 2 ? &used : &unused) += is_kept(handle[k]);
    CHECK(used == MANY / 2 && unused > 0 && unused < MANY / 2);
    CHECK(after.kept_bytes <= after.kept_limit / 4 * 3 && after.kept_bytes > after.kept_limit / 2);
    CHECK(after.forgotten - before.forgotten == before.kept_keys - after.kept_keys);
    limit(0);
}

/* However many there are, those that are kept fit. */
static void test_bound(void)
{
    sc_request r = product(16);
    sc_program *p, *held;
    forget_all();
    get(&r, &held);
    const int64_t room = 20 * stats().kept_bytes;
    limit(room);
    for (int k = 0; k < 2 * MANY; k++) {
        r = product(20 + k);
        const uint64_t handle = get(&r, &p);
        CHECK(p->refs >= 3 && is_kept(handle));
        sc_program_release(p);
        CHECK(stats().kept_bytes <= room + held->bytes);
    }
    CHECK(held->refs == 1 && stats().kept_keys > 10);
    sc_program_release(held);
    limit(0);
}

/* ---- threads ---- */
static _Atomic int waiting;

static void *ask(void *arg)
{
    sc_program **p = arg;
    const sc_request r = product(16);
    atomic_fetch_add(&waiting, 1);
    while (atomic_load(&waiting) < THREADS) sched_yield();
    get(&r, p);
    return NULL;
}

/* Threads that ask for one program at once are given one, which is made once. */
static void test_waiting(void)
{
    for (int round = 0; round < 20; round++) {
        pthread_t thread[THREADS];
        sc_program *p[THREADS];
        forget_all();
        atomic_store(&waiting, 0);
        const int64_t before = stats().programs;
        for (int k = 0; k < THREADS; k++) CHECK(!pthread_create(&thread[k], NULL, ask, &p[k]));
        for (int k = 0; k < THREADS; k++) CHECK(!pthread_join(thread[k], NULL));
        CHECK(stats().programs == before + 1 && stats().kept_keys == 2 && p[0]->refs == THREADS + 2);
        for (int k = 0; k < THREADS; k++) CHECK(p[k] == p[0]);
        for (int k = 0; k < THREADS; k++) sc_program_release(p[k]);
    }
}

int main(void)
{
    alarm(120); /* a thread that waits for what nobody makes */
    limit(0);
    test_keys();
    test_sharing();
    test_references();
    test_handles();
    test_threads();
    test_failing();
    test_order();
    test_bound();
    test_waiting();
    forget_all();
    printf("%d failures\n", failures);
    return failures != 0;
}

/* test_faults.c: every allocation of programs fails in turn, alone and with all behind it.
 *
 * A request fails with SC_ENOMEM or comes through, and the next one comes through as it should. Sanitizers see what
 * is left behind. The same from Python, with kernels and tensors, is in tests/faults. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "check.h"

#ifdef __SANITIZE_ADDRESS__ /* where all is fifty times slower */
enum { EVERY = 200, STAGES = 2 };
#else
enum { EVERY = 5, STAGES = 9 };
#endif

/* Of extents that no request before had, and so of a program that is not known. */
static sc_request request(const char *text, const char *schedule, const char *const *format)
{
    static int extent = 1000;
    extent++;
    sc_request r = {.text = text, .schedule = schedule};
    sc_err e = {0};
    for (; format[r.nin]; r.nin++) {
        sc_spec *s = &r.in[r.nin];
        CHECK(!sc_format_parse(&s->format, format[r.nin], 2, &e));
        const bool dense = sc_format_is_dense(&s->format);
        snprintf(s->name, sizeof s->name, "%c", 'A' + r.nin);
        s->dtype = SC_F32;
        s->itype = SC_I32;
        s->unit = dense ? 1 : -1;
        for (int d = 0; d < 2; d++) r.dim[r.nin][d] = extent;
        for (int l = 0; l < s->format.nlevel && !dense; l++) s->positions[l] = 10;
    }
    return r;
}

/* What a process does with a program: finds it, and shows it. Not every program has every stage. */
static int use(const sc_request *r, sc_err *e)
{
    static const char *const stages[] = {"index", "explain", "orders", "schedule", "nest",
                                         "stmt",  "plan",    "why",    "c"};
    sc_program *p;
    int rc = sc_program_get(r, &p, NULL, e);
    if (!rc) sc_program_release(p);
    for (int i = 0; i < STAGES && !rc; i++) {
        char *text = NULL;
        rc = sc_program_text(r, stages[i], &text, e);
        CHECK(rc || (text && (text[0] || i > 1)));
        free(text);
    }
    return rc;
}

static int derive(const sc_request *r, sc_err *e)
{
    sc_gradient g;
    sc_outcome out[SC_MAXOP];
    int n, rc = sc_outcomes(r, &n, out, e);
    if (!rc && !(rc = sc_gradient_make(r, 3, 1, &g, e))) sc_gradient_free(&g);
    return rc;
}

static long tries;

/* Fails request after request of body, for a new program each time, until none is left to fail. With SCORCH_FAULTS each
 * in turn, else the first ones and some of those behind. */
static void fail_each(const char *text, const char *schedule, const char *const *format,
                      int (*body)(const sc_request *, sc_err *), bool rest)
{
    const long every = getenv("SCORCH_FAULTS") ? 1 : EVERY;
    for (long n = 1, failed = 1; failed; n += n < 4 ? 1 : every, tries++) {
        sc_err e = {0}, again = {0};
        const sc_request r = request(text, schedule, format);
        sc_fail_alloc(n, rest ? 1 << 30 : 1);
        const int rc = body(&r, &e);
        failed = sc_fail_alloc(0, 0);
        CHECK(rc == SC_OK ? !e.code : rc == SC_ENOMEM && failed && e.code == rc && e.msg[0]);
        if (body(&r, &again)) printf("%s, request %ld: %s\n", text, n, again.msg);
        CHECK(!again.code);
    }
}

int main(void)
{
    static const char *const both[] = {"csr", "csr", NULL}, *const mixed[] = {"csr", "dense", NULL},
                             *const turned[] = {"csc", "csr", NULL};
    static const char nest[] = "par i in A { for j in A { vec k { C[i,k] += A[i,j] * B[j,k] } } }";
    sc_err e = {0};
    sc_configure(&(sc_config){.jit = SC_JIT_OFF}, &e);
    for (int rest = 0; rest < 2; rest++) {
        fail_each("C[i,k] = A[i,j] * B[j,k]", NULL, both, use, rest);
        fail_each("C[i,k] = relu(A[i,j] * B[j,k])", NULL, mixed, use, rest);
        fail_each("C[i,j] = A[i,j] + B[i,j]", NULL, turned, use, rest);
        fail_each("C[i,k] = A[i,j] * B[j,k]", nest, mixed, use, rest);
        fail_each("C[i,k] = A[i,j] * B[j,k]", NULL, mixed, derive, rest);
    }
    printf("%ld requests, %d failures\n", tries, failures);
    return failures != 0;
}

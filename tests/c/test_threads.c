/* test_threads.c: threads that ask for programs, run them and convert tensors, all at once.
 *
 * Each case is an expression, formats and extents, and what it gives is computed alone before. Then memory is made
 * short, so that programs go while others run them, and every thread draws cases and compares. The thread sanitizer
 * sees what the comparison does not. */
#include <stdatomic.h>

#include "kernels_harness.h"

enum { THREADS = 8, ROUNDS = 120, ROWS = 12, COLUMNS = 18, WIDTHS = 5 };

static const char *const formats[] = {"csr", "csc", "coo", "dcsr", "bsr(2,3)", "ell(18)"};
static const struct {
    const char *text, *other; /* the format of B; none without B */
    bool alike;               /* B has the shape of A */
} expressions[] = {{"C[i,k] = A[i,j] * B[j,k]", "dense", false},
                   {"C[i,k] = relu(A[i,j] * B[j,k] - 1)", "dense", false},
                   {"C[i,k] = A[i,j] * B[j,k]", "csr", false},
                   {"C[i,j] = A[i,j] + B[i,j]", "csr", true},
                   {"C[i,j] = A[i,j] * B[i,j]", "dcsr", true},
                   {"C[j] max= A[i,j]", NULL, false},
                   {"C = A[i,j]", NULL, false}};
enum { FORMATS = SC_LEN(formats), EXPRESSIONS = SC_LEN(expressions), CASES = FORMATS * EXPRESSIONS * WIDTHS };

typedef struct {
    sc_request request;
    sc_tensor in[2];
    dict want;
    _Atomic uint64_t handle; /* of the last thread that got the program */
} Case;
static Case cases[CASES];
static sc_tensor sources[WIDTHS + 1]; /* unsorted: B of each width, A last */
static pool kept[CASES + 1];
static _Atomic int wrong;

static bool fails(bool failed, const Case *c, const char *what)
{
    if (!failed) return false;
    char format[100];
    sc_format_print(&c->in[0].format, format, sizeof format);
    printf("%s, %s: %s\n", c->request.text, format, what);
    atomic_fetch_add(&wrong, 1);
    return true;
}

/* ---- running a case ---- */
static void describe(sc_request *r, int k, const sc_tensor *t)
{
    sc_spec *s = &r->in[k];
    snprintf(s->name, sizeof s->name, "%c", 'A' + k);
    s->format = t->format;
    s->dtype = t->dtype;
    s->itype = t->itype;
    s->unit = sc_format_is_dense(&t->format) ? 1 : -1;
    for (int d = 0; d < 2; d++) r->dim[k][d] = t->view.dim[d];
}

/* Converts the operands that the program asks for; false: none. */
static bool convert_asked(const sc_program *p, sc_request *r, sc_tensor *in, pool *m, sc_err *e)
{
    bool any = false;
    for (int k = 0; k < r->nin; k++) {
        const sc_format *want = sc_program_convert(p, k);
        if (!want) continue;
        sc_tensor to = {.format = *want, .itype = in[k].itype};
        if (sc_convert(&in[k], &to, pool_alloc, m, NULL, e)) return false;
        in[k] = to;
        describe(r, k, &to);
        r->settled |= 1u << k;
        any = true;
    }
    return any;
}

static int run(const sc_program *p, const sc_tensor *in, sc_tensor *out, pool *m, sc_err *e)
{
    const sc_spec *s = sc_program_result(p, 0);
    int64_t n = 1;
    *out = (sc_tensor){.format = s->format, .dtype = s->dtype, .itype = s->itype};
    sc_program_shape(p, 0, in, out->view.dim);
    for (int d = s->format.ndim; d-- > 0; n *= out->view.dim[d]) out->view.stride[d] = n;
    if (sc_format_is_dense(&s->format))
        out->view.val = pool_alloc(m, SC_VAL, -1, s->dtype, out->view.nval = n);
    return sc_program_run(p, in, out, pool_alloc, (void *const[]){m}, e);
}

/* What the case gives, as entries that are not zero; kept: a program that is remembered is taken. */
static dict compute(Case *c, bool again, sc_err *e)
{
    pool m = {0};
    sc_request r = c->request;
    sc_tensor in[2] = {c->in[0], c->in[1]}, out;
    uint64_t handle = atomic_load(&c->handle);
    dict d = {.n = -1};
    sc_program *p = again ? sc_program_again(handle) : NULL;
    if (!p && sc_program_get(&r, &p, &handle, e)) return d;
    atomic_store(&c->handle, handle);
    while (convert_asked(p, &r, in, &m, e)) {
        sc_program_release(p);
        if (sc_program_get(&r, &p, NULL, e)) return pool_free(&m), d;
    }
    if (!e->code && !run(p, in, &out, &m, e)) d = unpack(&out, true);
    sc_program_release(p);
    pool_free(&m);
    return d;
}

/* ---- what threads do ---- */
typedef struct {
    uint64_t state;
} Draw;

static int draw(Draw *r, int n)
{
    uint64_t x = r->state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (int)((x ^ x >> 31) % (uint64_t)n);
}

static void compute_again(Draw *r, Case *c)
{
    sc_err e = {0};
    dict d = compute(c, draw(r, 2), &e);
    if (!fails(e.code, c, e.msg)) fails(!same(&d, &c->want), c, "another result");
    free(d.e);
}

static void read_stage(Draw *r, const Case *c)
{
    static const char *const stages[] = {"index", "nest", "stmt", "plan", "explain"};
    char *text = NULL;
    sc_err e = {0};
    fails(sc_program_text(&c->request, stages[draw(r, SC_LEN(stages))], &text, &e) || !text, c, e.msg);
    free(text);
}

static void convert_again(Draw *r, const Case *c)
{
    pool m = {0};
    sc_err e = {0};
    sc_tensor to = {.itype = draw(r, 2) ? SC_I32 : SC_I64};
    sc_format_parse(&to.format, formats[draw(r, FORMATS)], 2, &e);
    if (!fails(sc_convert(&c->in[0], &to, pool_alloc, &m, NULL, &e), c, e.msg)) {
        dict was = unpack(&c->in[0], true), is = unpack(&to, true);
        fails(!same(&was, &is), c, "another tensor after a conversion");
        free(was.e);
        free(is.e);
    }
    pool_free(&m);
}

static void *work(void *arg)
{
    Draw r = {(uint64_t)(uintptr_t)arg};
    for (int k = 0; k < ROUNDS; k++) {
        Case *c = &cases[draw(&r, CASES)];
        sc_stats s;
        switch (draw(&r, 12)) {
        case 0: read_stage(&r, c); break;
        case 1:
        case 2: convert_again(&r, c); break;
        case 3: sc_stats_get(&s), fails(s.kept_bytes < 0, c, "fewer bytes than none"); break;
        case 4: sc_work_clear(); break;
        default: compute_again(&r, c); break;
        }
    }
    return NULL;
}

/* ---- cases ---- */
static sc_tensor dense_of(const sc_tensor *t, pool *m)
{
    sc_tensor to = {0};
    sc_err e = {0};
    CHECK(!sc_format_parse(&to.format, "dense", 2, &e) && !sc_convert(t, &to, pool_alloc, m, NULL, &e), "%s",
          e.msg);
    return to;
}

static sc_tensor stored(const sc_tensor *t, const char *format, pool *m)
{
    sc_tensor to = {.itype = SC_I32};
    sc_err e = {0};
    CHECK(!sc_format_parse(&to.format, format, 2, &e) && !sc_convert(t, &to, pool_alloc, m, NULL, &e), "%s",
          e.msg);
    return to;
}

static void make_case(Case *c, int expression, const char *format, int width, pool *m)
{
    const char *other = expressions[expression].other;
    const sc_tensor *a = &sources[WIDTHS], *b = expressions[expression].alike ? a : &sources[width];
    c->request = (sc_request){.text = expressions[expression].text, .nin = 1};
    c->in[0] = stored(a, format, m);
    describe(&c->request, 0, &c->in[0]);
    if (!other) return;
    c->in[1] = strcmp(other, "dense") ? stored(b, other, m) : dense_of(b, m);
    describe(&c->request, c->request.nin++, &c->in[1]);
}

static void make_cases(void)
{
    static const int64_t shape[2] = {ROWS, COLUMNS};
    random_coo(&sources[WIDTHS], shape, 2, 60, SC_F32, SC_I32, &kept[CASES]);
    for (int w = 0; w < WIDTHS; w++)
        random_coo(&sources[w], (int64_t[]){COLUMNS, 1 + 4 * w}, 2, 60, SC_F32, SC_I32, &kept[CASES]);
    for (int k = 0; k < CASES; k++) {
        sc_err e = {0};
        make_case(&cases[k], k % EXPRESSIONS, formats[k / EXPRESSIONS % FORMATS], k / EXPRESSIONS / FORMATS,
                  &kept[k]);
        cases[k].want = compute(&cases[k], false, &e);
        fails(e.code, &cases[k], e.msg);
    }
}

int main(void)
{
    pthread_t thread[THREADS];
    sc_stats all, s;
    sc_err e = {0};
    sc_configure(&(sc_config){.jit = SC_JIT_OFF}, &e);
    make_cases();
    sc_stats_get(&all);
    sc_configure(&(sc_config){.jit = SC_JIT_OFF, .memory = all.kept_bytes / 3}, &e);
    team_size = 3;
    sc_team_install(&toy_team);
    for (intptr_t k = 0; k < THREADS; k++)
        CHECK(!pthread_create(&thread[k], NULL, work, (void *)(k + 1)), "no thread");
    for (int k = 0; k < THREADS; k++) CHECK(!pthread_join(thread[k], NULL), "no end");
    sc_stats_get(&s);
    CHECK(s.forgotten > CASES && s.kept_bytes <= s.kept_limit, "%lld went", (long long)s.forgotten);
    for (int k = 0; k < CASES; k++) free(cases[k].want.e);
    for (int k = 0; k <= CASES; k++) pool_free(&kept[k]);
    printf("%lld programs made, %lld keys forgotten, %d wrong\n", (long long)s.programs,
           (long long)s.forgotten, wrong);
    return failures + wrong != 0;
}

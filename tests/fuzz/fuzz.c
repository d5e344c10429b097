/* fuzz.c: choices, promises, and small programs for the fuzz targets. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/run.h"
#include "run/tool.h"

/* A request for more memory than any input is worth gets none. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{ return "allocator_may_return_null=1:max_allocation_size_mb=64:exitcode=99"; }

/* ---- lanes that take turns, the last first ---- */
static int lanes = 1;

static int team_width(void) { return lanes; }

static void take_turns(sc_body *body, void *arg, int n)
{
    for (int id = n; id-- > 0;) body(arg, id, n);
}

void fuzz_lanes(int n)
{
    static const sc_team team = {take_turns, team_width};
    static bool installed;
    lanes = n;
    if (!installed) sc_team_install(&team);
    installed = true;
}

/* ---- choices ---- */
uint32_t fuzz_byte(Bytes *b)
{
    if (!b->left) return 0;
    b->left--;
    return *b->at++;
}

int fuzz_below(Bytes *b, int n) { return (int)(fuzz_byte(b) % (uint32_t)n); }

bool fuzz_one_in(Bytes *b, int n) { return fuzz_below(b, n) == n - 1; }

char *fuzz_text(Bytes *b)
{
    char *s = malloc(b->left + 1);
    if (!s) exit(2);
    for (size_t k = 0; k < b->left; k++) s[k] = b->at[k] ? (char)b->at[k] : ' ';
    s[b->left] = 0;
    b->left = 0;
    return s;
}

/* ---- promises ---- */
void fuzz_die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}

void fuzz_refusal(int rc, const sc_err *err, const char *text)
{
    const size_t n = strnlen(err->msg, sizeof err->msg);
    if (rc != err->code || (rc != SC_EVALUE && rc != SC_ETYPE && rc != SC_ENOTIMPL))
        fuzz_die("returned %d, error %d: %s", rc, err->code, err->msg);
    if (!n || n == sizeof err->msg) fuzz_die("an error of code %d without a message", rc);
    if (err->pos > 0 && (size_t)err->pos > strlen(text))
        fuzz_die("place %d is beyond the text: %s", err->pos, err->msg);
}

/* ---- small programs ---- */
static int nodes(const Expr *e)
{
    int n = 1;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) n += nodes(e->kid[k]);
    return n;
}

bool fuzz_is_small(const Prog *p)
{
    double points = 1, size;
    int n = 0;
    if (p->nvar > 5 || p->nassign > 3) return false;
    for (int v = 0; v < p->nvar; v++) points *= (double)sc_max(p->var[v].extent, 1);
    for (int a = 0; a < p->nassign; a++) n += nodes(p->assign[a].rhs);
    for (int k = 0; k < p->ntensor; k++) {
        size = 1;
        for (int d = 0; d < p->tensor[k]->ndim; d++) size *= (double)sc_max(p->tensor[k]->extent[d], 1);
        if (size > 4096) return false;
    }
    return points <= 8192 && n <= 24;
}

static Prog *new_prog(void)
{
    Prog *p = calloc(1, sizeof *p);
    if (!p) exit(2);
    return p;
}

bool fuzz_accepts(const char *text, bool *nest)
{
    sc_err err = {0};
    Prog *p = new_prog();
    const int rc = sc_compile_gradient(p, NULL, text, 0, 0, NULL, &err);
    if (rc) fuzz_refusal(rc, &err, text);
    const bool small = !rc && fuzz_is_small(p);
    *nest = p->draft.nest != NULL;
    sc_compile_free(p);
    free(p);
    return small;
}

/* ---- what can be compared ---- */
/* Whether every value is a small multiple of a quarter, whatever the order of sums. */
static bool exact(const Expr *e)
{
    static const Op ops[] = {O_ADD, O_SUB, O_MUL, O_MIN, O_MAX, O_NEG, O_RELU,   O_ABS,
                             O_LT,  O_LE,  O_GT,  O_GE,  O_EQ,  O_NE,  O_ACCESS, O_STORED};
    bool known = e->op == O_CONST && e->c >= -8 && e->c <= 8 && e->c * 4 == (int)(e->c * 4);
    known |= e->op == O_REDUCE && e->reduce != O_MUL;
    for (int k = 0; k < SC_LEN(ops); k++) known |= e->op == ops[k];
    for (int k = 0; k < 2; k++) known = known && (!e->kid[k] || exact(e->kid[k]));
    return known;
}

static int factors(const Expr *e)
{
    int n = e->op == O_ACCESS || e->op == O_CONST;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) n += factors(e->kid[k]);
    return n;
}

static bool comparable(const Prog *p)
{
    int n = 0;
    for (int a = 0; a < p->nassign; a++) {
        if (!exact(p->assign[a].rhs)) return false;
        n += factors(p->assign[a].rhs);
    }
    for (int k = 0; k < p->nin + p->nout; k++) {
        const sc_dtype t = p->tensor[k]->dtype;
        if (t == SC_F16 || t == SC_BF16 || t == SC_I16) n += 3;
    }
    return n <= 6;
}

void fuzz_print(Prog *p, const char *text)
{
    const char *stage;
    for (int k = 0; (stage = sc_stage_name(k)); k++) {
        sc_text out = {0};
        sc_err err = {0};
        if (p->nvar > 3 && !strcmp(stage, "orders")) continue; /* thousands of nests */
        if (sc_compile_text(p, stage, &out, &err)) fuzz_die("stage %s: %s\n%s", stage, err.msg, text);
        sc_text_free(&out);
    }
}

void fuzz_run(const char *text, int width, uint64_t seed)
{
    sc_err err = {0}, wrong = {0};
    Prog *p;
    bool nest;
    if (!fuzz_accepts(text, &nest)) return;
    const int rc = sc_tool_compile(text, width, &p, &err);
    if (rc) {
        fuzz_refusal(rc, &err, text);
        return;
    }
    fuzz_print(p, text);
    const bool compare = !nest && comparable(p);
    if (fuzz_is_small(p) && sc_trial(p, false, width, seed, &wrong) && (compare || wrong.code != SC_EVALUE) &&
        wrong.code != SC_ENOTIMPL)
        fuzz_die("%s\n%s", wrong.msg, text);
    sc_tool_free(p);
}

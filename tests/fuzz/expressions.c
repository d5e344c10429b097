/* expressions.c: the text of a request, an einsum string or index notation, over operands that the text names.
 *
 * Every dimension has one extent, so that extents agree whatever the indices are; formats, types and statistics come
 * from the choices in front of the text. What is accepted says the same of its results before and after scheduling,
 * and prints as a program that prints the same. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compile.h"
#include "compiler/expr/expr.h"
#include "fuzz.h"

static const char *const formats[][13] = {
    {"dense"},
    {"dense", "dense", "compressed(0)", "coo", "ell(0, 6)", "compressed(0, nonunique)"},
    {"dense", "dense", "csr", "csc", "coo", "dcsr", "dcsc", "bsr(2,2)", "bsc(2,3)", "ell(6)", "bitmask",
     "compressed(1), dense(0)", "dense(0/2), compressed(1), dense(0%2)"},
    {"dense", "dense", "csf", "coo", "csr", "dense(0), compressed(1), compressed(2)",
     "compressed(2), dense(0), compressed(1)", "compressed(0), dense(1), dense(2)",
     "compressed(1, nonunique), singleton(0, nonunique), singleton(2)"},
};
static const sc_dtype types[] = {SC_F32,  SC_F32, SC_F32, SC_F64, SC_F64,
                                 SC_BF16, SC_F16, SC_I32, SC_I64, SC_BOOL};

static void add_operand(sc_request *rq, Bytes *b, const char *name, size_t length, int rank)
{
    sc_err err = {0};
    if (rq->nin == 8 || rank > SC_MAXDIM) return;
    sc_spec *s = &rq->in[rq->nin];
    const char *const *known = formats[rank < 4 ? rank : 0];
    int n = 0;
    while (n < SC_LEN(formats[0]) && known[n]) n++;
    const char *format = rank < 4 ? known[fuzz_below(b, n)] : fuzz_one_in(b, 2) ? "coo" : "dense";
    *s =
        (sc_spec){.dtype = types[fuzz_below(b, SC_LEN(types))], .itype = fuzz_one_in(b, 4) ? SC_I64 : SC_I32};
    memcpy(s->name, name, length < sizeof s->name ? length : sizeof s->name - 1);
    if (sc_format_parse(&s->format, format, rank, &err)) fuzz_die("%s: %s", format, err.msg);
    const bool dense = sc_format_is_dense(&s->format);
    s->unit = dense ? rank - 1 - (rank > 1 && fuzz_one_in(b, 5)) : -1;
    s->perm = !dense && fuzz_one_in(b, 9);
    for (int l = 0; l < s->format.nlevel && !dense; l++) s->positions[l] = (uint8_t)fuzz_below(b, 24);
    for (int d = 0; d < rank; d++) rq->dim[rq->nin][d] = 6;
    rq->nin++;
}

static bool known(const sc_request *rq, const char *name, size_t length)
{
    bool found = false;
    for (int k = 0; k < rq->nin; k++)
        found |= strlen(rq->in[k].name) == length && !memcmp(rq->in[k].name, name, length);
    return found;
}

/* The operands of index notation: names that no assignment begins with, and that are no calls. */
static void find_operands(sc_request *rq, Bytes *b, const char *text)
{
    bool first = true;
    for (const char *s = text; *s;) {
        const char *name = s;
        while (isalnum((unsigned char)*s) || *s == '_') s++;
        const size_t n = (size_t)(s - name);
        if (!n) {
            first |= *s == ';' || *s == '\n';
            s++;
            continue;
        }
        int rank = *s == '[';
        for (const char *t = s; rank && *t && *t != ']'; t++) rank += *t == ',';
        if (*s == '[') s += strcspn(s, "]");
        if (!first && *s != '(' && !isdigit((unsigned char)*name) && !known(rq, name, n))
            add_operand(rq, b, name, n, rank);
        first = false;
    }
}

static void count_operands(sc_request *rq, Bytes *b, const char *text)
{
    int rank = 0;
    for (const char *s = text;; s++) {
        if (isalpha((unsigned char)*s)) rank++;
        if (*s != ',' && *s && *s != '-') continue;
        add_operand(rq, b, "", 0, rank);
        if (*s != ',') return;
        rank = 0;
    }
}

/* What was said of the results beforehand holds. */
static void same_outcomes(const Prog *p, const sc_request *rq)
{
    sc_outcome out[SC_MAXOP];
    sc_err err = {0};
    int n;
    if (sc_outcomes(rq, &n, out, &err) || n != p->nout) fuzz_die("%d results: %s", n, err.msg);
    for (int r = 0; r < n; r++) {
        const Tensor *t = prog_result(p, r);
        const sc_format *f = p->ask[r].nlevel ? &p->ask[r] : &t->format;
        if (out[r].spec.dtype != t->dtype ||
            (out[r].spec.format.nlevel && !sc_format_equal(&out[r].spec.format, f)))
            fuzz_die("result %d is not what was said: %s", r, rq->text);
    }
}

static void same_text(Prog *p, sc_request *rq)
{
    sc_text first = {0}, second = {0};
    sc_err err = {0};
    Prog *q = calloc(1, sizeof *q);
    if (!q) exit(2);
    if (sc_compile_text(p, "index", &first, &err)) fuzz_die("%s", err.msg);
    for (int k = 0; k < rq->nin; k++) memcpy(rq->in[k].name, p->tensor[k]->name, sizeof rq->in[k].name);
    rq->text = first.s;
    if (sc_compile_gradient(q, rq, NULL, 0, 0, NULL, &err) || sc_compile_text(q, "index", &second, &err))
        fuzz_die("%s\n%s", err.msg, first.s);
    if (strcmp(first.s, second.s) != 0) fuzz_die("%s is printed as %s", first.s, second.s);
    sc_compile_free(q);
    free(q);
    sc_text_free(&first);
    sc_text_free(&second);
}

static int front(sc_request *rq, sc_err *err, bool *small)
{
    Prog *p = calloc(1, sizeof *p);
    if (!p) exit(2);
    const char *text = rq->text;
    const int rc = sc_compile_gradient(p, rq, NULL, 0, 0, NULL, err);
    *small = !rc && fuzz_is_small(p);
    if (!rc) same_text(p, rq);
    rq->text = text;
    sc_compile_free(p);
    free(p);
    return rc;
}

static void whole(const sc_request *rq, int width, long fails)
{
    sc_err err = {0};
    Prog *p = calloc(1, sizeof *p);
    if (!p) exit(2);
    sc_fail_alloc(fails, fails > 0);
    const int rc = sc_compile(p, rq, NULL, width, &err);
    sc_fail_alloc(0, 0);
    if (rc && !(fails && rc == SC_ENOMEM)) fuzz_refusal(rc, &err, rq->text);
    if (!rc) same_outcomes(p, rq);
    if (!rc && !p->draft.converts) fuzz_print(p, rq->text);
    sc_compile_free(p);
    free(p);
}

/* With FUZZ_SHOW in the environment: the request as an .sc text. */
static void show(const sc_request *rq)
{
    char format[400];
    for (int k = 0; k < rq->nin; k++) {
        const sc_spec *s = &rq->in[k];
        sc_format_print(&s->format, format, sizeof format);
        fprintf(stderr, "in %s: %s \"%s\" %s (", s->name, sc_dtype_name(s->dtype), format,
                s->unit < 0 ? sc_dtype_name(s->itype) : "");
        for (int d = 0; d < s->format.ndim; d++) fprintf(stderr, "%s6", d ? ", " : "");
        fprintf(stderr, s->unit < 0 ? ")\n" : ") unit %d\n", s->unit);
    }
    fprintf(stderr, "%s%s%s\n", rq->skip ? "skip\n" : "", rq->nofold ? "nofold\n" : "", rq->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t head = size < 24 ? size : 24;
    Bytes choices = {data, head}, rest = {data + head, size - head};
    char *text = fuzz_text(&rest);
    sc_request *rq = calloc(1, sizeof *rq);
    sc_err err = {0};
    bool small;
    if (!rq) exit(2);
    rq->text = text;
    rq->skip = fuzz_one_in(&choices, 6);
    rq->nofold = fuzz_one_in(&choices, 4);
    const int width = 16 << fuzz_below(&choices, 3);
    const bool compiles = !fuzz_below(&choices, 3); /* which takes most of the time */
    const long fails = fuzz_one_in(&choices, 12) ? 1 + (long)fuzz_byte(&choices) : 0;
    if (strchr(text, '='))
        find_operands(rq, &choices, text);
    else
        count_operands(rq, &choices, text);
    if (getenv("FUZZ_SHOW")) show(rq);
    const int rc = front(rq, &err, &small);
    if (rc) fuzz_refusal(rc, &err, text);
    rq->whole = true; /* what is compiled here is one nest, also of a program that means several */
    if (small && compiles) whole(rq, width, fails);
    free(rq);
    free(text);
    return 0;
}

/* test_expr.c: what an expression becomes: reductions and aliases, formats of results, rewrites.
 *
 * A case is a file in the form of csrc/compiler/file.c, and what is printed for it. Exit status 0: all passed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front.h"

static int failed;

/* ---- formats of results ---- */
/* name: delivered [(made "format" | made like NAME | made by the scheduler)] */
static void print_result(const Prog *p, const Tensor *t, sc_text *out)
{
    char ask[200], made[200];
    sc_format_print(&p->ask[t->arg - p->nin], ask, sizeof ask);
    sc_format_print(&t->format, made, sizeof made);
    sc_text_add(out, "%s: %s", t->name, ask);
    if (t->like)
        sc_text_add(out, ", like %s", t->like->name);
    else if (t->ndim && !t->format.nlevel)
        sc_text_add(out, ", open");
    else if (t->ndim && strcmp(ask, made) != 0)
        sc_text_add(out, ", made %s", made);
    sc_text_add(out, t->itype == SC_I64 ? " i64\n" : "\n");
}

static int load(Front *f, const char *text)
{
    if (setjmp(f->escape)) return f->err.code;
    file_parse(&f->p, text);
    expr_check(&f->p);
    expr_infer(&f->p);
    return SC_OK;
}

static void expect(const char *text, const char *got, const char *want)
{
    if (!strcmp(got, want)) return;
    failed++;
    printf("FAILED\n--- text\n%s\n--- expected\n%s--- got\n%s\n", text, want, got);
}

static void inferred(const char *head, const char *text, const char *want)
{
    Front *f = open_front();
    sc_text in = {0}, out = {0};
    sc_text_add(&in, "%s%s", head, text);
    if (load(f, in.s)) sc_text_add(&out, "%s\n", f->err.msg);
    for (int a = 0; !f->err.code && a < f->p.nassign; a++)
        print_result(&f->p, f->p.assign[a].lhs->tensor, &out);
    expect(text, out.s, want);
    sc_text_free(&in);
    sc_text_free(&out);
    close_front(f);
}

#define HEAD                                                                                                 \
    "in A: f32 csr i32 (6, 6)\nin B: f32 csr i32 (6, 6)\nin D: f32 csc i32 (6, 6)\nin O: f32 coo i64 (6, "   \
    "6)\n"                                                                                                   \
    "in E: f32 ell(2) i32 (6, 6)\nin K: f32 bsr(2,2) i32 (6, 6)\nin T: f32 csf i32 (6, 6, 6)\n"              \
    "in v: f32 coo i32 (6)\nin N: f32 \"compressed(0, nonunique), compressed(1)\" i32 (6, 6)\n"              \
    "in X: f32 dense (6, 6)\nin x: f32 dense (6)\nin a: f32 dense ()\n"

static const char *const formats[][2] = {
    /* what is covered */
    {"C[i,k] = A[i,j] * X[j,k]", "C: dense\n"},
    {"C[i,k] = A[i,j] * B[j,k]", "C: csr, open\n"},
    {"C[i,j] = A[i,j] + B[i,j]", "C: csr, open\n"},
    {"C[i,j] = A[i,j] + X[i,j]", "C: dense\n"},
    {"C[i,j] = A[i,j] + 1", "C: dense\n"},
    {"C[i,j] = A[i,j] + 0 * x[i]", "C: csr, like A\n"},
    {"C[i,j] = A[i,j] + 0", "C: csr, like A\n"},
    {"C[i,j] = exp(A[i,j])", "C: dense\n"},
    {"C[i,j] = A[i,j] > 0", "C: csr, like A\n"},
    {"C[i,j] = A[i,j] >= 0", "C: dense\n"},
    {"C[i,j] = max(A[i,j], B[i,j])", "C: csr, open\n"},
    {"C[i,j] = X[i,j] * relu(-A[i,j]) / x[j]", "C: csr, like A\n"},
    {"C[i,j] = x[i] / (A[i,j] + 1)", "C: dense\n"},
    {"C[i,j] = A[i,j] * x[i] + B[i,j] * x[j]", "C: csr, open\n"},
    {"C[i,j,k] = A[i,j] * x[k]", "C: dense(0), compressed(1), dense(2), like A\n"},
    {"C[i,j,k] = A[i,j] * B[j,k]", "C: csf, open\n"},
    {"C[i,j] max= T[i,j,k]", "C: dcsr, like T\n"},
    {"C = A[i,j]", "C: dense\n"},
    {"C[i] = A[i,j]", "C: dense\n"},
    {"C[i] = A[i,i]", "C: dense\n"},
    {"C[i] = A[i,j] * v[j]", "C: dense\n"},
    {"C[i] = v[i] * x[i]", "C: coo, like v\n"},
    {"C[i,j] = v[i] * v[j]", "C: dcsr, open\n"},
    /* the pattern of an operand */
    {"C[i,j] = A[i,j] * X[i,k] * X[j,k]", "C: csr, like A\n"},
    {"C[i,j] = A[i,j] * B[i,j]", "C: csr, open\n"},
    {"C[i,j] = A[i,j] * B[i,k] * D[k,j]", "C: csr, like A\n"},
    {"C[i,j] = A[i,j] * A[i,k] * A[k,j]", "C: csr, like A\n"},
    {"C[j,i] = A[i,j] * x[i]", "C: csr, open\n"},
    {"C[i,j] = O[i,j] * 2", "C: coo, like O i64\n"},
    {"C[i,j] = K[i,j] * 2", "C: bsr(2,2), like K\n"},
    {"C[i,j] = E[i,j] * 2", "C: ell(2), like E\n"},
    {"C[i,j] = D[i,j] * x[i]", "C: csc, like D\n"},
    {"C[i,j] = N[i,j] * x[i]", "C: compressed(0, nonunique), compressed(1), open\n"},
    {"C[i,j] = A[i,j] * A[j,i] * x[i]", "C: csr, open\n"},
    {"C[i,j] = A[j,i] * X[i,k] * X[j,k]", "C: csr, open\n"},
    {"C[i,j] = A[i,j] * A[i,j]", "C: csr, like A\n"},
    {"out C: like A\nC[i,j] = stored(A[i,j]) * B[i,j]", "C: csr, like A\n"},
    {"out C: like A\nC[i,j] = A[j,i] * stored(A[i,j])", "C: csr, like A_1\n"},
    /* the common format */
    {"C[i,j] = D[i,j] - D[j,i]", "C: csc, open\n"},
    {"C[i,j] = A[i,j] - D[i,j]", "C: csr, open\n"},
    {"C[i,j] = O[i,j] - O[j,i]", "C: coo, open i64\n"},
    {"C[i,j] = E[i,j] - E[j,i]", "C: csr, open\n"},
    {"C[i,j] = K[i,j] - K[j,i]", "C: bsr(2,2), open\n"},
    /* asked for */
    {"out C: f32 dense\nC[i,j] = A[i,j] + B[i,j]", "C: dense\n"},
    {"out C: f32 coo i64\nC[i,j] = A[i,j] + B[i,j]", "C: coo, open i64\n"},
    {"out C: f32 csc\nC[i,j] = A[i,j] * x[i]", "C: csc, like A\n"},
    {"out C: f32 csr\nC[i,j] = A[i,j] * 2 + X[i,j]", "C: csr, made dense\n"},
    {"out C: f32 coo\nC[i] = A[i,j] * v[j]", "C: coo, open\n"},
    {"out C: f32 dense\nC[i,j] = A[i,j] * x[i]", "C: dense\n"},
    /* several results */
    {"m[i] = A[i,j]; C[i,j] = A[i,j] / m[i]", "m: dense\nC: csr, like A\n"},
    {"S[i,j] = A[i,j] + B[i,j]; C[i,k] = S[i,j] * X[j,k]", "S: dense\nC: dense\n"},
    {"out S: f32 csr\nS[i,j] = A[i,j] + B[i,j]; C[i,k] = S[i,j] * X[j,k]", "S: csr, made dense\nC: dense\n"},
    {"skip\nC[i,j] = exp(A[i,j])", "C: csr, open\n"},
    {"skip\nC[i,j] max= A[i,k] + B[k,j]", "C: dense\n"},
    {"skip\nC[i,j] max= A[i,j]", "C: dense\n"},
    {"skip\nout C: f32 csr\nC[i,j] max= A[i,k] + B[k,j]", "C: csr, open\n"},
    {"skip\nC[i,j] += A[i,k] + B[k,j]", "C: csr, open\n"},
    /* nests */
    {"C[i,j] = A[i,j] + B[i,j]\nnest { par i { for j merge A, B { C[i,j] = A[i,j] + B[i,j] } } }",
     "C: csr\n"},
    {"C[i,j] = A[i,j] + B[i,j]\nnest { par i { for j { for j merge A, B { C[i,j] = A[i,j] + B[i,j] } } } }",
     "C: csr, made dense\n"},
    {"C[i,k] = A[i,j] * B[j,k]\nnest { par i in A { for j in A { for k in B { C[i,k] += A[i,j] * B[j,k] } } "
     "} }",
     "C: csr, made dense\n"},
    {"C[i,j] = D[i,j] - D[j,i]\nnest { par j in D { for i merge D, D_1 { C[i,j] = D[i,j] - D[j,i] } } }",
     "C: csc\n"},
    {"C[i,j] = A[i,j] * x[i]\nnest { par i in A { for j in A { C[i,j] = A[i,j] * x[i] } } }",
     "C: csr, like A\n"},
    {"out C: f32 coo\nC[i,j] = A[i,j] + B[i,j]\nnest { par i { for j merge A, B { C[i,j] = A[i,j] + B[i,j] } "
     "} }",
     "C: coo, made csr\n"},
};

/* Operands that the text does not use are left out. */
static void infer_case(const char *text, const char *want)
{
    sc_text head = {0};
    const char *at = HEAD;
    const char *code = text;
    while (*at) {
        const size_t n = strcspn(at, "\n") + 1;
        bool used = false;
        for (const char *s = code; *s; s++)
            used |= *s == at[3] && (s[1] == '[' || (at[3] == 'a' && s[1] == ' '));
        if (used) sc_text_addn(&head, at, n);
        at += n;
    }
    inferred(head.s ? head.s : "", text, want);
    sc_text_free(&head);
}

/* ---- rewrites ---- */
typedef struct {
    const char *how, *text, *want;
} Rewrite;

#define HEAD2                                                                                                \
    "in A: f32 csr i32 (6, 6)\nin B: f32 dense (6, 6)\nin D: f32 dense (6, 6)\nin x: f32 dense (6)\n"        \
    "in y: f32 dense (6)\nin a: f32 dense ()\n"

static const Rewrite rewrites[] = {
    {"simplify", "C[i] = 1 * x[i] + 0", "x[i]"},
    {"simplify", "C[i] = x[i] * 2 * y[i] * 3", "6 * x[i] * y[i]"},
    {"simplify", "C[i] = 2 * x[i]", "2 * x[i]"},
    {"simplify", "C[i] = x[i] / 1 * (1 + 1)", "2 * x[i]"},
    {"simplify", "C[i] = --x[i]", "x[i]"},
    {"simplify", "C[i] = x[i] * -y[i]", "-(x[i] * y[i])"},
    {"simplify", "C[i] = -x[i] * -y[i]", "x[i] * y[i]"},
    {"simplify", "C[i] = x[i] + -y[i]", "x[i] - y[i]"},
    {"simplify", "C[i] = 0 - y[i]", "-y[i]"},
    {"simplify", "C[i] = y[i] * (2 - 2)", "0"},
    {"simplify", "C[i] = y[i] * 0 * A[i,j]", "0"},
    {"simplify", "C[i] = relu(2 - 3) + sqrt(4) * y[i]", "2 * y[i]"},
    {"simplify", "C[i] = y[i] + 1 / 0", "y[i] + 1 / 0"},
    {"simplify", "C[i] = y[i] / 2 / x[i]", "y[i] / 2 / x[i]"},
    {"simplify", "C[i] = max(x[i] * 1, x[i])", "x[i]"},
    {"contract k", "C[i,l] = A[i,j] * B[j,k] * D[k,l]", "sum j (A[i,j] * sum k (B[j,k] * D[k,l]))"},
    {"contract j", "C[i,l] = A[i,j] * B[j,k] * D[k,l]", "sum k (D[k,l] * sum j (A[i,j] * B[j,k]))"},
    {"contract j,k", "C[i,l] = A[i,j] * B[j,k] * D[k,l]", "sum j,k (A[i,j] * B[j,k] * D[k,l])"},
    {"contract l", "C[i,l] = A[i,j] * B[j,k] * D[k,l]", "sum j,k (A[i,j] * B[j,k] * D[k,l])"},
    {"contract j", "C[i] = x[i] * A[i,j] / y[i]", "x[i] * sum j (A[i,j]) / y[i]"},
    {"contract j", "C[i] = x[i] * A[i,j] / y[j]", "x[i] * sum j (A[i,j] / y[j])"},
    {"contract k", "C[i] = A[i,j] * B[j,k] / (D[j,k] + 1) * relu(x[k])",
     "sum j (A[i,j] * sum k (B[j,k] * relu(x[k]) / (D[j,k] + 1)))"},
    {"contract j", "C[i] max= x[i] + B[i,j] - y[i]", "x[i] + max j (B[i,j]) - y[i]"},
    {"contract j", "C[i] max= x[i] - B[i,j]", "x[i] + max j (-B[i,j])"},
    {"contract j", "C[i] max= x[i] * B[i,j]", "max j (x[i] * B[i,j])"},
    {"contract j", "C[i] = a * x[i] + A[i,j]", "a * x[i] + sum j (A[i,j])"},
    {"hoist", "C[i] = relu(a * B[i,j]) * x[k] * x[i]", "relu(a * sum j (B[i,j])) * x[i] * sum k (x[k])"},
    {"hoist", "C[i] = x[i] * A[i,j] * x[k]", "sum j,k (x[i] * A[i,j] * x[k])"},
    {"flatten", "C[i] = A[i,j] * relu(B[j,k])", "sum j (A[i,j] * relu(sum k (B[j,k])))"},
    {"again", "C[i,l] = A[i,j] * B[j,k] * D[k,l]", "sum j,k (A[i,j] * B[j,k] * D[k,l])"},
};

static uint32_t vars_of(const Prog *p, const char *names)
{
    uint32_t vars = 0;
    for (const char *s = names; *s; s++)
        for (int v = 0; v < p->nvar; v++)
            if (p->var[v].name[0] == *s) vars |= 1u << v;
    return vars;
}

static Expr *rewritten(Prog *p, const char *how, Expr *e)
{
    if (!strcmp(how, "simplify")) return expr_simplify(p, e);
    if (!strcmp(how, "hoist")) return expr_hoist(p, e);
    if (!strcmp(how, "flatten")) return expr_flatten(p, e);
    if (!strcmp(how, "again")) return expr_flatten(p, expr_contract(p, e, vars_of(p, "k")));
    return expr_contract(p, e, vars_of(p, how + strlen("contract ")));
}

static int rewrite(Front *f, const char *how)
{
    if (setjmp(f->escape)) return f->err.code;
    f->p.assign[0].rhs = rewritten(&f->p, how, f->p.assign[0].rhs);
    return SC_OK;
}

static void rewrite_case(const Rewrite *r)
{
    Front *f = open_front();
    sc_text in = {0}, out = {0};
    const char *at = HEAD2;
    while (*at) {
        const size_t n = strcspn(at, "\n") + 1;
        const char use[2] = {at[3], 0};
        if (strstr(strchr(r->text, '='), use) && (at[3] != 'a' || strstr(r->text, "a *")))
            sc_text_addn(&in, at, n);
        at += n;
    }
    sc_text_add(&in, "%s", r->text);
    if (load(f, in.s) || rewrite(f, r->how))
        sc_text_add(&out, "%s", f->err.msg);
    else
        sums_print(&f->p, &out);
    char *line = out.s ? out.s : "";
    char *got = strstr(line, "= ") ? strstr(line, "= ") + 2 : line;
    got[strcspn(got, "\n")] = 0;
    expect(r->text, got, r->want);
    sc_text_free(&in);
    sc_text_free(&out);
    close_front(f);
}

int main(void)
{
    for (int k = 0; k < SC_LEN(formats); k++) infer_case(formats[k][0], formats[k][1]);
    for (int k = 0; k < SC_LEN(rewrites); k++) rewrite_case(&rewrites[k]);
    printf(failed ? "%d failed\n" : "expressions: ok\n", failed);
    return failed != 0;
}

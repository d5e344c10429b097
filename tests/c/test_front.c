/* test_front.c: texts in and out: expressions, nests, .sc files, their errors, and the oracle.
 *
 *     test_front [folder of .sc files]
 *
 * A case is text. In the text of a wrong case '@' marks where the caret must be; without one the message
 * has no place. Exit status 0: all passed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front.h"
#include "run/oracle.h"

#define HEAD                                                                                                 \
    "in A: f32 csr i32 (6, 5)\nin B: f32 dense (5, 4)\nin b: f32 dense (4)\nin S: f32 csr i32 (5, 4)\n"      \
    "in w: f32 dense ()\n"

static int failed;

static void report(const char *what, const char *text, const char *got)
{
    failed++;
    printf("FAILED %s\n--- text\n%s\n--- got\n%s\n", what, text, got);
}

/* ---- running the front ---- */
static int load(Front *f, const char *text, bool verify)
{
    if (setjmp(f->escape)) return f->err.code;
    file_parse(&f->p, text);
    expr_check(&f->p);
    expr_infer(&f->p);
    if (verify && f->p.draft.nest) nest_verify(&f->p, f->p.draft.nest);
    return SC_OK;
}

/* ---- fixed points ---- */
/* What is printed parses, and prints the same. `expected` may be null. */
static void round_trip(const char *text, const char *expected, bool verify)
{
    Front *f = open_front(), *g = open_front();
    sc_text program = {0}, nest = {0}, program2 = {0}, nest2 = {0};
    if (load(f, text, verify)) {
        report("to load", text, f->err.msg);
    } else {
        prog_print(&f->p, &program);
        if (f->p.draft.nest) nest_print(&f->p, f->p.draft.nest, &nest);
        if (expected && strcmp(expected, program.s) != 0) report("expected another program", text, program.s);
        if (read_again(g, f, program.s, nest.s)) {
            report("to read what was printed", nest.s ? nest.s : program.s, g->err.msg);
        } else {
            prog_print(&g->p, &program2);
            if (strcmp(program.s, program2.s) != 0) report("fixed point", program.s, program2.s);
            if (nest.s) nest_print(&g->p, g->p.draft.nest, &nest2);
            if (nest.s && strcmp(nest.s, nest2.s) != 0) report("fixed point of the nest", nest.s, nest2.s);
        }
    }
    sc_text_free(&program);
    sc_text_free(&nest);
    sc_text_free(&program2);
    sc_text_free(&nest2);
    close_front(f);
    close_front(g);
}

static const char *const good[][2] = {
    {"in A: f32 csr (6, 5)\nin B: f32 dense (5, 4)\nij,jk->ik", "out[i,k] = A[i,j] * B[j,k]\n"},
    {"in A: f32 csr (6, 5)\nin B: f32 dense (5, 4)\n jz , Za", "out[Z,a,j,z] = A[j,z] * B[Z,a]\n"},
    {"in A: f64 dense (5, 5)\nii->i", "out[i] = A[i,i]\n"},
    {"in A: f64 dense (5, 5)\ntmp m[i] max= A[i,j]\nC[i] = m[i] * m[i]",
     "tmp m[i] max= A[i,j]\nC[i] = m[i] * m[i]\n"},
    {"in A: f64 dense (5, 5)\ntmp t[k,i] = A[k,j] * A[j,i]; C[i,k] = A[i,j] * t[j,k]",
     "C[i,k] = A[i,j] * (A[j,j_1] * A[j_1,k])\n"},
    {"in A: f64 dense (5, 5)\ntmp t[i] += A[i,j] * A[j,i]; C[i] = exp(t[i]) / 2",
     "C[i] = exp(A[i,j] * A[j,i]) / 2\n"},
    {"in A: f64 dense (5, 5)\ntmp t[i] = A[i,j] * A[j,i]; C[i] = A[i,i] / t[i]",
     "tmp t[i] = A[i,j] * A[j,i]\nC[i] = A[i,i] / t[i]\n"},
    {"in A: f64 dense (5, 5)\ntmp t[i] = A[i,i]; C[i] += exp(t[i] * A[i,j])",
     "tmp t[i] = A[i,i]\nC[i] += exp(t[i] * A[i,j])\n"},
    {"in A: f64 dense (5, 5)\ntmp[i] = A[i,j] * A[j,i]", "tmp[i] = A[i,j] * A[j,i]\n"},
    {"in A: f64 dense (5, 5)\nii", "out = A[i,i]\n"},
    {"in w: f64 dense ()\nin A: f64 dense (5, 5)\n,ij->", "out = w * A[i,j]\n"},
    {"in x: f32 dense (5)\ny[i]=- -x[i]/(2*x[i])*3-(4-x[i]-(1-2))",
     "y[i] = --x[i] / (2 * x[i]) * 3 - (4 - x[i] - (1 - 2))\n"},
    {"in x: f32 dense (5)\ny[i] = (x[i]*2)*(x[i]*0.1) + (x[i] + 1e-9) + (-(x[i] + 1) < neg(-3))",
     "y[i] = x[i] * 2 * (x[i] * 0.1) + (x[i] + 1e-09) + (-(x[i] + 1) < 3)\n"},
    {"in x: f64 coo (5)\nskip\ntmp t[i] = x[i] * x[i]; y[i] = x[i] + t[i]\nnest { par i in x { t[i] = x[i] } "
     "}",
     "tmp t[i] = x[i] * x[i]\ny[i] = x[i] + t[i]\n"},
    {"in A: f32 csr (6, 5)\nin B: f32 csr (6, 5) like A\nC[i,j] = A[i,j] + B[k,j]\ns[i] = A[i,j] * B[i,j]\n"
     "nest { par i in A { for j in A { C[i,j] = A[i,j] }\nfor j in A { s[i] += A[i,j] * B[i,j] } } }",
     "C[i,j] = A[i,j] + B[k,j]\ns[i] = A[i,j] * B[i,j]\n"},
    {"in x: f32 dense (5)\nnest { }\nm max= x[i]; y[i] = exp(x[i]-m)\n n[i] min= max(x[i],.25)",
     "m max= x[i]\ny[i] = exp(x[i] - m)\nn[i] min= max(x[i], 0.25)\n"},
    {"in x: f32 dense (5)\ny[i] = x[i]\n  + 2 >= 1 == 0\n", "y[i] = x[i] + 2 >= 1 == 0\n"},
    {"in x: f32 dense (5) # stride 1\n# a comment\nskip\nfold i\nwidth 32\ns += x[i]", "s += x[i]\n"},
    {"in x: f32 \"compressed(0, nonunique)\" i64 (5)\nin y: f32 dense (5, 3) unit 0\nnofold\nz[k] = x[i] * "
     "y[i,k]",
     NULL},
};

/* ---- errors ---- */
typedef struct {
    const char *text, *says;
    int code;
} Bad;

static void expect_error(const Bad *b, const char *before, const char *after)
{
    char text[4096];
    const char *mark = strchr(b->text, '@');
    snprintf(text, sizeof text, "%s%.*s%s%s", before, mark ? (int)(mark - b->text) : 0, b->text,
             mark ? mark + 1 : b->text, after);
    const int pos = mark ? (int)(strlen(before) + (size_t)(mark - b->text)) : -1;
    Front *f = open_front();
    if (!load(f, text, true)) {
        if (b->code) report("an error was expected", text, "none");
    } else if (f->err.code != b->code || !strstr(f->err.msg, b->says) || f->err.pos != pos) {
        char got[1400];
        snprintf(got, sizeof got, "code %d for %d, place %d for %d: %s\nfor: %s", f->err.code, b->code,
                 f->err.pos, pos, f->err.msg, b->says);
        report("another error was expected", text, got);
    }
    close_front(f);
}

static const Bad bad[] = {
    {"C[i,k] = A[i,j] * @", "got the end of the text", SC_EVALUE},
    {"C[i,k] = A[i,j] * @)", "got ')'", SC_EVALUE},
    {"C[i,k @= A[i,j]", "expected ']' or ',' after an index of C, got '='", SC_EVALUE},
    {"C[i,@3] = A[i,j]", "expected an index name, got '3'", SC_EVALUE},
    {"C[i] @A[i,j]", "expected =, +=, max= or min=, got 'A'", SC_EVALUE},
    {"C[i] max @A[i,j]", "expected '=' after max or min", SC_EVALUE},
    {"C[i] @-= A[i,j]", "got '-'", SC_EVALUE},
    {"C[i] = A[i,j] @B[j,k]", "expected an operator, ';' or the end", SC_EVALUE},
    {"C[i] = (A[i,j] + 1@", "to close a parenthesis, or an operator", SC_EVALUE},
    {"@A[i,j] = B[j,k]", "A is an operand", SC_EVALUE},
    {"C[i] = A[i,j]; @C[i] = A[i,j]", "assigned twice", SC_EVALUE},
    {"C[i] = A[i,j] @+ C[i]", "read before it is assigned", SC_EVALUE},
    {"C[i] = @D[i,j]", "unknown tensor D; the tensors here are: A, B, b, S, w", SC_EVALUE},
    {"C[i] = @sin(A[i,j])", "unknown function sin; the functions are: min max", SC_EVALUE},
    {"C[i] = exp(A[i,j], @1)", "exp takes 1 argument, got more", SC_EVALUE},
    {"C[i] = max(A[i,j]@)", "max takes 2 arguments, got 1", SC_EVALUE},
    {"C[i] = @A[i]", "A has 2 dimensions, got 1 index", SC_EVALUE},
    {"C[i] = @b", "b has 1 dimension, got 0 indices", SC_EVALUE},
    {"C[i] = A[i@/2,j]", "an index is a plain name", SC_ENOTIMPL},
    {"C[i] = A[i@+1,j]", "or ',' after an index of A", SC_EVALUE},
    {"C[i] = A[@#i,j]", "expected an index name, got '#'", SC_EVALUE},
    {"@C[i,i] = A[i,j]", "index i occurs twice on the left", SC_ENOTIMPL},
    {"@for[i] = A[i,j]", "for is a word of schedules", SC_EVALUE},
    {"C[i] = A[i,j] * @1e999", "too large for float64", SC_EVALUE},
    {"C[i] = A[i,j] @$ 2", "unexpected character", SC_EVALUE},
    {"C[i] = A[i,j] * @.", "a number needs a digit", SC_EVALUE},
    {"C[i] = A[i,@a_name_of_an_index_that_is_too_long]", "too long", SC_EVALUE},
    {"C[i] = A[i,j] @\xc3\xa9", "unexpected character", SC_EVALUE},
    {"C[i] = B[i,@1e5]", "expected an index name", SC_EVALUE},
    {"C[i,k] = A[i,j] * @B[i,k]",
     "index i is dimension 0 of A, of extent 6, and dimension 0 of B, of extent 5", SC_EVALUE},
    {"@C[i,m] = A[i,j]", "index m of C is not used on the right", SC_EVALUE},
};

/* Whole files; with SC_OK: right ones. */
static const Bad files[] = {
    {"in B: f32 dense (5, 4)\nin b: f32 dense (4)\nC[k] = B[j,k] + B[j,k] * b[k] @+ b[k]",
     "index j is not on the left and is used in several terms", SC_EVALUE},
    {"in A: f32 csr (5, 4)\nin B: f32 csr (5, 4)\nC[i,j] = A[i,j] @/ B[i,j]",
     "which is zero where it has no entry", SC_EVALUE},
    {"in A: f32 csr (5, 4)\nin b: f32 dense (5)\nC[i] = relu(A[i,j] * 2 + b[i])", "", SC_OK},
    {"in A: f32 csr (5, 4)\nin B: f32 dense (5, 4)\nC[i] = A[i,j] / (B[i,j] + 2)", "", SC_OK},
    {"in A: f32 csr (5, 4)\nin b: f32 dense (5)\nC[i] = relu(2. * A[i,j]) + b[i]", "", SC_OK},
    {"", "the expression is empty", SC_EVALUE},
    {"in A: f32 csr (3, 3)\n", "the expression is empty", SC_EVALUE},
    {"C[i] = @A[i]", "the tensors here are: none", SC_EVALUE},
    {"@ij,jk->ik", "the einsum string is for 2 operands, got 0", SC_EVALUE},
    {"in A: f32 csr (3, 3)\ni@1->i", "expected a letter", SC_EVALUE},
    {"in A: f32 csr (3, 3)\ni@...->i", "'...' is not supported", SC_ENOTIMPL},
    {"in A: f32 csr (3, 3)\nij@-i", "expected '->'", SC_EVALUE},
    {"in A: f32 csr (3, 3)\nij->@k", "index k of the result is in no operand", SC_EVALUE},
    {"in A: f32 csr (3, 3)\nij->@ii", "twice in the result", SC_ENOTIMPL},
    {"in A: f32 csr (3, 3)\nij->i@->j", "expected the end", SC_EVALUE},
    {"in A: f32 csr (3, 3)\n@ijk->i", "A has 2 dimensions, got 3 indices", SC_EVALUE},
    {"in A: @f8 csr (3, 3)\nij->i", "a type: bool i16", SC_EVALUE},
    {"in A: f32 @csv (3, 3)\nij->i", "csv", SC_EVALUE},
    {"in A: f32 @\"dense(0)\n(3, 3)\nij->i", "quotes", SC_EVALUE},
    {"in A: f32 csr (3, @x)\nij->i", "the extent of a dimension", SC_EVALUE},
    {"in A: f32 csr (3, 3) @4\nij->i", "the end of the line", SC_EVALUE},
    {"in A: f32 csr (3, 3)\nin A: f32 csr (3, 3)\nij->i", "there are two tensors A", SC_EVALUE},
    {"in A: f32 csr (3, 3)\nout @B: f32 csr\nij->i", "B is no result", SC_EVALUE},
    {"in A: f32 csr (3, 3)\nfold @q\nij->i", "an index of the program", SC_EVALUE},
    {"in A: f32 csr (3, 3)\nwidth @8\nij->i", "16, 32 or 64", SC_EVALUE},
    {"in A: f32 csr i16 (3, 3)\nij->i", "indices of type int16", SC_ETYPE},
    {"in A: f32 bsr(2,2) (3, 4)\nij->i", "no multiple of its block of 2; pad the tensor", SC_EVALUE},
    {"in A: f32 csr (3, 3)\nin B: f32 dense (3)\nC[i] = A[i,j]", "operand B is not used", SC_EVALUE},
    {"in A: f32 dense (1152921504606846976, 3)\nin B: f32 dense (1152921504606846976)\n@C[i,j,k] = A[i,j] * "
     "B[k]",
     "more than 2^60 elements", SC_EVALUE},
    {"in G: f32 dense (3, 3)\nout R: like G\n@R[i,j] = 2 * G[i,j]", "the structure of G, which is dense",
     SC_EVALUE},
    {"in A: f32 csr (3, 3)\nC[i] = A[i,j]\nnest { @q }", "unknown tensor q", SC_EVALUE},
    {"in A: f32 csr (3, 3)\nC[i] = A[i,j]\nnest { par i in A {@", "or another item of the nest, got the end",
     SC_EVALUE},
};

/* Refused without a schedule; the place is that of the sparse operand. */
static const Bad support[] = {
    {"skip\nin A: f32 csr (3, 3)\nC[i] = 1 @+ A[i,j]", "takes one reduction of the whole right side",
     SC_ENOTIMPL},
    {"skip\nin A: f32 csr (3, 3)\nin x: f32 dense (3)\nC[i] = x[i] @* relu(x[j] * A[i,j])",
     "takes one reduction of the whole", SC_ENOTIMPL},
    {"in A: f32 csr (3, 4)\nC = @A[i,i]", "dimension 1 of A, of extent 4", SC_EVALUE},
    {"in A: f32 csr (3, 4)\nC[i,k] = A[i,j] * @A[j,k]", "dimension 0 of A_1, of extent 3", SC_EVALUE},
    {"in A: f32 csr (3, 3)\nin B: f32 csr (3, 3)\nC[i,j] = A[i,j] @/ (A[i,j] * B[i,j])", "division by B",
     SC_EVALUE},
    {"in A: f32 csr (3, 3)\nin B: f32 csr (3, 3)\nC[i,j] = A[i,j] @/ max(A[i,j], B[i,j])", "division by B",
     SC_EVALUE},
    {"in A: f32 csr (3, 3)\nC[i,j] = A[i,j] @/ A[j,i]", "division by A[j,i], which", SC_EVALUE},
    {"in A: f32 csr (3, 3)\nout C: like A\n@C[i,j] = A[j,i]", "A must be read at the indices of C",
     SC_EVALUE},
    {"in A: f32 csr (3, 3)\nC[i,j] = @D[i,j] * A[i,j]; D[i,j] = A[i,j]", "unknown tensor D", SC_EVALUE},
    {"in A: f32 csr (3, 3)\nD[i] = A[i,j]; C[i,j] = A[i,j] * @D[i,j]", "D has 1 dimension, got 2", SC_EVALUE},
    {"in A: f32 csr (3, 4)\nD[i] = A[i,j]; C[j] = @D[j] * A[i,j]", "of extent 3; they", SC_EVALUE},
    {"in A: f32 csr (3, 3)\nout C: f32 bsr(2,2)\nC[i,j] = A[i,j] * 2", "do not divide", SC_EVALUE},
    {"in A: f32 csr (3, 3)\nC[i] = A[i,j]\nnest { par i in A { for j in A { C[i] += @A[j,i] } } }",
     "does not read A at these indices", SC_EVALUE},
};

/* ---- nests that are refused ---- */
#define SPMM "in A: f32 csr i32 (6, 5)\nin B: f32 dense (5, 4)\nC[i,k] = A[i,j] * B[j,k]\nnest {\n"
#define GEMM                                                                                                 \
    "in A: f32 csr i32 (6, 5)\nin B: f32 csr (5, 4)\nout C: f32 csr\nC[i,k] = A[i,j] * B[j,k]\nnest {\n"
#define BLOCKS "in A: f32 bsr(2,2) i32 (6, 4)\nin B: f32 dense (4, 4)\nC[i,k] = A[i,j] * B[j,k]\nnest {\n"

static const Bad spmm_nests[] = {
    {"for i in A { for j in A { vec k { C[i,k] += A[i,j] * B[j,k] } } }", "", SC_OK},
    {"par i in A { par j in A { vec k { C[i,k] += A[i,j] * B[j,k] } } }", "has 2 par loops", SC_EVALUE},
    {"par j { for i in A { @C[i,j] = 1 } }", "dimension 1 of C has extent 4 and index j 5", SC_EVALUE},
    {"par j in A { for i in A { vec k { C[i,k] += 1 } } }", "level 0 of A, dense over i, must come first",
     SC_EVALUE},
    {"par i { for j { vec k { C[i,k] += @A[i,j] * B[j,k] } } }",
     "stands where level 1 of A, compressed over j,", SC_EVALUE},
    {"par i in A { for j in A { vec k { C[i,k] += A[i,j] * @B[k,j] } } }", "dimension 0 of B has extent 5",
     SC_EVALUE},
    {"par i in A { for j in A { for k in B { C[i,k] += A[i,j] } } }", "B is dense; leave its name out",
     SC_EVALUE},
    {"par i in A { for j in A { @C[i,k] += A[i,j] } }", "needs index k, which no loop around it binds",
     SC_EVALUE},
    {"par i in A { for i { vec k { C[i,k] += 1 } } }",
     "binds an index that 'par i in A' around it binds already", SC_EVALUE},
    {"par i in A { for k/2 { vec k%4 { C[i,k] = 1 } } }", "needs a loop over k/4 around it", SC_EVALUE},
    {"par i in A { vec k { for j in A { C[i,k] += 1 } } }", "a vec loop is innermost", SC_EVALUE},
    {"par i in A { vec j in A { C[i,k] += 1 } }", "inside, evaluations must write entries", SC_EVALUE},
    {"par i in A { for k by 2 { C[i,k] = 1 } }", "by cuts a loop in a tensor; cut a dense one as k/2",
     SC_EVALUE},
    {"par i in A by 2 { vec k { C[i,k] = 1 } }", "by cuts the positions of a level that is not dense",
     SC_EVALUE},
    {"par i in A { for k unroll 3 { C[i,k] = 1 } }", "unrolled when its extent is that constant", SC_EVALUE},
    {"par i in A { for j merge A { vec k { C[i,k] += 1 } } }",
     "index j is merged, but the result has values where no operand is stored", SC_EVALUE},
    {"par i in A { for j in A { vec k { C[i,k] += B[j,k] } } }", "has a value where A has no entry",
     SC_EVALUE},
    {"par i { for i in A { } }", "level 1 of A, compressed over j, must come first", SC_EVALUE},
    {"par i { for j { for j in A unroll 2 { } } }", "j is known here, so the loop looks one entry up",
     SC_EVALUE},
    {"par k { for i in A batch 2 { work s: reg f32 { for j in A { s += A[i,j] * B[j,k] } } then { C[i,k] = s "
     "} } }",
     "", SC_OK},
    {"par k { for i batch 2 { work s: reg f32 { for j in A { s += A[i,j] * B[j,k] } } then { C[i,k] = s } } "
     "}",
     "it goes with 'for' or 'par' in an operand", SC_EVALUE},
    {"par i in A batch 2 { for j in A { vec k { C[i,k] += A[i,j] * B[j,k] } } }",
     "a register workspace of one number", SC_EVALUE},
    {"par i in A batch 2 { work s: reg f32 { for j { s += 1 } } then { vec k { C[i,k] = s } } }",
     "filled by one loop over the entries", SC_EVALUE},
    {"par j { par i in A batch 2 { work s: reg f32 { for j in A { s += A[i,j] } } then { C[i,j] = s } } }",
     "has 2 par loops", SC_EVALUE},
    {"par k { for j { for i in A batch 2 { work s: reg f32 { for j in A { s += A[i,j] } } then { C[i,k] += s "
     "} } } }",
     "its entries are looked up", SC_EVALUE},
    {"par k { for i in A batch 2 { work s: reg f32 { for j in A { s += A[i,j] * C[i,k] } } then { C[i,k] = s "
     "} } }",
     "through the entries only", SC_EVALUE},
    {"par k { for i in A batch 2 { work s: reg f32 { for j in A { s = A[i,j] } } then { C[i,k] = s } } }",
     "one evaluation must add", SC_EVALUE},
    {"par k { for i { for j in A { C[i,k] += A[i,j] * B[j,k] } } }", "", SC_OK},
    {"par j { for i { vec k { @C[i,k] += B[j,k] } } }", "threads of 'par j' would write the same elements",
     SC_EVALUE},
    {"work s: reg f32 { par i in A { for j in A { s += A[i,j] } } } then { C[i,k] = s }",
     "no par loop can fill it", SC_EVALUE},
    {"par i in A { work c[k]: private f32 { vec k { c[k] += 1 } } then { vec k { C[i,k] = c[k] } } }",
     "must stand at the top of the nest", SC_EVALUE},
    {"par i in A { work c[i]: reg f32 { c[i] += 1 } then { vec k { C[i,k] = c[i] } } }",
     "the extent of i is no constant", SC_EVALUE},
    {"par i in A { work c[k]: reg f32 { for k { @c[k] += 1 } } then { vec k { C[i,k] = c[k] } } }",
     "a vec or unrolled loop over k must stand inside", SC_EVALUE},
    {"par i in A { work c[k]: reg f32 { vec k { c[k] = 1 } } then { vec k { @c[k] = 2 } } }",
     "written after 'then'", SC_EVALUE},
    {"par i in A { work c[k]: reg f32 { vec k { c[k] = @c[k] } } then { vec k { C[i,k] = c[k] } } }",
     "read where it is being filled", SC_EVALUE},
    {"par i in A { work s: reg f32 { s = 1 } then { vec k { C[i,k] = s } } vec k { C[i,k] = @s } }",
     "used outside of its blocks", SC_EVALUE},
    {"par i in A { work s: reg f32 { s = 1 @s += 2 } then { vec k { C[i,k] = s } } }", "use one", SC_EVALUE},
    {"par i in A { work s: reg f32 { } then { vec k { C[i,k] = s } } }", "nothing fills workspace s",
     SC_EVALUE},
    {"par i in A { work s: reg i32 { s = 1 } then { vec k { C[i,k] = s } } }", "expected f32", SC_EVALUE},
    {"par i in A { work c[#k]: lane f32 { for k { c[#k] = 1 } } then { } }", "needs a loop over k with 'by'",
     SC_EVALUE},
    {"par i in A { work @A: lane f32 { } then { } }", "there are two tensors A", SC_EVALUE},
    {"par i in A { work s: lane bitmap f32 { s = 1 } then { } }",
     "bitmap is for lane workspaces over whole indices", SC_EVALUE},
    {"par i in A { work w[k]: lane bitmap f32 { vec k { @w[k] = 1 } } then { } }", "a vec loop cannot fill",
     SC_EVALUE},
    {"par i in A { work s: reg f32 { vec k { @s = 1 } } then { vec k { C[i,k] = s } } }",
     "one number for all of 'vec k'", SC_EVALUE},
    {"par i in A { work w[k]: lane hash f32 { for k { w[k] = 1 } } then { for k in w { @C[i,k] += w[k] } } }",
     "may run twice", SC_EVALUE},
    {"par i in A { for j in A { @A[i,j] = A[i,j] } }", "A is an operand", SC_EVALUE},
    {"par i in A { vec k { C[i,k] = @C[i,k] } }", "is read in the kernel that assigns it", SC_EVALUE},
    {"par i in A { vec k { C[i,k] = 1 } } par i in A { vec k { @C[i,k] += 1 } }", "use one", SC_EVALUE},
    {"par i in A { for j in A { } }", "result C is never assigned", SC_EVALUE},
    {"", "the nest is empty", SC_EVALUE},
    {"par @q { }", "q is no index of the expression", SC_EVALUE},
    {"par i in @Q { }", "Q is no tensor of the expression", SC_EVALUE},
    {"par i in A { work c: @heap f32 { } then { } }", "reg, lane, private or shared", SC_EVALUE},
};

static const Bad gemm_nests[] = {
    {"par i in A { for j in A { for k in B { @C[i,k] = A[i,j] * B[j,k] } } }", "is assembled in order",
     SC_EVALUE},
    {"par i { for k { @C[i,k] += 1 } }", "assembled, each entry once", SC_EVALUE},
    {"for i { par k { @C[i,k] = 1 } }", "only the loop over the first level can be par", SC_EVALUE},
    {"par i { @C[i,k] = 1 }", "index k", SC_EVALUE},
    {"par k { for i { @C[i,k] = 1 } }", "the loop over level 0 of C, dense over i, is expected", SC_EVALUE},
    {"par i { for k { C[i,k] = 1 } for k { @C[i,k] = 1 } }", "in one place", SC_EVALUE},
    {"par i in A { for j merge A, B { } }", "level 0 of B, dense over j, has every coordinate; leave B out",
     SC_EVALUE},
    {"par i in A { for j merge A, A { } }", "merges A twice", SC_EVALUE},
    {"par i in A { work w[k]: lane bitmap f32 { for j in A { for k in B { w[k] += A[i,j] * B[j,k] } } } then "
     "{ for k { "
     "C[i,k] = @w[k] } } }",
     "put it inside 'for k in w'", SC_EVALUE},
    {"par i in A { work w[k]: lane bitmap f32 { for k in w { w[k] = 1 } } then { } }",
     "inside the block after 'then'", SC_EVALUE},
};

static const Bad block_nests[] = {
    {"par i in A { for j/2 in A { } }", "level 0 of A, dense over i/2, must come first", SC_EVALUE},
    {"par i/3 { for j/2 { vec k { @C[i,k] = 1 } } }", "needs index i, which no loop", SC_EVALUE},
    {"par i/2 in A { for j/2 in A { for i%2 { vec k { C[i,k] += @A[i,j] * 2 } } } }", "needs index j",
     SC_EVALUE},
};

static void expect_errors(const Bad *b, int n, const char *before, const char *after)
{
    for (int k = 0; k < n; k++) expect_error(&b[k], before, after);
}

/* ---- hostile text ---- */
static void survive(const char *text)
{
    Front *f = open_front();
    load(f, text, true);
    close_front(f);
}

static void repeat(const char *before, const char *part, int n, const char *after)
{
    sc_text t = {0};
    sc_text_add(&t, "in x: f32 dense (4)\n%s", before);
    for (int k = 0; k < n; k++) sc_text_add(&t, "%s", part);
    sc_text_add(&t, "%s", after);
    Front *f = open_front();
    if (!load(f, t.s, true)) report("expected a limit", before, "none");
    close_front(f);
    sc_text_free(&t);
}

static void hostile(void)
{
    const char *nest = "y[i] = x[i]\nnest { ";
    repeat("y[i] = ", "(", 100000, "x[i]");
    repeat("y[i] = ", "-", 100000, "x[i]");
    repeat("y[i] = ", "relu(", 100000, "x[i]");
    repeat("y[i] = x[i]", " + x[i]", 100000, "");
    repeat("y[i] = x[i]", "*(x[i] + x[i]", 5000, "");
    repeat("y[i] = x[", "i,", 10000, "i]");
    repeat("", "y[i] = x[i]; ", 50, "");
    repeat("y = x[", "a", 100000, "]");
    repeat("y[i] = ", "9", 100000, " * x[i]");
    repeat(nest, "for i { ", 100000, "");
    repeat(nest, "y[i] = x[i] ", 100000, "}");
    repeat(nest, "work a: reg f32 {", 100000, "}");
    repeat("y[i] = x[i] + x[a1] + x[a2] + x[a3]",
           " + x[b1] + x[b2] + x[b3] + x[b4] + x[b5] + x[b6] + x[b7] + x[b8]", 1,
           " + x[c1] + x[c2] + x[c3] + x[c4] + x[c5]");
}

/* Every prefix of a file, and the file with every byte changed in turn. */
static void damage(const char *text)
{
    static const char other[] = "}{[]()*/#,;:=0x \n\"%-";
    const size_t n = strlen(text);
    char *copy = malloc(n + 1);
    if (!copy) exit(2);
    for (size_t k = 0; k < n; k++) {
        memcpy(copy, text, n + 1);
        copy[k] = other[k % (sizeof other - 1)];
        survive(copy);
        copy[k] = 0;
        survive(copy);
    }
    free(copy);
}

static const char *const names[] = {"spmm_tiled", "spgemm",        "add",     "sddmm",      "mttkrp",
                                    "bsr_dense",  "column_blocks", "experts", "row_softmax"};

static void golden_files(const char *folder)
{
    for (int k = 0; k < SC_LEN(names); k++) {
        char path[512], text[8192];
        snprintf(path, sizeof path, "%s/%s.sc", folder, names[k]);
        FILE *file = fopen(path, "rb");
        if (!file) {
            report("to open", path, "");
            continue;
        }
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        round_trip(text, NULL, true);
        damage(text);
    }
}

/* ---- the oracle ---- */
typedef struct {
    const char *text;
    int n, nhas;
    double out[16];
} Meaning;

/* Operands, of which a case declares those it uses: A, 3 x 4, is [1 0 2 0; 0 0 0 0; 0 nan 0 4] in csr; B is A
 * in csc; D, 4 x 4, has [3 0; 0 3] twice on its diagonal, in bsr(2,2); E, 3, is [5 0 6] in coo with 5 as 2 +
 * 3; X, 4 x 2, is [1 2; nan 4; 5 6; 7 8]; y, 3, is [10 20 30]; R, 3 x 2, is [0 1; 2 0; 0 0] in ell(1). */
static const char *const decls[] = {
    "A: f64 csr i32 (3, 4)",      "B: f64 csc i32 (3, 4)",
    "D: f64 bsr(2,2) i32 (4, 4)", "E: f64 \"compressed(0, nonunique)\" i32 (3)",
    "X: f64 dense (4, 2)",        "y: f64 dense (3)",
    "R: f64 ell(1) i32 (3, 2)"};

static const int32_t a_pos[] = {0, 2, 2, 4}, a_crd[] = {0, 2, 1, 3}, b_pos[] = {0, 1, 2, 3, 4},
                     b_crd[] = {0, 2, 0, 2}, d_pos[] = {0, 1, 2}, d_crd[] = {0, 1}, e_pos[] = {0, 3},
                     e_crd[] = {0, 0, 2}, r_crd[] = {1, 0, -1};
static double a_val[] = {1, 2, NAN, 4}, b_val[] = {1, NAN, 2, 4}, d_val[] = {3, 0, 0, 3, 3, 0, 0, 3},
              e_val[] = {2, 3, 6}, x_val[] = {1, 2, NAN, 4, 5, 6, 7, 8}, y_val[] = {10, 20, 30},
              r_val[] = {1, 2, 9};

static const Meaning meanings[] = {
    {"C[i,k] = A[i,j] * X[j,k]", 6, 4, {11, 14, 0, 0, NAN, NAN}},
    {"C[i,k] = D[i,j] * X[j,k]", 8, 8, {NAN, 6, NAN, 12, 15, 18, 21, 24}},
    {"C[i,j] = A[i,j] + B[i,j]", 12, 4, {2, 0, 4, 0, 0, 0, 0, 0, 0, NAN, 0, 8}},
    {"C[i,j] = A[i,j] * E[i]", 12, 4, {5, 0, 10, 0, 0, 0, 0, 0, 0, NAN, 0, 24}},
    {"C[i] = R[i,k] * X[j,k] / y[i]", 3, 2, {2, NAN, 0}},
    {"C[i] = relu(A[i,j] * 2 - y[i])", 3, 3, {0, 0, NAN}},
    {"C[i] = exp(E[i])", 3, 3, {148.4131591025766, 1, 403.4287934927351}},
    {"C[i] max= A[i,j]", 3, 2, {2, 0, NAN}},
    {"C[i] min= E[i] - y[i]", 3, 3, {-5, -20, -24}},
    {"C = E[i]", 1, 1, {11}},
    {"C[i] = E[i] < y[i]; K[i] = E[i] == 0", 3, 3, {1, 1, 1}},
    {"skip\nC[i] max= R[i,j] - 5", 3, 2, {-4, -3, -INFINITY}},
    {"skip\nm[i] max= R[i,j]; C[i,j] = exp(R[i,j] - m[i])", 6, 2, {0, 1, 1, 0, 0, 0}},
    {"skip\nC[i] = E[i] + y[i]", 3, 2, {15, 0, 36}},
    {"C[i] = D[i,i]", 4, 4, {3, 3, 3, 3}},
    {"C = D[i,i] * X[i,k]", 1, 1, {NAN}},
    {"C[i,k] = D[i,j] * D[j,k]", 16, 8, {9, 0, 0, 0, 0, 9, 0, 0, 0, 0, 9, 0, 0, 0, 0, 9}},
    {"C[i,k] = D[i,i] - D[i,k]", 16, 16, {0, 3, 3, 3, 3, 0, 3, 3, 3, 3, 0, 3, 3, 3, 3, 0}},
    {"m[i] = E[i]; C[i,j] = A[i,j] * m[i]", 12, 4, {5, 0, 10, 0, 0, 0, 0, 0, 0, NAN, 0, 24}},
    {"m[i] = E[i]; C[i,j] = m[j] - m[i]", 9, 9, {0, -5, 1, 5, 0, 6, -1, -6, 0}},
    {"C[i] = E[i] * A[i,j] * relu(A[p,j])", 3, 2, {25, 0, NAN}},
    {"C[i] = E[i] / (A[i,j] + E[i] + 1)", 3, 2, {5. / 9, 0, NAN}},
    {"C[i] min= D[i,j] - 1", 4, 4, {-1, -1, -1, -1}},
};

/* Operand k of the list, in the format that was parsed. */
static sc_tensor operand(int k, const Tensor *t)
{
    double *const val[] = {a_val, b_val, d_val, e_val, x_val, y_val, r_val};
    const int32_t *const pos[] = {a_pos, b_pos, d_pos, e_pos, NULL, NULL, NULL};
    const int32_t *const crd[] = {a_crd, b_crd, d_crd, e_crd, NULL, NULL, r_crd};
    const int level = k != 3;
    sc_tensor in = {.format = t->format, .dtype = SC_F64, .itype = SC_I32};
    in.view.val = val[k];
    in.view.level[level].pos = pos[k];
    in.view.level[level].crd = crd[k];
    in.view.stride[0] = t->ndim == 2 ? 2 : 1;
    in.view.stride[1] = 1;
    return in;
}

static void add_decls(const Meaning *m, sc_text *text)
{
    for (int k = 0; k < SC_LEN(decls); k++) {
        const char use[3] = {decls[k][0], '[', 0};
        if (strstr(m->text, use)) sc_text_add(text, "in %s\n", decls[k]);
    }
    sc_text_add(text, "nest { }\n%s", m->text);
}

static bool same(double a, double b)
{ return (isnan(a) && isnan(b)) || a == b || fabs(a - b) < 1e-12 * fabs(b); }

static void oracle_case(const Meaning *m)
{
    char got[400] = "";
    double *out[SC_MAXOP];
    uint8_t *has[SC_MAXOP];
    sc_tensor in[SC_LEN(decls)];
    sc_text text = {0};
    Front *f = open_front();
    add_decls(m, &text);
    if (load(f, text.s, false)) {
        report("to load", text.s, f->err.msg);
        sc_text_free(&text);
        close_front(f);
        return;
    }
    sc_text_free(&text);
    for (int k = 0, n = 0; k < SC_LEN(decls); k++) {
        const char name[2] = {decls[k][0], 0};
        if (prog_tensor(&f->p, name)) in[n] = operand(k, f->p.tensor[n]), n++;
    }
    for (int r = 0; r < f->p.nout; r++) {
        out[r] = calloc((size_t)sc_oracle_size(&f->p, r), sizeof(double));
        has[r] = calloc((size_t)sc_oracle_size(&f->p, r), 1);
    }
    const int c = prog_tensor(&f->p, "C")->arg - f->p.nin;
    bool ok = !sc_oracle_run(&f->p, in, out, has, &f->err) && sc_oracle_size(&f->p, c) == m->n;
    int n = 0, at = 0;
    for (int k = 0; ok && k < m->n; k++) {
        at += snprintf(got + at, sizeof got - (size_t)at, "%g%s ", out[c][k], has[c][k] ? "" : " (absent)");
        n += has[c][k];
    }
    for (int k = 0; ok && k < m->n; k++) ok = same(out[c][k], m->out[k]);
    if (!ok || n != m->nhas) report("another value was expected", m->text, got);
    for (int r = 0; r < f->p.nout; r++) {
        free(out[r]);
        free(has[r]);
    }
    close_front(f);
}

/* A tensor in the place of another that was there at the mark; the other comes back. */
static int replace_and_rewind(Front *f)
{
    Prog *p = &f->p;
    if (setjmp(f->escape)) return f->err.code;
    Tensor *first = prog_add(p, "first", T_OUT, -1);
    const Mark *empty = prog_mark(p);
    Tensor *second = prog_add(p, "second", T_WORK, -1);
    const Mark *now = prog_mark(p);
    p->ntensor = 1;
    Tensor *other = prog_add(p, "other", T_WORK, -1);
    other->ndim = 3;
    prog_rewind(p, now);
    if (p->ntensor != 2 || p->tensor[1] != second || other->ndim != 3) return SC_EINTERNAL;
    prog_rewind(p, empty);
    return p->ntensor == 1 && p->tensor[0] == first ? SC_OK : SC_EINTERNAL;
}

static void rewind_case(void)
{
    Front *f = open_front();
    if (replace_and_rewind(f)) report("a program is not what it was at a mark", "", f->err.msg);
    close_front(f);
}

int main(int argc, char **argv)
{
    rewind_case();
    for (int k = 0; k < SC_LEN(good); k++) round_trip(good[k][0], good[k][1], false);
    expect_errors(bad, SC_LEN(bad), HEAD, "");
    expect_errors(files, SC_LEN(files), "", "");
    expect_errors(support, SC_LEN(support), "", "");
    expect_errors(spmm_nests, SC_LEN(spmm_nests), SPMM, "\n}");
    expect_errors(gemm_nests, SC_LEN(gemm_nests), GEMM, "\n}");
    expect_errors(block_nests, SC_LEN(block_nests), BLOCKS, "\n}");
    golden_files(argc > 1 ? argv[1] : "tests/golden");
    hostile();
    for (int k = 0; k < SC_LEN(meanings); k++) oracle_case(&meanings[k]);
    printf(failed ? "%d failed\n" : "front: ok\n", failed);
    return failed != 0;
}

/* schedules.c: what is asked of the scheduler, for a choice of problems. A schedule that is met is printed as one that
 * chooses the same nest again, and what it computes is right. */
#include <stdlib.h>
#include <string.h>

#include "compiler/schedule/schedule.h"
#include "fuzz.h"
#include "run/run.h"
#include "run/tool.h"

static const char *const problems[] = {
    "in A: f32 csr i32 (6, 7)\nin B: f32 dense (7, 5)\nC[i,k] = A[i,j] * B[j,k]\n",
    "in A: f32 csr i32 (6, 7)\nin B: f32 csr i32 (7, 5)\nC[i,k] = A[i,j] * B[j,k]\n",
    "in A: f32 csr i32 (6, 7)\nin B: f32 dcsr i32 (6, 7)\nC[i,j] = A[i,j] + B[i,j]\n",
    "in A: f64 csc i32 (6, 6)\nC[i,k] = A[i,j] * A[k,j]\n",
    "in A: f32 csf i32 (3, 4, 5)\nin E: f32 dense (4, 6)\nin F: f32 dense (5, 6)\nC[i,k] = A[i,j,l] * E[j,k] "
    "* F[l,k]\n",
    "in A: f32 csr i32 (6, 7)\nin x: f32 dense (7)\nt[i] = A[i,j] * x[j]\nC[i] = relu(t[i]) + 1\n",
    "in A: f32 coo i32 (6, 7)\nin X: f32 dense (6, 5)\nin Y: f32 dense (7, 5)\nC[i,j] = A[i,j] * X[i,k] * "
    "Y[j,k]\n",
    "in A: f32 \"bsr(2,2)\" i32 (6, 8)\nin B: f32 dense (8, 20)\nC[i,k] = A[i,j] * B[j,k]\n",
    "in A: f32 dense (5, 6)\nin B: f32 dense (6, 7)\nin D: f32 dense (7, 3)\nC[i,l] = A[i,j] * B[j,k] * "
    "D[k,l]\n",
    "in A: f32 csr i32 (6, 7)\nskip\nm[i] max= A[i,j]\nC[i,j] = A[i,j] - m[i]\n",
    "in g: f32 csr i32 (6, 4)\nin t: f32 dense (6, 5)\nin W: f32 dense (4, 5, 16)\nC[a,n] = g[a,e] * t[a,k] "
    "* W[e,k,n]\n",
};

static char *joined(const char *problem, const char *schedule)
{
    const size_t n = strlen(problem), m = strlen(schedule);
    char *s = malloc(n + m + 11);
    if (!s) exit(2);
    memcpy(s, problem, n);
    memcpy(s + n, "schedule ", 9);
    memcpy(s + n + 9, schedule, m);
    s[n + 9 + m] = '\n';
    s[n + 10 + m] = 0;
    return s;
}

static char *stage(Prog *p, const char *name)
{
    sc_text out = {0};
    sc_err err = {0};
    sc_text_addn(&out, "", 0);
    if (sc_compile_text(p, name, &out, &err)) fuzz_die("%s", err.msg);
    return out.s;
}

/* The schedule that was chosen chooses the same nest. */
static void choose_again(Prog *p, const char *problem, int width)
{
    char *chosen = stage(p, "schedule"), *nest = stage(p, "nest");
    char *text = joined(problem, chosen);
    sc_err err = {0};
    Prog *q;
    if (sc_tool_compile(text, width, &q, &err)) fuzz_die("%s\n%s", err.msg, text);
    char *chosen2 = stage(q, "schedule"), *nest2 = stage(q, "nest");
    if (strcmp(nest, nest2) != 0) fuzz_die("%s\nchooses\n%s\nnot\n%s", text, nest2, nest);
    if (strcmp(chosen, chosen2) != 0) fuzz_die("%s\nis printed as %s", text, chosen2);
    sc_tool_free(q);
    free(chosen), free(chosen2), free(nest), free(nest2), free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bytes b = {data, size};
    const char *problem = problems[fuzz_below(&b, SC_LEN(problems))];
    const int width = 16 << fuzz_below(&b, 3);
    fuzz_lanes(1 + fuzz_below(&b, 4));
    char *schedule = fuzz_text(&b);
    for (char *s = schedule; (s = strchr(s, '\n'));) *s = ' ';
    char *text = joined(problem, schedule);
    sc_err err = {0};
    Prog *p;
    const int rc = sc_tool_compile(text, width, &p, &err);
    if (rc) {
        fuzz_refusal(rc, &err, text);
    } else {
        if (p->wishes) choose_again(p, problem, width); /* "schedule = .." assigns to a scalar of this name */
        if (p->wishes && sc_trial(p, false, width, 1, &err)) fuzz_die("%s\n%s", err.msg, text);
        sc_tool_free(p);
    }
    free(text);
    free(schedule);
    return 0;
}

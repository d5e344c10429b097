/* test_alike.c: requests that say the same in other names get the same ones. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "compiler/path/path.h"

static void expect(const char *text, const char *operands, const char *want)
{
    sc_request rq = {.text = text};
    sc_text out = {0};
    for (int at = 0, n; sscanf(operands + at, "%31s%n", rq.in[rq.nin].name, &n) == 1; at += n) rq.nin++;
    path_common(&rq, &out);
    CHECK(rq.text == out.s);
    if (strcmp(out.s, want) != 0) printf("%s\nbecame\n%s\n", text, out.s), failures++;
    sc_text_free(&out);
}

static void test_names(void)
{
    static const char chain[] = "out[i,j] += A[i,k] * B[k,j]";
    expect("t1[g,z] += A_1_5[g,h] * X[h,z]", "A_1_5 X", chain);
    expect("exp[a,i] += i[a,z] * A[z,i]", "i A", chain);
    expect("out[j,i] += B[j,k] * A[k,i]", "B A", chain);
    expect("out[j,i] += A[k,i] * B[j,k]", "B A", "out[i,j] += B[k,j] * A[i,k]");
}

static void test_what_stays(void)
{
    expect("y[b] = exp(x[b]) * 1e-05 + .5e3 * max(e, -2) - inf", "x e",
           "out[i] = exp(A[i]) * 1e-05 + .5e3 * max(B, -2) - inf");
    expect("s max= exp[a/4,b%4] * exp(exp[a%4,b/4])", "exp", "out max= A[i/4,j%4] * exp(A[i%4,j/4])");
    expect("t[#q,r] = stored(A[r]) * (A[r] >= 2 == 0)", "A", "out[#i,j] = stored(A[j]) * (A[j] >= 2 == 0)");
}

static void test_results(void)
{
    expect("m[i] max= x[i,j]; y[i,j] = exp(x[i,j] - m[i]); s = y[i,j]", "x",
           "out[i] max= A[i,j]; out_1[i,j] = exp(A[i,j] - out[i]); out_2 = out_1[i,j]");
}

static void test_many(void)
{
    sc_request rq = {.nin = SC_MAXOP, .text = "y = x25 + x26 + x31"};
    sc_text out = {0};
    for (int k = 0; k < SC_MAXOP; k++) snprintf(rq.in[k].name, sizeof rq.in[k].name, "x%d", k);
    path_common(&rq, &out);
    CHECK(!strcmp(out.s, "out = Z + A26 + A31"));
    CHECK(!strcmp(rq.in[0].name, "A") && !strcmp(rq.in[25].name, "Z") && !strcmp(rq.in[31].name, "A31"));
    sc_text_free(&out);
}

int main(void)
{
    test_names();
    test_what_stays();
    test_results();
    test_many();
    return failures != 0;
}

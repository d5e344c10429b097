/* test_dots.c: which products of bf16 become one. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "module.h"

#define TERMS(between, end)                                                                                  \
    "buf A: bf16 = val 0\nbuf x: bf16 = val 1\nbuf y: f32 mut = val 2\npar n: i64 = dim 0\nentry body {\n"   \
    "mut c: f32x16 = f32x16(0.0)\nmut d: f32x16 = f32x16(0.0)\nfor p = 0, n, 2 {\n"                          \
    "let i: i64 = p * 16\nlet j: i64 = p * 32\nc = c + f32x16(f32(A[p])) * f32x16(x[i; 16])\n" between       \
    "d = d + f32x16(f32(A[p + 1])) * f32x16(x[j; 16])\n}\n" end "\n}\n"

int main(void)
{
    static const struct {
        const char *text;
        int ndot;
    } all[] = {
        {TERMS("", "c = c + d\ny[0; 16] = c"), 1},
        {TERMS("", "y[0; 16] = c\ny[16; 16] = d"), 0},            /* two results */
        {TERMS("", "c = c + d\ny[0; 16] = c\ny[16; 16] = d"), 0}, /* and one that has the other in it */
        {TERMS("y[p; 16] = c\n", "c = c + d\ny[0; 16] = c"), 0},  /* stored as it stands there */
        {TERMS("let e: f32x16 = c\ny[p; 16] = e\n", "c = c + d\ny[0; 16] = c"), 0},
        {TERMS("d = d + c\n", "c = c + d\ny[0; 16] = c"), 0},
    };
    for (int k = 0; k < SC_LEN(all); k++) {
        open_module();
        Module *m = module_from(all[k].text);
        stmt_dots(&front.p, m);
        stmt_verify(&front.p, m);
        sc_text got = {0};
        stmt_print(&front.p, m, &got);
        int n = 0;
        for (const char *at = got.s; (at = strstr(at, "dot(")); at++) n++;
        if (n != all[k].ndot) printf("%s\n%s", all[k].text, got.s);
        CHECK(n == all[k].ndot);
        sc_text_free(&got);
        close_module();
    }
    return failures > 0;
}

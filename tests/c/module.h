/* module.h: modules that tests write by hand, in S text, one at a time. */
#ifndef TEST_MODULE_H
#define TEST_MODULE_H

#include <stdio.h>

#include "compiler/stmt/stmt.h"
#include "front.h"

static Front front;

static void open_module(void)
{
    start_front(&front);
    front.p.vector_bytes = 32;
}

static void close_module(void) { sc_arena_free(&front.p.arena); }

/* As the passes behind lowering leave it; the test ends where they refuse it. */
static Module *module_from(const char *text)
{
    if (setjmp(front.escape)) {
        printf("%s\n%s\n", front.err.msg, text);
        exit(1);
    }
    Module *m = stmt_parse(&front.p, text);
    stmt_verify(&front.p, m);
    stmt_simplify(&front.p, m);
    stmt_name(&front.p, m);
    stmt_verify(&front.p, m);
    return m;
}
/* A body: sums of equal coordinates, by every network and without one, and some lanes of a store. */
#define SUMS_OF_EQUAL                                                                                        \
    "entry body {\n for t = 0, 40 {\n  let n_t: i64 = 1 + (t * t * 37) % 256\n  mut m: i64 = n_t\n"          \
    "  mut k: i64 = n_t\n  mut o: i64 = n_t\n  mut most: i64 = 0\n  for i = 0, n_t {\n   f[i] = f[i + "      \
    "1000] "                                                                                                 \
    "* f32(t)\n"                                                                                             \
    "   w[i] = i32(i * (2 * t + 1) % (1 + n_t / (t % 19 + 1)) * 4001)\n   w[300 + i] = w[i]\n"               \
    "   d[i] = d[1000 + i]\n   l[i] = l[1000 + i] & 7\n  }\n  for i = 0, n_t {\n   mut same: i64 = 0\n"      \
    "   for j = 0, n_t {\n    same = same + i64(w[j] == w[i])\n   }\n   most = max(most, same)\n  }\n"       \
    "  unite w, f, m, most\n  for i = 0, m, 16 {\n   let bits: i64 = (1 << min(m - i, 16)) - 1\n"            \
    "   put w[2000 + t * 40 + i; 16], bits = w[i; 16]\n   put f[2000 + t * 40 + i; 16], bits = f[i; 16]\n  " \
    "}\n"                                                                                                    \
    "  for i = 0, n_t {\n   w[i] = w[300 + i]\n  }\n  unite w, d, k, most\n  put d[3000 + t; 4], t = d[t; "  \
    "4]\n"                                                                                                   \
    "  for i = 0, n_t {\n   w[i] = w[300 + i]\n  }\n  unite w, l, o, most\n  l[3000 + t] = o - m + k - m\n"  \
    "  for i = m, 272 {\n   w[i] = i32(0)\n   f[i] = f32(0)\n   d[i] = 0.0\n   l[i] = 0\n  }\n }\n}\n"

#endif

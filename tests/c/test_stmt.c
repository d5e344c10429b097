/* test_stmt.c: statements as text, as C and as the executor runs them.
 *
 * Modules are written by hand in S text. Printing and parsing must be each
 * other's inverse; the verifier must name the fault; the compiled C text and
 * the executor must leave the same bytes in the same arrays (compiled without
 * contraction, NaN equal to NaN); the element-wise functions must stay within
 * their stated errors. Parts that need a compiler are skipped without one.
 * Returns 0, 77 when parts were skipped, or 1. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/emit/emit.h"
#include "module.h"
#include "run/exec.h"

#define CHECK(c)                                                                                             \
    do {                                                                                                     \
        if (!(c)) {                                                                                          \
            printf("  line %d: %s\n", __LINE__, #c);                                                         \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/* ---- modules ---- */
static char *printed(const Module *m)
{
    sc_text out = {0};
    stmt_print(&front.p, m, &out);
    CHECK(!out.failed);
    return out.s;
}

/* What every module may use: 20 rows of a CSR matrix and an array of each type. */
#define ARRAYS                                                                                               \
    "par n: i64 = dim 0\npar lo: i64 = begin\npar hi: i64 = end\n"                                           \
    "buf A_pos: i32 = pos 0 1\nbuf A_crd: i32 = crd 0 1\nbuf A_val: f32 = val 0\nbuf B_val: f32 = val 1\n"   \
    "buf f: f32 mut = val 2\nbuf d: f64 mut = val 3\nbuf l: i64 mut = val 4\nbuf w: i32 mut = val 5\n"       \
    "buf s: i16 mut = val 6\nbuf b: bool mut = val 7\nbuf tmp: f32 mut = scratch 64\n"                       \
    "buf all: f64 mut = shared 2\nbuf cnt: i64 mut = cursors 0\n"

static const char *const good[] = {
    /* SpMM with register vectors, a tail and a comment */
    ARRAYS "entry body {\n for i = lo, hi {\n  # row i of C = A B\n  mut c0: f32x8 = f32x8(0.0)\n  mut c1: "
           "f32x4 = f32x4(0)\n"
           "  for p = i64(A_pos[i]), i64(A_pos[i + 1]) {\n   let j: i64 = i64(A_crd[p])\n"
           "   let a: f32 = A_val[p]\n   c0 = c0 + f32x8(a) * B_val[j * 12; 8]\n   c1 = c1 + f32x4(a) * "
           "B_val[j * 12 + 8; 4]\n  }\n"
           "  f[i * 12; 8] = c0\n  f[i * 12 + 8; 4] = c1\n }\n}\n",
    /* strided loads and stores, every lane reduction, splats of run-time numbers */
    ARRAYS "entry body {\n for i = 0, 64, 8 {\n  let x: f32x8 = f[i; 8 : 3]\n  let y: f64x4 = d[i; 4 : n]\n"
           "  f[1000 + i; 8 : 2] = max(x, f32x8(f32(d[i]))) - min(x, f32x8(0.25))\n"
           "  d[1000 + i; 4 : 5] = y * f64x4(d[i])\n  f[2000 + i] = hadd(x) + hmax(x) * hmin(x)\n"
           "  l[2500 + i] = search(A_crd, i, i + 40, i + 1)\n  l[2600 + i] = pair(A_crd, i) >> 32\n"
           "  f[2600 + i; 8] = pick(B_val[i; 8], A_crd[i])\n  d[2600 + i; 4] = pick(d[i; 4 : n], A_crd[i])\n"
           "  s[2600 + i; 2] = pick(s[i; 2 : 3], A_crd[i])\n  b[2600 + i; 8] = pick(b[i; 8], A_crd[i])\n  "
           "d[2000 + i] = hadd(y)\n  l[i] = hadd(l[i; 8])\n "
           " s[i] = hmax(s[i; 16])\n  w[i] = hmin(w[i; "
           "2])\n }\n}\n",
    /* comparisons of all widths, kept as values, loaded and stored */
    ARRAYS
    "entry body {\n for i = 0, 256, 8 {\n  let m: boolx8 = (f[i; 8] < f32x8(0.5)) & (w[i; 8] != i32x8(3))\n"
    "  let q: boolx8 = m | b[i; 8] | (s[i; 8] >= s[i + 8; 8])\n  mut t: boolx8 = l[i; 8] <= l[i + 1; 8]\n  t "
    "= t & q\n"
    "  b[1000 + i; 8] = t\n  f[1000 + i; 8] = select(q, f[i; 8], f32x8(2.0))\n  w[1000 + i; 8] = i32x8(m)\n"
    "  f[2000 + i; 8] = f32x8(q)\n  s[1000 + i; 8] = select(t, s[i; 8], -s[i; 8])\n"
    "  b[2000 + i; 8] = select(m, q, t) == boolx8(n > 3)\n  l[1000 + i; 4] = i64x4(b[i; 4])\n"
    "  d[1000 + i; 4] = select(b[i; 4], d[i; 4], f64x4(1.5))\n  b[3000 + i; 8 : 2] = b[i; 8 : 3] != "
    "boolx8(1)\n"
    "  f[3500 + i; 8] = select(first(i & 15; 8), f[i; 8], f32x8(0.0))\n"
    "  s[1500 + i; 8] = select(first(i; 8), s[i; 8], i16x8(5))\n"
    "  let e: f32x8 = even(f[i; 8], f[i + 8; 8]) - odd(f[i; 8], f[i + 8; 8])\n  f[3600 + i; 8] = e\n"
    "  l[3000 + i; 4] = odd(l[i; 4], i64x4(7))\n  w[3000 + i] = lane(w[i; 8]; 5)\n"
    "  f[3700 + i] = lane(e; 0) + lane(e; 7)\n"
    "  l[2000 + i; 8] = select(first(i % 11; 8) & m, l[i; 8], i64x8(n))\n  b[3600 + i; 8] = first(i >> 3; "
    "8)\n"
    "  b[900] = (b[i] == (d[i] < 0.75)) | (b[i + 1] & (l[i] > 4))\n  f[3000 + i] = f32(b[i]) + f32(i64(b[i + "
    "1]))\n }\n}\n",
    /* bitmap: set and walk bits; while, if, else */
    ARRAYS "entry body {\n mut k: i64 = 0\n for i = 0, 128 {\n  let at: i64 = l[i] & 1023\n"
           "  l[1024 + (at >> 6)] = l[1024 + (at >> 6)] | 1 << (at & 63)\n }\n for v = 0, 16 {\n  mut word: "
           "i64 = l[1024 + v]\n"
           "  while word != 0 {\n   let i: i64 = v * 64 + ctz(word)\n   word = word & word - 1\n   l[2000 + "
           "k] = i\n   k = k + 1\n"
           "   if i % 3 == 0 {\n    w[1000 + k] = i32(i)\n   } else {\n    if i / 5 > 7 {\n     w[1000 + k] "
           "= -i32(i) % i32(7)\n    }\n   }\n  }\n }\n"
           " l[3000] = k\n if k == 0 {\n  return 3\n }\n}\n",
    ARRAYS SUMS_OF_EQUAL,
    /* conversions, narrow integers, unary operators, special numbers */
    ARRAYS
    "entry body {\n for i = 0, 256, 4 {\n  let h: i16 = s[i] * s[i + 1] + i16(7)\n  s[1000 + i] = h\n"
    "  let g: i16 = s[i + 2] - h\n  w[1000 + i] = i32(g < h)\n  s[1001 + i] = -g / i16(3)\n  f[1000 + i; 4] "
    "= f32x4(d[i; 4])\n"
    "  d[1000 + i; 4] = f64x4(f[i; 4])\n  f[1500 + i; 4] = f32x4(l[i; 4])\n  d[1500 + i; 4] = f64x4(w[i; "
    "4])\n"
    "  l[1500 + i; 4] = i64x4(s[i; 4])\n  f[2000 + i; 4] = relu(f[i; 4])\n  f[2500 + i] = relu(f[i]) - "
    "abs(f[i + 1])\n"
    "  d[2000 + i; 4] = abs(d[i; 4]) + sqrt(d[i; 4])\n  f[3000 + i; 4] = sqrt(f[i; 4])\n  f[3500 + i] = "
    "sqrt(f[i])\n"
    "  w[2000 + i; 4] = abs(w[i; 4]) << i32x4(2)\n  w[3000 + i] = max(w[i], w[i + 1]) >> i32(2)\n  s[2000 + "
    "i; 4] = relu(s[i; 4])\n"
    "  d[3000 + i] = max(d[i], d[i + 1]) + min(d[i + 2], inf)\n  f[3999] = f32(nan)\n  f[3998] = f32(-inf)\n"
    "  f[3990; 4] = f32x4(-0.0)\n  l[4000] = -9223372036854775808\n  w[4000] = i32(-2147483648)\n  d[3999] = "
    "1e-300\n }\n}\n",
    /* scratch, shared memory, cursors; an end that changes inside the loop; two entries */
    ARRAYS "entry count {\n mut e: i64 = 10\n for i = 0, e {\n  e = e - 1\n  tmp[i] = f[i] * f32(0.5)\n  "
           "all[i] = d[i] * d[0]\n  cnt[i & 7] = i + e\n }\n}\n"
           "entry fill {\n for i = 0, 10 {\n  f[500 + i] = tmp[i]\n  d[500 + i] = all[i]\n  l[500 + i] = "
           "cnt[i & 7] * hi\n }\n return 0\n}\n",
};

static void round_trip(const char *text)
{
    open_module();
    if (setjmp(front.escape)) {
        printf("%s\n%s\n", front.err.msg, text);
        exit(1);
    }
    char *a = printed(stmt_parse(&front.p, text)), *b = printed(stmt_parse(&front.p, a));
    CHECK(!strcmp(a, b));
    char *c = printed(module_from(b)), *d = printed(module_from(c));
    CHECK(!strcmp(c, d));
    free(a), free(b), free(c), free(d);
    close_module();
}

static void test_round_trip(void)
{
    for (int k = 0; k < SC_LEN(good); k++) round_trip(good[k]);
}

/* A body, and what its entry looks like after it was read and simplified. */
static void becomes(const char *body, const char *want)
{
    char text[2000];
    snprintf(text, sizeof text, ARRAYS "entry body {\n%s\n}\n", body);
    open_module();
    char *got = printed(module_from(text)), *entry = strstr(got, "entry body ");
    CHECK(entry);
    if (strncmp(entry + 11, want, strlen(want)) != 0) {
        printf("  %s\n  expected %s\n  got %s\n", body, want, entry);
        exit(1);
    }
    free(got);
    close_module();
}

static void test_folding(void)
{
    static const char *const pair[][2] = {
        {"l[0] = n + 3 - 5 + n * 2 * 8", "l[0] = n + n * 16 - 2"},
        {"l[0] = (n + 4) - (n + 1)", "l[0] = 3"},
        {"l[0] = 2 + n * 0", "l[0] = 2"},
        {"l[0] = n * 1 + (7 / 2) % 2", "l[0] = n + 1"},
        {"d[0] = d[0] + 0.0", "d[0] = d[0] + 0.0"},
        {"d[0] = d[0] + -0.0", "d[0] = d[0]"},
        {"d[0] = d[0] * 0.0 - 0.0", "d[0] = d[0] * 0.0"},
        {"d[0] = 1.0 * d[0] / 1.0", "d[0] = d[0]"},
        {"f[0] = f32(0.1) + f32(0.2)", "f[0] = f32(0.3)"},
        {"f[0] = f32(16777216) + f32(1)", "f[0] = f32(16777216.0)"},
        {"f[0; 4] = f32x4(f32(l[0]))", "f[0; 4] = f32x4(f32(l[0]))"},
        {"f[0; 4] = f32x4(l[0])", "f[0; 4] = f32x4(f32(l[0]))"},
        {"s[0] = i16(40000)", "s[0] = i16(-25536)"},
        {"l[0] = select(1 < 2, n, 5)", "l[0] = n"},
        {"l[0] = n - (n - 1) * (2 + n)", "l[0] = n - (n - 1) * (n + 2)"},
        {"l[0] = (n & 7) + (n << 2)", "l[0] = (n & 7) + (n << 2)"},
        {"b[0] = bool(l[0])", "b[0] = l[0] != 0"},
        {"d[0] = exp(0.0) + exp(1.0)", "d[0] = 1.0 + exp(1.0)"},
        {"l[0; 4 : 1] = l[n; 4 : 2]", "l[0; 4] = l[n; 4 : 2]"},
    };
    for (int k = 0; k < SC_LEN(pair); k++) {
        char want[200];
        snprintf(want, sizeof want, "{\n    %s\n}\n", pair[k][1]);
        becomes(pair[k][0], want);
    }
}

static void test_simplify(void)
{
    static const char *const pair[][2] = {
        {"let x: f32 = f[0]\nlet y: f32 = x * x\nl[0] = n", "{\n    l[0] = n\n}"},
        {"mut x: i64 = 0\nfor i = 0, n {\nx = x + i\n}", "{\n}"},
        {"for i = 3, 3 {\nl[i] = 1\n}\nif n > 2 {\n# nothing\n}", "{\n}"},
        {"if 1 < 2 {\nl[0] = 1\n} else {\nl[0] = 2\n}\nl[1] = 3", "{\n    l[0] = 1\n    l[1] = 3\n}"},
        {"if 1 > 2 {\nl[0] = 1\n}\nl[1] = 3", "{\n    l[1] = 3\n}"},
        {"l[0] = 1\n# of what goes\nfor i = 0, n {\nlet x: i64 = i\n}", "{\n    l[0] = 1\n}"},
    };
    for (int k = 0; k < SC_LEN(pair); k++) becomes(pair[k][0], pair[k][1]);
}

/* ---- what must be refused ---- */
static const char *const bad[][2] = {
    {"let x: f32 = l[0]", "x needs f32, got i64"},
    {"let x: f32 = f32(1) + 2.0", "'+' needs two values of one type, got f32 and f64"},
    {"f[0.5] = f32(1)", "an address needs i64, got f64"},
    {"f[i32(n)] = f32(1)", "an address needs i64, got i32"},
    {"A_val[0] = f32(1)", "A_val is written but not declared mut"},
    {"let x: i64 = 1\nx = 2", "x is assigned again but not declared mut"},
    {"f[0; 3] = f32x3(1)", "3 lanes: expected a power of two"},
    {"f[0; 4] = f32(1)", "as many lanes"},
    {"f[0] = d[0]", "f needs f32, got f64"},
    {"f[0; 4 : 2.0] = f32x4(1)", "a stride needs i64, got f64"},
    {"for i = 0, 4, 0 {\nl[i] = 1\n}", "expected a positive step"},
    {"for i = 0, 4.0 {\nl[0] = i\n}", "the end of a loop needs i64, got f64"},
    {"if n {\nl[0] = 1\n}", "a condition needs bool, got i64"},
    {"if n > 1 {\nlet x: i64 = n\n}\nl[0] = x", "'x' is not declared here"},
    {"let n: i64 = 1", "'n' is declared already"},
    {"let f32x8: i64 = 1", "the name of a type"},
    {"f[0; 8] = f32x8(f[0; 4])", "no conversion from f32x4 to f32x8"},
    {"f[0] = hadd(f[0; 4]) + nosuch(f[0])", "'nosuch' is not a function"},
    {"l[0] = search(nosuch, 0, n, n)", "'nosuch' is not a buffer"},
    {"l[0] = pair(l, n)", "a pair of l, which is no i32 index array"},
    {"l[0] = pair(w, 2.0)", "an address needs i64, got f64"},
    {"f[0; 4] = pick(f[0; 4], d[0])", "what picks from f is a part of an index array"},
    {"f[0; 4] = pick(f[0; 4], w[0; 4])", "pick takes as many coordinates as it has lanes"},
    {"f[0] = pick(f[0], w[0])", "a pick of one lane: load it"},
    {"f[0; 4] = pick(d[0; 4], w[0])", "f needs f32x4, got f64x4"},
    {"unite w, f, n, n", "unite takes two buffers, a variable and a number"},
    {"mut m: i64 = 3\nunite l, f, m, n", "unite takes coordinates of i32 that are mut, got l"},
    {"mut m: i64 = 3\nunite w, s, m, n", "unite takes values of 32 or 64 bits that are mut, got s"},
    {"let m: i64 = 3\nunite w, f, m, n", "m is assigned again but not declared mut"},
    {"put f[0; 4], 2.0 = f32x4(1)", "the bits of lanes needs i64, got f64"},
    {"put A_val[0; 4], n = f32x4(1)", "A_val is written but not declared mut"},
    {"put s[0; 4], n = i16x4(1)", "put of i16x4: expected lanes of 32 or 64 bits"},
    {"b[0; 4] = first(2.0; 4)", "a count of lanes needs i64, got f64"},
    {"b[0] = first(n; 1)", "the first lanes of one"},
    {"f[0] = lane(f[0; 8]; 8)", "lane 8 of f32x8"},
    {"f[0] = lane(f[0]; 0)", "lane 0 of f32"},
    {"f[0] = even(f[0], f[1])", "'even' does not apply to f32"},
    {"f[0; 8] = odd(f[0; 8], w[0; 8])", "odd"},
    {"b[0; 4] = first(n, 4)", "expected ';'"},
    {"l[0] = sqrt(l[0])", "'sqrt' does not apply to i64"},
    {"d[0] = d[0] % d[1]", "'%' does not apply to f64"},
    {"f[0; 4] = select(f[0] > f[1], f[0; 4], f[4; 4])", "select needs boolx4, got bool"},
    {"return 1\nl[0] = 1", "a statement after return"},
    {"l[0] = 9223372036854775808", "does not fit i64"},
    {"l[0] = zzz", "'zzz' is not declared here"},
    {"l[0 = 1", "expected ']'"},
};

static bool refused(const char *text, const char *want)
{
    volatile bool ok = false;
    open_module();
    if (setjmp(front.escape) == 0)
        stmt_verify(&front.p, stmt_parse(&front.p, text));
    else
        ok = strstr(front.err.msg, want) != NULL;
    if (!ok) printf("  expected \"%s\", got \"%s\"\n", want, front.err.msg);
    close_module();
    return ok;
}

static void test_refused(void)
{
    char text[2000], deep[8000] = ARRAYS "entry body {\nl[0] = ";
    for (int k = 0; k < SC_LEN(bad); k++) {
        snprintf(text, sizeof text, ARRAYS "entry body {\n%s\n}\n", bad[k][0]);
        CHECK(refused(text, bad[k][1]));
    }
    for (int k = 0; k < 500; k++) strcat(deep, "n * (");
    CHECK(refused(deep, "nested too deeply"));
    CHECK(refused("buf x: f32 = pos 0 1\n", "index arrays are i32 or i64"));
    CHECK(refused("par x: i64 = cursor 9\n", "no such dimension, level or cursor"));
    CHECK(refused("par x: f64 = dim 0\n", "expected 'i64' as the type of a parameter, got 'f64'"));
}

/* Trees that no text can spell. */
static void test_refused_trees(void)
{
    open_module();
    Module *m = module_from(
        ARRAYS "entry body {\n mut x: i64 = 0\n for i = 0, n {\n  x = x + i\n  l[i] = x\n }\n}\n");
    Stmt *let = m->entry[0].body, *loop = let->next;
    for (int k = 0; k < 3; k++) {
        memset(&front.err, 0, sizeof front.err);
        if (setjmp(front.escape) == 0) {
            if (k == 0) m->entry[0].body = loop;
            if (k == 1) m->entry[0].body = let, loop->body->next->next = let;
            if (k == 2) loop->body->next->next = NULL, loop->local->type.dtype = SC_I32;
            stmt_verify(&front.p, m);
        }
        static const char *const want[] = {"x is", "x is declared again", "a counter needs i64, got i32"};
        if (!strstr(front.err.msg, want[k])) printf("  %s\n", front.err.msg);
        CHECK(strstr(front.err.msg, want[k]));
    }
    close_module();
}

/* ---- compiling ---- */
static char dir[64];
static bool have_cc;

#if defined(__x86_64__)
#define NATIVE "-march=native"
#else
#define NATIVE                                                                                               \
    "" /* vectors are of 16 bytes, and compilers for another machine than theirs know no native one */
#endif

static const sc_object *compiled(const char *c, const char *flags)
{
    static int count;
    char path[128], cmd[600];
    snprintf(path, sizeof path, "%s/%d.c", dir, ++count);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(c, f) >= 0 && fclose(f) == 0);
    snprintf(cmd, sizeof cmd,
             "cc -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-psabi -fPIC -shared -ffreestanding -nostdlib "
             "-fno-math-errno -fno-trapping-math -fwrapv " NATIVE " %s -o %s/%d.so %s",
             flags, dir, count, path);
    if (system(cmd) != 0) {
        printf("%s\n", c);
        exit(1);
    }
    snprintf(path, sizeof path, "%s/%d.so", dir, count);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) printf("  %s\n", dlerror());
    CHECK(lib);
    const sc_object *o = dlsym(lib, "sc_kernels");
    CHECK(o && o->abi == SC_ABI && o->size == sizeof *o && !strcmp(o->key, ""));
    return o;
}

static const sc_object *compile_module(const Module *m, const char *flags)
{
    sc_text c = {0}, again = {0};
    emit_module(&front.p, m, &c);
    emit_module(&front.p, m, &again);
    CHECK(!c.failed && !again.failed && !strcmp(c.s, again.s));
    const sc_object *o = compiled(c.s, flags);
    sc_text_free(&c);
    sc_text_free(&again);
    return o;
}

/* ---- arrays that a module runs on ---- */
enum { N = 4096 + 64, ROWS = 20 };
static const sc_dtype types[8] = {SC_F32, SC_F32, SC_F32, SC_F64, SC_I64, SC_I32, SC_I16, SC_BOOL};
typedef struct {
    sc_view view[8];
    int64_t cursor[8];
    double shared[256], scratch[256];
    int32_t pos[ROWS + 1], crd[200];
} World;

static uint64_t seed;
static uint64_t draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 20;
}

static void fill(sc_dtype t, void *p, bool odd)
{
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, 0.5, -3};
    for (int k = 0; k < N; k++) {
        double x = (double)((int64_t)(draw() % 4001) - 2000) / 256;
        if (odd && draw() % 8 == 0) x = special[draw() % 8];
        if (t == SC_F32)
            ((float *)p)[k] = (float)x;
        else if (t == SC_F64)
            ((double *)p)[k] = x;
        else if (t == SC_I64)
            ((int64_t *)p)[k] = (int64_t)(draw() % 20000) - 9999;
        else if (t == SC_I32)
            ((int32_t *)p)[k] = (int32_t)(draw() % 16) - 5;
        else if (t == SC_I16)
            ((int16_t *)p)[k] = (int16_t)draw();
        else
            ((int8_t *)p)[k] = (int8_t)(draw() % 2);
    }
}

static World *world_new(void)
{
    World *w = calloc(1, sizeof *w);
    CHECK(w);
    seed = 12345;
    for (int k = 0; k < 8; k++) {
        w->view[k].val = malloc(N * sc_dtype_size(types[k]));
        CHECK(w->view[k].val);
        fill(types[k], w->view[k].val, k > 1);
    }
    for (int i = 0; i < ROWS; i++) w->pos[i + 1] = w->pos[i] + (int32_t)(draw() % 9);
    for (int k = 0; k < 200; k++) w->crd[k] = (int32_t)(draw() % 300);
    w->view[0].level[1].pos = w->pos;
    w->view[0].level[1].crd = w->crd;
    return w;
}

static void world_free(World *w)
{
    for (int k = 0; k < 8; k++) free(w->view[k].val);
    free(w);
}

static int world_run(World *w, sc_kernel *const *kernel, int n, const void *self)
{
    static const int64_t dim[] = {7};
    sc_call call = {SC_ABI, sizeof call, w->view, dim, self, {NULL, NULL, w->shared}, {1, 1, 1}};
    sc_lane lane = {.n = 1, .scratch = w->scratch, .partial = w->scratch};
    int code = 0;
    for (int k = 0; k < n; k++) code |= kernel[k](&call, &lane, 0, ROWS);
    memcpy(w->cursor, lane.cursor, sizeof w->cursor);
    return code;
}

/* First element that differs, or -1. */
static int differs(sc_dtype t, const void *x, const void *y)
{
    size_t size = sc_dtype_size(t);
    for (int k = 0; k < N; k++) {
        if (!memcmp((const char *)x + (size_t)k * size, (const char *)y + (size_t)k * size, size)) continue;
        double a = t == SC_F32 ? (double)((const float *)x)[k] : t == SC_F64 ? ((const double *)x)[k] : 0;
        double b = t == SC_F32 ? (double)((const float *)y)[k] : t == SC_F64 ? ((const double *)y)[k] : 0;
        if (!(a != a && b != b)) return k;
    }
    return -1;
}

static void test_run(void)
{
    for (int k = 0; k < SC_LEN(good); k++) {
        open_module();
        Module *m = module_from(good[k]);
        World *a = world_new(), *b = world_new();
        int code = world_run(a, sc_exec_kernels, m->nentry, m);
        if (have_cc) {
            CHECK(world_run(b, compile_module(m, "-ffp-contract=off")->entry, m->nentry, NULL) == code);
            for (int v = 0; v < 8; v++) {
                int at = differs(types[v], a->view[v].val, b->view[v].val);
                if (at >= 0) printf("  module %d: %s[%d]\n", k, sc_dtype_name(types[v]), at);
                CHECK(at < 0);
            }
            CHECK(!memcmp(a->cursor, b->cursor, sizeof a->cursor));
        }
        world_free(a);
        world_free(b);
        close_module();
    }
}

/* The executor against plain C, where there is no compiler to compare with. */
static void test_spmm(void)
{
    open_module();
    Module *m = module_from(good[0]);
    World *w = world_new();
    CHECK(world_run(w, sc_exec_kernels, 1, m) == 0);
    const float *a = w->view[0].val, *b = w->view[1].val, *c = w->view[2].val;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < 12; k++) {
            volatile float sum = 0;
            for (int p = w->pos[i]; p < w->pos[i + 1]; p++) {
                volatile float term = a[p] * b[w->crd[p] * 12 + k];
                sum = sum + term;
            }
            CHECK(sum == c[i * 12 + k]);
        }
    world_free(w);
    close_module();
}

/* A frame that does not fit the stack, and memory that runs out. */
static void test_large_frame(void)
{
    sc_text text = {0};
    sc_text_add(&text, ARRAYS "entry body {\n");
    for (int k = 0; k < 40; k++) sc_text_add(&text, "let x%d: f32x16 = f[%d; 16]\n", k, k);
    for (int k = 0; k < 40; k++) sc_text_add(&text, "f[%d; 16] = x%d\n", 1000 + 16 * k, k);
    sc_text_add(&text, "}\n");
    open_module();
    Module *m = module_from(text.s);
    World *w = world_new();
    CHECK(world_run(w, sc_exec_kernels, 1, m) == 0);
    CHECK(!memcmp((float *)w->view[2].val + 39, (float *)w->view[2].val + 1000 + 16 * 39, 64));
    sc_fail_alloc(1, 1);
    CHECK(world_run(w, sc_exec_kernels, 1, m) == SC_ENOMEM);
    sc_fail_alloc(0, 0);
    world_free(w);
    close_module();
    sc_text_free(&text);
}

/* ---- element-wise functions ---- */
static long double sigmoid(long double x) { return 1 / (1 + expl(-x)); }

static const struct {
    const char *name;
    double f32, f64; /* largest error allowed, in units in the last place */
    long double (*exact)(long double);
} maths[] = {
    {"exp", 1.1, 1.1, expl}, {"log", 1.0, 1.0, logl}, {"tanh", 2, 2, tanhl}, {"sigmoid", 2.5, 2.5, sigmoid}};

static double ulps(double got, long double want, bool f32)
{
    double w = f32 ? (double)(float)want : (double)want;
    if (got != got || w != w) return (got != got) == (w != w) ? 0 : 1e9;
    if (got == w) return fabsl((long double)got - want) > 0 && isfinite(w) ? 0.5 : 0;
    if (!isfinite(got) || !isfinite(w)) return 1e9;
    int e;
    frexp(w, &e);
    int digits = f32 ? 24 : 53, least = f32 ? -148 : -1073;
    return (double)(fabsl((long double)got - want) /
                    ldexpl(1, e - digits > least - 1 ? e - digits : least - 1));
}

static double argument(bool f32, int k)
{
    static const double special[] = {0.0,   -0.0,   INFINITY,   -INFINITY,  NAN,     1,       -1,
                                     1e-45, -1e-45, 1e-39,      5e-324,     -1e-310, 88.7228, 88.73,
                                     -87.4, -103.9, -104.1,     709.78,     709.79,  -745.1,  -745.2,
                                     0.625, -0.625, 0.70710678, 1.41421356, 3.4e38,  1.7e308, -3.4e38};
    if (k < SC_LEN(special)) return f32 ? (double)(float)special[k] : special[k];
    uint64_t bits = draw() ^ (draw() << 32);
    double range = k % 4 == 1 ? 2 : k % 4 == 2 ? 100 : 800;
    if (k % 4) {
        double x = ((double)(bits >> 11) / 9007199254740992.0 * 2 - 1) * range;
        return f32 ? (double)(float)x : x;
    }
    union {
        uint64_t u;
        double d;
        uint32_t v;
        float f;
    } any = {.u = bits};
    return f32 ? (double)any.f : any.d;
}

static void maths_one(int f, bool f32, int lanes, const char *flags)
{
    enum { COUNT = 1 << 16 };
    char text[600], type[16];
    const char *t = f32 ? "f32" : "f64", *at = lanes > 1 ? "; " : "";
    char n[16] = "";
    if (lanes > 1) snprintf(n, sizeof n, "%d", lanes);
    snprintf(type, sizeof type, lanes > 1 ? "%sx%d" : "%s", t, lanes);
    snprintf(text, sizeof text,
             "par lo: i64 = begin\npar hi: i64 = end\nbuf x: %s = val 0\nbuf y: %s mut = val 1\n"
             "entry body {\nfor i = lo, hi, %d {\nlet v: %s = x[i%s%s]\ny[i%s%s] = %s(v)\n}\n}\n",
             t, t, lanes, type, at, n, at, n, maths[f].name);
    open_module();
    const sc_object *o = compile_module(module_from(text), flags);
    double *x = malloc(COUNT * 8), *y = malloc(COUNT * 8), worst = 0, worst_at = 0, sum = 0;
    CHECK(x && y);
    seed = 99;
    for (int k = 0; k < COUNT; k++) {
        double a = argument(f32, k);
        if (f32)
            ((float *)x)[k] = (float)a;
        else
            x[k] = a;
    }
    sc_view view[2] = {{.val = x}, {.val = y}};
    sc_call call = {.abi = SC_ABI, .size = sizeof call, .view = view};
    sc_lane lane = {0};
    CHECK(o->entry[0](&call, &lane, 0, COUNT) == 0);
    for (int k = 0; k < COUNT; k++) {
        double a = f32 ? (double)((float *)x)[k] : x[k], got = f32 ? (double)((float *)y)[k] : y[k];
        double e = ulps(got, maths[f].exact((long double)a), f32);
        sum += e;
        if (e > worst) worst = e, worst_at = a;
    }
    if (lanes == 4 || worst > (f32 ? maths[f].f32 : maths[f].f64))
        printf("  %-8s %-6s %-22s max %.3f ulp at %.9g, mean %.3f\n", maths[f].name, type, flags, worst,
               worst_at, sum / COUNT);
    CHECK(worst <= (f32 ? maths[f].f32 : maths[f].f64));
    free(x);
    free(y);
    close_module();
}

static void test_maths(void)
{
    for (int f = 0; f < 4; f++)
        for (int f32 = 0; f32 < 2; f32++)
            for (int lanes = 1; lanes <= (f32 ? 16 : 8); lanes *= lanes == 1 ? 4 : 2) {
                maths_one(f, f32, lanes, "-ffp-contract=fast");
                if (lanes == 4) maths_one(f, f32, lanes, "-ffp-contract=off");
            }
}

static const struct {
    const char *name;
    void (*run)(void);
    bool needs_cc;
} tests[] = {{"round trip", test_round_trip, false},       {"folding", test_folding, false},
             {"simplify", test_simplify, false},           {"refused", test_refused, false},
             {"refused trees", test_refused_trees, false}, {"executor", test_spmm, false},
             {"large frame", test_large_frame, false},     {"executor and C", test_run, false},
             {"element-wise functions", test_maths, true}};

int main(void)
{
    snprintf(dir, sizeof dir, "/tmp/test_stmt.XXXXXX");
    CHECK(mkdtemp(dir));
    have_cc = system("cc --version > /dev/null 2>&1") == 0;
    for (int k = 0; k < SC_LEN(tests); k++) {
        bool skip = tests[k].needs_cc && !have_cc;
        printf("%s%s\n", tests[k].name, skip ? ": skipped, no C compiler" : "");
        fflush(stdout);
        if (!skip) tests[k].run();
    }
    char cmd[100];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd) != 0 ? 1 : have_cc ? 0 : 77;
}

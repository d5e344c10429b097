/* sort.c: C text that puts keys in order, and finds marks.
 *
 * Up to 256 keys of 32 bits go through networks of comparisons where vectors hold 16 of them: the lanes of each vector
 * are sorted, then sorted sequences of vectors are merged, two at a time (Batcher's bitonic networks). There is no
 * branch that depends on a key. What is left of the last vectors is the largest number there is. Everywhere else few
 * keys are inserted one by one, many are dealt out by their digits. */
#include "private.h"

#include <stdio.h>

#define FEW 256 /* keys of a network */

/* By digits of eight bits, from the last one up to the first one in use; `U is the key. */
static const char digits[] =
    "static void sc_sort_%s(%s *key, %s *spare, sc_i64 n)\n{\n"
    "    %s *from = key, *to = spare, used = 0;\n"
    "%s"
    "    for (sc_i64 i = 1; i < n && n < 32; i++) {\n"
    "        %s x = key[i];\n"
    "        sc_i64 k = i;\n"
    "        for (; k > 0 && key[k - 1] > x; k--) key[k] = key[k - 1];\n"
    "        key[k] = x;\n    }\n"
    "    if (n < 32) return;\n"
    "    for (sc_i64 i = 0; i < n; i++) used |= key[i];\n"
    "    for (int shift = 0; shift < %d && used >> shift; shift += 8) {\n"
    "        sc_i64 at[257] = {0};\n"
    "        for (sc_i64 i = 0; i < n; i++) at[(from[i] >> shift & 255) + 1]++;\n"
    "        for (int d = 0; d < 255; d++) at[d + 1] += at[d];\n"
    "        for (sc_i64 i = 0; i < n; i++) to[at[from[i] >> shift & 255]++] = from[i];\n"
    "        %s *swap = from;\n        from = to;\n        to = swap;\n    }\n"
    "    for (sc_i64 i = 0; i < n && from != key; i++) key[i] = from[i];\n}\n";

static const char vectors[] =
    "typedef int sc_keys __attribute__((vector_size(64), may_alias));\n"
    "SC_INLINE sc_keys sc_low(sc_keys v, sc_keys w)\n{\n"
    "    __asm__(\"vpminsd %1, %0, %0\" : \"+v\"(v) : \"v\"(w));\n"
    "    return v;\n}\n"
    "SC_INLINE sc_keys sc_high(sc_keys v, sc_keys w)\n{\n"
    "    __asm__(\"vpmaxsd %1, %0, %0\" : \"+v\"(v) : \"v\"(w));\n"
    "    return v;\n}\n"
    "/* The larger of two in the lanes of k, the smaller in the others. */\n"
    "SC_INLINE sc_keys sc_either(sc_keys v, sc_keys w, unsigned short k)\n{\n"
    "    sc_keys r;\n"
    "    __asm__(\"vpminsd %2, %1, %0\\n\\tvpmaxsd %2, %1, %0%{%3%}\" : \"=&v\"(r) : \"v\"(v), \"v\"(w), "
    "\"Yk\"(k));\n"
    "    return r;\n}\n";

/* v = each lane and the one whose number differs from its own by `flip`, in order */
static void compare(sc_text *out, int flip)
{
    unsigned upper = 0, top = 1;
    while (top * 2 <= (unsigned)flip) top *= 2;
    for (unsigned i = 0; i < 16; i++) upper |= i & top ? 1u << i : 0;
    sc_text_add(out, "    v = sc_either(v, __builtin_shufflevector(v, v");
    for (int i = 0; i < 16; i++) sc_text_add(out, ", %d", i ^ flip);
    sc_text_add(out, "), 0x%x);\n", upper);
}

/* Lanes that rise and then fall are sorted. */
static void lanes(sc_text *out)
{
    sc_text_add(out, "SC_INLINE sc_keys sc_halves(sc_keys v)\n{\n");
    for (int d = 8; d; d /= 2) compare(out, d);
    sc_text_add(out, "    return v;\n}\nSC_INLINE sc_keys sc_lanes(sc_keys v)\n{\n");
    for (int n = 2; n <= 16; n *= 2) {
        compare(out, n - 1);
        for (int d = n / 4; d; d /= 2) compare(out, d);
    }
    sc_text_add(out, "    return v;\n}\n");
}

static const char merges[] = "/* v[0 .. s) and v[s .. 2 s) are sorted; so is all of it then. */\n"
                             "SC_INLINE void sc_join(sc_keys *v, int s)\n{\n"
                             "    for (int a = 0; a < s; a++) {\n"
                             "        const sc_keys x = v[a], y = v[2 * s - 1 - a];\n"
                             "        const sc_keys back = __builtin_shufflevector(y, y, 15, 14, 13, 12, 11, "
                             "10, 9, 8, 7, 6, 5, 4, 3, 2, "
                             "1, 0);\n"
                             "        const sc_keys most = sc_high(x, back);\n"
                             "        v[a] = sc_low(x, back);\n"
                             "        v[2 * s - 1 - a] = __builtin_shufflevector(most, most, 15, 14, 13, 12, "
                             "11, 10, 9, 8, 7, 6, 5, 4, 3, "
                             "2, 1, 0);\n"
                             "    }\n"
                             "    for (int d = s / 2; d; d /= 2)\n"
                             "        for (int a = 0; a < 2 * s; a++) {\n"
                             "            if (a & d) continue;\n"
                             "            const sc_keys x = v[a], y = v[a + d];\n"
                             "            v[a] = sc_low(x, y);\n"
                             "            v[a + d] = sc_high(x, y);\n"
                             "        }\n"
                             "    for (int a = 0; a < 2 * s; a++) v[a] = sc_halves(v[a]);\n}\n"
                             "SC_INLINE void sc_network(sc_keys *v, int n)\n{\n"
                             "    for (int a = 0; a < n; a++) v[a] = sc_lanes(v[a]);\n"
                             "    for (int s = 1; s < n; s *= 2)\n"
                             "        for (int a = 0; a < n; a += 2 * s) sc_join(v + a, s);\n}\n"
                             "static void sc_sort_few(int *key, sc_i64 n)\n{\n"
                             "    sc_keys v[16];\n"
                             "    int *at = (int *)v, m = 1;\n"
                             "    while (16 * m < n) m *= 2;\n"
                             "    for (int k = (int)n & ~15; k < 16 * m; k++) at[k] = 0x7fffffff;\n"
                             "    __builtin_memcpy(at, key, (unsigned long)n * sizeof *key);\n"
                             "    if (m == 1) sc_network(v, 1);\n"
                             "    if (m == 2) sc_network(v, 2);\n"
                             "    if (m == 4) sc_network(v, 4);\n"
                             "    if (m > 4) sc_network(v, m);\n"
                             "    __builtin_memcpy(key, at, (unsigned long)n * sizeof *key);\n}\n";

static void sort_text(sc_text *out, bool wide)
{
    static const char when[] = "#ifdef __AVX512F__\n";
    const char *type = wide ? "sc_i64" : "int", *name = wide ? "i64" : "i32";
    char few[200] = "";
    if (!wide) {
        sc_text_add(out, "%s%s", when, vectors);
        lanes(out);
        sc_text_add(out, "%s#endif\n", merges);
        snprintf(few, sizeof few,
                 "%s    if (n <= %d) {\n        sc_sort_few(key, n);\n        return;\n    }\n#endif\n", when,
                 FEW);
    }
    sc_text_add(out, digits, name, type, type, type, few, type, wide ? 63 : 31, type);
}

/* A vector of 64 at once; else eight at a time: the product has their lowest bits side by side in its highest byte. */
static const char at_once[] = "#ifdef __AVX512BW__\n"
                              "    const i8x64 v = *(const i8x64u *)p;\n"
                              "    unsigned long long k;\n"
                              "    __asm__(\"vptestmb %1, %1, %0\" : \"=Yk\"(k) : \"v\"(v));\n"
                              "    return (sc_i64)k;\n"
                              "#else\n";
static const char by_eight[] = "    unsigned long long r = 0, x;\n"
                               "    for (int k = 0; k < 8; k++) {\n"
                               "        __builtin_memcpy(&x, p + 8 * k, 8);\n"
                               "        r |= (x * 0x0102040810204080ull >> 56) << 8 * k;\n"
                               "    }\n"
                               "    return (sc_i64)r;\n";

static void marks_text(sc_text *out, bool vector)
{
    sc_text_add(out, "SC_INLINE sc_i64 sc_marks_%s(const signed char *p)\n{\n", vector ? "i8x64" : "bool");
    sc_text_add(out, "%s%s%s}\n", vector ? at_once : "", by_eight, vector ? "#endif\n" : "");
}

void sort_emit(sc_text *out, Helper h, Type t)
{
    if (h == H_MARKS)
        marks_text(out, t.lanes > 1);
    else
        sort_text(out, t.dtype == SC_I64);
}

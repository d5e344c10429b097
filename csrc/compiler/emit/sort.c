/* sort.c: C text that puts keys in order, and finds marks.
 *
 * Up to 256 keys of 32 bits go through networks of comparisons where vectors hold 16 of them: the lanes of each vector
 * are sorted, then sorted sequences of vectors are merged, two at a time (Batcher's bitonic networks). There is no
 * branch that depends on a key. What is left of the last vectors is the largest number there is. Everywhere else few
 * keys are inserted one by one, or go where the number of smaller ones says, many are dealt out by their digits.
 *
 * Values of equal keys are added up behind the network, in the registers: keys carry the number of their place in the
 * lowest bits, by which values are brought in order, and where a key is another than in the lane before, the values of
 * the lanes behind with the same key are added one after the other. */
#include "private.h"

#include <stdio.h>

#define FEW 256 /* keys of a network */

/* By digits of eight bits, from the last one up to the first one in use; `U is the key. */
static const char digits[] =
    "static __attribute__((unused)) void sc_sort_%s(%s *key, %s *spare, sc_i64 n)\n{\n"
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

/* ---- values of equal keys ---- */
/* Takes m vectors; keys[16 m] and values[16 m] are memory, of which the first n are given. Up to 4, equal keys are so
 * few that they lie in two vectors. */
static const char unite_few[] =
    "#ifdef __AVX512F__\n"
    "typedef float sc_terms __attribute__((vector_size(64), may_alias));\n"
    "typedef int sc_loose __attribute__((vector_size(64), aligned(4), may_alias));\n"
    "typedef float sc_loose_terms __attribute__((vector_size(64), aligned(4), may_alias));\n"
    "SC_INLINE unsigned sc_equal(sc_keys v, sc_keys w)\n{\n"
    "    unsigned short k;\n"
    "    __asm__(\"vpcmpeqd %2, %1, %0\" : \"=Yk\"(k) : \"v\"(v), \"v\"(w));\n"
    "    return k;\n}\n"
    "/* Lanes at[k] of v and, from 16 on, of w. */\n"
    "SC_INLINE sc_keys sc_of_two(sc_keys v, sc_keys at, sc_keys w)\n{\n"
    "    __asm__(\"vpermt2d %2, %1, %0\" : \"+v\"(v) : \"v\"(at), \"v\"(w));\n"
    "    return v;\n}\n"
    "SC_INLINE sc_terms sc_term_of_two(sc_terms v, sc_keys at, sc_terms w)\n{\n"
    "    __asm__(\"vpermt2ps %2, %1, %0\" : \"+v\"(v) : \"v\"(at), \"v\"(w));\n"
    "    return v;\n}\n"
    "SC_INLINE sc_terms sc_by_place(const float *term, sc_keys place, int m)\n{\n"
    "    const sc_loose_terms *t = (const void *)term;\n"
    "    sc_terms r = sc_term_of_two(t[0], place, t[m > 1]);\n"
    "    for (int b = 2; b < m; b += 2) {\n"
    "        const sc_terms x = sc_term_of_two(t[b], place, t[b + 1]);\n"
    "        const unsigned short here = sc_equal(place >> 5, (sc_keys){0} + b / 2);\n"
    "        __asm__(\"vmovaps %1, %0%{%2%}\" : \"+v\"(r) : \"v\"(x), \"Yk\"(here));\n"
    "    }\n"
    "    return r;\n}\n"
    "/* The lanes of k, side by side. */\n"
    "SC_INLINE void sc_keep(int *key, float *term, sc_keys v, sc_terms x, unsigned short k)\n{\n"
    "    __asm__(\"vpcompressd %0, %0%{%1%}%{z%}\" : \"+v\"(v) : \"Yk\"(k));\n"
    "    __asm__(\"vcompressps %0, %0%{%1%}%{z%}\" : \"+v\"(x) : \"Yk\"(k));\n"
    "    *(sc_loose *)key = v;\n"
    "    *(sc_loose_terms *)term = x;\n}\n"
    "SC_INLINE sc_i64 sc_unite_few(int *key, float *term, sc_i64 n, sc_i64 most, int m)\n{\n"
    "    const sc_keys lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};\n"
    "    sc_keys v[17];\n"
    "    sc_terms x[17];\n"
    "    sc_i64 at = 0;\n"
    "    for (int a = 0; a < m; a++) {\n"
    "        const sc_keys place = lane + 16 * a;\n"
    "        const sc_keys k = ((const sc_loose *)key)[a] << 8 | place;\n"
    "        const sc_keys in = place < (sc_keys){0} + (int)n;\n"
    "        v[a] = (k & in) | (~in & 0x7fffffff);\n"
    "    }\n"
    "    sc_network(v, m);\n"
    "    for (int a = 0; a < m; a++) {\n"
    "        x[a] = sc_by_place(term, v[a] & 255, m);\n"
    "        v[a] >>= 8;\n"
    "    }\n"
    "    v[m] = (sc_keys){0} - 1;\n"
    "    x[m] = (sc_terms){0};\n"
    "    for (int a = 0; a < m; a++) {\n"
    "        const sc_keys before = sc_of_two(a ? v[a - 1] : v[m], lane + 15, v[a]);\n"
    "        unsigned first = ~sc_equal(v[a], before) & 0xffff;\n"
    "        sc_terms sum = x[a];\n"
    "        if (n < 16 * a + 16) first &= n > 16 * a ? (1u << (n - 16 * a)) - 1 : 0;\n"
    "        for (int d = 1; d < most; d++) {\n"
    "            const int b = m > 4 ? a + d / 16 : a, c = m > 4 ? d % 16 : d;\n"
    "            if (b == m) break;\n"
    "            const unsigned short same = first & sc_equal(v[a], sc_of_two(v[b], lane + c, v[b + 1]));\n"
    "            const sc_terms more = sc_term_of_two(x[b], lane + c, x[b + 1]);\n"
    "            if (most > 5 && !same) break;\n"
    "            __asm__(\"vaddps %1, %0, %0%{%2%}\" : \"+v\"(sum) : \"v\"(more), \"Yk\"(same));\n"
    "        }\n"
    "        sc_keep(key + at, term + at, v[a], sum, (unsigned short)first);\n"
    "        at += __builtin_popcount(first);\n"
    "    }\n"
    "    return at;\n}\n"
    "#endif\n";

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

/* The place of a key is the number of smaller ones: nothing to predict. No two are alike. */
static void ranks(sc_text *out, Type t, int bytes)
{
    sc_text_add(out, "SC_INLINE void sc_ranked_");
    c_type(out, t);
    sc_text_add(out,
                "(int *key, sc_i64 n)\n{\n"
                "    typedef int sc_ranks __attribute__((vector_size(%d), may_alias));\n"
                "    sc_ranks v[%d], place[%d];\n"
                "    const int *k = (const int *)v, *at = (const int *)place;\n"
                "    v[(n - 1) / %d] = (sc_ranks){0};\n"
                "    __builtin_memcpy(v, key, (unsigned long)n * sizeof *key);\n"
                "    for (int a = 0; %d * a < n; a++) {\n"
                "        sc_ranks r = {0};\n"
                "        for (sc_i64 j = 0; j < n; j++) r -= v[a] > (sc_ranks){0} + k[j];\n"
                "        place[a] = r;\n    }\n"
                "    for (sc_i64 i = 0; i < n; i++) key[at[i]] = k[i];\n}\n",
                bytes, 4 * FEW / bytes, 4 * FEW / bytes, bytes / 4, bytes / 4);
}

/* t has the lanes of a vector: lists are short where no network sorts them (lower/span.c). */
static void unite_text(sc_text *out, Type t)
{
    const char *type = c_scalar(t.dtype);
    const int bytes = t.lanes * (int)sc_dtype_size((sc_dtype)t.dtype);
    const bool wide = bytes == 64, few = wide && t.dtype == SC_F32;
    if (few) sc_text_add(out, "%s", unite_few);
    if (!wide) ranks(out, t, bytes);
    sc_text_add(out, "static __attribute__((noinline)) sc_i64 sc_unite_");
    c_type(out, t);
    sc_text_add(out, "(int *key, %s *value, sc_i64 n, sc_i64 most)\n{\n", type);
    if (few)
        sc_text_add(out, "#ifdef __AVX512F__\n"
                         "    if (n <= 16) return sc_unite_few(key, value, n, most, 1);\n"
                         "    if (n <= 32 && most <= 17) return sc_unite_few(key, value, n, most, 2);\n"
                         "    if (n <= 64 && most <= 17) return sc_unite_few(key, value, n, most, 4);\n"
                         "    return sc_unite_few(key, value, n, most, n <= 128 ? 8 : 16);\n"
                         "#else\n");
    if (wide) sc_text_add(out, "    int spare[%d];\n", FEW);
    sc_text_add(out,
                "    int before = -1;\n"
                "    %s term[%d], sum = 0;\n"
                "    sc_i64 at = -1;\n"
                "    (void)most;\n"
                "    for (sc_i64 i = 0; i < n; i++) {\n"
                "        term[i] = value[i];\n"
                "        key[i] = key[i] << 8 | (int)i;\n    }\n"
                "    %s",
                type, FEW, wide ? "sc_sort_i32(key, spare, n)" : "sc_ranked_");
    if (!wide) c_type(out, t);
    sc_text_add(out,
                "%s;\n"
                "    for (sc_i64 i = 0; i < n; i++) {\n"
                "        const int k = key[i] >> 8;\n"
                "        const %s v = term[key[i] & 255];\n"
                "        at += k != before;\n"
                "        sum = k != before ? v : sum + v;\n"
                "        key[at] = before = k;\n"
                "        value[at] = sum;\n    }\n"
                "    return at + 1;\n%s}\n",
                wide ? "" : "(key, n)", type, few ? "#endif\n" : "");
}

static void marks_text(sc_text *out, bool vector)
{
    sc_text_add(out, "SC_INLINE sc_i64 sc_marks_%s(const signed char *p)\n{\n", vector ? "i8x64" : "bool");
    sc_text_add(out, "%s%s%s}\n", vector ? at_once : "", by_eight, vector ? "#endif\n" : "");
}

void sort_emit(sc_text *out, Helper h, Type t)
{
    if (h == H_MARKS)
        marks_text(out, t.lanes > 1);
    else if (h == H_UNITE)
        unite_text(out, t);
    else
        sort_text(out, t.dtype == SC_I64);
}

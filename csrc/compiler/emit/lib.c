/* lib.c: the small functions that generated text is written with.
 *
 * Each is a static inline function on typed vectors, printed only where an
 * entry uses it: sc_load_f32x16, sc_max_f32, ... Comparisons of vectors give
 * -1 or 0 in integers of the same width, and a choice is two ands and an or,
 * which compilers turn into one or two blends. Contracts:
 *   min max   propagate NaN
 *   relu      NaN stays; -0 gives 0 or -0
 *   hadd ...  halves are combined until one lane is left, so the order is fixed
 *   search    doubling steps from lo, then halving: first entry >= x
 *   splat     an initializer: exact for -0 and NaN, one broadcast */
#include "private.h"

#include <stdio.h>
#include <string.h>

static const char *const names[H_COUNT] = {
    "splat",  "load",   "store",   "gather", "scatter",  "turn",      "select", "min",     "max",
    "relu",   "abs",    "sqrt",    "shl",    "from_f16", "from_bf16", "to_f16", "to_bf16", "wide",
    "sort",   "unite",  "marks",   "first",  "bits",     "hadd",      "hmax",   "hmin",    "even",
    "odd",    "search", "pair",    "pick",   "pick_far", "meet",      "spread", "dot",     "masked",
    "expand", "put",    "extract", "ones",   "exp",      "log",       "tanh",   "sigmoid"};

const char *helper_name(Helper h) { return names[h]; }

static uint8_t bit(int lanes) { return (uint8_t)(1u << __builtin_ctz((unsigned)lanes)); }
static Type lanes_of(Type t, int n) { return (Type){t.dtype, (uint8_t)n}; }

void need_type(Needs *n, Type t)
{
    if (t.lanes > 1) n->vector[t.dtype] |= bit(t.lanes);
}

/* The 16 bit type that a conversion helper is about. */
static Type half_of(Helper h, int lanes)
{ return (Type){h == H_FROM_F16 || h == H_TO_F16 ? SC_F16 : SC_BF16, (uint8_t)lanes}; }

/* Lanes of the vector that has the sums of n pairs of those of a vector of type t: less than 16 bytes is no use. */
static int halved(Type t, int n)
{ return t.lanes > 2 && n * (int)sc_dtype_size((sc_dtype)t.dtype) < 16 ? t.lanes : n; }

static void need_halves(Needs *n, Helper h, Type t)
{
    for (int k = t.lanes / 2; k >= 1; k /= 2) {
        t.lanes = (uint8_t)halved(t, k);
        need_type(n, t);
        if (h != H_HADD) need_helper(n, h == H_HMAX ? H_MAX : H_MIN, t);
    }
}

void need_helper(Needs *n, Helper h, Type t)
{
    if (n->used[h][t.dtype] & bit(t.lanes)) return;
    n->used[h][t.dtype] |= bit(t.lanes);
    need_type(n, t);
    need_type(n, type_mask((int)sc_dtype_size((sc_dtype)t.dtype), t.lanes));
    if (h == H_TURN) need_helper(n, H_LOAD, t), need_helper(n, H_STORE, t);
    if (h == H_LOAD || h == H_STORE) n->loose[t.dtype] |= bit(t.lanes);
    if (h == H_SPREAD || h == H_MASKED || h == H_EXPAND || h == H_PUT || (h == H_MARKS && t.lanes > 1))
        n->loose[t.dtype] |= bit(t.lanes);
    if (h == H_WIDE) need_type(n, (Type){SC_BF16, (uint8_t)(2 * t.lanes)});
    if (h == H_DOT)
        need_type(n, (Type){SC_BF16, t.lanes}), need_helper(n, H_WIDE, t), need_helper(n, H_FROM_BF16, t);
    if (h == H_UNITE && t.lanes * sc_dtype_size((sc_dtype)t.dtype) == 64)
        need_helper(n, H_SORT, (Type){SC_I32, 1});
    if (h == H_PICK) need_helper(n, H_PAIR, (Type){SC_I32, 1});
    if (h >= H_FROM_F16 && h <= H_TO_BF16) need_type(n, half_of(h, t.lanes));
    if (h == H_HADD || h == H_HMAX || h == H_HMIN) need_halves(n, h, t);
    if (h >= H_EXP && t.lanes == 1)
        need_helper(n, h, lanes_of(t, t.dtype == SC_F32 ? 4 : 2));
    else if (h == H_TANH || h == H_SIGMOID)
        need_helper(n, H_EXP, t);
}

/* ---- printing: %T the type, %M its mask, %E its element, %N what the name ends in ---- */
static void print(sc_text *out, Type t, const char *s)
{
    for (; *s; s++) {
        if (*s != '%') {
            sc_text_addn(out, s, 1);
            continue;
        }
        switch (*++s) {
        case 'T': c_type(out, t); break;
        case 'M': c_type(out, type_mask((int)sc_dtype_size((sc_dtype)t.dtype), t.lanes)); break;
        case 'E': sc_text_add(out, "%s", c_scalar(t.dtype)); break;
        default:
            if (t.lanes > 1)
                c_type(out, t);
            else
                sc_text_add(out, "%s", sc_dtype_name((sc_dtype)t.dtype));
        }
    }
}

/* x, x, x or p[0], p[s], p[2 * s] */
static void list(sc_text *out, int n, const char *first, const char *second, const char *other)
{
    for (int k = 0; k < n; k++) {
        const char *form = k == 0 ? first : k == 1 ? second : other;
        sc_text_addn(out, ", ", k ? 2 : 0);
        const char *hash = strchr(form, '#');
        if (hash)
            sc_text_add(out, "%.*s%d%s", (int)(hash - form), form, k, hash + 1);
        else
            sc_text_add(out, "%s", form);
    }
}

static void print_scatter(sc_text *out, Type t)
{
    print(out, t, "SC_INLINE void sc_scatter_%N(%E *p, sc_i64 s, %T x)\n{\n");
    for (int k = 0; k < t.lanes; k++)
        sc_text_add(out, k ? "    p[%d * s] = x[%d];\n" : "    p[0] = x[0];\n", k, k);
    sc_text_add(out, "}\n");
}

/* Of x and y, as rows: every square of d lanes above the diagonal of one that is twice as wide, and that below it, change
 * places. The row that is asked for, as what is assigned. */
static void exchanged(sc_text *out, Type t, int d, bool lower)
{
    print(out, t, "(%T){");
    for (int k = 0; k < t.lanes; k++) {
        const bool right = k & d;
        sc_text_add(out, "%s%s[%d]", k ? ", " : "", right ? "y" : "x", k + (lower ? d : 0) - (right ? d : 0));
    }
    sc_text_add(out, "};\n");
}

static void print_turn(sc_text *out, Type t)
{
    const int n = t.lanes;
    print(out, t, "SC_INLINE void sc_turn_%N(%E *to, sc_i64 s, const %E *from, sc_i64 t)\n{\n    %T ");
    sc_text_add(out, "v[%d];\n", n);
    for (int k = 0; k < n; k++) {
        sc_text_add(out, "    v[%d] = ", k);
        print(out, t, "sc_load_%N(from");
        sc_text_add(out, k ? " + %d * t);\n" : ");\n", k);
    }
    for (int d = 1; d < n; d *= 2)
        for (int k = 0; k < n; k++)
            if (!(k & d)) {
                sc_text_add(out, "    sc_exchange%d_", d);
                print(out, t, "%N(");
                sc_text_add(out, "&v[%d], &v[%d]);\n", k, k + d);
            }
    for (int k = 0; k < n; k++) {
        print(out, t, "    sc_store_%N(to");
        sc_text_add(out, k ? " + %d * s, v[%d]);\n" : ", v[%d]);\n", k, k);
    }
    sc_text_add(out, "}\n");
}

/* The rows of a square are exchanged in parts, in pairs: two apart d, their squares of d lanes (Eklundh). */
static void print_exchanges(sc_text *out, Type t)
{
    for (int d = 1; d < t.lanes; d *= 2) {
        sc_text_add(out, "SC_INLINE void sc_exchange%d_", d);
        print(out, t, "%N(%T *v, %T *w)\n{\n    const %T x = v[0], y = w[0];\n    v[0] = ");
        exchanged(out, t, d, false);
        sc_text_add(out, "    w[0] = ");
        exchanged(out, t, d, true);
        sc_text_add(out, "}\n");
    }
    print_turn(out, t);
}

static void print_choice(sc_text *out, Helper h, Type t)
{
    const char *less = h == H_MIN ? "<" : ">";
    bool nan = type_is_float(t);
    sc_text_add(out, "SC_INLINE ");
    print(out, t, "%T sc_");
    sc_text_add(out, "%s_", names[h]);
    print(out, t, "%N(%T a, %T b)\n{\n");
    if (t.lanes == 1 && nan) { /* without a branch: a >= a is one comparison into a mask, a != a is a jump */
        print(out, t, "    const %T r = a ");
        sc_text_add(out, "%s b ? a : b;\n    return a >= a ? r : a;\n}\n", less);
        return;
    }
    if (t.lanes == 1) {
        sc_text_add(out, "    return a %s b ? a : b;\n}\n", less);
        return;
    }
    print(out, t, "    %M m = (%M)(a ");
    sc_text_add(out, "%s b)", less);
    if (nan) print(out, t, " | (%M)(a != a)");
    print(out, t, ";\n    return (%T)((m & (%M)a) | (~m & (%M)b));\n}\n");
}

static void print_sqrt(sc_text *out, Type t)
{
    const char *f = t.dtype == SC_F32 ? "__builtin_sqrtf" : "__builtin_sqrt";
    print(out, t, "SC_INLINE %T sc_sqrt_%N(%T x)\n{\n    return ");
    if (t.lanes == 1)
        sc_text_add(out, "%s(x)", f);
    else
        print(out, t, "(%T){");
    for (int k = 0; t.lanes > 1 && k < t.lanes; k++) sc_text_add(out, "%s%s(x[%d])", k ? ", " : "", f, k);
    sc_text_add(out, t.lanes > 1 ? "};\n}\n" : ";\n}\n");
}

static void print_abs(sc_text *out, Type t)
{
    print(out, t, "SC_INLINE %T sc_abs_%N(%T x)\n{\n    return ");
    if (t.lanes == 1 && type_is_float(t))
        print(out, t, t.dtype == SC_F32 ? "__builtin_fabsf(x)" : "__builtin_fabs(x)");
    else if (t.lanes == 1)
        print(out, t, "(%T)(x < 0 ? -x : x)");
    else if (t.dtype == SC_F32)
        print(out, t, "(%T)((%M)x & 0x7fffffff)");
    else if (t.dtype == SC_F64)
        print(out, t, "(%T)((%M)x & 0x7fffffffffffffff)");
    else
        print(out, t, "(x ^ (%M)(x < (%T){0})) - (%M)(x < (%T){0})");
    sc_text_add(out, ";\n}\n");
}

static void print_shl(sc_text *out, Type t)
{
    const char *u = t.dtype == SC_I64 ? "__UINT64_TYPE__" : "unsigned";
    print(out, t, "SC_INLINE %T sc_shl_%N(%T x, %T n) { return (%T)((");
    sc_text_add(out, "%s)x << n); }\n", u);
}

bool type_blends(Type t) { return sc_dtype_size((sc_dtype)t.dtype) >= 4; }

/* By bits: compilers make branches of what is written as a choice. */
static void print_select(sc_text *out, Type t)
{
    if (t.lanes > 1) {
        print(out, t,
              "SC_INLINE %T sc_select_%N(%M m, %T a, %T b)\n{\n"
              "    return (%T)((m & (%M)a) | (~m & (%M)b));\n}\n");
        return;
    }
    print(out, t, "SC_INLINE %T sc_select_%N(_Bool m, %T a, %T b)\n{\n");
    if (type_is_float(t))
        print(out, t,
              "    union { %T f; %M i; } x = {a}, y = {b};\n"
              "    y.i ^= (x.i ^ y.i) & -(%M)m;\n    return y.f;\n}\n");
    else
        print(out, t, "    return b ^ ((a ^ b) & -(%T)m);\n}\n");
}

/* Bodies for one number and for vectors; # is what the vector of 16 bit numbers is called. */
static const char *const half_one[] = {
    "    v.i = (x & 0x7fffu) << 13;\n"
    "    v.f *= 0x1p112f;\n"
    "    if (v.f >= 65536) v.i |= 0x7f800000;\n"
    "    v.i |= (x & 0x8000u) << 16;\n"
    "    return v.f;\n",
    "    v.i = (unsigned)x << 16;\n"
    "    return v.f;\n",
    "    v.f = x;\n"
    "    unsigned sign = v.i >> 16 & 0x8000;\n"
    "    v.i &= 0x7fffffff;\n"
    "    if (v.i >= 0x477ff000) return (unsigned short)(sign | (v.i > 0x7f800000 ? 0x7e00 : 0x7c00));\n"
    "    if (v.i < 0x38800000) {\n"
    "        v.f += 0.5f;\n"
    "        return (unsigned short)(sign | (v.i - 0x3f000000));\n"
    "    }\n"
    "    return (unsigned short)(sign | (v.i + 0xc8000fff + (v.i >> 13 & 1)) >> 13);\n",
    "    v.f = x;\n"
    "    if (x != x) return 0x7fc0;\n"
    "    return (unsigned short)((v.i + 0x7fff + (v.i >> 16 & 1)) >> 16);\n",
};
static const char *const half_many[] = {
    "    const %M h = __builtin_convertvector(x, %M);\n"
    "    const %T m = (%T)((h & 0x7fff) << 13) * 0x1p112f;\n"
    "    return (%T)((%M)m | ((%M)(m >= 65536.0f) & 0x7f800000) | (h & 0x8000) << 16);\n",
    "    return (%T)(__builtin_convertvector(x, %M) << 16);\n",
    "    const %M sign = (%M)x >> 16 & 0x8000, a = (%M)x & 0x7fffffff;\n"
    "    const %M small = a < 0x38800000, large = a >= 0x477ff000, nan = a > 0x7f800000;\n"
    "    const %M below = (%M)((%T)a + 0.5f) - 0x3f000000, above = (a - 0x37fff001 + (a >> 13 & 1)) >> 13;\n"
    "    const %M r = (small & below) | (~(small | large) & above) | (large & 0x7c00) | (nan & 0x7e00);\n"
    "    return __builtin_convertvector(r | sign, #);\n",
    "    const %M b = (%M)x, nan = (%M)(x != x);\n"
    "    const %M r = (~nan & (b + 0x7fff + (b >> 16 & 1)) >> 16) | (nan & 0x7fc0);\n"
    "    return __builtin_convertvector(r, #);\n",
};

/* gcc 12 takes a conversion of 8 or 16 numbers apart; the instruction there is does them at once. */
static const char *const half_eight[] = {
    "#if defined(__F16C__) && !defined(__clang__)\n"
    "    typedef short half __attribute__((vector_size(16)));\n"
    "    return __builtin_ia32_vcvtph2ps256((half)x);\n"
    "#endif\n",
    "#if defined(__AVX2__) && !defined(__clang__)\n"
    "    typedef short half __attribute__((vector_size(16)));\n"
    "    return (%T)(__builtin_ia32_pmovzxwd256((half)x) << 16);\n"
    "#endif\n",
};
static const char *const half_wide[] = {
    "#if defined(__AVX512F__) && !defined(__clang__)\n"
    "    typedef short half __attribute__((vector_size(32)));\n"
    "    return __builtin_ia32_vcvtph2ps512_mask((half)x, (%T){0}, -1, 4);\n"
    "#endif\n",
    "#if defined(__AVX512F__) && !defined(__clang__)\n"
    "    typedef short half __attribute__((vector_size(32)));\n"
    "    return (%T)(__builtin_ia32_pmovzxwd512_mask((half)x, (%M){0}, -1) << 16);\n"
    "#endif\n",
};

static void half_body(sc_text *out, Helper h, Type t)
{
    const char *s = (t.lanes == 1 ? half_one : half_many)[h - H_FROM_F16], *mark = strchr(s, '#');
    if (t.lanes == 16 && h <= H_FROM_BF16) print(out, t, half_wide[h - H_FROM_F16]);
    if (t.lanes == 8 && h <= H_FROM_BF16) print(out, t, half_eight[h - H_FROM_F16]);
    if (!mark) {
        print(out, t, s);
        return;
    }
    char head[1024];
    snprintf(head, sizeof head, "%.*s", (int)(mark - s), s);
    print(out, t, head);
    c_type(out, half_of(h, t.lanes));
    print(out, t, mark + 1);
}

/* binary16 and bfloat16, by integer arithmetic on the bits of a binary32. The factor 2^112 moves the exponent
 * of a binary16, subnormal ones too; adding 0.5 rounds what becomes subnormal there. */
static void print_half(sc_text *out, Helper h, Type t)
{
    bool one = t.lanes == 1, to = h == H_TO_F16 || h == H_TO_BF16;
    sc_text_add(out, "SC_INLINE ");
    if (to)
        c_type(out, half_of(h, t.lanes));
    else
        c_type(out, t);
    sc_text_add(out, " sc_%s_", names[h]);
    print(out, t, "%N(");
    if (to)
        c_type(out, t);
    else
        c_type(out, half_of(h, t.lanes));
    sc_text_add(out, " x)\n{\n");
    if (one) print(out, t, "    union { unsigned i; float f; } v;\n");
    half_body(out, h, t);
    sc_text_add(out, "}\n");
}

/* n elements of the vector `from`, of type t, beginning with that at k and going around; none: the vector itself */
static void part(sc_text *out, Type t, const char *from, Type of, int k, int n)
{
    if (n == of.lanes && !k) {
        sc_text_add(out, "%s", from);
        return;
    }
    if (n > 1) print(out, t, "(%T){");
    for (int q = 0; q < n; q++) sc_text_add(out, "%s%s[%d]", q ? ", " : "", from, (k + q) % of.lanes);
    if (n > 1) sc_text_add(out, "}");
}

/* v8 = low half + high half, and so on; what would be short stays long, and is right in its first elements. */
static void print_hred(sc_text *out, Helper h, Type t)
{
    char from[16] = "v";
    print(out, t, "SC_INLINE %E sc_");
    sc_text_add(out, "%s_", names[h]);
    print(out, t, "%N(%T v)\n{\n");
    for (int n = t.lanes / 2; n >= 1; n /= 2) {
        const Type half = lanes_of(t, halved(t, n));
        print(out, half, half.lanes > 1 ? "    %T " : "    return ");
        if (half.lanes > 1) sc_text_add(out, "v%d = ", n);
        if (h != H_HADD)
            sc_text_add(out, "sc_%s_", names[h == H_HMAX ? H_MAX : H_MIN]), print(out, half, "%N(");
        part(out, half, from, t, 0, half.lanes);
        sc_text_add(out, h == H_HADD ? " + " : ", ");
        part(out, half, from, t, n, half.lanes);
        sc_text_add(out, h == H_HADD ? ";\n" : ");\n");
        snprintf(from, sizeof from, "v%d", n);
        t = half;
    }
    sc_text_add(out, t.lanes > 1 ? "    return v1[0];\n}\n" : "}\n");
}

static void print_search(sc_text *out, Type t)
{
    print(out, t,
          "static sc_i64 sc_search_%N(const %E *crd, sc_i64 lo, sc_i64 hi, sc_i64 x)\n{\n"
          "    sc_i64 at = lo, step = 1;\n"
          "    for (; at < hi && crd[at] < x; step += step) {\n"
          "        lo = at + 1;\n"
          "        at += step;\n"
          "    }\n"
          "    if (at < hi) hi = at;\n"
          "    while (lo < hi) {\n"
          "        const sc_i64 mid = lo + (hi - lo) / 2;\n"
          "        if (crd[mid] < x)\n"
          "            lo = mid + 1;\n"
          "        else\n"
          "            hi = mid;\n"
          "    }\n"
          "    return lo;\n}\n");
}

/* Counts that a lane cannot hold are more than all of them. */
static void print_first(sc_text *out, Type t)
{
    print(out, t, "SC_INLINE %T sc_first_%N(sc_i64 n)\n{\n    return (%T)((%T){");
    list(out, t.lanes, "#", "#", "#");
    const bool narrow = sc_dtype_size((sc_dtype)t.dtype) < 4;
    print(out, t, narrow ? "} < (%E)" : "} < (%E)n);\n}\n");
    if (narrow) sc_text_add(out, "(n < %d ? n : %d));\n}\n", t.lanes, t.lanes);
}

static void print_bits(sc_text *out, Type t)
{
    print(out, t, "SC_INLINE %T sc_bits_%N(sc_i64 bits)\n{\n    return (%T)((((%T){0} + (%E)bits) & (%T){");
    list(out, t.lanes, "1 << #", "1 << #", "1 << #");
    print(out, t, "}) != 0);\n}\n");
}

static void print_every_other(sc_text *out, Helper h, Type t)
{
    print(out, t, "SC_INLINE %T sc_");
    sc_text_add(out, "%s_", names[h]);
    print(out, t, "%N(%T a, %T b)\n{\n    return (%T){");
    for (int k = 0; k < t.lanes; k++) {
        const int from = (2 * k + (h == H_ODD)) % t.lanes;
        sc_text_add(out, "%s%s[%d]", k ? ", " : "", 2 * k < t.lanes ? "a" : "b", from);
    }
    sc_text_add(out, "};\n}\n");
}

/* A bf16 is the upper half of an f32: two of them side by side, shifted, are one. */
static void print_wide(sc_text *out, Type t)
{
    print(out, t, "SC_INLINE %T sc_wide_%N(unsigned short x)\n{\n    return (%T)((%M)(");
    c_type(out, (Type){SC_BF16, (uint8_t)(2 * t.lanes)});
    sc_text_add(out, "){");
    list(out, 2 * t.lanes, "x", "x", "x");
    sc_text_add(out, "} << 16);\n}\n");
}

/* The instructions of pairs of bf16. Assemblers are asked for them here, the compiler's flags are those of every text. */
static const struct {
    const char *where, *text;
    int lanes; /* of vectors that have it; 0: all */
} dots[] = {{"__GNUC__ >= 12 && !defined(__clang__) && defined(__AVX512BW__) && defined(__AVX512VL__)",
             "\"vdpbf16ps %1, %2, %0\" : \"+v\"(sum) : \"v\"(two), \"v\"", 0},
            {"defined(__aarch64__) && __GNUC__ >= 12 && !defined(__clang__)",
             "\".arch_extension bf16\\n\\tbfdot %0.4s, %1.8h, %2.8h\" : \"+w\"(sum) : \"w\"(two), \"w\"", 4}};

/* A lane of the sum takes a number of x and one of y, side by side as the pair is. */
static void print_dot(sc_text *out, Type t)
{
    print(out, t, "SC_INLINE %T sc_dot_%N(%T sum, const unsigned short *pair, ");
    print(out, (Type){SC_BF16, t.lanes}, "%T x, %T y)\n{\n");
    for (int k = 0, n = 0; k < SC_LEN(dots); k++) {
        if (dots[k].lanes && dots[k].lanes != t.lanes) continue;
        sc_text_add(out, "#%s %s\n", n++ ? "elif" : "if", dots[k].where);
        print(out, t, "    const %M two = (%M)__builtin_shufflevector(x, y");
        for (int l = 0; l < 2 * t.lanes; l++) sc_text_add(out, ", %d", l / 2 + l % 2 * t.lanes);
        print(out, t, ");\n    int both;\n    __builtin_memcpy(&both, pair, sizeof both);\n");
        sc_text_add(out, "    __asm__(%s", dots[k].text);
        print(out, t, "((%M){0} + both));\n    return sum;\n");
    }
    print(out, t,
          "#else\n    return sum + sc_wide_%N(pair[0]) * sc_from_bf16_%N(x) + sc_wide_%N(pair[1]) * "
          "sc_from_bf16_%N(y);\n#endif\n}\n");
}

/* Two coordinates are loaded at once: loads are what a processor has fewest of. */
static void print_pick(sc_text *out, Helper h, Type t)
{
    const bool near = h == H_PICK;
    print(out, t, "SC_INLINE %T sc_");
    sc_text_add(out, "%s_", names[h]);
    print(out, t, "%N(const %E *p, sc_i64 s, const ");
    sc_text_add(out, near ? "int *c)\n{\n" : "sc_i64 *c)\n{\n");
    for (int k = 0; near && k < t.lanes; k += 2)
        sc_text_add(out, "    const sc_i64 c%d = sc_pair_i32(c + %d);\n", k, k);
    print(out, t, "    return (%T){");
    for (int k = 0; k < t.lanes; k++) {
        sc_text_add(out, k ? ", " : "");
        if (near)
            sc_text_add(out, k % 2 ? "p[(c%d >> 32) * s]" : "p[(c%d & 0xffffffff) * s]", k & -2);
        else
            sc_text_add(out, "p[c[%d] * s]", k);
    }
    sc_text_add(out, "};\n}\n");
}

static void print_helper(sc_text *out, Helper h, Type t)
{
    switch (h) {
    case H_SPLAT:
        print(out, t, "SC_INLINE %T sc_splat_%N(%E x) { return (%T){");
        list(out, t.lanes, "x", "x", "x");
        sc_text_add(out, "}; }\n");
        break;
    case H_LOAD: print(out, t, "SC_INLINE %T sc_load_%N(const %E *p) { return *(const %Tu *)p; }\n"); break;
    case H_STORE: print(out, t, "SC_INLINE void sc_store_%N(%E *p, %T x) { *(%Tu *)p = x; }\n"); break;
    case H_GATHER:
        print(out, t, "SC_INLINE %T sc_gather_%N(const %E *p, sc_i64 s)\n{\n    return (%T){");
        list(out, t.lanes, "p[0]", "p[s]", "p[# * s]");
        sc_text_add(out, "};\n}\n");
        break;
    case H_SCATTER: print_scatter(out, t); break;
    case H_TURN: print_exchanges(out, t); break;
    case H_SELECT: print_select(out, t); break;
    case H_MIN:
    case H_MAX: print_choice(out, h, t); break;
    case H_RELU:
        print(out, t, "SC_INLINE %T sc_relu_%N(%T x) { return ");
        print(out, t, t.lanes == 1 ? "x <= 0 ? 0 : x; }\n" : "(%T)(~(%M)(x <= (%T){0}) & (%M)x); }\n");
        break;
    case H_ABS: print_abs(out, t); break;
    case H_SQRT: print_sqrt(out, t); break;
    case H_SHL: print_shl(out, t); break;
    case H_FROM_F16:
    case H_FROM_BF16:
    case H_TO_F16:
    case H_TO_BF16: print_half(out, h, t); break;
    case H_WIDE: print_wide(out, t); break;
    case H_DOT: print_dot(out, t); break;
    case H_SORT:
    case H_UNITE:
    case H_MARKS: sort_emit(out, h, t); break;
    case H_FIRST: print_first(out, t); break;
    case H_BITS: print_bits(out, t); break;
    case H_HADD:
    case H_HMAX:
    case H_HMIN: print_hred(out, h, t); break;
    case H_EVEN:
    case H_ODD: print_every_other(out, h, t); break;
    case H_SEARCH: print_search(out, t); break;
    case H_PAIR: /* compilers make one load of it */
        sc_text_add(out, "SC_INLINE sc_i64 sc_pair_i32(const int *p) "
                         "{ return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }\n");
        break;
    case H_PICK:
    case H_PICK_FAR: print_pick(out, h, t); break;
    case H_MEET:
    case H_SPREAD:
    case H_MASKED:
    case H_EXPAND:
    case H_PUT:
    case H_EXTRACT:
    case H_ONES: meet_emit(out, h, t); break;
    case H_EXP: maths_emit(out, O_EXP, t); break;
    case H_LOG: maths_emit(out, O_LOG, t); break;
    case H_TANH: maths_emit(out, O_TANH, t); break;
    case H_SIGMOID: maths_emit(out, O_SIGMOID, t); break;
    case H_COUNT: break;
    }
}

static void print_typedefs(const Needs *n, sc_text *out)
{
    for (int t = 0; t < SC_NDTYPE; t++)
        for (int k = 1; k < 7; k++) {
            Type type = {(uint8_t)t, (uint8_t)(1 << k)};
            int size = (int)sc_dtype_size((sc_dtype)t);
            if (!(n->vector[t] >> k & 1)) continue;
            print(out, type, "typedef %E %T ");
            sc_text_add(out, "__attribute__((vector_size(%d)));\n", size << k);
            if (!(n->loose[t] >> k & 1)) continue;
            print(out, type, "typedef %E %Tu ");
            sc_text_add(out, "__attribute__((vector_size(%d), aligned(%d), may_alias));\n", size << k, size);
        }
}

void needs_emit(Needs *n, sc_text *out)
{
    size_t start = out->n;
    print_typedefs(n, out);
    if (out->n > start) sc_text_add(out, "\n");
    start = out->n;
    for (int h = 0; h < H_COUNT; h++)
        for (int t = 0; t < SC_NDTYPE; t++)
            for (int k = 6; k >= 0; k--) {
                if (!(n->used[h][t] >> k & 1)) continue;
                if (out->n == start)
                    sc_text_add(out, "#define SC_INLINE static inline __attribute__((always_inline))\n");
                print_helper(out, (Helper)h, (Type){(uint8_t)t, (uint8_t)(1 << k)});
            }
    if (out->n > start) sc_text_add(out, "\n");
}

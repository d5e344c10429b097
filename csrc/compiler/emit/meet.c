/* meet.c: C text that merges coordinates a vector at a time.
 *
 * A vector of each side goes through the network that merges two sorted sequences (Batcher's, in its bitonic form).
 * Coordinates are doubled, and those of the second side are odd: so every lane says where it came from, and equal
 * coordinates end side by side. Behind the end of a side stands the largest number there is. Where a side goes on
 * behind its vector, what is greater than its last lane waits for the next time.
 *
 * Other machines take single steps. How much is merged in one go differs then; what comes out in the end does
 * not. */
#include "private.h"

static char letter(Type t) { return "dqsd"[(sc_dtype_size((sc_dtype)t.dtype) == 8) + 2 * type_is_float(t)]; }

/* In texts: `T the vector type, `N its lanes, `M its lanes less one, `W bits of a lane, `S the letter of its
 * instructions, `U its element, `C that of the array, `I what the index type is called. Of
 * any type: `V the vector, `L its lanes, `B a bit for each, `X the instruction that spreads, `Y that loads, `Z that loads
 * where a lane of `K is negative, `P the lanes' bits. */
static void expand(sc_text *out, Type t, const char *s)
{
    const bool wide = sc_dtype_size((sc_dtype)t.dtype) == 8;
    for (; *s; s++) {
        if (*s != '`') {
            sc_text_addn(out, s, 1);
            continue;
        }
        switch (*++s) {
        case 'T': sc_text_add(out, wide ? "u64x8" : "u32x16"); break;
        case 'N': sc_text_add(out, wide ? "8" : "16"); break;
        case 'M': sc_text_add(out, wide ? "7" : "15"); break;
        case 'W': sc_text_add(out, wide ? "64" : "32"); break;
        case 'S': sc_text_add(out, wide ? "q" : "d"); break;
        case 'U': sc_text_add(out, wide ? "__UINT64_TYPE__" : "unsigned"); break;
        case 'V': c_type(out, t); break;
        case 'L': sc_text_add(out, "%d", t.lanes); break;
        case 'X': sc_text_add(out, "%s%c", type_is_float(t) ? "vexpandp" : "vpexpand", letter(t)); break;
        case 'Y': sc_text_add(out, "vmovup%c", letter((Type){wide ? SC_F64 : SC_F32, t.lanes})); break;
        case 'Z': sc_text_add(out, "vmaskmovp%c", letter((Type){wide ? SC_F64 : SC_F32, t.lanes})); break;
        case 'K': c_type(out, type_mask(wide ? 8 : 4, t.lanes)); break;
        case 'P':
            for (int k = 0; k < t.lanes; k++) sc_text_add(out, "%s%d", k ? ", " : "", 1 << k);
            break;
        case 'B': sc_text_add(out, "%d", (1 << t.lanes) - 1); break;
        case 'C': sc_text_add(out, "%s", c_scalar(t.dtype)); break;
        default: sc_text_add(out, "%s", sc_dtype_name((sc_dtype)t.dtype));
        }
    }
}

static const char vectors[] =
    "typedef `U `T __attribute__((vector_size(64), may_alias));\n"
    "/* The larger of two in the lanes of k, the smaller in the others. */\n"
    "SC_INLINE `T sc_order_`T(`T v, `T w, unsigned short k)\n{\n"
    "    `T r;\n"
    "    __asm__(\"vpminu`S %2, %1, %0\\n\\tvpmaxu`S %2, %1, %0%{%3%}\" : \"=&v\"(r) : \"v\"(v), \"v\"(w), "
    "\"Yk\"(k));\n"
    "    return r;\n}\n"
    "SC_INLINE unsigned sc_equal_`T(`T v, `T w)\n{\n"
    "    unsigned short k;\n"
    "    __asm__(\"vpcmpequ`S %2, %1, %0\" : \"=Yk\"(k) : \"v\"(v), \"v\"(w));\n"
    "    return k;\n}\n"
    "SC_INLINE unsigned sc_upto_`T(`T v, `T w)\n{\n"
    "    unsigned short k;\n"
    "    __asm__(\"vpcmpleu`S %2, %1, %0\" : \"=Yk\"(k) : \"v\"(v), \"v\"(w));\n"
    "    return k;\n}\n"
    "/* Twice the first n numbers, then the largest one. */\n"
    "SC_INLINE `T sc_doubled_`T(const `C *p, sc_i64 n)\n{\n"
    "    const unsigned short k = (unsigned short)((1u << (n < `N ? n : `N)) - 1);\n"
    "    `T v, r = ~(`T){0};\n"
    "    __asm__(\"vmovdqu`W %1, %0%{%2%}%{z%}\" : \"=v\"(v) : \"m\"(*(const `T *)p), \"Yk\"(k));\n"
    "    __asm__(\"vpadd`S %1, %1, %0%{%2%}\" : \"+v\"(r) : \"v\"(v), \"Yk\"(k));\n"
    "    return r;\n}\n";

static const char opening[] = "SC_INLINE sc_i64 sc_meet_`I(const `C *a, sc_i64 lo, sc_i64 hi, const `C *b, "
                              "sc_i64 from, sc_i64 to)\n{\n";

static const char load[] =
    "    const sc_i64 n = hi - lo, m = to - from;\n"
    "    const `T one = (`T){0} + 1, v = sc_doubled_`T(a + lo, n), w = sc_doubled_`T(b + from, m) | one;\n";

static const char cut[] =
    "    unsigned in = (unsigned)((1ull << (n + m < 2 * `N ? n + m : 2 * `N)) - 1);\n"
    "    if (n > `N || m > `N) {\n"
    "        `U last = ~(`U)0;\n"
    "        if (n > `N) last = (`U)a[lo + `M] * 2 + 1;\n"
    "        if (m > `N && (`U)b[from + `M] * 2 + 1 < last) last = (`U)b[from + `M] * 2 + 1;\n"
    "        const `T most = (`T){0} + last;\n"
    "        in = sc_upto_`T(x, most) | sc_upto_`T(y, most) << `N;\n"
    "    }\n";

static const char decide[] =
    "    const unsigned odd = in & (sc_equal_`T(x & one, one) | sc_equal_`T(y & one, one) << `N);\n"
    "    const unsigned again = in & (sc_equal_`T(x ^ left, one) | sc_equal_`T(y ^ above, one) << `N);\n"
    "    unsigned in_a = in & ~odd, in_b = odd;\n"
    "    if (again) {\n"
    "        in_a = __builtin_ia32_pext_si(in_a, in & ~again);\n"
    "        in_b = __builtin_ia32_pext_si(odd | again >> 1, in & ~again);\n"
    "    }\n"
    "    return (sc_i64)((unsigned long long)in_b << 32 | in_a);\n";

static const char steps[] = "    sc_i64 in_a = 0, in_b = 0;\n"
                            "    for (int k = 0; k < `N && (lo < hi || from < to); k++) {\n"
                            "        const _Bool x = from == to || (lo < hi && a[lo] <= b[from]);\n"
                            "        const _Bool y = lo == hi || (from < to && b[from] <= a[lo]);\n"
                            "        in_a |= (sc_i64)x << k;\n"
                            "        in_b |= (sc_i64)y << (k + 32);\n"
                            "        lo += x;\n"
                            "        from += y;\n    }\n"
                            "    return in_a | in_b;\n";

/* Lanes of v, then of w: lane k of the result is lane (k + shift) ^ flip of both. */
static void shuffle(sc_text *out, const char *v, const char *w, int n, int flip, int shift)
{
    sc_text_add(out, "__builtin_shufflevector(%s, %s", v, w);
    for (int k = 0; k < n; k++) sc_text_add(out, ", %d", ((k ^ flip) + shift + 2 * n) % (2 * n));
    sc_text_add(out, ")");
}

static unsigned lanes_with(int n, int bit)
{
    unsigned k = 0;
    for (int i = 0; i < n; i++) k |= i & bit ? 1u << i : 0;
    return k;
}

/* x and y hold everything, sorted; left and above the lane before, where the first one differs from all. */
static void network(sc_text *out, Type t)
{
    const int n = t.dtype == SC_I64 ? 8 : 16;
    expand(out, t, "    const `T back = ");
    shuffle(out, "w", "w", n, n - 1, 0);
    sc_text_add(out, ";\n");
    expand(out, t, "    `T x = sc_order_`T(v, back, 0), y = sc_order_`T(v, back, (1u << `N) - 1);\n");
    for (int d = n / 2; d; d /= 2)
        for (int side = 0; side < 2; side++) {
            const char *v = side ? "y" : "x";
            sc_text_add(out, "    %s = ", v);
            expand(out, t, "sc_order_`T(");
            sc_text_add(out, "%s, ", v);
            shuffle(out, v, v, n, d, 0);
            sc_text_add(out, ", 0x%x);\n", lanes_with(n, d));
        }
    expand(out, t, "    const `T left = ");
    shuffle(out, "x", "x", n, 0, -1);
    expand(out, t, ", above = ");
    shuffle(out, "y", "x", n, 0, -1);
    sc_text_add(out, ";\n");
}

static void meet(sc_text *out, Type t)
{
    static const char when[] = "#if defined(__AVX512F__) && defined(__BMI2__)\n";
    sc_text_add(out, when);
    expand(out, t, vectors);
    sc_text_add(out, "#endif\n");
    expand(out, t, opening);
    sc_text_add(out, when);
    expand(out, t, load);
    network(out, t);
    expand(out, t, cut);
    expand(out, t, decide);
    sc_text_add(out, "#else\n");
    expand(out, t, steps);
    sc_text_add(out, "#endif\n}\n");
}

static const char spread[] =
    "SC_INLINE `V sc_spread_`V(const `C *p, sc_i64 bits, `C fill)\n{\n"
    "    `V r = (`V){0} + fill;\n"
    "#if defined(__AVX512F__) && defined(__AVX512VL__)\n"
    "    __asm__(\"`X %1, %0%{%2%}\" : \"+v\"(r) : \"m\"(*(const `Vu *)p), \"Yk\"((unsigned short)bits));\n"
    "#else\n"
    "    for (int k = 0; k < `L; k++)\n"
    "        if (bits >> k & 1) r[k] = *p++;\n"
    "#endif\n"
    "    return r;\n}\n";

/* Registers spread in half the time that memory takes. A whole vector is loaded where it stays in the page of the number
 * in front, which is there: what lies behind the entries is dropped. */
static const char expansion[] =
    "SC_INLINE `V sc_expand_`V(const `C *p, sc_i64 bits)\n{\n"
    "    `V r = {0};\n"
    "#if defined(__AVX512F__) && defined(__AVX512VL__)\n"
    "    if (((__UINTPTR_TYPE__)p & 4095) - 1 < 4096 - sizeof r) {\n"
    "        __asm__(\"`Y %1, %0\" : \"=v\"(r) : \"m\"(*(const `Vu *)p));\n"
    "        __asm__(\"`X %0, %0%{%1%}%{z%}\" : \"+v\"(r) : \"Yk\"((unsigned short)bits));\n"
    "    } else {\n"
    "        __asm__(\"`X %1, %0%{%2%}\" : \"+v\"(r) : \"m\"(*(const `Vu *)p), \"Yk\"((unsigned "
    "short)bits));\n"
    "    }\n"
    "#else\n"
    "    for (int k = 0; k < `L; k++)\n"
    "        if (bits >> k & 1) r[k] = *p++;\n"
    "#endif\n"
    "    return r;\n}\n";

/* Without masks of their own, two instructions make them of bits. */
static const char masked[] =
    "SC_INLINE `V sc_masked_`V(const `C *p, sc_i64 bits)\n{\n"
    "    `V r = {0};\n"
    "#if defined(__AVX512F__) && defined(__AVX512VL__)\n"
    "    __asm__(\"`Y %1, %0%{%2%}%{z%}\" : \"=v\"(r) : \"m\"(*(const `Vu *)p), "
    "\"Yk\"((unsigned short)bits));\n"
    "#elif defined(__AVX2__)\n"
    "    const `K bit = {`P}, in = (bit & (int)bits) != 0;\n"
    "    __asm__(\"`Z %1, %2, %0\" : \"=x\"(r) : \"m\"(*(const `Vu *)p), \"x\"(in));\n"
    "#else\n"
    "    if ((bits & `B) == `B)\n"
    "        r = *(const `Vu *)p;\n"
    "    else\n"
    "        for (int k = 0; k < `L; k++) r[k] = bits >> k & 1 ? p[k] : 0;\n"
    "#endif\n"
    "    return r;\n}\n";

static const char put[] =
    "SC_INLINE void sc_put_`V(`C *p, sc_i64 bits, `V x)\n{\n"
    "#if defined(__AVX512F__) && defined(__AVX512VL__)\n"
    "    __asm__(\"`Y %1, %0%{%2%}\" : \"+m\"(*(`Vu *)p) : \"v\"(x), \"Yk\"((unsigned short)bits));\n"
    "#else\n"
    "    for (int k = 0; k < `L; k++)\n"
    "        if (bits >> k & 1) p[k] = x[k];\n"
    "#endif\n}\n";

static const char extract[] =
    "SC_INLINE sc_i64 sc_extract_i64(sc_i64 x, sc_i64 bits)\n{\n"
    "#ifdef __BMI2__\n"
    "    return (sc_i64)__builtin_ia32_pext_di((unsigned long long)x, (unsigned long long)bits);\n"
    "#else\n"
    "    sc_i64 r = 0;\n"
    "    for (int k = 0; bits; bits &= bits - 1)\n"
    "        r |= (x >> __builtin_ctzll((unsigned long long)bits) & 1) << k++;\n"
    "    return r;\n"
    "#endif\n}\n";

/* Without an instruction, compilers call a function of their own library, which kernels have none of. */
static const char ones[] =
    "SC_INLINE sc_i64 sc_ones_i64(sc_i64 bits)\n{\n"
    "    __UINT64_TYPE__ x = (__UINT64_TYPE__)bits;\n"
    "#if defined(__x86_64__) && !defined(__POPCNT__)\n"
    "    x -= x >> 1 & 0x5555555555555555;\n"
    "    x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);\n"
    "    return (sc_i64)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56);\n"
    "#else\n"
    "    return __builtin_popcountll(x);\n"
    "#endif\n}\n";

void meet_emit(sc_text *out, Helper h, Type t)
{
    static const char *const texts[] = {[H_SPREAD] = spread, [H_EXPAND] = expansion, [H_MASKED] = masked,
                                        [H_PUT] = put,       [H_EXTRACT] = extract,  [H_ONES] = ones};
    if (h == H_MEET)
        meet(out, t);
    else
        expand(out, t, texts[h]);
}

/* maths.c: exp, log, tanh and sigmoid as C text on vectors.
 *
 * One branch-free body per function, filled in for f32 and f64; a scalar call
 * goes through a vector of 16 bytes, so every lane count gives the same bits.
 * Arguments are reduced by Cody and Waite's two-part constants and the rest is
 * a minimax polynomial. NaN stays NaN; infinities, zeros and denormal
 * arguments give what libm gives; denormal results are rounded once. Largest
 * errors against the exact value, with and without fused multiply-add:
 *   exp      1.1 ulp f32, 1.1 ulp f64          log   1.0 ulp, 1.0 ulp
 *   tanh     2 ulp, 2 ulp                      sigmoid  2.5 ulp, 2.5 ulp */
#include "private.h"

#include <string.h>

/* What stands for a key in the bodies below: $e and so on. */
typedef struct {
    char key;
    const char *f32, *f64;
} Word;
static const Word words[] = {
    {'e', "1.44269502f", "1.4426950408889634"},          /* 1 / ln 2 */
    {'h', "0.693359375f", "0x1.62e42feep-1"},            /* ln 2, high part: n times it is exact */
    {'l', "-0.000212194442f", "1.9082149292705877e-10"}, /* ln 2, low part */
    {'r', "12582912.0f", "6755399441055744.0"},          /* 1.5 * 2^mantissa: adding it rounds */
    {'x', "89.0f", "710.0"},                             /* exp overflows below */
    {'n', "-104.0f", "-746.0"},                          /* exp is 0 here */
    {'b', "127", "1023"},                                /* exponent bias */
    {'s', "23", "52"},                                   /* mantissa bits */
    {'k', "0x7fffff", "0xfffffffffffff"},                /* mantissa */
    {'d', "1.17549435e-38f", "2.2250738585072014e-308"}, /* least normal */
    {'g', "8388608.0f", "4503599627370496.0"},           /* 2^mantissa */
    {'w', "23.0f", "52.0"},                              /* its exponent */
    {'q', "0x3f3504f3", "0x3fe6a09e667f3bcd"},           /* bits of sqrt(1/2) */
    {'a', "0x7fffffff", "0x7fffffffffffffff"},           /* all but the sign */
    {'i', "__builtin_inff()", "__builtin_inf()"},
    {'u', "__builtin_nanf(\"\")", "__builtin_nan(\"\")"},
    {'0', "0.0f", "0.0"},
    {'1', "1.0f", "1.0"},
    {'2', "2.0f", "2.0"},
    {'5', "0.5f", "0.5"},
    {'6', "0.625f", "0.625"}};

/* (e^r - 1 - r) / r^2 on [-ln 2 / 2, ln 2 / 2] */
static const char *const exp32[] = {"0.00138145953f", "0.00836871658f", "0.041668389f",
                                    "0.166665211f",   "0.49999994f",    NULL};
static const char *const exp64[] = {"2.5000066533839266e-08",
                                    "2.763024851861588e-07",
                                    "2.7557586357477161e-06",
                                    "2.4801493098530837e-05",
                                    "0.00019841269506598195",
                                    "0.001388888894363045",
                                    "0.0083333333334944526",
                                    "0.041666666666530155",
                                    "0.16666666666666413",
                                    "0.50000000000000111",
                                    NULL};
/* (2 atanh(s) - 2 s) / s^3 in s^2, for 1 + f = (1 + s) / (1 - s) between sqrt(1/2) and sqrt(2) */
static const char *const log32[] = {"0.298730731f", "0.399774969f", "0.666667759f", NULL};
static const char *const log64[] = {
    "0.14797506411227676", "0.15313903390331188", "0.18183569733640267", "0.22222198476114058",
    "0.28571428743261396", "0.39999999999411096", "0.66666666666667351", NULL};
/* (tanh a - a) / a^3 in a^2 on [0, 0.625] */
static const char *const tanh32[] = {"-0.00570498779f", "0.020639088f",  "-0.0537397154f",
                                     "0.133314416f",    "-0.333332807f", NULL};
static const char *const tanh64[] = {"6.0424703850561471e-06",
                                     "-3.0187225726362245e-05",
                                     "9.1558417568663193e-05",
                                     "-0.00023701173386692572",
                                     "0.00058945180047546191",
                                     "-0.0014557259484943397",
                                     "0.0035921139999590714",
                                     "-0.0088632343125895994",
                                     "0.021869488468716339",
                                     "-0.053968253966058949",
                                     "0.13333333333329742",
                                     "-0.33333333333333315",
                                     NULL};

/* Keys beside those above: $V the vector type, $I integers of its width, $P(v) the polynomial p in v. */
static const char exp_body[] =
    "    /* x = n ln 2 + r; the scale 2^n comes in two factors, so that denormals round once */\n"
    "    const $V top = ($V){0} + $x, bottom = ($V){0} + $n, magic = ($V){0} + $r;\n"
    "    const $I high = ($I)(x > top), low = ($I)(x < bottom);\n"
    "    x = ($V)((high & ($I)top) | (~high & ($I)x));\n"
    "    x = ($V)((low & ($I)bottom) | (~low & ($I)x));\n"
    "    const $V t = x * $e + magic, n = t - magic;\n"
    "    const $V r = x - n * $h - n * $l;\n"
    "    $V p = $P(r);\n"
    "    const $V e = $1 + (r + r * r * p);\n"
    "    const $I k = ($I)t - ($I)magic, half = k >> 1;\n"
    "    return e * ($V)((half + $b) << $s) * ($V)((k - half + $b) << $s);\n";

static const char log_body[] =
    "    /* x = 2^n (1 + f), s = f / (2 + f); denormals are scaled up first */\n"
    "    const $V inf = ($V){0} + $i, nan = ($V){0} + $u;\n"
    "    const $I tiny = ($I)(x < $d);\n"
    "    const $V y = ($V)((tiny & ($I)(x * $g)) | (~tiny & ($I)x));\n"
    "    const $I bits = (($I)y & $a) - $q;\n"
    "    const $V n = __builtin_convertvector(bits >> $s, $V) - ($V)(tiny & ($I)(($V){0} + $w));\n"
    "    const $V f = ($V)((bits & $k) + $q) - $1;\n"
    "    const $V s = f / ($2 + f), z = s * s, h = $5 * f * f;\n"
    "    $V p = $P(z);\n"
    "    const $V r = n * $h - ((h - (s * (h + z * p) + n * $l)) - f);\n"
    "    const $I fine = ($I)(x > $0) & ($I)(x < inf), zero = ($I)(x == $0), minus = ($I)(x < $0);\n"
    "    const $I odd = (zero & ($I)-inf) | (minus & ($I)nan) | (~(zero | minus) & ($I)x);\n"
    "    return ($V)((fine & ($I)r) | (~fine & odd));\n";

static const char tanh_body[] =
    "    const $V a = ($V)(($I)x & $a), z = a * a;\n"
    "    $V p = $P(z);\n"
    "    const $V near = a + a * (z * p), far = $1 - $2 / (sc_exp_$N(a + a) + $1);\n"
    "    const $I small = ($I)(a < $6), sign = ($I)x ^ ($I)a;\n"
    "    return ($V)((small & ($I)near) | (~small & ($I)far) | sign);\n";

static const char sigmoid_body[] =
    "    /* e^-|x| never overflows */\n"
    "    const $V e = sc_exp_$N(-($V)(($I)x & $a));\n"
    "    const $I minus = ($I)(x < $0);\n"
    "    return ($V)((minus & ($I)e) | (~minus & ($I)(($V){0} + $1))) / ($1 + e);\n";

/* "v * c + c; p = p * v + c; ...", a line each; the body ends the last statement. at: "v)" */
static const char *polynomial(sc_text *out, const char *const *c, const char *at)
{
    sc_text_add(out, "%c * %s + %s", at[0], c[0], c[1]);
    for (c += 2; *c; c++) sc_text_add(out, ";\n    p = p * %c + %s", at[0], *c);
    return at + 1;
}

static void fill(sc_text *out, const char *s, Type t, const char *const *coefficients)
{
    bool f32 = t.dtype == SC_F32;
    for (; *s; s++) {
        if (*s != '$') {
            sc_text_addn(out, s, 1);
            continue;
        }
        s++;
        if (*s == 'V' || *s == 'N')
            c_type(out, t);
        else if (*s == 'I')
            c_type(out, type_mask(f32 ? 4 : 8, t.lanes));
        else if (*s == 'P')
            s = polynomial(out, coefficients, s + 2);
        for (int k = 0; k < SC_LEN(words); k++)
            if (words[k].key == *s) sc_text_add(out, "%s", f32 ? words[k].f32 : words[k].f64);
    }
}

void maths_emit(sc_text *out, Op op, Type t)
{
    static const struct {
        const char *body;
        const char *const *f32, *const *f64;
    } f[] = {{exp_body, exp32, exp64},
             {log_body, log32, log64},
             {tanh_body, tanh32, tanh64},
             {sigmoid_body, NULL, NULL}};
    const char *name = op_info(op)->text, *type = sc_dtype_name((sc_dtype)t.dtype);
    if (t.lanes == 1) {
        const char *wide = t.dtype == SC_F32 ? "f32x4" : "f64x2",
                   *x = t.dtype == SC_F32 ? "x, x, x, x" : "x, x";
        sc_text_add(out, "static inline %s sc_%s_%s(%s x) { return sc_%s_%s((%s){%s})[0]; }\n",
                    c_scalar(t.dtype), name, type, c_scalar(t.dtype), name, wide, wide, x);
        return;
    }
    int k = (int)op - O_EXP;
    fill(out, "static inline $V ", t, NULL);
    sc_text_add(out, "sc_%s_", name);
    fill(out, "$N($V x)\n{\n", t, NULL);
    fill(out, f[k].body, t, t.dtype == SC_F32 ? f[k].f32 : f[k].f64);
    sc_text_add(out, "}\n");
}

/* test_dtype.c: 16 bit numbers, every one of them, and what rounds to them. */
#include <math.h>
#include <stdio.h>

#include "../../csrc/base.h"

static int failed;

static void expect(bool ok, const char *what, unsigned bits)
{
    if (ok) return;
    failed++;
    printf("FAILED %s: %04x\n", what, bits);
}

static double exact(unsigned h)
{
    int exponent = (int)(h >> 10 & 31);
    double fraction = h & 1023, x;
    if (exponent == 31)
        x = fraction != 0 ? NAN : INFINITY;
    else
        x = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return h & 0x8000 ? -x : x;
}

/* A number between two neighbours goes to the nearer, halfway to the even one. */
static void check_between(sc_dtype t, unsigned h)
{
    double lo = (double)sc_half_get(t, (uint16_t)h), hi = (double)sc_half_get(t, (uint16_t)(h + 1));
    if (!isfinite(lo) || !isfinite(hi)) return;
    double middle = (lo + hi) / 2;
    unsigned even = h & 1 ? h + 1 : h;
    expect(sc_half_put(t, (float)middle) == even, "halfway", h);
    expect(sc_half_put(t, nextafterf((float)middle, INFINITY)) == (hi > lo ? h + 1 : h), "above halfway", h);
    expect(sc_half_put(t, nextafterf((float)middle, -INFINITY)) == (hi > lo ? h : h + 1), "below halfway", h);
}

/* What an integer type does not hold becomes its nearest number. */
static void check_saturation(void)
{
    static const struct {
        sc_dtype type;
        double lowest, highest;
    } integers[] = {{SC_I16, -32768, 32767},
                    {SC_I32, -2147483648, 2147483647},
                    {SC_I64, -9223372036854775808.0, 9223372036854775807.0},
                    {SC_BOOL, 1, 1}};
    for (int k = 0; k < SC_LEN(integers); k++) {
        int64_t array = 0;
        const sc_dtype t = integers[k].type;
        sc_number_put(t, &array, 0, 1e30);
        expect(sc_number_get(t, &array, 0) == integers[k].highest, "above the highest", (unsigned)t);
        sc_number_put(t, &array, 0, -1e30);
        expect(sc_number_get(t, &array, 0) == integers[k].lowest, "below the lowest", (unsigned)t);
        sc_number_put(t, &array, 0, (double)NAN);
        expect(t == SC_BOOL || sc_number_get(t, &array, 0) == 0, "not a number", (unsigned)t);
    }
}

/* Sums of 16 bit floats are made in f32, those of truth values and short integers in i64. */
static void check_types(void)
{
    static const sc_dtype computed[SC_NDTYPE] = {SC_I64, SC_I64, SC_I32, SC_I64,
                                                 SC_F32, SC_F32, SC_F32, SC_F64};
    for (sc_dtype t = SC_BOOL; t < SC_NDTYPE; t++) {
        expect(sc_dtype_computed(t) == computed[t], "type that is computed in", (unsigned)t);
        for (sc_dtype u = SC_BOOL; u < SC_NDTYPE; u++) {
            const bool halves = (t == SC_F16 && u == SC_BF16) || (t == SC_BF16 && u == SC_F16);
            expect(sc_dtype_promote(t, u) == (halves ? SC_F32 : t > u ? t : u), "promotion", (unsigned)t);
        }
    }
}

int main(void)
{
    check_types();
    check_saturation();
    for (unsigned h = 0; h < 0x10000; h++) {
        double x = (double)sc_half_get(SC_F16, (uint16_t)h), y = exact(h);
        expect(isnan(y) ? isnan(x) : x == y && signbit(x) == signbit(y), "value of f16", h);
        for (sc_dtype t = SC_F16; t <= SC_BF16; t++) {
            float v = sc_half_get(t, (uint16_t)h);
            uint16_t back = sc_half_put(t, v);
            expect(isnan(v) ? isnan(sc_half_get(t, back)) : back == h, "round trip", h);
            if ((h & 0x7fff) != 0x7fff) check_between(t, h);
        }
    }
    expect(sc_half_put(SC_F16, 65519.996f) == 0x7bff, "largest f16", 0x7bff);
    expect(sc_half_put(SC_F16, 65520.0f) == 0x7c00, "overflow of f16", 0x7c00);
    expect(sc_half_put(SC_BF16, -INFINITY) == 0xff80, "infinity of bf16", 0xff80);
    return failed != 0;
}

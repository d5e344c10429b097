/* dtype.c: numbers of every type: their sizes and names, in memory, and what they are computed in. */
#include <limits.h>
#include <string.h>

#include "base.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[SC_NDTYPE] = {{"bool", 1}, {"i16", 2},  {"i32", 4}, {"i64", 8},
                       {"f16", 2},  {"bf16", 2}, {"f32", 4}, {"f64", 8}};

size_t sc_dtype_size(sc_dtype t) { return dtypes[t].size; }
const char *sc_dtype_name(sc_dtype t) { return dtypes[t].name; }

/* As torch promotes tensors of at least one dimension: floats before integers, then the wider. */
sc_dtype sc_dtype_promote(sc_dtype a, sc_dtype b)
{
    if ((a == SC_F16 && b == SC_BF16) || (a == SC_BF16 && b == SC_F16)) return SC_F32;
    return a > b ? a : b;
}

sc_dtype sc_dtype_computed(sc_dtype t)
{
    if (t == SC_F16 || t == SC_BF16) return SC_F32;
    return t == SC_BOOL || t == SC_I16 ? SC_I64 : t;
}

/* ---- 16 bits ---- */
/* IEEE 754 binary16: 5 bits of exponent with bias 15; bfloat16: the upper half of a binary32. */
static uint32_t widened(uint32_t h)
{
    uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 31) return 0x7f800000 | fraction << 13;
    if (exponent) return (exponent + 112) << 23 | fraction << 13;
    if (!fraction) return 0;
    uint32_t shift = (uint32_t)__builtin_clz(fraction) - 21;
    return (113 - shift) << 23 | (fraction << (13 + shift) & 0x7fffff);
}

float sc_half_get(sc_dtype t, uint16_t h)
{
    uint32_t bits = t == SC_BF16 ? (uint32_t)h << 16 : (uint32_t)(h & 0x8000) << 16 | widened(h & 0x7fff);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x >> n, rounded to nearest, ties to even. */
static uint32_t shift_even(uint32_t x, uint32_t n)
{
    uint32_t half = 1u << (n - 1), odd = x >> n & 1;
    return (x + half - 1 + odd) >> n;
}

static uint32_t narrowed(uint32_t x)
{
    if (x > 0x7f800000) return 0x7e00;
    if (x >= 0x47800000) return 0x7c00; /* 2^16 and more */
    if (x >= 0x38800000) return shift_even(x - 0x38000000, 13);
    uint32_t shift = 126 - (x >> 23); /* below 2^-14: a multiple of 2^-24 */
    return shift > 24 ? 0 : shift_even((x & 0x7fffff) | 0x800000, shift);
}

uint16_t sc_half_put(sc_dtype t, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (t == SC_F16) return (uint16_t)(sign | narrowed(rest));
    return (uint16_t)(sign | (rest > 0x7f800000 ? 0x7fc0 : shift_even(rest, 16)));
}

/* ---- any type ---- */
static int64_t saturated(double v, int64_t lo, int64_t hi)
{
    if (v != v) return 0;
    return v <= (double)lo ? lo : v >= (double)hi ? hi : (int64_t)v;
}

double sc_number_get(sc_dtype t, const void *p, int64_t i)
{
    switch (t) {
    case SC_BOOL: return ((const uint8_t *)p)[i] != 0;
    case SC_I16: return ((const int16_t *)p)[i];
    case SC_I32: return ((const int32_t *)p)[i];
    case SC_I64: return (double)((const int64_t *)p)[i];
    case SC_F32: return (double)((const float *)p)[i];
    case SC_F64: return ((const double *)p)[i];
    case SC_F16:
    case SC_BF16: return (double)sc_half_get(t, ((const uint16_t *)p)[i]);
    case SC_NDTYPE: break;
    }
    return 0;
}

void sc_number_put(sc_dtype t, void *p, int64_t i, double v)
{
    switch (t) {
    case SC_BOOL: ((uint8_t *)p)[i] = v != 0; break;
    case SC_I16: ((int16_t *)p)[i] = (int16_t)saturated(v, INT16_MIN, INT16_MAX); break;
    case SC_I32: ((int32_t *)p)[i] = (int32_t)saturated(v, INT32_MIN, INT32_MAX); break;
    case SC_I64: ((int64_t *)p)[i] = saturated(v, INT64_MIN, INT64_MAX); break;
    case SC_F32: ((float *)p)[i] = (float)v; break;
    case SC_F64: ((double *)p)[i] = v; break;
    case SC_F16:
    case SC_BF16: ((uint16_t *)p)[i] = sc_half_put(t, (float)v); break;
    case SC_NDTYPE: break;
    }
}

double sc_number_as(sc_dtype t, double v)
{
    int64_t array = 0; /* of one element of any type */
    sc_number_put(t, &array, 0, v);
    return sc_number_get(t, &array, 0);
}

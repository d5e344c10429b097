/* Rounds each operation. */
/* Computes
 *   y[i] max= 0 - A[i,j] * A[i,j] - x[j] * x[j]
 * with
 *   A: bitmask f64, indices i64
 *   x: dense f64
 *   y: dense f64
 * by
 *   par i in A {
 *     work c: reg f64 {
 *       vec j in A {
 *         c max= 0 - A[i,j] * A[i,j] - x[j] * x[j]
 *       }
 *     } then {
 *       y[i] = c
 *     }
 *   }
 */
typedef sc_i64 i64x2 __attribute__((vector_size(16)));
typedef sc_i64 i64x4 __attribute__((vector_size(32)));
typedef sc_i64 i64x8 __attribute__((vector_size(64)));
typedef double f64x2 __attribute__((vector_size(16)));
typedef double f64x4 __attribute__((vector_size(32)));
typedef double f64x8 __attribute__((vector_size(64)));
typedef double f64x8u __attribute__((vector_size(64), aligned(8), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f64x8 sc_splat_f64x8(double x) { return (f64x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f64x8 sc_select_f64x8(i64x8 m, f64x8 a, f64x8 b)
{
    return (f64x8)((m & (i64x8)a) | (~m & (i64x8)b));
}
SC_INLINE f64x8 sc_max_f64x8(f64x8 a, f64x8 b)
{
    i64x8 m = (i64x8)(a > b) | (i64x8)(a != a);
    return (f64x8)((m & (i64x8)a) | (~m & (i64x8)b));
}
SC_INLINE f64x4 sc_max_f64x4(f64x4 a, f64x4 b)
{
    i64x4 m = (i64x4)(a > b) | (i64x4)(a != a);
    return (f64x4)((m & (i64x4)a) | (~m & (i64x4)b));
}
SC_INLINE f64x2 sc_max_f64x2(f64x2 a, f64x2 b)
{
    i64x2 m = (i64x2)(a > b) | (i64x2)(a != a);
    return (f64x2)((m & (i64x2)a) | (~m & (i64x2)b));
}
SC_INLINE double sc_max_f64(double a, double b)
{
    const double r = a > b ? a : b;
    return a >= a ? r : a;
}
SC_INLINE i64x8 sc_bits_i64x8(sc_i64 bits)
{
    return (i64x8)((((i64x8){0} + (sc_i64)bits) &
                    (i64x8){1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7}) != 0);
}
SC_INLINE double sc_hmax_f64x8(f64x8 v)
{
    f64x4 v4 = sc_max_f64x4((f64x4){v[0], v[1], v[2], v[3]}, (f64x4){v[4], v[5], v[6], v[7]});
    f64x2 v2 = sc_max_f64x2((f64x2){v4[0], v4[1]}, (f64x2){v4[2], v4[3]});
    return sc_max_f64(v2[0], v2[1]);
}
SC_INLINE f64x8 sc_masked_f64x8(const double *p, sc_i64 bits)
{
    f64x8 r = {0};
#if defined(__AVX512F__) && defined(__AVX512VL__)
    __asm__("vmovupd %1, %0%{%2%}%{z%}" : "=v"(r) : "m"(*(const f64x8u *)p), "Yk"((unsigned short)bits));
#elif defined(__AVX2__)
    const i64x8 bit = {1, 2, 4, 8, 16, 32, 64, 128}, in = (bit & (int)bits) != 0;
    __asm__("vmaskmovpd %1, %2, %0" : "=x"(r) : "m"(*(const f64x8u *)p), "x"(in));
#else
    if ((bits & 255) == 255)
        r = *(const f64x8u *)p;
    else
        for (int k = 0; k < 8; k++) r[k] = bits >> k & 1 ? p[k] : 0;
#endif
    return r;
}
SC_INLINE f64x8 sc_expand_f64x8(const double *p, sc_i64 bits)
{
    f64x8 r = {0};
#if defined(__AVX512F__) && defined(__AVX512VL__)
    if (((__UINTPTR_TYPE__)p & 4095) - 1 < 4096 - sizeof r) {
        __asm__("vmovupd %1, %0" : "=v"(r) : "m"(*(const f64x8u *)p));
        __asm__("vexpandpd %0, %0%{%1%}%{z%}" : "+v"(r) : "Yk"((unsigned short)bits));
    } else {
        __asm__("vexpandpd %1, %0%{%2%}" : "+v"(r) : "m"(*(const f64x8u *)p), "Yk"((unsigned short)bits));
    }
#else
    for (int k = 0; k < 8; k++)
        if (bits >> k & 1) r[k] = *p++;
#endif
    return r;
}
SC_INLINE sc_i64 sc_ones_i64(sc_i64 bits)
{
    __UINT64_TYPE__ x = (__UINT64_TYPE__)bits;
#if defined(__x86_64__) && !defined(__POPCNT__)
    x -= x >> 1 & 0x5555555555555555;
    x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
    return (sc_i64)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56);
#else
    return __builtin_popcountll(x);
#endif
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    const sc_i64 *restrict const A_crd1 = call->view[0].level[1].crd;
    const sc_i64 *restrict const A_pos1 = call->view[0].level[1].pos;
    const double *restrict const x_val = call->view[1].val;
    const double *restrict const A_val = call->view[0].val;
    double *restrict const y_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c: reg f64 */
        double c = -__builtin_inf();
        const sc_i64 words = (j_dim + 31) / 32;
        const sc_i64 lo = i * words;
        /* vec j in A { c max= 0 - A[i,j] * A[i,j] - x[j] * x[j] } */
        f64x8 sum = sc_splat_f64x8(-__builtin_inf());
        f64x8 sum_1 = sc_splat_f64x8(-__builtin_inf());
        for (sc_i64 w = lo; w < lo + words; w++) {
            const sc_i64 first = A_pos1[w];
            const sc_i64 word = A_crd1[w] & 4294967295;
            const sc_i64 j = (w - lo) * 32;
            const sc_i64 bits = word & 255;
            const f64x8 entry_1 = sc_expand_f64x8(&A_val[first], bits);
            sum = sc_max_f64x8(sum, sc_select_f64x8(sc_bits_i64x8(bits),
                                                    (f64x8){0} - entry_1 * entry_1 -
                                                    sc_masked_f64x8(&x_val[j], bits) *
                                                    sc_masked_f64x8(&x_val[j], bits),
                                                    sc_splat_f64x8(-__builtin_inf())));
            const sc_i64 bits_1 = (word >> 8) & 255;
            const f64x8 entry_2 = sc_expand_f64x8(&A_val[first + sc_ones_i64(word & 255)], bits_1);
            sum_1 = sc_max_f64x8(sum_1,
                                 sc_select_f64x8(sc_bits_i64x8(bits_1),
                                                 (f64x8){0} - entry_2 * entry_2 -
                                                 sc_masked_f64x8(&x_val[j + 8], bits_1) *
                                                 sc_masked_f64x8(&x_val[j + 8], bits_1),
                                                 sc_splat_f64x8(-__builtin_inf())));
            const sc_i64 bits_2 = (word >> 16) & 255;
            const f64x8 entry_3 = sc_expand_f64x8(&A_val[first + sc_ones_i64(word & 65535)], bits_2);
            sum = sc_max_f64x8(sum, sc_select_f64x8(sc_bits_i64x8(bits_2),
                                                    (f64x8){0} - entry_3 * entry_3 -
                                                    sc_masked_f64x8(&x_val[j + 16], bits_2) *
                                                    sc_masked_f64x8(&x_val[j + 16], bits_2),
                                                    sc_splat_f64x8(-__builtin_inf())));
            const sc_i64 bits_3 = (word >> 24) & 255;
            const f64x8 entry_4 = sc_expand_f64x8(&A_val[first + sc_ones_i64(word & 16777215)], bits_3);
            sum_1 = sc_max_f64x8(sum_1,
                                 sc_select_f64x8(sc_bits_i64x8(bits_3),
                                                 (f64x8){0} - entry_4 * entry_4 -
                                                 sc_masked_f64x8(&x_val[j + 24], bits_3) *
                                                 sc_masked_f64x8(&x_val[j + 24], bits_3),
                                                 sc_splat_f64x8(-__builtin_inf())));
        }
        c = sc_max_f64(c, sc_hmax_f64x8(sc_max_f64x8(sum, sum_1)));
        /* y[i] = c */
        y_val[i] = c;
    }
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    1, {body}};

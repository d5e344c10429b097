/* Rounds each operation. */
/* Computes
 *   y[i] max= A[i,j] + x[j]
 * with
 *   A: dia(16) f64, indices i64
 *   x: dense f64
 *   y: dense f64
 * by
 *   par i in A batch 64 {
 *     work c: reg f64 {
 *       for j in A {
 *         c max= A[i,j] + x[j]
 *       }
 *     } then {
 *       y[i] = c
 *     }
 *   }
 */
typedef sc_i64 i64x8 __attribute__((vector_size(64)));
typedef double f64x8 __attribute__((vector_size(64)));
typedef double f64x8u __attribute__((vector_size(64), aligned(8), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f64x8 sc_splat_f64x8(double x) { return (f64x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f64x8 sc_load_f64x8(const double *p) { return *(const f64x8u *)p; }
SC_INLINE void sc_store_f64x8(double *p, f64x8 x) { *(f64x8u *)p = x; }
SC_INLINE f64x8 sc_select_f64x8(i64x8 m, f64x8 a, f64x8 b)
{
    return (f64x8)((m & (i64x8)a) | (~m & (i64x8)b));
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE f64x8 sc_max_f64x8(f64x8 a, f64x8 b)
{
    i64x8 m = (i64x8)(a > b) | (i64x8)(a != a);
    return (f64x8)((m & (i64x8)a) | (~m & (i64x8)b));
}
SC_INLINE i64x8 sc_bits_i64x8(sc_i64 bits)
{
    return (i64x8)((((i64x8){0} + (sc_i64)bits) &
                    (i64x8){1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7}) != 0);
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

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    double *restrict const c_terms = lane->scratch;
    const sc_i64 *restrict const A_crd1 = call->view[0].level[1].crd;
    const sc_i64 *restrict const A_pos1 = call->view[0].level[1].pos;
    const double *restrict const A_val = call->view[0].val;
    const double *restrict const x_val = call->view[1].val;
    double *restrict const y_val = call->view[2].val;

    /* par i in A batch 64 */
    sc_i64 from = begin;
    while (from < end) {
        const sc_i64 slice = from / 16;
        const sc_i64 first = slice * 16;
        const sc_i64 end_1 = sc_min_i64(end, first + 1024);
        const sc_i64 count = end_1 - first;
        /* the sums of whole slices, a lane each row */
        for (sc_i64 at = 0; at < count; at += 16) {
            const sc_i64 s = slice + at / 16;
            const sc_i64 first_1 = s * 16;
            const sc_i64 A_lo = A_pos1[s];
            const sc_i64 A_hi = A_pos1[s + 1];
            f64x8 sum = sc_splat_f64x8(-__builtin_inf());
            f64x8 sum_1 = sc_splat_f64x8(-__builtin_inf());
            /* for j in A */
            for (sc_i64 q = A_lo; q < A_hi; q++) {
                const sc_i64 at_1 = A_crd1[q * 2] + first_1;
                const sc_i64 rows = A_crd1[q * 2 + 1];
                const sc_i64 ahead = q * 16 - at_1;
                /* c max= A[i,j] + x[j] */
                sum = sc_max_f64x8(sum,
                                   sc_select_f64x8(sc_bits_i64x8(rows),
                                                   sc_load_f64x8(&A_val[ahead + at_1]) +
                                                   sc_masked_f64x8(&x_val[at_1], rows),
                                                   sc_splat_f64x8(-__builtin_inf())));
                sum_1 = sc_max_f64x8(sum_1,
                                     sc_select_f64x8(sc_bits_i64x8(rows >> 8),
                                                     sc_load_f64x8(&A_val[ahead + at_1 + 8]) +
                                                     sc_masked_f64x8(&x_val[at_1 + 8], rows >> 8),
                                                     sc_splat_f64x8(-__builtin_inf())));
            }
            sc_store_f64x8(&c_terms[at], sum);
            sc_store_f64x8(&c_terms[at + 8], sum_1);
        }
        const sc_i64 whole = end_1 - (end_1 - from) % 8;
        for (sc_i64 u = from; u < whole; u += 8) {
            const f64x8 sum = sc_load_f64x8(&c_terms[u - first]);
            /* work c: reg f64 */
            f64x8 c = sum;
            /* y[i] = c */
            sc_store_f64x8(&y_val[u], c);
        }
        for (sc_i64 u = whole; u < end_1; u++) {
            const double sum = c_terms[u - first];
            double c = sum;
            y_val[u] = c;
        }
        from = end_1;
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

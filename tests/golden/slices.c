/* Computes
 *   y[i] = A[i,j] * x[j]
 * with
 *   A: dia(16) f32, indices i32
 *   x: dense f32
 *   y: dense f32
 * by
 *   par i in A batch 64 {
 *     work c: reg f32 {
 *       for j in A {
 *         c += A[i,j] * x[j]
 *       }
 *     } then {
 *       y[i] = c
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE f32x16 sc_select_f32x16(i32x16 m, f32x16 a, f32x16 b)
{
    return (f32x16)((m & (i32x16)a) | (~m & (i32x16)b));
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE i32x16 sc_bits_i32x16(sc_i64 bits)
{
    return (i32x16)((((i32x16){0} + (int)bits) &
                     (i32x16){1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8, 1 << 9,
                              1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15}) != 0);
}
SC_INLINE f32x16 sc_masked_f32x16(const float *p, sc_i64 bits)
{
    f32x16 r = {0};
#if defined(__AVX512F__) && defined(__AVX512VL__)
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(r) : "m"(*(const f32x16u *)p), "Yk"((unsigned short)bits));
#elif defined(__AVX2__)
    const i32x16 bit = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768},
        in = (bit & (int)bits) != 0;
    __asm__("vmaskmovps %1, %2, %0" : "=x"(r) : "m"(*(const f32x16u *)p), "x"(in));
#else
    if ((bits & 65535) == 65535)
        r = *(const f32x16u *)p;
    else
        for (int k = 0; k < 16; k++) r[k] = bits >> k & 1 ? p[k] : 0;
#endif
    return r;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    float *restrict const c_terms = lane->scratch;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const x_val = call->view[1].val;
    float *restrict const y_val = call->view[2].val;

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
            const sc_i64 A_lo = (sc_i64)A_pos1[s];
            const sc_i64 A_hi = (sc_i64)A_pos1[s + 1];
            f32x16 sum = (f32x16){0};
            /* for j in A */
            for (sc_i64 q = A_lo; q < A_hi; q++) {
                const sc_i64 at_1 = (sc_i64)A_crd1[q * 2] + first_1;
                const sc_i64 rows = (sc_i64)A_crd1[q * 2 + 1];
                const sc_i64 ahead = q * 16 - at_1;
                /* c += A[i,j] * x[j] */
                sum = sum + sc_select_f32x16(sc_bits_i32x16(rows),
                                             sc_load_f32x16(&A_val[ahead + at_1]) *
                                             sc_masked_f32x16(&x_val[at_1], rows), (f32x16){0});
            }
            sc_store_f32x16(&c_terms[at], sum);
        }
        const sc_i64 whole = end_1 - (end_1 - from) % 16;
        for (sc_i64 u = from; u < whole; u += 16) {
            const f32x16 sum = sc_load_f32x16(&c_terms[u - first]);
            /* work c: reg f32 */
            f32x16 c = sum;
            /* y[i] = c */
            sc_store_f32x16(&y_val[u], c);
        }
        for (sc_i64 u = whole; u < end_1; u++) {
            const float sum = c_terms[u - first];
            float c = sum;
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

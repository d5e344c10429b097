/* Computes
 *   y[i] = A[i,j] * x[j]
 * with
 *   A: sell(8,64) f32, indices i32
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
typedef int i32x8 __attribute__((vector_size(32)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }
SC_INLINE f32x8 sc_select_f32x8(i32x8 m, f32x8 a, f32x8 b)
{
    return (f32x8)((m & (i32x8)a) | (~m & (i32x8)b));
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE i32x8 sc_bits_i32x8(sc_i64 bits)
{
    return (i32x8)((((i32x8){0} + (int)bits) &
                    (i32x8){1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7}) != 0);
}
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }
SC_INLINE f32x8 sc_pick_f32x8(const float *p, sc_i64 s, const int *c)
{
    const sc_i64 c0 = sc_pair_i32(c + 0);
    const sc_i64 c2 = sc_pair_i32(c + 2);
    const sc_i64 c4 = sc_pair_i32(c + 4);
    const sc_i64 c6 = sc_pair_i32(c + 6);
    return (f32x8){p[(c0 & 0xffffffff) * s], p[(c0 >> 32) * s], p[(c2 & 0xffffffff) * s], p[(c2 >> 32) * s],
                   p[(c4 & 0xffffffff) * s], p[(c4 >> 32) * s], p[(c6 & 0xffffffff) * s], p[(c6 >> 32) * s]};
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
        const sc_i64 window = from / 64;
        const sc_i64 at = window * 73;
        const sc_i64 first = window * 64;
        const sc_i64 end_1 = sc_min_i64(end, first + 64);
        /* the sums of a window's slices, a lane each row */
        for (sc_i64 s = 0; s < 8; s++) {
            const sc_i64 A_lo = (sc_i64)A_pos1[at + s];
            const sc_i64 A_hi = (sc_i64)A_pos1[at + s + 1];
            f32x8 sum = (f32x8){0};
            /* for j in A */
            for (sc_i64 q = A_lo; q < A_hi; q++) {
                const sc_i64 rows = (sc_i64)A_crd1[q * 9];
                const sc_i64 p = q * 8;
                const sc_i64 at_1 = q * 9 + 1;
                /* c += A[i,j] * x[j] */
                sum = sum + sc_select_f32x8(sc_bits_i32x8(rows),
                                            sc_load_f32x8(&A_val[p]) * sc_pick_f32x8(x_val, 1, &A_crd1[at_1]),
                                            (f32x8){0});
            }
            sc_store_f32x8(&c_terms[s * 8], sum);
        }
        const sc_i64 before = first - at - 9;
        const sc_i64 whole = end_1 - (end_1 - from) % 8;
        for (sc_i64 u = from; u < whole; u += 8) {
            const f32x8 sum = sc_pick_f32x8(c_terms, 1, &A_pos1[u - before]);
            /* work c: reg f32 */
            f32x8 c = sum;
            /* y[i] = c */
            sc_store_f32x8(&y_val[u], c);
        }
        for (sc_i64 u = whole; u < end_1; u++) {
            const float sum = c_terms[(sc_i64)A_pos1[u - before]];
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

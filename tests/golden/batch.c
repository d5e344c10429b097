/* Computes
 *   C[i,j] = T[i,j,k] * x[k] * y[i]
 * with
 *   T: csf f64, indices i32
 *   x: dense f32
 *   y: dense f64
 *   C: dcsr f64, indices i32
 * by
 *   par i in T {
 *     for j in T batch 3 {
 *       work s: reg f64 {
 *         for k in T {
 *           s += T[i,j,k] * x[k] * y[i]
 *         }
 *       } then {
 *         C[i,j] = s
 *       }
 *     }
 *   }
 */
typedef int i32x4 __attribute__((vector_size(16)));
typedef sc_i64 i64x4 __attribute__((vector_size(32)));
typedef sc_i64 i64x8 __attribute__((vector_size(64)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef double f64x4 __attribute__((vector_size(32)));
typedef double f64x4u __attribute__((vector_size(32), aligned(8), may_alias));
typedef double f64x8 __attribute__((vector_size(64)));
typedef double f64x8u __attribute__((vector_size(64), aligned(8), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f64x4 sc_splat_f64x4(double x) { return (f64x4){x, x, x, x}; }
SC_INLINE f64x8 sc_load_f64x8(const double *p) { return *(const f64x8u *)p; }
SC_INLINE f64x4 sc_load_f64x4(const double *p) { return *(const f64x4u *)p; }
SC_INLINE void sc_store_f64x4(double *p, f64x4 x) { *(f64x4u *)p = x; }
SC_INLINE f64x8 sc_select_f64x8(i64x8 m, f64x8 a, f64x8 b)
{
    return (f64x8)((m & (i64x8)a) | (~m & (i64x8)b));
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE i64x8 sc_first_i64x8(sc_i64 n)
{
    return (i64x8)((i64x8){0, 1, 2, 3, 4, 5, 6, 7} < (sc_i64)n);
}
SC_INLINE f64x8 sc_even_f64x8(f64x8 a, f64x8 b)
{
    return (f64x8){a[0], a[2], a[4], a[6], b[0], b[2], b[4], b[6]};
}
SC_INLINE f64x8 sc_odd_f64x8(f64x8 a, f64x8 b)
{
    return (f64x8){a[1], a[3], a[5], a[7], b[1], b[3], b[5], b[7]};
}
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }
SC_INLINE f32x4 sc_pick_f32x4(const float *p, sc_i64 s, const int *c)
{
    const sc_i64 c0 = sc_pair_i32(c + 0);
    const sc_i64 c2 = sc_pair_i32(c + 2);
    return (f32x4){p[(c0 & 0xffffffff) * s], p[(c0 >> 32) * s], p[(c2 & 0xffffffff) * s], p[(c2 >> 32) * s]};
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    double *restrict const s_terms = lane->scratch;
    const int *restrict const T_crd0 = call->view[0].level[0].crd;
    const int *restrict const T_pos1 = call->view[0].level[1].pos;
    const int *restrict const T_pos2 = call->view[0].level[2].pos;
    const int *restrict const T_crd2 = call->view[0].level[2].crd;
    const double *restrict const T_val = call->view[0].val;
    const float *restrict const x_val = call->view[1].val;
    const double *restrict const y_val = call->view[2].val;
    double *restrict const C_val = call->view[3].val;

    /* par i in T */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 i = (sc_i64)T_crd0[p];
        /* for j in T batch 3 */
        const sc_i64 T_lo = (sc_i64)T_pos1[p];
        const sc_i64 T_hi = (sc_i64)T_pos1[p + 1];
        sc_i64 from = T_lo;
        while (from < T_hi) {
            const sc_i64 T_first = (sc_i64)T_pos2[from];
            sc_i64 to = sc_min_i64(from + 3, T_hi);
            while (2048 < (sc_i64)T_pos2[to] - T_first) {
                to = from + (to - from) / 2;
            }
            const sc_i64 T_last = (sc_i64)T_pos2[to];
            const sc_i64 whole = T_last - (T_last - T_first) % 8;
            /* what the entries of all units add */
            for (sc_i64 p_1 = T_first; p_1 < whole; p_1 += 8) {
                /* s += T[i,j,k] * x[k] * y[i] */
                const double y = y_val[i];
                const f64x4 term = sc_load_f64x4(&T_val[p_1]) *
                    __builtin_convertvector(sc_pick_f32x4(x_val, 1, &T_crd2[p_1]), f64x4) * sc_splat_f64x4(y);
                const f64x4 term_1 =
                    sc_load_f64x4(&T_val[p_1 + 4]) *
                    __builtin_convertvector(sc_pick_f32x4(x_val, 1, &T_crd2[p_1 + 4]), f64x4) *
                    sc_splat_f64x4(y);
                sc_store_f64x4(&s_terms[p_1 - T_first], term);
                sc_store_f64x4(&s_terms[p_1 - T_first + 4], term_1);
            }
            for (sc_i64 p_1 = whole; p_1 < T_last; p_1++) {
                const sc_i64 k = (sc_i64)T_crd2[p_1];
                const double term = T_val[p_1] * (double)x_val[k] * y_val[i];
                s_terms[p_1 - T_first] = term;
            }
            const sc_i64 whole_1 = to - (to - from) % 4;
            /* 4 units at a time, each in a vector */
            for (sc_i64 p_1 = from; p_1 < whole_1; p_1 += 4) {
                const sc_i64 at = (sc_i64)T_pos2[p_1] - T_first;
                const int count = T_pos2[p_1 + 1] - T_pos2[p_1];
                f64x8 sum =
                    sc_select_f64x8(sc_first_i64x8((sc_i64)count), sc_load_f64x8(&s_terms[at]), (f64x8){0});
                for (sc_i64 q = 8; q < (sc_i64)count; q += 8) {
                    sum = sum + sc_select_f64x8(sc_first_i64x8((sc_i64)count - q),
                                                sc_load_f64x8(&s_terms[at + q]), (f64x8){0});
                }
                const sc_i64 at_1 = (sc_i64)T_pos2[p_1 + 1] - T_first;
                const int count_1 = T_pos2[p_1 + 2] - T_pos2[p_1 + 1];
                f64x8 sum_1 = sc_select_f64x8(sc_first_i64x8((sc_i64)count_1), sc_load_f64x8(&s_terms[at_1]),
                                              (f64x8){0});
                for (sc_i64 q = 8; q < (sc_i64)count_1; q += 8) {
                    sum_1 = sum_1 + sc_select_f64x8(sc_first_i64x8((sc_i64)count_1 - q),
                                                    sc_load_f64x8(&s_terms[at_1 + q]), (f64x8){0});
                }
                const sc_i64 at_2 = (sc_i64)T_pos2[p_1 + 2] - T_first;
                const int count_2 = T_pos2[p_1 + 3] - T_pos2[p_1 + 2];
                f64x8 sum_2 = sc_select_f64x8(sc_first_i64x8((sc_i64)count_2), sc_load_f64x8(&s_terms[at_2]),
                                              (f64x8){0});
                for (sc_i64 q = 8; q < (sc_i64)count_2; q += 8) {
                    sum_2 = sum_2 + sc_select_f64x8(sc_first_i64x8((sc_i64)count_2 - q),
                                                    sc_load_f64x8(&s_terms[at_2 + q]), (f64x8){0});
                }
                const sc_i64 at_3 = (sc_i64)T_pos2[p_1 + 3] - T_first;
                const int count_3 = T_pos2[p_1 + 4] - T_pos2[p_1 + 3];
                f64x8 sum_3 = sc_select_f64x8(sc_first_i64x8((sc_i64)count_3), sc_load_f64x8(&s_terms[at_3]),
                                              (f64x8){0});
                for (sc_i64 q = 8; q < (sc_i64)count_3; q += 8) {
                    sum_3 = sum_3 + sc_select_f64x8(sc_first_i64x8((sc_i64)count_3 - q),
                                                    sc_load_f64x8(&s_terms[at_3 + q]), (f64x8){0});
                }
                const f64x8 pairs = sc_even_f64x8(sum, sum_1) + sc_odd_f64x8(sum, sum_1);
                const f64x8 pairs_1 = sc_even_f64x8(sum_2, sum_3) + sc_odd_f64x8(sum_2, sum_3);
                const f64x8 pairs_2 = sc_even_f64x8(pairs, pairs_1) + sc_odd_f64x8(pairs, pairs_1);
                const f64x8 pairs_3 = sc_even_f64x8(pairs_2, pairs_2) + sc_odd_f64x8(pairs_2, pairs_2);
                {
                    /* work s: reg f64 */
                    double s = pairs_3[0];
                    /* C[i,j] = s */
                    C_val[p_1] = s;
                }
                {
                    double s = pairs_3[1];
                    C_val[p_1 + 1] = s;
                }
                {
                    double s = pairs_3[2];
                    C_val[p_1 + 2] = s;
                }
                {
                    double s = pairs_3[3];
                    C_val[p_1 + 3] = s;
                }
            }
            for (sc_i64 p_1 = whole_1, sc_end = to; p_1 < sc_end; p_1++) {
                const sc_i64 at = (sc_i64)T_pos2[p_1] - T_first;
                const int count = T_pos2[p_1 + 1] - T_pos2[p_1];
                f64x8 sum =
                    sc_select_f64x8(sc_first_i64x8((sc_i64)count), sc_load_f64x8(&s_terms[at]), (f64x8){0});
                for (sc_i64 q = 8; q < (sc_i64)count; q += 8) {
                    sum = sum + sc_select_f64x8(sc_first_i64x8((sc_i64)count - q),
                                                sc_load_f64x8(&s_terms[at + q]), (f64x8){0});
                }
                const f64x8 pairs = sc_even_f64x8(sum, sum) + sc_odd_f64x8(sum, sum);
                const f64x8 pairs_1 = sc_even_f64x8(pairs, pairs) + sc_odd_f64x8(pairs, pairs);
                const f64x8 pairs_2 = sc_even_f64x8(pairs_1, pairs_1) + sc_odd_f64x8(pairs_1, pairs_1);
                {
                    double s = pairs_2[0];
                    C_val[p_1] = s;
                }
            }
            if (to == from) {
                /* a unit of too many entries, alone */
                /* work s: reg f64 */
                double s = 0.0;
                /* for k in T */
                const sc_i64 T_lo_1 = (sc_i64)T_pos2[from];
                const sc_i64 T_hi_1 = (sc_i64)T_pos2[from + 1];
                for (sc_i64 p_1 = T_lo_1; p_1 < T_hi_1; p_1 += 2) {
                    const sc_i64 k = (sc_i64)T_crd2[p_1];
                    /* s += T[i,j,k] * x[k] * y[i] */
                    s = s + T_val[p_1] * (double)x_val[k] * y_val[i];
                    if (p_1 + 1 < T_hi_1) {
                        const sc_i64 k_1 = (sc_i64)T_crd2[p_1 + 1];
                        s = s + T_val[p_1 + 1] * (double)x_val[k_1] * y_val[i];
                    }
                }
                /* C[i,j] = s */
                C_val[from] = s;
                to = from + 1;
            }
            from = to;
        }
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

/* Computes
 *   m[i] max= A[i,j] + 3e+38 * (stored(A[i,j]) - 1)
 *   n[i] = stored(A[i,j]) * exp(A[i,j] - m[i])
 *   P[i,j] = stored(A[i,j]) * (exp(A[i,j] - m[i]) / n[i])
 * with
 *   A: csr f32, indices i32
 *   m: dense f32
 *   n: dense f32
 *   P: csr f32, indices i32
 * by
 *   par i in A batch 64 {
 *     work c: reg f32 {
 *       for j in A rest unroll 4 {
 *         c max= A[i,j] + 3e+38 * (stored(A[i,j]) - 1)
 *       }
 *     } then {
 *       m[i] = c
 *       work ca: reg f32 {
 *         vec j in A {
 *           ca += stored(A[i,j]) * exp(A[i,j] - c)
 *         }
 *       } then {
 *         n[i] = ca
 *         vec j in A {
 *           P[i,j] = stored(A[i,j]) * (exp(A[i,j] - c) / ca)
 *         }
 *       }
 *     }
 *   }
 */
typedef int i32x2 __attribute__((vector_size(8)));
typedef int i32x4 __attribute__((vector_size(16)));
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x2 __attribute__((vector_size(8)));
typedef float f32x2u __attribute__((vector_size(8), aligned(4), may_alias));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4u __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x8 sc_splat_f32x8(float x) { return (f32x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f32x4 sc_splat_f32x4(float x) { return (f32x4){x, x, x, x}; }
SC_INLINE f32x2 sc_splat_f32x2(float x) { return (f32x2){x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE f32x4 sc_load_f32x4(const float *p) { return *(const f32x4u *)p; }
SC_INLINE f32x2 sc_load_f32x2(const float *p) { return *(const f32x2u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }
SC_INLINE void sc_store_f32x4(float *p, f32x4 x) { *(f32x4u *)p = x; }
SC_INLINE void sc_store_f32x2(float *p, f32x2 x) { *(f32x2u *)p = x; }
SC_INLINE f32x16 sc_select_f32x16(i32x16 m, f32x16 a, f32x16 b)
{
    return (f32x16)((m & (i32x16)a) | (~m & (i32x16)b));
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE f32x16 sc_max_f32x16(f32x16 a, f32x16 b)
{
    i32x16 m = (i32x16)(a > b) | (i32x16)(a != a);
    return (f32x16)((m & (i32x16)a) | (~m & (i32x16)b));
}
SC_INLINE float sc_max_f32(float a, float b)
{
    const float r = a > b ? a : b;
    return a >= a ? r : a;
}
SC_INLINE i32x16 sc_first_i32x16(sc_i64 n)
{
    return (i32x16)((i32x16){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} < (int)n);
}
SC_INLINE float sc_hadd_f32x16(f32x16 v)
{
    f32x8 v8 = (f32x8){v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]} +
        (f32x8){v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15]};
    f32x4 v4 = (f32x4){v8[0], v8[1], v8[2], v8[3]} + (f32x4){v8[4], v8[5], v8[6], v8[7]};
    f32x4 v2 = v4 + (f32x4){v4[2], v4[3], v4[0], v4[1]};
    f32x4 v1 = v2 + (f32x4){v2[1], v2[2], v2[3], v2[0]};
    return v1[0];
}
SC_INLINE float sc_hadd_f32x8(f32x8 v)
{
    f32x4 v4 = (f32x4){v[0], v[1], v[2], v[3]} + (f32x4){v[4], v[5], v[6], v[7]};
    f32x4 v2 = v4 + (f32x4){v4[2], v4[3], v4[0], v4[1]};
    f32x4 v1 = v2 + (f32x4){v2[1], v2[2], v2[3], v2[0]};
    return v1[0];
}
SC_INLINE float sc_hadd_f32x4(f32x4 v)
{
    f32x4 v2 = v + (f32x4){v[2], v[3], v[0], v[1]};
    f32x4 v1 = v2 + (f32x4){v2[1], v2[2], v2[3], v2[0]};
    return v1[0];
}
SC_INLINE float sc_hadd_f32x2(f32x2 v)
{
    return v[0] + v[1];
}
SC_INLINE f32x16 sc_even_f32x16(f32x16 a, f32x16 b)
{
    return (f32x16){a[0], a[2], a[4], a[6], a[8], a[10], a[12], a[14], b[0], b[2], b[4], b[6], b[8], b[10],
                    b[12], b[14]};
}
SC_INLINE f32x16 sc_odd_f32x16(f32x16 a, f32x16 b)
{
    return (f32x16){a[1], a[3], a[5], a[7], a[9], a[11], a[13], a[15], b[1], b[3], b[5], b[7], b[9], b[11],
                    b[13], b[15]};
}
static inline f32x16 sc_exp_f32x16(f32x16 x)
{
    /* x = n ln 2 + r; the scale 2^n comes in two factors, so that denormals round once */
    const f32x16 top = (f32x16){0} + 89.0f, bottom = (f32x16){0} + -104.0f, magic = (f32x16){0} + 12582912.0f;
    const i32x16 high = (i32x16)(x > top), low = (i32x16)(x < bottom);
    x = (f32x16)((high & (i32x16)top) | (~high & (i32x16)x));
    x = (f32x16)((low & (i32x16)bottom) | (~low & (i32x16)x));
    const f32x16 t = x * 1.44269502f + magic, n = t - magic;
    const f32x16 r = x - n * 0.693359375f - n * -0.000212194442f;
    f32x16 p = r * 0.00138145953f + 0.00836871658f;
    p = p * r + 0.041668389f;
    p = p * r + 0.166665211f;
    p = p * r + 0.49999994f;
    const f32x16 e = 1.0f + (r + r * r * p);
    const i32x16 k = (i32x16)t - (i32x16)magic, half = k >> 1;
    return e * (f32x16)((half + 127) << 23) * (f32x16)((k - half + 127) << 23);
}
static inline f32x8 sc_exp_f32x8(f32x8 x)
{
    /* x = n ln 2 + r; the scale 2^n comes in two factors, so that denormals round once */
    const f32x8 top = (f32x8){0} + 89.0f, bottom = (f32x8){0} + -104.0f, magic = (f32x8){0} + 12582912.0f;
    const i32x8 high = (i32x8)(x > top), low = (i32x8)(x < bottom);
    x = (f32x8)((high & (i32x8)top) | (~high & (i32x8)x));
    x = (f32x8)((low & (i32x8)bottom) | (~low & (i32x8)x));
    const f32x8 t = x * 1.44269502f + magic, n = t - magic;
    const f32x8 r = x - n * 0.693359375f - n * -0.000212194442f;
    f32x8 p = r * 0.00138145953f + 0.00836871658f;
    p = p * r + 0.041668389f;
    p = p * r + 0.166665211f;
    p = p * r + 0.49999994f;
    const f32x8 e = 1.0f + (r + r * r * p);
    const i32x8 k = (i32x8)t - (i32x8)magic, half = k >> 1;
    return e * (f32x8)((half + 127) << 23) * (f32x8)((k - half + 127) << 23);
}
static inline f32x4 sc_exp_f32x4(f32x4 x)
{
    /* x = n ln 2 + r; the scale 2^n comes in two factors, so that denormals round once */
    const f32x4 top = (f32x4){0} + 89.0f, bottom = (f32x4){0} + -104.0f, magic = (f32x4){0} + 12582912.0f;
    const i32x4 high = (i32x4)(x > top), low = (i32x4)(x < bottom);
    x = (f32x4)((high & (i32x4)top) | (~high & (i32x4)x));
    x = (f32x4)((low & (i32x4)bottom) | (~low & (i32x4)x));
    const f32x4 t = x * 1.44269502f + magic, n = t - magic;
    const f32x4 r = x - n * 0.693359375f - n * -0.000212194442f;
    f32x4 p = r * 0.00138145953f + 0.00836871658f;
    p = p * r + 0.041668389f;
    p = p * r + 0.166665211f;
    p = p * r + 0.49999994f;
    const f32x4 e = 1.0f + (r + r * r * p);
    const i32x4 k = (i32x4)t - (i32x4)magic, half = k >> 1;
    return e * (f32x4)((half + 127) << 23) * (f32x4)((k - half + 127) << 23);
}
static inline f32x2 sc_exp_f32x2(f32x2 x)
{
    /* x = n ln 2 + r; the scale 2^n comes in two factors, so that denormals round once */
    const f32x2 top = (f32x2){0} + 89.0f, bottom = (f32x2){0} + -104.0f, magic = (f32x2){0} + 12582912.0f;
    const i32x2 high = (i32x2)(x > top), low = (i32x2)(x < bottom);
    x = (f32x2)((high & (i32x2)top) | (~high & (i32x2)x));
    x = (f32x2)((low & (i32x2)bottom) | (~low & (i32x2)x));
    const f32x2 t = x * 1.44269502f + magic, n = t - magic;
    const f32x2 r = x - n * 0.693359375f - n * -0.000212194442f;
    f32x2 p = r * 0.00138145953f + 0.00836871658f;
    p = p * r + 0.041668389f;
    p = p * r + 0.166665211f;
    p = p * r + 0.49999994f;
    const f32x2 e = 1.0f + (r + r * r * p);
    const i32x2 k = (i32x2)t - (i32x2)magic, half = k >> 1;
    return e * (f32x2)((half + 127) << 23) * (f32x2)((k - half + 127) << 23);
}
static inline float sc_exp_f32(float x) { return sc_exp_f32x4((f32x4){x, x, x, x})[0]; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    float *restrict const c_terms = lane->scratch;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const m_val = call->view[1].val;
    float *restrict const n_val = call->view[2].val;
    float *restrict const P_val = call->view[3].val;

    /* par i in A batch 64 */
    sc_i64 from = begin;
    while (from < end) {
        const sc_i64 A_first = (sc_i64)A_pos1[from];
        sc_i64 to = sc_min_i64(from + 64, end);
        while (4096 < (sc_i64)A_pos1[to] - A_first) {
            to = from + (to - from) / 2;
        }
        const sc_i64 A_last = (sc_i64)A_pos1[to];
        const sc_i64 whole = A_last - (A_last - A_first) % 8;
        /* what the entries of all units add */
        for (sc_i64 p = A_first; p < whole; p += 8) {
            /* c max= A[i,j] + 3e+38 * (stored(A[i,j]) - 1) */
            const float term = A_val[p] + 0.0f;
            const float term_1 = A_val[p + 1] + 0.0f;
            const float term_2 = A_val[p + 2] + 0.0f;
            const float term_3 = A_val[p + 3] + 0.0f;
            const float term_4 = A_val[p + 4] + 0.0f;
            const float term_5 = A_val[p + 5] + 0.0f;
            const float term_6 = A_val[p + 6] + 0.0f;
            const float term_7 = A_val[p + 7] + 0.0f;
            c_terms[p - A_first] = term;
            c_terms[p - A_first + 1] = term_1;
            c_terms[p - A_first + 2] = term_2;
            c_terms[p - A_first + 3] = term_3;
            c_terms[p - A_first + 4] = term_4;
            c_terms[p - A_first + 5] = term_5;
            c_terms[p - A_first + 6] = term_6;
            c_terms[p - A_first + 7] = term_7;
        }
        for (sc_i64 p = whole; p < A_last; p++) {
            const float term = A_val[p] + 0.0f;
            c_terms[p - A_first] = term;
        }
        const sc_i64 whole_1 = to - (to - from) % 4;
        /* 4 units at a time, each in a vector */
        for (sc_i64 i = from; i < whole_1; i += 4) {
            const sc_i64 at = (sc_i64)A_pos1[i] - A_first;
            const int count = A_pos1[i + 1] - A_pos1[i];
            f32x16 sum = sc_select_f32x16(sc_first_i32x16((sc_i64)count), sc_load_f32x16(&c_terms[at]),
                                          sc_splat_f32x16(-__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count; q += 16) {
                sum = sc_max_f32x16(sum,
                                    sc_select_f32x16(sc_first_i32x16((sc_i64)count - q),
                                                     sc_load_f32x16(&c_terms[at + q]),
                                                     sc_splat_f32x16(-__builtin_inff())));
            }
            const sc_i64 at_1 = (sc_i64)A_pos1[i + 1] - A_first;
            const int count_1 = A_pos1[i + 2] - A_pos1[i + 1];
            f32x16 sum_1 = sc_select_f32x16(sc_first_i32x16((sc_i64)count_1), sc_load_f32x16(&c_terms[at_1]),
                                            sc_splat_f32x16(-__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count_1; q += 16) {
                sum_1 = sc_max_f32x16(sum_1,
                                      sc_select_f32x16(sc_first_i32x16((sc_i64)count_1 - q),
                                                       sc_load_f32x16(&c_terms[at_1 + q]),
                                                       sc_splat_f32x16(-__builtin_inff())));
            }
            const sc_i64 at_2 = (sc_i64)A_pos1[i + 2] - A_first;
            const int count_2 = A_pos1[i + 3] - A_pos1[i + 2];
            f32x16 sum_2 = sc_select_f32x16(sc_first_i32x16((sc_i64)count_2), sc_load_f32x16(&c_terms[at_2]),
                                            sc_splat_f32x16(-__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count_2; q += 16) {
                sum_2 = sc_max_f32x16(sum_2,
                                      sc_select_f32x16(sc_first_i32x16((sc_i64)count_2 - q),
                                                       sc_load_f32x16(&c_terms[at_2 + q]),
                                                       sc_splat_f32x16(-__builtin_inff())));
            }
            const sc_i64 at_3 = (sc_i64)A_pos1[i + 3] - A_first;
            const int count_3 = A_pos1[i + 4] - A_pos1[i + 3];
            f32x16 sum_3 = sc_select_f32x16(sc_first_i32x16((sc_i64)count_3), sc_load_f32x16(&c_terms[at_3]),
                                            sc_splat_f32x16(-__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count_3; q += 16) {
                sum_3 = sc_max_f32x16(sum_3,
                                      sc_select_f32x16(sc_first_i32x16((sc_i64)count_3 - q),
                                                       sc_load_f32x16(&c_terms[at_3 + q]),
                                                       sc_splat_f32x16(-__builtin_inff())));
            }
            const f32x16 pairs = sc_max_f32x16(sc_even_f32x16(sum, sum_1), sc_odd_f32x16(sum, sum_1));
            const f32x16 pairs_1 = sc_max_f32x16(sc_even_f32x16(sum_2, sum_3), sc_odd_f32x16(sum_2, sum_3));
            const f32x16 pairs_2 =
                sc_max_f32x16(sc_even_f32x16(pairs, pairs_1), sc_odd_f32x16(pairs, pairs_1));
            const f32x16 pairs_3 =
                sc_max_f32x16(sc_even_f32x16(pairs_2, pairs_2), sc_odd_f32x16(pairs_2, pairs_2));
            const f32x16 pairs_4 =
                sc_max_f32x16(sc_even_f32x16(pairs_3, pairs_3), sc_odd_f32x16(pairs_3, pairs_3));
            {
                /* work c: reg f32 */
                float c = pairs_4[0];
                /* the coordinates of j that were not visited, at once */
                const sc_i64 left = j_dim - (sc_i64)count;
                if (left > 0) {
                    /* c max= -3.0000000054977558e+38 */
                    c = sc_max_f32(c, -3e+38f);
                }
                /* m[i] = c */
                m_val[i] = c;
                /* work ca: reg f32 */
                float ca = 0.0f;
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                /* vec j in A { ca += stored(A[i,j]) * exp(A[i,j] - c) } */
                const sc_i64 count_4 = A_hi - A_lo;
                f32x16 sum_4 = (f32x16){0};
                const sc_i64 rest = count_4 % 16;
                const sc_i64 full = count_4 - rest;
                for (sc_i64 j = 0; j < full; j += 16) {
                    sum_4 = sum_4 + sc_exp_f32x16(sc_load_f32x16(&A_val[A_lo + j]) - sc_splat_f32x16(c));
                }
                ca = ca + sc_hadd_f32x16(sum_4);
                if ((rest & 8) != 0) {
                    const sc_i64 j = full + (rest & -16);
                    ca =
                        ca + sc_hadd_f32x8(sc_exp_f32x8(sc_load_f32x8(&A_val[A_lo + j]) - sc_splat_f32x8(c)));
                }
                if ((rest & 4) != 0) {
                    const sc_i64 j = full + (rest & -8);
                    ca =
                        ca + sc_hadd_f32x4(sc_exp_f32x4(sc_load_f32x4(&A_val[A_lo + j]) - sc_splat_f32x4(c)));
                }
                if ((rest & 2) != 0) {
                    const sc_i64 j = full + (rest & -4);
                    ca =
                        ca + sc_hadd_f32x2(sc_exp_f32x2(sc_load_f32x2(&A_val[A_lo + j]) - sc_splat_f32x2(c)));
                }
                if ((rest & 1) != 0) {
                    const sc_i64 j = full + (rest & -2);
                    ca = ca + sc_exp_f32(A_val[A_lo + j] - c);
                }
                /* n[i] = ca */
                n_val[i] = ca;
                const sc_i64 A_lo_1 = (sc_i64)A_pos1[i];
                const sc_i64 A_hi_1 = (sc_i64)A_pos1[i + 1];
                /* vec j in A { P[i,j] = stored(A[i,j]) * (exp(A[i,j] - c) / ca) } */
                const sc_i64 count_5 = A_hi_1 - A_lo_1;
                const sc_i64 rest_1 = count_5 % 16;
                const sc_i64 full_1 = count_5 - rest_1;
                for (sc_i64 j = 0; j < full_1; j += 16) {
                    sc_store_f32x16(&P_val[A_lo_1 + j],
                                    sc_exp_f32x16(sc_load_f32x16(&A_val[A_lo_1 + j]) - sc_splat_f32x16(c)) /
                                    sc_splat_f32x16(ca));
                }
                if ((rest_1 & 8) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -16);
                    sc_store_f32x8(&P_val[A_lo_1 + j],
                                   sc_exp_f32x8(sc_load_f32x8(&A_val[A_lo_1 + j]) - sc_splat_f32x8(c)) /
                                   sc_splat_f32x8(ca));
                }
                if ((rest_1 & 4) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -8);
                    sc_store_f32x4(&P_val[A_lo_1 + j],
                                   sc_exp_f32x4(sc_load_f32x4(&A_val[A_lo_1 + j]) - sc_splat_f32x4(c)) /
                                   sc_splat_f32x4(ca));
                }
                if ((rest_1 & 2) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -4);
                    sc_store_f32x2(&P_val[A_lo_1 + j],
                                   sc_exp_f32x2(sc_load_f32x2(&A_val[A_lo_1 + j]) - sc_splat_f32x2(c)) /
                                   sc_splat_f32x2(ca));
                }
                if ((rest_1 & 1) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -2);
                    P_val[A_lo_1 + j] = sc_exp_f32(A_val[A_lo_1 + j] - c) / ca;
                }
            }
            {
                float c = pairs_4[1];
                const sc_i64 left = j_dim - (sc_i64)count_1;
                if (left > 0) {
                    c = sc_max_f32(c, -3e+38f);
                }
                m_val[i + 1] = c;
                float ca = 0.0f;
                const sc_i64 A_lo = (sc_i64)A_pos1[i + 1];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 2];
                const sc_i64 count_4 = A_hi - A_lo;
                f32x16 sum_4 = (f32x16){0};
                const sc_i64 rest = count_4 % 16;
                const sc_i64 full = count_4 - rest;
                for (sc_i64 j = 0; j < full; j += 16) {
                    sum_4 = sum_4 + sc_exp_f32x16(sc_load_f32x16(&A_val[A_lo + j]) - sc_splat_f32x16(c));
                }
                ca = ca + sc_hadd_f32x16(sum_4);
                if ((rest & 8) != 0) {
                    const sc_i64 j = full + (rest & -16);
                    ca =
                        ca + sc_hadd_f32x8(sc_exp_f32x8(sc_load_f32x8(&A_val[A_lo + j]) - sc_splat_f32x8(c)));
                }
                if ((rest & 4) != 0) {
                    const sc_i64 j = full + (rest & -8);
                    ca =
                        ca + sc_hadd_f32x4(sc_exp_f32x4(sc_load_f32x4(&A_val[A_lo + j]) - sc_splat_f32x4(c)));
                }
                if ((rest & 2) != 0) {
                    const sc_i64 j = full + (rest & -4);
                    ca =
                        ca + sc_hadd_f32x2(sc_exp_f32x2(sc_load_f32x2(&A_val[A_lo + j]) - sc_splat_f32x2(c)));
                }
                if ((rest & 1) != 0) {
                    const sc_i64 j = full + (rest & -2);
                    ca = ca + sc_exp_f32(A_val[A_lo + j] - c);
                }
                n_val[i + 1] = ca;
                const sc_i64 A_lo_1 = (sc_i64)A_pos1[i + 1];
                const sc_i64 A_hi_1 = (sc_i64)A_pos1[i + 2];
                const sc_i64 count_5 = A_hi_1 - A_lo_1;
                const sc_i64 rest_1 = count_5 % 16;
                const sc_i64 full_1 = count_5 - rest_1;
                for (sc_i64 j = 0; j < full_1; j += 16) {
                    sc_store_f32x16(&P_val[A_lo_1 + j],
                                    sc_exp_f32x16(sc_load_f32x16(&A_val[A_lo_1 + j]) - sc_splat_f32x16(c)) /
                                    sc_splat_f32x16(ca));
                }
                if ((rest_1 & 8) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -16);
                    sc_store_f32x8(&P_val[A_lo_1 + j],
                                   sc_exp_f32x8(sc_load_f32x8(&A_val[A_lo_1 + j]) - sc_splat_f32x8(c)) /
                                   sc_splat_f32x8(ca));
                }
                if ((rest_1 & 4) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -8);
                    sc_store_f32x4(&P_val[A_lo_1 + j],
                                   sc_exp_f32x4(sc_load_f32x4(&A_val[A_lo_1 + j]) - sc_splat_f32x4(c)) /
                                   sc_splat_f32x4(ca));
                }
                if ((rest_1 & 2) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -4);
                    sc_store_f32x2(&P_val[A_lo_1 + j],
                                   sc_exp_f32x2(sc_load_f32x2(&A_val[A_lo_1 + j]) - sc_splat_f32x2(c)) /
                                   sc_splat_f32x2(ca));
                }
                if ((rest_1 & 1) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -2);
                    P_val[A_lo_1 + j] = sc_exp_f32(A_val[A_lo_1 + j] - c) / ca;
                }
            }
            {
                float c = pairs_4[2];
                const sc_i64 left = j_dim - (sc_i64)count_2;
                if (left > 0) {
                    c = sc_max_f32(c, -3e+38f);
                }
                m_val[i + 2] = c;
                float ca = 0.0f;
                const sc_i64 A_lo = (sc_i64)A_pos1[i + 2];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 3];
                const sc_i64 count_4 = A_hi - A_lo;
                f32x16 sum_4 = (f32x16){0};
                const sc_i64 rest = count_4 % 16;
                const sc_i64 full = count_4 - rest;
                for (sc_i64 j = 0; j < full; j += 16) {
                    sum_4 = sum_4 + sc_exp_f32x16(sc_load_f32x16(&A_val[A_lo + j]) - sc_splat_f32x16(c));
                }
                ca = ca + sc_hadd_f32x16(sum_4);
                if ((rest & 8) != 0) {
                    const sc_i64 j = full + (rest & -16);
                    ca =
                        ca + sc_hadd_f32x8(sc_exp_f32x8(sc_load_f32x8(&A_val[A_lo + j]) - sc_splat_f32x8(c)));
                }
                if ((rest & 4) != 0) {
                    const sc_i64 j = full + (rest & -8);
                    ca =
                        ca + sc_hadd_f32x4(sc_exp_f32x4(sc_load_f32x4(&A_val[A_lo + j]) - sc_splat_f32x4(c)));
                }
                if ((rest & 2) != 0) {
                    const sc_i64 j = full + (rest & -4);
                    ca =
                        ca + sc_hadd_f32x2(sc_exp_f32x2(sc_load_f32x2(&A_val[A_lo + j]) - sc_splat_f32x2(c)));
                }
                if ((rest & 1) != 0) {
                    const sc_i64 j = full + (rest & -2);
                    ca = ca + sc_exp_f32(A_val[A_lo + j] - c);
                }
                n_val[i + 2] = ca;
                const sc_i64 A_lo_1 = (sc_i64)A_pos1[i + 2];
                const sc_i64 A_hi_1 = (sc_i64)A_pos1[i + 3];
                const sc_i64 count_5 = A_hi_1 - A_lo_1;
                const sc_i64 rest_1 = count_5 % 16;
                const sc_i64 full_1 = count_5 - rest_1;
                for (sc_i64 j = 0; j < full_1; j += 16) {
                    sc_store_f32x16(&P_val[A_lo_1 + j],
                                    sc_exp_f32x16(sc_load_f32x16(&A_val[A_lo_1 + j]) - sc_splat_f32x16(c)) /
                                    sc_splat_f32x16(ca));
                }
                if ((rest_1 & 8) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -16);
                    sc_store_f32x8(&P_val[A_lo_1 + j],
                                   sc_exp_f32x8(sc_load_f32x8(&A_val[A_lo_1 + j]) - sc_splat_f32x8(c)) /
                                   sc_splat_f32x8(ca));
                }
                if ((rest_1 & 4) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -8);
                    sc_store_f32x4(&P_val[A_lo_1 + j],
                                   sc_exp_f32x4(sc_load_f32x4(&A_val[A_lo_1 + j]) - sc_splat_f32x4(c)) /
                                   sc_splat_f32x4(ca));
                }
                if ((rest_1 & 2) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -4);
                    sc_store_f32x2(&P_val[A_lo_1 + j],
                                   sc_exp_f32x2(sc_load_f32x2(&A_val[A_lo_1 + j]) - sc_splat_f32x2(c)) /
                                   sc_splat_f32x2(ca));
                }
                if ((rest_1 & 1) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -2);
                    P_val[A_lo_1 + j] = sc_exp_f32(A_val[A_lo_1 + j] - c) / ca;
                }
            }
            {
                float c = pairs_4[3];
                const sc_i64 left = j_dim - (sc_i64)count_3;
                if (left > 0) {
                    c = sc_max_f32(c, -3e+38f);
                }
                m_val[i + 3] = c;
                float ca = 0.0f;
                const sc_i64 A_lo = (sc_i64)A_pos1[i + 3];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 4];
                const sc_i64 count_4 = A_hi - A_lo;
                f32x16 sum_4 = (f32x16){0};
                const sc_i64 rest = count_4 % 16;
                const sc_i64 full = count_4 - rest;
                for (sc_i64 j = 0; j < full; j += 16) {
                    sum_4 = sum_4 + sc_exp_f32x16(sc_load_f32x16(&A_val[A_lo + j]) - sc_splat_f32x16(c));
                }
                ca = ca + sc_hadd_f32x16(sum_4);
                if ((rest & 8) != 0) {
                    const sc_i64 j = full + (rest & -16);
                    ca =
                        ca + sc_hadd_f32x8(sc_exp_f32x8(sc_load_f32x8(&A_val[A_lo + j]) - sc_splat_f32x8(c)));
                }
                if ((rest & 4) != 0) {
                    const sc_i64 j = full + (rest & -8);
                    ca =
                        ca + sc_hadd_f32x4(sc_exp_f32x4(sc_load_f32x4(&A_val[A_lo + j]) - sc_splat_f32x4(c)));
                }
                if ((rest & 2) != 0) {
                    const sc_i64 j = full + (rest & -4);
                    ca =
                        ca + sc_hadd_f32x2(sc_exp_f32x2(sc_load_f32x2(&A_val[A_lo + j]) - sc_splat_f32x2(c)));
                }
                if ((rest & 1) != 0) {
                    const sc_i64 j = full + (rest & -2);
                    ca = ca + sc_exp_f32(A_val[A_lo + j] - c);
                }
                n_val[i + 3] = ca;
                const sc_i64 A_lo_1 = (sc_i64)A_pos1[i + 3];
                const sc_i64 A_hi_1 = (sc_i64)A_pos1[i + 4];
                const sc_i64 count_5 = A_hi_1 - A_lo_1;
                const sc_i64 rest_1 = count_5 % 16;
                const sc_i64 full_1 = count_5 - rest_1;
                for (sc_i64 j = 0; j < full_1; j += 16) {
                    sc_store_f32x16(&P_val[A_lo_1 + j],
                                    sc_exp_f32x16(sc_load_f32x16(&A_val[A_lo_1 + j]) - sc_splat_f32x16(c)) /
                                    sc_splat_f32x16(ca));
                }
                if ((rest_1 & 8) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -16);
                    sc_store_f32x8(&P_val[A_lo_1 + j],
                                   sc_exp_f32x8(sc_load_f32x8(&A_val[A_lo_1 + j]) - sc_splat_f32x8(c)) /
                                   sc_splat_f32x8(ca));
                }
                if ((rest_1 & 4) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -8);
                    sc_store_f32x4(&P_val[A_lo_1 + j],
                                   sc_exp_f32x4(sc_load_f32x4(&A_val[A_lo_1 + j]) - sc_splat_f32x4(c)) /
                                   sc_splat_f32x4(ca));
                }
                if ((rest_1 & 2) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -4);
                    sc_store_f32x2(&P_val[A_lo_1 + j],
                                   sc_exp_f32x2(sc_load_f32x2(&A_val[A_lo_1 + j]) - sc_splat_f32x2(c)) /
                                   sc_splat_f32x2(ca));
                }
                if ((rest_1 & 1) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -2);
                    P_val[A_lo_1 + j] = sc_exp_f32(A_val[A_lo_1 + j] - c) / ca;
                }
            }
        }
        for (sc_i64 i = whole_1, sc_end = to; i < sc_end; i++) {
            const sc_i64 at = (sc_i64)A_pos1[i] - A_first;
            const int count = A_pos1[i + 1] - A_pos1[i];
            f32x16 sum = sc_select_f32x16(sc_first_i32x16((sc_i64)count), sc_load_f32x16(&c_terms[at]),
                                          sc_splat_f32x16(-__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count; q += 16) {
                sum = sc_max_f32x16(sum,
                                    sc_select_f32x16(sc_first_i32x16((sc_i64)count - q),
                                                     sc_load_f32x16(&c_terms[at + q]),
                                                     sc_splat_f32x16(-__builtin_inff())));
            }
            const f32x16 pairs = sc_max_f32x16(sc_even_f32x16(sum, sum), sc_odd_f32x16(sum, sum));
            const f32x16 pairs_1 = sc_max_f32x16(sc_even_f32x16(pairs, pairs), sc_odd_f32x16(pairs, pairs));
            const f32x16 pairs_2 =
                sc_max_f32x16(sc_even_f32x16(pairs_1, pairs_1), sc_odd_f32x16(pairs_1, pairs_1));
            const f32x16 pairs_3 =
                sc_max_f32x16(sc_even_f32x16(pairs_2, pairs_2), sc_odd_f32x16(pairs_2, pairs_2));
            {
                float c = pairs_3[0];
                const sc_i64 left = j_dim - (sc_i64)count;
                if (left > 0) {
                    c = sc_max_f32(c, -3e+38f);
                }
                m_val[i] = c;
                float ca = 0.0f;
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                const sc_i64 count_1 = A_hi - A_lo;
                f32x16 sum_1 = (f32x16){0};
                const sc_i64 rest = count_1 % 16;
                const sc_i64 full = count_1 - rest;
                for (sc_i64 j = 0; j < full; j += 16) {
                    sum_1 = sum_1 + sc_exp_f32x16(sc_load_f32x16(&A_val[A_lo + j]) - sc_splat_f32x16(c));
                }
                ca = ca + sc_hadd_f32x16(sum_1);
                if ((rest & 8) != 0) {
                    const sc_i64 j = full + (rest & -16);
                    ca =
                        ca + sc_hadd_f32x8(sc_exp_f32x8(sc_load_f32x8(&A_val[A_lo + j]) - sc_splat_f32x8(c)));
                }
                if ((rest & 4) != 0) {
                    const sc_i64 j = full + (rest & -8);
                    ca =
                        ca + sc_hadd_f32x4(sc_exp_f32x4(sc_load_f32x4(&A_val[A_lo + j]) - sc_splat_f32x4(c)));
                }
                if ((rest & 2) != 0) {
                    const sc_i64 j = full + (rest & -4);
                    ca =
                        ca + sc_hadd_f32x2(sc_exp_f32x2(sc_load_f32x2(&A_val[A_lo + j]) - sc_splat_f32x2(c)));
                }
                if ((rest & 1) != 0) {
                    const sc_i64 j = full + (rest & -2);
                    ca = ca + sc_exp_f32(A_val[A_lo + j] - c);
                }
                n_val[i] = ca;
                const sc_i64 A_lo_1 = (sc_i64)A_pos1[i];
                const sc_i64 A_hi_1 = (sc_i64)A_pos1[i + 1];
                const sc_i64 count_2 = A_hi_1 - A_lo_1;
                const sc_i64 rest_1 = count_2 % 16;
                const sc_i64 full_1 = count_2 - rest_1;
                for (sc_i64 j = 0; j < full_1; j += 16) {
                    sc_store_f32x16(&P_val[A_lo_1 + j],
                                    sc_exp_f32x16(sc_load_f32x16(&A_val[A_lo_1 + j]) - sc_splat_f32x16(c)) /
                                    sc_splat_f32x16(ca));
                }
                if ((rest_1 & 8) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -16);
                    sc_store_f32x8(&P_val[A_lo_1 + j],
                                   sc_exp_f32x8(sc_load_f32x8(&A_val[A_lo_1 + j]) - sc_splat_f32x8(c)) /
                                   sc_splat_f32x8(ca));
                }
                if ((rest_1 & 4) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -8);
                    sc_store_f32x4(&P_val[A_lo_1 + j],
                                   sc_exp_f32x4(sc_load_f32x4(&A_val[A_lo_1 + j]) - sc_splat_f32x4(c)) /
                                   sc_splat_f32x4(ca));
                }
                if ((rest_1 & 2) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -4);
                    sc_store_f32x2(&P_val[A_lo_1 + j],
                                   sc_exp_f32x2(sc_load_f32x2(&A_val[A_lo_1 + j]) - sc_splat_f32x2(c)) /
                                   sc_splat_f32x2(ca));
                }
                if ((rest_1 & 1) != 0) {
                    const sc_i64 j = full_1 + (rest_1 & -2);
                    P_val[A_lo_1 + j] = sc_exp_f32(A_val[A_lo_1 + j] - c) / ca;
                }
            }
        }
        if (to == from) {
            /* a unit of too many entries, alone */
            /* work c: reg f32 */
            float c = -__builtin_inff();
            /* for j in A rest unroll 4 */
            const sc_i64 A_lo = (sc_i64)A_pos1[from];
            const sc_i64 A_hi = (sc_i64)A_pos1[from + 1];
            const sc_i64 count = A_hi - A_lo;
            const sc_i64 whole_2 = A_lo + (count - count % 4);
            float c_1 = -__builtin_inff();
            float c_2 = -__builtin_inff();
            float c_3 = -__builtin_inff();
            for (sc_i64 p = A_lo; p < whole_2; p += 4) {
                /* c max= A[i,j] + 3e+38 * (stored(A[i,j]) - 1) */
                c = sc_max_f32(c, A_val[p] + 0.0f);
                c_1 = sc_max_f32(c_1, A_val[p + 1] + 0.0f);
                c_2 = sc_max_f32(c_2, A_val[p + 2] + 0.0f);
                c_3 = sc_max_f32(c_3, A_val[p + 3] + 0.0f);
            }
            c = sc_max_f32(c, c_1);
            c = sc_max_f32(c, c_2);
            c = sc_max_f32(c, c_3);
            for (sc_i64 p = whole_2; p < A_hi; p++) {
                c = sc_max_f32(c, A_val[p] + 0.0f);
            }
            /* the coordinates of j that were not visited, at once */
            const sc_i64 left = j_dim - (A_hi - A_lo);
            if (left > 0) {
                /* c max= -3.0000000054977558e+38 */
                c = sc_max_f32(c, -3e+38f);
            }
            /* m[i] = c */
            m_val[from] = c;
            /* work ca: reg f32 */
            float ca = 0.0f;
            const sc_i64 A_lo_1 = (sc_i64)A_pos1[from];
            const sc_i64 A_hi_1 = (sc_i64)A_pos1[from + 1];
            /* vec j in A { ca += stored(A[i,j]) * exp(A[i,j] - c) } */
            const sc_i64 count_1 = A_hi_1 - A_lo_1;
            f32x16 sum = (f32x16){0};
            const sc_i64 rest = count_1 % 16;
            const sc_i64 full = count_1 - rest;
            for (sc_i64 j = 0; j < full; j += 16) {
                sum = sum + sc_exp_f32x16(sc_load_f32x16(&A_val[A_lo_1 + j]) - sc_splat_f32x16(c));
            }
            ca = ca + sc_hadd_f32x16(sum);
            if ((rest & 8) != 0) {
                const sc_i64 j = full + (rest & -16);
                ca = ca + sc_hadd_f32x8(sc_exp_f32x8(sc_load_f32x8(&A_val[A_lo_1 + j]) - sc_splat_f32x8(c)));
            }
            if ((rest & 4) != 0) {
                const sc_i64 j = full + (rest & -8);
                ca = ca + sc_hadd_f32x4(sc_exp_f32x4(sc_load_f32x4(&A_val[A_lo_1 + j]) - sc_splat_f32x4(c)));
            }
            if ((rest & 2) != 0) {
                const sc_i64 j = full + (rest & -4);
                ca = ca + sc_hadd_f32x2(sc_exp_f32x2(sc_load_f32x2(&A_val[A_lo_1 + j]) - sc_splat_f32x2(c)));
            }
            if ((rest & 1) != 0) {
                const sc_i64 j = full + (rest & -2);
                ca = ca + sc_exp_f32(A_val[A_lo_1 + j] - c);
            }
            /* n[i] = ca */
            n_val[from] = ca;
            const sc_i64 A_lo_2 = (sc_i64)A_pos1[from];
            const sc_i64 A_hi_2 = (sc_i64)A_pos1[from + 1];
            /* vec j in A { P[i,j] = stored(A[i,j]) * (exp(A[i,j] - c) / ca) } */
            const sc_i64 count_2 = A_hi_2 - A_lo_2;
            const sc_i64 rest_1 = count_2 % 16;
            const sc_i64 full_1 = count_2 - rest_1;
            for (sc_i64 j = 0; j < full_1; j += 16) {
                sc_store_f32x16(&P_val[A_lo_2 + j],
                                sc_exp_f32x16(sc_load_f32x16(&A_val[A_lo_2 + j]) - sc_splat_f32x16(c)) /
                                sc_splat_f32x16(ca));
            }
            if ((rest_1 & 8) != 0) {
                const sc_i64 j = full_1 + (rest_1 & -16);
                sc_store_f32x8(&P_val[A_lo_2 + j],
                               sc_exp_f32x8(sc_load_f32x8(&A_val[A_lo_2 + j]) - sc_splat_f32x8(c)) /
                               sc_splat_f32x8(ca));
            }
            if ((rest_1 & 4) != 0) {
                const sc_i64 j = full_1 + (rest_1 & -8);
                sc_store_f32x4(&P_val[A_lo_2 + j],
                               sc_exp_f32x4(sc_load_f32x4(&A_val[A_lo_2 + j]) - sc_splat_f32x4(c)) /
                               sc_splat_f32x4(ca));
            }
            if ((rest_1 & 2) != 0) {
                const sc_i64 j = full_1 + (rest_1 & -4);
                sc_store_f32x2(&P_val[A_lo_2 + j],
                               sc_exp_f32x2(sc_load_f32x2(&A_val[A_lo_2 + j]) - sc_splat_f32x2(c)) /
                               sc_splat_f32x2(ca));
            }
            if ((rest_1 & 1) != 0) {
                const sc_i64 j = full_1 + (rest_1 & -2);
                P_val[A_lo_2 + j] = sc_exp_f32(A_val[A_lo_2 + j] - c) / ca;
            }
            to = from + 1;
        }
        from = to;
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

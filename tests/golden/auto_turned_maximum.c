/* Computes
 *   C[f,i] max= A[i,j] * X[f,j]
 * with
 *   A: csr f32, indices i32
 *   X: dense f32
 *   C: dense f32
 * by
 *   work t[j,f]: shared f32 {
 *     par j/16 {
 *       for f/16 {
 *         for j%16 {
 *           vec f%16 {
 *             t[j,f] = X[f,j]
 *           }
 *         }
 *       }
 *     }
 *   } then {
 *     work u[i,f]: shared f32 {
 *       par i in A {
 *         for f/64 {
 *           work c[f%64]: reg f32 {
 *             for j in A rest {
 *               vec f%64 {
 *                 c[f%64] max= A[i,j] * t[j,f]
 *               }
 *             }
 *           } then {
 *             vec f%64 {
 *               u[i,f] = c[f%64]
 *             }
 *           }
 *         }
 *       }
 *     } then {
 *       par i/16 {
 *         for f/16 {
 *           for f%16 {
 *             vec i%16 {
 *               C[f,i] = u[i,f]
 *             }
 *           }
 *         }
 *       }
 *     }
 *   }
 * because
 *   matrices that do not lie along f are copied first, to where they do
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
SC_INLINE f32x16 sc_gather_f32x16(const float *p, sc_i64 s)
{
    return (f32x16){p[0], p[s], p[2 * s], p[3 * s], p[4 * s], p[5 * s], p[6 * s], p[7 * s], p[8 * s],
                    p[9 * s], p[10 * s], p[11 * s], p[12 * s], p[13 * s], p[14 * s], p[15 * s]};
}
SC_INLINE f32x8 sc_gather_f32x8(const float *p, sc_i64 s)
{
    return (f32x8){p[0], p[s], p[2 * s], p[3 * s], p[4 * s], p[5 * s], p[6 * s], p[7 * s]};
}
SC_INLINE f32x4 sc_gather_f32x4(const float *p, sc_i64 s)
{
    return (f32x4){p[0], p[s], p[2 * s], p[3 * s]};
}
SC_INLINE f32x2 sc_gather_f32x2(const float *p, sc_i64 s)
{
    return (f32x2){p[0], p[s]};
}
SC_INLINE void sc_exchange1_f32x16(f32x16 *v, f32x16 *w)
{
    const f32x16 x = v[0], y = w[0];
    v[0] = (f32x16){x[0], y[0], x[2], y[2], x[4], y[4], x[6], y[6], x[8], y[8], x[10], y[10], x[12], y[12],
                    x[14], y[14]};
    w[0] = (f32x16){x[1], y[1], x[3], y[3], x[5], y[5], x[7], y[7], x[9], y[9], x[11], y[11], x[13], y[13],
                    x[15], y[15]};
}
SC_INLINE void sc_exchange2_f32x16(f32x16 *v, f32x16 *w)
{
    const f32x16 x = v[0], y = w[0];
    v[0] = (f32x16){x[0], x[1], y[0], y[1], x[4], x[5], y[4], y[5], x[8], x[9], y[8], y[9], x[12], x[13],
                    y[12], y[13]};
    w[0] = (f32x16){x[2], x[3], y[2], y[3], x[6], x[7], y[6], y[7], x[10], x[11], y[10], y[11], x[14], x[15],
                    y[14], y[15]};
}
SC_INLINE void sc_exchange4_f32x16(f32x16 *v, f32x16 *w)
{
    const f32x16 x = v[0], y = w[0];
    v[0] = (f32x16){x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3], x[8], x[9], x[10], x[11], y[8], y[9],
                    y[10], y[11]};
    w[0] = (f32x16){x[4], x[5], x[6], x[7], y[4], y[5], y[6], y[7], x[12], x[13], x[14], x[15], y[12], y[13],
                    y[14], y[15]};
}
SC_INLINE void sc_exchange8_f32x16(f32x16 *v, f32x16 *w)
{
    const f32x16 x = v[0], y = w[0];
    v[0] = (f32x16){x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], y[0], y[1], y[2], y[3], y[4], y[5], y[6],
                    y[7]};
    w[0] = (f32x16){x[8], x[9], x[10], x[11], x[12], x[13], x[14], x[15], y[8], y[9], y[10], y[11], y[12],
                    y[13], y[14], y[15]};
}
SC_INLINE void sc_turn_f32x16(float *to, sc_i64 s, const float *from, sc_i64 t)
{
    f32x16 v[16];
    v[0] = sc_load_f32x16(from);
    v[1] = sc_load_f32x16(from + 1 * t);
    v[2] = sc_load_f32x16(from + 2 * t);
    v[3] = sc_load_f32x16(from + 3 * t);
    v[4] = sc_load_f32x16(from + 4 * t);
    v[5] = sc_load_f32x16(from + 5 * t);
    v[6] = sc_load_f32x16(from + 6 * t);
    v[7] = sc_load_f32x16(from + 7 * t);
    v[8] = sc_load_f32x16(from + 8 * t);
    v[9] = sc_load_f32x16(from + 9 * t);
    v[10] = sc_load_f32x16(from + 10 * t);
    v[11] = sc_load_f32x16(from + 11 * t);
    v[12] = sc_load_f32x16(from + 12 * t);
    v[13] = sc_load_f32x16(from + 13 * t);
    v[14] = sc_load_f32x16(from + 14 * t);
    v[15] = sc_load_f32x16(from + 15 * t);
    sc_exchange1_f32x16(&v[0], &v[1]);
    sc_exchange1_f32x16(&v[2], &v[3]);
    sc_exchange1_f32x16(&v[4], &v[5]);
    sc_exchange1_f32x16(&v[6], &v[7]);
    sc_exchange1_f32x16(&v[8], &v[9]);
    sc_exchange1_f32x16(&v[10], &v[11]);
    sc_exchange1_f32x16(&v[12], &v[13]);
    sc_exchange1_f32x16(&v[14], &v[15]);
    sc_exchange2_f32x16(&v[0], &v[2]);
    sc_exchange2_f32x16(&v[1], &v[3]);
    sc_exchange2_f32x16(&v[4], &v[6]);
    sc_exchange2_f32x16(&v[5], &v[7]);
    sc_exchange2_f32x16(&v[8], &v[10]);
    sc_exchange2_f32x16(&v[9], &v[11]);
    sc_exchange2_f32x16(&v[12], &v[14]);
    sc_exchange2_f32x16(&v[13], &v[15]);
    sc_exchange4_f32x16(&v[0], &v[4]);
    sc_exchange4_f32x16(&v[1], &v[5]);
    sc_exchange4_f32x16(&v[2], &v[6]);
    sc_exchange4_f32x16(&v[3], &v[7]);
    sc_exchange4_f32x16(&v[8], &v[12]);
    sc_exchange4_f32x16(&v[9], &v[13]);
    sc_exchange4_f32x16(&v[10], &v[14]);
    sc_exchange4_f32x16(&v[11], &v[15]);
    sc_exchange8_f32x16(&v[0], &v[8]);
    sc_exchange8_f32x16(&v[1], &v[9]);
    sc_exchange8_f32x16(&v[2], &v[10]);
    sc_exchange8_f32x16(&v[3], &v[11]);
    sc_exchange8_f32x16(&v[4], &v[12]);
    sc_exchange8_f32x16(&v[5], &v[13]);
    sc_exchange8_f32x16(&v[6], &v[14]);
    sc_exchange8_f32x16(&v[7], &v[15]);
    sc_store_f32x16(to, v[0]);
    sc_store_f32x16(to + 1 * s, v[1]);
    sc_store_f32x16(to + 2 * s, v[2]);
    sc_store_f32x16(to + 3 * s, v[3]);
    sc_store_f32x16(to + 4 * s, v[4]);
    sc_store_f32x16(to + 5 * s, v[5]);
    sc_store_f32x16(to + 6 * s, v[6]);
    sc_store_f32x16(to + 7 * s, v[7]);
    sc_store_f32x16(to + 8 * s, v[8]);
    sc_store_f32x16(to + 9 * s, v[9]);
    sc_store_f32x16(to + 10 * s, v[10]);
    sc_store_f32x16(to + 11 * s, v[11]);
    sc_store_f32x16(to + 12 * s, v[12]);
    sc_store_f32x16(to + 13 * s, v[13]);
    sc_store_f32x16(to + 14 * s, v[14]);
    sc_store_f32x16(to + 15 * s, v[15]);
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
SC_INLINE f32x8 sc_max_f32x8(f32x8 a, f32x8 b)
{
    i32x8 m = (i32x8)(a > b) | (i32x8)(a != a);
    return (f32x8)((m & (i32x8)a) | (~m & (i32x8)b));
}
SC_INLINE f32x4 sc_max_f32x4(f32x4 a, f32x4 b)
{
    i32x4 m = (i32x4)(a > b) | (i32x4)(a != a);
    return (f32x4)((m & (i32x4)a) | (~m & (i32x4)b));
}
SC_INLINE f32x2 sc_max_f32x2(f32x2 a, f32x2 b)
{
    i32x2 m = (i32x2)(a > b) | (i32x2)(a != a);
    return (f32x2)((m & (i32x2)a) | (~m & (i32x2)b));
}
SC_INLINE float sc_max_f32(float a, float b)
{
    const float r = a > b ? a : b;
    return a >= a ? r : a;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[2];
    const sc_i64 f_dim = call->dim[0];
    const sc_i64 X_stride0 = call->view[1].stride[0];
    float *restrict const t_copy = call->shared[0];
    const float *restrict const X_val = call->view[1].val;
    (void)lane;

    /* work t[j,f]: shared f32 */
    /* par j/16 */
    for (sc_i64 j_block = begin; j_block < end; j_block++) {
        const sc_i64 size = sc_min_i64(16, j_dim - j_block * 16);
        /* for f/16 */
        for (sc_i64 f_block = 0; f_block < f_dim; f_block += 16) {
            const sc_i64 size_1 = sc_min_i64(16, f_dim - f_block);
            /* for j%16 */
            if ((size == 16) && (size_1 == 16)) {
                /* vec f%16 { t[j,f] = X[f,j] } */
                const sc_i64 t_at = j_block * 16 * f_dim + f_block;
                const sc_i64 X_at = f_block * X_stride0 + j_block * 16;
                sc_turn_f32x16(&t_copy[t_at], f_dim, &X_val[X_at], X_stride0);
            } else {
                for (sc_i64 j_in = 0; j_in < size; j_in++) {
                    const sc_i64 X_at = f_block * X_stride0 + (j_block * 16 + j_in);
                    const sc_i64 t_at = (j_block * 16 + j_in) * f_dim + f_block;
                    const sc_i64 rest = size_1 % 16;
                    const sc_i64 full = size_1 - rest;
                    for (sc_i64 f = 0; f < full; f += 16) {
                        sc_store_f32x16(&t_copy[t_at + f],
                                        sc_gather_f32x16(&X_val[X_at + f * X_stride0], X_stride0));
                    }
                    if ((rest & 8) != 0) {
                        const sc_i64 f = full + (rest & -16);
                        sc_store_f32x8(&t_copy[t_at + f],
                                       sc_gather_f32x8(&X_val[X_at + f * X_stride0], X_stride0));
                    }
                    if ((rest & 4) != 0) {
                        const sc_i64 f = full + (rest & -8);
                        sc_store_f32x4(&t_copy[t_at + f],
                                       sc_gather_f32x4(&X_val[X_at + f * X_stride0], X_stride0));
                    }
                    if ((rest & 2) != 0) {
                        const sc_i64 f = full + (rest & -4);
                        sc_store_f32x2(&t_copy[t_at + f],
                                       sc_gather_f32x2(&X_val[X_at + f * X_stride0], X_stride0));
                    }
                    if ((rest & 1) != 0) {
                        const sc_i64 f = full + (rest & -2);
                        t_copy[t_at + f] = X_val[X_at + f * X_stride0];
                    }
                }
            }
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[2];
    const sc_i64 f_dim = call->dim[0];
    float *restrict const t_copy = call->shared[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const u_copy = call->shared[1];
    (void)lane;

    /* work u[i,f]: shared f32 */
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for f/64 */
        if (f_dim >= 64) {
            for (sc_i64 f_block = 0; f_block < f_dim; f_block += 64) {
                const sc_i64 at = sc_min_i64(f_block, f_dim - 64);
                /* work c[f%64]: reg f32 */
                f32x16 c = sc_splat_f32x16(-__builtin_inff());
                f32x16 c_1 = sc_splat_f32x16(-__builtin_inff());
                f32x16 c_2 = sc_splat_f32x16(-__builtin_inff());
                f32x16 c_3 = sc_splat_f32x16(-__builtin_inff());
                /* for j in A rest */
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p++) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    /* vec f%64 { c[f%64] max= A[i,j] * t[j,f] } */
                    const float a = A_val[p];
                    const sc_i64 t_at = j * f_dim + at;
                    c = sc_max_f32x16(c, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at]));
                    c_1 = sc_max_f32x16(c_1, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 16]));
                    c_2 = sc_max_f32x16(c_2, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 32]));
                    c_3 = sc_max_f32x16(c_3, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 48]));
                }
                /* the coordinates of j that were not visited, at once */
                const sc_i64 left = j_dim - (A_hi - A_lo);
                if (left > 0) {
                    /* vec f%64 { c[f%64] max= 0 } */
                    c = sc_max_f32x16(c, (f32x16){0});
                    c_1 = sc_max_f32x16(c_1, (f32x16){0});
                    c_2 = sc_max_f32x16(c_2, (f32x16){0});
                    c_3 = sc_max_f32x16(c_3, (f32x16){0});
                }
                /* vec f%64 { u[i,f] = c[f%64] } */
                const sc_i64 u_at = i * f_dim + at;
                sc_store_f32x16(&u_copy[u_at], c);
                sc_store_f32x16(&u_copy[u_at + 16], c_1);
                sc_store_f32x16(&u_copy[u_at + 32], c_2);
                sc_store_f32x16(&u_copy[u_at + 48], c_3);
            }
        } else {
            const sc_i64 rest = f_dim % 64;
            const sc_i64 full = f_dim - rest;
            /* the rest, in powers of two */
            if ((rest & 32) != 0) {
                const sc_i64 f_block = full + (rest & -64);
                f32x16 c = sc_splat_f32x16(-__builtin_inff());
                f32x16 c_1 = sc_splat_f32x16(-__builtin_inff());
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    const float a = A_val[p];
                    const sc_i64 t_at = j * f_dim + f_block;
                    c = sc_max_f32x16(c, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at]));
                    c_1 = sc_max_f32x16(c_1, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 16]));
                    if (p + 1 < A_hi) {
                        const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                        const float a_1 = A_val[p + 1];
                        const sc_i64 t_at_1 = j_1 * f_dim + f_block;
                        c = sc_max_f32x16(c, sc_splat_f32x16(a_1) * sc_load_f32x16(&t_copy[t_at_1]));
                        c_1 = sc_max_f32x16(c_1, sc_splat_f32x16(a_1) * sc_load_f32x16(&t_copy[t_at_1 + 16]));
                    }
                }
                const sc_i64 left = j_dim - (A_hi - A_lo);
                if (left > 0) {
                    c = sc_max_f32x16(c, (f32x16){0});
                    c_1 = sc_max_f32x16(c_1, (f32x16){0});
                }
                const sc_i64 u_at = i * f_dim + f_block;
                sc_store_f32x16(&u_copy[u_at], c);
                sc_store_f32x16(&u_copy[u_at + 16], c_1);
            }
            if ((rest & 16) != 0) {
                const sc_i64 f_block = full + (rest & -32);
                f32x16 c = sc_splat_f32x16(-__builtin_inff());
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    const float a = A_val[p];
                    const sc_i64 t_at = j * f_dim + f_block;
                    c = sc_max_f32x16(c, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at]));
                    if (p + 1 < A_hi) {
                        const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                        const float a_1 = A_val[p + 1];
                        const sc_i64 t_at_1 = j_1 * f_dim + f_block;
                        c = sc_max_f32x16(c, sc_splat_f32x16(a_1) * sc_load_f32x16(&t_copy[t_at_1]));
                    }
                }
                const sc_i64 left = j_dim - (A_hi - A_lo);
                if (left > 0) {
                    c = sc_max_f32x16(c, (f32x16){0});
                }
                const sc_i64 u_at = i * f_dim + f_block;
                sc_store_f32x16(&u_copy[u_at], c);
            }
            if ((rest & 8) != 0) {
                const sc_i64 f_block = full + (rest & -16);
                f32x8 c = sc_splat_f32x8(-__builtin_inff());
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    const float a = A_val[p];
                    const sc_i64 t_at = j * f_dim + f_block;
                    c = sc_max_f32x8(c, sc_splat_f32x8(a) * sc_load_f32x8(&t_copy[t_at]));
                    if (p + 1 < A_hi) {
                        const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                        const float a_1 = A_val[p + 1];
                        const sc_i64 t_at_1 = j_1 * f_dim + f_block;
                        c = sc_max_f32x8(c, sc_splat_f32x8(a_1) * sc_load_f32x8(&t_copy[t_at_1]));
                    }
                }
                const sc_i64 left = j_dim - (A_hi - A_lo);
                if (left > 0) {
                    c = sc_max_f32x8(c, (f32x8){0});
                }
                const sc_i64 u_at = i * f_dim + f_block;
                sc_store_f32x8(&u_copy[u_at], c);
            }
            if ((rest & 4) != 0) {
                const sc_i64 f_block = full + (rest & -8);
                f32x4 c = sc_splat_f32x4(-__builtin_inff());
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    const float a = A_val[p];
                    const sc_i64 t_at = j * f_dim + f_block;
                    c = sc_max_f32x4(c, sc_splat_f32x4(a) * sc_load_f32x4(&t_copy[t_at]));
                    if (p + 1 < A_hi) {
                        const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                        const float a_1 = A_val[p + 1];
                        const sc_i64 t_at_1 = j_1 * f_dim + f_block;
                        c = sc_max_f32x4(c, sc_splat_f32x4(a_1) * sc_load_f32x4(&t_copy[t_at_1]));
                    }
                }
                const sc_i64 left = j_dim - (A_hi - A_lo);
                if (left > 0) {
                    c = sc_max_f32x4(c, (f32x4){0});
                }
                const sc_i64 u_at = i * f_dim + f_block;
                sc_store_f32x4(&u_copy[u_at], c);
            }
            if ((rest & 2) != 0) {
                const sc_i64 f_block = full + (rest & -4);
                f32x2 c = sc_splat_f32x2(-__builtin_inff());
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    const float a = A_val[p];
                    const sc_i64 t_at = j * f_dim + f_block;
                    c = sc_max_f32x2(c, sc_splat_f32x2(a) * sc_load_f32x2(&t_copy[t_at]));
                    if (p + 1 < A_hi) {
                        const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                        const float a_1 = A_val[p + 1];
                        const sc_i64 t_at_1 = j_1 * f_dim + f_block;
                        c = sc_max_f32x2(c, sc_splat_f32x2(a_1) * sc_load_f32x2(&t_copy[t_at_1]));
                    }
                }
                const sc_i64 left = j_dim - (A_hi - A_lo);
                if (left > 0) {
                    c = sc_max_f32x2(c, (f32x2){0});
                }
                const sc_i64 u_at = i * f_dim + f_block;
                sc_store_f32x2(&u_copy[u_at], c);
            }
            if ((rest & 1) != 0) {
                const sc_i64 f_block = full + (rest & -2);
                float c = -__builtin_inff();
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    const float a = A_val[p];
                    const sc_i64 t_at = j * f_dim + f_block;
                    c = sc_max_f32(c, a * t_copy[t_at]);
                    if (p + 1 < A_hi) {
                        const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                        const float a_1 = A_val[p + 1];
                        const sc_i64 t_at_1 = j_1 * f_dim + f_block;
                        c = sc_max_f32(c, a_1 * t_copy[t_at_1]);
                    }
                }
                const sc_i64 left = j_dim - (A_hi - A_lo);
                if (left > 0) {
                    c = sc_max_f32(c, 0.0f);
                }
                const sc_i64 u_at = i * f_dim + f_block;
                u_copy[u_at] = c;
            }
        }
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 f_dim = call->dim[0];
    float *restrict const t_copy = call->shared[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const c_carry = lane->partial;

    /* work u[i,f]: shared f32 */
    /* par i in A */
    /* for f/64 */
    if (f_dim >= 64) {
        for (sc_i64 f_block = 0; f_block < f_dim; f_block += 64) {
            const sc_i64 at = sc_min_i64(f_block, f_dim - 64);
            /* work c[f%64]: reg f32 */
            f32x16 c = sc_splat_f32x16(-__builtin_inff());
            f32x16 c_1 = sc_splat_f32x16(-__builtin_inff());
            f32x16 c_2 = sc_splat_f32x16(-__builtin_inff());
            f32x16 c_3 = sc_splat_f32x16(-__builtin_inff());
            /* for j in A rest */
            for (sc_i64 p = begin; p < end; p++) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                /* vec f%64 { c[f%64] max= A[i,j] * t[j,f] } */
                const float a = A_val[p];
                const sc_i64 t_at = j * f_dim + at;
                c = sc_max_f32x16(c, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at]));
                c_1 = sc_max_f32x16(c_1, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 16]));
                c_2 = sc_max_f32x16(c_2, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 32]));
                c_3 = sc_max_f32x16(c_3, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 48]));
            }
            sc_store_f32x16(&c_carry[at], c);
            sc_store_f32x16(&c_carry[at + 16], c_1);
            sc_store_f32x16(&c_carry[at + 32], c_2);
            sc_store_f32x16(&c_carry[at + 48], c_3);
        }
    } else {
        const sc_i64 rest = f_dim % 64;
        const sc_i64 full = f_dim - rest;
        /* the rest, in powers of two */
        if ((rest & 32) != 0) {
            const sc_i64 f_block = full + (rest & -64);
            f32x16 c = sc_splat_f32x16(-__builtin_inff());
            f32x16 c_1 = sc_splat_f32x16(-__builtin_inff());
            for (sc_i64 p = begin; p < end; p += 2) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 t_at = j * f_dim + f_block;
                c = sc_max_f32x16(c, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at]));
                c_1 = sc_max_f32x16(c_1, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 16]));
                if (p + 1 < end) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                    const float a_1 = A_val[p + 1];
                    const sc_i64 t_at_1 = j_1 * f_dim + f_block;
                    c = sc_max_f32x16(c, sc_splat_f32x16(a_1) * sc_load_f32x16(&t_copy[t_at_1]));
                    c_1 = sc_max_f32x16(c_1, sc_splat_f32x16(a_1) * sc_load_f32x16(&t_copy[t_at_1 + 16]));
                }
            }
            sc_store_f32x16(&c_carry[f_block], c);
            sc_store_f32x16(&c_carry[f_block + 16], c_1);
        }
        if ((rest & 16) != 0) {
            const sc_i64 f_block = full + (rest & -32);
            f32x16 c = sc_splat_f32x16(-__builtin_inff());
            for (sc_i64 p = begin; p < end; p += 2) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 t_at = j * f_dim + f_block;
                c = sc_max_f32x16(c, sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at]));
                if (p + 1 < end) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                    const float a_1 = A_val[p + 1];
                    const sc_i64 t_at_1 = j_1 * f_dim + f_block;
                    c = sc_max_f32x16(c, sc_splat_f32x16(a_1) * sc_load_f32x16(&t_copy[t_at_1]));
                }
            }
            sc_store_f32x16(&c_carry[f_block], c);
        }
        if ((rest & 8) != 0) {
            const sc_i64 f_block = full + (rest & -16);
            f32x8 c = sc_splat_f32x8(-__builtin_inff());
            for (sc_i64 p = begin; p < end; p += 2) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 t_at = j * f_dim + f_block;
                c = sc_max_f32x8(c, sc_splat_f32x8(a) * sc_load_f32x8(&t_copy[t_at]));
                if (p + 1 < end) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                    const float a_1 = A_val[p + 1];
                    const sc_i64 t_at_1 = j_1 * f_dim + f_block;
                    c = sc_max_f32x8(c, sc_splat_f32x8(a_1) * sc_load_f32x8(&t_copy[t_at_1]));
                }
            }
            sc_store_f32x8(&c_carry[f_block], c);
        }
        if ((rest & 4) != 0) {
            const sc_i64 f_block = full + (rest & -8);
            f32x4 c = sc_splat_f32x4(-__builtin_inff());
            for (sc_i64 p = begin; p < end; p += 2) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 t_at = j * f_dim + f_block;
                c = sc_max_f32x4(c, sc_splat_f32x4(a) * sc_load_f32x4(&t_copy[t_at]));
                if (p + 1 < end) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                    const float a_1 = A_val[p + 1];
                    const sc_i64 t_at_1 = j_1 * f_dim + f_block;
                    c = sc_max_f32x4(c, sc_splat_f32x4(a_1) * sc_load_f32x4(&t_copy[t_at_1]));
                }
            }
            sc_store_f32x4(&c_carry[f_block], c);
        }
        if ((rest & 2) != 0) {
            const sc_i64 f_block = full + (rest & -4);
            f32x2 c = sc_splat_f32x2(-__builtin_inff());
            for (sc_i64 p = begin; p < end; p += 2) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 t_at = j * f_dim + f_block;
                c = sc_max_f32x2(c, sc_splat_f32x2(a) * sc_load_f32x2(&t_copy[t_at]));
                if (p + 1 < end) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                    const float a_1 = A_val[p + 1];
                    const sc_i64 t_at_1 = j_1 * f_dim + f_block;
                    c = sc_max_f32x2(c, sc_splat_f32x2(a_1) * sc_load_f32x2(&t_copy[t_at_1]));
                }
            }
            sc_store_f32x2(&c_carry[f_block], c);
        }
        if ((rest & 1) != 0) {
            const sc_i64 f_block = full + (rest & -2);
            float c = -__builtin_inff();
            for (sc_i64 p = begin; p < end; p += 2) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 t_at = j * f_dim + f_block;
                c = sc_max_f32(c, a * t_copy[t_at]);
                if (p + 1 < end) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                    const float a_1 = A_val[p + 1];
                    const sc_i64 t_at_1 = j_1 * f_dim + f_block;
                    c = sc_max_f32(c, a_1 * t_copy[t_at_1]);
                }
            }
            c_carry[f_block] = c;
        }
    }
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[2];
    const sc_i64 f_dim = call->dim[0];
    const sc_i64 carried = lane->cursor[1];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    float *restrict const u_copy = call->shared[1];
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* work u[i,f]: shared f32 */
    /* par i in A */
    /* for f/64 */
    if (f_dim >= 64) {
        for (sc_i64 f_block = 0; f_block < f_dim; f_block += 64) {
            const sc_i64 at = sc_min_i64(f_block, f_dim - 64);
            /* work c[f%64]: reg f32 */
            f32x16 c = sc_splat_f32x16(-__builtin_inff());
            f32x16 c_1 = sc_splat_f32x16(-__builtin_inff());
            f32x16 c_2 = sc_splat_f32x16(-__builtin_inff());
            f32x16 c_3 = sc_splat_f32x16(-__builtin_inff());
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at_1 = slot * f_dim;
                c = sc_max_f32x16(c, sc_load_f32x16(&c_carry[at_1 + at]));
                c_1 = sc_max_f32x16(c_1, sc_load_f32x16(&c_carry[at_1 + at + 16]));
                c_2 = sc_max_f32x16(c_2, sc_load_f32x16(&c_carry[at_1 + at + 32]));
                c_3 = sc_max_f32x16(c_3, sc_load_f32x16(&c_carry[at_1 + at + 48]));
            }
            const sc_i64 A_lo = (sc_i64)A_pos1[begin];
            const sc_i64 A_hi = (sc_i64)A_pos1[begin + 1];
            /* the coordinates of j that were not visited, at once */
            const sc_i64 left = j_dim - (A_hi - A_lo);
            if (left > 0) {
                /* vec f%64 { c[f%64] max= 0 } */
                c = sc_max_f32x16(c, (f32x16){0});
                c_1 = sc_max_f32x16(c_1, (f32x16){0});
                c_2 = sc_max_f32x16(c_2, (f32x16){0});
                c_3 = sc_max_f32x16(c_3, (f32x16){0});
            }
            /* vec f%64 { u[i,f] = c[f%64] } */
            const sc_i64 u_at = begin * f_dim + at;
            sc_store_f32x16(&u_copy[u_at], c);
            sc_store_f32x16(&u_copy[u_at + 16], c_1);
            sc_store_f32x16(&u_copy[u_at + 32], c_2);
            sc_store_f32x16(&u_copy[u_at + 48], c_3);
        }
    } else {
        const sc_i64 rest = f_dim % 64;
        const sc_i64 full = f_dim - rest;
        /* the rest, in powers of two */
        if ((rest & 32) != 0) {
            const sc_i64 f_block = full + (rest & -64);
            f32x16 c = sc_splat_f32x16(-__builtin_inff());
            f32x16 c_1 = sc_splat_f32x16(-__builtin_inff());
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at = slot * f_dim;
                c = sc_max_f32x16(c, sc_load_f32x16(&c_carry[at + f_block]));
                c_1 = sc_max_f32x16(c_1, sc_load_f32x16(&c_carry[at + f_block + 16]));
            }
            const sc_i64 A_lo = (sc_i64)A_pos1[begin];
            const sc_i64 A_hi = (sc_i64)A_pos1[begin + 1];
            const sc_i64 left = j_dim - (A_hi - A_lo);
            if (left > 0) {
                c = sc_max_f32x16(c, (f32x16){0});
                c_1 = sc_max_f32x16(c_1, (f32x16){0});
            }
            const sc_i64 u_at = begin * f_dim + f_block;
            sc_store_f32x16(&u_copy[u_at], c);
            sc_store_f32x16(&u_copy[u_at + 16], c_1);
        }
        if ((rest & 16) != 0) {
            const sc_i64 f_block = full + (rest & -32);
            f32x16 c = sc_splat_f32x16(-__builtin_inff());
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at = slot * f_dim;
                c = sc_max_f32x16(c, sc_load_f32x16(&c_carry[at + f_block]));
            }
            const sc_i64 A_lo = (sc_i64)A_pos1[begin];
            const sc_i64 A_hi = (sc_i64)A_pos1[begin + 1];
            const sc_i64 left = j_dim - (A_hi - A_lo);
            if (left > 0) {
                c = sc_max_f32x16(c, (f32x16){0});
            }
            const sc_i64 u_at = begin * f_dim + f_block;
            sc_store_f32x16(&u_copy[u_at], c);
        }
        if ((rest & 8) != 0) {
            const sc_i64 f_block = full + (rest & -16);
            f32x8 c = sc_splat_f32x8(-__builtin_inff());
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at = slot * f_dim;
                c = sc_max_f32x8(c, sc_load_f32x8(&c_carry[at + f_block]));
            }
            const sc_i64 A_lo = (sc_i64)A_pos1[begin];
            const sc_i64 A_hi = (sc_i64)A_pos1[begin + 1];
            const sc_i64 left = j_dim - (A_hi - A_lo);
            if (left > 0) {
                c = sc_max_f32x8(c, (f32x8){0});
            }
            const sc_i64 u_at = begin * f_dim + f_block;
            sc_store_f32x8(&u_copy[u_at], c);
        }
        if ((rest & 4) != 0) {
            const sc_i64 f_block = full + (rest & -8);
            f32x4 c = sc_splat_f32x4(-__builtin_inff());
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at = slot * f_dim;
                c = sc_max_f32x4(c, sc_load_f32x4(&c_carry[at + f_block]));
            }
            const sc_i64 A_lo = (sc_i64)A_pos1[begin];
            const sc_i64 A_hi = (sc_i64)A_pos1[begin + 1];
            const sc_i64 left = j_dim - (A_hi - A_lo);
            if (left > 0) {
                c = sc_max_f32x4(c, (f32x4){0});
            }
            const sc_i64 u_at = begin * f_dim + f_block;
            sc_store_f32x4(&u_copy[u_at], c);
        }
        if ((rest & 2) != 0) {
            const sc_i64 f_block = full + (rest & -4);
            f32x2 c = sc_splat_f32x2(-__builtin_inff());
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at = slot * f_dim;
                c = sc_max_f32x2(c, sc_load_f32x2(&c_carry[at + f_block]));
            }
            const sc_i64 A_lo = (sc_i64)A_pos1[begin];
            const sc_i64 A_hi = (sc_i64)A_pos1[begin + 1];
            const sc_i64 left = j_dim - (A_hi - A_lo);
            if (left > 0) {
                c = sc_max_f32x2(c, (f32x2){0});
            }
            const sc_i64 u_at = begin * f_dim + f_block;
            sc_store_f32x2(&u_copy[u_at], c);
        }
        if ((rest & 1) != 0) {
            const sc_i64 f_block = full + (rest & -2);
            float c = -__builtin_inff();
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at = slot * f_dim;
                c = sc_max_f32(c, c_carry[at + f_block]);
            }
            const sc_i64 A_lo = (sc_i64)A_pos1[begin];
            const sc_i64 A_hi = (sc_i64)A_pos1[begin + 1];
            const sc_i64 left = j_dim - (A_hi - A_lo);
            if (left > 0) {
                c = sc_max_f32(c, 0.0f);
            }
            const sc_i64 u_at = begin * f_dim + f_block;
            u_copy[u_at] = c;
        }
    }
    return 0;
}

static int body_2(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 f_dim = call->dim[0];
    const sc_i64 i_dim = call->dim[1];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    float *restrict const u_copy = call->shared[1];
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i/16 */
    for (sc_i64 i_block = begin; i_block < end; i_block++) {
        const sc_i64 size = sc_min_i64(16, i_dim - i_block * 16);
        /* for f/16 */
        for (sc_i64 f_block = 0; f_block < f_dim; f_block += 16) {
            const sc_i64 size_1 = sc_min_i64(16, f_dim - f_block);
            /* for f%16 */
            if ((size_1 == 16) && (size == 16)) {
                /* vec i%16 { C[f,i] = u[i,f] } */
                const sc_i64 C_at = f_block * C_stride0 + i_block * 16;
                const sc_i64 u_at = i_block * 16 * f_dim + f_block;
                sc_turn_f32x16(&C_val[C_at], C_stride0, &u_copy[u_at], f_dim);
            } else {
                for (sc_i64 f_in = 0; f_in < size_1; f_in++) {
                    const sc_i64 u_at = i_block * 16 * f_dim + (f_block + f_in);
                    const sc_i64 C_at = (f_block + f_in) * C_stride0 + i_block * 16;
                    const sc_i64 rest = size % 16;
                    const sc_i64 full = size - rest;
                    for (sc_i64 i = 0; i < full; i += 16) {
                        sc_store_f32x16(&C_val[C_at + i], sc_gather_f32x16(&u_copy[u_at + i * f_dim], f_dim));
                    }
                    if ((rest & 8) != 0) {
                        const sc_i64 i = full + (rest & -16);
                        sc_store_f32x8(&C_val[C_at + i], sc_gather_f32x8(&u_copy[u_at + i * f_dim], f_dim));
                    }
                    if ((rest & 4) != 0) {
                        const sc_i64 i = full + (rest & -8);
                        sc_store_f32x4(&C_val[C_at + i], sc_gather_f32x4(&u_copy[u_at + i * f_dim], f_dim));
                    }
                    if ((rest & 2) != 0) {
                        const sc_i64 i = full + (rest & -4);
                        sc_store_f32x2(&C_val[C_at + i], sc_gather_f32x2(&u_copy[u_at + i * f_dim], f_dim));
                    }
                    if ((rest & 1) != 0) {
                        const sc_i64 i = full + (rest & -2);
                        C_val[C_at + i] = u_copy[u_at + i * f_dim];
                    }
                }
            }
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
    5, {body, body_1, part, finish, body_2}};

/* Computes
 *   Y[n,i] = X[n,j] * A[i,j]
 * with
 *   A: csr f32, indices i32
 *   X: dense f32
 *   Y: dense f32
 * by
 *   for n/64 {
 *     work t[j,n%64]: lane f32 {
 *       for j/16 {
 *         for n%64 {
 *           vec j%16 {
 *             t[j,n%64] = X[n,j]
 *           }
 *         }
 *       }
 *     } then {
 *       par i/16 {
 *         work y[i%16,n%64]: lane f32 {
 *           for i%16 {
 *             work c[n%64]: reg f32 {
 *               for j in A {
 *                 vec n%64 {
 *                   c[n%64] += A[i,j] * t[j,n%64]
 *                 }
 *               }
 *             } then {
 *               vec n%64 {
 *                 y[i%16,n%64] = c[n%64]
 *               }
 *             }
 *           }
 *         } then {
 *           for n%64 {
 *             vec i%16 {
 *               Y[n,i] = y[i%16,n%64]
 *             }
 *           }
 *         }
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   n is the vector, though nothing runs along it at stride 1: tiles of 64 are packed first
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
    return (f32x16){p[0], p[s], p[2 * s], p[3 * s], p[4 * s], p[5 * s], p[6 * s], p[7 * s], p[8 * s], p[9 * s], p[10 * s], p[11 * s], p[12 * s], p[13 * s], p[14 * s], p[15 * s]};
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
SC_INLINE void sc_scatter_f32x16(float *p, sc_i64 s, f32x16 x)
{
    p[0] = x[0];
    p[1 * s] = x[1];
    p[2 * s] = x[2];
    p[3 * s] = x[3];
    p[4 * s] = x[4];
    p[5 * s] = x[5];
    p[6 * s] = x[6];
    p[7 * s] = x[7];
    p[8 * s] = x[8];
    p[9 * s] = x[9];
    p[10 * s] = x[10];
    p[11 * s] = x[11];
    p[12 * s] = x[12];
    p[13 * s] = x[13];
    p[14 * s] = x[14];
    p[15 * s] = x[15];
}
SC_INLINE void sc_scatter_f32x8(float *p, sc_i64 s, f32x8 x)
{
    p[0] = x[0];
    p[1 * s] = x[1];
    p[2 * s] = x[2];
    p[3 * s] = x[3];
    p[4 * s] = x[4];
    p[5 * s] = x[5];
    p[6 * s] = x[6];
    p[7 * s] = x[7];
}
SC_INLINE void sc_scatter_f32x4(float *p, sc_i64 s, f32x4 x)
{
    p[0] = x[0];
    p[1 * s] = x[1];
    p[2 * s] = x[2];
    p[3 * s] = x[3];
}
SC_INLINE void sc_scatter_f32x2(float *p, sc_i64 s, f32x2 x)
{
    p[0] = x[0];
    p[1 * s] = x[1];
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[2];
    const sc_i64 n_dim = call->dim[0];
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const sc_i64 i_dim = call->dim[1];
    const sc_i64 Y_stride0 = call->view[2].stride[0];
    float *restrict const t_lane = lane->scratch;
    float *restrict const y_lane = (void *)((char *)lane->scratch + ((j_dim * 256 + 63) & -64));
    const float *restrict const X_val = call->view[1].val;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const Y_val = call->view[2].val;

    if (n_dim >= 64) {
        for (sc_i64 n_block = 0; n_block < n_dim; n_block += 64) {
            const sc_i64 at = sc_min_i64(n_block, n_dim - 64);
            if (j_dim >= 16) {
                for (sc_i64 j_block = 0; j_block < j_dim; j_block += 16) {
                    const sc_i64 at_1 = sc_min_i64(j_block, j_dim - 16);
                    for (sc_i64 n_in = 0; n_in < 64; n_in++) {
                        const sc_i64 X_at = (at + n_in) * X_stride0 + at_1;
                        const sc_i64 t_at = n_in + at_1 * 64;
                        sc_scatter_f32x16(&t_lane[t_at], 64, sc_load_f32x16(&X_val[X_at]));
                    }
                }
            } else {
                const sc_i64 rest = j_dim % 16;
                const sc_i64 full = j_dim - rest;
                if ((rest & 8) != 0) {
                    const sc_i64 j_block_1 = full + (rest & -16);
                    for (sc_i64 n_in_1 = 0; n_in_1 < 64; n_in_1++) {
                        const sc_i64 X_at_1 = (at + n_in_1) * X_stride0 + j_block_1;
                        const sc_i64 t_at_1 = n_in_1 + j_block_1 * 64;
                        sc_scatter_f32x8(&t_lane[t_at_1], 64, sc_load_f32x8(&X_val[X_at_1]));
                    }
                }
                if ((rest & 4) != 0) {
                    const sc_i64 j_block_2 = full + (rest & -8);
                    for (sc_i64 n_in_2 = 0; n_in_2 < 64; n_in_2++) {
                        const sc_i64 X_at_2 = (at + n_in_2) * X_stride0 + j_block_2;
                        const sc_i64 t_at_2 = n_in_2 + j_block_2 * 64;
                        sc_scatter_f32x4(&t_lane[t_at_2], 64, sc_load_f32x4(&X_val[X_at_2]));
                    }
                }
                if ((rest & 2) != 0) {
                    const sc_i64 j_block_3 = full + (rest & -4);
                    for (sc_i64 n_in_3 = 0; n_in_3 < 64; n_in_3++) {
                        const sc_i64 X_at_3 = (at + n_in_3) * X_stride0 + j_block_3;
                        const sc_i64 t_at_3 = n_in_3 + j_block_3 * 64;
                        sc_scatter_f32x2(&t_lane[t_at_3], 64, sc_load_f32x2(&X_val[X_at_3]));
                    }
                }
                if ((rest & 1) != 0) {
                    const sc_i64 j_block_4 = full + (rest & -2);
                    for (sc_i64 n_in_4 = 0; n_in_4 < 64; n_in_4++) {
                        const sc_i64 X_at_4 = (at + n_in_4) * X_stride0 + j_block_4;
                        const sc_i64 t_at_4 = n_in_4 + j_block_4 * 64;
                        t_lane[t_at_4] = X_val[X_at_4];
                    }
                }
            }
            for (sc_i64 i_block = begin; i_block < end; i_block++) {
                const sc_i64 size = sc_min_i64(16, i_dim - i_block * 16);
                for (sc_i64 i_in = 0; i_in < size; i_in++) {
                    f32x16 c = (f32x16){0};
                    f32x16 c_1 = (f32x16){0};
                    f32x16 c_2 = (f32x16){0};
                    f32x16 c_3 = (f32x16){0};
                    const sc_i64 A_lo = (sc_i64)A_pos1[i_block * 16 + i_in];
                    const sc_i64 A_hi = (sc_i64)A_pos1[i_block * 16 + i_in + 1];
                    for (sc_i64 p = A_lo; p < A_hi; p++) {
                        const sc_i64 j = (sc_i64)A_crd1[p];
                        const float a = A_val[p];
                        const sc_i64 t_at_5 = j * 64;
                        c = c + sc_splat_f32x16(a) * sc_load_f32x16(&t_lane[t_at_5]);
                        c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&t_lane[t_at_5 + 16]);
                        c_2 = c_2 + sc_splat_f32x16(a) * sc_load_f32x16(&t_lane[t_at_5 + 32]);
                        c_3 = c_3 + sc_splat_f32x16(a) * sc_load_f32x16(&t_lane[t_at_5 + 48]);
                    }
                    const sc_i64 y_at = i_in * 64;
                    sc_store_f32x16(&y_lane[y_at], c);
                    sc_store_f32x16(&y_lane[y_at + 16], c_1);
                    sc_store_f32x16(&y_lane[y_at + 32], c_2);
                    sc_store_f32x16(&y_lane[y_at + 48], c_3);
                }
                for (sc_i64 n_in_5 = 0; n_in_5 < 64; n_in_5++) {
                    const sc_i64 Y_at = (at + n_in_5) * Y_stride0 + i_block * 16;
                    const sc_i64 rest_1 = size % 16;
                    const sc_i64 full_1 = size - rest_1;
                    for (sc_i64 i = 0; i < full_1; i += 16) {
                        sc_store_f32x16(&Y_val[Y_at + i], sc_gather_f32x16(&y_lane[n_in_5 + i * 64], 64));
                    }
                    if ((rest_1 & 8) != 0) {
                        const sc_i64 i_1 = full_1 + (rest_1 & -16);
                        sc_store_f32x8(&Y_val[Y_at + i_1], sc_gather_f32x8(&y_lane[n_in_5 + i_1 * 64], 64));
                    }
                    if ((rest_1 & 4) != 0) {
                        const sc_i64 i_2 = full_1 + (rest_1 & -8);
                        sc_store_f32x4(&Y_val[Y_at + i_2], sc_gather_f32x4(&y_lane[n_in_5 + i_2 * 64], 64));
                    }
                    if ((rest_1 & 2) != 0) {
                        const sc_i64 i_3 = full_1 + (rest_1 & -4);
                        sc_store_f32x2(&Y_val[Y_at + i_3], sc_gather_f32x2(&y_lane[n_in_5 + i_3 * 64], 64));
                    }
                    if ((rest_1 & 1) != 0) {
                        const sc_i64 i_4 = full_1 + (rest_1 & -2);
                        Y_val[Y_at + i_4] = y_lane[n_in_5 + i_4 * 64];
                    }
                }
            }
        }
    } else {
        const sc_i64 rest_2 = n_dim % 64;
        const sc_i64 full_2 = n_dim - rest_2;
        if ((rest_2 & 32) != 0) {
            const sc_i64 n_block_1 = full_2 + (rest_2 & -64);
            if (j_dim >= 16) {
                for (sc_i64 j_block_5 = 0; j_block_5 < j_dim; j_block_5 += 16) {
                    const sc_i64 at_2 = sc_min_i64(j_block_5, j_dim - 16);
                    for (sc_i64 n_in_6 = 0; n_in_6 < 32; n_in_6++) {
                        const sc_i64 X_at_5 = (n_block_1 + n_in_6) * X_stride0 + at_2;
                        const sc_i64 t_at_6 = n_in_6 + at_2 * 64;
                        sc_scatter_f32x16(&t_lane[t_at_6], 64, sc_load_f32x16(&X_val[X_at_5]));
                    }
                }
            } else {
                const sc_i64 rest_3 = j_dim % 16;
                const sc_i64 full_3 = j_dim - rest_3;
                if ((rest_3 & 8) != 0) {
                    const sc_i64 j_block_6 = full_3 + (rest_3 & -16);
                    for (sc_i64 n_in_7 = 0; n_in_7 < 32; n_in_7++) {
                        const sc_i64 X_at_6 = (n_block_1 + n_in_7) * X_stride0 + j_block_6;
                        const sc_i64 t_at_7 = n_in_7 + j_block_6 * 64;
                        sc_scatter_f32x8(&t_lane[t_at_7], 64, sc_load_f32x8(&X_val[X_at_6]));
                    }
                }
                if ((rest_3 & 4) != 0) {
                    const sc_i64 j_block_7 = full_3 + (rest_3 & -8);
                    for (sc_i64 n_in_8 = 0; n_in_8 < 32; n_in_8++) {
                        const sc_i64 X_at_7 = (n_block_1 + n_in_8) * X_stride0 + j_block_7;
                        const sc_i64 t_at_8 = n_in_8 + j_block_7 * 64;
                        sc_scatter_f32x4(&t_lane[t_at_8], 64, sc_load_f32x4(&X_val[X_at_7]));
                    }
                }
                if ((rest_3 & 2) != 0) {
                    const sc_i64 j_block_8 = full_3 + (rest_3 & -4);
                    for (sc_i64 n_in_9 = 0; n_in_9 < 32; n_in_9++) {
                        const sc_i64 X_at_8 = (n_block_1 + n_in_9) * X_stride0 + j_block_8;
                        const sc_i64 t_at_9 = n_in_9 + j_block_8 * 64;
                        sc_scatter_f32x2(&t_lane[t_at_9], 64, sc_load_f32x2(&X_val[X_at_8]));
                    }
                }
                if ((rest_3 & 1) != 0) {
                    const sc_i64 j_block_9 = full_3 + (rest_3 & -2);
                    for (sc_i64 n_in_10 = 0; n_in_10 < 32; n_in_10++) {
                        const sc_i64 X_at_9 = (n_block_1 + n_in_10) * X_stride0 + j_block_9;
                        const sc_i64 t_at_10 = n_in_10 + j_block_9 * 64;
                        t_lane[t_at_10] = X_val[X_at_9];
                    }
                }
            }
            for (sc_i64 i_block_1 = begin; i_block_1 < end; i_block_1++) {
                const sc_i64 size_1 = sc_min_i64(16, i_dim - i_block_1 * 16);
                for (sc_i64 i_in_1 = 0; i_in_1 < size_1; i_in_1++) {
                    f32x16 c_4 = (f32x16){0};
                    f32x16 c_5 = (f32x16){0};
                    const sc_i64 A_lo_1 = (sc_i64)A_pos1[i_block_1 * 16 + i_in_1];
                    const sc_i64 A_hi_1 = (sc_i64)A_pos1[i_block_1 * 16 + i_in_1 + 1];
                    for (sc_i64 p_1 = A_lo_1; p_1 < A_hi_1; p_1 += 2) {
                        const sc_i64 j_1 = (sc_i64)A_crd1[p_1];
                        const float a_1 = A_val[p_1];
                        const sc_i64 t_at_11 = j_1 * 64;
                        c_4 = c_4 + sc_splat_f32x16(a_1) * sc_load_f32x16(&t_lane[t_at_11]);
                        c_5 = c_5 + sc_splat_f32x16(a_1) * sc_load_f32x16(&t_lane[t_at_11 + 16]);
                        if (p_1 + 1 < A_hi_1) {
                            const sc_i64 j_2 = (sc_i64)A_crd1[p_1 + 1];
                            const float a_2 = A_val[p_1 + 1];
                            const sc_i64 t_at_12 = j_2 * 64;
                            c_4 = c_4 + sc_splat_f32x16(a_2) * sc_load_f32x16(&t_lane[t_at_12]);
                            c_5 = c_5 + sc_splat_f32x16(a_2) * sc_load_f32x16(&t_lane[t_at_12 + 16]);
                        }
                    }
                    const sc_i64 y_at_1 = i_in_1 * 64;
                    sc_store_f32x16(&y_lane[y_at_1], c_4);
                    sc_store_f32x16(&y_lane[y_at_1 + 16], c_5);
                }
                for (sc_i64 n_in_11 = 0; n_in_11 < 32; n_in_11++) {
                    const sc_i64 Y_at_1 = (n_block_1 + n_in_11) * Y_stride0 + i_block_1 * 16;
                    const sc_i64 rest_4 = size_1 % 16;
                    const sc_i64 full_4 = size_1 - rest_4;
                    for (sc_i64 i_5 = 0; i_5 < full_4; i_5 += 16) {
                        sc_store_f32x16(&Y_val[Y_at_1 + i_5], sc_gather_f32x16(&y_lane[n_in_11 + i_5 * 64], 64));
                    }
                    if ((rest_4 & 8) != 0) {
                        const sc_i64 i_6 = full_4 + (rest_4 & -16);
                        sc_store_f32x8(&Y_val[Y_at_1 + i_6], sc_gather_f32x8(&y_lane[n_in_11 + i_6 * 64], 64));
                    }
                    if ((rest_4 & 4) != 0) {
                        const sc_i64 i_7 = full_4 + (rest_4 & -8);
                        sc_store_f32x4(&Y_val[Y_at_1 + i_7], sc_gather_f32x4(&y_lane[n_in_11 + i_7 * 64], 64));
                    }
                    if ((rest_4 & 2) != 0) {
                        const sc_i64 i_8 = full_4 + (rest_4 & -4);
                        sc_store_f32x2(&Y_val[Y_at_1 + i_8], sc_gather_f32x2(&y_lane[n_in_11 + i_8 * 64], 64));
                    }
                    if ((rest_4 & 1) != 0) {
                        const sc_i64 i_9 = full_4 + (rest_4 & -2);
                        Y_val[Y_at_1 + i_9] = y_lane[n_in_11 + i_9 * 64];
                    }
                }
            }
        }
        if ((rest_2 & 16) != 0) {
            const sc_i64 n_block_2 = full_2 + (rest_2 & -32);
            if (j_dim >= 16) {
                for (sc_i64 j_block_10 = 0; j_block_10 < j_dim; j_block_10 += 16) {
                    const sc_i64 at_3 = sc_min_i64(j_block_10, j_dim - 16);
                    for (sc_i64 n_in_12 = 0; n_in_12 < 16; n_in_12++) {
                        const sc_i64 X_at_10 = (n_block_2 + n_in_12) * X_stride0 + at_3;
                        const sc_i64 t_at_13 = n_in_12 + at_3 * 64;
                        sc_scatter_f32x16(&t_lane[t_at_13], 64, sc_load_f32x16(&X_val[X_at_10]));
                    }
                }
            } else {
                const sc_i64 rest_5 = j_dim % 16;
                const sc_i64 full_5 = j_dim - rest_5;
                if ((rest_5 & 8) != 0) {
                    const sc_i64 j_block_11 = full_5 + (rest_5 & -16);
                    for (sc_i64 n_in_13 = 0; n_in_13 < 16; n_in_13++) {
                        const sc_i64 X_at_11 = (n_block_2 + n_in_13) * X_stride0 + j_block_11;
                        const sc_i64 t_at_14 = n_in_13 + j_block_11 * 64;
                        sc_scatter_f32x8(&t_lane[t_at_14], 64, sc_load_f32x8(&X_val[X_at_11]));
                    }
                }
                if ((rest_5 & 4) != 0) {
                    const sc_i64 j_block_12 = full_5 + (rest_5 & -8);
                    for (sc_i64 n_in_14 = 0; n_in_14 < 16; n_in_14++) {
                        const sc_i64 X_at_12 = (n_block_2 + n_in_14) * X_stride0 + j_block_12;
                        const sc_i64 t_at_15 = n_in_14 + j_block_12 * 64;
                        sc_scatter_f32x4(&t_lane[t_at_15], 64, sc_load_f32x4(&X_val[X_at_12]));
                    }
                }
                if ((rest_5 & 2) != 0) {
                    const sc_i64 j_block_13 = full_5 + (rest_5 & -4);
                    for (sc_i64 n_in_15 = 0; n_in_15 < 16; n_in_15++) {
                        const sc_i64 X_at_13 = (n_block_2 + n_in_15) * X_stride0 + j_block_13;
                        const sc_i64 t_at_16 = n_in_15 + j_block_13 * 64;
                        sc_scatter_f32x2(&t_lane[t_at_16], 64, sc_load_f32x2(&X_val[X_at_13]));
                    }
                }
                if ((rest_5 & 1) != 0) {
                    const sc_i64 j_block_14 = full_5 + (rest_5 & -2);
                    for (sc_i64 n_in_16 = 0; n_in_16 < 16; n_in_16++) {
                        const sc_i64 X_at_14 = (n_block_2 + n_in_16) * X_stride0 + j_block_14;
                        const sc_i64 t_at_17 = n_in_16 + j_block_14 * 64;
                        t_lane[t_at_17] = X_val[X_at_14];
                    }
                }
            }
            for (sc_i64 i_block_2 = begin; i_block_2 < end; i_block_2++) {
                const sc_i64 size_2 = sc_min_i64(16, i_dim - i_block_2 * 16);
                for (sc_i64 i_in_2 = 0; i_in_2 < size_2; i_in_2++) {
                    f32x16 c_6 = (f32x16){0};
                    const sc_i64 A_lo_2 = (sc_i64)A_pos1[i_block_2 * 16 + i_in_2];
                    const sc_i64 A_hi_2 = (sc_i64)A_pos1[i_block_2 * 16 + i_in_2 + 1];
                    for (sc_i64 p_2 = A_lo_2; p_2 < A_hi_2; p_2 += 2) {
                        const sc_i64 j_3 = (sc_i64)A_crd1[p_2];
                        const float a_3 = A_val[p_2];
                        const sc_i64 t_at_18 = j_3 * 64;
                        c_6 = c_6 + sc_splat_f32x16(a_3) * sc_load_f32x16(&t_lane[t_at_18]);
                        if (p_2 + 1 < A_hi_2) {
                            const sc_i64 j_4 = (sc_i64)A_crd1[p_2 + 1];
                            const float a_4 = A_val[p_2 + 1];
                            const sc_i64 t_at_19 = j_4 * 64;
                            c_6 = c_6 + sc_splat_f32x16(a_4) * sc_load_f32x16(&t_lane[t_at_19]);
                        }
                    }
                    const sc_i64 y_at_2 = i_in_2 * 64;
                    sc_store_f32x16(&y_lane[y_at_2], c_6);
                }
                for (sc_i64 n_in_17 = 0; n_in_17 < 16; n_in_17++) {
                    const sc_i64 Y_at_2 = (n_block_2 + n_in_17) * Y_stride0 + i_block_2 * 16;
                    const sc_i64 rest_6 = size_2 % 16;
                    const sc_i64 full_6 = size_2 - rest_6;
                    for (sc_i64 i_10 = 0; i_10 < full_6; i_10 += 16) {
                        sc_store_f32x16(&Y_val[Y_at_2 + i_10], sc_gather_f32x16(&y_lane[n_in_17 + i_10 * 64], 64));
                    }
                    if ((rest_6 & 8) != 0) {
                        const sc_i64 i_11 = full_6 + (rest_6 & -16);
                        sc_store_f32x8(&Y_val[Y_at_2 + i_11], sc_gather_f32x8(&y_lane[n_in_17 + i_11 * 64], 64));
                    }
                    if ((rest_6 & 4) != 0) {
                        const sc_i64 i_12 = full_6 + (rest_6 & -8);
                        sc_store_f32x4(&Y_val[Y_at_2 + i_12], sc_gather_f32x4(&y_lane[n_in_17 + i_12 * 64], 64));
                    }
                    if ((rest_6 & 2) != 0) {
                        const sc_i64 i_13 = full_6 + (rest_6 & -4);
                        sc_store_f32x2(&Y_val[Y_at_2 + i_13], sc_gather_f32x2(&y_lane[n_in_17 + i_13 * 64], 64));
                    }
                    if ((rest_6 & 1) != 0) {
                        const sc_i64 i_14 = full_6 + (rest_6 & -2);
                        Y_val[Y_at_2 + i_14] = y_lane[n_in_17 + i_14 * 64];
                    }
                }
            }
        }
        if ((rest_2 & 8) != 0) {
            const sc_i64 n_block_3 = full_2 + (rest_2 & -16);
            if (j_dim >= 16) {
                for (sc_i64 j_block_15 = 0; j_block_15 < j_dim; j_block_15 += 16) {
                    const sc_i64 at_4 = sc_min_i64(j_block_15, j_dim - 16);
                    for (sc_i64 n_in_18 = 0; n_in_18 < 8; n_in_18++) {
                        const sc_i64 X_at_15 = (n_block_3 + n_in_18) * X_stride0 + at_4;
                        const sc_i64 t_at_20 = n_in_18 + at_4 * 64;
                        sc_scatter_f32x16(&t_lane[t_at_20], 64, sc_load_f32x16(&X_val[X_at_15]));
                    }
                }
            } else {
                const sc_i64 rest_7 = j_dim % 16;
                const sc_i64 full_7 = j_dim - rest_7;
                if ((rest_7 & 8) != 0) {
                    const sc_i64 j_block_16 = full_7 + (rest_7 & -16);
                    for (sc_i64 n_in_19 = 0; n_in_19 < 8; n_in_19++) {
                        const sc_i64 X_at_16 = (n_block_3 + n_in_19) * X_stride0 + j_block_16;
                        const sc_i64 t_at_21 = n_in_19 + j_block_16 * 64;
                        sc_scatter_f32x8(&t_lane[t_at_21], 64, sc_load_f32x8(&X_val[X_at_16]));
                    }
                }
                if ((rest_7 & 4) != 0) {
                    const sc_i64 j_block_17 = full_7 + (rest_7 & -8);
                    for (sc_i64 n_in_20 = 0; n_in_20 < 8; n_in_20++) {
                        const sc_i64 X_at_17 = (n_block_3 + n_in_20) * X_stride0 + j_block_17;
                        const sc_i64 t_at_22 = n_in_20 + j_block_17 * 64;
                        sc_scatter_f32x4(&t_lane[t_at_22], 64, sc_load_f32x4(&X_val[X_at_17]));
                    }
                }
                if ((rest_7 & 2) != 0) {
                    const sc_i64 j_block_18 = full_7 + (rest_7 & -4);
                    for (sc_i64 n_in_21 = 0; n_in_21 < 8; n_in_21++) {
                        const sc_i64 X_at_18 = (n_block_3 + n_in_21) * X_stride0 + j_block_18;
                        const sc_i64 t_at_23 = n_in_21 + j_block_18 * 64;
                        sc_scatter_f32x2(&t_lane[t_at_23], 64, sc_load_f32x2(&X_val[X_at_18]));
                    }
                }
                if ((rest_7 & 1) != 0) {
                    const sc_i64 j_block_19 = full_7 + (rest_7 & -2);
                    for (sc_i64 n_in_22 = 0; n_in_22 < 8; n_in_22++) {
                        const sc_i64 X_at_19 = (n_block_3 + n_in_22) * X_stride0 + j_block_19;
                        const sc_i64 t_at_24 = n_in_22 + j_block_19 * 64;
                        t_lane[t_at_24] = X_val[X_at_19];
                    }
                }
            }
            for (sc_i64 i_block_3 = begin; i_block_3 < end; i_block_3++) {
                const sc_i64 size_3 = sc_min_i64(16, i_dim - i_block_3 * 16);
                for (sc_i64 i_in_3 = 0; i_in_3 < size_3; i_in_3++) {
                    f32x8 c_7 = (f32x8){0};
                    const sc_i64 A_lo_3 = (sc_i64)A_pos1[i_block_3 * 16 + i_in_3];
                    const sc_i64 A_hi_3 = (sc_i64)A_pos1[i_block_3 * 16 + i_in_3 + 1];
                    for (sc_i64 p_3 = A_lo_3; p_3 < A_hi_3; p_3 += 2) {
                        const sc_i64 j_5 = (sc_i64)A_crd1[p_3];
                        const float a_5 = A_val[p_3];
                        const sc_i64 t_at_25 = j_5 * 64;
                        c_7 = c_7 + sc_splat_f32x8(a_5) * sc_load_f32x8(&t_lane[t_at_25]);
                        if (p_3 + 1 < A_hi_3) {
                            const sc_i64 j_6 = (sc_i64)A_crd1[p_3 + 1];
                            const float a_6 = A_val[p_3 + 1];
                            const sc_i64 t_at_26 = j_6 * 64;
                            c_7 = c_7 + sc_splat_f32x8(a_6) * sc_load_f32x8(&t_lane[t_at_26]);
                        }
                    }
                    const sc_i64 y_at_3 = i_in_3 * 64;
                    sc_store_f32x8(&y_lane[y_at_3], c_7);
                }
                for (sc_i64 n_in_23 = 0; n_in_23 < 8; n_in_23++) {
                    const sc_i64 Y_at_3 = (n_block_3 + n_in_23) * Y_stride0 + i_block_3 * 16;
                    const sc_i64 rest_8 = size_3 % 16;
                    const sc_i64 full_8 = size_3 - rest_8;
                    for (sc_i64 i_15 = 0; i_15 < full_8; i_15 += 16) {
                        sc_store_f32x16(&Y_val[Y_at_3 + i_15], sc_gather_f32x16(&y_lane[n_in_23 + i_15 * 64], 64));
                    }
                    if ((rest_8 & 8) != 0) {
                        const sc_i64 i_16 = full_8 + (rest_8 & -16);
                        sc_store_f32x8(&Y_val[Y_at_3 + i_16], sc_gather_f32x8(&y_lane[n_in_23 + i_16 * 64], 64));
                    }
                    if ((rest_8 & 4) != 0) {
                        const sc_i64 i_17 = full_8 + (rest_8 & -8);
                        sc_store_f32x4(&Y_val[Y_at_3 + i_17], sc_gather_f32x4(&y_lane[n_in_23 + i_17 * 64], 64));
                    }
                    if ((rest_8 & 2) != 0) {
                        const sc_i64 i_18 = full_8 + (rest_8 & -4);
                        sc_store_f32x2(&Y_val[Y_at_3 + i_18], sc_gather_f32x2(&y_lane[n_in_23 + i_18 * 64], 64));
                    }
                    if ((rest_8 & 1) != 0) {
                        const sc_i64 i_19 = full_8 + (rest_8 & -2);
                        Y_val[Y_at_3 + i_19] = y_lane[n_in_23 + i_19 * 64];
                    }
                }
            }
        }
        if ((rest_2 & 4) != 0) {
            const sc_i64 n_block_4 = full_2 + (rest_2 & -8);
            if (j_dim >= 16) {
                for (sc_i64 j_block_20 = 0; j_block_20 < j_dim; j_block_20 += 16) {
                    const sc_i64 at_5 = sc_min_i64(j_block_20, j_dim - 16);
                    for (sc_i64 n_in_24 = 0; n_in_24 < 4; n_in_24++) {
                        const sc_i64 X_at_20 = (n_block_4 + n_in_24) * X_stride0 + at_5;
                        const sc_i64 t_at_27 = n_in_24 + at_5 * 64;
                        sc_scatter_f32x16(&t_lane[t_at_27], 64, sc_load_f32x16(&X_val[X_at_20]));
                    }
                }
            } else {
                const sc_i64 rest_9 = j_dim % 16;
                const sc_i64 full_9 = j_dim - rest_9;
                if ((rest_9 & 8) != 0) {
                    const sc_i64 j_block_21 = full_9 + (rest_9 & -16);
                    for (sc_i64 n_in_25 = 0; n_in_25 < 4; n_in_25++) {
                        const sc_i64 X_at_21 = (n_block_4 + n_in_25) * X_stride0 + j_block_21;
                        const sc_i64 t_at_28 = n_in_25 + j_block_21 * 64;
                        sc_scatter_f32x8(&t_lane[t_at_28], 64, sc_load_f32x8(&X_val[X_at_21]));
                    }
                }
                if ((rest_9 & 4) != 0) {
                    const sc_i64 j_block_22 = full_9 + (rest_9 & -8);
                    for (sc_i64 n_in_26 = 0; n_in_26 < 4; n_in_26++) {
                        const sc_i64 X_at_22 = (n_block_4 + n_in_26) * X_stride0 + j_block_22;
                        const sc_i64 t_at_29 = n_in_26 + j_block_22 * 64;
                        sc_scatter_f32x4(&t_lane[t_at_29], 64, sc_load_f32x4(&X_val[X_at_22]));
                    }
                }
                if ((rest_9 & 2) != 0) {
                    const sc_i64 j_block_23 = full_9 + (rest_9 & -4);
                    for (sc_i64 n_in_27 = 0; n_in_27 < 4; n_in_27++) {
                        const sc_i64 X_at_23 = (n_block_4 + n_in_27) * X_stride0 + j_block_23;
                        const sc_i64 t_at_30 = n_in_27 + j_block_23 * 64;
                        sc_scatter_f32x2(&t_lane[t_at_30], 64, sc_load_f32x2(&X_val[X_at_23]));
                    }
                }
                if ((rest_9 & 1) != 0) {
                    const sc_i64 j_block_24 = full_9 + (rest_9 & -2);
                    for (sc_i64 n_in_28 = 0; n_in_28 < 4; n_in_28++) {
                        const sc_i64 X_at_24 = (n_block_4 + n_in_28) * X_stride0 + j_block_24;
                        const sc_i64 t_at_31 = n_in_28 + j_block_24 * 64;
                        t_lane[t_at_31] = X_val[X_at_24];
                    }
                }
            }
            for (sc_i64 i_block_4 = begin; i_block_4 < end; i_block_4++) {
                const sc_i64 size_4 = sc_min_i64(16, i_dim - i_block_4 * 16);
                for (sc_i64 i_in_4 = 0; i_in_4 < size_4; i_in_4++) {
                    f32x4 c_8 = (f32x4){0};
                    const sc_i64 A_lo_4 = (sc_i64)A_pos1[i_block_4 * 16 + i_in_4];
                    const sc_i64 A_hi_4 = (sc_i64)A_pos1[i_block_4 * 16 + i_in_4 + 1];
                    for (sc_i64 p_4 = A_lo_4; p_4 < A_hi_4; p_4 += 2) {
                        const sc_i64 j_7 = (sc_i64)A_crd1[p_4];
                        const float a_7 = A_val[p_4];
                        const sc_i64 t_at_32 = j_7 * 64;
                        c_8 = c_8 + sc_splat_f32x4(a_7) * sc_load_f32x4(&t_lane[t_at_32]);
                        if (p_4 + 1 < A_hi_4) {
                            const sc_i64 j_8 = (sc_i64)A_crd1[p_4 + 1];
                            const float a_8 = A_val[p_4 + 1];
                            const sc_i64 t_at_33 = j_8 * 64;
                            c_8 = c_8 + sc_splat_f32x4(a_8) * sc_load_f32x4(&t_lane[t_at_33]);
                        }
                    }
                    const sc_i64 y_at_4 = i_in_4 * 64;
                    sc_store_f32x4(&y_lane[y_at_4], c_8);
                }
                for (sc_i64 n_in_29 = 0; n_in_29 < 4; n_in_29++) {
                    const sc_i64 Y_at_4 = (n_block_4 + n_in_29) * Y_stride0 + i_block_4 * 16;
                    const sc_i64 rest_10 = size_4 % 16;
                    const sc_i64 full_10 = size_4 - rest_10;
                    for (sc_i64 i_20 = 0; i_20 < full_10; i_20 += 16) {
                        sc_store_f32x16(&Y_val[Y_at_4 + i_20], sc_gather_f32x16(&y_lane[n_in_29 + i_20 * 64], 64));
                    }
                    if ((rest_10 & 8) != 0) {
                        const sc_i64 i_21 = full_10 + (rest_10 & -16);
                        sc_store_f32x8(&Y_val[Y_at_4 + i_21], sc_gather_f32x8(&y_lane[n_in_29 + i_21 * 64], 64));
                    }
                    if ((rest_10 & 4) != 0) {
                        const sc_i64 i_22 = full_10 + (rest_10 & -8);
                        sc_store_f32x4(&Y_val[Y_at_4 + i_22], sc_gather_f32x4(&y_lane[n_in_29 + i_22 * 64], 64));
                    }
                    if ((rest_10 & 2) != 0) {
                        const sc_i64 i_23 = full_10 + (rest_10 & -4);
                        sc_store_f32x2(&Y_val[Y_at_4 + i_23], sc_gather_f32x2(&y_lane[n_in_29 + i_23 * 64], 64));
                    }
                    if ((rest_10 & 1) != 0) {
                        const sc_i64 i_24 = full_10 + (rest_10 & -2);
                        Y_val[Y_at_4 + i_24] = y_lane[n_in_29 + i_24 * 64];
                    }
                }
            }
        }
        if ((rest_2 & 2) != 0) {
            const sc_i64 n_block_5 = full_2 + (rest_2 & -4);
            if (j_dim >= 16) {
                for (sc_i64 j_block_25 = 0; j_block_25 < j_dim; j_block_25 += 16) {
                    const sc_i64 at_6 = sc_min_i64(j_block_25, j_dim - 16);
                    for (sc_i64 n_in_30 = 0; n_in_30 < 2; n_in_30++) {
                        const sc_i64 X_at_25 = (n_block_5 + n_in_30) * X_stride0 + at_6;
                        const sc_i64 t_at_34 = n_in_30 + at_6 * 64;
                        sc_scatter_f32x16(&t_lane[t_at_34], 64, sc_load_f32x16(&X_val[X_at_25]));
                    }
                }
            } else {
                const sc_i64 rest_11 = j_dim % 16;
                const sc_i64 full_11 = j_dim - rest_11;
                if ((rest_11 & 8) != 0) {
                    const sc_i64 j_block_26 = full_11 + (rest_11 & -16);
                    for (sc_i64 n_in_31 = 0; n_in_31 < 2; n_in_31++) {
                        const sc_i64 X_at_26 = (n_block_5 + n_in_31) * X_stride0 + j_block_26;
                        const sc_i64 t_at_35 = n_in_31 + j_block_26 * 64;
                        sc_scatter_f32x8(&t_lane[t_at_35], 64, sc_load_f32x8(&X_val[X_at_26]));
                    }
                }
                if ((rest_11 & 4) != 0) {
                    const sc_i64 j_block_27 = full_11 + (rest_11 & -8);
                    for (sc_i64 n_in_32 = 0; n_in_32 < 2; n_in_32++) {
                        const sc_i64 X_at_27 = (n_block_5 + n_in_32) * X_stride0 + j_block_27;
                        const sc_i64 t_at_36 = n_in_32 + j_block_27 * 64;
                        sc_scatter_f32x4(&t_lane[t_at_36], 64, sc_load_f32x4(&X_val[X_at_27]));
                    }
                }
                if ((rest_11 & 2) != 0) {
                    const sc_i64 j_block_28 = full_11 + (rest_11 & -4);
                    for (sc_i64 n_in_33 = 0; n_in_33 < 2; n_in_33++) {
                        const sc_i64 X_at_28 = (n_block_5 + n_in_33) * X_stride0 + j_block_28;
                        const sc_i64 t_at_37 = n_in_33 + j_block_28 * 64;
                        sc_scatter_f32x2(&t_lane[t_at_37], 64, sc_load_f32x2(&X_val[X_at_28]));
                    }
                }
                if ((rest_11 & 1) != 0) {
                    const sc_i64 j_block_29 = full_11 + (rest_11 & -2);
                    for (sc_i64 n_in_34 = 0; n_in_34 < 2; n_in_34++) {
                        const sc_i64 X_at_29 = (n_block_5 + n_in_34) * X_stride0 + j_block_29;
                        const sc_i64 t_at_38 = n_in_34 + j_block_29 * 64;
                        t_lane[t_at_38] = X_val[X_at_29];
                    }
                }
            }
            for (sc_i64 i_block_5 = begin; i_block_5 < end; i_block_5++) {
                const sc_i64 size_5 = sc_min_i64(16, i_dim - i_block_5 * 16);
                for (sc_i64 i_in_5 = 0; i_in_5 < size_5; i_in_5++) {
                    f32x2 c_9 = (f32x2){0};
                    const sc_i64 A_lo_5 = (sc_i64)A_pos1[i_block_5 * 16 + i_in_5];
                    const sc_i64 A_hi_5 = (sc_i64)A_pos1[i_block_5 * 16 + i_in_5 + 1];
                    for (sc_i64 p_5 = A_lo_5; p_5 < A_hi_5; p_5 += 2) {
                        const sc_i64 j_9 = (sc_i64)A_crd1[p_5];
                        const float a_9 = A_val[p_5];
                        const sc_i64 t_at_39 = j_9 * 64;
                        c_9 = c_9 + sc_splat_f32x2(a_9) * sc_load_f32x2(&t_lane[t_at_39]);
                        if (p_5 + 1 < A_hi_5) {
                            const sc_i64 j_10 = (sc_i64)A_crd1[p_5 + 1];
                            const float a_10 = A_val[p_5 + 1];
                            const sc_i64 t_at_40 = j_10 * 64;
                            c_9 = c_9 + sc_splat_f32x2(a_10) * sc_load_f32x2(&t_lane[t_at_40]);
                        }
                    }
                    const sc_i64 y_at_5 = i_in_5 * 64;
                    sc_store_f32x2(&y_lane[y_at_5], c_9);
                }
                for (sc_i64 n_in_35 = 0; n_in_35 < 2; n_in_35++) {
                    const sc_i64 Y_at_5 = (n_block_5 + n_in_35) * Y_stride0 + i_block_5 * 16;
                    const sc_i64 rest_12 = size_5 % 16;
                    const sc_i64 full_12 = size_5 - rest_12;
                    for (sc_i64 i_25 = 0; i_25 < full_12; i_25 += 16) {
                        sc_store_f32x16(&Y_val[Y_at_5 + i_25], sc_gather_f32x16(&y_lane[n_in_35 + i_25 * 64], 64));
                    }
                    if ((rest_12 & 8) != 0) {
                        const sc_i64 i_26 = full_12 + (rest_12 & -16);
                        sc_store_f32x8(&Y_val[Y_at_5 + i_26], sc_gather_f32x8(&y_lane[n_in_35 + i_26 * 64], 64));
                    }
                    if ((rest_12 & 4) != 0) {
                        const sc_i64 i_27 = full_12 + (rest_12 & -8);
                        sc_store_f32x4(&Y_val[Y_at_5 + i_27], sc_gather_f32x4(&y_lane[n_in_35 + i_27 * 64], 64));
                    }
                    if ((rest_12 & 2) != 0) {
                        const sc_i64 i_28 = full_12 + (rest_12 & -4);
                        sc_store_f32x2(&Y_val[Y_at_5 + i_28], sc_gather_f32x2(&y_lane[n_in_35 + i_28 * 64], 64));
                    }
                    if ((rest_12 & 1) != 0) {
                        const sc_i64 i_29 = full_12 + (rest_12 & -2);
                        Y_val[Y_at_5 + i_29] = y_lane[n_in_35 + i_29 * 64];
                    }
                }
            }
        }
        if ((rest_2 & 1) != 0) {
            const sc_i64 n_block_6 = full_2 + (rest_2 & -2);
            if (j_dim >= 16) {
                for (sc_i64 j_block_30 = 0; j_block_30 < j_dim; j_block_30 += 16) {
                    const sc_i64 at_7 = sc_min_i64(j_block_30, j_dim - 16);
                    for (sc_i64 n_in_36 = 0; n_in_36 < 1; n_in_36++) {
                        const sc_i64 X_at_30 = (n_block_6 + n_in_36) * X_stride0 + at_7;
                        const sc_i64 t_at_41 = n_in_36 + at_7 * 64;
                        sc_scatter_f32x16(&t_lane[t_at_41], 64, sc_load_f32x16(&X_val[X_at_30]));
                    }
                }
            } else {
                const sc_i64 rest_13 = j_dim % 16;
                const sc_i64 full_13 = j_dim - rest_13;
                if ((rest_13 & 8) != 0) {
                    const sc_i64 j_block_31 = full_13 + (rest_13 & -16);
                    for (sc_i64 n_in_37 = 0; n_in_37 < 1; n_in_37++) {
                        const sc_i64 X_at_31 = (n_block_6 + n_in_37) * X_stride0 + j_block_31;
                        const sc_i64 t_at_42 = n_in_37 + j_block_31 * 64;
                        sc_scatter_f32x8(&t_lane[t_at_42], 64, sc_load_f32x8(&X_val[X_at_31]));
                    }
                }
                if ((rest_13 & 4) != 0) {
                    const sc_i64 j_block_32 = full_13 + (rest_13 & -8);
                    for (sc_i64 n_in_38 = 0; n_in_38 < 1; n_in_38++) {
                        const sc_i64 X_at_32 = (n_block_6 + n_in_38) * X_stride0 + j_block_32;
                        const sc_i64 t_at_43 = n_in_38 + j_block_32 * 64;
                        sc_scatter_f32x4(&t_lane[t_at_43], 64, sc_load_f32x4(&X_val[X_at_32]));
                    }
                }
                if ((rest_13 & 2) != 0) {
                    const sc_i64 j_block_33 = full_13 + (rest_13 & -4);
                    for (sc_i64 n_in_39 = 0; n_in_39 < 1; n_in_39++) {
                        const sc_i64 X_at_33 = (n_block_6 + n_in_39) * X_stride0 + j_block_33;
                        const sc_i64 t_at_44 = n_in_39 + j_block_33 * 64;
                        sc_scatter_f32x2(&t_lane[t_at_44], 64, sc_load_f32x2(&X_val[X_at_33]));
                    }
                }
                if ((rest_13 & 1) != 0) {
                    const sc_i64 j_block_34 = full_13 + (rest_13 & -2);
                    for (sc_i64 n_in_40 = 0; n_in_40 < 1; n_in_40++) {
                        const sc_i64 X_at_34 = (n_block_6 + n_in_40) * X_stride0 + j_block_34;
                        const sc_i64 t_at_45 = n_in_40 + j_block_34 * 64;
                        t_lane[t_at_45] = X_val[X_at_34];
                    }
                }
            }
            for (sc_i64 i_block_6 = begin; i_block_6 < end; i_block_6++) {
                const sc_i64 size_6 = sc_min_i64(16, i_dim - i_block_6 * 16);
                for (sc_i64 i_in_6 = 0; i_in_6 < size_6; i_in_6++) {
                    float c_10 = 0.0f;
                    const sc_i64 A_lo_6 = (sc_i64)A_pos1[i_block_6 * 16 + i_in_6];
                    const sc_i64 A_hi_6 = (sc_i64)A_pos1[i_block_6 * 16 + i_in_6 + 1];
                    for (sc_i64 p_6 = A_lo_6; p_6 < A_hi_6; p_6 += 2) {
                        const sc_i64 j_11 = (sc_i64)A_crd1[p_6];
                        const float a_11 = A_val[p_6];
                        const sc_i64 t_at_46 = j_11 * 64;
                        c_10 = c_10 + a_11 * t_lane[t_at_46];
                        if (p_6 + 1 < A_hi_6) {
                            const sc_i64 j_12 = (sc_i64)A_crd1[p_6 + 1];
                            const float a_12 = A_val[p_6 + 1];
                            const sc_i64 t_at_47 = j_12 * 64;
                            c_10 = c_10 + a_12 * t_lane[t_at_47];
                        }
                    }
                    const sc_i64 y_at_6 = i_in_6 * 64;
                    y_lane[y_at_6] = c_10;
                }
                for (sc_i64 n_in_41 = 0; n_in_41 < 1; n_in_41++) {
                    const sc_i64 Y_at_6 = (n_block_6 + n_in_41) * Y_stride0 + i_block_6 * 16;
                    const sc_i64 rest_14 = size_6 % 16;
                    const sc_i64 full_14 = size_6 - rest_14;
                    for (sc_i64 i_30 = 0; i_30 < full_14; i_30 += 16) {
                        sc_store_f32x16(&Y_val[Y_at_6 + i_30], sc_gather_f32x16(&y_lane[n_in_41 + i_30 * 64], 64));
                    }
                    if ((rest_14 & 8) != 0) {
                        const sc_i64 i_31 = full_14 + (rest_14 & -16);
                        sc_store_f32x8(&Y_val[Y_at_6 + i_31], sc_gather_f32x8(&y_lane[n_in_41 + i_31 * 64], 64));
                    }
                    if ((rest_14 & 4) != 0) {
                        const sc_i64 i_32 = full_14 + (rest_14 & -8);
                        sc_store_f32x4(&Y_val[Y_at_6 + i_32], sc_gather_f32x4(&y_lane[n_in_41 + i_32 * 64], 64));
                    }
                    if ((rest_14 & 2) != 0) {
                        const sc_i64 i_33 = full_14 + (rest_14 & -4);
                        sc_store_f32x2(&Y_val[Y_at_6 + i_33], sc_gather_f32x2(&y_lane[n_in_41 + i_33 * 64], 64));
                    }
                    if ((rest_14 & 1) != 0) {
                        const sc_i64 i_34 = full_14 + (rest_14 & -2);
                        Y_val[Y_at_6 + i_34] = y_lane[n_in_41 + i_34 * 64];
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
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {3, sizeof(sc_object), SC_KEY, 1, {body}};

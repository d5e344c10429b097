/* Computes
 *   W[r,k,n] = M[r,i,j] * X[j,k] * Y[i,n]
 * with
 *   M: compressed(0), compressed(1, nonunique), singleton(2) bool, indices i32
 *   X: dense f32
 *   Y: dense f32
 *   W: dense f32
 * by
 *   work w[r,k,n]: private f32 {
 *     par i/256 {
 *       for r in M {
 *         for k/6 {
 *           for n/32 {
 *             work c[k%6,n%32]: reg f32 {
 *               for i in M {
 *                 for j in M {
 *                   for k%6 unroll 6 {
 *                     vec n%32 {
 *                       c[k%6,n%32] += M[r,i,j] * X[j,k] * Y[i,n]
 *                     }
 *                   }
 *                 }
 *               }
 *             } then {
 *               for k%6 unroll 6 {
 *                 vec n%32 {
 *                   w[r,k,n] += c[k%6,n%32]
 *                 }
 *               }
 *             }
 *           }
 *         }
 *       }
 *     }
 *   } then {
 *     par r {
 *       for k {
 *         vec n {
 *           W[r,k,n] = w[r,k,n]
 *         }
 *       }
 *     }
 *   }
 * because
 *   the sums over M are tiles of k and n in registers, added up in copies
 */
typedef int i32x4 __attribute__((vector_size(16)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4u __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x4 sc_splat_f32x4(float x) { return (f32x4){x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x4 sc_load_f32x4(const float *p) { return *(const f32x4u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x4(float *p, f32x4 x) { *(f32x4u *)p = x; }
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
static sc_i64 sc_search_i32(const int *crd, sc_i64 lo, sc_i64 hi, sc_i64 x)
{
    sc_i64 at = lo, step = 1;
    for (; at < hi && crd[at] < x; step += step) {
        lo = at + 1;
        at += step;
    }
    if (at < hi) hi = at;
    while (lo < hi) {
        const sc_i64 mid = lo + (hi - lo) / 2;
        if (crd[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 i_dim = call->dim[3];
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const sc_i64 Y_stride0 = call->view[2].stride[0];
    const int *restrict const M_pos0 = call->view[0].level[0].pos;
    const int *restrict const M_crd0 = call->view[0].level[0].crd;
    const int *restrict const M_pos1 = call->view[0].level[1].pos;
    const int *restrict const M_crd1 = call->view[0].level[1].crd;
    const int *restrict const M_crd2 = call->view[0].level[2].crd;
    const signed char *restrict const M_val = call->view[0].val;
    const float *restrict const X_val = call->view[1].val;
    const float *restrict const Y_val = call->view[2].val;
    float *restrict const w_copy = lane->partial;

    /* work w[r,k,n]: private f32 */
    /* par i/256 */
    for (sc_i64 i_block = begin; i_block < end; i_block++) {
        const sc_i64 size = sc_min_i64(256, i_dim - i_block * 256);
        /* for r in M */
        const sc_i64 M_lo = (sc_i64)M_pos0[0];
        const sc_i64 M_hi = (sc_i64)M_pos0[1];
        for (sc_i64 p = M_lo; p < M_hi; p++) {
            const sc_i64 r = (sc_i64)M_crd0[p];
            /* for k/6 */
            /* for n/32 */
            /* work c[k%6,n%32]: reg f32 */
            f32x16 c = (f32x16){0};
            f32x16 c_1 = (f32x16){0};
            f32x16 c_2 = (f32x16){0};
            f32x16 c_3 = (f32x16){0};
            f32x16 c_4 = (f32x16){0};
            f32x16 c_5 = (f32x16){0};
            f32x16 c_6 = (f32x16){0};
            f32x16 c_7 = (f32x16){0};
            f32x16 c_8 = (f32x16){0};
            f32x16 c_9 = (f32x16){0};
            f32x16 c_10 = (f32x16){0};
            f32x16 c_11 = (f32x16){0};
            /* for i in M */
            const sc_i64 M_lo_1 = (sc_i64)M_pos1[p];
            const sc_i64 M_hi_1 = (sc_i64)M_pos1[p + 1];
            const sc_i64 first = sc_search_i32(M_crd1, M_lo_1, M_hi_1, i_block * 256);
            const sc_i64 beyond = sc_search_i32(M_crd1, first, M_hi_1, i_block * 256 + size);
            sc_i64 p_1 = first;
            while (p_1 < beyond) {
                const sc_i64 first_1 = p_1;
                const sc_i64 i = (sc_i64)M_crd1[first_1];
                p_1 = first_1 + 1;
                while ((p_1 < beyond) && ((sc_i64)M_crd1[p_1] == i)) {
                    p_1 = p_1 + 1;
                }
                const sc_i64 last = p_1;
                /* for j in M */
                for (sc_i64 p_2 = first_1; p_2 < last; p_2++) {
                    const sc_i64 j = (sc_i64)M_crd2[p_2];
                    /* for k%6 unroll 6 */
                    /* vec n%32 { c[k%6,n%32] += M[r,i,j] * X[j,k] * Y[i,n] } */
                    const float m = (float)(M_val[p_2] != 0);
                    const float x = X_val[j * X_stride0];
                    const float factor = m * x;
                    const sc_i64 Y_at = i * Y_stride0;
                    c = c + sc_splat_f32x16(factor) * sc_load_f32x16(&Y_val[Y_at]);
                    c_1 = c_1 + sc_splat_f32x16(factor) * sc_load_f32x16(&Y_val[Y_at + 16]);
                    const float m_1 = (float)(M_val[p_2] != 0);
                    const float x_1 = X_val[j * X_stride0 + 1];
                    const float factor_1 = m_1 * x_1;
                    const sc_i64 Y_at_1 = i * Y_stride0;
                    c_2 = c_2 + sc_splat_f32x16(factor_1) * sc_load_f32x16(&Y_val[Y_at_1]);
                    c_3 = c_3 + sc_splat_f32x16(factor_1) * sc_load_f32x16(&Y_val[Y_at_1 + 16]);
                    const float m_2 = (float)(M_val[p_2] != 0);
                    const float x_2 = X_val[j * X_stride0 + 2];
                    const float factor_2 = m_2 * x_2;
                    const sc_i64 Y_at_2 = i * Y_stride0;
                    c_4 = c_4 + sc_splat_f32x16(factor_2) * sc_load_f32x16(&Y_val[Y_at_2]);
                    c_5 = c_5 + sc_splat_f32x16(factor_2) * sc_load_f32x16(&Y_val[Y_at_2 + 16]);
                    const float m_3 = (float)(M_val[p_2] != 0);
                    const float x_3 = X_val[j * X_stride0 + 3];
                    const float factor_3 = m_3 * x_3;
                    const sc_i64 Y_at_3 = i * Y_stride0;
                    c_6 = c_6 + sc_splat_f32x16(factor_3) * sc_load_f32x16(&Y_val[Y_at_3]);
                    c_7 = c_7 + sc_splat_f32x16(factor_3) * sc_load_f32x16(&Y_val[Y_at_3 + 16]);
                    const float m_4 = (float)(M_val[p_2] != 0);
                    const float x_4 = X_val[j * X_stride0 + 4];
                    const float factor_4 = m_4 * x_4;
                    const sc_i64 Y_at_4 = i * Y_stride0;
                    c_8 = c_8 + sc_splat_f32x16(factor_4) * sc_load_f32x16(&Y_val[Y_at_4]);
                    c_9 = c_9 + sc_splat_f32x16(factor_4) * sc_load_f32x16(&Y_val[Y_at_4 + 16]);
                    const float m_5 = (float)(M_val[p_2] != 0);
                    const float x_5 = X_val[j * X_stride0 + 5];
                    const float factor_5 = m_5 * x_5;
                    const sc_i64 Y_at_5 = i * Y_stride0;
                    c_10 = c_10 + sc_splat_f32x16(factor_5) * sc_load_f32x16(&Y_val[Y_at_5]);
                    c_11 = c_11 + sc_splat_f32x16(factor_5) * sc_load_f32x16(&Y_val[Y_at_5 + 16]);
                }
            }
            /* for k%6 unroll 6 */
            /* vec n%32 { w[r,k,n] += c[k%6,n%32] } */
            const sc_i64 w_at = r * 252;
            sc_store_f32x16(&w_copy[w_at], sc_load_f32x16(&w_copy[w_at]) + c);
            sc_store_f32x16(&w_copy[w_at + 16], sc_load_f32x16(&w_copy[w_at + 16]) + c_1);
            const sc_i64 w_at_1 = r * 252 + 36;
            sc_store_f32x16(&w_copy[w_at_1], sc_load_f32x16(&w_copy[w_at_1]) + c_2);
            sc_store_f32x16(&w_copy[w_at_1 + 16], sc_load_f32x16(&w_copy[w_at_1 + 16]) + c_3);
            const sc_i64 w_at_2 = r * 252 + 72;
            sc_store_f32x16(&w_copy[w_at_2], sc_load_f32x16(&w_copy[w_at_2]) + c_4);
            sc_store_f32x16(&w_copy[w_at_2 + 16], sc_load_f32x16(&w_copy[w_at_2 + 16]) + c_5);
            const sc_i64 w_at_3 = r * 252 + 108;
            sc_store_f32x16(&w_copy[w_at_3], sc_load_f32x16(&w_copy[w_at_3]) + c_6);
            sc_store_f32x16(&w_copy[w_at_3 + 16], sc_load_f32x16(&w_copy[w_at_3 + 16]) + c_7);
            const sc_i64 w_at_4 = r * 252 + 144;
            sc_store_f32x16(&w_copy[w_at_4], sc_load_f32x16(&w_copy[w_at_4]) + c_8);
            sc_store_f32x16(&w_copy[w_at_4 + 16], sc_load_f32x16(&w_copy[w_at_4 + 16]) + c_9);
            const sc_i64 w_at_5 = r * 252 + 180;
            sc_store_f32x16(&w_copy[w_at_5], sc_load_f32x16(&w_copy[w_at_5]) + c_10);
            sc_store_f32x16(&w_copy[w_at_5 + 16], sc_load_f32x16(&w_copy[w_at_5 + 16]) + c_11);
            /* work c[k%6,n%32]: reg f32 */
            f32x4 c_12 = (f32x4){0};
            f32x4 c_13 = (f32x4){0};
            f32x4 c_14 = (f32x4){0};
            f32x4 c_15 = (f32x4){0};
            f32x4 c_16 = (f32x4){0};
            f32x4 c_17 = (f32x4){0};
            /* for i in M */
            const sc_i64 M_lo_2 = (sc_i64)M_pos1[p];
            const sc_i64 M_hi_2 = (sc_i64)M_pos1[p + 1];
            const sc_i64 first_1 = sc_search_i32(M_crd1, M_lo_2, M_hi_2, i_block * 256);
            const sc_i64 beyond_1 = sc_search_i32(M_crd1, first_1, M_hi_2, i_block * 256 + size);
            sc_i64 p_2 = first_1;
            while (p_2 < beyond_1) {
                const sc_i64 first_2 = p_2;
                const sc_i64 i = (sc_i64)M_crd1[first_2];
                p_2 = first_2 + 1;
                while ((p_2 < beyond_1) && ((sc_i64)M_crd1[p_2] == i)) {
                    p_2 = p_2 + 1;
                }
                const sc_i64 last = p_2;
                /* for j in M */
                for (sc_i64 p_3 = first_2; p_3 < last; p_3++) {
                    const sc_i64 j = (sc_i64)M_crd2[p_3];
                    /* for k%6 unroll 6 */
                    /* vec n%32 { c[k%6,n%32] += M[r,i,j] * X[j,k] * Y[i,n] } */
                    const float m = (float)(M_val[p_3] != 0);
                    const float x = X_val[j * X_stride0];
                    const float factor = m * x;
                    const sc_i64 Y_at = i * Y_stride0 + 32;
                    c_12 = c_12 + sc_splat_f32x4(factor) * sc_load_f32x4(&Y_val[Y_at]);
                    const float m_1 = (float)(M_val[p_3] != 0);
                    const float x_1 = X_val[j * X_stride0 + 1];
                    const float factor_1 = m_1 * x_1;
                    const sc_i64 Y_at_1 = i * Y_stride0 + 32;
                    c_13 = c_13 + sc_splat_f32x4(factor_1) * sc_load_f32x4(&Y_val[Y_at_1]);
                    const float m_2 = (float)(M_val[p_3] != 0);
                    const float x_2 = X_val[j * X_stride0 + 2];
                    const float factor_2 = m_2 * x_2;
                    const sc_i64 Y_at_2 = i * Y_stride0 + 32;
                    c_14 = c_14 + sc_splat_f32x4(factor_2) * sc_load_f32x4(&Y_val[Y_at_2]);
                    const float m_3 = (float)(M_val[p_3] != 0);
                    const float x_3 = X_val[j * X_stride0 + 3];
                    const float factor_3 = m_3 * x_3;
                    const sc_i64 Y_at_3 = i * Y_stride0 + 32;
                    c_15 = c_15 + sc_splat_f32x4(factor_3) * sc_load_f32x4(&Y_val[Y_at_3]);
                    const float m_4 = (float)(M_val[p_3] != 0);
                    const float x_4 = X_val[j * X_stride0 + 4];
                    const float factor_4 = m_4 * x_4;
                    const sc_i64 Y_at_4 = i * Y_stride0 + 32;
                    c_16 = c_16 + sc_splat_f32x4(factor_4) * sc_load_f32x4(&Y_val[Y_at_4]);
                    const float m_5 = (float)(M_val[p_3] != 0);
                    const float x_5 = X_val[j * X_stride0 + 5];
                    const float factor_5 = m_5 * x_5;
                    const sc_i64 Y_at_5 = i * Y_stride0 + 32;
                    c_17 = c_17 + sc_splat_f32x4(factor_5) * sc_load_f32x4(&Y_val[Y_at_5]);
                }
            }
            /* for k%6 unroll 6 */
            /* vec n%32 { w[r,k,n] += c[k%6,n%32] } */
            const sc_i64 w_at_6 = r * 252 + 32;
            sc_store_f32x4(&w_copy[w_at_6], sc_load_f32x4(&w_copy[w_at_6]) + c_12);
            const sc_i64 w_at_7 = r * 252 + 68;
            sc_store_f32x4(&w_copy[w_at_7], sc_load_f32x4(&w_copy[w_at_7]) + c_13);
            const sc_i64 w_at_8 = r * 252 + 104;
            sc_store_f32x4(&w_copy[w_at_8], sc_load_f32x4(&w_copy[w_at_8]) + c_14);
            const sc_i64 w_at_9 = r * 252 + 140;
            sc_store_f32x4(&w_copy[w_at_9], sc_load_f32x4(&w_copy[w_at_9]) + c_15);
            const sc_i64 w_at_10 = r * 252 + 176;
            sc_store_f32x4(&w_copy[w_at_10], sc_load_f32x4(&w_copy[w_at_10]) + c_16);
            const sc_i64 w_at_11 = r * 252 + 212;
            sc_store_f32x4(&w_copy[w_at_11], sc_load_f32x4(&w_copy[w_at_11]) + c_17);
            /* for n/32 */
            /* work c[k%6,n%32]: reg f32 */
            f32x16 c_18 = (f32x16){0};
            f32x16 c_19 = (f32x16){0};
            /* for i in M */
            const sc_i64 M_lo_3 = (sc_i64)M_pos1[p];
            const sc_i64 M_hi_3 = (sc_i64)M_pos1[p + 1];
            const sc_i64 first_2 = sc_search_i32(M_crd1, M_lo_3, M_hi_3, i_block * 256);
            const sc_i64 beyond_2 = sc_search_i32(M_crd1, first_2, M_hi_3, i_block * 256 + size);
            sc_i64 p_3 = first_2;
            while (p_3 < beyond_2) {
                const sc_i64 first_3 = p_3;
                const sc_i64 i = (sc_i64)M_crd1[first_3];
                p_3 = first_3 + 1;
                while ((p_3 < beyond_2) && ((sc_i64)M_crd1[p_3] == i)) {
                    p_3 = p_3 + 1;
                }
                const sc_i64 last = p_3;
                /* for j in M */
                for (sc_i64 p_4 = first_3; p_4 < last; p_4++) {
                    const sc_i64 j = (sc_i64)M_crd2[p_4];
                    /* for k%6 unroll 6 */
                    /* vec n%32 { c[k%6,n%32] += M[r,i,j] * X[j,k] * Y[i,n] } */
                    const float m = (float)(M_val[p_4] != 0);
                    const float x = X_val[j * X_stride0 + 6];
                    const float factor = m * x;
                    const sc_i64 Y_at = i * Y_stride0;
                    c_18 = c_18 + sc_splat_f32x16(factor) * sc_load_f32x16(&Y_val[Y_at]);
                    c_19 = c_19 + sc_splat_f32x16(factor) * sc_load_f32x16(&Y_val[Y_at + 16]);
                }
            }
            /* for k%6 unroll 6 */
            /* vec n%32 { w[r,k,n] += c[k%6,n%32] } */
            const sc_i64 w_at_12 = r * 252 + 216;
            sc_store_f32x16(&w_copy[w_at_12], sc_load_f32x16(&w_copy[w_at_12]) + c_18);
            sc_store_f32x16(&w_copy[w_at_12 + 16], sc_load_f32x16(&w_copy[w_at_12 + 16]) + c_19);
            /* work c[k%6,n%32]: reg f32 */
            f32x4 c_20 = (f32x4){0};
            /* for i in M */
            const sc_i64 M_lo_4 = (sc_i64)M_pos1[p];
            const sc_i64 M_hi_4 = (sc_i64)M_pos1[p + 1];
            const sc_i64 first_3 = sc_search_i32(M_crd1, M_lo_4, M_hi_4, i_block * 256);
            const sc_i64 beyond_3 = sc_search_i32(M_crd1, first_3, M_hi_4, i_block * 256 + size);
            sc_i64 p_4 = first_3;
            while (p_4 < beyond_3) {
                const sc_i64 first_4 = p_4;
                const sc_i64 i = (sc_i64)M_crd1[first_4];
                p_4 = first_4 + 1;
                while ((p_4 < beyond_3) && ((sc_i64)M_crd1[p_4] == i)) {
                    p_4 = p_4 + 1;
                }
                const sc_i64 last = p_4;
                /* for j in M */
                for (sc_i64 p_5 = first_4; p_5 < last; p_5++) {
                    const sc_i64 j = (sc_i64)M_crd2[p_5];
                    /* for k%6 unroll 6 */
                    /* vec n%32 { c[k%6,n%32] += M[r,i,j] * X[j,k] * Y[i,n] } */
                    const float m = (float)(M_val[p_5] != 0);
                    const float x = X_val[j * X_stride0 + 6];
                    const float factor = m * x;
                    const sc_i64 Y_at = i * Y_stride0 + 32;
                    c_20 = c_20 + sc_splat_f32x4(factor) * sc_load_f32x4(&Y_val[Y_at]);
                }
            }
            /* for k%6 unroll 6 */
            /* vec n%32 { w[r,k,n] += c[k%6,n%32] } */
            const sc_i64 w_at_13 = r * 252 + 248;
            sc_store_f32x4(&w_copy[w_at_13], sc_load_f32x4(&w_copy[w_at_13]) + c_20);
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 W_stride0 = call->view[3].stride[0];
    const sc_i64 W_stride1 = call->view[3].stride[1];
    const sc_i64 r_dim = call->dim[0];
    const sc_i64 copies = call->copies[0];
    float *restrict const w_copy_1 = call->shared[0];
    float *restrict const W_val = call->view[3].val;
    (void)lane;

    /* par r */
    for (sc_i64 r = begin; r < end; r++) {
        /* for k */
        for (sc_i64 k = 0; k < 7; k++) {
            /* vec n { W[r,k,n] = w[r,k,n] } */
            const sc_i64 w_at = r * 252 + k * 36;
            const sc_i64 W_at = r * W_stride0 + k * W_stride1;
            f32x16 w = (f32x16){0};
            for (sc_i64 copy = 0; copy < copies; copy++) {
                w = w + sc_load_f32x16(&w_copy_1[copy * (r_dim * 252) + w_at]);
            }
            sc_store_f32x16(&W_val[W_at], w);
            f32x16 w_1 = (f32x16){0};
            for (sc_i64 copy = 0; copy < copies; copy++) {
                w_1 = w_1 + sc_load_f32x16(&w_copy_1[copy * (r_dim * 252) + w_at + 16]);
            }
            sc_store_f32x16(&W_val[W_at + 16], w_1);
            f32x4 w_2 = (f32x4){0};
            for (sc_i64 copy = 0; copy < copies; copy++) {
                w_2 = w_2 + sc_load_f32x4(&w_copy_1[copy * (r_dim * 252) + w_at + 32]);
            }
            sc_store_f32x4(&W_val[W_at + 32], w_2);
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
    2, {body, body_1}};

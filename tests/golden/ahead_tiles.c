/* Computes
 *   Y[i,n] = M[r,i,j] * X[j,k] * W[r,k,n]
 * with
 *   M: compressed(0), compressed(1, nonunique), singleton(2) bool, indices i32
 *   X: dense f32
 *   W: dense f32
 *   Y: dense f32
 * by
 *   par i/32 {
 *     for n/32 {
 *       for r in M {
 *         for i in M by 6 ahead 6 {
 *           work c[#i,n%32]: reg f32 {
 *             for k {
 *               for i in M unroll 6 {
 *                 for j in M {
 *                   vec n%32 {
 *                     c[#i,n%32] += X[j,k] * W[r,k,n]
 *                   }
 *                 }
 *               }
 *             }
 *           } then {
 *             for i in M unroll 6 {
 *               for j in M {
 *                 vec n%32 {
 *                   Y[i,n] += M[r,i,j] * c[#i,n%32]
 *                 }
 *               }
 *             }
 *           }
 *         }
 *       }
 *     }
 *   }
 * because
 *   6 entries of M at a time share what is read of W: their rows are a tile in registers
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
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
    const sc_i64 i_dim = call->dim[0];
    const sc_i64 M_npos1 = call->view[0].level[1].npos;
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const sc_i64 W_stride0 = call->view[2].stride[0];
    const sc_i64 W_stride1 = call->view[2].stride[1];
    const sc_i64 Y_stride0 = call->view[3].stride[0];
    const int *restrict const M_pos0 = call->view[0].level[0].pos;
    const int *restrict const M_crd0 = call->view[0].level[0].crd;
    const int *restrict const M_pos1 = call->view[0].level[1].pos;
    const int *restrict const M_crd1 = call->view[0].level[1].crd;
    const int *restrict const M_crd2 = call->view[0].level[2].crd;
    const float *restrict const X_val = call->view[1].val;
    const float *restrict const W_val = call->view[2].val;
    const signed char *restrict const M_val = call->view[0].val;
    float *restrict const Y_val = call->view[3].val;
    (void)lane;

    /* par i/32 */
    for (sc_i64 i_block = begin; i_block < end; i_block++) {
        const sc_i64 size = sc_min_i64(32, i_dim - i_block * 32);
        /* for n/32 */
        /* for r in M */
        const sc_i64 M_lo = (sc_i64)M_pos0[0];
        const sc_i64 M_hi = (sc_i64)M_pos0[1];
        for (sc_i64 p = M_lo; p < M_hi; p++) {
            const sc_i64 r = (sc_i64)M_crd0[p];
            /* for i in M by 6 ahead 6 */
            const sc_i64 M_lo_1 = (sc_i64)M_pos1[p];
            const sc_i64 M_hi_1 = (sc_i64)M_pos1[p + 1];
            const sc_i64 first = sc_search_i32(M_crd1, M_lo_1, M_hi_1, i_block * 32);
            const sc_i64 beyond = sc_search_i32(M_crd1, first, M_hi_1, i_block * 32 + size);
            for (sc_i64 tile = first; tile < beyond; tile += 6) {
                const sc_i64 tile_end = sc_min_i64(tile + 6, beyond);
                const sc_i64 next = sc_min_i64(tile + 6, M_npos1 - 1);
                const sc_i64 ahead = (sc_i64)M_crd2[next];
                const sc_i64 row = ahead * X_stride0;
                __builtin_prefetch(&X_val[row]);
                __builtin_prefetch(&X_val[row + 16]);
                __builtin_prefetch(&X_val[row + 32]);
                const sc_i64 next_1 = sc_min_i64(tile + 7, M_npos1 - 1);
                const sc_i64 ahead_1 = (sc_i64)M_crd2[next_1];
                const sc_i64 row_1 = ahead_1 * X_stride0;
                __builtin_prefetch(&X_val[row_1]);
                __builtin_prefetch(&X_val[row_1 + 16]);
                __builtin_prefetch(&X_val[row_1 + 32]);
                const sc_i64 next_2 = sc_min_i64(tile + 8, M_npos1 - 1);
                const sc_i64 ahead_2 = (sc_i64)M_crd2[next_2];
                const sc_i64 row_2 = ahead_2 * X_stride0;
                __builtin_prefetch(&X_val[row_2]);
                __builtin_prefetch(&X_val[row_2 + 16]);
                __builtin_prefetch(&X_val[row_2 + 32]);
                const sc_i64 next_3 = sc_min_i64(tile + 9, M_npos1 - 1);
                const sc_i64 ahead_3 = (sc_i64)M_crd2[next_3];
                const sc_i64 row_3 = ahead_3 * X_stride0;
                __builtin_prefetch(&X_val[row_3]);
                __builtin_prefetch(&X_val[row_3 + 16]);
                __builtin_prefetch(&X_val[row_3 + 32]);
                const sc_i64 next_4 = sc_min_i64(tile + 10, M_npos1 - 1);
                const sc_i64 ahead_4 = (sc_i64)M_crd2[next_4];
                const sc_i64 row_4 = ahead_4 * X_stride0;
                __builtin_prefetch(&X_val[row_4]);
                __builtin_prefetch(&X_val[row_4 + 16]);
                __builtin_prefetch(&X_val[row_4 + 32]);
                const sc_i64 next_5 = sc_min_i64(tile + 11, M_npos1 - 1);
                const sc_i64 ahead_5 = (sc_i64)M_crd2[next_5];
                const sc_i64 row_5 = ahead_5 * X_stride0;
                __builtin_prefetch(&X_val[row_5]);
                __builtin_prefetch(&X_val[row_5 + 16]);
                __builtin_prefetch(&X_val[row_5 + 32]);
                /* work c[#i,n%32]: reg f32 */
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
                /* for k */
                for (sc_i64 k = 0; k < 40; k++) {
                    /* for i in M unroll 6 */
                    /* for j in M */
                    const sc_i64 j = (sc_i64)M_crd2[tile];
                    /* vec n%32 { c[#i,n%32] += X[j,k] * W[r,k,n] } */
                    const float x = X_val[j * X_stride0 + k];
                    const sc_i64 W_at = r * W_stride0 + k * W_stride1;
                    c = c + sc_splat_f32x16(x) * sc_load_f32x16(&W_val[W_at]);
                    c_1 = c_1 + sc_splat_f32x16(x) * sc_load_f32x16(&W_val[W_at + 16]);
                    const sc_i64 p_1 = sc_min_i64(tile + 1, tile_end - 1);
                    const sc_i64 j_1 = (sc_i64)M_crd2[p_1];
                    const float x_1 = X_val[j_1 * X_stride0 + k];
                    const sc_i64 W_at_1 = r * W_stride0 + k * W_stride1;
                    c_2 = c_2 + sc_splat_f32x16(x_1) * sc_load_f32x16(&W_val[W_at_1]);
                    c_3 = c_3 + sc_splat_f32x16(x_1) * sc_load_f32x16(&W_val[W_at_1 + 16]);
                    const sc_i64 p_2 = sc_min_i64(tile + 2, tile_end - 1);
                    const sc_i64 j_2 = (sc_i64)M_crd2[p_2];
                    const float x_2 = X_val[j_2 * X_stride0 + k];
                    const sc_i64 W_at_2 = r * W_stride0 + k * W_stride1;
                    c_4 = c_4 + sc_splat_f32x16(x_2) * sc_load_f32x16(&W_val[W_at_2]);
                    c_5 = c_5 + sc_splat_f32x16(x_2) * sc_load_f32x16(&W_val[W_at_2 + 16]);
                    const sc_i64 p_3 = sc_min_i64(tile + 3, tile_end - 1);
                    const sc_i64 j_3 = (sc_i64)M_crd2[p_3];
                    const float x_3 = X_val[j_3 * X_stride0 + k];
                    const sc_i64 W_at_3 = r * W_stride0 + k * W_stride1;
                    c_6 = c_6 + sc_splat_f32x16(x_3) * sc_load_f32x16(&W_val[W_at_3]);
                    c_7 = c_7 + sc_splat_f32x16(x_3) * sc_load_f32x16(&W_val[W_at_3 + 16]);
                    const sc_i64 p_4 = sc_min_i64(tile + 4, tile_end - 1);
                    const sc_i64 j_4 = (sc_i64)M_crd2[p_4];
                    const float x_4 = X_val[j_4 * X_stride0 + k];
                    const sc_i64 W_at_4 = r * W_stride0 + k * W_stride1;
                    c_8 = c_8 + sc_splat_f32x16(x_4) * sc_load_f32x16(&W_val[W_at_4]);
                    c_9 = c_9 + sc_splat_f32x16(x_4) * sc_load_f32x16(&W_val[W_at_4 + 16]);
                    const sc_i64 p_5 = sc_min_i64(tile + 5, tile_end - 1);
                    const sc_i64 j_5 = (sc_i64)M_crd2[p_5];
                    const float x_5 = X_val[j_5 * X_stride0 + k];
                    const sc_i64 W_at_5 = r * W_stride0 + k * W_stride1;
                    c_10 = c_10 + sc_splat_f32x16(x_5) * sc_load_f32x16(&W_val[W_at_5]);
                    c_11 = c_11 + sc_splat_f32x16(x_5) * sc_load_f32x16(&W_val[W_at_5 + 16]);
                }
                /* for i in M unroll 6 */
                const sc_i64 i = (sc_i64)M_crd1[tile];
                /* for j in M */
                /* vec n%32 { Y[i,n] += M[r,i,j] * c[#i,n%32] } */
                const float m = (float)(M_val[tile] != 0);
                const sc_i64 Y_at = i * Y_stride0;
                sc_store_f32x16(&Y_val[Y_at], sc_load_f32x16(&Y_val[Y_at]) + sc_splat_f32x16(m) * c);
                sc_store_f32x16(&Y_val[Y_at + 16],
                                sc_load_f32x16(&Y_val[Y_at + 16]) + sc_splat_f32x16(m) * c_1);
                if (tile + 1 < tile_end) {
                    const sc_i64 i_1 = (sc_i64)M_crd1[tile + 1];
                    const sc_i64 lo = tile + 1;
                    const float m_1 = (float)(M_val[lo] != 0);
                    const sc_i64 Y_at_1 = i_1 * Y_stride0;
                    sc_store_f32x16(&Y_val[Y_at_1],
                                    sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(m_1) * c_2);
                    sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                    sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(m_1) * c_3);
                }
                if (tile + 2 < tile_end) {
                    const sc_i64 i_1 = (sc_i64)M_crd1[tile + 2];
                    const sc_i64 lo = tile + 2;
                    const float m_1 = (float)(M_val[lo] != 0);
                    const sc_i64 Y_at_1 = i_1 * Y_stride0;
                    sc_store_f32x16(&Y_val[Y_at_1],
                                    sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(m_1) * c_4);
                    sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                    sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(m_1) * c_5);
                }
                if (tile + 3 < tile_end) {
                    const sc_i64 i_1 = (sc_i64)M_crd1[tile + 3];
                    const sc_i64 lo = tile + 3;
                    const float m_1 = (float)(M_val[lo] != 0);
                    const sc_i64 Y_at_1 = i_1 * Y_stride0;
                    sc_store_f32x16(&Y_val[Y_at_1],
                                    sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(m_1) * c_6);
                    sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                    sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(m_1) * c_7);
                }
                if (tile + 4 < tile_end) {
                    const sc_i64 i_1 = (sc_i64)M_crd1[tile + 4];
                    const sc_i64 lo = tile + 4;
                    const float m_1 = (float)(M_val[lo] != 0);
                    const sc_i64 Y_at_1 = i_1 * Y_stride0;
                    sc_store_f32x16(&Y_val[Y_at_1],
                                    sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(m_1) * c_8);
                    sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                    sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(m_1) * c_9);
                }
                if (tile + 5 < tile_end) {
                    const sc_i64 i_1 = (sc_i64)M_crd1[tile + 5];
                    const sc_i64 lo = tile + 5;
                    const float m_1 = (float)(M_val[lo] != 0);
                    const sc_i64 Y_at_1 = i_1 * Y_stride0;
                    sc_store_f32x16(&Y_val[Y_at_1],
                                    sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(m_1) * c_10);
                    sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                    sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(m_1) * c_11);
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
    1, {body}};

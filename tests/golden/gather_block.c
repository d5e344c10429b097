/* Computes
 *   Y[i,n] = M[r,i,j] * X[j,k] * W[r,k,n]
 * with
 *   M: compressed(0), compressed(1, nonunique), singleton(2) f32, indices i32
 *   X: dense f32
 *   W: dense f32
 *   Y: dense f32
 * by
 *   par i/16 {
 *     for n/16 {
 *       for r in M {
 *         for i in M by 4 {
 *           work c[#i,n%16]: reg f32 {
 *             for k {
 *               for i in M unroll 4 {
 *                 for j in M {
 *                   vec n%16 {
 *                     c[#i,n%16] += X[j,k] * W[r,k,n]
 *                   }
 *                 }
 *               }
 *             }
 *           } then {
 *             for i in M unroll 4 {
 *               for j in M {
 *                 vec n%16 {
 *                   Y[i,n] += M[r,i,j] * c[#i,n%16]
 *                 }
 *               }
 *             }
 *           }
 *         }
 *       }
 *     }
 *   }
 * because
 *   4 entries of M at a time share what is read of W: their rows are a tile in registers
 */
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x8 sc_splat_f32x8(float x) { return (f32x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }
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
    const float *restrict const M_val = call->view[0].val;
    float *restrict const Y_val = call->view[3].val;
    (void)lane;

    /* par i/16 */
    for (sc_i64 i_block = begin; i_block < end; i_block++) {
        const sc_i64 size = sc_min_i64(16, i_dim - i_block * 16);
        /* for n/16 */
        /* for r in M */
        const sc_i64 M_lo = (sc_i64)M_pos0[0];
        const sc_i64 M_hi = (sc_i64)M_pos0[1];
        for (sc_i64 p = M_lo; p < M_hi; p++) {
            const sc_i64 r = (sc_i64)M_crd0[p];
            /* for i in M by 4 */
            const sc_i64 M_lo_1 = (sc_i64)M_pos1[p];
            const sc_i64 M_hi_1 = (sc_i64)M_pos1[p + 1];
            const sc_i64 first = sc_search_i32(M_crd1, M_lo_1, M_hi_1, i_block * 16);
            const sc_i64 beyond = sc_search_i32(M_crd1, first, M_hi_1, i_block * 16 + size);
            for (sc_i64 tile = first; tile < beyond; tile += 4) {
                const sc_i64 tile_end = sc_min_i64(tile + 4, beyond);
                /* work c[#i,n%16]: reg f32 */
                f32x16 c = (f32x16){0};
                f32x16 c_1 = (f32x16){0};
                f32x16 c_2 = (f32x16){0};
                f32x16 c_3 = (f32x16){0};
                /* for k */
                for (sc_i64 k = 0; k < 16; k++) {
                    /* for i in M unroll 4 */
                    /* for j in M */
                    const sc_i64 j = (sc_i64)M_crd2[tile];
                    /* vec n%16 { c[#i,n%16] += X[j,k] * W[r,k,n] } */
                    const float x = X_val[j * X_stride0 + k];
                    const sc_i64 W_at = r * W_stride0 + k * W_stride1;
                    c = c + sc_splat_f32x16(x) * sc_load_f32x16(&W_val[W_at]);
                    const sc_i64 p_1 = sc_min_i64(tile + 1, tile_end - 1);
                    const sc_i64 j_1 = (sc_i64)M_crd2[p_1];
                    const float x_1 = X_val[j_1 * X_stride0 + k];
                    const sc_i64 W_at_1 = r * W_stride0 + k * W_stride1;
                    c_1 = c_1 + sc_splat_f32x16(x_1) * sc_load_f32x16(&W_val[W_at_1]);
                    const sc_i64 p_2 = sc_min_i64(tile + 2, tile_end - 1);
                    const sc_i64 j_2 = (sc_i64)M_crd2[p_2];
                    const float x_2 = X_val[j_2 * X_stride0 + k];
                    const sc_i64 W_at_2 = r * W_stride0 + k * W_stride1;
                    c_2 = c_2 + sc_splat_f32x16(x_2) * sc_load_f32x16(&W_val[W_at_2]);
                    const sc_i64 p_3 = sc_min_i64(tile + 3, tile_end - 1);
                    const sc_i64 j_3 = (sc_i64)M_crd2[p_3];
                    const float x_3 = X_val[j_3 * X_stride0 + k];
                    const sc_i64 W_at_3 = r * W_stride0 + k * W_stride1;
                    c_3 = c_3 + sc_splat_f32x16(x_3) * sc_load_f32x16(&W_val[W_at_3]);
                }
                /* for i in M unroll 4 */
                const sc_i64 i = (sc_i64)M_crd1[tile];
                /* for j in M */
                /* vec n%16 { Y[i,n] += M[r,i,j] * c[#i,n%16] } */
                const float m = M_val[tile];
                const sc_i64 Y_at = i * Y_stride0;
                sc_store_f32x16(&Y_val[Y_at], sc_load_f32x16(&Y_val[Y_at]) + sc_splat_f32x16(m) * c);
                if (tile + 1 < tile_end) {
                    const sc_i64 i_1 = (sc_i64)M_crd1[tile + 1];
                    const sc_i64 lo = tile + 1;
                    const float m_1 = M_val[lo];
                    const sc_i64 Y_at_1 = i_1 * Y_stride0;
                    sc_store_f32x16(&Y_val[Y_at_1],
                                    sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(m_1) * c_1);
                }
                if (tile + 2 < tile_end) {
                    const sc_i64 i_1 = (sc_i64)M_crd1[tile + 2];
                    const sc_i64 lo = tile + 2;
                    const float m_1 = M_val[lo];
                    const sc_i64 Y_at_1 = i_1 * Y_stride0;
                    sc_store_f32x16(&Y_val[Y_at_1],
                                    sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(m_1) * c_2);
                }
                if (tile + 3 < tile_end) {
                    const sc_i64 i_1 = (sc_i64)M_crd1[tile + 3];
                    const sc_i64 lo = tile + 3;
                    const float m_1 = M_val[lo];
                    const sc_i64 Y_at_1 = i_1 * Y_stride0;
                    sc_store_f32x16(&Y_val[Y_at_1],
                                    sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(m_1) * c_3);
                }
            }
        }
        /* for r in M */
        const sc_i64 M_lo_1 = (sc_i64)M_pos0[0];
        const sc_i64 M_hi_1 = (sc_i64)M_pos0[1];
        for (sc_i64 p = M_lo_1; p < M_hi_1; p++) {
            const sc_i64 r = (sc_i64)M_crd0[p];
            /* for i in M by 4 */
            const sc_i64 M_lo_2 = (sc_i64)M_pos1[p];
            const sc_i64 M_hi_2 = (sc_i64)M_pos1[p + 1];
            const sc_i64 first = sc_search_i32(M_crd1, M_lo_2, M_hi_2, i_block * 16);
            const sc_i64 beyond = sc_search_i32(M_crd1, first, M_hi_2, i_block * 16 + size);
            for (sc_i64 tile = first; tile < beyond; tile += 4) {
                const sc_i64 tile_end = sc_min_i64(tile + 4, beyond);
                /* work c[#i,n%16]: reg f32 */
                f32x8 c = (f32x8){0};
                f32x8 c_1 = (f32x8){0};
                f32x8 c_2 = (f32x8){0};
                f32x8 c_3 = (f32x8){0};
                /* for k */
                for (sc_i64 k = 0; k < 16; k++) {
                    /* for i in M unroll 4 */
                    /* for j in M */
                    const sc_i64 j = (sc_i64)M_crd2[tile];
                    /* vec n%16 { c[#i,n%16] += X[j,k] * W[r,k,n] } */
                    const float x = X_val[j * X_stride0 + k];
                    const sc_i64 W_at = r * W_stride0 + k * W_stride1 + 16;
                    c = c + sc_splat_f32x8(x) * sc_load_f32x8(&W_val[W_at]);
                    const sc_i64 p_1 = sc_min_i64(tile + 1, tile_end - 1);
                    const sc_i64 j_1 = (sc_i64)M_crd2[p_1];
                    const float x_1 = X_val[j_1 * X_stride0 + k];
                    const sc_i64 W_at_1 = r * W_stride0 + k * W_stride1 + 16;
                    c_1 = c_1 + sc_splat_f32x8(x_1) * sc_load_f32x8(&W_val[W_at_1]);
                    const sc_i64 p_2 = sc_min_i64(tile + 2, tile_end - 1);
                    const sc_i64 j_2 = (sc_i64)M_crd2[p_2];
                    const float x_2 = X_val[j_2 * X_stride0 + k];
                    const sc_i64 W_at_2 = r * W_stride0 + k * W_stride1 + 16;
                    c_2 = c_2 + sc_splat_f32x8(x_2) * sc_load_f32x8(&W_val[W_at_2]);
                    const sc_i64 p_3 = sc_min_i64(tile + 3, tile_end - 1);
                    const sc_i64 j_3 = (sc_i64)M_crd2[p_3];
                    const float x_3 = X_val[j_3 * X_stride0 + k];
                    const sc_i64 W_at_3 = r * W_stride0 + k * W_stride1 + 16;
                    c_3 = c_3 + sc_splat_f32x8(x_3) * sc_load_f32x8(&W_val[W_at_3]);
                }
                /* for i in M unroll 4 */
                const sc_i64 i = (sc_i64)M_crd1[tile];
                /* for j in M */
                /* vec n%16 { Y[i,n] += M[r,i,j] * c[#i,n%16] } */
                const float m = M_val[tile];
                const sc_i64 Y_at = i * Y_stride0 + 16;
                sc_store_f32x8(&Y_val[Y_at], sc_load_f32x8(&Y_val[Y_at]) + sc_splat_f32x8(m) * c);
                if (tile + 1 < tile_end) {
                    const sc_i64 i_1 = (sc_i64)M_crd1[tile + 1];
                    const sc_i64 lo = tile + 1;
                    const float m_1 = M_val[lo];
                    const sc_i64 Y_at_1 = i_1 * Y_stride0 + 16;
                    sc_store_f32x8(&Y_val[Y_at_1], sc_load_f32x8(&Y_val[Y_at_1]) + sc_splat_f32x8(m_1) * c_1);
                }
                if (tile + 2 < tile_end) {
                    const sc_i64 i_1 = (sc_i64)M_crd1[tile + 2];
                    const sc_i64 lo = tile + 2;
                    const float m_1 = M_val[lo];
                    const sc_i64 Y_at_1 = i_1 * Y_stride0 + 16;
                    sc_store_f32x8(&Y_val[Y_at_1], sc_load_f32x8(&Y_val[Y_at_1]) + sc_splat_f32x8(m_1) * c_2);
                }
                if (tile + 3 < tile_end) {
                    const sc_i64 i_1 = (sc_i64)M_crd1[tile + 3];
                    const sc_i64 lo = tile + 3;
                    const float m_1 = M_val[lo];
                    const sc_i64 Y_at_1 = i_1 * Y_stride0 + 16;
                    sc_store_f32x8(&Y_val[Y_at_1], sc_load_f32x8(&Y_val[Y_at_1]) + sc_splat_f32x8(m_1) * c_3);
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

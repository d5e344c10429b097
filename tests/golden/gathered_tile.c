/* Computes
 *   Y[t,n] = G[t,e] * X[t,k] * W[e,k,n]
 * with
 *   G: csc f32, indices i32
 *   X: dense f32
 *   W: dense f32
 *   Y: dense f32
 * by
 *   par n/32 {
 *     for e in G {
 *       for t in G by 6 {
 *         work c[#t,n%32]: reg f32 {
 *           for k {
 *             for t in G unroll 6 {
 *               vec n%32 {
 *                 c[#t,n%32] += X[t,k] * W[e,k,n]
 *               }
 *             }
 *           }
 *         } then {
 *           for t in G unroll 6 {
 *             vec n%32 {
 *               Y[t,n] += G[t,e] * c[#t,n%32]
 *             }
 *           }
 *         }
 *       }
 *     }
 *   }
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

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 e_dim = call->dim[2];
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const sc_i64 W_stride0 = call->view[2].stride[0];
    const sc_i64 W_stride1 = call->view[2].stride[1];
    const sc_i64 Y_stride0 = call->view[3].stride[0];
    const int *restrict const G_pos1 = call->view[0].level[1].pos;
    const int *restrict const G_crd1 = call->view[0].level[1].crd;
    const float *restrict const X_val = call->view[1].val;
    const float *restrict const W_val = call->view[2].val;
    const float *restrict const G_val = call->view[0].val;
    float *restrict const Y_val = call->view[3].val;
    (void)lane;

    /* par n/32 */
    for (sc_i64 n_block = begin; n_block < end; n_block++) {
        if (40 - n_block * 32 >= 32) {
            /* for e in G */
            for (sc_i64 e = 0; e < e_dim; e++) {
                /* for t in G by 6 */
                const sc_i64 G_lo = (sc_i64)G_pos1[e];
                const sc_i64 G_hi = (sc_i64)G_pos1[e + 1];
                for (sc_i64 tile = G_lo; tile < G_hi; tile += 6) {
                    const sc_i64 tile_end = sc_min_i64(tile + 6, G_hi);
                    /* work c[#t,n%32]: reg f32 */
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
                    for (sc_i64 k = 0; k < 12; k++) {
                        /* for t in G unroll 6 */
                        const sc_i64 t = (sc_i64)G_crd1[tile];
                        /* vec n%32 { c[#t,n%32] += X[t,k] * W[e,k,n] } */
                        const float x = X_val[t * X_stride0 + k];
                        const sc_i64 W_at = e * W_stride0 + k * W_stride1 + n_block * 32;
                        c = c + sc_splat_f32x16(x) * sc_load_f32x16(&W_val[W_at]);
                        c_1 = c_1 + sc_splat_f32x16(x) * sc_load_f32x16(&W_val[W_at + 16]);
                        const sc_i64 p = sc_min_i64(tile + 1, tile_end - 1);
                        const sc_i64 t_1 = (sc_i64)G_crd1[p];
                        const float x_1 = X_val[t_1 * X_stride0 + k];
                        const sc_i64 W_at_1 = e * W_stride0 + k * W_stride1 + n_block * 32;
                        c_2 = c_2 + sc_splat_f32x16(x_1) * sc_load_f32x16(&W_val[W_at_1]);
                        c_3 = c_3 + sc_splat_f32x16(x_1) * sc_load_f32x16(&W_val[W_at_1 + 16]);
                        const sc_i64 p_1 = sc_min_i64(tile + 2, tile_end - 1);
                        const sc_i64 t_2 = (sc_i64)G_crd1[p_1];
                        const float x_2 = X_val[t_2 * X_stride0 + k];
                        const sc_i64 W_at_2 = e * W_stride0 + k * W_stride1 + n_block * 32;
                        c_4 = c_4 + sc_splat_f32x16(x_2) * sc_load_f32x16(&W_val[W_at_2]);
                        c_5 = c_5 + sc_splat_f32x16(x_2) * sc_load_f32x16(&W_val[W_at_2 + 16]);
                        const sc_i64 p_2 = sc_min_i64(tile + 3, tile_end - 1);
                        const sc_i64 t_3 = (sc_i64)G_crd1[p_2];
                        const float x_3 = X_val[t_3 * X_stride0 + k];
                        const sc_i64 W_at_3 = e * W_stride0 + k * W_stride1 + n_block * 32;
                        c_6 = c_6 + sc_splat_f32x16(x_3) * sc_load_f32x16(&W_val[W_at_3]);
                        c_7 = c_7 + sc_splat_f32x16(x_3) * sc_load_f32x16(&W_val[W_at_3 + 16]);
                        const sc_i64 p_3 = sc_min_i64(tile + 4, tile_end - 1);
                        const sc_i64 t_4 = (sc_i64)G_crd1[p_3];
                        const float x_4 = X_val[t_4 * X_stride0 + k];
                        const sc_i64 W_at_4 = e * W_stride0 + k * W_stride1 + n_block * 32;
                        c_8 = c_8 + sc_splat_f32x16(x_4) * sc_load_f32x16(&W_val[W_at_4]);
                        c_9 = c_9 + sc_splat_f32x16(x_4) * sc_load_f32x16(&W_val[W_at_4 + 16]);
                        const sc_i64 p_4 = sc_min_i64(tile + 5, tile_end - 1);
                        const sc_i64 t_5 = (sc_i64)G_crd1[p_4];
                        const float x_5 = X_val[t_5 * X_stride0 + k];
                        const sc_i64 W_at_5 = e * W_stride0 + k * W_stride1 + n_block * 32;
                        c_10 = c_10 + sc_splat_f32x16(x_5) * sc_load_f32x16(&W_val[W_at_5]);
                        c_11 = c_11 + sc_splat_f32x16(x_5) * sc_load_f32x16(&W_val[W_at_5 + 16]);
                    }
                    /* for t in G unroll 6 */
                    const sc_i64 t = (sc_i64)G_crd1[tile];
                    /* vec n%32 { Y[t,n] += G[t,e] * c[#t,n%32] } */
                    const float g = G_val[tile];
                    const sc_i64 Y_at = t * Y_stride0 + n_block * 32;
                    sc_store_f32x16(&Y_val[Y_at], sc_load_f32x16(&Y_val[Y_at]) + sc_splat_f32x16(g) * c);
                    sc_store_f32x16(&Y_val[Y_at + 16],
                                    sc_load_f32x16(&Y_val[Y_at + 16]) + sc_splat_f32x16(g) * c_1);
                    if (tile + 1 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 1];
                        const float g_1 = G_val[tile + 1];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + n_block * 32;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_2);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_3);
                    }
                    if (tile + 2 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 2];
                        const float g_1 = G_val[tile + 2];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + n_block * 32;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_4);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_5);
                    }
                    if (tile + 3 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 3];
                        const float g_1 = G_val[tile + 3];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + n_block * 32;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_6);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_7);
                    }
                    if (tile + 4 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 4];
                        const float g_1 = G_val[tile + 4];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + n_block * 32;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_8);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_9);
                    }
                    if (tile + 5 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 5];
                        const float g_1 = G_val[tile + 5];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + n_block * 32;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_10);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_11);
                    }
                }
            }
        } else {
            /* the rest, in powers of two */
            for (sc_i64 e = 0; e < e_dim; e++) {
                const sc_i64 G_lo = (sc_i64)G_pos1[e];
                const sc_i64 G_hi = (sc_i64)G_pos1[e + 1];
                for (sc_i64 tile = G_lo; tile < G_hi; tile += 6) {
                    const sc_i64 tile_end = sc_min_i64(tile + 6, G_hi);
                    f32x8 c = (f32x8){0};
                    f32x8 c_1 = (f32x8){0};
                    f32x8 c_2 = (f32x8){0};
                    f32x8 c_3 = (f32x8){0};
                    f32x8 c_4 = (f32x8){0};
                    f32x8 c_5 = (f32x8){0};
                    for (sc_i64 k = 0; k < 12; k++) {
                        const sc_i64 t = (sc_i64)G_crd1[tile];
                        const float x = X_val[t * X_stride0 + k];
                        const sc_i64 W_at = e * W_stride0 + k * W_stride1 + 32;
                        c = c + sc_splat_f32x8(x) * sc_load_f32x8(&W_val[W_at]);
                        const sc_i64 p = sc_min_i64(tile + 1, tile_end - 1);
                        const sc_i64 t_1 = (sc_i64)G_crd1[p];
                        const float x_1 = X_val[t_1 * X_stride0 + k];
                        const sc_i64 W_at_1 = e * W_stride0 + k * W_stride1 + 32;
                        c_1 = c_1 + sc_splat_f32x8(x_1) * sc_load_f32x8(&W_val[W_at_1]);
                        const sc_i64 p_1 = sc_min_i64(tile + 2, tile_end - 1);
                        const sc_i64 t_2 = (sc_i64)G_crd1[p_1];
                        const float x_2 = X_val[t_2 * X_stride0 + k];
                        const sc_i64 W_at_2 = e * W_stride0 + k * W_stride1 + 32;
                        c_2 = c_2 + sc_splat_f32x8(x_2) * sc_load_f32x8(&W_val[W_at_2]);
                        const sc_i64 p_2 = sc_min_i64(tile + 3, tile_end - 1);
                        const sc_i64 t_3 = (sc_i64)G_crd1[p_2];
                        const float x_3 = X_val[t_3 * X_stride0 + k];
                        const sc_i64 W_at_3 = e * W_stride0 + k * W_stride1 + 32;
                        c_3 = c_3 + sc_splat_f32x8(x_3) * sc_load_f32x8(&W_val[W_at_3]);
                        const sc_i64 p_3 = sc_min_i64(tile + 4, tile_end - 1);
                        const sc_i64 t_4 = (sc_i64)G_crd1[p_3];
                        const float x_4 = X_val[t_4 * X_stride0 + k];
                        const sc_i64 W_at_4 = e * W_stride0 + k * W_stride1 + 32;
                        c_4 = c_4 + sc_splat_f32x8(x_4) * sc_load_f32x8(&W_val[W_at_4]);
                        const sc_i64 p_4 = sc_min_i64(tile + 5, tile_end - 1);
                        const sc_i64 t_5 = (sc_i64)G_crd1[p_4];
                        const float x_5 = X_val[t_5 * X_stride0 + k];
                        const sc_i64 W_at_5 = e * W_stride0 + k * W_stride1 + 32;
                        c_5 = c_5 + sc_splat_f32x8(x_5) * sc_load_f32x8(&W_val[W_at_5]);
                    }
                    const sc_i64 t = (sc_i64)G_crd1[tile];
                    const float g = G_val[tile];
                    const sc_i64 Y_at = t * Y_stride0 + 32;
                    sc_store_f32x8(&Y_val[Y_at], sc_load_f32x8(&Y_val[Y_at]) + sc_splat_f32x8(g) * c);
                    if (tile + 1 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 1];
                        const float g_1 = G_val[tile + 1];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + 32;
                        sc_store_f32x8(&Y_val[Y_at_1],
                                       sc_load_f32x8(&Y_val[Y_at_1]) + sc_splat_f32x8(g_1) * c_1);
                    }
                    if (tile + 2 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 2];
                        const float g_1 = G_val[tile + 2];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + 32;
                        sc_store_f32x8(&Y_val[Y_at_1],
                                       sc_load_f32x8(&Y_val[Y_at_1]) + sc_splat_f32x8(g_1) * c_2);
                    }
                    if (tile + 3 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 3];
                        const float g_1 = G_val[tile + 3];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + 32;
                        sc_store_f32x8(&Y_val[Y_at_1],
                                       sc_load_f32x8(&Y_val[Y_at_1]) + sc_splat_f32x8(g_1) * c_3);
                    }
                    if (tile + 4 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 4];
                        const float g_1 = G_val[tile + 4];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + 32;
                        sc_store_f32x8(&Y_val[Y_at_1],
                                       sc_load_f32x8(&Y_val[Y_at_1]) + sc_splat_f32x8(g_1) * c_4);
                    }
                    if (tile + 5 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 5];
                        const float g_1 = G_val[tile + 5];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + 32;
                        sc_store_f32x8(&Y_val[Y_at_1],
                                       sc_load_f32x8(&Y_val[Y_at_1]) + sc_splat_f32x8(g_1) * c_5);
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
    1, {body}};

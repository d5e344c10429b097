/* Computes
 *   Y[t,n] = G[t,e] * X[t,k] * W[e,k,n]
 * with
 *   G: csc f32, indices i32
 *   X: dense f32
 *   W: dense f32
 *   Y: dense f32
 * by
 *   par n/64 {
 *     for e in G {
 *       work w[k,n%64]: lane f32 {
 *         for k {
 *           vec n%64 {
 *             w[k,n%64] = W[e,k,n]
 *           }
 *         }
 *       } then {
 *         for t in G by 6 {
 *           work c[#t,n%64]: reg f32 {
 *             for k {
 *               for t in G unroll 6 {
 *                 vec n%64 {
 *                   c[#t,n%64] += X[t,k] * w[k,n%64]
 *                 }
 *               }
 *             }
 *           } then {
 *             for t in G unroll 6 {
 *               vec n%64 {
 *                 Y[t,n] += G[t,e] * c[#t,n%64]
 *               }
 *             }
 *           }
 *         }
 *       }
 *     }
 *   }
 * because
 *   6 entries of G at a time share what is read of W: their rows are a tile in registers
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

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 e_dim = call->dim[2];
    const sc_i64 W_stride0 = call->view[2].stride[0];
    const sc_i64 W_stride1 = call->view[2].stride[1];
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const sc_i64 Y_stride0 = call->view[3].stride[0];
    float *restrict const w_lane = lane->scratch;
    const float *restrict const W_val = call->view[2].val;
    const int *restrict const G_pos1 = call->view[0].level[1].pos;
    const int *restrict const G_crd1 = call->view[0].level[1].crd;
    const float *restrict const X_val = call->view[1].val;
    const float *restrict const G_val = call->view[0].val;
    float *restrict const Y_val = call->view[3].val;

    /* par n/64 */
    for (sc_i64 n_block = begin; n_block < end; n_block++) {
        if (160 - n_block * 64 >= 64) {
            /* for e in G */
            for (sc_i64 e = 0; e < e_dim; e++) {
                /* work w[k,n%64]: lane f32 */
                /* for k */
                for (sc_i64 k = 0; k < 40; k++) {
                    /* vec n%64 { w[k,n%64] = W[e,k,n] } */
                    const sc_i64 W_at = e * W_stride0 + k * W_stride1 + n_block * 64;
                    const sc_i64 w_at = k * 64;
                    sc_store_f32x16(&w_lane[w_at], sc_load_f32x16(&W_val[W_at]));
                    sc_store_f32x16(&w_lane[w_at + 16], sc_load_f32x16(&W_val[W_at + 16]));
                    sc_store_f32x16(&w_lane[w_at + 32], sc_load_f32x16(&W_val[W_at + 32]));
                    sc_store_f32x16(&w_lane[w_at + 48], sc_load_f32x16(&W_val[W_at + 48]));
                }
                /* for t in G by 6 */
                const sc_i64 G_lo = (sc_i64)G_pos1[e];
                const sc_i64 G_hi = (sc_i64)G_pos1[e + 1];
                for (sc_i64 tile = G_lo; tile < G_hi; tile += 6) {
                    const sc_i64 tile_end = sc_min_i64(tile + 6, G_hi);
                    /* work c[#t,n%64]: reg f32 */
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
                    f32x16 c_12 = (f32x16){0};
                    f32x16 c_13 = (f32x16){0};
                    f32x16 c_14 = (f32x16){0};
                    f32x16 c_15 = (f32x16){0};
                    f32x16 c_16 = (f32x16){0};
                    f32x16 c_17 = (f32x16){0};
                    f32x16 c_18 = (f32x16){0};
                    f32x16 c_19 = (f32x16){0};
                    f32x16 c_20 = (f32x16){0};
                    f32x16 c_21 = (f32x16){0};
                    f32x16 c_22 = (f32x16){0};
                    f32x16 c_23 = (f32x16){0};
                    /* for k */
                    for (sc_i64 k = 0; k < 40; k++) {
                        /* for t in G unroll 6 */
                        const sc_i64 t = (sc_i64)G_crd1[tile];
                        /* vec n%64 { c[#t,n%64] += X[t,k] * w[k,n%64] } */
                        const float x = X_val[t * X_stride0 + k];
                        const sc_i64 w_at = k * 64;
                        c = c + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at]);
                        c_1 = c_1 + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at + 16]);
                        c_2 = c_2 + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at + 32]);
                        c_3 = c_3 + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at + 48]);
                        const sc_i64 p = sc_min_i64(tile + 1, tile_end - 1);
                        const sc_i64 t_1 = (sc_i64)G_crd1[p];
                        const float x_1 = X_val[t_1 * X_stride0 + k];
                        const sc_i64 w_at_1 = k * 64;
                        c_4 = c_4 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1]);
                        c_5 = c_5 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1 + 16]);
                        c_6 = c_6 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1 + 32]);
                        c_7 = c_7 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1 + 48]);
                        const sc_i64 p_1 = sc_min_i64(tile + 2, tile_end - 1);
                        const sc_i64 t_2 = (sc_i64)G_crd1[p_1];
                        const float x_2 = X_val[t_2 * X_stride0 + k];
                        const sc_i64 w_at_2 = k * 64;
                        c_8 = c_8 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2]);
                        c_9 = c_9 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2 + 16]);
                        c_10 = c_10 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2 + 32]);
                        c_11 = c_11 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2 + 48]);
                        const sc_i64 p_2 = sc_min_i64(tile + 3, tile_end - 1);
                        const sc_i64 t_3 = (sc_i64)G_crd1[p_2];
                        const float x_3 = X_val[t_3 * X_stride0 + k];
                        const sc_i64 w_at_3 = k * 64;
                        c_12 = c_12 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3]);
                        c_13 = c_13 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3 + 16]);
                        c_14 = c_14 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3 + 32]);
                        c_15 = c_15 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3 + 48]);
                        const sc_i64 p_3 = sc_min_i64(tile + 4, tile_end - 1);
                        const sc_i64 t_4 = (sc_i64)G_crd1[p_3];
                        const float x_4 = X_val[t_4 * X_stride0 + k];
                        const sc_i64 w_at_4 = k * 64;
                        c_16 = c_16 + sc_splat_f32x16(x_4) * sc_load_f32x16(&w_lane[w_at_4]);
                        c_17 = c_17 + sc_splat_f32x16(x_4) * sc_load_f32x16(&w_lane[w_at_4 + 16]);
                        c_18 = c_18 + sc_splat_f32x16(x_4) * sc_load_f32x16(&w_lane[w_at_4 + 32]);
                        c_19 = c_19 + sc_splat_f32x16(x_4) * sc_load_f32x16(&w_lane[w_at_4 + 48]);
                        const sc_i64 p_4 = sc_min_i64(tile + 5, tile_end - 1);
                        const sc_i64 t_5 = (sc_i64)G_crd1[p_4];
                        const float x_5 = X_val[t_5 * X_stride0 + k];
                        const sc_i64 w_at_5 = k * 64;
                        c_20 = c_20 + sc_splat_f32x16(x_5) * sc_load_f32x16(&w_lane[w_at_5]);
                        c_21 = c_21 + sc_splat_f32x16(x_5) * sc_load_f32x16(&w_lane[w_at_5 + 16]);
                        c_22 = c_22 + sc_splat_f32x16(x_5) * sc_load_f32x16(&w_lane[w_at_5 + 32]);
                        c_23 = c_23 + sc_splat_f32x16(x_5) * sc_load_f32x16(&w_lane[w_at_5 + 48]);
                    }
                    /* for t in G unroll 6 */
                    const sc_i64 t = (sc_i64)G_crd1[tile];
                    /* vec n%64 { Y[t,n] += G[t,e] * c[#t,n%64] } */
                    const float g = G_val[tile];
                    const sc_i64 Y_at = t * Y_stride0 + n_block * 64;
                    sc_store_f32x16(&Y_val[Y_at], sc_load_f32x16(&Y_val[Y_at]) + sc_splat_f32x16(g) * c);
                    sc_store_f32x16(&Y_val[Y_at + 16],
                                    sc_load_f32x16(&Y_val[Y_at + 16]) + sc_splat_f32x16(g) * c_1);
                    sc_store_f32x16(&Y_val[Y_at + 32],
                                    sc_load_f32x16(&Y_val[Y_at + 32]) + sc_splat_f32x16(g) * c_2);
                    sc_store_f32x16(&Y_val[Y_at + 48],
                                    sc_load_f32x16(&Y_val[Y_at + 48]) + sc_splat_f32x16(g) * c_3);
                    if (tile + 1 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 1];
                        const float g_1 = G_val[tile + 1];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + n_block * 64;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_4);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_5);
                        sc_store_f32x16(&Y_val[Y_at_1 + 32],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 32]) + sc_splat_f32x16(g_1) * c_6);
                        sc_store_f32x16(&Y_val[Y_at_1 + 48],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 48]) + sc_splat_f32x16(g_1) * c_7);
                    }
                    if (tile + 2 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 2];
                        const float g_1 = G_val[tile + 2];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + n_block * 64;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_8);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_9);
                        sc_store_f32x16(&Y_val[Y_at_1 + 32],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 32]) + sc_splat_f32x16(g_1) * c_10);
                        sc_store_f32x16(&Y_val[Y_at_1 + 48],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 48]) + sc_splat_f32x16(g_1) * c_11);
                    }
                    if (tile + 3 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 3];
                        const float g_1 = G_val[tile + 3];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + n_block * 64;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_12);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_13);
                        sc_store_f32x16(&Y_val[Y_at_1 + 32],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 32]) + sc_splat_f32x16(g_1) * c_14);
                        sc_store_f32x16(&Y_val[Y_at_1 + 48],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 48]) + sc_splat_f32x16(g_1) * c_15);
                    }
                    if (tile + 4 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 4];
                        const float g_1 = G_val[tile + 4];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + n_block * 64;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_16);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_17);
                        sc_store_f32x16(&Y_val[Y_at_1 + 32],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 32]) + sc_splat_f32x16(g_1) * c_18);
                        sc_store_f32x16(&Y_val[Y_at_1 + 48],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 48]) + sc_splat_f32x16(g_1) * c_19);
                    }
                    if (tile + 5 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 5];
                        const float g_1 = G_val[tile + 5];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + n_block * 64;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_20);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_21);
                        sc_store_f32x16(&Y_val[Y_at_1 + 32],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 32]) + sc_splat_f32x16(g_1) * c_22);
                        sc_store_f32x16(&Y_val[Y_at_1 + 48],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 48]) + sc_splat_f32x16(g_1) * c_23);
                    }
                }
            }
        } else {
            /* the rest, in powers of two */
            for (sc_i64 e = 0; e < e_dim; e++) {
                for (sc_i64 k = 0; k < 40; k++) {
                    const sc_i64 W_at = e * W_stride0 + k * W_stride1 + 128;
                    const sc_i64 w_at = k * 64;
                    sc_store_f32x16(&w_lane[w_at], sc_load_f32x16(&W_val[W_at]));
                    sc_store_f32x16(&w_lane[w_at + 16], sc_load_f32x16(&W_val[W_at + 16]));
                }
                const sc_i64 G_lo = (sc_i64)G_pos1[e];
                const sc_i64 G_hi = (sc_i64)G_pos1[e + 1];
                for (sc_i64 tile = G_lo; tile < G_hi; tile += 6) {
                    const sc_i64 tile_end = sc_min_i64(tile + 6, G_hi);
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
                    for (sc_i64 k = 0; k < 40; k++) {
                        const sc_i64 t = (sc_i64)G_crd1[tile];
                        const float x = X_val[t * X_stride0 + k];
                        const sc_i64 w_at = k * 64;
                        c = c + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at]);
                        c_1 = c_1 + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at + 16]);
                        const sc_i64 p = sc_min_i64(tile + 1, tile_end - 1);
                        const sc_i64 t_1 = (sc_i64)G_crd1[p];
                        const float x_1 = X_val[t_1 * X_stride0 + k];
                        const sc_i64 w_at_1 = k * 64;
                        c_2 = c_2 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1]);
                        c_3 = c_3 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1 + 16]);
                        const sc_i64 p_1 = sc_min_i64(tile + 2, tile_end - 1);
                        const sc_i64 t_2 = (sc_i64)G_crd1[p_1];
                        const float x_2 = X_val[t_2 * X_stride0 + k];
                        const sc_i64 w_at_2 = k * 64;
                        c_4 = c_4 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2]);
                        c_5 = c_5 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2 + 16]);
                        const sc_i64 p_2 = sc_min_i64(tile + 3, tile_end - 1);
                        const sc_i64 t_3 = (sc_i64)G_crd1[p_2];
                        const float x_3 = X_val[t_3 * X_stride0 + k];
                        const sc_i64 w_at_3 = k * 64;
                        c_6 = c_6 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3]);
                        c_7 = c_7 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3 + 16]);
                        const sc_i64 p_3 = sc_min_i64(tile + 4, tile_end - 1);
                        const sc_i64 t_4 = (sc_i64)G_crd1[p_3];
                        const float x_4 = X_val[t_4 * X_stride0 + k];
                        const sc_i64 w_at_4 = k * 64;
                        c_8 = c_8 + sc_splat_f32x16(x_4) * sc_load_f32x16(&w_lane[w_at_4]);
                        c_9 = c_9 + sc_splat_f32x16(x_4) * sc_load_f32x16(&w_lane[w_at_4 + 16]);
                        const sc_i64 p_4 = sc_min_i64(tile + 5, tile_end - 1);
                        const sc_i64 t_5 = (sc_i64)G_crd1[p_4];
                        const float x_5 = X_val[t_5 * X_stride0 + k];
                        const sc_i64 w_at_5 = k * 64;
                        c_10 = c_10 + sc_splat_f32x16(x_5) * sc_load_f32x16(&w_lane[w_at_5]);
                        c_11 = c_11 + sc_splat_f32x16(x_5) * sc_load_f32x16(&w_lane[w_at_5 + 16]);
                    }
                    const sc_i64 t = (sc_i64)G_crd1[tile];
                    const float g = G_val[tile];
                    const sc_i64 Y_at = t * Y_stride0 + 128;
                    sc_store_f32x16(&Y_val[Y_at], sc_load_f32x16(&Y_val[Y_at]) + sc_splat_f32x16(g) * c);
                    sc_store_f32x16(&Y_val[Y_at + 16],
                                    sc_load_f32x16(&Y_val[Y_at + 16]) + sc_splat_f32x16(g) * c_1);
                    if (tile + 1 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 1];
                        const float g_1 = G_val[tile + 1];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + 128;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_2);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_3);
                    }
                    if (tile + 2 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 2];
                        const float g_1 = G_val[tile + 2];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + 128;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_4);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_5);
                    }
                    if (tile + 3 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 3];
                        const float g_1 = G_val[tile + 3];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + 128;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_6);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_7);
                    }
                    if (tile + 4 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 4];
                        const float g_1 = G_val[tile + 4];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + 128;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_8);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_9);
                    }
                    if (tile + 5 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 5];
                        const float g_1 = G_val[tile + 5];
                        const sc_i64 Y_at_1 = t_1 * Y_stride0 + 128;
                        sc_store_f32x16(&Y_val[Y_at_1],
                                        sc_load_f32x16(&Y_val[Y_at_1]) + sc_splat_f32x16(g_1) * c_10);
                        sc_store_f32x16(&Y_val[Y_at_1 + 16],
                                        sc_load_f32x16(&Y_val[Y_at_1 + 16]) + sc_splat_f32x16(g_1) * c_11);
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

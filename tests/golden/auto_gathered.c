/* Computes
 *   X[t,k] = G[t,e] * Y[t,n] * W[e,k,n]
 * with
 *   G: csc f32, indices i32
 *   Y: dense f32
 *   W: dense f32
 *   X: dense f32
 * by
 *   par k/32 {
 *     for e in G {
 *       work w[n,k%32]: lane f32 {
 *         for n/64 {
 *           for k%32 {
 *             vec n%64 {
 *               w[n,k%32] = W[e,k,n]
 *             }
 *           }
 *         }
 *       } then {
 *         for t in G by 6 {
 *           work c[#t,k%32]: reg f32 {
 *             for n {
 *               for t in G unroll 6 {
 *                 vec k%32 {
 *                   c[#t,k%32] += Y[t,n] * w[n,k%32]
 *                 }
 *               }
 *             }
 *           } then {
 *             for t in G unroll 6 {
 *               vec k%32 {
 *                 X[t,k] += G[t,e] * c[#t,k%32]
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
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }
SC_INLINE void sc_exchange1_f32x8(f32x8 *v, f32x8 *w)
{
    const f32x8 x = v[0], y = w[0];
    v[0] = (f32x8){x[0], y[0], x[2], y[2], x[4], y[4], x[6], y[6]};
    w[0] = (f32x8){x[1], y[1], x[3], y[3], x[5], y[5], x[7], y[7]};
}
SC_INLINE void sc_exchange2_f32x8(f32x8 *v, f32x8 *w)
{
    const f32x8 x = v[0], y = w[0];
    v[0] = (f32x8){x[0], x[1], y[0], y[1], x[4], x[5], y[4], y[5]};
    w[0] = (f32x8){x[2], x[3], y[2], y[3], x[6], x[7], y[6], y[7]};
}
SC_INLINE void sc_exchange4_f32x8(f32x8 *v, f32x8 *w)
{
    const f32x8 x = v[0], y = w[0];
    v[0] = (f32x8){x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3]};
    w[0] = (f32x8){x[4], x[5], x[6], x[7], y[4], y[5], y[6], y[7]};
}
SC_INLINE void sc_turn_f32x8(float *to, sc_i64 s, const float *from, sc_i64 t)
{
    f32x8 v[8];
    v[0] = sc_load_f32x8(from);
    v[1] = sc_load_f32x8(from + 1 * t);
    v[2] = sc_load_f32x8(from + 2 * t);
    v[3] = sc_load_f32x8(from + 3 * t);
    v[4] = sc_load_f32x8(from + 4 * t);
    v[5] = sc_load_f32x8(from + 5 * t);
    v[6] = sc_load_f32x8(from + 6 * t);
    v[7] = sc_load_f32x8(from + 7 * t);
    sc_exchange1_f32x8(&v[0], &v[1]);
    sc_exchange1_f32x8(&v[2], &v[3]);
    sc_exchange1_f32x8(&v[4], &v[5]);
    sc_exchange1_f32x8(&v[6], &v[7]);
    sc_exchange2_f32x8(&v[0], &v[2]);
    sc_exchange2_f32x8(&v[1], &v[3]);
    sc_exchange2_f32x8(&v[4], &v[6]);
    sc_exchange2_f32x8(&v[5], &v[7]);
    sc_exchange4_f32x8(&v[0], &v[4]);
    sc_exchange4_f32x8(&v[1], &v[5]);
    sc_exchange4_f32x8(&v[2], &v[6]);
    sc_exchange4_f32x8(&v[3], &v[7]);
    sc_store_f32x8(to, v[0]);
    sc_store_f32x8(to + 1 * s, v[1]);
    sc_store_f32x8(to + 2 * s, v[2]);
    sc_store_f32x8(to + 3 * s, v[3]);
    sc_store_f32x8(to + 4 * s, v[4]);
    sc_store_f32x8(to + 5 * s, v[5]);
    sc_store_f32x8(to + 6 * s, v[6]);
    sc_store_f32x8(to + 7 * s, v[7]);
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 e_dim = call->dim[2];
    const sc_i64 W_stride0 = call->view[2].stride[0];
    const sc_i64 W_stride1 = call->view[2].stride[1];
    const sc_i64 Y_stride0 = call->view[1].stride[0];
    const sc_i64 X_stride0 = call->view[3].stride[0];
    float *restrict const w_lane = lane->scratch;
    const float *restrict const W_val = call->view[2].val;
    const int *restrict const G_pos1 = call->view[0].level[1].pos;
    const int *restrict const G_crd1 = call->view[0].level[1].crd;
    const float *restrict const Y_val = call->view[1].val;
    const float *restrict const G_val = call->view[0].val;
    float *restrict const X_val = call->view[3].val;

    /* par k/32 */
    for (sc_i64 k_block = begin; k_block < end; k_block++) {
        if (80 - k_block * 32 >= 32) {
            /* for e in G */
            for (sc_i64 e = 0; e < e_dim; e++) {
                /* work w[n,k%32]: lane f32 */
                /* for n/64 */
                /* for k%32 */
                for (sc_i64 k_in = 0; k_in < 32; k_in += 8) {
                    /* vec n%64 { w[n,k%32] = W[e,k,n] } */
                    const sc_i64 W_at = e * W_stride0 + (k_block * 32 + k_in) * W_stride1;
                    for (sc_i64 n_in = 0; n_in < 24; n_in += 8) {
                        sc_turn_f32x8(&w_lane[k_in + n_in * 32], 32, &W_val[W_at + n_in], W_stride1);
                    }
                }
                /* for t in G by 6 */
                const sc_i64 G_lo = (sc_i64)G_pos1[e];
                const sc_i64 G_hi = (sc_i64)G_pos1[e + 1];
                for (sc_i64 tile = G_lo; tile < G_hi; tile += 6) {
                    const sc_i64 tile_end = sc_min_i64(tile + 6, G_hi);
                    /* work c[#t,k%32]: reg f32 */
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
                    /* for n */
                    for (sc_i64 n = 0; n < 24; n++) {
                        /* for t in G unroll 6 */
                        const sc_i64 t = (sc_i64)G_crd1[tile];
                        /* vec k%32 { c[#t,k%32] += Y[t,n] * w[n,k%32] } */
                        const float y = Y_val[t * Y_stride0 + n];
                        const sc_i64 w_at = n * 32;
                        c = c + sc_splat_f32x16(y) * sc_load_f32x16(&w_lane[w_at]);
                        c_1 = c_1 + sc_splat_f32x16(y) * sc_load_f32x16(&w_lane[w_at + 16]);
                        const sc_i64 p = sc_min_i64(tile + 1, tile_end - 1);
                        const sc_i64 t_1 = (sc_i64)G_crd1[p];
                        const float y_1 = Y_val[t_1 * Y_stride0 + n];
                        const sc_i64 w_at_1 = n * 32;
                        c_2 = c_2 + sc_splat_f32x16(y_1) * sc_load_f32x16(&w_lane[w_at_1]);
                        c_3 = c_3 + sc_splat_f32x16(y_1) * sc_load_f32x16(&w_lane[w_at_1 + 16]);
                        const sc_i64 p_1 = sc_min_i64(tile + 2, tile_end - 1);
                        const sc_i64 t_2 = (sc_i64)G_crd1[p_1];
                        const float y_2 = Y_val[t_2 * Y_stride0 + n];
                        const sc_i64 w_at_2 = n * 32;
                        c_4 = c_4 + sc_splat_f32x16(y_2) * sc_load_f32x16(&w_lane[w_at_2]);
                        c_5 = c_5 + sc_splat_f32x16(y_2) * sc_load_f32x16(&w_lane[w_at_2 + 16]);
                        const sc_i64 p_2 = sc_min_i64(tile + 3, tile_end - 1);
                        const sc_i64 t_3 = (sc_i64)G_crd1[p_2];
                        const float y_3 = Y_val[t_3 * Y_stride0 + n];
                        const sc_i64 w_at_3 = n * 32;
                        c_6 = c_6 + sc_splat_f32x16(y_3) * sc_load_f32x16(&w_lane[w_at_3]);
                        c_7 = c_7 + sc_splat_f32x16(y_3) * sc_load_f32x16(&w_lane[w_at_3 + 16]);
                        const sc_i64 p_3 = sc_min_i64(tile + 4, tile_end - 1);
                        const sc_i64 t_4 = (sc_i64)G_crd1[p_3];
                        const float y_4 = Y_val[t_4 * Y_stride0 + n];
                        const sc_i64 w_at_4 = n * 32;
                        c_8 = c_8 + sc_splat_f32x16(y_4) * sc_load_f32x16(&w_lane[w_at_4]);
                        c_9 = c_9 + sc_splat_f32x16(y_4) * sc_load_f32x16(&w_lane[w_at_4 + 16]);
                        const sc_i64 p_4 = sc_min_i64(tile + 5, tile_end - 1);
                        const sc_i64 t_5 = (sc_i64)G_crd1[p_4];
                        const float y_5 = Y_val[t_5 * Y_stride0 + n];
                        const sc_i64 w_at_5 = n * 32;
                        c_10 = c_10 + sc_splat_f32x16(y_5) * sc_load_f32x16(&w_lane[w_at_5]);
                        c_11 = c_11 + sc_splat_f32x16(y_5) * sc_load_f32x16(&w_lane[w_at_5 + 16]);
                    }
                    /* for t in G unroll 6 */
                    const sc_i64 t = (sc_i64)G_crd1[tile];
                    /* vec k%32 { X[t,k] += G[t,e] * c[#t,k%32] } */
                    const float g = G_val[tile];
                    const sc_i64 X_at = t * X_stride0 + k_block * 32;
                    sc_store_f32x16(&X_val[X_at], sc_load_f32x16(&X_val[X_at]) + sc_splat_f32x16(g) * c);
                    sc_store_f32x16(&X_val[X_at + 16],
                                    sc_load_f32x16(&X_val[X_at + 16]) + sc_splat_f32x16(g) * c_1);
                    if (tile + 1 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 1];
                        const float g_1 = G_val[tile + 1];
                        const sc_i64 X_at_1 = t_1 * X_stride0 + k_block * 32;
                        sc_store_f32x16(&X_val[X_at_1],
                                        sc_load_f32x16(&X_val[X_at_1]) + sc_splat_f32x16(g_1) * c_2);
                        sc_store_f32x16(&X_val[X_at_1 + 16],
                                        sc_load_f32x16(&X_val[X_at_1 + 16]) + sc_splat_f32x16(g_1) * c_3);
                    }
                    if (tile + 2 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 2];
                        const float g_1 = G_val[tile + 2];
                        const sc_i64 X_at_1 = t_1 * X_stride0 + k_block * 32;
                        sc_store_f32x16(&X_val[X_at_1],
                                        sc_load_f32x16(&X_val[X_at_1]) + sc_splat_f32x16(g_1) * c_4);
                        sc_store_f32x16(&X_val[X_at_1 + 16],
                                        sc_load_f32x16(&X_val[X_at_1 + 16]) + sc_splat_f32x16(g_1) * c_5);
                    }
                    if (tile + 3 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 3];
                        const float g_1 = G_val[tile + 3];
                        const sc_i64 X_at_1 = t_1 * X_stride0 + k_block * 32;
                        sc_store_f32x16(&X_val[X_at_1],
                                        sc_load_f32x16(&X_val[X_at_1]) + sc_splat_f32x16(g_1) * c_6);
                        sc_store_f32x16(&X_val[X_at_1 + 16],
                                        sc_load_f32x16(&X_val[X_at_1 + 16]) + sc_splat_f32x16(g_1) * c_7);
                    }
                    if (tile + 4 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 4];
                        const float g_1 = G_val[tile + 4];
                        const sc_i64 X_at_1 = t_1 * X_stride0 + k_block * 32;
                        sc_store_f32x16(&X_val[X_at_1],
                                        sc_load_f32x16(&X_val[X_at_1]) + sc_splat_f32x16(g_1) * c_8);
                        sc_store_f32x16(&X_val[X_at_1 + 16],
                                        sc_load_f32x16(&X_val[X_at_1 + 16]) + sc_splat_f32x16(g_1) * c_9);
                    }
                    if (tile + 5 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 5];
                        const float g_1 = G_val[tile + 5];
                        const sc_i64 X_at_1 = t_1 * X_stride0 + k_block * 32;
                        sc_store_f32x16(&X_val[X_at_1],
                                        sc_load_f32x16(&X_val[X_at_1]) + sc_splat_f32x16(g_1) * c_10);
                        sc_store_f32x16(&X_val[X_at_1 + 16],
                                        sc_load_f32x16(&X_val[X_at_1 + 16]) + sc_splat_f32x16(g_1) * c_11);
                    }
                }
            }
        } else {
            /* the rest, in powers of two */
            for (sc_i64 e = 0; e < e_dim; e++) {
                for (sc_i64 k_in = 0; k_in < 16; k_in += 8) {
                    const sc_i64 W_at = e * W_stride0 + (k_in + 64) * W_stride1;
                    for (sc_i64 n_in = 0; n_in < 24; n_in += 8) {
                        sc_turn_f32x8(&w_lane[k_in + n_in * 32], 32, &W_val[W_at + n_in], W_stride1);
                    }
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
                    for (sc_i64 n = 0; n < 24; n++) {
                        const sc_i64 t = (sc_i64)G_crd1[tile];
                        const float y = Y_val[t * Y_stride0 + n];
                        const sc_i64 w_at = n * 32;
                        c = c + sc_splat_f32x16(y) * sc_load_f32x16(&w_lane[w_at]);
                        const sc_i64 p = sc_min_i64(tile + 1, tile_end - 1);
                        const sc_i64 t_1 = (sc_i64)G_crd1[p];
                        const float y_1 = Y_val[t_1 * Y_stride0 + n];
                        const sc_i64 w_at_1 = n * 32;
                        c_1 = c_1 + sc_splat_f32x16(y_1) * sc_load_f32x16(&w_lane[w_at_1]);
                        const sc_i64 p_1 = sc_min_i64(tile + 2, tile_end - 1);
                        const sc_i64 t_2 = (sc_i64)G_crd1[p_1];
                        const float y_2 = Y_val[t_2 * Y_stride0 + n];
                        const sc_i64 w_at_2 = n * 32;
                        c_2 = c_2 + sc_splat_f32x16(y_2) * sc_load_f32x16(&w_lane[w_at_2]);
                        const sc_i64 p_2 = sc_min_i64(tile + 3, tile_end - 1);
                        const sc_i64 t_3 = (sc_i64)G_crd1[p_2];
                        const float y_3 = Y_val[t_3 * Y_stride0 + n];
                        const sc_i64 w_at_3 = n * 32;
                        c_3 = c_3 + sc_splat_f32x16(y_3) * sc_load_f32x16(&w_lane[w_at_3]);
                        const sc_i64 p_3 = sc_min_i64(tile + 4, tile_end - 1);
                        const sc_i64 t_4 = (sc_i64)G_crd1[p_3];
                        const float y_4 = Y_val[t_4 * Y_stride0 + n];
                        const sc_i64 w_at_4 = n * 32;
                        c_4 = c_4 + sc_splat_f32x16(y_4) * sc_load_f32x16(&w_lane[w_at_4]);
                        const sc_i64 p_4 = sc_min_i64(tile + 5, tile_end - 1);
                        const sc_i64 t_5 = (sc_i64)G_crd1[p_4];
                        const float y_5 = Y_val[t_5 * Y_stride0 + n];
                        const sc_i64 w_at_5 = n * 32;
                        c_5 = c_5 + sc_splat_f32x16(y_5) * sc_load_f32x16(&w_lane[w_at_5]);
                    }
                    const sc_i64 t = (sc_i64)G_crd1[tile];
                    const float g = G_val[tile];
                    const sc_i64 X_at = t * X_stride0 + 64;
                    sc_store_f32x16(&X_val[X_at], sc_load_f32x16(&X_val[X_at]) + sc_splat_f32x16(g) * c);
                    if (tile + 1 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 1];
                        const float g_1 = G_val[tile + 1];
                        const sc_i64 X_at_1 = t_1 * X_stride0 + 64;
                        sc_store_f32x16(&X_val[X_at_1],
                                        sc_load_f32x16(&X_val[X_at_1]) + sc_splat_f32x16(g_1) * c_1);
                    }
                    if (tile + 2 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 2];
                        const float g_1 = G_val[tile + 2];
                        const sc_i64 X_at_1 = t_1 * X_stride0 + 64;
                        sc_store_f32x16(&X_val[X_at_1],
                                        sc_load_f32x16(&X_val[X_at_1]) + sc_splat_f32x16(g_1) * c_2);
                    }
                    if (tile + 3 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 3];
                        const float g_1 = G_val[tile + 3];
                        const sc_i64 X_at_1 = t_1 * X_stride0 + 64;
                        sc_store_f32x16(&X_val[X_at_1],
                                        sc_load_f32x16(&X_val[X_at_1]) + sc_splat_f32x16(g_1) * c_3);
                    }
                    if (tile + 4 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 4];
                        const float g_1 = G_val[tile + 4];
                        const sc_i64 X_at_1 = t_1 * X_stride0 + 64;
                        sc_store_f32x16(&X_val[X_at_1],
                                        sc_load_f32x16(&X_val[X_at_1]) + sc_splat_f32x16(g_1) * c_4);
                    }
                    if (tile + 5 < tile_end) {
                        const sc_i64 t_1 = (sc_i64)G_crd1[tile + 5];
                        const float g_1 = G_val[tile + 5];
                        const sc_i64 X_at_1 = t_1 * X_stride0 + 64;
                        sc_store_f32x16(&X_val[X_at_1],
                                        sc_load_f32x16(&X_val[X_at_1]) + sc_splat_f32x16(g_1) * c_5);
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

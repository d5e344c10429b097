/* Computes
 *   W[e,k,n] = G[t,e] * X[t,k] * Y[t,n]
 * with
 *   G: csc f32, indices i32
 *   X: dense f32
 *   Y: dense f32
 *   W: dense f32
 * by
 *   par n/64 {
 *     for e in G {
 *       for t in G by 256 {
 *         work w[#t,n%64]: lane f32 {
 *           for t in G {
 *             vec n%64 {
 *               w[#t,n%64] = G[t,e] * Y[t,n]
 *             }
 *           }
 *         } then {
 *           for k/6 {
 *             work c[k%6,n%64]: reg f32 {
 *               for t in G {
 *                 for k%6 unroll 6 {
 *                   vec n%64 {
 *                     c[k%6,n%64] += X[t,k] * w[#t,n%64]
 *                   }
 *                 }
 *               }
 *             } then {
 *               for k%6 unroll 6 {
 *                 vec n%64 {
 *                   W[e,k,n] += c[k%6,n%64]
 *                 }
 *               }
 *             }
 *           }
 *         }
 *       }
 *     }
 *   }
 * because
 *   the sums over G are tiles of k and n in registers
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
    const sc_i64 e_dim = call->dim[0];
    const sc_i64 Y_stride0 = call->view[2].stride[0];
    const sc_i64 W_stride0 = call->view[3].stride[0];
    const sc_i64 W_stride1 = call->view[3].stride[1];
    const sc_i64 X_stride0 = call->view[1].stride[0];
    float *restrict const w_lane = lane->scratch;
    const int *restrict const G_pos1 = call->view[0].level[1].pos;
    const int *restrict const G_crd1 = call->view[0].level[1].crd;
    const float *restrict const G_val = call->view[0].val;
    const float *restrict const Y_val = call->view[2].val;
    float *restrict const W_val = call->view[3].val;
    const float *restrict const X_val = call->view[1].val;

    /* par n/64 */
    for (sc_i64 n_block = begin; n_block < end; n_block++) {
        if (160 - n_block * 64 >= 64) {
            /* for e in G */
            for (sc_i64 e = 0; e < e_dim; e++) {
                /* for t in G by 256 */
                const sc_i64 G_lo = (sc_i64)G_pos1[e];
                const sc_i64 G_hi = (sc_i64)G_pos1[e + 1];
                for (sc_i64 tile = G_lo; tile < G_hi; tile += 256) {
                    const sc_i64 tile_end = sc_min_i64(tile + 256, G_hi);
                    /* work w[#t,n%64]: lane f32 */
                    /* for t in G */
                    for (sc_i64 p = tile; p < tile_end; p++) {
                        const sc_i64 t = (sc_i64)G_crd1[p];
                        /* vec n%64 { w[#t,n%64] = G[t,e] * Y[t,n] } */
                        const float g = G_val[p];
                        const sc_i64 Y_at = t * Y_stride0 + n_block * 64;
                        const sc_i64 w_at = (p - tile) * 64;
                        sc_store_f32x16(&w_lane[w_at], sc_splat_f32x16(g) * sc_load_f32x16(&Y_val[Y_at]));
                        sc_store_f32x16(&w_lane[w_at + 16],
                                        sc_splat_f32x16(g) * sc_load_f32x16(&Y_val[Y_at + 16]));
                        sc_store_f32x16(&w_lane[w_at + 32],
                                        sc_splat_f32x16(g) * sc_load_f32x16(&Y_val[Y_at + 32]));
                        sc_store_f32x16(&w_lane[w_at + 48],
                                        sc_splat_f32x16(g) * sc_load_f32x16(&Y_val[Y_at + 48]));
                    }
                    /* for k/6 */
                    for (sc_i64 k_block = 0; k_block < 96; k_block += 6) {
                        /* work c[k%6,n%64]: reg f32 */
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
                        /* for k%6 unroll 6 */
                        /* vec n%64 { c[k%6,n%64] = W[e,k,n] } */
                        const sc_i64 W_at = e * W_stride0 + k_block * W_stride1 + n_block * 64;
                        c = sc_load_f32x16(&W_val[W_at]);
                        c_1 = sc_load_f32x16(&W_val[W_at + 16]);
                        c_2 = sc_load_f32x16(&W_val[W_at + 32]);
                        c_3 = sc_load_f32x16(&W_val[W_at + 48]);
                        const sc_i64 W_at_1 = e * W_stride0 + (k_block + 1) * W_stride1 + n_block * 64;
                        c_4 = sc_load_f32x16(&W_val[W_at_1]);
                        c_5 = sc_load_f32x16(&W_val[W_at_1 + 16]);
                        c_6 = sc_load_f32x16(&W_val[W_at_1 + 32]);
                        c_7 = sc_load_f32x16(&W_val[W_at_1 + 48]);
                        const sc_i64 W_at_2 = e * W_stride0 + (k_block + 2) * W_stride1 + n_block * 64;
                        c_8 = sc_load_f32x16(&W_val[W_at_2]);
                        c_9 = sc_load_f32x16(&W_val[W_at_2 + 16]);
                        c_10 = sc_load_f32x16(&W_val[W_at_2 + 32]);
                        c_11 = sc_load_f32x16(&W_val[W_at_2 + 48]);
                        const sc_i64 W_at_3 = e * W_stride0 + (k_block + 3) * W_stride1 + n_block * 64;
                        c_12 = sc_load_f32x16(&W_val[W_at_3]);
                        c_13 = sc_load_f32x16(&W_val[W_at_3 + 16]);
                        c_14 = sc_load_f32x16(&W_val[W_at_3 + 32]);
                        c_15 = sc_load_f32x16(&W_val[W_at_3 + 48]);
                        const sc_i64 W_at_4 = e * W_stride0 + (k_block + 4) * W_stride1 + n_block * 64;
                        c_16 = sc_load_f32x16(&W_val[W_at_4]);
                        c_17 = sc_load_f32x16(&W_val[W_at_4 + 16]);
                        c_18 = sc_load_f32x16(&W_val[W_at_4 + 32]);
                        c_19 = sc_load_f32x16(&W_val[W_at_4 + 48]);
                        const sc_i64 W_at_5 = e * W_stride0 + (k_block + 5) * W_stride1 + n_block * 64;
                        c_20 = sc_load_f32x16(&W_val[W_at_5]);
                        c_21 = sc_load_f32x16(&W_val[W_at_5 + 16]);
                        c_22 = sc_load_f32x16(&W_val[W_at_5 + 32]);
                        c_23 = sc_load_f32x16(&W_val[W_at_5 + 48]);
                        /* for t in G */
                        for (sc_i64 p = tile; p < tile_end; p++) {
                            const sc_i64 t = (sc_i64)G_crd1[p];
                            /* for k%6 unroll 6 */
                            /* vec n%64 { c[k%6,n%64] += X[t,k] * w[#t,n%64] } */
                            const float x = X_val[t * X_stride0 + k_block];
                            const sc_i64 w_at = (p - tile) * 64;
                            c = c + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at]);
                            c_1 = c_1 + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at + 16]);
                            c_2 = c_2 + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at + 32]);
                            c_3 = c_3 + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at + 48]);
                            const float x_1 = X_val[t * X_stride0 + k_block + 1];
                            const sc_i64 w_at_1 = (p - tile) * 64;
                            c_4 = c_4 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1]);
                            c_5 = c_5 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1 + 16]);
                            c_6 = c_6 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1 + 32]);
                            c_7 = c_7 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1 + 48]);
                            const float x_2 = X_val[t * X_stride0 + k_block + 2];
                            const sc_i64 w_at_2 = (p - tile) * 64;
                            c_8 = c_8 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2]);
                            c_9 = c_9 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2 + 16]);
                            c_10 = c_10 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2 + 32]);
                            c_11 = c_11 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2 + 48]);
                            const float x_3 = X_val[t * X_stride0 + k_block + 3];
                            const sc_i64 w_at_3 = (p - tile) * 64;
                            c_12 = c_12 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3]);
                            c_13 = c_13 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3 + 16]);
                            c_14 = c_14 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3 + 32]);
                            c_15 = c_15 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3 + 48]);
                            const float x_4 = X_val[t * X_stride0 + k_block + 4];
                            const sc_i64 w_at_4 = (p - tile) * 64;
                            c_16 = c_16 + sc_splat_f32x16(x_4) * sc_load_f32x16(&w_lane[w_at_4]);
                            c_17 = c_17 + sc_splat_f32x16(x_4) * sc_load_f32x16(&w_lane[w_at_4 + 16]);
                            c_18 = c_18 + sc_splat_f32x16(x_4) * sc_load_f32x16(&w_lane[w_at_4 + 32]);
                            c_19 = c_19 + sc_splat_f32x16(x_4) * sc_load_f32x16(&w_lane[w_at_4 + 48]);
                            const float x_5 = X_val[t * X_stride0 + k_block + 5];
                            const sc_i64 w_at_5 = (p - tile) * 64;
                            c_20 = c_20 + sc_splat_f32x16(x_5) * sc_load_f32x16(&w_lane[w_at_5]);
                            c_21 = c_21 + sc_splat_f32x16(x_5) * sc_load_f32x16(&w_lane[w_at_5 + 16]);
                            c_22 = c_22 + sc_splat_f32x16(x_5) * sc_load_f32x16(&w_lane[w_at_5 + 32]);
                            c_23 = c_23 + sc_splat_f32x16(x_5) * sc_load_f32x16(&w_lane[w_at_5 + 48]);
                        }
                        /* for k%6 unroll 6 */
                        /* vec n%64 { W[e,k,n] = c[k%6,n%64] } */
                        const sc_i64 W_at_6 = e * W_stride0 + k_block * W_stride1 + n_block * 64;
                        sc_store_f32x16(&W_val[W_at_6], c);
                        sc_store_f32x16(&W_val[W_at_6 + 16], c_1);
                        sc_store_f32x16(&W_val[W_at_6 + 32], c_2);
                        sc_store_f32x16(&W_val[W_at_6 + 48], c_3);
                        const sc_i64 W_at_7 = e * W_stride0 + (k_block + 1) * W_stride1 + n_block * 64;
                        sc_store_f32x16(&W_val[W_at_7], c_4);
                        sc_store_f32x16(&W_val[W_at_7 + 16], c_5);
                        sc_store_f32x16(&W_val[W_at_7 + 32], c_6);
                        sc_store_f32x16(&W_val[W_at_7 + 48], c_7);
                        const sc_i64 W_at_8 = e * W_stride0 + (k_block + 2) * W_stride1 + n_block * 64;
                        sc_store_f32x16(&W_val[W_at_8], c_8);
                        sc_store_f32x16(&W_val[W_at_8 + 16], c_9);
                        sc_store_f32x16(&W_val[W_at_8 + 32], c_10);
                        sc_store_f32x16(&W_val[W_at_8 + 48], c_11);
                        const sc_i64 W_at_9 = e * W_stride0 + (k_block + 3) * W_stride1 + n_block * 64;
                        sc_store_f32x16(&W_val[W_at_9], c_12);
                        sc_store_f32x16(&W_val[W_at_9 + 16], c_13);
                        sc_store_f32x16(&W_val[W_at_9 + 32], c_14);
                        sc_store_f32x16(&W_val[W_at_9 + 48], c_15);
                        const sc_i64 W_at_10 = e * W_stride0 + (k_block + 4) * W_stride1 + n_block * 64;
                        sc_store_f32x16(&W_val[W_at_10], c_16);
                        sc_store_f32x16(&W_val[W_at_10 + 16], c_17);
                        sc_store_f32x16(&W_val[W_at_10 + 32], c_18);
                        sc_store_f32x16(&W_val[W_at_10 + 48], c_19);
                        const sc_i64 W_at_11 = e * W_stride0 + (k_block + 5) * W_stride1 + n_block * 64;
                        sc_store_f32x16(&W_val[W_at_11], c_20);
                        sc_store_f32x16(&W_val[W_at_11 + 16], c_21);
                        sc_store_f32x16(&W_val[W_at_11 + 32], c_22);
                        sc_store_f32x16(&W_val[W_at_11 + 48], c_23);
                    }
                    /* work c[k%6,n%64]: reg f32 */
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
                    /* for k%6 unroll 6 */
                    /* vec n%64 { c[k%6,n%64] = W[e,k,n] } */
                    const sc_i64 W_at = e * W_stride0 + W_stride1 * 96 + n_block * 64;
                    c = sc_load_f32x16(&W_val[W_at]);
                    c_1 = sc_load_f32x16(&W_val[W_at + 16]);
                    c_2 = sc_load_f32x16(&W_val[W_at + 32]);
                    c_3 = sc_load_f32x16(&W_val[W_at + 48]);
                    const sc_i64 W_at_1 = e * W_stride0 + W_stride1 * 97 + n_block * 64;
                    c_4 = sc_load_f32x16(&W_val[W_at_1]);
                    c_5 = sc_load_f32x16(&W_val[W_at_1 + 16]);
                    c_6 = sc_load_f32x16(&W_val[W_at_1 + 32]);
                    c_7 = sc_load_f32x16(&W_val[W_at_1 + 48]);
                    const sc_i64 W_at_2 = e * W_stride0 + W_stride1 * 98 + n_block * 64;
                    c_8 = sc_load_f32x16(&W_val[W_at_2]);
                    c_9 = sc_load_f32x16(&W_val[W_at_2 + 16]);
                    c_10 = sc_load_f32x16(&W_val[W_at_2 + 32]);
                    c_11 = sc_load_f32x16(&W_val[W_at_2 + 48]);
                    const sc_i64 W_at_3 = e * W_stride0 + W_stride1 * 99 + n_block * 64;
                    c_12 = sc_load_f32x16(&W_val[W_at_3]);
                    c_13 = sc_load_f32x16(&W_val[W_at_3 + 16]);
                    c_14 = sc_load_f32x16(&W_val[W_at_3 + 32]);
                    c_15 = sc_load_f32x16(&W_val[W_at_3 + 48]);
                    /* for t in G */
                    for (sc_i64 p = tile; p < tile_end; p++) {
                        const sc_i64 t = (sc_i64)G_crd1[p];
                        /* for k%6 unroll 6 */
                        /* vec n%64 { c[k%6,n%64] += X[t,k] * w[#t,n%64] } */
                        const float x = X_val[t * X_stride0 + 96];
                        const sc_i64 w_at = (p - tile) * 64;
                        c = c + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at]);
                        c_1 = c_1 + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at + 16]);
                        c_2 = c_2 + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at + 32]);
                        c_3 = c_3 + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at + 48]);
                        const float x_1 = X_val[t * X_stride0 + 97];
                        const sc_i64 w_at_1 = (p - tile) * 64;
                        c_4 = c_4 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1]);
                        c_5 = c_5 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1 + 16]);
                        c_6 = c_6 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1 + 32]);
                        c_7 = c_7 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1 + 48]);
                        const float x_2 = X_val[t * X_stride0 + 98];
                        const sc_i64 w_at_2 = (p - tile) * 64;
                        c_8 = c_8 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2]);
                        c_9 = c_9 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2 + 16]);
                        c_10 = c_10 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2 + 32]);
                        c_11 = c_11 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2 + 48]);
                        const float x_3 = X_val[t * X_stride0 + 99];
                        const sc_i64 w_at_3 = (p - tile) * 64;
                        c_12 = c_12 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3]);
                        c_13 = c_13 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3 + 16]);
                        c_14 = c_14 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3 + 32]);
                        c_15 = c_15 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3 + 48]);
                    }
                    /* for k%6 unroll 6 */
                    /* vec n%64 { W[e,k,n] = c[k%6,n%64] } */
                    const sc_i64 W_at_4 = e * W_stride0 + W_stride1 * 96 + n_block * 64;
                    sc_store_f32x16(&W_val[W_at_4], c);
                    sc_store_f32x16(&W_val[W_at_4 + 16], c_1);
                    sc_store_f32x16(&W_val[W_at_4 + 32], c_2);
                    sc_store_f32x16(&W_val[W_at_4 + 48], c_3);
                    const sc_i64 W_at_5 = e * W_stride0 + W_stride1 * 97 + n_block * 64;
                    sc_store_f32x16(&W_val[W_at_5], c_4);
                    sc_store_f32x16(&W_val[W_at_5 + 16], c_5);
                    sc_store_f32x16(&W_val[W_at_5 + 32], c_6);
                    sc_store_f32x16(&W_val[W_at_5 + 48], c_7);
                    const sc_i64 W_at_6 = e * W_stride0 + W_stride1 * 98 + n_block * 64;
                    sc_store_f32x16(&W_val[W_at_6], c_8);
                    sc_store_f32x16(&W_val[W_at_6 + 16], c_9);
                    sc_store_f32x16(&W_val[W_at_6 + 32], c_10);
                    sc_store_f32x16(&W_val[W_at_6 + 48], c_11);
                    const sc_i64 W_at_7 = e * W_stride0 + W_stride1 * 99 + n_block * 64;
                    sc_store_f32x16(&W_val[W_at_7], c_12);
                    sc_store_f32x16(&W_val[W_at_7 + 16], c_13);
                    sc_store_f32x16(&W_val[W_at_7 + 32], c_14);
                    sc_store_f32x16(&W_val[W_at_7 + 48], c_15);
                }
            }
        } else {
            /* the rest, in powers of two */
            for (sc_i64 e = 0; e < e_dim; e++) {
                const sc_i64 G_lo = (sc_i64)G_pos1[e];
                const sc_i64 G_hi = (sc_i64)G_pos1[e + 1];
                for (sc_i64 tile = G_lo; tile < G_hi; tile += 256) {
                    const sc_i64 tile_end = sc_min_i64(tile + 256, G_hi);
                    for (sc_i64 p = tile; p < tile_end; p++) {
                        const sc_i64 t = (sc_i64)G_crd1[p];
                        const float g = G_val[p];
                        const sc_i64 Y_at = t * Y_stride0 + 128;
                        const sc_i64 w_at = (p - tile) * 64;
                        sc_store_f32x16(&w_lane[w_at], sc_splat_f32x16(g) * sc_load_f32x16(&Y_val[Y_at]));
                        sc_store_f32x16(&w_lane[w_at + 16],
                                        sc_splat_f32x16(g) * sc_load_f32x16(&Y_val[Y_at + 16]));
                    }
                    for (sc_i64 k_block = 0; k_block < 96; k_block += 6) {
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
                        const sc_i64 W_at = e * W_stride0 + k_block * W_stride1 + 128;
                        c = sc_load_f32x16(&W_val[W_at]);
                        c_1 = sc_load_f32x16(&W_val[W_at + 16]);
                        const sc_i64 W_at_1 = e * W_stride0 + (k_block + 1) * W_stride1 + 128;
                        c_2 = sc_load_f32x16(&W_val[W_at_1]);
                        c_3 = sc_load_f32x16(&W_val[W_at_1 + 16]);
                        const sc_i64 W_at_2 = e * W_stride0 + (k_block + 2) * W_stride1 + 128;
                        c_4 = sc_load_f32x16(&W_val[W_at_2]);
                        c_5 = sc_load_f32x16(&W_val[W_at_2 + 16]);
                        const sc_i64 W_at_3 = e * W_stride0 + (k_block + 3) * W_stride1 + 128;
                        c_6 = sc_load_f32x16(&W_val[W_at_3]);
                        c_7 = sc_load_f32x16(&W_val[W_at_3 + 16]);
                        const sc_i64 W_at_4 = e * W_stride0 + (k_block + 4) * W_stride1 + 128;
                        c_8 = sc_load_f32x16(&W_val[W_at_4]);
                        c_9 = sc_load_f32x16(&W_val[W_at_4 + 16]);
                        const sc_i64 W_at_5 = e * W_stride0 + (k_block + 5) * W_stride1 + 128;
                        c_10 = sc_load_f32x16(&W_val[W_at_5]);
                        c_11 = sc_load_f32x16(&W_val[W_at_5 + 16]);
                        for (sc_i64 p = tile; p < tile_end; p++) {
                            const sc_i64 t = (sc_i64)G_crd1[p];
                            const float x = X_val[t * X_stride0 + k_block];
                            const sc_i64 w_at = (p - tile) * 64;
                            c = c + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at]);
                            c_1 = c_1 + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at + 16]);
                            const float x_1 = X_val[t * X_stride0 + k_block + 1];
                            const sc_i64 w_at_1 = (p - tile) * 64;
                            c_2 = c_2 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1]);
                            c_3 = c_3 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1 + 16]);
                            const float x_2 = X_val[t * X_stride0 + k_block + 2];
                            const sc_i64 w_at_2 = (p - tile) * 64;
                            c_4 = c_4 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2]);
                            c_5 = c_5 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2 + 16]);
                            const float x_3 = X_val[t * X_stride0 + k_block + 3];
                            const sc_i64 w_at_3 = (p - tile) * 64;
                            c_6 = c_6 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3]);
                            c_7 = c_7 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3 + 16]);
                            const float x_4 = X_val[t * X_stride0 + k_block + 4];
                            const sc_i64 w_at_4 = (p - tile) * 64;
                            c_8 = c_8 + sc_splat_f32x16(x_4) * sc_load_f32x16(&w_lane[w_at_4]);
                            c_9 = c_9 + sc_splat_f32x16(x_4) * sc_load_f32x16(&w_lane[w_at_4 + 16]);
                            const float x_5 = X_val[t * X_stride0 + k_block + 5];
                            const sc_i64 w_at_5 = (p - tile) * 64;
                            c_10 = c_10 + sc_splat_f32x16(x_5) * sc_load_f32x16(&w_lane[w_at_5]);
                            c_11 = c_11 + sc_splat_f32x16(x_5) * sc_load_f32x16(&w_lane[w_at_5 + 16]);
                        }
                        const sc_i64 W_at_6 = e * W_stride0 + k_block * W_stride1 + 128;
                        sc_store_f32x16(&W_val[W_at_6], c);
                        sc_store_f32x16(&W_val[W_at_6 + 16], c_1);
                        const sc_i64 W_at_7 = e * W_stride0 + (k_block + 1) * W_stride1 + 128;
                        sc_store_f32x16(&W_val[W_at_7], c_2);
                        sc_store_f32x16(&W_val[W_at_7 + 16], c_3);
                        const sc_i64 W_at_8 = e * W_stride0 + (k_block + 2) * W_stride1 + 128;
                        sc_store_f32x16(&W_val[W_at_8], c_4);
                        sc_store_f32x16(&W_val[W_at_8 + 16], c_5);
                        const sc_i64 W_at_9 = e * W_stride0 + (k_block + 3) * W_stride1 + 128;
                        sc_store_f32x16(&W_val[W_at_9], c_6);
                        sc_store_f32x16(&W_val[W_at_9 + 16], c_7);
                        const sc_i64 W_at_10 = e * W_stride0 + (k_block + 4) * W_stride1 + 128;
                        sc_store_f32x16(&W_val[W_at_10], c_8);
                        sc_store_f32x16(&W_val[W_at_10 + 16], c_9);
                        const sc_i64 W_at_11 = e * W_stride0 + (k_block + 5) * W_stride1 + 128;
                        sc_store_f32x16(&W_val[W_at_11], c_10);
                        sc_store_f32x16(&W_val[W_at_11 + 16], c_11);
                    }
                    f32x16 c = (f32x16){0};
                    f32x16 c_1 = (f32x16){0};
                    f32x16 c_2 = (f32x16){0};
                    f32x16 c_3 = (f32x16){0};
                    f32x16 c_4 = (f32x16){0};
                    f32x16 c_5 = (f32x16){0};
                    f32x16 c_6 = (f32x16){0};
                    f32x16 c_7 = (f32x16){0};
                    const sc_i64 W_at = e * W_stride0 + W_stride1 * 96 + 128;
                    c = sc_load_f32x16(&W_val[W_at]);
                    c_1 = sc_load_f32x16(&W_val[W_at + 16]);
                    const sc_i64 W_at_1 = e * W_stride0 + W_stride1 * 97 + 128;
                    c_2 = sc_load_f32x16(&W_val[W_at_1]);
                    c_3 = sc_load_f32x16(&W_val[W_at_1 + 16]);
                    const sc_i64 W_at_2 = e * W_stride0 + W_stride1 * 98 + 128;
                    c_4 = sc_load_f32x16(&W_val[W_at_2]);
                    c_5 = sc_load_f32x16(&W_val[W_at_2 + 16]);
                    const sc_i64 W_at_3 = e * W_stride0 + W_stride1 * 99 + 128;
                    c_6 = sc_load_f32x16(&W_val[W_at_3]);
                    c_7 = sc_load_f32x16(&W_val[W_at_3 + 16]);
                    for (sc_i64 p = tile; p < tile_end; p++) {
                        const sc_i64 t = (sc_i64)G_crd1[p];
                        const float x = X_val[t * X_stride0 + 96];
                        const sc_i64 w_at = (p - tile) * 64;
                        c = c + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at]);
                        c_1 = c_1 + sc_splat_f32x16(x) * sc_load_f32x16(&w_lane[w_at + 16]);
                        const float x_1 = X_val[t * X_stride0 + 97];
                        const sc_i64 w_at_1 = (p - tile) * 64;
                        c_2 = c_2 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1]);
                        c_3 = c_3 + sc_splat_f32x16(x_1) * sc_load_f32x16(&w_lane[w_at_1 + 16]);
                        const float x_2 = X_val[t * X_stride0 + 98];
                        const sc_i64 w_at_2 = (p - tile) * 64;
                        c_4 = c_4 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2]);
                        c_5 = c_5 + sc_splat_f32x16(x_2) * sc_load_f32x16(&w_lane[w_at_2 + 16]);
                        const float x_3 = X_val[t * X_stride0 + 99];
                        const sc_i64 w_at_3 = (p - tile) * 64;
                        c_6 = c_6 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3]);
                        c_7 = c_7 + sc_splat_f32x16(x_3) * sc_load_f32x16(&w_lane[w_at_3 + 16]);
                    }
                    const sc_i64 W_at_4 = e * W_stride0 + W_stride1 * 96 + 128;
                    sc_store_f32x16(&W_val[W_at_4], c);
                    sc_store_f32x16(&W_val[W_at_4 + 16], c_1);
                    const sc_i64 W_at_5 = e * W_stride0 + W_stride1 * 97 + 128;
                    sc_store_f32x16(&W_val[W_at_5], c_2);
                    sc_store_f32x16(&W_val[W_at_5 + 16], c_3);
                    const sc_i64 W_at_6 = e * W_stride0 + W_stride1 * 98 + 128;
                    sc_store_f32x16(&W_val[W_at_6], c_4);
                    sc_store_f32x16(&W_val[W_at_6 + 16], c_5);
                    const sc_i64 W_at_7 = e * W_stride0 + W_stride1 * 99 + 128;
                    sc_store_f32x16(&W_val[W_at_7], c_6);
                    sc_store_f32x16(&W_val[W_at_7 + 16], c_7);
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

/* Computes
 *   W[e,k,n] = G[t,e] * X[t,k] * Y[t,n]
 * with
 *   G: csc f32, indices i32
 *   X: dense f32
 *   Y: dense f32
 *   W: dense f32
 * by
 *   par k/6 {
 *     for e in G {
 *       for n/32 {
 *         work c[k%6,n%32]: reg f32 {
 *           for t in G ahead 2 {
 *             for k%6 unroll 6 {
 *               vec n%32 {
 *                 c[k%6,n%32] += G[t,e] * X[t,k] * Y[t,n]
 *               }
 *             }
 *           }
 *         } then {
 *           for k%6 unroll 6 {
 *             vec n%32 {
 *               W[e,k,n] = c[k%6,n%32]
 *             }
 *           }
 *         }
 *       }
 *     }
 *   }
 * because
 *   the sums over G are tiles of k and n in registers
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

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 e_dim = call->dim[0];
    const sc_i64 G_npos1 = call->view[0].level[1].npos;
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const sc_i64 Y_stride0 = call->view[2].stride[0];
    const sc_i64 W_stride0 = call->view[3].stride[0];
    const sc_i64 W_stride1 = call->view[3].stride[1];
    const int *restrict const G_pos1 = call->view[0].level[1].pos;
    const int *restrict const G_crd1 = call->view[0].level[1].crd;
    const float *restrict const X_val = call->view[1].val;
    const float *restrict const Y_val = call->view[2].val;
    const float *restrict const G_val = call->view[0].val;
    float *restrict const W_val = call->view[3].val;
    (void)lane;

    /* par k/6 */
    for (sc_i64 k_block = begin; k_block < end; k_block++) {
        if (80 - k_block * 6 >= 6) {
            /* for e in G */
            for (sc_i64 e = 0; e < e_dim; e++) {
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
                /* for t in G ahead 2 */
                const sc_i64 G_lo = (sc_i64)G_pos1[e];
                const sc_i64 G_hi = (sc_i64)G_pos1[e + 1];
                for (sc_i64 p = G_lo; p < G_hi; p++) {
                    const sc_i64 t = (sc_i64)G_crd1[p];
                    const sc_i64 ahead = (sc_i64)G_crd1[sc_min_i64(p + 2, G_npos1 - 1)];
                    const sc_i64 row = ahead * X_stride0 + k_block * 6;
                    __builtin_prefetch(&X_val[row]);
                    const sc_i64 row_1 = ahead * Y_stride0;
                    __builtin_prefetch(&Y_val[row_1]);
                    __builtin_prefetch(&Y_val[row_1 + 16]);
                    /* for k%6 unroll 6 */
                    /* vec n%32 { c[k%6,n%32] += G[t,e] * X[t,k] * Y[t,n] } */
                    const float g = G_val[p];
                    const float x = X_val[t * X_stride0 + k_block * 6];
                    const float factor = g * x;
                    const sc_i64 Y_at = t * Y_stride0;
                    c = c + sc_splat_f32x16(factor) * sc_load_f32x16(&Y_val[Y_at]);
                    c_1 = c_1 + sc_splat_f32x16(factor) * sc_load_f32x16(&Y_val[Y_at + 16]);
                    const float g_1 = G_val[p];
                    const sc_i64 X_at = t * X_stride0 + k_block * 6 + 1;
                    const float x_1 = X_val[X_at];
                    const float factor_1 = g_1 * x_1;
                    const sc_i64 Y_at_1 = t * Y_stride0;
                    c_2 = c_2 + sc_splat_f32x16(factor_1) * sc_load_f32x16(&Y_val[Y_at_1]);
                    c_3 = c_3 + sc_splat_f32x16(factor_1) * sc_load_f32x16(&Y_val[Y_at_1 + 16]);
                    const float g_2 = G_val[p];
                    const sc_i64 X_at_1 = t * X_stride0 + k_block * 6 + 2;
                    const float x_2 = X_val[X_at_1];
                    const float factor_2 = g_2 * x_2;
                    const sc_i64 Y_at_2 = t * Y_stride0;
                    c_4 = c_4 + sc_splat_f32x16(factor_2) * sc_load_f32x16(&Y_val[Y_at_2]);
                    c_5 = c_5 + sc_splat_f32x16(factor_2) * sc_load_f32x16(&Y_val[Y_at_2 + 16]);
                    const float g_3 = G_val[p];
                    const sc_i64 X_at_2 = t * X_stride0 + k_block * 6 + 3;
                    const float x_3 = X_val[X_at_2];
                    const float factor_3 = g_3 * x_3;
                    const sc_i64 Y_at_3 = t * Y_stride0;
                    c_6 = c_6 + sc_splat_f32x16(factor_3) * sc_load_f32x16(&Y_val[Y_at_3]);
                    c_7 = c_7 + sc_splat_f32x16(factor_3) * sc_load_f32x16(&Y_val[Y_at_3 + 16]);
                    const float g_4 = G_val[p];
                    const sc_i64 X_at_3 = t * X_stride0 + k_block * 6 + 4;
                    const float x_4 = X_val[X_at_3];
                    const float factor_4 = g_4 * x_4;
                    const sc_i64 Y_at_4 = t * Y_stride0;
                    c_8 = c_8 + sc_splat_f32x16(factor_4) * sc_load_f32x16(&Y_val[Y_at_4]);
                    c_9 = c_9 + sc_splat_f32x16(factor_4) * sc_load_f32x16(&Y_val[Y_at_4 + 16]);
                    const float g_5 = G_val[p];
                    const sc_i64 X_at_4 = t * X_stride0 + k_block * 6 + 5;
                    const float x_5 = X_val[X_at_4];
                    const float factor_5 = g_5 * x_5;
                    const sc_i64 Y_at_5 = t * Y_stride0;
                    c_10 = c_10 + sc_splat_f32x16(factor_5) * sc_load_f32x16(&Y_val[Y_at_5]);
                    c_11 = c_11 + sc_splat_f32x16(factor_5) * sc_load_f32x16(&Y_val[Y_at_5 + 16]);
                }
                /* for k%6 unroll 6 */
                /* vec n%32 { W[e,k,n] = c[k%6,n%32] } */
                const sc_i64 W_at = e * W_stride0 + k_block * 6 * W_stride1;
                sc_store_f32x16(&W_val[W_at], c);
                sc_store_f32x16(&W_val[W_at + 16], c_1);
                const sc_i64 W_at_1 = e * W_stride0 + (k_block * 6 + 1) * W_stride1;
                sc_store_f32x16(&W_val[W_at_1], c_2);
                sc_store_f32x16(&W_val[W_at_1 + 16], c_3);
                const sc_i64 W_at_2 = e * W_stride0 + (k_block * 6 + 2) * W_stride1;
                sc_store_f32x16(&W_val[W_at_2], c_4);
                sc_store_f32x16(&W_val[W_at_2 + 16], c_5);
                const sc_i64 W_at_3 = e * W_stride0 + (k_block * 6 + 3) * W_stride1;
                sc_store_f32x16(&W_val[W_at_3], c_6);
                sc_store_f32x16(&W_val[W_at_3 + 16], c_7);
                const sc_i64 W_at_4 = e * W_stride0 + (k_block * 6 + 4) * W_stride1;
                sc_store_f32x16(&W_val[W_at_4], c_8);
                sc_store_f32x16(&W_val[W_at_4 + 16], c_9);
                const sc_i64 W_at_5 = e * W_stride0 + (k_block * 6 + 5) * W_stride1;
                sc_store_f32x16(&W_val[W_at_5], c_10);
                sc_store_f32x16(&W_val[W_at_5 + 16], c_11);
                /* work c[k%6,n%32]: reg f32 */
                f32x4 c_12 = (f32x4){0};
                f32x4 c_13 = (f32x4){0};
                f32x4 c_14 = (f32x4){0};
                f32x4 c_15 = (f32x4){0};
                f32x4 c_16 = (f32x4){0};
                f32x4 c_17 = (f32x4){0};
                /* for t in G ahead 2 */
                const sc_i64 G_lo_1 = (sc_i64)G_pos1[e];
                const sc_i64 G_hi_1 = (sc_i64)G_pos1[e + 1];
                for (sc_i64 p = G_lo_1; p < G_hi_1; p++) {
                    const sc_i64 t = (sc_i64)G_crd1[p];
                    const sc_i64 ahead = (sc_i64)G_crd1[sc_min_i64(p + 2, G_npos1 - 1)];
                    const sc_i64 row = ahead * X_stride0 + k_block * 6;
                    __builtin_prefetch(&X_val[row]);
                    const sc_i64 row_1 = ahead * Y_stride0 + 32;
                    __builtin_prefetch(&Y_val[row_1]);
                    /* for k%6 unroll 6 */
                    /* vec n%32 { c[k%6,n%32] += G[t,e] * X[t,k] * Y[t,n] } */
                    const float g = G_val[p];
                    const float x = X_val[t * X_stride0 + k_block * 6];
                    const float factor = g * x;
                    const sc_i64 Y_at = t * Y_stride0 + 32;
                    c_12 = c_12 + sc_splat_f32x4(factor) * sc_load_f32x4(&Y_val[Y_at]);
                    const float g_1 = G_val[p];
                    const sc_i64 X_at = t * X_stride0 + k_block * 6 + 1;
                    const float x_1 = X_val[X_at];
                    const float factor_1 = g_1 * x_1;
                    const sc_i64 Y_at_1 = t * Y_stride0 + 32;
                    c_13 = c_13 + sc_splat_f32x4(factor_1) * sc_load_f32x4(&Y_val[Y_at_1]);
                    const float g_2 = G_val[p];
                    const sc_i64 X_at_1 = t * X_stride0 + k_block * 6 + 2;
                    const float x_2 = X_val[X_at_1];
                    const float factor_2 = g_2 * x_2;
                    const sc_i64 Y_at_2 = t * Y_stride0 + 32;
                    c_14 = c_14 + sc_splat_f32x4(factor_2) * sc_load_f32x4(&Y_val[Y_at_2]);
                    const float g_3 = G_val[p];
                    const sc_i64 X_at_2 = t * X_stride0 + k_block * 6 + 3;
                    const float x_3 = X_val[X_at_2];
                    const float factor_3 = g_3 * x_3;
                    const sc_i64 Y_at_3 = t * Y_stride0 + 32;
                    c_15 = c_15 + sc_splat_f32x4(factor_3) * sc_load_f32x4(&Y_val[Y_at_3]);
                    const float g_4 = G_val[p];
                    const sc_i64 X_at_3 = t * X_stride0 + k_block * 6 + 4;
                    const float x_4 = X_val[X_at_3];
                    const float factor_4 = g_4 * x_4;
                    const sc_i64 Y_at_4 = t * Y_stride0 + 32;
                    c_16 = c_16 + sc_splat_f32x4(factor_4) * sc_load_f32x4(&Y_val[Y_at_4]);
                    const float g_5 = G_val[p];
                    const sc_i64 X_at_4 = t * X_stride0 + k_block * 6 + 5;
                    const float x_5 = X_val[X_at_4];
                    const float factor_5 = g_5 * x_5;
                    const sc_i64 Y_at_5 = t * Y_stride0 + 32;
                    c_17 = c_17 + sc_splat_f32x4(factor_5) * sc_load_f32x4(&Y_val[Y_at_5]);
                }
                /* for k%6 unroll 6 */
                /* vec n%32 { W[e,k,n] = c[k%6,n%32] } */
                const sc_i64 W_at_6 = e * W_stride0 + k_block * 6 * W_stride1 + 32;
                sc_store_f32x4(&W_val[W_at_6], c_12);
                const sc_i64 W_at_7 = e * W_stride0 + (k_block * 6 + 1) * W_stride1 + 32;
                sc_store_f32x4(&W_val[W_at_7], c_13);
                const sc_i64 W_at_8 = e * W_stride0 + (k_block * 6 + 2) * W_stride1 + 32;
                sc_store_f32x4(&W_val[W_at_8], c_14);
                const sc_i64 W_at_9 = e * W_stride0 + (k_block * 6 + 3) * W_stride1 + 32;
                sc_store_f32x4(&W_val[W_at_9], c_15);
                const sc_i64 W_at_10 = e * W_stride0 + (k_block * 6 + 4) * W_stride1 + 32;
                sc_store_f32x4(&W_val[W_at_10], c_16);
                const sc_i64 W_at_11 = e * W_stride0 + (k_block * 6 + 5) * W_stride1 + 32;
                sc_store_f32x4(&W_val[W_at_11], c_17);
            }
        } else {
            /* the rest, in powers of two */
            for (sc_i64 e = 0; e < e_dim; e++) {
                f32x16 c = (f32x16){0};
                f32x16 c_1 = (f32x16){0};
                f32x16 c_2 = (f32x16){0};
                f32x16 c_3 = (f32x16){0};
                const sc_i64 G_lo = (sc_i64)G_pos1[e];
                const sc_i64 G_hi = (sc_i64)G_pos1[e + 1];
                for (sc_i64 p = G_lo; p < G_hi; p++) {
                    const sc_i64 t = (sc_i64)G_crd1[p];
                    const sc_i64 ahead = (sc_i64)G_crd1[sc_min_i64(p + 2, G_npos1 - 1)];
                    const sc_i64 row = ahead * X_stride0 + 78;
                    __builtin_prefetch(&X_val[row]);
                    const sc_i64 row_1 = ahead * Y_stride0;
                    __builtin_prefetch(&Y_val[row_1]);
                    __builtin_prefetch(&Y_val[row_1 + 16]);
                    const float g = G_val[p];
                    const float x = X_val[t * X_stride0 + 78];
                    const float factor = g * x;
                    const sc_i64 Y_at = t * Y_stride0;
                    c = c + sc_splat_f32x16(factor) * sc_load_f32x16(&Y_val[Y_at]);
                    c_1 = c_1 + sc_splat_f32x16(factor) * sc_load_f32x16(&Y_val[Y_at + 16]);
                    const float g_1 = G_val[p];
                    const float x_1 = X_val[t * X_stride0 + 79];
                    const float factor_1 = g_1 * x_1;
                    const sc_i64 Y_at_1 = t * Y_stride0;
                    c_2 = c_2 + sc_splat_f32x16(factor_1) * sc_load_f32x16(&Y_val[Y_at_1]);
                    c_3 = c_3 + sc_splat_f32x16(factor_1) * sc_load_f32x16(&Y_val[Y_at_1 + 16]);
                }
                const sc_i64 W_at = e * W_stride0 + W_stride1 * 78;
                sc_store_f32x16(&W_val[W_at], c);
                sc_store_f32x16(&W_val[W_at + 16], c_1);
                const sc_i64 W_at_1 = e * W_stride0 + W_stride1 * 79;
                sc_store_f32x16(&W_val[W_at_1], c_2);
                sc_store_f32x16(&W_val[W_at_1 + 16], c_3);
                f32x4 c_4 = (f32x4){0};
                f32x4 c_5 = (f32x4){0};
                const sc_i64 G_lo_1 = (sc_i64)G_pos1[e];
                const sc_i64 G_hi_1 = (sc_i64)G_pos1[e + 1];
                for (sc_i64 p = G_lo_1; p < G_hi_1; p++) {
                    const sc_i64 t = (sc_i64)G_crd1[p];
                    const sc_i64 ahead = (sc_i64)G_crd1[sc_min_i64(p + 2, G_npos1 - 1)];
                    const sc_i64 row = ahead * X_stride0 + 78;
                    __builtin_prefetch(&X_val[row]);
                    const sc_i64 row_1 = ahead * Y_stride0 + 32;
                    __builtin_prefetch(&Y_val[row_1]);
                    const float g = G_val[p];
                    const float x = X_val[t * X_stride0 + 78];
                    const float factor = g * x;
                    const sc_i64 Y_at = t * Y_stride0 + 32;
                    c_4 = c_4 + sc_splat_f32x4(factor) * sc_load_f32x4(&Y_val[Y_at]);
                    const float g_1 = G_val[p];
                    const float x_1 = X_val[t * X_stride0 + 79];
                    const float factor_1 = g_1 * x_1;
                    const sc_i64 Y_at_1 = t * Y_stride0 + 32;
                    c_5 = c_5 + sc_splat_f32x4(factor_1) * sc_load_f32x4(&Y_val[Y_at_1]);
                }
                const sc_i64 W_at_2 = e * W_stride0 + W_stride1 * 78 + 32;
                sc_store_f32x4(&W_val[W_at_2], c_4);
                const sc_i64 W_at_3 = e * W_stride0 + W_stride1 * 79 + 32;
                sc_store_f32x4(&W_val[W_at_3], c_5);
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

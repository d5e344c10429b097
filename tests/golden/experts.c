/* Computes
 *   Y[t,n] = G[t,e] * X[t,k] * W[e,k,n]
 * with
 *   G: csc f32, indices i32
 *   X: dense f32
 *   W: dense f32
 *   Y: dense f32
 * by
 *   work y[t,n]: private f32 {
 *     par e in G {
 *       for t in G by 32 {
 *         work x1[#t,k]: lane f32 {
 *           for t in G {
 *             vec k {
 *               x1[#t,k] = X[t,k]
 *             }
 *           }
 *         } then {
 *           for t in G {
 *             work c[n]: reg f32 {
 *               for k {
 *                 vec n {
 *                   c[n] += x1[#t,k] * W[e,k,n]
 *                 }
 *               }
 *             } then {
 *               vec n {
 *                 y[t,n] += G[t,e] * c[n]
 *               }
 *             }
 *           }
 *         }
 *       }
 *     }
 *   } then {
 *     par t {
 *       vec n {
 *         Y[t,n] = y[t,n]
 *       }
 *     }
 *   }
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
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const sc_i64 W_stride0 = call->view[2].stride[0];
    const sc_i64 W_stride1 = call->view[2].stride[1];
    float *restrict const x1_lane = lane->scratch;
    const int *restrict const G_pos1 = call->view[0].level[1].pos;
    const int *restrict const G_crd1 = call->view[0].level[1].crd;
    const float *restrict const X_val = call->view[1].val;
    const float *restrict const W_val = call->view[2].val;
    const float *restrict const G_val = call->view[0].val;
    float *restrict const y_copy = lane->partial;

    /* work y[t,n]: private f32 */
    /* par e in G */
    for (sc_i64 e = begin; e < end; e++) {
        /* for t in G by 32 */
        const sc_i64 G_lo = (sc_i64)G_pos1[e];
        const sc_i64 G_hi = (sc_i64)G_pos1[e + 1];
        for (sc_i64 tile = G_lo; tile < G_hi; tile += 32) {
            const sc_i64 tile_end = sc_min_i64(tile + 32, G_hi);
            /* work x1[#t,k]: lane f32 */
            /* for t in G */
            for (sc_i64 p = tile; p < tile_end; p++) {
                const sc_i64 t = (sc_i64)G_crd1[p];
                /* vec k { x1[#t,k] = X[t,k] } */
                const sc_i64 X_at = t * X_stride0;
                const sc_i64 x1_at = (p - tile) * 64;
                sc_store_f32x16(&x1_lane[x1_at], sc_load_f32x16(&X_val[X_at]));
                sc_store_f32x16(&x1_lane[x1_at + 16], sc_load_f32x16(&X_val[X_at + 16]));
                sc_store_f32x16(&x1_lane[x1_at + 32], sc_load_f32x16(&X_val[X_at + 32]));
                sc_store_f32x16(&x1_lane[x1_at + 48], sc_load_f32x16(&X_val[X_at + 48]));
            }
            /* for t in G */
            for (sc_i64 p = tile; p < tile_end; p++) {
                const sc_i64 t = (sc_i64)G_crd1[p];
                /* work c[n]: reg f32 */
                f32x16 c = (f32x16){0};
                f32x16 c_1 = (f32x16){0};
                /* for k */
                for (sc_i64 k = 0; k < 64; k++) {
                    /* vec n { c[n] += x1[#t,k] * W[e,k,n] } */
                    const float x1 = x1_lane[(p - tile) * 64 + k];
                    const sc_i64 W_at = e * W_stride0 + k * W_stride1;
                    c = c + sc_splat_f32x16(x1) * sc_load_f32x16(&W_val[W_at]);
                    c_1 = c_1 + sc_splat_f32x16(x1) * sc_load_f32x16(&W_val[W_at + 16]);
                }
                /* vec n { y[t,n] += G[t,e] * c[n] } */
                const float g = G_val[p];
                const sc_i64 y_at = t * 32;
                sc_store_f32x16(&y_copy[y_at], sc_load_f32x16(&y_copy[y_at]) + sc_splat_f32x16(g) * c);
                sc_store_f32x16(&y_copy[y_at + 16],
                                sc_load_f32x16(&y_copy[y_at + 16]) + sc_splat_f32x16(g) * c_1);
            }
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 Y_stride0 = call->view[3].stride[0];
    const sc_i64 t_dim = call->dim[0];
    const sc_i64 copies = call->copies[0];
    float *restrict const y_copy_1 = call->shared[0];
    float *restrict const Y_val = call->view[3].val;
    (void)lane;

    /* par t */
    for (sc_i64 t = begin; t < end; t++) {
        /* vec n { Y[t,n] = y[t,n] } */
        const sc_i64 y_at = t * 32;
        const sc_i64 Y_at = t * Y_stride0;
        f32x16 y = (f32x16){0};
        for (sc_i64 copy = 0; copy < copies; copy++) {
            y = y + sc_load_f32x16(&y_copy_1[copy * (t_dim * 32) + y_at]);
        }
        sc_store_f32x16(&Y_val[Y_at], y);
        f32x16 y_1 = (f32x16){0};
        for (sc_i64 copy = 0; copy < copies; copy++) {
            y_1 = y_1 + sc_load_f32x16(&y_copy_1[copy * (t_dim * 32) + y_at + 16]);
        }
        sc_store_f32x16(&Y_val[Y_at + 16], y_1);
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

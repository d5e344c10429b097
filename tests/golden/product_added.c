/* Computes
 *   Y[k,r] = A[i,j,k] * B[i,r] * C[j,r]
 * with
 *   A: csf f32, indices i32
 *   B: dense f32
 *   C: dense f32
 *   Y: dense f32
 * by
 *   work w[k,r]: private f32 {
 *     par i in A {
 *       for j in A {
 *         work c[r]: reg f32 {
 *           vec r {
 *             c[r] += B[i,r] * C[j,r]
 *           }
 *         } then {
 *           for k in A {
 *             vec r {
 *               w[k,r] += A[i,j,k] * c[r]
 *             }
 *           }
 *         }
 *       }
 *     }
 *   } then {
 *     par k {
 *       vec r {
 *         Y[k,r] = w[k,r]
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   r is the vector: it runs at stride 1 in most operands
 *   sums scatter over a small result: every thread has a copy, added up in order
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const B_val = call->view[1].val;
    const float *restrict const C_val = call->view[2].val;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const w_copy = lane->partial;

    /* work w[k,r]: private f32 */
    /* par i in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 i = (sc_i64)A_crd0[p];
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[p];
        const sc_i64 A_hi = (sc_i64)A_pos1[p + 1];
        for (sc_i64 p_1 = A_lo; p_1 < A_hi; p_1++) {
            const sc_i64 j = (sc_i64)A_crd1[p_1];
            /* work c[r]: reg f32 */
            f32x16 c = (f32x16){0};
            /* vec r { c[r] += B[i,r] * C[j,r] } */
            const sc_i64 B_at = i * B_stride0;
            const sc_i64 C_at = j * C_stride0;
            c = c + sc_load_f32x16(&B_val[B_at]) * sc_load_f32x16(&C_val[C_at]);
            /* for k in A */
            const sc_i64 A_lo_1 = (sc_i64)A_pos2[p_1];
            const sc_i64 A_hi_1 = (sc_i64)A_pos2[p_1 + 1];
            for (sc_i64 p_2 = A_lo_1; p_2 < A_hi_1; p_2++) {
                const sc_i64 k = (sc_i64)A_crd2[p_2];
                /* vec r { w[k,r] += A[i,j,k] * c[r] } */
                const float a = A_val[p_2];
                const sc_i64 w_at = k * 16;
                sc_store_f32x16(&w_copy[w_at], sc_load_f32x16(&w_copy[w_at]) + sc_splat_f32x16(a) * c);
            }
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 Y_stride0 = call->view[3].stride[0];
    const sc_i64 k_dim = call->dim[0];
    const sc_i64 copies = call->copies[0];
    float *restrict const w_copy_1 = call->shared[0];
    float *restrict const Y_val = call->view[3].val;
    (void)lane;

    /* par k */
    for (sc_i64 k = begin; k < end; k++) {
        /* vec r { Y[k,r] = w[k,r] } */
        const sc_i64 w_at = k * 16;
        const sc_i64 Y_at = k * Y_stride0;
        f32x16 w = (f32x16){0};
        for (sc_i64 copy = 0; copy < copies; copy++) {
            w = w + sc_load_f32x16(&w_copy_1[copy * (k_dim * 16) + w_at]);
        }
        sc_store_f32x16(&Y_val[Y_at], w);
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

/* Computes
 *   Y[j,r] = A[i,j,k] * B[i,r] * C[k,r]
 * with
 *   A: csf f32, indices i32
 *   B: dense f32
 *   C: dense f32
 *   Y: dense f32
 * by
 *   work w[j,r]: private f32 {
 *     par i in A {
 *       for j in A {
 *         work c[r]: reg f32 {
 *           for k in A unroll 4 {
 *             vec r {
 *               c[r] += A[i,j,k] * C[k,r]
 *             }
 *           }
 *         } then {
 *           vec r {
 *             w[j,r] += B[i,r] * c[r]
 *           }
 *         }
 *       }
 *     }
 *   } then {
 *     par j {
 *       vec r {
 *         Y[j,r] = w[j,r]
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
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const C_val = call->view[2].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const w_copy = lane->partial;

    /* work w[j,r]: private f32 */
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
            /* for k in A unroll 4 */
            const sc_i64 A_lo_1 = (sc_i64)A_pos2[p_1];
            const sc_i64 A_hi_1 = (sc_i64)A_pos2[p_1 + 1];
            const sc_i64 count = A_hi_1 - A_lo_1;
            const sc_i64 whole = A_lo_1 + (count - count % 4);
            f32x16 c_1 = (f32x16){0};
            f32x16 c_2 = (f32x16){0};
            f32x16 c_3 = (f32x16){0};
            for (sc_i64 p_2 = A_lo_1; p_2 < whole; p_2 += 4) {
                const sc_i64 kk = sc_pair_i32(&A_crd2[p_2]);
                const sc_i64 k = kk & 4294967295;
                /* vec r { c[r] += A[i,j,k] * C[k,r] } */
                const float a = A_val[p_2];
                const sc_i64 C_at = k * C_stride0;
                c = c + sc_splat_f32x16(a) * sc_load_f32x16(&C_val[C_at]);
                const sc_i64 k_1 = kk >> 32;
                const float a_1 = A_val[p_2 + 1];
                const sc_i64 C_at_1 = k_1 * C_stride0;
                c_1 = c_1 + sc_splat_f32x16(a_1) * sc_load_f32x16(&C_val[C_at_1]);
                const sc_i64 kk_1 = sc_pair_i32(&A_crd2[p_2 + 2]);
                const sc_i64 k_2 = kk_1 & 4294967295;
                const float a_2 = A_val[p_2 + 2];
                const sc_i64 C_at_2 = k_2 * C_stride0;
                c_2 = c_2 + sc_splat_f32x16(a_2) * sc_load_f32x16(&C_val[C_at_2]);
                const sc_i64 k_3 = kk_1 >> 32;
                const float a_3 = A_val[p_2 + 3];
                const sc_i64 C_at_3 = k_3 * C_stride0;
                c_3 = c_3 + sc_splat_f32x16(a_3) * sc_load_f32x16(&C_val[C_at_3]);
            }
            c = c + c_1;
            c = c + c_2;
            c = c + c_3;
            for (sc_i64 p_2 = whole; p_2 < A_hi_1; p_2++) {
                const sc_i64 k = (sc_i64)A_crd2[p_2];
                const float a = A_val[p_2];
                const sc_i64 C_at = k * C_stride0;
                c = c + sc_splat_f32x16(a) * sc_load_f32x16(&C_val[C_at]);
            }
            /* vec r { w[j,r] += B[i,r] * c[r] } */
            const sc_i64 B_at = i * B_stride0;
            const sc_i64 w_at = j * 16;
            sc_store_f32x16(&w_copy[w_at], sc_load_f32x16(&w_copy[w_at]) + sc_load_f32x16(&B_val[B_at]) * c);
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 Y_stride0 = call->view[3].stride[0];
    const sc_i64 j_dim = call->dim[0];
    const sc_i64 copies = call->copies[0];
    float *restrict const w_copy_1 = call->shared[0];
    float *restrict const Y_val = call->view[3].val;
    (void)lane;

    /* par j */
    for (sc_i64 j = begin; j < end; j++) {
        /* vec r { Y[j,r] = w[j,r] } */
        const sc_i64 w_at = j * 16;
        const sc_i64 Y_at = j * Y_stride0;
        f32x16 w = (f32x16){0};
        for (sc_i64 copy = 0; copy < copies; copy++) {
            w = w + sc_load_f32x16(&w_copy_1[copy * (j_dim * 16) + w_at]);
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

/* Computes
 *   C[i,k] = M[i,k] * relu(A[i,j] * B[j,k])
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   M: csr f32, indices i32
 *   C: csr f32, indices i32
 * by
 *   par i in M {
 *     work w[k]: lane f32 {
 *       for j in A {
 *         for k in B {
 *           w[k] += A[i,j] * B[j,k]
 *         }
 *       }
 *     } then {
 *       for k in M {
 *         C[i,k] = M[i,k] * relu(w[k])
 *       }
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE float sc_relu_f32(float x) { return x <= 0 ? 0 : x; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    float *restrict const w_lane = lane->scratch;
    const int *restrict const M_pos1 = call->view[2].level[1].pos;
    const int *restrict const M_crd1 = call->view[2].level[1].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const float *restrict const B_val = call->view[1].val;
    const float *restrict const M_val = call->view[2].val;
    float *restrict const C_val = call->view[3].val;

    /* par i in M */
    for (sc_i64 i = begin; i < end; i++) {
        /* work w[k]: lane f32 */
        /* for k in M */
        const sc_i64 M_lo = (sc_i64)M_pos1[i];
        const sc_i64 M_hi = (sc_i64)M_pos1[i + 1];
        for (sc_i64 p = M_lo; p < M_hi; p++) {
            const sc_i64 k = (sc_i64)M_crd1[p];
            /* w[k] = 0 */
            w_lane[k] = 0.0f;
        }
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* for k in B */
            const float a = A_val[p];
            const sc_i64 B_lo = (sc_i64)B_pos1[j];
            const sc_i64 B_hi = (sc_i64)B_pos1[j + 1];
            for (sc_i64 p_1 = B_lo; p_1 < B_hi; p_1++) {
                const sc_i64 k = (sc_i64)B_crd1[p_1];
                /* w[k] += A[i,j] * B[j,k] */
                w_lane[k] = w_lane[k] + a * B_val[p_1];
            }
        }
        /* for k in M */
        const sc_i64 M_lo_1 = (sc_i64)M_pos1[i];
        const sc_i64 M_hi_1 = (sc_i64)M_pos1[i + 1];
        for (sc_i64 p = M_lo_1; p < M_hi_1; p++) {
            const sc_i64 k = (sc_i64)M_crd1[p];
            /* C[i,k] = M[i,k] * relu(w[k]) */
            C_val[p] = M_val[p] * sc_relu_f32(w_lane[k]);
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

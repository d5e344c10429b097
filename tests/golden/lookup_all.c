/* Computes
 *   C[i,j] = max(A[i,j] - B[i,j], X[i,j])
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   X: dense f32
 *   C: dense f32
 * by
 *   par i {
 *     for j {
 *       for j merge A, B {
 *         C[i,j] = max(A[i,j] - B[i,j], X[i,j])
 *       }
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE float sc_max_f32(float a, float b)
{
    const float r = a > b ? a : b;
    return a >= a ? r : a;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    const sc_i64 X_stride0 = call->view[2].stride[0];
    const sc_i64 C_stride0 = call->view[3].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    const float *restrict const X_val = call->view[2].val;
    float *restrict const C_val = call->view[3].val;
    (void)lane;

    /* par i */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        sc_i64 pA = A_lo;
        const sc_i64 B_lo = (sc_i64)B_pos1[i];
        const sc_i64 B_hi = (sc_i64)B_pos1[i + 1];
        sc_i64 pB = B_lo;
        for (sc_i64 j = 0; j < j_dim; j++) {
            /* for j merge A, B */
            while ((pA < A_hi) && ((sc_i64)A_crd1[pA] < j)) {
                pA = pA + 1;
            }
            const _Bool in_A = (pA < A_hi) && ((sc_i64)A_crd1[pA] == j);
            while ((pB < B_hi) && ((sc_i64)B_crd1[pB] < j)) {
                pB = pB + 1;
            }
            const _Bool in_B = (pB < B_hi) && ((sc_i64)B_crd1[pB] == j);
            if (in_A && in_B) {
                /* C[i,j] = max(A[i,j] - B[i,j], X[i,j]) */
                C_val[i * C_stride0 + j] = sc_max_f32(A_val[pA] - B_val[pB], X_val[i * X_stride0 + j]);
            } else if (in_B) {
                /* C[i,j] = max(-B[i,j], X[i,j]) */
                C_val[i * C_stride0 + j] = sc_max_f32(-B_val[pB], X_val[i * X_stride0 + j]);
            } else if (in_A) {
                /* C[i,j] = max(A[i,j], X[i,j]) */
                C_val[i * C_stride0 + j] = sc_max_f32(A_val[pA], X_val[i * X_stride0 + j]);
            } else {
                /* C[i,j] = max(0, X[i,j]) */
                C_val[i * C_stride0 + j] = sc_max_f32(0.0f, X_val[i * X_stride0 + j]);
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

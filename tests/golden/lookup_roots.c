/* Computes
 *   C[i,j] = X[i,j] + A[i,j] * 3 - B[i,j]
 * with
 *   A: dcsr f32, indices i32
 *   B: coo f32, indices i32
 *   X: dense f32
 *   C: dense f32
 * by
 *   par i {
 *     for i merge A, B {
 *       for j {
 *         for j merge A, B {
 *           C[i,j] = X[i,j] + A[i,j] * 3 - B[i,j]
 *         }
 *       }
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
static sc_i64 sc_search_i32(const int *crd, sc_i64 lo, sc_i64 hi, sc_i64 x)
{
    sc_i64 at = lo, step = 1;
    for (; at < hi && crd[at] < x; step += step) {
        lo = at + 1;
        at += step;
    }
    if (at < hi) hi = at;
    while (lo < hi) {
        const sc_i64 mid = lo + (hi - lo) / 2;
        if (crd[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    const sc_i64 X_stride0 = call->view[2].stride[0];
    const sc_i64 C_stride0 = call->view[3].stride[0];
    const int *restrict const A_pos0 = call->view[0].level[0].pos;
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const B_pos0 = call->view[1].level[0].pos;
    const int *restrict const B_crd0 = call->view[1].level[0].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const float *restrict const X_val = call->view[2].val;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[3].val;
    (void)lane;

    /* par i */
    const sc_i64 A_lo = (sc_i64)A_pos0[0];
    const sc_i64 A_hi = (sc_i64)A_pos0[1];
    sc_i64 pA = sc_search_i32(A_crd0, A_lo, A_hi, begin);
    const sc_i64 B_lo = (sc_i64)B_pos0[0];
    const sc_i64 B_hi = (sc_i64)B_pos0[1];
    sc_i64 pB = sc_search_i32(B_crd0, B_lo, B_hi, begin);
    for (sc_i64 i = begin; i < end; i++) {
        /* for i merge A, B */
        while ((pA < A_hi) && ((sc_i64)A_crd0[pA] < i)) {
            pA = pA + 1;
        }
        const _Bool in_A = (pA < A_hi) && ((sc_i64)A_crd0[pA] == i);
        while ((pB < B_hi) && ((sc_i64)B_crd0[pB] < i)) {
            pB = pB + 1;
        }
        const sc_i64 B_end = sc_search_i32(B_crd0, pB, B_hi, i + 1);
        const _Bool in_B = pB < B_end;
        if (in_A && in_B) {
            /* for j */
            const sc_i64 A_lo_1 = (sc_i64)A_pos1[pA];
            const sc_i64 A_hi_1 = (sc_i64)A_pos1[pA + 1];
            sc_i64 pA_1 = A_lo_1;
            sc_i64 pB_1 = pB;
            for (sc_i64 j = 0; j < j_dim; j++) {
                /* for j merge A, B */
                while ((pA_1 < A_hi_1) && ((sc_i64)A_crd1[pA_1] < j)) {
                    pA_1 = pA_1 + 1;
                }
                const _Bool in_A_1 = (pA_1 < A_hi_1) && ((sc_i64)A_crd1[pA_1] == j);
                while ((pB_1 < B_end) && ((sc_i64)B_crd1[pB_1] < j)) {
                    pB_1 = pB_1 + 1;
                }
                const _Bool in_B_1 = (pB_1 < B_end) && ((sc_i64)B_crd1[pB_1] == j);
                if (in_A_1 && in_B_1) {
                    /* C[i,j] = X[i,j] + A[i,j] * 3 - B[i,j] */
                    C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] + A_val[pA_1] * 3.0f - B_val[pB_1];
                } else if (in_B_1) {
                    /* C[i,j] = X[i,j] - B[i,j] */
                    C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] - B_val[pB_1];
                } else if (in_A_1) {
                    /* C[i,j] = X[i,j] + A[i,j] * 3 */
                    C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] + A_val[pA_1] * 3.0f;
                } else {
                    /* C[i,j] = X[i,j] */
                    C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j];
                }
            }
        } else if (in_B) {
            /* for j */
            sc_i64 pB_1 = pB;
            for (sc_i64 j = 0; j < j_dim; j++) {
                /* for j merge A, B */
                while ((pB_1 < B_end) && ((sc_i64)B_crd1[pB_1] < j)) {
                    pB_1 = pB_1 + 1;
                }
                const _Bool in_B_1 = (pB_1 < B_end) && ((sc_i64)B_crd1[pB_1] == j);
                if (in_B_1) {
                    /* C[i,j] = X[i,j] - B[i,j] */
                    C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] - B_val[pB_1];
                } else {
                    /* C[i,j] = X[i,j] */
                    C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j];
                }
            }
        } else if (in_A) {
            /* for j */
            const sc_i64 A_lo_1 = (sc_i64)A_pos1[pA];
            const sc_i64 A_hi_1 = (sc_i64)A_pos1[pA + 1];
            sc_i64 pA_1 = A_lo_1;
            for (sc_i64 j = 0; j < j_dim; j++) {
                /* for j merge A, B */
                while ((pA_1 < A_hi_1) && ((sc_i64)A_crd1[pA_1] < j)) {
                    pA_1 = pA_1 + 1;
                }
                const _Bool in_A_1 = (pA_1 < A_hi_1) && ((sc_i64)A_crd1[pA_1] == j);
                if (in_A_1) {
                    /* C[i,j] = X[i,j] + A[i,j] * 3 */
                    C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] + A_val[pA_1] * 3.0f;
                } else {
                    /* C[i,j] = X[i,j] */
                    C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j];
                }
            }
        } else {
            /* for j */
            for (sc_i64 j = 0; j < j_dim; j++) {
                /* for j merge A, B */
                /* C[i,j] = X[i,j] */
                C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j];
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

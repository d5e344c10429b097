/* Computes
 *   C[i,j] = A[i,j] + B[i,j] + D[i,j] + E[i,j]
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   D: csr f32, indices i32
 *   E: csr f32, indices i32
 *   C: csr f32, indices i32
 * by
 *   par i {
 *     for j merge A, B, D, E {
 *       C[i,j] = A[i,j] + B[i,j] + D[i,j] + E[i,j]
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const int *restrict const D_pos1 = call->view[2].level[1].pos;
    const int *restrict const D_crd1 = call->view[2].level[1].crd;
    const int *restrict const E_pos1 = call->view[3].level[1].pos;
    const int *restrict const E_crd1 = call->view[3].level[1].crd;
    float *restrict const C_val = call->view[4].val;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    const float *restrict const D_val = call->view[2].val;
    const float *restrict const E_val = call->view[3].val;
    int *restrict const C_crd1 = (int *)call->view[4].level[1].crd;
    int *restrict const C_pos1 = (int *)call->view[4].level[1].pos;

    sc_i64 C_next1 = cursors[0];
    /* par i */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j merge A, B, D, E */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        sc_i64 pA = A_lo;
        const sc_i64 B_lo = (sc_i64)B_pos1[i];
        const sc_i64 B_hi = (sc_i64)B_pos1[i + 1];
        sc_i64 pB = B_lo;
        const sc_i64 D_lo = (sc_i64)D_pos1[i];
        const sc_i64 D_hi = (sc_i64)D_pos1[i + 1];
        sc_i64 pD = D_lo;
        const sc_i64 E_lo = (sc_i64)E_pos1[i];
        const sc_i64 E_hi = (sc_i64)E_pos1[i + 1];
        sc_i64 pE = E_lo;
        while ((pA < A_hi) | (pB < B_hi) | (pD < D_hi) | (pE < E_hi)) {
            const sc_i64 j_A = ((pA < A_hi) ? (sc_i64)(sc_i64)A_crd1[pA] : 9223372036854775807);
            const sc_i64 j_B = ((pB < B_hi) ? (sc_i64)(sc_i64)B_crd1[pB] : 9223372036854775807);
            const sc_i64 j_D = ((pD < D_hi) ? (sc_i64)(sc_i64)D_crd1[pD] : 9223372036854775807);
            const sc_i64 j_E = ((pE < E_hi) ? (sc_i64)(sc_i64)E_crd1[pE] : 9223372036854775807);
            const sc_i64 j = sc_min_i64(sc_min_i64(sc_min_i64(j_A, j_B), j_D), j_E);
            if ((j_A == j) && (j_B == j) && (j_D == j) && (j_E == j)) {
                /* C[i,j] = A[i,j] + B[i,j] + D[i,j] + E[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = A_val[pA] + B_val[pB] + D_val[pD] + E_val[pE];
                C_next1 = C_next1 + 1;
            } else if ((j_B == j) && (j_D == j) && (j_E == j)) {
                /* C[i,j] = B[i,j] + D[i,j] + E[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = B_val[pB] + D_val[pD] + E_val[pE];
                C_next1 = C_next1 + 1;
            } else if ((j_A == j) && (j_D == j) && (j_E == j)) {
                /* C[i,j] = A[i,j] + D[i,j] + E[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = A_val[pA] + D_val[pD] + E_val[pE];
                C_next1 = C_next1 + 1;
            } else if ((j_A == j) && (j_B == j) && (j_E == j)) {
                /* C[i,j] = A[i,j] + B[i,j] + E[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = A_val[pA] + B_val[pB] + E_val[pE];
                C_next1 = C_next1 + 1;
            } else if ((j_A == j) && (j_B == j) && (j_D == j)) {
                /* C[i,j] = A[i,j] + B[i,j] + D[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = A_val[pA] + B_val[pB] + D_val[pD];
                C_next1 = C_next1 + 1;
            } else if ((j_D == j) && (j_E == j)) {
                /* C[i,j] = D[i,j] + E[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = D_val[pD] + E_val[pE];
                C_next1 = C_next1 + 1;
            } else if ((j_B == j) && (j_E == j)) {
                /* C[i,j] = B[i,j] + E[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = B_val[pB] + E_val[pE];
                C_next1 = C_next1 + 1;
            } else if ((j_A == j) && (j_E == j)) {
                /* C[i,j] = A[i,j] + E[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = A_val[pA] + E_val[pE];
                C_next1 = C_next1 + 1;
            } else if ((j_B == j) && (j_D == j)) {
                /* C[i,j] = B[i,j] + D[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = B_val[pB] + D_val[pD];
                C_next1 = C_next1 + 1;
            } else if ((j_A == j) && (j_D == j)) {
                /* C[i,j] = A[i,j] + D[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = A_val[pA] + D_val[pD];
                C_next1 = C_next1 + 1;
            } else if ((j_A == j) && (j_B == j)) {
                /* C[i,j] = A[i,j] + B[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = A_val[pA] + B_val[pB];
                C_next1 = C_next1 + 1;
            } else if (j_E == j) {
                /* C[i,j] = E[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = E_val[pE];
                C_next1 = C_next1 + 1;
            } else if (j_D == j) {
                /* C[i,j] = D[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = D_val[pD];
                C_next1 = C_next1 + 1;
            } else if (j_B == j) {
                /* C[i,j] = B[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = B_val[pB];
                C_next1 = C_next1 + 1;
            } else {
                /* C[i,j] = A[i,j] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = A_val[pA];
                C_next1 = C_next1 + 1;
            }
            pA = pA + (sc_i64)(j_A == j);
            pB = pB + (sc_i64)(j_B == j);
            pD = pD + (sc_i64)(j_D == j);
            pE = pE + (sc_i64)(j_E == j);
        }
        C_pos1[i + 1] = (int)C_next1;
    }
    cursors[0] = C_next1;
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

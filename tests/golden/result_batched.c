/* Computes
 *   C[b,i,j] = A[b,i,j] - B[b,i,j]
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   C: csr f32, indices i32
 * by
 *   par b {
 *     for i {
 *       for j merge A, B {
 *         C[b,i,j] = A[b,i,j] - B[b,i,j]
 *       }
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
    const sc_i64 i_dim = call->dim[1];
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    const int *restrict const B_pos2 = call->view[1].level[2].pos;
    const int *restrict const B_crd2 = call->view[1].level[2].crd;
    float *restrict const C_val = call->view[2].val;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    int *restrict const C_crd2 = (int *)call->view[2].level[2].crd;
    int *restrict const C_pos2 = (int *)call->view[2].level[2].pos;

    sc_i64 C_next2 = cursors[0];
    for (sc_i64 b = begin; b < end; b++) {
        for (sc_i64 i = 0; i < i_dim; i++) {
            const sc_i64 A_lo = (sc_i64)A_pos2[b * i_dim + i];
            const sc_i64 A_hi = (sc_i64)A_pos2[b * i_dim + i + 1];
            sc_i64 pA = A_lo;
            const sc_i64 B_lo = (sc_i64)B_pos2[b * i_dim + i];
            const sc_i64 B_hi = (sc_i64)B_pos2[b * i_dim + i + 1];
            sc_i64 pB = B_lo;
            while ((pA < A_hi) && (pB < B_hi)) {
                const sc_i64 j_A = (sc_i64)A_crd2[pA];
                const sc_i64 j_B = (sc_i64)B_crd2[pB];
                const sc_i64 j = sc_min_i64(j_A, j_B);
                if ((j_A == j) && (j_B == j)) {
                    C_crd2[C_next2] = (int)j;
                    C_val[C_next2] = A_val[pA] - B_val[pB];
                    C_next2 = C_next2 + 1;
                } else if (j_B == j) {
                    C_crd2[C_next2] = (int)j;
                    C_val[C_next2] = -B_val[pB];
                    C_next2 = C_next2 + 1;
                } else {
                    C_crd2[C_next2] = (int)j;
                    C_val[C_next2] = A_val[pA];
                    C_next2 = C_next2 + 1;
                }
                pA = pA + (sc_i64)(j_A == j);
                pB = pB + (sc_i64)(j_B == j);
            }
            for (sc_i64 p = pB; p < B_hi; p++) {
                const sc_i64 j_1 = (sc_i64)B_crd2[p];
                C_crd2[C_next2] = (int)j_1;
                C_val[C_next2] = -B_val[p];
                C_next2 = C_next2 + 1;
            }
            for (sc_i64 p_1 = pA; p_1 < A_hi; p_1++) {
                const sc_i64 j_2 = (sc_i64)A_crd2[p_1];
                C_crd2[C_next2] = (int)j_2;
                C_val[C_next2] = A_val[p_1];
                C_next2 = C_next2 + 1;
            }
            C_pos2[b * i_dim + i + 1] = (int)C_next2;
        }
    }
    cursors[0] = C_next2;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 1, {body}};

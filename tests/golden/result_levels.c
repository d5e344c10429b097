/* Computes
 *   C[i,j,k] = A[i,j,k] * d[j]
 * with
 *   A: dense(2), compressed(0), compressed(1) f32, indices i32
 *   d: dense f32
 *   C: compressed(2), compressed(0), compressed(1) f32, indices i32
 * by
 *   par k in A {
 *     for i in A {
 *       for j in A {
 *         C[i,j,k] = A[i,j,k] * d[j]
 *       }
 *     }
 *   }
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    float *restrict const C_val = call->view[2].val;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const d_val = call->view[1].val;
    int *restrict const C_crd2 = (int *)call->view[2].level[2].crd;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    int *restrict const C_pos2 = (int *)call->view[2].level[2].pos;
    int *restrict const C_crd0 = (int *)call->view[2].level[0].crd;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    sc_i64 C_next2 = cursors[2];
    /* par k in A */
    for (sc_i64 k = begin; k < end; k++) {
        const sc_i64 first = C_next1;
        /* for i in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[k];
        const sc_i64 A_hi = (sc_i64)A_pos1[k + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 i = (sc_i64)A_crd1[p];
            const sc_i64 first_1 = C_next2;
            /* for j in A */
            const sc_i64 A_lo_1 = (sc_i64)A_pos2[p];
            const sc_i64 A_hi_1 = (sc_i64)A_pos2[p + 1];
            for (sc_i64 p_1 = A_lo_1; p_1 < A_hi_1; p_1++) {
                const sc_i64 j = (sc_i64)A_crd2[p_1];
                /* C[i,j,k] = A[i,j,k] * d[j] */
                C_crd2[C_next2] = (int)j;
                C_val[C_next2] = A_val[p_1] * d_val[j];
                C_next2 = C_next2 + 1;
            }
            if (C_next2 != first_1) {
                C_crd1[C_next1] = (int)i;
                C_pos2[C_next1 + 1] = (int)C_next2;
                C_next1 = C_next1 + 1;
            }
        }
        if (C_next1 != first) {
            C_crd0[C_next0] = (int)k;
            C_pos1[C_next0 + 1] = (int)C_next1;
            C_next0 = C_next0 + 1;
        }
    }
    cursors[0] = C_next0;
    cursors[1] = C_next1;
    cursors[2] = C_next2;
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

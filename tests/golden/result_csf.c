/* Computes
 *   C[i,j] = A[i,j,k] * v[k]
 * with
 *   A: csf f64, indices i32
 *   v: dense f64
 *   C: dcsr f64, indices i32
 * by
 *   par i in A {
 *     for j in A {
 *       work c: reg f64 {
 *         for k in A {
 *           c += A[i,j,k] * v[k]
 *         }
 *       } then {
 *         C[i,j] = c
 *       }
 *     }
 *   }
 */
static int count(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 first = C_next1;
        const sc_i64 A_lo = (sc_i64)A_pos1[p];
        const sc_i64 A_hi = (sc_i64)A_pos1[p + 1];
        for (sc_i64 p_1 = A_lo; p_1 < A_hi; p_1++) {
            C_next1 = C_next1 + 1;
        }
        if (C_next1 != first) {
            C_next0 = C_next0 + 1;
        }
    }
    cursors[0] = C_next0;
    cursors[1] = C_next1;
    return 0;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    const double *restrict const A_val = call->view[0].val;
    const double *restrict const v_val = call->view[1].val;
    double *restrict const C_val = call->view[2].val;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    int *restrict const C_crd0 = (int *)call->view[2].level[0].crd;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 i = (sc_i64)A_crd0[p];
        const sc_i64 first = C_next1;
        const sc_i64 A_lo = (sc_i64)A_pos1[p];
        const sc_i64 A_hi = (sc_i64)A_pos1[p + 1];
        for (sc_i64 p_1 = A_lo; p_1 < A_hi; p_1++) {
            const sc_i64 j = (sc_i64)A_crd1[p_1];
            double c = 0.0;
            const sc_i64 A_lo_1 = (sc_i64)A_pos2[p_1];
            const sc_i64 A_hi_1 = (sc_i64)A_pos2[p_1 + 1];
            for (sc_i64 p_2 = A_lo_1; p_2 < A_hi_1; p_2++) {
                const sc_i64 k = (sc_i64)A_crd2[p_2];
                c = c + A_val[p_2] * v_val[k];
            }
            C_crd1[C_next1] = (int)j;
            C_val[C_next1] = c;
            C_next1 = C_next1 + 1;
        }
        if (C_next1 != first) {
            C_crd0[C_next0] = (int)i;
            C_pos1[C_next0 + 1] = (int)C_next1;
            C_next0 = C_next0 + 1;
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
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 2, {count, body}};

/* Computes
 *   C[i] = A[i] * A[i]
 *   S[i] = 0 * (A[i] / A[i]) + C[i]
 * with
 *   A: coo f64, indices i64
 *   C: dense f64
 *   S: coo f64, indices i32
 * by
 *   par i in A {
 *     work c: reg f64 {
 *       c = A[i] * A[i]
 *     } then {
 *       C[i] = c
 *       S[i] = 0 * (stored(A[i]) * stored(A[i])) + c
 *     }
 *   }
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const sc_i64 *restrict const A_crd0 = call->view[0].level[0].crd;
    const double *restrict const A_val = call->view[0].val;
    double *restrict const C_val = call->view[1].val;
    double *restrict const S_val = call->view[2].val;
    int *restrict const S_crd0 = (int *)call->view[2].level[0].crd;

    sc_i64 S_next0 = cursors[0];
    /* par i in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 i = A_crd0[p];
        /* work c: reg f64 */
        double c = 0.0;
        /* c = A[i] * A[i] */
        c = A_val[p] * A_val[p];
        /* C[i] = c */
        C_val[i] = c;
        /* S[i] = 0 * (stored(A[i]) * stored(A[i])) + c */
        S_crd0[S_next0] = (int)i;
        S_val[S_next0] = 0.0 + c;
        S_next0 = S_next0 + 1;
    }
    cursors[0] = S_next0;
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

/* Computes
 *   y[i] = A[i,j] * x[j]
 * with
 *   A: csr f64, indices i64
 *   x: dense f64
 *   y: dense f64
 * by
 *   par i in A {
 *     work c: reg f64 {
 *       for j in A unroll 4 {
 *         c += A[i,j] * x[j]
 *       }
 *     } then {
 *       y[i] = c
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 *restrict const A_pos1 = call->view[0].level[1].pos;
    const sc_i64 *restrict const A_crd1 = call->view[0].level[1].crd;
    const double *restrict const A_val = call->view[0].val;
    const double *restrict const x_val = call->view[1].val;
    double *restrict const y_val = call->view[2].val;
    (void)lane;

    for (sc_i64 i = begin; i < end; i++) {
        double c = 0.0;
        const sc_i64 A_lo = A_pos1[i];
        const sc_i64 A_hi = A_pos1[i + 1];
        const sc_i64 whole = A_lo + (A_hi - A_lo - (A_hi - A_lo) % 4);
        double c_1 = 0.0;
        double c_2 = 0.0;
        double c_3 = 0.0;
        for (sc_i64 p = A_lo; p < whole; p += 4) {
            const sc_i64 j = A_crd1[p];
            c = c + A_val[p] * x_val[j];
            const sc_i64 j_1 = A_crd1[p + 1];
            c_1 = c_1 + A_val[p + 1] * x_val[j_1];
            const sc_i64 j_2 = A_crd1[p + 2];
            c_2 = c_2 + A_val[p + 2] * x_val[j_2];
            const sc_i64 j_3 = A_crd1[p + 3];
            c_3 = c_3 + A_val[p + 3] * x_val[j_3];
        }
        c = c + c_1;
        c = c + c_2;
        c = c + c_3;
        for (sc_i64 p_1 = whole; p_1 < A_hi; p_1++) {
            const sc_i64 j_4 = A_crd1[p_1];
            c = c + A_val[p_1] * x_val[j_4];
        }
        y_val[i] = c;
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 *restrict const A_crd1 = call->view[0].level[1].crd;
    const double *restrict const A_val = call->view[0].val;
    const double *restrict const x_val = call->view[1].val;
    double *restrict const c_carry = lane->partial;

    double c = 0.0;
    const sc_i64 whole = begin + (end - begin - (end - begin) % 4);
    double c_1 = 0.0;
    double c_2 = 0.0;
    double c_3 = 0.0;
    for (sc_i64 p = begin; p < whole; p += 4) {
        const sc_i64 j = A_crd1[p];
        c = c + A_val[p] * x_val[j];
        const sc_i64 j_1 = A_crd1[p + 1];
        c_1 = c_1 + A_val[p + 1] * x_val[j_1];
        const sc_i64 j_2 = A_crd1[p + 2];
        c_2 = c_2 + A_val[p + 2] * x_val[j_2];
        const sc_i64 j_3 = A_crd1[p + 3];
        c_3 = c_3 + A_val[p + 3] * x_val[j_3];
    }
    c = c + c_1;
    c = c + c_2;
    c = c + c_3;
    for (sc_i64 p_1 = whole; p_1 < end; p_1++) {
        const sc_i64 j_4 = A_crd1[p_1];
        c = c + A_val[p_1] * x_val[j_4];
    }
    c_carry[0] = c;
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 carried = lane->cursor[1];
    double *restrict const y_val = call->view[2].val;
    double *restrict const c_carry = lane->partial;
    (void)end;

    double c = 0.0;
    for (sc_i64 slot = 0; slot < carried; slot++) {
        c = c + c_carry[slot];
    }
    y_val[begin] = c;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 3, {body, part, finish}};

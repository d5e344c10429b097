/* Computes
 *   s = A[i,j]
 * with
 *   A: csr f64, indices i32
 *   s: dense f64
 * by
 *   work w: private f64 {
 *     par i in A {
 *       work c: reg f64 {
 *         for j in A unroll 4 {
 *           c += A[i,j]
 *         }
 *       } then {
 *         w += c
 *       }
 *     }
 *   } then {
 *     s = w
 *   }
 * because
 *   loops over A follow its storage order
 *   sums scatter over a small result: every thread has a copy, added up in order
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const double *restrict const A_val = call->view[0].val;
    double *restrict const w_copy = lane->partial;

    for (sc_i64 i = begin; i < end; i++) {
        double c = 0.0;
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        const sc_i64 whole = A_lo + (A_hi - A_lo - (A_hi - A_lo) % 4);
        double c_1 = 0.0;
        double c_2 = 0.0;
        double c_3 = 0.0;
        for (sc_i64 p = A_lo; p < whole; p += 4) {
            c = c + A_val[p];
            c_1 = c_1 + A_val[p + 1];
            c_2 = c_2 + A_val[p + 2];
            c_3 = c_3 + A_val[p + 3];
        }
        c = c + c_1;
        c = c + c_2;
        c = c + c_3;
        for (sc_i64 p_1 = whole; p_1 < A_hi; p_1++) {
            c = c + A_val[p_1];
        }
        w_copy[0] = w_copy[0] + c;
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 copies = call->copies[0];
    double *restrict const w_copy_1 = call->shared[0];
    double *restrict const s_val = call->view[1].val;
    (void)lane;
    (void)begin;
    (void)end;

    double w = 0.0;
    for (sc_i64 copy = 0; copy < copies; copy++) {
        w = w + w_copy_1[copy];
    }
    s_val[0] = w;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 2, {body, body_1}};

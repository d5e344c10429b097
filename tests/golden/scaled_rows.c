/* Computes
 *   C[i,j] = A[i,j] * d[i]
 * with
 *   A: csr f32, indices i32
 *   d: dense f32
 *   C: csr f32, indices i32
 * by
 *   par i in A {
 *     for j in A {
 *       C[i,j] = A[i,j] * d[i]
 *     }
 *   }
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const d_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            /* C[i,j] = A[i,j] * d[i] */
            C_val[p] = A_val[p] * d_val[i];
        }
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 unit = lane->cursor[0];
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const d_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;

    /* par i in A */
    /* for j in A */
    for (sc_i64 p = begin; p < end; p++) {
        /* C[i,j] = A[i,j] * d[i] */
        C_val[p] = A_val[p] * d_val[unit];
    }
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {3, sizeof(sc_object), SC_KEY,
    2, {body, part}};

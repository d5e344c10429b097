/* Computes
 *   s[j] = A[i,j]
 * with
 *   A: csr f32, indices i32
 *   s: dense f32
 * by
 *   work w[j]: private f32 {
 *     par i in A {
 *       for j in A {
 *         w[j] += A[i,j]
 *       }
 *     }
 *   } then {
 *     par j {
 *       s[j] = w[j]
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   sums scatter over a small result: every thread has a copy, added up in order
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const w_copy = lane->partial;

    /* work w[j]: private f32 */
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* w[j] += A[i,j] */
            w_copy[j] = w_copy[j] + A_val[p];
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[0];
    const sc_i64 copies = call->copies[0];
    float *restrict const w_copy_1 = call->shared[0];
    float *restrict const s_val = call->view[1].val;
    (void)lane;

    /* par j */
    for (sc_i64 j = begin; j < end; j++) {
        /* s[j] = w[j] */
        float w = 0.0f;
        for (sc_i64 copy = 0; copy < copies; copy++) {
            w = w + w_copy_1[copy * j_dim + j];
        }
        s_val[j] = w;
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
    2, {body, body_1}};

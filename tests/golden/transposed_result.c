/* Computes
 *   Y[n,i] = X[n,j] * A[i,j]
 * with
 *   A: csr f32, indices i32
 *   X: dense f32
 *   Y: dense f32
 * by
 *   par i in A {
 *     for n {
 *       work c: reg f32 {
 *         for j in A unroll 4 {
 *           c += X[n,j] * A[i,j]
 *         }
 *       } then {
 *         Y[n,i] = c
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 n_dim = call->dim[0];
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const sc_i64 Y_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const X_val = call->view[1].val;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const Y_val = call->view[2].val;
    (void)lane;

    for (sc_i64 i = begin; i < end; i++) {
        for (sc_i64 n = 0; n < n_dim; n++) {
            float c = 0.0f;
            const sc_i64 A_lo = (sc_i64)A_pos1[i];
            const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
            const sc_i64 whole = A_lo + (A_hi - A_lo - (A_hi - A_lo) % 4);
            float c_1 = 0.0f;
            float c_2 = 0.0f;
            float c_3 = 0.0f;
            for (sc_i64 p = A_lo; p < whole; p += 4) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                c = c + X_val[n * X_stride0 + j] * A_val[p];
                const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                c_1 = c_1 + X_val[n * X_stride0 + j_1] * A_val[p + 1];
                const sc_i64 j_2 = (sc_i64)A_crd1[p + 2];
                c_2 = c_2 + X_val[n * X_stride0 + j_2] * A_val[p + 2];
                const sc_i64 j_3 = (sc_i64)A_crd1[p + 3];
                c_3 = c_3 + X_val[n * X_stride0 + j_3] * A_val[p + 3];
            }
            c = c + c_1;
            c = c + c_2;
            c = c + c_3;
            for (sc_i64 p_1 = whole; p_1 < A_hi; p_1++) {
                const sc_i64 j_4 = (sc_i64)A_crd1[p_1];
                c = c + X_val[n * X_stride0 + j_4] * A_val[p_1];
            }
            Y_val[n * Y_stride0 + i] = c;
        }
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 n_dim = call->dim[0];
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const X_val = call->view[1].val;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const c_carry = lane->partial;

    for (sc_i64 n = 0; n < n_dim; n++) {
        float c = 0.0f;
        const sc_i64 whole = begin + (end - begin - (end - begin) % 4);
        float c_5 = 0.0f;
        float c_6 = 0.0f;
        float c_7 = 0.0f;
        for (sc_i64 p = begin; p < whole; p += 4) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            c = c + X_val[n * X_stride0 + j] * A_val[p];
            const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
            c_5 = c_5 + X_val[n * X_stride0 + j_1] * A_val[p + 1];
            const sc_i64 j_2 = (sc_i64)A_crd1[p + 2];
            c_6 = c_6 + X_val[n * X_stride0 + j_2] * A_val[p + 2];
            const sc_i64 j_3 = (sc_i64)A_crd1[p + 3];
            c_7 = c_7 + X_val[n * X_stride0 + j_3] * A_val[p + 3];
        }
        c = c + c_5;
        c = c + c_6;
        c = c + c_7;
        for (sc_i64 p_1 = whole; p_1 < end; p_1++) {
            const sc_i64 j_4 = (sc_i64)A_crd1[p_1];
            c = c + X_val[n * X_stride0 + j_4] * A_val[p_1];
        }
        c_carry[0] = c;
    }
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 n_dim = call->dim[0];
    const sc_i64 Y_stride0 = call->view[2].stride[0];
    const sc_i64 carried = lane->cursor[1];
    float *restrict const Y_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    for (sc_i64 n = 0; n < n_dim; n++) {
        float c = 0.0f;
        for (sc_i64 slot = 0; slot < carried; slot++) {
            c = c + c_carry[slot];
        }
        Y_val[n * Y_stride0 + begin] = c;
    }
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {1, sizeof(sc_object), SC_KEY, 3, {body, part, finish}};

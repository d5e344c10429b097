/* Computes
 *   C[i] = A[i,j] * d[i]
 *   D[i] = 2 * A[i,j] * d[i]
 * with
 *   A: csr f32, indices i32
 *   d: dense f32
 *   C: dense f32
 *   D: dense f32
 * by
 *   par i in A {
 *     work c: reg f32 {
 *       for j in A {
 *         c += A[i,j]
 *       }
 *     } then {
 *       C[i] = c * d[i]
 *     }
 *   }
 *   par i {
 *     D[i] = 2 * C[i]
 *   }
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const d_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    for (sc_i64 i = begin; i < end; i++) {
        float c = 0.0f;
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            c = c + A_val[p];
        }
        C_val[i] = c * d_val[i];
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const float *restrict const A_val = call->view[0].val;
    float *restrict const c_carry = lane->partial;

    float c = 0.0f;
    for (sc_i64 p = begin; p < end; p++) {
        c = c + A_val[p];
    }
    c_carry[0] = c;
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 carried = lane->cursor[1];
    const float *restrict const d_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    float c = 0.0f;
    for (sc_i64 slot = 0; slot < carried; slot++) {
        c = c + c_carry[slot];
    }
    C_val[begin] = c * d_val[begin];
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    float *restrict const C_val = call->view[2].val;
    float *restrict const D_val = call->view[3].val;
    (void)lane;

    for (sc_i64 i = begin; i < end; i++) {
        D_val[i] = 2.0f * C_val[i];
    }
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 4, {body, part, finish, body_1}};

/* Computes
 *   s[i] = A[i,j]
 * with
 *   A: csr f32, indices i32
 *   s: dense f32
 * by
 *   par i in A {
 *     work c: reg f32 {
 *       for j in A unroll 4 {
 *         c += A[i,j]
 *       }
 *     } then {
 *       s[i] = c
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const s_val = call->view[1].val;
    (void)lane;

    for (sc_i64 i = begin; i < end; i++) {
        float c = 0.0f;
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        const sc_i64 whole = A_lo + (A_hi - A_lo - (A_hi - A_lo) % 4);
        float c_1 = 0.0f;
        float c_2 = 0.0f;
        float c_3 = 0.0f;
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
        s_val[i] = c;
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const float *restrict const A_val = call->view[0].val;
    float *restrict const c_carry = lane->partial;

    float c = 0.0f;
    const sc_i64 whole = begin + (end - begin - (end - begin) % 4);
    float c_1 = 0.0f;
    float c_2 = 0.0f;
    float c_3 = 0.0f;
    for (sc_i64 p = begin; p < whole; p += 4) {
        c = c + A_val[p];
        c_1 = c_1 + A_val[p + 1];
        c_2 = c_2 + A_val[p + 2];
        c_3 = c_3 + A_val[p + 3];
    }
    c = c + c_1;
    c = c + c_2;
    c = c + c_3;
    for (sc_i64 p_1 = whole; p_1 < end; p_1++) {
        c = c + A_val[p_1];
    }
    c_carry[0] = c;
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 carried = lane->cursor[1];
    float *restrict const s_val = call->view[1].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    float c = 0.0f;
    for (sc_i64 slot = 0; slot < carried; slot++) {
        c = c + c_carry[slot];
    }
    s_val[begin] = c;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 3, {body, part, finish}};

/* Computes
 *   t[i] = A[i,j] * d[j]
 *   C[i] = A[i,j] * t[j]
 * with
 *   A: csr f32, indices i32
 *   d: dense f32
 *   t: dense f32
 *   C: dense f32
 * by
 *   par i in A {
 *     work c: reg f32 {
 *       for j in A {
 *         c += A[i,j] * d[j]
 *       }
 *     } then {
 *       t[i] = c
 *     }
 *   }
 *   par i in A {
 *     work c2: reg f32 {
 *       for j in A {
 *         c2 += A[i,j] * t[j]
 *       }
 *     } then {
 *       C[i] = c2
 *     }
 *   }
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const d_val = call->view[1].val;
    float *restrict const t_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c: reg f32 */
        float c = 0.0f;
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p += 2) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* c += A[i,j] * d[j] */
            c = c + A_val[p] * d_val[j];
            if (p + 1 < A_hi) {
                const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                c = c + A_val[p + 1] * d_val[j_1];
            }
        }
        /* t[i] = c */
        t_val[i] = c;
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const d_val = call->view[1].val;
    float *restrict const c_carry = lane->partial;

    /* par i in A */
    /* work c: reg f32 */
    float c = 0.0f;
    /* for j in A */
    for (sc_i64 p = begin; p < end; p += 2) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        /* c += A[i,j] * d[j] */
        c = c + A_val[p] * d_val[j];
        if (p + 1 < end) {
            const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
            c = c + A_val[p + 1] * d_val[j_1];
        }
    }
    c_carry[0] = c;
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 carried = lane->cursor[1];
    float *restrict const t_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* par i in A */
    /* work c: reg f32 */
    float c = 0.0f;
    for (sc_i64 slot = 0; slot < carried; slot++) {
        c = c + c_carry[slot];
    }
    /* t[i] = c */
    t_val[begin] = c;
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const t_val = call->view[2].val;
    float *restrict const C_val = call->view[3].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c2: reg f32 */
        float c2 = 0.0f;
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p += 2) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* c2 += A[i,j] * t[j] */
            c2 = c2 + A_val[p] * t_val[j];
            if (p + 1 < A_hi) {
                const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                c2 = c2 + A_val[p + 1] * t_val[j_1];
            }
        }
        /* C[i] = c2 */
        C_val[i] = c2;
    }
    return 0;
}

static int part_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const t_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;

    /* par i in A */
    /* work c2: reg f32 */
    float c2 = 0.0f;
    /* for j in A */
    for (sc_i64 p = begin; p < end; p += 2) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        /* c2 += A[i,j] * t[j] */
        c2 = c2 + A_val[p] * t_val[j];
        if (p + 1 < end) {
            const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
            c2 = c2 + A_val[p + 1] * t_val[j_1];
        }
    }
    c_carry[0] = c2;
    return 0;
}

static int finish_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 carried = lane->cursor[1];
    float *restrict const c_carry = lane->partial;
    float *restrict const C_val = call->view[3].val;
    (void)end;

    /* par i in A */
    /* work c2: reg f32 */
    float c2 = 0.0f;
    for (sc_i64 slot = 0; slot < carried; slot++) {
        c2 = c2 + c_carry[slot];
    }
    /* C[i] = c2 */
    C_val[begin] = c2;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    6, {body, part, finish, body_1, part_1, finish_1}};

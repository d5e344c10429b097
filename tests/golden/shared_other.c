/* Computes
 *   t[i] = A[i,j] * d[j]
 *   C[i] = B[i,k] * t[k]
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   d: dense f32
 *   t: dense f32
 *   C: dense f32
 * by
 *   work s[i]: shared f32 {
 *     par i in A {
 *       work c: reg f32 {
 *         for j in A {
 *           c += A[i,j] * d[j]
 *         }
 *       } then {
 *         s[i] = c
 *       }
 *     }
 *   } then {
 *     par i in B {
 *       work e: reg f32 {
 *         for k in B {
 *           e += B[i,k] * s[k]
 *         }
 *       } then {
 *         C[i] = e
 *       }
 *       t[i] = s[i]
 *     }
 *   }
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const d_val = call->view[2].val;
    float *restrict const s_copy = call->shared[0];
    (void)lane;

    /* work s[i]: shared f32 */
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
        /* s[i] = c */
        s_copy[i] = c;
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const d_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;

    /* work s[i]: shared f32 */
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
    float *restrict const s_copy = call->shared[0];
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* work s[i]: shared f32 */
    /* par i in A */
    /* work c: reg f32 */
    float c = 0.0f;
    for (sc_i64 slot = 0; slot < carried; slot++) {
        c = c + c_carry[slot];
    }
    /* s[i] = c */
    s_copy[begin] = c;
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    float *restrict const s_copy = call->shared[0];
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[4].val;
    float *restrict const t_val = call->view[3].val;
    (void)lane;

    /* par i in B */
    for (sc_i64 i = begin; i < end; i++) {
        /* work e: reg f32 */
        float e = 0.0f;
        /* for k in B */
        const sc_i64 B_lo = (sc_i64)B_pos1[i];
        const sc_i64 B_hi = (sc_i64)B_pos1[i + 1];
        for (sc_i64 p = B_lo; p < B_hi; p += 2) {
            const sc_i64 k = (sc_i64)B_crd1[p];
            /* e += B[i,k] * s[k] */
            e = e + B_val[p] * s_copy[k];
            if (p + 1 < B_hi) {
                const sc_i64 k_1 = (sc_i64)B_crd1[p + 1];
                e = e + B_val[p + 1] * s_copy[k_1];
            }
        }
        /* C[i] = e */
        C_val[i] = e;
        /* t[i] = s[i] */
        t_val[i] = s_copy[i];
    }
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    4, {body, part, finish, body_1}};

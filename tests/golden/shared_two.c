/* Computes
 *   t[j] = A[i,j]
 *   C[i] = A[i,j] * t[j]
 * with
 *   A: csr f32, indices i32
 *   t: dense f32
 *   C: dense f32
 * by
 *   work c[j]: private f32 {
 *     par i in A {
 *       for j in A {
 *         c[j] += A[i,j]
 *       }
 *     }
 *   } then {
 *     work s[j]: shared f32 {
 *       par j {
 *         s[j] = c[j]
 *       }
 *     } then {
 *       par j {
 *         t[j] = s[j]
 *       }
 *       par i in A {
 *         work d: reg f32 {
 *           for j in A {
 *             d += A[i,j] * s[j]
 *           }
 *         } then {
 *           C[i] = d
 *         }
 *       }
 *     }
 *   }
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const c_copy = lane->partial;

    /* work c[j]: private f32 */
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* c[j] += A[i,j] */
            c_copy[j] = c_copy[j] + A_val[p];
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[0];
    const sc_i64 copies = call->copies[0];
    float *restrict const c_copy_1 = call->shared[0];
    float *restrict const s_copy = call->shared[1];
    (void)lane;

    /* work s[j]: shared f32 */
    /* par j */
    for (sc_i64 j = begin; j < end; j++) {
        /* s[j] = c[j] */
        float c = 0.0f;
        for (sc_i64 copy = 0; copy < copies; copy++) {
            c = c + c_copy_1[copy * j_dim + j];
        }
        s_copy[j] = c;
    }
    return 0;
}

static int body_2(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    float *restrict const s_copy = call->shared[1];
    float *restrict const t_val = call->view[1].val;
    (void)lane;

    /* par j */
    for (sc_i64 j = begin; j < end; j++) {
        /* t[j] = s[j] */
        t_val[j] = s_copy[j];
    }
    return 0;
}

static int body_3(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const s_copy = call->shared[1];
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work d: reg f32 */
        float d = 0.0f;
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p += 2) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* d += A[i,j] * s[j] */
            d = d + A_val[p] * s_copy[j];
            if (p + 1 < A_hi) {
                const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                d = d + A_val[p + 1] * s_copy[j_1];
            }
        }
        /* C[i] = d */
        C_val[i] = d;
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const c_copy = lane->partial;
    float *restrict const s_copy = call->shared[1];

    /* par i in A */
    /* work d: reg f32 */
    float d = 0.0f;
    /* for j in A */
    for (sc_i64 p = begin; p < end; p += 2) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        /* d += A[i,j] * s[j] */
        d = d + A_val[p] * s_copy[j];
        if (p + 1 < end) {
            const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
            d = d + A_val[p + 1] * s_copy[j_1];
        }
    }
    c_copy[0] = d;
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 carried = lane->cursor[1];
    float *restrict const c_copy = lane->partial;
    float *restrict const C_val = call->view[2].val;
    (void)end;

    /* par i in A */
    /* work d: reg f32 */
    float d = 0.0f;
    for (sc_i64 slot = 0; slot < carried; slot++) {
        d = d + c_copy[slot];
    }
    /* C[i] = d */
    C_val[begin] = d;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    6, {body, body_1, body_2, body_3, part, finish}};

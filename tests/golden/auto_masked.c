/* Computes
 *   C[i,k] = M[i,k] * relu(A[i,j] * B[j,k])
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   M: csr f32, indices i32
 *   C: csr f32, indices i32
 * by
 *   par i in M {
 *     for k in M {
 *       work c: reg f32 {
 *         for j in A {
 *           for k in B {
 *             c += A[i,j] * B[j,k]
 *           }
 *         }
 *       } then {
 *         C[i,k] = M[i,k] * relu(c)
 *       }
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE float sc_relu_f32(float x) { return x <= 0 ? 0 : x; }
static sc_i64 sc_search_i32(const int *crd, sc_i64 lo, sc_i64 hi, sc_i64 x)
{
    sc_i64 at = lo, step = 1;
    for (; at < hi && crd[at] < x; step += step) {
        lo = at + 1;
        at += step;
    }
    if (at < hi) hi = at;
    while (lo < hi) {
        const sc_i64 mid = lo + (hi - lo) / 2;
        if (crd[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const M_pos1 = call->view[2].level[1].pos;
    const int *restrict const M_crd1 = call->view[2].level[1].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    const float *restrict const M_val = call->view[2].val;
    float *restrict const C_val = call->view[3].val;
    (void)lane;

    /* par i in M */
    for (sc_i64 i = begin; i < end; i++) {
        /* for k in M */
        const sc_i64 M_lo = (sc_i64)M_pos1[i];
        const sc_i64 M_hi = (sc_i64)M_pos1[i + 1];
        for (sc_i64 p = M_lo; p < M_hi; p++) {
            const sc_i64 k = (sc_i64)M_crd1[p];
            /* work c: reg f32 */
            float c = 0.0f;
            /* for j in A */
            const sc_i64 A_lo = (sc_i64)A_pos1[i];
            const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
            for (sc_i64 p_1 = A_lo; p_1 < A_hi; p_1++) {
                const sc_i64 j = (sc_i64)A_crd1[p_1];
                /* for k in B */
                const sc_i64 B_lo = (sc_i64)B_pos1[j];
                const sc_i64 B_hi = (sc_i64)B_pos1[j + 1];
                const sc_i64 B_at = sc_search_i32(B_crd1, B_lo, B_hi, k);
                if ((B_at < B_hi) && ((sc_i64)B_crd1[B_at] == k)) {
                    /* c += A[i,j] * B[j,k] */
                    c = c + A_val[p_1] * B_val[B_at];
                }
            }
            /* C[i,k] = M[i,k] * relu(c) */
            C_val[p] = M_val[p] * sc_relu_f32(c);
        }
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 unit = lane->cursor[0];
    const int *restrict const M_crd1 = call->view[2].level[1].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    const float *restrict const M_val = call->view[2].val;
    float *restrict const C_val = call->view[3].val;

    /* par i in M */
    /* for k in M */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 k = (sc_i64)M_crd1[p];
        /* work c: reg f32 */
        float c = 0.0f;
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[unit];
        const sc_i64 A_hi = (sc_i64)A_pos1[unit + 1];
        for (sc_i64 p_1 = A_lo; p_1 < A_hi; p_1++) {
            const sc_i64 j = (sc_i64)A_crd1[p_1];
            /* for k in B */
            const sc_i64 B_lo = (sc_i64)B_pos1[j];
            const sc_i64 B_hi = (sc_i64)B_pos1[j + 1];
            const sc_i64 B_at = sc_search_i32(B_crd1, B_lo, B_hi, k);
            if ((B_at < B_hi) && ((sc_i64)B_crd1[B_at] == k)) {
                /* c += A[i,j] * B[j,k] */
                c = c + A_val[p_1] * B_val[B_at];
            }
        }
        /* C[i,k] = M[i,k] * relu(c) */
        C_val[p] = M_val[p] * sc_relu_f32(c);
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
    2, {body, part}};

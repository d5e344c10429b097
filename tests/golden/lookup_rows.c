/* Computes
 *   C[i] = A[i,j] * B[i,j]
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i64
 *   C: dense f32
 * by
 *   par i {
 *     for j in A {
 *       for j in B {
 *         C[i] += A[i,j] * B[i,j]
 *       }
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
static sc_i64 sc_search_i64(const sc_i64 *crd, sc_i64 lo, sc_i64 hi, sc_i64 x)
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
    const sc_i64 *restrict const B_pos1 = call->view[1].level[1].pos;
    const sc_i64 *restrict const B_crd1 = call->view[1].level[1].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j in A */
        const sc_i64 B_lo = B_pos1[i];
        const sc_i64 B_hi = B_pos1[i + 1];
        sc_i64 pB = B_lo;
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* for j in B */
            const float a = A_val[p];
            pB = sc_search_i64(B_crd1, pB, B_hi, j);
            if ((pB < B_hi) && (B_crd1[pB] == j)) {
                /* C[i] += A[i,j] * B[i,j] */
                C_val[i] = C_val[i] + a * B_val[pB];
            }
        }
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
    1, {body}};

/* Computes
 *   R[a,b] = stored(G[a,b]) * H[a,b] * stored(A[a,b])
 * with
 *   A: coo f64, indices i32
 *   G: csr f64, indices i32
 *   H: coo f64, indices i32
 *   R: csr f64, indices i32
 *   H_1: coo f64, indices i32
 * by
 *   par a in A {
 *     for b in G {
 *       for b in A {
 *         R[a,b] = stored(G[a,b]) * H[a,b] * stored(A[a,b])
 *       }
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
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
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const G_pos1 = call->view[1].level[1].pos;
    const int *restrict const G_crd1 = call->view[1].level[1].crd;
    const double *restrict const H_1_val = call->view[2].val;
    double *restrict const R_val = call->view[3].val;
    (void)lane;

    /* par a in A */
    sc_i64 p = begin;
    while (p < end) {
        const sc_i64 first = p;
        const sc_i64 a = (sc_i64)A_crd0[first];
        p = first + 1;
        while ((p < end) && ((sc_i64)A_crd0[p] == a)) {
            p = p + 1;
        }
        const sc_i64 last = p;
        /* for b in G */
        sc_i64 pA = first;
        const sc_i64 G_lo = (sc_i64)G_pos1[a];
        const sc_i64 G_hi = (sc_i64)G_pos1[a + 1];
        for (sc_i64 p_1 = G_lo; p_1 < G_hi; p_1++) {
            const sc_i64 b = (sc_i64)G_crd1[p_1];
            /* for b in A */
            pA = sc_search_i32(A_crd1, pA, last, b);
            if ((pA < last) && ((sc_i64)A_crd1[pA] == b)) {
                /* R[a,b] = stored(G[a,b]) * H[a,b] * stored(A[a,b]) */
                R_val[p_1] = H_1_val[pA];
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

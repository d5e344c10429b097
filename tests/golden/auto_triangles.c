/* Computes
 *   s = A[i,j] * A[j,k] * A[i,k]
 * with
 *   A: csr f32, indices i32
 *   s: dense f32
 *   A_1: csr f32, indices i32
 *   A_2: csr f32, indices i32
 * by
 *   work w: private f32 {
 *     par i in A {
 *       work c: reg f32 {
 *         for j in A {
 *           for k merge A_1, A_2 {
 *             c += A[i,j] * A_1[j,k] * A_2[i,k]
 *           }
 *         }
 *       } then {
 *         w += c
 *       }
 *     }
 *   } then {
 *     s = w
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_select_i64(_Bool m, sc_i64 a, sc_i64 b)
{
    return b ^ ((a ^ b) & -(sc_i64)m);
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE sc_i64 sc_max_i64(sc_i64 a, sc_i64 b)
{
    return a > b ? a : b;
}
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
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const w_copy = lane->partial;

    for (sc_i64 i = begin; i < end; i++) {
        float c = 0.0f;
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            const sc_i64 A_1_lo = (sc_i64)A_pos1[j];
            const sc_i64 A_1_hi = (sc_i64)A_pos1[j + 1];
            sc_i64 pA_1 = A_1_lo;
            const sc_i64 A_2_lo = (sc_i64)A_pos1[i];
            const sc_i64 A_2_hi = (sc_i64)A_pos1[i + 1];
            sc_i64 pA_2 = A_2_lo;
            const sc_i64 A_1_size = A_1_hi - A_1_lo;
            const sc_i64 A_2_size = A_2_hi - A_2_lo;
            if ((A_1_size > A_2_size * 8) | (A_2_size > A_1_size * 8)) {
                while ((pA_1 < A_1_hi) && (pA_2 < A_2_hi)) {
                    const sc_i64 k_A_1 = (sc_i64)A_crd1[pA_1];
                    const sc_i64 k_A_2 = (sc_i64)A_crd1[pA_2];
                    const sc_i64 k = sc_max_i64(k_A_1, k_A_2);
                    if ((k_A_1 == k) && (k_A_2 == k)) {
                        c = c + A_val[p] * A_val[pA_1] * A_val[pA_2];
                    }
                    const sc_i64 beyond = k + (sc_i64)(k_A_1 == k_A_2);
                    pA_1 = sc_search_i32(A_crd1, pA_1, A_1_hi, beyond);
                    pA_2 = sc_search_i32(A_crd1, pA_2, A_2_hi, beyond);
                }
            } else {
                if ((pA_1 < A_1_hi) && (pA_2 < A_2_hi)) {
                    sc_i64 k_A_1_1 = (sc_i64)A_crd1[pA_1];
                    sc_i64 k_A_2_1 = (sc_i64)A_crd1[pA_2];
                    while ((pA_1 + 1 < A_1_hi) && (pA_2 + 1 < A_2_hi)) {
                        const sc_i64 k_1 = sc_min_i64(k_A_1_1, k_A_2_1);
                        const _Bool in_A_1 = k_A_1_1 == k_1;
                        const sc_i64 then = (sc_i64)A_crd1[pA_1 + 1];
                        const _Bool in_A_2 = k_A_2_1 == k_1;
                        const sc_i64 then_1 = (sc_i64)A_crd1[pA_2 + 1];
                        if (in_A_1 && in_A_2) {
                            c = c + A_val[p] * A_val[pA_1] * A_val[pA_2];
                        }
                        pA_1 = pA_1 + (sc_i64)in_A_1;
                        pA_2 = pA_2 + (sc_i64)in_A_2;
                        k_A_1_1 = sc_select_i64(in_A_1, then, k_A_1_1);
                        k_A_2_1 = sc_select_i64(in_A_2, then_1, k_A_2_1);
                    }
                }
                while ((pA_1 < A_1_hi) && (pA_2 < A_2_hi)) {
                    const sc_i64 k_A_1_2 = (sc_i64)A_crd1[pA_1];
                    const sc_i64 k_A_2_2 = (sc_i64)A_crd1[pA_2];
                    const sc_i64 k_2 = sc_min_i64(k_A_1_2, k_A_2_2);
                    if ((k_A_1_2 == k_2) && (k_A_2_2 == k_2)) {
                        c = c + A_val[p] * A_val[pA_1] * A_val[pA_2];
                    }
                    pA_1 = pA_1 + (sc_i64)(k_A_1_2 == k_2);
                    pA_2 = pA_2 + (sc_i64)(k_A_2_2 == k_2);
                }
            }
        }
        w_copy[0] = w_copy[0] + c;
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 copies = call->copies[0];
    float *restrict const w_copy_1 = call->shared[0];
    float *restrict const s_val = call->view[1].val;
    (void)lane;
    (void)begin;
    (void)end;

    float w = 0.0f;
    for (sc_i64 copy = 0; copy < copies; copy++) {
        w = w + w_copy_1[copy];
    }
    s_val[0] = w;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 2, {body, body_1}};

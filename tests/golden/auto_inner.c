/* Computes
 *   s = A[i,j,k] * B[i,j,k]
 * with
 *   A: csf f32, indices i32
 *   B: csf f32, indices i32
 *   s: dense f32
 * by
 *   work w: private f32 {
 *     par i merge A, B {
 *       work c: reg f32 {
 *         for j merge A, B {
 *           for k merge A, B {
 *             c += A[i,j,k] * B[i,j,k]
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
    const int *restrict const A_pos0 = call->view[0].level[0].pos;
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const B_pos0 = call->view[1].level[0].pos;
    const int *restrict const B_crd0 = call->view[1].level[0].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    const int *restrict const B_pos2 = call->view[1].level[2].pos;
    const int *restrict const B_crd2 = call->view[1].level[2].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const w_copy = lane->partial;

    const sc_i64 A_lo = (sc_i64)A_pos0[0];
    const sc_i64 A_hi = (sc_i64)A_pos0[1];
    const sc_i64 A_lo_1 = sc_search_i32(A_crd0, A_lo, A_hi, begin);
    const sc_i64 A_hi_1 = sc_search_i32(A_crd0, A_lo_1, A_hi, end);
    sc_i64 pA = A_lo_1;
    const sc_i64 B_lo = (sc_i64)B_pos0[0];
    const sc_i64 B_hi = (sc_i64)B_pos0[1];
    const sc_i64 B_lo_1 = sc_search_i32(B_crd0, B_lo, B_hi, begin);
    const sc_i64 B_hi_1 = sc_search_i32(B_crd0, B_lo_1, B_hi, end);
    sc_i64 pB = B_lo_1;
    while ((pA < A_hi_1) && (pB < B_hi_1)) {
        const sc_i64 i_A = (sc_i64)A_crd0[pA];
        const sc_i64 i_B = (sc_i64)B_crd0[pB];
        const sc_i64 i = sc_min_i64(i_A, i_B);
        if ((i_A == i) && (i_B == i)) {
            float c = 0.0f;
            const sc_i64 A_lo_2 = (sc_i64)A_pos1[pA];
            const sc_i64 A_hi_2 = (sc_i64)A_pos1[pA + 1];
            sc_i64 pA_1 = A_lo_2;
            const sc_i64 B_lo_2 = (sc_i64)B_pos1[pB];
            const sc_i64 B_hi_2 = (sc_i64)B_pos1[pB + 1];
            sc_i64 pB_1 = B_lo_2;
            while ((pA_1 < A_hi_2) && (pB_1 < B_hi_2)) {
                const sc_i64 j_A = (sc_i64)A_crd1[pA_1];
                const sc_i64 j_B = (sc_i64)B_crd1[pB_1];
                const sc_i64 j = sc_min_i64(j_A, j_B);
                if ((j_A == j) && (j_B == j)) {
                    const sc_i64 A_lo_3 = (sc_i64)A_pos2[pA_1];
                    const sc_i64 A_hi_3 = (sc_i64)A_pos2[pA_1 + 1];
                    sc_i64 pA_2 = A_lo_3;
                    const sc_i64 B_lo_3 = (sc_i64)B_pos2[pB_1];
                    const sc_i64 B_hi_3 = (sc_i64)B_pos2[pB_1 + 1];
                    sc_i64 pB_2 = B_lo_3;
                    const sc_i64 A_size = A_hi_3 - A_lo_3;
                    const sc_i64 B_size = B_hi_3 - B_lo_3;
                    if ((A_size > B_size * 8) | (B_size > A_size * 8)) {
                        while ((pA_2 < A_hi_3) && (pB_2 < B_hi_3)) {
                            const sc_i64 k_A = (sc_i64)A_crd2[pA_2];
                            const sc_i64 k_B = (sc_i64)B_crd2[pB_2];
                            const sc_i64 k = sc_max_i64(k_A, k_B);
                            if ((k_A == k) && (k_B == k)) {
                                c = c + A_val[pA_2] * B_val[pB_2];
                            }
                            const sc_i64 beyond = k + (sc_i64)(k_A == k_B);
                            pA_2 = sc_search_i32(A_crd2, pA_2, A_hi_3, beyond);
                            pB_2 = sc_search_i32(B_crd2, pB_2, B_hi_3, beyond);
                        }
                    } else {
                        if ((pA_2 < A_hi_3) && (pB_2 < B_hi_3)) {
                            sc_i64 k_A_1 = (sc_i64)A_crd2[pA_2];
                            sc_i64 k_B_1 = (sc_i64)B_crd2[pB_2];
                            while ((pA_2 + 1 < A_hi_3) && (pB_2 + 1 < B_hi_3)) {
                                const sc_i64 k_1 = sc_min_i64(k_A_1, k_B_1);
                                const _Bool in_A = k_A_1 == k_1;
                                const sc_i64 then = (sc_i64)A_crd2[pA_2 + 1];
                                const _Bool in_B = k_B_1 == k_1;
                                const sc_i64 then_1 = (sc_i64)B_crd2[pB_2 + 1];
                                if (in_A && in_B) {
                                    c = c + A_val[pA_2] * B_val[pB_2];
                                }
                                pA_2 = pA_2 + (sc_i64)in_A;
                                pB_2 = pB_2 + (sc_i64)in_B;
                                k_A_1 = sc_select_i64(in_A, then, k_A_1);
                                k_B_1 = sc_select_i64(in_B, then_1, k_B_1);
                            }
                        }
                        while ((pA_2 < A_hi_3) && (pB_2 < B_hi_3)) {
                            const sc_i64 k_A_2 = (sc_i64)A_crd2[pA_2];
                            const sc_i64 k_B_2 = (sc_i64)B_crd2[pB_2];
                            const sc_i64 k_2 = sc_min_i64(k_A_2, k_B_2);
                            if ((k_A_2 == k_2) && (k_B_2 == k_2)) {
                                c = c + A_val[pA_2] * B_val[pB_2];
                            }
                            pA_2 = pA_2 + (sc_i64)(k_A_2 == k_2);
                            pB_2 = pB_2 + (sc_i64)(k_B_2 == k_2);
                        }
                    }
                }
                pA_1 = pA_1 + (sc_i64)(j_A == j);
                pB_1 = pB_1 + (sc_i64)(j_B == j);
            }
            w_copy[0] = w_copy[0] + c;
        }
        pA = pA + (sc_i64)(i_A == i);
        pB = pB + (sc_i64)(i_B == i);
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 copies = call->copies[0];
    float *restrict const w_copy_1 = call->shared[0];
    float *restrict const s_val = call->view[2].val;
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

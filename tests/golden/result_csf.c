/* Computes
 *   C[i,j] = A[i,j,k] * v[k]
 * with
 *   A: csf f64, indices i32
 *   v: coo f64, indices i32
 *   C: dcsr f64, indices i32
 * by
 *   par i in A {
 *     for j in A {
 *       work c: reg f64 {
 *         for k merge A, v {
 *           c += A[i,j,k] * v[k]
 *         }
 *       } then {
 *         C[i,j] = c
 *       }
 *     }
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

static int count(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 first = C_next1;
        const sc_i64 A_lo = (sc_i64)A_pos1[p];
        const sc_i64 A_hi = (sc_i64)A_pos1[p + 1];
        for (sc_i64 p_1 = A_lo; p_1 < A_hi; p_1++) {
            C_next1 = C_next1 + 1;
        }
        if (C_next1 != first) {
            C_next0 = C_next0 + 1;
        }
    }
    cursors[0] = C_next0;
    cursors[1] = C_next1;
    return 0;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    const int *restrict const v_pos0 = call->view[1].level[0].pos;
    const int *restrict const v_crd0 = call->view[1].level[0].crd;
    const double *restrict const A_val = call->view[0].val;
    const double *restrict const v_val = call->view[1].val;
    double *restrict const C_val = call->view[2].val;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    int *restrict const C_crd0 = (int *)call->view[2].level[0].crd;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 i = (sc_i64)A_crd0[p];
        const sc_i64 first = C_next1;
        const sc_i64 A_lo = (sc_i64)A_pos1[p];
        const sc_i64 A_hi = (sc_i64)A_pos1[p + 1];
        for (sc_i64 p_1 = A_lo; p_1 < A_hi; p_1++) {
            const sc_i64 j = (sc_i64)A_crd1[p_1];
            double c = 0.0;
            const sc_i64 A_lo_1 = (sc_i64)A_pos2[p_1];
            const sc_i64 A_hi_1 = (sc_i64)A_pos2[p_1 + 1];
            sc_i64 pA = A_lo_1;
            const sc_i64 v_lo = (sc_i64)v_pos0[0];
            const sc_i64 v_hi = (sc_i64)v_pos0[1];
            sc_i64 pv = v_lo;
            const sc_i64 A_size = A_hi_1 - A_lo_1;
            const sc_i64 v_size = v_hi - v_lo;
            if ((A_size > v_size * 8) | (v_size > A_size * 8)) {
                while ((pA < A_hi_1) && (pv < v_hi)) {
                    const sc_i64 k_A = (sc_i64)A_crd2[pA];
                    const sc_i64 k_v = (sc_i64)v_crd0[pv];
                    const sc_i64 k = sc_max_i64(k_A, k_v);
                    if ((k_A == k) && (k_v == k)) {
                        c = c + A_val[pA] * v_val[pv];
                    }
                    const sc_i64 beyond = k + (sc_i64)(k_A == k_v);
                    pA = sc_search_i32(A_crd2, pA, A_hi_1, beyond);
                    pv = sc_search_i32(v_crd0, pv, v_hi, beyond);
                }
            } else {
                if ((pA < A_hi_1) && (pv < v_hi)) {
                    sc_i64 k_A_1 = (sc_i64)A_crd2[pA];
                    sc_i64 k_v_1 = (sc_i64)v_crd0[pv];
                    while ((pA + 1 < A_hi_1) && (pv + 1 < v_hi)) {
                        const sc_i64 k_1 = sc_min_i64(k_A_1, k_v_1);
                        const _Bool in_A = k_A_1 == k_1;
                        const sc_i64 then = (sc_i64)A_crd2[pA + 1];
                        const _Bool in_v = k_v_1 == k_1;
                        const sc_i64 then_1 = (sc_i64)v_crd0[pv + 1];
                        if (in_A && in_v) {
                            c = c + A_val[pA] * v_val[pv];
                        }
                        pA = pA + (sc_i64)in_A;
                        pv = pv + (sc_i64)in_v;
                        k_A_1 = sc_select_i64(in_A, then, k_A_1);
                        k_v_1 = sc_select_i64(in_v, then_1, k_v_1);
                    }
                }
                while ((pA < A_hi_1) && (pv < v_hi)) {
                    const sc_i64 k_A_2 = (sc_i64)A_crd2[pA];
                    const sc_i64 k_v_2 = (sc_i64)v_crd0[pv];
                    const sc_i64 k_2 = sc_min_i64(k_A_2, k_v_2);
                    if ((k_A_2 == k_2) && (k_v_2 == k_2)) {
                        c = c + A_val[pA] * v_val[pv];
                    }
                    pA = pA + (sc_i64)(k_A_2 == k_2);
                    pv = pv + (sc_i64)(k_v_2 == k_2);
                }
            }
            C_crd1[C_next1] = (int)j;
            C_val[C_next1] = c;
            C_next1 = C_next1 + 1;
        }
        if (C_next1 != first) {
            C_crd0[C_next0] = (int)i;
            C_pos1[C_next0 + 1] = (int)C_next1;
            C_next0 = C_next0 + 1;
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
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 2, {count, body}};

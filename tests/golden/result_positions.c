/* Computes
 *   C[i,j] = A[i,j] * B[i,j] * (D[i,j] * A[i,j])
 * with
 *   A: coo i64, indices i32
 *   B: dense f32
 *   D: csr i64, indices i32
 *   C: dcsr f32, indices i32
 * by
 *   par i in A {
 *     for j merge A, D {
 *       C[i,j] = A[i,j] * B[i,j] * (D[i,j] * A[i,j])
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

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const D_pos1 = call->view[2].level[1].pos;
    const int *restrict const D_crd1 = call->view[2].level[1].crd;
    float *restrict const C_val = call->view[3].val;
    const sc_i64 *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    const sc_i64 *restrict const D_val = call->view[2].val;
    int *restrict const C_crd1 = (int *)call->view[3].level[1].crd;
    int *restrict const C_crd0 = (int *)call->view[3].level[0].crd;
    int *restrict const C_pos1 = (int *)call->view[3].level[1].pos;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    sc_i64 p = begin;
    while (p < end) {
        const sc_i64 first = p;
        const sc_i64 i = (sc_i64)A_crd0[first];
        p = first + 1;
        while ((p < end) && ((sc_i64)A_crd0[p] == i)) {
            p = p + 1;
        }
        const sc_i64 last = p;
        const sc_i64 first_1 = C_next1;
        sc_i64 pA = first;
        const sc_i64 D_lo = (sc_i64)D_pos1[i];
        const sc_i64 D_hi = (sc_i64)D_pos1[i + 1];
        sc_i64 pD = D_lo;
        const sc_i64 A_size = last - first;
        const sc_i64 D_size = D_hi - D_lo;
        if ((A_size > D_size * 8) | (D_size > A_size * 8)) {
            while ((pA < last) && (pD < D_hi)) {
                const sc_i64 j_A = (sc_i64)A_crd1[pA];
                const sc_i64 j_D = (sc_i64)D_crd1[pD];
                const sc_i64 j = sc_max_i64(j_A, j_D);
                if ((j_A == j) && (j_D == j)) {
                    C_crd1[C_next1] = (int)j;
                    C_val[C_next1] = (float)A_val[pA] * B_val[i * B_stride0 + j] * ((float)D_val[pD] * (float)A_val[pA]);
                    C_next1 = C_next1 + 1;
                }
                const sc_i64 beyond = j + (sc_i64)(j_A == j_D);
                pA = sc_search_i32(A_crd1, pA, last, beyond);
                pD = sc_search_i32(D_crd1, pD, D_hi, beyond);
            }
        } else {
            if ((pA < last) && (pD < D_hi)) {
                sc_i64 j_A_1 = (sc_i64)A_crd1[pA];
                sc_i64 j_D_1 = (sc_i64)D_crd1[pD];
                while ((pA + 1 < last) && (pD + 1 < D_hi)) {
                    const sc_i64 j_1 = sc_min_i64(j_A_1, j_D_1);
                    const _Bool in_A = j_A_1 == j_1;
                    const sc_i64 then = (sc_i64)A_crd1[pA + 1];
                    const _Bool in_D = j_D_1 == j_1;
                    const sc_i64 then_1 = (sc_i64)D_crd1[pD + 1];
                    if (in_A && in_D) {
                        C_crd1[C_next1] = (int)j_1;
                        C_val[C_next1] = (float)A_val[pA] * B_val[i * B_stride0 + j_1] * ((float)D_val[pD] * (float)A_val[pA]);
                        C_next1 = C_next1 + 1;
                    }
                    pA = pA + (sc_i64)in_A;
                    pD = pD + (sc_i64)in_D;
                    j_A_1 = sc_select_i64(in_A, then, j_A_1);
                    j_D_1 = sc_select_i64(in_D, then_1, j_D_1);
                }
            }
            while ((pA < last) && (pD < D_hi)) {
                const sc_i64 j_A_2 = (sc_i64)A_crd1[pA];
                const sc_i64 j_D_2 = (sc_i64)D_crd1[pD];
                const sc_i64 j_2 = sc_min_i64(j_A_2, j_D_2);
                if ((j_A_2 == j_2) && (j_D_2 == j_2)) {
                    C_crd1[C_next1] = (int)j_2;
                    C_val[C_next1] = (float)A_val[pA] * B_val[i * B_stride0 + j_2] * ((float)D_val[pD] * (float)A_val[pA]);
                    C_next1 = C_next1 + 1;
                }
                pA = pA + (sc_i64)(j_A_2 == j_2);
                pD = pD + (sc_i64)(j_D_2 == j_2);
            }
        }
        if (C_next1 != first_1) {
            C_crd0[C_next0] = (int)i;
            C_pos1[C_next0 + 1] = (int)C_next1;
            C_next0 = C_next0 + 1;
        }
    }
    cursors[0] = C_next0;
    cursors[1] = C_next1;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 1, {body}};

/* Computes
 *   C[i,j] = A[i,j] * B[i,j]
 * with
 *   A: csr f32, indices i32
 *   B: dcsr f32, indices i64
 *   C: dcsr f32, indices i64
 * by
 *   par i in B {
 *     for j merge A, B {
 *       C[i,j] = A[i,j] * B[i,j]
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
    sc_i64 *restrict const cursors = lane->cursor;
    const sc_i64 *restrict const B_crd0 = call->view[1].level[0].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const sc_i64 *restrict const B_pos1 = call->view[1].level[1].pos;
    const sc_i64 *restrict const B_crd1 = call->view[1].level[1].crd;
    float *restrict const C_val = call->view[2].val;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    sc_i64 *restrict const C_crd1 = (sc_i64 *)call->view[2].level[1].crd;
    sc_i64 *restrict const C_crd0 = (sc_i64 *)call->view[2].level[0].crd;
    sc_i64 *restrict const C_pos1 = (sc_i64 *)call->view[2].level[1].pos;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    /* par i in B */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 i = B_crd0[p];
        const sc_i64 first = C_next1;
        /* for j merge A, B */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        sc_i64 pA = A_lo;
        const sc_i64 B_lo = B_pos1[p];
        const sc_i64 B_hi = B_pos1[p + 1];
        sc_i64 pB = B_lo;
        const sc_i64 A_size = A_hi - A_lo;
        const sc_i64 B_size = B_hi - B_lo;
        if ((A_size > B_size * 12) | (B_size > A_size * 12)) {
            /* one is much longer: both jump */
            while ((pA < A_hi) && (pB < B_hi)) {
                const sc_i64 j_A = (sc_i64)A_crd1[pA];
                const sc_i64 j_B = B_crd1[pB];
                const sc_i64 j = sc_max_i64(j_A, j_B);
                if ((j_A == j) && (j_B == j)) {
                    /* C[i,j] = A[i,j] * B[i,j] */
                    C_crd1[C_next1] = j;
                    C_val[C_next1] = A_val[pA] * B_val[pB];
                    C_next1 = C_next1 + 1;
                }
                const sc_i64 beyond = j + (sc_i64)(j_A == j_B);
                pA = sc_search_i32(A_crd1, pA, A_hi, beyond);
                pB = sc_search_i64(B_crd1, pB, B_hi, beyond);
            }
        } else {
            if ((pA < A_hi) && (pB < B_hi)) {
                /* while both have one more entry: it is loaded ahead */
                sc_i64 j_A = (sc_i64)A_crd1[pA];
                sc_i64 j_B = B_crd1[pB];
                while ((pA + 1 < A_hi) && (pB + 1 < B_hi)) {
                    const sc_i64 j = sc_min_i64(j_A, j_B);
                    const _Bool in_A = j_A == j;
                    const sc_i64 then = (sc_i64)A_crd1[pA + 1];
                    const _Bool in_B = j_B == j;
                    const sc_i64 then_1 = B_crd1[pB + 1];
                    if (in_A && in_B) {
                        /* C[i,j] = A[i,j] * B[i,j] */
                        C_crd1[C_next1] = j;
                        C_val[C_next1] = A_val[pA] * B_val[pB];
                        C_next1 = C_next1 + 1;
                    }
                    pA = pA + (sc_i64)in_A;
                    pB = pB + (sc_i64)in_B;
                    j_A = sc_select_i64(in_A, then, j_A);
                    j_B = sc_select_i64(in_B, then_1, j_B);
                }
            }
            while ((pA < A_hi) && (pB < B_hi)) {
                const sc_i64 j_A = (sc_i64)A_crd1[pA];
                const sc_i64 j_B = B_crd1[pB];
                const sc_i64 j = sc_min_i64(j_A, j_B);
                if ((j_A == j) && (j_B == j)) {
                    /* C[i,j] = A[i,j] * B[i,j] */
                    C_crd1[C_next1] = j;
                    C_val[C_next1] = A_val[pA] * B_val[pB];
                    C_next1 = C_next1 + 1;
                }
                pA = pA + (sc_i64)(j_A == j);
                pB = pB + (sc_i64)(j_B == j);
            }
        }
        if (C_next1 != first) {
            C_crd0[C_next0] = i;
            C_pos1[C_next0 + 1] = C_next1;
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
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    1, {body}};

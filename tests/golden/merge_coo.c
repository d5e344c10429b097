/* Computes
 *   C[i,j] = A[i,j] - B[i,j]
 * with
 *   A: coo f32, indices i32
 *   B: coo f32, indices i64
 *   C: dcsr f32, indices i64
 * by
 *   par i merge A, B {
 *     for j merge A, B {
 *       C[i,j] = A[i,j] - B[i,j]
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_select_i64(_Bool m, sc_i64 a, sc_i64 b)
{
    return b ^ ((a ^ b) & -(sc_i64)m);
}
SC_INLINE float sc_select_f32(_Bool m, float a, float b)
{
    union { float f; int i; } x = {a}, y = {b};
    y.i ^= (x.i ^ y.i) & -(int)m;
    return y.f;
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
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
    const int *restrict const A_pos0 = call->view[0].level[0].pos;
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const sc_i64 *restrict const B_pos0 = call->view[1].level[0].pos;
    const sc_i64 *restrict const B_crd0 = call->view[1].level[0].crd;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const sc_i64 *restrict const B_crd1 = call->view[1].level[1].crd;
    float *restrict const C_val = call->view[2].val;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    sc_i64 *restrict const C_crd1 = (sc_i64 *)call->view[2].level[1].crd;
    sc_i64 *restrict const C_crd0 = (sc_i64 *)call->view[2].level[0].crd;
    sc_i64 *restrict const C_pos1 = (sc_i64 *)call->view[2].level[1].pos;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    /* par i merge A, B */
    const sc_i64 A_lo = (sc_i64)A_pos0[0];
    const sc_i64 A_hi = (sc_i64)A_pos0[1];
    const sc_i64 A_lo_1 = sc_search_i32(A_crd0, A_lo, A_hi, begin);
    const sc_i64 A_hi_1 = sc_search_i32(A_crd0, A_lo_1, A_hi, end);
    sc_i64 pA = A_lo_1;
    const sc_i64 B_lo = B_pos0[0];
    const sc_i64 B_hi = B_pos0[1];
    const sc_i64 B_lo_1 = sc_search_i64(B_crd0, B_lo, B_hi, begin);
    const sc_i64 B_hi_1 = sc_search_i64(B_crd0, B_lo_1, B_hi, end);
    sc_i64 pB = B_lo_1;
    while ((pA < A_hi_1) && (pB < B_hi_1)) {
        const sc_i64 i_A = (sc_i64)A_crd0[pA];
        const sc_i64 i_B = B_crd0[pB];
        const sc_i64 i = sc_min_i64(i_A, i_B);
        const sc_i64 A_first = pA;
        const sc_i64 A_last = sc_search_i32(A_crd0, pA, A_hi_1, i + 1);
        const sc_i64 B_first = pB;
        const sc_i64 B_last = sc_search_i64(B_crd0, pB, B_hi_1, i + 1);
        if ((i_A == i) && (i_B == i)) {
            const sc_i64 first = C_next1;
            /* for j merge A, B */
            sc_i64 pA_1 = A_first;
            sc_i64 pB_1 = B_first;
            if ((pA_1 < A_last) && (pB_1 < B_last)) {
                /* while both have one more entry: it is loaded ahead */
                sc_i64 j_A = (sc_i64)A_crd1[pA_1];
                sc_i64 j_B = B_crd1[pB_1];
                while ((pA_1 + 1 < A_last) && (pB_1 + 1 < B_last)) {
                    const sc_i64 j = sc_min_i64(j_A, j_B);
                    const _Bool in_A = j_A == j;
                    const sc_i64 then = (sc_i64)A_crd1[pA_1 + 1];
                    const _Bool in_B = j_B == j;
                    const sc_i64 then_1 = B_crd1[pB_1 + 1];
                    /* C[i,j] = A[i,j] - B[i,j] */
                    const float term = A_val[pA_1];
                    const float term_1 = B_val[pB_1];
                    C_crd1[C_next1] = j;
                    C_val[C_next1] = sc_select_f32(in_A, term, -0.0f) - sc_select_f32(in_B, term_1, 0.0f);
                    C_next1 = C_next1 + 1;
                    pA_1 = pA_1 + (sc_i64)in_A;
                    pB_1 = pB_1 + (sc_i64)in_B;
                    j_A = sc_select_i64(in_A, then, j_A);
                    j_B = sc_select_i64(in_B, then_1, j_B);
                }
            }
            while ((pA_1 < A_last) && (pB_1 < B_last)) {
                const sc_i64 j_A = (sc_i64)A_crd1[pA_1];
                const sc_i64 j_B = B_crd1[pB_1];
                const sc_i64 j = sc_min_i64(j_A, j_B);
                /* C[i,j] = A[i,j] - B[i,j] */
                const float term = A_val[pA_1];
                const float term_1 = B_val[pB_1];
                C_crd1[C_next1] = j;
                C_val[C_next1] = sc_select_f32(j_A == j, term, -0.0f) - sc_select_f32(j_B == j, term_1, 0.0f);
                C_next1 = C_next1 + 1;
                pA_1 = pA_1 + (sc_i64)(j_A == j);
                pB_1 = pB_1 + (sc_i64)(j_B == j);
            }
            /* the rest of B */
            for (sc_i64 p = pB_1; p < B_last; p++) {
                const sc_i64 j = B_crd1[p];
                /* C[i,j] = -B[i,j] */
                C_crd1[C_next1] = j;
                C_val[C_next1] = -B_val[p];
                C_next1 = C_next1 + 1;
            }
            /* the rest of A */
            for (sc_i64 p = pA_1; p < A_last; p++) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                /* C[i,j] = A[i,j] */
                C_crd1[C_next1] = j;
                C_val[C_next1] = A_val[p];
                C_next1 = C_next1 + 1;
            }
            if (C_next1 != first) {
                C_crd0[C_next0] = i;
                C_pos1[C_next0 + 1] = C_next1;
                C_next0 = C_next0 + 1;
            }
        } else if (i_B == i) {
            const sc_i64 first = C_next1;
            /* for j merge A, B */
            for (sc_i64 p = B_first; p < B_last; p++) {
                const sc_i64 j = B_crd1[p];
                /* C[i,j] = -B[i,j] */
                C_crd1[C_next1] = j;
                C_val[C_next1] = -B_val[p];
                C_next1 = C_next1 + 1;
            }
            if (C_next1 != first) {
                C_crd0[C_next0] = i;
                C_pos1[C_next0 + 1] = C_next1;
                C_next0 = C_next0 + 1;
            }
        } else {
            const sc_i64 first = C_next1;
            /* for j merge A, B */
            for (sc_i64 p = A_first; p < A_last; p++) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                /* C[i,j] = A[i,j] */
                C_crd1[C_next1] = j;
                C_val[C_next1] = A_val[p];
                C_next1 = C_next1 + 1;
            }
            if (C_next1 != first) {
                C_crd0[C_next0] = i;
                C_pos1[C_next0 + 1] = C_next1;
                C_next0 = C_next0 + 1;
            }
        }
        pA = A_last;
        pB = B_last;
    }
    /* the rest of B */
    sc_i64 p = pB;
    while (p < B_hi_1) {
        const sc_i64 first = p;
        const sc_i64 i = B_crd0[first];
        p = first + 1;
        while ((p < B_hi_1) && (B_crd0[p] == i)) {
            p = p + 1;
        }
        const sc_i64 last = p;
        const sc_i64 first_1 = C_next1;
        /* for j merge A, B */
        for (sc_i64 p_1 = first; p_1 < last; p_1++) {
            const sc_i64 j = B_crd1[p_1];
            /* C[i,j] = -B[i,j] */
            C_crd1[C_next1] = j;
            C_val[C_next1] = -B_val[p_1];
            C_next1 = C_next1 + 1;
        }
        if (C_next1 != first_1) {
            C_crd0[C_next0] = i;
            C_pos1[C_next0 + 1] = C_next1;
            C_next0 = C_next0 + 1;
        }
    }
    /* the rest of A */
    sc_i64 p_1 = pA;
    while (p_1 < A_hi_1) {
        const sc_i64 first = p_1;
        const sc_i64 i = (sc_i64)A_crd0[first];
        p_1 = first + 1;
        while ((p_1 < A_hi_1) && ((sc_i64)A_crd0[p_1] == i)) {
            p_1 = p_1 + 1;
        }
        const sc_i64 last = p_1;
        const sc_i64 first_1 = C_next1;
        /* for j merge A, B */
        for (sc_i64 p_2 = first; p_2 < last; p_2++) {
            const sc_i64 j = (sc_i64)A_crd1[p_2];
            /* C[i,j] = A[i,j] */
            C_crd1[C_next1] = j;
            C_val[C_next1] = A_val[p_2];
            C_next1 = C_next1 + 1;
        }
        if (C_next1 != first_1) {
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

/* Computes
 *   C[i,j] = A[i,j] * A[i,j] + B[i,j]
 * with
 *   A: compressed(0, nonunique), singleton(1, nonunique) f32, indices i32
 *   B: compressed(0, nonunique), singleton(1, nonunique) f32, indices i32
 *   C: dcsr f32, indices i32
 * by
 *   par i merge A, B {
 *     for j merge A, B {
 *       C[i,j] = A[i,j] * A[i,j] + B[i,j]
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
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

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos0 = call->view[0].level[0].pos;
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const B_pos0 = call->view[1].level[0].pos;
    const int *restrict const B_crd0 = call->view[1].level[0].crd;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    float *restrict const C_val = call->view[2].val;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    int *restrict const C_crd0 = (int *)call->view[2].level[0].crd;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    /* par i merge A, B */
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
        const sc_i64 A_first = pA;
        const sc_i64 A_last = sc_search_i32(A_crd0, pA, A_hi_1, i + 1);
        const sc_i64 B_first = pB;
        const sc_i64 B_last = sc_search_i32(B_crd0, pB, B_hi_1, i + 1);
        if ((i_A == i) && (i_B == i)) {
            const sc_i64 first = C_next1;
            /* for j merge A, B */
            sc_i64 pA_1 = A_first;
            sc_i64 pB_1 = B_first;
            while ((pA_1 < A_last) && (pB_1 < B_last)) {
                const sc_i64 j_A = (sc_i64)A_crd1[pA_1];
                const sc_i64 j_B = (sc_i64)B_crd1[pB_1];
                const sc_i64 j = sc_min_i64(j_A, j_B);
                const sc_i64 A_first_1 = pA_1;
                const sc_i64 A_last_1 = sc_search_i32(A_crd1, pA_1, A_last, j + 1);
                const sc_i64 B_first_1 = pB_1;
                const sc_i64 B_last_1 = sc_search_i32(B_crd1, pB_1, B_last, j + 1);
                if ((j_A == j) && (j_B == j)) {
                    /* C[i,j] = A[i,j] * A[i,j] + B[i,j] */
                    float A = 0.0f;
                    for (sc_i64 q = A_first_1; q < A_last_1; q++) {
                        A = A + A_val[q];
                    }
                    float A_1 = 0.0f;
                    for (sc_i64 q = A_first_1; q < A_last_1; q++) {
                        A_1 = A_1 + A_val[q];
                    }
                    float B = 0.0f;
                    for (sc_i64 q = B_first_1; q < B_last_1; q++) {
                        B = B + B_val[q];
                    }
                    C_crd1[C_next1] = (int)j;
                    C_val[C_next1] = A * A_1 + B;
                    C_next1 = C_next1 + 1;
                } else if (j_B == j) {
                    /* C[i,j] = B[i,j] */
                    float B = 0.0f;
                    for (sc_i64 q = B_first_1; q < B_last_1; q++) {
                        B = B + B_val[q];
                    }
                    C_crd1[C_next1] = (int)j;
                    C_val[C_next1] = B;
                    C_next1 = C_next1 + 1;
                } else {
                    /* C[i,j] = A[i,j] * A[i,j] */
                    float A = 0.0f;
                    for (sc_i64 q = A_first_1; q < A_last_1; q++) {
                        A = A + A_val[q];
                    }
                    float A_1 = 0.0f;
                    for (sc_i64 q = A_first_1; q < A_last_1; q++) {
                        A_1 = A_1 + A_val[q];
                    }
                    C_crd1[C_next1] = (int)j;
                    C_val[C_next1] = A * A_1;
                    C_next1 = C_next1 + 1;
                }
                pA_1 = A_last_1;
                pB_1 = B_last_1;
            }
            /* the rest of B */
            sc_i64 p = pB_1;
            while (p < B_last) {
                const sc_i64 first_1 = p;
                const sc_i64 j = (sc_i64)B_crd1[first_1];
                p = first_1 + 1;
                while ((p < B_last) && ((sc_i64)B_crd1[p] == j)) {
                    p = p + 1;
                }
                const sc_i64 last = p;
                /* C[i,j] = B[i,j] */
                float B = 0.0f;
                for (sc_i64 q = first_1; q < last; q++) {
                    B = B + B_val[q];
                }
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = B;
                C_next1 = C_next1 + 1;
            }
            /* the rest of A */
            sc_i64 p_1 = pA_1;
            while (p_1 < A_last) {
                const sc_i64 first_1 = p_1;
                const sc_i64 j = (sc_i64)A_crd1[first_1];
                p_1 = first_1 + 1;
                while ((p_1 < A_last) && ((sc_i64)A_crd1[p_1] == j)) {
                    p_1 = p_1 + 1;
                }
                const sc_i64 last = p_1;
                /* C[i,j] = A[i,j] * A[i,j] */
                float A = 0.0f;
                for (sc_i64 q = first_1; q < last; q++) {
                    A = A + A_val[q];
                }
                float A_1 = 0.0f;
                for (sc_i64 q = first_1; q < last; q++) {
                    A_1 = A_1 + A_val[q];
                }
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = A * A_1;
                C_next1 = C_next1 + 1;
            }
            if (C_next1 != first) {
                C_crd0[C_next0] = (int)i;
                C_pos1[C_next0 + 1] = (int)C_next1;
                C_next0 = C_next0 + 1;
            }
        } else if (i_B == i) {
            const sc_i64 first = C_next1;
            /* for j merge A, B */
            sc_i64 p = B_first;
            while (p < B_last) {
                const sc_i64 first_1 = p;
                const sc_i64 j = (sc_i64)B_crd1[first_1];
                p = first_1 + 1;
                while ((p < B_last) && ((sc_i64)B_crd1[p] == j)) {
                    p = p + 1;
                }
                const sc_i64 last = p;
                /* C[i,j] = B[i,j] */
                float B = 0.0f;
                for (sc_i64 q = first_1; q < last; q++) {
                    B = B + B_val[q];
                }
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = B;
                C_next1 = C_next1 + 1;
            }
            if (C_next1 != first) {
                C_crd0[C_next0] = (int)i;
                C_pos1[C_next0 + 1] = (int)C_next1;
                C_next0 = C_next0 + 1;
            }
        } else {
            const sc_i64 first = C_next1;
            /* for j merge A, B */
            sc_i64 p = A_first;
            while (p < A_last) {
                const sc_i64 first_1 = p;
                const sc_i64 j = (sc_i64)A_crd1[first_1];
                p = first_1 + 1;
                while ((p < A_last) && ((sc_i64)A_crd1[p] == j)) {
                    p = p + 1;
                }
                const sc_i64 last = p;
                /* C[i,j] = A[i,j] * A[i,j] */
                float A = 0.0f;
                for (sc_i64 q = first_1; q < last; q++) {
                    A = A + A_val[q];
                }
                float A_1 = 0.0f;
                for (sc_i64 q = first_1; q < last; q++) {
                    A_1 = A_1 + A_val[q];
                }
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = A * A_1;
                C_next1 = C_next1 + 1;
            }
            if (C_next1 != first) {
                C_crd0[C_next0] = (int)i;
                C_pos1[C_next0 + 1] = (int)C_next1;
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
        const sc_i64 i = (sc_i64)B_crd0[first];
        p = first + 1;
        while ((p < B_hi_1) && ((sc_i64)B_crd0[p] == i)) {
            p = p + 1;
        }
        const sc_i64 last = p;
        const sc_i64 first_1 = C_next1;
        /* for j merge A, B */
        sc_i64 p_1 = first;
        while (p_1 < last) {
            const sc_i64 first_2 = p_1;
            const sc_i64 j = (sc_i64)B_crd1[first_2];
            p_1 = first_2 + 1;
            while ((p_1 < last) && ((sc_i64)B_crd1[p_1] == j)) {
                p_1 = p_1 + 1;
            }
            const sc_i64 last_1 = p_1;
            /* C[i,j] = B[i,j] */
            float B = 0.0f;
            for (sc_i64 q = first_2; q < last_1; q++) {
                B = B + B_val[q];
            }
            C_crd1[C_next1] = (int)j;
            C_val[C_next1] = B;
            C_next1 = C_next1 + 1;
        }
        if (C_next1 != first_1) {
            C_crd0[C_next0] = (int)i;
            C_pos1[C_next0 + 1] = (int)C_next1;
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
        sc_i64 p_2 = first;
        while (p_2 < last) {
            const sc_i64 first_2 = p_2;
            const sc_i64 j = (sc_i64)A_crd1[first_2];
            p_2 = first_2 + 1;
            while ((p_2 < last) && ((sc_i64)A_crd1[p_2] == j)) {
                p_2 = p_2 + 1;
            }
            const sc_i64 last_1 = p_2;
            /* C[i,j] = A[i,j] * A[i,j] */
            float A = 0.0f;
            for (sc_i64 q = first_2; q < last_1; q++) {
                A = A + A_val[q];
            }
            float A_1 = 0.0f;
            for (sc_i64 q = first_2; q < last_1; q++) {
                A_1 = A_1 + A_val[q];
            }
            C_crd1[C_next1] = (int)j;
            C_val[C_next1] = A * A_1;
            C_next1 = C_next1 + 1;
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
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    1, {body}};

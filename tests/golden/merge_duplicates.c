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
                    float A = 0.0f;
                    for (sc_i64 q = A_first_1; q < A_last_1; q++) {
                        A = A + A_val[q];
                    }
                    float A_1 = 0.0f;
                    for (sc_i64 q_1 = A_first_1; q_1 < A_last_1; q_1++) {
                        A_1 = A_1 + A_val[q_1];
                    }
                    float B = 0.0f;
                    for (sc_i64 q_2 = B_first_1; q_2 < B_last_1; q_2++) {
                        B = B + B_val[q_2];
                    }
                    C_crd1[C_next1] = (int)j;
                    C_val[C_next1] = A * A_1 + B;
                    C_next1 = C_next1 + 1;
                } else if (j_B == j) {
                    float B_1 = 0.0f;
                    for (sc_i64 q_3 = B_first_1; q_3 < B_last_1; q_3++) {
                        B_1 = B_1 + B_val[q_3];
                    }
                    C_crd1[C_next1] = (int)j;
                    C_val[C_next1] = B_1;
                    C_next1 = C_next1 + 1;
                } else {
                    float A_2 = 0.0f;
                    for (sc_i64 q_4 = A_first_1; q_4 < A_last_1; q_4++) {
                        A_2 = A_2 + A_val[q_4];
                    }
                    float A_3 = 0.0f;
                    for (sc_i64 q_5 = A_first_1; q_5 < A_last_1; q_5++) {
                        A_3 = A_3 + A_val[q_5];
                    }
                    C_crd1[C_next1] = (int)j;
                    C_val[C_next1] = A_2 * A_3;
                    C_next1 = C_next1 + 1;
                }
                pA_1 = A_last_1;
                pB_1 = B_last_1;
            }
            sc_i64 p = pB_1;
            while (p < B_last) {
                const sc_i64 first_1 = p;
                const sc_i64 j_1 = (sc_i64)B_crd1[first_1];
                p = first_1 + 1;
                while ((p < B_last) && ((sc_i64)B_crd1[p] == j_1)) {
                    p = p + 1;
                }
                const sc_i64 last = p;
                float B_2 = 0.0f;
                for (sc_i64 q_6 = first_1; q_6 < last; q_6++) {
                    B_2 = B_2 + B_val[q_6];
                }
                C_crd1[C_next1] = (int)j_1;
                C_val[C_next1] = B_2;
                C_next1 = C_next1 + 1;
            }
            sc_i64 p_1 = pA_1;
            while (p_1 < A_last) {
                const sc_i64 first_2 = p_1;
                const sc_i64 j_2 = (sc_i64)A_crd1[first_2];
                p_1 = first_2 + 1;
                while ((p_1 < A_last) && ((sc_i64)A_crd1[p_1] == j_2)) {
                    p_1 = p_1 + 1;
                }
                const sc_i64 last_1 = p_1;
                float A_4 = 0.0f;
                for (sc_i64 q_7 = first_2; q_7 < last_1; q_7++) {
                    A_4 = A_4 + A_val[q_7];
                }
                float A_5 = 0.0f;
                for (sc_i64 q_8 = first_2; q_8 < last_1; q_8++) {
                    A_5 = A_5 + A_val[q_8];
                }
                C_crd1[C_next1] = (int)j_2;
                C_val[C_next1] = A_4 * A_5;
                C_next1 = C_next1 + 1;
            }
            if (C_next1 != first) {
                C_crd0[C_next0] = (int)i;
                C_pos1[C_next0 + 1] = (int)C_next1;
                C_next0 = C_next0 + 1;
            }
        } else if (i_B == i) {
            const sc_i64 first_3 = C_next1;
            sc_i64 p_2 = B_first;
            while (p_2 < B_last) {
                const sc_i64 first_4 = p_2;
                const sc_i64 j_3 = (sc_i64)B_crd1[first_4];
                p_2 = first_4 + 1;
                while ((p_2 < B_last) && ((sc_i64)B_crd1[p_2] == j_3)) {
                    p_2 = p_2 + 1;
                }
                const sc_i64 last_2 = p_2;
                float B_3 = 0.0f;
                for (sc_i64 q_9 = first_4; q_9 < last_2; q_9++) {
                    B_3 = B_3 + B_val[q_9];
                }
                C_crd1[C_next1] = (int)j_3;
                C_val[C_next1] = B_3;
                C_next1 = C_next1 + 1;
            }
            if (C_next1 != first_3) {
                C_crd0[C_next0] = (int)i;
                C_pos1[C_next0 + 1] = (int)C_next1;
                C_next0 = C_next0 + 1;
            }
        } else {
            const sc_i64 first_5 = C_next1;
            sc_i64 p_3 = A_first;
            while (p_3 < A_last) {
                const sc_i64 first_6 = p_3;
                const sc_i64 j_4 = (sc_i64)A_crd1[first_6];
                p_3 = first_6 + 1;
                while ((p_3 < A_last) && ((sc_i64)A_crd1[p_3] == j_4)) {
                    p_3 = p_3 + 1;
                }
                const sc_i64 last_3 = p_3;
                float A_6 = 0.0f;
                for (sc_i64 q_10 = first_6; q_10 < last_3; q_10++) {
                    A_6 = A_6 + A_val[q_10];
                }
                float A_7 = 0.0f;
                for (sc_i64 q_11 = first_6; q_11 < last_3; q_11++) {
                    A_7 = A_7 + A_val[q_11];
                }
                C_crd1[C_next1] = (int)j_4;
                C_val[C_next1] = A_6 * A_7;
                C_next1 = C_next1 + 1;
            }
            if (C_next1 != first_5) {
                C_crd0[C_next0] = (int)i;
                C_pos1[C_next0 + 1] = (int)C_next1;
                C_next0 = C_next0 + 1;
            }
        }
        pA = A_last;
        pB = B_last;
    }
    sc_i64 p_4 = pB;
    while (p_4 < B_hi_1) {
        const sc_i64 first_7 = p_4;
        const sc_i64 i_1 = (sc_i64)B_crd0[first_7];
        p_4 = first_7 + 1;
        while ((p_4 < B_hi_1) && ((sc_i64)B_crd0[p_4] == i_1)) {
            p_4 = p_4 + 1;
        }
        const sc_i64 last_4 = p_4;
        const sc_i64 first_8 = C_next1;
        sc_i64 p_5 = first_7;
        while (p_5 < last_4) {
            const sc_i64 first_9 = p_5;
            const sc_i64 j_5 = (sc_i64)B_crd1[first_9];
            p_5 = first_9 + 1;
            while ((p_5 < last_4) && ((sc_i64)B_crd1[p_5] == j_5)) {
                p_5 = p_5 + 1;
            }
            const sc_i64 last_5 = p_5;
            float B_4 = 0.0f;
            for (sc_i64 q_12 = first_9; q_12 < last_5; q_12++) {
                B_4 = B_4 + B_val[q_12];
            }
            C_crd1[C_next1] = (int)j_5;
            C_val[C_next1] = B_4;
            C_next1 = C_next1 + 1;
        }
        if (C_next1 != first_8) {
            C_crd0[C_next0] = (int)i_1;
            C_pos1[C_next0 + 1] = (int)C_next1;
            C_next0 = C_next0 + 1;
        }
    }
    sc_i64 p_6 = pA;
    while (p_6 < A_hi_1) {
        const sc_i64 first_10 = p_6;
        const sc_i64 i_2 = (sc_i64)A_crd0[first_10];
        p_6 = first_10 + 1;
        while ((p_6 < A_hi_1) && ((sc_i64)A_crd0[p_6] == i_2)) {
            p_6 = p_6 + 1;
        }
        const sc_i64 last_6 = p_6;
        const sc_i64 first_11 = C_next1;
        sc_i64 p_7 = first_10;
        while (p_7 < last_6) {
            const sc_i64 first_12 = p_7;
            const sc_i64 j_6 = (sc_i64)A_crd1[first_12];
            p_7 = first_12 + 1;
            while ((p_7 < last_6) && ((sc_i64)A_crd1[p_7] == j_6)) {
                p_7 = p_7 + 1;
            }
            const sc_i64 last_7 = p_7;
            float A_8 = 0.0f;
            for (sc_i64 q_13 = first_12; q_13 < last_7; q_13++) {
                A_8 = A_8 + A_val[q_13];
            }
            float A_9 = 0.0f;
            for (sc_i64 q_14 = first_12; q_14 < last_7; q_14++) {
                A_9 = A_9 + A_val[q_14];
            }
            C_crd1[C_next1] = (int)j_6;
            C_val[C_next1] = A_8 * A_9;
            C_next1 = C_next1 + 1;
        }
        if (C_next1 != first_11) {
            C_crd0[C_next0] = (int)i_2;
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
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {3, sizeof(sc_object), SC_KEY, 1, {body}};

/* Computes
 *   C[i,j] = relu(A[i,j]) - relu(B[i,j])
 * with
 *   A: dcsr f32, indices i32
 *   B: dcsr f32, indices i32
 *   C: dcsr f32, indices i32
 * by
 *   par i merge A, B {
 *     for j merge A, B {
 *       C[i,j] = relu(A[i,j]) - relu(B[i,j])
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
SC_INLINE float sc_relu_f32(float x) { return x <= 0 ? 0 : x; }
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
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
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
        if ((i_A == i) && (i_B == i)) {
            const sc_i64 first = C_next1;
            /* for j merge A, B */
            const sc_i64 A_lo_2 = (sc_i64)A_pos1[pA];
            const sc_i64 A_hi_2 = (sc_i64)A_pos1[pA + 1];
            sc_i64 pA_1 = A_lo_2;
            const sc_i64 B_lo_2 = (sc_i64)B_pos1[pB];
            const sc_i64 B_hi_2 = (sc_i64)B_pos1[pB + 1];
            sc_i64 pB_1 = B_lo_2;
            if ((pA_1 < A_hi_2) && (pB_1 < B_hi_2)) {
                /* while both have one more entry: it is loaded ahead */
                sc_i64 j_A = (sc_i64)A_crd1[pA_1];
                sc_i64 j_B = (sc_i64)B_crd1[pB_1];
                while ((pA_1 + 1 < A_hi_2) && (pB_1 + 1 < B_hi_2)) {
                    const sc_i64 j = sc_min_i64(j_A, j_B);
                    const _Bool in_A = j_A == j;
                    const sc_i64 then = (sc_i64)A_crd1[pA_1 + 1];
                    const _Bool in_B = j_B == j;
                    const sc_i64 then_1 = (sc_i64)B_crd1[pB_1 + 1];
                    /* C[i,j] = relu(A[i,j]) - relu(B[i,j]) */
                    const float term = sc_relu_f32(A_val[pA_1]);
                    const float term_1 = sc_relu_f32(B_val[pB_1]);
                    C_crd1[C_next1] = (int)j;
                    C_val[C_next1] = sc_select_f32(in_A, term, -0.0f) - sc_select_f32(in_B, term_1, 0.0f);
                    C_next1 = C_next1 + 1;
                    pA_1 = pA_1 + (sc_i64)in_A;
                    pB_1 = pB_1 + (sc_i64)in_B;
                    j_A = sc_select_i64(in_A, then, j_A);
                    j_B = sc_select_i64(in_B, then_1, j_B);
                }
            }
            while ((pA_1 < A_hi_2) && (pB_1 < B_hi_2)) {
                const sc_i64 j_A = (sc_i64)A_crd1[pA_1];
                const sc_i64 j_B = (sc_i64)B_crd1[pB_1];
                const sc_i64 j = sc_min_i64(j_A, j_B);
                /* C[i,j] = relu(A[i,j]) - relu(B[i,j]) */
                const float term = sc_relu_f32(A_val[pA_1]);
                const float term_1 = sc_relu_f32(B_val[pB_1]);
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = sc_select_f32(j_A == j, term, -0.0f) - sc_select_f32(j_B == j, term_1, 0.0f);
                C_next1 = C_next1 + 1;
                pA_1 = pA_1 + (sc_i64)(j_A == j);
                pB_1 = pB_1 + (sc_i64)(j_B == j);
            }
            /* the rest of B */
            for (sc_i64 p = pB_1; p < B_hi_2; p++) {
                const sc_i64 j = (sc_i64)B_crd1[p];
                /* C[i,j] = -relu(B[i,j]) */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = -sc_relu_f32(B_val[p]);
                C_next1 = C_next1 + 1;
            }
            /* the rest of A */
            for (sc_i64 p = pA_1; p < A_hi_2; p++) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                /* C[i,j] = relu(A[i,j]) */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = sc_relu_f32(A_val[p]);
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
            const sc_i64 B_lo_2 = (sc_i64)B_pos1[pB];
            const sc_i64 B_hi_2 = (sc_i64)B_pos1[pB + 1];
            for (sc_i64 p = B_lo_2; p < B_hi_2; p++) {
                const sc_i64 j = (sc_i64)B_crd1[p];
                /* C[i,j] = -relu(B[i,j]) */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = -sc_relu_f32(B_val[p]);
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
            const sc_i64 A_lo_2 = (sc_i64)A_pos1[pA];
            const sc_i64 A_hi_2 = (sc_i64)A_pos1[pA + 1];
            for (sc_i64 p = A_lo_2; p < A_hi_2; p++) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                /* C[i,j] = relu(A[i,j]) */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = sc_relu_f32(A_val[p]);
                C_next1 = C_next1 + 1;
            }
            if (C_next1 != first) {
                C_crd0[C_next0] = (int)i;
                C_pos1[C_next0 + 1] = (int)C_next1;
                C_next0 = C_next0 + 1;
            }
        }
        pA = pA + (sc_i64)(i_A == i);
        pB = pB + (sc_i64)(i_B == i);
    }
    /* the rest of B */
    for (sc_i64 p = pB; p < B_hi_1; p++) {
        const sc_i64 i = (sc_i64)B_crd0[p];
        const sc_i64 first = C_next1;
        /* for j merge A, B */
        const sc_i64 B_lo_2 = (sc_i64)B_pos1[p];
        const sc_i64 B_hi_2 = (sc_i64)B_pos1[p + 1];
        for (sc_i64 p_1 = B_lo_2; p_1 < B_hi_2; p_1++) {
            const sc_i64 j = (sc_i64)B_crd1[p_1];
            /* C[i,j] = -relu(B[i,j]) */
            C_crd1[C_next1] = (int)j;
            C_val[C_next1] = -sc_relu_f32(B_val[p_1]);
            C_next1 = C_next1 + 1;
        }
        if (C_next1 != first) {
            C_crd0[C_next0] = (int)i;
            C_pos1[C_next0 + 1] = (int)C_next1;
            C_next0 = C_next0 + 1;
        }
    }
    /* the rest of A */
    for (sc_i64 p = pA; p < A_hi_1; p++) {
        const sc_i64 i = (sc_i64)A_crd0[p];
        const sc_i64 first = C_next1;
        /* for j merge A, B */
        const sc_i64 A_lo_2 = (sc_i64)A_pos1[p];
        const sc_i64 A_hi_2 = (sc_i64)A_pos1[p + 1];
        for (sc_i64 p_1 = A_lo_2; p_1 < A_hi_2; p_1++) {
            const sc_i64 j = (sc_i64)A_crd1[p_1];
            /* C[i,j] = relu(A[i,j]) */
            C_crd1[C_next1] = (int)j;
            C_val[C_next1] = sc_relu_f32(A_val[p_1]);
            C_next1 = C_next1 + 1;
        }
        if (C_next1 != first) {
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

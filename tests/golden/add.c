/* Computes
 *   C[i,j] = A[i,j] + B[i,j]
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   C: csr f32, indices i32
 * by
 *   par i {
 *     for j merge A, B {
 *       C[i,j] = A[i,j] + B[i,j]
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

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    float *restrict const C_val = call->view[2].val;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;

    sc_i64 C_next1 = cursors[0];
    for (sc_i64 i = begin; i < end; i++) {
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        sc_i64 pA = A_lo;
        const sc_i64 B_lo = (sc_i64)B_pos1[i];
        const sc_i64 B_hi = (sc_i64)B_pos1[i + 1];
        sc_i64 pB = B_lo;
        if ((pA < A_hi) && (pB < B_hi)) {
            sc_i64 j_A = (sc_i64)A_crd1[pA];
            sc_i64 j_B = (sc_i64)B_crd1[pB];
            while ((pA + 1 < A_hi) && (pB + 1 < B_hi)) {
                const sc_i64 j = sc_min_i64(j_A, j_B);
                const _Bool in_A = j_A == j;
                const sc_i64 then = (sc_i64)A_crd1[pA + 1];
                const _Bool in_B = j_B == j;
                const sc_i64 then_1 = (sc_i64)B_crd1[pB + 1];
                const float term = A_val[pA];
                const float term_1 = B_val[pB];
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = sc_select_f32(in_A, term, -0.0f) + sc_select_f32(in_B, term_1, -0.0f);
                C_next1 = C_next1 + 1;
                pA = pA + (sc_i64)in_A;
                pB = pB + (sc_i64)in_B;
                j_A = sc_select_i64(in_A, then, j_A);
                j_B = sc_select_i64(in_B, then_1, j_B);
            }
        }
        while ((pA < A_hi) && (pB < B_hi)) {
            const sc_i64 j_A_1 = (sc_i64)A_crd1[pA];
            const sc_i64 j_B_1 = (sc_i64)B_crd1[pB];
            const sc_i64 j_1 = sc_min_i64(j_A_1, j_B_1);
            const float term_2 = A_val[pA];
            const float term_3 = B_val[pB];
            C_crd1[C_next1] = (int)j_1;
            C_val[C_next1] = sc_select_f32(j_A_1 == j_1, term_2, -0.0f) + sc_select_f32(j_B_1 == j_1, term_3, -0.0f);
            C_next1 = C_next1 + 1;
            pA = pA + (sc_i64)(j_A_1 == j_1);
            pB = pB + (sc_i64)(j_B_1 == j_1);
        }
        for (sc_i64 p = pB; p < B_hi; p++) {
            const sc_i64 j_2 = (sc_i64)B_crd1[p];
            C_crd1[C_next1] = (int)j_2;
            C_val[C_next1] = B_val[p];
            C_next1 = C_next1 + 1;
        }
        for (sc_i64 p_1 = pA; p_1 < A_hi; p_1++) {
            const sc_i64 j_3 = (sc_i64)A_crd1[p_1];
            C_crd1[C_next1] = (int)j_3;
            C_val[C_next1] = A_val[p_1];
            C_next1 = C_next1 + 1;
        }
        C_pos1[i + 1] = (int)C_next1;
    }
    cursors[0] = C_next1;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 1, {body}};

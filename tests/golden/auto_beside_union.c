/* Computes
 *   C[i,j] = X[i,j] * s[i] + A[i,j] * B[i,j]
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   X: dense f32
 *   s: dense f32
 *   C: dense f32
 * by
 *   par i in A {
 *     vec j {
 *       C[i,j] = s[i] * X[i,j]
 *     }
 *     for j merge A, B {
 *       C[i,j] = X[i,j] * s[i] + A[i,j] * B[i,j]
 *     }
 *   }
 */
typedef int i32x2 __attribute__((vector_size(8)));
typedef int i32x4 __attribute__((vector_size(16)));
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x2 __attribute__((vector_size(8)));
typedef float f32x2u __attribute__((vector_size(8), aligned(4), may_alias));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4u __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x8 sc_splat_f32x8(float x) { return (f32x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f32x4 sc_splat_f32x4(float x) { return (f32x4){x, x, x, x}; }
SC_INLINE f32x2 sc_splat_f32x2(float x) { return (f32x2){x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE f32x4 sc_load_f32x4(const float *p) { return *(const f32x4u *)p; }
SC_INLINE f32x2 sc_load_f32x2(const float *p) { return *(const f32x2u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }
SC_INLINE void sc_store_f32x4(float *p, f32x4 x) { *(f32x4u *)p = x; }
SC_INLINE void sc_store_f32x2(float *p, f32x2 x) { *(f32x2u *)p = x; }
SC_INLINE sc_i64 sc_select_i64(_Bool m, sc_i64 a, sc_i64 b)
{
    return b ^ ((a ^ b) & -(sc_i64)m);
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 X_stride0 = call->view[2].stride[0];
    const sc_i64 C_stride0 = call->view[4].stride[0];
    const sc_i64 j_dim = call->dim[1];
    const float *restrict const s_val = call->view[3].val;
    const float *restrict const X_val = call->view[2].val;
    float *restrict const C_val = call->view[4].val;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* vec j { C[i,j] = s[i] * X[i,j] } */
        const float s = s_val[i];
        const sc_i64 X_at = i * X_stride0;
        const sc_i64 C_at = i * C_stride0;
        const sc_i64 rest = j_dim % 16;
        const sc_i64 full = j_dim - rest;
        for (sc_i64 j = 0; j < full; j += 16) {
            sc_store_f32x16(&C_val[C_at + j], sc_splat_f32x16(s) * sc_load_f32x16(&X_val[X_at + j]));
        }
        if ((rest & 8) != 0) {
            const sc_i64 j = full + (rest & -16);
            sc_store_f32x8(&C_val[C_at + j], sc_splat_f32x8(s) * sc_load_f32x8(&X_val[X_at + j]));
        }
        if ((rest & 4) != 0) {
            const sc_i64 j = full + (rest & -8);
            sc_store_f32x4(&C_val[C_at + j], sc_splat_f32x4(s) * sc_load_f32x4(&X_val[X_at + j]));
        }
        if ((rest & 2) != 0) {
            const sc_i64 j = full + (rest & -4);
            sc_store_f32x2(&C_val[C_at + j], sc_splat_f32x2(s) * sc_load_f32x2(&X_val[X_at + j]));
        }
        if ((rest & 1) != 0) {
            const sc_i64 j = full + (rest & -2);
            C_val[C_at + j] = s * X_val[X_at + j];
        }
        /* for j merge A, B */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        sc_i64 pA = A_lo;
        const sc_i64 B_lo = (sc_i64)B_pos1[i];
        const sc_i64 B_hi = (sc_i64)B_pos1[i + 1];
        sc_i64 pB = B_lo;
        if ((pA < A_hi) && (pB < B_hi)) {
            /* while both have one more entry: it is loaded ahead */
            sc_i64 j_A = (sc_i64)A_crd1[pA];
            sc_i64 j_B = (sc_i64)B_crd1[pB];
            while ((pA + 1 < A_hi) && (pB + 1 < B_hi)) {
                const sc_i64 j = sc_min_i64(j_A, j_B);
                const _Bool in_A = j_A == j;
                const sc_i64 then = (sc_i64)A_crd1[pA + 1];
                const _Bool in_B = j_B == j;
                const sc_i64 then_1 = (sc_i64)B_crd1[pB + 1];
                if (in_A && in_B) {
                    /* C[i,j] = X[i,j] * s[i] + A[i,j] * B[i,j] */
                    C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] * s_val[i] + A_val[pA] * B_val[pB];
                } else if (in_B) {
                    /* C[i,j] = X[i,j] * s[i] */
                    C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] * s_val[i];
                } else {
                    /* C[i,j] = X[i,j] * s[i] */
                    C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] * s_val[i];
                }
                pA = pA + (sc_i64)in_A;
                pB = pB + (sc_i64)in_B;
                j_A = sc_select_i64(in_A, then, j_A);
                j_B = sc_select_i64(in_B, then_1, j_B);
            }
        }
        while ((pA < A_hi) && (pB < B_hi)) {
            const sc_i64 j_A = (sc_i64)A_crd1[pA];
            const sc_i64 j_B = (sc_i64)B_crd1[pB];
            const sc_i64 j = sc_min_i64(j_A, j_B);
            if ((j_A == j) && (j_B == j)) {
                /* C[i,j] = X[i,j] * s[i] + A[i,j] * B[i,j] */
                C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] * s_val[i] + A_val[pA] * B_val[pB];
            } else if (j_B == j) {
                /* C[i,j] = X[i,j] * s[i] */
                C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] * s_val[i];
            } else {
                /* C[i,j] = X[i,j] * s[i] */
                C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] * s_val[i];
            }
            pA = pA + (sc_i64)(j_A == j);
            pB = pB + (sc_i64)(j_B == j);
        }
        /* the rest of B */
        for (sc_i64 p = pB; p < B_hi; p++) {
            const sc_i64 j = (sc_i64)B_crd1[p];
            /* C[i,j] = X[i,j] * s[i] */
            C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] * s_val[i];
        }
        /* the rest of A */
        for (sc_i64 p = pA; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* C[i,j] = X[i,j] * s[i] */
            C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] * s_val[i];
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
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    1, {body}};

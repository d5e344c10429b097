/* Computes
 *   C[i,j] = A[i,j] - 2 * B[i,j]
 * with
 *   A: bsr(4,5) f32, indices i32
 *   B: bsr(4,5) f32, indices i32
 *   C: dense f32
 *   C_where: dense bool
 * by
 *   par i/4 {
 *     for j/5 merge A, B {
 *       for i%4 {
 *         for j%5 {
 *           C[i,j] = A[i,j] - 2 * B[i,j]
 *         }
 *       }
 *     }
 *   }
 * because
 *   C is computed dense; which entries it has is computed beside
 */
typedef signed char i8x4 __attribute__((vector_size(4)));
typedef signed char i8x4u __attribute__((vector_size(4), aligned(1), may_alias));
typedef int i32x4 __attribute__((vector_size(16)));
typedef float f32x4 __attribute__((vector_size(16)));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x4 sc_splat_f32x4(float x) { return (f32x4){x, x, x, x}; }
SC_INLINE i8x4 sc_load_i8x4(const signed char *p) { return *(const i8x4u *)p; }
SC_INLINE void sc_store_i8x4(signed char *p, i8x4 x) { *(i8x4u *)p = x; }
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 i_dim = call->dim[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i/4 */
    for (sc_i64 i_block = begin; i_block < end; i_block++) {
        const sc_i64 size = sc_min_i64(4, i_dim - i_block * 4);
        /* for j/5 merge A, B */
        const sc_i64 A_lo = (sc_i64)A_pos1[i_block];
        const sc_i64 A_hi = (sc_i64)A_pos1[i_block + 1];
        sc_i64 pA = A_lo;
        const sc_i64 B_lo = (sc_i64)B_pos1[i_block];
        const sc_i64 B_hi = (sc_i64)B_pos1[i_block + 1];
        sc_i64 pB = B_lo;
        while ((pA < A_hi) && (pB < B_hi)) {
            const sc_i64 j_block_A = (sc_i64)A_crd1[pA];
            const sc_i64 j_block_B = (sc_i64)B_crd1[pB];
            const sc_i64 j_block = sc_min_i64(j_block_A, j_block_B);
            if ((j_block_A == j_block) && (j_block_B == j_block)) {
                /* for i%4 */
                for (sc_i64 i_in = 0; i_in < size; i_in++) {
                    /* for j%5 */
                    for (sc_i64 j_in = 0; j_in < 5; j_in++) {
                        /* C[i,j] = A[i,j] - 2 * B[i,j] */
                        const sc_i64 A_at = (pA * 4 + i_in) * 5 + j_in;
                        const sc_i64 B_at = (pB * 4 + i_in) * 5 + j_in;
                        const sc_i64 C_at = (i_block * 4 + i_in) * C_stride0 + (j_block * 5 + j_in);
                        C_val[C_at] = A_val[A_at] - 2.0f * B_val[B_at];
                    }
                }
            } else if (j_block_B == j_block) {
                /* for i%4 */
                for (sc_i64 i_in = 0; i_in < size; i_in++) {
                    /* for j%5 */
                    for (sc_i64 j_in = 0; j_in < 5; j_in++) {
                        /* C[i,j] = -(2 * B[i,j]) */
                        const sc_i64 B_at = (pB * 4 + i_in) * 5 + j_in;
                        const sc_i64 C_at = (i_block * 4 + i_in) * C_stride0 + (j_block * 5 + j_in);
                        C_val[C_at] = -(2.0f * B_val[B_at]);
                    }
                }
            } else {
                /* for i%4 */
                for (sc_i64 i_in = 0; i_in < size; i_in++) {
                    /* for j%5 */
                    for (sc_i64 j_in = 0; j_in < 5; j_in++) {
                        /* C[i,j] = A[i,j] */
                        const sc_i64 A_at = (pA * 4 + i_in) * 5 + j_in;
                        const sc_i64 C_at = (i_block * 4 + i_in) * C_stride0 + (j_block * 5 + j_in);
                        C_val[C_at] = A_val[A_at];
                    }
                }
            }
            pA = pA + (sc_i64)(j_block_A == j_block);
            pB = pB + (sc_i64)(j_block_B == j_block);
        }
        /* the rest of B */
        for (sc_i64 p = pB; p < B_hi; p++) {
            const sc_i64 j_block = (sc_i64)B_crd1[p];
            /* for i%4 */
            for (sc_i64 i_in = 0; i_in < size; i_in++) {
                /* for j%5 */
                for (sc_i64 j_in = 0; j_in < 5; j_in++) {
                    /* C[i,j] = -(2 * B[i,j]) */
                    const sc_i64 B_at = (p * 4 + i_in) * 5 + j_in;
                    const sc_i64 C_at = (i_block * 4 + i_in) * C_stride0 + (j_block * 5 + j_in);
                    C_val[C_at] = -(2.0f * B_val[B_at]);
                }
            }
        }
        /* the rest of A */
        for (sc_i64 p = pA; p < A_hi; p++) {
            const sc_i64 j_block = (sc_i64)A_crd1[p];
            /* for i%4 */
            for (sc_i64 i_in = 0; i_in < size; i_in++) {
                /* for j%5 */
                for (sc_i64 j_in = 0; j_in < 5; j_in++) {
                    /* C[i,j] = A[i,j] */
                    const sc_i64 A_at = (p * 4 + i_in) * 5 + j_in;
                    const sc_i64 C_at = (i_block * 4 + i_in) * C_stride0 + (j_block * 5 + j_in);
                    C_val[C_at] = A_val[A_at];
                }
            }
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_where_stride0 = call->view[3].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    signed char *restrict const C_where_val = call->view[3].val;
    (void)lane;

    /* par i/4 in A */
    for (sc_i64 i_block = begin; i_block < end; i_block++) {
        /* for i%4 */
        for (sc_i64 i_in = 0; i_in < 4; i_in++) {
            /* for j/5 in A */
            const sc_i64 A_lo = (sc_i64)A_pos1[i_block];
            const sc_i64 A_hi = (sc_i64)A_pos1[i_block + 1];
            for (sc_i64 p = A_lo; p < A_hi; p++) {
                const sc_i64 j_block = (sc_i64)A_crd1[p];
                /* vec j%5 { C_where[i,j] += stored(A[i,j]) } */
                const sc_i64 C_where_at = (i_block * 4 + i_in) * C_where_stride0 + j_block * 5;
                const f32x4 old =
                    __builtin_convertvector(-__builtin_convertvector(
                        (i8x4)(sc_load_i8x4(&C_where_val[C_where_at]) != (i8x4){0}), i32x4), f32x4);
                sc_store_i8x4(&C_where_val[C_where_at],
                              -__builtin_convertvector((i32x4)(old + sc_splat_f32x4(1.0f) != (f32x4){0}),
                                                       i8x4));
                const float old_1 = (float)(C_where_val[C_where_at + 4] != 0);
                C_where_val[C_where_at + 4] = old_1 + 1.0f != 0.0f;
            }
        }
    }
    return 0;
}

static int body_2(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_where_stride0 = call->view[3].stride[0];
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    signed char *restrict const C_where_val = call->view[3].val;
    (void)lane;

    /* par i/4 in B */
    for (sc_i64 i_block = begin; i_block < end; i_block++) {
        /* for i%4 */
        for (sc_i64 i_in = 0; i_in < 4; i_in++) {
            /* for j/5 in B */
            const sc_i64 B_lo = (sc_i64)B_pos1[i_block];
            const sc_i64 B_hi = (sc_i64)B_pos1[i_block + 1];
            for (sc_i64 p = B_lo; p < B_hi; p++) {
                const sc_i64 j_block = (sc_i64)B_crd1[p];
                /* vec j%5 { C_where[i,j] += stored(B[i,j]) } */
                const sc_i64 C_where_at = (i_block * 4 + i_in) * C_where_stride0 + j_block * 5;
                const f32x4 old =
                    __builtin_convertvector(-__builtin_convertvector(
                        (i8x4)(sc_load_i8x4(&C_where_val[C_where_at]) != (i8x4){0}), i32x4), f32x4);
                sc_store_i8x4(&C_where_val[C_where_at],
                              -__builtin_convertvector((i32x4)(old + sc_splat_f32x4(1.0f) != (f32x4){0}),
                                                       i8x4));
                const float old_1 = (float)(C_where_val[C_where_at + 4] != 0);
                C_where_val[C_where_at + 4] = old_1 + 1.0f != 0.0f;
            }
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
    3, {body, body_1, body_2}};

/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: bsr(4,4) f32, indices i32
 *   B: dense f32
 *   C: dense f32
 * by
 *   par i/4 in A {
 *     work c[i%4,k]: reg f32 {
 *       for j/4 in A {
 *         for j%4 unroll 4 {
 *           for i%4 unroll 4 {
 *             vec k {
 *               c[i%4,k] += A[i,j] * B[j,k]
 *             }
 *           }
 *         }
 *       }
 *     } then {
 *       for i%4 unroll 4 {
 *         vec k {
 *           C[i,k] = c[i%4,k]
 *         }
 *       }
 *     }
 *   }
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i/4 in A */
    for (sc_i64 i_block = begin; i_block < end; i_block++) {
        /* work c[i%4,k]: reg f32 */
        f32x16 c = (f32x16){0};
        f32x16 c_1 = (f32x16){0};
        f32x16 c_2 = (f32x16){0};
        f32x16 c_3 = (f32x16){0};
        f32x16 c_4 = (f32x16){0};
        f32x16 c_5 = (f32x16){0};
        f32x16 c_6 = (f32x16){0};
        f32x16 c_7 = (f32x16){0};
        /* for j/4 in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i_block];
        const sc_i64 A_hi = (sc_i64)A_pos1[i_block + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j_block = (sc_i64)A_crd1[p];
            /* for j%4 unroll 4 */
            /* for i%4 unroll 4 */
            /* vec k { c[i%4,k] += A[i,j] * B[j,k] } */
            const float a = A_val[p * 16];
            const sc_i64 B_at = j_block * 4 * B_stride0;
            c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
            c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 16]);
            const float a_1 = A_val[(p * 4 + 1) * 4];
            const sc_i64 B_at_1 = j_block * 4 * B_stride0;
            c_2 = c_2 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
            c_3 = c_3 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1 + 16]);
            const float a_2 = A_val[(p * 4 + 2) * 4];
            const sc_i64 B_at_2 = j_block * 4 * B_stride0;
            c_4 = c_4 + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2]);
            c_5 = c_5 + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2 + 16]);
            const float a_3 = A_val[(p * 4 + 3) * 4];
            const sc_i64 B_at_3 = j_block * 4 * B_stride0;
            c_6 = c_6 + sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3]);
            c_7 = c_7 + sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3 + 16]);
            const float a_4 = A_val[p * 16 + 1];
            const sc_i64 B_at_4 = (j_block * 4 + 1) * B_stride0;
            c = c + sc_splat_f32x16(a_4) * sc_load_f32x16(&B_val[B_at_4]);
            c_1 = c_1 + sc_splat_f32x16(a_4) * sc_load_f32x16(&B_val[B_at_4 + 16]);
            const sc_i64 A_at = (p * 4 + 1) * 4 + 1;
            const float a_5 = A_val[A_at];
            const sc_i64 B_at_5 = (j_block * 4 + 1) * B_stride0;
            c_2 = c_2 + sc_splat_f32x16(a_5) * sc_load_f32x16(&B_val[B_at_5]);
            c_3 = c_3 + sc_splat_f32x16(a_5) * sc_load_f32x16(&B_val[B_at_5 + 16]);
            const sc_i64 A_at_1 = (p * 4 + 2) * 4 + 1;
            const float a_6 = A_val[A_at_1];
            const sc_i64 B_at_6 = (j_block * 4 + 1) * B_stride0;
            c_4 = c_4 + sc_splat_f32x16(a_6) * sc_load_f32x16(&B_val[B_at_6]);
            c_5 = c_5 + sc_splat_f32x16(a_6) * sc_load_f32x16(&B_val[B_at_6 + 16]);
            const sc_i64 A_at_2 = (p * 4 + 3) * 4 + 1;
            const float a_7 = A_val[A_at_2];
            const sc_i64 B_at_7 = (j_block * 4 + 1) * B_stride0;
            c_6 = c_6 + sc_splat_f32x16(a_7) * sc_load_f32x16(&B_val[B_at_7]);
            c_7 = c_7 + sc_splat_f32x16(a_7) * sc_load_f32x16(&B_val[B_at_7 + 16]);
            const float a_8 = A_val[p * 16 + 2];
            const sc_i64 B_at_8 = (j_block * 4 + 2) * B_stride0;
            c = c + sc_splat_f32x16(a_8) * sc_load_f32x16(&B_val[B_at_8]);
            c_1 = c_1 + sc_splat_f32x16(a_8) * sc_load_f32x16(&B_val[B_at_8 + 16]);
            const sc_i64 A_at_3 = (p * 4 + 1) * 4 + 2;
            const float a_9 = A_val[A_at_3];
            const sc_i64 B_at_9 = (j_block * 4 + 2) * B_stride0;
            c_2 = c_2 + sc_splat_f32x16(a_9) * sc_load_f32x16(&B_val[B_at_9]);
            c_3 = c_3 + sc_splat_f32x16(a_9) * sc_load_f32x16(&B_val[B_at_9 + 16]);
            const sc_i64 A_at_4 = (p * 4 + 2) * 4 + 2;
            const float a_10 = A_val[A_at_4];
            const sc_i64 B_at_10 = (j_block * 4 + 2) * B_stride0;
            c_4 = c_4 + sc_splat_f32x16(a_10) * sc_load_f32x16(&B_val[B_at_10]);
            c_5 = c_5 + sc_splat_f32x16(a_10) * sc_load_f32x16(&B_val[B_at_10 + 16]);
            const sc_i64 A_at_5 = (p * 4 + 3) * 4 + 2;
            const float a_11 = A_val[A_at_5];
            const sc_i64 B_at_11 = (j_block * 4 + 2) * B_stride0;
            c_6 = c_6 + sc_splat_f32x16(a_11) * sc_load_f32x16(&B_val[B_at_11]);
            c_7 = c_7 + sc_splat_f32x16(a_11) * sc_load_f32x16(&B_val[B_at_11 + 16]);
            const float a_12 = A_val[p * 16 + 3];
            const sc_i64 B_at_12 = (j_block * 4 + 3) * B_stride0;
            c = c + sc_splat_f32x16(a_12) * sc_load_f32x16(&B_val[B_at_12]);
            c_1 = c_1 + sc_splat_f32x16(a_12) * sc_load_f32x16(&B_val[B_at_12 + 16]);
            const sc_i64 A_at_6 = (p * 4 + 1) * 4 + 3;
            const float a_13 = A_val[A_at_6];
            const sc_i64 B_at_13 = (j_block * 4 + 3) * B_stride0;
            c_2 = c_2 + sc_splat_f32x16(a_13) * sc_load_f32x16(&B_val[B_at_13]);
            c_3 = c_3 + sc_splat_f32x16(a_13) * sc_load_f32x16(&B_val[B_at_13 + 16]);
            const sc_i64 A_at_7 = (p * 4 + 2) * 4 + 3;
            const float a_14 = A_val[A_at_7];
            const sc_i64 B_at_14 = (j_block * 4 + 3) * B_stride0;
            c_4 = c_4 + sc_splat_f32x16(a_14) * sc_load_f32x16(&B_val[B_at_14]);
            c_5 = c_5 + sc_splat_f32x16(a_14) * sc_load_f32x16(&B_val[B_at_14 + 16]);
            const sc_i64 A_at_8 = (p * 4 + 3) * 4 + 3;
            const float a_15 = A_val[A_at_8];
            const sc_i64 B_at_15 = (j_block * 4 + 3) * B_stride0;
            c_6 = c_6 + sc_splat_f32x16(a_15) * sc_load_f32x16(&B_val[B_at_15]);
            c_7 = c_7 + sc_splat_f32x16(a_15) * sc_load_f32x16(&B_val[B_at_15 + 16]);
        }
        /* for i%4 unroll 4 */
        /* vec k { C[i,k] = c[i%4,k] } */
        const sc_i64 C_at = i_block * 4 * C_stride0;
        sc_store_f32x16(&C_val[C_at], c);
        sc_store_f32x16(&C_val[C_at + 16], c_1);
        const sc_i64 C_at_1 = (i_block * 4 + 1) * C_stride0;
        sc_store_f32x16(&C_val[C_at_1], c_2);
        sc_store_f32x16(&C_val[C_at_1 + 16], c_3);
        const sc_i64 C_at_2 = (i_block * 4 + 2) * C_stride0;
        sc_store_f32x16(&C_val[C_at_2], c_4);
        sc_store_f32x16(&C_val[C_at_2 + 16], c_5);
        const sc_i64 C_at_3 = (i_block * 4 + 3) * C_stride0;
        sc_store_f32x16(&C_val[C_at_3], c_6);
        sc_store_f32x16(&C_val[C_at_3 + 16], c_7);
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const c_carry = lane->partial;

    /* par i/4 in A */
    /* work c[i%4,k]: reg f32 */
    f32x16 c = (f32x16){0};
    f32x16 c_1 = (f32x16){0};
    f32x16 c_2 = (f32x16){0};
    f32x16 c_3 = (f32x16){0};
    f32x16 c_4 = (f32x16){0};
    f32x16 c_5 = (f32x16){0};
    f32x16 c_6 = (f32x16){0};
    f32x16 c_7 = (f32x16){0};
    /* for j/4 in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 j_block = (sc_i64)A_crd1[p];
        /* for j%4 unroll 4 */
        /* for i%4 unroll 4 */
        /* vec k { c[i%4,k] += A[i,j] * B[j,k] } */
        const float a = A_val[p * 16];
        const sc_i64 B_at = j_block * 4 * B_stride0;
        c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
        c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 16]);
        const float a_1 = A_val[(p * 4 + 1) * 4];
        const sc_i64 B_at_1 = j_block * 4 * B_stride0;
        c_2 = c_2 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
        c_3 = c_3 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1 + 16]);
        const float a_2 = A_val[(p * 4 + 2) * 4];
        const sc_i64 B_at_2 = j_block * 4 * B_stride0;
        c_4 = c_4 + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2]);
        c_5 = c_5 + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2 + 16]);
        const float a_3 = A_val[(p * 4 + 3) * 4];
        const sc_i64 B_at_3 = j_block * 4 * B_stride0;
        c_6 = c_6 + sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3]);
        c_7 = c_7 + sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3 + 16]);
        const float a_4 = A_val[p * 16 + 1];
        const sc_i64 B_at_4 = (j_block * 4 + 1) * B_stride0;
        c = c + sc_splat_f32x16(a_4) * sc_load_f32x16(&B_val[B_at_4]);
        c_1 = c_1 + sc_splat_f32x16(a_4) * sc_load_f32x16(&B_val[B_at_4 + 16]);
        const sc_i64 A_at = (p * 4 + 1) * 4 + 1;
        const float a_5 = A_val[A_at];
        const sc_i64 B_at_5 = (j_block * 4 + 1) * B_stride0;
        c_2 = c_2 + sc_splat_f32x16(a_5) * sc_load_f32x16(&B_val[B_at_5]);
        c_3 = c_3 + sc_splat_f32x16(a_5) * sc_load_f32x16(&B_val[B_at_5 + 16]);
        const sc_i64 A_at_1 = (p * 4 + 2) * 4 + 1;
        const float a_6 = A_val[A_at_1];
        const sc_i64 B_at_6 = (j_block * 4 + 1) * B_stride0;
        c_4 = c_4 + sc_splat_f32x16(a_6) * sc_load_f32x16(&B_val[B_at_6]);
        c_5 = c_5 + sc_splat_f32x16(a_6) * sc_load_f32x16(&B_val[B_at_6 + 16]);
        const sc_i64 A_at_2 = (p * 4 + 3) * 4 + 1;
        const float a_7 = A_val[A_at_2];
        const sc_i64 B_at_7 = (j_block * 4 + 1) * B_stride0;
        c_6 = c_6 + sc_splat_f32x16(a_7) * sc_load_f32x16(&B_val[B_at_7]);
        c_7 = c_7 + sc_splat_f32x16(a_7) * sc_load_f32x16(&B_val[B_at_7 + 16]);
        const float a_8 = A_val[p * 16 + 2];
        const sc_i64 B_at_8 = (j_block * 4 + 2) * B_stride0;
        c = c + sc_splat_f32x16(a_8) * sc_load_f32x16(&B_val[B_at_8]);
        c_1 = c_1 + sc_splat_f32x16(a_8) * sc_load_f32x16(&B_val[B_at_8 + 16]);
        const sc_i64 A_at_3 = (p * 4 + 1) * 4 + 2;
        const float a_9 = A_val[A_at_3];
        const sc_i64 B_at_9 = (j_block * 4 + 2) * B_stride0;
        c_2 = c_2 + sc_splat_f32x16(a_9) * sc_load_f32x16(&B_val[B_at_9]);
        c_3 = c_3 + sc_splat_f32x16(a_9) * sc_load_f32x16(&B_val[B_at_9 + 16]);
        const sc_i64 A_at_4 = (p * 4 + 2) * 4 + 2;
        const float a_10 = A_val[A_at_4];
        const sc_i64 B_at_10 = (j_block * 4 + 2) * B_stride0;
        c_4 = c_4 + sc_splat_f32x16(a_10) * sc_load_f32x16(&B_val[B_at_10]);
        c_5 = c_5 + sc_splat_f32x16(a_10) * sc_load_f32x16(&B_val[B_at_10 + 16]);
        const sc_i64 A_at_5 = (p * 4 + 3) * 4 + 2;
        const float a_11 = A_val[A_at_5];
        const sc_i64 B_at_11 = (j_block * 4 + 2) * B_stride0;
        c_6 = c_6 + sc_splat_f32x16(a_11) * sc_load_f32x16(&B_val[B_at_11]);
        c_7 = c_7 + sc_splat_f32x16(a_11) * sc_load_f32x16(&B_val[B_at_11 + 16]);
        const float a_12 = A_val[p * 16 + 3];
        const sc_i64 B_at_12 = (j_block * 4 + 3) * B_stride0;
        c = c + sc_splat_f32x16(a_12) * sc_load_f32x16(&B_val[B_at_12]);
        c_1 = c_1 + sc_splat_f32x16(a_12) * sc_load_f32x16(&B_val[B_at_12 + 16]);
        const sc_i64 A_at_6 = (p * 4 + 1) * 4 + 3;
        const float a_13 = A_val[A_at_6];
        const sc_i64 B_at_13 = (j_block * 4 + 3) * B_stride0;
        c_2 = c_2 + sc_splat_f32x16(a_13) * sc_load_f32x16(&B_val[B_at_13]);
        c_3 = c_3 + sc_splat_f32x16(a_13) * sc_load_f32x16(&B_val[B_at_13 + 16]);
        const sc_i64 A_at_7 = (p * 4 + 2) * 4 + 3;
        const float a_14 = A_val[A_at_7];
        const sc_i64 B_at_14 = (j_block * 4 + 3) * B_stride0;
        c_4 = c_4 + sc_splat_f32x16(a_14) * sc_load_f32x16(&B_val[B_at_14]);
        c_5 = c_5 + sc_splat_f32x16(a_14) * sc_load_f32x16(&B_val[B_at_14 + 16]);
        const sc_i64 A_at_8 = (p * 4 + 3) * 4 + 3;
        const float a_15 = A_val[A_at_8];
        const sc_i64 B_at_15 = (j_block * 4 + 3) * B_stride0;
        c_6 = c_6 + sc_splat_f32x16(a_15) * sc_load_f32x16(&B_val[B_at_15]);
        c_7 = c_7 + sc_splat_f32x16(a_15) * sc_load_f32x16(&B_val[B_at_15 + 16]);
    }
    sc_store_f32x16(c_carry, c);
    sc_store_f32x16(&c_carry[16], c_1);
    sc_store_f32x16(&c_carry[32], c_2);
    sc_store_f32x16(&c_carry[48], c_3);
    sc_store_f32x16(&c_carry[64], c_4);
    sc_store_f32x16(&c_carry[80], c_5);
    sc_store_f32x16(&c_carry[96], c_6);
    sc_store_f32x16(&c_carry[112], c_7);
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 carried = lane->cursor[1];
    float *restrict const C_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* par i/4 in A */
    /* work c[i%4,k]: reg f32 */
    f32x16 c = (f32x16){0};
    f32x16 c_1 = (f32x16){0};
    f32x16 c_2 = (f32x16){0};
    f32x16 c_3 = (f32x16){0};
    f32x16 c_4 = (f32x16){0};
    f32x16 c_5 = (f32x16){0};
    f32x16 c_6 = (f32x16){0};
    f32x16 c_7 = (f32x16){0};
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 128;
        c = c + sc_load_f32x16(&c_carry[at]);
        c_1 = c_1 + sc_load_f32x16(&c_carry[at + 16]);
        c_2 = c_2 + sc_load_f32x16(&c_carry[at + 32]);
        c_3 = c_3 + sc_load_f32x16(&c_carry[at + 48]);
        c_4 = c_4 + sc_load_f32x16(&c_carry[at + 64]);
        c_5 = c_5 + sc_load_f32x16(&c_carry[at + 80]);
        c_6 = c_6 + sc_load_f32x16(&c_carry[at + 96]);
        c_7 = c_7 + sc_load_f32x16(&c_carry[at + 112]);
    }
    /* for i%4 unroll 4 */
    /* vec k { C[i,k] = c[i%4,k] } */
    const sc_i64 C_at = begin * 4 * C_stride0;
    sc_store_f32x16(&C_val[C_at], c);
    sc_store_f32x16(&C_val[C_at + 16], c_1);
    const sc_i64 C_at_1 = (begin * 4 + 1) * C_stride0;
    sc_store_f32x16(&C_val[C_at_1], c_2);
    sc_store_f32x16(&C_val[C_at_1 + 16], c_3);
    const sc_i64 C_at_2 = (begin * 4 + 2) * C_stride0;
    sc_store_f32x16(&C_val[C_at_2], c_4);
    sc_store_f32x16(&C_val[C_at_2 + 16], c_5);
    const sc_i64 C_at_3 = (begin * 4 + 3) * C_stride0;
    sc_store_f32x16(&C_val[C_at_3], c_6);
    sc_store_f32x16(&C_val[C_at_3 + 16], c_7);
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    3, {body, part, finish}};

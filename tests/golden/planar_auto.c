/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: dense(0/2), compressed(1/4), planar(0%2), dense(1%4) f32, indices i32
 *   B: dense f32
 *   C: dense f32
 * by
 *   par i/2 in A {
 *     work c[i%2,k]: reg f32 {
 *       for j/4 in A unroll 2 {
 *         for j%4 unroll 4 {
 *           for i%2 unroll 2 {
 *             vec k {
 *               c[i%2,k] += A[i,j] * B[j,k]
 *             }
 *           }
 *         }
 *       }
 *     } then {
 *       for i%2 unroll 2 {
 *         vec k {
 *           C[i,k] = c[i%2,k]
 *         }
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   k is the vector: it runs at stride 1 in most operands
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }

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

    /* par i/2 in A */
    for (sc_i64 i_block = begin; i_block < end; i_block++) {
        /* work c[i%2,k]: reg f32 */
        f32x16 c = (f32x16){0};
        f32x16 c_1 = (f32x16){0};
        /* for j/4 in A unroll 2 */
        const sc_i64 A_lo = (sc_i64)A_pos1[i_block];
        const sc_i64 A_hi = (sc_i64)A_pos1[i_block + 1];
        const sc_i64 count = A_hi - A_lo;
        const sc_i64 whole = A_lo + (count - count % 2);
        f32x16 c_2 = (f32x16){0};
        f32x16 c_3 = (f32x16){0};
        for (sc_i64 p = A_lo; p < whole; p += 2) {
            const sc_i64 j_blockj_block = sc_pair_i32(&A_crd1[p]);
            const sc_i64 j_block = j_blockj_block & 4294967295;
            /* for j%4 unroll 4 */
            /* for i%2 unroll 2 */
            /* vec k { c[i%2,k] += A[i,j] * B[j,k] } */
            const sc_i64 A_at = (A_lo * 2 + (p - A_lo)) * 4;
            const float a = A_val[A_at];
            const sc_i64 B_at = j_block * 4 * B_stride0;
            c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
            const sc_i64 A_at_1 = (A_lo * 2 + (A_hi - A_lo + (p - A_lo))) * 4;
            const float a_1 = A_val[A_at_1];
            const sc_i64 B_at_1 = j_block * 4 * B_stride0;
            c_1 = c_1 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
            const sc_i64 A_at_2 = (A_lo * 2 + (p - A_lo)) * 4 + 1;
            const float a_2 = A_val[A_at_2];
            const sc_i64 B_at_2 = (j_block * 4 + 1) * B_stride0;
            c = c + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2]);
            const sc_i64 A_at_3 = (A_lo * 2 + (A_hi - A_lo + (p - A_lo))) * 4 + 1;
            const float a_3 = A_val[A_at_3];
            const sc_i64 B_at_3 = (j_block * 4 + 1) * B_stride0;
            c_1 = c_1 + sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3]);
            const sc_i64 A_at_4 = (A_lo * 2 + (p - A_lo)) * 4 + 2;
            const float a_4 = A_val[A_at_4];
            const sc_i64 B_at_4 = (j_block * 4 + 2) * B_stride0;
            c = c + sc_splat_f32x16(a_4) * sc_load_f32x16(&B_val[B_at_4]);
            const sc_i64 A_at_5 = (A_lo * 2 + (A_hi - A_lo + (p - A_lo))) * 4 + 2;
            const float a_5 = A_val[A_at_5];
            const sc_i64 B_at_5 = (j_block * 4 + 2) * B_stride0;
            c_1 = c_1 + sc_splat_f32x16(a_5) * sc_load_f32x16(&B_val[B_at_5]);
            const sc_i64 A_at_6 = (A_lo * 2 + (p - A_lo)) * 4 + 3;
            const float a_6 = A_val[A_at_6];
            const sc_i64 B_at_6 = (j_block * 4 + 3) * B_stride0;
            c = c + sc_splat_f32x16(a_6) * sc_load_f32x16(&B_val[B_at_6]);
            const sc_i64 A_at_7 = (A_lo * 2 + (A_hi - A_lo + (p - A_lo))) * 4 + 3;
            const float a_7 = A_val[A_at_7];
            const sc_i64 B_at_7 = (j_block * 4 + 3) * B_stride0;
            c_1 = c_1 + sc_splat_f32x16(a_7) * sc_load_f32x16(&B_val[B_at_7]);
            const sc_i64 j_block_1 = j_blockj_block >> 32;
            const sc_i64 A_at_8 = (A_lo * 2 + (p - A_lo) + 1) * 4;
            const float a_8 = A_val[A_at_8];
            const sc_i64 B_at_8 = j_block_1 * 4 * B_stride0;
            c_2 = c_2 + sc_splat_f32x16(a_8) * sc_load_f32x16(&B_val[B_at_8]);
            const sc_i64 A_at_9 = (A_lo * 2 + (A_hi - A_lo + (p - A_lo)) + 1) * 4;
            const float a_9 = A_val[A_at_9];
            const sc_i64 B_at_9 = j_block_1 * 4 * B_stride0;
            c_3 = c_3 + sc_splat_f32x16(a_9) * sc_load_f32x16(&B_val[B_at_9]);
            const sc_i64 A_at_10 = (A_lo * 2 + (p - A_lo) + 1) * 4 + 1;
            const float a_10 = A_val[A_at_10];
            const sc_i64 B_at_10 = (j_block_1 * 4 + 1) * B_stride0;
            c_2 = c_2 + sc_splat_f32x16(a_10) * sc_load_f32x16(&B_val[B_at_10]);
            const sc_i64 A_at_11 = (A_lo * 2 + (A_hi - A_lo + (p - A_lo)) + 1) * 4 + 1;
            const float a_11 = A_val[A_at_11];
            const sc_i64 B_at_11 = (j_block_1 * 4 + 1) * B_stride0;
            c_3 = c_3 + sc_splat_f32x16(a_11) * sc_load_f32x16(&B_val[B_at_11]);
            const sc_i64 A_at_12 = (A_lo * 2 + (p - A_lo) + 1) * 4 + 2;
            const float a_12 = A_val[A_at_12];
            const sc_i64 B_at_12 = (j_block_1 * 4 + 2) * B_stride0;
            c_2 = c_2 + sc_splat_f32x16(a_12) * sc_load_f32x16(&B_val[B_at_12]);
            const sc_i64 A_at_13 = (A_lo * 2 + (A_hi - A_lo + (p - A_lo)) + 1) * 4 + 2;
            const float a_13 = A_val[A_at_13];
            const sc_i64 B_at_13 = (j_block_1 * 4 + 2) * B_stride0;
            c_3 = c_3 + sc_splat_f32x16(a_13) * sc_load_f32x16(&B_val[B_at_13]);
            const sc_i64 A_at_14 = (A_lo * 2 + (p - A_lo) + 1) * 4 + 3;
            const float a_14 = A_val[A_at_14];
            const sc_i64 B_at_14 = (j_block_1 * 4 + 3) * B_stride0;
            c_2 = c_2 + sc_splat_f32x16(a_14) * sc_load_f32x16(&B_val[B_at_14]);
            const sc_i64 A_at_15 = (A_lo * 2 + (A_hi - A_lo + (p - A_lo)) + 1) * 4 + 3;
            const float a_15 = A_val[A_at_15];
            const sc_i64 B_at_15 = (j_block_1 * 4 + 3) * B_stride0;
            c_3 = c_3 + sc_splat_f32x16(a_15) * sc_load_f32x16(&B_val[B_at_15]);
        }
        c = c + c_2;
        c_1 = c_1 + c_3;
        for (sc_i64 p = whole; p < A_hi; p++) {
            const sc_i64 j_block = (sc_i64)A_crd1[p];
            const sc_i64 A_at = (A_lo * 2 + (p - A_lo)) * 4;
            const float a = A_val[A_at];
            const sc_i64 B_at = j_block * 4 * B_stride0;
            c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
            const sc_i64 A_at_1 = (A_lo * 2 + (A_hi - A_lo + (p - A_lo))) * 4;
            const float a_1 = A_val[A_at_1];
            const sc_i64 B_at_1 = j_block * 4 * B_stride0;
            c_1 = c_1 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
            const sc_i64 A_at_2 = (A_lo * 2 + (p - A_lo)) * 4 + 1;
            const float a_2 = A_val[A_at_2];
            const sc_i64 B_at_2 = (j_block * 4 + 1) * B_stride0;
            c = c + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2]);
            const sc_i64 A_at_3 = (A_lo * 2 + (A_hi - A_lo + (p - A_lo))) * 4 + 1;
            const float a_3 = A_val[A_at_3];
            const sc_i64 B_at_3 = (j_block * 4 + 1) * B_stride0;
            c_1 = c_1 + sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3]);
            const sc_i64 A_at_4 = (A_lo * 2 + (p - A_lo)) * 4 + 2;
            const float a_4 = A_val[A_at_4];
            const sc_i64 B_at_4 = (j_block * 4 + 2) * B_stride0;
            c = c + sc_splat_f32x16(a_4) * sc_load_f32x16(&B_val[B_at_4]);
            const sc_i64 A_at_5 = (A_lo * 2 + (A_hi - A_lo + (p - A_lo))) * 4 + 2;
            const float a_5 = A_val[A_at_5];
            const sc_i64 B_at_5 = (j_block * 4 + 2) * B_stride0;
            c_1 = c_1 + sc_splat_f32x16(a_5) * sc_load_f32x16(&B_val[B_at_5]);
            const sc_i64 A_at_6 = (A_lo * 2 + (p - A_lo)) * 4 + 3;
            const float a_6 = A_val[A_at_6];
            const sc_i64 B_at_6 = (j_block * 4 + 3) * B_stride0;
            c = c + sc_splat_f32x16(a_6) * sc_load_f32x16(&B_val[B_at_6]);
            const sc_i64 A_at_7 = (A_lo * 2 + (A_hi - A_lo + (p - A_lo))) * 4 + 3;
            const float a_7 = A_val[A_at_7];
            const sc_i64 B_at_7 = (j_block * 4 + 3) * B_stride0;
            c_1 = c_1 + sc_splat_f32x16(a_7) * sc_load_f32x16(&B_val[B_at_7]);
        }
        /* for i%2 unroll 2 */
        /* vec k { C[i,k] = c[i%2,k] } */
        const sc_i64 C_at = i_block * 2 * C_stride0;
        sc_store_f32x16(&C_val[C_at], c);
        const sc_i64 C_at_1 = (i_block * 2 + 1) * C_stride0;
        sc_store_f32x16(&C_val[C_at_1], c_1);
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 unit = lane->cursor[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const c_carry = lane->partial;

    /* par i/2 in A */
    /* work c[i%2,k]: reg f32 */
    f32x16 c = (f32x16){0};
    f32x16 c_1 = (f32x16){0};
    /* for j/4 in A unroll 2 */
    const sc_i64 count = end - begin;
    const sc_i64 whole = begin + (count - count % 2);
    f32x16 c_2 = (f32x16){0};
    f32x16 c_3 = (f32x16){0};
    for (sc_i64 p = begin; p < whole; p += 2) {
        const sc_i64 j_blockj_block = sc_pair_i32(&A_crd1[p]);
        const sc_i64 j_block = j_blockj_block & 4294967295;
        /* for j%4 unroll 4 */
        /* for i%2 unroll 2 */
        /* vec k { c[i%2,k] += A[i,j] * B[j,k] } */
        const sc_i64 A_at = ((sc_i64)A_pos1[unit] * 2 + (p - (sc_i64)A_pos1[unit])) * 4;
        const float a = A_val[A_at];
        const sc_i64 B_at = j_block * 4 * B_stride0;
        c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
        const sc_i64 A_at_1 = ((sc_i64)A_pos1[unit] * 2 +
                               ((sc_i64)A_pos1[unit + 1] - (sc_i64)A_pos1[unit] +
                                (p - (sc_i64)A_pos1[unit]))) * 4;
        const float a_1 = A_val[A_at_1];
        const sc_i64 B_at_1 = j_block * 4 * B_stride0;
        c_1 = c_1 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
        const sc_i64 A_at_2 = ((sc_i64)A_pos1[unit] * 2 + (p - (sc_i64)A_pos1[unit])) * 4 + 1;
        const float a_2 = A_val[A_at_2];
        const sc_i64 B_at_2 = (j_block * 4 + 1) * B_stride0;
        c = c + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2]);
        const sc_i64 A_at_3 = ((sc_i64)A_pos1[unit] * 2 +
                               ((sc_i64)A_pos1[unit + 1] - (sc_i64)A_pos1[unit] +
                                (p - (sc_i64)A_pos1[unit]))) * 4 + 1;
        const float a_3 = A_val[A_at_3];
        const sc_i64 B_at_3 = (j_block * 4 + 1) * B_stride0;
        c_1 = c_1 + sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3]);
        const sc_i64 A_at_4 = ((sc_i64)A_pos1[unit] * 2 + (p - (sc_i64)A_pos1[unit])) * 4 + 2;
        const float a_4 = A_val[A_at_4];
        const sc_i64 B_at_4 = (j_block * 4 + 2) * B_stride0;
        c = c + sc_splat_f32x16(a_4) * sc_load_f32x16(&B_val[B_at_4]);
        const sc_i64 A_at_5 = ((sc_i64)A_pos1[unit] * 2 +
                               ((sc_i64)A_pos1[unit + 1] - (sc_i64)A_pos1[unit] +
                                (p - (sc_i64)A_pos1[unit]))) * 4 + 2;
        const float a_5 = A_val[A_at_5];
        const sc_i64 B_at_5 = (j_block * 4 + 2) * B_stride0;
        c_1 = c_1 + sc_splat_f32x16(a_5) * sc_load_f32x16(&B_val[B_at_5]);
        const sc_i64 A_at_6 = ((sc_i64)A_pos1[unit] * 2 + (p - (sc_i64)A_pos1[unit])) * 4 + 3;
        const float a_6 = A_val[A_at_6];
        const sc_i64 B_at_6 = (j_block * 4 + 3) * B_stride0;
        c = c + sc_splat_f32x16(a_6) * sc_load_f32x16(&B_val[B_at_6]);
        const sc_i64 A_at_7 = ((sc_i64)A_pos1[unit] * 2 +
                               ((sc_i64)A_pos1[unit + 1] - (sc_i64)A_pos1[unit] +
                                (p - (sc_i64)A_pos1[unit]))) * 4 + 3;
        const float a_7 = A_val[A_at_7];
        const sc_i64 B_at_7 = (j_block * 4 + 3) * B_stride0;
        c_1 = c_1 + sc_splat_f32x16(a_7) * sc_load_f32x16(&B_val[B_at_7]);
        const sc_i64 j_block_1 = j_blockj_block >> 32;
        const sc_i64 A_at_8 = ((sc_i64)A_pos1[unit] * 2 + (p - (sc_i64)A_pos1[unit]) + 1) * 4;
        const float a_8 = A_val[A_at_8];
        const sc_i64 B_at_8 = j_block_1 * 4 * B_stride0;
        c_2 = c_2 + sc_splat_f32x16(a_8) * sc_load_f32x16(&B_val[B_at_8]);
        const sc_i64 A_at_9 = ((sc_i64)A_pos1[unit] * 2 +
                               ((sc_i64)A_pos1[unit + 1] - (sc_i64)A_pos1[unit] +
                                (p - (sc_i64)A_pos1[unit])) + 1) * 4;
        const float a_9 = A_val[A_at_9];
        const sc_i64 B_at_9 = j_block_1 * 4 * B_stride0;
        c_3 = c_3 + sc_splat_f32x16(a_9) * sc_load_f32x16(&B_val[B_at_9]);
        const sc_i64 A_at_10 = ((sc_i64)A_pos1[unit] * 2 + (p - (sc_i64)A_pos1[unit]) + 1) * 4 + 1;
        const float a_10 = A_val[A_at_10];
        const sc_i64 B_at_10 = (j_block_1 * 4 + 1) * B_stride0;
        c_2 = c_2 + sc_splat_f32x16(a_10) * sc_load_f32x16(&B_val[B_at_10]);
        const sc_i64 A_at_11 = ((sc_i64)A_pos1[unit] * 2 +
                                ((sc_i64)A_pos1[unit + 1] - (sc_i64)A_pos1[unit] +
                                 (p - (sc_i64)A_pos1[unit])) + 1) * 4 + 1;
        const float a_11 = A_val[A_at_11];
        const sc_i64 B_at_11 = (j_block_1 * 4 + 1) * B_stride0;
        c_3 = c_3 + sc_splat_f32x16(a_11) * sc_load_f32x16(&B_val[B_at_11]);
        const sc_i64 A_at_12 = ((sc_i64)A_pos1[unit] * 2 + (p - (sc_i64)A_pos1[unit]) + 1) * 4 + 2;
        const float a_12 = A_val[A_at_12];
        const sc_i64 B_at_12 = (j_block_1 * 4 + 2) * B_stride0;
        c_2 = c_2 + sc_splat_f32x16(a_12) * sc_load_f32x16(&B_val[B_at_12]);
        const sc_i64 A_at_13 = ((sc_i64)A_pos1[unit] * 2 +
                                ((sc_i64)A_pos1[unit + 1] - (sc_i64)A_pos1[unit] +
                                 (p - (sc_i64)A_pos1[unit])) + 1) * 4 + 2;
        const float a_13 = A_val[A_at_13];
        const sc_i64 B_at_13 = (j_block_1 * 4 + 2) * B_stride0;
        c_3 = c_3 + sc_splat_f32x16(a_13) * sc_load_f32x16(&B_val[B_at_13]);
        const sc_i64 A_at_14 = ((sc_i64)A_pos1[unit] * 2 + (p - (sc_i64)A_pos1[unit]) + 1) * 4 + 3;
        const float a_14 = A_val[A_at_14];
        const sc_i64 B_at_14 = (j_block_1 * 4 + 3) * B_stride0;
        c_2 = c_2 + sc_splat_f32x16(a_14) * sc_load_f32x16(&B_val[B_at_14]);
        const sc_i64 A_at_15 = ((sc_i64)A_pos1[unit] * 2 +
                                ((sc_i64)A_pos1[unit + 1] - (sc_i64)A_pos1[unit] +
                                 (p - (sc_i64)A_pos1[unit])) + 1) * 4 + 3;
        const float a_15 = A_val[A_at_15];
        const sc_i64 B_at_15 = (j_block_1 * 4 + 3) * B_stride0;
        c_3 = c_3 + sc_splat_f32x16(a_15) * sc_load_f32x16(&B_val[B_at_15]);
    }
    c = c + c_2;
    c_1 = c_1 + c_3;
    for (sc_i64 p = whole; p < end; p++) {
        const sc_i64 j_block = (sc_i64)A_crd1[p];
        const sc_i64 A_at = ((sc_i64)A_pos1[unit] * 2 + (p - (sc_i64)A_pos1[unit])) * 4;
        const float a = A_val[A_at];
        const sc_i64 B_at = j_block * 4 * B_stride0;
        c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
        const sc_i64 A_at_1 = ((sc_i64)A_pos1[unit] * 2 +
                               ((sc_i64)A_pos1[unit + 1] - (sc_i64)A_pos1[unit] +
                                (p - (sc_i64)A_pos1[unit]))) * 4;
        const float a_1 = A_val[A_at_1];
        const sc_i64 B_at_1 = j_block * 4 * B_stride0;
        c_1 = c_1 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
        const sc_i64 A_at_2 = ((sc_i64)A_pos1[unit] * 2 + (p - (sc_i64)A_pos1[unit])) * 4 + 1;
        const float a_2 = A_val[A_at_2];
        const sc_i64 B_at_2 = (j_block * 4 + 1) * B_stride0;
        c = c + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2]);
        const sc_i64 A_at_3 = ((sc_i64)A_pos1[unit] * 2 +
                               ((sc_i64)A_pos1[unit + 1] - (sc_i64)A_pos1[unit] +
                                (p - (sc_i64)A_pos1[unit]))) * 4 + 1;
        const float a_3 = A_val[A_at_3];
        const sc_i64 B_at_3 = (j_block * 4 + 1) * B_stride0;
        c_1 = c_1 + sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3]);
        const sc_i64 A_at_4 = ((sc_i64)A_pos1[unit] * 2 + (p - (sc_i64)A_pos1[unit])) * 4 + 2;
        const float a_4 = A_val[A_at_4];
        const sc_i64 B_at_4 = (j_block * 4 + 2) * B_stride0;
        c = c + sc_splat_f32x16(a_4) * sc_load_f32x16(&B_val[B_at_4]);
        const sc_i64 A_at_5 = ((sc_i64)A_pos1[unit] * 2 +
                               ((sc_i64)A_pos1[unit + 1] - (sc_i64)A_pos1[unit] +
                                (p - (sc_i64)A_pos1[unit]))) * 4 + 2;
        const float a_5 = A_val[A_at_5];
        const sc_i64 B_at_5 = (j_block * 4 + 2) * B_stride0;
        c_1 = c_1 + sc_splat_f32x16(a_5) * sc_load_f32x16(&B_val[B_at_5]);
        const sc_i64 A_at_6 = ((sc_i64)A_pos1[unit] * 2 + (p - (sc_i64)A_pos1[unit])) * 4 + 3;
        const float a_6 = A_val[A_at_6];
        const sc_i64 B_at_6 = (j_block * 4 + 3) * B_stride0;
        c = c + sc_splat_f32x16(a_6) * sc_load_f32x16(&B_val[B_at_6]);
        const sc_i64 A_at_7 = ((sc_i64)A_pos1[unit] * 2 +
                               ((sc_i64)A_pos1[unit + 1] - (sc_i64)A_pos1[unit] +
                                (p - (sc_i64)A_pos1[unit]))) * 4 + 3;
        const float a_7 = A_val[A_at_7];
        const sc_i64 B_at_7 = (j_block * 4 + 3) * B_stride0;
        c_1 = c_1 + sc_splat_f32x16(a_7) * sc_load_f32x16(&B_val[B_at_7]);
    }
    sc_store_f32x16(c_carry, c);
    sc_store_f32x16(&c_carry[16], c_1);
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 carried = lane->cursor[1];
    float *restrict const C_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* par i/2 in A */
    /* work c[i%2,k]: reg f32 */
    f32x16 c = (f32x16){0};
    f32x16 c_1 = (f32x16){0};
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 32;
        c = c + sc_load_f32x16(&c_carry[at]);
        c_1 = c_1 + sc_load_f32x16(&c_carry[at + 16]);
    }
    /* for i%2 unroll 2 */
    /* vec k { C[i,k] = c[i%2,k] } */
    const sc_i64 C_at = begin * 2 * C_stride0;
    sc_store_f32x16(&C_val[C_at], c);
    const sc_i64 C_at_1 = (begin * 2 + 1) * C_stride0;
    sc_store_f32x16(&C_val[C_at_1], c_1);
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

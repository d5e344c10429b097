/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: csr f32, indices i32
 *   B: dense f32
 *   C: dense f32
 * by
 *   par i in A {
 *     for k/64 {
 *       work c[k%64]: reg f32 {
 *         for j in A {
 *           vec k%64 {
 *             c[k%64] += A[i,j] * B[j,k]
 *           }
 *         }
 *       } then {
 *         vec k%64 {
 *           C[i,k] = c[k%64]
 *         }
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   k is the vector: it runs at stride 1 in most operands, tiled so that a tile of sums fits the registers
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
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 k_dim = call->dim[1];
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    for (sc_i64 i = begin; i < end; i++) {
        if (k_dim >= 64) {
            for (sc_i64 k_block = 0; k_block < k_dim; k_block += 64) {
                const sc_i64 at = sc_min_i64(k_block, k_dim - 64);
                f32x16 c = (f32x16){0};
                f32x16 c_1 = (f32x16){0};
                f32x16 c_2 = (f32x16){0};
                f32x16 c_3 = (f32x16){0};
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p++) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    const float a = A_val[p];
                    const sc_i64 B_at = j * B_stride0 + at;
                    c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
                    c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 16]);
                    c_2 = c_2 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 32]);
                    c_3 = c_3 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 48]);
                }
                const sc_i64 C_at = i * C_stride0 + at;
                sc_store_f32x16(&C_val[C_at], c);
                sc_store_f32x16(&C_val[C_at + 16], c_1);
                sc_store_f32x16(&C_val[C_at + 32], c_2);
                sc_store_f32x16(&C_val[C_at + 48], c_3);
            }
        } else {
            const sc_i64 rest = k_dim % 64;
            const sc_i64 full = k_dim - rest;
            if ((rest & 32) != 0) {
                const sc_i64 k_block_1 = full + (rest & -64);
                f32x16 c_4 = (f32x16){0};
                f32x16 c_5 = (f32x16){0};
                const sc_i64 A_lo_1 = (sc_i64)A_pos1[i];
                const sc_i64 A_hi_1 = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p_1 = A_lo_1; p_1 < A_hi_1; p_1 += 2) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p_1];
                    const float a_1 = A_val[p_1];
                    const sc_i64 B_at_1 = j_1 * B_stride0 + k_block_1;
                    c_4 = c_4 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
                    c_5 = c_5 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1 + 16]);
                    if (p_1 + 1 < A_hi_1) {
                        const sc_i64 j_2 = (sc_i64)A_crd1[p_1 + 1];
                        const float a_2 = A_val[p_1 + 1];
                        const sc_i64 B_at_2 = j_2 * B_stride0 + k_block_1;
                        c_4 = c_4 + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2]);
                        c_5 = c_5 + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2 + 16]);
                    }
                }
                const sc_i64 C_at_1 = i * C_stride0 + k_block_1;
                sc_store_f32x16(&C_val[C_at_1], c_4);
                sc_store_f32x16(&C_val[C_at_1 + 16], c_5);
            }
            if ((rest & 16) != 0) {
                const sc_i64 k_block_2 = full + (rest & -32);
                f32x16 c_6 = (f32x16){0};
                const sc_i64 A_lo_2 = (sc_i64)A_pos1[i];
                const sc_i64 A_hi_2 = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p_2 = A_lo_2; p_2 < A_hi_2; p_2 += 2) {
                    const sc_i64 j_3 = (sc_i64)A_crd1[p_2];
                    const float a_3 = A_val[p_2];
                    const sc_i64 B_at_3 = j_3 * B_stride0 + k_block_2;
                    c_6 = c_6 + sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3]);
                    if (p_2 + 1 < A_hi_2) {
                        const sc_i64 j_4 = (sc_i64)A_crd1[p_2 + 1];
                        const float a_4 = A_val[p_2 + 1];
                        const sc_i64 B_at_4 = j_4 * B_stride0 + k_block_2;
                        c_6 = c_6 + sc_splat_f32x16(a_4) * sc_load_f32x16(&B_val[B_at_4]);
                    }
                }
                const sc_i64 C_at_2 = i * C_stride0 + k_block_2;
                sc_store_f32x16(&C_val[C_at_2], c_6);
            }
            if ((rest & 8) != 0) {
                const sc_i64 k_block_3 = full + (rest & -16);
                f32x8 c_7 = (f32x8){0};
                const sc_i64 A_lo_3 = (sc_i64)A_pos1[i];
                const sc_i64 A_hi_3 = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p_3 = A_lo_3; p_3 < A_hi_3; p_3 += 2) {
                    const sc_i64 j_5 = (sc_i64)A_crd1[p_3];
                    const float a_5 = A_val[p_3];
                    const sc_i64 B_at_5 = j_5 * B_stride0 + k_block_3;
                    c_7 = c_7 + sc_splat_f32x8(a_5) * sc_load_f32x8(&B_val[B_at_5]);
                    if (p_3 + 1 < A_hi_3) {
                        const sc_i64 j_6 = (sc_i64)A_crd1[p_3 + 1];
                        const float a_6 = A_val[p_3 + 1];
                        const sc_i64 B_at_6 = j_6 * B_stride0 + k_block_3;
                        c_7 = c_7 + sc_splat_f32x8(a_6) * sc_load_f32x8(&B_val[B_at_6]);
                    }
                }
                const sc_i64 C_at_3 = i * C_stride0 + k_block_3;
                sc_store_f32x8(&C_val[C_at_3], c_7);
            }
            if ((rest & 4) != 0) {
                const sc_i64 k_block_4 = full + (rest & -8);
                f32x4 c_8 = (f32x4){0};
                const sc_i64 A_lo_4 = (sc_i64)A_pos1[i];
                const sc_i64 A_hi_4 = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p_4 = A_lo_4; p_4 < A_hi_4; p_4 += 2) {
                    const sc_i64 j_7 = (sc_i64)A_crd1[p_4];
                    const float a_7 = A_val[p_4];
                    const sc_i64 B_at_7 = j_7 * B_stride0 + k_block_4;
                    c_8 = c_8 + sc_splat_f32x4(a_7) * sc_load_f32x4(&B_val[B_at_7]);
                    if (p_4 + 1 < A_hi_4) {
                        const sc_i64 j_8 = (sc_i64)A_crd1[p_4 + 1];
                        const float a_8 = A_val[p_4 + 1];
                        const sc_i64 B_at_8 = j_8 * B_stride0 + k_block_4;
                        c_8 = c_8 + sc_splat_f32x4(a_8) * sc_load_f32x4(&B_val[B_at_8]);
                    }
                }
                const sc_i64 C_at_4 = i * C_stride0 + k_block_4;
                sc_store_f32x4(&C_val[C_at_4], c_8);
            }
            if ((rest & 2) != 0) {
                const sc_i64 k_block_5 = full + (rest & -4);
                f32x2 c_9 = (f32x2){0};
                const sc_i64 A_lo_5 = (sc_i64)A_pos1[i];
                const sc_i64 A_hi_5 = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p_5 = A_lo_5; p_5 < A_hi_5; p_5 += 2) {
                    const sc_i64 j_9 = (sc_i64)A_crd1[p_5];
                    const float a_9 = A_val[p_5];
                    const sc_i64 B_at_9 = j_9 * B_stride0 + k_block_5;
                    c_9 = c_9 + sc_splat_f32x2(a_9) * sc_load_f32x2(&B_val[B_at_9]);
                    if (p_5 + 1 < A_hi_5) {
                        const sc_i64 j_10 = (sc_i64)A_crd1[p_5 + 1];
                        const float a_10 = A_val[p_5 + 1];
                        const sc_i64 B_at_10 = j_10 * B_stride0 + k_block_5;
                        c_9 = c_9 + sc_splat_f32x2(a_10) * sc_load_f32x2(&B_val[B_at_10]);
                    }
                }
                const sc_i64 C_at_5 = i * C_stride0 + k_block_5;
                sc_store_f32x2(&C_val[C_at_5], c_9);
            }
            if ((rest & 1) != 0) {
                const sc_i64 k_block_6 = full + (rest & -2);
                float c_10 = 0.0f;
                const sc_i64 A_lo_6 = (sc_i64)A_pos1[i];
                const sc_i64 A_hi_6 = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p_6 = A_lo_6; p_6 < A_hi_6; p_6 += 2) {
                    const sc_i64 j_11 = (sc_i64)A_crd1[p_6];
                    const float a_11 = A_val[p_6];
                    const sc_i64 B_at_11 = j_11 * B_stride0 + k_block_6;
                    c_10 = c_10 + a_11 * B_val[B_at_11];
                    if (p_6 + 1 < A_hi_6) {
                        const sc_i64 j_12 = (sc_i64)A_crd1[p_6 + 1];
                        const float a_12 = A_val[p_6 + 1];
                        const sc_i64 B_at_12 = j_12 * B_stride0 + k_block_6;
                        c_10 = c_10 + a_12 * B_val[B_at_12];
                    }
                }
                const sc_i64 C_at_6 = i * C_stride0 + k_block_6;
                C_val[C_at_6] = c_10;
            }
        }
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 k_dim = call->dim[1];
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const c_carry = lane->partial;

    if (k_dim >= 64) {
        for (sc_i64 k_block = 0; k_block < k_dim; k_block += 64) {
            const sc_i64 at = sc_min_i64(k_block, k_dim - 64);
            f32x16 c = (f32x16){0};
            f32x16 c_1 = (f32x16){0};
            f32x16 c_2 = (f32x16){0};
            f32x16 c_3 = (f32x16){0};
            for (sc_i64 p = begin; p < end; p++) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 B_at = j * B_stride0 + at;
                c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
                c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 16]);
                c_2 = c_2 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 32]);
                c_3 = c_3 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 48]);
            }
            sc_store_f32x16(&c_carry[at], c);
            sc_store_f32x16(&c_carry[at + 16], c_1);
            sc_store_f32x16(&c_carry[at + 32], c_2);
            sc_store_f32x16(&c_carry[at + 48], c_3);
        }
    } else {
        const sc_i64 rest = k_dim % 64;
        const sc_i64 full = k_dim - rest;
        if ((rest & 32) != 0) {
            const sc_i64 k_block_1 = full + (rest & -64);
            f32x16 c_4 = (f32x16){0};
            f32x16 c_5 = (f32x16){0};
            for (sc_i64 p_1 = begin; p_1 < end; p_1 += 2) {
                const sc_i64 j_1 = (sc_i64)A_crd1[p_1];
                const float a_1 = A_val[p_1];
                const sc_i64 B_at_1 = j_1 * B_stride0 + k_block_1;
                c_4 = c_4 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
                c_5 = c_5 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1 + 16]);
                if (p_1 + 1 < end) {
                    const sc_i64 j_2 = (sc_i64)A_crd1[p_1 + 1];
                    const float a_2 = A_val[p_1 + 1];
                    const sc_i64 B_at_2 = j_2 * B_stride0 + k_block_1;
                    c_4 = c_4 + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2]);
                    c_5 = c_5 + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2 + 16]);
                }
            }
            sc_store_f32x16(&c_carry[k_block_1], c_4);
            sc_store_f32x16(&c_carry[k_block_1 + 16], c_5);
        }
        if ((rest & 16) != 0) {
            const sc_i64 k_block_2 = full + (rest & -32);
            f32x16 c_6 = (f32x16){0};
            for (sc_i64 p_2 = begin; p_2 < end; p_2 += 2) {
                const sc_i64 j_3 = (sc_i64)A_crd1[p_2];
                const float a_3 = A_val[p_2];
                const sc_i64 B_at_3 = j_3 * B_stride0 + k_block_2;
                c_6 = c_6 + sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3]);
                if (p_2 + 1 < end) {
                    const sc_i64 j_4 = (sc_i64)A_crd1[p_2 + 1];
                    const float a_4 = A_val[p_2 + 1];
                    const sc_i64 B_at_4 = j_4 * B_stride0 + k_block_2;
                    c_6 = c_6 + sc_splat_f32x16(a_4) * sc_load_f32x16(&B_val[B_at_4]);
                }
            }
            sc_store_f32x16(&c_carry[k_block_2], c_6);
        }
        if ((rest & 8) != 0) {
            const sc_i64 k_block_3 = full + (rest & -16);
            f32x8 c_7 = (f32x8){0};
            for (sc_i64 p_3 = begin; p_3 < end; p_3 += 2) {
                const sc_i64 j_5 = (sc_i64)A_crd1[p_3];
                const float a_5 = A_val[p_3];
                const sc_i64 B_at_5 = j_5 * B_stride0 + k_block_3;
                c_7 = c_7 + sc_splat_f32x8(a_5) * sc_load_f32x8(&B_val[B_at_5]);
                if (p_3 + 1 < end) {
                    const sc_i64 j_6 = (sc_i64)A_crd1[p_3 + 1];
                    const float a_6 = A_val[p_3 + 1];
                    const sc_i64 B_at_6 = j_6 * B_stride0 + k_block_3;
                    c_7 = c_7 + sc_splat_f32x8(a_6) * sc_load_f32x8(&B_val[B_at_6]);
                }
            }
            sc_store_f32x8(&c_carry[k_block_3], c_7);
        }
        if ((rest & 4) != 0) {
            const sc_i64 k_block_4 = full + (rest & -8);
            f32x4 c_8 = (f32x4){0};
            for (sc_i64 p_4 = begin; p_4 < end; p_4 += 2) {
                const sc_i64 j_7 = (sc_i64)A_crd1[p_4];
                const float a_7 = A_val[p_4];
                const sc_i64 B_at_7 = j_7 * B_stride0 + k_block_4;
                c_8 = c_8 + sc_splat_f32x4(a_7) * sc_load_f32x4(&B_val[B_at_7]);
                if (p_4 + 1 < end) {
                    const sc_i64 j_8 = (sc_i64)A_crd1[p_4 + 1];
                    const float a_8 = A_val[p_4 + 1];
                    const sc_i64 B_at_8 = j_8 * B_stride0 + k_block_4;
                    c_8 = c_8 + sc_splat_f32x4(a_8) * sc_load_f32x4(&B_val[B_at_8]);
                }
            }
            sc_store_f32x4(&c_carry[k_block_4], c_8);
        }
        if ((rest & 2) != 0) {
            const sc_i64 k_block_5 = full + (rest & -4);
            f32x2 c_9 = (f32x2){0};
            for (sc_i64 p_5 = begin; p_5 < end; p_5 += 2) {
                const sc_i64 j_9 = (sc_i64)A_crd1[p_5];
                const float a_9 = A_val[p_5];
                const sc_i64 B_at_9 = j_9 * B_stride0 + k_block_5;
                c_9 = c_9 + sc_splat_f32x2(a_9) * sc_load_f32x2(&B_val[B_at_9]);
                if (p_5 + 1 < end) {
                    const sc_i64 j_10 = (sc_i64)A_crd1[p_5 + 1];
                    const float a_10 = A_val[p_5 + 1];
                    const sc_i64 B_at_10 = j_10 * B_stride0 + k_block_5;
                    c_9 = c_9 + sc_splat_f32x2(a_10) * sc_load_f32x2(&B_val[B_at_10]);
                }
            }
            sc_store_f32x2(&c_carry[k_block_5], c_9);
        }
        if ((rest & 1) != 0) {
            const sc_i64 k_block_6 = full + (rest & -2);
            float c_10 = 0.0f;
            for (sc_i64 p_6 = begin; p_6 < end; p_6 += 2) {
                const sc_i64 j_11 = (sc_i64)A_crd1[p_6];
                const float a_11 = A_val[p_6];
                const sc_i64 B_at_11 = j_11 * B_stride0 + k_block_6;
                c_10 = c_10 + a_11 * B_val[B_at_11];
                if (p_6 + 1 < end) {
                    const sc_i64 j_12 = (sc_i64)A_crd1[p_6 + 1];
                    const float a_12 = A_val[p_6 + 1];
                    const sc_i64 B_at_12 = j_12 * B_stride0 + k_block_6;
                    c_10 = c_10 + a_12 * B_val[B_at_12];
                }
            }
            c_carry[k_block_6] = c_10;
        }
    }
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 k_dim = call->dim[1];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 carried = lane->cursor[1];
    float *restrict const C_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    if (k_dim >= 64) {
        for (sc_i64 k_block = 0; k_block < k_dim; k_block += 64) {
            const sc_i64 at = sc_min_i64(k_block, k_dim - 64);
            f32x16 c = (f32x16){0};
            f32x16 c_1 = (f32x16){0};
            f32x16 c_2 = (f32x16){0};
            f32x16 c_3 = (f32x16){0};
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at_1 = slot * k_dim;
                c = c + sc_load_f32x16(&c_carry[at_1 + at]);
                c_1 = c_1 + sc_load_f32x16(&c_carry[at_1 + at + 16]);
                c_2 = c_2 + sc_load_f32x16(&c_carry[at_1 + at + 32]);
                c_3 = c_3 + sc_load_f32x16(&c_carry[at_1 + at + 48]);
            }
            const sc_i64 C_at = begin * C_stride0 + at;
            sc_store_f32x16(&C_val[C_at], c);
            sc_store_f32x16(&C_val[C_at + 16], c_1);
            sc_store_f32x16(&C_val[C_at + 32], c_2);
            sc_store_f32x16(&C_val[C_at + 48], c_3);
        }
    } else {
        const sc_i64 rest = k_dim % 64;
        const sc_i64 full = k_dim - rest;
        if ((rest & 32) != 0) {
            const sc_i64 k_block_1 = full + (rest & -64);
            f32x16 c_4 = (f32x16){0};
            f32x16 c_5 = (f32x16){0};
            for (sc_i64 slot_1 = 0; slot_1 < carried; slot_1++) {
                const sc_i64 at_2 = slot_1 * k_dim;
                c_4 = c_4 + sc_load_f32x16(&c_carry[at_2 + k_block_1]);
                c_5 = c_5 + sc_load_f32x16(&c_carry[at_2 + k_block_1 + 16]);
            }
            const sc_i64 C_at_1 = begin * C_stride0 + k_block_1;
            sc_store_f32x16(&C_val[C_at_1], c_4);
            sc_store_f32x16(&C_val[C_at_1 + 16], c_5);
        }
        if ((rest & 16) != 0) {
            const sc_i64 k_block_2 = full + (rest & -32);
            f32x16 c_6 = (f32x16){0};
            for (sc_i64 slot_2 = 0; slot_2 < carried; slot_2++) {
                const sc_i64 at_3 = slot_2 * k_dim;
                c_6 = c_6 + sc_load_f32x16(&c_carry[at_3 + k_block_2]);
            }
            const sc_i64 C_at_2 = begin * C_stride0 + k_block_2;
            sc_store_f32x16(&C_val[C_at_2], c_6);
        }
        if ((rest & 8) != 0) {
            const sc_i64 k_block_3 = full + (rest & -16);
            f32x8 c_7 = (f32x8){0};
            for (sc_i64 slot_3 = 0; slot_3 < carried; slot_3++) {
                const sc_i64 at_4 = slot_3 * k_dim;
                c_7 = c_7 + sc_load_f32x8(&c_carry[at_4 + k_block_3]);
            }
            const sc_i64 C_at_3 = begin * C_stride0 + k_block_3;
            sc_store_f32x8(&C_val[C_at_3], c_7);
        }
        if ((rest & 4) != 0) {
            const sc_i64 k_block_4 = full + (rest & -8);
            f32x4 c_8 = (f32x4){0};
            for (sc_i64 slot_4 = 0; slot_4 < carried; slot_4++) {
                const sc_i64 at_5 = slot_4 * k_dim;
                c_8 = c_8 + sc_load_f32x4(&c_carry[at_5 + k_block_4]);
            }
            const sc_i64 C_at_4 = begin * C_stride0 + k_block_4;
            sc_store_f32x4(&C_val[C_at_4], c_8);
        }
        if ((rest & 2) != 0) {
            const sc_i64 k_block_5 = full + (rest & -4);
            f32x2 c_9 = (f32x2){0};
            for (sc_i64 slot_5 = 0; slot_5 < carried; slot_5++) {
                const sc_i64 at_6 = slot_5 * k_dim;
                c_9 = c_9 + sc_load_f32x2(&c_carry[at_6 + k_block_5]);
            }
            const sc_i64 C_at_5 = begin * C_stride0 + k_block_5;
            sc_store_f32x2(&C_val[C_at_5], c_9);
        }
        if ((rest & 1) != 0) {
            const sc_i64 k_block_6 = full + (rest & -2);
            float c_10 = 0.0f;
            for (sc_i64 slot_6 = 0; slot_6 < carried; slot_6++) {
                const sc_i64 at_7 = slot_6 * k_dim;
                c_10 = c_10 + c_carry[at_7 + k_block_6];
            }
            const sc_i64 C_at_6 = begin * C_stride0 + k_block_6;
            C_val[C_at_6] = c_10;
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
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {3, sizeof(sc_object), SC_KEY, 3, {body, part, finish}};

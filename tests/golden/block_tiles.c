/* Computes
 *   C[i,k] = A[i,j] * x[j,k]
 * with
 *   A: bsr(32,32) f32, indices i32
 *   x: dense f32
 *   C: dense f32
 * by
 *   par i/32 in A {
 *     for k/32 {
 *       for i/8 {
 *         work c[i%8,k%32]: reg f32 {
 *           for j/32 in A {
 *             for j%32 {
 *               for i%8 unroll 8 {
 *                 vec k%32 {
 *                   c[i%8,k%32] += A[i,j] * x[j,k]
 *                 }
 *               }
 *             }
 *           }
 *         } then {
 *           for i%8 unroll 8 {
 *             vec k%32 {
 *               C[i,k] = c[i%8,k%32]
 *             }
 *           }
 *         }
 *       }
 *     }
 *   }
 */
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x8 sc_splat_f32x8(float x) { return (f32x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 x_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const x_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i/32 in A */
    for (sc_i64 i_block = begin; i_block < end; i_block++) {
        /* for k/32 */
        /* for i/8 */
        for (sc_i64 i_block_1 = 0; i_block_1 < 32; i_block_1 += 8) {
            /* work c[i%8,k%32]: reg f32 */
            f32x16 c = (f32x16){0};
            f32x16 c_1 = (f32x16){0};
            f32x16 c_2 = (f32x16){0};
            f32x16 c_3 = (f32x16){0};
            f32x16 c_4 = (f32x16){0};
            f32x16 c_5 = (f32x16){0};
            f32x16 c_6 = (f32x16){0};
            f32x16 c_7 = (f32x16){0};
            f32x16 c_8 = (f32x16){0};
            f32x16 c_9 = (f32x16){0};
            f32x16 c_10 = (f32x16){0};
            f32x16 c_11 = (f32x16){0};
            f32x16 c_12 = (f32x16){0};
            f32x16 c_13 = (f32x16){0};
            f32x16 c_14 = (f32x16){0};
            f32x16 c_15 = (f32x16){0};
            /* for j/32 in A */
            const sc_i64 A_lo = (sc_i64)A_pos1[i_block];
            const sc_i64 A_hi = (sc_i64)A_pos1[i_block + 1];
            for (sc_i64 p = A_lo; p < A_hi; p++) {
                const sc_i64 j_block = (sc_i64)A_crd1[p];
                /* for j%32 */
                for (sc_i64 j_in = 0; j_in < 32; j_in++) {
                    /* for i%8 unroll 8 */
                    /* vec k%32 { c[i%8,k%32] += A[i,j] * x[j,k] } */
                    const sc_i64 A_at = (p * 32 + i_block_1) * 32 + j_in;
                    const float a = A_val[A_at];
                    const sc_i64 x_at = (j_block * 32 + j_in) * x_stride0;
                    c = c + sc_splat_f32x16(a) * sc_load_f32x16(&x_val[x_at]);
                    c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&x_val[x_at + 16]);
                    const sc_i64 A_at_1 = (p * 32 + i_block_1 + 1) * 32 + j_in;
                    const float a_1 = A_val[A_at_1];
                    const sc_i64 x_at_1 = (j_block * 32 + j_in) * x_stride0;
                    c_2 = c_2 + sc_splat_f32x16(a_1) * sc_load_f32x16(&x_val[x_at_1]);
                    c_3 = c_3 + sc_splat_f32x16(a_1) * sc_load_f32x16(&x_val[x_at_1 + 16]);
                    const sc_i64 A_at_2 = (p * 32 + i_block_1 + 2) * 32 + j_in;
                    const float a_2 = A_val[A_at_2];
                    const sc_i64 x_at_2 = (j_block * 32 + j_in) * x_stride0;
                    c_4 = c_4 + sc_splat_f32x16(a_2) * sc_load_f32x16(&x_val[x_at_2]);
                    c_5 = c_5 + sc_splat_f32x16(a_2) * sc_load_f32x16(&x_val[x_at_2 + 16]);
                    const sc_i64 A_at_3 = (p * 32 + i_block_1 + 3) * 32 + j_in;
                    const float a_3 = A_val[A_at_3];
                    const sc_i64 x_at_3 = (j_block * 32 + j_in) * x_stride0;
                    c_6 = c_6 + sc_splat_f32x16(a_3) * sc_load_f32x16(&x_val[x_at_3]);
                    c_7 = c_7 + sc_splat_f32x16(a_3) * sc_load_f32x16(&x_val[x_at_3 + 16]);
                    const sc_i64 A_at_4 = (p * 32 + i_block_1 + 4) * 32 + j_in;
                    const float a_4 = A_val[A_at_4];
                    const sc_i64 x_at_4 = (j_block * 32 + j_in) * x_stride0;
                    c_8 = c_8 + sc_splat_f32x16(a_4) * sc_load_f32x16(&x_val[x_at_4]);
                    c_9 = c_9 + sc_splat_f32x16(a_4) * sc_load_f32x16(&x_val[x_at_4 + 16]);
                    const sc_i64 A_at_5 = (p * 32 + i_block_1 + 5) * 32 + j_in;
                    const float a_5 = A_val[A_at_5];
                    const sc_i64 x_at_5 = (j_block * 32 + j_in) * x_stride0;
                    c_10 = c_10 + sc_splat_f32x16(a_5) * sc_load_f32x16(&x_val[x_at_5]);
                    c_11 = c_11 + sc_splat_f32x16(a_5) * sc_load_f32x16(&x_val[x_at_5 + 16]);
                    const sc_i64 A_at_6 = (p * 32 + i_block_1 + 6) * 32 + j_in;
                    const float a_6 = A_val[A_at_6];
                    const sc_i64 x_at_6 = (j_block * 32 + j_in) * x_stride0;
                    c_12 = c_12 + sc_splat_f32x16(a_6) * sc_load_f32x16(&x_val[x_at_6]);
                    c_13 = c_13 + sc_splat_f32x16(a_6) * sc_load_f32x16(&x_val[x_at_6 + 16]);
                    const sc_i64 A_at_7 = (p * 32 + i_block_1 + 7) * 32 + j_in;
                    const float a_7 = A_val[A_at_7];
                    const sc_i64 x_at_7 = (j_block * 32 + j_in) * x_stride0;
                    c_14 = c_14 + sc_splat_f32x16(a_7) * sc_load_f32x16(&x_val[x_at_7]);
                    c_15 = c_15 + sc_splat_f32x16(a_7) * sc_load_f32x16(&x_val[x_at_7 + 16]);
                }
            }
            /* for i%8 unroll 8 */
            /* vec k%32 { C[i,k] = c[i%8,k%32] } */
            const sc_i64 C_at = (i_block * 32 + i_block_1) * C_stride0;
            sc_store_f32x16(&C_val[C_at], c);
            sc_store_f32x16(&C_val[C_at + 16], c_1);
            const sc_i64 C_at_1 = (i_block * 32 + i_block_1 + 1) * C_stride0;
            sc_store_f32x16(&C_val[C_at_1], c_2);
            sc_store_f32x16(&C_val[C_at_1 + 16], c_3);
            const sc_i64 C_at_2 = (i_block * 32 + i_block_1 + 2) * C_stride0;
            sc_store_f32x16(&C_val[C_at_2], c_4);
            sc_store_f32x16(&C_val[C_at_2 + 16], c_5);
            const sc_i64 C_at_3 = (i_block * 32 + i_block_1 + 3) * C_stride0;
            sc_store_f32x16(&C_val[C_at_3], c_6);
            sc_store_f32x16(&C_val[C_at_3 + 16], c_7);
            const sc_i64 C_at_4 = (i_block * 32 + i_block_1 + 4) * C_stride0;
            sc_store_f32x16(&C_val[C_at_4], c_8);
            sc_store_f32x16(&C_val[C_at_4 + 16], c_9);
            const sc_i64 C_at_5 = (i_block * 32 + i_block_1 + 5) * C_stride0;
            sc_store_f32x16(&C_val[C_at_5], c_10);
            sc_store_f32x16(&C_val[C_at_5 + 16], c_11);
            const sc_i64 C_at_6 = (i_block * 32 + i_block_1 + 6) * C_stride0;
            sc_store_f32x16(&C_val[C_at_6], c_12);
            sc_store_f32x16(&C_val[C_at_6 + 16], c_13);
            const sc_i64 C_at_7 = (i_block * 32 + i_block_1 + 7) * C_stride0;
            sc_store_f32x16(&C_val[C_at_7], c_14);
            sc_store_f32x16(&C_val[C_at_7 + 16], c_15);
        }
        /* for i/8 */
        for (sc_i64 i_block_1 = 0; i_block_1 < 32; i_block_1 += 8) {
            /* work c[i%8,k%32]: reg f32 */
            f32x8 c = (f32x8){0};
            f32x8 c_1 = (f32x8){0};
            f32x8 c_2 = (f32x8){0};
            f32x8 c_3 = (f32x8){0};
            f32x8 c_4 = (f32x8){0};
            f32x8 c_5 = (f32x8){0};
            f32x8 c_6 = (f32x8){0};
            f32x8 c_7 = (f32x8){0};
            /* for j/32 in A */
            const sc_i64 A_lo = (sc_i64)A_pos1[i_block];
            const sc_i64 A_hi = (sc_i64)A_pos1[i_block + 1];
            for (sc_i64 p = A_lo; p < A_hi; p++) {
                const sc_i64 j_block = (sc_i64)A_crd1[p];
                /* for j%32 */
                for (sc_i64 j_in = 0; j_in < 32; j_in++) {
                    /* for i%8 unroll 8 */
                    /* vec k%32 { c[i%8,k%32] += A[i,j] * x[j,k] } */
                    const sc_i64 A_at = (p * 32 + i_block_1) * 32 + j_in;
                    const float a = A_val[A_at];
                    const sc_i64 x_at = (j_block * 32 + j_in) * x_stride0 + 32;
                    c = c + sc_splat_f32x8(a) * sc_load_f32x8(&x_val[x_at]);
                    const sc_i64 A_at_1 = (p * 32 + i_block_1 + 1) * 32 + j_in;
                    const float a_1 = A_val[A_at_1];
                    const sc_i64 x_at_1 = (j_block * 32 + j_in) * x_stride0 + 32;
                    c_1 = c_1 + sc_splat_f32x8(a_1) * sc_load_f32x8(&x_val[x_at_1]);
                    const sc_i64 A_at_2 = (p * 32 + i_block_1 + 2) * 32 + j_in;
                    const float a_2 = A_val[A_at_2];
                    const sc_i64 x_at_2 = (j_block * 32 + j_in) * x_stride0 + 32;
                    c_2 = c_2 + sc_splat_f32x8(a_2) * sc_load_f32x8(&x_val[x_at_2]);
                    const sc_i64 A_at_3 = (p * 32 + i_block_1 + 3) * 32 + j_in;
                    const float a_3 = A_val[A_at_3];
                    const sc_i64 x_at_3 = (j_block * 32 + j_in) * x_stride0 + 32;
                    c_3 = c_3 + sc_splat_f32x8(a_3) * sc_load_f32x8(&x_val[x_at_3]);
                    const sc_i64 A_at_4 = (p * 32 + i_block_1 + 4) * 32 + j_in;
                    const float a_4 = A_val[A_at_4];
                    const sc_i64 x_at_4 = (j_block * 32 + j_in) * x_stride0 + 32;
                    c_4 = c_4 + sc_splat_f32x8(a_4) * sc_load_f32x8(&x_val[x_at_4]);
                    const sc_i64 A_at_5 = (p * 32 + i_block_1 + 5) * 32 + j_in;
                    const float a_5 = A_val[A_at_5];
                    const sc_i64 x_at_5 = (j_block * 32 + j_in) * x_stride0 + 32;
                    c_5 = c_5 + sc_splat_f32x8(a_5) * sc_load_f32x8(&x_val[x_at_5]);
                    const sc_i64 A_at_6 = (p * 32 + i_block_1 + 6) * 32 + j_in;
                    const float a_6 = A_val[A_at_6];
                    const sc_i64 x_at_6 = (j_block * 32 + j_in) * x_stride0 + 32;
                    c_6 = c_6 + sc_splat_f32x8(a_6) * sc_load_f32x8(&x_val[x_at_6]);
                    const sc_i64 A_at_7 = (p * 32 + i_block_1 + 7) * 32 + j_in;
                    const float a_7 = A_val[A_at_7];
                    const sc_i64 x_at_7 = (j_block * 32 + j_in) * x_stride0 + 32;
                    c_7 = c_7 + sc_splat_f32x8(a_7) * sc_load_f32x8(&x_val[x_at_7]);
                }
            }
            /* for i%8 unroll 8 */
            /* vec k%32 { C[i,k] = c[i%8,k%32] } */
            const sc_i64 C_at = (i_block * 32 + i_block_1) * C_stride0 + 32;
            sc_store_f32x8(&C_val[C_at], c);
            const sc_i64 C_at_1 = (i_block * 32 + i_block_1 + 1) * C_stride0 + 32;
            sc_store_f32x8(&C_val[C_at_1], c_1);
            const sc_i64 C_at_2 = (i_block * 32 + i_block_1 + 2) * C_stride0 + 32;
            sc_store_f32x8(&C_val[C_at_2], c_2);
            const sc_i64 C_at_3 = (i_block * 32 + i_block_1 + 3) * C_stride0 + 32;
            sc_store_f32x8(&C_val[C_at_3], c_3);
            const sc_i64 C_at_4 = (i_block * 32 + i_block_1 + 4) * C_stride0 + 32;
            sc_store_f32x8(&C_val[C_at_4], c_4);
            const sc_i64 C_at_5 = (i_block * 32 + i_block_1 + 5) * C_stride0 + 32;
            sc_store_f32x8(&C_val[C_at_5], c_5);
            const sc_i64 C_at_6 = (i_block * 32 + i_block_1 + 6) * C_stride0 + 32;
            sc_store_f32x8(&C_val[C_at_6], c_6);
            const sc_i64 C_at_7 = (i_block * 32 + i_block_1 + 7) * C_stride0 + 32;
            sc_store_f32x8(&C_val[C_at_7], c_7);
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

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

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for k/64 */
        if (k_dim >= 64) {
            for (sc_i64 k_block = 0; k_block < k_dim; k_block += 64) {
                const sc_i64 at = sc_min_i64(k_block, k_dim - 64);
                /* work c[k%64]: reg f32 */
                f32x16 c = (f32x16){0};
                f32x16 c_1 = (f32x16){0};
                f32x16 c_2 = (f32x16){0};
                f32x16 c_3 = (f32x16){0};
                /* for j in A */
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p++) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    /* vec k%64 { c[k%64] += A[i,j] * B[j,k] } */
                    const float a = A_val[p];
                    const sc_i64 B_at = j * B_stride0 + at;
                    c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
                    c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 16]);
                    c_2 = c_2 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 32]);
                    c_3 = c_3 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 48]);
                }
                /* vec k%64 { C[i,k] = c[k%64] } */
                const sc_i64 C_at = i * C_stride0 + at;
                sc_store_f32x16(&C_val[C_at], c);
                sc_store_f32x16(&C_val[C_at + 16], c_1);
                sc_store_f32x16(&C_val[C_at + 32], c_2);
                sc_store_f32x16(&C_val[C_at + 48], c_3);
            }
        } else {
            const sc_i64 rest = k_dim % 64;
            const sc_i64 full = k_dim - rest;
            /* the rest, in powers of two */
            if ((rest & 32) != 0) {
                const sc_i64 k_block = full + (rest & -64);
                f32x16 c = (f32x16){0};
                f32x16 c_1 = (f32x16){0};
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    const float a = A_val[p];
                    const sc_i64 B_at = j * B_stride0 + k_block;
                    c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
                    c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 16]);
                    if (p + 1 < A_hi) {
                        const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                        const float a_1 = A_val[p + 1];
                        const sc_i64 B_at_1 = j_1 * B_stride0 + k_block;
                        c = c + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
                        c_1 = c_1 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1 + 16]);
                    }
                }
                const sc_i64 C_at = i * C_stride0 + k_block;
                sc_store_f32x16(&C_val[C_at], c);
                sc_store_f32x16(&C_val[C_at + 16], c_1);
            }
            if ((rest & 16) != 0) {
                const sc_i64 k_block = full + (rest & -32);
                f32x16 c = (f32x16){0};
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    const float a = A_val[p];
                    const sc_i64 B_at = j * B_stride0 + k_block;
                    c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
                    if (p + 1 < A_hi) {
                        const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                        const float a_1 = A_val[p + 1];
                        const sc_i64 B_at_1 = j_1 * B_stride0 + k_block;
                        c = c + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
                    }
                }
                const sc_i64 C_at = i * C_stride0 + k_block;
                sc_store_f32x16(&C_val[C_at], c);
            }
            if ((rest & 8) != 0) {
                const sc_i64 k_block = full + (rest & -16);
                f32x8 c = (f32x8){0};
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    const float a = A_val[p];
                    const sc_i64 B_at = j * B_stride0 + k_block;
                    c = c + sc_splat_f32x8(a) * sc_load_f32x8(&B_val[B_at]);
                    if (p + 1 < A_hi) {
                        const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                        const float a_1 = A_val[p + 1];
                        const sc_i64 B_at_1 = j_1 * B_stride0 + k_block;
                        c = c + sc_splat_f32x8(a_1) * sc_load_f32x8(&B_val[B_at_1]);
                    }
                }
                const sc_i64 C_at = i * C_stride0 + k_block;
                sc_store_f32x8(&C_val[C_at], c);
            }
            if ((rest & 4) != 0) {
                const sc_i64 k_block = full + (rest & -8);
                f32x4 c = (f32x4){0};
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    const float a = A_val[p];
                    const sc_i64 B_at = j * B_stride0 + k_block;
                    c = c + sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at]);
                    if (p + 1 < A_hi) {
                        const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                        const float a_1 = A_val[p + 1];
                        const sc_i64 B_at_1 = j_1 * B_stride0 + k_block;
                        c = c + sc_splat_f32x4(a_1) * sc_load_f32x4(&B_val[B_at_1]);
                    }
                }
                const sc_i64 C_at = i * C_stride0 + k_block;
                sc_store_f32x4(&C_val[C_at], c);
            }
            if ((rest & 2) != 0) {
                const sc_i64 k_block = full + (rest & -4);
                f32x2 c = (f32x2){0};
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    const float a = A_val[p];
                    const sc_i64 B_at = j * B_stride0 + k_block;
                    c = c + sc_splat_f32x2(a) * sc_load_f32x2(&B_val[B_at]);
                    if (p + 1 < A_hi) {
                        const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                        const float a_1 = A_val[p + 1];
                        const sc_i64 B_at_1 = j_1 * B_stride0 + k_block;
                        c = c + sc_splat_f32x2(a_1) * sc_load_f32x2(&B_val[B_at_1]);
                    }
                }
                const sc_i64 C_at = i * C_stride0 + k_block;
                sc_store_f32x2(&C_val[C_at], c);
            }
            if ((rest & 1) != 0) {
                const sc_i64 k_block = full + (rest & -2);
                float c = 0.0f;
                const sc_i64 A_lo = (sc_i64)A_pos1[i];
                const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                    const sc_i64 j = (sc_i64)A_crd1[p];
                    const float a = A_val[p];
                    const sc_i64 B_at = j * B_stride0 + k_block;
                    c = c + a * B_val[B_at];
                    if (p + 1 < A_hi) {
                        const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                        const float a_1 = A_val[p + 1];
                        const sc_i64 B_at_1 = j_1 * B_stride0 + k_block;
                        c = c + a_1 * B_val[B_at_1];
                    }
                }
                const sc_i64 C_at = i * C_stride0 + k_block;
                C_val[C_at] = c;
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

    /* par i in A */
    /* for k/64 */
    if (k_dim >= 64) {
        for (sc_i64 k_block = 0; k_block < k_dim; k_block += 64) {
            const sc_i64 at = sc_min_i64(k_block, k_dim - 64);
            /* work c[k%64]: reg f32 */
            f32x16 c = (f32x16){0};
            f32x16 c_1 = (f32x16){0};
            f32x16 c_2 = (f32x16){0};
            f32x16 c_3 = (f32x16){0};
            /* for j in A */
            for (sc_i64 p = begin; p < end; p++) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                /* vec k%64 { c[k%64] += A[i,j] * B[j,k] } */
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
        /* the rest, in powers of two */
        if ((rest & 32) != 0) {
            const sc_i64 k_block = full + (rest & -64);
            f32x16 c = (f32x16){0};
            f32x16 c_1 = (f32x16){0};
            for (sc_i64 p = begin; p < end; p += 2) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 B_at = j * B_stride0 + k_block;
                c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
                c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 16]);
                if (p + 1 < end) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                    const float a_1 = A_val[p + 1];
                    const sc_i64 B_at_1 = j_1 * B_stride0 + k_block;
                    c = c + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
                    c_1 = c_1 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1 + 16]);
                }
            }
            sc_store_f32x16(&c_carry[k_block], c);
            sc_store_f32x16(&c_carry[k_block + 16], c_1);
        }
        if ((rest & 16) != 0) {
            const sc_i64 k_block = full + (rest & -32);
            f32x16 c = (f32x16){0};
            for (sc_i64 p = begin; p < end; p += 2) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 B_at = j * B_stride0 + k_block;
                c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
                if (p + 1 < end) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                    const float a_1 = A_val[p + 1];
                    const sc_i64 B_at_1 = j_1 * B_stride0 + k_block;
                    c = c + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
                }
            }
            sc_store_f32x16(&c_carry[k_block], c);
        }
        if ((rest & 8) != 0) {
            const sc_i64 k_block = full + (rest & -16);
            f32x8 c = (f32x8){0};
            for (sc_i64 p = begin; p < end; p += 2) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 B_at = j * B_stride0 + k_block;
                c = c + sc_splat_f32x8(a) * sc_load_f32x8(&B_val[B_at]);
                if (p + 1 < end) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                    const float a_1 = A_val[p + 1];
                    const sc_i64 B_at_1 = j_1 * B_stride0 + k_block;
                    c = c + sc_splat_f32x8(a_1) * sc_load_f32x8(&B_val[B_at_1]);
                }
            }
            sc_store_f32x8(&c_carry[k_block], c);
        }
        if ((rest & 4) != 0) {
            const sc_i64 k_block = full + (rest & -8);
            f32x4 c = (f32x4){0};
            for (sc_i64 p = begin; p < end; p += 2) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 B_at = j * B_stride0 + k_block;
                c = c + sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at]);
                if (p + 1 < end) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                    const float a_1 = A_val[p + 1];
                    const sc_i64 B_at_1 = j_1 * B_stride0 + k_block;
                    c = c + sc_splat_f32x4(a_1) * sc_load_f32x4(&B_val[B_at_1]);
                }
            }
            sc_store_f32x4(&c_carry[k_block], c);
        }
        if ((rest & 2) != 0) {
            const sc_i64 k_block = full + (rest & -4);
            f32x2 c = (f32x2){0};
            for (sc_i64 p = begin; p < end; p += 2) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 B_at = j * B_stride0 + k_block;
                c = c + sc_splat_f32x2(a) * sc_load_f32x2(&B_val[B_at]);
                if (p + 1 < end) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                    const float a_1 = A_val[p + 1];
                    const sc_i64 B_at_1 = j_1 * B_stride0 + k_block;
                    c = c + sc_splat_f32x2(a_1) * sc_load_f32x2(&B_val[B_at_1]);
                }
            }
            sc_store_f32x2(&c_carry[k_block], c);
        }
        if ((rest & 1) != 0) {
            const sc_i64 k_block = full + (rest & -2);
            float c = 0.0f;
            for (sc_i64 p = begin; p < end; p += 2) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 B_at = j * B_stride0 + k_block;
                c = c + a * B_val[B_at];
                if (p + 1 < end) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                    const float a_1 = A_val[p + 1];
                    const sc_i64 B_at_1 = j_1 * B_stride0 + k_block;
                    c = c + a_1 * B_val[B_at_1];
                }
            }
            c_carry[k_block] = c;
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

    /* par i in A */
    /* for k/64 */
    if (k_dim >= 64) {
        for (sc_i64 k_block = 0; k_block < k_dim; k_block += 64) {
            const sc_i64 at = sc_min_i64(k_block, k_dim - 64);
            /* work c[k%64]: reg f32 */
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
            /* vec k%64 { C[i,k] = c[k%64] } */
            const sc_i64 C_at = begin * C_stride0 + at;
            sc_store_f32x16(&C_val[C_at], c);
            sc_store_f32x16(&C_val[C_at + 16], c_1);
            sc_store_f32x16(&C_val[C_at + 32], c_2);
            sc_store_f32x16(&C_val[C_at + 48], c_3);
        }
    } else {
        const sc_i64 rest = k_dim % 64;
        const sc_i64 full = k_dim - rest;
        /* the rest, in powers of two */
        if ((rest & 32) != 0) {
            const sc_i64 k_block = full + (rest & -64);
            f32x16 c = (f32x16){0};
            f32x16 c_1 = (f32x16){0};
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at = slot * k_dim;
                c = c + sc_load_f32x16(&c_carry[at + k_block]);
                c_1 = c_1 + sc_load_f32x16(&c_carry[at + k_block + 16]);
            }
            const sc_i64 C_at = begin * C_stride0 + k_block;
            sc_store_f32x16(&C_val[C_at], c);
            sc_store_f32x16(&C_val[C_at + 16], c_1);
        }
        if ((rest & 16) != 0) {
            const sc_i64 k_block = full + (rest & -32);
            f32x16 c = (f32x16){0};
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at = slot * k_dim;
                c = c + sc_load_f32x16(&c_carry[at + k_block]);
            }
            const sc_i64 C_at = begin * C_stride0 + k_block;
            sc_store_f32x16(&C_val[C_at], c);
        }
        if ((rest & 8) != 0) {
            const sc_i64 k_block = full + (rest & -16);
            f32x8 c = (f32x8){0};
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at = slot * k_dim;
                c = c + sc_load_f32x8(&c_carry[at + k_block]);
            }
            const sc_i64 C_at = begin * C_stride0 + k_block;
            sc_store_f32x8(&C_val[C_at], c);
        }
        if ((rest & 4) != 0) {
            const sc_i64 k_block = full + (rest & -8);
            f32x4 c = (f32x4){0};
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at = slot * k_dim;
                c = c + sc_load_f32x4(&c_carry[at + k_block]);
            }
            const sc_i64 C_at = begin * C_stride0 + k_block;
            sc_store_f32x4(&C_val[C_at], c);
        }
        if ((rest & 2) != 0) {
            const sc_i64 k_block = full + (rest & -4);
            f32x2 c = (f32x2){0};
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at = slot * k_dim;
                c = c + sc_load_f32x2(&c_carry[at + k_block]);
            }
            const sc_i64 C_at = begin * C_stride0 + k_block;
            sc_store_f32x2(&C_val[C_at], c);
        }
        if ((rest & 1) != 0) {
            const sc_i64 k_block = full + (rest & -2);
            float c = 0.0f;
            for (sc_i64 slot = 0; slot < carried; slot++) {
                const sc_i64 at = slot * k_dim;
                c = c + c_carry[at + k_block];
            }
            const sc_i64 C_at = begin * C_stride0 + k_block;
            C_val[C_at] = c;
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
    3, {body, part, finish}};

/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: csr f32, indices i32
 *   B: dense bf16
 *   C: dense f32
 * by
 *   par i in A {
 *     work c[k]: reg f32 {
 *       for j in A ahead 4 {
 *         vec k {
 *           c[k] += A[i,j] * B[j,k]
 *         }
 *       }
 *     } then {
 *       vec k {
 *         C[i,k] = c[k]
 *       }
 *     }
 *   }
 */
typedef short i16x16 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef unsigned short bf16x16 __attribute__((vector_size(32)));
typedef unsigned short bf16x16u __attribute__((vector_size(32), aligned(2), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE bf16x16 sc_load_bf16x16(const unsigned short *p) { return *(const bf16x16u *)p; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE f32x16 sc_from_bf16_f32x16(bf16x16 x)
{
#if defined(__AVX512F__) && !defined(__clang__)
    typedef short half __attribute__((vector_size(32)));
    return (f32x16)(__builtin_ia32_pmovzxwd512_mask((half)x, (i32x16){0}, -1) << 16);
#endif
    return (f32x16)(__builtin_convertvector(x, i32x16) << 16);
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 A_npos1 = call->view[0].level[1].npos;
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const unsigned short *restrict const B_val = call->view[1].val;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c[k]: reg f32 */
        f32x16 c = (f32x16){0};
        f32x16 c_1 = (f32x16){0};
        f32x16 c_2 = (f32x16){0};
        /* for j in A ahead 4 */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            const sc_i64 ahead = (sc_i64)A_crd1[sc_min_i64(p + 4, A_npos1 - 1)];
            const sc_i64 row = ahead * B_stride0;
            __builtin_prefetch(&B_val[row]);
            __builtin_prefetch(&B_val[row + 32]);
            /* vec k { c[k] += A[i,j] * B[j,k] } */
            const float a = A_val[p];
            const sc_i64 B_at = j * B_stride0;
            c = c + sc_splat_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at]));
            c_1 = c_1 + sc_splat_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at + 16]));
            c_2 = c_2 + sc_splat_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at + 32]));
        }
        /* vec k { C[i,k] = c[k] } */
        const sc_i64 C_at = i * C_stride0;
        sc_store_f32x16(&C_val[C_at], c);
        sc_store_f32x16(&C_val[C_at + 16], c_1);
        sc_store_f32x16(&C_val[C_at + 32], c_2);
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 A_npos1 = call->view[0].level[1].npos;
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const unsigned short *restrict const B_val = call->view[1].val;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const c_carry = lane->partial;

    /* par i in A */
    /* work c[k]: reg f32 */
    f32x16 c = (f32x16){0};
    f32x16 c_1 = (f32x16){0};
    f32x16 c_2 = (f32x16){0};
    /* for j in A ahead 4 */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        const sc_i64 ahead = (sc_i64)A_crd1[sc_min_i64(p + 4, A_npos1 - 1)];
        const sc_i64 row = ahead * B_stride0;
        __builtin_prefetch(&B_val[row]);
        __builtin_prefetch(&B_val[row + 32]);
        /* vec k { c[k] += A[i,j] * B[j,k] } */
        const float a = A_val[p];
        const sc_i64 B_at = j * B_stride0;
        c = c + sc_splat_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at]));
        c_1 = c_1 + sc_splat_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at + 16]));
        c_2 = c_2 + sc_splat_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at + 32]));
    }
    sc_store_f32x16(c_carry, c);
    sc_store_f32x16(&c_carry[16], c_1);
    sc_store_f32x16(&c_carry[32], c_2);
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 carried = lane->cursor[1];
    float *restrict const C_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* par i in A */
    /* work c[k]: reg f32 */
    f32x16 c = (f32x16){0};
    f32x16 c_1 = (f32x16){0};
    f32x16 c_2 = (f32x16){0};
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 48;
        c = c + sc_load_f32x16(&c_carry[at]);
        c_1 = c_1 + sc_load_f32x16(&c_carry[at + 16]);
        c_2 = c_2 + sc_load_f32x16(&c_carry[at + 32]);
    }
    /* vec k { C[i,k] = c[k] } */
    const sc_i64 C_at = begin * C_stride0;
    sc_store_f32x16(&C_val[C_at], c);
    sc_store_f32x16(&C_val[C_at + 16], c_1);
    sc_store_f32x16(&C_val[C_at + 32], c_2);
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

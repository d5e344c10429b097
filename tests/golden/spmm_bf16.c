/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: csr bf16, indices i32
 *   B: dense bf16
 *   C: dense bf16
 * by
 *   par i in A {
 *     work c[k]: reg f32 {
 *       for j in A unroll 4 {
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
 * because
 *   loops over A follow its storage order
 *   k is the vector: it runs at stride 1 in most operands
 */
typedef short i16x8 __attribute__((vector_size(16)));
typedef int i32x8 __attribute__((vector_size(32)));
typedef unsigned short bf16x8 __attribute__((vector_size(16)));
typedef unsigned short bf16x8u __attribute__((vector_size(16), aligned(2), may_alias));
typedef unsigned short bf16x16 __attribute__((vector_size(32)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE bf16x8 sc_load_bf16x8(const unsigned short *p) { return *(const bf16x8u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE void sc_store_bf16x8(unsigned short *p, bf16x8 x) { *(bf16x8u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }
SC_INLINE f32x8 sc_from_bf16_f32x8(bf16x8 x)
{
#if defined(__AVX2__) && !defined(__clang__)
    typedef short half __attribute__((vector_size(16)));
    return (f32x8)(__builtin_ia32_pmovzxwd256((half)x) << 16);
#endif
    return (f32x8)(__builtin_convertvector(x, i32x8) << 16);
}
SC_INLINE bf16x8 sc_to_bf16_f32x8(f32x8 x)
{
    const i32x8 b = (i32x8)x, nan = (i32x8)(x != x);
    const i32x8 r = (~nan & (b + 0x7fff + (b >> 16 & 1)) >> 16) | (nan & 0x7fc0);
    return __builtin_convertvector(r, bf16x8);
}
SC_INLINE f32x8 sc_wide_f32x8(unsigned short x)
{
    return (f32x8)((i32x8)(bf16x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x} << 16);
}
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const unsigned short *restrict const A_val = call->view[0].val;
    const unsigned short *restrict const B_val = call->view[1].val;
    unsigned short *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c[k]: reg f32 */
        f32x8 c = (f32x8){0};
        /* for j in A unroll 4 */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        const sc_i64 count = A_hi - A_lo;
        const sc_i64 whole = A_lo + (count - count % 4);
        f32x8 c_1 = (f32x8){0};
        f32x8 c_2 = (f32x8){0};
        f32x8 c_3 = (f32x8){0};
        for (sc_i64 p = A_lo; p < whole; p += 4) {
            const sc_i64 jj = sc_pair_i32(&A_crd1[p]);
            const sc_i64 j = jj & 4294967295;
            /* vec k { c[k] += A[i,j] * B[j,k] } */
            const unsigned short a = A_val[p];
            const sc_i64 B_at = j * B_stride0;
            c = c + sc_wide_f32x8(a) * sc_from_bf16_f32x8(sc_load_bf16x8(&B_val[B_at]));
            const sc_i64 j_1 = jj >> 32;
            const unsigned short a_1 = A_val[p + 1];
            const sc_i64 B_at_1 = j_1 * B_stride0;
            c_1 = c_1 + sc_wide_f32x8(a_1) * sc_from_bf16_f32x8(sc_load_bf16x8(&B_val[B_at_1]));
            const sc_i64 jj_1 = sc_pair_i32(&A_crd1[p + 2]);
            const sc_i64 j_2 = jj_1 & 4294967295;
            const unsigned short a_2 = A_val[p + 2];
            const sc_i64 B_at_2 = j_2 * B_stride0;
            c_2 = c_2 + sc_wide_f32x8(a_2) * sc_from_bf16_f32x8(sc_load_bf16x8(&B_val[B_at_2]));
            const sc_i64 j_3 = jj_1 >> 32;
            const unsigned short a_3 = A_val[p + 3];
            const sc_i64 B_at_3 = j_3 * B_stride0;
            c_3 = c_3 + sc_wide_f32x8(a_3) * sc_from_bf16_f32x8(sc_load_bf16x8(&B_val[B_at_3]));
        }
        c = c + c_1;
        c = c + c_2;
        c = c + c_3;
        for (sc_i64 p = whole; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            const unsigned short a = A_val[p];
            const sc_i64 B_at = j * B_stride0;
            c = c + sc_wide_f32x8(a) * sc_from_bf16_f32x8(sc_load_bf16x8(&B_val[B_at]));
        }
        /* vec k { C[i,k] = c[k] } */
        const sc_i64 C_at = i * C_stride0;
        sc_store_bf16x8(&C_val[C_at], sc_to_bf16_f32x8(c));
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const unsigned short *restrict const A_val = call->view[0].val;
    const unsigned short *restrict const B_val = call->view[1].val;
    float *restrict const c_carry = lane->partial;

    /* par i in A */
    /* work c[k]: reg f32 */
    f32x8 c = (f32x8){0};
    /* for j in A unroll 4 */
    const sc_i64 count = end - begin;
    const sc_i64 whole = begin + (count - count % 4);
    f32x8 c_1 = (f32x8){0};
    f32x8 c_2 = (f32x8){0};
    f32x8 c_3 = (f32x8){0};
    for (sc_i64 p = begin; p < whole; p += 4) {
        const sc_i64 jj = sc_pair_i32(&A_crd1[p]);
        const sc_i64 j = jj & 4294967295;
        /* vec k { c[k] += A[i,j] * B[j,k] } */
        const unsigned short a = A_val[p];
        const sc_i64 B_at = j * B_stride0;
        c = c + sc_wide_f32x8(a) * sc_from_bf16_f32x8(sc_load_bf16x8(&B_val[B_at]));
        const sc_i64 j_1 = jj >> 32;
        const unsigned short a_1 = A_val[p + 1];
        const sc_i64 B_at_1 = j_1 * B_stride0;
        c_1 = c_1 + sc_wide_f32x8(a_1) * sc_from_bf16_f32x8(sc_load_bf16x8(&B_val[B_at_1]));
        const sc_i64 jj_1 = sc_pair_i32(&A_crd1[p + 2]);
        const sc_i64 j_2 = jj_1 & 4294967295;
        const unsigned short a_2 = A_val[p + 2];
        const sc_i64 B_at_2 = j_2 * B_stride0;
        c_2 = c_2 + sc_wide_f32x8(a_2) * sc_from_bf16_f32x8(sc_load_bf16x8(&B_val[B_at_2]));
        const sc_i64 j_3 = jj_1 >> 32;
        const unsigned short a_3 = A_val[p + 3];
        const sc_i64 B_at_3 = j_3 * B_stride0;
        c_3 = c_3 + sc_wide_f32x8(a_3) * sc_from_bf16_f32x8(sc_load_bf16x8(&B_val[B_at_3]));
    }
    c = c + c_1;
    c = c + c_2;
    c = c + c_3;
    for (sc_i64 p = whole; p < end; p++) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        const unsigned short a = A_val[p];
        const sc_i64 B_at = j * B_stride0;
        c = c + sc_wide_f32x8(a) * sc_from_bf16_f32x8(sc_load_bf16x8(&B_val[B_at]));
    }
    sc_store_f32x8(c_carry, c);
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 carried = lane->cursor[1];
    unsigned short *restrict const C_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* par i in A */
    /* work c[k]: reg f32 */
    f32x8 c = (f32x8){0};
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 8;
        c = c + sc_load_f32x8(&c_carry[at]);
    }
    /* vec k { C[i,k] = c[k] } */
    const sc_i64 C_at = begin * C_stride0;
    sc_store_bf16x8(&C_val[C_at], sc_to_bf16_f32x8(c));
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

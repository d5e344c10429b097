/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: csr bf16, indices i32
 *   B: dense bf16
 *   C: dense bf16
 * by
 *   par i in A {
 *     work c[k]: reg f32 {
 *       for j in A unroll 2 {
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
typedef short i16x16 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef unsigned short bf16x16 __attribute__((vector_size(32)));
typedef unsigned short bf16x16u __attribute__((vector_size(32), aligned(2), may_alias));
typedef unsigned short bf16x32 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE bf16x16 sc_load_bf16x16(const unsigned short *p) { return *(const bf16x16u *)p; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_bf16x16(unsigned short *p, bf16x16 x) { *(bf16x16u *)p = x; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE f32x16 sc_from_bf16_f32x16(bf16x16 x)
{
#if defined(__AVX512F__) && !defined(__clang__)
    typedef short half __attribute__((vector_size(32)));
    return (f32x16)(__builtin_ia32_pmovzxwd512_mask((half)x, (i32x16){0}, -1) << 16);
#endif
    return (f32x16)(__builtin_convertvector(x, i32x16) << 16);
}
SC_INLINE bf16x16 sc_to_bf16_f32x16(f32x16 x)
{
    const i32x16 b = (i32x16)x, nan = (i32x16)(x != x);
    const i32x16 r = (~nan & (b + 0x7fff + (b >> 16 & 1)) >> 16) | (nan & 0x7fc0);
    return __builtin_convertvector(r, bf16x16);
}
SC_INLINE f32x16 sc_wide_f32x16(unsigned short x)
{
    return (f32x16)((i32x16)(bf16x32){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x,
                                      x, x, x, x, x, x, x, x} << 16);
}
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }
SC_INLINE f32x16 sc_dot_f32x16(f32x16 sum, const unsigned short *pair, bf16x16 x, bf16x16 y)
{
#if __GNUC__ >= 12 && !defined(__clang__) && defined(__AVX512BW__) && defined(__AVX512VL__)
    const i32x16 two = (i32x16)__builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,
                                                       7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                       14, 30, 15, 31);
    int both;
    __builtin_memcpy(&both, pair, sizeof both);
    __asm__("vdpbf16ps %1, %2, %0" : "+v"(sum) : "v"(two), "v"((i32x16){0} + both));
    return sum;
#else
    return sum + sc_wide_f32x16(pair[0]) * sc_from_bf16_f32x16(x) +
        sc_wide_f32x16(pair[1]) * sc_from_bf16_f32x16(y);
#endif
}

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
        f32x16 c = (f32x16){0};
        f32x16 c_1 = (f32x16){0};
        f32x16 c_2 = (f32x16){0};
        f32x16 c_3 = (f32x16){0};
        /* for j in A unroll 2 */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        const sc_i64 count = A_hi - A_lo;
        const sc_i64 whole = A_lo + (count - count % 2);
        for (sc_i64 p = A_lo; p < whole; p += 2) {
            const sc_i64 jj = sc_pair_i32(&A_crd1[p]);
            const sc_i64 j = jj & 4294967295;
            /* vec k { c[k] += A[i,j] * B[j,k] } */
            const sc_i64 B_at = j * B_stride0;
            const sc_i64 j_1 = jj >> 32;
            const sc_i64 B_at_1 = j_1 * B_stride0;
            c = sc_dot_f32x16(c, &A_val[p], sc_load_bf16x16(&B_val[B_at]), sc_load_bf16x16(&B_val[B_at_1]));
            c_1 = sc_dot_f32x16(c_1, &A_val[p], sc_load_bf16x16(&B_val[B_at + 16]),
                                sc_load_bf16x16(&B_val[B_at_1 + 16]));
            c_2 = sc_dot_f32x16(c_2, &A_val[p], sc_load_bf16x16(&B_val[B_at + 32]),
                                sc_load_bf16x16(&B_val[B_at_1 + 32]));
            c_3 = sc_dot_f32x16(c_3, &A_val[p], sc_load_bf16x16(&B_val[B_at + 48]),
                                sc_load_bf16x16(&B_val[B_at_1 + 48]));
        }
        for (sc_i64 p = whole; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            const unsigned short a = A_val[p];
            const sc_i64 B_at = j * B_stride0;
            c = c + sc_wide_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at]));
            c_1 = c_1 + sc_wide_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at + 16]));
            c_2 = c_2 + sc_wide_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at + 32]));
            c_3 = c_3 + sc_wide_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at + 48]));
        }
        /* vec k { C[i,k] = c[k] } */
        const sc_i64 C_at = i * C_stride0;
        sc_store_bf16x16(&C_val[C_at], sc_to_bf16_f32x16(c));
        sc_store_bf16x16(&C_val[C_at + 16], sc_to_bf16_f32x16(c_1));
        sc_store_bf16x16(&C_val[C_at + 32], sc_to_bf16_f32x16(c_2));
        sc_store_bf16x16(&C_val[C_at + 48], sc_to_bf16_f32x16(c_3));
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
    f32x16 c = (f32x16){0};
    f32x16 c_1 = (f32x16){0};
    f32x16 c_2 = (f32x16){0};
    f32x16 c_3 = (f32x16){0};
    /* for j in A unroll 2 */
    const sc_i64 count = end - begin;
    const sc_i64 whole = begin + (count - count % 2);
    for (sc_i64 p = begin; p < whole; p += 2) {
        const sc_i64 jj = sc_pair_i32(&A_crd1[p]);
        const sc_i64 j = jj & 4294967295;
        /* vec k { c[k] += A[i,j] * B[j,k] } */
        const sc_i64 B_at = j * B_stride0;
        const sc_i64 j_1 = jj >> 32;
        const sc_i64 B_at_1 = j_1 * B_stride0;
        c = sc_dot_f32x16(c, &A_val[p], sc_load_bf16x16(&B_val[B_at]), sc_load_bf16x16(&B_val[B_at_1]));
        c_1 = sc_dot_f32x16(c_1, &A_val[p], sc_load_bf16x16(&B_val[B_at + 16]),
                            sc_load_bf16x16(&B_val[B_at_1 + 16]));
        c_2 = sc_dot_f32x16(c_2, &A_val[p], sc_load_bf16x16(&B_val[B_at + 32]),
                            sc_load_bf16x16(&B_val[B_at_1 + 32]));
        c_3 = sc_dot_f32x16(c_3, &A_val[p], sc_load_bf16x16(&B_val[B_at + 48]),
                            sc_load_bf16x16(&B_val[B_at_1 + 48]));
    }
    for (sc_i64 p = whole; p < end; p++) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        const unsigned short a = A_val[p];
        const sc_i64 B_at = j * B_stride0;
        c = c + sc_wide_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at]));
        c_1 = c_1 + sc_wide_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at + 16]));
        c_2 = c_2 + sc_wide_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at + 32]));
        c_3 = c_3 + sc_wide_f32x16(a) * sc_from_bf16_f32x16(sc_load_bf16x16(&B_val[B_at + 48]));
    }
    sc_store_f32x16(c_carry, c);
    sc_store_f32x16(&c_carry[16], c_1);
    sc_store_f32x16(&c_carry[32], c_2);
    sc_store_f32x16(&c_carry[48], c_3);
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
    f32x16 c = (f32x16){0};
    f32x16 c_1 = (f32x16){0};
    f32x16 c_2 = (f32x16){0};
    f32x16 c_3 = (f32x16){0};
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 64;
        c = c + sc_load_f32x16(&c_carry[at]);
        c_1 = c_1 + sc_load_f32x16(&c_carry[at + 16]);
        c_2 = c_2 + sc_load_f32x16(&c_carry[at + 32]);
        c_3 = c_3 + sc_load_f32x16(&c_carry[at + 48]);
    }
    /* vec k { C[i,k] = c[k] } */
    const sc_i64 C_at = begin * C_stride0;
    sc_store_bf16x16(&C_val[C_at], sc_to_bf16_f32x16(c));
    sc_store_bf16x16(&C_val[C_at + 16], sc_to_bf16_f32x16(c_1));
    sc_store_bf16x16(&C_val[C_at + 32], sc_to_bf16_f32x16(c_2));
    sc_store_bf16x16(&C_val[C_at + 48], sc_to_bf16_f32x16(c_3));
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

/* Computes
 *   C[i] = A[i,j] * x[j]
 * with
 *   A: csr bf16, indices i32
 *   x: dense bf16
 *   C: dense bf16
 * by
 *   work t[j]: lane f32 {
 *     vec j {
 *       t[j] = x[j]
 *     }
 *   } then {
 *     par i in A {
 *       work c: reg f32 {
 *         vec j in A {
 *           c += A[i,j] * t[j]
 *         }
 *       } then {
 *         C[i] = c
 *       }
 *     }
 *   }
 */
typedef short i16x2 __attribute__((vector_size(4)));
typedef short i16x4 __attribute__((vector_size(8)));
typedef short i16x8 __attribute__((vector_size(16)));
typedef short i16x16 __attribute__((vector_size(32)));
typedef int i32x2 __attribute__((vector_size(8)));
typedef int i32x4 __attribute__((vector_size(16)));
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef unsigned short bf16x2 __attribute__((vector_size(4)));
typedef unsigned short bf16x2u __attribute__((vector_size(4), aligned(2), may_alias));
typedef unsigned short bf16x4 __attribute__((vector_size(8)));
typedef unsigned short bf16x4u __attribute__((vector_size(8), aligned(2), may_alias));
typedef unsigned short bf16x8 __attribute__((vector_size(16)));
typedef unsigned short bf16x8u __attribute__((vector_size(16), aligned(2), may_alias));
typedef unsigned short bf16x16 __attribute__((vector_size(32)));
typedef unsigned short bf16x16u __attribute__((vector_size(32), aligned(2), may_alias));
typedef float f32x2 __attribute__((vector_size(8)));
typedef float f32x2u __attribute__((vector_size(8), aligned(4), may_alias));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4u __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE bf16x16 sc_load_bf16x16(const unsigned short *p) { return *(const bf16x16u *)p; }
SC_INLINE bf16x8 sc_load_bf16x8(const unsigned short *p) { return *(const bf16x8u *)p; }
SC_INLINE bf16x4 sc_load_bf16x4(const unsigned short *p) { return *(const bf16x4u *)p; }
SC_INLINE bf16x2 sc_load_bf16x2(const unsigned short *p) { return *(const bf16x2u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }
SC_INLINE void sc_store_f32x4(float *p, f32x4 x) { *(f32x4u *)p = x; }
SC_INLINE void sc_store_f32x2(float *p, f32x2 x) { *(f32x2u *)p = x; }
SC_INLINE f32x16 sc_from_bf16_f32x16(bf16x16 x)
{
#if defined(__AVX512F__) && !defined(__clang__)
    typedef short half __attribute__((vector_size(32)));
    return (f32x16)(__builtin_ia32_pmovzxwd512_mask((half)x, (i32x16){0}, -1) << 16);
#endif
    return (f32x16)(__builtin_convertvector(x, i32x16) << 16);
}
SC_INLINE f32x8 sc_from_bf16_f32x8(bf16x8 x)
{
#if defined(__AVX2__) && !defined(__clang__)
    typedef short half __attribute__((vector_size(16)));
    return (f32x8)(__builtin_ia32_pmovzxwd256((half)x) << 16);
#endif
    return (f32x8)(__builtin_convertvector(x, i32x8) << 16);
}
SC_INLINE f32x4 sc_from_bf16_f32x4(bf16x4 x)
{
    return (f32x4)(__builtin_convertvector(x, i32x4) << 16);
}
SC_INLINE f32x2 sc_from_bf16_f32x2(bf16x2 x)
{
    return (f32x2)(__builtin_convertvector(x, i32x2) << 16);
}
SC_INLINE float sc_from_bf16_f32(unsigned short x)
{
    union { unsigned i; float f; } v;
    v.i = (unsigned)x << 16;
    return v.f;
}
SC_INLINE unsigned short sc_to_bf16_f32(float x)
{
    union { unsigned i; float f; } v;
    v.f = x;
    if (x != x) return 0x7fc0;
    return (unsigned short)((v.i + 0x7fff + (v.i >> 16 & 1)) >> 16);
}
SC_INLINE float sc_hadd_f32x8(f32x8 v)
{
    f32x4 v4 = (f32x4){v[0], v[1], v[2], v[3]} + (f32x4){v[4], v[5], v[6], v[7]};
    f32x4 v2 = v4 + (f32x4){v4[2], v4[3], v4[0], v4[1]};
    f32x4 v1 = v2 + (f32x4){v2[1], v2[2], v2[3], v2[0]};
    return v1[0];
}
SC_INLINE float sc_hadd_f32x4(f32x4 v)
{
    f32x4 v2 = v + (f32x4){v[2], v[3], v[0], v[1]};
    f32x4 v1 = v2 + (f32x4){v2[1], v2[2], v2[3], v2[0]};
    return v1[0];
}
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }
SC_INLINE f32x8 sc_pick_f32x8(const float *p, sc_i64 s, const int *c)
{
    const sc_i64 c0 = sc_pair_i32(c + 0);
    const sc_i64 c2 = sc_pair_i32(c + 2);
    const sc_i64 c4 = sc_pair_i32(c + 4);
    const sc_i64 c6 = sc_pair_i32(c + 6);
    return (f32x8){p[(c0 & 0xffffffff) * s], p[(c0 >> 32) * s], p[(c2 & 0xffffffff) * s], p[(c2 >> 32) * s],
                   p[(c4 & 0xffffffff) * s], p[(c4 >> 32) * s], p[(c6 & 0xffffffff) * s], p[(c6 >> 32) * s]};
}
SC_INLINE f32x4 sc_pick_f32x4(const float *p, sc_i64 s, const int *c)
{
    const sc_i64 c0 = sc_pair_i32(c + 0);
    const sc_i64 c2 = sc_pair_i32(c + 2);
    return (f32x4){p[(c0 & 0xffffffff) * s], p[(c0 >> 32) * s], p[(c2 & 0xffffffff) * s], p[(c2 >> 32) * s]};
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    float *restrict const t_lane = lane->scratch;
    const unsigned short *restrict const x_val = call->view[1].val;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const unsigned short *restrict const A_val = call->view[0].val;
    unsigned short *restrict const C_val = call->view[2].val;

    /* work t[j]: lane f32 */
    /* vec j { t[j] = x[j] } */
    const sc_i64 rest = j_dim % 16;
    const sc_i64 full = j_dim - rest;
    for (sc_i64 j = 0; j < full; j += 16) {
        sc_store_f32x16(&t_lane[j], sc_from_bf16_f32x16(sc_load_bf16x16(&x_val[j])));
    }
    if ((rest & 8) != 0) {
        const sc_i64 j = full + (rest & -16);
        sc_store_f32x8(&t_lane[j], sc_from_bf16_f32x8(sc_load_bf16x8(&x_val[j])));
    }
    if ((rest & 4) != 0) {
        const sc_i64 j = full + (rest & -8);
        sc_store_f32x4(&t_lane[j], sc_from_bf16_f32x4(sc_load_bf16x4(&x_val[j])));
    }
    if ((rest & 2) != 0) {
        const sc_i64 j = full + (rest & -4);
        sc_store_f32x2(&t_lane[j], sc_from_bf16_f32x2(sc_load_bf16x2(&x_val[j])));
    }
    if ((rest & 1) != 0) {
        const sc_i64 j = full + (rest & -2);
        t_lane[j] = sc_from_bf16_f32(x_val[j]);
    }
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c: reg f32 */
        float c = 0.0f;
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        /* vec j in A { c += A[i,j] * t[j] } */
        const sc_i64 count = A_hi - A_lo;
        f32x8 sum = (f32x8){0};
        f32x8 sum_1 = (f32x8){0};
        const sc_i64 rest_1 = count % 16;
        const sc_i64 full_1 = count - rest_1;
        for (sc_i64 j = 0; j < full_1; j += 16) {
            sum = sum + sc_from_bf16_f32x8(sc_load_bf16x8(&A_val[A_lo + j])) *
                sc_pick_f32x8(t_lane, 1, &A_crd1[A_lo + j]);
            sum_1 = sum_1 + sc_from_bf16_f32x8(sc_load_bf16x8(&A_val[A_lo + j + 8])) *
                sc_pick_f32x8(t_lane, 1, &A_crd1[A_lo + j + 8]);
        }
        if ((rest_1 & 8) != 0) {
            const sc_i64 j = full_1 + (rest_1 & -16);
            sum = sum + sc_from_bf16_f32x8(sc_load_bf16x8(&A_val[A_lo + j])) *
                sc_pick_f32x8(t_lane, 1, &A_crd1[A_lo + j]);
        }
        sum = sum + sum_1;
        c = c + sc_hadd_f32x8(sum);
        if ((rest_1 & 4) != 0) {
            const sc_i64 j = full_1 + (rest_1 & -8);
            c = c + sc_hadd_f32x4(sc_from_bf16_f32x4(sc_load_bf16x4(&A_val[A_lo + j])) *
                                  sc_pick_f32x4(t_lane, 1, &A_crd1[A_lo + j]));
        }
        for (sc_i64 j = full_1 + (rest_1 & -4); j < count; j++) {
            c = c + sc_from_bf16_f32(A_val[A_lo + j]) * t_lane[(sc_i64)A_crd1[A_lo + j]];
        }
        /* C[i] = c */
        C_val[i] = sc_to_bf16_f32(c);
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

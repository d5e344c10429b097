/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: csr bf16, indices i64
 *   B: dense bf16
 *   C: dense bf16
 * by
 *   par i in A {
 *     for k {
 *       work c: reg f32 {
 *         vec j in A {
 *           c += A[i,j] * B[j,k]
 *         }
 *       } then {
 *         C[i,k] = c
 *       }
 *     }
 *   }
 */
typedef short i16x4 __attribute__((vector_size(8)));
typedef short i16x8 __attribute__((vector_size(16)));
typedef int i32x4 __attribute__((vector_size(16)));
typedef int i32x8 __attribute__((vector_size(32)));
typedef unsigned short bf16x4 __attribute__((vector_size(8)));
typedef unsigned short bf16x4u __attribute__((vector_size(8), aligned(2), may_alias));
typedef unsigned short bf16x8 __attribute__((vector_size(16)));
typedef unsigned short bf16x8u __attribute__((vector_size(16), aligned(2), may_alias));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x8 __attribute__((vector_size(32)));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE bf16x8 sc_load_bf16x8(const unsigned short *p) { return *(const bf16x8u *)p; }
SC_INLINE bf16x4 sc_load_bf16x4(const unsigned short *p) { return *(const bf16x4u *)p; }
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
SC_INLINE bf16x8 sc_pick_far_bf16x8(const unsigned short *p, sc_i64 s, const sc_i64 *c)
{
    return (bf16x8){p[c[0] * s], p[c[1] * s], p[c[2] * s], p[c[3] * s], p[c[4] * s], p[c[5] * s], p[c[6] * s],
                    p[c[7] * s]};
}
SC_INLINE bf16x4 sc_pick_far_bf16x4(const unsigned short *p, sc_i64 s, const sc_i64 *c)
{
    return (bf16x4){p[c[0] * s], p[c[1] * s], p[c[2] * s], p[c[3] * s]};
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 *restrict const A_pos1 = call->view[0].level[1].pos;
    const sc_i64 *restrict const A_crd1 = call->view[0].level[1].crd;
    const unsigned short *restrict const A_val = call->view[0].val;
    const unsigned short *restrict const B_val = call->view[1].val;
    unsigned short *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for k */
        for (sc_i64 k = 0; k < 3; k++) {
            /* work c: reg f32 */
            float c = 0.0f;
            const sc_i64 A_lo = A_pos1[i];
            const sc_i64 A_hi = A_pos1[i + 1];
            /* vec j in A { c += A[i,j] * B[j,k] } */
            const sc_i64 count = A_hi - A_lo;
            f32x8 sum = (f32x8){0};
            f32x8 sum_1 = (f32x8){0};
            const sc_i64 rest = count % 16;
            const sc_i64 full = count - rest;
            for (sc_i64 j = 0; j < full; j += 16) {
                sum = sum + sc_from_bf16_f32x8(sc_load_bf16x8(&A_val[A_lo + j])) *
                    sc_from_bf16_f32x8(sc_pick_far_bf16x8(&B_val[k], B_stride0, &A_crd1[A_lo + j]));
                sum_1 = sum_1 + sc_from_bf16_f32x8(sc_load_bf16x8(&A_val[A_lo + j + 8])) *
                    sc_from_bf16_f32x8(sc_pick_far_bf16x8(&B_val[k], B_stride0, &A_crd1[A_lo + j + 8]));
            }
            if ((rest & 8) != 0) {
                const sc_i64 j = full + (rest & -16);
                sum = sum + sc_from_bf16_f32x8(sc_load_bf16x8(&A_val[A_lo + j])) *
                    sc_from_bf16_f32x8(sc_pick_far_bf16x8(&B_val[k], B_stride0, &A_crd1[A_lo + j]));
            }
            sum = sum + sum_1;
            c = c + sc_hadd_f32x8(sum);
            if ((rest & 4) != 0) {
                const sc_i64 j = full + (rest & -8);
                c = c + sc_hadd_f32x4(sc_from_bf16_f32x4(sc_load_bf16x4(&A_val[A_lo + j])) *
                                      sc_from_bf16_f32x4(sc_pick_far_bf16x4(&B_val[k], B_stride0,
                        &A_crd1[A_lo + j])));
            }
            for (sc_i64 j = full + (rest & -4); j < count; j++) {
                c = c + sc_from_bf16_f32(A_val[A_lo + j]) *
                    sc_from_bf16_f32(B_val[k + A_crd1[A_lo + j] * B_stride0]);
            }
            /* C[i,k] = c */
            C_val[i * C_stride0 + k] = sc_to_bf16_f32(c);
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
